"""GB200 NVL72 racks and a torus on the newest Slurm: block, tree and torus3d in one topology.yaml."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import product_jobs
import pytest
from answers import get_job, get_refusal, list_by_name, list_hosts, read_topology, submit_batch, wait_job
from bundles import Declared, declare_example
from complaints import list_complaints
from installed import Slurm
from lab import Lab
from rendered import expand

# The blocks are the NVLink domains of one pool; Slurm warns that nodes of other pools are in no block, as intended.
OUTSIDE = r"warning: Blocks lack access to 32 nodes: torus-\[0001-0032\]"
SEGMENTED = """\
name: segmented
script: srun --ntasks-per-node=1 hostname
accelerators: {type: gb200, count: %d}
time_limit: 5 min
tenant: research
place: {near: scale-up}
"""


@pytest.fixture(scope="module")
def nvl72(tmp_path_factory: pytest.TempPathFactory) -> Declared:
    return declare_example("03-nvl72", tmp_path_factory.mktemp("rendered"))


@pytest.fixture(scope="module")
def lab(nvl72: Declared, slurm_new: Slurm) -> Iterator[Lab]:
    with Lab(nvl72.folder, slurm_new.rootfs) as lab:
        lab.start(nodes="")
        lab.start_nodes(configless=True)
        lab.wait_nodes(",".join(lab.nodes), nvl72.published.nodes)
        lab.run(["/etc/slurm/accounts.sh"])
        yield lab


def list_coordinates(nvl72: Declared) -> dict[str, tuple[int, ...]]:
    """Host of the torus -> planned coordinates: row-major, the last dimension fastest."""
    torus = nvl72.get_locality("torus3d")
    places = itertools.product(*map(range, torus.dims))
    return dict(zip(expand(torus.levels[0].groups[0].hosts), places, strict=True))


def list_blocks(nvl72: Declared) -> dict[str, set[str]]:
    return {group.name: list_hosts(group.hosts) for group in nvl72.get_locality("block").levels[0].groups}


def test_every_node_runs_under_its_name_and_address(nvl72: Declared, lab: Lab) -> None:
    nodes = list_by_name(lab, "node", "NodeName")
    planned: dict[str, str] = {}
    for pool in nvl72.published.pools:
        planned |= dict(zip(expand(pool.hosts), expand(pool.addresses), strict=True))
    assert {name: node["NodeAddr"] for name, node in nodes.items()} == planned
    lab.wait_nodes(",".join(nodes), len(nodes))  # on a busy machine one may not respond for some seconds
    assert nodes["train-0001"]["Gres"].startswith("gpu:gb200:4")
    assert nodes["torus-0032"]["Gres"].startswith("gpu:mi300x:8")


def test_daemons_trust_each_other_without_munge(lab: Lab) -> None:
    assert "AuthType = auth/slurm" in re.sub(" +", " ", lab.run("scontrol show config").stdout)
    assert not [row for row in lab.list_processes() if row[1] == "munged"]


def test_the_tree_matches_the_plan(nvl72: Declared, lab: Lab) -> None:
    tree = nvl72.get_locality("tree")
    seen = read_topology(lab, tree.name)
    assert {line["SwitchName"]: (line["Level"], list_hosts(line["Nodes"])) for line in seen} == {
        group.name: (str(level), list_hosts(group.hosts))
        for level, item in enumerate(tree.levels)
        for group in item.groups
    }


def test_the_blocks_match_the_plan(nvl72: Declared, lab: Lab) -> None:
    seen = read_topology(lab, nvl72.get_locality("block").name)
    assert {line["BlockName"]: list_hosts(line["Nodes"]) for line in seen if "BlockName" in line} == list_blocks(nvl72)
    assert {line["BlockSize"] for line in seen} == {"18", "36", "72"}


def test_the_torus_matches_the_plan(nvl72: Declared, lab: Lab) -> None:
    torus = nvl72.get_locality("torus3d")
    seen = read_topology(lab, torus.name)[0]
    assert list_hosts(seen["Nodes"]) == set(list_coordinates(nvl72))
    assert sorted(map(int, seen["Dims"].split("x"))) == sorted(torus.dims)


@pytest.mark.parametrize("nodes", [2, 4, 8, 16])
def test_a_job_on_the_torus_is_a_box_of_the_plan(nodes: int, nvl72: Declared, lab: Lab) -> None:
    number = submit_batch(lab, "-p", "torus", "-A", "research", f"-N{nodes}", "--exclusive", "--wrap", "true")
    where = list_coordinates(nvl72)
    places = {where[name] for name in list_hosts(wait_job(lab, number, "COMPLETED")["NodeList"])}
    axes = [sorted({place[axis] for place in places}) for axis in range(3)]
    assert places == set(itertools.product(*axes)), "not a box: Slurm numbers the coordinates in another order"
    for length, axis in zip(nvl72.get_locality("torus3d").dims, axes, strict=True):
        gaps = sum((after - before) % length != 1 for before, after in zip(axis, axis[1:] + axis[:1], strict=True))
        assert len(axis) == 1 or gaps <= 1, f"{axis} are not neighbors"


def test_a_job_that_is_not_a_box_is_refused(lab: Lab) -> None:
    assert "topology configuration is not available" in get_refusal(lab, "-p", "torus", "-A", "research", "-N7")


def test_partitions_choose_their_topology(nvl72: Declared, lab: Lab) -> None:
    seen = list_by_name(lab, "partition", "PartitionName")
    chosen = {name: partition.get("Topology") for name, partition in seen.items()}
    names = {kind: nvl72.get_locality(kind).name for kind in ("tree", "block", "torus3d")}
    default = next(
        line
        for line in (nvl72.folder / "topology.yaml").read_text().split("- topology: ")
        if "cluster_default: true" in line
    ).split('"')[1]
    wanted = {"train": names["block"], "fabric": names["tree"], "torus": names["torus3d"]}
    assert {name: chosen[name] if chosen[name] not in (None, "(null)") else default for name in chosen} == wanted


@pytest.mark.parametrize("nodes, segment", [(64, 16), (36, 18), (8, 2)])
def test_segments_stay_inside_their_blocks(nodes: int, segment: int, nvl72: Declared, lab: Lab) -> None:
    number = submit_batch(lab, "-A", "research", f"-N{nodes}", f"--segment={segment}", "--exclusive", "--wrap", "true")
    taken = list_hosts(wait_job(lab, number, "COMPLETED")["NodeList"])
    inside = [len(taken & block) for block in list_blocks(nvl72).values()]
    assert sum(inside) == nodes and all(count % segment == 0 for count in inside)


@pytest.mark.parametrize("count", [64, 72])
def test_a_job_that_requests_one_scale_up_domain_gets_one_rack(count: int, nvl72: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, nvl72.spec, SEGMENTED % count)
    assert product_jobs.wait(lab, number) == (0, "COMPLETED")
    ran = set(product_jobs.read_logs(lab, number).split())
    assert ran == list_hosts(get_job(lab, product_jobs.get_record(lab, number)["ref"])["NodeList"])
    assert len(ran) == count // 4 and any(ran <= block for block in list_blocks(nvl72).values())


def test_a_job_larger_than_a_rack_is_refused_with_near_scale_up(nvl72: Declared, lab: Lab) -> None:
    code, output = product_jobs.place(lab, nvl72.spec, SEGMENTED % 76)
    assert code == 2 and "near: scale-up holds 18 of its nodes" in output
    assert "evenly divisible" in get_refusal(lab, "-A", "research", "-N20", "--segment=18")


def test_a_job_cannot_open_the_accelerators_of_others(lab: Lab) -> None:
    done = lab.run("srun -A research --gpus-per-node=1 cat /dev/nvidia0 /dev/nvidia1", user="lab", check=False)
    assert "/dev/nvidia0: No such device or address" in done.stderr
    assert "/dev/nvidia1: Operation not permitted" in done.stderr


def test_a_second_run_of_accounts_changes_nothing(lab: Lab) -> None:
    assert lab.run(["/etc/slurm/accounts.sh"]).stdout == "nothing changed\n"


def test_no_daemon_logs_an_error_that_the_bundle_caused(lab: Lab) -> None:
    assert not (found := list_complaints(lab, OUTSIDE)), "\n".join(found)
