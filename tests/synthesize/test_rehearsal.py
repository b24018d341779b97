import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.synthesize import Synthesize
from tacita.synthesize.rehearsal import rehearse

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=6, missing=True),
        Categorical(name="place", levels=("a", "b", "c"), other=True),
        Date(name="since", bounds=("2000-01-01", "2003-12-31"), by="year"),
        Boolean(name="smokes"),
    ]
)


def test_more_budget_and_more_people_mean_less_error():
    recipe = Synthesize(method="pairs")
    dear, cheap = (rehearse(recipe, DOMAIN, Budget.pure(epsilon), people=500) for epsilon in (10.0, 0.05))
    many = rehearse(recipe, DOMAIN, Budget.pure(0.05), people=20_000)
    assert dear.singles < cheap.singles / 3
    assert dear.pairs < cheap.pairs / 3
    assert many.pairs < cheap.pairs / 3
    assert 0 < dear.singles < 0.05


def test_one_attribute_has_no_pairs():
    found = rehearse(Synthesize(attributes=("place",)), DOMAIN, Budget.pure(1.0), people=300)
    assert found.pairs == found.singles
    assert found.as_dict()["people"] == 300


def test_nobody_is_refused():
    with pytest.raises(InvalidInput, match="people"):
        rehearse(Synthesize(), DOMAIN, Budget.pure(1.0), people=1)


def test_numbers_that_are_kept_are_rehearsed_in_the_bins_of_the_schema():
    fine = Synthesize(method="independent", numbers="fine", people=5000)
    found = rehearse(fine, DOMAIN, Budget.pure(10.0), people=5000)
    assert 0 < found.singles < 0.05
