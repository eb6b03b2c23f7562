# The commands of the README. Everything is installed into .venv, once; a second run installs nothing.
# It needs make, and a Python >= 3.11 that can make virtual environments. It needs no Java.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
# One worker for each core, each with its own server. The tests of a file share its fixtures.
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist loadfile
# To choose the Python: make setup PYTHON=/opt/python3.12/bin/python3
PYTHON ?=

.PHONY: help setup libmqm demo checks share test test-all docs bench bench-spark clean

help:
	@echo "make demo    set up, then run the demo: flights through three queue managers, one of them killed"
	@echo "make test    set up, then run the checks and a share of every kind of test"
	@echo "make test-all  the checks, and every test: those that start managers, kill servers, run Spark or move much too"
	@echo "make bench   set up, then measure against raw Redis Streams"
	@echo "make bench-spark  set up, then measure Spark against bare Python readers and writers"
	@echo "make libmqm  set up, then compile the C library for other languages into build/mqm"
	@echo "make setup   only set up $(VENV)"
	@echo "make clean   remove $(VENV) and caches"

setup: $(STAMP)

# The stamp is written last, so an interrupted set-up is continued by the next one.
$(STAMP): requirements.lock pyproject.toml
	@python="$(PYTHON)"; is_new='import sys; sys.exit(sys.version_info < (3, 11))'; \
	if [ -z "$$python" ]; then \
	    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	        if "$$candidate" -c "$$is_new" 2>/dev/null; then python="$$candidate"; break; fi; \
	    done; \
	fi; \
	if [ -z "$$python" ] || ! "$$python" -c "$$is_new"; then \
	    echo "igq needs Python 3.11 or later: none found as '$${python:-python3}'." \
	        "Install one, or say where: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if $(BIN)/python -c "$$is_new" 2>/dev/null && $(BIN)/python -m pip --version >/dev/null 2>&1; then :; \
	elif ! "$$python" -m venv --clear $(VENV); then \
	    echo "$$python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
	    exit 1; \
	fi
	@echo "Installing into $(VENV), about a gigabyte with Spark; only the first time."
	@# uv is several times as fast as pip. It does not read pip's settings (mirrors, certificates), so they are passed on.
	@# If uv fails, pip installs instead. The output of uv is shown only if pip fails too.
	@awk '/^uv==/ { on = 1 } on { print } on && !/\\$$/ { exit }' requirements.lock > $(VENV)/uv.lock; \
	settings=$$($(BIN)/python -m pip config list 2>/dev/null); \
	said() { for place in :env: install global; do \
	    found=$$(printf '%s\n' "$$settings" | sed -n "s/^$$place\.$$1='\(.*\)'$$/\1/p"); \
	    if [ -n "$$found" ]; then printf '%s' "$$found" | sed 's/\\n/ /g'; return; fi; done; }; \
	set -- --system-certs --index-strategy unsafe-best-match; \
	for each in $$(said index-url); do [ -n "$$UV_DEFAULT_INDEX" ] || set -- "$$@" --default-index "$$each"; done; \
	for each in $$(said extra-index-url); do set -- "$$@" --index "$$each"; done; \
	for each in $$(said find-links); do set -- "$$@" --find-links "$$each"; done; \
	for each in $$(said trusted-host); do set -- "$$@" --allow-insecure-host "$$each"; done; \
	case "$$(said no-index)" in 1|true|True|yes|on) set -- "$$@" --no-index;; esac; \
	certificates=$${SSL_CERT_FILE:-$$(said cert)}; [ -z "$$certificates" ] || export SSL_CERT_FILE="$$certificates"; \
	if { $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock \
	    && $(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes "$$@" \
	        requirements.lock; } >$(VENV)/uv.log 2>&1; then :; \
	elif $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; then :; \
	else cat $(VENV)/uv.log >&2; exit 1; fi
	@# Use the installed packages only: no network, no index. uv may have removed pip, so install it again.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# Compile once here, because PYTHONDONTWRITEBYTECODE may keep each process from storing its bytecode.
	@$(BIN)/python -m compileall -q sharedq recovery igq
	@touch $(STAMP)

libmqm: setup
	$(BIN)/igq mqm build --to build/mqm

demo: setup
	$(BIN)/igq demo

checks: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The checks need one core for a minute, so they run beside the tests.
test: setup
	@$(MAKE) --no-print-directory --jobs=2 checks share

# The marker `share` at a test, or at its file, says that it runs here.
share: setup
	$(PYTEST) -m "share and not slow" tests

# Also the tests that start managers, kill servers, run Spark or move much.
test-all: checks
	$(PYTEST) --no-loadscope-reorder tests

# Update the generated parts of the pages, then build the site.
docs: setup
	$(BIN)/python -m docs.generator
	$(BIN)/sphinx-build -W -q -b html docs build/docs
	@echo "See build/docs/index.html"

bench: setup
	$(BIN)/python -m bench

bench-spark: setup
	$(BIN)/python -m bench --goals --only audit --only archive --only archive-at-size --only spark --only spark-workers

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
