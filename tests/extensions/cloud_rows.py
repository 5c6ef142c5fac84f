"""Proofs of rows of clouds. The cloud is that of the page «Write a cloud»."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from samples import ROOT

from extensions.catalog_rows import DATA, read_example
from extensions.package_copy import PackageCopy

PAGE = (ROOT / "docs/extend/cloud.md").read_text()
SPEC = """\
name: own
site: {kind: own, region: own-north}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: own-gpu8, nodes: 16, fabrics: [compute]}]
fabrics: [{name: compute, kind: roce}]
catalog: overlay
"""
KUBERNETES = SPEC.replace('kind: slurm, version: "25.11"', 'kind: kubernetes, version: "1.36"')
CREATE = """
import asyncio
import gc

import pulumi
from supercloud.pulumi import Cluster

made, hosts = {}, {}

class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        made[args.name] = args.typ, args.inputs
        return f"{args.name}-id", args.inputs

    def call(self, args):
        raise AssertionError(args.token)

asyncio.set_event_loop(asyncio.new_event_loop())  # from 3.14 on, Python creates none by itself
pulumi.runtime.set_mocks(Mocks(), "project", "stack")

@pulumi.runtime.test
def create():
    return Cluster("prod", {"spec": "cluster.yaml"}).hosts.apply(hosts.update)

create()  # returns when all resources are registered
print(*sorted(hosts), *sorted({kind.split(":")[2] for kind, _ in made.values()}))
print(int(made["prod-train-on-demand"][1]["size"]))
# the SDK leaves event loops open, and Python then sometimes prints an error when it exits
for item in gc.get_objects():
    if isinstance(item, asyncio.BaseEventLoop):
        item.close()
"""


def read_block(after: str) -> str:
    """The first block of code after a text of the page."""
    assert PAGE.count(after) == 1, after
    found = re.search(r"```\{code-block\} \w+\n(.*?)```", PAGE.split(after)[1], re.S)
    assert found is not None, after
    return found[1]


def add_cloud(copy: PackageCopy) -> None:
    """A cloud that no model knows, with both schedulers."""
    spec, registry = "supercloud/spec/site.py", "supercloud/targets/clouds/__init__.py"
    union = "Site = Annotated[OnPremSite | AwsSite | GcpSite | AzureSite"
    copy.function(spec, "Site = Annotated[", f"{read_block('only this cloud has:')}\n")
    copy.change(spec, f"{union},", f"{union} | OwnSite,")
    facts = re.findall(rf"`({DATA}/[a-z-]+/own\.yaml)`", PAGE)
    assert len(facts) == 6
    for path in facts:
        copy.add(path, read_block(f"`{path}`"))
    copy.add("templates/boot/clouds/own.sh.j2", read_block("`templates/boot/clouds/own.sh.j2`"))
    copy.add("supercloud/targets/clouds/own/__init__.py", read_block("`supercloud/targets/clouds/own/__init__.py`"))
    line = read_block("The line in `CLOUDS`").strip()
    copy.line(registry, '    "aws": "supercloud.targets.clouds.aws:build",', f"    {line}")
    for path in re.findall(r"`(overlay/\S+)`", PAGE):
        (copy.work / path).parent.mkdir(parents=True, exist_ok=True)
        copy.write(path, read_block(f"`{path}`"))

    copy.write("cluster.yaml", SPEC)
    shown = copy.run("plan", "cluster.yaml")
    assert "own at own-north" in shown and "cloud-provider" not in shown
    spot = SPEC.replace("nodes: 16,", "nodes: 16, capacity: [{kind: spot}],")
    copy.write("spot.yaml", spot)
    assert "Own Cloud does not sell unused capacity" in copy.run("check", "spot.yaml", status=2)
    copy.run("render", "cluster.yaml", "--out", "out")
    check_functions(copy.work / "out/boot/clouds/own.sh")
    got = copy.python(CREATE)
    assert got == "ctl1 login Bucket Cluster Group Instance Network Object Secret\n16\n", got

    copy.write("cluster.yaml", KUBERNETES)
    copy.run("render", "cluster.yaml", "--target", "kubernetes", "--out", "tree")
    assert "own.example/row" in (copy.work / "tree/kubernetes/queues/topologies.yaml").read_text()
    code = "from supercloud.catalog import Catalog\nfrom supercloud.jobs.broker.unit import list_variables\n"
    assert copy.python(f"{code}print('OWN_TOKEN' in list_variables(Catalog()).secrets)") == "True\n"


def check_functions(script: Path) -> None:
    """The script has all functions that the target documents, and shellcheck finds nothing."""
    described = set(re.findall(r"^``(cloud_\w+)", (ROOT / "supercloud/targets/boot/__init__.py").read_text(), re.M))
    assert len(described) > 10
    assert set(re.findall(r"^(cloud_\w+)\(\)", script.read_text(), re.M)) == described
    subprocess.run([Path(sys.executable).with_name("shellcheck"), script], check=True)


def add_cloud_fabric(copy: PackageCopy) -> None:
    """A fabric that only one cloud has, with a device plugin for its ports."""
    kinds = 'FabricKind = Literal["infiniband", "roce", "ethernet", "efa"'
    copy.change("supercloud/spec/fabric.py", f"{kinds},", f'{kinds}, "own-link",')
    adapters = 'AdapterKind = Literal["infiniband", "ethernet", "vpi", "efa"'
    copy.change("supercloud/catalog/machine.py", f"{adapters},", f'{adapters}, "own-link",')
    copy.line(f"{DATA}/providers/aws.yaml", "  efa: efa\n", "  own-link: own-link\n")
    copy.line(
        f"{DATA}/kubernetes-services/aws.yaml",
        "port_plugins:",
        "  own-link: {chart: aws-efa, resource: own.example/port, environment: {OWN_LINK: yes}}",
    )
    machines = copy.work / "overlay/machines"
    machines.mkdir(parents=True)
    (machines / "p5.48xlarge.yaml").write_text(
        "name: p5.48xlarge\nadapters: [{role: compute, kind: own-link, count: 8, speed: 400 Gb/s}]\n"
    )
    copy.write("cluster.yaml", "catalog: overlay\n" + read_example("10", ("kind: efa", "kind: own-link")))
    copy.run("render", "cluster.yaml", "--target", "kubernetes", "--out", "out")
    rendered = "".join(path.read_text() for path in (copy.work / "out/kubernetes").rglob("*.yaml"))
    assert "own.example/port" in rendered and "OWN_LINK" in rendered and "vpc.amazonaws.com" not in rendered


PROOFS = {"cloud": add_cloud, "fabric that only one cloud has": add_cloud_fabric}
