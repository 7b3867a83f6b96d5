# SPDX-License-Identifier: Apache-2.0
# `make` alone shows the targets. Everything is made inside .venv/ and build/.

PYTHON3 ?= python3
ARGS ?=
export PATH := $(CURDIR)/.venv/bin:$(PATH)
JOBS ?= $(shell nproc)

.PHONY: help setup demo test test-cpp test-python sanitize conformance bench docs lint clean

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Build and install into .venv (with Open MPI and MPICH from PyPI)
	@$(PYTHON3) scripts/setup.py

demo: setup ## A program on an emulated cluster, without and with Antiphon
	@.venv/bin/antiphon demo $(ARGS)

test: test-cpp test-python ## All tests

test-cpp: setup ## The core's unit tests
	@cmake -S . -B build/test -G Ninja -DCMAKE_BUILD_TYPE=Release -DANTIPHON_BUILD_MPI=OFF -DANTIPHON_BUILD_TESTS=ON >/dev/null
	@cmake --build build/test -j $(JOBS)
	@ctest --test-dir build/test --output-on-failure

test-python: setup ## Command line, MPI and cluster tests (ARGS="-k name")
	@.venv/bin/python -m pytest $(ARGS)

sanitize: setup ## The core's unit tests under address, undefined-behaviour and thread sanitizers
	@for preset in asan tsan; do \
	  cmake --preset $$preset >/dev/null && cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --test-dir build/$$preset --output-on-failure || exit 1; \
	done

conformance: setup ## Test suites of mpi4py and MPICH, with Antiphon and without
	@.venv/bin/python tests/conformance/run.py $(ARGS)

bench: setup ## Collectives on the emulated cluster: the library's, Antiphon's and the limit
	@.venv/bin/antiphon bench $(ARGS)

docs: setup ## Generate the reference pages that are made from code
	@.venv/bin/python scripts/gen_reference.py

lint: setup ## Check the Python sources
	@.venv/bin/python -m pip install --quiet 'ruff>=0.6'
	@.venv/bin/ruff check python scripts tests

clean: ## Remove everything that was built (not the sources)
	@rm -rf build .venv .pytest_cache .hypothesis .ruff_cache
