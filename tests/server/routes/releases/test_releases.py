"""Anonymized releases over HTTP: what an owner allows, and no more."""

from __future__ import annotations

import io
import itertools
import json
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from tacita.report.statement import Statement, verify

SCHEMA: dict[str, Any] = {
    "tacita": 1,
    "attributes": [
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ],
}

POLICY = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 2.0, "several": True}
PATH = "/v1/datasets/patients/policy"


def policy(world, **changes: Any) -> Any:
    return world.call("PUT", PATH, token=world.token("steward"), json=POLICY | changes)


def make(world, token: str, **changes: Any) -> Any:
    body = {"dataset": "patients", "k": 5} | changes
    return world.call("POST", "/v1/releases/anonymized", token=token, json=body)


@pytest.fixture
def buyer(world) -> str:
    world.register()
    assert policy(world).status_code == 200
    return world.token("analyst")


def test_from_policy_to_rows(world, buyer) -> None:
    submitted = make(world, buyer)
    assert submitted.status_code == 202, submitted.text
    place = submitted.headers["location"]
    assert world.call("GET", place, token=buyer).status_code == 409
    world.work()
    known = world.call("GET", place, token=buyer).json()
    assert (known["guarantee"], known["achieved"]["k"] >= 5, known["columns"]) == ("none", True, ["age", "smokes"])
    rows = {}
    for format, read in (
        ("csv", lambda data: pacsv.read_csv(io.BytesIO(data))),
        ("parquet", lambda data: pq.read_table(io.BytesIO(data))),
        ("arrow", lambda data: pyarrow.ipc.open_stream(data).read_all()),
        ("ndjson", lambda data: pa.json.read_json(io.BytesIO(data))),
    ):
        response = world.call("GET", f"{place}/rows?format={format}", token=buyer)
        assert response.status_code == 200, response.text
        rows[format] = read(response.content)
    assert {table.num_rows for table in rows.values()} == {known["rows"]}
    sizes = rows["csv"].group_by("age").aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(sizes) >= 5
    assert world.call("DELETE", place, token=buyer).status_code == 200
    assert world.call("GET", f"{place}/rows", token=buyer).status_code == 409


def test_anonymized_rows_have_a_signed_statement_that_claims_no_more_than_holds(world, buyer, tmp_path) -> None:
    place = make(world, buyer).headers["location"]
    world.work()
    text = world.call("GET", f"{place}/statement", token=buyer).text
    statement = Statement.from_json(text)
    (tmp_path / "rows.parquet").write_bytes(world.call("GET", f"{place}/rows?format=parquet", token=buyer).content)
    assert all(check.good for check in verify(statement, files={"rows.parquet": tmp_path / "rows.parquet"}))
    assert (statement.guarantee, statement.epsilon, statement.unit) == ("none", None, "row")
    assert statement.mechanism["asked"]["k"] == 5
    assert "k 5" in statement.not_protected[0]
    assert world.call("GET", f"{place}/statement", token=buyer).text == text  # the same however often it is asked for
    assert world.call("DELETE", place, token=buyer).status_code == 200
    assert world.call("GET", f"{place}/statement", token=buyer).status_code == 409


def test_a_release_belongs_to_who_asked_for_it(world, buyer) -> None:
    place = make(world, buyer).headers["location"]
    world.work()
    other = world.token("analyst")
    for path in (place, f"{place}/rows"):
        assert world.call("GET", path, token=other).status_code == 404
    assert world.call("DELETE", place, token=other).status_code == 404
    assert world.call("GET", place, token=world.token("admin")).status_code == 200


def test_nothing_leaves_without_a_policy(world) -> None:
    world.register()
    refused = make(world, world.token("analyst"))
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "wish",
    [
        {"k": 2},
        {"suppress": 0.5},
        {"columns": ["name"]},
        {"columns": []},
        {"quasi": []},
        {"keep": ["age"]},
        {"whitelist": ["age"]},
        {"k": 0},
        {"k": "5"},
        {"l": 0.5},
        {"t": 2},
    ],
)
def test_a_buyer_cannot_go_less_far(world, buyer, wish) -> None:
    assert make(world, buyer, **wish).status_code in (403, 404, 422)


def test_no_combination_of_parameters_gives_a_raw_column(world, buyer) -> None:
    """By enumeration: whatever a buyer may say, every value of `age` that leaves is shared by k rows."""
    choices = {
        "k": [5, 7, 50],
        "columns": [None, ["age"], ["smokes"], ["age", "smokes"]],
        "l": [None, 1, 2],
        "t": [None, 0.9],
        "suppress": [None, 0.0],
    }
    exact = {str(age) for age in range(90)}
    for values in itertools.product(*choices.values()):
        wish = dict(zip(choices, values, strict=True))
        submitted = make(world, buyer, **wish)
        if submitted.status_code != 202:
            continue
        world.work()
        rows = world.call("GET", f"{submitted.headers['location']}/rows", token=buyer)
        if rows.status_code != 200:
            continue
        table = pacsv.read_csv(io.BytesIO(rows.content))
        assert set(table.column_names) <= {"age", "smokes"}
        if "age" in table.column_names:
            sizes = table.group_by("age").aggregate([([], "count_all")]).to_pylist()
            assert all(each["count_all"] >= wish["k"] for each in sizes)
            assert not {str(each["age"]) for each in sizes} <= exact or wish["k"] <= 13  # 1,234 rows of 90 ages


def test_a_plan_reads_nothing(world, buyer) -> None:
    body = {"dataset": "patients", "k": 9, "columns": ["age"]}
    plan = world.call("POST", "/v1/releases/anonymized/plan", token=buyer, json=body).json()
    assert plan == {
        "columns": ["age"],
        "generalised": ["age"],
        "conditions": {"k": 9, "l": 2.0, "l_kind": "distinct"},
        "warnings": [],
    }


def test_more_people_than_there_are(world, buyer) -> None:
    place = make(world, buyer, k=5000).headers["location"]
    world.work()
    refused = world.call("GET", place, token=buyer)
    assert (refused.status_code, refused.json()["field"]) == (422, "k")
    assert "1234" in refused.json()["hint"]


@pytest.mark.parametrize(
    "changes",
    [
        {"quasi": []},
        {"quasi": ["nothing"]},
        {"keep": ["age"]},
        {"k": 1},
        {"hierarchies": {"smokes": [["never", "*"]]}},
        {"l": 2.0, "sensitive": []},
        {"unknown": 1},
    ],
)
def test_bad_policies(world, changes) -> None:
    world.register()
    assert policy(world, **changes).status_code in (404, 422)


def test_only_stewards_set_policies(world, buyer) -> None:
    assert world.call("PUT", PATH, token=buyer, json=POLICY).status_code == 403
    assert world.call("GET", PATH, token=buyer).json()["k"] == 5


def test_the_same_key_is_the_same_release(world, buyer) -> None:
    body = {"dataset": "patients", "k": 5}
    two = [
        world.call("POST", "/v1/releases/anonymized", token=buyer, json=body, headers={"Idempotency-Key": "a"})
        for _ in range(2)
    ]
    assert two[0].json()["id"] == two[1].json()["id"]


# -- files that are sent ---------------------------------------------------------------------------------------------

ROWS = "smokes,age\n" + "\n".join(f"{'daily' if i % 3 == 0 else 'never'},{i % 40}" for i in range(400)) + "\n"


def send(
    world, data: bytes, options: str = '{"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 1}', **form: Any
) -> Any:
    parts = {"schema": json.dumps(SCHEMA), "options": options} | form
    return world.call("POST", "/v1/anonymize", token=world.token("steward"), files={"file": ("x", data)}, data=parts)


def test_a_file_in_and_rows_out(world) -> None:
    response = send(world, ROWS.encode())
    assert response.status_code == 200, response.text
    table = pacsv.read_csv(io.BytesIO(response.content))
    assert min(table.group_by("age").aggregate([([], "count_all")])["count_all"].to_pylist()) >= 5
    out = io.BytesIO()
    pq.write_table(pacsv.read_csv(io.BytesIO(ROWS.encode())), out)
    assert send(world, out.getvalue()).content == response.content
    assert json.loads(response.headers["x-tacita-release"])["k"] >= 5


@pytest.mark.parametrize(
    ("data", "form", "status"),
    [
        (b"PAR1 but no more", {}, 422),
        (ROWS.encode(), {"options": "{"}, 422),
        (ROWS.encode(), {"options": '{"quasi": ["age"]}'}, 422),
        (ROWS.encode(), {"options": '{"quasi": ["age"], "k": 5, "raw": true}'}, 422),
        (ROWS.encode(), {"options": '{"quasi": ["age"], "k": 5000}'}, 422),
        (ROWS.encode(), {"schema": "{"}, 422),
        (ROWS.encode(), {"format": "xml"}, 422),
        (b"other\n1\n", {}, 422),
    ],
)
def test_files_that_cannot_be_used(world, data, form, status) -> None:
    response = send(world, data, **form)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_a_file_that_unrolls_is_refused_before_it_fills_the_memory(world_of) -> None:
    world = world_of(max_upload_bytes=1 << 20)
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), pa.array(["x" * 1_000_000]))
    out = io.BytesIO()
    pq.write_table(pa.table({"smokes": words, "age": [1] * 5000}), out, store_schema=False, compression="zstd")
    before = pa.default_memory_pool().max_memory()
    answer = send(world, out.getvalue())
    assert (answer.status_code, answer.json()["field"]) == (422, "file")
    assert f"at most {8 << 20} bytes" in answer.json()["rule"]
    assert "max_upload_bytes" in answer.json()["hint"]
    assert pa.default_memory_pool().max_memory() - before < 400 << 20  # of five gigabytes
    (line,) = world.services.events.list(kind="file-anonymized")
    assert line.detail["outcome"] == "invalid-input"


def test_only_the_owner_sends_files_and_only_there(world) -> None:
    files = {"file": ("x", ROWS.encode())}
    assert world.call("POST", "/v1/anonymize", token=world.token("analyst"), files=files).status_code == 403
    assert world.call("POST", "/v1/tokens", token=world.token("admin"), files=files).status_code == 415


def test_presence_in_a_policy(world) -> None:
    """Delta-presence: the rows of one part are released, and the others are the population."""
    rows = "".join(
        f"{i % 50},{'daily' if i % 3 else 'never'},{'true' if i % 5 == 0 else 'false'}\n" for i in range(500)
    )
    schema = SCHEMA | {"attributes": [*SCHEMA["attributes"], {"name": "here", "kind": "boolean"}]}
    options = {"quasi": ["age"], "sensitive": [], "k": 3, "presence": [0.1, 0.4], "part": "here"}

    def sent(**changes: Any) -> Any:
        form = {"schema": json.dumps(schema), "options": json.dumps(options | changes)}
        files = {"file": ("p.csv", "age,smokes,here\n" + rows)}
        return world.call("POST", "/v1/anonymize", token=world.token("steward"), data=form, files=files)

    answer = sent()
    assert answer.status_code == 200, answer.text
    least, most = json.loads(answer.headers["x-tacita-release"])["presence"]
    assert 0.1 <= least <= most <= 0.4
    assert len(answer.text.splitlines()) == 101
    assert sent(part=None).status_code == 422
    assert sent(presence=[0.9, 0.95]).status_code == 422


def test_a_second_release_is_warned_of(world, buyer) -> None:
    other = world.token("analyst")
    first, same, second = make(world, buyer), make(world, other, columns=["age"]), make(world, other, k=40)
    world.work()
    known = [
        world.call("GET", each.headers["location"], token=token).json()["warnings"]
        for each, token in ((first, buyer), (same, other), (second, other))
    ]
    work_order = sorted(known, key=len)
    assert work_order[0] == []
    assert any("intersected" in warning for warnings in known for warning in warnings)


def test_only_those_who_agreed_leave(world_of, tmp_path) -> None:
    lines = "\n".join(f"p{i},{'daily' if i % 3 else 'never'},{i % 40}" for i in range(400))
    (tmp_path / "persons.csv").write_text(f"person,smokes,age\n{lines}\n")
    agreed = "\n".join(f"p{i},release,yes,2020-01-01," for i in range(0, 400, 2))
    (tmp_path / "consent.csv").write_text(f"person,purpose,answer,since,until\n{agreed}\n")
    source = {"path": tmp_path / "persons.csv", "consent": tmp_path / "consent.csv"}
    world = world_of(sources={"persons": source}, data_folders=(tmp_path,))
    attributes = [{"kind": "identifier", "name": "person"}, *SCHEMA["attributes"]]
    schema = {"tacita": 1, "person": "person", "attributes": attributes}
    made = world.register("persons", source="persons", schema=schema, unit="person:person:1")
    assert made.status_code == 201, made.text
    path = "/v1/datasets/persons/policy"
    assert world.call("PUT", path, token=world.token("steward"), json=POLICY).status_code == 200
    token = world.token("analyst")
    place = make(world, token, dataset="persons").headers["location"]
    world.work()
    assert world.call("GET", place, token=token).json()["rows"] == 200
    refused = make(world, token, dataset="persons", purpose="marketing")
    world.work()
    found = world.call("GET", refused.headers["location"], token=token)
    assert found.status_code in (403, 404, 422), found.text


def test_other_classes_leave_only_if_the_owner_says_so(world) -> None:
    world.register()
    assert policy(world, several=False).status_code == 200
    one, two = world.token("analyst"), world.token("analyst")
    assert make(world, one).status_code == 202
    world.work()
    same = make(world, two, columns=["age"]).headers["location"]
    other = make(world, two, k=40).headers["location"]
    world.work()
    assert world.call("GET", same, token=two).status_code == 200
    refused = world.call("GET", other, token=two)
    assert (refused.status_code, "intersect" in refused.text) == (403, True)
    history = world.call("GET", "/v1/datasets/patients/releases", token=world.token("steward")).json()
    assert [each["attributes"] for each in history] == [["age", "smokes"], ["age"]]
    assert world.call("GET", "/v1/datasets/patients/releases", token=one).status_code == 403


def test_a_buyer_learns_no_other_buyers_name(world, buyer) -> None:
    world.services.tokens.issue(name="Acme", role="analyst")
    rival = world.services.tokens.issue(name="Rival", role="analyst").text
    make(world, rival)
    place = make(world, buyer, k=40).headers["location"]
    world.work()
    assert "Rival" not in world.call("GET", place, token=buyer).text


def test_nothing_of_a_row_that_stays_is_in_the_bytes(world_of, tmp_path) -> None:
    """A dictionary holds the values of all rows; only those that leave may be in the file."""
    ages, towns = [i % 4 for i in range(80)] + [77], ["a", "b"] * 40 + ["SECRETVALUE"]
    table = pa.table({"age": ages, "town": pa.array(towns).dictionary_encode()})
    pq.write_table(table, tmp_path / "towns.parquet")
    world = world_of(sources={"towns": {"path": tmp_path / "towns.parquet"}}, data_folders=(tmp_path,))
    attributes = [
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
        {"name": "town", "kind": "categorical", "levels": ["a", "b", "SECRETVALUE"]},
    ]
    schema = {"tacita": 1, "attributes": attributes}
    assert world.register("towns", source="towns", schema=schema).status_code == 201
    path, rules = "/v1/datasets/towns/policy", {"quasi": ["age"], "keep": ["town"], "k": 5, "suppress": 0.1}
    assert world.call("PUT", path, token=world.token("steward"), json=rules).status_code == 200
    token = world.token("analyst")
    for columns in (None, ["town"]):
        place = make(world, token, dataset="towns", columns=columns).headers["location"]
        world.work()
        for format in ("csv", "ndjson", "arrow", "parquet"):
            response = world.call("GET", f"{place}/rows?format={format}", token=token)
            assert response.status_code == 200, response.text
            assert b"SECRETVALUE" not in response.content


def test_texts_that_look_like_numbers_stay_texts(world) -> None:
    rows = "zip,n\n" + "".join("01234,1\n1234,2\n" for _ in range(10))
    levels = [{"name": "zip", "kind": "categorical", "levels": ["01234", "1234"]}]
    levels += [{"name": "n", "kind": "categorical", "levels": ["1", "2"]}]
    schema = json.dumps({"tacita": 1, "attributes": levels})
    options = '{"quasi": ["n"], "keep": ["zip"], "k": 5}'
    response = send(world, rows.encode(), options, schema=schema)
    assert b"01234" in response.content, response.text
    assert send(world, b"age,age\n1,2\n").status_code == 422


def test_l_of_a_sensitive_attribute_is_chosen_and_its_absence_is_said(world) -> None:
    world.register()
    owner, buyer = world.token("steward"), world.token("analyst")
    bare = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5}
    refused = world.call("PUT", "/v1/datasets/patients/policy", token=owner, json=bare)
    assert refused.status_code == 422
    assert "l of 1 releases them without diversity" in refused.json()["rule"]
    assert send(world, b"smokes,age\n", options=json.dumps(bare)).status_code == 422
    for chosen, warned in (({"l": 1.0}, True), ({"l": 2.0}, False), ({"t": 0.5}, False)):
        put = world.call("PUT", "/v1/datasets/patients/policy", token=owner, json=bare | chosen | {"several": True})
        assert put.status_code == 200, put.text
        body = {"dataset": "patients", "k": 5}
        plan = world.call("POST", "/v1/releases/anonymized/plan", token=buyer, json=body).json()
        assert bool(plan["warnings"]) is warned
        job = world.call("POST", "/v1/releases/anonymized", token=buyer, json=body)
        world.work()
        found = world.call("GET", job.headers["location"], token=buyer).json()
        assert any("smokes is sensitive and l is 1" in each for each in found["warnings"]) is warned


def test_a_workbook_has_a_limit(world, monkeypatch):
    from tacita.server.releasing import answers

    world.register()
    token = world.token("analyst")
    body = {"dataset": "patients", "budget": {"epsilon": 0.5}, "rows": 30}
    place = world.call("POST", "/v1/releases/synthetic", token=token, json=body).headers["location"]
    world.work()
    monkeypatch.setattr(answers, "_MOST_IN_WORKBOOK", 20)
    refused = world.call("GET", f"{place}/rows?format=xlsx", token=token)
    assert (refused.status_code, refused.json()["field"]) == (422, "format")
    assert world.call("GET", f"{place}/rows?format=xlsx&limit=20", token=token).content[:2] == b"PK"
