# make          what there is to make
# Everything installs what it needs into .venv; only test-real needs root (it installs Debian packages).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint test-real bench bench-real format schemas golden clean

help:
	@echo "make demo       set up .venv, plan and render the examples, run a job on this machine"
	@echo "make test       the hermetic tests"
	@echo "make lint       formatting, lint, types, floors, shell scripts"
	@echo "make test-real  the same bundles on real daemons (root, Debian 12)"
	@echo "make bench      speed and size, as a table with ratios;  make bench-real: on real daemons (root)"
	@echo "make format     format the code;  make schemas, make golden: write generated files anew"

.venv/.ready: pyproject.toml .ci/bootstrap.py
	@$(PYTHON) .ci/bootstrap.py .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.dev: .venv/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: .venv/.ready
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: .venv/.dev
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files '*.sh' '.ci/run' | xargs $(BIN)/shellcheck

# two lanes side by side: Slurm labs wait more than they compute, the others build and compute
test-real: .venv/.dev
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target real-slurm real-others

REAL := $(BIN)/python -m pytest --override-ini addopts="-q --strict-markers"

real-slurm: .venv/.dev
	$(REAL) tests/real/slurm

real-others: .venv/.dev
	$(REAL) tests/real --ignore=tests/real/slurm

bench: .venv/.dev
	$(BIN)/python tests/bench/run.py

bench-real: .venv/.dev
	PYTHONPATH=tests:tests/real/kubernetes:tests/real/pulumi:tests/real/report $(BIN)/python tests/bench/real/run.py

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schemas: .venv/.dev
	$(BIN)/python -m pytest tests/spec/test_schema.py --write-generated

golden: .venv/.dev
	$(BIN)/python -m pytest tests/targets/test_golden.py --write-generated

clean:
	rm -rf .venv out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
