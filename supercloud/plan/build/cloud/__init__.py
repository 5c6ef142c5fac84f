"""Decisions about a cloud site: zones, groups of instances, hosts, storage products, cost."""
