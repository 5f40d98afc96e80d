#!/usr/bin/env bash
# verify=: what is on the target is what was written there; otherwise it is repaired or
# reported.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

schema=$top/tests/tools/schema.jq

# has FILTER: true of the last line of json
has()
{
	jq -es "last | $1" json >/dev/null || fail "not so: $1: $(tail -n 1 json)"
}

valid()
{
	jq -es -f "$schema" json >/dev/null && return
	cat json
	return 1
}

# shows FROM TO: the bytes of the target that differ, and no others
shows()
{
	[[ $(grep -c '^pardd: differs' err) = 1 ]] && says "^pardd: differs: bytes .*, $1 to $2 of "
}

# ------------------------------------------------------------- nothing is wrong

sizes()
{
	local size sizes='0 1 511 512 513 4095 65536 1048577 3000001'
	for size in $sizes; do
		"$blocks" make src "$size" && rm -f dst &&
		    exits 0 "$pardd" if=src of=dst "$@" json=json && verified &&
		    same src dst && tail -n 1 json >>results || return
	done
	valid || return
	jq -es "map(.bytes_verified) == [${sizes// /, }] and all(.verified and .mismatch == [])" results >/dev/null ||
	    fail "$(<results)"
}
for how in 1 stream source; do
	for thr in $(few 1 4 16); do
		it "verify=$how finds files of all sizes right, thr=$thr" sizes verify=$how thr="$thr"
	done
	it "verify=$how finds small transfers right" sizes verify=$how bs=512 bpt=3 thr=7
done

odd()
{
	"$blocks" make src 3000001 && head -c 5000 src >dst &&
	    exits 0 "$pardd" if=src of=dst verify="$1" seek=777 skip=111 bs=1 bpt=65536 &&
	    verified && cmp <(tail -c +112 src) <(tail -c +778 dst)
}
only plain asan
it "verifies where neither end begins at a block" odd 1
it "verifies a little behind where neither end begins at a block" odd stream
pipe()
{
	"$blocks" make src 3000001 &&
	    exits 0 "$pardd" of=dst verify="$1" thr="$2" < <(cat src) && verified && same src dst
}
it "verifies what came from a pipe" pipe 1 4
it "verifies what came from a pipe, a little behind" pipe stream 16
it "verifies random bytes" exits 0 "$pardd" iflag=random of=dst bs=1k count=3000 verify=1
it "verifies zeros" exits 0 "$pardd" iflag=00 of=dst bs=1k count=3000 verify=1
it "verifies holes" sizes verify=1 oflag=sparse,trunc
# Zeros at the end of a new file, of which it has no length until all is copied.
growing()
{
	"$blocks" make src 1M && truncate -s 48M src && cp --sparse=never src whole &&
	    exits 0 "$pardd" if=whole of=dst oflag=sparse verify=stream bpt=128 thr=2 retries=0 rate=200M &&
	    verified && same src dst
}
it "verifies zeros at the end of a file a little behind" growing
# The same of holes of the source, which are not written either.
growing_hole()
{
	"$blocks" make src 1M && truncate -s 48M src &&
	    exits 0 "$pardd" if=src of=dst verify=stream bpt=128 thr=2 retries=0 rate=200M &&
	    verified && same src dst && (($(stat -c %b dst) <= 2100))
}
it "verifies holes at the end of a file a little behind" growing_hole
it "verifies in memory, which is the medium there" eval 'in_memory && sizes verify=1'
# A file system without O_DIRECT: the page cache proves nothing.
proven()
{
	"$blocks" make src 3000001 && exits 0 with_faults "on=dst op=direct fail=EINVAL" \
	    "$pardd" if=src of=dst verify="$1" && faulty open && verified && same src dst &&
	    exits 14 with_faults "on=dst op=direct fail=EINVAL;on=dst op=write at=1500000+1 flip" \
	    "$pardd" if=src of=dst verify="$1" && faulty open && shows 1499648 1500159
}
it "verifies without O_DIRECT, once nothing is cached" proven 1
it "verifies without O_DIRECT a little behind" proven stream
cached()
{
	"$blocks" make src 3000001 && cp src dst &&
	    exits 0 "$tools/hold" map dst "$pardd" if=src of=dst verify=1 && verified &&
	    exits 66 with_faults "on=dst op=direct fail=EINVAL" \
	    "$tools/hold" map dst "$pardd" if=src of=dst verify=1 && faulty open &&
	    says 'NOT complete: dst: .*page cache' && does_not_say verified
}
it "does not call verified what stays in the page cache" cached
it "has it in the plan" eval \
    '"$blocks" make src 1M && exits 0 "$pardd" -dv if=src of=dst verify=stream && grep -qx verify=stream out &&
    [[ ! -e dst ]]'

# ------------------------------------------------------------ something is wrong

# spoilt RULES COMMAND...
spoilt()
{
	rm -f dst
	with_faults "on=dst $1 flip" "${@:2}"
}
mended()
{
	"$blocks" make src 3000001 &&
	    exits 0 spoilt "op=write at=$1 times=1" "$pardd" if=src of=dst json=json "${@:2}" &&
	    faulty write && verified && same src dst && valid &&
	    has ".status == 0 and .verified and .bytes_mended == $size" && says 'differed when they were read back'
}
for how in 1 stream source; do
	size=512
	it "verify=$how mends a flipped bit" mended 1500000+1 verify=$how
	it "verify=$how mends a flipped bit, thr=1" mended 1500000+1 verify=$how thr=1
	only all
	it "verify=$how mends a flipped bit, thr=16" mended 1500000+1 verify=$how thr=16 bpt=16
	only plain asan
	it "verify=$how mends the first byte" mended 0+1 verify=$how
	size=$((3000001 % 512))
	it "verify=$how mends the last byte" mended 3000000+1 verify=$how
	size=1024
	it "verify=$how mends two of them" mended 100000+1,2500000+1 verify=$how
done
lasting()
{
	"$blocks" make src 3000001 && exits 14 spoilt "op=write at=1500000+1" "$pardd" if=src of=dst json=json "$@" &&
	    faulty write "$writes" && shows 1499648 1500159 && valid &&
	    has '.status == 14 and .verdict == "mismatch" and (.verified | not) and
		.mismatch == [{"offset": 1499648, "length": 512, "target_offset": 1499648}]' &&
	    says '^pardd: NOT complete: 512 bytes in 1 range of dst'
}
for how in 1 stream source; do
	writes=3
	it "verify=$how tells what stays wrong after two tries more" lasting verify=$how
	writes=6
	it "verify=$how tries as often as retries= says" lasting verify=$how retries=5
	writes=1
	it "verify=$how does not mend with retries=0" lasting verify=$how retries=0
done
merged()
{
	"$blocks" make src 3M && exits 14 spoilt "op=write at=1024000+1,1024512+1,1025024+1" \
	    "$pardd" if=src of=dst bs=512 bpt=1 verify=1 retries=0 && shows 1024000 1025535
}
it "tells ranges that touch as one" merged
places()
{
	"$blocks" make src 3M && exits 14 spoilt "op=write at=1500000+1" "$pardd" if=src of=dst \
	    bs=512 skip=100 seek=200 verify=1 retries=0 json=json &&
	    says 'differs: bytes 1448448 to 1448959 of src, 1499648 to 1500159 of dst' &&
	    has '.mismatch == [{"offset": 1448448, "length": 512, "target_offset": 1499648}]'
}
it "tells the place on both ends" places
gone_by()
{
	"$blocks" make src 3000001 && exits 14 spoilt "op=write at=1500000+1" \
	    "$pardd" of=dst verify="$1" json=json < <(cat src) &&
	    shows 1048576 2097151 && valid && has '.mismatch | length == 1'
}
it "tells the transfer where the source is gone by" gone_by 1
it "tells the transfer where the source is gone by, verify=stream" gone_by stream
it "cannot mend random bytes" exits 14 spoilt "op=write at=1500000+1" \
    "$pardd" iflag=random of=dst bs=1M count=3 verify=1
# When src is read a second time, a bit differs.
source_moves()
{
	local sum status
	"$blocks" make src 3000001 && sum=$(sha256sum <src) &&
	    run spoilt "op=write at=1500000+1 times=1 flip;on=src op=read at=$1 from=2" \
	    "$pardd" if=src of=dst json=json verify="$2" "${@:4}" && faulty write || return
	[[ $status = "$3" ]] || fail "$status: $(<err)" || return
	[[ $3 = 0 ]] && return
	says '^pardd: NOT complete: [0-9]* bytes in 1 range of dst are not what' &&
	    valid && has '(.verified | not) and (.mismatch | length == 1)' && says "^${sum%% *}  dst$"
}
for how in 1 stream source; do
	it "verify=$how does not mend with what a digest was not made of" source_moves 1500000+1 $how 14 hash=sha256
	it "verify=$how mends with it where nobody asked for a digest" source_moves 1500000+1 $how 0
done
# A second read of src fails.
source_fails()
{
	local status
	"$blocks" make src 3000001 &&
	    run with_faults "on=src op=read at=1500000+1 fail=EIO from=2" "$pardd" if=src of=dst "${@:2}" \
		verify=source && faulty read || return
	[[ $status = "$1" ]] || fail "$status: $(<err)" || return
	[[ $1 = 0 ]] && verified && return
	says '^pardd: NOT complete: src: ' && ! says 'verified$'
}
it "verify=source is not done where the source cannot be read again" source_fails 3
it "... for several targets" source_fails 3 of=second
it "... but with coe=1 what it was while it was copied" source_fails 0 coe=1
unreadable_back()
{
	"$blocks" make src 3M && rm -f dst && exits "$1" with_faults "on=dst op=read at=1049600+512 fail=EIO ${*:2}" \
	    "$pardd" if=src of=dst verify=1 && faulty read || return
	says '^pardd: dst: byte [0-9]+ cannot be read back, or is not what was written there; continuing' || return
	[[ $1 = 0 ]] || says 'NOT complete: [0-9]+ bytes in 1 range of dst cannot be read back, or are not what'
}
it "tells what cannot be read back" unreadable_back 14
# As small as the end can be read past its cache, a page of a file.
spot_back()
{
	"$blocks" make src 3M && rm -f dst && exits 14 with_faults "on=dst op=read at=$2 whole fail=EIO" \
	    "$pardd" if=src of=dst json=json verify="$1" && faulty read && valid && shows "$3" "$4" &&
	    has ".mismatch == [{\"offset\": $3, \"length\": $(($4 + 1 - $3)), \"target_offset\": $3}]"
}
for how in 1 stream source; do
	it "verify=$how names the page that cannot be read back" spot_back $how 1500000+1 1499136 1503231
done
it "... the last one" spot_back 1 3145727+1 3141632 3145727
it "... two that touch" spot_back 1 1503000+1000 1499136 1507327
it "... and all of a transfer where much cannot be" spot_back 1 1048576+524288 1048576 2097151
it "mends what cannot be read back once" unreadable_back 0 whole times=1
misread()
{
	"$blocks" make src 3M && rm -f dst && exits 0 with_faults "on=dst op=read at=1049600+1 flip times=1" \
	    "$pardd" if=src of=dst verify=1 && faulty read && same src dst
}
it "is not put off by a read that was wrong once" misread
lost()
{
	"$blocks" make src 3M &&
	    exits 100 with_faults "on=src op=read at=1049600+512 fail=EIO" "$pardd" if=src of=dst \
	    bs=512 coe=1 verify="$1" json=json && faulty read && says '1 unreadable block' &&
	    has '.verified and .status == 100' && valid &&
	    [[ $(cmp -l src dst | awk '$1 < 1049601 || $1 > 1050112' | wc -l) = 0 ]]
}
for how in 1 stream source; do
	it "verify=$how finds the zeros right that stand for lost blocks" lost $how
done
lost_and_spoilt()
{
	"$blocks" make src 3M && rm -f dst &&
	    exits "$1" with_faults "on=src op=read at=1049600+512 fail=EIO;on=dst op=write at=1049700+1 flip $2" \
	    "$pardd" if=src of=dst bs=512 coe=1 verify=1
}
it "mends zeros that stand for lost blocks" lost_and_spoilt 100 times=1
it "tells of a difference before lost blocks" lost_and_spoilt 14 ""
flush_fails()
{
	"$blocks" make src 3M && exits 103 with_faults "on=dst op=flush nth=$1 fail=EIO;on=dst op=write at=99+1 flip" \
	    "$pardd" if=src of=dst verify="$2" && faulty fdatasync && does_not_say verified
}
it "does not verify what could not be flushed" flush_fails 1 1
it "notices that a mended target could not be flushed" flush_fails 2 1

# ------------------------------------------------------------------- interrupted

# Reading back is slow, and is interrupted.
interrupted()
{
	"$blocks" make src 64M && rm -f dst
	FAULTS="on=dst op=read sleep=200" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst bs=512 bpt=64 thr=2 json=json verify="$1" 2>err &
	until_true 20 test -s how && until_true 20 grep -qs '"phase":"verifying"' json
	kill -"$2" "$(awk '$1 == "pid" { print $2 }' how)"
	wait $!
	ended signal "$3" && does_not_say 'pardd: complete' && says 'but not all verified' &&
	    valid && has '.verified | not' && has ".status == 128 + $3"
}
only all
it "says that it was stopped while it verified" interrupted 1 INT 2
it "says that it was stopped while it verified with the source" interrupted source TERM 15

# ----------------------------------------------------------------- what it refuses

to_pipe()
{
	"$pardd" iflag=00 bs=1k count=1 of=- verify=1 2>err | cat >out
	[[ ${PIPESTATUS[0]} = 1 ]] && one_line 'read back'
}
it "verifies no pipe" to_pipe
discards()
{
	"$blocks" make src 1M && usage 'read back' if=src of=. verify=1 &&
	    usage 'read back' if=src of=/dev/null verify=stream
}
it "verifies nothing that is discarded" discards
small()
{
	truncate -s 64G src && usage digests if=src of=dst verify=1 bs=512 bpt=1 && [[ ! -e dst ]]
}
it "does not keep a digest of each of 100 million blocks" small

# ------------------------------------------------------- caches below and above us

needs '((EUID == 0))' '[[ -c /dev/fuse ]]' 'losetup -f' -- "no root, or no /dev/fuse"

# disk RANGES: a loop device, $dev, on a disk that spoils what is written there.
# What has been written is right in the page cache of the device.
disk()
{
	mkdir mnt && truncate -s 8M img && "$tools/simdisk" "$@" img mnt || return
	undo until_true 10 umount "$PWD/mnt"
	loop mnt/disk --direct-io=on
}
below()
{
	disk ${1:+-f "$1"} && "$blocks" make src 8M &&
	    exits "$2" "$pardd" if=src of="$dev" verify="$how" oflag="$3" || return
	[[ -z $1 ]] || shows 4000256 4000767
}
for how in 1 stream source; do
	it "verify=$how verifies a disk" below '' 0 direct
	it "verify=$how tells what a disk has spoilt" below 4000300+1 14 direct
	it "verify=$how reads past a page cache that has it right" below 4000300+1 14 cached
done
# The same for a file of a file system on that disk.
file()
{
	disk -f 3000300+1 && mkfs.ext4 -q -b 4096 -O '^has_journal' "$dev" && mkdir fs &&
	    mount "$dev" fs && undo umount "$PWD/fs" || return
	"$blocks" make src 6M && exits 14 "$pardd" if=src of=fs/dst verify="$how" oflag="$1" &&
	    says 'differs' && does_not_say 'complete, '
}
for how in 1 stream source; do
	it "verify=$how reads a file past a page cache that has it right" file cached
done
sector()
{
	truncate -s 8M a.img b.img && loop a.img --sector-size "$1" && a=$dev &&
	    loop b.img --sector-size "$2" && "$blocks" make "$a" 8M &&
	    exits 0 "$pardd" if="$a" of="$dev" verify="$3" thr="$4" "${@:5}" && verified && holds "$dev" 0 0 8M
}
it "verifies a disk of 4096 bytes a sector" sector 4096 4096 1 4
it "verifies a little behind on a disk of 512 bytes a sector" sector 512 512 stream 16
it "verifies a disk of another sector size" sector 512 4096 1 3
it "verifies in transfers of 7 blocks" sector 4096 4096 stream 5 bs=4096 bpt=7
padded()
{
	truncate -s 8M b.img && loop b.img --sector-size 4096 && "$blocks" make src 1000001 &&
	    exits 0 "$pardd" if=src of="$dev" verify="$1" && verified && says padded && cmp -n 1000001 src "$dev"
}
it "verifies the padding, too" padded 1
it "verifies the padding with the source" padded source
# A target that disappears while it is read back does not differ: it is gone.
out_of_service()
{
	truncate -s 8M disk && "$blocks" make src 8M && loop disk &&
	    mkdir -p "sys/${dev#/dev/}/device" && echo "$1" >"sys/${dev#/dev/}/device/state" || return
	export SYSFS=$PWD/sys
	exits "$2" with_faults "on=$dev op=read at=2097152+1048576 fail=EIO" "$pardd" if=src of="$dev" \
	    verify="$how" bs=512 bpt=128 thr=4 && faulty read
}
not_there()
{
	says 'NOT complete: /dev/loop.*reading back.*No such device' && does_not_say 'differ|not what was'
}
still_there()
{
	out_of_service running 14 && says 'not what was written'
}
how=1
it "verify= notices a target that was taken out of service" eval 'out_of_service offline 69 && not_there'
it "verify= takes no other for one" still_there
# takes_out FLAG WORDS [OPERANDS...]: onto a disk that is removable, or not
takes_out()
{
	truncate -s 8M disk && "$blocks" make src 8M && loop disk && mkdir -p "sys/${dev#/dev/}" &&
	    echo "$1" >"sys/${dev#/dev/}/removable" || return
	export SYSFS=$PWD/sys
	exits 0 with_faults '' "$pardd" if=src of="$dev" "${@:3}" && says "^pardd: complete, flushed$2\$" && same src "$dev"
}
shows_it()
{
	takes_out 1 ', sampled' json=j && jq -es 'any(.[]; .event == "plan" and .verify == "sample")' j &&
	    with_faults '' "$pardd" -dv if=src of="$dev" >shown 2>&1 && grep -q '^verify=sample (it is removable' shown
}
it "samples a removable target" takes_out 1 ', sampled'
it "... and shows that" shows_it
it "... but no other" takes_out 0 ''
it "... nor with verify=0" takes_out 1 '' verify=0
it "... nor where operands do not allow it" takes_out 1 '' map=map
it "... nor where its digests may be too many" takes_out 1 '' bpt=1
it "... nor instead of another word" takes_out 1 ', verified' verify=1
# stopped PID: none of its threads is in a system call any more
stopped()
{
	! grep -h ^State: /proc/"$1"/task/*/status | grep -qv '[[:space:]]T '
}
# It has no length any more, and answers as at its end; between truncate and
# losetup it would read as zeros.
nothing_left()
{
	local pid
	truncate -s 32M disk && "$blocks" make src 32M && loop disk || return
	FAULTS="on=$dev op=read at=1048576+ sleep=20" FAULT_LOG=$PWD/faults FAULT_LOG_ALL=1 LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=src of="$dev" verify=1 bs=512 bpt=128 thr=1 2>err &
	pid=$!
	until_true 20 grep -qs '^read 2097152 65536 ' faults && kill -STOP "$(awk '{ print $2 }' how)" &&
	    until_true 20 stopped "$(awk '{ print $2 }' how)" && truncate -s 0 disk && losetup --set-capacity "$dev" &&
	    kill -CONT "$(awk '{ print $2 }' how)" || return
	wait "$pid"
	ended exit 69 && not_there
}
it "verify= notices a target that has no length any more" nothing_left
