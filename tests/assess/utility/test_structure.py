"""Networks that are learnt from real and from released rows."""

from tacita.assess.utility.structure import compare_structure


def test_structure(cases):
    fresh, marginal = compare_structure(cases["fresh"]), compare_structure(cases["marginal"])
    assert frozenset(("school", "job")) in fresh.real
    assert fresh.recall > 0.6
    assert marginal.recall < fresh.recall
    assert not marginal.released
    assert marginal.precision == 1
    assert marginal.differing == len(marginal.real)
