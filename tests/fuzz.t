#!/usr/bin/env bash
# Input from outside, made up by our own fuzzer (tests/fuzz/run): files that are read,
# answers of disks, servers and the kernel, command lines.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0	# it has its own sanitizers
# shellcheck disable=SC2034 # it is the limit of "it"
limit=3600
seed=${SEED:-20260715}

# The compiler that the program is built with, if it has the sanitizers.
CC=$(sed -n 's/^CC = //p' "$top/config.mk" 2>/dev/null)
export CC=${CC:-cc}
echo 'int main(void) { return 0; }' >"$scratch/probe.c"
needs "$CC -fsanitize=address,undefined -o '$scratch/probe' '$scratch/probe.c' && '$scratch/probe'" \
    -- "$CC has not the sanitizers"

# fuzz READER N PERCENT [KIND]: so many were tried, as the fuzzer counts them,
# and so many of a hundred taken, for else the case proves little
fuzz()
{
	local inputs taken
	BUILD=$BUILD exits 0 "$top/tests/fuzz/run" -n "$2" -s "$seed" ${4:+-k "$4"} "$1" || {
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
maps=250000 manifests=10000 systems=2500 answers=100000
bmaps=50000 tables=500 lines=50000 talks=20000 texts=50000 servers=5000 archives=20000
[[ -z $LONG ]] || maps=100000000 manifests=10000000 systems=1000000 answers=100000000 \
    bmaps=20000000 tables=200000 lines=50000000 talks=5000000 texts=20000000 servers=1000000 archives=10000000
it "reads $maps maps that almost are, and what it takes it writes the same" fuzz mapfile $maps 20
it "reads $manifests manifests that almost are, and what it takes it writes the same" fuzz manifest $manifests 8
it "reads $systems file systems that are spoilt, and what it says of them is sound" fuzz fsmap $systems 60
for kind in ${LONG:+ext xfs btrfs ntfs fat exfat swap lvm md luks}; do
	it "... so many of $kind alone" fuzz fsmap $systems 60 "$kind"
done
it "reads $bmaps block maps that almost are, and what it takes lies within the image" fuzz bmap $bmaps 8
it "reads $tables partition tables that are spoilt, and what it says of them is sound" fuzz table $tables 30
it "takes $lines command lines, and refuses them or makes plans that can be" fuzz opts $lines 10
it "takes what $talks programs say at control=, and answers each line" fuzz control $talks 50
it "makes $texts times something of the kernel's texts, and it is text" fuzz system $texts 30
it "unpacks $archives archives that almost are, and walks along frames, to an end" fuzz pack $archives 15
given can_nbd "no nbdkit, or built without libnbd" \
    it "takes what $servers NBD servers say, and nothing that they do not" fuzz nbd $servers 5
it "takes $answers answers of SCSI, NVMe and zoned disks, and stays within bounds" fuzz answers $answers 15

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
    finds answers src/scsi/scsi_ask.c '/^vpd_page/,/^}/s/return len < r.moved ? len : r.moved/return len/;s/page\[64\]/page[16]/'
it "finds a zone that is written before it begins" \
    finds answers src/file/zones.c '/one.next < one.start/s/one.next < one.start || //'
it "finds sizes that are changed behind the ranges of a block map" \
    finds bmap src/digest/bmap.c 's/bmap_refuse(r, "its sizes come after its ranges")/(void)r/'
given can_nbd "no nbdkit" it "finds a read that is believed though nothing came" \
    finds nbd src/net/nbd_link.c 's/call->len ? 0 : EPROTO/call->len ? 0 : 0/'
