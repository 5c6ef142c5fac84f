"""Fixtures of this folder."""

from __future__ import annotations

import pytest
from plan.sized_storage import build_catalog

from supercloud.catalog import Catalog


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return build_catalog(tmp_path_factory.mktemp("overlay"))
