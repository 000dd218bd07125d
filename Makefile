# Every target first makes .venv, from nothing if need be.

PYTHON ?= $(shell for p in python3.11 python3; do $$p -c '' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
INSTALLED := .venv/.installed

SECONDS ?= 600
FILES ?= 100000
SEED ?= 0

.PHONY: help native wheel demo test check bench corpus docs fuzz sanitize sweep compiled test-gpu bench-gpu clean

help:
	@echo "make demo     the story of Stator in under a minute"
	@echo "make test     everything CI runs: format, lint, types, all tests, two hash seeds"
	@echo "make check    the quick part of it: format, lint, types, tests not marked slow"
	@echo "make native   the native runtime and stator-run, for the torch and the Python of .venv"
	@echo "make wheel    a wheel with the native runtime in it, for that torch and that Python, in dist/"
	@echo "make bench    capture, calls, loading, looking inside, the native runtime and ONNX files, next to torch's own tools"
	@echo "make corpus [ARGS='--groups if_else']   score Stator on the conformance programs of conformance/"
	@echo "make docs     the documentation site, into build/site; warnings are errors"
	@echo "make fuzz [SECONDS=600] [FILES=100000] [SEED=0]   random programs, mutated files, hostile calls"
	@echo "make sanitize [SECONDS=600]   the native runtime under ASan and UBSan: tests, mutated models, threads"
	@echo "make sweep    every op of torch in the native runtime, next to the interpreter"
	@echo "make compiled [ARGS=--traced]   the zoo with every region compiled by Inductor, next to eager code"
	@echo "make test-gpu    on a machine with a GPU, with its own python3: CUDA graphs, and the zoo on the GPU"
	@echo "make bench-gpu   there too: CUDA graphs next to eager, torch.compile and torch.jit.script"
	@echo "make clean    remove .venv and the caches"

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test,dev,demo,cli,native,docs,onnx]"
	@touch $@

native: $(INSTALLED)
	scripts/native

demo: $(INSTALLED)
	scripts/native
	$(BIN)/python -m demo

wheel: $(INSTALLED)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

test: $(INSTALLED)
	scripts/browser
	scripts/native --strict
	scripts/check

check: $(INSTALLED)
	scripts/check --quick

bench: $(INSTALLED)
	$(BIN)/python -m bench.capture
	$(BIN)/python -m bench.loading
	$(BIN)/python -m bench.looking
	$(BIN)/python -m bench.growth
	$(BIN)/python -m bench.native
	$(BIN)/python -m bench.onnx

corpus: $(INSTALLED)
	$(BIN)/python scripts/corpus.py $(CORPUS) $(ARGS)

docs: $(INSTALLED)
	scripts/docs

fuzz: $(INSTALLED)
	@failed=0; \
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) || failed=1; \
	$(BIN)/python -m tests.export.fuzz --files $(FILES) --seed $(SEED) || failed=1; \
	$(BIN)/python -m tests.export.op_fuzz --seed $(SEED) || failed=1; \
	$(BIN)/python -m tests.staging.interrupts --seed $(SEED) || failed=1; \
	$(BIN)/python -m tests.library.opinfo --samples 20 || failed=1; \
	$(BIN)/python -m tests.staging.forks || failed=1; \
	$(BIN)/python -W ignore -m tests.state.races --seed $(SEED) || failed=1; \
	exit $$failed

sanitize: $(INSTALLED)
	scripts/sanitize --seconds $(SECONDS)

sweep: $(INSTALLED)
	scripts/native
	$(BIN)/python -m tests.native.op_sweep $(ARGS)

compiled: $(INSTALLED)
	$(BIN)/python -m tests.inductor.zoo $(ARGS)

# a GPU machine has a CUDA build of torch, which .venv would replace by the one for a CPU
GPU_PYTHON ?= python3
ON_GPU := PYTHONPATH=src:. $(GPU_PYTHON) -m

test-gpu:
	$(ON_GPU) stator.native.building --jobs 8
	$(ON_GPU) pytest -q -p no:cacheprovider -n 0 tests/cudagraph tests/gpu
	$(ON_GPU) tests.gpu.zoo
	$(ON_GPU) tests.gpu.zoo --fused

bench-gpu:
	$(ON_GPU) stator.native.building --jobs 8
	$(ON_GPU) bench.gpu $(ARGS)

clean:
	rm -rf .venv viewer/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
