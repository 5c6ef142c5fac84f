"""Certificates, keys and tokens of a control plane, for tests only."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ADMIN = "lab-admin-token"
_CONFIG = """\
[req]
distinguished_name = dn
[dn]
[server]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature,keyEncipherment
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign,digitalSignature
"""


@dataclass(frozen=True)
class Certificates:
    """A folder with ca.crt, tls.crt, tls.key, sa.key, sa.pub and tokens.csv."""

    folder: Path

    @property
    def bundle(self) -> str:
        """The certificate authority in base64, as in ``caBundle``."""
        return base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()

    def write_kubeconfig(self, path: Path, server: str, token: str, namespace: str = "default") -> Path:
        """Write a kubeconfig with a token."""
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "lab",
                    "clusters": [
                        {"name": "lab", "cluster": {"server": server, "certificate-authority-data": self.bundle}}
                    ],
                    "users": [{"name": "user", "user": {"token": token}}],
                    "contexts": [
                        {"name": "lab", "context": {"cluster": "lab", "user": "user", "namespace": namespace}}
                    ],
                }
            )
        )
        return path


def format_token(person: str) -> str:
    """The token of a person."""
    return f"lab-token-of-{person}"


def make_certificates(folder: Path, people: Mapping[str, str]) -> Certificates:
    """Create certificates, and tokens for people and their groups."""
    folder.mkdir(parents=True)
    (folder / "openssl.cnf").write_text(_CONFIG)
    lines = [f'{ADMIN},admin,admin,"system:masters"']
    lines += [f'{format_token(person)},{person},{person},"{group}"' for person, group in people.items()]
    (folder / "tokens.csv").write_text("\n".join(lines) + "\n")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "openssl.cnf")
    for command in (
        (
            "req",
            "-x509",
            *curve,
            "-days",
            "30",
            "-subj",
            "/CN=lab",
            "-extensions",
            "authority",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
        ),
        ("req", *curve, "-subj", "/CN=localhost", "-keyout", "tls.key", "-out", "tls.csr"),
        (
            "x509",
            "-req",
            "-in",
            "tls.csr",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "30",
            "-extfile",
            "openssl.cnf",
            "-extensions",
            "server",
            "-out",
            "tls.crt",
        ),
        ("genrsa", "-out", "sa.key", "2048"),
        ("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub"),
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return Certificates(folder)
