"""What switches and hosts print of their LLDP neighbors, in the forms of their own tools, against one plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.errors import InputError
from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.build.cabling.ends import DeviceLocator
from supercloud.plan.model.cables import CableTable
from supercloud.plan.model.plan import Plan
from supercloud.spec.loader import loads
from supercloud.targets import render
from supercloud.targets.site.cabling.table import iter_lane_names
from supercloud.targets.site.cabling.verify import verify_output

SPEC = """
name: small
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 4, fabrics: [compute]}]
fabrics:
  - {name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s, leaf_down: 4, os: OS}
facility: {rack: {type: orv3-48u, nodes: 4}}
"""
Row = tuple[str, str, str]


SPLIT = "os: OS, services: [{name: half, count: 5, links: 1, speed: 200 Gb/s}, {name: store, count: 2, links: 2}]"


def build_plan(system: str, split: bool = False) -> Plan:
    text = SPEC.replace("os: OS", SPLIT) if split else SPEC
    plan = sc.resolve(loads(text.replace("OS", system), "cluster.yaml"))
    assert not plan.errors
    return plan


def list_neighbors(plan: Plan, far: str = "system_names") -> dict[str, list[Row]]:
    """What each switch hears by the names of its operating system; neighbors say their ports' names or aliases."""
    table: CableTable = build_cable_table(plan, plan.fabrics[0], DeviceLocator(plan))
    found: dict[str, list[Row]] = {}
    ends = []
    for side in ("source", "target"):
        devices = [table.devices[number] for number in getattr(table.links, f"{side}_set").tolist()]
        ports = getattr(table.links, f"{side}_port").tolist()
        ends.append(
            [
                (str(name), item, port)
                for name, item, port in zip(table.get_device_names(side), devices, ports, strict=True)
            ]
        )
    tails = {row: (system, alias or system) for row, system, alias in iter_lane_names(table)}
    for row, ((a, here, port), (b, there, other)) in enumerate(zip(*ends, strict=True)):
        if row in tails:
            found.setdefault(b, []).append((tails[row][0], a, "b8:3f:d2:12:34:57"))
            continue
        names = getattr(here, far) or here.system_names
        mine = "b8:3f:d2:12:34:56" if here.side == "machine" else names[port]
        found.setdefault(b, []).append((there.system_names[other], a, mine))
        if here.side == "switch":
            found.setdefault(a, []).append(
                (here.system_names[port], b, (getattr(there, far) or there.system_names)[other])
            )
    return found


def format_json0(rows: list[Row]) -> str:
    """Lldpctl -f json0: lists all the way down, the same whatever the number of neighbors."""
    return json.dumps(
        {
            "lldp": [
                {
                    "interface": [
                        {
                            "name": port,
                            "via": "LLDP",
                            "rid": "2",
                            "age": "0 day, 03:17:11",
                            "chassis": [
                                {
                                    "id": [{"type": "mac", "value": "b0:cf:0e:aa:00:01"}],
                                    "name": [{"value": f"{name}.small.internal"}],
                                    "descr": [{"value": "Debian GNU/Linux 12"}],
                                    "capability": [{"type": "Router", "enabled": True}],
                                }
                            ],
                            "port": [
                                {
                                    "id": [{"type": "ifname" if ":" not in other else "mac", "value": other}],
                                    "descr": [{"value": "ens1f0np0" if ":" in other else other}],
                                    "ttl": [{"value": "120"}],
                                }
                            ],
                        }
                        for port, name, other in rows
                    ]
                }
            ]
        }
    )


def format_sonic(rows: list[Row]) -> str:
    """Show lldp table, as sonic-utilities prints it."""
    lines = [
        "Capability codes: (R) Router, (B) Bridge, (O) Other",
        "LocalPort    RemoteDevice                     RemotePortID       Capability    RemotePortDescr",
        "-----------  -------------------------------  -----------------  ------------  -----------------",
        *(f"{port:<11}  {name:<31}  {other:<17}  {'BR':<12}  {'etp or so':<17}" for port, name, other in rows),
        "--------------------------------------------------",
        f"Total entries displayed:  {len(rows)}",
    ]
    return "\n".join(lines) + "\n"


def format_nvue(rows: list[Row]) -> str:
    """Nv show interface lldp, as NVIDIA's reference of NVUE prints it."""
    lines = [
        "Interface  Speed  Type  Remote Host                      Remote Port      ",
        "---------  -----  ----  -------------------------------  -----------------",
        "eth0       1G     eth                                                     ",
        *(f"{port:<9}  400G   swp   {name:<31}  {other:<17}" for port, name, other in rows),
    ]
    return "\n".join(lines) + "\n"


def format_nclu(rows: list[Row]) -> str:
    """Net show lldp, of Cumulus Linux before NVUE."""
    lines = [
        "LocalPort  Speed  Mode     RemoteHost                       RemotePort",
        "---------  -----  -------  -------------------------------  -----------------",
        *(f"{port:<9}  400G   Default  {name:<31}  {other}" for port, name, other in rows),
    ]
    return "\n\n" + "\n".join(lines) + "\n"


def format_nvue_json(rows: list[Row]) -> str:
    """Nv show interface --view lldp -o json."""
    return json.dumps(
        {
            port: {
                "lldp": {
                    "neighbor": {
                        name: {
                            "age": "0-00:41:09",
                            "chassis": {"chassis-id": "44:38:39:22:01:8a", "system-name": name},
                            "port": {"name": other, "type": "ifname", "ttl": "120"},
                        }
                    }
                }
            }
            for port, name, other in rows
        }
        | {"lo": {"type": "loopback"}}
    )


def format_plain(rows: list[Row]) -> str:
    """Lldpctl without options, as lldpd 1.0.16 prints it."""
    rule = "-" * 79
    lines = [rule, "LLDP neighbors:", rule]
    for port, name, other in rows:
        kind = "mac" if ":" in other else "ifname"
        lines += [
            f"Interface:    {port}, via: LLDP, RID: 2, Time: 0 day, 03:17:11",
            "  Chassis:     ",
            "    ChassisID:    mac b0:cf:0e:aa:00:01",
            f"    SysName:      {name}.small.internal",
            "    SysDescr:     Debian GNU/Linux 12 (bookworm)",
            "    MgmtIP:       100.80.0.1",
            "    Capability:   Router, on",
            "  Port:        ",
            f"    PortID:       {kind} {other}",
            f"    PortDescr:    {'ens1f0np0' if kind == 'mac' else other}",
            "    TTL:          120",
            rule,
        ]
    return "\n".join(lines) + "\n"


FORMS: list[tuple[str, str, Callable[[list[Row]], str]]] = [
    ("sonic", "port_aliases", format_sonic),
    ("sonic", "system_names", format_sonic),
    ("sonic", "port_aliases", format_json0),
    ("nvue", "system_names", format_nvue),
    ("nvue", "system_names", format_nclu),
    ("nvue", "system_names", format_nvue_json),
    ("nvue", "system_names", format_json0),
    ("nvue", "system_names", format_plain),
    ("sonic", "port_aliases", format_plain),
    ("frr", "system_names", format_json0),
]


def write_files(folder: Path, rows: dict[str, list[Row]], form: Callable[[list[Row]], str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, mine in rows.items():
        (folder / f"{name}.txt").write_text(form(mine))
    return folder


@pytest.mark.parametrize("system, far, form", FORMS, ids=lambda item: item if isinstance(item, str) else item.__name__)
def test_each_output_format_of_each_system_is_verified(
    system: str, far: str, form: Callable[[list[Row]], str], tmp_path: Path
) -> None:
    plan = build_plan(system)
    rows = list_neighbors(plan, far)
    found = verify_output(plan, write_files(tmp_path / "right", rows, form))
    assert found.differences == () and found.checked == found.links
    leaf, spine = "compute-leaf-001", "compute-spine-001"
    # two machines in each other's port of one leaf
    first, second, *rest = rows[leaf]
    swapped = {leaf: [(first[0], *second[1:]), (second[0], *first[1:]), *rest]}
    (one,) = verify_output(plan, write_files(tmp_path / "swapped", swapped, form)).differences
    assert one.kind == "swapped" and one.cause == f"the two cables were exchanged at {leaf}"
    # a cable less at a spine, reported by both of its ends
    gone = next(row for row in rows[spine] if row[1] == leaf)
    fewer = {name: [row for row in mine if not (name == spine and row == gone)] for name, mine in rows.items()}
    ends = {(gone[0], spine)}
    fewer[leaf] = [row for row in rows[leaf] if not (row[1] == spine and _is_same_port(plan, row[2], gone[0]))]
    assert len(fewer[leaf]) == len(rows[leaf]) - 1 and ends
    (missing,) = verify_output(plan, write_files(tmp_path / "missing", fewer, form)).differences
    assert missing.kind == "missing" and missing.problem.startswith(f"{leaf}:") and spine in missing.problem


@pytest.mark.parametrize("system, far, form", FORMS, ids=lambda item: item if isinstance(item, str) else item.__name__)
def test_ends_of_a_split_port_are_distinguished(
    system: str, far: str, form: Callable[[list[Row]], str], tmp_path: Path
) -> None:
    plan = build_plan(system, split=True)
    rows = list_neighbors(plan, far)
    found = verify_output(plan, write_files(tmp_path / "right", rows, form))
    assert found.differences == () and found.checked == found.links
    leaf, mine = next((name, mine) for name, mine in rows.items() if sum("half" in row[1] for row in mine) == 2)
    first, second = (row for row in mine if "half" in row[1])
    swapped = [row for row in mine if row not in (first, second)]
    swapped += [(first[0], *second[1:]), (second[0], *first[1:])]
    (one,) = verify_output(plan, write_files(tmp_path / "swapped", rows | {leaf: swapped}, form)).differences
    assert one.kind == "swapped" and f"/1 ({first[0]})" in one.fix and f"/2 ({second[0]})" in one.fix
    bundle = render(plan, "cabling")
    assert f",{first[0]}," in bundle["compute.csv"]
    types = bundle["netbox/5-device-types/nvidia-sn5600.yaml"]
    assert f"name: {first[0]}\n" in types and f",{leaf},dcim.interface,{first[0]}," in bundle["netbox/7-cables.csv"]


def _is_same_port(plan: Plan, one: str, other: str) -> bool:
    """Whether two names mean the same port of a spine."""
    assert plan.networks
    run = plan.networks.get_switch_run("compute", "spine")
    numbers = {
        name: index
        for index in range(run.tier.radix)
        for name in (run.format_port_name(index), run.format_port_alias(index))
        if name
    }
    return numbers[one] == numbers[other]


@pytest.mark.slow
def test_labels_have_the_name_on_the_switch_and_that_of_its_system() -> None:
    """Mellanox-SN5600-O128/port_config.ini of SONiC: cage 1 is Ethernet0 and Ethernet4, cage 64 Ethernet504 and 508."""
    text = render(build_plan("sonic"), "cabling")["compute.csv"]
    first = text.splitlines()[1].split(",")
    assert first[1] == "train-0001:OSFP1P1 > compute-leaf-001:swp1s0 (Ethernet0)"
    assert first[2] == "compute-leaf-001:swp1s0 (Ethernet0) > train-0001:OSFP1P1"
    head = text.splitlines()[0].split(",")
    row = dict(zip(head, first, strict=True))
    assert (row["a_port"], row["a_system_port"]) == ("OSFP1P1", "mlx5_11")
    assert (row["b_port"], row["b_system_port"]) == ("swp1s0", "Ethernet0")
    up = next(line.split(",") for line in text.splitlines() if "leaf-001:swp64s1" in line)
    assert "compute-leaf-001:swp64s1 (Ethernet508)" in up[1]
    plain = render(build_plan("nvue"), "cabling")["compute.csv"].splitlines()[1]
    assert "(" not in plain and ",swp1s0,swp1s0," in plain


def test_aliases_of_sonic_match_its_port_configuration() -> None:
    networks = build_plan("sonic").networks
    assert networks
    run = networks.get_switch_run("compute", "leaf")
    assert [run.format_port_name(index) for index in (0, 1, 2, 127)] == [
        "Ethernet0",
        "Ethernet4",
        "Ethernet8",
        "Ethernet508",
    ]
    assert [run.format_port_alias(index) for index in (0, 1, 2, 127)] == ["etp1a", "etp1b", "etp2a", "etp64b"]


def test_one_file_can_have_the_tables_of_several_switches(tmp_path: Path) -> None:
    plan = build_plan("nvue")
    parts = [
        f"cumulus@{name}:mgmt:~$ nv show interface lldp\n{format_nvue(rows)}\n"
        for name, rows in list_neighbors(plan).items()
    ]
    (tmp_path / "all.txt").write_text("".join(parts))
    found = verify_output(plan, tmp_path / "all.txt")
    assert found.differences == () and found.checked == found.links


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, message",
    [
        (
            format_sonic([("Ethernet0", "compute-leaf-002", "etp1a")]).rpartition("Total")[0]
            + "Total entries displayed:  9\n",
            r"6: 9 entries are announced, 1 found; the text was truncated",
        ),
        (format_nvue([("swp1s0", "compute-le…", "swp1")]), r"4: 'compute-le…' was truncated by a narrow terminal"),
        ("Interface  Speed  Type  Remote Host  Remote Port\n", r"2: no line under the column titles"),
        ("Interface  Speed  Remote Host  Remote Port\n-----  ------  -----\n", "1: the columns are not aligned with"),
        (format_nvue([("swp1s0", "compute-leaf-002", "swp1")])[:-9], "4: the last line is incomplete"),
        ('{"lldp": [{"interface": [{"name": "swp1", "chassis": [], "port": 7}]}]}', "1: unknown format of the LLDP"),
        ('{"swp1": {"type": "swp"}}', "1: contains no LLDP neighbors"),
    ],
)
def test_truncated_tables_are_errors(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "found.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        verify_output(build_plan("nvue"), tmp_path / "found.txt")


def test_a_neighbour_without_a_name_is_identified_by_its_chassis(tmp_path: Path) -> None:
    plan = build_plan("nvue")
    rows = list_neighbors(plan)["compute-leaf-001"]
    data = json.loads(format_json0(rows))
    free = next(f"swp{cage}s0" for cage in range(1, 65) if f"swp{cage}s0" not in {row[0] for row in rows})
    data["lldp"][0]["interface"].append(
        {
            "name": free,
            "chassis": [{"id": [{"type": "mac", "value": "aa:bb:cc:00:11:22"}]}],
            "port": [{"id": [{"type": "mac", "value": "aa:bb:cc:00:11:23"}]}],
        }
    )
    (tmp_path / "compute-leaf-001.json").write_text(json.dumps(data))
    (stranger,) = verify_output(plan, tmp_path / "compute-leaf-001.json").differences
    assert stranger.kind == "unknown" and "aa:bb:cc:00:11:22 is not in the plan" in stranger.problem


@pytest.mark.parametrize("cut, message", [(-200, "no line of dashes after the neighbor of"), (-130, "has no PortID")])
def test_truncated_plain_text_is_an_error(cut: int, message: str, tmp_path: Path) -> None:
    text = format_plain([("swp1s0", "train-0001", "b8:3f:d2:12:34:56"), ("swp1s1", "train-0002", "b8:3f:d2:12:34:57")])
    whole = text[:cut] if message.startswith("no line") else text[: text.rindex("    PortID")] + "-" * 79 + "\n"
    (tmp_path / "compute-leaf-001.txt").write_text(whole)
    with pytest.raises(InputError, match=rf"compute-leaf-001.txt:\d+: .*{message}"):
        verify_output(build_plan("nvue"), tmp_path / "compute-leaf-001.txt")
