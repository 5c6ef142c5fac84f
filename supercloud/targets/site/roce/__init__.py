"""RoCE fabrics with routing and lossless QoS: files for every switch, and for the connected nodes."""

from .bundle import render

__all__ = ["render"]
