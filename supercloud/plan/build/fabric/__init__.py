"""Decisions about fabrics: shape, numbers of switches and cables, use of the reserved ports, routing."""
