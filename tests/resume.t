#!/usr/bin/env bash
# A rescue that is stopped or killed at any moment: its map is true, and the next run
# continues from there.
# shellcheck disable=SC1091,SC2016,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

# ------------------------------------------------------- stopped, and gone on

# Stopped when some errors more have been met, until all is done; the phases met
# are in the file met.
met_some()
{
	(($(grep -c . faults) >= $1)) || grep -q ^exit how
} 2>/dev/null
stop_and_go()
{
	local n c slow
	in_memory
	stuff
	slow="until=$PWD/go"		# the first time, in the first pass
	: >met
	for ((n = 0; n < 200; n++)); do
		rm -f faults
		FAULTS="on=$PWD/src op=read at=$bad fail=EIO $slow" FAULT_LOG=$PWD/faults \
		    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 "${@:3}" 2>err &
		until_true 30 met_some "$((n == 0 ? 1 : $2))"
		kill -INT "$(awk '$1 == "pid" { print $2 }' how)" 2>/dev/null
		[[ -e go ]] || until_true 30 grep -q 'SIGINT: finishing' err || return
		: >go
		wait $!
		slow=sleep=$1
		c=$(awk '!/^#/ { print $2; exit }' map)
		grep -q '^exit ' how || echo "$c" >>met
		honest || return
		! grep -q '^exit ' how || break
		rm how
	done
	grep -q '^exit 100 ' how || fail "ends: $(<how) $(<err)"
}
interrupted()
{
	bad=51200+15360,409600+512,1024000+51200,2000384+512
	stop_and_go "$1" "$3" thr="$2" bpt=8 && is - "$bad" && is '?*/' '' && honest || return
	grep -qxF '?' met || fail "never stopped in ?: $(sort met | uniq -c)" || return
	(($(grep -c . met) > 3))
}
it "is stopped again and again, and finds the same (1 worker)" interrupted 20 1 5
it "is stopped again and again, and finds the same (16 workers)" interrupted 30 16 5

# A run that goes on takes the date of the target off the map first.
killed_at_once()
{
	local at='0x00032000     /               1'
	bad=$some
	in_memory
	stuff && rescue 100 '' rescue=noscrape && grep -q written= map || return
	sed -i "0,/^0x.*/s|^0x.*|$at|" map
	FAULTS="on=$PWD/dst op=write until=$PWD/go" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst map=map bs=512 2>err &
	until_true 30 eval "! grep -q written= map" || return
	kill -"$1" "$(awk '$1 == "pid" { print $2 }' how)"
	: >go
	wait $!
	ended "${@:2}" || return
	[[ $(grep -m 1 ^0x map) = "$at" ]] || fail "$(grep -m 1 ^0x map)"
}
it "goes on in the same pass after it was killed before it had copied anything" killed_at_once KILL signal 9

# The other one's maps: handed over in each phase, both ways.
handed_over()
{
	local n words
	bad=$some
	in_memory
	for n in -N -n -nN ''; do
		stuff && rm -f map theirs theirs.map && cp old theirs && their $n &&
		    mv theirs dst && mv theirs.map map && cp map before &&
		    rescue 100 '' && is - "$bad" && is '?*/' '' && honest || fail "from ddrescue $n" || return
	done
	for words in notrim noscrape notrim,noscrape; do
		stuff && rm -f map theirs theirs.map && rescue 100 '' rescue=$words &&
		    mv dst theirs && cp map theirs.map && their && is - "$bad" theirs.map &&
		    is '?*/' '' theirs.map && mv theirs dst && cp theirs.map map &&
		    honest || fail "from pardd with $words" || return
		rescue 100 '' && is - "$bad" || return
	done
}
handed_over_midway()
{
	local n
	bad=51200+1536,409600+512,1024000+10240,2000384+512
	in_memory
	for n in 1 2 3 4 5 6; do
		stuff && rm -f map* theirs* && cp old theirs
		FAULTS="on=$PWD/src op=read at=$bad fail=EIO sleep=10" LD_PRELOAD=$shim \
		    ddrescue -q -c 8 src theirs theirs.map &
		sleep 0.0$((n * 2 - 1))
		kill -INT $! 2>/dev/null
		wait $!
		[[ -s theirs.map ]] || continue
		mv theirs dst && mv theirs.map map && rescue 100 '' && is - "$bad" &&
		    is '?*/' '' && honest || fail "round $n" || return
	done
	# and the other way round
	for n in 1 2 3 4; do
		stuff && rm -f map* theirs* how
		FAULTS="on=$PWD/src op=read at=$bad fail=EIO sleep=20" LD_PRELOAD=$shim \
		    "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 bpt=8 2>err &
		until_true 20 test -s how && sleep 0.0$((n * 2))
		kill -INT "$(awk '$1 == "pid" { print $2 }' how)" 2>/dev/null
		wait $!
		cp old theirs
		[[ ! -s map ]] || { mv map theirs.map && mv dst theirs; } || return
		their && is - "$bad" theirs.map && is '?*/' '' theirs.map &&
		    mv theirs dst && mv theirs.map map && honest || fail "back, round $n" || return
	done
}
if able '[[ -n $peer ]]' "no ddrescue"; then
	it "goes on where ddrescue stopped, and ddrescue where it did" handed_over
	it "... stopped at any moment" handed_over_midway
fi

interval()
{
	slowly "$half" mapinterval=1
	until_true 20 has + && ! [[ -s how && $(<how) = *exit* ]] || return
	cp map early && "$maps" check -p early src dst old 0 0 $size && touch go && wait $! &&
	    is + 0+$size && same src dst
}
it "saves the map each second with mapinterval=1" interval

# A read that hangs: the map is there within two seconds, and so is the end.
hang()
{
	bad=1048576+512
	stuff
	FAULTS="on=$PWD/src op=read at=$bad hang" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 bpt=64 "$@" 2>err &
	until_true 20 grep -qs waits faults && sleep 0.2
	! has + || fail "the map was saved too early for the case" || return
	took=$EPOCHREALTIME
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && until_true 20 has + || return
	took=$(since "$took")
	heard && "$maps" check map src dst old 0 0 $size && ! grep -q '^exit' how || return
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && wait $!
	ended signal 2 && is + "$("$maps" list map +)" && has '?'
}
for thr in $(few 1 4); do
	it "saves the map within 2 s of SIGINT though a read hangs ($thr workers)" promptly 2000 hang thr=$thr
done

# begun RULES STATUS OPERANDS...: in the background, with a map of that status
begun()
{
	begun_with "0x0 0x100000 $2" '0x100000 0x100000 +' || return
	FAULTS="$1" FAULT_LOG_ALL=1 LD_PRELOAD=$shim FAULT_LOG=$PWD/faults "$tools/ends" \
	    how "$pardd" if=src of=dst map=map bs=512 "${@:3}" 2>err &
	until_true 10 test -s how
}
interrupt()
{
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && wait $!
	ended signal 2
}
# What a stopped retry had in hand is tried by the next.
retry_goes_on()
{
	local n
	bad=1048576+131072
	begun_with '0x0 0x100000 +' '0x100000 0x20000 -' '0x120000 0xE0000 +' || return
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO sleep=100" FAULT_LOG=$PWD/first \
	    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 retries="$1" thr="$2" 2>err &
	until_true 20 grep -qs '^read 1[01]' first && interrupt && rescue 100 '' retries=1 || return
	n=$(cat first faults | awk '$1 == "read" && $2 >= 1048576 && $2 < 1179648 { print $2 }' | sort -u | grep -c .)
	[[ $n = 256 ]] || fail "$n of 256 blocks were tried again"
}
for thr in $(few 1 16); do
	it "retries what a stopped run had in hand ($thr workers)" retry_goes_on 1 $thr
done
# Stopped while it meets errors only: they count if the disk is there.
stopped_dead()
{
	begun_with '0x0 0x100000 +' '0x100000 0x1000 /' '0x101000 0xFF000 +' || return
	FAULTS="on=$PWD/src op=read at=$1 fail=EIO sleep=700" FAULT_LOG=$PWD/faults \
	    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 thr=1 "${@:2}" 2>err &
	until_true 20 faulty read 3 >/dev/null && interrupt
}
out_of_time()
{
	begun_with '0x0 0x100000 +' '0x100000 0x10000 /' '0x110000 0xF0000 +' &&
	    exits 100 with_faults "on=$PWD/src op=read at=0+$size fail=EIO sleep=300" "$pardd" \
	    if=src of=dst map=map bs=512 thr=1 maxtime=1 && says 'maxtime=1 seconds' && as_before
}
it "calls bad what fails of a disk that is there when it is stopped" eval \
    'stopped_dead 1048576+4096 && [[ -n $("$maps" list map -) ]] && same dst old'
it "calls nothing bad of one that is dead" eval 'stopped_dead 0+$size && as_before && same dst old'
it "... with maxtime=, too" out_of_time
fill_stopped()
{
	begun "on=$PWD/dst op=write sleep=200" "$1" thr=1 fill=zero rescue=notrim,noscrape &&
	    until_true 10 test -s faults && interrupt && is "$1" 0+1048576 &&
	    says 'NOT complete: stopped by SIGINT; the same command resumes the copy$' && rm faults || return
	[[ $1 != - ]] || exits 100 "$pardd" if=src of=dst map=map bs=512 || return
	if [[ -n $peer ]]; then
		ddrescue -q src dst map || return
	fi
	exits "$([[ $1$peer = -* ]] && echo 100 || echo 0)" "$pardd" if=src of=dst map=map bs=512
}
it "can be stopped while it fills what is bad" fill_stopped -
it "... and what was left untrimmed" fill_stopped '*'

too_long()
{
	bpt=8 slowly '' maxtime=1
	wait $!
	ended exit 100 && honest &&
	    says 'NOT complete: stopped after maxtime=1 seconds; the same command resumes the copy$' && has + && has '?' && rescue 0 nth=999999 && same src dst
}
it "stops after maxtime=, with the map" too_long
# The last read takes longer than there is time.
just_done()
{
	"$blocks" make src 4096 && exits 0 with_faults "on=$PWD/src op=read sleep=1300" \
	    "$pardd" if=src of=dst map=map maxtime=1 && complete && same src dst
}
it "has all when nothing is left to do after maxtime=" just_done
# A read that does not come back: the run leaves without.
hangs_on()
{
	leaves_threads
	stuff && exits 100 with_faults "on=$PWD/src op=read at=1048576+65536 hang" "$pardd" \
	    if=src of=dst map=map bs=512 bpt=64 maxtime=1 mapinterval=1000 json=json &&
	    one_line 'stopped after maxtime=1 seconds; quit after 10 s without an answer from src; map is saved$' &&
	    honest && has + && has '?' && is '-*/' '' && grep -q '"status":100,' json &&
	    bad=0+512 && rescue 0 nth=999999 && same src dst
}
only plain tsan	# what is left so leaves no memory behind
it "... when a read hangs, too" hangs_on
hangs_on_unsaved()
{
	leaves_threads
	stuff && exits 100 with_faults "on=$PWD/src op=read at=1048576+65536 hang;\
op=rename from=2 fail=EROFS" "$pardd" if=src of=dst map=map bs=512 bpt=64 maxtime=1 \
	    mapinterval=1000 && one_line 'map was not saved: map: Read-only file system$'
}
it "... and says when the map could not be saved" hangs_on_unsaved
# stops_waiting RULE WHY: SIGTERM, and what is under way does not come back
stops_waiting()
{
	leaves_threads
	stuff && with_faults "$1" "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 bpt=64 \
	    mapinterval=1000 json=json 2>err &
	until_true 20 grep -qs waits faults && took=$EPOCHREALTIME &&
	    kill -TERM "$(sed -n 's/^pid //p' how)" || return
	wait $!
	(($(since "$took") >= 9900)) || fail "after $(since "$took") ms" || return
	ended signal 15 && says "stopped by SIGTERM; quit after 10 s $2" &&
	    "$maps" check -p map src dst old 0 0 $size && is '-*/' '' && grep -q '"status":143,' json && bad=0+512 && rescue 0 nth=999999 && same src dst
}
it "saves the map and leaves, 10 s after a signal, when a read hangs" stops_waiting \
    "on=src op=read at=1048576+65536 hang" 'without an answer from src; map is saved$'
it "leaves so when a flush hangs, and says that the map is as it was" stops_waiting \
    "on=dst op=flush hang" 'while dst was being flushed; map was not saved: that takes too long$'
# No flush comes back, neither the mapsaver's nor the last one.
flush_hangs()
{
	local began=$SECONDS
	leaves_threads
	stuff && exits 100 with_faults "on=$PWD/src op=read at=1048576+ sleep=50;on=$PWD/dst op=flush hang" \
	    timeout -s KILL 40 "$pardd" if=src of=dst map=map bs=512 bpt=8 thr=1 maxtime=1 "$@" &&
	    says 'maxtime=1 seconds; quit after 10 s while dst was being flushed; map was not saved: ' &&
	    nothing_safe || return
	((SECONDS - began < 20)) || fail "$((SECONDS - began)) s"
}
it "... and when a flush hangs" flush_hangs mapinterval=1000
it "... that began before" flush_hangs mapinterval=1
# The last read comes back late, but good.
late_but_done()
{
	stuff && exits 0 with_faults "on=$PWD/src op=read at=1048576+ sleep=2500" "$pardd" \
	    if=src of=dst map=map bs=512 bpt=2048 thr=1 maxtime=1 && complete && same src dst &&
	    is + 0+$size && grep -q '^# Finished' map
}
only all
it "does not call it stopped when the last read has brought all" late_but_done
# One area that takes long.
stops_inside()
{
	begun_with '0x0 0x200 -' "0x200 0xffe00 $1" '0x100000 0x100000 +' &&
	    FAULT_LOG_ALL=1 exits 100 with_faults "on=$PWD/src op=read sleep=20" "$pardd" \
	    if=src of=dst map=map bs=512 maxtime=1 thr=1 && says 'maxtime=1 seconds' || return
	(($(grep -c '^read' faults) < 300)) || fail "$(grep -c '^read' faults) reads"
}
it "stops after maxtime= within a large area that it scrapes" stops_inside /
it "... or trims" stops_inside '*'
errors_inside()
{
	bad=512+1048064
	begun_with '0x0 0x200 -' '0x200 0xffe00 /' '0x100000 0x100000 +' &&
	    rescue 100 '' maxerrors=1 thr=1 && says 'more than maxerrors=1 bad ranges; the same command with a larger maxerrors= resumes the copy$' &&
	    [[ $("$maps" list map -) =~ ^0\+512,[0-9]+\+512$ ]]
}
it "gives up after maxerrors= within a large area that it scrapes" errors_inside
errors_alone()
{
	local at lines=('0x0 0x8000 +') bad=
	for ((at = 0x8000; at < size; at += 0x10000)); do
		lines+=("$(printf '0x%X 0x200 ?' $at)" "$(printf '0x%X 0xFE00 +' $((at + 0x200)))")
		bad+=${bad:+,}$at+512
	done
	lines[-1]=$(printf '0x%X 0x7E00 +' $((size - 0x7e00)))
	begun_with "${lines[@]}" && rescue 100 '' maxerrors=1 thr=1 &&
	    says 'more than maxerrors=1 bad ranges' && (($("$maps" list map - | tr , '\n' | wc -l) == 2))
}
it "... and among blocks that lie alone" errors_alone
# careful_again: with four bad areas in a MiB the pieces are the smallest
careful_again()
{
	local at n
	bad=131072+512,262144+512,393216+512,524288+512
	stuff && cp src dst && export FAULT_LOG_ALL=1 || return
	{
		printf '0x100000 ? 1\n0 131072 +\n'
		for at in 131072 262144 393216 524288; do
			printf '%d 512 -\n%d 130560 +\n' $at $((at + 512))
		done
		printf '655360 393216 +\n1048576 %d ?\n' $((size - 1048576))
	} >map
	rescue 100 '' && is - "$bad" && same src dst || return
	n=$(longest read)
	((n <= 32768)) || fail "reads of $n bytes"
}
it "... with as much care as it had learned to take" careful_again
# A map that stopped in the last pass of the copy says nothing of what is before.
all_of_it()
{
	stuff && printf '%s\n0 0x200000 ?\n' "$1" >map && rescue 0 nth=999999 && complete && same src dst
}
it "copies what lies before the place where it goes on" all_of_it '0x100000 ? 5'
it "copies all with a map in a pass that there is not" all_of_it '0x100000 ? 99'
it "... in any other one" all_of_it '0x100000 ? 4'
# Who waits to read alone when the run is stopped reads nothing more.
waits_no_more()
{
	local n
	bad=0+$size
	stuff
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO sleep=700" LD_PRELOAD=$shim \
	    FAULT_LOG=$PWD/faults "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 \
	    bpt=64 thr=16 minrate=1 2>err &
	until_true 10 test -s faults && interrupt && n=$(grep -c '^read' faults) || return
	((n < 4)) || fail "$n reads"
}
it "reads nothing more for who waits for his turn when it is stopped" waits_no_more

# ------------------------------------------------------------------ kill -9

# Killed at any moment, in every second round while the map is being saved.
killed()
{
	local n pid rules
	in_memory
	bad=$("$maps" random 77 $size)
	stuff
	for ((n = 0; n < $1; n++)); do
		RANDOM=$n
		rules="on=$PWD/src op=read at=$bad fail=EIO sleep=$((RANDOM % 4))"
		rm -f how
		FAULTS=$rules LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst \
		    map=map bs=512 bpt=$((1 + RANDOM % 16)) thr=${thrs[n % 3]} 2>err &
		until_true 20 test -s how || return
		pid=$(awk '$1 == "pid" { print $2 }' how)
		sleep "0.$(printf %03d $((RANDOM % (n % 5 == 0 ? 300 : 60))))"
		if ((n % 2)); then
			kill -INT "$pid"
			sleep 0.00$((RANDOM % 8))
		fi 2>/dev/null
		kill -KILL "$pid" 2>/dev/null
		wait $!
		if [[ -s map ]]; then	# empty before the first save
			"$maps" check -p map src dst old 0 0 $size || fail "round $n" || return
		elif ((n > 0)) && [[ -e map.bak ]]; then
			fail "round $n: no map, and there was one" || return
		fi
		# now and then all of it begins anew
		((n % 10 != 9)) || { stuff && rm -f map map.*; }
	done
	rm -f map.pardd.tmp
	rescue 100 '' && is - "$bad" && is '?*/' '' && honest
}
kills=$(heavy 30)
[[ -z $LONG ]] || kills=1000
[[ -z $LONG || $VARIANT != plain ]] || kills=10000
it "survives kill -9 at $kills moments: no map is torn, none says too much" killed $kills

# killed_at CALL N OPERANDS...: at the Nth such call of a thread, before it is done
killed_at()
{
	exits 137 strace -f -qq -o trace -e "trace=$1" -e "inject=$1:signal=KILL:when=$2" \
	    "$pardd" if=src of=dst map=map bs=512 "${@:3}"
}
# There is a map, and the map before is the same file.
killed_between()
{
	bad=409600+512
	stuff && rescue 100 '' count=900 && killed_at /^rename 1 && [[ map -ef map.bak ]] &&
	    rescue 0 '' -d && rescue 100 '' && is - "$bad" && is '?*/' '' && honest
}
[[ $VARIANT != plain ]] || given traced "no strace" \
    it "goes on after kill -9 between the two names that the map before gets" killed_between
