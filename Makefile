# Everything from a fresh machine with Python 3.11+ and make: each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := out

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py --out $(OUT)

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

BENCHMARKS := noise speed location regression selection counts histograms

bench: $(VENV)/.bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --json $(OUT)/$$name.json || exit 1; done

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(OUT) site

# One virtual environment; a stamp for each set of extras that has been installed into it.
$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.demo: EXTRAS = report
$(VENV)/.test: EXTRAS = report,sklearn,test
$(VENV)/.bench: EXTRAS = report,sklearn,bench
$(VENV)/.docs: EXTRAS = docs

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.docs: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@
