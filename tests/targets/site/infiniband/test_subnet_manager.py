"""One subnet manager is meant: the files start no other, two hosts have an order, and the M_Key stays out of files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.errors import SpecError
from supercloud.plan.build.fabric.partitions import find_manager_node
from supercloud.spec.loader import loads
from supercloud.targets import render
from supercloud.targets.installation import render_order

EXAMPLES = Path(__file__).parents[4] / "examples"
KEY = "/etc/opensm/m_key"


def format_spec(fabric: str = "", more: str = "") -> str:
    return f"""
name: one
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "24.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 8, fabrics: [compute]}}]
fabrics:
  - name: compute
    kind: infiniband
    shape: rail-optimized
    switch: nvidia-qm9700
    {fabric}
{more}
"""


def render_files(fabric: str = "") -> dict[str, str]:
    return {path: str(text) for path, text in render(sc.resolve(loads(format_spec(fabric))), "infiniband").items()}


def list_findings(plan: sc.Plan) -> list[tuple[str, str]]:
    return [(item.level, item.problem) for item in plan.findings if item.check == "subnet-manager"]


def test_ufm_has_its_own_files_and_starts_no_other_manager() -> None:
    files = render_files("subnet_manager: nvidia")
    own = {"compute/GUIDE.md", "compute/modules.conf", "compute/ipoib.sh", "compute/ipoib-compute.service"}
    assert {path for path in files if not path.startswith("compute/ufm/")} == own
    guide = files["compute/GUIDE.md"]
    assert "UFM runs the only subnet manager" in guide and "start-opensm" not in guide
    conf = files["compute/ufm/opensm.conf"]
    assert "/etc/opensm" not in conf and "partition_config_file" not in conf and "sm_priority" not in conf
    assert "Default=0x7fff" in files["compute/ufm/partitions.conf.user_ext"]


def test_the_open_manager_has_no_file_of_ufm() -> None:
    files = render_files()
    assert not [path for path in files if "ufm" in path]
    assert "systemctl enable --now opensm-compute\n" in files["compute/GUIDE.md"]


TENANTS = "tenants: [{name: red, users: [a]}, {name: blue, users: [b]}]\n"


@pytest.mark.parametrize(
    "red, blue, expected",
    [
        ("train-[0001-0003]", "", "train-0004"),
        ("train-[0001-0003]", "train-[0004-0005]", "train-0006"),
        ("train-[0001-0008]", "", ""),
    ],
)
def test_no_node_of_a_tenant_is_proposed_for_the_subnet_manager(red: str, blue: str, expected: str) -> None:
    """A tenant's root user could change every tenant's P_Keys there."""
    parts = [f'{{tenant: {name}, hosts: "{hosts}"}}' for name, hosts in (("red", red), ("blue", blue)) if hosts]
    plan = sc.resolve(loads(format_spec(f"partitions: [{', '.join(parts)}]", TENANTS)))
    assert find_manager_node(plan, plan.fabrics[0]) == expected


@pytest.mark.slow
def test_the_guide_names_the_hosts_and_has_every_line_that_installs(tmp_path: Path) -> None:
    """Neither where OpenSM runs nor how it and the units of IPoIB come onto hosts was on the page."""
    declared = render_files("manager: {links: 4, appliances: 2}")["compute/GUIDE.md"]
    assert "It runs on compute-manager-01, compute-manager-02," in declared
    guide = render_files()["compute/GUIDE.md"]
    assert "such as train-0001" in guide and "On train-[0001-" in guide
    # masked before it is installed, or the package starts one on every port
    assert guide.index("mask opensm.service") < guide.index("apt-get install -y opensm") < guide.index("enable --now")
    for name in ("ipoib.sh", "ipoib-compute.service", "modules.conf"):
        (tmp_path / name).write_text(render_files()[f"compute/{name}"])
    lines = [
        line.strip() for line in guide.partition("## The hosts")[2].splitlines() if line.startswith("    install ")
    ]
    for folder in ("etc/systemd/system", "etc/modules-load.d", "copy"):
        (tmp_path / folder).mkdir(parents=True)
    subprocess.run(["sh", "-ec", "\n".join(lines).replace(" /etc", f" {tmp_path}/etc")], cwd=tmp_path, check=True)
    unit = (tmp_path / "etc/systemd/system/ipoib-compute.service").read_text()
    started = unit.split("ExecStart=/")[1].split()[0]
    assert os.access(tmp_path / started, os.X_OK) and "enable --now ipoib-compute.service" in guide


@pytest.mark.parametrize("switch, is_special", [("nvidia-qm9700", True), ("nvidia-qm8700", False)])
def test_ndr_switches_need_the_opensm_of_nvidia(tmp_path: Path, switch: str, is_special: bool) -> None:
    """With the OpenSM of Debian, MPI and IPoIB do not work on NDR switches."""
    files = render(sc.resolve(loads(format_spec().replace("nvidia-qm9700", switch))), "infiniband")
    assert ("DOCA-OFED" in files["compute/GUIDE.md"]) is is_special
    script = tmp_path / "start-opensm.sh"
    script.write_text(files["compute/start-opensm.sh"])
    (tmp_path / "bin").mkdir()
    for version, is_warned in (("3.3.23", is_special), ("5.21.12.MLNX20241209", False)):
        stub = tmp_path / "bin" / "opensm"
        stub.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo 'OpenSM {version}' || cat \"$2\"\n")
        stub.chmod(0o755)
        (tmp_path / "opensm.conf").write_text(files["compute/opensm.conf"])
        if not (tmp_path / "sys").exists():
            add_port(tmp_path, "mlx5_0", 0xA0)
        environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "DESTDIR": str(tmp_path)}
        done = subprocess.run(["bash", script], capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and "routing_engine" in done.stdout, done.stderr
        assert ("is not NVIDIA's" in done.stderr) is is_warned


def test_the_m_key_is_generated_before_opensm_starts() -> None:
    """Started first, OpenSM stayed down until the next restart of its unit."""
    guide = render_files(f"m_key: {KEY}")["compute/GUIDE.md"]
    assert guide.index("/dev/urandom") < guide.index("enable --now opensm")


@pytest.mark.slow
def test_appliances_of_ufm_beside_the_open_manager_are_a_finding() -> None:
    text = (EXAMPLES / "05-superpod-networks" / "cluster.yaml").read_text()
    assert not list_findings(sc.resolve(loads(text)))
    both = list_findings(sc.resolve(loads(text.replace("    subnet_manager: nvidia\n", ""))))
    ((level, problem),) = both
    assert level == "warning" and "two would compete for storage" in problem


def test_of_two_hosts_the_first_is_master() -> None:
    """With equal priorities the lower GUID won, whichever host that was."""
    files = render_files("manager: {links: 4, appliances: 2}")
    first, other = (files[f"compute/opensm{name}.conf"] for name in ("", "-standby"))
    priorities = [int(text.split("sm_priority ")[1].split()[0]) for text in (first, other)]
    assert 15 >= priorities[0] > priorities[1] > 0
    assert first.replace(f"sm_priority {priorities[0]}", "") == other.replace(f"sm_priority {priorities[1]}", "")
    assert "opensm-standby.conf" in files["compute/GUIDE.md"]
    assert "compute/opensm-standby.conf" not in render_files("manager: {links: 1}")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host of the subnet manager, on which opensm shows what it would read."""
    for path, text in render_files(f"m_key: {KEY}").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opensm").write_text('#!/bin/sh\ncat "$2"\n')
    (tmp_path / "bin" / "opensm").chmod(0o755)
    (tmp_path / "etc/opensm").mkdir(parents=True)
    add_port(tmp_path, "mlx5_0", 0xA0)
    return tmp_path


def add_port(host: Path, device: str, guid: int, number: int = 1, layer: str = "InfiniBand") -> None:
    """A port in the host's sysfs, as the driver shows it."""
    port = host / "sys/class/infiniband" / device / "ports" / str(number)
    (port / "gids").mkdir(parents=True)
    digits = f"fe80000000000000{guid:016x}"
    (port / "gids/0").write_text(":".join(digits[index : index + 4] for index in range(0, 32, 4)) + "\n")
    (port / "link_layer").write_text(f"{layer}\n")


def start(host: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{host / 'bin'}:{os.environ['PATH']}", "DESTDIR": str(host), **more}
    script = str(host / "compute" / "start-opensm.sh")
    return subprocess.run(["bash", script], capture_output=True, text=True, env=environment)


def test_the_m_key_is_read_where_the_manager_starts(host: Path) -> None:
    key = host / "etc/opensm/m_key"
    key.write_text("0x00c0ffee12345678\n")
    key.chmod(0o600)
    done = start(host)
    assert done.returncode == 0, done.stderr
    assert "routing_engine" in done.stdout and "m_key 0x00c0ffee12345678\n" in done.stdout
    assert (host / "run/opensm/compute.conf").stat().st_mode & 0o077 == 0


def test_ports_never_give_up_the_m_key(host: Path) -> None:
    """With a lease, a wrong key and a minute of waiting were enough to read it from an idle adapter."""
    key = host / "etc/opensm/m_key"
    key.write_text("0x00c0ffee12345678\n")
    key.chmod(0o600)
    assert "m_key_lease_period 0\n" in start(host).stdout


@pytest.mark.parametrize(
    "text, mode, message",
    [
        (None, 0o600, "is missing"),
        ("0x1", 0o644, "readable by other users"),
        ("0x0", 0o600, "and not 0"),
        ("secret", 0o600, "16 hexadecimal digits"),
    ],
)
def test_an_invalid_or_readable_key_starts_no_manager(host: Path, text: str | None, mode: int, message: str) -> None:
    if text is not None:
        (host / "etc/opensm/m_key").write_text(text)
        (host / "etc/opensm/m_key").chmod(mode)
    done = start(host)
    assert done.returncode == 1 and message in done.stderr and not done.stdout


def test_ufm_manages_its_m_keys() -> None:
    plan = sc.resolve(loads(format_spec(f"m_key: {KEY}\n    manager: {{links: 2}}\n    subnet_manager: nvidia")))
    assert list_findings(plan) == [("error", "UFM creates and stores M_Keys itself")]


def test_ufm_without_a_host_is_a_finding_and_is_sent_to_no_node() -> None:
    alone = sc.resolve(loads(format_spec("subnet_manager: nvidia")))
    [(level, problem)] = list_findings(alone)
    assert level == "warning" and "UFM has no host" in problem
    page = render_order(alone).files["INSTALL.md"].text
    assert "hosts of UFM, which the spec does not declare" in page
    with_hosts = sc.resolve(loads(format_spec("manager: {links: 2}\n    subnet_manager: nvidia")))
    assert not [text for _, text in list_findings(with_hosts) if "UFM has no host" in text]


def test_tenants_without_an_m_key_are_a_finding() -> None:
    part = "partitions: [{tenant: llm, hosts: 'train-[0001-0004]'}]"
    more = "tenants: [{name: llm}]"
    ((level, problem),) = list_findings(sc.resolve(loads(format_spec(part, more))))
    assert level == "warning" and "without an M_Key" in problem
    assert not list_findings(sc.resolve(loads(format_spec(f"{part}\n    m_key: {KEY}", more))))


def test_a_path_with_a_command_is_rejected() -> None:
    with pytest.raises(SpecError):
        loads(format_spec('m_key: "/etc/$(id)"'))


@pytest.mark.slow
@pytest.mark.parametrize("more", [f"m_key: {KEY}", "manager: {links: 2}", "pod: rail"])
def test_the_script_passes_shellcheck(tmp_path: Path, more: str) -> None:
    script = tmp_path / "start-opensm.sh"
    nodes = "dgx-gb200, nodes: 72" if "pod" in more else "dgx-h100, nodes: 8"
    spec = format_spec(more).replace("dgx-h100, nodes: 8", nodes)
    script.write_text(str(render(sc.resolve(loads(spec)), "infiniband")["compute/start-opensm.sh"]))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([str(shellcheck), str(script)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.fixture
def dgx(tmp_path: Path, host: Path) -> Path:
    """A host on two fabrics, without an M_Key, with a guids file that knows a declared manager."""
    guids = tmp_path / "guids.txt"
    guids.write_text("compute-manager-02 mlx5_5 0x00000000000000a2\n")
    for path, text in render_files(f"manager: {{links: 2}}\n    guids: {guids}").items():
        (host / path).write_text(text)
    add_port(host, "mlx5_11", 0xA1)
    add_port(host, "mlx5_5", 0xA2)
    add_port(host, "mlx5_1", 0xA3, layer="Ethernet")
    return host


@pytest.mark.slow
@pytest.mark.parametrize(
    "more, guid, priority",
    [
        ({"OPENSM_HOST": "train-0003"}, 0xA1, 14),  # the first rail of the catalog's device
        ({"OPENSM_HOST": "compute-manager-02"}, 0xA2, 7),  # by the GUID that the spec's file has
        ({"OPENSM_HOST": "compute-manager-01", "OPENSM_PORT": "mlx5_0"}, 0xA0, 14),
        ({"OPENSM_HOST": "other", "OPENSM_PORT": "mlx5_5/1", "OPENSM_CONFIG": "opensm-standby.conf"}, 0xA2, 7),
        ({"OPENSM_HOST": "other", "OPENSM_PORT": "0x00000000000000a1"}, 0xA1, 14),
    ],
)
def test_the_manager_binds_to_the_port_on_its_fabric(dgx: Path, more: dict[str, str], guid: int, priority: int) -> None:
    """Without a GUID the managers of two fabrics on one host bound to the same port."""
    done = start(dgx, **more)
    assert done.returncode == 0, done.stderr
    assert f"\nguid 0x{guid:016x}\n" in done.stdout and f"\nsm_priority {priority}\n" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "more, message",
    [
        ({"OPENSM_HOST": "other"}, "has 3 InfiniBand ports"),
        ({"OPENSM_HOST": "compute-manager-01"}, "to one of mlx5_0/1 mlx5_11/1 mlx5_5/1"),
        ({"OPENSM_HOST": "other", "OPENSM_PORT": "mlx5_1"}, "no InfiniBand port mlx5_1"),  # RoCE
        ({"OPENSM_HOST": "other", "OPENSM_PORT": "mlx5_0/2"}, "no InfiniBand port mlx5_0/2"),
    ],
)
def test_an_unknown_port_starts_no_manager(dgx: Path, more: dict[str, str], message: str) -> None:
    done = start(dgx, **more)
    assert done.returncode == 1 and message in done.stderr and "OPENSM_PORT" in done.stderr and not done.stdout


def test_a_host_without_infiniband_starts_no_manager(host: Path) -> None:
    (host / "sys/class/infiniband/mlx5_0/ports/1/link_layer").write_text("Ethernet\n")
    done = start(host)
    assert done.returncode == 1 and "no InfiniBand port: is the driver loaded" in done.stderr


RAILS_APART = format_spec("pod: rail").replace("dgx-h100, nodes: 8", "dgx-gb200, nodes: 72")


def test_several_subnets_have_a_unit_for_each_port() -> None:
    files = {path: str(text) for path, text in render(sc.resolve(loads(RAILS_APART)), "infiniband").items()}
    assert "compute/opensm-compute@.service" in files and "compute/opensm-compute.service" not in files
    assert "Environment=OPENSM_PORT=%i" in files["compute/opensm-compute@.service"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("spec", [format_spec(), RAILS_APART])
def test_systemd_accepts_the_unit(tmp_path: Path, spec: str) -> None:
    """After a reboot a manager that was started manually was not running."""
    files = render(sc.resolve(loads(spec)), "infiniband")
    [path] = [item for item in files if item.startswith("compute/opensm-compute") and item.endswith(".service")]
    start_path = tmp_path / "start-opensm.sh"
    start_path.write_text("#!/bin/sh\n")
    start_path.chmod(0o755)
    unit = tmp_path / Path(path).name.replace("@", "@mlx5_0")
    unit.write_text(str(files[path]).replace("/etc/opensm/compute/start-opensm.sh", str(start_path)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr
    assert "WantedBy=multi-user.target" in unit.read_text()
