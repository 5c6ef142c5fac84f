"""The token that slurmrestd knows the user by, and which address gets which.

A token is Slurm's own, as ``scontrol token`` prints it. Each host has a secret of its own, ``slurm-jwt@HOST`` or
``slurm-jwt@HOST:PORT``, since the address may come from a fleet file that somebody else wrote. ``SLURM_JWT`` and the
secret ``slurm-jwt`` say no host: they go to one address only, that of the variable ``SUPERCLOUD_SLURM_ADDRESS``, else
the one that was named last on the command line (``--via``) or in a call of :func:`supercloud.jobs.api.submit`.

Over plain http beyond this machine no token is sent because a file says so: only where the user named that very address
in the variable, on the command line or in a call, or keeps a secret ``slurm-jwt@http:HOST:PORT``.
"""

from __future__ import annotations

import base64
import getpass
import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from ....errors import UnusableEngine
from ...store import private_files as private
from .. import http as web
from .. import secrets

__all__ = ["ADDRESS", "GET_TOKEN", "name_address", "token", "user_of"]

ADDRESS = "SUPERCLOUD_SLURM_ADDRESS"
"""The variable with the address of the slurmrestd that SLURM_JWT and the secret slurm-jwt are for."""
GET_TOKEN = "run 'scontrol token' on a host of the cluster"

_PLAIN = "slurm-jwt"
_NAMED = ".token-address"  # no key of a job begins with a dot
_MOST_NAMED = 100
_HOST = re.compile(r"[A-Za-z0-9._:-]+")


def token(address: str, folder: Path) -> str:
    """The token for the service at an address.

    ``folder`` is where the engine keeps its files. Raises :class:`UnusableEngine` with the names that were looked for
    where there is none, and without the token where it has characters that no header may have.
    """
    parts = _parts(address)
    _, host, port = parts
    named = _named_addresses(folder)
    places = [f"{_PLAIN}@{host}:{port}", f"{_PLAIN}@{host}"]
    if web.is_plain(address, web.proxy_for(address)):
        allowed = f"{_PLAIN}@http:{host}:{port}"
        if not secrets.find(allowed) and parts not in map(_parts, named):
            raise UnusableEngine(_plain_refused(address, allowed))
        web.warn_of_plain(address)
        places.insert(0, allowed)
    for name in places:
        if found := secrets.find(name):
            return _checked(found, f"the secret {name}")
    for_all = os.environ.get(ADDRESS) or (named[-1] if named else "")
    is_meant = bool(for_all) and _parts(for_all) == parts
    if is_meant:
        if said := os.environ.get("SLURM_JWT"):
            return _checked(secrets.without_line_end(said), "SLURM_JWT")
        if found := secrets.find(_PLAIN):
            return _checked(found, f"the secret {_PLAIN}")
    looked = f"there is no secret {' or '.join(places)} in {secrets.folder()}"
    if is_meant:
        looked += f", no {_PLAIN} there, and no SLURM_JWT in the environment"
    elif os.environ.get("SLURM_JWT"):
        whose = f"it goes to {for_all} only" if for_all else "nobody said that it is for this address"
        looked += f"; SLURM_JWT is not used: {whose}"
    other = f", or set SLURM_JWT to it{'' if is_meant else f' and {ADDRESS} to {address}'}"
    raise UnusableEngine(f"no token for slurmrestd at {address}: {looked}; {GET_TOKEN} and write what it prints to "
                      f"{secrets.folder() / places[-1]} (chmod 600){other}")  # fmt: skip


def name_address(address: str, folder: Path) -> None:
    """Write down that the user named this address: from now on the tokens that say no host are for it.

    The addresses that were named before are kept: where they are of plain http, jobs there are still asked for.
    """
    parts = _parts(address)
    private.make_folder(folder)
    path = folder / _NAMED
    private.make_file(path)
    others = [known for known in _read_named(folder) if _parts(known) != parts]
    path.write_text("\n".join([*others, address][-_MOST_NAMED:]))


def _named_addresses(folder: Path) -> list[str]:
    """The addresses that the user named; the last one is that of the tokens that say no host."""
    return [*_read_named(folder), *filter(None, [os.environ.get(ADDRESS)])]


def _read_named(folder: Path) -> list[str]:
    return private.read_own(folder / _NAMED, 0, 2**20).decode(errors="replace").split()


def _plain_refused(address: str, allowed: str) -> str:
    return (f"{address} is plain http beyond this machine: the token would go over the network where others can read "
            "it, so it is not sent; use https, --via ssh:HOST, or an ssh tunnel and http://127.0.0.1:PORT. If that "
            f"network is trusted, name the address yourself, with --via {address} or {ADDRESS}={address}, or keep the "
            f"token as {secrets.folder() / allowed}")  # fmt: skip


def _parts(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; raises :class:`UnusableEngine` where there is no host to keep a token for."""
    try:
        found = urlsplit(address)
        host, port = found.hostname or "", found.port
    except ValueError:
        host, port = "", None
    if not _HOST.fullmatch(host) or found.username is not None:
        raise UnusableEngine(f"{address!r:.100} is not the address of a slurmrestd: write https://HOST:PORT")
    return found.scheme, host, port or (443 if found.scheme == "https" else 80)


def _checked(text: str, what: str) -> str:
    value = web.header_value(text.removeprefix("SLURM_JWT="), what)
    if not value or " " in value:
        raise UnusableEngine(f"{what} is not one token; {GET_TOKEN}")
    return value


def user_of(token: str) -> str:
    """The user a token is for: its claim ``sun``; without one, as for a site's own tokens, who runs this."""
    try:
        payload = token.split(".")[1]
        name = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).get("sun")
    except (IndexError, ValueError, AttributeError, RecursionError):
        name = None
    if isinstance(name, str) and name.isprintable() and name.isascii() and name:
        return name
    try:
        return web.header_value(getpass.getuser(), "the name of this process's user")
    except (OSError, KeyError):
        raise UnusableEngine("the token names no user, and this process's user has no name; set LOGNAME") from None
