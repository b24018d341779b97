"""Made-up rows say what they are, in the words of their domain."""

import datetime as dt
import json

import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, decode, encode
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, synthetic_rows
from tacita.privacy.event import NonPrivate, Pure
from tacita.tables.cells import Cells


def test_rows_have_the_levels_of_the_domain_and_say_what_they_cost(survey):
    rows = synthetic_rows(survey.domain, survey, 5000, np.random.default_rng(1), event=Pure(epsilon=1.0))
    assert rows.column_names == list(survey.domain.names)
    assert set(rows["T"].to_pylist()) == {"car", "train", "other"}
    mark = json.loads(rows.schema.metadata[b"tacita"])
    assert mark == {"synthetic": True, "by": "post-processing", "event": {"kind": "pure", "epsilon": 1.0}}
    # encoding them again gives codes with the shares of the network
    codes = survey.domain.encode(rows)
    share = np.bincount(codes["A"], minlength=3) / 5000
    np.testing.assert_allclose(share, [0.3, 0.5, 0.2], atol=0.03)


def test_bins_come_back_as_numbers_inside_them():
    domain = Domain(attributes=[Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True)])
    network = BayesianNetwork(domain=domain, parents={"age": ()}, conditionals={"age": Cells(domain, [0.2, 0.5, 0.3])})
    event = NonPrivate(reason="fitted to exact tables")
    rows = synthetic_rows(domain, network, 2000, np.random.default_rng(1), event=event, policy="uniform")
    ages = rows["age"].to_numpy()
    assert ages.min() >= 0
    assert ages.max() <= 99
    assert abs(np.mean(ages < 18) - 0.2) < 0.04
    assert len(set(ages)) > 60


def test_refusals(survey):
    with pytest.raises(InvalidInput):
        synthetic_rows(survey.domain, survey, -1, np.random.default_rng(1), event=Pure(epsilon=1.0))


MIXED = Domain(
    attributes=[
        Date(name="day", bounds=(dt.date(2020, 1, 15), dt.date(2020, 3, 10)), by="month", missing=True),
        Numeric(name="share", bounds=(0, 1), bins=4, missing=True, other=True),
        Numeric(name="count", bounds=(0, 9), bins=3, integer=True),
        Boolean(name="yes", missing=True),
        Categorical(name="town", levels=("A", "B"), missing=True, other=True),
    ]
)


class Every:
    """Each code of each attribute in turn, the one beyond the domain included."""

    def sample(self, rows, rng):
        return {name: np.arange(rows) % (MIXED[name].size + 1) for name in MIXED.names}


@pytest.mark.parametrize("policy", ["label", "low", "mid", "uniform"])
def test_every_kind_comes_back_within_its_bin_under_every_policy(policy):
    rows = synthetic_rows(MIXED, Every(), 840, np.random.default_rng(1), event=Pure(epsilon=1.0), policy=policy)
    codes = Every().sample(840, None)
    for name in MIXED.names:
        attribute, values = MIXED[name], rows[name].to_pylist()
        gone = codes[name] >= len(attribute.labels) + (attribute.other and isinstance(attribute, Categorical))
        if attribute.other and policy == "label":
            gone &= codes[name] != attribute.other_code
        assert [value is None for value in values] == gone.tolist()
        if policy != "label" or attribute.kind not in ("numeric", "date"):
            again = MIXED.encode(rows, [name])[name]
            held = codes[name] < len(attribute.labels)
            assert np.array_equal(again[held], codes[name][held]), "a value lies in the bin that it stands for"
    kinds = {"label": ("string",) * 3}.get(policy, ("date32[day]", "double", "int64"))
    assert tuple(str(rows[name].type) for name in ("day", "share", "count")) == kinds


def test_a_draw_next_to_one_stays_in_its_bin():
    """Rounding must not carry it over the edge, nor beyond the bounds."""
    most = np.full(4, np.nextafter(1, 0))
    for name in ("day", "share", "count"):
        attribute = MIXED[name]
        codes = np.arange(len(attribute.labels))
        again = encode(attribute, decode(attribute, codes, "uniform", most[: codes.size]))
        assert np.array_equal(again, codes)
    wide = Numeric(name="x", bounds=(2**40, 2**40 + 3), edges=(2**40, 2**40 + 1, 2**40 + 3))
    assert encode(wide, decode(wide, np.array([0]), "uniform", most[:1])).tolist() == [0]


class Half:
    """Draws true and false, and takes only what is true."""

    def sample(self, rows, rng):
        return {"yes": rng.integers(0, 2, rows)}

    def fits(self, rows):
        return np.asarray(rows["yes"].to_pylist(), bool)


def test_a_model_may_refuse_rows_after_they_are_decoded():
    rows = synthetic_rows(MIXED, Half(), 300, np.random.default_rng(1), event=Pure(epsilon=1.0))
    assert rows["yes"].to_pylist() == [True] * 300

    class Never(Half):
        def fits(self, rows):
            return np.zeros(rows.num_rows, bool)

    with pytest.raises(InvalidInput, match="nearly all rows"):
        synthetic_rows(MIXED, Never(), 3, np.random.default_rng(1), event=Pure(epsilon=1.0))
