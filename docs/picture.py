"""The picture of the README: the overview, the row plan and a fabric of the report of an example, as one SVG.

python docs/picture.py      writes docs/images/report.svg
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets.report.page import render_pictures, render_report

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "examples/05-superpod-networks/cluster.yaml"
PICTURE = ROOT / "docs/images/report.svg"

_WIDTH, _MARGIN, _GAP = 1240, 30, 16
_COLUMNS, _CARD_HEIGHT = 3, 168
_CARD = re.compile(
    r'<article class="card (?P<kind>\w+)"><h3>(?P<title>.*?)</h3><p><b>(?P<number>.*?)</b> <span>(?P<caption>.*?)'
    r'</span></p>(?:<div class="meter.*?width:(?P<used>[\d.]+)%.*?</div>)?(?P<lines>.*?)</article>'
)
_STYLE = (
    ".ov-t{font:600 26px sans-serif;fill:var(--ink)}.ov-s{font:15px sans-serif;fill:var(--quiet)}"
    ".ov-n{font:600 26px sans-serif;fill:var(--ink)}.ov-d{font:14px sans-serif;fill:var(--ink)}"
    ".ov-h{font:600 14px sans-serif;fill:var(--quiet)}.ov-q{font:14px sans-serif;fill:var(--quiet)}"
)


def render_picture() -> str:
    """The text of the picture, of the parts that the report of the example has."""
    plan = resolve(load(SPEC))
    page, pictures = render_report(plan), render_pictures(plan)
    title = re.search(r"<h1[^>]*>(.*?)<small>(.*?)</small>", page)
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page)
    assert title and verdict
    chips = ", ".join(re.findall(r">([^<>]+)</(?:a|span)>", verdict[1]))
    cards = list(_CARD.finditer(page))
    rows = -(-len(cards) // _COLUMNS)
    top = 116
    body = [
        f'<text x="{_MARGIN}" y="48" class="ov-t">{title[1]}</text>',
        f'<text x="{_MARGIN}" y="76" class="ov-s">{title[2]} · {chips}</text>',
    ]
    width = (_WIDTH - 2 * _MARGIN - (_COLUMNS - 1) * _GAP) / _COLUMNS
    for index, card in enumerate(cards):
        x = _MARGIN + index % _COLUMNS * (width + _GAP)
        y = top - 16 + index // _COLUMNS * (_CARD_HEIGHT + _GAP)
        body += _render_card(card, x, y, width)
    y = top + rows * (_CARD_HEIGHT + _GAP)
    for name in ("rows.svg", "fabric-compute.svg"):
        drawn, height = _place(pictures[name], y)
        body.append(drawn)
        y += height + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:g}" width="{_WIDTH}" height="{y:g}" '
        f'role="img" aria-label="report of {escape(plan.name)}">\n<style>{_STYLE}</style>\n'
        f'<rect width="{_WIDTH}" height="{y:g}" fill="var(--ground)"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _render_card(card: re.Match[str], x: float, y: float, width: float) -> Iterator[str]:
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_CARD_HEIGHT}" rx="9" fill="var(--raised)" '
        'stroke="var(--rule)"/>'
    )
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="4" rx="2" fill="var(--{card["kind"]}-edge)"/>'
    yield f'<text x="{x + 16:g}" y="{y + 28:g}" class="ov-h">{card["title"]}</text>'
    yield (
        f'<text x="{x + 16:g}" y="{y + 60:g}"><tspan class="ov-n">{card["number"]}</tspan>'
        f'<tspan dx="8" class="ov-q">{card["caption"]}</tspan></text>'
    )
    if card["used"]:
        full = width - 32
        yield f'<rect x="{x + 16:g}" y="{y + 68:g}" width="{full:g}" height="5" rx="2" fill="var(--rule)"/>'
        used = full * min(float(card["used"]), 100) / 100
        yield f'<rect x="{x + 16:g}" y="{y + 68:g}" width="{used:g}" height="5" rx="2" fill="var(--feed-edge)"/>'
    lines = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card["lines"])
    for number, (name, value) in enumerate(lines[:4]):
        at = y + 92 + 21 * number
        yield f'<text x="{x + 16:g}" y="{at:g}" class="ov-q">{name}</text>'
        yield f'<text x="{x + 180:g}" y="{at:g}" class="ov-d">{value}</text>'


def _place(picture: str, y: float) -> tuple[str, float]:
    """A picture of the report at a height, in the width of this one, and its height."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture)
    assert box
    width = _WIDTH - 2 * _MARGIN
    height = width * float(box[2]) / float(box[1])
    opening = re.sub(r' (?:width|height)="[\d.]+"', "", picture[: picture.index(">") + 1])
    opening = opening.replace("<svg", f'<svg x="{_MARGIN}" y="{y:g}" width="{width}" height="{height:g}"', 1)
    return opening + picture[picture.index(">") + 1 :].strip(), height


if __name__ == "__main__":
    PICTURE.write_text(render_picture())
