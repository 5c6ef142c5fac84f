"""Storage Scale: StanzaFile.j2 of IBM's install role, pages of mmcrnsd and mmcrcluster."""

from __future__ import annotations

import ipaddress
import re
import subprocess

import pytest
from storage_plans import EVERY, STORAGE_FABRIC, build_plan

from supercloud.catalog import Catalog
from supercloud.plan.model.storage import ScaleDesign
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render

# -- Storage Scale: StanzaFile.j2 of IBM's install role, pages of mmcrnsd and mmcrcluster -----------------------------

POOL = {"pool": r"\w+", "blockSize": r"\d+[KM]", "layoutMap": "cluster|scatter"}


NSD = {
    "device": r"/dev/\w+",
    "nsd": r"\w{1,32}",
    "servers": r"[\w.-]+(,[\w.-]+){0,7}",
    "usage": "dataAndMetadata|metadataOnly|dataOnly|descOnly|localCache",
    "failureGroup": r"\d{1,4}",
    "pool": r"\w+",
}


def parse_stanzas(text: str) -> list[tuple[str, dict[str, str]]]:
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, _, rest = line.partition(": ")
            found.append((kind, dict(word.split("=", 1) for word in rest.split())))
    return found


def test_stanzas_describe_the_disks(bundle: Bundle, catalog: Catalog) -> None:
    item = build_plan(catalog, EVERY[2]).storage[0]
    design = item.design
    assert isinstance(design, ScaleDesign)
    found = parse_stanzas(bundle["proj/disks.stanza"])
    for kind, keys in found:
        grammar = {"%pool": POOL, "%nsd": NSD}[kind]
        assert set(keys) == set(grammar)
        assert all(re.fullmatch(grammar[key], value) for key, value in keys.items()), keys
    disks = [keys for kind, keys in found if kind == "%nsd"]
    assert len(disks) == design.servers * design.drives == len({disk["nsd"] for disk in disks})
    assert {disk["pool"] for disk in disks} == {keys["pool"] for kind, keys in found if kind == "%pool"}
    assert all((disk["usage"] == "metadataOnly") == (disk["pool"] == "system") for disk in disks)
    assert len({disk["failureGroup"] for disk in disks}) == design.servers


def test_scale_nodes_and_commands_are_rendered(bundle: Bundle) -> None:
    nodes = bundle["proj/nodes.txt"].splitlines()
    assert all(re.fullmatch(r"[\w.-]+:(quorum|nonquorum)-(manager|client)", node) for node in nodes)
    assert sum(":quorum" in node for node in nodes) == 3
    script = bundle["proj/create.sh"]
    assert "mmcrcluster -N nodes.txt -C proj.pod1.internal -r /usr/bin/ssh -R /usr/bin/scp" in script
    assert re.search(r"^mmcrfs proj -F disks.stanza -B 4M -m 2 -M 2 -r 2 -R 2 -n \d+ -T /proj -A yes$", script, re.M)


def run_show(script: str, host: str) -> str:
    """What ``ipoib.sh show`` prints for a host."""
    return subprocess.run(
        ["bash", "-s", "--", "show", host], input=script, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("kind", ["infiniband", "roce"])
def test_scale_daemons_use_names_of_one_network(catalog: Catalog, kind: str) -> None:
    """NodeName of servers and clients is a name on the storage network, whose address the target hosts has."""
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": nodes, "fabrics": fabrics}
        for name, nodes, fabrics in (("a", 1, ["storage"]), ("b", 2, ["storage"]), ("c", 2, []))
    ]
    switch = {"switch": "nvidia-qm9700"} if kind == "infiniband" else {"switch": "nvidia-sn5600", "os": "sonic"}
    fabric = STORAGE_FABRIC | {"kind": kind} | switch
    plan = build_plan(catalog, EVERY[2] | {"fabric": "storage"}, pools=pools, fabrics=[fabric])
    made = render(plan, "storage")
    servers = [line.partition(":")[0] for line in made["proj/nodes.txt"].splitlines()]
    lines = re.findall(r"^(printf .*) >\w+\.clients$", made["proj/clients.sh"], re.M)
    clients = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert clients == ["a-0001-storage", "b-0001-storage", "b-0002-storage"]  # c has no port there
    hosts = {name: line.split()[0] for line in render(plan, "hosts")["hosts"].splitlines() for name in line.split()[1:]}
    assert plan.networks is not None
    blocks = [item.block for item in plan.networks.subnets if (item.role, item.fabric) == ("rail", "storage")]
    for name in (*servers, *clients):
        assert any(ipaddress.ip_address(hosts[name]) in block for block in blocks), name
    if kind == "infiniband":  # what the script gives the third node of the subnet
        assert f"{hosts['b-0002-storage']}/" in run_show(render(plan, "infiniband")["storage/ipoib.sh"], "b-0002")
    assert "a-0001\n" not in made["proj/clients.sh"]
    assert "printf '%s\\n' train-{0001..0127} >" in render(build_plan(catalog, EVERY[2]), "storage")["proj/clients.sh"]
