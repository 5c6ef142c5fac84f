"""A relay into a lab: a port on the loopback of this machine is also a port on the loopback of the lab."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Iterator

_NETWORK = 0x40000000  # CLONE_NEWNET


@contextlib.contextmanager
def open_relay(pid: int, port: int) -> Iterator[None]:
    """Relay the port for the network namespace of process ``pid``."""
    found: list[socket.socket] = []
    # each thread can have its own network namespace
    entering = threading.Thread(target=lambda: found.append(_listen(pid, port)))
    entering.start()
    entering.join()
    (door,) = found
    threading.Thread(target=_accept, args=(door, port), daemon=True).start()
    try:
        yield
    finally:
        door.shutdown(socket.SHUT_RDWR)
        door.close()


def _listen(pid: int, port: int) -> socket.socket:
    with open(f"/proc/{pid}/ns/net") as network:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(network.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.create_server(("127.0.0.1", port))


def _accept(door: socket.socket, port: int) -> None:
    with contextlib.suppress(OSError):
        while True:
            inside, _ = door.accept()
            threading.Thread(target=_serve, args=(inside, port), daemon=True).start()


def _serve(inside: socket.socket, port: int) -> None:
    with inside, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as outside:
        back = threading.Thread(target=_pump, args=(outside, inside), daemon=True)
        back.start()
        _pump(inside, outside)
        back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
