"""Installed provider SDKs: which Python package serves a Pulumi package, and which class a token.

No provider is known by name. A generated SDK carries a ``pulumi-plugin.json`` with the name of its Pulumi package, and
registers its modules and classes with the Pulumi runtime when it is imported.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pulumi
from pulumi.runtime import rpc

PROVIDER = "pulumi:providers:"
_ONE_AT_A_TIME = threading.RLock()


def expect_warnings() -> None:
    """Let modules of generated SDKs warn of the deprecated classes that they define, whether these are used or not."""
    warnings.filterwarnings("ignore", ".* has been deprecated in favor of", DeprecationWarning)


@contextmanager
def guard_loading() -> Iterator[None]:
    """Around every look into a generated SDK: a module loads at the first, which two threads must not take at once."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        expect_warnings()
        yield


class Unknown(LookupError):
    """No installed SDK has this package or this token."""


@cache
def list_installed() -> Mapping[str, tuple[str, str]]:
    """Pulumi package -> (Python package, version), from what is installed."""
    found = {}
    for folder in reversed(sys.path):
        for file in sorted(Path(folder or ".").glob("*/pulumi-plugin.json")):
            described = json.loads(file.read_text())
            if described.get("resource") and described.get("name"):
                found[described["name"]] = (file.parent.name, described.get("version", ""))
    return found


def get_package(token: str) -> str:
    """The Pulumi package of a token: ``aws`` of ``aws:ec2/vpc:Vpc`` and of ``pulumi:providers:aws``."""
    return token.removeprefix(PROVIDER) if token.startswith(PROVIDER) else token.split(":", maxsplit=1)[0]


def get_version(package: str) -> str:
    """The installed version of a package's SDK."""
    return list_installed()[package][1] if package in list_installed() else ""


@cache
def find_resource_class(token: str) -> type:
    """The generated class of a resource or of a provider.

    Raises:
        Unknown: no SDK of this package is installed, or it has no such type.
    """
    with guard_loading():
        return _find_resource_class(token)


def _find_resource_class(token: str) -> type:
    package = get_package(token)
    if package not in list_installed():
        raise Unknown(f"no SDK of package {package!r} is installed; there are {', '.join(sorted(list_installed()))}")
    importlib.import_module(list_installed()[package][0])
    if token.startswith(PROVIDER):
        served = rpc.get_resource_package(package, "")
        where = served.pkg_info if served else {}  # type: ignore[attr-defined]
        name = where.get("class")
    else:
        module = rpc.get_resource_module(package, token.split(":")[1], "")
        where = module.mod_info if module else {}  # type: ignore[attr-defined]
        name = where.get("classes", {}).get(token)
    if name is None:
        raise Unknown(f"the SDK of package {package!r}, {get_version(package)}, has no type {token!r}")
    found = getattr(importlib.import_module(where["fqn"]), name)
    assert issubclass(found, pulumi.Resource)
    return found


def find_inputs_class(resource: type) -> type:
    """The class of a resource's inputs, beside it: ``PodInitArgs`` where ``PodArgs`` is the name of a nested type."""
    module = sys.modules[resource.__module__]
    for suffix in ("InitArgs", "Args"):
        if hasattr(module, resource.__name__ + suffix):
            found: type = getattr(module, resource.__name__ + suffix)
            return found
    raise Unknown(f"{resource.__name__} has no class of inputs")
