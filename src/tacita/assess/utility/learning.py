"""Train on the release, test on real people: accuracy overall and for each group of people.

Every accuracy is shown beside that of the majority class and that of training on the real rows. The test rows are
people who were used neither for the release nor for training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.utility.propensity import one_hot, quiet_fit
from tacita.errors import InvalidInput

__all__ = ["PANEL", "Learned", "Scores", "train_on_release"]

_LEAST = 50
_MOST_CLASSES = 50


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=8, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(50, max_depth=12, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # no early stopping: it holds back rows of each class, and a class may have only one
    return HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=seed)


def _bayes(seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-6)


PANEL: Mapping[str, Callable[[int], Any]] = {
    "logistic": _logistic,
    "tree": _tree,
    "forest": _forest,
    "boosting": _boosting,
    "bayes": _bayes,
}


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of one classifier on the test rows."""

    accuracy: float
    macro_f1: float
    micro_f1: float
    auc: float | None
    """AUC of two classes; None for more classes, or if there is only one."""


@dataclass(frozen=True, kw_only=True)
class Learned:
    """Scores of classifiers trained on the release and on the real rows.

    Attributes:
        majority: Accuracy of always guessing the most frequent class of the test rows.
        real, released: Scores of each classifier.
        groups: For each level of the group, its accuracy when trained on real rows and on the release, and its size.
    """

    target: str
    majority: float
    real: Mapping[str, Scores]
    released: Mapping[str, Scores]
    groups: Mapping[str, tuple[float, float, int]]
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> float:
        """Mean accuracy lost by training on the release."""
        return float(np.mean([self.real[name].accuracy - self.released[name].accuracy for name in self.real]))

    @property
    def unfair(self) -> float:
        """Accuracy that the worst group loses beyond the mean; 0 without groups."""
        losses = [real - released for real, released, _ in self.groups.values()]
        return float(max(losses) - np.mean(losses)) if losses else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""

        def plain(scores: Mapping[str, Scores]) -> dict[str, Any]:
            return {name: dict(each.__dict__) for name, each in scores.items()}

        return {
            "target": self.target,
            "majority": self.majority,
            "real": plain(self.real),
            "released": plain(self.released),
            "lost": self.lost,
            "groups": {name: list(each) for name, each in self.groups.items()},
            "notes": list(self.notes),
        }


def train_on_release(
    case: Case,
    target: str,
    rng: np.random.Generator,
    *,
    models: tuple[str, ...] = ("logistic", "tree", "boosting"),
    group: str | None = None,
    rows: int = 20_000,
) -> Learned:
    """Train classifiers on the first release and on the real rows; test on the control.

    Args:
        case: Needs a control: people whom no classifier has seen.
        target: The attribute to predict; an ordered attribute is predicted by its bins.
        rng: For subsets and seeds.
        models: Names of classifiers of the panel.
        group: An attribute; accuracy is given for each of its levels or bins.
        rows: Most rows of a training set.
    """
    unknown = [name for name in models if name not in PANEL]
    if unknown or not models:
        raise InvalidInput(f"must be among {', '.join(PANEL)}", field="models", value=", ".join(unknown))
    if case.control is None or len(case.control) < _LEAST:
        raise InvalidInput(
            f"needs at least {_LEAST} people whose data was not used",
            field="control",
            hint="Hold some rows back before releasing",
        )
    place = case.real.place(case.domain.check_countable([target])[0])
    if case.domain.attributes[place].size > _MOST_CLASSES:
        raise InvalidInput(f"must have at most {_MOST_CLASSES} classes", field="target", value=target)
    names = [name for name in case.names if name != target]
    if not names:
        raise InvalidInput("nothing is left to predict it from", field="target", value=target)
    test, truth = _split(case.control, names, place)
    majority = float(np.bincount(truth + 1).max() / len(truth))
    seed = int(rng.integers(2**31))
    found: dict[str, dict[str, Scores]] = {"real": {}, "released": {}}
    guessed: dict[str, NDArray[np.int64]] = {}
    notes = []
    for side, frame in (("real", case.real), ("released", case.first)):
        some = frame if len(frame) <= rows else frame.take(rng.choice(len(frame), rows, replace=False))
        features, labels = _split(some, names, place)
        if len(np.unique(labels)) < 2:
            notes.append(f"The {side} rows have one class of {target}: every classifier guesses it.")
        for name in models:
            found[side][name], guess = _scored(PANEL[name](seed), features, labels, test, truth)
            guessed.setdefault(side, guess)
    return Learned(
        target=target,
        majority=majority,
        real=found["real"],
        released=found["released"],
        groups={} if group is None else _groups(case.control, group, truth, guessed),
        notes=tuple(notes),
    )


def _split(frame: Frame, names: list[str], place: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the features, and the class of each row."""
    return one_hot(_complete(frame.only(names))), frame.codes[:, place]


def _complete(frame: Frame) -> Frame:
    """Replace missing numbers by the middle: real and released rows must have the same columns."""
    middle = [float(np.mean(getattr(a, "line_bounds", (0, len(a.labels) - 1)))) for a in frame.domain.attributes]
    return Frame(domain=frame.domain, values=np.where(np.isnan(frame.values), middle, frame.values))


def _scored(
    model: Any, features: Any, labels: NDArray[np.int64], test: Any, truth: NDArray[np.int64]
) -> tuple[Scores, NDArray[np.int64]]:
    from sklearn.metrics import f1_score, roc_auc_score

    if len(np.unique(labels)) < 2:
        guess, area = np.full(len(truth), labels[0]), None
    else:
        with quiet_fit():
            model.fit(features, labels)
            guess = model.predict(test)
        area = None
        if len(model.classes_) == 2 and set(np.unique(truth)) == set(model.classes_):
            area = float(roc_auc_score(truth == model.classes_[1], model.predict_proba(test)[:, 1]))
    scores = Scores(
        accuracy=float((guess == truth).mean()),
        macro_f1=float(f1_score(truth, guess, average="macro", zero_division=0.0)),
        micro_f1=float(f1_score(truth, guess, average="micro", zero_division=0.0)),
        auc=area,
    )
    return scores, np.asarray(guess)


def _groups(
    control: Frame, group: str, truth: NDArray[np.int64], guessed: Mapping[str, NDArray[np.int64]]
) -> dict[str, tuple[float, float, int]]:
    """Compute the first classifier's accuracy in each group; groups of fewer than 20 people are left out."""
    codes, attribute = control.codes[:, control.place(group)], control.domain[group]
    found = {}
    for code, label in enumerate(attribute.labels):
        inside = codes == code
        if inside.sum() >= 20:
            real, released = (float((guessed[side][inside] == truth[inside]).mean()) for side in ("real", "released"))
            found[label] = (real, released, int(inside.sum()))
    return found
