# pardd: how it is built, tried and installed.  `make help` lists the targets.
#
# It is run in the directory of the sources.  What configure was run in elsewhere
# has a Makefile that calls this one, with CONFIG and BUILD there.
#
# There is no list of files to keep: what lies in src, one directory down too, in
# tests/unit and tests/tools is built.  The rules stand once, in `define variant`, and are made
# for $(BUILD), and with sanitizers for $(BUILD)/asan and $(BUILD)/tsan.
#
# check, demo, deb, lint and bench may be the first command on a fresh machine.
# They install what is missing before they ask configure, so they work through a
# second make.

BUILD = build
CONFIG = .
OBJCOPY = objcopy

SHELL = /bin/sh
MAKEFLAGS += --no-print-directory
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
.DELETE_ON_ERROR:
.SUFFIXES:

# V=1 shows the commands.
show = $(filter-out 0,$(V))
Q = $(if $(show),,@)
say = @$(if $(show),:,printf '  %-5s %s\n' $(1) $(2))

# What is tried: VARIANTS, or all that this compiler has the sanitizers for.
TRIED = $(or $(VARIANTS),plain $(SANITIZED))

# As many jobs as processors, where -j does not say otherwise.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

first := check check-short check-long prove check-rbd check-scsi demo pictures lint bench \
    bench-scsi coverage mutants clean mostlyclean distclean maintainer-clean \
    deb rpm help

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
# Those with more than one thread: of the others the thread sanitizer says nothing.
THREADED := $(patsubst %,tests/unit/%_test.c,iscsi_link map tee tee_lane turn writers)
SHIM := $(wildcard $(addprefix tests/tools/,answer.c counted.c fakerbd.c hijack.c shim.c trace.c))
TOOL := $(filter-out $(SHIM),$(wildcard tests/tools/*.c))

# All but main.
PART := $(filter-out src/main.c,$(SRC))

INCLUDE = -I$(CONFIG) -Iinclude
# The same bytes, wherever it is built.
MAP = $(if $(PREFIX_MAP),-ffile-prefix-map='$(CURDIR)'=. \
    -ffile-prefix-map='$(CONFIG)'=.)
# No function needs more than a quarter of a stack of 64 KiB.
FRAME = $(if $(SANITIZE),,-Wframe-larger-than=16384)
PLAIN = $(HARDEN) $(FORTIFY) $(SANITIZE) $(FRAME)

# The sanitizers find the same at -O1, by lines, in half the time to compile.  So do
# unit tests of theirs.
LOOK = -O1 -g1

# $(call variant,directory,unit tests,flags,last flags,last flags to link)
define variant
$(1)/src/%.o: src/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(BASE) $$(INCLUDE) $$(CPPFLAGS) $$(WARN) $(3) \
	    $$(MAP) $$(CFLAGS) $(4) -MMD -MP -c -o $$@ $$<

$(1)/pardd: $(SRC:%.c=$(1)/%.o)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(BASE) $(3) $$(CFLAGS) $$(HARDEN_LD) $$(LDFLAGS) $(5) \
	    -o $$@ $$^ $$(LIBS)

# Of these, a unit test is linked with what it needs.
$(1)/unit/part.a: $(PART:%.c=$(1)/%.o)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $$(AR) rcsT $$@ $$^

$(1)/unit/%: tests/unit/%.c $(1)/unit/part.a
	@mkdir -p $$(@D)
	$$(call say,UNIT,$$@)
	$$(Q)$$(CC) $$(BASE) $$(INCLUDE) $$(CPPFLAGS) $$(WARN) $(3) \
	    $$(CFLAGS) $$(LOOK) $$(HARDEN_LD) $$(LDFLAGS) $(5) -MMD -MP -MT $$@ \
	    -MF $$@.d -o $$@ $$< $(1)/unit/part.a $$(LIBS) -lcmocka

.PHONY: $(1)/all
$(1)/all: $(1)/pardd $(2:tests/unit/%.c=$(1)/unit/%)

-include $(wildcard $(1)/src/*.d $(1)/src/*/*.d $(1)/unit/*.d)
endef

$(eval $(call variant,$(BUILD),$(UNIT),$$(PLAIN)))
$(eval $(call variant,$(BUILD)/asan,$(UNIT),$$(HARDEN) $$(ASAN),$$(LOOK),$$(ASAN_LD)))
$(eval $(call variant,$(BUILD)/tsan,$(THREADED),$$(HARDEN) $$(TSAN),$$(LOOK)))

# What is compiled for ThreadSanitizer, with a scheduler in its place.
SCHED := $(patsubst tests/%.c,$(BUILD)/%.o,$(wildcard tests/sched/*.c))
$(SCHED): $(BUILD)/sched/%.o: tests/sched/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(filter-out -D_FILE_OFFSET_BITS=%,$(BASE)) $(CPPFLAGS) \
	    $(WARN) $(HARDEN) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/sched/pardd: $(SRC:%.c=$(BUILD)/tsan/%.o) $(SCHED)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS)

# The program with disks that are made up in the place of those of a cluster, and
# readers in the place of those of the kernel.
WRAPPED := confine signals_raise library_load geteuid
SIM := $(wildcard tests/sim/*.c)
$(SIM:tests/sim/%.c=$(BUILD)/sched/sim.%.o): $(BUILD)/sched/sim.%.o: \
    tests/sim/%.c $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(INCLUDE) $(CPPFLAGS) $(WARN) $(HARDEN) $(CFLAGS) \
	    -MMD -MP -c -o $@ $<

$(BUILD)/sched/pardd_main.o: $(BUILD)/tsan/src/main.o
	$(Q)$(OBJCOPY) --redefine-sym main=pardd_main $< $@

$(BUILD)/sched/sim: $(filter-out %/net/rbd.o,$(PART:%.c=$(BUILD)/tsan/%.o)) \
    $(SCHED) $(BUILD)/sched/pardd_main.o \
    $(SIM:tests/sim/%.c=$(BUILD)/sched/sim.%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) \
	    $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(LIBS)

-include $(wildcard $(BUILD)/sched/*.d)

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
# the checked ones and those for large files would rename.  The larger ones have
# more files, in a directory.
define shim
$(BUILD)/tools/$(1).so: tests/tools/$(1).c $(wildcard tests/tools/$(1)/*.[ch]) \
    tests/tools/preload.h $(CONFIG)/config.mk Makefile
	@mkdir -p $$(@D)
	$$(call say,TOOL,$$@)
	$$(Q)$$(CC) $$(filter-out -D_FILE_OFFSET_BITS=%,$$(BASE)) $$(CPPFLAGS) \
	    $$(WARN) $$(CFLAGS) -fPIC -shared $$(LDFLAGS) -o $$@ \
	    $$(filter %.c,$$^) -ldl
endef
$(foreach file,$(SHIM),$(eval $(call shim,$(basename $(notdir $(file))))))

-include $(wildcard $(BUILD)/tools/*.d)

.PHONY: all tools trial units
all: $(BUILD)/pardd
	@:
tools: $(TOOL:tests/tools/%.c=$(BUILD)/tools/%) $(BUILD)/tools/lines \
    $(SHIM:tests/tools/%.c=$(BUILD)/tools/%.so)
units: $(BUILD)/all
trial: $(BUILD)/all $(patsubst %,$(BUILD)/%/all,$(filter-out plain,$(TRIED))) \
    tools $(if $(filter tsan,$(TRIED)),$(BUILD)/sched/pardd \
    $(BUILD)/sched/sim)

$(CONFIG)/config.mk: configure
	@cd $(CONFIG) && '$(CURDIR)/configure' $(CONFIGURE_ARGS) $(other)

# --- trying -----------------------------------------------------------------

.PHONY: check check-long check-short prove tried tried-short check-rbd check-scsi demo \
    pictures bench bench-scsi portability coverage mutants fuzz
check:
	@echo 'All tests: ten minutes on two cores.  As root this installs what is missing' \
	    'of some 190 Debian packages; make check-short takes two minutes, and 100.'
	@tests/setup build check
	@$(MAKE) $(PARALLEL) tried

check-long prove: export LONG = 1
check-long prove: check

# Two minutes: without devices, guests and sanitizers.  Packages are built with the
# second, which installs nothing and needs no root.
SHORT = signals.t limits.t stream.t copy.t hash.t mapfile.t opts.t $(notdir $(UNIT:.c=))
check-short:
	@echo 'The short tests: two minutes.  As root this installs what is missing of some' \
	    '100 Debian packages; make check has all tests.'
	@tests/setup build short
	@$(MAKE) $(PARALLEL) tried-short
tried-short: $(BUILD)/all tools
	@BUILD=$(BUILD) VARIANTS=plain tests/run $(SHORT)

tried: trial
	@BUILD=$(BUILD) VARIANTS="$(TRIED)" tests/run

demo:
	@tests/setup build demo
	@$(MAKE) $(PARALLEL) all
	@BUILD=$(BUILD) tests/demo

check-rbd:
	@tests/setup build rbd
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/ceph/run

check-scsi:
	@tests/setup build scsi $(if $(LONG),boot)
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/scsi/run

# What the README shows, from real runs.
pictures:
	@tests/setup build check demo
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/pictures/run

bench:
	@tests/setup build bench
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/bench/run

coverage:
	@tests/setup build check
	@BUILD=$(BUILD) tests/coverage/run $(TESTS)

mutants:
	@tests/setup build check
	@BUILD=$(BUILD) tests/mutants/run $(if $(N),-n $(N)) \
	    $(if $(SEED),-s $(SEED)) $(if $(UNITS),-u)

WHAT = mapfile manifest bmap fsmap table answers nbd opts control system
fuzz: $(CONFIG)/config.mk
	@for what in $(WHAT); do echo $$what; \
	    BUILD=$(BUILD) tests/fuzz/run $$what $(or $(SECONDS),60) || exit; done

portability: $(BUILD)/pardd tools
	@BUILD=$(BUILD) tests/portability

bench-scsi:
	@tests/setup build scsi
	@$(MAKE) $(PARALLEL) all tools
	@BUILD=$(BUILD) tests/scsi/bench

# --- reading it -------------------------------------------------------------

.PHONY: lint lint-all lint-gcc lint-clang lint-tidy lint-cppcheck lint-shell \
    lint-man
C := $(wildcard src/*.c src/*/*.c tests/*/*.c tests/*/*/*.c packaging/*.c)
SCRIPTS := configure .ci/run \
    $(shell grep -lsE '^\#!.*[/ ](ba)?sh$$|^\# shellcheck shell=' \
    tests/* tests/*/* packaging/*)

lint:
	@tests/setup build check lint
	@$(MAKE) $(PARALLEL) -k lint-all

lint-all: lint-gcc lint-clang lint-tidy lint-cppcheck lint-shell lint-man

# A configuration of its own, so that neither disturbs the build.
lint-gcc lint-clang: lint-%:
	@mkdir -p $(BUILD)/lint/$*
	@cd $(BUILD)/lint/$* && $(CURDIR)/configure CC=$* --enable-werror >configure.out || \
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
	$(Q)mandoc -Tlint -W warning man/*

# --- installing -------------------------------------------------------------

.PHONY: install install-strip installdirs uninstall
INSTALL_PROGRAM = $(INSTALL)
INSTALL_DATA = $(INSTALL) -m 644

I = $(DESTDIR)$(bindir)/$(PROGRAM)
M = $(foreach p,$(PAGES),"$(DESTDIR)$(mandir)/$(lastword $(subst :, ,$p))")
BASH_C = $(DESTDIR)$(bash_completion_dir)/$(PROGRAM)
ZSH_C = $(DESTDIR)$(zsh_completion_dir)/_$(PROGRAM)
FISH_C = $(DESTDIR)$(fish_completion_dir)/$(PROGRAM).fish

# What is built for another machine cannot be asked for them.
$(BUILD)/completion: packaging/completion.c src/cli/help.c \
    $(wildcard include/cli/* include/base/*) $(CONFIG)/config.mk Makefile
	@mkdir -p $(@D)
	$(call say,TOOL,$@)
	$(Q)$(CC_FOR_BUILD) -std=gnu17 -D_GNU_SOURCE= $(INCLUDE) -o $@ \
	    $(filter %.c,$^)

COMPLETIONS = $(addprefix $(BUILD)/completion.,bash zsh fish)
$(COMPLETIONS): $(BUILD)/completion.%: $(BUILD)/completion
	$(Q)$< $* | sed 's/pardd/$(PROGRAM)/g' >$@

installdirs:
	for file in "$(I)" $(M) "$(BASH_C)" "$(ZSH_C)" "$(FISH_C)"; do \
	    mkdir -p "$${file%/*}" || exit; done

install: $(BUILD)/pardd $(COMPLETIONS) installdirs
	$(INSTALL_PROGRAM) $(BUILD)/pardd "$(I)"
	for page in $(PAGES); do $(INSTALL_DATA) "man/$${page%:*}" \
	    "$(DESTDIR)$(mandir)/$${page#*:}" || exit; done
	$(INSTALL_DATA) $(BUILD)/completion.bash "$(BASH_C)"
	$(INSTALL_DATA) $(BUILD)/completion.zsh "$(ZSH_C)"
	$(INSTALL_DATA) $(BUILD)/completion.fish "$(FISH_C)"

install-strip:
	@$(MAKE) install \
	    INSTALL_PROGRAM='$(INSTALL_PROGRAM) -s --strip-program=$(STRIP)'

uninstall:
	rm -f "$(I)" $(M) "$(BASH_C)" "$(ZSH_C)" "$(FISH_C)"

# --- handing it on ----------------------------------------------------------

.PHONY: dist distcheck deb rpm deb-made rpm-made
D = pardd-$(VERSION)
TARBALL = $(CONFIG)/$(D).tar.gz

# The same bytes from the same sources, be they checked out or unpacked.
PARTS = .ci .clang-tidy .editorconfig .github .gitignore LICENSE Makefile NEWS \
    README.md configure include man packaging src tests
FILES = $(if $(wildcard .git),git ls-files,find $(PARTS) ! -type d)
WHEN = $(or $(SOURCE_DATE_EPOCH),$(shell \
    date -u -d "$$(sed -n '1s/.*(\(.*\))$$/\1/p' NEWS)" +%s))

dist:
	@packaging/versions $(VERSION)
	$(call say,TAR,$(TARBALL))
	$(Q)rm -f $(TARBALL) && $(FILES) | LC_ALL=C sort | \
	    tar -cf $(TARBALL).tmp --format=ustar --mtime=@$(WHEN) \
	    --owner=root:0 --group=root:0 --mode=u=rwX,go=rX --no-recursion \
	    --transform='s,^,$(D)/,' --files-from=-
	$(Q)gzip -9n <$(TARBALL).tmp >$(TARBALL) && rm $(TARBALL).tmp

distcheck: dist
	@packaging/distcheck $(TARBALL) $(BUILD)/distcheck

deb:
	@tests/setup build deb
	@$(MAKE) $(PARALLEL) deb-made
deb-made: dist
	@packaging/deb $(TARBALL) $(BUILD)/deb

rpm:
	@tests/setup build rpm
	@$(MAKE) $(PARALLEL) rpm-made
rpm-made: dist
	@packaging/rpm $(TARBALL) $(BUILD)/rpm

# --- the rest ---------------------------------------------------------------

.PHONY: clean mostlyclean distclean maintainer-clean help

# What is made here by name, should BUILD be a directory with more in it.
clean mostlyclean:
	rm -rf $(addprefix $(BUILD)/,pardd src unit tools asan tsan sched lint \
	    coverage mutants portability distcheck deb rpm completion) $(COMPLETIONS)
	@[ ! -d $(BUILD) ] || rmdir --ignore-fail-on-non-empty $(BUILD)

# In a directory of its own, the Makefile there too.
distclean maintainer-clean: clean
	rm -rf $(addprefix $(CONFIG)/config.,mk h log) $(BUILD)/scsi-lab \
	    $(BUILD)/fuzz $(BUILD)/bench.md $(CONFIG)/pardd-*.tar.gz \
	    $(if $(filter-out .,$(CONFIG)),$(CONFIG)/Makefile)
	@[ ! -d $(BUILD) ] || rmdir --ignore-fail-on-non-empty $(BUILD)

help:
	@echo 'make              build $(BUILD)/pardd'
	@echo 'make check        run the tests; as root they try devices too'
	@echo 'make check-short  two minutes of them, with few packages installed'
	@echo 'make check-long   (or prove) the tests that take longer as well'
	@echo 'make check-rbd    the tests that need a Ceph cluster, which is started'
	@echo 'make check-scsi   the tests that need SCSI disks, in a guest'
	@echo 'make bench-scsi   the times there, against sgp_dd and the rest'
	@echo 'make demo         watch it clone a disk; IF= OF= name real ones'
	@echo 'make pictures     draw the pictures of the README, from real runs'
	@echo 'make bench        measure it against its peers'
	@echo 'make coverage     what the tests never run; make mutants N= SEED= what'
	@echo '                  they do not notice'
	@echo 'make fuzz         made up input from outside, SECONDS= for each WHAT='
	@echo 'make portability  build it with the compilers and for machines here'
	@echo 'make lint         what compilers and checkers say'
	@echo 'make install      DESTDIR= is put before every path'
	@echo 'make install-strip uninstall clean distclean'
	@echo 'make dist         a tarball; make distcheck tries it'
	@echo 'make deb          a Debian package, in $(BUILD)/deb; make rpm'
	@echo 'V=1 shows commands, BUILD= builds elsewhere.  ./configure --help'
