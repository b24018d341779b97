"""A function as one signed file, to be loaded elsewhere.

    table, features     the noisy numbers: may be copied as often as one likes
    parameters          a fitted model: the same
    path                rows, weights, answered points and the noise behind them, sealed: exporting *moves* it.
                        Two copies that answer new points on their own would draw two noises for one function, so the
                        exported one answers nothing new, and a store takes a function up once

A bundle is loaded if its signature is right and is by a key that the caller trusts.
"""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, TacitaError
from tacita.learn.functions.registry import Entry, Registry, check_name, stored_of
from tacita.signing import SigningKey, canonical, check_signature, fingerprint_of
from tacita.store import now
from tacita.store.schema import model_points, models

__all__ = ["dataset_of_bundle", "export_bundle", "load_bundle"]

_MARK = "function-bundle/1"


def export_bundle(registry: Registry, ref: str, signer: SigningKey) -> str:
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
    if model.service_only:
        with registry.database.writing() as connection:
            state = registry.lock(connection, entry.id).state
            if state != "active":  # whoever moved it first has the only one that answers
                raise Conflict(f"was {state}", field="model", value=ref, hint="A function moves once")
            connection.execute(models.update().where(models.c.id == entry.id).values(state="moved"))
            payload = connection.execute(sa.select(models.c.payload).where(models.c.id == entry.id)).scalar_one()
            query = model_points.select().where(model_points.c.model == entry.id).order_by(model_points.c.place)
            points = [_point(row) for row in connection.execute(query)]
    body = {
        "tacita": _MARK,
        "id": entry.id,
        "name": entry.name,
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
    return str(_checked(text, trusted).get("dataset"))


def load_bundle(registry: Registry, text: str, *, trusted: Sequence[str]) -> Entry:
    """Take up the function of a bundle.

    Args:
        registry: Where it goes.
        text: The bundle.
        trusted: Public keys whose signature is accepted.
    """
    body = _checked(text, trusted)
    try:
        payload, row, points = _unpacked(registry, body)
        stored_of(body["about"], payload)
    except TacitaError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile):
        raise InvalidInput("lacks parts of a function", field="bundle") from None
    try:
        with registry.database.writing() as connection:
            version = registry.next_version(connection, row["dataset"], row["name"])
            connection.execute(models.insert().values(**row, version=version))
            if points:
                connection.execute(model_points.insert(), points)
    except sa.exc.IntegrityError:
        raise Conflict(
            "was taken up, or released, here before",
            field="model",
            value=row["id"],
            hint="A function moves to a store once",
        ) from None
    return registry.get(row["id"])


def _unpacked(registry: Registry, body: Mapping[str, Any]) -> tuple[bytes, dict[str, Any], list[dict[str, Any]]]:
    """What answers, the function's row, and those of its points."""
    payload = base64.b64decode(body["payload"])
    about, id = body["about"], body["id"]
    check_name(body["name"])
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
        "created": now(),
    }
    return payload_open, row, [_row(id, point) for point in body["points"]]


def _checked(text: str, trusted: Sequence[str]) -> dict[str, Any]:
    try:
        body = json.loads(text)
        signature = body.pop("signature")
        signer = body["signer"]
        known = body["tacita"] == _MARK
    except (ValueError, KeyError, AttributeError, TypeError):
        raise InvalidInput("is no bundle of a function", field="bundle") from None
    if not known:
        raise InvalidInput(f"must be a {_MARK}", field="bundle", value=body["tacita"])
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
