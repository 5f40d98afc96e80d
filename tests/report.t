#!/usr/bin/env bash
# report= and note=: a page that is true and valid, in which nothing from a name or a
# disk becomes markup.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
checker=$(type -P tidy)		# lib.sh has a function of that name

# valid FILE: well made, and all of it is in there
valid()
{
	! LC_ALL=C grep -n '[^ -~]' "$1" | grep -v $'\t' || fail "$1 is not ASCII" || return
	! grep -Eio '<script|<link|<img|<iframe|<object|@import|javascript:|[a-z]+://[^"]*' "$1" |
	    grep -v '^http://www\.w3\.org/2000/svg$' || fail "$1 leads elsewhere" || return
	case $1 in
	*.svg)	xmllint --noout "$1" ;;
	*)	[[ -z $checker ]] || "$checker" -q -e "$1" 2>ill || { cat ill; return 1; } ;;
	esac
}
# has TEXT [FILE]: as it is
has()
{
	grep -Fq -e "$1" "${2:-r.html}" || fail "no $1 in ${2:-r.html}"
}
lacks()
{
	! grep -F -e "$1" "${2:-r.html}"
}
bad=30000+4096,1500000+512
# rescue STATUS OPERANDS...: of 2 MiB with bad sectors
rescue()
{
	exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of=dst map=map report=r.html bs=512 "${@:2}"
}

plain()
{
	"$blocks" make src 3M && exits 0 "$pardd" if=src of=dst report=r.html hash=sha256 &&
	    [[ $(stat -c %a r.html) = 600 ]] &&
	    complete && valid r.html && has '<p class="verdict good">complete, flushed</p>' &&
	    has "<td>$(sha256sum <src | cut -c 1-64)</td>" && has '<td>3145728 (3.1 MB)</td>' &&
	    has '<code>pardd if=src of=dst report=r.html hash=sha256</code>' && has "<td>$(uname -n), " &&
	    lacks 'Unreadable ranges' && [[ ! -e r.html.pardd.tmp ]]
}
only plain asan	# one thread writes pages
it "is a valid page about any copy" plain
picture()
{
	"$blocks" make src 3M && exits 0 "$pardd" if=src of=dst report=r.svg && valid r.svg &&
	    has '>complete, flushed</text>' r.svg && ! grep 'running time' r.svg &&
	    exits 100 "$pardd" if=src of=new map=m rate=1M maxtime=1 report=m.svg &&
	    exits 0 "$pardd" if=src of=new map=m report=m.svg && valid m.svg && has ' of running time' m.svg
}
expected()
{
	local hex
	"$blocks" make src 1M && hex=$(sha256sum <src | cut -c 1-64) &&
	    exits 0 "$pardd" if=src of=dst report=r.html expect=sha256:"$hex" hash=md5 &&
	    has "<td>$hex, as expected</td>" && has "<td>$(md5sum <src | cut -c 1-32)</td>" &&
	    exits 14 "$pardd" if=src of=dst report=r.html expect=sha256:"${hex//[01]/2}" &&
	    has "<td>$hex, NOT as expected</td>"
}
it "says whether the digest is that which was expected" expected
it "is the picture alone, too" picture
kinds()
{
	"$blocks" make src 1M && cp src same && exits 0 "$pardd" if=src of=same compare=1 report=r.html && valid r.html &&
	    exits 0 "$pardd" if=/dev/zero of=. count=10 report=r.html && valid r.html &&
	    exits 0 "$pardd" if=src of=dst count=0 report=r.html && valid r.html && has 'there was nothing to copy' &&
	    exits 0 "$pardd" of=dst report=r.html <src && valid r.html &&
	    { "$pardd" if=src report=r.html 2>err | cat >out; } && same src out && valid r.html &&
	    printf x | dd of=same bs=1 seek=600000 conv=notrunc status=none &&
	    exits 14 "$pardd" if=src of=same compare=1 report=r.html && valid r.html && has 'Ranges that differ' &&
	    has '<td class="n">599552</td><td class="n">600063</td><td class="n">512</td>'
}
it "is one of comparisons, streams and nothing, too" kinds
losses()
{
	"$blocks" make src 2M && rescue 100 && valid r.html && has 'class="verdict ill">NOT complete: 5632 bytes could' &&
	    has '<td class="n">29696</td><td class="n">34303</td><td class="n">4608</td><td>unreadable</td>' &&
	    has '<td class="n">1499648</td><td class="n">1500671</td><td class="n">1024</td><td>unreadable</td>' &&
	    has '<th scope="col" class="n">First byte</th>' && has '<th scope="col">State</th>' && lacks '>#' &&
	    has 'unreadable in 2 ranges.' && has 'fill="url(#bad)"' && has 'fill="url(#done)"'
}
it "shows what a rescue could not read" losses
notes()
{
	"$blocks" make src 1k && exits 0 "$pardd" if=src of=dst report=r.html note='case <17> & "co"' \
	    note=$'M\xc3\xbcller \xe2\x80\xaex \xff\n' && valid r.html &&
	    has '<li>case &#60;17&#62; &#38; &#34;co&#34;</li>' && has '<li>M&#252;ller \xE2\x80\xAEx \xFF\x0A</li>'
}
it "has notes, in all languages, and no tricks with them" notes
# What is hidden of an address is a part of a text.
whole_notes()
{
	"$blocks" make src 1k && exits 0 "$pardd" if=src of=dst report=r.html \
	    note='iscsi://10.0.0.1:3260/t:1 seized by joe@lab' note='was of=iscsi://h:1/t/1, by j@lab' \
	    note='rbd:p/i:key=x' && has '<li>iscsi://10.0.0.1:3260/t:1 seized by joe@lab</li>' &&
	    has '<li>was of=iscsi://h:1/t/1, by j@lab</li>' && has '<li>rbd:p/i:key=x</li>'
}
it "... and as they are, whatever they mention" whole_notes
names()
{
	local name=$'a"><script>x<\\script>\'&\n\e\xff--><!--]]>'
	"$blocks" make "$name" 1k && exits 0 "$pardd" if="$name" of="$name 2" report=r.html && valid r.html &&
	    exits 0 "$pardd" if="$name" of="$name 3" report=r.svg && valid r.svg &&
	    has 'a&#34;&#62;&#60;script&#62;' && has ' class="head">a&#34;&#62;&#60;script&#62;' r.svg &&
	    has ' to a&#34;&#62;&#60;script&#62;' r.svg
}
it "escapes names everywhere" names
# at_block FILE: where the first one of a file in the second partition lies
at_block()
{
	local n
	n=$(debugfs -R "blocks \"$1\"" "src?offset=$((5 << 20))" 2>/dev/null | grep -o '[0-9]*' | head -n 1)
	echo $(((5 << 20) + n * 1024))
}
labels()
{
	local n
	truncate -s 12M src && printf '%s\n' 'label: gpt' 'size=4M, name="<b>&x"' size=5M | sfdisk -q src &&
	    mkdir tree && head -c 9000 /dev/zero | tr '\0' x >'tree/<b>' || return
	mke2fs -q -t ext4 -L '<i>"&home' -E offset=$((5 << 20)) -d tree src 5M 2>said || { cat said; return 1; }
	exits 0 "$pardd" if=src of=dst report=r.html && valid r.html && has '<td>&#60;i&#62;&#34;&#38;home</td>' &&
	    has '<td>&#60;b&#62;&#38;x</td>' && has '<caption>gpt</caption>' && has '<td>ext4</td>' &&
	    [[ $(sed -n '/<caption>gpt</,/<\/table>/p' r.html | grep -c '<tr><td') = 2 ]] || return
	bad=$((6 << 20))+4096
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=new map=map report=r.html &&
	    valid r.html && has '<td class="n">5242880</td><td class="n">5242880</td><td class="n">4096</td>' &&
	    has '<h2>Affected files</h2>' && has '; no file is affected.' && lacks '<pre>i=' || return
	bad=$((4 << 20))+$(((1 << 20) + 512)) && rm map new &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=new map=map report=r.html &&
	    has '<td class="n">5242880</td><td class="n">5242880</td><td class="n">512</td>' || return
	bad=$(at_block '<b>')+512 && rm map new &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=new map=map report=r.html &&
	    valid r.html && has '<li>/&#60;b&#62;</li>' && has 'No other file is affected' && lacks '<pre>i=' || return
	n=$(debugfs -R 'stat "<b>"' "src?offset=$((5 << 20))" 2>/dev/null | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
	bad+=,$(at_block /)+512 && rm map new &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=new map=map report=r.html &&
	    valid r.html && has "<li>&#60;$n&#62;</li>" && has '<pre>i=$(debugfs -c -R &#39;icheck '
}
disk()
{
	truncate -s 1M img && loop img --sector-size 4096 && exits 0 "$pardd" if="$dev" of=dst report=r.html &&
	    valid r.html && has '<th scope="row">Physical block</th><td>4096 bytes</td>'
}
given can_loop "no loop devices" it "has the blocks of a disk" disk
# A partition is told with its disk.
of_a_disk()
{
	"$blocks" make img 4M && loop img && "$tools/part" add "$dev" 1 2048 2048 && undo "$tools/part" del "$dev" 1 &&
	    until_true 20 test -b "${dev}p1" || return
	exits 0 "$pardd" if="${dev}p1" of=new report=r.html && valid r.html && complete &&
	    has "<th scope=\"row\">Partition</th><td>1 of ${dev#/dev/}</td>"
}
given can_loop "no loop devices" it "has the disk of a partition" of_a_disk
it "has partitions and file systems, with the losses and the commands" labels

used()
{
	truncate -s 8M src && mke2fs -q -t ext4 -L '<x>' src || return
	exits 0 "$pardd" if=src of=dst used=only report=r.html && valid r.html && has '<h2>What file systems use</h2>' &&
	    has 'ext4 &#34;&#60;x&#62;&#34;' && has '<td>what is free is left out' && has 'class="verdict good">complete, flushed, without'
}
it "says what used= has left out" used
# More than anybody reads: 4200 bad blocks, and one in each of 20 partitions.
many()
{
	local i
	truncate -s 8M src && { echo 'label: gpt'; for i in {4..23}; do echo "start=$((i * 512)), size=512"; done; } | sfdisk -q src &&
	    cp src dst && { echo "0 - 1"
	    for ((i = 0; i < 4200; i++)); do printf '%u 512 +\n%u 512 -\n' $((i << 10)) $(((i << 10) + 512)); done
	    echo "$((4200 << 10)) $(((8 << 20) - (4200 << 10))) +"; } >map || return
	exits 100 "$pardd" if=src of=dst map=map report=r.html retries=0 && valid r.html &&
	    has '<p>And 104 more ranges; the map has all.</p>' && says 'unreadable: 4184 more ranges, see map$' || return
	{ echo '0 - 1' && echo '0 1048576 +' && for i in {4..23}; do
		printf '%u 512 -\n%u 261632 +\n' $((i << 18)) $(((i << 18) + 512))
	done && echo '6291456 2097152 +'; } >map &&
	    exits 100 "$pardd" if=src of=dst map=map report=r.svg retries=0 && valid r.svg &&
	    says '^pardd: partition 16 of src: 512 bytes in 1 range could not be read' && does_not_say 'partition 17' &&
	    says '^pardd: and 4 more partitions have such ranges$'
}
it "does not tell more than is read" many

# ---------------------------------------------------------------- as it goes

underway()
{
	grep -qs 'class="verdict">under way: ' r.html
}
saved()
{
	"$blocks" make src 2M || return
	"$pardd" if=src of=dst map=map mapinterval=1 rate=300k report=r.html 2>err &
	until_true 30 underway && cp r.html early.html && valid early.html && has 'As of' early.html &&
	    has 'fill="url(#open)"' early.html && kill -TERM $! && ! wait $! && has 'stopped by SIGTERM' &&
	    has 'Exit status</th><td>143</td>' && valid r.html
}
only all
it "is written with each save of the map" saved
# runs: how many the page knows of
runs()
{
	sed -n '/pardd-progress/,/-->/p' r.html | grep -E '^[0-9]' | cut -d ' ' -f 1 | sort -u | wc -l
}
resumed()
{
	"$blocks" make src 2M && rescue 100 && [[ $(runs) = 1 ]] && rescue 100 && [[ $(runs) = 2 ]] &&
	    bad=1500000+512 && rescue 100 retries=1 && [[ $(runs) = 3 ]] && valid r.html && has ', 3 runs</title>' &&
	    rm map && "$blocks" make other 2M 7 && exits 0 "$pardd" if=other of=dst map=map report=r.html && [[ $(runs) = 1 ]]
}
only plain asan
it "keeps the progress of the runs before, and of no other disk" resumed
at_once()
{
	"$blocks" make src 2M && rescue 100 &&
	    sed -i '/pardd-progress/,/-->/{/^[0-9]/d;s/.*pardd-progress.*/&\n1 0.5 1 0\n1 0.5 2 0\n1 0.6 3 0/}' r.html &&
	    rescue 100 && [[ $(sed -n '/pardd-progress/,/-->/p' r.html | grep -c '^1 ') = 3 ]] &&
	    grep -q '<path fill="none"' r.html && ! grep -E '<path fill="none"[^>]* d="[^"]*-' r.html
}
it "... and what was noted twice in an instant" at_once
# What stands in the file is nobody's to be trusted.
garbage()
{
	local i sum line
	"$blocks" make src 2M && rescue 100 && sum=$(grep -o 'pardd-progress/1 [0-9a-f]*' r.html) || return
	for line in '1 nan 5 5' '1 inf 5 5' '1 -3 5 5' '0 1 1 1' '99999999999999999999 1 1 1' '1 1e300 1 1' \
	    '1 5 99999999999999999999999 1' '1 5' '1 5 5 5 -->' '-1 5 5 5' '' 'x' '1 0x10 5 5' '1 7 18446744073709551615 18446744073709551615'; do
		printf '<!-- %s\n%s\n1 3 3 3\n-->\n' "$sum" "$line" >r.html
		rescue 100 && valid r.html && lacks nan && lacks inf, || fail "after $line" || return
	done
	{ printf '<!-- %s\n' "$sum"; for ((i = 0; i < 3000; i++)); do echo "1 $i.5 $i 0"; done; echo '-->'; } >r.html
	rescue 100 && valid r.html && (($(sed -n '/pardd-progress/,/-->/p' r.html | wc -l) < 520)) || return
	head -c 100k /dev/zero >r.html && rescue 100 && valid r.html && ln -sf /etc/passwd r2.html &&
	    refused 'not a regular file' if=src of=new report=r2.html
}
it "believes nothing of a page that was tampered with" garbage

# ---------------------------------------------------------------- refusals

wrong()
{
	"$blocks" make src 1k && usage 'given more than 16 times' if=src of=dst report=r.html note={1..17} &&
	    refused 'used for something else' if=src of=dst map=r.html report=r.html &&
	    refused 'used for something else' if=src of=r.html report=r.html && mkdir d.html &&
	    refused 'not a regular file' if=src of=dst report=d.html && exits 52 "$pardd" if=src of=dst report=no/r.html &&
	    refused 'is in the device file system' if=src of=dst report=/dev/r.html &&
	    exits 0 "$pardd" -d if=src of=dst report=r.html && [[ ! -e r.html && ! -e dst ]]
}
it "refuses what it cannot make before anything is written" wrong
kept()
{
	"$blocks" make src 64k && echo old >r.html && exits 100 with_faults "on=$PWD/src op=read at=512+512 fail=EIO" \
	    "$pardd" if=src of=dst coe=1 report=r.html && valid r.html && has 'Unreadable ranges' || return
	echo old >r.html && mkdir full && exits 78 with_faults "on=$PWD/r.html.pardd.tmp op=write,flush fail=ENOSPC" \
	    "$pardd" if=src of=dst report=r.html && says 'report=r\.html: No space left' && [[ $(<r.html) = old ]] &&
	    [[ ! -e r.html.pardd.tmp ]] && same src dst
}
it "ends with an error where it cannot be written, and leaves the old one" kept
two()
{
	"$blocks" make src 2M || return
	"$pardd" if=src of=dst rate=200k report=r.html 2>/dev/null &
	local is
	until_true 20 test -e r.html.pardd.tmp && refused 'another run is writing it' if=src of=new report=r.html &&
	    [[ ! -e new ]]
	is=$?
	kill -TERM $! && ! wait $! && ((is == 0))
}
it "is one run's at a time" two
# It looks at the source first.
silent()
{
	"$blocks" make src 1M || return
	FAULTS="on=$PWD/src op=read until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if=src of=dst report=r.html 2>err &
	until_true 20 grep -qs waits faults && kill -TERM "$(sed -n 's/^pid //p' how)" || return
	wait $!
	ended signal 15 && [[ ! -e r.html.pardd.tmp ]]
}
it "leaves a source that does not answer at a signal" silent
