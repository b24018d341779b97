"""Every kind of search behind one interface, with rules, against all structures of few attributes."""

import itertools
import math

import pytest
from tests.models.structures import NAMES, every_structure, scores, total

from tacita.errors import InvalidInput, UnknownName
from tacita.models.network import topological_order
from tacita.models.search import LinkRules, Search, total_score


def follows(rules, parents):
    links = {(above, name) for name, each in parents.items() for above in each}
    return rules.required <= links and not rules.forbidden & links


@pytest.mark.parametrize("seed", range(4))
def test_exact_and_brute_force_find_the_best_structure_that_follows_the_rules(seed):
    score = scores(seed)
    rules = LinkRules.of(NAMES, forbid=["d:*", "a:b"], require=["b:c"])
    best = max(total(score, each) for each in every_structure(3) if follows(rules, each))
    for kind in ("exact", "brute"):
        found = Search(kind=kind, rules=rules).run(NAMES, score)
        assert follows(rules, found)
        assert total(score, found) == pytest.approx(best)


@pytest.mark.parametrize("kind", ["hill", "rsmax2"])
@pytest.mark.parametrize("seed", range(3))
def test_climbing_follows_the_rules_too(kind, seed):
    rules = LinkRules.of(NAMES, forbid=["d:*", "a:b"], require=["b:c", "c:d"])
    search = Search(kind=kind, rules=rules, restarts=5, tabu=3, degree=2)
    found = search.run(NAMES, scores(seed), lambda *_: 0.0)
    topological_order(NAMES, found)
    assert follows(rules, found)
    assert max(map(len, found.values())) <= 2
    assert total_score(scores(seed), found) == pytest.approx(total(scores(seed), found))


def test_required_links_may_lie_outside_the_skeleton():
    rules = LinkRules.of(NAMES, require=["a:b"])
    found = Search(kind="rsmax2", rules=rules).run(NAMES, lambda *_: 0.0, lambda *_: 1.0)
    assert found == {"a": (), "b": ("a",), "c": (), "d": ()}


def test_automatic_search_is_exact_for_few_attributes():
    assert Search.automatic(16, degree=2) == Search(kind="exact", degree=2)
    assert Search.automatic(17).kind == "hill"
    assert Search.automatic(17).restarts > 0


def test_rules_that_no_structure_can_follow_are_refused():
    for forbid, require in [((), ("a:b", "b:a")), (("a:b",), ("a:b",)), (("*:b",), ("a:b",))]:
        with pytest.raises(InvalidInput):
            LinkRules.of(NAMES, forbid=forbid, require=require)
    for text in ("ab", "a:", ":b", "a:a"):
        with pytest.raises(InvalidInput, match="PARENT:CHILD"):
            LinkRules.of(NAMES, forbid=[text])
    for forbid, require in [(("a:x",), ()), ((), ("x:a",))]:
        with pytest.raises(UnknownName):
            LinkRules.of(NAMES, forbid=forbid, require=require)
    with pytest.raises(InvalidInput, match="required links"):
        Search(degree=1, rules=LinkRules.of(NAMES, require=["a:c", "b:c"])).run(NAMES, scores(0))
    with pytest.raises(InvalidInput, match="test"):
        Search(kind="rsmax2").run(NAMES, scores(0))


@pytest.mark.parametrize(
    "settings",
    [{"kind": "best"}, {"degree": -1}, {"restarts": -1}, {"tabu": 1.5}, {"level": 0.0}, {"seed": -1}],
    ids=str,
)
def test_settings_are_checked(settings):
    with pytest.raises(InvalidInput):
        Search(**settings)


def test_every_set_of_parents_is_scored_in_the_order_of_names():
    asked = set()

    def score(child, parents):
        asked.add(parents)
        return -len(parents)

    for kind in ("exact", "hill", "brute", "rsmax2"):
        Search(kind=kind).run(NAMES, score, lambda *_: 0.0)
    ordered = {each for size in range(4) for each in itertools.combinations(NAMES, size)}
    assert asked <= ordered
    assert math.isfinite(total_score(lambda child, parents: float(parents in ordered), {"a": (), "b": ("a",)}))
