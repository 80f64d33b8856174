# Two commands do everything from a fresh clone: `make test` and `make demo`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check -q

.PHONY: help test demo docs perf lint clean

help:  ## show what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "brittle needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

test: .venv/ready lint  ## set up, check the style and types, run all tests
	$(BIN)/pytest -n 2

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

SETS := imagenet-c c-bar noc syn2nat

demo: .venv/ready  ## set up and write a gallery of each set of corruptions on a bundled photograph
	@for set in $(SETS); do $(BIN)/brittle show --source $$set --output demo/$$set.png || exit 1; done
	@echo "Open demo/*.png: every corruption at five severities, a sheet for each published set."

docs: .venv/ready  ## build the site into site/
	$(PIP) install -c constraints.txt -e '.[docs]'
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

perf: .venv/ready  ## measure speed, memory and fidelity beside imagecorruptions; rewrites docs/speed.md and docs/fidelity.md
	$(PIP) install -c constraints.txt scikit-image
	$(PIP) install --no-deps imagecorruptions-imaug==1.1.5
	$(BIN)/python perf/speed.py
	$(BIN)/python perf/fidelity.py

clean:  ## remove what was built
	rm -rf .venv site demo docs/sets
