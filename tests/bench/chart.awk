# The tables of bench.md as a picture: SVG on stdout, a bar a command.
#
# A table is what follows a line `## TITLE`, its first figure the bar: shorter is
# better, but for GiB/s.  Each table has its own scale, which is cut off at six
# times the best: what is worse ends in a fade.

function escape(s) {
	gsub(/`/, "", s)
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	gsub(/>/, "\\&gt;", s)
	return s
}

function text(x, y, class, s) {
	body = body sprintf("<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n",
	    x, y, class, s)
}

function shorten(s) {
	gsub(/ if=SRC of=DST| SRC DST|if=SRC |of=DST /, "", s)
	return length(s) > 58 ? substr(s, 1, 57) "…" : s
}

function bars(  i, best, most, width, class) {
	if (n == 0)
		return
	text(10, y += 34, "title", escape(title) " (" unit ")")
	best = most = value[1]
	for (i = 2; i <= n; i++) {
		if (value[i] < best)
			best = value[i]
		if (value[i] > most)
			most = value[i]
	}
	if (unit != "GiB/s" && most > 6 * best)
		most = 6 * best
	for (i = 1; i <= n; i++) {
		y += 18
		width = 360 * value[i] / most
		class = name[i] ~ /^pardd/ ? "ours" : "theirs"
		if (width > 360) {
			width = 360
			class = class " more"
		}
		text(400, y + 11, "name", escape(shorten(name[i])))
		body = body sprintf("<rect x=\"410\" y=\"%d\" width=\"%.1f\" " \
		    "height=\"13\" class=\"%s\"/>\n", y, width, class)
		text(415 + width, y + 11, "value", value[i])
	}
	n = 0
}

BEGIN { FS = " *[|] *" }

/^## / {
	bars()
	title = substr($0, 4)
}
/^[|] command / { unit = $3 }
/^[|] `/ && $3 ~ /^[0-9.]+$/ && title != "Targets" {
	name[++n] = $2
	gsub(/`/, "", name[n])
	value[n] = $3
}

END {
	bars()
	height = y + 40
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" " \
	    "height=\"%d\" viewBox=\"0 0 860 %d\" role=\"img\">\n" \
	    "<title>pardd beside its peers</title>\n<style>\n" \
	    "text { font: 11px sans-serif; fill: #222 }\n" \
	    ".title { font-weight: bold; font-size: 13px }\n" \
	    ".name { text-anchor: end }\n.ours { fill: #1f77b4 }\n" \
	    ".theirs { fill: #b0b7bf }\n.more { fill-opacity: .55 }\n" \
	    "</style>\n<rect width=\"860\" height=\"%d\" fill=\"#fff\"/>\n", \
	    height, height, height
	printf "%s", body
	print "</svg>"
}
