"""Assessing, comparing and auditing on the command line, as an owner runs it."""

import json
import stat
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 10, integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
- {name: ill, kind: categorical, levels: ["no", flu, gout], role: sensitive}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rng = np.random.default_rng(1)
    for name, rows in (("used", 600), ("held", 400), ("fresh", 600)):
        age = rng.integers(0, 99, rows)
        ill = np.where(age > 60, rng.integers(0, 3, rows), rng.integers(0, 2, rows))
        table = pa.table(
            {
                "age": age,
                "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
                "ill": np.array(["no", "flu", "gout"])[ill],
            }
        )
        pa_csv.write_csv(table, tmp_path / f"{name}.csv")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    return tmp_path


def test_a_copy_is_found_out(folder):
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "200")
    copied = run("assess", "used.csv", *arguments, "--report", "r.html", "--group", "sex")
    assert copied.code == 0, copied.err
    assert "learn" in copied.out
    assert "<svg" in (folder / "r.html").read_text()
    risks = {
        name: json.loads(run("assess", f"{name}.csv", *arguments, "--json").out)["risk"] for name in ("used", "fresh")
    }
    assert risks["used"] > 0.4 > risks["fresh"]


def test_rows_in_the_dialect_of_the_schema_and_a_plain_release(folder):
    plain = json.loads(run("assess", "fresh.csv", "--real", "used.csv", "-s", "s.yaml", "--json", "--seed", "1").out)
    text = (folder / "used.csv").read_text().replace(",", ";")
    (folder / "used.csv").write_bytes(text.encode("utf-16"))
    (folder / "s.yaml").write_text(SCHEMA + "csv: {delimiter: ';', encoding: utf-16}\n")
    done = run("assess", "fresh.csv", "--real", "used.csv", "-s", "s.yaml", "--json", "--seed", "1")
    assert done.code == 0, done.err
    assert json.loads(done.out)["risk"] == plain["risk"]


def test_selected_attacks(folder):
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "100")
    found = run("assess", "used.csv", *arguments, "--attacks", "copies, linkability", "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert [each["name"] for each in told["leaks"]] == ["linkability", "exact copies"]
    assert [each["name"] for each in told["attacks"] if each["ran"]] == ["linkability", "copies"]
    shown = run("assess", "used.csv", *arguments, "--attacks", "copies")
    assert "Attacks that were not tried" in shown.out
    refused = run("assess", "used.csv", *arguments, "--attacks", "magic")
    assert refused.code == 2
    assert "membership-density" in refused.err


def test_two_anonymous_releases_are_joined(folder):
    """Each is 5-anonymous; joined, they leave one illness for some people."""
    common = ("anonymize", "used.csv", "-s", "s.yaml", "--qi", "age,sex", "--sensitive", "ill", "--k", "5")
    assert run(*common, "-o", "one.csv").code == 0
    assert run(*common, "--method", "datafly", "-o", "two.csv").code == 0
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "600")
    found = run("assess", "one.csv", "two.csv", *arguments, "--attacks", "intersection", "--json")
    assert found.code == 0, found.err
    (joined,) = json.loads(found.out)["further"]
    assert (joined["releases"], joined["certain"]["trials"]) == (2, 400)
    assert joined["candidates_together"] < joined["candidates_alone"]


def test_a_released_model_is_attacked(folder):
    run("budget", "open", "used", "--epsilon", "50")
    fitted = run(
        *("learn", "fit", "used.csv", "-s", "s.yaml", "-a", "used", "--target", "ill", "--features", "age,sex"),
        *("--model", "bayes", "--epsilon", "5", "-o", "model.json"),
    )
    assert fitted.code == 0, fitted.err
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "200")
    found = run("assess", "--model", "model.json", *arguments, "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["membership"][0]["name"] == "loss threshold, bayes model of ill"
    assert (told["kept"], told["rows"]) == (None, 0)
    shown = run("assess", "--model", "model.json", *arguments, "--attacks", "membership-model", "--report", "m.html")
    assert shown.code == 0, shown.err
    assert "loss threshold" in (folder / "m.html").read_text()
    assert run("assess", "--model", "s.yaml", *arguments).code == 2


def test_released_tables_are_attacked(folder):
    run("budget", "open", "used", "--epsilon", "500")
    for place in (1, 2):
        asked = ("query", "used.csv", "-s", "s.yaml", "-a", "used", "--by", "age,sex,ill", "--epsilon", "100")
        done = run(*asked, "-o", f"t{place}.json")
        assert done.code == 0, done.err
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "200", "--json")
    found = run("assess", "--tables", "t1.json", "--tables", "t2.json", *arguments)
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["further"][0]["right"]["share"] == 1
    assert "reconstruction of ill" in [each["name"] for each in told["risks"]]
    assert run("assess", "--tables", "used.csv", *arguments).code == 2
    nothing = run("assess", *arguments)
    assert nothing.code == 2
    assert "--tables" in nothing.err


VISITS = """
tacita: 1
person: who
attributes:
- {name: who, kind: identifier}
- {name: hour, kind: numeric, bounds: [0, 24], bins: 24, integer: true}
- {name: place, kind: categorical, levels: [a, b, c, d, e, f, g, h]}
"""


def test_copied_trajectories_are_found(folder):
    rng = np.random.default_rng(3)

    def visits(people, rng):
        who = np.repeat([f"p{i}" for i in range(people)], 6)
        place = np.array(list("abcdefgh"))[rng.integers(0, 8, len(who))]
        return pa.table({"who": who, "hour": np.tile(np.arange(6) * 3, people), "place": place})

    for name in ("real", "held", "made"):
        pa_csv.write_csv(visits(150, rng), folder / f"v-{name}.csv")
    (folder / "v.yaml").write_text(VISITS)
    arguments = ("--real", "v-real.csv", "--control", "v-held.csv", "-s", "v.yaml", "--attempts", "100", "--json")
    arguments += ("--attacks", "trajectories")
    for made, leaky in (("v-real.csv", True), ("v-made.csv", False)):
        found = run("assess", made, *arguments, "--route", "hour,place")
        assert found.code == 0, found.err
        told = json.loads(found.out)
        assert (told["risk"] > 0.9, told["shown"] < 0.02) == (leaky, not leaky)
        assert told["further"][0]["name"] == "trajectories, edit of 0.9 or more"
    skipped = dict(json.loads(run("assess", "v-made.csv", *arguments).out)["skipped"])
    assert "person" in skipped["trajectories"]  # the time is no date, and was not named
    assert run("assess", "v-made.csv", *arguments, "--route", "hour").code == 2
    dated = VISITS.replace(
        "{name: hour, kind: numeric, bounds: [0, 24], bins: 24, integer: true}",
        "{name: day, kind: date, bounds: [2026-01-01, 2026-01-31], by: month}",
    )
    (folder / "v.yaml").write_text(dated)
    for path in folder.glob("v-*.csv"):
        table = pa_csv.read_csv(path)
        days = pa.array([f"2026-01-{hour + 1:02}" for hour in table["hour"].to_pylist()])
        pa_csv.write_csv(table.drop_columns(["hour"]).append_column("day", days), path)
    found = run("assess", "v-real.csv", *arguments)  # the schema states person, time and place
    assert json.loads(found.out)["risk"] > 0.9, found.err
    unkeyed = pa_csv.read_csv(folder / "v-made.csv").drop_columns(["who"])
    pa_csv.write_csv(unkeyed, folder / "unkeyed.csv")
    assert "trajectories" in dict(json.loads(run("assess", "unkeyed.csv", *arguments).out)["skipped"])


def test_labels_of_classes_can_be_assessed(folder):
    made = run(
        "anonymize", "used.csv", "-s", "s.yaml", "--qi", "age,sex", "--sensitive", "ill", "--k", "10", "-o", "k.csv"
    )
    assert made.code == 0, made.err
    found = run("assess", "k.csv", "--real", "used.csv", "-s", "s.yaml", "--attempts", "100")
    assert found.code == 0, found.err
    assert "control group" in found.out  # what cannot be said without one


@pytest.mark.parametrize(
    "bad",
    [
        ("assess", "used.csv", "--real", "nobody.csv", "-s", "s.yaml"),
        ("assess", "s.yaml", "--real", "used.csv", "-s", "s.yaml"),
        ("assess", "used.csv", "--real", "used.csv", "-s", "s.yaml", "--secret", "nobody"),
        ("assess", "used.csv", "--real", "used.csv", "-s", "s.yaml", "--kind", "magic"),
        ("assess", "used.csv", "--real", "used.csv", "-s", "s.yaml", "--scenario", "nobody.yaml"),
        ("assess", "used.csv", "--real", "used.csv", "-s", "s.yaml", "--same-order"),
        ("assess", "used.csv", "--real", "used.csv", "-s", "s.yaml", "--origins", "used.csv"),
        ("compare", "s.yaml"),
        ("compare", "nobody.yaml"),
        ("audit", "mine.py:answer"),
        ("audit", "mine.py:answer", "--epsilon", "1"),
        ("audit", "json:nobody", "--epsilon", "1"),
        ("audit", "json", "--epsilon", "1"),
        ("audit", "json:dumps", "--epsilon", "1", "--one", "{"),
        ("audit", "--trials", "3"),
        ("audit", "--model", "bayes"),
        ("audit", "--model", "bayes", "--broken", "--epsilon", "1"),
        ("audit", "--model", "forest", "--epsilon", "1"),
        ("audit", "--score", "json:dumps"),
    ],
)
def test_bad_input(bad):
    ended = run(*bad)
    assert ended.code in (2, 3, 4), ended.err
    assert ended.err


def test_comparing(folder):
    (folder / "plan.yaml").write_text(
        "data: used.csv\nschema: s.yaml\nattempts: 100\ncontrol: 0.4\n"
        "releases:\n- anonymize: {k: 20}\n- synthesize: {epsilon: 2}\n"
    )
    found = run("compare", "plan.yaml", "-o", "c.html", "--json-file", "c.json")
    assert found.code == 0, found.err
    assert "anonymize k 20" in found.out
    plain = json.loads((folder / "c.json").read_text())
    assert plain["tacita"] == "comparison/1"
    assert plain["repeated"]["trials"] >= 6
    words = " ".join(found.out.split())
    assert "trials were enough" in words or "more trials could change" in words
    assert "less" in words  # the table of differences from the recommended release
    again = run("compare", "plan.yaml", "--json")
    same = json.loads(again.out)
    for key in ("verdicts", "differences", "reasons", "repeated"):
        assert same[key] == plain[key]  # no figure depends on a clock
    assert (folder / "c.html").read_text().count("<svg") > 4


def test_a_scenario_names_the_riskiest_to_the_owner(folder):
    (folder / "known.yaml").write_text("exact: [sex, ill]\nwithin: {age: 0}\n")
    known = ("--real", "used.csv", "-s", "s.yaml", "--scenario", "known.yaml", "--attempts", "50")
    found = run("assess", "used.csv", *known, "--same-order")
    assert found.code == 0, found.err
    assert "Riskiest" in found.out
    (folder / "unknown.yaml").write_text("exact: [sex, ill]\nwithin: {age: 0}\nmembership: unknown\n")
    both = (folder / "used.csv").read_text() + "".join((folder / "held.csv").read_text().splitlines(keepends=True)[1:])
    (folder / "everybody.csv").write_text(both)
    arguments = ("--real", "used.csv", "-s", "s.yaml", "--scenario", "unknown.yaml", "--attempts", "50")
    arguments += ("--same-order", "--json")
    told = json.loads(run("assess", "used.csv", *arguments, "--population", "everybody.csv").out)
    assert told["disclosure"]["membership"] == "unknown"
    assert "scenario" in dict(json.loads(run("assess", "used.csv", *arguments).out)["skipped"])


def test_a_scenario_on_imputed_rows_needs_the_key_and_is_right_with_it(folder):
    """Imputation shuffles the rows: without the private key every match would be counted as wrong."""
    made = run(
        *("impute", "used.csv", "-s", "s.yaml", "-o", "out", "--replace", "ill", "--m", "2", "--backend", "cart"),
        *("--no-guarantee", "--no-assessment"),
    )
    assert made.code == 0, made.err
    assert "never to be released" in made.out
    assert stat.S_IMODE((folder / "out.origins.parquet").stat().st_mode) == 0o600
    (folder / "known.yaml").write_text("exact: [sex, age]\n")
    releases = ("out/release-2.parquet", "out/release-1.parquet")
    asked = ("assess", *releases, "--real", "used.csv", "-s", "s.yaml", "--scenario", "known.yaml", "--attempts", "50")
    refused = run(*asked)
    assert refused.code == 2
    assert "out.origins.parquet" in refused.err
    found = run(*asked, "--origins", "out.origins.parquet", "--json")
    assert found.code == 0, found.err
    people = Counter(zip(*pa_csv.read_csv("used.csv").select(["sex", "age"]).to_pydict().values(), strict=True))
    alone = sum(count == 1 for count in people.values())  # sex and age stay as they are: all of these are found
    assert alone > 10
    rate = json.loads(found.out)["disclosure"]["true_match_rate"]
    assert (rate["successes"], rate["trials"]) == (alone, 600)


@pytest.mark.parametrize("changed", ["release", "real"])
def test_a_key_of_origins_fits_its_tables_in_their_order(folder, changed):
    run(
        *("impute", "used.csv", "-s", "s.yaml", "-o", "out", "--replace", "ill", "--m", "2", "--form", "csv"),
        *("--no-guarantee", "--no-assessment"),
    )
    path = folder / ("out/release-1.csv" if changed == "release" else "used.csv")
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head, *sorted(lines)]))
    (folder / "known.yaml").write_text("exact: [sex, age]\n")
    found = run(
        *("assess", "out/release-1.csv", "--real", "used.csv", "-s", "s.yaml", "--scenario", "known.yaml"),
        *("--origins", "out.origins.parquet"),
    )
    assert found.code == 2
    assert "in its order" in found.err or "in their order" in found.err


def test_wholly_synthetic_rows_have_no_key(folder):
    made = run(
        *("impute", "used.csv", "-s", "s.yaml", "-o", "out", "--kind", "all", "--m", "2", "--backend", "linear"),
        *("--no-guarantee", "--no-assessment"),
    )
    assert made.code == 0, made.err
    assert not (folder / "out.origins.parquet").exists()


def test_auditing_a_function_of_ones_own(folder):
    (folder / "mine.py").write_text(
        "import random\n"
        "def good(value):\n    return value if random.random() < 0.75 else 1 - value\n"
        "def bad(value):\n    return value if random.random() < 0.99 else 1 - value\n"
    )
    good = run("audit", "mine.py:good", "--epsilon", "1.1", "--trials", "20000", "--confidence", "0.999")
    assert good.code == 0, good.err
    assert "consistent" in good.out
    bad = run("audit", "mine.py:bad", "--epsilon", "1.1", "--trials", "20000", "--json")
    assert bad.code == 3
    assert json.loads(bad.out)[0]["verdict"] == "breach"


def test_a_breach_comes_with_its_reason(folder):
    """Noise in floating point was a breach without a reason: it is the low bits. Vectors and scores are taken."""
    (folder / "mine.py").write_text(
        "import math, random\n"
        "def noise():\n    u = random.random() - 0.5\n"
        "    return -math.copysign(math.log1p(-2 * abs(u)), u)\n"
        "def one(value):\n    return value + noise()\n"
        "def several(value):\n    return [value + noise(), noise()]\n"
        "def text(value):\n    return f'{value + noise():.3f}/{noise()}'\n"
        "def first(output):\n    return round(float(output.partition('/')[0]), 3)\n"
        "def never(value):\n    return value if random.random() < 0.5 else 7\n"
    )

    def asked(name, *more):
        done = run("audit", f"mine.py:{name}", "--epsilon", "1", "--trials", "20000", *more, "--json")
        assert done.code in (0, 3), done.err
        return json.loads(done.out)[0]

    for name in ("one", "several"):
        found = asked(name)
        assert (found["verdict"], found["audited"]["reason"]["kind"]) == ("breach", "low bits")
        assert "low bits of floating point" in found["why"]
    found = asked("never")
    assert (found["verdict"], found["audited"]["reason"]["kind"]) == ("breach", "support")
    assert (
        run("audit", "mine.py:text", "--epsilon", "1", "--trials", "2000").code == 2
    )  # too many texts without a score
    found = asked("text", "--score", "mine.py:first", "--confidence", "0.9999999")
    assert (found["verdict"], found["why"]) == ("consistent", "")


def test_auditing_a_trained_model():
    done = run("audit", "--model", "bayes", "--epsilon", "2", "--trials", "300", "--confidence", "0.9999999")
    assert done.code == 0, done.err
    assert "bayes model" in done.out
    assert "consistent" in done.out


def test_auditing_what_is_broken():
    found = run("audit", "--broken", "--trials", "60000")
    assert found.code == 0, found.out
    assert found.out.count("breach") == 16


def test_a_sample_of_each_table(folder):
    arguments = ("--real", "used.csv", "--control", "held.csv", "-s", "s.yaml", "--attempts", "50", "--json")
    found = json.loads(run("assess", "fresh.csv", *arguments, "--sample", "300").out)
    assert [(each["table"], each["rows"], each["of"]) for each in found["samples"]] == [
        ("real rows", 300, 600),
        ("released rows", 300, 600),
        ("rows held back", 300, 400),
    ]
    assert (found["people"], found["rows"], found["control"]) == (300, 300, 300)
    whole = json.loads(run("assess", "fresh.csv", *arguments, "--sample", "0").out)
    assert whole == json.loads(run("assess", "fresh.csv", *arguments).out)
    for more in (("--route", "sex,ill"), ("--scenario", "s.yaml", "--same-order")):
        refused = run("assess", "fresh.csv", *arguments, "--sample", "300", *more)
        assert "a sample would part them" in refused.err
    assert "sample: must be" in run("assess", "fresh.csv", *arguments, "--sample", "-1").err
