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
