#!/usr/bin/env bash
# The progress line, on a terminal and elsewhere.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# slow SIZE MS [RULE]: each read of src takes so long, until there is a file go
slow()
{
	"$blocks" make src "$1" || return
	rules="${3:+on=$PWD/src op=read $3;}on=$PWD/src op=read at=32768+ sleep=$2 until=$PWD/go"
}
copies()
{
	FAULTS=$rules LD_PRELOAD=$shim exits "$1" "$pardd" if=src of=dst bs=512 bpt=64 thr=1 "${@:2}"
}
# until_told N REGEX: N lines have come
told()
{
	(($(grep -Ecs -e "$2" err) >= $1))
}
until_told()
{
	until_true 30 told "$@" >&2
	touch go
}

# -------------------------------------------------------- where there is none

lines()
{
	local n start=${EPOCHREALTIME/.} most
	slow 256k 400 || return
	until_told 2 '^pardd: .*copying$' &
	copies 0 "$@" || return
	most=$(((${EPOCHREALTIME/.} - start) / 1000000))
	n=$(grep -c '^pardd: .*copying$' err)
	((n >= 2 && n <= most)) || fail "$n lines in $most s: $(<err)" || return
	grep -Eq '^pardd: [0-9.]+ (k?B )?of [0-9]+ kB, [0-9]+ %, [0-9.]+ k?B/s, mean [0-9.]+ k?B/s, 0:0[0-9], (0:0[0-9] left|time left unknown), copying$' err || fail "$(<err)" || return
	! LC_ALL=C grep -n '[^ -~]' err
}
it "prints a line a second with progress=1" lines progress=1
[[ $VARIANT != plain ]] || it "does so with status=progress, too" lines progress=1 status=progress
[[ $VARIANT != plain ]] || it "does so with status=noxfer, too" lines progress=1 status=noxfer
none()
{
	slow 128k 500 && copies 0 "$@" && does_not_say '^pardd: ([^c]|co[^m])'
}
it "prints none where stderr is no terminal" none
[[ $VARIANT != plain ]] || it "prints none with progress=0" none progress=0 status=progress
it "prints none with status=none" eval 'slow 128k 500 && copies 0 progress=1 status=none && [[ ! -s err ]]'
rarely()
{
	slow 128k 500 && copies 0 progress=3600 && does_not_say 'copying'
}
[[ $VARIANT != plain ]] || it "prints none before it is time" rarely
background()
{
	{ slow 256k 300 && FAULTS=$rules LD_PRELOAD=$shim script -qefc \
	    "bash -mc '$(printf '%q ' "$pardd" if=src of=dst bs=512 bpt=64 thr=1) $1 wait'" screen >/dev/null &&
	    same src dst && grep -aq 'complete, flushed' screen && [[ $(grep -ac copying screen) = "$2" ]]; } ||
	    fail "$(<screen)"
}
it "draws no line over the prompt while it is in the background" background '&' 0
it "... but does in the foreground" background ';' 1
lost()
{
	slow 128k 20000 'at=512+1024 fail=EIO' || return
	until_told 1 'unreadable, copying$' &
	copies 100 coe=1 progress=1 && says 'copying$' && says '^pardd: .*, 1\.0 kB unreadable, copying$'
}
it "tells how much is unreadable so far" lost
unknown()
{
	"$blocks" make src 256k || return
	{ head -c 32768; until_told 1 '^pardd: 33 kB, .*copying$'; cat; } <src |
	    exits 0 "$pardd" of=dst bs=512 bpt=64 thr=1 progress=1 || return
	says '^pardd: 33 kB, [0-9.]+ k?B/s, mean [0-9.]+ kB/s, 0:0[0-9], copying$' && does_not_say 'left|%'
}
it "tells neither a part nor a time of what has no known length" unknown
# passes REGEX [OPERAND...]: half of the target has been read back
passes()
{
	"$blocks" make src 256k || return
	rules="on=$PWD/dst op=read at=131072+ until=$PWD/go"
	until_told 1 "$1" &
	FAULTS=$rules LD_PRELOAD=$shim exits 0 "$pardd" of=dst bs=512 bpt=64 thr=1 progress=1 verify=1 "${@:2}" <pipe &&
	    says "$1"
}
from_pipe()
{
	"$blocks" make src 256k && mkfifo pipe && { cat src >pipe & } && passes "$@"
}
it "counts on from copying to verifying" eval \
    'ln -s src pipe && passes "^pardd: 131 of 262 kB, 75 %, .*, verifying .2 of 2.$"'
it "... and has a total even of what came by a pipe" from_pipe '^pardd: 131 of 262 kB, 50 %, .*, verifying$'
stalled()
{
	"$blocks" make src 256k || return
	{ head -c 131072; until_told 1 ' 0 B/s, .* unknown, copying$'; cat; } <src |
	    exits 0 "$pardd" of=dst bs=512 count=512 bpt=64 thr=1 progress=1 || return
	says '^pardd: 131 of 262 kB, 50 %, 0 B/s, mean .*, time left unknown, copying$'
}
[[ $VARIANT != plain ]] || it "does not know the time left while nothing goes on" stalled
# hangs RULE ERR OPERANDS...: until the message has come
hangs()
{
	"$blocks" make src 256k && "$blocks" make dst 256k 1 || return
	[[ $* != *compare=1* ]] || cp src dst || return
	rules="$1 until=$PWD/go"
	until_told 1 "$2" &
	copies 0 progress=1 "${@:3}" && says "$2" && complete
}
waits_for()
{
	mkfifo p && "$blocks" make src 256k || return
	{ head -c 32768; until_told 1 "no answer|$1"; cat; } <src >p &
	exits 0 "$pardd" if=p of=dst bs=512 bpt=64 progress=1 && says "$1" && same src dst
}
# Every piece takes longer than usual, but there are answers.
slow_but_well()
{
	for _ in 1 2 3 4 5; do	# a busy machine may be slow, too
		slow 256k 600 && copies 0 progress=1 || return
		does_not_say 'no answer' && return
	done
	return 1
}
asked_while_stalled()
{
	"$blocks" make src 256k || return
	FAULTS="on=$PWD/src op=read at=32768+ until=$PWD/go" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst bs=512 bpt=64 thr=1 json=json control=ask 2>err &
	until_true 20 grep -Eqs '"stalled":\{"on":"source","seconds":([3-9]|[1-9][0-9])' json &&
	    pid=$(sed -n 's/^pid //p' how) && kill -USR1 "$pid" &&
	    until_true 20 grep -Eq '^pardd: no answer from src for ([3-9]|[1-9][0-9]) s$' err || return
	! command -v socat || until_true 20 asks ' stopping=0 stalled=source stalled_seconds=([3-9]|[1-9][0-9])$' ||
	    return
	kill -TERM "$pid" && noticed && kill -USR1 "$pid" &&
	    until_true 20 grep -Eq '^pardd: no answer from src for ([3-9]|[1-9][0-9]) s; stopping$' err &&
	    until_true 20 grep -qs '"stopping":true' json && touch go || return
	wait $!
	ended signal 15
}
asks()
{
	echo status | socat -t 5 - UNIX-CONNECT:ask | grep -Eq -e "$1"
}
patience()
{
	aside hangs 'on=src op=read at=32768+' \
	    '^pardd: 33 of 262 kB, 12 %, 0:[0-9]{2}, no answer from src for ([3-9]|[1-9][0-9]) s, copying$' &&
	    aside hangs 'on=dst op=write at=32768+' \
	    '^pardd: 33 of 262 kB, 12 %, 0:[0-9]{2}, no answer from dst for ([3-9]|[1-9][0-9]) s, copying$' &&
	    aside hangs 'on=dst op=read' \
	    '^pardd: 0 B of 262 kB, 50 %, 0:[0-9]{2}, no answer from dst for ([3-9]|[1-9][0-9]) s, verifying .2 of 2.$' verify=1 &&
	    aside hangs 'on=dst op=read at=32768+' \
	    '^pardd: 33 of 262 kB, .*, no answer from dst for ([3-9]|[1-9][0-9]) s, comparing$' compare=1 &&
	    aside hangs 'on=dst op=flush' \
	    '^pardd: 262 of 262 kB, 100 %, 0:[0-9]{2}, flushing dst for ([3-9]|[1-9][0-9]) s$' &&
	    aside waits_for '^pardd: 33 kB, 0:[0-9]{2}, waiting for p for ([3-9]|[1-9][0-9]) s, copying$' &&
	    aside asked_while_stalled && aside slow_but_well && all_well
}
it "names who does not answer, with the seconds, and nobody who is only slow" patience
flushing()
{
	"$blocks" make src 64k && touch dst || return
	rules="on=$PWD/dst op=flush until=$PWD/go"
	until_told 1 'flushing$' &
	copies 0 progress=1 && says '^pardd: 66 of 66 kB, 100 %, 0:0[0-9], flushing$'
}
it "says that it is flushing" flushing
titled()
{
	"$blocks" make src 4M && touch dst || return
	rules="on=$PWD/dst op=flush until=$PWD/go"
	FAULTS=$rules LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst 2>err &
	until_true 20 entitled 'pardd: src to dst 100 %' && touch go || return
	wait $!
	ended exit 0
}
entitled()
{
	pid=$(sed -n 's/^pid //p' how) && grep -qsaz "^$1" "/proc/${pid:-0}/cmdline"
}
it "shows in ps(1) which copy it is, and how far" titled
# The last block of 1024 is missing.
not_quite()
{
	"$blocks" make src 4M && touch dst || return
	FAULTS="on=$PWD/dst op=write at=4190208+ until=$PWD/go" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst bs=4k bpt=1 2>err &
	until_true 20 entitled 'pardd: src to dst 99 %' && touch go || return
	wait $!
	ended exit 0
}
it "... where nearly all is done, too" not_quite
padded()
{
	head -c 1000 /dev/zero >src && touch dst || return
	rules="on=$PWD/dst op=flush until=$PWD/go"
	until_told 1 'flushing$' &
	copies 0 conv=sync progress=1 && says '^pardd: 1\.[05] of 1\.[05] kB, 100 %, 0:0[0-9], flushing$'
}
it "never passes 100 %" padded
# Of 1 MiB three quarters were there before, a part is outside of the domain, and
# the rest comes at 80 kB/s, until there is a line.
resumed()
{
	slow 1M 400 && cp src dst && printf '0 + 1\n0 0xC0000 +\n0xC0000 0x40000 ?\n' >map &&
	    printf '0 + 1\n0 0xF0000 +\n0xF0000 0x10000 -\n' >domain && copies 0 map=map domain=domain "$@"
}
counted_on()
{
	local si percent mean
	until_told 1 '^pardd: .* copying$' &
	resumed progress=1 && grep '^pardd: .* copying$' err >lines || return
	IFS=', ' read -r _ si _ _ _ percent _ _ _ _ mean _ <lines
	((${si%.*} >= 786 && percent >= 80 && percent < 100 && ${mean%.*} < 100)) || fail "$(<lines)" || return
	! head -n 1 lines | grep '0:00 left'
}
it "counts what was there of a rescue that goes on, but not for the rates" counted_on
asked()
{
	slow 1M 400 && cp src dst && printf '0 + 1\n0 0xC0000 +\n0xC0000 0x40000 ?\n' >map &&
	    { FAULTS=$rules LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of=dst bs=512 \
	    bpt=64 thr=1 map=map json=json 2>err & } && until_true 20 grep -qs progress json &&
	    kill -USR1 "$(awk '$1 == "pid" { print $2 }' how)" && until_told 1 'counting earlier runs' && wait %% && ended exit 0 &&
	    says '^pardd: [789][0-9]* of 1048576 bytes are finished, counting earlier runs' &&
	    says '^[0-9]{1,6} bytes .*copied' || return
	! command -v jq || jq -es '[.[] | select(.event == "progress")][0] |
	    .bytes_finished >= 786432 and .bytes_finished + .bytes_left == 1048576 and
	    .bytes_written < 262144' json >/dev/null
}
it "tells to who asks, and in json=, what runs before have done" asked
it "takes no interval that is none" usage progress=some if=src of=dst progress=some

# ---------------------------------------------------------------- on a terminal

# screen COLUMNS OPERANDS...: pardd in a terminal of its own, ended by "over"
screen()
{
	local columns=$1
	shift
	export TMUX_TMPDIR=$PWD
	cat >script <<-EOT
	cd "$PWD"
	trap : INT
	FAULTS='$rules' LD_PRELOAD=$shim "$pardd" ${ends:-if=src of=dst} bs=512 bpt=64 thr=1 $*
	echo over \$?
	sleep 60
	EOT
	undo env TMUX_TMPDIR="$PWD" tmux -L pardd kill-server
	env -u TMUX SHELL=/bin/sh tmux -L pardd -f /dev/null new-session -d -x "$columns" -y 20 "sh ./script"
}
shown()
{
	tmux -L pardd capture-pane -p
}
# shows REGEX: within some seconds
appears()
{
	shown | grep -Eq -e "$1"
}
shows()
{
	until_true 20 appears "$1" || { shown; return 1; }
}
wide()
{
	slow 1M 300 && screen 80 || return
	shows '^src to dst: [0-9]+ kB of 1\.0 MB, [0-9]+ %, [0-9.]+ k?B/s, 0:[0-9]+, 0:[0-9]+ left, copying$' &&
	    touch go && shows '^over 0$' &&
	    shows '^src to dst: 1\.0 of 1\.0 MB, 100 %, mean [0-9.]+ [kM]?B/s, 0:[0-9]+$' && shows '^pardd: complete, flushed$' &&
	    ! appears copying
}
narrow()
{
	slow 2M 500 'at=512+1024 fail=EIO' && screen 40 coe=1 || return
	shows '^[0-9]+ kB, [0-9]+ %, .*1\.0 kB unreadable$' && ! appears 'mean' || return
	shown | awk 'length > 40 && !/^pardd:/ { exit 1 }'
}
# names COLUMNS IF OF REGEX
named()
{
	"$blocks" make src 1M && mkdir -p "${2%/*}" && ln src "$2" || return
	rules="on=$PWD/src op=read at=32768+ sleep=300 until=$PWD/go"
	ends="if=$2 of=$3"
	screen "$1" && shows "$4" || return
	! shown | awk -v most="$1" 'length >= most' | grep . || fail 'the line is too long'
}
# On a stalled copy: what is there in so many columns.
stalled_on()
{
	"$blocks" make src 1M && rules="on=$PWD/src op=read at=32768+ until=$PWD/go" && screen "$1" && shows "$2"
}
stalled_shown()
{
	aside stalled_on 80 \
	    '^src to dst: 33 kB of 1.0 MB, 3 %, 0:[0-9]+, no answer from src for [0-9]+ s, copying$' &&
	    aside stalled_on 40 '^(33 kB, )?3 %, no answer from src for [0-9]+ s$' &&
	    aside stalled_on 20 '^no answer for [0-9]+ s$' && all_well
}
tiny()
{
	slow 2M 500 && screen 8 || return
	shows '^[0-9]+ %$'
}
mapped()
{
	slow 2M 300 'at=512+1024 fail=EIO' && screen 120 coe=1 status=map || return
	shows '^-[+]*>+[?]+$' && shows '^src to dst: .*unreadable, copying$' && [[ $(shown | grep -c '[?]') = 1 ]] &&
	    touch go && shows '^over 100$' && ! appears '[?][?]' && shows '^src to dst: .*100 %'
}
resized()
{
	slow 4M 300 && screen 100 && shows '^src to dst: .*mean .*copying$' || return
	tmux -L pardd resize-window -x 50 -y 20 && shows '^[0-9]+ kB (of 4.2 MB)?, [0-9]+ %, [^m]* left(, copying)?$' &&
	    tmux -L pardd resize-window -x 100 -y 20 && shows '^src to dst: [0-9]+ kB of 4.2 MB, .* mean .*copying$'
}
short_copy()
{
	"$blocks" make src 64k && rules= && screen 80 || return
	shows '^over 0$' && ! appears '%'
}
no_line()
{
	slow 256k 300 && screen 80 "$@" || return
	shows '^over 0$' && ! appears '%'
}
interrupted()
{
	slow 4M 300 && screen 80 || return
	shows 'copying$' && tmux -L pardd send-keys C-c && shows '^pardd: NOT complete: stopped by SIGINT' &&
	    ! shown | grep -E 'copying.+pardd|pardd:.*copying'
}
twice()
{
	(($(shown | grep -Ec -e "$1") >= 2))
}
below()
{
	slow 2M 500 && screen 80 progress=1 status=noxfer || return
	until_true 20 twice '^pardd: [0-9]+ kB of 2.1 MB, .*copying$' && touch go && shows '^over 0$'
}
# What to do now is for who sits there.  at_terminal OPERANDS...
at_terminal()
{
	script -qec "$(printf '%q ' "$pardd" "$@")" shown >/dev/null
	tr -d '\r' <shown >err
}
what_now()
{
	"$blocks" make disk 8M && loop disk && at_terminal if="$dev" of=sda.img &&
	    says '^pardd: to see the files in it: losetup -r -f -P --show sda\.img, and mount -o ro its partitions$' &&
	    exits 0 "$pardd" if="$dev" of=sda.img && does_not_say 'to see' &&
	    at_terminal if="$dev" of=part.img count=9 && does_not_say 'to see' &&
	    at_terminal if="$dev" of=b.img map=map maxtime=1 rate=1M && does_not_say 'to see'
}
lost()
{
	"$blocks" make src 1M && with_faults 'on=src op=read at=512000+512 fail=EIO' at_terminal if=src of=dst &&
	    says '^pardd: everything before block 1000 is in place; add map=FILE to rescue the rest, or coe=1 for zeros there$' &&
	    mkfifo pipe && { cat pipe >/dev/null & } &&
	    with_faults 'on=src op=read at=512000+512 fail=EIO' at_terminal if=src of=pipe && wait &&
	    says '^pardd: everything before block 1000 is in place; add coe=1 for zeros there$' &&
	    exits 0 "$pardd" if=src of=. manifest=m &&
	    with_faults 'on=src op=read at=512000+512 fail=EIO' at_terminal if=src manifest=m check=1 &&
	    says 'NOT complete: src: ' && does_not_say 'coe=1' && does_not_say 'in place'
}
# Bad news is red for who sits there.  coloured VARIABLE=VALUE... -- OPERANDS...
coloured()
{
	local set=()
	for (( ; $# > 0; )); do
		[[ $1 != -- ]] || { shift; break; }
		set+=("$1")
		shift
	done
	env -u NO_COLOR TERM=xterm "${set[@]}" script -qec "$(printf '%q ' "$pardd" "$@")" shown >/dev/null
	grep -q $'\e\\[[0-9]' shown
}
colours()
{
	local red=$'\e[1;31mpardd:\e[m' way
	"$blocks" make src 1M && coloured -- if=src of=no/x && grep -qF "$red no/x: there is no directory no" shown &&
	    ! coloured -- if=src of=dst && coloured -- if=src of=dst skip=2 count=9999 &&
	    with_faults 'on=src op=read at=512000+512 fail=EIO' coloured -- if=src of=dst coe=1 engine=threads &&
	    grep -qF "$red src: unreadable: bytes 512000" shown && grep -qF "$red NOT complete" shown &&
	    ! grep -q $'\e.*records' shown || return
	for way in NO_COLOR=1 TERM=dumb TERM=; do
		! coloured $way -- if=src of=no/x && grep -q '^pardd: no/x' shown || fail "$way" || return
	done
	for way in status=noxfer json=run.json; do
		! coloured -- if=src of=no/x $way && grep -q '^pardd: no/x' shown || fail "$way" || return
	done
	coloured NO_COLOR= -- if=src of=no/x && ! env -u NO_COLOR TERM=xterm "$pardd" if=src of=no/x 2>err &&
	    says '^pardd: no/x: there'
}
in_the_plan()
{
	"$blocks" make src 1M && "$blocks" make dst 4M && mke2fs -q -F dst 4M && loop dst &&
	    env -u NO_COLOR TERM=xterm "$pardd" if=src of="$dev" -d >page && ! grep -q $'\e' page &&
	    coloured -- if=src of="$dev" -d && grep -qF $'\e[1;31mWILL BE LOST:\e[m ' shown &&
	    tr -d '\r' <shown | sed -e '/^Script/d; $d' -e $'s/\e\\[[0-9;]*m//g' | grep . | diff - <(grep . page)
}
[[ $VARIANT != plain ]] || given 'command -v script' "no script(1)" \
    it "is red on a terminal, with NO_COLOR, status= or json= nowhere" colours
[[ $VARIANT != plain ]] || given 'can_loop && command -v script mke2fs' "no loop devices, script(1) or mke2fs" \
    it "has what is to be lost in red there, and the same page" in_the_plan
[[ $VARIANT != plain ]] || given 'command -v script' "no script(1)" \
    it "says there what to do about a block that cannot be read" lost
if [[ $VARIANT = plain ]] && can_loop && command -v script >/dev/null; then
	it "says on a terminal what can be done now, and only there" what_now
fi
if [[ $VARIANT != plain ]]; then
	:					# once is enough
elif able 'command -v tmux' "no tmux"; then
	it "draws a line on a terminal, and leaves its last state" wide
	it "leaves out what matters least where the terminal is narrow" narrow
	it "keeps the part of the whole longest" tiny
	it "has all where there is room" named 200 in/disk.img ./out \
	    '^in/disk.img to ./out: [0-9]+ kB of 1.0 MB, [0-9]+ %, .*, mean .*, 0:[0-9]+, 0:[0-9]+ left, copying$'
	it "has the last part of long names" named 120 in/a/folder/with/a/long/name/disk.img ./out \
	    '^disk.img to ./out: [0-9]+ kB of 1.0 MB'
	it "leaves out names that are still too long" named 120 in/disk-with-a-name-that-goes-on.img \
	    ./out '^[0-9]+ kB of 1.0 MB'
	it "names who does not answer, where there is room" stalled_shown
	it "draws the map below it with status=map, and takes it away" mapped
	it "follows a terminal that is resized" resized
	it "draws none for a copy that is over at once" short_copy
	it "draws none with progress=0" no_line progress=0
	it "draws none with status=none" no_line status=none
	it "draws none with status=noxfer" no_line status=noxfer
	it "takes the line away before it tells of a signal" interrupted
	it "prints lines on a terminal if no line is to be drawn" below
fi
