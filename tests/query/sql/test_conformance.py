"""Every query of conformance.yaml: accepted ones against DuckDB, refused ones by the clause or rule that they name."""

import datetime as dt
import math
import random
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import yaml
from tests.query.sql import world

from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, TacitaError
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Answer
from tacita.query.joined import Joined
from tacita.query.sql import compile_sql, tables_of

FILE = yaml.safe_load((Path(__file__).parent / "conformance.yaml").read_text())
ACCEPTED = [each if isinstance(each, dict) else {"sql": each} for part in FILE["accepted"].values() for each in part]
REFUSED = [each for part in FILE["refused"].values() for each in part]
# about 1,500 numbers are compared, each with an interval that misses with this probability: 1e-7 in all
LEVEL = 1 - 1e-10
BUDGETS = {"pure": Budget.pure(900.0), "keys": Budget.approx(900.0, 1e-9)}
UNIT = Unit.of_person("who", max_rows=world.MOST)


@pytest.fixture(scope="module")
def data():
    return {"people": world.people(), "visits": world.visits(), "patients": world.patients()}


@pytest.fixture(scope="module")
def engines(data):
    made = {
        "people": LocalEngine(world.PEOPLE, data["people"]),
        "visits": LocalEngine(world.VISITS, data["visits"]),
        "patients": LocalEngine(world.PATIENTS, data["patients"]),
    }
    return made | {"both": Joined(one=made["visits"], two=made["patients"], unit=UNIT)}


@pytest.fixture(scope="module")
def duck(data):
    connection = duckdb.connect()
    for name, table in data.items():
        connection.register(name, table)
    for dimension in world.DIMENSIONS:
        connection.register(dimension.name, pa.table(dict(dimension.columns)))
    return connection


def asked(sql, engines):
    """The engine that a query is for, and its recipe."""
    names = tables_of(sql)
    private = [name for name in names if name in ("people", "visits", "patients")]
    joined = len(private) > 1
    engine = engines["both" if joined else names[0] if names[0] in engines else "people"]
    parts = {name: frozenset(engines[name].domain.names) for name in private} if joined else {}
    query = compile_sql(sql, engine.domain, level=LEVEL, dimensions=world.DIMENSIONS, joined=parts)
    return engine, query


def same(label, value):
    """Whether a label is DuckDB's value."""
    if value is None:
        return label == "(missing)"
    if isinstance(value, bool):
        return label == str(value).lower()
    if isinstance(value, int | float):
        return float(label) == pytest.approx(float(value))
    return label == (value.isoformat() if isinstance(value, dt.date) else str(value))


def check(answer, found, headings, *, ordered, empty, loose):
    assert list(answer.headings) == headings or [h.lower() for h in answer.headings] == [h.lower() for h in headings]
    labels = [headings.index(h) for h in headings if h.lower() in [by.lower() for by in answer.by]]
    places = {tuple(group): row for row, group in enumerate(answer.groups)}
    assert len(found) + empty == len(answer.groups)
    for at, row in enumerate(found):
        if ordered or not answer.by:
            place = at
            assert all(same(label, row[i]) for label, i in zip(answer.groups[at], labels, strict=True))
        else:
            matches = [
                place
                for group, place in places.items()
                if all(same(label, row[i]) for label, i in zip(group, labels, strict=True))
            ]
            assert len(matches) == 1, (row, places)
            place = matches[0]
        for i, heading in enumerate(answer.headings):
            if i in labels:
                continue
            column, truth = answer[heading], float(row[i])
            low, high = column.low[place], column.high[place]
            if loose:
                assert column.value[place] == pytest.approx(truth, abs=2)
                continue
            slack = 1e-4 * (1 + abs(truth))  # rounding to the grid, which intervals of sums do not hold
            assert low - slack <= truth <= high + slack, (heading, truth, low, high)
            assert high - low <= 0.1 * (1 + abs(truth)) + 4, (heading, truth, low, high)


@pytest.mark.parametrize("each", ACCEPTED, ids=[each["sql"] for each in ACCEPTED])
def test_accepted_queries_agree_with_duckdb_within_their_stated_error(each, engines, duck):
    engine, query = asked(each["sql"], engines)
    unit = UNIT if engine.domain.person else Unit.row()
    budget = BUDGETS["keys" if query.measured.keys else "pure"]
    plan = query.calibrate(engine.domain, budget, unit=unit, neighbours=Neighbours.ADD_REMOVE)
    answer = plan.run(engine, SeededSource(5))
    result = duck.sql(each.get("duck", each["sql"]))
    loose = each.get("intervals") == "open"
    ordered = bool((query.outer or query).stage.order)
    check(answer, result.fetchall(), result.columns, ordered=ordered, empty=each.get("empty", 0), loose=loose)
    unbounded = [c for c in answer.columns.values() if any(math.isinf(x) for x in c.low)]
    assert not unbounded or loose


@pytest.mark.parametrize("each", REFUSED, ids=[each["sql"] for each in REFUSED])
def test_refused_queries_name_the_clause_or_the_rule(each, engines):
    assert each["leak"]
    with pytest.raises(InvalidInput) as refused:
        engine, query = asked(each["sql"], engines)
        unit = UNIT if engine.domain.person else Unit.row()
        query.calibrate(engine.domain, BUDGETS["keys"], unit=unit, neighbours=Neighbours.ADD_REMOVE)
    assert each["names"] in str(refused.value)


def test_the_file_has_two_hundred_queries():
    assert len(ACCEPTED) + len(REFUSED) >= 200
    texts = [each["sql"] for each in ACCEPTED + REFUSED]
    assert len(set(texts)) == len(texts)


def test_changed_queries_are_answered_or_refused_but_never_break(engines):
    """Names, functions, operators and numbers of the file's queries are exchanged at random."""
    rng = random.Random(3)
    kinds = [
        ["income", "region", "town", "age", "kids", "smokes", "pain", "seen", "who", "code", "ward", "cost", "n", "m"],
        [
            "SUM",
            "AVG",
            "COUNT",
            "MEDIAN",
            "ABS",
            "ROUND",
            "FLOOR",
            "SQRT",
            "LN",
            "EXP",
            "LEAST",
            "NULLIF",
            "UPPER",
            "MAX",
        ],
        ["+", "-", "*", "/", "%", "<", ">", "=", "AND", "OR", "LIKE"],
        ["0", "1", "2", "1.5", "1e400", "NULL", "TRUE", "'a'", "1e300", "1e-320", "100000000000000000000", "kids"],
    ]
    answered = 0
    for _ in range(1500):
        words = re.findall(r"'[^']*'|\w+|[^\w\s]", rng.choice(ACCEPTED + REFUSED)["sql"])
        for at in rng.choices(range(len(words)), k=rng.randint(1, 5)):
            kind = 3 if words[at].isdigit() else next((i for i, held in enumerate(kinds) if words[at] in held), None)
            words[at] = words[at] if kind is None else rng.choice(kinds[kind])
        try:
            engine, query = asked(" ".join(words), engines)
            unit = UNIT if engine.domain.person else Unit.row()
            plan = query.calibrate(engine.domain, Budget.pure(5.0), unit=unit, neighbours=Neighbours.ADD_REMOVE)
        except TacitaError:
            continue
        answer = plan.run(engine, SeededSource(1))  # what was planned is answered
        assert Answer.from_json(answer.to_json()).to_arrow().num_rows == len(answer.groups)
        answered += 1
    assert answered > 200
