# Every small fault that could be in a C source of this house, one a line:
# the file, the line, what it does, the function (and which of those in it that are
# alike), the line as it is without blanks around, and as it then is.
#
#	awk -f mutate.awk FILE.c...
#
# Only lines of function bodies; nothing in strings and comments.

BEGIN {
	FS = "\t"
	# what stands there, what takes its place, what it is
	op(" < ", " <= ", "off by one")
	op(" <= ", " < ", "off by one")
	op(" > ", " >= ", "off by one")
	op(" >= ", " > ", "off by one")
	op(" < ", " >= ", "comparison")
	op(" > ", " <= ", "comparison")
	op(" == ", " != ", "comparison")
	op(" != ", " == ", "comparison")
	op(" && ", " || ", "logic")
	op(" || ", " && ", "logic")
	op(" + ", " - ", "sign")
	op(" - ", " + ", "sign")
	op(" += ", " -= ", "sign")
	op(" -= ", " += ", "sign")
	op(" - 1", "", "off by one")
	op(" + 1", "", "off by one")
	op("return false;", "return true;", "constant")
	op("return true;", "return false;", "constant")
	op("return 0;", "return -1;", "constant")
	op("return -1;", "return 0;", "dropped error")
	op(" = true;", " = false;", "constant")
	op(" = false;", " = true;", "constant")
	op(" = 0;", " = 1;", "constant")
	op("if (!", "if (", "negation")
}

function op(from, to, kind)
{
	froms[++ops] = from
	tos[ops] = to
	kinds[ops] = kind
}

# The line with as many dots where strings and comments are.
function bare(line,   out, n)
{
	out = ""
	while (match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)'|\/\*([^*]|\*[^\/])*\*\/|\/\*.*$/)) {
		out = out substr(line, 1, RSTART - 1)
		for (n = 0; n < RLENGTH; n++)
			out = out "."
		line = substr(line, RSTART + RLENGTH)
	}
	return out line
}

function mutant(kind, line)
{
	sub(/^[ \t]+/, "", line)
	gsub(/\t+/, " ", line)
	where = name
	if (like[FILENAME, name, was, line]++)
		where = name " " like[FILENAME, name, was, line]
	print FILENAME, FNR, kind, where, was, line
}

function replaced(i, code,   at, from, n)
{
	n = length(froms[i])
	for (from = 1; (at = index(substr(code, from), froms[i])) != 0; from += at + n - 1)
		mutant(kinds[i], substr($0, 1, from + at - 2) tos[i] substr($0, from + at - 1 + n))
}

# Is each bracket of the text closed in it?
function closed(text)
{
	return gsub(/\(/, "(", text) == gsub(/\)/, ")", text)
}

BEGIN { OFS = "\t" }
FNR == 1 { body = comment = 0 }
/^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1) }
/^\{/ { body = 1; next }
/^\}/ { body = 0 }
!body { next }
/^[ \t]*\/\*/ { comment = 1 }
comment { if (/\*\//) comment = 0; next }
/^#/ { next }
{
	was = $0
	gsub(/^[ \t]+|[ \t]+$/, "", was)
	gsub(/\t+/, " ", was)
	code = bare($0)
	for (i = 1; i <= ops; i++)
		replaced(i, code)
	# an if of one line the other way round
	if (code ~ /^\t+if \([^!].*\)( \{)?$/ && closed(code)) {
		line = $0
		sub(/if \(/, "if (!(", line)
		sub(/\)( \{)?$/, ")&", line)
		mutant("negation", line)
	}
	# a call that nobody waits for an answer of, and that does something: a leak is
	# for the sanitizers to find
	if (code ~ /^\t+[a-z_0-9]+\(.*\);$/ && closed(code) && code !~ /^\t+(return|if|while|for)/ &&
	    code !~ /^\t+(free|va_end|pthread_[a-z]+_destroy)\(/) {
		line = $0
		sub(/[a-z_0-9]+\(.*$/, ";", line)
		mutant("removed call", line)
	}
	if (code ~ /return fault_v?set\(.*\);$/ && closed(code)) {
		line = $0
		sub(/return fault_v?set\(.*\);$/, "return 0;", line)
		mutant("dropped error", line)
	}
}
