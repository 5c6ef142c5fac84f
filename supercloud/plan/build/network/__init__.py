"""Decisions about networks: subnets, names, addresses and AS numbers, all as runs."""
