"""A compiled function is the function: same answers, its source beside it, and compiled once for each machine."""

import subprocess
import sys

import numpy as np

from tacita.common.compiled import compiled

MODULE = """
import numpy as np
from tacita.common.compiled import compiled

@compiled
def squares(values):
    total = 0
    for value in values:
        total += value * value
    return total

print(squares(np.arange(5)), sum(squares.stats.cache_hits.values()))
"""


def test_it_computes_the_same():
    def largest(values):
        found = values[0]
        for value in values:
            found = max(found, value)
        return found

    values = np.random.default_rng(1).normal(size=50)
    assert compiled(largest)(values) == largest(values) == values.max()
    assert compiled(largest).py_func is largest


def test_another_process_does_not_compile_it_again(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    said = [
        subprocess.run([sys.executable, "module.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["30 0\n", "30 1\n"]
