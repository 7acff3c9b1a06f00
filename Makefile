# One command, from YAML to figures:  make reproduce [SCALE=smoke|laptop|paper] [EXPERIMENTS="..."]
#
# Everything happens inside this folder; nothing needs root. All targets set up first what they need: the virtual
# environment .venv with the locked packages, and the simulator compiled into it.

PYTHON      ?= python3
SCALE       ?= laptop
EXPERIMENTS ?= all
REFRESH     ?=
CORES       ?=
MEMORY      ?=
WHERE       ?=
THREADS     ?=
PROFILE     ?= default
PYTEST_ARGS ?=
TABLES      ?=
MINUTES     ?= 60
SEED        ?= 1
BASE        ?=
VS          ?=
UPGRADE     ?=
SECONDS     ?= 900
STUDY       ?= zheng2018
DRAWS       ?=
CPP_TESTS   ?= cpp
BUILD       ?= cmake
GPU         ?=
DEVICE      ?=

ifeq ($(filter cmake spack,$(BUILD)),)
$(error BUILD: found '$(BUILD)', allowed: cmake, spack)
endif

# With BUILD=spack a campaign runs in Spack's environment, with all that is compiled from there: the environment that is
# activated, else that of spack.yaml (docs/spack.md).
SPACK_PLACE := $(or $(SPACK_ENV),$(CURDIR))
export TRAMONTANE_BUILD := $(BUILD)
export TRAMONTANE_DEVICE := $(DEVICE)

BIN := .venv/bin
ifeq ($(BUILD),spack)
CAMPAIGN := $(SPACK_PLACE)/.spack-env/view/bin
READY := $(SPACK_PLACE)/.spack-env/.installed
export PATH := $(CAMPAIGN):$(PATH)
else
CAMPAIGN := $(BIN)
READY := .venv/.compiled
endif
SCHEDULES := skeleton-src $(addprefix skeleton-src/,collectives graphs patterns programs workloads)
SIMULATOR := simulator $(addprefix simulator/,bindings device device/gpu engine memory pisces16 placement rules statistics topologies)
SOURCES := CMakeLists.txt pyproject.toml $(wildcard $(addsuffix /*.hpp,$(SCHEDULES) $(SIMULATOR)) \
             $(addsuffix /*.c*,$(SCHEDULES) $(SIMULATOR)))

# A virtual environment can't be moved: where the folder was, everything is set up anew.
MOVED := $(shell [ ! -e .venv/.place ] || [ "$$(cat .venv/.place)" = "$$PWD" ] || echo moved)

.DELETE_ON_ERROR:
.PHONY: moved help reproduce site test test-cpp test-address test-thread test-long fuzz trust soak bench validate uncertainty setup lint lint-python lint-types lint-cpp lint-clang lint-workflow format schemas map lock clean distclean

help:
	@echo 'make reproduce   run experiments from YAML to the report'
	@echo '                 SCALE=smoke|laptop|paper  EXPERIMENTS="all|none|NAMES"  REFRESH=1  CORES=N  MEMORY=64GB'
	@echo '                 WHERE="ranks == 100000"  THREADS=N (for each point)'
	@echo '                 PROFILE=default|slurm  BUILD=cmake|spack  DEVICE=cpu|gpu|auto (docs/gpu.md)'
	@echo 'make test        run the tests but those that take longest; PYTEST_ARGS="-k ..." chooses; CPP_TESTS=address|thread with sanitizers'
	@echo 'make test-cpp    C++ tests with sanitizers and by a second compiler; clang-tidy on what changed since BASE=...'
	@echo 'make test-long   all tests at length: clang-tidy on everything, ten times as many examples, coverage'
	@echo 'make trust       run the tests that docs/trust.md rests on, and fill its table'
	@echo 'make fuzz        broken points, schedules and traces by libFuzzer, with sanitizers; SECONDS=N for each'
	@echo 'make uncertainty which statements hold on which plausible machines; STUDY=zheng2018 SCALE=laptop DRAWS=N'
	@echo 'make bench       measure the simulator; VS=CHECKOUT: alternate with another checkout, and print ratios; DEVICE=gpu MINUTES=13: the GPU'
	@echo 'make soak        a small campaign again and again under random faults; MINUTES=60 SEED=1'
	@echo 'make site        the documentation as pages that open without a network; SCALE=... whose figures it shows'
	@echo 'make validate    compare with SST/macro, SimGrid and real machines; TABLES="A D" chooses'
	@echo 'make setup       set up .venv and compile the simulator, nothing else; GPU=1|hip with the driver of GPUs'
	@echo 'make lint        check format, style, types and the workflow;  make format  mends what can be mended'
	@echo 'make schemas     write workflow/schemas and the tables of docs/configuration.md anew from the typed models'
	@echo 'make map         draw docs/architecture.svg anew from the imports'
	@echo 'make lock        write requirements.lock from pyproject.toml; UPGRADE=1 takes the latest versions'
	@echo 'make clean       remove what was built;  make distclean  .venv too;  results/ is never touched'

reproduce: $(READY)
	@$(CAMPAIGN)/tramontane reproduce --scale '$(SCALE)' --experiments '$(EXPERIMENTS)' --profile '$(PROFILE)' \
	  $(if $(filter-out 0 no,$(REFRESH)),--refresh) $(if $(CORES),--cores '$(CORES)') $(if $(MEMORY),--memory '$(MEMORY)') \
	  $(if $(WHERE),--where '$(WHERE)') $(if $(THREADS),--threads '$(THREADS)')

# CI runs all of test-cpp too; what takes longer than CI has is in test-long alone.
test-cpp: test-address test-thread lint-clang

test-address: setup
	@sh workflow/scripts/cpp_tests.sh address

test-thread: setup
	@sh workflow/scripts/cpp_tests.sh thread

lint-clang: setup
	@BASE='$(BASE)' sh workflow/scripts/clang_tidy.sh

test-long: setup
	@AT_LENGTH=1 $(MAKE) --no-print-directory test-cpp BASE=all
	@$(MAKE) --no-print-directory test PYTEST_ARGS='--hypothesis-profile=long --cov --cov-report= $(PYTEST_ARGS)'

fuzz: setup
	@sh workflow/scripts/fuzz.sh '$(SECONDS)'

# Python's tests run even if one of C++ fails.
test: setup
	@sh workflow/scripts/cpp_tests.sh '$(CPP_TESTS)'; cpp=$$?; $(BIN)/python -m pytest $(PYTEST_ARGS) && exit $$cpp

trust: setup
	@$(BIN)/python -m tests.trust --fill docs/trust.md $(PYTEST_ARGS)

# Which statements hold on which plausible machines (docs/uncertainty.md); STUDY is a file of configs/samples.
uncertainty: setup
	@failed=0; $(BIN)/tramontane uncertainty '$(STUDY)' --scale '$(SCALE)' $(if $(CORES),--cores '$(CORES)') \
	  $(if $(DRAWS),--size '$(DRAWS)') || failed=$$?; [ $$failed = 0 ] || [ $$failed = 3 ] || exit $$failed; \
	$(BIN)/python -m analysis.shares 'results/over-$(STUDY)-$(SCALE)/shares.json' \
	  'results/over-$(STUDY)-$(SCALE)/figures/shares' && \
	$(BIN)/python -m analysis.report --scale '$(SCALE)' --command 'make uncertainty STUDY=$(STUDY) SCALE=$(SCALE)' \
	  --out 'results/over-$(STUDY)-$(SCALE)/report.html' && exit $$failed

# A campaign again and again under random faults; each round must end with the dataset of a clean run.
soak: setup
	@$(BIN)/python -m tests.faults.soak --minutes '$(MINUTES)' --seed '$(SEED)'

site: setup
	@$(BIN)/python workflow/scripts/site_pages.py $(if $(filter file,$(origin SCALE)),smoke,'$(SCALE)')

# Before a device is measured it has the C++ tests, where a driver has been compiled with them (docs/gpu.md).
DEVICE_TESTS := $(patsubst %/libtramontane-gpu.so,%/device_tests,$(wildcard build/cpp/tests/cpp/libtramontane-gpu.so))
OF_DEVICE := $(if $(filter file,$(origin MINUTES)),,--minutes '$(MINUTES)') $(DEVICE_TESTS:%=--tests '%')

bench: setup
	@$(BIN)/python -m benchmarks$(if $(DEVICE),.devices --device $(DEVICE) $(OF_DEVICE),$(if $(VS),.alternate $(VS)))

validate: setup
	@sh workflow/scripts/validate.sh $(TABLES)

setup: .venv/.compiled

# Make takes some characters of a folder for something else: where Spack is not asked for, no target names the folder.
ifeq ($(BUILD),spack)
$(SPACK_PLACE)/.spack-env/.installed: $(SOURCES) requirements.lock $(wildcard spack_repo/tramontane/packages/*/package.py)
	@sh workflow/scripts/spack.sh '$(SPACK_PLACE)'
endif

.venv/.packages: requirements.lock workflow/scripts/setup.sh $(MOVED)
	@PYTHON='$(PYTHON)' sh workflow/scripts/setup.sh packages

# What was compiled stays with the driver of GPUs that it was compiled with, unless GPU says another one.
OTHER_GPU := $(shell [ -z '$(GPU)' ] || [ "$$(cat .venv/.gpu 2>/dev/null)" = '$(GPU)' ] || echo moved)

.venv/.compiled: .venv/.packages $(SOURCES) $(OTHER_GPU)
	@PYTHON='$(PYTHON)' GPU='$(or $(GPU),$(shell cat .venv/.gpu 2>/dev/null))' sh workflow/scripts/setup.sh simulator

CXX_FILES = $(filter %.hpp %.cpp,$(SOURCES)) \
  $(wildcard skeleton-src/executor/*.hpp skeleton-src/executor/*.cpp simulator/simgrid/*.hpp simulator/simgrid/*.cpp \
      sstmacro/*.hpp sstmacro/*.cpp tracer/*.hpp tracer/*.cpp tests/cpp/*.hpp tests/cpp/*.cpp \
      tests/cpp/fuzz/*.hpp tests/cpp/fuzz/*.cpp)

lint: lint-python lint-types lint-cpp lint-workflow

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

lint-types: setup
	$(BIN)/mypy

lint-cpp: setup
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

lint-workflow: setup
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/snakemake --lint

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CXX_FILES)
	$(BIN)/snakefmt Snakefile workflow/rules

schemas: setup
	$(BIN)/python -m tramontane.study.generate

map: setup
	$(BIN)/python workflow/scripts/architecture.py

lock: .venv/.packages
	env -u PIP_FIND_LINKS $(BIN)/uv pip compile --quiet --universal --python-version 3.11 $(if $(UPGRADE),--upgrade) \
	  --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
	  --group build --group tools pyproject.toml -o requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["gpu"], sep="\n")' | \
	  env -u PIP_FIND_LINKS $(BIN)/uv pip compile --quiet --universal --python-version 3.11 $(if $(UPGRADE),--upgrade) \
	  --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links - -o requirements-gpu.lock
	$(BIN)/python workflow/scripts/environments.py

clean:
	rm -rf build .pytest_cache .ruff_cache .mypy_cache .hypothesis .venv/.compiled
	find tramontane analysis tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf .venv .snakemake
