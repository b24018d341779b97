import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.federated.splitting import SPLITS, split

RNG = np.random.default_rng(0)
CODES = np.stack([RNG.integers(0, 3, 1000), RNG.integers(0, 4, 1000), RNG.integers(0, 2, 1000)], axis=1)


@pytest.mark.parametrize("scheme", SPLITS)
def test_every_row_has_one_holder(scheme):
    parts = split(CODES, scheme, np.random.default_rng(1))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(1000))
    assert all(len(part) for part in parts)


def test_sizes():
    rng = np.random.default_rng(2)
    assert [len(part) for part in split(CODES, "central", rng)] == [1000]
    assert [len(part) for part in split(CODES, "equal", rng, holders=3)] == [334, 333, 333]
    sizes = [len(part) for part in split(CODES, "random", rng)]
    assert len(sizes) == 5
    assert len(set(sizes)) > 1


def test_by_class_each_holder_knows_one_label():
    parts = split(CODES, "class", np.random.default_rng(0))
    assert [set(CODES[part, 2]) for part in parts] == [{0}, {1}]


def test_by_attribute_each_holder_knows_one_value_of_something_but_the_label():
    seen = set()
    for seed in range(20):
        parts = split(CODES, "attribute", np.random.default_rng(seed))
        (constant,) = [at for at in range(3) if all(len(set(CODES[part, at])) == 1 for part in parts)]
        seen.add(constant)
    assert seen == {0, 1}


def test_equal_parts_are_alike_and_in_random_order():
    rows = np.sort(CODES, axis=0)
    means = [rows[part, 0].mean() for part in split(rows, "equal", np.random.default_rng(3))]
    assert np.ptp(means) < 0.5, "parts cut from the sorted table would differ by two levels"


@pytest.mark.parametrize("bad", [{"scheme": "other"}, {"holders": 0}, {"holders": 1001}])
def test_bad_input(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        split(CODES, **({"scheme": "equal"} | bad), rng=np.random.default_rng(0))


def test_there_must_be_an_attribute_to_split_by():
    with pytest.raises(InvalidInput, match="label"):
        split(CODES[:, :1], "attribute", np.random.default_rng(0))
