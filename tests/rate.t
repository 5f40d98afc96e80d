#!/usr/bin/env bash
# Limits: rate=, ioprio=, and control= to change them while it runs.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# took LEAST MOST: the seconds that the last run says it took
took()
{
	local s
	s=$(sed -n 's/.* copied, \([0-9.e-]*\) s, .*/\1/p' err)
	awk "BEGIN { exit !(${s:-0} >= $1 && ${s:-0} <= $2) }" || fail "took ${s:-?} s, not $1 to $2"
}

# ---------------------------------------------------------------------- rate=

# Within a tenth on a machine of its own; what others make it wait is not caught
# up.  Sanitizers may be late, and never early.
late=1.4
[[ $VARIANT = plain ]] || late=2
# paced LEAST MOST COMMAND...: it never takes less than LEAST, and not always
# more than MOST: what else the machine does may be in the way
paced()
{
	local try
	for try in {1..9}; do
		"${@:3}" && took "$1" 3600 || return
		! took "$1" "$2" || return 0
		echo "try $try was late"
	done
	return 1
}
# quietly COMMAND...: in memory, where a flush waits for nobody
quietly()
{
	in_memory
	"$@"
}
# limited SECONDS OPERANDS...
limited()
{
	"$blocks" make src "$1M" && paced "$1*0.9" "$1*$late" limited_once "${@:2}"
}
limited_once()
{
	rm -f map
	exits 0 "$pardd" if=src of=dst rate=1M "$@" && complete && same src dst
}
it "keeps to rate=" quietly limited 2
it "keeps to rate= with sixteen workers" quietly limited 2 thr=16
it "keeps to rate= in transfers that bpt= makes" quietly limited 1 bs=512 bpt=100
it "keeps to rate= in a rescue" quietly limited 1 map=map
it "keeps to rate= with one asynchronous thread" limited 1 engine=async iflag=direct oflag=direct
limited_pipe()
{
	"$blocks" make - 1M | "$pardd" of=dst rate=1M 2>err
	[[ ${PIPESTATUS[1]} = 0 ]] && holds dst 0 0 1M
}
it "keeps to rate= from a pipe" quietly paced 0.9 "1*$late" limited_pipe
# An eighth of a second may have one transfer more, and what is caught up.
even()
{
	local try
	"$blocks" make src 1100k || return
	for try in {1..9}; do
		exits 0 "$pardd" if=src of=. rate=1M thr=16 profile=p.csv || return
		awk -F , '$1 == "time" && $2 == "source" { n++; if ($5 > most) most = $5 }
			END { exit !(n >= 6 && most <= 131072 + 65536 + 20972) }' p.csv && return
		echo "try $try: $(grep ^time p.csv)"
	done
	return 1
}
it "moves bytes evenly, not in bursts" even
it "is not held up by a high rate=" quietly eval \
    '"$blocks" make src 2M && paced 0 1 exits 0 "$pardd" if=src of=dst rate=1P && same src dst'
tiny()
{
	"$blocks" make src 5000 && paced 1.2 1.9 exits 0 "$pardd" if=src of=dst rate=4096 && same src dst
}
[[ $VARIANT != plain ]] || it "can be as slow as 4096 bytes a second" quietly tiny
stopped()
{
	in_memory
	"$blocks" make src 1M || return
	"$tools/ends" how "$pardd" if=src of=dst rate=4096 "$@" 2>err &
	until_true 20 test -e dst && sleep 0.3
	took=$EPOCHREALTIME
	kill -INT "$(sed -n 's/^pid //p' how)" && wait $!
	took=$(since "$took")
	ended signal 2
}
it "answers a signal at once while it waits" promptly 500 stopped bs=1k bpt=1024
it "answers a signal at once while sixteen workers wait" promptly 500 stopped thr=16
it "answers a signal at once while an asynchronous thread waits" \
    promptly 500 stopped engine=async iflag=direct oflag=direct
# A digest must not wait for a piece that one of them has let go.
stopped_digesting()
{
	local i
	for i in 1 2 3 4 5 6 7 8; do
		promptly 500 stopped engine=async hash=sha256,md5 rate=600k bpt=8 thr=4 qd=$i || return
	done
}
it "answers a signal while asynchronous threads wait, and digests for them" stopped_digesting
# Holes that are not written take no time, in either engine.
holes()
{
	truncate -s 2G src && paced 0 60 exits 0 "$pardd" if=src of=dst rate=1M "$@" && size_is dst 2147483648
}
it "does not let a hole pay" holes engine=threads
it "does not let a hole pay, asynchronously" holes engine=async
# What a disk makes zeros of it may be writing.
zeros()
{
	in_memory
	truncate -s 1M src disk && loop disk && "$blocks" make "$dev" 1M 9 &&
	    paced 0.9 "1*$late" exits 0 "$pardd" if=src of="$dev" rate=1M && cmp src "$dev"
}
given can_loop "no loop devices" it "lets zeros pay that are made on a disk" zeros
it "refuses a rate= below 4096" usage 'rate=4095' if=src of=dst rate=4095
it "refuses a rate= that is no number" usage 'rate=some' if=src of=dst rate=some
long_name()
{
	"$blocks" make src 1k && exits 86 "$pardd" if=src of=dst control="$(printf '%0200d' 1)" &&
	    one_line 'File name too long' && [[ ! -e dst ]]
}
it "refuses a name that is too long for a socket" long_name
it "shows both in the plan" eval \
    '"$blocks" make src 1k && exits 0 "$pardd" -dv if=src of=dst rate=2M ioprio=idle && grep -qx rate=2097152 out &&
    grep -qx ioprio=idle out'

# -------------------------------------------------------------------- control=

command -v socat >/dev/null || {
	skip "no socat" "control="
	exit
}

# slow OPERANDS...: a copy that would take minutes, and has a socket
slow()
{
	"$blocks" make src 2M || return
	"$pardd" if=src of=dst rate=4096 control=ctl "$@" 2>err &
	until_true 20 test -S ctl && until_true 20 test -e dst
}
# tell COMMAND: the answer
tell()
{
	echo "$1" | socat -t 5 - UNIX-CONNECT:ctl
}
answers()
{
	local got
	got=$(tell "$1")
	[[ $got =~ ^$2$ ]] || fail "$1: $got"
}
# A rate that is out of reach, so that it ends.
end_well()
{
	answers rate=0 ok && wait $! && complete && same src dst && [[ ! -e ctl ]]
}
# ticks PID: of the CPU
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}
knocked()
{
	local pid before
	slow && pid=$! && prlimit --pid "$pid" --nofile=5: || return
	tell status >answer &
	sleep 0.3 && before=$(ticks "$pid") && sleep 1 || return
	(($(ticks "$pid") - before < 10)) || fail "$(($(ticks "$pid") - before)) ticks of the CPU in 1 s" || return
	prlimit --pid "$pid" --nofile=1024: && until_true 5 grep -q phase= answer || return
	answers rate=0 ok && wait "$pid" && complete && same src dst
}
it "does not spin where there is no descriptor for a client" knocked
changed()
{
	rm -f dst
	slow bs=1k thr=4 && sleep 0.3 && answers rate=1M ok && wait $! && complete && same src dst
}
it "changes the rate while it runs" paced 2.2 20 changed
lifted()
{
	rm -f dst
	slow && end_well
}
it "lifts the limit while it runs" paced 0 60 lifted
status()
{
	slow ioprio=be:6 && answers status 'phase=copying bytes_read=[0-9]+ bytes_written=[0-9]+ bytes_unreadable=0 bytes_finished=[0-9]+ bytes_left=[0-9]+ length=2097152 seconds=[0-9.]+ rate=4096 ioprio=be:6 stopping=0 stalled=none stalled_seconds=0' &&
	    end_well
}
it "answers status" status
lines()
{
	slow && [[ $(printf 'rate=5k\r\nstatus\nioprio=be:3\nstatus' | socat -t 5 - UNIX-CONNECT:ctl |
	    sed 's/.* rate/rate/; s/ stopping=.*//' | paste -sd ' ') = 'ok rate=5120 ioprio=none ok rate=5120 ioprio=be:3' ]] && end_well
}
it "answers each line, the last without its end, too" lines
wrong()
{
	slow && answers go 'error: .*' && answers rate=4095 'error: .*' && answers rate= 'error: .*' &&
	    answers ioprio=be:8 'error: .*' && answers "$(printf '%0500d' 0)" '' && answers '' 'error: .*' && end_well
}
it "says what is wrong with a command, and goes on" wrong
forgotten()
{
	slow || return
	sleep 30 | socat - UNIX-CONNECT:ctl &
	undo kill $!
	local idle=$!
	sleep 0.2
	answers rate=5k ok && answers rate=0 ok && kill "$idle" && wait %1 && complete
}
it "is not kept by one who is silent" forgotten
mode()
{
	umask 0
	slow && [[ $(stat -c %a ctl) = 600 ]] && end_well
}
it "lets only the owner at the socket" mode
it "replaces a socket that was left behind" eval \
    'slow && kill -KILL $! && { wait $!; [[ -S ctl ]]; } && rm dst && slow && end_well'
it "refuses a socket in use, and a file" eval \
    'slow && exits 67 "$pardd" if=src of=dst2 control=ctl && one_line control= && [[ ! -e dst2 ]] && end_well &&
    touch ctl && exits 67 "$pardd" if=src of=dst2 control=ctl && [[ ! -e dst2 && -f ctl ]]'
# The socket of the first run is gone, and the second has made its own there.
of_another()
{
	local first second
	slow && first=$! && rm ctl || return
	"$pardd" if=src of=dst2 rate=4096 control=ctl 2>err2 &
	second=$!
	until_true 20 test -S ctl && until_true 20 test -e dst2 && kill -TERM $first || return
	wait $first
	[[ -S ctl ]] && answers rate=0 ok && wait $second && same src dst2 && [[ ! -e ctl ]]
}
it "takes only its own socket away" of_another
foreseen()
{
	"$blocks" make src 1k && touch ctl && exits 67 "$pardd" -dv if=src of=dst control=ctl && one_line control= &&
	    exits 52 "$pardd" -dv if=src of=dst control=none/ctl && one_line control= &&
	    exits 0 "$pardd" -dv if=src of=dst control=ctl2 && [[ ! -e ctl2 ]]
}
it "refuses the same with -d, and makes no socket" foreseen
it "refuses a socket among the devices" refused 'in the device file system' iflag=00 of=dst count=1 control=/dev/pardd-test
it "takes the socket away after a signal" eval 'slow && kill -TERM $! && { wait $!; [[ ! -e ctl ]]; }'

# --------------------------------------------------------------------- ioprio=

# all_are PRIORITY: of all threads
all_are()
{
	local t
	for t in "/proc/$!/task"/*; do
		[[ $(ionice -p "${t##*/}") = "$1" ]] || fail "$(ionice -p "${t##*/}")" || return
	done
}
if able 'command -v ionice' "no ionice"; then
	idle()
	{
		slow ioprio=idle && until_true 10 test "/proc/$!/task/$!" && all_are idle && end_well
	}
	it "sets the priority of all threads" idle
	changed_priority()
	{
		slow bs=1k thr=16 && answers ioprio=be:5 ok && all_are 'best-effort: prio 5' &&
		    answers ioprio=idle ok && all_are idle && end_well
	}
	it "changes the priority of all threads while it runs" changed_priority
fi
forbidden()
{
	local may='setpriv --bounding-set -sys_nice,-sys_admin --inh-caps=-all' look=$1
	"$blocks" make src 1k || return
	# shellcheck disable=SC2086
	exits 51 $may "$pardd" $look if=src of=dst ioprio=rt:1 && one_line ioprio= && [[ ! -e dst ]]
}
if able 'command -v setpriv && setpriv --bounding-set -sys_nice,-sys_admin true' "no setpriv, or not root"; then
	it "does not begin with a priority that it may not have" forbidden ''
	it "says so with -d, too" forbidden -d
fi
