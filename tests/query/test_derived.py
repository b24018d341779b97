import numpy as np

from tacita.domain import Categorical
from tacita.query.derived import Derived


def test_each_cell_has_its_code_and_out_of_domain_values_have_none():
    made = Derived(
        attribute=Categorical(name="d", levels=("p", "q")), of=("a", "b"), sizes=(2, 3), codes=(0, 1, 1, 0, 2, 1)
    )
    a, b = np.array([0, 0, 1, 1, 2, 0]), np.array([0, 2, 1, 2, 0, 3])
    assert made.encode({"a": a, "b": b}, 6).tolist() == [0, 1, 2, 1, 2, 2]
    assert made.name == "d"
    assert made.as_dict() == {"levels": ["p", "q"], "of": ["a", "b"], "codes": [0, 1, 1, 0, 2, 1]}
