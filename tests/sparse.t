#!/usr/bin/env bash
# Holes and zeros: what is not read, what is not written, and that nothing old is left in
# their place.  Shared blocks.  Some cases need losetup.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

seed=${SEED:-$RANDOM}

# data FILE OFFSET BYTES...: put data there, of a pattern of its own
data()
{
	local file=$1
	shift
	while (($# > 0)); do
		"$blocks" make "$file" "$2" 1 "$1" || return
		shift 2
	done
}

# sparse_file FILE: 32 MiB with data and holes, long ones and short ones, and
# with data that are zeros
sparse_file()
{
	truncate -s 32M "$1" && data "$1" 0 70000 1M 3M 8M 4096 12M 1000 \
	    $((12 * 1048576 + 8192)) 4096 $((12 * 1048576 + 16384)) 4096 20M 1500000 $((32 * 1048576 - 4096)) 4096 &&
	    dd if=/dev/zero of="$1" bs=64k seek=400 count=32 conv=notrunc \
		status=none && sync "$1"
}

same_map()
{
	diff <("$blocks" extents "$1") <("$blocks" extents "$2")
}

# in_use FILE: bytes of its blocks
in_use()
{
	echo $(($(stat -c %b "$1") * 512))
}

can_punch()
{
	local f=$scratch/probe
	head -c 64k /dev/urandom >"$f" && fallocate -p -l 64k "$f" && [[ $(stat -c %b "$f") = 0 ]]
}
needs can_punch -- "no holes in files here"

# ------------------------------------------------------------ file to file

keeps()
{
	sparse_file src && exits 0 "$pardd" if=src of=dst "$@" && complete && same src dst && same_map src dst &&
	    says '^33554432 bytes .* copied'
}
for thr in $(few 1 4 16); do
	it "keeps the holes of a file, $thr workers" keeps thr="$thr"
done
it "keeps them in small pieces" keeps bs=512 bpt=8 thr=16
only plain asan
it "keeps them in odd pieces" keeps bs=512 bpt=300
it "keeps them with direct I/O" keeps iflag=direct oflag=direct
it "keeps them in the page cache" keeps iflag=cached oflag=cached
it "keeps them when the target is cut off first" eval '"$blocks" make dst 40M 9 && keeps oflag=trunc'

unread()
{
	export FAULT_LOG_ALL=1
	local n
	truncate -s 1G src && data src 0 1M 500M 1M || return
	exits 0 with_faults "on=src op=read;on=dst op=write" "$pardd" if=src of=dst || return
	n=$(awk '{ n += $4 } END { print n }' faults)
	((n == 4194304)) || fail "$n bytes were moved, not 4 MiB"
}
it "neither reads nor writes a hole" unread

it "gives a file that ends in a hole its length" eval \
    'truncate -s 5000001 src && data src 0 1000 && exits 0 "$pardd" if=src of=dst && size_is dst 5000001 &&
    same src dst && same_map src dst'
it "copies a file that is one hole" eval \
    'truncate -s 3M src && exits 0 "$pardd" if=src of=dst && size_is dst 3145728 && same src dst &&
    [[ $(in_use dst) = 0 ]]'
it "writes all with oflag=nosparse" eval \
    'sparse_file src && exits 0 "$pardd" if=src of=dst oflag=nosparse && same src dst &&
    [[ $("$blocks" extents dst) = "data 0 33554432" ]]'
it "puts a sparse file into a pipe" eval 'sparse_file src && "$pardd" if=src 2>err | cmp - src'
fragments()
{
	local i
	truncate -s 2M src || return
	for ((i = 0; i < 256; i++)); do
		echo $((i * 8192)) 4096
	done | xargs -n 2 sh -c "$blocks"' make src $1 1 $0' || return
	exits 0 "$pardd" if=src of=dst "$@" && same src dst && same_map src dst
}
it "keeps holes of single pages" fragments
only all
it "keeps them with 16 workers and small pieces" fragments bpt=5 thr=16
if has_shm && [[ $VARIANT = plain ]]; then
	huge()
	{
		far=$(mktemp /dev/shm/pardd-far.XXXXXX) && undo rm -f "$far" "$far.2" &&
		    truncate -s 16T "$far" && data "$far" 0 1M 9T 1M &&
		    exits 0 timeout 20 "$pardd" if="$far" of="$far.2" &&
		    size_is "$far.2" $((1 << 44)) && same_map "$far" "$far.2" &&
		    holds "$far.2" $((9 << 40)) $((9 << 40)) 1M 1 &&
		    exits 0 timeout 20 "$pardd" if="$far" of="$far.2" thr=16
	}
	it "copies a hole of 16 TiB at once" huge
	# To a new file, and to a file that is one hole.
	larger()
	{
		far=$(mktemp /dev/shm/pardd-far.XXXXXX) && undo rm -f "$far" "$far.2" &&
		    truncate -s 64P "$far" && data "$far" $((5 << 50)) 1M &&
		    exits 0 timeout 20 "$pardd" if="$far" of="$far.2" &&
		    size_is "$far.2" $((1 << 56)) && same_map "$far" "$far.2" &&
		    holds "$far.2" $((5 << 50)) $((5 << 50)) 1M 1 &&
		    truncate -s 0 "$far.2" && truncate -s 64P "$far.2" && data "$far.2" $((7 << 50)) 9M &&
		    exits 0 timeout 20 "$pardd" if="$far" of="$far.2" thr=16 &&
		    same_map "$far" "$far.2" && holds "$far.2" $((5 << 50)) $((5 << 50)) 1M 1
	}
	it "copies a hole of 64 PiB as fast" larger
fi
# tmpfs is wrong about the last page that a file can have.
last_page()
{
	local last=9223372036854775807
	in_memory && truncate -s $last src 2>/dev/null || return 0
	printf pardd | dd of=src bs=1 seek=$((last - 9)) conv=notrunc status=none &&
	    exits 0 "$pardd" if=src of=dst iflag=skip_bytes skip=$((last - 100000)) && complete &&
	    size_is dst 100000 && [[ $(tail -c 9 dst | tr -d '\0') = pardd ]]
}
it "copies what is in the last page before 8 EiB" last_page
# The last hole is as fast as any other.  far SIZE
far()
{
	in_memory && truncate -s "$1" src 2>/dev/null || return 0
	printf pardd | dd of=src conv=notrunc status=none &&
	    exits 0 timeout 60 "$pardd" if=src of=dst && complete && size_is dst "$1" &&
	    [[ $(head -c 5 dst) = pardd ]] && (($(stat -c %b dst) <= 8192))
}
for size in 9223372036854775807 9223372036854771712 9223372036852678656 9223372036852678655; do
	it "copies a hole that ends at byte $size" far $size
done
# Nor does it find data there in a huge page.
huge_page()
{
	local last=9223372036854775807
	mkdir mnt && mount -t tmpfs -o size=64M,huge=always none mnt && undo umount -l "$PWD/mnt" || return
	cd mnt && truncate -s $last src && printf pardd | dd of=src bs=1 seek=$((last - 1000000)) conv=notrunc status=none &&
	    exits 0 timeout 60 "$pardd" if=src of=dst && complete && same_end 3000000
}
# same_end BYTES: of src and dst, up to the last byte of all
same_end()
{
	cmp <(end_of src "$1") <(end_of dst "$1")
}
end_of()
{
	dd if="$1" iflag=skip_bytes skip=$((9223372036854775807 - $2)) bs=64k status=none
}
# The kernel says where such data ends in a negative number that is not an error.
last_pages()
{
	in_memory && truncate -s 9223372036854775807 src 2>/dev/null || return 0
	"$blocks" make data 10000 && dd if=data of=src bs=10000 oflag=seek_bytes \
	    seek=$((9223372036854775807 - 10000)) conv=notrunc status=none &&
	    exits 0 timeout 60 "$pardd" if=src of=dst && complete && same_end 50000
}
it "... and data that goes on into the last page" last_pages

given '((EUID == 0))' "not root" it "... and what is in a huge page there" huge_page

# onto a file with old data: RULES OPERANDS...
onto_file()
{
	local rules=$1
	shift
	sparse_file src && "$blocks" make dst 40M 9 &&
	    exits 0 with_faults "$rules" "$pardd" if=src of=dst "$@" && complete &&
	    cmp -n 32M src dst && "$blocks" check dst 32M 32M 8M 9
}
only plain asan
it "leaves nothing old in the holes" onto_file ''
it "frees the blocks that lay there" eval 'onto_file "" && (($(in_use dst) < 20 << 20))'
it "writes zeros where no hole can be punched" eval 'onto_file "on=dst op=zero fail=EOPNOTSUPP" && faulty fallocate'
it "leaves nothing old with oflag=nosparse" onto_file '' oflag=nosparse
it "leaves nothing old with oflag=trim" onto_file '' oflag=trim
it "leaves nothing old in small pieces" onto_file '' bs=512 bpt=3 thr=16
# A hole at the end, whose last block is not whole: BYTES OPERANDS...
pads_hole()
{
	local bytes=$1 whole=$((($1 + 65535) / 65536 * 65536))
	shift
	truncate -s "$bytes" src && data src 4096 1000 && "$blocks" make dst 8M 9 &&
	    exits 0 "$pardd" if=src of=dst bs=64k conv=noerror,sync "$@" && complete &&
	    says "^pardd: the end was padded with $((whole - bytes)) zero bytes" &&
	    truncate -s "$whole" src && cmp -n "$whole" src dst &&
	    "$blocks" check dst "$whole" "$whole" $((8388608 - whole)) 9
}
for bytes in 200704 3477504; do
	it "pads a hole with zeros, $bytes bytes" pads_hole "$bytes"
done
it "pads it with zeros, oflag=sparse" pads_hole 3477504 oflag=sparse
it "pads it with zeros, page cache" pads_hole 3477504 iflag=cached oflag=cached
it "pads it with zeros, engine=async" pads_hole 3477504 engine=async oflag=direct
it "pads it with zeros where no hole can be punched" eval \
    'with_faults "on=dst op=zero fail=EOPNOTSUPP" pads_hole 3477504'
no_zeros()
{
	sparse_file src && "$blocks" make dst 40M 9 &&
	    exits 55 with_faults "on=dst op=zero fail=EIO" "$pardd" if=src of=dst &&
	    says '^pardd: NOT complete: dst: writing .*Input/output error'
}
it "stops when an error keeps a hole from being punched" no_zeros
shrunk()
{
	truncate -s 64M src && data src 0 1M 40M 1M || return
	FAULTS="on=$PWD/src op=read nth=1 until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst thr=1 bpt=64 2>err &
	until_true 20 test -s faults
	truncate -s 30M src
	touch go
	exited 102 && says '^pardd: NOT complete: src ends at byte'
}
[[ $VARIANT != plain ]] || it "sees a sparse source shrink" shrunk

# ------------------------------------------------------------------- zeros

found()
{
	sparse_file src && exits 0 "$pardd" if=src of=dst "$@" && same src dst && (($(in_use dst) < 5 << 20))
}
it "finds zeros with conv=sparse" found conv=sparse
only all
it "finds zeros with oflag=sparse in small pieces" found oflag=sparse bpt=16 thr=16
only plain asan
it "finds zeros from a pipe" eval 'sparse_file src && cat src | exits 0 "$pardd" of=dst conv=sparse && same src dst &&
    (($(in_use dst) < 5 << 20))'
pieces()
{
	head -c 1M /dev/zero >src && data src 4096 1 $((8192 + 4095)) 1 20480 4096 $((1 << 19)) 1 &&
	    exits 0 "$pardd" if=src of=dst conv=sparse && same src dst &&
	    [[ $("$blocks" extents dst | xargs) = "hole 0 4096 \
data 4096 8192 hole 12288 8192 data 20480 4096 hole 24576 499712 \
data 524288 4096 hole 528384 520192" ]] || fail "$("$blocks" extents dst)"
}
it "finds zeros page by page" pieces

# ----------------------------------------------------------------- devices

probe_loop()
{
	local dev
	truncate -s 1M "$scratch/probe" && dev=$(losetup --find --show "$scratch/probe") && losetup -d "$dev"
}
# onto_disk SECTOR RULES OPERANDS...: a sparse file onto a disk full of data
onto_disk()
{
	local sector=$1 rules=$2
	shift 2
	sparse_file src && truncate -s 40M disk && loop disk --sector-size "$sector" && "$blocks" make "$dev" 40M 9 &&
	    exits 0 with_faults "$rules" "$pardd" if=src of="$dev" "$@" && complete && cmp -n 32M src "$dev" &&
	    "$blocks" check "$dev" 32M 32M 8M 9
}
# The same without holes.
zeros_onto_disk()
{
	local sector=$1 rules=$2
	shift 2
	sparse_file holes && cp --sparse=never holes src && truncate -s 40M disk &&
	    loop disk --sector-size "$sector" && "$blocks" make "$dev" 40M 9 &&
	    exits 0 with_faults "$rules" "$pardd" if=src of="$dev" "$@" &&
	    complete && cmp src <(head -c 32M "$dev") && "$blocks" check "$dev" 32M 32M 8M 9
}
freed()
{
	zeros_onto_disk 512 '' oflag=trim && sync disk &&
	    (($(in_use disk) < 20 << 20)) || fail "$(in_use disk) bytes in use"
}
kept()
{
	zeros_onto_disk 512 '' oflag=sparse && sync disk &&
	    (($(in_use disk) >= 40 << 20)) || fail "$(in_use disk) bytes in use"
}
# odd_place SECTOR SEEK COUNT OPERANDS...
odd_place()
{
	local seek=$2 count=$3
	sparse_file src && truncate -s 40M disk && loop disk --sector-size "$1" && "$blocks" make "$dev" 40M 9 &&
	    export FAULT_LOG_ALL=1 && exits 0 with_faults "on=$dev op=zero" "$pardd" if=src of="$dev" \
		skip=3 seek="$seek" count="$count" bs=512 "${@:4}" &&
	    faulty BLKZEROOUT && ! grep 'BLKZEROOUT .* -' faults &&
	    cmp -n $((count * 512)) -i $((3 * 512)):$((seek * 512)) src "$dev" &&
	    holds "$dev" 0 0 $((seek * 512)) 9 && "$blocks" check "$dev" $(((seek + count) * 512)) \
		$(((seek + count) * 512)) 1M 9
}
whole_blocks()
{
	odd_place "$@" && awk '$2 % 4096 != 0 || $3 % 4096 != 0 { print; bad = 1 }
	    END { exit bad }' faults
}
large_steps()
{
	local n
	export FAULT_LOG_ALL=1
	truncate -s 1G src disk && loop disk &&
	    exits 0 with_faults "on=$dev op=zero" "$pardd" if=src of="$dev" thr=1 || return
	n=$(grep -c BLKZEROOUT faults)
	((n > 0 && n <= 16)) || fail "$n calls for 1 GiB"
}
# A disk on which each call takes long, however little it zeroes.
small_steps()
{
	in_memory
	truncate -s 64M src disk && loop disk || return
	export FAULTS="on=$dev op=zero sleep=250" FAULT_LOG=$PWD/faults FAULT_LOG_ALL=1
	LD_PRELOAD=$shim "$tools/ends" how "$pardd" if=src of="$dev" 2>err &
	until_true 20 test -s faults && sleep 0.5
	took=$EPOCHREALTIME
	kill -INT "$(sed -n 's/^pid //p' how)" && wait $!
	took=$(since "$took")
	ended signal 2 && awk '$3 > 1048576 { print; bad = 1 } END { exit bad }' faults
}
pads_disk()
{
	truncate -s 3477504 src && data src 4096 1000 && truncate -s 8M disk &&
	    loop disk && "$blocks" make "$dev" 8M 9 &&
	    exits 0 "$pardd" if=src of="$dev" bs=64k conv=sync "$@" && complete &&
	    truncate -s 3538944 src && cmp -n 3538944 src "$dev" && "$blocks" check "$dev" 3538944 3538944 4849664 9
}
if able '((EUID == 0)) && probe_loop' "no loop devices"; then
	it "pads a hole with zeros on a disk" pads_disk
	it "pads it there with oflag=sparse" pads_disk oflag=sparse
	it "makes zeros in a few steps where that is quick" large_steps
	it "makes zeros in steps short enough for a signal to wait" promptly 1000 small_steps
	for sector in 512 4096; do
		it "makes zeros in place of holes on a disk of $sector" onto_disk $sector ''
		it "makes zeros in place of zeros on a disk of $sector" zeros_onto_disk $sector '' conv=sparse
		it "frees them with oflag=trim on a disk of $sector" onto_disk $sector '' oflag=trim
	done
	only all
	it "makes them with 16 workers and small pieces" onto_disk 512 '' oflag=sparse bpt=9 thr=16
	only plain asan
	it "makes them through the page cache" onto_disk 512 '' oflag=sparse,cached
	it "writes zeros where a disk has no better way" eval \
	    'onto_disk 512 "op=zero fail=EOPNOTSUPP" && faulty BLKZEROOUT'
	it "... and for oflag=trim, too" eval 'onto_disk 512 "op=zero fail=EOPNOTSUPP" oflag=trim && faulty fallocate'
	it "makes zeros in another way where no blocks can be freed" eval \
	    'FAULT_LOG_ALL=1 onto_disk 512 "op=zero fail=EOPNOTSUPP times=1" oflag=trim &&
	    faulty fallocate && faulty BLKZEROOUT'
	it "frees blocks of the disk with oflag=trim" freed
	it "frees none without it" kept
	it "need not begin or end at the disk's pages" odd_place 512 9 60001
	it "... with oflag=sparse, either" odd_place 512 9 60001 oflag=sparse
	it "zeroes only whole blocks of a disk of 4096" whole_blocks 4096 8 60000
	it "says that holes were not read, and zeros not written" eval 'onto_disk 512 "" verbose=1 &&
	    says "^pardd: [0-9]+ bytes were holes, and not read$" &&
	    says "^pardd: [0-9]+ bytes were zeroed, and not written$"'
fi

# ----------------------------------------------------------------- by dice

random_one()
{
	local i at=0 n end args=() size old to
	size=$((RANDOM * 97 % 3000000 + 1))
	rm -f src dst
	truncate -s $size src || return
	while ((at < size)); do
		n=$((RANDOM % 3 ? RANDOM % 20000 + 1 : RANDOM * 10 + 1))
		n=$((n < size - at ? n : size - at))
		((RANDOM % 4 == 0)) || data src $at $n || return
		at=$((at + n))
		at=$((at + (RANDOM % 2 ? RANDOM * 20 : RANDOM / 3)))
	done
	local skip=$((RANDOM % 3 ? 0 : RANDOM % (size / 512 + 1)))
	local seek=$((RANDOM % 2 ? 0 : RANDOM % 40)) left
	left=$((size - skip * 512))
	if ((RANDOM % 2)); then
		n=$((RANDOM % (left / 512 + 1)))
		left=$((n * 512))
		args+=("count=$n")
	fi
	args+=("thr=$((1 + RANDOM % 16))" "skip=$skip" "seek=$seek")
	((RANDOM % 3 == 0)) || args+=("bpt=$((1 + RANDOM % 400))")
	case $((RANDOM % 4)) in
	0)	args+=(oflag=sparse) ;;
	1)	args+=("oflag=trim,direct") ;;
	esac
	old=$((RANDOM % 2 ? 0 : RANDOM * 100))
	"$blocks" make dst $old 9 || return
	echo "size=$size old=$old ${args[*]}" >line
	exits 0 "$pardd" if=src of=dst bs=512 "${args[@]}" && complete || return
	end=$((seek * 512 + left))
	to=$((old > end ? old : end))
	((left > 0)) || to=$old
	size_is dst $to && cmp -n $left -i $((skip * 512)):$((seek * 512)) src dst || return
	((old < seek * 512 || left == 0)) || holds dst 0 0 $((seek * 512)) 9 || return
	((old <= end)) || "$blocks" check dst $end $end $((old - end)) 9
}
random_many()
{
	local i
	RANDOM=$1
	for ((i = 0; i < $2; i++)); do
		random_one && continue
		echo "no. $i of SEED=$seed: $(<line)"
		cat err
		return 1
	done
}
many=$(heavy 60)
[[ -z $LONG ]] || many=2000
echo "# SEED=$seed, $many configurations"
only all
it "is exact in $many random configurations" random_many "$seed" "$many"

# ------------------------------------------------------------ shared blocks

# shares TYPE MKFS...: a file system that can
shares()
{
	command -v "$2" >/dev/null && grep -qw "$1" /proc/filesystems ||
		return
	truncate -s 320M fs && "${@:2}" fs >/dev/null 2>&1 && mkdir -p mnt &&
	    mount -o loop fs mnt && undo umount "$PWD/mnt"
}
on()
{
	local type=$1 mkfs=(mkfs.xfs -q)
	[[ $type = xfs ]] || mkfs=(mkfs.btrfs -q -f)
	shift
	shares "$type" "${mkfs[@]}" && cd mnt && "$@"
}
shared()
{
	"$blocks" make src 9000001 && exits 0 "$pardd" if=src of=dst verbose=1 "$@" &&
	    complete && same src dst && size_is dst 9000001 &&
	    says '^pardd: 9000001 bytes are shared by both files, and not copied$' && says '^9000001 bytes .* copied'
}
shared_part()
{
	"$blocks" make src 9000001 && "$blocks" make dst 12000000 9 &&
	    exits 0 "$pardd" if=src of=dst bs=512 skip=9 seek=17 count=10000 \
		reflink=always verbose=1 &&
	    says '^pardd: 5(11|10|09|08)[0-9]{4} bytes are shared' &&
	    holds dst 0 0 8704 9 && holds dst 8704 4608 5120000 && "$blocks" check dst 5128704 5128704 6871296 9
}
apart()
{
	"$blocks" make src 9000001 && exits 0 "$pardd" if=src of=dst verbose=1 "$@" &&
	    complete && same src dst && does_not_say shared
}
askew()
{
	"$blocks" make src 9000001 && exits 0 "$pardd" if=src of=dst seek=1 verbose=1 &&
	    holds dst 512 0 9000001 && does_not_say shared && rm dst &&
	    refused 'whole blocks' if=src of=dst seek=1 reflink=always && [[ ! -e dst ]]
}
unshared()
{
	"$blocks" make src 9000001 && exits 0 with_faults "on=dst op=share fail=$1 ${2-}" \
		"$pardd" if=src of=dst verbose=1 && faulty FICLONERANGE &&
	    same src dst && does_not_say shared && rm dst && exits "$3" with_faults "on=dst op=share fail=$1" \
		"$pardd" if=src of=dst reflink=always &&
	    says '^pardd: NOT complete: reflink=always: dst: '
}
# One is written in place, the other is not.
unlike()
{
	"$blocks" make src 9000001 && : >dst && chattr +C dst && exits 72 "$pardd" if=src of=dst reflink=always &&
	    says '^pardd: NOT complete: reflink=always: dst: the file system does not let these two files share blocks$' &&
	    exits 0 "$pardd" if=src of=dst && same src dst
}
told()
{
	"$blocks" make src 9000001 && exits 0 "$pardd" if=src of=dst json=run.json &&
	    jq -es 'last | .bytes_shared == 9000001 and
		.bytes_written == 9000001' run.json
}
only plain asan	# one thread asks for shared blocks
for type in xfs btrfs; do
	if ((EUID != 0)) || ! (cd "$scratch" && mkdir -p probe.d && cd probe.d && on $type true) >/dev/null 2>&1; then
		release
		skip "no $type here" "shares blocks on $type"
		continue
	fi
	release
	it "shares blocks on $type" on $type shared
	it "shares them with reflink=always on $type" on $type shared reflink=always
	it "copies with reflink=never on $type" on $type apart reflink=never
	it "copies with oflag=nosparse on $type" on $type apart oflag=nosparse
	it "copies with conv=sync on $type" on $type eval \
	    '"$blocks" make src 9000001 && exits 0 "$pardd" if=src of=dst \
	    conv=sync bs=4096 && holds dst 0 0 9000001 && "$blocks" zero dst 9000001 2975'
	it "shares whole blocks of a part on $type" on $type shared_part
	it "copies the end of a file into another on $type" on $type eval \
	    '"$blocks" make src 9000001 && "$blocks" make dst 12000000 9 && exits 0 "$pardd" if=src of=dst &&
	    holds dst 0 0 9000001 && "$blocks" check dst 9000001 9000001 2999999 9'
	it "copies what is not aligned alike on $type" on $type askew
	it "copies when sharing fails on $type" on $type unshared EOPNOTSUPP '' 15
	it "copies when sharing fails with an error on $type" on $type unshared EIO '' 55
	[[ $type != btrfs ]] ||
		it "says that two files cannot share on $type" on $type unlike
	it "tells programs about it on $type" on $type told
done
never_here()
{
	"$blocks" make src 100000 && exits 15 "$pardd" if=src of=dst reflink=always &&
	    says '^pardd: NOT complete: reflink=always: dst: this file system cannot share blocks$'
}
given '[[ $(stat -f -c %T "$scratch") = ext* ]]' "the scratch directory is not on ext4" \
    it "says that a file system cannot share blocks" never_here
never_between()
{
	local here=$PWD
	"$blocks" make src 100000 && in_memory || return
	exits 68 "$pardd" if="$here/src" of=dst reflink=always &&
	    says '^pardd: NOT complete: reflink=always: dst: the files are in two file systems$'
}
given '[[ $(stat -f -c %T "$scratch") != tmpfs ]] && has_shm' "there are no two file systems here" \
    it "says that two file systems cannot" never_between
unshareable()
{
	"$blocks" make src 4095 && "$blocks" make dst 5000 9 &&
	    refused 'whole blocks' if=src of=dst reflink=always "$@" && holds dst 0 0 5000 9
}
it "refuses reflink=always for less than a block of a longer file" unshareable
it "refuses it with -d" unshareable -d
it "refuses reflink=always for what is not a file" eval \
    '"$blocks" make src 1000; refused "not both files" if=src of=. reflink=always'

planned()
{
	sparse_file src && exits 0 "$pardd" -dv if=src of=dst "${@:2}" && grep -qx "$1" out || fail "$(cat out)"
}
it "plans not to read holes" planned 'holes=not read'
it "plans to read them for oflag=nosparse" planned 'holes=read' oflag=nosparse
it "plans to leave holes for zeros" planned 'zeros=holes' oflag=sparse
it "plans to write them otherwise" planned 'zeros=written'
it "plans to share blocks" planned 'reflink=if possible'
it "plans not to with reflink=never" planned 'reflink=no' reflink=never

