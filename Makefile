# make demo    embed two data sets and draw them
# make test    lint, type check, layers and tests
# make test-dask   the tests that need Dask, which it installs
# make test-gpu   tests of what runs on a CUDA device: on it, or on the CPU in Triton's interpreter; installs torch and Dask
# make lint    lint, type check and layers alone
# make reproduce   every figure and the table of the paper, and a report; 20 minutes at most, QUICK=1: two
# make benchmarks   solvers side by side, and the same answer from every start; takes a while
# make docs    the documentation, in docs/_build/html; without network, once .venv is there
# make audit   known vulnerabilities of what is installed; asks pypi.org
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

.PHONY: demo test test-dask test-gpu lint reproduce benchmarks docs audit clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-plot
	$(PY) examples/demo.py

# One BLAS thread per worker: more would have the workers fight for the same cores.
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: export MKL_NUM_THREADS := 1
test: export VECLIB_MAXIMUM_THREADS := 1
test: lint
	$(PY) -m pytest -n $(WORKERS) --cov --cov-report=term

# Workers of Dask are processes of their own; one test at a time.
test-dask: export OPENBLAS_NUM_THREADS := 1
test-dask: export OMP_NUM_THREADS := 1
test-dask: $(VENV)/.installed-test $(VENV)/.installed-dask
	$(PY) -m pytest tests/distributed tests/cli/test_cli_cluster.py tests/operators/test_contract.py

test-gpu: $(VENV)/.installed-test $(VENV)/.installed-gpu $(VENV)/.installed-dask
	$(PY) -m pytest -n $(WORKERS) tests/operators/cuda tests/kernels/test_device_search.py tests/estimators/test_device.py tests/sdp/test_transfers.py tests/distributed/test_device.py

lint: $(VENV)/.installed-test
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-cache

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

# Warnings are errors, all of which are shown.
docs: $(VENV)/.installed-docs
	$(PY) -m sphinx -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# What pypi.org says of one version is asked first: mirrors may lack it, and then nothing would be found in anything.
audit: $(VENV)/.created
	@$(PY) -c "from urllib.request import urlopen; urlopen('https://pypi.org/pypi/pip/23.2/json', timeout=10)" 2> /dev/null || { \
	    echo "Nothing was audited: no list of known vulnerabilities can be read from https://pypi.org (there is no network, or" \
	         "a mirror without it)." >&2; exit 1; }
	@$(MAKE) --no-print-directory $(VENV)/.installed-test $(VENV)/.installed-audit
	$(PY) -m pip freeze --all --exclude-editable > $(VENV)/audited.txt
	$(PY) -m pip_audit --strict --no-deps --disable-pip --requirement $(VENV)/audited.txt

clean:
	rm -rf $(VENV) demo_output reproduction build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/api docs/gallery docs/repository
	rm -rf src/elliptope.egg-info src/elliptope/sdp/_steps.*.so src/elliptope/sdp/_steps.so
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# One stamp per extra, so that a second run installs nothing until pyproject.toml or the extension changes.
$(VENV)/.installed-%: pyproject.toml setup.py src/elliptope/sdp/_steps.c $(VENV)/.created
	@echo "Installing elliptope[$*] into $(VENV)"
	@rm -f src/elliptope/sdp/_steps.*so  # an old one must not outlive a build that fails
	$(PY) -m pip install --quiet --editable ".[$*]"
	@ls src/elliptope/sdp/_steps.*so > /dev/null 2>&1 || echo "NOTE: the compiled steps of the solver were not built, because there is" \
	    "no C compiler or the build failed. elliptope works without them; small problems take up to twice as long." \
	    "To see why: $(PY) -m pip install --verbose --editable ."
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "elliptope needs Python 3.11 or newer; '$(PYTHON)' is missing or older." \
	         "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	    echo "'$(PYTHON) -m venv' failed; some systems ship it as a separate package (python3-venv)." >&2; exit 1; }
	@touch $@
