#!/usr/bin/env bash
# --list: the disks of this machine, and what uses them.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
only plain asan		# one thread looks

# ------- anywhere; meanwhile others may attach loops, which widens the columns

list()
{
	exits 0 "$pardd" --list "$@" && [[ ! -s err ]] || fail "$(cat err)"
}
# In 80 columns all but a name that is longer fits.
fits()
{
	list && awk -v most="${1:-80}" 'length > most && NF > 1 { print; bad = 1 } END { exit bad }' out &&
	    ! grep ' $' out && awk '!/^(    )?[^ ]/ { print; bad = 1 } END { exit bad }' out
}
it "fits in 80 columns" fits
short()
{
	exits 0 "$pardd" -l && listed | grep -v ^/dev/loop | tr -s ' ' >short &&
	    list && listed | grep -v ^/dev/loop | tr -s ' ' >long && same short long
}
it "says the same twice, and with -l" short
json()
{
	list --json || return
	[[ ! -s out ]] || jq -es 'all(.[]; .schema == "pardd/1" and
	    .event == "disk" and has("node") and has("sg") and has("size") and
	    (.used | type == "array"))' out >/dev/null
}
both()
{
	list && listed | cut -d' ' -f1 | grep -v '^/dev/loop\|^No$' >people
	list --json && jq -r '.node // .sg // .bsg' out | grep -v ^/dev/loop >json
	same people json
}
if able 'command -v jq' "no jq"; then
	it "prints JSON lines" json
	it "has the same disks in both" both
fi
full()
{
	"$pardd" --list >/dev/full 2>err
	status=$?
	[[ $status = 78 ]] && says 'standard output'
}
it "says so when nobody takes it" full
# A loop device is asked what it lies on; a disk would have to spin up.
touches()
{
	exits 0 strace -o log -e trace=openat "$pardd" --list &&
	    ! grep '"/dev/' log | grep -v '/dev/disk/by-id\|"/dev/loop[0-9]*"'
}
[[ $VARIANT != plain ]] || given 'command -v strace' "no strace" it "opens no disk" touches

# -------------------------------------------------------------- with disks

needs can_loop -- "no loop devices"

exits_saying()
{
	exits "$1" "$pardd" "${@:3}" && one_line "$2"
}

# line DEVICE: its line
line()
{
	listed | grep "^$1 "
}
shows()
{
	truncate -s 8000000 disk && loop disk -b "$1" && list &&
	    line "$dev" | grep -Eq "^$dev +$2  loop  *sectors of $1 bytes, on $PWD/disk\$" || fail "$(cat out)"
}
it "shows a loop device with its file" shows 512 '8.0 MB'
it "shows one of 4096" shows 4096 '8.0 MB'
# As soon as udev has had its look: until then it is attached.
not_listed()
{
	list && ! line "$1"
}
it "does not show a loop device without a file" eval \
    'truncate -s 1M disk && dev=$(losetup -f --show disk) && losetup -d "$dev" && until_true 10 not_listed "$dev"'
odd()
{
	truncate -s 1M $'a\e[7m\xff' && loop $'a\e[7m\xff' && list && line "$dev" | grep -Fq 'a\x1B[7m\xFF' &&
	    list --json && { ! command -v jq >/dev/null || jq -e . out >/dev/null; }
}
it "escapes a name" odd
stacked()
{
	local first
	truncate -s 1M disk && loop disk && first=$dev && loop "$first" &&
	    list && line "$first" | grep -q "on $PWD/disk, medium of ${dev#/dev/}\$"
}
it "shows a disk that another is made of" stacked
not_mounted()
{
	local first
	truncate -s 1M disk && loop disk && first=$dev && loop "$first" &&
	    list --json && jq -es --arg dev "$first" 'any(.[]; .node == $dev and
	    (.used[0] | .kind == "looped" and (.writable | not)))' out >/dev/null
}
given 'command -v jq' "no jq" it "calls writable only what is mounted so" not_mounted
mounted()
{
	truncate -s 4M disk && mke2fs -q disk && loop disk && mkdir 'at here' && mount "$dev" 'at here' || return
	undo umount "$PWD/at here"
	list && line "$dev" | grep -q "mounted on $PWD/at here\$" || fail "$(cat out)" || return
	command -v jq >/dev/null || return 0
	list --json && jq -es --arg dev "$dev" --arg at "$PWD/at here" \
	    'any(.[]; .node == $dev and (.used[0] | .kind == "mounted" and
	    .by == $at and .writable))' out >/dev/null
}
partition()
{
	truncate -s 8M disk && loop disk -P && "$tools/part" add "$dev" 3 2048 8192 &&
	    "$tools/part" add "$dev" 5 1024 1024 &&
	    until_true 20 test -b "$dev"p3 && mke2fs -q "$dev"p3 && mkdir at && mount "$dev"p3 at || return
	undo umount "$PWD/at"
	# in the order of their places
	list && line "$dev" | grep -q " ${dev}p5  524 kB.* ${dev}p3  4\.2 MB  mounted on $PWD/at\$"
}
# The table of mounts names the first disk only.
btrfs()
{
	local first
	truncate -s 256M disk disk2 && loop disk && first=$dev && loop disk2 &&
	    mkfs.btrfs -q -d single -m single "$first" "$dev" && mkdir at &&
	    mount -t btrfs -o "device=$first,device=$dev" "$first" at || return
	undo umount "$PWD/at"
	list && line "$first" | grep -q "mounted on $PWD/at\$" &&
	    line "$dev" | grep -q "mounted on $PWD/at\$" || fail "$(cat out)" || return
	refused "is mounted on $PWD/at" if=/dev/zero of="$dev" count=1
}
given 'command -v mkfs.btrfs && grep -qw btrfs /proc/filesystems' "no btrfs" \
    it "shows where each disk of a btrfs is mounted" btrfs
if able 'command -v mke2fs' "no mke2fs"; then
	it "shows where a disk is mounted" mounted
	it "shows where a partition is mounted" partition
fi
swap()
{
	truncate -s 4M disk && mkswap -q disk 2>&1 && loop disk && swapon "$dev" || return
	undo swapoff "$dev"
	list && line "$dev" | grep -q ', swap space$'
}
can_swap()
{
	(cd "$scratch" && swap)
	local is=$?
	release
	rm -f "$scratch/disk"
	return $is
}
# Only what is named, by any of its names, and each once.
named()
{
	local first
	truncate -s 8M disk disk2 && mke2fs -qL here disk2 && loop disk && first=$dev && loop disk2 -P && ln -s "$dev" link &&
	    exits 0 "$pardd" "$PWD/link" -l "$dev" && [[ ! -s err && $(listed | wc -l) = 1 ]] && line "$dev" &&
	    { [[ -e /run/udev/data ]] || line "$dev" | grep -q ', ext2 "here", on '; } &&
	    exits 0 "$pardd" -l "$dev" "$first" && [[ $(listed | cut -d ' ' -f 1) = "$dev"$'\n'"$first" ]] || fail "$(cat out err)"
}
it "lists what is named alone, with file systems" named
it "... the disk of a partition" eval \
    'truncate -s 8M disk && loop disk -P && "$tools/part" add "$dev" 3 2048 8192 && until_true 20 test -b "$dev"p3 &&
    exits 0 "$pardd" -l "$dev"p3 && [[ $(listed | wc -l) = 1 ]] && line "$dev" | grep -q " ${dev}p3 "'
last()
{
	truncate -s 1M disk && loop disk && list &&
	    listed | awk '/^\/dev\/loop/ { loops = 1; split($1, n, "loop"); if (n[2] + 0 < before) bad = 1; before = n[2] }
		/^\/dev\/[shv]d/ && loops { bad = 1 } END { exit bad || !loops }' || fail "$(cat out)"
}
it "lists loop devices by number, behind the disks" last
it "takes no -l behind --" exits_saying 1 "'/dev/null' is not an operand.*" /dev/null -- -l
it "says that a name is no disk" exits_saying 15 "/dev/null is not a disk; -l alone lists" -l /dev/null
it "... or is not there" exits_saying 52 'nothere: No such file or directory' -l nothere
# What udev knows is in its own records.
volumes()
{
	truncate -s 8M disk && loop disk -P && "$tools/part" add "$dev" 3 2048 8192 && until_true 20 test -b "$dev"p3 &&
	    cat >look <<-EOT || return
	mount -t tmpfs none /run && mkdir -p /run/udev/data &&
	printf 'S:x\nE:ID_FS_TYPE=ext4\nE:ID_FS_LABEL=ho\033me\n' \
	    >/run/udev/data/b$(($(stat -c 0x%t "$dev"p3))):$(($(stat -c 0x%T "$dev"p3))) && "$pardd" -l || exit
	rm -r /run/udev/data && "$pardd" -l >without
	EOT
	exits 0 unshare -m sh look && line "$dev" | grep -Fq " ${dev}p3  4.2 MB  ext4 \"ho\\x1Bme\"" &&
	    ! grep -q 'No udev' out && grep -q '^No udev runs here, so file systems are not known' without
}
# no_sys OPERANDS...: nothing is not all there is
no_sys()
{
	exits 52 unshare -m sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$pardd" -l "$@" &&
	    one_line '--list: /sys/block: No such file or directory' && [[ ! -s out ]]
}
if able 'unshare -m true' "no mounts of our own"; then
	it "does not list nothing where there is no sysfs" no_sys
	it "... nor as JSON" no_sys --json
	it "shows the file systems that udev has found" volumes
fi
narrow()
{
	script -qec "stty cols 40; $(printf '%q' "$pardd") -l" shown >/dev/null && tr -d '\r' <shown >out &&
	    sed -i '/^Script /d' out && awk 'length > 40 && NF > 1 { print; bad = 1 } END { exit bad }' out &&
	    grep -q '^    sectors of 512 bytes' out
}
given 'command -v script' "no script(1)" it "folds where the terminal is narrow" narrow
given can_swap "no swap space to be had here" it "shows swap space" swap
