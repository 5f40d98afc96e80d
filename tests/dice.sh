# shellcheck shell=bash disable=SC2034
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
