"""SVG as text: a few shapes, and a picture with its own colors for light and dark mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from ...primitives.templates import render_template

__all__ = ["Picture", "truncate_text", "compute_text_width"]

# Width of the widest letters of common sans-serif fonts, relative to the font size; used to truncate text.
_LETTER_WIDTH = 0.56


def compute_text_width(text: str, size: float) -> float:
    """Compute the maximum width of a text in pixels; ``size`` is that of the font, in pixels."""
    return len(text) * size * _LETTER_WIDTH


def truncate_text(text: str, width: float, size: float) -> str:
    """Truncate a text to a width in pixels, with an ellipsis; ``size`` is that of the font, in pixels."""
    room = int(width / (size * _LETTER_WIDTH))
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def _format_number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass
class Picture:
    """Shapes in drawing order, in a box of the given size. Coordinates and sizes are in pixels, from the upper left."""

    width: float
    height: float
    title: str
    elements: list[str] = field(default_factory=list)

    def draw_rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        css_class: str,
        tooltip: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Draw a box; ``css_class`` is its color, ``attributes`` are further SVG attributes by name."""
        more = "".join(f' {name}="{escape(value)}"' for name, value in (attributes or {}).items())
        head = (
            f'<rect class="{css_class}" x="{_format_number(x)}" y="{_format_number(y)}" width="{_format_number(width)}"'
        )
        head += f' height="{_format_number(height)}"{more}'
        self.elements.append(f"{head}><title>{escape(tooltip)}</title></rect>" if tooltip else f"{head}/>")

    def draw_text(
        self, x: float, y: float, text: str, css_class: str = "", size: float = 12, anchor: str = "start"
    ) -> None:
        """Draw a line of text; ``y`` is its middle."""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.elements.append(
            f'<text x="{_format_number(x)}" y="{_format_number(y + size * 0.34)}" '
            f'font-size="{_format_number(size)}"{place}'
            + (f' class="{css_class}"' if css_class else "")
            + f">{escape(text)}</text>"
        )

    def draw_line(self, x1: float, y1: float, x2: float, y2: float, css_class: str = "wire") -> None:
        """Draw a straight line."""
        self.elements.append(
            f'<line class="{css_class}" x1="{_format_number(x1)}" y1="{_format_number(y1)}" '
            f'x2="{_format_number(x2)}" y2="{_format_number(y2)}"/>'
        )

    def draw_path(self, points: list[tuple[float, float]], css_class: str = "wire", width: float | None = None) -> None:
        """Draw a line through points, with the width of its class or the given one."""
        way = " L".join(f"{_format_number(x)} {_format_number(y)}" for x, y in points)
        own = f' style="stroke-width:{_format_number(width)}"' if width is not None else ""
        self.elements.append(f'<path class="{css_class}" d="M{way}"{own}/>')

    def embed(self, picture: Picture, x: float, y: float) -> None:
        """Embed another picture with its upper left corner at the given position."""
        inside = "".join(picture.elements)
        self.elements.append(f'<g transform="translate({_format_number(x)} {_format_number(y)})">{inside}</g>')

    def render_inline(self) -> str:
        """Render the picture for a page that already defines the colors."""
        width, height = _format_number(self.width), _format_number(self.height)
        return (
            f'<svg class="pic" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            f'aria-label="{escape(self.title)}">{"".join(self.elements)}</svg>'
        )

    def render_file(self) -> str:
        """Render the picture as a separate file."""
        style = render_template("pictures/colors.css.j2") + render_template("pictures/picture.css.j2")
        ground = f'<rect class="ground" width="{_format_number(self.width)}" height="{_format_number(self.height)}"/>'
        head, _, rest = self.render_inline().partition(">")
        return f"{head}><title>{escape(self.title)}</title><style>{style}</style>{ground}{rest}\n"
