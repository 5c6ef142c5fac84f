"""Plan -> the configuration of storage servers and their clients: a folder for each file system or object store.

One module per product; each is a function from a ``StorageSystem`` to files. To add a product: a module, a line in
``_RENDERERS``. Only storage with servers in the plan is rendered.
"""

from __future__ import annotations

from collections.abc import Callable

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle, File
from ...primitives.templates import render_template
from . import lustre, nfs, object_store, scale, weka
from .store import StorageSystem, format_header

__all__ = ["render"]

_RENDERERS: dict[str, Callable[[StorageSystem], dict[str, File | str]]] = {
    "lustre": lustre.render_files,
    "weka": weka.render_files,
    "storage-scale": scale.render_files,
    "nfs": nfs.render_files,
    "object": object_store.render_files,
}


def render(plan: Plan) -> Bundle:
    """Render the configuration of every storage with known servers."""
    files: dict[str, File | str] = {}
    stores = [StorageSystem(plan, index) for index, item in enumerate(plan.storage) if item.servers]
    for store in stores:
        files |= {
            f"{store.storage_plan.name}/{name}": file
            for name, file in _RENDERERS[store.storage_plan.kind](store).items()
        }
    files["INSTALL.md"] = render_template(
        "storage/INSTALL.md.j2", head=format_header(plan.name), stores=stores, plan=plan
    )
    return Bundle(files)
