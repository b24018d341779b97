"""Every method and every criterion is on every surface, because all of them read two registries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tacita.anonymize.criteria.registry import CRITERIA, all_parameters
from tacita.anonymize.methods.registry import METHODS, all_options
from tacita.anonymize.parameters import REQUIRED
from tacita.cli.main import app
from tacita.server.releasing.registry import KINDS
from tacita.wire import AnonymizedRequest, AnonymizeOptions, PolicyInfo, PolicyModel

ROOT = Path(__file__).parents[2]
PARAMETERS = [each.name for each in all_parameters()]
OPTIONS = ["method", *(each.name for each in all_options())]


def choices(schema):
    """The values of a member that is one of some texts, or null."""
    return set(schema.get("enum") or [value for part in schema.get("anyOf", []) for value in part.get("enum", [])])


def test_the_command_line_has_an_option_for_each():
    command = typer.main.get_command(app).get_command(None, "anonymize")  # type: ignore[attr-defined]
    known = {parameter.name: parameter for parameter in command.params}
    for name in (*PARAMETERS, *OPTIONS):
        assert f"--{name.replace('_', '-')}" in known[name].opts
        assert known[name].help
    for name in METHODS:
        assert f"{name}: " in known["method"].help
    for each in all_parameters():
        assert known[each.name].required == (each.default is REQUIRED)
        assert each.help[:-1] in known[each.name].help


@pytest.mark.parametrize("model", [AnonymizedRequest, AnonymizeOptions])
def test_requests_have_a_member_for_each(model):
    members = model.model_json_schema()["properties"]
    for name in (*PARAMETERS, *OPTIONS):
        assert members[name]["description"]
    assert members["method"]["enum"] == list(METHODS)
    assert choices(members["loss"]) == {"gcp", "precision", "entropy", "discernibility"}
    assert choices(members["l_kind"]) == {"distinct", "entropy", "recursive"}


def test_policies_have_a_member_for_each_criterion():
    for model in (PolicyModel, PolicyInfo):
        assert set(PARAMETERS) <= set(model.model_fields)
        assert not set(OPTIONS) & set(model.model_fields)  # a policy leaves the method to the buyer


def test_the_published_contract_has_them():
    schemas = json.loads((ROOT / "spec" / "openapi.json").read_text())["components"]["schemas"]
    assert set(PARAMETERS) | set(OPTIONS) <= set(schemas["AnonymizedRequest"]["properties"])
    assert schemas["AnonymizedRequest"]["properties"]["method"]["enum"] == list(METHODS)
    assert set(PARAMETERS) <= set(schemas["PolicyModel"]["properties"])
    assert KINDS["anonymized"].request is AnonymizedRequest


@pytest.mark.parametrize("page", ["docs/guides/anonymize.md", "docs/reference/cli.md", "docs/reference/rest.md"])
def test_documents_name_each(page):
    text = (ROOT / page).read_text()
    for name in METHODS:
        assert name in text
    dashes = "rest" not in page
    for name in PARAMETERS:
        assert (f"`--{name.replace('_', '-')}" if dashes else f"`{name}`") in text, name


def test_claims_name_each_criterion():
    text = (ROOT / "docs" / "claims" / "k-anonymity.md").read_text()
    for kind in CRITERIA:
        assert f"\n| {kind.name}" in text, kind.name


SCRIPT = """
import sys
from dataclasses import dataclass, field
from typing import ClassVar
from tacita.anonymize.criteria.criterion import Criterion
from tacita.anonymize.criteria.registry import CRITERIA
from tacita.anonymize.parameters import described

@dataclass(frozen=True, kw_only=True)
class Example(Criterion):
    name: ClassVar[str] = "example"
    example: float | None = field(default=None, metadata=described("An example.", gt=0))
    words = "an example"
    def measure(self, classes):
        return classes.shares.max(axis=1)

CRITERIA.append(Example)

from tacita.cli import main
from tacita.server.data.policies import Policy
from tacita.wire import AnonymizedRequest, PolicyModel

assert AnonymizedRequest(dataset="d", k=5, example=0.5).asked()["example"] == 0.5
policy = Policy.from_dict(PolicyModel(quasi=["a"], k=5, example=0.5).policy())
assert policy.as_dict()["example"] == 0.5
assert policy.recipe(k=5, example=0.4).conditions.as_dict() == {"k": 5, "example": 0.4}
try:
    policy.recipe(k=5, example=0.6)
except Exception as error:
    assert "example 0.5" in str(error)
else:
    raise AssertionError
sys.argv = ["tacita", "anonymize", "--help"]
main()
"""


def test_one_line_in_the_registry_puts_a_criterion_on_every_surface():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--example" in done.stdout
    assert "An example." in done.stdout
