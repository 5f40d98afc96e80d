# The laps of a race as a Markdown table, the quickest command first.
#
# Input, tab-separated: command, seconds, ratio to the ideal, CPU seconds, MiB
# of the source and of the target left in the page cache, what is wrong.
#
#	view	paced, loop, cache or start: which columns
#	mib	size of the copy
#	millions	file of instruction counts: command, millions (start)
#	only	print this command's figures instead of a table: ratio, CPU
#		seconds per GiB, MiB left of source and target, milliseconds;
#		"failed" for each when something is wrong with it, nothing
#		when it is not there
#
# A figure is the median of the laps; the MiB left are the most of any lap.

# The values of a row, ascending; their number.
function sorted(row, key,  i, j, t, n) {
	n = count[row, key]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[row, key, j] < v[row, key, j - 1]; j--) {
			t = v[row, key, j]
			v[row, key, j] = v[row, key, j - 1]
			v[row, key, j - 1] = t
		}
	return n
}

function median(row, key,  n) {
	n = sorted(row, key)
	return (v[row, key, int((n + 1) / 2)] + v[row, key, int(n / 2) + 1]) / 2
}

function least(row, key) {
	sorted(row, key)
	return v[row, key, 1]
}

function most(row, key) {
	return v[row, key, sorted(row, key)]
}

function collect(row, key, value) {
	v[row, key, ++count[row, key]] = value + 0
}

function heads() {
	if (view == "paced")
		return "x ideal | min..max | CPU s/GiB"
	if (view == "loop")
		return "GiB/s | min..max | CPU s/GiB"
	if (view == "cache")
		return "s | min..max | CPU s/GiB | source MiB | target MiB"
	return "ms | min..max | CPU ms | instructions, millions"
}

function cells(row,  gib) {
	gib = mib / 1024
	if (view == "paced")
		return sprintf("%.3f | %.3f..%.3f | %.3f", median(row, "ratio"),
		    least(row, "ratio"), most(row, "ratio"), median(row, "cpu"))
	if (view == "loop")
		return sprintf("%.2f | %.2f..%.2f | %.3f",
		    gib / median(row, "time"), gib / most(row, "time"),
		    gib / least(row, "time"), median(row, "cpu"))
	if (view == "cache")
		return sprintf("%.2f | %.2f..%.2f | %.3f | %.1f | %.1f",
		    median(row, "time"), least(row, "time"), most(row, "time"),
		    median(row, "cpu"), most(row, "src"), most(row, "dst"))
	return sprintf("%.2f | %.2f..%.2f | %.2f | %s",
	    1000 * median(row, "time"), 1000 * least(row, "time"),
	    1000 * most(row, "time"), 1000 * median(row, "cpu") * gib,
	    row in million ? million[row] : "-")
}

# Order by what the table is about; what has failed comes last.
function place(row,  key) {
	key = view == "paced" ? "ratio" : "time"
	return row in bad ? 1e9 : median(row, key)
}

function by_place(  i, j, t) {
	for (i = 2; i <= rows; i++)
		for (j = i; j > 1 &&
		    place(order[j]) < place(order[j - 1]); j--) {
			t = order[j]
			order[j] = order[j - 1]
			order[j - 1] = t
		}
}

function table(  i, line) {
	by_place()
	print "| command | " heads() " |"
	line = heads()
	gsub(/[^|]+/, "---", line)
	print "|---|" line "|"
	for (i = 1; i <= rows; i++)
		printf "| `%s` | %s |\n", order[i],
		    order[i] in bad ? bad[order[i]] : cells(order[i])
}

BEGIN {
	FS = "\t"
	while (millions != "" && (getline < millions) > 0)
		million[$1] = $2
}

{
	if (!($1 in seen)) {
		seen[$1] = 1
		order[++rows] = $1
	}
	collect($1, "time", $2)
	collect($1, "ratio", $3)
	collect($1, "cpu", $4 * 1024 / mib)
	collect($1, "src", $5)
	collect($1, "dst", $6)
	if ($7 != "")
		bad[$1] = $7
}

END {
	if (only == "")
		table()
	else if (only in bad)
		print "failed failed failed failed failed"
	else if (only in seen)
		printf "%.3f %.3f %.1f %.1f %.3f\n", median(only, "ratio"),
		    median(only, "cpu"), most(only, "src"), most(only, "dst"),
		    1000 * median(only, "time")
}
