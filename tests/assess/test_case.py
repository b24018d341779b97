import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.case import read_case
from tacita.errors import InvalidInput


def test_the_data_is_no_control_of_itself(domain, tables):
    real, fresh = tables["real"], tables["fresh"]
    shuffled = real.take(pa.array(np.random.default_rng(1).permutation(len(real))))
    nearly = pa.concat_tables([real.slice(0, 1400), fresh.slice(0, 100)])
    for control in (real, shuffled, real.slice(100, 300), nearly):
        with pytest.raises(InvalidInput, match="not used"):
            read_case(domain, real=real, released=[fresh], control=control)


def test_people_who_look_alike_are_a_control(domain, tables):
    """Where most real rows have a twin, a control that equals them says nothing against it."""
    real, control = tables["real"], tables["control"]
    coarse = read_case(domain, real=real, released=[real], control=control, names=["school", "ill", "job"])
    assert len(coarse.control) == len(control)
    few = pa.table({"ill": ["flu"]})
    assert read_case(domain, real=few, released=[few], control=few).names == ("ill",)
    gaps = real.set_column(0, "age", pa.nulls(len(real), pa.int64()))
    with pytest.raises(InvalidInput, match="not used"):
        read_case(domain, real=gaps, released=[real], control=gaps.slice(0, 500))
