"""Canaries: secrets planted into headlines, and how far a generator has memorised them.   [Carlini et al. 2019]

    canary      public words, then a secret of `digits` words drawn uniformly from a list: R = list^digits
    exposure    log2 |R| - log2 rank, rank of the secret among all of R by the generator's likelihood
                (largest first; equally likely ones all come before it)

Exposure is log2 |R| for a secret that the generator holds likelier than all others. For a generator that has not seen
it the rank is uniform: on average 1.44 bits. R is enumerated, so ranks are exact.

Privacy: with (epsilon, delta) for one headline, a canary that is in one headline has P(exposure >= x) <= e^epsilon 2^-x
         + delta, since without it the rank is uniform; in m headlines, e^(m epsilon) 2^-x + delta (e^(m epsilon) - 1) /
         (e^epsilon - 1). The figures read exact secrets: for the owner.   Claim: docs/claims/text.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tacita import check
from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.synthesize.text.corpus import Headlines, RawHeadline
from tacita.synthesize.text.example import DIGITS, NAMES
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "Canary",
    "draw_canaries",
    "exposure",
    "exposure_bound",
    "plant",
    "plant_raw",
    "read_canaries",
    "write_canaries",
]

_MARK = "canaries/1"
_MOST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A planted secret.

    Attributes:
        prefix: Public words before the secret.
        secret: Words drawn from `space`, one by one.
        space: Words that each place of the secret may have.
        topic: Topic of the headline.
        copies: Headlines that hold it; 0 for a control that is not planted.
        prefix_tags, tag: Tags of the public words, and of each secret word.
    """

    prefix: tuple[str, ...]
    secret: tuple[str, ...]
    space: tuple[str, ...]
    topic: str
    copies: int
    prefix_tags: tuple[str, ...] = ()
    tag: str = "CD"

    def __post_init__(self) -> None:
        for name in ("prefix", "secret", "space", "prefix_tags"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check.whole(self.copies, "copies", least=0)
        if len(set(self.space)) != len(self.space) or not set(self.secret) <= set(self.space) or not self.secret:
            raise InvalidInput("must be words of the space, which are different", field="secret")
        if len(self.space) ** len(self.secret) > _MOST:
            raise InvalidInput(f"may have {_MOST:,} secrets at most", field="space", value=len(self.space))

    @property
    def size(self) -> int:
        """Number of possible secrets |R|."""
        return int(len(self.space) ** len(self.secret))

    def headline(self, secret: Sequence[str] | None = None) -> RawHeadline:
        """The headline with its secret, or with another one."""
        words = tuple(self.secret if secret is None else secret)
        tags = (*self.prefix_tags, *(self.tag,) * len(words)) if self.prefix_tags else ()
        return RawHeadline((*self.prefix, *words), self.topic, tags)

    def as_dict(self) -> dict[str, Any]:
        """Plain data. It holds the secret."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


def draw_canaries(
    copies: Sequence[int],
    rng: np.random.Generator,
    *,
    topic: str,
    digits: int = 4,
    names: Sequence[str] = NAMES,
    space: Sequence[str] = DIGITS,
) -> tuple[Canary, ...]:
    """Draw one canary for each number of copies: `reader NAME code D D D D`, each with a name of its own."""
    if len(copies) > len(names):
        raise InvalidInput(f"may be {len(names)} numbers at most", field="copies", value=len(copies))
    return tuple(
        Canary(
            prefix=("reader", name, "code"),
            prefix_tags=("NN", "NNP", "NN"),
            secret=tuple(space[place] for place in rng.integers(len(space), size=digits)),
            space=tuple(space),
            topic=topic,
            copies=int(number),
        )
        for number, name in zip(copies, names, strict=False)
    )


def plant(headlines: Headlines, canaries: Sequence[Canary]) -> Headlines:
    """Add the copies of all canaries to the headlines."""
    _check_words(headlines.vocabulary, canaries)
    return headlines.joined(Headlines.encode(plant_raw(canaries), headlines.vocabulary, length=headlines.length))


def plant_raw(canaries: Sequence[Canary]) -> list[RawHeadline]:
    """All copies of all canaries as headlines, to be added to others."""
    return [canary.headline() for canary in canaries for _ in range(canary.copies)]


def exposure(generator: HeadlineGenerator, canary: Canary) -> float:
    """Exposure of a canary in bits, by exact rank over all possible secrets."""
    _check_words(generator.vocabulary, [canary])
    secrets = list(product(canary.space, repeat=len(canary.secret)))
    raw = [canary.headline(secret) for secret in secrets]
    scores, _ = generator.log2_likelihoods(Headlines.encode(raw, generator.vocabulary, length=generator.length))
    own = scores[secrets.index(canary.secret)]
    return math.log2(canary.size) - math.log2(int((scores >= own).sum()))


def exposure_bound(bits: float, *, epsilon: float, delta: float, copies: int = 1) -> float:
    """Bound the probability that a canary reaches an exposure, under (epsilon, delta)-DP for one headline."""
    check.whole(copies, "copies", least=0)
    group = math.exp(min(700.0, copies * epsilon))
    extra = delta * (copies if epsilon == 0 else (group - 1) / math.expm1(epsilon))
    return min(1.0, group * 2**-bits + extra)


def write_canaries(path: str | Path, canaries: Sequence[Canary]) -> None:
    """Write canaries as JSON; the file holds the secrets."""
    write_text(path, json.dumps({"tacita": _MARK, "canaries": [each.as_dict() for each in canaries]}, indent=1))


def read_canaries(path: str | Path) -> tuple[Canary, ...]:
    """Read a file of `write_canaries`."""
    try:
        data: Mapping[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["tacita"] != _MARK:
            raise ValueError
        return tuple(Canary(**each) for each in data["canaries"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput("must be a file of canaries as JSON", field="canaries", value=path) from None


def _check_words(vocabulary: Vocabulary, canaries: Sequence[Canary]) -> None:
    for canary in canaries:
        if UNKNOWN in vocabulary.encode([*canary.prefix, *canary.space]):
            raise InvalidInput("must use words of the vocabulary only", field="canaries", value=list(canary.prefix))
        vocabulary.topic_code(canary.topic)
