"""Wrap the prose of all Markdown files at 100 columns; with --check, only name the files that are not wrapped.

Tables, headings, code and HTML stay as they are. Code spans and links are never broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100
_HELD = "\0"  # a space that must not become a line break
_ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)(?=\S)")
_TOKEN = re.compile(r"`+[^`]+`+|!?\[[^\]]*\]\([^)]*\)")
_MARK = re.compile(r" (?=(?:[-*+#>]|\d+[.)]) |[-*+#>=]+$|\|)")  # what would begin a list, a heading, a quote or a table


def wrap(text: str) -> str:
    """Return the text with its paragraphs and list items wrapped."""
    done: list[str] = []
    held: list[str] = []
    first = rest = ""
    fence: str | None = None

    def flush() -> None:
        nonlocal held
        if held:
            done.extend(_fill(" ".join(held), first, rest))
        held = []

    for line in text.split("\n"):
        bare = line.strip()
        if fence is not None or bare.startswith(("```", "~~~")):
            flush()
            done.append(line)
            if fence is None:
                fence = bare[:3]
            elif bare.startswith(fence):
                fence = None
            continue
        item = _ITEM.match(line)
        if not bare or bare.startswith(("#", "|", "<", ">", "---", "===")):
            flush()
            done.append(line.rstrip())
        elif item:
            flush()
            first = item.group(0)
            rest = " " * len(first)
            held = [line[len(first) :].strip()]
        elif line.startswith("    ") and not held:
            done.append(line.rstrip())  # a block of code
        else:
            if not held:
                first = rest = line[: len(line) - len(line.lstrip())]
            held.append(bare)
    flush()
    return "\n".join(done)


def _fill(text: str, first: str, rest: str) -> list[str]:
    kept = _TOKEN.sub(lambda found: found.group().replace(" ", _HELD), text)
    kept = _MARK.sub(_HELD, kept)
    lines = textwrap.wrap(
        kept, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_HELD, " ") for line in lines]


def files() -> list[Path]:
    """Return all Markdown files that the project tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in sorted(set(listed.stdout.split())) if (ROOT / name).is_file()]


def main(arguments: list[str]) -> int:
    """Wrap, or check."""
    wrong = []
    for path in files():
        text = path.read_text(encoding="utf-8")
        wrapped = wrap(text)
        if wrapped != text:
            wrong.append(path.relative_to(ROOT))
            if "--check" not in arguments:
                path.write_text(wrapped, encoding="utf-8")
    for name in wrong:
        print(f"{name}: {'is not wrapped: run `make format`' if '--check' in arguments else 'wrapped'}")
    print("docs: wrapped" if not wrong else f"docs: {len(wrong)} files")
    return bool(wrong) and "--check" in arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
