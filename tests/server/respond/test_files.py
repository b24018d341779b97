"""What the page is made of: one version for all, nothing from elsewhere, the very files of the client."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tacita.collect.device.device import USUAL_LIMITS
from tacita.server.respond import files
from tacita.server.respond.files import client_folder, load

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients/js/src"
TEXTS = {name: content.decode() for name, (content, _) in load().content.items()}
CODE = {name: text for name, text in TEXTS.items() if name.endswith(".js")}


def test_the_client_that_is_served_is_the_one_in_the_repository():
    served = {name.removeprefix("client/"): text for name, text in TEXTS.items() if name.startswith("client/")}
    assert served == {file.name: file.read_text() for file in CLIENT.iterdir()}


def test_an_installed_package_has_its_own_copy(tmp_path, monkeypatch):
    assert client_folder() == CLIENT
    (tmp_path / "client").mkdir()
    monkeypatch.setattr(files, "_HERE", tmp_path)
    assert client_folder() == tmp_path / "client"


def test_the_wheel_holds_all_of_it(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("tacita/server/respond/")}
        for name in TEXTS.keys() - {"files.json"}:
            folder = "" if name.startswith(("client/", "words/")) else "static/"
            path = f"tacita/server/respond/{folder}{name}"
            assert path in packed
            if name != "page.html":  # the version is put in when it is served
                assert wheel.read(path).decode() == TEXTS[name]


def test_every_address_in_the_page_is_one_of_its_files():
    named = re.findall(r'(?:href|src)="([^"]+)"', TEXTS["page.html"])
    assert len(named) >= 4
    for address in named:
        assert address.startswith(f"/respond/{load().version}/")
        assert address.removeprefix(f"/respond/{load().version}/") in TEXTS


@pytest.mark.parametrize("name", CODE)
def test_every_import_is_one_of_its_files(name):
    for target in re.findall(r'from "(\.[^"]+)"', CODE[name]):
        found = (Path("/") / name).parent / target
        assert str(found).removeprefix("/") in TEXTS, target


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_comes_from_elsewhere(name):
    text = TEXTS[name].replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]+\.[a-z]|@import|url\(", text)


@pytest.mark.parametrize("name", CODE)
def test_the_code_is_plain(name):
    """Nothing reads a text as HTML or as code, keeps a cookie, or writes to the console."""
    forbidden = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|\.cookie|console\."
    assert not re.search(forbidden, CODE[name])


def test_the_worker_keeps_every_file():
    kept = json.loads(TEXTS["files.json"])
    assert set(kept) == TEXTS.keys() - {"files.json", "worker.js"}


def test_it_is_short_enough_to_read():
    own = [text for name, text in CODE.items() if not name.startswith("client/")]
    assert sum(len(text.splitlines()) for text in own) < 1000
    assert sum(len(text.encode()) for text in TEXTS.values()) < 200_000


def test_another_content_is_another_version(tmp_path, monkeypatch):
    before = load().version
    for folder in ("static", "words"):
        (tmp_path / folder).mkdir()
        for file in (Path(files.__file__).parent / folder).iterdir():
            (tmp_path / folder / file.name).write_bytes(file.read_bytes())
    (tmp_path / "client").mkdir()
    for file in CLIENT.iterdir():
        (tmp_path / "client" / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(files, "_HERE", tmp_path)
    assert load.__wrapped__().version == before
    draw = tmp_path / "client" / "draw.js"
    draw.write_text(draw.read_text() + "// weaker\n")
    assert load.__wrapped__().version != before


def test_the_page_has_the_usual_limits_of_a_device():
    text = load().content["keeping.js"][0].decode()
    (limits,) = re.findall(r"USUAL_LIMITS = Object.freeze\(\{ question: ([\d.]+), total: ([\d.]+) \}\)", text)
    assert tuple(map(float, limits)) == (USUAL_LIMITS.question, USUAL_LIMITS.total)
