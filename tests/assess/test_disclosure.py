import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.disclosure import disclosure_risk
from tacita.assess.frame import Frame, read_frame
from tacita.assess.scenario import Scenario, held_by
from tacita.domain import Categorical, Domain
from tacita.domain.conditions import Condition
from tacita.errors import TacitaError

RICH = (Condition.parse("income > 60000"),)
KNOWN = Scenario(targets=RICH, exact=("town", "school"), within={"age": 2}, also=RICH)


def noisy(frame, rng, share):
    """Partly synthetic: ages of some people are drawn anew."""
    values = frame.values.copy()
    replaced = rng.random(len(frame)) < share
    values[replaced, 0] = rng.integers(16, 95, replaced.sum())
    return Frame(domain=frame.domain, values=values)


def brute(scenario, real, released, belongs, population=None):
    """The definition, target by target and row by row."""
    everybody = real if scenario.membership == "known" else population
    held = held_by(scenario.targets, everybody)

    def fits(frame, target):
        keep = held_by(scenario.also, frame)
        for name in scenario.exact:
            keep &= frame.column(name) == target[everybody.place(name)]
        for name, far in scenario.within.items():
            keep &= np.abs(frame.column(name) - target[everybody.place(name)]) <= far
        return np.flatnonzero(keep)

    unique = true = 0
    expected, certainty = [], []
    for who in np.flatnonzero(held):
        target = everybody.values[who]
        chance: dict[int, float] = {}
        top = 1.0 if scenario.membership == "known" else 1 / max(len(fits(population, target)), 1)
        for frame, owner in zip(released, belongs, strict=True):
            rows = fits(frame, target)
            for row in rows:
                key = int(owner[row]) if owner[row] >= 0 else -1 - int(row) - 10**6
                chance[key] = chance.get(key, 0) + min(top, 1 / len(rows)) / len(released)
        best = max(chance.values(), default=0)
        winners = [key for key, value in chance.items() if value > best - 1e-12] if best else []
        if scenario.membership == "unknown" and best <= 1 - sum(chance.values()):
            winners = []  # the best guess is: not in the data
        alone = len(winners) == 1
        right = who < len(real) and who in winners
        unique += alone
        true += alone and right
        expected.append(right / len(winners) if winners else 0)
        certainty.append(chance.get(int(who), 0) if who < len(real) else 0)
    return unique, true, np.mean(expected), np.mean(certainty)


@pytest.fixture(scope="module")
def people(domain, tables):
    return read_frame(domain, tables["real"].slice(0, 400)), read_frame(domain, tables["control"].slice(0, 900))


@pytest.mark.parametrize("releases", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_rates_are_those_of_the_definition(people, releases, shuffle):
    rng = np.random.default_rng(2)
    real, _ = people
    released = [noisy(real, rng, 0.3) for _ in range(releases)]
    belongs = [np.arange(len(real)) for _ in released]
    if shuffle:
        orders = [rng.permutation(len(real)) for _ in released]
        released = [frame.take(order) for frame, order in zip(released, orders, strict=True)]
        belongs = [np.where(order % 7 == 0, -1, order) for order in orders]  # some rows belong to nobody
    for scenario in (
        KNOWN,
        Scenario(exact=("town",), within={"age": 1, "income": 5000}),
        Scenario(within={"age": 3, "school": 1, "income": 900}),
        Scenario(exact=("job", "ill"), targets=RICH),
    ):
        found = disclosure_risk(scenario, real, released, belongs=belongs)
        unique, true, expected, certainty = brute(scenario, real, released, belongs)
        assert (found.unique, found.true) == (unique, true)
        assert (found.expected, found.certainty) == pytest.approx((expected, certainty))


def test_membership_unknown(people):
    rng = np.random.default_rng(3)
    real, others = people
    population = Frame(domain=real.domain, values=np.concatenate([real.values, others.values]))
    released = [noisy(real, rng, 0.1) for _ in range(2)]
    scenario = Scenario(targets=RICH, exact=("town", "school"), within={"age": 2}, also=RICH, membership="unknown")
    found = disclosure_risk(scenario, real, released, belongs="same rows", population=population)
    belongs = [np.arange(len(real))] * 2
    unique, true, expected, certainty = brute(scenario, real, released, belongs, population)
    assert (found.unique, found.true) == (unique, true)
    assert (found.expected, found.certainty) == pytest.approx((expected, certainty))
    sure = disclosure_risk(
        Scenario(**{**scenario.__dict__, "membership": "known"}), real, released, belongs="same rows"
    )
    assert sure.true_rate.share > found.true_rate.share


def test_not_in_the_data_may_be_the_best_guess():
    """One person in the data, nine like them who are not: to name anybody is wrong nine times in ten."""
    domain = Domain(attributes=[Categorical(name="a", levels=["x", "y"])])
    population = Frame(domain=domain, values=np.zeros((10, 1)))
    real = population.take(slice(1))
    found = disclosure_risk(
        Scenario(exact=("a",), membership="unknown"), real, [real], belongs="same rows", population=population
    )
    assert (found.unique, found.expected) == (0, 0)
    assert found.certainty == pytest.approx(0.01)


def test_the_population_begins_with_the_people_in_the_data(people):
    real, others = people
    values = np.concatenate([others.values, real.values])
    with pytest.raises(TacitaError, match="population"):
        disclosure_risk(
            Scenario(exact=("town",), membership="unknown"),
            real,
            [real],
            belongs="same rows",
            population=Frame(domain=real.domain, values=values),
        )


def test_labels_that_leave_values_open_are_refused(domain):
    ages = list(range(10, 100, 10))
    table = pa.table({"age": ages, "town": ["t1"] * 9})
    classes = table.set_column(0, "age", [[f"{age}..{age + 9}" for age in ages]])
    real, released = read_frame(domain, table), read_frame(domain, classes)
    for scenario in (Scenario(exact=("age",)), Scenario(exact=("town",), within={"age": 3})):
        with pytest.raises(TacitaError, match="allow several values"):
            disclosure_risk(scenario, real, [released], belongs="same rows")
    assert disclosure_risk(Scenario(exact=("town",)), real, [released], belongs="same rows").unique == 0


def test_nothing_unique_is_not_a_rate_of_zero(people):
    real, _ = people
    same = Frame(domain=real.domain, values=np.tile(real.values[:1], (len(real), 1)))
    found = disclosure_risk(Scenario(exact=("town",)), same, [same], belongs="same rows")
    assert found.false_rate is None
    assert found.as_dict()["false_match_rate"] == "no unique match"
    assert found.expected == pytest.approx(1 / len(real))


def test_the_riskiest_are_for_the_owner_only(people):
    real, _ = people
    found = disclosure_risk(KNOWN, real, [real], belongs="same rows", riskiest=3)
    assert len(found.riskiest) == 3
    assert all(probability == 1 for _, probability in found.riskiest)
    assert "riskiest" not in str(found.as_dict())
    assert "riskiest" not in repr(found)
    # a copy of the data is matched wholly, wherever a match is unique
    assert found.true == found.unique
    assert found.expected > 0.8


def test_missing_fields_fit_nothing(domain):
    table = pa.table({"age": [30, None], "town": ["t1", "t1"]})
    frame = read_frame(domain, table)
    found = disclosure_risk(Scenario(exact=("town",), within={"age": 5}), frame, [frame], belongs="same rows")
    assert (found.targets, found.unique, found.true) == (2, 1, 1)


def test_yaml(tmp_path, domain):
    (tmp_path / "s.yaml").write_text(
        "targets: [income > 60000]\nexact: [town, school]\nwithin: {age: 2}\n"
        "also: [income > 60000]\nmembership: known\n"
    )
    scenario = Scenario.read(tmp_path / "s.yaml")
    assert scenario == KNOWN
    assert Scenario.from_dict(scenario.as_dict()) == scenario
    assert set(scenario.fields) == {"town", "school", "age", "income"}


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"exact": "town"},
        {"exact": 5},
        {"exact": None},
        {"exact": [["job"]]},
        {"exact": ["nobody"]},
        {"within": {"town": 1}},
        {"within": {"age": -1}},
        {"within": {"age": "two"}},
        {"within": {"age": True}},
        {"exact": ["age"], "within": {"age": 1}},
        {"exact": ["age"], "membership": "maybe"},
        {"exact": ["age"], "colour": "red"},
        {"exact": ["age"], "targets": [{"field": "income"}]},
        {"exact": ["age"], "targets": ["income > much"]},
        {"exact": ["age"], "targets": ["town > t1"]},
        {"exact": ["age"], "targets": ["town = t99"]},
        {"exact": ["age"], "targets": ["age > 98"]},  # nobody
        {"exact": ["age"], "targets": "income"},
    ],
)
def test_bad_scenarios(people, bad):
    real, _ = people
    with pytest.raises(TacitaError):
        disclosure_risk(Scenario.from_dict(bad), real, [real], belongs="same rows")


def test_bad_cases(people):
    real, others = people
    with pytest.raises(TacitaError, match="real row of each"):  # never guessed from the position, not of a copy either
        disclosure_risk(KNOWN, real, [real], belongs=None)
    with pytest.raises(TacitaError, match="as many rows"):
        disclosure_risk(KNOWN, real, [others], belongs="same rows")
    with pytest.raises(TacitaError, match="wholly synthetic"):
        disclosure_risk(KNOWN, real, [others], belongs=[np.full(len(others), -1)])
    with pytest.raises(TacitaError, match="population"):
        disclosure_risk(Scenario(exact=("town",), membership="unknown"), real, [real], belongs="same rows")
    with pytest.raises(TacitaError, match="belongs"):
        disclosure_risk(KNOWN, real, [real], belongs=[np.full(len(real), 10**6)])
    with pytest.raises(TacitaError, match="released"):
        disclosure_risk(KNOWN, real, [], belongs="same rows")
