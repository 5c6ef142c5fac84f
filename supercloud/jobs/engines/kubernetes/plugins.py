"""Credentials of a kubeconfig from a plugin, a command that prints them:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.

The official client waits for the command without limit, and sends requests without credentials if it fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ....errors import EngineConfigurationError, EngineError
from ....primitives.responses import parse_json, replace_surrogates
from ...transport.bounded_io import RESPONSE_LIMITS

__all__ = ["load_kubeconfig"]

_TIMEOUT = 60.0
"""Seconds for a plugin that cannot ask its user: as long as a request waits for data."""
_INTERACTIVE_TIMEOUT = RESPONSE_LIMITS.timeout
"""Seconds for a plugin on a terminal: its user may log in with a browser or look for a hardware key meanwhile."""


def load_kubeconfig(file: str | None, context: str | None, settings: Any) -> None:
    """Set the address and the credentials of a context in the client's ``settings``, as its own ``load_kube_config``
    does.

    Raises :class:`EngineError` with the command of a plugin that fails or does not end.

    It is an :class:`EngineConfigurationError` if the plugin cannot be run or answers in another version.
    """
    from kubernetes.config import kube_config

    client: Any = kube_config  # most of it has no types
    merged = client.KubeConfigMerger(file or client.KUBE_CONFIG_DEFAULT_LOCATION)
    if merged.config is None:
        raise client.ConfigException("Invalid kube-config file. No configuration found.")
    loader = _build_loader_class(client, client.KubeConfigLoader)(
        config_dict=merged.config, config_base_path=None, active_context=context, config_persister=merged.save_changes
    )
    loader.load_and_set(settings)


@cache
def _build_loader_class(client: Any, client_loader: Any) -> Any:
    class Loader(client_loader):  # type: ignore[misc]
        """The client's loader, also called when a token has expired."""

        def _load_from_exec_plugin(self) -> bool | None:
            if "exec" not in self._user:
                return None
            settings = self._user["exec"]
            folder = self._get_base_path(self._cluster.path)
            provider = client.ExecProvider(settings, folder, self._cluster)
            found = _run_plugin(provider, str(settings.safe_get("interactiveMode") or ""))
            if "token" in found:
                self.token = f"Bearer {found['token']}"
            else:
                for field, name in (("cert_file", "clientCertificateData"), ("key_file", "clientKeyData")):
                    pem = client.FileOrData(
                        found, None, data_key_name=name, file_base_path=folder, base64_file_content=False
                    )
                    setattr(self, field, pem.as_file())
            if "expirationTimestamp" in found:
                self.expiry = client.parse_rfc3339(found["expirationTimestamp"])
            return True

    return Loader


def _run_plugin(provider: Any, mode: str) -> dict[str, Any]:
    """The status that a plugin prints. It gets the terminal, if there is one and its ``interactiveMode`` allows it."""
    command = f"the credential plugin {provider.args[0]} of the kubeconfig"
    interactive = mode != "Never" and sys.stdin.isatty() and sys.stderr.isatty()
    request: dict[str, Any] = {"interactive": interactive}
    if provider.cluster:
        request["cluster"] = dict(provider.cluster.value)
        for item in request["cluster"].get("extensions") or ():
            if item["name"] == "client.authentication.k8s.io/exec":
                request["cluster"]["config"] = item["extension"]
    question = {"apiVersion": provider.api_version, "kind": "ExecCredential", "spec": request}
    limit = _INTERACTIVE_TIMEOUT if interactive else _TIMEOUT
    environment = provider.env | {"KUBERNETES_EXEC_INFO": json.dumps(question)}
    try:
        done = _run_command(provider.args, provider.cwd, environment, interactive, limit)
    except subprocess.TimeoutExpired:
        raise EngineError(f"{command} did not end within {limit:g} s; run it in a terminal to see why") from None
    except OSError as error:
        raise EngineConfigurationError(f"{command} cannot be run: {error.strerror}") from None
    if done.returncode:
        message = replace_surrogates((done.stderr or b"").decode(errors="replace").strip())[-300:]
        raise EngineError(f"{command} failed with exit code {done.returncode}{f': {message}' if message else ''}")
    return _parse_status(done.stdout, provider.api_version, command)


def _run_command(
    argv: Sequence[str], folder: str | None, environment: Mapping[str, str], interactive: bool, limit: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a command, with the terminal if it is interactive; without it its children are ended with it."""
    with subprocess.Popen(
        argv,
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if interactive else subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=not interactive,
    ) as process:
        try:
            out, error = process.communicate(timeout=limit)
        except BaseException:
            if interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)  # its process ID is not reused before the end of this block
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, error)


def _parse_status(output: bytes, version: str, command: str) -> dict[str, Any]:
    try:
        answer = parse_json(output)
        found: dict[str, Any] = answer["status"]
        if answer["apiVersion"] != version:
            raise EngineConfigurationError(f"{command} answered {answer['apiVersion']!r:.80}, not {version}")
        if "token" not in found and not ("clientCertificateData" in found and "clientKeyData" in found):
            raise EngineError(f"{command} printed neither a token nor a certificate with its key")
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{command} did not print credentials: {type(error).__name__}: {error}") from None
    return found
