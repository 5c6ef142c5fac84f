"""A headless Chromium, controlled by the WebDriver protocol: it opens pages, runs scripts and takes pictures."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from real.polling import wait_for

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-pings",
)


class Browser:
    """One browser with a separate profile."""

    def __init__(self, profile: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(profile)},
        )
        self.root = f"http://127.0.0.1:{port}"
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"], "binary": "/usr/bin/chromium"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""

        def begin() -> Any:
            with suppress(ConnectionError):
                return self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})

        made = wait_for("chromedriver answers", begin)
        self.session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None
        except urllib.error.URLError as error:
            raise ConnectionError(str(error)) from None

    def run_devtools(self, command: str, **params: Any) -> Any:
        """Run a command of the DevTools protocol."""
        return self._ask("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": params})

    def set_size(self, width: int, height: int, phone: bool = False) -> None:
        """Set the size of the screen."""
        self.run_devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )

    def set_colors(self, scheme: str, media: str = "") -> None:
        """Set the color scheme (light or dark) and the medium (screen or print)."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.run_devtools("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, page: Path) -> float:
        """Open a page; return the seconds until its search works."""
        self._ask("POST", f"{self.session}/url", {"url": page.resolve().as_uri()})
        return float(self.run("return window.supercloud.ready")) / 1000

    def run(self, program: str, *arguments: Any) -> Any:
        """Run a script in the page, and return its result."""
        return self._ask("POST", f"{self.session}/execute/sync", {"script": program, "args": list(arguments)})

    def read_log(self) -> list[str]:
        """Messages on the console of the page since the last call."""
        return [entry["message"] for entry in self._ask("POST", f"{self.session}/se/log", {"type": "browser"})]

    def save_picture(self, file: Path, whole: bool = False) -> None:
        """Save a picture of the screen, or of the whole page."""
        taken = self.run_devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(taken["data"]))

    def save_pdf(self, file: Path) -> None:
        """Save the page as PDF."""
        printed = self.run_devtools("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(printed["data"]))

    def close(self) -> None:
        """Close the browser and its driver."""
        try:
            self._ask("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait(10)
