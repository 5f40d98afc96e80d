#!/usr/bin/env bash
# Power cuts: there is a map at any moment, and what it calls finished is on the medium.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0	# the calls are the same in all

tracer=$tools/trace.so maps=$tools/maps
[[ -x $tools/powercut && -e $tracer ]] || { echo "Bail out! tools/powercut is not built"; exit 1; }
size=$((1 << 20))
cuts=500 dst=dst
[[ -z $LONG ]] || cuts=5000

# run_traced STATUS SEED OPERANDS...: a rescue that saves its map each 5 ms
run_traced()
{
	local bad
	bad=$("$maps" random "$2" $size)
	TRACE=$PWD/trace HURRY=200 FAULTS="on=$PWD/src op=read at=$bad fail=EIO sleep=2;\
on=$PWD/src op=read sleep=3;on=$PWD/$dst op=flush sleep=3" LD_PRELOAD="$tracer $shim" exits "$1" "$pardd" if=src \
	    of="$dst" map=map bs=512 mapinterval=1 "${@:3}"
}
# traced SEED OPERANDS...: one that is cut short, and another that goes on
traced()
{
	"$blocks" make src $size && run_traced 100 "$1" rescue=notrim,noscrape "${@:2}" &&
	    run_traced 100 "$1" retries=1 "${@:2}" &&
	    "$maps" check map src "$dst" old 0 0 $size && grep -q -- '-$' map
}
# cut_off FORGET...: as powercut says, and enough of everything was there
cut_off()
{
	"$tools/powercut" "$@" trace src old "$dst" map $cuts >found
}
enough()
{
	cat found
	awk '$5 < 15 || $7 < 20 { exit 1 }' found || fail 'too few maps or writes'
}
# blind WHAT: without these flushes there is a lie, and it is seen
blind()
{
	! cut_off -f "$1" || fail "not seen: $(cat found)" || return
	grep -q "$2" found || fail "seen as: $(cat found)"
}
onto_file()
{
	"$blocks" make dst $size 9 && cp dst old && traced 3 thr=4 bpt=32 "$@" &&
	    { cut_off || fail "$(cat found)"; } && enough && blind SYNC 'finished is not there' &&
	    blind TEMP 'not whole' && blind DIRECTORY 'no map'
}
it "has a true map after each of $cuts power cuts" onto_file
it "... with 16 workers, and small requests" onto_file thr=16 bpt=8
new_file()
{
	local dst=folder/dst
	: >old
	mkdir folder
	traced 5 thr=4 bpt=32 && { cut_off || fail "$(cat found)"; } && enough && blind DIRECTORY .
}
it "... with a target that it creates" new_file
onto_disk()
{
	"$blocks" make disk $size 9 && cp disk old && loop disk && ln -s "$dev" dst &&
	    traced 7 thr=4 bpt=32 && cut_off && enough && blind SYNC 'finished is not there'
}
given can_loop "not root, or no loop devices" it "... with a block device" onto_disk
