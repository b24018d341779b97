"""A small corpus of the grammar, and generators small enough for tests."""

from importlib.util import find_spec

import pytest

from tacita.noise import SeededSource
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.recipe import HeadlineRecipe

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]

TINY = {"words": 8, "tags": 4, "topics": 4, "hidden": 16, "people": 400, "batch": 16, "learning_rate": 0.01}
TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def headlines():
    return Headlines.encode(example_headlines(400, seed=1), example_vocabulary())


@pytest.fixture(scope="session")
def held():
    return Headlines.encode(example_headlines(150, seed=2), example_vocabulary())


@pytest.fixture(scope="session")
def train():
    """Plan and train a small generator, without a budget if none is given."""

    def trained(headlines, kind="sclstm", budget=None, seed=3, **settings):
        plan = HeadlineRecipe(kind=kind, **TINY | settings).calibrate(headlines.vocabulary, budget, **TERMS)
        return plan.train(headlines, SeededSource(seed))

    return trained


@pytest.fixture(scope="session")
def generator(train, headlines):
    return train(headlines, epochs=8)
