"""MAC addresses as the user specifies them: a CSV file of host, network and MAC, checked line by line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from ....primitives.files import FileReadError, read_text
from ....primitives.nodes import HostRange
from ....spec import ClusterSpec
from ...model.network import NetworksPlan
from ...model.plan import PoolPlan
from ...model.problems import Problems
from ...model.storage import ServerGroup

__all__ = ["read_macs"]

_MAC = re.compile(r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")
_MAX_FINDINGS = 20


def read_macs(
    spec: ClusterSpec,
    folder: Path,
    plan: NetworksPlan,
    pools: tuple[PoolPlan, ...],
    servers: tuple[ServerGroup, ...],
    problems: Problems,
) -> dict[tuple[str, str], str]:
    """(name, network) -> MAC: in-band and bmc of a node, server or machine, switch of a switch's management port."""
    if spec.network.macs is None:
        return {}
    path = folder / spec.network.macs
    try:
        lines = read_text(path).splitlines()
    except FileReadError as error:
        problems.add_error(
            "network-macs",
            "network.macs",
            f"{spec.network.macs!r}: {error}",
            "specify a CSV file of host,network,mac with a path relative to the spec",
        )
        return {}
    nodes = [*(pool.hosts for pool in pools), *(group.hosts for group in servers)]
    known = {
        "in-band": [*nodes, *(item.hosts for item in plan.machines if item.addresses)],
        "bmc": [run.owners for run in plan.bmcs],
        "switch": [run.get_plane_hosts(plane) for run in plan.switches for plane in range(run.planes)],
    }
    found: dict[tuple[str, str], str] = {}
    owners: dict[str, str] = {}
    wrong: list[tuple[str, str]] = []
    for number, row in enumerate(csv.reader(lines), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (number == 1 and [cell.lower() for cell in cells] == _HEADER):
            continue
        problem = _find_problem(cells, known, found, owners)
        if problem:
            wrong.append((f"{spec.network.macs}:{number}: {problem[0]}", problem[1]))
            continue
        host, network, mac = cells[0], cells[1], cells[2].lower().replace("-", ":")
        found[host, network] = mac
        owners[mac] = host
    for problem_text, hint in wrong[:_MAX_FINDINGS]:
        problems.add_error("network-macs", "network.macs", problem_text, hint)
    if len(wrong) > _MAX_FINDINGS:
        problems.add_error(
            "network-macs",
            "network.macs",
            f"{len(wrong) - _MAX_FINDINGS} more lines of {spec.network.macs} have errors",
            "correct these first",
        )
    return found


_HEADER = ["host", "network", "mac"]


def _find_problem(
    cells: list[str],
    hosts_by_network: dict[str, list[HostRange]],
    macs: dict[tuple[str, str], str],
    owners: dict[str, str],
) -> tuple[str, str] | None:
    if len(cells) != 3:
        return f"{len(cells)} columns", "host,network,mac"
    host, network, mac = cells[0], cells[1], cells[2].lower().replace("-", ":")
    if not re.fullmatch(r"[0-9a-z]{1,2}([:-][0-9a-z]{1,2}){3,7}|[0-9a-f.]{12,14}", mac):
        # not quoted: the file may be the wrong one, with confidential content
        return "the third column is not a MAC address", "host,network,mac, such as train-0001,in-band,02:42:ac:11:00:02"
    if network not in hosts_by_network:
        return f"unknown network {network!r}", "known: in-band, bmc, switch"
    if not any(_has_host(hosts, host) for hosts in hosts_by_network[network]):
        return (
            f"unknown {'switch' if network == 'switch' else 'node or server'} {host!r} on {network}",
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


def _has_host(hosts: HostRange, name: str) -> bool:
    number = name.removeprefix(hosts.prefix)
    return (
        name.startswith(hosts.prefix)
        and number.isdecimal()
        and number.isascii()
        and len(number) >= hosts.width
        and hosts.first <= int(number) <= hosts.last
        and f"{int(number):0{hosts.width}d}" == number
    )


def _describe_ranges(ranges: list[HostRange]) -> str:
    return f"known: {', '.join(map(str, ranges[:6]))}"
