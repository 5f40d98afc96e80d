# The lines of tests/bench/shapes -r as Markdown: how ours stands to ddrescue
# until 99 % of what can be read is safe, by family and over all, and the ten
# disks where it stands worst.  "The better" is the one of ddrescue's two ways
# that met fewer errors, or took less time, on this disk.
BEGIN {
	FS = "\t"
	two = "ddrescue -c 1024"
}

{
	if (!($1 in text))
		name[++disks] = $1
	text[$1] = $2
	seconds[$1, $4] = $10
	errors[$1, $4] = $11
	last[$1, $4] = $15
	all[$1, $4] = $17
	wrong[$4] += $21
	if (NF < 21)
		failed[$1 ", " $4] = 1
}

function known(v) {
	return v ~ /^[0-9]/
}

# Ours over a figure of theirs; no errors count as half a one.
function over(v, w) {
	return (v > 0 ? v : .5) / (w > 0 ? w : .5)
}

function lesser(v, w) {
	return !known(w) || v + 0 < w + 0 ? v : w
}

function add(what, family, v) {
	sum[what, family] += log(v)
	n[what, family]++
	more[what, family] += (v > 1.1)
	if (v > most[what, family])
		most[what, family] = v
}

function count(what, d, v, w) {
	if (!known(v) || !known(w))
		return
	v = over(v, w)
	if (what == "errors")
		ratio[d] = v
	add(what, "over all", v)
	add(what, family[d], v)
}

function mean(what, f) {
	if (!n[what, f])
		return "-"
	return sprintf("%.2f", exp(sum[what, f] / n[what, f]))
}

function share(what, f) {
	if (!n[what, f])
		return "-"
	return sprintf("%.0f %%", 100 * more[what, f] / n[what, f])
}

function row(f) {
	printf "| %s | %d | %s | %s | %s, %s | %.2f, %.2f | %s | %s | %s " \
	    "| %s |\n", f, n["errors", f], mean("errors", f), mean("better", f),
	    share("errors", f), share("better", f), most["errors", f],
	    most["better", f], mean("seconds", f), mean("sooner", f),
	    mean("last", f), mean("all", f)
}

function worst(  i, d, at) {
	for (i = 1; i <= 10; i++) {
		at = ""
		for (d in ratio)
			if (at == "" || ratio[d] > ratio[at])
				at = d
		if (at == "")
			return
		printf "| %s | %s | %s : %s : %s | %.2f |\n", at, text[at],
		    errors[at, "pardd"], errors[at, "ddrescue"],
		    errors[at, two], ratio[at]
		delete ratio[at]
	}
}

END {
	for (i = 1; i <= disks; i++) {
		d = name[i]
		family[d] = text[d]
		sub(/[,:].*/, "", family[d])
		if (!seen[family[d]]++)
			families[++kinds] = family[d]
		count("errors", d, errors[d, "pardd"], errors[d, "ddrescue"])
		count("better", d, errors[d, "pardd"],
		    lesser(errors[d, "ddrescue"], errors[d, two]))
		count("seconds", d, seconds[d, "pardd"],
		    seconds[d, "ddrescue"])
		count("sooner", d, seconds[d, "pardd"],
		    lesser(seconds[d, "ddrescue"], seconds[d, two]))
		count("last", d, last[d, "pardd"], last[d, "ddrescue"])
		count("all", d, all[d, "pardd"], all[d, "ddrescue"])
	}
	print "| damage | disks | errors until 99 % | of the better | above " \
	    "1.1 | the worst | seconds | of the better | errors until the " \
	    "last | in all |"
	print "|---|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= kinds; i++)
		row(families[i])
	row("over all")
	print "\n| disk | | pardd : ddrescue : with -c 1024 | |\n|---|---|---|---|"
	worst()
	print ""
	for (f in failed)
		print "Did not end: " f "."
	if (wrong["pardd"] > 0)
		printf "Written wrong: %d sectors.\n", wrong["pardd"]
}
