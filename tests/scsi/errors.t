# shellcheck shell=bash disable=SC2119
# Faults of devices that still answer: what is lost, what is not, and what is reported.
# 8 MiB; transfers of 128 blocks unless a case says otherwise.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks

# Unreadable blocks, without coe.
for n in ${LONG:+1 4} 16; do
	it "stops at a bad block, right Info, thr=$n" \
	    stops 4660 3 if="$SG1" of="$SG2" thr="$n"
	it "stops at a bad block, wrong Info, thr=$n" \
	    stops 10007 3 if="$SG1" of="$SG2" thr="$n"
done
it "stops at a bad first block" stops 0 3 if="$SG1" of="$SG2"
it "stops at a bad last block" stops 16383 3 if="$SG1" of="$SG2"
it "stops at a bad block, bsg" stops 10007 3 if="$BSG1" of="$BSG2"
it "stops at a bad block, sd to sd" stops 10007 3 if="$SD1" of="$SD2"
long "stops at a bad block, sd to sg" stops 4660 3 if="$SD1" of="$SG2"
long "stops at a bad block, sg to sd" stops 4660 3 if="$SG1" of="$SD2"
it "stops at a bad block, sgio" \
    stops 10007 3 if="$SD1" of="$SD2" iflag=sgio oflag=sgio
long "stops at a bad block, sd through the page cache" \
    stops 10007 3 if="$SD1" of="$SD2" iflag=cached
long "stops at a bad block, dio" stops 10007 3 if="$SG1" of="$SG2" dio=1
long "stops at a bad block, mmap" stops 10007 3 if="$SG1" of="$SG2" iflag=mmap
long "stops at a bad block with retries=2" \
    stops 10007 3 if="$SG1" of="$SG2" retries=2

words()
{
	fresh
	bad 4660 1
	exits 3 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=128 || return
	says '[Mm]edium [Ee]rror' && says '[Uu]nrecovered read error' && says 4660
}
it "reports the sense data in words, and the block" words

stop_to_pipe()
{
	local status
	fresh
	bad 4660 1
	"$pardd" if="$SG1" bs=512 bpt=128 thr=8 2>err | cat >image
	status=${PIPESTATUS[0]}
	[[ $status = 3 && $(stat -c %s image) = $((4660 * 512)) ]] ||
		fail "status $status, $(stat -c %s image) bytes" || return
	cmp -n $((4660 * 512)) image "$source"
}
it "stops a pipe right before the bad block" stop_to_pipe

# With coe=1.
for n in ${LONG:+1 4} 16; do
	long "loses just the bad block, right Info, thr=$n" \
	    loses 4660 1 if="$SG1" of="$SG2" thr="$n"
	it "loses just the bad block, wrong Info, thr=$n" \
	    loses 10007 1 if="$SG1" of="$SG2" thr="$n"
	it "loses just ten bad blocks, right Info, thr=$n" \
	    loses 4660 10 if="$SG1" of="$SG2" thr="$n"
	long "loses just ten bad blocks, wrong Info, thr=$n" \
	    loses 10000 10 if="$SG1" of="$SG2" thr="$n"
	long "loses just the first block, thr=$n" \
	    loses 0 1 if="$SG1" of="$SG2" thr="$n"
	it "loses just the last block, thr=$n" \
	    loses 16383 1 if="$SG1" of="$SG2" thr="$n"
done
it "loses just 300 blocks over four transfers" \
    loses 5000 300 if="$SG1" of="$SG2" thr=16
long "loses just two blocks in two transfers, as one range" \
    loses 5119 2 if="$SG1" of="$SG2"
it "loses just the bad block, bsg" loses 10007 1 if="$BSG1" of="$BSG2"
long "loses just the bad block, sgio" \
    loses 10007 1 if="$SD1" of="$SD2" iflag=sgio oflag=sgio
long "loses just the bad block, sd to sd" loses 10007 1 if="$SD1" of="$SD2"
it "loses just ten bad blocks, sd to sd, thr=16" \
    loses 4660 10 if="$SD1" of="$SD2" thr=16
it "loses just the bad block, sd through the page cache" \
    loses 10007 1 if="$SD1" of="$SD2" iflag=cached oflag=cached
long "loses just the bad block, sd to sg" loses 10007 1 if="$SD1" of="$SG2"
long "loses just the bad block, sg to sd" loses 4660 1 if="$SG1" of="$SD2"
loses_one()
{
	fresh
	bad 100 1
	exits 100 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=1 thr=16 coe=1 \
	    count=300 && lands "0-99 right, 100 zero, 101-299 right, \
300-16383 untouched" && lost 1 1
}
it "loses just the bad block, bpt=1" loses_one
it "loses just the bad block, transfers of 4 MiB" \
    loses 10007 1 if="$SG1" of="$SG2" bpt=8192
long "loses just the bad block, automatic transfers" \
    loses 10007 1 if="$SG1" of="$SG2" bpt=2048
long "loses just the bad block with retries=2" \
    loses 10007 1 if="$SG1" of="$SG2" retries=2
it "loses just the bad block, dio" \
    loses 10007 1 if="$SG1" of="$SG2" dio=1 thr=16
long "loses just the bad block, iflag=mmap" \
    loses 10007 1 if="$SG1" of="$SG2" iflag=mmap
long "loses just the bad block, conv=noerror" \
    loses 10007 1 if="$SG1" of="$SG2" coe=0 conv=noerror

# bs is only a unit: the logical block is what gets lost.
loses_little()
{
	fresh
	bad 10007 1
	exits 100 "$pardd" if="$SG1" of="$SG2" bs=4096 bpt=16 coe=1 &&
	    lands "0-10006 right, 10007 zero, 10008-16383 right" && lost 1 1
}
it "loses just one logical block of 512 with bs=4096" loses_little

json_tells()
{
	fresh
	bad 4660 10
	exits 100 "$pardd" if="$SG1" of="$SG2" bs=512 coe=1 json=told || return
	tail -n 1 told | grep -E '"status": ?100[,}]' |
	    grep -E '"verdict": ?"unreadable"' |
	    grep -E '"offset": ?2385920[,}]' | grep -qE '"length": ?5120[,}]' ||
		fail "$(tail -n 1 told)"
}
it "reports the lost range to programs, in bytes" json_tells

coe_to_pipe()
{
	local status
	fresh
	bad 4660 1
	"$pardd" if="$SG1" bs=512 bpt=128 thr=8 coe=1 2>err | cat >image
	status=${PIPESTATUS[0]}
	[[ $status = 100 ]] || fail "status $status" || return
	"$blocks" check -z 2385920+512 image 0 0 8M 1
}
it "writes zeros for the bad block into a pipe" coe_to_pipe

# What the device or the kernel recovers from: all data are good.
for n in ${LONG:+1} 16; do
	it "takes the data of recovered errors for good, thr=$n" \
	    survives 8 CHECK_CONDITION if="$SG1" of="$SG2" thr="$n"
	it "retries aborted commands, thr=$n" \
	    survives 0x10 CHECK_CONDITION if="$SG1" of="$SG2" thr="$n"
	it "finishes short transfers, thr=$n" \
	    survives 0x100 '' if="$SG1" of="$SG2" thr="$n"
	it "waits for a busy host, thr=$n" \
	    survives 0x8000 '' if="$SG1" of="$SG2" thr="$n"
done
for n in ${LONG:+8 0x10} 0x100 0x8000; do
	it "survives fault $n, bsg" survives "$n" '' if="$BSG1" of="$BSG2"
	long "survives fault $n, sgio" \
	    survives "$n" '' if="$SD1" of="$SD2" iflag=sgio oflag=sgio
done
long "finishes short transfers with coe=1" \
    survives 0x100 '' if="$SG1" of="$SG2" coe=1
long "finishes short transfers, dio" \
    survives 0x100 '' if="$SG1" of="$SG2" dio=1
long "finishes short transfers, mmap" \
    survives 0x100 '' if="$SG1" of="$SG2" iflag=mmap
long "takes recovered errors for good with coe=1" \
    survives 8 CHECK_CONDITION if="$SG1" of="$SG2" coe=1
long "tries aborted commands again with coe=1" \
    survives 0x10 CHECK_CONDITION if="$SG1" of="$SG2" coe=1

short_to_pipe()
{
	local status
	fresh
	every 20 0x100
	"$pardd" if="$SG1" bs=512 bpt=64 thr=8 2>err | cat >image
	status=${PIPESTATUS[0]}
	[[ $status = 0 ]] || fail "status $status" || return
	same image "$source"
}
it "finishes short transfers before they go into a pipe" short_to_pipe

aborted_for_ever()
{
	fresh
	slow
	midway every 1 0x10
	within 40 exits 11 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=64 "$@" || return
	lands_rightly && grep -qi 'aborted command' err
}
it "gives up on commands that are always aborted" aborted_for_ever
long "gives up on them with coe=1 as well" aborted_for_ever coe=1

attention_before()
{
	fresh
	sg_reset -d "$SG1"
	sg_reset -d "$SG2"
	forget
	all_right if="$1" of="$2" && went_wrong CHECK_CONDITION
}
if able 'type -P sg_reset' "no sg_reset"; then
	for n in ${LONG:+1 4} 16; do
		it "survives a reset of the source, thr=$n" \
		    attention "$SG1" "$n" if="$SG1" of="$SG2" thr="$n"
		it "stops at a reset of the target, thr=$n" \
		    forgotten "$SG2" "$n" if="$SG1" of="$SG2" thr="$n"
		it "survives it if everything is written past the cache, thr=$n" \
		    attention "$SG2" "$n" if="$SG1" of="$SG2" thr="$n" oflag=fua
	done
	long "survives a reset of the source with coe=1" \
	    attention "$SG1" 4 if="$SG1" of="$SG2" coe=1 thr=4
	long "survives a reset of a bsg source" \
	    attention "$SG1" 4 if="$BSG1" of="$BSG2" thr=4
	it "survives resets just before it starts, sg" \
	    attention_before "$SG1" "$SG2"
	long "survives resets just before it starts, bsg" \
	    attention_before "$BSG1" "$BSG2"
fi

# A target that may not be written, and a disk that is not spinning.
it "stops at a write-protected target" protected if="$SG1" of="$SG2"
long "stops there with thr=16" protected if="$SG1" of="$SG2" thr=16
it "stops there with coe=1" protected if="$SG1" of="$SG2" coe=1
long "stops there with oflag=coe" protected if="$SG1" of="$SG2" oflag=coe
long "stops there with the last block" \
    protected if="$SG1" of="$SG2" skip=16383 seek=16383
long "stops there, bsg" protected if="$BSG1" of="$BSG2"
it "stops there, sgio" protected if="$SD1" of="$SD2" oflag=sgio
long "stops there when a file is copied" protected if="$source" of="$SG2" coe=1

protected_sd()
{
	fresh
	knob wp 1
	run "$pardd" if="$SD1" of="$SD2" bs=512 bpt=128 "$@"
	[[ $status != [01] && $status != 100 ]] || fail "status $status" || return
	lands "0-16383 untouched"
}
it "stops at a write-protected sd node" protected_sd
long "stops at a write-protected sd node with coe=1" protected_sd coe=1
long "stops at a write-protected sd node in the page cache" \
    protected_sd oflag=cached

protected_midway()
{
	fresh
	slow "$1"
	midway knob wp 1
	exits 7 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=64 \
	    thr="$1" coe="$2" || return
	lands_rightly && ! lands "0-16383 right" >/dev/null
}
long "stops when the target turns write-protected" protected_midway 4 0
it "stops when the target becomes write-protected, coe=1 thr=16" \
    protected_midway 16 1

stopped_disk()
{
	fresh
	sg_raw "$1" 1b 0 0 0 0 0 2>sg
	run "$pardd" if="$SG1" of="$SG2" bs=512 coe="$2"
	sg_raw "$1" 1b 0 0 0 1 0 2>sg
	[[ $status = 2 ]] || fail "status $status, not 2: $(cat err)" || return
	lands "0-16383 untouched" && grep -qi 'not ready' err
}
if able 'type -P sg_raw' "no sg_raw"; then
	it "stops at a source that is not ready" stopped_disk "$SG1" 0
	long "stops at a source that is not ready, coe=1" stopped_disk "$SG1" 1
	it "stops at a target that is not ready" stopped_disk "$SG2" 0
fi

it "has left the source as it was" unharmed
