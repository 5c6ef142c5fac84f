"""The state of the fleet: its clusters, the free capacity of each, and the connection to each."""
