"""A steward runs a federated synthesis with two holders, which are processes of their own."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.ports import free_port

from tacita.client.holder import HolderClient

SCHEMA = """tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
PORTS = {"north": free_port(), "south": free_port()}
FOLDER = Path(tempfile.mkdtemp(prefix="tacita-holders-"))  # the service is told of it before any test runs
SETTINGS = {
    "TACITA_HOLDERS": json.dumps(
        {
            name: {"url": f"http://127.0.0.1:{port}", "token_file": str(FOLDER / f"{name}.token")}
            for name, port in PORTS.items()
        }
    )
}


def tacita(*arguments):
    return [str(Path(sys.executable).with_name("tacita")), *arguments]


@pytest.fixture(scope="module")
def holders():
    """Both, as `tacita holder serve` starts them."""
    (FOLDER / "people.yaml").write_text(SCHEMA)
    processes = []
    for at, (name, port) in enumerate(PORTS.items()):
        people = "".join(f"{i % 80},{'fm'[(i + at) % 2]}\n" for i in range(1000))
        (FOLDER / f"{name}.csv").write_text("age,sex\n" + people)
        state = ["--state", f"sqlite:///{name}.db"]
        subprocess.run(tacita("holder", "token", f"{name}.token"), cwd=FOLDER, check=True, capture_output=True)
        opened = tacita("budget", "open", name, "--epsilon", "3", *state)
        subprocess.run(opened, cwd=FOLDER, check=True, capture_output=True)
        serve = ["holder", "serve", f"{name}.csv", "-s", "people.yaml", "-a", name, "--port", str(port)]
        command = tacita(*serve, "--token-file", f"{name}.token", *state)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, cwd=FOLDER, **quiet))
    for name, port in PORTS.items():
        token = (FOLDER / f"{name}.token").read_text().strip()
        client = HolderClient(f"http://127.0.0.1:{port}", token, patience=120, timeout=120)
        assert client.describe()["name"] == name
        client.close()
    yield processes
    for process in processes:
        process.terminate()
        process.wait(120)
    shutil.rmtree(FOLDER)


def test_a_run_with_two_holders(service, holders, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/holders", "Holders")
    expect(page.get_by_role("row", name="north")).to_contain_text("SL1")
    check_accessible(page)
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("alert")).to_contain_text("schema: must be given")
    page.get_by_role("button", name="Close").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload a schema").click()
    chooser.value.set_files(FOLDER / "people.yaml")
    expect(page.get_by_label("Schema as YAML")).to_have_value(SCHEMA)
    page.get_by_role("button", name="Show the plan").click()
    # two holders, beside one curator with the same method
    expect(page.get_by_text("1.4 times that of one curator of all data")).to_be_visible()
    check_accessible(page)
    picture(page, "console-holders", full_page=True)
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("of its own budget.")).to_be_visible()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Synthetic rows of several holders")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    check_accessible(page)
    console.visit(page, service, "/holders", "Holders")
    expect(page.get_by_role("row", name="north")).to_contain_text("2")  # of 3, for good


def test_a_holder_that_was_killed_is_shown_as_away(service, holders, page, console):
    console.sign_in(page, service, service.token("steward"))
    holders[0].kill()
    holders[0].wait(120)
    console.visit(page, service, "/holders", "Holders")
    expect(page.get_by_role("row", name="north")).to_contain_text("cannot be reached")
    expect(page.get_by_role("row", name="south")).to_contain_text("SL1")
