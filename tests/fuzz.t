#!/usr/bin/env bash
# The readers of maps, manifests and file systems under our own fuzzer (tests/fuzz/run).
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0	# it has sanitizers of its own
# shellcheck disable=SC2034 # it is the limit of "it"
limit=3600
seed=${SEED:-20260715}

# The compiler that the program is built with, if it has the sanitizers.
CC=$(sed -n 's/^CC = //p' "$top/config.mk" 2>/dev/null)
export CC=${CC:-cc}
echo 'int main(void) { return 0; }' >"$scratch/probe.c"
needs "$CC -fsanitize=address,undefined -o '$scratch/probe' '$scratch/probe.c' && '$scratch/probe'" \
    -- "$CC has not the sanitizers"

# fuzz READER N PERCENT: so many were tried, as the fuzzer counts them, and so
# many of a hundred taken, for else the case proves little
fuzz()
{
	local inputs taken
	BUILD=$BUILD exits 0 "$top/tests/fuzz/run" -n "$2" -s "$seed" "$1" || {
		cat out
		od -A d -t x1z "$BUILD/fuzz/$1.found" | head -n 64
		return 1
	}
	read -r inputs _ taken _ < <(tail -n 1 out)
	[[ $inputs$taken =~ ^[0-9]+$ ]] || fail "$(cat out)" || return
	((inputs >= $2)) || fail "only $inputs inputs" || return
	((taken * 100 >= inputs * $3)) || fail "only $taken of $inputs were taken" || return
	echo "$inputs inputs of seed $seed, $taken taken"
}
maps=1000000 manifests=20000 systems=5000
[[ -z $LONG ]] || maps=100000000 manifests=10000000 systems=1000000
it "reads $maps maps that almost are, and what it takes it writes the same" \
    fuzz mapfile $maps 20
it "reads $manifests manifests that almost are, and what it takes it writes the same" \
    fuzz manifest $manifests 8
it "reads $systems file systems that are spoilt, and what it says of them is sound" \
    fuzz fsmap $systems 60
