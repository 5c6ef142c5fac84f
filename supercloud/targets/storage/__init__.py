"""Plan -> what storage servers and their clients are configured by: a folder for each file system or object store.

One module a product; each is a function from a ``Store`` to files. To add a product: a module, a line in ``_PRODUCTS``.
Only what has servers in the plan is rendered: without machines there is nothing to configure.
"""

from __future__ import annotations

from collections.abc import Callable

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle, File
from ...primitives.templates import fill
from . import lustre, nfs, object_store, scale, weka
from .store import Store, head

__all__ = ["render"]

_PRODUCTS: dict[str, Callable[[Store], dict[str, File | str]]] = {
    "lustre": lustre.files,
    "weka": weka.files,
    "storage-scale": scale.files,
    "nfs": nfs.files,
    "object": object_store.files,
}


def render(plan: Plan) -> Bundle:
    """The configuration of every store whose servers are known."""
    files: dict[str, File | str] = {}
    stores = [Store(plan, index) for index, item in enumerate(plan.storage) if item.servers]
    for store in stores:
        files |= {f"{store.item.name}/{name}": file for name, file in _PRODUCTS[store.item.kind](store).items()}
    files["INSTALL.md"] = fill("storage/INSTALL.md.j2", head=head(plan.name), stores=stores, plan=plan)
    return Bundle(files)
