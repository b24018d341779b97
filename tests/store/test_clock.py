import datetime as dt

from tacita.store.clock import aware, now


def test_now_is_in_utc():
    assert now().tzinfo is dt.UTC


def test_a_time_without_a_zone_was_utc_and_any_other_is_kept():
    plain = dt.datetime(2030, 1, 2, 3, 4, 5)
    assert aware(plain) == dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    other = plain.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert aware(other) is other
