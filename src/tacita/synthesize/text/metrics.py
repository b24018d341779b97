"""Six measures of generated headlines, and a check for copies.

    perplexity        2^(-1/N sum log2 p(word)) over the words and ends of held-out headlines; less is better
    coherence         share of headlines that a naive Bayes classifier of topics assigns to the topic asked for
    BLEU              corpus BLEU up to 4-grams against all headlines of the topic          [Papineni et al. 2002]
    novelty           mean number of different longest common word sequences; see `matching`
    grammatical       share of headlines with a choice of tags whose every trigram occurs in the corpus; see below
    repetitions       headlines that repeat a sequence of more than two words

Grammatical correctness here is not that of LanguageTool, a service with 1,500 hand-written rules which the published
figure uses: each word may have any tag that the corpus gives it, and a headline passes if some choice of tags, with
marks for start and end, has only trigrams that occur at least twice in tagged headlines of the corpus. It finds wrong
order and broken ends, not wrong agreement or spelling. Held-out headlines and shuffled ones are measured beside it.

Privacy: none: figures come from exact headlines, for the owner.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.vocabulary import END, SPECIAL, START

__all__ = ["TagGrammar", "TopicClassifier", "bleu", "brevity_penalty", "ngrams", "perplexity", "repeated_words"]

Words = Sequence[Any]
_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def perplexity(generator: HeadlineGenerator, headlines: Headlines) -> float:
    """Perplexity of headlines, base 2. Generators with tags see the tags of earlier words, which a tagger that has read
    the whole headline gave: a slight advantage."""
    scores, numbers = generator.log2_likelihoods(headlines)
    return float(2 ** (-scores.sum() / max(1, numbers.sum())))


# -- topics ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopicClassifier:
    """Multinomial naive Bayes of topics given words, with additive smoothing.

    Attributes:
        model: The fitted classifier.
        alpha: Smoothing, the best of a few on a fifth of the headlines.
        accuracy: On that fifth.
        size: Codes of words.
    """

    model: Any
    alpha: float
    accuracy: float
    size: int

    @classmethod
    def fit(cls, headlines: Headlines, rng: np.random.Generator) -> TopicClassifier:
        """Choose the smoothing on a random fifth, then fit to the rest."""
        from sklearn.naive_bayes import MultinomialNB

        size = headlines.vocabulary.size
        rest, held = headlines.split(0.2, rng)
        x, test = (_counts(part.words, size) for part in (rest, held))
        fitted = [MultinomialNB(alpha=alpha).fit(x, rest.topics) for alpha in _ALPHAS]
        right = [float(model.score(test, held.topics)) for model in fitted]
        best = int(np.argmax(right))
        return cls(model=fitted[best], alpha=_ALPHAS[best], accuracy=right[best], size=size)

    def coherence(self, words: Any, topics: Any) -> float:
        """Share of headlines, as rows of codes, that are assigned to their topic."""
        return float(self.model.score(_counts(words, self.size), topics)) if len(topics) else math.nan


def _counts(words: Any, size: int) -> Any:
    from scipy.sparse import csr_array

    rows, _ = np.nonzero(words)
    codes = np.asarray(words)[np.nonzero(words)]
    return csr_array((np.ones(len(codes)), (rows, codes)), shape=(len(words), size))


# -- BLEU --------------------------------------------------------------------------------------------------------------


def ngrams(words: Words, n: int) -> Counter[tuple[Any, ...]]:
    """Count the n-grams of a headline."""
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def brevity_penalty(length: int, reference: int) -> float:
    """1 for texts longer than their references, else exp(1 - reference / length)."""
    if length == 0:
        return 0.0
    return 1.0 if length > reference else math.exp(1 - reference / length)


def bleu(pairs: Iterable[tuple[Words, Any]], references: Mapping[Any, Sequence[Words]], *, most: int = 4) -> float:
    """Corpus BLEU of headlines, each against all references of its topic; 0 if no n-gram of some length is shared.

    Args:
        pairs: Words of a headline and its topic.
        references: Headlines of each topic.
        most: Longest n-grams; lengths weigh alike.
    """
    limits = {topic: _limits(texts, most) for topic, texts in references.items()}
    lengths = {topic: sorted({len(text) for text in texts}) for topic, texts in references.items()}
    right, all_, ours, theirs = [0] * most, [0] * most, 0, 0
    for words, topic in pairs:
        ours += len(words)
        theirs += min(lengths[topic], key=lambda length: (abs(length - len(words)), length))
        for n in range(1, most + 1):
            for gram, count in ngrams(words, n).items():
                right[n - 1] += min(count, limits[topic].get(gram, 0))
                all_[n - 1] += count
    if not all(right):
        return 0.0
    precision = sum(math.log(a / b) for a, b in zip(right, all_, strict=True)) / most
    return brevity_penalty(ours, theirs) * math.exp(precision)


def _limits(texts: Iterable[Words], most: int) -> dict[tuple[Any, ...], int]:
    """The largest count of each n-gram in one reference."""
    found: dict[tuple[Any, ...], int] = {}
    for text in texts:
        for n in range(1, most + 1):
            for gram, count in ngrams(text, n).items():
                found[gram] = max(found.get(gram, 0), count)
    return found


# -- grammar -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TagGrammar:
    """Tags of each word, and trigrams of tags, that a tagged corpus has.

    Args:
        headlines: Tagged headlines.
        least: How often a trigram of tags must occur.
    """

    headlines: Headlines
    least: int = 2

    @cached_property
    def lexicon(self) -> Mapping[int, frozenset[int]]:
        """Tags of each word."""
        found: dict[int, set[int]] = defaultdict(set)
        pairs = np.stack([self.headlines.words.ravel(), self.headlines.tags.ravel()], axis=1)
        for word, tag in np.unique(pairs, axis=0).tolist():
            if word >= SPECIAL and tag >= SPECIAL:
                found[word].add(tag)
        return {word: frozenset(tags) for word, tags in found.items()}

    @cached_property
    def trigrams(self) -> frozenset[tuple[int, ...]]:
        """Trigrams of tags, with two starts before and one end after a headline."""
        counts: Counter[tuple[int, ...]] = Counter()
        for row in self.headlines.tags:
            counts += ngrams([START, START, *row[row != END].tolist(), END], 3)
        return frozenset(gram for gram, count in counts.items() if count >= self.least)

    def accepts(self, words: Iterable[int]) -> bool:
        """Whether some choice of tags for these codes of words has only trigrams of the corpus."""
        states = {(START, START)}
        for word in words:
            tags = self.lexicon.get(int(word), frozenset())
            states = {(b, tag) for a, b in states for tag in tags if (a, b, tag) in self.trigrams}
            if not states:
                return False
        return any((a, b, END) in self.trigrams for a, b in states)

    def share(self, words: Any) -> float:
        """Share of headlines, as rows of codes, that are accepted."""
        return float(np.mean([self.accepts(row[row != END]) for row in np.asarray(words)])) if len(words) else math.nan


# -- repetitions -------------------------------------------------------------------------------------------------------


def repeated_words(words: Words) -> int:
    """Words of the longest sequence that occurs twice in a headline without overlap; 0 if none does.

    >>> repeated_words("banks cut rates as banks cut rates again".split())
    3
    """
    for n in range(len(words) // 2, 0, -1):
        first: dict[tuple[Any, ...], int] = {}
        for at in range(len(words) - n + 1):
            gram = tuple(words[at : at + n])
            if at - first.setdefault(gram, at) >= n:
                return n
    return 0
