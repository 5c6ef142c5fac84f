# make          what there is to make
# Everything installs what it needs into .venv; only test-real needs root (it installs Debian packages).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-exhaustive test-fast lint docs test-real test-real-all real-first real-second bench bench-real format schemas golden golden-full golden-diff clean

help:
	@echo "make demo       set up .venv, plan and render the examples, run a job on this machine"
	@echo "make test       the hermetic tests;  make test-exhaustive: those that try whole ranges and random cases"
	@echo "make test-fast  those that are not slow, in a minute;  make test-fast ROOM=jobs: those of tests/jobs"
	@echo "make docs       the documentation, as pages in out/docs that are read without a network"
	@echo "make lint       formatting, lint, types, layers, spelling, shell scripts"
	@echo "make test-real  the essential tests on real daemons (root, Debian 12);  make test-real-all: all of them"
	@echo "make bench      speed and size, as a table with ratios;  make bench-real: on real daemons (root)"
	@echo "make format     format the code;  make schemas: regenerate the schemas of the spec"
	@echo "make golden     regenerate the golden files, and show by kind of file what differs from HEAD (BASE=REVISION: from that)"
	@echo "make golden-full OUT=FOLDER   render every file of every example;  make golden-diff A=FOLDER B=FOLDER: compare two"

.venv/.ready: pyproject.toml .ci/bootstrap.py
	@$(PYTHON) .ci/bootstrap.py .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.dev: .venv/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

.venv/.docs: .venv/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

demo: .venv/.ready
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

# three workers: a fifth of the time two cores would wait for subprocesses
test: .venv/.dev
	$(BIN)/python -m pytest --numprocesses=3 --dist=worksteal -m "not exhaustive"

# whole ranges, random specs, kill -9 trials, every page of the documentation: as long again as the others
test-exhaustive: .venv/.dev
	$(BIN)/python -m pytest --numprocesses=3 --dist=worksteal -m exhaustive

# without tests that start Python or compute for long; ROOM is a folder or a file of tests
test-fast: .venv/.dev
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal -m "not slow and not exhaustive" tests/$(ROOM)

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell supercloud templates docs examples stacks .ci Makefile pyproject.toml *.md
	$(BIN)/codespell --ignore-words tests/misspelt.txt tests
	git ls-files '*.sh' '.ci/run' | xargs $(BIN)/shellcheck

# a reference that is not there, a heading twice, a name that does not import: each is an error
docs: .venv/.docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html docs out/docs
	@echo "out/docs/index.html"

# Two lanes side by side: labs of the first one wait more than they compute, the others build and compute. With empty
# caches both take about as long. Parts that compile for many minutes (pulumi, for aws too, and kubernetes) are last.
FIRST_LANE := tests/real/slurm/ tests/real/pulumi/ tests/real/aws/
LAST := tests/real/kubernetes/
SECOND_LANE := $(filter-out $(FIRST_LANE) $(LAST),$(sort $(dir $(wildcard tests/real/*/test_*.py)))) $(LAST)
# test-real is what CI runs: the essential tests, without those that passed on this machine with the same inputs. With
# MINUTES=30 no test begins after that time, and those that were not run are counted at the end.
test-real: .venv/.dev
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line real-first real-second \
		CHOSEN="--essential --reuse-results $(if $(MINUTES),--minutes=$(MINUTES))"

test-real-all: .venv/.dev
	@date +%s >.venv/.began
	@git describe --always --dirty --abbrev=12 >.venv/.commit 2>/dev/null || echo unknown >.venv/.commit
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target real-first real-second
	@{ printf '# What the last whole run of the tests on real parts took\n\nCommit %s, begun on %s.\n\n' \
		"$$(cat .venv/.commit)" "$$(date --utc --date="@$$(cat .venv/.began)" +%F)"; \
		$(BIN)/python tests/real/history.py table "$$(cat .venv/.began)"; } >tests/real/RESULTS.md

# a test on a real part that fails has one more attempt, and is listed as flaky
REAL := $(BIN)/python -m pytest --override-ini addopts="-q --strict-markers" --reruns=1

real-first: .venv/.dev
	$(REAL) $(CHOSEN) $(FIRST_LANE)

real-second: .venv/.dev
	$(REAL) $(CHOSEN) $(SECOND_LANE)

bench: .venv/.dev
	$(BIN)/python tests/bench/run.py

bench-real: .venv/.dev
	PYTHONPATH=tests:tests/real/kubernetes:tests/real/pulumi:tests/real/report $(BIN)/python tests/bench/real/run.py

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schemas: .venv/.dev
	$(BIN)/python -m pytest tests/spec/test_schema.py --write-generated

# writes the golden files, and shows by kind of file what differs from a commit
BASE ?= HEAD
golden: .venv/.dev
	$(BIN)/python tests/golden_files.py write --base $(BASE)

# every file of every example in a folder, and the difference of two such folders: of two checkouts
golden-full: .venv/.dev
	$(BIN)/python tests/golden_files.py full $(or $(OUT),$(error which folder? make golden-full OUT=FOLDER))

golden-diff: .venv/.dev
	$(BIN)/python tests/golden_files.py compare $(or $(A),$(error which folders? make golden-diff A=FOLDER B=FOLDER)) \
		$(or $(B),$(error which folders? make golden-diff A=FOLDER B=FOLDER))

clean:
	rm -rf .venv out dist docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
