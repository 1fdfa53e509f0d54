# The four things one does here. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on

.PHONY: match test check bench proof clean

match: .venv/.installed  ## play a match of the default bot through the dealer, and print its result
	$(BIN)/paratus match holdem.nolimit.2p.reverse_blinds random always-call --hands 2000 --seed 1 --duplicate

test: .venv/.developed  ## every test but the long proofs
	$(BIN)/python -m pytest

check: .venv/.developed  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/.installed  ## all speeds, as JSON
	$(BIN)/python -m benchmarks

proof: .venv/.developed  ## the long proofs, and the property tests on examples never seen before
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -m 'proof or hypothesis'

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml
	$(PIP) --editable . >&2
	@touch $@

.venv/.developed: .venv/.installed pyproject.toml
	$(PIP) --editable '.[dev]' >&2
	@touch $@
