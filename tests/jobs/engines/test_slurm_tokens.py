"""Tokens of slurmrestd: which address gets which, and none that cannot be a header."""

from __future__ import annotations

import http.server
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supercloud.cli.submit import build_single_cluster_fleet
from supercloud.errors import EngineError
from supercloud.jobs import api
from supercloud.jobs.engines import secrets
from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.engines.slurm import tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.fleet.state import Cluster
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

A, B = "https://ctl-a:6820", "https://ctl-b:6820"
JOB = JobSpec.model_validate({"name": "job", "command": ["true"]})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the secrets; no token and no address is in the environment."""
    for name in ("SLURM_JWT", tokens.ADDRESS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUPERCLOUD_SECRETS", str(tmp_path / "secrets"))
    monkeypatch.setenv("LOGNAME", "ada")
    (tmp_path / "secrets").mkdir()
    return tmp_path / "secrets"


def keep(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    (folder / name).chmod(0o600)
    return folder / name


def read_token(address: str, state: Path) -> str:
    """What the engine of a connection to this address would send."""
    engine = SlurmEngine(Connection(engine="slurm", via=address), state)
    assert engine._rest
    return engine._rest.require_token()


def test_each_host_has_a_separate_secret(folder: Path, tmp_path: Path) -> None:
    keep(folder, "slurm-jwt@ctl-a", "for-a\n")
    keep(folder, "slurm-jwt@ctl-a:7000", "for-port\n")
    assert read_token(A, tmp_path) == read_token("https://CTL-A", tmp_path) == "for-a"
    assert read_token("https://ctl-a:7000", tmp_path) == "for-port"
    keep(folder, "slurm-jwt", "for-all")
    for address in (B, "https://evil:6820", "https://ctl-a.evil:6820"):
        with pytest.raises(EngineError, match="no token for slurmrestd at"):
            read_token(address, tmp_path)
    with pytest.raises(EngineError, match="is not the address of a slurmrestd"):
        read_token("https://ctl-a@evil:6820", tmp_path)


def test_a_token_without_a_host_is_sent_only_to_the_assigned_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JWT", "plain")
    with pytest.raises(EngineError, match="SLURM_JWT is not used: it was not assigned to this address"):
        read_token(A, tmp_path)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, A)
    assert read_token(A, tmp_path) == "plain"
    for other in (B, "https://ctl-a:6821"):
        with pytest.raises(EngineError, match=f"SLURM_JWT is not used: it is only for {A}"):
            read_token(other, tmp_path)


def test_the_address_named_last_on_the_command_line_has_the_token(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JWT", "plain")
    monkeypatch.setenv("SUPERCLOUD_STATE", str(store.folder))
    for name, other in ((A, B), (B, A)):
        build_single_cluster_fleet(Cluster.from_plan(plan), Connection(engine="slurm", via=name))
        assert read_token(name, store.folder) == "plain"
        with pytest.raises(EngineError, match=f"it is only for {name}"):
            read_token(other, store.folder)


def test_a_missing_token_is_reported_with_all_sources(folder: Path, plan: Plan, store: Store) -> None:
    with pytest.raises(EngineError) as caught:
        api.submit(JOB, plan, engine=Connection(engine="slurm", via=A), store=store)
    for words in (
        "slurm-jwt@ctl-a:6820",
        "slurm-jwt@ctl-a",
        "no slurm-jwt there",
        "no SLURM_JWT",
        "scontrol token",
        f"{folder}/slurm-jwt@ctl-a (chmod 600)",
        "or set SLURM_JWT",
    ):
        assert words in str(caught.value)
    assert store.select() == [], "nothing is recorded"
    keep(folder, "slurm-jwt@ctl-a", "t").chmod(0o640)
    with pytest.raises(EngineError, match="is readable by other users.*chmod 600"):
        read_token(A, store.folder)


PLAIN = ["http://ctl-a:6820", "http://192.0.2.1:6820", "http://x.localhost:6820", "http://127.0.0.1.example:6820"]


@pytest.mark.parametrize("address", PLAIN)
def test_tokens_are_sent_over_plain_http_only_if_the_user_allows_it(
    address: str, folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet file may name any address, also with the host that a token is kept for."""
    host = address.removeprefix("http://")
    keep(folder, f"slurm-jwt@{host}", "of-host")
    keep(folder, f"slurm-jwt@{host.partition(':')[0]}", "of-host")
    monkeypatch.setenv("SLURM_JWT", "plain")
    state = store.folder / "slurm"
    tokens.bind_tokens(f"https://{host}", state)
    with pytest.raises(
        EngineError, match=rf"{address} is plain http.* https, .*ssh tunnel.*--via {address} or .*http:"
    ):
        read_token(address, store.folder)
    tokens.bind_tokens(address, state)
    tokens.bind_tokens(B, state)
    assert read_token(address, store.folder) == "of-host", "it was named once, and jobs there are still asked for"
    (state / ".token-address").unlink()
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, address)
    assert read_token(address, store.folder) == "of-host"
    monkeypatch.delenv(tokens.ADDRESS_VARIABLE)
    keep(folder, f"slurm-jwt@http:{host}", "for-plain")
    assert read_token(address, store.folder) == "for-plain"


@pytest.fixture
def services() -> Iterator[list[tuple[str, list[str]]]]:
    """Two slurmrestds that reject all users: address and the tokens that they got."""
    found: list[tuple[str, list[str]]] = []
    servers = []
    for _ in range(2):
        seen: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            came = seen

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.came.append(self.headers["X-SLURM-USER-TOKEN"])
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        found.append((f"http://127.0.0.1:{server.server_port}", seen))
    yield found
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_slurmrestds_of_a_fleet_do_not_get_the_same_token(
    services: list[tuple[str, list[str]]], folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, at_first), (second, at_second) = services
    monkeypatch.setenv("SLURM_JWT", "plain")
    engines = [SlurmEngine(Connection(engine="slurm", via=address), store.folder) for address in (first, second)]

    def ask() -> None:
        for engine in engines:
            with pytest.raises(EngineError):
                engine.list_nodes()

    ask()
    assert at_first == at_second == [], "a file of a fleet names both: none has it"
    keep(folder, f"slurm-jwt@{second.removeprefix('http://')}", "of-second")
    engines[0].bind_tokens()
    ask()
    assert (at_first, at_second) == (["plain"], ["of-second"])


@pytest.mark.parametrize("text", ["abc.def", "abc.def\n", "abc.def\r\n", "SLURM_JWT=abc.def\n"])
def test_a_line_end_after_a_token_is_removed(
    text: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, B)
    monkeypatch.setenv("SLURM_JWT", text)
    (folder / "slurm-jwt@ctl-a").write_bytes(text.encode())
    (folder / "slurm-jwt@ctl-a").chmod(0o600)
    assert read_token(A, tmp_path) == read_token(B, tmp_path) == "abc.def"


@pytest.mark.parametrize("text", ["abc.def\n\n", "abc\ndef", "abc.def\r\r", "abc\x00.def", "abc.d\u00e9f", "abc. def"])
def test_a_token_that_is_not_a_valid_header_is_an_error_that_does_not_show_it(
    text: str, folder: Path, plan: Plan, store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "slurm-jwt@ctl-a").write_bytes(text.encode())
    (folder / "slurm-jwt@ctl-a").chmod(0o600)
    if "\x00" not in text:
        monkeypatch.setenv("SLURM_JWT", text)
    with caplog.at_level(logging.DEBUG):
        for address in (A, B) if "\x00" not in text else (A,):
            with pytest.raises(EngineError) as caught:
                api.submit(JOB, plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
            assert "abc" not in str(caught.value) and "def" not in str(caught.value)
    assert store.select() == [] and "abc" not in caplog.text


def test_a_user_name_that_is_not_a_valid_header_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "a\nHost: evil")
    with pytest.raises(EngineError, match="the name of this process's user has a character .* at position 2"):
        tokens.read_user("no-claims")


def test_a_bearer_token_of_a_kubeconfig_is_never_quoted() -> None:
    for value in ("Bearer abc\n\n", "Bearer abc\r\nX: y", "Bearer ab\u20acc"):
        with pytest.raises(EngineError, match="authorization of the kubeconfig") as caught:
            connection.send(None, "GET", "https://127.0.0.1:1/api", None, {"authorization": value})
        assert "ab" not in str(caught.value).removeprefix("the header authorization").replace("printable", "")


def test_at_most_one_line_end_is_removed_from_a_secret(folder: Path) -> None:
    for name, text, value in (("a", "x\n", "x"), ("b", "x\r\n", "x"), ("c", "x\n\n", "x\n"), ("d", "x", "x")):
        keep(folder, name, "").write_bytes(text.encode())
        assert secrets.read_secrets({"V": name}) == {"V": value}


def test_the_file_of_addresses_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens.bind_tokens(A, tmp_path)

    def fail(self: Path, text: str) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="full"):
        tokens.bind_tokens(B, tmp_path)
    monkeypatch.undo()
    assert tokens._read_bound_addresses(tmp_path) == [A]
    tokens.bind_tokens(B, tmp_path)
    assert tokens._read_bound_addresses(tmp_path) == [A, B]
