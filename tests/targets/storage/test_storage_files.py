"""What storage servers read parses by the grammar of the product's documentation, and says what the plan decided."""

from __future__ import annotations

import ipaddress
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from plan.test_storage_sizing import SERVER, planned

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.model.storage import LustreDesign, ScaleDesign, WekaDesign
from supercloud.primitives.bundle import Bundle
from supercloud.targets import list_targets, render

GIVES = {"read": "45 GB/s", "write": "30 GB/s"}
FLASH = {"machine": "flash-24", "throughput": GIVES}
STORAGE_FABRIC = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("overlay")
    (folder / "machines").mkdir()
    (folder / "machines" / "flash-24.yaml").write_text(SERVER)
    bare = SERVER.replace("flash-24", "bare").replace("disks:", "# disks:")
    (folder / "machines" / "bare.yaml").write_text(bare)
    return Catalog([Path(folder)])


def plan_of(catalog: Catalog, *stores: dict[str, Any], **changes: Any) -> Plan:
    plan = planned(catalog, *({"servers": FLASH} | store for store in stores), **changes)
    assert not plan.errors, plan.errors
    return plan


EVERY: list[dict[str, Any]] = [
    {"capacity": "2 PiB", "tier": "best", "interface": "ens1"},
    {"name": "fast", "kind": "weka", "capacity": "1 PiB", "tier": "good", "mount": "/fast", "interface": "ens1"},
    {"name": "proj", "kind": "storage-scale", "capacity": "1 PiB", "tier": "good", "mount": "/proj"},
    {
        "name": "home",
        "kind": "nfs",
        "capacity": "100 TiB",
        "mount": "/home",
        "throughput": {"read": "10 GB/s", "write": "5 GB/s"},
    },
    {"name": "data", "kind": "object", "capacity": "2 PiB", "mount": None},
]


@pytest.fixture(scope="module")
def bundle(catalog: Catalog) -> Bundle:
    return render(plan_of(catalog, *EVERY), "storage")


@pytest.mark.parametrize("drives", ["known", "not known"])
@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_every_product_has_a_folder_and_a_way_to_install(catalog: Catalog, drives: str, scheduler: str) -> None:
    """INSTALL.md names the files of each folder, all of them and no others, whatever is known of the servers."""
    bare = {"servers": {"machine": "bare", "count": 4, "throughput": GIVES}} if drives == "not known" else {}
    control = (
        {"kind": "kubernetes", "version": "1.34"}
        if scheduler == "kubernetes"
        else {"kind": "slurm", "version": "25.11"}
    )
    made = render(
        planned(catalog, *({"servers": FLASH} | store | bare for store in EVERY), scheduler=control), "storage"
    )
    parts = re.split(r"^## (\S+) .*$", made["INSTALL.md"], flags=re.M)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert set(sections) == {store.get("name", "scratch") for store in EVERY}
    for store, text in sections.items():
        there = {path.removeprefix(f"{store}/") for path in made if path.startswith(f"{store}/")}
        own = {"roce-rails.sh", "ipoib.sh"}  # of other bundles
        named = set(re.findall(r"`([a-z-]+\.(?:sh|conf|txt|stanza|yaml)|fstab|exports|minio)`", text)) - own
        assert named == there, store
        assert (drives == "known") == ("are unknown" not in text) or store == "home"


def test_without_servers_there_is_nothing_to_render(catalog: Catalog) -> None:
    assert "storage" not in list_targets(planned(catalog, {"tier": "best", "servers": None}))


@pytest.mark.slow
def test_scripts_are_sound(bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "out")
    scripts = sorted((tmp_path / "out").rglob("*.sh"))
    assert len(scripts) >= 8 and all(script.stat().st_mode & 0o111 for script in scripts)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([shellcheck, *scripts], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


# -- Lustre: mkfs.lustre(8), mount.lustre(8), lfs-setstripe(1) --------------------------------------------------------

MKFS = {"--mgs", "--mdt", "--ost", "--fsname", "--index", "--mgsnode", "--servicenode", "--backfstype"}
NID = r"[\w.-]+@(?:o2ib|tcp)\d*"


def run_format(bundle: Bundle, tmp_path: Path, host: str) -> list[list[str]]:
    """The mkfs.lustre commands that format.sh runs on a host, with the tools it calls replaced by echoes."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    log = tmp_path / "log"
    log.unlink(missing_ok=True)
    for name, body in (
        ("hostname", f"echo {host}"),
        ("tunefs.lustre", "exit 1"),
        ("mkfs.lustre", f'echo "$@" >>{log}'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    script = tmp_path / "format.sh"
    script.write_text(bundle["scratch/format.sh"])
    done = subprocess.run(["bash", script], env={"PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in log.read_text().splitlines()]


@pytest.mark.slow
def test_every_target_is_formatted_once_by_documented_options(catalog: Catalog, tmp_path: Path) -> None:
    plan = plan_of(catalog, {"capacity": "1 PiB", "tier": "good"})
    made, (item,) = render(plan, "storage"), plan.storage
    design = item.design
    assert isinstance(design, LustreDesign)
    indexes: dict[str, list[int]] = {"--mdt": [], "--ost": [], "--mgs": []}
    for group in item.servers:
        for host in group.hosts:
            for command in run_format(made, tmp_path, host):
                options = {word.partition("=")[0] for word in command if word.startswith("--")}
                assert options <= MKFS and command[-1].startswith("/dev/mapper/scratch-")
                (kind,) = options & set(indexes)
                indexes[kind] += [int(word[8:]) for word in command if word.startswith("--index=")] or [-1]
                assert f"--servicenode={host}@tcp0" in command
                for word in command:
                    name, _, value = word.partition("=")
                    assert name not in ("--mgsnode", "--servicenode") or re.fullmatch(NID, value), word
                assert kind == "--mgs" or {"--fsname=scratch", "--backfstype=ldiskfs"} <= set(command)
    assert indexes["--mdt"] == list(range(design.metadata_targets)) and indexes["--mgs"] == [-1]
    assert sorted(indexes["--ost"]) == list(range(design.targets))


# Lustre's rule: a client refuses requests larger than the brw_size that its target had when they connected.
LCTL = """#!/bin/bash
name=${2%=*} value=${2#*=} state=$(dirname "$0")/brw_size
case $name in
obdfilter.*.brw_size) echo "$value" >"$state" ;;
osc.*.max_pages_per_rpc)
    if ((${value%M} > $(cat "$state" 2>/dev/null || echo 4))); then
        echo "error: set_param: setting $name=$value: Numerical result out of range" >&2
        exit 34
    fi ;;
esac
echo "$name" >>"$(dirname "$0")/set"
"""


def run_lustre(folder: Path, script: str, host: str = "train-0001") -> subprocess.CompletedProcess[str]:
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, body in (
        ("lctl", LCTL),
        ("hostname", f"#!/bin/sh\necho {host}\n"),
        ("mountpoint", "#!/bin/sh\nexit 1\n"),
        ("mount", "#!/bin/sh\n"),
        ("mkdir", "#!/bin/sh\n"),
    ):
        (tools / name).write_text(body)
        (tools / name).chmod(0o755)
    (folder / "script.sh").write_text(script)
    path = {"PATH": f"{tools}:/usr/bin:/bin"}
    return subprocess.run(["bash", folder / "script.sh"], env=path, capture_output=True, text=True)


def test_clients_are_tuned_to_requests_that_the_targets_take(bundle: Bundle, tmp_path: Path) -> None:
    """16 MiB were asked of targets that take 4 MiB by default, and the client refused them."""
    servers = run_lustre(tmp_path, bundle["scratch/mount-targets.sh"], "scratch-oss-0001")
    assert servers.returncode == 0, servers.stderr
    done = run_lustre(tmp_path, bundle["scratch/client-tuning.sh"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tools/set").read_text().split() == [
        "obdfilter.scratch-OST*.brw_size",
        "osc.scratch-OST*.max_rpcs_in_flight",
        "osc.scratch-OST*.max_pages_per_rpc",
        "llite.scratch-*.max_read_ahead_mb",
    ]


def test_a_refused_value_keeps_no_other_from_being_set(bundle: Bundle, tmp_path: Path) -> None:
    done = run_lustre(tmp_path, bundle["scratch/client-tuning.sh"])
    assert done.returncode == 1 and "obdfilter.scratch-OST*.brw_size=16" in done.stderr
    assert "llite.scratch-*.max_read_ahead_mb" in (tmp_path / "tools/set").read_text()


def test_lustre_clients(bundle: Bundle) -> None:
    (line,) = [line for line in bundle["scratch/fstab"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(rf"{NID}(:{NID})*:/[\w]{{1,8}} /scratch lustre [a-z_,]+ 0 0", line)
    (option,) = [line for line in bundle["scratch/lnet.conf"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(r'options lnet networks="(o2ib|tcp)\d+\(\w+\)"', option)
    (layout,) = [line for line in bundle["scratch/layout.sh"].splitlines() if line.startswith("lfs ")]
    assert re.fullmatch(r"lfs setstripe( -E (\d+[KMGT]|-1)( -c (-1|\d+)| -L mdt))+ /scratch", layout)


def test_over_a_fabric_servers_have_names_there(catalog: Catalog) -> None:
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    over = {"fabric": "storage", "interface": None}
    made = render(plan_of(catalog, EVERY[0] | over, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert "scratch-mds-0001-storage@o2ib0:scratch-mds-0002-storage@o2ib0:/scratch" in made["scratch/fstab"]
    assert 'networks="o2ib0(storage0,storage1)"' in made["scratch/lnet.conf"], "multi-rail over both ports of a server"
    own = EVERY[0] | {"fabric": "storage", "interface": "ibs3"}
    made = render(plan_of(catalog, own, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert 'networks="o2ib0(ibs3)"' in made["scratch/lnet.conf"]
    weka = render(plan_of(catalog, EVERY[1] | over, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert ",net=storage0,net=storage1," in weka["fast/fstab"] and "--net storage0 storage1 " in weka["fast/backend.sh"]


BRIDGED = {
    "name": "in-band",
    "kind": "ethernet",
    "shape": "rail-optimized",
    "switch": "nvidia-sn4600c",
    "peer_links": 2,
    "leaf_up": 4,
    "spines": 2,
}
ROCE = STORAGE_FABRIC | {"kind": "roce", "switch": "nvidia-sn5600"}


def made_over(catalog: Catalog, network: dict[str, Any], **store: Any) -> tuple[Plan, Bundle]:
    """A Lustre and a WEKA file system whose interfaces are not declared, over one network."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": [network["name"]]}]
    stores = [item | {"capacity": "200 TiB", "tier": "good", "interface": None} | store for item in EVERY[:2]]
    plan = plan_of(catalog, *stores, pools=pools, fabrics=[network])
    return plan, render(plan, "storage")


def test_over_bridged_ethernet_the_bond_is_named(catalog: Catalog) -> None:
    """The files named eth0, while bond.sh of the same hosts makes a bond of their links."""
    plan, made = made_over(catalog, BRIDGED)
    scripts = [text for path, text in render(plan, "ethernet").items() if path.endswith("/bond.sh")]
    (bond,) = {line.partition("=")[2] for text in scripts for line in text.splitlines() if line.startswith("bond=")}
    assert f'networks="tcp0({bond})"' in made["scratch/lnet.conf"]
    assert f",net={bond},_netdev" in made["fast/fstab"] and f" --net {bond} " in made["fast/backend.sh"]
    assert "eth0" not in "".join(made.values())


def test_weka_over_routed_links_is_said_to_need_gateways(catalog: Catalog) -> None:
    """Each port is a /31: without a gateway a client reaches no backend (docs.weka.io, mount options)."""
    routed, _ = made_over(catalog, ROCE, fabric="storage")
    (warning,) = [item for item in routed.findings if item.check == "storage-gateway"]
    assert (warning.level, warning.path) == ("warning", "storage[1].fabric"), "the WEKA store, not Lustre"
    assert "net=<interface>/<address>/31/<gateway>" in warning.hint and "--gateway" in warning.hint
    assert "use a fabric that is not routed" in warning.hint
    for network, store in ((BRIDGED, {}), (STORAGE_FABRIC, {"fabric": "storage"})):
        plan, _ = made_over(catalog, network, **store)
        assert not [item for item in plan.findings if item.check == "storage-gateway"]


def test_over_roce_interfaces_have_the_names_that_their_devices_get(catalog: Catalog, tmp_path: Path) -> None:
    plan, made = made_over(catalog, ROCE, fabric="storage")
    assert 'networks="o2ib0(storage0,storage1)"' in made["scratch/lnet.conf"]
    assert (
        " --net storage0 storage1 " in made["fast/backend.sh"] and ",net=storage0,net=storage1," in made["fast/fstab"]
    )
    (note,) = {item.problem for item in plan.findings if item.check == "storage-interfaces"}
    assert "flash-24" in note and "dgx-h100" not in note and "roce-rails.sh" in note
    script = render(plan, "roce")["storage/nodes/train/roce-rails.sh"]
    for device, interface in (("mlx5_7", "ens7f0"), ("mlx5_1", "ens1f0")):
        (tmp_path / "sys/class/infiniband" / device / "device/net" / interface).mkdir(parents=True)
        (tmp_path / "sys/class/net" / interface).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ip").write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/calls"\n')
    (tmp_path / "bin/ip").chmod(0o755)
    (tmp_path / "rails.sh").write_text(script)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    subprocess.run(["bash", tmp_path / "rails.sh", "networkd", "train-0001"], env=environment, capture_output=True)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "link set dev ens7f0 down",
        "link set dev ens7f0 name storage0",
        "link set dev ens1f0 down",
        "link set dev ens1f0 name storage1",
    ]


@pytest.mark.parametrize("fabrics", [[], [BRIDGED | {"role": "management", "switch": "nvidia-sn2201"}]])
def test_no_interface_is_guessed(catalog: Catalog, tmp_path: Path, fabrics: list[dict[str, Any]]) -> None:
    """Where nothing of the plan gives a name, the scripts stop and say so."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": [item["name"] for item in fabrics]}]
    stores = [item | {"capacity": "200 TiB", "tier": "good", "interface": None} for item in EVERY[:2]]
    plan = plan_of(catalog, *stores, pools=pools, fabrics=fabrics)
    found = [(item.level, item.path) for item in plan.findings if item.check == "storage-interfaces"]
    assert found == [("warning", "storage[0].interface"), ("warning", "storage[1].interface")]
    made = render(plan, "storage")
    assert "eth0" not in "".join(made.values()) and "options lnet" not in made["scratch/lnet.conf"]
    assert all(line.startswith("#") for line in made["fast/fstab"].splitlines())
    (tmp_path / "backend.sh").write_text(made["fast/backend.sh"])
    done = subprocess.run(["bash", tmp_path / "backend.sh"], capture_output=True, text=True)
    assert done.returncode == 1 and "set storage[1].interface" in done.stderr
    (install,) = [line for line in made["scratch/lnet.conf"].splitlines() if line.startswith("install lnet ")]
    done = subprocess.run(["sh", "-c", install.removeprefix("install lnet ")], capture_output=True, text=True)
    assert done.returncode == 1 and "set storage[0].interface" in done.stderr


def test_scale_over_rdma(catalog: Catalog) -> None:
    """Servers and clients use it; RoCE needs the connection manager, plain Ethernet has none of it."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    roce = STORAGE_FABRIC | {"kind": "roce", "switch": "nvidia-sn5600"}
    for fabric, said in ((STORAGE_FABRIC, "verbsRdma=enable,verbsRdmaSend=yes -N"), (roce, ",verbsRdmaCm=enable -N")):
        made = render(plan_of(catalog, EVERY[2] | {"fabric": "storage"}, pools=pools, fabrics=[fabric]), "storage")
        assert said in made["proj/create.sh"] and said in made["proj/clients.sh"]
    assert "verbs" not in render(plan_of(catalog, EVERY[2]), "storage")["proj/create.sh"]


def test_drives_of_a_backend_are_parted_over_its_containers(bundle: Bundle, tmp_path: Path) -> None:
    """24 drives are two containers of WEKA: 19 and 5, each drive given once. The script is run with a weka of ours."""
    (tmp_path / "weka").write_text(
        "#!/bin/bash\n"
        'case "$*" in *"container --output id,hostname"*) printf "1 a\\n2 b\\n3 a\\n4 b\\n" ;;\n'
        '*"drive add"*) echo "$@" >>"$LOG" ;; esac\n'
    )
    (tmp_path / "weka").chmod(0o755)
    (tmp_path / "cluster.sh").write_text(bundle["fast/cluster.sh"])
    log = tmp_path / "log"
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log)}
    subprocess.run(["bash", tmp_path / "cluster.sh"], check=True, env=path)
    given = {words[3]: words[4:] for line in log.read_text().splitlines() if (words := line.split())}
    assert {name: len(drives) for name, drives in given.items()} == {"1": 19, "2": 19, "3": 5, "4": 5}
    assert sorted(given["1"] + given["3"]) == sorted(f"/dev/nvme{number}n1" for number in range(24))


# -- WEKA: docs.weka.io (mount), weka-operator doc/cluster-provisioning.md and doc/api_dump ---------------------------

CLUSTER = {
    "template",
    "image",
    "imagePullSecret",
    "driversDistService",
    "nodeSelector",
    "dynamicTemplate",
    "redundancyLevel",
    "stripeWidth",
    "hotSpare",
    "leadershipRaftSize",
    "bucketRaftSize",
    "network",
}
TEMPLATE = {"computeContainers", "driveContainers", "computeCores", "driveCores", "numDrives"}
CLIENT = {
    "image",
    "imagePullSecret",
    "driversDistService",
    "portRange",
    "nodeSelector",
    "wekaSecretRef",
    "targetCluster",
    "coresNum",
    "network",
}


def test_weka_mount_and_cluster(bundle: Bundle, catalog: Catalog) -> None:
    (line,) = [line for line in bundle["fast/fstab"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(r"[\w.,-]+/fast /fast wekafs num_cores=\d+(,net=\w+)+,_netdev 0 0", line)
    design = plan_of(catalog, EVERY[1]).storage[0].design
    assert isinstance(design, WekaDesign)
    script = bundle["fast/cluster.sh"]
    assert f"--data-drives={design.data} --parity-drives={design.parity}" in script
    assert script.count("/dev/nvme") == design.drives and f"hot-spare {design.spares}" in script


@pytest.mark.parametrize("capacity", ["1 PiB", "10 PiB"])
def test_weka_on_kubernetes(catalog: Catalog, capacity: str) -> None:
    plan = plan_of(catalog, EVERY[1] | {"capacity": capacity}, scheduler={"kind": "kubernetes", "version": "1.35"})
    cluster, client = yaml.safe_load_all(render(plan, "storage")["fast/operator.yaml"])
    assert (cluster["kind"], client["kind"]) == ("WekaCluster", "WekaClient")
    assert {cluster["apiVersion"], client["apiVersion"]} == {"weka.weka.io/v1alpha1"}
    spec = cluster["spec"]
    assert set(spec) <= CLUSTER and set(spec["dynamicTemplate"]) == TEMPLATE and set(client["spec"]) <= CLIENT
    drives = spec["dynamicTemplate"]["driveContainers"]
    assert drives >= 5 and 3 <= spec["stripeWidth"] <= 16 and spec["redundancyLevel"] in (2, 4)
    assert ("leadershipRaftSize" in spec) == (drives > 10)
    assert drives <= 20 or (spec["redundancyLevel"], spec["stripeWidth"]) == (4, 16)
    assert client["spec"]["targetCluster"]["name"] == cluster["metadata"]["name"]


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


def stanzas(text: str) -> list[tuple[str, dict[str, str]]]:
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, _, rest = line.partition(": ")
            found.append((kind, dict(word.split("=", 1) for word in rest.split())))
    return found


def test_stanzas(bundle: Bundle, catalog: Catalog) -> None:
    item = plan_of(catalog, EVERY[2]).storage[0]
    design = item.design
    assert isinstance(design, ScaleDesign)
    found = stanzas(bundle["proj/disks.stanza"])
    for kind, keys in found:
        grammar = {"%pool": POOL, "%nsd": NSD}[kind]
        assert set(keys) == set(grammar)
        assert all(re.fullmatch(grammar[key], value) for key, value in keys.items()), keys
    disks = [keys for kind, keys in found if kind == "%nsd"]
    assert len(disks) == design.servers * design.drives == len({disk["nsd"] for disk in disks})
    assert {disk["pool"] for disk in disks} == {keys["pool"] for kind, keys in found if kind == "%pool"}
    assert all((disk["usage"] == "metadataOnly") == (disk["pool"] == "system") for disk in disks)
    assert len({disk["failureGroup"] for disk in disks}) == design.servers


def test_scale_nodes_and_commands(bundle: Bundle) -> None:
    nodes = bundle["proj/nodes.txt"].splitlines()
    assert all(re.fullmatch(r"[\w.-]+:(quorum|nonquorum)-(manager|client)", node) for node in nodes)
    assert sum(":quorum" in node for node in nodes) == 3
    script = bundle["proj/create.sh"]
    assert "mmcrcluster -N nodes.txt -C proj.pod1.internal -r /usr/bin/ssh -R /usr/bin/scp" in script
    assert re.search(r"^mmcrfs proj -F disks.stanza -B 4M -m 2 -M 2 -r 2 -R 2 -n \d+ -T /proj -A yes$", script, re.M)


def shown(script: str, host: str) -> str:
    """What ``ipoib.sh show`` prints for a host."""
    return subprocess.run(
        ["bash", "-s", "--", "show", host], input=script, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("kind", ["infiniband", "roce"])
def test_daemons_of_scale_know_each_other_by_names_of_one_network(catalog: Catalog, kind: str) -> None:
    """NodeName of servers and clients is a name on the storage network, whose address the target hosts has."""
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": nodes, "fabrics": fabrics}
        for name, nodes, fabrics in (("a", 1, ["storage"]), ("b", 2, ["storage"]), ("c", 2, []))
    ]
    switch = {"switch": "nvidia-qm9700"} if kind == "infiniband" else {"switch": "nvidia-sn5600", "os": "sonic"}
    fabric = STORAGE_FABRIC | {"kind": kind} | switch
    plan = plan_of(catalog, EVERY[2] | {"fabric": "storage"}, pools=pools, fabrics=[fabric])
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
        assert f"{hosts['b-0002-storage']}/" in shown(render(plan, "infiniband")["storage/ipoib.sh"], "b-0002")
    assert "a-0001\n" not in made["proj/clients.sh"]
    assert "printf '%s\\n' train-{0001..0127} >" in render(plan_of(catalog, EVERY[2]), "storage")["proj/clients.sh"]


# -- NFS: exports(5), nfs(5); MinIO: docs.min.io ----------------------------------------------------------------------


def test_nfs(bundle: Bundle) -> None:
    lines = [line for line in bundle["home/exports"].splitlines() if not line.startswith("#")]
    assert lines and all(re.fullmatch(r"/export/home \d+(\.\d+){3}/\d+\([a-z_,]+\)", line) for line in lines)
    (mount,) = [line for line in bundle["home/fstab"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(r"home-nfs-0001:/export/home /home nfs [\w.=,]+ 0 0", mount)


def exported(text: str) -> list[ipaddress.IPv4Network]:
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [ipaddress.ip_network(options.partition("(")[0]) for _, options in lines]  # type: ignore[misc]


def test_controllers_may_mount_what_nodes_mount(catalog: Catalog) -> None:
    """/home was exported to the pools only, and controllers and login hosts have the same home directories."""
    hosts = [{"name": "ctl1"}, {"name": "ctl2", "address": "10.200.0.7"}]
    scheduler = {"kind": "slurm", "version": "25.11", "controllers": hosts}
    plan = plan_of(catalog, EVERY[3], scheduler=scheduler)
    networks = exported(render(plan, "storage")["home/exports"])
    clients = [host.address for host in plan.scheduler.controllers] + [plan.pools[0].addresses[0]]
    assert "10.200.0.7" in clients
    for address in clients:
        assert any(ipaddress.ip_address(address) in network for network in networks), (address, networks)
    assert all(not one.overlaps(other) for one in networks for other in networks if one is not other)


def test_nodes_may_mount_over_a_fabric(catalog: Catalog) -> None:
    """Over InfiniBand a node comes from its address there."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    plan = plan_of(catalog, EVERY[3] | {"fabric": "storage"}, pools=pools, fabrics=[STORAGE_FABRIC])
    assert plan.networks is not None
    networks = exported(render(plan, "storage")["home/exports"])
    for subnet in plan.networks.subnets:
        assert subnet.role != "rail" or any(subnet.block.subnet_of(network) for network in networks), subnet


def test_object_store(bundle: Bundle) -> None:
    values = dict(line.split("=", 1) for line in bundle["data/minio"].splitlines() if not line.startswith("#"))
    assert set(values) == {"MINIO_VOLUMES", "MINIO_OPTS", "MINIO_STORAGE_CLASS_STANDARD"}
    assert re.fullmatch(
        r'"https://data-object-\{0001\.\.\.\d{4}\}\.pod1\.internal:9000/mnt/disk\{1\.\.\.24\}"', values["MINIO_VOLUMES"]
    )
    assert values["MINIO_STORAGE_CLASS_STANDARD"] == '"EC:4"'


def test_rendering_is_deterministic(catalog: Catalog, bundle: Bundle) -> None:
    assert dict(render(plan_of(catalog, *EVERY), "storage")) == dict(bundle)


def test_weka_reads_no_resources_that_others_could_have_put_there(bundle: Bundle, tmp_path: Path) -> None:
    """backend.sh runs as root: what it sets containers up with lies in a folder that it has just made for itself."""
    script = bundle["fast/backend.sh"]
    assert "/tmp" not in script and "folder=$(mktemp -d /root/" in script
    (tmp_path / "backend.sh").write_text(script.replace("/root/", f"{tmp_path}/"))
    for name, text in {
        "weka": 'case "$*" in *resources-path*) echo "$5" >>"$LOG" ;; esac\n',
        "resources_generator.py": 'touch "$3/drives0.json" "$3/compute0.json"\n',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}")
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "log"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log)}
    subprocess.run(["bash", tmp_path / "backend.sh"], check=True, env=environment, cwd=tmp_path)
    places = [Path(line) for line in log.read_text().split()]
    assert [place.name for place in places] == ["drives0.json", "compute0.json"]
    assert not places[0].parent.exists(), "the folder is gone afterwards"


@pytest.mark.parametrize("refused", [False, True])
def test_weka_does_not_keep_the_password_of_every_new_cluster(bundle: Bundle, tmp_path: Path, refused: bool) -> None:
    (tmp_path / "weka").write_text(
        '#!/bin/bash\necho "$@" >>"$LOG"; case "$*" in "user passwd"*) exit $REFUSED ;; esac\n'
    )
    (tmp_path / "weka").chmod(0o755)
    (tmp_path / "cluster.sh").write_text(bundle["fast/cluster.sh"])
    log = tmp_path / "log"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log), "REFUSED": str(int(refused))}
    done = subprocess.run(["bash", tmp_path / "cluster.sh"], env=environment, capture_output=True, text=True)
    create, wait, change, *others = log.read_text().splitlines()
    assert create.startswith("cluster create ") and wait == "user login admin admin"
    assert change == "user passwd --username admin --current-password admin", "the new one is on no command line"
    assert bool(others) != refused, "nothing is made of a cluster that anybody may change"
    assert not others or others[0] == "user login admin", "its session ended with the password"
    assert done.returncode == int(refused) and ("still the default" in done.stderr) == refused
