"""Every function of the package is called by the package, or is part of an interface that other code calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest
from samples import ROOT

EXTERNAL = {
    # called by a library: JSON handlers, HTTP handlers and openers, YAML dumpers, logging
    *("emit", "http_open", "https_open", "ignore_aliases", "redirect_request", "_load_from_exec_plugin"),
    # public methods of values that the Python API returns
    *("count_hops", "find_block", "get_level", "get_node_link", "iter_block_nodes", "iter_block_shapes"),
    *("list_neighbors", "spare_ports"),
    # what tests compare with other implementations: OpenSM's tables, the best interval of checkpoints, the schema,
    # addresses of switches, and what an API server answers
    *("build_port_keys", "compute_waste", "find_key_match", "get_switch_run", "get_version", "review"),
    # the rows of a listing, grouped by job as tests compare them
    *("parse_accounts", "parse_queue"),
    # called by the generator of the reference, and under another name by the command
    *("explain_field", "render_report"),
    # found by its name in the table of commands
    "verify_cabling",
}
"""Functions without a call in the package."""
_CALLED_BY_DECORATOR = ("model_validator", "field_validator", "callback")


def iter_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions and methods, except special ones and those that a decorator registers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            decorators = " ".join(ast.unparse(item) for item in node.decorator_list)
            if not any(name in decorators for name in _CALLED_BY_DECORATOR):
                yield node


def iter_names(tree: ast.Module) -> Iterator[str]:
    """Names that a module reads, also in strings such as ``module:render``; not ``__all__``, not imports."""
    public = {
        id(item)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for item in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in public:
            yield node.value.rpartition(":")[2].rpartition(".")[2]


def find_unused(sources: dict[str, str], texts: str = "") -> set[str]:
    """Functions of modules that no module reads and whose name no template or page contains."""
    trees = [ast.parse(source) for source in sources.values()]
    used = Counter(name for tree in trees for name in iter_names(tree))
    defined = {node.name for tree in trees for node in iter_functions(tree)}
    return {name for name in defined if not used[name] and name not in texts}


@pytest.mark.slow
def test_every_function_is_called() -> None:
    sources = {str(path): path.read_text(encoding="utf-8") for path in (ROOT / "supercloud").rglob("*.py")}
    templates = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.j2"))
    found = find_unused(sources, templates)
    assert not sorted(found - EXTERNAL), "delete them, or list what calls them"
    assert not sorted(EXTERNAL - found), "they are called: remove the exceptions"


def test_a_function_that_nothing_calls_is_found() -> None:
    module = (
        '__all__ = ["dead"]\ndef dead(): pass\ndef alive(): pass\nTABLE = {"x": "module:named"}\ndef named(): alive()\n'
    )
    assert find_unused({"a": module}) == {"dead"}
