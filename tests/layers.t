#!/usr/bin/env bash
# Which directory may use which: the layers of src/README.md, lowest first.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# once is enough

# The directories in the order of src/README.md.
floors=$(sed -n 's,^    \([a-z]*\)/ .*,\1,p' "$top/src/README.md" | tr '\n' ' ')

named()
{
	diff <(tr ' ' '\n' <<<"$floors" | grep . | sort) <(cd "$top/src" && printf '%s\n' */ | tr -d / | sort)
}
it "lists every directory in src/README.md, and no other" named
# At the top lies what is given, and nothing that a run by hand has left there.
top_level()
{
	local given='LICENSE Makefile NEWS README.md configure include man packaging src tests'
	[[ $(git -C "$top" ls-tree --name-only HEAD | grep -v '^\.' | sort | paste -sd ' ') = \
	    "$(tr ' ' '\n' <<<"$given" | sort | paste -sd ' ')" ]]
}
given 'git -C "$top" ls-files --error-unmatch configure' "no git checkout" \
    it "has at the top what is given, and nothing else" top_level

# What a file includes of another directory lies below it, or in it.
includes()
{
	! (cd "$top" && grep -rnoE '^#include "[a-z]+/' src/*/ include/*/) | awk -F '[/:"]' -v floors="$floors" '
	BEGIN { n = split(floors, f, " "); for (i = 1; i <= n; i++) at[f[i]] = i }
	!($2 in at) || !($(NF - 1) in at) || at[$(NF - 1)] > at[$2]' | grep .
}
it "includes nothing from a directory above" includes

# What only its own directory needs lies next to its .c.
shared()
{
	local header
	(cd "$top" && for header in include/*/*; do
		header=${header#include/}
		grep -rlF "\"$header\"" src include tests packaging --include='*.[ch]' |
		    grep -vq "^src/${header%/*}/" || fail "only ${header%/*} includes $header" || exit
	done)
}
it "shares no header that only its own directory needs" shared

# Each lock has its place in the order.
locks()
{
	diff <(cd "$top" && grep -rhoE '^[[:space:]]+pthread_mutex_t[[:space:]]+[a-z]+;' src include | grep -oE '[a-z]+;' |
	    tr -d ';' | sort) \
	    <(sed -nE 's/^\| (leaf|[0-9]+) \|([^|]*)\|.*/\2/p' "$top/src/README.md" | grep -oE '\.[a-z]+`' | tr -d '.`' | sort)
}
it "lists every lock in src/README.md, and no other" locks

# The same of what it calls, whatever it has declared; and no loop within.
symbols()
{
	local sources
	sources=$(cd "$top/src" && printf '%s\n' */*.c)
	# shellcheck disable=SC2086
	(cd "$BUILD/src" && nm -A ${sources//.c/.o}) |
	    sed -nE 's,^([a-z]+)/([a-z_0-9]+)\.o:[0-9a-f ]*([A-Z]) ([a-z_0-9]+)$,\1 \2 \3 \4,p'
}
calls()
{
	symbols >table
	awk -v floors="$floors" '
	BEGIN { n = split(floors, f, " "); for (i = 1; i <= n; i++) at[f[i]] = i }
	NR == FNR && $3 != "U" { folder[$4] = $1; file[$4] = $1 "/" $2; next }
	NR != FNR && $3 == "U" && $4 in file && file[$4] != $1 "/" $2 {
		if (at[folder[$4]] > at[$1]) {
			print $1 "/" $2 " calls " $4 " of " file[$4]
			bad = 1
		}
		print $1 "/" $2, file[$4] >"uses"
	}
	END { exit bad }' table table
}
it "calls nothing in a directory above" calls
loops()
{
	calls >/dev/null
	[[ -s uses ]] && tsort uses >/dev/null
}
it "has no files that call each other in a circle" loops

# What other files may call: no more than at the last count.
callable()
{
	local n
	n=$(symbols | grep -c ' T ')
	((n > 0 && n <= 933)) || fail "$n functions are not static"
}
it "has no more functions that are not static" callable

# An end is reached by endpoint.h and lane.h, whatever it is.
seam()
{
	local folders backends
	folders=$(cd "$top/src" && printf '%s\n' */ | grep -vxE '(end|scsi|nvme|net|file|open)/')
	backends=$(cd "$top/src" && sed -nE 's/^const struct backend ([a-z_]+) = .*/\1/p' ./*/*.c |
	    sort -u | paste -sd '|')
	[[ $backends = *file_backend* ]] || fail "no backend is found" || return
	# shellcheck disable=SC2086
	! (cd "$top/src" && grep -rnE -e '->be\>' -e "\<($backends)\>" main.c $folders)
}
it "asks no end what it is" seam
# ... nor its kind, but for what has no contents; confinement asks what the kernel must allow for each.
kinds()
{
	! (cd "$top/src" && grep -rnE -A 1 '(->|\.)kind [!=]=' --include='*.c' -- */) |
	    grep -vE '^(end|scsi|nvme|net|file|open)/|^plan/confine' |
	    grep -oE '^.*\<END_[A-Z]+' | grep -vE 'END_(DISCARD|ZEROS)$'
}
it "... nor of what kind it is" kinds
