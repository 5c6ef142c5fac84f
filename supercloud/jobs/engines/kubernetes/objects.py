"""Objects of jobs on the API server: created so that a repeated submission makes no duplicates, and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ....errors import EngineError
from ....plan.build.kubernetes.names import (
    DIGEST_ANNOTATION,
    KEY_ANNOTATION,
    RECORD_DIGEST_ANNOTATION,
    SPEC_DIGEST_ANNOTATION,
)
from ....primitives.responses import translate_errors
from ..base import SubmissionUnknownError
from ..submission import JobIdentity
from .api import ApiClient, ApiStatusError
from .status import parse_time

__all__ = ["JobObjects", "read_annotation", "read_creation_time", "read_digest", "read_identity"]

Json = dict[str, Any]

_MAX_PARALLEL_REQUESTS = 8  # tasks of an array that are created concurrently


class JobObjects:
    """Creates and deletes the objects of jobs."""

    def __init__(self, api: ApiClient):
        self._api = api

    def create(self, path: str, bodies: Sequence[Json]) -> Sequence[Json]:
        """Create the objects that do not exist, and return all of them.

        The last one is created after all others, so that its existence implies theirs. If one is refused, those
        already created are deleted. Raises :class:`SubmissionUnknownError` if objects may have been left.

        Raises :class:`EngineError` if one is refused, or exists for another job.
        """
        made: list[Json] = []
        try:
            self._create_all(path, bodies[:-1], made)
            made.append(self._create(path, bodies[-1]))
        except SubmissionUnknownError:
            raise
        except EngineError as error:
            self._withdraw(path, made, error)
            raise
        return made

    def _create_all(self, path: str, bodies: Sequence[Json], made: list[Json]) -> None:
        """Create objects concurrently and add them to ``made``; raises one of the errors, unknown outcomes first."""
        if not bodies:
            return
        with ThreadPoolExecutor(_MAX_PARALLEL_REQUESTS) as threads:
            asked = [threads.submit(self._create, path, one) for one in bodies]
        problems = [problem for one in asked if (problem := one.exception())]
        made += [one.result() for one in asked if not one.exception()]
        for problem in sorted(
            problems, key=lambda one: isinstance(one, EngineError) and not isinstance(one, SubmissionUnknownError)
        ):
            raise problem

    def _withdraw(self, path: str, made: Sequence[Json], why: EngineError) -> None:
        """Delete the objects of a job that was refused."""
        for there in made:
            meta = there["metadata"]
            try:
                self.delete(path, meta["name"], {"uid": meta["uid"]} if "uid" in meta else {})
            except EngineError as error:
                raise SubmissionUnknownError(
                    f"{why}; {meta['name']} was already created and could not be deleted: {error}"
                ) from None

    def _create(self, path: str, body: Json) -> Json:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            return self._api.post(path, body)
        except ApiStatusError as refusal:
            if refusal.reason == "AlreadyExists":
                there, is_ours = self._find_existing(path, body)
                if not is_ours:
                    kind = f"{path.rpartition('/')[2]}.{body['apiVersion'].partition('/')[0]}"
                    raise EngineError(
                        f"{name} in namespace {namespace} already exists, for another job: one that had the same key "
                        "before, or one of another user; use another key, or, once it has ended, run: "
                        f"kubectl delete --namespace {namespace} {kind} {name}"
                    ) from None
                if there["metadata"].get("deletionTimestamp"):
                    raise EngineError(
                        f"{name} in namespace {namespace} is being deleted; submit the job again when it is deleted"
                    ) from None
                return there
            hint = ""
            if refusal.code == 404:
                hint = f"; check that namespace {namespace} exists, or set tenant to a tenant of the cluster"
            elif refusal.code == 403:
                hint = f"; try: kubectl auth can-i create {path.rpartition('/')[2]} --namespace {namespace}"
            raise EngineError(f"Kubernetes refused the job: {refusal}{hint}") from None

    def _find_existing(self, path: str, body: Json) -> tuple[Json, bool]:
        """The existing object of this name, and whether an earlier attempt created it for this job."""
        name = body["metadata"]["name"]
        try:
            with translate_errors("the Kubernetes API server"):
                if there := self._api.find_object(f"{path}/{name}"):
                    return there, read_digest(there) == body["metadata"]["annotations"][DIGEST_ANNOTATION]
                raise EngineError("it was deleted meanwhile")
        except EngineError as error:
            raise SubmissionUnknownError(f"{name} already exists, and its job is unknown: {error}") from None

    def delete(self, path: str, name: str, condition: Json) -> bool:
        """Whether it is deleted or being deleted; False if it no longer meets ``condition``.

        Raises :class:`EngineError` if the server refuses it.
        """
        options = {"propagationPolicy": "Foreground"} | ({"preconditions": condition} if condition else {})
        try:
            self._api.delete(f"{path}/{name}", options)
        except ApiStatusError as refusal:
            if refusal.code == 409:
                return False
            if refusal.code != 404:
                raise EngineError(f"Kubernetes refused to delete it: {refusal}") from None
        return True


def read_identity(resource: Json) -> JobIdentity:
    """The identity of the job that an object was created for."""
    names = (KEY_ANNOTATION, SPEC_DIGEST_ANNOTATION, RECORD_DIGEST_ANNOTATION)
    return JobIdentity(*(read_annotation(resource, name) for name in names))


def read_digest(resource: Json) -> str:
    """The digest of the submission that an object was created for."""
    return read_annotation(resource, DIGEST_ANNOTATION)


def read_annotation(resource: Json, name: str) -> str:
    """Its value; empty if the object does not have it."""
    return str((resource["metadata"].get("annotations") or {}).get(name, ""))


def read_creation_time(resource: Json) -> int:
    """Seconds since 1970; 0 if it is not a time."""
    return int(parse_time(resource["metadata"]["creationTimestamp"]) or 0)
