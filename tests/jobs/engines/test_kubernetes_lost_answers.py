"""An object that the API server may have created is looked up by its name, and never recorded as refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from jobs.engines.scheduler_stand_in import (
    KUBERNETES_AT,
    NO_ANSWER,
    Scheduler,
    build_job,
    build_status,
    submit,
)

from supercloud.errors import EngineError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.submission import compute_spec_digest

ODD: list[tuple[int, Any]] = [
    (500, build_status(500, "InternalError", "etcdserver: request timed out")),
    (504, build_status(504, "Timeout", "Timeout: request did not complete within requested timeout")),
    (502, b"<html>"),
    (500, b""),
    (500, b"[]"),
    (500, build_status(500, "", "conversion webhook for jobsets failed")),
    (201, {}),
    (201, {"metadata": None}),
    (201, {"metadata": {"name": "zz"}}),
    (201, {"metadata": {}}),
    (201, b"[]"),
    (201, {"metadata": {"name": "zz", "creationTimestamp": "soon"}}),
    (200, b""),
    (201, {"items": []}),
    (201, {"metadata": {"name": "zz", "creationTimestamp": "0001-01-01T00:00:00Z"}}),
]


@pytest.mark.parametrize("response", ODD, ids=range(len(ODD)))
def test_an_object_created_despite_an_error_response_is_found(
    cluster: KubernetesEngine, response: tuple[int, Any]
) -> None:
    Scheduler.next_responses = [response]
    with pytest.raises(SubmissionUnknownError):
        submit(cluster)
    [ref] = cluster.find(["k"], time.time()).values()
    assert ref and submit(cluster) == ref and len(Scheduler.objects) == 1


@pytest.mark.parametrize("first", [(200, NO_ANSWER), (503, b"busy")], ids=["broken", "busy"])
@pytest.mark.parametrize(
    "then",
    [
        (403, build_status(403, "Forbidden", "exceeded quota: count/jobsets.jobset.x-k8s.io=1")),
        (400, b"x"),
        (500, b"x"),
        (302, b""),
    ],
)
def test_a_refusal_after_a_lost_response_leaves_the_submission_unknown(
    cluster: KubernetesEngine, first: tuple[int, Any], then: tuple[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep_then_refuse(handler: Scheduler) -> None:
        Scheduler.refusing = bool(Scheduler.objects)
        kept(handler)

    kept = Scheduler.do_POST
    monkeypatch.setattr(Scheduler, "do_POST", keep_then_refuse)
    Scheduler.next_responses = [first, then]
    with pytest.raises(SubmissionUnknownError):
        submit(cluster)
    assert cluster.find(["k"], time.time())["k"]


@pytest.mark.parametrize(
    "message",
    [
        'Internal error occurred: failed calling webhook "mjobset.kb.io": no endpoints available for service',
        'admission webhook "mjobset.kb.io" denied the request: it cannot be decoded',
    ],
)
def test_a_rejection_by_a_webhook_is_a_refusal(cluster: KubernetesEngine, message: str) -> None:
    Scheduler.refusing, Scheduler.next_responses = True, [(500, build_status(500, "InternalError", message))]
    with pytest.raises(EngineError, match="refused the job.*webhook") as caught:
        submit(cluster)
    assert not isinstance(caught.value, SubmissionUnknownError)


def fail_posts(monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, Any]]) -> None:
    """Answer so in place of creating the objects whose names end so."""

    def send(engine_send: Callable[..., tuple[int, bytes]]) -> Callable[..., tuple[int, bytes]]:
        def send_once(pools: Any, method: str, url: str, body: bytes | None, headers: Any) -> tuple[int, bytes]:
            name = json.loads(body)["metadata"]["name"] if method == "POST" and body else ""
            for ending, (code, output) in answers.items():
                if name.endswith(ending):
                    return code, json.dumps(output).encode()
            return engine_send(pools, method, url, body, headers)

        return send_once

    monkeypatch.setattr(connection, "send", send(connection.send))


@pytest.mark.parametrize("refused", ["-0", "-1", "-2"])
def test_a_refused_array_leaves_no_objects(
    cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    fail_posts(monkeypatch, {refused: (403, build_status(403, "Forbidden", "exceeded quota"))})
    with pytest.raises(EngineError, match="exceeded quota") as caught:
        submit(cluster, array=3)
    assert not isinstance(caught.value, SubmissionUnknownError) and not Scheduler.objects


def test_the_last_object_of_an_array_exists_only_with_all_others(
    cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        fail_posts(
            broken, {"-0": (403, build_status(403, "Forbidden", "no")), "-1": (500, build_status(500, "", "timed out"))}
        )
        with pytest.raises(SubmissionUnknownError, match="timed out"):
            submit(cluster, array=4)
    assert cluster.find(["k"], time.time()) == {"k": None}
    ref = submit(cluster, array=4)
    assert len(Scheduler.objects) == 4 and cluster.find(["k"], time.time()) == {"k": ref}


def test_an_object_of_another_record_is_not_found_after_the_submitter_was_killed(
    cluster: KubernetesEngine, address: str
) -> None:
    """The object with this key belongs to a job that the store has forgotten."""
    submit(cluster)
    again = replace(
        cluster.prepare(build_job(), KUBERNETES_AT, "k"), recorded=1795213999.5, spec=compute_spec_digest("{}")
    )
    [found] = cluster.find_submitted([again.identity], time.time()).values()
    assert found.ref is None and len(found.others) == 1 and found.others[0].startswith("llm/job-")
    with pytest.raises(EngineError, match="already exists, for another job"):
        cluster.submit(again)
    assert len(Scheduler.objects) == 1


def test_a_start_is_ended_only_if_its_objects_exist(cluster: KubernetesEngine) -> None:
    ref = submit(cluster)
    again = replace(
        cluster.prepare(build_job(), KUBERNETES_AT, "k"), recorded=1795213461.25, spec=compute_spec_digest("{}")
    )
    cluster.end_start(ref, replace(again, recorded=1795213999.5).identity)
    assert not Scheduler.ended
    cluster.end_start(ref, again.identity)
    assert len(Scheduler.ended) == 1 and not Scheduler.objects
    cluster.end_start(ref, again.identity)


@pytest.mark.parametrize("array", [None, 3])
def test_a_later_object_with_the_name_of_a_job_is_not_cancelled(cluster: KubernetesEngine, array: int | None) -> None:
    """The job's object was deleted, as after its time to live, and another store used its key again."""
    ref = submit(cluster, array=array)
    for there in Scheduler.objects.values():
        there["metadata"]["creationTimestamp"] = "2026-11-21T01:00:00Z"
    cluster.cancel(ref)
    assert not Scheduler.ended and Scheduler.objects
    for there in Scheduler.objects.values():
        there["metadata"]["creationTimestamp"] = "2026-11-21T00:00:00Z"
    cluster.cancel(ref)
    assert len(Scheduler.ended) == (array or 1) and not Scheduler.objects
