# Every target sets up what it needs: Python 3.11 or newer, git and make are enough. `make help` lists the targets.

PYTHON ?= python3
# Test processes side by side; the suite is written for two cores, and each file stays in one process with its servers.
JOBS ?= 2
# A Redis 7 for release-check, as a distribution brings it.
REDIS_SERVER ?= redis-server
# Passed on to pytest: make test ARGS="tests/policy -k freshness"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-bench
ROOTS := proto policy server client
PROTOS := $(wildcard proto/discreet/v1/*.proto)
GENERATED := build/generated

# The plugins of protoc and the tools that call one another are those of the environment.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# The suite starts some hundred processes: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo demo-fleet test check format check-format check-lint check-types check-imports check-proto proto bench fuzz soak release-check lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## install the locked dependencies and the project into .venv

# Done again only when the lock file or the project file is newer than the stamp; what is already right stays in place.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Discreet needs Python 3.11 or newer; name one: make PYTHON=python3.11")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (first time: about half a minute)"
	@$(PY) -m pip install --disable-pip-version-check -qq --require-hashes -r requirements.lock
	@$(PY) -m pip install --disable-pip-version-check -qq --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## the whole story in under a minute, with real parts
	@$(BIN)/discreet demo

demo-fleet: $(READY) ## two servers, PostgreSQL and Redis: a change reaches both; none need be installed
	@$(PY) -m docs.examples.fleet

test: $(READY) ## the whole suite, the built wheel included (ARGS= is passed to pytest)
	@$(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

check: check-format check-lint check-types check-imports check-proto ## format, lint, types, boundaries, generated code
	@echo "check: all good"

check-format: $(READY)
	@$(BIN)/ruff format --check --quiet .

check-lint: $(READY)
	@$(BIN)/ruff check --quiet .

check-types: $(READY)
	@$(BIN)/mypy $(wildcard $(ROOTS) tests)

check-imports: $(READY)
	@$(BIN)/lint-imports --no-logo

# The committed modules are those that the .proto files give, none missing and none left over.
check-proto: $(READY)
	@cd proto && buf lint && buf format --diff --exit-code .
	@rm -rf $(GENERATED) && mkdir -p $(GENERATED)
	@$(call generate,$(GENERATED))
	@diff -r -x '*.proto' -x __init__.py -x py.typed -x buf.yaml -x __pycache__ $(GENERATED) proto \
	  || { echo "generated modules differ from the .proto files: run 'make proto' and commit"; exit 1; }

format: $(READY) ## rewrite the code in the one format
	@$(BIN)/ruff check --quiet --fix-only --exit-zero .
	@$(BIN)/ruff format --quiet .
	@cd proto && buf format -w .

generate = $(PY) -m grpc_tools.protoc -Iproto --python_out=$(1) --grpc_python_out=$(1) --mypy_out=quiet:$(1) \
	--mypy_grpc_out=quiet:$(1) $(PROTOS)

proto: $(READY) ## regenerate the modules beside the .proto files
	@rm -rf $(GENERATED) && mkdir -p $(GENERATED)
	@$(call generate,$(GENERATED))
	@cp $(GENERATED)/discreet/v1/*_pb2* proto/discreet/v1/
	@cd proto/discreet/v1 && for old in *_pb2*; do test -e $(CURDIR)/$(GENERATED)/discreet/v1/$$old || rm -f $$old; done

$(BENCH_READY): $(READY)
	@$(PY) -m pip install --disable-pip-version-check -qq --no-build-isolation -e '.[bench]' && touch $@ \
	  || echo "bench: the peers of the extra 'bench' could not be installed; they are left out"

bench: $(BENCH_READY) ## measure, against peers too; names what is missing and runs the rest
	@$(PY) -m tests.bench.run $(ARGS)

fuzz: $(READY) ## the property tests, with many more examples
	@$(PY) -m pytest -n $(JOBS) --hypothesis-profile=fuzz -m hypothesis -o faulthandler_timeout=3600 $(ARGS)

soak: $(READY) ## long histories of servers under load and faults, checked whole; ARGS=--storm: policy commits in a storm
	@$(PY) -m tests.history.soak $(ARGS)

release-check: $(READY) ## beside check and test, before a release: all that concerns Redis, on a Redis 7 of this machine
	@$(REDIS_SERVER) --version | grep -q 'v=7\.' \
	  || { echo "release-check: needs a Redis 7; install one, or name it: make release-check REDIS_SERVER=PATH"; exit 1; }
	@DISCREET_TEST_REDIS_SERVER="$$(command -v $(REDIS_SERVER))" \
	  $(PY) -m pytest -n $(JOBS) --dist loadfile tests/server/redis tests/storm tests/e2e/test_demo_fleet.py $(ARGS)

# From the public index alone, whatever pip is told elsewhere on this machine. pip itself stays the one of the environment
# (23.2 or newer will do), so its own line, and the warning about it, are left out.
lock: $(READY) ## write requirements.lock again (UPGRADE=1 takes newer releases)
	@env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_INDEX_URL -u PIP_CONSTRAINT PIP_CONFIG_FILE=/dev/null \
	  CUSTOM_COMPILE_COMMAND='make lock' $(PY) -m piptools compile --no-config --quiet --generate-hashes \
	  --unsafe-package pip --strip-extras --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  $(if $(UPGRADE),--upgrade) --extra server --extra dev --output-file requirements.lock pyproject.toml
	@$(PY) -c 'import pathlib; p = pathlib.Path("requirements.lock"); p.write_text(p.read_text().split("# WARNING")[0].rstrip() + "\n")'

clean: ## remove what the targets made, the environment too
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
