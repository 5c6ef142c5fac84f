"""The repository's own files that tests run on."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*/cluster.yaml"))
