"""A systemd unit for the broker, for a user's service manager: https://www.freedesktop.org/software/systemd/man/."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...catalog import Catalog
from ...catalog.environment_variables import EnvironmentVariables

__all__ = ["ServiceVariables", "list_variables", "select_environment", "render_unit"]

_PATH_VARIABLES = (
    "CONDA_PREFIX",
    "KUBECONFIG",
    "LD_LIBRARY_PATH",
    "PATH",
    "PULUMI_HOME",
    "PYTHONPATH",
    "SLURM_CONF",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SUPERCLOUD_CATALOG",
    "SUPERCLOUD_SECRETS",
    "VIRTUAL_ENV",
)
"""Variables with paths that supercloud, or programs that it runs, read: a service runs in another folder."""
_SETTING_VARIABLES = (
    "LANG",
    "LC_ALL",
    "PULUMI_BACKEND_URL",
    "SUPERCLOUD_ACCELERATORS",
    "SUPERCLOUD_PROXY",
    "SUPERCLOUD_SLURM_ADDRESS",
    "TZ",
)
"""Other variables that change what the broker does, or the environment of jobs on this machine."""
_ADDRESS_VARIABLES = ("PULUMI_BACKEND_URL", "SUPERCLOUD_PROXY", "SUPERCLOUD_SLURM_ADDRESS")
_SECRET_VARIABLES = (
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG_PASSPHRASE",
    "SLURM_JWT",
)
"""Variables that are not written to the unit, as all users can read it (``systemctl show``)."""

_UNIT_TEMPLATE = """\
# ~/.config/systemd/user/supercloud-{name}.service
# systemctl --user enable --now supercloud-{name}.service; loginctl enable-linger (to run without a login session)
[Unit]
Description=supercloud broker of {name}

[Service]
Type=exec
# secrets, one NAME=value per line; readable only by its user: chmod 600
EnvironmentFile=-%h/.config/supercloud/serve-{name}.env
{environment}ExecStart={command}
Restart=on-failure
RestartSec=10
TimeoutStopSec=60
UMask=0077

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True)
class ServiceVariables:
    """Names of the variables that a service needs, sorted."""

    paths: tuple[str, ...]
    settings: tuple[str, ...]
    secrets: tuple[str, ...]


def list_variables(catalog: Catalog) -> ServiceVariables:
    """The variables that the broker, or programs that it runs, read, with those of the clouds."""
    clouds = list(catalog.iter_entries(EnvironmentVariables))
    return ServiceVariables(
        paths=tuple(sorted({*_PATH_VARIABLES, *(name for cloud in clouds for name in cloud.paths)})),
        settings=tuple(sorted({*_SETTING_VARIABLES, *(name for cloud in clouds for name in cloud.settings)})),
        secrets=tuple(sorted({*_SECRET_VARIABLES, *(name for cloud in clouds for name in cloud.secrets)})),
    )


def select_environment(variables: Mapping[str, str], catalog: Catalog) -> tuple[dict[str, str], list[str]]:
    """The variables of the shell that the service needs too; and the names of those that are set and secret."""
    known = list_variables(catalog)
    passed = {name: variables[name] for name in known.settings if name in variables}
    for name in known.paths:
        if name in variables:
            passed[name] = os.pathsep.join(
                os.path.abspath(os.path.expanduser(path)) if path else "" for path in variables[name].split(os.pathsep)
            )
    secret = [name for name in known.secrets if variables.get(name)]
    for name in _ADDRESS_VARIABLES:
        if "@" in passed.get(name, ""):  # a user and possibly a password
            del passed[name]
            secret.append(name)
    return passed, secret


def render_unit(name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The unit that runs a command with variables; stopped with SIGTERM, restarted after a failure."""
    lines = "".join(f"Environment={_quote_word(f'{key}={value}', '')}\n" for key, value in sorted(environment.items()))
    return _UNIT_TEMPLATE.format(
        name=name, environment=lines, command=" ".join(_quote_word(word, "$") for word in command)
    )


def _quote_word(text: str, escaped_characters: str) -> str:
    """A word in systemd syntax: specifiers doubled, quoted if necessary; in commands variables doubled too."""
    for sign in f"%{escaped_characters}":
        text = text.replace(sign, sign * 2)
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./$-]+", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
