import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "java.py"
SPEC = importlib.util.spec_from_file_location("java", PATH)
java = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(java)


def test_java_that_is_there_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.install_java() == str(tmp_path / "bin" / "java")


def test_a_java_home_without_java_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SystemExit, match="no Java: install version 17 or newer"):
        java.install_java()


def test_java_is_installed_by_root_alone(monkeypatch):
    ran = []
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda name, path=None: None if name == "java" else "/usr/bin/apt-get")
    monkeypatch.setattr(java.subprocess, "run", lambda command, **_: ran.append(command))
    monkeypatch.setattr(java.os, "geteuid", lambda: 0)
    with pytest.raises(SystemExit, match="no java on the PATH"):
        java.install_java()
    assert [command[1] for command in ran] == ["update", "install"]
    assert ran[1][-1] == "openjdk-17-jre-headless"
    monkeypatch.setattr(java.os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="no Java"):
        java.install_java()
