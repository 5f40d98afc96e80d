#!/usr/bin/env bash
# What the system denies, memory above all: right data or a clear word, and
# never a crash, a hang or half a file.
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
it "says without memory what cannot be opened" \
    wordless 52 'nothing: No such file or directory$' if=nothing of=dst
it "says without memory what is wrong with an operand" \
    wordless 1 "bs=x: 'x' is not a number$" if=src of=dst bs=x
name=$(printf 'x%.0s' {1..2000})
it "says without memory what is wrong with a long name" \
    wordless 86 'x \[...\] : File name too long$' "if=$name" of=dst
