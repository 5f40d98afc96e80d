#!/usr/bin/env bash
# What a file system uses: no block of a file is called free, a file system that
# crashed is not believed, and what cannot be read of it counts as used.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
[[ $VARIANT != tsan ]] || exit 0	# it has no threads
needs can_loop -- "no loop devices"

reader=$BUILD/unit/fsmap_test
[[ $VARIANT = plain ]] || reader=$BUILD/$VARIANT/unit/fsmap_test

# map [OPTIONS] FILE: it is written to the file map; $type, $state, $used, $free, $reads,
# $bytes, $us, $reason are what its beginning says
map()
{
	local word words
	"$reader" "$@" >map || return
	read -ra words <map
	for word in "${words[@]}"; do
		printf -v "${word%%=*}" %s "${word#*=}"
	done
	reason=$(sed -n '3s/^reason //p' map)
}
# is STATE [REGEX]: the last map says this, and why
is()
{
	[[ $state = "$1" && $reason =~ ${2-} ]] || fail "$(head -n 3 map)"
}
# nothing_free: nor does it leave anything out
nothing_free()
{
	((free == 0)) && ! grep free$ map
}

# second_opinion KIND PERCENT: what partclone copies is part of ours, which is no
# more than so much of it (0: it reads none of these)
second_opinion()
{
	local kind=$1
	[[ $kind != fat* ]] || kind=vfat
	[[ $kind != ext* ]] || kind=extfs
	(($2 > 0)) && command -v "partclone.$kind" >/dev/null || return 0
	"partclone.$kind" -D -s img -o theirs -L said >partclone 2>&1 || { cat partclone; return 1; }
	"$tools/maps" list theirs + | tr , '\n' | tr + ' ' | awk -v most="$2" -v used="$used" '
	BEGIN { n = i = 0 }
	NR == FNR { if ($3 == "free") { at[n] = $1; end[n++] = $1 + $2 } next }
	{
		sum += $2
		while (i < n && end[i] <= $1)
			i++
		if (i < n && at[i] < $1 + $2) {
			print "free, and used: " $0
			bad = 1
		}
	}
	END {
		if (sum == 0 || used * 100 > sum * most + 1000000) {
			print used " bytes are used, theirs are " sum
			bad = 1
		}
		exit bad
	}' map -
}

# keeps KIND PERCENT SIZE [OPTIONS]: all files are there when what is free is
# zeros, and its own checker finds nothing
keeps()
{
	local kind=$1 percent=$2
	shift 2
	head -c 3000000 /dev/urandom >large
	make_fs "$1" "$kind" "${@:2}" && mount_fs "$kind" && fill || return
	digests >before && leave_fs "$kind" || return
	[[ -s before ]] || fail "no files" || return
	map img && is clean || return
	((free > used && free + used == $(stat -c %s img))) || fail "$(head -n 3 map)" || return
	second_opinion "$kind" "$percent" || return
	map -d img && is clean || return
	grep -q meta$ map || fail "no structures" || return
	map -z img && check_fs "$kind" && mount_fs "$kind" || return
	digests >after && leave_fs "$kind" && same before after
}
# copies SIZE [OPTIONS]: what is used of a btrfs is little more than what its
# extents are, each copy of them; its own tool reads them all, and finds nothing
copies()
{
	local sum i
	head -c 1000000 /dev/urandom >large
	make_fs "$1" btrfs "${@:2}" && mount_fs btrfs && fill && mkdir mnt/many || return
	for ((i = 0; i < 3000; i++)); do
		echo "$i" >"mnt/many/$i"
	done
	sync -f mnt && btrfs subvolume snapshot -r mnt mnt/snap && rm -r mnt/many/*7 && digests >before &&
	    leave_fs btrfs && map img && is clean || return
	sum=$(btrfs inspect-internal dump-super -f img | awk '$1 == "bytes_used" { print $2 }')
	((used < 2 * sum + 2 * 1048576)) || fail "$used used, $sum in extents" || return
	map -z img && check_fs btrfs && mount_fs btrfs && digests >after && same before after &&
	    btrfs scrub start -B mnt >said && grep -q 'no errors found' said && leave_fs btrfs
}
# A node of the tree of extents cannot be read, in one copy and in both.
by_chunks()
{
	local fine node at
	head -c 1000000 /dev/urandom >large
	make_fs 600M btrfs -m dup && mount_fs btrfs && fill && leave_fs btrfs && map img && is clean || return
	fine=$used
	node=$(btrfs inspect-internal dump-tree -t extent img | awk '$1 == "leaf" { print $2; exit }')
	mapfile -t at < <(btrfs-map-logical -l "$node" img | sed -n 's/.*physical \([0-9]*\) .*/\1/p')
	((${#at[@]} == 2)) || fail "no copies" || return
	map -b "${at[0]}"+4096 img && is clean && ((used == fine)) || fail "$(head -n 3 map)" || return
	map -b "${at[0]}"+4096 -b "${at[1]}"+4096 img && is clean || return
	((used > fine + 20000000)) || fail "$(head -n 3 map)"
}
# The tree of devices, in both copies: the kernel would not mount it.
devices_lost()
{
	local node at
	make_fs 300M btrfs -m dup && map img && is clean || return
	node=$(btrfs inspect-internal dump-tree -t dev img | awk '$1 == "leaf" { print $2; exit }')
	mapfile -t at < <(btrfs-map-logical -l "$node" img | sed -n 's/.*physical \([0-9]*\) .*/\1/p')
	((${#at[@]} == 2)) || fail "no copies" || return
	map -b "${at[0]}"+4096 img && is clean || return
	map -b "${at[0]}"+4096 -b "${at[1]}"+4096 img && is damaged 'chunks and of devices' && nothing_free
}
it "keeps all files of an ext2" keeps ext2 101 200M
it "keeps all files of an ext4" keeps ext4 101 300M
# Each takes a second or more.
also=0
[[ -z $LONG ]] || also=101
if [[ $VARIANT = plain ]]; then
	it "keeps all files of an ext3" keeps ext3 $also 200M -b 1024
	it "keeps all files of an old ext4" keeps ext4 $also 200M -O ^metadata_csum,uninit_bg
	it "keeps all files of an ext4 without flexible groups" keeps ext4 $also 300M -O ^flex_bg -g 8192
	it "keeps all files of an ext4 with descriptors in the groups" keeps ext4 $also 300M -O meta_bg,^resize_inode -b 1024
	it "keeps all files of an ext4 with two superblocks" keeps ext4 $also 300M -O sparse_super2
fi
for options in "-O bigalloc -C 65536" "-O bigalloc -C 16384 -b 1024"; do
	# shellcheck disable=SC2086
	it "keeps all files of an ext4 with clusters ($options)" keeps ext4 0 300M $options
done
# A group counts fewer free blocks than it must have if its bitmap is really unwritten, as it says.
said_unwritten()
{
	head -c 1000000 /dev/urandom >large
	make_fs 100M ext4 -g 8192 -b 1024 "$@" && mount_fs ext4 && fill && digests >before && leave_fs ext4 && map img &&
	    is clean || return
	for ((group = 1; group < 12; group++)); do
		printf 'set_bg %s flags 0x6\nset_bg %s checksum calc\n' $group $group
	done >lines
	debugfs -w -f lines img >said 2>&1 && map -z img && is damaged 'cannot be trusted' && mount_fs ext4 &&
	    digests >after && leave_fs ext4 && same before after
}
it "does not believe that a group of an ext4 is empty if it counts fewer free blocks" said_unwritten
it "... without checksums of bitmaps" said_unwritten -O ^metadata_csum,uninit_bg
# The kernel does not mount blocks larger than a page.
large_blocks()
{
	local i
	head -c 5000000 /dev/urandom >large
	make_fs 800M ext4 -b 65536 "$@" && for i in 1 2 3; do
		echo "write large f$i"
	done >lines && echo 'rm f2' >>lines && debugfs -w -f lines img >said 2>&1 || return
	e2fsck -fy img >said 2>&1
	map img && is clean && ((free > used)) && map -z img && check_fs ext4 || return
	for i in 1 3; do
		debugfs -R "dump f$i file" img 2>said && same file large || return
	done
}
if [[ $VARIANT = plain ]]; then
	it "keeps all files of an ext4 with blocks of 64 KiB" large_blocks
	it "... and clusters" large_blocks -O bigalloc -C 262144
fi
if able 'command -v mkfs.xfs' "no xfsprogs"; then
	it "keeps all files of an XFS" keeps xfs 101 400M
	[[ $VARIANT != plain ]] || it "keeps all files of an XFS with small blocks and a striped log" \
	        keeps xfs $((also > 0 ? 103 : 0)) 400M -b size=1024 -l su=65536
fi
# partclone takes all that lies before the first chunk of data, and what nobody has.
if able 'command -v mkfs.btrfs' "no btrfs-progs"; then
	it "keeps all files of a btrfs" keeps btrfs 0 1G
	[[ $VARIANT != plain ]] ||
	    it "keeps all files of a btrfs with other checksums" keeps btrfs 0 1G --csum xxhash -m single
	if able 'command -v btrfs-map-logical && grep -qw btrfs /proc/filesystems' "no btrfs-map-logical"; then
		it "leaves out what is free in the chunks of a btrfs, but no copy of what is used" copies 600M
		[[ $VARIANT != plain ]] || for options in "-M -n 4096" "-O ^skinny-metadata -d dup" \
		    "-n 4096 -m single -R free-space-tree"; do
			# shellcheck disable=SC2086
			it "... with $options" copies 600M $options
		done
		it "... and goes by whole chunks where the tree of extents is lost" by_chunks
		it "... but knows nothing where the tree of devices is lost" devices_lost
	fi
fi
# keeps_words KIND [OPTIONS]: the same of what this kernel need not mount: all that
# the file holds is there, and nobody else has any of it
keeps_words()
{
	local n
	mkdir tree && awk 'BEGIN { while (n++ < 50000) printf "@@%08d%53s\n", n, "" }' >tree/file || return
	case $1 in
	ext4)	truncate -s 200M img && mke2fs -q -t ext4 "${@:2}" -d tree img >said 2>&1 ;;
	xfs)	printf '%s\n' / '0 0' 'd--755 0 0' 'file ---644 0 0 tree/file' '$' >proto &&
		    make_fs 320M xfs -p proto "${@:2}" ;;
	esac || return
	n=$(LC_ALL=C grep -ac '@@[0-9]* *$' img)
	((n >= 50000)) && map img && is clean && ((free > used)) && map -z img && check_fs "$1" &&
	    [[ $(LC_ALL=C grep -ac '@@[0-9]* *$' img) = "$n" ]]
}
if [[ $VARIANT = plain ]]; then
	it "keeps all of an ext4 whose names ignore case" keeps_words ext4 -O casefold,encrypt
	it "... with files in inodes, and attributes in inodes of their own" keeps_words ext4 -O inline_data,ea_inode,project
	given 'command -v mkfs.xfs' "no mkfs.xfs" it "keeps all of an XFS of old, without checksums" keeps_words xfs -m crc=0
	realtime()
	{
		truncate -s 320M rt
		check_fs()
		{
			xfs_repair -n -r rt img >checked 2>&1
		}
		keeps_words xfs -r rtdev=rt
	}
	given 'command -v mkfs.xfs' "no mkfs.xfs" it "... with a realtime device" realtime
	# each record of its log is as long as a stripe, that of unmounting too
	wide_log()
	{
		make_fs 512M xfs -l su=256k && map img && is clean && ((free > used))
	}
	given 'command -v mkfs.xfs' "no mkfs.xfs" it "finds the end of an XFS's log where its records are of 256 KiB" wide_log
fi
# Each device of two is a copy of the other, and proven by itself.
raid1()
{
	local one two i
	head -c 3000000 /dev/urandom >large
	truncate -s 400M one two && loop one && one=$dev && loop two && two=$dev &&
	    mkfs.btrfs -q -d raid1 -m raid1 "$one" "$two" >made 2>&1 && btrfs device scan "$one" "$two" >said &&
	    mkdir mnt && mount -o "device=$two" "$one" mnt && undo umount -l "$PWD/mnt" && fill && digests >before &&
	    until_true 20 umount mnt || return
	for i in one two; do
		map "$i" && is clean && ((free > 100000000)) && map -z "$i" || return
	done
	# so that the kernel reads again what has changed below it
	blockdev --flushbufs "$one" "$two" && btrfs check --check-data-csum "$one" >checked 2>&1 &&
	    mount -o "device=$two" "$one" mnt && digests >after && same before after &&
	    btrfs scrub start -B mnt >said && grep -q 'no errors found' said && until_true 20 umount mnt
}
# said_why REGEX KIND SIZE [OPTIONS]: it is not known, and why
said_why()
{
	make_fs "$3" "$2" "${@:4}" && map img && is unknown "$1" && nothing_free
}
not_known()
{
	said_why 'its checksums are not' btrfs 300M --csum sha256 && rm img && make_fs 300M btrfs && btrfstune -f -S 1 img >said 2>&1 &&
	    map img && is unknown 'unknown features' && nothing_free
}
if able 'command -v mkfs.btrfs btrfstune' "no mkfs.btrfs or btrfstune"; then
	! grep -qw btrfs /proc/filesystems || it "keeps all files of a btrfs on two devices, on each" raid1
	it "does not believe a btrfs that is a seed, or whose sums it cannot check" not_known
fi
log_elsewhere()
{
	truncate -s 100M log
	said_why 'its log is on another device' xfs 320M -l logdev=log,size=64m
}
given 'command -v mkfs.xfs' "no mkfs.xfs" it "does not believe an XFS whose log is on another device" log_elsewhere
if able 'command -v ntfs-3g mkntfs fuser && [[ -c /dev/fuse ]]' "no ntfs-3g"; then
	it "keeps all files of an NTFS" keeps ntfs 101 200M
	[[ $VARIANT != plain ]] || it "keeps all files of an NTFS with small clusters" keeps ntfs $also 100M -c 512
fi
given 'command -v mount.exfat-fuse mkfs.exfat && [[ -c /dev/fuse ]]' "no exfat-fuse" \
    it "keeps all files of an exFAT" keeps exfat 101 200M

# keeps_fat KIND SIZE [OPTIONS]: the same, by mtools
keeps_fat()
{
	local kind=$1
	shift
	head -c 100000 /dev/urandom >large
	mkdir -p mnt && fill && make_fs "$1" "$kind" "${@:2}" || return
	(cd mnt && mcopy -s -i ../img a c ::/) || return
	mdel -i img '::/c/large 3' && rm 'mnt/c/large 3'
	digests >before && rm -rf mnt && mkdir mnt
	map -d img && is clean && grep -qx 'label ' map || return
	((free > used && free + used == $(stat -c %s img))) || fail "$(head -n 3 map)" || return
	# partclone is wrong about a FAT12, behind its first clusters
	[[ $kind = fat12 ]] || { map img && second_opinion "$kind" 101; } || return
	map -z img && check_fs "$kind" || return
	mcopy -s -i img ::/a ::/c mnt && digests >after && same before after
}
if able 'command -v mkfs.fat mcopy' "no mtools, dosfstools"; then
	it "keeps all files of a FAT12" keeps_fat fat12 15M -s 8
	it "keeps all files of a FAT16" keeps_fat fat16 100M
	it "keeps all files of a FAT32" keeps_fat fat32 100M -s 1
fi

swap()
{
	truncate -s 50M img
	mkswap -L sleepy img >made 2>&1 || return
	map img && is clean || return
	((used == 4096 && free == 50 * 1024 * 1024 - 4096)) || fail "$(<map)" || return
	printf S1SUSPEND | dd of=img bs=1 seek=4086 conv=notrunc status=none
	map img && is dirty hibernated && nothing_free || return
	# a swap that ends before the partition does
	truncate -s 30M img && mkswap img >made 2>&1 && truncate -s 50M img || return
	map img && is clean || return
	((used == 20 * 1024 * 1024 + 4096)) || fail "$(<map)"
}
it "leaves out all of a swap but its header, unless a system is suspended to it" swap

# ------------------------------------------------------------- not clean

# crashed KIND SIZE [OPTIONS]: copied while it is mounted, after fsync
crashed()
{
	local kind=$1
	shift
	head -c 300000 /dev/urandom >large
	make_fs "$1" "$kind" "${@:2}" && mount_fs "$kind" && cp large mnt/first || return
	sync -f mnt || return
	for _ in {1..30}; do
		cp large mnt/second && sync mnt/second && cp img crash || return
		! logged "$kind" || break
	done
	umount mnt || return
	map crash && is dirty && nothing_free || return
	map -o crash && is dirty || return
	((free > used)) || fail "$(head -n 3 map)"
}
it "does not believe an ext4 that was in use" crashed ext4 100M
it "does not believe an ext2 that was in use" crashed ext2 100M
it "does not believe an XFS that was in use" crashed xfs 400M
it "does not believe a btrfs whose log tree holds a file" crashed btrfs 300M

# ntfs-3g has no mark for a volume that it has mounted, and needs none: it writes
# its bitmap before it says that a file is written.
in_use_ntfs()
{
	local i
	head -c 300000 /dev/urandom >large
	make_fs 200M ntfs && mount_fs ntfs || return
	for ((i = 0; i < 20; i++)); do
		mkdir mnt/$i && cp large mnt/$i && sync mnt/$i/large || return
	done
	digests >before && cp img crash && leave_fs ntfs || return
	map -z crash && ((free > used)) || fail "$(head -n 3 map)" || return
	mv crash img && mount_fs ntfs && digests >after && same before after
}
given 'command -v ntfs-3g mkntfs fuser && [[ -c /dev/fuse ]]' "no ntfs-3g, or no fuser" \
    it "loses no file of an NTFS that ntfs-3g has in use" in_use_ntfs

# The journal is read as e2fsck does, even where no flag asks for it.
journal()
{
	local block
	make_fs 100M ext4 -b 4096 && map img && is clean || return
	block=$(debugfs -R 'blocks <8>' img 2>/dev/null)
	printf '\0\0\0\1' | dd of=img bs=1 seek=$((${block%% *} * 4096 + 28)) conv=notrunc status=none
	map img && is dirty journal && nothing_free
}
# What mtools and many cameras leave when they are interrupted: a file is in its
# directory, but not yet in the table, and nothing is marked.
no_mark()
{
	local fats=$(($3 * 2))
	head -c 300000 /dev/urandom >large
	make_fs "$2" "$1" "${@:4}" && cp img before && mmd -i img ::/a && cp img between && mcopy -i img large ::/a/ &&
	    map img && is clean || return
	dd if=between of=img bs=512 skip="$first" seek="$first" count="$fats" conv=notrunc status=none && map img &&
	    is dirty 'its FAT and its directories differ' && nothing_free || return
	dd if=before of=img bs=512 skip="$first" seek="$first" count="$fats" conv=notrunc status=none && map img &&
	    ! is clean && nothing_free
}
no_marks()
{
	local first=1
	no_mark fat12 5M 8 -s 4 && no_mark fat16 20M 40 -s 4 && first=32 && no_mark fat32 40M 600 -s 1
}
given 'command -v mkfs.fat mcopy' "no mkfs.fat or mcopy" it "does not believe a FAT whose directories have what it calls free" no_marks
no_mark_exfat()
{
	local heap
	head -c 300000 /dev/urandom >large
	make_fs 40M exfat && heap=$(od -An -tu4 -j 88 -N 4 img) && cp img before && mount_fs exfat && cp large mnt &&
	    leave_fs exfat && map img && is clean || return
	dd if=before of=img bs=512 skip=$((heap)) seek=$((heap)) count=1 conv=notrunc status=none && map img &&
	    is dirty 'its bitmap and its directories differ' && nothing_free
}
given 'command -v mount.exfat-fuse mkfs.exfat && [[ -c /dev/fuse ]]' "no exfat-fuse" \
    it "... nor such an exFAT" no_mark_exfat
# ntfs-3g marks nothing while it writes, and what it wrote comes to a disk in any
# order: here $Bitmap not at all.
no_mark_ntfs()
{
	local at
	head -c 300000 /dev/urandom >large
	make_fs 40M ntfs && mount_fs ntfs && mkdir mnt/a && touch mnt/a/{1..20} && leave_fs ntfs && at=$(ntfsinfo -v -i 6 img 2>said | sed -n 's/^[[:space:]]*0x0[[:space:]]*\(0x[0-9a-f]*\)[[:space:]].*/\1/p' | head -n 1) &&
	    [[ -n $at ]] && cp img before && mount_fs ntfs && cp large mnt && leave_fs ntfs && map img && is clean || return
	dd if=before of=img bs=4k skip=$((at)) seek=$((at)) count=1 conv=notrunc status=none && map img &&
	    is dirty 'its .Bitmap and its files differ' && nothing_free
}
given 'command -v ntfs-3g mkntfs ntfsinfo fuser && [[ -c /dev/fuse ]]' "no ntfs-3g, or no fuser" \
    it "... nor such an NTFS" no_mark_ntfs
it "does not believe an ext4 whose journal is not empty" journal

# A journal that lies elsewhere cannot be read.
journal_elsewhere()
{
	truncate -s 64M log && loop log && mke2fs -q -F -O journal_dev -b 4096 "$dev" >made 2>&1 &&
	    make_fs 100M ext4 -b 4096 -J device="$dev" && map img && is unknown 'another device' &&
	    nothing_free && map -o img && ((free > used)) && map log && is unknown && nothing_free
}
it "... or is on another device" journal_elsewhere

# said: of rows AT BYTES STATE REASON: img is not believed once it has these
# bytes there, for that reason, and nothing of it is called free
said()
{
	local at bytes want why
	cp --sparse=always img fresh && map img && is clean || return
	while read -r at bytes want why; do
		cp --sparse=always fresh img
		# shellcheck disable=SC2059
		printf -- "$bytes" | dd of=img bs=1 seek="$at" conv=notrunc status=none
		map img && is "$want" && nothing_free && [[ $reason = "$why"* ]] ||
		    fail "$at $bytes: $reason" || return
	done
}
words_ext()
{
	make_fs 4M ext2 -b 1024 && said <<-'END' && rm img && make_fs 8M ext3 -b 1024 && said <<-'FIN'
	1082 \0 dirty it was not unmounted
	1082 \3 damaged it has errors noted: e2fsck
	1123 \200 unknown it has unknown features
	1127 \200 unknown it has unknown features
	1036 \1 damaged its counts of free blocks
	END
	1248 \0 unknown its journal is on another device
	1248 \7 damaged its journal cannot be read
	FIN
}
words_fat()
{
	make_fs 16M fat16 && said <<-END
	$(($(od -An -tu2 -j14 -N2 img) * 512)) \\1 damaged the beginning of its FAT is
	END
}
words_exfat()
{
	make_fs 16M exfat && said <<-'END'
	106 \4 damaged it is marked as failing
	200 \1 damaged the checksum of its boot sectors
	END
}
words_ntfs()
{
	local mft
	make_fs 8M ntfs && mft=$(($(od -An -tu8 -j48 -N8 img) * 4096)) && said <<-END
	$((mft + 3 * 1024)) X damaged its \$Volume cannot be read
	$((mft + 6 * 1024)) X damaged its \$Bitmap cannot be read
	$((mft + 2 * 1024)) X damaged its \$LogFile cannot be read
	END
}
words_xfs()
{
	make_fs 320M xfs -m crc=0 && said <<-'END' && rm img && make_fs 320M xfs && said <<-'FIN'
	126 \1 damaged mkfs.xfs has not finished it
	48 \0\0\0\0\0\0\0\0 unknown its log is on another device
	END
	108 X damaged the checksum of its superblock
	FIN
}
words_btrfs()
{
	make_fs 128M btrfs && said <<-'END'
	65835 X damaged the checksum of its superblock
	END
}
words_swap()
{
	truncate -s 1M img && mkswap img >made 2>&1 && said <<-'END'
	1024 \2 damaged its header is wrong
	4090 -SPACE unknown its version is not known
	END
}
for row in 'ext mke2fs' 'fat mkfs.fat' 'exfat mkfs.exfat' 'ntfs mkntfs' 'xfs mkfs.xfs' 'btrfs mkfs.btrfs' \
    'swap mkswap'; do
	sentence="says why it does not believe a file system, as of ${row% *}"
	given 'command -v "${row#* }"' "no ${row#* }" it "$sentence" "words_${row% *}"
done

dirty_bits()
{
	if able 'command -v mkfs.fat' "no mkfs.fat"; then
		make_fs 100M fat16 && map img && is clean || return
		printf '\1' | dd of=img bs=1 seek=37 conv=notrunc status=none
		map img && is dirty && nothing_free || return
		make_fs 100M fat32 && map img && is clean || return
		# of its second entry in both tables
		printf '\7' | dd of=img bs=1 seek=$((32 * 512 + 7)) conv=notrunc status=none
		map img && is dirty && nothing_free || return
	fi
	if able 'command -v mkfs.exfat' "no mkfs.exfat"; then
		make_fs 100M exfat && map img && is clean || return
		printf '\2' | dd of=img bs=1 seek=106 conv=notrunc status=none
		map img && is dirty && nothing_free || return
	fi
	rm img && make_fs 100M ext4 && tune2fs -E force_fsck img >made || return
	map img && is damaged && nothing_free
}
it "does not believe what is marked as dirty or damaged" dirty_bits

# ntfs_at RECORD: the byte of a record of $MFT that begins at cluster 4
ntfs_at()
{
	echo $((4 * 4096 + $1 * 1024))
}
# first_cluster RECORD: of its contents
first_cluster()
{
	ntfsinfo -i "$1" -v -f img 2>/dev/null | awk '/VCN.*LCN/ { getline; print $2; exit }'
}
ntfs_dirty()
{
	local at i
	make_fs 100M ntfs && map img && is clean || return
	cp img whole
	# the flags of $Volume, which ntfs-3g's own tool sets
	at=$(($(ntfs_at 3) + $(dd if=img bs=1 skip="$(ntfs_at 3)" count=1024 status=none |
	    LC_ALL=C grep -abo -P '\x03\x01\x00\x00' | tail -n 1 | cut -d: -f1)))
	printf '\1' | dd of=img bs=1 seek=$((at + 2)) conv=notrunc status=none
	map img && is dirty chkdsk && nothing_free || return
	# a log that is open: a page that says so, in the place of an empty one
	cp whole img
	at=$(($(first_cluster 2) * 4096))
	{
		printf 'RSTR\x1e\0\x09\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\x10\0\0\x30\0\0\0\1\0'
		printf '\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
		printf '\0\0\0\0\0\0\0\0\1\0\xff\xff\0\0\0\0'
		head -c 4032 /dev/zero
	} >page
	for ((i = 1; i <= 8; i++)); do
		printf '\7\0' | dd of=page bs=1 seek=$((i * 512 - 2)) conv=notrunc status=none
	done
	dd if=page of=img bs=4096 seek=$((at / 4096)) conv=notrunc status=none
	map img && is dirty LogFile && nothing_free || return
	# the same, closed
	printf '\xff\xff' | dd of=img bs=1 seek=$((at + 60)) conv=notrunc status=none
	map img && is clean
}
# Free blocks of an XFS and those of its groups: one extent that reaches into a file.
sums_xfs()
{
	local field
	make_fs 320M xfs && map img && is clean || return
	for field in 'fdblocks 128' 'ifree 7' 'icount 128'; do
		cp img whole && xfs_db -x -c 'sb 0' -c "write $field" whole >said 2>&1 && map whole &&
		    is damaged 'counts of inodes or free' && nothing_free || return
	done
}
given 'command -v mkfs.xfs xfs_db' "no mkfs.xfs or xfs_db" \
    it "does not believe an XFS whose sums differ from those of its groups" sums_xfs
# A system that is suspended to a file has more in its memory than on the disk.
asleep_ntfs()
{
	make_fs 40M ntfs && mount_fs ntfs && { echo "$2"; head -c 8192 /dev/zero; } >"mnt/$1" && leave_fs ntfs &&
	    map img || return
	[[ -z $2 ]] || { is dirty sleeps && nothing_free; return; }
	is clean
}
if able 'command -v ntfs-3g mkntfs fuser && [[ -c /dev/fuse ]]' "no ntfs-3g, or no fuser"; then
	for word in hibr HIBR wake; do
		it "does not believe an NTFS whose hiberfil.sys begins with $word" asleep_ntfs hiberfil.sys $word
	done
	it "... but one with an empty hiberfil.sys" asleep_ntfs hiberfil.sys ''
fi
given 'command -v mkntfs ntfsinfo' "no ntfs-3g" \
    it "does not believe an NTFS that is marked dirty or has an open log" ntfs_dirty

# ---------------------------------------------------------------- damage

# group_lost: a wrong bit in one bitmap costs that group, and no more
group_lost()
{
	local at was group=$((128 * 1024 * 1024))
	make_fs 1G ext4 && map img && is clean || return
	was=$used
	at=$(dumpe2fs img 2>/dev/null | sed -n 's/.*Block bitmap at \([0-9]*\).*/\1/p' | head -n 1)
	printf '\1' | dd of=img bs=1 seek=$((at * 4096 + 2000)) conv=notrunc status=none
	map img && is damaged '1 of 8 block groups' || return
	((used > was && used <= was + group)) || fail "$used bytes, $was before" || return
	# the same for one that cannot be read
	make_fs 1G ext4 && map -b $((at * 4096))+512 img && is damaged '1 of 8 block groups' || return
	((used > was && used <= was + group)) || fail "$used bytes, $was before"
}
it "counts a group of an ext4 as used if its bitmap is wrong or unreadable" group_lost

ag_lost()
{
	local was
	make_fs 400M xfs -d agcount=4 && map img && is clean || return
	was=$used
	printf '\1' | dd of=img bs=1 seek=$((100 * 1024 * 1024 + 512 + 55)) conv=notrunc status=none
	map img && is damaged '1 of 4 allocation groups' || return
	((used > was && used <= was + 100 * 1024 * 1024)) || fail "$used bytes, $was before" || return
	map -b $((200 * 1024 * 1024 + 512))+512 img && is damaged '2 of 4 allocation groups'
}
given 'command -v mkfs.xfs' "no xfsprogs" \
    it "counts a group of an XFS as used if its header is wrong or unreadable" ag_lost

ntfs_bitmap_lost()
{
	local was
	make_fs 200M ntfs && map img && is clean || return
	was=$used
	map -b $(($(first_cluster 6) * 4096))+512 img && is damaged Bitmap || return
	((used > was && used <= was + 4096 * 8 * 4096)) || fail "$used bytes, $was before"
}
given 'command -v ntfsinfo mkntfs' "no ntfs-3g" \
    it "counts as used what a lost piece of NTFS's bitmap describes" ntfs_bitmap_lost

two_fats()
{
	local was
	make_fs 100M fat32 -s 1 && map img && is clean || return
	was=$used
	# in the second table a cluster is used: fat at 32 sectors
	at=$((32 * 512 + $(od -An -tu4 -j36 -N4 img) * 512 + 1000 * 4))
	printf '\xff\xff\xff\x0f' | dd of=img bs=1 seek=$at conv=notrunc status=none
	map img && is damaged differ && ((used == was + 512)) || fail "$(head -n 3 map)" || return
	map -b $((32 * 512 + 4096))+512 img && is damaged || return
	((used == was + 128 * 512 + 512 || used == was + 128 * 512)) || fail "$(head -n 3 map)"
}
given 'command -v mkfs.fat' "no mkfs.fat" \
    it "counts as used what either of two FATs says is, or all where one is lost" two_fats

# begins_lost KIND SIZE BYTES: nothing is known for sure, but the copy is enough to guess an order
begins_lost()
{
	local was
	rm -f img
	make_fs "$2" "$1" && map -o img && is clean || return
	was=$used
	map -b "0+$3" img && nothing_free || return
	[[ $state != clean ]] || fail "$(head -n 3 map)" || return
	map -o -b "0+$3" img && is damaged lost || return
	((used <= was + was / 10 && used >= was - was / 2)) || fail "$used bytes, $was before"
}
all_begin()
{
	begins_lost ext4 300M 4096 && begins_lost btrfs 300M 131072 || return
	begins_lost xfs 400M 512 && begins_lost ntfs 200M 512 || return
	begins_lost fat32 200M 512 && begins_lost exfat 200M 512
}
it "finds the order by the copy of a superblock or boot sector" all_begin

# made_anew KIND SIZE OTHER [OPTIONS]: what the first file system has left, further on,
# is not taken for the other
made_anew()
{
	local force=
	[[ $3 != xfs ]] || force=-f
	rm -f img
	make_fs "$2" "$1" "${@:4}" && make_fs "$2" "$3" $force && map -o img && is clean &&
	    [[ $type = "${3/fat32/vfat}" ]]
}
# locked_anew KIND SIZE [OPTIONS]: ... nor for one that is encrypted
locked_anew()
{
	rm -f img
	make_fs "$2" "$1" "${@:3}" && head -c 131072 /dev/zero | dd of=img conv=notrunc status=none &&
	    printf 'LUKS\xba\xbe\0\1' | dd of=img conv=notrunc status=none && map -o img && is unknown && nothing_free
}
all_anew()
{
	local kind
	for kind in ntfs fat32 exfat; do
		made_anew ext4 300M $kind -b 1024 || return
	done
	locked_anew ext4 300M -b 1024 && locked_anew xfs 400M && locked_anew btrfs 300M && locked_anew ntfs 200M &&
	    made_anew ext4 400M xfs && made_anew xfs 400M ntfs && made_anew btrfs 300M exfat
}
given 'command -v mkfs.xfs mkfs.btrfs mkntfs mkfs.fat mkfs.exfat' "not all kinds can be made here" \
    it "does not find by a copy what was there before" all_anew

# Whatever cannot be read: only what is free when all can be read is called free.
subset()
{
	awk '
	BEGIN { n = i = 0 }
	NR == FNR { if ($3 == "free") { at[n] = $1; end[n++] = $1 + $2 } next }
	$3 == "free" {
		while (i < n && end[i] <= $1)
			i++
		if (i == n || $1 < at[i] || $1 + $2 > end[i]) {
			print
			bad = 1
		}
	}
	END { exit bad }' "$1" "$2"
}
unreadable()
{
	local kind at
	for kind in $(few ext4 xfs btrfs ntfs fat16 exfat); do
		rm -f img
		make_fs 400M "$kind" && map img && is clean || return
		cp map whole
		for at in 0 512 1024 4096 8192 16384 65536 131072 1048576 4194304; do
			map -b $at+4096 img && subset whole map || fail "$kind at $at" || return
		done
	done
}
given 'command -v mkfs.xfs mkfs.btrfs mkntfs mkfs.fat mkfs.exfat' "not all kinds can be made here" \
    it "calls nothing more free when something cannot be read" unreadable

# ------------------------------------------------------------------ cost

# cheap KIND BYTES MS: what it takes to find out, of 10 GiB; the quickest of
# some tries, as the machine may be busy
cheap()
{
	local try best=1000000
	rm -f img
	make_fs 10G "$1" || return
	for ((try = 0; try < 9; try++)); do
		map img && is clean || return
		((us >= best)) || best=$us
	done
	echo "$1: $reads reads, $bytes bytes, $best us"
	((bytes <= $2 && best <= $3 * 1000))
}
all_cheap()
{
	local kind
	for kind in ext4 xfs btrfs ntfs exfat; do
		cheap $kind 1048576 20 || return
	done
	cheap fat32 11000000 200	# that large are its tables
}
[[ $VARIANT != plain ]] || given 'command -v mkfs.xfs mkfs.btrfs mkntfs mkfs.fat mkfs.exfat' "not all kinds can be made here" \
    it "finds out what 10 GiB hold by reading 1 MiB, in 20 ms" all_cheap
