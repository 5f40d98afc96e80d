#!/usr/bin/env bash
# The readers of maps, manifests, file systems and disks' answers under our own
# fuzzer (tests/fuzz/run).
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
maps=1000000 manifests=20000 systems=5000 answers=200000
[[ -z $LONG ]] || maps=100000000 manifests=10000000 systems=1000000 answers=100000000
it "reads $maps maps that almost are, and what it takes it writes the same" \
    fuzz mapfile $maps 20
it "reads $manifests manifests that almost are, and what it takes it writes the same" \
    fuzz manifest $manifests 8
it "reads $systems file systems that are spoilt, and what it says of them is sound" \
    fuzz fsmap $systems 60
it "takes $answers answers of SCSI, NVMe and zoned disks, and stays within bounds" \
    fuzz answers $answers 15

# finds READER FILE.c SED: a fault that is put into a source
finds()
{
	mkdir program
	cp -R "$top/src" "$top/include" "$top/tests" "$top/config.h" program || return
	sed -i "$3" "program/$2"
	! cmp -s "program/$2" "$top/$2" || fail "$2 has not what is to be made a fault" || return
	BUILD=$PWD/fuzzed run program/tests/fuzz/run -n 200000 -s "$seed" "$1"
	[[ $status != 0 && -s fuzzed/fuzz/$1.found ]] || fail "not found: $(tail -n 3 out err)"
}
it "finds a length of a disk's that is believed" \
    finds answers src/end/scsi_ask.c '/^vpd_page/,/^}/s/return len < r.moved ? len : r.moved/return len/;s/page\[64\]/page[16]/'
it "finds a zone that is written before it begins" \
    finds answers src/end/zones.c '/one.next < one.start/s/one.next < one.start || //'
