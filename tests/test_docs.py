"""Documentation that is wrong fails."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "clients").rglob("*.md")])
PAGES = [page for page in PAGES if "node_modules" not in page.parts]
CLAIMS = [page for page in (ROOT / "docs" / "claims").glob("*.md") if page.name != "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.stem)
def test_claims_have_all_parts(page):
    text = page.read_text()
    for heading in ("Precondition", "Guarantee", "Argument", "How it is tested", "Flags"):
        assert f"\n## {heading}" in text
    assert page.name in (page.parent / "README.md").read_text()
    for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / path).is_file(), path
    for line in text.split("\n"):
        if line.startswith("Code:"):
            _check_code(line)


def _check_code(line):
    """Every file that a claim names exists: by its whole path, or beside the last one that was named so."""
    folder = ROOT
    for path in re.findall(r"`([\w/]+(?:\.py|\.js|/))`", line):
        found = ROOT / path if "/" in path else folder / path
        assert found.exists(), path
        folder = found if path.endswith("/") else found.parent


def test_claim_pages_that_code_names_exist():
    for file in (ROOT / "src").rglob("*.py"):
        for path in re.findall(r"docs/[\w/.-]+\.md", file.read_text()):
            assert (ROOT / path).is_file(), f"{file.name} names {path}"


def test_the_readme_example_runs(tmp_path, monkeypatch):
    import pyarrow.csv as pacsv

    from tacita.demo.census import DOMAIN, simulate

    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(simulate(2000, seed=1), "census.csv")
    DOMAIN.write("census.schema.yaml")
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(block, names)
    assert len(names["low"]) == DOMAIN["age"].size


def test_the_worked_example_of_collecting_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/collect.md").read_text(), re.DOTALL):
        exec(block, names)
    assert names["rows"].num_rows == 1000
    assert names["campaigns"].get(names["campaign"].id).reports > 500
    assert "probability" in capsys.readouterr().out


def test_the_worked_example_of_networks_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/networks.md").read_text(), re.DOTALL)
    names = {}
    exec(block, names)
    assert names["exact"].parents["fuel"] == ("slope", "load", "speed")
    assert names["released"].guarantee == "central"
    assert "slope: 3.4" in capsys.readouterr().out


def test_the_worked_example_of_mobility_runs(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/mobility.md").read_text(), re.DOTALL):
        exec(block, names)
    assert len(set(names["rows"]["card"].to_pylist())) == 1000
    assert names["made"].guarantee == "central"
    assert "at most 20 count" in capsys.readouterr().out


def test_the_worked_example_of_hierarchies_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/hierarchies.md").read_text(), re.DOTALL)
    exec(block, {})
    out = capsys.readouterr().out
    assert "['10115', '1011*', '101**', '10***', '1****', '*']" in out
    assert "(5, 1, 1.0)" in out


def test_the_worked_example_of_headlines_runs(capsys):
    pytest.importorskip("torch").set_num_threads(1)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/text.md").read_text(), re.DOTALL)
    names = {}
    exec(block, names)
    assert names["private"].guarantee == "central"
    assert names["plain"].guarantee == "none"
    assert "none" in capsys.readouterr().out


def test_the_worked_example_of_disclosure_control_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/disclosure-control.md").read_text(), re.DOTALL)
    exec(block, {})
    assert "none 2000" in capsys.readouterr().out
    assert (tmp_path / "masked.parquet").is_file()


def test_every_command_of_the_makefile_is_explained():
    makefile = (ROOT / "Makefile").read_text()
    for word in re.findall(r"^([a-z]+):", makefile, re.MULTILINE):
        assert re.search(rf"^{word}:.*## \w", makefile, re.MULTILINE), word


ROOMS = sorted({file.parent for file in (ROOT / "src" / "tacita").rglob("*.py")} - {ROOT / "src" / "tacita"})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT / "src" / "tacita")))
def test_rooms_say_what_is_in_them(room):
    """A room of more than ten files has a README that names each of them, and nothing that is not there."""
    modules = {file.stem for file in room.glob("*.py")} - {"__init__"}
    page = room / "README.md"
    if not page.exists():
        assert len(modules) <= 10, "needs a README"
        return
    text = page.read_text()
    assert len(text.split("\n")) <= 45, "must fit one screen"
    table = "\n".join(line.split("|")[1] for line in text.split("\n") if line.startswith("| `"))
    named = set(re.findall(r"`([\w/]+)`", table))
    assert {name for name in named if not name.endswith("/")} == modules
    assert all((room / name).is_dir() for name in named if name.endswith("/"))


def test_walks_name_functions_that_exist():
    rows = re.findall(
        r"^\| \d+ \| `([\w/.]+)` `([\w.]+)` \|", (ROOT / "docs/design/walks.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 30
    for file, name in rows:
        module = importlib.import_module("tacita." + file.removesuffix(".py").replace("/", "."))
        found = module
        for part in name.split("."):
            found = getattr(found, part)
