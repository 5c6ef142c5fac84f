"""What to do when the command line was killed while it created something.

1. Where the state is in files and ``pulumi`` says ``failed to load checkpoint: EOF``, it died between two writes: the
   state is whole, but the note beside it (``<stack>.json.attrs``) is empty. Delete empty notes.
2. See the pending operations: ``pulumi stack export``. A preview shows nothing of them, and another update would create
   each of those objects a second time.
3. ``pulumi cancel --yes`` takes the dead process's lock away.
4. For each pending ``creating``, find the object at the cloud, by name or tag. Where there is one, import it under the
   resource's own name, parent and provider; where there is none, there is nothing to do.
5. ``pulumi refresh --clear-pending-creates --yes`` forgets the pending operations: an import leaves them.
6. ``pulumi up`` goes on: what was imported is unchanged, what was not created is created.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine import Engine

FindOrphan = Callable[[str, str], str | None]
"""(type, URN) -> the object's id at the cloud, if it exists."""


def delete_empty_notes(state: Path) -> list[Path]:
    """Step 1; the notes that were deleted."""
    empty = [note for note in state.rglob("*.attrs") if not note.stat().st_size]
    for note in empty:
        note.unlink()
    return empty


def recover(engine: Engine, find: FindOrphan) -> list[str]:
    """Steps 2 to 5; the URNs of what was imported."""
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
    """What ``pulumi import`` reads: each object with its own name, parent and provider."""
    names: dict[str, str] = {}
    resources = []
    for urn, (item, identifier) in orphans.items():
        described = {"type": item["type"], "name": urn.rsplit("::", 1)[1], "id": identifier}
        for role, reference in (("parent", item.get("parent")), ("provider", item.get("provider"))):
            if reference:  # a provider is referred to by its URN and id
                target = reference.rsplit("::", 1)[0] if role == "provider" else reference
                described[role] = f"{role}-{len(names)}"
                names[described[role]] = target
        resources.append(described)
    return {"nameTable": names, "resources": resources}
