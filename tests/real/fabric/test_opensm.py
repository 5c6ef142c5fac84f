"""The rendered SuperPOD fabric under ibsim, brought up by the real OpenSM with the rendered files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from opensm_lab import Network, Running, simulate  # noqa: E402

import supercloud as sc  # noqa: E402
from supercloud.plan.build.fabric.partitions import (  # noqa: E402
    PortKeys,
    build_partition_rules,
    build_port_keys,
    find_key_match,
)
from supercloud.targets import render  # noqa: E402

SPEC = HERE.parents[2] / "examples" / "02-superpod" / "cluster.yaml"
HOST = "train-0001 mlx5_11"
RESTRICTED = """
    guids: found.txt
    partitions: [{tenant: llm, hosts: "train-[0001-0064]"}, {tenant: vision, hosts: "train-[0065-0127]"}]
"""


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    subprocess.run([str(HERE / "opensm_install.sh")], check=True, capture_output=True, timeout=900)


@pytest.fixture(scope="module")
def network() -> str:
    return render(sc.resolve(sc.load(SPEC)), "cabling")["compute.net"]


@pytest.fixture(scope="module")
def running(network: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with simulate(tmp_path_factory.mktemp("ibsim"), network, HOST) as found:
        yield found


def write_files(spec: Path, folder: Path) -> Path:
    """Write the rendered files with their folder instead of /etc/opensm as the only change; return opensm.conf."""
    bundle = render(sc.resolve(sc.load(spec)), "infiniband")
    for path, text in bundle.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.replace("/etc/opensm", str(folder)))
    return folder / "compute" / "opensm.conf"


def check_is_up(log: str) -> None:
    assert "SUBNET UP" in log
    assert "ftree tables configured on all switches" in log
    assert re.search(r"Fabric has 16 switches at rank 0 \(roots\)", log)
    assert re.search(r"Fabric has 32 switches at rank 1 \(32 of them leafs\)", log)
    assert "Fabric has 1020 CAs" in log, "127 x 8 ports of nodes and 4 of the managers"
    for bad in ("fall back", "falling back", "updn tables", "minhop tables", "ERR "):
        assert bad.lower() not in log.lower(), next(line for line in log.splitlines() if bad.lower() in line.lower())


def verify(spec: Path, output: Path) -> tuple[int, list[dict[str, object]]]:
    done = subprocess.run(
        [sys.executable, "-m", "supercloud", "verify-cabling", str(spec), str(output), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)["differences"]


def test_the_fat_tree_comes_up_with_the_planned_cables(running: Running, tmp_path: Path) -> None:
    check_is_up(running.bring_up(write_files(SPEC, tmp_path)))
    assert verify(SPEC, running.discover()) == (0, [])


def test_roots_and_partitions_by_guid_are_loaded(running: Running, tmp_path: Path) -> None:
    (tmp_path / "found.txt").write_text(running.discover().read_text())
    text = SPEC.read_text()
    line = next(item for item in text.splitlines() if "manager:" in item)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text.replace(line, line + RESTRICTED))
    conf = write_files(spec, tmp_path / "etc")
    assert len((conf.parent / "root-guids.conf").read_text().split()) == 16
    partitions = (conf.parent / "partitions.conf").read_text()
    assert partitions.count("0x0000") == 1016 + 4, "nodes, and the managers as full members of the default partition"
    log = running.bring_up(conf)
    check_is_up(log)
    hosts = [f"train-{number:04d}" for number in (1, 2, 63, 64, 65, 66, 126, 127)]
    ports = [f"{host} mlx5_{port}" for host in hosts for port in (11, 0)]
    check_key_tables(spec, 0, running.read_key_tables([*ports, "compute-manager-02 mlx5_0"]), HOST)


def check_key_tables(spec: Path, fabric: int, tables: dict[str, list[int]], manager: str) -> None:
    """The tables that OpenSM programmed are those of ``build_port_keys``, and the keys by which two ports match, at
    index 0 and at any index, are those of ``find_key_match``. ``manager``: the port that OpenSM runs on.
    """
    plan = sc.resolve(sc.load(spec))
    rules = build_partition_rules(plan, plan.fabrics[fabric])
    model = {device: build_port_keys(rules, device.split()[0], runs_manager=device == manager) for device in tables}
    for device, table in tables.items():
        assert (model[device].index_0_key, model[device].other_keys) == (table[0], frozenset(table[1:])), device
    for one, other in combinations(tables, 2):
        pairs = [(a, b) for a in tables[one] for b in tables[other] if a & 0x7FFF == b & 0x7FFF and 0x8000 & (a | b)]
        at_index_0 = (tables[one][0], tables[other][0]) in pairs
        assert find_key_match(model[one], model[other]) == (at_index_0, {a & 0x7FFF for a, _ in pairs})


TENANTS = {
    "nobody apart": "[]",
    "two tenants": "[{tenant: llm, hosts: 'train-[0001-0009]'}, {tenant: vision, hosts: 'train-[0010-0016]'}]",
    "one of all nodes": "[{tenant: llm, hosts: 'train-[0001-0009]'}, {tenant: vision}]",
    "shared nodes": "[{tenant: llm, hosts: 'train-[0001-0009]'}, {tenant: vision, hosts: 'train-[0008-0015]'}]",
    "nobody apart again": "[{tenant: llm}]",
}


def test_p_key_tables_match_the_plan(tmp_path: Path) -> None:
    """One network whose tenants change: the keys at index 0 change with them, and change back."""
    line = "    switch: nvidia-qm9700\n"
    source = (SPEC.parents[1] / "01-minimal" / "cluster.yaml").read_text()
    ports = [f"train-{number:04d} mlx5_{port}" for number in range(1, 17) for port in (11, 5)]
    spec = tmp_path / "cluster.yaml"
    spec.write_text(source)
    with simulate(tmp_path / "ibsim", render(sc.resolve(sc.load(spec)), "cabling")["compute.net"], HOST) as running:
        (tmp_path / "found.txt").write_text(running.discover().read_text())
        for name, partitions in TENANTS.items():
            more = f"{line}    guids: found.txt\n    partitions: {partitions}\n"
            spec.write_text(source.replace(line, more) + "tenants: [{name: llm}, {name: vision}]\n")
            assert "SUBNET UP" in running.bring_up(write_files(spec, tmp_path / "etc"))
            tables = running.read_key_tables(ports)
            check_key_tables(spec, 0, tables, HOST)
            apart = len({table[0] for device, table in tables.items() if device != HOST})
            assert apart == (1 if "nobody" in name else 3 if name == "shared nodes" else 2)


def test_the_manager_comes_up_with_an_m_key(tmp_path: Path) -> None:
    """start-opensm.sh with the real OpenSM, which accepts every key of the file and binds to the right one of several
    ports; ports of ibsim do not store an M_Key.
    """
    spec = tmp_path / "cluster.yaml"
    line = "    switch: nvidia-qm9700\n"
    source = (SPEC.parents[1] / "01-minimal" / "cluster.yaml").read_text()
    spec.write_text(source.replace(line, f"{line}    m_key: /etc/opensm/m_key\n"))
    conf = write_files(spec, tmp_path / "etc")
    (tmp_path / "etc/opensm").mkdir()
    key = tmp_path / "etc/opensm/m_key"
    key.write_text("0x00c0ffee12345678\n")
    key.chmod(0o600)
    script = conf.parent / "start-opensm.sh"
    # the folder of the rendered files replaces /etc/opensm; one sweep instead of a daemon
    text = script.read_text().replace(str(tmp_path / "etc") + "/m_key", "/etc/opensm/m_key")
    script.write_text(text.replace("exec opensm", "exec opensm -o -f osm.log"))
    with simulate(tmp_path / "ibsim", render(sc.resolve(sc.load(spec)), "cabling")["compute.net"], HOST) as running:
        [guid] = running.run("ibstat", "-p").split()
        for device, own in (("mlx5_11", guid), ("mlx5_7", "0x00000000000000a0")):  # of compute, and of another fabric
            port = tmp_path / "sys/class/infiniband" / device / "ports/1"
            (port / "gids").mkdir(parents=True)
            (port / "link_layer").write_text("InfiniBand\n")
            digits = f"fe80000000000000{own[2:]}"
            (port / "gids/0").write_text(":".join(digits[at : at + 4] for at in range(0, 32, 4)) + "\n")
        output = running.run("env", f"DESTDIR={tmp_path}", "OPENSM_HOST=train-0001", "bash", str(script))
        log = (running.folder / "osm.log").read_text()
        assert "Unrecognized token" not in output and "SUBNET UP" in log
        assert f"binding to port GUID {int(guid, 16):#x}" in log
    assert "m_key 0x00c0ffee12345678\n" in (tmp_path / "run/opensm/compute.conf").read_text()


def test_only_injected_faults_are_found(network: str, tmp_path: Path) -> None:
    cables = Network(network)
    one, other = ("train-0005 mlx5_11", 1), ("train-0006 mlx5_11", 1)  # a swapped pair
    first, second = cables.cut(one), cables.cut(other)
    cables.join(one, second)
    cables.join(other, first)
    cables.cut(("compute-leaf-010", 40))  # a missing cable
    moved = ("train-0100 mlx5_11", 1)  # a wrong port
    cables.cut(moved)
    cables.join(moved, ("compute-leaf-032", 32))
    with simulate(tmp_path / "faults", cables.format(), HOST) as faulty:
        code, found = verify(SPEC, faulty.discover())
    assert code == 1
    assert [item["kind"] for item in found] == ["swapped", "wrong", "missing"]
    swapped, wrong, missing = (str(item["problem"]) for item in found)
    assert "train-0005:OSFP1P1 > compute-leaf-001:1/3/1" in swapped and "train-0006:OSFP1P1" in swapped
    assert wrong == "train-0100:OSFP1P1 leads to compute-leaf-032:1/16/2, not to compute-leaf-025:1/2/2"
    assert missing == "compute-leaf-010:1/20/2 > compute-spine-004:1/10/2 is missing"


@pytest.mark.parametrize("fabric, host", [("compute", "mlx5_11"), ("storage", "mlx5_7")])
def test_networks_with_splitters_come_up(fabric: str, host: str, tmp_path: Path) -> None:
    source = SPEC.parents[1] / "05-superpod-networks" / "cluster.yaml"
    spec = tmp_path / "cluster.yaml"  # OpenSM instead of NVIDIA's subnet manager, which is not available here
    spec.write_text(source.read_text().replace("subnet_manager: nvidia", "subnet_manager: opensm"))
    plan = sc.resolve(sc.load(spec))
    files = render(plan, "infiniband")
    for name in ("opensm.conf", "opensm-standby.conf", "partitions.conf"):
        text = files[f"{fabric}/{name}"].replace(f"/etc/opensm/{fabric}", str(tmp_path))
        (tmp_path / name).write_text(text)
    network = render(plan, "cabling")[f"{fabric}.net"]
    with simulate(tmp_path / "ibsim", network, f"train-0001 {host}") as running:
        log = running.bring_up(tmp_path / "opensm.conf")
        assert "SUBNET UP" in log and "ftree tables configured on all switches" in log
        assert verify(spec, running.discover()) == (0, [])
        assert "SUBNET UP" in running.bring_up(tmp_path / "opensm-standby.conf")


def test_servers_of_storage_are_cabled_and_full_members(tmp_path: Path) -> None:
    """The storage network of 07-storage: its servers are discovered at the planned ports, and tenants reach them."""
    source = SPEC.parents[1] / "07-storage" / "cluster.yaml"
    text = source.read_text().replace("catalog: catalog", f"catalog: {source.parent / 'catalog'}")
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text)
    network = render(sc.resolve(sc.load(spec)), "cabling")["storage.net"]
    with simulate(tmp_path / "ibsim", network, "train-0001 mlx5_7") as running:
        conf = _write_storage_files(spec, tmp_path)
        assert "SUBNET UP" in running.bring_up(conf)
        found = running.discover()
        assert verify(spec, found) == (0, [])
        (tmp_path / "guids.txt").write_text(found.read_text())
        more = ", guids: guids.txt, partitions: [{tenant: llm, hosts: 'train-[0001-0004]'}]}     # par"
        spec.write_text(text.replace("}     # par", more))
        assert "SUBNET UP" in running.bring_up(_write_storage_files(spec, tmp_path))
        nodes = [f"train-{number:04d} mlx5_{port}" for number in (1, 2, 4, 5, 20) for port in (7, 1)]
        tables = running.read_key_tables([*nodes, "scratch-oss-0003 mlx5_0", "fast-backend-0001 mlx5_1"])
    check_key_tables(spec, 1, tables, "train-0001 mlx5_7")
    keys = {device.split()[0]: PortKeys(table[0], frozenset(table[1:])) for device, table in tables.items()}
    for node in ("train-0002", "train-0004", "train-0020"):
        assert find_key_match(keys[node], keys["scratch-oss-0003"])[0], "nodes reach storage at index 0"
    assert (
        find_key_match(keys["train-0002"], keys["train-0004"])[1]
        and not (find_key_match(keys["train-0002"], keys["train-0020"])[1])
    )


def _write_storage_files(spec: Path, folder: Path) -> Path:
    files = render(sc.resolve(sc.load(spec)), "infiniband")
    for path, text in files.items():
        if path.startswith("storage/"):
            (folder / path.removeprefix("storage/")).write_text(str(text).replace("/etc/opensm/storage", str(folder)))
    return folder / "opensm.conf"
