import datetime as dt
import itertools

import pytest

from tacita.anonymize.hierarchies.building import HierarchySpec, build_hierarchy, propose_widths
from tacita.anonymize.hierarchies.reading import CodeList
from tacita.anonymize.hierarchies.rules import Digits, Intervals, Merged, Periods, Prefixes
from tacita.domain import Categorical, Date, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput, NotPublic

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True),
        Numeric(name="income", bounds=(0, 100_000), bins=20),
        Categorical(name="zip", levels=["10115", "10117", "20095"]),
        Date(name="born", bounds=(dt.date(1999, 12, 1), dt.date(2000, 1, 31))),
        Ordinal(name="school", levels=["none", "primary", "secondary", "degree"]),
        Categorical(name="job", levels=["211", "212", "31"]),
    ]
)
JOBS = CodeList.from_lines("isco", list(enumerate([["code", "label"], ["2", "Pro"], ["21", "S"], ["211", "P"],
                                                   ["212", "Q"], ["3", "T"], ["31", "U"]])))  # fmt: skip


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"attribute": "age"}, Intervals(widths=(5.0, 10.0, 20.0))),
        ({"attribute": "age", "mask": (1,)}, Digits(mask=(1,))),
        ({"attribute": "income", "widths": (2500.0, 5000.0)}, Intervals(widths=(2500.0, 5000.0))),
        ({"attribute": "zip"}, Digits(mask=(1, 2, 3, 4))),
        ({"attribute": "zip", "keep": (2, 1)}, Prefixes(keep=(2, 1))),
        ({"attribute": "born"}, Periods(by=("month", "quarter", "year", "decade"))),
        ({"attribute": "school", "merge": 3}, Merged(levels=("none", "primary", "secondary", "degree"), merge=3)),
        ({"attribute": "job", "codes": JOBS}, None),
    ],
)
def test_the_kind_follows_the_attribute(options, rule):
    assert HierarchySpec(**options).rule(DOMAIN) == rule


def test_all_declared_values_are_leaves():
    assert build_hierarchy(DOMAIN, HierarchySpec(attribute="age")).leaves == tuple(map(str, range(100)))
    assert len(build_hierarchy(DOMAIN, HierarchySpec(attribute="born")).leaves) == 62
    made = build_hierarchy(DOMAIN, HierarchySpec(attribute="job", codes=JOBS, labels=True))
    assert made.paths == (("*", "2 Pro", "21 S", "211"), ("*", "2 Pro", "21 S", "212"), ("*", "3 T", "31 U", "31"))
    assert made.name == "job"


@pytest.mark.parametrize("whole", [True, False])
def test_proposed_widths_are_round_nested_and_narrower_than_the_range(whole):
    for exponent, start, low in itertools.product(range(-2, 7), (1, 1.7, 2, 3, 4.9, 5, 9.99), (-3, 0, 17)):
        high = low + start * 10.0**exponent
        if whole:
            high = float(round(high))
            if high <= low:
                continue
        widths = propose_widths(low, high, whole=whole)
        assert all(f"{width:e}"[0] in "125" and float(f"{width:.0e}") == width for width in widths)
        assert all(wide > narrow and abs(wide / narrow - round(wide / narrow)) < 1e-9 for narrow, wide in
                   itertools.pairwise(widths))  # fmt: skip
        assert widths[0] <= (high - low + 1) / 20 or widths == (2.0,) or (whole and widths[0] == 2)
        Intervals(widths=widths)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attribute": "zip", "kind": "intervals"}, "for numbers"),
        ({"attribute": "age", "kind": "dates"}, "for dates"),
        ({"attribute": "zip", "kind": "order"}, "ordinal"),
        ({"attribute": "zip", "kind": "prefixes"}, "keep"),
        ({"attribute": "zip", "kind": "codes"}, "code list"),
        ({"attribute": "age", "codes": JOBS}, "declared levels"),
        ({"attribute": "zip", "widths": (1.0,)}, "no option of digits"),
        ({"attribute": "nap"}, "age|zip|nap"),
        ({"attribute": "zip", "codes": JOBS}, "has no code '10115'"),
        ({"attribute": "income"}, "rule"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        build_hierarchy(DOMAIN, HierarchySpec(**options))
    with pytest.raises(InvalidInput, match="kind"):
        HierarchySpec(attribute="age", kind="guess")


def test_levels_that_no_one_confirmed_are_not_written_down():
    domain = Domain(attributes=[Categorical(name="zip", levels=["1"], derived=("levels",))])
    with pytest.raises(NotPublic):
        build_hierarchy(domain, HierarchySpec(attribute="zip", mask=(1,)))
