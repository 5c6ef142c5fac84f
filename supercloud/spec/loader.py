"""Load files into models and report all problems at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..errors import MAX_SHOWN, Finding, SpecError, require_type
from ..primitives.counts import format_count
from .base import Model
from .cluster import ClusterSpec
from .constructed import validate_document
from .document import Document, DocumentPath, format_path, parse_yaml, read_document
from .fleet import FleetSpec
from .job import JobSpec
from .problems import build_findings, find_duplicate_names

__all__ = ["LoadedSpec", "load", "load_fleet", "load_job", "loads", "require_member_files"]

M = TypeVar("M", bound=Model)


class LoadedSpec(Generic[M]):
    """A model together with the document it came from, so that later findings can include file and line."""

    def __init__(self, model: M, document: Document):
        self.model = model
        self.document = document

    def locate(self, finding: Finding) -> Finding:
        """The finding with file and line of its path, if the path is in the document.

        Args:
            finding: A finding of the spec.
        """
        if not self.document.file or finding.file:
            return finding
        return finding.with_location(
            self.document.file, self.document.find_line(_parse_path(finding.path, self.document.data))
        )


def load(path: str | os.PathLike[str]) -> LoadedSpec[ClusterSpec]:
    """Read a cluster spec from YAML or JSON.

    Args:
        path: The file.

    Raises:
        SpecError: With all problems of the file, each with its line.
        InputError: If ``path`` is not a path.
    """
    _require_path(path, ClusterSpec, "load")
    return _load(path, ClusterSpec, "a cluster spec")


def load_job(path: str | os.PathLike[str]) -> LoadedSpec[JobSpec]:
    """Read a job from YAML or JSON.

    Args:
        path: The file.

    Raises:
        SpecError: With all problems of the file, each with its line.
        InputError: If ``path`` is not a path.
    """
    _require_path(path, JobSpec, "load_job")
    return _load(path, JobSpec, "a job")


def load_fleet(path: str | os.PathLike[str]) -> LoadedSpec[FleetSpec]:
    """Read a fleet from YAML or JSON; the spec of a single cluster is a fleet of one.

    Args:
        path: The file.

    Raises:
        SpecError: With all problems of the file, each with its line.
        InputError: If ``path`` is not a path.
    """
    _require_path(path, FleetSpec, "load_fleet")
    document = _read_document(path, FleetSpec)
    if isinstance(document.data, Mapping) and "pools" in document.data:
        _validate_document(document, ClusterSpec, "a cluster spec")
        data: dict[str, Any] = {"name": document.data["name"], "clusters": [{"spec": Path(path).name}]}
        return LoadedSpec(FleetSpec.model_validate(data), document)
    return LoadedSpec(_validate_document(document, FleetSpec, "a fleet"), document)


def require_member_files(loaded: LoadedSpec[FleetSpec], path: Path) -> None:
    """Raise :class:`SpecError` with all clusters of the fleet at ``path`` whose spec does not exist."""
    missing = [
        loaded.locate(
            Finding(
                "spec",
                "error",
                f"clusters[{index}].spec",
                f"file not found: {path.parent / member.spec}",
                "correct the path, which is relative to the folder of this file",
            )
        )
        for index, member in enumerate(loaded.model.clusters)
        if not os.path.lexists(path.parent / member.spec)
    ]
    if missing:
        raise SpecError(f"{path}: {format_count(len(missing), 'cluster')} without a spec", missing)


def loads(text: str, file: str = "") -> LoadedSpec[ClusterSpec]:
    """Read a cluster spec from YAML text."""
    document = parse_yaml(text, file)
    return LoadedSpec(_validate_document(document, ClusterSpec, "a cluster spec"), document)


def _require_path(path: object, model: type[Model], function: str) -> None:
    require_type(
        path,
        (str, os.PathLike),
        f"{function} requires the path of a file",
        f"for data in memory use {model.__name__}(**data)",
    )


def _load(path: str | os.PathLike[str], model: type[M], document_kind: str) -> LoadedSpec[M]:
    document = _read_document(path, model)
    return LoadedSpec(_validate_document(document, model, document_kind), document)


_FIRST_FILE_HINTS: Mapping[type[Model], str] = {
    ClusterSpec: "'supercloud init FILE' writes an initial cluster spec",
    FleetSpec: "'supercloud init FILE' writes an initial cluster spec, and a fleet is a file such as {name: all, "
    "clusters: [{spec: cluster.yaml, connect: {engine: slurm, via: 'ssh:HOST'}}]}",
    JobSpec: "a job is a file such as {name: hello, command: [hostname], accelerators: {count: 8}}",
}
"""How to get an initial file of each kind."""


def _read_document(path: str | os.PathLike[str], model: type[Model]) -> Document:
    """The document of a file; if the file does not exist, :class:`SpecError` has a hint."""
    if not os.path.lexists(path):
        raise SpecError(f"{os.fspath(path)}: file not found; {_FIRST_FILE_HINTS[model]}")
    return read_document(Path(path))


def _validate_document(document: Document, model: type[M], document_kind: str) -> M:
    name = document.file or "the text"
    if not isinstance(document.data, Mapping):
        found = "is empty" if document.data is None else f"contains a {type(document.data).__name__.lstrip('_')}"
        wanted = (
            _suggest_script_conversion(document.data, model) or f"{document_kind} is a mapping that starts with 'name:'"
        )
        raise SpecError(f"{name} {found}; {wanted}")
    if {"apiVersion", "kind"} <= set(document.data):
        raise SpecError(f"{name} is a Kubernetes object, not {document_kind}; {_KUBERNETES_HINTS[model is JobSpec]}")
    if other := _find_other_kind(document.data, model):
        raise SpecError(f"{name} is {other}, not {document_kind}; {_suggest_other_file(document.data, model)}")
    problems = [
        replace(finding, path=format_path(place)).with_location(document.file, document.find_line(place))
        for place, finding in islice(find_duplicate_names(document.data, model), MAX_SHOWN)
    ]
    try:
        valid = validate_document(model, document.data)
    except ValidationError as error:
        problems += [
            finding.with_location(document.file, document.find_line(place))
            for place, finding in build_findings(error, document.data, model, find_line=document.find_line)
        ]
    findings = sorted(
        {*problems, *document.duplicates}, key=lambda finding: (finding.line, finding.path, finding.problem)
    )
    if findings:
        raise SpecError(f"{name}: {format_count(len(findings), 'problem')} in {document_kind}", findings)
    return valid


_KUBERNETES_HINTS = {
    True: "a job for any scheduler is a mapping such as {name: train, command: [python, train.py], "
    "accelerators: {type: h100, count: 8}}; write it to a separate file",
    False: "see 'supercloud init cluster.yaml' for an example",
}


def _suggest_script_conversion(data: object, model: type[Model]) -> str:
    """A hint for a file that is a script, such as one for sbatch."""
    if model is not JobSpec or not isinstance(data, str) or "\n" not in data and " " not in data:
        return ""
    return (
        "a shell script becomes a job as {name: train, accelerators: {type: h100, count: 8}, script: |} with its lines "
        "below script, indented; lines that start with #SBATCH are fields here: nodes, tasks_per_node, time_limit"
    )


_DOCUMENT_MARKERS: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {
    ClusterSpec: ("a cluster spec", ("pools",)),
    FleetSpec: ("a fleet", ("clusters",)),
    JobSpec: ("a job", ("command", "script")),
}
"""Name of each kind of file, and the top-level fields that only this kind has."""


def _find_other_kind(data: Mapping[str, Any], model: type[Model]) -> str:
    """The kind of a file that was loaded as another kind; empty if unclear."""
    found = [kind for kind, (_, marks) in _DOCUMENT_MARKERS.items() if any(mark in data for mark in marks)]
    return (
        _DOCUMENT_MARKERS[found[0]][0]
        if len(found) == 1 and model in _DOCUMENT_MARKERS and found[0] is not model
        else ""
    )


def _suggest_other_file(data: Mapping[str, Any], model: type[Model]) -> str:
    """A hint for a file of another kind."""
    if model is JobSpec:
        return "write the job (name, command, accelerators) to a separate file, and pass this one as --on"
    if "clusters" in data:
        return "pass the spec of one of its clusters"
    if model is FleetSpec:
        return "pass a fleet, or the spec of a cluster; check a job with 'supercloud place JOB --on FLEET'"
    return "pass the spec of a cluster; check a job with 'supercloud place JOB --on SPEC'"


def _parse_path(path: str, data: Any) -> DocumentPath:
    """The location of a path such as ``pools[0].machine`` or ``pools[train].nodes`` in the data."""
    place: list[str | int] = []
    here = data
    for part in path.replace("[", ".[").split("."):
        if not part:
            continue
        key: str | int = part
        if part.startswith("[") and part.endswith("]"):
            inner = part[1:-1]
            if inner.isascii() and inner.isdigit() and len(inner) < 19:
                key = int(inner)
            elif isinstance(here, list):
                names = [item.get("name") if isinstance(item, Mapping) else None for item in here]
                key = names.index(inner) if inner in names else -1
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            break
        place.append(key)
    return tuple(place)
