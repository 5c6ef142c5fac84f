"""Jobs: a job is declared, placed on a plan, recorded durably, and run by an engine.

``placement`` decides (pure), ``store`` has the records, ``engines.base`` is the small interface of all engines,
``api`` combines them in the manner of ``concurrent.futures``. To add an engine: one module (or folder) in
``engines/`` and one line in ``engines.base.ENGINES``; third parties use the entry point group ``supercloud.engines``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Job as Job
    from .api import as_completed as as_completed
    from .api import get as get
    from .api import list_jobs as list_jobs
    from .api import submit as submit
    from .api import wait as wait
    from .executor import Executor
    from .placement.place import Placement, Refusal, place, why_not
    from .runtime.fencing import FencedError
    from .store.states import State
    from .store.store import Store

# Imported on first use: the agent of the local engine imports this package and must start fast.
_MODULES = {
    "Executor": "executor",
    "FencedError": "runtime.fencing",
    "Job": "api",
    "Placement": "placement.place",
    "Refusal": "placement.place",
    "State": "store.states",
    "Store": "store.store",
    "as_completed": "api",
    "get": "api",
    "list_jobs": "api",
    "place": "placement.place",
    "submit": "api",
    "wait": "api",
    "why_not": "placement.place",
}

__all__ = [
    "Executor",
    "FencedError",
    "Job",
    "Placement",
    "Refusal",
    "State",
    "Store",
    "as_completed",
    "get",
    "list_jobs",
    "place",
    "submit",
    "wait",
    "why_not",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
