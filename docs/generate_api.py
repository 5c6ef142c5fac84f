"""Generate the page of the Python API: every public name with its signature, arguments and errors."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path

import supercloud
from supercloud.jobs.job import JobHandle
from supercloud.spec.schema import DOCUMENTS

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Specs": ("load", "load_job", "load_fleet", "ClusterSpec", "JobSpec", "FleetSpec", "spec.loader.LoadedSpec"),
    "Plans": (
        "resolve",
        "Plan",
        "Finding",
        "build_document",
        "diff_plans",
        "plan.publish.diff.Change",
        "Catalog",
    ),
    "Files": ("render", "Bundle"),
    "Placement": ("place", "why_not", "Placement", "Refusal"),
    "Jobs": (
        "submit",
        "Job",
        "State",
        "wait",
        "as_completed",
        "jobs.get",
        "jobs.list_jobs",
        "jobs.store.records.JobRecord",
        "spec.fleet.Connection",
    ),
    "Functions as jobs": ("Executor", "jobs.executor.FunctionJob"),
    "Errors": (
        "SupercloudError",
        "InputError",
        "SpecError",
        "CatalogError",
        "OperationError",
        "EngineError",
        "JobFailedError",
    ),
}
"""Names below ``supercloud``. Those with a dot are classes of results and arguments, and further functions."""
_COMPONENT = Path(supercloud.__file__).parent / "targets/clouds/component.py"


def render_api() -> Iterator[str]:
    """Yield the page."""
    yield "# The Python API\n"
    yield (
        "The public names of `import supercloud as sc`, and the classes that they take and return. All other names may "
        "change. Errors that a function raises are listed with it; all of them are `SupercloudError`, unless they are "
        "of Python.\n"
    )
    for title, names in SECTIONS.items():
        yield f"## {title}\n"
        for name in names:
            yield from _render_name(name)
    yield from _render_component()


def find_public(name: str) -> object:
    """The object of a name below ``supercloud``."""
    found: object = supercloud
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _render_name(name: str) -> Iterator[str]:
    found = find_public(name)
    if document := next((key for key, model in DOCUMENTS.items() if model is found), ""):
        signature = f"supercloud.{name}(**fields)"  # that of the model repeats its fields with their constraints
        yield _render_directive("py:class", signature, inspect.getdoc(found) or "")
        yield (
            f"Its fields are those of the [{document} spec]({document}.md). Invalid ones raise `SpecError` with all "
            f"problems. `{name}.model_validate(data)` accepts the values that YAML has also for type checkers, and "
            "raises `pydantic.ValidationError`.\n"
        )
    elif name == "spec.fleet.Connection":
        yield _render_directive("py:class", f"supercloud.{name}(**fields)", inspect.getdoc(found) or "")
        yield "Its fields are those of `clusters[].connect` of the [fleet spec](fleet.md).\n"
    else:
        kind = "autoclass" if inspect.isclass(found) else "autofunction"
        option = ":inherited-members:" if inspect.isclass(found) and issubclass(found, JobHandle) else ""
        yield _render_directive(kind, f"supercloud.{name}", "", option)


def _render_directive(kind: str, signature: str, text: str, option: str = "") -> str:
    body = "".join(f"   {line}".rstrip() + "\n" for line in text.splitlines())
    options = f"   {option}\n" if option else ""
    return f"```{{eval-rst}}\n.. {kind}:: {signature}\n{options}" + (f"\n{body}" if body else "") + "```\n"


def _render_component() -> Iterator[str]:
    """Yield the section of the Pulumi component. Its source is read, since ``make docs`` has no SDK of Pulumi."""
    classes = {item.name: item for item in ast.parse(_COMPONENT.read_text()).body if isinstance(item, ast.ClassDef)}
    component, arguments = classes["Cluster"], classes["ClusterArgs"]
    yield "## In a Pulumi program\n\n`from supercloud.pulumi import Cluster` requires the SDK of a provider.\n"
    signature = "supercloud.pulumi.Cluster(name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None)"
    yield _render_directive("py:class", signature, ast.get_docstring(component) or "")
    for title, model in (("argument in `args`", arguments), ("output", component)):
        yield f"| {title} | type | description |\n|---|---|---|"
        for name, kind, text in _iter_fields(model):
            cell = kind.replace("|", "\\|")
            yield f"| `{name}` | `{cell}` | {text} |"
        yield ""


def _iter_fields(model: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of the annotated fields of a class."""
    for field, text in zip(model.body, model.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            yield ast.unparse(field.target), ast.unparse(field.annotation), " ".join(str(text.value.value).split())
