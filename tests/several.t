#!/usr/bin/env bash
# Random copies to several targets: each target must become what a copy to it alone
# would make of it; if one of them fails, this must hold for the others.
#
#	SEED=N		start from another seed
#	MANY=N		so many cases
#	ONLY=N		case N alone, with its output
#
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dice.sh"
[[ $VARIANT = plain ]] || exit 0
needs can_loop -- "no loop devices"

seed=${SEED:-20261123}

# What is copied, and how: args, flags of the target, bytes, from
choose_source()
{
	local at n
	from=file bs=512
	pick 0 1 511 4096 65537 x y y y z z
	case $picked in
	x)	big 40000 ;;
	y)	big 700000 ;;
	z)	big 3000000 ;;
	*)	dice=$picked ;;
	esac
	bytes=$dice
	rm -f src
	"$blocks" make src "$bytes" || return
	for ((n = RANDOM % 4; n > 0 && bytes > 65536; n--)); do
		big "$bytes"
		at=$dice
		big $((bytes - at))
		fallocate -p -o "$at" -l $((dice + 1)) src
	done
	if ((bytes > 65536)) && chance 30; then
		big "$bytes"
		fallocate -p -o "$dice" -l $((bytes - dice)) src
	fi
	! chance 40 || { cat src >dense && mv dense src; }
	! chance 20 || from=pipe
}
choose_operands()
{
	local ow=() left
	pick 512 512 1 4096 4096 1000 64k
	bs=${picked/64k/65536}
	args=("bs=$picked")
	left=$((bytes / bs))
	! chance 30 || args+=("skip=$((RANDOM % (left + 1)))")
	! chance 30 || args+=("seek=$((1 + RANDOM % 50))")
	! chance 15 || args+=(conv=sync)
	! chance 40 || args+=("thr=$((1 + RANDOM % 16))")
	! chance 50 || args+=("bpt=$((1 + RANDOM % (bs < 4096 ? 200 : 16)))")
	! chance 50 || { pick 1 stream source; args+=("verify=$picked"); }
	! chance 20 || args+=(hash=sha256)
	! chance 20 || args+=(manifest=manifest)
	! chance 20 || args+=(coe=1)
	! chance 10 || args+=("mem=$((64 + RANDOM % 4000))k")
	! chance 40 || { pick sparse trim nosparse trunc append; ow+=("$picked"); }
	! chance 20 || { pick direct cached nocache dsync; ow+=("$picked"); }
	! chance 10 || args+=(sync=0)
	local IFS=,
	((${#ow[@]} == 0)) || args+=("oflag=${ow[*]}")
}
# A block map of two ranges of it.
make_map()
{
	local blocks=$(((bytes + 4095) / 4096)) r ranges
	r=$((RANDOM % blocks))
	ranges=$((RANDOM % (r + 1)))-$r
	((r + 2 >= blocks)) || ranges+=" $((r + 2))-$((r + 2 + RANDOM % (blocks - r - 2)))"
	made 2.0 sha256 src "$ranges"
}
choose_map()
{
	local a keep=()
	chance 25 && ((bytes > 0)) || return 0
	for a in "${args[@]}"; do
		case $a in
		skip=* | seek=* | hash=* | manifest=* | coe=* | conv=* | oflag=*append*)
			;;
		*)	keep+=("$a") ;;
		esac
	done
	args=("${keep[@]}" bmap=map)
	make_map
}
choose_targets()
{
	local n=$((2 + RANDOM % 3)) i
	to=()
	for ((i = 0; i < n; i++)); do
		rm -f "old$i"
		pick new old old disk disk4k
		case $picked in
		new)	to+=("t$i") ;;
		old)	to+=("t$i")
			big 900000
			"$blocks" make "old$i" "$dice" 9 ;;
		*)	to+=("${picked}$((i % 2))")
			[[ " ${to[*]:0:i} " != *" ${to[i]} "* ]] || to[i]=t$i ;;
		esac
	done
}
# path TARGET: where it is
path()
{
	case $1 in
	disk4k*)	echo "${disk4k[${1#disk4k}]}" ;;
	disk*)		echo "${disk[${1#disk}]}" ;;
	*)		echo "$1" ;;
	esac
}
# before N: the Nth target as it is before
before()
{
	local name=${to[$1]}
	case $name in
	disk*)	"$blocks" make "$(path "$name")" "$disk_bytes" 9 ;;
	*)	rm -f "$name"
		[[ ! -e old$1 ]] || cp "old$1" "$name" ;;
	esac
}
copy()
{
	rm -f manifest
	if [[ $from = pipe ]]; then
		"$pardd" "${args[@]}" "$@" < <(cat src)
	else
		"$pardd" if=src "${args[@]}" "$@" </dev/null
	fi >out 2>err
	status=$?
}
# One of them fails, in a write, a flush or when it is closed, or is full; the
# others hold what they did when none failed.
one_fails()
{
	local i victim=$((RANDOM % ${#to[@]})) rule name
	name=$(path "${to[victim]}")
	[[ ${alone[victim]} = 0 && -s want$victim && " ${args[*]} " != *" sync=0 "* ]] || return 0
	pick 'op=write,zero at=0+ fail=EIO' "op=write,zero at=$((RANDOM * 16))+ fail=ENOSPC" \
	    'op=flush fail=EIO' 'op=close fail=EDQUOT'
	rule="on=$name $picked"
	for i in "${!to[@]}"; do
		before "$i"
	done
	rm -f faults
	echo "FAULTS=$rule" >>line
	FAULTS=$rule FAULT_LOG=$PWD/faults LD_PRELOAD=$shim copy "${of[@]}" engine=threads
	[[ -s faults ]] || { [[ $status = "$worst" ]]; return; }
	((status != 0)) || fail "status 0, and one has failed" || return
	! grep -q '^pardd: complete' err || fail "it says complete" || return
	for i in "${!to[@]}"; do
		[[ $i != "$victim" ]] || continue
		[[ ! -e want$i ]] || cmp "want$i" "$(path "${to[i]}")" || fail "target ${to[i]}, which is well" || return
	done
}
one()
{
	local args=() from bytes bs to picked dice i of=() alone=() worst=0 status
	choose_source && choose_operands && choose_targets && choose_map || return
	for i in "${!to[@]}"; do
		before "$i"
		copy of="$(path "${to[i]}")"
		alone+=("$status")
		[[ $worst != 0 ]] || worst=$status
		rm -f "want$i"
		[[ ! -e $(path "${to[i]}") ]] || cat "$(path "${to[i]}")" >"want$i"
		before "$i"
		of+=(of="$(path "${to[i]}")")
	done
	echo "from=$from:$bytes pardd ${args[*]} ${of[*]}; alone: ${alone[*]}" >line
	copy "${of[@]}"
	ran=$((ran + (status == 0)))
	case $status in
	1 | 101 | 78)
		return 0 ;;		# before a byte moved
	esac
	[[ $status = "$worst" ]] || fail "status $status, alone ${alone[*]}" || return
	for i in "${!to[@]}"; do
		[[ ! -e want$i ]] || cmp "want$i" "$(path "${to[i]}")" || fail "target ${to[i]}" || return
	done
	((status != 0)) || complete || return
	! chance 40 || one_fails
}

begin()
{
	local i
	disk=() disk4k=() disk_bytes=$((1 << 20))
	for i in 0 1; do
		truncate -s $disk_bytes "a$i.img" "b$i.img"
		loop "a$i.img" --sector-size 512 && disk+=("$dev") &&
		    loop "b$i.img" --sector-size 4096 && disk4k+=("$dev") || return
	done
}
many=25
[[ -z $LONG ]] || many=2000
echo "# SEED=$seed"
it "copies to several targets what it copies to each" mixed "$seed" "${MANY:-$many}"
