"""Spark sessions, and its errors in our words.

pyspark comes with an extra, so it loads when it is first needed; Java does not come with it. A process has one Spark
context, which all engines share. Its own configuration (`spark-defaults.conf`, PYSPARK_SUBMIT_ARGS) is read as ever,
and can overrule what is set here, but for the master that an address names.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tacita.common.extras import load_module
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["jobs", "load", "place_of_table", "quiet", "session_of"]

CONNECT_SECONDS = 10.0
_AGAIN = 0.1
_LOCK = threading.Lock()
_LOGGING = (Path(__file__).parent / "log4j2.properties").as_uri()
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SETTINGS = {
    "spark.app.name": "tacita",
    "spark.ui.enabled": "false",  # it would listen on all addresses of this machine
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65535",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For a cluster on this machine: no other can connect."""


def load(module: str) -> Any:
    """Import an optional module, or raise an error that states how to install it."""
    return load_module(module, extra="spark", what="Spark", field="source")


@contextmanager
def quiet() -> Iterator[None]:
    """Skip Spark's warning about pandas, which we do not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def session_of(master: str | None = None) -> Any:
    """Return the session of this process, started if there is none.

    Args:
        master: Address of the cluster's master; None for the session that is there, or for what is configured.
    """
    with _LOCK, quiet():
        sql, context_of = load("pyspark.sql"), load("pyspark").SparkContext
        running = context_of._active_spark_context
        if running is not None:
            if master not in (None, running.master):
                raise InvalidInput(
                    "must be the cluster of the Spark session that this process has already",
                    field="source",
                    value=master,
                    hint=f"A process has one session, and here it is one of {running.master}; stop it first",
                )
            return sql.SparkSession(running)
        if master is not None:
            _check_master(master)
        _check_java()
        return _start(sql, master)


def _start(sql: Any, master: str | None) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not {"SPARK_CONF_DIR", "SPARK_HOME"} & set(os.environ):
        options = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Dlog4j2.configurationFile={_LOGGING}"
        os.environ["SPARK_SUBMIT_OPTS"] = options.strip()
    try:
        configured = dict(load("pyspark").SparkConf().getAll())  # starts Java, which reads the configuration
        builder = sql.SparkSession.builder
        if master is not None:
            builder = builder.master(master)
        chosen = master or configured.get("spark.master", "local")
        here = chosen.startswith("local") or all(host in _LOOPBACK for host, _ in _hosts(master))
        for name, value in (_SETTINGS | (_HERE if here else {})).items():
            if name not in configured or name == "spark.app.name":
                builder = builder.config(name, value)
        return builder.getOrCreate()
    except Exception as error:
        raise _in_our_words(error, master) from None


def _hosts(master: str | None) -> list[tuple[str, int]]:
    """Return the machines of a standalone master."""
    if master is None:
        return [("", 0)]
    named = [part.rpartition(":") for part in master.partition("//")[2].split(",")]
    return [(host.strip("[]"), int(port)) for host, _, port in named]


def _check_master(master: str) -> None:
    """Refuse a master that no one answers for: Spark would try for a minute."""
    for host, port in _hosts(master):
        with suppress(OSError), socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return
    raise SourceUnavailable(
        "no Spark master answers there",
        field="source",
        value=master,
        hint="Start the cluster, or write spark:PATH to count with a Spark on this machine",
    )


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (Path(home) / "bin" / "java").is_file() if home else shutil.which("java"):
        return
    raise InvalidInput(
        "Spark needs a Java runtime, and there is none",
        field="source",
        value=f"JAVA_HOME={home}" if home else None,
        hint="Install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME",
    )


@contextmanager
def jobs(session: Any, timeout: float | None = None) -> Iterator[None]:
    """Run jobs: errors in our words, and an end after so many seconds."""
    context, tag = session.sparkContext, f"tacita-{uuid.uuid4()}"
    done, late = threading.Event(), threading.Event()

    def watch() -> None:
        if not done.wait(timeout):
            late.set()
            context.cancelJobsWithTag(tag)
        while late.is_set() and not done.wait(_AGAIN):  # one question may start several jobs
            context.cancelJobsWithTag(tag)

    context.addJobTag(tag)
    if timeout is not None:
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except TacitaError:
        raise
    except Exception as error:
        if late.is_set():
            raise SourceUnavailable(
                "the cluster did not answer in time", field="source", hint=f"The limit is {timeout:g} s; give more"
            ).while_reading() from None
        raise _in_our_words(error, None) from None
    finally:
        done.set()
        with suppress(Exception):  # the context may be gone
            context.removeJobTag(tag)


def place_of_table(session: Any, table: str) -> tuple[str, ...]:
    """Return where the data of a table lies, whichever cluster reads it; the full name of a view, which has no data."""
    with jobs(session):
        found = session.catalog.getTable(table)
        rows = session.sql("DESCRIBE TABLE EXTENDED IDENTIFIER(:name)", args={"name": table}).collect()
    place = {row["col_name"]: row["data_type"] for row in rows}.get("Location")
    return (str(place),) if place else (str(found.catalog), *(found.namespace or ()), str(found.name))


def _in_our_words(error: Exception, master: str | None) -> TacitaError:
    """Convert an error of Spark by what it is about: its text may quote rows."""
    text, place = str(error), master
    for sign, rule, hint in _KNOWN:
        if sign in text:
            return SourceUnavailable(rule, field="source", value=place, hint=hint).while_reading()
    if type(error).__name__ in ("AnalysisException", "ParseException"):
        return DataError("Spark has no such table, or cannot read it", field="table")
    return SourceUnavailable(
        "the cluster could not finish the work", field="source", value=place, private=type(error).__name__
    ).while_reading()


_PYTHON = "Give executors the same Python environment: see the guide for Spark clusters"
_KNOWN = (
    ("No module named", "the executors lack a Python package that the work needs", _PYTHON),
    ("PYTHON_VERSION_MISMATCH", "the executors have another version of Python than this machine", _PYTHON),
    ("Cannot run program", "the executors find no Python where it should be", f"Set PYSPARK_PYTHON. {_PYTHON}"),
    ("JAVA_GATEWAY_EXITED", "Spark's Java process ended while it started", "Java must be 17 or newer: java -version"),
    ("unresponsive", "no Spark master answers there", "Start the cluster"),
    ("ExecutorLostFailure", "executors were lost, more often than Spark tries again", "Give them more memory"),
    ("maxResultSize", "the answer is larger than Spark may send", "Raise spark.driver.maxResultSize"),
    ("No space left", "an executor has no space left on its disk", None),
    ("OutOfMemoryError", "Spark has too little memory", "Raise spark.executor.memory, or spark.driver.memory"),
)
