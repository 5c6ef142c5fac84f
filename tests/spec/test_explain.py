"""``explain`` and the reference of fields: every field can be found, and is documented completely."""

from functools import cache
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from supercloud.errors import InputError, UnknownNameError
from supercloud.spec import hints
from supercloud.spec.base import Model
from supercloud.spec.explain import explain_field, explain_forms, iter_fields
from supercloud.spec.field_docs import add_examples
from supercloud.spec.schema import DOCUMENTS


@cache
def list_fields(document):
    return tuple(iter_fields(explain_field(document)))


def list_models() -> list[type[Model]]:
    """All models of the documents."""
    found: dict[type[Model], None] = {}

    def add(model: Any) -> None:
        if model not in found:
            found[model] = None
            for info in model.model_fields.values():
                for item in hints.list_models(info):
                    add(item)

    for document in DOCUMENTS.values():
        add(document)
    return list(found)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_field_has_a_description_a_type_and_an_example(document):
    fields = list_fields(document)
    assert len(fields) > 20
    lacking = [item.path for item in fields if not item.description or "value" in item.type or not item.example]
    assert not lacking, "end the docstring in: Example: ``value``."


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_optional_field_says_what_holds_without_it(document):
    lacking = [item.path for item in list_fields(document) if not (item.is_required or item.default or item.absence)]
    assert not lacking, "write 'empty means …' in the docstring"
    assert not [item.path for item in list_fields(document) if item.is_required and (item.default or item.absence)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_number_with_a_fraction_has_a_unit(document):
    def is_quantity(kind: str) -> bool:
        return "number" in kind.replace("whole number", "").split(",")[0]

    assert not [item.path for item in list_fields(document) if is_quantity(item.type) and not item.unit]


@pytest.mark.parametrize("model", list_models(), ids=lambda model: model.__name__)
def test_every_example_is_accepted_by_its_field_and_its_schema(model):
    schema = add_examples(model.model_json_schema())
    for name, info in model.model_fields.items():
        kind: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        field = schema["properties"][name]
        [example] = field["examples"]
        TypeAdapter(kind).validate_python(example)
        jsonschema.Draft202012Validator(field | {"$defs": schema.get("$defs", {})}).validate(example)
        assert info.is_required() or example != info.default, f"{name}: the example is the default"


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_field_is_found_by_its_path(document):
    for item in list_fields(document):
        assert explain_field(item.path).path == item.path


def test_a_field_has_its_unit_bounds_default_and_choices():
    power = {child.name: child for child in explain_field("facility.power").children[0].fields}
    budget, feeds = power["budget"], power["feeds"]
    assert (budget.type, budget.unit, budget.example) == ("power", "W, kW, MW, GW", "1.2 MW")
    assert (feeds.type, feeds.default, feeds.absence) == ("whole number, 1 to 256", "", "2, or 3 with redundancy 3N/2")
    assert feeds.description == "Independent feeds (A, B, …)."
    assert power["redundancy"].type == "one of N, N+1, 2N, 3N/2"
    assert explain_field("scheduler").is_required and not explain_field("network").is_required


def test_bounds_that_only_protect_computations_are_not_shown():
    assert explain_field("job.model.parameters").type == "number of parameters"
    assert explain_field("job.accelerators.fraction").type == "number, more than 0, at most 1"
    assert explain_field("storage.options").type == "mapping of string or whole number or true or false"
    assert explain_field("scheduler.version").type == "release"


def test_paths_begin_with_the_document_unless_it_is_the_cluster():
    assert explain_field("job").path == "job"
    assert [child.path for child in explain_field("job.place").children[0].fields][:2] == [
        "job.place.minimize",
        "job.place.clusters",
    ]
    assert explain_field("cluster.facility.power").path == "facility.power"


def test_forms_of_a_field_are_listed_separately():
    conditions = [group.condition for group in explain_field("pools[0].capacity").children]
    assert {"kind: spot", "kind: reservation"} <= set(conditions)
    assert explain_field("scheduler.partitions.max_time").type == "duration"


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
        assert not found.default and words in found.absence


@pytest.mark.parametrize(
    "path, message",
    [
        ("facility.power.budgt", "did you mean budget"),
        ("flet", "did you mean fleet"),
        ("place", "did you mean job.place"),
    ],
)
def test_an_unknown_field_suggests_the_nearest(path, message):
    with pytest.raises(InputError, match=message):
        explain_field(path)


def test_a_field_without_fields_says_so():
    with pytest.raises(InputError, match="^name has no fields: its type is name$"):
        explain_field("name.x")
    with pytest.raises(UnknownNameError):
        explain_field("job.place.x")


@pytest.mark.parametrize("path", ["", ".", "cluster.", ".facility", "facility..power"])
def test_an_invalid_path_is_rejected(path):
    with pytest.raises(InputError, match="is not a path of a field"):
        explain_field(path)
