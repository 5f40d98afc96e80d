#!/usr/bin/env bash
# Every kind of end goes through the same cases: what holds for one holds for all.
# shellcheck disable=SC1091,SC2015,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/iscsi.sh"
answer=$tools/answer.so
[[ -e $answer ]] || { echo 'Bail out! answer.so is not built'; exit 1; }

# What a kind is made of: a function KIND that sets, for the file "it" that holds
# its bytes, the name of the end ($end), words that go with it ($words), and, in
# $disk, the rule that makes it a SCSI disk.  In $traits stands what it can do:
# block=N (it takes whole ones only), seeks, fails (with the shim's faults).
file()
{
	end=$PWD/$it words='' disk='' traits='block=1 seeks fails'
}
cached()
{
	file
	words=${1}flag=cached
}
direct()
{
	file
	words=${1}flag=direct
}
stream()
{
	end=- words='' disk='' traits='block=1'
}
inherited()
{
	end=- words='' disk='' traits='block=1 seeks fails'
}
disk512()
{
	loop "$it" && end=$dev words='' disk='' traits='block=512 seeks fails'
}
disk4096()
{
	loop "$it" --sector-size 4096 && end=$dev words='' disk='' traits='block=4096 seeks fails'
}
scsi()
{
	end=$it words='' disk=disk=$it traits='block=512 seeks scsi'
}
# pardd starts its server, which meets the faults.
nbd()
{
	end="[ nbdkit -s file $PWD/$it ]" words='' disk='' traits='block=1 seeks fails'
}
# A cluster that is a directory (tests/tools/fakerbd).
rbd()
{
	mkdir -p pool && ln -sf "$PWD/$it" "pool/$it" && ceph && end=rbd:pool/$it words='' disk='' \
	    traits='block=1 seeks fails'
}
# Faults belong to its server: see iscsi.t.
iscsi()
{
	serve "1:$it" && end=$uri/1 words='' disk='' traits='block=512 seeks'
}
has()
{
	[[ " $traits " = *" $1 "* ]]
}
block()
{
	local word
	for word in $traits; do
		[[ $word != block=* ]] || echo "${word#*=}"
	done
}

# from KIND, to KIND: the file "src" or "dst" becomes that end
from()
{
	it=src && "$1" i && source=if=$end source_words=$words source_disk=$disk how_in=$1 &&
	    source_path=$PWD/$it && [[ $end = [-[]* || $end = rbd:* ]] || source_path=$end
}
to()
{
	it=dst && "$1" o && target=of=$end target_words=$words target_disk=$disk how_out=$1 &&
	    target_path=$PWD/$it && [[ $end = [-[]* || $end = rbd:* ]] || target_path=$end
}
# plain_source, plain_target: the other end
plain_source()
{
	source=if=src source_words='' source_disk='' how_in=file
}
plain_target()
{
	target=of=dst target_words='' target_disk='' how_out=file
}

# started RULES OPERANDS...: the copy, with faults and answers
started()
{
	local rules=$1 answers=$source_disk\;$target_disk preload=$shim
	shift
	[[ $answers = \; ]] || preload=$answer	# two that take read(2) are too many
	exec 5<&0
	[[ $how_in != stream && $how_in != inherited ]] || exec 5<src
	[[ $how_in != stream ]] || exec 5< <(cat src)
	exec 6>/dev/null
	[[ $how_out != inherited ]] || exec 6<>dst
	[[ $how_out != stream ]] || exec 6> >(cat >dst; touch drained)
	rm -f faults drained
	# shellcheck disable=SC2086
	FAULTS=$rules FAULT_LOG=$PWD/faults ANSWERS=$answers\;${answered-} LD_PRELOAD=$preload \
	    "$tools/ends" how "$pardd" "$source" $source_words "$target" $target_words "$@" <&5 >&6 2>err
	exec 5<&- 6>&-
	[[ $how_out != stream ]] || until_true 20 test -e drained
}
# copies STATUS OPERANDS...
copies()
{
	started "${rules-}" "${@:2}"
	ended exit "$1"
}
# The same bytes, and behind them what was there.
whole()
{
	copies 0 "$@" && complete && same src dst
}

# ---------------------------------------------------------------- as a source

source_whole()
{
	"$blocks" make src 1M && from "$1" && plain_target && whole "${@:2}"
}
source_part()
{
	"$blocks" make src 1M && from "$1" && plain_target && copies 0 bs=4096 skip=7 count=100 &&
	    complete && size_is dst 409600 && holds dst 0 28672 409600
}
# The last bytes are less than a block of the copy.
source_tail()
{
	local more=1
	[[ $1 != disk* && $1 != *scsi ]] || more=4096
	"$blocks" make src $((1048576 + more)) && from "$1" && plain_target && whole bs=65536
}
source_past()
{
	"$blocks" make src 64k && from "$1" && plain_target && : >dst || return
	if has seeks; then
		copies 101 bs=4096 skip=17
	else
		copies 102 bs=4096 skip=17 count=1
	fi && size_is dst 0
}
bad()
{
	if has scsi; then
		answered="on=src op=read at=100+1 sense=3/11/0"
	else
		rules="on=$source_path op=read at=51200+512 whole fail=EIO"
	fi
}
source_bad()
{
	"$blocks" make src 1M && from "$1" && plain_target && bad && copies 3 engine=threads bpt=16 thr=1 &&
	    says 'NOT complete' && holds dst 0 0 40960
}
source_bad_kept()
{
	local size
	"$blocks" make src 1M && from "$1" && plain_target && bad && size=$(block) &&
	    copies 100 engine=threads coe=1 bpt=16 && says 'NOT complete: 1 unreadable block' && size_is dst 1048576 &&
	    holds dst 0 0 $((51200 / size * size)) && holds dst $((51200 / size * size + (size > 1 ? size : 512))) \
	    $((51200 / size * size + (size > 1 ? size : 512))) 900000
}
# can_be KIND SENTENCE: its cases can be run; or they are skipped
can_be()
{
	local lack=
	case $1 in
	nbd)	can_nbd || lack="no nbdkit, or built without libnbd" ;;
	iscsi)	can_iscsi || lack="no tgtd (tgt), or built without libiscsi" ;;
	rbd)	can_rbd || lack="built without librbd" ;;
	disk*)	can_loop || lack="no loop devices" ;;
	esac
	[[ -n $lack ]] || return 0
	skip "$lack" "$2"
	return 1
}
for kind in file cached direct stream inherited disk512 disk4096 scsi nbd iscsi rbd; do
	can_be $kind "reads $kind" || continue
	it "reads $kind, all of it" source_whole $kind
	it "... by 16 workers, a block at a time" source_whole $kind thr=16 bs=4096 bpt=1
	[[ $kind = stream || $kind = rbd ]] || it "... as asynchronous requests" \
	    source_whole $kind engine=async qd=8 bs=4096 bpt=4
	it "... a part of it" source_part $kind
	it "... up to its end" source_tail $kind
	it "... and not behind that" source_past $kind
	[[ $kind != stream && $kind != iscsi ]] || continue
	it "... up to a bad block" source_bad $kind
	it "... but for a bad block" source_bad_kept $kind
done

# ---------------------------------------------------------------- as a target

target_whole()
{
	"$blocks" make src 1M && "$blocks" make dst 1M 9 && plain_source && to "$1" && whole "${@:2}"
}
# What lies beside it stays.
target_part()
{
	"$blocks" make src 400k && "$blocks" make dst 1M 9 && plain_source && to "$1" &&
	    copies 0 bs=4096 seek=7 && complete && size_is dst 1048576 && holds dst 28672 0 409600 &&
	    holds dst 0 0 28672 9 && holds dst 438272 438272 610304 9
}
# The copy ends within a block of the target, which is filled up with zeros.
target_tail()
{
	local size
	"$blocks" make src 100100 && "$blocks" make dst 1M 9 && plain_source && to "$1" || return
	size=$(block)
	copies 0 bs=65536 && complete && holds dst 0 0 100100 || return
	[[ $how_out = stream ]] && { size_is dst 100100; return; }
	cmp -n $(((100100 + size - 1) / size * size - 100100)) dst /dev/zero 100100 0 &&
	    holds dst $(((100100 + size - 1) / size * size)) $(((100100 + size - 1) / size * size)) 900000 9
}
target_zeros()
{
	"$blocks" make src 1M && dd if=/dev/zero of=src bs=4096 seek=10 count=100 conv=notrunc status=none &&
	    "$blocks" make dst 1M 9 && plain_source && to "$1" && whole "${@:2}"
}
target_fails()
{
	"$blocks" make src 1M && "$blocks" make dst 1M 9 && plain_source && to "$1" || return
	if has scsi; then
		answered="on=dst op=write at=800+8 sense=3/c/0"
		copies 3 bpt=16 thr=2
	else
		rules="on=$target_path op=write at=409600+512 whole fail=EIO"
		copies 55 engine=threads bpt=16 thr=2
	fi && says 'NOT complete: .*writing'
}
target_unflushed()
{
	"$blocks" make src 1M && "$blocks" make dst 1M 9 && plain_source && to "$1" || return
	if has scsi; then
		answered="on=dst op=sync sense=3/c/0"
	else
		rules="on=$target_path op=flush fail=EIO"
	fi
	copies 103 && says 'NOT complete'
}
target_small()
{
	"$blocks" make src 2M && "$blocks" make dst 1M 9 && plain_source && to "$1" &&
	    copies 101 && holds dst 0 0 1048576 9
}
# Of how much comes through a pipe nobody knows.  The last write that fits in part is
# no whole one.
target_full()
{
	"$blocks" make src 1200k && "$blocks" make dst 1M 9 && from stream && to "$1" &&
	    copies 78 bs=4096 bpt=25 && says 'NOT complete' && holds dst 0 0 1048576
}
for kind in file cached direct stream inherited disk512 disk4096 scsi nbd iscsi rbd; do
	can_be $kind "writes $kind" || continue
	it "writes $kind, all of it" target_whole $kind
	it "... by 16 workers, a block at a time" target_whole $kind thr=16 bs=4096 bpt=1
	[[ $kind = stream || $kind = rbd ]] || it "... as asynchronous requests" \
	    target_whole $kind engine=async qd=8 bs=4096 bpt=4
	it "... up to its end" target_tail $kind
	it "... zeros, too" target_zeros $kind oflag=sparse
	[[ $kind = stream ]] || it "... a part of it" target_part $kind
	[[ $kind != stream && $kind != iscsi ]] || continue
	it "... up to an error" target_fails $kind
	it "... and says when it cannot be flushed" target_unflushed $kind
	[[ $kind != disk* && $kind != scsi && $kind != nbd && $kind != rbd ]] || it "... or nothing, where it is too small" \
	    target_small $kind
	[[ $kind != disk* && $kind != scsi && $kind != nbd && $kind != rbd || $VARIANT != plain ]] ||
	    it "... or what fits of a stream" target_full $kind
done
