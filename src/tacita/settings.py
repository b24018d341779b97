"""Settings: the environment (TACITA_*) over a TOML file over defaults.

    TACITA_PORT=9000 TACITA_CONFIG=/etc/tacita.toml tacita serve

Addresses with credentials are stored only here: requests name a source, answers and logs never hold its
address. Every setting is described in docs/reference/settings.md; a test fails when one is not.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from tacita.common.roles import Role
from tacita.engines.local.files.stored import is_stored
from tacita.engines.spark.address import SparkAddress, is_spark
from tacita.errors import InvalidInput

__all__ = ["Grant", "HolderSettings", "OpenIdSettings", "Settings", "SourceSettings", "check_address"]

CONFIG = "TACITA_CONFIG"
DEFAULT_CONFIG = Path("tacita.toml")


_FORMER_HOME = Path(".tacita")
_LOOPBACK_NAMES = ("127.0.0.1", "::1", "localhost")


def _default_home() -> Path:
    """One place for each user, whatever folder a command runs in: another folder must not be another budget."""
    if (_FORMER_HOME / "state.db").exists():
        raise InvalidInput(
            "an earlier version kept its ledger in this folder's .tacita, and it is not read by default any more",
            field="home",
            hint="Set TACITA_HOME=.tacita to continue with it, or move it to the new TACITA_HOME",
        )
    return user_data_path("tacita", appauthor=False)


class SourceSettings(BaseModel):
    """Address of one named source: a database URL with a table, data that Spark counts, or a path."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: SecretStr | None = Field(
        default=None, description="Address of a database, with its credentials; or spark:PATH."
    )
    path: Path | None = Field(default=None, description="A file, or a folder of files, inside `data_folders`.")
    table: str | None = Field(
        default=None, min_length=1, description="The table or collection, when the source is a database."
    )
    unwind: str | None = Field(
        default=None, min_length=1, description="The list whose elements are the rows, when the source is MongoDB."
    )
    consent: Path | None = Field(
        default=None, description="A CSV of who agreed to which purpose; without consent no row of a person is read."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("give either url or path")
        if self.url is not None and self.table is None and self.counted is None:
            raise ValueError("a database source needs a table")
        if self.path is not None and self.table is not None:
            raise ValueError("a file has no table")
        if self.unwind is not None and not self.is_mongo:
            raise ValueError("only documents in MongoDB have lists to unwind")
        _ = self.place  # an address that cannot be read says so here
        return self

    @property
    def brought(self) -> bool:
        """Whether it is a file that came over the network, which is opened in a process of its own."""
        return False

    @property
    def address(self) -> str:
        """Address that an engine connects to. Holds credentials: never show it."""
        return self.url.get_secret_value() if self.url is not None else str(self.path)

    @property
    def is_mongo(self) -> bool:
        """Whether it is a collection in MongoDB."""
        return self.url is not None and self.address.lower().startswith(("mongodb:", "mongodb+srv:"))

    @property
    def counted(self) -> str | None:
        """Files that Spark counts: a path, or an address in a store."""
        if self.url is None or not is_spark(self.address):
            return None
        try:
            return SparkAddress.parse(self.address).path
        except InvalidInput as error:
            raise ValueError(error.rule) from None

    @property
    def files(self) -> Path | None:
        """A file or folder on this machine that holds the rows, also if Spark counts them."""
        if self.counted is not None and not is_stored(self.counted):
            return Path(self.counted)
        return self.path

    @property
    def place(self) -> tuple[str, ...]:
        """Identity of the data, whatever the credentials: two sources with the same place are the same data.

        Links and other names of a server, which only a connection can show, are compared when a dataset is
        registered.
        """
        if self.files is not None:
            return self.files.expanduser().resolve().parts
        assert self.url is not None
        if is_spark(self.address):
            return ("spark", *(self.counted or f"catalog/{self.table}").rstrip("/").split("/"))
        find = _collection_place if self.is_mongo else _table_place
        return find(self.url.get_secret_value(), str(self.table))


class HolderSettings(BaseModel):
    """Address of a holder of a federated synthesis, and the file with its token."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str = Field(description="Address of the holder; https, or http on this machine only.")
    token_file: Path = Field(description="The file with the token that its operator gave.")


class Grant(BaseModel):
    """A role for people with a value in a claim."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: str = Field(min_length=1, description="The claim, such as `groups`, `email` or `sub`.")
    value: str = Field(min_length=1, description="The value that it must have, or have among others.")
    role: Role = Field(description="The role that they get.")
    datasets: Literal["all"] | tuple[str, ...] = Field(description="Their scope: datasets and campaigns, or `all`.")

    def fits(self, claims: Mapping[str, Any]) -> bool:
        """Whether a person with these claims has it. An address counts only if the provider has verified it."""
        found = claims.get(self.claim)
        if self.claim == "email" and claims.get("email_verified") is not True:
            return False
        return self.value in found if isinstance(found, list) else found == self.value

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The scope of a token; None for everything."""
        return None if self.datasets == "all" else self.datasets


class OpenIdSettings(BaseModel):
    """A provider of OpenID Connect, and what its people may do."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    issuer: str = Field(description="The issuer, as the provider states it; https, or http on this machine only.")
    client_id: str = Field(min_length=1, description="Name of this server at the provider.")
    client_secret: SecretStr | None = Field(default=None, description="Its secret there; none for a public client.")
    label: str = Field(default="your organisation", max_length=60, description="Name on the button: Sign in with …")
    scopes: tuple[str, ...] = Field(
        default=("openid", "profile", "email"), description="What is asked for; groups may need one more."
    )
    back: str | None = Field(
        default=None,
        description="Address that the provider sends people back to, registered there: ADDRESS/console/openid/back. "
        "From the request by default; state it behind a proxy.",
    )
    grants: tuple[Grant, ...] = Field(min_length=1, description="Roles; the first that fits counts.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_address(self.issuer)
        if self.back is not None:
            check_address(self.back)
        if "openid" not in self.scopes:
            raise ValueError("scopes must have openid")
        return self


def check_address(address: str) -> None:
    """Refuse an address that others could read or answer."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES):
        raise ValueError("must be https, or http on this machine")


class Settings(BaseSettings):
    """Everything that can be set. Use `Settings.load()`: its errors name the setting.

    A release made with seeded noise is never served; there is no setting for that.
    """

    model_config = SettingsConfigDict(
        env_prefix="TACITA_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    home: Path = Field(
        default_factory=_default_home,
        description="Folder for state and queue, unless they are set; the user's own data folder by default.",
    )
    state: SecretStr | None = Field(
        default=None, description="URL of the state database; `sqlite:///HOME/state.db` by default."
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8642, ge=1, le=65535, description="Port to listen on.")
    sources: dict[str, SourceSettings] = Field(
        default_factory=dict, description="Named data sources; requests use the names."
    )
    data_folders: tuple[Path, ...] = Field(default=(Path(),), description="Folders that file sources must lie in.")
    holders: dict[str, HolderSettings] = Field(
        default_factory=dict, description="Holders of data elsewhere, whom stewards may ask for federated runs."
    )
    max_cells: int = Field(default=1_000_000, ge=1, description="Most cells of all tables of one query together.")
    max_request_bytes: int = Field(default=8 << 20, ge=1 << 10, description="Largest request body.")
    max_upload_bytes: int = Field(default=256 << 20, ge=1 << 10, description="Largest request body with a file.")
    max_unrolling: int = Field(
        default=1000, ge=1, description="Most bytes that the rows of a Parquet file may take for each byte of it."
    )
    max_reader_bytes: int = Field(
        default=1 << 30, ge=1 << 26, description="Most memory for reading a file that someone uploaded."
    )
    database_seconds: float = Field(
        default=3600.0, ge=1, description="Most seconds for one statement in the database of a source."
    )
    rate_limit: int = Field(default=600, ge=0, description="Requests a minute for each token; 0 for no limit.")
    anonymous_rate_limit: int = Field(
        default=6000,
        ge=0,
        description="Requests a minute without a token for each address, a report counting as one; 0 for no limit.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(),
        description="Addresses or networks of proxies whose `X-Forwarded-For` is believed; none by default. Without "
        "it all who come through a proxy share one rate limit.",
    )
    compute_processes: int = Field(
        default=2, ge=1, le=64, description="Plans, rehearsals and fits that are computed at once."
    )
    compute_seconds: float = Field(
        default=300.0, ge=1, description="A plan, rehearsal or fit that takes longer is stopped; 422."
    )
    client_seconds: float = Field(
        default=30.0, ge=1, description="A client that is silent inside a request for longer is disconnected."
    )
    drain_seconds: float = Field(
        default=0.0,
        ge=0,
        le=3600,
        description="Seconds for which the server goes on after SIGTERM, with `/readyz` answering 503: more than a "
        "proxy needs to notice.",
    )
    shutdown_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="Seconds that requests in flight may take when a server that ends accepts nothing more.",
    )
    min_free_bytes: int = Field(
        default=64 << 20, ge=0, description="With less free space for state and files, `/readyz` answers 503."
    )
    jobs_queue: Literal["state"] | Path | None = Field(
        default=None,
        description="The job queue: `state` for the state database, which workers of all hosts share, or a file. By "
        "default `state` where the state is PostgreSQL, and the file `HOME/jobs.db` where it is SQLite.",
    )
    witness: Literal["off"] | Path | None = Field(
        default=None,
        description="A folder in which the last charges are noted outside of the state, so that a state that was put "
        "back is recognised: `HOME/witness` by default; on another volume than the state is better. `off` for none.",
    )
    worker: bool = Field(default=True, description="Whether `tacita serve` starts a worker process as well.")
    job_workers: int = Field(default=1, ge=1, le=64, description="Jobs that a worker process runs at once.")
    job_stale_seconds: float = Field(
        default=30.0, ge=0.5, description="A running job that has given no sign for so long is started again."
    )
    job_attempts: int = Field(default=3, ge=1, description="How often a job is started before it counts as failed.")
    job_modules: tuple[str, ...] = Field(
        default=(), description="Modules that a worker imports, to register further kinds of job."
    )
    models_key: SecretStr | None = Field(
        default=None, description="32 bytes in base64: seals functions and their noise in the state database."
    )
    openid: OpenIdSettings | None = Field(
        default=None, description="A provider of OpenID Connect by which people sign in to the console."
    )
    console: bool = Field(default=True, description="Whether `tacita serve` has the console, under /console.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=_config_file())

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        places: dict[str, tuple[str, ...]] = {}
        allowed = [folder.expanduser().resolve() for folder in self.data_folders]
        for name, source in self.sources.items():
            for other, place in places.items():
                if _overlap(source.place, place):  # two names would be two budgets for the same people
                    raise ValueError(f"sources.{name}: is the same data as the source {other!r}, or a part of it")
            places[name] = source.place
            if source.files is None:
                continue
            path = source.files.expanduser().resolve()
            # a link inside a folder can lead out of it
            files = [file.resolve() for file in path.rglob("*")] if path.is_dir() else []
            if not all(any(file.is_relative_to(folder) for folder in allowed) for file in (path, *files)):
                where = "path" if source.path is not None else "url"
                raise ValueError(f"sources.{name}.{where}: must lie in one of `data_folders`, with all that is in it")
        return self

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read all settings.

        Raises:
            InvalidInput: One of them breaks a rule; `field` names it and the hint says how it is set.
        """
        try:
            return cls(**overrides)
        except ValidationError as error:
            raise _named(error) from None
        except SettingsError as error:
            name = str(error).partition('"')[2].partition('"')[0]
            raise InvalidInput("must be JSON in the environment", field=name, hint=_hint(name)) from None
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"is not TOML: {error}", field=CONFIG, value=str(_config_file())) from None

    @property
    def state_url(self) -> str:
        """Address of the state. Holds credentials: never show it."""
        return self.state.get_secret_value() if self.state else f"sqlite:///{self.home / 'state.db'}"

    @property
    def witness_folder(self) -> Path | None:
        """Folder of the files that charges are noted in; None if they are noted nowhere."""
        return None if self.witness == "off" else self.witness or self.home / "witness"

    @property
    def queue_file(self) -> Path | None:
        """Path of the queue of jobs; None where it is in the state database."""
        if isinstance(self.jobs_queue, Path):
            return self.jobs_queue
        shared = self.jobs_queue == "state" or not self.state_url.startswith("sqlite")
        return None if shared else self.home / "jobs.db"


_LOCAL = ("", "127.0.0.1", "::1")


def _table_place(url: str, table: str) -> tuple[str, ...]:
    """Return the table that an address means, as libpq reads it; without credentials."""
    from tacita.engines.postgres.driver import load
    from tacita.engines.postgres.names import table_parts

    try:
        parts = load("psycopg.conninfo").conninfo_to_dict(url)
    except load("psycopg").ProgrammingError:  # its message repeats the address
        raise ValueError("must be an address like postgresql://user@host:5432/database") from None
    try:
        names = table_parts(table)
    except InvalidInput:  # not the name of a table; registering the source reports it
        names = (table,)
    if len(names) == 1:  # an address can set another schema than the usual one
        names = (parts.get("options", "public"), *names)
    host = parts.get("host", "").lower().rstrip(".")
    database = parts.get("dbname") or parts.get("user") or ""
    where = (parts.get("hostaddr", ""), parts.get("port", "5432"), parts.get("service", ""), database)
    return ("localhost" if host in _LOCAL else host, *map(str, where), *names)


def _collection_place(url: str, collection: str) -> tuple[str, ...]:
    """Return the collection that an address means; without credentials."""
    from tacita.engines.mongo.driver import place_of

    try:
        hosts, database = place_of(url)
    except InvalidInput as error:
        raise ValueError(error.rule) from None
    names = [host.rpartition(":") for host in hosts] if url.startswith("mongodb:") else [("", "", hosts[0])]
    local = sorted(f"{'localhost' if host in _LOCAL else host}:{port}" for host, _, port in names)
    return ("mongodb", ",".join(local), database, collection)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two places are the same, or one is a folder above the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _config_file() -> Path:
    chosen = os.environ.get(CONFIG)
    if chosen and not Path(chosen).is_file():
        raise InvalidInput("no such file", field=CONFIG, value=chosen)
    return Path(chosen) if chosen else DEFAULT_CONFIG


def _named(error: ValidationError) -> InvalidInput:
    """The first fault, by the name of its setting. The value is left out: it may hold a password."""
    first = error.errors(include_input=False)[0]
    path = [str(part) for part in first["loc"]]
    rule = first["msg"].removeprefix("Value error, ")
    if not path:  # our own check over all settings puts the name first
        name, _, rule = rule.partition(": ")
        path = name.split(".")
    if first["type"] == "extra_forbidden":
        rule = "no such setting"
    return InvalidInput(rule[:1].lower() + rule[1:], field=".".join(path), hint=_hint(".".join(path)))


def _hint(name: str) -> str:
    variable = "TACITA_" + name.upper().replace(".", "__")
    return f"Set {variable}, or {name} in the file that {CONFIG} names"
