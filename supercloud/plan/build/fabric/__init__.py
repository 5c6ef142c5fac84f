"""Fabrics as decided: the shape built, switches and cables counted, who has the reserved ports, how it is routed."""
