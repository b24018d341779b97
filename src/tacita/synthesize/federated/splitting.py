"""Five ways to spread one table over holders, for studies of what distribution costs.

    central     one holder has all
    equal       parts of the same size, in random order
    random      parts of random sizes
    class       one holder for each value of the label
    attribute   one holder for each value of an attribute that is drawn

Privacy: for data that the study may see as a whole; real holders are given. In the last two a row's own value
determines its holder, so that holder sizes reveal the counts of that value: see docs/claims/federated.md.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["SPLITS", "Split", "split"]

Split = Literal["central", "equal", "random", "class", "attribute"]
SPLITS: tuple[Split, ...] = get_args(Split)

Codes = NDArray[np.int64]


def split(
    codes: Codes, scheme: Split, rng: np.random.Generator, *, holders: int = 5, label: int = -1
) -> list[NDArray[np.intp]]:
    """Places of the rows that each holder has. Every row has one holder, and none is without rows.

    Args:
        codes: A row for each row, a column for each attribute.
        scheme: One of the schemes above.
        rng: For the order, the sizes, and which attribute; needs no secrecy.
        holders: Number of holders, where the scheme does not fix it.
        label: The column of the label; never the one that `attribute` draws.
    """
    check.one_of(scheme, "scheme", SPLITS)
    rows, columns = codes.shape
    check.whole(holders, "holders", least=1, most=rows)
    if scheme == "central":
        return [np.arange(rows)]
    if scheme == "equal":
        return [np.sort(part) for part in np.array_split(rng.permutation(rows), holders)]
    if scheme == "random":
        # cuts are drawn without repeating, so that every part has a row; all sizes that sum up are equally likely
        cuts = np.sort(rng.choice(rows - 1, holders - 1, replace=False) + 1)
        return [np.sort(part) for part in np.split(rng.permutation(rows), cuts)]
    column = label % columns
    if scheme == "attribute":
        others = [each for each in range(columns) if each != column]
        if not others:
            raise InvalidInput("needs an attribute besides the label", field="codes", value=columns)
        column = int(rng.choice(others))
    return [np.flatnonzero(codes[:, column] == value) for value in np.unique(codes[:, column])]
