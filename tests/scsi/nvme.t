# shellcheck shell=bash disable=SC2016,SC2154
# lab: -D size=16M,bus=nvme,serial=BAD,bad=2048,badwrite=4096,badonce=8192 -D size=8M,bus=nvme,serial=ONE -D size=8M,bus=nvme,serial=ONE,bs=4096 -D size=8M,bus=nvme,serial=PI,ms=8,pi=1 -D size=8M,bus=nvme,serial=PI,ms=8,mset=1 -D size=8M,bus=nvme,serial=FLUSH,badflush -D size=8M,bus=nvme,serial=FLUSH,badflush -D size=32M,bus=nvme,serial=ZNS,zones=8M,zcap=6M
# NVMe disks by their own commands.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -a nvme ext4 || { echo 'Bail out! no modules'; exit 1; }

# The namespace of the controller with this serial number, as in 0n1; controllers
# may be numbered in any order.
namespace()
{
	local dir
	for dir in /sys/class/nvme/nvme*; do
		read -r serial <"$dir/serial"
		[[ $serial != "$1" ]] || { echo "${dir##*/nvme}n$2"; return; }
	done
	return 1
}
all_there()
{
	local at
	for at in 'BAD 1' 'ONE 2' 'PI 2' 'FLUSH 2' 'ZNS 1'; do
		# shellcheck disable=SC2086 # two words
		at=$(namespace $at) && [[ -c /dev/ng$at && -b /dev/nvme$at ]] || return
	done
}
until_true 30 all_there || { echo 'Bail out! not all disks came'; exit 1; }
bad=$(namespace BAD 1) a=$(namespace ONE 1) b=$(namespace ONE 2)
pi=$(namespace PI 1) inline=$(namespace PI 2) zns=$(namespace ZNS 1)
"$blocks" make /tmp/src 8M 1
"$blocks" make /tmp/other 8M 2
echo 1 >"$trace/events/nvme/nvme_setup_cmd/enable"

# is_on FILE NODE: all of it, on the medium
is_on()
{
	dd if="/dev/nvme$2" bs=1M count=8 iflag=direct status=none | cmp - "$1"
}
# put FILE NODE: there, by the block node
put()
{
	dd if="$1" of="/dev/nvme$2" bs=1M oflag=direct status=none
}
# sent_to NODE COMMAND: those commands, with what they say
sent_to()
{
	grep -E "disk=nvme$1,.*nvme_cmd_$2 " "$trace/trace"
}

copies()
{
	put /tmp/other "$b" && put /tmp/src "$a" && forget &&
	    exits 0 "$pardd" "$@" && complete && is_on /tmp/src "$b"
}
it "copies ng to ng" copies if="/dev/ng$a" of="/dev/ng$b"
it "... in threads" copies if="/dev/ng$a" of="/dev/ng$b" thr=4
it "... and verifies it with FUA" eval 'copies if="/dev/ng$a" of="/dev/ng$b" verify=1 &&
    sent_to "$b" read | grep -q ctrl=0x4000'
it "writes with FUA where asked" eval 'copies if="/dev/ng$a" of="/dev/ng$b" oflag=fua &&
    sent_to "$b" write | grep -q ctrl=0x4000 && ! sent_to "$b" write | grep -v ctrl=0x4000'
for flag in excl flock; do
	it "locks a target with oflag=$flag" copies if="/dev/ng$a" of="/dev/ng$b" oflag=$flag
done
it "has no iflag=excl" usage 'NVMe nodes do not support iflag=excl; the block device does' \
    if="/dev/ng$a" of=dst iflag=excl
locked()
{
	exits 61 flock "/dev/ng$a" "$pardd" if="/dev/ng$a" of=dst iflag=flock && one_line 'flock: Resource temporarily' &&
	    copies if="/dev/ng$a" of="/dev/ng$b" iflag=flock
}
it "waits for nobody who has locked the source, with iflag=flock" locked
it "copies block nodes by their ng nodes" copies if="/dev/nvme$a" iflag=nvme of="/dev/nvme$b" oflag=nvme
it "... a file to one" copies if=/tmp/src of="/dev/ng$b"
it "... a block node to one" copies if="/dev/nvme$a" of="/dev/ng$b"
it "... one to a block node" copies if="/dev/ng$a" of="/dev/nvme$b"
no_ng()
{
	mv "/dev/ng$a" "/dev/ng$b" /run/ && undo mv "/run/ng$a" "/run/ng$b" /dev/ &&
	    copies if="/dev/nvme$a" iflag=nvme of="/dev/nvme$b" oflag=nvme &&
	    usage 'no ng node' if="/dev/nvme$a" iflag=nvme of="/dev/nvme$b" engine=async
}
it "... by their own ioctl where there are none" no_ng
parts()
{
	put /tmp/src "$a" && exits 0 "$pardd" if="/dev/ng$a" of=dst bs=512 skip=3 count=1001 &&
	    complete && cmp dst <(tail -c +1537 /tmp/src | head -c 512512)
}
it "copies a range" parts
tells()
{
	exits 0 "$pardd" if="/dev/ng$a" of="/dev/nvme$b" oflag=nvme -dv && grep -qx 'source_kind=NVMe disk' out &&
	    grep -qx 'target_kind=NVMe disk' out && grep -qx 'target_block=4096' out &&
	    grep -qx "source_disk=nvme$a" out && grep -qx 'engine=async.*' out &&
	    exits 0 "$pardd" if="/dev/ng$a" of="/dev/ng$b" json=lines count=8 &&
	    grep -q '"kind": *"nvme_disk"' lines
}
it "says in the plan what they are" tells
lists()
{
	exits 0 "$pardd" -l && listed | grep -q "^/dev/nvme$a .* /dev/ng$a," &&
	    exits 0 "$pardd" -l --json && grep -qE "\"node\": *\"/dev/nvme$a\".*\"ng\": *\"/dev/ng$a\"" out
}
it "lists ng nodes beside their disks" lists

# reads_of LBA: commands that had that block in them
reads_of()
{
	sent_to "$bad" read | sed 's/.*slba=\([0-9]*\), len=\([0-9]*\).*/\1 \2/' |
	    awk -v at="$1" '$1 <= at && at <= $1 + $2' | wc -l
}
"$blocks" make /tmp/large 16M 3
few()
{
	local n
	n=$(reads_of 2048)
	((n >= 2 && n <= 4)) || fail "$n commands read the bad block"
}
stops_there()
{
	forget && exits 3 "$pardd" if="/dev/ng$bad" of=dst "$@" && says 'unrecovered read error .NVMe status 2/81h' &&
	    [[ $(stat -c %s dst) -ge 1048576 ]] && few
}
it "stops at a bad block, which the disk reads four times at most" stops_there
it "... in threads" stops_there thr=4
passes_over()
{
	forget && exits 100 "$pardd" if="/dev/ng$bad" of=dst "$@" && few &&
	    says 'NOT complete: 1 unreadable block in 1 range' &&
	    cmp <(head -c 1M dst) <(dd if="/dev/nvme$bad" bs=1M count=1 iflag=direct status=none) &&
	    cmp -n 512 -i 1M:0 dst /dev/zero
}
it "passes over one with coe=1" passes_over coe=1
it "... in threads" passes_over coe=1 thr=4
rescues()
{
	forget && exits 100 "$pardd" if="/dev/ng$bad" of=dst map=m && few &&
	    grep -q '^0x00100000  0x00000200  -' m && [[ $(grep -c ' -$' m) = 1 ]] &&
	    sent_to "$bad" read | grep -q ctrl=0x8000
}
it "finds it with map=, with limited retry at first" rescues
it "goes on with its map" eval 'rescues && exits 100 "$pardd" if="/dev/ng$bad" of=dst map=m &&
    exits 101 "$pardd" if="/dev/ng$a" of=dst map=m'
# faulty RULE STATUS OPERANDS...: see nvmefault.c
faulty()
{
	rm -f hits
	NVMEFAULT=$1 NVMEFAULT_LOG=$PWD/hits LD_PRELOAD=/job/nvmefault.so exits "$2" "$pardd" thr=2 "${@:3}"
}
# A block of which each read takes all of its time costs that once for each of the
# four reads that isolate it, or twice in a plain copy.
slow_block()
{
	faulty "op=2 at=2048 sleep=1000 $1" 100 if="/dev/ng$a" of=dst timeout=1 "${@:2}" &&
	    says '(1 unreadable block in 1 range|512 bytes could not be read)' &&
	    (($(wc -l <hits) <= 4)) && cmp -n 1M dst /tmp/src && cmp -i 1049088 dst /tmp/src
}
it "asks a block that takes all its time no more than four times with coe=1" eval '
    put /tmp/src "$a" && slow_block status=7 coe=1'
it "... where the kernel cancels the command" slow_block errno=4 coe=1
it "... with map=" slow_block status=7 map=m
it "... and twice in a plain copy, which it ends" eval '
    faulty "op=2 at=2048 sleep=1000 status=7" 11 if="/dev/ng$a" of=dst timeout=1 &&
    says "aborted as requested, after the timeout" && [[ $(wc -l <hits) = 2 ]]'
it "retries a write after a data transfer error, if the format is the same" eval '
    put /tmp/other "$b" && faulty "op=1 at=1024 times=1 status=4" 0 if=/tmp/src of="/dev/ng$b" && complete &&
    [[ -s hits ]] && is_on /tmp/src "$b"'
write_fault()
{
	exits 3 "$pardd" if=/tmp/src of="/dev/ng$bad" "$@" && says 'NOT complete: .*write fault .NVMe status 2/80h'
}
it "stops if a block cannot be written" write_fault
it "... in threads" write_fault thr=4
no_flush()
{
	exits 103 "$pardd" if=/tmp/src of="/dev/ng$(namespace FLUSH "$1")" "${@:2}" && says 'Flush failed: write fault' &&
	    ! grep 'pardd: complete' err
}
it "is not complete after a flush that failed once" no_flush 1
it "... with map=" no_flush 2 map=m

zeroes()
{
	put /tmp/src "$b" && forget && exits 0 "$pardd" if=/dev/zero bs=4096 count=512 of="/dev/ng$b" \
	    oflag="$1" verify=1 && complete && cmp -n 2M "/dev/nvme$b" /dev/zero &&
	    cmp -i 2M "/dev/nvme$b" /tmp/src && sent_to "$b" write_zeroes >zeroes && ! sent_to "$b" write
}
it "zeroes by Write Zeroes" zeroes sparse
it "... and with trim" zeroes trim
it "writes zeros if Write Zeroes fails without a reason" eval '
    put /tmp/src "$b" && faulty "op=8 status=6" 0 if=/dev/zero bs=4096 count=512 of="/dev/ng$b" oflag=sparse &&
    complete && [[ -s hits ]] && cmp -n 2M "/dev/nvme$b" /dev/zero && cmp -i 2M "/dev/nvme$b" /tmp/src'

protection()
{
	head -c 8M /tmp/src | head -c "$(blockdev --getsize64 "/dev/nvme$pi")" >fit &&
	    exits 0 "$pardd" if=fit of="/dev/ng$pi" verify=1 && complete &&
	    cmp fit "/dev/nvme$pi" && exits 0 "$pardd" if="/dev/ng$pi" of=dst && cmp fit dst &&
	    sent_to "$pi" read | grep -q ctrl=0x3400
}
it "has the disk check its protection information" protection
it "refuses metadata that it would lose" refused '8 bytes of metadata each, in line' \
    if=/tmp/src of="/dev/ng$inline"
it "... of a source" refused '8 bytes of metadata each, in line' if="/dev/ng$inline" of=copy

# --------------------------------------------------------------- other users

mounted()
{
	local at=$PWD/at
	mke2fs -q "/dev/nvme$a" && mkdir at && mount "/dev/nvme$a" at && undo umount "$at" &&
	    refused 'is mounted on' if=/tmp/src of="/dev/ng$a" &&
	    refused 'is mounted on' if=/tmp/src of="/dev/nvme$a" oflag=nvme
}
it "refuses a disk whose block node is mounted" mounted
claimed()
{
	"$tools/ends" how "$pardd" if=/dev/zero of="/dev/ng$a" rate=100k 2>err &
	until_true 10 sent_to "$a" write >/dev/null && refused 'in use' if=/tmp/src of="/dev/nvme$a"
	local held=$?
	read -r _ pid <how
	kill "$pid"
	wait
	return $held
}
it "claims the block node" eval 'forget; claimed'
it "sees that both are one disk" refused 'overlaps' if="/dev/ng$a" of="/dev/nvme$a"
fresh_cache()
{
	put /tmp/other "$a" && cmp /tmp/other "/dev/nvme$a" && exec 5<"/dev/nvme$a" &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/ng$a" && cmp /tmp/src "/dev/nvme$a" &&
	    dd if=/tmp/other of="/dev/nvme$a" bs=1M conv=notrunc status=none &&
	    exits 0 "$pardd" if="/dev/ng$a" of=dst && cmp /tmp/other dst
}
it "leaves nothing old in the page cache, and reads what is in it" fresh_cache
named()
{
	local wwn
	wwn=$(<"/sys/block/nvme$a/wwid")
	refused 'are both called that' if=/tmp/src of="/dev/ng$a" oserial=ONE &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/ng$a" oserial="$wwn" &&
	    refused 'not the disk' if=/tmp/src of="/dev/ng$b" oserial="$wwn"
}
it "knows them by their WWN" named
it "does not take a controller for a disk" refused 'an NVMe controller' if=/tmp/src of="/dev/nvme${a%n*}"
it "sends NVMe commands to no other ends" usage 'nvme is for NVMe disks' if=/tmp/src of=dst oflag=nvme
partition()
{
	"$tools/part" gpt 512 "/dev/nvme$a" 2048:2048 >/dev/null 2>&1 || printf '2048,2048\n' | sfdisk -q "/dev/nvme$a" || return
	blockdev --rereadpt "/dev/nvme$a" && until_true 5 test -b "/dev/nvme${a}p1" &&
	    refused 'is a partition' if=/tmp/src of="/dev/nvme${a}p1" oflag=nvme count=1 &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/ng$a" opart=1 count=100 && complete &&
	    cmp -n 51200 /tmp/src "/dev/nvme${a}p1"
	local is=$?
	dd if=/dev/zero of="/dev/nvme$a" bs=1M count=8 status=none
	blockdev --rereadpt "/dev/nvme$a"
	return $is
}
it "takes a partition of the disk, not its node" partition
power()
{
	LD_PRELOAD=/job/powered.so exits 103 "$pardd" if=/tmp/src of="/dev/ng$a" &&
	    says 'it lost power during the copy'
}
it "is not complete when the power of the target was off" power
formatted()
{
	LD_PRELOAD=/job/powered.so FORMAT=1 exits 69 "$pardd" if="/dev/ng$a" of=dst && says 'was reformatted'
}
it "is not complete when the source was formatted meanwhile" formatted
removed()
{
	faulty "admin op=6 cns=0 from=2 status=400b" 69 "$@" && says 'its namespace was removed'
}
it "... or its namespace removed" removed if="/dev/ng$a" of=dst
it "... of a target" removed if=/tmp/src of="/dev/ng$b"
# reformats COMMAND: that has been sent to disk b, which then gets blocks of 512 bytes
reformats()
{
	until_true 20 sent_to "$b" "$1" >/dev/null && undo nvmeformat "/dev/ng$b" 4 && nvmeformat "/dev/ng$b" 0
}
# The copy waits at a pipe meanwhile.  ends_anew PID: not as if nothing was
ends_anew()
{
	if wait "$1"; then
		fail "status 0: $(<err)"
	else
		says "NOT complete: .*$2"
	fi
}
target_anew()
{
	put /tmp/other "$b" && forget && mkfifo pipe || return
	"$pardd" if=- of="$1" <pipe 2>err &
	exec 7>pipe
	head -c 4M /tmp/src >&7 && reformats write && { tail -c +4194305 /tmp/src >&7; exec 7>&-; }
	ends_anew $! "$2"
}
source_anew()
{
	put /tmp/src "$b" && forget && mkfifo pipe || return
	"$pardd" if="/dev/ng$b" of=- >pipe 2>err &
	exec 7<pipe
	head -c 1M >/dev/null <&7 && reformats read && { cat >/dev/null <&7; exec 7<&-; }
	ends_anew $! 'was reformatted'
}
it "... where its blocks have another size then" source_anew
it "... of a target" target_anew "/dev/ng$b" 'was reformatted'
it "... by its block node" target_anew "/dev/nvme$b" ''

# ------------------------------------------------------------------- zones

it "reads a zoned namespace" eval 'exits 0 "$pardd" if="/dev/ng$zns" of=dst && complete'
it "does not write one by its ng node" refused 'zoned' if=/tmp/src of="/dev/ng$zns"

# ----------------------------------------------------- last: disks that vanish

# away NODE: its controller is pulled out
away()
{
	echo 1 >"/sys/class/nvme/nvme${1%n*}/device/remove"
}
source_away()
{
	put /tmp/src "$b" && forget
	{ until_true 20 sent_to "$b" read && away "$b" && sleep 1 && echo 1 >/sys/bus/pci/rescan; } >/dev/null 2>&1 &
	exits 0 "$pardd" if="/dev/ng$b" of=dst map=m rate=2M wait=60 && complete && cmp dst /tmp/src &&
	    says 'it is back as /dev/ng'
}
it "waits for a source that has vanished" source_away
target_away()
{
	local at
	at=$(namespace FLUSH 1)
	forget
	{ until_true 20 sent_to "$at" write && away "$at"; } >/dev/null 2>&1 &
	run "$pardd" if=/tmp/src of="/dev/ng$at" rate=2M
	((status == 69 || status == 56)) || fail "status $status: $(<err)" || return
	says 'NOT complete: .*the device has gone'
}
it "is not complete when its target vanishes" target_away
