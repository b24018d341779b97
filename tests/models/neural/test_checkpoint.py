"""Checkpoints are whole or not there, and who resumes never pays less than what ran."""

import pytest

torch = pytest.importorskip("torch")

from tacita.errors import InvalidInput  # noqa: E402
from tacita.models.neural.checkpoint import Checkpoint, Checkpoints, source_of_run  # noqa: E402
from tacita.noise import SecureSource, SeededSource  # noqa: E402


def test_what_was_written_comes_back_as_the_next_run(tmp_path):
    kept = Checkpoints(path=tmp_path / "state.pt", every=5)
    assert kept.resume("plan") is None
    states = {"net": {"w": torch.arange(3.0)}}
    kept.write(Checkpoint(plan="plan", done=5, reserved=10, released="[]", states=states))
    found = kept.resume("plan")
    assert (found.done, found.reserved, found.runs, found.released) == (5, 10, 2, "[]")
    assert found.states["net"]["w"].tolist() == [0.0, 1.0, 2.0]
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


def test_another_plan_and_damage_are_refused(tmp_path):
    kept = Checkpoints(path=tmp_path / "state.pt")
    kept.write(Checkpoint(plan="plan"))
    with pytest.raises(InvalidInput, match="another plan"):
        kept.resume("other")
    whole = kept.path.read_bytes()
    kept.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="damaged"):
        kept.resume("plan")
    torch.save({"format": "something else"}, kept.path)
    with pytest.raises(InvalidInput, match="not a checkpoint"):
        kept.resume("plan")


def test_a_write_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    kept = Checkpoints(path=tmp_path / "state.pt")
    kept.write(Checkpoint(plan="plan", done=1))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidInput, match="No space left"):
        kept.write(Checkpoint(plan="plan", done=2))
    assert kept.resume("plan").done == 1
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


def test_runs_of_one_seed_never_draw_alike():
    first, again, second = (source_of_run(SeededSource(4), run).words(6) for run in (1, 1, 2))
    assert (first == again).all()
    assert (first != second).all()
    secure = SecureSource()
    assert source_of_run(secure, 2) is secure


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_how_often_is_a_number(tmp_path, every):
    with pytest.raises(InvalidInput, match="every"):
        Checkpoints(path=tmp_path / "x", every=every)
