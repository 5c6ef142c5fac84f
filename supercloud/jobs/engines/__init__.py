"""The engines, unaware of each other; ``jobs.engines.base`` has the registry."""
