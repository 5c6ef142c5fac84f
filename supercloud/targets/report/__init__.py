"""Plan -> a self-contained HTML page, and its pictures as SVG.

One module per picture (``elevation``, ``rows``, ``fabric``, ``lines``), each a function from the plan to SVG text;
``facts`` has the tables, ``data`` the data of the search, ``page`` combines them. To add a picture: a module,
and a line in ``page.render_pictures``.
"""

from __future__ import annotations

from .page import render_pictures, render_report

__all__ = ["render_pictures", "render_report"]
