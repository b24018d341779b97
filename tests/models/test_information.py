"""Entropy and mutual information against their definitions; the correction of noise against simulation."""

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models import bias_bits, entropy, mutual_information, noise_bits
from tacita.tables.cells import Cells
from tacita.tables.simplex import project_table
from tacita.tables.uncertainty import Correlated, Covariance


def domain_of(**sizes):
    return Domain(attributes=[Categorical(name=n, levels=[f"{n}{i}" for i in range(k)]) for n, k in sizes.items()])


def test_by_the_definition(survey):
    table = survey.project(["A", "E", "T"])
    joint, a, rest = table.values, table.project(["A"]).values, table.project(["E", "T"]).values
    direct = (joint * np.log2(joint / (a[:, None, None] * rest[None]))).sum()
    assert mutual_information(table, ["A"]) == pytest.approx(direct)
    assert mutual_information(table, ["E", "T"]) == pytest.approx(direct)
    assert mutual_information(table, ["A", "E", "T"]) == 0.0
    assert entropy(table) == pytest.approx(-(joint * np.log2(joint)).sum())


def test_edges():
    domain = domain_of(a=2, b=2)
    assert entropy(Cells(domain, [[1, 0], [0, 0]])) == 0.0
    assert entropy(Cells(domain, np.full((2, 2), 7))) == pytest.approx(2.0)
    assert mutual_information(Cells(domain, np.eye(2)), ["a"]) == pytest.approx(1.0)
    assert mutual_information(Cells(domain, np.outer([1, 3], [2, 5])), ["a"]) == pytest.approx(0.0, abs=1e-12)
    for bad in (np.zeros((2, 2)), [[-1, 1], [1, 1]], [[np.nan, 1], [1, 1]]):
        with pytest.raises(InvalidInput):
            entropy(Cells(domain, bad))


def test_counting_people_is_one_kind_of_noise():
    # (a-1)(b-1) / (2 n ln 2) must come out of the trace, for independent margins
    domain, n = domain_of(a=3, b=4), 5000
    pi = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
    flat = pi.reshape(-1)
    covariance = Covariance(diagonal=flat / n, vectors=(flat / np.sqrt(n))[None], signs=np.ones(1))
    found = noise_bits(Cells(domain, pi), ["a"], Correlated(covariance=covariance))
    assert found == pytest.approx(bias_bits(3, 4, n))
    assert noise_bits(Cells(domain, pi), ["a", "b"], Correlated(covariance=covariance)) == 0.0
    with pytest.raises(InvalidInput):
        bias_bits(3, 4, 0)


def test_the_trace_is_that_of_the_second_derivative():
    domain, rng = domain_of(a=3, b=2), np.random.default_rng(0)
    pi = np.outer([0.5, 0.3, 0.2], [0.6, 0.4])
    noise = rng.normal(size=(6, 3)) * 0.01
    covariance = Covariance(diagonal=np.full(6, 1e-4), vectors=noise.T, signs=-np.ones(3))
    dense = np.diag(np.full(6, 1e-4)) + noise @ noise.T

    def information(flat):
        table = flat.reshape(3, 2)
        a, b = table.sum(axis=1), table.sum(axis=0)
        return (table * np.log(table)).sum() - (a * np.log(a)).sum() - (b * np.log(b)).sum()

    step, flat = 1e-4, pi.reshape(-1)
    hessian = np.empty((6, 6))
    for i, e in enumerate(np.eye(6) * step):
        for j, f in enumerate(np.eye(6) * step):
            corners = [information(flat + s * e + t * f) * s * t for s in (1, -1) for t in (1, -1)]
            hessian[i, j] = sum(corners) / (4 * step**2)
    wanted = np.trace(hessian @ dense) / (2 * np.log(2))
    assert noise_bits(Cells(domain, pi), ["a"], Correlated(covariance=covariance)) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize(("shape", "people"), [((2, 2), 2000), ((3, 4), 2000), ((5, 6), 2000), ((5, 6), 20_000)])
@pytest.mark.parametrize("dependence", [0.0, 0.15, 0.4])
def test_randomized_response_looks_dependent_and_the_correction_mends_it(shape, people, dependence):
    a, b = shape
    domain, rng = domain_of(a=a, b=b), np.random.default_rng(1)
    margins = [rng.dirichlet(np.full(k, 5.0)) for k in shape]
    truth = (1 - dependence) * np.outer(*margins)
    truth[np.arange(a), np.arange(a) % b] += dependence * margins[0]
    channel = RandomizedResponse.k_ary(levels=a * b, epsilon=2.0)
    law, raw, corrected = truth.reshape(-1) @ channel.matrix(), [], []
    for _ in range(200):
        found = channel.estimate(rng.multinomial(people, law)).frequencies
        table = project_table(Cells(domain, found.reshape(shape)))
        covariance = channel.covariance(table.values.reshape(-1), respondents=people)
        raw.append(mutual_information(table, ["a"]))
        corrected.append(raw[-1] - noise_bits(table, ["a"], Correlated(covariance=covariance)))
    exact = mutual_information(Cells(domain, truth), ["a"])
    noise = 3 * np.std(corrected) / np.sqrt(200)
    assert abs(np.mean(corrected) - exact) < 0.3 * abs(np.mean(raw) - exact) + noise
    if dependence == 0.0:
        assert np.mean(raw) > 3 * abs(np.mean(corrected))
