"""The page about the disclosure risk of microdata."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacita.assess.risk.measure import Figure
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.page import figure_text, write_risk
from tacita.assess.risk.sample import sample_of


def test_the_page_names_measures_reasons_and_readers(tmp_path: Path) -> None:
    found = microdata_risk(sample_of("abc", np.random.default_rng(0).integers(0, 4, (3, 50)), people=400))
    write_risk(tmp_path / "risk.html", found, "50 records")
    page = (tmp_path / "risk.html").read_text()
    assert "SUDA" in page
    assert "needs sample weights" in page
    assert "not to be published" in page


def test_numbers_have_their_interval() -> None:
    assert figure_text(Figure("x", "x", 0.25, share=True)) == "25.00 %"
    assert figure_text(Figure("x", "x", 12.0, 10.0, 15.0)) == "12 (10 to 15)"
