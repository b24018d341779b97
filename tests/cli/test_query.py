"""SQL on the command line, as a user runs it."""

import json

import pytest

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true, missing: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
SQL = "SELECT sex, COUNT(*) AS n, AVG(age) AS age_mean, MEDIAN(age) FROM people WHERE age >= 18 GROUP BY sex"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 80},{'fm'[i % 2]}\n" for i in range(800)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "2")
    return tmp_path


def ask(sql, *more):
    return run("query", sql, "--data", "people.csv", "--schema", "people.yaml", *more)


def spent():
    return json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]


def test_a_plan_states_the_split_and_charges_nothing():
    shown = ask(SQL, "--epsilon", "1", "--dry-run")
    assert shown.code == 0, shown.err
    assert "moments" in shown.out
    assert "age_mean" in shown.out
    data = json.loads(ask(SQL, "--epsilon", "1", "--dry-run", "--json").out)
    assert [part["measure"] for part in data["split"]] == ["tally", "moments", "tree"]
    assert sum(part["alone"] for part in data["split"]) == pytest.approx(data["cost"])
    assert spent() == 0


def test_the_same_question_is_answered_once_and_paid_once(folder):
    first = json.loads(ask(SQL, "--epsilon", "1", "--json", "-o", "out.json").out)
    assert first["groups"] == [["f"], ["m"]]
    assert sum(first["columns"]["n"]["value"]) == pytest.approx(620, abs=120)
    assert json.loads((folder / "out.json").read_text())["columns"] == first["columns"]
    again = json.loads(ask(SQL, "--epsilon", "1", "--json").out)
    assert again["columns"] == first["columns"]
    assert spent() == 1
    shown = ask(SQL, "--epsilon", "1").out
    assert "age_mean" in shown
    assert "remaining" in shown
    anew = json.loads(ask(SQL, "--epsilon", "1", "--json", "--fresh").out)
    assert anew["columns"] != first["columns"]
    assert spent() == 2
    assert ask(SQL, "--epsilon", "1", "--fresh").code == 5


def test_a_file_that_was_written_anew_is_asked_anew(folder):
    sql = "SELECT COUNT(*) AS n FROM people"
    first = json.loads(ask(sql, "--epsilon", "0.5", "--json").out)
    (folder / "people.csv").write_text("age,sex\n" + "30,f\n" * 5000)
    second = json.loads(ask(sql, "--epsilon", "0.5", "--json").out)
    assert first["columns"]["n"]["value"][0] == pytest.approx(800, abs=100)
    assert second["columns"]["n"]["value"][0] == pytest.approx(5000, abs=100)
    assert spent() == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((SQL.replace("AVG(age)", "MAX(age)"), "--epsilon", "1"), "MAX(age)"),
        ((SQL + " UNION SELECT 1", "--epsilon", "1"), "SELECT"),
        ((SQL.replace("people", "persons"), "--epsilon", "1"), "persons"),
        ((SQL.replace("18", "20"), "--epsilon", "1"), "cuts a bin"),
        ((SQL,), "--epsilon"),
        ((SQL, "--epsilon", "nan"), "epsilon"),
        ((SQL, "--epsilon", "1", "--by", "sex"), "--by"),
        (("people.csv", "--epsilon", "1", "--by", "sex"), "give SQL with --data"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_charged(arguments, says):
    done = ask(*arguments)
    assert done.code == 2, done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert spent() == 0


def test_sql_without_data_and_tables_without_an_account_are_refused():
    assert "--data" in run("query", SQL, "-s", "people.yaml", "--epsilon", "1").err
    assert "--account" in run("query", "people.csv", "-s", "people.yaml", "--by", "sex", "--epsilon", "1").err


def test_what_comes_after_noise_is_free_and_shown_in_the_order_of_select():
    first = json.loads(ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "--epsilon", "1", "--json").out)
    sql = "SELECT COUNT(*) * 10 AS tens, sex AS s FROM people GROUP BY sex ORDER BY tens DESC LIMIT 1"
    other = json.loads(ask(sql, "--epsilon", "1", "--json").out)
    assert other["headings"] == ["tens", "s"]
    assert other["columns"]["tens"]["value"] == [pytest.approx(10 * max(first["columns"]["n"]["value"]))]
    assert spent() == 1
    shown = ask("SELECT ROUND(COUNT(*)) AS n FROM people GROUP BY sex", "--epsilon", "1")
    assert "interval arithmetic" in shown.out + shown.err
    assert spent() == 1


def test_a_public_dimension_is_joined(folder):
    (folder / "sexes.csv").write_text("code,word\nf,women\nm,men\n")
    sql = "SELECT word, COUNT(*) AS n FROM people JOIN sexes ON sex = code GROUP BY word ORDER BY word"
    found = json.loads(ask(sql, "--epsilon", "1", "--dimension", "sexes=sexes.csv", "--json").out)
    assert found["groups"] == [["men"], ["women"]]
    assert sum(found["columns"]["n"]["value"]) == pytest.approx(800, abs=120)
    refused = ask(sql, "--epsilon", "1")
    assert refused.code == 2
    assert "--dimension" in refused.err
    assert run("query", "people.csv", "-s", "people.yaml", "-a", "people", "--count", "--dimension", "x=y").code == 2


VISITS = """
tacita: 1
person: who
attributes:
- {name: who, kind: identifier}
- {name: code, kind: identifier}
- {name: cost, kind: numeric, bounds: [0, 100], bins: 10}
"""
PATIENTS = """
tacita: 1
person: who
attributes:
- {name: who, kind: identifier}
- {name: sex, kind: categorical, levels: [f, m]}
"""


@pytest.fixture
def visits(folder):
    rows = [f"p{i % 300},{'often' if i % 300 < 250 else f'once{i}'},{i % 100}" for i in range(600)]
    (folder / "visits.csv").write_text("who,code,cost\n" + "\n".join(rows) + "\n")
    (folder / "visits.yaml").write_text(VISITS)
    patients = [f"p{i},{'fm'[i % 2]}" for i in range(300)]
    (folder / "patients.csv").write_text("who,sex\n" + "\n".join(patients) + "\n")
    (folder / "patients.yaml").write_text(PATIENTS)
    opened = run(
        "budget", "open", "visits", "-s", "visits.yaml", "--max-rows", "2", "--epsilon", "8", "--delta", "1e-5"
    )
    assert opened.code == 0, opened.err
    return ("--data", "visits.csv", "-s", "visits.yaml")


def test_private_keys_are_named_with_a_delta(visits):
    sql = "SELECT code, COUNT(DISTINCT who) AS n FROM visits GROUP BY code"
    plan = run("query", sql, *visits, "--epsilon", "2", "--delta", "1e-6", "--dry-run")
    assert plan.code == 0, plan.err
    assert "each code that is named" in " ".join(plan.out.split())
    found = run("query", sql, *visits, "--epsilon", "2", "--delta", "1e-6", "--json")
    data = json.loads(found.out)
    assert data["groups"] == [["often"]]
    assert data["columns"]["n"]["value"][0] == pytest.approx(250, abs=60)
    refused = run("query", sql, *visits, "--epsilon", "2")
    assert refused.code == 2
    assert "delta" in refused.err


def test_two_private_tables_are_joined_along_the_person_key(visits):
    sql = "SELECT sex, COUNT(*) AS n FROM visits JOIN patients ON visits.who = patients.who GROUP BY sex ORDER BY sex"
    more = ("--epsilon", "2", "--delta", "1e-6", "--json")
    found = run("query", sql, *visits, "--join", "patients=patients.csv,patients.yaml", *more)
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data["groups"] == [["f"], ["m"]]
    assert data["columns"]["n"]["value"] == pytest.approx([300, 300], abs=60)
    again = json.loads(run("query", sql, *visits, "--join", "patients=patients.csv,patients.yaml", *more).out)
    assert again["columns"] == data["columns"]
    for wrong in ("patients", "patients=patients.csv", "=a,b"):
        assert run("query", sql, *visits, "--join", wrong, *more).code == 2


def test_many_groups_share_strength_at_no_cost(folder):
    (folder / "people.yaml").write_text(SCHEMA.replace("edges: [0, 18, 65, 99]", "bins: 10"))
    sql = "SELECT age, AVG(age) AS m, COUNT(*) AS n FROM people GROUP BY age"
    plain = json.loads(ask(sql, "--epsilon", "1", "--json").out)
    shown = ask(sql, "--epsilon", "1", "--shrink", "overall")
    assert shown.code == 0, shown.err
    assert "n_shrunk" in shown.out
    assert "average over the groups" in shown.err.replace("\n", " ")
    data = json.loads(ask(sql, "--epsilon", "1", "--shrink", "overall", "--json").out)
    assert data["columns"]["n"] == plain["columns"]["n"]
    assert spent() == 1
    assert ask(sql, "--epsilon", "1", "--shrink", "much").code == 2
    assert ask(SQL, "--epsilon", "1", "--shrink", "overall").code == 2
    refused = run(
        "query",
        "people.csv",
        "-s",
        "people.yaml",
        "-a",
        "people",
        "--by",
        "sex",
        "--epsilon",
        "1",
        "--shrink",
        "overall",
    )
    assert refused.code == 2
    assert "SQL only" in refused.err
