"""Public tables: read, matched by their labels, refused where they do not fit."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.collect.estimating.prior import Prior, plain_table
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[
        Categorical(name="sex", levels=["f", "m"]),
        Numeric(name="age", bounds=(0, 90), edges=(0, 30, 60, 90), integer=True),
    ]
)
SHARES = np.array([[0.1, 0.2, 0.3], [0.2, 0.15, 0.05]])
LABELS = DOMAIN["age"].all_labels


def csv_of(rows: list[str]) -> dict[str, str]:
    return {"csv": "\n".join(rows) + "\n"}


def test_counts_by_label_in_any_order_of_rows_and_columns():
    rows = [f"{round(1000 * SHARES[s, a])},{LABELS[a]},{'fm'[s]},x" for a in (2, 0, 1) for s in (1, 0)]
    prior = Prior.from_list(DOMAIN, [csv_of(["count,age,sex,note", *rows])])
    np.testing.assert_allclose(prior.tables[0].project(("sex", "age")).values, SHARES)
    assert prior.dependence() == pytest.approx(
        0.5 * np.abs(SHARES - np.outer(SHARES.sum(axis=1), SHARES.sum(axis=0))).sum()
    )


def test_rows_of_public_data_are_counted_and_numbers_are_put_into_bins():
    prior = Prior.from_list(DOMAIN, [csv_of(["age,sex", "12,f", "35,m", "70,m", "80,m"])])
    np.testing.assert_allclose(prior.tables[0].project(("age",)).values, [0.25, 0.25, 0.5])


def test_numbers_are_found_however_their_name_is_written():
    prior = Prior.from_list(DOMAIN, [csv_of(["Sex,sex, Count ", "x,f,10", "y,m,30"])])
    np.testing.assert_allclose(prior.tables[0].values, [0.25, 0.75])
    counting = Domain(attributes=[Categorical(name="count", levels=["one", "more"])])
    prior = Prior.from_list(counting, [csv_of(["count,share", "one,0.2", "more,0.8"])])
    np.testing.assert_allclose(prior.tables[0].values, [0.2, 0.8])


def test_all_tables_together_have_a_limit():
    wide = Domain(attributes=[Categorical(name=f"x{at}", levels=["n", "y"]) for at in range(19)])
    large = csv_of([",".join([*wide.names, "count"]), ",".join(["y"] * 19 + ["1"])])
    assert len(Prior.from_list(wide, [large]).tables) == 1
    with pytest.raises(InvalidInput, match="all tables together"):
        Prior.from_list(wide, [large, large])


def test_levels_are_matched_by_their_labels():
    plain = {"attributes": ["sex"], "levels": [["m", "f"]], "shares": [30, 70]}
    np.testing.assert_allclose(Prior.from_list(DOMAIN, [plain]).tables[0].values, [0.7, 0.3])
    other = Domain(attributes=[Categorical(name="sex", levels=["m", "f"]), Categorical(name="x", levels=["a", "b"])])
    wide = Cells(other, np.array([[1, 2], [3, 4]]))
    np.testing.assert_allclose(Prior.of(DOMAIN, [wide]).tables[0].values, [0.7, 0.3])
    again = Prior.from_list(DOMAIN, [plain_table(Cells(DOMAIN, SHARES))])
    np.testing.assert_allclose(again.tables[0].values, SHARES)


def test_files_of_every_kind(tmp_path):
    table = pa.table({"sex": ["f", "m"], "share": [0.6, 0.4]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("sex,share\nf,0.6\nm,0.4\n")
    design = plan_collection(DOMAIN, Workload.of(("sex", "age")), respondents=2000, epsilon=4.0, mode="tables")
    codes = {"sex": np.random.default_rng(1).integers(0, 2, 2000), "age": np.random.default_rng(2).integers(0, 3, 2000)}
    releases = Tally(design).add(respond(design, codes, SeededSource(1), seed=1)).releases()
    (tmp_path / "all.json").write_text(releases.to_json())
    (tmp_path / "one.json").write_text(releases["sex", "age"].to_json())
    prior = Prior.read(DOMAIN, *(tmp_path / name for name in ("t.parquet", "t.csv", "one.json")))
    for each in prior.tables[:2]:
        np.testing.assert_allclose(each.values, [0.6, 0.4])
    np.testing.assert_allclose(prior.tables[2].values, np.maximum(releases["sex", "age"].values, 0), atol=0.02)
    assert prior.simulated
    assert not Prior.read(DOMAIN, tmp_path / "t.csv").simulated
    assert Prior.from_list(DOMAIN, [json.loads(json.dumps(plain_table(releases)))]).simulated


@pytest.mark.parametrize(
    ("plain", "field"),
    [
        (csv_of(["town,count", "a,1"]), "prior[0]"),
        (csv_of(["sex,count", "f,1", "x,1"]), "prior.sex"),
        (csv_of(["sex,count", "f,-1", "m,1"]), "prior[0].count"),
        (csv_of(["sex,count", "f,many", "m,1"]), "prior[0].count"),
        (csv_of(["sex,count", "f,0", "m,0"]), "prior"),
        (csv_of(["sex,count", "f,1e308", "m,1e308"]), "prior[0].count"),
        (csv_of(["sex,count", "f,2026-01-01", "m,2026-01-02"]), "prior[0].count"),
        (csv_of(["sex,count", "f,true", "m,false"]), "prior[0].count"),
        (csv_of(["sex,count,share", "f,1,0.5", "m,1,0.5"]), "prior[0]"),
        (csv_of(["sex,sex,count", "f,f,1", "m,m,1"]), "prior[0].header"),
        (csv_of(["sex,count,count", "f,1,1", "m,1,1"]), "prior[0].header"),
        (csv_of(["sex,persons", "f,10", "m,30"]), "prior[0]"),
        (csv_of(["sex;count", "f;1", "m;1"]), "prior[0]"),
        ({"releases": [1, 2]}, "prior[0]"),
        ({"releases": "releases"}, "prior[0]"),
        (csv_of(["table,sex,estimate", "sex,f,0.5", "sex,m,0.5"]), "prior[0]"),
        ({"csv": ""}, "prior[0]"),
        ({"releases": {"tacita": "release/9"}}, "prior[0]"),
        ({"attributes": ["town"], "levels": [["a"]], "shares": [1]}, "prior[0].attributes"),
        ({"attributes": ["sex"], "levels": [["f", "m", "x"]], "shares": [1, 1, 1]}, "prior.sex"),
        ({"attributes": ["sex"], "levels": [["f", "m"]], "shares": [1, 1, 1]}, "prior[0]"),
        ({"attributes": ["sex", "sex"], "levels": [["f", "m"]] * 2, "shares": [1] * 4}, "prior[0]"),
    ],
)
def test_what_does_not_fit_is_refused(plain, field):
    with pytest.raises(InvalidInput) as refused:
        Prior.from_list(DOMAIN, [plain])
    assert refused.value.field == field


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("sex,count\nfé,1\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match="UTF-8"):
        Prior.read(DOMAIN, tmp_path / "latin.csv")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "null.json").write_text("null")
    for name in ("deep.json", "null.json"):
        with pytest.raises(InvalidInput, match="prior"):
            Prior.read(DOMAIN, tmp_path / name)
    for name in ("a.xlsx", "missing.csv"):
        with pytest.raises(InvalidInput, match="prior"):
            Prior.read(DOMAIN, tmp_path / name)
    with pytest.raises(InvalidInput, match="has no attribute of the collection"):
        Prior.of(DOMAIN, [Cells(Domain(attributes=[Categorical(name="x", levels=["a", "b"])]), np.ones(2))])


def test_margins_within_some_attributes():
    both = Prior.of(DOMAIN, [Cells(DOMAIN, SHARES), Cells(DOMAIN.project(["sex"]), np.array([0.5, 0.5]))])
    (largest,) = both.margins_of(["sex", "age"], largest=True)
    np.testing.assert_allclose(largest.values, SHARES, atol=1e-5)
    singles = both.margins_of(["sex", "age"], largest=False)
    assert {table.attributes for table in singles} == {("sex",), ("age",)}
    assert both.margins_of(["town"], largest=True) == []
    assert Prior.of(DOMAIN, [Cells(DOMAIN.project(["sex"]), np.ones(2))]).dependence() is None
