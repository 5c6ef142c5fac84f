"""What a dialect consists of: the functions that render files of a switch, and the templates that they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....plan.model.bridges import BridgedNetwork, BridgeSwitch
from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from .views import SwitchView

__all__ = ["BridgedFiles", "Files", "RoutedFiles", "SwitchDialect", "Unsupported"]

Files = dict[str, File | str]
"""Paths in the folder of a tier, with their contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedFiles:
    """How switches of routed fabrics (RoCE) are configured."""

    render_switch: Callable[[SwitchView, Underlay], Files]
    """Render the files of one switch: names, addresses, BGP."""
    render_tier: Callable[[SwitchRun, Underlay, Sequence[str]], Files]
    """Render the common files of all switches of a tier, whose used ports are the last argument: lossless QoS."""
    load_template: str
    """Template of INSTALL.md's section on how the files are loaded; it has the network system as ``system``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedFiles:
    """How switches of bridged networks (in-band, management) are configured."""

    render_switch: Callable[[BridgeSwitch, BridgedNetwork], Files]
    """Render the files of one switch: VLANs, link aggregation, spanning tree, its management address."""
    load_template: str
    """Template of INSTALL.md's section on how the files are loaded; it has the network system as ``system``."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A kind of network that a dialect does not configure, and the reason, which messages and INSTALL.md show."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchDialect:
    """A configuration language of switches. Network systems of the catalog refer to it by its name in ``DIALECTS``.

    What only some releases or products lack (link aggregation over two switches, a spanning tree) is data of the
    network system, not of the dialect.
    """

    routed: RoutedFiles | Unsupported
    bridged: BridgedFiles | Unsupported
    templates: tuple[str, ...]
    """Templates that the functions use; all are checked before the first file is rendered."""

    def list_templates(self) -> tuple[str, ...]:
        """Return all templates, also those of the instructions to load the files."""
        kinds = [kind for kind in (self.routed, self.bridged) if not isinstance(kind, Unsupported)]
        return (*self.templates, *(kind.load_template for kind in kinds))
