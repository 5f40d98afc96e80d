#!/usr/bin/env bash
# What programs are told: json= and log=.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs 'command -v jq' -- "no jq"

schema=$top/tests/tools/schema.jq
manual=$top/man/pardd-json.5

# valid FILE: the lines of a run
valid()
{
	jq -es -f "$schema" "$1" >/dev/null && return
	cat "$1"
	return 1
}

# has FILTER [FILE]: true of the last line
has()
{
	jq -es "last | $1" "${2:-json}" >/dev/null || fail "not so: $1: $(tail -n 1 "${2:-json}")"
}

# The result says what stderr says.
agrees()
{
	local file=${1:-json} message written seconds blocks right
	message=$(sed -n '$s/^pardd: //p' err)
	# a refusal has no counts
	if (($(wc -l <err) <= 1)); then
		jq -es --arg message "$message" 'last | .message == $message' "$file" \
		    >/dev/null || fail "not what stderr says: $(tail -n 1 "$file")"
		return
	fi
	read -r written seconds < <(sed -n 's/^\([0-9]*\) bytes.* copied, \(.*\) s, .*/\1 \2/p' err)
	# one jq for all, because each takes time to start
	jq -rs --arg message "$message" --argjson written "$written" --argjson seconds "$seconds" '
	    (last.bytes_read / (.[0].block_size // 512) | floor),
	    (last | .message == $message and
		(.bytes_written == $written or (.verdict == "stopped" and .bytes_written > $written)) and
		(.seconds - $seconds | fabs < 1e-5 * $seconds)),
	    (.[].unreadable // empty | .[] | "\(.offset) \(.offset + .length - 1)")' "$file" >told || return
	{ read -r blocks && read -r right; } <told
	[[ $right = true ]] || fail "not what stderr says: $(tail -n 1 "$file")" || return
	# if a copy stops, stderr says how much is in place from the beginning on
	jq -es 'last.verdict == "stopped"' "$file" >/dev/null || says "^$blocks\+[01] records in$" || return
	    diff <(sed -n 's/.*unreadable: bytes \([0-9]*\) to \([0-9]*\),.*/\1 \2/p' err) <(tail -n +3 told)
}

# tells STATUS VERDICT OPERANDS...: the run ends so, and all that it says is right
tells()
{
	local want=$1 verdict=$2
	shift 2
	exits "$want" "$pardd" "$@" json=json && valid json &&
	    has ".status == $want and .verdict == \"$verdict\"" && agrees
}

# ------------------------------------------------------------- kinds of ends

complete_run()
{
	"$blocks" make src 3000000 && tells 0 complete if=src of=dst &&
	    has '.bytes_read == 3000000 and .bytes_written == 3000000 and .flushed' &&
	    has '.source.size == 3000000 and .source.kind == "file"' &&
	    has ".source.inode == $(stat -c %i src) and .target.created" && same src dst
}
only plain asan
it "tells of a complete copy" complete_run
place()
{
	"$blocks" make src 64k && tells 0 complete if=src of=dst bs=512 skip=3 seek=5 count=7 &&
	    has '.source.offset == 1536 and .target.offset == 2560 and .bytes_read == 3584'
}
it "tells where it read and wrote" place
plan_of()
{
	"$blocks" make src 64k &&
	    exits 0 "$pardd" if=src of=dst bs=512 bpt=8 thr=3 coe=1 retries=2 sync=0 json=json &&
	    jq -es '.[0] | .event == "plan" and .block_size == 512 and .transfer == 4096 and
		.workers == 3 and .coe and .retries == 2 and (.sync | not) and .length == 65536 and
		.operands == ["if=src", "of=dst", "bs=512", "bpt=8", "thr=3", "coe=1", "retries=2",
		    "sync=0", "json=json"]' json >/dev/null && has '.flushed | not'
}
it "tells the plan" plan_of
stream()
{
	"$blocks" make src 200000 || return
	"$pardd" if=- json=json 2>err < <(cat src) | cat >out && same src out && valid json && agrees &&
	    has '.source.kind == "stream" and .source.size == null and .bytes_read == 200000' &&
	    has '.target.name == "standard output" and (.flushed | not)' &&
	    jq -es '.[0].length == null' json >/dev/null
}
it "tells of a stream, whose length it does not know" stream
generated()
{
	tells 0 complete iflag=00 of=. bs=4k count=9 && has '.source.kind == "generated"' &&
	    has '.target.kind == "discarded" and .bytes_written == 36864'
}
it "tells of generated input, and of an output that is discarded" generated
device()
{
	"$blocks" make disk 1M && loop disk || return
	tells 0 complete "if=$dev" of=dst && has '.source.kind == "block_device" and .source.block == 512' &&
	    has ".source.device == \"$(lsblk -dno MAJ:MIN "$dev" | tr -d ' ')\"" &&
	    has ".source.disk.name == \"${dev##*/}\" and .source.disk.partition == 0" &&
	    has ".source.disk.backing == \"$(readlink -f disk)\" and .target.disk == null"
}
given can_loop "no loop devices" it "tells of a block device" device
padded()
{
	"$blocks" make src 1000 && tells 0 complete if=src of=dst conv=sync bs=4096 &&
	    has '.bytes_read == 1000 and .bytes_written == 4096'
}
it "counts padding as written" padded

# ---------------------------------------------------------------- other ends

bad='at=8192+1024,9216+512,65536+512'
unreadable_run()
{
	"$blocks" make src 128k || return
	export FAULTS="on=$PWD/src op=read $bad fail=EIO" LD_PRELOAD=$shim
	tells 100 unreadable if=src of=dst coe=1 "$@" &&
	    has '.unreadable == [{offset: 8192, length: 1536}, {offset: 65536, length: 512}]' &&
	    has '.bytes_read == 129024 and .bytes_written == 131072 and .bytes_unreadable == 2048'
}
only all
it "tells of each unreadable range once, merged" unreadable_run
it "tells the same with sixteen workers" unreadable_run thr=16 bpt=1 bs=512
unreadable_source()
{
	"$blocks" make src 128k || return
	export FAULTS="on=$PWD/src op=read $bad fail=EIO" LD_PRELOAD=$shim
	tells 100 unreadable if=src of=dst coe=1 bs=512 skip=16 &&
	    has '.unreadable[0] == {offset: 8192, length: 1536}'
}
only plain asan
it "counts offsets in the source, not in the copy" unreadable_source
medium()
{
	"$blocks" make src 64k || return
	export FAULTS="on=$PWD/src op=read at=8192+512 fail=EIO" LD_PRELOAD=$shim
	tells 3 stopped if=src of=dst && has '.signal == null and .bytes_written == 8192'
}
it "tells that a bad block stopped the copy" medium
full()
{
	"$blocks" make src 64k || return
	export FAULTS="on=$PWD/dst op=write at=8192+ fail=ENOSPC" LD_PRELOAD=$shim
	touch dst && tells 78 stopped if=src of=dst && has '.bytes_written == 8192'
}
it "tells that a full target stopped the copy" full
short_run()
{
	"$blocks" make src 10000 || return
	exits 102 "$pardd" of=dst bs=1k count=20 json=json < <(cat src) && valid json &&
	    has '.verdict == "short" and .bytes_read == 10000'
}
it "tells that the source was too short" short_run
not_flushed()
{
	"$blocks" make src 64k && touch dst || return
	export FAULTS="on=$PWD/dst op=flush fail=EIO" LD_PRELOAD=$shim
	tells 103 not_flushed if=src of=dst && has '.flushed | not' && has '.bytes_written == 65536'
}
it "tells that flushing failed" not_flushed
# The next flush succeeds, and does not report what was lost before.
flushed_later()
{
	"$blocks" make src 64M || return
	export FAULTS="on=$PWD/dst $1 fail=EIO times=1" LD_PRELOAD=$shim
	touch dst && tells "$2" "$3" if=src of=dst "${@:4}" && has '.flushed | not'
}
it "... while the copy was made" flushed_later op=flush 103 not_flushed verify=stream
it "... or a write" flushed_later op=write 55 stopped
refused_run()
{
	"$blocks" make src 64k && tells 101 refused if=src of=dst skip=1000 &&
	    has '.bytes_read == 0 and .unreadable == [] and .source.size == 65536' && [[ ! -e dst ]]
}
it "tells of a refusal" refused_run
# why STATUS VERDICT KIND END ERRNO FORCE OPERANDS...: the reason, as data
why()
{
	tells "$1" "$2" "${@:7}" && has "[.reasons[] | .kind, .status, .end, .errno, .force] == [\"$3\", $1, $4, $5, $6]" &&
	    has '.reasons[0].message == .message'
}
why_not()
{
	"$blocks" make src 64k && why 101 refused refused '"src"' null null if=src of=dst skip=1000 &&
	    why 52 refused fault '"nothing"' 2 null if=nothing of=dst &&
	    why 52 refused fault '"no/dst"' 2 null if=src of=no/dst &&
	    why 101 refused refused '"/dev/no"' null null if=src of=/dev/no &&
	    why 101 refused refused '"src"' null '"overlap"' if=src of=src seek=1 && cp src dst &&
	    why 1 usage usage null null null if=src of=dst frob=1 && same src dst
}
it "... with its reason" why_not
why_in_use()
{
	"$blocks" make src 64k && truncate -s 9M disk && mke2fs -q disk && loop disk && mkdir mnt && undo umount "$PWD/mnt" &&
	    mount "$dev" mnt && why 101 refused refused "\"$dev\"" null '"mounted"' if=src of="$dev" &&
	    "$pardd" if=src of=/dev/null of="$dev" json=json status=none 2>err
	has "[.reasons[] | .end, .force] == [\"$dev\", \"mounted\"] and (has(\"targets\") | not)"
}
given 'can_loop' "no loop devices" it "... and what may be forced" why_in_use
missing()
{
	tells 52 refused if=nothing of=dst && has '.source.name == "nothing" and .source.kind == null' &&
	    (($(wc -l <json) == 1)) && [[ ! -e dst ]]
}
it "tells of a source that is missing" missing
misused()
{
	exits 1 "$pardd" "$@" && valid json && has '.verdict == "usage" and .status == 1' && agrees
}
it "tells of a wrong operand" misused if=src of=dst json=json bs=some
it "tells of a wrong operand before json=" misused if=src of=dst bs=some json=json
it "tells of operands that contradict each other" misused if=src iflag=00 of=dst json=json

# --------------------------------------------------------------- while it runs

# slow RULES [MS]: eight reads that take half a second, or MS, each
slow()
{
	"$blocks" make src 256k || return
	export FAULTS="on=$PWD/src op=read sleep=${2-500}$1" LD_PRELOAD=$shim
}
slow_run()
{
	FAULT_LOG=$PWD/faults "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt="${bpt:-64}" \
	    thr=1 json=json "$@" 2>err &
	job=$!
}
# told N: N lines of progress have come
told()
{
	(($(grep -c '"event":"progress"' json 2>/dev/null) >= $1))
}
progress()
{
	local n start=${EPOCHREALTIME/.} most
	"$blocks" make src 256k && export FAULTS="on=$PWD/src op=read at=131072+ until=$PWD/go" LD_PRELOAD=$shim || return
	slow_run
	until_true 20 told 2
	touch go
	wait "$job" && ended exit 0 && valid json || return
	most=$(((${EPOCHREALTIME/.} - start) / 1000000))
	n=$(jq -s 'map(select(.event == "progress" and .phase == "copying" and .length == 262144)) | length' json)
	((n >= 2 && n <= most)) || fail "$n in $most seconds"
}
only all
it "tells of the progress about once a second, without a line on stderr" progress
early()
{
	"$blocks" make src 256k || return
	export FAULTS="on=$PWD/src op=read at=512+512 fail=EIO;on=$PWD/src op=read at=32768+ until=$PWD/go" LD_PRELOAD=$shim
	slow_run coe=1
	until_true 20 told 1
	touch go
	wait $!
	ended exit 100 && valid json && jq -es 'map(.event) | index("error") < rindex("progress")' json >/dev/null &&
	    jq -es 'map(select(.event == "progress"))[-1].bytes_unreadable == 512' json >/dev/null
}
it "tells of an unreadable range while the copy goes on" early
shared()
{
	"$blocks" make src 128k || return
	export FAULTS="on=$PWD/src op=read at=32256+512 fail=EIO;on=$PWD/src op=read at=32768+512 until=$PWD/go fail=EIO" LD_PRELOAD=$shim
	slow_run coe=1
	until_true 20 told 1
	touch go
	wait $!
	ended exit 100 && valid json &&
	    jq -es 'any(.event == "progress")' json >/dev/null && has '.unreadable == [{offset: 32256, length: 1024}]'
}
it "tells of a range that two transfers share as one" shared
flushing()
{
	"$blocks" make src 64k && touch dst || return
	export FAULTS="on=$PWD/dst op=flush until=$PWD/go" LD_PRELOAD=$shim
	(until_true 20 told 1; touch go) &
	tells 0 complete if=src of=dst && jq -es 'any(.phase == "flushing")' json >/dev/null
}
it "tells that it is flushing" flushing
begun()
{
	[[ -s json && -s dst ]]
}
stopped()
{
	slow ''
	bpt=1 slow_run
	until_true 20 begun && kill -"$1" "$(sed -n 's/^pid //p' how)" && wait $!
	ended signal "$2" && valid json && agrees &&
	    has ".verdict == \"stopped\" and .status == 128 + $2 and .signal == $2"
}
it "tells that SIGINT stopped it" stopped INT 2
it "tells that SIGTERM stopped it" stopped TERM 15
left()
{
	"$blocks" make src 256k || return
	export FAULTS="on=$PWD/src op=read nth=3 hang" LD_PRELOAD=$shim
	slow_run
	until_true 20 grep -qs waits faults && kill -INT "$(sed -n 's/^pid //p' how)" && heard &&
	    kill -INT "$(sed -n 's/^pid //p' how)" && wait $!
	ended signal 2 && valid json && has '.verdict == "stopped" and .signal == 2 and (.flushed | not)' &&
	    has '.message | test("second SIGINT")'
}
it "tells that a second signal made it quit" left

# ------------------------------------------------------------------- the form

# nothing but printable ASCII and line feeds
tame()
{
	! LC_ALL=C grep -n '[^ -~]' "$1"
}
# named NAME WANTED: the source's name, and how a program gets it
named()
{
	in_memory			# over before there is progress to tell
	"$blocks" make "$1" 1000 && exits 0 "$pardd" "if=$1" of=dst json=json && valid json && tame json &&
	    [[ $(wc -l <json) = 2 ]] && [[ $(jq -rs 'last.source.name' json) = "$2" ]]
}
only plain asan	# one thread writes lines
it "escapes control bytes of names" named $'a\e[31m\nb\t\x01' $'a\e[31m\nb\t\x01'
it "escapes quotes and backslashes" named 'a"b\c' 'a"b\c'
it "leaves all other characters as they are" named $'gr\xc3\xb6\xc3\x9fe \xe2\x82\xac \xf0\x9f\x92\xbe' \
    $'gr\xc3\xb6\xc3\x9fe \xe2\x82\xac \xf0\x9f\x92\xbe'
it "makes bytes safe that are not UTF-8" named $'\xff\xc3\xa9\xc3x\x80\xed\xa0\x80' \
    $'\\xFF\xc3\xa9\\xC3x\\x80\\xED\\xA0\\x80'
unwritable()
{
	exits 52 "$pardd" $'if=n\xff\e"' of=dst json=json log=log && valid json && valid log && tame json && tame log &&
	    [[ $(jq -rs 'last.source.name' json) = $'n\\xFF\e"' ]]
}
it "... in the results of runs that did not begin, too" unwritable
one_write()
{
	"$blocks" make src 64k && touch json || return
	FAULT_LOG_ALL=1 with_faults "on=$PWD/json op=write nth=999 fail=EIO" "$pardd" if=src of=dst json=json 2>err || return
	[[ $(awk '/^write/ { print $3 }' faults) = "$(awk '{ print length + 1 }' json)" ]]
}
it "writes each line at once" one_write

# ------------------------------------------------------------ where it goes to

descriptor()
{
	"$blocks" make src 64k && exits 0 "$pardd" if=src of=dst "json=$1" 7>json && valid json
}
it "writes to a descriptor" descriptor 7
it "writes to a descriptor by the name shells give it" descriptor /dev/fd/7
standard()
{
	"$blocks" make src 64k && "$pardd" if=src of=dst json=/dev/stdout status=none >json &&
	    valid json && "$pardd" if=src of=dst json=/dev/stderr status=none 2>json && valid json &&
	    exits 101 "$pardd" if=src json=/dev/stdout >out && [[ ! -s out ]] && one_line something
}
it "writes to standard output and standard error by name" standard
it "writes to standard output as -, unless that is the target" eval \
    '"$blocks" make src 64k && "$pardd" if=src of=dst json=- status=none >json && valid json &&
    exits 101 "$pardd" if=src json=- >out && one_line json=- && [[ ! -s out && ! -e ./- ]]'
it "writes to a pipe" eval '"$blocks" make src 64k && "$pardd" if=src of=dst json=1 2>err | cat >json && valid json'
fifo()
{
	"$blocks" make src 64k && mkfifo fifo || return
	cat fifo >json &
	exits 0 "$pardd" if=src of=dst json=fifo && wait $! && valid json
}
it "writes to a FIFO" fifo
it "cuts off an old file" eval \
    '"$blocks" make src 64k && yes old | head -c 100000 >json && tells 0 complete if=src of=dst'
private()
{
	umask 0
	"$blocks" make src 64k && tells 0 complete if=src of=dst log=log && [[ $(stat -c %a json log) = $'600\n600' ]]
}
it "makes files that only their owner may read" private

# The first run is kept at its start while the second asks for its file.
alone()
{
	local first
	"$blocks" make src 64k || return
	FAULTS="on=$PWD/src op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst json=json 2>/dev/null &
	first=$!
	until_true 20 grep -qs waits faults && refused 'json=.*another run' if=src of=dst2 json=json &&
	    [[ ! -e dst2 ]] && touch go && wait "$first" && valid json
}
it "leaves alone the file of a run that is under way" alone

# not_there REGEX SINK OPERANDS...: refused, and both ends are as they were
not_there()
{
	local why=$1 sink=$2
	shift 2
	"$blocks" make src 64k 1 && "$blocks" make dst 64k 2 && cp src src.old && cp dst dst.old &&
	    ln -s dst link && mkdir dir || return
	run "$pardd" "$sink" "$@" >/dev/null
	[[ $status != 0 ]] && one_line "$why" && same src src.old && same dst dst.old && [[ ! -e new ]]
}
for key in json log; do
	it "$key= is not the source" not_there "$key=src" "$key=src" if=src of=dst
	it "$key= is not the target" not_there "$key=dst" "$key=dst" if=src of=dst
	it "$key= is not the target by another name" not_there "$key=" "$key=./dst" if=src of=dst
	it "$key= is not a target that is to be made" not_there "$key=" "$key=./new" if=src of=new
	it "$key= is not the target of a wrong command line" not_there if "$key=dst" if=src if=src of=dst
	it "$key= follows no symbolic link" not_there link "$key=link" if=src of=new
	it "$key= is not made among the devices" not_there "device file" "$key=/dev/pardd-$key" if=src of=new
	it "$key= is no device" not_there "device file" "$key=/dev/null" if=src of=new
	it "$key= is no directory" not_there regular "$key=dir" if=src of=new
	it "$key= must be possible before the target is made" not_there nowhere "$key=nowhere/x" if=src of=new
done
it "json= and log= are not one file" not_there json json=both log=both if=src of=new
# A value that looks like the name of a file, but is none.
it "json= and log= may have the name of a word, or of a note" eval \
    '"$blocks" make src 64k && exits 0 "$pardd" if=src of=dst json=md5 hash=md5 report=r.html log=case note=case &&
    same src dst && valid md5 && valid case'
it "takes no descriptor that is not open" not_there 'json=77' json=77 if=src of=new
it "takes no descriptor that is open for reading" not_there 'json=0' json=0 if=src of=new
standard()
{
	"$blocks" make src 64k && "$blocks" make dst 64k 2 && cp dst old || return
	"$pardd" if=src "$1" 2>err 1<>dst
	[[ $? = 101 ]] && one_line 'json=1' && same dst old
}
it "takes no descriptor that is the target" standard json=1
disk_descriptor()
{
	"$blocks" make disk 1M && cp disk old && loop disk && "$blocks" make src 64k || return
	run "$pardd" if=src of=dst json=7 7>"$dev"
	[[ $status = 101 && ! -e dst ]] && one_line 'json=7' && same disk old
}
given can_loop "no loop devices" it "takes no descriptor of a disk" disk_descriptor
dry()
{
	"$blocks" make src 64k && exits 0 "$pardd" -dv if=src of=dst json=json log=log &&
	    [[ ! -e json && ! -e log && ! -e dst ]] || return
	exits 0 "$pardd" -dv if=src of=dst json=7 7>json && (($(wc -l <json) == 1)) &&
	    has '.event == "plan" and .dry_run' &&
	    exits 101 "$pardd" -dv if=src of=dst skip=1k json=7 7>json && valid json &&
	    exits 101 "$pardd" -dv if=src of=dst json=src && exits 101 "$pardd" -dv if=src of=dst log=/dev/x
}
it "writes no file with -d" dry

# --------------------------------------------------------------- it goes wrong

# told_once: the copy is complete nevertheless, and one line tells of json=
told_once()
{
	unset FAULTS LD_PRELOAD
	[[ $status = 0 ]] && complete && same src dst || return
	[[ $(grep -c "json=.*not complete" err) = 1 ]] || fail "$(<err)"
}
write_fails()
{
	in_memory
	"$blocks" make src 64k && touch json || return
	with_faults "on=$PWD/json op=write nth=$1 fail=ENOSPC" run "$pardd" if=src of=dst json=json
	faulty write && [[ $(wc -l <json) = $(($1 - 1)) ]] && told_once
}
it "goes on when the plan cannot be written" write_fails 1
it "goes on when the result cannot be written" write_fails 2
close_fails()
{
	in_memory
	"$blocks" make src 64k && touch json || return
	with_faults "on=$PWD/json op=close fail=ENOSPC" run "$pardd" if=src of=dst json=json
	faulty close && told_once
}
it "... or is not kept, as a server may say only when the file is closed" close_fails
in_pieces()
{
	in_memory
	"$blocks" make src 64k && exits 0 with_faults "on=$PWD/json op=write short odd" "$pardd" if=src of=dst json=json &&
	    faulty write && valid json && has '.verdict == "complete"'
}
it "... but writes all of it where a call takes a part" in_pieces
# filled FILE: a line of 1000 bytes
filled()
{
	printf '"%0997d"\n' 0 >"$1"
}
no_room()
{
	filled log && cp log before && ulimit -f 1 || return
	exits 0 "$pardd" if=/dev/zero count=1 of=. json=json log=log && complete &&
	    says 'json=json: it is not complete: File too large' &&
	    says 'log=log: it is not complete: File too large' && jq -es 'length == 1' json && same log before
}
it "leaves no part of a line in json= or log=, and tells of both" no_room
no_room_inherited()
{
	filled json && ulimit -f 1 && exec 7<>json || return
	read -r _ <&7
	exits 0 "$pardd" -dv if=/dev/zero count=1 of=. json=7 && [[ $(wc -l <err) = 1 ]] &&
	    says 'json=7: it is not complete: File too large' && echo '{"more":1}' >&7 && jq -es 'length == 2' json
}
it "... nor in an inherited file, to which others go on writing, with -d" no_room_inherited
# held: what lies behind the first 32 KiB of src is read once there is a file "go"
held()
{
	"$blocks" make src 256k && export FAULTS="on=$PWD/src op=read at=32768+ until=$PWD/go" LD_PRELOAD=$shim
}
fill_up()
{
	dd if=/dev/zero of=fifo bs=4k oflag=nonblock 2>/dev/null
	:
}
reader_gone()
{
	held
	run "$pardd" if=src of=dst bs=512 bpt=64 thr=1 json=7 7> >(head -n 1 >json; exec <&-; touch go)
	told_once
}
only all
it "goes on when the reader has gone" reader_gone
reader_sleeps()
{
	"$blocks" make src 64k && mkfifo fifo && exec 7<>fifo || return
	fill_up
	run "$pardd" if=src of=dst json=7
	told_once
}
it "goes on when the reader sleeps" reader_sleeps
catches_up()
{
	local pid cat
	held
	mkfifo fifo && exec 7<>fifo || return
	"$pardd" if=src of=dst bs=512 bpt=64 thr=1 json=7 2>err &
	pid=$!
	until_true 20 test -s dst && fill_up	# the plan has been written
	sleep 1.5
	cat <&7 >raw &
	cat=$!
	touch go
	wait $pid && until_true 20 grep -aq '"verdict":' raw && kill $cat &&
	    tr -d '\0' <raw >json && valid json && has '.verdict == "complete"' && ! grep json err
}
it "leaves out progress while the reader is busy" catches_up
nobody()
{
	exec 7> >(:)
	wait $!
	run "$tools/ends" how "$pardd" "$@" json=7
	ended exit "$status" && [[ $status != 0 ]]
}
it "is not ended by a reader that is gone before it begins" nobody if=src of=dst bs=x
nobody_hears()
{
	"$blocks" make src 4k && nobody if=src of=dst skip=9 && [[ $status = 101 ]] &&
	    says '^pardd: json=7: .*not complete' && says '^pardd: skip= leads to byte 4608'
}
it "says that a refusal could not be written, and why it was one" nobody_hears
stalls()
{
	slow ''
	mkfifo fifo && exec 7<>fifo || return
	"$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=1 thr=1 json=7 2>err &
	until_true 20 test -s dst && fill_up	# the plan has been written
	sleep 1.5
	kill -INT "$(sed -n 's/^pid //p' how)" && wait $!
	ended signal 2 && says 'json=7: it is not complete'
}
[[ $VARIANT != plain ]] || it "answers signals while the reader sleeps" stalls

# -------------------------------------------------------------------- the log

journal()
{
	"$blocks" make src 64k || return
	exits 0 "$pardd" if=src of=dst log=log && agrees log && exits 101 "$pardd" if=src of=dst skip=999 log=log &&
	    exits 1 "$pardd" if=src of=dst bs=x log=log || return
	[[ $(wc -l <log) = 3 && $(jq -r .verdict log | paste -sd ' ') = "complete refused usage" ]] || return
	split -l 1 log line. && valid line.aa && valid line.ab && valid line.ac && tame log &&
	    has ".uid == $(id -u) and .length == 65536 and .target.name == \"dst\"" line.aa
}
only plain asan
it "appends one line for each run to log=" journal
# After a full disk, or a power cut.
torn_journal()
{
	"$blocks" make src 64k && printf '{"schema":"pardd/1","ev' >log || return
	exits 0 "$pardd" if=src of=dst log=log && exits 0 "$pardd" if=src of=dst log=log &&
	    [[ $(wc -l <log) = 3 ]] && tail -n 2 log >both && split -l 1 both line. && valid line.aa && valid line.ab
}
it "begins a new line in a log whose last one is torn" torn_journal
journal_lost()
{
	"$blocks" make src 128k || return
	export FAULTS="on=$PWD/src op=read $bad fail=EIO" LD_PRELOAD=$shim
	exits 100 "$pardd" if=src of=dst coe=1 log=log && valid log &&
	    has '.bytes_unreadable == 2048 and .verdict == "unreadable"' log
}
it "logs how much is lost" journal_lost
together()
{
	local i
	"$blocks" make src 64k || return
	for i in {1..20}; do
		"$pardd" if=src of="dst$i" log=log status=none &
	done
	wait
	[[ $(jq -r 'select(.verdict == "complete") | .target.name' log | sort -u | wc -l) = 20 ]]
}
it "lets many runs share a log" together

# ----------------------------------------------------------------- the manual

documented()
{
	local key
	"$blocks" make src 128k || return
	(until_true 20 told 1; touch go) &
	FAULTS="on=$PWD/src op=read at=512+512 fail=EIO;on=$PWD/src op=read at=32768+ until=$PWD/go" LD_PRELOAD=$shim \
	    exits 100 "$pardd" if=src of=dst bs=512 bpt=64 thr=1 coe=1 json=json log=log || return
	[[ $(jq -r .event json log | sort -u | wc -l) = 5 ]] || fail "not all events were seen" || return
	comm -3 <(jq -r '.event, keys[], (.source // {} | keys[])' json log | sort -u | grep -vx -e schema -e event) \
	    <(sed -n '/^\.Sh EVENTS/,/^\.Sh VERDICTS/s/^\.It Cm //p' "$manual" | sort -u) >odd
	[[ ! -s odd ]] || fail "$(<odd)"
}
it "has every event and key in the manual, and no other" documented
verdicts()
{
	diff <(sed -n '/^\.Sh VERDICTS/,/^\.Sh WHERE/s/^\.It Cm //p' "$manual" | sort) \
	    <(sed -n '/^result_verdict(/,/^}/p' "$top"/src/record/events.c | grep -o '"[a-z_]*"' | tr -d '"' | sort)
}
it "has every verdict in the manual, and no other" verdicts
reasons()
{
	diff <(sed -n '/^\.Sh REASONS/,/^\.El/s/^\.It Cm //p' "$manual") \
	    <(sed -n '/^def kinds:/,/;/p' "$schema" | grep -o '"[a-z_]*"' | tr -d '"') &&
	    diff <(sed -n '/^\.Sh REASONS/,/^\.El/s/^\.It Cm //p' "$manual") \
	    <(sed -n '/^result_reasons(/,/};/p' "$top"/src/record/events.c | grep -o '"[a-z_]*"' | tr -d '"')
}
it "has every kind of reason in the manual, the one that comes first on top" reasons
example()
{
	local line filter
	PATH=${pardd%/*}:$PATH
	"$blocks" make disk.img 12M || return
	line=$(sed -n '/^\.Sh EXAMPLES/,$s/^\.Dl \(pardd .*\)/\1/p' "$manual")
	FAULTS="on=$PWD/disk.img op=read at=819200+1024,2097152+512 fail=EIO" LD_PRELOAD=$shim \
	    exits 100 bash -c "$line" && valid run.json || return
	diff <(sed -n '/^\.Bd/,/^\.Ed/p' "$manual" | sed '/^\./d' | jq 'del(.confined, .seconds, .started, .ended)') \
	    <(jq 'select(.event == "result") | del(.confined, .source, .target, .seconds, .started, .ended)' run.json) || return
	filter=$(sed -n 's/^\.Dl \(jq .*\)/\1/p' "$manual" | sed 's/\\(dq/"/g')
	[[ $(bash -c "$filter") = $'819200\t1024\n2097152\t512' ]]
}
it "runs the example of the manual" example
