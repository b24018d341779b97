import json

import numpy as np
import pyarrow as pa
import pytest
from studies.learning import LearningStudy, run_study
from studies.learning_data import load
from studies.learning_models import MODELS, as_numbers, build, grid_of
from studies.learning_page import write_page

from studies import learning
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput, SourceUnavailable

STUDY = LearningStudy(datasets=("diabetes",), models=("tree", "knn"), ks=(20, 200), rows=1500, folds=2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return folder, run_study(STUDY, data=folder, out=folder)


def test_all_three_phases(finished):
    _, results = finished
    assert {(r.model, r.phase, r.k) for r in results} == {
        (model, phase, k)
        for model in ("tree", "knn")
        for phase, k in (("original", 1), ("retrained", 20), ("retuned", 20), ("retrained", 200), ("retuned", 200))
    }
    assert all(r.simulated for r in results)
    loss = {r.k: r.gcp for r in results}
    assert loss[1] == 0 < loss[20] < loss[200]
    kept = {r.model: r.settings for r in results if r.phase == "original"}
    assert all(r.settings == kept[r.model] for r in results if r.phase == "retrained")


def test_micro_f1_is_accuracy_and_the_baseline_is_stated(finished):
    _, results = finished
    for r in results:
        assert 0.5 <= r.majority <= 0.75
        assert 0 <= r.macro_f1 <= r.micro_f1 + 0.2 <= 1.2


def test_a_study_that_was_killed_goes_on(finished, tmp_path, monkeypatch):
    folder, results = finished
    lines = (folder / "results.jsonl").read_text().splitlines()
    (tmp_path / "study.json").write_text((folder / "study.json").read_text())
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:4]) + "\n" + lines[4][:30])  # killed in mid-line
    trained = []
    real = learning._result
    monkeypatch.setattr(learning, "_result", lambda *parts: trained.append(parts[3:6]) or real(*parts))
    again = run_study(STUDY, data=tmp_path, out=tmp_path)
    assert len(trained) == len(lines) - 4
    assert {r.key: r.macro_f1 for r in again} == {r.key: r.macro_f1 for r in results}


def test_another_study_needs_another_folder(finished):
    folder, _ = finished
    with pytest.raises(InvalidInput, match="another study"):
        run_study(LearningStudy(datasets=("diabetes",), ks=(30,)), data=folder, out=folder)


def test_figures(finished, tmp_path):
    _, results = finished
    write_page(results, tmp_path / "figures.html")
    page = (tmp_path / "figures.html").read_text()
    assert page.count("<svg") == 2
    assert "made up" in page
    assert "http" not in page  # stands alone


def test_splitting_before_anonymizing(tmp_path):
    study = LearningStudy(datasets=("diabetes",), models=("tree",), ks=(20,), rows=800, folds=2, split="before")
    assert len(run_study(study, data=tmp_path, out=tmp_path)) == 3


def test_labels_become_numbers():
    domain = Domain(
        attributes=[Numeric(name="n", bounds=(-9, 9), bins=2), Categorical(name="c", levels=["a", "b", "x"])]
    )
    rows = pa.table({"n": ["1..4", "-3", "-2.5..-1.5", "(missing)"], "c": ["{a, b}", "x", "a", "x"]})
    found = as_numbers(rows, domain, ["n", "c"])
    assert found[:3, 0].tolist() == [2.5, -3, -2]
    assert found[3, 0] == pytest.approx(np.mean([2.5, -3, -2]))
    assert found[:, 1].tolist() == [2, 1, 0, 1] or len(set(found[:, 1])) == 3


@pytest.mark.parametrize("model", MODELS)
def test_grids(model):
    full, small = (grid_of(model, "adult", grid) for grid in ("full", "small"))
    assert len(full) == {"tree": 384, "svm": 120, "knn": 176, "network": 27}[model]
    assert 2 <= len(small) <= 8
    for settings in small[:1]:
        build(model, 5, settings, 0)


def test_files_and_names_that_are_wrong(tmp_path):
    with pytest.raises(SourceUnavailable, match=r"adult\.data"):
        load("adult", tmp_path)
    for parts in ({"datasets": ("iris",)}, {"models": ("oracle",)}, {"ks": (1,)}, {"ks": (9, 3)}, {"folds": 1}):
        with pytest.raises(InvalidInput):
            LearningStudy(**parts)


def test_published_files_are_read(tmp_path):
    line = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm, Not, White, Male, 2174, 0, 40, US, <=50K\n"
    (tmp_path / "adult.data").write_text(line + line.replace("State-gov", "?") + line.replace("<=50K", ">50K"))
    adult = load("adult", tmp_path)
    assert (adult.rows.num_rows, len(adult.features)) == (2, 14)
    head = ",".join(f"c{i}" for i in range(23)) + ",default.payment.next.month\n"
    (tmp_path / "credit-default.csv").write_text(head + ",".join(["1"] * 24) + "\n" + ",".join(["0"] * 24) + "\n")
    assert set(load("credit", tmp_path).rows.column("default").to_pylist()) == {"yes", "no"}
    assert json.dumps(sorted(load("diabetes", tmp_path).features))
