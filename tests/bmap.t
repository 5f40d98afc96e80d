#!/usr/bin/env bash
# Block maps of images, as bmaptool makes them: what is copied, what becomes zeros,
# and that a block with a wrong digest is reported.
# shellcheck disable=SC1091,SC2015,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs 'command -v sha256sum sha1sum' -- "no sha256sum"

ranges='0-15 100-227 300 500-1099'	# of 1200 blocks, the last one in part
# image FILE: full of data, also where it is not mapped
image()
{
	"$blocks" make "$1" $((1199 * 4096 + 1000)) 4
}
# as_mapped FILE IMAGE [OLD]: mapped blocks of the image, between them zeros, or
# what was there
as_mapped()
{
	local r first last at=0 size
	size=$(stat -c %s "$2")
	if [[ -n ${3-} ]]; then
		cp "$3" want
	else
		rm -f want && truncate -s "$size" want
	fi
	for r in $ranges; do
		first=${r%-*} last=${r#*-}
		dd if="$2" of=want bs=4096 skip="$first" seek="$first" count=$((last - first + 1)) \
		    conv=notrunc status=none
	done
	cmp -n "$size" want "$1"
}
all='^pardd: complete, flushed, all as in map: 3\.1 of 4\.9 MB$'

# copied VERSION ALGORITHM OPERANDS...
copied()
{
	image image && made "$1" "$2" image && "$blocks" make dst 5M 9 &&
	    exits 0 "$pardd" if=image of=dst bmap=map "${@:3}" && last_says "$all" && as_mapped dst image
}
it "copies what is mapped, and makes zeros of the rest" copied 2.0 sha256
it "... with version 1.4" copied 1.4 sha256
it "... with version 1.3" copied 1.3 sha1
it "... with sha512" copied 2.0 sha512
# uncheckable SED: a map without checksums, of its ranges or of all
uncheckable()
{
	local sum
	image image && bmap 2.0 sha256 image >map && sed -i "$1" map && sum=$(sha256sum <map | cut -d ' ' -f 1) &&
	    sed -i "/<BmapFile/s/ 0*0 / $sum /" map && "$blocks" make dst 5M 9 &&
	    exits 0 "$pardd" if=image of=dst bmap=map && as_mapped dst image &&
	    last_says '^pardd: complete, flushed, as mapped by map, which has no checksums: 3\.1 of 4\.9 MB$'
}
it "... without checksums of ranges, which is told" uncheckable 's/ chksum="[0-9a-f]*"//'
for version in 1.0 1.1 1.2; do
	it "... with version $version, which has none" uncheckable \
	    "s/ chksum=\"[0-9a-f]*\"//;s/<bmap version=\"2.0\"/<bmap version=\"$version\"/;/Checksum/d"
done
it "... with a thread and small pieces" copied 2.0 sha256 thr=1 bs=512 bpt=3
it "... past the page cache" copied 2.0 sha256 iflag=direct oflag=direct engine=async bpt=128
verified()
{
	image image && made 2.0 sha256 image && "$blocks" make dst 5M 9 &&
	    exits 0 "$pardd" if=image of=dst bmap=map verify=1 &&
	    last_says '^pardd: complete, flushed, verified, all as in map' && as_mapped dst image
}
planned()
{
	image image && made 2.0 sha256 image && exits 0 "$pardd" if=image of=dst bmap=map -d &&
	    grep -Eq '^Used +without 1\.9 MB that the block map leaves out, which become zeros$' out || fail "$(<out)"
}
it "... and says so in the plan" planned
it "... and reads it back" verified
several()
{
	image image && made 2.0 sha256 image && "$blocks" make dst 5M 9 && "$blocks" make two 5M 9 &&
	    cp dst old && exits 0 "$pardd" if=image of=dst of=two bmap=map "$@" &&
	    last_says 'complete, flushed, verified, all as in map: 3\.1 of 4\.9 MB: 2 targets$'
}
it "... from several targets, too" eval 'several verify=1 && as_mapped dst image && as_mapped two image'
it "... and not what they had before" eval 'several verify=1 bpt=300 oflag=nozero &&
    as_mapped dst image old && as_mapped two image old'
differs()
{
	image image && made 2.0 sha256 image && "$blocks" make dst 5M 9 && "$blocks" make two 5M 9 || return
	exits 14 with_faults "on=$PWD/two op=read at=4096+1 flip" "$pardd" if=image of=dst of=two bmap=map \
	    verify=1 && says '^pardd: dst: complete, flushed, verified' &&
	    says '^pardd: two: NOT complete: 589824 bytes in 2 ranges of two are not'
}
it "... of which one differs, in what is mapped" differs
piped()
{
	image image && made 2.0 sha256 image && "$blocks" make dst 5M 9 &&
	    { "$pardd" of=dst bmap=map "$@" < <(cat image) 2>err || fail "$(<err)"; } &&
	    last_says 'all as in map' && as_mapped dst image
}
it "... out of a pipe" piped
it "... which is read back" piped verify=1
it "... in small pieces" piped bs=512 bpt=5
device()
{
	image image && truncate -s $((1200 * 4096)) image && made 2.0 sha256 image &&
	    "$blocks" make disk 6M 9 && cp disk old && loop disk &&
	    exits 0 "$pardd" if=image of="$dev" bmap=map "$@" || return
	if [[ -n $* ]]; then
		as_mapped disk image old
	else
		as_mapped disk image
	fi
}
if able can_loop "no loop devices"; then
	it "makes zeros on a device" device
	it "... or leaves what is there" device oflag=nozero
fi
it "leaves in a file what is there with oflag=nozero" eval \
    'image image && made 2.0 sha256 image && "$blocks" make dst 5M 9 && cp dst old &&
    exits 0 "$pardd" if=image of=dst bmap=map oflag=nozero && as_mapped dst image old'

# end_left FILE...: what is left out at the end of the image, within a block, is a hole in
# the file below a loop device, and stays one; a file beside it is as long as the image.
end_left()
{
	local of=("${@/#/of=}")
	"$blocks" make image 100001 && made 2.0 sha256 image 0-3 && truncate -s 1M below &&
	    loop below --sector-size 4096 && exits 0 "$pardd" if=image "${of[@]}" of="$dev" bmap=map oflag=nozero &&
	    complete && holds "$dev" 0 0 16384 || return
	(($# == 0)) || size_is "$1" 100001
}
it "... and on a loop device the hole at the end" end_left
it "... and in a file beside it" end_left beside
torn()
{
	image image && made 2.0 sha256 image && { "$pardd" of=dst bmap=map < <(head -c 3M image) 2>err
	    [[ $? = 102 ]]; } && last_says '^pardd: NOT complete: .*ended after 3145728 of 4912104 bytes'
}
it "does not take the beginning of an image for all of it" torn

# spoilt BLOCK REGEX OPERANDS...: a byte of the image is another
spoilt()
{
	image image && made 2.0 sha256 image &&
	    printf x | dd of=image bs=1 seek=$(($1 * 4096 + 77)) conv=notrunc status=none || return
	exits 14 "$pardd" if=image of=dst bmap=map && last_says "$2" || return
	"$pardd" of=dst bmap=map < <(cat image) 2>err
	(($? == 14)) && last_says "$2"
}
it "tells of a block that is not as it should be: 14" spoilt 600 \
    '^pardd: NOT as in map: bytes 2048000 to 4505599 of the image have another checksum$'
it "... the first of all" spoilt 0 ': bytes 0 to 65535 of the image'
it "... a range of one block" spoilt 300 ': bytes 1228800 to 1232895 of the image'
unmapped()
{
	image image && made 2.0 sha256 image &&
	    printf x | dd of=image bs=1 seek=$((50 * 4096)) conv=notrunc status=none &&
	    exits 0 "$pardd" if=image of=dst bmap=map && as_mapped dst image
}
it "... but not of one that is not mapped" unmapped
whole()
{
	image image && made 2.0 sha256 image 0-1199 && exits 0 "$pardd" if=image of=dst bmap=map && same image dst
}
it "copies an image that is mapped as a whole" whole
nothing()
{
	image image && made 2.0 sha256 image '' && "$blocks" make dst 5M 9 &&
	    exits 0 "$pardd" if=image of=dst bmap=map && "$blocks" zero dst 0 4912104
}
it "makes zeros of one of which nothing is mapped" nothing

# ------------------------------------------------------------------- it writes

# by_others IMAGE SIZE: other programs get from the block map img.bmap the first SIZE
# bytes of the image, and the ranges are in order
by_others()
{
	local size=$2
	exits 0 "$pardd" if=img of=again bmap=img.bmap verify=1 && last_says 'all as in img.bmap' &&
	    size_is again "$size" && cmp -n "$size" "$1" again || return
	command -v bmaptool >/dev/null || return 0
	bmaptool -q copy --bmap img.bmap img theirs 2>err || fail "$(<err)" || return
	size_is theirs "$size" && cmp -n "$size" "$1" theirs
}
# made_of SIZE OPERANDS...
made_of()
{
	"$blocks" make image "$1" 4 && exits 0 "$pardd" if=image of=img manifest=img.bmap "${@:2}" && complete &&
	    same image img && by_others image "$1"
}
it "writes one of a copy, for others" made_of 5000001
it "... with many workers" made_of 5000001 thr=16 bs=4k bpt=1
it "... past the page cache" made_of 5242880 iflag=direct oflag=direct engine=async
it "... in blocks of 512 bytes" made_of 1000001 bs=512 bpt=3
it "... of one block" made_of 512 manifesthash=sha256
it "... that is verified" made_of 5000001 verify=1
it "... and flows by" made_of 5000001 verify=stream thr=3
it "... out of a pipe" eval \
    '"$blocks" make image 3000001 4 && "$pardd" of=img manifest=img.bmap bs=512 thr=4 < <(cat image) 2>err &&
    complete && by_others image 3000001'
it "... to several targets" eval \
    '"$blocks" make image 3000001 4 && exits 0 "$pardd" if=image of=img of=two manifest=img.bmap && same image two &&
    by_others image 3000001'
it "... of an image that is not copied" eval \
    '"$blocks" make img 3000001 4 && exits 0 "$pardd" if=img of=. manifest=img.bmap && by_others img 3000001'
it "... of a part, which is an image then" eval \
    '"$blocks" make image 3M 4 && exits 0 "$pardd" if=image of=img skip=7 count=999 manifest=img.bmap &&
    tail -c +3585 image | head -c $((999 * 512)) >part && by_others part $((999 * 512))'
detected()
{
	made_of 5000001 && printf x | dd of=img bs=1 seek=2500000 conv=notrunc status=none &&
	    exits 14 "$pardd" if=img of=. bmap=img.bmap &&
	    last_says 'bytes 2097152 to 3145727 of the image have another checksum$' || return
	! command -v bmaptool >/dev/null || ! bmaptool -q copy --bmap img.bmap img theirs 2>err
}
it "... that finds what was changed" detected
mended()
{
	"$blocks" make image 3000001 4 && exits 0 with_faults "on=$PWD/img op=write at=2500000+1 flip times=1" \
		"$pardd" if=image of=img manifest=img.bmap verify=1 && same image img &&
	    by_others image 3000001
}
it "... of what was mended" mended
none_of()
{
	echo old >img.bmap && "$blocks" make image 3000001 4 &&
	    exits "$1" with_faults "$2" "$pardd" if=image of=img manifest=img.bmap "${@:3}" &&
	    [[ $(<img.bmap) = old && ! -e img.bmap.pardd.tmp ]]
}
it "writes none when the copy stops" none_of 3 "on=image op=read at=2000384+512 fail=EIO"
it "... when it cannot be flushed" none_of 103 "on=img op=flush fail=EIO"
it "... when the target differs" none_of 14 "on=img op=write at=2500000+1 flip" verify=1 retries=0
longer()
{
	"$blocks" make image 3M 4 && "$blocks" make img 4M 9 && cp img old &&
	    refused 'img holds 4194304 bytes, but img.bmap would only cover' if=image of=img manifest=img.bmap &&
	    same img old || return
	"$pardd" of=img manifest=img.bmap < <(cat image) 2>err
	[[ $? = 101 ]] && same img old && exits 0 "$pardd" if=image of=img manifest=img.bmap oflag=trunc &&
	    by_others image 3145728
}
it "does not call an image what is longer" longer
it "has blocks of 512 bytes at least" usage 'blocks of b.bmap are multiples' if=/dev/zero of=b manifest=b.bmap bs=100 bpt=1 count=5

# ------------------------------------------------------------------- refusals

# bad SED REGEX: a map that was changed, with its own checksum made anew.  What else may be
# wrong with one is in unit/bmap_test.c.
bad()
{
	image image && bmap 2.0 sha256 image >map && sed -i "$1" map &&
	    sum=$(sha256sum <map | cut -d ' ' -f 1) && sed -i "/<BmapFile/s/ 0*0 / $sum /" map
	refused "$2" if=image of=dst bmap=map && [[ ! -e dst ]]
}
it "refuses a map that is damaged" eval 'image image && made 2.0 sha256 image &&
    sed -i s/500-1099/500-1098/ map && refused "map is damaged: its sha256 is" if=image of=dst bmap=map'
it "refuses another version" bad 's/version="2.0"/version="3.0"/' 'not a bmap of version'
it "... one of another image" bad 's/<ImageSize> 4912104/<ImageSize> 4912105/' 'map is for an image of 4912105 bytes, but image has 4912104'
it "takes many blanks for one" eval 'image image && bmap 2.0 sha256 image >map &&
    sed -i "s/<BlockSize>/$(printf %3000s)&/;1s/ ?>/ encoding=\"ISO-8859-1\"?>/" map &&
    sum=$(sha256sum <map | cut -d " " -f 1) && sed -i "/<BmapFile/s/ 0*0 / $sum /" map &&
    exits 0 "$pardd" if=image of=dst bmap=map'
# A disk may have more than the image, but not less.
from_disk()
{
	image image && made 2.0 sha256 image && cp image disk && truncate -s 8M disk && loop disk &&
	    exits 0 "$pardd" if="$dev" of=dst bmap=map && cp image whole && truncate -s "$(stat -c %s dst)" whole &&
	    as_mapped dst whole && truncate -s 4M disk && loop disk &&
	    refused 'map is for an image of 4912104 bytes, but .* has 4194304' if="$dev" of=other bmap=map &&
	    [[ ! -e other ]]
}
it "takes a disk for the image that is at least as long" from_disk
# padded RANGES OPERANDS...: the image has 1000 bytes in its last block, which is
# filled up with zeros; what lies behind it stays
padded()
{
	local ranges=$1 block
	shift
	image image && made 2.0 sha256 image "$ranges" && for block in 512 4096; do
		"$blocks" make disk 8M 9 && loop disk --sector-size $block || return
		exits 0 "$pardd" of="$dev" bmap=map "$@" <image && complete && as_mapped "$dev" image &&
		    says "padded with $((block == 512 ? 24 : 3096)) zero bytes" &&
		    "$blocks" zero "$dev" 4912104 $((block == 512 ? 24 : 3096)) &&
		    holds "$dev" $((1199 * 4096 + (block == 512 ? 1024 : 4096))) \
			$((1199 * 4096 + (block == 512 ? 1024 : 4096))) 1000000 9 || return
	done
}
if able can_loop "no loop devices"; then
	it "fills the last block of a disk with zeros" padded "$ranges 1199"
	it "... when it is not mapped, too" padded "$ranges" if=image
	it "... beside a file, which ends with the image" eval 'padded "$ranges" if=image of=file &&
	    size_is file 4912104 && as_mapped file image'
	it "... and reads back what was filled up" padded "0-1199" if=image verify=1 oflag=direct
fi
it "does not write holes in order" eval 'image image && made 2.0 sha256 image && {
    "$pardd" if=image of=- bmap=map 2>err; echo $? >how; } | cat >out; [[ $(<how) = 1 && ! -s out ]] &&
    says "bmap= leaves out what is not mapped, and .* is written in order"'
it "does not make zeros of a part of a block" eval 'image image && made 2.0 sha256 image && "$blocks" make dst 6M &&
    cp dst old && refused "must be multiples of that" if=image of=dst bmap=map bs=512 seek=1 && same dst old'
it "refuses what is no file" eval 'image image && refused "/dev/zero is not a bmap: not a regular file" if=image of=dst bmap=/dev/zero &&
    exits 52 "$pardd" if=image of=dst bmap=none && one_line "none: No such file" && [[ ! -e dst ]]'
it "does not take nozero with a pipe" eval 'image image && made 2.0 sha256 image && {
    cat image | "$pardd" of=dst bmap=map oflag=nozero 2>err; [[ $? = 1 ]]; } && says "not for what comes by a pipe"'
