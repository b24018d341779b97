"""Longest common sequences, against all subsequences by brute force."""

import numpy as np
import pytest

from tacita.synthesize.text.matching import longest_matches, match_headlines


def brute(headline, corpus):
    """All contiguous sequences of the headline, the longest first, in order of their start."""
    words = [code for code in headline if code]
    spans = sorted(
        ((start, end) for start in range(len(words)) for end in range(start + 1, len(words) + 1)),
        key=lambda span: (span[0] - span[1], span[0]),
    )
    found = []
    for row in corpus:
        text = [code for code in row if code]
        inside = {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
        found.append(next((tuple(words[a:b]) for a, b in spans if tuple(words[a:b]) in inside), ()))
    return found


def rows(rng, count, length=8, codes=6):
    found = rng.integers(1, codes, (count, length)).astype(np.int32)
    found[np.arange(length) >= rng.integers(1, length + 1, count)[:, None]] = 0
    return found


def test_matches_are_those_of_brute_force():
    rng = np.random.default_rng(1)
    generated, corpus = rows(rng, 40), rows(rng, 30)
    found = match_headlines(generated, corpus)
    for at, headline in enumerate(generated):
        expected = brute(headline.tolist(), corpus.tolist())
        spans = longest_matches(headline, corpus)
        assert [tuple(headline[start : start + length]) for start, length in spans] == expected
        assert found.novelty[at] == len(set(expected) - {()})
        assert found.longest[at] == max(map(len, expected))


def test_a_hand_worked_example():
    corpus = np.array([[1, 2, 3, 4, 0], [3, 4, 5, 0, 0], [9, 9, 0, 0, 0]], np.int32)
    found = match_headlines(np.array([[1, 2, 3, 5, 0], [3, 4, 5, 0, 0], [7, 8, 0, 0, 0]], np.int32), corpus)
    # 1 2 3 with the first; 3 with the second, before 5: two sequences. 3 4 and 3 4 5. None.
    assert found.novelty.tolist() == [2, 2, 0]
    assert found.longest.tolist() == [3, 3, 0]
    assert found.copied == pytest.approx(1 / 3)


def test_an_empty_headline_is_no_copy():
    assert match_headlines(np.zeros((1, 4), np.int32), np.array([[1, 2, 0, 0]], np.int32)).copied == 0
