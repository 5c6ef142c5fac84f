"""The public face: sorted, complete, light."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import EXAMPLES

import supercloud
from supercloud.jobs.api import prepare

JOB = supercloud.JobSpec(name="job", command=["true"])


def test_all_is_sorted_complete_and_importable() -> None:
    assert list(supercloud.__all__) == sorted(supercloud.__all__)
    assert set(supercloud.__all__) == set(supercloud._MODULES)
    for name in supercloud.__all__:
        assert getattr(supercloud, name) is not None
    assert set(supercloud.__all__) <= set(dir(supercloud))


@pytest.mark.slow
def test_the_import_loads_no_heavy_modules() -> None:
    heavy = "'pulumi', 'kubernetes', 'rich', 'typer', 'numpy', 'jinja2', 'pydantic', 'yaml'"
    code = f"import sys, supercloud; print([m for m in ({heavy}) if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.slow
def test_planning_needs_no_optional_package() -> None:
    code = (
        "import sys, supercloud as sc; sc.render(sc.resolve(sc.load(sys.argv[1])), 'slurm');"
        "print([m for m in ('pulumi', 'kubernetes', 'rich', 'typer', 'numpy') if m in sys.modules])"
    )
    spec = str(EXAMPLES[0])
    ran = subprocess.run([sys.executable, "-c", code, spec], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_unknown_names_are_attribute_errors() -> None:
    try:
        assert supercloud.nothing
    except AttributeError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError("found something that is not there")


@pytest.mark.parametrize(
    "call, says",
    [
        (
            lambda: supercloud.load({"name": "pod1"}),
            "load requires the path of a file, not the dict; for data in memory use ClusterSpec(**data)",
        ),
        (lambda: supercloud.load_job(None), "load_job requires the path of a file, not the NoneType"),
        (lambda: supercloud.load_fleet([]), "load_fleet requires the path of a file, not the list"),
        (
            lambda: supercloud.resolve("cluster.yaml"),
            "resolve takes a cluster spec, not the str 'cluster.yaml'; read one",
        ),
        (
            lambda: supercloud.render("cluster.yaml", "slurm"),
            "render requires a plan, not the str 'cluster.yaml'; create one",
        ),
        (lambda: supercloud.build_document("cluster.yaml"), "document and diff take plans, not the str 'cluster.yaml'"),
        (
            lambda: supercloud.place(JOB, "cluster.yaml"),
            "place takes a job and a plan, a cluster or a fleet, not the str "
            "'cluster.yaml'; create a plan: resolve(load(\"cluster.yaml\"))",
        ),
        (lambda: supercloud.why_not(JOB, Path("cluster.yaml")), "a cluster or a fleet, not the PosixPath; create"),
        (lambda: supercloud.place({"name": "job"}, "cluster.yaml"), "not the dict; create a job: JobSpec"),
        (lambda: prepare(JOB, "cluster.yaml"), "prepare requires a job and a plan, not the str 'cluster.yaml'"),
        (lambda: supercloud.submit(JOB, "cluster.yaml"), "submit requires a job and a plan or a fleet, not the str"),
        (lambda: supercloud.Executor("cluster.yaml"), "Executor requires a plan or a fleet, not the str"),
    ],
)
def test_an_argument_of_a_wrong_type_names_the_parameters_of_the_function(
    call: Callable[[], object], says: str
) -> None:
    with pytest.raises(supercloud.InputError, match=re.escape(says)):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--version",), ("--help",)], ids=" ".join)
def test_commands_without_a_spec_load_neither_its_models_nor_the_catalog(words: tuple[str, ...]) -> None:
    code = (
        "import atexit, sys; from supercloud.cli import main; sys.argv = ['supercloud', *sys.argv[1:]];"
        "atexit.register(lambda: print([m for m in ('pydantic', 'supercloud.catalog') if m in sys.modules])); main()"
    )
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
