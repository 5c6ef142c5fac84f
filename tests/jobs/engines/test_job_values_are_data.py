"""A text of a job stays a text: what the engines write is run by a real shell, where a text that became code would
leave a file behind, and the job's program prints the arguments that it got.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.kubernetes_jobs import PLAN
from test_values_are_data import iter_texts, list_fields, plant_text, takes

from supercloud.jobs.engines.batch.runner import SshRunner
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.system import SLURM
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.plan.resolve import resolve
from supercloud.spec import FleetSpec, JobSpec
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import loads

CODE = "$(touch ran1)`touch ran2`';touch ran3;'\";touch ran4;\" | touch ran5 & touch ran6"
CANARIES = (f"x{CODE}\ntouch ran7\n", f"x{CODE}", f"/{CODE}".replace("touch ", "touch${IFS}"), "$(touch ran8)", "-x")
"""The first that a field's pattern takes is planted in it."""
SRUN = '#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n'
"""Runs the program that follows the options of srun, as the one task of a job."""
AT = Placement("c", "train", 1, 8, 8, "h100", request=SlurmRequest("h100", "batch"))
KEY = "key"


def find_canary(about: Any) -> str | None:
    return next((value for value in CANARIES if takes(about, value)), None)


def make_job(sandbox: Path, **more: Any) -> JobSpec:
    """A job with a canary in every text that takes one; its program prints its arguments and a variable."""
    data: dict[str, Any] = {
        "name": "job",
        "command": ["printf", "%s\\0", *CANARIES],
        "env": {"PLANTED": "x"},
        "secrets": [{"env": "SECRET", "name": "x"}],
        "checkpoint": {"path": "/x"},
        "workdir": "/x",
        "place": {"nodes": [], "regions": ["x"], "data": []},
        "accelerators": {"type": ["x"], "count": 8},
    } | more
    schema = JobSpec.model_json_schema()
    done = []
    for where, about in iter_texts(schema, schema["$defs"]):
        value = find_canary(about)
        if where == ("image",) and "image" not in more:
            continue
        if value and where[0] not in ("command", "script", "workdir", "after") and plant_text(data, where, value):
            done.append(where)
    assert {("env", "*"), ("secrets", "[]", "name")} <= set(done), done
    folder = sandbox / "work"
    folder.mkdir()
    return JobSpec.model_validate(data | {"workdir": str(folder)})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in a folder, with programs of Slurm that only pass on; nothing of a job may have run as code."""
    programs, home = tmp_path / "bin", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    for name, text in {"srun": SRUN, "scontrol": "#!/bin/sh\necho n1\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)

    def run(argv: list[str], stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        slurm = dict.fromkeys(("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"), "0")
        slurm |= {"SLURM_NTASKS": "1", "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n1"}
        given = slurm | {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home)} | env
        done = subprocess.run(argv, input=stdin, cwd=home, env=given, capture_output=True, text=True, timeout=60)
        assert not [str(path) for path in tmp_path.rglob("ran*")], "a text of the job was run"
        return done

    return run


Run = Callable[..., subprocess.CompletedProcess[str]]


def is_valid_shell(text: str) -> bool:
    return subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True).returncode == 0


def test_a_canary_that_is_not_quoted_is_detected(run: Run) -> None:
    with pytest.raises(AssertionError, match="was run"):
        run(["bash", "-c", f"echo {CANARIES[3]}"])


RETRIED = {"retries": 1, "retry_rules": [{"exit_codes": [3], "action": "retry"}]}


@pytest.mark.parametrize(
    "more", [{}, RETRIED, {"array": 2}, {"image": "x"}], ids=["plain", "retried", "array", "image"]
)
def test_the_batch_script_of_slurm_quotes_all_values(more: dict[str, Any], run: Run, tmp_path: Path) -> None:
    job = make_job(tmp_path, **more)
    engine = SlurmEngine(Connection(engine="slurm"), tmp_path / "state")
    submission = engine.prepare(job, AT, KEY)
    assert is_valid_shell(submission.stdin)
    secrets = tmp_path / "secrets"
    (secrets / job.secrets[0].name.strip("/")).parent.mkdir(parents=True, exist_ok=True)
    (secrets / job.secrets[0].name).write_text("hidden")
    (secrets / job.secrets[0].name).chmod(0o600)
    done = run(["bash", "-s"], submission.stdin, SUPERCLOUD_SECRETS=str(secrets), SLURM_ARRAY_TASK_ID="1")
    if "image" not in more:  # no container runtime is installed, which the script reports
        assert done.stdout.split("\0")[:-1] == list(CANARIES), done.stderr
    else:
        assert done.returncode == 78, done.stderr
    assert all("\n" not in word for word in submission.argv), "sbatch gets each option in one line"


def test_commands_over_ssh_quote_all_values(run: Run, tmp_path: Path) -> None:
    """The remote shell reads one word, from which it gets exactly the words that were meant."""
    engine = SlurmEngine(Connection(engine="slurm", via="ssh:login"), tmp_path / "state")
    submission = engine.prepare(make_job(tmp_path), AT, KEY)
    words = SshRunner("login", tmp_path, SLURM).build_argv(["printf", "%s\\0", *submission.argv, *CANARIES])
    assert words[-2] == "login" and words[-3] == "--"
    done = run(["bash", "-c", words[-1]])
    assert done.stdout.split("\0")[:-1] == [*submission.argv, *CANARIES]


@pytest.mark.slow
def test_pods_of_kubernetes_quote_all_values(run: Run, tmp_path: Path) -> None:
    plan = resolve(loads(PLAN))
    job = make_job(tmp_path, image="x", tenant="llm")
    small = {"name": "job", "command": ["x"], "accelerators": {"type": "h100", "count": 8}, "tenant": "llm"}
    small |= {"image": "registry.example.com/x:1"}
    at = place(JobSpec.model_validate(small), plan)
    assert isinstance(at, Placement), at
    body = json.loads(KubernetesEngine(Connection(engine="kubernetes"), tmp_path).prepare(job, at, KEY).stdin)
    container = body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    for text in [*container["command"], *(item.get("value", "") for item in container["env"])]:
        assert "$(touch" not in text.replace("$$", ""), "the kubelet would expand it"
    env = {item["name"]: item["value"].replace("$$", "$") for item in container["env"] if "value" in item}
    env |= {"NODE_RANK": "0", "SUPERCLOUD_RESTART": "0", "SUPERCLOUD_COMMIT": str(tmp_path / "commit")}
    done = run([word.replace("$$", "$") for word in container["command"]], **env)
    assert done.stdout.split("\0")[:-1] == list(CANARIES), done.stderr


def test_the_local_engine_quotes_all_values(run: Run, tmp_path: Path) -> None:
    from supercloud.jobs.engines import local

    job = make_job(tmp_path, secrets=[{"env": "SECRET", "name": "x"}])
    submission = LocalEngine(Connection(engine="local"), tmp_path / "state").prepare(job, AT, KEY)
    folder, log = tmp_path / "task", tmp_path / "log"
    folder.mkdir()
    script = str(Path(local.__file__).with_name("run.sh"))
    done = run(
        ["sh", script, str(folder), str(log), str(submission.settings["workdir"]), "1", *submission.argv],
        **{name: value for name, value in submission.env.items() if name not in ("PATH", "HOME")},
    )
    assert done.returncode == 0 and log.read_bytes().decode().split("\0")[:-1] == list(CANARIES)


@pytest.mark.slow
def test_no_text_of_a_fleet_is_read_as_an_option(tmp_path: Path) -> None:
    """The connection is the only value of a fleet in a command: its host follows ``--`` as a separate argument."""
    for host in ("-oProxyCommand=id", "a b", "a;id", "$(id)", "a\nb"):
        with pytest.raises(ValueError):
            engine = SlurmEngine(Connection(engine="slurm", via=f"ssh:{host}"), tmp_path)
            engine.require_reachable()
    planted_texts = {value for place, value in list_fields(FleetSpec) if place[-1] == "via"}
    assert all(value.startswith("https://") for value in planted_texts), "an address is opened, and no shell reads it"
    plan, context = resolve(loads(PLAN)), CANARIES[1]
    job = JobSpec(name="job", command=("x",), image="x", tenant="llm")
    at = place(job, plan)
    assert isinstance(at, Placement), at
    submission = KubernetesEngine(Connection(engine="kubernetes", context=context), tmp_path).prepare(job, at, KEY)
    assert f"--context={context}" in submission.argv
