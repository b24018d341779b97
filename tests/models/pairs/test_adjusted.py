import json

import numpy as np
import pytest
from tests.models.pairs.test_pair_shares import DOMAIN, mixture

from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.models.pairs.adjusted import Adjusted
from tacita.models.pairs.pair_shares import blocks_of
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake


def better(model):
    """A strong link between b and c with the margins of the model."""
    over = DOMAIN.project(("b", "c"))
    strong = Cells(over, np.array([[3.0, 1, 1, 1], [1, 3, 1, 1], [1, 1, 3, 3]]) / 20)
    return rake(strong, [model.project(["b"]), model.project(["c"])])


MODEL = mixture(5)
ADJUSTED = Adjusted(model=MODEL, tables={("b", "c"): better(MODEL)})


def test_its_tables():
    assert np.allclose(ADJUSTED.project(("b", "c")).values, better(MODEL).values)
    assert np.allclose(ADJUSTED.project(("c", "b")).values, better(MODEL).values.T)
    assert np.array_equal(ADJUSTED.project(("a", "d")).values, MODEL.project(("a", "d")).values)
    triple = ADJUSTED.project(("a", "b", "c"))
    assert np.allclose(triple.project(("b", "c")).values, better(MODEL).values, atol=1e-4)
    assert np.allclose(triple.project(("a",)).values, MODEL.project(("a",)).values, atol=1e-4)


def test_rows_follow_the_better_table_and_the_others():
    rows = ADJUSTED.sample(20_000, np.random.default_rng(0))
    for pair in (("b", "c"), ("a", "c"), ("c", "d")):
        counts = np.zeros(DOMAIN.project(pair).shape)
        np.add.at(counts, (rows[pair[0]], rows[pair[1]]), 1)
        assert np.abs(counts / 20_000 - ADJUSTED.project(pair).values).sum() / 2 < 0.01, pair
    assert len(ADJUSTED.sample(3, np.random.default_rng(0))["a"]) == 3


def test_pair_shares_hold_the_better_table():
    blocks = blocks_of(DOMAIN)
    assert np.allclose(ADJUSTED.pair_shares()[blocks["b"], blocks["c"]], better(MODEL).values)
    assert np.allclose(ADJUSTED.pair_shares()[blocks["a"], blocks["c"]], MODEL.project(("a", "c")).values)


def test_it_travels():
    again = Adjusted.from_dict(json.loads(json.dumps(ADJUSTED.as_dict())), Mixture.from_dict)
    assert np.allclose(again.project(("b", "c")).values, better(MODEL).values, atol=1e-8)
    assert again.supports(("a", "d"))
    assert not again.supports(("z",))


@pytest.mark.parametrize(
    ("pair", "values"),
    [
        (("c", "b"), np.full((4, 3), 1 / 12)),
        (("b", "c"), np.full((3, 4), 1 / 6)),
        (("b", "c"), np.full((3, 4), np.nan)),
        (("b", "c"), np.array([[1.5, -0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])),
    ],
)
def test_tables_are_distributions_over_two_attributes_in_order(pair, values):
    with pytest.raises(InvalidInput, match="tables"):
        Adjusted(model=MODEL, tables={pair: Cells(DOMAIN.project(pair), values)})


def test_other_files_are_refused():
    with pytest.raises(InvalidInput, match="adjusted/1"):
        Adjusted.from_dict({"tacita": "mixture/1"}, Mixture.from_dict)
    data = ADJUSTED.as_dict()
    data["tables"][0]["shares"].pop()
    with pytest.raises(InvalidInput, match="12 numbers"):
        Adjusted.from_dict(data, Mixture.from_dict)
