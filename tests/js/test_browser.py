"""The JavaScript client in a real browser: a page that answers, is asked again, and refuses."""

import functools
import http.server
import json
import queue
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.wiring import wire_of
from tacita.collect.device.question import Ask, Question, Report

CLIENT = Path(__file__).parents[2] / "clients/js"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--remote-debugging-port=0",
]

PAGE = """<!doctype html><meta charset=utf-8><script type=module>
import { Device } from "./src/index.js";
const question = JSON.parse(QUESTION);
const limits = { limitTotalEpsilon: 1.5, limitQuestionEpsilon: 1.5 };
const device = new Device({ service: location.origin, storage: localStorage, ...limits });
const out = {};
try {
  out.offer = await device.review(question);
  out.first = await device.answer(question, { smoking: "daily", sex: "f" });
  out.again = await device.answer(question, { smoking: "never", sex: "m" });
  try { await device.answer({ ...question, campaign: "c2" }, { smoking: "daily", sex: "f" }); }
  catch (error) { out.refused = error.reason; }
  out.stored = { ...localStorage };
} catch (error) { out.error = String(error); }
await fetch("/done", { method: "POST", body: JSON.stringify(out) });
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_page_answers_once_and_keeps_its_ledger(tmp_path):
    smoking = Ask(attribute="smoking", levels=("never", "sometimes", "daily"))
    channel = wire_of(LocalHashing.optimised(levels=6, epsilon=1.0))
    question = Question(
        campaign="c1",
        question="q1",
        asks=(smoking, Ask(attribute="sex", levels=("f", "m"))),
        channel=channel,
        epsilon=1.0,
    )
    shutil.copytree(CLIENT / "src", tmp_path / "src")
    text = json.dumps(json.dumps(question.to_dict()))
    (tmp_path / "index.html").write_text(PAGE.replace("QUESTION", text))
    seen = _shown(tmp_path)
    assert "error" not in seen, seen
    report = Report.from_dict(seen["first"]["report"])
    report.check_answers(question)
    assert seen["again"]["report"] == seen["first"]["report"]
    assert seen["refused"] == "budget-spent"
    assert abs(seen["first"]["receipt"]["loss"] - question.loss) < 1e-12


def _shown(folder):
    """What the page sends back when a browser opens it."""
    arrived = queue.Queue()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_POST(self):
            arrived.put(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        browser = subprocess.Popen(
            [BROWSER, *FLAGS, f"--user-data-dir={folder}/profile", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return json.loads(arrived.get(timeout=120))
        finally:
            browser.terminate()
            browser.wait(120)
            server.shutdown()
