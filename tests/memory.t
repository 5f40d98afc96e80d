#!/usr/bin/env bash
# Each place where the program asks for memory is refused it once: the result is right
# or a message says what is missing, and nothing hangs or crashes.  A failure that one
# case has found is left out in later ones.  LONG=1 tells places apart by the calls that
# led there, too, if the build of a sanitizer keeps their frames; so does CALLS=N.
# (denied.t refuses every allocation of some copies, those of libraries, too.)
# shellcheck disable=SC1091,SC2015,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/iscsi.sh"
[[ $VARIANT != tsan ]] || exit 0		# is told all by the others
needs "grep -q places '$top/tests/tools/shim.c'" -- "a shim that knows places"

places=$scratch/places
: >"$places"
before=		# a rule that comes first
also=				# another library before libc
depth=${CALLS-}
[[ -z $LONG || $VARIANT = plain ]] || depth=${CALLS-4}

# refused CHECK COMMAND...: repeated until it asks at no new place
refused()
{
	local check=$1 n=0
	shift
	while :; do
		: >faults
		timeout -s KILL 60 env FAULTS="${before:+$before;}op=own fail=ENOMEM places=$places${depth:+ depth=$depth}" \
		    FAULT_LOG="$PWD/faults" LD_PRELOAD="$shim${also:+:$also}" "$@" <"${from-/dev/null}" >out 2>err
		status=$?
		grep -q '^alloc ' faults || break
		n=$((n + 1))
		"$check" || { fail "the ${n}th: status $status, $(tail -n 3 err)"; return; }
	done
	"$check" && ((status == ${want:-0})) || fail "with all of it: status $status, $(tail -n 3 err)" || return
	echo "$n places"
}
# said: a status, and a last line that is one of our messages
said()
{
	local lines last
	mapfile -t lines <err
	last=${lines[-1]-}
	((status < 104)) && [[ $last = 'pardd: '* && $last != 'pardd: complete'* && $last != *Success ]]
}
# honest: complete and there, or it says why not.  Each run has a target that differs from
# the source.
honest()
{
	if ((status == 0)); then
		[[ $(tail -n 1 err) = 'pardd: complete'* ]] && same src dst && { [[ ! -e two ]] || same src two; }
	else
		said
	fi || return
	: >dst && rm -f map map.bak
}
copies()
{
	in_memory && "$blocks" make src 150000 && : >dst && refused honest "$pardd" if=src of=dst "$@"
}

it "copies right or says why not, wherever memory is denied" copies
it "... by threads, a little at a time" copies engine=threads thr=4 bpt=8
it "... with many in flight" copies engine=async thr=2 bpt=8
it "... and verifies it" eval 'copies verify=1 && copies verify=source && copies verify=stream'
it "... with digests" copies hash=sha256,xxh128,md5 hashfile=list
it "... with a table of requests" eval 'copies profile=p.csv && copies profile=p.json && copies profile=p.svg time=1'
it "... with a page, a picture and a journal" eval 'copies report=r.html note=a note=b log=log profile=p.json &&
    copies report=r.svg'
it "... with what programs read" copies json=j verbose=2
it "... with a control socket" copies control=c rate=100M
it "... with a live line" copies progress=1 status=map map=map
it "... to several targets" eval 'copies of=two && copies of=two verify=1 && copies of=two verify=stream'
it "... past the page cache" copies iflag=direct oflag=direct
streams()
{
	local from=src
	in_memory && "$blocks" make src 150000 && : >dst && refused honest "$pardd" if=- of=dst "$@"
}
it "... a stream" eval 'streams hash=sha1 && streams conv=sparse'

holes()
{
	in_memory && "$blocks" make src 150000 && truncate -s 1M src && : >dst && refused honest "$pardd" if=src of=dst "$@"
}
it "... leaving holes" eval 'holes conv=sparse && holes oflag=sparse,trim engine=async'
manifests()
{
	in_memory && "$blocks" make src 150000 && : >dst && refused honest "$pardd" if=src of=dst manifest=m "$@" &&
	    cp src two && exits 0 "$pardd" if=src of=. manifest=base && refused unwritten "$pardd" if=src of=two base=base &&
	    refused seen "$pardd" if=src manifest=base check=1
}
# unwritten: two is as it was
unwritten()
{
	same src two && { ((status == 0)) || said; }
}
# seen: nothing was written, and no difference was found
seen()
{
	((status == 0)) || said
}
it "makes a manifest so, and goes by it" eval 'manifests && manifests manifesthash=sha256'
# undoubted: if only a digest could not be kept, what was written is flushed
undoubted()
{
	if ((status == 62)) && [[ $(tail -n 1 err) = *': the digests of the copy: '* ]]; then
		[[ $(tail -n 1 j) = *'"flushed":true,'* ]]
	fi && honest
}
block_map()
{
	in_memory && "$blocks" make src 150000 && : >dst &&
	    refused undoubted "$pardd" if=src of=dst manifest=b.bmap json=j engine=async &&
	    refused honest "$pardd" if=src of=dst bmap=b.bmap && refused honest "$pardd" if=src of=dst oflag=sparing
}
it "... a block map" block_map
compares()
{
	in_memory && "$blocks" make src 150000 && cp src two && refused unwritten "$pardd" if=src of=two compare=1 "$@"
}
it "compares so" eval 'compares && compares json=j'
# told: nothing was written, and what differs is told, or why it is not
told()
{
	same two other && { ((status == 14)) || said; } && rm -f m
}
it "... what differs, and writes a map of it" eval 'in_memory && "$blocks" make src 150000 && cp src two &&
    printf "\377\0" | dd of=two bs=1 seek=70000 conv=notrunc status=none && cp two other && want=14 &&
    refused told "$pardd" if=src of=two compare=1 map=m json=j'
# lost: what cannot be read is missing
lost()
{
	if ((status == 100)); then
		[[ $(tail -n 1 err) = 'pardd: NOT complete: '* ]] && holds -z 20480+512 dst 0 0 150000
	else
		said
	fi && : >dst && rm -f map map.bak
}
rescues()
{
	local before="on=$PWD/src op=read at=20480+512 fail=EIO" want=100
	in_memory && "$blocks" make src 150000 && : >dst && before="on=$PWD/src op=read at=20480+512 fail=EIO" &&
	    refused lost "$pardd" if=src of=dst map=map "$@"
}
it "rescues so" eval 'rescues && rescues thr=4 retries=1 && rescues json=j report=r.html &&
    rescues report=r.svg rescue=reverse'
it "... by another map" eval \
    'in_memory && "$blocks" make src 150000 && : >dst && exits 0 "$pardd" if=src of=dst map=base && : >dst &&
    refused honest "$pardd" if=src of=dst map=map domain=base domaintypes=+'
it "goes on after errors so" eval 'in_memory && "$blocks" make src 150000 && : >dst && want=100 &&
    before="on=$PWD/src op=read at=20480+512 fail=EIO" && refused lost "$pardd" if=src of=dst coe=1 verify=1'

# ------------------------------------------------------- other kinds of ends

tables()
{
	local kind
	truncate -s 4M src dst && for kind in gpt dos; do
		printf '%s\n' "label: $kind" 'size=1M' 'size=1M' | sfdisk -q src && cp src dst &&
		    refused seen "$pardd" if=src of=dst ipart=1 opart=2 && refused seen "$pardd" -dv if=src of=dst ||
		    return
	done
}
given 'command -v sfdisk' "no sfdisk" it "finds partitions so" tables
file_systems()
{
	truncate -s 8M img && "$@" img >made 2>&1 || return
	cp img src && : >dst && refused seen "$pardd" if=src of=dst used=only usedmap=um && rm -f um &&
	    refused seen "$pardd" if=src of=dst used=first map=m && rm -f m*
}
given 'command -v mke2fs' "no mke2fs" it "finds so what file systems use" eval 'file_systems mke2fs -q -F -t ext4 &&
    file_systems mke2fs -q -F -t ext2'
given 'command -v mkfs.fat' "no mkfs.fat" it "... of FAT" file_systems mkfs.fat
given 'command -v mkfs.exfat' "no mkfs.exfat" it "... of exFAT" file_systems mkfs.exfat
given 'command -v mkntfs' "no mkntfs" it "... of NTFS" file_systems mkntfs -q -F
large_file_system()
{
	truncate -s "$1" img && "${@:2}" img >made 2>&1 && : >dst && refused seen "$pardd" -d if=img of=dst used=only
}
given 'command -v mkfs.xfs' "no mkfs.xfs" it "... of XFS" large_file_system 320M mkfs.xfs -q
given 'command -v mkfs.btrfs' "no mkfs.btrfs" it "... of Btrfs" large_file_system 128M mkfs.btrfs -q
devices()
{
	local from
	"$blocks" make src 1M && truncate -s 1M back && loop src && from=$dev && loop back &&
	    refused seen "$pardd" if="$from" of="$dev" verify=1 && same src back &&
	    refused seen "$pardd" if="$from" of="$dev" map=map && refused seen "$pardd" -dv if="$from" of="$dev"
}
given can_loop "no loop devices" it "copies devices so" devices
if able can_nbd "no nbdkit"; then
	nbd()
	{
		nbdkit -f -U "$1" -P "$1.pid" file "$2" >server 2>&1 </dev/null &
		until_true 20 test -s "$1.pid"
	}
	from_there()
	{
		cp there dst && honest
	}
	servers()
	{
		in_memory && "$blocks" make src 150000 && truncate -s 150000 there && nbd from src && nbd to there &&
		    refused from_there "$pardd" if='nbd+unix:///?socket=from' of='nbd+unix:///?socket=to' verify=1 &&
		    refused from_there "$pardd" if='nbd+unix:///?socket=from' of='nbd+unix:///?socket=to' engine=threads \
			map=map
	}
	it "copies from one NBD server to another so" servers
fi
if able can_rbd "built without librbd"; then
	from_image()
	{
		cp p/other dst && honest
	}
	images()
	{
		in_memory && mkdir p && ceph && "$blocks" make src 150016 && cp src p/image && : >p/other &&
		    truncate -s 150016 p/other && refused from_image "$pardd" if=rbd:p/image of=rbd:p/other "$@"
	}
	it "copies from one Ceph image to another so" eval 'images && images verify=1 engine=threads'
fi
if able can_iscsi "no tgtd (tgt), or built without libiscsi"; then
	disks()
	{
		"$blocks" make src 1M && "$blocks" make there 1M 9 && serve 1:src 2:there &&
		    refused from_disk "$pardd" if="$uri/1" of="$uri/2" "$@"
	}
	from_disk()
	{
		cp there dst && honest
	}
	it "copies from one iSCSI disk to another so" eval 'disks verify=1'
	it "... waiting for each answer" eval 'disks engine=threads oflag=sparse'
fi
answered()
{
	local also=$tools/answer.so
	"$blocks" make src 1M 1 && "$blocks" make there 1M 9 && export ANSWERS="disk=src;disk=there" &&
	    refused from_disk "$pardd" if=src of=there "$@"
}
from_disk()
{
	cp there dst && honest
}
it "copies from one SCSI disk to another so" eval 'answered && answered verify=1 engine=threads && answered map=map'
it "lists the disks so" refused seen "$pardd" --list
it "has met many such places" eval '[[ $(sort -u "$places" | wc -l) -gt 50 ]] || fail "$(wc -l <"$places") places"'
