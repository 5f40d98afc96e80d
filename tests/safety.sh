# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154
#
# Sourced, after lib.sh, by each *.t about uses of a target: a disk with partitions, ways
# to use one, and what must be refused then.  Needs root.

hold=$tools/hold part=$tools/part
[[ $VARIANT != tsan ]] || exit 0	# one thread refuses, before there are others

# A loop device keeps its partitions when it is detached.
clear_parts()
{
	local node
	for node in "$1"p*; do
		"$part" del "$1" "${node#"$1"p}" 2>/dev/null
	done
}
probe()
{
	local dev status
	truncate -s 8M "$scratch/probe" && dev=$(losetup --find --show "$scratch/probe") || return
	clear_parts "$dev"
	"$part" add "$dev" 1 2048 64 && "$part" del "$dev" 1
	status=$?
	losetup -d "$dev"
	return $status
}
needs '((EUID == 0))' -- "not root"
needs 'command -v losetup mke2fs mkswap unshare script' probe -- "no loop devices with partitions"
probe_swap()
{
	truncate -s 1M "$scratch/swap" && mkswap "$scratch/swap" &&
	    dev=$(losetup --find --show "$scratch/swap") || return
	swapon "$dev" && swapoff "$dev"
	local status=$?
	losetup -d "$dev"
	return $status
}
kinds=(mounted read_only held looped)
# In a chroot whose root is not a mount point, nothing can be mounted privately.
alone=
if unshare -m --propagation private true 2>/dev/null; then
	alone=1
	kinds+=(elsewhere)
fi
# Like "it", for cases that need them.
apart()
{
	if [[ -n $alone ]]; then
		it "$@"
	else
		skip "no mounts of our own" "$1"
	fi
}
# There the file of a loop device has a name, too; below a chroot it has none.
same_names()
{
	local dev name
	truncate -s 1M "$scratch/probe" && dev=$(losetup --find --show "$scratch/probe") || return
	name=$(unshare -m --propagation private cat "/sys/block/${dev#/dev/}/loop/backing_file")
	losetup -d "$dev"
	[[ $name = "$(realpath "$scratch/probe")" ]]
}
apart_by_name()
{
	if [[ -z $alone ]] || same_names 2>/dev/null; then
		apart "$@"
	else
		skip "a chroot" "$1"
	fi
}
! probe_swap >/dev/null 2>&1 || kinds+=(swap)

# A disk of 8 MiB with two partitions of 2 MiB: $d, $p1 and $p2, sectors 2048 to
# 6143 and 7168 to 11263; its medium is disk.img, filled with the pattern of
# seed 9.  There is no table on it: the kernel is told.
disk()
{
	local n
	"$blocks" make disk.img 8M 9 && "$blocks" make src 64k 1 && loop disk.img || return
	d=$dev p1=${d}p1 p2=${d}p2
	clear_parts "$d"
	for n in 1 2; do
		# its user may take a while to go
		undo timeout 10 sh -c 'while ! "$0" del "$1" "$2" &&
		    test -e "$1p$2"; do sleep 0.05; done' "$part" "$d" $n
	done
	"$part" add "$d" 1 2048 4096 && "$part" add "$d" 2 7168 4096 && until_true 20 test -b "$p2"
}
# as_it_was: nothing on the disk has changed.  Not compared are the superblock and group
# descriptors of a mounted file system, and what the kernel may swap to.
snapshot()
{
	sync && blockdev --flushbufs "$d" && cp disk.img before
}
as_it_was()
{
	local to=1049600 from=1056768 rest=3678208
	case ${swap_on-} in
	"$d")	to=8192 from=3671040 rest=8M ;;
	"$p1")	to=1052672 from=3145728 ;;
	esac
	{ cmp -n 1024 before disk.img && cmp -i 8k -n $((to - 8192)) before disk.img &&
	    cmp -i $from -n $((3671040 - from)) before disk.img && cmp -i $rest before disk.img; } ||
	    fail "$(cmp -l before disk.img | wc -l) bytes are others; now" \
		"$(od -A d -t x1z -N 64 disk.img)"
}

# Ways to use a partition: $1 is its node, $name the word of force=, and $by what the
# message says about it.
mounted()
{
	name=mounted by="is mounted on $PWD/m;"
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount "$1" m && undo umount "$PWD/m"
}
read_only()
{
	name=mounted by="is mounted on $PWD/m;"
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount -r "$1" m && undo umount "$PWD/m"
}
# In a mount namespace of its own: no table of mounts here has it.
elsewhere()
{
	name=held by="is in use .*mounted elsewhere"
	mke2fs -q -F -t ext2 "$1" && mkdir m || return
	unshare -m --propagation private sh -c 'mount -r "$0" m && : >there && exec sleep 1000' "$1" &
	until_true 20 test -e there && ! grep -q " $PWD/m " /proc/self/mountinfo
}
held()
{
	name=held by="is in use .by another program"
	"$hold" excl "$1" sh -c ': >there && exec sleep 1000' &
	until_true 20 test -e there
}
looped()
{
	name=looped by="the loop device loop[0-9]+ lies on"
	loop "$1"
}
swap()
{
	name=swap by="is swap space" swap_on=$1
	mkswap -q "$1" && swapon "$1" && undo swapoff "$1"
}

# turned_away OPERANDS...: refused in one line that names the use and its override, with
# and without the other overrides, and by --dry-run too
turned_away()
{
	refused "$by.*force=$name writes anyway\)$" if=src "$@" &&
	    refused "$by.*force=$name writes anyway\)$" if=src "$@" \
		force="$(other_words "$name")" &&
	    refused "$by.*force=$name writes anyway\)$" if=src "$@" -d && as_it_was
}
# arrived BYTE: src is at this byte, apart from what as_it_was does not compare
arrived()
{
	tail -c +$(($1 + 1)) disk.img | head -c 65536 >there.now
	if (($1 == 1048576)) && [[ ${name-} = mounted ]]; then
		cmp -n 1024 src there.now && cmp -i 8k src there.now
	else
		cmp src there.now
	fi
}
# taken BYTE OPERANDS...: copied to that byte of the disk, and nothing else changed
taken()
{
	local at=$1
	shift
	exits 0 "$pardd" if=src "$@" && complete && sync && arrived "$at" || return
	dd if=src of=before bs=64k oflag=seek_bytes seek="$at" conv=notrunc status=none
	as_it_was
}
# without FOLDERS COMMAND...: where these directories are empty, as in a chroot
without()
{
	unshare -m --propagation private sh -c 'for folder in $0; do
		mount -t tmpfs none "$folder" || exit 125
	done
	exec "$@"' "$@"
}
# away FOLDERS REGEX OPERANDS...: refused there, in one line, with nothing changed
can_mount()
{
	mkdir -p mnt && mount "$1" mnt 2>/dev/null && umount mnt
}
