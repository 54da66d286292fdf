# onkel: `make` alone lists the targets. Everything runs in .venv, which is made on first use.
PYTHON ?= python3
BIN := .venv/bin
SECONDS ?= 600
SEED ?= 0

.PHONY: help setup compiled wheel demo report test test-compiled test-uncompiled test-full test-browser fuzz check bench bench-compare catalogue peers papers docs clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 20

setup: .venv/ready  ## the virtual environment, with everything installed

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("onkel needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "setting up .venv (a minute or two, once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
	@echo "ready; try: $(BIN)/onkel run diabetes, or see what else there is: make"

compiled: setup  ## compile what first answers need into the package, for this processor (a minute or two)
	$(BIN)/python compile_ahead.py

wheel: setup  ## dist/onkel-*.whl and .tar.gz, with compiled code for every level of x86-64 that this processor has
	$(BIN)/python compile_ahead.py --all
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python bench/wheel.py --check dist/onkel-*.whl

demo: setup  ## Auto beside River's forest and a linear model on a real stream: table, demo.png, and a page, demo.html
	$(BIN)/python examples/demo.py

report: setup  ## the report of a file of your own: make report FILE=prices.csv TARGET=price
	@test -n "$(FILE)" -a -n "$(TARGET)" || { echo "name the file and the column to predict: make report FILE=prices.csv TARGET=price"; exit 1; }
	$(BIN)/onkel report "$(FILE)" --target "$(TARGET)"

test: test-compiled test-uncompiled  ## all tests, compiled and with the compiler off (minutes)

# every worker has one core; NumPy's own threads would fight over it
test-compiled test-uncompiled test-full: export OPENBLAS_NUM_THREADS := 1
# bytecode is kept, whatever the user has set: both halves, and the processes that tests start, read the same files
test-compiled test-uncompiled test-full: export PYTHONDONTWRITEBYTECODE :=

test-compiled: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long and not browser"

test-uncompiled: setup
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not long and not once and not browser" tests

test-full: test  ## the long runs too: fuzz, kills, 10^6 rounds
	$(BIN)/python -m pytest -m "long and not browser" -s

test-browser: setup  ## the page of onkel report in Chromium (Debian's), also one of 10^6 rows
	$(BIN)/python -m pytest -m browser -s -rs tests/browser

fuzz: setup  ## look for more, in turn: data files, .onkel files, calls, threads, interrupts, kills (SECONDS=600 SEED=0; TARGET= TRIAL= repeat a finding)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) $(if $(TARGET),--target $(TARGET)) $(if $(TRIAL),--trial $(TRIAL))

check: setup  ## ruff (format and lint), mypy strict, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

bench: compiled  ## speed and start-up, with the stated ratios checked
	$(BIN)/python bench/speed.py --check
	$(BIN)/python bench/nystroem.py --check
	$(BIN)/python bench/newton.py --check
	$(BIN)/python bench/budget.py --check
	if [ -n "$(ONKEL_DATA)" ]; then $(BIN)/python bench/defaults.py --check; fi
	$(BIN)/python bench/additive.py --check
	$(BIN)/python bench/functional_sgd.py --check
	$(BIN)/python bench/estimators.py --check
	$(BIN)/python bench/intervals.py --check
	$(BIN)/python bench/bands.py --check
	$(BIN)/python bench/reading.py --check
	$(BIN)/python bench/start_up.py --check
	$(BIN)/python bench/size.py --check
	$(BIN)/python bench/auto.py --check
	$(BIN)/python bench/threads.py --check

bench-compare: compiled  ## every stated ratio beside that of the last stored run (STORE=1 stores this one; BENCH="speed newton" only these)
	$(BIN)/python bench/compare.py $(BENCH) $(if $(STORE),--store)

catalogue: setup  ## every learner on every set, five orders: table, picture, docs/catalogue.md (an hour; what is stored is not run again)
	$(BIN)/python bench/catalogue.py --check

peers: setup  ## onkel beside River, scikit-learn and CapyMOA, with the promises checked (minutes; ONKEL_DATA names the folder with the data sets)
	$(BIN)/python bench/peers.py --check

papers: setup  ## quick: the papers' tables and figures at smaller sizes, compared with RESULTS.md (15 minutes; FULL=1 replaces the stored ones, three hours; ONKEL_DATA names the folder with the data sets)
	$(if $(FULL),$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[papers]')
	$(BIN)/python -m papers $(if $(FULL),--full --in-place,--jobs 2)
	$(if $(FULL),,$(BIN)/python -m papers --check)

docs: .venv/docs-ready  ## the documentation site: docs/_build/html/index.html; a warning is an error, and no page needs the network
	@echo "building the site: runs the scripts of the gallery, then writes the pages (two to four minutes at first, later only what changed)"
	@OPENBLAS_NUM_THREADS=1 MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -n -q -j auto -b html docs docs/_build/html
	@echo "built; open file://$(CURDIR)/docs/_build/html/index.html"

.venv/docs-ready: .venv/ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

clean:  ## remove the environment and what tools left behind
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis dist docs/_build docs/gallery docs/papers docs/project docs/reference
