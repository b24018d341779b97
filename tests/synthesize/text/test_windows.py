"""Windows, against a loop over words."""

import numpy as np
import pytest

from tacita.synthesize.text.vocabulary import END, START
from tacita.synthesize.text.windows import windows_of


@pytest.mark.parametrize("window", [1, 3])
def test_windows_are_those_of_a_loop(headlines, window):
    some = headlines.take(slice(0, 30))
    found = windows_of(some, window)
    for row in range(30):
        words = [code for code in some.words[row].tolist() if code != END]
        tags = some.tags[row].tolist()
        padded = [START] * window + words + [END]
        for at in range(len(words) + 1):
            assert found.words[row, at].tolist() == padded[at : at + window]
            assert found.next_words[row, at].tolist() == padded[at + 1 : at + 1 + window]
            counted = [float(code != START) for code in padded[at + 1 : at + 1 + window]]
            assert found.counts[row, at].tolist() == counted
            if at < len(words):
                assert found.next_tags[row, at, -1] == tags[at]
        assert not found.counts[row, len(words) + 1 :].any()
        assert (found.topics[row] == some.topics[row]).all()


def test_each_word_and_the_end_is_the_last_target_once(headlines):
    found = windows_of(headlines, 3)
    assert (found.counts[..., -1].sum(axis=1) == (headlines.words != END).sum(axis=1) + 1).all()
    assert np.isin(found.counts, (0, 1)).all()
