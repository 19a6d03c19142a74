# Everything runs in .venv, which is made on first use and brought up to date when pyproject.toml changes.
# All paths are relative, so that the folder of the checkout may have any name, spaces included.

PYTHON ?= python3
RUN := .venv/bin/python
# One BLAS thread per worker: the workers already fill the machine. Tests of one cluster or one JVM share a worker.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -q -n auto --maxprocesses 8 --dist loadgroup

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: demo test test-all lint format benchmark docs studies package test-lowest clean help

demo: .venv/installed-cli  ## audit, fit and predict on a rare class; leaves reports in demo/
	@$(RUN) -m properly demo --output demo

test: lint  ## lint, type-check and run the test suite, doctests included
	@$(PYTEST) -m "not slow"

test-all: lint  ## the same with the slow tests
	@$(PYTEST)

lint: .venv/installed-dev  ## ruff (rules and format), mypy and the layers
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy
	@$(RUN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-logo --no-cache

format: .venv/installed-dev  ## format the code and repair what ruff can
	@$(RUN) -m ruff format
	@$(RUN) -m ruff check --fix

benchmark: .venv/installed-benchmarks  ## run every script benchmarks/bench_*.py
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(RUN) "$$script"; done

docs: .venv/installed-docs  ## build the documentation site: build/site/index.html
	@$(RUN) docs/site/build.py

package: .venv/installed-release  ## build the wheel, check it, run the demo from it in an empty environment
	@rm -rf dist build/empty && $(RUN) -m build --quiet && $(RUN) -m twine check --strict dist/*
	@$(RUN) -m venv build/empty && build/empty/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli]"
	@cd build && env -u PYTHONPATH empty/bin/properly demo --output package-demo

test-lowest: .venv/installed-release  ## test the core with the lowest versions of all dependencies
	@$(RUN) -m uv venv --quiet --clear --python "$(PYTHON)" build/lowest
	@$(RUN) -m uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct --editable ".[cli,frames]"
	@$(RUN) -m uv pip install --quiet --python build/lowest/bin/python pytest pytest-xdist hypothesis mpmath array-api-strict
	@OMP_NUM_THREADS=1 build/lowest/bin/python -m pytest -q -n auto --maxprocesses 8 -m "not slow" $(LOWEST)

# What depends on the versions of numpy, scipy, scikit-learn and pyarrow. Not among them: model files of scikit-learn's own types,
# of which the list knows those of later versions; and a comparison with a function that scikit-learn 1.6 has for two classes only.
LOWEST := tests/links tests/inputs tests/solvers/test_dense.py tests/linear/test_classifier.py tests/prevalence \
	tests/metrics/test_scores.py tests/metrics/test_decisions.py tests/metrics/test_ranking.py tests/metrics/test_decomposition.py \
	tests/calibration/test_parametric.py tests/calibration/test_isotonic.py tests/tables/test_reading.py --deselect tests/metrics/test_scores.py::test_scikit_learn_agrees

# make study-gev QUICK=1 is the quick form; OPTIONS="--overwrite --data FOLDER" passes options on.
STUDY_bennett := bennett_reuters bennett_further bennett_suspects
STUDY_gev := gev_synthetic gev_real
STUDY_nceas := nceas_settings nceas
STUDY_tailoring := tailoring
STUDY_calibration := calibration
STUDIES := study-bennett study-gev study-nceas study-tailoring study-calibration
.PHONY: $(STUDIES)

studies: $(STUDIES)  ## repeat the studies of the papers; QUICK=1 for a short form

$(STUDIES): study-%: .venv/installed-benchmarks
	@set -e; for script in $(STUDY_$*); do echo "== $$script"; \
	$(RUN) benchmarks/papers/$$script.py $(if $(QUICK),--quick) $(OPTIONS); done

clean:  ## remove the virtual environment, caches and what the demo wrote
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist demo
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# .venv/installed-EXTRA says that the package is installed in .venv, editable, with that extra.
.venv/installed-%: pyproject.toml .venv/bin/python
	@echo "Installing properly[$*] into .venv"
	@if command -v uv >/dev/null 2>&1; \
	then uv pip install --quiet --python $(RUN) --editable ".[$*]"; \
	else $(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[$*]"; fi
	@touch $@

# An environment that was moved or copied would go on importing the old checkout: set it up anew.
ifneq ($(shell cat .venv/location 2>/dev/null),$(CURDIR))
.PHONY: .venv/bin/python
endif
.venv/bin/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo 'Python 3.11 or newer is needed, and "$(PYTHON)" is not. Name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@echo "Setting up .venv (once; a few minutes at most)"
	@if command -v uv >/dev/null 2>&1; \
	then uv venv --quiet --seed --allow-existing --python "$(PYTHON)" .venv; \
	else "$(PYTHON)" -m venv .venv || { \
	echo 'The venv module is missing: install it (on Debian or Ubuntu: apt install python3-venv) or install uv.' >&2; \
	exit 1; }; fi
	@pwd -P > .venv/location
