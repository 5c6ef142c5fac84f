"""The state of the fleet: which clusters there are, what is free in each, and how each is reached."""
