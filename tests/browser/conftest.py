"""A real service and a real browser.

`service` is `tacita serve` in a process of its own, one for each test file; a file may change its settings by a
dictionary SETTINGS of environment variables, and add ARGUMENTS to its command. `browse` opens pages in Chromium;
`page` and `phone` are the usual two. Whatever a page complains about, and every request that fails, fails the test,
unless the test said that it would.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from tests.support.ports import free_port

from tacita.client.client import Client
from tacita.server.auth.tokens import Role, Tokens
from tacita.store import Database

ROOT = Path(__file__).parents[2]
OUT = Path(__file__).parent / "out"
IMAGES = ROOT / "docs" / "images"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
SETTLED = """() => Promise.race([
    new Promise((done) => setTimeout(done, 2000)),
    Promise.allSettled(document.getAnimations()
        .filter((each) => each.effect?.getComputedTiming().iterations !== Infinity)
        .map((each) => each.finished)),
])"""
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

PATIENCE = 120_000  # ms: machines are busy; what is wrong is wrong after any time
expect.set_options(timeout=PATIENCE)

_SPEC = importlib.util.spec_from_file_location("browser", ROOT / "tools" / "browser.py")
tool = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tool)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Only who asks for this folder gets it: a plain `pytest` starts no browser."""
    return None if any("browser" in argument for argument in config.args) else True


# -- the service ------------------------------------------------------------------------------------------------------


@dataclass
class Service:
    """A running `tacita serve` that can be killed and started again, at the same place."""

    folder: Path
    environment: dict[str, str]
    url: str
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def log(self) -> str:
        return (self.folder / "service.log").read_text()

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [str(Path(sys.executable).with_name("tacita")), "serve", *self.arguments]
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + 180
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", timeout=120).status_code == 200:
                    return
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, "it never started"
            time.sleep(0.05)

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it, and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(120)
            self.process = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Its worker does nothing while the block runs: jobs wait."""
        worker = int(re.findall(r'"worker started".*"pid": ?(\d+)', self.log)[-1])
        os.kill(worker, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(worker, signal.SIGCONT)

    def token(self, role: Role = "admin", **parts: Any) -> str:
        """A new token."""
        database = Database(f"sqlite:///{self.home / 'state.db'}")
        text = Tokens(database).issue(name=f"a {role}", role=role, **parts).text
        database.close()
        return text

    @contextlib.contextmanager
    def client(self, role: Role = "admin") -> Iterator[Client]:
        """The Python client, with a token of that role."""
        with Client(self.url, self.token(role), timeout=120) as client:
            yield client


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of a file; whoever kills it starts it again."""
    port = free_port()
    folder = tmp_path_factory.mktemp("service")
    settings = {"TACITA_PORT": str(port), "TACITA_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    # PYTEST_: the framework does without compression where it sees them
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TACITA_", "PYTEST_"))}
    environment = inherited | settings | getattr(request.module, "SETTINGS", {})
    arguments = getattr(request.module, "ARGUMENTS", ())
    made = Service(folder, environment, f"http://127.0.0.1:{port}", arguments)
    made.start()
    yield made
    made.kill(signal.SIGTERM)


# -- the browser ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Chromium without a window."""
    path = tool.find_chromium()
    assert path, "no Chromium: run tools/browser.py"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Browse:
    """Opens pages, each in a context of its own, and notes what goes wrong in them."""

    chromium: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def __call__(self, *, phone: bool = False, locale: str = "en-GB", **options: Any) -> Page:
        """A page; options as of Playwright's `new_context`: color_scheme, reduced_motion, ..."""
        context = self.chromium.new_context(locale=locale, **(PHONE if phone else DESKTOP) | options)
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        context.on("console", lambda message: self._note(message.type == "error", f"console: {message.text}"))
        context.on("weberror", lambda error: self._note(True, f"error: {error.error}"))
        context.on("requestfailed", lambda request: self._note(True, f"failed: {request.url} {request.failure}"))
        return context.new_page()

    def expect(self, pattern: str) -> None:
        """Trouble that matches belongs to the test."""
        self.expected.append(pattern)

    def _note(self, bad: bool, text: str) -> None:
        # a request that is under way when its page is left was not refused by anybody
        if bad and "ERR_ABORTED" not in text:
            self.troubles.append(text)

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        left = [text for text in self.troubles if not any(re.search(pattern, text) for pattern in self.expected)]
        assert not left, "\n".join(left)


@pytest.fixture
def browse(chromium: Browser) -> Iterator[Browse]:
    """Opens pages: `browse(phone=True, locale="it-IT", color_scheme="dark")`."""
    made = Browse(chromium)
    yield made
    made.close()


@pytest.fixture
def locale() -> str:
    """What `page` and `phone` speak; parametrize a test by it for others."""
    return "en-GB"


@pytest.fixture
def page(browse: Browse, locale: str) -> Page:
    """A page on a desk."""
    return browse(locale=locale)


@pytest.fixture
def phone(browse: Browse, locale: str) -> Page:
    """A page in a hand."""
    return browse(phone=True, locale=locale)


# -- what is looked at ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def check_accessible() -> Callable[..., None]:
    """Fails on serious violations of WCAG 2.1 A and AA, as axe-core finds them; strictly, on moderate ones of its best
    practices too."""
    source = tool.AXE.read_text(encoding="utf-8")

    def check(page: Page, *, strictly: bool = False) -> None:
        page.evaluate(SETTLED)  # what fades in has no colour of its own yet
        page.evaluate(source)  # not a script of the page: its content policy stays as it is
        rules = [*AXE_RULES, "best-practice"] if strictly else AXE_RULES
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found = page.evaluate("options => axe.run(document, options)", options)["violations"]
        serious = [
            f"{violation['id']} ({violation['impact']}): {violation['help']}\n    "
            + "\n    ".join(f"{node['target']}: {node['failureSummary']}" for node in violation["nodes"])
            for violation in found
            if violation["impact"] in ("serious", "critical") or (strictly and violation["impact"] == "moderate")
        ]
        assert not serious, f"{page.url}\n" + "\n".join(serious)

    return check


@pytest.fixture(scope="session")
def console() -> Any:
    """Helpers for journeys through the console: `console.sign_in(page, service, token)` and more."""
    spec = importlib.util.spec_from_file_location("console", Path(__file__).with_name("console.py"))
    helpers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helpers)
    return helpers


@pytest.fixture(scope="session")
def picture() -> Callable[..., Path]:
    """Keeps a picture of a page, or of a part, in tests/browser/out; with TACITA_PICTURES also in docs/images, if it
    is one of the docs."""

    def take(page: Page | Locator, name: str, *, docs: bool = False, **options: Any) -> Path:
        path = OUT / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        if options.get("full_page"):
            page.evaluate("() => window.scrollTo(0, 0)")  # the header stays at the top of what is seen
        data = page.screenshot(path=path, animations="disabled", scale="css", **options)
        if docs and os.environ.get("TACITA_PICTURES"):
            (IMAGES / path.name).write_bytes(data)
        return path

    return take
