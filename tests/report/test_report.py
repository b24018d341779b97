from dataclasses import replace

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.noise import DiscreteLaplace
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import total
from tacita.report import report
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release
from tacita.tables.uncertainty import AdditiveNoise, Unknown

DOMAIN = Domain(attributes=[Categorical(name="a", levels=["x", "<script>", "z"])])


def release():
    return Release(
        estimate=Cells(DOMAIN, np.array([5, -2, 9])),
        quantity="count",
        uncertainty=AdditiveNoise(law=DiscreteLaplace.at_least(2)),
        event=Pure(epsilon=0.5),
        unit=Unit.row(),
        neighbours=Neighbours.ADD_REMOVE,
        trust="central",
        provenance=Provenance(recipe={"method": "test"}, simulated=True),
    )


def test_labels_are_escaped():
    page = report.render("<b>t</b>", "<i>l</i>", [report.Section(title="<u>x</u>", text="a & b", release=release())])
    assert "<b>t</b>" not in page
    assert "&lt;u&gt;" in page
    assert "a &amp; b" in page
    assert "<script>" not in page
    assert "NOT private" in page


def test_sections(tmp_path):
    section = report.Section(title="s", release=release(), statistics=[total(release())], facts=[("k", "v")])
    report.write(tmp_path / "deep" / "r.html", "t", "l", [section])
    page = (tmp_path / "deep" / "r.html").read_text()
    assert page.count('class="bar"') == 3
    assert "total" in page
    assert "<th>k</th>" in page


def test_no_interval_is_drawn_where_none_is_claimed():
    shown = report.bars(replace(release(), uncertainty=Unknown()))
    assert 'class="bar"' in shown
    assert 'class="err"' not in shown


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "unknown"), (np.inf, "unknown"), (12.5, "12.5"), (0.0, "0")])
def test_numbers(value, shown):
    assert report.number(value) == shown
