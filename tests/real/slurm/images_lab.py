"""Images in a lab: a test plugin with the options of pyxis, and a folder instead of an image."""

from __future__ import annotations

import subprocess
from pathlib import Path

from installed import Slurm
from lab import Lab
from layers import build_layer

__all__ = ["IMAGE", "load_plugin", "make_image"]

IMAGE = "registry.example.com/team/tools:1.2"
_FOLDER = "/images/registry.example.com_team_tools_1.2"
_PROGRAMS = ("bash", "cat", "chmod", "cp", "ln", "ls", "mkdir", "mv", "rm", "sh", "stat", "sync", "uname")


def load_plugin(lab: Lab, slurm: Slurm, cache: Path, folder: Path) -> None:
    """Compile the plugin with the headers of this Slurm, and load it by plugstack.conf."""
    headers = build_layer(slurm, cache, "libslurm-dev") / "usr/include"
    plugin, source = folder / "image.so", Path(__file__).resolve().with_name("spank") / "image.c"
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", f"-I{headers}", "-o", plugin, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lab.put("/opt/spank/image.so", plugin.read_bytes(), 0o755)
    lab.put("/etc/slurm/plugstack.conf", "required /opt/spank/image.so\n")


def make_image(lab: Lab, folder: str = _FOLDER) -> None:
    """Create a folder with a shell and a few programs of the lab's root."""
    lab.put(f"{folder}/etc/image", "tools 1.2\n")
    lab.run(f"""
        mkdir -p {folder}/bin {folder}/tmp {folder}/dev && chmod 1777 {folder}/tmp && ln -sfn bin {folder}/sbin
        mkdir -p {folder}/usr && ln -sfn ../bin {folder}/usr/bin
        for program in {" ".join(_PROGRAMS)}; do
            cp -L "$(command -v $program)" {folder}/bin/
            ldd "$(command -v $program)" | grep -o '/[^ ]*' | while read -r library; do
                mkdir -p "{folder}${{library%/*}}" && cp -L "$library" "{folder}$library"
            done
        done
        [ -e {folder}/dev/null ] || mknod -m 666 {folder}/dev/null c 1 3
    """)
