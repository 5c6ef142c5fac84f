"""The contracts of import-linter in ``pyproject.toml`` report forbidden imports, also of new modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from extensions.package_copy import PackageCopy

pytestmark = pytest.mark.slow

# module -> what it may not import; a module that does not exist is new
FORBIDDEN = (
    # a step and the list of steps; placement and what is above it
    ("jobs.placement.steps.mounts", "jobs.placement.candidate"),
    ("jobs.placement.steps.mounts", "jobs.placement.suggestions"),
    ("jobs.placement.memory", "jobs.forgetting"),
    ("jobs.placement.memory", "jobs.fencing"),
    # targets
    ("targets.site.dialects.nvue", "targets.site.dialects.sonic"),
    ("targets.clouds.aws.dns", "targets.clouds.component"),
    ("targets.users", "targets.installation"),
    ("targets.header", "targets.users"),
    ("targets.schedulers.slurm.nccl", "targets.schedulers.kubernetes"),
    ("targets.storage.nfs", "targets.storage.weka"),
    # what is built of a plan
    ("plan.build.users", "plan.build.pipeline"),
    ("plan.build.slurm_options", "plan.build.kubernetes"),
    # engines
    ("jobs.engines.fake", "jobs.engines.local"),
    ("jobs.engines.batch.spool", "jobs.engines.slurm"),
    # new modules
    ("targets.inventory", "targets.clouds.component"),
    ("targets.inventory", "targets.report.page"),
    ("targets.inventory", "jobs.api"),
    ("targets.site.dialects.junos", "targets.site.dialects.nvue"),
    ("targets.site.meters", "targets.site.racks"),
    ("targets.clouds.azure", "targets.clouds.aws.network"),
    ("targets.storage.ceph", "targets.storage.weka"),
    ("targets.schedulers.pbs", "targets.schedulers.slurm"),
    ("jobs.engines.pbs", "jobs.engines.slurm.listings"),
)
LAYERED = ("", "plan.", "plan.build.", "jobs.", "jobs.placement.")
"""Packages whose modules are all in a layer."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is reported of a copy of the package with all these imports, in functions, and with modules in no layer."""
    copy = PackageCopy(tmp_path_factory.mktemp("contracts"))
    for at, (module, other) in enumerate(FORBIDDEN):
        path = copy.root / "supercloud" / Path(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        with path.open("a") as file:
            file.write(f"\n\ndef forbidden_{at}():\n    import supercloud.{other}\n")
    for package in LAYERED:
        copy.add(f"supercloud/{package.replace('.', '/')}unlayered.py", "")
    return copy.list_broken_contracts()


@pytest.mark.parametrize("module, other", FORBIDDEN, ids=lambda name: name)
def test_a_forbidden_import_is_reported(report: str, module: str, other: str) -> None:
    assert f"supercloud.{module} -> supercloud.{other} (l." in report


def test_a_module_in_no_layer_is_reported(report: str) -> None:
    assert not [package for package in LAYERED if f"supercloud.{package}unlayered" not in report]


def test_the_package_keeps_the_contracts(tmp_path: Path) -> None:
    assert not PackageCopy(tmp_path).list_broken_contracts()
