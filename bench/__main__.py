"""`python -m bench [NAME ...] [--quick]`: each module here with a function `run(quick)` is a bench.

Each run writes `out/index.html` anew: all figures that lie in `out`, with their machines.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from bench.page import write_page
from bench.rows import OUT, report

HERE = Path(__file__).parent


def benches() -> list[str]:
    files = sorted(file for file in HERE.glob("*.py") if not file.name.startswith("_"))
    return [file.stem for file in files if "\ndef run(" in file.read_text(encoding="utf-8")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, side by side with peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(benches())}; all if none")
    parser.add_argument("--quick", action="store_true", help="a minute or two, on less data")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in benches():
            parser.error(f"no bench {name!r}; there are: {', '.join(benches())}")
    met = []
    for name in arguments.names or benches():
        start = time.monotonic()
        rows = importlib.import_module(f"bench.{name}").run(quick=arguments.quick)
        met.append(report(name, rows, quick=arguments.quick, seconds=time.monotonic() - start))
    print(f"all figures: {write_page(OUT)}")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
