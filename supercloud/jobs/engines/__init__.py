"""The engines, independent of each other; ``jobs.engines.base`` has the registry."""
