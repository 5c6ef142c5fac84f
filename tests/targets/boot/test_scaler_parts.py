"""Parts of the scaler by themselves: what is read from Slurm and the cloud, and what is decided of it."""

from __future__ import annotations

import ast
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import build_plan

from supercloud.targets import render
from supercloud.targets.boot import scaler
from supercloud.targets.boot.scaler.capacity import compute_growth
from supercloud.targets.boot.scaler.cloud import Cloud, Instance, NoCapacityError, ResizeError
from supercloud.targets.boot.scaler.commands import UnavailableError, run_command
from supercloud.targets.boot.scaler.instances import is_leaving
from supercloud.targets.boot.scaler.memory import Memory, Record
from supercloud.targets.boot.scaler.nodes import select_always_on
from supercloud.targets.boot.scaler.settings import Group, Settings, read_settings
from supercloud.targets.boot.scaler.slurm import SlurmNode, fold_hosts, list_nodes, parse_nodes, read_always_on
from supercloud.targets.boot.scaler.view import ClusterView, NodeLine, PlannedNode, parse_node_lines

SPOT = Group("spot", "train", 0, 8, 1, 2)
DOMAINS = Group("block", "train", 1, 6, 4, 1)


def build_view(states: dict[str, str], **more: object) -> ClusterView:
    """Nodes of the pool ``train`` with states; an empty one is of a node that Slurm does not have."""
    planned = {name: PlannedNode(name, "train,h100", "") for name in states}
    slurm = {name: SlurmNode(state, "") for name, state in states.items() if state}
    return replace(ClusterView(Settings((SPOT, DOMAINS), 15, 300, 600), planned, slurm), **more)


def write_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    """A provider whose functions print their arguments and end with the code of the second."""
    for folder in ("etc/supercloud", "opt/supercloud"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/supercloud/env").write_text("CLUSTER='a b'\n")
    functions = ["instances", "size", "domains", "refused", "resize", "terminate"]
    text = "".join(f'cloud_{name}() {{ . "{tmp_path}/answer"; }}\n' for name in functions)
    (tmp_path / "opt/supercloud/cloud.sh").write_text(text)
    return Cloud(str(tmp_path))


def test_the_program_imports_only_the_standard_library() -> None:
    """And nothing of this package: it goes to a machine that has neither."""
    files = sorted(Path(scaler.__path__[0]).glob("*.py"))
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level < 2, path  # of its own folder
                names = [node.module or ""] if node.level == 0 else []
            assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names, path


def test_the_bundle_has_the_program_unchanged() -> None:
    bundle = render(build_plan(), "boot")
    files = {path.removeprefix("scaler/"): text for path, text in bundle.items() if path.startswith("scaler/")}
    assert files == {path.name: path.read_text() for path in Path(scaler.__path__[0]).glob("*.py")}


def test_settings_match_the_plan(tmp_path: Path) -> None:
    found = build_plan()
    (tmp_path / "scale.json").write_text(render(found, "settings")["scale.json"])
    settings = read_settings(tmp_path / "scale.json", {})
    assert found.cloud is not None
    assert settings.groups[0] == Group("train-spot", "train", 0, 8, 1, 0)
    assert [
        (group.key, group.pool, group.rank, group.max_instances, group.domain_instances, group.min_instances)
        for group in settings.groups
    ] == [
        (group.key, group.pool, group.rank, group.max_nodes, group.domain_nodes, group.min_nodes)
        for group in found.cloud.groups
    ]
    assert (settings.pass_interval, settings.capacity_retry, settings.node_retry) == (15, 300, 600)
    environment = {"SCALE_EVERY": "1", "SCALE_REST": "0", "SCALE_PARDON": ""}
    settings = read_settings(tmp_path / "scale.json", environment)
    assert (settings.pass_interval, settings.capacity_retry, settings.node_retry) == (1, 0, 600)


def test_a_name_of_a_spec_is_quoted_in_the_settings() -> None:
    text = render(replace(build_plan(), name='a"b\\'), "settings")["scale.json"]
    assert json.loads(text)["comment"].endswith('from the spec a"b\\; do not edit')


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"groups": [{"key": "a"}]}', '{"groups": []}', "\xff"])
def test_damaged_settings_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "scale.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnavailableError, match="scale.json cannot be read"):
        read_settings(tmp_path / "scale.json", {})


def test_groups_are_tried_by_rank() -> None:
    keys = ("c", 0), ("b", 10), ("a", 2), ("z", 2)
    settings = Settings(tuple(Group(key, "train", rank, 1, 1, 0) for key, rank in keys), 1, 1, 1)
    assert [group.key for group in settings.list_groups("train")] == ["c", "a", "z", "b"]
    assert settings.list_groups("other") == [] and settings.list_pools() == ["train"]


@pytest.mark.parametrize(
    "group, size, missing, more",
    [
        (SPOT, 0, 3, 3),
        (SPOT, 6, 3, 2),  # its most
        (SPOT, 8, 1, 0),
        (SPOT, 9, 1, 0),  # made smaller in the spec
        (DOMAINS, 0, 1, 4),  # whole domains
        (DOMAINS, 0, 4, 4),
        (DOMAINS, 0, 5, 6),
    ],
)
def test_a_group_grows_to_the_missing_nodes(group: Group, size: int, missing: int, more: int) -> None:
    assert compute_growth(group, size, missing) == more


@pytest.mark.parametrize(
    "state, leaving",
    [
        ("", True),
        ("IDLE+CLOUD+POWERED_DOWN", True),
        ("IDLE+CLOUD+POWERING_DOWN", True),
        ("DOWN+CLOUD+POWERED_DOWN", True),
        ("ALLOCATED+CLOUD+POWERED_DOWN+POWERING_UP", False),
        ("ALLOCATED+CLOUD", False),
        ("DOWN+CLOUD", False),
    ],
)
def test_states_in_which_an_instance_ends(state: str, leaving: bool) -> None:
    assert is_leaving(state) is leaving


def test_waiting_and_powered_down_nodes_are_listed() -> None:
    found = build_view(
        {
            "n1": "ALLOCATED+CLOUD+POWERING_UP",
            "n2": "MIXED+CLOUD+POWERING_UP",
            "n3": "IDLE+CLOUD+POWERED_DOWN",
            "n4": "DOWN+CLOUD+POWERED_DOWN",
            "n5": "IDLE+CLOUD",
            "n6": "",
            "n7": "IDLE+CLOUD+POWERED_DOWN",
        },
        records={"n2": Record("spot", "i-2"), "n7": Record("spot", "i-7")},
    )
    assert [node.name for node in found.list_waiting("train")] == ["n1"]
    assert [node.name for node in found.list_off("train")] == ["n3"]
    assert found.list_waiting("other") == found.list_off("other") == []


def test_pending_instances_are_counted() -> None:
    instances = {"spot": [Instance("i-1", "10.0.0.1"), Instance("i-2", "")]}
    found = build_view({}, instances=instances, sizes={"spot": 5})
    assert found.count_pending(SPOT) == 4  # three that are not there, and one without an address
    found.remove_instance("spot", "i-1")
    assert found.instances["spot"] == [Instance("i-2", "")] and found.sizes["spot"] == 4


def test_the_first_nodes_of_a_pool_stay_on() -> None:
    assert select_always_on(build_view({f"n{number}": "IDLE" for number in range(9)})) == ["n0", "n1", "n2"]  # 2 + 1
    assert select_always_on(build_view({"n0": "IDLE"})) == ["n0"]


@pytest.mark.parametrize("mark", "\x0b\x0c\x1c\x85\u2028\r")
def test_a_reason_adds_no_nodes(mark: str, scontrol: Path) -> None:
    write_program(scontrol, "scontrol", f"printf '%s\\n' 'NodeName=a State=IDLE Reason=x{mark}NodeName=b State=DOWN'")
    assert list_nodes() == {"a": SlurmNode("IDLE", "")}


def test_node_lines_are_parsed() -> None:
    text = "# made by\nNodeName=t-[0001-0002] CPUs=4 Features=train,h100 Topology=network:root:off,scale-up:d1\nX=1\n"
    (line,) = parse_node_lines(text + "NodeName=u-1 Features=other State=CLOUD")[:1]
    assert line == NodeLine("t-[0001-0002]", ("CPUs=4", "Features=train,h100", "Topology=network:root:off,scale-up:d1"))
    node = PlannedNode("t-0001", line.get_value("Features"), line.get_value("Topology"))
    assert (node.pool, node.block, line.get_value("Gres")) == ("train", "d1", "")
    assert PlannedNode("u-1", "other", "network:root:off").block == ""


def test_nodes_of_slurm_are_parsed() -> None:
    text = (
        "NodeName=a Arch=x State=IDLE+CLOUD Topology=network:root Reason=State=DOWN by hand\n"
        "NodeName=b State= Comment=x\nsomething else State=IDLE\n"
    )
    assert parse_nodes(text) == {"a": SlurmNode("IDLE+CLOUD", "network:root"), "b": SlurmNode("", "")}


@pytest.mark.parametrize("text", ["scontrol: No nodes in the system", "Node x not found"])
def test_a_slurm_without_nodes_is_a_valid_answer(scontrol: Path, text: str) -> None:
    write_program(scontrol, "scontrol", f"echo '{text}' >&2; exit 1")
    assert list_nodes() == {}


def test_an_unresponsive_slurm_is_an_error(scontrol: Path) -> None:
    write_program(scontrol, "scontrol", "echo slurm_load_node error >&2; exit 1")
    with pytest.raises(UnavailableError, match="slurmctld does not respond: slurm_load_node error"):
        list_nodes()
    with pytest.raises(UnavailableError):
        fold_hosts(["a", "b"])
    assert read_always_on() is None


@pytest.mark.parametrize("value, hosts", [("(null)", ""), ("train-[1-2]", "train-[1-2]"), ("", "")])
def test_nodes_that_slurm_keeps_on_are_read(scontrol: Path, value: str, hosts: str) -> None:
    write_program(scontrol, "scontrol", f"echo 'SuspendExcParts = x'; echo 'SuspendExcNodes         = {value}'")
    assert read_always_on() == hosts


def test_output_of_provider_functions_is_parsed(cloud: Cloud, tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    answer.write_text("echo 'i-1 10.0.0.1'; echo; echo 'i-2 -'; echo \"$CLUSTER\" >&2")
    assert cloud.list_instances("g") == [Instance("i-1", "10.0.0.1"), Instance("i-2", "")]
    answer.write_text("echo 'i-1 A'; echo 'i-2 '")
    assert cloud.get_domains("g") == {"i-1": "A"}
    answer.write_text("echo 7")
    assert cloud.get_size("g") == 7
    answer.write_text(f"echo {'9' * 5000}")
    with pytest.raises(UnavailableError, match="answers with the size '9{80}'$"):
        cloud.get_size("g")
    answer.write_text(":")
    assert cloud.get_size("g") == 0 and cloud.list_instances("g") == [] and cloud.find_refusal("g", 1) == ""
    answer.write_text('echo "$1 $2"')
    assert cloud.find_refusal("g", 17) == "g 17"


def test_errors_of_provider_functions_are_distinguished(cloud: Cloud, tmp_path: Path) -> None:
    """They are distinguished from "none", and missing capacity from all others."""
    answer = tmp_path / "answer"
    answer.write_text("echo half; echo why >&2; return 1")
    for ask in (cloud.list_instances, cloud.get_size):
        with pytest.raises(UnavailableError, match="g: the cloud does not respond"):
            ask("g")
    assert cloud.get_domains("g") is None and cloud.find_refusal("g", 1) is None and not cloud.terminate("g", "i")
    with pytest.raises(ResizeError, match="half\nwhy") as refused:
        cloud.resize("g", 2)
    assert not isinstance(refused.value, NoCapacityError)
    answer.write_text("echo none left; return 3")
    with pytest.raises(NoCapacityError, match="none left"):
        cloud.resize("g", 2)


def test_arguments_of_provider_functions_are_not_code(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "answer").write_text('printf "%s|" "$@"')
    assert cloud.find_refusal("$(touch x) 'a' \"b\";*", 3) == "$(touch x) 'a' \"b\";*|3|"


def test_a_program_that_is_missing_has_a_code() -> None:
    done = run_command(["/nonexistent/program"])
    assert done.code == 127 and "/nonexistent/program" in done.text


def test_records_are_written_and_read(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "cloud")
    memory.prepare()
    memory.write_record("n1", Record("spot", "i-1"))
    assert memory.read_records() == {"n1": Record("spot", "i-1")} and memory.describe_instance("n1") == "i-1 of spot"
    memory.forget_record("n1")
    memory.forget_record("n1")
    assert memory.read_records() == {} and memory.describe_instance("n1") == ""
    memory.write_failed("n1", "i-1 of spot")
    assert memory.has_failed("n1") and memory.describe_instance("n1") == "i-1 of spot"
    assert memory.list_failed(0) == ["n1"] and memory.list_failed(60) == []
    memory.write_failed("n1")
    assert memory.describe_instance("n1") == ""
    assert not memory.is_full("spot", 60)
    memory.mark_full("spot")
    assert memory.is_full("spot", 60) and not memory.is_full("spot", 0) and not memory.is_full("spot", 60)


def test_refusals_count_from_the_last_request(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.prepare()
    first = memory.get_asked_since("spot")
    os.utime(tmp_path / "asked/spot", (first - 90, first - 90))
    assert memory.get_asked_since("spot") == first - 90  # asking when is no request
    memory.mark_asked("spot")
    assert memory.get_asked_since("spot") >= first
