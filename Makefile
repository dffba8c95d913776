# SPDX-License-Identifier: Apache-2.0
#
# Luka: `make help` lists what there is. Everything built goes under build/, the program to build/luka.
#
#   SAN=1        AddressSanitizer and UndefinedBehaviorSanitizer (build/san)
#   SAN=thread   ThreadSanitizer (build/tsan)
#   SAN=fuzz     with CC=clang: fuzz targets (build/fuzz); scripts/fuzz runs them
#   CC=clang     the other compiler (build/clang)
#   ARCH=arm64   cross-build into build/arm64; scripts/arm64 prepares it
#   SPEC=path    only the specs below that path
#   ARGS=...     more arguments for the broker of `make run`
#   VERBOSE=1    show the commands

.DEFAULT_GOAL := build
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
ifeq ($(origin CC),default)
CC := gcc
endif
CXX := $(if $(filter clang%,$(notdir $(CC))),clang++,g++)
Q := $(if $(VERBOSE),,@)
say = $(if $(VERBOSE),@:,@echo "$(1)")

# ---- what is built where ----

variant := $(if $(filter clang%,$(notdir $(CC))),clang)
ifeq ($(SAN),1)
variant := $(variant)san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else ifeq ($(SAN),thread)
variant := $(variant)tsan
SANFLAGS := -fsanitize=thread -fno-omit-frame-pointer
else ifeq ($(SAN),fuzz)
variant := fuzz
SANFLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else ifneq ($(SAN),)
$(error SAN is 1, thread or fuzz, not '$(SAN)')
endif
ifeq ($(ARCH),arm64)
variant := arm64
SYSROOT := build/arm64/sysroot
CC := aarch64-linux-gnu-gcc --sysroot=$(SYSROOT)
CXX := aarch64-linux-gnu-g++ --sysroot=$(SYSROOT)
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config
else
PKG_CONFIG := pkg-config
endif
OUT := build/$(if $(variant),$(variant),release)
PROGRAM := $(if $(variant),$(OUT)/luka,build/luka)
RUNNER := $(OUT)/luka-spec
GEN := build/gen
INSTALL_ROOT := $(DESTDIR)$(or $(PREFIX),/usr/local)

# ---- flags ----

VERSION := $(shell sed -n 's/^## \[*\([0-9][0-9a-z.-]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -n 1)
PACKAGES := luajit libuv zlib liblz4 libzstd lmdb libisal jansson libcrypto libxxhash re2
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2 -Wno-format-nonliteral -Werror
CPPFLAGS += -D_GNU_SOURCE -DLUKA_VERSION='"$(VERSION)"' -Icore -I$(GEN) $(PKG_CFLAGS)
CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 $(WARN) -fPIC -fno-strict-aliasing -pthread $(SANFLAGS)
# One file, core/coordinator/group_regex.cc, puts RE2 behind a header of C. What it throws ends the program.
CXXFLAGS ?= -O2 -g
override CXXFLAGS += -std=gnu++17 -Wall -Wextra -Wshadow -Werror -fPIC -fno-exceptions -fno-rtti -pthread \
  $(SANFLAGS) $(if $(SANFLAGS),-fno-sanitize=vptr)
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
PKG_LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES))
LIBS = $(PKG_LIBS) -lsnappy -lstdc++ -ldl -lm -pthread

# ---- sources ----

-include $(GEN)/wire.mk
MAIN := core/broker/main.c
SRC := $(filter-out $(MAIN),$(sort $(wildcard core/*/*.c)))
GEN_SRC := $(WIRE_SRC) $(GEN)/lua_modules.c
CXX_SRC := $(sort $(wildcard core/*/*.cc))
OBJ := $(SRC:%.c=$(OUT)/%.o) $(CXX_SRC:%.cc=$(OUT)/%.o) $(GEN_SRC:build/%.c=$(OUT)/%.o)
MAIN_OBJ := $(MAIN:%.c=$(OUT)/%.o)
SPEC_OBJ := $(patsubst %.c,$(OUT)/%.o,spec/runner.c $(sort $(wildcard spec/support/c/*.c)))

.PHONY: help setup build run test lint docs format bench bench-lua bench-hostile fuzz install clean arm64 stress
help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 15

setup: ## install what building and testing need (Debian packages)
	$(Q)scripts/setup build test

build: ## build the program (build/luka) and the library
	$(Q)scripts/setup build
	$(Q)$(MAKE) all-of WANT="$(PROGRAM) $(OUT)/libluka.a $(OUT)/libluka.so"

run: ## set up, build, start the broker with config.lua (ARGS="--set workers=2")
	$(Q)scripts/setup build
	$(Q)$(MAKE) all-of WANT="$(PROGRAM)"
	$(Q)exec $(PROGRAM) serve config.lua $(ARGS)

test: ## set up, build, run the specs (SPEC=spec/unit/log, SAN=1, SAN=thread)
	$(Q)scripts/setup build test $(if $(findstring clang,$(CC)),clang)
	$(Q)$(MAKE) all-of WANT="$(PROGRAM) $(RUNNER) $(OUT)/load $(OUT)/groups $(OUT)/limit $(OUT)/pages $(OUT)/faults.so"
	$(Q)scripts/test --runner $(RUNNER) --program $(PROGRAM) --load $(OUT)/load --groups $(OUT)/groups --faults $(OUT)/faults.so --out $(OUT) $(if $(SAN),--san $(SAN)) $(SPEC)

lint: ## formatting, layers, clang-tidy, luacheck
	$(Q)scripts/setup lint
	$(Q)$(MAKE) all-of WANT="$(PROGRAM)"
	$(Q)scripts/lint $(CPPFLAGS)

docs: ## write what is made from the sources: man pages, completions, docs/, types/
	$(Q)scripts/setup build
	$(Q)$(MAKE) all-of WANT="$(RUNNER)"
	$(Q)$(RUNNER) --lua scripts/docs.lua

format: ## format the C sources
	$(Q)scripts/setup lint
	$(Q)git ls-files -co --exclude-standard 'core/*.[ch]' 'spec/*.[ch]' 'scripts/*.[ch]' | xargs clang-format -i

bench: ## measure Luka beside Apache Kafka and the machine's limit (ROUNDS=5 ONLY=produce,fetch KAFKA=0)
	$(Q)scripts/setup build bench
	$(Q)$(MAKE) all-of WANT="$(PROGRAM) $(RUNNER) $(OUT)/load $(OUT)/groups $(OUT)/limit $(OUT)/pages $(OUT)/syncs.so"
	$(Q)LUKA_PROGRAM=$(PROGRAM) LUKA_TEST_TMP=build/bench/tmp $(RUNNER) --run scripts/bench/run.lua $(OUT) $(ARGS)

bench-lua: ## measure what policies on records cost (ROUNDS=5 SECONDS=2 ONLY=plain,builtin)
	$(Q)scripts/setup build bench
	$(Q)$(MAKE) all-of WANT="$(PROGRAM) $(RUNNER) $(OUT)/load"
	$(Q)LUKA_PROGRAM=$(PROGRAM) $(RUNNER) --run scripts/bench/policies.lua $(OUT) $(ARGS)

bench-hostile: ## measure what others wait for beside functions that mean no good (ROUNDS=1 SECONDS=3 ONLY=alone,hook)
	$(Q)scripts/setup build bench
	$(Q)$(MAKE) all-of WANT="$(PROGRAM) $(RUNNER) $(OUT)/load"
	$(Q)LUKA_PROGRAM=$(PROGRAM) $(RUNNER) --run scripts/bench/hostile.lua $(OUT) $(ARGS)

fuzz: ## a minute of each fuzz target (FUZZ_SECONDS=60)
	$(Q)scripts/setup clang
	$(Q)scripts/fuzz $(or $(FUZZ_SECONDS),60)

stress: ## a minute of append, read, roll, truncate and delete under ThreadSanitizer (STRESS_SECONDS=60)
	$(Q)scripts/setup build
	$(Q)$(MAKE) SAN=thread build/tsan/stress
	$(Q)build/tsan/stress $(or $(STRESS_SECONDS),60)

arm64: ## cross-build for arm64 and run spec/unit under qemu
	$(Q)scripts/setup test arm64
	$(Q)scripts/arm64 $(SPEC)

install: ## install to $(DESTDIR)$(PREFIX): program, library, man pages, completions
	$(Q)$(MAKE) build
	install -D -m 755 $(PROGRAM) $(INSTALL_ROOT)/bin/luka
	install -D -m 644 $(OUT)/libluka.a $(INSTALL_ROOT)/lib/libluka.a
	install -D -m 755 $(OUT)/libluka.so $(INSTALL_ROOT)/lib/libluka.so
	install -d $(INSTALL_ROOT)/share/man/man1
	install -m 644 man/*.1 $(INSTALL_ROOT)/share/man/man1
	install -D -m 644 completion/luka.bash $(INSTALL_ROOT)/share/bash-completion/completions/luka
	install -D -m 644 completion/_luka $(INSTALL_ROOT)/share/zsh/site-functions/_luka

clean: ## remove build/
	rm -rf build

# ---- rules ----

# What others make through $(MAKE): silent when there is nothing to do.
.PHONY: all-of
all-of: $(WANT)
	@:

$(GEN)/wire.mk: scripts/generate/wire.lua $(wildcard scripts/generate/wire/*.lua core/wire/schema/*.lua) core/wire/error_codes.lua
	@mkdir -p $(GEN)/wire
	$(call say,make $(GEN)/wire)
	$(Q)luajit -joff scripts/generate/wire.lua core/wire/schema $(GEN)/wire
	@printf 'WIRE_SRC := %s\n' "$$(echo $(GEN)/wire/*.c)" >$@

$(GEN)/lua_modules.c: scripts/generate/embed.lua $(shell find lua -name '*.lua' 2>/dev/null) $(wildcard core/wire/*.lua core/wire/schema/*.lua)
	@mkdir -p $(GEN)
	$(call say,make $@)
	$(Q)luajit -joff scripts/generate/embed.lua lua core/wire $@

$(OUT)/%.o: %.c | $(GEN)/wire.mk
	@mkdir -p $(@D)
	$(call say,cc   $<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/%.o: %.cc
	@mkdir -p $(@D)
	$(call say,c++  $<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(OUT)/core/base/version.o: CHANGELOG.md

$(OUT)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(call say,cc   $<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(PROGRAM): $(MAIN_OBJ) $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -rdynamic $^ $(LIBS) -o $@

$(OUT)/libluka.a: $(OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(OUT)/libluka.so: $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared $^ $(LIBS) -o $@

$(RUNNER): $(SPEC_OBJ) $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -rdynamic $^ $(LIBS) -o $@

MEASURING := scripts/bench/arguments.c scripts/bench/client.c scripts/bench/cpu.c scripts/bench/histogram.c
$(OUT)/load $(OUT)/groups: $(OUT)/%: $(patsubst %.c,$(OUT)/%.o,$(MEASURING)) $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
$(OUT)/load: $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard scripts/bench/load*.c)))
$(OUT)/groups: $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard scripts/bench/groups*.c)))

$(OUT)/limit $(OUT)/pages: $(OUT)/%: $(OUT)/scripts/bench/%.o $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# Preloaded into the brokers of `make bench`.
$(OUT)/syncs.so: scripts/bench/syncs.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -MMD -MP -shared $< -ldl -o $@

# Preloaded by spec/fault; never with a sanitizer of its own, as it comes before theirs.
$(OUT)/faults.so: $(sort $(wildcard spec/support/preload/*.c))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -shared $^ -ldl -o $@

$(OUT)/stress: $(OUT)/spec/stress/log_stress.o $(OBJ)
	$(call say,link $@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

FUZZERS := $(patsubst spec/fuzz/%.c,$(OUT)/%,$(wildcard spec/fuzz/*.c))
$(FUZZERS): $(OUT)/%: $(OUT)/spec/fuzz/%.o $(OBJ)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer $^ $(LIBS) -o $@

-include $(shell find $(OUT) -name '*.d' -type f 2>/dev/null)
