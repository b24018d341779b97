"""The page that `make demo` writes, as a person sees it."""

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect


def test_the_report_of_the_demo(browse, check_accessible, picture, tmp_path):
    command = [str(Path(sys.executable).with_name("tacita")), "demo"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    for scheme in ("dark", "light"):
        page = browse(color_scheme=scheme, viewport={"width": 1000, "height": 780})
        page.goto((tmp_path / "demo-out" / "report.html").as_uri())
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_accessible(page)
    picture(page, "report", docs=True)
