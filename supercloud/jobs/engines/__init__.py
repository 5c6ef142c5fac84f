"""The engines, unaware of each other; ``jobs.engine`` has the registry."""
