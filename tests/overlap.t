#!/usr/bin/env bash
# A source and a target that overlap, or one of which lies on the other.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/safety.sh"

# ----------------------------------------------------------------- overlap

file_self()
{
	"$blocks" make a 1M 1 && cp a before && ln a hard && ln -s a soft &&
	    mkdir dir other && mv a dir/a && mount --bind dir other &&
	    undo umount "$PWD/other" && ln -sf dir/a soft || return
	local other
	for other in dir/a hard soft other/a; do
		refused 'overlaps the one to be read .*.*force=overlap writes anyway\)$' \
			if=dir/a of="$other" &&
		    refused 'force=overlap' if="$other" of=dir/a seek=2047 \
			force="$(other_words overlap)" &&
		    refused 'force=overlap' if=dir/a of="$other" oflag=trunc || return
	done
	same dir/a before && exits 0 "$pardd" if=dir/a of=other/a count=8 seek=8 &&
	    holds dir/a 4096 0 4096 1 || return
	exits 0 "$pardd" if=dir/a of=hard force=overlap && holds hard 4096 0 4096 1
}
it "refuses to copy a file onto itself under any name, but for disjoint ranges" file_self
# overlapping OPERANDS, disjoint OPERANDS: on a disk that is in order
overlapping()
{
	disk && snapshot && eval "set -- $*" && refused 'force=overlap writes anyway\)$' "$@" bs=512 &&
	    refused 'force=overlap' "$@" bs=512 force="$(other_words overlap)" && as_it_was
}
disjoint()
{
	disk && snapshot && eval "set -- $*" && exits 0 "$pardd" "$@" bs=512 && complete
}
it "sees a disk overlap its partition" overlapping 'if=$d of=$p1 skip=6143 count=1 seek=4095'
it "lets a disk's last sector before a partition go into it" disjoint 'if=$d of=$p1 skip=2047 count=1'
it "lets the sector behind a partition go into it" disjoint 'if=$d of=$p1 skip=6144 count=8'
it "sees a partition overlap its disk" overlapping 'if=$p2 of=$d skip=10 count=10 seek=7187'
it "lets a partition go just before it" disjoint 'if=$p2 of=$d skip=10 count=10 seek=7168'
it "lets one partition go onto the other" disjoint 'if=$p1 of=$p2'
it "lets one partition go onto the other by the disk" disjoint 'if=$p1 of=$d seek=7168'
it "sees a partition overlap itself" overlapping 'if=$p1 of=$p1 count=2 seek=1'
it "lets disjoint ranges of one partition go" disjoint 'if=$p1 of=$p1 count=2 seek=2'
it "sees a disk overlap its medium" overlapping 'if=disk.img of=$d'
it "sees a partition overlap the disk's medium" overlapping 'if=disk.img of=$p1 skip=2048 count=1'
it "lets the medium before a partition go into it" disjoint 'if=disk.img of=$p1 skip=2000 count=48'
windows()
{
	disk && loop disk.img --offset 4M && e=$dev && snapshot &&
	    refused 'force=overlap writes anyway\)$' if="$e" of="$d" bs=512 seek=8200 count=10 &&
	    refused 'force=overlap writes anyway\)$' if="$d" of="$e" bs=512 skip=8192 count=1 &&
	    as_it_was && exits 0 "$pardd" if="$e" of="$d" bs=512 count=1024 &&
	    same <(head -c 512k disk.img) <(tail -c 4M disk.img | head -c 512k)
}
it "sees two loop devices overlap in one file" windows
on_target()
{
	disk && mounted "$p1" && cp src m/src && snapshot && refused 'is mounted' if=m/src of="$p1" force=overlap &&
	    refused 'force=overlap writes anyway\)$' if=m/src of="$p1" force=mounted &&
	    refused 'force=overlap writes anyway\)$' if=m/src of="$d" \
		bs=512 seek=6016 force=mounted &&
	    as_it_was && exits 0 "$pardd" if=m/src of="$p2" && exits 0 "$pardd" if=m/src of="$d" bs=512 seek=7168
}
it "refuses a source on the target's own file system" on_target
# The numbers that these file systems have for a file are no device's.
on_overlay()
{
	disk && mounted "$p1" && cp src m/src && mkdir empty o &&
	    mount -t overlay -o "lowerdir=$PWD/m:$PWD/empty" none o && undo umount "$PWD/o" && snapshot &&
	    refused 'is mounted' if=o/src of="$p1" &&
	    refused 'overlaps the one.*force=overlap writes anyway\)$' if=o/src of="$p1" force=mounted &&
	    refused 'force=overlap writes anyway\)$' if=o/src of="$d" bs=512 seek=6016 force="$(other_words overlap)" &&
	    exits 101 "$pardd" of="$p1" force=mounted <o/src &&
	    one_line 'overlaps the one.*force=overlap writes anyway\)$' && as_it_was &&
	    exits 0 "$pardd" if=o/src of="$p2" force=mounted
}
on_loop()
{
	disk && mounted "$p1" && truncate -s 128k m/img && loop m/img && snapshot &&
	    refused 'is mounted' if="$dev" of="$p1" &&
	    refused 'overlaps the one.*force=overlap writes anyway\)$' if="$dev" of="$p1" force=mounted &&
	    as_it_was && exits 0 "$pardd" if="$dev" of="$p2" force=mounted
}
on_btrfs()
{
	truncate -s 128M one two && "$blocks" make other 1M 1 && mkdir m &&
	    loop one && one=$dev && loop two && two=$dev && loop other && other=$dev &&
	    mkfs.btrfs -q -d single -m single "$one" "$two" &&
	    mount -o device="$one",device="$two" "$one" m && undo umount "$PWD/m" &&
	    btrfs -q subvolume create m/sub && "$blocks" make m/sub/src 64k 1 &&
	    mount -o remount,ro m && sync && cp two before || return
	for to in "$one" "$two"; do
		refused '(mounted|held) writes anyway\)$' if=m/sub/src of="$to" &&
		    refused 'overlaps the one.*force=overlap writes anyway\)$' if=m/sub/src of="$to" \
			force="$(other_words overlap)" || return
	done
	exits 0 "$pardd" if=m/sub/src of="$other" force=mounted && same before two
}
it "... by an overlay" on_overlay
it "... by a loop device" on_loop
given 'grep -q btrfs /proc/filesystems && command -v mkfs.btrfs' "no btrfs" \
    it "... btrfs, on any of its disks" on_btrfs
it "copies from a disk, and from file to file, on one file system" eval \
    'disk && mounted "$p1" && exits 0 "$pardd" if="$p2" of=m/image count=64 &&
    exits 0 "$pardd" if=m/image of=m/copy && same m/image m/copy'
