# shellcheck shell=bash
# shellcheck disable=SC2034,SC2086,SC2119,SC2120,SC2154
#
# Sourced, after lib.sh, by each *.t about rescues: runs with bad sectors, and checks of
# their maps.

maps=$tools/maps
[[ -x $maps ]] || { echo "Bail out! tools/maps is not built"; exit 1; }
size=$((2 << 20))
peer=
! command -v ddrescue >/dev/null || peer=1
thrs=(1 4 16)
some=51200+1536,409600+512,1024000+102400,2000384+512
bad=9+1			# of whom rescue() is told that nothing fails

# rescue STATUS RULE OPERANDS...: a run with bad sectors at $bad
rescue()
{
	exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO $2" \
	    "$pardd" if=src of=dst map=map bs=512 "${@:3}"
}
# The same with ddrescue, in all its passes; its target is the file theirs.
their()
{
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO" LD_PRELOAD=$shim ddrescue -q "$@" src theirs theirs.map
}
# stuff: a source, and a target that is full of something else
stuff()
{
	"$blocks" make src "${1:-$size}" && "$blocks" make dst "${1:-$size}" 9 && cp dst old
}
# is STATUS RANGES [MAP]: exactly these ranges have this status in the map
is()
{
	local got
	got=$("$maps" list "${3:-map}" "$1") || return
	[[ $got = "$2" ]] || fail "$1 in the map: $got, not $2"
}
# honest [SKIP SEEK COUNT]: what is + in the map is right, and all else untouched
honest()
{
	"$maps" check map src dst old "${1:-0}" "${2:-0}" "${3:-$size}"
}

# Slow reads, so that a run can be watched; with $half it waits half way for a file go.
half="on=src op=read at=1048576+ until=go"
slowly()
{
	stuff
	FAULTS="${1:+$1;}on=$PWD/src op=read sleep=60" LD_PRELOAD=$shim FAULT_LOG=$PWD/faults \
	    "$tools/ends" how "$pardd" if=src of=dst map=${map:-map} bs=512 bpt=${bpt:-128} thr=1 "${@:2}" 2>err &
}
has()
{
	[[ -s map && -n $("$maps" list map "$1") ]]
}

# begun_with LINE...: a map of these lines, as ddrescue writes it, and a target that has
# what it calls finished
begun_with()
{
	local at len is
	stuff && { echo '0 ? 1'; printf '%s\n' "$@"; } >map || return
	while read -r at len is; do
		[[ $is != + ]] || dd if=src of=dst bs=512 skip=$((at / 512)) \
		    seek=$((at / 512)) count=$((len / 512)) conv=notrunc status=none || return
	done < <(printf '%s\n' "$@")
	cp map before && cp dst old
}
# as_before: the map says the same of each block
as_before()
{
	local s
	for s in + - '*' / '?'; do
		is "$s" "$("$maps" list before "$s")" || return
	done
}
# The map calls nothing finished.
nothing_safe()
{
	is + '' && is '?' 0+$size
}
# leaves_threads: the process ends without joining them, which tsan is not to report
leaves_threads()
{
	export TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0
}
# The duration of the longest of these calls.
longest()
{
	awk -v op="$1" '$1 == op && $3 > n { n = $3 } END { print n + 0 }' faults
}

traced()
{
	command -v strace && strace -o /dev/null true
}
