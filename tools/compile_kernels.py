"""Compile the kernels that take longest, once: `make test` does it beside the linters, which leave a core idle.

Several processes of a test run would each compile them on a fresh checkout: the kernels of anonymisation and of
counting take half a minute.
"""

from __future__ import annotations

import pyarrow as pa

from tacita.anonymize import Anonymize, Conditions, Mask, Microaggregate
from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.noise import SecureSource

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), bins=5, integer=True, role="quasi-identifier"),
        Categorical(name="town", levels=["a", "b", "c"], role="quasi-identifier"),
        Categorical(name="ill", levels=["no", "flu"], role="sensitive"),
    ]
)


def main() -> None:
    rows = pa.table(
        {
            "age": [number % 90 for number in range(200)],
            "town": [["a", "b", "c"][number % 3] for number in range(200)],
            "ill": [["no", "flu"][number % 2] for number in range(200)],
        }
    )
    engine = LocalEngine(DOMAIN, rows)
    engine.project(["age", "ill"])
    Anonymize(conditions=Conditions(k=3, l=2)).prepare(DOMAIN).run_on(rows)
    for way in ("mdav", "optimal"):
        step = Microaggregate(attributes=("age",), k=3, method=way)  # type: ignore[arg-type]
        Mask(steps=(step,)).prepare(DOMAIN).run_on(rows, SecureSource())


if __name__ == "__main__":
    main()
