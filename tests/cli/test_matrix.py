"""Every output into every next verb: right, or refused with the reason; none silently wrong.

`MATRIX` is the one place that says what goes into what. The page docs/reference/matrix.md shows it,
and is checked here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.anonymize import measure
from tacita.assess.frame import read_frame
from tacita.cli.parts import show
from tacita.collect.analysis import findings
from tacita.collect.estimating.tally import simulate
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.models import read_model
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.report import bars
from tacita.store import Database
from tacita.synthesize import Synthesized
from tacita.synthesize.federated import Holder, Limits, Party, Terms
from tacita.synthesize.federated.analyst import federate
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

from .conftest import run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "matrix.md"
SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 5, integer: true, role: quasi-identifier}
- {name: sex, kind: categorical, levels: [f, m], role: quasi-identifier}
- {name: ill, kind: categorical, levels: ["no", flu], role: sensitive}
"""
ROWS = 500
FILES = {
    "query": "query.json",
    "anonymize": "anonymized.csv",
    "mask": "masked.csv",
    "synthesize": "labels.csv",
    "synthesize --decode uniform": "synthetic.csv",
    "impute": "imputed/release-1.parquet",
    "federate": "federated.csv",
    "collect": "collected.csv",
    "learn": "learned.json",
    "function": "function.json",
}
WHAT = {
    "query": "noisy tables, JSON",
    "anonymize": "k-anonymous rows with labels of several values",
    "mask": "masked rows, sorted",
    "synthesize": "synthetic rows, bins as labels (the default)",
    "synthesize --decode uniform": "synthetic rows, numbers drawn in their bins",
    "impute": "imputed rows, shuffled",
    "federate": "synthetic rows of several holders",
    "collect": "tables of a campaign, and synthetic rows with labels",
    "learn": "a fitted model, JSON",
    "function": "a signed bundle",
}
CONSUMERS = {
    "assess": "`tacita assess OUTPUT`",
    "assess --scenario": "`tacita assess OUTPUT --scenario`",
    "compare": "`tacita compare`, with the output as `data`",
    "audit": "`tacita audit`",
    "verify": "`tacita verify STATEMENT --file OUTPUT`",
    "synthesize": "`tacita synthesize OUTPUT`",
    "learn": "`tacita learn from OUTPUT`",
    "plot": "`report.bars`, or the page of `tacita assess --report`",
    "write": "its own files",
    "read back": "the file, read again",
}


@dataclass(frozen=True)
class Right:
    """The cell works; `says` what is right about it, and `check` finds out."""

    says: str
    check: Callable[[str, str], None]


@dataclass(frozen=True)
class Refused:
    """The cell is refused; `words` are in the message, and `try_it` returns it."""

    words: str
    try_it: Callable[[str, str], str]


# -- asking -----------------------------------------------------------------------------------------------------------


def good(*arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def refused(*arguments: str) -> str:
    done = run(*arguments)
    assert done.code in (2, 3), (done.code, done.out, done.err)
    return " ".join((done.out + done.err).split())


def assessing(file: str, *more: str) -> tuple[str, ...]:
    return ("assess", file, "--real", "people.csv", "-s", "people.yaml", "--attempts", "100", *more)


def comparing(file: str) -> tuple[str, ...]:
    Path("plan.yaml").write_text(
        f"data: {file}\nschema: people.yaml\nattempts: 100\ncontrol: 0.45\nreleases:\n- statistics: {{epsilon: 2}}\n"
    )
    return ("compare", "plan.yaml")


def synthesizing(file: str) -> tuple[str, ...]:
    paid = ("-a", "again", "--epsilon", "20", "--again", "a test")
    return ("synthesize", file, "-s", "people.yaml", *paid, "-n", "1000", "--decode", "uniform", "-o", "again.csv")


def domain() -> Domain:
    return Domain.read("people.yaml")


def table_of(file: str) -> pa.Table:
    return pq.read_table(file) if file.endswith(".parquet") else pa_csv.read_csv(file)


def shares(table: pa.Table, name: str = "ill") -> dict[str, float]:
    values = table[name].to_pylist()
    return {level: values.count(level) / len(values) for level in domain()[name].labels}


def apart(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(abs(one[level] - other[level]) for level in one) / 2


def chances(fitted: Any) -> list[float]:
    """Of being ill, when young and when old."""
    return [float(row[1]) for row in np.asarray(fitted.probabilities(pa.table({"age": [30, 90]})))]


# -- right ------------------------------------------------------------------------------------------------------------


def assessed(_: str, file: str) -> None:
    """The figures are about the rows of this file: how far its single attribute lies from the real one."""
    found = good(*assessing(file))
    table, real = table_of(file), table_of("people.csv")
    assert (found["rows"], found["people"]) == (table.num_rows, ROWS)
    (ill,) = [each for each in found["margins"]["singles"] if list(each["attributes"]) == ["ill"]]
    assert ill["variation"] == pytest.approx(apart(shares(table), shares(real)))


def reconstructed(_: str, file: str) -> None:
    """Tables are no rows; by their option their counts and the secret are reconstructed."""
    assert "must be a file of a format" in refused(*assessing(file))
    found = good(*assessing(f"--tables={file}"))
    assert [each["name"] for each in found["attacks"] if each["ran"]] == ["reconstruction"]
    assert found["further"][0]["right"]["trials"] > 1


def members(_: str, file: str) -> None:
    """A model is no rows; by its option its members are looked for among people who were not used."""
    assert "must be a file of a format" in refused(*assessing(file))
    rng, real = np.random.default_rng(1), table_of("people.csv")
    moved = {name: real[name].take(pa.array(rng.permutation(ROWS))) for name in real.column_names}
    pa_csv.write_csv(pa.table(moved), "others.csv")
    found = good(*assessing(f"--model={file}", "--control", "others.csv"))
    assert [each["name"] for each in found["attacks"] if each["ran"]] == ["membership-model"]


def matched(_: str, file: str) -> None:
    """Sex and age stay as they are, so whoever is alone with them is found."""
    found = good(*assessing(file, "--scenario", "known.yaml", "--origins", "imputed.origins.parquet"))
    real = table_of("people.csv")
    pairs = list(zip(real["age"].to_pylist(), real["sex"].to_pylist(), strict=True))
    assert found["disclosure"]["true_match_rate"]["successes"] == sum(pairs.count(pair) == 1 for pair in pairs) > 10


def compared(_: str, file: str) -> None:
    found = good(*comparing(file))
    assert found["people"] + found["control"] == table_of(file).num_rows
    assert [each["error"] for each in found["results"]] == [None]


def verified(_: str, file: str) -> None:
    assert good("verify", "statement.json", "--file", file)["good"] is True
    text = Path(file).read_text()
    Path(file).write_text(text + text.splitlines()[-1] + "\n")
    try:
        assert run("verify", "statement.json", "--file", file).code == 3
    finally:
        Path(file).write_text(text)


def audited(_: str, file: str) -> None:
    """Of a model, the recipe that made it is audited: what is released is one run of it."""
    kind = json.loads(Path(file).read_text())["tacita"].partition("/")[0]
    done = run("audit", "--model", kind, "--epsilon", "2", "--trials", "200", "--confidence", "0.9999999", "--json")
    assert (done.code, json.loads(done.out)[0]["verdict"]) == (0, "consistent")


def synthesized(_: str, file: str) -> None:
    good(*synthesizing(file))
    assert apart(shares(table_of("again.csv")), shares(table_of(file))) < 0.15


def learning(file: str, *more: str) -> tuple[str, ...]:
    return ("learn", "from", file, "-s", "people.yaml", "--target", "ill", "--features", "age", "-o", "m.json", *more)


def learned(file: str) -> Any:
    good(*learning(file))
    return read_model(Path("m.json").read_text())


def learned_from_tables(_: str, file: str) -> None:
    young, old = chances(learned(str(Path(file).with_suffix(".json"))))
    assert young < 0.1
    assert old > 0.3


def learned_from_rows(_: str, file: str) -> None:
    fitted = learned(file)
    young, old = chances(fitted)
    assert young < 0.15
    assert old > 0.25
    assert fitted.event.kind == "non-private"  # rows from a file say nothing of what they cost


def learned_from_model(_: str, file: str) -> None:
    path = Path(file).with_suffix(".model.json")
    fitted = learned(str(path))
    young, old = chances(fitted)
    assert young < 0.15
    assert old > 0.25
    assert fitted.event == Synthesized.from_json(path.read_text()).event


def plotted_tables(_: str, file: str) -> None:
    for release in Releases.from_json(Path(file).with_suffix(".json").read_text()).values():
        assert bars(release).count('class="bar"') == release.values.size


def plotted_rows(_: str, file: str) -> None:
    assert run(*assessing(file, "--report", "page.html")).code == 0
    assert Path("page.html").read_text().count("<svg") > 1


def same_rows(_: str, file: str) -> None:
    """CSV and Parquet of one release are the same rows."""
    other = table_of(str(Path(file).with_suffix(".parquet")))
    table = table_of(file)
    assert table.num_rows == other.num_rows > 0
    for name in table.column_names:
        assert table[name].cast(pa.string()).to_pylist() == other[name].cast(pa.string()).to_pylist()


def imputed_rows(_: str, file: str) -> None:
    about = json.loads((Path(file).parent / "release.json").read_text())
    assert (about["guarantee"], about["rows"]) == ("none", table_of(file).num_rows)


def same_json(_: str, file: str) -> None:
    text = Path(file).with_suffix(".json").read_text()
    assert json.loads(Releases.from_json(text).to_json()) == json.loads(text)


def recounted(_: str, file: str) -> None:
    assert measure(table_of(file), ["age", "sex"], sensitive=["ill"]).k >= 20


def drawn_again(_: str, file: str) -> None:
    model = Synthesized.from_json(Path(file).with_suffix(".model.json").read_text())
    again = model.sample(1000, np.random.default_rng(1), policy="label")
    assert apart(shares(again), shares(table_of(file))) < 0.15


def framed(_: str, file: str) -> None:
    frame = read_frame(domain(), table_of(file))
    assert len(frame) == table_of(file).num_rows
    assert not np.isnan(frame.values).any()


def predicted_again(_: str, file: str) -> None:
    text = Path(file).read_text()
    model = read_model(text)
    assert json.loads(model.to_json()) == json.loads(text)
    assert good("learn", "predict", file, "people.csv", "-o", "predicted.csv")["rows"] == ROWS
    told = pa_csv.read_csv("predicted.csv")["ill"].to_pylist()
    assert told == model.predict(table_of("people.csv")).to_pylist()


def answered_again(_: str, file: str) -> None:
    good("function", "load", file, "--state", "sqlite:///elsewhere.db")
    here, there = (
        good("function", "predict", "f", "--at", "30", "--at", "90", *state)["values"]
        for state in ((), ("--state", "sqlite:///elsewhere.db"))
    )
    assert here == there
    assert sum(here) > 0


def signed(_: str, file: str) -> None:
    Path("forged.json").write_text(Path(file).read_text().replace('"histogram"', '"histogran"'))
    assert "signature" in refused("function", "load", "forged.json", "--state", "sqlite:///forged.db")


# -- refused ----------------------------------------------------------------------------------------------------------

no_rows = Refused("must be a file of a format that can be read", lambda _, file: refused(*assessing(file)))
no_data = Refused("must be a file of a format that can be read", lambda _, file: refused(*comparing(file)))
no_source = Refused("must be a file of a format that can be read", lambda _, file: refused(*synthesizing(file)))
no_key = Refused(
    "which real row each released row was made from",
    lambda _, file: refused(*assessing(file, "--scenario", "known.yaml")),
)
labels_data = Refused("holds labels that stand for several values", lambda _, file: refused(*comparing(file)))
labels_source = Refused("holds labels that stand for several values", lambda _, file: refused(*synthesizing(file)))
no_function = Refused("must be module:name or file.py:name", lambda _, file: refused("audit", file, "--epsilon", "1"))
other_file = Refused("NO", lambda _, file: refused("verify", "statement.json", "--file", file))


def _message(work: Callable[[], Any]) -> str:
    with pytest.raises(InvalidInput) as caught:
        work()
    return str(caught.value)


no_release = Refused(
    "must be a model of synthetic rows, or tables with noise",
    lambda _, file: refused(*learning(file)),
)
no_bars = Refused("only a released table has bars", lambda _, file: _message(lambda: bars(Path(file).read_text())))

# -- the matrix -------------------------------------------------------------------------------------------------------

Cell = Right | Refused
_ROWS_RIGHT = Right("figures of these rows", assessed)
_PAGE = Right("a page with charts", plotted_rows)
_FROM_ROWS = Right("from the rows, guarantee: none", learned_from_rows)
_FROM_MODEL = Right("from the model, at no further cost", learned_from_model)
_BOTH_FORMATS = Right("CSV and Parquet, the same rows", same_rows)
_DRAWN = Right("the model draws more rows", drawn_again)


def _row(*cells: Cell) -> dict[str, Cell]:
    return dict(zip(CONSUMERS, cells, strict=True))


MATRIX: dict[str, dict[str, Cell]] = {
    "query": _row(
        Right("`--tables`: counts and secrets, reconstructed", reconstructed),
        no_rows,
        no_data,
        no_function,
        other_file,
        no_source,
        Right("naive Bayes of the tables", learned_from_tables),
        Right("a bar for each cell", plotted_tables),
        Right("JSON", same_json),
        Right("the same tables", same_json),
    ),
    "anonymize": _row(
        _ROWS_RIGHT,
        no_key,
        labels_data,
        no_function,
        other_file,
        labels_source,
        _FROM_ROWS,
        _PAGE,
        _BOTH_FORMATS,
        Right("k is recounted on the labels", recounted),
    ),
    "mask": _row(
        _ROWS_RIGHT,
        no_key,
        Right("as if they were data", compared),
        no_function,
        other_file,
        Right("as if they were data", synthesized),
        _FROM_ROWS,
        _PAGE,
        _BOTH_FORMATS,
        Right("values of the schema", framed),
    ),
    "synthesize": _row(
        _ROWS_RIGHT,
        no_key,
        labels_data,
        no_function,
        other_file,
        labels_source,
        _FROM_ROWS,
        _PAGE,
        _BOTH_FORMATS,
        Right("labels are read as bins", framed),
    ),
    "synthesize --decode uniform": _row(
        _ROWS_RIGHT,
        no_key,
        Right("as if they were data", compared),
        no_function,
        Right("its statement holds, and not for another file", verified),
        Right("as if they were data", synthesized),
        _FROM_MODEL,
        _PAGE,
        _BOTH_FORMATS,
        _DRAWN,
    ),
    "impute": _row(
        _ROWS_RIGHT,
        Right("with the private key of origins; refused without", matched),
        Right("as if they were data", compared),
        no_function,
        other_file,
        Right("as if they were data", synthesized),
        _FROM_ROWS,
        _PAGE,
        Right("a folder, with `release.json`", imputed_rows),
        Right("values of the schema", framed),
    ),
    "federate": _row(
        _ROWS_RIGHT,
        no_key,
        labels_data,
        no_function,
        other_file,
        labels_source,
        _FROM_MODEL,
        _PAGE,
        _BOTH_FORMATS,
        _DRAWN,
    ),
    "collect": _row(
        _ROWS_RIGHT,
        no_key,
        labels_data,
        no_function,
        other_file,
        labels_source,
        Right("naive Bayes of the tables", learned_from_tables),
        Right("a bar for each cell", plotted_tables),
        _BOTH_FORMATS,
        Right("the same tables", same_json),
    ),
    "learn": _row(
        Right("`--model`: who was in its training data", members),
        no_rows,
        no_data,
        Right("`tacita audit --model KIND` audits its recipe", audited),
        other_file,
        no_source,
        no_release,
        no_bars,
        Right("JSON", predicted_again),
        Right("the same predictions", predicted_again),
    ),
    "function": _row(
        no_rows,
        no_rows,
        no_data,
        no_function,
        other_file,
        no_source,
        no_release,
        no_bars,
        Right("a signed bundle", signed),
        Right("the same answers from another store", answered_again),
    ),
}


# -- the outputs ------------------------------------------------------------------------------------------------------


def _people() -> pa.Table:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 99, ROWS)
    ill = np.where(age >= 60, rng.random(ROWS) < 0.5, rng.random(ROWS) < 0.02)
    sex = np.array(["f", "m"])[rng.integers(0, 2, ROWS)]
    return pa.table({"age": age, "sex": sex, "ill": np.array(["no", "flu"])[ill.astype(int)]})


def _federated(people: pa.Table) -> Synthesized:
    parties, public = [], domain()
    for place, name in enumerate(("north", "south")):
        ledger = Ledger(Database(f"sqlite:///{name}.db"))
        ledger.open(name, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(20.0))
        engine = LocalEngine(public, people.slice(place * ROWS // 2, ROWS // 2))
        session = Session(engine=engine, ledger=ledger, account=name, principal="test", source=SecureSource())
        holder = Holder(name=name, session=session, ledger=ledger, limits=Limits())
        parties.append(Party(name=name, ask=holder.answer))
    terms = Terms(
        schema=public.fingerprint,
        attributes=public.countable,
        holders=("north", "south"),
        quorum=2,
        run="matrix",
        method="SL1",
        budget=Budget.pure(20.0),
        unit=Unit.row(),
        neighbours=Neighbours.ADD_REMOVE,
        degree=1,
    )
    return federate(terms, public, parties, deadline=300.0, rng=np.random.default_rng(1))


def _collected(people: pa.Table) -> None:
    public = domain()
    tables = Workload.of(("ill", "age"), ("ill", "sex"))
    design = plan_collection(public, tables, respondents=40 * ROWS, epsilon=8.0)
    many = pa.concat_tables([people] * 40)
    tally = simulate(design, LocalEngine(public, many), SecureSource())
    Path("collected.json").write_text(tally.releases().to_json())
    rows = findings.synthetic(tally, ROWS, np.random.default_rng(1))
    pa_csv.write_csv(rows, "collected.csv")
    pq.write_table(rows, "collected.parquet")


def _produce() -> None:
    people = _people()
    pa_csv.write_csv(people, "people.csv")
    Path("people.yaml").write_text(SCHEMA)
    Path("known.yaml").write_text("exact: [sex, age]\n")
    for account in ("first", "again"):
        assert run("budget", "open", account, "--epsilon", "500", "--delta", "1e-5").code == 0
    data, paid = ("people.csv", "-s", "people.yaml"), ("-a", "first", "--epsilon", "20")
    good("query", *data, *paid, "--by", "ill,age", "--by", "ill,sex", "-o", "query.json")
    for suffix in ("csv", "parquet"):
        good("anonymize", *data, "--k", "20", "--l", "2", "-o", f"anonymized.{suffix}")
        masking = ("--microaggregate", "age=5", "--round", "age=1", "--keep", "sex,ill")
        good("mask", *data, *masking, "-o", f"masked.{suffix}")
    labels = good("synthesize", *data, *paid, "-n", str(ROWS), "-o", "labels.csv", "--model", "labels.model.json")
    drawn = ("-n", str(ROWS), "--decode", "uniform", "--model", "synthetic.model.json", "--statement", "statement.json")
    good("synthesize", *data, *paid, *drawn, "-o", "synthetic.csv", "--key", "one")
    assert labels["rows"] == ROWS
    for name in ("labels", "synthetic"):  # rows are drawn anew in each run: the same ones in the other format
        pq.write_table(pa_csv.read_csv(f"{name}.csv"), f"{name}.parquet")
    good("impute", *data, "-o", "imputed", "--replace", "ill", "--m", "2", "--no-guarantee", "--no-assessment")
    good("learn", "fit", *data, *paid, "--kind", "bayes", "--target", "ill", "--features", "age", "-o", "learned.json")
    good("function", "release", *data, *paid, "--name", "f", "--kind", "histogram", "--features", "age")
    assert run("function", "export", "f", "-o", "function.json").code == 0
    made = _federated(people)
    Path("federated.model.json").write_text(made.to_json())
    for suffix in ("csv", "parquet"):
        made.write(Path(f"federated.{suffix}"), ROWS, np.random.default_rng(1), policy="label")
    _collected(people)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder with an output of each producer."""
    folder: Path = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACITA_HOME", str(folder / "home"))
        patch.chdir(folder)
        patch.setattr(show.out, "_width", 250)
        patch.setattr(show.err, "_width", 500)
        _produce()
    return folder


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("producer", MATRIX)
def test_what_goes_into_what(world: Path, monkeypatch: pytest.MonkeyPatch, producer: str, consumer: str) -> None:
    monkeypatch.setenv("TACITA_HOME", str(world / "home"))
    monkeypatch.chdir(world)
    cell = MATRIX[producer][consumer]
    if isinstance(cell, Right):
        cell.check(producer, FILES[producer])
    else:
        assert cell.words in cell.try_it(producer, FILES[producer])


def test_no_output_is_left_out() -> None:
    assert set(MATRIX) == set(FILES) == set(WHAT)
    assert all(set(row) == set(CONSUMERS) for row in MATRIX.values())


def test_labels_are_not_paid_for(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every count of labels was 0, and charged."""
    monkeypatch.setenv("TACITA_HOME", str(world / "home"))
    monkeypatch.chdir(world)
    before = good("budget", "show", "again")[0]["spent"]
    paid = ("-a", "again", "--epsilon", "1", "--again", "a test")
    for file in ("labels.csv", "anonymized.csv", "anonymized.parquet"):
        for asked in (
            ("query", file, "-s", "people.yaml", *paid, "--by", "age"),
            ("learn", "fit", file, "-s", "people.yaml", *paid, "--kind", "bayes", "--target", "ill", "-o", "x.json"),
            ("anonymize", file, "-s", "people.yaml", "--k", "2", "-o", "x.csv"),
            ("learn", "predict", "learned.json", file, "-o", "x.csv"),
        ):
            assert "holds labels" in refused(*asked)
    assert good("budget", "show", "again")[0]["spent"] == before


def page() -> str:
    """The matrix as docs/reference/matrix.md shows it."""
    lines = [
        "# What goes into what",
        "",
        "Each output (a row) as the input of each next step (a column): what is right about it, or *why it is refused*."
        " Nothing is silently wrong. `tests/cli/test_matrix.py` tries every cell, and checks this page.",
        "",
        "| output | " + " | ".join(CONSUMERS) + " |",
        "|" + "---|" * (len(CONSUMERS) + 1),
    ]
    for producer, row in MATRIX.items():
        cells = [cell.says if isinstance(cell, Right) else f"*{_reason(cell)}*" for cell in row.values()]
        lines.append(f"| `{producer}`: {WHAT[producer]} | " + " | ".join(cells) + " |")
    lines += ["", "How each step is asked:", "", "| step | asked as |", "|---|---|"]
    lines += [f"| {name} | {how} |" for name, how in CONSUMERS.items()]
    lines += [
        "",
        "Rows with labels of several values (`17..24`, `{a, b}`) are no data: to the schema they are out of domain, "
        "and every count of them would be 0. Draw synthetic rows with `--decode uniform` to use them as data. "
        "A scenario needs the private key of origins that `tacita impute` writes, or `--same-order`: "
        "see [assess](../guides/assess.md).",
        "",
    ]
    return "\n".join(lines)


def _reason(cell: Refused) -> str:
    return "the statement is about another file" if cell is other_file else cell.words


def test_the_page_shows_the_matrix() -> None:
    assert PAGE.read_text(encoding="utf-8").split() == page().split()  # the file is wrapped
