# Two commands do everything from a fresh clone: `make test` and `make demo`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check -q

.PHONY: help test wheel light timm demo docs perf lint clean

help:  ## show what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "brittle needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

test: .venv/ready lint light  ## set up, check the style and types, run all tests, and try the core alone
	$(BIN)/python -c 'from brittle.corruptions import compile_corruptions; compile_corruptions()'
	$(BIN)/pytest -n 2 --dist worksteal

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

light: .venv-light/ready  ## try the wheel of the core without any extra, in an environment of its own
	$(LIGHT)/brittle list > /dev/null
	$(LIGHT)/brittle show -c fog,noc/blur,c-bar/plasma_noise --output .venv-light/sheet.png
	$(LIGHT)/pytest tests/in_light_venv.py tests/metrics tests/benchmarks tests/datasets/test_dataset.py tests/test_missing_extras.py

LIGHT := .venv-light/bin
PACKED := pyproject.toml README.md LICENSE $(shell find src -type f ! -path '*/__pycache__/*')

wheel: dist/ready  ## build the wheel into dist/ and write its size into docs/explanation/packaging.md
	$(LIGHT)/python scripts/measure_wheel.py dist/*.whl

$(LIGHT)/pip:
	$(PYTHON) -m venv .venv-light

dist/ready: $(PACKED) | $(LIGHT)/pip
	rm -rf dist
	$(LIGHT)/pip --disable-pip-version-check -q wheel --no-deps -w dist .
	touch $@

.venv-light/ready: dist/ready constraints.txt
	$(LIGHT)/pip --disable-pip-version-check -qq uninstall -y brittle
	$(LIGHT)/pip --disable-pip-version-check -q install -c constraints.txt dist/*.whl pytest hypothesis
	$(LIGHT)/pip --disable-pip-version-check -q check
	$(LIGHT)/python -c 'import importlib.util as i; assert not any(map(i.find_spec, ("torch", "ray", "transformers")))'
	touch $@

timm:  ## test timm and torchvision models, and sliders beside torchvision, in an environment of their own
	$(PYTHON) -m venv .venv-timm
	.venv-timm/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[sliders,plots]' pytest
	.venv-timm/bin/pip --disable-pip-version-check -q install -c constraints.txt --no-deps timm torchvision
	.venv-timm/bin/pytest tests/models/in_timm_venv.py tests/models/test_transformers.py

demo: .venv/ready  ## set up, run two bundled models through two benchmarks, and write demo/report.html
	$(BIN)/brittle demo --output demo

docs: .venv/ready  ## build the site into site/
	$(PIP) install -c constraints.txt -e '.[docs]'
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

perf: .venv/ready  ## measure speed, memory and fidelity beside imagecorruptions; rewrites docs/explanation/speed.md, first-use.md and fidelity.md
	$(PIP) install -c constraints.txt scikit-image
	$(PIP) install --no-deps imagecorruptions-imaug==1.1.5
	$(BIN)/python perf/speed.py
	$(BIN)/python perf/first_use.py
	$(BIN)/python perf/fidelity.py
	$(BIN)/python perf/evaluation.py
	$(BIN)/python perf/explore.py

clean:  ## remove what was built
	rm -rf .venv .venv-light .venv-timm dist build site demo docs/reference/*/ .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find docs perf scripts src tests -name __pycache__ -prune -exec rm -rf {} +
