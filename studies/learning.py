"""What k-anonymity does to classifiers: tune on the original, retrain on growing k, tune again on what was anonymized.

    original    parameters tuned on the original rows
    retrained   the same parameters, trained and tested on rows anonymized with k
    retuned     parameters tuned anew on the anonymized rows

Rows are anonymized with all attributes but the class as quasi-identifiers, and the class left as it is. Every result
is on disk before the next is begun; a study that was stopped goes on where it was.

Two ways to split. `after` splits rows that were anonymized together, as the study that this repeats did: test rows then
help to shape the classes. `before` anonymizes the training part and the test part by themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import f1_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

from studies.learning_data import DATASETS, StudyData, load
from studies.learning_models import MODELS, Grid, as_numbers, build, grid_of
from tacita.anonymize import Anonymize, Conditions, Mondrian
from tacita.errors import InvalidInput

__all__ = ["LearningStudy", "Result", "read_results", "run_study"]

Phase = Literal["original", "retrained", "retuned"]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class LearningStudy:
    """What is studied.

    Args:
        datasets: Among adult, credit and diabetes.
        models: Among tree, svm, knn and network.
        ks: Each 2 or more, rising.
        grid: All configurations, or a few.
        rows: Most rows of a table; all if not given.
        folds: Of the cross-validation.
        split: Whether rows are split after or before they are anonymized.
        mode: Of Mondrian.
        seed: Of splits, folds and models.
    """

    datasets: tuple[str, ...] = ("adult", "credit", "diabetes")
    models: tuple[str, ...] = MODELS
    ks: tuple[int, ...] = (10, 40, 100, 300)
    grid: Grid = "small"
    rows: int | None = None
    folds: int = 3
    split: Literal["after", "before"] = "after"
    mode: Literal["strict", "relaxed", "legacy"] = "strict"
    seed: int = 0

    def __post_init__(self) -> None:
        for field, chosen, known in (("datasets", self.datasets, DATASETS), ("models", self.models, MODELS)):
            for name in chosen:
                if name not in known:
                    raise InvalidInput(f"must be among {', '.join(known)}", field=field, value=name)
        if any(k < 2 for k in self.ks) or list(self.ks) != sorted(set(self.ks)):
            raise InvalidInput("must rise, each 2 or more", field="ks", value=self.ks)
        if self.folds < 2:
            raise InvalidInput("must be 2 or more", field="folds", value=self.folds)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One model, trained and tested once.

    Attributes:
        precision, recall: Of the majority and of the minority class.
        majority: Accuracy of always saying the majority class: what anything must beat.
        gcp: Loss of the rows; 0 for the original.
        spread: Best less worst macro F1 over the configurations, where it was tuned.
    """

    dataset: str
    model: str
    phase: Phase
    k: int
    macro_f1: float
    micro_f1: float
    precision: tuple[float, float]
    recall: tuple[float, float]
    majority: float
    gcp: float
    settings: dict[str, Any]
    spread: float | None
    simulated: bool

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What is never done twice."""
        return self.dataset, self.model, self.phase, self.k


def read_results(path: Path) -> list[Result]:
    """The results that are on disk; a last line that was cut off by a kill is left out."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        found.append(Result(**data | {name: tuple(data[name]) for name in ("precision", "recall")}))
    return found


def run_study(study: LearningStudy, *, data: Path, out: Path, say: Say = lambda _: None) -> list[Result]:
    """Do what is not done yet.

    Args:
        study: What to do.
        data: Folder with the published files.
        out: Folder for `results.jsonl`; the same one again continues.
        say: Called with a line before each step.
    """
    out.mkdir(parents=True, exist_ok=True)
    path, settings = out / "results.jsonl", out / "study.json"
    asked = json.dumps(asdict(study), sort_keys=True)
    if settings.is_file() and settings.read_text(encoding="utf-8") != asked:
        hint = "Take another folder, or the settings that are in its study.json"
        raise InvalidInput("holds another study", field="out", value=out.name, hint=hint)
    settings.write_text(asked, encoding="utf-8")
    done = {result.key for result in read_results(path)}
    with path.open("a", encoding="utf-8") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")  # the line that a kill has cut off ends here
        for name in study.datasets:
            for result in _dataset(study, load(name, data), done, path, say):
                file.write(json.dumps(asdict(result)) + "\n")
                file.flush()
                os.fsync(file.fileno())
                done.add(result.key)
    return read_results(path)


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Numbers to train and test with."""

    train: NDArray[np.float64]
    test: NDArray[np.float64]
    train_class: NDArray[np.int64]
    test_class: NDArray[np.int64]
    gcp: float


def _dataset(
    study: LearningStudy, data: StudyData, done: set[tuple[str, str, str, int]], path: Path, say: Say
) -> Iterator[Result]:
    rows = data.rows
    if study.rows is not None and rows.num_rows > study.rows:
        chosen = np.random.default_rng(study.seed).choice(rows.num_rows, study.rows, replace=False)
        rows = rows.take(pa.array(np.sort(chosen)))
    for k in (1, *study.ks):
        phases: tuple[Phase, ...] = ("original",) if k == 1 else ("retrained", "retuned")
        wanted = [(m, p) for m in study.models for p in phases if (data.name, m, p, k) not in done]
        if not wanted:
            continue
        say(f"{data.name}: rows with k = {k}")
        parts = _parts(study, data, rows, k)
        for model, phase in wanted:
            say(f"{data.name}, k = {k}: {model}, {phase}")
            yield _result(study, data, parts, model, phase, k, path)


def _anonymized(study: LearningStudy, data: StudyData, rows: pa.Table, k: int) -> tuple[pa.Table, float]:
    recipe = Anonymize(
        conditions=Conditions(k=k), quasi=data.features, keep=(data.target,), method=Mondrian(mode=study.mode)
    )
    made = recipe.prepare(data.domain).run_on(rows)
    return made.rows, made.loss.gcp


def _parts(study: LearningStudy, data: StudyData, rows: pa.Table, k: int) -> _Parts:
    labels = np.array(rows.column(data.target).to_pylist())
    if study.split == "before" and k > 1:
        train, test = train_test_split(np.arange(len(labels)), test_size=0.2, stratify=labels, random_state=study.seed)
        made = [_anonymized(study, data, rows.take(pa.array(np.sort(part))), k) for part in (train, test)]
        numbers = as_numbers(pa.concat_tables([table for table, _ in made]), data.domain, data.features)
        at = made[0][0].num_rows
        classes = [_classes(np.array(table.column(data.target).to_pylist()), labels) for table, _ in made]
        gcp = made[0][1]
        return _Parts(train=numbers[:at], test=numbers[at:], train_class=classes[0], test_class=classes[1], gcp=gcp)
    table, gcp = _anonymized(study, data, rows, k) if k > 1 else (rows, 0.0)
    numbers = as_numbers(table, data.domain, data.features)
    classes_of = _classes(np.array(table.column(data.target).to_pylist()), labels)
    split = train_test_split(numbers, classes_of, test_size=0.2, stratify=classes_of, random_state=study.seed)
    return _Parts(train=split[0], test=split[1], train_class=split[2], test_class=split[3], gcp=gcp)


def _classes(labels: NDArray[Any], every: NDArray[Any]) -> NDArray[np.int64]:
    """0 for the majority class, 1 for the other."""
    values, counts = np.unique(every, return_counts=True)
    found: NDArray[np.int64] = (labels != values[np.argmax(counts)]).astype(np.int64)
    return found


def _result(
    study: LearningStudy, data: StudyData, parts: _Parts, model: str, phase: Phase, k: int, path: Path
) -> Result:
    features, spread = parts.train.shape[1], None
    if phase == "retrained":
        settings = _original(path, data.name, model)
    else:
        settings, spread = _tuned(study, parts, model, grid_of(model, data.name, study.grid))
    fitted = build(model, features, settings, study.seed).fit(parts.train, parts.train_class)
    said = fitted.predict(parts.test)
    scores = precision_recall_fscore_support(parts.test_class, said, labels=[0, 1], zero_division=0.0)
    return Result(
        dataset=data.name,
        model=model,
        phase=phase,
        k=k,
        macro_f1=float(f1_score(parts.test_class, said, average="macro", zero_division=0.0)),
        micro_f1=float(f1_score(parts.test_class, said, average="micro", zero_division=0.0)),
        precision=(float(scores[0][0]), float(scores[0][1])),
        recall=(float(scores[1][0]), float(scores[1][1])),
        majority=float(np.mean(parts.test_class == 0)),
        gcp=float(parts.gcp),
        settings=settings,
        spread=spread,
        simulated=data.simulated,
    )


def _original(path: Path, dataset: str, model: str) -> dict[str, Any]:
    key = (dataset, model, "original", 1)
    return next(result.settings for result in read_results(path) if result.key == key)


def _tuned(
    study: LearningStudy, parts: _Parts, model: str, grid: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], float]:
    """The configuration with the best macro F1 in cross-validation, and how far the best lies above the worst."""
    folds = StratifiedKFold(study.folds, shuffle=True, random_state=study.seed)
    scores = []
    for settings in grid:
        made = build(model, parts.train.shape[1], settings, study.seed)
        found = cross_val_score(made, parts.train, parts.train_class, cv=folds, scoring="f1_macro")
        scores.append(float(np.mean(found)))
    return dict(grid[int(np.argmax(scores))]), max(scores) - min(scores)
