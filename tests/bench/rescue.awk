# The laps of rescues as a Markdown table.
#
#	percent	of what is looked for: 99
#
# Input, tab-separated: command, seconds until so much was there, seconds in all
# (-1 for what did not happen), status, good bytes missing at the end.
#
#	ours	print instead: this command's seconds over the other's of the
#		same round, the median of the rounds; "failed" where one lap
#		did not come so far, or left good bytes behind
#	column	of the seconds: 2 or 3
#
# Seconds are medians, the bytes the most of any lap.

# The median of values[key, 1] to values[key, n].
function median(values, key, n,  i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && values[key, j] < values[key, j - 1]; j--) {
			t = values[key, j]
			values[key, j] = values[key, j - 1]
			values[key, j - 1] = t
		}
	return (values[key, int((n + 1) / 2)] + values[key, int(n / 2) + 1]) / 2
}

BEGIN { FS = "\t"; if (percent == "") percent = 99 }

!($1 in laps) { row[++rows] = $1 }

{
	lap = ++laps[$1]
	safe[$1, lap] = $2
	all[$1, lap] = $3
	if ($3 >= 0 && $5 > missing[$1])
		missing[$1] = $5
	if ($column <= 0 || column == 3 && $5 > 0)
		failed = 1
	if ($1 == ours)
		mine[lap] = $column
	else
		ratio["", lap] = mine[lap] / (failed ? 1 : $column)
}

END {
	if (ours != "") {
		if (failed)
			print "failed"
		else if (rows == 2)
			printf "%.2f\n", median(ratio, "", lap)
		exit
	}
	print "| command | s to " percent " % | s in all | good bytes missing |"
	print "|---|---|---|---|"
	for (i = 1; i <= rows; i++) {
		r = row[i]
		n = laps[r]
		printf "| `%s` | %.2f | ", r, median(safe, r, n)
		if (all[r, 1] < 0)
			print "- | - |"
		else
			printf "%.2f | %d |\n", median(all, r, n), missing[r]
	}
}
