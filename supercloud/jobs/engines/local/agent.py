"""The process that works the local queue off. ``python -m supercloud.jobs.engines.local.agent`` is started by ``bell``.

Everything it decides is in the queue or in the folders of the runs before it is done, so it may be killed anywhere: the
next agent reads where things stand and goes on. Once per step it looks at all that runs, then starts what fits.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from ....errors import EngineError, StoreError
from ...store.processes import boot
from ...store.states import State
from .bell import open_pipe
from .queue import Queue, Task
from .runs import Run, left_behind, signal_all
from .slots import capacity, lease
from .tasks import task_env
from .verdicts import again, late, time_left

_HEARTBEAT = 1.0  # seconds between two looks when nothing rings and nothing ends
_BLIND = 0.05  # the same where the system cannot tell us of the end of a process
_LOOK_AHEAD = 256
_GATHER = 0.005  # seconds after a ring in which others may ring as well: one write to the disk serves them all


class Agent:
    """Runs the jobs of one state folder."""

    def __init__(self, folder: Path, pipe: int, idle: float):
        self.folder, self.idle = folder, idle
        self.queue = Queue(folder)
        self.children: dict[Run, subprocess.Popen[bytes]] = {}
        self.watched: dict[int, int] = {}
        self.kill_at: dict[int, float] = {}
        self.ended: list[tuple[int, State, str, int | None]] = []
        self.broken: dict[int, str] = {}
        self.selector = selectors.DefaultSelector()
        self.pipe = pipe
        self.selector.register(pipe, selectors.EVENT_READ)
        self.heartbeat = _HEARTBEAT

    def serve(self) -> None:
        """Work until there has been nothing to do for a while."""
        busy_at = time.monotonic()
        while True:
            running = [task for task in self.queue.running() if self.look_at(task)]
            self.write_ends()
            running += self.start(running)
            self.reap(running)
            if running or not self.queue.empty():
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= self.idle and self.may_leave():
                return
            self.sleep(running)

    def write_ends(self) -> None:
        """Write down what has ended since the last look: however much it is, it costs one write to the disk."""
        withdrawn = self.queue.withdrawn()
        if not self.ended and not withdrawn:
            return
        with self.queue.writing():
            for task in withdrawn:
                self.queue.end(task.ref, State.CANCELLED, "cancelled before it began", None)
            for ref, state, reason, code in self.ended:
                self.queue.end(ref, state, reason, code)
        self.ended.clear()

    def may_leave(self) -> bool:
        """Stop listening; whoever rings from here on starts another agent. Whoever rang before is in the queue."""
        self.selector.unregister(self.pipe)
        os.close(self.pipe)
        if self.queue.empty():
            return True
        self.pipe = open_pipe(self.folder)
        self.selector.register(self.pipe, selectors.EVENT_READ)
        return False

    # -- one job -----------------------------------------------------------------------------------------------------

    def runs(self, task: Task) -> list[Run]:
        """All tasks of the current attempt."""
        count = int(task.number("nodes") * task.number("tasks_per_node"))
        return [Run(self.folder, task.key, task.attempt, rank) for rank in range(count)]

    def look_at(self, task: Task) -> bool:
        """Take note of what has happened to a job; False when it runs no more."""
        runs = self.runs(task)
        codes: list[int] = []
        alive: list[Run] = []
        lost: list[Run] = []
        for run in runs:
            code = self.fate_of(run, task)
            if code is None:
                alive.append(run)
            elif code < 0:
                lost.append(run)
            else:
                codes.append(code)
        bad = next((code for code in codes if code), None)
        if task.verdict:
            return self.finish_off(task, alive)
        if lost:
            return self.condemn(task, State.NODE_FAIL, f"its process was lost in attempt {task.attempt}", None)
        if bad is not None and alive:
            return self.condemn(task, State.FAILED, f"one of its {len(runs)} tasks ended with exit code {bad}", bad)
        if not alive:
            if left_behind(runs):
                signal_all(self.folder, task.key, task.attempt, signal.SIGKILL)
            if bad is not None and task.ref not in self.broken and again(task, State.FAILED, bad):
                self.queue.again(task.ref, f"ended with exit code {bad}; it is started again")
                return False
            state = State.COMPLETED if bad is None else State.FAILED
            said = self.broken.get(task.ref) or (f"ended with exit code {bad}" if bad is not None else task.reason)
            self.ended.append((task.ref, state, said, bad or 0))
            return False
        if task.cancelled:
            return self.condemn(task, State.CANCELLED, "cancelled", None)
        if reason := late(task):
            return self.condemn(task, State.TIMEOUT, reason, None)
        return True

    def fate_of(self, run: Run, task: Task) -> int | None:
        """The exit code of a task, None while it runs or is being started, -1 when it was lost or never began."""
        code = run.exit_code()
        if code is not None:
            return code
        process = run.process()
        child = self.children.get(run)
        if process is None and (task.verdict or task.boot != boot()):
            run.forbid()  # of another boot: the machine went down, or another one with this home was about to start it
            process = run.process()
        if process is None:
            if task.ref in self.broken:
                return 126
            if child is None:
                self.spawn(run, task)
            elif (ended := child.poll()) is not None and run.process() is None:
                del self.children[run]  # a wrapper that was killed before it claimed anything: once more
                if ended > 0:
                    self.broken[task.ref] = "it could not be started: its folder cannot be written"
            return None
        alive = process.alive
        if alive:
            self.watch(process.pid)
        if alive or (alive is None and run.is_held()):
            return None
        code = run.exit_code()  # it may have ended between the two looks
        if code is None and child is not None and child.pid == process.pid and (child.poll() or 0) > 0:
            return child.returncode  # the disk was full: its code could not be written, but we are its parent
        return -1 if code is None else code

    def condemn(self, task: Task, verdict: State, reason: str, code: int | None) -> bool:
        """Write down how a job ends, then begin to end it."""
        self.queue.condemn(task.ref, verdict, reason, code)
        self.end(task, signal.SIGTERM)
        self.kill_at[task.ref] = time.monotonic() + task.number("grace")
        return True

    def end(self, task: Task, number: int) -> int:
        """Send a signal to all processes of a job but its wrappers, which write down how it ended."""
        wrappers = [process.pid for run in self.runs(task) if (process := run.process()) and process.alive]
        return signal_all(self.folder, task.key, task.attempt, number, wrappers)

    def finish_off(self, task: Task, alive: list[Run]) -> bool:
        """See a condemned job to its end."""
        if task.ref not in self.kill_at:  # the agent that condemned it is gone
            return self.condemn(task, State(task.verdict), task.reason, task.exit_code)
        hard = time.monotonic() >= self.kill_at[task.ref]
        remain = self.end(task, signal.SIGKILL if hard else 0)
        if alive or (remain and not hard):
            return True
        del self.kill_at[task.ref]
        if again(task, State(task.verdict), task.exit_code):
            self.queue.again(task.ref, f"{task.reason}; it is started again")
        else:
            self.ended.append((task.ref, State(task.verdict), task.reason, task.exit_code))
        return False

    # -- starting ----------------------------------------------------------------------------------------------------

    def start(self, running: list[Task]) -> list[Task]:
        """Start what fits, in order; returns what was started."""
        self.queue.release()
        waiting = self.queue.waiting(_LOOK_AHEAD)
        if not waiting:
            return []
        places = capacity([*running, *waiting])
        expired = [(task, reason, State.TIMEOUT) for task in waiting if (reason := late(task))]
        gone = {task.ref for task, _, _ in expired}
        leases, never = lease(running, [task for task in waiting if task.ref not in gone], places)
        hopeless = expired + [(task, reason, State.FAILED) for task, reason in never]
        begun = []
        if not leases and not hopeless:
            return []
        with self.queue.writing():
            for task, reason, state in hopeless:
                self.queue.end(task.ref, state, reason, None)
            for task, slots in leases:
                self.queue.begin(task.ref, slots, bool(slots) and places.simulated)
                begun.append(task.ref)
        started = [task for task in self.queue.running() if task.ref in set(begun)]
        for task in started:
            for run in self.runs(task):
                self.spawn(run, task)
        return started

    def spawn(self, run: Run, task: Task) -> None:
        """Start a task's wrapper; a start that happened before makes this one do nothing."""
        workdir = str(task.submission.settings["workdir"])
        try:
            self.children[run] = run.spawn(task.submission.argv, workdir, task_env(task, run.rank))
        except OSError as error:  # arguments too long, no more processes, a full disk
            self.broken[task.ref] = f"it could not be started: {error.strerror}"
        except (EngineError, StoreError) as error:  # a secret that is not there, a log of somebody else
            self.broken[task.ref] = f"it could not be started: {error}"
        else:
            self.watch(self.children[run].pid)

    def reap(self, running: Iterable[Task]) -> None:
        """Take leave of children that have ended."""
        current = {(task.key, task.attempt) for task in running}
        for run, child in list(self.children.items()):
            if child.poll() is not None and (run.key, run.attempt) not in current:
                del self.children[run]

    # -- waiting -----------------------------------------------------------------------------------------------------

    def watch(self, pid: int) -> None:
        """Be woken when a process ends."""
        if pid in self.watched:
            return
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:
            self.heartbeat = _BLIND
            return
        self.watched[pid] = handle
        self.selector.register(handle, selectors.EVENT_READ, pid)

    def sleep(self, running: Iterable[Task]) -> None:
        """Until somebody rings, a process ends, or time is up for a job."""
        patience = self.heartbeat if self.idle > self.heartbeat else self.idle
        for task in running:
            patience = min(patience, time_left(task))
        if self.kill_at:
            patience = min(patience, 0.05)
        for key, _ in self.selector.select(max(patience, 0.001)):
            if key.fd == self.pipe:
                time.sleep(_GATHER)
                os.read(self.pipe, 65536)
            else:
                self.selector.unregister(key.fd)
                os.close(key.fd)
                del self.watched[key.data]


def main(arguments: list[str]) -> int:
    """Serve one folder; the lock and the pipe come open from the process that started this one."""
    folder, lock, pipe, idle = Path(arguments[0]), int(arguments[1]), int(arguments[2]), float(arguments[3])
    os.set_inheritable(lock, False)
    os.set_inheritable(pipe, False)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    Agent(folder, pipe, idle).serve()  # what goes wrong is printed into agent.log; the next agent goes on
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
