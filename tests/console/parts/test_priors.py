"""Uploaded public tables, and what their trust means in words."""

import numpy as np
import pytest

from tacita.collect.analysis import findings
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.console.parts.priors import plain_item, trust
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name="town", levels=["north", "south", "west"])])


def test_files_become_items_of_a_prior():
    assert plain_item("Census.CSV", b"\xef\xbb\xbftown,count\n") == {"csv": "town,count\n"}
    assert plain_item("release.json", b'{"tacita": "release/1"}') == {"releases": {"tacita": "release/1"}}
    for name, content in (("a.csv", b"\xff\xfe"), ("a.json", b"["), ("b.json", b"[]")):
        with pytest.raises(InvalidInput, match="must be"):
            plain_item(name, content)


@pytest.mark.parametrize(
    ("shares", "words"),
    [([0.6, 0.3, 0.1], "The reports partly support"), ([0.05, 0.05, 0.9], "The reports contradict")],
)
def test_trust_in_words(shares, words):
    design = plan_collection(DOMAIN, Workload.of(("town",)), respondents=5000, epsilon=2.0)
    codes = {"town": np.random.default_rng(1).choice(3, 5000, p=[0.6, 0.3, 0.1])}
    tally = Tally(design).add(respond(design, codes, SeededSource(1), seed=1))
    prior = Prior.of(DOMAIN, [Cells(DOMAIN, np.array(shares))])
    assert trust(findings.published(tally, prior=prior)["town",]).startswith(words)
