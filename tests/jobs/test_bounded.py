"""Services and commands whose answers have no end, come byte by byte, or send on to another host."""

from __future__ import annotations

import contextlib
import http.server
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import urllib3

from supercloud.errors import EngineError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.transport import bounded_io as bounded
from supercloud.jobs.transport import http as web
from supercloud.jobs.transport.bounded_io import ResponseLimits

SMALL = ResponseLimits(10_000_000, 600)
SHORT = ResponseLimits(10_000_000, 0.3)


@dataclass
class Service:
    """A server that answers every request with ``answer``, and records the requests."""

    answer: Callable[[http.server.BaseHTTPRequestHandler], None]
    address: str = ""
    seen: list[tuple[str, bytes]] = field(default_factory=list)


@contextlib.contextmanager
def run_service(answer: Callable[[Any], None]) -> Iterator[Service]:
    service = Service(answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service.seen.append((self.command, body))
            with contextlib.suppress(OSError):
                service.answer(self)

        do_POST = do_GET

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    service.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer_endlessly(status: int, chunk: bytes) -> Callable[[Any], None]:
    def answer(handler: Any) -> None:
        handler.send_response(status)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            time.sleep(0 if len(chunk) > 1 else 0.01)

    return answer


def answer_slowly(before: bytes) -> Callable[[Any], None]:
    """One byte after the other: of a header, of the size of a chunk, of contents without a length."""

    def answer(handler: Any) -> None:
        handler.wfile.write(before)
        while True:
            handler.wfile.write(b"1")
            time.sleep(0.01)

    return answer


HEAD = b"HTTP/1.1 200 OK\r\n"
DRIPS = {
    "header": HEAD + b"A: ",
    "size of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "contents": HEAD + b"\r\n",
    "known length": HEAD + b"Content-Length: 1000000\r\n\r\n",
}


def send_by_urllib(method: str, url: str, limits: ResponseLimits) -> bytes:
    return web.send(urllib.request.Request(url, b"{}" if method == "POST" else None, method=method), 60, limits)


def send_by_urllib3(method: str, url: str, limits: ResponseLimits) -> bytes:
    with urllib3.PoolManager() as pools:
        return connection.send(pools, method, url, b"{}" if method == "POST" else None, {}, limits)[1]


CLIENTS = pytest.mark.parametrize("send", [send_by_urllib, send_by_urllib3])
Send = Callable[[str, str, ResponseLimits], bytes]


@CLIENTS
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_endless_response_is_aborted_at_the_size_limit(send: Send, method: str) -> None:
    with (
        run_service(answer_endlessly(200, b"[" * 2**20)) as service,
        pytest.raises(SubmissionUnknownError, match="more than 10,000,000 bytes"),
    ):
        send(method, service.address, SMALL)


@pytest.mark.slow
@CLIENTS
def test_the_beginning_of_an_endless_error_is_read(send: Send) -> None:
    with run_service(answer_endlessly(500, b" " * 2**20)) as service:
        try:
            assert len(send("GET", service.address, SMALL)) == bounded.MAX_ERROR_BYTES
        except urllib.error.HTTPError as error:
            with error:
                assert len(error.read()) == bounded.MAX_ERROR_BYTES
    with (
        run_service(answer_endlessly(500, b" ")) as service,
        pytest.raises(SubmissionUnknownError, match="is not complete"),
    ):
        send("GET", service.address, SHORT)


@pytest.mark.slow
@CLIENTS
@pytest.mark.parametrize("before", DRIPS.values(), ids=DRIPS)
def test_a_slow_response_is_aborted_at_the_deadline(send: Send, before: bytes) -> None:
    with (
        run_service(answer_slowly(before)) as service,
        pytest.raises(SubmissionUnknownError, match=r"is not complete after 0\.3 s"),
    ):
        send("POST", service.address, SHORT)


@CLIENTS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(send: Send, status: int) -> None:
    def answer(handler: Any) -> None:
        handler.send_response(status)
        handler.send_header("Location", other.address)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with run_service(lambda handler: None) as other, run_service(answer) as service:
        for method in ("GET", "POST"):
            with pytest.raises(EngineError, match=f"redirects.* to {other.address}"):
                send(method, service.address, SMALL)
        assert not other.seen and len(service.seen) == 2


@pytest.mark.slow
def test_busy_servers_and_broken_connections_are_retried() -> None:
    def answer(handler: Any) -> None:
        number = len(service.seen)
        handler.send_response(429 if number == 1 else 200)
        handler.send_header("Content-Length", "2" if number != 2 else "200")
        handler.end_headers()
        handler.wfile.write(b"{}")

    with run_service(answer) as service:
        assert send_by_urllib3("GET", service.address, SMALL) == b"{}"
        assert len(service.seen) == 3


def run_program(program: str, limits: ResponseLimits, silence: float = 600) -> bytes:
    return bounded.run_bounded([sys.executable, "-c", program], None, limits, silence, "squeue").stdout


@pytest.mark.slow
def test_commands_with_endless_output_or_a_hang_are_ended() -> None:
    with pytest.raises(SubmissionUnknownError, match="squeue: its answer has more than"):
        run_program("import sys\nwhile True: sys.stdout.write('x' * 65536)", SMALL)
    with pytest.raises(SubmissionUnknownError, match="squeue: its answer has more than"):
        run_program("import sys\nwhile True: sys.stderr.write('x' * 65536)", SMALL)
    with pytest.raises(SubmissionUnknownError, match=r"squeue did not respond for 0\.3 s"):
        run_program("import time\nwhile True: print(1, flush=True); time.sleep(0.01)", SHORT)
    with pytest.raises(SubmissionUnknownError, match=r"squeue did not respond for 0\.2 s"):
        run_program("import time; time.sleep(600)", SMALL, 0.2)
    with pytest.raises(SubmissionUnknownError, match=r"squeue did not respond for 0\.2 s"):
        run_program("import os, time; os.close(1); os.close(2); time.sleep(600)", SMALL, 0.2)


@pytest.mark.slow
def test_large_output_of_a_command_is_read_completely() -> None:
    large = run_program("import sys\nfor _ in range(90): sys.stdout.write('x' * 100_000)\nsys.stderr.write('e')", SMALL)
    assert len(large) == 9_000_000
