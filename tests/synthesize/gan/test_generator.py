"""A generator as a model: rows follow its tables, plain data comes back, and it needs no torch."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.gan.encode import Encoding
from tacita.synthesize.gan.generator import Generator

from .conftest import DOMAIN


def made(given=None, seed=0):
    rng = np.random.default_rng(seed)
    inputs = 3 + (given[1].size if given else 0)
    sizes = [inputs, 8, sum(DOMAIN.shape)]
    layers = [
        (rng.normal(0, 1, (outputs, inputs)).astype(np.float32), rng.normal(0, 1, outputs).astype(np.float32))
        for inputs, outputs in itertools.pairwise(sizes)
    ]
    return Generator(domain=DOMAIN, layers=tuple(layers), latent=3, given=given)


GIVEN = ("works", np.array([0.7, 0.3]))


@pytest.mark.parametrize("given", [None, GIVEN])
def test_rows_follow_the_tables(given):
    model = made(given)
    rows = model.sample(200_000, np.random.default_rng(1))
    for names in (("age",), ("school", "works"), ("age", "town", "works")):
        table = model.project(names).values
        counts = np.zeros(table.shape)
        np.add.at(counts, tuple(rows[name].astype(int) for name in names), 1 / 200_000)
        assert np.abs(counts - table).sum() / 2 < 0.02
    if given:
        assert model.project(["works"]).values == pytest.approx(given[1], abs=0.02)


def test_a_table_is_the_same_each_time():
    assert (made().project(["age"]).values == made().project(["age"]).values).all()


@pytest.mark.parametrize("given", [None, GIVEN])
def test_plain_data_and_back(given):
    model = made(given)
    again = Generator.from_dict(model.as_dict())
    drawn = [each.sample(50, np.random.default_rng(3)) for each in (model, again)]
    assert all((drawn[0][name] == drawn[1][name]).all() for name in DOMAIN.names)
    with pytest.raises(InvalidInput, match="generator/1"):
        Generator.from_dict({"tacita": "network/1"})


def test_layers_that_do_not_fit_are_refused():
    model = made()
    with pytest.raises(InvalidInput, match="layers"):
        Generator(domain=DOMAIN, layers=model.layers[:1], latent=3)
    broken = model.layers[0][0].copy()
    broken[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="finite"):
        Generator(domain=DOMAIN, layers=((broken, model.layers[0][1]), model.layers[1]), latent=3)


def test_reading_a_model_loads_no_torch():
    code = "import sys, tacita.synthesize; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_encoding_comes_from_the_schema():
    encoding = Encoding(domain=DOMAIN)
    codes = np.array([[0, 2, 2, 1], [3, 0, 0, 0]])
    placed = encoding.one_hot(codes)
    assert placed.sum(axis=1).tolist() == [4, 4]
    seen = placed @ encoding.seen
    assert seen.shape == (2, encoding.width + 2)  # age and school have a place on a line
    assert seen[0, -2] == pytest.approx(2 * 9 / 99 - 1)  # the middle of 0..18
    assert seen[:, -1].tolist() == [1.0, -1.0]
    assert (encoding.one_hot(codes).argmax(axis=1) == encoding.starts[0] + codes[:, 0]).all()
