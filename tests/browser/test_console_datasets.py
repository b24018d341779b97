"""A steward brings a file, says what is public, and registers it."""

import numpy as np
import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A small CSV of nobody."""
    rng = np.random.default_rng(3)
    lines = ["town,age,smokes"]
    lines += [
        f"{rng.choice(['Bari', 'Pisa'])},{rng.integers(18, 90)},{rng.choice(['true', 'false'])}" for _ in range(400)
    ]
    path = tmp_path_factory.mktemp("files") / "my people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def bring(page, path):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload a file").click()
    chooser.value.set_files(path)


def test_from_a_file_to_a_dataset(service, page, console, people, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets", "Datasets")
    expect(page.get_by_text("There is no dataset that you may use.")).to_be_visible()
    page.get_by_role("link", name="Add a dataset").click()
    bring(page, people)
    expect(page.get_by_role("heading", name="2. Public schema")).to_be_visible()
    check_accessible(page)
    # the draft holds what was read off private data: it is not taken for public
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("alert")).to_contain_text("confirm")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("age: highest").fill("100")
    page.get_by_label("town: levels").fill("Bari\nPisa\nRoma")
    console.choose(page, "town: role", "quasi-identifier: others may know it")
    page.get_by_role("button", name="All of this is public").click()
    expect(page.get_by_label("town: levels")).to_have_value("Bari\nPisa\nRoma")
    page.get_by_label("Title").fill("People of two towns")
    page.get_by_label("Budget", exact=True).fill("2")
    picture(page, "console-schema", docs=True, full_page=True)
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("my-people")
    with service.client() as client:
        made = client.schema("my-people")
        assert made["town"].levels == ("Bari", "Pisa", "Roma")
        assert made["town"].role == "quasi-identifier"
        assert made["age"].bounds[1] == 100
        assert client.dataset("my-people").budget["epsilon"] == 2.0


def test_the_same_file_again_is_refused(service, page, browse, console, people):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    bring(page, people)
    expect(page.get_by_role("alert")).to_contain_text("is the source of the dataset 'my-people'")
    page.get_by_role("button", name="Close").click()
    other = people.with_name("other name.csv")
    other.write_bytes(people.read_bytes())
    bring(page, other)
    expect(page.get_by_role("alert")).to_contain_text("is the same file as another source")


def test_what_is_no_table_is_refused_in_words(service, page, console, tmp_path):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet at all")
    bring(page, broken)
    expect(page.get_by_role("alert")).to_contain_text("file")
    assert str(service.home) not in page.content()


def test_what_the_schema_proposes_stays_unless_it_is_changed(service, page, console, tmp_path):
    """Empty bins of whole numbers are one cell each, months stay months, and levels keep their blanks."""
    lines = ["children,seen,town"]
    lines += [f"{n % 20},2021-{1 + n % 12:02d}-05,{('Patras', 'Patras ', 'Pisa')[n % 3]}" for n in range(400)]
    path = tmp_path / "proposed.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    bring(page, path)
    expect(page.get_by_label("children: bins")).to_have_value("")
    page.get_by_role("button", name="All of this is public").click()
    expect(page.get_by_label("children: bins")).to_have_value("")
    expect(page.get_by_role("combobox", name="seen: by")).to_have_value("month")
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("proposed")
    with service.client() as client:
        drafted = client.schema("proposed")
    assert drafted["children"].size == 21
    assert drafted["seen"].by == "month"
    assert drafted["town"].levels == ("Patras", "Patras ", "Pisa")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"town,age\n", ["has no rows", "Bring data that has rows"]),
        (bytes(range(256)) * 20, ["not text", "save it as CSV"]),
        (b"town,age\nSecret,1,2\nPisa\nRoma,2,3,4\n", ["line"]),
    ],
    ids=["header", "binary", "ragged"],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_way_out(service, page, console, tmp_path, content, words):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    path = tmp_path / f"broken-{len(content)}.csv"
    path.write_bytes(content)
    bring(page, path)
    for each in words:
        expect(page.get_by_role("alert")).to_contain_text(each)
    expect(page.get_by_text("A fault in Tacita")).to_have_count(0)
    expect(page.get_by_role("heading", name="2. Public schema")).to_have_count(0)
    assert "Secret" not in page.content()


@pytest.mark.parametrize(
    ("encoding", "delimiter", "decimal"), [("latin-1", ",", "."), ("utf-8", ";", ","), ("utf-16", "\t", ".")]
)
def test_a_file_of_another_dialect_is_read_and_its_dialect_kept(
    service, page, console, tmp_path, encoding, delimiter, decimal
):
    rows = [("Höhe", "town")] + [(f"{100 + n % 50}{decimal}5", ("Köln", "Pisa")[n % 2]) for n in range(400)]
    path = tmp_path / f"dialect-{encoding}.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n", encoding=encoding)
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    bring(page, path)
    expect(page.get_by_role("heading", name="2. Public schema")).to_be_visible()
    page.get_by_role("button", name="All of this is public").click()
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"dialect-{encoding}")
    with service.client() as client:
        made = client.schema(f"dialect-{encoding}")
    assert made["town"].levels == ("Köln", "Pisa")
    assert made["Höhe"].kind == "numeric"
    assert made.csv.decimal == decimal


def test_the_person_that_a_draft_names_is_protected(service, page, console, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient,ward\n" + "".join(f"p{n % 90},{'ab'[n % 2]}\n" for n in range(400)), encoding="utf-8")
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    bring(page, path)
    expect(page.get_by_role("combobox", name="Unit of protection")).to_have_value("rows of one person share patient")
    page.get_by_label("Largest number of rows per person").fill("5")
    page.get_by_role("button", name="All of this is public").click()
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("visits")
    with service.client() as client:
        assert client.dataset("visits").unit == "person:patient:5"
        assert client.schema("visits").person == "patient"


def test_what_was_typed_survives_a_long_time_offline(service, page, browse, console, people, picture):
    """Longer than the server keeps a page whose browser is gone: the page is loaded again, and its fields are back."""
    browse.expect("ERR_INTERNET_DISCONNECTED|ERR_NETWORK|WebSocket|ERR_FAILED")
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    other = people.with_name("offline.csv")
    other.write_bytes(people.read_bytes() + b"Pisa,33,true\n")
    bring(page, other)
    page.get_by_label("town: levels").fill("Bari\nPisa\nRoma")
    page.get_by_label("age: highest").fill("117")
    page.get_by_label("Title").fill("Typed for an hour")
    console.choose(page, "age: role", "quasi-identifier: others may know it")
    page.get_by_label("Budget", exact=True).fill("2.5")
    expect(page.get_by_label("Budget", exact=True)).to_have_value("2.5")
    page.evaluate("() => { window.before = true }")
    page.wait_for_timeout(1000)  # what is typed reaches the server
    page.context.set_offline(True)
    page.wait_for_timeout(25_000)
    page.context.set_offline(False)
    page.wait_for_function("() => !window.before")  # it was loaded again
    expect(page.get_by_text("Your earlier input was restored.")).to_be_visible()
    expect(page.get_by_label("town: levels")).to_have_value("Bari\nPisa\nRoma")
    expect(page.get_by_label("age: highest")).to_have_value("117")
    expect(page.get_by_label("Title")).to_have_value("Typed for an hour")
    expect(page.get_by_role("combobox", name="age: role")).to_have_value("quasi-identifier: others may know it")
    expect(page.get_by_label("Budget", exact=True)).to_have_value("2.5")
    picture(page, "console-draft-restored", full_page=True)
    page.get_by_role("button", name="All of this is public").click()
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("offline")
    with service.client() as client:
        assert client.schema("offline")["age"].bounds[1] == 117
    console.visit(page, service, "/datasets/new", "Add a dataset")  # a form that was sent is empty again
    expect(page.get_by_text("Your earlier input was restored.")).to_have_count(0)


def test_every_link_of_a_dataset_leads_somewhere(service, page, console):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/my-people", "my-people")
    page.get_by_role("link", name="Compare releases", exact=True).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare releases")
    expect(page.get_by_role("combobox", name="Dataset")).to_have_value("my-people")
    expect(page.get_by_role("alert")).to_have_count(0)
    for start in ("/", "/datasets", "/datasets/my-people"):
        page.goto(f"{service.url}/console{start}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for place in page.locator("#room a[href^='/console/']").evaluate_all("all => all.map(each => each.href)"):
            page.goto(place)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_role("alert"), place).to_have_count(0)
