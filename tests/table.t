#!/usr/bin/env bash
# The partition table of a clone: table=fix and table=new.
# shellcheck disable=SC1091,SC2015,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/dice.sh
. "$top/tests/dice.sh"
needs can_loop 'command -v sfdisk sgdisk jq' -- "no loop devices, or no sfdisk, sgdisk, jq"
seed=${SEED:-$RANDOM}

# disk_of FILE BYTES SECTOR: a new disk; its node is in $dev
disk_of()
{
	rm -f "$1" && truncate -s "$2" "$1" && loop "$1" -b "$3"
}
# table_of NODE: what its partitions are, in bytes; a name that the kernel gives is left out
table_of()
{
	sfdisk -J "$1" | jq -S '.partitiontable | (.sectorsize // 512) as $unit | {"label": .label, id} + {p: [.partitions[] |
	    {n: (.node | capture("(?<n>[0-9]+)$").n), start: (.start * $unit), size: (.size * $unit), type, uuid, name,
	    attrs, bootable}]}'
}
# sound NODE: nothing is wrong with it
sound()
{
	sfdisk -V "$1" >said 2>&1 && ! grep -qiE 'overlap|beyond|not match|invalid|corrupt' said || fail "$(<said)" || return
	sfdisk -d "$1" | grep -q '^label: dos' && return
	sgdisk -v "$1" >said 2>&1 && grep -q 'No problems found' said || fail "$(<said)"
}
# parted_alike A B: the partitions have the same bytes
parted_alike()
{
	local start size
	while read -r start size; do
		cmp -i "$start" -n "$size" "$1" "$2" || return
	done < <(sfdisk -J "$1" | jq -r '.partitiontable | (.sectorsize // 512) as $unit | .partitions[] |
	    select(.type != "5" and .type != "f") | "\(.start * $unit) \(.size * $unit)"')
}
# table_like A B: the same partitions
table_like()
{
	table_of "$1" >table.a && table_of "$2" >table.b && diff table.a table.b && parted_alike "$1" "$2"
}
# whole FILE SECTOR BYTES: a disk with two partitions in 40 MiB
whole()
{
	disk_of "$1" "$3" "$2" && sfdisk -q --no-reread --no-tell-kernel "$dev" <<-EOT && dd status=none if=/dev/urandom of="$dev" bs=1M seek=1 count=8 conv=notrunc && sync "$dev"
	label: gpt
	start=1MiB, size=4MiB, type=uefi, name="it's"
	start=8MiB, size=16MiB, attrs="LegacyBIOSBootable"
	EOT
}
# cloned FROM TO SECTOR BYTES WORDS...: and is right
cloned()
{
	local from=$1 to=$2
	disk_of "$to" "$4" "$3" && exits 0 "$pardd" if="$from" of="$dev" "${@:5}" && complete && sync "$dev" &&
	    sound "$dev"
}
larger()
{
	whole a "$1" 40M && a=$dev && cloned "$a" b "$2" "$3" table=fix && table_like "$a" "$dev" &&
	    says ', table moved$' && says "note: the table was moved: bytes .* of $dev differ"
}
smaller()
{
	larger 512 512 25M && size_is b $((25 << 20)) && says '^49152\+0 records in'
}
new_names()
{
	whole a 512 40M && a=$dev && cloned "$a" b "$1" 64M table=new verify=1 &&
	    says '^pardd: complete, flushed, verified, table moved$' && table_of "$a" >x && table_of "$dev" >y || return
	! cmp -s x y && diff <(jq 'del(.id, .p[].uuid)' x) <(jq 'del(.id, .p[].uuid)' y) &&
	    [[ $(jq -r '.id, .p[].uuid' x y | sort | uniq -d) = '' ]]
}
as_it_is()
{
	whole a 512 40M && a=$dev && cloned "$a" b 512 40M table=fix && says '^pardd: complete, flushed$' && cmp a b
}
# refuses WHY WORDS...: and nothing was touched
refuses()
{
	local why=$1
	shift
	cp b old && exits 101 "$pardd" if="$a" of="$dev" "$@" && says "$why" && cmp b old
}
too_small()
{
	whole a 512 40M && a=$dev && disk_of b 24M 512 && refuses 'is too small: partition 2 and the table need 25182720' table=fix &&
	    disk_of c 24M 512 && : >c && says .
}
no_whole()
{
	disk_of a 40M 512 && a=$dev && echo 'start=2049, size=2048' | sfdisk -q --no-reread --no-tell-kernel --label gpt "$a" && disk_of b 64M 4096 &&
	    refuses 'partition 1 does not begin and end at whole sectors of 4096 bytes' table=fix
}
no_table()
{
	disk_of a 8M 512 && a=$dev && disk_of b 16M 512 && refuses 'has no partition table' table=new
}
spoilt()
{
	whole a 512 40M && a=$dev && "$blocks" make noise 512 3 &&
	    dd status=none if=noise of="$a" seek="$1" conv=notrunc && cloned "$a" b 512 64M table=fix && parted_alike b b &&
	    [[ $(table_of "$dev" | jq -c '[.p[].name]') = "[\"it's\",null]" ]] || return
	dd status=none if=noise of="$a" seek="$2" conv=notrunc && refuses . table=fix
}
# one_valid WORDS...: each write and each flush of the table fails; the partitions are still found
one_valid()
{
	local i
	whole a 512 40M && a=$dev && table_of "$a" >table.a || return
	for i in 41 42 43; do
		rm -f b && truncate -s 64M b && ! with_faults "on=$PWD/b op=write nth=$i fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc engine=threads thr=1 bpt=2048 table=fix 2>err && says 'partition table' && faulty write &&
		    table_of b | diff table.a - || return
	done
	for i in 2 3 4; do
		rm -f b && truncate -s 64M b && exits 103 with_faults "on=$PWD/b op=flush nth=$i fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc table=fix && faulty fdatasync && table_of b | diff table.a - || return
	done
	# in mid write
	for i in 700 1024 5000 17000; do
		rm -f b && truncate -s 64M b && ! with_faults "on=$PWD/b op=write at=$i+1 from=2 fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc engine=threads thr=1 bpt=2048 table=fix 2>err && faulty write &&
		    table_of b | diff table.a - || return
	done
}
read_back()
{
	whole a 512 40M && a=$dev && truncate -s 64M b &&
	    exits 14 with_faults "on=$PWD/b op=write at=67092000+1 flip" "$pardd" if="$a" of=b conv=notrunc table=fix verify=1 &&
	    says 'the partition table is not what was written'
}
left_over()
{
	whole a 512 40M && a=$dev && cloned "$a" b 4096 64M table=fix && ! grep -q 'EFI PART' <(dd status=none if=b bs=4096 count=1) &&
	    [[ $(grep -c 'EFI PART' <(tr '\n' ' ' <b | sed 's/EFI PART/\nEFI PART/g')) = 2 ]]
}
logical()
{
	disk_of a 64M "$1" && a=$dev && sfdisk -q --no-reread --no-tell-kernel "$a" <<-EOT && dd status=none if=/dev/urandom of="$a" bs=1M seek=18 count=4 conv=notrunc
	label: dos
	start=1MiB, size=8MiB, type=83, bootable
	start=16MiB, size=32MiB, type=5
	start=17MiB, size=4MiB, type=83
	start=24MiB, size=8MiB, type=7
	EOT
	disk_of b "$3" "$2" && exits 0 "$pardd" if="$a" of="$dev" "table=${4:-fix}" && complete && sync "$dev" && sound "$dev" &&
	    table_of "$a" >x && table_of "$dev" >y &&
	    diff <(jq 'del(.id, .p[].uuid, (.p[] | select(.type == "5").size))' x) \
	    <(jq 'del(.id, .p[].uuid, (.p[] | select(.type == "5").size))' y) && parted_alike "$a" "$dev"
}
several()
{
	local b c
	whole a 512 40M && a=$dev && disk_of b 64M 4096 && b=$dev && disk_of c 25M 512 && c=$dev &&
	    exits 0 "$pardd" if="$a" of="$b" of="$c" table=fix verify=1 && sync "$b" "$c" && sound "$b" && sound "$c" &&
	    table_like "$a" "$b" && table_like "$a" "$c"
}
# a random GPT, to a random disk
begin()
{
	loops=0
}
one()
{
	local from to bytes at=1 n i size
	pick 512 4096
	from=$picked
	pick 512 4096
	to=$picked
	rm -f a b
	disk_of a 64M "$from" && a=$dev
	{
		echo "label: gpt"
		big 120
		echo "table-length: $((8 + dice))"
		big 5
		n=$((dice + 1))
		for ((i = 0; i < n; i++)); do
			big 5
			size=$((dice + 1))
			big 3
			at=$((at + dice))
			chance 50 && pick uefi linux swap 4D21B016-B534-45C2-A9FB-5C16E091FD2D || picked=raid
			echo "start=${at}MiB, size=${size}MiB, type=$picked, name=\"p $RANDOM\"$(chance 30 && echo ', attrs="RequiredPartition GUID:49"')"
			at=$((at + size))
		done
	} >line
	sfdisk -q --no-reread --no-tell-kernel "$a" <line >said 2>&1 || { cat said; return 1; }
	dd status=none if=/dev/urandom of="$a" bs=64K seek=16 count=16 conv=notrunc
	big 80
	bytes=$(((at + 1 << 20) + dice * 524288))
	disk_of b $((bytes / 4096 * 4096)) "$to"
	ran=$((ran + 1))
	exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && sound "$dev" && table_like "$a" "$dev" &&
	    losetup -d "$a" "$dev"
}

it "moves the backup GPT to the end of a larger disk" larger 512 512 64M
it "... and to that of a smaller one" smaller
it "converts it to sectors of 4096 bytes" larger 512 4096 64M
it "... and back" larger 4096 512 64M
it "... on a smaller disk" larger 512 4096 25M
it "leaves no table of the source in the clone" left_over
it "gives new identifiers with table=new" new_names 512
it "... and other sectors" new_names 4096
it "changes nothing where the table fits" as_it_is
it "refuses a disk that is too small" too_small
it "refuses partitions that are no whole sectors" no_whole
it "refuses a source without a table" no_table
it "goes by the backup if the first GPT is spoilt, and refuses if both are" spoilt 1 81919
it "goes by the first if the backup is spoilt" spoilt 81919 1
it "has a valid table after each write and each flush that fails" one_valid
it "reads the table back with verify=1" read_back
it "converts an MBR with logical partitions" logical 512 4096 96M
it "... and back" logical 4096 512 96M
it "cuts an extended partition on a smaller disk" logical 512 512 33M
it "gives an MBR another signature" logical 512 512 64M new
it "makes a table for each of several targets" several
remains()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" &&
	    says "^pardd: note: after the copy $dev still has the backup of another GPT at its end; rest=zero" &&
	    exits 0 "$pardd" if="$a" of="$dev" rest=zero && does_not_say 'still has' && says ', rest zeroed$' &&
	    says '^81920\+0 records out' && cmp -i "$((40 << 20)):0" -n "$((24 << 20))" b /dev/zero
}
remains_not()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" table=fix &&
	    does_not_say 'still has' && whole c 512 40M && exits 0 "$pardd" if="$a" of="$dev" && does_not_say 'still has' || return
	# where the disk keeps its own table, that is the backup of it
	exits 0 "$pardd" if="$a" of="$dev" seek=2048 count=8192 && does_not_say 'still has' &&
	    exits 0 "$pardd" if="$a" of="$dev" count=1 && does_not_say 'still has' && sound "$dev"
}
both()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" table=fix rest=trim verify=1 &&
	    says 'complete, flushed, verified, table moved, rest trimmed$' && sync "$dev" && sound "$dev" &&
	    table_like "$a" "$dev"
}
no_rest()
{
	disk_of b 8M 512 && head -c 1M /dev/urandom >a && cp b old && exits 1 "$pardd" if=a of=x rest=zero &&
	    says 'rest= clears a device' && [[ ! -e x ]] && head -c 1M a | exits 1 "$pardd" of="$dev" rest=zero && cmp b old
}
# those that a target drops, as when the source ends early, are left alone
cut_short()
{
	whole b 512 64M && cp b old && head -c 8M /dev/urandom >a &&
	    exits 3 with_faults "on=$PWD/a op=read at=4194304+512 fail=EIO" "$pardd" if=a of="$dev" rest=zero engine=threads &&
	    cmp -i $((8 << 20)) b old
}
# in_use WORDS...: a partition behind the copy is mounted; nothing is touched
in_use()
{
	disk_of b 64M 512 && "$tools/part" add "$dev" 2 65536 32768 && until_true 20 test -b "$dev"p2 &&
	    mke2fs -q -t ext4 "$dev"p2 && mkdir m && mount "$dev"p2 m || return
	undo "$tools/part" del "$dev" 2
	undo umount "$PWD/m"
	head -c 1M /dev/urandom >a && sync "$dev" && cp b old && exits 101 "$pardd" if=a of="$dev" seek=2048 bs=512 "$@" &&
	    says 'is mounted on' && cmp b old && exits 0 "$pardd" if=a of="$dev" seek=2048 bs=512
}
# what a boot loader has between the table and the first partition
loader()
{
	whole a "$1" 40M && a=$dev && dd status=none if=/dev/urandom of="$a" bs=32K seek=1 count=31 conv=notrunc &&
	    cloned "$a" b "$2" 64M table=fix && cmp -i 32768 -n $((31 * 32768)) "$a" "$dev" && table_like "$a" "$dev"
}
# ... and before a table that lies farther out
table_apart()
{
	whole a 512 40M && a=$dev && sgdisk -j 1024 "$a" >said && sgdisk -v "$a" | grep -q 'No problems' &&
	    dd status=none if=/dev/urandom of="$a" bs=8K seek=1 count=60 conv=notrunc && disk_of b 64M "$1" &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && sgdisk -v "$dev" | grep -q 'No problems' &&
	    cmp -i 8192 -n $((60 * 8192)) "$a" "$dev" && table_like "$a" "$dev"
}
not_from_there()
{
	whole a 512 40M && a=$dev && disk_of b 64M 512 && {
		head -c 512 /dev/urandom
		"$pardd" if="$a" table=fix 2>err
		status=$?
	} 1<>"$dev"
	[[ $status = 1 ]] && says 'table= is for the clone' && cmp -i 512 -n 1M b /dev/zero
}
it "keeps what a boot loader has before the first partition" loader 512 4096
it "... and on a disk with smaller sectors" loader 4096 512
it "... and before a table that lies farther out" table_apart 512
it "... also with larger sectors" table_apart 4096
it "is for a target from its first byte on" not_from_there
if command -v mke2fs >/dev/null; then
	it "clears no partition behind the copy that is mounted" in_use rest=zero
	it "... nor frees its blocks" in_use rest=trim
fi
it "tells what an older use has left behind the copy, and clears it with rest=zero" remains
it "... but not what it writes itself, or where nothing is left" remains_not
it "clears and moves the table in one run" both
nothing_copied()
{
	disk_of b 8M 512 && mke2fs -q -t ext4 "$dev" && mkdir m && mount "$dev" m || return
	undo umount "$PWD/m"
	: >a
	sync "$dev"
	cp b old
	exits 101 "$pardd" if=a of="$dev" rest=zero && says 'is mounted on' && exits 101 "$pardd" if=old of="$dev" count=0 rest=zero
}
onto_itself()
{
	disk_of b 8M 512 && head -c 8M /dev/urandom >b && cp b old &&
	    exits 101 "$pardd" if="$dev" skip=4M iflag=skip_bytes count=1 bs=1M of="$dev" rest=zero && says overlaps && cmp b old
}
# one of two targets does not keep what is written; the other's table is written
one_fails()
{
	whole a 512 40M && truncate -s 64M b c &&
	    exits 14 with_faults "on=$PWD/b op=write at=5000000+1 flip" "$pardd" if="$dev" of=b of=c conv=notrunc table=fix \
	    verify=1 retries=0 && says 'c: complete, flushed, verified, table moved' && sound c && table_like "$dev" c
}
it "claims what it clears where nothing is copied" nothing_copied
it "... and clears nothing of its source" onto_itself
it "writes the table of a target if another one fails" one_fails
it "clears devices only, and after a copy of a known length" no_rest
it "clears nothing after a copy that stopped" cut_short
it "is for whole disks" usage table= if=/dev/zero of=x table=fix skip=1
it "... and no stream" eval 'head -c 1M /dev/zero | exits 1 "$pardd" of=x table=fix && says "table= is for the clone"'
only plain
it "does so with any GPT, from SEED=$seed" mixed "$seed" "$(heavy 25)"
