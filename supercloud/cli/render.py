"""``supercloud render``: the files of a cluster; of a fleet, those of its clusters and those shared by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JsonOption, load_plan
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..plan.model.plan import Plan
    from ..primitives.bundle import Bundle

# More files than this are not listed one by one.
_MAX_LISTED_FILES = 100

# Folders of schedulers, which use the files of the other folders.
_SCHEDULERS = (["slurm"], ["kubernetes"])

SpecOrFleet = Annotated[Path, typer.Argument(help="The spec of a cluster or of a fleet.", metavar="SPEC")]

EPILOG = "Example: supercloud render cluster.yaml --target slurm --out out/pod1 · next: read INSTALL.md in the output"


def render(
    spec: SpecOrFleet,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="What to render, such as slurm, kubernetes or cabling; may be repeated. Default: all that apply."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Output folder. Default: out/<cluster name>.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder that contains other files, or files of another spec.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the configuration of a cluster, or of every cluster of a fleet, into a folder, with one subfolder per
    target.

    With --target only their subfolders are replaced.
    """
    is_fleet = _is_fleet(spec)
    name, bundle = _render_fleet(spec, target) if is_fleet else _render_cluster(load_plan(spec), target)
    folder = out or Path("out") / name
    bundle.write(folder, force=force, source=spec, subfolders=_list_subfolders(bundle, is_fleet) if target else ())
    if as_json:
        print_json({"folder": str(folder), "files": list(bundle)})
        return
    for line in _format_files(bundle, folder):
        print_result(line)
    print_note(f"{len(bundle)} files written · next: {_describe_next_step(bundle, folder)}")


def _render_cluster(plan: Plan, target: list[str] | None) -> tuple[str, Bundle]:
    from ..primitives.bundle import Bundle
    from ..targets import list_targets
    from ..targets import render as render_target
    from ..targets.installation import render_order

    # rendering of some targets does not change the page of all targets
    bundle = Bundle({}) if target else render_order(plan)
    for name in target or list_targets(plan):
        bundle |= render_target(plan, name).with_prefix(name)
    return plan.name, bundle


def _is_fleet(spec: Path) -> bool:
    from ..spec.document import read_document

    data = read_document(spec).data
    return isinstance(data, Mapping) and "clusters" in data and "pools" not in data


def _render_fleet(spec: Path, target: list[str] | None) -> tuple[str, Bundle]:
    """Each cluster under its own name, with the targets that apply to it; files of the fleet itself under ``fleet``."""
    from ..errors import InputError
    from ..primitives.bundle import Bundle
    from ..spec.loader import load_fleet, require_member_files

    loaded = load_fleet(spec)
    require_member_files(loaded, spec)
    fleet = loaded.model
    plans = [load_plan(spec.parent / member.spec) for member in fleet.clusters]
    errors = [finding for plan in plans for finding in plan.errors]
    if errors:
        raise InputError(f"{fleet.name} cannot be rendered: the plans of its clusters have errors", errors)
    named = {plan.name: plan for plan in plans}
    if len(named) < len(plans):
        raise InputError(f"{spec}: cluster names must be unique: {', '.join(p.name for p in plans)}")
    bundle = Bundle({})
    for name, plan in named.items():
        known = _select_targets(plan, target)
        if target is None or known:
            bundle |= _render_cluster(plan, known or None)[1].with_prefix(f"clusters/{name}")
    if target and not bundle:
        raise InputError(f"{', '.join(target)}: applies to no cluster of {fleet.name}")
    return fleet.name, bundle | _render_common_queue(fleet.name, named, target)


def _select_targets(plan: Plan, target: list[str] | None) -> list[str]:
    """The requested targets that apply to a cluster, with unknown ones: the first cluster reports these."""
    from ..targets import TARGETS, list_targets

    return [item for item in target or () if item not in TARGETS or item in list_targets(plan)]


def _render_common_queue(name: str, plans: Mapping[str, Plan], target: list[str] | None) -> Bundle:
    """One queue over all clusters that have Kueue, if there are several."""
    from ..primitives.bundle import Bundle
    from ..targets.schedulers.kubernetes import render_fleet

    able = {key: plan for key, plan in plans.items() if plan.scheduler.kubernetes and plan.scheduler.kubernetes.kueue}
    if len(able) < 2 or (target is not None and "kubernetes" not in target):
        return Bundle({})
    if left := sorted(set(plans) - set(able)):
        print_note(f"not in the common queue (no Kueue): {', '.join(left)}")
    return render_fleet(name, able).with_prefix("fleet/kubernetes")


def _list_subfolders(bundle: Iterable[str], is_fleet: bool) -> set[str]:
    """The folder of each target in a bundle: ``slurm``, or of a fleet ``clusters/NAME/slurm`` and ``fleet/slurm``."""
    found = set()
    for path in bundle:
        parts = path.split("/")
        depth = 1 if not is_fleet else 3 if parts[0] == "clusters" else 2
        found.add("/".join(parts[:depth]))
    return found


def _format_files(bundle: Iterable[str], folder: Path) -> list[str]:
    """Every file, or, if there are many, each target's folder with their number."""
    paths = list(bundle)
    if len(paths) <= _MAX_LISTED_FILES:
        return [str(folder / path) for path in paths]
    folders = Counter(str(folder / path.split("/")[0]) for path in paths if "/" in path)
    return [str(folder / path) for path in paths if "/" not in path] + [
        f"{name}/ ({count} file{'s' * (count > 1)})" for name, count in folders.items()
    ]


def _describe_next_step(bundle: Iterable[str], folder: Path) -> str:
    """The page to start with: the outermost, which gives the order of the others; of several the scheduler's."""
    guides = [path for path in bundle if path.endswith(("INSTALL.md", "GUIDE.md"))]
    first = min(guides, key=lambda path: (path.count("/"), path.split("/")[-2:-1] not in _SCHEDULERS, path), default="")
    return f"read {folder / first}" if first else "apply them"
