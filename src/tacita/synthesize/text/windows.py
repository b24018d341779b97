"""Headlines as windows: three words with tags and topic, and the three that follow one place later.

    headline   w1 w2 w3 w4 ... wn
    windows    start start start -> start start w1;  start start w1 -> start w1 w2;  ...;  wn-2 wn-1 wn -> wn-1 wn end

The target is the next trigram: the window moved by one. Targets that are `start`, or after the end, do not count. A
generator starts from the empty window, so it needs no first words of real headlines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.vocabulary import END, START

__all__ = ["Windows", "windows_of"]


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of each headline; arrays are (headlines, windows, window), `topics` (headlines, windows).

    Attributes:
        words, tags, topics: Inputs.
        next_words, next_tags: Targets.
        counts: 1 where a target counts, else 0.
    """

    words: NDArray[np.int64]
    tags: NDArray[np.int64]
    topics: NDArray[np.int64]
    next_words: NDArray[np.int64]
    next_tags: NDArray[np.int64]
    counts: NDArray[np.float32]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays; first axis headlines."""
        return (self.words, self.tags, self.topics, self.next_words, self.next_tags, self.counts)


def windows_of(headlines: Headlines, window: int) -> Windows:
    """Return the windows of all headlines: one more than words, with a share of padding that does not count."""
    ends = np.full((len(headlines), 1), END)
    starts = np.full((len(headlines), window), START)
    words, tags = (
        np.concatenate([starts, part, ends], axis=1).astype(np.int64) for part in (headlines.words, headlines.tags)
    )
    views = [np.lib.stride_tricks.sliding_window_view(part, window, axis=1) for part in (words, tags)]
    inputs, targets = [view[:, :-1] for view in views], [view[:, 1:] for view in views]
    # a target counts unless it is a start, or follows an end: its own word, and the one before it, decide
    counts = (targets[0] != START) & (inputs[0] != END)
    whole = inputs[0][..., -1] != END  # windows within the headline
    counts &= whole[..., None]
    topics = np.broadcast_to(headlines.topics[:, None].astype(np.int64), counts.shape[:2])
    return Windows(inputs[0], inputs[1], topics, targets[0], targets[1], counts.astype(np.float32))
