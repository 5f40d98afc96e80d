# shellcheck shell=bash disable=SC2015,SC2119,SC2154
# lab: -j 1 -D size=64M -D size=64M
#
# Clones by used= of encrypted disks whose containers are open: free blocks are
# left out, the clone is encrypted as the source is, and opens.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
for tool in cryptsetup dmsetup sfdisk mke2fs; do
	type -P $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
modprobe -a dm_mod dm_crypt xts ecb loop ext4 && qemu_disks 2 || { echo 'Bail out! no disks'; exit 1; }
D=$QSD1 T=$QSD2 part=${QSD1}2

# encrypt NODE [OPTION...]: a container, open as /dev/mapper/c
encrypt()
{
	cryptsetup -q luksFormat --key-file key --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$@" &&
	    unlock "$1"
}
# unlock NODE [NAME]
unlock()
{
	cryptsetup open --disable-keyring --key-file key "$1" "${2-c}" && undo lock "${2-c}" && dmsetup mknodes &&
	    until_true 5 test -b "/dev/mapper/${2-c}"
}
lock()
{
	[[ ! -e /sys/block/dm-0 ]] || ! dmsetup info "$1" >/dev/null 2>&1 || cryptsetup close "$1"
}
# table: partition 2 from 5 MiB to 60 MiB, with what was there before
table()
{
	printf secret >key && dmsetup remove_all && blocks_of "$D" 1 && blocks_of "$T" 2 &&
	    printf 'label: gpt\nstart=2048,size=8192\nstart=10240,size=112640\n' | sfdisk -q -w always "$D" &&
	    until_true 5 blockdev --rereadpt "$D" && until_true 5 test -b "$part"
}
blocks_of()
{
	"$blocks" make "$1" 64M "$2" && blockdev --flushbufs "$1"
}
# fill NODE: a file system with a file, and blocks of one that is gone
fill()
{
	mke2fs -q -F -t ext4 -b 4096 -O ^resize_inode "$1" && mkdir -p m && mount "$1" m && head -c 2000000 /dev/urandom >m/gone &&
	    head -c 5000000 /dev/urandom >m/file && rm m/gone && sha256sum m/file | cut -c 1-64 >sum && umount m
}
container()
{
	table && encrypt "$part" "$@" && fill /dev/mapper/c
}
# cloned: the clone opens, its file system is sound, and all files are there
cloned()
{
	until_true 5 blockdev --rereadpt "$T" && until_true 5 test -b "${T}2" && unlock "${T}2" d && sound /dev/mapper/d
}
sound()
{
	local is
	mkdir -p m && mount -r "$1" m && sha256sum m/file | cut -c 1-64 >is
	is=$?
	umount m && ((is == 0)) && same sum is
}
# left COUNT: so many MiB, at least, are on the target as they were before
left()
{
	local -i n=0 at
	"$blocks" make was 64M 2 || return
	for ((at = 21 << 20; at < 60 << 20; at += 1 << 20)); do
		! cmp -s -n 1048576 -i $at "$T" was || n+=1
	done
	rm was
	((n >= $1)) || fail "only $n MiB were left out"
}
without='^pardd: complete, flushed, without [0-9.]+ MB that 1 file system calls free$'

opened()
{
	container "$@" && exits 0 "$pardd" if="$D" of="$T" used=only json=json && last_says "$without" &&
	    grep -q '"volume":"c"' json && left 20 && cloned
}
it "leaves out what is free in an open container" opened
it "... of LUKS1" opened --type luks1
it "... with sectors of 4096 bytes" opened --sector-size 4096

by_node()
{
	container && exits 0 "$pardd" if="$part" of=img used=only -dv && grep -q '^file_system=c (ext4): .* the rest left out$' out &&
	    exits 0 "$pardd" if="$part" of="$T" used=only verify=1 &&
	    last_says 'verified, without .* that 1 file system calls free$' && unlock "$T" d && sound /dev/mapper/d
}
it "... by the partition's own node" by_node

closed()
{
	container && cryptsetup close c && exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says '^pardd: note: partition 2 \(crypto_LUKS\): it is encrypted, and not open .*: copied whole$' &&
	    last_says '^pardd: complete, flushed$' && cmp "$D" "$T"
}
it "copies a closed container whole, and says so" closed

in_use()
{
	container && mount /dev/mapper/c m && undo umount "$PWD/m" &&
	    exits 0 "$pardd" -l "$D" && listed | grep -q " $part .* /dev/mapper/c .* LUKS2, ext4, mounted on $PWD/m\$" &&
	    exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says 'note: partition 2 .*: it is mounted read-write on .*: copied whole$'
}
it "... one whose file system is mounted" in_use

# maps TABLE: under the container's own name
maps()
{
	local uuid
	container && uuid=$(cat /sys/block/dm-0/dm/uuid) && cryptsetup close c &&
	    dmsetup create c --uuid "$uuid" --table "$1" && dmsetup mknodes &&
	    exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says 'note: partition 2 .* c, its open mapping, .*is no simple one: copied whole$' && cmp "$D" "$T"
}
# The same container twice on a disk: what is free in one is not in the other.
twin()
{
	table && printf '%s\n' 'label: gpt' start=10240,size=57344 start=67584,size=57344 | sfdisk -q -w always "$D" &&
	    until_true 5 blockdev --rereadpt "$D" && until_true 5 test -b "$part" && encrypt "${D}1" && fill /dev/mapper/c &&
	    cryptsetup close c && dd if="${D}1" of="$part" bs=1M status=none && unlock "$part" && mount /dev/mapper/c m &&
	    rm m/file && umount m && exits 0 "$pardd" if="$D" of="$T" used=only && last_says "$without" &&
	    says 'note: partition 1 .* c, its open mapping, .*: copied whole$' && cmp -i 5242880 -n 29360128 "$D" "$T"
}
it "... one whose mapping is of the same container on another partition" twin

key=$(printf '0%.0s' {1..64})
it "... one whose mapping is of its own header" maps "0 1024 crypt aes-xts-plain64 $key 0 $part 0"
another_disk()
{
	truncate -s 64M other && loop other && maps "0 79872 crypt aes-xts-plain64 $key 0 $dev 32768"
}
it "... whose mapping is of another disk" another_disk
it "... whose mapping is of several pieces" maps "0 1024 crypt aes-xts-plain64 $key 0 $part 32768
1024 1024 crypt aes-xts-plain64 $key 0 $part 33792"
it "... whose mapping encrypts nothing" maps "0 79872 linear $part 32768"

# Whoever reads a suspended mapping waits until it is resumed.
suspended()
{
	local pid is
	container && dmsetup suspend c || return
	"$pardd" if="$D" of="$T" used=only 2>err &
	pid=$!
	until_true 60 grep -q 'c, its open mapping, .*: copied whole$' err
	is=$?
	dmsetup resume c && wait $pid && ((is == 0)) && cmp "$D" "$T"
}
it "... whose mapping is suspended" suspended

# meanwhile COMMAND...: in the midst of some 40 MB at 10 MB/s, which wait for it
meanwhile()
{
	local pid
	container || return
	"$pardd" if="$D" of="$T" used=only rate=10M json=json 2>err &
	pid=$!
	until_true 60 grep -q progress json && kill -STOP $pid && "$@"
	kill -CONT $pid && wait $pid
	(($? == 102)) && last_says '^pardd: NOT complete: .* of .* has changed'
}
reload()
{
	dmsetup suspend c && dmsetup reload c --table "$(dmsetup table --showkeys c | sed "$1")" && dmsetup resume c
}
changed()
{
	mount /dev/mapper/c m && head -c 20000000 /dev/urandom >m/more && umount m
}
another_key()
{
	printf other >new && cryptsetup -q luksAddKey --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
	    --key-file key "$part" new
}
it "notices that a container is closed meanwhile" meanwhile cryptsetup close c
it "... resized" meanwhile reload 's/^0 [0-9]* /0 65536 /'
it "... mapped to another place" meanwhile reload 's/ 32768\(.*\)/ 40960\1/;s/^0 [0-9]* /0 65536 /'
it "... opened and changed" meanwhile changed
it "... given another key" meanwhile another_key

first_used()
{
	container && exits 0 "$pardd" if="$D" of="$T" used=meta map=map json=json && cmp "$D" "$T" &&
	    grep -q '"volume":"c"' json
}
it "reads it in order, with used=meta" first_used

lvm_of()
{
	lvm "$1" --config 'devices{use_devicesfile=0 scan="/dev"} global{event_activation=0 locking_dir="/tmp"}
	    backup{backup=0 archive=0} activation{udev_sync=0 udev_rules=0 monitoring=0}' "${@:2}" >lvm.out 2>&1 || fail "$(<lvm.out)"
}
# A group in a container, active, as after a start of the machine.
group()
{
	table && encrypt "$part" && grouped /dev/mapper/c && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 &&
	    fill /dev/vg0/root
}
grouped()
{
	lvm_of pvcreate "$1" && lvm_of vgcreate -s 1M vg0 "$1" && lvm_of lvcreate -y -L 30M -n root vg0 &&
	    lvm_of lvcreate -y -L 4M -n swap vg0
}
in_group()
{
	group && exits 0 "$pardd" if="$D" of="$T" used=only json=json &&
	    last_says 'without [0-9.]+ MB that 1 file system calls free or no volume has$' &&
	    grep -q '"volume":"vg0/root"' json && lvm_of vgchange -an vg0 && cryptsetup close c &&
	    until_true 5 blockdev --rereadpt "$T" && unlock "${T}2" d && wipe_source && lvm_of vgchange -ay vg0 && sound /dev/vg0/root
}
# else LVM sees the group twice
wipe_source()
{
	dd if=/dev/zero of="$part" bs=1M count=20 conv=fsync status=none
}
# A container in a volume of a group.
under_group()
{
	table && grouped "$part" && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 &&
	    encrypt /dev/vg0/root && fill /dev/mapper/c && exits 0 "$pardd" if="$D" of="$T" used=only json=json &&
	    last_says 'without [0-9.]+ MB that 1 file system calls free or no volume has$' && grep -q '"volume":"c"' json &&
	    cryptsetup close c && lvm_of vgchange -an vg0 && wipe_source && until_true 5 blockdev --rereadpt "$T" &&
	    lvm_of vgchange -ay vg0 && unlock /dev/vg0/root d && sound /dev/mapper/d
}
# A group on the partition itself, active as after a start of the machine.
bare_group()
{
	table && grouped "$part" && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 && fill /dev/vg0/root &&
	    exits 0 "$pardd" if="$part" of="$T" used=only && last_says 'without [0-9.]+ MB that 1 file system calls free or no volume has$' &&
	    lvm_of vgchange -an vg0 && wipe_source && until_true 5 blockdev --rereadpt "$T" && lvm_of vgchange -ay vg0 && sound /dev/vg0/root
}
bare_mapping()
{
	table && fill "$part" && dmsetup create c --table "0 112640 linear $part 0" && undo dmsetup remove c &&
	    exits 0 "$pardd" if="$part" of="$T" used=only && last_says "$without" && sound "$T"
}
it "leaves out what is free where a mapping shows it that nobody uses" bare_mapping
if type -P lvm >/dev/null; then
	it "looks into an active LVM group" bare_group
	it "looks into an active LVM group in a container" in_group
	it "... and into a container in a volume of one" under_group
else
	skip "no lvm" "groups of LVM"
fi
