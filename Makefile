PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: demo serve install check test docs

demo: $(VENV)/draw
	$(BIN)/treeformers demo

# Serves the model of the demo; if there is none, trains a small one first.
serve: $(VENV)/draw
	$(BIN)/treeformers serve $(wildcard runs/demo/model)

install: $(VENV)/dev

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/test_house.py

# One thread per worker: more threads would compete for the cores.
test: $(VENV)/dev
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/python -m pytest -q -n $(WORKERS)

docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The empty files draw and dev record what is installed.
$(VENV)/draw: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[draw,web]'
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $(VENV)/draw $@
