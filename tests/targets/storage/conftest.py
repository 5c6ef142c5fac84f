"""Fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.test_storage_sizing import SERVER
from storage_plans import EVERY, plan_of

from supercloud.catalog import Catalog
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("overlay")
    (folder / "machines").mkdir()
    (folder / "machines" / "flash-24.yaml").write_text(SERVER)
    bare = SERVER.replace("flash-24", "bare").replace("disks:", "# disks:")
    (folder / "machines" / "bare.yaml").write_text(bare)
    return Catalog([Path(folder)])


@pytest.fixture(scope="module")
def bundle(catalog: Catalog) -> Bundle:
    return render(plan_of(catalog, *EVERY), "storage")
