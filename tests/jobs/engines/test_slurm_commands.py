from __future__ import annotations

import json
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.errors import EngineError
from supercloud.jobs.engines.slurm import commands
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.script import render_script
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

SHELLCHECK = Path(sysconfig.get_path("scripts")) / "shellcheck"
Make = Callable[..., JobSpec]


def build_argv(job: JobSpec, plan: Plan) -> tuple[str, ...]:
    at = place(job, plan)
    assert isinstance(at, Placement)
    return commands.build_sbatch(job, at, "k", "/state/100%/log")


def test_a_training_job_has_all_options_of_sbatch(job: Make, plan: Plan) -> None:
    asked = job(
        accelerators={"type": "h100", "count": 64},
        time_limit="25 h",
        tenant="llm",
        priority="high",
        retries=2,
        workdir="/scratch",
        place={"near": "leaf"},
    )
    assert build_argv(asked, plan) == (
        "sbatch",
        "--parsable",
        "--job-name=job",
        "--comment=supercloud:k",
        "--nodes=8",
        "--ntasks-per-node=1",
        "--gpus-per-node=h100:8",
        "--exclusive",
        "--time=1-01:00:00",
        "--partition=batch",
        "--account=llm",
        "--qos=high",
        "--constraint=train",
        "--chdir=/scratch",
        "--switches=1@30-00:00:00",
        "--requeue",
        "--open-mode=append",
        "--output=/state/100%%/log",
    )


def test_options_that_are_not_requested_are_omitted(job: Make, plan: Plan) -> None:
    small = build_argv(job(accelerators={"type": "h100", "count": 2}), plan)
    for option in ("--exclusive", "--time", "--account", "--switches", "--nodelist", "--chdir", "--segment"):
        assert not any(item.startswith(option) for item in small)
    assert "--no-requeue" in small
    several = build_argv(job(accelerators={"type": "h100", "count": 16}), plan)
    assert "--switches=1@0-00:05:00" in several, "a preference does not wait for ever"


def test_pinned_nodes_are_a_node_list(job: Make, plan: Plan) -> None:
    pinned = job(accelerators={"type": "h100", "count": 16}, place={"nodes": ["train-[0001-0002]"]})
    assert "--nodelist=train-0001,train-0002" in build_argv(pinned, plan)


def test_accelerators_without_a_slurm_name_are_rejected(job: Make, tmp_path: Path) -> None:
    at = Placement("c", "p", 1, 8, 8, "cerebras-wse-3")
    with pytest.raises(EngineError, match="no Slurm name for cerebras-wse-3"):
        SlurmEngine(Connection(engine="slurm"), tmp_path).prepare(job(), at, "k")


TRICKS = ["$(touch x)", "`touch x`", "; touch x", "a'b\"c", "\n touch x\n", "&& touch x", "$HOME", "\\", "*", "-x"]
LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
NASTY = st.text(LETTERS, max_size=40) | st.sampled_from(TRICKS)
SHOW = """\
import sys, os, json
values = [os.environ[name] for name in sorted(os.environ) if name[0] == "V" and name[1:].isdigit()]
print(json.dumps([sys.argv[1:], values, os.environ["RANK"], os.environ["MASTER_ADDR"]]))
"""
STANDS_IN = """\
srun() { while [ "$1" != sh ]; do shift; done; SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1; "$@"; }
scontrol() { echo here; }
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1
"""


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(arguments=st.lists(NASTY, max_size=4), values=st.lists(NASTY, max_size=3))
def test_no_text_of_a_job_is_read_by_a_shell(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str], values: list[str]
) -> None:
    """The real script in a real bash; only srun and scontrol are stood in for."""
    folder = tmp_path_factory.mktemp("hacked")
    env = {f"V{n}": value for n, value in enumerate(values)}
    command = [sys.executable, "-c", SHOW, *arguments]
    job = JobSpec.model_validate({"name": "job", "command": command, "env": env})
    text = render_script(job, Placement("c", "p", 1, 0), "k", "/state")
    done = subprocess.run(
        ["bash", "-c", STANDS_IN + text],
        capture_output=True,
        cwd=folder,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "LC_ALL": "C.UTF-8"},
    )
    assert json.loads(done.stdout) == [arguments, values, "0", "here"]
    assert not list(folder.iterdir())


def test_a_script_of_the_user_is_submitted_unchanged(job: Make) -> None:
    at = Placement("c", "p", 2, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
    text = render_script(job(script="#!/bin/bash -e\necho $A\n", env={"A": "b c"}), at, "k", "/state")
    assert text.startswith("#!/bin/bash -e\n# job job, key k")
    assert "export A='b c'\n" in text and text.endswith("echo $A\n")
    assert render_script(job(script="true"), at, "k", "/state").startswith("#!/bin/bash\n")


def test_batch_scripts_pass_shellcheck(job: Make) -> None:
    at = Placement("c", "p", 2, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
    asked = job(["echo", "a b"], env={"A": "it's"}, checkpoint={"path": "/s", "every": "20 min"})
    text = render_script(asked, at, "k", "/state")
    assert "export SUPERCLOUD_CHECKPOINT_SECONDS=1200" in text
    task = shlex.split(text[text.index("srun") :])
    for shell, part in (("bash", text), ("sh", task[task.index("-c") + 1])):
        # text in single quotes is for the step, and is checked separately
        command = [SHELLCHECK, "-s", shell, "-e", "SC2016", "-"]
        done = subprocess.run(command, input=part, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout
