"""Distances of tables: worked by hand, and the same for pairs with very many cells."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.case import Case, read_case
from tacita.assess.frame import Frame
from tacita.assess.utility import marginals
from tacita.assess.utility.marginals import margins
from tacita.assess.utility.structure import compare_structure
from tacita.domain import Categorical, Domain


def rng():
    return np.random.default_rng(7)


def test_margins(cases, domain):
    fresh, marginal = margins(cases["fresh"], rng()), margins(cases["marginal"], rng())
    assert marginal.mean(1) == 0  # the same values in another order
    assert marginal.mean(2) > fresh.mean(2) * 1.05
    assert fresh.mean(2) == pytest.approx(fresh.floor[1] * np.sqrt(2), rel=0.15)  # two samples, against one
    assert len(fresh.singles) == 6
    assert len(fresh.pairs) == 15
    ages = next(each for each in fresh.singles if each.attributes == ("age",))
    real, made = (np.bincount(frame.codes[:, 0], minlength=10) for frame in (cases["fresh"].real, cases["fresh"].first))
    assert ages.variation == pytest.approx(np.abs(real / 1500 - made / 1500).sum() / 2)
    assert ages.wasserstein is not None
    assert fresh.worst(1)[0].variation == max(each.variation for each in (*fresh.singles, *fresh.pairs))


def test_missing_values_are_a_level(domain):
    table = pa.table({"ill": ["no", None, "flu", "no"]})
    case = read_case(domain, real=table, released=[table.slice(0, 1)])
    assert margins(case, rng()).mean(1) == pytest.approx(0.5)


def test_pairs_with_very_many_cells_have_the_same_distances(cases, monkeypatch):
    whole = margins(cases["marginal"], rng())
    monkeypatch.setattr(marginals, "_MOST_CELLS", 1)
    seen = margins(cases["marginal"], rng())
    for one, other in zip(whole.pairs, seen.pairs, strict=True):
        for name in ("variation", "hellinger", "js", "kl"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)
    assert whole.floor == pytest.approx(seen.floor)


def test_pairs_with_more_cells_than_memory():
    size = 200_000  # 4e10 cells: 300 GB if each had a place
    domain = Domain(attributes=[Categorical(name=name, levels=[str(i) for i in range(size)]) for name in ("a", "b")])
    one, other = (Frame(domain=domain, values=rng().integers(0, size, (50, 2)).astype(float) // by) for by in (1, 2))
    case = Case(real=one, released=(other,))
    assert 0 < margins(case, rng()).mean(2) <= 1
    assert compare_structure(case).differing == 0
