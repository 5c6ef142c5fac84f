"""The public face: sorted, complete, light."""

from __future__ import annotations

import subprocess
import sys

from samples import EXAMPLES

import supercloud


def test_all_is_sorted_complete_and_importable() -> None:
    assert list(supercloud.__all__) == sorted(supercloud.__all__)
    assert set(supercloud.__all__) == set(supercloud._HOME)
    for name in supercloud.__all__:
        assert getattr(supercloud, name) is not None
    assert set(supercloud.__all__) <= set(dir(supercloud))


def test_importing_it_imports_nothing_heavy() -> None:
    heavy = "'pulumi', 'kubernetes', 'rich', 'typer', 'numpy', 'jinja2', 'pydantic', 'yaml'"
    code = f"import sys, supercloud; print([m for m in ({heavy}) if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


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
