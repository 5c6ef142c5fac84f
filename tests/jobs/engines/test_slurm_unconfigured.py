"""Commands of Slurm without a configuration reach no controller: that is not a refusal, and no job is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import EngineConfigurationError, EngineError
from supercloud.jobs import api
from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.reasons import is_unconfigured
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

Make = Callable[..., JobSpec]

# sbatch of Slurm 22.05.8 without /etc/slurm/slurm.conf
NO_SOURCE = """\
sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host
sbatch: error: fetch_config: DNS SRV lookup failed
sbatch: error: _establish_config_source: failed to fetch config
sbatch: fatal: Could not establish a configuration source
"""
# the same with an empty file
INVALID = "sbatch: error: ClusterName needs to be specified\nsbatch: fatal: Unable to process configuration file\n"


def write_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("message", [NO_SOURCE, INVALID])
def test_an_unconfigured_sbatch_records_no_job(
    job: Make, plan: Plan, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    write_program(tmp_path / "bin", "sbatch", f"cat >&2 <<'END'\n{message}END\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(EngineConfigurationError, match="Slurm cannot be reached") as caught:
        api.submit(job(), plan, engine="slurm", store=store)
    assert "refused" not in str(caught.value) and "--via ssh:LOGIN_HOST" in str(caught.value)
    assert not api.list_jobs(store)


@pytest.mark.parametrize("answer", ["exit 127", f"cat >&2 <<'END'\n{NO_SOURCE}END\nexit 1", "echo no route; exit 255"])
def test_a_login_node_without_slurm_records_no_job(
    job: Make, plan: Plan, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    write_program(tmp_path / "bin", "ssh", answer)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(EngineError):
        api.submit(job(), plan, engine=Connection(engine="slurm", via="ssh:login"), store=store)
    assert not api.list_jobs(store)


class Unconfigured:
    """Loses its configuration after the check."""

    def run(self, argv: object, stdin: object = None) -> CommandResult:
        return CommandResult(1, "", NO_SOURCE)


def test_no_command_says_that_slurm_refused_or_failed(job: Make, plan: Plan, tmp_path: Path) -> None:
    engine = SlurmEngine(Connection(engine="slurm"), tmp_path, Unconfigured())
    placement = place(job(), plan)
    assert isinstance(placement, Placement)
    with pytest.raises(EngineConfigurationError, match="Slurm cannot be reached"):
        engine.submit(engine.prepare(job(), placement, "key"))
    with pytest.raises(EngineError, match="Slurm cannot be reached from here: Could not establish"):
        engine.poll(["1"])


def test_a_refusal_is_not_a_missing_configuration() -> None:
    assert not is_unconfigured("sbatch: error: Batch job submission failed: Invalid partition name specified")
