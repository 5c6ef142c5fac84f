"""A stand-in for slurmrestd and for an API server, which takes what it is sent and then answers as
real ones do when they break.
"""

from __future__ import annotations

import getpass
import http.server
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.engines.kubernetes_jobs import build_list, is_list

from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.submission import compute_spec_digest
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.kubernetes import KubernetesRequest
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.spec import JobSpec

SLURM_AT = Placement("pod", "train", 1, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
KUBERNETES_AT = replace(SLURM_AT, request=KubernetesRequest("kueue", "nvidia.com/gpu"))
RECORDINGS = Path(__file__).parent.parent / "recordings"
NO_ANSWER = "the connection is closed without an answer"


def build_slurm_error(number: int, text: str) -> dict[str, Any]:
    """As slurmrestd writes one."""
    return {
        "errors": [
            {
                "description": "Batch job submission failed",
                "error_number": number,
                "error": text,
                "source": "slurm_submit_batch_job()",
            }
        ]
    }


def build_status(code: int, reason: str, message: str) -> dict[str, Any]:
    """As an API server writes one."""
    return {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}


class Scheduler(http.server.BaseHTTPRequestHandler):
    """slurmrestd and an API server; what is posted is kept (unless it is ``refusing``) before the answer is given."""

    jobs: list[dict[str, Any]] = []
    objects: dict[str, dict[str, Any]] = {}
    next_responses: list[tuple[int, Any]] = []
    ended: list[str] = []
    refusing = False
    seen: list[tuple[str, str | None]] = []

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, code: int, body: Any) -> None:
        if body == NO_ANSWER:
            self.close_connection = True
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        place = self.path.partition("?")[0]
        Scheduler.seen.append((place, self.headers.get("Authorization")))
        if place.startswith("/slurm"):
            self.answer(200, {"jobs": self.jobs if place.endswith("jobs") else [], "errors": []})
        elif place in self.objects:
            self.answer(200, self.objects[place])
        elif is_list(place):
            self.answer(200, build_list(place, [one for path, one in self.objects.items() if path.startswith(place)]))
        else:
            self.answer(404, build_status(404, "NotFound", "there is none"))

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        Scheduler.ended.append(self.path.rpartition("/")[2])
        self.answer(200, self.objects.pop(self.path, {}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        place = self.path.partition("?")[0]
        if self.next_responses and Scheduler.refusing:
            self.answer(*self.next_responses.pop(0))
            return
        if place.startswith("/slurm"):
            kept: dict[str, Any] = {
                "job_id": len(self.jobs) + 1,
                "comment": body["job"]["comment"],
                "job_state": ["RUNNING"],
                "user_name": getpass.getuser(),
            }
            self.jobs.append(kept)
            self.answer(
                *(
                    self.next_responses.pop(0)
                    if self.next_responses
                    else (200, {"job_id": kept["job_id"], "errors": []})
                )
            )
            return
        name = f"{place}/{body['metadata']['name']}"
        if name in self.objects:
            self.answer(409, build_status(409, "AlreadyExists", "it is there"))
            return
        body["metadata"] |= {"uid": name, "creationTimestamp": "2026-11-21T00:00:00Z"}
        self.objects[name] = body
        self.answer(*(self.next_responses.pop(0) if self.next_responses else (201, body)))


def write_kubeconfig(path: Path, server: str, **cluster: str) -> None:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "one", "user": "ann"}}],
                "users": [{"name": "ann", "user": {"token": "secret"}}],
                "clusters": [{"name": "one", "cluster": {"server": server, **cluster}}],
            }
        )
    )


def build_job(**fields: Any) -> JobSpec:
    defaults = {"name": "job", "command": ["x"], "image": "a/b:1", "tenant": "llm", "accelerators": {"count": 8}}
    return JobSpec.model_validate(defaults | fields)


def submit(engine: Any, key: str = "k", recorded: float = 1795213461.25, **fields: Any) -> str:
    at = KUBERNETES_AT if isinstance(engine, KubernetesEngine) else SLURM_AT
    submission = replace(
        engine.prepare(build_job(**fields), at, key), recorded=recorded, spec=compute_spec_digest("{}")
    )
    ref: str = engine.submit(submission)
    return ref


LOST = (500, build_slurm_error(5004, "Socket timed out on send/recv operation"))
