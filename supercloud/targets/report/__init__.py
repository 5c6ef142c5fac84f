"""Plan -> one HTML page to look at, and the same pictures as SVG. Nothing is fetched: all it needs is inside.

One module a picture (``elevation``, ``rows``, ``fabric``, ``lines``), each a function from the plan to SVG text;
``facts`` are the tables, ``data`` what the search works on, ``page`` puts all together. To add a picture: a module,
and a line in ``page.render_pictures``.
"""

from __future__ import annotations

from .page import render_pictures, render_report

__all__ = ["render_pictures", "render_report"]
