"""Racks as files: contents, circuits and cooling zones; elevations as text and SVG."""

from .bundle import render

__all__ = ["render"]
