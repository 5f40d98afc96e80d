# shellcheck shell=bash
# shellcheck disable=SC2154
#
# Sourced, after lib.sh, by each *.t with real file systems, which are made, filled and
# checked by their own tools.

# make_fs SIZE KIND [OPTIONS]: in the file img
make_fs()
{
	local size=$1 kind=$2
	shift 2
	truncate -s "$size" img
	case $kind in
	ext*)	mke2fs -q -F -t "$kind" "$@" img ;;
	xfs)	mkfs.xfs -q "$@" img ;;
	btrfs)	mkfs.btrfs -q "$@" img ;;
	ntfs)	mkntfs -q -F -f "$@" img ;;
	fat*)	mkfs.fat -F "${kind#fat}" "$@" img ;;
	exfat)	mkfs.exfat "$@" img ;;
	esac >made 2>&1 || { cat made; return 1; }
}
# make_spoilt [GOOD]: an ext4 that finds out, when it writes back what it has promised
# room for, that it can trust no bitmap, or only that line of them: it drops that, and
# the next flush succeeds.  Only who began to write back is told, or nobody.
make_spoilt()
{
	local at n
	make_fs 64M ext4 -g 1024 -b 4096 -I 512 -N 256 -O metadata_csum,inline_data && mount_fs ext4 || return
	for n in 32 16 8 4 2 1; do		# a bitmap that was never used is not read
		fallocate -l ${n}M mnt/$n
	done 2>/dev/null
	rm mnt/[0-9]* && umount mnt || return
	for at in $(dumpe2fs img 2>/dev/null | sed -n 's/.*Block bitmap at \([0-9]*\).*/\1/p' | sed "${1:-999}d"); do
		printf '\252' | dd of=img bs=1 seek=$((at * 4096 + 100)) conv=notrunc status=none || return
	done
}
# mount_fs KIND [FILE [OPTIONS]]: on mnt
mount_fs()
{
	local file=${2-img}
	mkdir -p mnt
	case $1 in
	ntfs)	ntfs-3g "$file" mnt ;;
	exfat)	loop "$file" && mount.exfat-fuse "$dev" mnt >mounted ;;
	# what fsync wrote stays in the log tree, however slow the machine is
	btrfs)	mount -o loop,noatime,commit=300 "$file" mnt ;;
	xfs)	mount -o loop,noatime,nouuid "$file" mnt ;;
	*)	mount -o loop,noatime "$file" mnt ;;
	esac || return
	undo umount -l "$PWD/mnt"
}
# leave_fs KIND [FILE]
# Its last writes may come after umount(8): FUSE does not wait for them, nor does the
# kernel if another mount namespace has been made meanwhile.
leave_fs()
{
	local file=${2-img}
	until_true 20 umount mnt || return
	case $1 in
	exfat)	until_true 20 losetup --detach "$dev" ;;
	ntfs)	until_true 20 exclusive "$file" ;;
	*)	until_true 60 detached "$file" ;;
	esac
}
# logged KIND: crash is what fsync left; any sync(2) on the machine empties a log tree
logged()
{
	[[ $1 != btrfs ]] || btrfs inspect-internal dump-super crash | grep -q '^log_root\s*[1-9]'
}
exclusive()
{
	! fuser "$1"
} >/dev/null 2>&1
detached()
{
	[[ -z $(losetup --associated "$1") ]]
}

# fill: large and small files, directories, and gaps where files were removed.  Small
# files are made without a process for each.
fill()
{
	local i text
	mkdir -p mnt/a/b mnt/c && text=$(head -c 30000 large | base64 -w 0) || return
	for ((i = 0; i < 300; i++)); do
		printf %s "${text:0:i * i / 3 + 10}" >"mnt/a/b/small $i" || return
	done
	for ((i = 0; i < 8; i++)); do
		cp large "mnt/c/large $i" || return
	done
	sync -f mnt
	rm mnt/a/b/*[357] mnt/c/*[25] && cp large "mnt/a/in the gaps"
}
digests()
{
	(cd mnt && find . -type f -exec sha256sum {} +) | sort -k 2
}
# check_fs KIND [FILE]: its own checker finds nothing
check_fs()
{
	local file=${2-img}
	case $1 in
	ext*)	e2fsck -fn "$file" ;;
	xfs)	xfs_repair -n "$file" ;;
	btrfs)	btrfs check --check-data-csum "$file" ;;
	ntfs)	ntfsfix -n "$file" ;;
	fat*)	fsck.fat -n "$file" ;;
	exfat)	fsck.exfat -n "$file" ;;
	esac >checked 2>&1 || { cat checked; return 1; }
}
