"""How soon a page of the console is there, and how much travels for it, in a real Chromium over loopback.

First content is what the browser itself says (first contentful paint), with an empty cache and with a full one. The
service, the browser and whatever else the machine does share its cores.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from tests.support.ports import free_port

from bench.rows import Row

ROOT = Path(__file__).parents[1]
PAGES = ("/", "/datasets/sample-census", "/calculators", "/datasets", "/releases/new", "/releases", "/campaigns/new")
"""The first three are measured quickly; calculators and the new campaign have charts."""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9"
WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def run(*, quick: bool) -> list[Row]:
    from playwright.sync_api import sync_playwright

    spec = importlib.util.spec_from_file_location("browser", ROOT / "tools" / "browser.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    with tempfile.TemporaryDirectory() as folder, _Service(Path(folder)) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tool.find_chromium(), args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Start the tour").click()
        page.wait_for_url("**/datasets/**")
        state, base = context.storage_state(), link.partition("/enter")[0]
        rows = []
        for path in PAGES[: 3 if quick else None]:
            cold = sorted(_measured(browser.new_context(storage_state=state), f"{base}{path}") for _ in range(3))[1]
            warm = min((_measured(context, f"{base}{path}") for _ in range(3)), key=lambda found: found[0])
            note = "cold: an empty cache, the median of three; warm: the best of three"
            rows.append(Row(bar=f"{path}: first content, cold", ours=cold[0], unit="ms", goal="<= 600", note=note))
            rows.append(Row(bar=f"{path}: first content, warm", ours=warm[0], unit="ms", goal="<= 600"))
            rows.append(Row(bar=f"{path}: weight", ours=cold[1] / 1e6, unit="MB", goal="<= 1"))
        browser.close()
    return rows


def _measured(context: Any, url: str) -> tuple[float, float]:
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("() => window.socket && window.socket.connected")
    page.wait_for_timeout(500)
    if page.locator(".chart-picture").count():  # its module is loaded after the page is shown
        page.locator(".chart-picture svg").first.wait_for()
    found = (float(page.evaluate(PAINT)), float(page.evaluate(WEIGHT)))
    page.close()
    return found


class _Service:
    """`tacita serve --open` in a folder of its own; gives the link that signs in."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()

    def __enter__(self) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TACITA_")}
        environment["TACITA_HOME"] = str(self._folder / "home")
        command = [str(Path(sys.executable).with_name("tacita")), "serve", "--open", "--port", str(self._port)]
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=self._log, stderr=self._log)
        for _ in range(300):
            time.sleep(0.2)
            try:
                httpx.get(f"http://127.0.0.1:{self._port}/readyz")
                break
            except httpx.TransportError:
                continue
        lines = (self._folder / "log").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if "/console/enter#" in line)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._log.close()
