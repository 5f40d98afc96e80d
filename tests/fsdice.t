#!/usr/bin/env bash
# Clones of random file systems: each clone has the files that the source has, and its
# checker says the same about both.
#
# What is random is the kind and its options, the history of its files, the state that
# it is left in, and the way to copy it.  A plain copy of the source shows what is
# right.  SEED=N ONLY=N LONG=1 repeats one case, MANY=N tries so many; SHOW=FILE writes
# a line or more about each to a file.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
. "$(dirname "$0")/dice.sh"
[[ -n $LONG && $VARIANT = plain ]] || exit 0	# clone.t has what is said there
# here PROGRAM...: all are
here()
{
	for program in "$@"; do
		command -v "$program" || return
	done
}
needs can_loop 'here mke2fs mkfs.xfs mkfs.btrfs mkntfs ntfs-3g mkfs.fat mcopy mkfs.exfat mount.exfat-fuse' \
    'here fuser setfattr sfdisk' '[[ -c /dev/fuse ]]' -- "no loop devices, or not all mkfs"

seed=${SEED:-20261123}
many=${MANY:-300}

# ----------------------------------------------------------------- making one

# maybe PERCENT WORD...: more options
maybe()
{
	! chance "$1" || options+=("${@:2}")
}
# one_of OPTION WORD...: an option, with one of them
one_of()
{
	pick "${@:2}"
	options+=("$1" "$picked")
}

# ext_features: what goes together
ext_features()
{
	local word
	features=
	for word in ^64bit ^metadata_csum ^flex_bg sparse_super2 quota project inline_data encrypt verity \
	    casefold ea_inode metadata_csum_seed large_dir ^has_journal ^dir_index ^resize_inode \
	    fast_commit orphan_file ^extent ^huge_file ^large_file ^sparse_super uninit_bg; do
		! chance 12 || features+=,$word
	done
	case $features in
	*^metadata_csum*) features=${features//,metadata_csum_seed} ;;
	*uninit_bg*) features+=,^metadata_csum features=${features//,metadata_csum_seed} ;;
	esac
	[[ $features != *^has_journal* ]] || features=${features//,fast_commit} features=${features//,orphan_file}
	! chance 15 || { [[ $features = *^resize_inode* ]] || features+=,^resize_inode; features+=,meta_bg; }
	! chance 15 || { [[ $features = *^extent* ]] || { features+=,bigalloc; one_of -C 16384 65536 262144; }; }
}
make_ext()
{
	local features
	size=$((32 + RANDOM % 300))M
	one_of -b 1024 2048 4096
	maybe 30 -g $(((1 + RANDOM % 8) * 1024))
	if [[ $kind = ext4 ]]; then
		ext_features
		[[ -z $features ]] || options+=(-O "${features#,}")
		maybe 15 -E "stride=$((RANDOM % 64 + 1)),stripe_width=$((RANDOM % 512 + 1))"
		maybe 10 -E packed_meta_blocks=1
	fi
	maybe 50 -I 256
	maybe 15 -I 512
	maybe 30 -i $((4096 << RANDOM % 5))
	maybe 20 -m 0
	maybe 20 -E lazy_itable_init=0
	maybe 30 -L "of $RANDOM"
}
make_xfs()
{
	size=$((304 + RANDOM % 200))M
	one_of -b size=1024 size=2048 size=4096 size=4096
	pick crc=1 crc=1 crc=1 crc=1 crc=0
	options+=(-m "$picked")
	if [[ $picked = crc=1 ]]; then
		maybe 30 -m reflink=0
		maybe 30 -m rmapbt=1
		maybe 30 -m bigtime=0
		maybe 20 -m finobt=0,inobtcount=0
		maybe 20 -i sparse=0
		maybe 30 -i nrext64=1
	fi
	maybe 30 -i size=$((512 << RANDOM % 3))
	maybe 25 -s size=4096
	maybe 40 -d agcount=$((1 + RANDOM % 18))
	maybe 20 -n size=$((4096 << RANDOM % 5))
	maybe 20 -l su=32768,version=2
	maybe 10 -l su=262144,version=2
	maybe 20 -d su=65536,sw=$((1 + RANDOM % 5))
	maybe 20 -l agnum=0
	maybe 30 -L "x$RANDOM"
}
make_btrfs()
{
	size=$((130 + RANDOM % 400))M
	if chance 25; then
		options+=(-M)
	else
		one_of -n 4096 16384 16384 65536
		maybe 40 -m single
		maybe 25 -d dup
	fi
	one_of --csum crc32c crc32c xxhash xxhash sha256 blake2
	maybe 20 -O ^no-holes
	maybe 20 -O ^skinny-metadata
	maybe 20 -R quota
	maybe 20 -R ^free-space-tree
	maybe 20 -O block-group-tree
	maybe 30 -L "a label $RANDOM"
}
make_ntfs()
{
	size=$((8 + RANDOM % 100))M
	one_of -c 512 1024 4096 4096 8192 32768 65536
	maybe 20 -s 1024
	maybe 20 -I
	maybe 30 -L "n$RANDOM"
}
make_exfat()
{
	size=$((8 + RANDOM % 100))M
	one_of -c 512 4K 4K 32K 64K 256K
	maybe 30 -b $((4 << RANDOM % 9))K
	maybe 30 -L "x$RANDOM"
}
make_fat()
{
	case $kind in
	fat12)	size=$((1 + RANDOM % 7))M; one_of -s 4 8 16 ;;
	fat16)	size=$((20 + RANDOM % 40))M; one_of -s 2 4 8 ;;
	fat32)	size=$((34 + RANDOM % 60))M; one_of -s 1 1 2 ;;
	esac
	one_of -f 1 2 2 2
	maybe 40 -R $((8 + RANDOM % 300))
	maybe 30 -a
	maybe 30 -n "F$RANDOM"
	[[ $kind = fat32 ]] || maybe 30 -r $((16 + RANDOM % 50 * 16))
}
# made: until mkfs takes the options, and the kernel what it has made
made()
{
	local tries=30
	while ((tries-- > 0)); do
		options=()
		case $kind in
		ext*)	make_ext ;;
		fat*)	make_fat ;;
		*)	"make_$kind" ;;
		esac
		rm -f img
		make_fs "$size" "$kind" ${options[@]+"${options[@]}"} >said || continue
		if [[ $kind = fat* ]]; then
			! mdir -i img :: >said 2>&1 || return 0
			continue
		fi
		! { src_mount && leave_fs "$kind"; } >said 2>&1 || return 0
	done
	cat said
	return 1
}

# --------------------------------------------------------------------- history

# noise FILE: so many bytes as dice say, of its own
noise()
{
	big $((1 << 8 + RANDOM % 13))
	dd if="$scratch/noise" iflag=skip_bytes,count_bytes skip=$((RANDOM * 200)) count="$dice" bs=64k \
	    status=none
}
# some: a name that is there, in $name, or none
some()
{
	local all=(mnt/d*/*)
	name=
	((${#all[@]} == 0)) || name=${all[RANDOM % ${#all[@]}]}
}
# live N: so many things happen to files
live()
{
	local i name other
	shopt -s nullglob
	mkdir -p mnt/d{0..3}
	for ((i = 0; i < $1; i++)); do
		some
		other=mnt/d$((RANDOM % 4))/f$RANDOM
		big 3000000
		case $((RANDOM % 18)) in
		0 | 1 | 2 | 3) noise >"$other" ;;
		4)	noise >>"$name" ;;
		5)	rm -rf "$name" ;;
		6)	truncate -s "$dice" "$name" ;;
		7)	fallocate -l $((dice + 1)) "$other" ;;
		8)	fallocate -p -o "$dice" -l 100000 "$name" ;;
		9)	truncate -s 30M "$other" && noise | dd of="$other" seek=$((RANDOM * 2)) bs=512 conv=notrunc ;;
		10)	ln "$name" "$other" ;;
		11)	ln -s "/$(printf "%$((RANDOM % 200 + 1))s" | tr ' ' l)" "$other" ;;
		12)	mv "$name" "$other" ;;
		13)	setfattr -n user.word -v "$(head -c $((RANDOM % 3000)) "$scratch/noise" | base64 -w 0)" "$name" ;;
		14)	cp --reflink=always "$name" "$other" ;;
		15)	noise | dd of="$name" seek=$((RANDOM % 1000)) bs=512 conv=notrunc ;;
		16)	mkdir "$other" && touch "$other"/{1..40} ;;
		17)	! chance 30 || sync -f mnt ;;
		esac
	done 2>/dev/null
	return 0
}
# fill_up: until it is full, and then some go
fill_up()
{
	local i
	for ((i = 0; i < 2000; i++)); do
		dd if="$scratch/noise" iflag=skip_bytes skip=$((i * 100)) count=$((4 + i % 40)) bs=64k \
		    of="mnt/full$i" status=none 2>/dev/null || break
	done
	for ((; i >= 0; i -= 1 + RANDOM % 4)); do
		rm -f "mnt/full$i"
	done
	sync -f mnt
}
snapshots()
{
	[[ $kind = btrfs ]] && chance 50 || return 0
	btrfs -q subvolume create mnt/sub && noise >mnt/sub/file && sync -f mnt &&
	    btrfs -q subvolume snapshot mnt mnt/snap && live 10 && sync -f mnt || return
	! chance 30 || btrfs -q subvolume delete mnt/snap
}
# The kernel has no FAT here.
live_fat()
{
	local i name
	for ((i = 0; i < $1; i++)); do
		noise >file
		name=f$((RANDOM % 20))
		if chance 30; then
			mdel -i img "::/$name" </dev/null
		elif chance 10; then
			mmd -D s -i img "::/D$((RANDOM % 9))"
		else
			mcopy -D o -i img file "::/$name" || mdel -i img "::/$name"
		fi </dev/null
	done >/dev/null 2>&1
	mdir -i img :: >/dev/null
}

# ----------------------------------------------------------------------- state

# mounted COMMAND...: which mounts; what others do with loop devices may spoil it
mounted()
{
	"$@" || { sleep 0.3; "$@"; } || { sleep 1; "$@"; }
}
# src_mount: with options by dice
src_mount()
{
	if [[ $kind = btrfs ]]; then
		mkdir -p mnt && pick noatime compress=zstd nodatacow space_cache=v2 &&
		    undo umount -l "$PWD/mnt" && mounted mount -o "loop,commit=300,$picked" img mnt
	else
		mounted mount_fs "$kind"
	fi
}
# history: the file system has been in use, and is left as $state
history()
{
	if [[ $kind = fat* ]]; then
		live_fat $((5 + RANDOM % 30))
		state=clean
		return
	fi
	src_mount || return
	live $((10 + RANDOM % 50))
	! chance 10 || fill_up
	snapshots || return
	pick clean clean clean clean crashed frozen again
	state=$picked
	[[ $kind != ntfs && $kind != exfat ]] || [[ $state = again ]] || state=clean
	case $state in
	crashed) noise >mnt/last && sync mnt/last && cp --sparse=always img left ;;
	frozen)	live 10 && fsfreeze -f mnt && cp --sparse=always img left && fsfreeze -u mnt ;;
	esac || return
	leave_fs "$kind" || return
	case $state in
	crashed | frozen) mv left img ;;
	again)	src_mount && live 10 && leave_fs "$kind" ;;
	esac && resized
}
# resized: by its own tool, or what it lies in is larger or smaller
resized()
{
	local bytes=$(($(stat -c %s img) >> 20))
	where=whole
	if [[ $state = clean && $kind = ext* ]] && chance 30; then
		pick $((bytes + 40)) $((bytes * 2 / 3)) $((bytes * 9 / 10))
		truncate -s ">${picked}M" img
		e2fsck -fy img >resized 2>&1
		resize2fs img "${picked}M" >>resized 2>&1
		state+=" resized"
	elif [[ $state = clean && $kind = xfs ]] && chance 20; then
		truncate -s +$((RANDOM % 200))M img && mount_fs xfs && xfs_growfs mnt >resized && leave_fs xfs
		state+=" grown"
	elif [[ $state = clean && $kind = btrfs ]] && chance 20; then
		mount_fs btrfs && btrfs filesystem resize "-$((RANDOM % 30 + 1))M" mnt >resized 2>&1
		leave_fs btrfs
		state+=" shrunk"
	fi
	if chance 15; then
		head -c $(((1 + RANDOM % 9000) * 512)) "$scratch/noise" >>img
		where=larger
	elif chance 5; then
		truncate -s -$(((1 + RANDOM % 9000) * 512)) img
		where=smaller
	fi
}

# --------------------------------------------------------------------- copying

# how: the operands of a copy of img to the file copy, or a device upon that
how()
{
	local bytes
	bytes=$(stat -c %s img)
	pick new new old device sparse trim map first meta usedmap bmap two
	way=$picked
	operands=()
	maybe 30 bpt=$((1 + RANDOM % 3000))
	maybe 30 thr=$((1 + RANDOM % 8))
	maybe 15 engine=async
	[[ $way = usedmap || $way = map ]] || maybe 20 verify=1
	[[ $way = new ]] || "$blocks" make copy "$bytes" 7
	case $way in
	device | sparse | trim | two) loop copy ;;
	esac
}
copied()
{
	case $way in
	new | old) set -- of=copy used=only ;;
	device)	set -- of="$dev" used=only ;;
	sparse | trim) set -- of="$dev" used=only oflag="$way" ;;
	map)	set -- of=copy used=only map=map ;;
	first | meta) set -- of=copy used="$way" map=map ;;
	two)	set -- of="$dev" of=two used=only oflag=sparse ;;
	bmap)	set -- of=first used=only manifest=copy.bmap ;;
	usedmap)
		exits 0 "$pardd" if=img usedmap=used || return
		set -- of=copy map=map domain=used ;;
	esac
	exits 0 "$pardd" if=img json=json "$@" ${operands[@]+"${operands[@]}"} || return
	[[ $way != bmap ]] || exits 0 "$pardd" if=first of=copy bmap=copy.bmap
	[[ $way != @(device|sparse|trim|two) ]] || detach "$dev" "$PWD/copy"
}

# --------------------------------------------------------------------- judging

# contents FILE: all that is seen of its files, or that it cannot be mounted
contents()
{
	if [[ $kind = fat* ]]; then
		rm -rf tree && mkdir tree && mcopy -s -n -i "$1" '::/*' tree </dev/null >/dev/null 2>&1
		(cd tree && find . -type f -exec sha256sum {} + | sort)
	elif mounted mount_fs "$kind" "$1" 2>/dev/null; then
		# what stands for a subvolume in a snapshot is as old as the mount
		(cd mnt && find . ! -path './lost+found*' -printf '%p\t%y\t%s\t%n\t%l\t%m\n' | sort &&
		    find . ! -type d -printf '%p\t%T@\n' | sort &&
		    find . -type f -exec sha256sum {} + | sort &&
		    find . -exec getfattr -h -d {} + 2>/dev/null | sha256sum)
		leave_fs "$kind" "$1"
	else
		echo "cannot be mounted"
	fi
}
# verdict FILE: what its checker says
verdict()
{
	check_fs "$kind" "$1" >/dev/null
	echo "ends $?"
	[[ $kind != ext* ]] || sed "s/$1/it/g" checked
}
# theirs: partclone's set is a part of what is copied
theirs()
{
	local tool=$kind
	case $kind in
	ext*)	tool=extfs ;;
	fat*)	tool=vfat ;;
	esac
	[[ $kind != btrfs && $kind != fat12 && "${options[*]-}" != *bigalloc* && $state$where = cleanwhole ]] &&
	    command -v "partclone.$tool" >/dev/null || return 0
	"partclone.$tool" -D -s img -o theirs -L said >partclone 2>&1 || return 0
	exits 0 "$pardd" if=img usedmap=ours || return
	"$tools/maps" list theirs + | tr , '\n' | tr + ' ' >used.theirs
	"$tools/maps" list ours '?' | tr , '\n' | tr + ' ' >free.ours
	awk 'NR == FNR { at[n] = $1; end[n++] = $1 + $2; next }
	    { while (i < n && end[i] <= $1) i++
	      if (i < n && at[i] < $1 + $2) { print "free, and used: " $0; exit 1 } }' free.ours used.theirs
}
same_files()
{
	if [[ $way = first || $way = meta ]]; then
		same img copy
		return
	fi
	cp --sparse=always img plain && verdict plain >want && verdict copy >got && diff want got || return
	contents plain >want && contents copy >got && [[ -s want ]] || return
	diff want got >differs || { head -n 20 differs; return 1; }
	[[ $kind != btrfs || $(<want) = "cannot be mounted" ]] || scrubbed
}
# scrubbed: no copy of anything is missing
scrubbed()
{
	mounted mount_fs btrfs copy || return
	btrfs scrub start -B mnt >scrubbing 2>&1
	leave_fs btrfs copy
	grep -q 'no errors found' scrubbing || { cat scrubbing; return 1; }
}
# clean_is_used: what was left clean is not copied whole
clean_is_used()
{
	[[ ${state%% *} = clean && $where != smaller && $way != first && $way != meta ]] || return 0
	! grep -q 'copied whole' err || whole=$(<err)
}

# roll: one of them; $said is what it was
roll()
{
	local size options=() operands=() state='' where='' way='' dev='' whole=''
	pick ext2 ext3 ext4 ext4 ext4 xfs xfs btrfs btrfs ntfs exfat fat12 fat16 fat32
	kind=${KIND:-$picked}
	made && echo "$kind $size ${options[*]-}" && history && echo "$state, $where" && how || return
	echo "$way ${operands[*]-}"
	copied && same_files && theirs && clean_is_used || return
	[[ -z $whole ]] || echo "whole: $whole"
}
rolled()
{
	local i
	[[ -s $scratch/noise ]] || head -c 12M /dev/urandom >"$scratch/noise"
	for ((i = 0; i < $2; i++)); do
		[[ -z ${ONLY-} || $i = "$ONLY" ]] || continue
		mkdir roll || return
		(cd roll && RANDOM=$(($1 + i * 7)) && roll) >rolled 2>&1 || {
			echo "no. $i of SEED=$1: $(<rolled)"
			return 1
		}
		[[ -z ${SHOW-} ]] || sed "s/^/$i: /" rolled >>"$SHOW"
		release
		rm -rf roll
	done
}

it "clones $many file systems that dice have made" rolled "$seed" "$many"
