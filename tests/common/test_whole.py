"""A target is there as a whole, or as it was before."""

import pytest

from tacita.common.whole import whole, write_text


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "rows.csv"
    with whole(target) as unfinished:
        unfinished.write_text("a\n1\n")
        assert not target.exists()
    assert target.read_text() == "a\n1\n"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("folder", [False, True])
def test_what_fails_leaves_nothing_and_keeps_what_was_there(tmp_path, folder):
    target = tmp_path / "rows.csv"
    write_text(target, "before")

    other = tmp_path / "parts" if folder else target

    def write(unfinished):
        if folder:
            unfinished.mkdir()
            unfinished /= "part"
        unfinished.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), whole(other) as unfinished:
        write(unfinished)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_appears_when_it_is_whole(tmp_path):
    with whole(tmp_path / "parts") as unfinished:
        unfinished.mkdir()
        (unfinished / "one").write_text("1")
    assert [file.name for file in (tmp_path / "parts").iterdir()] == ["one"]


def test_links_permissions_and_devices_stay_what_they_are(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    write_text(real, "before")
    real.chmod(0o600)
    link.symlink_to(real)
    write_text(link, "after")
    with whole(real) as unfinished:
        assert unfinished.stat().st_mode & 0o777 == 0o600  # from the first byte on
        unfinished.write_text("after")
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("after", 0o600)
    write_text("/dev/null", "nothing")
