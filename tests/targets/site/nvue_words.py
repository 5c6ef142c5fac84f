"""Words that release 5.15 of Cumulus Linux renamed, of those that rendered switches have had.

NVIDIA, "New and Changed NVUE Commands" of Cumulus Linux 5.15, "Changes to Command Syntax": the column "CL5.14.0 and
Earlier" beside "CL5.15 and Later"; the commands of BFD are from "Deprecated" and "All New NVUE Commands" there.
``*`` stands for one word: the name of an interface, a VRF, an address.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

BGP = "vrf * router bgp"
RENAMED = {
    "interface * ip address *": "interface * ipv4 address *",
    "interface * ip address dhcp": "interface * ipv4 dhcp-client state (enabled|disabled)",
    "interface * ip gateway *": "interface * ipv4 gateway *",
    "interface * ip vrf *": "interface * vrf *",
    "interface * bond mlag enable (on|off)": "interface * bond mlag state (enabled|disabled)",
    "interface * bond lacp-bypass (on|off)": "interface * bond lacp-bypass (enabled|disabled)",
    "interface * bridge domain * stp bpdu-guard (on|off)": (
        "interface * bridge domain * stp bpdu-guard (enabled|disabled)"
    ),
    "interface * bridge domain * stp admin-edge (on|off)": (
        "interface * bridge domain * stp admin-edge (enabled|disabled)"
    ),
    "mlag enable (on|off)": "mlag state (enabled|disabled)",
    "router bgp enable (on|off)": "router bgp state (enabled|disabled)",
    f"{BGP} enable (on|off)": f"{BGP} state (enabled|disabled)",
    f"{BGP} address-family ipv4-unicast enable (on|off)": f"{BGP} address-family ipv4-unicast state (enabled|disabled)",
    f"{BGP} address-family ipv4-unicast redistribute connected enable (on|off)": (
        f"{BGP} address-family ipv4-unicast redistribute connected state (enabled|disabled)"
    ),
    f"{BGP} address-family ipv4-unicast aggregate-route * summary-only (on|off)": (
        f"{BGP} address-family ipv4-unicast aggregate-route * summary-only (enabled|disabled)"
    ),
    f"{BGP} path-selection multipath aspath-ignore (on|off)": (
        f"{BGP} path-selection multipath aspath-ignore (enabled|disabled)"
    ),
    f"{BGP} peer-group * address-family ipv4-unicast enable (on|off)": (
        f"{BGP} peer-group * address-family ipv4-unicast state (enabled|disabled)"
    ),
    f"{BGP} peer-group * bfd enable (on|off)": f"{BGP} peer-group * bfd profile *",
}


def iter_commands(data: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The arguments of ``nv set`` for a patch: ``interface swp1 ipv4 address 10.0.0.0/31``."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from iter_commands(value, (*path, str(key)))
    else:
        words = {True: "on", False: "off"}  # as YAML 1.1 reads them
        yield " ".join(path if data == {} else (*path, words[data] if isinstance(data, bool) else str(data)))


def uses(command: str, pattern: str) -> bool:
    """Whether a command is one of a table's."""
    words, wanted = command.split(), pattern.split()
    return len(words) == len(wanted) and all(
        word in want[1:-1].split("|") if want.startswith("(") else fnmatchcase(word, want)
        for word, want in zip(words, wanted, strict=True)
    )
