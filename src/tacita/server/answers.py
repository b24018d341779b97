"""How released numbers leave the server: this response takes releases and nothing else."""

from __future__ import annotations

from starlette.responses import Response

from tacita.errors import InternalError
from tacita.release import Release, Releases

__all__ = ["ReleaseResponse"]


class ReleaseResponse(Response):
    """A release, or several, as JSON; one whose noise could be repeated is refused (privacy rule 6)."""

    media_type = "application/json"

    def __init__(self, content: Release | Releases) -> None:
        if not isinstance(content, Release | Releases):
            raise InternalError("only a release can be served", field="content")
        parts = content.values() if isinstance(content, Releases) else [content]
        if any(release.provenance.simulated for release in parts):
            raise InternalError("a simulated release must not be served", field="content")
        super().__init__(content.to_json())
