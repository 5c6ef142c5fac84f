"""Storage as decided: capacity, throughput, and the servers that give it."""
