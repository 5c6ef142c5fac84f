"""IBM Storage Scale: node descriptors, stanzas of pools and disks, the commands that create cluster and file system.

Stanzas: IBM's install role (StanzaFile.j2) and the page of mmcrnsd; descriptors: the page of mmcrcluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...plan.build.fabric.ipoib import list_ipoib_devices
from ...plan.build.fabric.switch_manager import count_subnets
from ...plan.build.storage.client_names import format_client_suffix
from ...plan.build.storage.interfaces import find_store_fabric
from ...plan.model.plan import PoolPlan, ServerGroup
from ...plan.model.storage import ScaleDesign
from ...primitives.bundle import File
from .store import StorageSystem, format_header

__all__ = ["render_files"]


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the files of one cluster with its file system."""
    design = storage.storage_plan.design if isinstance(storage.storage_plan.design, ScaleDesign) else None
    servers = storage.get_server_group("nsd")
    found: dict[str, File | str] = {
        "clients.sh": storage.render_template(
            "scale-clients.sh.j2",
            executable=True,
            servers=servers,
            rdma={
                pool.name: _format_rdma_settings(storage, _list_client_devices(storage, pool))
                for pool in storage.clients
            },
            pools=storage.clients,
            suffix=format_client_suffix(storage.plan, storage.index),
        ),
    }
    if design:
        found["nodes.txt"] = "\n".join(_iter_node_descriptors(storage, design)) + "\n"
        found["disks.stanza"] = "\n".join(_iter_stanzas(storage, design)) + "\n"
        found["create.sh"] = storage.render_template(
            "scale-create.sh.j2",
            executable=True,
            design=design,
            servers=servers,
            rdma=_format_rdma_settings(storage, _list_server_devices(storage, servers)),
        )
    return found


def _format_rdma_settings(storage: StorageSystem, devices: Sequence[str]) -> str:
    """Return RDMA settings for InfiniBand and RoCE, which requires the RDMA connection manager; empty without devices.

    Without ``verbsPorts`` RDMA does not start, and data uses TCP (IBM, mmchconfig, verbsPorts: device/port/fabric).
    Ports of separate subnets have different numbers of a fabric: only those of one number connect to each other.
    """
    fabric = find_store_fabric(storage.plan, storage.index)
    if fabric is None or storage.fabric_kind == "ethernet" or not devices:
        return ""
    subnets = count_subnets(fabric) if fabric.kind == "infiniband" else 1
    ports = [f"{name}/1" + (f"/{number % subnets}" if subnets > 1 else "") for number, name in enumerate(devices)]
    manager = ",verbsRdmaCm=enable" if storage.fabric_kind == "roce" else ""
    return f"verbsRdma=enable,verbsRdmaSend=yes{manager},verbsPorts={' '.join(ports)}"


def _list_client_devices(storage: StorageSystem, pool: PoolPlan) -> Sequence[str]:
    """RDMA devices of a pool's nodes on the network of the storage, empty if unknown or without links there."""
    fabric = find_store_fabric(storage.plan, storage.index)
    if fabric is None or pool.name not in fabric.pools:
        return ()
    links = fabric.rails * fabric.planes
    devices = list_ipoib_devices(storage.plan, fabric, pool.name)[:links]
    return devices if len(devices) == links else ()


def _list_server_devices(storage: StorageSystem, servers: ServerGroup) -> Sequence[str]:
    """RDMA devices of a server on the network of the storage, empty if unknown."""
    fabric = find_store_fabric(storage.plan, storage.index)
    service = next((item for item in fabric.services if item.name == servers.name), None) if fabric else None
    if service is None:
        return ()
    links = service.links // service.count
    return service.devices[:links] if len(service.devices) >= links else ()


def _iter_node_descriptors(storage: StorageSystem, design: ScaleDesign) -> Iterator[str]:
    for index in range(storage.get_server_group("nsd").count):
        yield f"{storage.format_host('nsd', index)}:{'quorum-manager' if index < design.quorum else 'nonquorum-client'}"


def _iter_stanzas(storage: StorageSystem, design: ScaleDesign) -> Iterator[str]:
    """Yield stanzas: metadata on the first drive of each server, data on the others; a server is a failure group."""
    block = f"{design.block.ceil('MiB')}M"
    yield f"# {format_header(storage.plan.name)}"
    if design.metadata_drives:
        yield "%pool: pool=system blockSize=1M layoutMap=cluster"
        yield f"%pool: pool=data blockSize={block} layoutMap=cluster"
    else:
        yield f"%pool: pool=system blockSize={block} layoutMap=cluster"
    for server in range(storage.get_server_group("nsd").count):
        host = storage.format_host("nsd", server)
        for drive in range(design.drives):
            meta = drive < design.metadata_drives
            usage = "metadataOnly" if meta else "dataOnly" if design.metadata_drives else "dataAndMetadata"
            pool = "data" if usage == "dataOnly" else "system"
            yield (
                f"%nsd: device=/dev/nvme{drive}n1 "
                f"nsd=nsd_{storage.storage_plan.name.replace('-', '_')}_{server + 1}_{drive} "
                f"servers={host} usage={usage} failureGroup={server + 1} pool={pool}"
            )
