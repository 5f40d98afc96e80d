#!/usr/bin/env bash
# Random rescues: several runs of one command, each with other faults and the last
# with none; after each run the map and the target are compared with the truth.
#
#	SEED=N		start from another seed
#	MANY=N		so many cases
#	ONLY=N		case N alone, with its output
#
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dice.sh"
[[ $VARIANT = plain ]] || exit 0

seed=${SEED:-20261123}
maps=$tools/maps
fast=/dev/shm
has_shm || fast=$scratch
devices=
! can_loop || devices=1

# From what, to what: src, bytes, sblock; dst, room, tblock, and old, which is
# what is there before.
choose_ends()
{
	local kinds=(file file file)
	[[ -z $devices ]] || kinds+=(disk disk4k)
	pick "${kinds[@]}"
	case $picked in
	file)	src=src sblock=512
		pick 1 511 4097 65537 x y y y z
		case $picked in
		x)	big 40000 ;;
		y)	big 400000 ;;
		z)	big 2000000 ;;
		*)	dice=$picked ;;
		esac
		bytes=$((dice + 1))
		rm -f src
		"$blocks" make src "$bytes" ;;
	disk)	src=$disk sblock=512 bytes=$disk_bytes ;;
	disk4k)	src=$disk4k sblock=4096 bytes=$disk_bytes ;;
	esac
	pick "${kinds[@]}"
	dst=dst room=-1 tblock=1
	rm -f dst old
	case $picked in
	file)	: >old
		! chance 60 || {
			big 500000
			"$blocks" make old "$dice" 9
			cp old dst
		} ;;
	disk)	dst=$tdisk tblock=512 room=$disk_bytes ;;
	disk4k)	dst=$tdisk4k tblock=4096 room=$disk_bytes ;;
	esac
	[[ $dst = dst ]] || {
		"$blocks" make "$dst" "$room" 9
		cat "$dst" >old
	}
}
# Which bytes, to which place: off, len, at
choose_range()
{
	local skip=0 seek=0
	pick "" 512 4096 4096 12288
	bs=$picked
	[[ $src != src ]] || ((tblock > 1)) || { pick 1 33 512 "$bs" "$bs"; bs=$picked; }
	[[ -z $bs ]] || args+=("bs=$bs")
	[[ -n $bs ]] || { [[ $src != src ]] && bs=$sblock || bs=$((tblock > 1 ? tblock : 512)); }
	len=$bytes
	if chance 30; then
		skip=$((RANDOM % (bytes / bs + 1)))
		args+=("skip=$skip")
	fi
	off=$((skip * bs)) len=$((bytes - off))
	if chance 30; then
		big $((len / bs + 1))
		len=$((dice * bs))
		args+=("count=$dice")
	fi
	if chance 30; then
		seek=$((RANDOM % 40))
		args+=("seek=$seek")
	fi
	at=$((seek * bs))
	padded=$(((len + tblock - 1) / tblock * tblock))
}
choose_operands()
{
	! chance 50 || args+=("thr=$((1 + RANDOM % 16))")
	! chance 50 || args+=("bpt=$((1 + RANDOM % (bs < 4096 ? 100 : 16)))")
	! chance 20 || { pick notrim noscrape nosweep reverse reverse; args+=("rescue=$picked"); }
	! chance 15 || args+=(mapinterval=1)
	! chance 15 || { pick direct cached nocache; args+=("iflag=$picked"); }
	! chance 15 || { pick direct cached nocache dsync; args+=("oflag=$picked"); }
	! chance 20 || args+=(json=json)
	! chance 10 || args+=(fill=zero)
	! chance 10 || args+=(mem=300k)
	domain=
	if chance 25 && ((bytes >= 512)); then
		domain=$("$maps" random $RANDOM "$bytes" 512) && [[ -n $domain ]] || return 0
		local r end=0
		{
			echo '0 + 1'
			for r in ${domain//,/ }; do
				((${r%+*} == end)) || printf '%#x %#x ?\n' $end $((${r%+*} - end))
				printf '%#x %#x +\n' "${r%+*}" "${r#*+}"
				end=$((${r%+*} + ${r#*+}))
			done
			((end >= bytes)) || printf '%#x %#x ?\n' $end $((bytes - end))
		} >domain
		args+=(domain=domain)
	fi
}
# What goes wrong in a round: rules for the shim, and a signal
choose_fault()
{
	rules='' signal='' extra=()
	pick read read read write flush signal signal none
	case $picked in
	read | signal)	((bytes < sblock)) || ! chance 70 || {
			rules="on=$src op=read at=$("$maps" random $RANDOM "$bytes" "$sblock") fail=EIO"
			[[ $rules != *"at= "* ]] || rules=
		} ;;
	esac
	! chance 30 || extra+=("retries=$((1 + RANDOM % 2))")
	case $picked in
	write)	big $((len + 1))
		pick EIO ENOSPC
		rules="on=$dst op=write at=$(((at + dice) / 4096 * 4096))+ fail=$picked" ;;
	flush)	rules="on=$dst op=flush fail=EIO" ;;
	signal)	pick INT TERM HUP KILL
		signal=$picked
		extra+=("rate=$(((len + 1) * (1 + RANDOM % 20) + 4096))") ;;
	esac
}

# --------------------------------------------------------------- the truth

# What the target must hold in the end: want
model()
{
	local r from to whole=${domain:-0+$bytes}
	cp old want
	[[ $len = 0 || $(stat -c %s want) -ge $((at + len)) ]] || truncate -s $((at + len)) want
	for r in ${whole//,/ }; do
		from=${r%+*} to=$((${r%+*} + ${r#*+}))
		((from > off)) || from=$off
		((to < off + len)) || to=$((off + len))
		((from < to)) || continue
		dd if="$src" of=want bs=64k skip="$from" count=$((to - from)) \
		    seek=$((at + from - off)) conv=notrunc status=none \
		    iflag=skip_bytes,count_bytes oflag=seek_bytes || return
		((to < off + len || padded == len)) || head -c $((padded - len)) /dev/zero |
		    dd of=want bs=64k seek=$((at + len)) oflag=seek_bytes \
			conv=notrunc status=none
	done
}
# Nothing beside the range has changed, and what the map calls finished is right.
honest()
{
	local size end=$((at + padded)) n
	# What is not known to be on the medium may be there.
	[[ $rules != *op=[wf]* && -z $killed ]] || loose=1
	if [[ -e $dst ]]; then
		size=$(stat -c %s old)
		n=$((at < size ? at : size))
		cmp -n $n old "$dst" || fail "something changed before the range" || return
		((end >= size)) || cmp -i $end old "$dst" || fail "something changed behind the range" || return
	fi
	# Before it was first saved it says no more than whose it is.
	grep -qs ^0x map || return 0
	head -c $((at + len)) "$dst" >now 2>/dev/null
	head -c $((at + len)) old >before
	"$maps" check ${loose:+-p} map "$src" now before "$off" "$at" "$len"
}
told()
{
	local last
	[[ " ${args[*]} " = *" json=json "* && -z $killed ]] || return 0
	[[ -s err || $status -le 128 ]] || return 0	# a signal before it began
	last=$(tail -n 1 json)
	[[ $last =~ \"event\":\ ?\"result\".*\"status\":\ ?${status}[,}] ]] || fail "json: $last"
}

# round [OPERAND...]: once more
round()
{
	local run=("$pardd" "${args[@]}" "$@")
	killed=
	[[ -z $rules ]] || run=(env "FAULTS=$rules" "FAULT_LOG=$PWD/faults" "LD_PRELOAD=$shim" "${run[@]}")
	rm -f json faults
	: >err
	if [[ -n $signal ]]; then
		env --default-signal=INT "${run[@]}" </dev/null >out 2>err &
		read -rt "0.$((RANDOM % 2))$((RANDOM % 100))" <>"$scratch/never"
		kill -"$signal" $! 2>/dev/null
		wait $! 2>/dev/null
		status=$?
		[[ $signal != KILL || $status != 137 ]] || killed=1
	else
		"${run[@]}" </dev/null >out 2>err
		status=$?
	fi
	echo "$status: ${rules:+FAULTS=\"$rules\" }${signal:+by $signal: }pardd ${args[*]} $*" >>line
}
# What the status may be, after this round.
due()
{
	local left
	case $status in
	0)	complete || return
		[[ -z $domain ]] || says 'within domain=domain' || return
		left=$("$maps" list map '?*/-') || return
		[[ -n $domain || $len = 0 || $("$maps" list map +) = "$off+$len" ]] ||
		    fail "status 0, and the map has $left" ;;
	100)	[[ -n $("$maps" list map '*/-?') ]] || fail "status 100, and nothing is bad" ;;
	55)	[[ $rules = *op=write* ]] ||
		{ [[ $rules = *op=flush* ]] && says 'may have lost what map calls finished'; } ;;
	78)	[[ $rules = *op=write* ]] ;;
	69)	[[ $rules = *op=read* ]] ;;
	103)	[[ $rules = *op=flush* ]] ;;
	129 | 130 | 137 | 143)
		[[ $((status - 128)) = $(kill -l "$signal") ]] ;;
	*)	false ;;
	esac || fail "status $status" || return
	[[ $status = 0 ]] || ! grep '^pardd: complete' err || fail "it says complete"
}

# Refused, and not because of what an earlier run has left.
never_begun()
{
	[[ $status = 1 || $status = 101 ]] && ! grep -qs ^0x map
}
one()
{
	local args=() extra=() src dst bytes sblock tblock room bs off len at padded domain picked dice \
	    rules='' signal='' killed='' status i n loose=
	rm -f -- map map.* json domain err out line
	choose_ends && choose_range && choose_operands || return
	[[ " ${args[*]} " != *" fill="* ]] || loose=1
	args=("if=$src" "of=$dst" map=map "${args[@]}")
	n=$((RANDOM % 4))
	for ((i = 0; i < n; i++)); do
		choose_fault
		round "${extra[@]}"
		! never_begun || return 0
		due && honest && told || return
	done
	rules='' signal=
	# One that was stopped while it tried again goes on there, once.
	round retries=1
	[[ $status != 100 ]] || round retries=1
	! never_begun || return 0
	ran=$((ran + 1))
	case " ${args[*]} " in
	*' rescue=no'*)
		[[ $status = 0 || $status = 100 ]] ;;
	*)	[[ $status = 0 ]] ;;
	esac || fail "the last: status $status" || return
	due && honest && told || return
	[[ $status = 0 ]] || return 0
	model || return
	cat "$dst" >now
	[[ $(stat -c %s now) -ge $(stat -c %s want) ]] || truncate -s "$(stat -c %s want)" now
	cmp want now || fail "not what it must hold"
}

begin()
{
	mem=$(mktemp -d "$fast/pardd-rounds.XXXXXX") || return
	undo rm -rf "$mem"
	cd "$mem" || return
	four_disks $((1 << 19))
}
many=40
[[ -z $LONG ]] || many=1500
echo "# SEED=$seed"
it "keeps its word through some runs of a rescue" mixed "$seed" "${MANY:-$many}"
