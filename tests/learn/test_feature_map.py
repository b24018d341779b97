import numpy as np
import pyarrow as pa
import pytest
from tests.support.parts import PartsEngine

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import NarrowedRegression, Regression
from tacita.learn.feature_map import FeatureMap, Points, add_up
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.kmeans import KMeans
from tacita.query.models.network import NumericNetwork
from tacita.query.models.pca import PCA

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=10),
        Numeric(name="children", bounds=(0, 4), integer=True),
        Boolean(name="smokes"),
        Categorical(name="region", levels=("north", "south"), other=True),
        Date(name="born", bounds=("1900-01-01", "2000-01-01"), by="year"),
        Numeric(name="income", bounds=(0, 10), bins=5),
    ]
)
TABLE = pa.table(
    {
        "age": [0.0, 50.0, 100.0, 250.0, None, float("nan")],
        "children": [0, 4, 9, 2, 1, 1],
        "smokes": [False, True, True, False, True, True],
        "region": ["north", "south", "east", "north", "north", "south"],
        "born": ["1900-01-01", "2000-01-01", "1950-01-01", "1950-01-01", "1950-01-01", "1950-01-01"],
        "income": [0.0, 10.0, 5.0, 5.0, 5.0, 5.0],
    }
)
FEATURES = ("age", "children", "smokes", "region", "born")


def test_every_block_adds_at_most_one():
    design = FeatureMap(domain=DOMAIN, features=FEATURES, target="income")
    x, _ = design.matrix(TABLE)
    known = x[~np.isnan(x).any(axis=1)]
    for block in range(design.blocks):
        assert np.abs(known[:, design.owners == block]).sum(axis=1).max() <= 1
    assert design.columns == 7
    assert design.names[3:6] == ("region=north", "region=south", "region=(other)")


def test_rows_lie_where_the_schema_says():
    points = FeatureMap(domain=DOMAIN, features=FEATURES, target="income").points(TABLE)
    assert len(points) == 4  # two rows have no age
    assert points.outside == 2  # nine children, and an age of 250
    assert points.x[:, 0].tolist() == [-1, 0, 1, 1]
    assert points.x[:, 1].tolist() == [-1, 1, 1, 0]
    assert points.y.tolist() == [-1, 1, 0, 0]


def test_numbers_can_be_taken_by_their_bins():
    design = FeatureMap(domain=DOMAIN, features=FEATURES, target="income", coded=True)
    assert FeatureMap.from_dict(design.as_dict()).coded
    assert "coded" not in FeatureMap(domain=DOMAIN, features=FEATURES, target="income").as_dict()
    points = design.points(TABLE)
    age, children = points.x[:, :10], points.x[:, 10:15]
    assert (len(points), points.outside) == (6, 2)  # rows without an age count, with no bin
    assert age.argmax(axis=1)[:4].tolist() == [0, 5, 9, 9]  # beyond the bounds is the last bin
    assert age.sum(axis=1).tolist() == [1, 1, 1, 1, 0, 0]
    assert children.argmax(axis=1).tolist() == [0, 4, 4, 2, 1, 1]
    assert design.names[10] == f"children={DOMAIN['children'].all_labels[0]}"
    for block in range(design.blocks):
        assert np.abs(points.x[:, design.owners == block]).sum(axis=1).max() <= 1
    assert design.widths[2] == 1  # yes and no stay one column


def test_numbers_can_be_taken_by_nodes():
    design = FeatureMap(domain=DOMAIN, features=FEATURES, target="income", nodes=5)
    assert FeatureMap.from_dict(design.as_dict()).nodes == 5
    assert "nodes" not in FeatureMap(domain=DOMAIN, features=FEATURES, target="income").as_dict()
    assert design.widths == (5, 5, 1, 3, 5)
    assert design.names[:5] == ("age=0", "age=25", "age=50", "age=75", "age=100")
    assert design.names[-5:] == (
        "born=1900-01-01",
        "born=1925-01-01",
        "born=1950-01-01",
        "born=1975-01-01",
        "born=2000-01-01",
    )
    ages = pa.table({name: TABLE[name].slice(0, 5) for name in TABLE.column_names})
    ages = ages.set_column(0, "age", pa.array([0.0, 30.0, 100.0, 250.0, None]))
    points = design.points(ages)
    assert (len(points), points.outside) == (5, 2)  # the row without an age counts, with no node
    assert points.x[:, :5] == pytest.approx(
        np.array([[1, 0, 0, 0, 0], [0, 0.8, 0.2, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
    )
    for block in range(design.blocks):
        assert np.abs(points.x[:, design.owners == block]).sum(axis=1).max() <= 1 + 1e-12
    # any line is among what nodes can say
    line, _ = FeatureMap(domain=DOMAIN, features=("age",), target="income").matrix(ages.slice(0, 4))
    assert points.x[:4, :5] @ np.linspace(-1, 1, 5) == pytest.approx(line[:, 0])
    for wrong in (1, -1, 2.0, 1001):
        with pytest.raises(InvalidInput, match="nodes"):
            FeatureMap(domain=DOMAIN, features=FEATURES, target="income", nodes=wrong)
    with pytest.raises(InvalidInput, match="not by both"):
        FeatureMap(domain=DOMAIN, features=FEATURES, target="income", nodes=5, coded=True)


def test_rows_beyond_the_bounds_can_be_left_out():
    points = FeatureMap(domain=DOMAIN, features=FEATURES, target="income", outside="leave-out").points(TABLE)
    assert (len(points), points.outside) == (2, 2)


def test_a_value_without_a_place_has_no_level():
    domain = Domain(attributes=[Categorical(name="a", levels=("x", "y")), Numeric(name="b", bounds=(0, 1), bins=2)])
    design = FeatureMap(domain=domain, features=("a",), target="b")
    points = design.points(pa.table({"a": ["x", "strange", None], "b": [0.0, 1.0, 1.0]}))
    assert points.x.tolist() == [[1, 0], [0, 0], [0, 0]]


def test_two_levels_are_minus_one_and_one():
    design = FeatureMap(domain=DOMAIN, features=("age",), target="smokes", task="logistic")
    assert design.points(TABLE.slice(0, 3)).y.tolist() == [-1, 1, 1]


def test_rows_of_a_person_are_bounded():
    from tacita.domain import Identifier

    domain = Domain(
        person="who",
        attributes=[
            Identifier(name="who"),
            Numeric(name="a", bounds=(0, 1), bins=4),
            Numeric(name="b", bounds=(0, 1), bins=4),
        ],
    )
    table = pa.table({"who": ["p"] * 8 + ["q"], "a": np.linspace(0, 1, 9), "b": np.linspace(0, 1, 9)})
    design = FeatureMap(domain=domain, features=("a",), target="b")
    batches = design.read(LocalEngine(domain, table), Unit.of_person("who", max_rows=2))
    assert sum(len(batch) for batch in batches) == 3


def test_it_comes_back_from_plain_data():
    design = FeatureMap(domain=DOMAIN, features=FEATURES, target="income", outside="leave-out")
    again = FeatureMap.from_dict(design.as_dict())
    assert again.as_dict() == design.as_dict()
    assert np.allclose(again.matrix(TABLE)[0], design.matrix(TABLE)[0], equal_nan=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"features": ()}, "at least one"),
        ({"features": ("age", "age")}, "distinct"),
        ({"features": ("income",)}, "target"),
        ({"task": "cubic"}, "linear, logistic or classes"),
        ({"outside": "keep"}, "clip or leave-out"),
        ({"target": "region", "task": "linear"}, "bounds"),
        ({"target": "children", "features": ("age",), "task": "logistic"}, "two levels"),
    ],
)
def test_what_cannot_be(changed, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureMap(**{"domain": DOMAIN, "features": ("age",), "target": "income"} | changed)


# -- in parts --------------------------------------------------------------------------------------------------------

PEOPLE = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Numeric(name="age", bounds=(0, 100), bins=4),
        Numeric(name="pay", bounds=(0, 10), bins=2, missing=True),
        Categorical(name="region", levels=("north", "south"), other=True),
        Boolean(name="smokes"),
    ],
)


def people(rows=900):
    rng = np.random.default_rng(4)
    age = rng.random(rows) * 120
    return pa.table(
        {
            "who": rng.integers(0, 200, rows),
            "age": age,
            "pay": pa.array(age / 20 + rng.normal(0, 1, rows), mask=rng.random(rows) < 0.05),
            "region": rng.choice(["north", "south", "east"], rows),
            "smokes": rng.random(rows) < age / 200,
        }
    )


LINE = {"target": "pay", "features": ("age", "region", "smokes")}
ODDS = {"target": "smokes", "features": ("age", "region"), "task": "logistic"}
SUMMED = {
    "functional": Regression(method="functional", **LINE),
    "sufficient": Regression(method="sufficient", **LINE),
    "odds": Regression(method="functional", **ODDS),
    "adassp": Regression(method="adassp", **LINE),
    "dpme": Regression(method="dpme", **LINE),
    "narrowed": NarrowedRegression(base=Regression(method="functional", **LINE)),
    "pca": PCA(columns=("age", "pay")),
    "k-means": KMeans(columns=("age", "pay"), clusters=2),
    "network": NumericNetwork(columns=("age", "pay")),
}


@pytest.mark.parametrize("max_rows", [2, 9])
@pytest.mark.parametrize("name", SUMMED)
def test_methods_that_sum_have_the_same_result_in_parts(name, max_rows):
    """To the last bit: what is summed is whole, and the noise is the same."""
    unit = Unit.of_person("who", max_rows=max_rows)
    plan = SUMMED[name].calibrate(PEOPLE, Budget.approx(8.0, 1e-6), unit=unit, neighbours=Neighbours.ADD_REMOVE)
    engines = PartsEngine(PEOPLE, people()), LocalEngine(PEOPLE, people()), LocalEngine(PEOPLE, people(800))
    found = [plan.run(engine, SeededSource(5)).as_dict() for engine in engines]
    mine, theirs, fewer = ({key: value for key, value in each.items() if key != "provenance"} for each in found)
    assert mine == theirs != fewer


def test_what_is_no_engine_is_summed_as_it_is():
    points = [Points(x=np.ones((2, 1)), y=np.ones(2), outside=1)] * 3
    assert add_up(iter(points), lambda batches: sum(len(each) for each in batches)) == 6
