import pytest

from tacita.console.look.cards import SIGNS, _badge, gauge_words
from tacita.console.look.words import KINDS


@pytest.mark.parametrize(
    ("kind", "statement", "shown", "style"),
    [
        (
            "tables",
            {"epsilon": 0.5, "delta": 0.0, "guarantee": "central differential privacy"},
            "ε 0.5, differential privacy",
            "strong",
        ),
        (
            "synthesize",
            {"epsilon": 1.0, "delta": 1e-6, "guarantee": "local differential privacy"},
            "ε 1 at δ 1e-06, local differential privacy",
            "strong",
        ),
        ("tables", None, "differential privacy", "strong"),
        ("anonymize", None, "k-anonymous, no differential privacy", "weak"),
        (
            "anonymize",
            {"epsilon": None, "delta": 0.0, "guarantee": "none"},
            "k-anonymous, no differential privacy",
            "weak",
        ),
        ("impute", None, "no guarantee", "none"),
        ("function", {"epsilon": None, "delta": 0.0, "guarantee": "none"}, "no guarantee", "none"),
    ],
)
def test_a_badge_promises_no_more_than_the_statement(kind, statement, shown, style):
    assert _badge(kind, statement)[:2] == (shown, style)


def test_a_gauge_has_its_unit():
    assert gauge_words(0.25, 1.0, "zcdp") == ("ρ 0.25 of ρ 1 spent", "ρ 0.75 left")
    assert gauge_words(None, 1.0, "pure") == ("spent without bound", "of ε 1")
    assert gauge_words(0.9, 1.0, "pure", planned=0.5)[1] == "ε 0 left afterwards"


def test_signs_are_of_kinds_that_there_are():
    assert set(SIGNS) <= set(KINDS)
