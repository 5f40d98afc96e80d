# shellcheck shell=bash disable=SC2015,SC2016,SC2119
# Zeros on SCSI disks: made with WRITE SAME if the disk says that it has it, unmapped if
# blocks then read as zeros, otherwise written.  The target is full of data before.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh

image=/tmp/image

# An image with data here and there, and zeros between.
make_image()
{
	[[ -e $image ]] && return
	head -c 8M /dev/zero >$image &&
	    "$blocks" make $image 70000 1 0 &&
	    "$blocks" make $image 4096 1 3M &&
	    "$blocks" make $image 1500000 1 5M
}

# disks PARAMETER...: with what they say of themselves
disks()
{
	make_image && two_disks "$@" >/dev/null && fresh
}

# zeroes TARGET OPERANDS...: the image comes to a target full of data
zeroes()
{
	local to=$1
	shift
	exits 0 "$pardd" if=$image of="$to" oflag=sparse"${1:+,$1}" "${@:2}" &&
	    complete && no_faults && blockdev --flushbufs "$SD2" &&
	    cmp $image "$SD2"
}

same='93'		# WRITE SAME (16)
freeing='93 ?[08]8'	# with UNMAP, maybe ANCHOR

written()
{
	disks write_same_length=65535 && zeroes "$SG2" && was_sent "$HCTL2" $same &&
	    was_not_sent "$HCTL2" "$freeing"
}
it "makes zeros by WRITE SAME" written
it "... by a bsg node" eval 'disks && zeroes "$BSG2" &&
    was_sent "$HCTL2" $same'
long "makes them by a block node and SG_IO" eval 'disks && zeroes "$SD2" sgio &&
    was_sent "$HCTL2" $same'
long "makes them with mapped buffers" eval 'disks && zeroes "$SG2" mmap &&
    was_sent "$HCTL2" $same'
it "... with 16 workers and small pieces" eval \
    'disks && zeroes "$SG2" "" thr=16 bpt=200'
it "... on blocks of 4096" eval \
    'disks sector_size=4096 && zeroes "$SG2" && was_sent "$HCTL2" $same'
short()
{
	disks write_same_length=100 && zeroes "$SG2" && was_sent "$HCTL2" $same &&
	    ! went_wrong CHECK_CONDITION >/dev/null
}
it "keeps to the length that the disk reports" short
unnamed()
{
	disks write_same_length=0 && zeroes "$SG2" && was_not_sent "$HCTL2" $same
}
it "writes zeros if the disk reports no length" unnamed
forced()
{
	disks && zeroes "$SG2" fua && was_not_sent "$HCTL2" $same
}
long "writes them with fua, which WRITE SAME does not have" forced
frees()
{
	disks lbpws=1 lbprz=1 && zeroes "$SG2" trim && was_sent "$HCTL2" "$freeing"
}
it "frees them with oflag=trim if they then read as zeros" frees
stale()
{
	disks lbpws=1 lbprz="$1" && zeroes "$SG2" trim &&
	    was_not_sent "$HCTL2" "$freeing"
}
it "frees nothing if freed blocks keep their contents" stale 0
long "frees nothing where it reads as something else" stale 2
it "frees nothing without oflag=trim" eval \
    'disks lbpws=1 lbprz=1 && zeroes "$SG2" && was_not_sent "$HCTL2" "$freeing"'

# The disk reports more than it then accepts.
takes_less()
{
	disks write_same_length=65535 || return
	{ sleep 1; knob write_same_length 1; cat $image; } |
	    exits 0 "$pardd" of="$SG2" bs=512 conv=sparse && complete &&
	    went_wrong CHECK_CONDITION && was_sent "$HCTL2" $same && cmp $image "$SD2"
}
it "writes zeros when the disk refuses WRITE SAME" takes_less

it "makes zeros on sd" eval 'disks lbprz=0 && zeroes "$SD2"'
for disk in ${LONG:+'lbpws=1 lbprz=1' 'lbpu=1 lbprz=0'} 'lbpu=1 lbprz=2'; do
	it "leaves nothing old on sd with oflag=trim ($disk)" eval \
	    "disks $disk && zeroes \"\$SD2\" trim"
done

# The target of one copy, with what it has freed, is the source of the next.
thin()
{
	disks "$@" && zeroes "$SG2" trim && forget && rm -f copy
}
blocks_read()
{
	sent "$HCTL2" '28|88' | sed 's/.*txlen=\([0-9]*\).*/\1/' |
		awk '{ n += $1 } END { print n + 0 }'
}
gaps()
{
	local n
	thin lbpws=1 lbprz=1 &&
	    exits 0 "$pardd" if="$SG2" of=copy iflag=sparse verbose=1 "$@" &&
	    complete && same copy $image && was_sent "$HCTL2" '9e ?12' || return
	n=$(blocks_read)
	((n > 2000 && n < 8000)) || fail "$n blocks of 16384 were read"
	says '^pardd: [0-9]+ bytes were holes, and not read$'
}
it "does not read what is not mapped with iflag=sparse" gaps
long "does not with 16 workers and small pieces" gaps thr=16 bpt=300
all_read()
{
	exits 0 "$pardd" if="$SG2" of=copy "${@:2}" && same copy $image &&
	    was_not_sent "$HCTL2" '9e ?12' && [[ $(blocks_read) -ge 16384 ]]
}
long "reads all without" eval 'thin lbpws=1 lbprz=1 && all_read'
long "reads all where what is not mapped reads as something else" \
    eval 'thin lbpws=1 lbprz=2 && all_read iflag=sparse'
long "reads all of a disk that is not thin" \
    eval 'thin && all_read iflag=sparse'
