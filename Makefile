# make demo   set up, then do the main job and leave pictures in demo/
# make test   set up, then lint, types and tests (what CI runs)
# make check  lint and types only
# make bench  speed and memory, each as a ratio against a peer in the same run
# make soak   kill runs at random moments and at every write; they must end alike
# make clean  remove what these commands made

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TESTS ?= tests

.PHONY: demo test check bench soak clean

demo: export MINARI_DATASETS_PATH = demo/datasets
demo: $(READY)
	@$(BIN)/sfp collect room --episodes 4000 --seed 0 --force
	@$(BIN)/sfp data sfp/room/scripted-v0 --out demo
	@$(BIN)/sfp prior show room --past 0.9 0 --past 0.6 0.6 --past -0.5 -0.7 --out demo
	@$(BIN)/sfp explore room-large --prior room --out demo
	@echo "Done: look at demo/explore-room-large.png, demo/data-sfp-room-scripted-v0.png and demo/prior-room.png."

test: check
	$(BIN)/python -m pytest -n 2 $(TESTS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@for name in maze collect fit; do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

soak: $(READY)
	$(BIN)/python tests/soak.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "sfp needs Python 3.11 or newer, $(PYTHON) is `$(PYTHON) -V 2>&1`: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv demo figures .pytest_cache .ruff_cache
