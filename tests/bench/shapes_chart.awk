# The lines of tests/bench/shapes as a picture: SVG on stdout, for each shape
# what it took of us until 99 % are there, over what it took of ddrescue: errors,
# and below them seconds.  Of several seeds the mean, the geometric one.
BEGIN {
	FS = "\t"
	left = 330
	unit = 300
	most = 1.4
}

{
	if (!($1 in text)) {
		row[++rows] = $1
		text[$1] = $2
	}
	value[$1, $3, $4, "seconds"] = $10
	value[$1, $3, $4, "errors"] = $11
	if (known[$1 " " $3]++ == 0)
		seed[$1, ++seeds[$1]] = $3
}

function some(v) {
	return v > 0 ? v : .5
}

function ratio(r, what,  s, a, b, sum) {
	for (s = 1; s <= seeds[r]; s++) {
		a = value[r, seed[r, s], "pardd", what]
		b = value[r, seed[r, s], "ddrescue", what]
		if (a !~ /^[0-9]/ || b !~ /^[0-9]/)
			return -1
		sum += log(some(a) / some(b))
	}
	return exp(sum / seeds[r])
}

function bar(y, class, v,  w) {
	if (v < 0)
		return
	w = (v < most ? v : most) * unit
	printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"8\" " \
		"class=\"%s\"/>\n", left, y, w, class
	printf "<text x=\"%.1f\" y=\"%d\" class=\"n\">%.2f</text>\n",
		left + w + 4, y + 8, v
}

function escape(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	return s
}

END {
	height = 70 + rows * 26
	width = left + int(unit * most) + 50
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" " \
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n", width, height, width,
		height
	print "<style>text { font: 12px sans-serif; fill: #222 }" \
		" .n { font-size: 9px; fill: #555 } .e { fill: #1f6f8b }" \
		" .s { fill: #e0a030 } line { stroke: #888 }</style>"
	printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
	print "<text x=\"10\" y=\"20\">Until 99 % of what can be read is there: " \
		"pardd, as a part of ddrescue</text>"
	print "<rect x=\"10\" y=\"30\" width=\"12\" height=\"8\" class=\"e\"/>" \
		"<text x=\"28\" y=\"39\">errors</text>" \
		"<rect x=\"90\" y=\"30\" width=\"12\" height=\"8\" class=\"s\"/>" \
		"<text x=\"108\" y=\"39\">seconds</text>"
	for (i = 1; i <= rows; i++) {
		y = 52 + (i - 1) * 26
		printf "<text x=\"10\" y=\"%d\">%s</text>\n", y + 13,
			escape(text[row[i]])
		bar(y, "e", ratio(row[i], "errors"))
		bar(y + 9, "s", ratio(row[i], "seconds"))
	}
	printf "<line x1=\"%d\" y1=\"44\" x2=\"%d\" y2=\"%d\"/>\n", left + unit,
		left + unit, height - 12
	print "</svg>"
}
