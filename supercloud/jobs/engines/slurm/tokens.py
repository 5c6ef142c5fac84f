"""The user's tokens for slurmrestd, and the address that each is for.

A token is Slurm's own, as ``scontrol token`` prints it. Each host has a separate secret, ``slurm-jwt@HOST`` or
``slurm-jwt@HOST:PORT``, since the address may come from a fleet file of another author. ``SLURM_JWT`` and the
secret ``slurm-jwt`` have no host: they are sent to one address only, that of the variable ``SUPERCLOUD_SLURM_ADDRESS``,
else the one specified last on the command line (``--via``) or in a call of :func:`supercloud.jobs.api.submit`.

Over plain http beyond this machine no token is sent because of a file: only if the user specified that exact address
in the variable, on the command line or in a call, or has a secret ``slurm-jwt@http:HOST:PORT``.
"""

from __future__ import annotations

import base64
import getpass
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ....errors import EngineConfigurationError
from ....primitives.responses import parse_json
from ...store import private_files as private
from ...transport import http as web
from .. import secrets

__all__ = ["ADDRESS_VARIABLE", "GET_TOKEN_HINT", "bind_tokens", "require_token", "read_user"]

ADDRESS_VARIABLE = "SUPERCLOUD_SLURM_ADDRESS"
"""The variable with the address of the slurmrestd that SLURM_JWT and the secret slurm-jwt are for."""
GET_TOKEN_HINT = "run 'scontrol token' on a host of the cluster"

_DEFAULT_SECRET = "slurm-jwt"
_ADDRESS_FILE = ".token-address"  # no key of a job starts with a dot
_MAX_ADDRESSES = 100
_HOST_PATTERN = re.compile(r"[A-Za-z0-9._:-]+")


def require_token(address: str, folder: Path) -> str:
    """The token for the service at an address.

    ``folder`` is the engine's folder. Raises :class:`EngineConfigurationError` with the names that were looked up if
    there is none, and, without the token, if it has characters that are invalid in a header.
    """
    bound = _list_bound_addresses(folder)
    names = _list_secret_names(address, bound)
    for name in names:
        if found := secrets.find_secret(name):
            return _require_single_token(found, f"the secret {name}")
    owner = os.environ.get(ADDRESS_VARIABLE) or (bound[-1] if bound else "")
    is_owner = bool(owner) and _parse_address(owner) == _parse_address(address)
    if is_owner:
        if text := os.environ.get("SLURM_JWT"):
            return _require_single_token(secrets.strip_line_end(text), "SLURM_JWT")
        if found := secrets.find_secret(_DEFAULT_SECRET):
            return _require_single_token(found, f"the secret {_DEFAULT_SECRET}")
    raise EngineConfigurationError(_describe_missing_token(address, names, owner, is_owner))


def _list_secret_names(address: str, bound: Sequence[str]) -> list[str]:
    """The secrets for an address, in the order in which they are looked up; raises :class:`EngineConfigurationError`
    if no token may be sent there.
    """
    parts = _parse_address(address)
    _, host, port = parts
    names = [f"{_DEFAULT_SECRET}@{host}:{port}", f"{_DEFAULT_SECRET}@{host}"]
    if not web.is_plaintext(address, web.find_proxy(address)):
        return names
    plaintext_name = f"{_DEFAULT_SECRET}@http:{host}:{port}"
    if not secrets.find_secret(plaintext_name) and parts not in map(_parse_address, bound):
        raise EngineConfigurationError(_describe_plaintext_refusal(address, plaintext_name))
    web.warn_of_plaintext(address)
    return [plaintext_name, *names]


def _describe_missing_token(address: str, names: Sequence[str], owner: str, is_owner: bool) -> str:
    """What was looked up; ``owner`` is the address that tokens without a host are for."""
    looked = f"no secret {' or '.join(names)} in {secrets.locate_folder()}"
    if is_owner:
        looked += f", no {_DEFAULT_SECRET} there, and no SLURM_JWT in the environment"
    elif os.environ.get("SLURM_JWT"):
        whose = f"it is only for {owner}" if owner else "it was not assigned to this address"
        looked += f"; SLURM_JWT is not used: {whose}"
    other = f", or set SLURM_JWT to it{'' if is_owner else f' and {ADDRESS_VARIABLE} to {address}'}"
    return (
        f"no token for slurmrestd at {address}: {looked}; {GET_TOKEN_HINT} and write its output to "
        f"{secrets.locate_folder() / names[-1]} (chmod 600){other}"
    )


def bind_tokens(address: str, folder: Path) -> None:
    """Record that the user specified this address: from now on tokens without a host are for it.

    Addresses specified before are kept: if they are plain http, jobs there are still polled.

    Raises :class:`EngineConfigurationError` if it is not an address.
    """
    parts = _parse_address(address)
    private.create_private_folder(folder)
    others = [known for known in _read_bound_addresses(folder) if _parse_address(known) != parts]
    private.write_atomically(folder / _ADDRESS_FILE, "\n".join([*others, address][-_MAX_ADDRESSES:]))


def _list_bound_addresses(folder: Path) -> list[str]:
    """The addresses that the user specified; tokens without a host are for the last one."""
    return [*_read_bound_addresses(folder), *filter(None, [os.environ.get(ADDRESS_VARIABLE)])]


def _read_bound_addresses(folder: Path) -> list[str]:
    return private.read_own_file(folder / _ADDRESS_FILE, 0, 2**20).decode(errors="replace").split()


def _describe_plaintext_refusal(address: str, secret_name: str) -> str:
    return (
        f"{address} is plain http beyond this machine: the token would be sent over the network in plain "
        "text, so it is not sent; use https, --via ssh:HOST, or an ssh tunnel and http://127.0.0.1:PORT. If that "
        f"network is trusted, specify the address yourself, with --via {address} or {ADDRESS_VARIABLE}={address}, or "
        "store the "
        f"token as {secrets.locate_folder() / secret_name}"
    )


def _parse_address(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; raises :class:`EngineConfigurationError` if it has no host."""
    try:
        found = urlsplit(address)
        host, port = found.hostname or "", found.port
    except ValueError:
        host, port = "", None
    if not _HOST_PATTERN.fullmatch(host) or found.username is not None:
        raise EngineConfigurationError(f"{address!r:.100} is not the address of a slurmrestd: use https://HOST:PORT")
    return found.scheme, host, port or (443 if found.scheme == "https" else 80)


def _require_single_token(text: str, label: str) -> str:
    value = web.require_header_value(text.removeprefix("SLURM_JWT="), label)
    if not value or " " in value:
        raise EngineConfigurationError(f"{label} is not a single token; {GET_TOKEN_HINT}")
    return value


def read_user(token: str) -> str:
    """The user of a token: its claim ``sun``; without one, as in a site's own tokens, the present user.

    Raises :class:`EngineConfigurationError` if that has no name.
    """
    try:
        payload = token.split(".")[1]
        name = parse_json(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).get("sun")
    except (IndexError, ValueError, AttributeError):
        name = None
    if isinstance(name, str) and name.isprintable() and name.isascii() and name:
        return name
    try:
        return web.require_header_value(getpass.getuser(), "the name of this process's user")
    except (OSError, KeyError):
        raise EngineConfigurationError(
            "the token has no user, and the user of this process has no name; set LOGNAME"
        ) from None
