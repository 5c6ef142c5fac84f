"""Text of other programs and machines: its lines, and excerpts of it for messages."""

from __future__ import annotations

__all__ = ["shorten_text", "split_lines"]

_MAX_EXCERPT = 80  # characters


def split_lines(text: str) -> list[str]:
    r"""The lines of a text, without their line feeds and a carriage return before each.

    ``str.splitlines`` also ends lines at vertical tabs, form feeds, U+0085, U+2028 and others. A name that another
    machine announces may contain them: the rest of the name would then be read as a line of the program itself.

    >>> split_lines("one\r\ntwo\x0bthree\n")
    ['one', 'two\x0bthree']
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def shorten_text(text: str, limit: int = _MAX_EXCERPT) -> str:
    """The text, or its beginning of ``limit`` characters with an ellipsis as the last one.

    >>> shorten_text("compute-leaf-001", 8)
    'compute…'
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
