import os

import anyio
import pytest

from tacita.console.api import Api
from tacita.errors import Forbidden, Unauthorized, UnknownName


def signed_in(world, role):
    text = world.token(role)
    return lambda: text


def test_errors_come_back_as_what_they_were(world_of):
    world = world_of()
    world.register()
    api = Api(world.app, signed_in(world, "analyst"))
    assert [d["name"] for d in anyio.run(api.get, "/v1/datasets")] == ["patients"]
    with pytest.raises(Forbidden, match="role"):
        anyio.run(api.get, "/v1/datasets/patients/charges")
    with pytest.raises(UnknownName, match="nobody"):
        anyio.run(api.get, "/v1/datasets/nobody")


def test_files_and_bodies_travel(world_of):
    world = world_of()
    api = Api(world.app, signed_in(world, "steward"))
    anyio.run(api.send_file, "/v1/sources/towns", b"town\nBari\n", "text/csv")
    assert anyio.run(api.delete, "/v1/sources/towns")["name"] == "towns"


def test_a_key_makes_it_happen_once(world_of):
    world = world_of()
    world.register()
    api = Api(world.app, signed_in(world, "analyst"))
    body = {"kind": "query", "dataset": "patients", "tables": [["smokes"]], "budget": {"epsilon": 0.1}}

    async def twice():
        key = api.new_key()
        return [(await api.post("/v1/jobs", body, key=key))["id"] for _ in range(2)]

    one, other = anyio.run(twice)
    assert one == other


def test_who_has_signed_out_asks_nothing_more(world_of):
    world = world_of()
    texts = [world.token("analyst")]
    api = Api(world.app, lambda: texts[0] if texts else None)
    assert anyio.run(api.get, "/v1/datasets") == []
    texts.clear()
    with pytest.raises(Unauthorized, match="session has ended"):
        anyio.run(api.get, "/v1/datasets")


def test_what_is_public_is_computed_in_the_pool(world_of):
    world = world_of()

    async def compute():
        found = await Api(world.app, signed_in(world, "analyst")).compute(os.getpid)
        await world.services.computing.close()
        return found

    assert anyio.run(compute) != os.getpid()
    with pytest.raises(Unauthorized):
        anyio.run(Api(world.app, lambda: None).compute, os.getpid)
