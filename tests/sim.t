#!/usr/bin/env bash
# Runs in a simulation (tests/sim): disks that fail, lose data or disappear, power cuts,
# signals, command lines and schedules, all from one seed; a model says which results
# are allowed.  SEED=N starts from another seed, LONG=1 tries a million.
# shellcheck disable=SC1091,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$top/tests/faulty.sh"
[[ $VARIANT = plain ]] || exit 0	# it is linked from objects compiled for tsan
needs "[[ -x '$BUILD/sched/sim' ]]" -- "it was built without tsan"
limit=14400		# of "it"
sim=$BUILD/sched/sim
runs=1000
[[ -z $LONG ]] || runs=1000000
first=${SEED:-1}

right()
{
	"$sim" -s "$first" -n "$runs" >said || fail "$(head -n 5 said)" || return
	tail -n 1 said
}
it "leaves what it says it left, whatever happens" right
resumed()
{
	"$sim" -r -s "$first" -n "$((runs / 2))" >said || fail "$(head -n 5 said)" || return
	tail -n 1 said
}
it "goes on with rescues that were stopped anywhere, by other command lines" resumed

again()
{
	local n
	for n in 1 2; do
		SCHED_TRACE=trace$n "$sim" -v -s "$first" -n 50 2>err || return
		sed -E 's/, [0-9.e-]+ s, .*//' err >err$n
	done
	[[ -s trace1 ]] && same trace1 trace2 && same err1 err2
}
it "does the same again by its seed" again

# alone [-r]: one that is told is the same when it is run alone
alone()
{
	local seed what
	read -r _ seed what <said
	"$sim" "$@" -s "${seed%:}" | grep -qx "seed $seed $what" || fail "seed $seed alone is another"
}

# Each would take the other's map for its own.
crowded()
{
	exec 5<.
	flock -n 5 && exits 2 "$sim" -n 1 && says 'another runs in this directory' && [[ ! -s out ]] || return
	exec 5<&-
	exits 0 "$sim" -n 1
}
it "does not run where another does" crowded

# ------------------------------------------------------- faults it has to find

# finds FILE.c SED WHAT [-r]: runs notice what is done to a source
finds()
{
	local without=net/rbd.o
	make_faulty "$1" "$2" "$BUILD"/sched/{pardd_main,sim.*}.o -Wl,--wrap={confine,signals_raise,library_load,geteuid} || return
	sim=$PWD/faulty
	! "$sim" "${@:4}" -m 1 -s "$first" -n 5000 >said || fail "nobody noticed" || return
	grep -q ": $3\$" said || fail "$(head -n 3 said)" || return
	alone "${@:4}"
}
needs "[[ -e '$top/config.mk' ]]" -- "it was configured elsewhere"
it "finds a map that is saved without a flush" finds src/rescue/mapsaver.c \
    's/unflushed = !job->doubt && .*/unflushed = false;/' 'the map calls finished what is not'
it "finds an end without a flush" finds src/run/lead.c 's/job_flush(job, &job->flush);/;/' 'a sector is missing'
it "finds an error of an earlier write that is taken for this one's" finds src/end/lane.c \
    's/ \&\& !io->spent//' '\(a sector is missing\|the map calls finished what is not\)'
it "finds a rescue that goes on without the parts between bad ends" finds src/rescue/gaps.c \
    's/^\t    s == UNSCRAPED;/\t    false;/' \
    '\(a sector is missing that could be read\|the map is left with what could be tried\)' -r
needs "grep -q 'define HAVE_LIBFUSE3' '$top/config.h'" -- "built without libfuse3"
it "finds a view that shows what is bad" finds src/view/view.c 's/^\t\tcase BAD:/&\n\t\t\tbreak;/' \
    'a reader got something else' -r
it "... and what is not written yet" finds src/rescue/rescue.c \
    's/^\tif (!transfer_write_end(w, h->off, h->have))/\tmap_set(\&w->job->map, h->off, h->have, FINISHED);\n&/' \
    'a reader got something else' -r
it "finds bad blocks that are read again because they are asked for" finds src/rescue/gaps_asked.c \
    's/return s == UNTRIED || /return s == BAD || s == UNTRIED || /;s/ \&\& s.status != FINISHED/ \&\& s.status != FINISHED \&\& s.status != BAD/' \
    'a bad block was read too often' -r
it "finds what readers ask for to leave a gap behind it" finds src/rescue/gaps_asked.c \
    's/if (found && err == 0 && gap.end > p->end)/if (false)/' \
    '\(a sector is missing that could be read\|the map is left with what could be tried\|it failed, .*\|a reader got an error for what is not bad\)' -r
