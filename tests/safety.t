#!/usr/bin/env bash
# What is refused before a byte is written, each override, and that the target
# is held meanwhile.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
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
	truncate -s 8M "$scratch/probe" &&
	    dev=$(losetup --find --show "$scratch/probe") || return
	clear_parts "$dev"
	"$part" add "$dev" 1 2048 64 && "$part" del "$dev" 1
	status=$?
	losetup -d "$dev"
	return $status
}
needs '((EUID == 0))' -- "not root"
needs 'command -v losetup mke2fs mkswap unshare script' \
    probe -- "no loop devices with partitions"
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
# In a chroot whose root is no mount point there are no mounts of one's own.
alone=
if unshare -m --propagation private true 2>/dev/null; then
	alone=1
	kinds+=(elsewhere)
fi
# As "it", for what needs them.
apart()
{
	if [[ -n $alone ]]; then
		it "$@"
	else
		skip "no mounts of our own" "$1"
	fi
}
# What a loop device lies on has its name there, too; below a chroot it has not.
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
if probe_swap >/dev/null 2>&1; then
	kinds+=(swap)
else
	skip "no swap" "refuses swap space"
fi

# A disk of 8 MiB with two partitions of 2 MiB: $d, $p1 and $p2, sectors 2048 to
# 6143 and 7168 to 11263; its medium is disk.img, filled with the pattern of
# seed 9.  There is no table on it: the kernel is told.
disk()
{
	local n
	"$blocks" make disk.img 8M 9 && "$blocks" make src 64k 1 &&
	    loop disk.img || return
	d=$dev p1=${d}p1 p2=${d}p2
	clear_parts "$d"
	for n in 1 2; do
		# what used it may be a while in going
		undo timeout 10 sh -c 'while ! "$0" del "$1" "$2" &&
		    test -e "$1p$2"; do sleep 0.05; done' "$part" "$d" $n
	done
	"$part" add "$d" 1 2048 4096 && "$part" add "$d" 2 7168 4096 &&
	    until_true 20 test -b "$p2"
}
# as_it_was: nothing changed on the disk since.  Left out is where a file system
# that is mounted has its superblock and its group descriptors, and what the
# kernel may swap to.
snapshot()
{
	sync && blockdev --flushbufs "$d" && cp disk.img before
}
as_it_was()
{
	local to=1049600 from=1056768
	case ${swap_on-} in
	"$d")	to=8192 from=8M ;;
	"$p1")	to=1052672 from=3M ;;
	esac
	{ cmp -n 1024 before disk.img && cmp -i 8k -n $((to - 8192)) before disk.img &&
	    cmp -i $from before disk.img; } ||
	    fail "$(cmp -l before disk.img | wc -l) bytes are others; now" \
		"$(od -A d -t x1z -N 64 disk.img)"
}

# Ways to use a partition: $1 is its node, $name what force= calls it, and $by
# what the message tells of it.
mounted()
{
	name=mounted by="is mounted on $PWD/m;"
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount "$1" m &&
	    undo umount "$PWD/m"
}
read_only()
{
	name=mounted by="is mounted on $PWD/m;"
	mke2fs -q -F -t ext2 "$1" && mkdir m && mount -r "$1" m &&
	    undo umount "$PWD/m"
}
# In a namespace of its own: no table here tells.
elsewhere()
{
	name=held by="is in use .*mounted elsewhere"
	mke2fs -q -F -t ext2 "$1" && mkdir m || return
	unshare -m --propagation private sh -c \
	    'mount -r "$0" m && : >there && exec sleep 1000' "$1" &
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
others()
{
	local word list=
	for word in mounted swap held looped overlap; do
		[[ $word = "$1" ]] || list+=,$word
	done
	echo "${list#,}"
}

# turned_away OPERANDS...: in one line that names the user and the override,
# with and without the other overrides, and by --dry-run too
turned_away()
{
	refused "$by.*force=$name writes all the same\)$" if=src "$@" &&
	    refused "$by.*force=$name writes all the same\)$" if=src "$@" \
		force="$(others "$name")" &&
	    refused "$by.*force=$name writes all the same\)$" if=src "$@" -d && as_it_was
}
# arrived BYTE: src is there, but for what as_it_was leaves out
arrived()
{
	tail -c +$(($1 + 1)) disk.img | head -c 65536 >there.now
	if (($1 == 1048576)) && [[ ${name-} = mounted ]]; then
		cmp -n 1024 src there.now && cmp -i 8k src there.now
	else
		cmp src there.now
	fi
}
# taken BYTE OPERANDS...: copied to that byte of the disk, and nothing else is
taken()
{
	local at=$1
	shift
	exits 0 "$pardd" if=src "$@" && complete && sync && arrived "$at" || return
	dd if=src of=before bs=64k oflag=seek_bytes seek="$at" conv=notrunc \
	    status=none
	as_it_was
}

refuses()
{
	disk && "$1" "$p1" && snapshot || return
	case $2 in
	disk)	turned_away of="$d" ;;
	part)	turned_away of="$p1" ;;
	inside)	turned_away of="$d" bs=512 seek=6143 count=1 ;;
	across)	turned_away of="$d" bs=512 seek=2000 count=49 ;;
	head)	turned_away of="$d" bs=512 seek=33 count=1 ;;
	tail)	turned_away of="$d" bs=512 seek=16351 count=1 ;;
	esac
}
allows()
{
	disk && "$1" "$p1" && snapshot || return
	case $2 in
	part)	taken 3670016 of="$p2" ;;
	inside)	taken 3670016 of="$d" bs=512 seek=7168 ;;
	gap)	taken 3145728 of="$d" bs=512 seek=6144 ;;
	front)	taken 17408 of="$d" bs=512 seek=34 ;;
	end)	taken 8306176 of="$d" bs=512 seek=$((16351 - 128)) ;;
	esac
}
declare -A place=([disk]="onto the disk" [part]="onto that partition"
    [inside]="into its last sector" [across]="onto its first sector"
    [head]="onto the last sector of the GPT" [tail]="onto the first of its copy")
declare -A free=([part]="onto another partition" [inside]="into that, by the disk"
    [gap]="into the gap behind it" [front]="behind the GPT" [end]="before its copy")
# Each use at each place; where the program is slow, one use at each place, and
# each use at one.
everywhere()
{
	((weight == 1)) || [[ $1 = mounted ]]
}
for kind in "${kinds[@]}"; do
	for where in disk part inside across head tail; do
		[[ $where = part ]] || everywhere "$kind" || continue
		it "$kind partition: refuses to copy ${place[$where]}" refuses "$kind" $where
	done
	for where in part inside gap front end; do
		[[ $where = inside ]] || everywhere "$kind" || continue
		it "$kind partition: copies ${free[$where]}" allows "$kind" $where
	done
done
# The kernel lets nobody write to a swapping node itself: ETXTBSY.
overridden()
{
	if [[ $name = swap ]]; then
		exits 76 "$pardd" if=src "${@:2}" && as_it_was
	else
		taken "$@"
	fi
}
override_part()
{
	disk && "$1" "$p1" && snapshot && overridden 1048576 of="$p1" force="$name"
}
override_disk()
{
	disk && "$1" "$p1" && snapshot &&
	    taken 1048576 of="$d" bs=512 seek=2048 force="$name"
}
override_head()
{
	disk && "$1" "$p1" && snapshot && taken 0 of="$d" force="$name"
}
for kind in "${kinds[@]}"; do
	it "$kind partition: is written by its override" override_part "$kind"
	everywhere "$kind" || continue
	it "$kind partition: is written through the disk" override_disk "$kind"
	it "$kind partition: the disk's head is written" override_head "$kind"
done

# ------------------------------------------------------- the disk as a whole

whole()
{
	disk && "$1" "$d" && snapshot &&
	    turned_away of="$d" && turned_away of="$d" bs=512 seek=7168 &&
	    turned_away of="$p1"
}
it "disk under a loop device: refuses it and its partitions" whole looped
gap_of_whole()
{
	disk && "$1" "$d" && snapshot && turned_away of="$d" bs=512 seek=6144 count=8
}
it "disk under a loop device: refuses its gaps" gap_of_whole looped
it "disk that is held: refuses it and its partitions" whole held
no_parts()
{
	"$blocks" make disk.img 8M 9 && "$blocks" make src 64k 1 &&
	    loop disk.img && d=$dev p1=none && "$1" "$d" && snapshot &&
	    turned_away of="$d" && turned_away of="$d" bs=512 seek=8192 &&
	    overridden 0 of="$d" force="$name"
}
for kind in "${kinds[@]}"; do
	everywhere "$kind" || continue
	it "$kind disk without partitions: refused, and overridden" no_parts "$kind"
done
just_open()
{
	disk && snapshot || return
	"$hold" open "$d" sh -c ': >there && exec sleep 1000' &
	until_true 20 test -e there && taken 0 of="$d"
}
it "copies onto a disk that is merely open elsewhere" just_open

# ----------------------------------------------------------- several at once

two_uses()
{
	disk && mounted "$p1" && looped "$p1" && snapshot &&
	    refused 'mounted.*force=mounted' if=src of="$p1" &&
	    refused 'loop.*force=looped' if=src of="$p1" force=mounted &&
	    refused 'mounted.*force=mounted' if=src of="$p1" force=looped &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    as_it_was && taken 1048576 of="$p1" force=mounted,looped
}
it "asks for an override for each of two uses" two_uses
held_too()
{
	disk && looped "$p1" && held "$p1" && snapshot &&
	    refused 'loop.*force=looped' if=src of="$p1" force=held &&
	    refused 'in use.*force=held' if=src of="$p1" force=looped &&
	    as_it_was && taken 1048576 of="$p1" force=held,looped
}
it "does not take a loop device on top for the reason of a failed claim" held_too
two_parts()
{
	disk && mounted "$p1" && looped "$p2" && snapshot &&
	    refused 'p1 is mounted.*force=mounted' if=src of="$d" &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    refused 'p1 is mounted.*force=mounted' if=src of="$d" force=looped &&
	    as_it_was && taken 0 of="$d" force=mounted force=looped
}
it "asks for an override for each of two partitions" two_parts
disk_and_part()
{
	disk && mounted "$p1" && looped "$d" && snapshot &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    refused 'p1 is mounted.*force=mounted' if=src of="$d" force=looped &&
	    as_it_was && taken 0 of="$d" force=mounted,looped
}
it "asks for an override for disk and partition" disk_and_part
over_mounted()
{
	disk && mounted "$p1" && snapshot && mount -t tmpfs none m &&
	    undo umount "$PWD/m" && turned_away of="$p1"
}
it "refuses a partition whose mount point is mounted over" over_mounted
bound()
{
	disk && mounted "$p1" && mkdir m/sub other && mount --bind m/sub other &&
	    undo umount "$PWD/other" && umount m && snapshot || return
	by="is mounted on $PWD/other;"
	turned_away of="$p1"
}
it "refuses a partition that only a bind mount is left of" bound
other_node()
{
	disk && mke2fs -q -F -t ext2 "$p1" && mkdir m &&
	    mknod node b $((16#$(stat -c %t "$p1"))) $((16#$(stat -c %T "$p1"))) &&
	    mount node m && undo umount "$PWD/m" && snapshot || return
	name=mounted by="p1 is mounted on $PWD/m;"
	turned_away of="$p1" && turned_away of=node && turned_away of="$d"
}
it "refuses a partition that is mounted by another node of it" other_node
padded_into()
{
	disk && mounted "$p2" && printf x >src && snapshot &&
	    turned_away of="$d" bs=1M seek=3 conv=sync
}
it "refuses what only the padding of conv=sync would reach" padded_into
nothing_to_do()
{
	disk && mounted "$p1" && snapshot &&
	    exits 0 "$pardd" if=src of="$p1" count=0 && as_it_was
}
it "copies nothing onto a mounted partition with count=0" nothing_to_do
# The kernel shows an extended partition as its first record, and logical ones:
# sectors 12288 and 12289; 14336 to 15359; 15872 to 16127.
records()
{
	disk && mounted "$p1" && "$part" add "$d" 3 12288 2 &&
	    undo "$part" del "$d" 3 && "$part" add "$d" 5 14336 1024 &&
	    undo "$part" del "$d" 5 && "$part" add "$d" 6 15872 256 &&
	    undo "$part" del "$d" 6 && until_true 20 test -b "${d}p6" && snapshot || return
	local at
	for at in 12288 12300 14335 15360 15871; do
		turned_away of="$d" bs=512 seek=$at count=1 || fail "at $at" || return
	done
	turned_away of="${d}p3" count=1 && turned_away of="$d" bs=512 seek=15300 count=61 &&
	    taken 7340032 of="${d}p5" && taken 7340032 of="$d" bs=512 seek=14336 &&
	    taken 6225920 of="$d" bs=512 seek=12160 &&
	    taken 8257536 of="$d" bs=512 seek=16128 count=128
}
it "takes extended boot records for the partition table" records
by_stdout()
{
	disk && mounted "$p1" && snapshot || return
	"$pardd" if=src 1<>"$p1" 2>err
	status=$? && : >out
	[[ $status = 101 ]] && one_line 'mounted.*force=mounted' && as_it_was
}
it "refuses a mounted partition that is its stdout" by_stdout

# ------------------------------------------------------------------- files

backing()
{
	disk && snapshot && name=looped by="the loop device ${d#/dev/} lies on the file" &&
	    turned_away of=disk.img && ln disk.img hard && turned_away of=hard &&
	    ln -s disk.img soft && turned_away of=soft &&
	    turned_away of=disk.img seek=100000 && taken 0 of=disk.img force=looped
}
it "refuses a file that a loop device lies on, under any name" backing
# Its name leads to another file, below a mount that came later.
backing_hidden()
{
	"$blocks" make src 64k && mkdir one keep && truncate -s 1M one/file zeros &&
	    loop one/file && mount --bind one keep && undo umount "$PWD/keep" &&
	    mount -t tmpfs none one && undo umount "$PWD/one" && cp zeros one/file || return
	exits 101 "$pardd" if=src of=keep/file &&
	    one_line "the loop device ${dev#/dev/} lies on the file.*force=looped" &&
	    cmp zeros keep/file && exits 0 "$pardd" if=src of=one/file && complete
}
it "refuses a file that a loop device lies on, whose name is another's" backing_hidden
no_tables()
{
	disk && snapshot && exits 101 unshare -m sh -c 'mount -t proc -o subset=pid none /proc &&
	    [ ! -e /proc/partitions ] && "$0" if=src of=disk.img' "$pardd" &&
	    one_line 'loop.*force=looped' && as_it_was
}
if unshare -m sh -c 'mount -t proc -o subset=pid none /proc && [ ! -e /proc/partitions ]' 2>/dev/null; then
	it "refuses it where /proc has no tables" no_tables
else
	skip "no /proc of processes only" "refuses it where /proc has no tables"
fi
backing_cut()
{
	disk && snapshot &&
	    refused 'loop.*force=looped' if=src of=disk.img count=0 oflag=trunc &&
	    : >none && refused 'loop.*force=looped' if=none of=disk.img oflag=trunc &&
	    as_it_was
}
it "does not cut off a file that a loop device lies on" backing_cut
# The first page is the header, and behind it the kernel may swap.
swap_file()
{
	local file=$1
	"$blocks" make src 64k 1 && dd if=/dev/zero of="$file" bs=1M count=1 status=none &&
	    chmod 600 "$file" && mkswap -q "$file" && cp "$file" before &&
	    swapon "$file" && undo swapoff "$PWD/$file" || return
	refused 'the file is swap space in use.*force=swap writes all the same\)$' \
	    if=src of="$file" && cmp -n 4096 before "$file" &&
	    refused 'force=swap' if=src of="$file" force="$(others swap)" &&
	    cmp -n 4096 before "$file" || return
	exits 76 "$pardd" if=src of="$file" force=swap && cmp -n 4096 before "$file"
}
if [[ ${kinds[*]} = *swap* ]] && (cd "$scratch" && limit=1 swap_file probe_swap &&
    swapoff probe_swap) >/dev/null 2>&1; then
	release
	it "refuses a swap file" swap_file swapped
	it "refuses a swap file with blanks in its name" swap_file 'a b'
	it "refuses a swap file with a line's end in its name" swap_file $'a\nb\e'
else
	release
	skip "no swap files" "refuses a swap file"
fi

by_kernel()
{
	disk && ln disk.img hard && rm disk.img && mv hard disk.img && snapshot || return
	name=looped by="the loop device ${d#/dev/} lies on the file"
	turned_away of=disk.img
}
it "refuses a file that a loop device lies on, whose name it was lost" by_kernel

# A loop device does not claim what it lies on.
below_loop()
{
	disk && "$1" "$p1" && loop "$p1" && snapshot &&
	    turned_away of="$dev" && turned_away of="$dev" bs=512 seek=100 || return
	# the kernel keeps the loop device from writing to swap space
	[[ $1 = swap ]] || taken 1048576 of="$dev" force="$name"
}
for kind in "${kinds[@]}"; do
	[[ $kind = looped ]] ||
		it "$kind partition: refuses a loop device on it" below_loop "$kind"
done
below_part()
{
	disk && mounted "$p1" && loop "$d" --offset 512k && snapshot &&
	    turned_away of="$dev" bs=512 seek=1000 &&
	    turned_away of="$dev" bs=512 seek=5119 count=1 &&
	    taken 3145728 of="$dev" bs=512 seek=5120
}
it "refuses a loop device on a disk with a mounted partition" below_part
# Two loop devices on one file are two names of the same bytes.
beside()
{
	disk && "$1" "$p1" && loop disk.img && snapshot &&
	    by="$dev and ${d#/dev/} lie on one file: .*${by#the }" &&
	    turned_away of="$dev" && turned_away of="$dev" bs=512 seek=6143 count=1 &&
	    taken 3670016 of="$dev" bs=512 seek=7168 || return
	# the kernel keeps loop devices from writing to swap space
	[[ $1 = swap ]] || taken 1048576 of="$dev" bs=512 seek=2048 force="$name"
}
for kind in "${kinds[@]}"; do
	everywhere "$kind" || continue
	it "$kind partition: refuses another loop device on the same file" beside "$kind"
done
beside_part()
{
	disk && mounted "$p1" && loop disk.img --offset 512k && snapshot &&
	    turned_away of="$dev" bs=512 seek=1000 &&
	    turned_away of="$dev" bs=512 seek=5119 count=1 &&
	    taken 3145728 of="$dev" bs=512 seek=5120
}
it "... of which a part is mounted, from where it lies" beside_part
beside_window()
{
	disk && loop disk.img --offset 1M --sizelimit 2M && mounted "$dev" &&
	    loop disk.img && snapshot && turned_away of="$dev" bs=512 seek=6143 &&
	    turned_away of="$d" bs=512 seek=2047 && turned_away of="$p1" &&
	    taken 3145728 of="$dev" bs=512 seek=6144
}
it "... which shows a part of it" beside_window
beside_disk()
{
	disk && loop "$d" --offset 1M --sizelimit 2M && mounted "$dev" &&
	    loop "$d" && snapshot && turned_away of="$dev" bs=512 seek=6000 &&
	    taken 3145728 of="$dev" bs=512 seek=6144
}
it "refuses another loop device on the same disk" beside_disk
beside_chain()
{
	disk && mounted "$p1" && loop disk.img && loop "$dev" --offset 1M && snapshot &&
	    turned_away of="$dev" && taken 3145728 of="$dev" bs=512 seek=4096
}
it "... or below the one on the same file" beside_chain
# leaving: sysfs fails to tell this of another loop device; it is being detached
leaving()
{
	"$blocks" make src 64k 1 && truncate -s 4M img other && loop other || return
	local at=/sys/block/${dev#/dev/}/$1
	loop img && exits 0 with_faults "on=$at op=read fail=ENODEV" "$pardd" if=src of="$dev" &&
	    faulty read && complete && holds img 0 0 64k 1
}
# hidden: ... which lies on the same file, and is mounted
hidden()
{
	"$blocks" make src 64k 1 && truncate -s 4M img && mke2fs -qF img && loop img && mounted "$dev" ||
		return
	local at=/sys/block/${dev#/dev/}/$1
	loop img && exits 101 with_faults "on=$at op=read fail=13" "$pardd" if=src of="$dev" force=looped &&
	    faulty read && one_line "who uses|is mounted" && ! holds img 0 0 64k 1 >/dev/null
}
for word in backing_file offset; do
	it "does not mind one that is detached meanwhile (loop/$word)" leaving "loop/$word"
	it "refuses one of which sysfs does not tell (loop/$word)" hidden "loop/$word"
done
# path: two loop devices that say they are one disk; the other one is mounted
path()
{
	"$blocks" make src 64k 1 && truncate -s 4M img other && mke2fs -qF other && loop other &&
	    mounted "$dev" || return
	local at=/sys/block/${dev#/dev/}/$1
	mkdir -p "sys/${dev#/dev/}" && echo naa.1 >"sys/${dev#/dev/}/wwid" && loop img &&
	    cp -r sys/* "sys/${dev#/dev/}" && export SYSFS=$PWD/sys || return
	exits 101 with_faults '' "$pardd" if=src of="$dev" && one_line 'are one disk: .* is mounted' &&
	    exits 101 with_faults "on=$at op=read fail=13" "$pardd" if=src of="$dev" &&
	    faulty read && one_line 'who uses|is mounted' && "$blocks" zero img 0 4M
}
for word in size loop/offset queue/logical_block_size; do
	it "refuses another path of which sysfs does not tell ($word)" path $word
done
# --------------------------------------------------- what cannot be looked up

# without FOLDERS COMMAND...: where nothing is in these folders, as in a chroot
without()
{
	unshare -m --propagation private sh -c 'for folder in $0; do
		mount -t tmpfs none "$folder" || exit 125
	done
	exec "$@"' "$@"
}
# away FOLDERS REGEX OPERANDS...: refused there in one line, and nothing changed
away()
{
	exits 101 without "$1" "$pardd" if=src "${@:3}" && one_line "$2" && as_it_was
}
blind()
{
	disk && "$1" "$p1" && snapshot || return
	local op to
	for op in "of=$p1" "of=$d" "of=$d bs=512 seek=6143 count=1"; do
		read -ra to <<<"$op"
		away "$2" 'force=[a-z,]+ writes all the same\)$' "${to[@]}" &&
		    away "$2" "force=[a-z,]*${name}[a-z,]* writes all the same\)$" "${to[@]}" \
			force="$(others "$name")" || return
	done
}
for kind in "${kinds[@]}"; do
	apart "$kind partition: is refused without /sys" blind "$kind" /sys
	[[ $VARIANT = plain ]] || continue	# sanitizers need /proc
	apart "$kind partition: is refused without /proc" blind "$kind" /proc
	apart "$kind partition: is refused without both" blind "$kind" "/proc /sys"
done
# On another disk than the loop device, whose use is seen without sysfs, too.
blind_free()
{
	disk && snapshot || return
	away "$1" "$2.* cannot be read: No such file or directory.*force=[a-z,]+ writes all the same\)$" \
	    of="$p1" && away "$1" "$2.*force=$3 writes all the same\)$" of="$p1" force="$4" || return
	exits 0 without "$1" "$pardd" if=src of="$p1" force="$3,$4" && complete &&
	    holds disk.img 1048576 0 64k 1
}
apart "says that it cannot read /sys, and copies if told to" \
    blind_free /sys /sys/ mounted,swap,looped overlap
if [[ $VARIANT = plain ]]; then
	apart "says that it cannot read /proc, and copies if told to" \
	    blind_free /proc /proc/self/mountinfo mounted,swap overlap
	apart "says that it can read neither, and copies if told to" \
	    blind_free "/proc /sys" /sys/ mounted,swap,looped overlap
fi
blind_held()
{
	disk && "$1" "$p1" && snapshot &&
	    away /sys 'in use.*force=held writes all the same\)$' of="$p1" \
		force=mounted,swap,looped,overlap &&
	    away /sys 'in use.*force=held writes all the same\)$' of="$d" \
		force=mounted,swap,looped,overlap
}
apart "sees what is mounted elsewhere without /sys, too" blind_held elsewhere
apart "sees what is held without /sys, too" blind_held held
blind_file()
{
	disk && cp src new && cp disk.img before || return
	exits 0 without "$1" "$pardd" if=src of=copy && complete && same src copy &&
	    exits 0 without "$1" "$pardd" if="$p1" of=new && complete &&
	    same new <(tail -c +1048577 disk.img | head -c 2M)
}
apart "copies to files without /sys" blind_file /sys
[[ $VARIANT != plain ]] || apart "copies to files without /proc and /sys" blind_file "/proc /sys"
# A loop device is being detached by somebody else: what it lies on is empty now.
detached()
{
	"$blocks" make src 1M && cp src gone && truncate -s 1M to && loop gone && rm gone &&
	    : >empty && loop to && mknod "$PWD/node" b $((16#$(stat -c %t "$dev"))) \
	    $((16#$(stat -c %T "$dev"))) || return
	exits 101 without /dev "$pardd" if=src of=node && one_line 'who uses .*backing_file' &&
	    exits 0 unshare -m --propagation private sh -c '
		for file in /sys/block/loop*/loop/backing_file; do
			mount --bind empty "$file" || ! test -e "$file" || exit 125
		done
		mount -t tmpfs none /dev && exec "$0" "$@"' "$pardd" if=src of=node &&
	    complete && same src to
}
apart_by_name "sees no use in a loop device that is detached between two looks" detached
# The loop devices of others, that lie on what is not there, are not its matter.
no_node()
{
	disk && mknod "$PWD/node" b $((16#$(stat -c %t "$p1"))) $((16#$(stat -c %T "$p1"))) &&
	    mknod "$PWD/all" b $((16#$(stat -c %t "$d"))) $((16#$(stat -c %T "$d"))) &&
	    elsewhere "$p1" && snapshot &&
	    away /dev 'p1 is in use.*force=held writes all the same\)$' of=node \
		force=looped &&
	    exits 101 without /dev sh -c '"$0" if=src force=looped 1<>node' "$pardd" &&
	    as_it_was &&
	    one_line 'p1 is in use.*force=held writes all the same\)$' &&
	    away /dev 'p1 cannot be claimed.*No such file.*force=held writes all the same\)$' \
		of=all bs=512 seek=2048 force=looped &&
	    away /dev 'in use.*force=held writes all the same\)$' of=all force=looped
}
apart_by_name "claims a target by another name than the usual one, or refuses it" no_node

# Others' loop devices, that lie on files which cannot be looked at, are no reason.
lost_file()
{
	mkdir gone && mount -t tmpfs none gone && undo umount -l "$PWD/gone" &&
	    truncate -s 1M gone/file && loop gone/file || return
	undo losetup -d "$dev"
	umount -l gone && disk && snapshot && taken 1048576 of="$p1"
}
it "copies beside a loop device whose file is out of reach" lost_file
dead_file()
{
	bad_disk 1M 0+512 || return
	# its attributes live on for a while
	kill -KILL $! && until_true 20 eval \
	    '[[ $(losetup -n -O BACK-INO "$dev" | tr -d " ") = "" ]]' || return
	undo losetup -d "$dev"
	disk && snapshot && taken 1048576 of="$p1"
}
if can_lose; then
	it "copies beside a loop device whose file has died" dead_file
else
	skip "no nbdfuse" "copies beside a loop device whose file has died"
fi

# Each limit lets it come as far as a descriptor more.
few_descriptors()
{
	disk && "$1" "$p1" && snapshot || return
	local n to
	for n in $(seq 4 "$weight" 20) 64; do
		for to in "$p1" "$d"; do
			run sh -c 'ulimit -n "$1" && exec "$0" if=src of="$2"' "$pardd" "$n" "$to"
			[[ $status != 0 ]] || fail "copied with $n descriptors" || return
		done
	done
	[[ $status = 101 ]] && as_it_was
}
# Each opening, or request for memory, fails in turn.
each_fails()
{
	disk && "$1" "$p1" && snapshot || return
	local n=0 to=$d
	[[ $1 != mounted ]] || to=$p1
	while run with_faults "op=$2 fail=$3 nth=$((++n))" "$pardd" if=src of="$to" &&
	    [[ -s faults ]]; do
		[[ $status != 0 ]] || fail "copied after $n" || return
	done
	((n > 2)) || fail "$n were tried" || return
	[[ $status = 101 ]] && as_it_was
}
for kind in mounted held looped; do
	it "$kind partition: is refused when descriptors run out" few_descriptors $kind
	[[ $VARIANT = plain ]] || continue	# their own, too
	it "$kind partition: is refused when something cannot be opened" \
	    each_fails $kind open EMFILE
	it "$kind partition: is refused when memory runs out" each_fails $kind alloc ENOMEM
done
backing_few()
{
	disk && snapshot || return
	local n
	for n in $(seq 4 "$weight" 20) 64; do
		run sh -c 'ulimit -n "$1" && exec "$0" if=src of=disk.img' "$pardd" "$n"
		[[ $status != 0 ]] || fail "copied with $n descriptors" || return
	done
	[[ $status = 101 ]] && as_it_was
}
it "refuses a file that a loop device lies on when descriptors run out" backing_few

# ----------------------------------------------------------------- overlap

file_self()
{
	"$blocks" make a 1M 1 && cp a before && ln a hard && ln -s a soft &&
	    mkdir dir other && mv a dir/a && mount --bind dir other &&
	    undo umount "$PWD/other" && ln -sf dir/a soft || return
	local other
	for other in dir/a hard soft other/a; do
		refused 'overlaps the one to be read .*.*force=overlap writes all the same\)$' \
			if=dir/a of="$other" &&
		    refused 'force=overlap' if="$other" of=dir/a seek=2047 \
			force="$(others overlap)" &&
		    refused 'force=overlap' if=dir/a of="$other" oflag=trunc || return
	done
	same dir/a before && exits 0 "$pardd" if=dir/a of=other/a count=8 seek=8 &&
	    holds dir/a 4096 0 4096 1 || return
	exits 0 "$pardd" if=dir/a of=hard force=overlap && holds hard 4096 0 4096 1
}
it "refuses to copy a file onto itself under any name, but for disjoint ranges" \
    file_self
# overlapping OPERANDS, disjoint OPERANDS: on a disk that is in order
overlapping()
{
	disk && snapshot && eval "set -- $*" &&
	    refused 'force=overlap writes all the same\)$' "$@" bs=512 &&
	    refused 'force=overlap' "$@" bs=512 force="$(others overlap)" && as_it_was
}
disjoint()
{
	disk && snapshot && eval "set -- $*" && exits 0 "$pardd" "$@" bs=512 && complete
}
it "sees a disk overlap its partition" \
    overlapping 'if=$d of=$p1 skip=6143 count=1 seek=4095'
it "lets a disk's last sector before a partition go into it" \
    disjoint 'if=$d of=$p1 skip=2047 count=1'
it "lets the sector behind a partition go into it" \
    disjoint 'if=$d of=$p1 skip=6144 count=8'
it "sees a partition overlap its disk" \
    overlapping 'if=$p2 of=$d skip=10 count=10 seek=7187'
it "lets a partition go just before it" \
    disjoint 'if=$p2 of=$d skip=10 count=10 seek=7168'
it "lets one partition go onto the other" disjoint 'if=$p1 of=$p2'
it "lets one partition go onto the other by the disk" \
    disjoint 'if=$p1 of=$d seek=7168'
it "sees a partition overlap itself" overlapping 'if=$p1 of=$p1 count=2 seek=1'
it "lets disjoint ranges of one partition go" \
    disjoint 'if=$p1 of=$p1 count=2 seek=2'
it "sees a disk overlap its medium" overlapping 'if=disk.img of=$d'
it "sees a partition overlap the disk's medium" \
    overlapping 'if=disk.img of=$p1 skip=2048 count=1'
it "lets the medium before a partition go into it" \
    disjoint 'if=disk.img of=$p1 skip=2000 count=48'
windows()
{
	disk && loop disk.img --offset 4M && e=$dev && snapshot &&
	    refused 'force=overlap writes all the same\)$' if="$e" of="$d" bs=512 seek=8200 count=10 &&
	    refused 'force=overlap writes all the same\)$' if="$d" of="$e" bs=512 skip=8192 count=1 &&
	    as_it_was && exits 0 "$pardd" if="$e" of="$d" bs=512 count=1024 &&
	    same <(head -c 512k disk.img) <(tail -c 4M disk.img | head -c 512k)
}
it "sees two loop devices overlap in one file" windows
on_target()
{
	disk && mounted "$p1" && cp src m/src && snapshot &&
	    refused 'is mounted' if=m/src of="$p1" force=overlap &&
	    refused 'force=overlap writes all the same\)$' if=m/src of="$p1" force=mounted &&
	    refused 'force=overlap writes all the same\)$' if=m/src of="$d" \
		bs=512 seek=6016 force=mounted &&
	    as_it_was && exits 0 "$pardd" if=m/src of="$p2" &&
	    exits 0 "$pardd" if=m/src of="$d" bs=512 seek=7168
}
it "refuses a source on the target's own file system" on_target
# The numbers that these file systems have for a file are no device's.
on_overlay()
{
	disk && mounted "$p1" && cp src m/src && mkdir empty o &&
	    mount -t overlay -o "lowerdir=$PWD/m:$PWD/empty" none o &&
	    undo umount "$PWD/o" && snapshot &&
	    refused 'is mounted' if=o/src of="$p1" &&
	    refused 'overlaps the one.*force=overlap writes all the same\)$' if=o/src of="$p1" force=mounted &&
	    refused 'force=overlap writes all the same\)$' if=o/src of="$d" bs=512 seek=6016 force="$(others overlap)" &&
	    exits 101 "$pardd" of="$p1" force=mounted <o/src &&
	    one_line 'overlaps the one.*force=overlap writes all the same\)$' && as_it_was &&
	    exits 0 "$pardd" if=o/src of="$p2" force=mounted
}
on_loop()
{
	disk && mounted "$p1" && truncate -s 128k m/img && loop m/img && snapshot &&
	    refused 'is mounted' if="$dev" of="$p1" &&
	    refused 'overlaps the one.*force=overlap writes all the same\)$' if="$dev" of="$p1" force=mounted &&
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
		refused '(mounted|held) writes all the same\)$' if=m/sub/src of="$to" &&
		    refused 'overlaps the one.*force=overlap writes all the same\)$' if=m/sub/src of="$to" \
			force="$(others overlap)" || return
	done
	exits 0 "$pardd" if=m/sub/src of="$other" force=mounted && same before two
}
it "... by an overlay" on_overlay
it "... by a loop device" on_loop
if grep -q btrfs /proc/filesystems && command -v mkfs.btrfs >/dev/null; then
	it "... btrfs, on any of its disks" on_btrfs
else
	skip "no btrfs" "... btrfs, on any of its disks"
fi
on_source()
{
	disk && mounted "$p1" && exits 0 "$pardd" if="$p2" of=m/image count=64 &&
	    exits 0 "$pardd" if=m/image of=m/copy && same m/image m/copy
}
it "copies from a disk, and from file to file, on one file system" on_source

# --------------------------------------------------------- held to the end

# A copy onto TARGET waits for the rest of its source; `go` gives it.
# shellcheck disable=SC2094 # a fifo
begin()
{
	mkfifo pipe && mke2fs -q -F -t ext2 fs 1M || return
	"$pardd" if=pipe bs=512 bpt=64 "$@" 2>err &
	copy=$!
	exec 7>pipe
	head -c 300000 fs >&7
	until_true 20 underway
}
underway()
{
	sync "$d" "$p2"
	! cmp -s disk.img before
}
go()
{
	tail -c +300001 fs >&7
	exec 7>&-
	wait "$copy"
	status=$?
	[[ $status = 0 ]] || fail "status $status: $(<err)"
}
can_mount()
{
	mkdir -p mnt && mount "$1" mnt 2>/dev/null && umount mnt
}
# As soon as udev has had its look.
free_again()
{
	until_true 20 "$hold" excl "$1" true && until_true 20 can_mount "$2"
}
keeps()
{
	disk && snapshot && begin of="$p2" "$@" || return
	! can_mount "$p2" || fail "it could be mounted" || return
	! mke2fs -q "$p2" 2>/dev/null || fail "mke2fs did it" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "it could be claimed" || return
	! "$hold" excl "$d" true 2>/dev/null || fail "the disk could be" || return
	! "$hold" lock "$d" true 2>/dev/null || fail "the disk could be locked" || return
	"$hold" excl "$p1" true || fail "the other could not be claimed" || return
	refused 'in use .by another.*force=held' if=src of="$p2" || return
	go && same fs <(tail -c +3670017 disk.img | head -c 1M) &&
	    free_again "$d" "$p2" && "$hold" lock "$d" true
}
it "holds its partition to the end, and leaves the other alone" keeps
it "holds it with sync=0" keeps sync=0
it "holds it with conv=sparse" keeps conv=sparse
it "holds it with oflag=excl" keeps oflag=excl
it "holds it with oflag=flock" keeps oflag=flock
it "holds it with oflag=cached" keeps oflag=cached
it "holds it with every override" keeps force=mounted,swap,held,looped,overlap
by_disk()
{
	disk && snapshot && begin of="$d" "$@" || return
	! "$hold" excl "$d" true 2>/dev/null || fail "the disk could be claimed" || return
	! can_mount "$p2" || fail "it could be mounted" || return
}
by_disk_part()
{
	by_disk seek=7168 count=2048 && "$hold" excl "$p1" true && go && free_again "$d" "$p2"
}
it "holds the partition that a range of the disk lies in" by_disk_part
by_disk_all()
{
	by_disk && ! "$hold" excl "$p1" true 2>/dev/null && go &&
	    free_again "$d" "$d" && "$hold" excl "$p1" true
}
it "holds the disk when its head is written" by_disk_all
rest()
{
	disk && "$1" "$p1" && snapshot &&
	    begin of="$d" force="$name" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "the other could be claimed" || return
	go
}
it "holds what is not in use of a disk whose mount is passed over" rest mounted
it "holds a disk under a loop device that is passed over" rest looped
keeps_below()
{
	disk && loop "$p2" && snapshot && begin of="$dev" || return
	! can_mount "$p2" || fail "it could be mounted" || return
	! "$hold" excl "$p2" true 2>/dev/null || fail "it could be claimed" || return
	go && same fs <(tail -c +3670017 disk.img | head -c 1M)
}
it "holds what the loop device lies on" keeps_below
let_go()
{
	disk && mounted "$p1" && snapshot &&
	    refused mounted if=src of="$d" && "$hold" excl "$p2" true &&
	    exits 0 "$pardd" if=src of="$p2" && "$hold" excl "$p2" true &&
	    exits 0 "$pardd" if=src of="$p2" -dv && "$hold" excl "$p2" true
}
it "lets go after a refusal, a copy and a --dry-run" let_go
interrupted()
{
	disk && snapshot && begin of="$p2" || return
	kill -TERM "$copy"
	wait "$copy"
	[[ $? = 143 ]] && "$hold" excl "$p2" true
}
it "lets go when it is ended by a signal" interrupted

# ------------------------------------------------------------------ the lock

locked()
{
	disk && snapshot && hold_by lock "$d" "$1"
}
# hold_by HOW NODE SECONDS
hold_by()
{
	"$hold" "$1" "$2" sh -c ": >there; exec sleep $3" &
	until_true 20 test -e there
}
is_locked()
{
	locked 1000 && refused 'is locked .flock.*force=held writes all the same\)$' if=src of="$p2" &&
	    refused 'force=held' if=src of="$d" force="$(others held)" && as_it_was &&
	    taken 0 of="$d" force=held
}
it "refuses a disk that another program has locked" is_locked
part_locked()
{
	disk && snapshot && hold_by lock "$p2" 1000 || return
	local op to
	for op in "of=$p2" "of=$d bs=512 seek=7168" "of=$d"; do
		read -ra to <<<"$op"
		refused 'p2 is locked .flock.*force=held writes all the same\)$' if=src "${to[@]}" \
			force="$(others held)" || return
	done
	as_it_was && taken 1048576 of="$p1" && taken 3670016 of="$p2" force=held
}
it "refuses a partition that another program has locked, and its disk" part_locked
below_locked()
{
	disk && loop "$p2" && snapshot && hold_by lock "$p2" 1000 &&
	    refused 'p2 is locked .flock.*force=held writes all the same\)$' if=src of="$dev" && as_it_was
}
it "... and a loop device on it" below_locked
part_unlocked()
{
	disk && snapshot && hold_by lock "$p2" 0.5 && taken 3670016 of="$p2"
}
it "... but waits for one who looks at it" part_unlocked
# As QEMU locks an image, or a disk, that a guest has.
ranges_locked()
{
	disk && snapshot && hold_by range "$p2" 1000 || return
	refused 'p2 is held by a lock of another program.*force=held writes all the same\)$' if=src of="$p2" \
		force="$(others held)" &&
	    refused 'p2 is held by a lock' if=src of="$d" bs=512 seek=7168 &&
	    refused 'p2 is held by a lock' if=src of="$d" &&
	    as_it_was && taken 1048576 of="$p1" && taken 3670016 of="$p2" force=held || return
	"$hold" range "$d" sh -c ': >too && exec sleep 1000' &
	until_true 20 test -e too && snapshot &&
	    refused "$p1: ${d#/dev/} is held by a lock" if=src of="$p1" && as_it_was
}
it "refuses a partition of which a range is locked" ranges_locked
image_locked()
{
	"$blocks" make src 64k 1 && "$blocks" make img 1M 9 && cp img before &&
	    hold_by range img 1000 || return
	local op to
	for op in of=img "of=img oflag=trunc" "of=img oflag=append" "of=img seek=9999"; do
		read -ra to <<<"$op"
		refused 'the file is held by a lock.*force=held writes all the same\)$' if=src "${to[@]}" \
			force="$(others held)" || return
	done
	"$pardd" if=src 1<>img 2>err
	status=$? && : >out
	[[ $status = 101 ]] && one_line 'force=held writes all the same\)$' && same img before &&
	    loop img && refused 'its file is held by a lock' if=src of="$dev" &&
	    same img before && exits 0 "$pardd" if=src of=img force=held,looped &&
	    holds img 0 0 64k 1
}
it "refuses an image of which a range is locked, by a loop device too" image_locked
# A first copy, to 64k up to 192k of img, of which the half is there.
in_copy()
{
	mkfifo p && "$blocks" make src 64k 1 && "$blocks" make more 128k 3 || return
	"$pardd" if=p of=img bs=4k bpt=1 seek=16 count=32 >first 2>&1 &
	copy=$!
	exec 5>p && head -c 64k more >&5 && until_true 20 holds img 64k 0 64k 3 >/dev/null 2>&1
}
copied()
{
	tail -c 64k more >&5 && exec 5>&- && wait "$copy" || fail "$(<first)" || return
	holds img 64k 0 128k 3
}
two_copies()
{
	[[ $1 = new ]] || "$blocks" make img 1M 9 || return
	in_copy || return
	local op to
	for op in "of=img seek=383" "of=img seek=1" "of=img oflag=trunc count=1" \
	    "of=other of=img seek=2" "of=img seek=200 -d" "of=img seek=64 force=$(others held)"; do
		read -ra to <<<"$op"
		refused 'img: another copy .*force=held writes all the same\)$' if=src \
			"${to[@]}" || return
	done
	[[ ! -e other ]] && exits 0 "$pardd" if=src of=img count=128 && exits 0 "$pardd" if=src of=img seek=384 &&
	    exits 0 "$pardd" if=img of=other && copied && holds img 0 0 64k 1 && holds img 192k 0 64k 1 &&
	    exits 0 "$pardd" if=src of=img seek=128 && holds img 64k 0 64k 1
}
it "refuses to copy to what another copy is being made to, in a file" two_copies old
it "... and in a new one" two_copies new
forced_copy()
{
	in_copy && exits 0 "$pardd" if=src of=img seek=128 force=held && holds img 64k 0 64k 1 &&
	    exec 5>&- && wait "$copy"
	[[ $? = 102 ]] || fail "$(<first)"
}
it "... unless force=held says so" forced_copy
soon_unlocked()
{
	locked 0.5 && taken 0 of="$d"
}
it "waits for one who looks at the disk, as udev does" soon_unlocked

# -------------------------------------------------------------- which disk

by_id()
{
	[[ -d /dev/disk/by-id ]] || {
		undo rmdir /dev/disk/by-id /dev/disk
		mkdir -p /dev/disk/by-id
	}
	ln -s "$2" "/dev/disk/by-id/$1" && undo rm -f "/dev/disk/by-id/$1"
}
serial()
{
	local id=pardd-test-$$ name
	disk && by_id "$id" "$d" && by_id "$id-part1" "$p1" && snapshot || return
	for name in wrong "$id-part1" "$id-part2" "$id " "/dev/disk/by-id/$id" \
	    "../by-id/$id" 0x naa. eui. . ..; do
		refused "not the disk that oserial=" if=src of="$d" oserial="$name" &&
		    refused "not the disk that iserial=" if="$d" of=copy iserial="$name" ||
		    return
	done
	refused 'oserial= asks for one' if=src of=other oserial="$id" &&
	    refused 'iserial= asks for one' if=src of="$d" iserial="$id" &&
	    refused 'oserial=' if=src of=- oserial="$id" &&
	    refused "not the disk" if=src of="$p2" oserial="$id-part1" &&
	    as_it_was && [[ ! -e copy && ! -e other ]] || return
	exits 0 "$pardd" if="$d" of=copy count=8 iserial="$id" &&
	    exits 0 "$pardd" if=src of="$p1" oserial="$id-part1" &&
	    exits 0 "$pardd" if=src of="$p1" oserial="$id" -d && snapshot &&
	    taken 0 of="$d" oserial="$id"
}
it "takes only the disk that iserial= and oserial= ask for" serial
serial_first()
{
	disk && mounted "$p1" && snapshot &&
	    refused 'not the disk' if=src of="$p1" oserial=x \
		force=mounted,swap,held,looped,overlap && as_it_was
}
it "has no override for oserial=" serial_first

# --------------------------------------------------------------------- --ask

# asks ANSWER OPERANDS...: at a terminal; what it shows is in the file screen
asks()
{
	local answer=$1
	shift
	printf %b "$answer" | script -qefc "$(printf '%q ' "$pardd" if=src --ask "$@") 2>err" \
	    screen >/dev/null
	status=$? && : >out
	grep -aq "Overwrite $d, 8\.4 MB? yes/no: " screen && grep -aq "^Target  $d" screen &&
	    grep -aq '^How ' screen
}
yes_sir()
{
	disk && snapshot && asks 'yes\n' of="$d" && [[ $status = 0 ]] && complete &&
	    holds "$d" 0 0 64k 1
}
it "--ask writes after yes" yes_sir
no_sir()
{
	disk && snapshot || return
	local answer
	for answer in 'no\n' '\n' 'y\n' 'YES\n' 'yes please\n' 'yesyesyesyesyesyesyes\n' '\4' ''; do
		asks "$answer" of="$d" && [[ $status = 101 ]] && one_line 'not yes' &&
		    as_it_was || fail "after '$answer'" || return
	done
}
it "--ask refuses after anything else" no_sir
nobody()
{
	disk && snapshot && exits 101 setsid -w "$pardd" if=src of="$d" --ask &&
	    one_line 'no terminal' && as_it_was
}
it "--ask refuses without a terminal" nobody
ask_refused()
{
	disk && mounted "$p1" && snapshot || return
	! asks 'yes\n' of="$d" && [[ $status = 101 ]] && one_line mounted && as_it_was
}
it "--ask does not ask about what is refused anyway" ask_refused

ask_wrong_map()
{
	disk && snapshot && echo 'no map' >m || return
	! asks 'yes\n' of="$d" map=m && [[ $status != 0 ]] && one_line ' m' && ! grep -aq 'yes/no' screen && as_it_was
}
it "--ask does not ask about a map that cannot be used" ask_wrong_map

# The medium is not the one that the question was about.
exchanged()
{
	disk && snapshot && exits 101 with_faults "on=$d op=medium from=2 fail=EIO" "$pardd" if=src of="$d" &&
	    faulty medium && one_line 'the medium was changed since it was looked at' && as_it_was
}
it "refuses a target whose medium was changed since it was looked at" exchanged

# At the prompt everything is decided.  prompt OPERANDS..., then answer.
prompt()
{
	mkfifo keys || return
	script -qefc "$(printf '%q ' "$tools/ends" how "$pardd" if=src --ask "$@") 2>err" screen \
	    <keys >/dev/null &
	asking=$!
	exec 6>keys
	until_true 20 grep -aqs 'yes/no: ' screen
}
answer()
{
	echo "$1" >&6
	wait "$asking"
	status=$?
	exec 6>&-
	[[ $status = 0 ]] || fail "status $status: $(<err)"
}
held_at_prompt()
{
	disk && snapshot && prompt of="$d" || return
	! can_mount "$p1" && ! "$hold" excl "$p2" true 2>/dev/null &&
	    as_it_was && answer yes && holds "$d" 0 0 64k 1
}
it "holds the target while it asks" held_at_prompt
# What an earlier run copied is not about to be lost.
ask_again()
{
	disk && exits 0 "$pardd" if=src of="$d" map=m count=20 || return
	prompt of="$d" map=m && answer yes && complete || return
	grep -aq "Go on writing to $d, 8\.4 MB? yes/no: " screen && grep -aq '^Map  .* finished' screen &&
	    ! grep -aq 'TO BE LOST' screen
}
it "--ask says what a map has already" ask_again
break_off()
{
	disk && snapshot && prompt of="$d" || return
	printf '\3' >&6
	wait "$asking"
	exec 6>&-
	ended signal 2 && as_it_was
}
it "ends by the interrupt key while it asks" break_off
other_link()
{
	disk && snapshot && "$blocks" make other.img 1M 7 && loop other.img &&
	    ln -s "$d" target && prompt of=target || return
	ln -sfn "$dev" target
	answer yes && holds disk.img 0 0 64k 1 && holds other.img 0 0 1M 7
}
it "writes what the name led to, whatever it leads to later" other_link
other_medium()
{
	"$blocks" make src 64k 1 && "$blocks" make disk.img 1M 9 &&
	    "$blocks" make other.img 1M 7 && loop disk.img && d=$dev &&
	    prompt of="$d" || return
	losetup -d "$d"
	! losetup "$d" other.img 2>/dev/null || fail "the device was changed" || return
	answer yes && holds disk.img 0 0 64k 1 && holds other.img 0 0 1M 7
}
it "writes the medium it looked at, though it was detached meanwhile" other_medium

# ---------------------------------------------------------------- --dry-run

unwritten()
{
	disk && mounted "$p1" && snapshot || return
	local op dry
	for op in of="$d" of="$p1" of="$p2" "of=$d oserial=x" "of=$p2 seek=5000" \
	    "of=$p1 force=mounted" "of=$d bs=512 seek=7168" of=disk.img; do
		read -ra op <<<"$op"
		"$hold" watch "$d" "$hold" watch "$p1" "$hold" watch "$p2" \
		    "$pardd" if=src "${op[@]}" -dv >out 2>err
		dry=$?
		as_it_was || return
		run "$hold" watch "$d" "$hold" watch "$p1" "$hold" watch "$p2" \
		    "$pardd" if=src "${op[@]}"
		if [[ $status = 99 ]]; then
			[[ $dry = 0 ]]
		else
			[[ $dry = 101 && $status = 101 ]]
		fi || fail "-d: $dry, without: $status, with ${op[*]}" || return
		cp before disk.img
	done
}
it "opens nothing for writing when it refuses or looks" unwritten

plan_on_disk()
{
	disk && snapshot || return
	local to
	for to in "$d" "$p1" "$p2"; do
		"$pardd" if=src of="$p1" -dv 1<>"$to" 2>err &&
		    grep -q '^output=' err && as_it_was || fail "onto $to" || return
	done
	"$pardd" if="$p1" of=new -dv 1<>"$p1" 2>err && grep -q '^output=' err && as_it_was
}
it "prints no plan onto a disk" plan_on_disk
messages_on_disk()
{
	disk || return
	"$pardd" if=src of="$p1" 2<>"$p1" >out
	status=$?
	[[ $status = 101 ]] || fail "status $status" || return
	! holds "$p1" 4096 4096 4096 1
}
it "does not copy onto the disk that its messages go to" messages_on_disk

# ------------------------------------------------------------------ the source

note()
{
	local want=$1
	shift
	exits 0 "$pardd" "$@" || return
	if [[ $want = note ]]; then
		says "^pardd: note: ${p1#/dev/} is mounted read-write on $PWD/m: " &&
		    exits 0 "$pardd" "$@" -dv && grep -q '^source_mounted=' out
	else
		does_not_say "note: .* is mounted" && exits 0 "$pardd" "$@" -dv && ! grep source_mounted out
	fi
}
source_busy()
{
	disk && mounted "$p1" && note note if="$p1" of=copy &&
	    note note if="$d" of=copy && note note if="$d" of=copy bs=512 skip=6143 &&
	    note "" if="$d" of=copy bs=512 skip=6144 &&
	    note "" if="$d" of=copy bs=512 count=2048 && note "" if="$p2" of=copy &&
	    exits 0 "$pardd" if="$p1" of=copy status=none && does_not_say note || return
	umount m && mount -r "$p1" m && note "" if="$p1" of=copy
} 2>/dev/null
it "says when the source is mounted read-write, and goes on" source_busy
bound_read_only()
{
	disk && mounted "$p1" && mkdir first && mount --bind -o ro "$PWD/m" first &&
	    undo umount "$PWD/first" && umount m && mount "$p1" m &&
	    exits 0 "$pardd" if="$p1" of=copy && says '^pardd: note: .* read-write'
}
it "is not misled by a mount point that is read-only" bound_read_only

# ------------------------------------------------------------------ odd names

odd=$'a \e[31mb\n\\c\t\xff'
clean()
{
	cat -v err
	[[ $(wc -l <err) = 1 ]] && ! grep -aq '[^ -~]' err &&
	    grep -qF '\x1B[31mb\x0A' err
}
odd_mount()
{
	disk && mke2fs -q -F -t ext2 "$p1" && mkdir "$odd" && mount "$p1" "$odd" &&
	    undo umount "$PWD/$odd" && snapshot && run "$pardd" if=src of="$p1" &&
	    [[ $status = 101 ]] && clean &&
	    grep -qF 'is mounted on '"$PWD"'/a \x1B[31mb\x0A\c\x09\xFF; umount it first (force=mounted ' err &&
	    as_it_was
}
it "shows an odd mount point in one clean line" odd_mount
odd_name()
{
	disk && mounted "$p1" && snapshot && ln -s "$p1" "$odd" &&
	    run "$pardd" if=src of="$odd" && [[ $status = 101 ]] && clean &&
	    run "$pardd" if=src of="$p2" oserial="$odd" && [[ $status = 101 ]] && clean &&
	    rm "$odd" && cp src "$odd" && run "$pardd" if="$odd" of="$odd" &&
	    [[ $status = 101 ]] && clean && as_it_was
}
it "shows odd names in one clean line" odd_name
odd_medium()
{
	"$blocks" make src 64k 1 && "$blocks" make "$odd" 1M 9 && loop "$odd" || return
	run "$pardd" if=src of="$odd"
	[[ $status = 101 ]] && clean && grep -q 'loop device' err &&
	    exits 0 "$pardd" if=src of="$dev" -dv && ! grep -a '[^ -~]' out &&
	    grep -qF 'target_backing='"$PWD"'/a \x1B[31mb\x0A\c\x09\xFF' out
}
it "shows an odd medium of a loop device in clean lines" odd_medium

# --------------------------------------------------------------- what is left

too_small()
{
	disk && "$blocks" make src 2097153 && snapshot &&
	    refused 'has room' if=src of="$p2" && refused 'has room' if=src of="$d" \
		bs=512 seek=12288 && as_it_was
}
it "refuses what has no room in the partition" too_small
no_device()
{
	undo rm -f /dev/pardd-no-disk
	"$blocks" make src 4k && refused 'among the devices' if=src of=/dev/pardd-no-disk &&
	    [[ ! -e /dev/pardd-no-disk ]] && mkdir mnt && mount -t devtmpfs none mnt &&
	    undo umount "$PWD/mnt" &&
	    refused 'among the devices' if=src of=mnt/pardd-no-disk &&
	    [[ ! -e mnt/pardd-no-disk ]]
}
it "creates nothing among the devices" no_device
# In /dev of the file system that is the root, as in a chroot.
plain_dev()
{
	mkdir -p dev/sub && "$blocks" make src 4k || return
	local to op
	for to in /dev/new /dev/sub/new /dev/sub/../new; do
		for op in of=%s "of=copy manifest=%s" "of=copy map=%s" "of=copy profile=%s.csv" \
		    "of=copy json=%s" "of=copy hash=md5 hashfile=%s" "of=copy control=%s"; do
			# shellcheck disable=SC2046,SC2059
			exits 101 unshare -m --propagation private sh -c 'mount --bind dev /dev &&
			    { [ -z "$1" ] || mount -t tmpfs none "$1"; } && shift && exec "$@"' \
			    sh "$1" "$pardd" if=src $(printf "$op" "$to") &&
			    one_line 'among the devices' || fail "$to: $op" || return
		done
	done
	[[ $(find dev -type f) = "" && ! -e copy ]]
}
if [[ $(stat -c %d "$scratch") = "$(stat -c %d /)" ]]; then
	apart "creates nothing in a /dev that is an ordinary folder" plain_dev ""
	[[ $VARIANT != plain ]] || apart "... without /proc, too" plain_dev /proc
else
	skip "another file system" "creates nothing in a /dev that is an ordinary folder"
fi
