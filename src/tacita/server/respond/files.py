"""The files of the page, with one version for all of them.

The version is a digest of every file and stands in every address. So a browser that has one file of a version has them
all or asks for them, a file may be kept for ever, and two people who see one version run one page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PREFIX", "Files", "client_folder", "load"]

PREFIX = "/respond"
_HERE = Path(__file__).parent
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files of the page: the content and media type of each name."""

    version: str
    content: dict[str, tuple[bytes, str]]

    @property
    def page(self) -> bytes:
        """The page itself, the same for every campaign."""
        return self.content["page.html"][0]


def client_folder() -> Path:
    """The JavaScript client: inside the package when it is installed, in the repository when it is developed."""
    packed = _HERE / "client"
    return packed if packed.is_dir() else _HERE.parents[3] / "clients" / "js" / "src"


@cache
def load() -> Files:
    """Read all files, once for a process."""
    raw = dict(_read())
    digest = hashlib.sha256()
    for name, data in sorted(raw.items()):
        digest.update(json.dumps([name, len(data)]).encode() + data)
    version = digest.hexdigest()[:16]
    languages = " ".join(sorted(Path(name).stem for name in raw if name.startswith("words/")))
    page = raw["page.html"].replace(b"{version}", version.encode()).replace(b"{languages}", languages.encode())
    raw["page.html"] = page
    kept = sorted(name for name in raw if name != "worker.js")  # what the worker keeps; a browser keeps the worker
    raw["files.json"] = json.dumps(kept).encode()
    return Files(version=version, content={name: (data, _MEDIA[Path(name).suffix]) for name, data in raw.items()})


def _read() -> Iterator[tuple[str, bytes]]:
    for place, folder in (("", _HERE / "static"), ("words/", _HERE / "words"), ("client/", client_folder())):
        for file in folder.iterdir():
            yield f"{place}{file.name}", file.read_bytes()
