"""Plain arguments give what the functions behind them give."""

import json

import numpy as np
import pytest
from tests.assess.decisions.released import counted, tallied

from tacita.assess.decisions.asked import ask_flip, ask_stability, ask_test, read_tables
from tacita.assess.decisions.flip import posterior_flip
from tacita.assess.decisions.page import stability_sections
from tacita.assess.decisions.private_test import private_test
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.channels.channel import RandomizedResponse
from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace
from tacita.tables.release import Releases

RELEASE = counted([560, 440, 440, 560], DiscreteLaplace.at_least(20))
TABLES = Releases([RELEASE])


def test_tables_are_read_from_json():
    for written in (RELEASE.to_json(), TABLES.to_json()):
        assert read_tables(json.loads(written))["x", "y"].values.tolist() == RELEASE.values.tolist()
    for wrong in ({"tacita": "model/1"}, [], {"tacita": "release/1"}, {"tacita": "releases/1", "releases": [1]}):
        with pytest.raises(InvalidInput, match="released tables"):
            read_tables(wrong)


def test_answers_are_those_of_the_functions():
    asked = Hypothesis.of("x", "y")
    assert ask_test(TABLES, by=["x", "y"], simulations=99, seed=3) == (
        private_test(TABLES, asked, simulations=99, seed=3).as_dict()
    )
    flip = ask_flip(TABLES, by=["x", "y"], draws=200, seed=4)
    assert flip["probability"] == posterior_flip(TABLES, asked, draws=200, rng=np.random.default_rng(4)).probability
    assert json.loads(json.dumps(flip)) == flip


def test_the_decision_may_be_that_of_the_private_test():
    """Counts that look dependent if they are taken for exact, but not to a test that knows the noise."""
    noisy = Releases([counted([540, 470, 470, 540], DiscreteLaplace.at_least(40))])
    naive, private = (ask_flip(noisy, by=["x", "y"], decide=way, draws=500) for way in ("same", "private"))
    assert naive["dependent"]
    assert not private["dependent"]
    assert private["decide"] == "private"
    assert naive["probability"] + private["probability"] == pytest.approx(1)


def test_the_published_integral_is_for_counts_with_laplace_noise():
    assert ask_flip(TABLES, by=["x", "y"], decide="paper", draws=100)["valid"] is False
    tally = tallied(RandomizedResponse.k_ary(levels=4, epsilon=1.0), [50, 30, 20, 40])
    with pytest.raises(InvalidInput, match="two by two"):
        ask_flip(tally, by=["x", "y"], decide="paper")


def test_a_page_shows_the_picture_and_every_link():
    found = ask_stability(TABLES, draws=50)
    network, links, *rest = stability_sections(found)
    assert "<svg" in network.picture
    assert links.facts[0][0] in ("x → y", "y → x")
    assert rest[-1].title == "How it was computed"
