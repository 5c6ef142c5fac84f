"""Hostile output of other machines is an error with its line in a short time, and adds no links of other ports."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from samples import ROOT

import supercloud as sc
from supercloud.errors import InputError
from supercloud.plan.build.fabric.guids import parse_guids
from supercloud.spec.loader import loads
from supercloud.targets.site.cabling import readers
from supercloud.targets.site.cabling.readers import DiscoveredLinks, read_output
from supercloud.targets.site.cabling.verify import verify_output

DIGITS, SPACES, NAME = "9" * 5000, " " * 60_000, "n" * 200_000
RULE = "-" * 79
HEAD = "LocalPort  RemoteDevice  RemotePortID\n---------  ------------  ------------\n"
# Characters other than a line feed at which str.splitlines ends a line.
NO_LINE_FEEDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r"


def read_text(folder: Path, text: str) -> DiscoveredLinks:
    path = folder / "compute-leaf-009.txt"
    path.write_text(text, encoding="utf-8", newline="")
    return read_output(path)


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"lldp": {"interface": ' + "[" * 50_000 + "]" * 50_000 + "}}", "1: its values are nested too deeply"),
        ('{"lldp": {"interface": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}}", "1: its values are nested too"),
        # less than what releases of Python refuse by themselves
        ('{"lldp": {"interface": ' + "[" * 300 + "]" * 300 + "}}", "1: its values are nested too deeply"),
        (f'{{"lldpNeighbors": [{{"port": {DIGITS}}}]}}', "1: it has a number of more than 4,300 digits"),
        ('{"lldp": [' + "[]," * 4_000_000 + "[]]}", "1: it has more than 4,000,000 values"),
        (json.dumps({NAME: {"lldp": 7}}), "1: unknown format of the LLDP neighbors of nnn"),
        ('{"lldpNeighbors": [{"port": "1", "neighborDevice": ["a"], "neighborPort": "2"}]}', "1: unknown format of"),
        (f"{HEAD}Total entries displayed:  {DIGITS}\n", "3: 999.* entries are announced, 0 found"),
        (f"{HEAD}swp1       a             {NAME}…\n", "3: .* was truncated by a narrow terminal"),
        (f'Switch {DIGITS} "S-1" # "a"\n', "1: .* is not valid output of ibnetdiscover"),
        (f'Switch 64 "S-1" # "a"\n[{DIGITS}] "H-1"[1]\n', "2: .* is not valid output of ibnetdiscover"),
        (f'Switch 64 "S-1" # "a"\n[1] "H-1"[{DIGITS}]\n', "2: .* is not valid output of ibnetdiscover"),
        (f'switchguid=0x{DIGITS}\nSwitch 64 "S-1" # "a"\n', "1: .* is not valid output of ibnetdiscover"),
        (f'Switch 64 "S-1" # "{NAME}"\n[65] "H-1"[1]\n', "2: port 65 of nnn"),
        (f'Switch 64 "S-1" # "a"\n[1] "{NAME}"[1]\n', "2: nnn.* has no description"),
        (f'Switch 64 "S-1" # "{NAME}"\nSwitch 64 "S-2" # "{NAME}"\n', "2: duplicate name nnn"),
        (f"LLDP neighbors:\nInterface: {NAME}, via: LLDP\n", "2: no line of dashes after the neighbor of nnn"),
        (f"LLDP neighbors:\nInterface: {NAME}, via: LLDP\n{RULE}\n", "2: the neighbor of nnn.* has no PortID"),
        (f"lldp.{NAME}\n", "1: 'lldp.nnn.* is not output of lldpctl -f keyvalue"),
    ],
    ids=range(19),
)
def test_hostile_output_is_an_error_of_one_short_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"compute-leaf-009\.txt:{message}") as found:
        read_text(tmp_path, text)
    assert len(str(found.value)) < 500 + len(str(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        f"    SysName:  a{SPACES}b",
        f"    SysName:{SPACES}",
        f"    {SPACES}SysName",
        f"Interface:{SPACES}",
        f"{'-' * 60_000}x",
        "@" * 60_000,
        "a@b:" * 20_000,
        "a@b:" + "#" * 60_000,
        "- " * 30_000 + "x",
        f"Total entries displayed: {SPACES}x",
        f"Total entries displayed: {'1' * 60_000}x",
    ],
    ids=range(11),
)
def test_a_long_line_of_a_neighbor_is_read_in_linear_time(line: str, tmp_path: Path) -> None:
    text = f"LLDP neighbors:\nInterface: swp1, via: LLDP\n    PortID:  ifname swp2\n{line}\n{RULE}\n"
    start = time.process_time()
    read_text(tmp_path, text)
    read_text(tmp_path, f"{line}\n{HEAD}{line}\nswp1       a             swp2\n")
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "line", [f'Switch{SPACES}"', f'Switch 64 "S"{SPACES}x', f'[1]{SPACES}"', f'[1] "H"[1]{SPACES}x']
)
def test_a_long_line_of_a_subnet_is_read_in_linear_time(line: str, tmp_path: Path) -> None:
    start = time.process_time()
    with pytest.raises(InputError, match="2: .* is not valid output of ibnetdiscover"):
        read_text(tmp_path, f'Switch 64 "S-1" # "a"\n{line}\n')
    assert time.process_time() - start < 1


def test_a_long_line_of_guids_is_read_in_linear_time() -> None:
    start = time.process_time()
    for line in (f"a{SPACES}x", f'"a"{SPACES}x', f"a,{SPACES}x", SPACES + '"'):
        with pytest.raises(InputError, match="g.txt:1: this line is not a name and a GUID"):
            parse_guids(f"{line}\n", "g.txt")
    assert time.process_time() - start < 1
    guids, _ = parse_guids('leaf-1 0x1\n"leaf 2" , 0x2\nleaf-3,0x3\r\nleaf 4\t0x4\n', "g.txt")
    assert list(guids) == ["leaf-1", "leaf 2", "leaf-3", "leaf 4"]


@pytest.mark.parametrize("mark", NO_LINE_FEEDS)
def test_a_name_adds_no_links_of_other_ports(mark: str, tmp_path: Path) -> None:
    evil = f"lldp.eth2.chassis.name=compute-leaf-001{mark}lldp.eth2.port.ifname=Ethernet1"
    found = read_text(tmp_path, f"lldp.eth1.chassis.name=evil{mark}{evil}\nlldp.eth1.port.ifname=x\n")
    assert {port for (_, port), _ in found.links} == {"eth1"}

    block = f"{RULE}{mark}Interface: eth2, via: LLDP{mark} SysName: compute-leaf-001{mark} PortID: ifname x{mark}{RULE}"
    text = f"Interface: eth1, via: LLDP\n    SysName: evil{mark}{block}\n    PortID: ifname y\n{RULE}\n"
    found = read_text(tmp_path, f"LLDP neighbors:\r\n{text}")
    assert {port for (_, port), _ in found.links} == {"eth1"}

    row = f"eth2       compute-leaf-001  x{mark}"
    found = read_text(tmp_path, f"{HEAD}eth1       evil          a{mark}{row}\n")
    assert {port for (_, port), _ in found.links} == {"eth1"}

    subnet = (
        'Switch 64 "S-1" # "a{}"\n[1] "S-2"[1]\n\nSwitch 64 "S-2" # "b"\n[1] "S-1"[1]{}\n'  # what it has, then a name
    )
    found = read_text(tmp_path, subnet.format(f'{mark}[2]\t"S-2"[2]', f' # "c{mark}[2] "S-1"[2]'))
    assert len(found.links) == 1


@pytest.mark.parametrize("name", ["id", "name", "descr", "local", "evil"])
def test_a_name_that_is_a_key_of_lldpd_is_a_name(name: str, tmp_path: Path) -> None:
    chassis = {name: {"id": {"type": "mac", "value": "00:00"}, "descr": "x"}}
    port = {"id": {"type": "ifname", "value": "x"}}
    found = read_text(tmp_path, json.dumps({"lldp": {"interface": {"eth1": {"chassis": chassis, "port": port}}}}))
    assert list(found.links) == [(("compute-leaf-009", "eth1"), (name, "x"))]


def test_lines_may_end_with_carriage_returns(tmp_path: Path) -> None:
    text = "lldp.eth1.chassis.name=a\r\nlldp.eth1.port.ifname=x\r\n"
    assert list(read_text(tmp_path, text).links) == [(("compute-leaf-009", "eth1"), ("a", "x"))]
    text = 'Switch 64 "S-1" # "a"\r\n[1]\t"S-2"[1]\r\n\r\nSwitch 64 "S-2" # "b"\r\n[1]\t"S-1"[1]\r\n'
    assert list(read_text(tmp_path, text).links) == [(("a", "1"), ("b", "1"))]


def test_files_have_a_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert readers._MAX_FILE_SIZE <= 64 * 2**20
    monkeypatch.setattr(readers, "_MAX_FILE_SIZE", 10)
    with pytest.raises(InputError, match=r"compute-leaf-009\.txt: it has more than 10 bytes"):
        read_text(tmp_path, "lldp.eth1.chassis.name=a\n")


@pytest.mark.slow
def test_long_names_are_shortened_in_differences(tmp_path: Path) -> None:
    spec = ROOT / "examples" / "01-minimal" / "cluster.yaml"
    plan = sc.resolve(loads(spec.read_text(), str(spec)))
    path = tmp_path / "found.txt"
    path.write_text(
        f'Switch 64 "S-1" # "compute-leaf-001"\n[1]\t"H-1"[1]\n[2]\t"H-2"[1]\n\n'
        f'Ca 1 "H-1" # "{NAME}"\n[1]\t"S-1"[1]\n\nCa 1 "H-2" # "{NAME} mlx5_0"\n[1]\t"S-1"[2]\n'
    )
    found = [item for item in verify_output(plan, path).differences if item.kind == "unknown"]
    assert found and all("nnn…" in item.problem and len(item.problem) < 300 for item in found)
    path.write_text(f'Switch 64 "S-1" # "{NAME}"\n')
    with pytest.raises(InputError, match=r"no device in the output belongs") as error:
        verify_output(plan, path)
    assert len(str(error.value)) < 500
