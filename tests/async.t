#!/usr/bin/env bash
# The asynchronous engine copies what the other one copies, and one can tell which
# of them is at work.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

a="" b=""
disks()
{
	truncate -s "$1" a.img b.img && loop a.img --sector-size "${2:-512}" && a=$dev &&
	    loop b.img --sector-size "${3:-512}" && b=$dev && "$blocks" make "$a" "$1" 1 && "$blocks" make "$b" "$1" 9
}
planned()
{
	[[ $("$pardd" -dv "${@:2}") = *"engine=$1 ("* ]] || fail "not planned: $1"
}

# ------------------------------------------------------------ which engine

files()
{
	"$blocks" make src 16M && planned threads if=src of=dst &&
	    planned async if=src of=dst iflag=direct oflag=direct && planned async if=src of=dst engine=async &&
	    planned async if=src of=dst qd=3 && planned threads if=src of=dst iflag=direct oflag=direct thr=4 &&
	    planned threads if=src of=dst iflag=direct oflag=direct count=4k &&
	    planned threads if=src of=dst iflag=direct oflag=direct engine=threads
}
it "is the default for long copies past the page cache, without thr=" files
uncached()
{
	[[ $(stat -f -c %T .) != tmpfs ]] || return 0
	"$blocks" make src 16M && cat src >/dev/null && planned threads if=src of=dst &&
	    sync src && dd if=src iflag=nocache count=0 status=none || return
	[[ $("$blocks" incore src) = 0 ]] || return 0
	planned async if=src of=dst && planned threads if=src of=dst iflag=nocache &&
	    planned threads if=src of=dst iflag=cached && planned threads if=src of=dst engine=threads &&
	    exits 0 "$pardd" if=src of=dst && complete && holds dst 0 0 16M && [[ $("$blocks" incore src) = 0 ]]
}
it "reads a file of which nothing is in the page cache past it" uncached
refusals()
{
	"$blocks" make src 16M && mkfifo pipe && usage 'engine=async.*stream' if=src of=/dev/full engine=async &&
	    usage 'qd=.*stream' if=src of=/dev/full qd=4 &&
	    usage 'engine=async.*rescue' if=src of=dst map=map engine=async &&
	    usage qd= if=src of=dst qd=129 && usage engine= if=src of=dst engine=fast && [[ ! -e dst && ! -e map ]]
}
it "says why where it cannot be" refusals
without()
{
	"$blocks" make src 16M &&
	    exits 0 "$tools/noring" setup "$1" "$pardd" if=src of=dst engine=async verbose=1 "${@:2}" &&
	    complete && says "no io_uring.*: using 4 threads" && holds dst 0 0 16M &&
	    exits 0 "$tools/noring" setup "$1" "$pardd" if=src of=dst engine=async &&
	    complete && does_not_say io_uring
}
it "leaves it to threads where the kernel has no io_uring" without ENOSYS
it "leaves it to threads where the kernel forbids it" without EPERM
it "leaves it to as many as mem= has room for" without ENOSYS thr=16 mem=2M bpt=1k
# The ring can be made, but its operations are not there.
broken()
{
	"$blocks" make src 16M && exits 51 "$tools/noring" "$1" EPERM "$pardd" if=src of=dst engine=async "${@:2}" &&
	    says '^pardd: NOT complete: io_uring: ' && does_not_say '^pardd: complete'
}
it "stops when the ring cannot be begun" broken register
it "stops when the ring fails" broken enter
it "stops when the ring fails, digests and all" broken enter hash=md5 thr=4
it "asks nothing of the ring for ends that do without" eval \
    'exits 0 "$tools/noring" enter KILL "$pardd" iflag=00 of=. engine=async bpt=1 count=3000 && complete'

# ------------------------------------------------------------ what it copies

file()
{
	"$blocks" make src "$1" && "$blocks" make dst 3000000 9 &&
	    exits 0 "$pardd" if=src of=dst engine=async "${@:2}" && complete && holds dst 0 0 "$1"
}
it "copies a file with an odd tail" file 12345678
it "copies a file of one byte" file 1
it "copies a file in single blocks" file 1000001 bpt=1 qd=128
it "copies past the page cache, odd tail and all" file 12345678 iflag=direct oflag=direct
it "copies with sixteen workers" file 33333333 thr=16 bpt=16
it "copies through the page cache with all in it left" file 22222222 iflag=cached oflag=cached
it "copies one at a time" file 5000000 qd=1
it "copies in a transfer that is larger than mem=" file 9000000 bs=4M bpt=1 mem=1M
nothing()
{
	: >src && exits 0 "$pardd" if=src of=dst engine=async && complete && size_is dst 0
}
it "copies an empty file" nothing
holes()
{
	truncate -s 40M src && "$blocks" make piece 1000000 &&
	    dd if=piece of=src bs=1M seek=7 conv=notrunc status=none &&
	    dd if=piece of=src bs=4096 seek=5001 conv=notrunc status=none && "$blocks" make dst 50M 9 && cp src old &&
	    exits 0 "$pardd" if=src of=dst engine=async "$@" && complete &&
	    cmp -n $((40 << 20)) src dst && holds dst 40M 40M 10M 9 && (($(stat -c %b dst) * 512 < 30 << 20)) &&
	    exits 0 "$pardd" if=src of=new engine=async "$@" && complete && cmp src new &&
	    (($(stat -c %b new) * 512 < 5 << 20))
}
it "keeps holes" holes
it "keeps holes past the page cache" holes iflag=direct oflag=direct
it "makes holes of zeros" holes oflag=sparse thr=3 bpt=3
made()
{
	exits 0 "$pardd" iflag=00 of=dst bs=1M count=20 engine=async && complete &&
	    size_is dst $((20 << 20)) && "$blocks" zero dst 0 20M &&
	    exits 0 "$pardd" if=dst of=. engine=async && says '^20480\+0 records|^40960\+0 records' &&
	    exits 0 "$pardd" iflag=random of=dst bs=1M count=3 engine=async && complete
}
it "writes what is generated, and reads into nothing" made
part()
{
	"$blocks" make src 12M && "$blocks" make dst 12M 9 &&
	    exits 0 "$pardd" if=src of=dst engine=async skip="$1" seek="$2" count="$3" &&
	    complete && holds dst 0 0 $(($2 * 512)) 9 && holds dst $(($2 * 512)) $(($1 * 512)) $(($3 * 512)) &&
	    holds dst $((($2 + $3) * 512)) $((($2 + $3) * 512)) $(((24576 - $2 - $3) * 512)) 9
}
it "copies a part, to its place" part 1001 3 20000
many()
{
	local i n seed=$RANDOM
	"$blocks" make src 8M || return
	for ((i = 0; i < n_many; i++)); do
		RANDOM=$((seed + i))
		n=$((RANDOM * 200 + RANDOM))
		part_of=$((n < 8000000 ? n : 8000000))
		rm -f dst
		exits 0 "$pardd" if=src of=dst engine=async bs=1 \
		    skip=$((RANDOM % 5000)) seek=$((RANDOM % 5000)) count=$part_of \
		    bpt=$((RANDOM * 8 + 1)) thr=$((RANDOM % 16 + 1)) qd=$((RANDOM % 20 + 1)) ||
		    fail "seed $((seed + i))" || return
		RANDOM=$((seed + i))
		: $((RANDOM + RANDOM))
		at=$((RANDOM % 5000))
		to=$((RANDOM % 5000))
		holds dst "$to" "$at" "$part_of" || fail "seed $((seed + i))" || return
	done
}
n_many=$(heavy ${LONG:+20}20)
it "is exact in $n_many random configurations" many
memory()
{
	local set words
	truncate -s 300M src || return
	for set in "30 mem=16M qd=8" "30 mem=16M thr=16" "30 mem=16M" "80 qd=32"; do
		read -ra words <<<"$set"
		exits 0 "$tools/ends" ended "$pardd" if=src of=dst engine=async "${words[@]:1}" || return
		peak=$(awk '/rss/ { print $4 }' ended)
		((peak < words[0] * 1024)) || fail "$set: $peak KiB" || return
	done
	usage qd= if=src of=dst engine=async mem=16M qd=64 bpt=2k
}
# The same where the target is read, too.
more_memory()
{
	"$blocks" make src 60M && "$blocks" make dst 60M && exits 0 "$tools/ends" ended "$@" &&
	    peak=$(awk '/rss/ { print $4 }' ended) || return
	((peak < 24 << 10)) || fail "$peak KiB"
}
if [[ $VARIANT = plain ]]; then
	set -- "$pardd" if=src of=dst mem=16M thr=16
	it "keeps within mem=" memory
	it "keeps within mem= with verify=1" more_memory "$@" verify=1
	it "keeps within mem= with verify=1 after a queue" more_memory "$@" verify=1 engine=async
fi

# ------------------------------------------------------------ devices

device()
{
	disks 24M "$1" "$2" && planned async if="$a" of="$b" &&
	    exits 0 "$pardd" if="$a" of="$b" "${@:3}" && complete && holds "$b" 0 0 24M 1
}
image()
{
	disks 24M && sync "$a" a.img && planned async if="$a" of=img && planned async if=a.img of="$b" &&
	    planned threads if="$a" of=img iflag=cached && planned threads if=/dev/zero of=img bs=1M count=20 &&
	    exits 0 "$pardd" if="$a" of=img && complete && holds img 0 0 24M 1 &&
	    exits 0 "$pardd" if=img of="$b" && complete && holds "$b" 0 0 24M 1
}
# A read that failed is isolated while others are in flight.
bytes=$((24 << 20))
bad=410112+512,2097152+1536,20971520+512
lose()
{
	bad_disk $bytes $bad && truncate -s $bytes b.img && a=$dev && loop b.img && b=$dev &&
	    "$blocks" make "$b" $bytes 9 && planned async if="$a" of="$b" "$@" &&
	    exits 100 "$pardd" if="$a" of="$b" coe=1 "$@" &&
	    [[ $(tail -n 1 err) = "pardd: NOT complete: 5 unreadable blocks in 3 ranges"* ]] &&
	    holds -z $bad "$b" 0 0 $bytes
}
stop()
{
	bad_disk $bytes $bad && exits 3 "$pardd" if="$dev" of=dst engine=async "$@" &&
	    does_not_say '^pardd: complete' && holds dst 0 0 410112
}
full()
{
	disks 24M && "$blocks" make src 24M && mkdir mnt && undo umount "$PWD/mnt" &&
	    mount -t tmpfs -o size=30M tmpfs mnt && "$blocks" make mnt/other 20M &&
	    exits 78 "$pardd" if="$a" of=mnt/dst engine=async force=room && does_not_say '^pardd: complete'
}
# The first of it has been written.
reached()
{
	(($(stat -c %b "$1") > 0))
}
# A disk that does not answer for a while, as an SSD that collects garbage.
stalls()
{
	local pid
	truncate -s 64M "stalls.$$" && mkdir mnt && "$tools/simdisk" -w 50e6 "stalls.$$" mnt || return
	undo umount -l "$PWD/mnt"
	pid=$(grep -ls "[s]talls.$$" /proc/[0-9]*/cmdline)
	pid=${pid//[!0-9]/}
	[[ -n $pid ]] && "$blocks" make src 64M || return
	loop mnt/disk --direct-io=on && a=$dev || return
	(until_true 20 reached "stalls.$$"; kill -STOP "$pid"; sleep "$1"; kill -CONT "$pid") &
	exits 0 "$pardd" if=src of="$a" iflag=direct verbose=1 && complete &&
	    says 'were in flight' && holds "$a" 0 0 64M && wait &&
	    awk -v least="$1" '/copied/ { if ($(NF - 3) < least) exit 1 }' err
}
# fails_at N ERROR: the ring does while a disk has writes to answer, each in a
# second; there is a copy of the disk when the program has ended in back.then
fails_at()
{
	truncate -s 16M back && "$blocks" make src 16M && mkdir mnt || return
	undo umount -l "$PWD/mnt"
	nbdfuse mnt/disk --command nbdkit -s --exit-with-parent --filter=delay \
	    file back wdelay=1 </dev/null >fuse 2>&1 &
	until_true 30 test -s mnt/disk && loop mnt/disk --direct-io=on &&
	    exits 51 "$tools/noring" "enter:$1" EPERM "$pardd" if=src of="$dev" engine=async sync=0 &&
	    cp back back.then && says "^pardd: NOT complete: $2: Operation not permitted"
}
drained()
{
	fails_at '3!' io_uring && sleep 2 && same back back.then
}
# Only the first write fails for lack of memory.
no_memory()
{
	"$blocks" make src 16M && truncate -s 16M back && mkdir mnt || return
	undo umount -l "$PWD/mnt"
	# shellcheck disable=SC2016
	nbdfuse mnt/disk --command nbdkit -s --exit-with-parent eval get_size='echo 16777216' can_write='exit 0' \
	    pread="dd if=$PWD/back"' skip=$4 count=$3 iflag=skip_bytes,count_bytes bs=1M status=none' \
	    pwrite="[ -e $PWD/once ] || { touch $PWD/once; echo ENOMEM >&2; exit 1; }
		dd of=$PWD/back"' seek=$4 oflag=seek_bytes conv=notrunc iflag=fullblock bs=1M status=none' \
	    </dev/null >fuse 2>&1 &
	until_true 30 test -s mnt/disk && loop mnt/disk --direct-io=on &&
	    exits 0 "$pardd" if=src of="$dev" engine=async && complete && [[ -e once ]] && same src back
}
if able can_loop "no loop devices"; then
	it "clones a disk" device 512 512
	it "clones a disk of 4096 to one of 512" device 4096 512
	it "clones a disk of 512 to one of 4096" device 512 4096
	it "makes an image of a disk, and a disk of an image" image
	it "clones a disk with four workers" device 512 512 engine=async thr=4
	it "clones a disk in small requests" device 512 512 bpt=9 qd=128
	it "stops where the target is full" full
	given '[[ -c /dev/fuse ]]' "no /dev/fuse" it "waits for a disk that stalls" stalls "$((${LONG:-0} ? 5 : 2))"
	if able can_lose "no nbdfuse"; then
		it "waits for what is in flight when the ring fails" drained
		it "says what it could not wait for" fails_at 3 'io_uring, with [1-9] requests still under way'
		it "does what the kernel had no memory for once more" no_memory
		it "loses exactly the bad sectors" lose
		it "loses exactly the bad sectors with four workers" lose engine=async thr=4 qd=2
		it "loses exactly the bad sectors in small requests" lose bpt=7
		it "stops at the first bad sector with all before it" stop
		it "stops there with one request at a time too" stop qd=1 bpt=64
	fi
fi
