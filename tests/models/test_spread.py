"""Numbers inside bins follow the shares of their parts."""

import numpy as np
import pytest

from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.models.spread import Spread

AGE = Numeric(name="age", bounds=(0, 99), edges=(0, 40, 60, 99), integer=True, missing=True)
WEIGHT = Numeric(name="weight", bounds=(0, 10), edges=(0, 4, 10))


def placed(spread, attribute, code, draws=20_000):
    rng = np.random.default_rng(1)
    return spread.place(attribute, np.full(draws, code), rng.random(draws))


def test_parts_of_a_bin_have_their_shares():
    spread = Spread(attribute="weight", starts=(0, 1, 2, 4), shares=(0.3, 0.0, 0.1, 0.6))
    places = 4 * placed(spread, WEIGHT, 0)
    assert np.mean(places < 1) == pytest.approx(0.75, abs=0.02)
    assert ((places >= 2) | (places < 1)).all()
    assert np.mean(places[places >= 2]) == pytest.approx(3, abs=0.03)
    assert np.histogram(placed(spread, WEIGHT, 1), 4, (0, 1))[0] == pytest.approx(5000, abs=300)


def test_a_heavy_value_among_whole_numbers_comes_back_as_it_is():
    """40 is a heap; the upper bound is one more number of the last bin."""
    spread = Spread(attribute="age", starts=(0, 40, 41, 60, 99), shares=(0.2, 0.5, 0.1, 0.0, 0.2))
    numbers = np.floor(40 + 20 * placed(spread, AGE, 1))
    assert np.mean(numbers == 40) == pytest.approx(5 / 6, abs=0.02)
    assert set(np.floor(60 + 40 * placed(spread, AGE, 2)).tolist()) == {99.0}
    assert set(np.floor(40 * placed(spread, AGE, 0)).tolist()) == set(range(40))


def test_buckets_and_bins_without_shares_keep_their_draws():
    spread = Spread(attribute="age", starts=(0, 40), shares=(0.0, 1.0))
    draws = np.linspace(0, 0.999, 50)
    for code in (0, 3, 4):
        assert (spread.place(AGE, np.full(50, code), draws) == draws).all()


def test_neighbours_of_equal_density_are_one_part():
    spread = Spread.of("weight", np.array([0.0, 1, 2, 4, 10]), np.array([0.1, 0.1, 0.2, 1.2]) / 1.6)
    assert spread.starts == (0, 4)
    assert sum(spread.shares) == pytest.approx(1)
    assert Spread.from_dict(spread.as_dict()) == spread


def test_files_that_make_no_sense_are_refused():
    for starts, shares in (((0, 0), (1, 1)), ((0, 1), (1,)), ((0,), (-1,)), ((0,), (float("nan"),)), ((), ())):
        with pytest.raises(InvalidInput, match=r"numbers\.age"):
            Spread(attribute="age", starts=starts, shares=shares)
    domain = Domain(attributes=[AGE, Boolean(name="smokes")])
    for spread in (
        Spread(attribute="age", starts=(1,), shares=(1,)),
        Spread(attribute="age", starts=(0, 100), shares=(1, 1)),
        Spread(attribute="smokes", starts=(0,), shares=(1,)),
    ):
        with pytest.raises(InvalidInput):
            spread.check(domain)
