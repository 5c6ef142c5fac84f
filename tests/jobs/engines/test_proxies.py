"""Proxies on the way to a scheduler: what breaks before a request is sent, and what breaks after it."""

from __future__ import annotations

import contextlib
import http.server
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from jobs.engines.scheduler_stand_in import write_kubeconfig

from supercloud.errors import EngineConfigurationError, EngineError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.engines.kubernetes.api import ApiClient, ClusterTransport
from supercloud.jobs.engines.slurm import shapes, tokens
from supercloud.jobs.engines.slurm.rest import RestController
from supercloud.jobs.transport import http as web
from supercloud.jobs.transport.bounded_io import ResponseLimits

HOST = "cluster.example"
SERVER = f"https://{HOST}:6443"
SLURM = "https://slurm.example:6820"
JOBS = "/apis/batch/v1/namespaces/team/jobs"


@contextlib.contextmanager
def run_server(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def run_proxy(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A proxy that reads the head of each request and then calls ``answer``; yields its address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            with contextlib.suppress(OSError):
                while b"\r\n\r\n" not in head and (more := self.request.recv(4096)):
                    head += more
                answer(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server, run_server(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def build_tunnel(port: int) -> Callable[[socket.socket], None]:
    """What a proxy does that lets everything through."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def answer(client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as service:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=(service, client))
            back.start()
            copy(client, service)
            back.join()

    return answer


class Taker(http.server.BaseHTTPRequestHandler):
    """An API server that takes what is posted, whole, and closes the connection without an answer."""

    taken: list[bytes] = []

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        Taker.taken.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    found: list[bytes] = []
    monkeypatch.setattr(Taker, "taken", found)
    monkeypatch.setattr(connection, "_RETRY_DELAYS", (0.0,))
    return found


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_response_lost_in_the_tunnel_of_a_proxy_leaves_the_submission_unknown(
    taken: list[bytes], tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={HOST}",
            "-addext",
            f"subjectAltName=DNS:{HOST}",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        check=True,
        capture_output=True,
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        with run_server(server), run_proxy(build_tunnel(server.server_port)) as address:
            config = tmp_path / "kubeconfig"
            write_kubeconfig(config, SERVER, **{"proxy-url": address, "certificate-authority": str(certificate)})
            with pytest.raises(SubmissionUnknownError, match="is unreachable"):
                ApiClient(ClusterTransport(config_file=config)).post(JOBS, {"kind": "Job"})
    assert taken == [b'{"kind": "Job"}'] * 2


def test_a_response_lost_by_a_forwarding_proxy_leaves_the_submission_unknown(taken: list[bytes]) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker) as server, run_server(server):
        with (
            urllib3.ProxyManager(f"http://127.0.0.1:{server.server_port}") as pools,
            pytest.raises(SubmissionUnknownError),
        ):
            connection.send(pools, "POST", f"http://{HOST}{JOBS}", b"{}", {})
    assert taken == [b"{}"] * 2


def close_at_once(client: socket.socket) -> None:
    pass


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def speak_no_http(client: socket.socket) -> None:
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


def speak_without_end(client: socket.socket) -> None:
    client.sendall(b"H" * 70_000)


def refuse(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")


def refuse_at_length(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 407 %s\r\nContent-Length: 0\r\n\r\n" % (b"y" * 60_000))


def speak_at_length(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 %s\r\n\r\n" % (b"9" * 60_000))


def make_a_tunnel_to_no_tls(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    client.recv(4096)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


BROKEN = [
    close_at_once,
    reset,
    speak_no_http,
    speak_without_end,
    refuse,
    refuse_at_length,
    speak_at_length,
    make_a_tunnel_to_no_tls,
]


@pytest.mark.parametrize("answer", BROKEN)
def test_nothing_is_sent_to_kubernetes_if_a_proxy_refuses_the_tunnel(
    taken: list[bytes], tmp_path: Path, answer: Callable[[socket.socket], None]
) -> None:
    with run_proxy(answer) as address:
        write_kubeconfig(tmp_path / "kubeconfig", SERVER, **{"proxy-url": address})
        with pytest.raises(EngineError, match="is unreachable.*through the proxy") as caught:
            ApiClient(ClusterTransport(config_file=tmp_path / "kubeconfig")).post(JOBS, {"kind": "Job"})
    assert not isinstance(caught.value, SubmissionUnknownError) and len(str(caught.value)) < 600


@pytest.mark.parametrize("answer", BROKEN)
def test_nothing_is_sent_to_slurmrestd_if_a_proxy_refuses_the_tunnel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, SLURM)
    with run_proxy(answer) as address:
        monkeypatch.setenv(web.PROXY_VARIABLE, address)
        with pytest.raises(EngineError, match="is unreachable.*through the proxy") as caught:
            RestController(SLURM, tmp_path)._send(
                "POST", "/slurm/v0.0.45/job/submit", shapes.SUBMIT_RESPONSE, {"job": {}}
            )
    assert not isinstance(caught.value, SubmissionUnknownError) and len(str(caught.value)) < 600


class NoteAll(socketserver.BaseRequestHandler):
    """Records the first bytes, and sends nothing."""

    seen: list[bytes] = []

    def handle(self) -> None:
        NoteAll.seen.append(self.request.recv(4096))


def send_by_urllib(address: str, limits: ResponseLimits, patch: pytest.MonkeyPatch) -> None:
    patch.setenv(web.PROXY_VARIABLE, address)
    web.send(urllib.request.Request(SLURM, b"{}", method="POST"), 60, limits)


def send_by_urllib3(address: str, limits: ResponseLimits, patch: pytest.MonkeyPatch) -> None:
    with urllib3.ProxyManager(address) as pools:
        connection.send(pools, "POST", f"https://{HOST}{JOBS}", b"{}", {}, limits)


@pytest.mark.slow
@pytest.mark.parametrize("send", [send_by_urllib, send_by_urllib3])
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["tunnel", "TLS"])
def test_a_slow_proxy_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[str, ResponseLimits, pytest.MonkeyPatch], None], before: bytes
) -> None:
    """Nothing was sent until then; the proxy ends when its response is complete."""
    ended: list[bool] = []

    def answer(client: socket.socket) -> None:
        client.sendall(before)
        if before:
            client.recv(4096)  # the server of a tunnel answers the client: bytes before that are of the proxy's answer
        for byte in b"\x16\x03\x03\x08\x00" + b"1" * 1000 if before else b"HTTP/1.1 200 OK\r\nA: " + b"1" * 1000:
            client.sendall(bytes((byte,)))
            time.sleep(0.01)
        ended.append(True)

    with run_proxy(answer) as address, pytest.raises((EngineError, urllib.error.URLError)) as caught:
        send(address, ResponseLimits(1000, 0.3), monkeypatch)
    assert "no connection after 0.3 s, through the proxy" in str(caught.value)
    assert not isinstance(caught.value, SubmissionUnknownError) and not ended


def test_a_proxy_of_https_gets_no_password_in_plain_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """http.client would speak plain HTTP to it: slurmrestd is not reached that way, and Kubernetes is, over TLS."""
    seen: list[bytes] = []
    with socketserver.TCPServer(("127.0.0.1", 0), NoteAll) as server, run_server(server):
        monkeypatch.setattr(NoteAll, "seen", seen)
        address = f"127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(connection, "_RETRY_DELAYS", ())
        monkeypatch.setenv("SLURM_JWT", "secret")
        monkeypatch.setenv(tokens.ADDRESS_VARIABLE, SLURM)
        monkeypatch.setenv(web.PROXY_VARIABLE, f"HTTPS://me:hidden@{address}")
        for ask in (
            lambda: RestController(SLURM, tmp_path)._send("GET", "/slurm/v0.0.45/jobs", shapes.JOBS_RESPONSE),
            lambda: web.send(urllib.request.Request(SLURM), 60),
            lambda: tokens.require_token(SLURM, tmp_path),
        ):
            with pytest.raises(
                EngineConfigurationError, match="SUPERCLOUD_PROXY is .*does not support TLS to a proxy"
            ) as caught:
                ask()
            assert "hidden" not in str(caught.value)
        assert not seen
        write_kubeconfig(tmp_path / "kubeconfig", SERVER, **{"proxy-url": ""})
        with pytest.raises(EngineError, match="is unreachable"):
            ApiClient(ClusterTransport(config_file=tmp_path / "kubeconfig")).get(JOBS)
    assert [data[:2] for data in seen] == [b"\x16\x03"]  # a handshake of TLS
