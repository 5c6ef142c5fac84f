"""`supercloud init` plans what it writes, for any machine and number of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.catalog import Catalog, Machine
from supercloud.catalog.slurm_packages import SlurmPackages
from supercloud.cli.first_spec import list_spec_options, render_best_spec
from supercloud.errors import InputError
from supercloud.plan.build.cabling.unknown import count_unknown_links
from supercloud.plan.build.network.adapter_qos import find_adapter_qos
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load, loads
from supercloud.targets import render

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]
FACTS = Catalog.load_default()
NODES = (1, 2, 8, 64, 144, 512, 4096)
# Machines that servers are made of: no cluster is made of them alone.
NO_NODES = {"management-server", "nvidia-ufm-appliance"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("machine", FACTS.list_names("machines"))
def test_any_number_of_any_machine_is_planned_or_refused_in_one_line(machine: str) -> None:
    of = FACTS.get(Machine, machine)
    for nodes in NODES:
        fixed = {
            "name": "pod1",
            "machine": machine,
            "nodes": nodes,
            "provider": of.provider,
            "scheduler": "slurm",
            "version": FACTS.list_names("slurm")[-1],
        }
        try:
            ways = [fixed | way for way in list_spec_options(FACTS, of, None, None)]
            text, _ = render_best_spec(ways, "cluster.yaml", FACTS)
        except InputError as error:
            assert "\n" not in str(error) and machine in str(error)
            assert of.provider != "onprem" or machine in NO_NODES, (
                "every machine of a hall can be ordered in any number"
            )
            continue
        plan = resolve(loads(text, "cluster.yaml"), FACTS)
        assert not plan.errors and f"nodes: {nodes}\n" in text
        if of.provider == "onprem" and nodes % of.domain_nodes == 0:  # a part of a domain is not what is sold
            warned = {item.check for item in plan.findings if item.level == "warning"}
            compute = [item for item in of.adapters if item.role == "compute"]
            # missing facts of a machine are reported: the tool of its adapters' vendor, the form of its cages
            allowed = {"subnet-manager-port"}
            allowed |= {"roce-host-qos"} if not any(find_adapter_qos(FACTS, item) for item in compute) else set()
            # and more nodes than switches made for their speed can join are joined by faster ones
            allowed |= {"cable-uplinks"} if nodes > 2000 or not any(item.cage for item in compute) else set()
            assert warned <= allowed


def test_a_switch_that_cannot_connect_all_nodes_is_not_selected(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", "dgx-gb300", "--nodes", 1152)[0] == 0
    code, out, _ = cli("plan", file)
    assert code == 0 and "switch: nvidia-q3200-ra" not in file.read_text()
    assert "64 racks of 18 nodes in gb300-nvl72" in out and " in no rack" not in out


@pytest.mark.parametrize("machine", ["dgx-h100", "p5.48xlarge"])
def test_a_release_of_which_check_warns_is_explained_in_the_spec(cli: Cli, tmp_path: Path, machine: str) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine)[0] == 0
    warned = "[slurm-cloud-topology]" in cli("check", file)[1]
    (line,) = [line for line in file.read_text().splitlines() if line.startswith("scheduler: ")]
    assert warned == ("# that of the provider's images; 'check' warns of its topology" in line)
    assert warned == (machine == "p5.48xlarge")


@pytest.mark.parametrize("machine, nodes", [("dgx-gb300", 36), ("dgx-b300", 512)])
def test_the_switch_model_that_needs_the_fewest_switches_is_selected(machine: str, nodes: int) -> None:
    of = FACTS.get(Machine, machine)
    fixed = {
        "name": "pod1",
        "machine": machine,
        "nodes": nodes,
        "provider": of.provider,
        "scheduler": "slurm",
        "version": FACTS.list_names("slurm")[-1],
    }
    ways = [fixed | way for way in list_spec_options(FACTS, of, None, None)]

    def count_switches(text: str) -> int:
        plan = resolve(loads(text, "cluster.yaml"), FACTS)
        return sum(tier.count for tier in plan.fabrics[0].tiers)

    alone = [count_switches(render_best_spec([way], "cluster.yaml", FACTS)[0]) for way in ways]
    assert alone[0] > min(alone), "the first name is not the best, or the test shows nothing"
    for order in (ways, ways[::-1]):
        assert count_switches(render_best_spec(order, "cluster.yaml", FACTS)[0]) == min(alone)


@pytest.mark.parametrize("machine, nodes", [("dgx-h100", 15), ("gaudi3-8", 16), ("p5.48xlarge", 16)])
def test_leaves_keep_ports_for_hosts_of_a_subnet_manager(machine: str, nodes: int, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine)[0] == 0
    text = file.read_text()
    assert f"nodes: {nodes}\n" in text and ("manager:" in text) == (nodes == 15)
    assert "subnet-manager-port" not in {item.check for item in resolve(loads(text, str(file)), FACTS).findings}


@pytest.mark.parametrize("machine, switch", [("dgx-a100", "nvidia-qm8700"), ("dgx-h100", "nvidia-qm9700")])
def test_a_switch_whose_links_have_cables_is_selected(machine: str, switch: str, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine, "--nodes", 140)[0] == 0
    assert f"switch: {switch}\n" in file.read_text()
    plan = resolve(loads(file.read_text(), str(file)), FACTS)
    assert not [item for item in count_unknown_links(plan, plan.fabrics[0]) if not item.has_service_end]


def test_without_known_cables_the_fewest_switches_are_selected(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", "gaudi3-8", "--nodes", 140)[0] == 0
    plan = resolve(loads(file.read_text(), str(file)), FACTS)
    assert sum(tier.count for tier in plan.fabrics[0].tiers) < 100


@pytest.mark.parametrize("machine, per_rack", [("dgx-h100", 4), ("dgx-h200", 4), ("dgx-b200", 2), ("dgx-b300", 3)])
def test_nodes_per_rack_follow_the_reference_architecture_and_the_air_cooling(
    machine: str, per_rack: int, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine)[0] == 0
    assert f"racks of {per_rack} nodes in eia-48u" in cli("plan", file)[1]


def test_open_points_are_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    cli("init", file, "--machine", "dgx-h100", "--nodes", 512)
    text = file.read_text()
    file.write_text(text.replace("  rack: {type: eia-48u}\n", "  cooling: {kind: air}\n"))
    code, out, err = cli("plan", file)
    (line,) = (line for line in out.splitlines() if line.startswith("open"))
    assert "512 nodes and 320 switches in no rack; 12288 links have no cable length" in line and code == 0
    assert "no problems found" not in err


def test_a_cloud_network_has_the_name_that_specs_use(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", "a3-megagpu-8g", "--region", "us-central1")[0] == 0
    assert "kind: gpudirect-tcpx" in file.read_text()


@pytest.mark.parametrize(
    "machine, nodes, has_ports",
    [
        ("dgx-h100", 7, True),
        ("dgx-a100", 18, True),
        ("dgx-b300", 5, True),
        ("dgx-h100", 8, False),
        ("dgx-h100", 32, False),
    ],
)
def test_a_subnet_manager_has_ports_if_they_need_no_further_switch(
    machine: str, nodes: int, has_ports: bool, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine, "--nodes", nodes)[0] == 0
    assert ("manager: {links: 2}" in file.read_text()) is has_ports
    text = "".join(map(str, cli("plan", file)))
    assert ("subnet-manager-port" in text) is not has_ports
    assert has_ports or "requires" in text and "switches instead of" in text, "the price of the ports is told"


def test_the_release_of_slurm_is_in_a_released_distribution(cli: Cli, tmp_path: Path) -> None:
    """The newest release of the catalog was only in Debian's unstable archive, whose packages no cluster should run."""
    file = tmp_path / "cluster.yaml"
    cli("init", str(file), "--machine", "dgx-h100", "--nodes", "4")
    version = load(file).model.scheduler.version
    packages = FACTS.get(SlurmPackages, "debian")
    assert version == max(set(packages.suites) - {"26.05"}) and packages.suites[version] not in packages.unreleased
    assert "which Debian has not released" not in render(resolve(load(file)), "slurm")["INSTALL.md"]
    file.write_text(file.read_text().replace(f'"{version}"', '"26.05"'))
    assert "which Debian has not released" in render(resolve(load(file)), "slurm")["INSTALL.md"]
