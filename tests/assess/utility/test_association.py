"""Associations of pairs, as others compute them."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tacita.assess.frame import read_frame
from tacita.assess.utility.association import association_matrix, associations


def test_associations_are_what_others_call_so(cases):
    frame = cases["fresh"].real
    found = association_matrix(frame)
    age, income, _, _, job, ill = frame.values.T
    assert found[0, 1] == pytest.approx(stats.spearmanr(age, income)[0])
    groups = [stats.rankdata(age)[job == code] for code in range(8)]
    ss = sum(len(g) * (g.mean() - stats.rankdata(age).mean()) ** 2 for g in groups)
    total = ((stats.rankdata(age) - stats.rankdata(age).mean()) ** 2).sum()
    assert found[0, 4] == pytest.approx(np.sqrt(ss / total))
    table = np.histogram2d(job, ill, bins=(np.arange(9), np.arange(5)))[0]
    plain = stats.contingency.association(table.astype(int), method="cramer")
    assert found[4, 5] == pytest.approx(plain, abs=0.06)  # the correction takes what chance gives
    assert np.allclose(found, found.T)
    assert (np.diag(found) == 1).all()


def test_shuffling_loses_associations(cases):
    lost, kept = associations(cases["marginal"]), associations(cases["fresh"])
    assert lost.gaps.max() > 0.4
    assert kept.gaps.max() < 0.15
    assert lost.as_dict()["largest_gap"] == lost.gaps.max()


def test_constant_columns_go_with_nothing(domain):
    frame = read_frame(
        domain, pa.table({"age": [5, 5, 5], "town": ["t1"] * 3, "job": ["j1", "j2", "j1"], "income": [1, 2, 3]})
    )
    found = association_matrix(frame)
    assert np.isfinite(found).all()
    assert found[0, 1] == 0
