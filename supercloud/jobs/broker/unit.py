"""A systemd unit for the broker, for the service manager of a user: https://www.freedesktop.org/software/systemd/man/."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["unit"]

_UNIT = """\
# ~/.config/systemd/user/supercloud-{name}.service
# systemctl --user enable --now supercloud-{name}.service; loginctl enable-linger: it then runs without a session, too
[Unit]
Description=supercloud broker of {name}

[Service]
Type=exec
{environment}ExecStart={command}
Restart=on-failure
RestartSec=10
TimeoutStopSec=60
UMask=0077

[Install]
WantedBy=default.target
"""


def unit(name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The unit that runs a command with variables; ended with SIGTERM, started again when it failed."""
    lines = "".join(f"Environment={_word(f'{key}={value}', '')}\n" for key, value in sorted(environment.items()))
    return _UNIT.format(name=name, environment=lines, command=" ".join(_word(word, "$") for word in command))


def _word(text: str, doubled: str) -> str:
    """A word as systemd reads it: specifiers doubled, quoted where it must be; in commands variables doubled too."""
    for sign in f"%{doubled}":
        text = text.replace(sign, sign * 2)
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./$-]+", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
