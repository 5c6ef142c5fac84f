"""Fixtures of this folder."""

from __future__ import annotations

import pytest
from plan.sized_storage import build_catalog
from storage_plans import EVERY, build_plan

from supercloud.catalog import Catalog
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return build_catalog(tmp_path_factory.mktemp("overlay"))


@pytest.fixture(scope="module")
def bundle(catalog: Catalog) -> Bundle:
    return render(build_plan(catalog, *EVERY), "storage")
