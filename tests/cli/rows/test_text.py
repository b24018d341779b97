"""Headlines on the command line: each output goes into the next command."""

import json

import pytest

pytest.importorskip("torch")

from tacita.synthesize.text.headline_files import HeadlineFile

from ..conftest import run

SMALL = ("--hidden", "8", "--words", "6")


def good(*arguments):
    done = run(*arguments)
    assert done.code == 0, done.err
    return done


@pytest.fixture(autouse=True)
def files():
    good("text", "example", "-o", "headlines.csv", "--vocabulary", "words.json", "-n", "200")
    good("text", "example", "-o", "held.csv", "-n", "80", "--seed", "1")


def test_plant_train_generate_assess_and_train_again(tmp_path):
    planting = ("--secrets", "secrets.json", "--topic", "business", "--copies", "0,3", "--digits", "2", "--seed", "4")
    good("text", "plant", "headlines.csv", "-o", "planted.csv", *planting)
    assert (tmp_path / "planted.csv").read_text().count("reader") == 3
    plain = ("--no-guarantee", "--epochs", "2", *SMALL)
    done = good("text", "train", "planted.csv", "-v", "words.json", "-o", "model.json", *plain)
    assert "No guarantee" in done.out
    assert json.loads((tmp_path / "model.json").read_text())["guarantee"] == "none"
    drawing = ("-n", "5", "--seed", "1", "--json")
    made = json.loads(good("text", "generate", "model.json", "-o", "synthetic.csv", *drawing).out)
    assert (made["headlines"], made["guarantee"]) == (20, "none")
    assert len((tmp_path / "synthetic.csv").read_text().splitlines()) == 21
    asked = ("--held", "held.csv", "--canaries", "secrets.json", "-n", "5")
    found = json.loads(good("text", "assess", "model.json", "planted.csv", *asked, "--json").out)
    assert [each["copies"] for each in found["exposures"]] == [0, 3]
    assert found["guarantee"] == "none"
    shown = good("text", "assess", "model.json", "planted.csv", *asked, "-o", "figures.json").out
    assert "perplexity" in shown
    assert "exposure, bits" in shown
    assert json.loads((tmp_path / "figures.json").read_text()) == found
    good("text", "train", "synthetic.csv", "-o", "second.json", "--kind", "cgru", *plain)  # words of the file itself


def test_private_training_is_charged_stated_and_repeated_for_free(tmp_path):
    good("budget", "open", "news", "--unit", "row", "--epsilon", "3", "--delta", "1e-5")
    paid = ("-a", "news", "--epsilon", "2", "--delta", "1e-5", "--steps", "3", "--sample", "40", "--people", "200")
    asked = ("text", "train", "headlines.csv", "-v", "words.json", "-o", "model.json", "--kind", "cgru", *paid, *SMALL)
    plan = json.loads(good(*asked, "--dry-run", "--json").out)
    assert 1.99 < plan["cost"] <= 2
    assert not (tmp_path / "model.json").exists()
    found = json.loads(good(*asked, "--key", "one", "--statement", "statement.json", "--json").out)
    assert found["guarantee"] == "central"
    assert found["provenance"]["charge"]
    first = (tmp_path / "model.json").read_text()
    good("verify", "statement.json", "--file", "model.json")
    assert "central" in good(*asked, "--key", "one").out
    assert (tmp_path / "model.json").read_text() == first
    refused = run(*asked, "--key", "two")
    assert refused.code != 0
    assert "budget" in refused.err.lower()


def test_headlines_are_read_after_the_charge(tmp_path, monkeypatch):
    good("budget", "open", "news", "--unit", "row", "--epsilon", "3", "--delta", "1e-5")
    paid = ("-a", "news", "--epsilon", "4", "--delta", "1e-5", "--steps", "3", "--sample", "40", "--people", "200")
    asked = ("text", "train", "headlines.csv", "-v", "words.json", "-o", "model.json", "--kind", "cgru", *paid, *SMALL)
    monkeypatch.setattr(HeadlineFile, "read", lambda _: pytest.fail("read before the charge"))
    refused = run(*asked)
    assert refused.code == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "choose private training or none"),
        (("--no-guarantee", "--epsilon", "1"), "choose private training or none"),
        (("--epsilon", "1", "--delta", "1e-5"), "needs one"),
        (("--no-guarantee", "--text-column", "title"), "no such name"),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments, words):
    done = run("text", "train", "headlines.csv", "-o", "model.json", *arguments)
    assert done.code == 2
    assert words in done.err


def test_private_training_needs_a_public_vocabulary(tmp_path):
    good("budget", "open", "news", "--unit", "row", "--epsilon", "3", "--delta", "1e-5")
    data = json.loads((tmp_path / "words.json").read_text()) | {"public": False}
    (tmp_path / "words.json").write_text(json.dumps(data))
    paid = ("-a", "news", "--epsilon", "2", "--delta", "1e-5", "--people", "200")
    done = run("text", "train", "headlines.csv", "-v", "words.json", "-o", "model.json", *paid)
    assert "must be public" in done.err
    done = run("text", "train", "headlines.csv", "-o", "model.json", *paid)
    assert "private training needs one" in done.err


def test_other_files_are_no_generators():
    assert "headline-generator/1" in run("text", "generate", "words.json", "-o", "synthetic.csv").err
    assert "must be a generator" in run("text", "generate", "held.csv", "-o", "synthetic.csv").err
    assert (
        "whole numbers"
        in run(
            "text", "plant", "headlines.csv", "-o", "a.csv", "--secrets", "b.json", "--topic", "health", "--copies", "x"
        ).err
    )


def test_untagged_headlines_are_tagged_by_the_library(tmp_path):
    pytest.importorskip("textblob")
    lines = [f"{word} shares rise after new deal,business" for word in ("norvex", "solbank", "linmark")] * 8
    (tmp_path / "plain.csv").write_text("text,topic\n" + "\n".join(lines) + "\n")
    good("text", "train", "plain.csv", "-o", "model.json", "--no-guarantee", "--epochs", "1", *SMALL)
    good("text", "generate", "model.json", "-o", "synthetic.csv", "-n", "3", "--start", "norvex shares")
    assert (tmp_path / "synthetic.csv").read_text().count('\n"norvex shares') == 3
