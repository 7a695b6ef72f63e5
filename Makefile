# Everything a newcomer or a CI needs. `make` alone lists it.
#
#   make demo
#   make demo ENGINE=llamacpp STEPS=1,2,4,8 HOLD=30s ARGS="--slo ttft_p95<=1s"
#   make demo ENGINE=vllm
#   make check PYTHON=python3.13

PYTHON ?= python3
ENGINE ?= simulator
ARGS   ?=

# No pauses, so that users are requests in flight. The simulator past its failure point, as long as its answers are.
# Real engines with short answers: a tiny engine on shared cores is saturated by a handful of users.
ifeq ($(ENGINE),simulator)
STEPS ?= 4,8,16,24,28,32,36,40,48,56,64
HOLD  ?= 10s
LOAD  := --no-ignore-eos --max-tokens 512 --until-failure
INSTALLED :=
else
STEPS ?= 1,2,4,8,16
HOLD  ?= 30s
LOAD  := --max-tokens 32-128
INSTALLED := .engine/$(ENGINE)/installed
endif

ENGINES := simulator llamacpp vllm
ifeq ($(filter $(ENGINE),$(ENGINES)),)
$(error there is no engine '$(ENGINE)': choose of $(ENGINES))
endif

# Through the environment, so that no shell takes ARGS="--slo ttft_p95<=1s" for a file to read.
export DEMO_ARGS = $(ARGS)

BIN := .venv/bin
PIP := -m pip install -q --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo run engine setup setup-dev format check test test-long test-vllm bench bench-check bench-verdict clean native

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup engine ## an engine here, step-loaded: ENGINE=simulator, llamacpp or vllm, STEPS=1,2,4 HOLD=30s ARGS=...
	@$(BIN)/python deploy/run_engine.py $(ENGINE) -- --steps "$(STEPS)" --hold "$(HOLD)" --think-time 0 $(LOAD)

run: demo ## the same

check: setup-dev ## format, lint, types, tests: what the CI runs
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory test

# Tests of processes mostly wait: six at a time share two cores; tests of times want them alone. 5 is pytest's "no tests".
# The second line is the hot path as it is without a C compiler.
test: setup-dev .engine/llamacpp/installed ## all tests but the long ones and vLLM's
	@$(BIN)/python -m pytest -n 6 --dist worksteal -m "not timing and not long and not vllm"
	@LOADBAND_NATIVE=0 $(BIN)/python -m pytest -n 6 tests/load -m "not timing and not long and not process"
	@$(BIN)/python -m pytest -n 0 -m "timing and not long" || test $$? -eq 5

test-long: setup-dev .engine/llamacpp/installed ## the tests that need longer than a coffee
	@$(BIN)/python -m pytest -n 0 -m long || test $$? -eq 5

test-vllm: setup-dev .engine/vllm/installed ## a run against vLLM on the CPU: installs 2.5 GB, takes minutes
	@$(BIN)/python -m pytest -n 0 -s -m vllm

bench: setup-dev ## the client's own limits, beside a bare reader and other tools: 40 minutes, wants a quiet machine
	@$(BIN)/python -m benchmarks.bench $(ARGS)

bench-check: setup-dev ## fails when the client's cost grew by more than a quarter: 3 minutes, wants a quiet machine
	@$(BIN)/python -m benchmarks.bench --check

bench-verdict: setup-dev ## the verdict against truth: hits, false knees, coverage of its intervals: 5 to 10 minutes
	@$(BIN)/python -m benchmarks.verdict_truth $(ARGS)

format: setup-dev ## format and sort the code
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

setup: .venv/installed native ## the virtual environment to run with, and the reader in C where there is a compiler
setup-dev: .venv/installed-dev native ## the virtual environment to develop with, and the reader in C
engine: $(INSTALLED) ## the engine's own virtual environment: ENGINE=llamacpp or vllm

clean: ## remove what make made; runs/ stays
	@rm -rf .venv .engine loadband/load/native/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Make a virtual environment ($1), or say in one line what is missing and what mends it.
define venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or newer is needed, '$(PYTHON)' is not: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "Python's venv is missing: apt install python3-venv" >&2; exit 2; }
	@test -x $1/bin/python || $(PYTHON) -m venv $1
endef

# Install a requirements file ($2) into a virtual environment ($1), take out of it again what an unwanted file ($3)
# names, and say that the target is done; quiet unless it fails.
define install
	@echo "installing $2 into $1 (once)"
	@$1/bin/python $(PIP) -r $2 > $1/pip.log 2>&1 || { cat $1/pip.log >&2; exit 1; }
	$(if $3,@$1/bin/python -m pip uninstall -q -y -r $3 >> $1/pip.log 2>&1 || { cat $1/pip.log >&2; exit 1; })
	@touch $@
endef

.venv/installed: requirements.txt
	$(call venv,.venv)
	$(call install,.venv,$<)

native: | .venv/installed
	@$(BIN)/python -m loadband.load.native --quiet

.venv/installed-dev: requirements-dev.txt requirements.txt
	$(call venv,.venv)
	$(call install,.venv,$<)
	@touch .venv/installed

.engine/%/installed: deploy/engines/requirements-%.txt
	$(call venv,.engine/$*)
	$(call install,.engine/$*,$<,$(wildcard deploy/engines/unwanted-$*.txt))
