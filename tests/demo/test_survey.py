import numpy as np
import pytest

from tacita.demo.survey import DOMAIN, PARENT_SETS, simulate, truth
from tacita.engines.local import LocalEngine


def test_rows_fit_the_schema_and_repeat():
    rows = simulate(2000, seed=1)
    assert LocalEngine(DOMAIN, rows).check().fits
    assert rows == simulate(2000, seed=1)
    assert rows != simulate(2000, seed=2)


def test_levels_are_those_of_the_network():
    assert DOMAIN.shape == (3, 2, 2, 2, 2, 3)
    assert [DOMAIN.project(key).size for key in PARENT_SETS] == [24, 36, 24]


def test_rows_follow_the_tables():
    people = 200_000
    codes = DOMAIN.encode(simulate(people, seed=3))
    found = np.zeros(DOMAIN.shape)
    np.add.at(found, tuple(codes[name] for name in DOMAIN.names), 1)
    expected = truth().values * people
    assert expected.sum() == pytest.approx(people)
    chi_square = ((found - expected) ** 2 / expected).sum()
    assert abs(chi_square - 143) < 5 * np.sqrt(2 * 143)


@pytest.mark.parametrize(
    ("names", "cell", "share"),
    [
        ("AS", ("old", "F"), 0.2 * 0.4),
        ("ASE", ("old", "F", "uni"), 0.2 * 0.4 * 0.1),
        ("EO", ("uni", "emp"), None),
        ("ORT", ("self", "big", "train"), None),
    ],
)
def test_single_shares(names, cell, share):
    """Shares that the tables give at once, and conditionals that must come out of the whole table again."""
    place = tuple(DOMAIN[name].labels.index(level) for name, level in zip(names, cell, strict=True))
    table = truth().project(list(names)).values
    if share is not None:
        assert table[place] == pytest.approx(share)
    elif names == "EO":
        assert table[place] / table[1].sum() == pytest.approx(0.92)
    else:
        assert table[place] / table[1, 1].sum() == pytest.approx(0.21)
