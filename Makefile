# Everything from a fresh machine with Python 3.11+ and make: each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINIMUM := .venv-minimum
OUT := out
PROCESSES := $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")# one more than cores: some tests wait

.PHONY: demo test pytest lint coverage minimum audit bench docs clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py --out $(OUT)

test: export PYTHONDONTWRITEBYTECODE =# interpreters that tests start need not compile everything again
test: export OMP_NUM_THREADS = 1# the tests run side by side: threads of their own would get in each other's way
test: $(VENV)/.system
	$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: $(VENV)/.system
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Which lines and branches the tests reach: a table on the terminal, all of it in out/coverage.
coverage: export OMP_NUM_THREADS = 1
coverage: $(VENV)/.system
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term --cov-report=html:$(OUT)/coverage

# The oldest versions of all libraries that pyproject.toml allows, in an environment of their own.
minimum: export OMP_NUM_THREADS = 1
minimum: $(MINIMUM)/.installed
	$(MINIMUM)/bin/python -m pytest -x -q -n auto --dist loadgroup tests/contract tests/unit tests/attacks

audit: export OMP_NUM_THREADS = 1# a process on every core: threads of their own would get in each other's way
audit: $(VENV)/.audit
	mkdir -p $(OUT)
	$(BIN)/uptack audit --state $(OUT)/audit.state --json $(OUT)/audit.json --markdown $(OUT)/audit.md

BENCHMARKS := noise speed location quantiles people means constants govtech ranks regression regression_tables coverage hampel selection counts histograms density caratheodory online svm scale cost_model report tables synthetic server

bench: $(VENV)/.bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --json $(OUT)/$$name.json || exit 1; done

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(MINIMUM) $(OUT) site

# One virtual environment; a stamp for each set of extras that has been installed into it.
$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.test: EXTRAS = [all,test]
$(VENV)/.audit: EXTRAS = [sklearn]
$(VENV)/.bench: EXTRAS = [all,bench]
$(VENV)/.docs: EXTRAS = [docs]

# What tests need beside Python: a browser for the report.
$(VENV)/.system: $(VENV)/.test
	.ci/system
	touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.audit $(VENV)/.bench $(VENV)/.docs: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable ".$(EXTRAS)"
	touch $@

$(MINIMUM)/.installed: pyproject.toml .ci/minimum.py
	$(PYTHON) -m venv --clear $(MINIMUM)
	$(MINIMUM)/bin/python .ci/minimum.py > $(MINIMUM)/constraints.txt
	$(MINIMUM)/bin/pip install --quiet --constraint $(MINIMUM)/constraints.txt \
		--editable ".[sklearn,postgres,plots]" pandas polars pytest pytest-xdist hypothesis mpmath opendp
	touch $@
