#!/usr/bin/env bash
# compare=1 tells where two ends differ, and writes nothing.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

schema=$(<"$top/tests/tools/schema.jq")

compare()
{
	exits "$1" "$pardd" if=a of=b compare=1 json=json "${@:2}"
}

# json describes the run as stderr does.  One jq for all, because each takes
# its time to start.
valid()
{
	local n
	jq -sr "def valid: $schema; if valid then last.mismatch | length,
	    (.[] | \"\(.offset) \(.offset + .length - 1)\") else empty end" json >differ || { cat json; return 1; }
	{ read -r n && ((n > 16)); } <differ ||
	    diff <(sed -n 's/^pardd: differs: bytes \([0-9]*\) to \([0-9]*\) .*/\1 \2/p' err) <(tail -n +2 differ)
}

# differing: the ranges of json, as FROM+LENGTH
differing()
{
	jq -sr 'last.mismatch | map("\(.offset)+\(.length)") | join(",")' json
}

# spoil FILE OFFSET...: another byte there
spoil()
{
	local at file=$1
	for at in "${@:2}"; do
		printf '\xff\x00' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	done
}

same_at_all_sizes()
{
	local size
	for size in 0 1 511 512 4097 1048577 3000001; do
		"$blocks" make a $size && cp a b && compare 0 "$@" && valid &&
		    [[ $(tail -n 1 err) = "pardd: complete, nothing differs" ]] &&
		    says "^$((size / 512))\+[01] records in$" && says '^0\+0 records out$' || return
	done
}
for thr in $(few 1 2 4 16); do
	it "finds that equal files do not differ, thr=$thr" same_at_all_sizes thr="$thr"
done
it "finds so in small transfers" same_at_all_sizes bs=512 bpt=3 thr=5
every_place()
{
	local at
	"$blocks" make a 3000001
	for at in 0 1 511 512 1048575 1048576 2097151 2999998 2999999; do
		cp a b && spoil b $at && compare 14 "$@" && valid &&
		    has_only $((at / 512 * 512)) $(((at + 1) / 512 * 512)) || return
	done
}
# the block of one offset, or those of two that adjoin
has_only()
{
	local from=$1 to=$(($2 + 512))
	((to <= 3000001)) || to=3000001
	[[ $(differing) = "$from+$((to - from))" ]] || fail "$(differing), not $from to $to"
}
for thr in $(few 1 4 16); do
	it "finds a byte that differs, wherever it is, thr=$thr" every_place thr="$thr"
done
merged()
{
	"$blocks" make a 3M && cp a b && spoil b 1000000 1000500 1001000 2000000 0 &&
	    compare 14 thr=16 bs=512 bpt=1 && valid && [[ $(differing) = 0+512,999936+1536,1999872+512 ]] &&
	    says 'NOT the same: 2560 bytes in 3 ranges differ' || fail "$(differing)"
}
only plain asan
it "tells ranges in order, and those that touch as one" merged
many()
{
	local list
	"$blocks" make a 3M && cp a b && mapfile -t list < <(seq 0 65536 3000000) &&
	    spoil b "${list[@]}" && compare 14 && valid &&
	    [[ $(grep -c 'differs: bytes' err) = 16 ]] && says 'and 30 more ranges' &&
	    [[ $(jq -s 'last.mismatch | length' json) = 46 ]]
}
it "shows 16 ranges, and tells programs all" many
all()
{
	"$blocks" make a 3M && "$blocks" make b 3M 7 && compare 14 && valid && [[ $(differing) = 0+3145728 ]]
}
it "tells two different files as one range" all
part()
{
	"$blocks" make a 3M && cp a b && spoil b 0 100000 3000000 &&
	    compare 0 bs=512 skip=200 seek=200 count=5000 && says '^5000\+0 records in$' &&
	    dd if=a of=b bs=512 skip=7 conv=notrunc status=none && compare 0 bs=512 skip=7 count=6000 &&
	    spoil b 51200 && compare 14 bs=512 skip=7 count=6000 && valid &&
	    says 'differs: bytes 54784 to 55295 of a, 51200 to 51711 of b' && cp a b && spoil b 51200 &&
	    compare 14 iflag=skip_bytes oflag=seek_bytes skip=100 seek=100 && says 'differs: bytes 51200 to 51711 of a'
}
it "compares a part" part
long_names()
{
	local a=the-first-of-two-files-with-long-names b=the-second-of-two-files-with-long-names
	"$blocks" make $a 1M && cp $a $b && spoil $b 5000 50000 && exits 14 "$pardd" if=$a of=$b compare=1 &&
	    says "differs: bytes 4608 to 5119 of $a, 4608 to 5119 of $b\$" &&
	    says 'differs: bytes 49664 to 50175 of the source, 49664 to 50175 of the target$'
}
it "tells long names once" long_names
longer()
{
	"$blocks" make a 3M && head -c "$1" a >b && compare 14 && valid &&
	    says "NOT the same: a has 3145728 bytes, b $1; the first $1 bytes are the same: $2 compares those$" &&
	    compare 0 "$(sed -n 's/.*same: \(count=[^ ]*\).*/\1/p' err)" ${3:+"$3"} && compare 14 &&
	    mv a c && mv b a && mv c b && compare 14 && says "same: b has 3145728 bytes, a $1;" &&
	    spoil a 5 && compare 14 && says '512 bytes in 1 range differ, and b is longer$'
}
it "calls files of two sizes different, and compares what both have" \
    longer 3000000 'count=3000000 iflag=count_bytes' iflag=count_bytes
it "does so where one ends with a transfer" longer 2097152 count=4096
longer_part()
{
	"$blocks" make a 3M && head -c 2M a >b && compare 14 skip=4 seek=4 bs=512 &&
	    says 'b 2097152; the 2095104 bytes are the same: count=4092 compares those$' &&
	    compare 0 skip=4 seek=4 bs=512 count=4092 && dd if=a of=b bs=512 skip=4 status=none && compare 0 skip=4 bs=512 &&
	    mv a c && mv b a && mv c b && compare 0 seek=4 bs=512 && compare 14 seek=3 bs=512 count=1 && compare 14 && says 'b is longer'
}
it "tells how much is the same of what does not begin with the ends" longer_part
empty()
{
	: >a && : >b && compare 0 && echo >a && compare 14 && says 'a is longer, and the other is empty$' &&
	    mv a c && mv b a && mv c b && compare 14 && says 'b is longer, and the other is empty$'
}
it "calls an empty file another than one with a byte" empty
beyond()
{
	"$blocks" make a 1M && cp a b && compare 101 bs=1 seek=2000000 && one_line 'seek=' &&
	    compare 101 bs=512 count=3000 && one_line 'count=3000 .* past the end of a at 1048576'
}
it "refuses to compare past the end" beyond
stays()
{
	local before
	"$blocks" make a 3M && cp a b && spoil b 0 && touch -d 2001-01-01 b &&
	    before=$(stat -c '%s %Y %Z' b) && compare 14 && [[ $before = "$(stat -c '%s %Y %Z' b)" ]]
}
it "does not touch what it reads" stays
it "does not create what is missing" eval '"$blocks" make a 1k && compare 52 && one_line b && [[ ! -e b ]]'
it "may compare a file with itself" eval '"$blocks" make a 3M && exits 0 "$pardd" if=a of=a compare=1'
dry()
{
	"$blocks" make a 1M && cp a b && exits 0 "$pardd" -dv if=a of=b compare=1 && grep -qx compare=1 out &&
	    exits 0 "$pardd" -dv if=a of=b compare=1 map=map && ! grep 'map_\|rescue' out && [[ ! -e map ]]
}
it "has it in the plan" dry

# ---------------------------------------------------------------------- streams

from_pipe()
{
	"$blocks" make a 3000001 && cp a b && exits 0 "$pardd" of=b compare=1 thr="$1" < <(cat a) &&
	    spoil b 2222222 && exits 14 "$pardd" of=b compare=1 thr="$1" json=json < <(cat a) &&
	    [[ $(differing) = 2222080+512 ]] && valid && cp a b && head -c 2000000 a >c &&
	    exits 14 "$pardd" of=b compare=1 thr="$1" < <(cat c) && says 'b is longer' &&
	    exits 14 "$pardd" of=c compare=1 thr="$1" < <(cat a) && says 'standard input is longer' &&
	    head -c 2097152 a >c && exits 14 "$pardd" of=b compare=1 thr="$1" < <(cat c) && says 'b is longer' &&
	    exits 14 "$pardd" of=c compare=1 thr="$1" < <(cat a) && says 'standard input is longer' &&
	    exits 0 "$pardd" of=c compare=1 bs=512 count=4000 thr="$1" < <(cat a) &&
	    exits 102 "$pardd" of=b compare=1 bs=512 count=5000 thr="$1" < <(cat c)
}
only all
for thr in $(few 1 4 16); do
	it "compares what comes from a pipe, thr=$thr" from_pipe "$thr"
done
two_pipes()
{
	"$blocks" make a 3000001 && mkfifo b || return
	cat a >b &
	exits 0 "$pardd" of=b compare=1 thr="$1" < <(cat a) || return
	head -c 2500000 a >b &
	exits 14 "$pardd" of=b compare=1 thr="$1" < <(cat a) && says 'standard input is longer' || return
	cat a >b &
	exits 14 "$pardd" of=b compare=1 thr="$1" < <(head -c 2097152 a) && says 'b is longer' || return
	cat a >b &
	exits 0 "$pardd" if=a of=b compare=1 thr="$1"
}
# One that ends before skip= is reached, or cannot be read where it is.
pipe_fails()
{
	"$blocks" make a 3M && cp a b && exits 102 "$pardd" of=b compare=1 bs=512 skip=9000 < <(cat a) &&
	    says '^pardd: NOT complete: standard input ends before skip= or seek=$' && mkfifo f && { cat a >f & } &&
	    exits 3 with_faults "on=$PWD/f op=read at=1048576+ fail=EIO times=1" "$pardd" if=f of=b compare=1 coe=1 retries=9 &&
	    faulty read && says '^pardd: NOT complete: f: ' && [[ $(grep -c ^read faults) = 1 ]] && wait && { cat a >f & } &&
	    exits 3 with_faults "on=$PWD/f op=read at=3145728+ fail=EIO" "$pardd" if=f of=b compare=1 && faulty read && wait
}
it "stops at a pipe that ends early, or fails" pipe_fails
it "compares two pipes, thr=1" two_pipes 1
it "compares two pipes, thr=16" two_pipes 16
zeros()
{
	truncate -s 3000001 b && exits 0 "$pardd" iflag=00 of=b compare=1 && spoil b 2999999 &&
	    exits 14 "$pardd" iflag=00 of=b compare=1 json=json && [[ $(differing) = 2999808+193 ]] &&
	    exits 14 "$pardd" if=/dev/zero of=b compare=1 &&
	    exits 0 "$pardd" of=/dev/zero compare=1 < <(head -c 5000 /dev/zero)
}
only plain asan
it "tells whether a file is all zeros" zeros

# ------------------------------------------------------------------------- holes

# It would take minutes if the holes were not skipped.
large()
{
	truncate -s 1T a b && compare 0 && says '^1099511627776 bytes .* compared' &&
	    spoil b 1099511627774 && compare 14 && [[ $(differing) = 1099511627264+512 ]] &&
	    spoil a 549755813888 && compare 14 && valid && [[ $(differing) = 549755813888+512,1099511627264+512 ]] &&
	    spoil b 549755813888 && compare 14 skip=1 seek=1 bs=4096 thr=16 && [[ $(differing) = 1099511627264+512 ]]
}
it "compares 1 TiB of holes with one byte that differs at the end" large
holes()
{
	"$blocks" make a 3M && cp a b && fallocate -p -o 1M -l 64k a && compare 14 &&
	    [[ $(differing) = 1048576+65536 ]] && fallocate -z -o 1M -l 64k b && compare 0 &&
	    fallocate -p -o 0 -l 1M a && fallocate -p -o 64k -l 1M b && compare 14 && valid &&
	    [[ $(differing) = 0+65536 ]] || fail "$(differing)"
}
it "takes a hole for zeros" holes

# ------------------------------------------------------------------ the map of it

domain()
{
	"$blocks" make a 3M && cp a b && spoil b 5000 1000000 3000000 && compare 14 map=map &&
	    exits 0 "$pardd" if=a of=b map=other domain=map && says '^3\+0 records in$' && same a b &&
	    rm map && compare 0 map=map && [[ $(awk '!/^#/ && $3 == "+"' map) = "" ]]
}
it "writes a map that a copy takes for its domain" domain
no_map()
{
	"$blocks" make a 3M && cp a b && spoil b 5000 && compare 14 map=map && cp b old &&
	    refused 'map was written by compare=1, .* it is for domain=$' if=a of=b map=map && same b old
}
it "... and not for its map, by which what differs would be finished" no_map
positions()
{
	"$blocks" make a 3M && dd if=a of=b bs=512 skip=100 status=none && spoil b 51200 &&
	    compare 14 bs=512 skip=100 map=map &&
	    [[ $(awk '!/^#/ && $3 == "+" { print $1, $2 }' map | tail -n 1) = "0x00019000  0x00000200" ||
		$(awk '!/^#/ && $3 == "+" { print $1, $2 }' map | tail -n 1) = "0x00019000 0x00000200" ]]
}
it "tells positions of the source in it" positions
keeps()
{
	"$blocks" make a 1M && cp a b && echo mine >"$1" && compare 101 map=map &&
	    one_line 'already exists' && [[ $(<"$1") = mine ]] && { [[ $1 = map ]] || [[ ! -e map ]]; } &&
	    mv err was && compare 101 map=map -d && same err was && [[ ! -s out ]]
}
map_of_itself()
{
	"$blocks" make a 1M && cp a b && spoil b 5 && cp b c && compare 101 map=b && one_line 'b is an end of the copy' && same b c
}
it "takes no end for its map" map_of_itself
it "does not replace a map" keeps map
it "does not replace the map before a map" keeps map.bak
it "is not disturbed by what one that was killed has left" eval \
    '"$blocks" make a 3M && cp a b && spoil b 4096 && echo torn >map.pardd.tmp && compare 14 map=map &&
    [[ -s map && ! -e map.pardd.tmp ]]'
unfinished()
{
	"$blocks" make a 3M && cp a b &&
	    exits 3 with_faults "on=$PWD/b op=read at=2000000+1 fail=EIO" "$pardd" if=a of=b compare=1 map=map &&
	    [[ ! -e map ]]
}
it "writes no map of a comparison that was not finished" unfinished

# ------------------------------------------------------------------------- errors

unreadable()
{
	"$blocks" make a 3M && cp a b && spoil b 100 &&
	    exits 3 with_faults "on=$PWD/$1 op=read at=2000384+512 fail=EIO" "$pardd" if=a of=b compare=1 &&
	    faulty read && says "NOT complete: $1: reading at byte 2000384" &&
	    exits 14 with_faults "on=$PWD/$1 op=read at=2000384+512 fail=EIO" \
		"$pardd" if=a of=b compare=1 coe=1 json=json && valid && [[ $(differing) = 0+512 ]] &&
	    has_lost && cp a b && exits 100 with_faults "on=$PWD/$1 op=read at=2000384+512 fail=EIO" \
		"$pardd" if=a of=b compare=1 coe=1 json=json && has_lost &&
	    exits 0 with_faults "on=$PWD/$1 op=read at=2000384+512 fail=EIO times=4" \
		"$pardd" if=a of=b compare=1 retries=4
}
has_lost()
{
	jq -es 'last.unreadable == [{"offset": 2000384, "length": 512}]' json >/dev/null || fail "$(tail -n 1 json)"
}
it "stops at a block of the source that cannot be read, or leaves it out" unreadable a
it "stops at a block of the other end that cannot be read, or leaves it out" unreadable b
# What could not be read was not compared, even where the ends differ in length.
lost_and_longer()
{
	"$blocks" make a 3M && cp a b && echo more >>"$1" &&
	    exits 14 with_faults "on=$PWD/a op=read at=2000384+512 fail=EIO" \
		"$pardd" if=a of=b compare=1 coe=1 json=json && valid && has_lost &&
	    says "^pardd: NOT the same: $1 is longer; the 3145216 bytes that could be \
compared are the same$" && says '^3145216 bytes .* compared' && says '^6143\+0 records in$' &&
	    jq -es 'last.bytes_verified == 3145216 and last.bytes_read == 3145216' json >/dev/null
}
it "does not count as compared what could not be read" lost_and_longer a
it "... of which the other end has more" lost_and_longer b
# The first 16 are shown; the map has them all.
lost_in_map()
{
	local at="" i
	for ((i = 1; i <= 20; i++)); do
		at=$at,$((i * 8192))+512
	done
	"$blocks" make a 3M && cp a b && spoil b 5000 8704 &&
	    exits 14 with_faults "on=$PWD/a op=read at=${at#,} fail=EIO" \
		"$pardd" if=a of=b compare=1 coe=1 map=map bs=512 bpt="$1" &&
	    says ': 4 more ranges, see map$' && [[ $("$tools/maps" list map -) = "${at#,}" &&
	    $("$tools/maps" list map +) = 4608+512,8704+512 ]] || fail "$(<map)"
}
lost_without_map()
{
	local at="" i
	for ((i = 1; i <= 20; i++)); do
		at=$at,$((i * 8192))+512
	done
	"$blocks" make a 3M && cp a b &&
	    exits 69 with_faults "on=$PWD/a op=read at=${at#,} fail=EIO;on=$PWD/a op=read \
at=3000320+512 fail=ENODEV" "$pardd" if=a of=b compare=1 coe=1 map=map thr=1 && [[ ! -e map ]] &&
	    does_not_say 'see map' && [[ $(grep -c ': unreadable: ' err) = 20 ]]
}
# dead END: from the 20th read of it on nothing is read any more
dead()
{
	"$blocks" make a 8M && cp a b && exits 69 with_faults "on=$PWD/$1 op=read from=20 fail=EIO" timeout 60 \
	    "$pardd" if=a of=b compare=1 coe=1 bpt=128 thr="$2" && faulty read &&
	    says ": $1: .*: no answer any longer, even for what could be read before" &&
	    (($(grep -c ^read faults) < 400))
}
for thr in $(few 1 4); do
	it "ends soon where the source can be read no more (thr=$thr)" dead a "$thr"
	it "... or the target (thr=$thr)" dead b "$thr"
done
it "tells in the map what could not be read" lost_in_map 2048
it "... in small pieces" lost_in_map 3
it "does not refer to a map that it has not made" lost_without_map
interrupted()
{
	"$blocks" make a 64M && cp a b
	FAULTS="on=$PWD/b op=read sleep=100" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=a of=b compare=1 bs=512 bpt=64 thr=2 json=json map=map 2>err &
	until_true 20 grep -qs '"phase":"comparing"' json
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)"
	wait $!
	ended signal 2 && does_not_say 'complete, nothing' && valid && [[ ! -e map ]]
}
only all
it "says that it was interrupted" interrupted
# Stopped by a signal while the last bytes were being read.
too_late()
{
	"$blocks" make a 64k && cp a b && spoil b 1000
	FAULTS="on=$PWD/b op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=a of=b compare=1 2>err &
	until_true 20 grep -qs waits faults && kill -INT "$(awk '$1 == "pid" { print $2 }' how)" &&
	    heard && touch go && wait $!
	ended signal 2 && [[ $(tail -n 1 err) = "pardd: stopped by SIGINT, after all was compared; \
NOT the same: 512 bytes in 1 range differ" ]]
}
it "tells what differs when it is interrupted at the end" too_late

shrinks()
{
	"$blocks" make a 1M && cp a b || return
	FAULTS="on=$PWD/b op=read at=524288+ until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=a of=b compare=1 bpt=128 2>err &
	until_true 20 grep -qs waits faults && truncate -s 600000 b && : >go &&
	    exited 102 && says '^pardd: NOT complete: b was truncated meanwhile: it has no byte [0-9]+$'
}
it "says that one was truncated meanwhile" shrinks

only plain asan
it "does not compare what has no end without count=" usage 'neither /dev/zero nor /dev/zero has an end: give count=' \
    if=/dev/zero of=/dev/zero compare=1
it "... but with it" exits 0 "$pardd" if=/dev/zero of=/dev/zero compare=1 count=2048

# ------------------------------------------------------------------------ devices

needs '((EUID == 0))' 'losetup -f' -- "no root, or no loop devices"

# A device that cannot be written is compared all the same.
device()
{
	"$blocks" make a.img 8M && cp a.img b.img && spoil b.img 7000000 &&
	    loop a.img --sector-size "$1" && a=$dev && loop b.img --sector-size "$2" --read-only &&
	    exits 14 "$pardd" if="$a" of="$dev" compare=1 json=json &&
	    [[ $(differing) = "$3" ]] && valid && exits 0 "$pardd" if="$a" of="$dev" compare=1 count=100 ||
	    fail "$(differing)"
}
it "compares disks, one of them for reading only" device 512 512 6999552+512
it "compares disks of two sizes of sectors" device 512 4096 6995968+4096
it "compares a disk that is mounted" eval \
    'truncate -s 8M img && loop img && mkfs.ext4 -q "$dev" && mkdir fs && cp img copy &&
    mount -r -o noload "$dev" fs && undo umount "$PWD/fs" && exits 0 "$pardd" if=copy of="$dev" compare=1'
partition()
{
	"$blocks" make a 1M && truncate -s 8M img &&
	    sfdisk -q img <<<$'label: gpt\nstart=2048, size=2048' >/dev/null 2>&1 &&
	    exits 0 "$pardd" if=a of=img opart=1 && exits 0 "$pardd" if=a of=img opart=1 compare=1
}
it "compares with a partition" partition
