# Programs for the scheduler with a planted fault, which the tests must find.
# shellcheck shell=bash disable=SC2154

# make_faulty FILE.c SED OBJECT...: ./faulty, with a source that sed(1) has changed
make_faulty()
{
	local cc flags libs objects
	sed "$2" "$top/$1" >faulty.c
	! cmp -s faulty.c "$top/$1" || fail "$1 has no such line to be changed" || return
	{
		read -ra cc
		read -ra flags
		read -ra libs
	} < <(make -s -C "$top" -f - <<-'END'
	include config.mk
	all: ; @printf '%s\n' '$(CC)' '$(BASE) $(HARDEN) $(TSAN) $(CPPFLAGS)' '$(HARDEN_LD) $(LDFLAGS) $(LIBS)'
	END
	)
	mapfile -t objects < <(find "$BUILD/tsan/src" -name '*.o' ! -path "*/${1%.c}.o" ! -name main.o \
	    ! -path "*/${without:-main.o}")
	"${cc[@]}" "${flags[@]}" -O1 -w -I"$top" -I"$top/include" -iquote "$top/$(dirname "$1")" \
	    -c faulty.c && "${cc[@]}" -pthread -o faulty "${objects[@]}" faulty.o "${@:3}" \
	    "$BUILD"/sched/{sched,calls,medium,tsan}.o "${libs[@]}"
}
