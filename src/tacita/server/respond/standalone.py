"""The respondent's page as a folder of static files, to be hosted by someone whom respondents trust.

The aggregator is fixed when the folder is made: the policy of the page lets it reach no one else. The ledger and the
reports are in the storage of the host's origin, which the aggregator can neither read nor clear.
Claim: docs/claims/respondent-page.md
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tacita.collect.device.question import check_origin
from tacita.errors import InvalidInput
from tacita.server.respond.files import PREFIX, load

__all__ = ["build"]

_SERVED_ONLY = {"worker.js", "files.json", "page.html"}


def build(aggregator: str, out: Path) -> list[Path]:
    """Write the page for one aggregator into a new folder.

    Args:
        aggregator: Its origin, such as https://survey.example.
        out: The folder; it must not exist, or be empty.

    Returns:
        The files, index.html first.
    """
    origin = aggregator.lower().rstrip("/")
    check_origin(origin, "aggregator")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput("must be a new or an empty folder", field="out", value=str(out))
    files = load()
    texts = {"index.html": _index(files.page.decode(), files.version, origin).encode()}
    texts |= {name: content for name, (content, _) in sorted(files.content.items()) if name not in _SERVED_ONLY}
    for name, content in texts.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return [out / name for name in texts]


def _index(page: str, version: str, origin: str) -> str:
    policy = "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            f"connect-src 'self' {origin}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
    page = page.replace(f"{PREFIX}/{version}/", "./")
    page = page.replace('<html lang="en"', f'<html lang="en" data-aggregator="{escape(origin)}"')
    return page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n    {meta}')
