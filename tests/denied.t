#!/usr/bin/env bash
# What the system denies, above all memory: the data are right or a message says why
# not, and there is never a crash, a hang or half a file.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# ------------------------------------------------------------- words at least

# wordless STATUS REGEX OPERANDS...: without any memory, one line says it
wordless()
{
	local want=$1 regex=$2
	shift 2
	exits "$want" with_faults 'op=alloc from=1 fail=ENOMEM' "$pardd" "$@" && one_line "$regex"
}
it "says without memory what cannot be opened" wordless 52 'nothing: No such file or directory$' if=nothing of=dst
it "says without memory what is wrong with an operand" wordless 1 "bs=x: 'x' is not a number$" if=src of=dst bs=x
name=$(printf 'x%.0s' {1..2000})
it "says without memory what is wrong with a long name" \
    wordless 86 'x \[...\] : File name too long$' "if=$name" of=dst

# The position of an inherited descriptor cannot be found out: it is not guessed.
unplaced()
{
	"$blocks" make src 1000
	{
		echo -n before
		ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 \
		    strace -o log -e trace=lseek -e inject=lseek:error=EPERM "$pardd" if=src of=- 2>err
		status=$?
	} >dst
	[[ $status = 51 && $(<dst) = before ]] && one_line 'standard output: where it stands'
}
given 'command -v strace && strace -o /dev/null true' "no strace" \
    it "does not guess where standard output stands" unplaced

# ---------------------------------------- each call fails, and each allocation

# honest N: a run that was denied something the Nth time, with $status and err:
# all is right, or it says why not
honest()
{
	local lines last
	mapfile -t lines <err
	last=${lines[-1]-}
	if ((status == 0)); then
		[[ $last = 'pardd: complete'* ]] && same src dst
	else
		((status < 104)) && [[ $last = 'pardd: '* && $last != 'pardd: complete'* && $last != *Success ]]
	fi && return
	fail "the ${1}th denied: status $status, $(<err)"
}
# was_denied: something but reads is in the file faults
was_denied()
{
	local op
	while read -r op _; do
		[[ $op = read ]] || return 0
	done <faults
	return 1
}
# denied RULE MADE CHECK COMMAND...: the command with RULE for the first time,
# the second and so on, as long as it is met; CHECK N after each.  What it made
# is taken away before.  With $rarer the later ones are fewer: by one of N after N.
denied()
{
	local rule=$1 made=$2 check=$3 n
	shift 3
	: >lines
	for ((n = 1; ; n += (weight > 1 ? 7 : 1) * ${step:-1} + n / ${rarer:-1000000})); do
		: >faults
		: >dst
		# shellcheck disable=SC2086
		[[ -z $made ]] || rm -f $made
		FAULTS="$rule nth=$n" FAULT_LOG=faults LD_PRELOAD=$shim "$@" >out 2>err
		status=$?
		was_denied || break
		"$check" "$n" || return
	done
	((n > 1)) || fail "nothing was denied: the case proves nothing"
}
# without MADE OPERANDS...: each call but those for memory
without()
{
	local op
	in_memory && "$blocks" make src 150000 || return
	for op in open stat rename map event thread flush close; do
		denied "op=$op fail=EIO" "$1" honest "$pardd" if=src of=dst "${@:2}" || fail "$op" || return
	done
}
it "copies right or says why not, whatever call fails" without list manifest=list
it "does so with a map, too" without 'map map.bak' map=map

memory='op=alloc fail=ENOMEM'
copies()
{
	local made=$1
	shift
	in_memory && "$blocks" make src 150000 && denied "$memory" "$made" honest "$pardd" if=src of=dst "$@"
}
[[ $VARIANT != tsan ]] || exit 0		# is told all by the others
it "copies right or says why not, whatever memory is denied" copies ''
it "does so with several workers" copies '' thr=4 bpt=8
it "does so with verify=1" copies '' verify=1
it "does so with a map" copies 'map map.bak' map=map
it "does so with a digest" copies hashes hash=sha256 hashfile=hashes
digested()
{
	honest "$1" && { ((status != 0)) || says "$sum"; }
}
digests()
{
	in_memory && "$blocks" make src 150000 && sum=$(sha256sum <src) && sum=${sum%% *} &&
	    denied "$memory" '' digested "$pardd" if=src of=dst hash=sha256
}
it "tells the digest right or says why not" digests
it "copies so with a table of what requests took" copies p.csv profile=p.csv

# The same of what the program itself asks for, and no library does.
own='op=own fail=ENOMEM'
kinds()
{
	local memory=$own
	copies "$@"
}
it "copies so leaving holes" kinds '' conv=sparse
it "copies so with many in flight" kinds '' engine=async thr=2 bpt=8
it "copies so with a report" kinds r.html report=r.html
it "copies so with a picture" kinds r.svg report=r.svg
it "copies so with a block map of what was read" kinds b.bmap manifest=b.bmap
# A target may be given up: then the status says so.
both()
{
	honest "$1" && { ((status != 0)) || same src two; }
}
several()
{
	in_memory && "$blocks" make src 150000 && denied "$own" two both "$pardd" if=src of=dst of=two
}
it "copies so to several targets" several
mapped()
{
	in_memory && "$blocks" make src 150000 && exits 0 "$pardd" if=src of=dst manifest=b.bmap &&
	    denied "$own" '' honest "$pardd" if=src of=dst bmap=b.bmap
}
it "copies so by a block map" mapped
# of_image: what was copied onto an image is there
of_image()
{
	cp p/image dst && honest "$1"
}
image()
{
	in_memory && "$blocks" make src 150000 && mkdir p && cp src p/other && "$blocks" make p/image 150000 9 && ceph &&
	    denied "$own" '' honest "$pardd" if=rbd:p/other of=dst &&
	    denied "$own" '' of_image "$pardd" if=src of=rbd:p/image
}
given can_rbd "built without librbd" it "copies so from an image of a cluster, and onto one" image
# Only what cannot be read is missing.
lost()
{
	if ((status == 100)); then
		[[ $(tail -n 1 err) = 'pardd: NOT complete: 512 bytes could not be read;'* ]] &&
		    holds -z 20480+512 dst 0 0 150000
	else
		honest "$1"
	fi || fail "the ${1}th denied: status $status, $(<err)"
}
rescues()
{
	in_memory && "$blocks" make src 150000 &&
	    denied "on=$PWD/src op=read at=20480+512 fail=EIO;$own" 'map map.bak' lost \
		"$pardd" if=src of=dst map=map
}
it "rescues so" rescues
if able can_rbd "built without librbd"; then
	from_image()
	{
		cp p/other dst && honest "$1"
	}
	images()
	{
		in_memory && mkdir p && ceph && "$blocks" make src 150016 && cp src p/image && : >p/other &&
		    truncate -s 150016 p/other && denied "$own" '' from_image "$pardd" if=rbd:p/image of=rbd:p/other
	}
	it "copies so from one Ceph image to another" images
fi
if able can_nbd "no nbdkit"; then
	serve()
	{
		nbdkit -f -U "$1" -P "$1.pid" file "$2" >server 2>&1 </dev/null &
		until_true 20 test -s "$1.pid"
	}
	from_server()
	{
		in_memory && "$blocks" make src 150000 && serve socket src &&
		    denied "$own" '' honest "$pardd" if='nbd+unix:///?socket=socket' of=dst
	}
	it "copies so from an NBD server" from_server
	# Its file is the target's, and is not taken away.
	to_server()
	{
		in_memory && "$blocks" make src 150000 && truncate -s 150000 there && serve socket there &&
		    denied "$own" '' from_there "$pardd" if=src of='nbd+unix:///?socket=socket'
	}
	from_there()
	{
		cp there dst && honest "$1"
	}
	it "copies so to an NBD server" to_server
fi
planned()
{
	((status != 0)) || same plan out && [[ $status != 0 || ! -s err ]] || return
	((status == 0)) || one_line 'Cannot allocate memory'
}
plans()
{
	in_memory && "$blocks" make src 150000 && : >dst && "$pardd" if=src of=dst -dv >plan &&
	    denied "$memory" '' planned "$pardd" if=src of=dst -dv
}
it "shows the plan right or says why not" plans

# The disks may change meanwhile, as others attach some.
listed()
{
	case $status in
	0)	[[ -s out && ! -s err ]] ;;
	62)	[[ $(<err) = 'pardd: --list: '*'Cannot allocate memory' ]] ;;
	*)	false ;;
	esac || fail "the ${1}th denied: status $status, $(<err)"
}
# Each disk takes the same allocations.
lists()
{
	[[ -n $LONG ]] || rarer=30
	denied "$memory" '' listed "$pardd" --list "$@"
}
it "lists the disks or says why not" lists
it "lists them for programs or says why not" lists --json

# keys FILE: the keys of each line, with those of the objects in it
keys()
{
	jq -c '[paths | map(strings) | join(".") | select(startswith("reasons.") | not)] | unique' "$1" >keys.all && sort -u keys.all
}
# no_new_keys: nor fewer, in each of lines than in one of wanted
no_new_keys()
{
	keys wanted >keys.wanted && keys lines >keys.lines || return
	comm -13 keys.wanted keys.lines >new
	[[ ! -s new ]] || fail "$(cut -c 1-400 new)"
}
# gathers N: what was told, in lines
gathers()
{
	honest "$1" || return
	cat json log >>lines
	if [[ -e list ]]; then
		head -n 1 list >>lines
		[[ $(tail -n 1 list) = '{"ranges":3}' ]] || fail "the ${1}th denied: $(<list)"
	else
		((status != 0)) || fail "the ${1}th denied: no manifest"
	fi
}
tells_whole_lines()
{
	local all=(if=src of=dst json=json log=log manifest=list)
	in_memory && "$blocks" make src 150000 && exits 0 "$pardd" "${all[@]}" &&
	    { cat json log && head -n 1 list; } >wanted && step=3 &&
	    denied "$memory" 'json log list' gathers "$pardd" "${all[@]}" && no_new_keys
}
profiles()
{
	honest "$1" && [[ ! -e list.pardd.tmp ]] || return
	((status != 0)) || cat p.json >>lines
}
tells_whole_objects()
{
	in_memory && "$blocks" make src 150000 &&
	    exits 0 "$pardd" if=src of=dst profile=p.json && mv p.json wanted && step=11 &&
	    denied "$memory" p.json profiles "$pardd" if=src of=dst profile=p.json && no_new_keys
}
if able 'command -v jq' "no jq"; then
	it "tells programs whole lines or none" tells_whole_lines
	it "notes what requests took wholly or not" tells_whole_objects
fi
