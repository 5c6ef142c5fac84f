"""Declare an AI supercomputer once; plan it, render its configuration, run jobs on it.

>>> import supercloud as sc
>>> plan = sc.resolve(sc.load("examples/01-minimal/cluster.yaml"))
>>> sc.render(plan, "slurm").write("out/slurm")
>>> job = sc.submit(sc.JobSpec(name="hello", command=("hostname",)), plan, engine="local")
>>> job.result()

These names are the public API; everything else is an implementation detail. They are imported on first use, so that
``import supercloud`` is fast and needs no optional package.

``JobSpec.model_validate`` and ``ClusterSpec.model_validate`` accept the same values as YAML: a list for a tuple,
``"2 h"`` for a duration, a mapping for a model. So do the constructors, but type checkers require the declared types
there, such as ``command=("hostname",)``, unless mypy uses Pydantic's plugin (``plugins = ["pydantic.mypy"]`` under
``[tool.mypy]``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .catalog import Catalog as Catalog
    from .errors import CatalogError as CatalogError
    from .errors import EngineError as EngineError
    from .errors import Finding as Finding
    from .errors import InputError as InputError
    from .errors import JobFailedError as JobFailedError
    from .errors import OperationError as OperationError
    from .errors import SpecError as SpecError
    from .errors import SupercloudError as SupercloudError
    from .jobs import Executor as Executor
    from .jobs import Job as Job
    from .jobs import Placement as Placement
    from .jobs import Refusal as Refusal
    from .jobs import State as State
    from .jobs import as_completed as as_completed
    from .jobs import place as place
    from .jobs import submit as submit
    from .jobs import wait as wait
    from .jobs import why_not as why_not
    from .plan.model.plan import Plan
    from .plan.publish.diff import diff_plans
    from .plan.publish.document import build_document
    from .plan.resolve import resolve as resolve
    from .primitives.bundle import Bundle as Bundle
    from .spec import ClusterSpec as ClusterSpec
    from .spec import FleetSpec as FleetSpec
    from .spec import JobSpec as JobSpec
    from .spec.loader import load as load
    from .spec.loader import load_fleet as load_fleet
    from .spec.loader import load_job as load_job
    from .targets import render as render

_MODULES = {
    "Bundle": "primitives.bundle",
    "Catalog": "catalog",
    "CatalogError": "errors",
    "ClusterSpec": "spec",
    "EngineError": "errors",
    "Executor": "jobs",
    "Finding": "errors",
    "FleetSpec": "spec",
    "InputError": "errors",
    "Job": "jobs",
    "JobFailedError": "errors",
    "JobSpec": "spec",
    "OperationError": "errors",
    "Placement": "jobs",
    "Plan": "plan.model.plan",
    "Refusal": "jobs",
    "SpecError": "errors",
    "State": "jobs",
    "SupercloudError": "errors",
    "as_completed": "jobs",
    "build_document": "plan.publish.document",
    "diff_plans": "plan.publish.diff",
    "load": "spec.loader",
    "load_fleet": "spec.loader",
    "load_job": "spec.loader",
    "place": "jobs",
    "render": "targets",
    "resolve": "plan.resolve",
    "submit": "jobs",
    "wait": "jobs",
    "why_not": "jobs",
}

__all__ = [
    "Bundle",
    "Catalog",
    "CatalogError",
    "ClusterSpec",
    "EngineError",
    "Executor",
    "Finding",
    "FleetSpec",
    "InputError",
    "Job",
    "JobFailedError",
    "JobSpec",
    "OperationError",
    "Placement",
    "Plan",
    "Refusal",
    "SpecError",
    "State",
    "SupercloudError",
    "as_completed",
    "build_document",
    "diff_plans",
    "load",
    "load_fleet",
    "load_job",
    "place",
    "render",
    "resolve",
    "submit",
    "wait",
    "why_not",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
