"""Tags from the library, offline."""

import socket

import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.text import tagger
from tacita.synthesize.text.vocabulary import TAGS, tokenize


def test_tags_are_of_the_treebank_and_need_no_network(monkeypatch):
    pytest.importorskip("textblob")

    def refuse(*_, **__):
        raise AssertionError("no network")

    monkeypatch.setattr(socket, "socket", refuse)
    tagger._load.cache_clear()
    tags_of = tagger.pattern_tagger()
    words = tokenize("the bank quickly raises three new rates in july after zblorging")
    found = tags_of(words)
    assert found[:8] == ("DT", "NN", "RB", "VBZ", "CD", "JJ", "NNS", "IN")
    assert len(found) == len(words)
    assert set(found) <= set(TAGS)
    assert tags_of([]) == ()


def test_a_missing_library_is_named(monkeypatch):
    def missing(*_, **__):
        raise ImportError(name="textblob")

    tagger._load.cache_clear()
    monkeypatch.setattr("tacita.common.extras.import_module", missing)
    with pytest.raises(InvalidInput, match=r"tacita\[nets\]"):
        tagger.pattern_tagger()
