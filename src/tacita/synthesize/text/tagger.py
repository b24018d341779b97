"""Part-of-speech tags of words, from a library that carries its lexicon and works without downloads.

TextBlob's pattern tagger: a lexicon of 94,000 words with their most frequent Penn Treebank tag, rules on endings for
other words, and contextual rules. All of it is in the wheel; TextBlob's other parts need corpora of NLTK, and are not
used. Lower-case headlines lose what capitals state: most names become NN.   [Brill 1992; De Smedt and Daelemans 2012]

Privacy: a tag depends on the words of its own headline only.
Cost:    loading takes about two seconds, a headline 20 microseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tacita.common.extras import load_module

__all__ = ["Tagger", "pattern_tagger"]

Tagger = Callable[[Sequence[str]], tuple[str, ...]]
"""Tags of the words of one headline, as many as words."""


def pattern_tagger() -> Tagger:
    """Return TextBlob's pattern tagger. Needs the extra `nets`."""
    tag = _load()

    def tags_of(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for _, name in tag(" ".join(words), tokenize=False)) if words else ()

    return tags_of


@lru_cache(maxsize=1)
def _load() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library leaves the files of its lexicon to the garbage collector
        tag = load_module("textblob.en", extra="nets", what="tagging of headlines", field="tags").tag
        tag("read the lexicon", tokenize=False)
    return tag
