"""Racks as files: what stands where, on which circuit, in which cooling zone; elevations as text and SVG."""

from .bundle import render

__all__ = ["render"]
