#!/usr/bin/env bash
# Signals, and what does not come back: how a run ends then, and what it says.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# Start a copy that takes long if let alone; its pid in $pid.  $rules come first.
slowly()
{
	"$blocks" make src "$bytes" || return
	with_faults "${rules-}on=$PWD/src op=read sleep=${delay:-20} fail=EINTR every=2" \
	    "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=16 "$@" >out 2>err &
	job=$!
	until_true 20 test -s dst && pid=$(sed -n 's/^pid //p' how)
}
bytes=$((64 << 20))
# What is there after a signal: as much as the report says, and all of it right.
truthful()
{
	local n
	n=$(sed -n 's/^\([0-9]*\) bytes.* copied.*/\1/p' err)
	says '^[0-9]+\+[0-9]+ records in$' && says '^[0-9]+\+[0-9]+ records out$' &&
	    does_not_say '^pardd: complete' || return
	((n > 0 && n < bytes)) || fail "$n bytes, it says" || return
	size_is dst "$n" && holds dst 0 0 "$n"
}
drains()
{
	slowly "thr=$3" && kill -"$1" "$pid" || return
	wait "$job"
	ended signal "$2" && truthful && says 'note: .* oflag=sparing skips'
}
for thr in $(few 1 16); do
	it "finishes what is in flight on SIGINT, reports, and dies of it ($thr workers)" drains INT 2 "$thr"
done
it "does so on SIGTERM" drains TERM 15 4
it "does so on SIGHUP" drains HUP 1 4
it "does so on SIGQUIT" drains QUIT 3 4
quit_core()
{
	ulimit -c 0
	drains QUIT 3 1
}
it "does so on SIGQUIT without a core" quit_core

# Reads that never return: they cannot be waited for.
stuck()
{
	"$blocks" make src 2M
	with_faults "on=$PWD/src op=read at=1048576+512 hang" \
	    "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=16 thr=4 >out 2>err &
	job=$!
	until_true 20 test -s dst && pid=$(sed -n 's/^pid //p' how) && until_true 20 grep -qs . faults
}
leaves_at_once()
{
	stuck && kill -"$1" "$pid" && heard || return
	kill -0 "$pid" || fail "it did not wait for what is in flight" || return
	kill -"${3:-$1}" "$pid"
	until_true 5 grep -q signal how && ended signal "$2" && does_not_say '^pardd: complete'
}
it "leaves at once on a second SIGINT" leaves_at_once INT 2
it "leaves at once on a second SIGTERM" leaves_at_once TERM 15
leaves_at_another()
{
	leaves_at_once INT 2 TERM &&
	    says '^pardd: NOT complete: stopped by SIGINT; quit at SIGTERM, with transfers in flight$'
}
it "leaves at once on another signal, and names both" leaves_at_another
# One signal, and nothing comes back: it leaves without waiting, after ten seconds.
leaves_alone()
{
	stuck && took=$EPOCHREALTIME && kill -TERM "$pid" || return
	wait "$job"
	took=$(since "$took")
	ended signal 15 && does_not_say '^pardd: complete|records' &&
	    says '^pardd: NOT complete: stopped by SIGTERM; quit after 10 s .* answer from src$' || return
	((took >= 9900)) || fail "after $took ms"
}
leaves_flush()
{
	"$blocks" make src 1M && touch dst || return
	with_faults "on=$PWD/dst op=flush hang" "$tools/ends" how "$pardd" if=src of=dst 2>err &
	job=$!
	until_true 20 grep -qs waits faults && kill -INT "$(sed -n 's/^pid //p' how)" || return
	wait "$job"
	ended signal 2 && says 'stopped by SIGINT; quit after 10 s while dst was being flushed$'
}
leaves()
{
	aside leaves_alone && aside leaves_flush && all_well
}
it "leaves by itself when a read or a flush does not come back" leaves
# repeated SIGNAL NUMBER MS: the same signal once more, within that time
repeated()
{
	"$blocks" make src "$bytes" && : >dst || return
	with_faults "on=$PWD/src op=read sleep=20 fail=EINTR every=2;on=$PWD/dst op=flush until=$PWD/go" \
	    "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=16 2>err &
	job=$!
	until_true 20 test -s dst && pid=$(sed -n 's/^pid //p' how) || return
	took=$EPOCHREALTIME
	kill -"$1" "$pid" && noticed && kill -"$1" "$pid"
	took=$(since "$took")
	((took > $3)) || { sleep 0.1; kill -0 "$pid"; } || fail "it left at the second" || return
	touch go
	wait "$job"
	ended signal "$2" && { ((took > $3)) || truthful; }
}
# The kernel sends one SIGHUP, the shell another.
it "takes the two SIGHUPs of a terminal that hangs up for one" promptly 900 repeated HUP 1 900
# timeout(1) sends it to the command, and to all of its process group.
it "takes the two SIGTERMs of timeout for one" promptly 150 repeated TERM 15 150
it "does so with SIGINT" promptly 150 repeated INT 2 150
# A second one comes when nothing is in flight any more, and nobody has read it.
repeated_late()
{
	"$blocks" make src "$bytes" && : >dst || return
	with_faults "on=$PWD/src op=read sleep=20;on=$PWD/json op=close until=$PWD/go" \
	    "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=16 json=json 2>err &
	job=$!
	until_true 20 test -s dst && pid=$(sed -n 's/^pid //p' how) && kill -TERM "$pid" &&
	    until_true 20 grep -q '^waits' faults && kill -TERM "$pid" && touch go || return
	wait "$job"
	ended signal 15 && truthful
}
it "... and reports if the second comes at the very end" repeated_late
hung_up_again()
{
	stuck && kill -HUP "$pid" && noticed && sleep 1.2 && kill -HUP "$pid" &&
	    until_true 20 grep -q signal how && ended signal 1 && does_not_say '^pardd: complete'
}
it "leaves at once on a later SIGHUP" hung_up_again
# Workers that come back from a slow read after a second signal, while the
# program is kept from ending: what they use must be there still.
wait_all()
{
	as_large dst 1048576 && [[ $(grep -cs '^waits 1' faults) = 4 ]]
} 2>/dev/null
late()
{
	"$blocks" make src 2M
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_stack_use_after_return=1 with_faults \
	    "on=$PWD/src op=read at=1048576+1048576 until=$PWD/go;on=$PWD/json op=close until=$PWD/end" \
	    "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=16 thr=4 json=json >out 2>err &
	until_true 20 wait_all && pid=$(sed -n 's/^pid //p' how) && kill -TERM "$pid" &&
	    heard && kill -TERM "$pid" && until_true 20 grep -q '^waits 0' faults &&
	    ! as_large dst 1048577 && touch go && until_true 20 cmp -sn 1081344 src dst &&
	    touch end && until_true 20 grep -q signal how && ended signal 15 && cmp -n "$(stat -c %s dst)" src dst
}
it "takes nothing away from workers that are late" late
stuck_pipe()
{
	mkfifo p
	{ "$blocks" make - 1000; sleep 100; } >p &
	"$tools/ends" how "$pardd" if=p of=dst thr=4 2>err &
	until_true 20 test -e dst && pid=$(sed -n 's/^pid //p' how) && sleep 0.1 && kill -INT "$pid" || return
	until_true 3 grep -q signal how || {
		kill -INT "$pid"
		until_true 20 grep -q signal how
	}
	ended signal 2
}
it "can be stopped while it waits for a pipe" stuck_pipe
stuck_reader()
{
	"$blocks" make src 2M && mkfifo p || return
	{ exec 3<p; sleep 100; } &
	"$tools/ends" how "$pardd" if=src of=p thr=4 2>err &
	until_true 20 test -s how && sleep 0.3 && pid=$(sed -n 's/^pid //p' how) && kill -INT "$pid" || return
	until_true 3 grep -qs 'finishing what\|stopped by' err
	sleep 0.1
	kill -INT "$pid" 2>/dev/null
	until_true 20 grep -q signal how && ended signal 2 && does_not_say '^pardd: complete'
}
it "can be stopped while nobody reads its pipe" stuck_reader
# unread ARGUMENTS...: standard error is a pipe that is full; the pid in $pid
stuffed()
{
	mkfifo full && exec 7<>full || return
	dd if=/dev/zero of=full bs=4k oflag=nonblock 2>/dev/null
	:
}
unread()
{
	"$blocks" make src 2M && stuffed || return
	"$tools/ends" how "$pardd" if=src of=dst json=json "$@" 2>&7 &
	until_true 20 test -s dst && pid=$(sed -n 's/^pid //p' how)
}
# unread_stop once|twice: by one signal, with its verdict; by a second one at once
unread_stop()
{
	unread rate=50k progress=1 && sleep 1.3 && kill -TERM "$pid" &&
	    until_true 20 grep -q '"event":"result"' json && grep -q '"status":143' json || return
	sleep 0.2
	kill -0 "$pid" || fail "it did not wait for a reader" || return
	[[ $1 = once ]] || kill -TERM "$pid"
	until_true "$([[ $1 = once ]] && echo 10 || echo 3)" grep -q signal how && ended signal 15
}
it "can be stopped by a signal while nobody reads its messages" unread_stop once
it "... and by a second one at once" unread_stop twice
unread_end()
{
	unread status=progress && until_true 20 grep -q '"event":"result"' json && sleep 0.2 &&
	    kill -TERM "$pid" && until_true 20 grep -q signal how && ended signal 15
}
it "can be stopped when the copy is over, and nobody reads its messages" unread_end
# deaf: it has SIGTERM blocked
deaf()
{
	pid=$(sed -n 's/^pid //p' how) && [[ -n $pid ]] &&
	    (($(sed -n 's/^SigBlk:[[:space:]]*/0x/p' "/proc/$pid/status") & 1 << 14))
}
unread_plan()
{
	"$blocks" make src 2M && stuffed || return
	"$tools/ends" how "$pardd" if=src of=dst json=json verbose=1 2>&7 &
	until_true 10 deaf && sleep 0.2 && kill -TERM "$pid" &&
	    until_true 5 grep -q '"status":143' json && sleep 0.2 && kill -TERM "$pid" &&
	    until_true 5 grep -q signal how && ended signal 15
}
it "can be stopped while nobody reads its plan" unread_plan
# There is room for the first lines.
unread_list()
{
	"$blocks" make src 2M && stuffed && head -c 4096 <&7 >/dev/null || return
	with_faults "on=$PWD/src op=read at=$(printf '%d+512,' {1024..262144..2048})0+1 fail=EIO" \
	    "$tools/ends" how "$pardd" if=src of=dst json=json coe=1 2>&7 &
	until_true 20 grep -q '"event":"result"' json && sleep 0.5 || return
	pid=$(sed -n 's/^pid //p' how)
	kill -0 "$pid" || fail "it did not wait for a reader" || return
	kill -TERM "$pid" && until_true 5 grep -q signal how && ended signal 15
}
it "can be stopped while nobody reads to the end of its report" unread_list
# A terminal takes half a line without waiting, and then waits for its reader.
unread_terminal()
{
	"$blocks" make src 2M || return
	cat >go <<-'END'
	echo $PPID >reader
	until [[ -e stopped ]]; do sleep 0.05; done
	dd if=/dev/zero of="$(tty)" bs=64 count="$COUNT" oflag=nonblock 2>/dev/null
	exec "$tools/ends" how "$pardd" if=src of=dst json=json coe=1
	END
	export COUNT=$1 tools pardd
	with_faults "on=$PWD/src op=read at=$(printf '%d+512,' {1024..520000..2048})0+1 fail=EIO" \
	    script -qefc 'exec bash go' screen >/dev/null </dev/null &
	until_true 10 test -s reader && kill -STOP "$(cat reader)" && : >stopped && until_true 20 grep -q '"event":"result"' json && sleep 0.5 || return
	pid=$(sed -n 's/^pid //p' how)
	kill -0 "$pid" || fail "it did not wait for a reader" || return
	kill -TERM "$pid" && until_true 8 grep -q signal how && ended signal 15
}
if able 'command -v script' "no script"; then
	it "can be stopped while nobody reads its terminal" unread_terminal 200
	it "... which is full" unread_terminal 100000
fi
# hung RULE OPERANDS...: the file system of one of the run's files does not answer
hung()
{
	"$blocks" make src 2M || return
	with_faults "$1 hang" "$tools/ends" how "$pardd" if=src of=dst "${@:2}" 2>err &
	until_true 20 grep -qs '^waits' faults && pid=$(sed -n 's/^pid //p' how)
}
hung_file()
{
	hung op=rename hash=md5 hashfile=sums json=json && until_true 10 says 'still writing the' >said &&
	    kill -TERM "$pid" && until_true 10 grep -q exit how && ended exit 15 && same src dst &&
	    says 'all was copied, but not recorded: .* does not answer$' && grep -q '"status":15' json
}
lost_with_little_stack()
{
	"$blocks" make src 2M || return
	FAULTS="on=$PWD/src op=read at=1000000+1 fail=EIO" LD_PRELOAD=$shim \
	    exits 100 bash -c 'ulimit -s 40 && exec "$@"' - "$pardd" if=src of=dst map=map report=r.html && [[ -s r.html ]]
}
[[ $VARIANT != plain ]] || it "looks at what was lost with a small stack" lost_with_little_stack
# hung_close END STATUS SAYS [RULE]: ... nor when an end is closed for the last time
hung_close()
{
	local last
	"$blocks" make src 64k && : >dst &&
	    FAULT_LOG_ALL=1 with_faults "on=$PWD/$1 op=close nth=99 hang" exits 0 "$pardd" if=src of=dst hash=md5 || return
	last=$(grep -c ^close faults)
	with_faults "on=$PWD/$1 op=close nth=$last hang;${4-}" "$tools/ends" how "$pardd" if=src of=dst json=json hash=md5 hashfile=sums 2>err &
	until_true 20 grep -qs '^waits' faults && pid=$(sed -n 's/^pid //p' how) && cmp src dst &&
	    until_true 10 says 'still closing its ends' >said && kill -TERM "$pid" && until_true 12 grep -q exit how &&
	    ended exit "$2" && says "$3" && grep -q "\"status\":$2" json
}
# ... nor when the target of a rescue is searched for what was lost.
hung_look()
{
	local bad="on=$PWD/src op=read at=1000000+1 fail=EIO" last
	"$blocks" make src 2M && FAULT_LOG_ALL=1 with_faults "$bad;on=$PWD/dst op=read nth=99 hang" \
	    exits 100 "$pardd" if=src of=dst map=map && cp faults all || return
	last=$(grep -c "^read.*/dst" all)
	rm dst map
	with_faults "$bad;on=$PWD/dst op=read nth=$last hang" "$tools/ends" how "$pardd" if=src of=dst map=map json=json report=r.html 2>err &
	until_true 20 grep -qs '^waits' faults && pid=$(sed -n 's/^pid //p' how) &&
	    until_true 10 says 'still closing its ends' >said && kill -TERM "$pid" && until_true 12 grep -q exit how &&
	    ended exit 103 && says 'dst: closing: its file system does not answer' && grep -q '"status":103' json && [[ ! -e r.html ]]
}
hung_report()
{
	hung op=rename of=dst2 report=page.html && kill -TERM "$pid" && until_true 10 grep -q exit how &&
	    ended exit 15 && same src dst && same src dst2 && says 'all was copied, but not recorded'
}
hung_log()
{
	hung "on=$PWD/log op=write" log=log json=json && kill -TERM "$pid" &&
	    until_true 10 grep -q exit how && ended exit 0 && says 'log=log: it is not complete' &&
	    complete && grep -q '"status":0' json
}
it "can be stopped while the file system of one of its files does not answer" hung_file
it "... that of the report of several targets" hung_report
it "... while a target does not close, which is then not flushed" hung_close dst 103 'dst: closing: its file system does not answer'
it "... while a target is searched for what was lost" hung_look
it "... while a source does not close, which does no harm" hung_close src 0 '^pardd: complete'
# What is said of it was found out before.
hung_changed()
{
	while sleep 0.1; do
		touch -c src
	done &
	hung_close src 0 'src: was written to while it was read' "on=$PWD/src op=read nth=1 sleep=500"
}
it "... and says what has become of the target" hung_changed
it "... at once by a second signal" eval \
    'hung op=rename hash=md5 hashfile=sums && kill -TERM "$pid" && noticed && sleep 1.2 && kill -TERM "$pid" &&
    until_true 3 grep -q exit how && ended exit 15'
it "... of log=" hung_log
it "... before the copy begins" eval \
    'hung "on=$PWD op=flush" map=map && kill -TERM "$pid" && until_true 3 grep -q signal how && ended signal 15 &&
    [[ ! -s dst ]]'
ignored()
{
	export ENDS_IGNORE=$2
	delay=2 bytes=2M
	slowly thr=4 bpt=2 && kill -"$1" "$pid" || return
	wait "$job"
	ended exit 0 && complete && holds dst 0 0 2M
}
it "ignores SIGINT if it was ignored at the start" ignored INT 2
it "ignores SIGHUP if it was ignored at the start (nohup)" ignored HUP 1
storm()
{
	local n=0 rules="on=$PWD/src op=read at=2096640+512 until=$PWD/go;"
	delay=2 bytes=2M
	slowly thr=4 bpt=2 || return
	while kill -USR1 "$pid" 2>/dev/null && ! grep -q exit how; do
		n=$((n + 1))
		((n < 100)) || touch go
		sleep 0.002
	done
	wait "$job"
	((n > 20)) || fail "only $n signals" || return
	ended exit 0 && complete && holds dst 0 0 2M && (($(grep -c ' bytes.* copied' err) > 2))
}
it "loses nothing in a storm of SIGUSR1" storm
storm_pipe()
{
	mkfifo p
	"$blocks" drip 8M >p &
	"$tools/ends" how "$pardd" if=p of=dst bs=512 bpt=16 thr=16 2>err &
	job=$!
	until_true 20 test -s dst
	pid=$(sed -n 's/^pid //p' how)
	while kill -USR1 "$pid" 2>/dev/null && ! grep -q exit how; do
		sleep 0.002
	done
	wait "$job"
	ended exit 0 && holds dst 0 0 8M && size_is dst 8388608
}
it "loses nothing of a pipe in a storm of SIGUSR1" storm_pipe
one_report()
{
	slowly thr=4 && kill -USR1 "$pid" && until_true 20 grep -q ' copied' err &&
	    [[ $(grep -c 'records in$' err) = 1 ]] && kill -INT "$pid" && wait "$job"
	ended signal 2 && [[ $(grep -c 'records in$' err) = 2 ]]
}
it "reports once for one SIGUSR1, and goes on" one_report
timed()
{
	slowly thr=4 time=1 && kill -USR1 "$pid" && until_true 20 grep -q ' copied' err &&
	    says '^time to transfer data was [0-9]+\.[0-9]{6} secs, ' && kill -INT "$pid" && wait "$job"
	ended signal 2
}
it "... with the time, with time=1" timed
