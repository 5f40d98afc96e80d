#!/usr/bin/env bash
# The manual and the READMEs describe everything the program knows, and nothing else.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

PATH=${pardd%/*}:$PATH

# section NAME [PAGE]: its lines in the manual
section()
{
	local pages=("$top"/man/*.[78])
	[[ -z ${2:-} ]] || pages=("$top/man/$2")
	awk -v head=".Sh $1" '/^\.Sh /{ inside = $0 == head } inside' "${pages[@]}"
}

# ------------------------------------------------------- operands and words

# As in "bs=" and "iflag=direct": what the table has, what the manual has.
told()
{
	"$pardd" --completion=fish | sed -n "s/^complete -c pardd -a '\([^'(]*\)' -d .*/\1/p" | sort
}
# A list of words may stand below more than one operand.
written()
{
	section OPERANDS | awk '
	/^\.It Cm [0-9a-z]+ Ns = / {
		if (!heads) delete operand
		operand[heads++] = $3 "="; print $3 "="; next }
	{ if (!/^\.It/) heads = 0 }
	/^\.It Cm / { for (i in operand) print operand[i] $3 }' | sort -u
}
told_options()
{
	"$pardd" --completion=fish | sed -n -e 's/^complete -c pardd -s \(.\) -l \([^ ]*\) .*/-\1 --\2/p' \
		-e 's/^complete -c pardd -l \([^ ]*\) .*/--\1/p' | sort
}
written_options()
{
	section DESCRIPTION pardd.8 | sed -n -e 's/^\.It Fl \(.\) , Fl \(-[^ ]*\)\( Op .*\)*$/-\1 -\2/p' \
		-e 's/^\.It Fl \(-[^ ]*\)$/-\1/p' | sort
}
# none_in WHICH A B: no line that only A (1) or only B (2) prints
none_in()
{
	local lines
	[[ $("$2" | wc -l) -gt 2 && $("$3" | wc -l) -gt 2 ]] || fail "nothing to compare" || return
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
		[[ $name != *= ]] || "$pardd" --help all | grep -q "^  $name" ||
		    fail "no $name in --help all" || return
	done
}
[[ $VARIANT != plain ]] || it "has no operand that --help does not have" helped
# Groups have the same names on each page, and each operand is in one of them, on one
# page.
ordered()
{
	diff <("$pardd" --help all | awk '/^[A-Z]/{ print } /^  [a-z0-9]+=/{ sub(/=.*/, "="); print $1 } /^  -/{ exit }') \
	    <("$pardd" --help all | awk '/^[A-Z]/{ print } /^  -/{ exit }' | while IFS= read -r group; do
		echo "$group"
		for page in "$top"/man/pardd{,-rescue,-ends}.[78]; do
			section OPERANDS "${page##*/}" | awk -v head=".Ss $group" '/^\.S[hs] /{ inside = $0 == head }
			    inside && /^\.It Cm [0-9a-z]+ Ns = / && !seen[$3]++ { print $3 "=" }'
		done | awk '!seen[$0]++'
	done)
}
it "has the operands in the groups and the order of --help" ordered
refused_words()
{
	local word
	while read -r word; do
		section OPERANDS pardd.8 | grep -qw "$word" || fail "no $word" || return
	done < <(sed -n 's/^NOWORD(conv, "\(.*\)")$/\1/p' "$top/include/cli/operands.def")
}
it "names the refused conversions" refused_words

# -------------------------------------------------------------- exit statuses

statuses()
{
	local n rows seen=0
	rows=$(section 'EXIT STATUS' pardd.8 | grep '^\.It ')
	while read -r n; do
		((++seen))
		case $n in
		50)	grep -q '^\.It 51 to 96$' <<<"$rows" ;;
		128)	grep -q '^\.It 128 + Ar n$' <<<"$rows" ;;
		*)	grep -qw "$n" <<<"$rows" ;;
		esac || fail "no $n" || return
	done < <(sed -n 's/^STATUS([A-Z_]*, \([0-9]*\),.*/\1/p' "$top/include/base/statuses.def")
	((seen > 9)) || fail "only $seen"
}
it "has every exit status in the manual" statuses

# Those that stand on another page are named on the first.
others()
{
	diff <("$pardd" --help all | sed -n 's/^  \([a-z0-9]*=\).*/\1/p' | sort) \
	    <(section OPERANDS pardd.8 | awk '/^\.It Cm [0-9a-z]+ Ns = /{ print $3 "=" }
		/^\.Cm [a-z]+= /{ for (i = 2; i <= NF; i++) if ($i != ",") print $i }' | sort -u)
}
it "tells of each operand in pardd(8), if only the page that has it" others

# ------------------------------------------------------------------- the form

# A command that is folded by who shows the page is another one when it is pasted;
# what is printed may be folded.
pasted()
{
	local line odd
	mandoc -Tascii -O width=78 "$1" | col -bx | sed 's/^ *//' >shown && [[ -s shown ]] || return
	odd=$(sed -n 's/^\.Dl //p' "$1" | sed -e 's/\\(dq\|"""/"/g' -e 's/\\&//g' -e 's/\\e/\\/g' |
	    grep -vE '^(pardd|writes|[a-z]+ to [a-z]+): ' | while IFS= read -r line; do
		grep -qxF -- "$line" shown || echo "$line"
	done)
	[[ -z $odd ]] || fail "folded at 80 columns: $odd"
}
for page in "$top"/man/*; do
	given 'command -v mandoc' "no mandoc" it "has no command wider than a terminal, in ${page##*/}" pasted "$page"
done
given 'command -v mandoc' "no mandoc" it "is clean to mandoc" mandoc -Tlint -W warning "$top"/man/*
# refers PAGE: what it names is a section of that page, or of another one
refers()
{
	local there name
	while read -r there name; do
		grep -qx "\.Sh $name" "$top/man/$there" || fail "$1: no $name in $there" || return
	done < <(awk -v page="${1##*/}" '
	    /^\.(Pq )?Sx / { sub(/^\.(Pq )?Sx /, ""); sub(/ ([.,;:]|No .*)$/, ""); print page, $0 }
	    /^\.Pq [A-Z].* in Xr pardd-/ { name = $0; sub(/^\.Pq /, "", name); sub(/ in Xr .*/, "", name)
		print $(NF - 2 + ($NF ~ /^[0-9]$/)) "." $(NF - 1 + ($NF ~ /^[0-9]$/)), name }
	    /^\.Xr pardd/ && was ~ /^[A-Z_, ]+ in$/ { sub(/ in$/, "", was); print $2 "." $3, was }
	    { was = $0 }' "$1")
}
for page in "$top"/man/*; do
	it "refers to sections that there are, in ${page##*/}" refers "$page"
done
links()
{
	local file=$1 link line
	while read -r link; do
		[[ $link != *://* ]] || continue
		[[ -e ${file%/*}/${link%#*} ]] || fail "there is no $link" || return
		[[ $link = *#* ]] || continue
		line=${link#*#}
		[[ ${link%#*} = '' ]] || file=${file%/*}/${link%#*}
		grep '^#' "$file" | tr '[:upper:] ' '[:lower:]-' | tr -d ',.()`' | grep -q -- "^#*-$line$" ||
		    fail "there is no heading for $link" || return
		file=$1
	done < <(grep -o '\](\([^)]*\))' "$1" | tr -d '()]')
}
for page in "$top"/{*,.github/*,src/*,tests/*,tests/*/*}.md; do
	it "links only to what is there, in ${page#"$top"/}" links "$page"
done
