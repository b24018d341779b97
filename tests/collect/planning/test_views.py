import itertools

import pytest

from tacita.collect.planning.views import Views, covering_views, pair_views
from tacita.errors import InvalidInput

PUBLISHED = {
    "five": ("12345", ["12 34", "23 45", "13 25", "14 35", "15 24"]),
    "six": ("AREOST", ["AR EO ST", "AE RS OT", "AT RE OS", "AO RT ES", "AS RO ET"]),
    "letters": ("AREOS", ["AR EO", "RE OS", "AE RS", "AO ES", "AS RO"]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_views_hold_every_pair_once(name):
    letters, texts = PUBLISHED[name]
    views = Views(tuple(letters), 2, tuple(tuple(tuple(pair) for pair in text.split()) for text in texts))
    assert views.coverage == 1
    assert sum(len(view) for view in views.views) == len(views.combinations)


@pytest.mark.parametrize("d", range(2, 14))
def test_all_pairs_in_the_fewest_views(d):
    views = pair_views([f"a{i}" for i in range(d)])
    assert len(views.views) == (d - 1 if d % 2 == 0 else d)
    pairs = [frozenset(pair) for view in views.views for pair in view]
    assert len(pairs) == len(set(pairs)) == d * (d - 1) // 2


@pytest.mark.parametrize(("d", "size"), [(6, 3), (8, 3), (9, 4), (5, 1)])
def test_covers(d, size):
    views = covering_views([f"a{i}" for i in range(d)], size)
    assert views.coverage == 1
    assert set(views.combinations) == set(itertools.combinations(views.attributes, size))


def test_what_is_left_out_is_said():
    views = covering_views("abcdefgh", 3, most=4)
    assert 0 < views.coverage < 1
    assert len(views.missing) + len(views.combinations) == 56


@pytest.mark.parametrize(
    "bad",
    [
        lambda: pair_views("aab"),
        lambda: covering_views("abc", 4),
        lambda: Views(("a", "b", "c"), 2, ((("a", "b"), ("b", "c")),)),
        lambda: Views(("a", "b"), 2, ((("a",),),)),
    ],
)
def test_refusals(bad):
    with pytest.raises(InvalidInput):
        bad()
