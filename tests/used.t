#!/usr/bin/env bash
# Copies of what file systems use, and nothing else.  The file systems are real, made and
# checked by their own tools, and so are the files, whose digests the copy must have.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs can_loop 'command -v mke2fs sfdisk jq' -- "no loop devices, or no mke2fs, sfdisk, jq"

# fill: write files to the file system at m and remove some, whose bytes stay on the disk
fill()
{
	local i
	mkdir m/d && for i in {1..12}; do
		head -c $((i * 70000)) /dev/urandom >"m/d/f$i" || return
	done
	head -c 9M /dev/urandom >m/gone && sync m/gone && rm m/gone m/d/f3 m/d/f7
}
# sums: the digests of all files of m
sums()
{
	(cd m && find . -type f ! -path './lost+found/*' -exec sha256sum {} + | sort -k2)
}
# mounted IMAGE COMMAND...: with the image mounted at m.  A mount namespace that somebody
# makes meanwhile keeps the loop device until it ends.
mounted()
{
	local image=$1
	shift
	mkdir -p m && undo umount "$PWD/m" && mount -o loop "$image" m && "$@" && umount m &&
	    until_true 60 eval "[[ -z \$(losetup -j $image) ]]"
}
# ext4_image FILE [SIZE]: one with files; their digests are in before.  Made once.
ext4_image()
{
	local size=${2-32M}
	if [[ ! -e $scratch/e4.$size ]]; then
		truncate -s "$size" e4.new && mke2fs -q -t ext4 -L root e4.new && mounted e4.new fill &&
		    mounted e4.new sums >"$scratch/sums.$size" &&
		    cp --sparse=never e4.new "$scratch/e4.$size" && rm -r e4.new m || return
	fi
	cp "$scratch/e4.$size" "$1" && cp "$scratch/sums.$size" before
}
# sound FILE: the file system of a copy is whole, and has the files
sound()
{
	e2fsck -fn "$1" >/dev/null 2>&1 || fail "e2fsck: $1" || return
	cp --sparse=always "$1" try && mounted try sums >after && same before after
}
# moved N: no more than N bytes were written
moved()
{
	local n
	n=$(jq -s 'last | .bytes_written' json)
	((n <= $1)) || fail "$n bytes were written"
}
without='^pardd: complete, flushed, without [0-9.]+ MB that 1 file system calls free$'

image()
{
	ext4_image e4 && exits 0 "$pardd" if=e4 of=copy used=only json=json && last_says "$without" &&
	    jq -es 'map(select(.event == "plan"))[0].file_systems | map(.partition) == [null]' json >/dev/null &&
	    sound copy && moved 15000000 && size_is copy 33554432
}
only plain asan	# what is used is read by one thread
it "copies what a file system uses, and every file is there" image
traceless()
{
	local pages
	ext4_image img && sync img && dd if=img iflag=nocache count=0 status=none &&
	    exits 0 "$pardd" if=img of=copy used=only && last_says 'without .* that 1 file system calls free$' || return
	pages=$("$blocks" incore img)
	((pages == 0)) || fail "$pages pages of the image are left in the page cache"
}
given '[[ $(stat -f -c %T "$scratch") = ext* ]]' "the scratch directory is not on ext4" \
    it "leaves nothing of the image in the page cache" traceless

# what was in the target is not seen in what is left out
it "punches holes into an old file where something is free" eval \
    'ext4_image e4 && exits 0 "$pardd" if=e4 of=new used=only && "$blocks" make old 32M &&
    exits 0 "$pardd" if=e4 of=old used=only && same new old && sound old && (($(stat -c %b old) * 512 < 15000000))'

# A rescue, too: but what domain= leaves out stays, and what an earlier run has copied.
punched_by_rescue()
{
	ext4_image e4 && "$blocks" make old 32M && cp old part && exits 0 "$pardd" if=e4 of=new used=only &&
	    exits 0 "$pardd" if=e4 of=old used=only map=map && same new old && sound old &&
	    (($(stat -c %b old) * 512 < 15000000)) && exits 0 "$pardd" if=e4 usedmap=used.map || return
	local off len _
	read -r off len _ < <(grep '^0x.*0x.*?' used.map | sort -k 2 | tail -n 1)
	((len > 2097152)) && "$blocks" make part 32M && cp part was || return
	printf '0x0 ? 1\n0x0 %#x +\n%#x %#x ?\n' $((off)) $((off)) $((len)) >domain
	printf '0x0 ? 1\n0x0 %#x ?\n%#x 0x100000 +\n%#x %#x ?\n' $((off)) $((off)) $((off + 1048576)) \
	    $((33554432 - off - 1048576)) >part.map
	exits 0 "$pardd" if=e4 of=part used=only map=part.map domain=domain domaintypes='?' || return
	cmp -n $((off + 1048576)) part was && cmp -i $((off + len)) part was &&
	    cmp -i $((off + 1048576)) -n $((len - 1048576)) part /dev/zero
}
it "... in a rescue, too, except what is finished or outside its domain" punched_by_rescue

# What the target has already is read there, even if it is the beginning of a structure.
known_in_part()
{
	ext4_image e4 && head -c 1536 e4 >copy && truncate -s 32M copy &&
	    printf '0x0 ? 1\n0x0 0x600 +\n0x600 0x1FFFA00 ?\n' >map &&
	    exits 0 "$pardd" if=e4 of=copy used=only map=map && last_says "$without" && sound copy
}
it "knows a file system whose superblock was copied in part" known_in_part

# A disk that is larger than the file system of its copy: what is left out takes no room.
small_target()
{
	ext4_image e4 && loop e4 && mkdir mnt && mount -t tmpfs -o size=20M none mnt && undo umount -l "$PWD/mnt" &&
	    exits 0 "$pardd" if="$dev" of=mnt/copy used=only && last_says "$without" && does_not_say 'has room' &&
	    until_true 60 losetup --detach "$dev" && mv mnt/copy . && sound copy
}
it "copies what a file system uses to where the whole would not fit" small_target

# left_alone FILE ORIGINAL: a target that was full of the pattern still has it where a
# new file has holes after the same copy; elsewhere both are alike
left_alone()
{
	local kind off len
	"$blocks" extents "$2" >ranges || return
	while read -r kind off len; do
		if [[ $kind = hole ]]; then
			"$blocks" check "$1" "$off" "$off" "$len" || return
		else
			cmp -i "$off" -n "$len" "$1" "$2" || return
		fi
	done <ranges
}
alone()
{
	ext4_image e4 && exits 0 "$pardd" if=e4 of=new used=only && "$blocks" make disk 32M &&
	    loop disk && exits 0 "$pardd" if=e4 of="$dev" used=only -d && grep -q '^Used ' out &&
	    [[ $(tr -s ' \n' ' ' <out) = *' file system calls free, where the target stays as it was '* ]] &&
	    exits 0 "$pardd" if=e4 of="$dev" used=only && last_says "$without" &&
	    grep -q hole <("$blocks" extents new) && left_alone disk new && sound disk
}
it "leaves a device as it was where something is free" alone

# zeroed HOW WORD...: as the plan says, with oflag=
zeroed()
{
	ext4_image e4 && exits 0 "$pardd" if=e4 of=new used=only && "$blocks" make disk 32M &&
	    loop disk && exits 0 "$pardd" if=e4 of="$dev" used=only "${@:2}" -dv && grep -qx "zeros=$1" out &&
	    exits 0 "$pardd" if=e4 of="$dev" used=only "${@:2}" && last_says "$without" && same new disk && sound disk
}
it "... or makes it zeros" zeroed zeroed oflag=sparse
it "... or frees it" zeroed freed oflag=trim
it "... with the digest of what is read there then" eval 'zeroed freed oflag=trim hash=sha256 &&
    says "^$(sha256sum <disk | cut -d " " -f 1) "'
both()
{
	ext4_image e4 && "$blocks" make disk 32M && loop disk &&
	    exits 0 "$pardd" if=e4 of="$dev" used=only oflag=trim hash=sha256 verify=1 &&
	    last_says '^pardd: complete, flushed, verified, without '
}
it "... which is verified as well" both

# Each of several targets becomes what it would alone, and has its own verdict.
class()
{
	local one
	ext4_image e4 && "$blocks" make disk 32M && "$blocks" make other 32M && loop disk &&
	    one=$dev && loop other && exits 0 "$pardd" if=e4 of=new used=only &&
	    exits 0 "$pardd" if=e4 of="$one" of="$dev" used=only "$@" json=json &&
	    last_says '^pardd: complete, flushed.*, without [0-9.]+ MB that 1 file system calls free: 2 targets$' &&
	    moved 15000000 && left_alone disk new && left_alone other new && sound disk
}
it "leaves each of several devices as it was where something is free" class
it "... and verifies what was copied" eval 'class verify=1 && jq -es ".[-1].targets |
    map([.status, .verified]) == [[0, true], [0, true]]" json >/dev/null'
it "... by the source" class verify=source thr=3 bpt=100
it "makes holes in each of several files" eval \
    'ext4_image e4 && "$blocks" make old 32M && exits 0 "$pardd" if=e4 of=one used=only &&
    exits 0 "$pardd" if=e4 of=new of=old used=only verify=1 && same one new && same one old'
mixture()
{
	ext4_image e4 && "$blocks" make disk 32M && loop disk &&
	    usage 'for both at once use oflag=sparse' if=e4 of="$dev" of=new used=only && [[ ! -e new ]] &&
	    exits 0 "$pardd" if=e4 of="$dev" of=new used=only oflag=sparse hash=sha256 verify=1 &&
	    same disk new && says "^$(sha256sum <disk | cut -d ' ' -f 1) "
}
it "asks for oflag=sparse if one target is a file and another a device" mixture
one_flows()
{
	ext4_image e4 && "$blocks" make disk 32M && loop disk || return
	"$pardd" if=e4 of="$dev" of=- used=only 2>err | cat >out
	[[ ${PIPESTATUS[0]} = 1 && ! -s out ]] && one_line 'standard output is written in order'
}
it "refuses used=only if one of several targets is a pipe" one_flows

# The block map of an image has what is used, and nothing else is needed.
block_map()
{
	ext4_image e4 && exits 0 "$pardd" if=e4 of=copy used=only manifest=copy.bmap "$@" && last_says without &&
	    "$blocks" make img 32M && exits 0 "$pardd" if=copy of=img bmap=copy.bmap && sound img &&
	    exits 0 "$pardd" if=e4 of=. bmap=copy.bmap &&
	    (($(sed -n 's/.*<MappedBlocksCount> \([0-9]*\) .*/\1/p' copy.bmap) < 15000000 / 4096)) || return
	! command -v bmaptool >/dev/null || { truncate -s 32M theirs &&
	    bmaptool -q copy --bmap copy.bmap copy theirs 2>err && sound theirs; } || fail "$(<err)"
}
it "writes a block map of what is used" block_map
it "... in small pieces" block_map bs=4k bpt=3 thr=5
it "... that was verified" block_map verify=1
digests()
{
	ext4_image e4 && exits 0 "$pardd" if=e4 of=new used=only hash=sha256 hashfile=sums &&
	    sed -i 's/ new$/ new/' sums && sha256sum -c --quiet sums || return
	"$blocks" make disk 32M && loop disk || return
	usage 'as it was where they are free' if=e4 of="$dev" used=only hash=sha256 &&
	    usage 'as it was where they are free' if=e4 of="$dev" used=only \
		expect=sha256:"$(printf '%064d' 0)" && holds disk 0 0 32M
}
it "digests what the target then reads as, or says that it cannot" digests

# verified WORD: what is left out differs, and that is not told
verified()
{
	ext4_image e4 && "$blocks" make disk 32M && loop disk &&
	    exits 0 "$pardd" if=e4 of="$dev" used=only verify="$1" bpt=100 json=json &&
	    last_says '^pardd: complete, flushed, verified, without ' && does_not_say differ || return
	jq -es 'last | .bytes_verified == .bytes_written and .bytes_differing == 0 and
	    .bytes_written + .bytes_outside == 33554432' json >/dev/null
}
for word in $(few source stream 1); do
	it "verifies what was copied, verify=$word" verified "$word"
done

compared()
{
	ext4_image e4 && "$blocks" make disk 32M && loop disk &&
	    exits 0 "$pardd" if=e4 of="$dev" used=only && exits 14 "$pardd" if=e4 of="$dev" compare=1 &&
	    exits 0 "$pardd" if=e4 of="$dev" compare=1 used=only &&
	    last_says '^pardd: complete, nothing differs, without ' &&
	    dd if=/dev/urandom of=disk bs=1k seek=1 count=1 conv=notrunc status=none &&
	    exits 14 "$pardd" if=e4 of="$dev" compare=1 used=only
}
it "compares what is used" compared

# ----------------------------------------------------------------- whole disks

# disk FILE TABLE: 200 MiB with two file systems, swap, something unknown, and
# bytes before, behind and between them.  Made once.
disk()
{
	[[ -e $scratch/disk.$2 ]] || make_disk "$2" || return
	cp "$scratch/disk.$2" "$1" && cp "$scratch/sums.64M" before1 && cp before1 before2
}
make_disk()
{
	local at
	truncate -s 200M made && "$blocks" make gaps 1M 5 || return
	for at in 0 $((65 * 1024)) $((199 * 1024)); do
		dd if=gaps of=made bs=1k seek="$at" count=1000 conv=notrunc status=none
	done
	sfdisk -q made <<-EOT || return
		label: $1
		start=2048, size=64MiB
		start=66MiB, size=64MiB
		start=130MiB, size=32MiB
		start=162MiB, size=8MiB
	EOT
	ext4_image one 64M && truncate -s 32M swap && mkswap -L sw swap >/dev/null 2>&1 &&
	    "$blocks" make odd 8M 7 && put one 1 made && put one 66 made && put swap 130 made &&
	    put odd 162 made && mv made "$scratch/disk.$1" && rm before gaps odd one swap
}
# put FILE MIB DISK
put()
{
	dd if="$1" of="$3" bs=1M seek="$2" conv=notrunc,sparse status=none
}
# part DISK MIB LENGTH SUMS: is a sound file system with these files
part()
{
	dd if="$1" bs=1M skip="$2" count="$3" of=part status=none && cp "$4" before && sound part
}
cloned()
{
	disk disk "$1" && "$blocks" make copy 200M 3 && loop copy || return
	exits 0 "$pardd" if=disk of="$dev" used=only json=json &&
	    last_says '^pardd: complete, flushed, without [0-9.]+ MB that 3 file systems call free$' &&
	    says 'note: partition 4: its free space is not known: copied whole$' &&
	    part copy 1 64 before1 && part copy 66 64 before2 &&
	    cmp -n 1M disk copy && cmp -i 65M -n 1M disk copy && cmp -i 162M disk copy &&
	    cmp -i 130M -n 4096 disk copy && moved 72000000 || return
	jq -es 'map(select(.event == "plan"))[0] | .used == "only" and .bytes_free > 130000000 and
	    (.file_systems | map([.partition, .type, .treated])) == [[1, "ext4", "used"],
	    [2, "ext4", "used"], [3, "swap", "used"], [4, null, "whole"]]' json >/dev/null
}
it "clones a disk with a GPT: all that is between partitions, and what they use" cloned gpt
it "... with an MBR" cloned dos
# With 18 partitions nothing is known to be free.
many_whole()
{
	local i
	truncate -s 8M disk && { echo 'label: gpt' && for i in {4..21}; do echo "start=$((i * 512)), size=512"; done; } |
	    sfdisk -q disk && exits 0 "$pardd" if=disk of=copy used=only && same disk copy &&
	    says '^pardd: note: partition 16: its free space is not known: copied whole$' &&
	    says '^pardd: note: and 2 more partitions are copied whole$' && does_not_say 'partition 17'
}
it "tells of 16 partitions that are copied whole, and of how many more there are" many_whole
planned()
{
	disk disk gpt && exits 0 "$pardd" if=disk of=copy used=only -d &&
	    grep -Eq '^Used +without 1[0-9]+ MB that 3 file systems call free, which become zeros$' out &&
	    tr -s ' \n' ' ' <out |
	    grep -Eq '4 unknown whole: its free space is not known, 1 ext4 "root" [0-9]+ MB of 67 MB,' || return
	exits 0 "$pardd" if=disk of=copy used=only -dv &&
	    grep -q '^file_system=partition 3 (swap "sw"): 4096 of 33554432 bytes used, the rest left out$' out
}
it "tells in the plan what is done with each partition" planned
it "copies a partition by its number" eval \
    'disk disk gpt && exits 0 "$pardd" if=disk ipart=2 of=copy used=only && last_says "$without" &&
    cp before2 before && sound copy'
# What is cut in two is copied whole.
cut()
{
	disk disk gpt && exits 0 "$pardd" if=disk of=copy used=only bs=1M count=100 &&
	    says 'partition 2 \(ext4.*\): only a part of it is copied: copied whole$' &&
	    last_says "$without" && cmp -i 66M -n 34M disk copy && part copy 1 64 before1
}
it "copies a file system whole if only a part of it is to be copied" cut

# ------------------------------------------------------------- maps and rescue

# The block map has what used=only copies, for pardd and for other programs.
mapped()
{
	disk disk gpt && exits 0 "$pardd" if=disk usedmap=used.map json=json &&
	    last_says '^pardd: complete, used.map: [0-9.]+ of 209.7 MB are used$' && moved 0 &&
	    exits 0 "$pardd" if=disk of=a used=only && exits 0 "$pardd" if=disk of=b map=map domain=used.map &&
	    same a b || return
	! command -v ddrescue || { ddrescue -q -m used.map disk c && same a c; }
}
it "writes a map of what is used, for domain= and for ddrescue" mapped
beside()
{
	disk disk gpt && exits 0 "$pardd" if=disk usedmap=one && exits 0 "$pardd" if=disk of=copy \
	    usedmap=two && same one two && same disk copy && last_says '^pardd: complete, flushed$' &&
	    exits 0 "$pardd" if=disk ipart=1 usedmap=three && grep -q '^0x00000000  0x00100000  ?$' three &&
	    refused 'is used for something else' if=disk of=copy usedmap=copy
}
it "... beside a copy, which is of everything all the same" beside

# The free blocks are bad, but they are never read.
spared()
{
	ext4_image e4 64M && exits 0 "$pardd" if=e4 usedmap=used.map || return
	local off len status bad=''
	while read -r off len status; do
		[[ $status != '?' ]] || bad+=,$((off))+$((len))
	done < <(grep '^0x.*0x' used.map | sed '$d')
	exits 0 with_faults "on=$PWD/e4 op=read at=${bad#,} fail=EIO" "$pardd" if=e4 of=copy \
	    used=only map=map && last_says "$without" && sound copy || return
	exits 0 "$pardd" if=e4 of=copy used=only map=map && last_says "$without" &&
	    says 'already copied .map.$' && exits 0 "$pardd" if=e4 of=copy map=map && same e4 copy
}
it "never reads in a rescue what is free; a later run may" spared

# in_order MAP FROM: of what was written, in the file faults, all that the map has
# as used comes before all that is free; from the FROMth write on
in_order()
{
	local off len status
	while read -r off len status; do
		echo "$((off)) $((len)) $status"
	done < <(grep '^0x.*0x' "$1") >ranges
	awk -v from="$2" 'FNR == NR { n++
		off[n] = $1; end[n] = $1 + $2; free[n] = $3 == "?" }
	    FNR != NR && $1 == "write" && ++w >= from {
		for (i = 1; i <= n; i++)
			if ($2 >= off[i] && $2 < end[i]) break
		if (free[i]) rest = 1
		else if (rest) { print "write at " $2 " comes late"; exit 1 }
		kinds[free[i]] = 1
	    }
	    END { if (!(kinds[0] && kinds[1])) exit 1 }' ranges faults
}
first()
{
	disk disk gpt && exits 0 "$pardd" if=disk usedmap=used.map || return
	export FAULT_LOG_ALL=1
	exits 0 with_faults "on=$PWD/copy op=write" "$pardd" if=disk of=copy map=map used=first thr=1 &&
	    same disk copy && last_says '^pardd: complete, flushed$' && in_order used.map 1
}
only all
it "reads in a rescue what is used before what is free" first
# Errors in a file leave gaps for the passes that take the largest first; what is
# free is larger, and its turn comes when all of the file has been tried.
first_with_errors()
{
	local at
	disk disk gpt && exits 0 "$pardd" if=disk usedmap=used.map || return
	at=$(grep '^0x.*0x.*+' used.map | while read -r off len _; do echo "$((len)) $((off))"; done | sort -n |
	    awk '{ long = $1; off = $2 } END { print off + int(long / 4096) * 1024 }')
	export FAULT_LOG_ALL=1
	exits 100 with_faults "on=$PWD/disk op=read at=$at+400000,$((at + 700000))+70000 fail=EIO;on=$PWD/copy op=write" \
	    "$pardd" if=disk of=copy map=map used="$1" bs=512 thr="$2" && in_order used.map "$3"
}
only plain asan
it "... also where what is used has errors" first_with_errors first 1 1
it "... by many threads, and with what file systems need before it" first_with_errors meta 4 1
# What the file systems need is there before any file; a run that was stopped
# then asks the target for the order, and not the disk.
meta()
{
	disk disk gpt && exits 0 "$pardd" if=disk usedmap=used.map || return
	export FAULT_LOG_ALL=1
	exits 0 with_faults "on=$PWD/copy op=write" "$pardd" if=disk of=copy map=map used=meta thr=1 bpt=2048 \
	    json=json && same disk copy && in_order used.map 1 || return
	awk 'BEGIN { end = -1 } $1 == "write" { if ($2 != end && ++n > 6) exit; if ($2 != end) print $2; end = $2 + $3 }' faults |
	    diff - <(printf '%s\n' 0 9438208 26215424 42992640 59769856 69206016)
}
only plain asan
it "reads what the file systems need before all else" meta
again()
{
	disk disk gpt && "$blocks" make copy 200M 3 || return
	with_faults "on=$PWD/disk op=read at=20000000+30000000 fail=EIO" "$pardd" if=disk of=copy \
	    map=map used=meta rescue=nosweep,noscrape,notrim 2>err
	# the beginnings of both file systems are bad by now, and are in the copy
	exits 0 with_faults "on=$PWD/disk op=read at=1049600+4096,69207040+4096 fail=EIO" "$pardd" \
	    if=disk of=copy map=map used=meta retries=1 json=json && same disk copy || return
	jq -es 'map(select(.event == "plan"))[0].file_systems | map([.type, .treated]) |
	    .[0:2] == [["ext4", "ordered"], ["ext4", "ordered"]]' json >/dev/null
}
only all
it "... and learns the order from the target when it goes on" again
# Inodes of 5 MB, which are read before all else, and again to find the directories.
nothing_twice()
{
	local stat was is
	mkdir d && (cd d && touch {1..5000}) && truncate -s 32M fs && mke2fs -q -t ext4 -I 1024 -N 6000 -d d fs && loop fs || return
	stat=/sys/block/${dev#/dev/}/stat
	read -r _ _ was _ <"$stat"
	exits 0 "$pardd" if="$dev" of=copy map=map used=meta && same fs copy && read -r _ _ is _ <"$stat" || return
	((is - was < 65536 + 1024)) || fail "$((is - was)) sectors were read"
}
it "... also when it has just made that" nothing_twice
# What could not be read when the order was worked out, or is to be worked out
# anew, is not asked for again; nor is it by a later run.
not_again()
{
	local bad="on=$PWD/disk op=read at=1049600+1024,1071104+512 fail=EIO" once
	disk disk gpt && exits 100 with_faults "$bad" "$pardd" if=disk of=whole map=whole.map thr=1 &&
	    once=$(grep -c '^read ' faults) &&
	    exits 100 with_faults "$bad" "$pardd" if=disk of=copy map=map used=meta thr=1 || return
	# the order asks once, before there is a map
	(($(grep -c '^read ' faults) <= once + 1)) || fail "$once and $(cat faults)" || return
	exits 100 with_faults "$bad" "$pardd" if=disk of=copy map=map used=meta thr=1 && ! grep '^read ' faults
}
only plain asan
it "... and does not ask again for what could not be read" not_again
# Damage affects the order, and nothing else.
spoilt()
{
	disk disk gpt && "$blocks" make noise 4M 8 || return
	dd if=noise of=disk bs=1k seek=1028 count=500 conv=notrunc status=none
	exits 0 "$pardd" if=disk of=copy map=map used="$1" && same disk copy && last_says '^pardd: complete, flushed$'
}
only plain asan
it "... and loses nothing of a damaged file system" eval 'spoilt meta && rm map && spoilt first'
unswept()
{
	disk disk gpt && exits 100 with_faults "on=$PWD/disk op=read at=2097152+8388608 fail=EIO" \
	    "$pardd" if=disk of=copy map=map used=first rescue=nosweep,noscrape &&
	    exits 0 "$pardd" if=disk of=copy map=map used=first retries=1 && same disk copy
}
it "finishes with used=first what rescue=nosweep has left" unswept

# lost OFFSET RANGES: with these bytes of the disk unreadable
lost()
{
	ext4_image e4 && with_faults "on=$PWD/e4 op=read at=$1 fail=EIO" "$pardd" if=e4 of=copy used=only coe=1 2>err
	[[ $? = 100 ]] && says 'copied whole$'
}
it "copies a file system whole if its superblock cannot be read" lost 1024+512
it "... or its groups" lost 4096+512

# -------------------------------------------------- what cannot be trusted

# whole REGEX: all is copied, and a note says why
whole()
{
	exits 0 "$pardd" if="${2:-e4}" of=copy used=only && says "note: .*$1: copied whole\$" &&
	    last_says '^pardd: complete, flushed$' && same "${2:-e4}" copy
}
# A crash: the files are on the medium, but only the journal says where.
crash()
{
	mkdir m m/d 2>/dev/null
	truncate -s 64M e4 && mke2fs -q -t ext4 "$@" e4 && undo umount "$PWD/m" &&
	    mount -o loop,commit=300 e4 m && mkdir m/d || return
	for i in {1..10}; do
		head -c 300k /dev/urandom >"m/d/f$i" && sync "m/d/f$i" || return
	done
	cp --sparse=always e4 crashed && sums >before && umount m && whole "its journal must be replayed" crashed &&
	    mounted copy sums >after && same before after
}
it "copies a crashed file system whole, and no file is lost" crash
it "... one without checksums" crash -O ^metadata_csum
mounted_source()
{
	ext4_image e4 && loop e4 && mkdir -p m && undo umount "$PWD/m" && mount "$dev" m &&
	    exits 0 "$pardd" if="$dev" of=copy used=only && says 'copied whole$' &&
	    last_says '^pardd: complete, flushed$' && size_is copy 33554432
}
it "copies a file system whole that is mounted read-write" mounted_source
it "... but not one that is mounted read-only" eval \
    'ext4_image e4 && loop e4 && mkdir -p m && undo umount "$PWD/m" && mount -o ro "$dev" m &&
    exits 0 "$pardd" if="$dev" of=copy used=only && last_says "$without" && sound copy'
looped()
{
	ext4_image e4 && loop e4 && whole 'uses e4'
}
it "copies an image whole that a loop device uses" looped
# Loop devices do not claim what they lie on.
beside_it()
{
	local one
	ext4_image e4 && loop e4 && one=$dev && loop e4 && whole "${dev#/dev/} lies on the same file" "$one"
}
it "... or one beside the loop device that is the source" beside_it
upon_it()
{
	local one
	ext4_image e4 && loop e4 && one=$dev && loop "$one" --offset 1M && whole "${dev#/dev/} lies on it" "$one"
}
it "... or that has another loop device on it" upon_it
upon_disk()
{
	local one two
	disk disk gpt && loop disk && one=$dev && loop "$one" --offset 1M --sizelimit 64M && two=${dev#/dev/} &&
	    whole "partition 1 .*$two lies on it" "$one" && says "partition 2 .*$two lies on it"
}
it "... or whose disk has one on it" upon_disk
locked()
{
	ext4_image e4 && exits 0 "$tools/hold" range e4 "$pardd" if=e4 of=copy used=only &&
	    says 'a lock of another program is on e4: copied whole$' && last_says '^pardd: complete, flushed$'
}
it "copies an image whole that a program has locked" locked
# A read-only mount leaves the free blocks alone.
shown()
{
	ext4_image e4 && loop e4 -r && mkdir m && undo umount "$PWD/m" && mount -o ro "$dev" m && blockdev --setrw "$dev" &&
	    exits 0 "$pardd" if=e4 of=copy used=only && last_says "$without" && sound copy && loop e4 && whole 'uses e4'
}
it "looks into an image that is attached and mounted read-only" shown
it "... or has read-only loop devices beside and on the source" eval \
    'ext4_image e4 && loop e4 && one=$dev && loop e4 -r && loop "$one" -r --offset 1M &&
    exits 0 "$pardd" if="$one" of=copy used=only && last_says "$without" && sound copy'
# Two signatures, of which one is from before; or a member of a RAID that keeps
# its own at the end: who knows which.
twice()
{
	ext4_image e4 && at_end e4 33554432 && exits 0 "$pardd" if=e4 of=copy used=only &&
	    says 'its md superblock is wrong: copied whole$' && same e4 copy
}
# at_end FILE SIZE: the signature of an md of old
at_end()
{
	{
		printf '\xfc\x4e\x2b\xa9\x00\x00\x00\x00\x5a\x00\x00\x00' && head -c 65524 /dev/zero
	} | dd of="$1" bs=64k seek=$(($2 / 65536 - 1)) conv=notrunc status=none
}
it "is not misled by the signature of a RAID" twice
it "... nor by that of a CD beside its own" eval 'ext4_image e4 && printf "\1CD001\1" |
    dd of=e4 bs=1 seek=32768 conv=notrunc status=none && whole "it has the signatures of several file systems"'
# row FILE N TYPE START COUNT: of the MBR, in sectors
row()
{
	local n bytes=''
	for n in 0 0 0 0 "$3" 0 0 0 $(($4 & 255)) $(($4 >> 8 & 255)) $(($4 >> 16 & 255)) 0 \
	    $(($5 & 255)) $(($5 >> 8 & 255)) $(($5 >> 16 & 255)) 0; do
		printf -v n '\\x%02x' "$n"
		bytes+=$n
	done
	printf %b "$bytes" | dd of="$1" bs=1 seek=$((446 + 16 * ($2 - 1))) conv=notrunc status=none
}
stale_table()
{
	disk disk dos && mke2fs -q -F -t ext4 big 200M && dd if=big of=disk bs=1k skip=1 seek=1 \
	    count=31 conv=notrunc status=none && exits 0 "$pardd" if=disk of=copy used=only &&
	    says 'the whole of disk has the signature of ext4: copied whole' && same disk copy
}
it "copies all of a disk that has both a table and a file system" stale_table
# libblkid sees no table where a FAT or an NTFS begins; the kernel does.
stale_boot_sector()
{
	truncate -s 200M disk && "$@" disk >made 2>&1 && ext4_image one && row disk 1 0x83 $((66 * 2048)) 131072 &&
	    put one 66 disk && exits 0 "$pardd" if=disk of=copy used=only && same disk copy &&
	    says 'its first sector has a partition table, too: copied whole$'
}
given 'command -v mkfs.fat' "no mkfs.fat" \
    it "... or a table, and the boot sector of a FAT" stale_boot_sector mkfs.fat -F 16 -s 64
given 'command -v mkntfs' "no mkntfs" it "... or of an NTFS" stale_boot_sector mkntfs -q -F -f
raid_of_disks()
{
	disk disk dos && at_end disk 209715200 && exits 0 "$pardd" if=disk of=copy used=only &&
	    says 'partition 1: the whole of disk has the signature of linux_raid_member: copied whole' &&
	    same disk copy
}
it "... or a table, and the signature of a RAID at its end" raid_of_disks

# What has digests of all blocks of a file system, or of more than it, is right only with
# what is free.
# behind_it BYTES BACK REGEX: so many bytes before the end of 1 MiB behind it
behind_it()
{
	local size
	ext4_image e4 && size=$(stat -c %s e4) && truncate -s +1M e4 && "$pardd" if=e4 usedmap=used >said 2>&1 &&
	    grep -q '[?]' used || return
	printf %b "$1" | dd of=e4 bs=1 seek=$((size + 1048576 - $2)) conv=notrunc status=none && whole "$3"
}
it "copies a file system whole with a hash tree behind it" behind_it verity 1048576 'something is behind it.*'
it "... or a footer of Android" behind_it AVBf 64 '.*Android Verified Boot.'
# with_verity TABLE: such a disk, with a hash tree in partition 4
with_verity()
{
	disk disk "$1" && printf 'verity\0\0\1\0\0\0\1\0\0\0' | dd of=disk bs=1M seek=162 conv=notrunc status=none
}
hash_beside()
{
	with_verity gpt && exits 0 "$pardd" if=disk of=copy used=only && same disk copy &&
	    says 'partition 1: partition 4 .*dm-verity.*copied whole$'
}
it "... or one in another partition" hash_beside
hash_beside_one()
{
	with_verity gpt && exits 0 "$pardd" if=disk ipart=1 of=copy used=only &&
	    says 'partition 1: partition 4 .*dm-verity.*copied whole$' &&
	    dd if=disk bs=1M skip=1 count=64 of=one status=none && same one copy
}
it "... also where only the file system's partition is copied" hash_beside_one
# node N START COUNT: the partition of $dev has a node, until the case has ended
node()
{
	"$tools/part" del "$dev" "$1" 2>/dev/null
	undo "$tools/part" del "$dev" "$1"
	"$tools/part" add "$dev" "$@" && until_true 20 test -b "${dev}p$1"
}
hash_beside_node()
{
	with_verity gpt && loop disk && node 1 2048 $((64 * 2048)) &&
	    exits 0 "$pardd" if="${dev}p1" of=one used=only && last_says "$without" && node 4 $((162 * 2048)) 2048 &&
	    exits 0 "$pardd" if="${dev}p1" of=one used=only &&
	    says "${dev#/dev/}p4 may have digests .*copied whole\$" && cmp -n 64M one "${dev}p1"
}
it "... by its device node" hash_beside_node
# behind SIZE BYTES MKFS...: something right behind its last sector
behind()
{
	local size
	truncate -s "$1" e4 && "${@:3}" e4 >said 2>&1 && size=$(stat -c %s e4) && truncate -s +1M e4 &&
	    "$pardd" if=e4 usedmap=used >said 2>&1 && grep -q '[?]' used || fail "$(<said)" || return
	printf verity | dd of=e4 bs=1 seek=$((size + $2)) conv=notrunc status=none && whole 'something is behind it.*'
}
if able 'command -v mkfs.fat mkfs.exfat mkntfs mkfs.xfs mkfs.btrfs' "not all kinds can be made here"; then
	it "... or with a FAT before it" behind 64M 0 mkfs.fat -F 32
	it "... or an exFAT" behind 64M 0 mkfs.exfat
	it "... or an NTFS" behind 64M 0 mkntfs -q -F -f
	it "... or an XFS" behind 320M 0 mkfs.xfs -q
	it "... or a btrfs" behind 130M 4000 mkfs.btrfs -q
fi
dynamic_disk()
{
	disk disk "$1" && sfdisk -q --part-type disk 2 "$2" >made 2>&1 && exits 0 "$pardd" if=disk of=copy used=only &&
	    same disk copy && says 'partition 1: it is on a Windows dynamic disk'
}
it "copies a Windows dynamic disk whole" dynamic_disk dos 42
it "... with a GPT" dynamic_disk gpt AF9B60A0-1431-4F62-BC68-3311714A69AD
# dynamic_node KIND BYTE: what Windows writes is there, and the source is a partition by its node
dynamic_node()
{
	disk disk "$1" && loop disk && node 1 2048 $((64 * 2048)) && node 4 $((162 * 2048)) $((8 * 2048)) &&
	    exits 0 "$pardd" if="${dev}p1" of=one used=only && last_says "$without" || return
	printf PRIVHEAD | dd of=disk bs=1 seek="$2" conv=notrunc status=none && blockdev --flushbufs "$dev" &&
	    exits 0 "$pardd" if="${dev}p1" of=one used=only && says 'it is on a Windows dynamic disk.*copied whole$' &&
	    cmp -n 64M one "${dev}p1"
}
it "... or a partition of one by its node" dynamic_node dos 3072
it "... with a GPT, too" dynamic_node gpt $((170 * 1048576 - 512))

overlapping()
{
	disk disk dos && row disk 3 0x83 $((40 * 2048)) $((20 * 2048)) &&
	    exits 0 "$pardd" if=disk of=copy used=only && last_says "$without" &&
	    says 'partition 1 .*partition 3 lies on the same bytes: copied whole$' &&
	    says 'partition 3: partition 1 lies on the same bytes: copied whole$' &&
	    part copy 66 64 before2 && cmp -n 65M disk copy
}
it "copies partitions whole that overlap" overlapping
# The MBR's own is the first of the GPT, and then one across it.
hybrid()
{
	disk disk gpt && row disk 2 0x83 2048 $((64 * 2048)) && exits 0 "$pardd" if=disk of=copy used=only &&
	    last_says 'that 3 file systems call free$' || return
	row disk 2 0x83 $((40 * 2048)) $((20 * 2048)) && exits 0 "$pardd" if=disk of=copy used=only &&
	    says 'partition 1: the MBR has another partition on the same bytes: copied whole$' &&
	    last_says 'that 2 file systems call free$' && cmp -n 65M disk copy
}
it "... also where the MBR says so, and the GPT does not" hybrid
# The GPT at the end tells of other partitions than that at the beginning.
backup_differs()
{
	local end=$((200 * 2048 - 33))
	disk disk gpt && cp disk old && sgdisk -o -n 1:40M:+100M old >said &&
	    dd if=old of=disk bs=512 skip=$end seek=$end count=33 conv=notrunc status=none &&
	    exits 0 "$pardd" if=disk of=copy used=only && same disk copy &&
	    says 'partition 2: the GPT at the end has other partitions: copied whole$'
}
given 'command -v sgdisk' "no sgdisk" it "... or the two tables of a GPT differ" backup_differs
cut_off()
{
	disk disk gpt && truncate -s 150M disk && exits 0 "$pardd" if=disk of=copy used=only &&
	    says 'its partition table cannot be used: .*: copied whole$' && same disk copy
}
it "... or the table is of a larger disk" cut_off
# A GPT behind an MBR of its own is from before, as for the kernel.
not_protective()
{
	disk disk gpt && row disk 1 0x83 $((40 * 2048)) $((20 * 2048)) && exits 0 "$pardd" if=disk of=copy \
	    used=only && last_says '^pardd: complete, flushed$' && same disk copy
}
it "... or the MBR is not one that stands for a GPT" not_protective
longer()
{
	ext4_image e4 && truncate -s 24M e4 && whole 'it is longer than what it lies in'
}
it "copies a file system whole that is longer than what it lies in" longer
# Another file system was made over it; leftovers do not matter.
made_over()
{
	ext4_image e4 && truncate -s 64M fat && mkfs.fat -F 32 fat >made &&
	    dd if=fat of=e4 bs=512 count=1 conv=notrunc status=none && whole '' || return
	ext4_image e4 && { printf 'LUKS\xba\xbe\0\1'; head -c 504 /dev/zero; } |
	    dd of=e4 conv=notrunc status=none && whole 'is encrypted, and stays so' || return
	ext4_image e4 && loop e4 && { ! command -v pvcreate || pvcreate -qyff "$dev"; } >made 2>&1 &&
	    losetup --detach "$dev" && { ! command -v pvcreate || whole 'group of LVM, or has no metadata'; }
}
given 'command -v mkfs.fat' "no mkfs.fat" it "copies one whole with a signature of another" made_over
# At odd places, and no place that a target could have holes in is left out.
placed()
{
	disk disk gpt && exits 0 "$pardd" if=disk of=copy used=only bs=512 skip=2048 count=131072 seek=3 &&
	    last_says "$without" && dd if=copy of=moved bs=512 skip=3 status=none && cp before1 before &&
	    sound moved || return
	rm copy && exits 0 "$pardd" if=disk of=copy used=only bs=512 skip=2049 count=131071 &&
	    says 'only a part of it is copied: copied whole$' && last_says '^pardd: complete, flushed$' &&
	    cmp -i 1049088:0 -n 67108352 disk copy
}
it "copies a file system to another place, by skip= and seek=" placed
killed()
{
	disk disk gpt && "$blocks" make copy 200M 3 && loop copy || return
	FAULTS="on=$dev op=write sleep=200" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=disk of="$dev" used=only map=map mapinterval=1 thr=1 bpt=1000 2>err &
	until_true 60 grep -qs '  +$' map && kill -KILL $! || return
	wait $!
	exits 0 "$pardd" if=disk of="$dev" used=only map=map && says 'already copied' &&
	    last_says 'without [0-9.]+ MB that 3 file systems call free$' &&
	    cmp -n 1M disk copy && part copy 1 64 before1 && part copy 66 64 before2
}
only all
it "goes on with map= where it was killed" killed

# While the first write waits, the file system is mounted and gets a file.
changed()
{
	ext4_image e4 && "$blocks" make copy 32M &&
	    { with_faults "on=$PWD/copy op=write until=$PWD/go" "$pardd" if=e4 of=copy used=only \
		2>err >out & } && until_true 20 test -s faults || return
	mounted e4 eval 'head -c 12M /dev/urandom >m/new' && touch go &&
	    exited 102 && last_says '^pardd: NOT complete: the file system .* has changed'
}
# The same of the second of those on a disk.
changed_second()
{
	disk disk gpt && { with_faults "on=$PWD/copy op=write until=$PWD/go" "$pardd" if=disk of=copy used=only \
		2>err >out & } && until_true 20 test -s faults || return
	mkdir -p m && undo umount "$PWD/m" && mount -o loop,offset=66M,sizelimit=64M disk m &&
	    head -c 12M /dev/urandom >m/new && umount m && touch go &&
	    exited 102 && last_says '^pardd: NOT complete: partition 2 \(ext4.*\) of disk has changed'
}
only plain
it "tells which of several file systems has changed" changed_second
only plain asan
it "does not end 0 when what was free is used at the end" changed

# ------------------------------------------------------------------- refusals

it "refuses a word that used= does not know" usage 'used=' if=a of=b used=most
it "refuses a pipe as the source" usage 'is not one' if=- of=b used=only
to_pipe()
{
	ext4_image e4 && { "$pardd" if=e4 of=- used=only 2>err; echo $? >how; } | cat >out
	[[ $(<how) = 1 && ! -s out ]] && says 'is written in order$'
}
it "refuses a pipe as the target" to_pipe
