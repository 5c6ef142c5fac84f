"""The command line of the scaler, and the order of a pass."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .capacity import grow_groups, shrink_refused
from .cloud import Cloud
from .commands import Journal, UnavailableError
from .instances import end_instances, mark_failed, mark_vanished
from .memory import Memory
from .naming import NameGiver
from .nodes import keep_nodes_on, observe_nodes, restore_topologies, retry_failed_nodes
from .settings import Paths, Settings, read_settings
from .slurm import expand_hosts
from .view import observe_groups

__all__ = ["Scaler", "main"]

_USAGE = "usage: scaler resume|suspend|fail NODES | pass | loop"
_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path with scontrol and the command line of the cloud: that of slurmctld is shorter."""
_SETTINGS = Path(__file__).resolve().parents[2] / "settings" / "scale.json"


class Scaler:
    """The program with its files and the cloud."""

    def __init__(self, root: str, settings: Path) -> None:
        self._paths, self._settings = Paths(root), settings
        self._journal, self._memory, self._cloud = Journal(self._paths.log), Memory(self._paths.state), Cloud(root)

    def log(self, text: str) -> None:
        """Write a line to the log."""
        self._journal.write(text)

    def run_pass(self) -> None:
        """Run one pass with the lock. It ends if Slurm or the cloud does not respond, with the reason in the log."""
        with self._memory.hold_lock():
            try:
                self._memory.prepare()
                # in every pass: a new bundle may have changed them
                self._run_steps(self.read_settings())
            except UnavailableError as error:
                self.log(str(error))

    def read_settings(self) -> Settings:
        """The current values of this cluster."""
        return read_settings(self._settings, os.environ)

    def mark_failed(self, hosts: str) -> None:
        """Handle nodes that Slurm has set to DOWN because they did not join in time."""
        with self._memory.hold_lock():
            try:
                self._memory.prepare()
                for node in expand_hosts(hosts):
                    mark_failed(node, self._find_failure(node), self._memory, self._journal)
            except UnavailableError as error:
                self.log(str(error))

    def _find_failure(self, node: str) -> str | None:
        """Why the cloud could not start instances for a node; the groups of its pool are asked in their order."""
        try:
            settings = self.read_settings()
        except UnavailableError:  # the node gets its reason without it
            return None
        pools = [pool for pool in settings.list_pools() if node.startswith(f"{pool}-")]
        for group in settings.list_groups(max(pools, key=len, default="")):
            failure = self._cloud.find_failure(group.key, self._memory.get_asked_since(group.key))
            if failure is not None:
                return f"{group.key}: {failure}"
        return None

    def _run_steps(self, settings: Settings) -> None:
        """Run the steps: observe, then release instances, names and capacity, then allocate them."""
        memory, cloud, journal = self._memory, self._cloud, self._journal
        view = observe_nodes(settings, self._paths.nodes, journal)
        observe_groups(view, memory, cloud)
        mark_vanished(view, memory, journal)
        end_instances(view, memory, cloud, journal)
        restore_topologies(view, journal)
        keep_nodes_on(view, memory, journal)
        retry_failed_nodes(view, memory, journal)
        NameGiver(view, memory, cloud, journal).run()
        shrink_refused(view, memory, cloud, journal)
        grow_groups(view, memory, cloud, journal)


def main(arguments: Sequence[str]) -> int:
    """Run the program; returns its exit code.

    Unexpected errors end it with a traceback: the unit restarts the loop, Slurm calls the program again, and the next
    pass continues from the state that it finds.
    """
    os.umask(0o022)
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{_SEARCH_PATH}"
    scaler = Scaler(os.environ.get("BOOT_ROOT", ""), _SETTINGS)
    verb = arguments[0] if arguments else ""
    if verb == "loop" and len(arguments) == 1:
        _run_loop(scaler)
    elif verb == "pass" and len(arguments) == 1:
        scaler.run_pass()
    elif verb in ("resume", "suspend", "fail") and len(arguments) == 2:
        _answer_slurm(scaler, verb, arguments[1])
    else:
        print(_USAGE, file=sys.stderr)
        return 2
    return 0


def _answer_slurm(scaler: Scaler, verb: str, hosts: str) -> None:
    """Run a pass for Slurm, which resumes or suspends nodes, or reports that they did not join."""
    scaler.log(f"Slurm: {verb} {hosts}")
    if verb == "fail":
        scaler.mark_failed(hosts)
    # the pass reads the states of all nodes
    scaler.run_pass()


def _run_loop(scaler: Scaler) -> None:
    """Run passes without end."""
    interval = scaler.read_settings().pass_interval
    while True:
        scaler.run_pass()
        time.sleep(interval)
