#!/usr/bin/env bash
# Pipes, redirections, and devices without an end.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

mib=$((16 / (weight > 1 ? 4 : 1)))
bytes=$((mib * 1048576 + 333))

# The status of the program in a pipe: piped WANT, after it ran as the Nth part.
piped()
{
	[[ $2 = "$1" ]] && return
	echo "status $2, not $1"
	cat err
	return 1
}
into()
{
	"$blocks" make - $bytes | "$pardd" of=dst "$@" 2>err
	piped 0 "${PIPESTATUS[1]}" && complete && size_is dst $bytes && holds dst 0 0 $bytes
}
out_of()
{
	"$blocks" make src $bytes || return
	"$pardd" if=src "$@" 2>err | "$blocks" check - 0 0 $bytes
	local both=("${PIPESTATUS[@]}")
	piped 0 "${both[0]}" && complete && [[ ${both[1]} = 0 ]]
}
between()
{
	"$blocks" drip $bytes | "$pardd" if=- of=- "$@" 2>err | "$blocks" check - 0 0 $bytes
	local both=("${PIPESTATUS[@]}")
	piped 0 "${both[1]}" && complete && [[ ${both[2]} = 0 ]]
}
for thr in $(few 1 2 3 4 8 16); do
	it "copies a pipe into a file in order with $thr workers" into bpt=16 "thr=$thr"
	it "copies a file into a pipe in order with $thr workers" out_of bpt=16 "thr=$thr"
	it "copies odd pieces from pipe to pipe in order with $thr workers" between bpt=16 "thr=$thr"
done
it "copies from pipe to pipe with what it chooses itself" between
it "copies from pipe to pipe in blocks of 1000" between bs=1000 thr=16

slow()
{
	(
		for i in 0 1 2 3 4 5; do
			"$blocks" make - 777 0 | cat
			sleep 0.05
		done
	) | "$pardd" of=dst bs=512 thr=4 2>err
	piped 0 "${PIPESTATUS[1]}" && size_is dst $((6 * 777)) || return
	for i in 0 1 2 3 4 5; do
		holds dst $((i * 777)) 0 777 || return
	done
}
it "does not take a slow writer's short piece for the end" slow

skips()
{
	"$blocks" drip 100000 | "$pardd" of=dst bs=512 skip=7 count=100 thr=4 2>err
	piped 0 "${PIPESTATUS[1]}" && size_is dst 51200 && holds dst 0 3584 51200
}
it "skips what comes first from a pipe, and counts the rest" skips
counts()
{
	"$blocks" make - 100001 | "$pardd" of=dst bs=512 count="$1" 2>err
	piped "$2" "${PIPESTATUS[1]}" && size_is dst "$3" && holds dst 0 0 "$3"
}
it "takes no more than count= from a pipe" counts 10 0 5120
short()
{
	counts 300 102 100001 && does_not_say '^pardd: complete'
}
it "says when a pipe ends before count=" short
short_skip()
{
	"$blocks" make - 1000 | "$pardd" of=dst bs=512 skip=4 count=1 2>err
	piped 102 "${PIPESTATUS[1]}" && does_not_say '^pardd: complete'
}
it "says when a pipe ends before skip=" short_skip
leaves_rest()
{
	"$blocks" make src 8192
	# shellcheck disable=SC2094
	{
		"$pardd" of=dst bs=512 count=3 "$@" 2>err || return
		cat >rest
	} < <(cat src)
	size_is dst 1536 && holds dst 0 0 1536 && size_is rest 6656 && holds rest 0 1536 6656
}
it "takes not a byte more than count= from a pipe" leaves_rest
it "takes none in small pieces either" leaves_rest bpt=1
# What is taken from the pipe at once goes up to there, and no further.
leaves_packets()
{
	"$blocks" make src 16384
	# shellcheck disable=SC2094
	{
		"$pardd" of=dst bs=1000 bpt=1 count=5 2>err || return
		cat >rest
	} < <(cat src)
	size_is dst 5000 && holds dst 0 0 5000 && size_is rest 11384 && holds rest 0 5000 11384
}
it "... for more than a packet, either" leaves_packets
no_seek()
{
	"$blocks" make src 1000
	"$pardd" if=src seek=1 2>err | cat >out
	piped 101 "${PIPESTATUS[0]}" || return
	[[ ! -s out && $(wc -l <err) = 1 ]] && says 'seek'
}
it "refuses to seek on a pipe" no_seek
fifo()
{
	mkfifo p q
	"$blocks" drip $bytes >p &
	"$blocks" check - 0 0 $bytes <q &
	exits 0 "$pardd" if=p of=q thr=8 bpt=16 && complete && wait %1 && wait %2
}
it "copies from one named pipe to another" fifo
empty()
{
	"$pardd" of=dst 2>err < <(:)
	status=$?
	[[ $status = 0 ]] && complete && size_is dst 0
}
it "copies an empty pipe" empty
# nothing STATUS TARGET BYTES OPERANDS...: from a pipe, to what has so many bytes
nothing()
{
	local want=$1 dst=$2 bytes=$3
	shift 3
	[[ -e $dst ]] || "$blocks" make "$dst" "$bytes" || return
	: | "$pardd" of="$dst" "$@" 2>err
	piped "$want" "${PIPESTATUS[1]}" || return
	[[ $want = 0 ]] || says '^pardd: NOT complete: the source was empty'
}
it "says so when a pipe brings nothing for a file that holds something" eval \
    'nothing 102 dst 1000 && holds dst 0 0 1000'
it "says so when it brings nothing to append" nothing 102 dst 1000 oflag=append
it "says so when it was cut off for nothing" nothing 102 dst 1000 oflag=trunc
it "says so of a FIFO" eval 'mkfifo p && { : >p & } && "$blocks" make dst 1000 && exits 102 "$pardd" if=p of=dst'
it "takes a pipe that was skipped to its end" eval \
    '"$blocks" make dst 1000 && head -c 512 /dev/zero | exits 0 "$pardd" of=dst bs=512 skip=1'
it "takes nothing for an empty file" nothing 0 dst 0
it "takes nothing where nothing was asked for" nothing 0 dst 1000 count=0
it "takes nothing where nothing is kept" nothing 0 /dev/null 0
it "copies an empty file onto one that holds something" eval \
    ': >src && "$blocks" make dst 1000 && exits 0 "$pardd" if=src of=dst && complete'
# What reads at its size 0 fails for good, and the contents of an empty file once.
unreadable_empty()
{
	exits 72 "$pardd" if=/proc/self/ns/net of=dst && says 'reading .*: Invalid argument' &&
	    does_not_say 'complete, flushed' && : >src &&
	    with_faults 'on=src op=read fail=EIO times=1' exits 0 "$pardd" if=src of=dst && complete &&
	    with_faults 'on=src op=read fail=EIO' exits 3 "$pardd" if=src of=dst && says 'Input/output error'
}
it "takes no file for empty that cannot be read" unreadable_empty
given can_loop "no loop devices" it "says so when a pipe brings nothing for a disk" eval \
    'truncate -s 1M disk && loop disk && nothing 102 "$dev" 0'

# ------------------------------------------- descriptors that are open already

goes_on()
{
	"$blocks" make src 10000 && "$blocks" make dst 9000 9 || return
	{
		head -c 0 && "$pardd" if=- of=- bs=100 count=20 "$@" 2>err || return
		stat=$(sed -n 's/^pos:[[:space:]]*//p' /proc/self/fdinfo/0)
		echo -n tail >&1
	} <src 1<>dst
	[[ $stat = 2000 ]] || fail "the source stands at $stat" || return
	holds dst 0 0 2000 && [[ $(tail -c +2001 dst | head -c 4) = tail ]] && holds dst 2004 2004 6996 9
}
it "leaves redirected files right behind the last byte" goes_on thr=4 bpt=2
continues()
{
	"$blocks" make src 50001 && : >dst
	{
		"$pardd" if=- of=- bs=512 count=10 2>err1 && "$pardd" if=- of=- bs=512 count=20 thr=8 bpt=3 2>err2 &&
		    "$pardd" if=- of=- bs=512 thr=8 bpt=3 2>err || return
	} <src >dst
	complete && size_is dst 50001 && holds dst 0 0 50001
}
it "continues redirected files at their offsets" continues
padded_there()
{
	"$blocks" make src 700 && "$blocks" make dst 4096 9 || return
	{
		"$pardd" if=src bs=512 conv=sync 2>err1 &&
		    "$blocks" make - 300 | "$pardd" if=- bs=512 conv=sync 2>err2 &&
		    "$pardd" if=src bs=512 2>err || return
	} 1<>dst
	complete && holds dst 0 0 700 && "$blocks" zero dst 700 324 &&
	    holds dst 1024 0 300 && "$blocks" zero dst 1324 212 && holds dst 1536 0 700 && holds dst 2236 2236 1860 9
}
it "continues behind the padding of conv=sync" padded_there
skips_there()
{
	"$blocks" make src 50000 && : >dst
	{
		"$pardd" if=- of=- bs=500 count=1 2>err &&
		    "$pardd" if=- of=- bs=500 skip=3 seek=2 count=4 2>err || return
	} <src >dst
	size_is dst 3500 && holds dst 0 0 500 && "$blocks" zero dst 500 1000 && holds dst 1500 2000 2000
}
it "skips and seeks from the offsets of redirected files" skips_there
appending()
{
	"$blocks" make src 70001 && "$blocks" make dst 100 9 && "$pardd" if=src bpt=4 thr=8 2>err >>dst
	status=$?
	[[ $status = 0 ]] && size_is dst 70101 && holds dst 0 0 100 9 && holds dst 100 0 70001
}
it "appends in order to a file that the shell opened with >>" appending
appending_anyway()
{
	"$blocks" make src 70001 && "$blocks" make dst 1000 9 || return
	"$pardd" -dv if=src oflag=append 2>err 1<>dst && grep -qx target_first_byte=1000 err &&
	    "$pardd" if=src oflag=append bpt=4 thr=8 2>err 1<>dst || fail "$(<err)" || return
	complete && size_is dst 71001 && holds dst 0 0 1000 9 && holds dst 1000 0 70001
}
it "appends with oflag=append to a file that the shell opened for writing" appending_anyway
not_appended()
{
	"$blocks" make src 1000 && "$blocks" make dst 100 9 || return
	"$pardd" if=src "$@" 2>err >>dst
	status=$?
	[[ $status = 101 ]] || fail "status $status: $(<err)" || return
	one_line "${1%%=*}" && size_is dst 100 && holds dst 0 0 100 9
}
it "refuses to seek in it" not_appended seek=1
it "refuses to cut it off" not_appended oflag=trunc

names()
{
	"$blocks" make src 100001
	"$pardd" if=/dev/stdin of=/dev/stdout bpt=8 <src 2>err | "$blocks" check - 0 0 100001
	local both=("${PIPESTATUS[@]}")
	[[ ${both[*]} = "0 0" ]] || fail "${both[*]}: $(<err)"
}
it "copies from /dev/stdin to /dev/stdout" names
it "copies from a pipe of the shell's <(...)" eval \
    'exits 0 "$pardd" if=<("$blocks" drip 300001) of=dst bpt=8 && size_is dst 300001 && holds dst 0 0 300001'
it "copies between descriptors of the shell" eval \
    '"$blocks" make src 300001 && exits 0 "$pardd" if=/dev/fd/3 of=/dev/fd/4 bpt=8 3<src 4>dst &&
    holds dst 0 0 300001'

# --------------------------------------------------- zeros, nothing, and chance

zeros()
{
	exits 0 "$pardd" "$1" of=dst bs=512 count=2000 thr=4 && complete &&
	    size_is dst 1024000 && "$blocks" zero dst 0 1024000
}
it "copies from /dev/zero with count=" zeros if=/dev/zero
it "makes zeros with iflag=00" zeros iflag=00
it "makes noise with iflag=random" eval \
    'exits 0 "$pardd" iflag=random of=dst bs=512 count=2000 thr=4 && size_is dst 1024000 && gzip -c dst >gz &&
    (($(stat -c %s gz) > 1000000))'
endless()
{
	run timeout -s KILL 20 "$pardd" iflag=00 of=dst
	[[ $status = 1 || $status = 101 ]] && one_line count && [[ ! -s dst ]]
}
it "will not generate input without end" endless
# Its seek succeeds, and goes nowhere; what it has are four bytes.
latency=/dev/cpu_dma_latency
seeks_nowhere()
{
	head -c 4 $latency >all || return
	for n in 1 3; do
		rm -f dst && exits 0 "$pardd" if=$latency of=dst bs=1 skip=$n count=$((4 - n)) &&
		    tail -c $((4 - n)) all | cmp - dst || return
	done
	exits 102 "$pardd" if=$latency of=dst bs=1 skip=5 count=1 &&
	    exits 79 "$pardd" if=all of=$latency bs=1 seek=1 count=2 && says 'Illegal seek'
}
if [[ $VARIANT = plain && -c $latency ]] && : <>$latency; then
	it "reads what comes before where a device cannot seek" seeks_nowhere
fi 2>/dev/null
discards()
{
	"$blocks" make src 1000001 && exits 0 "$pardd" if=src of="$1" bs=512 &&
	    complete && says '^1953\+1 records out$' && [[ ! -s ./. || ! -f . ]]
}
it "discards with of=/dev/null, and counts" discards /dev/null
it "discards with of=., and counts" discards .
it "copies nothing from /dev/null" eval 'exits 0 "$pardd" if=/dev/null of=dst && complete && size_is dst 0'

# ------------------------------------------------------------- a reader that goes

gone()
{
	"$blocks" make src 8M && { "$tools/ends" how "$pardd" if=src bpt=16 "$@" 2>err; :; } |
		head -c 1000 >/dev/null
	ended exit 82 && does_not_say '^pardd: complete'
}
for thr in $(few 1 4 16); do
	it "ends with 82 when the reader goes, with $thr workers" gone thr="$thr"
done
gone_midway()
{
	"$blocks" drip 8M | { "$tools/ends" how "$pardd" bpt=16 thr=16 if=- of=- 2>err; :; } | head -c 1000 >/dev/null
	ended exit 82
}
it "ends with 82 in the middle of a pipeline" gone_midway
messages()
{
	exits 15 timeout -s KILL 20 "$pardd" of=dst </dev/udp/127.0.0.1/9 && one_line messages && [[ ! -e dst ]]
}
given '(: </dev/udp/127.0.0.1/9)' "no sockets" it "does not read a socket that forgets the rest of a message" messages
# A pipe of packets, of which a read forgets what it has no room for: SIZE OPERANDS...
packets()
{
	local size=$1
	shift
	"$blocks" make src 3000000 &&
	    dd if=src bs="$size" iflag=fullblock oflag=direct status=none | "$pardd" of=dst "$@" 2>err
	piped 0 "${PIPESTATUS[1]}" && complete
}
for size in 3000 4095 7; do
	it "copies from a pipe of packets, $size bytes each" eval "packets $size bs=512 bpt=300 && same src dst"
done
it "copies a part of it" eval 'packets 3000 bs=512 skip=1001 count=3000 bpt=5 && cmp -n 1536000 -i 512512:0 src dst &&
    size_is dst 1536000'
both()
{
	"$blocks" make src 3000
	"$pardd" if=- of=- <src 2>err | "$blocks" check - 0 0 3000
	piped 0 "${PIPESTATUS[0]}"
}
it "copies from stdin to stdout when asked to" both
# Sockets, as a server or a shell with /dev/tcp hands them over.
from_socket()
{
	"$blocks" make src 3000000 && socat -u FILE:src EXEC:"'$pardd' of=dst bpt=64" 2>err && complete && same src dst
}
into_socket()
{
	"$blocks" make src 3000000 && socat -u EXEC:"'$pardd' if=src bpt=64" CREATE:dst 2>err && complete && same src dst
}
to_messages()
{
	"$blocks" make src 100000 && socat -u EXEC:"'$pardd' if=src bs=512 bpt=4",socktype=5 CREATE:dst 2>err && complete &&
	    same src dst
}
named_socket()
{
	socat UNIX-LISTEN:there EXEC:true </dev/null >/dev/null 2>&1 &
	undo kill $!
	until_true 20 test -S there && exits 15 "$pardd" if=there of=dst && one_line 'a socket' &&
	    exits 15 "$pardd" if=/dev/null of=there && one_line 'a socket' && [[ ! -e dst ]]
}
if able 'command -v socat' "no socat"; then
	it "copies from a socket" from_socket
	it "copies into a socket" into_socket
	it "... of messages, too" to_messages
	it "refuses one by name" named_socket
fi
