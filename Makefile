# SPDX-License-Identifier: Apache-2.0
# `make` alone shows the targets. Everything is made inside .venv/ and build/.

PYTHON3 ?= python3
ARGS ?=
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Tests start many interpreters, which compile all modules again where no bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE
JOBS ?= $(shell nproc)
# Ranks wait for one another for much of a test's time.
TEST_JOBS ?= $(shell expr 2 \* $(JOBS))

.PHONY: help setup demo algorithm object clang test test-cpp test-python sanitize sanitize-asan sanitize-tsan sanitize-mpi sanitize-mpi-threads conformance fuzz fuzz-python verify-models bench docs docs-site packages cross lint format tidy clean

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Build and install into .venv (with Open MPI and MPICH from PyPI)
	@$(PYTHON3) scripts/setup.py

demo: ## A program on an emulated cluster, without and with Antiphon
	@$(PYTHON3) scripts/setup.py --demo
	@.venv/bin/antiphon demo $(ARGS)

algorithm: ## One algorithm against the reference, without the rest of the build (ALGORITHM=bcast:chain)
	@collective="$(firstword $(subst :, ,$(ALGORITHM)))"; name="$(word 2,$(subst :, ,$(ALGORITHM)))"; \
	for file in src/collectives/*/$$name.cpp; do \
	  case "$$file" in */$$collective/*|*/$$collective+*|*+$$collective/*|*+$$collective+*) [ -n "$$name" ] && exit 0;; esac; \
	done; \
	echo "error: no src/collectives/$$collective/$$name.cpp" >&2; \
	echo "hint: make algorithm ALGORITHM=<collective>:<name>, as bcast:chain" >&2; exit 2
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target antiphon_algorithm_tests
	@ANTIPHON_TEST_ONLY=$(ALGORITHM) build/dev/antiphon_algorithm_tests

object: ABI ?= mpich
object: ## One preload object, put in place of the installed one for `.venv/bin/pytest tests/mpi` (ABI=mpich)
	@cmake --build build/wheel -j $(JOBS) --target antiphon-$(ABI)
	@# A new file: programs that run have the old one mapped, and die of a bus error if it changes.
	@install build/wheel/mpi/libantiphon-$(ABI).so "$$(.venv/bin/python -c 'from antiphon.mpi import launch; print(launch.lib_dir())')"

clang: ## The core, compiled by Clang
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang -j $(JOBS) --target antiphon_core

test: test-cpp test-python ## All tests

test-cpp: setup ## The core's unit tests, and each header of mpi/ by itself (in the tree that setup built)
	@cmake -S . -B build/wheel -DANTIPHON_BUILD_TESTS=ON >/dev/null
	@cmake --build build/wheel -j $(JOBS) --target antiphon_unit_tests
	@.venv/bin/python scripts/check_rooms.py --compile build/wheel
	@ctest --test-dir build/wheel -j $(JOBS) --output-on-failure

# pytest ends with 5 where ARGS choose none of one half.
none_chosen = $(if $(ARGS),|| test $$? = 5)
test-python: setup ## Command line, MPI and cluster tests (ARGS="-k name")
	@.venv/bin/python -m pytest -n $(TEST_JOBS) --dist worksteal -m "not measures" $(ARGS) tests/cli tests/unit tests/mpi tests/lab $(none_chosen)
	@# These measure, and so run one after the other; where other programs disturbed one, it measures again.
	@.venv/bin/python -m pytest -m measures --reruns 2 --durations=12 --durations-min=4 $(ARGS) $$(grep -lr --include='test_*.py' mark.measures tests) $(none_chosen)

sanitize: setup ## The core's unit tests under the address and undefined-behaviour sanitizers, those with threads under the thread sanitizer
	@$(MAKE) --no-print-directory -j $(JOBS) sanitize-asan sanitize-tsan

# Clang compiles for the sanitizers in half the time, and its checks are stricter; GCC serves where Clang has no runtime of them.
sanitizing_compiler = $(shell echo 'int main() {}' | clang++ -fsanitize=address,undefined -x c++ -o /dev/null - 2>/dev/null \
  && echo -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang)
sanitize-asan: export ANTIPHON_TEST_MAX_RANKS = 6
sanitize-tsan: export ANTIPHON_TEST_MAX_RANKS = 4
sanitize-asan sanitize-tsan: sanitize-%:
	@cmake --preset $* $(sanitizing_compiler) >/dev/null
	@cmake --build --preset $* -j $(JOBS) --target antiphon_unit_tests
	@ctest --test-dir build/$* -j $(JOBS) --output-on-failure

sanitize-mpi: setup ## The preload object under address and undefined-behaviour sanitizers, on MPICH: collectives, compressed messages
	@cmake -S . -B build/asan-mpi -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DANTIPHON_BUILD_TESTS=OFF \
	  -DANTIPHON_SANITIZE=address,undefined -DANTIPHON_MPI_WHEELS=$(CURDIR)/.venv/mpi >/dev/null
	@cmake --build build/asan-mpi -j $(JOBS) --target antiphon-mpich
	@.venv/mpi/mpich/bin/mpicc -O1 -o build/asan-mpi/check bench/check/*.c -lpthread -lm
	@for ranks in 2 5; do LD_LIBRARY_PATH=.venv/mpi/mpich/lib ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
	  .venv/mpi/mpich/bin/mpiexec -n $$ranks -genv ANTIPHON_FORCE '*:on' -genv LD_PRELOAD \
	  "$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $(CURDIR)/build/asan-mpi/mpi/libantiphon-mpich.so" \
	  build/asan-mpi/check --quick || exit 1; done
	@for program in "p2p 0" "p2p_order threads"; do \
	  .venv/mpi/mpich/bin/mpicc -O1 -o build/asan-mpi/messages tests/mpi/programs/$${program%% *}.c -lpthread && \
	  LD_LIBRARY_PATH=.venv/mpi/mpich/lib ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
	  .venv/mpi/mpich/bin/mpiexec -n 3 -genv ANTIPHON_COMPRESS force -genv LD_PRELOAD \
	  "$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $(CURDIR)/build/asan-mpi/mpi/libantiphon-mpich.so" \
	  build/asan-mpi/messages $${program#* } || exit 1; done

sanitize-mpi-threads: setup ## The preload object under the thread sanitizer, on MPICH: collectives and messages of several threads
	@cmake -S . -B build/tsan-mpi -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DANTIPHON_BUILD_TESTS=OFF \
	  -DANTIPHON_SANITIZE=thread -DANTIPHON_MPI_WHEELS=$(CURDIR)/.venv/mpi >/dev/null
	@cmake --build build/tsan-mpi -j $(JOBS) --target antiphon-mpich
	@sh tests/tsan/run.sh

conformance: setup ## Test suites of mpi4py and MPICH, with Antiphon and without
	@.venv/bin/python tests/conformance/run.py $(ARGS)

fuzz: FUZZ_SECONDS ?= 60
fuzz: FUZZERS ?= $(patsubst tests/fuzz/%_fuzz.cpp,%,$(wildcard tests/fuzz/*_fuzz.cpp))
fuzz: ## libFuzzer on everything that reads what comes from outside (needs clang; FUZZ_SECONDS=60 FUZZERS="…"), then fuzz-python
	@cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER="$$(ls /usr/lib/llvm-*/bin/clang++ 2>/dev/null | tail -1 | grep . || echo clang++)" \
	  -DANTIPHON_BUILD_MPI=OFF -DANTIPHON_BUILD_TESTS=OFF -DANTIPHON_BUILD_FUZZ=ON -DANTIPHON_SANITIZE=address,undefined >/dev/null
	@cmake --build build/fuzz -j $(JOBS) --target $(addsuffix _fuzz,$(FUZZERS))
	@echo $(FUZZERS) | xargs -n 1 -P $(JOBS) sh tests/fuzz/run.sh $(FUZZ_SECONDS)
	@$(MAKE) --no-print-directory fuzz-python

fuzz-python: FUZZ_SECONDS ?= 60
fuzz-python: PYTHON_FUZZERS ?= $(shell .venv/bin/python tests/fuzz/python_targets.py --list)
fuzz-python: setup ## The same for what Python reads from files (needs no clang; FUZZ_SECONDS=60 PYTHON_FUZZERS="…")
	@echo $(PYTHON_FUZZERS) | xargs -n 1 -P $(JOBS) .venv/bin/python tests/fuzz/python_targets.py $(FUZZ_SECONDS)

verify-models: ## Model-check the protocols of credits and of multicast repair (needs spin)
	@$(PYTHON3) tests/models/verify.py

bench: setup ## Collectives on the emulated cluster: the library's, Antiphon's and the limit
	@.venv/bin/antiphon bench $(ARGS)

docs: setup ## Generate the reference pages that are made from code
	@.venv/bin/python scripts/gen_reference.py

docs-site: ## The documentation as a site that needs no network to read, in build/site
	@$(PYTHON3) scripts/docs_site.py

packages: setup ## Source package and wheel in dist/ (ARGS="sdist wheel --mpi-headers DIR")
	@$(PYTHON3) scripts/packages.py $(ARGS)

cross: setup ## The core and the object for MPICH by aarch64's cross compiler, and some of the core's unit tests under qemu
	@cmake -S . -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64.cmake -DANTIPHON_MPI_WHEELS=$(CURDIR)/.venv/mpi \
	  "-DANTIPHON_TEST_FILES=(algorithms|codec|json|levels)_test" >/dev/null
	@cmake --build build/aarch64 -j $(JOBS) --target antiphon_core antiphon-mpich antiphon_unit_tests
	@ANTIPHON_TEST_MAX_RANKS=4 ctest --test-dir build/aarch64 -j $(JOBS) --output-on-failure

lint: ## Check formatting, types, sizes and the order of layers
	@$(PYTHON3) scripts/lint.py

format: ## Rewrite all sources with clang-format and ruff
	@$(PYTHON3) scripts/lint.py --fix

tidy: ## Check the core with clang-tidy (ARGS="src/credit/credit.cpp")
	@$(PYTHON3) scripts/lint.py --tidy $(ARGS)

clean: ## Remove everything that was built (not the sources)
	@rm -rf build .venv .pytest_cache .hypothesis .ruff_cache
