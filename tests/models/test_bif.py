"""Networks as text: there and back, other people's habits, and what is refused."""

import numpy as np
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, read_bif, write_bif
from tacita.tables.cells import Cells

TEXT = """
// a network as other programs write it
network "dogs" { property version 1 ; }
variable  family-out { type discrete[2] { true, false }; property position = (1, 2) ; }
variable bark { type discrete [ 3 ] { "not at all", a_bit much }; }
/* probability ( ignored ) { } */
probability (family-out) { table 0.15, 0.85; }
probability ( bark | family-out ) {
  default 0.2, 0.3, 0.5;
  (true) .3333, .3333, .3333;   // rounded
}
"""


def same(one, two):
    assert one.parents == two.parents
    for name in one.domain.names:
        np.testing.assert_array_equal(one.conditionals[name].values, two.conditionals[name].values)


def test_there_and_back(survey):
    same(read_bif(write_bif(survey)), survey)
    assert read_bif(write_bif(survey)).domain == survey.domain


def test_any_domain_and_any_characters():
    odd = ['say "no"', "a, b; {c}", "http://x", ","]
    domain = Domain(
        attributes=[
            Categorical(name="two words", levels=odd, missing=True),
            Numeric(name="age", bounds=(0, 99), edges=(0, 18, 99), integer=True),
        ]
    )
    rng = np.random.default_rng(0)
    network = BayesianNetwork(
        domain=domain,
        parents={"two words": ("age",), "age": ()},
        conditionals={
            "age": Cells(domain.project(["age"]), [0.25, 0.75]),
            "two words": Cells(domain.project(["age", "two words"]), rng.dirichlet(np.ones(5), 2)),
        },
    )
    again = read_bif(write_bif(network, title="what is it"), domain)
    for name in domain.names:
        np.testing.assert_allclose(again.conditionals[name].values, network.conditionals[name].values, rtol=1e-15)


def test_other_peoples_habits():
    network = read_bif(TEXT)
    assert network.domain["bark"].all_labels == ("not at all", "a_bit", "much")
    np.testing.assert_allclose(network.conditionals["bark"].values, [[1 / 3] * 3, [0.2, 0.3, 0.5]])


def test_levels_come_in_the_order_of_the_domain():
    domain = Domain(
        attributes=[
            Categorical(name="bark", levels=["much", "a_bit", "not at all"]),
            Categorical(name="family-out", levels=["false", "true"]),
        ]
    )
    network = read_bif(TEXT, domain)
    np.testing.assert_allclose(network.conditionals["bark"].values, [[0.5, 0.3, 0.2], [1 / 3] * 3])
    np.testing.assert_allclose(network.conditionals["family-out"].values, [0.85, 0.15])


@pytest.mark.parametrize(
    "text",
    [
        "variable a { type discrete [ 2 ] { x, y };",
        "variable a { type discrete [ 3 ] { x, y }; }",
        "variable a { type continuous; }",
        "nonsense a { }",
        TEXT + "variable bark { type discrete [ 1 ] { x }; }",
        TEXT.replace("table 0.15, 0.85", "table 0.15"),
        TEXT.replace("table 0.15, 0.85", "table 0.15, 0.95"),
        TEXT.replace("table 0.15, 0.85", "table -0.15, 1.15"),
        TEXT.replace("table 0.15, 0.85", "table 0.15, many"),
        TEXT.replace("default 0.2, 0.3, 0.5;", ""),
        TEXT.replace("bark | family-out", "bark | nobody"),
        TEXT.replace("(true) .3333", "table .3333"),
        TEXT.replace("probability (family-out) { table 0.15, 0.85; }", ""),
        TEXT.replace('"not at all"', '"not \\q all"'),
    ],
)
def test_refusals(text):
    with pytest.raises(InvalidInput):
        read_bif(text)


def test_a_domain_that_does_not_fit(survey):
    with pytest.raises(InvalidInput):
        read_bif(TEXT, survey.domain)
    with pytest.raises(InvalidInput):
        read_bif(write_bif(survey), survey.domain.project(["A"]))
