"""All structures of few attributes, with any score: what searches are held against."""

import itertools
import math

import numpy as np

from tacita.errors import InvalidInput
from tacita.models.network import topological_order

NAMES = ("a", "b", "c", "d")


def scores(seed):
    """Any score will do: a number for each child and set of parents."""
    rng = np.random.default_rng(seed)
    table = {
        (name, above): float(rng.normal() - 0.3 * size)
        for name in NAMES
        for size in range(4)
        for above in itertools.combinations([other for other in NAMES if other != name], size)
    }
    return lambda name, above: table[name, above]


def every_structure(degree):
    sets = [
        [above for size in range(degree + 1) for above in itertools.combinations([o for o in NAMES if o != name], size)]
        for name in NAMES
    ]
    for chosen in itertools.product(*sets):
        parents = dict(zip(NAMES, chosen, strict=True))
        try:
            topological_order(NAMES, parents)
        except InvalidInput:
            continue
        yield parents


def total(score, parents):
    return math.fsum(score(name, above) for name, above in parents.items())
