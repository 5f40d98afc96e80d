# shellcheck shell=bash disable=SC2016,SC2119,SC2154
# lab: -j 1 -D size=32M,bus=nvme,serial=ZNS,zones=8M,zcap=6M -D size=32M,bus=nvme,serial=ZNS,zones=8M,zcap=6M -D size=32M,bus=nvme,serial=ZNS,zones=4M -D size=16M,bus=nvme,serial=ZNS,zones=4M,badwrite=10000 -D size=64M,bus=nvme,serial=ZNS,zones=4M,zcap=3M,zopen=3,zactive=4 -D size=64M,bus=nvme,serial=ZNS,zones=4M,zcap=3M,zopen=3,zactive=4
# Zoned disks as targets: each zone is written in order, or not at all.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -aq nvme null_blk || { echo 'Bail out! no modules'; exit 1; }
wait_for 20 test -b /dev/nvme0n6 || { echo 'Bail out! no NVMe disks'; exit 1; }
a=/dev/nvme0n1 b=/dev/nvme0n2 c=/dev/nvme0n3 bad=/dev/nvme0n4 few=/dev/nvme0n5 same=/dev/nvme0n6

# Two zones of 8 MiB that hold 6 MiB each, the second in part; the same with
# something where the first has no blocks; 32 MiB.
"$blocks" make /tmp/large 32M 1
{ head -c 6M /tmp/large; head -c 2M /dev/zero; tail -c 3M /tmp/large; } >/tmp/fits
{ head -c 7M /tmp/large; head -c 1M /dev/zero; tail -c 3M /tmp/large; } >/tmp/not

# is_on FILE DISK: all of it, on the medium
is_on()
{
	dd if="$2" bs=1M count=$((($(stat -c %s "$1") + 1048575) >> 20)) iflag=direct status=none |
	    cmp -n "$(stat -c %s "$1")" - "$1"
}

# interrupted_by SIGNAL FILE DISK OPERANDS...: once that much is on the disk
interrupted_by()
{
	local signal=$1 file=$2 disk=$3 pid
	shift 3
	"$tools/ends" how "$pardd" "$@" 2>err &
	until_true 60 is_on "$file" "$disk" 2>/dev/null && read -r _ pid <how && kill -s "$signal" "$pid" || return
	wait $!
	ended signal "$(kill -l "$signal")"
}

tells()
{
	exits 0 "$pardd" -l && listed | grep -q "^$a .* zoned (host-managed)" &&
	    exits 0 "$pardd" -l --json && grep -q '"node": *"/dev/nvme0n1".*"zoned": *"host-managed"' out &&
	    exits 0 "$pardd" if=/tmp/fits of="$a" -dv && grep -qx 'target_zoned=host-managed' out &&
	    grep -qx 'engine=threads (a zoned disk is written in order)' out && grep -qx workers=2 out && grep -qx zones=16 out &&
	    exits 0 "$pardd" if="$a" of=dst -d && grep -q 'zoned (host-managed)' out
}
it "lists them, and says so in the plan" tells
writes_once()
{
	exits 0 "$pardd" if=/tmp/fits of="$a" verify=1 && complete && is_on /tmp/fits "$a" &&
	    refused 'the zone at byte 0 holds data.*oflag=reset' if=/tmp/large of="$a" count=8 &&
	    refused 'the zone at byte 0 holds data' if=/tmp/large of="$a" count=8 -d && is_on /tmp/fits "$a"
}
it "writes empty zones in order, and no zone that holds data" writes_once
it "continues where a zone is to be written next" eval 'head -c 11M /tmp/large | tail -c 1M >part &&
    exits 0 "$pardd" if=part of="$a" bs=1M seek=11 && complete && is_on /tmp/fits "$a" &&
    refused "can be written only at byte 12582912" if=part of="$a" bs=1M seek=13'
resets()
{
	exits 0 "$pardd" if=/tmp/large of="$a" bs=1M count=3 oflag=reset && complete &&
	    head -c 3M /tmp/large >three && is_on three "$a" &&
	    dd if="$a" bs=1M skip=8 count=3 iflag=direct status=none | cmp - <(tail -c 3M /tmp/large) &&
	    refused 'a reset would lose what lies before' if=three of="$a" bs=1M seek=1 oflag=reset
}
it "resets the zones of the range if asked to, and no others" resets
no_room()
{
	exits 78 "$pardd" if=/tmp/not of="$a" oflag=reset && says 'the zone has no blocks from there on, but the data is not zeros' &&
	    says 'NOT complete'
}
it "is not complete if data other than zeros would go where a zone has no blocks" no_room
it "refuses map=, and says why" refused 'map= cannot be used, because a rescue goes back' \
    if=/tmp/fits of="$b" map=m
it "refuses oflag=sparing" refused 'oflag=sparing cannot be used' if=/tmp/fits of="$b" oflag=sparing
stopped()
{
	head -c 1M /tmp/fits >part && interrupted_by INT part "$b" if=/tmp/fits of="$b" oflag=reset rate=4M &&
	    says 'NOT complete: stopped by SIGINT' && does_not_say 'complete, flushed' && does_not_say oflag=sparing
}
it "gives no useless advice after a copy that was stopped" stopped
gaps()
{
	truncate -s 16M fs && mke2fs -q fs && usage "used= leaves out what is free, and $b is written in order" \
	    if=fs of="$b" used=only
}
it "refuses used=only, which would leave gaps" gaps
it "knows oflag=reset for zoned disks only" usage 'reset is for zoned disks' if=/tmp/fits of=dst oflag=reset
many()
{
	exits 0 "$pardd" if=/tmp/fits of="$b" oflag=reset thr=16 bpt=3 && complete && is_on /tmp/fits "$b"
}
it "has one writer if transfers do not divide a zone, whatever thr= says" many
it "takes a pipe" eval 'exits 0 "$pardd" of="$b" oflag=reset </tmp/fits && complete && is_on /tmp/fits "$b" &&
    cat /tmp/fits | exits 0 "$pardd" of="$b" oflag=reset && complete && is_on /tmp/fits "$b"'

# ------------------------------------------------- several zones at a time

# All of it fits: 16 zones of 4 MiB, which hold 3 MiB each.
for ((i = 1; i <= 16; i++)); do
	"$blocks" make part 3M "$i" && cat part && head -c 1M /dev/zero
done >/tmp/wide

# states DISK STATE: how many zones have it: 2 open, 4 closed, 14 full
states()
{
	blkzone report "$1" | grep -c "zcond: *$2("
}
# at_once ZONES WORKERS OPERANDS...: so the plan has it
at_once()
{
	exits 0 "$pardd" -dv "${@:3}" && grep -qx "zones=$1" out && grep -qx "workers=$2" out && return
	grep -E '^(zones|workers|engine)=' out
	return 1
}
# in_part FILE DISK [ZONE]: each zone, but for that one, has the file up to its write
# pointer, and no more
in_part()
{
	local n=-1 start cap pointer state at
	dd if="$2" of=disk bs=1M iflag=direct status=none
	while read -r start cap pointer state; do
		((++n != ${3--1})) || continue
		[[ $state != 14 ]] || pointer=$cap
		at=$(((start + pointer) * 512))
		cmp -n $((pointer * 512)) -i $((start * 512)) disk "$1" &&
		    cmp -n $(((start << 9) + (4 << 20) - at)) -i $at:0 disk /dev/zero || return
	done < <(blkzone report "$2" | sed -nE \
	    's/.*start: (0x[0-9a-f]+),.* cap (0x[0-9a-f]+), wptr (0x[0-9a-f]+) .*zcond: *([0-9]+).*/\1 \2 \3 \4/p')
}
several()
{
	at_once 3 3 if=/tmp/wide of="$few" &&
	    exits 0 "$pardd" if=/tmp/wide of="$few" verify=1 json=j && complete &&
	    grep -q '"zones": *3' j && is_on /tmp/wide "$few" && [[ $(states "$few" 14) = 16 ]]
}
it "writes as many zones at a time as the disk lets be open" several
others()
{
	for with in verify=stream coe=1 manifest=m "bs=4k bpt=16" "bs=4k count=15k" "bs=1M count=31 seek=1 skip=1"; do
		blkzone reset "$few"
		[[ $with != *seek=1* ]] || exits 0 "$pardd" if=/tmp/wide of="$few" bs=1M count=1 || return
		# shellcheck disable=SC2086
		at_once 3 3 if=/tmp/wide of="$few" $with && exits 0 "$pardd" if=/tmp/wide of="$few" $with &&
		    complete || return
		in_part /tmp/wide "$few" && is_on <(head -c 32M /tmp/wide) "$few" || return
	done
}
it "does so whatever else is asked for, and from within a zone to within another" others
order()
{
	local queue=/sys/block/${few##*/}/queue
	blkzone reset "$few" && at_once 1 1 if=/tmp/wide of="$few" hash=md5 &&
	    at_once 1 1 if=/tmp/wide of="$few" bs=4k bpt=3 && at_once 3 2 if=/tmp/wide of="$few" count=8M bs=1 thr=16 &&
	    at_once 3 2 if=/tmp/wide of="$few" thr=2 && at_once 3 3 if="$c" of="$few" &&
	    echo 1 >"$queue/rotational" && at_once 1 1 if=/tmp/wide of="$few" && echo 0 >"$queue/rotational" &&
	    echo 1 >"/sys/block/${c##*/}/queue/rotational" && at_once 1 1 if="$c" of="$few" &&
	    exits 0 "$pardd" if=/tmp/wide of="$few" hash=md5 && complete && is_on /tmp/wide "$few"
}
it "writes one at a time if order matters, and if a disk rotates" order
put()
{
	exits 0 "$pardd" if=/tmp/wide of="$few" bs=1M count="$2" skip="$1" seek="$1"
}
counts()
{
	blkzone reset "$few" && put 0 1 && at_once 2 2 if=/tmp/wide of="$few" bs=1M skip=4 seek=4 &&
	    at_once 3 3 if=/tmp/wide of="$few" bs=1M skip=1 seek=1 &&
	    at_once 3 3 if=/tmp/wide of="$few" oflag=reset && put 4 1 && put 8 1 &&
	    at_once 1 1 if=/tmp/wide of="$few" bs=1M skip=12 seek=12 count=16 && put 12 16 && in_part /tmp/wide "$few" &&
	    put 32 1 && refused 'would have more zones open or written in part' \
	    if=/tmp/wide of="$few" bs=1M skip=36 seek=36 && put 33 2 && put 36 12 && in_part /tmp/wide "$few"
}
it "counts zones that are partly written already, and does not write to a disk that allows no more" counts
stopped_midway()
{
	blkzone reset "$few" && "$tools/ends" how "$pardd" if=/tmp/wide of="$few" rate=8M 2>err &
	until_true 60 eval '(($(states "$few" 2) == 3))' && read -r _ pid <how && kill -s INT "$pid" || return
	wait $!
	ended signal 2 && says 'NOT complete: stopped by SIGINT' && in_part /tmp/wide "$few" && (($(states "$few" 14) < 15))
}
it "stops in several zones at a time, each written up to its pointer" stopped_midway
# Another path to the disk, or another program, may do that.
reset_midway()
{
	local pid
	blkzone reset "$few" && { "$pardd" if=/tmp/wide of="$few" bs=1M count=16 rate=5M thr=1 2>err & } && pid=$! &&
	    until_true 60 eval '(($(states "$few" 14) >= 1))' && blkzone reset --force -o 0 -c 1 "$few" || return
	wait "$pid"
	[[ $? = 15 ]] && says "NOT complete: $few: the zone at byte 0 was reset during the copy"
}
it "is not complete if a zone that had been written was reset" reset_midway
fails()
{
	within 60 exits 55 timeout 50 "$pardd" if=/tmp/large of="$bad" count=16M bs=1 &&
	    says "$bad: writing .* Input/output error" && says 'NOT complete' && in_part /tmp/large "$bad" 1
}
it "ends at a write error in one zone, each of the others written up to its pointer" fails
pointers()
{
	blkzone report "$1" | grep -o 'wptr [^ ]*' >pointers."$2"
}
like()
{
	blkzone reset "$few" && put 0 2 && put 4 4 && put 12 1 && put 16 32 && at_once 1 1 if="$few" of="$same" &&
	    exits 0 "$pardd" if="$few" of="$same" verify=1 && complete && cmp "$few" "$same" &&
	    pointers "$few" 1 && pointers "$same" 2 && cmp pointers.1 pointers.2 &&
	    blkzone reset "$few" && put 0 48 && put 48 2 && at_once 3 3 if="$few" of="$same" oflag=reset thr=16 &&
	    exits 0 "$pardd" if="$few" of="$same" oflag=reset && complete && cmp "$few" "$same" &&
	    pointers "$few" 1 && pointers "$same" 2 && cmp pointers.1 pointers.2
}
it "copies the write pointers of a zoned source, within the limit of partly written zones" like
unlike()
{
	blkzone reset "$few" && put 16 4 && put 0 1 && put 4 1 && put 8 1 && put 12 1 &&
	    refused 'would have more zones open or written in part' if="$few" of="$same" oflag=reset
}
it "refuses a source with more partly written zones than the disk allows" unlike

# -------------------------------------------------------- zoned to zoned

clone()
{
	exits 0 "$pardd" if=/tmp/fits of="$a" oflag=reset && exits 0 "$pardd" if="$a" of="$b" oflag=reset verify=1 &&
	    complete && cmp "$a" "$b" &&
	    refused 'can be written only at byte 11534336' if=/tmp/fits of="$b" bs=1M seek=12 count=1 &&
	    exits 0 "$pardd" if=/tmp/fits of="$b" bs=1M seek=16 count=1 && complete
}
it "writes no further than the source is written, so that the pointers are equal" clone
it "refuses zones of another size" refused 'write pointers cannot become equal' if="$a" of="$c" oflag=reset
it "reads a zoned disk onto one that is not zoned" eval 'exits 0 "$pardd" if="$a" of=dst && complete && cmp -n 11M dst /tmp/fits'
it "refuses NVMe commands to a zoned disk" refused 'not by commands' if=/tmp/fits of="$a" oflag=nvme

# ---------------------------------------------------- conventional zones, SMR

# Zones of 4 MiB, the first two conventional.
null=/sys/kernel/config/nullb/zoned
make_zoned()
{
	mount -t configfs config /sys/kernel/config 2>/dev/null
	mkdir "$null" && echo 4096 >"$null/blocksize" && echo 32 >"$null/size" &&
	    echo 1 >"$null/memory_backed" && echo 1 >"$null/zoned" &&
	    echo 4 >"$null/zone_size" && echo 2 >"$null/zone_nr_conv" &&
	    echo 1 >"$null/power" && zoned=/dev/zoned &&
	    wait_for 10 test -b "$zoned"
}
conventional()
{
	head -c 14M /tmp/large >img && exits 0 "$pardd" if=img of="$1" verify=1 && complete && is_on img "$1" &&
	    exits 0 "$pardd" if=img of="$1" count=$((4 << 20))B && complete &&
	    refused 'holds data' if=img of="$1" && exits 0 "$pardd" if=img of="$1" oflag=reset && complete &&
	    is_on img "$1" && refused 'within a logical block of 4096' if=img of="$1" bs=512 seek=8193 count=8
}
if able make_zoned "no null_blk with zones"; then
	it "writes conventional zones like any disk" conventional "$zoned"
fi
smr()
{
	head -c 14M /tmp/large >img && exits 0 "$pardd" if=img of="$SD1" && complete && is_on img "$SD1" &&
	    refused 'holds data' if=img of="$SD1" && refused 'zoned disk' if=img of="$SG1" &&
	    refused 'zoned disk' if=img of="$BSG1" -d && refused 'zoned disk' if=img of="$SD1" oflag=sgio &&
	    exits 0 "$pardd" if="$SG1" of=dst bs=1M count=14 && complete && cmp dst img
}
given 'sdebug zbc=host-managed zone_size_mb=4 dev_size_mb=32 zone_nr_conv=1' "no scsi_debug with zones" \
    it "writes a SCSI disk by its block node, and reads it by any node" smr
