#!/usr/bin/env bash
# Clones of real file systems by used=only: every file is there, byte for byte, and
# the file system's own checker finds nothing.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
[[ $VARIANT != tsan ]] || exit 0	# used.t has what is said there
needs can_loop 'command -v sfdisk jq' -- "no loop devices, or no sfdisk, jq"

# here KIND: what makes it, mounts it and checks it is here
here()
{
	case $1 in
	ext4)	command -v mke2fs ;;
	xfs)	command -v mkfs.xfs xfs_repair ;;
	btrfs)	command -v mkfs.btrfs ;;
	ntfs)	command -v mkntfs ntfs-3g fuser && [[ -c /dev/fuse ]] ;;
	exfat)	command -v mkfs.exfat mount.exfat-fuse && [[ -c /dev/fuse ]] ;;
	fat*)	command -v mkfs.fat mcopy ;;
	esac >/dev/null
}
declare -A size=([ext4]=64M [xfs]=300M [btrfs]=256M [ntfs]=64M [exfat]=64M [fat16]=48M [fat32]=64M)

# full KIND: the file img with files, whose digests are in the file before.  Made
# once.  The kernel has no FAT here.
full()
{
	local kept=$scratch/$1
	if [[ ! -e $kept.sums ]]; then
		head -c 1000000 /dev/urandom >large
		make_fs "${size[$1]}" "$1" || return
		if [[ $1 = fat* ]]; then
			mkdir -p mnt && fill && (cd mnt && mcopy -s -i ../img a c ::/) &&
			    mdel -i img '::/c/large 3' && rm 'mnt/c/large 3' && digests >before && rm -r mnt || return
		else
			mount_fs "$1" && fill && digests >before && leave_fs "$1" || return
		fi
		[[ -s before ]] || fail "no files" || return
		cp --sparse=always img "$kept" && cp before "$kept.sums" || return
	else
		cp --sparse=always "$kept" img && cp "$kept.sums" before
	fi
}
# has_all KIND FILE: it has all files
has_all()
{
	rm -f after
	if [[ $1 = fat* ]]; then
		rm -rf mnt && mkdir mnt && mcopy -s -i "$2" ::/a ::/c mnt && digests >after
	else
		mount_fs "$1" "$2" && digests >after && leave_fs "$1" "$2"
	fi && same before after
}
# sound KIND FILE: ... and its checker finds nothing
sound()
{
	check_fs "$1" "$2" && has_all "$1" "$2"
}
without='^pardd: complete, flushed, without [0-9.]+ MB that 1 file system calls free$'
# fewer: no more than half of it was written
fewer()
{
	jq -es 'last | .bytes_written * 2 < .bytes_written + .bytes_outside' json >/dev/null ||
	    fail "$(jq -s 'last | [.bytes_written, .bytes_outside]' json)"
}

image()
{
	full "$1" && exits 0 "$pardd" if=img of=copy used=only json=json && last_says "$without" &&
	    fewer && size_is copy "$(stat -c %s img)" && sound "$1" copy
}
# disk TABLE: img as the first of two partitions
disk()
{
	local sectors=$(($(stat -c %s img) / 512))
	truncate -s $((sectors * 512 + 8388608)) disk && sfdisk -q disk <<-EOT &&
		label: $1
		start=2048, size=$sectors
		start=$((sectors + 4096)), size=4096
	EOT
	    dd if=img of=disk bs=1M seek=1 conv=notrunc,sparse status=none
}
# Old data of the target do not show where blocks are left out.
cloned()
{
	full "$1" && disk gpt && "$blocks" make copy "$(stat -c %s disk)" 3 && loop copy &&
	    exits 0 "$pardd" if=disk of="$dev" used=only json=json && last_says "$without" && fewer &&
	    detach "$dev" "$PWD/copy" && cmp -n 1M disk copy &&
	    dd if=copy of=part bs=1M skip=1 count=$(($(stat -c %s img) >> 20)) status=none && sound "$1" part
}
parted()
{
	full "$1" && disk dos && loop disk && exits 0 "$pardd" if="$dev" ipart=1 of=copy used=only verify=1 json=json &&
	    last_says "^pardd: complete, flushed, verified, without" && fewer && sound "$1" copy
}
kinds=(xfs btrfs ntfs exfat fat16 fat32)
[[ $VARIANT = plain ]] || kinds=(btrfs ntfs)
for kind in "${kinds[@]}"; do
	if able 'here "$kind"' "no tools for $kind"; then
		it "copies an image of a $kind, and every file is there" image "$kind"
		it "... the partition of a disk" parted "$kind"
		it "... the disk, onto one that was full" cloned "$kind"
	fi
done

# crashed KIND: copied from below while it is mounted, when the files have been
# written as far as fsync(2) sees to it.  What it says decides what is copied;
# all files are there in any case.
crashed()
{
	local i
	head -c 300000 /dev/urandom >large
	make_fs "${size[$1]}" "$1" && mount_fs "$1" && mkdir mnt/a || return
	for ((i = 0; i < 20; i++)); do
		cp large "mnt/a/f$i" && echo "$i" >>"mnt/a/f$i" && sync "mnt/a/f$i" mnt/a || return
	done
	for i in {1..30}; do
		cp large mnt/a/last && sync mnt/a/last mnt/a && cp --sparse=always img crash || return
		! logged "$1" || break
	done
	digests >before && leave_fs "$1" || return
	"$blocks" make copy "$(stat -c %s img)" 4 && loop copy &&
	    exits 0 "$pardd" if=crash of="$dev" used=only && detach "$dev" "$PWD/copy" || return
	if [[ -n ${2-} ]]; then
		says "note: .*$2: copied whole\$" && same crash copy || return
	fi
	has_all "$1" copy
}
kinds=("xfs:its log must be replayed" "btrfs:its log tree must be replayed" ntfs: exfat:)
[[ $VARIANT = plain ]] || kinds=()
for kind in ${kinds[@]+"${kinds[@]}"}; do
	if here "${kind%:*}"; then
		it "loses no file of a crashed ${kind%:*}" crashed "${kind%:*}" "${kind#*:}"
	fi
done
