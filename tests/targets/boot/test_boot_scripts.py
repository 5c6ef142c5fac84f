"""Programs of the spec that machines run when they start: with a digest, once, before and after the other steps."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from boot_machines import BootMachine

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec

PROGRAM = '#!/bin/bash\necho "script $SUPERCLOUD_ROLE $SUPERCLOUD_POOL" >>"$SAID"\necho "licensed"\n'
DIGEST = hashlib.sha256(PROGRAM.encode()).hexdigest()


def build_script_plan(**changes: Any) -> Plan:
    script = {"source": "s3://state/license.sh", "sha256": DIGEST} | changes
    found = resolve(
        ClusterSpec.model_validate(
            {
                "name": "trainer",
                "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"], "scripts": [script]},
                "scheduler": {"kind": "slurm", "version": "25.11"},
                "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}],
            }
        )
    )
    assert not found.errors, found.errors
    return found


def build_machine(folder: Path, text: str = PROGRAM, **changes: Any) -> BootMachine:
    machine = BootMachine(folder, "train-on-demand", build_script_plan(**changes))
    (machine.cloud / "bucket/license.sh").write_text(text)
    return machine


def test_a_program_runs_once_with_what_the_machine_is(tmp_path: Path) -> None:
    machine = build_machine(tmp_path)
    done = machine.steps("before", "after", "after")
    assert done.returncode == 0, done.stdout + done.stderr
    assert machine.calls("script") == ["compute train"]
    assert "after: licensed" in done.stdout and "after: already run: s3://state/license.sh" in done.stdout


@pytest.mark.parametrize("when, machines, ran", [("before", [], 1), ("after", ["login"], 0), ("before", ["node"], 1)])
def test_a_program_runs_on_its_machines_at_its_time(tmp_path: Path, when: str, machines: list[str], ran: int) -> None:
    machine = build_machine(tmp_path, when=when, machines=machines)
    assert machine.steps(when).returncode == 0
    assert len(machine.calls("script")) == ran


def test_a_program_with_another_digest_is_not_run(tmp_path: Path) -> None:
    machine = build_machine(tmp_path, PROGRAM + "echo more\n")
    done = machine.steps("after")
    assert done.returncode == 1 and not machine.calls("script")
    assert "s3://state/license.sh was not run: its SHA-256 digest is" in done.stderr and DIGEST in done.stderr


def test_a_program_that_fails_ends_the_start_with_its_last_line(tmp_path: Path) -> None:
    text = "#!/bin/bash\necho 'no license left'\nexit 3\n"
    machine = build_machine(tmp_path, text, sha256=hashlib.sha256(text.encode()).hexdigest())
    done = machine.steps("after")
    assert done.returncode == 1 and "FAILED after: s3://state/license.sh exited with 3: no license left" in done.stderr
