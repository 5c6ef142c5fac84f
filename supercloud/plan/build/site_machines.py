"""Machines that a spec names in addition to its nodes: they are of the site, as nodes are."""

from __future__ import annotations

from ...catalog import Catalog, Machine
from ...errors import UnknownNameError
from ..model.problems import Problems

__all__ = ["find_site_machine"]


def find_site_machine(name: str, path: str, site: str, catalog: Catalog, problems: Problems) -> Machine | None:
    """Look up a machine by name; report a problem if it is unknown or of another site."""
    try:
        machine = catalog.get(Machine, name)
    except UnknownNameError as error:
        problems.add_unknown_name(path, error)
        return None
    if machine.provider != site:
        problems.add_error(
            "machine-site",
            path,
            f"{machine.name} is {machine.kind_of_site}, but the site is {site}",
            f"use {'an on-prem machine' if site == 'onprem' else f'a machine of {site}'}: supercloud catalog machines",
        )
        return None
    return machine
