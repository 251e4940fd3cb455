# Everything a person or CI runs. Needs Python 3.11 or newer, git and make; the rest is set up here.
# `tools` and `build` need Python 3.13 too, as Lambda runs it, and `tools` Java 17 and Maven, for a
# search node.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help serve test soak tools check lint format types imports template build deploy lock clean

help: ## list what can be made
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

serve: $(VENV)/serve.stamp ## set up, and run the service on this machine
	@exec $(BIN)/zm serve $(ARGS)

test: $(VENV)/test.stamp ## set up, and pass the tests
	@$(BIN)/pytest -n auto --dist worksteal $(ARGS)

soak: $(VENV)/test.stamp ## ask in many more random worlds than the tests do (WORLDS=5000)
	@ZM_WORLDS=$(or $(WORLDS),5000) $(BIN)/pytest -n auto tests/contract/isolation/test_worlds.py $(ARGS)

tools: $(VENV)/test.stamp ## set up what tests drive beside this package: MCP's own tools, real clients
	@for install in $$(find infra tests -name install -type f | sort); do "$$install" >&2 || exit 1; done

check: lint types imports template ## every gate that reads and does not run

lint: $(VENV)/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/deptry .

format: $(VENV)/test.stamp ## write the code as the formatter does
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/test.stamp
	@$(BIN)/basedpyright

imports: $(VENV)/test.stamp
	@$(BIN)/lint-imports

template: $(VENV)/test.stamp
	@infra/sam/install
	@tests/template/install
	@$(BIN)/cfn-lint template.yaml infra/*.yaml
	@SAM_CLI_TELEMETRY=0 .work/venv-sam/bin/sam validate --lint
	@.work/venv-checkov/bin/checkov -f template.yaml infra/*.yaml

build: $(VENV)/serve.stamp ## build functions and layers for Lambda (needs Python 3.13)
	@infra/build

deploy: $(VENV)/serve.stamp ## put the stack into your AWS account; says first what that means
	@$(BIN)/python infra/deploy.py $(ARGS)

# Set-up speaks on standard error.
$(VENV)/serve.stamp: requirements/run.txt pyproject.toml
	@{ $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "$(PYTHON) is older than 3.11: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }; \
	echo "Setting up $(VENV) …"; \
	$(PYTHON) -m venv $(VENV) \
	&& $(PIP) install --no-deps --require-hashes --requirement requirements/run.txt \
	&& $(PIP) install --no-deps --no-build-isolation --editable . \
	&& touch $@; } >&2

$(VENV)/test.stamp: $(VENV)/serve.stamp requirements/dev.txt
	@{ echo "Setting up the tests …"; \
	$(PIP) install --no-deps --require-hashes --requirement requirements/dev.txt \
	&& touch $@; } >&2

COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header --no-annotate
MACHINE := --universal --python-version 3.11
LAMBDA := --python-platform aarch64-manylinux_2_28 --python-version 3.13
# Tools with environments of their own.
TOOLS := infra/sam/requirements tests/aws/requirements tests/template/requirements \
	tests/contract/mcp/requirements-1.x

lock: $(VENV)/serve.stamp ## pin the newest versions that pyproject.toml allows, and tools'
	@$(PIP) install uv
	@printf 'hatchling\neditables\n' >$(VENV)/build.in
	@$(COMPILE) $(MACHINE) --upgrade pyproject.toml $(VENV)/build.in -o requirements/run.txt
	@$(COMPILE) $(MACHINE) --upgrade --group dev -c requirements/run.txt pyproject.toml \
		-o requirements/dev.txt
	@$(COMPILE) $(LAMBDA) -c requirements/run.txt requirements/lambda.in -o requirements/lambda.txt
	@for tool in $(TOOLS); do \
	$(COMPILE) $(MACHINE) --upgrade $$tool.in -o $$tool.txt || exit 1; done

clean: ## remove what was set up or built, but the tools below .work
	@rm -rf $(VENV) .aws-sam .pytest_cache .ruff_cache .import_linter_cache .hypothesis
