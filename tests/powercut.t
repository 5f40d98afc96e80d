#!/usr/bin/env bash
# Power cuts: there is a map at any moment, and what it calls finished is on the medium.
# A clone whose partition table is moved has one at any moment.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0	# the calls are the same in all

tracer=$tools/trace.so maps=$tools/maps
[[ -x $tools/powercut && -e $tracer ]] ||
    { echo "Bail out! tools/powercut is not built"; exit 1; }
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
# The stage that fits the table to the target: from the first flush on there is one
table_of()
{
	sfdisk -J "$1" 2>/dev/null | jq -S '.partitiontable.partitions[] | del(.node, .uuid)'
}
table_moved()
{
	truncate -s 4M src && printf '%s\n' 'label: gpt' 'start=2048,size=2048,name="one"' 'start=4096,size=2048' |
	    sfdisk -q src && "$blocks" make src 2M 1 1M && "$blocks" make dst "$1" 9 && cp dst old &&
	    TRACE=$PWD/trace LD_PRELOAD=$tracer exits 0 "$pardd" if=src of=dst conv=notrunc table="$2" thr=1 engine=threads &&
	    table_of dst >want && declare -f table_of >check && echo 'table_of cut | cmp -s - want' >>check || return
	"$tools/powercut" -c 'bash ./check' trace src old dst - $((cuts / 20)) >found || fail "$(cat found)" || return
	# without its flushes that is not so, and it is seen
	! "$tools/powercut" -f SYNC -c 'bash ./check' trace src old dst - $((cuts / 5)) >found || fail "not seen: $(cat found)"
}
if command -v sfdisk jq >/dev/null; then
	it "has a table in each of them while table=fix moves it on a larger disk" table_moved 6M fix
	it "... on a smaller one" table_moved 3584k fix
	it "... with table=new" table_moved 6M new
else
	skip "no sfdisk or jq" "table=fix, table=new"
fi
onto_disk()
{
	"$blocks" make disk $size 9 && cp disk old && loop disk && ln -s "$dev" dst &&
	    traced 7 thr=4 bpt=32 && cut_off && enough && blind SYNC 'finished is not there'
}
given can_loop "not root, or no loop devices" it "... with a block device" onto_disk
