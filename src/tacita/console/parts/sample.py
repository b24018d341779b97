"""The sample datasets: a simulated census, and control rows of other simulated people."""

from __future__ import annotations

import io

import pyarrow.csv as pacsv

from tacita.console.api import Api
from tacita.demo.census import DOMAIN, simulate

__all__ = ["OTHERS", "SAMPLE", "make_sample"]

SAMPLE, OTHERS = "sample-census", "sample-others"
_PEOPLE = 5000
_BUDGET = {"epsilon": 4.0}
_POLICY = {
    "quasi": ["age", "sex", "region"],
    "sensitive": ["smoking"],
    "keep": ["schooling", "status"],
    "k": 5,
    "l": 2.0,
    "suppress": 0.02,
}


async def make_sample(api: Api) -> None:
    """Upload both files, register them as datasets, and set a policy; existing datasets stay."""
    known = {dataset["name"] for dataset in await api.get("/v1/datasets")}
    for name, seed in ((SAMPLE, 11), (OTHERS, 12)):
        if name in known:
            continue
        out = io.BytesIO()
        pacsv.write_csv(simulate(_PEOPLE, seed), out)
        await api.send_file(f"/v1/sources/{name}", out.getvalue(), "text/csv")
        body = {
            "name": name,
            "source": name,
            "schema": DOMAIN.as_dict(),
            "unit": "row",
            "neighbours": "add-remove",
            "budget": _BUDGET,
        }
        await api.post("/v1/datasets", body)
    if SAMPLE not in known:
        await api.put(f"/v1/datasets/{SAMPLE}/policy", _POLICY)
