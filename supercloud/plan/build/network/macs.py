"""MAC addresses as the user specifies them: a CSV file of host, network and MAC, checked line by line."""

from __future__ import annotations

import csv
import re

from ....primitives.files import FileReadError, read_text
from ....primitives.foreign_text import shorten_text, split_lines
from ....primitives.nodes import HostRange
from ...model.network import NetworksPlan
from ..inputs import BuildInputs, Equipment

__all__ = ["read_macs"]

Macs = dict[tuple[str, str], str]
"""(name, network) -> MAC."""

_MAC = re.compile(r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")
_MAX_FINDINGS = 20
_HEADER = ["host", "network", "mac"]


def read_macs(inputs: BuildInputs, plan: NetworksPlan, equipment: Equipment) -> Macs:
    """(name, network) -> MAC: in-band and bmc of a node, server or machine, switch of a switch's management port."""
    name, problems = inputs.spec.network.macs, inputs.problems
    if name is None:
        return {}
    try:
        lines = split_lines(read_text(inputs.folder / name))
    except FileReadError as error:
        problems.add_error(
            "network-macs",
            "network.macs",
            f"{name!r}: {error}",
            "specify a CSV file of host,network,mac with a path relative to the spec",
        )
        return {}
    found, wrong = _parse_lines(lines, _list_known_hosts(plan, equipment))
    for number, problem, hint in wrong[:_MAX_FINDINGS]:
        problems.add_error("network-macs", "network.macs", f"{name}:{number}: {problem}", hint)
    if len(wrong) > _MAX_FINDINGS:
        problems.add_error(
            "network-macs",
            "network.macs",
            f"{len(wrong) - _MAX_FINDINGS} more lines of {name} have errors",
            "correct these first",
        )
    return found


def _list_known_hosts(plan: NetworksPlan, equipment: Equipment) -> dict[str, list[HostRange]]:
    """Network -> the hosts with a port on it."""
    nodes = [*(pool.hosts for pool in equipment.pools), *(group.hosts for group in equipment.servers)]
    return {
        "in-band": [*nodes, *(item.hosts for item in plan.machines if item.addresses)],
        "bmc": [run.owners for run in plan.bmcs],
        "switch": [run.get_plane_hosts(plane) for run in plan.switches for plane in range(run.planes)],
    }


def _parse_lines(
    lines: list[str], hosts_by_network: dict[str, list[HostRange]]
) -> tuple[Macs, list[tuple[int, str, str]]]:
    """The addresses of all valid lines; number, problem and hint of each other one."""
    found: Macs = {}
    owners: dict[str, str] = {}
    wrong: list[tuple[int, str, str]] = []
    for number, line in enumerate(lines, 1):
        try:  # each line by itself: an open quotation mark does not hide the following ones
            cells = [cell.strip() for row in csv.reader([line]) for cell in row]
        except csv.Error as error:
            wrong.append((number, f"this line is not CSV: {error}", "host,network,mac"))
            continue
        if _is_skipped(cells, number):
            continue
        problem = _find_problem(cells, hosts_by_network, found, owners)
        if problem:
            wrong.append((number, *problem))
            continue
        host, network, mac = cells[0], cells[1], cells[2].lower().replace("-", ":")
        found[host, network] = mac
        owners[mac] = host
    return found, wrong


def _is_skipped(cells: list[str], number: int) -> bool:
    """Whether a line is empty, a comment, or the header."""
    if not any(cells) or cells[0].startswith("#"):
        return True
    return number == 1 and [cell.lower() for cell in cells] == _HEADER


def _find_problem(
    cells: list[str], hosts_by_network: dict[str, list[HostRange]], macs: Macs, owners: dict[str, str]
) -> tuple[str, str] | None:
    if len(cells) != 3:
        return f"{len(cells)} columns", "host,network,mac"
    host, network, mac = cells[0], cells[1], cells[2].lower().replace("-", ":")
    if not re.fullmatch(r"[0-9a-z]{1,2}([:-][0-9a-z]{1,2}){3,7}|[0-9a-f.]{12,14}", mac):
        # not quoted: the file may be the wrong one, with confidential content
        return "the third column is not a MAC address", "host,network,mac, such as train-0001,in-band,02:42:ac:11:00:02"
    if network not in hosts_by_network:
        return f"unknown network {shorten_text(network)!r}", "known: in-band, bmc, switch"
    if not any(host in hosts for hosts in hosts_by_network[network]):
        return (
            f"unknown {'switch' if network == 'switch' else 'node or server'} {shorten_text(host)!r} on {network}",
            _describe_ranges(hosts_by_network[network]),
        )
    if not _MAC.match(mac) or int(mac[:2], 16) & 1:
        return (
            f"{cells[2]!r} is not a unicast MAC address",
            "use six pairs of digits, the first one even: 02:42:ac:11:00:02",
        )
    if (host, network) in macs:
        return f"{host} has two MAC addresses on {network}: {macs[host, network]} and {mac}", "remove one of the lines"
    if mac in owners:
        return f"{mac} already belongs to {owners[mac]}", "every port has a unique address"
    return None


def _describe_ranges(ranges: list[HostRange]) -> str:
    return f"known: {', '.join(map(str, ranges[:6]))}"
