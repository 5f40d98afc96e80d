#!/usr/bin/env bash
# Compressed sources (decode=) become what the format's own tool makes of them; for
# anything else the status is never 0.
# shellcheck disable=SC1091,SC2002,SC2016,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs "command -v gzip xz zstd lz4 bzip2 zip" \
    "! '$pardd' if=/dev/null of=. decode=zip 2>&1 | grep -q 'built without'" -- \
    "a tool is missing, or built without a library"

# content FILE KIB [SEED]: data that can be compressed, but not to almost nothing
content()
{
	"$blocks" make seed $((${2} * 352)) "${3:-1}" && od -An -v -tx1 -w32 seed | head -c $(($2 * 1024)) >"$1" &&
	    truncate -s $(($2 * 1024 + 300)) "$1"
}
formats='gz gz2 xz xzb xz2 zst zst2 bz2 bz22 lz4 lz4s zip zipp zips'
# pack FORMAT FILE: on standard output
pack()
{
	case $1 in
	gz)	gzip -c "$2" ;;
	xz)	xz -0c "$2" ;;
	xzb)	xz -0c -T2 --block-size=50000 "$2" ;;
	zst)	zstd -qc "$2" ;;
	bz2)	bzip2 -c "$2" ;;
	lz4)	lz4 -qc "$2" ;;
	lz4s)	lz4 -qc --content-size -B4 -BX "$2" ;;
	zip)	rm -f p.zip && zip -q p.zip "$2" && cat p.zip ;;
	zips)	rm -f p.zip && zip -q0 p.zip "$2" && cat p.zip ;;
	zipp)	zip -q - - <"$2" | cat ;;
	zipd)	rm -f p.zip && zip -q0 -fd p.zip "$2" && cat p.zip ;;
	zip64)	rm -f p.zip && zip -q -fz p.zip "$2" && cat p.zip ;;
	*2)	head -c 70001 "$2" >p.1 && tail -c +70002 "$2" >p.2 && pack "${1%2}" p.1 && pack "${1%2}" p.2 ;;
	esac
}
# word FORMAT: of decode=
word()
{
	case $1 in
	bz2)	echo bz2 ;;
	zip*)	echo zip ;;
	xzb)	echo xz ;;
	*)	echo "${1%[2s]}" ;;
	esac
}
# packed FORMAT KIB: the files "image", and "x" that holds it
packed()
{
	content image "$2" && pack "$1" image >x && [[ -s x ]]
}
# unpacked FORMAT: all of it is in the file "dst"
unpacked()
{
	complete && says "decoded from $(word "$1")\$" && same image dst
}

unpacks()
{
	packed "$1" 3000 && exits 0 "$pardd" if=x of=dst decode=auto && unpacked "$1" &&
	    exits 0 "$pardd" if=x of=dst oflag=trunc decode="$(word "$1")" verify=1 && unpacked "$1" &&
	    rm dst && exits 0 "$pardd" of=dst decode=auto bpt=7 <x && unpacked "$1" &&
	    exits 0 "$pardd" if=x of=image compare=1 decode=auto || return
	cat x | exits 0 "$pardd" of=dst oflag=trunc decode=auto && unpacked "$1"
}
for format in $formats; do
	it "unpacks $format, from a file and a pipe" unpacks "$format"
done

# What is known before the copy.
sized()
{
	local format
	for format in xz xzb xz2 zst zst2 lz4s zip zipp; do
		packed $format 700 && exits 0 "$pardd" -dv if=x of=. decode=auto && grep -qx "bytes=$(stat -c %s image)" out ||
		    fail "$format" || return
	done
	packed gz 700 && exits 0 "$pardd" -dv if=x of=. decode=auto &&
	    grep -qx "source_size_at_least=$(stat -c %s image)" out && grep -qx 'bytes=to the end of the source' out
}
it "knows the size before it begins, where the format says it" sized
too_small()
{
	local format
	"$blocks" make disk 524288 7 && cp disk was && loop disk || return
	for format in xz zst gz lz4s zip; do
		packed $format 700 && exits 101 "$pardd" if=x of="$dev" decode=auto && says 'room for 524288 bytes' &&
		    same disk was || return
	done
}
if able can_loop "no loop devices"; then
	it "refuses a disk that is too small for what it unpacks" too_small
	# What ends elsewhere does not end with its length.
	no_length()
	{
		packed gz 300 && head -c 50000 x >y && printf '\xff\xff\xff\xff' >>y && truncate -s 512K disk && loop disk &&
		    run "$pardd" if=y of="$dev" decode=auto && says 'it is (cut short|damaged)'
	}
	it "... but not for a length of gz that cannot be" no_length
	# It may be all wrong, and a part of it is nothing to recommend.
	cut_length()
	{
		packed gz 300 && head -c 50000 x >y && printf '\xff\xff\x7f\0' >>y && truncate -s 512K disk && loop disk &&
		    refused 'y says of itself that at least 8388607 are to be copied$' if=y of="$dev" decode=auto
	}
	it "... and says who says so if that may be" cut_length
	onto_disk()
	{
		packed xzb 1000 && truncate -s 2M disk && loop disk && exits 0 "$pardd" if=x of="$dev" decode=auto verify=1 &&
		    complete && says 'verified, decoded from xz$' && cmp -n "$(stat -c %s image)" image disk
	}
	it "unpacks onto a disk" onto_disk
	# What is unpacked may be an image of a kind that is refused, too.
	inside()
	{
		local format
		truncate -s 2M disk && cp disk was && loop disk && printf 'QFI\xfb' >image && truncate -s 300K image || return
		for format in gz xzb zst zip; do
			pack $format image >x.img && exits 101 "$pardd" if=x.img of="$dev" decode=auto &&
			    one_line 'what x.img holds is itself a qcow2 image; unpack it into a file first$' &&
			    exits 101 "$pardd" of="$dev" decode="$(word $format)" < <(cat x.img) && same disk was &&
			    exits 0 "$pardd" if=x.img of=y.qcow2 oflag=trunc decode=auto && complete && same image y.qcow2 &&
			    ! grep itself err || fail "$format" || return
		done
		cp x.img x.zip && exits 0 "$pardd" if=x.zip of=y decode=auto && says 'x.zip holds is itself a qcow2 image$'
	}
	it "does not unpack an image of a virtual machine onto a disk" inside
	# Where a copy begins with ipart=, decode=auto has not looked.
	in_partition()
	{
		packed gz 300 && truncate -s 4M src dst && cp dst was && echo 'start=2048,size=2048' | sfdisk -q src &&
		    dd if=x of=src bs=1M seek=1 conv=notrunc status=none && loop dst || return
		local to=$dev
		exits 101 "$pardd" if=src ipart=1 of="$to" decode=auto && same dst was &&
		    one_line "partition 1 of src is compressed; for what it holds: pardd if=src ipart=1 . pardd decode=auto of=$to; decode=none" &&
		    pipes_through "$to" && loop src && exits 101 "$pardd" if="$dev" ipart=1 of="$to" decode=auto &&
		    exits 0 "$pardd" if="$dev" ipart=1 of=part decode=auto && says 'partition 1 of .* is compressed' &&
		    exits 0 "$pardd" if=src ipart=1 of="$to" decode=none && complete && cmp -n 1048576 part dst || return
		xz -0c -T2 --block-size=500000 src >x && exits 101 "$pardd" if=x ipart=1 of="$to" decode=auto &&
		    one_line 'what partition 1 of x holds is itself compressed; unpack it into a file first$'
	}
	pipes_through()
	{
		"$pardd" if=src ipart=1 2>/dev/null | exits 0 "$pardd" decode=auto of="$1" && cmp -n "$(stat -c %s image)" image dst
	}
	it "says that a partition is packed" in_partition
	# An image that was written onto a disk as it is, with zeros behind it.
	from_disk()
	{
		packed "$1" 1000 && cp x disk && truncate -s 3M disk && loop disk && exits 0 "$pardd" if="$dev" of=dst decode=auto &&
		    unpacked "$1"
	}
	for format in $formats; do
		it "... and from one, where $format has zeros behind it" from_disk "$format"
	done
fi

# broken: the copy of "x" either fails or is the image
broken()
{
	run "$pardd" if=x of=dst oflag=trunc decode="$1"
	[[ $status != 0 ]] || same image dst || fail "status 0, and another content" || return
	[[ $status = 0 || $status = 14 || $status = 101 || $status = 102 ]] || fail "status $status: $(cat err)"
}
cut()
{
	local size i at
	packed "$1" 300 && mv x whole && size=$(stat -c %s whole) && RANDOM=${SEED:-7} || return
	for ((i = 0; i < $2; i++)); do
		at=$(((RANDOM << 15 | RANDOM) % size))
		head -c $at whole >x
		broken "$(word "$1")" || fail "cut at $at" || return
		((status != 0)) || [[ $1 = *2 && $(stat -c %s dst) = 70001 ]] || fail "cut at $at: complete" || return
	done
}
flipped()
{
	local size i at bit byte
	packed "$1" 300 && cp x whole && size=$(stat -c %s whole) && RANDOM=${SEED:-8} || return
	for ((i = 0; i < $2; i++)); do
		at=$(((RANDOM << 15 | RANDOM) % size)) bit=$((1 << RANDOM % 8))
		cp whole x
		byte=$(od -An -tu1 -j $at -N 1 whole)
		printf %b "\\x$(printf %x $((byte ^ bit)))" | dd of=x bs=1 seek=$at conv=notrunc status=none
		broken "$(word "$1")" || fail "bit $bit of byte $at flipped" || return
	done
}
behind()
{
	packed "$1" 300 && cp x whole && for tail in foo '\0\0\0foo'; do
		cp whole x
		printf %b "$tail" >>x
		exits 14 "$pardd" if=x of=dst oflag=trunc decode=auto && says 'has something else$' &&
		    same image dst || return
	done
}
only plain asan
times=$(heavy 40)
[[ -z $LONG ]] || times=1000
for format in $formats; do
	it "takes no $format that is cut off for a whole one" cut "$format" "$times"
	it "takes no $format with a wrong bit for a right one" flipped "$format" "$times"
	it "copies what $format holds, and then fails at what is behind it" behind "$format"
done
only all

empty()
{
	local word
	: >x
	exits 0 "$pardd" if=x of=dst decode=auto && complete && rm dst || return
	for word in gz xz zst bz2 lz4 zip; do
		exits 102 "$pardd" if=x of=dst decode=$word && one_line 'x: it is empty' && [[ ! -e dst ]] || return
		# and what is packed is empty
		: >image && pack $word image >y && exits 0 "$pardd" if=y of=dst decode=$word && complete && same image dst &&
		    rm dst || return
	done
}
it "tells what is empty from what holds nothing" empty
other()
{
	packed gz 10 && exits 14 "$pardd" if=x of=dst decode=xz && one_line 'does not begin as xz does; decode=auto finds the format$' && [[ ! -e dst ]] &&
	    exits 0 "$pardd" if=image of=dst decode=auto && complete && same image dst && ! grep decoded err &&
	    exits 0 "$pardd" of=dst decode=auto < <(cat image) && complete && same image dst &&
	    exits 0 "$pardd" if=x of=dst oflag=trunc decode=none && same x dst
}
it "copies what is not packed as it is, and refuses what another word names" other
it "unpacks once, as xz does" eval \
    'content image 100 && gzip -c image >y && xz -c y >x && exits 0 "$pardd" if=x of=dst decode=auto && complete &&
    same y dst'

skippable()
{
	packed "$1" 100 && mv x y && { printf '\x5a\x2a\x4d\x18\x03\0\0\0abc'; cat y; } >x &&
	    exits 0 "$pardd" if=x of=dst decode=auto && unpacked "$1"
}
it "passes over a frame in front of zstd" skippable zst
it "... and of lz4" skippable lz4

zips()
{
	content a 10 && content b 10 2 && mkdir d && zip -q x a b && exits 101 "$pardd" if=x.zip of=dst decode=auto &&
	    one_line 'has 2 files in it \(a, b\)' && [[ ! -e dst ]] || return
	exits 14 "$pardd" of=dst decode=zip < <(cat x.zip) && says 'has more than one file in it' || return
	rm x.zip dst && zip -q x d a && exits 0 "$pardd" if=x.zip of=dst decode=auto && complete && same a dst &&
	    exits 0 "$pardd" of=dst decode=auto < <(cat x.zip) && complete && same a dst || return
	rm x.zip && zip -q -P secret x a && exits 101 "$pardd" if=x.zip of=dst decode=auto && says 'is encrypted' &&
	    rm x.zip && zip -q x d && exits 101 "$pardd" if=x.zip of=dst decode=auto && says 'has no file in it'
}
it "takes a zip with one file in it, and names those of another" zips
# What stands at the end of an archive about its directory is as right as that, or it is not whole.
zip_ends()
{
	local size at
	content image 10 && pack "$1" image >whole && size=$(stat -c %s whole) && for at in $2; do
		cp whole x && printf '\5' | dd of=x bs=1 seek=$((size - at)) conv=notrunc status=none
		exits 14 "$pardd" if=x of=dst oflag=trunc decode=zip && says 'it is damaged' &&
		    exits 14 "$pardd" of=dst oflag=trunc decode=zip < <(cat x) || fail "byte -$at" || return
	done
}
it "checks what a zip says of its directory" zip_ends zip '14 12 10 9 6 5'
it "... in 64 bits" zip_ends zip64 '74 66 58 50 34'
# One that is stored, with its length behind it, ends where the directory says; from a pipe nobody knows.
zip_stored()
{
	local kib size
	for kib in 0 300; do
		content image $kib && pack zipd image >x && exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto && complete &&
		    same image dst && exits 101 "$pardd" of=dst decode=zip < <(cat x) && says 'does not say where it ends' || return
	done
	size=$(stat -c %s x) && truncate -s $((size - 1)) x && exits 101 "$pardd" if=x of=dst decode=zip &&
	    pack zipd image >x && printf '\5' | dd of=x bs=1 seek=5000 conv=notrunc status=none &&
	    exits 14 "$pardd" if=x of=dst decode=zip && says 'it is damaged'
}
it "unpacks what a zip has stored, with its length behind it" zip_stored
# An extra field has the length of its first part in its bytes 2 and 3.
zip_extra()
{
	content image 10 && pack zip image >x && printf '\5' | dd of=x bs=1 seek=38 conv=notrunc status=none &&
	    exits 14 "$pardd" if=x of=dst decode=zip && says 'it is damaged'
}
it "does not pass over what cannot be in the header of a zip" zip_extra
# So has a directory a check value, of nothing.
zip_folder()
{
	local at end
	content a 10 && mkdir d && zip -q x d a && mv x.zip whole && end=$(od -An -tu4 -j $(($(stat -c %s whole) - 6)) -N 4 whole) &&
	    for at in 14 $((end + 16)); do
		cp whole x && printf '\5' | dd of=x bs=1 seek=$at conv=notrunc status=none
		exits 14 "$pardd" if=x of=dst oflag=trunc decode=zip && says 'it is damaged' || return
	done
}
it "... nor in that of a directory" zip_folder

skippable_behind()
{
	packed "$1" 100 && mv x y && printf '\x5a\x2a\x4d\x18\x03\0\0\0abc' >skip &&
	    cat skip y skip skip >x && exits 0 "$pardd" if=x of=dst decode="$1" && unpacked "$1" || return
	cat y skip y skip >x && cat image image >both && mv both image && rm dst &&
	    exits 0 "$pardd" if=x of=dst decode="$1" && unpacked "$1"
}
it "... and behind" skippable_behind zst
it "... of lz4, too" skippable_behind lz4

# A block map says how long the image is; what follows it is checked as well.
mapped()
{
	content image 100 && truncate -s 100K image && gzip -c image >good.gz
	cat >map <<-'EOT'
	<?xml version="1.0" ?><bmap version="2.0"><ImageSize> 102400 </ImageSize><BlockSize> 4096 </BlockSize>
	<BlocksCount> 25 </BlocksCount><MappedBlocksCount> 25 </MappedBlocksCount><BlockMap><Range> 0-24 </Range></BlockMap></bmap>
	EOT
	sed -i 's/version="2.0"/version="1.2"/' map
	exits 0 "$pardd" if=good.gz of=dst decode=auto bmap=map && same image dst || return
	head -c -4 good.gz >x && exits 102 "$pardd" if=x of=dst decode=auto bmap=map || return
	head -c -8 good.gz >x && printf 'aaaaaaaa' >>x && exits 14 "$pardd" if=x of=dst decode=auto bmap=map || return
	{ cat good.gz && echo garbage; } >x && exits 14 "$pardd" if=x of=dst decode=auto bmap=map || return
	cat good.gz good.gz >x && exits 14 "$pardd" if=x of=dst decode=auto bmap=map
}
it "reads all of it where a block map says how long the image is" mapped
noted()
{
	packed gz 300 && exits 0 "$pardd" if=x of=dst decode=auto manifest=m && unpacked gz &&
	    exits 0 "$pardd" if=x decode=auto manifest=m check=1 && head -c -4 x >y &&
	    exits 102 "$pardd" if=y decode=auto manifest=m check=1
}
it "writes a manifest of the content, and checks it" noted
it "refuses before the first byte what a later frame needs, as far as it is seen" eval \
    'content image 1 && zstd -qc image >x && content long 100 && zstd -q --long=28 -c <long >>x && echo old >dst &&
    cp dst before && exits 101 "$pardd" if=x of=dst decode=auto mem=64M && cmp dst before'
in_zeros()
{
	local pid
	packed gz 3000 && truncate -s 2T x || return
	"$pardd" if=x of=dst decode=auto 2>err &
	pid=$!
	sleep 1
	SECONDS=0
	kill -TERM $pid
	wait $pid
	[[ $? = 143 && $SECONDS -lt 5 ]] || fail "after $SECONDS s: $(<err)"
}
it "ends at a signal while zeros behind it are read" in_zeros

# A window of 256 MiB is more than zstd takes without --long=28.
window()
{
	content image 100 && zstd -q --long=27 -c <image >x && exits 0 "$pardd" -d if=x of=dst decode=auto mem=64M &&
	    grep -q 'decoded from zst, on one thread, in 1[34][0-9] MB of memory$' out &&
	    zstd -q -c <image >x && exits 0 "$pardd" -d if=x of=dst decode=auto && ! grep 'of memory' out || return
	zstd -q --long=28 -c <image >x && exits 101 "$pardd" if=x of=dst decode=auto mem=64M &&
	    one_line 'a larger mem= allows that' && [[ ! -e dst ]] &&
	    exits 0 "$pardd" if=x of=dst decode=auto mem=256M && unpacked zst
}
it "takes the memory that zstd takes, and says so, and more with mem= alone" window
# 1 GiB of zeros in some kilobytes is written as such, in little memory.
bomb()
{
	head -c 1G /dev/zero | zstd -q >x && (ulimit -v 600000 && exits 0 "$pardd" if=x of=dst decode=auto oflag=sparse) &&
	    [[ $(stat -c '%s %b' dst) = '1073741824 0' ]]
}
[[ $VARIANT != plain ]] || it "unpacks a gigabyte of zeros in little memory" bomb

part()
{
	packed zst2 500 && exits 0 "$pardd" if=x of=dst decode=auto skip=3 count=200 && complete &&
	    cmp <(tail -c +1537 image | head -c 102400) dst && exits 101 "$pardd" if=x of=y decode=auto skip=9999 &&
	    exits 102 "$pardd" of=z decode=auto skip=9999 < <(cat x)
}
it "copies a part of what it unpacks" part
it "unpacks onto several targets at once, with a digest of the content" eval \
    'packed xzb 500 && exits 0 "$pardd" if=x of=dst of=two of=three decode=auto hash=sha256 verify=1 && complete &&
    same image dst && same image two && same image three && grep -q "$(sha256sum <image | cut -c1-64)" err'
# What a download page prints is either of the packed bytes or of the image.
expected()
{
	local format sum own
	for format in $formats; do
		packed $format 500 && sum=$(sha256sum <x | head -c 64) && own=$(sha256sum <image | head -c 64) &&
		    exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto expect=sha256:$sum json=j && complete && same image dst &&
		    says "decoded from $(word $format), whose sha256 is as expected\$" &&
		    says "^pardd: the sha256 of the packed bytes is $sum, as expected\$" &&
		    jq -se --arg own $own --arg sum $sum 'last.hashes == [{algorithm: "sha256", digest: $own, expected: $sum,
		    packed: $sum}]' j >/dev/null || fail "$format" || return
		exits 0 "$pardd" of=dst oflag=trunc decode=auto expect=sha256:$own < <(cat x) && complete && same image dst &&
		    says "decoded from $(word $format), the sha256 of its content is as expected\$" &&
		    says "^pardd: the sha256 of the packed bytes is $sum\$" || fail "$format" || return
		exits 14 "$pardd" if=x of=dst oflag=trunc decode=auto expect=sha256:${sum//[13]/2} &&
		    says "NOT as expected: the sha256 of what was copied is $own, and that of the packed bytes $sum" || return
	done
	# what is not read to its end has one digest only
	sum=$(md5sum <x | head -c 32) && exits 14 "$pardd" if=x of=dst oflag=trunc decode=auto count=10 expect=md5:$sum &&
	    ! grep -q packed err && sum=$(head -c 5120 image | md5sum | head -c 32) &&
	    exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto count=10 expect=md5:$sum
}
it "expects a digest of the packed bytes, or of the content, and says which" expected
itself()
{
	packed xz 100 && cp x was && exits 101 "$pardd" if=x of=x decode=auto && one_line 'source and target are the same' &&
	    exits 101 "$pardd" if=x of=x decode=auto oflag=trunc && same x was &&
	    exits 101 "$pardd" if=x of=dst map=m decode=auto && says 'map= cannot be used' && [[ ! -e dst ]]
}
it "refuses to unpack a file over itself, or with a map" itself
! can_nbd || {
	by_nbd()
	{
		packed xzb 2000 && exits 0 "$pardd" if='[ nbdkit -s file x ]' of=dst decode=auto && unpacked xzb &&
		    exits 0 "$pardd" if='[ nbdkit -s file x ]' of=dst decode=auto verify=1 && unpacked xzb
	}
	it "unpacks what an NBD server serves" by_nbd
}
told()
{
	packed xzb 500 && exits 0 "$pardd" -d if=x of=dst decode=auto && grep -q 'decoded from xz, 11 blocks on up to' out &&
	    grep -q 'map= rescues' out &&
	    packed gz 500 && exits 0 "$pardd" -d if=x of=dst decode=auto && grep -q 'unpacked stops it' out &&
	    grep -q 'decoded from gz, at least .*, on one thread' out && packed xzb 500 && exits 0 "$pardd" if=x of=dst decode=auto json=j &&
	    jq -se '.[] | select(.event == "plan") | .decode == "auto" and .decoded == "xz"' j
}
it "says what it unpacks in the plan, and to programs" told
no_library()
{
	local file format
	mkdir lib && for file in libz.so.1 liblzma.so.5 libzstd.so.1 libbz2.so.1.0 liblz4.so.1; do
		: >lib/$file
	done
	for format in gz/zlib1g xz/liblzma5 zst/libzstd1 bz2/libbz2-1.0 lz4/liblz4-1; do
		packed "${format%/*}" 10 && LD_LIBRARY_PATH=$PWD/lib exits 101 "$pardd" if=x of=dst decode=auto &&
		    one_line "decode=${format%/*} needs .*${format#*/}" && [[ ! -e dst ]] || return
	done
	LD_LIBRARY_PATH=$PWD/lib exits 0 "$pardd" if=x of=dst && complete && same x dst && rm lib/libz.so.1 dst &&
	    packed zip 10 && LD_LIBRARY_PATH=$PWD/lib exits 0 "$pardd" if=x of=dst decode=auto && unpacked zip
}
[[ $VARIANT != plain ]] || it "names the package of a library that is missing" no_library
# What is behind the header of a gz is unpacked by ISA-L, if it is there.
fast()
{
	(cd "$scratch" && gzip </dev/null >x && strace -f -e trace=openat -o log "$pardd" if=x of=dst decode=gz &&
	    grep -q 'libisal.* = [0-9]' log)
}
alike()
{
	local i size how='' was
	mkdir lib && : >lib/libisal.so.2 && packed gz2 300 && cp x whole && size=$(stat -c %s x) && RANDOM=${SEED:-9} || return
	for ((i = 0; i < $(heavy 60); i++)); do
		cp whole x && case $((i % 3)) in
		0)	truncate -s $(((RANDOM << 15 | RANDOM) % size)) x ;;
		1)	printf '\xaa' | dd of=x bs=1 seek=$(((RANDOM << 15 | RANDOM) % (i % 2 ? 20 : size))) conv=notrunc status=none ;;
		2)	head -c $((RANDOM % 30)) /dev/urandom >>x ;;
		esac
		run "$pardd" if=x of=dst oflag=trunc decode=gz
		was=$status how+=" $was$(grep -o 'damaged: invalid data' err)"
		run env LD_LIBRARY_PATH="$PWD/lib" "$pardd" if=x of=other oflag=trunc decode=gz
		[[ $status = "$was" ]] && ! cmp dst other | grep differ || fail "status $was, and $status by zlib" || return
	done
	# the last are words of ISA-L
	[[ $how = *' 102'* && $how = *' 14'* && $how = *' 0'* && $how = *invalid* ]] || fail "only$how"
}
given '[[ $VARIANT = plain ]] && fast' "no ISA-L" it "unpacks gz by ISA-L as by zlib, and fails alike" alike
# A last block of zeros, which libzstd refuses once, and which are then not padding; behind 1 MiB, where a read ends.
false_end()
{
	{
		printf '\x28\xb5\x2f\xfd\x00\x58'
		for i in 1 2 3 4 5 6 7 8; do printf '\xc0\xfd\x0f' && head -c 131000 /dev/zero; done
		printf '\xe0\x10\x00' && head -c 540 /dev/zero && printf '\x1d\0\0\0\0\0'
	} >x
	! zstd -tq x && exits 14 "$pardd" if=x of=dst decode=auto && says 'it is damaged: Src size is incorrect'
}
it "does not go on behind what zst calls wrong" false_end

# Blocks and frames are unpacked one by one: the source can be read at any place.

# blocked FORMAT: the files "image", of 1,000,000 bytes and 300, and "x", of blocks of 100,000
blocked()
{
	content image 1000 && truncate -s 1000300 image && case $1 in
	xz)	xz -0c -T2 --block-size=102400 image >x ;;
	*)	rm -f b.* && split -b 102400 -a 2 image b. && "$1" -q --content-size b.?? 2>/dev/null ||
		    "$1" -mq --content-size b.?? && cat b.*."${1/zstd/zst}" >x ;;
	esac
}
# spoilt BYTE: the same with a wrong byte there
spoilt()
{
	printf '\xff\xff\xff\xff' | dd of=x bs=1 seek="$1" conv=notrunc status=none
}
placed()
{
	blocked "$1" && exits 0 "$pardd" -d if=x of=dst decode=auto && grep -q '10 blocks on up to' out &&
	    exits 0 "$pardd" if=x of=dst decode=auto skip=300 count=900 && complete &&
	    cmp <(tail -c +153601 image | head -c 460800) dst &&
	    exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto thr=4 bpt=7 verify=1 hash=md5 && complete && same image dst &&
	    grep -q "$(md5sum <image | head -c 32)" err && exits 0 "$pardd" if=x of=image compare=1 decode=auto &&
	    exits 101 "$pardd" if=x of=dst decode=auto skip=9999
}
goes_on()
{
	local size
	blocked "$1" && cp x whole && size=$(stat -c %s x) && spoilt $((size / 2)) &&
	    exits 100 "$pardd" if=x of=dst decode=auto map=m || return
	# what is finished is not unpacked again: it could not be
	cp whole x && spoilt 100 && spoilt $((size * 9 / 10)) && exits 0 "$pardd" if=x of=dst decode=auto map=m retries=1 &&
	    complete && same image dst
}
# A block whose packed bytes could not be read is read again by itself, and as retries= says.
retried()
{
	local at
	content image 5000 && xz -0c -T2 --block-size=409600 image >x && at=$(($(stat -c %s x) * 3 / 4 & ~511)) && ((at > 1 << 20)) &&
	    exits 0 with_faults "on=$PWD/x op=read at=$at+512 fail=EIO times=$1" "$pardd" if=x of=dst decode=auto "${@:2}" &&
	    complete && same image dst
}
# tries N OPERAND...: a bad sector below a block is asked for so often
tries()
{
	local at
	rm -f dst m && at=$(($(stat -c %s x) * 9 / 10 & ~511)) && ((at > 1 << 20)) &&
	    run with_faults "on=$PWD/x op=read at=$at+512 whole fail=EIO" "$pardd" if=x decode=auto "${@:2}"
	[[ $(grep -c '^read ' faults) = "$1" && $status = [13]* ]] || fail "${*:2}: status $status, $(cat faults)"
}
tried()
{
	local how
	content image 3000 && xz -0c -T2 --block-size=409600 image >x && for how in bs=512 coe=1 map=m; do
		tries 2 of=dst $how && tries 4 of=dst $how retries=2 || return
	done
	tries 4 of=image compare=1 coe=1 retries=2
}
# Nor are random questions whether the source reads elsewhere any of these.
probed()
{
	local size
	content image 5000 && xz -0c -T2 --block-size=102400 image >x && size=$(stat -c %s x) &&
	    run with_faults "on=$PWD/x op=read at=1048576+$((size - 1114112)) whole fail=EIO" \
	    "$pardd" if=x of=dst decode=auto coe=1 skip=4200 || return
	[[ $(grep '^read ' faults | sort | uniq -c | awk '$1 < 2') = "" ]] || fail "$(sort faults | uniq -c)"
}
loses()
{
	local size
	blocked "$1" && size=$(stat -c %s x) && spoilt $((size / 2)) && exits 14 "$pardd" if=x of=dst decode=auto &&
	    says 'it is damaged|are damaged' && exits 100 "$pardd" if=x of=dst oflag=trunc decode=auto coe=1 || return
	awk '{ if (NR == 1) first = $1; last = $1 } END { exit !(first < last &&
	    int((first - 1) / 102400) == int((last - 1) / 102400)) }' <(cmp -l image dst) && says '200 unreadable blocks in 1 range' &&
	    [[ $(stat -c %s dst) = 1000300 ]]
}
# packed_at FORMAT: a byte in the midst of each block of "x"
packed_at()
{
	if [[ $1 = xz ]]; then
		xz --robot --list -vv x | awk '$1 == "block" { print $5 + int($7 / 2) }'
	else
		stat -c %s b.*."${1/zstd/zst}" | awk '{ print at + int($1 / 2); at += $1 }'
	fi
}
# What is finished is not unpacked again: it could not be.
killed()
{
	local i b pid off len is at again=0
	blocked "$1" && cp x whole && mapfile -t at < <(packed_at "$1") && ((${#at[@]} == 10)) &&
	    for ((i = 0; i < $(heavy 10); i++)); do
		rm -f dst m && cp whole x
		"$pardd" if=x of=dst decode=auto map=m mapinterval=1 rate=400K 2>err &
		pid=$!
		sleep $((2 - i % 3)).$((RANDOM % 10))
		kill -9 $pid
		wait $pid
		[[ ! -e m ]] || while read -r off len is; do
			for ((b = (off + 102399) / 102400; b < (off + len) / 102400; b++)); do
				[[ $is != + || $b = 0 ]] || { spoilt "${at[b]}" && ((++again)); }
			done
		done < <(grep '^0x.* 0x' m)
		exits 0 "$pardd" if=x of=dst decode=auto map=m && complete && same image dst || return
	done
	[[ $VARIANT != plain ]] || ((again > 0)) || fail "nothing was finished"
}
# So does a bad sector; without the first one nothing is known.
bad_first()
{
	local size at
	blocked "$1" && size=$(stat -c %s x) && for at in 8192 $((size / 20 & ~511)) $((size / 2 & ~511)); do
		exits 100 with_faults "on=$PWD/x op=read at=$at+512 whole fail=EIO" "$pardd" if=x of=dst oflag=trunc decode=auto coe=1 &&
		    says '200 unreadable blocks in 1 range' && [[ $(stat -c %s dst) = 1000300 ]] &&
		    awk '{ if (NR == 1) first = $1; last = $1 } END { exit !(NR > 0 &&
		    int((first - 1) / 102400) == int((last - 1) / 102400)) }' <(cmp -l image dst) || fail "at $at" || return
	done
	rm -f dst && exits 3 with_faults "on=$PWD/x op=read at=0+512 whole fail=EIO" "$pardd" if=x of=dst decode=auto coe=1 &&
	    one_line 'x: its own byte 0: ' && [[ ! -e dst ]] &&
	    exits 3 with_faults "on=$PWD/x op=read at=512+512 whole fail=EIO" "$pardd" if=x of=dst decode=auto &&
	    says 'its own byte 512: '
}
for format in xz zstd lz4; do
	it "reads blocks of $format at any place" placed $format
	it "... goes on with what is missing" goes_on $format
	it "... loses a damaged block, and no other" loses $format
	it "... and one with a bad sector" bad_first $format
	it "... and goes on after kill -9, without what is finished" killed $format
done
# A stream ends at a bad sector; what is before that is in place.
ends_at()
{
	local n
	packed gz 3000 && exits 3 with_faults "on=$PWD/x op=read at=614400+512 whole fail=EIO" "$pardd" if=x of=dst decode=auto &&
	    says 'its own byte 614400: ' && n=$(stat -c %s dst) && ((n > 1 << 19)) && cmp -n "$n" image dst
}
it "unpacks a stream up to a bad sector" ends_at
it "reads again what could not be read" eval 'retried 1 coe=1 && rm dst && retried 2 coe=1 retries=1'
it "asks for a bad sector below a block twice, and once more for each of retries=" tried
it "... by the copy, whatever else has asked" probed
server_dies()
{
	blocked xz || return
	nbdkit -f --exit-with-parent -U "$PWD/sock" -P pid --filter=delay file x rdelay=300ms 2>kit.log &
	until_true 20 test -s pid && { sleep 1.5 && kill -9 "$(<pid)" & } &&
	    exits 69 "$pardd" if="nbd+unix:///?socket=$PWD/sock" of=dst decode=auto map=m &&
	    says 'NOT complete: .*its own byte .*server is gone'
}
given can_nbd "no nbdkit" it "tells of a server that dies while its blocks are read" server_dies
# What is left is a whole gz, but not the one that was there.
it "does not take what is left of a source for all of it" eval \
    'packed gz 6000 && size=$(stat -c %s x) && cat x x >y && { sleep 1 && truncate -s "$size" y & } &&
    exits 102 "$pardd" if=y of=dst decode=auto rate=4M && says "it is cut short: its own bytes end at $size"'
# Without room for three blocks it is read in order.
little_memory()
{
	content image 9000 && xz -0c -T2 --block-size=3000000 image >x && exits 0 "$pardd" -d if=x of=dst decode=auto mem=8M &&
	    grep -q '4 blocks on up to .* in order' out && exits 101 "$pardd" if=x of=dst decode=auto mem=8M map=m &&
	    exits 0 "$pardd" if=x of=dst decode=auto mem=8M && complete && same image dst &&
	    exits 0 "$pardd" if=x of=dst decode=auto mem=9M map=m && complete && same image dst
}
it "reads it in order where there is no room for its blocks" little_memory

# Where all parts compress alike, half of it is done when half of the packed bytes are.
progress()
{
	packed "$1" 3000 && exits 0 "$pardd" if=x of=dst decode=auto rate=1M progress=1 verify=1 && unpacked "$1" &&
	    says "^pardd: [0-9.]+$2, (1[5-9]|3[0-9]) %, .* left, copying \(1 of 2\)\$" && ! grep -q '100 %' err
}
it "shows how much of a source is done if its size is not known" progress gz ' [kM]B'
it "... and if it is" progress xzb '( kB)? of 3\.1 MB'
tar_inside()
{
	content image 30 && tar -c image >y && for format in gz zst; do
		pack $format y >x && exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto && complete && same y dst &&
		    says '^pardd: x: there is a tar archive in it' || return
	done
}
it "says that a tar archive is inside" tar_inside
it "ends at a signal while it waits for a pipe" eval \
    'packed gz 100 && { cat x; sleep 9; } | exits 124 timeout 2 "$pardd" of=dst decode=auto && [[ ! -e dst ]]'
