# Each of these does everything, installation included, on a fresh Debian machine with Python 3.11 or newer:
#   make train   the main job        make demo   the same without training        make test   all tests but the slow ones

VENV := .venv
BIN := $(VENV)/bin
# What `make train` and `make demo` need; and everything, for tests and documentation.
BASIC := $(VENV)/.basic
INSTALLED := $(VENV)/.installed
BIOME := node_modules/.package-lock.json
RUN := runs/main
TRAIN := --method bdp --task tidy_house --preset laptop
# `make demo TASK=set_table` takes another task.
TASK := tidy_house
DEMO := $(if $(filter tidy_house,$(TASK)),runs/demo,runs/demo-$(TASK))
# The package's BDP agent of the task, from depth if there is one; without any, the script that does everything.
SHIPPED := $(patsubst %/,%,$(dir $(wildcard src/housemates/agents/pretrained/$(TASK)/examples/bdp-$(TASK)-*/policy.json)))
DEMO_AGENT := $(patsubst %,$(TASK)/examples/%,$(firstword $(notdir $(SHIPPED))))
DEMO_AGENT := $(or $(DEMO_AGENT),script/solo)
DEMO_EPISODES := 10
WORKERS := $(shell [ "$$(nproc)" -ge 2 ] && echo 2 || echo 1)

.DEFAULT_GOAL := help
.PHONY: help setup browser train demo test test-slow lint format lint-page format-page docs dist speed clean

help:
	@echo "make setup      install everything into $(VENV)"
	@echo "make train      train BDP on Tidy House from depth images, evaluate it with held-out partners, write a report; resumes"
	@echo "make demo       the same with an agent that comes with the package: evaluation and report, no training; TASK=set_table"
	@echo "make test       all tests but the slow ones, on two processes"
	@echo "make test-slow  the slow tests"
	@echo "make lint       ruff, ty, import layers; biome for the page's scripts"
	@echo "make format     let ruff and biome rewrite the files"
	@echo "make docs       build the documentation site into site/, offline; every warning is an error"
	@echo "make dist       build wheel and sdist into dist/ and check them"
	@echo "make speed      measure the kernels on this machine"
	@echo "make clean      remove $(VENV) and everything built"

setup: $(INSTALLED) browser

# The tests of the page open it in a real browser; training needs none.
browser:
	@if ! command -v chromium >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y --no-install-recommends chromium; fi; \
	fi; \
	command -v chromium >/dev/null || echo "Tests of the page are skipped without a browser; run: sudo apt-get install chromium" >&2

# Behavior Diversity Play, both stages; what is done is not done again. `wildcard` is looked up when the target is made.
train: $(BASIC)
	@echo "BDP learns Tidy House from depth images in two stages and is evaluated with held-out partners. Interrupted, it resumes."
	@echo "1 of 3: training"
	$(if $(wildcard $(RUN)/config.json),$(BIN)/housemates train --resume $(RUN), \
	  $(BIN)/housemates train $(TRAIN) --workers $(WORKERS) --out $(RUN))
	@echo "2 of 3: evaluation"
	$(if $(wildcard $(RUN)/evaluation/episodes.parquet),@echo "$(RUN)/evaluation/episodes.parquet is there",$(BIN)/housemates evaluate $(RUN))
	@echo "3 of 3: report"
	$(BIN)/housemates report $(RUN)

demo: $(BASIC)
	@echo "1 of 2: an agent that comes with the package is evaluated with held-out partners"
	$(BIN)/housemates evaluate --agents $(DEMO_AGENT) --task $(TASK) --episodes $(DEMO_EPISODES) --out $(DEMO)/episodes.parquet
	@echo "2 of 2: report"
	$(BIN)/housemates report $(DEMO)/episodes.parquet --out $(DEMO)/report
	@echo "next: source $(BIN)/activate; housemates play"

test: $(INSTALLED) browser
	$(BIN)/python -m pytest -n 2

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check src
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory lint-page

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(MAKE) --no-print-directory format-page

# The page's scripts. Node is needed for nothing else, so a machine without it skips this; continuous integration may not.
lint-page format-page:
	@if command -v npm >/dev/null; then \
	  $(MAKE) --no-print-directory $(BIOME) && npm run --silent $(@:-page=); \
	else \
	  echo "The page's scripts are not checked: npm is missing; run: sudo apt-get install npm" >&2; \
	  [ "$$CI" != true ]; \
	fi

$(BIOME): package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	@touch $@

# mkdocs checks every link and anchor between pages. Nothing is fetched: fonts and scripts are those of the theme.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site is in site/index.html"

dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*

speed: $(BASIC)
	$(BIN)/housemates speed

clean:
	rm -rf $(VENV) node_modules build dist site src/*.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks

# The stamp is written last, so an interrupted installation starts again; a change of either file installs anew.
$(BASIC): pyproject.toml constraints.txt
	@set -e; \
	if [ ! -x $(BIN)/python ]; then \
	  python=; \
	  for name in python3.11 python3 python; do \
	    if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then echo "housemates needs Python 3.11 or newer: none found as python3.11 or python3" >&2; exit 1; fi; \
	  if ! $$python -c 'import ensurepip' 2>/dev/null; then \
	    if [ "$$(id -u)" = 0 ]; then apt-get install -y python3-venv; \
	    else echo "Python cannot make environments here; run: sudo apt-get install python3-venv" >&2; exit 1; fi; \
	  fi; \
	  $$python -m venv $(VENV); \
	fi; \
	echo "Installing into $(VENV); the first time this takes about a minute."; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[web,report,video]'; \
	touch $@

$(INSTALLED): $(BASIC)
	@echo "Installing the tools for tests and documentation into $(VENV); the first time this takes about a minute."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev,docs]'
	@touch $@
