"""Longest word sequences that a generated headline shares with each headline of a corpus: novelty, and copies.

    longest(g, c)   the longest contiguous sequence of words in both; of equally long ones the first in g
    novelty(g)      number of different sequences among longest(g, c), over all c of the corpus that share a word
    longest match   the largest length of them: as many words as g has, if g is in the corpus

A headline that is put together from many headlines shares many different sequences with them; a copy shares few. The
published definition leaves open whether sequences are contiguous; these are.

Privacy: none: it compares with exact headlines, for the owner.
Cost:    words of both headlines multiplied, for each headline of the corpus.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["Matches", "longest_matches", "match_headlines"]

Codes = NDArray[np.integer[Any]]


class Matches:
    """Matches of generated headlines with a corpus.

    Attributes:
        novelty: Number of different longest sequences, for each generated headline.
        longest: Words of the longest match of each.
        words: Words of each generated headline.
    """

    def __init__(self, novelty: NDArray[np.int64], longest: NDArray[np.int64], words: NDArray[np.int64]) -> None:
        self.novelty, self.longest, self.words = novelty, longest, words

    @property
    def copied(self) -> float:
        """Share of headlines that are, whole, a sequence of words of a headline of the corpus."""
        return float(((self.words > 0) & (self.longest >= self.words)).mean()) if len(self.words) else 0.0


@compiled
def longest_matches(headline: Codes, corpus: Codes) -> Any:
    """Start and length of the longest sequence of a headline in each row of a corpus; codes of 0 end a row."""
    found = np.zeros((len(corpus), 2), np.int64)
    for row in range(len(corpus)):
        best = 0
        for start in range(len(headline)):
            if headline[start] == 0 or len(headline) - start <= best:
                break
            for other in range(corpus.shape[1]):
                if corpus[row, other] == 0:
                    break
                run = 0
                while (
                    start + run < len(headline)
                    and other + run < corpus.shape[1]
                    and headline[start + run] != 0
                    and headline[start + run] == corpus[row, other + run]
                ):
                    run += 1
                if run > best:
                    best = run
                    found[row, 0] = start
                    found[row, 1] = run
    return found


def match_headlines(generated: Codes, corpus: Codes) -> Matches:
    """Match each generated headline with all of a corpus; rows of codes, 0 after the last word."""
    novelty, longest = np.zeros(len(generated), np.int64), np.zeros(len(generated), np.int64)
    for at, headline in enumerate(generated):
        spans = longest_matches(headline, corpus)
        spans = np.unique(spans[spans[:, 1] > 0], axis=0)
        novelty[at] = len({tuple(headline[start : start + length]) for start, length in spans})
        longest[at] = spans[:, 1].max() if len(spans) else 0
    return Matches(novelty, longest, (np.asarray(generated) != 0).sum(axis=1))
