#!/usr/bin/env bash
# configure, make and make install, in a copy of the sources.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# once is enough
needs 'command -v make cc' -- "no make, or no cc"
unset CC CFLAGS CPPFLAGS LDFLAGS BUILD CONFIG V DESTDIR
quick='CFLAGS=-O0'

# sources: a copy, in the folder src
sources()
{
	mkdir src && cp -r "$top"/{configure,Makefile,src,include,man} src
}
configured()
{
	sources && cd src && exits 0 ./configure "$quick" "$@"
}
# The object that is soonest made.
one=build/src/base/clock.o

# ----------------------------------------------------------------- configure

# Two without what we call, one of which is loaded only; and one that is missing.
libraries()
{
	mkdir -p old/openssl && : >old/liburing.h && : >old/openssl/evp.h &&
	    echo '#error not here' >old/jansson.h &&
	    exits 1 "$top/configure" "CPPFLAGS=-I$PWD/old" && [[ ! -e config.mk ]] &&
	    says '^configure: too old: uring, crypto$' && says 'Debian 12 or newer' &&
	    grep -Eq '^  uring +too old, without io_uring_submit_and_wait_timeout$' out &&
	    says '^configure: missing: jansson$' &&
	    says '^configure: on Debian: apt-get install libjansson-dev$'
}
it "says which libraries are too old, and which are missing, all at once" libraries
wrong()
{
	exits 1 "$top/configure" "$1" && says "$2" && [[ ! -e config.mk ]]
}
it "says that there is no such compiler" wrong CC=no-such-cc 'CC=no-such-cc: no such command'
it "does not know every option" wrong --with-speed 'with-speed: not known'
it "does not take two sanitizers that exclude each other" eval \
    'exits 1 "$top/configure" --enable-asan --enable-tsan && says "exclude each other"'

# ------------------------------------------------------------------ compilers

# other_compiler CC: in place of the one that was configured, and back
other_compiler()
{
	configured && exits 0 make $one && exits 0 make "CC=$1" $one &&
	    grep -qx "CC = $1" config.mk && exits 0 make "CC=$1" $one || return
	! grep -E '^ +CC ' out || fail "made twice" || return
	[[ $1 = clang ]] ||
	    { exits 0 make CC=cc $one && grep -qx 'CC = cc' config.mk && grep -Eq '^ +CC ' out; }
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
if command -v clang >/dev/null; then
	it "is made by clang after a configure for gcc" other_compiler clang
else
	skip "no clang" "is made by clang after a configure for gcc"
fi

# ----------------------------------------------------- building and installing

installed="bin/pardd share/bash-completion/completions/pardd share/fish/vendor_completions.d/pardd.fish
share/man/man5/pardd-json.5 share/man/man8/pardd.8 share/zsh/site-functions/_pardd"
install_here()
{
	local files
	configured --prefix=/opt/x && exits 0 make -j2 "BUILD=$scratch/case/there" all &&
	    [[ ! -e build ]] && "$scratch/case/there/pardd" --version | grep -q '^pardd ' &&
	    exits 0 make "BUILD=$scratch/case/there" install "DESTDIR=$scratch/case/root" || return
	files=$(cd "$scratch/case/root/opt/x" && find . -type f | sed 's,^\./,,' | sort)
	[[ $files = "$(tr ' ' '\n' <<<"$installed")" ]] || fail "installed: $files" || return
	"$scratch/case/root/opt/x/bin/pardd" --version >/dev/null &&
	    exits 0 make "BUILD=$scratch/case/there" uninstall "DESTDIR=$scratch/case/root" || return
	files=$(find "$scratch/case/root" -type f)
	[[ -z $files ]] || fail "left: $files" || return
	exits 0 make "BUILD=$scratch/case/there" distclean &&
	    [[ ! -e $scratch/case/there && ! -e config.mk && ! -e config.h && ! -e config.log ]]
}
it "builds elsewhere, installs below DESTDIR, and takes all of it away again" install_here
# A configuration of its own, beside sources that nothing is written to.
apart()
{
	sources && mkdir it && cd it && exits 0 ../src/configure "$quick" &&
	    exits 0 make -C ../src "CONFIG=$PWD" "BUILD=$PWD" "$PWD/src/base/clock.o" &&
	    [[ -s src/base/clock.o ]] && cd ../src && ! ls config.* build 2>/dev/null
}
it "leaves the sources alone with a configuration elsewhere" apart
newer()
{
	sources && mv src 'the source' && cd 'the source' &&
	    exits 0 ./configure "$quick" --prefix=/opt/x && touch configure &&
	    exits 0 make $one && grep -q sanitizers out && [[ -s $one ]] &&
	    grep -qx 'prefix = /opt/x' config.mk && grep -qx 'CFLAGS = -O0' config.mk
}
it "configures again, as it was told, when configure is newer, in a folder with a blank in its name" newer
