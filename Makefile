# make demo: installs and tracks a video. make test: runs the whole suite. make lint types: checks style and types.
# make soak: long tests of faults and load, about 40 minutes. make docs: builds the site. make wheel: builds the package.
# make coverage: test coverage. make clean: removes everything that was generated.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
SETUP := pyproject.toml constraints.txt install.sh tools/opencv-python/pyproject.toml
TEST_EXTRAS := dev,docs,jpeg,video,vot,web,ray,train
DEMO ?= rls_dimp default

.PHONY: demo test soak lint types docs wheel coverage clean

$(VENV)/.ready-demo: $(SETUP)
	./install.sh --python $(PYTHON) --venv $(VENV) --extras jpeg
	@touch $@

$(VENV)/.ready-test: $(SETUP)
	./install.sh --python $(PYTHON) --venv $(VENV) --extras $(TEST_EXTRAS)
	@touch $@ $(VENV)/.ready-demo

demo: $(VENV)/.ready-demo
	$(PY) pytracking/run_tracker.py $(DEMO) --dataset_name demo

# Two processes with one thread each, because more threads would compete for two cores. tests/conftest.py orders the
# files. Python always writes compiled modules, because the suite starts more than a hundred processes.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
test: $(VENV)/.ready-test
	$(PYTEST) $(PYTEST_ARGS)

# Prints how long each part took; docs/reliability.md has the counts of the last run.
soak: $(VENV)/.ready-test
	OMP_NUM_THREADS=1 $(PY) -m tests.faults.soak

lint: $(VENV)/.ready-test
	$(VENV)/bin/ruff check .

types: $(VENV)/.ready-test
	$(VENV)/bin/mypy

docs: $(VENV)/.ready-test
	$(VENV)/bin/mkdocs build --strict

wheel: $(VENV)/.ready-test
	$(PY) -m build --no-isolation

coverage: $(VENV)/.ready-test
	$(PYTEST) --cov --cov-report term $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .coverage .pytest_cache .ruff_cache .hypothesis
