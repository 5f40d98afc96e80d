#!/usr/bin/env bash
# The simulated disk that counts costs, on which the benchmark of rescues is based.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# a sanitizer brings its own threads

# on_disk WORDS COMMAND...: of 64 MiB, described by lines parted by ';'
on_disk()
{
	truncate -s 64M src dst
	printf '%s\n' 'size 67108864' 'rate 200e6' "${1//;/$'\n'}" >disk
	DISK=disk SOURCE=src TARGET=dst FIGURES=figures READS=reads LD_PRELOAD=$tools/counted.so "${@:2}" >out 2>err
}
# came_to COLUMN VALUE: of the figures
came_to()
{
	local is
	is=$(cut -f "$1" figures)
	[[ $is = "$2" ]] || fail "column $1 is $is, not $2: $(<figures)"
}

# 64 reads of 1 MiB, 150 us each, and 67.1 MB at 200 MB/s.
plain()
{
	on_disk 'overhead 50;latency 100' dd if=src of=dst bs=1M || return
	came_to 11 0.345144 && came_to 12 0 && came_to 13 64 && came_to 14 0 &&
	    came_to 15 0 && came_to 16 0 && came_to 9 0.345144 && [[ ! -s dst || $(stat -c %b dst) = 0 ]]
}
it "counts what each read takes, and what was written" plain
# It fails behind 512 bytes, which take 2560 ns, and then for 1 s.
bad()
{
	! on_disk 'error 1000000;bad 512 512' dd if=src of=dst bs=256k &&
	    came_to 11 1.000003 && came_to 12 1 && came_to 13 1 && came_to 15 131071
}
it "counts an error, and what is read before the bad sector" bad
jumps()
{
	on_disk 'jump 8000' dd if=src of=dst bs=1M skip=63 seek=63 conv=notrunc &&
	    came_to 11 0.013243 && came_to 14 1 && came_to 15 129024
}
it "counts a jump where a read does not follow the last" jumps
slow()
{
	on_disk 'slow 0 1000448 1e6' dd if=src of=dst bs=2M count=1 conv=notrunc && came_to 11 1.005932
}
it "counts more where the disk is slow" slow
# sysfs ROTATES
sysfs()
{
	rm -rf map sys
	mkdir -p sys/queue && echo 131072 >sys/size && echo 240:0 >sys/dev || return
	echo 0 | tee sys/removable >sys/ro
	echo 512 | tee sys/queue/logical_block_size >sys/queue/physical_block_size
	echo "$1" >sys/queue/rotational
}
# safe_in ROTATES SERVERS: seconds until 90 % of a disk were there that serves so
# many reads at a time, of which eight fail, for a second each
safe_in()
{
	local i bad=''
	for i in 1 2 3 4 5 6 7 8; do bad+=";bad $((i * 7000000 / 512 * 512)) 512"; done
	sysfs "$1" || return
	SYSFS=$PWD/sys on_disk "servers $2;overhead 50;error 1000000$bad" "$pardd" if=src of=dst map=map thr=4
	[[ $(cut -f 16 figures) = 0 && $(cut -f 4 figures) -le 8 ]] || fail "$(cat figures err)"
	cut -f 3 figures
}
elsewhere()
{
	local beside alone several
	beside=$(safe_in 0 2) && alone=$(safe_in 1 2) && several=$(safe_in 0 4) || return
	awk "BEGIN { exit $beside > 5 || $alone < 7 || $several > 3 }" ||
	    fail "$beside s, with four at a time $several s, and where it rotates $alone s"
}
it "reads elsewhere while a read takes as long as errors do, at as many places as the disk serves, unless it rotates" elsewhere
# Each read takes 14 ms, and each error as much more.
as_quick()
{
	sysfs 0 && SYSFS=$PWD/sys on_disk 'overhead 14000;error 14000;bad 20001792 15360' \
	    "$pardd" if=src of=dst map=map bpt=128
	[[ $(cut -f 16 figures) = 0 && $(cut -f 13 figures) -lt 2500 ]] || fail "$(cat figures err)"
}
it "takes no read for stuck where errors are as quick as good reads" as_quick
wrong()
{
	on_disk 'jump 0' dd if=src of=dst bs=1M seek=1 count=1 conv=notrunc && came_to 16 2048 && came_to 15 131072
}
it "knows a sector that is written to another place" wrong
twice()
{
	local words='overhead 50;latency 100;error 2000000;bad 1048576 512;bad 9437184 40960;bad 50331648 512'
	on_disk "$words" "$pardd" if=src of=dst map=map thr=16
	mv reads before && rm map
	on_disk "$words" "$pardd" if=src of=dst map=map thr=16
	cmp before reads && came_to 15 0 && came_to 16 0 && [[ $(wc -l <reads) -gt 64 ]]
}
it "comes to the same each time, with 16 workers" twice
shapes()
{
	"$top/tests/bench/shapes" -t few 512e large >out || return
	awk -F '\t' '$5 != ($4 == "pardd" ? 100 : 0) || NF != 21 || $21 != 0 || $15 == "-" || $16 == 0 { exit 1 }
	    END { exit NR < 2 }' out || fail "$(<out)"
}
it "stands behind the table of shapes" shapes
# Of the same seed always the same disk, and another than of the next one.
by_seed()
{
	local n runs=0
	for n in 10 10 17; do
		((++runs))
		"$top/tests/bench/shapes" -r $n -t >out.$n.$runs || return
		awk -F '\t' '$5 != ($4 == "pardd" ? 100 : 0) || NF != 21 || $21 != 0 || $11 == 0 { exit 1 }
		    END { exit NR < 1 }' out.$n.$runs || fail "$(<out.$n.$runs)" || return
	done
	same out.10.1 out.10.2 && ! cmp -s <(cut -f 6- out.10.1) <(cut -f 6- out.17.3)
}
it "stands behind disks that chance makes" by_seed
