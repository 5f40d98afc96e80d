#!/usr/bin/env bash
# Files of a FUSE server that breaks the rules.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

lying=$tools/lying size=3000001 seed=${SEED:-$RANDOM}
only plain			# nothing here is about threads or memory

# lies WORD...: the file it is that of such a server, which has the file behind
lies()
{
	: >it
	undo umount -l "$PWD/it"
	"$lying" behind it "$@"
}
can_lie()
{
	((EUID == 0)) && cd "$scratch" && echo >behind && lies && [[ -s it ]]
}
(can_lie) >/dev/null 2>&1
lied=$?
release
((lied == 0)) || needs false -- "no FUSE"

# reads STATUS BYTES WORD...: reading such a file ends so
reads()
{
	"$blocks" make behind $size && lies "${@:3}" && exits "$1" "$pardd" if=it of=dst &&
	    holds dst 0 0 "$2" && size_is dst "$2"
}
it "reads a file to its end where its server says that it is shorter" \
    reads 0 $size direct size=1000
it "... and a byte longer than that" reads 0 $size direct size=$((size - 1))
it "tells that a file ends before its server says so" \
    reads 102 $size direct size=$((size + 1))

# writes STATUS REGEX WORD...: over a file that is there
writes()
{
	"$blocks" make src $size && "$blocks" make behind $size 9 && lies "${@:3}" || return
	exits "$1" "$pardd" if=src of=it && says "$2" || return
	((status == 0)) || ! grep -q '^pardd: complete' err
}
it "writes to a file that a server writes back" writes 0 'complete, flushed' back
it "tells that a server has not flushed a file" \
    writes 103 'flushing: Input/output error' sync:1:5
it "tells that a server has no room when the file is closed" \
    writes 103 'closing: Disk quota exceeded' close:1+:122
it "tells that one write of all that are made later has failed" \
    writes 78 'it: .*: No space left' back write:3:28
it "tells that a server does not know the file any more" \
    writes 15 'it, at the end: Stale file handle' look:1+:116
# apart WORD...: over a file that its server flushes one open file at a time
apart()
{
	"$blocks" make src $size && "$blocks" make behind $size 9 && lies apart || return
	exits 0 "$pardd" if=src of=it "$@" && complete && holds behind 0 0 $size
}
it "flushes a file by each descriptor that has written to it" apart oflag=direct
it "... when it is written through the page cache" apart
it "... while the map is saved" apart oflag=direct map=map

# samples STATUS BYTES WORD...: a copy of so many MiB onto a device that does so
samples()
{
	local status=$1 mib=$2
	shift 2
	head -c "${mib}M" /dev/urandom >src && rm -f behind && truncate -s "${mib}M" behind && lies direct "$@" &&
	    exits "$status" "$pardd" if=src of=it conv=notrunc verify=sample
}
healthy()
{
	samples 0 "$1" && says '^pardd: complete, flushed, sampled$' && cmp src behind
}
wraps()
{
	samples 14 64 wrap=$(($1 << 20)) && says "reads back what belongs .* behind: a counterfeit or worn-out device$"
}
drops()
{
	samples 14 64 drop=$(($1 << 20)) && says 'NOT complete: .* of it are not what was written there$'
}
it "verify=sample calls a healthy device sampled, never verified" healthy 64
it "... and one that is read as a whole" healthy 3
# less_than N: no more than so many reads are needed to sample 64 MiB: a later one would fail
less_than()
{
	samples 0 64 read:"$1"+:5 && cmp src behind
}
it "... in 128 reads" less_than 129
# a page of 8 MiB, which is as much as the places have, is not kept
one_page()
{
	local at=$((seed % 512 << 14))
	samples 14 8 drop=$((at == 0 ? 1 : at)) until=$((at + 16384))
}
it "verify=sample reads a small copy as a whole, from SEED=$seed" one_page
# half of a file that is all there is in a file system is not kept
nearly_empty()
{
	local first last
	truncate -s 2G img && mkfs.ext4 -q -F -E lazy_itable_init=0 -b 4096 -O ^has_journal -N 128 img &&
	    head -c 24M /dev/urandom >big && debugfs -w -R 'write big big' img >/dev/null 2>&1 || return
	read -r first last <<<"$(debugfs -R 'blocks big' img 2>/dev/null | awk '{ print $1, $NF }')"
	rm -f behind && truncate -s 2G behind &&
	    lies direct drop=$(((first + last) / 8 << 14)) until=$((last << 12)) &&
	    exits 14 "$pardd" if=img of=it conv=notrunc used=only verify=sample
}
it "... and places of what is copied, not of what is left out" nearly_empty
it "... and an empty copy" healthy 0
it "verify=sample finds a device that begins again at a half" wraps 32
it "... and after 63 of 64" wraps 63
it "... and at a sixteenth" wraps 4
it "verify=sample finds a device that keeps no more than a half" drops 32
it "... or all but the last 64th" drops 63
told_of_samples()
{
	head -c 64M /dev/urandom >src && rm -f behind && truncate -s 64M behind && lies direct wrap=33554432 &&
	    exits 14 "$pardd" if=src of=it conv=notrunc verify=sample json=j &&
	    jq -e 'select(.event == "result") | .verified == false and (.mismatch | length) > 0' j
}
it "has it in JSON" told_of_samples
# kinds MIB SEED: the words of sticks that are not what they pretend to be, a kind on each line
kinds()
{
	local n=$(($1 << 20)) i at
	RANDOM=$2		# each subshell has its own
	for i in 2 3 16; do
		echo "wrap=$((n / i >> 14 << 14))"
		echo "drop=$((n / i >> 14 << 14))"
		echo "alias=$((1 << 14 << (i * 10 / 17)))"
		echo "decay=$((i < 16 ? i : 8)):$RANDOM"
	done
	echo "wrap=$((n * 63 / 64))"
	echo "drop=$((n * 63 / 64))"
	# what was written last is in its memory; a part of it does not work
	for i in 4 16; do
		echo "drop=$((n / 2)) until=$((n - n / i))"
	done
	for i in 2 4 8; do
		at=$(((RANDOM << 15 | RANDOM) % (n * (i - 1) / i / 16384)))
		echo "drop=$((at + 1 << 14)) until=$((at + n / 16384 / i << 14))"
	done
	echo "alias=$((1 << 14 | n / 4))"
	echo "wrap=$((n / 2)) decay=4:$RANDOM"
	echo "drop=$((n * 4 / 5 >> 14 << 14)) alias=$((1 << 20))"
}
# many_sticks N: of N sticks hardly one is not found, and no good one is called bad
many_sticks()
{
	local mib=16 tried=0 missed=0 words
	head -c "${mib}M" /dev/urandom >src && head -c "${mib}M" /dev/urandom >old || return
	while ((tried < $1)); do
		while read -ra words; do
			tried=$((tried + 1))
			cp old behind && : >it && "$lying" behind it direct "${words[@]}" || return
			run "$pardd" if=src of=it conv=notrunc verify=sample bs=16k bpt=1
			((status == 14)) || echo "status $status: ${words[*]}"
			((status == 14 || status == 0)) || fail "$(<err)" || return
			missed=$((missed + (status == 0)))
			umount -l it || return
		done < <(kinds $mib $((seed + tried)))
		cp old behind && : >it && "$lying" behind it direct && exits 0 "$pardd" if=src of=it conv=notrunc verify=sample \
		    bs=16k bpt=1 && umount -l it && cmp src behind || return
	done
	echo "$missed of $tried bad ones were not found"
	((missed * 100 <= tried + 100))
}
many=40
[[ -z $LONG ]] || many=1000
it "verify=sample finds sticks of many kinds, from SEED=$seed" many_sticks "${MANY:-$many}"
