# shellcheck shell=bash disable=SC2119
# lab: -j 1 -D size=8M,bs=4096,serial=large -D size=4M,serial=small -D size=12M -D size=8M,ro
#
# Sectors of 4096 bytes, copies between these and 512, and disks that do not fit.
# The disks of 512 are scsi_debug's, the first of 4096 is QEMU's.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks
qemu_disks 4 || { echo 'Bail out! no QEMU disks'; exit 1; }

# large_target OPERANDS...: from 512 to 4096
large_target()
{
	fresh "$QSD1"
	exits 0 "$pardd" "$@" && complete && lands "0-16383 right" 0 "$QSD1" &&
	    only_read
}
long "copies 512 to 4096 with bs=512, sg" large_target if="$SG1" of="$QSG1" bs=512
long "copies 512 to 4096 with bs=4096, sg" \
    large_target if="$SG1" of="$QSG1" bs=4096
it "copies 512 to 4096 with the default bs, sg" large_target if="$SG1" of="$QSG1"
it "copies 512 to 4096 with bs=512 bpt=77 thr=16, sg" \
    large_target if="$SG1" of="$QSG1" bs=512 bpt=77 thr=16
it "copies 512 to 4096 with bs=512, bsg" \
    large_target if="$BSG1" of="$QBSG1" bs=512
it "copies 512 to 4096 with bs=512, sd" large_target if="$SD1" of="$QSD1" bs=512
long "copies 512 to 4096 with bs=512, sg to sd" \
    large_target if="$SG1" of="$QSD1" bs=512
long "copies 512 to 4096 with bs=512, sd to sg" \
    large_target if="$SD1" of="$QSG1" bs=512
it "copies 512 to 4096 with bs=512, sgio" \
    large_target if="$SD1" of="$QSD1" bs=512 iflag=sgio oflag=sgio
it "copies a file to sg of 4096 with bs=512" \
    large_target if="$source" of="$QSG1" bs=512

skips()
{
	fresh "$QSD1"
	exits 0 "$pardd" if="$SG1" of="$QSG1" bs=512 skip=3 seek=16 count=80 &&
	    lands "0-15 untouched, 16-95 right, 96-16383 untouched" -13 "$QSD1"
}
it "copies 512 to 4096 from within a large block" skips

misfit()
{
	fresh "$QSD1"
	exits 101 "$pardd" if="$1" of="$2" bs=512 "${@:3}" && one_line . &&
	    lands "0-16383 untouched" 0 "$QSD1"
}
it "refuses a count that ends within a target's block, sg" \
    misfit "$SG1" "$QSG1" count=15
long "refuses a count that ends within a target's block, sd" \
    misfit "$SD1" "$QSD1" count=15
it "refuses a seek into a target's block, sg" \
    misfit "$SG1" "$QSG1" seek=1 count=8
long "refuses a seek into a target's block, sd" \
    misfit "$SD1" "$QSD1" seek=1 count=8

pads()
{
	head -c 5000 "$source" >start
	cp start padded
	truncate -s 8192 padded
	fresh "$3"
	exits 0 "$pardd" if=start of="$1" bs=512 && complete || return
	grep -Eqi 'pad' err || fail "the padding is not reported: $(cat err)" || return
	source=$PWD/padded lands "$2" 0 "$3"
}
long "pads a file's last block with zeros, sg of 512" \
    pads "$SG2" "0-9 right, 10-16383 untouched" "$SD2"
long "pads a file's last block with zeros, sd of 512" \
    pads "$SD2" "0-9 right, 10-16383 untouched" "$SD2"
it "pads a file's last block with zeros, sg of 4096" \
    pads "$QSG1" "0-15 right, 16-16383 untouched" "$QSD1"

pads_pipe()
{
	fresh
	head -c 5000 "$source" >start
	cp start padded
	truncate -s 5120 padded
	exits 0 "$pardd" of="$SG2" bs=512 < <(cat start) && complete &&
	    source=padded lands "0-9 right, 10-16383 untouched"
}
it "pads a pipe's last block with zeros, sg" pads_pipe

# And back: the source has 4096.
prepare_source "$QSD1"
small_target()
{
	fresh
	exits 0 "$pardd" "$@" && complete && lands "0-16383 right" &&
	    was_not_sent "$QHCTL1" "$writes"
}
it "copies 4096 to 512, sg" small_target if="$QSG1" of="$SG2" bs=4096
it "copies 4096 to 512 with bs=8192 thr=16, sg" \
    small_target if="$QSG1" of="$SG2" bs=8192 bpt=7 thr=16
long "copies 4096 to 512, bsg" small_target if="$QBSG1" of="$BSG2" bs=4096
long "copies 4096 to 512, sd" small_target if="$QSD1" of="$SD2" bs=4096
long "copies 4096 to 512, sg to sd" small_target if="$QSG1" of="$SD2" bs=4096
long "copies 4096 to 512, sd to sg" small_target if="$QSD1" of="$SG2" bs=4096

tells_bs()
{
	small_target if="$1" of="$2" && says '^2048\+0 records in$' && says 4096
}
it "uses the source's 4096 as bs, and says so, sg" tells_bs "$QSG1" "$SG2"
long "takes and tells the source's 4096 for bs, sd" tells_bs "$QSD1" "$SD2"

refuses_512()
{
	fresh
	nothing_done 101 if="$1" of="$2" bs=512
}
it "refuses bs=512 for a source of 4096, sg" refuses_512 "$QSG1" "$SG2"
long "refuses bs=512 for a source of 4096, sd" refuses_512 "$QSD1" "$SD2"

# Disks of other sizes: 4 MiB and 12 MiB.
too_small()
{
	fresh "$QSD2"
	exits 101 "$pardd" if="$1" of="$2" && one_line . &&
	    landed map "$source" "$QSD2" | grep -qx '0-8191 untouched' &&
	    was_not_sent "$QHCTL2" "$writes"
}
it "refuses a target that is too small, sg" too_small "$SG1" "$QSG2"
long "refuses a target that is too small, sd" too_small "$SD1" "$QSD2"
long "refuses a target that is too small, sg to sd" too_small "$SG1" "$QSD2"
long "refuses a target that is too small, sd to sg" too_small "$SD1" "$QSG2"
long "refuses a target that is too small, bsg" too_small "$BSG1" "$QBSG2"
it "refuses a target that is too small for a file" too_small "$source" "$QSG2"

larger()
{
	fresh "$QSD3"
	exits 0 "$pardd" if="$SG1" of="$QSG3" && complete &&
	    lands "0-16383 right, 16384-24575 untouched" 0 "$QSD3"
}
it "copies everything to a larger disk, and no more" larger

read_only()
{
	no_faults
	exits 80 "$pardd" if="$SG1" of="$1" bs=512 coe="$2" && one_line 'is write-protected$' ||
	    return
	dd if="$QSD4" of=image bs=1M status=none && "$blocks" zero image 0 8M
}
it "refuses a read-only disk, sg" read_only "$QSG4" 0
long "refuses a read-only disk, sg, coe=1" read_only "$QSG4" 1
it "refuses a read-only disk, bsg" read_only "$QBSG4" 0

# Both of 4096.
two_disks sector_size=4096
it "copies 4096 to 4096, sg" copy if="$SG1" of="$SG2"
it "copies 4096 to 4096, thr=16 bpt=5, sg" copy if="$SG1" of="$SG2" bpt=5 thr=16
it "copies 4096 to 4096, bsg" copy if="$BSG1" of="$BSG2"
long "copies 4096 to 4096, sd" copy if="$SD1" of="$SD2"
long "copies 4096 to 4096, sgio" copy if="$SD1" of="$SD2" iflag=sgio oflag=sgio
long "copies 4096 to 4096, dio" copy if="$SG1" of="$SG2" dio=1

loses_large()
{
	fresh
	bad 500 1
	exits 100 "$pardd" coe=1 thr=16 bpt=16 "$@" || return
	no_faults
	lands "0-3999 right, 4000-4007 zero, 4008-16383 right" && lost 1 1
}
it "loses just one block of 4096, sg" loses_large if="$SG1" of="$SG2"
long "loses just one block of 4096, sd" loses_large if="$SD1" of="$SD2"

stops_large()
{
	fresh
	bad 500 1
	exits 3 "$pardd" bpt=16 "$@" || return
	no_faults
	stopped_at 4000 128
}
it "stops at a bad block of 4096, sg" stops_large if="$SG1" of="$SG2"

short_large()
{
	fresh
	every 20 0x100
	all_right if="$SG1" of="$SG2" bpt=8
}
it "finishes short transfers of 4096" short_large

stripes()
{
	sdebug dev_size_mb=8 opt_blks=1536 || return
	[[ $("$pardd" -dv if=/dev/zero of="$SD1" count=4k) = *"transfer=1572864"* ]] &&
	    [[ $("$pardd" -dv if=/dev/zero of="$SD1" count=4k bpt=8) = *"transfer=4096"* ]]
}
it "writes in whole stripes of the target" stripes
