PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: demo serve install check test docs

demo: $(VENV)/draw
	$(BIN)/treeformers demo

# Of the demo's model if there is one; otherwise one is trained first.
serve: $(VENV)/draw
	$(BIN)/treeformers serve $(wildcard runs/demo/model)

install: $(VENV)/dev

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One thread for each worker: more of them get in each other's way.
test: $(VENV)/dev
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/python -m pytest -q -n $(WORKERS)

docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The empty files draw and dev mark what is installed, so that it is installed once.
$(VENV)/draw: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[draw,web]'
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $(VENV)/draw $@
