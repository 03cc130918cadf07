# make demo   set up, then do the main job and leave pictures in demo/
# make test   set up, then lint, types, tests and the documentation (what CI runs)
# make thorough  the checks that make test leaves out (tests/thorough.txt)
# make quick  the tests that take less than half a second each: for the inner loop
# make check  lint and types only
# make docs   build the documentation in site/; warnings and broken links are errors
# make bench  speed and memory, each as a ratio against a peer in the same run
# make clusters  a real Ray cluster of three nodes, and SLURM if it is installed: killed nodes, same bits
# make bridges  the bridges against the packages they lead to (PyTorch among them)
# make soak   kill what works at random moments and at every write, damage files, misbehave
# make clean  remove what these commands made

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TESTS ?= tests
DEMO := MINARI_DATASETS_PATH=demo/datasets

.PHONY: demo test thorough quick check docs bench bridges clusters soak clean

demo: $(READY)
	@rm -rf demo && mkdir demo
	@echo "1. Record an agent that goes to random places in an empty room ..."
	@$(DEMO) $(BIN)/sfp collect room --episodes 2000
	@echo "2. Learn a prior from its actions alone ..."
	@$(DEMO) $(BIN)/sfp fit sfp/room/scripted-v0 --model mixture --epochs 20 --out demo/my-prior
	@echo "3. Learn a maze with it. Beside it: how far does the prior get by itself? Then SAC alone (demo/sac.log) ..."
	@($(DEMO) $(BIN)/sfp explore room-large --prior demo/my-prior --out demo > demo/explore.log 2>&1; \
	  exec $(BIN)/sfp train maze --method sac --width 128 --seed 1 --steps 60000 --eval-every 500 --out demo/sac > demo/sac.log 2>&1) & \
	  baseline=$$!; trap 'kill $$baseline 2> /dev/null' INT TERM; \
	  $(BIN)/sfp train maze --prior demo/my-prior --width 128 --seed 1 --steps 60000 --until-solved --eval-every 500 --out demo/sfp; done=$$?; \
	  kill $$baseline 2> /dev/null; wait $$baseline; exit $$done
	@cat demo/explore.log
	@$(BIN)/sfp evaluate demo/sfp --episodes 1 --video demo/maze.mp4 > demo/evaluate.log 2>&1 & \
	  $(BIN)/sfp curves demo/sfp demo/sac --out demo && wait $$!
	@$(BIN)/sfp report demo --out demo/report.html > demo/report.log
	@echo "Done: open demo/report.html in a browser; demo/maze.mp4 shows the policy."

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal $(TESTS)

thorough: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal --thorough $(TESTS)

quick: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow' $(TESTS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -E -q docs site
	@echo "Done: open site/index.html in a browser."

bench: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@for name in maze collect fit act train methods grid report manipulation locomotion several pixels ten_minutes; do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || failed="$$failed $$name"; done; \
	  [ -z "$$failed" ] || { echo "below what is required:$$failed" >&2; exit 1; }

clusters: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray]'
	$(BIN)/python tests/clusters/loopback.py $(BIN)/python -m pytest tests/clusters/test_ray.py
	$(BIN)/python tests/clusters/loopback.py $(BIN)/python -m pytest tests/clusters/test_slurm.py

bridges: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bridges]'
	$(BIN)/python -m pytest -W default tests/bridges

soak: $(READY)
	$(BIN)/python tests/soak.py
	$(BIN)/python -W ignore tests/fuzz/flips.py --all
	$(BIN)/python -W ignore tests/fuzz/run.py --cases 10000
	$(BIN)/python -W ignore tests/fuzz/run.py --what environments --cases 150
	$(BIN)/python -W ignore tests/fuzz/run.py --what commands --cases 1000

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "sfp needs Python 3.11 or newer, $(PYTHON) is `$(PYTHON) -V 2>&1`: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv demo figures site .pytest_cache .ruff_cache
