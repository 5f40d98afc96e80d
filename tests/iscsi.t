#!/usr/bin/env bash
# iSCSI disks, with tgtd on the loopback address.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/iscsi.sh"
needs can_iscsi -- "no tgtd (tgt), or built without libiscsi"

end_server()
{
	kill -KILL "$pid" && { wait "$pid" 2>/dev/null || :; }
}
# copy STATUS OPERANDS...
copy()
{
	exits "$1" timeout -s KILL 60 "$pardd" "${@:2}"
}
pair()
{
	"$blocks" make src "$1" && "$blocks" make dst "$1" 9
}

# ------------------------------------------------------------------ copying

both()
{
	pair 4M && serve "1:src${block+:$block}" "2:dst${block+:$block}" && copy 0 if="$uri/1" of="$uri/2" "$@" &&
	    complete && same src dst
}
it "copies from one disk to another" both
it "... by many workers, a little at a time" both engine=threads thr=16 bs=4096 bpt=3
it "... by many asynchronous requests" both engine=async qd=16 bs=4096 bpt=5
it "... by commands of 16 bytes" both cdbsz=16
it "... with FUA, and reads it back" both oflag=fua,dpo iflag=fua verify=1
block=4096 it "... in blocks of 4096 bytes, and reads it back" both verify=1
whole()
{
	"$blocks" make src 4M && truncate -s 4M dst && serve 1:dst:4096 && copy 0 if=src of="$uri/1" verify=1 &&
	    says '^pardd: complete, flushed, verified$' && same src dst && copy 0 if="$uri/1" of=new hash=md5 &&
	    complete && same src new && copy 0 if="$uri/1" of="$uri/1" compare=1 &&
	    { "$pardd" if="$uri/1" of=- 2>err | cmp - src; } && exits 0 "$pardd" if=- of="$uri/1" <src && complete
}
it "is written and read as any disk is" whole
it "... in parts larger than usual, if its target takes them" eval \
    'pair 4M && serve 1:src 2:dst && adm update target --name MaxRecvDataSegmentLength --value 262144 &&
    copy 0 if="$uri/1" of="$uri/2" verify=1 && complete && same src dst'
it "copies a part, to its place" eval \
    'pair 2M && serve 1:src 2:dst && copy 0 if="$uri/1" of="$uri/2" bs=4k skip=100 seek=3 count=100 && complete &&
    holds dst 12288 409600 409600 && holds dst 0 0 12288 9 && holds dst 421888 421888 4000 9'
zeros()
{
	"$blocks" make dst 8M 9 && truncate -s 8M src && serve 1:dst &&
	    adm update logicalunit --lun 1 --params thin_provisioning=1 && copy 0 if=src of="$uri/1" oflag="$1" &&
	    complete && same src dst
}
it "makes zeros of what holds other data" zeros sparse
it "... or lets the disk free it" zeros trim
several()
{
	pair 2M && cp dst dst2 && serve 1:dst 2:dst2 && copy 0 if=src of="$uri/1" of="$uri/2" of=file &&
	    says '^pardd: complete, flushed: 3 targets' && same src dst && same src dst2 && same src file
}
it "is one of several targets, or two" several
odd()
{
	"$blocks" make src 2M && truncate -s 5000 tail && serve 1:src:4096 && refused 'not a whole number of logical blocks' \
	    if=tail of="$uri/1" count=5000 iflag=count_bytes && refused 'bs=512 is not a multiple' if="$uri/1" of=new bs=512 &&
	    [[ ! -e new ]] && truncate -s 3M large && refused 'has room for 2097152 bytes' if=large of="$uri/1" &&
	    holds src 0 0 2097152
}
it "refuses what does not fit into its blocks, or into it" odd

# ------------------------------------------------------------ who and what

# hidden WORD: nobody is told
hidden()
{
	! grep -rqse "$1" . || { grep -rse "$1" .; false; }
}
secret()
{
	local in
	"$blocks" make src 2M && serve 1:src && admin new account --user joe --password s3cretpassword &&
	    adm bind account --user joe && in=iscsi://joe%s3cretpassword@$address/$iqn/1 || return
	copy 0 if="$in" of=dst json=j log=l map=m report=r.html verbose=1 && complete && same src dst &&
	    copy 0 -dv if="$in" of=dst && copy 0 -d if="$in" of=dst force=overlap &&
	    grep -q "joe@" out && copy 101 if="$in" of=dst iserial=no && hidden s3cretpassword &&
	    LIBISCSI_CHAP_USERNAME=joe LIBISCSI_CHAP_PASSWORD=s3cretpassword copy 0 if="$uri/1" of=. &&
	    LIBISCSI_CHAP_PASSWORD=s3cretpassword copy 0 if="iscsi://joe@$address/$iqn/1" of=.
}
it "logs in by a password, and shows it nowhere" secret
wrong()
{
	"$blocks" make src 1M && serve 1:src && admin new account --user joe --password s3cretpassword &&
	    adm bind account --user joe && copy 15 if="iscsi://joe%wr0ngpassword@$address/$iqn/1" of=dst &&
	    one_line 'logging in: .*Authentication failure' && hidden wr0ngpassword &&
	    copy 15 if="$uri/1" of=dst && one_line 'Authentication failure' && [[ ! -e dst ]]
}
it "is told that a password is wrong, or missing" wrong
# with_name LINES COMMAND...: where the machine has that as the name of its initiator
with_name()
{
	mkdir -p up work && unshare -m --propagation private sh -c '
		mount -t overlay -o lowerdir=/etc,upperdir=up,workdir=work none /etc && mkdir -p /etc/iscsi &&
		printf "$0" >/etc/iscsi/initiatorname.iscsi || exit 125
		exec "$@"' "$@"
}
named()
{
	"$blocks" make src 1M && serve 1:src && adm unbind target -I ALL &&
	    adm bind target --initiator-name iqn.1993-08.org.debian:01:abc || return
	exits 15 "$pardd" if="$uri/1" of=new && [[ ! -e new ]] &&
	    exits 0 with_name '## a name\nInitiatorName=iqn.1993-08.org.debian:01:abc \n' "$pardd" if="$uri/1" of=dst &&
	    complete && same src dst && exits 15 with_name 'InitiatorName=\n' "$pardd" if="$uri/1" of=new
}
mkdir "$scratch/up" "$scratch/work"
overlaid() { unshare -m mount -t overlay -o "lowerdir=/etc,upperdir=$scratch/up,workdir=$scratch/work" none /etc; }
given overlaid "no overlay" it "goes by the name that this machine has as an initiator" named
listed_by_ps()
{
	local in
	"$blocks" make src 1M && rules="on=src op=read hang" && serve 1:src &&
	    in=iscsi://joe%s3cretpassword@$address/$iqn/1 || return
	"$pardd" if="$in" of=dst 2>err &
	until_true 20 grep -q waits faults && tr '\0' ' ' <"/proc/$!/cmdline" >title && grep -q joe title &&
	    hidden s3cretpassword
}
it "shows no password to ps" listed_by_ps
missing()
{
	"$blocks" make src 1M && serve 1:src && copy 15 if="$uri/7" of=dst && one_line 'there is no such LUN$' &&
	    copy 15 if="$uri/0" of=dst && one_line 'not a disk' &&
	    copy 15 if="iscsi://$address/iqn.2026-11.org.example:none/1" of=dst && one_line 'Target not found' &&
	    end_server && copy 15 if="$uri/1" of=dst && one_line 'connecting: Connection refused' &&
	    copy 15 if=src of="$uri/1" && one_line 'Connection refused' && [[ ! -e dst ]]
}
it "says what is not there" missing
bad_names()
{
	local name
	for name in iscsi:// iscsi://h iscsi://h/t iscsi://h/t/ iscsi:///t/1 iscsi://h//1 iscsi://h/t/x iscsi://h/t/1/2 \
	    iscsi://h:0/t/1 iscsi://h:65536/t/1 iscsi://h:x/t/1 'iscsi://[::1/t/1' iscsi://h/t%0/1 iscsi://h/t%00/1 \
	    iscsi://h/t/16384 iscsi://@h/t/1 'iscsi://h/t/1?x=y' "iscsi://h/$(printf 't%.0s' {1..300})/1"; do
		usage 'is written iscsi://' if="$name" of=dst && usage 'is written' if=/dev/null of="$name" || return
	done
	[[ $(echo *) = 'err out' ]]
}
it "refuses names that are none" bad_names
it "takes a name with encoded letters" eval \
    '"$blocks" make src 1M && serve 1:src && copy 0 if="iscsi://$address/${iqn/:/%3A}/1" of=dst && same src dst'
same_disk()
{
	local other
	"$blocks" make src 2M && serve 1:src && other=127.1.${address#127.*.} &&
	    admin new portal --param portal="$other" && other=iscsi://$other/$iqn/1 &&
	    refused 'overlaps the one to be read' if="$other" of="$uri/1" &&
	    refused 'source and target are the same' if="$uri/1" of="$uri/1" &&
	    refused 'overlap' if=src of="$uri/1" of="$other" && holds src 0 0 2097152 &&
	    copy 0 if="$other" of="$uri/1" bs=1M count=1 seek=1 && complete && holds src 1048576 0 1048576
}
it "knows a disk by whatever portal it is reached" same_disk
same_file()
{
	pair 1M && serve 1:src && refused "may be what $uri/1 serves: process $pid has it open" if="$uri/1" of=src &&
	    refused 'may be what' if=src of="$uri/1" skip=8 count=8 && copy 0 if=src of="$uri/1" count=8 force=overlap &&
	    copy 0 if=dst of="$uri/1" && complete && same src dst
}
it "refuses a file that a server of this machine has as its disk" same_file
# node FILE: a block device on that file, which sysfs takes for LUN 1, as where
# the kernel has logged in, too; under the shim.  It lies on what the server has
# open, which is only so here: force=looped.
node()
{
	loop "$1" && at=sys/${dev#/dev/} && mkdir -p "$at" && shell=$("$pardd" -dv if="$uri/1" of=. 2>&1) || return
	sed -n 's/^source_serial=//p' <<<"$shell" >"$at/serial"
	sed -n 's/^source_wwn=//p' <<<"$shell" >"$at/wwid"
	export SYSFS=$PWD/sys
	[[ -s $at/serial && -s $at/wwid ]] || fail "$shell"
}
# As refused, under the shim.
also_here()
{
	exits 101 with_faults '' "$pardd" "${@:2}" && one_line "$1"
}
kernels()
{
	pair 4M && mke2fs -qF dst && cp dst was && serve 1:dst && node dst && mkdir mnt && mount "$dev" mnt &&
		undo umount "$PWD/mnt" || return
	also_here "$uri/1 and ${dev#/dev/} are the same disk: ${dev#/dev/} is mounted on .* umount it first" if=src of="$uri/1" &&
	    umount mnt && also_here 'overlaps the one to be read' if="$dev" of="$uri/1" &&
	    also_here 'overlaps the one to be read' if="$uri/1" of="$dev" &&
	    exits 0 with_faults '' "$pardd" if=src of="$uri/1" force=looped && complete && same src dst
}
protected_here()
{
	pair 4M && serve 1:dst && node dst && blockdev --setro "$dev" && undo blockdev --setrw "$dev" || return
	also_here "$uri/1 and ${dev#/dev/} are the same disk: ${dev#/dev/} is read-only; blockdev --setrw $dev first .force=held" \
	    if=src of="$uri/1" && holds dst 0 0 1000 9 &&
	    exits 0 with_faults '' "$pardd" if="$uri/1" of=copy && complete && same dst copy &&
	    exits 0 with_faults '' "$pardd" if=src of="$uri/1" force=held,looped && complete && same src dst
}
# The device stays open, for its cache is written when it is closed last.
cached_here()
{
	"$blocks" make src 4M && serve 1:src && node src && exec 4<>"$dev" || return
	printf changed | dd of=/dev/fd/4 bs=1 seek=1000000 conv=notrunc status=none
	exits 0 with_faults '' "$pardd" if="$uri/1" of=dst && complete && [[ $(tail -c +1000001 dst | head -c 7) = changed ]] &&
	    "$blocks" make new 4M 9 && exits 0 with_faults '' "$pardd" if=new of="$uri/1" force=looped && complete &&
	    cmp new /dev/fd/4
}
if able can_loop "no loop devices"; then
	it "does not write what the kernel has as a block device that is in use" kernels
	it "... or is set read-only" protected_here
	it "reads what that has in the page cache, and leaves nothing old there" cached_here
fi
called()
{
	pair 1M && serve 1:src 2:dst && adm update logicalunit --lun 2 --params scsi_sn=one-of-a-kind &&
	    refused 'is not the disk that oserial=other asks for: its serial number is one-of-a-kind' \
	    if="$uri/1" of="$uri/2" oserial=other && holds dst 0 0 1000 9 &&
	    copy 0 if="$uri/1" of="$uri/2" oserial=one-of-a-kind && complete && same src dst
}
it "is known by its serial number" called
protected()
{
	pair 1M && serve 1:dst && adm update logicalunit --lun 1 --params readonly=1 &&
	    copy 80 if=src of="$uri/1" && one_line 'is write-protected' && holds dst 0 0 1048576 9 &&
	    copy 0 if="$uri/1" of=new && same dst new
}
it "is not written where it is write-protected" protected
page()
{
	"$blocks" make src 1M && serve 1:src && copy 0 -dv if="$uri/1" of="$uri/1" force=overlap &&
	    grep -q '^source_kind=iSCSI disk$' out && grep -q "^source_offers=at $address$" out &&
	    grep -q '^target_users=none registered' out && copy 0 if="$uri/1" of=. json=j &&
	    jq -se '.[0].source | .kind == "iscsi_disk" and .disk.vendor == "IET" and .size == 1048576' <j >told
}
it "is described for people and programs" page
described_when_closed()
{
	pair 1M && serve 1:src 2:dst && copy 0 if="$uri/1" of="$uri/2" manifest=m &&
	    jq -se '.[0] | .source.disk.vendor == "IET" and .target.disk.vendor == "IET" and
	    .source.disk.serial != .target.disk.serial' <m >told &&
	    script -qec "$pardd if=$uri/1 of=new" /dev/null >out </dev/null &&
	    grep -q 'to see the files in it: losetup -r -f -P --show new' out
}
it "... after it was closed, too" described_when_closed

# ------------------------------------------------------------------- errors

unreadable()
{
	"$blocks" make src 4M && rules='on=src op=read at=1049600+512 whole fail=EIO' && serve 1:src
}
bad_block()
{
	unreadable && copy 3 if="$uri/1" of=dst thr=1 engine=threads && says 'NOT complete: .*edium' &&
	    copy 100 if="$uri/1" of=dst2 coe=1 && says 'NOT complete: 1 unreadable block' &&
	    holds dst2 0 0 1049600 && holds dst2 1050112 1050112 3000000
}
it "loses one block where one cannot be read" bad_block
rescued()
{
	unreadable && copy 100 if="$uri/1" of=dst map=m && grep -q '^0x00100400 *0x00000200 *-' m &&
	    holds dst 0 0 1049600 && end_server && rules= && serve 1:src && copy 0 if="$uri/1" of=dst map=m retries=1 &&
	    complete && same src dst
}
it "is rescued, and read again for what is missing" rescued
unwritable()
{
	pair 2M && rules='on=dst op=write at=1048576+4096 fail=EIO' && serve 1:dst && copy 3 if=src of="$uri/1" &&
	    says 'NOT complete: .*writing' && holds src 0 0 2097152
}
it "stops where it cannot be written" unwritable
unflushed()
{
	pair 1M && rules='on=dst op=flush fail=EIO' && serve 1:dst && copy 103 if=src of="$uri/1" &&
	    says 'NOT complete: .*SYNCHRONIZE CACHE failed'
}
it "says when it cannot be flushed" unflushed

# ----------------------------------------------------------- a target that goes

# stalls OPERANDS...: copy until the server hangs over what it was to do
stalls()
{
	timeout -s KILL 60 "$pardd" bs=64k bpt=1 "$@" 2>err &
	copying=$!
	until_true 20 grep -qs waits faults
}
target_dies()
{
	pair 8M && rules='on=dst op=write from=20 hang' && serve 1:dst && stalls if=src of="$uri/1" "$@" && end_server &&
	    exited 69 "$copying" && says 'NOT complete: .*the session is gone; writes since the last flush may be lost'
}
it "stops when the target dies" target_dies
it "... with many workers" target_dies thr=8 engine=threads
it "... with one" target_dies thr=1 engine=threads
target_dies_map()
{
	target_dies map=m mapinterval=1000 && ! grep -q ' +$' m && rules= && serve 1:dst &&
	    copy 0 if=src of="$uri/1" map=m bs=64k && complete && same src dst
}
it "... and calls nothing finished that was not flushed" target_dies_map
source_stalls()
{
	"$blocks" make src 8M && rules='on=src op=read from=40 hang' && serve 1:src && stalls if="$uri/1" of=dst "$@"
}
source_dies()
{
	source_stalls "$@" && end_server && exited 69 "$copying" && says 'NOT complete: .*the session is gone'
}
it "stops when the source dies" source_dies
it "... with many workers" source_dies thr=8 engine=threads
it "waits for a source that comes back, with wait=" eval \
    'source_stalls map=m wait=60 && end_server && until_true 20 grep -q waiting err && rules= && serve 1:src &&
    exited 0 "$copying" && complete && same src dst'
# rates OPERANDS...: copy LUN 1 slowly, until there is something of it
rates()
{
	timeout -s KILL 60 "$pardd" if="$uri/1" of=dst bs=64k rate=256k map=m "$@" 2>err &
	copying=$!
	until_true 20 test -s dst
}
# LUN 1 is taken away; not while it is at work.
removed()
{
	until_true 20 adm delete logicalunit --lun 1
}
unit_gone()
{
	"$blocks" make src 8M && serve 1:src && rates && removed && exited 5 "$copying" &&
	    says 'NOT complete: .*Logical unit not supported' &&
	    adm new logicalunit --lun 1 -b "$PWD/src" && copy 0 if="$uri/1" of=dst map=m && complete && same src dst
}
only plain
it "stops when its disk is removed from the target" unit_gone
it "... and waits for it, with wait=" eval \
    '"$blocks" make src 2M && serve 1:src && rates wait=60 && removed && until_true 20 grep -q waiting err &&
    adm new logicalunit --lun 1 -b "$PWD/src" && exited 0 "$copying" && complete && same src dst'
only all
# The other is there before the session ends: it is looked for once at least.
other_back()
{
	"$blocks" make src 8M && serve 1:src && rates wait=1 && adm update logicalunit --lun 1 --params scsi_sn=another &&
	    adm delete conn --sid "$(adm show conn | awk '/^Session:/ { print $2 }')" --cid 0 && exited 69 "$copying" &&
	    says 'is another disk'
}
it "... but for no other" other_back
silent()
{
	source_stalls timeout=5 "$@" && exited 33 "$copying" && says 'NOT complete: .*no answer before the timeout'
}
silent_target()
{
	pair 8M && rules='on=dst op=write from=20 hang' && serve 1:dst && stalls timeout=5 if=src of="$uri/1" &&
	    exited 69 "$copying" && says 'NOT complete: .*the session is gone.*no answer within 5 seconds'
}
# Both are stopped, and the target goes on a little later.
stood_still()
{
	"$blocks" make src 16M && serve 1:src || return
	"$pardd" if="$uri/1" of=dst timeout=4 rate=8M 2>err &
	until_true 20 test -s dst && kill -STOP "$pid" && sleep 0.3 && kill -STOP $! && sleep 5 && kill -CONT $! &&
	    sleep 0.2 && kill -CONT "$pid" && wait $! && complete && same src dst
}
it "does not wait for ever for an answer, and leaves out the time in which it was stopped itself" eval \
    'aside silent && aside silent engine=threads thr=2 && aside silent_target && aside silent coe=1 &&
    aside silent coe=1 engine=threads && aside stood_still && all_well'

# greedy WHAT: a target whose answers keep libiscsi for ever
greedy()
{
	address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
	"$tools/greedy" "$address" "$1" >ready &
	pid=$!
	until_true 10 grep -q ready ready && uri=iscsi://$address/$iqn/0
}
# left OPERANDS...: it is left; where libiscsi comes back in between, it sees the
# time itself
left()
{
	run timeout -s KILL 60 "$pardd" timeout=1 "$@" && [[ $status = 15 || $status = 33 || $status = 69 ]] ||
	    fail "$status: $(<err)" || return
	says '(NOT complete: .*(has not returned within|no answer)|not opened within 4 seconds)'
}
asks()
{
	"$blocks" make src 1M && greedy "$1" && left if=src of="$uri" && says 'writes since the last flush may be lost'
}
reads()
{
	greedy "$1" && left if="$uri" of=dst "${@:2}"
}
# The map is saved, with what was there before.
map_kept()
{
	greedy reads=9 && copy 69 if="$uri" of=dst map=m mapinterval=1000 bs=4k bpt=64 thr=1 timeout=4 &&
	    says 'has not returned within 4 .*; m is saved' && grep -q '^0x00000000 .*  +$' m
}
looked_at()
{
	"$blocks" make src 1M && greedy reads=1 && left if=src of="$uri"
}
keeps()
{
	aside reads reads=5 used=only && aside reads maps iflag=sparse && aside map_kept && aside asks asks && aside asks asks=0 && aside reads reads=1 && aside reads pours=1 &&
	    aside reads reads=4 engine=threads thr=3 && aside looked_at && all_well
}
# What was to be read is not called read.
lacking()
{
	greedy lacks=9 && copy 15 if="$uri" of=dst thr=1 engine=threads && says 'NOT complete: .*: the disk reports success, but has moved no data$'
}
it "takes no read for done of which the target sent nothing" lacking
only plain
it "leaves a target whose answers keep the library busy for ever" keeps

# ---------------------------------------------------------------- the library

no_library()
{
	mkdir lib && : >lib/libiscsi.so.7 || return
	export LD_LIBRARY_PATH=$PWD/lib
	refused 'needs libiscsi.so.7.*Debian has it in libiscsi7' if=iscsi://127.0.0.1/t/1 of=dst &&
	    [[ ! -e dst ]] && "$blocks" make src 1M && exits 0 "$pardd" if=src of=dst && complete
}
[[ $VARIANT != plain ]] || it "says what is missing where there is no libiscsi, and copies else" no_library
