#!/usr/bin/env bash
# Digests of what is copied: hash=, hashfile=, expect=.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

algs=(sha256 sha512 sha1 md5 blake2b512 sha3-256 xxh128)
all=sha256,sha512,sha1,md5,blake2b512,sha3-256,xxh128
bytes=5000001

# digest ALG [FILE]: of a file or of standard input, by another program
digest()
{
	local tool
	case $1 in
	blake2b512)	tool=b2sum ;;
	xxh128)		tool='xxhsum -q -H2' ;;
	sha3-256)	tool='openssl dgst -r -sha3-256' ;;
	*)		tool=${1}sum ;;
	esac
	# shellcheck disable=SC2086
	$tool <"${2:-/dev/stdin}" | cut -d ' ' -f 1
}

# printed ALG HEX [NAME]: as the only digest
printed()
{
	[[ -n $2 && $(grep -cE '^\\?[0-9a-f]{32,128}  ' err) = 1 ]] &&
	    grep -qxF -e "$2  ${3:-dst}" err && return
	echo "not printed: $2  ${3:-dst}"
	cat err
	return 1
}

# ------------------------------------------------- right, in any number of ways

# whole NAME: of all algorithms, in one run, as the json has them too.  The file src
# is the pattern; what other programs make of so much of it is asked once.
whole()
{
	local alg name hex known said reported
	known=$scratch/digests.$(stat -c %s src)
	[[ -e $known ]] || for alg in "${algs[@]}"; do
		echo "$alg $(digest "$alg" src)"
	done >"$known"
	said=$'\n'$(<err)$'\n'
	[[ $said != *'counts as zeros'* ]] || fail "nothing was lost: $said" || return
	reported=$'\n'$(jq -r 'select(.event == "result") | .hashes[] |
	    "\(.algorithm) \(.digest)"' json)$'\n'
	while read -r alg hex; do
		name=${alg^^}
		[[ $alg != blake2b512 ]] || name=BLAKE2b
		[[ -n $hex && $said = *$'\n'"$name ($1) = $hex"$'\n'* ]] ||
		    fail "no $alg: $said" || return
		[[ $reported = *$'\n'"$alg $hex"$'\n'* ]] || fail "no $alg in json" || return
	done <"$known"
}
all_of()
{
	"$blocks" make src "$1" &&
	    exits 0 "$pardd" if=src of=dst hash=$all json=json "${@:2}" &&
	    complete && same src dst && whole dst
}
only plain asan	# few transfers
for size in 0 1 511 512 65537 1048575 1048576 1048577; do
	it "has all the digests of $size bytes" all_of $size thr=16
done
only all
for thr in $(few 1 2 4 16); do
	it "has all the digests with $thr workers" all_of $bytes thr="$thr" bpt=50
done

async()
{
	"$blocks" make src 20M && exits 0 "$pardd" if=src of=dst iflag=direct \
	    oflag=direct engine=async hash=$all json=json "$@" && complete &&
	    same src dst && whole dst
}
ways=('' thr=4 'thr=16 qd=1' 'bpt=9 qd=3' 'mem=7M thr=3' rate=60M)
((weight == 1)) || ways=('bpt=9 qd=3' 'mem=7M thr=3')
for operands in "${ways[@]}"; do
	# shellcheck disable=SC2086
	it "has all the digests with engine=async $operands" async $operands
done
ranges()
{
	local n alg skip count seed seek engine
	"$blocks" make src $bytes || return
	RANDOM=$2
	for ((n = 0; n < $1; n++)); do
		alg=${algs[RANDOM % ${#algs[@]}]}
		skip=$((RANDOM * RANDOM % bytes))
		count=$((1 + RANDOM * RANDOM % (bytes - skip)))
		seek=$((RANDOM % 3 * RANDOM)) engine=threads
		((RANDOM % 2)) || engine=async
		seed="if=src skip=$skip count=$count seek=$seek of=dst hash=$alg
		    bs=$((1 + RANDOM % 4096)) bpt=$((1 + RANDOM % 300)) engine=$engine
		    thr=$((1 + RANDOM % 16)) iflag=skip_bytes,count_bytes
		    oflag=seek_bytes"
		# shellcheck disable=SC2086
		exits 0 "$pardd" $seed && printed "$alg" "$(tail -c +$((skip + 1)) src |
		    head -c $count | digest "$alg")" || fail "$seed" || return
	done
}
it "has the digests of random ranges" ranges "$(heavy $((${LONG:+180} + 20)))" 1

# ---------------------------------------------------------------- kinds of ends

only plain asan
it "takes a pipe as it comes" eval \
    '"$blocks" make src $bytes && "$blocks" make - $bytes | exits 0 "$pardd" of=dst hash=md5 bpt=16 thr=16 &&
    printed md5 "$(digest md5 src)"'
it "names the source where the target is a pipe" eval \
    '"$blocks" make src $bytes && "$pardd" if=src hash=sha1 bpt=16 thr=16 2>err | cmp - src &&
    printed sha1 "$(digest sha1 src)" src'
through()
{
	"$blocks" make - $bytes | "$pardd" of=- hash=sha256 thr=16 bpt=16 2>err |
	    cat >dst && printed sha256 "$(digest sha256 dst)" -
}
it "names - from pipe to pipe" through
it "names the source where the target is none" eval \
    '"$blocks" make src $bytes && exits 0 "$pardd" if=src of=. hash=xxh128 &&
    printed xxh128 "$(digest xxh128 src)" src'
generated()
{
	exits 0 "$pardd" "$1" of=dst bs=1000 count=5001 hash=sha256 bpt=100 &&
	    printed sha256 "$(digest sha256 dst)" && size_is dst 5001000
}
it "takes zeros that are made" generated iflag=00
it "takes random bytes as they were written" generated iflag=random
none()
{
	"$blocks" make src 5000 &&
	    exits 0 "$pardd" if=src of=dst count=0 hash=md5 &&
	    printed md5 d41d8cd98f00b204e9800998ecf8427e &&
	    exits 0 "$pardd" if=/dev/null of=dst hash=md5 &&
	    printed md5 d41d8cd98f00b204e9800998ecf8427e
}
it "knows the digest of nothing" none
it "takes what is appended" eval \
    '"$blocks" make src $bytes && echo old >dst && exits 0 "$pardd" if=src of=dst oflag=append hash=md5 bpt=16 &&
    printed md5 "$(digest md5 src)"'
it "takes holes as zeros" eval \
    'truncate -s 5M src && "$blocks" make part 70000 && dd if=part of=src bs=1M seek=2 conv=notrunc status=none &&
    exits 0 "$pardd" if=src of=dst conv=sparse hash=sha256 && printed sha256 "$(digest sha256 src)" && same src dst'
padded()
{
	"$blocks" make src 1000 &&
	    exits 0 "$pardd" if=src of=dst bs=4096 conv=sync hash=md5 hashfile=sums &&
	    size_is dst 4096 && printed md5 "$(digest md5 src)" &&
	    grep -qx '# of 1000 bytes from byte 0 on' sums
}
it "leaves out the padding, and says so in the file" padded
if able '((EUID == 0)) && [[ -c /dev/loop-control ]]' "no loop devices"; then
	device()
	{
		"$blocks" make src 4M && truncate -s 5M disk && loop disk &&
		    exits 0 "$pardd" if=src of="$dev" hash=sha256 hashfile=sums &&
		    printed sha256 "$(digest sha256 src)" "$dev" &&
		    grep -qx '# of 4194304 bytes from byte 0 on' sums &&
		    exits 0 "$pardd" if="$dev" of=dst count=8192 hash=sha256 thr=16 bpt=20 &&
		    printed sha256 "$(digest sha256 src)" &&
		    exits 0 "$pardd" if="$dev" of="$dev" skip=0 seek=5120 count=5120 hash=sha256 &&
		    printed sha256 "$(head -c 2621440 src | digest sha256)" "$dev"
	}
	it "takes devices" device
fi

# --------------------------------------------------- what cannot be read, faults

bad=$((801 * 512))+512,$((1600 * 512))+1536
lose()
{
	"$blocks" make src 1000001 &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst coe=1 hash=sha256 hashfile=sums json=json "$@" &&
	    printed sha256 "$(digest sha256 dst)" && says 'counts as zeros' &&
	    holds -z "$bad" dst 0 0 1000001 &&
	    grep -qx '# 2048 bytes could not be read: they count as zeros' sums &&
	    sha256sum -c --strict --status sums &&
	    [[ $(jq -r 'select(.event == "result").hashes[0].digest' json) = \
		"$(digest sha256 dst)" ]]
}
only all
for thr in $(few 1 4 16); do
	it "takes what cannot be read as it lies on the target ($thr workers)" \
	    lose "thr=$thr" bpt=8
done

# What was read is what the target was handed: the digest is of both.
unseen()
{
	local rules=$1
	shift
	"$blocks" make src 1000001 &&
	    exits 0 with_faults "$rules" "$pardd" if=src of=dst hash=md5 bpt=8 "$@" &&
	    faulty read && faulty write &&
	    printed md5 "$(digest md5 src)" && same src dst
}
for thr in $(few 1 3 16); do
	it "is right with short transfers and waits ($thr workers)" unseen \
	    "on=$PWD/src op=read;on=src op=read short odd every=3 sleep=1;on=dst op=write short odd every=3" thr="$thr"
	it "is right with EINTR and EAGAIN ($thr workers)" unseen \
	    'on=src op=read fail=EINTR every=3;on=dst op=write fail=EAGAIN every=9' thr="$thr"
done

# ------------------------------------------------------------- nothing is whole

# incomplete STATUS: no digest anywhere
incomplete()
{
	[[ $status = "$1" ]] || fail "status $status: $(<err)" || return
	says '^pardd: no digest: not all was copied$' && does_not_say '^[0-9a-f]{32}' &&
	    [[ ! -e sums && ! -e sums.pardd.tmp ]] || return
	[[ $(jq -c 'select(.event == "result").hashes' json) = \
	    '[{"algorithm":"md5","digest":null,"expected":null,"packed":null}]' ]] ||
	    fail "$(cat json; ls)"
}
hashing=(hash=md5 hashfile=sums json=json)
stopped()
{
	"$blocks" make src 1000001 &&
	    run with_faults "on=$PWD/src op=read at=$bad fail=EIO$1" \
		"$pardd" if=src of=dst "${hashing[@]}" bpt=8 "${@:2}" && incomplete 3
}
for thr in $(few 1 16); do
	it "has none when the copy stops ($thr workers)" stopped '' thr="$thr"
	it "has none when the copy stops late ($thr workers)" stopped ' sleep=20' thr="$thr"
done
no_room()
{
	"$blocks" make src 1000001 &&
	    run with_faults "on=$PWD/dst op=write at=409600+ fail=ENOSPC" \
		"$pardd" if=src of=dst "${hashing[@]}" bpt=8 thr="$1" && incomplete 78
}
it "has none when the target is full" no_room 1
it "has none when the target is full (16 workers)" no_room 16
too_short()
{
	run "$pardd" of=dst bs=512 count=100 "${hashing[@]}" < <("$blocks" make - 10000)
	incomplete 102
}
it "has none when the source is too short" too_short
interrupted()
{
	mkfifo p && exec 5<>p && "$blocks" make - 30000 >&5 || return
	"$tools/ends" how "$pardd" of=dst bs=512 bpt=8 "${hashing[@]}" <&5 2>err &
	until_true 20 test -s dst && kill -INT "$(sed -n 's/^pid //p' how)" && wait $!
	ended signal 2 && status=130 && incomplete 130
}
it "has none when it is interrupted" interrupted
interrupted_late()
{
	"$blocks" make src 64k
	FAULTS="on=$PWD/src op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=src of=dst "expect=md5:$(printf %032d 0)" 2>err &
	until_true 20 grep -qs waits faults && kill -INT "$(awk '$1 == "pid" { print $2 }' how)" &&
	    heard && touch go && wait $!
	ended signal 2 && [[ $(tail -n 1 err) = "pardd: stopped by SIGINT, after all was copied; \
NOT as expected: the md5 of what was copied is $(md5sum <src | cut -c -32)" ]]
}
it "tells that it is another when it is interrupted at the end" interrupted_late
not_flushed()
{
	"$blocks" make src 1000001 &&
	    exits 103 with_faults "on=$PWD/dst op=flush fail=EIO" \
		"$pardd" if=src of=dst hash=md5 && printed md5 "$(digest md5 src)" &&
	    [[ $(tail -n 1 err) = 'pardd: NOT complete:'* ]]
}
it "has that of a source that was copied, and not flushed" not_flushed

# -------------------------------------------------------------------- expect=

expected()
{
	local hex
	"$blocks" make src $bytes && hex=$(digest "$1" src) &&
	    exits 0 "$pardd" if=src of=dst expect="$1:$hex" && complete &&
	    printed "$1" "$hex" && says "^pardd: the $1 is as expected$" &&
	    exits 0 "$pardd" if=src of=dst expect="$1:${hex^^}" status=none &&
	    [[ ! -s err ]]
}
only plain asan	# one thread compares and writes digests
for alg in "${algs[@]}"; do
	it "is content with the right $alg" expected "$alg"
done
unexpected()
{
	local hex
	"$blocks" make src $bytes && hex=$(digest md5 src | tr 0-9 1-90) &&
	    exits 14 "$pardd" if=src of=dst expect="md5:$hex" hash=sha1 json=json "$@" &&
	    [[ $(tail -n 1 err) = "pardd: NOT as expected: the md5 of what was copied is $(digest md5 src)" ]] &&
	    does_not_say '^pardd: complete' && same src dst &&
	    jq -es 'last | .verdict == "mismatch" and .status == 14 and
		.hashes[1].expected == "'"$hex"'" and .hashes[0].expected == null' json
}
it "ends 14 with another digest than expected" unexpected
it "says so with status=none" unexpected status=none
lost_too()
{
	"$blocks" make src 1000001 &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst coe=1 expect="md5:$(digest md5 src)" &&
	    says '^pardd: the md5 is NOT as expected$'
}
it "tells that blocks are lost before what is expected" lost_too
# listed STATUS ALG LINE: of a file with that line
listed()
{
	printf '%b' "$3" >sums && exits "$1" "$pardd" if=./src of=dst expect=@sums || fail "with $3" || return
	[[ $1 != 0 ]] || says "^pardd: the $2 is as expected$"
}
# All that writes such lines; the name may have a directory, a size, or blanks.
from_file()
{
	local md5 sha sha512 other
	"$blocks" make src $bytes && "$blocks" make 'a 12 src' 1000 2 && md5=$(digest md5 src) && sha=$(digest sha256 src) &&
	    sha512=$(digest sha512 src) && other=$(digest sha256 'a 12 src') &&
	    listed 0 sha256 "$other  other\n$sha  src\n" && listed 0 sha256 "$sha *x/src\r\n" && listed 0 md5 "$md5  src" &&
	    listed 0 sha256 "SHA256 (src) = ${sha^^}\n" && listed 0 sha512 "SHA2-512(./src)= $sha512\n" &&
	    listed 0 sha256 "MD5Sum:\n $md5   3000 main/src\nSHA256:\n $sha 3000 main/src\n" &&
	    listed 14 sha256 "$other  src\n" && sha256sum -- 'a 12 src' >sums && exits 0 "$pardd" if='a 12 src' of=dst expect=@sums &&
	    cp src 'b\\c' && sha256sum -- 'b\\c' >sums && exits 0 "$pardd" if='b\\c' of=dst expect=@sums && [[ $(<sums) = \\* ]]
}
it "is content with the right one in a file of digests" from_file
not_listed()
{
	local sha other
	"$blocks" make src $bytes && sha=$(digest sha256 src) && other=$(digest sha256 /dev/null) && printf '%s  src\n' "$sha" >sums &&
	    printf '%s\n' "$sha  source" "$sha 12src" "x$sha  src" "${sha}0  src" "SHA384 (src) = $sha" "SHA256 (src = $sha" \
		"MD5 (src) = $sha" "# src: 12 bytes" "$sha" >bad && refused 'expect=@bad: it has no digest of src$' if=src of=dst expect=@bad &&
	    refused 'has no name' of=dst expect=@sums <src && refused "it has no digest of sums" if=sums of=dst expect=@bad &&
	    printf '%s  src\n' "$sha" "$other" >two && refused 'it has two different digests of src' if=src of=dst expect=@two &&
	    refused 'it is no file of digests' if=src of=dst expect=@. && exits 52 "$pardd" if=src of=dst expect=@none &&
	    mkfifo fifo && refused 'it is no file of digests' if=src of=dst expect=@fifo && [[ ! -e dst ]] &&
	    head -c 100k /dev/urandom >junk && refused 'it has no digest' if=src of=dst expect=@junk
}
it "refuses a file that has none of the source, or two" not_listed
signed()
{
	local sha
	"$blocks" make src $bytes && sha=$(digest sha256 src) &&
	    printf '%s\n' "$(digest sha256 /dev/null)  src" '-----BEGIN PGP SIGNED MESSAGE-----' 'Hash: SHA256' '' '- -- x' "$sha  src" \
		'-----BEGIN PGP SIGNATURE-----' "$(digest sha256 /dev/null)  src" >sums &&
	    exits 0 "$pardd" if=src of=dst expect=@sums && says '^pardd: note: the signature in sums is not checked$'
}
it "reads only what is signed, and says that this is not checked" signed
# changes COMMAND...: of a file that the command changes while it is read
changes()
{
	rm -f go faults && printf '%s  src\n' "$(digest sha256 src)" >sums && local copy || return
	exits 101 with_faults "on=$PWD/sums op=read until=$PWD/go" "$pardd" if=src of=dst expect=@sums &
	copy=$!
	until_true 20 grep -qs waits faults && "$@" && : >go && wait "$copy" && [[ ! -e dst ]] &&
	    one_line 'expect=@sums: it does not end where its length says'
}
read_whole()
{
	"$blocks" make src $bytes && printf '%s  src\n' "$(digest sha256 src)" >sums &&
	    exits 0 with_faults "on=$PWD/sums op=read short odd" "$pardd" if=src of=dst expect=@sums && faulty read 3 &&
	    rm dst && changes truncate -s -1 sums && changes eval 'echo >>sums' &&
	    exits 62 with_faults "op=own fail=ENOMEM nth=2" "$pardd" if=src of=dst expect=@sums && one_line "expect=@sums: Cannot" &&
	    [[ ! -e dst ]]
}
it "reads such a file to its end, in pieces, too, and refuses one that changes meanwhile" read_whole
for wrong in md5 md5: md5:12 "sha1:$(printf %032d 0)" "crc32:12345678" \
    "md5:$(printf %031dg 0)" "md5:$(printf %033d 0)" ":$(printf %032d 0)"; do
	it "does not take expect=$wrong" usage "expect=$wrong" if=src of=dst \
	    "expect=$wrong"
done
it "does not take hash=crc32" usage hash=crc32 if=src of=dst hash=crc32
private()
{
	{ "$blocks" make src 5000 && touch sums open && chmod 600 sums &&
	    exits 0 "$pardd" if=src of=dst hash=md5 hashfile=sums &&
	    exits 0 "$pardd" if=src of=dst hash=md5 hashfile=open &&
	    [[ $(stat -c %a sums open) = $'600\n644' && -s sums ]]; } || fail "$(stat -c '%n %a' sums open)"
}
it "keeps a private hashfile= private" private

# ------------------------------------------------------------------ hashfile=

checked()
{
	local tool
	"$blocks" make src $bytes &&
	    exits 0 "$pardd" if=src of=dst hash="$1" hashfile=sums || return
	case $1 in
	blake2b512)	tool='b2sum -c --strict' ;;
	xxh128)		tool='xxhsum -c --strict' ;;
	*)		tool="${1}sum -c --strict" ;;
	esac
	$tool sums && [[ $(wc -l <sums) = 1 ]] && printf x >>dst && ! $tool sums
}
for alg in sha256 sha512 sha1 md5 blake2b512; do
	it "writes a file that checks the target, $alg" checked $alg
done
given 'command -v xxhsum' "no xxhsum" it "writes a file that checks the target, xxh128" checked xxh128
several()
{
	"$blocks" make src $bytes && echo junk >sums &&
	    exits 0 "$pardd" if=src of=dst hash=$all hashfile=sums &&
	    sha256sum -c sums && sha512sum -c sums && md5sum -c sums &&
	    b2sum -c sums && [[ $(wc -l <sums) = "${#algs[@]}" && ! -e sums.pardd.tmp ]]
}
it "writes a file with several that each tool takes its own from" several
named()
{
	"$blocks" make src 5000 && exits 0 "$pardd" if=src of="$1" hash=md5,sha1 hashfile=tags &&
	    md5sum -c tags && exits 0 "$pardd" if=src of="$1" hash=sha256 hashfile=sums &&
	    same sums <(sha256sum "$1") && sha256sum -c --strict sums &&
	    [[ $(LC_ALL=C tr -d '\n\040-\176' <err | wc -c) = 0 ]]
}
it "writes names as sha256sum does: a line break" named $'a\nb'
it "writes names as sha256sum does: a backslash" named 'a\b'
it "writes names as sha256sum does: a carriage return" named $'a\rb\\n'
it "writes names as sha256sum does: no ASCII" named $'a\303\244\377'
it "writes names as sha256sum does: a blank" named ' a b'

no_place()
{
	"$blocks" make src 5000 && mkdir dir && ln -s other link && mkfifo fifo &&
	    refused "hashfile=$1: " if=src of=dst hash=md5 hashfile="$1" "${@:2}" &&
	    [[ ! -e dst && ! -e other ]] && size_is src 5000 &&
	    refused "hashfile=$1: " -d if=src of=dst hash=md5 hashfile="$1" "${@:2}"
}
for place in src dst ./dst ../case/dst dir link fifo /dev/sums /dev/null; do
	it "does not write it to $place" no_place $place
done
twice()
{
	refused 'sums: is used for something else' if=/dev/null of=dst hash=md5 \
	    hashfile=sums "$1" && [[ ! -e dst ]]
}
# One run is kept at its start while another asks for the same record.
shared_record()
{
	local first
	"$blocks" make src 64k && "$blocks" make src2 64k 5 || return
	FAULTS="on=$PWD/src op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst hash=md5 "$1" 2>err1 &
	first=$!
	until_true 20 grep -qs waits faults &&
	    refused "${1%%=*}=.*another run" if=src2 of=dst2 hash=md5 "$1" && [[ ! -e dst2 ]] || return
	touch go && wait "$first" && run "$pardd" if=src2 of=dst2 hash=md5 "$1"
	[[ $status = 0 && ! -e ${1#*=}.pardd.tmp ]]
}
it "gives two runs at a time no file in common" eval \
    'shared_record hashfile=sums && echo "$(md5sum <src2 | cut -c -32)  dst2" | cmp - sums'
it "nor a manifest" shared_record manifest=m
it "nor a profile" shared_record profile=p.csv
# What a run was killed over is nobody's, whatever it is.
hang_link()
{
	ln -s nowhere "$1"
}
leftover()
{
	"$blocks" make src 5000 && "$1" sums.pardd.tmp &&
	    exits 0 "$pardd" if=src of=dst hash=md5 hashfile=sums && md5sum -c sums &&
	    [[ ! -e sums.pardd.tmp && ! -L sums.pardd.tmp ]]
}
it "takes over what a run that was killed has left" leftover touch
it "... a link" leftover hang_link
it "... a FIFO" leftover mkfifo
replaced_midway()
{
	"$blocks" make src 64k || return
	FAULTS="on=$PWD/src op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst hash=md5 hashfile=sums 2>err &
	until_true 20 grep -qs waits faults && rm -f sums.pardd.tmp && echo other >sums.pardd.tmp &&
	    touch go && ! wait $! && says 'not recorded: hashfile=sums: its temporary file sums.pardd.tmp was removed or replaced$' &&
	    [[ ! -e sums && $(<sums.pardd.tmp) = other ]]
}
it "puts nobody else's file in its place" replaced_midway
# On FAT dst may be the file that SUMS leads to, too.
made_midway()
{
	"$blocks" make src 64k || return
	FAULTS="on=$PWD/dst op=write until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst hash=md5 "$@" 2>err &
	until_true 20 grep -qs waits faults && ln dst "${1#*=}" && touch go && ! wait $! &&
	    says "not recorded: ${1//./\\.}: a file of that name was created" && same src dst && same src "${1#*=}"
}
it "replaces no file that was made during the copy" made_midway hashfile=sums
it "... by a manifest" made_midway manifest=m
it "... by a profile" made_midway profile=p.csv
it "... by a report" made_midway report=r.html
# temporary OPERANDS...: sums.pardd.tmp is wanted for more than one thing
temporary()
{
	"$blocks" make src 5000 && "$blocks" make sums.pardd.tmp 5000 &&
	    refused 'sums: is written as .pardd.tmp first' hash=md5 hashfile=sums "$@" &&
	    same src sums.pardd.tmp && [[ ! -e dst && ! -e sums ]]
}
it "does not write it by way of the source" temporary if=sums.pardd.tmp of=dst
it "does not write it by way of the target" temporary if=src of=./sums.pardd.tmp
it "does not write it by way of what another operand names" temporary \
    if=src of=dst manifest=sums.pardd.tmp
absent()
{
	refused 'sums: is written as .pardd.tmp first' if=/dev/null of=sums.pardd.tmp hash=md5 \
	    hashfile=sums && [[ ! -e sums.pardd.tmp ]]
}
it "does not write it by way of a target that is to be made" absent
it "does not write it where json= goes" twice json=./sums
it "does not write it where log= goes" twice log=../case/sums
it "leaves a file alone that is called .tmp" eval \
    '"$blocks" make src 5000 && echo mine >sums.tmp && exits 0 "$pardd" if=src of=dst hash=md5 hashfile=sums &&
    [[ $(<sums.tmp) = mine && -s sums ]]'
in_the_way()
{
	"$blocks" make src 5000 && mkdir sums.pardd.tmp && refused 'written as .pardd.tmp first' \
	    if=src of=dst hash=md5 hashfile=sums && [[ ! -e dst ]]
}
it "refuses to write it by way of a directory" in_the_way
it "does not write it to standard output" eval \
    '"$blocks" make src 5000 && status=0 && { "$pardd" if=src hash=md5 hashfile=out2 >out2 2>err || status=$?; } &&
    [[ $status = 101 ]] && size_is out2 0'
it "says that there is no directory for it" exits 52 "$pardd" if=/dev/null of=. \
    hash=md5 hashfile=none/sums
not_made()
{
	"$blocks" make src 5000 && exits 52 "$pardd" if=src of=dst hash=md5 hashfile=/proc/sums &&
	    one_line 'hashfile=/proc/sums: No such file'
}
it "says that the file could not be made" not_made
# The directory of a file that the run writes is renamed meanwhile, and another takes its place.
moved()
{
	mkdir d && "$blocks" make src 64k || return
	FAULTS="on=$PWD/dst op=write until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst engine=threads "$1=d/$2" "${@:3}" 2>err &
	until_true 20 grep -qs ^waits faults && mv d moved && mkdir d && : >go && exited 52 && same src dst &&
	    [[ -s moved/$2 && $(ls moved d) = $'d:\n\nmoved:\n'$2 ]] &&
	    says "not recorded: $1=d/$2: that name leads elsewhere now, and the file is $PWD/moved/$2\$"
}
it "says where it is if its directory has been moved" moved hashfile sums hash=sha256
it "... of a manifest, too" moved manifest list
it "... of a profile" moved profile x.csv
it "... and of a report" moved report x.html
not_recorded()
{
	"$blocks" make src 5000 && echo old >sums &&
	    exits 78 with_faults "on=$PWD/sums.pardd.tmp op=$1 fail=ENOSPC" "$pardd" \
		if=src of=dst hash=md5 hashfile=sums && faulty "$2" && same src dst &&
	    [[ $(tail -n 1 err) = 'pardd: all was copied, but not recorded: hashfile=sums: '* ]] &&
	    [[ $(<sums) = old && ! -e sums.pardd.tmp ]]
}
it "says that the file could not be flushed, and leaves the old one" \
    not_recorded flush fsync
no_room_for_it()
{
	"$blocks" make src 5000 && mkdir mnt && undo umount "$PWD/mnt" &&
	    mount -t tmpfs -o size=8k tmpfs mnt && echo old >mnt/sums &&
	    "$blocks" make mnt/full 4k && exits 78 "$pardd" if=src of=dst hash=md5 \
		hashfile=mnt/sums && same src dst && [[ $(<mnt/sums) = old && ! -e mnt/sums.pardd.tmp ]]
}
given '((EUID == 0))' "not root" it "says that there was no room for the file" no_room_for_it

# ----------------------------------------------------------------- what it needs

no_thread()
{
	"$blocks" make src $bytes && "$blocks" make dst 9000 3 && cp dst old &&
	    exits 61 with_faults "op=thread nth=$1 fail=EAGAIN" "$pardd" \
		if=src of=dst hash=md5,sha1 oflag=trunc && one_line 'thread' &&
	    faulty pthread_create && same dst old
}
only all
it "leaves the target alone when it gets no thread" no_thread 1
it "leaves the target alone when it gets one thread of two" no_thread 2
no_library()
{
	"$blocks" make src $bytes && mkdir lib && : >lib/libcrypto.so.3 || return
	export LD_LIBRARY_PATH=$PWD/lib
	exits 101 "$pardd" if=src of=dst hash=sha256 && one_line 'libcrypto.*libssl3' &&
	    [[ ! -e dst ]] && exits 101 "$pardd" -dv if=src of=dst hash=sha256 &&
	    exits 0 "$pardd" if=src of=dst hash=xxh128 && complete &&
	    exits 0 "$pardd" if=src of=dst && complete
}
[[ $VARIANT != plain ]] ||
    it "says what is missing where there is no libcrypto, and copies else" no_library
