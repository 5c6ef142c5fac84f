"""The life of a stack on the real engine: creation, drift, growth, replacement and deletion."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from engine import EXPECTED_NO_CHANGES, Engine, list_operations, select_changes
from subjects import SECRET, Subject


def get_type(urn: str) -> str:
    """The type of a URN."""
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]


@pytest.mark.parametrize("attached", [True, False], ids=["attached", "processes"])
def test_a_new_stack_matches_its_preview(start: Callable[..., Engine], subject: Subject, attached: bool):
    engine = start(subject, attached=attached)
    preview = engine.preview()
    done = engine.up()
    assert select_changes(preview["changeSummary"]) == done, "a resource created in an apply is not in the preview"
    assert list_operations(preview).keys() == engine.list_resources().keys()
    engine.run("preview", "--expect-no-changes")
    engine.run("preview", "--refresh", "--expect-no-changes")


def test_drift_is_detected_and_repaired(engine: Engine, subject: Subject):
    engine.up()
    objects = engine.cloud.objects()
    state = {item["id"]: urn for urn, item in engine.list_resources().items() if item.get("custom")}
    lost = min(key for key in objects if key in _list_unused(engine))  # the order of objects is random
    meddled = min(key for key, item in objects.items() if "tags" in item["inputs"] and key != lost)
    engine.cloud.lose(lost)
    engine.cloud.meddle(meddled, tags={"changed": "by hand"})
    drift = ("preview", "--refresh", "--expect-no-changes")
    engine.run(*drift, code=EXPECTED_NO_CHANGES)
    engine.run("up", "--yes", "--refresh")
    assert {item["urn"] for item in engine.cloud.objects().values()} >= {state[lost], state[meddled]}
    assert engine.cloud.objects()[meddled]["inputs"]["tags"] != {"changed": "by hand"}
    engine.run(*drift)


def _list_unused(engine: Engine) -> set[str]:
    """Objects on which no other resource depends: replacing them changes nothing else."""
    resources = engine.list_resources()
    used = {urn for item in resources.values() for urn in item.get("dependencies", [])}
    return {item["id"] for urn, item in resources.items() if item.get("custom") and urn not in used}


def test_growth_changes_no_other_resource(engine: Engine, subject: Subject):
    engine.up()
    before = engine.cloud.objects().keys()
    subject.grow(engine)
    announced = list_operations(engine.preview())
    assert {(get_type(urn), op) for urn, op in announced.items()} == {(name, "update") for name in subject.grown}
    assert select_changes(engine.up()) == {"update": len(announced)}
    assert engine.cloud.objects().keys() == before, "no object was replaced"
    engine.run("preview", "--expect-no-changes")


def test_only_what_was_announced_is_replaced(engine: Engine, subject: Subject):
    engine.up()
    before = {item["urn"]: key for key, item in engine.cloud.objects().items()}
    subject.move(engine)
    announced = list_operations(engine.preview(), "replace", "create-replacement", "delete-replaced")
    assert {get_type(urn) for urn in announced} == subject.moved
    engine.up()
    after = {item["urn"]: key for key, item in engine.cloud.objects().items()}
    assert before.keys() == after.keys()
    assert {urn for urn in before if before[urn] != after[urn]} == announced.keys()
    assert len(engine.cloud.objects()) == len(after), "no replaced object remains"


def test_state_is_not_replaced_while_it_is_protected(engine: Engine, subject: Subject):
    engine.up()
    before = engine.cloud.objects().keys()
    subject.uproot(engine)
    refused = engine.run("up", "--yes", code=None)
    assert refused.code == 1 and "unable to replace resource" in refused.text
    assert engine.cloud.objects().keys() == before


def test_an_update_follows_the_saved_plan(engine: Engine, subject: Subject):
    engine.up()
    subject.grow(engine)
    plan = engine.folder / "plan.json"
    engine.run("preview", f"--save-plan={plan}")
    objects = engine.cloud.objects()
    subject.move(engine)
    refused = engine.run("up", "--yes", "--skip-preview", f"--plan={plan}", code=None)
    assert refused.code == 1 and "violates plan" in refused.text
    assert engine.cloud.objects().keys() == objects.keys(), "nothing was replaced"


def test_an_unchanged_plan_is_applied(engine: Engine, subject: Subject):
    engine.up()
    subject.grow(engine)
    plan = engine.folder / "plan.json"
    engine.run("preview", f"--save-plan={plan}")
    engine.run("up", "--yes", "--skip-preview", f"--plan={plan}")
    assert set(select_changes(engine.count_changes())) == {"update"}


def test_protected_state_survives_destroy(engine: Engine, subject: Subject):
    engine.up()
    before = engine.cloud.objects()
    refused = engine.run("destroy", "--yes", code=None)
    assert refused.code == 1 and "because it is protected" in refused.text
    assert engine.cloud.objects() == before, "refused before anything was deleted"
    subject.release(engine)
    engine.run("destroy", "--yes")
    assert not engine.cloud.objects()


def test_no_secret_is_shown_or_stored_unencrypted(engine: Engine, subject: Subject):
    shown = [engine.run("preview", "--diff").text, engine.run("up", "--yes", "--diff").text]
    shown += [engine.run("preview", "--json").text, engine.run("stack", "export").text, engine.run("stack").text]
    for text in (*shown, engine.read_state_text()):
        assert SECRET not in text
    arrived = SECRET in (engine.folder / "cloud" / "cloud.json").read_text()
    assert arrived is bool(subject.secrets), "only the cloud gets the secret"
