# Everything a person or CI runs. Needs Python 3.11 or newer, git and make; the rest is set up here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: serve test lint types imports template check lock clean

# Set-up noise goes to standard error: standard output belongs to the service.
$(VENV)/serve.stamp: requirements/run.txt pyproject.toml
	@{ $(PYTHON) -m venv $(VENV) && \
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/run.txt && \
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	touch $@; } >&2

$(VENV)/test.stamp: $(VENV)/serve.stamp requirements/dev.txt
	@{ $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt && \
	touch $@; } >&2

serve: $(VENV)/serve.stamp ## set up and run the service on this machine
	@exec $(BIN)/zm serve $(ARGS)

test: $(VENV)/test.stamp ## set up and pass the tests
	$(BIN)/pytest -n auto $(ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry .

types: $(VENV)/test.stamp
	$(BIN)/basedpyright

imports: $(VENV)/test.stamp
	$(BIN)/lint-imports

template: $(VENV)/test.stamp
	$(BIN)/cfn-lint template.yaml

check: lint types imports template test

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

lock: $(VENV)/serve.stamp ## pin the newest versions that pyproject.toml allows
	$(BIN)/pip install --quiet uv
	printf 'hatchling\neditables\n' >$(VENV)/build.in
	$(BIN)/$(COMPILE) pyproject.toml $(VENV)/build.in -o requirements/run.txt
	$(BIN)/$(COMPILE) --group dev -c requirements/run.txt pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) .aws-sam .pytest_cache .ruff_cache .hypothesis
