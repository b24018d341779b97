"""Steps reach whoever watches, and nobody else."""

from tacita.common.progress import step, watched_by


def test_steps_reach_the_watcher_of_the_block():
    found, inner = [], []
    step("before")
    with watched_by(lambda what, share: found.append((what, share))):
        step("counting rows")
        with watched_by(lambda what, share: inner.append(what)):
            step("inside")
        step("writing", 0.5)
    step("after")
    assert found == [("counting rows", None), ("writing", 0.5)]
    assert inner == ["inside"]
