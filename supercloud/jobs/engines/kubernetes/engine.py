"""The Kubernetes engine: a job is a JobSet that Kueue lets in, or a Volcano job."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ....catalog import Catalog
from ....errors import EngineError
from ....plan.build.kubernetes.names import DIGEST, JOB, SPEC
from ....spec import JobSpec
from ....spec.fleet import Connection
from ...fleet.state import NodeState, Waiting
from ...placement.place import Placement
from ...store.states import State
from ..array_status import combined
from ..base import Unsure
from ..responses import understood
from ..submission import Status, Submission
from .api import Api, Cluster, Refusal, Transport
from .arrays import task
from .jobset import KEPT
from .jobsets import workloads
from .kinds import KINDS, by_api
from .logs import Spool
from .names import Notes, Ref
from .nodes import node_states, waiting_jobs, waiting_work
from .refusals import pods_for
from .status import seconds
from .volcano import API as VOLCANO

__all__ = ["KubernetesEngine"]

Json = dict[str, Any]
_P = ParamSpec("_P")
_T = TypeVar("_T")

_AT_ONCE = 8  # tasks of an array that are created at one time
_SKEW = 300.0  # seconds by which clocks differ at most; further ahead, the date here was set back
_NAMED = 100  # jobs that one list asks for by name
_DELETED = Status(State.CANCELLED, reason="it was deleted")


def _understood(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """A question whose answer is an :class:`EngineError` where objects lack what is read of them."""

    @wraps(method)
    def asked(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with understood("the Kubernetes API server"):
            return method(*arguments, **named)

    return asked


class KubernetesEngine:
    """Jobs as objects of an API server: that of the connection's context, of KUBECONFIG, or of the cluster it is in."""

    pace = 3.0

    def __init__(self, connection: Connection, folder: Path, transport: Transport | None = None):
        self._context = connection.context
        self._notes = Notes(folder / "kubernetes")
        self._transport = transport or Cluster(connection.context)
        self.api = Api(self._transport)

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The object, and the command that would create it."""
        pods = pods_for(job, placement)
        kind = next(kind for kind in KINDS.values() if kind.queue == pods.queue)
        context = (f"--context={self._context}",) if self._context else ()
        body = kind.make(job, placement, pods, key)
        text = json.dumps(body)  # as YAML it takes longer than all the rest
        return Submission(key, ("kubectl", *context, "create", "--filename=-"), text,
                          settings={"array": job.array} if job.array else {})  # fmt: skip

    def check_reach(self) -> None:
        """There is a client, and a context or the cluster this process runs in."""
        if isinstance(self._transport, Cluster):
            self._transport.find()

    def submit(self, submission: Submission) -> str:
        """Create what is not there yet: the name follows from the key, so doing it twice makes one.

        Of an array the last object is created when all others are there, so that it stands for them; where one is
        refused, those that were created are deleted again.
        """
        body = json.loads(submission.stdin)
        meta = body["metadata"]
        word, kind = by_api(body["apiVersion"])
        ref = Ref(word, meta["namespace"], meta["name"], int(time.time()), int(submission.settings.get("array", 0)))
        meta.setdefault("annotations", {}).update({DIGEST: submission.digest, SPEC: submission.spec})
        self._notes.write(submission.key, ref, submission.digest)
        path = kind.path(ref.namespace)
        bodies = [task(copy.deepcopy(body), number, name) for number, name in ref.each()] if ref.tasks else [body]
        made: list[Json] = []
        try:
            self._create_all(path, bodies[:-1], made)
            made.append(self._create(path, bodies[-1]))
        except Unsure:
            raise
        except EngineError as error:
            self._withdraw(path, made, error)
            raise
        return str(ref.since(_created(made[0])))

    def _create_all(self, path: str, bodies: Sequence[Json], made: list[Json]) -> None:
        """Create objects side by side and add them to ``made``; raises one of what went wrong, what is unsure first."""
        if not bodies:
            return
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            asked = [threads.submit(self._create, path, one) for one in bodies]
        problems = [problem for one in asked if (problem := one.exception())]
        made += [one.result() for one in asked if not one.exception()]
        for problem in sorted(problems, key=lambda one: isinstance(one, EngineError) and not isinstance(one, Unsure)):
            raise problem

    def _withdraw(self, path: str, made: Sequence[Json], why: EngineError) -> None:
        """Delete the objects of a job that is refused as a whole."""
        for there in made:
            meta = there["metadata"]
            try:
                self._delete(path, meta["name"], {"uid": meta["uid"]} if "uid" in meta else {})
            except EngineError as error:
                raise Unsure(f"{why}; {meta['name']} was created before, and is not deleted: {error}") from None

    def _create(self, path: str, body: Json) -> Json:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            return self.api.post(path, body)
        except Refusal as refusal:
            if refusal.reason == "AlreadyExists":
                there, is_ours = self._existing(path, body)
                if not is_ours:
                    kind = f"{path.rpartition('/')[2]}.{body['apiVersion'].partition('/')[0]}"
                    raise EngineError(
                        f"{name} in namespace {namespace} is there already, for another job: one that had the same key "
                        "before, or somebody else's; take another key, or, once it has ended, run: "
                        f"kubectl delete --namespace {namespace} {kind} {name}"
                    ) from None
                if there["metadata"].get("deletionTimestamp"):
                    raise EngineError(f"{name} in namespace {namespace} is being deleted; submit the job again once it "
                                      "is gone") from None  # fmt: skip
                return there
            hint = ""
            if refusal.code == 404:
                hint = f"; is there a namespace {namespace}? set tenant to one of the cluster"
            elif refusal.code == 403:
                hint = f"; try: kubectl auth can-i create {path.rpartition('/')[2]} --namespace {namespace}"
            raise EngineError(f"Kubernetes refused the job: {refusal}{hint}") from None

    def _existing(self, path: str, body: Json) -> tuple[Json, bool]:
        """The object that has the name already, and whether it is this one, made by an earlier try."""
        name = body["metadata"]["name"]
        try:
            with understood("the Kubernetes API server"):
                there = self.api.get(f"{path}/{name}")
                _created(there)
                return there, _digest(there) == body["metadata"]["annotations"][DIGEST]
        except EngineError as error:
            raise Unsure(f"{name} is there already, and for which job is not known: {error}") from None

    @_understood
    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """Those that were never sent are certainly not there; of the others the server knows."""
        found: dict[str, str | None] = {}
        for key in keys:
            ref = self._notes.read(key)
            there = self._there(ref) if ref else None
            if ref and there and _digest(there) == (self._notes.digest(key) or _digest(there)):
                found[key] = str(ref.since(_created(there)))
            elif ref is None or -_SKEW < time.time() - since < KEPT:  # it would still be there, even if it had ended
                found[key] = None
        return found

    @_understood
    def digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """From the annotations of the objects."""
        found = {text: self._there(ref) for text in refs if (ref := Ref.parse(text))}
        return {text: digest for text, there in found.items() if there and (digest := _annotation(there, SPEC))}

    def _there(self, ref: Ref) -> Json | None:
        """The last of its objects that is made, if it is."""
        try:
            return self.api.get(f"{KINDS[ref.kind].path(ref.namespace)}/{ref.objects[-1]}")
        except Refusal as refusal:
            if refusal.code == 404:
                return None
            raise

    @_understood
    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """A few lists for each namespace, whatever the number of jobs."""
        asked: dict[tuple[str, str], list[tuple[str, Ref]]] = {}
        for text in refs:
            if ref := Ref.parse(text):
                asked.setdefault((ref.kind, ref.namespace), []).append((text, ref))
        answers: dict[str, Status] = {}
        for (word, namespace), ours in asked.items():
            known: dict[str, Status] = {}
            for start in range(0, len(ours), _NAMED):
                names = ",".join(ref.name for _, ref in ours[start : start + _NAMED])
                known |= KINDS[word].statuses(self.api, namespace, f"{JOB} in ({names})")
            for text, ref in ours:
                if (status := _together(ref, known)) is not None:
                    answers[text] = status
        return answers

    def cancel(self, ref: str) -> None:
        """Delete it; its pods are asked to end first."""
        for path, name in _objects(ref):
            self._delete(path, name, {})

    @_understood
    def recall(self, ref: str) -> None:
        """Delete it unless the queue has let it in: the server compares versions, so none that begins now is hit."""
        for path, name in _objects(ref):
            kind = KINDS[ref.partition("/")[0]]
            gone = False
            while not gone:  # the queue writes to it, too
                try:
                    there = self.api.get(f"{path}/{name}")
                except Refusal as refusal:
                    if refusal.code != 404:
                        raise
                    break
                if not kind.waits(there):
                    break
                meta = there["metadata"]
                gone = self._delete(path, name, {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]})

    def _delete(self, path: str, name: str, condition: Json) -> bool:
        """Whether it is gone or going; False where it is no longer as ``condition`` says."""
        options = {"propagationPolicy": "Foreground"} | ({"preconditions": condition} if condition else {})
        try:
            self.api.delete(f"{path}/{name}", options)
        except Refusal as refusal:
            if refusal.code == 409:
                return False
            if refusal.code != 404:
                raise EngineError(f"Kubernetes refused to end it: {refusal}") from None
        return True

    @_understood
    def nodes(self) -> Sequence[NodeState]:
        """Every node, with the accelerators that anybody's pods have."""
        live = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        pods = self.api.pages("/api/v1/pods", fieldSelector=live)
        return list(node_states(self.api.pages("/api/v1/nodes"), pods, _accelerators()))

    @_understood
    def waiting(self) -> Sequence[Waiting]:
        """What waits for nodes, of everybody, in the queues that are there."""
        found: list[Waiting] = []
        for look in (self._workloads, self._volcano_jobs):
            try:
                found += look()
            except Refusal as refusal:
                if refusal.code != 404:
                    raise
        return found

    def _workloads(self) -> list[Waiting]:
        return waiting_work(workloads(self.api, "workloads"))

    def _volcano_jobs(self) -> list[Waiting]:
        return waiting_jobs(self.api.pages(f"/apis/{VOLCANO}/jobs"))

    @_understood
    def read_log(self, key: str, offset: int) -> bytes:
        """What its pods printed, over all attempts as far as somebody was reading."""
        ref = self._notes.read(key)
        if ref is None:
            return b""
        spool = Spool(self._notes.folder(key))
        if not (data := spool.read(offset)):
            self._gather(spool, ref)
            data = spool.read(offset)
        return data

    @_understood
    def read_result(self, key: str, offset: int) -> bytes:
        """What a function returned, which came with what its pods printed."""
        ref = self._notes.read(key)
        if ref is None:
            return b""
        spool = Spool(self._notes.folder(key))
        if not offset:
            self._gather(spool, ref)
        return spool.result()[offset:]

    def _gather(self, spool: Spool, ref: Ref) -> None:
        pods = self.api.pages(f"/api/v1/namespaces/{ref.namespace}/pods", labelSelector=f"{JOB}={ref.name}")
        spool.gather(self.api, pods)


@lru_cache(maxsize=1)
def _accelerators() -> frozenset[str]:
    """What Kubernetes calls accelerators, of every maker."""
    known = Catalog.default()
    return frozenset(item for name in known.names("accelerators") if (item := known.accelerator(name).kubernetes))


def _objects(text: str) -> Iterator[tuple[str, str]]:
    if ref := Ref.parse(text):
        path = KINDS[ref.kind].path(ref.namespace)
        yield from ((path, name) for name in ref.objects)


def _together(ref: Ref, known: Mapping[str, Status]) -> Status | None:
    """The status of a job from those of its objects. One that is gone so early was deleted: nothing else ends it."""
    tasks = [known[name] for name in ref.objects if name in known]
    if len(tasks) < len(ref.objects) and -_SKEW < time.time() - ref.created < KEPT:
        tasks += [_DELETED] * (len(ref.objects) - len(tasks))
    return combined(tasks, max(1, ref.tasks))


def _digest(there: Json) -> str:
    """Which submission an object was made for."""
    return _annotation(there, DIGEST)


def _annotation(there: Json, name: str) -> str:
    return str((there["metadata"].get("annotations") or {}).get(name, ""))


def _created(there: Json) -> int:
    return int(seconds(there["metadata"]["creationTimestamp"]) or 0)
