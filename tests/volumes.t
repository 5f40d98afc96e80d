#!/usr/bin/env bash
# Clones by used= of disks whose file systems are in logical volumes (LVM).  What is left
# out is free according to LVM's own tools, every file is there, and what changes during
# the copy is reported.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
. "$(dirname "$0")/dice.sh"
[[ $VARIANT != tsan ]] || exit 0	# used.t has what is said there
needs can_loop 'command -v lvm sfdisk jq mke2fs' -- "no loop devices, or no lvm, sfdisk, mke2fs, jq"

# lvm_on DEVICE COMMAND...: without the device mapper, and nothing else is looked at
lvm_on()
{
	local one=$1 command=$2
	shift 2
	DM_DISABLE_UDEV=1 lvm "$command" --config "devices{scan=[\"/dev\"] use_devicesfile=0
	    filter=[\"a#^($one)\$#\",\"r|.*|\"] global_filter=[\"a#^($one)\$#\",\"r|.*|\"]}
	    global{activation=0 event_activation=0} backup{backup=0 archive=0}
	    activation{udev_sync=0 udev_rules=0 monitoring=0}" "$@" 2>>lvm.err
}
# new_lv MEGABYTES NAME
new_lv()
{
	lvm_on "$pv" lvcreate -y -an -Zn -Wn -L "$1M" -n "$2" vg0 >lvm.out
}
# on_pv FILE [OPTION...]: attached as $pv
on_pv()
{
	loop "$@" && pv=$dev
}
# off_pv FILE: detached, so that the file can be written to
off_pv()
{
	detach "$pv" "$PWD/$1"
}
# the_pv: its file or part of one, on $pv, from then on
the_pv()
{
	on_pv "$@" && pv=$dev && lvm_on "$pv" pvcreate ${area:+--metadatacopies "$area"} "$pv" >lvm.out &&
	    lvm_on "$pv" vgcreate -s 1M vg0 "$pv" >lvm.out
}
# where: "FIRST COUNT NAME START" of each run of extents; a free one has no name
where()
{
	lvm_on "$1" pvs --noheadings --segments -o pvseg_start,pvseg_size,lv_name,seg_start_pe "$1"
}
# carry in|out NAME FILE: a volume, from or to a file of its own
carry()
{
	local first count name start pe
	pe=$(lvm_on "$pv" pvs --noheadings --units b --nosuffix -o pe_start "$pv")
	while read -r first count name start; do
		[[ $name = "$2" && -n $start ]] || continue
		if [[ $1 = in ]]; then
			set -- "$@" if="$3" of="$pv" oflag=seek_bytes skip="$start" seek=$((pe + (first << 20)))
		else
			set -- "$@" if="$pv" of="$3" iflag=skip_bytes seek="$start" skip=$((pe + (first << 20)))
		fi
		dd "${@:4}" bs=1M count="$count" conv=notrunc status=none || return
		set -- "${@:1:3}"
	done < <(where "$pv")
}
# volume MEGABYTES NAME KIND: made anew and filled, with digests in NAME.sums
volume()
{
	make_fs "$1M" "$3" && mount_fs "$3" && fill && digests >"$2.sums" && leave_fs "$3" && mv img "$2.img"
}
# group FILE [OPTION...]: with root in two pieces and home between them
group()
{
	the_pv "$@" && new_lv 40 root && new_lv 40 home && new_lv 4 gone &&
	    lvm_on "$pv" lvextend -L 60M vg0/root >lvm.out && lvm_on "$pv" lvremove -y vg0/gone >lvm.out || return
	if [[ ! -e $scratch/kept.root ]]; then
		head -c 1000000 /dev/urandom >large
		for name in root:60 home:40; do
			volume "${name#*:}" "${name%:*}" ext4 && cp "${name%:*}.img" "$scratch/kept.${name%:*}" &&
			    cp "${name%:*}.sums" "$scratch/sums.${name%:*}" || return
		done
	fi
	carry in root "$scratch/kept.root" && carry in home "$scratch/kept.home" && where "$pv" >extents &&
	    pe=$(lvm_on "$pv" pvs --noheadings --units b --nosuffix -o pe_start "$pv") && off_pv "$1"
}
# has_files FILE...: each volume on this disk has all its files
has_files()
{
	local name
	on_pv "$@" || return
	for name in root home; do
		rm -f img && carry out "$name" img && check_fs ext4 img && mount_fs ext4 &&
		    digests >after && leave_fs ext4 && same "$scratch/sums.$name" after || return
	done
	lvm_on "$pv" vgck vg0
}
without='^pardd: complete, flushed, without [0-9.]+ MB that 2 file systems call free or no volume has$'

# What was on the target before is where no extent is used, and nowhere else.
disk()
{
	local area=${2-} first count name start end
	truncate -s 160M disk && group disk && "$blocks" make copy 160M 3 && loop copy &&
	    exits 0 "$pardd" if="$1" of="$dev" used=only json=json && last_says "$without" &&
	    detach "$dev" "$PWD/copy" || return
	jq -es '.[0].file_systems | map([.volume, .treated]) ==
	    [[null, "used"], ["vg0/root", "used"], ["vg0/home", "used"]]' json >/dev/null ||
	    fail "$(jq -sc '.[0].file_systems' json)" || return
	cmp -n "$pe" disk copy || return
	while read -r first count name start; do
		((end = pe + ((first + count) << 20)))
		if [[ -z $start ]]; then
			start=$(((first << 20) + pe))
			"$blocks" check copy "$start" "$start" $((count << 20)) 3 || return
		fi
	done <extents
	((end == 160 << 20)) || cmp -i $end disk copy && has_files copy
}
it "looks into the volumes of a disk, and leaves out extents of none" disk disk
it "... with two copies of LVM's metadata" disk disk 2

partition()
{
	truncate -s 180M disk && printf '%s\n' 'label: gpt' 'start=2048,size=8192' 'start=10240,size=327680' |
	    sfdisk -q disk && group disk -o 5M --sizelimit 160M &&
	    exits 0 "$pardd" if=disk of=copy used=only -d && tells 'that 2 file systems call free or no volume has, .* vg0/root ext4 ' &&
	    grep -qx '        2 LVM2_member "vg0" [0-9]* MB of 168 MB' out && grep -qx '          vg0/root ext4 [0-9]* MB of 63 MB' out &&
	    exits 0 "$pardd" if=disk of=copy used=only -dv &&
	    tells 'file_system=partition 2: vg0/home \(ext4\): [0-9]+ of 41943040 bytes used, the rest left out' || return
	rm -f copy
	exits 0 "$pardd" if=disk of=copy used=only verify=1 && last_says 'verified, without .* that 2 file' &&
	    has_files copy -o 5M --sizelimit 160M || return
	exits 0 "$pardd" if=disk of=alone ipart=2 used=only && last_says "$without" && has_files alone
}
# tells REGEX: a line of the plan
tells()
{
	[[ $(tr -s '\n ' ' ' <out) =~ $1 ]] || fail "$(<out)"
}
it "looks into the volumes of a partition, and -d shows each" partition

# The first piece of root is at the end of the volume, and home before it.
beside()
{
	truncate -s 200M disk && printf '%s\n' 'label: gpt' 'start=2048,size=327680' 'start=329728,size=61440' |
	    sfdisk -q disk && group disk -o 1M --sizelimit 160M && on_pv disk -o 1M --sizelimit 160M || return
	lvm_on "$pv" lvremove -y vg0/root vg0/home >lvm.out && new_lv 120 gone && new_lv 30 root &&
	    lvm_on "$pv" lvremove -y vg0/gone >lvm.out && lvm_on "$pv" lvextend -L 60M vg0/root >lvm.out &&
	    carry in root "$scratch/kept.root" && off_pv disk && make_fs 30M ext4 &&
	    dd if=img of=disk bs=1M seek=161 conv=notrunc,sparse status=none &&
	    exits 0 "$pardd" if=disk of=copy used=only json=json && last_says 'without .* that 2 file systems call free' &&
	    ! grep 'copied whole' err || fail "$(jq -sc '.[0].file_systems' json)"
}
it "does not take a volume's length for the place of its pieces" beside

# A file system that is not clean is copied whole; the other one is not.
crashed()
{
	truncate -s 160M disk && group disk && on_pv disk && carry out root img && mount_fs ext4 &&
	    echo crashed >mnt/last && sync mnt/last && cp --sparse=always img crash && leave_fs ext4 &&
	    carry in root crash && off_pv disk && exits 0 "$pardd" if=disk of=copy used=only &&
	    says '^pardd: note: vg0/root \(ext4\): its journal .*: copied whole$' &&
	    last_says 'without .* that 1 file system calls free or no volume has$' && on_pv copy && carry out root got && same crash got
}
it "copies a volume whole that is not clean, and says which" crashed

with_pv()
{
	lvm_on "$pv" "$@" >lvm.out
}
# While the first write waits, a volume is added.
changed()
{
	truncate -s 160M disk && group disk && "$blocks" make copy 160M &&
	    { with_faults "on=$PWD/copy op=write until=$PWD/go" "$pardd" if=disk of=copy used=only \
		2>err >out & } && until_true 20 test -s faults || return
	on_pv disk && "$@" && off_pv disk && touch go &&
	    exited 102 && last_says '^pardd: NOT complete: .* of disk has changed'
}
it "tells of a group that got another volume meanwhile" changed new_lv 4 more
it "... of one that has only another tag" changed with_pv vgchange --addtag a vg0
it "... of a volume that is gone" changed with_pv lvremove -y vg0/home
it "... of one that has grown" changed with_pv lvextend -L +8M vg0/home
it "... that is shorter" changed with_pv lvreduce -f -y -L 50M vg0/root
there_and_back()
{
	with_pv lvextend -L +8M vg0/home && with_pv lvreduce -f -y -L -8M vg0/home
}
it "... that was longer for a while" changed there_and_back

it "reads the volumes in order, with used=meta" eval \
    'truncate -s 160M disk && group disk && exits 0 "$pardd" if=disk of=copy used=meta map=map && same disk copy'

# A bad block of a file is named with its volume; of a file in two pieces, too.
damaged()
{
	local at first count name start
	truncate -s 160M disk && group disk && on_pv disk && carry out root img && off_pv disk || return
	at=$(debugfs -R 'blocks "/c/large 7"' img 2>/dev/null | awk '{ print $(NF - 9) }') &&
	    at=$((at * $(dumpe2fs -h img 2>/dev/null | awk '/^Block size/ { print $3 }'))) || return
	while read -r first count name start; do
		if [[ $name = root && -n $start ]] && ((at >= start << 20 && at < (start + count) << 20)); then
			at=$((pe + (first << 20) + at - (start << 20)))
			break
		fi
	done <extents
	rm -f copy map
	exits 100 with_faults "on=$PWD/disk op=read at=$at+1024 fail=EIO" "$pardd" if=disk of=copy map=map \
	    used=meta json=json && says '^    vg0/root: /c/large 7$' &&
	    jq -es 'last.damage[0] | .files_hit == ["vg0/root: /c/large 7"] and .files_all' json >/dev/null ||
	    fail "$(<err)"
}
it "names a damaged file with its volume" damaged

# Two physical volumes, of which one has older metadata, as after a restore of it alone:
# LVM believes the newer, by which the other one has a volume.
older()
{
	local first second
	truncate -s 140M disk && printf '%s\n' 'label: gpt' 'start=2048,size=131072' 'start=133120,size=131072' |
	    sfdisk -q disk && on_pv disk -o 1M --sizelimit 64M && first=$pv && on_pv disk -o 65M --sizelimit 64M && second=$pv &&
	    lvm_on "$first|$second" pvcreate "$first" "$second" >lvm.out &&
	    lvm_on "$first|$second" vgcreate -s 1M vg0 "$first" "$second" >lvm.out || return
	dd if="$first" of=was bs=1M count=1 status=none &&
	    lvm_on "$first|$second" lvcreate -y -an -Zn -Wn -l 40 -n data vg0 "$first" >lvm.out && "$blocks" make data 40M 5 &&
	    dd if=data of="$first" bs=1M seek=1 conv=notrunc status=none && dd if=was of="$first" bs=1M conv=notrunc status=none &&
	    lvm_on "$first|$second" pvs --noheadings --segments -o lv_name,pv_name >lvm.out &&
	    grep -q "data *$first" lvm.out || fail "$(cat lvm.out lvm.err)" || return
	detach "$first" "$PWD/disk" && detach "$second" "$PWD/disk" && "$blocks" make copy 140M 3 && loop copy &&
	    exits 0 "$pardd" if=disk of="$dev" used=only && detach "$dev" "$PWD/copy" && same disk copy &&
	    says '^pardd: note: partition 1 .*vg0.*: partition 1 .* and partition 2 .* have different metadata of one group of LVM: copied whole$'
}
it "copies a group whole of which two physical volumes have different metadata" older

# in_two FIRST SECOND: a disk of two partitions with a group in each
in_two()
{
	truncate -s 340M disk && printf '%s\n' 'label: gpt' 'start=2048,size=327680' 'start=329728,size=327680' |
	    sfdisk -q disk && "$1" disk -o 1M --sizelimit 160M && "$2" disk -o 161M --sizelimit 160M &&
	    "$blocks" make copy 340M 3 && loop copy && exits 0 "$pardd" if=disk of="$dev" used=only && detach "$dev" "$PWD/copy"
}
both_have()
{
	last_says 'without [0-9.]+ MB that 4 file systems call free or no volume has$' &&
	    has_files copy -o 1M --sizelimit 160M && has_files copy -o 161M --sizelimit 160M
}
# A clone of the group before: the same names and identifiers, and in home only the files of root
cloned()
{
	dd if=disk of=disk bs=1M skip=1 seek=161 count=160 conv=notrunc status=none && on_pv "$@" &&
	    head -c 40M "$scratch/kept.home" >img && mount_fs ext4 && rm -rf mnt/* && echo other >mnt/other && sync mnt/other &&
	    leave_fs ext4 && cp img other && carry in home other && off_pv "$1"
}
clone_beside()
{
	in_two group cloned && last_says 'without .* that 4 file' && has_files copy -o 1M --sizelimit 160M &&
	    on_pv copy -o 161M --sizelimit 160M && rm -f img && carry out home img && check_fs ext4 img && mount_fs ext4 &&
	    [[ $(ls mnt) = other && $(<mnt/other) = other ]] && leave_fs ext4
}
it "keeps two groups of one name apart" eval 'in_two group group && both_have'
it "... and a clone of one beside it" clone_beside

# A physical volume in a volume: what is in it is not looked into, and kept.
nested()
{
	truncate -s 400M disk && the_pv disk && new_lv 4 gone && new_lv 160 inner && with_pv lvremove -y vg0/gone && off_pv disk &&
	    truncate -s 160M inner && group inner && on_pv disk && carry in inner inner && off_pv disk &&
	    exits 0 "$pardd" if=disk of=copy used=only && last_says 'without [0-9.]+ MB that .*no volume has$' &&
	    on_pv copy && rm -f inner && truncate -s 160M inner && carry out inner inner && off_pv copy && has_files inner
}
it "keeps a group in a volume" nested

# number FILE AT BYTES VALUE: in little endian
number()
{
	local i text=
	for ((i = 0; i < $3; i++)); do
		text+=\\x$(printf %02x $(($4 >> 8 * i & 255)))
	done
	# shellcheck disable=SC2059
	printf "$text" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# md_member FILE AT DATA SIZE [LEVEL]: a superblock of version 1 at byte AT; see
# mdp_superblock_1 in the kernel's md_p.h
md_member()
{
	number "$1" "$2" 4 0xa92b4efc && number "$1" $(($2 + 4)) 4 1 && number "$1" $(($2 + 72)) 4 "${5-1}" &&
	    number "$1" $(($2 + 80)) 8 $(($4 / 512)) && number "$1" $(($2 + 92)) 4 2 &&
	    number "$1" $(($2 + 128)) 8 $(($3 / 512)) && number "$1" $(($2 + 136)) 8 $(($4 / 512)) &&
	    number "$1" $(($2 + 144)) 8 $(($2 / 512)) && number "$1" $(($2 + 208)) 8 -1 &&
	    number "$1" $(($2 + 220)) 4 2 && number "$1" $(($2 + 258)) 2 1 || return
	printf '\1\2\3\4' | dd of="$1" bs=1 seek=$(($2 + 16)) conv=notrunc status=none
	md_sum "$1" "$2" 216 260
}
# md_sum FILE AT PLACE BYTES: of a superblock, put at its place
md_sum()
{
	local word sum=0
	number "$1" $(($2 + $3)) 4 0
	for word in $(od -A n -t u4 -v -j "$2" -N "$4" "$1"); do
		((sum += word))
	done
	number "$1" $(($2 + $3)) 4 $(((sum & 0xffffffff) + (sum >> 32)))
}
# mirrored AT DATA LEVEL: a file system of 60 MB in an array on a disk of 64 MiB
mirrored()
{
	rm -f disk copy && truncate -s 64M disk && truncate -s 60M plain || return
	[[ -e $scratch/kept.root ]] || { truncate -s 160M disk && group disk && rm disk && truncate -s 64M disk; } || return
	dd if="$scratch/kept.root" of=disk bs=4k seek=$(($2 / 4096)) conv=notrunc,sparse status=none
	md_member disk "$1" "$2" 62914560 "$3" || return
	! command -v mdadm >/dev/null || { mdadm --examine disk >examined && grep -q 'Checksum.*correct' examined; } ||
	    fail "$(<examined)" || return
	exits 0 "$pardd" if=disk of=copy used=only || return
	if [[ $3 != 1 ]]; then
		says 'note: .*is part of an md array that is no RAID1: copied whole' && same disk copy
		return
	fi
	last_says 'without .* that 1 file system calls free' && cmp -n "$2" disk copy &&
	    cmp -i $(($2 + 62914560)) disk copy && dd if=copy of=img bs=4k skip=$(($2 / 4096)) count=15360 status=none &&
	    check_fs ext4 img && mount_fs ext4 && digests >after && leave_fs ext4 && same "$scratch/sums.root" after
}
it "looks into the array of a RAID1 whose superblock is at 4 KiB" mirrored 4096 1048576 1
it "... at the start" mirrored 0 1048576 1
it "... at the end" mirrored $(((64 << 20) - 8192)) 0 1
it "copies a member of another RAID whole" mirrored 4096 1048576 5
# A group on an array in a partition.
it_all()
{
	local at=$((5 << 20))
	rm -f disk copy && truncate -s 180M disk && printf '%s\n' 'label: dos' 'start=10240,size=340000' |
	    sfdisk -q disk && group disk -o 6M --sizelimit 160M && truncate -s 8192 super &&
	    md_member super 4096 1048576 $((160 << 20)) &&
	    dd if=super of=disk bs=4096 seek=$((at / 4096)) conv=notrunc status=none &&
	    exits 0 "$pardd" if=disk of=copy used=only json=json && last_says 'without .* that 2 file systems' &&
	    jq -es '.[0].file_systems | map([.type, .volume]) == [["linux_raid_member", null],
		["LVM2_member", "md"], ["ext4", "vg0/root"], ["ext4", "vg0/home"]]' json >/dev/null ||
	    fail "$(jq -sc '.[0].file_systems' json)" || return
	has_files copy -o 6M --sizelimit 160M
}
it "looks into a group on an array in a partition" it_all

# Its only volume is in stripes, and has no piece that could be looked into; and
# it may be swap space, of which the group is a leftover.
two_signs()
{
	truncate -s 160M disk && the_pv disk &&
	    lvm_on "$pv" lvcreate -y -an -Zn -Wn -i 2 --alloc anywhere -L 40M -n striped vg0 >lvm.out && off_pv disk &&
	    exits 0 "$pardd" if=disk of=copy used=only && last_says 'without [0-9.]+ MB that no volume has$' && says 'note: vg0/striped: LVM stripes' &&
	    rm copy && truncate -s 160M swap && mkswap swap >made &&
	    dd if=swap of=disk bs=1k skip=1 seek=1 count=3 conv=notrunc status=none &&
	    "$blocks" make disk 40M 1 100M && exits 0 "$pardd" if=disk of=copy used=only &&
	    says 'LVM2_member.*signatures of several .*: copied whole' && same disk copy
}
it "copies a group whole that has another signature, too" two_signs

# ------------------------------------------------------------------------ by dice
#
# A stack: perhaps a table and an array, in that a group with volumes in pieces of any
# order, and what mkfs makes in those; or one that is spoilt.  How it was made says what
# has to be kept.  SEED=N ONLY=N repeats one, MANY=N makes so many, SHOW=FILE tells of each.

declare -A room=([ext2]=16 [ext4]=24 [crashed]=24 [xfs]=304 [btrfs]=130 [fat16]=20 [fat32]=40 [ntfs]=20 [exfat]=20
    [swap]=5 [noise]=5)	# MiB

# contents KIND FILE: its files, or that it has none to be seen
contents()
{
	if [[ $1 = fat* ]]; then
		rm -rf tree && mkdir tree && mcopy -s -n -i "$2" '::/*' tree </dev/null >/dev/null 2>&1
		(cd tree && find . -type f -exec sha256sum {} +) | sort -k 2
	elif mount_fs "$1" "$2" 2>/dev/null; then
		digests
		leave_fs "$1" "$2"
	else
		echo "cannot be mounted"
	fi
}
# keep KIND: kept.KIND and sums.KIND, made once
keep()
{
	local i kind=${1/crashed/ext4}
	[[ ! -e $scratch/kept.$1 ]] || return 0
	[[ -s large ]] || head -c 1000000 /dev/urandom >large
	rm -f img
	case $1 in
	swap | noise)
		"$blocks" make img "${room[$1]}M" 5 && { [[ $1 = noise ]] || mkswap img >made 2>&1; } ;;
	fat*)	make_fs "${room[$1]}M" "$1" && for i in {1..9}; do
			mcopy -i img large "::/f$i" && { ((i % 3)) || mdel -i img "::/f$((i - 1))"; } || return
		done ;;
	*)	make_fs "${room[$1]}M" "$kind" && mount_fs "$kind" && fill &&
		    if [[ $1 = crashed ]]; then
			echo crashed >mnt/last && sync mnt/last && cp --sparse=always img crash
		    fi && leave_fs "$kind" && { [[ $1 != crashed ]] || mv crash img; } ;;
	esac && case $1 in
	swap | noise | crashed) ;;
	*)	contents "$1" img >"$scratch/sums.$1" ;;
	esac && cp --sparse=always img "$scratch/kept.$1" && rm img
}
# lv_begin NAME SEGMENTS [STATUS]; a volume of the text, closed by lv_end
lv_begin()
{
	ids+=1
	printf '%s {\nid = "%06d-aaaa-bbbb-cccc-dddd-%04d-%06d"\nstatus = ["READ", "WRITE"%s]\nflags = []\n' "$1" "$ids" \
	    $((RANDOM % 9999)) "$ids" "${3-, \"VISIBLE\"}"
	printf 'creation_time = 1\ncreation_host = "h"\nsegment_count = %s\n' "$2"
}
# segment NUMBER START COUNT TYPE [TEXT]
segment()
{
	printf 'segment%s {\nstart_extent = %s\nextent_count = %s\ntype = "%s"\n%s\n}\n' "$@"
}
# linear NUMBER START COUNT PV FIRST
linear()
{
	segment "$1" "$2" "$3" striped "stripe_count = 1 # linear
stripes = [ \"$4\", $5 ]"
}
# whole_lv NAME COUNT TYPE TEXT [STATUS]: a volume of one segment
whole_lv()
{
	lv_begin "$1" 1 "${@:5}" && segment 1 0 "$2" "$3" "$4" && echo '}'
}
# hidden NAME: its extents are among those of "opaque", one after another
hidden()
{
	lv_begin "$1" 1 "${2-}" && linear 1 0 "$part" pv0 $((opaque + used)) && echo '}'
	used+=$part
}
# others: volumes that nobody looks into, of the kind $odd, on "opaque" and the following
# extents: four times $part
others()
{
	local -i used=0
	case $odd in
	thin)
		hidden pool_tmeta && hidden pool_tdata && hidden lvol0_pmspare &&
		    whole_lv pool "$part" thin-pool 'metadata = "pool_tmeta"
pool = "pool_tdata"
transaction_id = 1
chunk_size = 128
discards = "passdown"
zero_new_blocks = 1' && whole_lv thin $((part * 3)) thin 'thin_pool = "pool"
transaction_id = 0
device_id = 1' ;;
	raid1)
		hidden r_rmeta_0 && hidden r_rimage_0 && hidden r_rmeta_1 && hidden r_rimage_1 &&
		    whole_lv r "$part" raid1 'device_count = 2
region_size = 1024
raids = [ "r_rmeta_0", "r_rimage_0", "r_rmeta_1", "r_rimage_1" ]' ;;
	mirror)
		hidden m_mimage_0 && hidden m_mimage_1 && hidden m_mlog &&
		    whole_lv m "$part" mirror 'mirror_count = 2
mirror_log = "m_mlog"
region_size = 1024
mirrors = [ "m_mimage_0", 0, "m_mimage_1", 0 ]' ;;
	cache)
		hidden c_corig && hidden cp_cdata && hidden cp_cmeta &&
		    whole_lv cp_cpool "$part" cache-pool 'data = "cp_cdata"
metadata = "cp_cmeta"
metadata_format = 2
chunk_size = 128
cache_mode = "writethrough"
policy = "smq"' '' && whole_lv c "$part" cache 'cache_pool = "cp_cpool"
origin = "c_corig"' ;;
	writecache)
		hidden w_wcorig && hidden w_cvol &&
		    whole_lv w "$part" writecache 'writecache = "w_cvol"
origin = "w_wcorig"
writecache_block_size = 4096' ;;
	snapshot)
		whole_lv snap "$part" striped "stripe_count = 1
stripes = [ \"pv0\", $opaque ]" && whole_lv snapshot0 "$part" snapshot "chunk_size = 8
origin = \"${lvs[0]}\"
cow_store = \"snap\"" '' && used=part ;;
	stripes)
		used=$((part * 2)) && whole_lv stripes $((part * 2)) striped "stripe_count = 2
stripe_size = 128
stripes = [ \"pv0\", $opaque, \"pv0\", $((opaque + part)) ]" ;;
	locked)
		hidden locked ', "VISIBLE", "LOCKED"' ;;
	elsewhere)
		lv_begin elsewhere 2 && linear 1 0 "$part" pv0 "$opaque" && linear 2 "$part" 3 pv1 7 && echo '}' &&
		    used=part ;;
	pvmove)
		whole_lv moving "$part" striped 'stripe_count = 1
stripes = [ "pvmove0", 0 ]' ', "VISIBLE", "LOCKED"' && whole_lv pvmove0 "$part" mirror "mirror_count = 2
extents_moved = 0
mirrors = [ \"pv0\", $opaque, \"pv0\", $((opaque + part)) ]" ', "PVMOVE", "LOCKED"' ;;
	unknown)
		whole_lv odd "$part" futuristic "areas = [ \"pv0\", $opaque ]" ;;
	overlap)
		whole_lv over 2 striped "stripe_count = 1
stripes = [ \"pv0\", $((first_used + RANDOM % 2)) ]" ;;
	beyond)
		whole_lv over 9 striped "stripe_count = 1
stripes = [ \"pv0\", $((total - RANDOM % 9)) ]" ;;
	lacking)
		lv_begin lacking 2 && linear 1 0 1 pv0 "$opaque" && echo '}' ;;
	gap)
		lv_begin gap 2 && linear 1 0 1 pv0 "$opaque" && linear 2 2 1 pv0 $((opaque + 1)) && echo '}' ;;
	esac
	while [[ -n ${where_is[-]-} ]] && ((used < part * 4)); do
		hidden "rest$used"
	done
}
# lvm_text: as LVM has written it, with these volumes, in any order
lvm_text()
{
	local -i i n start ids=0 first=$((RANDOM % 2))
	local name all
	sed -z 's/}[[:space:]]*$//' text.was
	echo 'logical_volumes {'
	((first)) || others
	for name in "${lvs[@]}"; do
		read -r -a all <<<"${where_is[$name]}"
		lv_begin "$name" $((${#all[@]} / 2))
		for ((i = n = start = 0; i < ${#all[@]}; i += 2, start += n)); do
			n=${all[i + 1]}
			linear $((i / 2 + 1)) "$start" "$n" pv0 "${all[i]}"
		done
		echo '}'
	done
	((!first)) || others
	printf '}\n}\n'
}
# lvm_sum: of standard input.  What comes first makes of the state that gzip begins with
# the one that LVM begins with.
lvm_sum()
{
	local sum
	sum=$({ printf '\55\175\54\121' && cat; } | gzip -1 | tail -c 8 | od -A n -t u4 -N 4)
	echo $((sum ^ 0xffffffff))
}
# areas FILE: $area has the offset and length of each area of metadata
areas()
{
	local -i data=1 i
	local all
	area=()
	read -r -d '' -a all < <(od -A n -t u8 -v -j $((base + label * 512 + 72)) -N 160 "$1")
	for ((i = 0; i < 20; i += 2)); do
		if ((all[i] == 0)); then
			((data)) || return 0
			data=0
		elif ((!data)); then
			area+=("${all[i]} ${all[i + 1]}")
		fi
	done
}
# put_text FILE TEXT AT SIZE [PLACE]: into an area, at a place of its ring
put_text()
{
	local -i at=$((base + $3)) bytes place=${5-512} n
	bytes=$(stat -c %s "$2")
	n=$(($4 - place < bytes ? $4 - place : bytes))
	dd if="$2" of="$1" bs=64k oflag=seek_bytes iflag=count_bytes seek=$((at + place)) count=$n conv=notrunc status=none &&
	    dd if="$2" of="$1" bs=64k oflag=seek_bytes iflag=skip_bytes seek=$((at + 512)) skip=$n conv=notrunc status=none &&
	    number "$1" $((at + 40)) 8 "$place" && number "$1" $((at + 48)) 8 "$bytes" &&
	    number "$1" $((at + 56)) 4 "$(lvm_sum <"$2")" && area_sum "$1" $at
}
area_sum()
{
	number "$1" "$2" 4 "$(dd if="$1" bs=4 iflag=skip_bytes skip=$(($2 + 4)) count=127 status=none | lvm_sum)"
}
# move FROM AT TO AT BYTES [CONV]
move()
{
	dd if="$1" of="$3" bs=256k iflag=skip_bytes,count_bytes oflag=seek_bytes skip="$2" seek="$4" count="$5" \
	    conv="notrunc${6-}" status=none
}
# pieces NAME COMMAND: COMMAND AT-IN-VOLUME AT-ON-DISK BYTES for each
pieces()
{
	local -i i at=0
	local all
	read -r -a all <<<"${where_is[$1]-}"
	for ((i = 0; i < ${#all[@]}; i += 2)); do
		"$2" $at $((start + all[i] * extent)) $((all[i + 1] * extent)) || return
		at+=$((all[i + 1] * extent))
	done
}
piece_in()
{
	move "$from" "$1" disk "$2" "$3" ,sparse
}
piece_out()
{
	move "$from" "$2" volume "$1" "$3" ,sparse
}
piece_back()
{
	move disk "$2" copy "$2" "$3"
}
# cut NAME COUNT: into pieces, for the dice to put somewhere
cut()
{
	local -i left=$2 n i most
	for ((i = most = RANDOM % 4 + 1; left > 0; i--)); do
		n=$((i <= 1 ? left : RANDOM % left + 1))
		items+=("$RANDOM $1 $n $((most - i))")
		left+=-n
	done
}
# laid_out: $where_is each volume, what is free, and what is another's
laid_out()
{
	local -i at=0 n
	local key name number
	local -A piece
	while read -r key name n number; do
		piece[$name,$number]="$at $n"
		at+=n
	done < <(printf '%s\n' "${items[@]}" | sort -n)
	total=$at
	for key in "${items[@]}"; do
		read -r key name n number <<<"$key"
		where_is[$name]+=" ${piece[$name,$number]}"
	done
	read -r opaque _ <<<"${where_is[-]-0 0}"
	read -r first_used _ <<<"${where_is[${lvs[0]}]}"
}
# a_kind: $kind, of what can be made here
a_kind()
{
	pick ext2 ext4 ext4 crashed fat16 fat32 ntfs exfat swap noise xfs btrfs
	kind=$picked
	case $kind in
	xfs | btrfs | exfat) command -v "mkfs.$kind" ;;
	fat*)	command -v mkfs.fat && command -v mcopy ;;
	ntfs)	command -v mkntfs && command -v ntfs-3g ;;
	esac >found || kind=ext2
}
# chosen: what the stack is to be
chosen()
{
	local -i i n
	local kind name
	extent=$((65536 << RANDOM % 6))
	part=$((RANDOM % 5 + 1))
	for name in root home a-b.c_d _x; do
		a_kind
		n=$((((room[$kind] << 20) + extent - 1) / extent))
		if chance 25; then
			n+=$((RANDOM % 9 + 1))
		elif chance 10 && ((n > 5)); then
			n+=-$((RANDOM % 5 + 1))
		fi
		lvs+=("$name") kind_of[$name]=$kind
		keep "$kind" && cut "$name" $n || return
		! chance 45 || break
	done
	for ((i = RANDOM % 6; i >= 0; i--)); do
		items+=("$RANDOM free $((RANDOM % ((20 << 20) / extent) + 1)) $i")
	done
	pick none none gpt dos
	table=$picked
	pick none none none none 0.90 1.0 1.1 1.2
	array=$picked
	! chance 60 || pick thin raid1 mirror cache writecache snapshot stripes locked elsewhere pvmove unknown overlap \
	    beyond lacking gap foreign missing shared stale committing flip flip super super super level role feature \
	    resync sum twice events
	odd=$picked
	[[ $odd != @($array) ]] || odd=
	[[ $odd != @(level|role|feature|resync|sum|twice|events) || $array != none ]] || array=1.2
	[[ $odd != twice || $array = 1.* ]] || array=1.1
	[[ $odd != @(thin|raid1|mirror|cache|writecache|snapshot|stripes|locked|elsewhere|pvmove|unknown|lacking|gap) ]] ||
	    items+=("$RANDOM - $((part * 4)) 0")
	copies=$((RANDOM % 2 + 1))
	[[ $odd != stale ]] || copies=2
	laid_out
}
# array_on: a superblock of the version $array at $super of the member, for $pv_bytes from
# $data on; or one that is spoilt
array_on()
{
	local at
	local -a fields
	rm -f super && truncate -s "$member" super || return
	if [[ $array = 0.90 ]]; then	# see mdp_super_t in md_p.h: words, their values
		fields=(0 0xa92b4efc 2 90 7 1 8 $((pv_bytes / 1024)) 10 2 33 1 992 0 995 1 996 6)
		case $odd in
		level)	fields+=(7 5) ;;
		role)	fields+=(995 2) ;;
		feature) fields+=(996 1) ;;
		resync)	fields+=(33 0) ;;
		events)	fields+=(39 7) ;;
		esac
		for ((at = 0; at < ${#fields[@]}; at += 2)); do
			number super $((super + 4 * fields[at])) 4 "${fields[at + 1]}"
		done && md_sum super "$super" 152 4096
	else
		md_member super "$super" "$data" "$pv_bytes" && case $odd in
		level)	number super $((super + 72)) 4 5 ;;
		role)	number super $((super + 256)) 2 0xfffe ;;
		feature) number super $((super + 8)) 4 $((2 << RANDOM % 9)) ;;
		resync)	number super $((super + 208)) 8 2048 ;;
		events)	number super $((super + 200)) 8 77 ;;
		esac && md_sum super "$super" 216 260
	fi && case $odd in
	sum)	number super $((super + 50)) 1 77 ;;
	twice)	at=$((super == 4096 ? 0 : 4096)) && md_member super $at "$data" "$pv_bytes" &&
		    move super $at disk $((base - data + at)) 4096 ;;
	esac && move super "$super" disk $((base - data + super)) 4096 || return
	[[ $odd = @(sum|twice|feature) ]] || ! command -v mdadm >found ||
	    { move disk $((base - data)) member 0 "$member" ,sparse && mdadm --examine member >examined 2>&1 &&
		grep -q 'Checksum.*correct' examined; } || fail "$(<examined)"
}
# ours: "NAME FIRST COUNT START" of each piece of a sound group; LVM joins what adjoins
ours()
{
	local name
	for name in "${lvs[@]}"; do
		echo "$name ${where_is[$name]}"
	done | awk '{ at = 0; first = $2; n = $3
	    for (i = 4; i <= NF; i += 2)
		if ($i == first + n)
			n += $(i + 1)
		else {
			print $1, first, n, at
			at += n; first = $i; n = $(i + 1)
		}
	    print $1, first, n, at }'
}
# placed: an empty disk with room for $pv_bytes, in an array or a partition
placed()
{
	local -i at=0
	data=0 super=0 member=pv_bytes
	case $array in
	0.90)	pv_bytes+=$(((-pv_bytes & 65535) + 65536)) && member=$((pv_bytes + 65536)) super=$pv_bytes ;;
	1.0)	member=$((pv_bytes + 8192)) super=$pv_bytes ;;
	1.*)	data=$((8192 + RANDOM % 500 * 4096)) member=$((pv_bytes + data))
		[[ $array = 1.1 ]] || super=4096 ;;
	esac
	((pv_bytes % 4096 == 0)) || return
	[[ $table = none ]] || at=$(((2048 + RANDOM % 5000) * 512))
	base=$((at + data)) size=$((at + member))
	[[ $table = none ]] || size+=$((1 << 20))
	truncate -s "$size" disk || return
	[[ $table = none ]] ||
	    printf 'label: %s\nstart=%s,size=%s\n' "$table" $((at / 512)) $((member / 512)) | sfdisk -q disk
}
# built: the disk
built()
{
	local -i at=0 i free
	local -a tags
	local name
	pv_bytes=$(((9 << 20) + total * extent))
	placed || return
	label=$((RANDOM % 2))
	! chance 10 || label=$((RANDOM % 4))
	pick 0 0 1 7
	on_pv disk -o "$base" --sizelimit "$pv_bytes" &&
	    lvm_on "$pv" pvcreate --metadatacopies "$copies" --metadatasize $((128 << RANDOM % 4))k --labelsector "$label" \
		--dataalignment $((64 << RANDOM % 5))k --dataalignmentoffset "${picked}s" "$pv" >lvm.out &&
	    lvm_on "$pv" vgcreate -s $((extent / 1024))k vg0 "$pv" >lvm.out || return
	for ((i = RANDOM % 6; i > 0; i--)); do	# on to another place of the ring
		mapfile -t tags < <(printf -- "--addtag=$i%0100d\n" {1..40})
		lvm_on "$pv" vgchange "${tags[@]}" vg0 >lvm.out || return
	done
	lvm_on "$pv" vgcfgbackup -f text.was vg0 >lvm.out &&
	    read -r start count < <(lvm_on "$pv" pvs --noheadings --units b --nosuffix -o pe_start,pv_pe_count "$pv") &&
	    areas disk || return
	case $odd in
	foreign) sed -i '/pv0 {/,/}/ s/id = "....../id = "aaaaaa/' text.was ;;
	missing) sed -i '/pv0 {/,/}/ s/flags = \[\]/flags = ["MISSING"]/' text.was ;;
	shared)	sed -i 's/"RESIZEABLE"/"RESIZEABLE", "CLUSTERED"/' text.was ;;
	beyond)	total=$count ;;
	esac
	lvm_text >text || return
	if [[ -z $odd ]]; then
		lvm_on "$pv" vgcfgrestore --force -f text vg0 >lvm.out &&
		    where "$pv" | awk 'NF == 4 { print $3, $1, $2, $4 }' | sort >theirs && ours | sort | diff theirs - || fail "$(tail -n 3 lvm.err)" || return
	fi
	off_pv disk
	start+=base
	[[ -z $odd ]] || for i in "${!area[@]}"; do
		read -r at free <<<"${area[i]}"
		put_text disk text $at $free $((512 + RANDOM % ((free - 512) / 512) * 512)) || return
		((i)) || case $odd in
		stale)	sed 's/READ", "WRITE"/READ"/' text >older && put_text disk older $at $free ;;
		committing) number disk $((base + at + 64)) 8 5000 && area_sum disk $((base + at)) ;;
		esac
	done
	for name in "${lvs[@]}"; do
		from=$scratch/kept.${kind_of[$name]}
		cp --sparse=always "$from" volume && truncate -s 1G volume && from=volume && pieces "$name" piece_in || return
	done
	if [[ -n ${where_is[-]-} ]]; then
		"$blocks" make volume $((4 * part * extent)) 7 && from=volume && pieces - piece_in || return
	fi
	rm volume
	case $odd in
	super)	read -r at _ <<<"${where_is[${lvs[0]}]}"
		for ((i = RANDOM % 8; i >= 0; i--)); do
			number disk $((start + at * extent + RANDOM % 4096)) 1 $((RANDOM % 256))
		done ;;
	flip)	for ((i = RANDOM % 20; i >= 0; i--)); do
			big $((start - base)) && number disk $((base + dice)) 1 $((RANDOM % 256))
		done ;;
	esac
	[[ $array = none ]] || array_on
}
# verdict FILE: what its checker says; xfs_repair has threads, and shows addresses of its
# own, e2fsck the time
verdict()
{
	check_fs "$kind" "$1" >/dev/null
	sed "s/$1/it/g;s/ at 0x[0-9a-f]*,//;s/now = .*//" checked | sort
}
# volume_same NAME: its files, or all of its bytes
volume_same()
{
	local kind=${kind_of[$1]} bytes
	rm -f volume got want && from=copy && pieces "$1" piece_out && mv volume got &&
	    from=disk && pieces "$1" piece_out && mv volume want || return
	bytes=$((room[$kind] << 20))
	if [[ $kind = @(crashed|noise) ]] || (($(stat -c %s want) < bytes)); then
		same want got
		return
	fi
	cmp -i "$bytes" want got || return
	[[ $kind != swap ]] || return 0
	verdict want >before && verdict got >after && same before after && contents "$kind" got >after || return
	if [[ $odd = super && $1 = "${lvs[0]}" ]]; then
		contents "$kind" want >before && same before after
	else
		same "$scratch/sums.$kind" after
	fi
}
# roll: one of them; it says what it is
roll()
{
	local lvs=() items=() area=() odd picked dice dev name table array from label copies
	local -A where_is=() kind_of=()
	local -i extent part total opaque first_used start count base data super member pv_bytes size
	chosen && echo "${odd:-sound}: $table, md $array, $copies copies, extents of $extent" &&
	    for name in "${lvs[@]}" - free; do
		echo "$name ${kind_of[$name]-}${where_is[$name]-}"
	    done && built && "$blocks" make copy "$size" 9 && loop copy &&
	    exits 0 "$pardd" if=disk of="$dev" used=only bpt=$((RANDOM % 3000 + 1)) && detach "$dev" "$PWD/copy" || return
	tail -n 1 err
	grep note err
	[[ -n $odd ]] || ((label > 1)) || last_says 'without' || return
	case $odd in
	foreign | missing | shared | overlap | beyond | lacking | gap | pvmove | unknown | stale | committing | level | role | \
	feature | resync | sum | twice)
		same disk copy
		return ;;
	esac
	for name in "${lvs[@]}"; do
		volume_same "$name" || fail "$name is not as it was" || return
	done
	for name in "${lvs[@]}" free; do
		pieces "$name" piece_back || return
	done
	move disk $((start + total * extent)) copy $((start + total * extent)) $(((count - total) * extent)) && same disk copy
}
# bare: a file system right in an array, smaller or larger than that
bare()
{
	local odd='' picked dice dev kind table array
	local -i base data super member pv_bytes size bytes extra
	a_kind
	pick none none gpt dos
	table=$picked
	pick 0.90 1.0 1.1 1.2
	array=$picked
	! chance 40 || pick level role feature resync sum twice events
	[[ $picked = "$array" ]] || odd=$picked
	[[ $odd != twice || $array = 1.* ]] || odd=level
	keep "$kind" || return
	bytes=$((room[$kind] << 20)) extra=0
	! chance 40 || extra=$((RANDOM % 900 * 4096))
	! chance 15 || extra=-$((RANDOM % 900 * 4096))
	pv_bytes=$((bytes + extra))
	echo "${odd:-sound}: $table, $kind of $bytes in md $array of $pv_bytes"
	placed && move "$scratch/kept.$kind" 0 disk "$base" $((bytes < pv_bytes ? bytes : pv_bytes)) ,sparse && array_on &&
	    "$blocks" make copy "$size" 9 && loop copy &&
	    exits 0 "$pardd" if=disk of="$dev" used=only bpt=$((RANDOM % 3000 + 1)) && detach "$dev" "$PWD/copy" || return
	tail -n 1 err
	grep note err
	rm -f got want
	if [[ $odd = @(level|role|feature|resync|twice) || $kind = @(crashed|noise) ]] || ((bytes > pv_bytes)); then
		same disk copy
		return
	fi
	[[ $kind = swap || $odd = sum ]] || last_says 'without' || return
	cmp -n "$base" disk copy && cmp -i $((base + bytes)) disk copy || return
	[[ $kind != swap ]] || return 0
	truncate -s "$bytes" got want && move copy "$base" got 0 "$bytes" ,sparse && move disk "$base" want 0 "$bytes" ,sparse &&
	    verdict want >before && verdict got >after && same before after && contents "$kind" got >after &&
	    same "$scratch/sums.$kind" after
}
# rolled SEED N [COMMAND]
rolled()
{
	local i
	for ((i = 0; i < $2; i++)); do
		[[ -z ${ONLY-} || $i = "$ONLY" ]] || continue
		mkdir roll || return
		(cd roll && RANDOM=$(($1 + i * 7)) && ${3-roll}) >rolled 2>&1 || fail "no. $i of SEED=$1: $(<rolled)" || return
		[[ -z ${SHOW-} ]] || sed "s/^/$i: /" rolled >>"$SHOW"
		release
		rm -rf roll
	done
}
many=${MANY:-${LONG:+100}}
[[ $VARIANT != plain ]] || it "loses nothing of stacks that dice have made" rolled "${SEED:-20261128}" "${many:-4}"
[[ $VARIANT != plain ]] || it "... of file systems in an array" rolled "${SEED:-20261128}" "${many:-4}" bare
