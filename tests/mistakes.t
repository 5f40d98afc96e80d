#!/usr/bin/env bash
# What people type by mistake: a command line in a row, what is said, and that the
# target is as it was.  Needs root, for a disk.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs can_loop -- "no loop devices"

# SENTENCE | STATUS | what the last line says | operands; DISK is a disk, and NAME
# that without its /dev/; `small` is a file of 1 MiB.
rows()
{
	cat <<-'EOT'
	refuses a disk without its /dev/ as a target | 101 | write DISK, or \./NAME for a file$ | if=small of=NAME
	... with -d | 101 | write DISK, or \./NAME for a file$ | -d if=small of=NAME
	... beside others | 101 | write DISK, or \./NAME for a file$ | if=small of=other of=NAME
	makes a file of that name where it is meant | 0 | complete, flushed$ | if=small of=./NAME
	refuses a target in /dev that is not there | 101 | is the name right | if=small of=/dev/no-such-disk
	refuses to read more than there is | 101 | for bytes: count=1048576B$ | if=small of=DISK count=1048576
	EOT
}

mistake()
{
	local status=$1 says=$2 line words
	"$blocks" make small 1M && "$blocks" make disk 2M 7 && cp disk was && loop disk || return
	says=${says//DISK/"$dev"} says=${says//NAME/"${dev#/dev/}"}
	line=${3//DISK/"$dev"} line=${line//NAME/"${dev#/dev/}"}
	read -ra words <<<"$line"
	exits "$status" "$pardd" "${words[@]}" && says "$says" && same disk was || return
	((status == 0)) || [[ ! -e ${dev#/dev/} && ! -e other ]]
}
while IFS='|' read -r sentence status says words; do
	says=${says# }
	it "${sentence% }" mistake $((status)) "${says% }" "$words"
done < <(rows)
