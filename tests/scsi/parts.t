# shellcheck shell=bash disable=SC2119
# lab: -j 1 -D size=8M,bs=4096 -D size=8M,bs=4096
#
# Partitions of SCSI generic ends: these cannot be read by a descriptor, only by commands.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
type -P sfdisk >/dev/null || { echo '1..0 # SKIP no sfdisk'; exit 0; }
two_disks
qemu_disks 2 || { echo 'Bail out! no QEMU disks'; exit 1; }

gpt_table()
{
	printf '%s\n' 'label: gpt' 'size=1M,name="one"' 'size=2M' 'size=1M'
}
dos_table()
{
	printf '%s\n' 'label: dos' 'size=512K' 'size=4M,type=5' 'size=512K' \
	    'size=512K' 'size=512K' 'size=512K'
}
# table DISK KIND SECTOR: and what lies in the partitions knows its place
table()
{
	local start count
	dd if=/dev/zero of="$1" bs=1M count=8 oflag=direct status=none &&
	    "$2_table" | sfdisk -q --no-reread --no-tell-kernel -w always "$1" || return
	while read -r start count _; do
		"$blocks" make "$1" $((count * $3)) 1 $((start * $3)) || return
	done < <(columns "$1" | grep -v 5$)
	blockdev --flushbufs "$1"
}
# columns DISK: Start, Sectors and type of each partition
columns()
{
	sfdisk -d "$1" | sed -n \
	    's/.* : start= *\([0-9]*\), size= *\([0-9]*\), type=\([^,]*\).*/\1 \2 \3/p'
}
route()
{
	sfdisk -d "$1" | sed -n \
	    "s/^[^ ]*[^0-9 ]\{0,1\}$2 : start= *\([0-9]*\), size= *\([0-9]*\),.*/\1 \2/p"
}

# takes KIND SECTOR SD NODE N... [-- OPERANDS]: as by fdisk's columns, both ways
takes()
{
	local kind=$1 sector=$2 sd=$3 node=$4 n start count parts=()
	shift 4
	while (($# > 0)) && [[ $1 != -- ]]; do
		parts+=("$1")
		shift
	done
	(($# == 0)) || shift
	no_faults
	table "$sd" "$kind" "$sector" || return
	for n in "${parts[@]}"; do
		read -r start count < <(route "$sd" "$n") ||
		    fail "no partition $n by fdisk" || return
		dd if="$sd" bs="$sector" count="$count" skip="$start" \
		    iflag=direct of=want status=none &&
		    exits 0 "$pardd" if="$node" of="got$n" ipart="$n" "$@" &&
		    complete && same want "got$n" || return
	done
	for n in "${parts[@]}"; do
		read -r start count < <(route "$sd" "$n")
		dd if="$sd" of=want bs=1M iflag=direct status=none &&
		    "$blocks" make new $((count * sector)) 7 &&
		    dd if=new of=want bs="$sector" seek="$start" conv=notrunc \
		    status=none &&
		    exits 0 "$pardd" if=new of="$node" opart="$n" \
		    "${@/#iflag=/oflag=}" && complete &&
		    blockdev --flushbufs "$sd" && same want "$sd" || return
	done
}
it "takes the partitions of a GPT, sg" takes gpt 512 "$SD1" "$SG1" 1 2 3
it "takes those of an MBR, with logical ones far out, sg" \
    takes dos 512 "$SD1" "$SG1" 1 3 4 5 6
long "takes the partitions of a GPT, bsg" takes gpt 512 "$SD1" "$BSG1" 1 2 3
long "takes the partitions of a GPT, sgio" \
    takes gpt 512 "$SD1" "$SD1" 1 2 3 -- iflag=sgio
long "takes the partitions of a GPT, mmap" \
    takes gpt 512 "$SD1" "$SG1" 1 2 3 -- iflag=mmap
long "takes the partitions of a GPT, dio" \
    takes gpt 512 "$SD1" "$SG1" 1 2 3 -- iflag=dio
long "takes the partitions of a GPT, sd" takes gpt 512 "$SD1" "$SD1" 1 2 3
it "takes the partitions of a GPT of 4096, sg" \
    takes gpt 4096 "$QSD1" "$QSG1" 1 2 3
long "takes those of an MBR of 4096, sg" takes dos 4096 "$QSD1" "$QSG1" 1 3 4 5 6

looks()
{
	no_faults
	table "$SD2" gpt 512 && mke2fs -q -F -t ext4 -L 'my data' fs 2M &&
	    exits 0 "$pardd" if=fs of="$SG2" opart=2 || return
	forget
	exits 0 "$pardd" -dv if=/dev/zero of="$SG2" "$@" &&
	    grep -qx 'overwrites=ext4 "my data" at byte 2098232' out ||
	    fail "$(cat out err)" || return
	was_not_sent "$HCTL2" "$writes"
}
if type -P mke2fs >/dev/null; then
	it "lists what would be overwritten, and writes nothing, sg" looks
	it "lists it within a partition" looks opart=2
	long "lists it with mmap" looks oflag=mmap
fi

few_commands()
{
	local n
	fresh
	exits 0 "$pardd" -dv if=/dev/zero of="$1" || return
	n=$(sent "$HCTL2" "$reads" | wc -l)
	((n > 0 && n <= 6)) || fail "$n reads"
}
it "needs few commands to see that there is nothing, sg" few_commands "$SG2"
it "... bsg" few_commands "$BSG2"

refuses_part()
{
	no_faults
	table "$SD2" gpt 512 && table "$SD1" gpt 512 || return
	forget
	refused "there is no such partition on $SG2; it has 1 \(bytes 1048576 to 2097151\), 2" \
	    if="$SG1" of="$SG2" opart=7 &&
	    refused "partition 1 of $SG2 has room for 1048576" \
	    if="$SG1" ipart=2 of="$SG2" opart=1 &&
	    was_not_sent "$HCTL2" "$writes"
}
it "refuses a partition that is not there, and one too small, sg" refuses_part

notes()
{
	no_faults
	table "$SD2" gpt 512 && exits 0 "$pardd" if=/dev/zero of="$SG2" seek=2049 \
	    count=7 && says "note: .*$SG2, begins 512 bytes into partition 1" &&
	    complete
}
it "notes a range within a partition, sg" notes

unreadable()
{
	no_faults
	table "$SD1" gpt 512 && bad 0 1
	run "$pardd" if="$SG1" of=got ipart=1
	no_faults
	[[ $status = 3 ]] && one_line 'reading its partition table' &&
	    [[ ! -e got ]]
}
it "says so when the table cannot be read, sg" unreadable

clones()
{
	no_faults
	table "$SD1" gpt 512 && exits 0 "$pardd" if="$SG1" of="$QSG2" bs=4096 &&
	    says 'table counts in sectors of 512 bytes' && complete
}
it "tells of sectors of another size, sg" clones

lists_disks()
{
	local node sg bsg name
	no_faults
	exits 0 "$pardd" --list || return
	for name in SD1:SG1:BSG1 QSD1:QSG1:QBSG1; do
		IFS=: read -r node sg bsg <<<"$name"
		listed | grep -Eq "^${!node} +8.4 MB .* ${!sg}, ${!bsg}, sectors of [0-9]+ bytes" ||
		    fail "no line for ${!node} ${!sg} ${!bsg}: $(cat out)" || return
	done
	listed | grep -q "^$QSD1 .* QEMU HARDDISK.* sectors of 4096 bytes" || fail "$(cat out)"
}
it "lists the disks with their SCSI generic nodes" lists_disks
no_block()
{
	echo "$HCTL2" >/sys/bus/scsi/drivers/sd/unbind || return
	exits 0 "$pardd" --list && ! grep "^$SD2 " out || return
	listed | grep -Eq "^$SG2 +- .* Linux scsi_debug.* $BSG2" ||
	    fail "$(cat out)"
}
it "lists a disk that has no block node" no_block
