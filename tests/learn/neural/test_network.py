"""Networks by DP-SGD: learnt, stored, used without torch, attacked, and accounted as others account."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.learn import FittedNetwork, NeuralNetwork
from tacita.learn.neural.layers import Layers
from tacita.learn.neural.network_estimators import PrivateNetworkClassifier, PrivateNetworkRegressor
from tacita.models.neural.training import Steps
from tacita.noise import SeededSource
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.testing.mechanism import audited_epsilon

torch = pytest.importorskip("torch")

ADD, ROW = Neighbours.ADD_REMOVE, Unit.row()
APPROX = Budget.approx(4.0, 1e-5)
DOMAIN = Domain(
    attributes=[
        Numeric(name="a", bounds=(-1, 1), bins=4),
        Numeric(name="b", bounds=(-1, 1), bins=4),
        Categorical(name="kind", levels=("in", "out", "nowhere")),
        Numeric(name="y", bounds=(0, 10), bins=4),
    ]
)
CIRCLE = NeuralNetwork(
    target="kind", features=("a", "b"), hidden=(16,), epochs=40, batch=500, people=4000, learning_rate=4.0
)


def rows(count=4000, seed=0):
    """What no line tells: near the middle or not, and a number that follows the distance."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, count))
    far = np.sqrt(a * a + b * b)
    kind = np.where(far > 0.8, "out", "in")
    return pa.table({"a": a, "b": b, "kind": kind, "y": np.clip(7 * far, 0, 10)})


def planned(recipe, budget=APPROX):
    return recipe.calibrate(DOMAIN, budget, unit=ROW, neighbours=ADD)


@pytest.fixture(scope="module")
def fitted():
    return planned(CIRCLE).run(LocalEngine(DOMAIN, rows()), SeededSource(0))


def test_classes_are_learnt_that_no_line_tells(fitted):
    test = rows(2000, seed=1)
    right = np.mean(np.array(fitted.predict(test).to_pylist()) == np.array(test["kind"].to_pylist()))
    assert right > 0.85
    assert fitted.probabilities(test).sum(axis=1) == pytest.approx(np.ones(2000))
    assert "simulated" in fitted.statement()


def test_numbers_are_learnt_within_their_bounds():
    recipe = replace(CIRCLE, target="y", task="linear", learning_rate=1.0, epochs=40)
    model = planned(recipe).run(LocalEngine(DOMAIN, rows()), SeededSource(0))
    test = rows(2000, seed=1)
    truth = test["y"].to_numpy()
    told = model.predict(test).to_numpy(zero_copy_only=False)
    assert 0 <= told.min() <= told.max() <= 10
    assert np.sqrt(np.mean((told - truth) ** 2)) < 0.75 * truth.std()
    assert model.classes is None
    with pytest.raises(InvalidInput, match="probabilities"):
        model.probabilities(test)


def test_a_row_that_lacks_a_number_is_told_nothing(fitted):
    assert fitted.predict(pa.table({"a": [None, 0.1], "b": [0.2, 0.1]})).to_pylist()[0] is None


def test_json_comes_back_and_broken_layers_do_not(fitted):
    again = FittedNetwork.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert (again.probabilities(rows(50)) == fitted.probabilities(rows(50))).all()
    narrow = Layers(fitted.layers.weights[1:], fitted.layers.biases[1:])
    with pytest.raises(InvalidInput, match="schema"):
        replace(fitted, layers=narrow)
    with pytest.raises(InvalidInput, match="fit each other"):
        Layers(fitted.layers.weights, fitted.layers.biases[::-1])
    with pytest.raises(InvalidInput, match="finite"):
        Layers((np.full((1, 1), np.nan),), (np.zeros(1),))


def test_arrays_say_what_torch_says(fitted):
    from tacita.learn.neural.network_training import module_of

    x = np.random.default_rng(2).uniform(-1, 1, (30, 2))
    with torch.no_grad():
        assert module_of(fitted.layers)(torch.from_numpy(x)).numpy() == pytest.approx(fitted.layers(x))


def test_predicting_needs_no_torch(fitted, tmp_path):
    (tmp_path / "model.json").write_text(fitted.to_json())
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "import pyarrow as pa\n"
        "from tacita.learn.models import read_model\n"
        f"model = read_model(open({str(tmp_path / 'model.json')!r}).read())\n"
        "print(model.predict(pa.table({'a': [0.0, 1.0], 'b': [0.0, 1.0]})).to_pylist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told = fitted.predict(pa.table({"a": [0.0, 1.0], "b": [0.0, 1.0]})).to_pylist()
    assert done.stdout.strip() == str(told)


def test_all_steps_and_no_more_are_made_and_paid_for():
    plan = planned(CIRCLE)
    assert plan.law.steps == 320
    assert plan.law.rate == 0.125
    assert 0.999 * 4 < epsilon_at(plan.event, 1e-5, ADD) <= 4.0
    assert plan.as_dict()["cost"] <= 4.0


def flat(layers):
    pairs = zip(layers.weights, layers.biases, strict=True)
    return np.concatenate([part.ravel() for pair in pairs for part in pair])


@pytest.mark.filterwarnings("ignore::UserWarning:opacus")
def test_the_account_is_that_of_opacus():
    accountants = pytest.importorskip("opacus.accountants")
    law = planned(CIRCLE, Budget.approx(1.0, 1e-5)).law
    other = accountants.PRVAccountant()
    other.history = [(law.noise_multiplier, law.rate, law.steps)]
    assert other.get_epsilon(delta=1e-5, eps_error=0.005) == pytest.approx(1.0, abs=0.02)


def test_gradients_of_a_network_are_clipped_as_opacus_clips():
    """One step over all rows without noise to speak of, against per-row gradients by hooks."""
    sampled = pytest.importorskip("opacus.grad_sample")
    from tacita.learn.feature_map import Points
    from tacita.learn.neural.network_training import module_of, train_privately

    rng = np.random.default_rng(3)
    start = Layers((rng.normal(size=(5, 2)), rng.normal(size=(3, 5))), (rng.normal(size=5), rng.normal(size=3)))
    x, y = rng.uniform(-1, 1, (40, 2)), rng.integers(0, 3, 40).astype(float)
    law = Steps(steps=1, rate=1.0, noise_multiplier=1e-9, clip=0.4)
    points = Points(x=x, y=y, outside=0)
    ended = train_privately(start, points, law, classes=True, learning_rate=1.0, expected=40.0, source=SeededSource(0))
    hooked = sampled.GradSampleModule(module_of(start), loss_reduction="sum")
    told = hooked(torch.from_numpy(x).requires_grad_())
    torch.nn.functional.cross_entropy(told, torch.from_numpy(y).long(), reduction="sum").backward()
    each = torch.cat([weight.grad_sample.flatten(1) for weight in hooked.parameters()], 1)
    theirs = (each * (0.4 / each.norm(dim=1)).clamp(max=1)[:, None]).sum(0).numpy() / 40
    moved = flat(start) - flat(ended)
    assert (each.norm(dim=1) > 0.4).any()
    assert np.abs(moved - theirs).max() < 0.006 * np.abs(theirs).max()


MARKS = Categorical(name="mark", levels=("none", "canary"))
SMALL = Domain(attributes=[MARKS, Categorical(name="y", levels=("n", "y"))])
LINE = NeuralNetwork(target="y", features=("mark",), hidden=(), epochs=1, batch=20, people=20, learning_rate=200.0)


def shown(plan, trials=250):
    """What an attack shows of one row that nobody else is like: only it moves the weights of its level."""

    def seen(canary, seed):
        """How often the class of the canary is far ahead at its level."""
        table = pa.table({"mark": ["none"] * 20 + ["canary"] * canary, "y": ["n", "y"] * 10 + ["y"] * canary})
        engine, source = LocalEngine(SMALL, table), SeededSource(seed)
        ends = [plan.run(engine, source).layers.weights[0][:, 1] for _ in range(trials)]
        return sum(end[1] - end[0] > 5.0 for end in ends)

    return audited_epsilon(seen(1, 0), seen(0, 10**6), trials, delta=1e-5)


def test_an_attack_stays_below_the_claim_and_finds_a_broken_one():
    plan = LINE.calibrate(SMALL, Budget.approx(1.0, 1e-5), unit=ROW, neighbours=ADD)
    assert shown(plan) <= 1.0
    quiet = replace(plan.law, noise_multiplier=plan.law.noise_multiplier / 30)
    assert shown(replace(plan, law=quiet)) > 1.0


def test_no_rows_are_no_reason_to_stop():
    model = planned(CIRCLE).run(LocalEngine(DOMAIN, rows(4).slice(0, 0)), SeededSource(0))
    assert len(model.predict(rows(3))) == 3


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"hidden": (0,)}, "hidden"),
        ({"hidden": (2,) * 9}, "hidden"),
        ({"epochs": 0}, "epochs"),
        ({"batch": 1.5}, "batch"),
        ({"people": 0}, "people"),
        ({"clip": 0.0}, "clip"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"task": "logistic"}, "task"),
        ({"batch": 1, "people": 10**9}, "epochs"),
        ({"people": 10**400}, "people"),
        ({"clip": 1e-320}, "clip"),
        ({"learning_rate": 1e308}, "learning_rate"),
    ],
)
def test_bad_recipes_are_refused(wrong, field):
    with pytest.raises(InvalidInput) as caught:
        replace(CIRCLE, **wrong)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"neighbours": Neighbours.REPLACE_ONE}, "neighbours"),
        ({"unit": Unit.of_person("kind", max_rows=2)}, "unit"),
        ({"budget": Budget.pure(1.0)}, "budget"),
        ({"budget": Budget.zcdp(0.1)}, "budget"),
        ({"budget": Budget.approx(1000.0, 1e-12)}, "budget"),
        ({"budget": Budget.approx(1e-3, 1e-12)}, "budget"),
        ({"epochs": 8000, "hidden": (128, 128)}, "epochs"),
        ({"hidden": (600, 600)}, "hidden"),
        ({"target": "nothing"}, "attribute"),
    ],
)
def test_what_a_network_cannot_promise_is_refused(changes, field):
    given = {"budget": APPROX, "unit": ROW, "neighbours": ADD} | changes
    recipe = replace(CIRCLE, **{name: given.pop(name) for name in ("hidden", "target", "epochs") if name in given})
    with pytest.raises((InvalidInput, UnknownName)) as caught:
        recipe.calibrate(DOMAIN, given.pop("budget"), **given)
    assert caught.value.field == field


@pytest.mark.filterwarnings("ignore::tacita.errors.PrivacyWarning")
def test_estimators_follow_the_conventions():
    table = rows()
    X, y = np.column_stack([table["a"], table["b"]]), np.array(table["kind"].to_pylist())
    sizes = {"people": 4000, "batch": 500, "hidden": (16,), "epsilon": 4.0, "delta": 1e-5, "random_state": 0}
    classifier = PrivateNetworkClassifier(bounds=(-1, 1), learning_rate=4.0, epochs=40, **sizes).fit(X, y)
    assert classifier.score(X, y) > 0.85
    assert classifier.predict_proba(X[:5]).shape == (5, 2)
    assert classifier.get_params()["hidden"] == (16,)
    line = PrivateNetworkRegressor(bounds=(-1, 1), target_bounds=(0, 10), epochs=40, **sizes)
    line.fit(X, table["y"].to_numpy())
    assert line.predict(X[:7]).shape == (7,)
    assert epsilon_at(line.event_, 1e-5, ADD) <= 4.0


def test_planning_looks_at_no_noise_that_is_slow_to_account(monkeypatch):
    """Small rates and large budgets allow very little noise, whose loss distribution takes minutes."""
    looked = []
    step = Steps.event.fget

    def event(law):
        looked.append(law.noise_multiplier)
        return step(law)

    monkeypatch.setattr(Steps, "event", property(event))
    recipe = replace(CIRCLE, batch=7, people=400_000, epochs=1)
    law = planned(recipe, Budget.approx(16.0, 1e-9)).law
    assert min(looked) >= 0.7 == law.noise_multiplier
    assert len(looked) < 10


def test_a_plan_is_calibrated_once(monkeypatch):
    recipe = replace(CIRCLE, epochs=3)
    first = planned(recipe)
    monkeypatch.setattr("tacita.learn.neural.network.narrowest", None)
    assert planned(replace(recipe, hidden=(5,))).law == first.law


def test_training_says_how_far_it_is_and_can_be_ended():
    plan = planned(replace(CIRCLE, epochs=2))
    said = []
    plan.watched(said.append).run(LocalEngine(DOMAIN, rows(400)), SeededSource(0))
    assert len(said) == plan.law.steps
    assert said == sorted(said)
    assert said[-1] == 1

    class Enough(Exception):
        pass

    def end(share):
        said.append(share)
        raise Enough

    said.clear()
    with pytest.raises(Enough):
        plan.watched(end).run(LocalEngine(DOMAIN, rows(400)), SeededSource(0))
    assert said == [1 / plan.law.steps]


def test_weights_that_overflow_are_refused(fitted):
    with pytest.raises(InvalidInput, match="layers"):
        Layers(tuple(np.full(w.shape, 1.7e308) for w in fitted.layers.weights), fitted.layers.biases)
