#!/usr/bin/env bash
# Clones by used= of disks whose file systems are in logical volumes (LVM).  What is left
# out is free according to LVM's own tools, every file is there, and what changes during
# the copy is reported.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
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
	    filter=[\"a|^$one\$|\",\"r|.*|\"] global_filter=[\"a|^$one\$|\",\"r|.*|\"]}
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
	local word sum=0
	number "$1" "$2" 4 0xa92b4efc && number "$1" $(($2 + 4)) 4 1 && number "$1" $(($2 + 72)) 4 "${5-1}" &&
	    number "$1" $(($2 + 80)) 8 $(($4 / 512)) && number "$1" $(($2 + 92)) 4 2 &&
	    number "$1" $(($2 + 128)) 8 $(($3 / 512)) && number "$1" $(($2 + 136)) 8 $(($4 / 512)) &&
	    number "$1" $(($2 + 144)) 8 $(($2 / 512)) && number "$1" $(($2 + 208)) 8 -1 &&
	    number "$1" $(($2 + 220)) 4 2 && number "$1" $(($2 + 258)) 2 1 || return
	printf '\1\2\3\4' | dd of="$1" bs=1 seek=$(($2 + 16)) conv=notrunc status=none
	for word in $(od -A n -t u4 -v -j "$2" -N 260 "$1"); do
		((sum += word))
	done
	number "$1" $(($2 + 216)) 4 $(((sum & 0xffffffff) + (sum >> 32)))
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

# rolled: volumes of any size in any pieces, some removed, some of another kind
rolled()
{
	local i kind names=() name bytes
	head -c 1000000 /dev/urandom >large
	for ((i = 0; i < ${MANY:-${LONG:+60}}; i++)); do
		RANDOM=$((${SEED:-1} + i))
		rm -f disk copy *.img *.sums && names=() && truncate -s 400M disk && the_pv disk || return
		for name in a b c d e; do
			new_lv $((RANDOM % 30 + 25)) $name || break
			! chance 60 || names+=("$name")
		done
		for name in a b c d e; do
			if [[ " ${names[*]-} " != *" $name "* ]]; then
				lvm_on "$pv" lvremove -y "vg0/$name" >lvm.out
			else
				! chance 70 || lvm_on "$pv" lvextend -L "+$((RANDOM % 30 + 1))M" "vg0/$name" >lvm.out
			fi
		done
		for name in ${names[@]+"${names[@]}"}; do
			pick ext2 ext4 ext4 swap none
			kind=$picked
			bytes=$(lvm_on "$pv" lvs --noheadings --units m --nosuffix -o lv_size "vg0/$name")
			bytes=${bytes//[ ]/}
			"$blocks" make "$name.img" "${bytes%.*}M" "$i"
			case $kind in
			ext*)	rm "$name.img" && volume "${bytes%.*}" "$name" "$kind" ;;
			swap)	mkswap "$name.img" >made ;;
			esac 2>/dev/null
			carry in "$name" "$name.img" || return
		done
		off_pv disk
		"$blocks" make copy 400M 9 && loop copy &&
		    exits 0 "$pardd" if=disk of="$dev" used=only bpt=$((RANDOM % 3000 + 1)) || return
		pv=$dev
		for name in ${names[@]+"${names[@]}"}; do
			rm -f got && carry out "$name" got || return
			if [[ -e $name.sums ]]; then
				check_fs ext4 got && mount_fs ext4 got && digests >after && leave_fs ext4 got &&
				    same "$name.sums" after || return
			elif [[ $(blkid -p -o value -s TYPE got) != swap ]]; then
				same "$name.img" got || return
			fi
		done
	done
}
[[ -z ${LONG}${MANY-} || $VARIANT != plain ]] ||
	it "loses no file of groups that dice have made" rolled
