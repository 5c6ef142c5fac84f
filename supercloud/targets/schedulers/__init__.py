"""Plan -> Bundle of configuration files for the scheduler."""
