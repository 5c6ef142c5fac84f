"""IBM Storage Scale: node descriptors, stanzas of pools and disks, the commands that create cluster and file system.

Stanzas: IBM's install role (StanzaFile.j2) and the page of mmcrnsd; descriptors: the page of mmcrcluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...plan.build.storage.client_names import format_client_suffix
from ...plan.model.storage import ScaleDesign
from ...primitives.bundle import File
from .store import StorageSystem, format_header

__all__ = ["render_files"]


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the files of one cluster with its file system."""
    design = storage.storage_plan.design if isinstance(storage.storage_plan.design, ScaleDesign) else None
    servers, rdma = storage.get_server_group("nsd"), _format_rdma_settings(storage)
    found: dict[str, File | str] = {
        "clients.sh": storage.render_template(
            "scale-clients.sh.j2",
            executable=True,
            servers=servers,
            rdma=rdma,
            pools=storage.clients,
            suffix=format_client_suffix(storage.plan, storage.index),
        ),
    }
    if design:
        found["nodes.txt"] = "\n".join(_iter_node_descriptors(storage, design)) + "\n"
        found["disks.stanza"] = "\n".join(_iter_stanzas(storage, design)) + "\n"
        found["create.sh"] = storage.render_template(
            "scale-create.sh.j2", executable=True, design=design, servers=servers, rdma=rdma
        )
    return found


def _format_rdma_settings(storage: StorageSystem) -> str:
    """Return RDMA settings for InfiniBand and RoCE, which requires the RDMA connection manager."""
    if not storage.storage_plan.fabric or storage.fabric_kind == "ethernet":
        return ""
    return ",verbsRdma=enable,verbsRdmaSend=yes" + (",verbsRdmaCm=enable" if storage.fabric_kind == "roce" else "")


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
