"""A language host for Python programs, in Python: Pulumi's own is a Go program that no package registry has.

Every run is a fresh interpreter, as with the real one: ``pulumi up`` runs a program twice, and nothing may survive from
the preview to the update.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

MESSAGE_BYTES = 400 << 20


class Host(LanguageServer):
    """Serves one engine at an address; ``launcher`` is the script that starts :func:`main` again for each run."""

    def __init__(self, engine: str, launcher: Path):
        self.engine, self.launcher = engine, launcher

    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version="1.0.0")

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        yield language_pb2.InstallDependenciesResponse(stdout=b"dependencies are those of the environment\n")

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        found = [(item.metadata["Name"], item.version) for item in distributions()]
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version)
                for name, version in sorted(found)
                if name.lower().startswith("pulumi")
            ]
        )

    def Run(self, request: Any, context: Any) -> Any:
        request.args[:] = [self.engine]  # where the SDK's server looks for it
        reading, writing = os.pipe()
        command = [_find_python(request.info), str(self.launcher), "--run", str(writing)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[writing]) as process:
            os.close(writing)
            assert process.stdin
            process.stdin.write(request.SerializeToString())
            process.stdin.close()
            with os.fdopen(reading, "rb") as answer:
                content = answer.read()
        if process.returncode:
            return language_pb2.RunResponse(error=f"the program's interpreter ended with {process.returncode}")
        return language_pb2.RunResponse.FromString(content)

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        command = [_find_python(request.info), "-u", str(_find_program(request.info)), *request.args]
        environment = dict(item.split("=", 1) for item in request.env) or None
        with subprocess.Popen(
            command,
            cwd=request.pwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
        ) as process:
            context.add_callback(process.terminate)
            assert process.stdout
            for line in process.stdout:
                yield language_pb2.RunPluginResponse(stdout=line)
        yield language_pb2.RunPluginResponse(exitcode=process.returncode)


def _find_program(info: Any) -> Path:
    path = Path(info.program_directory) / (info.entry_point or ".")
    return path / "__main__.py" if path.is_dir() else path


def _find_python(info: Any) -> str:
    """The interpreter: the project's ``virtualenv`` option, else that of this process."""
    fields = info.options.fields
    chosen = fields["virtualenv"].string_value if "virtualenv" in fields else ""
    return str(Path(info.root_directory) / chosen / "bin" / "python") if chosen else sys.executable


def run(answer: int) -> None:
    """One run of a program in this interpreter: the request on standard input, the response to a file descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the engine interrupts the whole group when a resource fails
    request = language_pb2.RunRequest.FromString(sys.stdin.buffer.read())
    program = _find_program(request.info)
    os.chdir(request.pwd or request.info.program_directory)
    sys.path[0] = str(program.parent)
    server = LanguageServer(lambda: runpy.run_path(str(program), run_name="__main__") and None)  # type: ignore[arg-type, return-value]
    try:
        response = server.Run(request, None)
    except grpc.RpcError:  # the engine has ended: no process would get the answer
        os._exit(1)  # without the farewells of what it has interrupted
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(response.SerializeToString())


def serve(host: Host) -> tuple[grpc.Server, int]:
    """A running server on a port of this machine."""
    options = [("grpc.max_receive_message_length", MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(8), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main() -> None:
    """What ``pulumi-language-python`` does: serve, until the engine closes our standard input."""
    if sys.argv[1:2] == ["--run"]:
        run(int(sys.argv[2]))
        return
    _, port = serve(Host(sys.argv[-1], Path(sys.argv[0]).resolve()))
    print(port, flush=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdin.buffer.read()
