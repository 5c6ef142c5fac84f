"""The public face."""

import subprocess
import sys
from pathlib import Path

import pytest

from supercloud import topology


def test_exports_are_sorted_complete_and_documented():
    assert topology.__all__ == sorted(topology.__all__) == dir(topology)
    assert sorted(name for names in topology._MODULES.values() for name in names) == topology.__all__
    for name in topology.__all__:
        assert getattr(topology, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'hypercube'"):
        topology.hypercube  # noqa: B018


@pytest.mark.slow
def test_builders_need_neither_numpy_nor_the_rest_of_the_project():
    code = (
        "import sys, supercloud.topology as t\n"
        "assert 'dataclasses' not in sys.modules, 'importing the package loads its modules'\n"
        "for name in t.__all__: getattr(t, name)\n"
        "fabric = t.build_rail_optimized(t.RailOptimized(12500, rails=8, radix=144))\n"
        "assert fabric.count_hops(0, 12499) == 5 and next(fabric.iter_links()).target_kind == 'leaf'\n"
        "ours = {m for m in sys.modules if m.startswith('supercloud.')}\n"
        "strangers = {m for m in ours if not m.startswith('supercloud.topology')} - {'supercloud._version'}\n"
        "assert not strangers, strangers\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_shape_is_exported():
    shapes = Path(topology.__file__).parent / "shapes"
    files = {f"shapes.{path.stem}" for path in shapes.glob("*.py") if path.stem != "__init__"}
    assert files == {module for module in topology._MODULES if module.startswith("shapes.")}
