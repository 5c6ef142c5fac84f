"""Proofs of rows of the spec, the plan and the targets."""

from __future__ import annotations

import json

from samples import ROOT

from extensions.catalog_rows import DATA, read_example
from extensions.package_copy import PackageCopy


def add_unit(copy: PackageCopy) -> None:
    units = "    units = _build_units(W=1, kW=1000, MW=10**6, GW=10**9"
    copy.change("supercloud/primitives/quantity.py", f"{units})", f"{units}, hp=746)")
    copy.write("cluster.yaml", read_example("06", ("budget: 400 kW", "budget: 1000 hp")))
    code = "import supercloud as sc; print(sc.resolve(sc.load('cluster.yaml')).spec.facility.power.budget)"
    assert copy.python(code) == "746 kW\n"


def add_field(copy: PackageCopy) -> None:
    copy.line(
        "supercloud/spec/tenant.py",
        "    share: Natural = 1",
        '    """Weight."""\n    note: str = ""\n    """An own note. Example: ``hello``."""',
    )
    shown = copy.run("explain", "tenants.note")
    assert "An own note." in shown and "example: hello" in shown
    assert "An own note." in copy.run("schema", "cluster")
    copy.write("cluster.yaml", read_example("06", ("{name: research,", "{name: research, note: hello,")))
    copy.run("check", "cluster.yaml")


def add_foreign_names(copy: PackageCopy) -> None:
    copy.line("supercloud/spec/other-names.yaml", "  Tenant:", '    remark: "write name: %s"')
    copy.write("cluster.yaml", read_example("06", ("{name: research,", "{name: research, remark: lab,")))
    assert "write name: lab" in copy.run("check", "cluster.yaml", status=2)
    copy.change("supercloud/cli/commands.py", '"plan": ("show", ', '"plan": ("reckon", "show", ')
    assert "use: supercloud plan" in copy.run("reckon", status=2)


def add_check(copy: PackageCopy) -> None:
    code = '''@skip_in_trials
def own_rule(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Clusters with a single pool, whose plan is built again."""
    if len(plan.pools) == 1 and not replan(plan, catalog, plan.spec)[1]:
        yield Finding("own-rule", "warning", "pools", "only one pool", "add another")
'''
    checks = "supercloud/plan/checks/bonds.py"
    copy.line(checks, "from ..model.plan import Plan", "from .rebuild import skip_in_trials, replan")
    copy.function(checks, "CHECKS = (network_bonds,", code)
    copy.change(checks, "CHECKS = (network_bonds,", "CHECKS = (own_rule, network_bonds,")
    copy.write("cluster.yaml", read_example("01"))
    assert "only one pool [own-rule]" in copy.run("check", "cluster.yaml")


def add_shape(copy: PackageCopy) -> None:
    copy.add(
        "supercloud/topology/shapes/star.py",
        '''"""Stars: one switch for all nodes of a plane."""

from dataclasses import replace

from ..graph import Fabric
from .fat_tree import FatTree, build_fat_tree


def build_star(nodes: int, nics: int, radix: int, planes: int) -> Fabric:
    """Wire all nodes to the same switch."""
    tree = build_fat_tree(FatTree(nodes, nics=nics, radix=(radix, radix, radix), planes=planes, tiers=1))
    return replace(tree, shape="star")
''',
    )
    wiring, spec = "supercloud/plan/build/fabric/wiring.py", "supercloud/spec/fabric.py"
    case = '    if fabric.shape == "star":\n'
    case += "        return build_star(request.nodes, request.rails, request.radix[0], request.planes)"
    copy.function(wiring, '    if fabric.shape == "fat-tree":', case)
    copy.line(wiring, "from ....topology import Fabric as Wiring", "from ....topology.shapes.star import build_star")
    shapes = 'Literal["rail-optimized", "fat-tree", "clos", "torus"'
    copy.change(spec, f"    shape: {shapes}]", f'    shape: {shapes}, "star"]')
    copy.write("cluster.yaml", read_example("01", ("nodes: 16", "nodes: 4"), ("shape: rail-optimized", "shape: star")))
    shown = json.loads(copy.run("plan", "cluster.yaml", "--json"))
    (fabric,) = shown["fabrics"]
    assert fabric["shape"] == "star", fabric
    assert fabric["switches"] == {"leaf": 1, "spine": 0, "core": 0}, fabric


def add_discovery_format(copy: PackageCopy) -> None:
    path = "supercloud/targets/site/cabling/readers.py"
    code = """def _parse_own(data: Any) -> Iterator[tuple[str, str, str]]:
    for port, (device, other) in data.items():
        yield port, device, other
"""
    copy.function(path, "_PARSERS: dict[str, Callable", code)
    copy.line(path, '    "lldp": _parse_lldpctl,', '    "ownNeighbors": _parse_own,')
    copy.write("cluster.yaml", read_example("06"))
    found = {"compute-leaf-001": {"ownNeighbors": {"swp1s0": ["train-9999", "rail0p1"]}}}
    copy.write("found.json", json.dumps(found))
    assert "train-9999" in copy.run("verify-cabling", "cluster.yaml", "found.json", status=1)


def add_dialect(copy: PackageCopy) -> None:
    """The module and the templates are those of the page «Write a dialect»."""
    page = (ROOT / "docs/extend/dialect.md").read_text()
    module = page.split("{code-block} python\n", 1)[1].split("```", 1)[0]
    copy.add("supercloud/targets/site/dialects/own.py", module)
    for name in ("routed.conf.j2", "qos.conf.j2", "load-routed.md.j2"):
        text = page.split(f"templates/dialects/own/{name}`:\n\n```", 1)[1].split("\n", 1)[1].split("```", 1)[0]
        copy.add(f"templates/dialects/own/{name}", text)
    system = page.split("{code-block} yaml\n", 1)[1].split("```", 1)[0]
    copy.add(f"{DATA}/network-systems/own.yaml", system)
    line = '    "own": "supercloud.targets.site.dialects.own:DIALECT",'
    assert line.strip() in page
    copy.line(
        "supercloud/targets/site/dialects/__init__.py",
        '    "nvue": "supercloud.targets.site.dialects.nvue:DIALECT",',
        line,
    )
    copy.write("cluster.yaml", read_example("06", ("os: nvue", "os: own")))
    copy.run("render", "cluster.yaml", "--target", "roce", "--out", "out")
    text = (copy.work / "out/roce/compute/leaf/compute-leaf-001.conf").read_text()
    assert "hostname compute-leaf-001" in text
    assert "dscp 26" in (copy.work / "out/roce/compute/leaf/qos.conf").read_text()
    assert "### Own switch system" in (copy.work / "out/roce/INSTALL.md").read_text()
    copy.write("cluster.yaml", read_example("05", ("    leaf_up: 4\n", "    leaf_up: 4\n    os: own\n")))
    copy.run("render", "cluster.yaml", "--target", "ethernet", "--out", "out")
    assert "none: own switches are routers" in (copy.work / "out/ethernet/INSTALL.md").read_text()


def add_storage_kind(copy: PackageCopy) -> None:
    designs, targets = "supercloud/plan/build/storage/designs.py", "supercloud/targets/storage/__init__.py"
    code = '''def _build_archive_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Parity groups within a server."""
    return _build_shard_design(storage, product, machine, drives, sizer)
'''
    copy.function(designs, "_DESIGN_BUILDERS: dict[", code)
    copy.line(designs, '    "nfs": _build_shard_design,', '    "archive": _build_archive_design,')
    copy.add(
        "supercloud/targets/storage/archive.py",
        '''"""An archive: its name."""

from ...primitives.bundle import File
from .store import StorageSystem


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the name of the archive."""
    return {"archive.conf": f"archive {storage.storage_plan.name}\\n"}
''',
    )
    copy.line(targets, "from .store import StorageSystem, format_header", "from . import archive")
    copy.line(targets, '    "nfs": nfs.render_files,', '    "archive": archive.render_files,')
    kinds = 'StorageKind = Literal["lustre", "weka", "storage-scale", "nfs"'
    copy.change(
        "supercloud/spec/storage.py", f'{kinds}, "object", "managed"]', f'{kinds}, "archive", "object", "managed"]'
    )
    folder = copy.work / "overlay/storage"
    folder.mkdir(parents=True)
    product = (copy.root / DATA / "storage/nfs.yaml").read_text()
    (folder / "archive.yaml").write_text(product.replace("nfs", "archive"))
    machine = (ROOT / "examples/07-storage/catalog/machines/flash-24.yaml").read_text()
    (copy.work / "overlay/machines").mkdir()
    (copy.work / "overlay/machines/flash-24.yaml").write_text(machine)
    changes = [("kind: nfs", "kind: archive"), ("catalog: catalog", "catalog: overlay"), ("name: home", "name: cold")]
    copy.write("cluster.yaml", read_example("07", *changes))
    copy.run("render", "cluster.yaml", "--target", "storage", "--out", "out")
    assert (copy.work / "out/storage/cold/archive.conf").read_text() == "archive cold\n"


def add_picture(copy: PackageCopy) -> None:
    copy.add(
        "supercloud/targets/report/own.py",
        '''"""A picture with the name of the cluster."""

from ...plan.model.plan import Plan
from ..pictures import Picture


def draw_name(plan: Plan) -> Picture:
    """Draw the name."""
    picture = Picture(200, 40, f"name of {plan.name}")
    picture.draw_text(10, 20, plan.name)
    return picture
''',
    )
    page = "supercloud/targets/report/page.py"
    copy.line(page, "from .rows import draw_row_plan", "from .own import draw_name")
    copy.line(page, '        "rows": draw_row_plan(plan),', '        "own": draw_name(plan),')
    copy.write("cluster.yaml", read_example("01"))
    copy.run("report", "cluster.yaml", "--svg", "pictures")
    assert "name of minimal" in (copy.work / "pictures/own.svg").read_text()


def add_target(copy: PackageCopy) -> None:
    """The module is that of the page «Write a target»."""
    page = (ROOT / "docs/extend/target.md").read_text()
    copy.add("supercloud/targets/pools.py", page.split("{code-block} python\n", 1)[1].split("```", 1)[0])
    registry = "supercloud/targets/__init__.py"
    copy.line(
        registry,
        '    "hosts": "supercloud.targets.site.hosts:render",',
        '    "pools": "supercloud.targets.pools:render",',
    )
    copy.write("cluster.yaml", read_example("01"))
    copy.run("render", "cluster.yaml", "--target", "pools", "--out", "out")
    assert (copy.work / "out/pools/pools.txt").read_text() == "train 16\n"
    copy.run("render", "cluster.yaml", "--out", "all")
    steps = [line for line in (copy.work / "all/INSTALL.md").read_text().splitlines() if line.startswith("|")]
    assert "`pools/`" in steps[-2] and "`slurm/INSTALL.md`" in steps[-1]


PROOFS = {
    "unit": add_unit,
    "field of the spec": add_field,
    "name of a field, value or unit in another system": add_foreign_names,
    "check": add_check,
    "fabric shape of switches": add_shape,
    "format of discovery output": add_discovery_format,
    "switch dialect": add_dialect,
    "kind of storage": add_storage_kind,
    "picture of the report": add_picture,
    "target": add_target,
}
