# shellcheck shell=bash disable=SC2154
# The same bytes under another name: two paths to one disk, partitions that
# overlap, and what the device mapper makes of a disk.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
if ! sdebug add_host=2 vpd_use_hostno=0 dev_size_mb=8 delay=0 || ! prepare_source "$SD1"; then
	echo 'Bail out! no scsi_debug'
	exit 1
fi
modprobe -aq loop dm_mod ext4 || { echo 'Bail out! no modules'; exit 1; }
first=${SD1#/dev/}

mounted()
{
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount -t ext4 -r "$1" m &&
	    undo umount "$PWD/m" && "$blocks" make src 64k 3 && sync
}
# kept COMMAND...: and the disk is as it was
kept()
{
	dd if="$SD1" of=before bs=1M iflag=direct status=none && "$@" &&
	    cmp before <(dd if="$SD1" bs=1M iflag=direct status=none)
}

# ------------------------------------------------------------------ two paths

by_other_path()
{
	local to why="and $first are the same disk: $first is mounted on $PWD/m.*force=mounted writes anyway\)$"
	mounted "$SD1" || return
	for to in "$SD2" "$SG2" "$BSG2"; do
		kept refused "$to $why" if=src of="$to" || return
	done
	exits 0 "$pardd" if=src of="$SD2" force=mounted && complete
}
it "refuses a disk that is mounted through its other path" by_other_path
read_only()
{
	local to
	"$blocks" make src 64k 3 && blockdev --setro "$SD1" && undo blockdev --setrw "$SD1" || return
	for to in "$SD2" "$SG2"; do
		kept refused "$to and $first are the same disk: $first is read-only; blockdev --setrw $SD1 first" if=src of="$to" || return
	done
	exits 0 "$pardd" if="$SD1" of=dst && complete && exits 0 "$pardd" if=src of="$SD2" force=held && complete
}
it "... or set read-only" read_only
is_held()
{
	run "$pardd" if=src of="$SD1" bs=512 seek=100 -d
	[[ $status = 101 ]]
}
held_by_path()
{
	"$blocks" make src 64k 3 && mkfifo pipe || return
	"$pardd" if=pipe of="$SD2" bs=512 2>err &
	exec 7>pipe
	head -c 4096 src >&7
	until_true 20 is_held &&
	    one_line "$first is in use .by another program.*force=held writes anyway\)$" || return
	exec 7>&-
	wait $!
}
it "holds the target by its other path, too" held_by_path
paths_overlap()
{
	refused 'overlaps the one to be read.*force=overlap writes anyway\)$' if="$SD1" of="$SD2" &&
	    refused 'force=overlap writes anyway\)$' if="$SD1" of="$SD2" bs=512 count=1000 seek=999 &&
	    refused 'force=overlap writes anyway\)$' if="$SG1" of="$SD2" bs=512 count=1000 seek=999 &&
	    exits 0 "$pardd" if="$SD1" of="$SD2" bs=512 count=1000 seek=1000 && complete
}
it "sees two paths of one disk overlap, or not" paths_overlap

# ----------------------------------------------------- partitions that overlap

le32()
{
	printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) \
	    $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}
# entry N START LENGTH: of the table in the first sector
entry()
{
	# shellcheck disable=SC2059
	printf "\\0\\0\\0\\0\\x83\\0\\0\\0$(le32 "$2")$(le32 "$3")" |
	    dd of="$SD1" bs=1 seek=$((430 + 16 * $1)) conv=notrunc status=none
}
no_table()
{
	dd if=/dev/zero of="$SD1" count=1 conv=fsync status=none && blockdev --rereadpt "$SD1"
}
# isohybrid START: as on such a stick; $p1 from there on, and $p2 within it
isohybrid()
{
	no_table && undo no_table && entry 1 "$1" 12288 && entry 2 4096 4096 &&
	    printf '\x55\xaa' | dd of="$SD1" bs=1 seek=510 conv=notrunc,fsync status=none &&
	    blockdev --rereadpt "$SD1" && until_true 10 test -b "${SD1}2" &&
	    p1=${SD1}1 p2=${SD1}2
}
overlapping()
{
	local why
	isohybrid 2048 && mounted "$p2" || return
	why="$p1: ${p2#/dev/} is mounted on $PWD/m.*force=mounted writes anyway\)$"
	kept refused "$why" if=src of="$p1" bs=512 seek=2048 &&
	    kept refused "$why" if=src of="$p1" bs=512 seek=2040 &&
	    kept refused "$why" if=src of="$p1" bs=512 seek=6143 count=1 &&
	    exits 0 "$pardd" if=src of="$p1" bs=512 seek=6144 && complete &&
	    exits 0 "$pardd" if=src of="$p1" bs=512 seek=1900 && complete
}
it "refuses a partition where another one that is mounted shares its bytes" overlapping
enclosing()
{
	isohybrid 2048 && mounted "$p1" &&
	    kept refused "$p2: ${p1#/dev/} is mounted on $PWD/m.*force=mounted writes anyway\)$" \
		if=src of="$p2"
}
it "refuses a partition within one that is mounted" enclosing
from_zero()
{
	isohybrid 0 && mounted "$p2" &&
	    kept refused "${p2#/dev/} is mounted on $PWD/m.*force=mounted writes anyway\)$" \
		if=src of="$p1" count=1
}
it "takes the start of a partition that begins at byte 0 for the partition table" from_zero

# -------------------------------------------------------------- device mapper

# volume NAME START LENGTH...: of the disk's sectors, one after the other
volume()
{
	local name=$1 at=0 table=
	shift
	while (($# > 0)); do
		table+="$at $2 linear $SD1 $1"$'\n'
		at=$((at + $2))
		shift 2
	done
	dmsetup create "$name" --table "${table%$'\n'}" &&
	    undo dmsetup remove --retry "$name" && dmsetup mknodes &&
	    until_true 5 test -b "/dev/mapper/$name"
}
volumes()
{
	local a=/dev/mapper/a b=/dev/mapper/b c=/dev/mapper/c
	volume a 0 2048 8192 2048 && volume b 2048 4096 && volume c 9000 4096 || return
	exits 0 "$pardd" if=$a of=$b && complete && same <(head -c 2M $a) <(head -c 2M $b) &&
	    exits 0 "$pardd" if=$a of=$a bs=512 count=100 seek=100 &&
	    exits 0 "$pardd" if=$a of=$c bs=512 skip=2048 count=808 &&
	    exits 0 "$pardd" if=$a of="$SD1" bs=512 count=10 seek=2048 force=held || return
	refused 'force=overlap writes anyway\)$' if=$a of=$c bs=512 skip=2048 count=809 &&
	    refused 'force=overlap writes anyway\)$' if=$a of=$a bs=512 count=101 seek=100 &&
	    refused 'force=overlap writes anyway\)$' if=$a of="$SD2" bs=512 skip=2047 count=1 seek=2047 \
		force=held
}
volume_file()
{
	volume a 0 4096 && volume b 4096 4096 && mke2fs -q -F -t ext2 /dev/mapper/a && mkdir m &&
	    mount -t ext4 /dev/mapper/a m && undo umount "$PWD/m" &&
	    "$blocks" make m/src 64k 3 && mount -o remount,ro m && sync &&
	    exits 0 "$pardd" if=m/src of=/dev/mapper/b && complete &&
	    exits 0 "$pardd" if=m/src of=/dev/mapper/b force=mounted &&
	    kept refused 'overlaps the one' if=m/src of=/dev/mapper/a force=mounted &&
	    kept refused 'overlaps the one' if=m/src of="$SD1" force=held
}
# A loop device claims nothing, so the device mapper takes the disk all the same.
volume_looped()
{
	volume a 2048 4096 && loop "$SD1" --offset 2M --sizelimit 1M && mounted "$dev" &&
	    kept refused "the loop device ${dev#/dev/} lies on $first.*force=looped" \
		if=src of=/dev/mapper/a &&
	    exits 0 "$pardd" if=src of=/dev/mapper/a force=looped && complete
}
volume_beside()
{
	truncate -s 4M img && loop img && one=$dev && loop img && two=$dev &&
	    dmsetup create a --table "0 8192 linear $two 0" && undo dmsetup remove --retry a &&
	    dmsetup mknodes && mounted "$one" &&
	    refused "${one#/dev/} is mounted on $PWD/m" if=src of=/dev/mapper/a &&
	    exits 0 "$pardd" if=src of=/dev/mapper/a force=mounted && complete
}
volume_overlapping()
{
	isohybrid 2048 && mounted "$p2" && dmsetup create a --table "0 12288 linear $p1 0" &&
	    undo dmsetup remove --retry a && dmsetup mknodes &&
	    kept refused "${p2#/dev/} is mounted on $PWD/m" if=src of=/dev/mapper/a bs=512 seek=2048 &&
	    exits 0 "$pardd" if=src of=/dev/mapper/a && complete
}
# Both hold the disk, and nothing else keeps them apart.
volume_sharing()
{
	volume a 0 4096 && volume b 2048 4096 && volume c 8192 2048 && mounted /dev/mapper/a &&
	    kept refused "is mounted on $PWD/m" if=src of=/dev/mapper/b bs=512 seek=2047 count=1 &&
	    exits 0 "$pardd" if=src of=/dev/mapper/b bs=512 seek=2048 count=10 && complete &&
	    exits 0 "$pardd" if=src of=/dev/mapper/c bs=512 count=10 &&
	    exits 0 "$pardd" if=src of=/dev/mapper/b force=mounted && complete
}
# mapped NAME TABLE
mapped()
{
	dmsetup create "$1" --table "$2" && undo dmsetup remove --retry "$1" && dmsetup mknodes &&
	    until_true 5 test -b "/dev/mapper/$1"
}
volume_striped()
{
	volume a 0 4096 && mapped b "0 4096 striped 2 8 $SD1 8192 $SD1 2048" &&
	    mapped c "0 4096 striped 2 8 $SD1 8192 $SD1 4096" && mounted /dev/mapper/a &&
	    kept refused "is mounted on $PWD/m" if=src of=/dev/mapper/b &&
	    exits 0 "$pardd" if=src of=/dev/mapper/c && complete
}
stripes_in_use()
{
	volume a 4096 4096 && mapped b "0 4096 striped 2 8 $SD1 8192 $SD1 2048" &&
	    mapped c "0 4096 striped 2 8 $SD1 12288 $SD1 6144" && mounted /dev/mapper/c &&
	    kept refused "is mounted on $PWD/m" if=src of=/dev/mapper/a bs=512 seek=2048 &&
	    exits 0 "$pardd" if=src of=/dev/mapper/a && complete && exits 0 "$pardd" if=src of=/dev/mapper/b && complete
}
volume_unknown()
{
	modprobe dm_flakey && mapped a "0 4096 flakey $SD1 0 1000 0" && volume b 2048 4096 && mounted /dev/mapper/a &&
	    kept refused "is mounted on $PWD/m" if=src of=/dev/mapper/b &&
	    exits 0 "$pardd" if=src of=/dev/mapper/b force=mounted && complete
}
# What the table does not tell, here: a target that is not linear.
volume_other()
{
	modprobe dm_flakey && volume a 0 4096 || return
	dmsetup create b --table "0 4096 flakey $SD1 4096 1000 0" && undo dmsetup remove --retry b &&
	    dmsetup create c --table "0 4096 flakey $SD1 8192 1000 0" &&
	    undo dmsetup remove --retry c && dmsetup mknodes &&
	    exits 0 "$pardd" if=/dev/mapper/b of=/dev/mapper/c && complete &&
	    refused 'force=overlap writes anyway\)$' if=/dev/mapper/b of=/dev/mapper/a &&
	    refused 'force=overlap writes anyway\)$' if=/dev/mapper/b of="$SD1" force=held
}
if able 'type -P dmsetup' "no dmsetup"; then
	it "copies from volume to volume on one disk, where they are apart" volumes
	it "copies a file on one volume onto another" volume_file
	it "refuses a volume on bytes that a loop device shows" volume_looped
	it "... where that lies on the same file as the volume's" volume_beside
	it "... and on bytes that another partition has, which is mounted" volume_overlapping
	it "... and on bytes of another volume, which is mounted" volume_sharing
	it "... also if the volume is striped" volume_striped
	it "... and if the other one is" stripes_in_use
	it "... or if nobody knows where that lies" volume_unknown
	it "tells two mapped devices from what they lie on" volume_other
fi

# ------------------------------------------------------------------------- md

# A mirror of two loop devices is a disk that is in two places.
mirror()
{
	local one two
	truncate -s 4M img1 img2 && "$blocks" make src 1M 3 && loop img1 && one=$dev &&
	    loop img2 && two=$dev || return
	mdadm --create /dev/md7 --run --level=1 --raid-devices=2 "$one" "$two" </dev/null &&
	    undo mdadm --stop /dev/md7 && until_true 5 test -b /dev/md7 || return
	refused "${one#/dev/} is held by md7; end that first \(force=held" if=src of="$one" &&
	    refused "${two#/dev/} is held by md7" if=src of="$two" &&
	    refused "loop device ${one#/dev/} lies on the file" if=src of=img1 conv=notrunc &&
	    refused 'force=overlap writes anyway\)$' if="$two" of=/dev/md7 count=1 &&
	    refused 'force=overlap writes anyway\)$' if=/dev/md7 of="$two" count=1 force=held &&
	    refused 'force=overlap writes anyway\)$' if=img1 of=/dev/md7 count=1 || return
	exits 0 "$pardd" if=src of=/dev/md7 && complete && same src <(head -c 1M /dev/md7) &&
	    mounted /dev/md7 && refused "md7 is mounted on $PWD/m" if=src of=/dev/md7
}
given 'type -P mdadm && modprobe -aq md_mod raid1' "no mdadm" \
    it "refuses what a mirror lies on, and copies onto the mirror" mirror
