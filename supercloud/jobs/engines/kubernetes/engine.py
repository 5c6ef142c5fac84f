"""The Kubernetes engine: a job is a JobSet admitted by Kueue, or a Volcano job."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ....catalog import Accelerator, Catalog
from ....errors import EngineConfigurationError, EngineError
from ....plan.build.kubernetes.names import (
    DIGEST_ANNOTATION,
    JOB_LABEL,
    RECORD_DIGEST_ANNOTATION,
    SPEC_DIGEST_ANNOTATION,
)
from ....primitives.responses import translate_errors
from ....spec import JobSpec
from ....spec.fleet import Connection
from ....spec.schedulers import normalize_address
from ...fleet.observations import NodeState, WaitingJobs
from ...placement.place import Placement
from ...store.states import State
from ...store.status import Status
from ..array_status import aggregate_array_status
from ..base import SubmittedJob
from ..submission import JobIdentity, Submission
from .api import ApiClient, ApiStatusError, ClusterTransport, Transport
from .arrays import build_task
from .jobset import TTL_AFTER_FINISHED
from .jobsets import list_workloads
from .kind import JobKind
from .kinds import KINDS, get_kind
from .logs import LogSpool
from .names import JobRef, RefStore
from .nodes import iter_node_states, list_waiting_volcano_jobs, list_waiting_workloads
from .objects import JobObjects, read_annotation, read_creation_time, read_digest, read_identity
from .refusals import require_kubernetes_request
from .status import is_later
from .volcano import API_VERSION as VOLCANO

__all__ = ["KubernetesEngine"]

Json = dict[str, Any]
_P = ParamSpec("_P")
_T = TypeVar("_T")

_MAX_CLOCK_SKEW = 300.0  # maximum clock difference in seconds; beyond it, the clock here was set back
_MAX_NAMES_PER_QUERY = 100  # jobs per list request by name
_RECALL_PAUSES = (0.1, 0.3, 1.0, 3.0)
"""Seconds after each conflict of a recall: the queue writes to waiting jobs too, but not without pause."""
_DELETED_STATUS = Status(State.CANCELLED, reason="its object was deleted")


def _translate_errors(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """A request that raises :class:`EngineError` if objects lack required fields."""

    @wraps(method)
    def call_translated(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with translate_errors("the Kubernetes API server"):
            return method(*arguments, **named)

    return call_translated


class KubernetesEngine:
    """Jobs as objects of an API server: of the connection's context, of KUBECONFIG, or of the cluster that this process
    runs in.
    """

    poll_interval = 3.0

    def __init__(self, connection: Connection, folder: Path, transport: Transport | None = None):
        self._context = connection.context
        self._expected_server = connection.server
        self._refs = RefStore(folder / "kubernetes")
        self._transport = transport or ClusterTransport(connection.context)
        self.api = ApiClient(self._transport)
        self._objects = JobObjects(self.api)

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The object, and the command that would create it."""
        request = require_kubernetes_request(job, placement)
        kind = next(kind for kind in KINDS.values() if kind.queue == request.queue)
        context = (f"--context={self._context}",) if self._context else ()
        body = kind.build_object(job, placement, request, key)
        text = json.dumps(body)  # serializing as YAML would dominate the run time
        return Submission(
            key,
            ("kubectl", *context, "create", "--filename=-"),
            text,
            settings={"array": job.array} if job.array else {},
        )

    def require_reachable(self) -> None:
        """Check that there is a client, and a context or a cluster that this process runs in.

        Raises :class:`EngineConfigurationError` if there is none, or if the context has another server than the
        connection.
        """
        if isinstance(self._transport, ClusterTransport):
            self._transport.load_client()
        self._require_expected_server()

    def _require_expected_server(self) -> None:
        """Raise :class:`EngineConfigurationError` if a new job would be created on another server than recorded."""
        if problem := self._describe_other_server():
            raise EngineConfigurationError(problem)

    def _describe_other_server(self) -> str:
        """Why the absence of an object proves nothing: its job was submitted to another server; empty if it was not."""
        expected, transport = self._expected_server, self._transport
        if not expected or not isinstance(transport, ClusterTransport):
            return ""
        actual = transport.host
        if normalize_address(actual) == normalize_address(expected):
            return ""
        context = f"context {self._context}" if self._context else "the kubeconfig without a context"
        return (
            f"{context} leads to {actual}, not to {expected}, the server recorded for its jobs; set its server in the "
            f"kubeconfig to {expected} again"
        )

    def submit(self, submission: Submission) -> str:
        """Create the objects that do not exist: names follow from the key, so repeating it creates no duplicates.

        The last object of an array is created after all others, so that its existence implies theirs; if one is
        refused, those already created are deleted.

        Raises :class:`EngineError` if the server refuses it, and :class:`SubmissionUnknownError` if objects may have
        been left.
        """
        self._require_expected_server()
        body = json.loads(submission.stdin)
        meta = body["metadata"]
        word, kind = get_kind(body["apiVersion"])
        ref = JobRef(word, meta["namespace"], meta["name"], int(time.time()), int(submission.settings.get("array", 0)))
        meta.setdefault("annotations", {}).update(
            {
                DIGEST_ANNOTATION: submission.digest,
                SPEC_DIGEST_ANNOTATION: submission.spec,
                RECORD_DIGEST_ANNOTATION: submission.identity.record,
            }
        )
        self._refs.write(submission.key, ref, submission.digest)
        path = kind.build_path(ref.namespace)
        bodies = (
            [build_task(copy.deepcopy(body), number, name) for number, name in ref.iter_tasks()]
            if ref.tasks
            else [body]
        )
        made = self._objects.create(path, bodies)
        return str(ref.with_created(read_creation_time(made[-1])))

    @_translate_errors
    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """Keys that were never sent are certainly not present; others are looked up on the server."""
        found: dict[str, str | None] = {}
        is_conclusive = _is_kept_since(since) and not self._describe_other_server()
        for key in keys:
            ref = self._refs.read(key)
            there = self._find_object(ref) if ref else None
            if ref and there and read_digest(there) == (self._refs.read_digest(key) or read_digest(there)):
                found[key] = str(ref.with_created(read_creation_time(there)))
            elif ref is None or is_conclusive:
                found[key] = None
        return found

    @_translate_errors
    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """By the annotations of the objects: the ref stored for a key may belong to a job that was deleted from the
        store, and an object with the same name may belong to another store.
        """
        found: dict[str, SubmittedJob] = {}
        is_elsewhere, is_kept = bool(self._describe_other_server()), _is_kept_since(since)
        for identity in jobs:
            ref = self._refs.read(identity.key)
            there = self._find_object(ref) if ref else None
            if ref and there and read_identity(there).is_same_record(identity):
                found[identity.key] = SubmittedJob(str(ref.with_created(read_creation_time(there))))
            elif ref is None or (not is_elsewhere and (there or is_kept)):
                found[identity.key] = SubmittedJob(None, (f"{ref.namespace}/{ref.name}",) if ref and there else ())
        return found

    @_translate_errors
    def end_start(self, ref: str, start: JobIdentity) -> None:
        """Delete the objects that carry its identity: another job with the same key has objects with the same names.

        Raises :class:`EngineError` if the context has another server than the job.
        """
        known = JobRef.parse(ref)
        for path, name in _iter_objects(ref):
            there = self._find_submitted_object(path, name)
            if there is None:
                continue
            identity = read_identity(there)
            is_earlier = not identity.record and known and read_creation_time(there) == known.created
            is_earlier = is_earlier and identity.can_be_same_job(start)
            if identity.is_same_record(start) or is_earlier:
                self._objects.delete(path, name, {"uid": there["metadata"]["uid"]})

    @_translate_errors
    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """From the annotations of the objects."""
        found = {text: self._find_object(ref) for text in refs if (ref := JobRef.parse(text))}
        return {
            text: digest
            for text, there in found.items()
            if there and (digest := read_annotation(there, SPEC_DIGEST_ANNOTATION))
        }

    def _find_object(self, ref: JobRef) -> Json | None:
        """The last of its objects, if it was created."""
        return self.api.find_object(f"{KINDS[ref.kind].build_path(ref.namespace)}/{ref.object_names[-1]}")

    def _find_submitted_object(self, path: str, name: str) -> Json | None:
        """An object that was created; None if it was deleted since. Raises :class:`EngineError` if it may be on another
        server.
        """
        there = self.api.find_object(f"{path}/{name}")
        if there is None and (problem := self._describe_other_server()):
            raise EngineError(problem)
        return there

    @_translate_errors
    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """A few lists for each namespace, independent of the number of jobs."""
        asked: dict[tuple[str, str], list[tuple[str, JobRef]]] = {}
        for text in refs:
            if ref := JobRef.parse(text):
                asked.setdefault((ref.kind, ref.namespace), []).append((text, ref))
        answers: dict[str, Status] = {}
        problem = self._describe_other_server()
        absent = Status(State.UNKNOWN, reason=problem) if problem else None
        for (word, namespace), ours in asked.items():
            known: dict[str, Status] = {}
            for start in range(0, len(ours), _MAX_NAMES_PER_QUERY):
                part = [ref for _, ref in ours[start : start + _MAX_NAMES_PER_QUERY]]
                created = {name: ref.latest_creation for ref in part for name in ref.object_names}
                selector = f"{JOB_LABEL} in ({','.join(ref.name for ref in part)})"
                known |= KINDS[word].list_statuses(self.api, namespace, selector, created)
            for text, ref in ours:
                if (status := _aggregate_status(ref, known, absent)) is not None:
                    answers[text] = status
        return answers

    @_translate_errors
    def cancel(self, ref: str) -> None:
        """Delete it, but no later object with its name; its pods are terminated gracefully.

        Raises :class:`EngineError` if the context has another server than the job.
        """
        known = JobRef.parse(ref)
        for path, name in _iter_objects(ref):
            there = self._find_submitted_object(path, name)
            if there and known and not is_later(there, known.latest_creation):
                self._objects.delete(path, name, {"uid": there["metadata"]["uid"]})

    @_translate_errors
    def recall(self, ref: str) -> None:
        """Delete it unless the queue has admitted it: the server compares versions, so no job that starts now is
        deleted.

        Raises :class:`EngineError` if the server refuses it, or the context has another server than the job.
        """
        for path, name in _iter_objects(ref):
            self._recall_object(path, name, KINDS[ref.partition("/")[0]])

    def _recall_object(self, path: str, name: str, kind: JobKind) -> None:
        for pause in (*_RECALL_PAUSES, None):
            there = self._find_submitted_object(path, name)
            if there is None or not kind.is_waiting(there):
                return
            meta = there["metadata"]
            if self._objects.delete(path, name, {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}):
                return
            if pause is not None:
                time.sleep(pause)
        raise EngineError(
            f"{name} was not recalled: the server answered each of {len(_RECALL_PAUSES) + 1} deletions with a "
            "conflict; its queue may be updating it"
        )

    @_translate_errors
    def list_nodes(self) -> Sequence[NodeState]:
        """All nodes, with the accelerators allocated to pods of all users.

        Raises :class:`EngineConfigurationError` if the context has another server than the connection.
        """
        self._require_expected_server()
        live = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        pods = self.api.iter_items("/api/v1/pods", fieldSelector=live)
        return list(iter_node_states(self.api.iter_items("/api/v1/nodes"), pods, _list_accelerator_resources()))

    @_translate_errors
    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """Jobs of all users that wait for nodes, in the existing queues."""
        found: list[WaitingJobs] = []
        for look in (self._list_waiting_workloads, self._list_waiting_volcano_jobs):
            try:
                found += look()
            except ApiStatusError as refusal:
                if refusal.code != 404:
                    raise
        return found

    def _list_waiting_workloads(self) -> list[WaitingJobs]:
        return list_waiting_workloads(list_workloads(self.api, "workloads"))

    def _list_waiting_volcano_jobs(self) -> list[WaitingJobs]:
        return list_waiting_volcano_jobs(self.api.iter_items(f"/apis/{VOLCANO}/jobs"))

    @_translate_errors
    def read_log(self, key: str, offset: int) -> bytes:
        """The output of its pods, over all attempts whose logs were read in time."""
        ref = self._refs.read(key)
        if ref is None:
            return b""
        spool = LogSpool(self._refs.build_folder_path(key))
        if not (data := spool.read(offset)):
            self._gather_logs(spool, ref)
            data = spool.read(offset)
        return data

    @_translate_errors
    def read_result(self, key: str, offset: int) -> bytes:
        """The result of a function, which is transferred in the output of its pods."""
        ref = self._refs.read(key)
        if ref is None:
            return b""
        spool = LogSpool(self._refs.build_folder_path(key))
        if not offset:
            self._gather_logs(spool, ref)
        return spool.read_result()[offset:]

    def describe_result(self, key: str) -> str:
        """The path of the file with the result lines from the output of the pods."""
        return str(LogSpool(self._refs.build_folder_path(key)).result_path)

    def _gather_logs(self, spool: LogSpool, ref: JobRef) -> None:
        pods = self.api.iter_items(f"/api/v1/namespaces/{ref.namespace}/pods", labelSelector=f"{JOB_LABEL}={ref.name}")
        spool.gather(self.api, pods)


@lru_cache(maxsize=1)
def _list_accelerator_resources() -> frozenset[str]:
    """Resource names of accelerators, of every vendor."""
    known = Catalog.load_default()
    return frozenset(
        item for name in known.list_names("accelerators") if (item := known.get(Accelerator, name).kubernetes)
    )


def _iter_objects(text: str) -> Iterator[tuple[str, str]]:
    if ref := JobRef.parse(text):
        path = KINDS[ref.kind].build_path(ref.namespace)
        yield from ((path, name) for name in ref.object_names)


def _aggregate_status(ref: JobRef, statuses: Mapping[str, Status], absent: Status | None) -> Status | None:
    """The status of a job from those of its objects. One that is missing so early was deleted: it cannot have
    expired. ``absent`` is the status of a job with missing objects if the server is not the one that had them.
    """
    tasks = [statuses[name] for name in ref.object_names if name in statuses]
    if absent and len(tasks) < len(ref.object_names):
        return absent
    if len(tasks) < len(ref.object_names) and -_MAX_CLOCK_SKEW < time.time() - ref.created < TTL_AFTER_FINISHED:
        tasks += [_DELETED_STATUS] * (len(ref.object_names) - len(tasks))
    return aggregate_array_status(tasks, max(1, ref.tasks))


def _is_kept_since(since: float) -> bool:
    """Whether an object that was created after a date would still exist, even if its job had ended."""
    return -_MAX_CLOCK_SKEW < time.time() - since < TTL_AFTER_FINISHED
