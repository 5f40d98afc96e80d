# The lines of tests/bench/shapes as Markdown: what it took of both, and ours
# over theirs, shape by shape; of several seeds the mean, of ratios the geometric
# one.
#
#	judge	print instead, for each target: its name, the figure, the limit,
#		parted by tabs
BEGIN {
	FS = "\t"
	split("50 % 90 % 99 % 99.9 % 100 % all", word, / %* */)
	marks = 6
}

# From column 6 on: seconds and errors, for each mark.
{
	if (!($1 in text)) {
		row[++rows] = $1
		text[$1] = $2
	}
	for (i = 6; i < 6 + 2 * marks; i++)
		figure[$1, $3, $4, i] = $i
	if (NF < 21)
		failed[$1 ", seed " $3 ", " $4] = 1
	missing[$1, $4] += $20
	wrong[$4] += $21
	if (known[$1 " " $3]++ == 0)
		seed[$1, ++seeds[$1]] = $3
}

# The mean of what a shape came to in a column, over the seeds.
function mean(r, who, i,  s, sum) {
	for (s = 1; s <= seeds[r]; s++) {
		if (figure[r, seed[r, s], who, i] !~ /^[0-9]/)
			return "-"
		sum += figure[r, seed[r, s], who, i]
	}
	return sum / seeds[r]
}

# No errors count as half a one.
function some(v) {
	return v > 0 ? v : .5
}

# Ours over theirs.
function ratio(r, i,  s, a, b, sum) {
	for (s = 1; s <= seeds[r]; s++) {
		a = figure[r, seed[r, s], "pardd", i]
		b = figure[r, seed[r, s], "ddrescue", i]
		if (a !~ /^[0-9]/ || b !~ /^[0-9]/)
			return "-"
		sum += log(some(a) / some(b))
	}
	return sprintf("%.2f", exp(sum / seeds[r]))
}

# The geometric mean of the shapes that have one, and the greatest in worst.
function over_all(i,  j, n, sum, v) {
	worst = 0
	for (j = 1; j <= rows; j++) {
		v = ratio(row[j], i)
		if (v == "-")
			continue
		sum += log(v)
		n++
		if (v > worst)
			worst = v
	}
	return n ? sprintf("%.2f", exp(sum / n)) : "-"
}

function seconds(v) {
	if (v == "-")
		return v
	return sprintf(v < 10 ? "%.2f" : v < 1000 ? "%.1f" : "%.0f", v)
}

function errors(v) {
	return v == "-" ? v : sprintf("%.0f", v)
}

function cell(r, who, i) {
	return seconds(mean(r, who, i)) "/" errors(mean(r, who, i + 1))
}

function heads(first, last,  m) {
	printf "| shape |%s", first
	for (m = 1; m <= marks; m++)
		printf " %s%s |", word[m], m < marks ? " %" : ""
	print last
	printf "|---|%s", first != "" ? "---|" : ""
	for (m = 1; m <= marks; m++)
		printf "---|"
	print ""
}

function figures(r, who,  m) {
	printf "| %s | %s |", text[r], who
	for (m = 1; m <= marks; m++)
		printf " %s |", cell(r, who, 4 + 2 * m)
	print ""
}

function ratios(r,  m) {
	printf "| %s |", text[r]
	for (m = 1; m <= marks; m++)
		printf " %s %s |", ratio(r, 4 + 2 * m), ratio(r, 5 + 2 * m)
	print ""
}

function target(name, value, limit) {
	printf "%s\t%s\t%s\n", name, value, limit
}

function judged(  v) {
	v = over_all(10)
	target("seconds until 99 %, mean", v, .65)
	target("seconds until 99 %, the worst shape", worst, .95)
	v = over_all(11)
	target("errors until 99 %, mean", v, .8)
	target("errors until 99 %, the worst shape", worst, 1)
	over_all(16)
	target("seconds in all, the worst shape", worst, 1)
	over_all(17)
	target("errors in all, the worst shape", worst, 1)
	if ("clusters" in text)
		target("20 clusters, seconds until 99 %",
			ratio("clusters", 10), .6)
}

function show(  j, m, f) {
	heads(" |", "")
	for (j = 1; j <= rows; j++) {
		figures(row[j], "pardd")
		figures(row[j], "ddrescue")
	}
	print ""
	print "Ours over theirs: seconds, errors."
	print ""
	heads("", "")
	for (j = 1; j <= rows; j++)
		ratios(row[j])
	printf "| mean |"
	for (m = 1; m <= marks; m++)
		printf " %s %s |", over_all(4 + 2 * m), over_all(5 + 2 * m)
	print "\n"
	for (f in failed)
		print "Did not end: " f "."
	if (wrong["pardd"] + wrong["ddrescue"] > 0)
		printf "Written wrong: %d sectors, by ddrescue %d.\n",
			wrong["pardd"], wrong["ddrescue"]
	for (j = 1; j <= rows; j++)
		if (missing[row[j], "pardd"] > 0)
			printf "Good before and not read, %s: %d sectors, by " \
				"ddrescue %d.\n", text[row[j]],
				missing[row[j], "pardd"],
				missing[row[j], "ddrescue"]
}

END {
	if (judge)
		judged()
	else
		show()
}
