"""IBM Storage Scale: node descriptors, stanzas of pools and disks, the commands that make cluster and file system.

Stanzas: IBM's install role (StanzaFile.j2) and the page of mmcrnsd; descriptors: the page of mmcrcluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...plan.build.storage.client_names import client_suffix
from ...plan.model.storage import ScaleDesign
from ...primitives.bundle import File
from .store import Store, head

__all__ = ["files"]


def files(store: Store) -> dict[str, File | str]:
    """What one cluster with its file system is made of."""
    design = store.item.design if isinstance(store.item.design, ScaleDesign) else None
    servers, rdma = store.group("nsd"), _rdma(store)
    found: dict[str, File | str] = {
        "clients.sh": store.fill(
            "scale-clients.sh.j2",
            executable=True,
            servers=servers,
            rdma=rdma,
            pools=store.clients,
            suffix=client_suffix(store.plan, store.index),
        ),
    }
    if design:
        found["nodes.txt"] = "\n".join(_nodes(store, design)) + "\n"
        found["disks.stanza"] = "\n".join(_stanzas(store, design)) + "\n"
        found["create.sh"] = store.fill(
            "scale-create.sh.j2", executable=True, design=design, servers=servers, rdma=rdma
        )
    return found


def _rdma(store: Store) -> str:
    """Settings of RDMA: on InfiniBand and RoCE, which needs its connections made by the RDMA connection manager."""
    if not store.item.fabric or store.kind == "ethernet":
        return ""
    return ",verbsRdma=enable,verbsRdmaSend=yes" + (",verbsRdmaCm=enable" if store.kind == "roce" else "")


def _nodes(store: Store, design: ScaleDesign) -> Iterator[str]:
    for index in range(store.group("nsd").count):
        yield f"{store.host('nsd', index)}:{'quorum-manager' if index < design.quorum else 'nonquorum-client'}"


def _stanzas(store: Store, design: ScaleDesign) -> Iterator[str]:
    """Metadata on the first drive of each server, data on the others; a server is a failure group."""
    block = f"{design.block.ceil('MiB')}M"
    yield f"# {head(store.plan.name)}"
    if design.metadata_drives:
        yield "%pool: pool=system blockSize=1M layoutMap=cluster"
        yield f"%pool: pool=data blockSize={block} layoutMap=cluster"
    else:
        yield f"%pool: pool=system blockSize={block} layoutMap=cluster"
    for server in range(store.group("nsd").count):
        host = store.host("nsd", server)
        for drive in range(design.drives):
            meta = drive < design.metadata_drives
            usage = "metadataOnly" if meta else "dataOnly" if design.metadata_drives else "dataAndMetadata"
            pool = "data" if usage == "dataOnly" else "system"
            yield (
                f"%nsd: device=/dev/nvme{drive}n1 nsd=nsd_{store.item.name.replace('-', '_')}_{server + 1}_{drive} "
                f"servers={host} usage={usage} failureGroup={server + 1} pool={pool}"
            )
