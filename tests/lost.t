#!/usr/bin/env bash
# A rescue that is cut short: a target or map that cannot be written, a source that
# disappears.  What is left is true.
# shellcheck disable=SC1091,SC2016,SC2034,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

# ---------------------------------------------- what ends a run, and what stays

flush_fails()
{
	stuff && exits 103 with_faults "on=$PWD/dst op=flush fail=EIO nth=1" \
	    "$pardd" if=src of=dst map=map && faulty fdatasync && nothing_safe && does_not_say '^pardd: complete'
}
it "saves nothing as finished when the flush at the end fails" flush_fails
# The last flush of a file is fsync, as the map records when it was written.
flush_with_date_fails()
{
	local n
	stuff && FAULT_LOG_ALL=1 with_faults "on=$PWD/dst op=flush nth=99" exits 0 "$pardd" if=src of=dst map=map || return
	n=$(grep -c '^f.*sync' faults)
	grep -q ' written=' map && rm map dst || return
	exits 103 with_faults "on=$PWD/dst op=flush fail=EIO nth=$n" "$pardd" if=src of=dst map=map &&
	    faulty fsync && nothing_safe && says 'dst: flushing: .*rror' || return
	rm map dst
	exits 0 with_faults "on=$PWD/dst op=flush fail=EINTR nth=$n" "$pardd" if=src of=dst map=map &&
	    faulty fsync && same src dst && grep -q ' written=' map
}
it "... also the flush that comes with the time of the last write" flush_with_date_fails
flush_fails_midway()
{
	# only the first fails: the kernel reports such an error once
	slowly "on=$PWD/dst op=flush fail=EIO nth=1" mapinterval=1
	wait $!
	ended exit 103 && faulty fdatasync && nothing_safe && says 'flushing'
}
it "saves nothing as finished after a flush that failed midway" flush_fails_midway
write_fails()
{
	stuff && exits 55 with_faults "on=$PWD/dst op=write at=1048576+512 fail=EIO" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr="$1" && faulty write && nothing_safe
}
for thr in $(few 1 16); do
	it "saves nothing as finished after a write that failed ($thr workers)" write_fails $thr
done
# A write that hangs may have met the error of another write, so that the flush meets
# none any more: its result is waited for.
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
it "saves nothing as finished while a write that will fail is not over" write_fails_late
# Only the write that found no room is lost.
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
it "... or that must not become longer" full 27 77 1	# EFBIG
# A worker that has written 4 MiB meets early write-back.
full_elsewhere()
{
	local size=16777216
	stuff && exits 78 with_faults "on=$PWD/dst op=write old;on=$PWD/dst op=range fail=ENOSPC from=5" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 && faulty sync_file_range && nothing_safe
}
it "saves nothing as finished when an earlier write found no room" full_elsewhere
# The map cannot be written when it is saved; it could when the copy began.
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
it "tells of a map that could not be saved, and does not blame the target" not_saved
not_saved_either()
{
	local at
	at=$(seq -s , -f '%.0f+512' 8192 65536 1974272)
	stuff && exits 78 with_faults "$(no_room);on=$PWD/src op=read at=$at fail=EIO" \
	    "$pardd" if=src of=dst map=map && faulty fsync && nothing_safe &&
	    says 'NOT complete: 15872 bytes could not be read, and map was not saved: .*No space' &&
	    does_not_say 'shows where|flush|see map' && [[ $(grep -c 'unreadable: bytes' err) = 31 ]]
}
it "... and does not refer the reader to it for bad blocks" not_saved_either
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
it "tells of that, too, beside what ended the copy" not_saved_at_all
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
# A worker has met the error, but not yet stopped the run, when the map is saved.
told_first()
{
	local tries=5 size=16777216
	until ((tries-- == 0)); do	# the map may have been saved before
		rm -f map*
		told_once
		! faulty sync_file_range || break
	done
	faulty sync_file_range && [[ $status != 0 ]] && nothing_safe && does_not_say '^pardd: complete'
}
told_once()
{
	stuff && run with_faults "on=$PWD/dst op=range,flush from=3 once fail=EIO sleep=2500;\
on=$PWD/dst op=write old" "$pardd" if=src of=dst map=map bs=512 bpt=256 thr=1 mapinterval=1
}
it "saves nothing as finished while a worker deals with that error" told_first
it "copies all again after that" eval 'flush_fails && rescue 0 nth=999999 && same src dst && is + 0+$size'

vanishes()
{
	stuff && run with_faults "on=$PWD/src op=read at=1048576+ fail=$2" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr="$1" &&
	    [[ $status = $((50 + $3)) ]] && faulty read && is '-*/' '' && honest &&
	    is '+' 0+1048576 && (($(grep -c . faults) <= 2 * $1))
}
for thr in $(few 1 16); do
	it "ends at once when the source has gone, and counts nothing as bad ($thr workers)" vanishes $thr ENODEV 19
done
it "ends at once when the source has gone (ENXIO)" vanishes 4 ENXIO 6
timed_out()
{
	bad=409600+512,1024000+1024
	stuff && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=$1" \
	    "$pardd" if=src of=dst map=map bs=512 && is - "$bad" && is '?*/' '' && honest
}
it "goes on after a read for which the kernel has waited too long" timed_out 110	# ETIMEDOUT
it "goes on after an error of a damaged file system" timed_out 117	# EUCLEAN
it "... or of a wrong checksum" timed_out 74	# EBADMSG
it "... or of a read that was lost on its way" timed_out 67	# ENOLINK
# same_pass: the position is the one of the earlier map
same_pass()
{
	[[ $(grep -v '^#' map | head -n 1 | tr -s ' ') = '0x00000000 ? 1' ]] ||
	    fail "not at the beginning but $(awk '!/^#/ { print; exit }' map)"
}
# A disk that answers only with errors, after a run that has read some of it.
# dead THR LINE...: nothing becomes bad; once the disk is back, all of it is copied
dead()
{
	bad=0+$size
	begun_with "${@:2}" && rescue 69 '' thr="$1" retries=1 ${part-} &&
	    says 'even for what could be read before' && as_before && same_pass && same dst old &&
	    (($(grep -c '^read' faults) <= 32 + 2 * $1)) || fail "$(grep -c '^read' faults) reads" || return
	exits 0 "$pardd" if=src of=dst map=map bs=512 thr="$1" retries=1 && complete && same src dst
}
kinds=('0x0 0x80000 +' '0x80000 0x40000 *' '0xC0000 0x80000 ?' '0x140000 0x20000 /'
    '0x160000 0x20000 -' '0x180000 0x40000 +' '0x1C0000 0x40000 ?')
# what is trimmed with two errors
spots=('0x0 0x8000 +')
for ((at = 0x8000; at < size; at += 0x8000)); do
	spots+=("$(printf '0x%X 0x4000 *' $at)" "$(printf '0x%X 0x4000 +' $((at + 0x4000)))")
done
for thr in $(few 1 16); do
	it "ends when the disk of a continued rescue is dead ($thr workers)" dead $thr "${kinds[@]}"
	it "... even if all of it was tried ($thr workers)" dead $thr "${spots[@]}"
	it "... even if its bad blocks come next ($thr workers)" dead $thr '0x0 0x100000 +' '0x100000 0x100000 -'
	it "... even if no block is left untried ($thr workers)" dead $thr '0x0 0x80000 +' '0x80000 0x180000 /'
	it "... even if it has failed only a few reads ($thr workers)" \
	    dead $thr '0x0 0x100000 +' '0x100000 0x400 -' '0x100400 0xFFC00 +'
	it "... even if they are of blocks that nobody has tried ($thr workers)" \
	    dead $thr '0x0 0x100000 +' '0x100000 0x200 ?' '0x100200 0xFFE00 +'
done
part='skip=2048 seek=2048'
it "... even if another part of it was read" dead 4 '0x0 0x80000 +' '0x80000 0x180000 ?'
part=retries=20
# from_cache THR: all that was read is dead, but for a little that was read last.
from_cache()
{
	begun_with '0x0 0x1F0000 +' '0x1F0000 0x10000 ?' && "$blocks" make src 4M &&
	    exits 69 with_faults "on=$PWD/src op=read at=0+2031616,2097152+ fail=EIO" \
	    "$pardd" if=src of=dst map=map bs=512 thr="$1" retries=1 &&
	    says 'even for what could be read before' && is + 0+2097152 && is '-*/' ''
}
for thr in $(few 1 16); do
	it "... even if it still answers from its cache ($thr workers)" from_cache $thr
done
# What the map calls read comes from the source.  Zeros that were read beside the error
# may be on the target, but not in the map.
untold()
{
	"$maps" check -p map src dst old 0 0 $size
}
# turns_to KIND FROM OPERANDS...: after its errors, all of the disk reads as that
turns_to()
{
	local what=${1/#[!z]*/the same again, as there is}
	bad=409600+512,1024000+102400
	stuff && exits 69 with_faults "on=$PWD/src op=read at=$bad fail=EIO;\
on=$PWD/src op=read from=$2 $1" "$pardd" if=src of=dst bs=512 bpt=64 "${@:3}" &&
	    says "${what/#zero/zeros, as there are} now where it had something else"
}
turns_and_back()
{
	turns_to "$@" map=map && untold && [[ -n $("$maps" list map +) ]] &&
	    exits 0 "$pardd" if=src of=dst map=map retries=1 && same src dst
}
turns_without_map()
{
	turns_to "$@" coe=1 && does_not_say '^pardd: complete'
}
for thr in $(few 1 16); do
	it "does not believe the zeros of a disk after errors ($thr workers)" \
	    turns_and_back zero $((30 + 4 * thr)) thr=$thr
	for junk in zero fill=255 fill=170 stale; do
		it "... late, $junk ($thr workers)" turns_and_back $junk $((50 + 3 * thr)) thr=$thr
		it "... nor without a map, $junk ($thr workers)" turns_without_map $junk 40 thr=$thr engine=threads
	done
done
# That happens during a slow error, while another worker reads on.
zeros_meanwhile()
{
	bad=393216+32768
	stuff && exits 69 with_faults "on=$PWD/src op=read at=$bad whole times=1 sleep=1000 fail=EIO;\
on=$PWD/src op=read from=38 zero" "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=2 &&
	    says 'zeros, as there are now where it had something else' && untold
}
it "... nor those that came during its first error" zeros_meanwhile
gone_on_blank()
{
	begun_with '0x0 0x100000 +' '0x100000 0xF0000 ?' '0x1F0000 0x10000 -' &&
	    exits 69 with_faults "on=$PWD/src op=read at=1048576+ zero;on=$PWD/src op=read from=$1 zero" \
	    "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 && says "reading $2: zeros, as" && "${@:3}"
}
it "... nor those after an error of an earlier run" gone_on_blank 17 "4096 bytes at byte 1048576" honest
it "... at the end, too" gone_on_blank 18 "978944 bytes at byte 1052672" is "?" 1052672+978944
# Killed when zeros were confirmed once, and more have followed: the map has the first; saved later, all.
doubted()
{
	begun_with '0x0 0x100000 +' '0x100000 0xF0000 ?' '0x1F0000 0x10000 -' || return
	dd if=/dev/zero of=src bs=64K seek=16 count=$((8 + $1)) conv=notrunc status=none && rm -f go
	FAULTS="on=src op=read at=1998848+ until=go;on=src op=read at=1572864+ sleep=$2" FAULT_LOG=$PWD/faults \
	    LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst map=map bs=512 bpt=64 thr=1 mapinterval=1 2>err &
	until_true 30 grep -qs waits faults && until_true 20 test map -nt faults &&
	    kill -KILL "$(sed -n 's/^pid //p' how)"
	wait $!
	is + "0+$3"
}
it "has nothing doubtful in its map when it is killed" doubted 7 0 1052672
it "... but has what was confirmed by then" doubted 0 300 1998848
# true_junk BYTE THR: the disk really holds that: one byte, or one block, again and again
true_junk()
{
	"$blocks" make src 1M && "$blocks" make dst 4M 9 && cp dst old &&
	    { tr '\0' "\\$1" | head -c 2M && for ((i = 0; i < 2048; i++)); do
		head -c 512 src
	    done; } </dev/zero >junk && cat junk >>src || return
	bad=2097152+512,2500096+51200
	size=4194304
	export FAULT_LOG_ALL=1
	rescue 100 '' thr="$2" && is - "$bad" && is '?*/' '' && honest 0 0 4194304 &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=dst \
	    bs=512 coe=1 thr="$2" && lost_only
}
lost_only()
{
	cmp -l src dst | awk '{ at = $1 - 1 }
	!(at >= 2097152 && at < 2097664 || at >= 2500096 && at < 2551296) { exit 1 }'
}
for thr in $(few 1 16); do
	for junk in 0 377; do
		it "believes what a disk repeats if the rest is as it was (\\$junk, $thr workers)" \
		    true_junk $junk $thr
	done
done
# What was read is a small part at the beginning, of which the first block is
# all that can be read: it is not asked for that again and again.
first_only()
{
	begun_with '0x0 0x40000 +' '0x40000 0x1C0000 ?' &&
	    exits 69 with_faults "on=$PWD/src op=read at=512+ fail=EIO" "$pardd" if=src of=dst \
	    map=map bs=512 thr=4 && as_before
}
it "... but for one block" first_only
# What was read has died since; the rest can be read as before.
only_fresh()
{
	local size=16777216
	begun_with '0x0 0x10000 +' '0x10000 0xFF0000 ?' && bad=0+4194304 && rescue 100 '' thr=1 retries=0 &&
	    is + 0+65536,4194304+12582912 && honest
}
it "goes on when only what it had read is dead" only_fresh
it "... in the middle of the retries" dead 4 '0x0 0x100000 +' '0x100000 0x400 -' '0x100400 0xFFC00 +'
part=
# What was read is not part of this copy, and most of this copy could not be read.
read_elsewhere()
{
	local at lines=()
	for ((at = 0; at < 0x50000; at += 0x4000)); do
		lines+=("$(printf '0x%X 0x2000 -' $at)" "$(printf '0x%X 0x2000 ?' $((at + 0x2000)))")
	done
	bad=0+327680,1048576+
	begun_with "${lines[@]}" '0x50000 0xB0000 +' '0x100000 0x8000 ?' '0x108000 0xF8000 -' &&
	    rescue 100 '' thr=1 skip=2048 seek=2048 count=64 && is + 327680+720896 && same dst old
}
it "goes on when it can read what is not part of the copy" read_elsewhere
# The source goes in the second retry; what failed in the first was proved to be bad.
goes_later()
{
	begun_with '0x0 0x20000 +' '0x20000 0x200 -' '0x20200 0xDFE00 +' '0x100000 0x200 -' \
	    '0x100200 0xFFE00 +' && exits 69 with_faults "on=$PWD/src op=read at=131072+512 fail=EIO \
times=1;on=$PWD/src op=read at=131072+512 fail=ENODEV" "$pardd" if=src of=dst map=map bs=512 \
	    thr=1 retries=2 && is - 131072+512 || return
	bad=131072+512
	rescue 100 '' retries=1 && faulty read
}
it "keeps what failed before the source went in a second retry" goes_later
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
# What this run has read cannot be read any more; but it was bad before.
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
	it "goes on where most of what was read before can be read ($thr workers)" half_dead $thr
	it "... but not what a retry brought back ($thr workers)" weak $thr
done
# Of 2.5 GiB that were read before, it is enough that 6 of 16 blocks can be read again.
large()
{
	local bad=2684354560+1048576
	truncate -s 2560M src dst && "$blocks" make src 1M 7 2560M &&
	    printf '%s\n' '0 ? 1' '0x0 0xA0000000 +' '0xA0000000 0x100000 ?' >map &&
	    rescue 100 '' thr=1 && is - "$bad" && is + 0+2684354560
}
it "goes on where much of a large disk can still be read" large
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

# The directory of the map is renamed meanwhile, and another takes its place, with a map.
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
it "saves the map in the directory in which it was, wherever that is now" moved_away
it "... with bad blocks" moved_with_bad
# -------------------------------------------------------- the order of things

# flush, map, fsync, .bak, rename, directory: for each map but the first
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
	    END { print maps, written, wrong + 0; exit wrong || maps < 3 || !folder }' || { cat trace; return 1; }
}
[[ $VARIANT != plain ]] || given traced "no strace" \
    it "saves a map once the target is flushed, and renames it once it is written" order
