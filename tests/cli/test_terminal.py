"""No text of a scheduler, a file or a name controls the terminal of the reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from supercloud.cli import output
from supercloud.errors import Finding, InputError, OperationError
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store

EVIL = "a\x1b]0;title\x07\x1b[2J\r\x9b1mb\x7f\u202ec\x08"
OBEYED = [sign for sign in EVIL if not sign.isalnum() and sign not in "]0;[2"]


def read_output(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text and not set(text) & set(OBEYED), ascii(text)
    return text


def test_control_characters_are_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    for call in (
        lambda: output.print_result(EVIL),
        lambda: output.print_note(EVIL),
        lambda: output.report_error(OperationError(EVIL)),
        lambda: output.report_error(InputError(EVIL, [Finding("x", "error", EVIL, EVIL, EVIL)])),
        lambda: output.print_findings([Finding("x", "note", EVIL, EVIL)]),
        lambda: output.print_result("\n".join(output.format_columns([[EVIL, "x"], ["y", EVIL]]))),
    ):
        call()
        assert "\\x1b]0;title\\x07" in read_output(capsys)


def test_text_of_users_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_result("größe\t8 × h100 → 東京\nnext")
    assert capsys.readouterr().out == "größe\t8 × h100 → 東京\nnext\n"
    assert output.format_columns([["a\nb", "c"]]) == ["a\\nb  c"], "a cell is one line"


def test_json_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({EVIL: [EVIL, "größe\n"]})
    assert json.loads(read_output(capsys)) == {EVIL: [EVIL, "größe\n"]}


@pytest.mark.slow
def test_control_characters_from_schedulers_specs_and_logs_are_escaped(tmp_path: Path) -> None:
    with Store(tmp_path / "state") as store:
        record, _ = store.record(NewJob(key="k", name="job", spec="{}", fleet="f", is_held=True))
        store.record_statuses({record.id: Status(State.FAILED, 1, EVIL)})
        lost, _ = store.record(
            NewJob(
                key="lost", name=EVIL, spec="{}", assignment=Assignment(connection='{"engine":"fake"}', engine="fake")
            )
        )
        assert store.begin_submission(lost.id)
        store.record_submitted(lost.id, "its engine does not know it, which is logged")
    (tmp_path / "spec.yaml").write_text('name: a\n"pools\\e[2J": 1\n')
    wait = ["wait", str(lost.id), "--timeout", "0"]
    for words in (["jobs"], ["plan", "spec.yaml"], ["catalog", "up\x1b[2J"], wait):
        command = [sys.executable, "-m", "supercloud", *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "SUPERCLOUD_STATE": str(tmp_path / "state")},
        )
        assert not set(done.stdout + done.stderr) & set(OBEYED), ascii(done.stdout + done.stderr)
    assert done.stderr.count("key lost) is UNKNOWN: job not found by fake") == 1
    assert f"supercloud store forget {lost.id}" in " ".join(done.stderr.split()), "waiting may take for ever"
