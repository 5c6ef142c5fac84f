"""SVG as text: a few shapes, and a picture that carries its own colours for light and dark."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from ...primitives.templates import fill

__all__ = ["Picture", "cut", "width_of"]

# Of the widest letters of the sans-serif faces that systems have, as a part of the font size: texts are cut by it.
_LETTER = 0.56


def width_of(text: str, size: float) -> float:
    """How wide a text may become, at most."""
    return len(text) * size * _LETTER


def cut(text: str, width: float, size: float) -> str:
    """The text, or as much of it as has room, ended with an ellipsis."""
    room = int(width / (size * _LETTER))
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass
class Picture:
    """Shapes in the order they are drawn, in a box of that size."""

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        tip: str = "",
        data: str = "",
        opacity: float = 1,
    ) -> None:
        """A box; ``kind`` names its colour, ``tip`` shows when one points at it, ``data`` are further attributes."""
        faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        head = f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" width="{_number(width)}"'
        head += f' height="{_number(height)}"{faint}' + (f" {data}" if data else "")
        self.parts.append(f"{head}><title>{escape(tip)}</title></rect>" if tip else f"{head}/>")

    def text(self, x: float, y: float, text: str, kind: str = "", size: float = 12, anchor: str = "start") -> None:
        """A line of text; ``y`` is its middle."""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(
            f'<text x="{_number(x)}" y="{_number(y + size * 0.34)}" font-size="{_number(size)}"{place}'
            + (f' class="{kind}"' if kind else "")
            + f">{escape(text)}</text>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "wire") -> None:
        """A straight line."""
        self.parts.append(
            f'<line class="{kind}" x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"/>'
        )

    def path(self, points: list[tuple[float, float]], kind: str = "wire", width: float | None = None) -> None:
        """A line through points, as wide as its kind or as said."""
        way = " L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        own = f' style="stroke-width:{_number(width)}"' if width is not None else ""
        self.parts.append(f'<path class="{kind}" d="M{way}"{own}/>')

    def place(self, other: Picture, x: float, y: float) -> None:
        """Another picture within this one, its upper left corner there."""
        inside = "".join(other.parts)
        self.parts.append(f'<g transform="translate({_number(x)} {_number(y)})">{inside}</g>')

    def inner(self) -> str:
        """The picture for a page that has the colours already."""
        return (
            f'<svg class="pic" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(self.width)} '
            f'{_number(self.height)}" width="{_number(self.width)}" height="{_number(self.height)}" role="img" '
            f'aria-label="{escape(self.title)}">{"".join(self.parts)}</svg>'
        )

    def alone(self) -> str:
        """The picture as a file of its own."""
        style = fill("pictures/colours.css.j2") + fill("pictures/picture.css.j2")
        ground = f'<rect class="ground" width="{_number(self.width)}" height="{_number(self.height)}"/>'
        head, _, rest = self.inner().partition(">")
        return f"{head}><title>{escape(self.title)}</title><style>{style}</style>{ground}{rest}\n"
