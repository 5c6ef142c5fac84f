"""A folder over https on an address of this host, for machines that trust its certificate."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


@contextmanager
def serve_files(folder: Path, address: str, keys: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server of ``folder``, and its certificate, which is made in ``keys``."""
    certificate, key = keys / "server.crt", keys / "server.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=files"]
    words += ["-addext", f"subjectAltName=IP:{address}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    server = ThreadingHTTPServer((address, 0), partial(_Files, directory=folder))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://{address}:{server.server_address[1]}", certificate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
