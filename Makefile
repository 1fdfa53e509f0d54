# The four things one does here. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on

# Else each of the thousand processes of a run compiles all modules that it imports, where that is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: match test check bench proof proof-2 proof-3 proof-4 proof-5 proof-6 proof-7 \
        proof-rules proof-variants proof-solver proof-search proof-matches proof-blueprint proof-router proof-limited \
        proof-formats proof-leaves proof-lbr proof-score proof-slumbot proof-experiment proof-serve soak clean

# Where proofs that go on after an interruption keep what they have.
PROOFS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/paratus/proofs

match: .venv/.installed  ## play a match of the default agent against its blueprint through the dealer, and print its result
	$(BIN)/paratus warm ranking blueprint agent
	$(BIN)/paratus match holdem.nolimit.2p.reverse_blinds paratus blueprint --hands 50 --seed 1 --duplicate --t_per_hand 500

test: .venv/.developed  ## every test but the long proofs
	$(BIN)/python -m pytest

check: .venv/.developed  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/.installed  ## all speeds, as JSON
	$(BIN)/python -m benchmarks

proof: proof-2 proof-3 proof-4 proof-5 proof-6 proof-7  ## the long proofs, each part under half an hour

# In the order in which the parts of the house stand on each other.
proof-2: proof-rules proof-variants
proof-3: proof-solver
proof-4: proof-search proof-matches
proof-5: proof-blueprint
proof-6: proof-limited proof-leaves proof-router
proof-7: proof-formats proof-lbr proof-score proof-slumbot proof-experiment proof-serve

proof-rules: .venv/.developed  ## every seven-card hand; random play against other programs; property tests on new examples
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -m hypothesis
	$(BIN)/python -m pytest -m proof tests/proof/test_seven_card_enumeration.py \
	    tests/test_differential_open_spiel.py tests/test_differential_pokerkit.py

proof-variants: .venv/.developed  ## all cases of properties of which the suite tries some
	$(BIN)/python -m pytest -m proof --ignore tests/proof tests

proof-solver: .venv/.developed  ## rounding on Leduc; the Libratus endgames, where PARATUS_LIBRATUS names their folder
	$(BIN)/python -m pytest -m proof tests/proof/test_leduc_rounding.py tests/proof/test_libratus_endgames.py

proof-search: .venv/.developed  ## safe search: small games, the thesis's tables; writes docs/search-tables.md
	$(BIN)/python -m pytest -m proof tests/proof/test_safe_search_proof.py tests/proof/test_nested_proof.py
	$(BIN)/python -m studies.search_tables

proof-matches: .venv/.developed  ## nested search through the dealer; writes docs/search-matches.md
	@mkdir -p $(PROOFS)
	$(BIN)/python -m studies.search_matches nested --out $(PROOFS)/search-matches > $(PROOFS)/search-matches.md
	cp $(PROOFS)/search-matches.md docs/search-matches.md

proof-router: .venv/.developed  ## the default agent under limits of 50 ms, 500 ms and 7 s; writes docs/router-matches.md
	@mkdir -p $(PROOFS)
	$(BIN)/python -m studies.search_matches paratus --out $(PROOFS)/router-matches > $(PROOFS)/router-matches.md
	cp $(PROOFS)/router-matches.md docs/router-matches.md

proof-limited: .venv/.developed  ## how many values a leaf needs; writes docs/limited-values.md and its picture
	@mkdir -p $(PROOFS)
	$(BIN)/python -m studies.limited_values --out $(PROOFS)/limited-values \
	    --picture docs/limited-values.svg > $(PROOFS)/limited-values.md
	cp $(PROOFS)/limited-values.md docs/limited-values.md

proof-leaves: .venv/.nets  ## learning leaf values, with torch
	$(BIN)/python -m pytest -m proof tests/proof/test_learned_proof.py

proof-formats: .venv/.developed  ## a million random hands through every format and back
	$(BIN)/python -m pytest -m proof tests/proof/test_formats_proof.py

proof-experiment: .venv/.developed  ## a round robin of six agents, killed ten times, says what one that was left alone says
	$(BIN)/python -m pytest -m proof tests/proof/test_experiment_proof.py

proof-blueprint: .venv/.developed  ## buckets of every hand; trainers on larger games; forms of sampling, by exploitability
	@mkdir -p $(PROOFS)
	$(BIN)/python -m pytest -m proof tests/proof/test_cards_proof.py tests/proof/test_trainers_proof.py \
	    tests/proof/test_button_proof.py
	$(BIN)/python -m studies.sampling > $(PROOFS)/sampling.md

proof-lbr: .venv/.developed  ## local best response: chances before the flop, board by board; hundreds of small strategies
	$(BIN)/python -m pytest -m proof tests/proof/test_lbr_proof.py

proof-slumbot: .venv/.developed  ## 10,000 hands with the emulator of slumbot.com, everything going wrong all the time
	$(BIN)/python -m pytest -m proof tests/proof/test_slumbot_proof.py

proof-score: .venv/.developed  ## what estimators leave of the luck, over 220,000 hands; writes docs/score-tables.md
	@mkdir -p $(PROOFS)
	$(BIN)/python -m studies.score_tables --out $(PROOFS)/score > $(PROOFS)/score-tables.md
	cp $(PROOFS)/score-tables.md docs/score-tables.md

proof-serve: .venv/.developed  ## a hundred matches of a hundred hands at once on one server
	$(BIN)/python -m pytest -m proof -n 0 -s tests/proof/test_serve_proof.py

soak: .venv/.installed  ## an hour of matches coming and going on one server; prints its report
	$(BIN)/python -m studies.soak

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml
	$(PIP) --editable . >&2
	@touch $@

.venv/.developed: .venv/bin/python pyproject.toml
	$(PIP) --editable '.[dev]' >&2
	@touch .venv/.installed $@

.venv/.nets: .venv/.developed
	$(PIP) --editable '.[nets]' >&2
	@touch $@
