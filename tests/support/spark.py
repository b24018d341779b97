"""A real Spark cluster for tests: a standalone master and two workers on this machine, gone afterwards.

    with SparkCluster() as cluster:
        engine = connect(f"{cluster.master}/data/people", domain)

Everything listens on the loopback address alone. All processes are ended by their ids, also when this process is
killed: a guard in a process of its own sees to that. Runs as any user, root too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.ports import free_port
from tools.java import install_java

from tacita.errors import SourceUnavailable

__all__ = ["SparkCluster"]

START_SECONDS = 240
HERE = "127.0.0.1"
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.memory": "512m",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.locality.wait": "0",
    "spark.ui.enabled": "false",
    "spark.driver.host": HERE,
    "spark.driver.bindAddress": HERE,
}
LOGGING = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""
GUARD = """
import os, shutil, signal, sys, time
folder = sys.argv[1]
def ours():
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if folder.encode() in file.read() and int(name) != os.getpid():
                    yield int(name)
        except OSError:
            pass
sys.stdin.read()
for order in [signal.SIGTERM] * 20 + [signal.SIGKILL] * 20:
    left = list(ours())
    for pid in left:
        try:
            os.kill(pid, order)
        except OSError:
            pass
    if not left:
        break
    time.sleep(0.25)
shutil.rmtree(folder, ignore_errors=True)
"""  # ends what carries the name of our folder in its environment, and nothing else


class SparkCluster:
    """A master and workers that live as long as this context.

    Args:
        workers: How many there are, with a core each.
        settings: Further settings of applications that are started from here.
    """

    def __init__(self, workers: int = 2, settings: dict[str, str] | None = None) -> None:
        self._count, self._settings = workers, SETTINGS | (settings or {})
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._before: dict[str, str | None] = {}
        self._started = 0
        self.master = ""
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._daemon: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all, and let applications of this process find their settings."""
        install_java()
        self._folder = Path(tempfile.mkdtemp(prefix="tacita-spark-"))
        (self._folder / "conf").mkdir()
        lines = [f"{name} {value}" for name, value in (self._settings | {"spark.local.dir": str(self._folder)}).items()]
        (self._folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
        (self._folder / "conf" / "driver.properties").write_text(LOGGING.format(file=self._folder / "driver.log"))
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", GUARD, str(self._folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )
        atexit.register(self.stop)
        for name, value in self._environment().items():
            self._before[name] = os.environ.get(name)
            os.environ[name] = value
        try:
            port = free_port()
            self.master = f"spark://{HERE}:{port}"
            command = ["Master", "--host", HERE, "--port", str(port), "--webui-port", "0"]
            self._daemon = self._run("master", command, "I have been elected leader")
            for _ in range(self._count):
                self.start_worker()
        except BaseException:
            self.stop()
            raise

    def start_worker(self) -> str:
        """Start one more worker and return its name."""
        self._started += 1
        name = f"worker-{self._started}"
        memory = ["--cores", "1", "--memory", "1g", "--host", HERE, "--webui-port", "0"]
        command = ["Worker", *memory, "--work-dir", str(self._root / "work"), self.master]
        self.workers[name] = self._run(name, command, "Successfully registered with master")
        return name

    def kill_worker(self, name: str) -> None:
        """Kill a worker and its executors with no chance to clean up."""
        worker = self.workers.pop(name)
        for pid in [worker.pid, *_descendants(worker.pid)]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        worker.wait()

    def logs(self) -> str:
        """All that drivers, executors and their Python workers have logged, at Spark's default levels."""
        files = [self._root / "driver.log", *(self._root / "work").rglob("std*")]
        return "\n".join(file.read_text(errors="replace") for file in files if file.is_file())

    def stop(self) -> None:
        """End all processes and remove the folder; a second call does nothing."""
        folder, self._folder = self._folder, None
        if folder is None:
            return
        atexit.unregister(self.stop)
        daemons = [*self.workers.values(), *([self._daemon] if self._daemon else [])]
        for process in daemons:
            process.terminate()
        if self._guard is not None:
            self._guard.communicate()  # ends what outlives its orders, and removes the folder
            self._guard = None
        for process in daemons:
            process.wait()
        self.workers.clear()
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @property
    def _root(self) -> Path:
        if self._folder is None:
            raise SourceUnavailable("the test cluster is not running", field="spark")
        return self._folder

    def _environment(self) -> dict[str, str]:
        return {
            "SPARK_CONF_DIR": str(self._root / "conf"),
            "SPARK_LOCAL_IP": HERE,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_SUBMIT_OPTS": f"-Dlog4j2.configurationFile={self._root / 'conf' / 'driver.properties'}",
        }

    def _run(self, name: str, command: list[str], ready: str) -> subprocess.Popen[bytes]:
        """Start a daemon of Spark, and wait until its log says that it works."""
        import pyspark

        home = Path(pyspark.__file__).parent
        kind, *arguments = command
        log = self._root / f"{name}.log"
        room = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), room, *arguments],
                env=os.environ | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(home)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._root,
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            if ready in log.read_text(errors="replace"):
                return process
            time.sleep(0.1)
        process.kill()
        process.wait()
        said = log.read_text(errors="replace")
        raise SourceUnavailable(f"Spark's {name} did not start", field="spark", private=said[-4000:])


def _descendants(pid: int) -> list[int]:
    """All processes below one, by the parents that the system knows."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        mine = children.get(left.pop(), [])
        found += mine
        left += mine
    return found
