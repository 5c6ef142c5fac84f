"""Records the answers of a real slurmrestd to the requests of the engine, for the hermetic tests.

    python tests/real/slurm/record_rest.py 22.05    (root; a minute)

Only the name of each job and node and the fields that the engine reads are kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[2])]

from answers import wait_job  # noqa: E402
from installed import find_slurm  # noqa: E402
from jobs_lab import start_cluster_lab  # noqa: E402
from lab import Lab  # noqa: E402
from record_jobs import CACHE, FULL, HOLD, TARGET, Recorder  # noqa: E402
from rest_lab import URL, get_token, start_rest  # noqa: E402

from supercloud.jobs.engines.slurm import rest, shapes  # noqa: E402

FIRST: Mapping[str, tuple[tuple[str, ...], str]] = {
    "good": (("--nodes=2",), "true"),
    "bad": (("--nodes=1",), "exit 3"),
    "array": (("--array=0-2",), "exit $SLURM_ARRAY_TASK_ID"),
}
SECOND: Mapping[str, tuple[tuple[str, ...], str]] = {
    "runs": (FULL, HOLD),
    "waits": (("--nodes=4", "--exclusive"), "true"),
}


def main(release: str) -> None:
    """Record one release: 22.05 of Debian 12, otherwise the newest packaged one."""
    rootfs = Path("/") if release == "22.05" else CACHE / "slurm-sid"
    with tempfile.TemporaryDirectory() as folder, start_cluster_lab(find_slurm(rootfs), Path(folder)) as lab:
        start_rest(lab)
        token = get_token(lab)
        recorder = Recorder(lab, release)
        recorder.submit(dict(FIRST))
        recorder.wait_ended(*FIRST)
        recorder.submit(dict(SECOND))
        wait_job(lab, recorder.refs["runs"], "RUNNING")
        wait_job(lab, recorder.refs["waits"], "PENDING", reason="Resources")
        spoken = next(name for name in rest._FORMATS if _request(lab, token, f"slurm/{name}/ping"))
        since = int(time.time()) - 3600
        asked = f"submit_time=uts{since}" if spoken == "v0.0.38" else f"start_time={since}"
        for name, path, kind, shape in (
            ("jobs", f"slurm/{spoken}/jobs", "jobs", shapes.JOBS_RESPONSE),
            ("nodes", f"slurm/{spoken}/nodes", "nodes", shapes.NODES_RESPONSE),
            ("accounts", f"slurmdb/{spoken}/jobs?{asked}", "jobs", shapes.ACCOUNTS_RESPONSE),
        ):
            answer = _wait_settled(lab, token, path, kind)
            fields = {"name", *shape[kind].shape[0]}  # type: ignore[index,union-attr]
            items = [{key: value for key, value in item.items() if key in fields} for item in answer[kind]]
            kept = {"path": f"/{path.partition('?')[0]}", kind: items}
            (TARGET / f"rest-{name}-{release}.json").write_text(json.dumps(kept, indent=1) + "\n")


def _wait_settled(lab: Lab, token: str, path: str, kind: str) -> dict[str, Any]:
    """Wait until the database has complete records: a job that has just started has the name allocation."""
    answer: dict[str, Any] = {}

    def is_settled() -> bool:
        answer.update(_request(lab, token, path) or {})
        return bool(answer[kind]) and all(item["name"] != "allocation" for item in answer[kind])

    lab.wait_for(f"{path} is settled", is_settled, interval=0.5)
    return answer


def _request(lab: Lab, token: str, path: str) -> dict[str, Any] | None:
    done = lab.run(
        ["curl", "-s", "-f", "-H", "X-SLURM-USER-NAME: lab", "-H", f"X-SLURM-USER-TOKEN: {token}", f"{URL}/{path}"],
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else None


if __name__ == "__main__":
    main(sys.argv[1])
