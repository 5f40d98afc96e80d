# pardd: how it is built, tried and installed.  `make help` lists the targets.
#
# There is no list of files to keep: what lies in src, one folder down too, in
# tests/unit and tests/tools is built.  The rules stand once, in `define variant`, and are made
# for $(BUILD), and with sanitizers for $(BUILD)/asan and $(BUILD)/tsan.
#
# check, demo, lint and bench may be the first command on a fresh machine.  They
# install what is missing before they ask configure, so they work through a
# second make.

BUILD = build
CONFIG = .

SHELL = /bin/sh
MAKEFLAGS += --no-print-directory
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
.DELETE_ON_ERROR:
.SUFFIXES:

# V=1 shows the commands.
Q = $(if $(V),,@)
say = @$(if $(V),:,printf '  %-5s %s\n' $(1) $(2))

# As many jobs as processors, where -j does not say otherwise.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

first := check check-long prove check-scsi demo lint bench bench-scsi clean \
    distclean help

all:

ifneq ($(filter-out $(first),$(or $(MAKECMDGOALS),all)),)
include $(CONFIG)/config.mk

# make CC=clang: flags are the compiler's, and configure looks for them again.
ifeq ($(MAKE_RESTARTS),)
ifneq ($(CC),$(CONFIGURED))
other = 'CC=$(CC)'
.PHONY: other
$(CONFIG)/config.mk: other
endif
endif
endif

# --- building ---------------------------------------------------------------

SRC := $(wildcard src/*.c src/*/*.c)
UNIT := $(wildcard tests/unit/*.c)
SHIM := $(wildcard $(addprefix tests/tools/,answer.c counted.c shim.c trace.c))
TOOL := $(filter-out $(SHIM),$(wildcard tests/tools/*.c))

# All but main: what a unit test is linked with.
PART := $(filter-out src/main.c,$(SRC))

INCLUDE = -I$(CONFIG) -Iinclude
# No function needs more than a quarter of a stack of 64 KiB.
FRAME = $(if $(SANITIZE),,-Wframe-larger-than=16384)
PLAIN = $(HARDEN) $(FORTIFY) $(SANITIZE) $(FRAME)

# $(call variant,directory,flags)
define variant
$(1)/src/%.o: src/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(BASE) $$(INCLUDE) $$(CPPFLAGS) $$(WARN) $(2) \
	    $$(CFLAGS) -MMD -MP -c -o $$@ $$<

$(1)/pardd: $(SRC:%.c=$(1)/%.o)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(BASE) $(2) $$(CFLAGS) $$(HARDEN_LD) $$(LDFLAGS) \
	    -o $$@ $$^ $$(LIBS)

$(1)/unit/%: tests/unit/%.c $(PART:%.c=$(1)/%.o)
	@mkdir -p $$(@D)
	$$(call say,UNIT,$$@)
	$$(Q)$$(CC) $$(BASE) $$(INCLUDE) $$(CPPFLAGS) $$(WARN) $(2) \
	    $$(CFLAGS) $$(HARDEN_LD) $$(LDFLAGS) -MMD -MP -MT $$@ \
	    -MF $$@.d -o $$@ $$(filter %.c %.o,$$^) $$(LIBS) -lcmocka

.PHONY: $(1)/all
$(1)/all: $(1)/pardd $(UNIT:tests/unit/%.c=$(1)/unit/%)

-include $(wildcard $(1)/src/*.d $(1)/src/*/*.d $(1)/unit/*.d)
endef

$(eval $(call variant,$(BUILD),$$(PLAIN)))
$(eval $(call variant,$(BUILD)/asan,$$(HARDEN) $$(ASAN)))
$(eval $(call variant,$(BUILD)/tsan,$$(HARDEN) $$(TSAN)))

$(BUILD)/tools/%: tests/tools/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,TOOL,$@)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(WARN) $(PLAIN) $(CFLAGS) $(HARDEN_LD) \
	    $(LDFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $<

LINES := $(wildcard tests/random/*.c)
$(BUILD)/tools/lines: $(LINES) tests/random/random.h $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,TOOL,$@)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(WARN) $(PLAIN) $(CFLAGS) $(HARDEN_LD) \
	    $(LDFLAGS) -o $@ $(LINES)

# They stand in for functions of the C library under each of their names, which
# the checked ones and those for large files would rename.
$(SHIM:tests/tools/%.c=$(BUILD)/tools/%.so): $(BUILD)/tools/%.so: \
    tests/tools/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,TOOL,$@)
	$(Q)$(CC) $(filter-out -D_FILE_OFFSET_BITS=%,$(BASE)) $(CPPFLAGS) \
	    $(WARN) $(CFLAGS) -fPIC -shared $(LDFLAGS) -MMD -MP -MT $@ \
	    -MF $@.d -o $@ $< -ldl

-include $(wildcard $(BUILD)/tools/*.d)

.PHONY: all tools trial
all: $(BUILD)/pardd
	@:
tools: $(TOOL:tests/tools/%.c=$(BUILD)/tools/%) $(BUILD)/tools/lines \
    $(SHIM:tests/tools/%.c=$(BUILD)/tools/%.so)
trial: $(BUILD)/all $(VARIANTS:%=$(BUILD)/%/all) tools

$(CONFIG)/config.mk: configure
	@cd $(CONFIG) && '$(CURDIR)/configure' $(CONFIGURE_ARGS) $(other)

# --- trying -----------------------------------------------------------------

.PHONY: check check-long prove tried check-scsi demo bench bench-scsi
check:
	@tests/setup build check
	@$(MAKE) $(PARALLEL) tried

check-long prove: export LONG = 1
check-long prove: check

tried: trial
	@BUILD=$(BUILD) VARIANTS="plain $(VARIANTS)" tests/run

demo:
	@tests/setup build demo
	@$(MAKE) $(PARALLEL) all
	@BUILD=$(BUILD) tests/demo

check-scsi:
	@tests/setup build scsi
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/scsi/run

bench:
	@tests/setup build bench
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/bench/run

bench-scsi:
	@tests/setup build scsi
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/scsi/bench

# --- reading it -------------------------------------------------------------

.PHONY: lint lint-all lint-gcc lint-clang lint-tidy lint-cppcheck lint-shell \
    lint-man
C := $(wildcard src/*.c src/*/*.c tests/*/*.c)
SCRIPTS := configure .ci/run \
    $(shell grep -lsE '^\#!.*[/ ](ba)?sh$$|^\# shellcheck shell=' \
    tests/* tests/*/*)

lint:
	@tests/setup build check lint
	@$(MAKE) $(PARALLEL) -k lint-all

lint-all: lint-gcc lint-clang lint-tidy lint-cppcheck lint-shell lint-man

# A configuration of its own, so that neither disturbs the build.
lint-gcc lint-clang: lint-%:
	@mkdir -p $(BUILD)/lint/$*
	@cd $(BUILD)/lint/$* && $(CURDIR)/configure CC=$* >configure.out || \
	    { cat configure.out; exit 1; }
	@$(MAKE) CONFIG=$(BUILD)/lint/$* BUILD=$(BUILD)/lint/$* \
	    $(BUILD)/lint/$*/all tools

lint-tidy: $(C:%=$(BUILD)/lint/tidy/%)
$(BUILD)/lint/tidy/%: % .clang-tidy $(wildcard include/*/* src/*/*.h) $(CONFIG)/config.mk
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)clang-tidy --quiet $< -- $(BASE) $(INCLUDE) $(CPPFLAGS) \
	    2>$@.log || { cat $@.log; exit 1; }
	@touch $@

# Not "style": declarations stand first in this house.
lint-cppcheck:
	$(call say,CPPC,'src tests')
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --library=posix,gnu \
	    --enable=warning,performance,portability \
	    --suppress=missingIncludeSystem $(INCLUDE) -D_GNU_SOURCE $(C)

lint-shell:
	$(call say,SHELL,'$(words $(SCRIPTS)) scripts')
	$(Q)shellcheck -x $(SCRIPTS)

lint-man:
	$(call say,MAN,man)
	$(Q)mandoc -Tlint -W warning man/*.[58]

# --- installing -------------------------------------------------------------

.PHONY: install uninstall
I = $(DESTDIR)$(bindir)/pardd
M = $(DESTDIR)$(mandir)/man8/pardd.8
J = $(DESTDIR)$(mandir)/man5/pardd-json.5
BASH_C = $(DESTDIR)$(datadir)/bash-completion/completions/pardd
ZSH_C = $(DESTDIR)$(datadir)/zsh/site-functions/_pardd
FISH_C = $(DESTDIR)$(datadir)/fish/vendor_completions.d/pardd.fish

COMPLETIONS = $(addprefix $(BUILD)/completion.,bash zsh fish)
$(COMPLETIONS): $(BUILD)/completion.%: $(BUILD)/pardd
	$(Q)$< --completion=$* >$@

install: $(BUILD)/pardd $(COMPLETIONS)
	install -D -m 755 $(BUILD)/pardd "$(I)"
	install -D -m 644 man/pardd.8 "$(M)"
	install -D -m 644 man/pardd-json.5 "$(J)"
	install -D -m 644 $(BUILD)/completion.bash "$(BASH_C)"
	install -D -m 644 $(BUILD)/completion.zsh "$(ZSH_C)"
	install -D -m 644 $(BUILD)/completion.fish "$(FISH_C)"

uninstall:
	rm -f "$(I)" "$(M)" "$(J)" "$(BASH_C)" "$(ZSH_C)" "$(FISH_C)"

# --- the rest ---------------------------------------------------------------

.PHONY: clean distclean help

# What is made here by name, should BUILD be a directory with more in it.
clean:
	rm -rf $(addprefix $(BUILD)/,pardd src unit tools asan tsan lint) \
	    $(COMPLETIONS)
	@[ ! -d $(BUILD) ] || rmdir --ignore-fail-on-non-empty $(BUILD)

distclean: clean
	rm -rf config.mk config.h config.log $(BUILD)/scsi-lab $(BUILD)/bench.md
	@[ ! -d $(BUILD) ] || rmdir --ignore-fail-on-non-empty $(BUILD)

help:
	@echo 'make              build $(BUILD)/pardd'
	@echo 'make check        run the tests; as root they try devices too'
	@echo 'make check-long   (or prove) the tests that take longer as well'
	@echo 'make check-scsi   the tests that need SCSI disks, in a guest'
	@echo 'make bench-scsi   the times there, against sgp_dd and the rest'
	@echo 'make demo         watch it clone a disk; IF= OF= name real ones'
	@echo 'make bench        measure it against its peers'
	@echo 'make lint         what compilers and checkers say'
	@echo 'make install      DESTDIR= is put before every path'
	@echo 'make uninstall clean distclean'
	@echo 'V=1 shows commands, BUILD= builds elsewhere.  ./configure --help'
