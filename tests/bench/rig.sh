# shellcheck shell=bash disable=SC2034,SC2154
# The rig of the bench: files in memory, simulated disks and loop devices.
#
# Sourced, hence the names it shares; expects $top, $here, $BUILD, `note` and
# `die`.  Sets $work, a directory in memory with everything in it, and in it the
# tools as commands.  What attach and simulate make is undone by take_down, all
# of it by clean_up.

work='' disk_dir=''
servers=() loops=() mounts=() held=() old_sectors=()

# src and dst are what commands are given; the bytes can be compared in
# src_bytes and dst_bytes.
src='' dst='' src_bytes='' dst_bytes=''

# tool NAME: as the Makefile has built it, else built here.
tool() {
	local source=$top/tests/tools/$1.c built=$BUILD/tools/$1
	[ -f "$source" ] || source=$here/$1.c
	if [ -x "$built" ] && [ ! "$source" -nt "$built" ]; then
		ln -s "$built" "$work/$1"
	else
		"${CC:-cc}" -std=c17 -O2 -pthread -o "$work/$1" "$source" ||
			die "cannot build $1"
	fi
}

set_up() {
	local name
	work=$(mktemp -d /dev/shm/pardd-bench.XXXXXX) || die "no /dev/shm"
	for name in simdisk pace stopwatch resident safe; do
		tool "$name"
	done
}

# images MIB: source and target of that size, all their pages in memory.
images() {
	local image
	src_bytes=$work/src.img dst_bytes=$work/dst.img
	for image in "$src_bytes" "$dst_bytes"; do
		if [ -e "$image" ]; then
			truncate -s "${1}M" "$image"
		else
			head -c "${1}M" /dev/urandom >"$image" ||
				die "no room in /dev/shm"
		fi
	done
}

# attach FILE: a loop device of it, in REPLY.  It is held open: a block device
# loses its cached pages with its last user, and what a copy left would not be
# seen.
attach() {
	local fd sectors
	REPLY=$(losetup -f --show --direct-io=on "$1") ||
		die "no loop device for $1"
	loops+=("$REPLY")
	sectors=/sys/block/${REPLY#/dev/}/queue/max_sectors_kb
	old_sectors+=("$(cat "$sectors")")
	echo 1024 >"$sectors"		# requests of 1 MiB shall stay whole
	exec {fd}<"$REPLY"
	held+=("$fd")
}

# simulate NAME OPTION...: NAME.img as a slow disk, its file in REPLY.
simulate() {
	local name=$1
	shift
	mkdir -p "$work/$name"
	"$work/simdisk" "$@" "$work/$name.img" "$work/$name" ||
		die "cannot simulate a disk"
	mounts+=("$work/$name")
	REPLY=$work/$name/disk
}

# devices FILE FILE: the ends of the copies to come.
devices() {
	attach "$1"
	src=$REPLY
	attach "$2"
	dst=$REPLY
}

# slow_disks READ_RATE WRITE_RATE OPTION...
slow_disks() {
	local from read=$1 write=$2
	shift 2
	simulate src -r "$read" -w "$read" "$@"
	from=$REPLY
	simulate dst -r "$write" -w "$write" "$@"
	devices "$from" "$REPLY"
}

unmount() {
	local try
	for ((try = 0; try < 50; try++)); do
		umount "$1" 2>/dev/null && return
		sleep 0.1		# the loop device lets go a little later
	done
	note "cannot unmount $1"
}

take_down() {
	local fd i mount server
	# tgtd takes no other signal while it has targets; no server has anything
	# to keep
	for server in "${servers[@]}"; do
		kill -KILL "$server"
		wait "$server" 2>/dev/null
	done
	for fd in "${held[@]}"; do
		exec {fd}<&-
	done
	for i in "${!loops[@]}"; do
		echo "${old_sectors[i]}" \
			>"/sys/block/${loops[i]#/dev/}/queue/max_sectors_kb"
		losetup -d "${loops[i]}"
	done
	for mount in "${mounts[@]}"; do
		unmount "$mount"
	done
	servers=() held=() loops=() old_sectors=() mounts=()
}

clean_up() {
	take_down
	[ -z "$disk_dir" ] || rm -rf "$disk_dir"
	[ -z "$work" ] || rm -rf --one-file-system "$work"
}
