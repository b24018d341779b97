"""Fitted models and bundles served by themselves: no dataset, no ledger, no token, and the same routes.

What is served here has left already: parameters with their noise. A function with a noise path is refused: it has to
remember every answer for as long as it is asked, and what this keeps is gone when it ends.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from tacita import __version__
from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.learn.functions.bundle import MARK, load_bundle
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.registry import Registry
from tacita.learn.models import read_model
from tacita.server.auth.auth import authenticated
from tacita.server.auth.tokens import Token
from tacita.server.http import errors, logs
from tacita.server.http.gate import Gate
from tacita.server.http.listening import listen
from tacita.server.routes import health
from tacita.server.routes.releases import models
from tacita.server.services import Services
from tacita.settings import Settings
from tacita.store import now

__all__ = ["create_models_app", "serve_models"]

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def create_models_app(
    files: Sequence[Path], *, trusted: Sequence[str], home: Path, no_guarantee: bool = False
) -> FastAPI:
    """An ASGI application that answers for some files.

    Args:
        files: Fitted models as JSON, and bundles. A model is called as its file, without `.json`.
        trusted: Public keys whose bundles are taken.
        home: A folder of its own, which is gone when the application ends.
        no_guarantee: Whether models are taken that promise nothing.
    """
    services = Services.open(Settings.load(home=home, state=f"sqlite:///{home / 'state.db'}", models_key=None))
    try:
        for file in files:
            _take_up(services.functions.registry, file, trusted, no_guarantee)
    except BaseException:
        _end(services)
        raise

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        _end(services)

    app = FastAPI(title="Tacita models", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.services = services
    limits = services.settings
    app.add_middleware(
        Gate,
        metrics=services.metrics,
        max_request_bytes=limits.max_request_bytes,
        max_upload_bytes=limits.max_upload_bytes,
    )
    errors.install(app)
    app.include_router(models.router)
    app.include_router(health.router)
    anybody = Token(id="local", name="anyone", role="analyst", datasets=None, created=now())
    app.dependency_overrides[authenticated] = lambda: anybody
    return app


def serve_models(
    files: Sequence[Path],
    *,
    trusted: Sequence[str],
    host: str,
    port: int,
    no_guarantee: bool = False,
    warn: Callable[[list[str]], None] = lambda unguarded: None,
) -> None:
    """Serve models until a signal ends it.

    The callback gets the names of the models without a guarantee, once all files have been checked.
    """
    logs.configure("info")
    home = Path(tempfile.mkdtemp(prefix="tacita-models-"))
    app = create_models_app(files, trusted=trusted, home=home, no_guarantee=no_guarantee)
    entries = app.state.services.functions.registry.list(limit=1000)
    warn([entry.name for entry in entries if _promises_nothing(entry.about["event"])])
    listen(app, host=host, port=port)


def _end(services: Services) -> None:
    services.close()
    shutil.rmtree(services.settings.home, ignore_errors=True)


def _promises_nothing(event: Mapping[str, Any]) -> bool:
    return event.get("kind") == "non-private"


def _take_up(registry: Registry, file: Path, trusted: Sequence[str], no_guarantee: bool) -> None:
    try:
        text = file.read_text(encoding="utf-8")
        mark = json.loads(text).get("tacita")
    except OSError as error:
        raise SourceUnavailable("cannot be read", field="model", value=f"{file}: {error.strerror}") from None
    except (ValueError, AttributeError):
        hint = "Write one with tacita learn fit, or export a bundle"
        raise InvalidInput("must be a fitted model or a bundle", field="model", value=file, hint=hint) from None
    if mark == MARK:
        if json.loads(text).get("sealed") is not False:
            raise Conflict(
                "has a noise path, which must be remembered for ever",
                field="model",
                value=file,
                hint="Take it up with `tacita function load`, and serve it with `tacita serve`",
            )
        entry = load_bundle(registry, text, trusted=trusted)
        _check_alone(registry, entry.name, file)
        _check_promise(entry.about["event"], file, no_guarantee)
        return
    fitted = read_model(text)
    _check_promise(fitted.event.as_dict(), file, no_guarantee)
    if fitted.provenance.simulated:
        raise InvalidInput("is simulated: its noise can be worked out, so it is not served", field="model", value=file)
    name = _UNFIT.sub("-", file.name.removesuffix(".json")).strip("-") or "model"
    id = registry.put(ParametricModel.of_fitted(fitted), name)
    provenance = fitted.provenance
    registry.activate(id, charge=provenance.charge or "", dataset=provenance.dataset or "local")
    _check_alone(registry, name, file)


def _check_alone(registry: Registry, name: str, file: Path) -> None:
    if len(registry.list(name=name)) > 1:
        raise Conflict("has the name of another file", field="model", value=file, hint="Rename one of them")


def _check_promise(event: Mapping[str, Any], file: Path, no_guarantee: bool) -> None:
    if _promises_nothing(event) and not no_guarantee:
        raise InvalidInput(
            "has no guarantee: it may reveal facts about the rows that it was made from",
            field="model",
            value=file,
            hint="Pass --no-guarantee to serve it all the same",
        )
