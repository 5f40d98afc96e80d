# shellcheck shell=bash disable=SC2034,SC2154
# What a test throws, by RANDOM: sourced by those that go by a seed.

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
# mixed SEED N: throw N times.  "begin" makes what all need, "one" throws and
# judges, and counts in $ran what was not refused.  What a failure leaves is
# shown; ONLY=I shows the Ith, whatever comes of it.
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
