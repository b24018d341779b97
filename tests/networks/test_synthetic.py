"""Made-up rows say what they are, in the words of their domain."""

import json

import numpy as np
import pytest

from tacita.cells import Cells
from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.networks import Network, synthetic_rows
from tacita.privacy.event import NonPrivate, Pure


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
    network = Network(domain=domain, parents={"age": ()}, conditionals={"age": Cells(domain, [0.2, 0.5, 0.3])})
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
