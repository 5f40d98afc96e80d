#!/usr/bin/env bash
# The digests of ranges: manifest=, check=1, base=.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs 'command -v jq' -- "no jq"

bytes=5000001
mib=1048576

# copied OPERANDS...: src to dst, with the manifest m
copied()
{
	"$blocks" make src $bytes && exits 0 "$pardd" if=src of=dst manifest=m "$@" && complete
}

# sound FILE [ALGORITHM]: the file is what the manifest m says, range by range.  All but
# the first and the last range have one length, as split makes them.
sound()
{
	local alg=${2-xxh128} off len n at each='' ranges sum=(xxhsum -q -H2)
	[[ $alg = xxh128 ]] || sum=("${alg}sum")
	mapfile -t ranges < <(jq -r "select(.$alg) | \"\(.offset) \(.length) \(.$alg)\"" m)
	at=$(jq -s '.[0].offset' m)
	rm -rf parts && mkdir parts || return
	for ((n = 0; n < ${#ranges[@]}; n++)); do
		read -r off len _ <<<"${ranges[n]}"
		[[ $off = "$at" ]] || fail "a gap at $at" || return
		at=$((off + len))
		case $n in
		0)	tail -c +$((off + 1)) "$1" | head -c "$len" >parts/first ;;
		1)	each=$len ;;
		*)	((len == each || (len < each && n == ${#ranges[@]} - 1))) ||
			    fail "$off+$len beside ranges of $each" || return ;;
		esac
	done
	if ((n > 1)); then
		read -r off _ <<<"${ranges[1]}"
		tail -c +$((off + 1)) "$1" | head -c $((at - off)) | split -a 5 -b "$each" - parts/next
	fi
	((n == 0)) || [[ $(cd parts && "${sum[@]}" first ${each:+next*} | cut -d ' ' -f 1) = \
	    $(printf '%s\n' "${ranges[@]##* }") ]] || fail "other digests: ${ranges[*]}" || return
	jq -es ".[0].schema == \"pardd-manifest/1\" and .[0].algorithm == \"${2-xxh128}\" and
	    .[0].range as \$r | all(.[1:-1][]; .length <= \$r) and
	    .[0].offset + .[0].length == $at and .[-1] == {ranges: $n}" m >/dev/null || fail "$(head -n 2 m)"
}

# as_in OPERANDS...: a check that finds nothing
as_in()
{
	exits 0 "$pardd" manifest=m check=1 "$@" && [[ $(tail -n 1 err) = 'pardd: complete, all is as in m' ]]
}

# differs STATUS 'FROM TO ...' OPERANDS...: a check that finds these, and no more
differs()
{
	local status=$1 want=$2 got
	shift 2
	exits "$status" "$pardd" manifest=m check=1 "$@" && does_not_say complete || return
	got=$(sed -n 's/^pardd: differs: bytes \([0-9]*\) to \([0-9]*\) of .*/\1 \2/p' err | paste -sd ' ')
	[[ $got = "$want" ]] || fail "differs: $got, not $want"
}

# flip FILE AT...: a bit of each of these bytes
flip()
{
	local file=$1 at byte
	shift
	for at; do
		byte=$(od -An -tu1 -j "$at" -N 1 "$file")
		# shellcheck disable=SC2059
		printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	done
}

# ------------------------------------------------------------------ it is right

right()
{
	"$blocks" make src "$1" && exits 0 "$pardd" if=src of=dst manifest=m "${@:2}" &&
	    complete && same src dst && sound dst && as_in if=dst && as_in if=src thr=16
}
if able 'command -v xxhsum' "no xxhsum"; then
	only plain asan	# few transfers, one worker
	for size in 0 1 511 $mib $((2 * mib)) $bytes; do
		it "has the digests of $size bytes" right "$size"
	done
	only all
	for thr in $(few 1 3 16); do
		it "has the digests of small ranges ($thr workers)" right 1000001 bs=1000 bpt=7 thr="$thr"
	done
fi
# With digests that can be signed: they find the same, and spare the same.
by_sha256()
{
	copied manifesthash=sha256 "$@" && same src dst && sound dst sha256 && as_in if=dst thr=16 &&
	    as_in if=src verbose=1 && flip dst $((mib + 5)) && differs 14 "$mib $((2 * mib - 1))" if=dst
}
it "has SHA-256 of the ranges" by_sha256
it "... of small ones" by_sha256 bs=4k bpt=256 thr=16
it "... with verify=1" by_sha256 verify=1
renewed()
{
	copied manifesthash=sha256 && flip src 5 && exits 0 "$pardd" if=src of=dst base=m manifest=m &&
	    says 'bytes were already present .m., and not written' && same src dst && sound dst sha256 && flip src $((3 * mib)) &&
	    exits 0 "$pardd" if=src of=dst base=m manifest=m manifesthash=xxh128 && as_in if=dst &&
	    jq -es '.[0].algorithm == "xxh128"' m >/dev/null
}
it "... as a new one has, too, unless told otherwise" renewed
short_digest()
{
	copied manifesthash=sha256 && sed -i "2s/\"sha256\":\"./\"sha256\":\"/" m &&
	    refused 'line 2: .*no digest' if=dst manifest=m check=1
}
it "... but none that is shorter" short_digest
# A range that does not begin where the file begins.
within()
{
	"$blocks" make src $bytes && "$blocks" make dst 9M 3 &&
	    exits 0 "$pardd" if=src of=dst seek=3333 skip=11 count=6000 manifest=m &&
	    sound dst && as_in if=dst && flip dst 100 8000000 && as_in if=dst &&
	    flip dst $((3333 * 512)) && differs 14 '1706496 2097151' if=dst && as_in if=src skip=11
}
only plain asan
it "knows where on the target it was, and looks there" within
from_the_first()
{
	"$blocks" make src $bytes && exits 0 "$pardd" if=src of=dst seek=10 manifest=m && as_in if=dst &&
	    refused 'src has 5000001 bytes, but m covers 5005121' if=src manifest=m check=1 && as_in if=src skip=0
}
it "looks at the first byte with skip=0" from_the_first
appended()
{
	"$blocks" make src $bytes && "$blocks" make dst 1000 9 &&
	    exits 0 "$pardd" if=src of=dst oflag=append manifest=m && as_in if=dst
}
it "knows where it was when it was appended" appended
from_pipe()
{
	"$blocks" make src $bytes && "$blocks" make - $bytes | exits 0 "$pardd" of=dst manifest=m thr=16 &&
	    sound src && as_in if=- <src && "$blocks" make - $bytes | as_in if=- &&
	    "$pardd" if=src manifest=m 2>err | cmp - src && as_in if=src
}
it "takes a pipe" from_pipe
no_target()
{
	"$blocks" make src $bytes && exits 0 "$pardd" if=src of=. skip=7 manifest=m &&
	    as_in if=src && flip src 3583 && as_in if=src && flip src 3584 && differs 14 '3584 1052159' if=src
}
it "is made of a disk that is not copied" no_target
with_hash()
{
	copied hash=md5 hashfile=sums && md5sum -c sums &&
	    exits 0 "$pardd" if=dst manifest=m check=1 expect="md5:$(cut -d ' ' -f 1 sums)"
}
it "goes with digests of the whole" with_hash
unseen()
{
	"$blocks" make src 1000001 &&
	    exits 0 with_faults "on=$PWD/src op=read short odd every=3;on=dst op=write short odd every=3" \
		"$pardd" if=src of=dst bpt=9 thr="$1" manifest=m && faulty read &&
	    as_in if=dst && as_in if=src
}
only all
it "is right with short transfers" unseen 1
it "is right with short transfers (16 workers)" unseen 16

# --------------------------------------------------------------------- check=1

found()
{
	copied && flip dst 0 $((mib - 1)) $((mib + 5)) $((3 * mib + 7)) $((bytes - 1)) &&
	    differs 14 "0 $((2 * mib - 1)) $((3 * mib)) $((bytes - 1))" if=dst thr="$1" json=json &&
	    jq -es 'last | .status == 14 and .verdict == "mismatch" and (.mismatch | length) == 2
		and .bytes_differing == '$((bytes - mib))' and .bytes_verified == '$mib json &&
	    [[ $(tail -n 1 err) = "pardd: NOT as in m: $((bytes - mib)) bytes in 2 ranges" ]]
}
for thr in $(few 1 4 16); do
	it "finds what was changed, merged ($thr workers)" found "$thr"
done
random_bits()
{
	local n at i
	copied bpt=8 bs=512 || return
	RANDOM=$1
	for ((i = 0; i < ${LONG:+90} + 10; i++)); do
		at=$((RANDOM * RANDOM % bytes))
		n=$((at / 4096 * 4096))
		flip dst $at
		differs 14 "$n $((n + 4095 < bytes ? n + 4095 : bytes - 1))" if=dst && flip dst $at || return
	done
	as_in if=dst
}
only plain asan
it "finds any bit" random_bits 7
many()
{
	copied bpt=1 bs=512 && flip dst $(seq 0 1024 51199) &&
	    exits 14 "$pardd" if=dst manifest=m check=1 && says '^pardd: and 34 more ranges' &&
	    [[ $(grep -c differs: err) = 16 && $(tail -n 1 err) = *'25600 bytes in 50 ranges' ]]
}
it "lists sixteen, and tells how many there are" many
longer()
{
	copied && printf more >>dst && as_in if=dst && head -c $((bytes - 1)) src >short &&
	    refused 'short has 5000000 bytes, but m covers 5000001' if=short manifest=m check=1
}
it "takes a larger disk, and refuses a smaller one" longer
# What is missing differs from the manifest, even if it is missing from a border on.
short_pipe()
{
	copied && head -c "$1" src | exits 102 "$pardd" if=- manifest=m check=1 hash=md5 &&
	    [[ $(tail -n 1 err) = "pardd: NOT complete: standard input ended after $1 of $bytes bytes" ]] &&
	    says 'no digest'
}
for bytes_there in 0 $mib $((2 * mib + 7)); do
	it "does not accept a pipe of which only $bytes_there bytes come" short_pipe "$bytes_there"
done
# behind OPEN: the second of two copies to one descriptor, at an odd place
behind()
{
	"$blocks" make src $bytes && "$blocks" make dst 70001 9 && cp dst old || return
	pardd=$pardd sh -c "{ \"\$pardd\" if=src bs=1 count=5000 && \"\$pardd\" if=src skip=3 \\
	    manifest=m; } $1dst" 2>err && complete || return
	[[ $(jq -s '.[0].offset' m) = "$2" ]] || fail "$(head -n 1 m)" || return
	sound dst && as_in if=dst && flip dst $(($2 + 3 * mib)) && ! as_in if=dst
}
it "tells where an inherited descriptor stood" behind '1<>' 5000
it "tells where a file ended that was appended to" behind '>>' 75001
reclone_there()
{
	"$blocks" make src $bytes && { "$pardd" if=src count=7 && "$pardd" if=src manifest=m; } 1<>dst 2>err &&
	    flip src 5 && { "$pardd" if=src count=7 && "$pardd" if=src base=m; } 1<>dst 2>err &&
	    complete && same src <(tail -c +3585 dst) && says 'bytes were already present .m., and not written'
}
it "brings up to date what lies where a descriptor stood" reclone_there
it "changes neither the disk nor the manifest" eval \
    'copied && cp m m.old && chmod 400 src m && touch -r src stamp && as_in if=src && same m m.old &&
    [[ ! src -nt stamp && ! -e m.pardd.tmp ]]'

# -------------------------------------------------------------- what is unreadable

bad=$((801 * 512))+512,$((3 * mib))+$((2 * mib))
lost()
{
	"$blocks" make src 9M && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst coe=1 manifest=m && cp dst old &&
	    [[ $(jq -c 'select(has("xxh128") and .xxh128 == null) | [.offset, .length]' m) = \
		"[0,$mib]"$'\n'"[$((3 * mib)),$mib]"$'\n'"[$((4 * mib)),$mib]" ]] || return
	local holes="0 $((mib - 1)) $((3 * mib)) $((5 * mib - 1))"
	differs 14 "$holes" if=dst && differs 14 "$holes" if=src &&
	    exits 0 "$pardd" if=src of=dst base=m && same src dst &&
	    says "^pardd: $((6 * mib)) bytes were already present .m., and not written" &&
	    [[ $(sed -n 's/ bytes.*copied.*//p' err) = $((3 * mib)) ]]
}
it "has no digest of what could not be read, and calls it different" lost
read_error()
{
	copied && exits 3 with_faults "on=$PWD/dst op=read at=$bad fail=EIO" \
	    "$pardd" if=dst manifest=m check=1 && does_not_say '^pardd: complete|differs' &&
	    exits 14 with_faults "on=$PWD/dst op=read at=409600+512 fail=EIO" \
	    "$pardd" if=dst manifest=m check=1 coe=1 && does_not_say '^pardd: complete' &&
	    says "differs: bytes 0 to $((mib - 1))" && does_not_say 'in the copy'
}
it "does not accept what it cannot read" read_error
# Stopped by a signal while the last bytes were being read.
interrupted()
{
	"$blocks" make src 64k && exits 0 "$pardd" if=src of=dst manifest=m && { [[ -z $1 ]] || flip dst "$1"; }
	FAULTS="on=$PWD/dst op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=dst check=1 manifest=m 2>err &
	until_true 20 grep -qs waits faults && kill -INT "$(awk '$1 == "pid" { print $2 }' how)" &&
	    heard && touch go && wait $!
	ended signal 2 && [[ $(tail -n 1 err) = "pardd: stopped by SIGINT, after all was checked$2" ]]
}
only all
it "says that it was interrupted after all was checked" interrupted '' ''
it "... and what was found" interrupted 1000 '; NOT as in m: 65536 bytes in 1 range'
zeros_too()
{
	truncate -s 3M src && exits 0 "$pardd" if=src of=dst manifest=m &&
	    exits 14 with_faults "on=$PWD/src op=read at=$mib+512 fail=EIO" \
		"$pardd" if=src manifest=m check=1 coe=1 &&
	    says "differs: bytes $mib to $((2 * mib - 1)) of src$"
}
only plain asan
it "does not accept zeros that it cannot read" zeros_too

# ----------------------------------------------------------------------- base=

# again BYTES OPERANDS...: a second clone, that writes so many
again()
{
	local want=$1
	shift
	exits 0 "$pardd" if=src of=dst base=m "$@" && complete && same src dst &&
	    [[ $(sed -n 's/ bytes.*copied.*//p' err) = "$want" ]] && return
	fail "$(<err)"
}
reclone()
{
	copied && again 0 && flip src 5 2500000 && again $((2 * mib)) thr="$1" manifest=m2 &&
	    mv m2 m && again 0 && flip src $((bytes - 1)) &&
	    again $((bytes - 4 * mib)) manifest=m && as_in if=dst && again 0
}
only all
it "writes only what has changed" reclone 1
it "writes only what has changed (16 workers)" reclone 16
grown()
{
	copied && "$blocks" make - 3M 5 >>src && again $((3 * mib + bytes - 4 * mib)) manifest=m &&
	    as_in if=dst && "$blocks" make src 2M && exits 0 "$pardd" if=src of=dst base=m &&
	    cmp -n 2097152 src dst && [[ $(sed -n 's/ bytes.*copied.*//p' err) = 0 ]]
}
only plain asan
it "writes what is new, and takes a shorter source" grown
# refused_base WHY: the target is as it was
refused_base()
{
	cp dst old && refused "$1" if=src of=dst base=m && refused "$1" -d if=src of=dst base=m && same dst old
}
moved_on()
{
	copied && flip dst $((2 * mib)) &&
	    refused_base 'dst does not hold what m says, for example at byte 2097152: it is another disk'
}
it "refuses a base that the target no longer matches" moved_on
another_disk()
{
	copied && "$blocks" make dst $bytes 4 && refused_base 'dst does not hold what m says' &&
	    : >dst && truncate -s $bytes dst && refused_base 'dst does not hold what m says'
}
it "refuses the base of another disk" another_disk
# Zeros, which every disk has, prove nothing.
mostly_zeros()
{
	truncate -s 63M src && "$blocks" make - 1M >>src && truncate -s 200M src &&
	    exits 0 "$pardd" if=src of=dst manifest=m && cp dst whole &&
	    FAULT_LOG_ALL=1 exits 0 with_faults "on=$PWD/dst op=read" "$pardd" if=src of=dst base=m &&
	    [[ $(grep -c '^read' faults) -lt 10 ]] && truncate -s 63M dst && truncate -s 200M dst &&
	    refused_base 'dst does not hold'
}
it "... where most of it is zeros" mostly_zeros
it "trusts the base where a few ranges are as it says, and check=1 does not" eval \
    '"$blocks" make src 5M && exits 0 "$pardd" if=src of=dst bs=512 bpt=2 manifest=m && flip dst 1100 &&
    exits 0 "$pardd" if=src of=dst base=m && ! cmp -s src dst && exits 14 "$pardd" if=dst manifest=m check=1'
serial_of()
{
	mkdir -p "sysfs/${1##*/}" && echo "$2" >"sysfs/${1##*/}/serial"
}
another_serial()
{
	local a b
	"$blocks" make src 4M && truncate -s 4M disk disk2 && loop disk && a=$dev &&
	    loop disk2 && b=$dev && serial_of "$a" S1 && serial_of "$b" S2 &&
	    export SYSFS=$PWD/sysfs && exits 0 with_faults on=none "$pardd" if=src of="$a" manifest=m &&
	    cp disk disk2 && exits 101 with_faults on=none "$pardd" if=src of="$b" base=m verify=1 &&
	    one_line "m describes the disk S1, but $b is the disk S2" &&
	    exits 0 with_faults on=none "$pardd" if=src of="$a" base=m
}
given '((EUID == 0)) && [[ -c /dev/loop-control ]]' "no loop devices" \
    it "refuses the base of a disk with another serial number" another_serial
verified()
{
	copied && flip dst 7 && flip src $((2 * mib)) &&
	    exits 0 "$pardd" if=src of=dst base=m verify=1 manifest=m2 && same src dst &&
	    says '^pardd: dst: .* bytes differed when they were read back' && mv m2 m && as_in if=dst
}
it "does not trust the base with verify=1" verified
with_verify()
{
	copied verify="$1" && as_in if=dst
}
it "goes with verify=1" with_verify 1
it "goes with verify=stream" with_verify stream
only all
for engine in async threads; do
	engines()
	{
		copied engine="$engine" iflag=direct oflag=direct thr=2 bpt=33 && as_in if=dst && sound dst
	}
	it "is right with engine=$engine" engines
done
only plain asan	# one thread reads a manifest
if able '((EUID == 0)) && [[ -c /dev/loop-control ]]' "no loop devices"; then
	device()
	{
		local a b
		"$blocks" make src 4000001 && truncate -s 6M disk disk2 && loop disk && a=$dev &&
		    exits 0 "$pardd" if=src of="$a" seek=77 manifest=m &&
		    as_in if="$a" && exits 0 "$pardd" if="$a" of=img && as_in if=img &&
		    exits 0 "$pardd" if=src of="$a" seek=77 base=m &&
		    [[ $(sed -n 's/ bytes.*copied.*//p' err) = 0 ]] && loop disk2 --sector-size 4096 && b=$dev &&
		    differs 14 '39424 4039679' if="$b" && exits 0 "$pardd" if=src of=. bs=512 bpt=3 manifest=m2 &&
		    refused 'm2 are not whole blocks' if="$b" manifest=m2 check=1 &&
		    refused 'begins at byte 39424 of its target, but this copy at byte 0' \
			if=src of="$a" base=m
	}
	it "takes devices, with the padding" device
fi

# ------------------------------------------------------- manifests that are none

# What else may be wrong with one is in unit/manifest_test.c.

# rejects WHY: as they are refused, for a check and for a base
rejects()
{
	refused "$1" if=src manifest=m check=1 && refused "$1" -d if=src manifest=m check=1 &&
	    cp dst old && refused "$1" if=src of=dst base=m && same dst old
}
torn()
{
	copied && cp m whole || return
	local n size
	size=$(stat -c %s whole)
	for ((n = 1; n < size; n += 1 + n / 3)); do
		head -c $((size - n)) whole >m
		rejects 'm, line [0-9]+: it ends here.*truncated' || return
	done
	: >m
	rejects 'm, line 1: it ends here.*truncated'
}
it "refuses one that is cut short anywhere" torn
spoilt()
{
	copied && cp m whole && sed "$2" whole >m && ! cmp -s m whole && rejects "$1"
}
it "refuses another version" spoilt 'line 1: a manifest of another version' '1s,manifest/1,manifest/2,'
it "refuses a range that is missing" spoilt 'line 3: .*follow' 3d
it "refuses a digest that is none" spoilt 'line 2: .*no digest' '2s/"xxh128":"./"xxh128":"g/'
endless()
{
	"$blocks" make src 5000 && truncate -s 4G m && ulimit -v 500000 &&
	    refused 'line 1: is not a line' if=src manifest=m check=1
}
[[ $VARIANT != plain ]] || it "does not read an endless line into memory" endless
no_file()
{
	"$blocks" make src 5000 && mkdir dir && mkfifo fifo &&
	    exits 52 "$pardd" if=src manifest=none check=1 && one_line none &&
	    refused 'not a regular file' if=src manifest=dir check=1 &&
	    refused 'not a regular file' if=src manifest=fifo check=1 &&
	    refused 'not a regular file' if=src manifest=/dev/zero check=1
}
it "refuses what is not a regular file" no_file
not_there()
{
	copied && refused 'but not dst2' if=src of=dst2 base=m && [[ ! -e dst2 ]] &&
	    refused 'begins at byte 0 of its target' if=src of=dst seek=1 base=m
}
it "refuses a base of another place, or of no target" not_there
other_ranges()
{
	copied bs=1000 bpt=500 && "$blocks" make dst $bytes 9 && cp m old &&
	    usage 'bpt= .* 1000 bytes, .* of m have 500000;' bs=1000 bpt=1 "$@" &&
	    size_is dst $bytes && holds dst 0 0 $bytes 9 && cmp m old && cp src dst &&
	    exits 0 "$pardd" bs=500 bpt=1000 "$@"
}
it "refuses a bpt= that is not that of the base" other_ranges if=src of=dst base=m
it "refuses a bpt= that is not that of the manifest" other_ranges if=src manifest=m check=1
cut_off()
{
	copied && truncate -s "$1" dst && refused "dst ends at byte $1, but m describes" \
	    if=src of=dst base=m && size_is dst "$1"
}
padded()
{
	copied && cp m old && refused 'm are not whole blocks of 1000000 bytes' if=src \
	    of=dst base=m bs=1000000 conv=sync "$@" && size_is dst $bytes &&
	    copied bs=1000 bpt=500 conv=sync && flip src 2500000 && exits 0 "$pardd" if=src \
	    of=dst base=m bs=1000 conv=sync && says '^500000 bytes' && complete &&
	    size_is dst 5001000 && truncate -s $bytes dst && same src dst
}
it "refuses ranges that conv=sync would pad to something else" padded
it "refuses ranges that conv=sync would pad to something else (verify=1)" padded verify=1
it "refuses a base of more than the target has left" cut_off $((bytes - 1))
it "refuses a base of a target that was emptied" cut_off 0

# ------------------------------------------------------------------ with rate=

# At 15 MB/s a transfer is less than a range, where there are no ranges.
slowly()
{
	copied rate=15M && ! grep -q '"xxh128":null' m && sound dst && as_in if=src rate=15M &&
	    exits 0 "$pardd" if=src of=dst base=m rate=15M && says "^pardd: $bytes bytes were already present"
}
only all
it "has the same ranges with rate=" slowly

# ------------------------------------------------------------- how it is written

incomplete()
{
	echo old >m && "$blocks" make src $bytes && run with_faults "on=$PWD/$1 op=$2 at=2000384+512 fail=EIO" \
		"$pardd" if=src of=dst manifest=m && [[ $status = "$3" && $(<m) = old && ! -e m.pardd.tmp ]]
}
only plain asan
it "writes none when the copy stops" incomplete src read 3
it "writes none when a write fails" incomplete dst write 55
# not_held STATUS FAULTS OPERANDS...: the target does not keep what it was given
not_held()
{
	echo old >m && "$blocks" make src $bytes &&
	    exits "$1" with_faults "$2" "$pardd" if=src of=dst manifest=m "${@:3}" &&
	    [[ $(<m) = old && ! -e m.pardd.tmp ]]
}
it "writes none when the target cannot be flushed" not_held 103 'on=dst op=flush fail=EIO'
it "writes none when the target cannot be closed" not_held 103 'on=dst op=close fail=EIO'
it "writes none of a target that verify=1 finds different" not_held 14 \
    'on=dst op=write at=2500000+1 flip' verify=1 retries=0
not_recorded()
{
	"$blocks" make src 5000 && echo old >m &&
	    exits 78 with_faults "on=$PWD/m.pardd.tmp op=flush fail=ENOSPC" "$pardd" \
		if=src of=dst manifest=m && faulty fsync && same src dst &&
	    [[ $(tail -n 1 err) = 'pardd: all was copied, but not recorded: manifest=m: '* ]] &&
	    [[ $(<m) = old && ! -e m.pardd.tmp ]]
}
it "says that it could not be flushed, and leaves the old one" not_recorded
no_place()
{
	"$blocks" make src 5000 && mkdir dir && ln -s other link &&
	    refused "manifest=$1: " if=src of=dst manifest="$1" "${@:2}" &&
	    [[ ! -e dst && ! -e other ]] && size_is src 5000
}
for place in src ./dst dir link /dev/m; do
	it "does not write it to $place" no_place $place
done
it "does not write it where hashfile= goes" refused 'is used for something else' \
    if=/dev/null of=dst hash=md5 hashfile=m manifest=./m
based()
{
	copied && refused 'is used for something else' if=src of=dst base=m hash=md5 \
	    hashfile=m && [[ $(wc -l <m) = 7 ]]
}
it "does not let its base be replaced by something else" based

# ----------------------------------------------------------------- the manual

documented()
{
	copied && cp m m2 && copied manifesthash=sha256 || return
	comm -3 <(jq -r 'keys[]' m m2 | sort -u) <(sed -n '/^\.Sh MANIFESTS/,/^\.Sh THE/p' "$top/man/pardd-json.5" |
		sed -n 's/^\.\(It \)\?Cm \([a-z0-9_]*\)\( ,\)\?$/\2/p' | sort -u) >odd
	[[ ! -s odd ]] || fail "$(<odd)"
}
it "has every key in the manual, and no other" documented
