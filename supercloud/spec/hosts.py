"""Hosts that exist: the names of a pool's nodes, if they follow another scheme than that of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from ..errors import InputError
from ..primitives.address_lists import parse_address_list
from ..primitives.host_lists import parse_host_list
from .base import MAX_NODES, LocatedProblem, Model
from .fabric import Cidr

__all__ = [
    "HostAddresses",
    "PoolHosts",
    "find_address_problems",
    "find_names_problem",
    "list_addresses",
    "list_host_names",
]

_MAX_TEXT = 65_536


def _check_with(parse: Callable[[str, int], object]) -> AfterValidator:
    """Validate a text with its parser, which raises InputError."""

    def check(text: str) -> str:
        try:
            parse(text, MAX_NODES)
        except InputError as error:
            raise ValueError(str(error)) from None
        return text

    return AfterValidator(check)


def _describe_lists(pattern: str, type_name: str) -> WithJsonSchema:
    """Schema of one text, or a list of such texts."""
    text = {"type": "string", "minLength": 1, "maxLength": _MAX_TEXT, "pattern": pattern}
    several = {"type": "array", "items": text, "maxItems": MAX_NODES}
    return WithJsonSchema({"anyOf": [text, several], "typeName": type_name})


def _wrap_text(value: object) -> object:
    return (value,) if isinstance(value, str) else value


HostLists = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=_MAX_TEXT), _check_with(parse_host_list)], ...],
    Field(max_length=MAX_NODES),
    BeforeValidator(_wrap_text),
    _describe_lists(r"^[a-z0-9\[\], -]+$", "host names"),
]
"""Host names in Slurm's notation: one text, or a list of such texts."""

AddressLists = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=_MAX_TEXT), _check_with(parse_address_list)], ...],
    Field(max_length=MAX_NODES),
    BeforeValidator(_wrap_text),
    _describe_lists("^[0-9., -]+$", "addresses"),
]
"""Addresses and ranges of them: one text, or a list of such texts."""


def _check_address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv4 address") from None


IPv4Text = Annotated[
    str,
    Field(min_length=7, max_length=15),
    AfterValidator(_check_address),
    WithJsonSchema({"type": "string", "minLength": 7, "maxLength": 15, "pattern": "^[0-9.]+$"}),
]


class HostAddresses(Model):
    """Addresses of nodes that exist, in one subnet."""

    subnet: Cidr
    """Subnet of the addresses, which several pools may share. Example: ``10.1.4.0/22``."""
    addresses: AddressLists
    """Addresses of the nodes in the order of their names: ranges, or a list. Example: ``10.1.4.11-10.1.4.74``."""
    gateway: IPv4Text | None = None
    """Gateway of the subnet; empty means its address 254. Example: ``10.1.4.1``."""


class PoolHosts(Model):
    """Names and addresses of nodes that exist."""

    names: HostLists = ()
    """Names of the nodes in the order of their positions, in Slurm's notation or as a list; empty means
    ``<pool>-0001`` and so on, or ``hostname`` instead of the pool. Example: ``gpu[001-032,041-072]``."""
    in_band: HostAddresses | None = None
    """Addresses on the in-band network; empty means that the plan assigns them. Example: ``{subnet: 10.1.4.0/22,
    addresses: 10.1.4.11-10.1.4.74}``."""
    bmc: HostAddresses | None = None
    """Addresses of the BMCs; empty means that the plan assigns them. Example: ``{subnet: 10.200.4.0/22, addresses:
    10.200.4.11-10.200.4.74}``."""


def list_host_names(hosts: PoolHosts) -> list[str]:
    """The names of a pool's nodes, in their order; empty if they are not given."""
    return [name for text in hosts.names for name in parse_host_list(text, MAX_NODES)]


def list_addresses(given: HostAddresses) -> list[int]:
    """The addresses of a pool's nodes as numbers, in their order."""
    return [address for text in given.addresses for address in parse_address_list(text, MAX_NODES)]


def find_address_problems(hosts: PoolHosts, nodes: int) -> list[LocatedProblem]:
    """What is wrong with the addresses as those of so many nodes."""
    found = []
    for field in ("in_band", "bmc"):
        given: HostAddresses | None = getattr(hosts, field)
        count = len(list_addresses(given)) if given else nodes
        if count != nodes:
            problem = f"{count} addresses, but the pool has {nodes} nodes"
            found.append(LocatedProblem(("hosts", field, "addresses"), ("nodes",), problem, f"list {nodes} addresses"))
    return found


def find_names_problem(hosts: PoolHosts, nodes: int) -> tuple[str, str]:
    """What is wrong with the names as those of so many nodes, and what to do; empty if nothing is."""
    names = list_host_names(hosts)
    if not names:
        return "", ""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        return f"{twice[0]} is the name of two nodes", "give each node one name"
    if len(names) != nodes:
        few = f"{len(names)} names, {names[0]} to {names[-1]}" if len(names) > 1 else f"one name, {names[0]}"
        return f"{few}, but the pool has {nodes} nodes", f"set nodes to {len(names)}, or list {nodes} names"
    return "", ""
