# shellcheck shell=bash
#
# bench.sh TABLE ROUNDS MIB: the guest's part of the SCSI bench.
#
# A row is "NAME|COMMAND|2001": the command with SD1 SG1 (source) and SD2 SG2
# (target) put in, and what the page of 2001 says.  Rows that begin with R or W
# read or write alone.

set -u
table=$1 rounds=$2 mib=$3
# shellcheck source=tests/scsi/lab.sh
. lab.sh

unit="bs=512 bpt=128 count=$((mib * 2048))"
rows_A="R sgp_dd, thr=4|sgp_dd if=SG1 of=/dev/null thr=4 $unit|1
R alone|pace r SD1|
W sgp_dd, thr=4|sgp_dd if=/dev/zero of=SG2 thr=4 sync=1 $unit|
W alone|pace w SD2|
dd|dd if=SD1 of=SD2 bs=64k|2.10
dd, direct|dd if=SD1 of=SD2 bs=64k iflag=direct oflag=direct|
sg_dd sg to sg|sg_dd if=SG1 of=SG2 $unit sync=1|2.65
sgp_dd sg to sg, thr=4|sgp_dd if=SG1 of=SG2 thr=4 sync=1 $unit|1.01
sgp_dd sd to sd, direct, thr=4|sgp_dd if=SD1 of=SD2 iflag=direct oflag=direct thr=4 $unit|1.11
sgp_dd sd to sd, thr=4|sgp_dd if=SD1 of=SD2 thr=4 $unit|1.96
pardd sg to sg|pardd if=SG1 of=SG2|
pardd sd to sd|pardd if=SD1 of=SD2|
pardd sg to sd|pardd if=SG1 of=SD2|
pardd sd to sg|pardd if=SD1 of=SG2|
pardd sg to sg, bpt=128|pardd if=SG1 of=SG2 $unit|
pardd sd to sd, bpt=128|pardd if=SD1 of=SD2 $unit|"

rows_B="R sgp_dd, thr=16|sgp_dd if=SG1 of=/dev/null thr=16 $unit|
R alone|pace r SD1|
W sgp_dd, thr=16|sgp_dd if=/dev/zero of=SG2 thr=16 sync=1 $unit|
W alone|pace w SD2|
sg_dd sg to sg|sg_dd if=SG1 of=SG2 $unit sync=1|
sgp_dd sg to sg, thr=4|sgp_dd if=SG1 of=SG2 thr=4 sync=1 $unit|
sgp_dd sg to sg, thr=16|sgp_dd if=SG1 of=SG2 thr=16 sync=1 $unit|
pardd sg to sg, thr=4|pardd if=SG1 of=SG2 thr=4 $unit|
pardd sg to sg, thr=16|pardd if=SG1 of=SG2 thr=16 $unit|
pardd sg to sg, engine=async|pardd if=SG1 of=SG2 engine=async $unit|
pardd sg to sg, qd=16|pardd if=SG1 of=SG2 qd=16 $unit|
pardd bsg to bsg, thr=16|pardd if=BSG1 of=BSG2 thr=16 $unit|
sgp_dd sd to sd, direct, thr=16|sgp_dd if=SD1 of=SD2 iflag=direct oflag=direct thr=16 $unit|
pardd sd to sd, thr=16|pardd if=SD1 of=SD2 thr=16 $unit|
pardd sd to sg, thr=16|pardd if=SD1 of=SG2 thr=16 $unit|
pardd sd to sg, engine=async|pardd if=SD1 of=SG2 engine=async $unit|"

rows_C="R alone|pace r SD1|
W alone|pace w SD2|
dd, direct|dd if=SD1 of=SD2 bs=1M iflag=direct oflag=direct|
pardd nvme to nvme|pardd if=SD1 of=SD2|
pardd ng to ng|pardd if=SG1 of=SG2|"

# by_serial NUMBER: the disk, in REPLY
by_serial()
{
	REPLY=$(grep -lx "$1 *" /sys/block/nvme*/device/serial) && REPLY=${REPLY#/sys/block/} &&
	    REPLY=/dev/${REPLY%%/*}
}

modprobe -a sg sd_mod nvme
case $table in
A)	title='one request at a time, 16 MiB/s each way'
	rows=$rows_A
	wait_for 10 count_is QEMU 2 && name_disks '' QEMU || exit
	slow=:
	fast=:
	;;
B)	title='4 ms a command, 32 at a time'
	rows=$rows_B
	sdebug add_host=2 per_host_store=1 "dev_size_mb=$mib" delay=0 || exit
	blocks make "$SD1" "${mib}M" 1
	for sd in "$SD1" "$SD2"; do
		echo 32 >"/sys/block/${sd#/dev/}/device/queue_depth"
		echo 64 >"/sys/block/${sd#/dev/}/queue/max_sectors_kb"
	done
	slow='knob ndelay 4000000'
	fast='knob delay 0'
	;;
C)	title="NVMe of QEMU's, in memory"
	rows=$rows_C
	wait_for 10 by_serial TO && SD2=$REPLY && by_serial FROM && SD1=$REPLY || exit
	export SG1=${SD1/nvme/ng} SG2=${SD2/nvme/ng}
	slow=:
	fast=:
	;;
esac
for sd in "$SD1" "$SD2"; do
	echo none >"/sys/block/${sd#/dev/}/queue/scheduler"
done

# Spoil the target here and there: a copy that does nothing is to be seen.
spoil()
{
	local i
	for ((i = 0; i < mib; i += 4)); do
		echo nothing | dd of="$SD2" bs=512 count=1 conv=sync,notrunc \
		    seek=$((i * 2048 + i * 37)) oflag=direct status=none
	done
}

# lap NAME COMMAND...: the seconds, or ! where it failed or copied wrongly.
lap()
{
	local name=$1 line took status
	shift
	$fast
	spoil
	blockdev --flushbufs "$SD1"
	echo 3 >/proc/sys/vm/drop_caches
	$slow
	line=$(stopwatch -s "$SD2" -e /run/said -l 120 "$@")
	read -r _ _ took _ status <<<"$line"
	if [[ $status != 0 ]]; then
		echo "bench: $name: status $status: $(tail -n 1 /run/said)" >&2
		took='!'
	elif [[ $round = "$rounds" && $name != [RW]' '* ]]; then
		$fast
		blockdev --flushbufs "$SD2"
		blocks check "$SD2" 0 0 "${mib}M" 1 >&2 || took='!'
	fi
	printf '%s|%s\n' "$name" "$took"
}

for ((round = 1; round <= rounds; round++)); do
	while IFS='|' read -r name command _; do
		for node in BSG1 BSG2 SD1 SD2 SG1 SG2; do
			command=${command//=$node/=${!node-}}
			command=${command/% $node/ ${!node-}}
		done
		read -ra words <<<"$command"
		type -P "${words[0]}" >/dev/null || continue
		lap "$name" "${words[@]}"
	done <<<"$rows"
done >/run/laps

# The median and the range of each row, over the first row and over the ideal.
awk -F'|' -v title="$title" -v table="$table" '
FNR == NR { old[$1] = $NF; order[++rows] = $1; next }
$2 == "!" { failed[$1] = 1; next }
{ t[$1, ++n[$1]] = $2 }
function sort(name,    i, j, x) {
	for (i = 2; i <= n[name]; i++) {
		x = t[name, i]
		for (j = i - 1; j > 0 && t[name, j] + 0 > x + 0; j--)
			t[name, j + 1] = t[name, j]
		t[name, j + 1] = x
	}
}
function median(name) {
	return (t[name, int((n[name] + 1) / 2)] + t[name, int(n[name] / 2) + 1]) / 2
}
END {
	for (i = 1; i <= rows; i++) {
		name = order[i]
		sort(name)
		if (n[name] == 0)
			continue
		m[name] = median(name)
		if (name ~ /^R / && (best_r == 0 || m[name] < best_r))
			best_r = m[name]
		if (name ~ /^W / && (best_w == 0 || m[name] < best_w))
			best_w = m[name]
	}
	ideal = best_r > best_w ? best_r : best_w
	printf "\n### %s. %s (ideal %.2f s)\n\n", table, title, ideal
	print "| | s | least-most | x read only | x ideal | 2001 |"
	print "|---|--:|--:|--:|--:|--:|"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		says = name
		sub(/^R /, "read only: ", says)
		sub(/^W /, "write only: ", says)
		if (failed[name]) {
			printf "| %s | failed | | | | %s |\n", says, old[name]
			continue
		}
		if (n[name] == 0)
			continue
		printf "| %s | %.2f | %.2f-%.2f | %.2f | %.2f | %s |\n", says,
		    m[name], t[name, 1], t[name, n[name]],
		    m[name] / m[order[1]], m[name] / ideal, old[name]
	}
}' <(printf '%s\n' "$rows") /run/laps
