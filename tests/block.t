#!/usr/bin/env bash
# Block devices, with blocks of 512 and of 4096 bytes.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/dice.sh
. "$top/tests/dice.sh"

needs '((EUID == 0))' -- "not root"
needs 'command -v losetup blockdev' can_loop -- "no loop devices"

# disk NAME BYTES [SECTOR]: a loop device, its name in the variable NAME
disk()
{
	truncate -s "$2" "$1.img" && loop "$1.img" --sector-size "${3:-512}" && printf -v "$1" %s "$dev"
}
# filled NAME BYTES SECTOR SEED
filled()
{
	disk "$1" "$2" "$3" && "$blocks" make "${!1}" "$2" "$4"
}
untouched()
{
	holds "$1" 0 0 "$2" 9
}

a="" b=""
clone()
{
	filled a 8M "$1" 1 && filled b 8M "$2" 9 && exits 0 "$pardd" if="$a" of="$b" "${@:3}" && complete &&
	    holds "$b" 0 0 8M 1
}
for thr in $(few 1 4 16); do
	it "clones a disk, $thr workers" clone 512 512 thr="$thr"
	it "clones a disk in small pieces, $thr workers" clone 512 512 bpt=5 thr="$thr"
	it "clones a 4096-byte disk, $thr workers" clone 4096 4096 thr="$thr"
done
only plain asan
it "clones a 512-byte disk onto one of 4096" clone 512 4096
it "clones a 4096-byte disk onto one of 512" clone 4096 512
only all
it "clones 512 onto 4096 with bpt=8" clone 512 4096 bs=512 bpt=8 thr=16
it "clones 512 onto 4096 with bpt=1, less than a block of the target" clone 512 4096 bs=512 bpt=1 thr=16
only plain asan
it "clones 512 onto 4096 with conv=noerror,sync" clone 512 4096 conv=noerror,sync
it "clones with the page cache" clone 512 512 iflag=cached oflag=cached
it "clones around the page cache" clone 4096 512 iflag=direct oflag=direct
it "clones in blocks of 64 KiB" clone 512 512 bs=64k
it "clones in blocks of 2 sectors" clone 512 512 bs=1024 bpt=7
unmentioned()
{
	clone 512 512 && does_not_say '(block size|bs)'
}
it "takes 512 for bs without a word" unmentioned
mentioned()
{
	clone 4096 4096 && says 4096 && says '^2048\+0 records in$'
}
it "takes the disk's 4096 for bs, and says so" mentioned
only_refused()
{
	filled a 8M 4096 1 && echo nothing >bad && refused 'is not a map' if="$a" of=dst map=bad &&
	    exits 67 "$pardd" if="$a" of=dst control=bad && one_line 'control=bad: File exists'
}
it "says nothing of bs when it refuses the run" only_refused

part()
{
	filled a 8M 512 1 && filled b 8M "$1" 9 && exits 0 "$pardd" if="$a" of="$b" bs=512 skip=3 seek=8 count=1000 &&
	    holds "$b" 0 0 4096 9 && holds "$b" 4096 1536 512000 1 && holds "$b" 516096 516096 7872512 9
}
it "copies blocks 3 to 1002 to block 8" part 512
it "copies blocks 3 to 1002 to block 8 of a 4096-byte disk" part 4096
misfit()
{
	filled a 1M "$1" 1 && filled b 1M "$2" 9 &&
	    refused '(4096|block)' if="$a" of="$b" "${@:3}" && untouched "$b" 1M
}
it "refuses to begin within a block of the target" misfit 512 4096 bs=512 seek=1 count=8
it "refuses to end within a block of the target" misfit 512 4096 bs=512 count=9
it "refuses to end within a block of the target, with conv=sync" misfit 512 4096 bs=512 count=9 conv=sync
it "refuses to pad to a part of a block" misfit 512 4096 bs=3k count=9 conv=sync
it "refuses to write a block of 4096 in part" misfit 512 4096 bs=512 seek=9 count=16
it "refuses bs=512 on a source of 4096-byte blocks" eval \
    'filled a 1M 4096 1 && filled b 1M 512 9 && run "$pardd" if="$a" of="$b" bs=512 &&
    [[ $status = 1 || $status = 101 ]] && one_line 4096 && untouched "$b" 1M'
seek_bytes()
{
	filled a 1M 512 1 && filled b 1M 512 9 &&
	    refused '(512|block)' if="$a" of="$b" bs=512 seek=100 oflag=seek_bytes count=1 && untouched "$b" 1M
}
it "refuses to begin at byte 100 of a disk" seek_bytes

ends_within()
{
	filled a 1049088 512 1 && filled b 2M 4096 9 &&
	    refused '1049088 bytes are not a whole number of logical blocks' if="$a" of="$b" && untouched "$b" 2M &&
	    exits 0 "$pardd" if=a.img of="$b" && says 'padded with 3584 zero bytes' && holds "$b" 0 0 1049088 1
}
it "pads a file that ends within a block of 4096, and refuses a disk that does" ends_within

it "says that a disk takes no SCSI commands" eval \
    'filled a 1M 512 1 && exits 15 "$pardd" if="$a" of=dst iflag=sgio && one_line "$a takes no SCSI commands" &&
    [[ ! -e dst ]]'
it "says that a disk takes no NVMe commands" eval \
    'filled a 1M 512 1 && exits 15 "$pardd" if="$a" of=dst iflag=nvme && one_line "$a takes no NVMe commands" &&
    [[ ! -e dst ]] && usage nvme if=a.img of=dst iflag=nvme'
no_medium()
{
	"$blocks" make src 1000 && disk a 0 && refused "$a has a size of 0; is there" if="$a" of=dst &&
	    [[ ! -e dst ]] || return
	for rest in if=src 'if=src count=0' iflag=00 if=-; do
		# shellcheck disable=SC2086
		refused "$a has a size of 0; is there" of="$a" $rest <src || return
	done
}
it "asks for the medium of an empty disk" no_medium
no_place()
{
	filled a 1M 512 1 && usage 'the end of the copy lies beyond the last byte' iflag=00 of="$a" \
	    skip=9223372036854775000B
}
it "counts no zeros behind the last byte that can be addressed" no_place

# ------------------------------------------------------------- files and disks

onto()
{
	"$blocks" make src "$2" && filled b 1M "$1" 9 &&
	    exits 0 "$pardd" if=src of="$b" bs=512 thr=4 "${@:4}" && complete &&
	    holds "$b" 0 0 "$2" && "$blocks" zero "$b" "$2" "$3" &&
	    holds "$b" $(($2 + $3)) $(($2 + $3)) $((1048576 - $2 - $3)) 9 || return
	(($3 == 0)) || says "$3"
}
it "pads an odd tail with zeros, and says so" onto 512 100001 351
it "pads an odd tail to a block of 4096" onto 4096 100001 2399
it "pads an odd tail with bpt=1" onto 512 100001 351 bpt=1
it "pads an odd tail with the page cache" onto 4096 100001 2399 oflag=cached
it "pads an odd tail to a block of 4096 with conv=sync" onto 4096 100001 2399 conv=sync
it "pads nothing where the file ends on a block" onto 4096 102400 0
planned_tail()
{
	"$blocks" make src 1300 && disk b 1M 4096 && exits 0 "$pardd" -dv if=src of="$b" &&
	    grep -qx source_last_byte=1299 out && grep -qx target_last_byte=4095 out
}
it "plans the padding with --dry-run" planned_tail
pipe_onto()
{
	filled b 1M 4096 9 || return
	"$blocks" drip 100001 | "$pardd" of="$b" bs=512 2>err
	[[ ${PIPESTATUS[1]} = 0 ]] || fail "$(<err)" || return
	holds "$b" 0 0 100001 && "$blocks" zero "$b" 100001 2399 && holds "$b" 102400 102400 946176 9
}
it "pads the odd tail of a pipe" pipe_onto
image()
{
	umask 022
	filled a 1M "$1" 1 && exits 0 "$pardd" if="$a" of=img "${@:2}" &&
	    size_is img 1048576 && holds img 0 0 1M 1 || return
	[[ $(stat -c %a img) = 600 ]] || fail "mode $(stat -c %a img)"
}
it "makes an image that only the owner may read" image 512
it "makes an image of a disk of 4096-byte blocks" image 4096
it "makes an image around the page cache" image 512 oflag=direct iflag=direct
unaligned()
{
	filled a 1M "$1" 1 && exits 0 "$pardd" if="$a" of=dst bs="$1" skip=1001 count=300007 \
	    iflag=skip_bytes,count_bytes bpt="$2" "${@:3}" && size_is dst 300007 && holds dst 0 1001 300007 1
}
it "copies any bytes of a disk" unaligned 512 3
it "copies any bytes of a disk of 4096-byte blocks" unaligned 4096 1
it "copies any bytes of a disk around the page cache" unaligned 4096 2 iflag=direct
it "leaves no old data on a disk with conv=sparse" eval \
    'filled b 1M 512 9 && truncate -s 1M src && "$blocks" make src 4096 1 40960 &&
    exits 0 "$pardd" if=src of="$b" conv=sparse && same src "$b"'

# What a file system has read of its disk is in the page cache of the disk.
neighbourly()
{
	local try
	filled a 8M 512 1 && exec 9<"$a" || return	# with the last descriptor the pages go
	for try in 1 2 3; do	# the kernel itself may want the memory, once
		cat "$a" >/dev/null && exits 0 "$pardd" if="$a" of=dst || return
		(($("$blocks" incore "$a") <= 2000)) || return 0
		echo "try $try: $("$blocks" incore "$a") pages are left"
	done
	return 1
}
it "leaves alone what others have cached of a disk" neighbourly

# midway COMMAND...: when 2 MiB are in dst
half_there()
{
	(($(stat -c %s dst) > 2097152))
}
midway()
{
	{ until_true 30 half_there && "$@"; } >/dev/null 2>&1 &
}
# copies_slowly STATUS OPERANDS...: the second half takes a second
copies_slowly()
{
	exits "$1" "$pardd" if="$a" of=dst rate=4M bs=512 bpt=64 "${@:2}"
}
cut_off()
{
	filled a 8M 512 1 && midway truncate -s 2M a.img
	copies_slowly 102 "$@" && says 'a.img was truncated at byte 2097152'
}
only all
it "says that a loop device's file was cut off" cut_off coe=1
cut_off_below()
{
	filled lower 8M 512 1 && loop "$lower" --direct-io=on --sector-size 512 && a=$dev &&
	    midway truncate -s 8000K lower.img	# each block behind it fails by itself
	copies_slowly 102 coe=1 && says 'lower.img was truncated at byte 8192000'
}
only plain
it "says so of a loop device on another" cut_off_below
it "says so in a rescue" cut_off map=map
# between TARGET CUT STATUS OPERANDS...: when 5 MiB are in TARGET, and the worker waits to write
# more, CUT is done
between()
{
	with_faults "on=$(realpath "$1") op=write at=$((5 << 20))+$((3 << 20)) until=$PWD/go" \
	    "$pardd" of="$1" engine=threads bs=512 bpt=128 thr=1 "${@:4}" 2>err &
	until_true 30 grep -qs ^waits faults && eval "$2" && touch go || return
	exited "$3"
}
# Cut off, the file is made as long again before anybody looks.
blanked()
{
	truncate -s 2M "$1" && truncate -s "${2:-8M}" "$1"
}
blanked_source()
{
	filled a 8M 512 1 && between dst 'blanked a.img' 15 if="$a" "$@" &&
	    says 'its file was truncated during the copy'
}
it "says so of a file that was made as long again" blanked_source
it "says so of a file that was made as long again, with verify=1" blanked_source verify=1
it "says so in a rescue of a file that was made as long again" blanked_source map=map
# Its name leads nowhere, or to another file.
blanked_unnamed()
{
	filled "$1" 8M 512 1 && "$blocks" make src 8M 2 && between "${!2-$2}" \
	    "ln $1.img other; rm $1.img; $4; blanked other" 15 if="${!3-$3}" && says 'its file was truncated during the copy'
}
it "says so of a file that has lost its name" blanked_unnamed a dst a true
it "... which another has now" blanked_unnamed a dst a 'cp src a.img'
it "... and of a target" blanked_unnamed b b src true
# Filled again, the file shows only that somebody wrote to it, and not through the device.
refilled()
{
	"$blocks" make whole 8M 1 && cp whole a.img && loop a.img && a=$dev &&
	    between dst 'truncate -s 2M a.img; cp whole a.img' 0 if="$a" && same whole a.img &&
	    says 'its file was written to by others while it was read' || return
	between dst "dd if=whole of=$a bs=64k seek=127 skip=127 conv=notrunc,fsync" 0 if="$a" &&
	    does_not_say 'written to' && exits 0 "$pardd" if="$a" of=a.img count=1 seek=1 force=looped &&
	    does_not_say 'written to' && exits 0 "$pardd" if="$a" of=dst && does_not_say 'written to'
}
it "says that it was filled again, which is seen of one that others wrote to" refilled
blanked_part()
{
	"$blocks" make lower.img 9M 1 && loop lower.img --offset 1M && between dst 'blanked lower.img 9M' \
	    15 if="$dev" && says 'its file was truncated during the copy'
}
it "says so of a device that begins within it" blanked_part
# Other changes to that file do not matter: it had holes before.
written_beside()
{
	truncate -s 12M a.img && "$blocks" make part 5M 1 && dd if=part of=a.img conv=notrunc &&
	    fallocate -l 64k -o 10M a.img && loop a.img && between dst \
	    'fallocate -p -o 10M -l 64k a.img; dd if=part of=a.img seek=20000 count=99 conv=notrunc; touch a.img' \
	    0 if="$dev" count=16384 && complete && holds dst 0 0 5M 1
}
it "does not mind holes that were there, or changes behind the copy" written_beside
blanked_target()
{
	filled b 8M 512 9 && "$blocks" make src 8M && between "$b" 'blanked b.img' \
	    15 if=src "$@" && says 'its file was truncated during the copy'
}
it "says so of a target" blanked_target
# The map is as it was before.
blanked_rescue()
{
	blanked_target map=map && ! grep '+$' map
}
it "says so of a target of a rescue" blanked_rescue
blanked_resumed()
{
	"$blocks" make src 8M && filled b 8M 512 0 && printf '0 ? 1\n0 0x500000 +\n0x500000 0x300000 ?\n' >map &&
	    cp map old.map && between "$b" 'blanked b.img' 15 if=src map=map &&
	    says 'its file was truncated during the copy' && same map old.map
}
it "... that has gone on" blanked_resumed
own_holes()
{
	filled b 8M 512 9 && truncate -s 5M zeros && exits 0 "$pardd" if=zeros of="$b" oflag=sparse &&
	    complete && "$blocks" zero b.img 0 5M && exits 0 "$pardd" if=zeros of="$b" oflag=trim &&
	    complete && exits 0 "$pardd" if=zeros of="$b" oflag=sparing && complete
}
it "does not mind holes that are the copy's own" own_holes
only plain asan
it "does not mind what lies behind the copy" eval \
    'filled a 8M 512 1 && truncate -s 7M a.img && exits 0 "$pardd" if="$a" of=dst bs=1M skip=1 count=6 && complete &&
    holds dst 0 1M 6M 1'
it "does not mind a file that has the name now" eval \
    'filled a 8M 512 1 && echo short >new && mv new a.img && exits 0 "$pardd" if="$a" of=dst && complete &&
    holds dst 0 0 8M 1'

# exchange FILE: there is another medium in $a, without an error
exchange()
{
	perl -e 'open(L, "<", $ARGV[0]) && open(F, "<", $ARGV[1]) &&
	    ioctl(L, 0x4c06, fileno(F)) or die' "$a" "$1"	# LOOP_CHANGE_FD
}
another()
{
	"$blocks" make a.img 8M 1 && "$blocks" make other.img 8M 5 &&
	    loop a.img --sector-size 512 --read-only && a=$dev &&
	    undo detach "$a" "$(realpath other.img)" && midway exchange other.img
}
another_medium()
{
	another
	copies_slowly 69 "$@" && says 'the medium was changed during the copy'
}
# The same file lies below at the end.
another_below()
{
	"$blocks" make a.img 8M 1 && "$blocks" make other.img 8M 5 && loop a.img --read-only && a=$dev &&
	    undo detach "$a" "$(realpath other.img)" && midway eval 'exchange other.img && sleep 0.3 && exchange a.img' &&
	    loop "$a" --read-only && a=$dev && copies_slowly 69 "$@" && says 'or lies on something else'
}
another_compared()
{
	"$blocks" make dst 8M 1 && "$blocks" make other.img 8M 1 &&
	    cp dst a.img && loop a.img --read-only && a=$dev || return
	undo detach "$a" "$(realpath other.img)"
	{ until_true 30 grep -q progress told && exchange other.img; } >/dev/null 2>&1 &
	copies_slowly 69 compare=1 json=told && says 'the medium was changed'
}
shifted()
{
	"$blocks" make a.img 9M 1 && loop a.img --offset 0 --sizelimit 8M && a=$dev &&
	    midway shift_to "$a" 1048576 8388608
	copies_slowly 69 "$@" && says "$a begins at another byte of what lies below"
}
# At the end it begins where it did.
for_a_while()
{
	"$blocks" make a.img 9M 1 && loop a.img --sizelimit 8M && a=$dev && midway away "$a" || return
	[[ ${1-} != below ]] || { shift && loop "$a" && a=$dev; } || return
	copies_slowly 69 "$@" && says "$a begins at another byte of what lies below .*for a while"
}
away()
{
	shift_to "$1" 1048576 8388608 && sleep 0.3 && shift_to "$1" 0 8388608
}
shifted_target()
{
	"$blocks" make src 8M 1 && truncate -s 9M a.img && loop a.img --sizelimit 8M && a=$dev || return
	{ until_true 30 cmp -sn 1M src a.img; shift_to "$a" 1048576 8388608; } >/dev/null 2>&1 &
	exits 69 "$pardd" if=src of="$a" rate=4M bs=512 bpt=64 "$@" && says "$a begins at another byte"
}
if able 'perl -e 1' "no perl"; then
	it "says that the medium was changed" another_medium
	it "says so with verify=1" another_medium verify=1
	it "says so with coe=1" another_medium coe=1
	it "... of the medium of a loop device below" another_below
	it "does not believe a map of two media" eval \
	    'another_medium map=map mapinterval=1 && loop a.img --read-only && a=$dev && copies_slowly 0 map=map &&
	    complete && same a.img dst'
	it "does not compare with two media" another_compared
	it "says that it begins elsewhere" shifted
	it "... that was verified" shifted verify=1
	it "... with a map" shifted map=map
	it "... for a while" for_a_while
	it "... or a loop device below it does" for_a_while below engine=threads
	it "says so of a target, too" shifted_target
	it "... of one of several" shifted_target of=dst
	# A loop device begins or ends elsewhere in its file, or has another, at any time
	# from the plan on: 0 only if the bytes are those of where it was, or went there.
	# Moved away and back without a pause, within one transfer, it may stay unseen.
	begin()
	{
		"$blocks" make src 8M 1 && "$blocks" make other.img 16M 5 || return
		! command -v mke2fs >/dev/null || { mkdir tree && "$blocks" make tree/file 5M 1 && rm src &&
		    mke2fs -q -t ext4 -d tree src 8M; }
	}
	one()
	{
		local how to ro='' ends engine rate proof=a.img after=0.$((RANDOM % 4))$((RANDOM % 10)) dev a
		rm -f told dst map* && cp other.img a.img || return
		pick shift back back small large other && how=$picked && pick source target && to=$picked
		[[ $how != other ]] || to=source ro=--read-only
		[[ $to = target ]] || dd if=src of=a.img bs=1M conv=notrunc status=none || return
		# shellcheck disable=SC2086	# there may be none
		until_true 5 attach --sizelimit 8M $ro a.img || return
		a=$dev
		if [[ $to = source ]]; then
			pick "if=$a of=dst" "if=$a of=dst of=dst2" "if=$a of=dst coe=1" "if=$a of=dst used=only" "if=$a of=dst map=map" "if=$a of=dst iflag=cached"
		else
			pick "if=src of=$a" "if=src of=$a of=dst" "if=src of=$a oflag=sync" "if=src of=$a oflag=sparse" "if=src of=$a oflag=cached" "if=- of=$a"
		fi
		ends=$picked && pick "" engine=threads verify=1 hash=md5 && engine=$picked && pick "" rate=16M rate=32M && rate=$picked
		[[ $ends != *map* || $engine != hash* ]] || engine=
		{
			until_true 20 test -s told && read -rt "$after" <>"$scratch/never"
			case $how in
			shift) shift_to "$a" 1048576 8388608 ;;
			back) shift_to "$a" 1048576 8388608 && sleep "0.0$((RANDOM % 10))" && shift_to "$a" 0 8388608 ;;
			small) shift_to "$a" 0 4194304 ;;
			large) shift_to "$a" 0 12582912 ;;
			other) exchange other.img ;;
			esac
		} >/dev/null 2>&1 &
		echo "$how $ends $engine $rate" >line
		# shellcheck disable=SC2086	# words
		run "$pardd" $ends $engine $rate json=told < <(cat src)
		wait
		blockdev --flushbufs "$a" && losetup --detach "$a" || return
		((ran += status != 1))
		((status != 0)) && return
		[[ $to != source ]] || proof=dst
		cmp -n 8M src "$proof"
	}
	seed=${SEED:-$RANDOM}
	it "ends with 0 only if all was where it was meant, from SEED=$seed" mixed "$seed" "${MANY:-8}"
fi

it "copies a write-protected disk" eval \
    'truncate -s 1M a.img && "$blocks" make a.img 1M 1 && loop a.img --read-only &&
    exits 0 "$pardd" if="$dev" of=dst && holds dst 0 0 1M 1'
write_protected()
{
	"$blocks" make src 1M && "$blocks" make b.img 1M 9 && loop b.img --read-only && run "$pardd" if=src of="$dev"
	[[ $status = 80 ]] && one_line "$dev is write-protected$" && untouched b.img 1M
}
it "says that the target is write-protected" write_protected
it "copies a disk that is its stdin" eval \
    'filled a 1M 512 1 && "$pardd" if=- of=dst <"$a" 2>err && holds dst 0 0 1M 1'
it "copies onto a disk that is its stdout" eval \
    'filled b 1M 512 9 && "$blocks" make src 51200 && "$pardd" if=src of=- 1<>"$b" 2>err && holds "$b" 0 0 51200 &&
    holds "$b" 51200 51200 $((1048576 - 51200)) 9'
stdout_padded()
{
	filled b 1M 4096 9 && "$blocks" make src 5000 || return
	{ "$pardd" if=src && "$pardd" if=src; } 1<>"$b" 2>err
	says '^pardd: complete, flushed$' && holds "$b" 0 0 5000 &&
	    "$blocks" zero "$b" 5000 3192 && holds "$b" 8192 0 5000 && holds "$b" 16384 16384 1032192 9
}
it "continues behind the padding of a disk that is its stdout" stdout_padded
# Nothing can be appended to a disk: >> means the same as >.
appended_disk()
{
	filled b 1M 4096 9 && "$blocks" make src 100001 && "$blocks" make large 1048577 || return
	"$pardd" if=src bs=512 2>err >>"$b" || fail "$(<err)" || return
	says '^pardd: complete, flushed$' && says 2399 && holds "$b" 0 0 100001 &&
	    "$blocks" zero "$b" 100001 2399 && holds "$b" 102400 102400 946176 9 || return
	"$pardd" if=large bs=512 2>err >>"$b"
	[[ $? = 101 ]] && one_line 'not a whole|room'
}
it "copies onto a disk that the shell opened with >>" appended_disk

# ---------------------------------------------------------------- page cache

leaves_cache()
{
	filled a 8M 512 1 && filled b 8M 512 9 || return
	blockdev --flushbufs "$a"
	blockdev --flushbufs "$b"
	# the last close of a device would drop its pages
	exec 8<"$a" 9<"$b"
	exits 0 "$pardd" if="$a" of="$b" "$@" && holds b.img 0 0 8M 1
}
clean()
{
	leaves_cache || return
	local n=("$("$blocks" incore "$a")" "$("$blocks" incore "$b")")
	[[ ${n[*]} = "0 0" ]] || fail "pages left: ${n[*]}"
}
it "leaves nothing of two disks in the page cache" clean
clean_tail()
{
	"$blocks" make src 100001 && disk b 1M || return
	blockdev --flushbufs "$b"
	exec 9<"$b"
	exits 0 "$pardd" if=src of="$b" && [[ $("$blocks" incore "$b") = 0 ]]
}
it "leaves nothing of a padded tail in the page cache" clean_tail
# What a partition shows comes from its own cache.
through_partition()
{
	"$blocks" make src 1M && truncate -s 4M disk && loop disk && undo "$tools/part" del "$dev" 1 &&
	    "$tools/part" add "$dev" 1 2048 2048 && until_true 20 test -b "${dev}p1" || return
	exec 8<"${dev}p1" && cat "${dev}p1" >/dev/null && exits 0 "$pardd" if=src of="$dev" seek=2048 &&
	    cmp src "${dev}p1"
	local status=$?
	exec 8<&-
	return $status
}
# A partition has a page cache of its own, and somebody has it open: it is not written back.
through_other_node()
{
	"$blocks" make src 1M && "$blocks" make src2 1M 2 && truncate -s 4M disk && loop disk && undo "$tools/part" del "$dev" 1 &&
	    "$tools/part" add "$dev" 1 2048 2048 && until_true 20 test -b "${dev}p1" || return
	exec 8<"$dev" 9<"${dev}p1" && cp src "${dev}p1" && exits 0 "$pardd" if="$dev" of=dst && holds dst 1M 0 1M &&
	    dd if=src2 of="$dev" bs=1M seek=1 conv=notrunc && exits 0 "$pardd" if="${dev}p1" of=dst2 && cmp src2 dst2
	local status=$?
	exec 8<&- 9<&-
	return $status
}
it "copies what was written to a partition, and is only in the page cache, and to the disk of one" through_other_node
it "shows what it has written to a disk through a partition that was read before" through_partition
# parted [OPTION]...: a disk with a partition, and an image for all of it
parted()
{
	"$blocks" make img 4M && truncate -s 4M disk && loop disk "$@" && undo "$tools/part" del "$dev" 1 2>/dev/null &&
	    "$tools/part" add "$dev" 1 2048 2048 && until_true 20 test -b "${dev}p1"
}
read_anew()
{
	parted -P && exits 0 "$pardd" if=img of="$dev" "$@" && complete && does_not_say partprobe &&
	    [[ ! -e /sys/class/block/${dev#/dev/}p1 ]]
}
kept_in_kernel="^pardd: note: the kernel still has the partitions that DISK had; to have it read the new table: partprobe DISK\$"
# Without -P a loop device has only partitions made by hand, which the kernel keeps.
kept_anyway()
{
	parted && exits 0 "$pardd" if=img of="$dev" "$@" && complete && says "${kept_in_kernel//DISK/"$dev"}" &&
	    [[ -e /sys/class/block/${dev#/dev/}p1 ]]
}
kept_in_use()
{
	parted -P && exec 8<"${dev}p1" && exits 0 "$pardd" if=img of="$dev"
	local status=$?
	exec 8<&-
	((status == 0)) && says "${kept_in_kernel//DISK/"$dev"}"
}
kept_aside()
{
	parted -P && exits 0 "$pardd" if=img of="$dev" count=1024 seek=4096 && complete && does_not_say partprobe &&
	    exits 0 "$pardd" -d if=img of="$dev" && [[ -e /sys/class/block/${dev#/dev/}p1 ]]
}
if able '[[ ! -e /run/udev/control ]]' "udev does it"; then
	it "has the kernel read the new partition table of a disk" read_anew
	it "... and of another target" read_anew of=file
	it "... says what to do if it cannot" kept_anyway
	it "... or if a partition is in use" kept_in_use
	it "... not if the table is the same, or of -d" kept_aside
fi
# An image from a pipe, as a decompressor writes it.
streamed_gpt()
{
	truncate -s 4M img && printf '%s\n' 'label: gpt' size=1M | sfdisk -q img && truncate -s "$1" disk && loop disk &&
	    exits 0 "$pardd" of="$dev" < <(cat img) && complete
}
moved_gpt()
{
	streamed_gpt 8M && says "^pardd: note: $dev is larger than the disk that the GPT is of, so the backup GPT is not at \
its end; to move it there: sfdisk --relocate gpt-bak-std $dev\$" && sfdisk -q --relocate gpt-bak-std "$dev" &&
	    exits 0 "$pardd" if="$dev" of=copy && exits 0 "$pardd" of="$dev" < <(cat copy) && does_not_say relocate
}
it "says of a GPT that came by a pipe where its backup is not" moved_gpt
it "... nothing where it is" eval 'streamed_gpt 4M && does_not_say relocate'
cached()
{
	leaves_cache iflag=cached oflag=cached && (($("$blocks" incore "$a") > 0))
}
it "uses the page cache with iflag=cached" cached

# ------------------------------------------------------------------- refusals

too_small()
{
	filled a 2M 512 1 && filled b 1M 512 9 &&
	    refused '(room|small|large|fit)' if="$a" of="$b" "$@" && untouched "$b" 1M
}
it "refuses a target that is too small" too_small
it "refuses a target that seek= makes too small" too_small seek=2000 count=100
it "refuses a count that the target has no room for" too_small count=2049
too_small_file()
{
	"$blocks" make src 1048577 && filled b 1M 512 9 &&
	    refused '(room|small|large|fit)' if=src of="$b" && untouched "$b" 1M
}
it "refuses a file that is one byte too long" too_small_file
it "takes a count that just fits" eval \
    'filled a 2M 512 1 && filled b 1M 512 9 && exits 0 "$pardd" if="$a" of="$b" count=2048 && holds "$b" 0 0 1M 1'
it "fills a disk from /dev/zero" eval \
    'filled b 1M 512 9 && exits 0 "$pardd" if=/dev/zero of="$b" count=2048 && "$blocks" zero "$b" 0 1M'
it "refuses a count past the target's end from /dev/zero" eval \
    'filled b 1M 512 9 && refused . if=/dev/zero of="$b" count=2049 && untouched "$b" 1M'
past()
{
	filled a 1M 512 1 && refused "$1" if="$a" of=dst "${@:2}" && [[ ! -e dst ]]
}
it "refuses to skip past a disk's end" past '(skip|end)' skip=2049
it "refuses to count past a disk's end" past '(count|end)' count=2049
it "refuses skip and count past a disk's end" past '(count|skip|end)' skip=2000 count=49
full_pipe()
{
	filled b 1M 512 9 || return
	"$blocks" drip 1100000 | { "$tools/ends" how "$pardd" of="$b" 2>err; :; }
	ended exit 78 && does_not_say '^pardd: complete' && holds "$b" 0 0 1M
}
it "says 78 when a pipe brings more than the disk holds" full_pipe
gone()
{
	refused . if=/dev/zero of=/dev/loop-of-no-one count=1 && [[ ! -e /dev/loop-of-no-one ]]
}
it "creates nothing where a disk is missing" gone

# ------------------------------------------------------------- random, faults

seed=${SEED:-20260715}
random_many()
{
	local i sector bs skip seek count left right bpt thr flags
	RANDOM=$1
	"$blocks" make a.img 1M 1 && truncate -s 2M b.img || return
	for ((i = 0; i < $2; i++)); do
		sector=$((RANDOM % 2 ? 512 : 4096))
		if ((i % 10 == 0)); then
			release
			left=$((RANDOM % 2 ? 512 : 4096))
			right=$((RANDOM % 2 ? 512 : 4096))
			loop a.img --sector-size $left && a=$dev &&
			    loop b.img --sector-size $right && b=$dev || return
		fi
		"$blocks" make "$b" 2M 9 || return
		# in units that suit both
		sector=$((left > right ? left : right))
		bs=$((left * (1 + RANDOM % 3)))
		((bs % sector == 0)) || bs=$sector
		skip=$((RANDOM % (1048576 / bs)))
		seek=$((RANDOM % (1048576 / bs)))
		count=$((1 + RANDOM % (1048576 / bs - skip)))
		bpt=$((1 + RANDOM % 40)) thr=$((1 + RANDOM % 16)) flags=()
		((RANDOM % 4)) || flags+=(iflag=cached)
		((RANDOM % 4)) || flags+=(oflag=cached)
		exits 0 "$pardd" if="$a" of="$b" bs=$bs skip=$skip seek=$seek \
		    count=$count bpt=$bpt thr=$thr "${flags[@]}" && complete && holds "$b" 0 0 $((seek * bs)) 9 &&
		    holds "$b" $((seek * bs)) $((skip * bs)) $((count * bs)) 1 &&
		    holds "$b" $(((seek + count) * bs)) $(((seek + count) * bs)) \
			$((2097152 - (seek + count) * bs)) 9 && continue
		echo "no. $i of SEED=$seed: sectors $left $right bs=$bs skip=$skip" \
		    "seek=$seek count=$count bpt=$bpt thr=$thr ${flags[*]}"
		return 1
	done
}
many=$(heavy 100)
[[ -z $LONG ]] || many=5000
only all
it "is exact in $many random configurations of disks" random_many "$seed" "$many"

unseen()
{
	local seed
	filled a 1M "$1" 1 && filled b 1M "$1" 9 || return
	for seed in 1 2 3; do
		"$blocks" make "$b" 1M 9 &&
		    exits 0 with_faults "on=$a op=read short every=2 seed=$seed;on=$b op=write short every=2 seed=$seed" \
			"$pardd" if="$a" of="$b" bs="$1" bpt=16 thr=4 &&
		    faulty read && faulty write && holds "$b" 0 0 1M 1 || return
	done
}
it "finishes short transfers of disks" unseen 512
lose()
{
	filled a 1M "$1" 1 && filled b 1M "$1" 9 &&
	    exits 100 with_faults "on=$a op=read at=409700+10,819200+8192 fail=EIO $3" \
		"$pardd" if="$a" of="$b" coe=1 thr=16 && faulty read 2 &&
	    holds -z "$2,819200+8192" "$b" 0 0 1M 1
}
it "loses one block of 512 for ten bad bytes" lose 512 409600+512 whole
it "loses one block of 4096 for ten bad bytes" lose 4096 409600+4096 whole
