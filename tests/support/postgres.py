"""A real PostgreSQL for tests: started in a folder of its own, gone afterwards.

    with PostgresServer() as server:
        url = server.create_database()

The server listens on a socket inside its folder and nowhere else, so nobody but its owner (and root) can
connect, although it asks for no password. PostgreSQL refuses to run as root; then it runs as `postgres`.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import psycopg
from psycopg import sql

from tacita.errors import SourceUnavailable

__all__ = ["PostgresServer", "find_binaries"]

PORT = 5432  # only names the socket file
TESTING_USER = "postgres"
START_SECONDS = 120
GUARD = """
import os, shutil, signal, sys, time
pid, folder = int(sys.argv[1]), sys.argv[2]
sys.stdin.read()
for order in [signal.SIGQUIT] * 50 + [signal.SIGKILL]:
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            if folder not in file.read():
                break
        os.kill(pid, order)
    except OSError:
        break
    time.sleep(0.1)
shutil.rmtree(folder, ignore_errors=True)
"""  # when nobody holds the other end of stdin any more, ends our server, not a stranger with its number
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class PostgresServer:
    """A PostgreSQL server that lives as long as this context.

    The server is also gone when this process is killed: a guard in a process of its own sees to that.

    Args:
        fsync: Survive a power cut; off by default, because tests do not need it and it is slow.
        settings: Further server settings as `name=value`.
    """

    def __init__(self, *, fsync: bool = False, settings: tuple[str, ...] = ()) -> None:
        self._settings = (*(() if fsync else FAST), *settings)
        self._folder: Path | None = None
        self._bin: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._names = itertools.count(1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Make the data folder and start the server; a second call does nothing."""
        if self._folder is not None:
            return
        self._bin = find_binaries()
        self._folder = Path(tempfile.mkdtemp(prefix="tacita-pg-", dir=_reachable_temp()))
        atexit.register(self.stop)  # also when a test run is interrupted between start and exit
        if os.geteuid() == 0:
            user = pwd.getpwnam(TESTING_USER)
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        try:
            self._run(
                "initdb",
                "-D",
                self._data,
                "-A",
                "trust",
                "-U",
                TESTING_USER,
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            )
            server = (
                "-o",
                self._options(),
                "-l",
                self._log,
            )  # the log file also takes our pipe out of its hands
            self._run("pg_ctl", "-D", self._data, *server, "-w", "-t", START_SECONDS, "start")
            self._guard = _watch(self.pid, self._folder)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server and remove its folder; a second call does nothing."""
        folder, self._folder = self._folder, None
        if folder is None:
            return
        atexit.unregister(self.stop)
        with contextlib.suppress(SourceUnavailable):
            self._run("pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop", cwd=folder)
        if self._guard is not None:
            self._guard.communicate()  # ends what outlived its orders
            self._guard = None
        shutil.rmtree(folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """Address of a database, as libpq, SQLAlchemy and ADBC read it."""
        if self._folder is None:
            raise SourceUnavailable("the test server is not running", field="postgres")
        return f"postgresql://{TESTING_USER}@/{quote(database)}?host={quote(str(self._folder))}&port={PORT}"

    def create_database(self, name: str | None = None) -> str:
        """Make an empty database and give its address."""
        name = name or f"test_{next(self._names)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    @property
    def pid(self) -> int:
        """Process id of the server, the parent of all its processes."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    @property
    def _data(self) -> Path:
        assert self._folder is not None
        return self._folder / "data"

    @property
    def _log(self) -> Path:
        assert self._folder is not None
        return self._folder / "log"

    def _options(self) -> str:
        settings = (
            "listen_addresses=",
            f"port={PORT}",
            f"unix_socket_directories={self._folder}",
            *self._settings,
        )
        return " ".join(f"-c {setting}" for setting in settings)

    def _run(self, program: str, *arguments: object, cwd: Path | None = None) -> None:
        """Run one of PostgreSQL's programs as the user that owns the folder."""
        assert self._bin is not None
        command = [str(self._bin / program), *map(str, arguments)]
        result = subprocess.run(
            command,
            cwd=cwd or self._folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **_as_user(),
        )
        if result.returncode:
            raise SourceUnavailable(
                f"{program} failed with status {result.returncode}",
                field="postgres",
                hint="Its output is in the error's private part",
                private=result.stdout + self._read_log(),
            )

    def _read_log(self) -> str:
        try:
            return self._log.read_text(errors="replace")
        except (OSError, AssertionError):
            return ""


def find_binaries() -> Path:
    """The folder with the server's programs: Debian's, PATH's or pgserver's; installed if there is none."""
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install_debian()
        found = _installed()
    if found is None and os.geteuid() != 0:
        found = _from_wheel()
    if found is None:
        raise SourceUnavailable(
            "no PostgreSQL server programs were found",
            field="postgres",
            hint="Install them: apt-get install postgresql, or, when not root, pip install pgserver",
        )
    return found


def _installed() -> Path | None:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(4))
    on_path = shutil.which("initdb")
    # what is on PATH may be a link or a wrapper: its neighbours are beside the real file
    candidates = [*reversed(versions), *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in candidates if _complete(folder)), None)


def _complete(folder: Path) -> bool:
    return all((folder / program).is_file() for program in ("initdb", "pg_ctl", "postgres"))


def _install_debian() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "postgresql"],
    ):
        subprocess.run(command, env=environment, check=False, capture_output=True)


def _from_wheel() -> Path | None:
    """pgserver's programs alone: its own way of starting them loosens the permissions of folders."""
    home = Path.home() / ".cache" / "tacita" / "pgserver"
    spec = importlib.util.find_spec("pgserver")
    package = Path(spec.origin).parent if spec and spec.origin else home / "pgserver"
    if not package.is_dir():
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(home),
            "pgserver",
        ]
        subprocess.run(command, check=False, capture_output=True)
    folder = package / "pginstall" / "bin"
    return folder if _complete(folder) else None


def _reachable_temp() -> str:
    """A folder for temporary files that another user can pass through; none is changed to make it so."""
    candidates = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    for candidate in candidates:
        path = Path(candidate).resolve()
        short = len(str(path)) < 60  # a socket's path holds about 100 characters
        if short and (os.geteuid() != 0 or all(_passable(folder) for folder in (path, *path.parents))):
            return str(path)
    raise SourceUnavailable(
        f"the user {TESTING_USER!r} cannot reach any folder for temporary files",
        field="postgres",
        hint="Set TMPDIR to a folder that all users can pass through",
    )


def _passable(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def _as_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(TESTING_USER)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _watch(pid: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the guard, out of reach of what stops this process and its group."""
    command = [sys.executable, "-I", "-S", "-c", GUARD, str(pid), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, cwd="/")
