"""A torus as a picture: one layer of it, and the wraparound as stubs."""

from __future__ import annotations

from ...plan.model.plan import FabricPlan
from ...topology import Fabric as Wiring
from .svg import Picture

__all__ = ["draw_torus"]

_WIDTH, _LEFT, _STEP, _MOST = 940, 210, 52, 8


def draw_torus(fabric: FabricPlan, wiring: Wiring) -> Picture:
    """Draw the last two dimensions, up to a readable size."""
    assert wiring.grid is not None
    dims = wiring.grid.dims
    high, wide = (min(length, _MOST) for length in dims[-2:])
    picture = Picture(_WIDTH, max(high * _STEP + 40, 150), f"fabric {fabric.name}")
    captions = [f"{wiring.nodes:,} nodes", f"{sum(wiring.link_counts.values()):,} cables"]
    captions += [f"one of {dims[0]} layers"] if len(dims) == 3 else []
    picture.draw_text(6, 21, " × ".join(map(str, dims)) + " torus", "strong", 13)
    for number, text in enumerate(captions):
        picture.draw_text(6, 40 + 18 * number, text, "faint", 11)
    for row in range(high):
        for column in range(wide):
            x, y = _LEFT + column * _STEP + 40, 24 + row * _STEP
            picture.draw_line(x + 15, y + 15, x + (_STEP if column + 1 < wide else 40), y + 15)
            picture.draw_line(x + 15, y + 15, x + 15, y + (_STEP if row + 1 < high else 40))
            if not column:
                picture.draw_line(x - 12, y + 15, x, y + 15)
            if not row:
                picture.draw_line(x + 15, y - 12, x + 15, y)
    for row in range(high):
        for column in range(wide):
            x, y, number = _LEFT + column * _STEP + 40, 24 + row * _STEP, row * dims[-1] + column
            picture.draw_rect(x, y, 30, 30, "node", f"node {number + 1}")
            picture.draw_text(x + 15, y + 15, str(number + 1), "on", 10, "middle")
    return picture
