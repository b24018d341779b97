# %% [markdown]
# # Ask a service that holds private data
#
# You are an analyst, and the data is behind a service. You see schemas, budgets and released answers, never rows. This
# notebook starts a service of its own on this machine, as `tacita serve` does, and asks it over REST with
# `tacita.Client`.

# %%
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pyarrow.csv as pa_csv

import tacita as tc
from tacita.demo.census import DOMAIN, simulate
from tacita.server.auth.tokens import Tokens

pa_csv.write_csv(simulate(10_000, seed=1), "census.csv")
home = Path("service").absolute()
home.mkdir()
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
settings = os.environ | {"TACITA_HOME": str(home), "TACITA_DATA_FOLDERS": f'["{Path.cwd()}"]'}
settings["TACITA_SOURCES"] = f'{{"census": {{"path": "{Path.cwd() / "census.csv"}"}}}}'
service = subprocess.Popen(
    [sys.executable, "-m", "tacita", "serve", "--port", str(port)],
    env=settings,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
url = f"http://127.0.0.1:{port}"
for _ in range(600):
    try:
        if httpx.get(f"{url}/healthz").status_code == 200:
            break
    except httpx.TransportError:
        pass
    time.sleep(0.2)

# %% [markdown]
# The steward registers the dataset, with its schema and its budget, and gives you a token.

# %%
tokens = Tokens(tc.Database(f"sqlite:///{home / 'state.db'}"))
with tc.Client(url, tokens.issue(name="steward", role="steward").text) as steward:
    steward.register(
        "census",
        source="census",
        domain=DOMAIN,
        unit=tc.Unit.row(),
        neighbours=tc.Neighbours.ADD_REMOVE,
        budget=tc.Budget.pure(3.0),
    )
client = tc.Client(url, tokens.issue(name="analyst", role="analyst").text)
[each.name for each in client.datasets()], client.budget("census").remaining

# %% [markdown]
# ## SQL
#
# A question is planned for nothing, with its cost and its error. The answer has intervals.

# %%
answer = client.sql(
    "SELECT region, COUNT(*) AS people, AVG(income) AS income FROM census GROUP BY region", budget=tc.Budget.pure(0.5)
)
answer

# %%
answer.plot()

# %% [markdown]
# ## Tables, synthetic rows, and a model that costs nothing more

# %%
job = client.release("synthetic", dataset="census", budget=tc.Budget.pure(1.0), rows=5_000)
known = client.wait_release(job.id)
print(known.statement)
model = client.fit_release(job.id, kind="trees", target="smoking", features=["age", "sex", "region"])
model

# %% [markdown]
# ## The signed statement
#
# Whoever receives the rows can check what they promise, without asking the service.

# %%
from tacita.report.statement import verify

Path("rows.parquet").write_bytes(client.rows(job.id, "parquet"))
statement = tc.Statement.from_json(client.statement(job.id).model_dump_json())
for check in verify(statement, files={"rows.parquet": Path("rows.parquet")}):
    print("holds" if check.good else "BROKEN", "-", check.what, "-", check.detail)

# %% [markdown]
# ## When the budget does not suffice

# %%
try:
    client.sql("SELECT COUNT(*) FROM census", budget=tc.Budget.pure(5.0))
except tc.TacitaError as refusal:
    print(refusal)
client.close()
service.terminate()
print("stopped" if service.wait() is not None else "")
