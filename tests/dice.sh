# shellcheck shell=bash disable=SC2034,SC2154
# Random choices, for tests that start from a seed.

# pick WORD...: one of them, in $picked
pick()
{
	local n=$((RANDOM % $#))
	shift $n
	picked=$1
}
# big N: less than N, in $dice; N may be up to 2^30
big()
{
	dice=$(((RANDOM << 15 | RANDOM) % $1))
}
# chance PERCENT
chance()
{
	((RANDOM % 100 < $1))
}
# four_disks BYTES: $disk and $disk4k with data, $tdisk and $tdisk4k as targets; all are
# empty words if $devices is
four_disks()
{
	disk='' disk4k='' tdisk='' tdisk4k='' disk_bytes=$1
	[[ -n $devices ]] || return 0
	truncate -s "$1" a.img b.img c.img d.img
	loop a.img --sector-size 512 && disk=$dev && loop b.img --sector-size 4096 && disk4k=$dev &&
	    loop c.img --sector-size 512 && tdisk=$dev && loop d.img --sector-size 4096 && tdisk4k=$dev &&
	    "$blocks" make "$disk" "$1" && "$blocks" make "$disk4k" "$1"
}
# mixed SEED N: run N random cases.  "begin" makes what all of them need, "one" chooses a
# case, runs and judges it, and counts in $ran those that were not refused.  A failure
# shows the files of its case; ONLY=I shows case I, whatever its result.
mixed()
{
	local i ran=0
	RANDOM=$1
	begin || return
	for ((i = 0; i < $2; i++)); do
		RANDOM=$(($1 + i * 7))
		[[ -z ${ONLY-} || $i = "$ONLY" ]] || continue
		one && [[ -z ${ONLY-} ]] && continue
		[[ ! -s map ]] || head -n 30 map
		cat err
		echo "no. $i of SEED=$seed, from $1:"
		cat line
		return 1
	done
	echo "$ran of $2 were not refused"
	((ran * 4 > $2)) || fail "most were refused"
}
