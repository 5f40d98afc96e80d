#!/usr/bin/env bash
# What holds for all sources.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# once is enough

# Sources without comments and strings, each line with its file and number.
bare()
{
	awk '
	FNR == 1 { inside = 0 }
	{
		line = $0
		gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
		gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
		if (inside) {
			if (!sub(/^.*\*\//, "", line))
				next
			inside = 0
		}
		if (sub(/\/\*.*/, "", line))
			inside = 1
		print FILENAME ":" FNR ":" line
	}' "$@"
}
without()
{
	local rule=$1 file files=()
	shift
	for file in "$top"/src/*.c "$top"/src/*/*.c; do
		[[ " $* " = *" $(basename "$file") "* ]] || files+=("$file")
	done
	! bare "${files[@]}" | grep -v '__attribute__' | grep -E "$rule"
}
it "prints in report*.c, progress.c and main.c only" \
    without '(^|[^a-z_])(stderr|stdout|perror|v?printf|puts|putchar) *(\(|[,)])' \
    report.c report_end.c report_next.c progress.c main.c
it "exits from main.c only" without '(^|[^a-z_])(exit|_exit|abort|quick_exit) *\(' main.c
it "cancels and kills no thread" without 'pthread_(cancel|kill|exit|detach) *\('
it "waits for no hour of the day, which may be set back" \
    without 'pthread_timedjoin_np|sem_timedwait|timedlock|CLOCK_REALTIME' gauge.c events.c report_file.c value.c
it "has no unbounded string function" without '(^|[^a-z_])(strcat|sprintf|vsprintf|gets|atoi|atol|strtok) *\('

# Two lines of 80, less what the names in it take.
brief()
{
	! sed -z 's/"\n[\t ]*"//g' "$top"/src/*.c "$top"/src/*/*.c |
	    grep -zEo '(fault_(set|errno)|print)\([^"]*"([^"\]|\\.){146,}"'
}
it "says no more in a message than two lines hold" brief

headed()
{
	local file
	for file in "$top"/src/*.c "$top"/src/*/*.[ch] "$top"/include/*/*.h; do
		[[ $(head -c 2 "$file") = '/*' ]] || fail "$file has no head" || return
	done
}
it "begins each file with what it is" headed
guarded()
{
	local file name
	for file in "$top"/include/*/*.h "$top"/src/*/*.h; do
		name=PARDD_$(basename "$file" .h | tr '[:lower:]' '[:upper:]')_H
		grep -q "^#ifndef $name$" "$file" || fail "$file has no guard $name" || return
	done
}
it "guards each header" guarded

# A prototype may share the comment of the block of lines it stands in.
commented()
{
	awk '
	FNR == 1 { said = 0 }
	/^\/\*/ || /^ \*/ { said = 1; next }
	/^$/ { if (!open) said = 0; next }
	/^[a-z].*\(.*/ && !/^(typedef|static|struct [a-z_]+ \{)/ {
		if (!said && !/\/\*/) {
			print FILENAME ":" FNR ": " $0
			bad = 1
		}
	}
	{ open = !/;[[:space:]]*(\/\*.*\*\/)?$/ && !/^[#}]/ }
	END { exit bad }' "$top"/include/*/*.h "$top"/src/*/*.h
}
it "says of each function in a header what it does" commented
widths()
{
	! for file in "$top"/src/*.c "$top"/src/*/*.[ch] "$top"/include/*/*.h; do
		expand "$file" | awk -v f="$file" 'length > 80 { print f ":" NR }'
	done | grep .
}
it "keeps to 80 columns" widths
blanks()
{
	! grep -nE '[[:space:]]+$' "$top"/src/*.c "$top"/src/*/*.[ch] "$top"/include/*/*.h "$top"/tests/*.t
}
it "has no blanks at the ends of lines" blanks
long_functions()
{
	! awk '
	/^[a-z_]+\(/ { name = $0; from = 0 }
	/^\{/ { from = FNR }
	/^\}/ && from { if (FNR - from > 60) print FILENAME ": " name ": " FNR - from; from = 0 }
	' "$top"/src/*.c "$top"/src/*/*.c | grep .
}
it "has no function longer than 60 lines" long_functions

pages()
{
	local page lines
	for page in README.md:150 man/pardd.8:1700 man/pardd-rescue.7:1000 man/pardd-ends.7:1300 man/pardd-images.7:200 man/pardd-json.5:1100; do
		lines=$(wc -l <"$top/${page%:*}")
		((lines <= ${page#*:})) || fail "$page has $lines lines" || return
	done
	(($(wc -c <"$top/README.md") <= 12288)) || fail "README.md has more than 12 kB"
}
it "has pages that one can read in one sitting" pages

# What stands for a library that is not there has the name of what it stands for.
names()
{
	local twice
	twice=$(awk '
	/^#ifdef HAVE_/ { has = 1 }
	/^#else/ && has { instead = 1 }
	/^#endif/ { has = instead = 0 }
	/^[a-z][a-z_0-9]*\(/ && !instead { sub(/\(.*/, ""); print }' "$top"/src/*.c "$top"/src/*/*.c | sort | uniq -d)
	[[ -z $twice ]] || fail "stands twice: $twice"
}
it "gives each function a name of its own" names
objects()
{
	! awk '
	/^static / { local = 1; next }
	/^[a-z0-9]+\(/ && local { sub(/\(.*/, ""); print FILENAME ": " $0 }
	!/^[ \t]/ { local = 0 }' "$top"/src/*.c "$top"/src/*/*.c | grep .
}
it "says in the name of a local function what it acts on" objects

# All that there is to read, at the last count: what is new pays by what is superfluous.
small()
{
	local n
	n=$(cat "$top"/src/*.c "$top"/src/*/*.{c,h,def} "$top"/include/*/*.{h,def} | wc -l)
	((n <= 80486)) || fail "there are $n lines"
}
it "has no more lines than it had" small

rooms()
{
	local room n
	for room in "$top"/src/*/; do
		n=$(find "$room" -name '*.c' | wc -l)
		((n <= 24)) || fail "$room has $n sources" || return
	done
}
it "has at most 24 sources in a directory" rooms

# A header of one directory that one file includes, beside that of its name, lies
# in that file, unless a test includes it too.  Those named here are still to be merged.
lonely()
{
	local header name
	(cd "$top" && for header in src/*/*.h; do
		name=$(basename "$header" .h)
		[[ " hold " != *" $name "* ]] || continue
		(($(grep -lE "^#include \"(.*/)?$name\.h\"" "${header%/*}"/*.[ch] include/*/*.h tests/*/*.[ch] |
		    grep -vc "^${header%.h}\.c$") > 1)) || grep -qE "/$name\.h\"" tests/*/*.[ch] ||
		    fail "$header has one includer" || exit
	done)
}
it "has no header with one includer" lonely
