#!/usr/bin/env bash
# Random command lines, given to GNU dd and to pardd (tests/random).
#
#	SEED=N		start from another seed
#	MANY=N		so many command lines
#	ONLY=N		the Nth alone
#
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs "dd --version | grep coreutils" -- "dd is another one"

seed=${SEED:-1}
fast=/dev/shm
has_shm || fast=$scratch
many=$(heavy 200)
[[ -z $LONG ]] || many=100000
many=${MANY:-$many}
parts=1
[[ -z $LONG ]] || parts=$(nproc)
devices=
! can_loop || devices=1

# disk BYTES BLOCK: one more, in $disks
disk()
{
	truncate -s "$1" "mem/${#disks}" && loop "mem/${#disks}" --sector-size "$2" && disks+=${disks:+,}$dev
}

# part FIRST LAST: those lines, in a directory with disks of its own
part()
{
	local disks='' mem size
	mem=$(mktemp -d "$fast/pardd-random.XXXXXX") && undo rm -rf "$mem" &&
	    mkdir "part.$1" && cd "part.$1" && ln -s "$mem" mem || return
	if [[ -n $devices ]]; then
		for size in 132608:512 135168:4096 150016:512 150016:512 147456:4096 147456:4096; do
			disk ${size%:*} ${size#*:} || return
		done
	fi
	"$tools/lines" ${disks:+-d "$disks"} "$pardd" "$shim" "$seed" "$1" "$2"
}

# alike FIRST LAST: in as many parts as there are processors
alike()
{
	local i each=$((($2 - $1) / parts + 1)) pids=() pid failed=0
	for ((i = 0; i < parts; i++)); do
		part $(($1 + i * each)) $((i == parts - 1 ? $2 : $1 + (i + 1) * each - 1)) &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return $failed
}

if [[ -n ${ONLY-} ]]; then
	it "does what dd does in line $ONLY of seed $seed" part "$ONLY" "$ONLY"
else
	echo "# SEED=$seed, $many lines"
	it "does what dd does in $many lines by dice, where both mean the same" alike 0 $((many - 1))
fi
