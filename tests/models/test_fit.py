"""Conditional tables: exact ones give the network back; noisy ones are repaired."""

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.models import fit_network
from tacita.models.fit import clipped
from tacita.tables.cells import Cells


def test_exact_tables_give_the_network_back(survey):
    again = fit_network(survey.domain, survey.parents, lambda names: survey.project(names) * 500)
    for name, table in survey.conditionals.items():
        np.testing.assert_allclose(again.conditionals[name].values, table.values, atol=1e-12)


def test_margins_of_single_attributes_are_kept(survey):
    # a joint table with wrong margins: its odds are kept, its margins are those of the single tables
    rng = np.random.default_rng(0)

    def tables(names):
        table = survey.project(names)
        return table if len(names) == 1 else table * Cells(table.domain, rng.uniform(0.8, 1.2, table.shape))

    tree = {"A": (), "S": (), "E": ("A",), "O": ("E",), "R": ("E",), "T": ("R",)}
    fitted = fit_network(survey.domain, tree, tables)
    for name in survey.domain.names:
        np.testing.assert_allclose(fitted.project([name]).values, survey.project([name]).values, atol=1e-8)


def test_parents_without_mass_back_off(survey):
    joint = survey.project(["E", "T"]).values.copy()
    joint[1] = [-0.01, 0.0, 0.0]  # nobody seems to be here, and noise says less than nobody
    domain = survey.domain.project(["E", "T"])
    fitted = fit_network(domain, {"E": (), "T": ("E",)}, Cells(domain, joint).project)
    own = fitted.project(["T"]).values
    np.testing.assert_allclose(fitted.conditionals["T"].values[1], clipped(Cells(domain, joint).project(["T"])).values)
    assert own.sum() == pytest.approx(1)
    # with a threshold, also those with too little
    thin = fit_network(domain, {"E": (), "T": ("E",)}, survey.project, least=0.3)
    np.testing.assert_allclose(thin.conditionals["T"].values[1], survey.project(["T"]).values)
    assert np.abs(thin.conditionals["T"].values[0] - survey.project(["T"]).values).max() > 1e-4


def test_refusals(survey):
    with pytest.raises(InvalidInput):
        fit_network(survey.domain, survey.parents, survey.project, least=1.0)
    with pytest.raises(InvalidInput):
        clipped(Cells(survey.domain.project(["S"]), [-1.0, 0.0]))
