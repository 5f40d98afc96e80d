#!/usr/bin/env bash
# The names of the files that hold given bytes.  Each block of a file says whose it is,
# so the answer can be checked for every block on the disk.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
[[ $VARIANT = plain ]] || exit 0	# the fuzzer has sanitizers of its own

reader=$BUILD/unit/fsmap_test
files=72

# path ID: where that file is
path()
{
	local dirs=('' 'folder/' 'folder/b c/d/' 'Grüße/')
	echo "${dirs[$1 % 4]}a file's name that is long, and has a ${smile-😀} and a number, $1"
}
# content ID BLOCKS: of 512 bytes each, which say so
content()
{
	awk -v id="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "@@%08d%501s\n", id, "" }'
}
# tree: the same in a directory, of 4 KiB to 100 KiB, so that nothing is written anew
# when there is more
tree()
{
	local i
	mkdir -p 'tree/folder/b c/d' tree/Grüße || return
	for ((i = 1; i <= files; i++)); do
		printf '%d %d tree/' "$i" $(((i * i % 199 / 8 + 1) * 8))
		path "$i"
	done | awk '{
		id = $1; n = $2
		sub(/^[0-9]+ [0-9]+ /, "")
		while (n-- > 0)
			printf "@@%08d%501s\n", id, "" >$0
		close($0)
	}'
}
is_gone()
{
	(($1 % 3 == 0))
}
# blocks: where blocks of files are found, and whose
blocks()
{
	LC_ALL=C grep -abo '^@@[0-9]\{8\} *$' img | awk -F '[:@]+' '$1 % 512 == 0 { print $1, $2 + 0 }'
}
# asked SEED: 6 of these, of files in equal shares
asked()
{
	awk -v seed="$1" 'BEGIN { srand(seed) } !($2 in n) { id[++ids] = $2 } { at[$2, ++n[$2]] = $1 }
	    END { for (i = 0; i < 6; i++) { k = id[int(rand() * ids) + 1]; print at[k, int(rand() * n[k]) + 1], k } }' found |
	    sort -nu
}
# alike: what was wanted, and nothing else
alike()
{
	same want got || fail "$(cat want; echo; cat got)"
}
# names TYPE [OFFSET+LENGTH]...
names()
{
	local at options=()
	for at in "${@:2}"; do
		options+=(-b "$at")
	done
	"$reader" -n -t "$1" "${options[@]}" img
}
# told TYPE WHOSE: of blocks here and there just the files that have them.  Those
# of files that are gone are asked for only if WHOSE is "all": a kernel may have
# given them to a file that has not written to them yet.
told()
{
	local seed at id lost
	blocks | awk -v all="$2" '$2 % 3 != 0 || all == "all"' >found && [[ $(wc -l <found) -gt 2000 ]] || fail "$(wc -l <found) blocks" || return
	for ((seed = 1; seed <= 15; seed++)); do
		lost=()
		: >files
		while read -r at id; do
			lost+=("$at+512")
			is_gone "$id" || { printf / && path "$id"; } >>files
		done < <(asked "$seed")
		names "$1" "${lost[@]}" >got && (echo all; LC_ALL=C sort -u files) >want && alike || return
	done
}
# mounted KIND TYPE SIZE [OPTIONS]
mounted()
{
	local i
	tree && make_fs "$3" "$1" "${@:4}" && mount_fs "$1" && cp -r tree/. mnt && sync -f mnt || return
	for ((i = 3; i <= files; i += 3)); do
		printf mnt/
		path "$i"
	done | xargs -d '\n' rm || return
	(cd 'mnt/folder/b c/d' && touch {1..500}-is-empty) || return
	# a file with more pieces than there is room for in its inode
	[[ $1 != xfs && $1 != btrfs ]] || for ((i = 1; i <= 40; i++)); do
		content 5 8 | dd of="mnt/$(path 5)" bs=4k seek=$((i * 2 + 99)) conv=notrunc status=none || return
	done
	# pieces in turn
	for ((i = 0; i < 12; i++)); do
		content 1 8 >>"mnt/$(path 1)" && content 2 8 >>"mnt/$(path 2)" && sync -f mnt || return
	done
	leave_fs "$1" && told "$2" live
}

if able 'can_loop && command -v ntfs-3g ntfscluster' "no loop devices, or no ntfs-3g or ntfscluster"; then
	ntfs()
	{
		mounted ntfs ntfs 32M && cp --sparse=always img "$scratch/ntfs"
	}
	it "names the files of an NTFS" ntfs
	it "... with small clusters" mounted ntfs ntfs 16M -c 512
	# What ntfscluster says of clusters here and there, directories too; not of
	# $MFT, which others are hit with.
	as_ntfscluster()
	{
		local at
		ln -s "$scratch/ntfs" img
		for ((at = 5; at < 8191; at += 97)); do
			ntfscluster -f -q -c "$at-$at" img >theirs 2>said
			! grep -q '^Inode 0 ' theirs || continue
			sed -n 's,^Inode 5 .*,/,p
			    s,^Inode \(1[6-9]\|[2-9].\|...\) \(.*\)/\$[A-Z_]*\((.*)\)\{0\,1\}$,\2,p' theirs | LC_ALL=C sort >want
			names ntfs $((at * 4096))+4096 | sed 1d >got && alike || return
		done
	}
	it "... as ntfscluster does" as_ntfscluster
	# record FILE: where its record is; $MFT begins in one piece
	record()
	{
		echo $(($(ntfsinfo -m img 2>said | sed -n 's/.*LCN of Data Attribute for FILE_MFT: *//p') * 4096 +
		    $(ntfsinfo -F "/$1" img 2>said | sed -n 's/^Dumping Inode \([0-9]*\).*/\1/p') * 1024))
	}
	# lost 'NAMES' OFFSET+LENGTH...: these are hit, and maybe more
	lost()
	{
		(echo more; echo "$1") >want
		names ntfs "${@:2}" >got && alike
	}
	# What a directory's index calls it.
	records()
	{
		local folder at
		ln -s "$scratch/ntfs" img && blocks >found && folder=$(record folder) && at=$(awk '$2 == 61 { print $1; exit }' found) &&
		    lost "/$(path 5)" "$(record "$(path 5)")+1024" && lost "/folder/b c" "$(record 'folder/b c')+512" &&
		    lost "/folder"$'\n'"/$(path 61)" "$folder+1024" "$at+512"
	}
	it "... also of one whose record is lost" records
fi
if able 'can_loop && command -v mkfs.xfs' "no loop devices, or no mkfs.xfs"; then
	it "names the files of an XFS, whose inodes are large" mounted xfs xfs 320M -i size=2048
	it "... with small blocks, and larger ones of directories" mounted xfs xfs 320M -b size=1024 -n size=8192
fi
# What a snapshot holds is hit there, too, also what has been removed since.
snapshots()
{
	local at
	mounted btrfs btrfs 300M && mount_fs btrfs && btrfs subvolume create mnt/vol && content 99 300 >mnt/vol/kept &&
	    btrfs subvolume snapshot mnt/vol mnt/folder/snap && rm mnt/vol/kept && content 98 300 >mnt/vol/new &&
	    leave_fs btrfs && blocks >found || return
	at=$(awk '$2 == 99 { print $1; exit }' found) && names btrfs "$at+512" >got && printf '%s\n' all /folder/snap/kept >want &&
	    alike || return
	at=$(awk '$2 == 98 { print $1; exit }' found) && names btrfs "$at+512" >got && printf '%s\n' all /vol/new >want &&
	    alike
}
# Of data that lie there twice nothing is lost with one copy.
twice()
{
	local at
	make_fs 400M btrfs -d dup && mount_fs btrfs && content 7 600 >mnt/file && leave_fs btrfs &&
	    mapfile -t at < <(blocks | awk '{ print $1 }') || return
	((${#at[@]} > 1190)) || fail "${#at[@]} blocks" || return
	echo all >want && names btrfs "$((at[9]))+512" >got && alike || return
	# the other one lies as far behind the first block of its copy
	names btrfs "$((at[9]))+512" "$((at[9] + at[${#at[@]} / 2] - at[0]))+512" >got && echo /file >>want && alike
}
if able 'can_loop && command -v mkfs.btrfs && grep -qw btrfs /proc/filesystems' "no loop devices, or no mkfs.btrfs"; then
	it "names the files of a btrfs" mounted btrfs btrfs 300M
	it "... in its snapshots" snapshots
	it "... only where all copies are lost" twice
fi
if able 'can_loop && command -v mkfs.exfat mount.exfat-fuse' "no loop devices, or no mkfs.exfat or mount.exfat-fuse"; then
	it "names the files of an exFAT" mounted exfat exfat 32M
	it "... with small clusters" mounted exfat exfat 16M -c 512
fi

# with_mtools TYPE SIZE FILLED [OPTIONS]: the last file has to take what others left
with_mtools()
{
	local i smile=ß LC_ALL=C.UTF-8
	tree && truncate -s "$3" filled && make_fs "$2" "$1" "${@:4}" && mcopy -i img filled ::/ && mcopy -s -i img tree/* ::/ || return
	for ((i = 3; i <= files; i += 3)); do
		mdel -i img "::/$(path "$i")" || return
	done
	i=$(mdir -i img ::/ | sed -n 's/bytes free//p' | tr -cd 0-9)
	content 1 $((i / 512 - 10)) >large && mcopy -o -i img large "::/$(path 1)" &&
	    [[ $(mshowfat -i img "::/$(path 1)") = *'<'*'<'*'<'* ]] || fail "it lies in one piece" || return
	told vfat all
}
# Clusters of a directory, as mshowfat has them; of the table one copy is enough,
# and without both that file is hit which needs it.
fat_parts()
{
	local smile=ß LC_ALL=C.UTF-8 fat first file
	tree && make_fs 8M fat16 -s 1 && mcopy -s -i img tree/* ::/ && first=$(cluster "$(path 3)") || return
	names vfat $(((1 + 2 * 64 + 32 + $(cluster folder/b\ c) - 2) * 512))+512 >got && echo more >want &&
	    echo '/folder/b c' >>want && alike || return
	# the tables are of 64 sectors each, and 256 clusters in one
	file=$((1 + 2 * 64 + 32 + first - 2)) fat=$(((1 + first / 256) * 512))
	names vfat $fat+512 $((file * 512))+512 >got && (echo all; echo "/$(path 3)") >want && alike || return
	names vfat $fat+512 $((fat + 64 * 512))+512 >got && grep -qx more got && grep -qxF "/$(path 3)" got || return
	! grep -qxF "/$(path 4)" got
}
# cluster FILE: its first one
cluster()
{
	mshowfat -i img "::/$1" | sed 's/.*:[^<]*<\([0-9]*\).*/\1/'
}
if able 'command -v mkfs.fat mcopy mshowfat' "no mkfs.fat, mcopy or mshowfat"; then
	it "names the files of a FAT12" with_mtools fat12 5M 0 -s 4
	it "... of a FAT16" with_mtools fat16 8M 3M -s 1
	it "... of a FAT32" with_mtools fat32 34M 29M -s 1
	it "... also where one copy of the table is lost" fat_parts
fi
