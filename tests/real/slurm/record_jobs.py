"""Records the answers of a real Slurm to the commands of the job engine, for the hermetic tests.

    python tests/real/slurm/record_jobs.py          (root; both releases, four minutes)

Each recording begins with the command and ends with its exit code. Jobs are identified by their comments, which have
their names as keys.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[2])]

from answers import get_accounted_state, get_job, wait_job  # noqa: E402
from installed import Slurm, find_slurm  # noqa: E402
from jobs_lab import NODES, start_cluster_lab  # noqa: E402
from lab import Lab  # noqa: E402

from supercloud.jobs.engines.slurm import commands  # noqa: E402

CACHE = Path.home() / ".cache" / "supercloud"
TARGET = HERE.parents[1] / "jobs" / "recordings"
OVERLAY = ("PreemptExemptTime=00:00:00",)
HOLD = "sleep 900"
# name -> options and script; jobs start in this order, each of the first four on a separate node
FIRST: dict[str, tuple[tuple[str, ...], str]] = {
    "ok": (("--nodes=2", "--exclusive"), "true"),
    "bad": (("--nodes=1",), "exit 3"),
    "memory": (("--nodes=1", "--mem=64M"), "head -c 900m /dev/zero | tail -c 900m >/dev/null"),
    "array": (("--array=0-3",), "[ $SLURM_ARRAY_TASK_ID != 2 ] || exit 5"),
}
FULL = ("--nodes=1", "--exclusive", "--gpus-per-node=h100:8")
SECOND: dict[str, tuple[tuple[str, ...], str]] = {
    "lost": ((*FULL, "--requeue", "--nodelist=train-0001"), HOLD),
    "lost-for-good": ((*FULL, "--no-requeue", "--nodelist=train-0002"), HOLD),
    "long": ((*FULL, "--time=1", "--nodelist=train-0003"), HOLD),
    "cancelled": ((*FULL, "--nodelist=train-0004"), HOLD),
    "waits": (("--nodes=4", "--exclusive"), "true"),
    "held": (("--nodes=1", "--hold"), "true"),
    "later": (("--nodes=1", "--begin=now+3600seconds"), "true"),
    "licensed": (("--nodes=1", "--licenses=solver:2", "--gpus-per-node=h100:8", "--exclusive"), HOLD),
    "capped": (("--array=0-3%1", "--nodes=4", "--exclusive"), "true"),
}
REFUSED = (
    ("--account=nobody",),
    ("--qos=nothing",),
    ("--partition=nowhere",),
    ("--nodes=5",),
    ("--time=100-0",),
    ("--gpus-per-node=h100:9",),
    ("--licenses=nothing:1",),
)

ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL")


class Recorder:
    """Runs commands as user lab, and writes their output to files."""

    def __init__(self, lab: Lab, release: str):
        self.lab, self.release = lab, release
        self.refs: dict[str, str] = {}

    def submit(self, jobs: dict[str, tuple[tuple[str, ...], str]]) -> None:
        for name, (options, script) in jobs.items():
            words = [
                "sbatch",
                "--parsable",
                f"--job-name={name}",
                f"--comment={commands.COMMENT_PREFIX}{name}",
                "--output=/dev/null",
                *options,
                "--wrap",
                script,
            ]
            self.refs[name] = self.lab.run(words, user="lab").stdout.strip()

    def wait_ended(self, *names: str) -> None:
        for name in names:
            self.lab.wait_for(
                f"{name} has ended",
                lambda ref=self.refs[name]: get_accounted_state(self.lab, ref).split(" ")[0] in ENDED,
                timeout=150,
                interval=0.5,
            )

    def record(self, name: str, argv: Sequence[str]) -> None:
        done = self.lab.run(list(argv), user="lab", check=False)
        text = f"$ {shlex.join(argv)}\n{done.stdout}{done.stderr}# rc={done.returncode}\n"
        (TARGET / f"{name}-{self.release}.txt").write_text(text)


def record(slurm: Slurm) -> None:
    """Write all recordings of one release."""
    release = ".".join(f"{part:02d}" for part in slurm.release)
    with tempfile.TemporaryDirectory() as folder, start_cluster_lab(slurm, Path(folder), overlay=OVERLAY) as lab:
        lab.start()
        lab.wait_nodes(NODES, 4)
        recorder = Recorder(lab, release)
        recorder.submit(FIRST)
        recorder.wait_ended("ok", "bad", "memory")
        lab.wait_nodes(NODES, 4)
        recorder.submit(SECOND)
        for name in ("lost", "lost-for-good", "long", "cancelled"):
            wait_job(lab, recorder.refs[name], "RUNNING")
        recorder.submit({"after": ((f"--dependency=afterok:{recorder.refs['lost']}",), "true")})
        wait_job(lab, recorder.refs["waits"], "PENDING", reason="Resources")
        recorder.record("queue", commands.build_squeue())
        recorder.record("found", commands.build_sacct_history(3600))
        lab.run(["scancel", recorder.refs["cancelled"]])
        for node in ("train-0001", "train-0002"):
            lab.kill_node(node)
        lab.wait_for("a node is lost", lambda: get_job(lab, recorder.refs["lost"])["Restarts"] == "1")
        recorder.record("queue-lost", commands.build_squeue())
        recorder.wait_ended("long", "cancelled", "lost-for-good")
        recorder.record("accounts", commands.build_sacct(list(recorder.refs.values())))
        for number, options in enumerate(REFUSED):
            recorder.record(f"refused-{number + 1}", ["sbatch", *options, "--wrap", "true"])


def main() -> None:
    """Record both releases."""
    for old in (*TARGET.glob("queue*.txt"), *TARGET.glob("accounts*.txt"), *TARGET.glob("refused*.txt")):
        old.unlink()
    for rootfs in (Path("/"), CACHE / "slurm-sid"):
        record(find_slurm(rootfs))


if __name__ == "__main__":
    main()
