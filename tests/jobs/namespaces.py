"""Processes in separate PID namespaces with their own /proc, as in a second container."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

_NEWNS, _NEWUSER, _NEWPID = 0x00020000, 0x10000000, 0x20000000
_REC, _PRIVATE = 0x4000, 0x40000
_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def are_allowed() -> bool:
    """Whether this system lets us make them."""
    pid = os.fork()
    if not pid:
        try:
            _unshare()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Namespaced:
    """A function that runs as process 1 of a new namespace."""

    def __init__(self, function: Callable[[], object]):
        ready, self._alive = os.pipe(), None
        self.pid = os.fork()
        if not self.pid:
            os.close(ready[0])
            try:
                _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL)
                _unshare()
                inner = os.fork()
                if not inner:
                    _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL)
                    _mount_proc()
                    function()
                    os._exit(0)
                os.close(ready[1])
                os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 0xFF)
            except BaseException:
                traceback.print_exc(file=sys.stderr)
                os._exit(70)
        os.close(ready[1])
        self._ready = ready[0]

    def kill(self) -> None:
        """SIGKILL, and wait until the whole namespace is gone."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._gone()

    def wait(self) -> int:
        """Its exit code."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._gone()
        return code

    def _gone(self) -> None:
        os.read(self._ready, 1)  # the end, once no process there has the other side open
        os.close(self._ready)


def _unshare() -> None:
    user = 0 if os.geteuid() == 0 else _NEWUSER
    if _LIBC.unshare(user | _NEWPID | _NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")


def _mount_proc() -> None:
    for arguments in ((b"none", b"/", None, _REC | _PRIVATE, None), (b"proc", b"/proc", b"proc", 0, None)):
        if _LIBC.mount(*arguments):
            raise OSError(ctypes.get_errno(), "mount")
