#!/usr/bin/env bash
# Random combinations of ends, operands and faults that are tested one by one
# elsewhere; a model says what must be true of each.
#
#	SEED=N		start from another seed
#	MANY=N		so many cases
#	ONLY=N		case N alone, with its output
#	REFUSED=FILE	gets a line for each that was refused
#
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dice.sh"

seed=${SEED:-20261120}
fast=/dev/shm
has_shm || fast=$scratch
devices=
((EUID != 0)) || ! command -v losetup >/dev/null || [[ ! -c /dev/loop-control ]] || devices=1

# ---------------------------------------------------------------- the dice

# From what, and of what size: src, from, sblock, bytes
choose_source()
{
	local kinds=(file file holes memory pipe)
	[[ -z $devices ]] || kinds+=(disk disk4k)
	pick "${kinds[@]}"
	from=$picked sblock=0
	pick 0 1 511 512 513 4095 4096 4097 65536 65537 x x y y y z
	bytes=$picked
	case $bytes in
	x)	big 40000 ;;
	y)	big 700000 ;;
	z)	big 3000000 ;;
	*)	dice=$bytes ;;
	esac
	bytes=$dice
	case $from in
	file | pipe)	src=src ;;
	memory)		src=$mem/src ;;
	holes)		src=src ;;
	disk)		src=$disk sblock=512 bytes=$disk_bytes ;;
	disk4k)		src=$disk4k sblock=4096 bytes=$disk_bytes ;;
	esac
	case $from in
	disk*)	return ;;
	holes)	rm -f src
		truncate -s "$bytes" src
		if ((bytes > 0)); then
			big "$bytes"
			local at=$((dice / 4096 * 4096)) len=$((1 + RANDOM * 4))
			((at + len <= bytes)) || len=$((bytes - at))
			((len == 0)) || "$blocks" make src $len 0 $at
			truncate -s "$bytes" src
		fi ;;
	*)	rm -f "$src"
		"$blocks" make "$src" "$bytes" ;;
	esac
}

# Where to; what is there before is in the file old.
choose_target()
{
	local kinds=(new new old old memory pipe none) size
	[[ -z $devices ]] || kinds+=(disk disk4k)
	pick "${kinds[@]}"
	to=$picked tblock=0 room=-1
	dst=dst
	rm -f dst "$mem/dst" old
	case $to in
	old)	big 900000
		size=$dice
		"$blocks" make old "$size" 9
		cp old dst ;;
	memory)	dst=$mem/dst
		if chance 50; then
			big 900000
			"$blocks" make old "$dice" 9
			cp old "$dst"
		fi ;;
	none)	dst=. ;;
	disk)	dst=$tdisk tblock=512 room=$disk_bytes
		"$blocks" make "$dst" "$room" 9
		cat "$dst" >old ;;
	disk4k)	dst=$tdisk4k tblock=4096 room=$disk_bytes
		"$blocks" make "$dst" "$room" 9
		cat "$dst" >old ;;
	esac
}

# bs=, skip=, seek=, count=: bs, off, at, len
choose_range()
{
	local block=$((sblock > tblock ? sblock : tblock)) left skip=0 seek=0
	if ((block > 0)); then
		pick "" "" $block $((block * 3)) 64k
	else
		pick "" "" 512 1 520 1000 33 4096 64k
	fi
	bs=$picked
	[[ -z $bs ]] || args+=("bs=$bs")
	case $bs in
	64k)	bs=65536 ;;
	'')	bs=$((sblock > 0 ? sblock : tblock > 0 ? tblock : 512)) ;;
	esac
	left=$bytes
	if chance 30; then
		skip=$((bytes / bs > 0 ? RANDOM % (bytes / bs + 1) : 0))
		((skip == 0)) || args+=("skip=$skip")
	fi
	off=$((skip * bs)) left=$((bytes - off))
	if chance 40; then
		big $((left / bs + 1))
		len=$((dice * bs))
		args+=("count=$dice")
	else
		len=$left
	fi
	if chance 40 && [[ $to != pipe ]]; then
		seek=$((1 + RANDOM % 50))
		args+=("seek=$seek")
	fi
	at=$((seek * bs))
	pad=$((tblock > 0 ? tblock : 1))
	if chance 8; then
		args+=(conv=sync)
		((tblock > 0 && tblock % bs == 0)) || pad=$bs
	fi
	padded=$(((len + pad - 1) / pad * pad))
}

choose_operands()
{
	local ow=() iw=()
	engine='' verify='' hash='' expect='' manifest='' json='' sync=1 map=''
	status='' coe='' profile='' trunc=''
	if chance 40; then
		pick async async threads
		engine=$picked
		args+=("engine=$engine")
		if [[ $engine = async ]] && chance 40; then
			args+=("qd=$((1 + RANDOM % 40))")
		fi
	fi
	! chance 30 || args+=("thr=$((1 + RANDOM % 16))")
	! chance 50 || args+=("bpt=$((1 + RANDOM % (bs < 4096 ? 200 : 16)))")
	! chance 10 || args+=("mem=$((64 + RANDOM % 4000))k")
	if chance 25; then
		pick 1 stream source
		verify=$picked
		args+=("verify=$verify")
	fi
	if chance 25; then
		pick sha256 sha256,md5 xxh128,sha256 sha256,sha512,blake2b512,sha3-256,sha1
		hash=$picked
		args+=("hash=$hash")
		! chance 50 || args+=(hashfile=sums)
	fi
	if chance 25; then
		manifest=1
		args+=(manifest=manifest)
	fi
	if chance 30; then
		pick sparse sparse trim nosparse sparing sparing trunc append
		ow+=("$picked")
		case $picked in
		trunc)	trunc=1 ;;
		append)	at=-1
			[[ " ${args[*]} " != *" seek="* ]] || at=0 ;;
		esac
	fi
	if chance 20; then
		pick direct cached nocache
		iw+=("$picked")
	fi
	if chance 20; then
		pick direct cached nocache dsync sync
		ow+=("$picked")
	fi
	! chance 10 || { pick auto never always; args+=("reflink=$picked"); }
	! chance 10 || args+=(rate=300M)
	! chance 10 || args+=(ioprio=be:7)
	! chance 8 || args+=(control=socket)
	! chance 10 || { pick csv json svg; profile=profile.$picked; args+=("profile=$profile"); }
	! chance 10 || args+=(time=1)
	! chance 7 || { sync=0; args+=(sync=0); }
	! chance 7 || { map=1; args+=(map=map); }
	! chance 10 || args+=(verbose=2)
	! chance 10 || { pick none noxfer; status=$picked; args+=("status=$picked"); }
	! chance 5 || args+=(progress=1)
	! chance 50 || { json=1; args+=(json=json); }
	if chance 15; then
		expect=right
		! chance 30 || expect=wrong
	fi
	local IFS=,
	((${#ow[@]} == 0)) || args+=("oflag=${ow[*]}")
	((${#iw[@]} == 0)) || args+=("iflag=${iw[*]}")
}

# What goes wrong; "rules" for the shim.
choose_fault()
{
	local a n unit
	fault='' rules='' lost=()
	! chance 30 || return 0
	pick read read write flush short intr flip signal signal
	fault=$picked
	if [[ $fault = signal && $from != pipe && $to != pipe ]]; then
		pick INT TERM HUP KILL
		signal=$picked
		args+=("rate=$(((len + 1) * (1 + RANDOM % 20) + 4096))")
		return
	fi
	[[ $engine != async && $fault != signal && -z $map ]] || fault=
	case $fault,$from,$to in
	read,pipe,* | read,holes,*)	fault= ;;
	write,*,none | flush,*,none | flip,*,none)	fault= ;;
	write,*,pipe | flush,*,pipe | flip,*,pipe)	fault= ;;
	esac
	[[ $fault != flip || -n $verify ]] || fault=
	((len > 0 && (room < 0 || at + padded <= room))) || fault=
	[[ -n $fault ]] || return 0
	case $fault in
	read)	unit=$((sblock > 0 ? sblock : 512))
		for ((n = RANDOM % 3; n >= 0; n--)); do
			big "$len"
			a=$(((off + dice) / unit * unit))
			lost+=("$a+$unit")
		done
		if chance 60; then
			coe=1
			args+=(coe=1)
		fi
		local IFS=,
		rules="on=$src op=read at=${lost[*]} fail=EIO" ;;
	write)	big "$len"
		pick EIO ENOSPC
		error=$picked
		a=$(((at < 0 ? 0 : at) + dice))
		a=$((a / 4096 * 4096))
		rules="on=$dst op=write at=$a+ fail=$error" ;;
	flush)	rules="on=$dst op=flush fail=EIO" ;;
	short)	rules="on=$src op=read short every=3 seed=$RANDOM;on=$dst op=write short every=3 seed=$RANDOM" ;;
	intr)	rules="on=$src op=read fail=EINTR every=3 seed=$RANDOM;on=$dst op=write fail=EINTR every=3 seed=$RANDOM" ;;
	flip)	big "$len"
		a=$(((at < 0 ? 0 : at) + dice))
		rules="on=$dst op=write at=$a+1 flip times=1" ;;
	esac
	args+=(engine=threads)
}

# --------------------------------------------------------------- the model

# What was there to be copied, with zeros for what cannot be read: view; and
# what the target must hold then: want.
model()
{
	local r
	if [[ -n $coe ]]; then
		rm -f view
		cp --sparse=never "$src" view 2>/dev/null || cat "$src" >view
		for r in "${lost[@]}"; do
			dd if=/dev/zero of=view bs="${r#*+}" count=1 seek="${r%+*}" \
			    oflag=seek_bytes conv=notrunc status=none
		done
		((sblock > 0)) || truncate -s "$bytes" view
		view=view
	else
		view=$src
	fi
	dd if="$view" of=part bs=1M skip="$off" count="$len" iflag=skip_bytes,count_bytes status=none || return
	rm -f want
	[[ ! -e old ]] || cp old want
	local where=$at
	[[ $to != pipe ]] || where=0
	if ((where < 0)); then
		where=$(stat -c %s old 2>/dev/null) || where=0
	fi
	at=$where
	: >>want
	[[ -z $trunc || $tblock != 0 ]] || truncate -s "$where" want
	if ((padded > 0)); then
		local size
		size=$(stat -c %s want)
		((size >= where)) || truncate -s "$where" want
		cp part part.padded
		truncate -s "$padded" part.padded
		dd if=part.padded of=want bs=1M seek="$where" oflag=seek_bytes conv=notrunc status=none
	fi
}

# The target is as it was.
untouched()
{
	case $to in
	pipe)	[[ ! -s dst ]] ;;
	none)	;;
	*)	if [[ -e old ]]; then
			cmp old "$dst"
		else
			[[ ! -e $dst ]]
		fi ;;
	esac || fail "the target was touched"
}

# Nothing outside the range of the copy has changed, whatever happened.
beside()
{
	local size=0 end=$((at + padded)) n
	[[ $to != pipe && $to != none && -e old ]] || return 0
	[[ -z $trunc ]] || return 0
	size=$(stat -c %s old)
	n=$((at < size ? at : size))
	cmp -n $n old "$dst" || fail "something changed before the range" || return
	((end >= size)) || cmp -i $end old "$dst" || fail "something changed behind the range"
}

as_wanted()
{
	case $to in
	none)	;;
	*)	[[ -e $dst || $padded = 0 ]] || fail "no target" || return
		[[ -e $dst ]] || return 0
		cmp want "$dst" || fail "not what it must hold" ;;
	esac
}

digests()
{
	local got sum
	sum=$(sha256sum <part)
	sum=${sum%% *}
	if [[ $status_word != none ]]; then
		got=$(grep -Eo '\b[0-9a-f]{64}\b' err | head -n 1)
		grep -q "$sum" err || fail "another digest: $got, not $sum" || return
	fi
	[[ " ${args[*]} " != *" hashfile=sums "* ]] || grep -q "$sum" sums || fail "another digest in hashfile="
}

# The lines for programs agree with the status.
told()
{
	local last
	[[ -s json ]] || fail "json= is empty" || return
	last=$(tail -n 1 json)
	[[ $last = *"\"event\":\"result\""* || $last = *"\"event\": \"result\""* ]] ||
	    fail "no result: $last" || return
	[[ $last =~ \"status\":\ ?${status}[,}] ]] || fail "json: $last" || return
	((RANDOM % 4 != 0)) || jq -e -s -f "$top/tests/tools/schema.jq" json >/dev/null
}

by_manifest()
{
	local s
	[[ $to != pipe && $to != none && -z $coe ]] || return 0
	((padded > 0)) || return 0
	if [[ ! -e manifest ]]; then
		fail "no manifest"
		return
	fi
	"$pardd" if="$dst" manifest=manifest check=1 >/dev/null 2>check
	s=$?
	[[ $s = 0 ]] || fail "check=1: $s: $(<check)" || return
	[[ $to != disk* ]] || return 0
	cp "$dst" spoilt
	big "$padded"
	printf 'not this' | dd of=spoilt bs=1 seek=$((at + dice)) conv=notrunc status=none
	truncate -s "$(stat -c %s "$dst")" spoilt
	! cmp -s spoilt "$dst" || return 0
	"$pardd" if=spoilt manifest=manifest check=1 >/dev/null 2>check
	s=$?
	[[ $s = 14 ]] || fail "check=1 of something else: $s: $(<check)"
}

# ------------------------------------------------------------------- a run

# pardd with what is before and behind it; the status is in $status.
start()
{
	local run=("$pardd" "${args[@]}")
	if [[ -n $rules ]]; then
		run=(env "FAULTS=$rules" "FAULT_LOG=$PWD/faults" "LD_PRELOAD=$shim" "${run[@]}")
	fi
	case $from,$to in
	pipe,pipe)	"${run[@]}" 2>err < <(cat src) | cat >dst
			status=${PIPESTATUS[0]} ;;
	pipe,*)		"${run[@]}" 2>err < <(cat src) >out
			status=$? ;;
	*,pipe)		"${run[@]}" 2>err </dev/null | cat >dst
			status=${PIPESTATUS[0]} ;;
	*)		if [[ $fault != signal ]]; then
				"${run[@]}" 2>err </dev/null >out
				status=$?
				return
			fi
			env --default-signal=INT "${run[@]}" 2>err </dev/null >out &
			sleep "0.$((RANDOM % 4))$((RANDOM % 100))"
			kill -"$signal" $! 2>/dev/null
			wait $! 2>/dev/null
			status=$? ;;
	esac
}

# Once more, as the message says one may.
look()
{
	local run=("$pardd" -d "${args[@]}")
	case $from,$to in
	pipe,pipe)	: | "${run[@]}" 2>plan | cat >/dev/null
			would=${PIPESTATUS[1]} ;;
	pipe,*)		: | "${run[@]}" >plan 2>&1
			would=${PIPESTATUS[1]} ;;
	*,pipe)		"${run[@]}" 2>plan </dev/null | cat >/dev/null
			would=${PIPESTATUS[0]} ;;
	*)		"${run[@]}" >plan 2>&1 </dev/null
			would=$? ;;
	esac
}

# The status that it must have.
due()
{
	want_status=0
	[[ $expect != wrong ]] || want_status=14
	((room < 0 || at + padded <= room)) || want_status=78
	# A pipe without data for a target that has some.
	[[ $from,$bytes != pipe,0 || ! -s old || " ${args[*]} " = *" count="* ]] || want_status=102
	case $fault in
	read)	[[ -n $coe ]] && want_status=100 || want_status=3 ;;
	write)	want_status=$([[ $error = EIO ]] && echo 55 || echo 78)
		[[ -e faults ]] || want_status=0 ;;
	flush)	((sync == 0)) || want_status=103 ;;
	flip)	if [[ -s faults && $from = pipe ]]; then
			want_status=14
		fi ;;
	esac
}

# Ended by a signal: nothing says that it is complete.
interrupted()
{
	[[ $((status - 128)) = $(kill -l "$signal") ]] || fail "status $status" || return
	! grep '^pardd: complete' err || fail "it says complete" || return
	beside || return
	# Before the copy has begun, the program dies at once.
	[[ $signal = KILL || -z $json || ! -s json || ! -s err ]] || told || return
	[[ $signal = KILL ]] || ! compgen -G '*.tmp' || fail "something temporary is left" || return
	[[ ! -e manifest ]] || grep -q 'after all was copied' err || fail "a manifest" || return
	[[ ! -e sums ]] || grep -q 'after all was copied' err || fail "digests"
}

# What reads both ends finds what was copied.
compares()
{
	local run=("$pardd" "if=$src" "of=$dst" compare=1 "bs=$bs" "skip=$off" "count=$len" "seek=$at"
	    "iflag=skip_bytes,count_bytes" oflag=seek_bytes) s
	[[ $from != pipe && $to != pipe && $to != none && -z $coe && $len != 0 ]] || return 0
	! chance 30 || run+=("bpt=$((1 + RANDOM % 100))" "thr=$((1 + RANDOM % 16))")
	"${run[@]}" >/dev/null 2>compared
	s=$?
	[[ $s = 0 ]] || fail "compare=1: $s: $(<compared)" || return
	((len > 0)) && [[ $to != disk* ]] || return 0
	cp "$dst" spoilt
	big "$len"
	printf 'n' | dd of=spoilt bs=1 seek=$((at + dice)) conv=notrunc status=none
	! cmp -s spoilt "$dst" || return 0
	"${run[@]/of=*/of=spoilt}" >/dev/null 2>compared
	s=$?
	[[ $s = 14 ]] || fail "compare=1 of something else: $s: $(<compared)"
}

# A second copy by the manifest of the first writes what has changed.
again()
{
	local run=() a s
	[[ $from != pipe && $to != pipe && $to != none && -z $coe && -s manifest ]] || return 0
	((len > 0)) || return 0
	for a in "${args[@]}"; do
		case $a in
		oflag=*append* | oflag=*trunc* | reflink=* | manifest=* | engine=async | qd=* | expect=* | \
		    hash* | conv=* | json=* | control=* | profile=* | bpt=*)
			;;
		if=*)	run+=(if=changed) ;;
		bs=*)	;;
		skip=*)	run+=("skip=$off" iflag=skip_bytes) ;;
		seek=*)	run+=("seek=$at" oflag=seek_bytes) ;;
		count=*) run+=("count=$len" iflag=count_bytes) ;;
		*)	run+=("$a") ;;
		esac
	done
	((padded == len)) || return 0
	cat "$src" >changed
	big "$len"
	printf 'new bytes' | dd of=changed bs=1 seek=$((off + dice)) conv=notrunc status=none
	truncate -s "$bytes" changed
	dd if=changed of=want bs=1M skip="$off" count="$len" seek="$at" \
	    iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc status=none
	! chance 50 || run+=(manifest=second)
	rm -f second
	"$pardd" "${run[@]}" base=manifest "bs=$bs" 2>again
	s=$?
	case $s in
	0)	as_wanted || fail "with base=: ${run[*]}: $(<again)" || return
		[[ ! -e second ]] || "$pardd" if="$dst" manifest=second check=1 >/dev/null 2>again ||
		    fail "by the second manifest: $(<again)" ;;
	1 | 101) [[ -z ${REFUSED-} ]] || echo "base: $(<again) | ${run[*]}" >>"$REFUSED" ;;
	*)	fail "base=: $s: ${run[*]}: $(<again)" ;;
	esac
}

one()
{
	local args=() picked dice src from sblock bytes to tblock room dst bs off \
	    at len pad padded engine verify hash expect manifest json \
	    sync coe map status_word profile trunc fault rules lost error signal view would want_status status sum
	rm -f -- *.tmp json sums manifest profile.* map map.* second faults socket spoilt err out
	choose_source
	choose_target
	choose_range
	choose_operands
	status_word=$status
	choose_fault
	[[ $from = pipe ]] || args+=("if=$src")
	[[ $to = pipe ]] || args+=("of=$dst")
	[[ $to != pipe ]] || { rm -f dst; : >dst; }
	model || return
	if [[ -n $expect ]]; then
		sum=$(sha256sum <part)
		sum=${sum%% *}
		[[ $expect = right ]] || sum=${sum//[0-7]/8}
		args+=("expect=sha256:$sum")
	fi
	echo "from=$from:$bytes to=$to${rules:+ FAULTS="$rules"} pardd ${args[*]}" >line
	look
	untouched || { fail "by -d"; return; }
	start
	case $status in
	1 | 101)
		[[ $would = "$status" ]] || fail "-d ends $would: $(<plan)" || return
		[[ $(wc -l <err) = 1 ]] || fail "not one line" || return
		untouched || return
		[[ -z $json ]] || told || return
		[[ -z ${REFUSED-} ]] || echo "$(<err) | $(<line)" >>"$REFUSED"
		return ;;
	esac
	ran=$((ran + 1))
	# Whether blocks can be shared is known only after an attempt.
	if [[ " ${args[*]} " = *" reflink=always "* && $status != 0 && $status -lt 128 ]]; then
		[[ $status = 68 || $status = 15 ]] || fail "status $status"
		return
	fi
	[[ $would = 0 || $status = 137 || ($status -gt 128 && ! -s err) ]] || fail "-d ends $would, the run $status: $(<plan)" || return
	due
	if [[ $fault = signal ]] && ((status > 128)); then
		interrupted
		return
	fi
	[[ $status = "$want_status" ]] || fail "status $status, not $want_status" || return
	if ((status == 0)); then
		[[ $status_word = n* ]] || complete || return
	elif grep -q '^pardd: complete' err; then
		fail "it says complete"
		return
	fi
	beside || return
	case $status in
	0 | 14 | 100 | 103)
		[[ $status,$fault = 14,flip ]] || as_wanted || return
		[[ -z $hash || $fault = flush ]] || digests || return ;;
	esac
	[[ -z $json ]] || told || return
	[[ $status != 0 || -z $manifest ]] || by_manifest || return
	[[ $status != 0 ]] || ! chance 20 || compares || return
	[[ $status != 0 || -z $manifest ]] || ! chance 50 || again || return
	[[ ! -e socket ]] || fail "control= is still there" || return
	! compgen -G '*.tmp' || fail "something temporary is left"
}

begin()
{
	local size=$((1 + RANDOM % 16))
	mem=$(mktemp -d "$fast/pardd-mix.XXXXXX") || return
	undo rm -rf "$mem"
	four_disks $((size << 16))
}

many=40
((weight == 1)) || many=10
[[ -z $LONG ]] || many=4000
many=${MANY:-$many}
echo "# SEED=$seed, $many configurations"
for part in 1 2; do
	it "keeps its word in $((many / 2)) mixed configurations ($part of 2)" \
	    mixed $((seed + part * 1000003)) $((many / 2))
done
