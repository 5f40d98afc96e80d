#!/usr/bin/env bash
# The plan as a person reads it: what -d shows, and what --ask asks about.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT != tsan ]] || exit 0		# one thread looks

# fits: no page is longer than a screen, nor wider
fits()
{
	(($(wc -l <out) <= 24)) || fail "$(wc -l <out) lines" || return
	! awk 'length > 80' out | grep . || fail "wider than 80 columns" || return
	! LC_ALL=C grep -n '[^ -~]' out
}
# page OPERANDS...: it is in the file out, and is one
page()
{
	exits 0 "$pardd" -d "$@" && fits && [[ ! -s err ]] && ! grep -q '^[a-z_]*=' out
}
# has REGEX: a line of the page; words as they stand between its line ends
has()
{
	tr -s '\n ' ' ' <out | grep -Eq -e "$1" || fail "no /$1/ in:
$(<out)"
}

files()
{
	"$blocks" make src 3M && "$blocks" make dst 1000 9 && page if=src of=new &&
	    has '^Copy 3\.1 MB: bytes 0 to 3145727 of the source, to byte 0 of the target' &&
	    has 'Source src file, 3\.1 MB Target new file, to be created' && [[ ! -e new ]] &&
	    page if=src of=dst bs=512 skip=2 seek=1 count=3 &&
	    has 'bytes 1024 to 2559 of the source, to byte 512 of the target' &&
	    has 'Target dst file, 1\.0 kB what it holds there will be lost' && holds dst 0 0 1000 9
}
it "shows a page with -d" files
detailed()
{
	"$blocks" make src 1k && exits 0 "$pardd" -d -v if=src of=dst &&
	    grep -qx 'source=src' out && grep -qx 'bytes=1024' out && ! grep '^Copy' out &&
	    exits 0 "$pardd" -dv if=src usedmap=map && grep -qx 'bytes_free=0' out && ! grep '^used=' out
}
it "shows key=value lines with -dv" detailed
how()
{
	"$blocks" make src 3M && : >map && page if=src of=dst rate=20M verify=1 coe=1 &&
	    has 'at no more than 21 MB/s' && has 'then flushed, read back \(verify=1\)' &&
	    has 'becomes zeros, and is listed' &&
	    page if=src of=dst sync=0 && has 'NOT flushed \(sync=0\)' && has 'stops it \(coe=1 ' &&
	    page if=src of=dst map=map && has 'tried again later, and recorded in the map' &&
	    has 'Map map: 0 B finished, 3\.1 MB to do, 0 B bad in 0 ranges' && ! has 'nothing is left' &&
	    printf '0 + 1\n0 0x2fff00 +\n0x2fff00 0x100 -\n' >map && "$blocks" make dst 3M &&
	    page if=src of=dst map=map && has '256 B bad in 1 range nothing is left to do, but retries= tries' &&
	    page if=src of=dst map=map retries=1 && ! has 'nothing is left'
}
it "says how the copy is made" how
# Every operand shows: in words of the page, those of the second column, else as it
# was given; and as a key or as it was given with -dv, so that the plan is all
# that will be done.  What is only shown while it runs is not in the plan.
shown()
{
	cat <<-'EOT'
		if=src | Source src
		of=new | Target new
		bs=1k
		skip=1 | bytes 512 to
		seek=1 | to byte 512
		count=1 | Copy 512 B
		ipart=1 | partition 1 of | if=table
		opart=1 | partition 1 of | of=table
		iflag=coe
		oflag=nocache
		decode=xz | | if=packed.xz
		encode=zst:9 | | of=new.zst
		table=new | | if=table of=table2
		rest=zero | | of=DISK
		iserial=S1
		oserial=S1
		force=odd
		coe=1 | becomes zeros
		retries=3
		timeout=9
		map=m | Map m:
		domain=d.map | | map=m
		domaintypes=+? | | map=m domain=d.map
		fill=zero | | map=m
		rescue=noscrape | | map=m
		view=v | v shows it meanwhile | map=m
		minrate=1M | | map=m
		maxerrors=2 | | map=m
		maxtime=7200 | | map=m
		wait=60 | | map=m
		ongone=true | | map=m wait=60
		maxtemp=50
		mapinterval=9 | | map=m
		sync=0 | NOT flushed
		verify=1 | verify=1
		verify=0
		compare=1 | Compare | of=src2
		hash=sha256,md5
		hashfile=sums | | hash=sha256
		expect=md5:d41d8cd98f00b204e9800998ecf8427e
		manifest=src.manifest
		manifesthash=sha256 | | manifest=src.manifest
		check=1 | Check | of= manifest=old.manifest
		base=old.manifest | | of=src2
		used=only | Used
		usedmap=u.map
		bmap=src.bmap
		reflink=never
		bpt=100
		thr=3
		engine=threads
		qd=9 | | engine=async
		mem=9MiB
		rate=20M | no more than 21 MB/s
		ioprio=idle
		control=c.sock
		cdbsz=16
		fua=0
		dio=0
		profile=p.csv
		report=r.html
		note=case 17 | | report=r.html
		json=j
		log=l
		conv=noerror | | coe=1
	EOT
}
lets_know()
{
	local operand words with known="status progress time verbose deb of2 iseek oseek ibs obs" odd
	shown >rows && odd=$(diff <("$pardd" --help all | sed -n 's/^  \([a-z0-9]*\)=.*/\1/p' | sort) \
	    <({ sed 's/=.*//' rows | uniq && tr ' ' '\n' <<<"$known"; } | sort)) && [[ -z $odd ]] || fail "$odd" || return
	"$blocks" make src 3M && cp src src2 && xz -k0 src && mv src.xz packed.xz && truncate -s 9M table table2 &&
	    printf '%s\n' label:gpt size=4M size=4M | sfdisk -q table &&
	    "$pardd" if=src of=. manifest=old.manifest status=none && printf '0 + 1\n0 0x300000 +\n' >d.map || return
	while IFS='|' read -r operand words with; do
		read -r operand <<<"$operand"
		read -r words <<<"$words"
		[[ $operand != *serial=* && $operand != wait=* && $operand != ongone=* && $operand != maxtemp=* &&
		    $operand != rest=* && $operand != bmap=* ]] || continue	# they need a disk, or a file like it
		set -- if=src
		[[ $operand != if=* && $with != *if=* ]] || set --
		[[ $operand = of=* || $with = *of=* ]] || set -- "$@" of=new
		read -ra more <<<"${with//of= /}"
		page "$@" "${more[@]}" "$operand" || fail "$operand: $(<err)" || return
		has "${words:-With .*${operand//+/.}}" || return
		exits 0 "$pardd" -dv "$@" "${more[@]}" "$operand" || return
		[[ -n $words ]] || grep -q "^${operand%%=*}=" out || case $operand in
		bpt=*)	grep -q '^transfer=51200$' out ;;
		thr=*)	grep -q '^workers=3$' out ;;
		qd=*)	grep -q '^slots=9$' out ;;
		note=*)	grep -q '^report_note=case 17$' out ;;
		*)	false ;;
		esac || fail "no $operand in $(<out)" || return
	done <rows
}
it "shows every operand with -d" lets_know
# narrow COLUMNS OPERANDS...: the page on a terminal of so many, and of $rows, is in
# the file out; a command that it tells is not folded
narrow()
{
	local columns=$1
	shift
	script -qec "stty cols $columns rows ${rows:-24}; $(printf '%q ' "$pardd" -d "$@")" shown >/dev/null &&
	    sed '/^Script /d' shown | tr -d '\r' >out && grep -q '^Copy ' out || return
	! awk -v most=$((columns - 1)) 'length > most && $1 != "sfdisk"' out | grep . || fail "wider than $columns columns"
}
folded()
{
	local columns
	"$blocks" make src 3M && "$blocks" make dst 1000 9 && for columns in 79 60 41 40; do
		narrow $columns if=src of=dst && has 'Copy 3\.1 MB: bytes 0 to 3145727 of the source, to byte 0' &&
		    has 'Now nothing has been written;' && narrow $columns if=src of=dst of=new &&
		    has 'dst, 1\.0 kB' && has 'new, to be created' || return
	done
	narrow 30 if=src of=dst || columns=40
	! awk 'length > 39' out | grep . && grep -q '^Copy ' out
}
it "folds the page to a narrow terminal" folded
# One of 26 lines, behind which the shell has its own.
low()
{
	local n rows name
	name=$(printf 'x%.0s' {1..60})
	"$blocks" make "$name" 3M && "$blocks" make "$name.2" 1000 9 || return
	set -- 40 if="$name" of="$name.2" rate=20M verify=1 coe=1
	rows=100 && narrow "$@" && n=$(tall) && ((n > 24)) || fail "$n lines" || return
	rows=$((n + 1)) && narrow "$@" && [[ $(tall) = "$n" ]] || fail "$(tall) of $n lines" || return
	rows=$n && narrow "$@" && (($(tall) < n)) || fail "$(tall) lines are too many"
}
tall()
{
	awk 'NF { n = NR } END { print n }' out
}
it "shortens the page where the terminal is too low for it" low
gone_on()
{
	"$blocks" make src 3M && exits 0 "$pardd" if=src of=dst map=map && page if=src of=dst map=map &&
	    has 'Target dst file, 3\.1 MB Source \[' && has 'Source src file, 3\.1 MB not searched for partitions' &&
	    ! has lost && has 'Map map: 3\.1 MB finished' && : >map && page if=src of=dst map=map &&
	    has 'what it holds there will be lost'
}
it "calls nothing lost that a map calls finished" gone_on
others()
{
	"$blocks" make a 1M && cp a b && page if=a of=b compare=1 && has '^Compare 1\.0 MB: .* with byte 0' &&
	    has 'Source a ' && has 'Target b ' && has '# is compared, -' && ! has 'lost|LOST|stays' && has 'nothing is written' &&
	    exits 0 "$pardd" if=a of=. manifest=m && page if=a manifest=m check=1 && has '^Check 1\.0 MB: bytes 0 to 1048575' && ! has '# is copied' &&
	    page if=/dev/zero of=. count=1 && has 'Source /dev/zero generated Target \. discarded' &&
	    : | "$pardd" -d of=b >out && fits && has '^Copy all up to the end of the source' &&
	    page if=a of=b count=0 && has '^Copy nothing: 0 bytes'
}
it "shows what is no copy of a disk, too" others
in_use_only()
{
	truncate -s 16M img && mke2fs -q -t ext4 img 2>said && page if=img of=new used=only &&
	    has 'Used without 1[0-9]( |\.[0-9] )MB that 1 file system calls free'
}
given 'command -v mke2fs' "no mke2fs" it "says how much of a file system is left out" in_use_only
# A block that cannot be read: no zeros come of it, and no map rescues.
only_read()
{
	"$blocks" make a 1M && cp a b && exits 0 "$pardd" if=a of=. manifest=m && page if=a of=b compare=1 &&
	    has 'the first unreadable block stops it \(coe=1 continues\) Now' && page if=a of=b compare=1 coe=1 &&
	    has 'a block that cannot be read is listed Now' && page if=a manifest=m check=1 &&
	    has 'stops it \(coe=1 continues\) With manifest=m Now' && page if=a manifest=m check=1 coe=1 && has 'is listed With manifest=m Now'
}
it "promises no zeros where nothing is written" only_read
# Tables that are not read here, too, and what Windows spreads over disks.
tabled()
{
	local kind
	for kind in sun sgi; do
		truncate -s 0 a && truncate -s 20M a && echo "label: $kind" | sfdisk -q a &&
		    page if=a of=new && has " has $kind table " || return
	done
	truncate -s 0 a && truncate -s 1M a && printf RDSK | dd of=a bs=512 seek=3 conv=notrunc status=none &&
	    page if=a of=new && has ' has amiga table ' && truncate -s 0 a && truncate -s 1M a &&
	    printf 'WEV\x82' | dd of=a bs=1 seek=64 conv=notrunc status=none && page if=a of=new && has ' has bsd table ' &&
	    truncate -s 0 a && truncate -s 20M a && printf '%s\n' 'label: dos' '2048,8192,42' | sfdisk -q a &&
	    page if=a of=new && has ' has dos table, 1 dynamic disk 4\.2 MB '
}
given 'command -v sfdisk' "no sfdisk" it "names tables that it does not read" tabled
hostile()
{
	local name=$'a\n\e[31m<b>\377'
	"$blocks" make "$name" 1k && page if="$name" of=new && has 'a\\x0A\\x1B\[31m<b>\\xFF' &&
	    name=$(printf 'x%.0s' {1..240})end && cp -- $'a\n\e[31m<b>\377' "$name" &&
	    page if="$name" of=new && has 'Source \.\.\.x*end file'
}
it "escapes names, and keeps the end of long ones" hostile

# two_disks: $src with three partitions, $dst with two, as loop devices
two_disks()
{
	truncate -s 40M one && printf '%s\n' 'label: gpt' 'size=4M, name="EFI <&> x"' size=20M size=8M |
	    sfdisk -q one && truncate -s 64M two && printf '%s\n' 'label: dos' size=30M size=20M | sfdisk -q two &&
	    mke2fs -q -t ext4 -L root -E offset=$((5 << 20)) one 20M 2>said &&
	    mke2fs -q -t ext4 -L backup -E offset=$((1 << 20)) two 30M 2>>said || { cat said; return 1; }
	loop one && src=$dev && loop two && dst=$dev
}
disks()
{
	two_disks && page if="$src" of="$dst" && has 'has gpt table, 1 unknown "EFI <&> x" 4\.2 MB, 2 ext4 "root" 21 MB, 3 unknown 8\.4 MB' &&
	    has 'WILL BE LOST: dos table, 1 ext4 "backup" 31 MB, 2 unknown 21 MB \(in part\)' &&
	    grep -Eq '^Source  \[\.?1-*2-*3-*\.*\] 42 MB$' out && grep -Eq '^Target  \[1-*2-*\.*\] 67 MB$' out &&
	    has 'Note the backup GPT will not be at the end of the disk, where table=fix puts it; or afterwards: sfdisk' &&
	    grep -q " sfdisk --relocate gpt-bak-std $dst\$" out && narrow 60 if="$src" of="$dst" && grep -q " sfdisk --relocate gpt-bak-std $dst\$" out
}
between()
{
	two_disks && page if="$src" ipart=2 of="$dst" opart=2 && has 'Source partition 2 of /dev/loop' &&
	    has 'WILL BE LOST: 2 unknown 21 MB stays: 1 ext4 "backup" 31 MB' &&
	    [[ $(grep -c '^  *##*$' out) = 2 ]] && page if="$src" of="$dst" skip=100 seek=7 count=30000 &&
	    has 'Note on the source it begins 997376 bytes before partition 1'
}
# The picture is to scale: what is written is where the partition is.
placed()
{
	two_disks && page if=/dev/zero of="$dst" opart=2 || return
	awk '/^Target  \[/ { from = index($0, "2"); getline; at = index($0, "#")
		bad = at != from } END { exit bad }' out || { cat out; return 1; }
}
crowd()
{
	local i
	truncate -s 400M one && { echo 'label: gpt'; for i in {1..120}; do
		echo "size=1M, name=\"a rather long name $i\""; done; } | sfdisk -q one && truncate -s 300M two &&
	    { echo 'label: gpt'; for i in {1..100}; do echo "size=1M, name=\"another long name of it $i\""; done; } |
	    sfdisk -q two && loop one && src=$dev && loop two &&
	    page if="$src" of="$dev" count=250000 skip=3 seek=5 && has ' and [0-9]+ more' &&
	    has 'Note on the target it begins'
}
# What mounts the source may write to it meanwhile.
in_use()
{
	truncate -s 16M img && mke2fs -q -t ext4 img 2>said && mkdir mnt && loop img && mount "$dev" mnt &&
	    undo umount -l "$PWD/mnt" && page if="$dev" of=new &&
	    has "Note ${dev#/dev/} is mounted read-write on \\S+mnt: what changes meanwhile" &&
	    has 'may be copied in part' && page if="$dev" of=new map=map && has 'unmount a failing'
}
# A table tells places in the sectors of its disk.
other_sectors()
{
	local from
	truncate -s 40M one two && loop one --sector-size 4096 && from=$dev &&
	    printf '%s\n' 'label: gpt' size=8M size=20M | sfdisk -q "$from" && loop two &&
	    page if="$from" of="$dev" && has 'Note the partition table counts in sectors of 4096 bytes, and the target has 512'
}
# Of each of several targets, as much as a line has room for.
several()
{
	two_disks && page if="$src" of="$dst" of=new && has "$dst 67 MB block device dos \\.\\.\\." || return
	truncate -s 64M other && mke2fs -q -t ext4 -L home other 2>said && loop other &&
	    page if="$src" of="$dev" of=new && has "$dev 67 MB block device ext4 \"home\"" &&
	    e2label other 'sixteen columns!' && page if="$src" of="$dev" of=new && has "$dev 67 MB block device ext4 \"si\\.\\.\\." || return
	! command -v script >/dev/null || { narrow 40 if="$src" of="$dev" of=new &&
	    has "$dev, 67 MB WILL BE LOST: ext4 \"sixteen columns!\" new, to be created"; }
}
if able can_loop "no loop devices"; then
	it "tells that the source is in use" in_use
	it "tells that the target has other sectors" other_sectors
	it "says what lies on each of several targets" several
	it "says what lies on two disks, what is lost, and draws them" disks
	it "says what a copy between partitions leaves alone" between
	# What is cut off, and how much would not.
	it "tells which partitions are not copied, and what count= copies them" eval \
	    'two_disks && page if="$src" of="$dst" count=30000 &&
	    has "Note partitions 2 and 3 of $src end beyond the copy; count=[0-9]+ copies all"'
	it "draws what is written where it lies" placed
	it "fits on a screen with 120 partitions and all remarks" crowd
fi
