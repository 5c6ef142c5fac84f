"""What runs within a pod: words as they are, ranks, epochs, the helper that commits checkpoints."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobs.engines.kubernetes_jobs import find_main_container

from supercloud.jobs.engines.kubernetes.container import (
    _MULTI_TASK_SCRIPT,
    _SINGLE_TASK_SCRIPT,
    _START_SCRIPT,
    escape_dollars,
)


def expand(text: str, known: dict[str, str]) -> str:
    """What the kubelet makes of a text: its rules, in the words of the API's documentation."""
    out, at = "", 0
    while at < len(text):
        if text.startswith("$$", at):
            out, at = out + "$", at + 2
        elif text.startswith("$(", at) and (end := text.find(")", at)) > 0 and text[at + 2 : end] in known:
            out, at = out + known[text[at + 2 : end]], end + 1
        else:
            out, at = out + text[at], at + 1
    return out


@pytest.mark.slow
@given(st.text(st.sampled_from("$()ab{}`'\" \\;|&"), max_size=30))
def test_no_text_is_expanded_by_the_kubelet(text: str) -> None:
    assert expand(escape_dollars(text), {"a": "FILLED", "b": "FILLED"}) == text


def run(shell: str, argv: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    variables = {
        "PATH": "/usr/bin:/bin",
        "NODE_RANK": "1",
        "SUPERCLOUD_EPOCH_BEFORE": "10000",
        "SUPERCLOUD_RESTART": "2",
    }
    return subprocess.run(
        ["sh", "-c", shell, "sh", *argv], env=variables | env, capture_output=True, text=True, timeout=180
    )


def test_a_program_gets_its_arguments_unchanged() -> None:
    text = "$(touch /hacked) 'quoted' \"twice\" \\ ; exit 1"
    script = 'echo "$RANK $LOCAL_RANK $SUPERCLOUD_EPOCH $1"'
    done = run(_START_SCRIPT + _SINGLE_TASK_SCRIPT, ["sh", "-c", script, "sh", text])
    assert (done.returncode, done.stdout) == (0, f"1 0 10003 {text}\n")


@pytest.mark.parametrize("starts, epoch", [("", "10003"), ("1", "10003"), ("4", "10006")])
def test_an_epoch_counts_launches_restarts_and_resumptions(starts: str, epoch: str) -> None:
    done = run(_START_SCRIPT + _SINGLE_TASK_SCRIPT, ["sh", "-c", "echo $SUPERCLOUD_EPOCH"], SUPERCLOUD_STARTS=starts)
    assert done.stdout == f"{epoch}\n"


@pytest.mark.slow
def test_pods_get_the_checkpoint_helper(made: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    env = {
        item["name"]: item.get("value", "")
        for item in find_main_container(made(checkpoint={"path": "/scratch/a"}))["env"]
    }
    assert env["SUPERCLOUD_COMMIT"].startswith("/dev/shm/")
    variables = {
        "SUPERCLOUD_COMMIT": str(tmp_path / "commit"),
        "SUPERCLOUD_CHECKPOINT": str(tmp_path / "saved"),
        "SUPERCLOUD_COMMIT_TEXT": expand(env["SUPERCLOUD_COMMIT_TEXT"], env),
    }
    script = 'echo state >"$1/new"; "$SUPERCLOUD_COMMIT" commit step "$1/new"; echo "${SUPERCLOUD_COMMIT_TEXT-none}"'
    done = run(_START_SCRIPT + _SINGLE_TASK_SCRIPT, ["sh", "-c", script, "sh", str(tmp_path)], **variables)
    assert done.stdout.splitlines() == [f"{tmp_path}/saved/0000010003-00000001-step", "none"], done.stderr
    assert (tmp_path / "saved" / "0000010003-00000001-step").read_text() == "state\n"


@pytest.mark.slow
def test_several_tasks_of_a_pod_end_together() -> None:
    show = run(_START_SCRIPT + _MULTI_TASK_SCRIPT, ["sh", "-c", "echo $RANK $LOCAL_RANK"], LOCAL_WORLD_SIZE="2", n="2")
    assert sorted(show.stdout.splitlines()) == ["2 0", "3 1"] and show.returncode == 0
    fails = run(
        _START_SCRIPT + _MULTI_TASK_SCRIPT,
        ["sh", "-c", '[ "$LOCAL_RANK" = 0 ] && exec sleep 300; exit 5'],
        LOCAL_WORLD_SIZE="2",
    )
    assert fails.returncode == 5


@pytest.mark.slow
def test_a_terminated_pod_gives_its_tasks_time_to_save(tmp_path: Path) -> None:
    """The shell of several tasks waits shorter here, and one of them needs many of its turns to save what it has."""
    (tmp_path / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.05\n")
    (tmp_path / "sleep").chmod(0o755)
    task = """\
[ "$LOCAL_RANK" != 0 ] || trap '/bin/sleep 1; echo saved; exit 0' TERM
echo ready
n=0
while [ "$n" -lt 1200 ]; do /bin/sleep 0.05; n=$((n + 1)); done
"""
    env = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "NODE_RANK": "0",
        "LOCAL_WORLD_SIZE": "3",
        "SUPERCLOUD_EPOCH_BEFORE": "10000",
        "SUPERCLOUD_RESTART": "0",
    }
    with subprocess.Popen(
        ["sh", "-c", _START_SCRIPT + _MULTI_TASK_SCRIPT, "sh", "sh", "-c", task],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as pod:
        assert pod.stdout
        assert [pod.stdout.readline() for _ in range(3)] == ["ready\n"] * 3
        pod.terminate()
        assert pod.communicate(timeout=180) == ("saved\n", None)
    assert pod.returncode == 143
