#!/usr/bin/env bash
# Which maps a rescue continues with, and which it refuses.
# shellcheck disable=SC1091,SC2034,SC2086,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

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
	# it does not say what it is a map of: what it says must fit
	sed -i '/pardd source/d' map && truncate -s 1M src &&
	    refuses 'past the end' && "$blocks" make src 3M && run "$pardd" if=src of=dst \
	    map=map && is + 0+409600,410112+2735616
}
only plain asan	# one thread reads a map
it "refuses a map of another source" other_source
# Another adapter may hide the end of a disk; what the map says about it stays.
shorter()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map && sed -i '/pardd source/d' map &&
	    truncate -s 1M src && refuses 'map goes past the end of src, to byte 2097152: .*count=' &&
	    refuses 'map goes past the end of src' bs=512 skip=100 &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 count=2048 && is + 0+2097152
}
it "goes on with a source that hides its end, if count= says so" shorter
# What it calls finished is on another target.
other_place()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map bs=512 skip=100 count=900 && cp dst old &&
	    refuses 'map is of another target, or another place of it: offset=-51200; this one is: offset=0' bs=512 &&
	    refuses 'another place of it' bs=512 seek=1 -d &&
	    exits 0 "$pardd" if=src of=dst map=map bs=512 skip=100 count=900 &&
	    refuses 'another place of it' bs=512 skip=1000 seek=1000 &&
	    sed -i '/^# pardd target/d' map && cp dst old && refuses 'but dst differs there' bs=512
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
# What a run has only read is nowhere.
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
if able 'command -v sfdisk' "no sfdisk"; then
	it "tells the map of a partition from that of the disk, and of another one" of_a_part
	given can_loop "no loop devices" it "... by its node, though it is as large" of_its_neighbour
fi
no_target()
{
	bad=409600+512
	stuff && rescue 100 '' && rm dst && cp map before &&
	    refused 'dst does not exist' if=src of=dst map=map && same map before && [[ ! -e dst ]]
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
# another FILE: of the same size, also without a serial number
another()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && cp -p src src.was &&
	    cp -p dst dst.was && "$blocks" make "$1" $size 3 && touch -r dst.was dst && touch -r src.was src &&
	    refuses 'map calls byte [0-9]+ of src finished, but dst differs there: .*; if both are right, \? in the map copies it again$' &&
	    refuses 'but dst differs there' -d &&
	    cp -p src.was src && cp -p dst.was dst && exits 0 "$pardd" if=src of=dst map=map && same src dst
}
it "refuses a map with another source" another src
it "refuses a map with another target" another dst
# One byte in much data differs, which a look at a few places would not find.
touched_up()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && until_true 5 touch_up dst 700001 &&
	    cp dst before && cp map map.before &&
	    refuses 'was written to since map was saved.*; if all that the map calls finished is there, remove its line "# pardd target"' -d &&
	    refuses 'was written to since map was saved' && same dst before && same map map.before &&
	    sed -i '/^# pardd target/d' map && exits 0 "$pardd" if=src of=dst map=map && complete
}
# touch_up FILE AT: so that its time says it
touch_up()
{
	local was
	was=$(stat -c %y "$1")
	printf x | dd of="$1" bs=1 seek="$2" conv=notrunc status=none && [[ $(stat -c %y "$1") != "$was" ]]
}
it "refuses a target that was written to since the map was saved" touched_up
# Else a copy of another part would make it a map of that place, and of that time.
elsewhere()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map bs=512 count=900 && until_true 5 touch_up dst 7000 && cp dst old &&
	    refuses 'was written to since map was saved' bs=512 skip=1000 seek=1000
}
it "... also for a copy of another part" elsewhere
# A sample of what is finished would miss it.
source_touched()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=2048 && until_true 5 touch_up src 20000 &&
	    refuses 'src was written to or replaced since map was begun: name another map; .*remove its line "# pardd source"' &&
	    refuses 'src was written to' -d && sed -i '/^# pardd source/d' map &&
	    exits 0 "$pardd" if=src of=dst map=map && touch src && refuses 'src was written to' &&
	    sed -i 's/ modified=.*//' map && exits 0 "$pardd" if=src of=dst map=map && grep -q modified= map &&
	    sed -i 's/ + *$/ ?/;/+$/s/+/?/' map && touch src && exits 0 "$pardd" if=src of=dst map=map && same src dst
}
it "refuses a source that was written to since then" source_touched
put_back()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3900 && cp -p dst older && sleep 0.1 &&
	    exits 0 "$pardd" if=src of=dst map=map && cp -p older dst &&
	    refuses 'was written to since map was saved, put back, or is another' && same dst older
}
it "... or put back to an older state" put_back
# Told once: no flush that comes later would fail.
lost_below()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && cp map before &&
	    with_faults "on=$PWD/dst op=flush nth=1 fail=EIO" exits 55 "$pardd" if=src of=dst map=map &&
	    one_line 'dst may have lost what map calls finished: .*Input/output error' && same map before
}
it "... or that the kernel could not write" lost_below
# undated FROM COUNT ZEROS MAP...: of what a map without a time calls finished COUNT times 32 KiB are missing;
# the 64 KiB at ZEROS are zeros
undated()
{
	stuff 16M && dd if=/dev/zero of=src bs=64K seek="$3" count=1 conv=notrunc status=none && cp src all &&
	    printf '%s\n' "${@:4}" >map && dd if=dst of=all bs=32K skip="$1" seek="$1" count="$2" conv=notrunc \
	    status=none && cp all dst && refuses 'finished, but dst differs there'
}
it "... or the map of a killed run, or of ddrescue, that says no time" undated 509 1 0 '0xFF0000 ? 1' '0 0xFF0000 +'
it "... which went backwards" undated 8 1 0 '0x40000 ? 2' '0 0x10000 +' '0x10000 0x30000 ?' '0x40000 0xFC0000 +'
it "... behind zeros" undated 504 4 254 '0xFF0000 ? 1' '0 0xFF0000 +'
# A run that is killed while it writes leaves no usable time, even after one that ended.
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
# What follows has the time of before.
blank()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 && touch -r "$1" was && : >"$1" &&
	    truncate -s $size "$1" && touch -r was "$1" && refuses 'differs there'
}
it "refuses a map with a target that holds nothing any more" blank dst
it "refuses a map with a source that holds nothing any more" blank src
# Most of it is zeros, which every disk has.
mostly_zeros()
{
	truncate -s 63M src && "$blocks" make - 1M >>src && truncate -s 100M src &&
	    truncate -s 100M dst && exits 0 "$pardd" if=src of=dst map=map &&
	    touch -r dst was && truncate -s 63M dst && truncate -s 100M dst && touch -r was dst && refuses 'differs there'
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
# A sick disk is not asked for long.
trusted_sick()
{
	stuff && exits 0 "$pardd" if=src of=dst map=map count=3000 &&
	    FAULT_LOG_ALL=1 exits 69 with_faults "on=$PWD/src op=read fail=ENODEV" \
	    "$pardd" if=src of=dst map=map thr=1 || return
	(($(grep -c '^read' faults) <= 4)) || fail "$(<faults)"
}
it "... and leaves that when the source does not answer" trusted_sick
# Cut off, or with zeros where a power cut left them: the one before goes on.
damaged()
{
	bad=409600+512
	stuff && rescue 100 '' count=900 && rescue 100 '' && cp map whole && head -c -3 whole >map &&
	    refused 'map is not a map: line [0-9]+ .*; if it is damaged, map.bak is the one before$' if=src of=dst map=map &&
	    head -c 64 /dev/zero | dd of=map conv=notrunc status=none &&
	    refused 'line 1 has a zero byte; if it is damaged, map.bak is' if=src of=dst map=map && mv map.bak map &&
	    rescue 100 '' && is - 409600+512 && is '?*/' '' && honest
}
it "refuses a damaged map, and says which goes on" damaged
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
	exits 101 "$pardd" "$@" && one_line . && same dst old && same m before && same m.bak before
}
it "refuses a map whose name, .pardd.tmp or .bak another operand names" named_twice
# A copy that does not begin, for the reason after STATUS, leaves the map alone.
begins_not()
{
	exits "$@" && one_line . && same dst old && [[ ! -e map.pardd.tmp ]]
}
no_map_left()
{
	stuff && begins_not "$@" && [[ ! -e map && ! -e map.bak ]] && truncate -s 1M src && rescue 0 nth=999999
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
	    same dst old && [[ ! -e map ]] && exits 101 "$pardd" -dv if=src of=dst map=map wait=5
}
it "refuses to wait for what cannot be known again" no_name
it "refuses what is read or written in order" eval \
    '"$blocks" make src 1000 && refused map= of=dst map=map < <(cat src) &&
    refused map= iflag=00 of=dst count=4 map=map && [[ ! -e dst && ! -e map ]]'

only all
two_runs()
{
	slowly "$half"
	until_true 20 test -s map && : >other && refused 'map of another run in progress' if=src of=other map=map &&
	    refused 'map of another run in progress' if=src of=other map=map -d &&
	    size_is other 0 && touch go && wait $! && ended exit 0 && same src dst &&
	    exits 0 "$pardd" if=src of=dst map=map
}
it "refuses a map that another run has, and only as long as it has it" two_runs
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
