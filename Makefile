# One command each: `make demo` shows it working, `make test` checks it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: audit check demo demo-pictures test lint types imports unit coverage long crash crash-team wheel bench experiments
.PHONY: calibration notebooks setup clean
.DEFAULT_GOAL := demo

demo: setup
	$(BIN)/psgraph demo --out demo

# The pictures of the README and of the first tutorial: a promise over a short window, the same over a year, and
# a terminal session.
demo-pictures: setup
	$(BIN)/psgraph demo --epsilon 1/2 --window 3 --seed 16 --out demo-pictures/weak
	$(BIN)/psgraph demo --epsilon 1/2 --window 12 --seed 1 --out demo-pictures/strong
	cp demo-pictures/weak/picture.png docs/images/demo.png
	cp demo-pictures/strong/picture.png docs/images/demo-strong.png
	$(BIN)/python docs/images/terminal.py demo-pictures/weak docs/images/terminal.svg
	rm -r demo-pictures

test: lint types imports coverage

# While working: all linters and the tests that take no processes, browsers or clusters.
check: lint types imports
	$(BIN)/python -m pytest -n 2 -m 'not slow and not long'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/house_rules.py

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

unit: setup
	$(BIN)/python -m pytest -n 2 --ignore=tests/privacy --ignore=tests/methods

# The tests of the kernel and of the methods: every branch of the kernel (pyproject.toml) or failure.
coverage: unit
	$(BIN)/python -m pytest -n 2 --cov --cov-report= tests/privacy tests/methods
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=100

# What `make test` has no time for: longer attacks, notebooks, benchmarks, more kills and cells.
long: setup
	$(BIN)/python -m pytest -n 2 -m long

# A thousand kills, ten thousand changed bytes, a hundred thousand inputs; the last result is in docs/crash.
crash: setup
	$(BIN)/python benchmarks/crash.py --out docs/crash

# Three workers and 200 streams for a minute: 30 kills of workers and 5 of PostgreSQL, which has to be installed.
crash-team: setup
	$(BIN)/python benchmarks/team.py kills

# The example notebooks, executed, with their outputs stored in them. Installs PyTorch (large).
notebooks: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[examples]'
	$(BIN)/python examples/run.py

# Every attack on every method, at most an hour; the last result is in docs/audit.
audit: setup
	$(BIN)/psgraph audit --full --report docs/audit/audit.html --json > docs/audit/audit.json
	$(BIN)/python benchmarks/audit.py docs/audit

.PHONY: docs
# The documentation site, strictly: a broken link or an unknown name is an error. Open site/index.html.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

# Build the wheel and use it in an empty environment, without extras. Downloads the dependencies.
wheel:
	.ci/wheel $(PYTHON)

bench: setup
	$(BIN)/psgraph bench

# Every experiment of the paper in a small version, on the demo stream and the available data sets.
experiments: setup
	$(BIN)/psgraph experiment run all --quick --out results-quick

# The factors of `psgraph expect`, learned and checked on the available data sets; resumes.
calibration: setup
	$(BIN)/psgraph experiment run calibration --out results
	cp results/calibration.md results/calibration.png docs/results/
	cp results/calibration.json src/psgraph/trust/

setup: $(READY)

# The stamp is written last, so an interrupted set-up is repeated.
$(READY): pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing psgraph and its tools into $(VENV) (about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) demo demo-pictures results-quick site .pytest_cache .mypy_cache .ruff_cache .hypothesis
