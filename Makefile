# One word runs everything. `make help` says what each does.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NETS   := $(VENV)/.nets
NAME   ?=
QUICK  ?=

.DEFAULT_GOAL := help

help: ## Show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# pip and venv are enough; constraints.txt holds the exact versions
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tacita needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# networks are an extra of some size: only what trains them, and its tests, need it
$(NETS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,nets]'
	@touch $@

nets: $(NETS) ## Add what trains networks (torch): make setup, and more

setup: $(READY) ## Make the environment (all other targets do it by themselves)

notebooks: $(NETS) ## Run the notebooks and keep their outputs
	$(BIN)/python tools/notebooks.py

demo: $(READY) ## Run the main job end to end on a made-up census
	$(BIN)/tacita demo

test: $(NETS) ## Run all tests, linters and checks
	$(BIN)/python tools/check.py

quick: $(READY) ## Run the tests of the library that take no time: no service, no database, no networks
	$(BIN)/python tools/check.py --quick

pythons: $(READY) ## Run the quick tests under every Python on the PATH: make pythons [ONLY=3.13]
	$(BIN)/python tools/pythons.py $(ONLY)

test-browser: $(READY) ## Run the tests in a real browser (part of `make test`; installs Chromium where it may)
	$(BIN)/python tools/check.py --browser

study: $(READY) ## Run a study of the documents: make study [NAME=learning] [ARGUMENTS='--out results']
	$(BIN)/python -m studies $(if $(NAME),run $(NAME) $(ARGUMENTS),list)

pictures: $(READY) ## Make the pictures of the docs anew, by the tests in the browser
	TACITA_PICTURES=yes $(BIN)/python tools/check.py --browser

lint: $(NETS) ## Format and lint check, types, import directions, published files up to date
	$(BIN)/python tools/check.py --lint

format: $(READY) ## Format the code, and wrap the docs
	$(BIN)/ruff format src tests tools bench studies
	$(BIN)/ruff check --fix --quiet src tests tools bench studies
	$(BIN)/python tools/wrap_docs.py

serve: $(READY) ## Start the service and open its console
	$(BIN)/tacita serve --open

fuzz: $(READY) ## Send hostile requests to every route, as every role, on both databases: make fuzz [REQUESTS=50000] [SEED=1] [ONLY=operation]
	$(BIN)/python tools/fuzz.py --requests $(or $(REQUESTS),50000) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

faults: $(READY) ## Kill, cut off and starve the service at random points: make faults [RUNS=300] [SEED=1] [RUN=7]
	$(BIN)/python tools/faults.py --runs $(or $(RUNS),300) $(if $(SEED),--seed $(SEED)) $(if $(RUN),--run $(RUN))

bench: $(READY) ## Run benches side by side with peers, and write bench/out/index.html: make bench [NAME=counting] [QUICK=1]
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	$(BIN)/python -m bench $(NAME) $(if $(QUICK),--quick)

bench-smoke: $(READY) ## Compare speed and accuracy with those of the last release, in a minute (part of `make test`)
	$(BIN)/python -m bench smoke

docs: $(READY) ## Write the generated reference pages and published files anew
	$(BIN)/python tools/generate.py

clean: ## Remove the environment and what runs have left
	rm -rf $(VENV) .pythons .tacita demo-out bench/out tests/browser/out tests/browser/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help setup nets notebooks demo test quick pythons test-browser pictures lint format serve fuzz faults bench bench-smoke study docs clean
