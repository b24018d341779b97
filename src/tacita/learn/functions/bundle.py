"""A function as one signed file, to be loaded elsewhere.

    table, features     the noisy numbers: may be copied as often as one likes
    parameters          a fitted model: the same
    path                rows, weights, answered points and the noise behind them, sealed: exporting *moves* it.
                        Two copies that answer new points on their own would draw two noises for one function, so the
                        exported one answers nothing new, and a store takes a function up once

A bundle is loaded if its signature is right and is by a key that the caller trusts. Even so, nothing is written before
all of it was checked; what it says about a fitted model is worked out again from the model. It says when its function
was made: an older one does not become the newest of its name unless the caller says so.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, TacitaError
from tacita.learn.functions.model import FunctionModel
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.registry import Entry, Registry, Stored, check_name, stored_of
from tacita.report.signing import SigningKey, canonical, check_signature, fingerprint_of, read_canonical
from tacita.store import aware, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import model_points, models

__all__ = ["MARK", "dataset_of_bundle", "export_bundle", "load_bundle"]

MARK = "function-bundle/2"
_ID = re.compile(r"fn_[0-9a-f]{32}")
_CHARGE = re.compile(r"[\x21-\x7e]{0,40}")
_AHEAD = dt.timedelta(minutes=5)  # what clocks may differ by


def export_bundle(registry: Registry, ref: str, signer: SigningKey, *, principal: str = LOCAL) -> str:
    """The bundle of a function as JSON text. One with a path is moved: it answers no new points here any more."""
    entry = registry.get(ref)
    model = registry.model(entry)
    if model.service_only and not entry.sealed:
        raise Conflict(
            "holds private rows, and was released without a key to seal them",
            field="model",
            value=ref,
            hint="Release it with a key, or with random features",
        )
    points: list[Any] = []
    payload = model.payload()
    with registry.database.writing() as connection:
        if model.service_only:
            state = registry.lock(connection, entry.id).state
            if state != "active":  # the bundle that was moved first holds the only copy that answers
                raise Conflict(f"was {state}", field="model", value=ref, hint="A function moves once")
            connection.execute(models.update().where(models.c.id == entry.id).values(state="moved"))
            payload = connection.execute(sa.select(models.c.payload).where(models.c.id == entry.id)).scalar_one()
            query = model_points.select().where(model_points.c.model == entry.id).order_by(model_points.c.place)
            points = [_point(row) for row in connection.execute(query)]
        append(connection, "model-exported", entry.dataset, principal, **entry.named)
    body = {
        "tacita": MARK,
        "id": entry.id,
        "name": entry.name,
        "version": entry.version,
        "created": entry.created.isoformat(),
        "dataset": entry.dataset,
        "charge": entry.charge,
        "about": dict(entry.about),
        "sealed": model.service_only,
        "payload": _text(payload),
        "points": points,
        "signer": signer.public,
    }
    return json.dumps(body | {"signature": signer.sign(canonical(body))})


def dataset_of_bundle(text: str, *, trusted: Sequence[str]) -> str:
    """The dataset that the function of a bundle belongs to, if the signature is right."""
    body = _checked(text, trusted)
    _check_parts(body)
    return str(body["dataset"])


def load_bundle(
    registry: Registry, text: str, *, trusted: Sequence[str], principal: str = LOCAL, older: bool = False
) -> Entry:
    """Take up the function of a bundle.

    Args:
        registry: Where it goes.
        text: The bundle.
        trusted: Public keys whose signature is accepted.
        principal: User who imports it.
        older: Whether it may become the newest of its name though one that was made later is there.
    """
    body = _checked(text, trusted)
    _check_parts(body)
    try:
        payload, row, points = _unpacked(registry, body)
        _check_model(body, stored_of(body["about"], payload))
    except TacitaError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile):
        raise InvalidInput("lacks parts of a function", field="bundle") from None
    try:
        with registry.database.writing() as connection:
            _check_newest(connection, row, older)
            version = registry.next_version(connection, row["dataset"], row["name"])
            connection.execute(models.insert().values(**row, version=version))
            if points:
                connection.execute(model_points.insert(), points)
            said = {"model": row["id"], "name": row["name"], "version": version}
            append(connection, "model-loaded", row["dataset"], principal, **said)
    except sa.exc.IntegrityError:
        raise Conflict(
            "was taken up, or released, here before",
            field="model",
            value=row["id"],
            hint="A function moves to a store once",
        ) from None
    return registry.get(row["id"])


def _unpacked(registry: Registry, body: Mapping[str, Any]) -> tuple[bytes, dict[str, Any], list[dict[str, Any]]]:
    """Unpack the payload, the row of the function, and the rows of its points."""
    payload = base64.b64decode(body["payload"])
    about, id = body["about"], body["id"]
    if about["simulated"]:
        raise InvalidInput("is of a simulated function, whose noise can be worked out", field="bundle", value=id)
    if body["sealed"]:
        payload_open = registry.seal.open(payload, f"{id} payload")  # before anything is written: the key fits
        sealed = True
    else:
        payload_open, sealed = payload, registry.seal.has_key
        payload = registry.seal.close(payload, f"{id} payload")
    row = {name: body[name] for name in ("id", "name", "dataset", "charge")} | {
        "state": "active",
        "about": json.dumps(about),
        "payload": payload,
        "sealed": sealed,
        "points": len(body["points"]),
        "created": dt.datetime.fromisoformat(body["created"]),
    }
    return payload_open, row, [_row(id, point) for point in body["points"]]


def _checked(text: str, trusted: Sequence[str]) -> dict[str, Any]:
    body = read_canonical(text, field="bundle")
    try:
        signature = body.pop("signature")
        signer = body["signer"]
        known = body["tacita"] == MARK
    except KeyError:
        raise InvalidInput("is no bundle of a function", field="bundle") from None
    if not known:
        raise InvalidInput(f"must be a {MARK}", field="bundle", value=body["tacita"])
    if signer not in trusted:
        raise InvalidInput(
            "is signed by a key that is not trusted",
            field="signature",
            value=fingerprint_of(str(signer)),
            hint="Ask who made it for their public key, and name it",
        )
    if not check_signature(canonical(body), str(signature), signer):
        raise InvalidInput("the signature does not fit: it was changed, or signed by another key", field="signature")
    return dict(body)


def _check_parts(body: Mapping[str, Any]) -> None:
    """Refuse what has a part of a kind that no export writes."""
    check_name(body.get("name"))  # type: ignore[arg-type]
    dataset, charge = body.get("dataset"), body.get("charge")
    version = body.get("version")
    sound = {
        "id": isinstance(body.get("id"), str) and _ID.fullmatch(body["id"]),
        "dataset": isinstance(dataset, str) and 1 <= len(dataset) <= 200,
        "charge": charge is None or (isinstance(charge, str) and _CHARGE.fullmatch(charge)),
        "version": type(version) is int and 1 <= version < 1 << 31,
        "created": _is_past(body.get("created")),
        "about": isinstance(body.get("about"), dict),
        "sealed": isinstance(body.get("sealed"), bool),
        "payload": isinstance(body.get("payload"), str),
        "points": isinstance(body.get("points"), list),
    }
    for name, good in sound.items():
        if not good:
            raise InvalidInput("is no part that an export writes", field=f"bundle.{name}")


def _is_past(text: Any) -> bool:
    try:
        made = dt.datetime.fromisoformat(text)
        return made.tzinfo is not None and made <= now() + _AHEAD
    except (TypeError, ValueError):
        return False


def _check_model(body: Mapping[str, Any], model: Stored) -> None:
    """Refuse words that do not fit what answers."""
    if body["sealed"] != model.service_only or (body["points"] and not model.service_only):
        raise InvalidInput("only what has a noise path is sealed, and has points", field="bundle.sealed")
    if isinstance(model, FunctionModel):
        _ = model.domain.project(model.features), model.functions, model.sigma, model.about["classes"]
        return
    fitted = model.fitted
    if fitted.provenance.simulated:
        raise InvalidInput("is of a simulated model, whose noise can be worked out", field="bundle", value=body["id"])
    said = json.loads(json.dumps(ParametricModel.of_fitted(fitted).about))
    if said != body["about"] or fitted.provenance.charge not in (None, body["charge"]):
        raise InvalidInput("says something else than the model in it", field="bundle.about")


def _check_newest(connection: sa.Connection, row: Mapping[str, Any], older: bool) -> None:
    asked = models.c.state.not_in(("pending", "deleted"))
    same = (models.c.dataset == row["dataset"], models.c.name == row["name"], asked)
    newest = connection.execute(sa.select(sa.func.max(models.c.created)).where(*same)).scalar_one_or_none()
    if newest is not None and aware(newest) > row["created"] and not older:
        raise Conflict(
            "was made before the newest of its name here, and would be asked instead of it",
            field="bundle.created",
            value=row["created"].isoformat(),
            hint="Say that it is older, if that is what you want",
        )


def _point(row: sa.Row[Any]) -> list[Any]:
    return [_text(row.point), row.place, _text(row.answer), None if row.hidden is None else _text(row.hidden)]


def _row(id: str, point: Sequence[Any]) -> dict[str, Any]:
    place, hidden = point[1], point[3]
    return {
        "model": id,
        "point": base64.b64decode(point[0]),
        "place": place,
        "answer": base64.b64decode(point[2]),
        "hidden": None if hidden is None else base64.b64decode(hidden),
    }


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
