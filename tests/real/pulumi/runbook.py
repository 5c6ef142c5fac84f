"""Recovery after the command line was killed while it created something.

1. If the state is in files and ``pulumi`` reports ``failed to load checkpoint: EOF``, it was killed between two writes:
   the state is complete, but the file beside it (``<stack>.json.attrs``) is empty. Delete empty files of this kind.
2. List the pending operations: ``pulumi stack export``. A preview does not show them, and another update would create
   each of these objects a second time.
3. ``pulumi cancel --yes`` removes the lock of the killed process.
4. For each pending ``creating``, find the object in the cloud, by name or tag. If it exists, import it with the name,
   parent and provider of the resource; otherwise there is nothing to do.
5. ``pulumi refresh --clear-pending-creates --yes`` removes the pending operations: an import keeps them.
6. ``pulumi up`` continues: imported objects are unchanged, missing objects are created.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine import Engine

FindOrphan = Callable[[str, str], str | None]
"""(type, URN) -> the ID of the object in the cloud, if it exists."""


def delete_empty_notes(state: Path) -> list[Path]:
    """Step 1; return the deleted files."""
    empty = [note for note in state.rglob("*.attrs") if not note.stat().st_size]
    for note in empty:
        note.unlink()
    return empty


def recover(engine: Engine, find: FindOrphan) -> list[str]:
    """Steps 2 to 5; return the URNs of the imported objects."""
    engine.run("cancel", "--yes")
    state = engine.read_state()
    pending = [item["resource"] for item in state.get("pending_operations", []) if item["type"] == "creating"]
    orphans = {item["urn"]: (item, found) for item in pending if (found := find(item["type"], item["urn"]))}
    if orphans:
        file = engine.folder / "import.json"
        file.write_text(json.dumps(_import_file(orphans)))
        engine.run("import", f"--file={file}", "--generate-code=false", "--protect=false", "--yes", "--skip-preview")
    engine.run("refresh", "--clear-pending-creates", "--yes")
    return list(orphans)


def _import_file(orphans: Mapping[str, tuple[Mapping[str, Any], str]]) -> dict[str, Any]:
    """The input of ``pulumi import``: each object with its name, parent and provider."""
    names: dict[str, str] = {}
    resources = []
    for urn, (item, identifier) in orphans.items():
        described = {"type": item["type"], "name": urn.rsplit("::", 1)[1], "id": identifier}
        for role, reference in (("parent", item.get("parent")), ("provider", item.get("provider"))):
            if reference:  # the reference to a provider is its URN and ID
                target = reference.rsplit("::", 1)[0] if role == "provider" else reference
                described[role] = f"{role}-{len(names)}"
                names[described[role]] = target
        resources.append(described)
    return {"nameTable": names, "resources": resources}
