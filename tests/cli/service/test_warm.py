"""Every kernel that a first command could wait for is compiled by `tacita warm`, and it leaves nothing behind."""

import json
import os
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import tacita
from tacita.cli.service import warm
from tacita.common.compiled import KERNELS

from ..conftest import run

COLD = {
    "tacita.anonymize.kernels.leftover": "kernels that other kernels call, cached with these",
    "tacita.anonymize.kernels.near": "kernels that other kernels call, cached with these",
    "tacita.anonymize.kernels.published": "baselines of the literature",
    "tacita.assess.disclosure": "releases in another order with tolerances",
    "tacita.collect.channels.shuffle": "a calculator of public numbers",
    "tacita.learn.functions.svm": "served functions",
    "tacita.synthesize.mobility.topic_models.louvain": "communities by another method",
    "tacita.synthesize.text.matching": "copied headlines",
}
"""Modules whose kernels may not be called by then, and why."""


def _modules_with_kernels():
    source = Path(tacita.__file__).parent
    for found in pkgutil.walk_packages(tacita.__path__, "tacita."):
        path = source.parent / (found.name.replace(".", "/") + ".py")
        if path.is_file() and re.search(r"^@compiled", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield found.name


def test_no_first_command_waits_for_a_kernel(monkeypatch, tmp_path):
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "own"))
    before, here = dict(os.environ), Path.cwd()
    done = run("warm", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["commands"] == len(warm.COMMANDS)
    assert dict(os.environ) == before
    assert Path.cwd() == here
    assert not (tmp_path / "own").exists(), "the ledger of the user is left alone"
    modules = set(_modules_with_kernels())
    assert len(modules) > 30
    for name in modules:
        import_module(name)
    ready = {kernel.py_func.__module__ for kernel in KERNELS if kernel.signatures}
    assert modules - ready <= COLD.keys()


def test_a_command_that_fails_is_named_and_the_folder_is_left(monkeypatch):
    monkeypatch.setattr(warm, "COMMANDS", ("query nowhere.csv -s rows.yaml -a rows --by age --epsilon 1",))
    here = Path.cwd()
    done = run("warm")
    assert done.code == 70
    assert "nowhere.csv" in done.err
    assert Path.cwd() == here
