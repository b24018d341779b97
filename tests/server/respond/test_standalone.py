"""The page as a folder: all it needs, nothing from elsewhere, bound to one aggregator."""

import re

import pytest

from tacita.errors import InvalidInput
from tacita.server.respond.files import load
from tacita.server.respond.standalone import build


def test_the_folder_holds_the_very_files_of_the_page(tmp_path):
    files = build("https://Survey.example/", tmp_path / "page")
    index = files[0].read_text()
    assert files[0].name == "index.html"
    for name, (content, _) in load().content.items():
        if name not in ("page.html", "worker.js", "files.json"):
            assert (tmp_path / "page" / name).read_bytes() == content
    assert len(files) == len(load().content) - 2
    assert 'data-aggregator="https://survey.example"' in index
    assert f'data-version="{load().version}"' in index
    assert "connect-src &#x27;self&#x27; https://survey.example;" in index
    named = re.findall(r'(?:src|href)="([^"]+)"', index)
    assert named
    assert all((tmp_path / "page" / name).is_file() for name in named)


@pytest.mark.parametrize(
    "aggregator", ["survey.example", "https://survey.example/x", "https://a b", "javascript:alert(1)", 'https://a"b']
)
def test_an_aggregator_is_an_origin(tmp_path, aggregator):
    with pytest.raises(InvalidInput, match="aggregator"):
        build(aggregator, tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="empty folder"):
        build("https://survey.example", tmp_path)
