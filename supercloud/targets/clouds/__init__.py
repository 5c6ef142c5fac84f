"""Plan in, Pulumi resources out. Importing this loads no cloud SDK; programs use :mod:`.component`.

A cloud is a function ``build(context: BuildContext) -> ClusterOutputs`` that registers resources for ``context.cloud``.
To add one, write its folder and add it to ``CLOUDS``; nothing else here depends on a provider.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from ...errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .build_context import BuildContext, ClusterOutputs

__all__ = ["CLOUDS", "load_builder"]

CLOUDS: dict[str, str] = {
    "aws": "supercloud.targets.clouds.aws:build",
}


def load_builder(provider: str) -> Callable[[BuildContext], ClusterOutputs]:
    """Return the builder of a provider; raises :class:`UnknownNameError` if there is none."""
    if provider not in CLOUDS:
        raise UnknownNameError("cloud with resources", provider, CLOUDS)
    module, _, function = CLOUDS[provider].partition(":")
    return cast("Callable[[BuildContext], ClusterOutputs]", getattr(import_module(module), function))
