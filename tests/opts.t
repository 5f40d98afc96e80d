#!/usr/bin/env bash
# Operands, numbers, and the exact words on standard error.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT != tsan ]] || exit 0	# one thread reads operands, in all files

# ------------------------------------------------------------------ numbers

# What a number may look like, and how large it may be, is tested in unit/number_test.c.
means()
{
	exits 0 "$pardd" if=/dev/zero of=/dev/null bs=1 count="$1" sync=0 && says "^$2 bytes"
}
it "takes count=2kB for 2000" means 2kB 2000
it "takes count=2x3+1 for 7" means 2x3+1 7
it "takes count=7fffffffffffffffh for 8 EiB less one" eval \
    'exits 0 "$pardd" -dv if=/dev/zero of=/dev/null bs=1 count=7fffffffffffffffh && grep -wq 9223372036854775807 out err'
in_blocks()
{
	exits 0 "$pardd" if=/dev/zero of=/dev/null bs=2 count=1kB && says '^2000 bytes' && says '^1000\+0 records in$'
}
it "takes count=1kB for 1000 blocks, not bytes" in_blocks
# As dd since coreutils 9.1.
in_bytes()
{
	"$blocks" make src 10000 && exits 0 "$pardd" if=src of=dst bs=16B skip=100B seek=3B count=1000B &&
	    size_is dst 1003 && holds dst 3 100 1000 || return
	rm dst
	exits 0 "$pardd" if=src of=dst bs=2x8B ibs=16B obs=16 iseek=1kBB oseek=0B count=2x512+1B mem=1MB \
	    rate=100000000B && size_is dst 1025 && holds dst 0 1000 1025
}
in_bytes_and_blocks()
{
	"$blocks" make src 10000 && exits 0 "$pardd" if=src of=dst bs=16 skip=1000B count=10 &&
	    size_is dst 160 && holds dst 0 1000 160 && rm dst &&
	    exits 0 "$pardd" if=src of=dst bs=16 count=10B count=2 skip=3 skip=7B &&
	    size_is dst 32 && holds dst 0 7 32 && rm dst &&
	    exits 0 "$pardd" if=src of=dst bs=16 count=0x1B && size_is dst 432
}
it "takes B behind a number for bytes" in_bytes
it "takes no B where no bytes are counted" usage "thr=4B: .4B. is not a number" if=/dev/null of=dst thr=4B
it "... for each number by itself, the last time it is given" in_bytes_and_blocks

# address NAME WORDS: refused as either end, and no file of that name is made
address()
{
	usage "$2.*for a file of that name write \\./" if=/dev/null of="$1" &&
	    usage "$2" if="$1" of=dst && usage "$2" -d if=/dev/null of="$1" &&
	    usage "$2" if=/dev/null of="$1" compare=1 && [[ $(echo *) = 'err out' ]]
}
for name in nbd:x nbdx:y http://a/b 2026-11-22T10:00.img C:img scp.x-y: host:/dev/sda root@host:sda.img; do
	it "makes no file of $name" address "$name" "${name%%:*}: is no kind of end that pardd knows"
done
it "tells what reads from another machine" \
	usage "ssh: is no kind of end that pardd knows: '\[ ssh HOST nbdkit -s file DISK \]' is a disk" \
	if=ssh://root@host/dev/sda of=dst
it "tells the path of what fstab calls LABEL= and UUID=" eval \
	'usage "write /dev/disk/by-label/root;" if=LABEL=root of=dst &&
	usage "write /dev/disk/by-uuid/12-34;" if=/dev/zero count=1 of=UUID=12-34'
it "tells what reads from the web" usage ' knows: curl -f URL \| pardd of=\.\.\. reads it; for a file' if=https://a/b of=dst
it "tells of the disk of another machine" usage 'nbdkit -s file DISK .* is a disk of another machine; for' if=/dev/null of=host:/dev/sda
it "tells that of neither for what is like none of them" eval \
    'usage " knows; for a file" if=/dev/null of=http://a/b && usage " knows; for a file" if=nbdx://a of=dst'
# With a directory in front, or if there is such a file, it is a file.
colon()
{
	echo a >a:b && exits 0 "$pardd" if=a:b of=./c:d && exits 0 "$pardd" if=a:b of="$PWD/e:f" &&
	    same a:b c:d && same a:b e:f && echo b >a:b && exits 0 "$pardd" if=a:b of=c:d &&
	    same a:b c:d && exits 0 "$pardd" if=c:d of=':x' && same a:b :x || return
	mkdir rbd: && echo >rbd:/x && ! "$pardd" if=rbd:/x of=dst && [[ ! -e dst ]] && exits 0 "$pardd" if=./rbd:/x of=dst
}
it "takes a file with a colon in its name" colon

# plainly STATUS WORDS OPERANDS...: one line, which ends with these words
plainly()
{
	exits "$1" "$pardd" "${@:3}" && one_line "$2$"
}
it "says that a target is a directory" plainly 71 "/ is a directory; name a file in it" if=/dev/null of=/
it "says that a source is a directory" plainly 71 "/ is a directory; name a file, or the disk it lies on .pardd -l." if=/ of=dst
for name in json log; do
	it "says that there is no directory for $name=" plainly 52 "$name=no/x: there is no directory no" \
	    if=/dev/null of=dst $name=no/x
done
it "says that there is no directory for a target" plainly 52 'no/x: there is no directory no' if=/dev/null of=no/x
it "... which one it is" plainly 52 '/dev/no/x/y: there is no directory /dev/no' if=/dev/null of=/dev/no/x/y
it "tells of a space that is missing" plainly 52 'is there no space before of=[?]' if=/dev/sdzzof=/dev/sdzzz of=dst
it "tells what lists the disks" plainly 52 'No such file or directory; pardd -l lists the disks' if=/dev/sdzzz of=dst
not_root()
{
	local node
	for node in /dev/mem /dev/loop0 /dev/sda; do
		[[ ! -e $node ]] || break
	done
	[[ -e $node ]] || return 0
	chmod 777 . && exits 63 setpriv --reuid=65534 --regid=65534 --clear-groups "$pardd" if="$node" of=. &&
	    one_line 'Permission denied \(are you root\?\)$'
}
given '((EUID == 0)) && command -v setpriv' "no setpriv, or not root" \
    it "asks who is denied a device whether he is root" not_root

# The message has the operand and its text.
no_number()
{
	"$blocks" make src 1000
	usage "$1" if=src of=dst "$1=$2" && grep -Fq -- "$2" err && [[ ! -e dst ]]
}
for text in 0x10k 1.5 '10 5' 9E; do
	it "rejects count=$text" no_number count "$text"
done
for name in skip seek iseek oseek; do
	it "rejects $name=-1" no_number $name -1
done
for name in bs bpt skip seek count thr; do
	it "rejects $name=1z" no_number $name 1z
	it "rejects $name= without a number" usage $name if=/dev/null of=dst $name=
done
for pair in bs=0 bs=-1 bs=99E bpt=0 bpt=-1 thr=0 thr=-1 thr=17 thr=1000 coe=2 coe=x \
    sync=2 time=2 verbose=10 verbose=-1 deb=10 fua=4 dio=2 cdbsz=77 \
    retries=-1 status=loud conv=nothing iflag=nothing oflag=nothing iflag=x; do
	it "rejects $pair" no_number "${pair%%=*}" "${pair#*=}"
done
# The number counts blocks, but bytes were meant.
beyond()
{
	local want=$1
	shift
	"$blocks" make src 1M && "$blocks" make dst 1M && refused "$want" if=src "$@" && does_not_say 'skip=.*count='
}
it "says that count= is blocks" beyond \
    'count=1048576 is blocks of 512 bytes, and leads to byte 536870912, .* for bytes: count=1048576B$' of=. count=1M
it "... unless as many bytes are not there" beyond 'src at 1048576$' of=. count=1048577
it "... nor where they are bytes" beyond 'count= leads .* at 1048576$' of=. count=1048577B
it "says that skip= is blocks" beyond 'skip= leads .* for bytes: skip=1048575B$' of=. skip=1048575
it "... of more than fdisk's sectors" beyond 'skip= leads .* at 1048576; for sectors of 512 bytes: bs=512$' of=. bs=4k skip=2048
it "... also count=" beyond 'count=2048 is blocks of 4096 bytes, .*; for sectors of 512 bytes: bs=512$' of=. bs=4k count=2048
both_beyond()
{
	"$blocks" make src 1M && refused 'skip= and count= lead to byte 1049088, past the end of src at 1048576$' if=src of=. skip=1 count=2048 &&
	    refused 'lead to byte 1306624, past the end of src at 1048576; for sectors of 512 bytes: bs=512$' if=src of=. bs=4k skip=255 count=64
}
it "names both where both are given" both_beyond
stands_beyond()
{
	"$blocks" make src 1M && exec 5<src && cat <&5 >/dev/null && truncate -s 1000 src || return
	exits 101 sh -c "exec '$pardd' of=dst <&5" &&
	    one_line 'it stands at byte 1048576, past the end of standard input at 1000'
}
it "says that standard input stands beyond its end" stands_beyond

# slip ARGUMENTS... WANT: the message says what may have been meant
slip()
{
	local want=${*: -1}
	exits 1 "$pardd" "${@:1:$#-1}" && one_line "$want$" && [[ ! -e b ]]
}
while read -r text want; do
	# shellcheck disable=SC2086
	it "knows what $text may mean" slip $text "$want"
done <<-'END'
	cuont=3 did you mean count=\?
	contu=3 did you mean count=\?
	zzz=3 --help all lists them
	IF=a did you mean if=\?
	blocksize=4k did you mean bs=\?
	verb=1 did you mean verbose=\?
	domiantypes=+ did you mean domaintypes=\?
	cbs=1 no operand 'cbs='; --help all lists them
	f=1 --help all lists them
	force=1 it takes held, looped, mounted, odd, overlap, room, swap
	status=progres did you mean progress\?
	status=loud it takes map, none, noxfer, progress
	hash=sha-256 did you mean sha256\?
	oflag=nothing --help oflag lists them
	oflag=direct, is there a space in it\? Write oflag=a,b
	--dryrun did you mean --dry-run\?
	--if=a write if=a
	--verify write verify=1
	--force write force=\.\.\.
	-n do you mean -d, or rescue=noscrape\?
	-i do you mean if=FILE\?
	-o do you mean of=FILE\?
	-y no option -y; --help options lists them
	-r3 do you mean retries=N\?
	-k no option -k; --help options lists them
	of 'of' is not an operand: write of=\.\.\., without a space
	verify 'verify' is not an operand: write verify=1, without a space
	compare write compare=1, without a space
	verbose write verbose=1, without a space
	hash write hash=\.\.\., without a space
	thr write thr=\.\.\., without a space
	used write used=\.\.\., without a space
	help 'help' is not an operand: operands are name=value, see --help
	if= is there a space after if=\?
END
it "says which shells there are completions for" usage 'bash, zsh and fish' --completion
it "gives the words of another copier in its own" slip a b ' write: pardd if=a of=b'
it "... with a map" slip a b c ' write: pardd if=a of=b map=c'
it "... and options" slip -n -r3 a b --idirect --domain-mapfile=d c \
    ' write: pardd if=a of=b map=c rescue=noscrape retries=3 iflag=direct domain=d'
it "... with their values behind" slip -nr 3 a b c -b 4096 --reverse \
    ' write: pardd if=a of=b map=c rescue=noscrape retries=3 bs=4096 rescue=reverse'
it "... where -d, which is ddrescue's for past the cache, stays one that writes nothing" \
    slip -d a b c ' write: pardd if=a of=b map=c -d'
it "... with no map, too" slip a b --dry-run ' write: pardd if=a of=b -d'
it "... but none of what is otherwise here" slip -s 1M a b c "no option -s; --help options lists them"
it "... nor of a line with operands" slip a b bs=512 "'a' is not an operand.*"
it "... nor of one that has a device where the map would be" slip copy /dev/a /dev/b "'copy' is not an operand.*"
it "... nor of one that is too long" slip a b "$(printf %0900d 0)" "'a' is not an operand.*"
it "... and quotes names for a shell" slip 'a;b' "it's" " write: pardd if='a;b' of='it'\\\\''s'"
wrong_kind()
{
	"$blocks" make src 1000 && usage 'sgio is for block devices' "$@" && [[ ! -e dst ]]
}
it "rejects iflag=coe,nothing" usage nothing if=/dev/null of=dst iflag=coe,nothing
for size in 0 11 32; do
	it "rejects cdbsz=$size" usage '6, 10, 12 or 16' if=/dev/null of=dst cdbsz=$size
done
it "says what it takes when a number is negative" usage 'skip= takes 0 or more$' if=/dev/null of=dst skip=-5
# A number in another program's notation, and the one that is meant.
meant()
{
	usage "did you mean $2\?$" if=/dev/null of=dst "$1"
}
while read -r wrong right; do
	it "says what $wrong may mean" meant "$wrong" "$right"
done <<-'EOT'
	rate=20MB/s rate=20MB
	rate=20MBps rate=20MB
	rate=1mib/s rate=1MiB
	rate=20 rate=20M
	bs=64kb bs=64KB
	bs=1.5M bs=1572864
	count=1,024 count=1024
	timeout=5m timeout=300
	maxtime=2h maxtime=7200
	wait=1D wait=86400
	progress=10s progress=10
EOT
for odd in bs=1.3333k bs=.5M bs=4kk bs=1.5 bs=k bs=99999999999.5E rate=20Mbit; do
	it "knows nothing that $odd may mean" usage 'is not a number$' if=/dev/null of=dst "$odd"
done
it "asks whether there is a space where a number is missing" usage 'bs=: a number is missing; is there a space' if=/dev/null of=dst bs=
it "says in what unit a number is" usage 'takes 1 to 86400 seconds$' if=/dev/null of=dst timeout=100k
it "... or one less than -1" usage 'count= takes 0 or more$' if=/dev/null of=dst count=-2
it "says that 16 workers are the most" eval 'usage thr if=/dev/null of=dst thr=17 && grep -q 16 err'
it "takes thr=16" exits 0 "$pardd" if=/dev/null of=/dev/null thr=16
huge_buffers()
{
	run "$pardd" if=/dev/zero of=dst bs=1E bpt=16 count=1
	[[ $status = 1 || $status = 101 ]] && one_line '(bs|bpt)' && [[ ! -e dst ]]
}
it "refuses bs times bpt that do not fit a number" huge_buffers
far_off()
{
	: >src && usage "$1= lies beyond the last byte that can be addressed, 8 EiB$" if=src of=dst \
	    "$1=9223372036854775807" && [[ ! -e dst ]]
}
it "refuses a place that does not fit a number" eval 'far_off seek && far_off skip && far_off count'
for name in ascii ebcdic ibm block unblock lcase ucase swab; do
	translation()
	{
		usage "$name" if=/dev/null of=dst conv="$name" &&
		    grep -q 'copies blocks as they are' err && [[ ! -e dst ]]
	}
	it "refuses conv=$name by name" translation
done
while read -r name args; do
	wrong()
	{
		# shellcheck disable=SC2086
		"$blocks" make src 1000 && usage "$name" $args && [[ ! -e dst ]]
	}
	it "rejects: $args" wrong
done <<-'END'
	fi fi=src of=dst
	frob if=src of=dst frob=1
	IF IF=src of=dst
	src src of=dst
	--frob --frob if=src of=dst
	-x -x if=src of=dst
	if if=src if=src of=dst
	of if=src of=dst of=1 of=2 of=3 of=4 of=5 of=6 of=7 of=8 of=9 of=10 of=11 of=12 of=13 of=14 of=15 of=16
	if if= of=dst
	of if=src of=
	ibs if=src of=dst ibs=1024
	obs if=src of=dst obs=1024 ibs=512
	completion --completion=tcsh
	completion --completion=
	iflag if=src of=dst iflag=append
	iflag if=src of=dst iflag=trunc
	oflag if=src of=dst oflag=00
	oflag if=src of=dst oflag=fullblock
	sync=0 if=src of=dst conv=fsync sync=0
END
for word in sgio mmap; do
	it "refuses oflag=$word on a file that it would create" wrong_kind if=src of=dst oflag=$word
	it "refuses oflag=$word where all is discarded" wrong_kind if=src of=. oflag=$word
	it "refuses iflag=$word on generated input" wrong_kind iflag=00,$word of=dst count=1
done
it "takes nothing behind -- for an option" usage "'-d' is not" -- if=/dev/null of=dst -d
it "takes operands behind --" exits 0 "$pardd" -dv -- if=/dev/null of=dst
it "does not default both ends" usage '(if|of)'
later()
{
	"$blocks" make src 1000
	"$blocks" make dst 50 9
	usage thr if=src of=dst thr=99 && size_is dst 50 && holds dst 0 0 50 9
}
it "touches nothing when a later operand is wrong" later
last_counts()
{
	exits 0 "$pardd" if=/dev/zero of=/dev/null bs=1 count=1 count=3 && says '^3 bytes'
}
it "lets the last of two numbers count, as sgp_dd" last_counts
raw()
{
	run "$pardd" if=$'no\e[31m\nfile\377' of=dst
	[[ $status = 52 && $(wc -l <err) = 1 ]] || fail "$(<err)" || return
	! LC_ALL=C grep -q $'[\e\377]' err && grep -Fiq '\x1b' err && grep -Fiq '\xff' err
}
it "escapes the bytes of a name" raw
raw_operand()
{
	run "$pardd" $'\e[2Jfrob=1' if=/dev/null of=dst
	[[ $status = 1 && $(wc -l <err) = 1 ]] && ! grep -q $'\e' err
}
it "escapes the bytes of an operand" raw_operand

# ------------------------------------------------------------- help and so on

tells()
{
	run "$pardd" "$1"
	[[ $status = 0 && -s out && ! -s err ]] && grep -Eq "$2" out
}
for opt in -h --help; do
	it "tells its operands on stdout with $opt" tells $opt 'count='
done
for opt in -V --version; do
	it "tells its version on stdout with $opt" tells $opt '^pardd [0-9]'
done
# Those who ask for help have often typed something wrong before.
in_need()
{
	exits 0 "$pardd" if=src frob=1 --help bs=x && [[ -s out && ! -s err ]] &&
	    exits 0 "$pardd" --frob -V && grep -q '^pardd [0-9]' out && [[ ! -s err ]]
}
# Of several options that print something and end, the first counts.
instead()
{
	exits 0 "$pardd" -d -V && grep -q '^pardd [0-9]' out && exits 0 "$pardd" -Vd && grep -q '^pardd [0-9]' out &&
	    exits 0 "$pardd" if=src of=dst -Vh && grep -q '^pardd [0-9]' out
}
it "tells them whatever else is wrong" in_need
it "tells them instead of a plan" instead
helped()
{
	run "$pardd" --help all
	local name
	for name in if of bs ibs obs bpt skip seek iseek oseek count thr iflag oflag conv coe \
	    retries cdbsz fua dio sync time status verbose deb; do
		grep -Eq "(^|[^a-z])$name=" out || fail "no $name= in --help all" || return
	done
	for name in --dry-run --help --version --completion; do
		grep -q -- "$name" out || fail "no $name in --help all" || return
	done
	for name in append coe dio direct dpo dsync excl fua mmap null count_bytes skip_bytes \
	    seek_bytes noatime nofollow nonblock nocache sync fullblock cached flock nocreat \
	    sgio sparse trunc 00 random noerror notrunc fsync fdatasync; do
		grep -Eq "(^|[^a-z_])$name([^a-z_]|$)" out || fail "no $name in --help all" || return
	done
}
it "names every operand and word in --help all" helped
narrow()
{
	! for subject in '' all; do "$pardd" --help $subject; done | awk 'length > 80' | grep .
}
it "keeps --help to 80 columns" narrow
first_screen()
{
	local line
	exits 0 "$pardd" --help && (($(wc -l <out) < 25)) && [[ ! -s err ]] && grep -q '^  count=' out &&
	    sed -n 's/^  \(pardd .*[^ ]\)   .*/\1/p' out >lines && (($(wc -l <lines) == 6)) || fail "$(<out)" || return
	while read -r line; do
		grep -qF -- "$line" "$top/README.md" || fail "the README has no: $line" || return
	done <lines
}
it "shows with --help what is typed most, on one screen" first_screen
# The subjects are on it, in the line before the last; and each is a screen, less a
# list of words that is longer.
subjects()
{
	local subject
	"$pardd" --help | tail -n 2 | head -n 1 | tr -d . | tr ' ' '\n' >names && (($(wc -l <names) > 8)) || return
	echo options >>names
	while read -r subject; do
		exits 0 "$pardd" --help "$subject" && [[ ! -s err ]] && (($(wc -l <out) < 25)) && cat out >>some || return
	done <names
	for subject in iflag oflag; do
		exits 0 "$pardd" -h $subject && (($(wc -l <out) > 20)) && grep -q '^    direct ' out && cat out >>some || return
	done
	"$pardd" --help all | grep '^  *[-a-z0-9]* *[^ ]*=' | grep -v '^  \(pardd\|echo\) ' >every && (($(wc -l <every) > 60)) || return
	! grep -vxFf some every | grep -v ' how to \(read\|write\)$' || fail "not below a subject"
}
it "shows all of --help by its subjects" subjects
# What it shows is run by examples.t, where it stands on another page.
shown_elsewhere()
{
	local line
	exits 0 "$pardd" --help examples && sed -n '/^  [^ ]/ { s/^  //; s/   *.*//; p }' out >lines &&
	    (($(wc -l <lines) > 12)) || return
	while read -r line; do
		grep -qF -- "$line" "$top/README.md" "$top"/man/* || fail "no page has: $line" || return
	done <lines
}
it "shows examples that another page has" shown_elsewhere
statuses()
{
	exits 0 "$pardd" --help status && grep -q '^  101 .*nothing was touched' out && grep -q 'as 33' out &&
	    grep -q '^  status=' out && exits 0 "$pardd" --help 78 && grep -q '78 no space left' out
}
it "knows the exit statuses" statuses
# finds WORD LINE...: these beginnings of lines, and no line without it
finds()
{
	local word=$1 line
	shift
	exits 0 "$pardd" --help "$word" && [[ ! -s err ]] || return
	for line; do
		grep -qF -- "  $line" out || fail "no $line" || return
	done
	! grep -iv "$word" out | grep -v '^  \(pardd if\|[a-z0-9]*\)=' || fail "what is that?"
}
it "finds what one may want to do" finds wipe 'pardd if=/dev/zero of=/dev/sdb verify=1 '
it "... with another machine, too" finds SSH 'pardd if=/dev/sda | ssh root@host'
it "finds operands by what is said of them" finds serial iserial= oserial=
it "... and by a word of theirs" finds gzip decode= '  gz '
it "... and options" finds plan '-d, --dry-run'
it "... and the numbers of another tool" finds fdisk 'pardd if=/dev/sda of=/dev/sdb bs=512 skip=2048 seek=4096 ' '  (the numbers of fdisk)'
more_than_one()
{
	exits 0 "$pardd" --help partition && mv out one && exits 0 "$pardd" --help Partitions && cmp out one
}
it "... also if there are more of them" more_than_one
no_subject()
{
	exits 1 "$pardd" --help nonsense && [[ ! -s out ]] && one_line 'nonsense: there is no such subject' &&
	    exits 1 "$pardd" --help edium && [[ ! -s out ]] &&
	    exits 1 "$pardd" --help 'the unit of skip, seek, count and nonsense' && [[ ! -s out ]] &&
	    exits 0 "$pardd" --help if=a && grep -q '^usage' out && exits 0 "$pardd" --help count && [[ $(wc -l <out) = 1 ]]
}
it "knows no other subject" no_subject
# Between its head and its last lines, and in what a shell makes of the same.
one_row()
{
	! "$pardd" --help all | grep "^[^ A-Z]" | grep -v "^sums " &&
	    ! "$pardd" --completion=fish | sed '1,/__pardd_more)/d' | grep -v ^complete &&
	    "$pardd" --completion=bash | grep -q 'if|of|map|.*|of2)'
}
it "has a row for each operand, also for shells" one_row
full_help()
{
	"$pardd" --help all >/dev/full 2>err
	status=$?
	[[ $status != 0 ]]
}
it "does not say 0 when --help has no room" full_help
completion()
{
	run "$pardd" --completion="$1"
	[[ $status = 0 && -s out && ! -s err ]] && "${@:2}" out && grep -q nocache out
}
for shell in bash zsh fish; do
	if command -v $shell >/dev/null; then
		it "prints a completion that $shell can read" completion $shell $shell -n
	else
		it "prints a completion for $shell" completion $shell test -s
	fi
done
completes()
{
	"$pardd" --completion=bash >c && bash -c '
		. ./c
		spec=$(complete -p pardd) || exit 1
		fn=${spec##*-F } fn=${fn%% *}
		try()
		{
			COMP_WORDS=(pardd "$1") COMP_CWORD=1 COMP_LINE="pardd $1"
			COMP_POINT=${#COMP_LINE} COMPREPLY=()
			"$fn" pardd "$1" pardd
			printf "%s\n" "${COMPREPLY[@]}" | grep -Eq "$2"
		}
		try th "^thr=" && try --dr "^--dry-run"' 2>&1
}
it "completes operands in bash" completes
# rows: what --help has: an operand and =, and its words behind it
rows()
{
	"$pardd" --help all | sed '/^  -/,$d' | awk '
	/^  [a-z]/ { operand = $1; sub(/=.*/, "=", operand); print operand }
	/^  [a-z]+=[0-9](\|[0-9]+)+ / { n = split(substr($1, length(operand) + 1), word, "|")
		for (i = 1; i <= n; i++) print operand word[i] }
	/^    [a-z0-9]/ { sub(/:.*/, ":", $1); print operand $1 }' | sort -u >rows
	(($(grep -c '=$' rows) > 60 && $(grep -c '=.' rows) > 90)) && grep -qx cdbsz=16 rows || fail "$(<rows)"
}
# Whatever is typed of an operand or of a word of one.
all_in_bash()
{
	rows && "$pardd" --completion=bash >c && bash -c '
		. ./c
		compopt() { :; }
		while IFS= read -r row; do
			key=${row%%=*} val=${row#*=}
			COMP_WORDS=(pardd "$key" = "${val%?}") COMP_CWORD=3 COMPREPLY=()
			[[ -n $val ]] || { COMP_WORDS=(pardd "${key%?}") COMP_CWORD=1 val=$row; }
			_pardd
			[[ " ${COMPREPLY[*]} " = *" $val "* ]] || echo "$row"
		done <rows' >lacking 2>&1 && [[ ! -s lacking ]] || fail "$(<lacking)"
}
it "completes every operand and word in bash" all_in_bash
# With stubs for the widgets of zsh.
all_in_zsh()
{
	rows && "$pardd" --completion=zsh >_pardd && cat >try.zsh <<-'EOT' || return
	compdef() { }
	. ./_pardd
	compset()
	{
		[[ $PREFIX = ${~argv[-1]}* ]] || return 1
		PREFIX=${PREFIX##${~argv[-1]}}
	}
	compadd() { print -l -- "${@:#--}" }
	_files() { }
	_describe()
	{
		local row
		for row in "${(@P)2}"; do
			row=${row//\\:/$'\1'}
			print -r -- "${${row%%:*}//$'\1'/:}"
		done
	}
	while IFS= read -r row; do
		PREFIX= want=$row
		[[ $row = *= ]] || PREFIX=${row%%=*}= want=${row#*=}
		said=(${(f)"$(_pardd)"})
		(( ${said[(Ie)$want]} )) || print -r -- "$row"
	done <rows
	EOT
	zsh -f try.zsh >lacking 2>&1 && [[ ! -s lacking ]] || fail "$(<lacking)"
}
all_in_fish()
{
	rows && "$pardd" --completion=fish >c.fish && cat >try.fish <<-'EOT' || return
	source c.fish
	complete -C "pardd "
	for key in (sed -n 's/=$//p' rows)
		complete -C "pardd $key="
	end
	EOT
	HOME=$PWD fish try.fish 2>&1 | cut -f 1 | sort -u >said
	comm -23 rows said >lacking && [[ ! -s lacking ]] || fail "$(<lacking)"
}
for shell in zsh fish; do
	given 'command -v $shell' "no $shell" it "completes every operand and word in $shell" all_in_$shell
done
# Each word of a list, not only the first.
completes_lists()
{
	local got
	"$pardd" --completion=fish >c.fish && cat >try.fish <<-'EOT' || return
	source c.fish
	for word in oflag=direct,sy oflag=nos oflag=sync,append,direct,tru force=held,lo of=a,b
		complete -C "pardd $word"
	end
	EOT
	got=$(HOME=$PWD fish try.fish 2>&1 | cut -f 1 | sort | xargs)
	[[ $got = 'force=held,looped oflag=direct,sync oflag=nosparse oflag=sync,append,direct,trunc' ]] ||
	    fail "$got"
}
given 'command -v fish' "no fish" it "completes each word of a list in fish" completes_lists
# shellcheck disable=SC2086
completes_files()
{
	: >there && "$pardd" --completion=bash >c && names=$("$pardd" --help all |
	    sed -n 's/^  \([a-z]*\)=\(FILE\||\|FD\|PATH\)* .*/\1/p') && [[ $names = *hashfile*control* ]] && bash -c '
		. ./c
		compopt() { :; }
		for name; do
			COMP_WORDS=(pardd "$name" = the) COMP_CWORD=3 COMPREPLY=()
			_pardd
			[[ ${COMPREPLY[*]} = there ]] || { echo "$name"; exit 1; }
		done' bash $names
}
it "completes the names of files in bash" completes_files

# -------------------------------------------------------------------- dry run

dry()
{
	local want=$1
	shift
	"$blocks" make src 1000 && "$blocks" make old 500 9 &&
	    exits "$want" "$pardd" "$opt" "$@" && [[ ! -e new ]] && size_is old 500 &&
	    holds old 0 0 500 9 && [[ -s out || -s err ]]
}
for opt in -d --dry-run; do
	it "creates nothing with $opt" dry 0 if=src of=new
	it "changes nothing with $opt" dry 0 if=src of=old oflag=trunc
	it "ends as the real run would with $opt (past the end)" dry 101 if=src of=new bs=512 skip=9
	it "ends as the real run would with $opt (no source)" dry 52 if=no of=new
	it "ends as the real run would with $opt (usage)" dry 1 if=src of=new thr=17
	it "ends as the real run would with $opt (excl)" dry 67 if=src of=old oflag=excl
	it "ends as the real run would with $opt (nocreat)" dry 52 if=src of=new oflag=nocreat
	it "ends as the real run would with $opt (no directory)" dry 52 if=src of=no/new
	it "ends as the real run would with $opt (/dev)" dry 101 if=src of="/dev/pardd-test-typo-$$"
done
dry_pipe()
{
	echo data | { "$pardd" -dv of=new 2>err >out; cat >rest; }
	[[ $(<rest) = data && ! -e new ]]
}
it "takes nothing from a pipe with --dry-run" dry_pipe
dry_stdout()
{
	"$blocks" make src 1000 && "$blocks" make dst 500 9 || return
	"$pardd" -dv if=src 2>err 1<>dst || fail "$(<err)" || return
	grep -q '^target=standard output$' err && size_is dst 500 && holds dst 0 0 500 9
}
it "does not write the plan to the target" dry_stdout
# dry_ends WHERE OPERANDS [REDIRECTIONS]: none of these files changes, and the plan is in
# the file WHERE
dry_ends()
{
	"$blocks" make src 1000 && "$blocks" make dst 500 9 && : >err && : >out || return
	pardd=$pardd sh -c "\"\$pardd\" -dv $2" >out 2>err || fail "$(<err)" || return
	grep -q '^target=' "$1" && size_is src 1000 && holds src 0 0 1000 && size_is dst 500 && holds dst 0 0 500 9
}
it "... by the name of its descriptor" dry_ends err 'if=src of=/dev/stdout 1<>dst'
it "... that is appended to" dry_ends err 'if=src of=dst >>dst'
it "... that is open by another name" dry_ends err 'if=src of=dst 1<>./dst'
it "... that is a pipe" dry_ends err 'if=src of=/dev/stdout | cat >out; ! test -s out'
dry_one_pipe()
{
	"$blocks" make src 1000 || return
	"$pardd" -dv if=src "$@" 2>&1 | cat >out
	[[ ${PIPESTATUS[0]} = 101 && $(wc -l <out) = 1 ]] && grep -q '^pardd: standard output' out
}
it "refuses a pipe that is the target, where messages go to it, too" dry_one_pipe
it "... by the name -" dry_one_pipe of=-
it "does not write the plan to the source" dry_ends err 'if=src of=dst >>src'
it "... that is a descriptor" dry_ends err 'if=/dev/fd/7 of=new 7<>src >&7'
dry_nowhere()
{
	"$blocks" make src 1000 && "$blocks" make dst 500 9 && cp src before || return
	"$pardd" -dv if=src of=dst >>dst 2>>src
	[[ $? = 101 ]] && size_is dst 500 && holds dst 0 0 500 9 &&
	    same before <(head -c 1000 src) && ! grep -a '^source=' src &&
	    [[ $(tail -c +1001 src) = "pardd: "*"nowhere to print the plan"* ]]
}
it "refuses a plan that has no place but the ends" dry_nowhere
# Of two reasons, --dry-run gives the same one first.
dry_denied()
{
	mkdir sub && "$blocks" make src 1000 && chmod 555 sub && chmod 711 . .. || return
	set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$pardd" if=src of=sub/new
	"$@" -d >/dev/null 2>err
	[[ $? = 63 ]] || fail "$(<err)" || return
	exits 101 "$@" skip=99 && exits 101 "$@" skip=99 -d
}
given '((EUID == 0)) && setpriv --reuid=65534 --regid=65534 --clear-groups "$pardd" -V' "not root, or no setpriv" \
    it "is refused for the same reason with --dry-run" dry_denied

# ----------------------------------------------------------- the exact words

words()
{
	"$blocks" make src 1300 && exits 0 "$pardd" if=src of=dst bs=512 "$@"
}
exact()
{
	words || return
	[[ ! -s out && $(wc -l <err) = 4 ]] && [[ $(sed -n 1p err) = '2+1 records in' ]] &&
	    [[ $(sed -n 2p err) = '2+1 records out' ]] && sed -n 3p err | grep -Eq "$bytes_line" &&
	    [[ $(sed -n 4p err) = 'pardd: complete, flushed' ]] && return
	fail "$(<err)"
}
bytes_line='^1300 bytes \(1\.3 kB, 1\.3 KiB\) copied, [0-9.e-]+ s, [0-9.]+ [kMG]?B/s$'
it "prints records, bytes and verdict, as scripts know them" exact
unflushed()
{
	words sync=0 && [[ $(tail -n 1 err) = 'pardd: complete, not flushed' ]]
}
it "says that it did not flush with sync=0" unflushed
whole_records()
{
	words count=2 && [[ $(head -n 2 err) = $'2+0 records in\n2+0 records out' ]]
}
it "counts whole blocks as whole" whole_records
none()
{
	words status=none || return
	[[ ! -s err ]] || fail "$(<err)"
}
it "prints nothing with status=none" none
none_but()
{
	run "$pardd" if=no of=dst status=none
	[[ $status = 52 ]] && one_line no
}
it "prints errors with status=none" none_but
none_short()
{
	"$blocks" make - 1000 | { run "$pardd" of=dst bs=512 count=9 status=none; :; }
	[[ -s err ]]
}
it "prints that the copy is not complete with status=none" none_short
noxfer()
{
	words status=noxfer && [[ $(head -n 2 err) = $'2+1 records in\n2+1 records out' ]] && does_not_say copied
}
it "leaves out the bytes line with status=noxfer" noxfer
timed()
{
	words time=1 && says '^time to transfer data was [0-9]+\.[0-9]{6} secs, [0-9]+\.[0-9]{2} MB/sec$'
}
it "prints sgp_dd's timing line with time=1" timed
untimed()
{
	words time=0 && does_not_say 'time to transfer'
}
it "prints no timing line unasked" untimed
on_terminal()
{
	"$blocks" make src 2M
	export FAULTS="on=$PWD/src op=read sleep=50" LD_PRELOAD=$shim
	script -qec "'$pardd' if=src of=dst bs=512 bpt=64 thr=1 $*" shown >/dev/null
}
drawn()
{
	on_terminal && grep -q $'\r.*copying' shown && grep -q '^pardd: complete' shown
}
not_drawn()
{
	on_terminal status=none && ! grep -v '^Script' shown | grep -q '[^[:space:]]'
}
if able 'script -qec true /dev/null' "no script(1), or no terminals"; then
	it "draws progress on a terminal" drawn
	it "draws no progress on a terminal with status=none" not_drawn
fi
# terminal COMMAND: its status, at a terminal, which shows what is in the file shown
terminal()
{
	script -qec "$1" shown >/dev/null
	status=$?
}
no_of()
{
	"$blocks" make src 2M && terminal "'$pardd' if=src 2>err" &&
	    [[ $status = 1 ]] && says 'of= is missing.*of=- ' && (($(wc -c <shown) < 1000)) &&
	    terminal "'$pardd' if=src -d 2>err" && [[ $status = 1 ]] &&
	    terminal "'$pardd' if=src of=- count=1 2>err" && [[ $status = 0 ]]
}
no_if()
{
	echo typed | script -qec "'$pardd' of=dst 2>err" shown >/dev/null
	says 'if= is missing, so this terminal is read' && [[ $(<dst) = typed ]] && complete &&
	    echo typed | script -qec "'$pardd' if=- of=dst 2>err" shown >/dev/null && does_not_say 'if= is missing'
}
if script -qec true /dev/null >/dev/null 2>&1; then
	it "writes no image to a terminal, unless it is named" no_of
	it "says that it reads the terminal, where nothing is named" no_if
fi
quiet()
{
	words && ! grep -q $'\r' err
}
it "draws no progress where stderr is no terminal" quiet
