"""Every storage product has its files; NFS: exports(5), nfs(5); MinIO: docs.min.io."""

from __future__ import annotations

import ipaddress
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plan.sized_storage import GIVES, plan_storage
from storage_plans import EVERY, FLASH, STORAGE_FABRIC, build_plan

from supercloud.catalog import Catalog
from supercloud.primitives.bundle import Bundle
from supercloud.targets import list_targets, render


@pytest.mark.parametrize("drives", ["known", "not known"])
@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_every_product_has_files_and_installation_instructions(catalog: Catalog, drives: str, scheduler: str) -> None:
    """INSTALL.md names the files of each folder, all of them and no others, whatever is known of the servers."""
    bare = {"servers": {"machine": "bare", "count": 4, "throughput": GIVES}} if drives == "not known" else {}
    control = (
        {"kind": "kubernetes", "version": "1.34"}
        if scheduler == "kubernetes"
        else {"kind": "slurm", "version": "25.11"}
    )
    made = render(
        plan_storage(catalog, *({"servers": FLASH} | store | bare for store in EVERY), scheduler=control), "storage"
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


def test_storage_without_servers_has_no_files(catalog: Catalog) -> None:
    assert "storage" not in list_targets(plan_storage(catalog, {"tier": "best", "servers": None}))


@pytest.mark.slow
def test_scripts_pass_shellcheck(bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "out")
    scripts = sorted((tmp_path / "out").rglob("*.sh"))
    assert len(scripts) >= 8 and all(script.stat().st_mode & 0o111 for script in scripts)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([shellcheck, *scripts], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


# -- NFS: exports(5), nfs(5); MinIO: docs.min.io ----------------------------------------------------------------------


def test_nfs_exports_and_mounts_are_rendered(bundle: Bundle) -> None:
    lines = [line for line in bundle["home/exports"].splitlines() if not line.startswith("#")]
    assert lines and all(re.fullmatch(r"/export/home \d+(\.\d+){3}/\d+\([a-z_,]+\)", line) for line in lines)
    (mount,) = [line for line in bundle["home/fstab"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(r"home-nfs-0001:/export/home /home nfs [\w.=,]+ 0 0", mount)


def list_exports(text: str) -> list[ipaddress.IPv4Network]:
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [ipaddress.ip_network(options.partition("(")[0]) for _, options in lines]  # type: ignore[misc]


def test_exports_include_the_controllers(catalog: Catalog) -> None:
    """/home was exported to the pools only, and controllers and login hosts have the same home directories."""
    hosts = [{"name": "ctl1"}, {"name": "ctl2", "address": "10.200.0.7"}]
    scheduler = {"kind": "slurm", "version": "25.11", "controllers": hosts}
    plan = build_plan(catalog, EVERY[3], scheduler=scheduler)
    networks = list_exports(render(plan, "storage")["home/exports"])
    clients = [host.address for host in plan.scheduler.controllers] + [plan.pools[0].addresses[0]]
    assert "10.200.0.7" in clients
    for address in clients:
        assert any(ipaddress.ip_address(address) in network for network in networks), (address, networks)
    assert all(not one.overlaps(other) for one in networks for other in networks if one is not other)


def test_exports_include_the_nodes_on_a_fabric(catalog: Catalog) -> None:
    """Over InfiniBand a node comes from its address there."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    plan = build_plan(catalog, EVERY[3] | {"fabric": "storage"}, pools=pools, fabrics=[STORAGE_FABRIC])
    assert plan.networks is not None
    networks = list_exports(render(plan, "storage")["home/exports"])
    for subnet in plan.networks.subnets:
        assert subnet.role != "rail" or any(subnet.block.subnet_of(network) for network in networks), subnet


def test_object_stores_have_their_files(bundle: Bundle) -> None:
    values = dict(line.split("=", 1) for line in bundle["data/minio"].splitlines() if not line.startswith("#"))
    assert set(values) == {"MINIO_VOLUMES", "MINIO_OPTS", "MINIO_STORAGE_CLASS_STANDARD"}
    assert re.fullmatch(
        r'"https://data-object-\{0001\.\.\.\d{4}\}\.pod1\.internal:9000/mnt/disk\{1\.\.\.24\}"', values["MINIO_VOLUMES"]
    )
    assert values["MINIO_STORAGE_CLASS_STANDARD"] == '"EC:4"'


def test_rendering_is_deterministic(catalog: Catalog, bundle: Bundle) -> None:
    assert dict(render(build_plan(catalog, *EVERY), "storage")) == dict(bundle)
