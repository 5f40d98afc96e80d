#!/usr/bin/env bash
# Rescue: what the map says is true, nothing unread is written, and a run that
# was stopped, or killed, is gone on with.
# shellcheck disable=SC1091,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

maps=$tools/maps
[[ -x $maps ]] || { echo "Bail out! tools/maps is not built"; exit 1; }
size=$((2 << 20))
peer=
! command -v ddrescue >/dev/null || peer=1

# rescue STATUS RULE OPERANDS...: a run with bad sectors at $bad
rescue()
{
	exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO $2" \
	    "$pardd" if=src of=dst map=map bs=512 "${@:3}"
}
# The same by ddrescue, all of its passes, in the file theirs.
their()
{
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO" LD_PRELOAD=$shim \
	    ddrescue -q "$@" src theirs theirs.map
}
# stuff: a source, and a target that is full of something else
stuff()
{
	"$blocks" make src "${1:-$size}" && "$blocks" make dst "${1:-$size}" 9 &&
	    cp dst old
}
# is STATUS RANGES [MAP]: exactly these ranges have it in the map
is()
{
	local got
	got=$("$maps" list "${3:-map}" "$1") || return
	[[ $got = "$2" ]] || fail "$1 in the map: $got, not $2"
}
# honest [SKIP SEEK COUNT]: + in the map is right, all else untouched
honest()
{
	"$maps" check map src dst old "${1:-0}" "${2:-0}" "${3:-$size}"
}

# ------------------------------------------------------------- random truths

thrs=(1 4 16) bpts=('' bpt=1 bpt=8 bpt=100)
truth()
{
	local seed got n=$((512 << 10))
	in_memory
	for ((seed = $1; seed < $2; seed++)); do
		rm -f map theirs theirs.map
		bad=$("$maps" random "$seed" $n)
		stuff $n && rescue 100 '' thr=${thrs[seed % 3]} ${bpts[seed % 4]} &&
		    is - "$bad" && is '?*/' '' && honest 0 0 $n ||
		    fail "seed $seed" || return
		[[ -n $3 ]] || continue
		cp old theirs
		their && got=$("$maps" list map +) && is + "$got" theirs.map &&
		    is - "$bad" theirs.map && same dst theirs ||
		    fail "seed $seed, beside ddrescue" || return
	done
}
# A few at a time: a case may take only so long, and machines can be slow.  The
# peer's answers are the same in all variants.
sets=$(heavy 100) step=50
[[ -z $LONG ]] || sets=10000
beside=$peer
[[ $VARIANT = plain ]] || beside=
for ((first = 1; first <= sets; first += step)); do
	last=$((first + step - 1 < sets ? first + step - 1 : sets))
	it "finds exactly the bad blocks of disks $first to $last${beside:+, as ddrescue does}" \
	    truth $first $((last + 1)) "$beside"
done
[[ -n $peer ]] || skip "no ddrescue" "finds what ddrescue finds"

# Positions are the source's; what lies outside stays in the map.
part()
{
	local seed skip seek count n=$((size / 512)) all in
	in_memory
	for ((seed = 1; seed <= $1; seed++)); do
		rm -f map
		RANDOM=$seed
		bad=$("$maps" random $((seed + 5000)) $size)
		skip=$((RANDOM % (n / 2))) seek=$((RANDOM % n))
		count=$((1 + RANDOM % (n / 2)))
		stuff && run with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		    "$pardd" if=src of=dst map=map bs=512 thr=${thrs[seed % 3]} \
		    skip=$skip seek=$seek count=$count
		[[ $status = 0 || $status = 100 ]] || fail "$(<err)" || return
		honest $((skip * 512)) $((seek * 512)) $((count * 512)) || return
		all=$("$maps" list map '+-') in=$((skip * 512))+$((count * 512))
		[[ $all = "$in" ]] || fail "seed $seed: $all, not $in" || return
	done
}
it "keeps to a part, in the positions of the source" part "$(heavy 20)"
outside()
{
	bad=409600+512,1024000+1024
	stuff && rescue 100 '' skip=100 seek=100 count=900 && is - 409600+512 &&
	    honest 51200 51200 460800 && cp map first &&
	    rescue 100 '' skip=1500 seek=1500 count=600 && is - 409600+512,1024000+1024 &&
	    is + 51200+358400,410112+101888,768000+256000,1025024+50176 &&
	    honest && rescue 100 '' && is - "$bad" && is '?*/' '' && honest
}
it "keeps in the map what lies outside the copy, and goes on from it" outside
nothing_left()
{
	bad=409600+512
	stuff && rescue 0 '' count=700 && complete && does_not_say already &&
	    rescue 0 '' count=700 && complete && says '^0 bytes' && is + 0+358400 &&
	    says '358400 bytes were copied already .map., and not again$'
}
it "copies nothing twice, and ends 0 when all that was asked for is there" nothing_left
window_bad()
{
	bad=409600+512
	stuff && rescue 100 '' count=900 && rescue 0 '' count=700 && complete &&
	    rescue 100 '' count=900
}
it "judges only the part that was asked for" window_bad

# ------------------------------------------------------------ phase by phase

some=51200+1536,409600+512,1024000+102400,2000384+512
# By words: each run does one phase more.
phases()
{
	in_memory
	bad=$some
	stuff && rescue 100 '' rescue=notrim,noscrape "$@" && honest &&
	    [[ -n $("$maps" list map '*') ]] && is '?/' '' &&
	    rescue 100 '' rescue=noscrape "$@" && honest && is '?*' '' &&
	    [[ -n $("$maps" list map /) ]] &&
	    rescue 100 '' "$@" && is - "$bad" && is '?*/' '' && honest &&
	    rescue 0 'times=1' retries=2 "$@" && honest && complete && same src dst
}
for thr in $(few 1 4 16); do
	it "stops before each phase and goes on with it ($thr workers)" phases thr=$thr
	it "... backwards ($thr workers)" phases thr=$thr rescue=reverse
	it "... in small requests ($thr workers)" phases thr=$thr bpt=8
done
notrim()
{
	bad=$some
	stuff && rescue 100 '' rescue=notrim "$@" && honest && is '/?' '' &&
	    [[ -n $("$maps" list map '*') ]] && grep -q '^0x[0-9A-F]* *+' map
}
it "leaves failed reads alone with notrim" notrim
# Six runs of 2 MiB, one each 10 MiB, that begin and end within a piece.
pattern()
{
	local i
	bad=1000448+2097152
	for ((i = 1; i < 6; i++)); do
		bad+=,$((1000448 + i * 10485760))+2097152
	done
	in_memory
	stuff 64M && rescue 100 '' rescue=nosweep json=json &&
	    says '^pardd: src: 2.0 MiB of every 10 MiB cannot be read, 6 times: a dead head' &&
	    [[ $(grep -c '"pattern"' json) = 1 ]] &&
	    grep -q '"event":"pattern","length":2097152,"period":10485760,"share":0.2}' json
}
it "tells of bad areas that a dead head would leave" pattern
noscrape()
{
	bad=1024000+102400
	stuff && rescue 100 '' rescue=noscrape && honest && is '?*' '' &&
	    is - 1024000+512,1125888+512 && is / 1024512+101376
}
it "finds only the ends of a bad area with noscrape" noscrape
# The midst stays untried, also when the run is repeated; what adjoins it is not
# scraped.
nosweep()
{
	local left size=$((8 << 20))
	bad=2097152+4194304
	stuff && rescue 100 '' rescue=nosweep "$@" && honest && left=$("$maps" list map '?') &&
	    [[ $left =~ ^[0-9]+\+[0-9]+ ]] && is '*' '' &&
	    says 'NOT complete: [0-9]* bytes could not be read, and [0-9]* between them were not tried, with rescue=nosweep; map tells where' &&
	    grep -qx '0x[0-9A-F]* *? *4' map && rescue 100 '' rescue=nosweep "$@" && honest &&
	    ! faulty read && [[ $("$maps" list map '?') = "$left" ]] &&
	    rescue 100 '' "$@" && is - "$bad" && is '?*/' '' && honest
}
for thr in $(few 1 4); do
	it "leaves out what is likely dead with nosweep ($thr workers)" nosweep thr=$thr
done
advice()
{
	bad=1024000+102400
	stuff && rescue 100 '' rescue=noscrape &&
	    says 'map tells where, and the same command without rescue= goes on$' &&
	    rescue 100 '' && says 'map tells where, and with retries= it is tried again$' &&
	    rescue 100 '' retries=1 && says 'map tells where, and the same command tries again$'
}
it "says which command would read more" advice
sorted()
{
	local order=-n
	[[ $1 = up ]] || order=-rn
	diff <(awk '$1 == "read" { print $2 }' faults) \
	    <(awk '$1 == "read" { print $2 }' faults | sort -s $order)
}
ways()
{
	export FAULT_LOG_ALL=1
	stuff && exits 0 with_faults "on=$PWD/src op=read" "$pardd" if=src of=dst \
	    map=map bs=512 thr=1 bpt=8 && faulty read 500 && sorted up && rm map &&
	    exits 0 with_faults "on=$PWD/src op=read" "$pardd" if=src of=dst \
	    map=map bs=512 thr=1 bpt=8 rescue=reverse && faulty read 500 && sorted down
}
it "reads forwards, and backwards with reverse" ways
retry_ways()
{
	bad=$some
	stuff && rescue 100 '' thr=1 || return
	rescue 100 '' thr=1 retries=1 && sorted up && faulty read 200 || return
	n=$(grep -c '^read' faults)
	rescue 100 '' thr=1 retries=2 && is - "$bad" && ! sorted up >/dev/null || return
	mv faults both
	head -n "$n" both >faults && sorted up || return
	tail -n +$((n + 1)) both >faults && sorted down
}
it "retries forwards, then backwards" retry_ways
healing()
{
	bad=$some
	stuff && rescue 100 '' && is - "$bad" && rescue 100 times=3 retries=2 &&
	    [[ -n $("$maps" list map -) ]] && rescue 0 times=3 retries=9 "$@" &&
	    is + 0+$size && complete && same src dst
}
it "reads what a retry brings back" healing
it "reads what a retry brings back, with 16 workers" healing thr=16
give_up()
{
	bad=$some
	stuff && rescue 100 '' retries=3 thr=1 && is - "$bad" && honest || return
	(($(grep -c "^read 409600 512 -5" faults) <= 6))
}
it "gives up after the passes it was allowed" give_up
# A piece that is no longer than a block, and lies in two of them.
straddles()
{
	bad=$1
	stuff && cp src dst && dd if=old of=dst bs=1 skip=300 seek=300 count=400 conv=notrunc \
	    status=none && cp dst old && printf '%s\n' '0 ? 1' '0 300 +' '300 400 ?' \
	    "700 $((size - 700)) +" >map && rescue 100 '' "${@:3}" && is - "$2" &&
	    is '?*/' '' && honest
}
# The same by an odd skip=: bytes 300 to 700 of the source.
odd_skip()
{
	bad=$1
	stuff && rescue 100 '' iflag=skip_bytes,count_bytes skip=300 count=400 "${@:3}" &&
	    is - "$2" && is '*/' '' && honest 300 0 400
}
for way in straddles odd_skip; do
	it "loses one of two blocks that a short piece lies in ($way)" $way 0+512 300+212
	it "... the second ($way)" $way 512+512 512+188
	it "... or both ($way)" $way 0+1024 300+400 thr=1
done
skips()
{
	# a bad third in the middle: what follows it is read before most of it
	local far near
	bad=1048576+1048576
	"$blocks" make src 4M && "$blocks" make dst 4M 9 && cp dst old &&
	    export FAULT_LOG_ALL=1 && rescue 100 '' thr=1 bpt=8 || return
	is - $bad && honest 0 0 4194304 || return
	far=$(grep -n '^read 4190208 ' faults | head -n 1)
	near=$(grep -c . <(head -n "${far%%:*}" faults | grep -- '-5'))
	((near < 40)) || fail "$near errors met before the end was read"
}
it "reads what lies behind a bad area before most of the area" skips
# figure SHAPE COLUMN MOST...: of the costs of a rescue, which are counted and not
# measured: 10 seconds and 11 errors until 99 % are there, 13 errors until 99.9 %,
# 15 until all that can be read, 16 seconds and 17 errors in all.
figure()
{
	local shape=$1 is
	"$top/tests/bench/shapes" -o -t "$shape" >figures || return
	shift
	while (($# > 1)); do
		is=$(cut -f "$1" figures)
		awk -v is="$is" -v most="$2" 'BEGIN {
		    exit !(is ~ /^[0-9]/ && is + 0 <= most) }' || fail "$shape, $1: $is > $2" || return
		shift 2
	done
	cut -f 20,21 figures | grep -qx '0	0' || fail "$(<figures)"
}
if [[ $VARIANT = plain ]]; then
	it "meets few more errors than there are bad sectors before 99 % are there" figure single 11 104 17 202
	it "... than areas, of all sizes" figure mixed 11 95
	it "... than tracks, of a scratch" figure scratch 11 225
	it "... than clusters" figure clusters 11 22 15 100
	it "seeks good data between bad ends no longer than it finds some" figure ends 11 6 13 20 15 24
	it "tries for eight blocks of 512 that are one of 4096 once" figure 512e 17 42
	[[ -z $LONG ]] ||
	    it "reads what lies between areas before it reads these by the block" figure mixed64 15 1800
	it "meets an error no second time to see where it is" figure slowhead 17 4
	it "is not kept busy by jumps where a disk rotates" figure rotating 11 31 16 20 17 60
	it "does not take who waits behind a slow error for slow" figure seconds 11 8 17 16
	it "foretells where a dead head is next, of 256 times" figure dead64 11 560 15 788
	if [[ -n $LONG ]]; then
		it "... of 32 times" figure dead512 11 100 15 116
		it "... where its tracks become shorter, of 341 times" figure zones 11 820 15 1043
	fi
fi
# The longest of these calls.
longest()
{
	awk -v op="$1" '$1 == op && $3 > n { n = $3 } END { print n + 0 }' faults
}
# In pass 4, which goes forwards, each worker reads alone.
fourth()
{
	printf '%s\n' '0 ? 4' "0 $size ?" >map
}
turns()
{
	local read wrote
	bad=$((size / 2))+512
	stuff && fourth && export FAULT_LOG_ALL=1 &&
	    rescue 100 "; on=$PWD/dst op=write nth=99999 fail=EIO" && is - "$bad" &&
	    honest || return
	read=$(longest read) wrote=$(longest write)
	((read <= 65536 && wrote > read)) || fail "reads of $read bytes, writes of $wrote"
}
it "reads several small pieces in a turn where only one may read" turns
# Most of these errors are met in the middle of a turn.
turns_end()
{
	local seed i at
	in_memory
	for ((seed = 1; seed <= $1; seed++)); do
		RANDOM=$seed bad=524288+512 at=1100
		for ((i = 0; i < 6; i++)); do
			bad+=,$((at * 512))+$((512 * (1 + RANDOM % 3)))
			at=$((at + 100 + RANDOM % 400))
		done
		stuff && fourth && rescue 100 '' thr=$((2 + seed % 3)) && is - "$bad" &&
		    is '?*/' '' && honest || fail "seed $seed" || return
	done
}
it "keeps what was read in a turn before an error" turns_end "$(heavy 12)"
turns_dead()
{
	bad=0+$size
	stuff && fourth && rescue 69 from=5 thr=4 && is + 0+262144 &&
	    is '?' 262144+$((size - 262144)) && honest
}
it "... and no more, of a disk that dies in it" turns_dead

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
		    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst \
		    map=map bs=512 "${@:3}" 2>err &
		until_true 30 met_some "$((n == 0 ? 1 : $2))"
		kill -INT "$(awk '$1 == "pid" { print $2 }' how)" 2>/dev/null
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
	local c
	bad=51200+15360,409600+512,1024000+51200,2000384+512
	stop_and_go "$1" "$3" thr="$2" bpt=8 && is - "$bad" && is '?*/' '' && honest || return
	for c in '?' '/'; do
		grep -qxF "$c" met || fail "never stopped in $c: $(sort met | uniq -c)" || return
	done
	(($(grep -c . met) > 3))
}
it "is stopped again and again, and finds the same (1 worker)" interrupted 20 1 5
it "is stopped again and again, and finds the same (16 workers)" interrupted 30 16 5

# The other one's maps: handed over in each phase, both ways.
handed_over()
{
	local n words
	bad=$some
	in_memory
	for n in -N -n -nN ''; do
		stuff && rm -f map theirs theirs.map && cp old theirs && their $n &&
		    mv theirs dst && mv theirs.map map && cp map before &&
		    rescue 100 '' && is - "$bad" && is '?*/' '' && honest ||
		    fail "from ddrescue $n" || return
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
		    mv theirs dst && mv theirs.map map && honest ||
		    fail "back, round $n" || return
	done
}
if [[ -n $peer ]]; then
	it "goes on where ddrescue stopped, and ddrescue where it did" handed_over
	it "... stopped at any moment" handed_over_midway
else
	skip "no ddrescue" "goes on where ddrescue stopped"
fi

# Slow reads that go on, so that a run can be looked at; $half waits at half way
# until there is a file go.
half="on=src op=read at=1048576+ until=go"
slowly()
{
	stuff
	FAULTS="${1:+$1;}on=$PWD/src op=read sleep=60" LD_PRELOAD=$shim FAULT_LOG=$PWD/faults \
	    "$tools/ends" how "$pardd" if=src of=dst map=${map:-map} bs=512 bpt=${bpt:-128} thr=1 \
	    "${@:2}" 2>err &
}
has()
{
	[[ -s map && -n $("$maps" list map "$1") ]]
}
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
	it "saves the map within 2 s of SIGINT though a read hangs ($thr workers)" \
	    promptly 2000 hang thr=$thr
done

# ---------------------------------------------- what ends a run, and what stays

# The map says of nothing that it is finished.
nothing_safe()
{
	is + '' && is '?' 0+$size
}
flush_fails()
{
	stuff && exits 103 with_faults "on=$PWD/dst op=flush fail=EIO nth=1" \
	    "$pardd" if=src of=dst map=map && faulty fdatasync && nothing_safe &&
	    does_not_say '^pardd: complete'
}
it "saves nothing as finished when the flush at the end fails" flush_fails
flush_fails_midway()
{
	# only the first one fails: such an error is told once
	slowly "on=$PWD/dst op=flush fail=EIO nth=1" mapinterval=1
	wait $!
	ended exit 103 && faulty fdatasync && nothing_safe && says 'flushing'
}
it "saves nothing as finished after a flush that failed midway" flush_fails_midway
write_fails()
{
	stuff && exits 55 with_faults "on=$PWD/dst op=write at=1048576+512 fail=EIO" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr="$1" && faulty write &&
	    nothing_safe
}
for thr in $(few 1 16); do
	it "saves nothing as finished after a write that failed ($thr workers)" write_fails $thr
done
# A write that hangs has met the error of another's, it may be, and the flush
# beside it meets none any more: what it brings is waited for.
write_fails_late()
{
	stuff
	FAULTS="on=$PWD/dst op=write at=1048576+512 until=$PWD/go fail=EIO;on=$PWD/dst op=flush" \
	    FAULT_LOG_ALL=1 FAULT_LOG=$PWD/faults LD_PRELOAD=$shim "$tools/ends" how "$pardd" \
	    if=src of=dst map=map bs=512 bpt=64 thr=2 mapinterval=1 2>err &
	until_true 20 flushed_beside && sleep 0.5 && touch go && wait $!
	ended exit 55 && faulty write && nothing_safe
}
flushed_beside()
{
	[[ -s faults ]] && awk '$1 == "waits" { waits = 1 }
	waits && /^f.*sync/ { flushed = 1 }
	END { exit !flushed }' faults
}
it "saves nothing as finished before a write is over that will fail" write_fails_late
# The write that has no room is the only one that is lost.
full()
{
	stuff && rm dst && exits "$2" with_faults "on=$PWD/dst op=write at=1048576+ fail=$1" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr="$3" && faulty write &&
	    is + "0+1048576" && is '-*/' '' && : >old && honest && exits 0 "$pardd" if=src \
	    of=dst map=map && same src dst
}
for thr in $(few 1 16); do
	it "saves what was written to a target that is full ($thr workers)" full ENOSPC 78 $thr
done
it "... or whose quota is used up" full EDQUOT 15 1
it "... or that may not become longer" full 27 77 1	# EFBIG
# Early write-back is met by a lane that has written 4 MiB.
full_elsewhere()
{
	local size=16777216
	stuff && exits 78 with_faults "on=$PWD/dst op=write old;on=$PWD/dst op=range fail=ENOSPC from=5" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 && faulty sync_file_range && nothing_safe
}
it "saves nothing as finished when an earlier write found no room" full_elsewhere
# The map cannot be written when it is saved; when the copy began it could.
no_room()
{
	echo "on=$PWD/map.pardd.tmp op=flush times=1;on=$PWD/map.pardd.tmp op=flush fail=ENOSPC"
}
not_saved()
{
	stuff && exits 78 with_faults "$(no_room)" "$pardd" if=src of=dst map=map json=json &&
	    faulty fsync && says 'all was copied, but map was not saved: map.*No space left' &&
	    does_not_say 'flush|^pardd: complete' && same src dst && nothing_safe &&
	    grep -q '"verdict":"stopped".*"flushed":true' json && [[ ! -e map.pardd.tmp ]]
}
it "tells of a map that could not be saved, which is no matter of the target" not_saved
not_saved_either()
{
	local at
	at=$(seq -s , -f '%.0f+512' 8192 65536 1974272)
	stuff && exits 78 with_faults "$(no_room);on=$PWD/src op=read at=$at fail=EIO" \
	    "$pardd" if=src of=dst map=map && faulty fsync && nothing_safe &&
	    says 'NOT complete: 15872 bytes could not be read, and map was not saved: .*No space' &&
	    does_not_say 'tells where|flush|see map' && [[ $(grep -c 'unreadable: bytes' err) = 31 ]]
}
it "... and does not refer to it for what is bad" not_saved_either
not_saved_midway()
{
	slowly "$(no_room)" mapinterval=1
	wait $!
	ended exit 78 && says 'NOT complete: map.pardd.tmp: writing the map: No space left[^;]*$' &&
	    nothing_safe && does_not_say flush
}
it "ends when it cannot save the map" not_saved_midway
not_saved_at_all()
{
	bad=1048576+
	stuff && exits 69 with_faults "$(no_room);on=$PWD/src op=read at=$bad fail=ENODEV" \
	    "$pardd" if=src of=dst map=map && faulty fsync && nothing_safe &&
	    says 'NOT complete: src.*No such device; map was not saved: .*No space'
}
it "tells of it beside what ended the copy" not_saved_at_all
write_back_fails()
{
	local nth seen=0 size=16777216
	for nth in 1 2 5 8 15 16; do
		rm -f map
		stuff && run with_faults "on=$PWD/dst op=range fail=EIO nth=$nth;on=$PWD/dst op=write old" \
		    "$pardd" if=src of=dst map=map bs=512 bpt=256 thr=1
		faulty sync_file_range || return
		[[ $status != 0 ]] || continue
		seen=$((seen + 1))
		nothing_safe || fail "the $nth-th" || return
	done
	((seen >= 3)) || fail "only $seen errors were noticed"
}
it "saves nothing as finished when early write-back fails" write_back_fails
# A worker has been told of the error, and not yet stopped the run, when the map
# is saved.
told_first()
{
	local tries=5 size=16777216
	until ((tries-- == 0)); do	# the map may have been saved before
		rm -f map*
		told_once
		! faulty sync_file_range || break
	done
	faulty sync_file_range && [[ $status != 0 ]] && nothing_safe &&
	    does_not_say '^pardd: complete'
}
told_once()
{
	stuff && run with_faults "on=$PWD/dst op=range,flush from=3 once fail=EIO sleep=2500;\
on=$PWD/dst op=write old" "$pardd" if=src of=dst map=map bs=512 bpt=256 thr=1 mapinterval=1
}
it "saves nothing as finished while a worker deals with that" told_first
goes_on_after()
{
	flush_fails && rescue 0 nth=999999 && same src dst && is + 0+$size
}
bad=9+1
it "copies all again after that" goes_on_after

vanishes()
{
	stuff && run with_faults "on=$PWD/src op=read at=1048576+ fail=$2" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr="$1" &&
	    [[ $status = $((50 + $3)) ]] && faulty read && is '-*/' '' && honest &&
	    is '+' 0+1048576 && (($(grep -c . faults) <= 2 * $1))
}
for thr in $(few 1 16); do
	it "ends at once when the source has gone, and counts nothing as bad ($thr workers)" \
	    vanishes $thr ENODEV 19
done
it "ends at once when the source has gone (ENXIO)" vanishes 4 ENXIO 6
timed_out()
{
	bad=409600+512,1024000+1024
	stuff && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=$1" \
	    "$pardd" if=src of=dst map=map bs=512 && is - "$bad" && is '?*/' '' && honest
}
it "goes on where the kernel has waited too long for a read" timed_out 110	# ETIMEDOUT
it "goes on where the file system is damaged" timed_out 117	# EUCLEAN
it "... or its checksum is wrong" timed_out 74	# EBADMSG
it "... or a read was lost on its way" timed_out 67	# ENOLINK
# A disk that answers to everything with errors, after a run that has read some
# of it.
# begun_with LINE...: a map of these, as ddrescue writes it; what it calls
# finished is at the target
begun_with()
{
	local at len is
	stuff && { echo '0 ? 1'; printf '%s\n' "$@"; } >map || return
	while read -r at len is; do
		[[ $is != + ]] || dd if=src of=dst bs=512 skip=$((at / 512)) \
		    seek=$((at / 512)) count=$((len / 512)) conv=notrunc status=none || return
	done < <(printf '%s\n' "$@")
	cp map before && cp dst old
}
# as_before: the map says the same of each block
as_before()
{
	local s
	for s in + - '*' / '?'; do
		is "$s" "$("$maps" list before "$s")" || return
	done
}
# same_pass: it goes on in the first pass that finds work in the map before, at
# the first of it, from $from on
from=0
same_pass()
{
	local s at
	for s in '?' '*' / -; do
		at=$("$maps" list before "$s")
		[[ -z $at ]] || break
	done
	at=${at%%+*}
	at=$(printf '0x%08X %s 1' $((at < from ? from : at)) "$s")
	[[ $(awk '!/^#/ { print $1, $2, $3; exit }' map) = "$at" ]] ||
	    fail "not $at but $(awk '!/^#/ { print; exit }' map)"
}
# dead THR LINE...: nothing becomes bad; once the disk is back it is all copied
dead()
{
	bad=0+$size
	begun_with "${@:2}" && rescue 69 '' thr="$1" retries=1 ${part-} &&
	    says 'not even for what could be read before' && as_before && same_pass &&
	    same dst old &&
	    (($(grep -c '^read' faults) <= 32 + 2 * $1)) ||
	    fail "$(grep -c '^read' faults) reads" || return
	exits 0 "$pardd" if=src of=dst map=map bs=512 thr="$1" retries=1 && complete &&
	    same src dst
}
kinds=('0x0 0x80000 +' '0x80000 0x40000 *' '0xC0000 0x80000 ?' '0x140000 0x20000 /'
    '0x160000 0x20000 -' '0x180000 0x40000 +' '0x1C0000 0x40000 ?')
# what is trimmed with two errors
spots=('0x0 0x8000 +')
for ((at = 0x8000; at < size; at += 0x8000)); do
	spots+=("$(printf '0x%X 0x4000 *' $at)" "$(printf '0x%X 0x4000 +' $((at + 0x4000)))")
done
for thr in $(few 1 16); do
	it "ends when a disk that it goes on with is dead ($thr workers)" dead $thr "${kinds[@]}"
	it "... all of which was tried ($thr workers)" dead $thr "${spots[@]}"
	it "... of whose bad blocks it is the turn ($thr workers)" \
	    dead $thr '0x0 0x100000 +' '0x100000 0x100000 -'
	it "... that has no block left untried ($thr workers)" \
	    dead $thr '0x0 0x80000 +' '0x80000 0x180000 /'
	it "... and has been dead for few reads ($thr workers)" \
	    dead $thr '0x0 0x100000 +' '0x100000 0x400 -' '0x100400 0xFFC00 +'
	it "... of blocks that nobody has tried ($thr workers)" \
	    dead $thr '0x0 0x100000 +' '0x100000 0x200 ?' '0x100200 0xFFE00 +'
done
part='skip=2048 seek=2048' from=1048576
it "... of which it read another part" dead 4 '0x0 0x80000 +' '0x80000 0x180000 ?'
part=retries=20 from=0
# from_cache THR: of what was read all is dead, but a little that was read last.
from_cache()
{
	begun_with '0x0 0x1F0000 +' '0x1F0000 0x10000 ?' && "$blocks" make src 4M &&
	    exits 69 with_faults "on=$PWD/src op=read at=0+2031616,2097152+ fail=EIO" \
	    "$pardd" if=src of=dst map=map bs=512 thr="$1" retries=1 &&
	    says 'not even for what could be read before' && is + 0+2097152 && is '-*/' ''
}
for thr in $(few 1 16); do
	it "... but for a little that it has in its cache ($thr workers)" from_cache $thr
done
# What the map has as read is the source's.  Zeros that were read beside the
# error may be on the target, but not in the map.
untold()
{
	"$maps" check -p map src dst old 0 0 $size
}
# After its errors the disk reads as zeros, all of it.
turns_to_zeros()
{
	bad=409600+512,1024000+102400
	stuff && exits 69 with_faults "on=$PWD/src op=read at=$bad fail=EIO;\
on=$PWD/src op=read from=$1 zero" "$pardd" if=src of=dst map=map bs=512 bpt=64 "${@:2}" &&
	    says 'zeros, as there are now where it had something else' && untold &&
	    [[ -n $("$maps" list map +) ]] && exits 0 "$pardd" if=src of=dst map=map retries=1 &&
	    same src dst
}
for thr in $(few 1 16); do
	it "does not believe the zeros of a disk that has met errors ($thr workers)" \
	    turns_to_zeros $((30 + 4 * thr)) thr=$thr
	it "... late ($thr workers)" turns_to_zeros $((60 + 4 * thr)) thr=$thr
done
# It does so while an error takes its time, and another worker reads on.
zeros_meanwhile()
{
	bad=393216+32768
	stuff && exits 69 with_faults "on=$PWD/src op=read at=$bad whole times=1 sleep=1000 fail=EIO;\
on=$PWD/src op=read from=38 zero" "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=2 &&
	    says 'zeros, as there are now where it had something else' && untold
}
it "... nor those that came while it was at its first error" zeros_meanwhile
gone_on_blank()
{
	begun_with '0x0 0x100000 +' '0x100000 0xF0000 ?' '0x1F0000 0x10000 -' &&
	    exits 69 with_faults "on=$PWD/src op=read at=1048576+ zero;on=$PWD/src op=read from=17 zero" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 && honest
}
it "... that a run before has met" gone_on_blank
true_zeros()
{
	"$blocks" make src 1M && truncate -s 4M src && "$blocks" make dst 4M 9 && cp dst old
	bad=2097152+512,2500096+51200
	export FAULT_LOG_ALL=1
	rescue 100 '' thr="$1" && is - "$bad" && is '?*/' '' && honest 0 0 4194304
}
for thr in $(few 1 16); do
	it "believes the zeros of a disk on which the rest is as it was ($thr workers)" true_zeros $thr
done
# What was read is a small part at the beginning, of which the first block is
# all that can be read: whatever is asked, it is not that again and again.
first_only()
{
	begun_with '0x0 0x40000 +' '0x40000 0x1C0000 ?' &&
	    exits 69 with_faults "on=$PWD/src op=read at=512+ fail=EIO" "$pardd" if=src of=dst \
	    map=map bs=512 thr=4 && as_before
}
it "... but for one block" first_only
it "... in the middle of the retries" dead 4 '0x0 0x100000 +' '0x100000 0x400 -' \
    '0x100400 0xFFC00 +'
part=
# It goes in the second retry; what failed in the first was proved to be bad.
goes_later()
{
	begun_with '0x0 0x20000 +' '0x20000 0x200 -' '0x20200 0xDFE00 +' '0x100000 0x200 -' \
	    '0x100200 0xFFE00 +' && exits 69 with_faults "on=$PWD/src op=read at=131072+512 fail=EIO \
times=1;on=$PWD/src op=read at=131072+512 fail=ENODEV" "$pardd" if=src of=dst map=map bs=512 \
	    thr=1 retries=2 && is - 131072+512 && grep -qx '0x00020200 *- *2' map ||
	    fail "$(<map)" || return
	bad=131072+512
	rescue 100 '' retries=1 && faulty read
}
it "goes on in the pass in which the source went, not where it had its first error" goes_later
all_bad()
{
	bad=0+$size
	stuff && rescue 100 '' thr="$1" && is - 0+$size && honest
}
# Most of what was read before can still be read, and nothing of what was not.
half_dead()
{
	bad=0+131072,917504+1179648
	begun_with '0x0 0x100000 +' '0x100000 0x100000 ?' && rescue 100 '' thr="$1" &&
	    is - 1048576+1048576 && is + 0+1048576 && same dst old
}
# What this run has read is read no more, but it was bad before.
weak()
{
	bad=1048576+1048576
	begun_with '0x0 0x100000 +' '0x100000 0x100000 -' &&
	    exits 100 with_faults "on=$PWD/src op=read at=1064960+512 nth=1;on=$PWD/src op=read \
at=$bad fail=EIO" "$pardd" if=src of=dst map=map bs=512 retries=1 thr="$1" &&
	    is + 0+1048576,1064960+512 && is - 1048576+16384,1065472+1031680
}
for thr in $(few 1 16); do
	it "calls all bad where no block was ever read ($thr workers)" all_bad $thr
	it "goes on where most of before can be read ($thr workers)" half_dead $thr
	it "... but not what a retry brought back ($thr workers)" weak $thr
done
shrinks()
{
	slowly "$half"
	until_true 20 grep -qs waits faults
	truncate -s 1M src && touch go
	wait $!
	ended exit 102 && "$blocks" make src $size && is '-*/' '' && honest &&
	    [[ -n $("$maps" list map +) ]] && says 'src ends at byte 1048576'
}
it "ends when the source ends early, with the map" shrinks

refuses()
{
	local why=$1
	shift
	cp dst before && cp map map.before && refused "$why" if=src of=dst map=map "$@" &&
	    same dst before && same map map.before && [[ ! -e map.pardd.tmp ]]
}
other_source()
{
	bad=409600+512
	stuff && rescue 100 '' && truncate -s 1M src && refuses 'of another source' &&
	    truncate -s 3M src && refuses 'of another source' || return
	# no word of where it is from: what it says must fit
	sed -i '/pardd source/d' map && truncate -s 1M src &&
	    refuses 'past the end' && "$blocks" make src 3M && run "$pardd" if=src of=dst \
	    map=map && is + 0+409600,410112+2735616
}
only plain asan	# one thread reads a map
it "refuses a map of another source" other_source
# What it calls finished lies elsewhere.
other_place()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map bs=512 skip=100 count=900 && cp dst old &&
	    refuses 'map is of another target, or another place of it: offset=-51200; this one is: offset=0' bs=512 &&
	    refuses 'another place of it' bs=512 seek=1 -d &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 skip=100 count=900 &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 skip=1000 seek=1000 &&
	    sed -i '/^# pardd target/d' map && cp dst old &&
	    refuses 'but dst has something else there' bs=512
}
it "refuses a map whose finished parts are in another place of the target" other_place
# It is killed when it is about to save for the first time.
killed_early()
{
	stuff
	FAULTS="op=rename until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst map=map 2>err &
	until_true 20 grep -qs waits faults && kill -KILL "$(awk '$1 == "pid" { print $2 }' how)"
	wait $!
	[[ -e map ]] || return 0
	"$blocks" make src 3M && rm -f map.pardd.tmp && refuses 'of another source' &&
	    "$blocks" make src $size && exits 0 "$pardd" if=src of=dst map=map && same src dst &&
	    [[ ! -e map.bak || -s map.bak ]]
}
it "leaves no map that would fit another source when it is killed early" killed_early
# What a run has only read lies nowhere.
discarded()
{
	stuff && exits 0 "$pardd" if=src of=. map=map count=1000 && exits 0 "$pardd" if=src of=. map=map &&
	    refuses 'another target.*: discarded; this one is: offset=0' && rm map &&
	    exits 0 "$pardd" if=src of=dst map=map && cp map before && same src dst &&
	    refused 'another target.*: offset=0; this one is: discarded' if=src of=. map=map && same map before
}
it "refuses the map of a run that kept nothing, and for such a run that of a copy" discarded
# two_parts: a disk with two partitions of the same size, 1M each
two_parts()
{
	"$blocks" make src 4M && "$blocks" make dst 4M 9 && cp dst old &&
	    printf 'label: dos\nstart=2048, size=2048\nstart=4096, size=2048\n' | sfdisk -q src
}
of_a_part()
{
	two_parts && exits 0 "$pardd" if=src of=dst map=map ipart=1 && cp dst old &&
	    refuses 'map is the map of another source: .* part=1; .*a partition .ipart=. has a map of its own' &&
	    refuses 'another source: .* part=1; this one is: .* part=2' ipart=2 &&
	    exits 0 "$pardd" if=src of=dst map=map ipart=1 && rm map &&
	    exits 0 "$pardd" if=src of=dst map=map && cp dst old &&
	    refuses 'this one is: .* part=2; a partition' ipart=2
}
of_its_neighbour()
{
	two_parts && loop src --read-only --partscan || return
	# for a kernel that knows no tables
	[[ -b ${dev}p2 ]] || { "$tools/part" add "$dev" 1 2048 2048 &&
	    "$tools/part" add "$dev" 2 4096 2048; } || return
	until_true 5 test -b "${dev}p2" && exits 0 "$pardd" if="${dev}p1" of=dst map=map && cp dst before && cp map map.before &&
	    refused 'another source: .* start=1048576; this one is: .* start=2097152; name another map$' if="${dev}p2" of=dst map=map &&
	    same dst before && same map map.before
}
if command -v sfdisk >/dev/null; then
	it "tells the map of a partition from that of the disk, and of another one" of_a_part
	if can_loop; then
		it "... by its node, though it is as large" of_its_neighbour
	fi
fi
no_target()
{
	bad=409600+512
	stuff && rescue 100 '' && rm dst && cp map before &&
	    refused 'dst does not exist' if=src of=dst map=map && same map before &&
	    [[ ! -e dst ]]
}
it "refuses a map with finished parts when there is no target" no_target
short_target()
{
	stuff && printf '0 + 1\n0 0x100000 +\n' >map && head -c 1M src >dst &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 && cmp -i 1M src dst &&
	    printf '0 + 1\n0 0x100000 +\n' >map && truncate -s 1000K dst && cp map before &&
	    refused 'up to byte 1048576, but dst ends at byte 1024000' if=src of=dst map=map &&
	    same map before && size_is dst 1024000 &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 skip=2048 seek=2000
}
it "refuses a map with finished parts that the target is too short for" short_target
# another FILE: as large, and without a serial number either
another()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && cp src src.was &&
	    cp -p dst dst.was && "$blocks" make "$1" $size 3 && touch -r dst.was dst &&
	    refuses 'map calls byte [0-9]+ of src finished, but dst has something else there' &&
	    refuses 'but dst has something else there' -d &&
	    cp src.was src && cp -p dst.was dst && exits 0 "$pardd" if=src of=dst map=map &&
	    same src dst
}
it "refuses a map with another source" another src
it "refuses a map with another target" another dst
# One byte of much is changed, which no look at a few places would find.
touched_up()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && until_true 5 touch_up &&
	    cp dst before && cp map map.before &&
	    refuses 'was written to since map was saved.*remove the line "# pardd target"' -d &&
	    refuses 'was written to since map was saved' && same dst before && same map map.before &&
	    sed -i '/^# pardd target/d' map && exits 0 "$pardd" if=src of=dst map=map && complete
}
touch_up()
{
	local was
	was=$(stat -c %y dst)
	printf x | dd of=dst bs=1 seek=700001 conv=notrunc status=none && [[ $(stat -c %y dst) != "$was" ]]
}
it "refuses a target that was written to since the map was saved" touched_up
# A run that is killed while it writes leaves nothing to go by, also after one that ended.
killed_later()
{
	local i
	stuff && exits 0 "$pardd" if=src of=dst map=map count=1000 || return
	for i in 1 2; do
		FAULTS="on=$PWD/src op=read at=1048576+512 until=$PWD/never" FAULT_LOG=$PWD/faults \
		    LD_PRELOAD=$shim "$pardd" if=src of=dst map=map mapinterval=$((i * 1000)) 2>err &
		until_true 20 grep -qs ^waits faults && kill -9 $! || return
		wait $!
		rm faults
	done
	exits 0 "$pardd" if=src of=dst map=map && complete && same src dst
}
it "goes on after a run that was killed while it wrote" killed_later
# What a power cut undoes is no matter.
older()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && touch -d '1 hour ago' dst &&
	    exits 0 "$pardd" if=src of=dst map=map && complete && same src dst
}
it "does not mind a target that was written before that" older
blank()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && : >"$1" &&
	    truncate -s $size "$1" && touch -d '1 hour ago' dst && refuses 'has something else there'
}
it "refuses a map with a target that holds nothing any more" blank dst
it "refuses a map with a source that holds nothing any more" blank src
# Most of it is zeros, of which every disk has some.
mostly_zeros()
{
	truncate -s 63M src && "$blocks" make - 1M >>src && truncate -s 100M src &&
	    truncate -s 100M dst && exits 0 "$pardd" if=src of=dst map=map &&
	    truncate -s 63M dst && truncate -s 100M dst && touch -d '1 hour ago' dst && refuses 'has something else there'
}
it "finds what can be told from another between zeros" mostly_zeros
once_each()
{
	local n
	bad=1048576+512
	begun_with '0x0 0x4000 +' "0x4000 $((size - 0x4000)) ?" &&
	    dd if=/dev/zero of=src bs=4096 count=4 conv=notrunc status=none &&
	    dd if=/dev/zero of=dst bs=4096 count=4 conv=notrunc status=none &&
	    FAULT_LOG_ALL=1 rescue 0 '' -d || return
	n=$(awk '$1 == "read" && $2 < 16384 && $3 == 4096' faults | wc -l)
	((n == 4)) || fail "$n reads of four blocks"
}
it "... and looks at each block once" once_each
# What is sick already is not asked for long.
trusted_sick()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 &&
	    FAULT_LOG_ALL=1 exits 69 with_faults "on=$PWD/src op=read fail=ENODEV" \
	    "$pardd" if=src of=dst map=map thr=1 || return
	(($(grep -c '^read' faults) <= 4)) || fail "$(<faults)"
}
it "... and leaves that when the source does not answer" trusted_sick
own()
{
	"$blocks" make src 1M && : >t && cp src src.before &&
	    refused 'end of the copy' if=src of=t map=t && size_is t 0 &&
	    refused 'end of the copy' if=src of=new map=new && [[ ! -e new ]] &&
	    refused 'end of the copy' if=src of=m.pardd.tmp map=m && [[ ! -e m ]] &&
	    refused 'end of the copy' if=src of=m.bak map=./m && [[ ! -e m ]] &&
	    cp src s.bak && ln s.bak link && refused 'end of the copy' if=link of=t map=s &&
	    same s.bak src && cp src s.pardd.tmp && refused 'end of the copy' if=s.pardd.tmp of=t map=s &&
	    same s.pardd.tmp src && refused . if=src of=t map=src && same src src.before
}
it "refuses a map whose name, .pardd.tmp or .bak is an end of the copy" own
named_twice()
{
	local key name
	stuff && printf '0 ? 1\n0 4096 +\n' >m && cp m m.bak && cp m before || return
	for key in json log domain; do
		for name in m ./m.pardd.tmp ../case/m.bak; do
			[[ $key != domain ]] || cp before "$name"
			refuses_both if=src of=dst map=m "$key=$name" &&
			    refuses_both if=src of=dst map=m "$key=$name" -d || return
			rm -f m.pardd.tmp
		done
	done
	refuses_both if=src of=dst map=m control=m.pardd.tmp && rm m m.bak &&
	    refused . if=src of=dst map=m.svg profile=m.svg && [[ ! -e m.svg ]] &&
	    refused 'named by another' if=src of=dst map=m control=m.bak && [[ ! -e m.bak ]] &&
	    refused 'named by another' if=src of=dst compare=1 map=m control=m.bak
}
refuses_both()
{
	exits 101 "$pardd" "$@" && one_line . && same dst old && same m before &&
	    same m.bak before
}
it "refuses a map whose name, .pardd.tmp or .bak another operand names" named_twice
# A copy that does not begin, for the reason after STATUS, leaves the map alone.
begins_not()
{
	exits "$@" && one_line . && same dst old && [[ ! -e map.pardd.tmp ]]
}
no_map_left()
{
	stuff && begins_not "$@" && [[ ! -e map && ! -e map.bak ]] && truncate -s 1M src &&
	    rescue 0 nth=999999
}
map_kept()
{
	bad=409600+512
	stuff && rescue 100 '' count=900 && cp dst old && cp -p map before && cp -p map.bak earlier &&
	    begins_not "$@" && same map before && same map.bak earlier &&
	    [[ ! map -nt before && ! map.bak -nt earlier ]]
}
no_thread=(61 with_faults 'op=thread fail=EAGAIN' "$pardd" if=src of=dst map=map)
it "leaves no map of a copy that did not begin" no_map_left "${no_thread[@]}"
it "leaves a map as it was when the copy does not begin" map_kept "${no_thread[@]}"
no_place=(52 "$pardd" if=src of=/proc/none map=map)
it "leaves no map of a copy whose target could not be made" no_map_left "${no_place[@]}"
no_socket()
{
	: >taken
	no_map_left 67 "$pardd" if=src of=dst map=map control=taken
}
it "leaves no map of a copy whose control= is taken" no_socket
no_name()
{
	stuff && refused 'wait=: src has no serial number' if=src of=dst map=map wait=5 &&
	    same dst old && [[ ! -e map ]] && usage wait if=src of=dst wait=5 &&
	    usage ongone if=src of=dst map=map ongone=true &&
	    exits 101 "$pardd" -dv if=src of=dst map=map wait=5
}
it "refuses to wait for what cannot be known again" no_name
streams()
{
	"$blocks" make src 1000 && refused map= of=dst map=map < <(cat src) &&
	    refused map= iflag=00 of=dst count=4 map=map && [[ ! -e dst && ! -e map ]] &&
	    usage map if=src of=dst map=map oflag=trunc && usage map if=src of=dst map=map sync=0 &&
	    usage map if=src of=dst rescue=notrim
}
it "refuses what is read or written in order" streams

# -------------------------------------------------------- the order of things

# flush, map, fsync, .bak, rename, folder: for each map but the first
order()
{
	stuff && strace -f -qq -y -o trace -e trace=fdatasync,fsync,/^rename,pwritev2,pwrite64 \
	    -e signal=none env FAULTS="on=$PWD/src op=read sleep=150" LD_PRELOAD="$shim" \
	    "$pardd" if=src of=dst map=map mapinterval=1 bs=512 bpt=128 thr=2 2>err || return
	sed -n 's/^[0-9]* *//
	    /<unfinished/s/^\([a-z0-9]*\)(\([0-9]*<\)\?\([^,>]*\).*/\1 \3/p
	    / resumed/d
	    s/^\([a-z0-9]*\)(\([0-9]*<\)\?\([^,>]*\).*/\1 \3/p' trace |
	    awk -v d="$PWD/dst" -v t="$PWD/map.pardd.tmp" -v f="$PWD" '
	    $2 == d && $1 ~ /^pwrite/ { written++ }
	    $2 == d && $1 == "fdatasync" { flush = 1; synced = told = 0 }
	    $2 == t && $1 == "fsync" { synced = flush || !maps; told = 1 }
	    $1 ~ /^rename/ {
		if (!synced || (maps && !flush) || (maps && !folder))
			wrong = 1
		maps++; flush = synced = folder = 0
	    }
	    $2 == f && $1 == "fsync" { folder = 1 }
	    END { print maps, written, wrong + 0; exit wrong || maps < 3 || !folder }' ||
	    { cat trace; return 1; }
}
traced()
{
	command -v strace && strace -o /dev/null true
}
if [[ $VARIANT != plain ]]; then
	:					# it is the same in all
elif traced >/dev/null 2>&1; then
	it "saves a map when the target is flushed, and renames it when it is written" order
else
	skip "no strace" "saves a map when the target is flushed"
fi

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
only all
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
if [[ $VARIANT != plain ]]; then
	:					# it is the same in all
elif traced >/dev/null 2>&1; then
	it "goes on after kill -9 between the two names that the map before gets" killed_between
else
	skip "no strace" "goes on after kill -9 between the two names that the map before gets"
fi

# ------------------------------------------------------------------- devices

odd_tail()
{
	bad=409600+512,999936+65
	"$blocks" make src 1000001 && "$blocks" make disk 2M 9 && cp disk old &&
	    loop disk && "$blocks" make img 1000001 || return
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$dev" map=map bs=512 thr="$1" && is - "$bad" &&
	    "$maps" check map src disk old 0 0 1000001 &&
	    exits 0 "$pardd" if=src of="$dev" map=map bs=512 retries=1 && is + 0+1000001 &&
	    cmp -n 1000001 src disk && "$blocks" zero disk 1000001 447 &&
	    cmp -i 1000448 disk old
}
larger_blocks()
{
	local target
	bad=409600+512,1024000+512
	"$blocks" make src 2M && "$blocks" make disk 2M 9 && cp disk old &&
	    loop disk --sector-size 4096 && target=$dev || return
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map thr="$1" && is - 409600+4096,1024000+4096 &&
	    "$maps" check map src disk old 0 0 2097152 &&
	    exits 0 "$pardd" if=src of="$target" map=map retries=1 && same src disk
}
# fine_map: all that can be read of the source is in sectors of 512, one in each
# 4096, and the target's blocks are of 4096
fine_map()
{
	local i target
	bad=
	echo '0 ? 1' >map
	for ((i = 0; i < 131072; i += 4096)); do
		printf '%d 512 +\n%d 3584 -\n' $i $((i + 512)) >>map
		bad+=$((i + 512))+3584,
	done
	bad=${bad%+*}+$((size - 131072 + 3584))
	"$blocks" make src $size && cp src disk && loop disk --sector-size 4096 &&
	    target=$dev && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map && is - "$bad" && same src disk
}
# lone_block: nothing but zeros beside the bytes 4096 to 8191, and the map ends
# within the block before
lone_block()
{
	local target
	bad=1049088+512
	printf '0 ? 1\n0 3584 +\n' >map
	truncate -s $size src disk && "$blocks" make one 4096 &&
	    dd if=one of=src bs=4096 seek=1 conv=notrunc status=none &&
	    loop disk --sector-size 4096 && target=$dev &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map && same src disk
}
if can_loop; then
	for thr in $(few 1 16); do
		it "pads an odd tail on a device, and retries it ($thr workers)" odd_tail $thr
		it "keeps to the target's blocks of 4096 ($thr workers)" larger_blocks $thr
	done
	it "asks in the blocks of the source whether that is there" fine_map
	it "... and has not turned to zeros" lone_block
else
	skip "no loop devices" "pads an odd tail on a device"
fi

# Real ones.
real_disk()
{
	bad=$("$maps" random "$1" $size)
	bad_disk $size "$bad" && "$blocks" make dst $size 9 && cp dst old && cp img src &&
	    exits 100 "$pardd" if="$dev" of=dst map=map thr="$2" && is - "$bad" &&
	    is '?*/' '' && honest || return
	[[ -n $peer ]] || return 0
	cp old theirs && ddrescue -q -d "$dev" theirs theirs.map &&
	    is - "$bad" theirs.map && is + "$("$maps" list map +)" theirs.map && same dst theirs
}
if can_lose; then
	for seed in 3 4 5 ${LONG:+1 6 7 8 9}; do
		thr=${thrs[seed % 3]}
		it "finds the bad sectors of a block device (disk $seed, $thr workers)" \
		    real_disk "$seed" "$thr"
	done
else
	skip "not root, no nbdkit, nbdfuse or loop devices" \
	    "finds the bad sectors of a block device"
fi

# server OPTIONS...: nbdkit behind nbdfuse behind a loop device, in $dev; each
# read takes 50 ms
server()
{
	mkdir mnt && undo umount -l "$PWD/mnt" || return
	nbdfuse -P fuse.pid mnt/disk --command nbdkit -s --exit-with-parent -P "$PWD/kit.pid" \
	    --filter=delay "$@" rdelay=50ms </dev/null >fuse 2>&1 &
	until_true 30 test -s mnt/disk || { cat fuse; return 1; }
	loop mnt/disk --direct-io=on --read-only --sector-size 512
}
different()
{
	! cmp -s dst old
}
# dies: its server is killed in mid copy; the same command line goes on
dies()
{
	local pid
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old &&
	    server file img || return
	"$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 "$@" 2>err &
	pid=$!
	until_true 20 different && sleep 0.1
	kill -KILL "$(<kit.pid)" || return
	wait $pid
	grep -q '^exit 69 ' how || fail "$(cat how err)" || return
	says 'not even for what could be read before|No such device' &&
	    is '-*/' '' && "$maps" check map src dst old 0 0 8388608 &&
	    [[ -n $("$maps" list map +) && -n $("$maps" list map '?') ]] || return
	sed -i 's/^\(# pardd source\).*/\1: lost/; /^# pardd/d' map
	exits 0 "$pardd" if=img of=dst map=map bs=512 && same img dst
}
# stuck: its server hangs, and the workers hang in the kernel
stuck()
{
	local pid
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old &&
	    server file img || return
	"$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 "$@" 2>err &
	pid=$!
	# the kernel knows the file for a second, even if its server does not answer
	until_true 20 different && sleep 0.1 && kill -STOP "$(<kit.pid)" && sleep 1.2 &&
	    ! has + || fail 'the map was saved too early for the case' || return
	took=$EPOCHREALTIME
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && until_true 20 has + || return
	took=$(since "$took")
	heard && "$maps" check map src dst old 0 0 8388608 || return
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" &&
	    until_true 20 grep -q 'left at a second SIGINT' err || return
	kill -CONT "$(<kit.pid)"
	wait $pid
	ended signal 2 && is '-*/' '' && "$maps" check map src dst old 0 0 8388608
}
# leaves_threads: it ends without them, and that is no finding
leaves_threads()
{
	export TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0
}
# late: its server hangs, as in stuck; what hangs in the kernel cannot be left
late()
{
	local pid
	leaves_threads
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old &&
	    server file img || return
	"$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 maxtime=2 2>err &
	pid=$!
	until_true 20 different && sleep 0.1 && kill -STOP "$(<kit.pid)" &&
	    until_true 30 grep -q 'maxtime=2 seconds; left after .* map is saved' err || return
	has + && "$maps" check map src dst old 0 0 8388608 && kill -CONT "$(<kit.pid)" || return
	wait $pid
	ended exit 100 && is '-*/' '' && "$maps" check map src dst old 0 0 8388608
}
if can_loop && command -v nbdfuse >/dev/null && [[ -c /dev/fuse ]] &&
    nbdkit --filter=delay null --dump-plugin >/dev/null 2>&1; then
	for thr in $(few 1 4 16); do
		it "ends when a block device answers nothing any more, and calls nothing bad \
($thr workers)" dies thr=$thr
		it "saves the map at SIGINT while reads hang in the kernel ($thr workers)" \
		    promptly 2000 stuck thr=$thr
	done
	it "leaves after maxtime= while they do" late
else
	skip "not root, no nbdkit, nbdfuse or loop devices" \
	    "ends when a block device answers nothing any more"
fi

# leaves RULE OPERANDS...: a disk goes after its first MiB, or by that rule, and
# comes back as another; the run is over
leaves()
{
	local was pid
	"$blocks" make src $size && loop src --read-only && was=$dev &&
	    mkdir -p "sys/${was#/dev/}" && echo one >"sys/${was#/dev/}/serial" || return
	SYSFS=$PWD/sys FAULTS="on=$was ${1:-op=read at=1048576+ fail=ENODEV}" LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if="$was" of=dst map=map bs=512 wait=50 "${@:2}" 2>err &
	pid=$!
	until_true 20 grep -q 'waiting up to\|NOT' err && comes || return
	wait $pid
	says "it is back as $dev"
}
# comes: the same disk, by another name
comes()
{
	comes_back
}
comes_back()
{
	local was=$dev
	loop src --read-only && mv "sys/${was#/dev/}" "sys/${dev#/dev/}"
}
waits_for()
{
	"$@" && leaves '' oflag=flock && ended exit 0 && complete && same src dst && is + 0+$size
}
# ongone= is run once, to its end, before anything is looked for.
brings_back()
{
	comes()
	{
		until_true 20 test -e told && sleep 0.2 && comes_back && touch ready
	}
	leaves '' thr=1 ongone="echo \"\$PARDD_SOURCE \$PARDD_SERIAL \$PARDD_POSITION\" >>told
	    read x || while [ ! -e ready ]; do sleep 0.1; done; echo switched; (exit 7)" || return
	ended exit 0 && same src dst && says 'ongone=: ended with status 7' && says '^switched' || return
	[[ $(<told) =~ ^/dev/loop[0-9]+\ one\ 1048576$ ]] || fail "$(<told)"
}
# A realtime signal has no name.
killed_by_number()
{
	comes()
	{
		until_true 20 test -e told && comes_back && touch ready
	}
	leaves '' thr=1 ongone='echo >told; while [ ! -e ready ]; do sleep 0.1; done; kill -40 $$' || return
	ended exit 0 && same src dst && says 'ongone=: ended by signal 40$'
}
# One that hangs is ended with what it started, and with the wait.
never_done()
{
	comes() { :; }
	SECONDS=0
	! leaves 'op=read at=1048576+ fail=ENODEV' wait=2 \
	    ongone='trap "" TERM; sleep 1000 & echo $! >child; wait; wait' || return
	ended exit 69 && says 'ongone=: it was not done within wait=2 seconds' && ((SECONDS < 20)) &&
	    ! readlink "/proc/$(<child)/exe"
}
# warm MILLIDEGREES: so has the disk $dev, without a moment in which nobody knows
warm()
{
	local dir=sys/${dev#/dev/}/device/hwmon/hwmon3
	mkdir -p "$dir" && echo "$1" >"$dir/new" && mv "$dir/new" "$dir/temp1_input"
}
# was JQ: an event of json
was()
{
	jq -e -s "map(select($1)) | length > 0" json >/dev/null 2>&1
}
cools()
{
	local pid
	"$blocks" make src $size && loop src --read-only && warm 61000 || return
	SYSFS=$PWD/sys FAULTS="on=$dev op=flush" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if="$dev" of=dst bs=512 maxtemp=60 json=json "$@" 2>err &
	pid=$!
	until_true 20 grep -q 'has 61 degrees Celsius, more than maxtemp=60' err &&
	    warm 58000 && until_true 20 was '.temperature == 58' && warm 57000 || return
	wait $pid
	ended exit 0 && same src dst && says 'is cool enough' &&
	    was '.event == "progress" and .temperature == 61 and .bytes_read == 0' &&
	    was '.event == "progress" and .temperature == 58 and .bytes_read == 0' &&
	    jq -es -f "$top/tests/tools/schema.jq" json >/dev/null
}
unmeasured()
{
	"$blocks" make src $size && refused 'maxtemp=: nobody knows how warm src is' if=src of=dst maxtemp=60
}
# What would be refused at the beginning is no refusal any more.
cut_meanwhile()
{
	comes()
	{
		truncate -s 4096 dst && comes_back
	}
	leaves '' && ended exit 69 && size_is dst 4096 &&
	    says 'NOT complete: map says that dst is finished up to byte 1048576, but dst ends at byte 4096'
}
# told COMMAND ANSWER: by the socket ctl
told()
{
	[[ $(echo "$1" | socat -t 5 - UNIX-CONNECT:ctl 2>/dev/null) =~ ^$2$ ]]
}
# What is changed before it goes is asked for when it is back.
keeps_limits()
{
	comes()
	{
		comes_back && until_true 20 told status '.* rate=100000 ioprio=be:6 .*' && told rate=0 ok
	}
	until_true 20 told rate=100000 ok && told ioprio=be:6 ok &
	leaves "op=read at=131072+ fail=ENODEV" rate=4096 control=ctl profile=profile.json &&
	    ended exit 0 && same src dst &&
	    jq -e '.target.bytes == 2097152 and .seconds < 100 and
		([.target.positions[].bytes] | add) == 2097152' profile.json
}
# A reader of json= that is behind when it goes reads on when it is back.
slow_reader()
{
	comes()
	{
		sleep 1
		cat <pipe >json 9>&- &
		comes_back
	}
	mkfifo pipe && exec 9<>pipe && head -c 61440 /dev/zero | tr '\0' '\n' >&9 &&
	    leaves '' json=9 && ended exit 0 && does_not_say json= || return
	exec 9>&-
	wait $!
	[[ $(jq -r .event json | grep -v progress | paste -sd ' ') = 'plan gone back result' ]] ||
	    fail "$(jq -r .event json)"
}
# The same name after a restart, and another disk.
other_target()
{
	stuff && loop dst && mkdir -p "sys/${dev#/dev/}" && echo one >"sys/${dev#/dev/}/serial" || return
	export SYSFS=$PWD/sys
	exits 0 with_faults '' "$pardd" if=src of="$dev" map=map count=1000 &&
	    echo two >"sys/${dev#/dev/}/serial" && cp dst before && cp map map.before &&
	    exits 101 with_faults '' "$pardd" if=src of="$dev" map=map &&
	    one_line 'another target.*serial=one .*: offset=0 serial=two .*remove the line "# pardd target"' &&
	    same dst before && same map map.before && echo one >"sys/${dev#/dev/}/serial" &&
	    exits 0 with_faults '' "$pardd" if=src of="$dev" map=map && same src dst &&
	    cp dst image && exits 0 "$pardd" if=src of=image map=map
}
# The same disk behind an adapter that has another serial number for it.
renamed()
{
	loop src --read-only && mkdir -p "sys/${dev#/dev/}" && echo one >"sys/${dev#/dev/}/serial" &&
	    SYSFS=$PWD/sys exits 0 with_faults '' "$pardd" if="$dev" of=dst map=map count=1000 || return
	echo two >"sys/${dev#/dev/}/serial"
	cp map before
	SYSFS=$PWD/sys exits 101 with_faults '' "$pardd" if="$dev" of=dst map=map &&
	    one_line 'another source: .*serial=one.*: .*serial=two.*if it is the same disk.*pardd source' &&
	    same map before && sed -i '/^# pardd source/d' map &&
	    SYSFS=$PWD/sys exits 0 with_faults '' "$pardd" if="$dev" of=dst map=map && same src dst
}
renamed_disk()
{
	"$blocks" make src $size && renamed
}
it "refuses to watch what has no thermometer" unmeasured
if can_loop; then
	it "waits for the source, and goes on with a file that it has made" waits_for true
	it "... that was too short at first" waits_for truncate -s 4096 dst
	it "... that was there" waits_for "$blocks" make dst $size 9
	it "... by a command that ongone= names, which is told what has gone" brings_back
	it "... and of which it is said what signal ended it" killed_by_number
	it "... which may take no longer than the wait" never_done
	it "... unless the file is not what the map says any more" cut_meanwhile
	it "reads nothing of a disk that is too warm, and goes on when it is cooler" cools
	it "... in a rescue" cools map=map
	it "... by io_uring" cools iflag=direct oflag=direct bpt=64
	it "refuses a map of which parts were copied to another disk" other_target
	it "says what to do when a disk has another serial number" renamed_disk
	if command -v socat >/dev/null && command -v jq >/dev/null; then
		it "... within the limits that were changed, and notes all of it in profile=" keeps_limits
		it "... and tells programs that take their time" slow_reader
	fi
else
	skip "no loop devices" "waits for the source"
fi

# ------------------------------------------------------ cut short, and filled

gives_up()
{
	local bad=512+512,1048576+512
	stuff && rescue 100 "" maxerrors=0 thr=1 && honest &&
	    [[ -n $("$maps" list map +) ]]
}
it "saves the map when it gives up after maxerrors=" gives_up
fills()
{
	local bad=512+512
	stuff && rescue 100 "" fill=LOST && is - "512+512" &&
	    [[ $(tail -c +513 dst | head -c 512) = "$(printf 'LOST%.0s' {1..128})" ]] &&
	    cmp -n 512 src dst && cmp -i 1024 src dst
}
it "fills what could not be read, and nothing else" fills
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
	    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 \
	    retries="$1" thr="$2" 2>err &
	until_true 20 grep -qs '^read 1[01]' first && interrupt && rescue 100 '' retries=1 || return
	n=$(cat first faults | awk '$1 == "read" && $2 >= 1048576 && $2 < 1179648 { print $2 }' |
	    sort -u | grep -c .)
	[[ $n = 256 ]] || fail "$n of 256 blocks were tried again"
}
for thr in $(few 1 16); do
	it "retries what a stopped run had in hand ($thr workers)" retry_goes_on 1 $thr
done
# Stopped while it meets errors only: they count if the disk is there.
stopped_dead()
{
	begun_with '0x0 0x100000 +' '0x100000 0x10000 /' '0x110000 0xF0000 +' || return
	FAULTS="on=$PWD/src op=read at=$1 fail=EIO sleep=700" FAULT_LOG=$PWD/faults \
	    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 \
	    thr=1 "${@:2}" 2>err &
	until_true 20 faulty read 3 >/dev/null && interrupt
}
stopped_there()
{
	stopped_dead 1048576+65536 && [[ -n $("$maps" list map -) ]] && same dst old
}
stopped_gone()
{
	stopped_dead 0+$size && as_before && same dst old
}
out_of_time()
{
	begun_with '0x0 0x100000 +' '0x100000 0x10000 /' '0x110000 0xF0000 +' &&
	    exits 100 with_faults "on=$PWD/src op=read at=0+$size fail=EIO sleep=300" "$pardd" \
	    if=src of=dst map=map bs=512 thr=1 maxtime=1 && says 'maxtime=1 seconds' && as_before
}
it "calls bad what fails of a disk that is there when it is stopped" stopped_there
it "calls nothing bad of one that is dead" stopped_gone
it "... with maxtime=, too" out_of_time
fill_stopped()
{
	begun "on=$PWD/dst op=write sleep=200" "$1" thr=1 fill=zero rescue=notrim,noscrape &&
	    until_true 10 test -s faults && interrupt && is "$1" 0+1048576 &&
	    says 'NOT complete: stopped by SIGINT' && rm faults || return
	[[ $1 != - ]] || exits 100 "$pardd" if=src of=dst map=map bs=512 || return
	if [[ -n $peer ]]; then
		ddrescue -q src dst map || return
	fi
	exits "$([[ $1$peer = -* ]] && echo 100 || echo 0)" "$pardd" if=src of=dst map=map bs=512
}
it "can be stopped while it fills what is bad" fill_stopped -
it "... and what was left untrimmed" fill_stopped '*'
tail_lost()
{
	local bad=$((size - 1024))+1024
	stuff && rm dst && rescue 100 '' && is - "$bad" && size_is dst $size &&
	    cmp -n $((size - 1024)) src dst && "$blocks" zero dst $((size - 1024)) 1024
}
only plain asan
it "gives a new file its length where the end is bad" tail_lost
limits()
{
	stuff && printf '0 + 1\n0 4096 +\n4096 4096 -\n' >domain &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 domain=domain json=json &&
	    cmp -n 4096 src dst && cmp -i 4096 old dst || return
	! command -v jq || jq -es --argjson left $((size - 4096)) \
	    'last | .bytes_outside == $left and .bytes_written == 4096' json >/dev/null
}
it "copies only what the map of domain= calls finished" limits
# how_much DOMAIN...: as the last line has it
how_much()
{
	truncate -s 20M src dst && printf '0 + 1\n0 %s +\n' "$1" >domain && rm -f map map.bak &&
	    exits 0 "$pardd" if=src of=dst map=map domain=domain || return
	[[ $(tail -n 1 err) = "pardd: complete, flushed, within domain=domain: $2" ]] ||
	    fail "$(<err)"
}
how_much_of_it()
{
	how_much 1048576 '1.0 of 21.0 MB' && how_much 20971520 '21.0 of 21.0 MB' &&
	    how_much 20971008 '20971008 of 20971520 bytes' &&
	    how_much 512 '512 of 20971520 bytes'
}
it "tells in the last line how much of the source that was" how_much_of_it

# by_type TYPES RANGES: what a map with 4096 bytes of each has of these is copied
by_type()
{
	stuff && printf '%s\n' '0 + 1' '0x1000 0x1000 ?' '0x2000 0x1000 *' '0x3000 0x1000 /' \
	    '0x4000 0x1000 -' '0x5000 0x1000 +' >domain && cp domain before &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 domain=domain domaintypes="$1" &&
	    complete && is + "$2" && honest && same domain before
}
it "copies what the map of domain= calls finished, if asked for that" by_type + 20480+4096
it "... bad" by_type - 16384+4096
it "... failed" by_type '*' 8192+4096
it "... not scraped" by_type / 12288+4096
it "... or does not say" by_type '?' 0+8192,24576+$((size - 24576))
it "... or several of them" by_type '/-' 12288+8192
it "... or all" by_type '+-/*?' 0+$size
not_types()
{
	local types
	stuff && cp dst domain || return
	for types in '' x '??' '?*?' '?,*' '?* ' ' ' c; do
		usage domaintypes if=src of=dst map=map domain=domain domaintypes="$types" ||
		    fail "with '$types'" || return
	done
	usage domaintypes if=src of=dst map=map domaintypes=+ && same dst old && [[ ! -e map ]]
}
it "refuses other words for them, and words without domain=" not_types
# second STATUS MIRROR'S OPERANDS...: from a mirror with bad sectors at $bad,
# what the first disk did not give
second()
{
	exits "$1" with_faults "on=$PWD/mirror op=read at=$bad fail=EIO" "$pardd" if=mirror \
	    of=dst map=second domain=map domaintypes='?*/-' bs=512 "${@:2}"
}
mirror()
{
	in_memory
	bad=51200+1536,409600+512,1024000+102400
	stuff && cp src mirror && rescue 100 '' thr="$1" rescue="$2" && cp map first || return
	bad=0+51200,655360+65536,1572864+512
	second 0 thr="$1" && complete && same src dst && same map first && [[ ! -s faults ]]
}
# Some blocks are bad on both.
mirror_too()
{
	in_memory
	bad=51200+1536,409600+512,1024000+102400
	stuff && cp src mirror && rescue 100 '' thr="$1" && cp map first && cp dst old || return
	bad=0+51200,409700+1,1024000+1024
	second 100 thr="$1" && is - 409600+512,1024000+1024 second &&
	    is + 51200+1536,1025024+101376 second &&
	    "$maps" check second src dst old 0 0 $size && bad=0+512 &&
	    second 0 thr="$1" retries=1 && complete && same src dst && same map first
}
only all
for thr in $(few 1 16); do
	it "takes from a mirror what the first disk did not give ($thr workers)" \
	    mirror $thr noscrape
	it "... and has not been asked for ($thr workers)" mirror $thr notrim,noscrape
	it "... where some is bad on both ($thr workers)" mirror_too $thr
done

# Every other block is outside, and every other one bad.
alternating()
{
	awk -v n=$(($1 / 512)) -v s="$2" 'BEGIN {
		print "0 + 1"
		for (i = 0; i < n; i++)
			printf "0x%08X  0x00000200  %s\n", i * 512,
			    substr(s, i % 2 + 1, 1) }'
}
many_ranges()
{
	local n=$(($(heavy 200000) * 512))
	truncate -s $n src dst && alternating $n '+-' >map && alternating $n '?+' >domain &&
	    cp map before &&
	    ulimit -t 30 && exits 100 "$pardd" if=src of=dst map=map bs=512 domain=domain &&
	    sed '/^#/d; s/^0x[0-9A-F]* .* +  .*/0 + 1/' map | cmp - before
}
it "saves a map with very many ranges, of which many are outside of domain=" many_ranges

# ------------------------------------------------- what else is said and held

two_runs()
{
	slowly "$half"
	until_true 20 test -s map && : >other &&
	    refused 'map of a run that is under way' if=src of=other map=map &&
	    refused 'map of a run that is under way' if=src of=other map=map -d &&
	    size_is other 0 && touch go && wait $! && ended exit 0 && same src dst &&
	    exits 0 "$pardd" if=src of=dst map=map
}
it "refuses a map that another run has, and only as long as it has it" two_runs
# The folder of the map is renamed meanwhile, and another is there, with a map.
moved()
{
	local map=maps/map
	mkdir maps && slowly "${2:-}$half" mapinterval=1 && until_true 20 test -s maps/map &&
	    mv maps moved && mkdir maps && printf '0 + 1\n0 512 -\n' >maps/map && cp maps/map other &&
	    until_true 20 [ -s moved/map.bak ] && touch go && wait $!
	[[ ! -e map ]] && same maps/map other && [[ $(ls maps) = map ]] && ended exit "$1" &&
	    says "maps/map was not saved: that name leads elsewhere now, and the map is $PWD/moved/map$"
}
moved_away()
{
	moved 52 && same src dst && is + 0+$size moved/map && does_not_say '^pardd: complete'
}
moved_with_bad()
{
	moved 52 'on=src op=read at=1572864+512 fail=EIO;' && is - 1572864+512 moved/map &&
	    is + 0+1572864,1573376+523776 moved/map && same <(head -c 1572864 src) <(head -c 1572864 dst)
}
it "saves the map in the folder that it was in, wherever that is now" moved_away
it "... with bad blocks" moved_with_bad
looks()
{
	bad=$some
	stuff && exits 0 "$pardd" if=src of=dst map=map -dv && grep -qx 'map_untried=2097152' out &&
	    [[ ! -e map ]] && rescue 100 '' && cp map before &&
	    exits 0 "$pardd" if=src of=dst map=map -dv && grep -qx 'map_bad=104960' out &&
	    grep -qx 'map_finished=1992192' out && grep -qx 'map_bad_ranges=4' out &&
	    same map before && truncate -s 3M src &&
	    refused 'of another source' if=src of=dst map=map -d && same map before
}
it "looks at the map with -d, and leaves it alone" looks
too_long()
{
	bpt=8 slowly '' maxtime=1
	wait $!
	ended exit 100 && says 'maxtime=1 seconds' && honest &&
	    has + && has '?' && rescue 0 nth=999999 && same src dst
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
	    one_line 'stopped after maxtime=1 seconds; left after 10 s without an answer from src; map is saved$' &&
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
	ended signal 15 && says "stopped by SIGTERM; left after 10 s $2" &&
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
	    says 'maxtime=1 seconds; left after 10 s while dst was being flushed; map was not saved: ' &&
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
	    if=src of=dst map=map bs=512 maxtime=1 thr=1 && says 'maxtime=1 seconds' ||
	    return
	(($(grep -c '^read' faults) < 300)) || fail "$(grep -c '^read' faults) reads"
}
it "stops after maxtime= within a large area that it scrapes" stops_inside /
it "... or trims" stops_inside '*'
errors_inside()
{
	bad=512+1048064
	begun_with '0x0 0x200 -' '0x200 0xffe00 /' '0x100000 0x100000 +' &&
	    rescue 100 '' maxerrors=1 thr=1 && says 'more than maxerrors=1 bad ranges' &&
	    is - 0+512,4608+512
}
it "gives up after maxerrors= within a large area that it scrapes" errors_inside
# Each error costs the same, however many ranges there are.
many_spots()
{
	local before
	truncate -s 400M src dst
	{
		echo '0 ? 1'
		awk 'BEGIN {
			for (i = 0; i < 40000; i++)
				printf "%d 512 -\n%d 512 +\n", i * 1024, i * 1024 + 512
			print 40960000, 400 * 1048576 - 40960000, "+"
		}'
	} >map
	burnt; before=$cpu
	exits 100 with_faults "on=$PWD/src op=read at=0+40960000 fail=EIO" "$pardd" if=src of=dst \
	    map=map bs=512 retries=1 thr=1 || return
	burnt
	((cpu - before < 3000)) || fail "$((cpu - before)) ms of processor: $(<err)"
}
[[ $VARIANT != plain ]] ||
	it "retries 40,000 bad blocks that lie scattered without going over the map for each" many_spots
# A range is one, however many pieces of it are in hand.
one_range()
{
	bad=524288+262144
	begun_with '0x0 0x80000 +' '0x80000 0x40000 -' '0xC0000 0x140000 +' &&
	    rescue 100 '' maxerrors=1 "$@" && does_not_say maxerrors && is - "$bad" &&
	    rescue 100 '' maxerrors=0 "$@" && says 'given up: more than maxerrors=0'
}
for thr in 1 $(few 16); do
	it "counts a bad range once, while it is tried again ($thr workers)" \
	    one_range retries=1 thr=$thr
	it "... and while it is filled ($thr workers)" one_range fill=zero thr=$thr
done
half_tried()
{
	bad=1024000+102400
	stuff && rescue 100 '' rescue=notrim json=json && honest &&
	    jq -es 'last | .verdict == "unreadable" and
		(.unreadable | map(.length) | add) == .bytes_unreadable and
		.bytes_unreadable >= 102400 and .unreadable[0].offset <= 1024000' json
}
if command -v jq >/dev/null; then
	it "lists in json= what was left half tried" half_tried
fi
# Slow in the middle: it is read, but when all else has been.
slow_area()
{
	export FAULT_LOG_ALL=1
	stuff && exits 0 with_faults "on=$PWD/src op=read at=524288+524288 sleep=20;on=$PWD/src op=read" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=8 thr="$1" "${@:2}" && same src dst &&
	    is + 0+$size && last=$(grep -n '^read 2093056 ' faults | head -n 1) &&
	    slow=$(head -n "${last%%:*}" faults |
	    awk '$1 == "read" && $2 >= 524288 && $2 < 1048576 { n++ } END { print n + 0 }')
}
leaves_slow_areas()
{
	local last slow
	slow_area "$1" minrate=1000000 && ((slow < 60)) ||
	    fail "$slow slow pieces were read before the end" || return
	rm map && slow_area "$1" || return
	((slow >= 128 - 16)) || fail "$slow without minrate="
}
for thr in $(few 1 4); do
	it "leaves what is slower than minrate= for later ($thr workers)" leaves_slow_areas $thr
done
# Stopped in the first pass, it does not come back to what it has left out.
same_place()
{
	local first
	bad=524288+262144
	stuff
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO;on=$PWD/src op=read at=1048576+ sleep=500" LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 mapinterval=1 2>err &
	until_true 20 has '*' || return
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && wait $!
	grep -q '^0x[0-9A-F]* *? *1$' map || fail "not in the first pass: $(<map)" || return
	first=$(awk '!/^#/ { print $1; exit }' map)
	export FAULT_LOG_ALL=1
	rescue 100 '' thr=1 bpt=64 && is - "$bad" && honest &&
	    [[ $(awk '$1 == "read" && $3 > 4096 { print $2; exit }' faults) = $((first)) ]]
}
it "goes on at the place where it was stopped" same_place
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
	stuff && printf '%s\n0 0x200000 ?\n' "$1" >map &&
	    rescue 0 nth=999999 && complete && same src dst
}
bad=9+1
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
