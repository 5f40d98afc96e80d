#!/usr/bin/env bash
# lab: none
# shellcheck disable=SC1091,SC2034,SC2119,SC2120,SC2154,SC2317
# What disks answer that none in the lab would: files play disks (answer.c), and
# nothing else is needed.
. "$(dirname "$0")/../lib.sh"
[[ -z ${PARDD-} ]] || pardd=$PARDD
answer=$tools/answer.so
[[ -e $answer ]] || { echo 'Bail out! answer.so is not built'; exit 1; }

# disks [WORDS [WORDS]]: two of 1 MiB, as words of ANSWERS
made=
disks()
{
	"$blocks" make src 1M 1 && "$blocks" make dst 1M 9 || return
	made="disk=src ${1-};disk=dst ${2-${1-}}"
}
# answering RULES COMMAND...: what was sent is in the file log
answering()
{
	local rules=$1
	shift
	[[ -n $made ]] || disks || return
	rm -f log
	ANSWERS="$made;$rules" ANSWER_LOG=$PWD/log LD_PRELOAD=$answer "$@"
}
# ends STATUS RULES OPERANDS...: by default from src to dst, 64 commands each
ends()
{
	exits "$1" answering "$2" "$pardd" bs=512 bpt=32 "${@:3}" && fitting
}
copies()
{
	ends "$1" "$2" if=src of=dst "${@:3}"
}
# all_there [RULES [OPERANDS...]]
all_there()
{
	copies 0 "${1-}" "${@:2}" && complete && same src dst
}
# no_command PATTERN: none such in the log
none()
{
	! grep -E "$1" log
}
# some PATTERN [LEAST]
some()
{
	local n
	n=$(grep -cE "$1" log)
	((n >= ${2:-1})) || fail "only $n commands /$1/: the case proves nothing"
}
# No command leads past the end.
fitting()
{
	awk '$4 > 0 && $2 ~ /read|write|same/ && $3 + $4 > 2048 { print; bad = 1 }
	    END { exit bad }' log
}

# ------------------------------------------------------------------ the disks

it "copies by READ and WRITE" eval 'all_there && some "^src read" 64 &&
    some "^dst write" 64 && some "^dst sync" && none "^src (write|sync)"'
it "copies by asynchronous commands" eval 'all_there "" engine=async &&
    some "^src read" 64 && some "^dst write" 64'
for n in ${LONG:+2 3} 16; do
	it "copies by $n workers" all_there '' thr="$n"
done

# --------------------------------------------------------- another medium

# The medium becomes another one at the 20th command of this kind; what is then
# told ends the copy, and nothing of the other is in the target.
other_source()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 6 "op=read nth=20 sense=$1 becomes=other" "${@:2}" &&
	    says 'medium was (changed|removed)' && ! same src dst >/dev/null 2>&1 &&
	    holds dst 0 0 $((19 * 16384)) 1
}
# Commands that are under way at the same time may still reach the other.
other_target()
{
	disks && "$blocks" make other 1M 5 && cp other before &&
	    copies 6 "op=write nth=20 sense=$1 becomes=other" "${@:2}" &&
	    says 'medium was (changed|removed)' &&
	    [[ $(cmp -l other before | wc -l) -le $((16384 * 15)) ]]
}
for sense in 6/28/0 2/3a/0 2/3a/2; do
	it "stops when the source's medium is another one, $sense" \
	    other_source $sense thr=1
	it "stops when the target's medium is another one, $sense" \
	    other_target $sense thr=1
done
it "stops there with coe=1 and retries, too" other_source 6/28/0 thr=1 coe=1 retries=9
it "stops there with 16 workers" other_target 6/28/0 thr=16
it "stops there with asynchronous commands" other_target 6/28/0 engine=async qd=2
once()
{
	disks && "$blocks" make other 1M 5 && cp other before &&
	    copies 6 'op=write nth=20 sense=6/28/0 becomes=other' thr=1 "$@" &&
	    same other before && [[ $(grep -c '^dst write' log) = 20 ]]
}
it "sends no further command to the other medium" once
it "sends it none with asynchronous commands" once engine=async qd=1
rescued()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 6 'op=read nth=20 sense=6/28/0 becomes=other' map=map thr=1 &&
	    [[ $("$tools/maps" list map -) = '' ]]
}
it "stops there in a rescue, and has no bad blocks" rescued
unflushed()
{
	copies 103 "op=sync sense=$1 times=1" && says 'medium was (changed|removed)'
}
it "does not take another medium's flush for its own" unflushed 6/28/0
it "does not flush a medium that was removed" unflushed 2/3a/0

read_back()
{
	copies 6 'on=dst op=read nth=20 sense=6/28/0' verify="$1" && some '^dst read .* 2$'
}
it "does not verify another medium" read_back 1
it "does not verify it in mid copy" read_back stream

# What is pending when a medium has been put in is told before the copy.
pending()
{
	disks "$@" && all_there 'op=ready sense=6/28/0 times=3'
	some '^src ready' 3
}
it "begins with a medium that was just put in" pending
it "begins with it where the capacity tells of it" eval \
    'all_there "op=capacity sense=6/28/0 times=1" && some "^src capacity" 2'
it "does not begin without a medium" eval \
    'copies 2 "on=src sense=2/3a/0 op=ready" && one_line "Medium not present"'
for sense in 6/29/0 6/2a/1 6/2a/9 6/3f/3 6/28/1; do
	it "goes on after a unit attention, $sense" eval \
	    'all_there "op=read,write nth=20 sense='$sense'" && some " 2$" 1'
done

# ------------------------------------------------- more than the disk holds

# full OPERANDS...: twice as much as there is room for, from a pipe; as on a
# block device
full()
{
	disks "block=${block-512}" && "$blocks" make much 2M 1 &&
	    exits 78 answering '' "$pardd" of=dst "$@" < <(cat much) && fitting &&
	    says "^pardd: NOT complete: dst: writing [0-9]+ bytes at byte [0-9]+: No space left on device$" &&
	    holds dst 0 0 1M 1
}
it "fills the disk to its last block" full
it "fills it with transfers that do not end there" full bs=512 bpt=77
it "fills it with 16 workers" full bs=512 bpt=77 thr=16
it "fills it by small commands" full cdbsz=6
block=4096
it "fills one with blocks of 4096" full bpt=3
block=512
same_as_loop()
{
	local sg
	full bs=512 bpt=77 thr=1 && sg=$(tail -n 1 err) && truncate -s 1M img && loop img &&
	    exits 78 "$pardd" of="$dev" bs=512 bpt=77 thr=1 < <(cat much) &&
	    [[ ${sg/dst/"$dev"} = "$(tail -n 1 err)" ]] || fail "not as: $(tail -n 1 err)"
}
if can_loop; then
	it "says of it what it says of a block device" same_as_loop
else
	skip "no loop devices" "says of it what it says of a block device"
fi
