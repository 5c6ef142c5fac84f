"""Builds the plan of a spec, with the findings of all checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from ..catalog import Catalog
from ..errors import CatalogError, Finding, require_type
from ..spec import ClusterSpec
from ..spec.loader import LoadedSpec
from .build.pipeline import build_plan
from .checks import run_checks
from .model.plan import Plan

__all__ = ["load_catalog", "resolve"]


def resolve(spec: ClusterSpec | LoadedSpec[ClusterSpec], catalog: Catalog | None = None) -> Plan:
    """Decide everything about a cluster. The content of a spec never raises: its problems are in ``plan.findings``.

    Args:
        spec: The spec. If it was loaded from a file, findings have file and line, and an overlay folder that it names
            is used.
        catalog: Facts, instead of the shipped catalog with its overlays.

    Raises:
        InputError: If ``spec`` is not a cluster spec.
        CatalogError: If a file of the catalog or of an overlay is invalid.
    """
    require_type(
        spec,
        (ClusterSpec, LoadedSpec),
        "resolve takes a cluster spec",
        "read one with load(path), or use ClusterSpec.model_validate(…)",
    )
    loaded = spec if isinstance(spec, LoadedSpec) else None
    declared = loaded.model if loaded else cast(ClusterSpec, spec)
    folder = Path(loaded.document.file).parent if loaded else Path()
    try:
        facts = catalog or load_catalog(declared, folder)
    except CatalogError as error:
        raise CatalogError(
            str(error.args[0]), list(map(loaded.locate, error.findings)) if loaded else error.findings
        ) from None
    plan = run_checks(build_plan(declared, facts, folder), facts)
    return replace(plan, findings=tuple(map(loaded.locate, plan.findings))) if loaded else plan


def load_catalog(spec: ClusterSpec, folder: Path) -> Catalog:
    """The shipped catalog with the overlays of the environment and of the spec; ``folder`` is that of the spec.

    Raises :class:`CatalogError`, with the field of the spec if its overlay cannot be used.
    """
    shipped = Catalog.load_default()
    if not spec.catalog:
        return shipped
    try:
        return Catalog.load_default(folder / spec.catalog)
    except CatalogError as error:
        hint = (
            f"specify a directory such as overlay, with a path relative to the folder of the spec, {folder.absolute()}"
        )
        raise CatalogError(
            "the catalog overlay of the spec cannot be used",
            [Finding("catalog", "error", "catalog", str(error.args[0]), hint)],
        ) from None
