"""Several releases of the same people: their classes and labels are joined."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.attacks.intersection import intersect, intersection
from tacita.assess.case import read_case
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput


def test_releases_laid_over_each_other():
    """Two 2-anonymous releases: in each there are two values, in both together there is one."""
    classes = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2]]
    sensitive = [0, 1, 2, 0, 1, 2]
    found = intersect(classes, sensitive)
    # by hand: values of both classes of each person
    left = []
    for person in range(6):
        sets = [{sensitive[other] for other in range(6) if side[other] == side[person]} for side in classes]
        left.append(set.intersection(*sets))
    assert found.certain.successes == sum(len(each) == 1 for each in left) > 0
    assert found.alone.successes == 2  # persons 1 and 4 share a class, and their value, in the second release
    assert found.candidates[1] == pytest.approx(np.mean([len(each) for each in left]))


def test_who_was_suppressed_loses_nothing_in_that_release():
    found = intersect([[-1, -1, 0, 0], [0, 0, 1, 1]], [0, 1, 0, 1])
    assert found.certain.successes == 0
    assert found.candidates == (2.0, 2.0)


LEVELS = ("no", "flu", "gout", "cold", "lupus", "rash", "gall", "ache")


DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), bins=10, integer=True),
        Categorical(name="town", levels=["a", "b", "c"]),
        Categorical(name="ill", levels=list(LEVELS)),
    ]
)


def people(count, rng):
    return {
        "age": rng.integers(0, 40, count).tolist(),
        "town": rng.choice(["a", "b", "c"], count).tolist(),
        "ill": rng.choice(LEVELS, count).tolist(),
    }


def coarse(rows, width, towns):
    """Ages in ranges of a width from 0, towns as one of some sets; the illness as it is."""
    ages = [f"{age // width * width}..{age // width * width + width - 1}" for age in rows["age"]]
    sets = {town: "{" + ", ".join(group) + "}" if len(group) > 1 else town for group in towns for town in group}
    return pa.table({"age": ages, "town": [sets[town] for town in rows["town"]], "ill": rows["ill"]})


def test_generalised_releases_are_joined_by_their_labels():
    """Against brute force: which rows of each release fit a person, and which values all of them leave."""
    rng = np.random.default_rng(5)
    real, control = people(60, rng), people(60, rng)
    releases = [coarse(real, 4, [("a", "b"), ("c",)]), coarse(real, 3, [("a",), ("b", "c")])]
    case = read_case(DOMAIN, real=pa.table(real), released=releases, control=pa.table(control))
    found = intersection(case, "ill", ("age", "town"), rng, attempts=1000)

    def left(age, town, width, towns):
        group = next(group for group in towns if town in group)
        rows = zip(real["age"], real["town"], real["ill"], strict=True)
        there = {ill for other, near, ill in rows if other // width == age // width and near in group}
        return there or set(LEVELS)

    def certain(rows):
        one = [left(a, t, 4, [("a", "b"), ("c",)]) for a, t in zip(rows["age"], rows["town"], strict=True)]
        two = [left(a, t, 3, [("a",), ("b", "c")]) for a, t in zip(rows["age"], rows["town"], strict=True)]
        alone = sum({ill} in (x, y) for x, y, ill in zip(one, two, rows["ill"], strict=True))
        both = [x & y for x, y in zip(one, two, strict=True)]
        return sum(each == {ill} for each, ill in zip(both, rows["ill"], strict=True)), alone, both

    right, alone, both = certain(real)
    assert (found.certain.successes, found.alone.successes) == (right, alone)
    assert right > alone
    assert found.control.successes == certain(control)[0] < right
    assert found.candidates[1] == pytest.approx(np.mean([len(each) for each in both]))
    assert found.risks_at(0.95)[0].low > 0
    common = max(LEVELS, key=real["ill"].count)
    blind = sum(len(each) == 1 and ill == common for each, ill in zip(both, real["ill"], strict=True))
    assert found.baseline.successes == blind  # guesses about the same people
    assert found.leak.strong
    assert found.as_dict()["secret"] == "ill"


def test_missing_values_fit_the_labels_that_allow_them():
    real = pa.table({"age": [None, 30, -1 + 31], "town": ["a", None, "b"], "ill": LEVELS[:3]})
    release = pa.table({"age": ["(missing) or 0..20", "25..35", "*"], "town": ["*", "{a, b}", "b"], "ill": LEVELS[:3]})
    case = read_case(DOMAIN, real=real, released=[release, release])
    fits = {name: case.first.labels[name].fits(case.real.column(name)).astype(int) for name in ("age", "town")}
    row = {name: fits[name][case.first.labels[name].rows] for name in fits}
    assert row["age"].tolist() == [[1, 0, 0], [0, 1, 1], [1, 1, 1]]
    assert row["town"].tolist() == [[1, 1, 1], [1, 0, 1], [0, 0, 1]]


def test_an_assessment_of_several_releases_joins_them(cases, tables, domain):
    real, control = tables["real"], tables["control"]
    case = read_case(domain, real=real, released=[tables["copied"], real], control=control)
    options = AssessmentOptions(attempts=400, secrets=("ill",), attacks=("intersection",))
    leaky = assess(case, np.random.default_rng(1), options=options)
    assert leaky.worst == "intersection of 2 releases, ill"
    assert leaky.risk > 0.9
    case = read_case(domain, real=real, released=[tables["fresh"], tables["marginal"]], control=control)
    assert assess(case, np.random.default_rng(1), options=options).shown < 0.02
    single = assess(cases["copied"], np.random.default_rng(1), options=options)
    assert "two releases" in dict(single.skipped)["intersection"]


def test_a_secret_with_labels_is_skipped(cases):
    release = pa.table({"age": [3, 4], "town": ["a", "b"], "ill": ["{no, flu}", "gout"]})
    case = read_case(DOMAIN, real=pa.table(people(60, np.random.default_rng(1))), released=[release, release])
    options = AssessmentOptions(attempts=50, secrets=("ill",), attacks=("intersection",))
    found = assess(case, np.random.default_rng(1), options=options)
    assert "several values" in dict(found.skipped)["intersection, ill"]
    assert next(each.reason for each in found.attacks if each.name == "intersection")


def test_bad_input():
    for call in (
        lambda: intersect([[0, 0]], [0, 1]),
        lambda: intersect([[0, 0], [0]], [0, 1]),
    ):
        with pytest.raises(InvalidInput):
            call()
