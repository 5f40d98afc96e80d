#!/usr/bin/env bash
# The target is held until the copy has ended, and a target that others hold or have
# locked is not touched.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2034,SC2046,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/safety.sh"

# --------------------------------------------------------- held to the end

# A copy onto TARGET waits for the rest of its source; `go` gives it.
# shellcheck disable=SC2094 # a fifo
begin()
{
	mkfifo pipe && mke2fs -q -F -t ext2 fs 1M || return
	"$pardd" if=pipe bs=512 bpt=64 "$@" 2>err &
	copy=$!
	exec 7>pipe
	head -c 300000 fs >&7
	until_true 20 underway
}
underway()
{
	sync "$d" "$p2"
	! cmp -s disk.img before
}
go()
{
	tail -c +300001 fs >&7
	exec 7>&-
	exited 0 "$copy"
}
# As soon as udev has finished looking.
free_again()
{
	until_true 20 "$hold" excl "$1" true && until_true 20 can_mount "$2"
}
keeps()
{
	disk && snapshot && begin of="$p2" "$@" || return
	! can_mount "$p2" || fail "it could be mounted" || return
	! mke2fs -q "$p2" 2>/dev/null || fail "mke2fs did it" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "it could be claimed" || return
	! "$hold" excl "$d" true 2>/dev/null || fail "the disk could be" || return
	! "$hold" lock "$d" true 2>/dev/null || fail "the disk could be locked" || return
	"$hold" excl "$p1" true || fail "the other could not be claimed" || return
	refused 'in use .by another.*force=held' if=src of="$p2" || return
	go && same fs <(tail -c +3670017 disk.img | head -c 1M) && free_again "$d" "$p2" && "$hold" lock "$d" true
}
it "holds its partition to the end, and leaves the other alone" keeps
it "holds it with sync=0" keeps sync=0
it "holds it with conv=sparse" keeps conv=sparse
it "holds it with oflag=excl" keeps oflag=excl
it "holds it with oflag=flock" keeps oflag=flock
it "holds it with oflag=cached" keeps oflag=cached
it "holds it with every override" keeps force=mounted,swap,held,looped,overlap
# reads STATUS COMMAND...: by its name, and as standard input, with iflag=excl
reads()
{
	exits "$1" "${@:2}" "$pardd" if="$p1" iflag=excl of=dst count=8 && exits "$1" "${@:2}" \
	    sh -c 'exec "$0" iflag=excl of=dst count=8 <"$1"' "$pardd" "$p1"
}
sources()
{
	disk && reads 66 "$hold" excl "$p1" && one_line 'standard input: Device or resource busy' && reads 0
}
it "reads none that others hold with iflag=excl" sources
by_disk()
{
	disk && snapshot && begin of="$d" "$@" || return
	! "$hold" excl "$d" true 2>/dev/null || fail "the disk could be claimed" || return
	! can_mount "$p2" || fail "it could be mounted" || return
}
it "holds the partition that a range of the disk lies in" eval \
    'by_disk seek=7168 count=2048 && "$hold" excl "$p1" true && go && free_again "$d" "$p2"'
it "holds the disk when its head is written" eval \
    'by_disk && ! "$hold" excl "$p1" true 2>/dev/null && go && free_again "$d" "$d" && "$hold" excl "$p1" true'
rest()
{
	disk && "$1" "$p1" && snapshot && begin of="$d" force="$name" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "the other could be claimed" || return
	go
}
it "holds what is not in use of a disk whose mount is passed over" rest mounted
it "holds a disk under a loop device that is passed over" rest looped
keeps_below()
{
	disk && loop "$p2" && snapshot && begin of="$dev" || return
	! can_mount "$p2" || fail "it could be mounted" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "it could be claimed" || return
	go && same fs <(tail -c +3670017 disk.img | head -c 1M)
}
it "holds what the loop device lies on" keeps_below
let_go()
{
	disk && mounted "$p1" && snapshot && refused mounted if=src of="$d" && "$hold" excl "$p2" true &&
	    exits 0 "$pardd" if=src of="$p2" && "$hold" excl "$p2" true &&
	    exits 0 "$pardd" if=src of="$p2" -dv && "$hold" excl "$p2" true
}
it "lets go after a refusal, a copy and a --dry-run" let_go
interrupted()
{
	disk && snapshot && begin of="$p2" || return
	kill -TERM "$copy"
	exited 143 "$copy" && "$hold" excl "$p2" true
}
it "lets go when it is ended by a signal" interrupted

# ------------------------------------------------------------------ the lock

locked()
{
	disk && snapshot && hold_by lock "$d" "$1"
}
# hold_by HOW NODE SECONDS
hold_by()
{
	"$hold" "$1" "$2" sh -c ": >there; exec sleep $3" &
	until_true 20 test -e there
}
is_locked()
{
	locked 1000 && refused 'is locked .flock.*force=held writes anyway\)$' if=src of="$p2" &&
	    refused 'force=held' if=src of="$d" force="$(other_words held)" && as_it_was && taken 0 of="$d" force=held
}
it "refuses a disk that another program has locked" is_locked
part_locked()
{
	disk && snapshot && hold_by lock "$p2" 1000 || return
	local op to
	for op in "of=$p2" "of=$d bs=512 seek=7168" "of=$d"; do
		read -ra to <<<"$op"
		refused 'p2 is locked .flock.*force=held writes anyway\)$' if=src "${to[@]}" \
			force="$(other_words held)" || return
	done
	as_it_was && taken 1048576 of="$p1" && taken 3670016 of="$p2" force=held
}
it "refuses a partition that another program has locked, and its disk" part_locked
below_locked()
{
	disk && loop "$p2" && snapshot && hold_by lock "$p2" 1000 &&
	    refused 'p2 is locked .flock.*force=held writes anyway\)$' if=src of="$dev" && as_it_was
}
it "... and a loop device on it" below_locked
it "... but waits for one who looks at it" eval 'disk && snapshot && hold_by lock "$p2" 0.5 && taken 3670016 of="$p2"'
# As QEMU locks an image, or a disk, that a guest has.
ranges_locked()
{
	disk && snapshot && hold_by range "$p2" 1000 || return
	refused 'p2 is held by a lock of another program.*force=held writes anyway\)$' if=src of="$p2" \
		force="$(other_words held)" &&
	    refused 'p2 is held by a lock' if=src of="$d" bs=512 seek=7168 &&
	    refused 'p2 is held by a lock' if=src of="$d" &&
	    as_it_was && taken 1048576 of="$p1" && taken 3670016 of="$p2" force=held || return
	"$hold" range "$d" sh -c ': >too && exec sleep 1000' &
	until_true 20 test -e too && snapshot &&
	    refused "$p1: ${d#/dev/} is held by a lock" if=src of="$p1" && as_it_was
}
it "refuses a partition of which a range is locked" ranges_locked
process_locked()
{
	disk && snapshot && hold_by record "$p2" 1000 &&
	    refused "p2 is held by a lock of process $!.*force=held writes anyway\)\$" if=src of="$p2" &&
	    refused 'p2 is held by a lock' if=src of="$d" && as_it_was && taken 3670016 of="$p2" force=held
}
it "... by a process that can be named" process_locked
# As with libvirt: a guest has its own nodes, and a lock belongs to an inode.
node_locked()
{
	disk && mknod node b $(stat -c '0x%t 0x%T' "$p2") && snapshot && hold_by range node 1000 || return
	refused "the disk is held by a lock of process $!.*force=held writes anyway\)\$" if=src of="$p2" \
		force="$(other_words held)" &&
	    refused 'is held by a lock' if=src of="$d" && as_it_was &&
	    taken 1048576 of="$p1" && taken 3670016 of="$p2" force=held
}
disk_locked()
{
	disk && mknod node b $(stat -c '0x%t 0x%T' "$d") && hold_by range node 1000 && snapshot &&
	    refused 'is held by a lock' if=src of="$p1" && as_it_was
}
not_idle()
{
	disk && mke2fs -qF "$p2" && exits 0 "$pardd" if="$p2" of=part used=only && does_not_say 'a lock' &&
	    mknod node b $(stat -c '0x%t 0x%T' "$p2") && hold_by range node 1000 &&
	    exits 0 "$pardd" if="$p2" of=copy used=only && says "a lock of process $! is on it" && cmp "$p2" copy
}
it "refuses a partition that is locked by another node of it" node_locked
it "... or its disk is" disk_locked
# Each look-up in turn fails for want of a descriptor, among few processes.
each_open_fails()
{
	disk && mknod node b $(stat -c '0x%t 0x%T' "$p2") && snapshot || return
	unshare --fork --pid --mount-proc "$hold" range node bash -c '
		for ((n = 1, more = 1; more; n++)); do
			: >faults
			FAULTS="op=open nth=$n fail=EMFILE" FAULT_LOG=faults LD_PRELOAD=$1 "$2" if=src of="$3" 2>err && exit 1
			more=$(grep -c . faults)
		done; echo $n >tries' - "$shim" "$pardd" "$p2" || fail "copied, when call $(<faults) failed" || return
	as_it_was && (($(<tries) > 50))
}
given 'unshare --fork --pid --mount-proc true' "no mounts of one's own" it "... though what looks for that fails" each_open_fails
it "copies all of a source that is locked by another node of it" not_idle
image_locked()
{
	"$blocks" make src 64k 1 && "$blocks" make img 1M 9 && cp img before && hold_by range img 1000 || return
	local op to
	for op in of=img "of=img oflag=trunc" "of=img oflag=append" "of=img seek=9999"; do
		read -ra to <<<"$op"
		refused 'the file is held by a lock.*force=held writes anyway\)$' if=src "${to[@]}" \
			force="$(other_words held)" || return
	done
	"$pardd" if=src 1<>img 2>err
	status=$? && : >out
	[[ $status = 101 ]] && one_line 'force=held writes anyway\)$' && same img before &&
	    loop img && refused 'its file is held by a lock' if=src of="$dev" &&
	    same img before && exits 0 "$pardd" if=src of=img force=held,looped && holds img 0 0 64k 1
}
it "refuses an image of which a range is locked, by a loop device too" image_locked
locks_unknown()
{
	"$blocks" make src 64k 1 && "$blocks" make img 1M 9 && cp img before || return
	local -x FAULTS="on=$PWD/img op=lock fail=37" LD_PRELOAD=$shim
	refused 'its locks cannot be read: No locks available .force=held writes anyway\)$' if=src of=img force="$(other_words held)" &&
	    same img before && exits 0 "$pardd" if=src of=img force=held
}
it "... or of which that cannot be known" locks_unknown
# fused COMMAND...: an image that the command mounts with FUSE, by its own name
fused()
{
	mkdir m && "$@" img m && undo umount "$PWD/m" && cp img before || return
	refused 'the file is mounted on .*/m; umount it first' if=src of=img \
		force="$(other_words mounted)" && same img before &&
	    ln -s img other && refused 'the file is mounted' if=src of=other && same img before &&
	    exits 0 "$pardd" if=img of=copy used=only && says 'uses img'
}
given '[[ -c /dev/fuse ]] && command -v ntfs-3g mkntfs' "no ntfs-3g" it "refuses an image that FUSE has mounted" eval \
    '"$blocks" make src 64k 1 && truncate -s 8M img && mkntfs -qF img >/dev/null 2>&1 && fused ntfs-3g'
# serves COMMAND...: the command has something open that is in use here
serves()
{
	refused "$by.*force=$name writes anyway\)\$" if=src of="[ $* ]" && as_it_was
}
served()
{
	disk && "$1" "$p2" && snapshot && serves nbdkit -s file "$d" && serves nbdkit -s file "$p2" &&
	    serves sh -c "'nbdkit -s file $d; true'" && taken 1048576 of="[ nbdkit -s file $p1 ]" &&
	    exits 0 "$pardd" if="[ nbdkit -s -r file $d ]" of=copy count=8 || return
	[[ $1 != mounted ]] || exits 0 "$pardd" if=src of="[ nbdkit -s file $d ]" force=mounted seek=128
}
served_at()
{
	disk && mounted "$p2" && snapshot && nbdkit -U "$PWD/sock" -P kit.pid file "$d" &&
	    until_true 20 test -s kit.pid && undo kill "$(<kit.pid)" &&
	    refused "$by" if=src of='nbd+unix:///?socket=sock' && as_it_was
}
served_image()
{
	"$blocks" make src 64k 1 && "$blocks" make disk.img 1M 9 && cp disk.img before && loop disk.img &&
	    refused 'the loop device loop[0-9]+ lies on its file' if=src of='[ nbdkit -s file disk.img ]' && same disk.img before
}
# qemu-nbd has locked what it serves.
served_locked()
{
	disk && snapshot && taken 0 of="[ qemu-nbd -f raw $d ]" && hold_by range "$d" 1000 && snapshot &&
	    name=held by='is held by a lock' && serves nbdkit -s file "$d"
}
if able can_nbd "no nbdkit"; then
	for kind in "${kinds[@]}"; do
		it "$kind partition: refuses to have it written by a server that has it open" served "$kind"
	done
	it "... by its address, too" served_at
	it "refuses an image below a loop device that a server has open" served_image
	given 'command -v qemu-nbd' "no qemu-nbd" \
	    it "takes the locks of the server of a disk for no use of it, but those of others" served_locked
fi
# An earlier copy to bytes 64k to 192k of img, or by $img, half of which is there.
in_copy()
{
	mkfifo p && "$blocks" make src 64k 1 && "$blocks" make more 128k 3 || return
	"$pardd" if=p of="${img-img}" bs=4k bpt=1 seek=16 count=32 >first 2>&1 &
	copy=$!
	exec 5>p && head -c 64k more >&5 && until_true 20 "${1-half}" >/dev/null 2>&1
}
half()
{
	holds img 64k 0 64k 3
}
copied()
{
	tail -c 64k more >&5 && exec 5>&- && wait "$copy" || fail "$(<first)" || return
	holds img 64k 0 128k 3
}
two_copies()
{
	[[ $1 = new ]] || "$blocks" make img 1M 9 || return
	in_copy || return
	local op to
	for op in "of=img seek=383" "of=img seek=1" "of=img oflag=trunc count=1" \
	    "of=other of=img seek=2" "of=img seek=200 -d" "of=img seek=64 force=$(other_words held)"; do
		read -ra to <<<"$op"
		refused 'img: another copy .*force=held writes anyway\)$' if=src \
			"${to[@]}" || return
	done
	[[ ! -e other ]] && exits 0 "$pardd" if=src of=img count=128 && exits 0 "$pardd" if=src of=img seek=384 &&
	    exits 0 "$pardd" if=img of=other && copied && holds img 0 0 64k 1 && holds img 192k 0 64k 1 &&
	    exits 0 "$pardd" if=src of=img seek=128 && holds img 64k 0 64k 1
}
it "refuses to copy to what another copy is being made to, in a file" two_copies old
it "... and in a new one" two_copies new
# The same file below a loop device, and by a server, whichever copy is first.
below_it()
{
	"$blocks" make img 1M 9 && in_copy || return
	loop img && local on=$dev && loop img --offset 196608 && local behind=$dev &&
	    refused "$on: another copy .*force=held writes anyway\)$" if=src of="$on" seek=383 &&
	    exits 0 "$pardd" if=src of="$on" seek=384 force=looped && exits 0 "$pardd" if=src of="$behind" count=8 &&
	    exits 0 "$pardd" if=src of="$on" seek=383 count=1 force=held && copied
}
above_it()
{
	"$blocks" make img 1M 9 && loop img || return
	img=$dev in_copy && refused 'img: another copy ' if=src of=img seek=383 force=looped &&
	    exits 0 "$pardd" if=src of=img seek=384 force=looped && copied
}
below_server()
{
	"$blocks" make img 1M 9 && in_copy && refused ': another copy ' if=src of="[ nbdkit -s file img ]" seek=384 && copied
}
above_server()
{
	"$blocks" make img 1M 9 || return
	img="[ nbdkit -s file img ]" in_copy && refused 'img: another copy ' if=src of=img seek=383 &&
	    exits 0 "$pardd" if=src of=img seek=384 force=held && copied
}
# One server, whatever it has open; each of its exports is another target.
one_server()
{
	"$blocks" make img 1M 9 && "$blocks" make other 1M 9 && nbdkit -U "$PWD/sock" -P kit.pid file dir=. &&
	    until_true 20 test -s kit.pid && undo kill "$(<kit.pid)" || return
	local by='nbd+unix:///img?socket=sock'
	img=$by in_copy && refused 'img.*: another copy .*force=held writes anyway\)$' if=src of="$by" seek=384 &&
	    exits 0 "$pardd" if=src of="$by" seek=384 force=held &&
	    exits 0 "$pardd" if=src of="${by/img/other}" seek=127 && copied && exits 0 "$pardd" if=src of="$by" seek=512
}
in_memory()
{
	nbdkit -U "$PWD/sock" -P kit.pid memory 1M && until_true 20 test -s kit.pid && undo kill "$(<kit.pid)" || return
	local by='nbd+unix:///?socket=sock'
	img=$by in_copy half_served && refused 'another copy ' if=src of="$by" seek=383 && tail -c 64k more >&5 && exec 5>&- &&
	    wait "$copy" && exits 0 "$pardd" if="$by" of=img && holds img 64k 0 128k 3
}
half_served()
{
	"$pardd" if="$by" of=img && half
}
it "... and below a loop device" below_it
it "refuses to copy to the file of a loop device that another copy is being made to" above_it
if able can_nbd "no nbdkit"; then
	it "... or of a server" above_server
	it "refuses to have it written by a server" below_server
	it "refuses to copy to an export that another copy is being made to" one_server
	it "... of a server that has no file" in_memory
fi
# Each look-up in turn fails for want of a descriptor: nothing is written without its locks.
starved()
{
	"$blocks" make img 1M 9 && in_copy && loop img || return
	local n to more
	for to in img "$dev"; do
		for ((n = 1, more = 1; more; n++)); do
			: >faults
			! FAULTS="op=open nth=$n fail=EMFILE" FAULT_LOG=faults LD_PRELOAD=$shim \
			    "$pardd" if=src of="$to" seek=200 force=looped >/dev/null 2>err ||
			    fail "copied to $to, when call $(<faults) failed" || return
			more=$(grep -c . faults)
		done
		((n > 5)) && grep -q 'another copy' err || fail "$to: $n calls, $(<err)" || return
	done
	copied
}
it "refuses that though what looks for it fails" starved
# Appended data may land anywhere behind the present end of the file.
two_appended()
{
	[[ $1 = new ]] || "$blocks" make img 10000 9 || return
	"$blocks" make src 1000 1 && mkfifo p || return
	"$pardd" if=p of=img oflag=append bs=4k bpt=1 >first 2>&1 &
	copy=$!
	exec 5>p && "$blocks" make - 8192 3 >&5 && until_true 20 holds img "$2" 0 8192 3 >/dev/null 2>&1 || return
	local op to
	for op in "of=img oflag=append" "of=img seek=40"; do
		read -ra to <<<"$op"
		refused 'img: another copy .*force=held writes anyway\)$' if=src "${to[@]}" || return
	done
	[[ $1 = new ]] || exits 0 "$pardd" if=src of=img || return
	exec 5>&- && wait "$copy" || fail "$(<first)" || return
	size_is img $(($2 + 8192)) && exits 0 "$pardd" if=src of=img oflag=append
}
it "refuses to append to what another copy is appended to" two_appended old 10000
it "... when that is new" two_appended new 0
# A file that continues to be written at a position is not appended to.
appended_within()
{
	in_copy && refused 'img: another copy ' if=src of=img oflag=append && copied
}
it "refuses to append to what another copy makes longer" appended_within
forced_copy()
{
	in_copy && exits 0 "$pardd" if=src of=img seek=128 force=held && holds img 64k 0 64k 1 &&
	    exec 5>&- && wait "$copy"
	[[ $? = 102 ]] || fail "$(<first)"
}
it "... unless force=held says so" forced_copy
it "waits for one who looks at the disk, as udev does" eval 'locked 0.5 && taken 0 of="$d"'
