"""``explain`` and the reference of fields: every field can be found, and has a description."""

import pytest

from supercloud.errors import UnknownNameError
from supercloud.spec.explain import explain_field, explain_forms, iter_fields
from supercloud.spec.schema import DOCUMENTS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_field_has_a_description_and_a_type(document):
    fields = list(iter_fields(explain_field(document)))
    assert len(fields) > 20
    assert [item.path for item in fields if not item.description or "value" in item.type] == []


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_field_is_found_by_its_path(document):
    for item in iter_fields(explain_field(document)):
        assert explain_field(f"{document}.{item.path}").path == item.path


def test_a_field_has_its_unit_bounds_default_and_choices():
    power = {child.name: child for child in explain_field("facility.power").children[0].fields}
    assert power["budget"].type == "power, such as 120 kW" and power["budget"].example == "120 kW"
    assert (power["feeds"].type, power["feeds"].default) == ("whole number, 1 to 256", "")
    assert power["redundancy"].type == "one of N, N+1, 2N, 3N/2"
    assert explain_field("scheduler").is_required and not explain_field("network").is_required


def test_forms_of_a_field_are_listed_separately():
    conditions = [group.condition for group in explain_field("pools[0].capacity").children]
    assert {"kind: spot", "kind: reservation"} <= set(conditions)
    assert explain_field("scheduler.partitions.max_time").type == "duration, such as 24 h"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path, conditions",
    [
        ("scheduler.controllers", ["scheduler.kind: slurm", "scheduler.kind: kubernetes"]),
        ("scheduler.version", ["scheduler.kind: slurm", "scheduler.kind: kubernetes"]),
        ("scheduler.partitions", [""]),
    ],
)
def test_all_forms_of_a_field_are_listed_with_their_condition(path, conditions):
    """Only the first was, with its default: that of Slurm where the scheduler is Kubernetes."""
    forms = explain_forms(path)
    assert [form.condition for form in forms] == conditions
    assert len({(form.default, form.description, form.children) for form in forms}) == len(conditions)
    parent = explain_field(path.rpartition(".")[0])
    assert [item for item in iter_fields(parent) if item.path == path] == list(forms)


@pytest.mark.slow
def test_defaults_that_depend_on_other_fields_are_described():
    """The printed default did not count: the fleet's policy and the redundancy decide."""
    for path, words in (("job.place.minimize", "policy.minimize"), ("facility.power.feeds", "3 with redundancy")):
        found = explain_field(path)
        assert not found.default and words in found.description


def test_an_unknown_field_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean budget"):
        explain_field("facility.power.budgt")
