import os
import signal
import threading
import time

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource


def test_seeded_repeats_and_secure_does_not():
    assert np.array_equal(SeededSource(3).words(10), SeededSource(3).words(10))
    assert not np.array_equal(SeededSource(3).words(10), SeededSource(4).words(10))
    assert not np.array_equal(SecureSource().words(10), SecureSource().words(10))


def test_they_are_different_types_and_say_so():
    assert SeededSource(1).simulated
    assert not SecureSource().simulated
    assert not isinstance(SecureSource(), SeededSource)


def test_a_stream_continues():
    once, twice = SeededSource(3), SeededSource(3)
    assert np.array_equal(once.words(600_000), np.concatenate([twice.words(1), twice.words(599_999)]))


def test_a_forked_child_does_not_repeat_its_parent():
    source = SecureSource()
    source.words(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 32) != source.words(4).tobytes()


def test_a_fork_while_another_thread_draws_does_not_hang():
    source, stop = SecureSource(), threading.Event()

    def draw():
        while not stop.is_set():
            source.words(200_000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                source.words(4)
                os._exit(0)
            deadline = time.monotonic() + 120
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    raise AssertionError("the child hangs")
                time.sleep(0.005)
    finally:
        stop.set()
        thread.join()


def test_bits_are_balanced():
    bits = np.unpackbits(SecureSource().words(100_000).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / len(bits) ** 0.5


@pytest.mark.parametrize("seed", [None, "x", 1.5, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InvalidInput, match="seed"):
        SeededSource(seed)
