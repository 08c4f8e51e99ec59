# make demo: from a fresh checkout to a tracked video. make test: the whole suite. make clean: as fresh.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
SETUP := pyproject.toml constraints.txt install.sh tools/opencv-python/pyproject.toml
TEST_EXTRAS := dev,jpeg,video,vot,web,ray,train
DEMO ?= rls_dimp default

.PHONY: demo test lint clean

$(VENV)/.ready-demo: $(SETUP)
	./install.sh --python $(PYTHON) --venv $(VENV) --extras jpeg
	@touch $@

$(VENV)/.ready-test: $(SETUP)
	./install.sh --python $(PYTHON) --venv $(VENV) --extras $(TEST_EXTRAS)
	@touch $@ $(VENV)/.ready-demo

demo: $(VENV)/.ready-demo
	$(PY) pytracking/run_tracker.py $(DEMO) --dataset_name demo

# Two processes of one thread each: two threads in each of them would fight for two cores.
test: $(VENV)/.ready-test
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/.ready-test
	$(VENV)/bin/ruff check .

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
