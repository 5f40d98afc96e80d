# shellcheck shell=bash disable=SC2119,SC2154
# lab: -j 1 -b mkswap -b swapon -b swapoff
# A disk is one disk, by whichever node: who uses its block node is in the way
# of its sg and bsg nodes too, and it is held by them.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks
modprobe -aq loop dm_mod ext4 || { echo 'Bail out! no modules'; exit 1; }
disk=${SD2#/dev/}

# Ways to use a node, $1.  $name is what force= calls it, $by what is told.
# No way writes by itself once it is in place.
mounted()
{
	name=mounted by="is mounted on $PWD/m;"
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount -t ext4 -r "$1" m &&
	    undo umount "$PWD/m"
}
swap()
{
	name=swap by="is swap space"
	mkswap -q "$1" >/dev/null && swapon "$1" && undo swapoff "$1"
}
held()
{
	name=held by='is held by dm-[0-9]+;'
	map "$1"
}
looped()
{
	name=looped by='the loop device loop[0-9]+ lies on'
	loop "$1"
}
# A device mapper's device, as large as the disk: $dm
map()
{
	dmsetup create pardd --table "0 $(blockdev --getsz "$1") linear $1 0" &&
	    undo dmsetup remove --retry pardd &&
	    dm=/dev/$(basename "$(readlink -f /dev/mapper/pardd)") || return
	[[ $dm != /dev/pardd ]] || dm=/dev/dm-$(dmsetup info -c --noheadings -o minor pardd)
	until_true 5 test -b "$dm"
}
uses=(mounted swap looped)
if able 'type -P dmsetup' "no dmsetup"; then
	uses+=(held)
fi

# turned_away OPERANDS...: and no command that writes is sent
turned_away()
{
	sync
	forget
	away "$@" &&
	    refused "force=$name writes anyway\)$" if="$SG1" "$@" \
		force="$(other_words "$name")" &&
	    refused "force=$name writes anyway\)$" if="$SG1" "$@" -d &&
	    was_not_sent "$HCTL2" "$writes"
}
away()
{
	refused "$by.*force=$name writes anyway\)$" if="$SG1" "$@"
}
# passed OPERANDS...: copied
passed()
{
	sync
	forget
	exits 0 "$pardd" if="$SG1" bs=512 seek=1000 count=100 "$@" &&
	    complete && was_sent "$HCTL2" "$writes" &&
	    cmp <(head -c 51200 "$source") <(dd if="$SD2" bs=512 skip=1000 count=100 \
		iflag=direct status=none)
}

# chosen USE NODE COMMAND SENTENCE: each use by sg, and one by each node
chosen()
{
	if [[ $1 = mounted || $2 = "of=$SG2" ]]; then
		it "$4" "$3"
	else
		long "$4" "$3"
	fi
}
nodes=("of=$SG2" "of=$BSG2" "of=$SD2" "of=$SD2 oflag=sgio")
for node in "${nodes[@]}"; do
	read -ra to <<<"$node"
	it "copies onto a free disk: $node" passed "${to[@]}"
	for use in "${uses[@]}"; do
		in_use()
		{
			"$use" "$SD2" && turned_away "${to[@]}" || return
			# the kernel itself lets nobody write to a swapping node
			[[ $use = swap && ${to[*]} = "of=$SD2" ]] ||
			    passed "${to[@]}" force="$name"
		}
		chosen "$use" "$node" in_use \
		    "$use: refused, and overridden: $node"
	done
done

# Partitions at 1 MiB and 4 MiB, of 2 MiB each.
parts()
{
	local n
	for n in 1 2; do
		undo "$tools/part" del "$SD2" $n
	done
	"$tools/part" add "$SD2" 1 2048 4096 && "$tools/part" add "$SD2" 2 8192 4096 &&
	    until_true 5 test -b "${SD2}2"
}
by_part()
{
	parts && "$blocks" make img 100000 && sync && forget || return
	for look in -d ''; do
		refused 'go to a disk that has' if=img of="${SD2}1" oflag=sgio ${look:+"$look"} || return
	done
	was_not_sent "$HCTL2" "$writes" &&
	    refused 'go to a disk that has' if="${SD2}1" iflag=sgio of=dst && [[ ! -e dst ]] &&
	    refused 'go to a disk that has' if=img of="${SD2}1" oflag=sgio compare=1
}
it "does not take a SCSI disk for a partition of it" by_part
for node in "${nodes[@]}"; do
	[[ -n $LONG || $node = of=$SG2 || $node = of=$BSG2 ]] || continue
	read -ra to <<<"$node"
	for use in "${uses[@]}"; do
		part_in_use()
		{
			parts && "$use" "${SD2}1" && turned_away "${to[@]}" &&
			    grep -qw "${disk}1" err &&
			    away "${to[@]}" bs=512 seek=6143 count=1 &&
			    away "${to[@]}" bs=512 seek=33 count=1 &&
			    away "${to[@]}" bs=512 seek=16351 count=1 &&
			    was_not_sent "$HCTL2" "$writes" || return
			forget
			exits 0 "$pardd" if="$SG1" "${to[@]}" bs=512 seek=8192 \
			    count=4096 && exits 0 "$pardd" if="$SG1" "${to[@]}" \
			    bs=512 seek=6144 count=100 && was_sent "$HCTL2" "$writes"
		}
		chosen "$use" "$node" part_in_use \
		    "$use partition: refused, the other one and the gap copied: $node"
	done
done

# ------------------------------------------------- what may not be written

set_read_only()
{
	undo blockdev --setrw "$SD2" && blockdev --setro "$SD2" && sync && forget || return
	for look in -d ''; do
		exits 80 "$pardd" if="$SG1" "$@" ${look:+"$look"} &&
		    one_line 'Read-only|write-protected' || return
	done
	was_not_sent "$HCTL2" "$writes" && exits 0 "$pardd" if="$SG2" of=copy count=9 &&
	    exits 0 "$pardd" if="$SG2" "$@" compare=1
}
for node in "${nodes[@]}"; do
	read -ra to <<<"$node"
	it "does not write to a disk that was set read-only: $node" set_read_only "${to[@]}"
done

# --------------------------------------------------- page caches of others

# neighbour: the first partition is mounted, so that the disk's node stays open, and
# what is written by it stays in memory; the second is not
neighbour()
{
	parts && mke2fs -q -F -t ext2 "${SD2}1" && mkdir m && mount -t ext4 -r "${SD2}1" m &&
	    undo umount "$PWD/m" && echo 0 >/proc/sys/vm/dirty_writeback_centisecs &&
	    "$blocks" make old 1M 5 && "$blocks" make new 1M 7 && sync
}
# by_cache FILE: written to the beginning of the second partition, by the disk's node
by_cache()
{
	dd if="$1" of="$SD2" bs=512 seek=8192 conv=notrunc status=none
}
on_medium()
{
	dd if="${SD2}2" bs=64k count=16 iflag=direct status=none | same - "$1"
}
stays()
{
	neighbour && by_cache old && exits 0 "$pardd" if=new "$@" && complete && sync &&
	    on_medium new
}
it "is not overwritten by what was written to the disk before, sg" stays of="$SG2" seek=8192
it "is not overwritten by it, bsg" stays of="$BSG2" seek=8192
it "is not overwritten by it, partition" stays of="${SD2}2"
of_part()
{
	parts && "$blocks" make old 1M 5 && "$blocks" make new 8M 7 && sync || return
	exec {fd}<>"${SD2}2"
	dd if=old of="${SD2}2" conv=notrunc status=none
	exits 0 "$pardd" if=new of="$1" && complete || return
	exec {fd}>&-
	sync
	dd if="$SD2" bs=64k iflag=direct status=none | same - new
}
it "is not overwritten by what was written to a partition, sg" of_part "$SG2"
it "is not overwritten by what was written to a partition, sd" of_part "$SD2"
reads_it()
{
	neighbour && "$blocks" make read 1M 6 && by_cache read &&
	    exits 0 "$pardd" if="$1" of=copy skip=8192 count=2048 && complete && same copy read
}
it "reads by sg what was written to the disk before" reads_it "$SG2"
it "reads by bsg what was written to the disk before" reads_it "$BSG2"
seen()
{
	neighbour && by_cache old && sync && exits 0 "$pardd" if=new "$@" && complete &&
	    dd if="$SD2" bs=512 skip=8192 count=2048 status=none | same - new
}
it "is seen by whoever has the old contents cached, sg" seen of="$SG2" seek=8192
it "is seen by whoever has the old contents cached, partition" seen of="${SD2}2"

# The kernel sends no flush to a disk that it takes for one without a cache.
write_through()
{
	local cache=/sys/block/$disk/queue/write_cache target=$1
	undo eval "echo write back >$cache"
	echo write through >"$cache" && "$blocks" make new 1M 7 && parts && sync && forget || return
	[[ $target != mapped ]] || { map "$SD2" && target=$dm; } || return
	exits 0 "$pardd" if=new of="$target" sync=0 && complete && was_not_sent "$HCTL2" '35|91' &&
	    exits 0 "$pardd" if=new of="$target" && complete && was_sent "$HCTL2" '35|91'
}
# What nobody can open cannot be flushed.
member_unseen()
{
	local cache=/sys/block/$disk/queue/write_cache
	undo eval "echo write back >$cache" && undo mv /dev/away "$SD2" && map "$SD2" && "$blocks" make new 1M 7 &&
	    echo write through >"$cache" && mv "$SD2" /dev/away || return
	exits 103 "$pardd" if=new of="$dm" && says "lies on, cannot be asked to flush its cache: No such file" &&
	    exits 0 "$pardd" if=new of="$dm" sync=0 && complete
}
it "flushes a disk that is said to have no cache" write_through "$SD2"
it "... by a partition of it" write_through "${SD2}2"
if able 'type -P dmsetup' "no dmsetup"; then
	it "... by a device that is mapped onto it" write_through mapped
	it "... and does not say so when it cannot be asked" member_unseen
fi

# ------------------------------------------------------- held to the end

can_mount()
{
	mount -t ext4 -r "$1" mnt 2>/dev/null && umount mnt
}
# The second half waits for the file "go".
halves()
{
	head -c 2M "$source"
	until_true 100 test -e go && tail -c +2097153 "$source" | head -c 2M
}
holds_it()
{
	local pid
	mkdir mnt && fresh && mke2fs -q -F -t ext2 -b 1024 "$SD2" 4M && sync &&
	    can_mount "$SD2" && forget || return
	"$pardd" bs=512 bpt=64 seek=8192 count=8192 "$@" 2>err < <(halves) &
	pid=$!
	until_true 20 underway && kill -0 $pid || return
	! can_mount "$SD2" || fail "it could be mounted" || return
	! mke2fs -q "$SD2" 4M 2>/dev/null || fail "mke2fs did it" || return
	exits 101 "$pardd" if=/dev/zero of="$SD2" count=1 || return
	kill -0 $pid || fail "too late to prove anything" || return
	: >go
	wait $pid || fail "$(<err)" || return
	can_mount "$SD2"
}
for node in "${nodes[@]}"; do
	read -ra to <<<"$node"
	it "nobody can mount the disk meanwhile: $node" holds_it "${to[@]}"
	[[ -n $LONG || $node = "of=$BSG2" ]] || continue
	it "nor with oflag=excl: $node" holds_it "${to[@]}" oflag=excl
	long "nor with oflag=flock: $node" holds_it "${to[@]}" oflag=flock
	long "nor with sync=0: $node" holds_it "${to[@]}" sync=0
done

# ------------------------------------------------------------- one disk

overlapping()
{
	local why='force=overlap writes anyway\)$'
	fresh
	refused "$why" if="$1" of="$2" "${@:3}" &&
	    refused "$why" if="$1" of="$2" bs=512 skip=100 count=10 seek=109 "${@:3}" \
		force="$(other_words overlap)" &&
	    lands "0-16383 untouched" && was_not_sent "$HCTL2" "$writes" || return
	exits 0 "$pardd" if="$1" of="$2" bs=512 skip=100 count=10 seek=110 "${@:3}" &&
	    complete && was_sent "$HCTL2" "$writes"
}
it "sees sg and sd of one disk overlap" overlapping "$SG2" "$SD2"
long "sees sd and sg of one disk overlap" overlapping "$SD2" "$SG2"
it "sees sg and bsg of one disk overlap" overlapping "$SG2" "$BSG2"
long "sees bsg and sg of one disk overlap" overlapping "$BSG2" "$SG2"
long "sees bsg and sd of one disk overlap" overlapping "$BSG2" "$SD2"
it "sees sg and itself overlap" overlapping "$SG2" "$SG2"
it "sees sd and the same sd with sgio overlap" overlapping "$SD2" "$SD2" oflag=sgio
part_overlap()
{
	local why='force=overlap writes anyway\)$'
	fresh
	parts && refused "$why" if="$SG2" of="${SD2}1" bs=512 skip=6143 count=1 seek=4095 &&
	    refused "$why" if="${SD2}1" of="$BSG2" bs=512 seek=2048 count=1 &&
	    lands "0-16383 untouched" &&
	    exits 0 "$pardd" if="${SD2}1" of="$SG2" bs=512 seek=8192 &&
	    exits 0 "$pardd" if="$SG2" of="${SD2}1" bs=512 skip=6144 count=10
}
it "sees sg and a partition overlap, or not" part_overlap
map_overlap()
{
	local why='force=overlap writes anyway\)$'
	fresh
	map "$SD2" && refused "$why" if="$SG2" of="$dm" count=10 seek=9 &&
	    refused "$why" if="$dm" of="$SD2" count=10 seek=9 force=held &&
	    lands "0-16383 untouched" && exits 0 "$pardd" if="$SG1" of="$dm" &&
	    lands "0-16383 right"
}
map_part()
{
	fresh
	parts && map "${SD2}1" && exits 0 "$pardd" if="$dm" of="${SD2}2" &&
	    exits 0 "$pardd" if="$dm" of="$SG2" bs=512 seek=8192 &&
	    exits 0 "$pardd" if="$dm" of="$SG2" bs=512 seek=6143 count=1 force=held &&
	    refused 'force=overlap writes anyway\)$' if="$dm" of="$SG2" bs=512 skip=4095 seek=6143 \
		count=1 force=held
}
map_mounted()
{
	map "$SD2" && name=mounted by="is mounted on $PWD/m;" && mounted "$dm" &&
	    turned_away of="$dm" && { name=held by='is held by dm-[0-9]+;'; turned_away of="$SG2"; }
}
if able 'type -P dmsetup' "no dmsetup"; then
	it "sees a mapped device and its disk overlap" map_overlap
	it "copies a mapped partition onto the next one" map_part
	it "refuses a mounted mapped device, and the disk under it" map_mounted
fi

# --------------------------------------------------------- which disk it is

wwid=$(<"/sys/class/block/$disk/device/wwid")
serial=$(tail -c +5 "/sys/class/block/$disk/device/vpd_pg80" | tr -d ' \0')
identified()
{
	local name
	mkdir -p /dev/disk/by-id && ln -sf "$SD2" /dev/disk/by-id/scsi-two &&
	    undo rm -r /dev/disk || return
	fresh
	[[ $serial && $wwid = naa.* ]] || fail "no names: '$serial' '$wwid'" || return
	for name in "$serial" "$wwid" "${wwid#naa.}" "0x${wwid#naa.}" scsi-two; do
		exits 0 "$pardd" if="$SG1" "$@" count=1 -dv oserial="$name" &&
		    grep -q "^target_serial=$serial$" out &&
		    refused 'not the disk that iserial=' if="$SG1" "$@" iserial="$name" &&
		    refused 'not the disk that oserial=' if="$SG2" of="$SG1" oserial="$name" &&
		    exits 0 "$pardd" if="${1#of=}" of=copy count=1 iserial="$name" || return
	done
	for name in wrong "${serial}0" "${wwid}0" "${wwid%?}" naa. 0x; do
		refused 'not the disk that oserial=' if="$SG1" "$@" oserial="$name" \
		    force=mounted,swap,held,looped,overlap || return
	done
	was_not_sent "$HCTL2" "$writes" && all_right if="$SG1" "$@" oserial="$serial"
}
for node in "${nodes[@]}"; do
	[[ -n $LONG || $node = "of=$BSG2" ]] || continue
	read -ra to <<<"$node"
	it "knows the disk by serial number, WWN and by-id name: $node" \
	    identified "${to[@]}"
done
busy_source()
{
	local node
	mke2fs -q -F -t ext2 "$SD2" && mkdir m && mount -t ext4 "$SD2" m &&
	    undo umount "$PWD/m" || return
	for node in "$SG2" "$BSG2" "$SD2"; do
		exits 0 "$pardd" if="$node" of=copy && complete &&
		    says "^pardd: note: $disk is mounted read-write on $PWD/m" || return
	done
}
it "says that a source is mounted read-write, by any node" busy_source
# The longest file that FAT has is a byte shorter than 4 GiB.
fat_limit()
{
	local told='its file system has files of 4294967295 bytes at most, and this would have 4294967296; '
	mkfs.fat -s 1 -F "$1" "$SD2" >made 2>&1 && mkdir m && mount -t vfat "$SD2" m && undo umount "$PWD/m" && truncate -s 4G a &&
	    refused "$told" if=a of=m/x && [[ ! -e m/x ]] && head -c 100000 /dev/urandom >m/old && cp m/old b &&
	    refused "$told" if=a of=m/old && same b m/old && refused "$told" if=b of=m/old bs=1 seek=4294867296 &&
	    same b m/old && truncate -s 4294967295 a && refused 'in all, but 4294967295 are to be written' if=a of=m/x && [[ ! -e m/x ]]
}
# FAT has no holes: those of the source need room.
fat_dense()
{
	mkfs.fat -s 1 -F 16 "$SD2" >made 2>&1 && mkdir m && mount -t vfat "$SD2" m && undo umount "$PWD/m" && truncate -s 7M m/other a &&
	    refused 'has room for [0-9]+ bytes now, but 7340032 are to be written' if=a of=m/x && [[ ! -e m/x ]] &&
	    mke2fs -q -t ext4 b 7M && refused 'has room for' if=b of=m/x used=only && [[ ! -e m/x ]] &&
	    truncate -s 500k a && exits 0 "$pardd" if=a of=m/x && complete && same a m/x
}
if type -P mkfs.fat >/dev/null; then
	modprobe -a vfat nls_cp437 nls_ascii
	it "refuses a file that is too long for FAT32" fat_limit 32
	it "... for FAT16" fat_limit 16
	it "counts holes where a file cannot have them" fat_dense
fi
