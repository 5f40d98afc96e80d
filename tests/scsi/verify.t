# shellcheck shell=bash disable=SC2119
# verify=, compare=1 and oflag=sparing on SCSI ends: data are read back from the medium,
# and changes there are found.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks
fua_read='28 08|88 08|a8 08'

# READ with FUA, and what was written is read only after SYNCHRONIZE CACHE
from_medium()
{
	local order
	order=$(sent "$HCTL2" "0a|2a|8a|aa|35|91|$fua_read" |
	    sed 's/.*raw=\(..\).*/\1/' | sed -n '/^[028a]a$/,$p' | uniq | paste -sd ' ')
	[[ $order =~ ^[028a]a\ (35|91)\ .*[28a]8 ]] ||
	    fail "the commands, in their order: $order"
}

right()
{
	fresh
	all_right "$@" && verified && from_medium
}
it "verifies sg, with FUA" right if="$SG1" of="$SG2" verify=1
long "verifies bsg, with FUA" right if="$BSG1" of="$BSG2" verify=1
it "verifies a block node with sgio, with FUA" \
    right if="$SD1" of="$SD2" oflag=sgio verify=1
it "verifies sg a little behind the copy" right if="$SG1" of="$SG2" verify=stream thr=16
it "verifies sg against the source" right if="$SG1" of="$SG2" verify=source
long "verifies sg in odd transfers" right if="$SG1" of="$SG2" bpt=7 verify=1
long "verifies sg that nobody else may open" \
    right if="$SG1" of="$SG2" oflag=excl verify=1
long "verifies sg with mmap" right if="$SG1" of="$SG2" oflag=mmap verify=1
long "verifies sg with commands of 6 bytes" \
    right if="$SG1" of="$SG2" cdbsz=6 verify=1
long "verifies sg with commands of 16 bytes" \
    right if="$SG1" of="$SG2" cdbsz=16 verify=1
plain_disk()
{
	fresh
	all_right if="$SG1" of="$SD2" verify=1 && verified
}
it "verifies a block node" plain_disk

# Somebody writes to the target while it is being verified.
verifying()
{
	[[ -e json && $(<json) = *'"phase":"verifying"'* ]]
}
spoil()
{
	local pid
	until_true 60 verifying && read -r _ pid <how && kill -STOP "$pid" || return
	printf '%0512d' 1 | dd of="$SD2" bs=512 seek=16000 count=1 \
	    iflag=fullblock oflag=direct conv=notrunc status=none
	kill -CONT "$pid"
}
spoilt()
{
	fresh
	slow 8
	rm -f json
	spoil &
	exits "$1" "$tools/ends" how "$pardd" if="$SG1" of="$SG2" bpt=32 thr=8 json=json \
	    "${@:2}"
}
mends()
{
	spoilt 0 verify=1 && verified && says '512 bytes differed when' &&
	    lands "0-16383 right"
}
it "repairs what changed on sg" mends
tells()
{
	spoilt 14 verify=1 retries=0 &&
	    says "differs: bytes .*, 8192000 to 8192511 of $SG2" &&
	    lands "0-15999 right, 16000 wrong, 16001-16383 right"
}
it "reports what changed on sg" tells

# The medium error occurs only when reading.
unreadable_back()
{
	fresh
	bad 10007 1
	exits 14 "$pardd" if="$source" of="$SG2" bs=512 bpt=64 "$@" &&
	    says "differs: bytes .* of $SG2" && does_not_say 'complete, '
}
it "reports what cannot be read back from sg" unreadable_back verify=1

same_disks()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" && forget &&
	    exits 0 "$pardd" if="$1" of="$2" compare=1 "${@:3}" &&
	    was_not_sent "$HCTL1" "$writes" && was_not_sent "$HCTL2" "$writes" &&
	    was_not_sent "$HCTL2" '35|91'
}
it "compares sg with sg" same_disks "$SG1" "$SG2"
long "compares sg with sd" same_disks "$SG1" "$SD2"
it "compares bsg with sgio" same_disks "$BSG1" "$SD2" oflag=sgio thr=16
other_disks()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" &&
	    printf '%01024d' 1 | dd of="$SD2" bs=512 seek=777 count=2 \
		iflag=fullblock oflag=direct conv=notrunc status=none &&
	    exits 14 "$pardd" if="$SG1" of="$SG2" compare=1 bpt=5 thr=16 &&
	    says 'differs: bytes 397824 to 398847 of' && says '1024 bytes in 1 range'
}
it "reports where sg differs from sg" other_disks

spares()
{
	other_disks && forget &&
	    exits 0 "$pardd" if="$SG1" of="$1" oflag=sparing"${2-}" &&
	    says '^4096 bytes .* copied' && lands "0-16383 right" &&
	    [[ $(sent "$HCTL2" "$writes" | wc -l) = 1 ]] && forget &&
	    exits 0 "$pardd" if="$SG1" of="$1" oflag=sparing"${2-}" &&
	    was_not_sent "$HCTL2" "$writes"
}
it "spares sg" spares "$SG2"
long "spares sd" spares "$SD2"
long "spares a block node with sgio" spares "$SD2" ,sgio
