"""Counts as text."""

from __future__ import annotations

__all__ = ["format_count", "format_indefinite"]


def format_count(count: int, noun: str) -> str:
    """Format a count: 1 rack, 2 racks."""
    many = f"{noun[:-1]}ves" if noun.endswith("lf") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def format_indefinite(noun: str) -> str:
    """Format a noun with its article: a rack, an amount."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"
