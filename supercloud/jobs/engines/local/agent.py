"""The process that processes the local queue. ``python -m supercloud.jobs.engines.local.agent`` is started by ``bell``.

Every decision is recorded in the queue or in the folders of the runs before it is acted on, so the agent may be killed
at any point: the next one reads the state and continues. In each step it checks all running jobs, then starts what
fits.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from ....errors import EngineError, StoreError
from ...store.processes import ProcessId, read_boot_id
from ...store.states import State
from .bell import open_pipe
from .queue import Queue, Task
from .runs import LOST, Run, RunProgress, build_result_path, has_leftover_processes, signal_all
from .slots import Capacity, compute_capacity, lease_slots
from .tasks import build_task_environment
from .verdicts import can_retry, compute_time_left, find_exceeded_limit, find_termination

_HEARTBEAT = 1.0  # seconds between two steps without a wake-up or the end of a process
_HEARTBEAT_WITHOUT_PIDFD = 0.05  # the same if the system cannot notify of the end of a process
_MAX_WAITING_TASKS = 256
_WAKE_UP_DELAY = 0.005  # seconds after a wake-up to wait for more: one write to disk serves them all
_KILL_TIMEOUT = 10.0  # seconds after SIGKILL until the wrappers are killed too, which otherwise record the exit code
_MAX_REASON_LENGTH = 300


class Agent:
    """Runs the jobs of one state folder."""

    def __init__(self, folder: Path, pipe: int, idle: float):
        self.folder, self.idle = folder, idle
        self.queue = Queue(folder)
        self.children: dict[Run, subprocess.Popen[bytes]] = {}
        self.watched_pids: dict[int, int] = {}
        self.kill_deadlines: dict[int, float] = {}
        self.unrecorded_ends: list[tuple[int, State, str, int | None]] = []
        self.start_failures: dict[int, str] = {}
        self.selector = selectors.DefaultSelector()
        self.pipe = pipe
        self.selector.register(pipe, selectors.EVENT_READ)
        self.heartbeat = _HEARTBEAT

    def serve(self) -> None:
        """Run until the queue has been idle for a while."""
        busy_at = time.monotonic()
        while True:
            running = [task for task in self.queue.list_running() if self.try_update_task(task)]
            self.record_ends()
            running += self.start_tasks(running)
            self.reap(running)
            if running or not self.queue.is_empty():
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= self.idle and self.try_shutdown():
                return
            self.sleep(running)

    def record_ends(self) -> None:
        """Record the jobs that have ended since the last step, with one write to disk."""
        withdrawn = self.queue.list_cancelled_waiting()
        if not self.unrecorded_ends and not withdrawn:
            return
        with self.queue.transaction():
            for task in withdrawn:
                self.queue.record_end(task.ref, State.CANCELLED, "cancelled before it started", None)
            for ref, state, reason, code in self.unrecorded_ends:
                self.queue.record_end(ref, state, reason, code)
        self.unrecorded_ends.clear()

    def try_shutdown(self) -> bool:
        """Stop listening; a later wake-up starts another agent. Jobs of earlier ones are in the queue."""
        self.selector.unregister(self.pipe)
        os.close(self.pipe)
        if self.queue.is_empty():
            return True
        self.pipe = open_pipe(self.folder)
        self.selector.register(self.pipe, selectors.EVENT_READ)
        return False

    # -- one job -----------------------------------------------------------------------------------------------------

    def list_runs(self, task: Task) -> list[Run]:
        """All tasks of the current attempt."""
        count = int(task.get_number("nodes") * task.get_number("tasks_per_node"))
        return [Run(self.folder, task.key, task.attempt, rank) for rank in range(count)]

    def try_update_task(self, task: Task) -> bool:
        """Update the state of a job; one whose update fails is ended, so that the others continue."""
        try:
            return self.update_task(task)
        except (StoreError, MemoryError):  # of the whole queue or machine: the next agent continues
            raise
        except Exception as error:
            traceback.print_exc()
            self.kill_deadlines.pop(task.ref, None)
            signal_all(self.folder, task.key, task.attempt, signal.SIGKILL)
            reason = f"the agent of this machine cannot run it: {type(error).__name__}: {error}"
            self.unrecorded_ends.append((task.ref, State.FAILED, reason[:_MAX_REASON_LENGTH], None))
            return False

    def update_task(self, task: Task) -> bool:
        """Update the state of a job; False when it no longer runs."""
        progress = self.poll_runs(task)
        if task.termination_state:
            return self.finish_termination(task, progress.alive)
        if termination := find_termination(task, progress):
            return self.begin_termination(task, *termination)
        if progress.alive:
            return True
        self.finish_attempt(task, progress.failure_code)
        return False

    def poll_runs(self, task: Task) -> RunProgress:
        """Check all tasks of the current attempt, and start those that are not started."""
        progress = RunProgress([], [])
        for run in self.list_runs(task):
            code = self.poll_run(run, task)
            if code is None:
                progress.alive.append(run)
            else:
                progress.exit_codes.append(code)
        return progress

    def poll_run(self, run: Run, task: Task) -> int | None:
        """The exit code of a task, None while it runs or is being started, ``LOST`` if it was lost or never started."""
        code = run.read_exit_code()
        if code is not None:
            return code
        process = run.read_process()
        if process is None and (task.termination_state or task.boot_id != read_boot_id()):
            # of another boot: the machine was restarted, or another one with this home directory was about to start it
            run.block_start()
            process = run.read_process()
        return self.poll_start(run, task) if process is None else self.poll_process(run, process)

    def poll_start(self, run: Run, task: Task) -> int | None:
        """Start a task that no wrapper has claimed yet; its exit code if it cannot be started."""
        if task.ref in self.start_failures:
            return 126
        child = self.children.get(run)
        if child is None:
            self.spawn(run, task)
        elif (ended := child.poll()) is not None and run.read_process() is None:
            del self.children[run]  # the wrapper was killed before it claimed the task: start again
            if ended > 0:
                self.start_failures[task.ref] = "it could not be started: its folder cannot be written"
        return None

    def poll_process(self, run: Run, process: ProcessId) -> int | None:
        """The exit code of a task that a wrapper has claimed."""
        alive = process.is_alive
        if alive:
            self.watch_process(process.pid)
        if alive or (alive is None and run.is_held()):
            return None
        code = run.read_exit_code()  # it may have ended between the two checks
        if code is not None:
            return code
        child = self.children.get(run)
        if child is not None and child.pid == process.pid and (child.poll() or 0) > 0:
            # the disk was full: its exit code could not be written, but is known to the parent process
            return child.returncode
        return LOST

    def finish_attempt(self, task: Task, failure_code: int | None) -> None:
        """Record the end of a job whose tasks have all ended, or restart it."""
        if has_leftover_processes(self.list_runs(task)):
            signal_all(self.folder, task.key, task.attempt, signal.SIGKILL)
        if failure_code is None:
            self.unrecorded_ends.append(
                (task.ref, State.COMPLETED, self.start_failures.get(task.ref) or task.reason, 0)
            )
            return
        reason = f"ended with exit code {failure_code}"
        start_failure = self.start_failures.get(task.ref)
        if start_failure is None and can_retry(task, State.FAILED, failure_code):
            self.queue.requeue(task.ref, f"{reason}; it is restarted")
        else:
            self.unrecorded_ends.append((task.ref, State.FAILED, start_failure or reason, failure_code))

    def begin_termination(self, task: Task, state: State, reason: str, code: int | None) -> bool:
        """Record how a job ends, then start to terminate it."""
        self.queue.record_termination(task.ref, state, reason, code)
        self.signal_task(task, signal.SIGTERM)
        self.kill_deadlines[task.ref] = time.monotonic() + task.get_number("grace")
        return True

    def signal_task(self, task: Task, signal_number: int) -> int:
        """Send a signal to all processes of a job except its wrappers, which record its exit code."""
        wrappers = [process.pid for run in self.list_runs(task) if (process := run.read_process()) and process.is_alive]
        return signal_all(self.folder, task.key, task.attempt, signal_number, wrappers)

    def finish_termination(self, task: Task, alive: list[Run]) -> bool:
        """Finish the termination of a job."""
        if task.ref not in self.kill_deadlines:  # the agent that started the termination is gone
            return self.begin_termination(task, State(task.termination_state), task.reason, task.exit_code)
        overdue = time.monotonic() - self.kill_deadlines[task.ref]
        hard = overdue >= 0
        remain = self.signal_task(task, signal.SIGKILL if hard else 0)
        if overdue > _KILL_TIMEOUT:  # a program that cannot be found or killed: the job ends without its wrappers
            signal_all(self.folder, task.key, task.attempt, signal.SIGKILL)
        if alive or (remain and not hard):
            return True
        del self.kill_deadlines[task.ref]
        if can_retry(task, State(task.termination_state), task.exit_code):
            self.queue.requeue(task.ref, f"{task.reason}; it is restarted")
        else:
            self.unrecorded_ends.append((task.ref, State(task.termination_state), task.reason, task.exit_code))
        return False

    # -- starting ----------------------------------------------------------------------------------------------------

    def start_tasks(self, running: list[Task]) -> list[Task]:
        """Start the jobs that fit, in order; returns those started."""
        self.queue.release_dependents()
        waiting = self.queue.list_waiting(_MAX_WAITING_TASKS)
        if not waiting:
            return []
        capacity = compute_capacity([*running, *waiting])
        leases, ends = _select_starts(running, waiting, capacity)
        if not leases and not ends:
            return []
        with self.queue.transaction():
            for task, state, reason in ends:
                self.queue.record_end(task.ref, state, reason, None)
            for task, slots in leases:
                self.queue.record_start(task.ref, slots, bool(slots) and capacity.is_simulated)
        begun = {task.ref for task, _ in leases}
        started = [task for task in self.queue.list_running() if task.ref in begun]
        for task in started:
            self.spawn_runs(task)
        return started

    def spawn_runs(self, task: Task) -> None:
        """Start all tasks of an attempt; the result of the previous attempt is not that of this one."""
        with contextlib.suppress(OSError):  # of a job that made it a folder, for example
            build_result_path(self.folder, task.key).unlink(missing_ok=True)
        for run in self.list_runs(task):
            self.spawn(run, task)

    def spawn(self, run: Run, task: Task) -> None:
        """Start a task's wrapper; has no effect if it was started before."""
        try:
            workdir = str(task.submission.settings["workdir"])
            self.children[run] = run.spawn(task.submission.argv, workdir, build_task_environment(task, run.rank))
        except OSError as error:  # arguments too long, no more processes, a full disk
            self.start_failures[task.ref] = f"it could not be started: {error.strerror}"
        except (EngineError, StoreError) as error:  # a missing secret, a log of another user
            self.start_failures[task.ref] = f"it could not be started: {error}"
        except Exception as error:  # text that cannot be an argument or a variable
            traceback.print_exc()
            reason = f"it could not be started: {type(error).__name__}: {error}"
            self.start_failures[task.ref] = reason[:_MAX_REASON_LENGTH]
        else:
            self.watch_process(self.children[run].pid)

    def reap(self, running: Iterable[Task]) -> None:
        """Reap child processes that have ended."""
        current = {(task.key, task.attempt) for task in running}
        for run, child in list(self.children.items()):
            if child.poll() is not None and (run.key, run.attempt) not in current:
                del self.children[run]

    # -- waiting -----------------------------------------------------------------------------------------------------

    def watch_process(self, pid: int) -> None:
        """Wake up when a process ends."""
        if pid in self.watched_pids:
            return
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:
            self.heartbeat = _HEARTBEAT_WITHOUT_PIDFD
            return
        self.watched_pids[pid] = handle
        self.selector.register(handle, selectors.EVENT_READ, pid)

    def sleep(self, running: Iterable[Task]) -> None:
        """Sleep until a wake-up, the end of a process, or a job's time limit."""
        patience = self.heartbeat if self.idle > self.heartbeat else self.idle
        for task in running:
            patience = min(patience, compute_time_left(task))
        if self.kill_deadlines:
            patience = min(patience, 0.05)
        for key, _ in self.selector.select(max(patience, 0.001)):
            if key.fd == self.pipe:
                time.sleep(_WAKE_UP_DELAY)
                os.read(self.pipe, 65536)
            else:
                self.selector.unregister(key.fd)
                os.close(key.fd)
                del self.watched_pids[key.data]


def _select_starts(
    running: list[Task], waiting: list[Task], capacity: Capacity
) -> tuple[list[tuple[Task, list[int]]], list[tuple[Task, State, str]]]:
    """Jobs that start now, with their slots, and jobs that end without a start, with state and reason."""
    ends = [(task, State.TIMEOUT, reason) for task in waiting if (reason := find_exceeded_limit(task))]
    expired = {task.ref for task, _, _ in ends}
    leases, hopeless = lease_slots(running, [task for task in waiting if task.ref not in expired], capacity)
    return leases, ends + [(task, State.FAILED, reason) for task, reason in hopeless]


def main(arguments: list[str]) -> int:
    """Serve one folder; the lock and the pipe are inherited from the parent process."""
    folder, lock, pipe, idle = Path(arguments[0]), int(arguments[1]), int(arguments[2]), float(arguments[3])
    os.set_inheritable(lock, False)
    os.set_inheritable(pipe, False)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    Agent(folder, pipe, idle).serve()  # errors are printed into agent.log; the next agent continues
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
