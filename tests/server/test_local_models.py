"""Models served by themselves: one process, the same routes, no state that outlives it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pytest
from tests.support.ports import free_port

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.learn import Bayes, Regression, Trees
from tacita.learn.functions import ReleaseFunction
from tacita.learn.functions.bundle import export_bundle
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.sealing import Seal
from tacita.learn.on_release import ReleasedRows, fit_on_release
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.signing import SigningKey
from tacita.server.local_models import create_models_app
from tacita.store import Database
from tacita.tables.release import Releases

DOMAIN = Domain(
    attributes=[Numeric(name="age", bounds=(0, 100), bins=10), Categorical(name="ill", levels=("no", "yes"))]
)
KEY = base64.b64encode(bytes(range(32))).decode()
NOTION = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
ROWS = pa.table({"age": np.linspace(0, 100, 400), "ill": ["no", "yes"] * 200})


def model_of(recipe, source=None):
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), **NOTION)
    return plan.run(LocalEngine(DOMAIN, ROWS), source or SecureSource())


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    tree = model_of(Trees(target="ill", features=("age",), depth=2))
    line = model_of(Regression(target="age", features=("ill",)))
    (tmp_path / "tree.json").write_text(tree.to_json())
    (tmp_path / "my line.json").write_text(line.to_json())
    return [tmp_path / "tree.json", tmp_path / "my line.json"]


def bundle_of(folder: Path, signer: SigningKey, form: str) -> Path:
    registry = Registry(Database(f"sqlite:///{folder / 'one.db'}"), Seal(KEY))
    recipe = ReleaseFunction(kind="density", features=("age",), form=form, random=16)
    plan = recipe.calibrate(DOMAIN, Budget.approx(1.0, 1e-6), **NOTION)
    id = registry.put(plan.fit(LocalEngine(DOMAIN, ROWS), SecureSource()), form)
    registry.activate(id, charge="ch_1", dataset="people")
    (folder / f"{form}.json").write_text(export_bundle(registry, id, signer))
    return folder / f"{form}.json"


def test_a_process_answers_and_leaves_nothing(files, tmp_path) -> None:
    signer = SigningKey.new()
    files.append(bundle_of(tmp_path, signer, "features"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    kept = tmp_path / "kept"
    kept.mkdir()
    environment = os.environ | {"TACITA_HOME": str(tmp_path / "home"), "TMPDIR": str(kept)}
    names = [str(file) for file in files]
    command = [sys.executable, "-c", "from tacita.cli.main import main; main()", "learn", "serve", *names]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--signed-by", signer.public], env=environment, stderr=subprocess.PIPE
    )
    http = httpx.Client(base_url=url, timeout=120)
    try:
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(httpx.TransportError):
                if http.get("/healthz").status_code == 200:
                    break
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        told = http.post("/v1/models/tree/predict", json={"points": [[20], [90]]})
        assert told.status_code == 200, told.text
        again = http.post("/v1/models/tree/predict", json={"rows": [{"age": 20}, {"age": 90}]})
        assert again.json() == told.json()
        assert set(told.json()["labels"]) <= {"no", "yes"}
        assert http.post("/v1/models/my-line/predict", json={"points": [["yes"]]}).status_code == 200
        assert http.post("/v1/models/features/predict", json={"points": [[20]]}).status_code == 200
        assert http.get("/v1/models/tree/parameters").json()["parameters"] == json.loads(files[0].read_text())
        assert {each["name"] for each in http.get("/v1/models").json()} == {"tree", "my-line", "features"}
        wrong = http.post("/v1/models/tree/predict", json={"points": [[20, 3]]})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "points[0]")
        assert http.delete("/v1/models/tree").status_code == 405
        assert http.post("/v1/models/fit", json={}).status_code in (404, 405)
        assert "tacita_points_predicted_total" in http.get("/metrics").text
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        http.close()
    assert list(kept.iterdir()) == []
    assert not (tmp_path / "home" / "state.db").exists()


def test_what_is_not_served(files, tmp_path) -> None:
    signer = SigningKey.new()
    with pytest.raises(Conflict, match="noise path"):
        create_models_app([bundle_of(tmp_path, signer, "path")], trusted=[signer.public], home=tmp_path / "home")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(InvalidInput, match="trusted"):
        create_models_app(
            [bundle_of(other, SigningKey.new(), "features")], trusted=[signer.public], home=tmp_path / "home"
        )
    simulated = tmp_path / "simulated.json"
    simulated.write_text(model_of(Trees(target="ill", features=("age",)), SeededSource(0)).to_json())
    with pytest.raises(InvalidInput, match="simulated"):
        create_models_app([simulated], trusted=[], home=tmp_path / "home")
    (tmp_path / "text.json").write_text("a line")
    with pytest.raises(InvalidInput, match="fitted model"):
        create_models_app([tmp_path / "text.json"], trusted=[], home=tmp_path / "home")


def test_two_files_of_one_name_are_refused(files, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "tree.json"
    twin.write_text(files[1].read_text())
    with pytest.raises(Conflict, match="another file"):
        create_models_app([files[0], twin], trusted=[], home=tmp_path / "home")


def test_mixed_with_simulated_tables_it_is_not_served(tmp_path) -> None:
    recipe = Bayes(target="ill", features=("age", "job"))
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="job", levels=("a", "b"))])
    engine = LocalEngine(domain, ROWS.append_column("job", pa.array(["a", "b"] * 200)))

    def table(feature, source):
        plan = Bayes(target="ill", features=(feature,)).calibrate(domain, Budget.pure(1.0), **NOTION)
        return plan.run(engine, source).releases["ill", feature]

    for sources in ((SecureSource(), SeededSource(0)), (SeededSource(0), SecureSource())):
        tables = Releases(table(name, source) for name, source in zip(("age", "job"), sources, strict=True))
        (tmp_path / "mixed.json").write_text(fit_on_release(recipe, tables, np.random.default_rng(0)).to_json())
        with pytest.raises(InvalidInput, match="simulated"):
            create_models_app([tmp_path / "mixed.json"], trusted=[], home=tmp_path / "home")


def test_a_model_without_a_guarantee_is_served_only_if_that_is_said(tmp_path) -> None:
    recipe = Trees(target="ill", features=("age",), depth=2)
    raw = fit_on_release(recipe, ReleasedRows(domain=DOMAIN, rows=ROWS), np.random.default_rng(0))
    (tmp_path / "raw.json").write_text(raw.to_json())
    with pytest.raises(InvalidInput, match="no guarantee"):
        create_models_app([tmp_path / "raw.json"], trusted=[], home=tmp_path / "home")
    app = create_models_app([tmp_path / "raw.json"], trusted=[], home=tmp_path / "home", no_guarantee=True)
    assert [entry.name for entry in app.state.services.functions.registry.list()] == ["raw"]
    app.state.services.close()


def test_a_file_that_is_not_there_is_said_to_be_away(tmp_path):
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        create_models_app([tmp_path / "nothing.json"], trusted=[], home=tmp_path / "home")
