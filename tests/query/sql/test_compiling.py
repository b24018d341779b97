import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.sql import compile_sql
from tacita.query.where import AllOf, OneOf


def test_a_query_is_a_recipe(engine):
    found = compile_sql(
        """SELECT region, COUNT(*) AS n, COUNT(income), SUM(income), AVG(Income) AS m, VAR_POP(income),
                  STDDEV_POP(income), MEDIAN(age), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS p90
           FROM people WHERE age BETWEEN 18 AND 64 AND region IN ('north', 'west') GROUP BY region""",
        engine.domain,
    )
    columns = [("count", "income"), ("sum", "income")]
    assert [item.heading for item in found.stage.items] == [
        "region",
        "n",
        "COUNT(income)",
        "SUM(income)",
        "m",
        "VAR_POP(income)",
        "STDDEV_POP(income)",
        "MEDIAN(age)",
        "p90",
    ]
    assert found.measured == Aggregates(
        aggregates=[
            Aggregate(kind="count"),
            *(Aggregate(kind=kind, column=column) for kind, column in columns),
            Aggregate(kind="mean", column="income"),
            Aggregate(kind="var", column="income"),
            Aggregate(kind="std", column="income"),
            Aggregate(kind="median", column="age"),
            Aggregate(kind="quantile", column="age", q=0.9),
        ],
        by=["region"],
        where=AllOf((AllOf((OneOf("age", (1, 2)), OneOf("age", (0, 1)))), OneOf("region", (0, 2)))),
    )


CONDITIONS = {
    "age >= 18": lambda r: r["age"] >= 18,
    "18 <= age": lambda r: r["age"] >= 18,
    "NOT age < 18": lambda r: r["age"] >= 18,
    "age NOT BETWEEN 18 AND 64": lambda r: not 18 <= r["age"] <= 64,
    "smokes": lambda r: r["smokes"] is True,
    "NOT (smokes)": lambda r: r["smokes"] is False,
    "smokes = FALSE OR region = 'north'": lambda r: r["smokes"] is False or r["region"] == "north",
    "region <> 'north' AND NOT (smokes OR age >= 65)": lambda r: (
        r["region"] != "north" and r["smokes"] is False and r["age"] < 65
    ),
    "region NOT IN ('north', 'south')": lambda r: r["region"] == "west",
    "income IS NULL": lambda r: r["income"] is None,
    "income IS NOT NULL": lambda r: r["income"] is not None,
    "NOT income IS NULL": lambda r: r["income"] is not None,
    "income < 50": lambda r: r["income"] is not None and r["income"] < 50,
    "income >= -10": lambda r: r["income"] is not None and r["income"] >= -10,
    "pain > 'none'": lambda r: r["pain"] != "none",
    "seen >= DATE '2020-07-01'": lambda r: str(r["seen"]) >= "2020-07-01",
    "seen < '2020-03-01'": lambda r: str(r["seen"]) < "2020-03-01",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_pick_the_rows_that_they_say(engine, people, condition):
    recipe = compile_sql(f"SELECT COUNT(*) FROM people WHERE {condition}", engine.domain)
    plan = recipe.calibrate(engine.domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    looked_at = recipe.measured.where.attributes
    placed = [r for r in people.to_pylist() if "region" not in looked_at or r["region"] != "elsewhere"]
    wanted = sum(CONDITIONS[condition](row) for row in placed)
    assert plan.plan.exact(engine)[0][0, 0] == wanted * plan.plan.measures[0].steps


def test_it_runs(engine, people):
    recipe = compile_sql("SELECT region, AVG(income) AS m FROM people GROUP BY region", engine.domain)
    plan = recipe.calibrate(engine.domain, Budget.pure(1000.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    answer = plan.run(engine, SeededSource(1))
    regions = people["region"].to_numpy(zero_copy_only=False)
    incomes = np.clip(people["income"].to_numpy(zero_copy_only=False), -20, 100)
    for at, (region,) in enumerate(answer.groups):
        assert answer["m"].value[at] == pytest.approx(np.nanmean(incomes[regions == region]), abs=0.05)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT MAX(income) FROM t", "MAX(income)"),
        ("SELECT MIN(age) FROM t", "MIN(age)"),
        ("SELECT * FROM t", "*"),
        ("SELECT income FROM t", "income"),
        ("SELECT region, COUNT(*) FROM t", "region"),
        ("SELECT region FROM t GROUP BY region", "at least one aggregate"),
        ("SELECT COUNT(*) FROM t, u", "u"),
        ("SELECT COUNT(*) FROM t JOIN u ON true", "JOIN"),
        ("SELECT COUNT(*)", "FROM one table"),
        ("SELECT COUNT(*) FROM pg_read_file('x')", "PG_READ_FILE"),
        ("SELECT COUNT(DISTINCT region) FROM t", "DISTINCT"),
        ("SELECT DISTINCT COUNT(*) FROM t", "DISTINCT"),
        ("SELECT SUM(DISTINCT income) FROM t", "DISTINCT"),
        ("SELECT COUNT(region, age) FROM t", "age"),
        ("SELECT COUNT(*) OVER () FROM t", "OVER"),
        ("SELECT pg_sleep(3) FROM t", "PG_SLEEP"),
        ("SELECT string_agg(region, ',') FROM t", "STRING_AGG"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "FROM"),
        ("SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t", "UNION"),
        ("SELECT COUNT(*) INTO x FROM t", "INTO"),
        ("SELECT COUNT(*) FROM t FOR UPDATE", "FOR UPDATE"),
        ("SELECT COUNT(*) FROM t GROUP BY age / 2", "age / 2"),
        ("SELECT COUNT(*) FROM t GROUP BY ROLLUP (region)", "ROLLUP"),
        ("SELECT COUNT(*) FROM t; DROP TABLE t", "one statement"),
        ("DROP TABLE t", "DROP TABLE t"),
        ("", "one statement"),
        ("SELECT (", "cannot be read"),
        ("SELECT COUNT(*) FROM t WHERE " + "(" * 3000 + "smokes" + ")" * 3000, "cannot be read"),
        ("SELECT COUNT(*) FROM t WHERE " + "smokes AND " * 2000 + "smokes", "at most"),
        ("SELECT COUNT(*) FROM t WHERE age > (SELECT 3)", "SELECT 3"),
        ("SELECT COUNT(*) FROM t WHERE age BETWEEN SYMMETRIC 64 AND 18", "SYMMETRIC"),
        ("SELECT COUNT(*) FROM t WHERE income IS TRUE", "IS TRUE"),
        ("SELECT COUNT(*) FROM t WHERE income > 15", "cuts a bin"),
        ("SELECT COUNT(*) FROM t WHERE 1 = 1", "attribute"),
        ("SELECT COUNT(*) FROM t WHERE region = 'x'' OR 1=1'", "declared level"),
        ('SELECT COUNT(*) FROM t WHERE "age; DROP" = 1', "age; DROP"),
        ('SELECT SUM("INCOME") FROM t', "INCOME"),
        ("SELECT PERCENTILE_CONT(1.5) WITHIN GROUP (ORDER BY age) FROM t", "strictly between"),
        ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age DESC) FROM t", "DESC"),
    ],
)
def test_what_is_outside_the_subset_is_refused_by_name(engine, text, named):
    with pytest.raises(InvalidInput) as refused:
        compile_sql(text, engine.domain)
    assert named in str(refused.value)
