"""One error in each spec of a cloud site, and the finding about it: for :mod:`plan.test_cloud_checks`."""

from __future__ import annotations

from typing import Any

from plan.wrong_clouds import machines, networks, own_parts, sites, storage, storage_options

# (check, level, path, word of the problem, changes of the spec)
CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    *sites.CASES,
    *machines.CASES,
    *networks.CASES,
    *own_parts.CASES,
    *storage.CASES,
    *storage_options.CASES,
]
