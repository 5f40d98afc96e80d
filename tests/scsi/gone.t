# shellcheck shell=bash disable=SC2119
# lab: -j 2 -D size=8M,removable
# Devices that disappear or never answer, and signals; in a guest that no other file of
# tests uses afterwards.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks

for coe in 0 ${LONG:+1}; do
	for n in ${LONG:+1} 16; do
		it "stops when the sg source vanishes, coe=$coe thr=$n" \
		    vanishes "$HCTL1" "$SD2" if="$SG1" of="$SG2" coe="$coe" thr="$n"
		back 2
		it "stops when the sg target vanishes, coe=$coe thr=$n" \
		    vanishes "$HCTL2" "$SD2" if="$SG1" of="$SG2" coe="$coe" thr="$n"
		back 2
		it "stops when the sd source vanishes, coe=$coe thr=$n" \
		    vanishes "$HCTL1" "$SD2" if="$SD1" of="$SD2" coe="$coe" thr="$n"
		back 2
		it "stops when the sd target vanishes, coe=$coe thr=$n" \
		    vanishes "$HCTL2" "$SD2" if="$SD1" of="$SD2" coe="$coe" thr="$n"
		back 2
	done
done
it "stops when the sg target vanishes, coe=1 thr=1" \
    vanishes "$HCTL2" "$SD2" if="$SG1" of="$SG2" coe=1 thr=1
back 2
for coe in ${LONG:+0} 1; do
	it "stops when the bsg source vanishes, coe=$coe" \
	    vanishes "$HCTL1" "$SD2" if="$BSG1" of="$BSG2" coe="$coe"
	back 2
done

# From a loop device whose disk was taken away, or whose file was cut off, some kernels
# read zeros, without an error.

modprobe -a loop dm_mod
half_there()
{
	(($(stat -c %s image) > 4194304))
}
# half COMMAND...: run it in the background as soon as half of image is there
half()
{
	local n
	{
		for ((n = 0; n < 150; n++)); do	# not often: each look is a process
			half_there && break
			read -rt 0.2 <>"$scratch/never"
		done
		"$@"
	} >/dev/null 2>&1 &
}
# reads STATUS OPERANDS...: from $from to the file image; slowly, so that a busy machine
# notices the half in time
reads()
{
	exits "$1" "$pardd" if="$from" of=image bs=512 bpt=64 rate=1M "${@:2}"
}
loop_vanishes()
{
	no_faults
	loop "$SD1" && from=$dev && half delete "$HCTL1"
	reads 69 "$@"
}
loop_cut()
{
	cp "$source" file && loop file && from=$dev && half truncate -s 6M file
	reads 102 "$@" && says 'file was truncated at byte 6291456'
}
loop_rescued()
{
	loop_cut map=map mapinterval=1 && cp "$source" file && reads 0 map=map && complete &&
	    same image "$source"
}
dm_vanishes()
{
	no_faults
	dmsetup create gone --table "0 16384 linear $SD1 0" && undo dmsetup remove --retry gone &&
	    from=/dev/$(dmsetup info -c --noheadings -o blkdevname gone) &&
	    until_true 5 test -b "$from" && half delete "$HCTL1"
	reads 69 "$@"
}
loop_shrinks()
{
	no_faults
	dmsetup create gone --table "0 16384 linear $SD1 0" && undo dmsetup remove --retry gone &&
	    dm=/dev/$(dmsetup info -c --noheadings -o blkdevname gone) &&
	    until_true 5 test -b "$dm" && loop "$dm" && from=$dev && half shrink
	reads 102 "$@" && says 'under it now ends at byte 6291456'
}
shrink()
{
	dmsetup load gone --table "0 12288 linear $SD1 0" && dmsetup resume gone
}
dm_moved()
{
	no_faults
	dmsetup create gone --table "0 12288 linear $SD1 0" && undo dmsetup remove --retry gone &&
	    from=/dev/$(dmsetup info -c --noheadings -o blkdevname gone) &&
	    until_true 5 test -b "$from" && half move && reads 69 "$@" && says "$from begins at another byte of what"
}
move()
{
	dmsetup load gone --table "0 12288 linear $SD1 2048" && dmsetup resume gone
}
for more in '' ${LONG:+coe=1 verify=1} map=map; do
	it "stops when the disk under a loop device vanishes $more" \
	    loop_vanishes ${more:+"$more"}
	back 2
	prepare_source "$SD1"
	it "stops when the file under it is cut off $more" loop_cut ${more:+"$more"}
done
it "goes on with a rescue where the file was whole" loop_rescued
if type -P dmsetup >/dev/null; then
	it "says that the device under it was set to another place of the same disk" dm_moved
	for more in '' ${LONG:+coe=1 map=map}; do
		it "stops when the device under a loop device gets smaller $more" \
		    loop_shrinks ${more:+"$more"}
		it "stops when the disk under a dm device vanishes $more" \
		    dm_vanishes ${more:+"$more"}
		back 2
		prepare_source "$SD1"
	done
fi

# A drive without a medium answers, but fails all reads.  The medium is locked in while
# the disk is open.
eject()
{
	sg_raw "$QSG1" 1e 0 0 0 0 0 && sg_start --eject "$QSG1"
}
ejects()
{
	sg_start --load "$QSG1"
	prepare_source "$QSD1" && from=$QSD1 && half eject
	reads 69 "$@"
}
qemu_disks 1
for more in ${LONG:+'' coe=1} map=map; do
	it "stops when the medium is ejected $more" ejects ${more:+"$more"}
done

# A command that is never answered; the kernel aborts it after the timeout.
long "gives up on an unanswered command after timeout=3" \
    no_answer if="$SG1" of="$SG2"
it "... with thr=16" no_answer if="$SG1" of="$SG2" thr=16
long "gives up on it, bsg" no_answer if="$BSG1" of="$BSG2"

for signal in ${LONG:+INT HUP QUIT} TERM; do
	it "drains, reports and dies of SIG$signal" \
	    interrupted "$signal" if="$SG1" of="$SG2" thr=4
done
it "dies of SIGINT with thr=16, bsg" interrupted INT if="$BSG1" of="$BSG2" thr=16
long "dies of SIGINT, sd to sd" interrupted INT if="$SD1" of="$SD2"

# Stopped in mid copy, what was counted is what is there.
counted()
{
	local n
	interrupted INT if="$SG1" of="$SG2" thr=4 || return
	n=$(sed -n 's/^\([0-9]*\)+.* records out$/\1/p' err | tail -n 1)
	((n > 0 && n < blocks_all)) || fail "not in mid copy: $n blocks" || return
	[[ $(look | tr ',' '\n' | awk '$2 == "right" {
		n = split($1, at, "-"); sum += at[n] - at[1] + 1
	} END { print sum + 0 }') = "$n" ]] || fail "it said $n blocks"
}
it "counts what it wrote before SIGINT" counted

progress()
{
	local pid
	fresh
	slow
	"$tools/ends" how "$pardd" if="$SG1" of="$SG2" bs=512 bpt=64 2>err &
	until_true 20 underway || return
	read -r _ pid <how
	kill -s USR1 "$pid"
	wait $!
	ended exit 0 && complete && lands "0-16383 right" || return
	[[ $(grep -c 'records in$' err) = 2 ]] || fail "no report: $(cat err)"
}
it "reports on SIGUSR1 and goes on" progress

it "has left the source as it was" unharmed
