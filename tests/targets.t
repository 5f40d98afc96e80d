#!/usr/bin/env bash
# One source and several targets, with a verdict for each.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

schema=$top/tests/tools/schema.jq

# What is over before a byte moves says nothing more under a sanitizer.
plainly()
{
	[[ $VARIANT != plain ]] || it "$@"
}
# verdicts NAME=REGEX...: on stderr each has its line, in this order, and then
# comes the last one; it is in $last
verdicts()
{
	local lines n=$# one
	mapfile -t lines <err
	last=${lines[-1]}
	for one in "$@"; do
		[[ ${lines[-n - 1]} =~ ^"pardd: ${one%%=*}: "${one#*=}$ ]] ||
		    fail "not '${one}': ${lines[-n - 1]}" || { cat err; return 1; }
		((n--))
	done
}
# ends_with TEXT: the last line
ends_with()
{
	[[ $last = "pardd: $1" ]] || { echo "not the last line: $1"; cat err; return 1; }
}
# hurt RULES STATUS OPERANDS...: from src, of 4 MiB + 1000 bytes, to a, b and c
hurt()
{
	local rules=$1 want=$2
	shift 2
	in_memory && "$blocks" make src 4195304 &&
	    exits "$want" with_faults "$rules" "$pardd" if=src of=a of=b of=c bpt=128 "$@"
}
fine='complete, flushed, verified'
# all_but_b: the others are whole, and were verified
all_but_b()
{
	same src a && same src c && verdicts a="$fine" b="NOT complete: $1" c="$fine" &&
	    ends_with 'NOT complete: 1 of 3 targets: b'
}
# read_once: by the shim's log the source was read once, all of it; $size bytes
read_once()
{
	local n
	n=$(awk '$1 == "read" && $4 > 0 { n += $4 } END { print n }' faults)
	[[ $n = "$1" ]] || fail "$n bytes were read, not $1"
}
# untouched NAME...: what was there is there, what was not is not
untouched()
{
	local one
	for one in "$@"; do
		if [[ -e $one.was ]]; then
			same "$one" "$one.was" || return
		else
			[[ ! -e $one ]] || fail "there is $one" || return
		fi
	done
}

three()
{
	hurt '' 0 verify=1 && same src a && same src b && same src c &&
	    verdicts a="$fine" b="$fine" c="$fine" && ends_with "$fine: 3 targets"
}
it "copies to three targets, with a verdict for each" three
second()
{
	"$blocks" make src 100000 && exits 0 "$pardd" if=src of=a of2=b && same src a && same src b &&
	    verdicts a='complete, flushed' b='complete, flushed' && ends_with 'complete, flushed: 2 targets'
}
it "takes of2= for the second" second
many()
{
	local n all=()
	in_memory && "$blocks" make src 3000000 || return
	for n in {1..16}; do
		all+=("of=t$n")
	done
	exits 0 "$pardd" if=src "${all[@]}" verify=1 bpt=100 && says 'complete, flushed, verified: 16 targets' || return
	for n in {1..16}; do
		same src "t$n" || return
	done
}
it "copies to sixteen" many
not_seventeen()
{
	local n all=()
	for n in {1..17}; do
		all+=("of=t$n")
	done
	"$blocks" make src 1000 && usage 'of=t17: of= is given more than 16 times' if=src "${all[@]}" && [[ ! -e t1 ]]
}
plainly "and to no more" not_seventeen

once()
{
	FAULT_LOG_ALL=1 hurt "on=$PWD/src op=read times=0 fail=EIO" "$@" && read_once 4195304
}
# The case is in a directory of its own, in memory, which hurt makes.
once_hurt()
{
	in_memory && "$blocks" make src 4195304 && "$blocks" make b 1M 3 || return
	FAULT_LOG_ALL=1 exits "$1" with_faults "on=$PWD/src op=read at=1000000000+1 fail=EIO;$2" \
	    "$pardd" if=src of=a of=b of=c bpt=128 verify=1 "${@:3}" && read_once 4195304
}
it "reads the source once" once_hurt 0 "op=write on=$PWD/nothing"
it "reads it once when a target fails" once_hurt 55 "on=b op=write nth=3 fail=EIO"
it "reads it once when a target keeps something else" once_hurt 14 "on=b op=write nth=3 flip" retries=0

at_37()
{
	hurt 'on=b op=write at=1552262+ fail=EIO' 55 verify=1 &&
	    all_but_b 'writing [0-9]+ bytes at byte [0-9]+: Input/output error' &&
	    says '^pardd: b: writing .* it is dropped, and 2 targets continue$'
}
it "drops one that fails at 37 per cent, and the others end" at_37
retried()
{
	hurt 'on=b op=write nth=3 fail=EIO' 0 verify=1 retries=1 oflag=direct && same src b
}
it "tries again as often as retries= says" retried
vanished()
{
	hurt 'on=b op=write from=4 fail=ENODEV' 69 verify=1 && all_but_b '.*No such device'
}
it "drops one that vanishes" vanished
# Which of the calls went to b the log does not say: with thr=1 it is the one that failed.
left_alone()
{
	export FAULT_LOG_ALL=1
	hurt 'on=b op=write from=4 fail=ENODEV' 69 thr=1 bpt=128 && [[ $(grep -c '^write .* -19 ' faults) = 1 ]]
}
it "... and asks it for nothing more" left_alone
full()
{
	hurt 'on=b op=write at=2000000+ fail=ENOSPC' 78 verify=1 && all_but_b '.*No space left on device'
}
it "drops one that is full" full
slow()
{
	local took=$EPOCHREALTIME
	hurt 'on=b op=write nth=5 sleep=2500' 0 verify=1 timeout=10 && same src b &&
	    (($(since "$took") >= 2500)) && does_not_say dropped
}
it "waits for one that takes its time" slow
hung()
{
	hurt 'on=b op=write nth=5 hang' 33 verify=1 timeout=1 && faulty waits && all_but_b 'no answer for 1 s'
}
it "drops one that hangs for ever" hung
# By Ctrl-Z, say: it is not the target that does not answer meanwhile.
stopped()
{
	"$blocks" make src 3M || return
	FAULTS="on=b op=write nth=2 until=go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=a of=b timeout=4 2>err &
	until_true 30 grep -qs ^waits faults && kill -STOP $! && sleep 6 && kill -CONT $! && sleep 0.5 && : >go && wait $! &&
	    complete && same src a && same src b
}
only plain
it "... but none while it was stopped itself" stopped
only all
hung_all()
{
	hurt 'op=write on=a hang;op=write on=b hang;op=write on=c hang' 33 timeout=1 &&
	    verdicts a='NOT complete: no answer for 1 s' b='NOT complete: no answer for 1 s' \
	    c='NOT complete: no answer for 1 s' && ends_with 'NOT complete: no answer for 1 s: 3 targets' &&
	    says 'that was the last target'
}
it "ends when all hang" hung_all
not_flushed()
{
	hurt 'on=b op=flush fail=EIO' 103 verify=1 &&
	    all_but_b 'flushing: Input/output error; the copy may not be on the medium'
}
it "drops one that cannot be flushed" not_flushed
flush_hung()
{
	hurt 'on=b op=flush hang' 103 verify=1 timeout=1 && all_but_b 'not flushed for .* s; .*'
}
it "drops one whose flush never ends" flush_hung
not_closed()
{
	hurt 'on=b op=close fail=EIO' 103 verify=1 && same src a && same src c &&
	    verdicts a="$fine" b='NOT complete: closing: .*' c="$fine"
}
it "tells of one that cannot be closed" not_closed
differs()
{
	hurt 'on=b op=write nth=3 flip' 14 verify=1 json=j retries=0 && same src a && same src c && ! same src b &&
	    says '^pardd: b: byte [0-9]+ is not what was written there; continuing$' &&
	    all_but_b '65536 bytes in 1 range of b are not what was written there' &&
	    jq -es -f "$schema" j >/dev/null && jq -e 'select(.event == "result") |
	    (.verified | not) and (.targets | map(.verified) == [true, false, true]) and
	    (.targets[1].mismatch | length == 1) and (.mismatch | map(.offset)) == (.targets[1].mismatch | map(.offset)) and
	    (.reasons == .targets[1].reasons) and (.reasons | map([.kind, .end, .bytes]) == [["differs", "b", 65536]])' j >/dev/null
}
it "tells of one that keeps something else" differs
by_source()
{
	hurt 'on=b op=write nth=3 flip' 14 verify=source retries=0 && all_but_b '.* are not what was written there'
}
it "... with verify=source, too" by_source
it "... and with verify=stream" hurt 'on=b op=write nth=3 flip' 14 verify=stream retries=0
# repaired BYTES RULES OPERANDS...: a, b and c are what src is
repaired()
{
	hurt "$2" 0 json=j "${@:3}" && faulty write && same src a && same src b && same src c &&
	    verdicts a="$fine" b="$fine" c="$fine" && ends_with "$fine: 3 targets" &&
	    says 'continuing, and it will be repaired$' &&
	    says "^pardd: 3 targets: $1 bytes differed when they were read back; they were copied again" &&
	    jq -e "select(.event == \"result\") | .verified and .bytes_verified == 4195304 and
	    .bytes_mended == $1 and (.targets | all(.verified and .mismatch == [])) and
	    (.targets | map(.bytes_written) | .[0] == 4195304 and add == 3 * 4195304 + $1)" j >/dev/null
}
for how in 1 source stream; do
	it "verify=$how repairs one that keeps something else" repaired 65536 'on=b op=write nth=3 flip' verify=$how
done
it "repairs two that keep something else, in one place and in others" repaired $((4 * 65536)) \
    'on=b op=write nth=3 flip;on=c op=write at=131072+1,1500000+1,4000000+1 times=1 flip' verify=1 thr=1
it "... at the end, which is no whole block" repaired 1000 'on=b op=write at=4195303+1 times=1 flip' verify=1
# src ends at 4195304, and with conv=sync each target at 4198400.
pad_differs()
{
	hurt 'on=b op=write at=4198000+1 flip' 14 bs=4096 conv=sync verify="$1" retries=0 &&
	    verdicts a="$fine" b='NOT complete: .* bytes in 1 range of b are not what was written there' c="$fine"
}
for how in 1 source stream; do
	it "verify=$how tells of one that keeps something else in what conv=sync pads" pad_differs $how
done
lasting()
{
	hurt 'on=b op=write at=1500000+1 flip' 14 verify=1 json=j "$@" && faulty write "$writes" && same src a &&
	    same src c && ! same src b && all_but_b '65536 bytes in 1 range of b are not what was written there' &&
	    jq -e 'select(.event == "result") | .bytes_verified == 4195304 - 65536 and
	    (.targets | map(.verified) == [true, false, true])' j >/dev/null
}
writes=3
it "tells of one that keeps something else after two repairs" lasting
writes=6
it "... after as many as retries= says" lasting retries=5
# Not with what no digest was made of.
source_moves()
{
	hurt 'on=b op=write at=1500000+1 times=1 flip;on=src op=read at=1500000+1 flip from=2' 14 verify=1 hash=md5 &&
	    all_but_b '65536 bytes in 1 range of b are not what was written there'
}
it "repairs none if the source has changed since the copy" source_moves
gone_by()
{
	in_memory && "$blocks" make src 4195304 &&
	    exits 14 with_faults 'on=b op=write nth=3 flip' "$pardd" of=a of=b of=c bs=64k verify=1 < <(cat src) &&
	    all_but_b '[0-9]+ bytes in 1 range of b are not what was written there'
}
it "repairs none if the source is gone by then" gone_by
# What is dropped while it is repaired takes no other with it.
dropped_then()
{
	hurt 'on=b op=write nth=3 flip;on=b op=write from=65 fail=EIO' 55 verify=1 && faulty write 2 &&
	    all_but_b 'writing [0-9]+ bytes at byte [0-9]+: Input/output error'
}
it "drops one that fails while it is repaired" dropped_then
unreadable_back()
{
	hurt 'on=b op=read fail=13' 63 verify=1 && all_but_b 'reading back at byte .*'
}
it "drops one that cannot be read back" unreadable_back
bad_back()
{
	hurt 'on=b op=read nth=2 fail=EIO' 14 verify=1 retries=0 && says '^pardd: b: byte [0-9]+ cannot be read back, or is not what' &&
	    all_but_b '[0-9]+ bytes in 1 range of b cannot be read back, or are not what was written there'
}
it "tells which has a block that cannot be read back" bad_back
back_hung()
{
	hurt 'on=b op=read hang' 33 verify=1 timeout=1 && all_but_b 'no answer for 1 s'
}
it "drops one that hangs when it is read back" back_hung
not_extended()
{
	in_memory && "$blocks" make src 100000 && truncate -s 1M src &&
	    exits 77 with_faults 'on=b op=length fail=27' "$pardd" if=src of=a of=b of=c conv=sparse && faulty length &&
	    same src a && same src c && verdicts a='complete, flushed' \
	    b='NOT complete: making it 1048576 bytes long: File too large' c='complete, flushed'
}
it "drops one that cannot be made long enough" not_extended
# interfered STATUS WHY COMMAND...: what somebody does to b, when 3 MiB are there
interfered()
{
	in_memory && "$blocks" make src 4M || return
	with_faults "on=$PWD/src op=read at=3145728+ until=$PWD/go" "$pardd" if=src of=a of=b of=c thr=1 2>err &
	until_true 20 grep -qs waits faults && "${@:3}" && : >go &&
	    exited "$1" && same src a && same src c && verdicts a='complete, flushed' b="NOT complete: $2" c='complete, flushed'
}
it "drops one that is removed meanwhile" interfered 52 'b was removed or replaced during the copy: .*' rm b
it "drops one that is truncated meanwhile" interfered 15 '.*it was truncated at byte 1000 during the copy' \
    truncate -s 1000 b
unlike_blocks()
{
	export ANSWERS='disk=x block=520;disk=y block=512'
	truncate -s 520000 x && truncate -s 512000 y && "$blocks" make src 52000 && cp x x.was && cp y y.was &&
	    LD_PRELOAD=$tools/answer.so refused 'y has blocks of 512 bytes, which do not go with' if=src of=x of=y &&
	    untouched x y
}
it "refuses disks whose blocks do not go together" unlike_blocks
first_counts()
{
	hurt 'on=c op=write from=2 fail=EIO;on=b op=write from=6 fail=ENOSPC' 78 &&
	    verdicts a='complete, flushed' b='.*No space left on device' c='.*Input/output error' &&
	    ends_with 'NOT complete: 2 of 3 targets: b, c'
}
it "ends with the status of the first in the order given" first_counts
none_left()
{
	hurt 'op=write on=a from=3 fail=EIO;op=write on=b from=4 fail=ENOSPC;op=write on=c from=5 fail=ENODEV' 55 &&
	    verdicts a='NOT complete: .*' b='NOT complete: .*' c='NOT complete: .*' &&
	    ends_with 'NOT complete: 3 of 3 targets: a, b, c'
}
it "ends when none is left" none_left
none_flushed()
{
	hurt "on=a op=flush fail=EIO;on=b op=write fail=ENOSPC;on=c op=write fail=EDQUOT" 103 &&
	    verdicts a='NOT complete: flushing: Input/output error; the copy may not be on the medium' \
		b='NOT complete: writing .*: No space left on device' c='NOT complete: writing .*: Disk quota exceeded' &&
	    ends_with 'NOT complete: 3 of 3 targets: a, b, c' && [[ $(grep -c 'that was the last target$' err) = 1 ]]
}
it "says what is wrong with each when none is left" none_flushed
quiet()
{
	hurt 'on=b op=write from=4 fail=EIO' 55 status=none && [[ $(grep -c . err) = 2 ]] && verdicts b='NOT .*'
}
it "names only what is wrong with status=none" quiet

# --- before the first write

refuses()
{
	local why=$1
	shift
	refused "$why" "$@" && untouched new
}
prepared()
{
	"$blocks" make src 2M && "$blocks" make old 64k 5 && cp old old.was && ln old hard && ln -s old soft &&
	    refuses "$@" && untouched old
}
plainly "refuses the same target twice" prepared 'old and old are the same target' if=src of=old of=new of=old
plainly "refuses it by another link" prepared 'old and hard are the same target' if=src of=old of=hard of=new
plainly "refuses it by a symbolic link" prepared 'soft and old are the same target' if=src of=new of=soft of=old
plainly "refuses two names of a file to be made" prepared 'new and ./new are the same target' if=src of=new of=old of=./new
plainly "refuses the source among them" prepared 'overlaps the one to be read' if=src of=new of=old of=src
two_streams()
{
	prepared 'both written in order' if=src of=new of=>(cat) of=>(cat)
}
plainly "refuses two streams" two_streams
no_folder()
{
	"$blocks" make src 2M && exits 52 "$pardd" if=src of=new of=nowhere/x && one_line 'there is no directory nowhere$' && untouched new
}
plainly "refuses one in a folder that is not there" no_folder
# A file system without room for another name tells so when the file is made.
no_name()
{
	"$blocks" make src 2M && "$blocks" make old 64k 5 && cp old old.was && mkdir full &&
	    mount -t tmpfs -o nr_inodes=1 none full && undo umount -l "$PWD/full" &&
	    exits 78 "$pardd" if=src of=new of=old of=full/x && one_line 'full/x.*No space left' && untouched new old
}
given can_loop "no loop devices" plainly "takes back those that it has made where another cannot be" no_name
plainly "refuses a file among the devices" prepared 'no file is created in the device file system' if=src of=new of=old of=/dev/pardd-x
plainly "does not write its digests to one" prepared 'hashfile=old: is used for something else' \
    if=src of=new of=old hash=md5 hashfile=old
plainly "does not write its lines to one" prepared 'json=old' if=src of=new of=old json=old

disks()
{
	"$blocks" make src 2M && truncate -s 4M big && loop big && large=$dev &&
	    truncate -s 1M small && loop small && little=$dev && "$blocks" make old 64k 5 && cp old old.was
}
too_small()
{
	disks && refuses "$little has room for 1048576 bytes" if=src of=new of=old of="$large" of="$little" &&
	    untouched old && "$blocks" zero big 0 4M
}
read_only()
{
	disks && truncate -s 4M ro && loop ro --read-only &&
	    run "$pardd" if=src of=new of=old of="$dev" && [[ $status != 0 ]] && one_line "$dev" && untouched old new
}
in_use()
{
	disks && "$hold" excl "$large" sh -c ': >there && exec sleep 1000' &
	disown
	until_true 20 test -e there && large=$(losetup -j big -O NAME -n) && "$blocks" make src 2M &&
	    refuses "${large#/dev/} is in use" if=src of=new of=old of="$large" && untouched old
}
on_top()
{
	disks && refuses 'overlap|lies on' if=src of=new of=big of="$large"
}
parts()
{
	"$blocks" make src 1M && truncate -s 8M one two && echo start=2048,size=4096 | sfdisk -q one &&
	    echo start=4096,size=4096 | sfdisk -q two && exits 0 "$pardd" if=src of=one of=two opart=1 verify=1 &&
	    holds one 1M 0 1M && holds two 2M 0 1M && sfdisk -d two | grep -q 'start= *4096'
}
both_paths()
{
	"$blocks" make src 1M && truncate -s 4M image && loop image && local one=$dev && loop image &&
	    refuses 'overlap|lie on the same' if=src of=new of="$one" of="$dev"
}
serials()
{
	"$blocks" make src 1M && truncate -s 2M one two && loop one && local a=$dev && loop two && local b=$dev || return
	mkdir -p "sysfs/${a##*/}" "sysfs/${b##*/}" && echo A1 >"sysfs/${a##*/}/serial" &&
	    echo B2 >"sysfs/${b##*/}/serial" && export SYSFS=$PWD/sysfs || return
	exits 101 with_faults on=none "$pardd" if=src of="$a" of="$b" oserial=B2 oserial=A1 &&
	    one_line "$a is not the disk that oserial=B2 asks for" && "$blocks" zero one 0 2M &&
	    exits 0 with_faults on=none "$pardd" if=src of="$a" of="$b" oserial=A1 oserial=B2 verify=1 &&
	    verdicts "$a=$fine" "$b=$fine"
}
hold=$tools/hold
if able can_loop "no loop devices"; then
	plainly "asks each for its serial number" serials
	plainly "refuses all if one is too small" too_small
	plainly "refuses all if one is read-only" read_only
	plainly "refuses all if one is in use" in_use
	plainly "refuses a loop device and the file that it lies on" on_top
	plainly "refuses two loop devices on one file" both_paths
fi

# --- what kinds there are

it "writes into a partition of each, wherever it lies" parts
odd_end()
{
	"$blocks" make src 1000100 && truncate -s 4M disk && loop disk &&
	    exits 0 "$pardd" if=src of=file of="$dev" of=- verify=0 bpt=64 >out || return
	same src file && same src out && holds disk 0 0 1000100 && "$blocks" zero disk 1000100 412
}
# The end of a file is where the data ends, or the last block of bs=.
odd_hole()
{
	"$blocks" make src 1000100 && fallocate -p -o 900000 -l 100100 src && truncate -s 4M disk && loop disk &&
	    exits 0 "$pardd" if=src of=file of="$dev" oflag=sparse "$@" && cmp -n 1000100 src file &&
	    "$blocks" zero disk 900000 100448 && size_is file "$size"
}
# each_end FROM ARGS...: files, new and longer, and disks of 512 and 4096: what ends in
# zeros that are made ends for each where it would if they were written
each_end()
{
	local from=$1 whole=1003520
	shift
	"$blocks" make src 700000 && head -c 300100 /dev/zero >>src && truncate -s 4M img512 img4k &&
	    loop img512 && local small=$dev && loop img4k --sector-size 4096 && local large=$dev &&
	    "$blocks" make old 2M 9 && "$blocks" make "$small" 2M 9 && "$blocks" make "$large" 2M 9 || return
	if [[ $from = pipe ]]; then
		made 2.0 sha256 src 0-170 && exits 0 "$pardd" of=new of=old of="$small" of="$large" "$@" < <(cat src)
	else
		exits 0 "$pardd" if=src of=new of=old of="$small" of="$large" "$@"
	fi || return
	same src new && cmp -n 1000100 src old && holds old 1000100 1000100 1097052 9 &&
	    cmp -n 1000100 src "$small" && "$blocks" zero "$small" 1000100 348 &&
	    holds "$small" 1000448 1000448 1096704 9 && cmp -n 1000100 src "$large" &&
	    "$blocks" zero "$large" 1000100 $((whole - 1000100)) && holds "$large" $whole $whole $((2097152 - whole)) 9
}
odd_verified()
{
	"$blocks" make src 1000100 && truncate -s 4M disk && "$blocks" make file 2M 9 && loop disk &&
	    exits 0 "$pardd" if=src of=file of="$dev" verify=1 bpt=64 && holds file 0 0 1000100 &&
	    holds file 1000100 1000100 1096000 9 && holds disk 0 0 1000100
}
if able can_loop "no loop devices"; then
	it "pads those that need whole blocks, and no others" odd_end
	plainly "... also where it ends in zeros" eval 'size=1000100 && odd_hole'
	plainly "... or conv=sync pads all, and one more" eval 'size=1000192 && odd_hole bs=128 conv=sync'
	plainly "... each where its own blocks end, zeros that are made like those that are written" each_end file oflag=sparse
	plainly "... or that are freed, and verified" each_end file oflag=trim verify=1
	plainly "... or that a block map leaves out of a pipe" each_end pipe bmap=map
	it "verifies each by its own end" odd_verified
fi
to_pipe()
{
	"$blocks" make src 3000000 && "$pardd" if=src of=a of=- of=b bpt=64 2>err | cat >out &&
	    [[ ${PIPESTATUS[0]} = 0 ]] || return
	same src out && same src a && same src b && verdicts a='complete, flushed' \
	    'standard output=complete, nothing to flush' b='complete, flushed' && ends_with 'complete: 3 targets'
}
it "writes to a stream among them" to_pipe
it "copies from a stream" eval \
    '"$blocks" make src 3000000 && "$blocks" drip 3000000 | exits 0 "$pardd" of=a of=b bpt=64 verify=1 &&
    same src a && same src b'
broken_pipe()
{
	"$blocks" make src 3000000 && mkfifo fifo && { head -c 100000 fifo >part & } &&
	    exits 82 "$pardd" if=src of=a of=fifo of=b bpt=64 && same src a && same src b &&
	    verdicts a='complete, flushed' fifo='NOT complete: .*Broken pipe' b='complete, flushed'
}
it "drops a stream whose reader goes" broken_pipe
it "takes of=. as one of them" eval \
    '"$blocks" make src 300000 && exits 0 "$pardd" if=src of=. of=/dev/null of=a && same src a'
sparse()
{
	truncate -s 8M src && "$blocks" make src 64k 1 1M && exits 0 "$pardd" if=src of=a of=b verify=1 "$@" &&
	    same src a && same src b && (($(stat -c %b a) < 4096 && $(stat -c %b b) < 4096))
}
it "leaves holes in all of them" sparse
it "... with oflag=sparse" sparse oflag=sparse
# one_writes RULE...: zeros over what was there, which one of three cannot make
one_writes()
{
	local one
	truncate -s 4195304 src && "$blocks" make src 64k 1 1M && for one in a b c; do
		"$blocks" make $one 4195304 9 || return
	done
	exits "$1" with_faults "$2" "$pardd" if=src of=a of=b of=c oflag=sparse verify=1 && faulty fallocate &&
	    same src a && same src c
}
it "writes zeros to all where one cannot make them" eval 'one_writes 0 "on=b op=zero fail=EOPNOTSUPP" && same src b'
it "... to those that are left where that fails for one" one_writes 55 'on=b op=zero fail=EIO'
placed()
{
	"$blocks" make src 64k && "$blocks" make a 1M 2 && "$blocks" make b 1M 3 &&
	    exits 0 "$pardd" if=src of=a of=b seek=8 skip=2 count=16 verify=1 &&
	    holds a 4096 1024 8192 && holds b 4096 1024 8192 && holds a 12288 12288 1036288 2 &&
	    exits 0 "$pardd" if=src of=a of=b oflag=trunc && size_is a 65536 && size_is b 65536
}
it "applies seek=, count= and trunc to all" placed
lost()
{
	in_memory && "$blocks" make src 256k && with_faults "on=$PWD/src op=read at=65536+512,131072+1024 fail=EIO" \
	    exits 100 "$pardd" if=src of=a of=b coe=1 hash=md5 && same a b &&
	    holds -z 65536+512,131072+1024 a 0 0 256k || return
	[[ $(grep -c 'unreadable: bytes' err) = 2 && $(grep -c "$(md5sum <a | cut -d ' ' -f 1)" err) = 1 ]] &&
	    verdicts a='NOT complete: 3 unreadable blocks in 2 ranges' b='NOT complete: 3 unreadable blocks in 2 ranges' &&
	    ends_with 'NOT complete: 3 unreadable blocks in 2 ranges: 2 targets'
}
it "gives all the same zeros for what cannot be read, and tells of it once" lost
recorded()
{
	in_memory && "$blocks" make src 4M && exits 0 "$pardd" if=src of=a of=b hash=sha256 hashfile=sums \
	    manifest=m log=l rate=100M profile=p.csv time=1 && sha256sum -c --quiet sums && [[ -s m && -s p.csv ]] &&
	    jq -es -f "$schema" l >/dev/null && jq -e '.targets | map(.end.name) == ["a", "b"]' l >/dev/null &&
	    exits 0 "$pardd" if=b manifest=m check=1
}
it "makes digests, a manifest, a profile and a journal" recorded

# manifested SIZE END ARGS...: the manifest is of the first target, not of the disk that is padded
manifested()
{
	local size=$2
	"$blocks" make src "$1" && truncate -s 4M img && loop img --sector-size 4096 || return
	shift 2
	exits 0 "$pardd" if=src of=a of="$dev" manifest=m "$@" && size_is a "$size" &&
	    exits 0 "$pardd" if=a manifest=m check=1 && exits 0 "$pardd" if=src of=a base=m "$@" &&
	    says "^pardd: $size bytes were already present" || return
	exits 0 "$pardd" of="$dev" of=b manifest=disk "$@" <src && size_is b "$size" &&
	    exits 0 "$pardd" if="$dev" manifest=disk check=1 && exits 0 "$pardd" if=src of="$dev" base=disk || return
	exits 0 "$pardd" if=src of=c of="$dev" manifest=m.bmap "$@" && exits 0 "$pardd" if=c of=d bmap=m.bmap &&
	    same a d
}
it "makes the manifest of the first target, padded or not" manifested 1000001 1000001
it "... and one that ends with a range" manifested 1048000 1048000 bs=4096 bpt=2
it "... of which the last range is a block" manifested 1000001 1000001 bs=4096 bpt=1
it "... with conv=sync" manifested 1000001 1000448 bs=512 conv=sync
not_the_dropped()
{
	in_memory && "$blocks" make src 1M && with_faults "on=$PWD/a op=write from=3 fail=EIO" \
	    exits 55 "$pardd" if=src of=a of=b bpt=64 hash=md5 hashfile=sums && md5sum -c --quiet sums && grep -q ' b$' sums
}
it "names one that is left in hashfile=" not_the_dropped
told()
{
	hurt 'on=b op=write from=4 fail=EIO' 55 json=j log=l && jq -es -f "$schema" j >/dev/null &&
	    jq -es '(map(select(.event == "dropped")) | length == 1 and .[0].target == "b" and .[0].status == 55) and
	    (last | .target.name == "a" and .verdict == "stopped" and (.targets | map([.end.name, .status, .verdict,
	    .flushed]) == [["a", 0, "complete", true], ["b", 55, "stopped", false], ["c", 0, "complete", true]]) and
	    (.targets[0].bytes_written == 4195304) and (.targets[1].bytes_written < 4195304))' j >/dev/null
}
it "tells of each in json=" told
# A name that is not text, in messages, too.
told_of_any_name()
{
	local odd=$'b\xff'
	"$blocks" make src 1M && mkfifo "p$odd" && { head -c 1000 src >"p$odd" & } &&
	    exits 102 "$pardd" if="p$odd" of=a of=c count=10 json=j && wait &&
	    jq -es 'last.targets | map([.end.name, .status, .verdict]) == [["a", 102, "short"], ["c", 102, "short"]] and
	    all(.message | startswith("NOT complete: pb\\xFF ended"))' j >/dev/null && : >"$odd" || return
	exits 55 with_faults "on=$PWD/$odd op=write fail=EIO" "$pardd" if=src of=a of="$odd" json=j2 &&
	    jq -es 'map(select(.event == "dropped" and .target == "b\\xFF" and (.message | startswith("b\\xFF: ")))) |
	    length == 1' j2 >/dev/null
}
plainly "... also of those whose name is no text" told_of_any_name
planned()
{
	"$blocks" make src 1M && "$blocks" make a 10000 && exits 0 "$pardd" if=src of=a of=b -d &&
	    grep -q '^Targets 3\?2, ' out && grep -qE '^ +a +10 kB +file' out && grep -qE '^ +b .*to be created' out &&
	    [[ ! -e b ]] && exits 0 "$pardd" if=src of=a of=b -dv && grep -qx 'targets=2' out &&
	    grep -qx 'target=a' out && grep -qx 'target2=b' out && [[ ! -e b ]]
}
plainly "lists the targets with -d" planned
# looked_at TIMES OPERANDS...: -d reads the source so many times
looked_at()
{
	rm -f faults
	{ FAULTS="on=$PWD/src op=read nth=999999 fail=EIO" FAULT_LOG=$PWD/faults FAULT_LOG_ALL=1 LD_PRELOAD=$shim \
	    exits 0 "$pardd" if=src "${@:2}" -d && n=$(grep -c ^read faults) && ((n > 0 && ($1 == 0 || n == $1))); } ||
	    fail "it was read $n times, not $1"
}
looked_at_once()
{
	"$blocks" make src 1M && truncate -s 8M a b c d && looked_at 0 of=a && looked_at "$n" of=a of=b of=c of=d
}
plainly "looks at the source once, however many there are" looked_at_once

# --- signals

interrupted()
{
	in_memory && "$blocks" make src 4M || return
	"$pardd" if=src of=a of=b rate=100k bpt=128 json=j 2>err &
	until_true 20 test -s a && kill -TERM $! || return
	exited 143 && verdicts a='NOT complete: stopped by SIGTERM' b='NOT complete: stopped by SIGTERM' &&
	    ends_with 'NOT complete: stopped by SIGTERM: 2 targets' && jq -es -f "$schema" j >/dev/null
}
it "stops at a signal" interrupted
asked()
{
	in_memory && "$blocks" make src 1M || return
	"$pardd" if=src of=a of=b rate=500k bpt=128 2>err &
	until_true 20 test -s a && kill -USR1 $! && until_true 20 grep -q 'records in' err && wait $! &&
	    same src a && same src b
}
it "answers SIGUSR1" asked
live()
{
	in_memory && "$blocks" make src 1M && script -qec "'$pardd' if=src of=a of=b rate=700k bpt=128" /dev/null >seen &&
	    grep -q 'src to 2 targets (slowest: [ab]): ' seen
}
it "shows how many are left, and which is the slowest" live
live_hung()
{
	in_memory && "$blocks" make src 3M &&
	    FAULTS="on=b op=write nth=2 sleep=4000" LD_PRELOAD=$shim script -qec "'$pardd' if=src of=a of=b of=c" \
	    /dev/null >seen && grep -q 'no answer from b for [1-9]' seen && ! grep -q 'no answer from [^b]' seen
}
plainly "... and the one that does not answer" live_hung
