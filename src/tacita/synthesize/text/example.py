"""An example corpus: headlines of four topics from a grammar, with the tag of every word.

The grammar is ours and public, and so is its vocabulary: it lists every word that a headline can have, whichever are
drawn. Names of firms and people are invented. Some words are nouns and verbs (`cuts`, `deal`), as in real headlines, so
tags cannot be read off words alone.

Privacy: no data is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from tacita import check
from tacita.synthesize.text.corpus import RawHeadline
from tacita.synthesize.text.vocabulary import Vocabulary

__all__ = ["DIGITS", "NAMES", "TOPICS", "example_headlines", "example_vocabulary", "tagged_words"]

TOPICS = ("business", "technology", "entertainment", "health")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NAMES = ("alva", "brona", "cedric", "doria", "elmo", "fenna", "gustav", "hilma", "ivo", "jorun")

# category: (tag, words); a category of one topic is `topic.CATEGORY`
_SHARED = {
    "NAME": ("NNP", " ".join(NAMES)),
    "DIGIT": ("CD", " ".join(DIGITS)),
    "COUNT": ("CD", " ".join(DIGITS[2:])),
    "DET": ("DT", "the a this"),
    "IN_TIME": ("IN", "after before amid despite"),
    "IN_PLACE": ("IN", "in near across"),
    "PLACE": ("NNP", "arden belmora castrel dunmere eastvale fairport"),
    "TIME": ("NN", "today yesterday tonight"),
    "PERIOD": ("NN", "week month year summer winter"),
    "JJ_TIME": ("JJ", "last next early late"),
    "RB": ("RB", "again soon quickly sharply finally"),
    "SAY": ("VBZ", "says claims warns denies"),
    "SAYP": ("VBP", "say claim warn deny"),
    "MD": ("MD", "may could will must"),
    "WRB": ("WRB", "why how when"),
    "TO": ("TO", "to"),
    "AND": ("CC", "and"),
    "OF": ("IN", "of"),
    "FOR": ("IN", "for with over"),
    "NEW": ("JJ", "new first big rare"),
    "CODE": ("NN", "reader code"),
}
_BY_TOPIC = {
    "business": {
        "ORG": ("NNP", "norvex altabank ferrocor linmark quadrant solbank tradewell veldon"),
        "NNS": ("NNS", "shares profits investors banks markets exports wages lenders cuts prices"),
        "NN": ("NN", "deal merger debt growth inflation budget bond loan tax rate output demand"),
        "JJ": ("JJ", "weak strong quarterly record foreign corporate fiscal"),
        "VBZ": ("VBZ", "cuts raises buys sells beats misses freezes settles"),
        "VBP": ("VBP", "cut raise buy sell beat miss freeze fear"),
        "VB": ("VB", "cut raise buy sell freeze settle"),
        "VBN": ("VBN", "sold bought fined rescued"),
        "ROLE": ("NN", "banker trader chairman minister economist"),
    },
    "technology": {
        "ORG": ("NNP", "pixelon orbisoft nanodyne hexaphone skyloop cybron datalane robotika"),
        "NNS": ("NNS", "phones robots hackers servers apps updates drones chips users flaws"),
        "NN": ("NN", "launch software browser satellite battery sensor network update screen cloud engine patch"),
        "JJ": ("JJ", "wireless smart faulty mobile digital secure open"),
        "VBZ": ("VBZ", "launches unveils patches tests blocks upgrades hacks recalls"),
        "VBP": ("VBP", "launch unveil patch test block upgrade hack crash"),
        "VB": ("VB", "launch unveil patch test block upgrade"),
        "VBN": ("VBN", "hacked leaked launched patched"),
        "ROLE": ("NN", "engineer hacker developer founder designer"),
    },
    "entertainment": {
        "ORG": ("NNP", "moonlark starfall velvetine goldreel cinemora harpstone redcurtain songbird"),
        "NNS": ("NNS", "fans critics actors singers awards tickets episodes dancers rumours songs"),
        "NN": ("NN", "show film album tour sequel premiere trailer concert role wedding festival cast"),
        "JJ": ("JJ", "romantic famous sold musical live secret emotional"),
        "VBZ": ("VBZ", "wins cancels films joins hosts leaves records praises"),
        "VBP": ("VBP", "win cancel film join host praise love mock"),
        "VB": ("VB", "win cancel film join host record"),
        "VBN": ("VBN", "cast nominated cancelled honoured"),
        "ROLE": ("NN", "actor singer director drummer comedian"),
    },
    "health": {
        "ORG": ("NNP", "medivar curacell clinova pharmalis bloodwell saniva vaxora cardium"),
        "NNS": ("NNS", "doctors patients vaccines hospitals nurses drugs symptoms trials infections genes"),
        "NN": ("NN", "study outbreak vaccine diet cancer virus therapy sleep obesity heart treatment test"),
        "JJ": ("JJ", "deadly chronic healthy infected medical clinical severe"),
        "VBZ": ("VBZ", "treats prevents spreads links reduces cures finds confirms"),
        "VBP": ("VBP", "treat prevent spread link reduce cure find study"),
        "VB": ("VB", "treat prevent spread reduce cure study"),
        "VBN": ("VBN", "infected treated cured linked"),
        "ROLE": ("NN", "surgeon nurse scientist patient researcher"),
    },
}

_RULES = {
    "S": (
        "SING VBZ OBJ",
        "SING VBZ OBJ TAIL",
        "PLUR VBP OBJ",
        "PLUR VBP OBJ TAIL",
        "SING MD VB OBJ TAIL",
        "PLUR MD VB OBJ",
        "SING SAY PLUR VBP OBJ",
        "PLUR SAYP SING VBZ OBJ",
        "WRB PLUR VBP OBJ TAIL",
        "WRB SING VBZ OBJ",
        "PLUR VBN IN_TIME OBJ TAIL",
        "SING TO VB OBJ AND OBJ",
    ),
    "SING": ("ORG", "ROLE NAME", "JJ NN", "ORG ROLE", "DET NN"),
    "PLUR": ("NNS", "JJ NNS", "NNS OF ORG", "COUNT NNS"),
    "OBJ": ("NN", "JJ NN", "NEW NN", "NNS", "NEW JJ NN", "NNS FOR ORG"),
    "TAIL": ("IN_PLACE PLACE", "IN_TIME OBJ", "JJ_TIME PERIOD", "TIME", "RB", "IN_TIME JJ NN"),
}


@lru_cache(maxsize=1)
def _categories() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    found = {name: (tag, tuple(words.split())) for name, (tag, words) in _SHARED.items()}
    for topic, parts in _BY_TOPIC.items():
        found |= {f"{topic}.{name}": (tag, tuple(words.split())) for name, (tag, words) in parts.items()}
    return MappingProxyType(found)


@lru_cache(maxsize=1)
def example_vocabulary() -> Vocabulary:
    """Every word of the grammar, whichever are drawn: public."""
    words = sorted({word for _, words in _categories().values() for word in words})
    return Vocabulary(words=tuple(words), topics=TOPICS, public=True)


def tagged_words() -> dict[str, frozenset[str]]:
    """Tags that the grammar gives each word."""
    found: dict[str, set[str]] = {}
    for tag, words in _categories().values():
        for word in words:
            found.setdefault(word, set()).add(tag)
    return {word: frozenset(tags) for word, tags in found.items()}


def example_headlines(count: int = 4000, *, seed: int = 0) -> list[RawHeadline]:
    """Draw headlines of 4 to 13 words, with tags; topics are equally likely. The same seed gives the same headlines."""
    check.whole(count, "count", least=1, most=10_000_000)
    rng = np.random.default_rng(seed)
    found: list[RawHeadline] = []
    while len(found) < count:
        topic = TOPICS[rng.integers(len(TOPICS))]
        pairs = _expand("S", topic, rng)
        if 4 <= len(pairs) <= 13:
            words, tags = zip(*pairs, strict=True)
            found.append(RawHeadline(words, topic, tags))
    return found


def _expand(symbol: str, topic: str, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Words and tags of one symbol of the grammar."""
    if symbol in _RULES:
        options = _RULES[symbol]
        parts = options[rng.integers(len(options))].split()
        return [pair for part in parts for pair in _expand(part, topic, rng)]
    shared = _categories()
    tag, words = shared[symbol] if symbol in shared else shared[f"{topic}.{symbol}"]
    # a word is about as frequent as its place in the list allows, as in real text
    weights = 1 / np.arange(1, len(words) + 1)
    return [(words[rng.choice(len(words), p=weights / weights.sum())], tag)]
