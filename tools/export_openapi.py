"""Write spec/openapi.json: the contract of the server.

python tools/export_openapi.py            writes the file
python tools/export_openapi.py --check    fails if it is not what the server says
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tacita.server.app import create_app
from tacita.settings import Settings

TARGET = Path(__file__).resolve().parent.parent / "spec" / "openapi.json"


def contract() -> str:
    with tempfile.TemporaryDirectory() as home:
        # nothing of the machine that runs this may enter the contract
        app = create_app(Settings.load(home=home, state=f"sqlite:///{home}/state.db", sources={}))
        text = json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"
        app.state.services.close()
    return text


def main(arguments: list[str]) -> int:
    text = contract()
    if "--check" in arguments:
        if TARGET.is_file() and TARGET.read_text() == text:
            return 0
        print("spec/openapi.json is not what the server says; run tools/export_openapi.py", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
