"""Make .venv, also where the system's Python comes without ensurepip (Debian without python3-venv).

Then a virtual environment without pip is made, and pip's own wheel is taken from the package index that pip would use
(PIP_INDEX_URL, else PyPI), checked against the digest the index gives. Run it with any Python of 3.11 or later.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

VENV = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv")
PYTHON = VENV / "bin" / "python"


def main() -> None:
    """Create the environment, unless it works already."""
    if works():
        return
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, check=False)
    if made.returncode or not works():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)], check=True)
        with tempfile.TemporaryDirectory() as folder:
            wheel = download_pip(Path(folder))
            # a wheel is a zip that Python can run from: pip installs itself
            subprocess.run([str(PYTHON), f"{wheel}/pip", "install", "--quiet", str(wheel)], check=True)


def works() -> bool:
    """Whether the environment has a Python that starts, and pip."""
    command = [str(PYTHON), "-m", "pip", "--version"]
    return PYTHON.exists() and not subprocess.run(command, capture_output=True, check=False).returncode


def download_pip(folder: Path) -> Path:
    """Download the newest wheel of pip from the package index, and compare its digest with that of the index."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    page_url = f"{index}/pip/"
    with urllib.request.urlopen(page_url, timeout=60) as answer:
        page = answer.read().decode()
    links = re.findall(r'href="([^"#]*/(pip-([0-9.]+)-py3-none-any\.whl))#sha256=([0-9a-f]{64})"', page)
    if not links:
        sys.exit(f"no wheel of pip at {page_url}: install Debian's python3-venv, then run make again")
    url, name, _, digest = max(links, key=lambda link: [int(part) for part in link[2].split(".") if part])
    with urllib.request.urlopen(urllib.parse.urljoin(page_url, url), timeout=120) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{name}: the digest is not the one of the index")
    wheel = folder / name
    wheel.write_bytes(content)
    return wheel


main()
