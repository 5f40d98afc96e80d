#!/usr/bin/env bash
# What a rescue says about its losses: the partitions, and commands that name the
# damaged files.  Each file holds words of its own by which it is found on the disk.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs 'command -v sfdisk' 'command -v debugfs' 'command -v jq' -- "no sfdisk, debugfs or jq"

only plain asan		# one thread looks, when all others have ended
schema=$top/tests/tools/schema.jq
mib=1048576

# letters WORD BYTES: the word over and over, so that all blocks of 4096 are alike
letters()
{
	awk -v w="$1" -v n="$2" 'BEGIN { while (n > 0) { printf "%-15s\n", w; n -= 16 } }'
}
# tree: makes the contents of a file system
tree()
{
	mkdir -p tree/dir && letters alpha 200000 >'tree/dir/a file' && letters beta 100000 >tree/beta
}
ext()
{
	tree && mke2fs -q -t ext4 -L "home's" -b "${2:-1024}" -d tree "$1" "${3:-8M}"
}
ntfs()
{
	tree && truncate -s 8M "$1" && mkntfs -q -F -L win "$1" >said 2>&1 &&
	    ntfscp -q "$1" 'tree/dir/a file' /alpha && ntfscp -q "$1" tree/beta /beta
}
# Each file goes to an allocation group of its own, to which the way is not plain.
xfs()
{
	tree && mv 'tree/dir/a file' tree/dir/a_file && truncate -s 64M "$1" &&
	    printf '%s\n' / '0 0' 'd--755 0 0' 'dir d--755 0 0' \
	    'alpha ---644 0 0 tree/dir/a_file' '$' 'far d--755 0 0' \
	    'beta ---644 0 0 tree/beta' '$' '$' >proto || return
	mkfs.xfs -q --unsupported -d agcount=4 -p proto "$1" 2>said || {
		truncate -s 320M "$1" && mkfs.xfs -q -d agcount=4 -p proto "$1"
	}
}
# disk FILE...: a GPT with these in its partitions
disk()
{
	local f n=1 rows=()
	for f; do
		rows+=("start=$((n * 2048)), size=$(($(stat -c %s "$f") / 512))")
		starts+=("$n")
		n=$((n + $(stat -c %s "$f") / mib))
	done
	rm -f src
	truncate -s $((n + 1))M src && printf '%s\n' 'label: gpt' "${rows[@]}" | sfdisk -q src || return
	n=0
	for f; do
		dd if="$f" of=src bs=1M seek="${starts[n++]}" conv=notrunc,sparse status=none
	done
}
# at WORD [N]: where the N-th sector that begins with WORD lies
at()
{
	awk -v w="$1" 'BEGIN { printf "%-15s\n%-15s\n", w, w }' >word
	grep -abo -e "^$1 *\$" src | cut -d: -f1 | awk '$1 % 512 == 0' | sed -n "${2:-20}p"
}
# rescued STATUS BAD OPERANDS...
rescued()
{
	local bad=$2
	exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="${target:=dst}" map=map bs=512 json=json "${@:3}" &&
	    jq -es -f "$schema" json >/dev/null
}
# areas: number, type, bytes and ranges of each
areas()
{
	jq -r 'select(.event == "result") | .damage[] |
	    "\(.partition) \(.outside) \(.type) \(.bytes) \(.ranges)"' json
}
is()
{
	[[ $(areas) = "$1" ]] || fail "$(areas)"
}
# told: the names that were found, and the commands that find the others, are
# printed as programs get them
told()
{
	diff <(sed -n 's/^    //p' err) <(jq -r 'select(.event == "result") | .damage[] |
	    (.files_hit // [])[], if .files_all then empty else .command // empty end' json)
}
# only_these TEXT FILE...: of all the files, just these are named
only_these()
{
	local f
	for f in alpha 'a file' beta; do
		if [[ " ${*:2} " = *" ${f// /_} "* ]]; then
			grep -q "$f" "$1"
		else
			! grep -q "$f" "$1"
		fi || fail "$f: $(cat "$1")" || return
	done
}
# names FILE...: the commands, when they are run, name just these files, and so does the report
# where it finds their names itself
names()
{
	local line n=0
	: >named
	while IFS= read -r line; do
		bash -c "$line" >>named 2>errors || { cat errors; return 1; }
		n=$((n + 1))
	done < <(jq -r 'select(.event == "result") | .damage[].command // empty' json)
	((n > 0)) || fail "no command: $(cat err)" || return
	told && only_these named "$@" || return
	jq -r 'select(.event == "result") | .damage[] | select(.files_hit) | .files_hit[]' json >own
	only_these own "$@"
}

# ----------------------------------------------------------------- the files

ext_part()
{
	local starts=()
	ext fs "$1" && cp fs gs && disk gs fs && rescued 100 "$(at alpha 500)+512" thr=4 &&
	    is '2 false ext4 512 1' && names a_file &&
	    says 'partition 2 of src \(ext4 "home.s"\): 512 bytes in 1 range could' || return
	# the first lies in the other partition
	rm map dst && rescued 100 "$(at alpha 20)+1024,$(at beta 300)+512" &&
	    is $'1 false ext4 1024 1\n2 false ext4 512 1' && names a_file beta
}
it "names the files hit in ext4, in a partition" ext_part 1024
it "... with large blocks" ext_part 4096
# What a rescue has put off is not bad, and may yet be read.
not_yet()
{
	local starts=() alpha
	ext fs && disk fs && alpha=$(at alpha 100) &&
	    exits 100 with_faults "on=$PWD/src op=read at=$alpha+512 fail=EIO" \
	    "$pardd" if=src of=dst map=map rescue=notrim,noscrape bpt=64 thr=1 &&
	    says '^pardd: partition 1 of src .*: [0-9]+ bytes in 1 range were not read yet; (this file is|these files are) affected' &&
	    does_not_say 'partition 1 .* could not be read' && rescued 100 "$alpha+512" &&
	    says 'partition 1 of src .*: 512 bytes in 1 range could not be read; this file' && does_not_say 'not read yet'
}
it "calls bad only what was read in vain, block by block" not_yet
ext_whole()
{
	ext src && rescued 100 "$(at beta 3)+512" && is 'null false ext4 512 1' && names beta &&
	    says '^pardd: src \(ext4'
}
it "... on a disk without partitions" ext_whole
# lost FILES STRUCTURES FREE STATE: what was in the first area
lost()
{
	[[ $(jq -r 'select(.event == "result") | .damage[0].lost |
	    "\(.files) \(.structures) \(.free) \(.state)"' json) = "$*" ]] ||
	    fail "$(jq -c 'select(.event == "result") | .damage' json)"
}
# block COMMAND...: where the first block lies that debugfs names
block()
{
	local n
	n=$(debugfs -R "$*" src 2>/dev/null | grep -o '[0-9]*' | head -n 1)
	echo $((n * 1024))
}
told_apart()
{
	local file free dir
	ext src && file=$(at alpha 100) && free=$(block ffb 1 600) && dir=$(block blocks /dir) &&
	    rescued 100 "$free+512" && lost 0 0 512 clean && says '^pardd: all these bytes are free space$' &&
	    rm map dst && rescued 100 "$file+1024,$dir+512,$free+512" && lost 1024 512 512 clean &&
	    says '^pardd: of these, 1024 bytes are in files, 512 in the file system.s own structures, 512 free$'
}
it "tells whether files, structures or nothing were there" told_apart
# The last block of a table of inodes, far behind those that are in use.
empty_table()
{
	local end
	ext src && end=$(dumpe2fs src 2>/dev/null | sed -n 's/.*Inode table at [0-9]*-\([0-9]*\).*/\1/p' | head -n 1) &&
	    rescued 100 "$((end * 1024))+512" && lost 0 512 0 clean
}
it "... also where a table of inodes is still empty" empty_table
# What a lost bitmap covers counts as used.
bitmap_lost()
{
	local free bits
	ext src && free=$(block ffb 1 600) &&
	    bits=$(($(dumpe2fs src 2>/dev/null | sed -n 's/.*Block bitmap at \([0-9]*\).*/\1/p' | head -n 1) * 1024)) &&
	    rescued 100 "$free+512,$bits+1024" && lost 512 1024 0 clean
}
it "... and takes nothing as free whose bitmap is lost" bitmap_lost
apart_others()
{
	local starts=()
	ntfs fs && disk fs && rescued 100 "$(at alpha 300)+512,$((4 * mib))+512" && lost 512 0 512 clean || return
	rm map dst fs && starts=() && xfs fs && disk fs && rescued 100 "$(at alpha 100)+512,$((60 * mib))+512" &&
	    lost 512 0 512 clean && rm map dst && rescued 100 "$((mib + 512))+512" && lost 0 512 0 damaged
}
given 'command -v mkntfs ntfscp mkfs.xfs' "no mkntfs, ntfscp or mkfs.xfs" it "... in NTFS and XFS, too" apart_others
# hits 'LIST ALL': just these, and whether they are all
hits()
{
	[[ $(jq -c 'select(.event == "result") | .damage[0] | .files_hit, .files_all' json | paste -sd " ") = "$1" ]] ||
	    fail "$(jq -c 'select(.event == "result") | .damage' json)"
}
by_itself()
{
	ext src && rescued 100 "$(at alpha 100)+512,$(at beta 30)+1024" &&
	    hits '["/beta","/dir/a file"] true' && told && ! grep -q debugfs err &&
	    says 'in 2 ranges could not be read; these files are affected:$' || return
	rm map dst && rescued 100 "$(at beta 30)+1024" && hits '["/beta"] true' && says '; this file is affected:$'
}
it "finds the names of the files by itself" by_itself
by_itself_fat()
{
	tree && truncate -s 4M src && mkfs.fat src >said && mcopy -s -i src tree/* ::/ &&
	    rescued 100 "$(at alpha 100)+512,$(at beta 30)+1024" && told &&
	    hits '["/beta","/dir/a file"] true' && says 'src \(vfat\): 1536 bytes in 2 ranges could not be read; these files are affected:$'
}
given 'command -v mkfs.fat mcopy' "no mkfs.fat or mcopy" it "... also those of a FAT" by_itself_fat
# inode FILE: its number, the block that it lies in, and the byte in there
inode()
{
	debugfs -R "imap \"$1\"" src 2>/dev/null | sed -n 's/^Inode \([0-9]*\) .*/\1/p
	    s/.* block \([0-9]*\), offset \(.*\)/\1 \2/p' | paste -sd ' '
}
inode_lost()
{
	local ino block byte
	tree && mke2fs -q -t ext4 -I 512 -b 1024 -d tree src 8M && read -r ino block byte <<<"$(inode '/dir/a file')" &&
	    rescued 100 $((block * 1024 + byte))+512 && told && hits '["/dir/a file"] false'
}
it "... even of a file whose inode was lost" inode_lost
# What lies in a directory that was lost has no name any more.
folder_lost()
{
	local ino
	ext src && read -r ino _ <<<"$(inode '/dir/a file')" &&
	    rescued 100 "$(block blocks /dir)+512,$(at alpha 100)+512" && told &&
	    says '; these files are affected, and maybe more:$' && says '^pardd: this names the affected files:$' &&
	    hits "[\"/dir\",\"<$ino>\"] false"
}
it "... as far as their directories can be read" folder_lost
# No line begins at the first of them, for grep.
many_files()
{
	local i
	mkdir -p tree/odd && letters gamma 1024 >one && for i in {10..49}; do
		cp one "tree/odd/a"$'\n'"$i" || return
	done
	ext src && rescued 100 "$(grep -abo -e '^gamma *$' src | cut -d: -f1 | awk '$1 % 1024 == 0 { printf "%s%d+512", c, $1; c = "," }')" || return
	jq -es 'last | .damage[0].files_hit | length == 39 and all(test("^/odd/a\n[0-9]+$"))' json >/dev/null ||
	    fail "$(<json)" || return
	(($(grep -c '^    /odd/a.x0A[0-9]*$' err) == 16)) && says '^pardd: and 23 more files; json= and report= list all of them$'
}
it "... the first of many names, none with a line break in it" many_files
no_file()
{
	local at
	ext src && at=$(debugfs -R 'ffb 1 600' src 2>/dev/null | sed -n 's/^Free blocks found: *\([0-9]*\).*/\1/p') &&
	    rescued 100 $((at * $(dumpe2fs -h src 2>/dev/null | sed -n 's/^Block size: *//p')))+512 &&
	    is 'null false ext4 512 1' && names && grep -qx 'no file is affected' named
}
it "... and says so when no file is hit" no_file
ext_alone()
{
	local starts=()
	ext fs && cp fs gs && disk gs fs && rescued 100 "$(at alpha 500)+512" ipart=2 &&
	    is '2 false ext4 512 1' && names a_file || return
	rm map && truncate -s 20M dst && rescued 100 "$(at alpha 500)+512" ipart=2 seek=5000 &&
	    is '2 false ext4 512 1' && names a_file
}
it "... of a partition that is copied by itself" ext_alone
bitmaps()
{
	local bad
	ext src && bad=$(dumpe2fs src 2>/dev/null | sed -n 's/.*Block bitmap at \([0-9]*\).*/\1/p' |
	    head -n 1) && rescued 100 "$((bad * 1024))+1024,$(at beta 3)+512" && names beta
}
it "... where the bitmaps are lost, too" bitmaps
odd_name()
{
	local target="a 'name; of \$HOME.img"
	ext src && rescued 100 "$(at beta 3)+512" && names beta && rm map &&
	    rm -- "$target" && target=-v && rescued 100 "$(at beta 3)+512" && names beta &&
	    rm map ./-v && target=$'gr\xc3\xb6\xc3\x9fe\n\xff' && rescued 100 "$(at beta 3)+512" && names beta
}
it "... whatever the target is called" odd_name

others()
{
	local starts=()
	"$1" fs && cp fs gs && disk gs fs && rescued 100 "$(at alpha 20)+512,$(at beta 4)+1024" &&
	    is "1 false $1 1536 2" && names "$2" beta || return
	rm -f map dst && cp fs src && rescued 100 "$(at beta 4)+1024" && is "null false $1 1024 1" && names beta
}
# Of a range of more than a thousand blocks, it asks for the first thousand.
xfs_long()
{
	local lost=$((5 * mib))
	xfs src && rescued 100 "$(at beta 4)+$lost" && names beta &&
	    says "$lost bytes in 1 range could not be read; this file is affected:$" &&
	    jq -es 'last | .damage[0].left_out == 1' json >/dev/null
}
if ((EUID != 0)) || ! losetup -f >/dev/null 2>&1; then
	skip "not root, or no loop devices" "names the files hit in NTFS and XFS"
else
	given 'command -v ntfscp' "no ntfs-3g" it "names the files hit in NTFS" others ntfs alpha
	if able 'command -v mkfs.xfs' "no xfsprogs"; then
		it "names the files hit in XFS" others xfs alpha
		it "... even in a range of more blocks than one command asks for" xfs_long
	fi
	on_disk()
	{
		local starts=() target
		ext fs && cp fs gs && disk gs fs && truncate -s 20M medium && loop medium &&
		    target=$dev && rescued 100 "$(at alpha 500)+512" && is '2 false ext4 512 1' && names a_file
	}
	it "names the files hit, on a block device" on_disk
fi

# ------------------------------------------------------------ what it knows

outside()
{
	local starts=()
	ext fs && disk fs && rescued 100 "500224+512,$(at beta 4)+512,9500160+512" &&
	    is $'1 false ext4 512 1\nnull true null 1024 2' &&
	    says 'outside of the partitions of src: 1024 bytes in 2 ranges'
}
it "tells what lies outside all partitions" outside
across()
{
	local starts=()
	ext fs && cp fs gs && disk fs gs && rescued 100 $((9 * mib - 1024))+2048 &&
	    is $'1 false ext4 1024 1\n2 false null 1024 1'
}
it "splits a range that lies in two partitions" across

# What the target held before must not be taken for what was rescued.
stale()
{
	local starts=()
	ext fs && disk fs && cp src dst && rescued 100 "$1,$(at beta 4)+512" && is "$2" && ! grep '^    ' err
}
it "believes no file system whose beginning was not read" stale $((mib + 1024))+512 '1 false null 1024 2'

# An earlier file system has left a copy of its superblock, and all its files.
replaced()
{
	local at
	ext src 1024 16M && at=$(at alpha 100) && head -c 4096 /dev/zero | dd of=src conv=notrunc status=none &&
	    printf 'LUKS\xba\xbe\0\1' | dd of=src conv=notrunc status=none && rescued 100 "$at+512" &&
	    is 'null false crypto_LUKS 512 1' && ! grep '^    ' err && does_not_say 'free'
}
it "names no files of an older file system" replaced

# Two partitions, a table of which a part was lost, and an old target with another table.
lost_table()
{
	local starts=()
	ext fs && cp fs gs && disk gs fs && cp src dst &&
	    printf 'label: gpt\nstart=4096, size=2048\n' | sfdisk -q dst &&
	    rescued 100 "$1$(at alpha 500)+512" && is "$2"
}
end=$((18 * mib))
backup()
{
	lost_table "$1," "$(printf '2 false ext4 512 1\nnull true null %s' "$2")" &&
	    names a_file && says 'partition 2 of src \(ext4' &&
	    says 'not be read; the partitions are those of the backup at its end$'
}
it "takes the partitions from the backup where the header of the GPT was lost" backup 512+512 '512 1'
it "... with the first block" backup 0+1024 '1024 1'
it "... with all of the table at the beginning" backup 0+17408 '17408 1'
it "... where the first entries were lost" backup 1024+512 '512 1'
large_sectors()
{
	truncate -s 8M src && loop src --sector-size 4096 &&
	    printf 'label: gpt\nstart=512, size=512\n' | sfdisk -q "$dev" && losetup --detach "$dev" &&
	    rescued 100 "$1$((3 * mib))+512" && is $'1 false null 512 1\nnull true null 4096 1' &&
	    says 'of the backup'
}
given can_loop "no loop devices" it "... where sectors are of 4096 bytes" large_sectors 4096+4096,
guarded()
{
	lost_table 0+512, $'2 false ext4 512 1\nnull true null 512 1' && names a_file &&
	    says 'its first block could not be read; the partitions are those of its GPT$' && does_not_say backup
}
it "takes the partitions from the GPT where only the first block was lost" guarded
unused()
{
	lost_table 16896+512, $'2 false ext4 512 1\nnull true null 512 1' && names a_file &&
	    does_not_say 'backup|table'
}
it "needs no backup where unused entries were lost" unused
no_table()
{
	lost_table "$1," "null false null $2" && ! grep '^    ' err &&
	    says 'the place of its partition table was not read, nor a backup'
}
it "believes no partition table that was not read, and says that it was lost" \
    no_table 512+512,$((end - 512))+512 '1536 3'
it "... where the entries of the backup were lost, too" no_table 0+1024,$((end - 16896))+512 '2048 3'
only_mbr()
{
	"$blocks" make src 2M && printf 'label: dos\nstart=2048, size=1024\n' | sfdisk -q src &&
	    rescued 100 0+512 && is 'null false null 512 1' && says 'the place of its partition'
}
it "... of a disk with an MBR, too" only_mbr
# The target is larger, and has another table at its end.
longer()
{
	local starts=()
	ext fs && disk fs && truncate -s 30M dst &&
	    printf 'label: gpt\nstart=8192, size=2048\n' | sfdisk -q dst && rescued 100 "512+512,$(at beta 4)+512" &&
	    is $'1 false ext4 512 1\nnull true null 512 1' && names beta
}
it "looks for the backup where the source ends" longer
node()
{
	local part
	truncate -s 4M disk && loop disk && part=${dev}p1 && undo "$tools/part" del "$dev" 1 &&
	    "$tools/part" add "$dev" 1 2048 2048 && until_true 20 test -b "$part" &&
	    exits 100 with_faults "on=$part op=read at=0+512 fail=EIO" "$pardd" if="$part" \
		of=dst map=map bs=512 && does_not_say table && says "^pardd: $part: 512 bytes in 1"
}
given can_loop "no loop devices" it "does not miss a table in a partition" node
# A chain of logical partitions of which a link was lost.
logical()
{
	truncate -s 12M src dst && printf '%s\n' 'label: dos' 'start=2048, size=2048' \
	    'start=4096, type=5' 'start=6144, size=2048' 'start=10240, size=2048' \
	    'start=14336, size=2048' | sfdisk -q src && cp src dst &&
	    rescued 100 $((8192 * 512))+512,$((6200 * 512))+512,$((15000 * 512))+512 &&
	    is $'5 false null 512 1\nnull true null 1024 2' &&
	    says 'a part of its partition table could not be read: there may be more' &&
	    says 'outside of the known partitions of src: 1024'
}
it "follows no link of a chain of partitions that was not read" logical

# A part of a disk: either it is said what it is a part of, or nothing.
middle()
{
	local starts=()
	ext fs && cp fs gs && disk gs fs && rescued 100 "$(at alpha 500)+512" skip=1000 &&
	    is '' && ! grep -E 'could not be read|^    ' <(grep -v '^pardd: NOT' err) && rm map dst &&
	    rescued 100 "$(at alpha 500)+512" skip=18432 && is '' &&
	    ! grep -E 'could not be read|^    ' <(grep -v '^pardd: NOT' err)
}
it "tells nothing of what begins in the middle" middle
first_part()
{
	local starts=() bad
	ext fs && cp fs gs && disk gs fs && bad=$(at alpha 500) &&
	    rescued 100 "$((mib + 4000 * 512))+512,$bad+512" count=$((bad / 512 + 1)) &&
	    is $'1 false ext4 512 1\n2 false null 512 1' || return
	# only the gap before the partitions
	rm map && cp src dst && rescued 100 "$((600 * 512))+512" count=700 && is 'null true null 512 1'
}
it "tells of the partitions in the first part of a disk" first_part
elsewhere()
{
	local starts=()
	ext fs && cp fs gs && disk gs fs && cp src dst && truncate -s 40M dst &&
	    rescued 100 "$(at alpha 500)+512" seek=2048 && is 'null false null 512 1'
}
it "does not take the target's own partitions for those of the source" elsewhere

many()
{
	local first n
	ext src 1024 && first=$(at alpha 1) || return
	rescued 100 "$(for n in {0..90}; do printf '%d+512,' $((first + n * 2048)); done |
	    sed 's/,$//')" && is 'null false ext4 46592 91' && names a_file &&
	    [[ $(jq -r 'select(.event == "result") | .damage[].left_out' json) = 27 ]] &&
	    (($(grep -c 'unreadable: bytes' err) == 16)) && says 'unreadable: 75 more ranges, see map'
}
it "is brief where there is much to tell" many
documented()
{
	local starts=()
	ext fs && disk fs && rescued 100 "$(at beta 4)+512" &&
	    diff <(jq -r 'select(.event == "result") | .damage[0] | keys[]' json) \
	    <(sed -n '/^\.Sh DAMAGE/,/^\.Sh [^D]/s/^\.It Cm //p' "$top/man/pardd-json.5" | sort)
}
it "has every key in the manual, and no other" documented
healed()
{
	ext src && rescued 100 "$(at beta 3)+512" && rescued 0 1+0 retries=1 && is '' &&
	    ! grep -E 'could not|^    ' err
}
it "says nothing about damage when all is there" healed
# What is bad while the progress is reported may be read in the end.
slowly_healed()
{
	ext src && rescued 100 "$(at beta 3)+512" &&
	    exits 0 with_faults "on=$PWD/src op=read times=1 sleep=2500" "$pardd" if=src of=dst map=map \
	    bs=512 json=json retries=1 && jq -es -f "$schema" json >/dev/null &&
	    jq -es 'map(.event) | index("progress") != null and index("error") == null' json >/dev/null
}
it "... nor before that, however long it takes" slowly_healed
