# make demo: from a fresh checkout to a tracked video. make test: the whole suite.
VENV := .venv
PY := $(VENV)/bin/python

$(VENV)/installed: pyproject.toml constraints.txt install.sh
	./install.sh --venv $(VENV) --extras dev
	touch $@

.PHONY: test
test: $(VENV)/installed
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 2
