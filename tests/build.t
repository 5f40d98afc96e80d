#!/usr/bin/env bash
# configure, make and make install, in a copy of the sources.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# once is enough
needs 'command -v make cc' -- "no make, or no cc"
built=$BUILD
unset CC CFLAGS CPPFLAGS LDFLAGS BUILD CONFIG V DESTDIR VARIANTS
quick='CFLAGS=-O0'
# For configurations that nothing is compiled with: a compiler that accepts everything.
none='CC=true'
# shellcheck disable=SC2034 # it is the limit of "it": a build takes its time
limit=1200

# sources: a copy, in the directory src
sources()
{
	mkdir src && cp -r "$top"/{configure,Makefile,NEWS,src,include,man,packaging} src
}
configured()
{
	sources && cd src && exits 0 ./configure "$quick" "$@"
}
# The object that compiles fastest.
one=build/src/base/clock.o

# ----------------------------------------------------------------- configure

# Two that lack what we call, one of which is only loaded; and one that is missing.
libraries()
{
	mkdir -p old/openssl && : >old/liburing.h && : >old/openssl/evp.h && echo '#error not here' >old/jansson.h &&
	    exits 1 "$top/configure" "CPPFLAGS=-I$PWD/old" && [[ ! -e config.mk ]] &&
	    says '^configure: too old: uring, crypto$' && says 'Debian 12 or newer' &&
	    grep -Eq '^  uring +too old, without io_uring_submit_and_wait_timeout$' out &&
	    says '^configure: missing: jansson$' &&
	    says '^configure: on Debian: apt-get install libjansson-dev$' && does_not_say 'leave out'
}
it "says which libraries are too old, and which are missing, all at once" libraries
wrong()
{
	exits 1 "$top/configure" "$1" && says "$2" && [[ ! -e config.mk ]]
}
it "says that there is no such compiler" wrong CC=no-such-cc 'CC=no-such-cc: no such command'
it "does not know every option" wrong --speed 'unrecognized option: --speed'
it "does not take a directory that is relative" wrong --prefix=usr 'absolute directory name for --prefix: usr'
it "does not take any name for a variable" wrong 'A-B=1' 'invalid variable name: A-B'
it "misses the value of an option that needs one" wrong --prefix 'missing argument to --prefix'
it "does not take two sanitizers that exclude each other" eval \
    'exits 1 "$top/configure" --enable-asan --enable-tsan && says "exclude each other"'

# What debhelper and rpm pass to every configure.
debhelper='--build=x86_64-linux-gnu --prefix=/usr --includedir=${prefix}/include
--mandir=${prefix}/share/man --infodir=${prefix}/share/info --sysconfdir=/etc --localstatedir=/var
--disable-option-checking --disable-silent-rules --libdir=${prefix}/lib/x86_64-linux-gnu
--runstatedir=/run --disable-maintainer-mode --disable-dependency-tracking --enable-no-such'
rpm='--build=x86_64-redhat-linux-gnu --host=x86_64-redhat-linux-gnu --program-prefix=
--disable-dependency-tracking --prefix=/usr --exec-prefix=/usr --bindir=/usr/bin --sbindir=/usr/sbin
--sysconfdir=/etc --datadir=/usr/share --includedir=/usr/include --libdir=/usr/lib64
--libexecdir=/usr/libexec --localstatedir=/var --runstatedir=/run --sharedstatedir=/var/lib
--mandir=/usr/share/man --infodir=/usr/share/info'
# dirs: where make would install to
dirs()
{
	printf 'include config.mk\nit:;@echo $(bindir) $(mandir) $(PROGRAM)\n' | make -s -f -
}
packagers()
{
	# shellcheck disable=SC2086
	exits 0 "$top/configure" -q "$none" $1 && [[ ! -s err && ! -s out ]] || return
	[[ $(dirs) = "$2" ]] || fail "$(dirs)"
}
shows_commands()
{
	export CPPFLAGS=-DA=B
	packagers "$debhelper LDFLAGS=-Wl,--defsym=x=0" '/usr/bin /usr/share/man pardd' && grep -qx 'V = 1' config.mk
}
it "takes what debhelper says, and shows commands" shows_commands
it "takes what rpm says" packagers "$rpm" '/usr/bin /usr/share/man pardd'
it "takes a value as the next word, and a program's other name" packagers \
    '--prefix /opt/x/ --program-prefix=g --program-suffix 1 --program-transform-name=s,dd1,DD1, -C' \
    '/opt/x/bin /opt/x/share/man gparDD1'
unknown()
{
	exits 0 "$top/configure" "$none" --with-speed --disable-nls &&
	    says '^configure: WARNING: unrecognized options: --with-speed, --enable-nls$' &&
	    ! grep -q 'Werror' config.mk && exits 0 "$top/configure" "$none" --enable-werror &&
	    grep -Eq '^WARN = .* -Werror$' config.mk
}
it "warns of a feature it does not know; a warning is an error only where asked" unknown
empty()
{
	CC='' exits 0 "$top/configure" -n -q "$quick"
}
it "takes the usual compiler where CC is empty" empty
it "writes nothing with --no-create" eval \
    'exits 0 "$top/configure" "$none" -n && [[ -z $(ls config.mk config.h Makefile 2>/dev/null) ]]'
# Libraries of a machine, to link with, that are not what was compiled against.
shared()
{
	exits 0 "$top/configure" "$quick" && grep -q '^LIBS =.* -l:libblkid\.a' config.mk &&
	    exits 0 "$top/configure" "$quick" --enable-shared-libs LIBS=-lm &&
	    grep -Eq '^LIBS =.* -lblkid .*-lm$' config.mk && ! grep -q 'l:libblkid' config.mk
}
it "links archives, and shared libraries where it is told to" shared
lacking()
{
	mkdir lib && echo 'int io_uring_submit_and_wait_timeout;' >one.c &&
	    cc -shared -fPIC -o lib/liburing.so one.c &&
	    exits 0 "$top/configure" "$quick" "LDFLAGS=-L$PWD/lib" --enable-shared-libs &&
	    grep -q '^LIBS =.* -l:liburing\.a' config.mk
}
it "takes the archive where the shared library lacks a call" lacking
without()
{
	mkdir -p old && echo '#error not here' >old/libnbd.h &&
	    exits 1 "$top/configure" "$quick" "CPPFLAGS=-I$PWD/old" && says 'apt-get install libnbd-dev$' &&
	    says '^configure: or leave out: --without-libnbd$' &&
	    exits 0 "$top/configure" "$quick" "CPPFLAGS=-I$PWD/old" --without-libnbd --without-libjansson &&
	    says 'WARNING: unrecognized options: --with-libjansson$' && ! grep LIBNBD config.h &&
	    exits 0 "$top/configure" "$quick" && grep -qx '#define HAVE_LIBNBD 1' config.h
}
it "does without the libraries that one can do without" without
extra()
{
	mkdir -p have/isa-l lack/isa-l && echo 'void isal_read_gzip_header(void);' >have/isa-l/igzip_lib.h &&
	    echo '#error not here' >lack/isa-l/igzip_lib.h &&
	    exits 0 "$top/configure" "CPPFLAGS=-I$PWD/lack" && grep -Eq '^  isal +no$' out && ! grep LIBISAL config.h &&
	    exits 0 "$top/configure" "$quick" "CPPFLAGS=-I$PWD/have" && grep -qx '#define HAVE_LIBISAL 1' config.h &&
	    exits 0 "$top/configure" "$quick" "CPPFLAGS=-I$PWD/have" --without-libisal && ! grep LIBISAL config.h
}
it "takes a library that only saves time where it is there" extra
# place DIR OPTION...: where the program will be
place()
{
	exits 0 "$top/configure" "$none" "${@:2}" && grep -Eq "^  installed as +$1/pardd\$" out
}
places()
{
	place /usr/local/bin && place /opt/bin --prefix=/opt && place /e/bin --prefix=/opt --exec-prefix=/e &&
	    place /b --bindir=/b
}
it "says where the program will be installed" places
# What stands in for functions that a C library lacks does what they do: one
# program has ours, the other those that are there.
stand_ins()
{
	mkdir none some && : >none/config.h && cp "$top/src/base/libc.c" . &&
	    exits 0 "$top/configure" "$quick" && mv config.h some && cat >use.c <<-'END'
	#include "base/libc.h"
	#include <fcntl.h>
	#include <stdio.h>
	static int small(const struct dirent *d) { return d->d_name[0] >= 'a'; }
	int
	main(void)
	{
		char text[9] = "";
		struct iovec v = { text, 8 };
		struct dirent **list;
		struct statx x;
		int fd = open("big", O_RDWR), i, n = scandirat(AT_FDCWD, "dir", &list, small, alphasort);

		for (i = 0; i < n; i++)
			puts(list[i]->d_name);
		printf("%d %d\n", n, scandirat(AT_FDCWD, "none.c", &list, NULL, alphasort));
		printf("%zd ", preadv2(fd, &v, 1, 0x140000001, 0));
		printf("%s %zd\n", text, pwritev2(fd, &v, 1, 0x140000100, 0));
		printf("%d %llu\n", statx(AT_FDCWD, "big", 0, STATX_SIZE, &x), (unsigned long long)x.stx_size);
		printf("%s %s %s\n", sigabbrev_np(SIGINT), sigabbrev_np(SIGTERM), strerrordesc_np(5));
		return sigabbrev_np(99999) != NULL;
	}
	END
	mkdir dir && touch dir/{B,c,a,.d,b} && truncate -s 5368709121 big && echo 12345678 >>big || return
	for one in none some; do
		cc -std=gnu17 -D_GNU_SOURCE= -D_FILE_OFFSET_BITS=64 -Wall -Werror -I$one -I"$top/include" \
		    -o "use.$one" use.c libc.c && "./use.$one" >"$one.says" || return
	done
	cmp none.says some.says && grep -qx '3 -1' none.says && grep -qx '8 12345678 8' none.says
}
it "does without functions that not every C library has" stand_ins
# Those that are linked are the Debian package's, too.
packaged()
{
	local package
	"$top/configure" --libraries >list && [[ $(wc -l <list) -gt 5 ]] || return
	while read -r _ package; do
		grep -qxE " $package( \[[a-z0-9 ]+\])?," "$top/packaging/debian/control" || fail "not built with $package" || return
	done <list
}
it "has each library it knows in the Debian package" packaged
cross()
{
	printf '#!/bin/sh\n' >there-gcc && cp there-gcc there-strip && chmod +x there-* &&
	    PATH=$PWD:$PATH exits 0 "$top/configure" "$quick" --build here --host=there &&
	    [[ ! -s err ]] && grep -qx 'CC = there-gcc' config.mk &&
	    grep -qx 'STRIP = there-strip' config.mk && grep -qx 'CC_FOR_BUILD = cc' config.mk &&
	    exits 0 "$top/configure" "$quick" --host=elsewhere -n && says 'WARNING: no elsewhere-gcc'
}
it "compiles for another machine with its tools" cross

# ------------------------------------------------------------------ compilers

# As after "make demo", which configures too.
unchanged()
{
	configured && exits 0 make $one && exits 0 ./configure "$quick" && exits 0 make $one && ! grep -E '^ +CC ' out &&
	    exits 0 ./configure CFLAGS=-O1 && exits 0 make $one && grep -Eq '^ +CC ' out
}
it "compiles nothing again after a configure that changes nothing" unchanged
# other_compiler CC: in place of the one that was configured, and back
other_compiler()
{
	configured && exits 0 make $one && exits 0 make "CC=$1" $one &&
	    grep -qx "CC = $1" config.mk && exits 0 make "CC=$1" $one || return
	! grep -E '^ +CC ' out || fail "made twice" || return
	[[ $1 = clang ]] || { exits 0 make CC=cc $one && grep -qx 'CC = cc' config.mk && grep -Eq '^ +CC ' out; }
}
# A compiler that does not know what gcc alone knows.
picky()
{
	cat >picky <<-'END'
	#!/bin/sh
	case " $* " in
	*" -fconserve-stack "*) echo "unknown argument" >&2; exit 1 ;;
	esac
	exec cc "$@"
	END
	chmod +x picky
	other_compiler "$PWD/picky"
}
it "gives a compiler that make CC= names the flags it knows" picky
given 'command -v clang' "no clang" it "is made by clang after a configure for gcc" other_compiler clang

# ----------------------------------------------------- building and installing

installed="bin/pardd share/bash-completion/completions/pardd share/fish/vendor_completions.d/pardd.fish
share/man/man5/pardd-json.5 share/man/man7/pardd-ends.7 share/man/man7/pardd-images.7
share/man/man7/pardd-rescue.7 share/man/man8/pardd.8 share/zsh/site-functions/_pardd"
bytes()
{
	(cd "$1" && find . -type f | sed 's,^\./,,' | sort)
}
# build_there: in the directory there.  Objects of the program that is tried stand for most
# where they can be linked: not those that count what runs.  All would take long.
build_there()
{
	mkdir ../there && cp -r "$built/src" ../there && find ../there -name '*.d' -delete &&
	    rm ../there/src/*.o ../there/src/{base,cli}/*.o || return
	run make -j2 "BUILD=$scratch/case/there" all
	grep -q ' CC .*/src/base/fault.o' out || fail "$(cat out err)" || return
	((status == 0)) || { rm -r ../there && exits 0 make -j2 "BUILD=$scratch/case/there" all; }
}
install_here()
{
	local files shell
	configured "CFLAGS=-O0 -g" --prefix=/opt/x && build_there &&
	    [[ ! -e build ]] && "$scratch/case/there/pardd" --version | grep -qx 'pardd [0-9.]*' &&
	    exits 0 make "BUILD=$scratch/case/there" install "DESTDIR=$scratch/case/the root" &&
	    cp -r "$scratch/case/there/src" "$scratch/objects" || return
	files=$(bytes "$scratch/case/the root/opt/x")
	[[ $files = "$(tr ' ' '\n' <<<"$installed")" ]] || fail "installed: $files" || return
	cd "$scratch/case/the root/opt/x" && cp bin/pardd "$scratch/first" || return
	for shell in bash:bash-completion/completions/pardd zsh:zsh/site-functions/_pardd \
	    fish:fish/vendor_completions.d/pardd.fish; do
		bin/pardd "--completion=${shell%%:*}" | cmp - "share/${shell#*:}" || return
	done
	cd "$scratch/case/src" && exits 0 make "BUILD=$scratch/case/there" uninstall "DESTDIR=$scratch/case/the root" || return
	files=$(bytes "$scratch/case/the root")
	[[ -z $files ]] || fail "left: $files" || return
	mkdir "$scratch/case/there/fuzz" && exits 0 make "BUILD=$scratch/case/there" distclean &&
	    [[ ! -e $scratch/case/there && ! -e config.mk && ! -e config.h && ! -e config.log ]]
}
it "builds elsewhere, installs below DESTDIR, and takes all of it away again" install_here
# As packagers build: in a directory of its own, with nothing but configure and make.
# Objects of the build before stand for most, for it takes long.
vpath()
{
	local before root=$scratch/case/root
	sources && mv src 'other' && before=$(find other | sort) &&
	    mkdir b && cd b && exits 0 ../other/configure "CFLAGS=-O0 -g" --prefix=/usr --program-suffix=-1 &&
	    mkdir build && cp -r "$scratch/objects" build/src && rm build/src/*.o build/src/{base,cli}/*.o &&
	    exits 0 make -j2 && grep -q ' CC .*/src/base/fault.o' out && cmp build/pardd "$scratch/first" &&
	    exits 0 make install-strip "DESTDIR=$root" && [[ -s $root/usr/share/man/man5/pardd-json-1.5 ]] &&
	    ! readelf -S "$root/usr/bin/pardd-1" | grep -q symtab &&
	    grep -q 'complete .* pardd-1$' "$root/usr/share/bash-completion/completions/pardd-1" &&
	    exits 0 make uninstall clean "DESTDIR=$root" && [[ -z $(bytes "$root") && ! -e build ]] &&
	    exits 0 make distclean && [[ $(echo *) = 'err out' ]] && [[ $(cd .. && find other | sort) = "$before" ]]
}
it "makes the same bytes in a directory of its own, under another name, and strips them" vpath
tarball()
{
	local name
	name=pardd-$("$pardd" --version | cut -d ' ' -f 2)
	cp -r "$top"/{.ci,.clang-tidy,.editorconfig,.github,.gitignore,LICENSE,Makefile,NEWS,README.md} . &&
	    cp -r "$top"/{configure,include,man,packaging,src,tests} . &&
	    exits 0 ./configure "$none" && exits 0 make dist && mkdir again && umask 077 &&
	    tar -C again -xzf "$name.tar.gz" && cd "again/$name" && find . -exec touch {} + &&
	    exits 0 ./configure "$none" && exits 0 make dist && cmp "$name.tar.gz" "../../$name.tar.gz" || return
	sed -i '1s/^pardd [^ ]*/pardd 99.9/' NEWS &&
	    exits 2 make dist && says "^NEWS is of version 99.9, and configure of ${name#pardd-}$"
}
it "packs the same tarball anywhere, and none whose version is told in two ways" tarball
# A build directory of its own; nothing is written to the sources.
apart()
{
	sources && mkdir it && cd it && exits 0 ../src/configure "$quick" &&
	    exits 0 make -C ../src "CONFIG=$PWD" "BUILD=$PWD" "$PWD/src/base/clock.o" &&
	    [[ -s src/base/clock.o ]] && cd ../src && ! ls config.* build 2>/dev/null
}
it "leaves the sources alone with a configuration elsewhere" apart
# trying VARIANTS: what make would build and run
trying()
{
	exits 0 make -C "$top" -n tried "CONFIG=$PWD" "BUILD=$PWD" && [[ -s out ]] &&
	    grep -q " VARIANTS=\"$1\" tests/run$" out
}
variants()
{
	exits 0 "$top/configure" "$none" && VARIANTS=plain trying plain &&
	    ! grep -E '/(asan|tsan|sched)/' out && VARIANTS='tsan plain' trying 'tsan plain' &&
	    grep -q '/sched/pardd' out && ! grep /asan/ out && trying "plain $(sed -n 's/^SANITIZED = //p' config.mk)"
}
it "tries the variants that are asked for, and else all" variants
# The clock of a file system may stand still for some milliseconds.
touched()
{
	touch configure && [[ configure -nt config.mk ]]
}
newer()
{
	sources && mv src 'the source' && cd 'the source' &&
	    exits 0 ./configure "$quick" --prefix=/opt/x && until_true 5 touched &&
	    exits 0 make $one && grep -q sanitizers out && [[ -s $one ]] &&
	    grep -qx 'prefix = /opt/x' config.mk && grep -qx 'CFLAGS = -O0' config.mk
}
it "configures again, as it was told, when configure is newer, in a directory with a blank in its name" newer
