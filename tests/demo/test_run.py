import numpy as np

from tacita.demo.census import DOMAIN, simulate
from tacita.demo.run import run
from tacita.engines.local import LocalEngine


def test_census_fits_its_schema_and_repeats():
    census = simulate(3000, seed=1)
    assert LocalEngine(DOMAIN, census).check().fits
    assert census == simulate(3000, seed=1)
    assert census != simulate(3000, seed=2)


def test_the_whole_job(tmp_path):
    steps = []
    found = run(tmp_path, people=3000, respondents=150, step=steps.append, track=lambda numbers, _: iter(numbers))
    assert len(steps) == 4
    assert found.balance.spent == 0.5
    truth = LocalEngine(DOMAIN, tmp_path / "census.csv")
    for key, release in found.releases.items():
        low, high = release.interval(0.9999)
        assert np.mean((low <= truth.project(key).values) & (truth.project(key).values <= high)) > 0.97
        assert not release.provenance.simulated
        assert release.provenance.charge
    assert found.collected.provenance.recipe["respondents"] == 150
    assert found.device_loss <= 1.5
    again = run(tmp_path, people=3000, respondents=150, step=steps.append, track=lambda numbers, _: iter(numbers))
    assert again.balance.account.name == "census-2"  # other people, another account


def test_page_holds_only_what_may_leave(tmp_path):
    found = run(tmp_path, people=3000, respondents=150, step=lambda _: None, track=lambda numbers, _: iter(numbers))
    page = found.page.read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for release in found.releases.values():
        assert str(release.provenance.charge) in page
