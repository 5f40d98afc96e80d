#!/usr/bin/env bash
# The manual and the READMEs: all that the program knows, and nothing else.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

man=$top/man/pardd.8
PATH=${pardd%/*}:$PATH

# section NAME: its lines in the manual
section()
{
	awk -v head=".Sh $1" '/^\.Sh /{ inside = $0 == head } inside' "$man"
}

# ------------------------------------------------------- operands and words

# As in "bs=" and "iflag=direct": what the table has, what the manual has.
told()
{
	"$pardd" --completion=fish |
	    sed -n "s/^complete -c pardd -a '\([^'(]*\)' -d .*/\1/p" | sort
}
written()
{
	section OPERANDS | awk '
	/^\.It Cm [0-9a-z]+ Ns = / { operand = $3 "="; print operand; next }
	/^\.It Cm / { print operand $3 }' | sort
}
told_options()
{
	"$pardd" --completion=fish |
	    sed -n -e 's/^complete -c pardd -s \(.\) -l \([^ ]*\) .*/-\1 --\2/p' \
		-e 's/^complete -c pardd -l \([^ ]*\) .*/--\1/p' | sort
}
written_options()
{
	section DESCRIPTION |
	    sed -n -e 's/^\.It Fl \(.\) , Fl \(-[^ ]*\)$/-\1 -\2/p' \
		-e 's/^\.It Fl \(-[^ ]*\)$/-\1/p' | sort
}
# none_in WHICH A B: no line that only A (1) or only B (2) prints
none_in()
{
	local lines
	[[ $("$2" | wc -l) -gt 2 && $("$3" | wc -l) -gt 2 ]] ||
	    fail "nothing to compare" || return
	lines=$(comm "-${1}3" <("$2") <("$3"))
	[[ -z $lines ]] || fail "$lines"
}
it "has every operand and word in the manual" none_in 2 told written
it "has no other operand or word there" none_in 1 told written
it "has every option in the manual" none_in 2 told_options written_options
it "has no other option there" none_in 1 told_options written_options
helped()
{
	local name
	for name in $(written); do
		[[ $name != *= ]] || "$pardd" --help | grep -q "^  $name" ||
		    fail "no $name in --help" || return
	done
}
[[ $VARIANT != plain ]] || it "has no operand that --help does not have" helped
ordered()
{
	diff <("$pardd" --help | sed -n 's/^  \([a-z]*\)=.*/\1/p') \
	    <(section OPERANDS | sed -n 's/^\.It Cm \([a-z]*\) Ns = .*/\1/p')
}
it "has the operands in the order of --help" ordered
refused_words()
{
	local word
	while read -r word; do
		section OPERANDS | grep -qw "$word" || fail "no $word" || return
	done < <(sed -n 's/^NOWORD(conv, "\(.*\)")$/\1/p' "$top/include/cli/operands.def")
}
it "names the refused conversions" refused_words

# -------------------------------------------------------------- exit statuses

statuses()
{
	local n rows
	rows=$(section 'EXIT STATUS' | grep '^\.It ')
	while read -r n; do
		case $n in
		50)	grep -q '^\.It 51 to 96$' <<<"$rows" ;;
		128)	grep -q '^\.It 128 + Ar n$' <<<"$rows" ;;
		*)	grep -qw "$n" <<<"$rows" ;;
		esac || fail "no $n" || return
	done < <(sed -n 's/^\tSTATUS_[A-Z_]* = \([0-9]*\),.*/\1/p' "$top/include/base/status.h")
}
it "has every exit status in the manual" statuses

# ------------------------------------------------------------------- examples

examples()
{
	section EXAMPLES | sed -n 's/^\.Dl //p'
}
# What needs a disk that is dying, and much time.
steps()
{
	section "A DYING DISK, STEP BY STEP" | sed -n 's/^\.Dl pardd /pardd /p'
}
readme_examples()
{
	awk '/^## /{ inside = $0 == "## Examples" }
	    /^```/{ code = !code; next }
	    inside && code' "$top/README.md"
}
# The files that the examples name: made once, for each to have its own.
made=$scratch/made
mkdir "$made"
"$blocks" make "$made/disk.img" 12M 1 && "$blocks" make "$made/old.img" 13M 2 &&
    "$blocks" make "$made/part.img" 4M 3 && "$blocks" make "$made/sda.img" 12M 4 &&
    gzip -1 -c "$made/part.img" >"$made/old.img.gz" &&
    gzip -1 -c "$made/sda.img" >"$made/sda.img.gz" &&
    "$blocks" make "$made/debian.iso" 3M 6
# ssh HOST COMMAND..., here
mkdir "$scratch/bin" && printf '%s\n' '#!/bin/sh' shift 'exec sh -c "$*"' \
    >"$scratch/bin/ssh" && chmod +x "$scratch/bin/ssh"
PATH=$scratch/bin:$PATH
# block_map: an image, packed, and its block map
block_map()
{
	local sum
	sum=$(sha256sum <"$made/part.img" | cut -d ' ' -f 1)
	gzip -1 -c "$made/part.img" >core-image.wic.gz && cat >map <<-EOT || return
		<bmap version="2.0"><ImageSize>4194304</ImageSize><BlockSize>4096</BlockSize>
		<BlocksCount>1024</BlocksCount><MappedBlocksCount>1024</MappedBlocksCount>
		<ChecksumType>sha256</ChecksumType>
		<BmapFileChecksum>$(printf '%064d' 0)</BmapFileChecksum>
		<BlockMap><Range chksum="$sum">0-1023</Range></BlockMap></bmap>
	EOT
	sum=$(sha256sum <map | cut -d ' ' -f 1)
	sed "s/>00*</>$sum</" map >core-image.wic.bmap
}
# stuff LINE: those that it names
stuff()
{
	local name
	for name in disk.img old.img part.img sda.img old.img.gz sda.img.gz debian.iso; do
		[[ $1 != *"$name"* ]] || cp "$made/$name" . || return
	done
	[[ $1 != *core-image* ]] || block_map || return
	[[ $1 != *rbd:* ]] || { ceph && mkdir backup && cp "$made/disk.img" backup/laptop &&
	    cp "$made/sda.img" backup/laptop@monday; } || return
	for name in disk old; do
		[[ $1 != *"$name.manifest"* ]] ||
		    "$pardd" if="$made/$name.img" of=. manifest=$name.manifest status=none || return
	done
	[[ ! $1 =~ domain=([a-z]+).map ]] || { : >"${BASH_REMATCH[1]}.img" &&
	    printf '%s\n' '0 + 1' '0 0x1000 -' >"${BASH_REMATCH[1]}.map"; }
}
# table DISK: two partitions
table()
{
	printf '%s\n' 'label: gpt' size=4M size=4M | sfdisk -q "$1"
}
# example LINE: it ends 0; its disks are loop devices
example()
{
	local line=$1 name
	stuff "$line" || return
	for name in sda sdb sdc sdd; do
		[[ $line = *"/dev/$name"* ]] || continue
		"$blocks" make "$name" 12M 5 || return
		[[ $line != *part=* ]] || table "$name" || return
		loop "$name" || return
		line=${line//"/dev/$name"/"$dev"}
	done
	exits 0 bash -o pipefail -c "$line" || return
	[[ -s out && $line = *' -d' || $line = *--dry-run* ]] || complete
}
loops=
! can_loop || loops=1
run_examples()
{
	local line
	while read -r line; do
		if [[ $line = *rbd:* ]] && ! can_rbd; then
			skip "built without librbd" "$1: $line"
		elif [[ $line != */dev/sd* || -n $loops ]]; then
			it "$1: $line" example "$line"
		else
			skip "no loop devices" "$1: $line"
		fi
	done
}
[[ $VARIANT != tsan ]] || exit 0		# other files have all that they do
run_examples "runs the manual's" < <(examples)
[[ $VARIANT = plain ]] || exit 0		# all else is about words
run_examples "runs the README's" < <(readme_examples)
enough()
{
	(($(examples | wc -l) >= 10)) && (($(readme_examples | wc -l) >= 5)) &&
	    (($(steps | wc -l) >= 5))
}
it "has found examples in both, and the steps of a rescue" enough

# parses LINE: it is no usage error; disks are files, and nothing is written
parses()
{
	local line=${1//\/dev\/}
	stuff "$1" && "$blocks" make sda 12M 5 && "$blocks" make sdb 12M 5 || return
	[[ $line != *part=* ]] || { table sda && table sdb; } || return
	line=${line#*| } line=${line%%[|>]*}
	run bash -c "${line/pardd/pardd -d} </dev/null"
	[[ $status != 1 && $status != 127 ]] || fail "$line: $(<err)"
}
while read -r line; do		# those that were not run
	[[ $line != */dev/sd* || -n $loops ]] ||
	    it "knows the operands of: $line" parses "$line"
done < <(examples; readme_examples)
# step LINE: the same of an image, which takes no SCSI commands
step()
{
	local line=${1//\/dev\/}
	stuff "$1" && "$blocks" make sda 12M 5 && "$blocks" make sdb 12M 5 || return
	run bash -c "${line/ iflag=sgio} -d </dev/null"
	[[ $status = 0 || $status = 101 ]] || fail "$status: $line: $(<err)"
}
while read -r line; do
	it "knows the operands of: $line" step "$line"
done < <(steps)

# ------------------------------------------------------------------- the form

if command -v mandoc >/dev/null; then
	it "is clean to mandoc" mandoc -Tlint -W warning "$top"/man/*.[58]
else
	skip "no mandoc" "is clean to mandoc"
fi
links()
{
	local link
	for link in $(grep -o '](\([^)#:]*\))' "$top/README.md" | tr -d '()]'); do
		[[ -e $top/$link ]] || fail "there is no $link" || return
	done
}
it "links only to what is there" links
