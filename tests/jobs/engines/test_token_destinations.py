"""Tokens are sent over https or to this machine only, and through a proxy only if one is configured."""

from __future__ import annotations

import traceback
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.scheduler_stand_in import (
    Scheduler,
    submit,
    write_kubeconfig,
)

from supercloud.errors import EngineError, EngineUnreachableError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.slurm import tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.transport import http as web
from supercloud.spec.fleet import Connection


def test_the_token_of_a_kubeconfig_is_not_sent_in_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    write_kubeconfig(tmp_path / "kubeconfig", "http://192.0.2.1:8080")
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    for ask in (engine.require_reachable, engine.list_nodes, lambda: submit(engine)):
        with pytest.raises(
            EngineError, match="http://192.0.2.1:8080: plain http: the token is not sent in plain text.*https"
        ):
            ask()


def test_a_proxy_of_the_environment_is_not_used(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an address without a server: the stand-in would take the request as a proxy does."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, address)
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(
        EngineUnreachableError, match="unreachable.*proxy of the environment is not used.*proxy-url"
    ) as caught:
        engine.list_nodes()
    assert str(caught.value).startswith("http://127.0.0.1:1 is unreachable: Failed to establish a new connection: ")
    assert not Scheduler.seen


@pytest.mark.parametrize("named", ["kubeconfig", "SUPERCLOUD_PROXY"])
def test_a_configured_proxy_is_used_but_gets_no_token(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    asked = {"proxy-url": address} if named == "kubeconfig" else {}
    if not asked:
        monkeypatch.setenv("SUPERCLOUD_PROXY", address)
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example", **asked)
    with pytest.raises(EngineError, match="Tunnel connection failed: 501"):  # the response of the stand-in to CONNECT
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path).list_nodes()
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1" if asked else "http://192.0.2.1:1", **asked)
    with pytest.raises(EngineError, match="plain http through a proxy: the token is not sent"):
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path).list_nodes()
    assert not Scheduler.seen


def test_a_proxy_that_refuses_a_tunnel_leaves_no_socket_open(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", address)
    with pytest.raises(urllib.error.URLError, match="Tunnel connection failed: 501") as caught:
        web.send(urllib.request.Request("https://slurm.example"), 60)
    # every frame of the error is still there, as in a cycle of objects that is collected later: none holds a response
    frames = (frame for frame, _ in traceback.walk_tb(caught.value.reason.__cause__.__traceback__))  # type: ignore[union-attr]
    assert not [frame for frame in frames if "response" in frame.f_locals]


def test_requests_to_this_machine_use_no_proxy(
    address: str, rest: SlurmEngine, cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ssh tunnel ends here, and the token in it is in no network: a proxy elsewhere would read it."""
    monkeypatch.setenv("SUPERCLOUD_PROXY", "http://127.0.0.1:1")
    assert not rest.controller.read_jobs()
    assert not cluster.list_nodes()
    assert any(place.startswith("/api/v1/") for place, _ in Scheduler.seen)


def test_a_token_is_not_sent_to_an_ambiguous_host(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For urllib the host is the text after the @, for urllib3 the text before the backslash."""
    write_kubeconfig(tmp_path / "kubeconfig", address.replace("127.0.0.1", "localhost\\@127.0.0.1"))
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(EngineError, match="plain http to an ambiguous host"):
        engine.list_nodes()
    assert not Scheduler.seen
    monkeypatch.setenv("SUPERCLOUD_PROXY", "http://proxy.example:3128")
    assert web.find_proxy("https://evil\\@127.0.0.1") and not web.find_proxy("https://127.0.0.1:1")


@pytest.mark.parametrize("server", ["{}", "//{}", "HTTP://{}"])
@pytest.mark.parametrize("field", [{}, {"insecure-skip-tls-verify": True}], ids=["", "insecure"])
def test_a_token_is_not_sent_without_https(address: str, tmp_path: Path, server: str, field: dict[str, Any]) -> None:
    """An address without a scheme is plain http to the client. 0.0.0.0 is not recognized as this machine."""
    write_kubeconfig(tmp_path / "kubeconfig", server.format(address.replace("http://127.0.0.1", "0.0.0.0")), **field)
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    for ask in (engine.require_reachable, engine.list_nodes):
        with pytest.raises(EngineError, match="the token is not sent in plain text"):
            ask()
    assert not Scheduler.seen


@pytest.mark.parametrize(
    "there, proxy, plain",
    [
        ("https://a:1", "", False),
        ("HTTPS://a", "http://p", False),
        ("http://127.0.0.1:1", "", False),
        ("http://[::1]:1", "", False),
        ("http://localhost:1", "", False),
        ("http://127.0.0.1:1", "http://p", True),
        ("http://a", "", True),
        ("a:1", "", True),
        ("//a", "", True),
        ("127.0.0.1:1", "", True),
        ("", "", True),
        ("http://evil#@127.0.0.1", "", True),
        ("http:/\\127.0.0.1", "", True),
        ("http://[", "", True),
        ("httpsx://a", "", True),
        (" https://a", "", True),
        ("http://evil\\@127.0.0.1:1", "", True),
        ("http://127.0.0.1\\@evil", "", True),
        ("http://me@127.0.0.1", "", True),
        ("http://evil\\.127.0.0.1", "", True),
        ("http://127.0.0.1\n", "", True),
        ("http://127.0.\t0.1", "", True),
        ("http://evil?@127.0.0.1", "", True),
        ("http://127.0.0.1/a@b", "", False),
        ("HTTP://LocalHost/", "", False),
        ("http://127.0.0.1;a@evil", "", True),
    ],
)
def test_an_address_is_plaintext_unless_it_is_surely_encrypted(there: str, proxy: str, plain: bool) -> None:
    assert web.is_plaintext(there, proxy) is plain


@pytest.mark.parametrize("value", ["socks5://me:hidden@p:1", "http://", "http://p:99999", "http://p q:1", "http://["])
def test_an_invalid_proxy_is_reported_with_its_variable(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", value)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "https://slurm.example")
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example")
    for engine in (
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path),
        SlurmEngine(Connection(engine="slurm", via="https://slurm.example"), tmp_path),
    ):
        with pytest.raises(EngineError, match="SUPERCLOUD_PROXY is .*not the address of a proxy") as caught:
            engine.require_reachable()
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["http://me:hidden@127.0.0.1:1", "127.0.0.1:1", "a stand-in that makes no tunnel"])
def test_an_unreachable_proxy_is_reported_and_nothing_is_sent(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", address if " " in proxy else proxy)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "https://slurm.example")
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example")
    slurm = SlurmEngine(Connection(engine="slurm", via="https://slurm.example"), tmp_path)
    slurm._rest.__dict__["data_format"] = "v0.0.41"  # known before the proxy went away
    for engine in (KubernetesEngine(Connection(engine="kubernetes"), tmp_path), slurm):
        with pytest.raises(EngineError, match="is unreachable.*through the proxy .*127.0.0.1") as caught:
            submit(engine)
        assert not isinstance(caught.value, SubmissionUnknownError) and "hidden" not in str(caught.value)
