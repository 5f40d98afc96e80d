#!/usr/bin/env bash
# Ten things that somebody new to the program wants to do.  Every command is in the
# README or the manual, apart from the names of disks, or pardd itself suggested it; it
# works at the first attempt.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# the other files test all that these do
needs can_loop 'command -v sfdisk sgdisk mke2fs jq' -- "no loop devices, or no sfdisk, sgdisk, mke2fs, jq"

pardd()
{
	"$pardd" "$@"
}
# This machine stands for the other one.
ssh()
{
	(shift; "$@")
}
# types LINE: a line of the README or the manual; its status is in $status
types()
{
	local line=$1
	cat "$top/README.md" "$top"/man/* | grep -qF -- "$line" || fail "nothing tells to type: $line" || return
	line=${line//\/dev\/sda/$sda}
	line=${line//\/dev\/sdb/$sdb}
	set -o pipefail
	eval "$line" 2>err
	status=$?
	set +o pipefail
}
# at_once LINE: it is typed once, and works
at_once()
{
	types "$1" || return
	[[ $status = 0 ]] || fail "status $status: $1: $(<err)" || return
	complete
}
# told REGEX: runs the command that a note has in brackets
told()
{
	local command
	command=$(sed -nE "s,.*($1).*,\1,p" err | head -n 1)
	[[ -n $command ]] || fail "told nothing of $1: $(<err)" || return
	$command >out 2>&1 || fail "$command: $(<out)"
}
# files FILE: an ext2 at its first MiB, of 4 MiB, with a letter in it
files()
{
	mke2fs -q -t ext2 -E offset=1048576 "$1" 4M && echo 'dear reader' >letter &&
	    debugfs -w -R 'write letter letter' "$1?offset=1048576" >/dev/null 2>&1
}
# has_letter FILE [BYTE]: it is in the file system there
has_letter()
{
	[[ $(debugfs -R 'cat letter' "$1?offset=${2:-1048576}" 2>/dev/null) = 'dear reader' ]] ||
	    fail "no letter in $1"
}
# two DISK BYTES: a disk of 16 MiB with a partition, and one of so many, in use before
two()
{
	truncate -s 16M a.img && echo 'start=2048, size=8192, name="data"' |
	    sfdisk -q --label gpt a.img && files a.img && "$blocks" make b.img "$1" 9 &&
	    loop a.img && sda=$dev && loop b.img && sdb=$dev
}
# sound_table FILE: sgdisk finds nothing wrong with it
sound_table()
{
	sgdisk -v "$1" >out 2>&1 && grep -q '^No problems found' out || fail "$(<out)"
}

bigger()
{
	two 24M && types 'pardd if=/dev/sda of=/dev/sdb -d' >plan && [[ $status = 0 ]] &&
	    holds b.img 0 0 24M 9 && grep -q "^Target  $sdb" plan &&
	    at_once 'pardd if=/dev/sda of=/dev/sdb' && cmp -n 16M a.img b.img &&
	    told "sfdisk --relocate gpt-bak-std $sdb" && sync "$sdb" && sound_table b.img && has_letter b.img
}
it "clones a disk to a bigger one, and uses it" bigger
smaller()
{
	two 8M && types 'pardd if=/dev/sda of=/dev/sdb' && [[ $status = 101 ]] && holds b.img 0 0 8M 9 || return
	count=$(sed -n 's/.* count=\([0-9]*\) copies all partitions$/\1/p' err)
	[[ $count = 10240 ]] || fail "$(<err)" || return
	exits 0 "$pardd" if="$sda" of="$sdb" count="$count" && complete || return
	sgdisk -e "$sdb" >out 2>&1
	sync "$sdb" && sound_table b.img && has_letter b.img
}
it "clones one to a smaller one, with the count= that the refusal names" smaller
partition()
{
	two 16M && echo 'start=4096, size=8192' | sfdisk -q --label gpt b.img && cp b.img b.was &&
	    "$blocks" make a.img 8M 3 1M &&
	    at_once 'pardd if=/dev/sda of=/dev/sdb bs=512 skip=2048 seek=4096 count=8192' &&
	    holds b.img 2M 1M 4M 3 && cmp -n 2M b.was b.img && cmp -i 6M b.was b.img || return
	files a.img && echo 'start=4096, size=8192' >table && echo 'start=12288, size=8192' >>table &&
	    sfdisk -q --label gpt b.img <table && at_once 'pardd if=/dev/sda ipart=1 of=/dev/sdb opart=2' &&
	    has_letter b.img 6291456
}
it "copies a partition to another place, by offsets and by number" partition
stick()
{
	two 16M && "$blocks" make debian.iso 3000001 5 && pardd -l >list && grep -q "^$sdb " list &&
	    at_once 'pardd if=debian.iso of=/dev/sdb verify=1' && says 'complete, flushed, verified$' &&
	    cmp -n 3000001 debian.iso b.img
}
it "writes an ISO image to a stick, and checks it" stick
failing()
{
	local line='pardd if=/dev/sda of=sda.img map=sda.map retries=3'
	bad_disk 8388608 2097152+512,4194304+1024 && sda=$dev sdb=$dev || return
	# the same command is typed again when it was interrupted, if it was
	timeout -s INT 0.2 "$pardd" if="$sda" of=sda.img map=sda.map retries=3 2>/dev/null
	types "$line" && [[ $status = 100 ]] && says '^pardd: NOT complete: 1536 bytes could not be read; sda.map shows where' &&
	    holds -z 2097152+512,4194304+1024 sda.img 0 0 8M &&
	    [[ $("$tools/maps" list sda.map -) = 2097152+512,4194304+1024 ]]
}
# A kernel that knows no tables is told by the tool what the table says.
mount_second()
{
	[[ -b $1p1 ]] || { "$tools/part" add "$1" 1 2048 8192 && undo "$tools/part" del "$1" 1 &&
	    until_true 5 test -b "$1p1"; } || return
	mkdir mnt && undo umount "$PWD/mnt" && mount -o ro "$1p1" mnt
}
files_back()
{
	two 16M && at_once 'pardd if=/dev/sda of=sda.img' || return
	grep -qF 'losetup -r -f -P --show sda.img' "$top/README.md" &&
	    dev=$(losetup -r -f -P --show sda.img) && undo detach "$dev" "$PWD/sda.img" &&
	    mount_second "$dev" && [[ $(<mnt/letter) = 'dear reader' ]]
}
wiped()
{
	two 16M && at_once 'pardd if=/dev/zero of=/dev/sdb' && "$blocks" zero b.img 0 16M &&
	    at_once 'pardd iflag=random of=/dev/sdb' && ! "$blocks" zero b.img 0 16M >/dev/null
}
measured()
{
	two 16M && cp a.img a.was && at_once 'pardd if=/dev/sda of=. time=1 profile=zones.svg' &&
	    says 'time to transfer data was' && grep -q '</svg>' zones.svg && same a.was a.img
}
over_ssh()
{
	two 16M && at_once 'pardd if=/dev/sda | ssh root@host pardd of=/dev/sdb' && same a.img b.img &&
	    truncate -s 8M b.img && losetup -c "$sdb" && types 'pardd if=/dev/sda | ssh root@host pardd of=/dev/sdb' &&
	    [[ $status != 0 ]] || fail "status $status: $(<err)"
}
scripted()
{
	two 16M && ! type -P sda.img >/dev/null && at_once 'pardd if=/dev/sda of=sda.img json=run.json' &&
	    [[ $(jq -r 'select(.event == "result") | .status, .verdict' run.json | paste -sd ' ') = '0 complete' ]] &&
	    truncate -s 8M sda.img && ! "$pardd" if=sda.img of=x skip=99999 json=run.json 2>err &&
	    [[ $(jq -r 'select(.event == "result") | .verdict' run.json) = refused ]]
}
given can_lose "no nbdkit or nbdfuse" it "images a failing disk, and goes on after an interruption" failing
it "gets files back from an image" files_back
it "wipes a disk" wiped
it "measures one" measured
it "clones one over ssh, and sees it fail" over_ssh
it "tells a script what came of it" scripted
# "make demo", the first command of all, as it is typed: at a terminal, and nobody answers.
shown()
{
	script -qec "BUILD=$BUILD '$top/tests/demo'" shown </dev/null >/dev/null && grep -q '^demo: the copies are exact' shown &&
	    ! grep 'yes/no' shown
}
given 'command -v script' "no script(1)" it "watches a clone, and is asked nothing" shown
