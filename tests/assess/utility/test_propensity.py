"""A classifier that tells real rows from released ones, and its null."""

import numpy as np
import pytest

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.utility.propensity import propensity
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(7)


def test_propensity(cases):
    fresh, copied = propensity(cases["fresh"], rng()), propensity(cases["copied"], rng())
    assert 0.4 < fresh.ratio < 2
    assert copied.ratio < 2
    biased = cases["fresh"].first.take(cases["fresh"].first.column("age") > 50)
    skewed = propensity(Case(real=cases["fresh"].real, released=(biased,)), rng())
    assert skewed.ratio > 10
    assert skewed.auc > 0.7
    with pytest.raises(TacitaError, match="rows"):
        propensity(Case(real=biased.take(slice(10)), released=(biased,)), rng())


def test_the_null_of_propensity():
    """Over many pairs of samples of one law the ratio is 1 on average."""
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(-5, 5), bins=5), Categorical(name="c", levels=["a", "b", "c"])]
    )
    source, found = np.random.default_rng(3), []
    for _ in range(60):
        frames = [
            Frame(
                domain=domain,
                values=np.stack([source.normal(size=300), source.integers(0, 3, 300)], axis=1).astype(float),
            )
            for _ in range(2)
        ]
        found.append(propensity(Case(real=frames[0], released=(frames[1],)), source).ratio)
    assert np.mean(found) == pytest.approx(1, abs=0.25)


def test_a_classifier_is_not_asked_about_the_rows_it_saw():
    """Many levels and few rows of one law: a model tells them apart by heart, and learns nothing."""
    domain = Domain(
        attributes=[Categorical(name=f"z{place}", levels=[str(i) for i in range(30)]) for place in range(4)]
    )
    source, found = np.random.default_rng(5), []
    for _ in range(6):
        one, other = (Frame(domain=domain, values=source.integers(0, 30, (150, 4)).astype(float)) for _ in range(2))
        found.append(propensity(Case(real=one, released=(other,)), source).auc)
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)
