# `make demo` and `make test` first install what is missing into .venv. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
HARNESSES ?= $(VENV)-harnesses
ARGS ?=
JOBS ?= 2

# cpu, cuda or cuda12. `make venv-cuda` notes its choice in the environment, and the other targets keep to it.
DEVICE ?= $(or $(shell cat $(VENV)/device 2>/dev/null),cpu)

ifeq ($(DEVICE),cpu)
export CUDA_VISIBLE_DEVICES :=# the CPU is meant, also where there is a GPU (evenhand/device.py)
endif

# Each step is a process of its own; one that keeps no bytecode compiles four thousand files of the libraries anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(DEVICE)
READY_DEV := $(VENV)/.ready-dev
PIP := $(BIN)/python -m pip --disable-pip-version-check

# pip, quietly: the locks are complete, so it resolves nothing. $(1): what to install; $(2): a hint, should that fail.
install = @$(PIP) install --progress-bar off --no-compile --no-deps $(1) >> $(VENV)/install.log 2>&1 || { \
  tail -n 5 $(VENV)/install.log >&2; echo "make: pip could not install $(1). $(2)" >&2; exit 1; }
# A new environment. pip of Python 3.11 (23.2) matches each file on a package's page with all tags: 45 of 75 s of CPU.
new_venv = $(PYTHON) -m venv --clear $(1) && { \
  $(1)/bin/python -m pip --disable-pip-version-check -qqq install --timeout 20 --retries 1 'pip>=26,<27' || \
  echo "make: pip 26 could not be installed; the older one takes a minute longer" >&2; }
require_python = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo 'Evenhand needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 ...' >&2; exit 1; }
NO_TORCH := It is neither at download.pytorch.org nor in the index and find-links of pip's own configuration.
BENCH ?= $(BIN)/python -m bench

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-gpu test-slurm test-harnesses faults lint bench venv venv-dev venv-cuda lock clean

help: ## what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: venv ## the whole loop on the embedded model: a judge is bent on purpose, asked, straightened, asked again
	$(BIN)/evenhand demo $(ARGS)

test: venv-dev ## all tests that need no CUDA device, in JOBS=2 processes
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-all: venv-dev ## the same with many drawn cases, and the campaigns: commands killed before KILLS=40 file operations
	FUZZ=many HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not gpu and not slurm" $(ARGS)

test-gpu: venv-dev ## what GPU jobs run, on a CUDA device: half precision, dropout, kernels, compiled vLLM
	@$(BIN)/python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || { \
	  echo 'make test-gpu: torch sees no CUDA device; on a machine that has one, run `make venv-cuda` first.' >&2; exit 1; }
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m gpu $(ARGS)

test-slurm: venv-dev ## the job scripts on a real Slurm cluster of several nodes, which it starts on this machine (as root)
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m slurm $(ARGS)

test-harnesses: $(HARNESSES)/.ready ## tasks that lm-eval and inspect_ai run on the embedded model, and their logs, in an environment of their own
	HF_HUB_OFFLINE=1 CUDA_VISIBLE_DEVICES= $(HARNESSES)/bin/python -m pytest -m harnesses tests/eval/test_real_harnesses.py $(ARGS)

faults: venv-dev ## KILLS=200 kills over nine commands and EACH=20 of every other fault: nothing lost, doubled or wrong
	KILLS=$$(( ($${KILLS:-200} + 8) / 9 )) EACH=$${EACH:-20} HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -v -m "" \
	  --durations=0 tests/campaigns tests/inference/test_growing_faults.py $(ARGS)

lint: venv-dev ## ruff (rules and format), mypy --strict, shellcheck, known vulnerabilities of the locked packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/shellcheck -x slurm/*.sh .ci/run
	$(BIN)/python -m requirements.audit

bench: venv-dev ## speed, measured side by side in one run
	$(BENCH) $(ARGS)

venv: $(READY) ## install for this machine's CPU (or keep the CUDA environment that is there)

venv-dev: $(READY_DEV) ## the same, with the test and lint tools

venv-cuda: ## install for the CUDA of this machine's driver, or of DRIVER=570
	$(require_python)
	@device=$$($(PYTHON) -m requirements.choose $(DRIVER)) && $(MAKE) --no-print-directory venv DEVICE=$$device

# An installation that was cut short may have left half a package that pip takes for whole, so .installing marks
# the environment until it is done, and one that bears the mark, or is for the other device, is built anew.
$(READY): requirements/$(DEVICE).lock requirements/torch-cpu.lock pyproject.toml $(if $(wildcard $(VENV)/.installing),FORCE)
	$(require_python)
	@if [ -e $(VENV)/.installing ] || [ ! -x $(BIN)/python ] || [ "$$(cat $(VENV)/device 2>/dev/null)" != $(DEVICE) ]; then \
	  $(call new_venv,$(VENV)); fi
	@touch $(VENV)/.installing && echo $(DEVICE) > $(VENV)/device
	@echo "Installing into $(VENV) for $(DEVICE), a few minutes the first time; details in $(VENV)/install.log"
	$(if $(filter cpu,$(DEVICE)),$(call install,--timeout 20 --retries 1 -r requirements/torch-cpu.lock,$(NO_TORCH)))
	$(call install,-r requirements/$(DEVICE).lock)
	$(call install,--no-build-isolation -e .)
	@rm $(VENV)/.installing
	@touch $@

$(READY_DEV): requirements/dev.lock requirements/aio.lock $(READY)
	@touch $(VENV)/.installing
	$(call install,-r requirements/dev.lock -r requirements/aio.lock)
	@rm $(VENV)/.installing
	@touch $@

# torch's CPU build first, so that what needs torch brings no CUDA.
$(HARNESSES)/.ready: requirements/harnesses.lock requirements/torch-cpu.lock
	$(require_python)
	$(call new_venv,$(HARNESSES))
	$(HARNESSES)/bin/python -m pip install -q --timeout 20 --retries 1 --no-deps -r requirements/torch-cpu.lock
	$(HARNESSES)/bin/python -m pip install -q --no-deps -r requirements/harnesses.lock
	$(HARNESSES)/bin/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

FORCE:

lock: ## resolve the dependencies anew and write the lock files
	$(PYTHON) -m requirements.lock

clean: ## remove the environment and caches; runs/ stays
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
