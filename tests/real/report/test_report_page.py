"""The report in a real browser: no console messages, legible on three screens and in print, working search."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from browser import Browser

from supercloud.plan.build.cabling.ends import DeviceLocator
from supercloud.plan.model.plan import Plan
from supercloud.targets.report.ports import build_port_names
from supercloud.topology import Fabric as Wiring

SCREENS = {"phone": (390, 844), "laptop": (1280, 800), "wide": (1920, 1200)}
NAMES = (
    "superpod",
    "01-minimal",
    "one-switch",
    "03-nvl72",
    "04-roce-24k",
    "05-superpod-networks",
    "07-storage",
    "site",
)
LEGIBLE = (*NAMES, "08-kubernetes", "09-aws-slurm")
OVERLAPS = Path(__file__).with_name("overlaps.js").read_text()
ASK = """
const input = document.getElementById("find");
input.value = arguments[0];
input.dispatchEvent(new Event("input"));
return document.getElementById("answer").innerText;
"""


@pytest.mark.parametrize("name", LEGIBLE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_text_is_legible(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str, screen: str, tmp_path: Path
) -> None:
    browser.set_size(*SCREENS[screen], phone=screen == "phone")
    browser.set_colors(scheme)
    browser.open(pages[name])
    assert browser.read_log() == []
    width = browser.run("return document.documentElement.scrollWidth")
    assert width <= SCREENS[screen][0]  # the page does not scroll horizontally
    assert browser.run(OVERLAPS) == []
    for row in range(min(browser.run("return window.supercloud.D.rows"), 3)):
        browser.run("window.supercloud.showRow(arguments[0])", row)
        assert browser.run(OVERLAPS) == []
    ground, ink = browser.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    light = [sum(int(part) for part in color[4:-1].split(",")) for color in (ground, ink)]
    assert (light[0] > light[1]) == (scheme == "light") and abs(light[0] - light[1]) > 450
    browser.save_picture(tmp_path / f"{name}-{screen}-{scheme}.png")


@pytest.mark.parametrize("name", NAMES)
def test_search_finds_a_node_a_switch_a_port_a_cable_and_a_rack(
    browser: Browser, pages: dict[str, Path], plans: dict[str, Plan], name: str
) -> None:
    plan = plans[name]
    browser.set_size(1280, 800)
    browser.open(pages[name])
    pool, fabric = plan.pools[0], plan.fabrics[0]
    wiring = fabric.wiring
    assert isinstance(wiring, Wiring) and plan.layout
    last = list(pool.hosts)[-1]
    output = browser.run(ASK, last)
    assert pool.addresses[pool.nodes - 1] in output and pool.machine.name in output
    rack = next(
        rack
        for rack in plan.layout.racks
        for item in rack.items
        if (item.kind, item.group) == ("node", pool.name) and item.first + item.count == pool.nodes
    )
    assert rack.name in output
    assert browser.run("return document.querySelectorAll('#racks .found').length") == 1
    assert browser.run("return document.querySelector('#racks .found').dataset.node") == last
    ports = build_port_names(plan, fabric, DeviceLocator(plan))
    for nic in range(wiring.node_ports // wiring.planes):
        link = wiring.get_node_link(pool.nodes - 1, nic)
        output = browser.run(ASK, f"{last}:{link.source_port + 1}")
        leaf = f"{fabric.name}-leaf-{link.target + 1:0{max(3, len(str(fabric.count_switches('leaf'))))}d}"
        mine, theirs = (
            names[port][0] for names, port in ((ports[pool.name], link.source_port), (ports["leaf"], link.target_port))
        )
        assert f"{leaf} {theirs} (" in output and f"{last} {mine} (" in output
        for asked in (link.target_port + 1, f"port {link.target_port + 1}", theirs):
            assert f"{last} {mine} (" in browser.run(ASK, f"{leaf}:{asked}")
        assert f"{leaf} {theirs} (" in browser.run(ASK, f"{last} {mine}")
    group, end = ("leaf-spine", "spine") if len(wiring.tiers) > 1 else ("node-leaf", "leaf")
    output = browser.run(ASK, f"{fabric.name}:{group}:1")
    assert "cable" in output and f"{fabric.name}-{end}-" in output
    assert rack.name in browser.run(ASK, rack.name)
    assert "No match for" in browser.run(ASK, "nowhere<b>")
    assert browser.run("return document.querySelectorAll('#answer b').length") == 0
    assert last in browser.run(ASK, last[:-1])
    assert browser.read_log() == []


def test_search_finds_cables_outside_the_regular_groups(browser: Browser, pages: dict[str, Path]) -> None:
    """Cables of services and servers, between the leaves of a pair, to the building, and to another network."""
    browser.open(pages["05-superpod-networks"])
    output = browser.run(ASK, "mgmt-01")
    for end in ("storage-leaf-", "in-band-leaf-", "management-leaf-"):
        assert end in output
    assert "in-band-leaf-002 swp44" in browser.run(ASK, "in-band-leaf-001:swp44")
    assert "in-band-leaf-002 swp44" in browser.run(ASK, "in-band-leaf-001:44")
    assert "building port1" in browser.run(ASK, "in-band-spine-001:swp64")
    assert "in-band-spine-001" in browser.run(ASK, "management-leaf-001:swp49")
    assert "no cable is connected here" in browser.run(ASK, "in-band-spine-001:swp40")
    assert "storage-manager-02" in browser.run(ASK, "storage-manager-01 peer1")
    browser.open(pages["07-storage"])
    output = browser.run(ASK, "scratch-oss-0002")
    assert (
        "flash-24" in output
        and "storage-leaf-" in output
        and "in-band-leaf-" in output
        and "management-leaf-" in output
    )
    assert "scratch-oss-0002 storage1" in browser.run(ASK, "scratch-oss-0002:storage1")
    assert browser.read_log() == []


@pytest.mark.parametrize("name", NAMES)
def test_every_cable_is_in_the_topology(
    browser: Browser, pages: dict[str, Path], plans: dict[str, Plan], name: str
) -> None:
    browser.open(pages[name])
    for index, fabric in enumerate(fabric for fabric in plans[name].fabrics if isinstance(fabric.wiring, Wiring)):
        assert isinstance(fabric.wiring, Wiring)
        for place, group in enumerate(fabric.wiring.link_groups):
            step = max(1, group.count // 6000)
            numbers = range(0, group.count, step)
            drawn = browser.run(
                "const { D, ENDS } = window.supercloud, g = D.fabrics[arguments[0]].groups[arguments[1]], found = [];"
                "for (let n = 0; n < g.count; n += arguments[2]) found.push(ENDS[g.rule](g, n)); return found;",
                index,
                place,
                step,
            )
            assert drawn == [[int(part) for part in group.compute_ends(number)] for number in numbers]


@pytest.mark.parametrize("name", NAMES)
def test_elevations_show_each_node_once(
    browser: Browser, pages: dict[str, Path], plans: dict[str, Plan], name: str
) -> None:
    browser.open(pages[name])
    shown: Counter[str] = Counter()
    for row in range(browser.run("return window.supercloud.D.rows")):
        shown.update(
            browser.run(
                "window.supercloud.showRow(arguments[0]);"
                "return [...document.querySelectorAll('#racks [data-node]')].map((node) => node.dataset.node)",
                row,
            )
        )
    assert shown == Counter(host for pool in plans[name].pools for host in pool.hosts)


def test_rows_are_selected_by_button_and_by_row_plan(browser: Browser, pages: dict[str, Path]) -> None:
    browser.set_size(1280, 800)
    browser.open(pages["site"])
    browser.run("document.getElementById('after').click()")
    assert browser.run("return document.querySelector('#racks figure').id") == "rack-r02-01"
    browser.run("document.querySelector('#rows [data-rack=r05-03]').dispatchEvent(new Event('click', {bubbles: true}))")
    assert browser.run("return document.querySelector('#racks .found').closest('figure').id") == "rack-r05-03"


@pytest.mark.parametrize("name", ["superpod", "03-nvl72"])
def test_the_printed_report_is_complete(
    browser: Browser, pages: dict[str, Path], plans: dict[str, Plan], name: str, tmp_path: Path
) -> None:
    browser.set_size(1280, 800)
    browser.set_colors("light")
    browser.open(pages[name])
    browser.save_pdf(tmp_path / "report.pdf")
    from subprocess import run

    text = run(
        ["pdftotext", "-layout", tmp_path / "report.pdf", "-"], capture_output=True, text=True, check=True
    ).stdout
    for host in (host for pool in plans[name].pools for host in pool.hosts):
        assert host in text  # all rows are printed, not only the visible one
    for word in ("Row plan", "Elevations", "Power", "Cooling", "Cost"):
        assert word in text
    browser.set_size(1000, 1400)
    browser.run("window.supercloud.showAll()")
    browser.set_colors("light", media="print")
    assert browser.run(OVERLAPS) == []
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.set_colors("light")
