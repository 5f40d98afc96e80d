#!/usr/bin/env bash
# Every schedule of a small copy with a map, by the model checker spin(1): see
# tests/model/copy.pml.  Each of its guards is left out by name, and the
# fault must be found.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# the model is the same
needs "spin -V" "cc --version" -- "no spin"
# What is tried soon takes the compiler longer.
chunks=2 optimize=-O0
[[ -z $LONG ]] || chunks=3 optimize=-O2

# holds REGEX [FAULT]: is what is said of all schedules
holds()
{
	spin ${2:+"-D$2"} "-DCHUNKS=$chunks" -a "$top/tests/model/copy.pml" >out 2>&1 &&
	    cc $optimize -DSAFETY -DCOLLAPSE -o pan pan.c >out 2>&1 && ./pan -m100000 >out 2>&1
	if ! grep -q 'states, stored' out || ! grep -q "$1" out || grep -q 'max search depth' out; then
		fail "$(<out)"
	fi
}
it "writes in order, saves only what is safe, and waits for nobody for ever" holds 'errors: 0$'
it "finds a map that does not wait for writes under way" holds 'assertion violated' AWAIT
it "finds a map that forgets what failed before" holds 'assertion violated' DOUBT
it "finds writes that wait for no turn" holds 'assertion violated' TURN
