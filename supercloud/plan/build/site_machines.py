"""Machines that a spec names in addition to its nodes: they are of the site, as nodes are."""

from __future__ import annotations

from ...catalog import Catalog, Machine
from ...errors import NEAREST, UnknownNameError
from ..model.problems import Problems

__all__ = ["check_site", "find_site_machine", "select_machines_of_site"]


def find_site_machine(name: str, path: str, site: str, catalog: Catalog, problems: Problems) -> Machine | None:
    """Look up a machine by name; report a problem if it is unknown or of another site."""
    try:
        machine = catalog.get(Machine, name)
    except UnknownNameError as error:
        problems.add_unknown_name(path, select_machines_of_site(error, site, catalog))
        return None
    return machine if check_site(machine, path, site, problems) else None


def select_machines_of_site(error: UnknownNameError, site: str, catalog: Catalog) -> UnknownNameError:
    """The error with the names of the site's machines, if no machine has a similar name."""
    if error.hint.startswith(NEAREST):
        return error
    known = [name for name in error.known if catalog.get(Machine, name).provider == site]
    return UnknownNameError(error.kind, error.name, known, "supercloud catalog machines lists them")


def check_site(machine: Machine, path: str, site: str, problems: Problems) -> bool:
    """Whether a machine is of the site; report a problem if not."""
    if machine.provider == site:
        return True
    problems.add_error(
        "machine-site",
        path,
        f"{machine.name} is {machine.kind_of_site}, but the site is {site}",
        f"use {'an on-prem machine' if site == 'onprem' else f'a machine of {site}'}: supercloud catalog machines",
    )
    return False
