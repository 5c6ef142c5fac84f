"""Decisions about storage: capacity, throughput, and the servers."""
