# Every target sets up what it needs, from the committed lock, and redoes nothing the second time.
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
UV := $(shell command -v uv)
# One process more than processors: many tests wait, for other processes or for a pause.
QUICKLY = -q -m "not soak" -n $$(expr $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 1) --dist loadfile

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
export PIP_NO_WARN_SCRIPT_LOCATION := 1
# Images often set it: each process of the tests would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test suite coverage lint fix docs evals bench speed soak lowest lock clean

help:  ## What there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): requirements.lock pyproject.toml
	@echo "Setting up $(VENV) from requirements.lock (with $(if $(UV),uv,pip); once, about a minute) ..." >&2
ifdef UV
	@test -x $(BIN)/python || uv venv --quiet --python '>=3.11' $(VENV)
	@uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.lock
	@uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -C editable_mode=compat -e .
else
	@test -x $(BIN)/python || python3 -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-deps -r requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
endif
	@touch $(RUNS) $@

# What runs, without the tools of development: the versions of the lock, as constraints.
$(RUNS): requirements.lock pyproject.toml
	@echo "Setting up $(VENV) (with $(if $(UV),uv,pip); once, less than a minute) ..." >&2
	@test -x $(BIN)/python || $(if $(UV),uv venv --quiet --python '>=3.11',python3 -m venv) $(VENV)
	@sed -E '/^ +--hash/d; s/ \\$$//' requirements.lock > $(VENV)/constraints.txt
	@$(if $(UV),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet) -c $(VENV)/constraints.txt -e .
	@touch $@

demo: $(RUNS)  ## Half a year with a companion, in a few screens (no key, no network)
	@$(BIN)/souffleur demo

test: $(READY)  ## Lint, types, tests
	@$(MAKE) --no-print-directory -j2 lint suite

suite: $(READY)
	@$(BIN)/pytest $(QUICKLY)

# Not part of `test`: two threads that start at once under a tracer may lose one on CPython 3.11
# ("Cannot install a trace function while another trace function is being installed").
coverage: $(READY)  ## Tests with coverage of lines and branches
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(QUICKLY)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

lint: $(READY)  ## Style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fix: $(READY)  ## Mend what can be mended by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(READY)  ## Write the tables of docs/settings.md anew, from the code
	@$(BIN)/python -m tests.reference_pages

evals: $(READY)  ## Play the recorded suite, mark it, write its page (no key, no network)
	@mkdir -p build
	@$(BIN)/souffleur eval run --dialogues evals/careless
	@$(BIN)/souffleur eval run --dialogues evals/special --recordings evals/recordings/special
	@$(BIN)/souffleur eval run --out build/evals.json
	@$(BIN)/souffleur eval report build/evals.json --html build/evals.html
	@$(BIN)/souffleur eval compare evals/baseline.json build/evals.json

bench: $(READY)  ## Tests of the measurements (bench/README.md)
	@$(BIN)/pytest $(QUICKLY) bench

speed: $(READY)  ## Measure how long the host waits, as the store grows; mem0 and LangMem, if installed
	@$(BIN)/python -m bench speed

lowest:  ## Tests with the lowest versions that pyproject.toml allows
	@test -x $(LOWEST)/bin/python || python3 -m venv $(LOWEST)
	@python3 tests/lowest.py > $(LOWEST)/floors.txt
	@$(LOWEST)/bin/python -m pip install --quiet -r $(LOWEST)/floors.txt
	@$(LOWEST)/bin/python -m pip install --quiet --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@$(LOWEST)/bin/python -m pytest $(QUICKLY)

soak: $(READY) lowest  ## The long campaigns
	@$(BIN)/pytest -q -m soak --hypothesis-profile=soak
	@$(BIN)/pytest -q -m soak bench
	@$(BIN)/python -m bench soak

lock:  ## Resolve the dependencies anew
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --group dev --group build \
	  --extra serve --extra mcp --extra langchain --extra telemetry pyproject.toml -o requirements.lock

clean:  ## Remove what the other targets made
	rm -rf $(VENV) $(LOWEST) build *.egg-info .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
