#!/usr/bin/env bash
# Rescue: what the map says is true, and nothing that was not read is written.  See also
# resume.t (a rescue is stopped), lost.t (it fails), trust.t (other disks and maps) and
# disks.t (devices).
# shellcheck disable=SC1091,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

# ------------------------------------------------------------- random truths

bpts=('' bpt=1 bpt=8 bpt=100)
truth()
{
	local seed got n=$((512 << 10))
	in_memory
	for ((seed = $1; seed < $2; seed++)); do
		rm -f map theirs theirs.map
		bad=$("$maps" random "$seed" $n)
		stuff $n && rescue 100 '' thr=${thrs[seed % 3]} ${bpts[seed % 4]} &&
		    is - "$bad" && is '?*/' '' && honest 0 0 $n || fail "seed $seed" || return
		[[ -n $3 ]] || continue
		cp old theirs
		their && got=$("$maps" list map +) && is + "$got" theirs.map &&
		    is - "$bad" theirs.map && same dst theirs || fail "seed $seed, beside ddrescue" || return
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
		    "$pardd" if=src of=dst map=map bs=512 thr=${thrs[seed % 3]} skip=$skip seek=$seek count=$count
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
	    says '358400 bytes were already copied .map.$'
}
it "copies nothing twice, and ends 0 when all that was asked for is there" nothing_left
nothing_asked()
{
	stuff 2 && rescue 0 '' count=0 && complete && same dst old && rescue 0 '' && complete && same src dst
}
it "copies nothing if it is told so" nothing_asked
window_bad()
{
	bad=409600+512
	stuff && rescue 100 '' count=900 && rescue 0 '' count=700 && complete && rescue 100 '' count=900
}
it "judges only the part that was asked for" window_bad

# What one bad sector loses is read at once, however small a transfer is.
small_transfers()
{
	local n bad=409600+512
	for n in 1 53 600; do
		rm -f map
		stuff 600001 && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		    "$pardd" if=src of=dst map=map bs=1 bpt=$n && is - "$bad" && is '?*/' '' &&
		    honest 0 0 600001 || return
	done
}
it "reads whole sectors in transfers of a few bytes" small_transfers

# A disk that starts up answers its first read late, and the others at once.
starts_up()
{
	in_memory
	{ stuff 32M && FAULT_LOG_ALL=1 with_faults "on=$PWD/src op=read at=0+512 sleep=1500" \
	    exits 0 "$pardd" if=src of=dst map=map && same src dst && [[ $(grep -c ^read faults) -le 200 ]]; } ||
	    fail "$(grep -c ^read faults) reads"
}
it "does not take a disk that starts up for a slow one" starts_up

# ------------------------------------------------------------ phase by phase

# By words: each run does one phase more.
phases()
{
	in_memory
	bad=$some
	stuff && rescue 100 '' rescue=notrim,noscrape "$@" && honest &&
	    [[ -n $("$maps" list map '*') ]] && is '?/' '' &&
	    rescue 100 '' rescue=noscrape "$@" && honest && is '?*' '' && [[ -n $("$maps" list map /) ]] &&
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
	    is + 0+1024000,1126400+970752 && [[ -n $("$maps" list map /) ]]
}
it "leaves most of a bad area, but not its ends, with noscrape" noscrape
# The midst stays untried, also when the run is repeated; what adjoins it is not
# scraped.
nosweep()
{
	local left size=$((8 << 20))
	bad=2097152+4194304
	stuff && rescue 100 '' rescue=nosweep "$@" && honest && left=$("$maps" list map '?') &&
	    [[ $left =~ ^[0-9]+\+[0-9]+ ]] && is '*' '' &&
	    says 'NOT complete: [0-9]* bytes could not be read, and [0-9]* between them were not tried, with rescue=nosweep; map shows where, and the same command without it tries the rest$' &&
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
	    says 'map shows where, and the same command without rescue= resumes the copy$' &&
	    rescue 100 '' && says 'map shows where, and the same command with retries=1 tries again$' &&
	    rescue 100 '' retries=1 && says 'map shows where, and the same command tries again$'
}
it "says which command would read more" advice
sorted()
{
	local order=-n
	[[ $1 = up ]] || order=-rn
	diff <(awk '$1 == "read" { print $2 }' faults) <(awk '$1 == "read" { print $2 }' faults | sort -s $order)
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
	    "700 $((size - 700)) +" >map && rescue 100 '' "${@:3}" && is - "$2" && is '?*/' '' && honest
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
	local near
	bad=1048576+1048576
	"$blocks" make src 4M && "$blocks" make dst 4M 9 && cp dst old &&
	    export FAULT_LOG_ALL=1 && rescue 100 '' thr=1 bpt=8 || return
	is - $bad && honest 0 0 4194304 || return
	near=$(awk '$4 == -5 { n++ } $2 + $3 == 4194304 { print n; exit }' faults)
	((near > 0 && near < 40)) || fail "${near:-no} errors met before the end was read"
}
it "reads what lies behind a bad area before most of the area" skips
# figure "[-n READS] SHAPE" COLUMN MOST...: of the costs of a rescue, which are counted and not
# measured: 10 seconds and 11 errors until 99 % are there, 13 errors until 99.9 %,
# 15 until all that can be read, 16 seconds and 17 errors in all.
figure()
{
	local shape=$1 is
	# shellcheck disable=SC2086
	"$top/tests/bench/shapes" -o -t $shape >figures || return
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
	it "... than areas, of all sizes" figure mixed 11 74
	it "... than tracks, of a scratch" figure scratch 11 165
	it "... than clusters" figure clusters 11 25 15 105
	it "seeks good data between bad ends no longer than it finds some" figure ends 11 9 13 20 15 45
	it "tries for eight blocks of 512 that are one of 4096 once" figure 512e 17 42
	[[ -z $LONG ]] || it "reads what lies between areas before it reads these by the block" figure mixed64 15 1800
	it "meets an error no second time to see where it is" figure slowhead 17 4
	it "is not kept busy by jumps where a disk rotates" figure rotating 11 31 16 20 17 62
	it "does not take who waits behind a slow error for slow" figure seconds 11 8 17 16
	it "has errors side by side of flash that serves four" figure '-n 4 ends' 16 450
	it "foreshows where a dead head is next, of 256 times" figure dead64 11 30 15 65
	if [[ -n $LONG ]]; then
		it "... of 32 times" figure dead512 11 40 15 95
		it "... where its tracks become shorter, of 341 times" figure zones 11 170 15 600
	fi
fi
# Where errors are many, each worker reads alone.
many_errors()
{
	printf '%s\n' '0 ? 1' '0 512 -' "512 $((size - 512)) ?" >map
}
turns()
{
	local read wrote
	bad=0+512,$((size / 2))+512
	stuff && many_errors && export FAULT_LOG_ALL=1 &&
	    rescue 100 "; on=$PWD/dst op=write nth=99999 fail=EIO" && is - "$bad" && honest || return
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
		RANDOM=$seed bad=0+512,524288+512 at=1100
		for ((i = 0; i < 6; i++)); do
			bad+=,$((at * 512))+$((512 * (1 + RANDOM % 3)))
			at=$((at + 100 + RANDOM % 400))
		done
		stuff && many_errors && rescue 100 '' thr=$((2 + seed % 3)) && is - "$bad" &&
		    is '?*/' '' && honest || fail "seed $seed" || return
	done
}
it "keeps what was read in a turn before an error" turns_end "$(heavy 12)"
turns_dead()
{
	bad=0+$size
	local read
	stuff && rescue 69 from=5 thr=4 && honest && is '-*/' '' || return
	read=$("$maps" list map +)
	[[ $read =~ ^0\+[0-9]+$ ]] && is '?' "${read#0+}+$((size - ${read#0+}))"
}
it "... and no more, of a disk that dies in it" turns_dead

# ------------------------------------------------------ cut short, and filled

gives_up()
{
	local bad=512+512,1048576+512
	stuff && rescue 100 "" maxerrors=0 thr=1 && honest && [[ -n $("$maps" list map +) ]]
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
# In transfers of 4096 bytes.
fills_much()
{
	local bad=4096+1000448 to=1004544
	stuff && rescue 100 "" rescue=noscrape fill=LOST bpt=8 thr="$1" && [[ -n $("$maps" list map /) ]] &&
	    yes LOST | tr -d '\n' | head -c 1000448 | cmp - <(tail -c +4097 dst | head -c 1000448) &&
	    cmp -n 4096 src dst && cmp -i $to src dst
}
it "fills a range that is larger than a transfer" fills_much 1
it "... with four workers" fills_much 4
only plain asan
tail_lost()
{
	local bad=$((size - 1024))+1024
	stuff && rm dst && rescue 100 '' && is - "$bad" && size_is dst $size &&
	    cmp -n $((size - 1024)) src dst && "$blocks" zero dst $((size - 1024)) 1024
}
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
with_gaps()
{
	stuff && printf '0 + 1\n0 4096 +\n12288 4096 +\n' >domain &&
	    refused 'line 3 does not adjoin the one before .domain= may have gaps with rescue=loosedomain.;' \
		if=src of=dst map=map domain=domain && [[ ! -e map ]] &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 domain=domain rescue=loosedomain &&
	    cmp -n 4096 src dst && cmp -i 4096 -n 8192 old dst && cmp -i 12288 -n 4096 src dst && cmp -i 16384 old dst
}
it "takes a domain= with gaps for untried there, if asked to" with_gaps
no_domain()
{
	stuff && refused 'none does not exist, or is empty' if=src of=dst map=map domain=none && same dst old
}
it "refuses a domain= that is not there" no_domain
# how_much DOMAIN...: as the last line has it
how_much()
{
	truncate -s 20M src dst && printf '0 + 1\n0 %s +\n' "$1" >domain && rm -f map map.bak &&
	    exits 0 "$pardd" if=src of=dst map=map domain=domain || return
	[[ $(tail -n 1 err) = "pardd: complete, flushed, within domain=domain: $2" ]] || fail "$(<err)"
}
how_much_of_it()
{
	how_much 1048576 '1.0 of 21.0 MB' && how_much 20971520 '21.0 of 21.0 MB' &&
	    how_much 20971008 '20971008 of 20971520 bytes' && how_much 512 '512 of 20971520 bytes'
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
	same dst old && [[ ! -e map ]]
}
it "refuses other words for them" not_types
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
	second 100 thr="$1" && is - 409600+512,1024000+1024 second && is + 51200+1536,1025024+101376 second &&
	    "$maps" check second src dst old 0 0 $size && bad=0+512 &&
	    second 0 thr="$1" retries=1 && complete && same src dst && same map first
}
only all
for thr in $(few 1 16); do
	it "takes from a mirror what the first disk did not give ($thr workers)" mirror $thr noscrape
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
	truncate -s $n src dst && alternating $n '+-' >map && alternating $n '?+' >domain && cp map before &&
	    ulimit -t 30 && exits 100 "$pardd" if=src of=dst map=map bs=512 domain=domain &&
	    sed '/^#/d; s/^0x[0-9A-F]* .* +  .*/0 + 1/' map | cmp - before
}
it "saves a map with very many ranges, of which many are outside of domain=" many_ranges

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
	it "counts a bad range once, while it is tried again ($thr workers)" one_range retries=1 thr=$thr
	it "... and while it is filled ($thr workers)" one_range fill=zero thr=$thr
done
half_tried()
{
	bad=1024000+102400
	stuff && rescue 100 '' rescue=notrim json=json && honest && jq -es 'last | .verdict == "unreadable" and
		(.unreadable | map(.length) | add) == .bytes_unreadable and
		.bytes_unreadable >= 102400 and .unreadable[0].offset <= 1024000' json
}
given 'command -v jq' "no jq" it "lists in json= what was left half tried" half_tried
# Slow in the middle: it is read, but when all else has been.  What is not slow is
# far from the limit, so that a busy machine does not make it slow.
slow_area()
{
	export FAULT_LOG_ALL=1
	stuff && exits 0 with_faults "on=$PWD/src op=read at=524288+131072 sleep=100;on=$PWD/src op=read" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=8 thr="$1" "${@:2}" && same src dst &&
	    is + 0+$size && last=$(grep -n '^read 2093056 ' faults | head -n 1) &&
	    slow=$(head -n "${last%%:*}" faults |
	    awk '$1 == "read" && $2 >= 524288 && $2 < 655360 { n++ } END { print n + 0 }')
}
leaves_slow_areas()
{
	local last slow
	slow_area "$1" minrate=100000 && ((slow < 16)) || fail "$slow slow pieces were read before the end" || return
	rm map && slow_area "$1" || return
	((slow >= 32 - 4)) || fail "$slow without minrate="
}
for thr in $(few 1 4); do
	it "leaves what is slower than minrate= for later ($thr workers)" leaves_slow_areas $thr
done
