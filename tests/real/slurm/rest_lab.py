"""A lab with slurmrestd on the controller's host, set up as in INSTALL.md, but without TLS."""

from __future__ import annotations

from jobs_lab import NODES
from lab import Lab

__all__ = ["URL", "start_rest", "get_token"]

KEY = "/etc/slurm/jwt_hs256.key"
URL = "http://127.0.0.1:6820"


def start_rest(lab: Lab) -> None:
    """Create the key of the tokens, start everything, and wait until the service answers."""
    lab.run(f"dd if=/dev/urandom of={KEY} bs=32 count=1 status=none; chown slurm {KEY}; chmod 600 {KEY}")
    lab.start()
    lab.wait_nodes(NODES, 4)
    command = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "slurmrestd",
        "-a",
        "rest_auth/jwt",
        "127.0.0.1:6820",
    ]
    lab.spawn("slurmrestd", command, env={"SLURM_JWT": "daemon"})
    lab.wait_answer("slurmrestd", f"curl -s -o /dev/null {URL}/openapi")


def get_token(lab: Lab) -> str:
    """Create a token of user lab."""
    return lab.run("scontrol token username=lab lifespan=3600").stdout.strip().partition("=")[2]
