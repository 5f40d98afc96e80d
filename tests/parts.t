#!/usr/bin/env bash
# Partitions: ipart= and opart=, and what is said about them.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

mutate=$tools/mutate
needs 'command -v sfdisk' '[[ -x $mutate ]]' -- "no sfdisk, or no mutate"

loops=
! can_loop || loops=1
only plain asan		# one thread looks, before there are others

# ---------------------------------------------------------------- the disks

gpt_table()
{
	printf '%s\n' 'label: gpt' 'size=2M,name="first one"' 'size=3M' 'size=1M,name="evil\\x1b"'
}
dos_table()
{
	printf '%s\n' 'label: dos' 'size=2M' 'size=6M,type=5' 'size=1M' 'size=512K' 'size=2M' 'size=1M'
}
# fill DISK SECTOR SEED: what lies in partitions knows its place
fill()
{
	local start count
	while read -r start count; do
		"$blocks" make "$1" $((count * $2)) "$3" $((start * $2)) || return
	done < <(sfdisk -d "$1" | grep -v 'type=5$' | sed -n \
	    's/.* : start= *\([0-9]*\), size= *\([0-9]*\),.*/\1 \2/p')
}
# image NAME KIND SEED: 12 MiB with a table
image()
{
	rm -f "$1" && truncate -s 12M "$1" && "$2_table" | sfdisk -q "$1" && fill "$1" 512 "$3"
}
# disk NAME KIND SECTOR SEED: the same as a loop device; its name is in $NAME
disk()
{
	truncate -s 12M "$1.img" && loop "$1.img" -b "$3" && printf -v "$1" %s "$dev" && "$2_table" |
	    sfdisk -q --no-reread --no-tell-kernel "$dev" && fill "$dev" "$3" "$4"
}
# route DISK N: the columns Start and Sectors of a partition, by fdisk's library
route()
{
	sfdisk -d "$1" | sed -n "s/^[^ ]*[^0-9 ]\{0,1\}$2 : start= *\([0-9]*\), size= *\([0-9]*\),.*/\1 \2/p"
}

# ------------------------------------------- as with the columns of fdisk -l

# reads DISK SECTOR N...
reads()
{
	local n start count
	for n in "${@:3}"; do
		read -r start count < <(route "$1" "$n") || fail "no partition $n by fdisk" || return
		dd if="$1" of=want bs="$2" skip="$start" count="$count" \
		    status=none && exits 0 "$pardd" if="$1" of="got$n" \
		    ipart="$n" && complete && same want "got$n" || return
	done
}
# writes DISK SECTOR N...: the whole disk is as dd makes it
writes()
{
	local n start count
	for n in "${@:3}"; do
		read -r start count < <(route "$1" "$n") || fail "no partition $n by fdisk" || return
		"$blocks" make new "$((count * $2))" 7 && cat "$1" >want && dd if=new of=want bs="$2" seek="$start" \
		    conv=notrunc status=none && exits 0 "$pardd" if=new of="$1" opart="$n" thr=3 bpt=64 &&
		    complete && same want "$1" || return
	done
}
both_ways()
{
	reads "$@" && writes "$@"
}
image_both_ways()
{
	image d "$1" 1 && both_ways d 512 "${@:2}"
}
d="" a=""
disk_both_ways()
{
	disk d "$1" "$2" 1 && both_ways "$d" "$2" "${@:3}"
}
# An image of a disk with sectors of 4096 bytes.
large_image()
{
	disk d gpt 4096 1 && reads "$d" 4096 1 2 3 && cat "$d" >image && for n in 1 2 3; do
		    exits 0 "$pardd" if=image of=part$n ipart=$n &&
			same part$n got$n || return
	    done
}
it "takes the partitions of a GPT image as fdisk does" image_both_ways gpt 1 2 3
it "takes those of an MBR image, extended and logical too" image_both_ways dos 1 3 4 5 6 2
if able '[[ -n $loops ]]' "no loop devices"; then
	it "takes the partitions of a GPT disk" disk_both_ways gpt 512 1 2 3
	it "takes those of an MBR disk" disk_both_ways dos 512 1 3 4 5 6 2
	it "takes those of a GPT disk of 4096" disk_both_ways gpt 4096 1 2 3
	it "takes those of an MBR disk of 4096" disk_both_ways dos 4096 1 3 4 5 6 2
	it "knows the image of a disk of 4096 by its GPT" large_image
fi

far()
{
	truncate -s 10T far.img || return
	loop far.img -b 4096 || return
	printf '%s\n' 'label: dos' 'size=3T' 'size=3T' 'size=1G' |
	    sfdisk -q --no-reread --no-tell-kernel "$dev" || return
	for n in 1 2 3; do
		read -r start count < <(route "$dev" "$n")
		exits 0 "$pardd" -dv if="$dev" of=/dev/null ipart=$n &&
		    grep -qx "source_first_byte=$((start * 4096))" out && grep -qx "bytes=$((count * 4096))" out ||
		    fail "partition $n: $(cat out err)" || return
	done
}
given '[[ -n $loops ]] && truncate -s 10T "$scratch/probe"' "no loop devices of 10 TiB" \
    it "counts beyond 2 TiB on an MBR disk of 4096" far
rm -f "$scratch/probe"

one_to_other()
{
	image a gpt 1 && image b dos 2 && exits 0 "$pardd" if=a of=b ipart=1 \
	    opart=5 count=1M iflag=count_bytes && complete || return
	read -r from _ < <(route a 1)
	read -r to _ < <(route b 5)
	cmp -n 1M <(tail -c +$((from * 512 + 1)) a) <(tail -c +$((to * 512 + 1)) b)
}
it "copies a partition of one disk into one of another" one_to_other
it "copies a partition into another of the same disk" eval \
    'image a gpt 1 && cp a want && dd if=a of=want bs=512 skip=2048 seek=6144 count=4096 conv=notrunc status=none &&
    exits 0 "$pardd" if=a of=a ipart=1 opart=2 && same want a'
it "refuses a partition onto itself" eval 'image a gpt 1 && refused overlap if=a of=a ipart=1 opart=1'
it "takes a partition of what standard input is" eval \
    'image a gpt 1 && dd if=a of=want bs=512 skip=2048 count=4096 status=none && exits 0 "$pardd" ipart=1 of=got <a &&
    same want got'

# --------------------------------------------------------- it is the end now

counts()
{
	image a gpt 1 && dd if=a of=want bs=512 skip=2053 count=7 status=none &&
	    exits 0 "$pardd" if=a of=got ipart=1 skip=5 count=7 && complete && same want got
}
it "counts skip= from the partition's first byte" counts
seeks()
{
	image a gpt 1 && "$blocks" make new 5k 3 && cp a want &&
	    dd if=new of=want bs=512 seek=2053 conv=notrunc status=none &&
	    exits 0 "$pardd" if=new of=a opart=1 seek=5 && same want a
}
it "counts seek= from there" seeks
untouched()
{
	image a gpt 1 && cp a was && "$blocks" make large 4M 3 && refused "$@" && same was a
}
it "refuses skip= past the partition" untouched 'partition 1 of a' if=a of=/dev/null ipart=1 skip=4097
it "refuses count= past the partition" untouched 'partition 1 of a' if=a of=/dev/null ipart=1 skip=1 count=4096
it "refuses seek= past the partition" untouched 'partition 1 of a' if=large of=a opart=1 seek=4097 count=0
it "refuses what is larger than the partition" untouched 'partition 1 of a has room for 2097152' if=large of=a opart=1
it "refuses what is larger from seek= on" \
    untouched 'partition 2 of a has room' if=large of=a opart=2 seek=1 count=6144
it "refuses padding past the partition" untouched 'partition 1 of a has room' \
    if=large of=a opart=1 bs=10k conv=sync count=205
fills()
{
	image a gpt 1 && cp a want && dd if=/dev/zero of=want bs=512 seek=6144 count=6144 conv=notrunc status=none &&
	    exits 0 "$pardd" if=/dev/zero of=a opart=2 && complete && same want a
}
it "fills a partition with zeros, and nothing else" fills
pours()
{
	image a gpt 1 && cp a want && dd if=/dev/zero of=want bs=512 seek=2048 \
	    count=4096 conv=notrunc status=none || return
	exits "$1" "$pardd" of=a opart=1 thr=4 bpt=37 < <(head -c "$2" /dev/zero) && same want a
}
it "takes a stream that fills a partition" pours 0 2M
it "stops a stream at the partition's end, with 78" pours 78 $((2097152 + 1))
it "stops a long stream there" pours 78 9M
sparse()
{
	image a gpt 1 && cp a want && truncate -s 3M new && dd if=/dev/zero \
	    of=want bs=512 seek=6144 count=6144 conv=notrunc status=none &&
	    exits 0 "$pardd" if=new of=a opart=2 conv=sparse && same want a
}
it "keeps to the partition with conv=sparse" sparse

# ----------------------------------------------------------------- refusals

lists()
{
	image a gpt 1 && refused 'ipart=9: .*no such partition on a; it has 1 \(bytes 1048576 to 3145727\), 2 \(bytes 3145728 to 6291455\), 3 ' \
	    if=a of=/dev/null ipart=9 && refused 'opart=4: .*no such partition on a' if=a of=a opart=4
}
it "refuses a partition that is not there, and lists those that are" lists
no_table()
{
	"$blocks" make a 12M 1 && refused 'no partition table' if=a of=. ipart=1 &&
	    cp a b && refused 'no partition table' if=a of=b opart=1 && same a b
}
it "refuses an end without a table" no_table
empty_table()
{
	truncate -s 12M a && echo 'label: gpt' | sfdisk -q a && refused 'table of a is empty' if=a of=. ipart=1
}
it "refuses an empty table" empty_table
no_disk()
{
	image a gpt 1
	refused 'standard input has no partitions' of=. ipart=1 < <(cat a) &&
	    refused 'has no partitions' if=/dev/zero of=. ipart=1 count=1 &&
	    refused 'has no partitions' if=a of=/dev/null opart=1 &&
	    refused 'has no partitions' if=a of=new opart=1 &&
	    refused 'has no partitions' if=a of=a oflag=append opart=1 &&
	    : >empty && refused 'has no partitions' if=empty of=. ipart=1 && [[ ! -e new ]]
}
it "refuses streams, generated input, what is empty or not there" no_disk
it "will not cut off the rest of the disk" eval \
    'image a gpt 1 && cp a was && "$blocks" make new 1M 2 && usage trunc if=new of=a opart=1 oflag=trunc &&
    same was a'
it "takes no partition 0" usage ipart if=/dev/null of=. ipart=0
it "takes no partition -1" usage opart if=/dev/null of=. opart=-1
beyond()
{
	image a dos 1 && truncate -s 9M a && exits 0 "$pardd" if=a of=. ipart=1 &&
	    refused 'partition 3 of a, bytes 9437184 to 10485759, goes beyond the end of the disk at 9437184' \
	    if=a of=. ipart=3
}
it "refuses a partition beyond the disk's end" beyond
cut_gpt()
{
	image a gpt 1 && truncate -s 9M a && refused 'GPT is made for a larger disk' if=a of=. ipart=1
}
it "refuses the GPT of a larger disk" cut_gpt
# 256 bytes an entry, in both headers
large_entries()
{
	local at
	image a gpt 1 && for at in 512 $(($(stat -c %s a) - 512)); do
		printf '\0\1' | dd of=a bs=1 seek=$((at + 84)) conv=notrunc status=none || return
	done
	refused 'its GPT has entries of 256 bytes, and only those of 128 are read' if=a of=. ipart=1 &&
	    refused 'entries of 256 bytes.*nothing for table=' if=a of=b table=fix && [[ ! -e b ]]
}
it "refuses a GPT with entries of 256 bytes" large_entries
foreign()
{
	local kind
	for kind in sun sgi; do
		truncate -s 0 a && truncate -s 20M a && echo "label: $kind" | sfdisk -q a && refused \
		    "a has a partition table of the kind \"$kind\", and only GPT and MBR are read here; .*parted" \
		    if=a of=. ipart=1 || return
	done
	truncate -s 0 a && truncate -s 1M a && printf RDSK | dd of=a bs=512 seek=3 conv=notrunc status=none &&
	    refused 'a has a partition table of the kind "amiga"' if=a of=. ipart=1
}
it "... and of the table of a Sun, an SGI or an Amiga" foreign
other_sector()
{
	disk d gpt 512 1 && cat "$d" >copy && loop copy -b 4096 &&
	    refused 'GPT counts in sectors of 512 bytes, and the disk has 4096' if="$dev" of=. ipart=1
}
given '[[ -n $loops ]]' "no loop devices" it "refuses a GPT in sectors of another size, and says so" other_sector
looped()
{
	image a dos 1 || return
	# the second entry of the first link leads to the first link
	printf '\0\0\0\0\5\0\0\0\0\0\0\0\1\0\0\0' |
	    dd of=a bs=1 seek=$((1048576 * 3 + 462)) conv=notrunc status=none &&
	    refused 'chain of logical partitions does not end' if=a of=. ipart=5
}
it "refuses a chain of logical partitions that leads back into itself" looped
absurd()
{
	image a gpt 1 && printf '\377\377\377\0' | dd of=a bs=1 seek=$((512 + 80)) conv=notrunc status=none &&
	    refused 'cannot have that many entries' if=a of=. ipart=1
}
it "refuses a GPT of sixteen million entries" absurd
backup()
{
	image a gpt 1 && dd if=a of=want bs=512 skip=2048 count=4096 status=none &&
	    head -c 512 /dev/urandom | dd of=a bs=512 seek=1 conv=notrunc \
	    status=none && exits 0 "$pardd" if=a of=got ipart=1 && same want got
}
it "takes the backup of a GPT whose header is gone" backup


# -------------------------------------------------------------------- notes

# noted REGEX OPERANDS...
noted()
{
	image a gpt 1 && "$blocks" make new 1M 2 && "$blocks" make b 12M 5 &&
	    exits 0 "$pardd" -dv "${@:2}" && { grep -q '_range=' out ||
	    fail "no _range= in the plan: $(cat out)"; } &&
	    exits 0 "$pardd" "${@:2}" && says "^pardd: note: .*$1" && complete
}
silent()
{
	image a gpt 1 && "$blocks" make new 1M 2 && "$blocks" make b 12M 5 &&
	    exits 0 "$pardd" "$@" && does_not_say note: && complete
}
it "notes a target's range within a partition" \
    noted 'target, a, begins 512 bytes into partition 1 and ends 1048064 bytes before the end of partition 1' \
    if=new of=a seek=2049
it "notes a source's range within a partition" \
    noted 'source, a, begins 512 bytes into partition 1 and ends 2048 bytes before' if=a of=. skip=2049 count=4091
once()
{
	image a gpt 1 && exits 0 "$pardd" if=a of=b of=c of=d skip=2049 count=4091 &&
	    [[ $(grep -c '^pardd: note: .*source, a, begins 512 bytes into partition 1' err) = 1 ]]
}
it "... once for several targets" once
it "notes a range that ends within a partition" \
    noted 'begins at the first byte of partition 1 and ends 512 bytes before the end of partition 1' \
    if=a of=. skip=2048 count=4095
it "notes a range that goes on into the next partition" \
    noted 'begins at the first byte of partition 1 and ends 3145216 bytes before the end of partition 2' \
    if=a of=. skip=2048 count=4097
it "notes a range that goes on behind the last partition" \
    noted 'begins at the first byte of partition 3 and ends 512 bytes after the end of partition 3' \
    if=a of=. skip=12288 count=2049
it "notes a range that begins before a partition" \
    noted 'begins 512 bytes before partition 1 and ends at the end of partition 1' if=a of=. skip=2047 count=4097
it "notes a range that takes two partitions" \
    noted 'begins at the first byte of partition 1 and ends at the end of partition 2' if=a of=. skip=2048 count=10240
it "notes that seek= was forgotten" \
    noted 'target, a, begins at the first byte of the disk and ends 1048576 bytes before the end of partition 1' \
    if=b of=a skip=1 count=4096
it "notes that count= was forgotten" \
    noted 'source, a, begins at the first byte of partition 2 and ends at the end of the disk' if=a of=. skip=6144
it "notes ipart= without opart= on a disk with partitions" \
    noted 'target, a, begins at the first byte of the disk and ends at the end of partition 1' if=a of=a ipart=2
it "says nothing of a partition in its columns" silent if=a of=. skip=2048 count=4096
it "says nothing of a partition by its number" silent if=a of=a ipart=1 opart=2
it "says nothing of a part of a partition by its number" silent if=a of=. ipart=1 skip=3 count=5
it "says nothing of a whole disk" silent if=a of=.
it "says nothing of a whole disk with count=" silent if=a of=. count=24576
it "says nothing of a whole disk onto another" silent if=b of=a
it "says nothing of the first partitions with the table" silent if=a of=. count=12288
it "says nothing of the table itself" silent if=a of=. count=34
it "says nothing where there is no table" silent if=b of=. skip=5 count=70
it "prints no note with status=none" eval \
    'image a gpt 1 && exits 0 "$pardd" if=a of=. skip=2049 count=7 status=none && [[ ! -s err ]]'
logical()
{
	local start count
	image a dos 1
	read -r start count < <(route a 5)
	exits 0 "$pardd" if=a of=. skip="$start" count="$count" && does_not_say note: || return
	exits 0 "$pardd" if=a of=. skip="$start" count=$((count + 1)) &&
	    says 'note: .*ends 512 bytes after the end of partition 5$' || return
	read -r start count < <(route a 2)
	exits 0 "$pardd" if=a of=. skip="$start" count="$count" && does_not_say note: &&
	    exits 0 "$pardd" if=a of=. skip="$start" count=$((count + 1)) && says 'note: .*partition 2 and ends'
}
it "knows logical partitions from the extended one" logical
unread()
{
	image a gpt 1 && exits 0 strace -f -o log -e trace=openat,preadv2,pread64 \
	    "$pardd" if=a of=b && ! grep 'pread64(.*, 512, 0)' log &&
	    exits 0 strace -f -o log -e trace=pread64 "$pardd" if=a of=b count=5 && grep -q 'pread64(.*, 512, 0)' log
}
[[ $VARIANT != plain ]] || given 'command -v strace' "no strace" \
    it "does not look for a table when all is copied" unread

uncached()
{
	image a gpt 1 && sync a && dd of=a oflag=nocache conv=notrunc,fdatasync \
	    count=0 status=none && [[ $("$blocks" incore a) = 0 ]]
}
leaves_cache()
{
	uncached && exits 0 "$pardd" -dv if=a of=. ipart=2 && [[ $("$blocks" incore a) = 0 ]] || return
	cat a >/dev/null && exits 0 "$pardd" -dv if=a of=. ipart=2 && (($("$blocks" incore a) > 3000))
}
try_uncached()
{
	(cd "$scratch" && uncached)
}
given try_uncached "this file system is all cache" it "leaves the page cache as it was" leaves_cache
rm -f "$scratch/a"

# ------------------------------------------------------- in the kernel's hands

beside_mounted()
{
	truncate -s 12M disk && gpt_table | sfdisk -q disk && loop disk -P || return
	# for a kernel that knows no tables
	[[ -b ${dev}p2 ]] || "$tools/part" add "$dev" 2 6144 6144
	until_true 20 test -b "$dev"p2 && mke2fs -q -t ext4 "$dev"p2 && mkdir at && mount "$dev"p2 at || return
	undo umount "$PWD/at"
	exits 0 "$pardd" of="$dev" opart=1 < <(head -c 1M /dev/zero) && complete &&
	    exits 101 "$pardd" of="$dev" opart=2 </dev/zero && one_line p2
}
given '[[ -n $loops ]] && command -v mke2fs' "no loop devices, or no mke2fs" \
    it "writes a partition beside a mounted one, but not that" beside_mounted

# -------------------------------------------------------- after a whole clone

astray()
{
	image a gpt 1 && "$blocks" make b 16M 5 && exits 0 "$pardd" if=a of=b &&
	    says '^pardd: note: b is larger .* sfdisk --relocate gpt-bak-std b$' && complete &&
	    does_not_say 'sectors of' || return
	command -v sgdisk >/dev/null || return 0
	sgdisk -v b | grep -q 'Problem' || fail "nothing to mend" || return
	sfdisk --relocate gpt-bak-std b >/dev/null && sgdisk -v b | grep -q 'No problems found'
}
it "tells how to move the backup GPT to the end of a larger target" astray
# The command is for a shell, whatever the name is.
pasted()
{
	local name command
	image a gpt 1 || return
	for name in '; touch pwned' '$(touch pwned)' "it's" $'a\nb' -o $'-\xff\e[31m2' 'a  b' '~' '#b' \
	    'a\b' "'" '' '*' '!' ">pwned"; do
		truncate -s 16M -- "./$name" 2>/dev/null || continue
		exits 0 "$pardd" if=a of="$name" || return
		command=$(sed -n 's/^pardd: note: .*to move it there: //p' err)
		[[ -n $command ]] && eval "set -- $command" || return
		[[ $# = 4 && $4 != -* && $4 -ef ./$name && ! -e pwned ]] || fail "$command" || return
		rm -- "./$name"
	done
}
it "quotes the name in it for a shell" pasted
not_astray()
{
	image a "$1" 1 && "$blocks" make b "$2" 5 && exits 0 "$pardd" if=a of=b "${@:3}" &&
	    does_not_say 'note: .*(GPT|backup|beyond)' && complete
}
it "says nothing of an MBR on a larger target" not_astray dos 16M
it "says nothing when the target is as large" not_astray gpt 12M
it "says nothing of it when it was not the whole disk" not_astray gpt 16M count=34
it "says nothing of it when the copy failed" eval 'image a gpt 1 && "$blocks" make b 16M 5 &&
    exits 103 with_faults "on=$PWD/b op=flush fail=EIO" "$pardd" if=a of=b && faulty fdatasync && does_not_say sgdisk'
# smaller BLOCKS: onto a disk of 8 MiB; the partitions end at block 14336
smaller()
{
	image a gpt 1 && truncate -s 8M b.img && loop b.img && exits 0 "$pardd" if=a of="$dev" count="$1" && complete
}
astray_smaller()
{
	smaller 14336 && says "^pardd: note: $dev is smaller .* sgdisk -e $dev$" || return
	command -v sgdisk >/dev/null || return 0
	sgdisk -e "$dev" >/dev/null && sgdisk -v "$dev" | grep -q 'No problems found'
}
if [[ -n $loops ]]; then
	it "tells it for a smaller target, too, that has all partitions" astray_smaller
	it "says nothing of it if a partition was cut off" eval 'smaller 14335 && does_not_say sgdisk'
fi
# crossed: a disk of 12 MiB whose first partition, of its table, lies behind the
# second: that ends at block 4096, the first at block 16384
crossed()
{
	truncate -s 12M a.img && printf '%s\n' 'label: dos' 'start=8192,size=4M' \
	    'start=2048,size=1M' | sfdisk -q a.img && loop a.img && a=$dev
}
# smaller_disk BYTES: in $dev
smaller_disk()
{
	truncate -s "$1" b.img && loop b.img
}
left_behind()
{
	local note="partition 1 of $a ends beyond the copy; count=16384 copies all"
	exits 0 "$pardd" if="$a" of="$dev" "$@" && complete &&
	    says "^pardd: note: $note$" && exits 0 "$pardd" -dv if="$a" of="$dev" "$@" &&
	    grep -qx "note=$note" out || fail "$(cat out err)"
}
out_of_order()
{
	crossed && smaller_disk 8M && left_behind count=4096 && left_behind count=16383 || return
	exits 0 "$pardd" if="$a" of=image count=4096 && says "partition 1 of $a" &&
	    exits 0 "$pardd" if="$a" of="$dev" count=16384 && does_not_say beyond &&
	    sfdisk -d "$dev" | grep -q 'start= *8192, size= *8192'
}
in_bytes()
{
	crossed && smaller_disk 8M && exits 0 "$pardd" if="$a" of="$dev" \
	    iflag=count_bytes count=2097152 && says '; count=8388608 copies all$'
}
many_behind()
{
	truncate -s 12M a.img && {
		echo 'label: gpt'
		for ((n = 1; n <= 11; n++)); do
			echo "start=$((2048 + n * 1024)),size=64"
		done
	} | sfdisk -q a.img && loop a.img && a=$dev && exits 0 "$pardd" if="$a" of=b.img count=11264 &&
	    says "^pardd: note: partitions 9, 10 and 11 of $a end beyond" &&
	    exits 0 "$pardd" if="$a" of=b.img count=4096 &&
	    says "partitions 2, 3, 4, 5, 6, 7, 8 and 3 more of $a end beyond"
}
no_clone()
{
	crossed && smaller_disk 8M && exits 0 "$pardd" if="$a" of="$dev" count=2048 &&
	    does_not_say beyond && exits 0 "$pardd" if="$a" of="$dev" skip=2048 \
	    seek=2048 count=2048 && does_not_say beyond && cp a.img copy &&
	    exits 0 "$pardd" if=copy of=b count=4096 && does_not_say note
}
# The count= that a refusal names is taken, and is the right one.
advised()
{
	crossed && smaller_disk 8M && refused '; table=fix or count=16384 copies all partitions$' \
	    if="$a" of="$dev" && refused '; count=16384 copies all partitions$' if="$a" of="$dev" map=map && refused '; count=8388608 copies all partitions$' if="$a" \
	    of="$dev" iflag=count_bytes count=12582912 &&
	    refused '; table=fix or count=128 copies all partitions$' if="$a" of="$dev" bs=64k || return
	smaller_disk 7M && refused '; count=14336 fits, but not all partitions$' \
	    if="$a" of="$dev" && exits 0 "$pardd" if="$a" of="$dev" count=14336 || return
	"$blocks" make a 12M 1 && refused '; count=14336 fits$' if=a of="$dev" &&
	    refused '; count=7 fits$' if=a of="$dev" bs=1M &&
	    refused '; count=12336 fits$' if=a of="$dev" seek=2000 &&
	    exits 0 "$pardd" if=a of="$dev" seek=2000 count=12336 &&
	    refused '; count= limits the copy$' if=a of="$dev" seek=14336
}
if [[ -n $loops ]]; then
	it "names a partition that a clone leaves behind, and the count= for all" out_of_order
	it "names that in bytes where count= is in bytes" in_bytes
	it "names no count= for which there is no room" eval \
	    'crossed && smaller_disk 7M && exits 0 "$pardd" if="$a" of="$dev" count=4096 &&
	    says "^pardd: note: partition 1 of $a ends beyond the copy$"'
	it "names the first of many" many_behind
	it "says nothing of it for the head of a disk, for another range, or without a device" no_clone
	it "names the right count= for a target that is too small" advised
fi
# is_torn NOTE: of x.img, before the copy and after it, and in the plan
is_torn()
{
	rm -f y.img && exits 0 "$pardd" if=x.img of=y.img && same x.img y.img && complete &&
	    [[ $(grep -c "^pardd: note: $1: is it complete?$" err) = 2 ]] || fail "$(<err)" || return
	exits 0 "$pardd" -d if=x.img of=. && tr -s ' \n' ' ' <out | grep -q "Note $1: is it complete?" || fail "$(<out)"
}
not_torn()
{
	exits 0 "$pardd" "$@" of=. -d && ! grep -q 'is it complete' out || fail "$(<out)"
}
torn_table()
{
	truncate -s 32M x.img && printf '%s\n' "label: $1" size=2M size=24M | sfdisk -q x.img && not_torn if=x.img &&
	    truncate -s 20M x.img && not_torn if=x.img count=20480 || return
	if [[ -n $loops ]]; then
		loop x.img && not_torn if="$dev" || return
	fi
	is_torn "$2"
}
it "says that an image ends before its last partition" torn_table dos 'partition 2 of x.img ends beyond it'
it "... or that its GPT is of more" torn_table gpt 'x.img: its GPT is made for a larger disk'
# Another disk's GPT that is wrong is none of a longer one; a directory is no image.
whole_table()
{
	local at
	truncate -s 32M x.img && printf '%s\n' 'label: gpt' size=2M size=24M | sfdisk -q x.img && mkdir -p x.img.d &&
	    cp x.img x.img.d/x && truncate -s 20M x.img.d/x && not_torn if=x.img.d/x || return
	for at in 528 $(((32 << 20) - 496)); do
		printf 1234 | dd of=x.img bs=1 seek="$at" conv=notrunc status=none
	done
	not_torn if=x.img && refused 'its GPT is damaged' if=x.img of=. ipart=1
}
it "... but not of a damaged GPT, or of a directory with such a name" whole_table
torn_volume()
{
	truncate -s 32M x.img && mke2fs -qF x.img && not_torn if=x.img && truncate -s 20M x.img &&
	    is_torn 'x.img is shorter than the ext2 in it' || return
	rm x.img && truncate -s 20M x.img && printf '\1CD001\1' | dd of=x.img bs=1 seek=32768 conv=notrunc status=none &&
	    printf '\0\x28\0\0\0\0\x28\0' | dd of=x.img bs=1 seek=32848 conv=notrunc status=none &&
	    printf '\0\x08\x08\0' | dd of=x.img bs=1 seek=32896 conv=notrunc status=none &&
	    not_torn if=x.img && truncate -s 19M x.img && is_torn 'x.img is shorter than the iso9660 in it'
}
given 'command -v mke2fs' "no mke2fs" it "... or its file system" torn_volume
onto()
{
	disk a gpt "$1" 1 && truncate -s "$3" b.img && loop b.img -b "$2" &&
	    exits 0 "$pardd" if="$a" of="$dev" && complete
}
onto_other()
{
	onto "$1" "$2" 12M && says "note: the partition table counts in sectors of $1 bytes, and $dev has $2" || return
	# what it proposes is true
	local all
	all=$(losetup -f --show -b "$1" "$dev") || return
	undo losetup -d "$all"
	sfdisk -d "$all" | grep -q 'size='
}
onto_same()
{
	onto "$1" "$1" "$2" && does_not_say 'sectors of'
}
image_onto()
{
	image a gpt 1 && truncate -s 12M b.img && loop b.img -b 4096 && exits 0 "$pardd" if=a of="$dev" bs=4096 &&
	    says 'table counts in sectors of 512 bytes' && complete
}
if [[ -n $loops ]]; then
	it "tells of sectors of another size, 512 onto 4096" onto_other 512 4096
	it "tells of sectors of another size, 4096 onto 512" onto_other 4096 512
	it "says nothing of equal sectors" onto_same 4096 12M
	it "tells of an image of 512 onto 4096" image_onto
fi

# -------------------------------------------------------------- what is lost

ext4()
{
	truncate -s "$2" "$1" && mke2fs -q -F -t ext4 -L "$3" "$1"
}
# overwrites OPERANDS...: the lines of the plan, in $lines
overwrites()
{
	exits 0 "$pardd" -dv "$@" && { lines=$(grep '^overwrites=' out) || :; }
}
label()
{
	image a gpt 1 && ext4 fs 2M 'my data' && exits 0 "$pardd" if=fs of=a opart=1 &&
	    cp a was && "$blocks" make b 12M 3 && overwrites if=b of=a && grep -qx 'overwrites=gpt at byte 512' out &&
	    grep -qx 'overwrites=ext4 "my data" at byte 1049656' out && same was a || fail "$(cat out err)"
}
only_part()
{
	image a gpt 1 && ext4 fs 2M root && exits 0 "$pardd" if=fs of=a opart=1 &&
	    "$blocks" make b 1M 3 && overwrites if=b of=a opart=1 &&
	    [[ $lines = 'overwrites=ext4 "root" at byte 1049656' ]] && overwrites if=b of=a opart=1 count=2 &&
	    [[ -z $lines ]] && overwrites if=b of=a opart=2 && [[ -z $lines ]] || fail "$(cat out err)"
}
whole_fs()
{
	ext4 a 2M $'odd\e[7m' && "$blocks" make b 1M 3 && overwrites if=b of=a &&
	    [[ $lines = 'overwrites=ext4 "odd\x1B[7m" at byte 1080' ]] &&
	    overwrites if=b of=a seek=100 && [[ -z $lines ]] || fail "$(cat out err)"
}
nothing()
{
	"$blocks" make a 2M 1 && "$blocks" make b 1M 3 && overwrites if=b of=a
	[[ -z $lines ]] && overwrites if=b of=new
	[[ -z $lines && ! -e new ]] && overwrites if=b of=/dev/null
	[[ -z $lines ]]
}
aloud()
{
	ext4 a 2M x && "$blocks" make b 1M 3 && exits 0 "$pardd" if=b of=a verbose=1 &&
	    says '^overwrites=ext4 "x" at byte 1080$' && complete
}
# A device says so on each run, and without a device nothing is read.
lost()
{
	disk a gpt 512 1 && ext4 fs 2M 'my data' && exits 0 "$pardd" if=fs of="$a" \
	    opart=1 && "$blocks" make b 2M 3 && exits 0 "$pardd" if=b of="$a" &&
	    says "^pardd: note: this overwrites gpt, ext4 \"my data\" on $a$" &&
	    complete && exits 0 "$pardd" if=b of="$a" seek=4096 && does_not_say overwrites || return
	image c gpt 1 && exits 0 "$pardd" if=b of=c && does_not_say overwrites &&
	    exits 0 "$pardd" if=fs of="$a" && exits 0 "$pardd" if=b of="$a" status=none &&
	    [[ ! -s err ]] && exits 0 "$pardd" if=fs of="$a" &&
	    exits 0 "$pardd" if=fs of="$a" count=4096 compare=1 && does_not_say overwrites
}
# Four names are enough.
lost_many()
{
	local a i
	truncate -s 16M img && { echo 'label: gpt' && for i in {1..7}; do echo size=1M; done; } | sfdisk -q img &&
	    for i in {1..7}; do
		mke2fs -q -F -t ext2 -L "fs$i" -E offset=$((i << 20)) img 512K || return
	    done && loop img && a=$dev && "$blocks" make b 16M 3 || return
	exits 0 "$pardd" if=b of="$a" -d && tr -s ' \n' ' ' <out | grep -Fq "5 ext2 \"fs5\" 1.0 MB and 2 more" &&
	    exits 0 "$pardd" if=b of="$a" && complete &&
	    says "^pardd: note: this overwrites gpt, ext2 \"fs1\", ext2 \"fs2\", ext2 \"fs3\" and 4 more on $a\$"
}
# asked COMMAND...: the requests of the loop device $dev meanwhile, in $reads
asked()
{
	local before after stat=/sys/block/${dev#/dev/}/stat
	read -r before _ <"$stat"
	"$@" || return
	read -r after _ <"$stat"
	reads=$((after - before))
}
# Somebody has it open, so that its page cache outlives the run.
few_requests()
{
	local fd at
	"$blocks" make a 64M 1 && "$blocks" make b 1M 3 && sync a && loop a || return
	exec {fd}<"$dev"
	blockdev --flushbufs "$dev" && asked exits 0 "$pardd" -dv if=b of="$dev" || return
	((reads <= 12)) || fail "$reads requests" || return
	for at in 0 255 256 512 1024 16320 16383; do
		asked dd if="$dev" of=/dev/null bs=4k skip="$at" count=1 status=none &&
		    ((reads > 0)) || fail "page $at was left behind" || return
	done
	exec {fd}<&-
}
# noted TEXT OPERAND...: at the start, and in the plan
noted()
{
	exits 0 "$pardd" -dv "${@:2}" && grep -qE "^note=$1\$" out &&
	    exits 0 "$pardd" "${@:2}" && says "^pardd: note: $1$" && complete || fail "$1: $(cat out err)"
}
unnoted()
{
	exits 0 "$pardd" -dv "$@" && ! grep '^note=' out | grep -v 'after the copy .* still has'
}
# A file system that does not fit: what a shorter copy would do to it.
file_system_cut()
{
	ext4 fs 4M x && smaller_disk 1M && exits 101 "$pardd" if=fs of="$dev" &&
	    one_line 'count=2048 fits, but cuts the ext4; shrink it first \(resize2fs\)' &&
	    noted 'the range of fs cuts the ext4; shrink it first \(resize2fs\)' if=fs of="$dev" count=2048 || return
	cp fs large && truncate -s 8M large && smaller_disk 6M &&
	    exits 101 "$pardd" if=large of="$dev" && one_line 'count=8192 copies the whole file system' &&
	    unnoted if=large of="$dev" count=8192 && exits 0 "$pardd" if=large of="$dev" count=8192 && unnoted if="$dev" of=copy count=8192 &&
	    noted "the range of $dev cuts the ext4; .*" if="$dev" of=copy count=8191
}
it "says which file system a shorter copy would cut" file_system_cut
over_table()
{
	disk a gpt 512 1 && ext4 fs 2M x && noted "fs is one file system \(ext4\), and $a has partitions; .*" \
	    if=fs of="$a" && unnoted if=fs of="$a" || return
	disk a dos 512 1 && unnoted if=fs of="$a" opart=1 && image b gpt 2 && unnoted if=b of="$a" &&
	    exits 0 "$pardd" if=fs of=b opart=1 && noted "partition 1 of b is one file system .*" if=b ipart=1 of="$a"
}
nested()
{
	disk a gpt 512 1 && truncate -s 1M b && printf '%s\n' 'label: dos' 'size=64K' |
	    sfdisk -q b && noted "b has a partition table, and partition 1 of $a is a partition: .*" \
	    if=b of="$a" opart=1 && unnoted if=b of="$a"
}
blank()
{
	truncate -s 4M b && smaller_disk 8M && unnoted if=b of="$dev" && ext4 fs 2M x && cat fs >"$dev" &&
	    noted "b begins with zeros, and $dev holds data: .*" if=b of="$dev" &&
	    cat fs >"$dev" && unnoted if=/dev/zero of="$dev" &&
	    unnoted if=b of="$dev" seek=1 && "$blocks" make b 4M 1 && unnoted if=b of="$dev"
}
# What cannot be read begins with nothing that is known.
not_blank()
{
	"$blocks" make b 4M 1 && smaller_disk 8M && ext4 fs 2M x && cat fs >"$dev" &&
	    exits 0 with_faults "on=$PWD/b op=read at=0+4096 fail=EIO" "$pardd" if=b of="$dev" -dv &&
	    faulty read && ! grep 'begins with zeros' out
}
lines=""
if able '[[ -n $loops ]] && command -v mke2fs' "no loop devices, or no mke2fs"; then
	it "says what a run overwrites on a device" lost
	it "... of which it names four" lost_many
	it "looks for it by few requests, and leaves no page of it" few_requests
	it "notes a file system that goes onto a disk with partitions" over_table
	it "notes a disk that goes into a partition" nested
	it "notes zeros that go over something" blank
	it "... but not the zeros in place of what cannot be read" not_blank
fi
if able 'command -v mke2fs' "no mke2fs"; then
	it "lists the table and the file systems that a clone overwrites" label
	it "lists only what lies in the range" only_part
	it "escapes a label" whole_fs
	it "says it with verbose=1, before it does it" aloud
fi
it "lists nothing if nothing is there" nothing

# ------------------------------------------------------------ hostile tables

random_table()
{
	local i
	image a gpt 1
	for ((i = 0; i < $(heavy 20); i++)); do
		cp a b && head -c 16896 /dev/urandom | dd of=b bs=512 seek=1 conv=notrunc status=none
		head -c 16896 /dev/urandom | dd of=b bs=512 seek=$((24576 - 33)) conv=notrunc status=none
		refused 'GPT is damaged' if=b of=. ipart=1 || return
	done
}
it "refuses random bytes in place of a GPT" random_table

# Whatever the table says: a refusal, or a range within the disk.
spoilt()
{
	local kind=$1 sector=$2 how=${4-} i last
	cp "$5" clean || return
	for ((i = 0; i < $(heavy "$3"); i++)); do
		cp clean a && "$mutate" a "$sector" "$i" ${how:+"$how"} || return
		run "$pardd" -dv if=a of=a ipart=$((i % 5 + 1)) seek=40 count=1
		case $status in
		0)	last=$(sed -n 's/^source_last_byte=//p' out)
			((last < 2097152)) || fail "to byte $last" || break ;;
		101)	one_line . || break ;;
		*)	fail "status $status: $(cat err)" || break ;;
		esac
		run "$pardd" -dv if=/dev/zero of=a count=4000
		[[ $status = 0 ]] || fail "status $status: $(cat err)" || break
	done
	((i == $(heavy "$3"))) || { fail "$kind, seed $i"; return; }
}
small()
{
	truncate -s 2M small && printf '%s\n' "label: $1" "${@:2}" | sfdisk -q small
}
n=100
[[ -z $LONG ]] || n=5000
spoilt_gpt()
{
	small gpt start=64,size=128 start=192,size=256 start=1000,size=100 && spoilt gpt 512 $n "${1-}" "$PWD/small"
}
spoilt_dos()
{
	small dos start=64,size=128 start=192,size=2000,type=5 start=256,size=64 \
	    start=512,size=64 start=1024,size=512 && spoilt dos 512 $n '' "$PWD/small"
}
spoilt_large()
{
	truncate -s 2M small && loop small -b 4096 && printf '%s\n' 'label: gpt' \
	    'start=16,size=16' 'start=64,size=256' | sfdisk -q --no-reread --no-tell-kernel "$dev" &&
	    spoilt large 4096 $n '' "$dev"
}
it "survives damaged GPTs with correct checksums" spoilt_gpt
it "survives damaged GPTs" spoilt_gpt plain
it "survives damaged MBRs and logical partitions" spoilt_dos
given '[[ -n $loops ]]' "no loop devices" it "survives spoilt GPTs of 4096" spoilt_large
