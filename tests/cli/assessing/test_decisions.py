"""Decisions on tables that were released on the command line, and on a campaign."""

import json

import numpy as np
import pytest

from tacita.cli.collecting.campaign import campaigns_of
from tacita.domain import Categorical, Domain
from tacita.models import BayesianNetwork, write_bif
from tacita.tables.cells import Cells
from tacita.testing.respondents import answer_campaign

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: sex, kind: categorical, levels: [f, m]}
- {name: smokes, kind: boolean}
- {name: town, kind: categorical, levels: [a, b, c]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 4000)
    smokes = rng.random(4000) < np.where(sex == 0, 0.2, 0.35)
    towns = rng.integers(0, 3, 4000)
    rows = [f"{'fm'[s]},{'yes' if k else 'no'},{'abc'[t]}" for s, k, t in zip(sex, smokes, towns, strict=True)]
    (tmp_path / "people.csv").write_text("sex,smokes,town\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "9")
    made = run(
        *("query", "people.csv", "-s", "people.yaml", "-a", "people", "--epsilon", "2", "-o", "tables.json"),
        *("--by", "sex,smokes,town", "--by", "sex,smokes", "--by", "sex,town", "--by", "smokes,town"),
    )
    assert made.code == 0, made.err
    return tmp_path


def test_a_test_finds_dependence_and_shows_its_power():
    found = run("decide", "test", "tables.json", "--by", "sex,smokes", "--given", "town", "--simulations", "199")
    assert found.code == 0, found.err
    assert "sex and smokes are independent given town: rejected at level 0.05" in found.out
    assert "Power of this test" in found.out
    plain = json.loads(run("decide", "test", "tables.json", "--by", "sex,town", "--json").out)
    assert plain["df"] == 2
    assert plain["conclusion"] == "no evidence of dependence"
    assert plain["power"][0]["effect"] == 0.1


def test_a_flip_is_shown_and_the_published_integral_says_what_is_wrong():
    found = run("decide", "flip", "tables.json", "--by", "sex,smokes", "--draws", "500")
    assert "called dependent; the true table would be called otherwise with probability 0.0%" in found.out
    for way in ("same", "private"):
        plain = json.loads(
            run("decide", "flip", "tables.json", "-b", "sex,smokes", "--decide", way, "--draws", "300", "--json").out
        )
        assert plain["dependent"] is True
        assert plain["draws"] == 300
    paper = run("decide", "flip", "tables.json", "--by", "sex,smokes", "--decide", "paper")
    assert "It is not valid" in paper.out
    assert "row and column totals" in paper.out
    refused = run("decide", "flip", "tables.json", "--by", "sex,town", "--decide", "paper")
    assert refused.code != 0


def test_links_are_shown_with_a_page(folder):
    found = run("decide", "stability", "tables.json", "--draws", "30", "--report", "links.html")
    assert found.code == 0, found.err
    assert "sex → smokes" in found.out or "smokes → sex" in found.out
    page = (folder / "links.html").read_text()
    assert "<svg" in page
    assert "100%" in page
    plain = json.loads(run("decide", "stability", "tables.json", "--search", "tree", "--draws", "20", "--json").out)
    assert plain["search"] == "tree"


def test_links_are_planned_from_a_network(folder):
    found = run("decide", "stability", "tables.json", "--search", "tree", "--draws", "5", "--json")
    assert found.code == 0
    domain = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in ("sex", "smokes")])
    network = BayesianNetwork(
        domain=domain,
        parents={"sex": (), "smokes": ("sex",)},
        conditionals={
            "sex": Cells(domain.project(("sex",)), np.array([0.5, 0.5])),
            "smokes": Cells(domain, np.array([[0.8, 0.2], [0.6, 0.4]])),
        },
    )
    (folder / "assumed.bif").write_text(write_bif(network))
    common = ("decide", "plan", "assumed.bif", "--draws", "20", "--people", "3000")
    plain = json.loads(run(*common, "--epsilon", "2", "--json").out)
    assert plain["links"][0]["linked"] == 1.0
    weak = json.loads(run(*common, "--epsilon", "0.01", "--by", "sex,smokes", "--json").out)
    assert weak["same"] < 1.0
    shown = run(*common, "--rho", "0.5", "--report", "plan.html")
    assert "simulated releases" in shown.out
    assert "Exact tables of as many people" in shown.out
    assert "<svg" in (folder / "plan.html").read_text()
    assert run("decide", "plan", "absent.bif", "--people", "10", "--epsilon", "1").code != 0


def test_a_campaign_is_decided_on_by_its_id():
    made = run(
        *("collect", "create", "-s", "people.yaml", "--title", "Smoking", "--respondents", "3000", "--epsilon", "2"),
        *("--by", "sex,smokes", "--mode", "tables", "--channel", "rr", "--id", "smoking", "--minimum", "10", "--json"),
    )
    assert made.code == 0, made.err
    same = np.random.default_rng(2).integers(0, 2, 900)
    answer_campaign(campaigns_of(None), "smoking", {"sex": same, "smokes": same, "town": same})
    plain = json.loads(run("decide", "test", "smoking", "--by", "sex,smokes", "--simulations", "99", "--json").out)
    assert plain["reject"] is True
    flip = json.loads(run("decide", "flip", "smoking", "--by", "sex,smokes", "--draws", "300", "--json").out)
    assert flip["probability"] < 0.05
    assert run("decide", "stability", "smoking", "--draws", "20").code == 0


def test_what_is_no_table_is_refused(folder):
    (folder / "other.json").write_text('{"tacita": "model/1"}')
    (folder / "broken.json").write_text("{")
    for name in ("other.json", "broken.json", "absent.json", "no-such-campaign"):
        assert run("decide", "test", name, "--by", "sex,smokes").code != 0
    assert "at least two" in run("decide", "test", "tables.json", "--by", "sex").err
