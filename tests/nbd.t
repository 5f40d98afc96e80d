#!/usr/bin/env bash
# NBD ends, with the servers that are installed.
# shellcheck disable=SC1091,SC2016,SC2119,SC2120,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs can_nbd -- "no nbdkit with its filters, or built without libnbd"

# serve NAME ARGS...: nbdkit, until the case has ended; $uri is its address, and $pid
# its process
serve()
{
	local name=$1
	shift
	rm -f "$name.sock"
	nbdkit -f --exit-with-parent -U "$PWD/$name.sock" "$@" </dev/null >"$name.log" 2>&1 &
	pid=$!
	uri="nbd+unix:///?socket=$PWD/$name.sock"
	until_true 20 listens "$PWD/$name.sock" || { cat "$name.log"; return 1; }
}
# plugin ANSWERS: a disk of 1 MiB that forgets what is written to it, for `serve NAME sh
# plugin`; ANSWERS come first, as in `case` of a shell
plugin()
{
	cat >plugin <<-EOF && chmod +x plugin
	case \$1 in
	$1
	get_size) echo 1048576 ;;
	can_write | can_flush) ;;
	pwrite) cat >/dev/null ;;
	*) exit 2 ;;
	esac
	EOF
}
# pair BYTES: src has data, zeros and holes; dst has other data
pair()
{
	"$blocks" make src "$1" && "$blocks" make dst "$1" 9
}
# logged WHAT: a server that logs has been asked for that five times
logged()
{
	until_true 20 logs "$1"
}
logs()
{
	local n
	n=$(grep -cs " $1 .*offset=" log)
	((${n:-0} >= 5))
}
# copy STATUS OPERANDS...
copy()
{
	exits "$1" timeout -s KILL 60 "$pardd" "${@:2}"
}
whole()
{
	copy 0 "$@" && complete && same src dst
}

# ---------------------------------------------------------------- passwords

# untold WORD: it is printed nowhere
untold()
{
	! grep -rse "$1" --exclude=serve .
}
# The server gets the address as it was given, and repeats it in its last message.
secret()
{
	local in='[ ./serve http://me:s3cret@host/ ]'
	cat >serve <<-'END' && chmod +x serve || return
		#!/bin/sh
		[ "$1" = http://me:s3cret@host/ ] || exit 9
		echo "asks $1" >&2
		[ -e down ] && exit 3
		exec nbdkit -s memory 1M
	END
	copy 0 if="$in" of=dst json=j log=l map=m report=r.html note=x verbose=1 && complete && copy 0 -dv if="$in" of=dst &&
	    grep -q 'me:\*\*\*\*\*\*@host' j out && : >down && untold s3cret && copy 15 if="$in" of=dst json=j &&
	    says 'asks http://me:\*\*\*\*\*\*@host' && untold s3cret
}
it "gives the password of an address to its command, and shows it nowhere" secret
no_end()
{
	local in
	for in in http://me:s3cret@host iser://me%s3cret@host/t/1 'ssh://me:s3cret@host/x' '[ a://me:s3cret@host'; do
		copy 1 if="$in" of=dst json=j && one_line me && untold s3cret && copy 1 "$in" of=dst && one_line me &&
		    untold s3cret && copy 1 if=/dev/null of="$in" && untold s3cret || return
	done
}
it "... nor that of an end that is refused" no_end
# The library repeats what it cannot read, and a command that is not there is named.
no_server()
{
	copy 72 if='nbd://me:s3cret@[host/x' of=dst json=j && one_line 'host/x: connecting: ' &&
	    untold s3cret && copy 52 if='[ a://me:s3cret@host ]' of=dst json=j &&
	    one_line 'starting a://me:\*\*\*\*\*\*@host' && untold s3cret
}
it "... nor that of one that cannot be reached" no_server

# ---------------------------------------------------------------- two names

# overlaps OPERANDS...: refused, unless forced
overlaps()
{
	refused 'may be what .* serves: process [0-9]+ has it open \(force=overlap' "$@" &&
	    refused 'may be what' -d "$@" && copy 0 force=overlap "$@"
}
one_file()
{
	"$blocks" make disk 1M && "$blocks" make other 1M 9 && serve a file disk &&
	    overlaps if="$uri" of=disk seek=8 count=8 && overlaps if=disk of="$uri" skip=8 count=8 &&
	    ln disk name && overlaps if="$uri" of=name && copy 0 if="$uri" of=other && copy 0 if=other of="$uri"
}
only plain
it "refuses a file that the server at the other end has open" one_file
# tcp ARGS...: nbdkit at a loopback address of its own
tcp()
{
	local host=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
	if ! nbdkit -i "$host" -p 10809 -P kit.pid "$@" 2>kit.log || ! until_true 20 test -s kit.pid; then
		cat kit.log
		return 1
	fi
	undo kill "$(<kit.pid)"
	uri=nbd://$host
}
one_by_tcp()
{
	"$blocks" make disk 1M && "$blocks" make other 1M 9 && tcp file disk &&
	    overlaps if="$uri" of=disk seek=8 count=8 && overlaps if=disk of="$uri" skip=8 count=8 &&
	    copy 0 if="$uri" of=other && copy 0 if=other of="$uri"
}
given 'nobody_at 10809' "somebody listens at port 10809" it "... by TCP on this machine, too" one_by_tcp
# The process that began to listen has ended by then.
one_behind()
{
	"$blocks" make disk 1M && "$blocks" make other 1M 9 && nbdkit -U "$PWD/a.sock" -P kit.pid file disk &&
	    until_true 20 test -s kit.pid && undo kill "$(<kit.pid)" || return
	uri="nbd+unix:///?socket=a.sock"
	overlaps if="$uri" of=disk seek=8 count=8 && overlaps if=disk of="$uri" skip=8 count=8 &&
	    copy 0 if="$uri" of=other && copy 0 if=other of="$uri"
}
it "... by one that runs in the background, too" one_behind
one_of_two()
{
	"$blocks" make disk 1M && cp disk src && "$blocks" make other 1M 9 && serve a --filter=offset file disk offset=64k &&
	    overlaps if=src of="$uri" of=disk count=8 && overlaps if=src of=disk of="$uri" count=8 &&
	    copy 0 if=src of=other of="$uri" count=8
}
it "... when both are targets, too" one_of_two
# An export with two addresses; the server is one process.
two_names()
{
	local tcp
	"$blocks" make disk 1M && "$blocks" make other 1M 9 && tcp file disk && tcp=$uri &&
	    refused 'overlaps the one to be read' if="$tcp" of="$tcp:10809/" skip=8 count=8 seek=10 &&
	    refused 'to be written on .* overlap' if=other of="$tcp" of="$tcp:10809" &&
	    copy 0 if="$tcp" of="$tcp:10809" skip=8 count=8 seek=20 && copy 0 if="$tcp" of="$tcp:10809/x" seek=8 count=80
}
given 'nobody_at 10809' "somebody listens at port 10809" it "knows an export by two names" two_names
one_command()
{
	"$blocks" make disk 1M && echo "exec nbdkit -s file \"\$1\"" >server && cp disk other &&
	    overlaps if='[ nbdkit -s file disk ]' of=disk && overlaps if=disk of='[ sh -c "nbdkit -s file disk" ]' &&
	    copy 0 if='[ nbdkit -s file disk ]' of=other && same disk other
}
it "refuses a file that a command at the other end has open" one_command
given can_loop "no loop devices" it "refuses a disk that the server at the other end has open" eval \
    '"$blocks" make disk 1M && loop disk && serve a file "$dev" && overlaps if="$uri" of="$dev" &&
    overlaps if="$uri" of=disk force=looped'
# The server has it open only for reading, or it is pardd that has it open.
no_overlap()
{
	"$blocks" make disk 1M && cp disk src && serve a memory 1M && copy 0 if=src of="$uri" &&
	    nbdkit -f -U - file disk --run "'$pardd' if=\$uri of=copied" 2>err && same disk copied
}
it "does not mind files that servers have open and that are not copied" no_overlap
only all

# ------------------------------------------------------------------ copying

both()
{
	local a b
	pair 12345856 && serve a -r file src && a=$uri && serve b file dst && b=$uri && whole if="$a" of="$b" "$@"
}
it "copies from one server to another" both
it "... by many workers, a little at a time" both thr=16 bs=4096 bpt=3
it "... by many asynchronous requests" both engine=async thr=3 qd=16 bs=4096 bpt=5
only plain asan
it "... by one worker" both thr=1 engine=threads
it "... with more in a request than there may be" both bs=512 bpt=131072
it "copies a tail that is no whole block" eval \
    '"$blocks" make src 3000001 && truncate -s 3000001 dst && serve a -r file src && a=$uri && serve b file dst &&
    whole if="$a" of="$uri" && whole if="$a" of=new && same src new'
only all
it "is filled from a pipe, and read into one" eval \
    'pair 5M && serve b file dst && exits 0 "$pardd" if=- of="$uri" <src && complete && same src dst &&
    { "$pardd" if="$uri" of=- 2>err | cmp - src; } && complete'
part()
{
	local a
	pair 8M && serve a -r file src && a=$uri && serve b file dst &&
	    copy 0 if="$a" of="$uri" bs=4k skip=100 seek=3 count=1000 && complete &&
	    holds dst 12288 409600 4096000 && holds dst 0 0 12288 9 && holds dst 4108288 4108288 4000000 9
}
only plain asan
it "copies a part, to its place" part
qemu()
{
	local disk=$PWD/q.qcow2 server=("$PWD/q.sock")
	pair 16M && qemu-img create -q -f qcow2 "$disk" 16M || return
	qemu-nbd -k "${server[0]}" "$@" "$disk" </dev/null >q.log 2>&1 &
	uri="nbd+unix:///?socket=${server[0]}"
	until_true 20 listens "${server[0]}" || { cat q.log; return 1; }
	copy 0 if=src of="$uri" && complete && copy 0 if="$uri" of=new && complete && same src new
}
if able 'command -v qemu-nbd' "no qemu-nbd"; then
	it "writes into a qcow2, and reads it, by qemu-nbd" qemu -f qcow2 -t
	it "... that has several connections" qemu -f qcow2 -t -e 4
fi

# --------------------------------------------------------- a command's server

command_end()
{
	pair 5M && whole if='[ nbdkit -s -r file src ]' of='[ nbdkit -s file dst ]' "$@"
}
it "copies between servers that it starts" command_end
it "... by many workers" command_end thr=8 bs=4096 bpt=7
quoted()
{
	mkdir "it's a" && "$blocks" make "it's a/b" 1M &&
	    copy 0 if="[ nbdkit -s  -r file \"it's a\"/b ]" of=dst && complete && same "it's a/b" dst &&
	    copy 0 if="[ sh -c 'exec nbdkit -s -r file \"\$0\"' it\\'s\\ a/b ]" of=dst2 && same "it's a/b" dst2
}
it "splits its words as a shell does" quoted
failing()
{
	copy "$1" if="$2" of=dst && one_line "$3" && [[ ! -e dst ]]
}
it "tells how a command ended, and what it said last" failing 15 \
    '[ sh -c "echo first >&2; echo no such disk >&2; exit 3" ]' 'status 3: no such disk$'
# If the parent ignores SIGCHLD, so would pardd.
childless()
{
	exits 15 env --ignore-signal=CHLD "$pardd" if='[ sh -c "echo no such disk >&2; exit 3" ]' of=dst &&
	    one_line 'status 3: no such disk$'
}
it "... with SIGCHLD ignored by our parent, too" childless
it "tells that a command was killed" failing 15 "[ sh -c 'kill -9 \$\$' ]" 'killed by signal 9$'
it "tells of a command that is not there" failing 52 '[ no-such-server -s ]' 'starting no-such-server'
it "escapes what a command said" failing 15 "[ sh -c 'printf \"a\\033[2Jb\" >&2; exit 1' ]" 'a\\x1[Bb]\[2Jb$'
no_words()
{
	usage 'stands between' if='[ a ] b' of=dst && usage 'not closed' if='[ a "b ]' of=dst &&
	    usage 'stands between' if='[ ]' of=dst && [[ $(echo *) = 'err out' ]]
}
it "refuses words that are no command" no_words
# Its output may be long: the end of the last line says most.
last_words()
{
	local said
	for said in 'printf "%05000d" 7' 'printf "%01000d\n%0700d\n" 1 7'; do
		exits 15 "$pardd" if="[ sh -c '$said >&2; exit 3' ]" of=dst &&
		    one_line 'its command ended with status 3: 0{159}7$' || return
	done
}
it "shows the end of a last line that is too long" last_words
# What the command has started ends with the run, before pardd does.
gone()
{
	"$blocks" make src 1M && copy 0 if='[ nbdkit -s -P kit.pid -r file src ]' of=dst && complete &&
	    [[ ! -e /proc/$(<kit.pid) ]]
}
it "leaves no server behind" gone
mute()
{
	copy 15 if="[ sh -c 'echo \$\$ >pid; exec sleep 1000' ]" of=dst timeout=1 &&
	    [[ ! -s pid || ! -e /proc/$(<pid) ]]
}
it "... nor a command that is no server" mute

# A terminal sends its signal to the whole job, but the server must go on.
interrupted()
{
	local job
	pair 4M && set -m && {
		"$pardd" if=src of='[ nbdkit -s --filter=delay --filter=log file dst wdelay=300ms logfile=log ]' \
		    bs=64k bpt=1 map=m 2>err &
	} && job=$! && set +m && logged Write && kill -INT -- "-$job" &&
	    exited 130 "$job" && grep -q ' Flush ' log && grep -q ' +$' m &&
	    whole if=src of='[ nbdkit -s file dst ]' map=m
}
only all
it "keeps its command running until all is flushed, after Ctrl-C" interrupted

# ------------------------------------------------------------ holes and zeros

# A source of 64 MiB, of which 3 MiB are data.
sparse_source()
{
	truncate -s 64M src && "$blocks" make piece 3M && dd if=piece of=src bs=1M seek=20 conv=notrunc status=none
}
holes()
{
	local a
	sparse_source && serve a -r --filter=log file src logfile=log && a=$uri &&
	    copy 0 if="$a" of=dst verbose=1 "$@" && complete && same src dst &&
	    (($(stat -c %b dst) * 512 < 5 << 20)) && says 'were holes, and not read' &&
	    (($(grep -c ' Read ' log) < 10))
}
only plain asan
it "reads no holes" holes
only all
it "... by several workers" holes engine=threads thr=4
no_extents()
{
	sparse_source && serve a -r --filter=noextents file src && copy 0 if="$uri" of=dst verbose=1 && complete &&
	    same src dst && does_not_say 'were holes'
}
only plain asan
it "reads all where the server does not tell of holes" no_extents
# A hole that is not said to read as zeros is copied as data.
unknown_hole()
{
	"$blocks" make img 1M && plugin 'can_extents) ;; extents) echo "0 1M hole" ;;
	    pread) dd if=img iflag=skip_bytes,count_bytes skip=$4 count=$3 status=none ;;' &&
	    serve a -r sh plugin && copy 0 if="$uri" of=dst && complete && same img dst
}
it "reads holes that are not told to be zeros" unknown_hole
to_holes()
{
	sparse_source && "$blocks" make dst 64M 9 && serve b --filter=log file dst logfile=log &&
	    whole if=src of="$uri" "$@" && grep -q ' Zero ' log && (($(grep -c ' Write ' log) < 10))
}
it "has the server make zeros" to_holes oflag=sparse
it "... of the holes of a file" to_holes
it "... and free them" to_holes oflag=trim
writes_zeros()
{
	in_memory && sparse_source && "$blocks" make dst 64M 9 && serve b "${@:2}" && whole if=src of="$uri" "$1"
}
it "writes zeros where the server cannot make them" writes_zeros oflag=sparse --filter=nozero file dst
it "... and where it will not" writes_zeros oflag=sparse \
    --filter=error file dst error-zero=EINVAL error-zero-rate=100%

# ------------------------------------------------------------------ refusals

small()
{
	pair 2M && truncate -s 1M dst && serve b file dst && refused 'has room for 1048576' if=src of="$uri" &&
	    holds dst 0 0 1M 9
}
it "refuses a server that has less room, before the first write" small
read_only()
{
	pair 1M && serve b -r file dst && copy 80 if=src of="$uri" && one_line 'is write-protected' &&
	    holds dst 0 0 1M 9
}
it "refuses one that is read-only" read_only
itself()
{
	pair 1M && serve b file dst && refused overlaps if="$uri" of="$uri" &&
	    copy 0 if="$uri" of="$uri" bs=4k count=10 seek=100 && complete
}
it "does not write an export over itself" itself
nobody()
{
	copy 52 if=nbd+unix:///?socket=none of=dst && one_line 'connecting: ' && [[ ! -e dst ]] &&
	    copy 15 if=nbd://127.0.0.1:1/ of=dst && one_line 'connecting: '
}
it "says that nobody serves there" nobody
silent()
{
	socat UNIX-LISTEN:mute.sock,fork EXEC:'sleep 60' </dev/null >/dev/null 2>&1 &
	until_true 20 listens mute.sock && copy 15 if=nbd+unix:///?socket=mute.sock of=dst timeout=1 &&
	    one_line 'does not answer within 1 seconds'
}
it "waits no longer than timeout= for a server that does not answer" silent
plain_only()
{
	serve a -r null 1M && copy 15 if="nbds${uri#nbd}" of=dst && one_line 'connecting: ' && [[ ! -e dst ]]
}
it "does not connect without the encryption that was asked for" plain_only
encrypted()
{
	local tls
	pair 3M && echo "alice:0123456789abcdef0123456789abcdef" >keys.psk &&
	    serve b --tls=require --tls-psk=keys.psk file dst &&
	    tls="nbds+unix://alice@/?socket=$PWD/b.sock&tls-psk-file=$PWD/keys.psk" &&
	    whole if=src of="$tls" thr=4 json=j && copy 0 -dv if=src of="$tls" && grep -q '^target_offers=.*encrypted' out &&
	    ! grep -r 0123456789abcdef out err j && copy 15 if=src of="$uri" && one_line 'requires TLS'
}
if nbdkit --dump-config | grep -q '^tls=yes'; then
	it "encrypts if told to, and prints no key" encrypted
fi
one_only()
{
	local a
	pair 3M && serve a -r --filter=limit file src limit=1 && a=$uri && serve b --filter=limit file dst limit=1 &&
	    whole if="$a" of="$uri" "$@"
}
it "makes do with one connection, where the server takes no more" one_only
only all
it "... for many workers" one_only thr=8 bs=4096 bpt=9
# The server answers the first request once it has the second, which is more than a socket
# takes at once: whoever waits for the answer must send the rest meanwhile.
crossing()
{
	plugin 'thread_model) echo parallel ;; get_size) echo 33554432 ;; flush) ;;
	    pwrite) cat >/dev/null; mkdir first 2>/dev/null || exec touch second; until [ -e second ]; do sleep 0.05; done ;;' &&
	    "$blocks" make src 32M && serve b sh plugin &&
	    exits 0 with_faults "on=$PWD/src op=read at=16777216+512 until=$PWD/first" \
	    timeout -s KILL 60 "$pardd" if=src of="$uri" engine=threads thr=2 bs=16M bpt=1 && complete
}
only plain
it "goes on sending on a single connection while it waits for an answer" crossing
only all
# Each connection gets another size.
second()
{
	plugin 'open) echo >>opened; wc -l <opened ;; get_size) [ "$2" = 1 ] && echo 1048576 || echo 2097152 ;;
	    can_multi_conn) ;; pread) head -c $3 /dev/zero ;;' && : >opened && serve a -r sh plugin &&
	    copy 69 if="$uri" of=dst && says 'NOT complete: .*the server offers a disk of another size to a second connection$'
}
it "refuses a second connection that offers another disk" second
locked_later()
{
	plugin 'open) echo >>opened; wc -l <opened ;; can_write) [ "$2" = 1 ] || exit 3 ;; can_multi_conn | flush) ;;' &&
	    : >opened && "$blocks" make src 1M && serve b sh plugin &&
	    copy 69 if=src of="$uri" engine=threads thr=2 bs=64k bpt=1 &&
	    says 'NOT complete: .*the server offers the disk write-protected to a second connection$'
}
it "... or offers it write-protected" locked_later
all_told()
{
	pair 4M && serve b --filter=delay --filter=log file dst logfile=log wdelay=30ms &&
	    whole if=src of="$uri" verbose=1 thr=4 engine=threads bs=64k && says " $(grep -c ' Connect ' log) connections$"
}
it "tells how many connections it had" all_told
not_taken()
{
	pair 3M && serve b --filter=limit file dst limit=1 && copy 15 if=src of="$uri" engine=async &&
	    says 'NOT complete: .*the server takes no second connection .engine=threads needs only one.$'
}
it "tells why a connection that it needs was not made" not_taken
# A lack of descriptors is not blamed on the server.
few_descriptors()
{
	local n
	pair 1M && serve b file dst || return
	for n in {5..30}; do
		run bash -c 'ulimit -n "$1" && exec "${@:2}"' _ "$n" "$pardd" if=src of="$uri" "$@"
		[[ $status != 0 ]] || break
		[[ $status = 74 || $status = 101 ]] && says ': Too many open files' || fail "$n: status $status: $(<err)" || return
	done
	((n > 8)) && complete && same src dst
}
only plain
it "says so when descriptors run out" few_descriptors engine=async
it "... by threads, too" few_descriptors engine=threads
only all
# Every write and every zero has the flag, or none is sent.
through()
{
	pair 3M && serve b --filter=log file dst logfile=log && whole if=src of="$uri" "$@" &&
	    grep -q ' Write .*fua=1' log && ! grep -E ' (Write|Zero) .*fua=0' log &&
	    plugin 'get_size) echo 3145728 ;; can_flush) exit 3 ;; pwrite) touch written ;;' && serve c sh plugin &&
	    refused 'the server has no FUA, which oflag=dsync, sync and fua need' if=src of="$uri" "$@" &&
	    [[ ! -e written ]]
}
only plain asan
for flag in fua dsync sync; do
	it "writes past the server's cache with oflag=$flag" through oflag=$flag
done
only all
# A command that speaks no NBD is not left behind.
left_alone()
{
	printf '%s\n' 'echo $$ >its' 'exec sleep 1000' >server &&
	    copy 15 if='[ bash server ]' of=dst timeout=2 && ! kill -0 "$(<its)" 2>/dev/null
}
only plain
it "ends a command that does not answer" left_alone
only all
# The confined process may not read the files in which names are looked up.
by_name()
{
	local port
	pair 4M || return
	for _ in 1 2 3 4 5; do
		port=$((20000 + RANDOM % 10000))
		nbdkit -i localhost -p "$port" -P kit.pid file dst 2>>kit.log && break
	done
	until_true 20 test -s kit.pid || { cat kit.log; return 1; }
	undo kill "$(<kit.pid)"
	whole if=src of="nbd://localhost:$port" verbose=1 thr=4 engine=threads bs=64k && says ' [2-5] connections$'
}
given 'getent hosts localhost' "localhost is no name here" \
    it "has a connection for each worker by a host's name, too" by_name
misused()
{
	usage 'for block devices' if='[ nbdkit -s null 1M ]' of=. iflag=sgio &&
	    usage 'for files' if=/dev/null of='[ nbdkit -s null 1M ]' oflag=append
}
only plain asan
it "says which flags are not for NBD" misused
# offers IF OF REGEX: -dv says that the server offers that
offers()
{
	exits 0 "$pardd" -dv "$1" "$2" && grep -q "_offers=$3$" out
}
tells()
{
	pair 1M && serve b file dst && offers if=src of="$uri" 'a connection for each worker, flush, zeros' &&
	    grep -q '^target_kind=NBD export$' out && grep -q '^target_users=cannot be known$' out &&
	    exits 0 "$pardd" -d if=src of="$uri" && grep -q 'who else uses it cannot be known' out && holds dst 0 0 1M 9 &&
	    offers if="$uri" of=new 'a connection for each worker, reports holes' &&
	    exits 0 "$pardd" if=src of="$uri" json=j && jq -e -s '.[0].target.kind == "nbd"' j >/dev/null || return
	plugin 'can_flush) exit 3 ;; pread) head -c $3 /dev/zero ;;' && serve c --filter=nozero sh plugin &&
	    offers if=src of="$uri" 'one connection, no flush, no zeros' && offers if="$uri" of=new 'one connection, reports holes'
}
it "tells in the plan what the server offers, and what nobody knows" tells

# -------------------------------------------------------------- block sizes

policy()
{
	pair 1M && serve b --filter=blocksize-policy file dst blocksize-minimum="$1" blocksize-preferred=64k \
	    blocksize-maximum=64k blocksize-error-policy=error && whole if=src of="$uri" "${@:2}" &&
	    copy 0 if="$uri" of=new "${@:2}" && same src new
}
it "keeps to the block and request sizes that a server takes" policy 4096
it "... one request at a time" policy 4096 thr=2 engine=threads bs=4096 bpt=100
it "... also of 64 KiB" policy 64k
misfit()
{
	pair 1M && serve b --filter=blocksize-policy file dst blocksize-minimum=4096 blocksize-error-policy=error &&
	    refused 'within a logical block of 4096' if=src of="$uri" bs=512 seek=1 count=8 &&
	    copy 0 if="$uri" of=new bs=4k iflag=skip_bytes,count_bytes skip=1000 count=5000 && holds new 0 1000 5000 9
}
it "refuses to write parts of such blocks, but reads them" misfit

# A server may say anything about itself.
boundless()
{
	plugin 'get_size) echo 9223372036854775807 ;; can_extents) ;; pread) head -c $3 /dev/zero ;;
	    extents) echo "$4 1 zero"; echo "$(($4 + 1)) $3" ;;' && serve a -r sh plugin && copy 0 if="$uri" of=dst count=1000 && complete &&
	    copy 0 if="$uri" of=dst2 bs=1 skip=9223372036854775000 count=807 && complete && size_is dst2 807 &&
	    usage 'lies beyond the last byte' if="$uri" of=/dev/null bs=1 skip=9223372036854775000 count=808
}
it "copies from a server that offers 8 EiB, in extents of a byte" boundless

# parts OFFSET...: a server of 64 KiB that calls each read done and sends of it
# the 512 bytes at these offsets only, filled with the number of their block
big()
{
	local k
	for ((k = $2 - 1; k >= 0; k--)); do
		printf '%b' "\\x$(printf %x $(($1 >> 8 * k & 255)))"
	done
}
# reply TYPE LENGTH: to the client's option
reply()
{
	big 0x3e889045565a9 8; big "$option" 4; big "$1" 4; big "$2" 4
}
greet()		# what it does not know, as extended headers, it does not support
{
	local option='' length
	printf NBDMAGICIHAVEOPT; big 3 2
	head -c 4 >/dev/null
	while [[ $option != 7 ]]; do
		read -r option length < <(head -c 16 | od -An -j8 -tu4 --endian=big) || return
		head -c "$length" >/dev/null
		case $option in
		8 | 10)	reply 1 0 ;;
		7)	reply 3 12; big 0 2; big 65536 8; big 1 2; reply 1 0 ;;
		*)	reply 0x80000001 0 ;;
		esac
	done
}
parts()
{
	local cookie off
	greet
	while cookie=$(head -c 28 | od -An -j8 -N8 -td8 --endian=big) && [[ $cookie ]]; do
		for off; do
			big 0x668e33ef 4; big 0 2; big 1 2; big "$cookie" 8; big 520 4
			big "$off" 8
			head -c 512 /dev/zero | tr '\0' "$((off / 512))"
		done
		big 0x668e33ef 4; big 1 2; big 0 2; big "$cookie" 8; big 0 4
	done
}
serves_parts()
{
	{ declare -f big reply greet parts; echo "parts $*"; } >server
}
part()
{
	local engine
	serves_parts "$@"
	for engine in threads async; do
		rm -f dst
		run "$pardd" if='[ bash server ]' of=dst bs=512 count=2 engine=$engine
		[[ $status = 15 ]] && says 'NOT complete: .*: the server sent less than it was asked for' ||
		    fail "$engine: status $status, $(<err)" || return
	done
	exits 15 "$pardd" if='[ bash server ]' of=dst bs=512 count=2 map=m && ! grep -q '+$' m
}
it "does not take a read for done if the server sent nothing" part
it "... or only a part" part 0
it "... or a part twice" part 0 0
it "... or all of it, and a part twice" part 0 0 512
# served_alone COMMAND: an end that is written and read, of which nothing stays
served_alone()
{
	"$blocks" make src 3M && copy 0 if=src of="[ $1 ]" && complete &&
	    copy 0 if="[ $1 ]" of=dst && complete && same src dst && ! pgrep -f "$PWD/disk"
}
in_one_word()
{
	qemu-img create -q -f "$1" disk 3M && served_alone "qemu-nbd -f $1 $PWD/disk" &&
	    served_alone "$(command -v qemu-nbd) -t -f $1 $PWD/disk"
}
for format in qcow2 vhdx vmdk vdi; do
	it "has qemu-nbd serve it alone ($format)" in_one_word $format
done
it "has nbdkit serve it alone" eval \
    'truncate -s 3M disk && served_alone "nbdkit file $PWD/disk" && served_alone "nbdkit -fs file $PWD/disk"'
in_background()
{
	truncate -s 3M disk && exits 15 "$pardd" if="[ sh -c 'exec nbdkit -U $PWD/sock -P $PWD/pid file $PWD/disk' ]" \
	    of=dst && says 'status 0; it went into the background, where it was ended: nbdkit .* with -s$' &&
	    until_true 10 eval '! pgrep -f "$PWD/disk"'
}
it "ends what a command leaves in the background" in_background
# shuffled: of each read it sends first the odd blocks, then the even ones
shuffled()
{
	local request cookie off len at first
	greet
	while request=$(head -c 28 | od -An -v -tx1 | tr -d ' \n') && [[ $request ]]; do
		cookie=$((16#${request:16:16})) off=$((16#${request:32:16})) len=$((16#${request:48:8}))
		for first in 512 0; do
			for ((at = off + first; at < off + len; at += 1024)); do
				big 0x668e33ef 4; big 0 2; big 1 2; big "$cookie" 8; big 520 4
				big "$at" 8
				head -c 512 /dev/zero | tr '\0' "\\$(printf %o $((at / 512 + 1)))"
			done
		done
		big 0x668e33ef 4; big 1 2; big 0 2; big "$cookie" 8; big 0 4
	done
}
in_any_order()
{
	local engine k
	{ declare -f big reply greet shuffled; echo shuffled; } >server
	for ((k = 1; k <= 64; k++)); do
		head -c 512 /dev/zero | tr '\0' "\\$(printf %o $k)"
	done >src
	for engine in threads async; do
		rm -f dst
		copy 0 if='[ bash server ]' of=dst bs=512 count=64 engine=$engine && complete &&
		    same src dst || return
	done
}
it "takes the parts of a read in any order" in_any_order

# talks: zeros; it prints 30 kB for each request until it stops
talks()
{
	local i request
	greet
	for ((i = 0; i < 50; i++)); do
		printf '%030000d\n' 0 >&2
		request=$(head -c 28 | od -An -v -tx1 | tr -d ' \n')
		big 0x668e33ef 4; big 1 2; big 1 2; big "0x${request:16:16}" 8; big 520 4
		big "0x${request:32:16}" 8
		head -c 512 /dev/zero
	done
	printf '%0140d: no paper\n' 7 >&2
	exit 7
}
talkative()
{
	{ declare -f big reply greet talks; echo talks; } >server
	exits 69 "$pardd" if='[ bash server ]' of=dst bs=512 bpt=1 "$@" &&
	    says 'NOT complete: .*its command ended with status 7: 0+7: no paper$'
}
it "tells what a command said last, after it has said a lot" talkative thr=1 engine=threads
it "... with asynchronous requests" talkative qd=1 engine=async

# -------------------------------------------------------------------- errors

# bad_server: 1 MiB, of which 512 bytes at 409600 cannot be read
bad_server()
{
	"$blocks" make img 1M && plugin 'pread)
		[ $(($4 + $3)) -le 409600 ] || [ $4 -ge 410112 ] || { echo "EIO bad" >&2; exit 1; }
		dd if=img iflag=skip_bytes,count_bytes skip=$4 count=$3 status=none ;;' && serve a -r "$@"
}
bad()
{
	bad_server sh plugin && copy 3 if="$uri" of=dst bs=512 && says 'NOT complete: .*block 800: ' && holds dst 0 0 409600 || return
	copy 100 if="$uri" of=dst coe=1 && says '1 unreadable block in 1 range' && holds dst 0 0 409600 &&
	    holds dst 410112 410112 600000 && cmp -n 512 dst /dev/zero 409600 0 || return
	copy 100 if="$uri" of=dst2 map=m && grep -q '^0x00064000 *0x00000200 *-' m && holds dst2 0 0 409600 &&
	    holds dst2 410112 410112 600000
}
only all
it "finds the one bad block of a server" bad
bad_large()
{
	bad_server --filter=blocksize-policy sh plugin blocksize-minimum=4096 && copy 100 if="$uri" of=dst coe=1 &&
	    says '1 unreadable block in 1 range' && holds dst 0 0 409600 && holds dst 413696 413696 600000
}
it "... or the smallest block that the server takes" bad_large
# The disk of the server fails in mid copy: no read succeeds any more.
bad_altogether()
{
	in_memory && "$blocks" make img 8M && serve a -r --filter=error file img error-pread=EIO \
	    error-pread-rate=100% error-file=gone || return
	{ until_true 20 test -s dst && : >gone; } &
	copy 69 if="$uri" of=dst coe=1 bpt=128 rate=2M "$@" && wait $! &&
	    says '^pardd: NOT complete: .*: no answer any longer, even for what could be read before'
}
it "ends soon with coe=1 when a server can read nothing any more" bad_altogether
it "... with threads, too" bad_altogether engine=threads
fails()
{
	pair 4M && serve b --filter=error file dst "${@:2}" && copy "$1" if=src of="$uri" && says 'NOT complete: '
}
it "stops at a write that fails" fails 55 error-pwrite=EIO error-pwrite-rate=100%
it "... for want of room" fails 78 error-pwrite=ENOSPC error-pwrite-rate=100%
it "reads what fails now and then, with retries=" eval \
    'pair 8M && serve a -r --filter=error file src error-pread=EIO error-pread-rate=20% && a=$uri &&
    serve b file dst && whole if="$a" of="$uri" bs=64k bpt=1 retries=50'
unflushed()
{
	pair 1M && serve b --filter=log "$@" logfile=log && copy 103 if=src of="$uri" &&
	    says 'NOT complete: .*the server has no flush' && copy 0 if=src of="$uri" sync=0 &&
	    says '^pardd: complete, not flushed' && same src dst && refused 'no flush, so map=' if=src of="$uri" map=m &&
	    [[ ! -e m ]]
}
no_flush()
{
	plugin 'can_flush) exit 3 ;; pread) dd if=dst iflag=skip_bytes,count_bytes skip=$4 count=$3 status=none ;;
	    pwrite) dd of=dst oflag=seek_bytes seek=$4 conv=notrunc status=none ;;' && unflushed sh plugin
}
it "is not complete where the server has no flush, unless sync=0" no_flush
flush_fails()
{
	plugin 'flush) echo "EIO no" >&2; exit 1 ;;' && "$blocks" make src 1M && serve b sh plugin &&
	    copy 103 if=src of="$uri" && says 'NOT complete: .*flushing: Input/output error'
}
it "is not complete where the flush fails" flush_fails
# sends_once ENGINE: no request is sent again, and a flush at the end
sends_once()
{
	pair 1M && serve b --filter=log file dst logfile=log && whole if=src of="$uri" engine="$1" bs=64k bpt=1 &&
	    [[ $(grep -cE ' (Write|Zero) .*\.\.\.' log) = 16 && $(grep -c ' Flush ' log) = 1 ]]
}
it "sends each request once, and flushes at the end" sends_once async
it "... with threads, too" sends_once threads

# ----------------------------------------------------------- a server that goes

# dies WHICH OPERANDS...: the server is killed when some of it was copied
target_dies()
{
	pair 8M && serve b --filter=delay --filter=log file dst wdelay=300ms logfile=log || return
	timeout -s KILL 60 "$pardd" if=src of="$uri" bs=64k bpt=1 "$@" 2>err &
	logged Write && kill -9 "$pid" && exited 69 &&
	    says 'NOT complete: .*the server is gone; writes since the last flush may be lost'
}
it "stops when the target's server dies" target_dies
it "... with many workers" target_dies thr=8
it "... with one" target_dies thr=1 engine=threads
dies_zeroing()
{
	truncate -s 1G src dst && serve b --filter=delay --filter=log file dst delay-zero=1 logfile=log || return
	timeout -s KILL 60 "$pardd" if=src of="$uri" "$@" 2>err &
	until_true 20 grep -qs ' Zero ' log && kill -9 "$pid" && exited 69 &&
	    says 'NOT complete: .*the server is gone; writes since the last flush may be lost'
}
it "... while it makes zeros" dies_zeroing
it "... for many workers" dies_zeroing oflag=sparse count=16384
dies_flushing()
{
	plugin 'flush) echo >flushing; exec sleep 20 ;;' && "$blocks" make src 1M && serve b sh plugin || return
	timeout -s KILL 60 "$pardd" if=src of="$uri" 2>err &
	until_true 20 test -e flushing && kill -9 "$pid" && exited 103 &&
	    says 'NOT complete: .*the server is gone; writes since the last flush may be lost'
}
it "... while it flushes" dies_flushing
target_dies_map()
{
	target_dies map=m mapinterval=1000 && ! grep -q ' +$' m && serve b file dst && whole if=src of="$uri" map=m
}
it "... and calls nothing finished that was not flushed" target_dies_map
source_dies()
{
	"$blocks" make src 8M && serve a -r --filter=delay --filter=log file src rdelay=300ms logfile=log || return
	timeout -s KILL 60 "$pardd" if="$uri" of=dst bs=64k bpt=1 "$@" 2>err &
	logged Read && kill -9 "$pid"
}
source_dies_plain()
{
	source_dies && { wait $!; status=$?; } ; [[ $status = 69 ]] && says 'NOT complete: .*the server is gone'
}
it "stops when the source's server dies" source_dies_plain
# Whatever is noticed first, the message says how the command ended.
command_dies()
{
	"$blocks" make src 8M || return
	timeout -s KILL 60 "$pardd" if='[ nbdkit -s -P kit.pid --filter=delay --filter=log file src rdelay=300ms logfile=log ]' \
	    of=dst bs=64k bpt=1 "$@" 2>err &
	logged Read && kill -9 "$(<kit.pid)" && exited 69 &&
	    says "NOT complete: .*the server is gone; its command was killed by signal 9${1:+; the same command resumes the copy}\$"
}
it "... or its command" command_dies
it "... in a rescue" command_dies map=m
comes_back()
{
	source_dies map=m wait=60 || return
	local copying=$!
	until_true 20 grep -q 'waiting' err && serve a -r file src && wait "$copying" && complete && same src dst
}
it "waits for a source to be served again, with wait=" comes_back
other_back()
{
	source_dies map=m wait=3 || return
	local copying=$!
	until_true 20 grep -q 'waiting' err && truncate -s 9M src && serve a -r file src || return
	exited 69 "$copying" && says 'is another: 9437184 bytes; the same command resumes the copy$'
}
it "... but for no other" other_back
# After a restart the server accepts the connection and says nothing.
mute_back()
{
	source_dies map=m wait=60 timeout=30 || return
	local copying=$! began
	until_true 20 grep -q 'waiting' err && rm -f a.sock || return
	socat UNIX-LISTEN:a.sock,fork SYSTEM:'echo >asked; exec sleep 60' </dev/null >/dev/null 2>&1 &
	until_true 20 test -e asked && began=$EPOCHREALTIME && kill -TERM "$copying" || return
	wait "$copying"
	[[ $? = 143 && $(since "$began") -lt 10000 ]] && says 'NOT complete: stopped by SIGTERM'
}
it "... and answers a signal meanwhile, whatever is there" mute_back

# ------------------------------------------------- a server that does not answer

# stuck STATUS OPERANDS...: this is noticed within timeout=, which also has to be enough
# for making a connection on a busy machine.
stuck()
{
	copy "$1" timeout=5 "${@:2}" && says 'NOT complete: .*the server is gone.*; no answer within [0-9]+ seconds \(timeout=\)'
}
it "waits no longer than timeout= for a read" eval \
    '"$blocks" make src 4M && serve a -r --filter=delay file src rdelay=1000 && stuck 69 if="$uri" of=dst'
stuck_write()
{
	pair 4M && serve b --filter=delay file dst "$1"=1000 && stuck 69 if=src of="$uri" "${@:2}" &&
	    says 'writes since the last flush may be lost'
}
it "... for a write" stuck_write wdelay engine=threads thr=4
# The process was stopped, as by Ctrl-Z, so the server could not send its answer.
stopped()
{
	"$blocks" make src 4M && serve a -r --filter=log --filter=delay file src logfile=log rdelay=1 || return
	"$pardd" if="$uri" of=dst timeout=5 2>err &
	until_true 30 grep -qs ' Read .*offset=' log && kill -STOP $! && sleep 7 && kill -CONT $! && wait $! &&
	    complete && same src dst
}
[[ $VARIANT != plain ]] || it "... but not of one that could not answer while it was stopped itself" stopped
stuck_zeros()
{
	truncate -s 4M src dst && serve b --filter=delay file dst delay-zero=1000 &&
	    stuck 69 if=src of="$uri" oflag=sparse
}
[[ $VARIANT != plain ]] || it "... for zeros" stuck_zeros
stuck_flush()
{
	plugin 'flush) exec sleep 40 ;;' && "$blocks" make src 1M && serve b sh plugin && stuck 103 if=src of="$uri" timeout=15
}
[[ $VARIANT != plain ]] || it "... for the flush" stuck_flush
it "... to be told of holes, and reads all" eval \
    '"$blocks" make src 4M && serve a -r --filter=delay file src delay-extents=1000 &&
    whole if="$uri" of=dst timeout=5'
# How long a disk may take is the server's business.
it "waits as long as it takes, without timeout=" eval \
    'pair 64k && serve b --filter=delay file dst wdelay=3 && whole if=src of="$uri"'
late_resumed()
{
	pair 8M && serve b --filter=delay --filter=log file dst wdelay=300ms logfile=log || return
	timeout -s KILL 60 "$pardd" if=src of="$uri" bs=64k bpt=1 map=m mapinterval=1000 timeout=5 2>err &
	logged Write && kill -STOP "$pid" && exited 69 &&
	    ! grep -q ' +$' m && kill -9 "$pid" && serve b file dst && whole if=src of="$uri" map=m
}
it "calls nothing finished of a server that went silent, and goes on with map=" late_resumed

# A stopped command is continued, so that it can end.
stopped_command()
{
	plugin 'pwrite) echo >>log " Write offset=$4"; cat >/dev/null ;; unload) echo >unloaded ;;' && : >log && "$blocks" make src 1M || return
	timeout -s KILL 60 "$pardd" if=src of='[ nbdkit -s -P kit.pid sh plugin ]' bs=4k bpt=1 timeout=5 2>err &
	logged Write && kill -STOP "$(<kit.pid)" && wait $!
	status=$?
	[[ $status = 69 && -e unloaded ]] && says 'NOT complete: .*no answer within 5 seconds'
}
[[ $VARIANT != plain ]] || it "continues a stopped command, so that it can end" stopped_command

# ----------------------------------------------------- the rest of the operands

with_all()
{
	local a sum
	pair 4M && sum=$(sha256sum <src) && serve a -r file src && a=$uri && serve b file dst &&
	    whole if="$a" of="$uri" verify=1 hash=sha256 expect="sha256:${sum%% *}" manifest=mf profile=p.csv rate=100M &&
	    says verified && copy 0 if="$a" of="$uri" compare=1 && says 'nothing differs' &&
	    copy 0 if="$a" of="$uri" base=mf verify=stream && complete &&
	    dd if=/dev/zero of=dst bs=1 count=1 seek=70000 conv=notrunc status=none &&
	    copy 14 if="$a" of="$uri" compare=1 && copy 0 if="$a" of="$uri" oflag=sparing && complete && same src dst
}
it "verifies, compares, digests and spares" with_all
# A qcow2 that was copied, and then changed: "older" is the copy, m its manifest,
# and in monday stands where it has changed since.
changed()
{
	"$blocks" make old 16M && qemu-img convert -q -O qcow2 old q.qcow2 &&
	    qemu-img bitmap --add q.qcow2 monday && copy 0 if=old of=older manifest=m bpt=256 &&
	    qemu-io -f qcow2 -c 'write -P 7 3M 70k' -c 'write -P 8 12M 1M' q.qcow2 >/dev/null &&
	    qemu-img bitmap --add q.qcow2 tuesday && qemu-img convert -q -O raw q.qcow2 src || return
	qemu-nbd -t -r -k "$PWD/q.sock" -f qcow2 -B "${1-monday}" q.qcow2 </dev/null >q.log 2>&1 &
	uri="nbd+unix:///?socket=$PWD/q.sock" bitmap=iflag=bitmap:${1-monday}
	until_true 20 listens "$PWD/q.sock" || { cat q.log; return 1; }
}
# After the first copy nothing else has what the second one leaves out.
increment()
{
	changed && copy 0 if="$uri" of=older "$bitmap" base=m manifest=m2 json=j "$@" && complete &&
	    says 'changed by bitmap monday: 1.2 of 16.8 MB$' && same src older &&
	    [[ $(jq -s '.[-1].bytes_written' j) = 1179648 && $(jq -s '.[-1].bytes_spared' j) = 15597568 ]] &&
	    copy 0 if=src manifest=m2 check=1
}
reads_little()
{
	increment && [[ $(jq -s '.[-1].bytes_read' j) = 1179648 ]]
}
deceived()
{
	changed && dd if=/dev/zero of=older bs=1 seek=5000000 count=1 conv=notrunc status=none || return
	copy 0 if="$uri" of=older "$bitmap" base=m verify="$1" && says 'now match' && same src older
}
no_older()
{
	changed && "$blocks" make other 16M 9 && refused 'does not hold what m says' if="$uri" of=other "$bitmap" base=m &&
	    holds other 0 0 16M 9 && refused 'exists, but not' if="$uri" of=new "$bitmap" base=m && [[ ! -e new ]]
}
# The bitmap lacks what was written before it was begun.
later_bitmap()
{
	changed tuesday && "$blocks" make old 16M 9 && copy 0 if=old of=older manifest=m bpt=256 &&
	    refused 'unchanged, but it differs from m' if="$uri" of=older "$bitmap" base=m && cmp old older
}
no_bitmap()
{
	changed && refused 'offers no bitmap sunday, as qemu-nbd -B sunday does' if="$uri" of=older iflag=bitmap:sunday base=m &&
	    usage 'needs base=' if="$uri" of=older "$bitmap" &&
	    usage 'hash= and expect= need all' if="$uri" of=older "$bitmap" base=m hash=md5 &&
	    usage 'is for NBD exports' if=src of=older "$bitmap" base=m && usage 'given twice' if="$uri" of=older \
	    "$bitmap" "$bitmap" base=m && usage 'a name is missing' if="$uri" of=older iflag=bitmap: base=m && cmp old older
}
page()
{
	changed && exits 0 "$pardd" -d if="$uri" of=older "$bitmap" base=m &&
	    grep -q '^Changed 1.2 MB, by bitmap monday: the target has the rest, as m says, and' out && cmp old older
}
if able 'command -v qemu-nbd' "no qemu-nbd"; then
	only plain asan	# one thread asks for the bitmap
	it "reads only what a bitmap calls dirty" reads_little
	it "... and verifies the rest, too" increment verify=1
	it "... and tells how much that is before it begins" page
	it "repairs what else was changed in the target" deceived 1
	it "... by the source itself" deceived source
	it "accepts only the older copy as a target" no_older
	it "refuses a bitmap that was begun after that copy" later_bitmap
	it "... or one that is not there, or without base=" no_bitmap
fi
parts()
{
	truncate -s 8M src dst && printf 'label: gpt\nstart=2048,size=4096\n' | sfdisk -q src >/dev/null 2>&1 &&
	    "$blocks" make p 2M && dd if=p of=src bs=1M seek=1 conv=notrunc status=none &&
	    serve a -r file src && copy 0 if="$uri" ipart=1 of=new && complete && same p new
}
# The command for the backup GPT does not name a disk of another machine.
used_there()
{
	local n='^pardd: note: who else uses .* cannot be known from here'
	"$blocks" make src 2M && truncate -s 2M dst && copy 0 if=src of='[ nbdkit -s file dst ]' && says "$n" &&
	    copy 0 status=none if=src of='[ nbdkit -s file dst ]' && ! grep -q note: err && copy 0 if='[ nbdkit -s file dst ]' of=new &&
	    ! grep -q 'who else' err && printf 'label: gpt\n' | sfdisk -q src >said 2>&1 && truncate -s 4M dst &&
	    copy 0 if=src of='[ nbdkit -s file dst ]' && says "$n" && says ': sfdisk --relocate gpt-bak-std DISK$' &&
	    copy 0 -d if=src of='[ nbdkit -s file dst ]' && ! grep -q 'gpt-bak-std \[' out && grep -q 'gpt-bak-std DISK$' out
}
if able 'command -v sfdisk' "no sfdisk"; then
	it "copies one partition of an export" parts
	it "says before a copy that users of an export cannot be known" used_there
fi
