"""The complete bundle of a 127-node DGX H100 SuperPOD, unchanged on real Slurm 22.05, matches its plan."""

from __future__ import annotations

from answers import list_by_name, list_hosts, read_topology
from bundles import Declared
from lab import Lab
from rendered import expand


def test_only_the_line_for_missing_cores_is_changed(superpod: Declared, superpod_lab: Lab) -> None:
    changed = {
        path.name
        for path in superpod.folder.iterdir()
        if not path.name.startswith(".")
        if superpod_lab.get(f"/etc/slurm/{path.name}") != path.read_text()
    }
    assert changed == {"slurm.conf"}
    loaded = superpod_lab.get("/etc/slurm/slurm.conf")
    assert loaded == (superpod.folder / "slurm.conf").read_text() + "SlurmdParameters=config_overrides\n"


def test_every_node_runs_under_its_name_and_address(superpod: Declared, superpod_lab: Lab) -> None:
    pool = superpod.get_pool("train")
    nodes = list_by_name(superpod_lab, "node", "NodeName")
    assert {name: node["NodeAddr"] for name, node in nodes.items()} == dict(
        zip(expand(pool.hosts), expand(pool.addresses), strict=True)
    )
    assert all(node["NodeHostName"] == name for name, node in nodes.items())
    superpod_lab.wait_nodes(str(pool.hosts), len(nodes))  # on a busy machine one may not respond for some seconds
    running = [host for host, command, _ in superpod_lab.list_processes() if command == "slurmd"]
    assert sorted(running) == sorted(nodes)


def test_nodes_have_the_hardware_of_the_catalog(superpod: Declared, superpod_lab: Lab) -> None:
    pool, machine = superpod.get_pool("train"), superpod.plan.get_pool("train").machine
    assert machine.cpu and machine.memory
    for node in list_by_name(superpod_lab, "node", "NodeName").values():
        assert node["CPUTot"] == str(machine.cpu.threads)
        assert node["RealMemory"] == str(machine.memory.floor("MiB"))
        assert node["Gres"].startswith(f"gpu:h100:{pool.accelerators_per_node}")
        assert node["CfgTRES"].endswith(f"gres/gpu={pool.accelerators_per_node},gres/gpu:h100=8")
        assert set(pool.features) <= set(node["AvailableFeatures"].split(","))


def test_the_topology_matches_the_plan(superpod: Declared, superpod_lab: Lab) -> None:
    levels = superpod.get_locality("tree").levels
    planned = {
        group.name: (str(level), list_hosts(group.hosts)) for level, item in enumerate(levels) for group in item.groups
    }
    children = {
        group.name: {inner.name for inner in item.groups if inner.parent == group.name}
        for item, outer in zip(levels, levels[1:], strict=False)
        for group in outer.groups
    }
    seen = read_topology(superpod_lab)
    assert {line["SwitchName"]: (line["Level"], list_hosts(line["Nodes"])) for line in seen} == planned
    assert {line["SwitchName"]: list_hosts(line["Switches"]) for line in seen if "Switches" in line} == children


def test_partitions_match_the_declaration(superpod: Declared, superpod_lab: Lab) -> None:
    seen = list_by_name(superpod_lab, "partition", "PartitionName")
    assert list(seen) == superpod.published.scheduler.partitions
    for partition in seen.values():
        assert list_hosts(partition["Nodes"]) == list_hosts(superpod.get_pool("train").hosts)
        assert "gres/gpu=1016" in partition["TRES"]
    assert [seen["batch"][key] for key in ("Default", "MaxTime", "MaxNodes")] == ["YES", "7-00:00:00", "UNLIMITED"]
    assert [seen["interactive"][key] for key in ("Default", "MaxTime", "MaxNodes", "PriorityTier")] == [
        "NO",
        "08:00:00",
        "2",
        "2",
    ]


def test_tenants_are_accounts_with_their_shares(superpod: Declared, superpod_lab: Lab) -> None:
    rows = superpod_lab.run("sacctmgr -n -P show assoc where user= format=Account,Share").stdout.split()
    shares = dict(row.split("|") for row in rows)
    assert {name: share for name, share in shares.items() if name != "root"} == {
        tenant.name: str(tenant.share) for tenant in superpod.published.tenants
    }


def test_one_step_uses_1016_accelerators(superpod: Declared, superpod_lab: Lab) -> None:
    command = "srun -N127 --gpus-per-node=8 bash -c 'echo $SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES//,/ }'"
    rows = [line.split() for line in superpod_lab.run(command, user="lab").stdout.splitlines()]
    assert sorted(row[0] for row in rows) == expand(superpod.get_pool("train").hosts)
    assert all(row[1:] == list("01234567") for row in rows)
    assert sum(len(row) - 1 for row in rows) == superpod.published.accelerators == 1016


def test_each_job_has_a_separate_folder_that_is_removed(superpod_lab: Lab) -> None:
    output = superpod_lab.run("srun -N1 -w train-0001 bash -c 'ls -ld $TMPDIR && touch $TMPDIR/x'", user="lab").stdout
    assert output.startswith("drwx------") and "/scratch/" in output
    left = "ls /var/spool/slurmd/scratch"
    superpod_lab.wait_for("no folder is left", lambda: not superpod_lab.run_on("train-0001", left).stdout)
