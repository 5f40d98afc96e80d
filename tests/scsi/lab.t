#!/usr/bin/env bash
# lab: itself
# shellcheck disable=SC2016
# The lab itself, from outside: its output and status, and that it leaves nothing behind.

set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
pids=()			# of all labs

# it SENTENCE COMMAND...
it()
{
	local sentence=$1
	shift
	number=$((number + 1))
	if "$@" >"$work/said" 2>&1; then
		echo "ok $number - $sentence"
	else
		echo "not ok $number - $sentence"
		tail -n 40 "$work/said" | sed 's/^/# /'
	fi
}

# lab STATUS OPTION...: it ends so; what it wrote is in the files out and err
lab()
{
	local want=$1 status
	shift
	"$here/lab" "$@" >"$work/out" 2>"$work/err" &
	pids+=($!)
	wait $!
	status=$?
	[[ $status = "$want" ]] && return
	echo "status $status, not $want"
	cat "$work/err"
	return 1
}

hands_through()
{
	head -c 300001 /dev/urandom >"$work/bytes"
	lab 37 -j 1 -f "$work/bytes:/data/bytes" -e 'GREETING=a  b' -D size=5M,serial=s \
	    -c 'cat /data/bytes; cat /data/bytes >&2
		[[ $GREETING = "a  b" && $2 = "x  y" && $(id -u) = 0 ]] || exit 1
		. lab.sh && qemu_disks 1 && grep -q " 5120 sd" /proc/partitions &&
		[[ -c $QSG1 && -c $QBSG1 ]] || exit 2
		exit 37' one 'x  y' &&
	    cmp "$work/out" "$work/bytes" && cmp "$work/err" "$work/bytes"
}
it "hands both outputs through unaltered, and the status" hands_through
took=$SECONDS		# as long as a guest takes here, today

too_long()
{
	local most=$((took * 2 + 8))
	lab 124 -j 1 -t $most -c 'echo begun; sleep 10000' && grep -qx begun "$work/out" &&
	    grep -q "killed after $most s" "$work/err"
}
it "kills a guest that takes too long" too_long

dies()
{
	lab 125 -j 1 -c 'echo c >/proc/sysrq-trigger' &&
	    grep -q 'Kernel panic' "$work/err"
}
it "reports a guest that died, with its console" dies

# However they ended.
stays()
{
	local pid
	((${#pids[@]} == 3)) || return
	for pid in "${pids[@]}"; do
		! ls -d {/dev/shm,"${TMPDIR:-/tmp}"}/pardd-lab."$pid".* 2>/dev/null || return
	done
}
it "leaves nothing behind" stays

echo "1..$number"
