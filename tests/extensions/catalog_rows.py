"""Proofs of rows that need data only, or data and one line."""

from __future__ import annotations

from samples import ROOT

from extensions.package_copy import PackageCopy

DATA = "supercloud/catalog/data"


def read_example(number: str, *changes: tuple[str, str]) -> str:
    """The text of an example's spec with changes."""
    (path,) = ROOT.glob(f"examples/{number}-*/cluster.yaml")
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def clone_entry(copy: PackageCopy, kind: str, name: str, *changes: tuple[str, str]) -> None:
    """Add an entry of a kind of which it does not matter what it says, and print it."""
    first = min(path.name for path in (copy.root / DATA / kind).glob("*.yaml"))
    copy.clone(f"{DATA}/{kind}/{first}", name, *changes)
    assert name in copy.run("catalog", kind, name)


def add_products(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/accelerators/h100-sxm.yaml", "x100")
    copy.clone(f"{DATA}/machines/dgx-h100.yaml", "dgx-x100", ("h100-sxm", "x100"))
    copy.clone(f"{DATA}/switches/nvidia-qm9700.yaml", "own-switch")
    copy.clone(f"{DATA}/racks/eia-48u.yaml", "own-rack")
    copy.clone(f"{DATA}/locations/stockholm.yaml", "uppsala")
    changes = [("dgx-h100", "dgx-x100"), ("nvidia-qm9700", "own-switch"), ("eia-48u", "own-rack")]
    copy.write("cluster.yaml", read_example("01", *changes, ("stockholm", "uppsala")))
    shown = copy.run("plan", "cluster.yaml")
    assert "128 × x100" in shown and "onprem" not in shown and "uppsala" in shown and "own-switch" in shown


def add_parts(copy: PackageCopy) -> None:
    for kind in ("cables", "transceivers", "pdus", "ups", "cdus", "coolants"):
        clone_entry(copy, kind, f"own-{kind}")
    copy.clone(f"{DATA}/network-systems/nvue.yaml", "own-system", ("vendors: [NVIDIA]", "vendors: [Own]"))
    copy.write("cluster.yaml", read_example("06", ("os: nvue", "os: own-system")))
    copy.run("render", "cluster.yaml", "--target", "roce", "--out", "out")
    assert (copy.work / "out/roce/compute/leaf/qos.yaml").is_file()


def add_slurm_release(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/slurm/25.11.yaml", "29.11")
    copy.clone(f"{DATA}/slurm-packages/schedmd.yaml", "own", ('built_from: ["23.11", ', 'built_from: ["29.11", '))
    copy.write("cluster.yaml", read_example("01", ("24.11", "29.11")))
    copy.run("render", "cluster.yaml", "--target", "slurm", "--out", "out")
    assert "slurm-smd-slurmctld" in (copy.work / "out/slurm/INSTALL.md").read_text()


def add_region(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/regions/us-east-1.yaml", "us-east-9", ("us-east-1", "us-east-9"))
    copy.clone(f"{DATA}/prices/p5.48xlarge.yaml", "own-prices")
    copy.clone(f"{DATA}/storage-services/efs.yaml", "own-nfs")
    changes = [("us-east-1", "us-east-9"), ("kind: nfs, capacity", "kind: nfs, product: own-nfs, capacity")]
    copy.write("cluster.yaml", read_example("09", *changes))
    shown = copy.run("plan", "cluster.yaml")
    assert "aws at us-east-9" in shown and "own-nfs" in shown
    assert "own-prices" in copy.run("catalog", "prices", "own-prices")


def add_kubernetes_parts(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/kubernetes/1.36.yaml", "1.99")
    for kind in ("kueue", "volcano", "control-planes", "device-stacks", "alerts", "metrics", "xids", "platform-ranges"):
        clone_entry(copy, kind, "9.9" if kind in ("kueue", "volcano") else "own")
    charts = "supercloud/targets/schedulers/kubernetes/charts.py"
    copy.clone(f"{DATA}/charts/cilium.yaml", "own-network")
    copy.line(charts, '    "cilium": _build_cilium_values,', '    "own-network": _build_cilium_values,')
    copy.write("cluster.yaml", read_example("08", ('"1.36"', '"1.99"')))
    copy.run("render", "cluster.yaml", "--target", "kubernetes", "--out", "out")
    assert "1.99" in copy.run("plan", "cluster.yaml")
    built = "from supercloud.targets.schedulers.kubernetes.charts import build_values\n"
    built += "import supercloud as sc\nfrom supercloud.catalog import Catalog\n"
    built += "from supercloud.catalog.kubernetes_parts import Chart\n"
    built += "plan = sc.resolve(sc.load('cluster.yaml'))\n"
    built += "print(build_values(plan, Catalog.load_default().get(Chart, 'own-network'))['k8sServicePort'])"
    assert copy.python(built) == "6443\n"


def add_system_folder(copy: PackageCopy) -> None:
    text = "name: own\ntitle: Own software\nsource: [own documentation]\nfolders: [/opt/own]\n"
    copy.add(f"{DATA}/system-folders/own.yaml", text)
    copy.write("cluster.yaml", read_example("08", ("mount: /scratch", "mount: /opt/own")))
    shown = copy.run("check", "cluster.yaml", status=2)
    assert "storage[0].mount: /opt/own belongs to the operating system, the scheduler or other software" in shown


def add_system_accounts(copy: PackageCopy) -> None:
    text = "name: own\ntitle: Own system\nsource: [own documentation]\nnames: [robot]\n"
    text += "ranges: [{first: 7000, last: 7999, purpose: robots}]\n"
    copy.add(f"{DATA}/system-accounts/own.yaml", text)
    users = read_example("09", ("name: ada", "name: robot"), ("uid: 2001", "uid: 7001"))
    copy.write("cluster.yaml", users)
    shown = copy.run("check", "cluster.yaml", status=2)
    assert "'robot' is an account or a group of machines (Own system)" in shown
    assert "the UID 7001 belongs to robots (7000-7999, Own system)" in shown


def add_storage_product(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/storage/nfs.yaml", "own-nfs", ("title: NFS server", "title: Own NFS"))
    changes = [
        ("kind: nfs", "kind: nfs\n    product: own-nfs"),
        ("catalog: catalog\n", f"catalog: {ROOT}/examples/07-storage/catalog\n"),
    ]
    copy.write("cluster.yaml", read_example("07", *changes))
    copy.run("render", "cluster.yaml", "--target", "storage", "--out", "out")
    assert (copy.work / "out/storage/home/exports").is_file()
    copy.write("cluster.yaml", read_example("07", *changes, ("product: own-nfs", "product: other-nfs")))
    assert "own-nfs" in copy.run("plan", "cluster.yaml", status=2)


def add_failure_rate(copy: PackageCopy) -> None:
    copy.clone(f"{DATA}/failure-rates/meta-rsc-1.yaml", "own-rate", ("per_node_day: 0.0065", "per_node_day: 0.9"))
    copy.write("cluster.yaml", read_example("01"))
    copy.write("job.yaml", "name: job\ncommand: [train]\nnodes: 8\naccelerators: {count: 64}\ntime_limit: 24 h\n")
    base = "clusters: [{spec: cluster.yaml}]\nname: fleet\n"
    copy.write("fleet.yaml", base + "policy: {failures: own-rate}\n")
    copy.run("place", "job.yaml", "--on", "fleet.yaml")
    copy.write("fleet.yaml", base + "policy: {failures: other-rate}\n")
    assert "own-rate" in copy.run("place", "job.yaml", "--on", "fleet.yaml", status=2)


def add_adapter_tool(copy: PackageCopy) -> None:
    changes = [("tool: mlnx_qos", "tool: own_qos"), ("vendor: NVIDIA", "vendor: Own")]
    changes += [("models: [ConnectX, BlueField]", "models: [Own]"), ("kinds: [vpi]\n", "")]
    copy.clone(f"{DATA}/adapter-qos/nvidia.yaml", "own", *changes, ("devices: [mlx5_]", "devices: [own_]"))
    copy.add("templates/roce/qos-own_qos.sh.j2", 'own_qos --dscp {{ policy.dscp }} "${devices[@]}"\n')
    tools = '    tool: Literal["mlnx_qos", "nicctl", "bnxt_setupcc"'
    copy.change("supercloud/catalog/adapter_qos.py", f"{tools}]", f'{tools}, "own_qos"]')
    copy.write("cluster.yaml", "catalog: overlay\n" + read_example("06", ("dgx-b300", "own-machine")))
    machine = (copy.root / DATA / "machines/dgx-b300.yaml").read_text()
    for old, new in (("name: dgx-b300", "name: own-machine"), ("ConnectX", "Own"), ("mlx5_", "own_")):
        machine = machine.replace(old, new)
    (copy.work / "overlay/machines").mkdir(parents=True)
    copy.write("overlay/machines/own-machine.yaml", machine)
    copy.run("render", "cluster.yaml", "--target", "roce", "--out", "out")
    assert "own_qos --dscp 26" in (copy.work / "out/roce/compute/nodes/train/roce-qos.sh").read_text()


PROOFS = {
    "accelerator, machine, switch, rack, location": add_products,
    "cable, transceiver, PDU, UPS, CDU, coolant, switch system …": add_parts,
    "Slurm release": add_slurm_release,
    "cloud region, instance prices, storage service": add_region,
    "Kubernetes, Kueue or Volcano release, control plane, chart, device stack, alert, metric set, XID catalog, "
    "ranges of a platform": add_kubernetes_parts,
    "tool that configures a vendor's network adapters": add_adapter_tool,
    "folder that is reserved for software on nodes": add_system_folder,
    "accounts and UIDs that a system reserves": add_system_accounts,
    "failure rate": add_failure_rate,
    "storage product of a known kind": add_storage_product,
}
