"""A lab with an sshd on the controller's host, which makes it a login node."""

from __future__ import annotations

from pathlib import Path

from installed import Slurm
from lab import Lab
from layers import build_layer, copy_over_root

SSHD = """\
ListenAddress 127.0.0.1
HostKey /etc/ssh/host_key
UsePAM no
PasswordAuthentication no
PidFile /run/sshd.pid
"""


def start_sshd(lab: Lab, slurm: Slurm, cache: Path) -> None:
    """Start sshd; user lab logs in to the host ``login`` with a key."""
    copy_over_root(lab, build_layer(slurm, cache, "openssh-server", "openssh-client"))
    lab.put("/etc/ssh/sshd_config", SSHD)
    lab.run("""
        mkdir -p /run/sshd && chmod 755 /run/sshd
        grep -q ^sshd: /etc/passwd || echo 'sshd:x:199:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
        sed -i 's/^lab:[^:]*:/lab:*:/' /etc/shadow
        ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/host_key
    """)
    lab.run(
        """
        mkdir -p -m 700 .ssh && cd .ssh
        ssh-keygen -q -t ed25519 -N '' -f id_ed25519
        cp id_ed25519.pub authorized_keys
        printf 'Host login\\n  HostName 127.0.0.1\\n' >config
        printf '127.0.0.1 %s\\n' "$(cut -d' ' -f1,2 /etc/ssh/host_key.pub)" >known_hosts
        chmod 600 *
    """,
        user="lab",
        cwd="/home/lab",
    )
    lab.spawn("sshd", ["/usr/sbin/sshd", "-D", "-e"])
    lab.wait_for(
        "sshd answers",
        lambda: lab.run(["ssh", "-o", "BatchMode=yes", "login", "true"], user="lab", check=False).returncode == 0,
    )
