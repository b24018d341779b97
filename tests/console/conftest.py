"""The server's world, with the console's door on it."""

import pytest

from tacita.console.door import routes
from tacita.console.sessions import Sessions

from ..server.conftest import empty_state, world_of  # noqa: F401


@pytest.fixture
def doored(world_of):  # noqa: F811
    """An app with the console's plain HTTP side, without its pages; and its sessions."""
    world = world_of()
    sessions = Sessions(world.services.tokens)
    world.app.router.routes[:0] = routes(world.app, sessions)
    return world, sessions
