#!/usr/bin/env bash
# What a copy costs before its first byte.  Every copy pays for each library that is loaded
# at the start (src/DESIGN.md).
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0	# the sanitizers' own start is another

# No library is loaded that could have been linked in.
archives()
{
	local name
	readelf -d "$pardd" | sed -n 's/.*(NEEDED).*\[lib\(.*\)\.so.*/\1/p' >needed
	grep -qx c needed || fail "no libc in $(paste -s needed)"
	while read -r name; do
		[[ $name = c || $(cc -print-file-name="lib$name.a") != */* ]] ||
			fail "lib$name.a is there, and the shared library is loaded" ||
			return
	done <needed
}
given 'command -v readelf cc && readelf -d "$pardd" | grep -q NEEDED' "no readelf or no cc" \
    it "loads no library but libc" archives

# Each start reads the relocations: packed, they are 1 kB, not 90.
packed()
{
	readelf -SW "$pardd" | grep -F .relr.dyn >/dev/null || fail "they are not"
}
can_pack()
{
	ld --help | grep pack-relative-relocs &&
	    readelf -V "$(ldd "$pardd" | sed -n 's/.*libc\.so[^ ]* => \([^ ]*\).*/\1/p')" | grep GLIBC_ABI_DT_RELR
}
given can_pack "ld or the C library cannot" it "has its relocations packed" packed

# A loop device in use is asked what it lies on, here as below.  3,000 are the
# thread that closes the ends, as a file system may not answer.  The instructions
# of strcmp, 26,000 or 35,000, hang on where the names of symbols lie, and do not
# count.
instructions()
{
	local loops n
	loops=$(grep -c ' loop' /proc/partitions)
	"$blocks" make src 1048576 && cp src dst && exits 0 env -i "PATH=$PATH" valgrind \
	    --tool=callgrind --callgrind-out-file=log "$pardd" if=src of=dst && cmp src dst || return
	n=$(callgrind_annotate --threshold=100 log | sed 's/,//g' |
	    awk '/PROGRAM TOTALS/ { n = $1 } /:strcmp[^(]*$/ { n -= $1 } END { print n + 0 }')
	((n > 400000 && n <= 489000 + 3500 * loops)) || fail "$n instructions, $loops loop devices"
}
given 'command -v valgrind' "no valgrind" it "copies 1 MiB in 0.5 M instructions" instructions

# The calls before the first byte is read, the loader's too.  A loop device in
# use is asked what it lies on, by three calls; if one lies in memory, or an erofs
# is mounted, the table of mounts is read, which is left out here.
# Fourteen give up what the copy does not need (confine.c).  One that another
# thread interrupts has two lines, and counts once.
calls()
{
	local loops n
	"$blocks" make src 1048576 && cp src dst || return
	loops=$(grep -c ' loop' /proc/partitions)
	exits 0 strace -f -o log "$pardd" if=src of=dst && cmp src dst || return
	n=$(sed '/preadv2/q; /mountinfo/,/close(/d' log | grep -vc ' resumed>')
	((n > 0 && n <= 111 + 14 + 3 * loops)) || fail "$n calls"
}
no_scan()
{
	"$blocks" make src 1000 && cp src dst &&
	    exits 0 strace -o log -e trace=openat "$pardd" if=src of=dst || return
	! grep -vE '"/dev/loop[0-9]*"|mountinfo"' log | grep -E '"/(dev|sys/block"|proc/self)'
}

# The heads and tails of all disks are asked for before the first of them is
# waited for; what is read later has been there until then.
at_once()
{
	local name n
	truncate -s 60M a && truncate -s 64M b c && printf '%s\n' size=20M size=20M | sfdisk -q --label gpt a || return
	for name in a b c; do
		loop "$name" && printf -v "$name" %s "$dev" || return
	done
	exits 0 strace -o log -e trace=fadvise64,pread64,read -y "$pardd" if="$a" of="$b" of="$c" || return
	sed -i '/[0-9]<\/dev\/loop/!d; /RANDOM/d; s/".*"//' log
	n=$(sed '/read/Q' log | grep WILLNEED | grep -o '/dev/loop[0-9]*' | sort | uniq -c | awk '$1 >= 2' | wc -l)
	{ ((n == 3)) && grep -q "read.*$a" log && grep -q "read.*$c" log && ! sed '1,/DONTNEED/d' log | grep read; } ||
	    fail "$n are asked before one is read: $(head -20 log)"
}

# The same for the ends of all partitions: requests that wait for nothing stand
# together, and reads between them.
partitions()
{
	local n
	truncate -s 200M a && yes size=20M | head -n 8 | sfdisk -q --label gpt a && loop a &&
	    exits 0 strace -o log -e trace=fadvise64,pread64,read -y "$pardd" -d if="$dev" of=. || return
	sed -i "/<${dev//\//\\/}>/!d" log
	n=$(awk '/WILLNEED/ { n += !asked; all++ } { asked = /WILLNEED/ } END { print all < 20 ? -all : n }' log)
	((n > 0 && n <= 4)) || fail "waits between $n: $(grep WILLNEED log)"
}

# A rescue of a disk onto one as large needs nothing of that before it begins.
not_before()
{
	local a
	truncate -s 8M a b && loop a && a=$dev && loop b &&
	    exits 0 strace -o log -e trace=fadvise64 -y "$pardd" if="$a" of="$dev" map=map || return
	grep -q "$dev>.*WILLNEED" log && ! grep "$a>.*WILLNEED" log
}

# threads N OPERAND...: a small copy from memory to memory starts as many.
threads()
{
	in_memory
	"$blocks" make src 1048576 && exits 0 strace -f -o log \
	    -e trace=clone,clone3 "$pardd" if=src of=dst "${@:2}" && cmp src dst || return
	[[ $(grep -c '^[0-9]* *clone' log) = "$1" ]] || fail "not $1: $(cat log)"
}
if able 'command -v strace && strace -o /dev/null true' "no strace"; then
	it "reads the first byte after a hundred calls" calls
	it "does not look for devices to copy a file onto a file" no_scan
	if able can_loop "no loop devices"; then
		it "asks all disks at once for what is read before a copy, and once" at_once
		it "does not ask the source of a rescue" not_before
		it "asks for the ends of all partitions at once" partitions
	fi
	if able has_shm "no tmpfs"; then
		it "starts no thread to copy 1 MiB in memory" threads 0
		it "starts one to wait for rate=" threads 1 rate=100M
	fi
fi
