import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from tacita.collect.estimating.consistency import complete, complete_min_norm, consistent
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

SIZES = {"A": 2, "B": 3, "C": 2, "D": 2}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in SIZES.items()])


def table(names, values):
    domain = DOMAIN.project(names)
    return Cells(domain, np.array(values, float).reshape(domain.shape))


def test_completion_of_a_chain_is_conditional_independence():
    rng = np.random.default_rng(1)
    full = Cells(DOMAIN, rng.dirichlet(np.ones(DOMAIN.size)).reshape(DOMAIN.shape))
    first, second = full.project(["A", "B"]), full.project(["B", "C"])
    got = complete([first, second], DOMAIN.project(["A", "B", "C"]))
    expected = first * second / full.project(["B"])
    np.testing.assert_allclose(got.values, expected.project(["A", "B", "C"]).values, atol=1e-8)
    np.testing.assert_allclose(got.project(["A", "B"]).values, first.values, atol=1e-8)


def test_completion_refuses():
    with pytest.raises(InvalidInput, match="no table"):
        complete([table(["A"], [0.5, 0.5])], DOMAIN.project(["D"]))
    with pytest.raises(InvalidInput, match="negative"):
        complete([table(["A"], [1.5, -0.5])], DOMAIN.project(["A"]))


def test_smallest_norm_of_the_worked_example():
    """Margins .5/.5 and .4/.6: even over the first, so the table is (.2, .3, .2, .3), as for the largest entropy."""
    margins = [table(["A"], [0.5, 0.5]), table(["C"], [0.4, 0.6])]
    got = complete_min_norm(margins, DOMAIN.project(["A", "C"]))
    np.testing.assert_allclose(got.values.reshape(-1), [0.2, 0.3, 0.2, 0.3], atol=1e-7)


def test_smallest_norm_stops_at_zero_and_is_not_independence():
    """Margins .9/.1 and .2/.8: one cell is free, x in .1 to .2; the norm falls until another cell is 0, at x = .2."""
    margins = [table(["A"], [0.9, 0.1]), table(["C"], [0.2, 0.8])]
    got = complete_min_norm(margins, DOMAIN.project(["A", "C"]))
    np.testing.assert_allclose(got.values.reshape(-1), [0.2, 0.7, 0.0, 0.1], atol=1e-7)
    independent = complete(margins, DOMAIN.project(["A", "C"]))
    np.testing.assert_allclose(independent.values.reshape(-1), [0.18, 0.72, 0.02, 0.08], atol=1e-7)


def test_margins_that_disagree_are_averaged_first():
    first, second = table(["A", "C"], [0.1, 0.4, 0.3, 0.2]), table(["A", "D"], [0.2, 0.4, 0.3, 0.1])
    got = complete_min_norm([first, second], DOMAIN.project(["A", "C", "D"]))
    np.testing.assert_allclose(got.project(["A", "C"]).values.reshape(-1), [0.125, 0.425, 0.275, 0.175], atol=1e-7)
    np.testing.assert_allclose(got.project(["A", "D"]).values.reshape(-1), [0.175, 0.375, 0.325, 0.125], atol=1e-7)
    assert (got.values >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_smallest_norm_against_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    domain = DOMAIN.project(["A", "B", "C"])
    full = Cells(domain, rng.dirichlet(np.full(domain.size, 0.3)).reshape(domain.shape))
    keys = [("A", "B"), ("B", "C"), ("C", "A")]
    got = complete_min_norm([full.project(key) for key in keys], domain)

    def missed(cells):
        candidate = Cells(domain, cells.reshape(domain.shape))
        return np.concatenate([(candidate.project(k).values - full.project(k).values).reshape(-1) for k in keys])

    found = minimize(
        lambda cells: cells @ cells,
        full.values.reshape(-1),
        jac=lambda cells: 2 * cells,
        bounds=[(0, 1)] * domain.size,
        constraints={"type": "eq", "fun": missed},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert np.abs(missed(got.values.reshape(-1))).max() < 1e-6
    assert (got.values >= 0).all()
    assert (got.values**2).sum() <= found.fun + 1e-5
    assert (got.values**2).sum() <= (full.values**2).sum() + 1e-6


def test_what_no_table_has_is_refused_and_not_relaxed():
    """A = C, C = D and A != D agree in all their margins, and no table has them."""
    same, other = [0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0]
    impossible = [table(["A", "C"], same), table(["C", "D"], same), table(["A", "D"], other)]
    with pytest.raises(InvalidInput, match="no non-negative table"):
        complete_min_norm(impossible, DOMAIN.project(["A", "C", "D"]))
    nearest = complete_min_norm(impossible, DOMAIN.project(["A", "C", "D"]), tolerance=0.5)
    assert (nearest.values >= 0).all()
    with pytest.raises(InvalidInput, match="no table"):
        complete_min_norm([table(["A"], [0.5, 0.5])], DOMAIN.project(["D"]))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_published_tables_agree_on_what_they_share(epsilon):
    """However noisy: pairs, singles and a triple over the same attributes."""
    sizes = zip("abcd", (3, 4, 2, 5), strict=True)
    domain = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in sizes])
    workload = Workload.of(*itertools.combinations("abcd", 2), ("a", "b", "c"), ("a", "b", "d"))
    design = plan_collection(domain, workload, respondents=4000, epsilon=epsilon, mode="tables")
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, domain[name].size, 4000) for name in "abcd"}
    tally = Tally(design).add(respond(design, codes, SeededSource(2), seed=3))
    raw = tally.releases()

    def gap(found, one, two, shared):
        return np.abs(found[one].project(shared).values - found[two].project(shared).values).max()

    for found in (consistent(raw), model(tally).releases()):
        for one, two in itertools.combinations(found, 2):
            shared = [name for name in one if name in two]
            for name in shared:
                assert gap(found, one, two, [name]) < 1e-6, (one, two)
            if len(shared) == 2:  # non-negative triples need not exist for pairs that agree: nearer, not equal
                assert gap(found, one, two, shared) < max(0.5 * gap(raw, one, two, shared), 0.02)
        assert all((release.values >= 0).all() for release in found.values())
        assert all(release.values.sum() == pytest.approx(1) for release in found.values())
