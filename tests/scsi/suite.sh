# shellcheck shell=bash disable=SC2034,SC2119,SC2120
#
# What the cases of the SCSI suite are made of, on top of tests/lib.sh and
# lab.sh.  Runs in the guest.
#
# two_disks [PARAMETER...] makes a source, SD1 (its sg node is SG1, its bsg node
# BSG1), and a target, SD2, of 8 MiB each with contents of their own.  The file
# $source holds what the source holds.  Every case begins with `fresh`: no
# faults are asked for, the target is untouched all over, the trace is empty.
#
# The trace is the kernel's own list of SCSI commands, so it can tell which
# commands were sent to which disk, and that a fault really happened.

# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/scsi/lab.sh
. lab.sh

source=/tmp/source
trace=/sys/kernel/tracing
blocks_all=16384
limit=${LIMIT:-300}	# for a hang: a guest of a busy machine may be slow

two_disks()
{
	sdebug add_host=2 per_host_store=1 dev_size_mb=8 delay=0 "$@" ||
		{ echo 'Bail out! no scsi_debug'; exit 1; }
	prepare_source "$SD1"
}

prepare_source()
{
	[[ -e $source ]] || "$blocks" make "$source" 8M 1
	dd if="$source" of="$1" bs=1M count=8 oflag=direct status=none
	blockdev --flushbufs "$1"
}

# writable: the kernel, which may have read the table while the disks were
# write-protected, asks them again
writable()
{
	local ro
	for ro in /sys/block/sd*/ro; do
		[[ $(<"$ro") = 0 ]] || echo 1 >"${ro%ro}device/rescan"
	done
}
no_faults()
{
	knob opts 0
	knob every_nth 0
	wait_for 5 knob delay 0 2>/dev/null	# not while commands are under way
	knob wp 0
	writable
	knob medium_error_count 1
}

# long SENTENCE COMMAND...: a case with LONG=1 only, for others are much like it
long()
{
	[[ -z $LONG ]] || it "$@"
}

# fresh [TARGET]
fresh()
{
	no_faults
	landed fill "${1:-$SD2}" "$SD1"
	forget
}

forget()
{
	: >"$trace/trace"
}

# Every command takes some time, so that the copy has a middle: 256
# transfers by N threads then take about two seconds.
slow()
{
	knob ndelay $((${1:-4} * 3500000))
}

# bad FIRST COUNT: sectors that cannot be read, on both disks
bad()
{
	knob medium_error_start "$1"
	knob medium_error_count "$2"
	knob opts 2
}

# every N OPTS: every Nth command fails in this way
every()
{
	knob every_nth "$1"
	knob opts "$2"
}

# sent HCTL REGEX: the commands to one disk whose bytes, in hex, begin so
sent()
{
	local h c t l
	IFS=: read -r h c t l <<<"$1"
	grep -E "cmd_start: host_no=$h channel=$c id=$t lun=$l .*raw=($2)" \
	    "$trace/trace"
}

# was_sent HCTL REGEX
was_sent()
{
	sent "$1" "$2" >/dev/null || fail "no command $2 was sent to $1"
}

was_not_sent()
{
	! sent "$1" "$2" || fail "a command $2 was sent to $1"
}

reads='08|28|88|a8'
writes='0a|2a|2e|41|42|8a|8b|8e|93|aa|ae|04|48|89|7f'

# The source received no command that changes it.
only_read()
{
	was_not_sent "$HCTL1" "$writes"
}

# went_wrong REGEX [LEAST]: commands failed in this way, or the case proves nothing
went_wrong()
{
	local n
	n=$(grep -cE "cmd_(done|timeout|error):.*($1)" "$trace/trace")
	((n >= ${2:-1})) || fail "only $n commands ended with $1"
}

# What is on the target; it would be hard to tell with the faults still there.
look()
{
	no_faults
	landed map "$source" "${1:-$SD2}" "${2:-0}"
}

# lands TEXT [SHIFT [TARGET]]: that is on the target; see landed.c for the words
lands()
{
	local is
	is=$(look "${3-}" "${2-}")
	[[ $is = "$1" ]] || fail "the target should be: $1
but it is: $is"
}

# lands_rightly [TARGET]: whatever else happened, all that was written is right
lands_rightly()
{
	local is
	is=$(look "${1-}")
	[[ $is != *zero* && $is != *wrong* ]] || fail "the target is: $is"
}

# stopped_at BAD BPT [TARGET]: all before block BAD is there, BAD is not, and
# of the later transfers each is there or not, but none in part.
stopped_at()
{
	local is
	is=$(look "${3-}")
	awk -v bad="$1" -v bpt="$2" -v all="$blocks_all" '
	function wrong(why) { print why; failed = 1 }
	BEGIN { RS = ", *|\n"; after = (int(bad / bpt) + 1) * bpt }
	NF == 2 {
		n = split($1, at, "-"); first = at[1]; last = at[n]
		if ($2 != "right" && $2 != "untouched") wrong($0)
		if ($2 == "untouched" && first < bad) wrong("lost: " $0)
		if ($2 == "right" && first <= bad && last >= bad)
			wrong("the bad block is there")
		if ($2 == "right" && last >= after &&
		    ((first > after && first % bpt) ||
		    (last + 1 != all && (last + 1) % bpt)))
			wrong("a transfer in part: " $0)
	}
	END { exit failed }' <<<"$is" || fail "the target is: $is"
}

# lost BLOCKS RANGES: the last line says so
lost()
{
	last_says "^pardd: NOT complete: $1 unreadable blocks? in $2 ranges?\$"
}

# all_right OPERANDS...: all of the source is copied to the target
all_right()
{
	exits 0 "$pardd" "$@" && complete && lands "0-16383 right" && only_read
}

# nothing_done STATUS OPERANDS...: refused, and nothing reached the target
nothing_done()
{
	local want=$1
	shift
	exits "$want" "$pardd" "$@" && one_line . && lands "0-16383 untouched" &&
		was_not_sent "$HCTL2" "$writes"
}

# within SECONDS COMMAND...: it ends in time, with any status
within()
{
	local start=$SECONDS most=$1
	shift
	"$@" || return
	((SECONDS - start <= most)) ||
		fail "took $((SECONDS - start)) s, more than $most"
}

# The target is being written.
underway()
{
	sent "$HCTL2" "$writes" >/dev/null
}

# midway COMMAND...: in the background, once the copy is under way
midway()
{
	{ until_true 20 underway && "$@"; } >/dev/null 2>&1 &
}

# A device that went away comes back, perhaps under another name.
back()
{
	local host n=$1
	no_faults
	for host in /sys/class/scsi_host/host*; do
		echo '- - -' >"$host/scan"
	done
	wait_for 10 count_is Linux "$n" && name_disks '' Linux
}

# The rest are cases that several files have, with transfers of 128 blocks.

# Around block 4660 scsi_debug tells the right one in the sense data's Info
# field; elsewhere it tells the command's first, and for a bad block 0 it tells
# 4660, which is outside the command.

# stops FIRST STATUS OPERANDS...: at this bad block
stops()
{
	local at=$1 want=$2
	shift 2
	fresh
	bad "$at" 1
	exits "$want" "$pardd" bs=512 bpt=128 "$@" || return
	went_wrong 'CHECK_CONDITION' && stopped_at "$at" 128 && only_read &&
		! grep '^pardd: complete' err
}

# loses FIRST COUNT OPERANDS...: only these blocks, with coe=1
loses()
{
	local at=$1 count=$2 want
	shift 2
	fresh
	bad "$at" "$count"
	want="$at-$((at + count - 1)) zero"
	((count > 1)) || want="$at zero"
	((at == 0)) || want="0-$((at - 1)) right, $want"
	((at + count == blocks_all)) || want+=", $((at + count))-16383 right"
	exits 100 "$pardd" bs=512 bpt=128 coe=1 "$@" || return
	went_wrong 'CHECK_CONDITION' && lands "$want" && lost "$count" 1 && only_read
}

# survives OPTS REGEX OPERANDS...: every 20th command fails in this way
survives()
{
	local opts=$1 witness=$2
	shift 2
	fresh
	knob ndelay 100000
	every 20 "$opts"
	exits 0 "$pardd" bs=512 bpt=64 "$@" || return
	complete && lands "0-16383 right" && only_read || return
	[[ -z $witness ]] || went_wrong "$witness" 3
}

# reset STATUS NODE N OPERANDS...: it is reset in the middle of the copy, with N commands
# at a time
reset()
{
	local want=$1 node=$2 many=$3
	shift 3
	fresh
	slow $((many * 2))	# sg_reset is slow to start, too
	midway sg_reset -d "$node"
	exits "$want" "$pardd" bs=512 bpt=64 "$@" && went_wrong CHECK_CONDITION
}
# attention NODE N OPERANDS...: the copy goes on
attention()
{
	reset 0 "$@" && complete && lands "0-16383 right" && only_read
}
# forgotten NODE N OPERANDS...: it does not, since the disk says by 29h/00h that its
# cache may be empty
forgotten()
{
	reset 6 "$@" && says '[Pp]ower on, reset' && lands_rightly
}

# protected OPERANDS...: the target may not be written
protected()
{
	fresh
	knob wp 1
	exits 7 "$pardd" bs=512 bpt=128 "$@" || return
	lands "0-16383 untouched" && grep -Eqi 'data protect|write.protect' err &&
		! grep '^pardd: complete' err
}

# copy OPERANDS...: to a disk with other contents
copy()
{
	fresh
	all_right "$@"
}

unharmed()
{
	no_faults
	dd if="$SD1" of=image bs=1M iflag=direct status=none && same image "$source"
}

delete()
{
	echo 1 >"/sys/class/scsi_device/$1/device/delete"
}

# vanishes HCTL TARGET OPERANDS...: the status is not 0, nor that of bad blocks
vanishes()
{
	local hctl=$1 target=$2
	shift 2
	fresh
	slow 16
	midway delete "$hctl"
	run "$pardd" bs=512 bpt=64 "$@"
	[[ ! -e /sys/class/scsi_device/$hctl ]] || fail "it did not vanish" || return
	((status != 0 && status != 1 && status != 100 && status < 128)) ||
		fail "status $status" || return
	! grep '^pardd: complete' err || return
	[[ ! -e $target ]] || lands_rightly "$target"
}

# A command is never answered; the kernel aborts it after the timeout.
no_answer()
{
	fresh
	every 50 4
	within 20 exits 33 "$pardd" bs=512 bpt=64 timeout=3 "$@" || return
	lands_rightly && grep -Eqi 'time.?out|timed out' err
}

# interrupted SIGNAL OPERANDS...: it prints its report, and dies of the signal
interrupted()
{
	local signal=$1 pid
	shift
	fresh
	slow 16
	"$tools/ends" how "$pardd" bs=512 bpt=64 "$@" 2>err &
	until_true 20 underway || return
	read -r _ pid <how
	kill -s "$signal" "$pid"
	wait $!
	ended signal "$(kill -l "$signal")" && says 'records in$' &&
	    says 'records out$' && lands_rightly && ! grep '^pardd: complete' err
}

echo 1 >"$trace/events/scsi/scsi_dispatch_cmd_start/enable"
echo 1 >"$trace/events/scsi/scsi_dispatch_cmd_done/enable"
echo 1 >"$trace/events/scsi/scsi_dispatch_cmd_timeout/enable"
echo 4096 >"$trace/buffer_size_kb"
