import io

import anyio.to_thread
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.hostile_files import ABORTS, bomb, footer_with_fewer_rows

from tacita.domain import Domain
from tacita.server.data.sources import Sources

CSV = b"town,age\nBari,30\nPisa,40\n"


def put(world, name, content=CSV, media="text/csv", **parts):
    token = parts.pop("token", None) or world.token("steward")
    return world.call("PUT", f"/v1/sources/{name}", token=token, content=content, headers={"Content-Type": media})


def register(world, source, name="towns"):
    schema = {"tacita": 1, "attributes": [{"name": "town", "kind": "categorical", "levels": ["Bari", "Pisa"]}]}
    return world.register(name, source=source, schema=schema)


def test_a_file_becomes_a_source_and_a_dataset(world_of):
    world = world_of()
    assert put(world, "towns").status_code == 200
    told = world.call("GET", "/v1/sources", token=world.token("steward")).json()
    assert told == [
        {"name": "patients", "kind": "file", "brought": False, "dataset": None},
        {"name": "towns", "kind": "file", "brought": True, "dataset": None},
    ]
    assert register(world, "towns").status_code == 201
    answer = world.call(
        "POST",
        "/v1/datasets/towns/query",
        token=world.token("analyst"),
        json={"tables": [["town"]], "budget": {"epsilon": 1.0}},
    )
    assert answer.status_code == 200


def test_parquet_comes_too(world_of):
    world = world_of()
    out = io.BytesIO()
    pq.write_table(pa.table({"town": ["Bari"]}), out)
    assert put(world, "towns", out.getvalue(), "application/vnd.apache.parquet").status_code == 200
    assert register(world, "towns").status_code == 201


def test_nobody_can_fetch_it_back(world_of):
    world = world_of()
    put(world, "towns")
    for method in ("GET", "HEAD"):
        assert world.call(method, "/v1/sources/towns", token=world.token()).status_code == 405


def test_a_draft_is_for_stewards_and_marks_all_as_private(world_of):
    world = world_of()
    put(world, "towns")
    draft = world.call("GET", "/v1/sources/towns/draft", token=world.token("steward")).json()
    assert [attribute["name"] for attribute in draft["attributes"]] == ["town", "age"]
    assert all(attribute["derived"] for attribute in draft["attributes"])
    refused = world.register("towns", source="towns", schema=draft)
    assert refused.json()["code"] == "not-public"
    assert world.call("GET", "/v1/sources/towns/draft", token=world.token("analyst")).status_code == 403
    assert world.call("GET", "/v1/sources", token=world.token("analyst")).status_code == 403
    scoped = world.token("steward", datasets=["others"])
    assert world.call("GET", "/v1/sources/towns/draft", token=scoped).status_code == 403
    assert world.call("GET", "/v1/sources", token=scoped).json() == []


def test_a_dataset_keeps_its_rows(world_of):
    world = world_of()
    put(world, "towns")
    assert put(world, "towns", CSV + b"Bari,9\n").status_code == 200  # until it is registered
    register(world, "towns")
    for answer in (
        put(world, "towns", b"town\nRoma\n"),
        world.call("DELETE", "/v1/sources/towns", token=world.token("steward")),
    ):
        assert answer.status_code == 409
        assert "towns" in answer.json()["rule"]


def test_the_same_bytes_under_another_name_are_refused(world_of):
    world = world_of()
    put(world, "towns")
    again = put(world, "cities")
    assert again.status_code == 409
    assert again.json()["rule"] == "is the same file as another source"
    assert put(world, "towns").status_code == 200  # itself again is no other


def test_removing_what_was_brought_and_nothing_else(world_of):
    world = world_of()
    put(world, "towns")
    steward = world.token("steward")
    assert world.call("DELETE", "/v1/sources/towns", token=steward).status_code == 200
    assert world.call("DELETE", "/v1/sources/towns", token=steward).status_code == 404
    assert world.call("DELETE", "/v1/sources/patients", token=steward).status_code == 404


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b"", "text/csv", 422),
        (b"no parquet", "application/vnd.apache.parquet", 422),
        (b"PAR1" + b"\x99" * 60 + b"\x20\x00\x00\x00PAR1", "application/vnd.apache.parquet", 422),
        (CSV, "application/json", 422),
        (CSV, "application/pdf", 415),
    ],
)
def test_what_is_no_file_of_rows_leaves_nothing_behind(world_of, tmp_path, content, media, status):
    world = world_of()
    answer = put(world, "towns", content, media)
    assert answer.status_code == status, answer.text
    assert str(tmp_path) not in answer.text
    assert [path for path in (tmp_path / "home" / "sources").glob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", ["..", "a b", ".hidden", "x" * 65])
def test_names_cannot_lead_elsewhere(world_of, name):
    world = world_of()
    assert put(world, name).status_code in (404, 405, 422)


def test_a_name_of_the_settings_is_taken(world_of):
    world = world_of()
    answer = put(world, "patients")
    assert answer.status_code == 409


def test_larger_than_allowed_is_refused_as_it_comes(world_of, tmp_path):
    world = world_of(max_upload_bytes=2048)
    assert put(world, "towns", b"town\n" + b"Bari\n" * 1000).status_code == 413
    assert list((tmp_path / "home" / "sources").glob("*")) == []


def test_two_processes_see_the_same_folder(world_of, tmp_path):
    world = world_of()
    other = Sources({}, tmp_path / "home" / "sources")
    assert "towns" not in other
    put(world, "towns")
    assert "towns" in other
    assert other["towns"].path.name == "towns.csv"


def test_a_file_cannot_be_swapped_while_it_is_registered(world_of):
    """A slow upload that began before the dataset was registered ends after it."""
    world = world_of()
    put(world, "towns")

    async def slowly():
        yield b"town,age\n"
        # the rest comes when the dataset is there
        registered.append(await anyio.to_thread.run_sync(lambda: register(world, "towns").status_code))
        yield b"Roma,1\n"

    registered = []
    answer = put(world, "towns", slowly())
    assert registered == [201]
    assert answer.status_code == 409
    assert (world.services.sources["towns"].path).read_bytes() == CSV


def test_a_file_of_the_settings_is_known_again(world_of, tmp_path):
    world = world_of()
    again = put(world, "copy", (tmp_path / "patients.csv").read_bytes())
    assert again.status_code == 409
    assert again.json()["rule"] == "is the same file as another source"


def test_a_small_file_that_stands_for_much_is_not_unrolled(world_of):
    world = world_of()
    out = io.BytesIO()
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 90_000, pa.int32()), pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"town": words}), out)
    assert len(out.getvalue()) < 100_000
    before = pa.default_memory_pool().max_memory()
    assert put(world, "towns", out.getvalue(), "application/vnd.apache.parquet").status_code == 200
    assert pa.default_memory_pool().max_memory() - before < 200_000_000  # of nearly a gigabyte


def unrolling(rows=1_357):
    """A file of a few kilobytes whose one text, of a megabyte, stands in every row."""
    out = io.BytesIO()
    words = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"town": words}), out, store_schema=False, compression="zstd")
    return out.getvalue()


def test_a_file_that_unrolls_to_gigabytes_is_refused(world_of, tmp_path):
    world = world_of()
    answer = put(world, "towns", unrolling(), "application/vnd.apache.parquet")
    assert (answer.status_code, answer.json()["field"]) == (422, "file")
    assert "1000 times" in answer.json()["rule"]
    assert "max_unrolling" in answer.json()["hint"]
    assert "1357" not in answer.text
    assert str(tmp_path) not in answer.text
    assert list((tmp_path / "home" / "sources").glob("*.parquet")) == []
    generous = world_of(max_unrolling=100_000_000)
    assert put(generous, "towns", unrolling(), "application/vnd.apache.parquet").status_code == 200


def test_a_source_of_the_settings_that_unrolls_is_neither_registered_nor_drafted(world_of, tmp_path):
    (tmp_path / "towns.parquet").write_bytes(unrolling())
    world = world_of(sources={"towns": {"path": tmp_path / "towns.parquet"}})
    drafted = world.call("GET", "/v1/sources/towns/draft", token=world.token("steward"))
    for answer in (register(world, "towns"), drafted):
        assert (answer.status_code, answer.json()["field"]) == (422, "file"), answer.text
        assert "1000 times" in answer.json()["rule"]
        assert "1357" not in answer.text


def test_a_file_that_aborts_or_stalls_its_reader_is_refused_and_removed(world_of, tmp_path):
    world = world_of()
    for content in (ABORTS, footer_with_fewer_rows(), bomb(8_000, 900_000)):
        answer = put(world, "towns", content, "application/vnd.apache.parquet")
        assert (answer.status_code, answer.json()["field"]) == (422, "file"), answer.text
        assert [path for path in (tmp_path / "home" / "sources").iterdir() if path.name != ".lock"] == []
    assert put(world, "towns").status_code == 200


def test_a_file_that_changed_into_a_hostile_one_is_refused_wherever_it_is_opened(world_of, tmp_path):
    """Whatever was checked when it came: drafting, registering and counting open it with the same limits."""
    world = world_of()
    for name, town in (("towns", "Bari"), ("others", "Pisa")):
        out = io.BytesIO()
        pq.write_table(pa.table({"town": [town]}), out)
        assert put(world, name, out.getvalue(), "application/vnd.apache.parquet").status_code == 200
    assert register(world, "towns").status_code == 201
    query = {"tables": [["town"]], "budget": {"epsilon": 1.0}}
    for content in (ABORTS, footer_with_fewer_rows()):
        for name in ("towns", "others"):
            (tmp_path / "home" / "sources" / f"{name}.parquet").write_bytes(content)
        steward, analyst = world.token("steward"), world.token("analyst")
        for answer in (
            world.call("GET", "/v1/sources/others/draft", token=steward),
            register(world, "others", "others"),
            world.call("POST", "/v1/datasets/towns/query", token=analyst, json=query),
        ):
            assert (answer.status_code, answer.json()["code"]) == (422, "data-error"), answer.text


def test_columns_of_lists_do_not_keep_a_file_out(world_of):
    world, out = world_of(), io.BytesIO()
    pq.write_table(pa.table({"town": ["Bari"], "visits": [[1, 2]]}), out)
    assert put(world, "towns", out.getvalue(), "application/vnd.apache.parquet").status_code == 200
    assert register(world, "towns").status_code == 201


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"town,age\nBari,30\nSecret,40,1\n", ["more or fewer values", "line 3: 3 values instead of 2"]),
        (b"\x00\x01\x02Secret\xff\n" * 50, ["not text", "zero bytes"]),
    ],
    ids=["ragged", "binary"],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_line_and_the_way_out(world_of, content, words):
    answer = put(world_of(), "towns", content)
    assert (answer.status_code, answer.json()["code"]) == (422, "data-error")
    assert all(word in answer.text for word in words), answer.text
    assert "Secret" not in answer.text  # the line is named, and nothing of it


def test_a_header_without_rows_gives_no_draft_and_says_so(world_of):
    world = world_of()
    assert put(world, "towns", b"town,age\n").status_code == 200
    answer = world.call("GET", "/v1/sources/towns/draft", token=world.token("steward"))
    assert (answer.status_code, answer.json()["rule"]) == (422, "has no rows to infer a schema from")
    assert "Bring data that has rows" in answer.json()["hint"]


def test_a_european_file_is_drafted_registered_and_counted(world_of):
    """Semicolons, decimal commas, Latin-1: found, explained, kept in the schema, and read so by every query."""
    world = world_of()
    lines = "".join(
        f"{town};{1000 + at},5;{at % 28 + 1:02d}.03.1980\n" for at in range(60) for town in ("Zürich", "Köln")
    )
    content = ("town;pay;born\n" + lines).encode("latin-1")
    assert put(world, "towns", content).status_code == 200
    token = world.token("steward")
    drafted = world.call("POST", "/v1/sources/towns/draft", token=token, json={})
    assert drafted.status_code == 200, drafted.text
    found = drafted.json()
    assert found["domain"]["csv"] == {
        "delimiter": ";", "encoding": "cp1252", "decimal": ",", "dates": ["%d.%m.%Y"],
    }  # fmt: skip
    assert set(found["reasons"]) == {"town", "pay", "born"}
    assert found["preview"][:2] == [["town", "pay", "born"], ["Xüxxxx", "9999,9", "99.99.9999"]]
    assert "Zürich" not in str(found["preview"])  # rows are shown masked; levels are what is to be confirmed
    assert world.call("GET", "/v1/sources/towns/draft", token=token).json() == found["domain"]
    schema = Domain.from_dict(found["domain"]).confirm().as_dict()
    assert world.register("towns", source="towns", schema=schema).status_code == 201
    query = {"tables": [["town"]], "budget": {"epsilon": 1.0}}
    answer = world.call("POST", "/v1/datasets/towns/query", token=world.token("analyst"), json=query)
    assert answer.status_code == 200, answer.text
    counts = answer.json()["releases"][0]["estimate"]
    assert all(40 < count < 80 for count in counts)


def test_what_is_stated_about_a_dialect_is_not_searched(world_of):
    world = world_of()
    assert put(world, "days", b"day;x\n" + b"03/04/2020;a\n05/06/2021;b\n" * 9).status_code == 200
    token = world.token("steward")
    refused = world.call("POST", "/v1/sources/days/draft", token=token, json={})
    assert (refused.status_code, refused.json()["field"]) == (422, "csv.dates")
    drafted = world.call("POST", "/v1/sources/days/draft", token=token, json={"dates": ["%m/%d/%Y"]})
    assert drafted.json()["domain"]["csv"]["dates"] == ["%m/%d/%Y"]
    for wrong in ({"dates": ["%H"]}, {"encoding": "klingon"}, {"delimiter": ";;"}, {"other": 1}):
        assert world.call("POST", "/v1/sources/days/draft", token=token, json=wrong).status_code == 422


def test_a_workbook_becomes_a_source(world_of, tmp_path):
    import xlsxwriter

    world, path = world_of(), tmp_path / "people.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["town", "age"])
        for at in range(60):
            sheet.write_row(at + 1, 0, [("Bari", "Pisa")[at % 2], 20 + at])
    media = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    assert put(world, "people", path.read_bytes(), media).status_code == 200
    assert register(world, "people").status_code == 201
    broken = put(world, "other", b"PK\x03\x04SECRET" * 50, media)
    assert broken.status_code == 422
    assert "SECRET" not in broken.text
