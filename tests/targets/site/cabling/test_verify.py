"""The cable check: each fault is one finding in the installer's words, and damaged input is an error with its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from discovery import Net
from typer.testing import CliRunner

import supercloud as sc
from supercloud.cli import app
from supercloud.errors import InputError
from supercloud.plan.model.plan import Plan
from supercloud.targets import render
from supercloud.targets.site.cabling.verify import VerificationResult, verify_output

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[4] / "examples"
SPEC = EXAMPLES / "02-superpod" / "cluster.yaml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return sc.resolve(sc.load(SPEC))


@pytest.fixture
def net(plan: Plan) -> Net:
    return Net(render(plan, "cabling")["compute.net"])


@pytest.fixture
def answer(plan: Plan, tmp_path: Path) -> Callable[[Net], VerificationResult]:
    def ask(net: Net) -> VerificationResult:
        (tmp_path / "found.txt").write_text(net.format_output())
        return verify_output(plan, tmp_path / "found.txt")

    return ask


def test_correct_cables_have_no_findings(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    found = answer(net)
    assert found.differences == () and found.checked == found.links == 2044 and found.fabrics == ("compute",)


def test_a_swapped_pair_is_one_finding(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    net.swap(("train-0005 mlx5_11", 1), ("train-0006 mlx5_11", 1))
    (found,) = answer(net).differences
    assert found.kind == "swapped" and found.cause == "the two cables were exchanged at compute-leaf-001"
    assert found.fix == "exchange compute-leaf-001:1/3/1 and compute-leaf-001:1/3/2"
    assert len(found.cables) == 2 and ":" in found.place


def test_cables_swapped_between_leaf_and_spine_are_one_finding(
    net: Net, answer: Callable[[Net], VerificationResult]
) -> None:
    net.swap(("compute-leaf-001", 33), ("compute-leaf-009", 40))
    (found,) = answer(net).differences
    assert found.kind == "swapped"


def test_a_missing_cable_is_found(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    net.cut(("compute-leaf-010", 40))
    (found,) = answer(net).differences
    assert (found.kind, found.problem) == (
        "missing",
        "compute-leaf-010:1/20/2 > compute-spine-004:1/10/2 is missing",
    )


def test_a_wrong_port_is_found(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    net.move(("train-0100 mlx5_11", 1), ("compute-leaf-032", 32))
    (found,) = answer(net).differences
    assert found.kind == "wrong"
    assert found.problem == "train-0100:OSFP1P1 leads to compute-leaf-032:1/16/2, not to compute-leaf-025:1/2/2"


def test_a_cable_in_the_port_of_a_missing_one_is_found(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    net.cut(("train-0002 mlx5_11", 1))
    net.move(("train-0001 mlx5_11", 1), ("compute-leaf-001", 2))
    wrong, missing = answer(net).differences
    assert wrong.kind == "wrong" and "move its end from compute-leaf-001:1/1/2 to compute-leaf-001:1/1/1" in wrong.fix
    assert missing.kind == "missing" and missing.cause == "another cable is in compute-leaf-001:1/1/2"


def test_three_cables_in_a_ring_are_three_wrong_ones(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    ends = [(f"train-000{node} mlx5_11", 1) for node in (1, 2, 3)]
    others = [net.cut(end) for end in ends]
    for end, other in zip(ends, others[1:] + others[:1], strict=True):
        net.join(end, other)
    assert [item.kind for item in answer(net).differences] == ["wrong"] * 3


def test_an_extra_cable_and_an_unknown_device_are_found(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    net.join(("compute-leaf-031", 32), ("compute-leaf-032", 32))
    net.devices["visitor mlx5_0"] = "Hca 1"
    net.join(("visitor mlx5_0", 1), ("compute-leaf-030", 32))
    extra, unknown = answer(net).differences
    assert (extra.kind, extra.problem) == (
        "extra",
        "compute-leaf-031:1/16/2 > compute-leaf-032:1/16/2 is not in the plan",
    )
    assert unknown.kind == "unknown" and "visitor mlx5_0 is not in the plan" in unknown.problem
    assert "compute-leaf-030:1/16/2" in unknown.problem


def test_a_machine_that_is_off_is_one_finding_and_the_first(
    net: Net, answer: Callable[[Net], VerificationResult]
) -> None:
    for end in [end for end in net.links if end[0].startswith("train-0042 ")]:
        net.cut(end)
    net.cut(("compute-leaf-010", 40))
    device, missing = answer(net).differences
    assert (device.kind, device.problem) == ("device", "train-0042 is missing: none of its 8 links is up")
    assert len(device.cables) == 8 and missing.kind == "missing"


def test_two_machines_exchanged_are_one_finding(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    for rail in (11, 6, 10, 9, 4, 3, 5, 0):
        net.swap((f"train-0001 mlx5_{rail}", 1), (f"train-0002 mlx5_{rail}", 1))
    (found,) = answer(net).differences
    assert found.kind == "exchanged" and "all 8 cables are exchanged between train-0001 and train-0002" in found.problem


RAILS = (11, 6, 10, 9, 4, 3, 5, 0)


def rename_devices(net: Net, names: dict[str, str]) -> None:
    def rename_device(device: str) -> str:
        host, space, adapter = device.partition(" ")
        return names.get(host, host) + space + adapter

    net.links = {
        (rename_device(one), port): (rename_device(other), far) for (one, port), (other, far) in net.links.items()
    }
    net.devices = {rename_device(device): kind for device, kind in net.devices.items()}


@pytest.mark.parametrize(
    "one, other, cables",
    [
        ("compute-leaf-001", "compute-leaf-002", 63),
        ("compute-spine-001", "compute-spine-016", 64),
    ],
)
def test_two_switches_exchanged_are_one_finding(
    net: Net, answer: Callable[[Net], VerificationResult], one: str, other: str, cables: int
) -> None:
    rename_devices(net, {one: other, other: one})
    found, *rest = answer(net).differences
    assert found.kind == "exchanged" and f" between {one} and {other}" in found.problem
    assert found.cause == "names or positions of the two switches are exchanged"
    assert len(found.cables) >= 2 * cables and len(rest) <= 1  # the port of the manager is on one of two leaves


@pytest.mark.parametrize("turn", [1, 3, -1, 0])
def test_permuted_rails_of_a_node_are_one_finding(
    net: Net, answer: Callable[[Net], VerificationResult], turn: int
) -> None:
    ends = [(f"train-0009 mlx5_{rail}", 1) for rail in RAILS]
    far = [net.cut(end) for end in ends]
    order = far[turn:] + far[:turn] if turn else far[::-1]
    for end, other in zip(ends, order, strict=True):
        net.join(end, other)
    (found,) = answer(net).differences
    assert found.kind == "shuffled" and found.problem.startswith("8 cables of train-0009 ") and len(found.cables) == 8
    wanted = "from compute-leaf-008:1/5/1 to compute-leaf-001:1/5/1" if turn == 0 else "to compute-leaf-001:1/5/1"
    assert f"train-0009:OSFP1P1: from {wanted[5:]}" in found.fix if turn == 0 else wanted in found.fix


def test_cables_shifted_by_one_port_are_found(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    leaf = "compute-leaf-008"
    ports = sorted(port for (device, port), (other, _) in net.links.items() if device == leaf and "train" in other)
    far = {port: net.cut((leaf, port)) for port in ports[:10]}
    net.cut((leaf, ports[10]))
    for port, other in far.items():
        net.join((leaf, port + 1), other)
    shuffled, missing = answer(net).differences
    assert shuffled.kind == "shuffled" and shuffled.problem.startswith(f"10 cables of {leaf} ")
    assert f"train-0001:OSFP4P2: from {leaf}:1/1/2 to {leaf}:1/1/1" in shuffled.fix
    assert missing.kind == "missing" and "fix that one first" in missing.fix


def test_two_rails_exchanged_for_a_unit_are_one_finding(net: Net, answer: Callable[[Net], VerificationResult]) -> None:
    for node in range(1, 33):
        net.swap((f"train-{node:04d} mlx5_11", 1), (f"train-{node:04d} mlx5_6", 1))
    (found,) = answer(net).differences
    assert found.kind == "exchanged"
    assert "32 cables are exchanged between compute-leaf-001 and compute-leaf-002" in found.problem


@pytest.mark.parametrize("device", ["train-0003", "compute-leaf-003", "compute-spine-004"])
def test_a_device_without_a_name_is_identified_by_its_cables(
    net: Net, answer: Callable[[Net], VerificationResult], device: str
) -> None:
    rename_devices(net, {device: "localhost"})
    (found,) = answer(net).differences
    assert found.kind == "unknown" and found.cause == f"it is {device} and its name has not been set yet"


def test_managed_switches_are_identified_by_their_description(net: Net, plan: Plan, tmp_path: Path) -> None:
    text = net.format_output().replace('# "compute-leaf-001"', '# "MF0;compute-leaf-001:MQM9700/U1"')
    (tmp_path / "found.txt").write_text(text)
    assert verify_output(plan, tmp_path / "found.txt").differences == ()


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_truncated_output_is_an_error_with_its_line(net: Net, plan: Plan, tmp_path: Path, cut: float) -> None:
    text = net.format_output()
    (tmp_path / "found.txt").write_text(text[: int(len(text) * cut)])
    with pytest.raises(InputError, match=r"found\.txt:\d+: .*(truncated|damaged)"):
        verify_output(plan, tmp_path / "found.txt")
    (tmp_path / "found.txt").write_text(text[: text.index("\n", int(len(text) * cut)) + 1])
    with pytest.raises(InputError, match=r"found\.txt:\d+: "):
        verify_output(plan, tmp_path / "found.txt")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1: the file is empty"),
        ("hello\n", "1: neither ibnetdiscover nor"),
        (
            'Switch 64 "S-1" # "a"\n[1]\t"H-1"[1]\n\x00rubbish\n',
            "3: '\\\\x00rubbish' is not valid output of ibnetdiscover",
        ),
        ('Switch 64 "S-1" # "a"\n[65]\t"H-1"[1]\n', "2: port 65 of a, which has 64"),
        ('Switch 64 "S-1" # "a"\n[1]\t"H-1"[1]\n[1]\t"H-2"[1]\n', "3: duplicate port 1 of a"),
        ('Switch 64 "S-1" # "a"\n\nSwitch 64 "S-2" # "a"\n', "3: duplicate name a"),
        ('{"lldp": {', "1: .*truncated or damaged"),
        ('Switch 64 "S-1" # "elsewhere"\n', "no device in the output belongs to a network of the plan"),
    ],
)
def test_invalid_input_is_an_error(plan: Plan, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "found.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        verify_output(plan, tmp_path / "found.txt")


def test_the_command_has_exit_codes_and_json(net: Net, tmp_path: Path) -> None:
    run = CliRunner()
    found = tmp_path / "found.txt"
    found.write_text(net.format_output())
    assert run.invoke(app, ["verify-cabling", str(SPEC), str(found)]).exit_code == 0
    net.cut(("compute-leaf-010", 40))
    found.write_text(net.format_output())
    result = run.invoke(app, ["verify-cabling", str(SPEC), str(found), "--json"])
    assert result.exit_code == 1 and json.loads(result.stdout)["differences"][0]["kind"] == "missing"
    result = run.invoke(app, ["verify-cabling", str(SPEC), str(tmp_path / "none.txt")])
    assert isinstance(result.exception, InputError) and result.exception.exit_code == 2


ROCE = """
name: small
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "24.11"}
pools: [{name: train, machine: dgx-h100, nodes: 4, fabrics: [compute]}]
fabrics: [{name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s, leaf_down: 4}]
facility: {rack: {type: orv3-48u, nodes: 4}}
"""


def list_neighbors(plan: Plan) -> dict[str, list[tuple[str, str, str]]]:
    """What each switch hears: its port, the neighbor, the neighbor's port by the operating system's name."""
    from supercloud.plan.build.cabling.cables import build_cable_table

    table = build_cable_table(plan, plan.fabrics[0])
    heard: dict[str, list[tuple[str, str, str]]] = {}
    for a, a_port, b, b_port in zip(
        table.get_device_names("source"),
        table.get_port_names("source"),
        table.get_device_names("target"),
        table.get_port_names("target"),
        strict=True,
    ):
        heard.setdefault(b, []).append((b_port, a, "ens1f0np0" if a.startswith("train") else a_port))
        if not a.startswith("train"):
            heard.setdefault(a, []).append((a_port, b, b_port))
    return heard


def format_lldpctl(rows: list[tuple[str, str, str]]) -> str:
    return json.dumps(
        {
            "lldp": {
                "interface": [
                    {
                        port: {
                            "via": "LLDP",
                            "chassis": {f"{name}.small.internal": {"id": {"type": "mac", "value": "00:00"}}},
                            "port": {"id": {"type": "ifname", "value": other}, "descr": other},
                        }
                    }
                    for port, name, other in rows
                ]
            }
        }
    )


def format_keyvalue(rows: list[tuple[str, str, str]]) -> str:
    return "".join(
        f"lldp.{port}.via=LLDP\nlldp.{port}.chassis.name={name}\nlldp.{port}.port.ifname={other}\n"
        for port, name, other in rows
    )


def format_eos(rows: list[tuple[str, str, str]]) -> str:
    return json.dumps(
        {
            "lldpNeighbors": [
                {"port": port, "neighborDevice": name, "neighborPort": other, "ttl": 120} for port, name, other in rows
            ]
        }
    )


@pytest.mark.parametrize("form", [format_lldpctl, format_keyvalue, format_eos])
def test_lldp_output_of_all_switches_is_verified(
    form: Callable[[list[tuple[str, str, str]]], str], tmp_path: Path
) -> None:
    from supercloud.spec.loader import loads

    plan = sc.resolve(loads(ROCE, "cluster.yaml"))
    assert not plan.errors
    heard = list_neighbors(plan)
    folder = tmp_path / "heard"
    folder.mkdir()
    for name, rows in heard.items():
        (folder / f"{name}.json").write_text(form(rows))
    assert verify_output(plan, folder).differences == ()
    first, second, *rest = heard["compute-leaf-001"]
    swapped = [(first[0], *second[1:]), (second[0], *first[1:]), *rest[1:]]
    (folder / "compute-leaf-001.json").write_text(form(swapped))
    kinds = [item.kind for item in verify_output(plan, folder).differences]
    assert kinds == ["swapped", "missing"]


def test_names_of_neighbors_write_no_lines_of_their_own(tmp_path: Path) -> None:
    name = "evil\nsupercloud: all cables agree"
    interface = {"rail0": {"chassis": {name: {}}, "port": {"id": {"type": "ifname", "value": name}}}}
    found = tmp_path / "found.json"
    found.write_text(json.dumps({"train-0001": {"lldp": {"interface": [interface]}}}))
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ROCE)
    result = CliRunner().invoke(app, ["verify-cabling", str(spec), str(found)])
    assert result.exit_code == 1 and "evil\\nsupercloud: all cables agree" in result.stdout
    assert not [line for line in result.stdout.splitlines() if line.startswith("supercloud")]
