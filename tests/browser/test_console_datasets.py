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
        page.get_by_role("button", name="Bring a CSV or Parquet file").click()
    chooser.value.set_files(path)


def test_from_a_file_to_a_dataset(service, page, console, people, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets", "Datasets")
    expect(page.get_by_text("There is no dataset that you may use yet.")).to_be_visible()
    page.get_by_role("link", name="Bring a dataset").click()
    bring(page, people)
    expect(page.get_by_role("heading", name="2. What is public")).to_be_visible()
    check_accessible(page)
    # the draft holds what was read off private data: it is not taken for public
    page.get_by_role("button", name="Register the dataset").click()
    expect(page.get_by_role("alert")).to_contain_text("confirm")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("age: highest").fill("100")
    page.get_by_label("town: levels").fill("Bari\nPisa\nRoma")
    console.choose(page, "town: role", "others may know it (quasi-identifier)")
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
    console.visit(page, service, "/datasets/new", "Bring a dataset")
    bring(page, people)
    expect(page.get_by_role("alert")).to_contain_text("is the source of the dataset 'my-people'")
    page.get_by_role("button", name="Close").click()
    other = people.with_name("other name.csv")
    other.write_bytes(people.read_bytes())
    bring(page, other)
    expect(page.get_by_role("alert")).to_contain_text("is the same file as another source")


def test_what_is_no_table_is_refused_in_words(service, page, console, tmp_path):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Bring a dataset")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet at all")
    bring(page, broken)
    expect(page.get_by_role("alert")).to_contain_text("file")
    assert str(service.home) not in page.content()
