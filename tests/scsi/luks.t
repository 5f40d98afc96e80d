# shellcheck shell=bash disable=SC2015,SC2119,SC2154
# lab: -j 1 -D size=64M -D size=64M -D size=96M -D size=96M -D size=8G -D size=8G
#
# Clones by used= of encrypted disks whose containers are open: free blocks are
# left out, the clone is encrypted as the source is, and opens.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
for tool in cryptsetup dmsetup sfdisk mke2fs; do
	type -P $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
modprobe -a dm_mod dm_crypt dm_mirror dm_zero xts ecb loop ext4 && qemu_disks 6 || { echo 'Bail out! no disks'; exit 1; }
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
key=$(printf '0%.0s' {1..64})
without='^pardd: complete, flushed, without [0-9.]+ MB that 1 file system calls free$'

opened()
{
	container "$@" && exits 0 "$pardd" if="$D" of="$T" used=only json=json && last_says "$without" &&
	    grep -q '"volume":"c"' json && left 20 && cloned
}
it "leaves out what is free in an open container" opened
long "... of LUKS1" opened --type luks1
it "... with sectors of 4096 bytes" opened --sector-size 4096

by_node()
{
	container && exits 0 "$pardd" if="$part" of=img used=only -dv && grep -q '^file_system=c (ext4): .* the rest left out$' out &&
	    exits 0 "$pardd" if="$part" of="$T" used=only verify=1 &&
	    last_says 'verified, without .* that 1 file system calls free$' && unlock "$T" d && sound /dev/mapper/d
}
it "... by the partition's own node" by_node

# plain NODE NAME: without a header, for 256 bits of a key
plain()
{
	printf %032d 1 >raw && cryptsetup -q open --type plain --disable-keyring --cipher aes-xts-plain64 --key-size 256 --key-file raw \
	    "${@:3}" "$1" "$2" && undo lock "$2" && dmsetup mknodes && until_true 5 test -b "/dev/mapper/$2"
}
without_header()
{
	table && plain "$part" c && fill /dev/mapper/c && exits 0 "$pardd" if="$D" of="$T" used=only json=json && last_says "$without" &&
	    grep -q '"volume":"c"' json && grep -q '"type":"dm-crypt"' json && left 20 &&
	    until_true 5 blockdev --rereadpt "$T" && until_true 5 test -b "${T}2" && plain "${T}2" d && sound /dev/mapper/d
}
it "... of plain dm-crypt" without_header

# As BitLocker is opened: the boot sector lies elsewhere, and zeros hide where that is.
bitlocker()
{
	dmsetup create "$2" --uuid "CRYPT-BITLK-0123456789abcdef0123456789abcdef-$2" --table "0 16 crypt aes-xts-plain64 $key 0 $1 100000
16 99984 crypt aes-xts-plain64 $key 16 $1 16
100000 128 zero
100128 12512 crypt aes-xts-plain64 $key 100128 $1 100128" && undo dmsetup remove "$2" && dmsetup mknodes
}
boot_sector_elsewhere()
{
	table && printf '\xeb\x52\x90-FVE-FS-' | dd of="$part" conv=notrunc,fsync status=none && bitlocker "$part" c && fill /dev/mapper/c &&
	    mount -r /dev/mapper/c m && sha256sum m/file | cut -c 1-64 >sum && umount m &&
	    exits 0 "$pardd" if="$D" of="$T" used=only json=json && last_says "$without" && grep -q '"type":"BitLocker"' json && left 20 &&
	    cmp -n 8192 -i 5242880 "$D" "$T" && cmp -n 65536 -i $((110240 * 512)) "$D" "$T" &&
	    until_true 5 blockdev --rereadpt "$T" && until_true 5 test -b "${T}2" && bitlocker "${T}2" d && sound /dev/mapper/d
}
it "... of BitLocker, but nothing that is not in it" boot_sector_elsewhere

# A file system of which the signature is still there has no say.
leftover()
{
	table && fill "$part" && plain "$part" c && exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says '^pardd: note: partition 2 \(ext4\): c, which is encrypted, lies on it: copied whole$' && cmp "$D" "$T"
}
it "copies a partition whole on which something encrypted lies" leftover
partly()
{
	table && plain "$part" c --size 65536 && fill /dev/mapper/c && exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says 'note: partition 2: it is encrypted, and c, its open mapping, .*: copied whole$' && cmp "$D" "$T"
}
long "... or plain dm-crypt of a part of it" partly

# mapping NAME TABLE [OPTION...]: without the name of who made it
mapping()
{
	dmsetup create "$1" --table "$2" "${@:3}" && undo dmsetup remove "$1" && dmsetup mknodes
}
nameless()
{
	table && fill "$part" && mapping c "0 110592 crypt aes-xts-plain64 $key 0 $part 2048" && copies_whole 'c, which is encrypted, lies on it'
}
# copies_whole NOTE [OPERAND...]
copies_whole()
{
	exits 0 "$pardd" if="$D" of="$T" used=only "${@:2}" && says "note: partition 2.*: $1: copied whole$" && cmp "$D" "$T"
}
mirrored()
{
	table && fill "$part" && mapping c "0 110592 mirror core 2 1024 nosync 2 $part 2048 $part 2048" && copies_whole 'c lies on it, and cannot be looked up'
}
bytes_first()
{
	table && fill "$part" && mapping c "0 8 linear $part 0"$'\n'"8 110584 crypt aes-xts-plain64 $key 0 $part 2048" &&
	    copies_whole 'c lies on it, and cannot be looked up'
}
several()
{
	table && plain "$part" c && fill /dev/mapper/c &&
	    cryptsetup -q open --shared --type plain --disable-keyring --cipher aes-xts-plain64 --key-size 256 --key-file raw \
		--offset 65536 --size 16384 "$part" d && undo lock d && dmsetup mknodes && copies_whole 'several open mappings lie on it'
}
several_of_luks()
{
	container && mapping d "0 16384 crypt aes-xts-plain64 $key 0 $part 65536" && copies_whole 'several open mappings lie on it'
}
in_another()
{
	container && plain /dev/mapper/c d --offset 2048 && copies_whole 'd, which is encrypted, lies on it'
}
long "... or a mapping of which nobody says who made it" nameless
long "... or one of another kind" mirrored
long "... one that begins with bytes as they are" bytes_first
it "... on which several lie" several
long "... one of which is that of a container" several_of_luks
long "... or one that lies in another" in_another
not_in_order()
{
	table && fill "$part" && plain "$part" c && exits 0 "$pardd" if="$D" of="$T" used=meta map=map -dv &&
	    grep -q '^file_system=partition 2 (ext4): copied whole: c, which is encrypted, lies on it$' out && grep -q '^bytes_free=0$' out
}
it "... and, with used=meta, in order" not_in_order

# What is encrypted lies on another loop device, or mapping, than what is copied.
image()
{
	printf secret >key && blocks_of "$T" 2 && "$blocks" make image 64M 1 && loop image && fill "$dev" && detach "$dev" "$PWD/image" &&
	    loop image -r && plain "$dev" c --readonly
}
# whole SOURCE
whole()
{
	exits 0 "$pardd" if="$1" of="$T" used=only && says "note: .*: c, which is encrypted, lies on it: copied whole$" &&
	    cmp -n "$(blockdev --getsize64 /dev/mapper/c)" "$1" "$T"
}
as_file()
{
	image && whole image
}
by_another_loop()
{
	image && loop image -r && whole "$dev"
}
beside_a_mapping()
{
	table && mapping l "0 110592 linear $part 2048" && fill /dev/mapper/l &&
	    mapping c "0 110592 crypt aes-xts-plain64 $key 0 $part 2048" && whole /dev/mapper/l
}
it "copies an image whole on whose loop device something encrypted lies" as_file
long "... a loop device beside that" by_another_loop
it "... a mapping below which it lies" beside_a_mapping
# The first of two stripes, or the part of a mapping, is not the whole file system.
striped()
{
	table && fill "$part" && mapping c "0 98304 striped 2 2048 $part 0 $part 57344" && copies_whole 'c lies on it, and cannot be looked up'
}
shifted()
{
	table && fill "$part" && mapping c "0 110592 linear $part 2048" && copies_whole 'c lies on it, and cannot be looked up'
}
long "... one on which a striped mapping lies" striped
it "... or one that begins elsewhere" shifted

closed()
{
	container && cryptsetup close c && exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says '^pardd: note: partition 2 \(crypto_LUKS\): it is encrypted, and not open \(cryptsetup open --readonly would .*: copied whole$' &&
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
long "... one whose file system is mounted" in_use

# maps TABLE [NOTE]: under the container's own name
maps()
{
	local uuid
	container && uuid=$(cat /sys/block/dm-0/dm/uuid) && cryptsetup close c &&
	    dmsetup create c --uuid "$uuid" --table "$1" && dmsetup mknodes &&
	    exits 0 "$pardd" if="$D" of="$T" used=only &&
	    says "note: partition 2 .*${2-shows only a part, .*}: copied whole$" && cmp "$D" "$T"
}
# The same container twice on a disk: what is free in one is not in the other.
twin()
{
	table && printf '%s\n' 'label: gpt' start=10240,size=57344 start=67584,size=57344 | sfdisk -q -w always "$D" &&
	    until_true 5 blockdev --rereadpt "$D" && until_true 5 test -b "$part" && encrypt "${D}1" && fill /dev/mapper/c &&
	    cryptsetup close c && dd if="${D}1" of="$part" bs=1M status=none && unlock "$part" && mount /dev/mapper/c m &&
	    rm m/file && umount m && exits 0 "$pardd" if="$D" of="$T" used=only && last_says "$without" &&
	    says 'note: partition 1 .* not open .*: copied whole$' && cmp -i 5242880 -n 29360128 "$D" "$T"
}
long "... one whose mapping is of the same container on another partition" twin

long "... one whose mapping is of its own header" maps "0 1024 crypt aes-xts-plain64 $key 0 $part 0"
another_disk()
{
	truncate -s 64M other && loop other && maps "0 79872 crypt aes-xts-plain64 $key 0 $dev 32768" 'not open .*'
}
it "... whose mapping is of another disk" another_disk
long "... whose mapping encrypts only some of it" maps "0 1024 crypt aes-xts-plain64 $key 0 $part 32768
1024 1024 linear $part 33792"
long "... whose mapping encrypts nothing" maps "0 79872 linear $part 32768"

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
	"${made:-container}" || return
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
long "... resized" meanwhile reload 's/^0 [0-9]* /0 65536 /'
long "... mapped to another place" meanwhile reload 's/ 32768\(.*\)/ 40960\1/;s/^0 [0-9]* /0 65536 /'
it "... opened and changed" meanwhile changed
long "... given another key" meanwhile another_key

first_used()
{
	container && exits 0 "$pardd" if="$D" of="$T" used=meta map=map json=json && cmp "$D" "$T" &&
	    grep -q '"volume":"c"' json
}
it "reads it in order, with used=meta" first_used

# whole_disk [OPTION...]: a container on all of s, which is the disk
whole_disk()
{
	printf secret >key && dmsetup remove_all && blocks_of "$D" 1 && blocks_of "$T" 2 && blockdev --rereadpt "$D" &&
	    mapping s "0 131072 linear $D 0" && encrypt /dev/mapper/s "$@"
}
# sick NODE: a block of the file home/a on it cannot be read any more
sick()
{
	local -i at
	mount "$1" m && mkdir m/home && printf 'lost%.0s' {1..5000} >m/home/a && umount m && blockdev --flushbufs /dev/mapper/c &&
	    at=$(grep -abo lostlost /dev/mapper/c | head -n 1 | cut -d: -f1)/512+$(dmsetup table c | cut -d' ' -f8) && ((at > 32768)) &&
	    dmsetup suspend s && dmsetup reload s --table "0 $at linear $D 0
$at 1 error
$((at + 1)) $((131071 - at)) linear $D $((at + 1))" && dmsetup resume s
}
# names NAME: of the file, by reading hardly more than the disk has
names()
{
	local stat was
	read -r -a stat <"/sys/block/${D#/dev/}/stat"
	was=${stat[2]}
	exits 100 "$pardd" if=/dev/mapper/s of="$T" map=map used=meta && says ': 512 bytes in 1 range could not be read; this file is affected:$' &&
	    grep -qxF "    $1: /home/a" err && read -r -a stat <"/sys/block/${D#/dev/}/stat" &&
	    ((stat[2] - was < 131072 + 8192)) || fail "$((stat[2] - was)) sectors: $(<err)"
}
in_container()
{
	whole_disk "$@" && fill /dev/mapper/c && sick /dev/mapper/c && names c
}
it "names the file that a rescue has lost in an open container" in_container
long "... with sectors of 4096 bytes" in_container --sector-size 4096
once_open()
{
	whole_disk && fill /dev/mapper/c && sick /dev/mapper/c &&
	    exits 100 "$pardd" if=/dev/mapper/s of="$T" map=map && says 'read; it is encrypted: the same with used=meta, while it is open, names the affected files$' &&
	    ! grep '^    ' err && names c
}
it "... and, without used=, says how" once_open
in_volume()
{
	whole_disk && grouped /dev/mapper/c && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 &&
	    fill /dev/vg0/root && sick /dev/vg0/root && names vg0/root
}

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
# A group that changes in the midst of its copy.
group_meanwhile()
{
	local made=group
	meanwhile "$@"
}
volume_changed()
{
	mount /dev/vg0/root m && undo umount "$PWD/m" && head -c 3000000 /dev/urandom >m/more && sync -f m
}
# A container in a volume of a group, perhaps in two pieces.
under_group()
{
	table && grouped "$part" && { [[ -z ${1-} ]] || lvm_of lvextend "$1" vg0/root; } && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 &&
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
# What is left of a group, with something encrypted on it that is none of its volumes.
leftover_group()
{
	table && grouped "$part" && lvm_of vgchange -an vg0 && plain "$part" c --offset 2048 && fill /dev/mapper/c && copies_whole 'c, which is encrypted, lies on it'
}
# A group of which one volume is encrypted.
group_with_plain()
{
	table && grouped "$part" && lvm_of vgchange -ay vg0 && undo lvm_of vgchange -an vg0 && fill /dev/vg0/root &&
	    plain /dev/vg0/swap c && exits 0 "$pardd" if="$D" of="$T" used=only &&
	    last_says 'without [0-9.]+ MB that 1 file system calls free or no volume has$'
}
bare_mapping()
{
	table && fill "$part" && dmsetup create c --table "0 112640 linear $part 0" && undo dmsetup remove c &&
	    exits 0 "$pardd" if="$part" of="$T" used=only && last_says "$without" && sound "$T"
}
it "leaves out what is free where a mapping shows it that nobody uses" bare_mapping
if type -P lvm >/dev/null; then
	it "looks into an active LVM group" bare_group
	long "... one volume of which is encrypted" group_with_plain
	it "copies what is left of a group whole, if something encrypted lies on it" leftover_group
	it "looks into an active LVM group in a container" in_group
	long "... and into a container in a volume of one" under_group
	it "... which lies in two pieces" under_group -L+10M
	it "names the volume in a container of which a rescue has lost a file" in_volume
	long "tells of a volume of it that grows meanwhile" group_meanwhile lvm_of lvextend -L +3M vg0/root
	long "... that is moved" group_meanwhile lvm_of pvmove --alloc anywhere -n root /dev/mapper/c:0-2 /dev/mapper/c:34-36
	long "... whose file system is mounted and changed" group_meanwhile volume_changed
else
	skip "no lvm" "groups of LVM"
fi

# An encrypted system on 8 GiB, of which a tenth is used: all that is read of the disk is
# hardly more than that, the reads before the copy and after it too.
tenth()
{
	local stat used was
	printf secret >key && dd if=/dev/zero of="$QSD5" bs=1M count=20 oflag=direct status=none && encrypt "$QSD5" &&
	    lvm_of pvcreate /dev/mapper/c && lvm_of vgcreate vg0 /dev/mapper/c && undo lvm_of vgchange -an vg0 &&
	    lvm_of lvcreate -y -Zn -Wn -L 1G -n swap vg0 && lvm_of lvcreate -y -Zn -Wn -l 100%FREE -n root vg0 &&
	    mkswap /dev/vg0/swap && mke2fs -q -t ext4 /dev/vg0/root && mkdir m && mount /dev/vg0/root m &&
	    fallocate -l 700M m/file && umount m && sync || return
	used=$(dumpe2fs -h /dev/vg0/root 2>said | awk '/^Block count/ { n = $3 } /^Free blocks/ { n -= $3 }
	    /^Block size/ { print n * $3 }')
	echo 3 >/proc/sys/vm/drop_caches
	read -r -a stat <"/sys/block/${QSD5#/dev/}/stat"
	was=${stat[2]}
	exits 0 "$pardd" if="$QSD5" of="$QSD6" used=only && last_says "$without_any" || return
	read -r -a stat <"/sys/block/${QSD5#/dev/}/stat"
	echo "# $(((stat[2] - was) * 512)) bytes read for $used in use"
	(((stat[2] - was) * 512 * 100 <= used * 105))
}
without_any='^pardd: complete, flushed, without [0-9.]+ GB that 2 file systems call free'
given 'type -P lvm dumpe2fs mkswap' "no lvm, dumpe2fs or mkswap" long "reads hardly more of a disk than is in use" tenth

# ------------------------------------------------------------------------ by dice
#
# A container, a group, or one in the other, on a disk or a partition; in them file systems
# with files that have come and gone.  What is left out is free by the tools' own word, and
# every file is in the copy.  SEED=N ONLY=N repeats one, MANY=N makes so many, SHOW=1 tells
# of each.

# shellcheck source=tests/dice.sh
. tests/dice.sh
E=$QSD3 G=$QSD4

# at NODE COMMAND...: LVM, which sees nothing but that; its output is in lvm.out
at()
{
	lvm "$2" --config "devices{use_devicesfile=0 scan=\"/dev\" filter=[\"a|^$1\$|\",\"r|.*|\"]}
	    global{event_activation=0 locking_dir=\"/tmp\"} backup{backup=0 archive=0}
	    activation{udev_sync=0 udev_rules=0 monitoring=0}" "${@:3}" >lvm.out 2>&1 || fail "$2: $(<lvm.out)" >&2
}
# open_c NODE: its container is /dev/mapper/c
open_c()
{
	local options=(--key-file key)
	[[ $format != *plain* ]] || read -ra options <<<"$format"
	cryptsetup -q open --disable-keyring "${options[@]}" "$1" c && dmsetup mknodes && until_true 5 test -b /dev/mapper/c
}
# stack_open NODE and stack_close NODE: what is on it; the group is on $pv
stack_open()
{
	pv=$1
	case $stack in
	linear)	dmsetup create l --table "0 $(blockdev --getsz "$1") linear $1 0" && dmsetup mknodes && open_c /dev/mapper/l ;;
	luks)	open_c "$1" ;;
	in_luks) pv=/dev/mapper/c && open_c "$1" && at "$pv" vgchange -ay vg0 ;;
	*)	at "$1" vgchange -ay vg0 && { [[ $stack = lvm ]] || open_c /dev/vg0/root; } ;;
	esac
}
stack_close()
{
	[[ $stack != in_luks ]] || at /dev/mapper/c vgchange -an vg0
	[[ $stack = lvm ]] || cryptsetup close c
	[[ $stack != linear ]] || dmsetup remove l
	[[ $stack != lvm && $stack != under_luks ]] || at "$1" vgchange -an vg0
}
# node_of NAME: $node is where its file system is
node_of()
{
	node=/dev/vg0/$1
	[[ $stack != luks && $stack != linear && ($stack != under_luks || $1 != root) ]] || node=/dev/mapper/c
}
new_group()
{
	local n=$((4 + RANDOM % 12)) k
	pick 1 2
	at "$1" pvcreate --metadatacopies "$picked" "$1" && at "$1" vgcreate -s 1M vg0 "$1" || return
	vols=(root)
	if chance 60; then
		vols+=(home)
		k=$((16 + RANDOM % 12))
		at "$1" lvcreate -y -Zn -Wn -L ${n}M -n gone vg0 && at "$1" lvcreate -y -Zn -Wn -L ${k}M -n home vg0 &&
		    at "$1" lvremove -y vg0/gone || return
	fi
	at "$1" lvcreate -y -Zn -Wn -L $((17 + RANDOM % 16))M -n root vg0 && { ! chance 50 || at "$1" lvextend -L +${n}M vg0/root; }
}
without_one="--type plain --cipher aes-xts-plain64 --key-size 256 --key-file raw"
stack_make()
{
	local options=()
	pv=$1
	pick "--type luks1" "--type luks2" "--type luks2 --sector-size 4096" "--type luks2 --offset $((32768 + RANDOM % 9 * 8))" \
	    "--type luks1 --cipher aes-cbc-essiv:sha256 --key-size 256" "$without_one" "$without_one"
	format=$picked
	[[ $stack != under_luks || $format = *plain* ]] || format="--type luks1"	# its header is small
	[[ $stack != lvm && $stack != under_luks ]] || new_group "$1" || return
	read -ra options <<<"$format"
	case $stack in
	under_luks) node=/dev/vg0/root && at "$1" vgchange -ay vg0 ;;
	linear)	node=/dev/mapper/l && dmsetup create l --table "0 $(blockdev --getsz "$1") linear $1 0" && dmsetup mknodes ;;
	*)	node=$1 ;;
	esac && if [[ $stack != lvm && $format != *plain* ]]; then
		cryptsetup -q luksFormat --key-file key --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "${options[@]}" "$node"
	fi && if [[ $stack = in_luks ]]; then
		pv=/dev/mapper/c && open_c "$1" && new_group "$pv"
	elif [[ $stack != lvm ]]; then
		open_c "$node"
	fi
}
# live DIRECTORY: what happens to files
live()
{
	local i
	for ((i = 0; i < 8 + RANDOM % 20; i++)); do
		case $((RANDOM % 8)) in
		0 | 1 | 2) head -c $((RANDOM * 60)) noise >"$1/f$((RANDOM % 9))" ;;
		3)	rm -f "$1/f$((RANDOM % 9))" ;;
		4)	truncate -s $((RANDOM * 40)) "$1/f$((RANDOM % 9))" ;;
		5)	fallocate -l $((RANDOM * 50 + 1)) "$1/a$((RANDOM % 3))" ;;
		6)	dd if=noise of="$1/f$((RANDOM % 9))" bs=4k seek=$((RANDOM % 900)) count=$((RANDOM % 200 + 1)) conv=notrunc ;;
		7)	mkdir -p "$1/d$((RANDOM % 9))/e" ;;
		esac 2>/dev/null
	done
	return 0
}
sums_of()
{
	(cd "$1" && find . ! -name lost+found -printf '%p %y %s\n' | sort && find . -type f -exec sha256sum {} + | sort)
}
# free_of NODE KIND: "FIRST END", in sectors, of what its own tools call free
free_of()
{
	case $2 in
	ext*)	dumpe2fs "$1" 2>/dev/null | awk '/^Block size:/ { b = $3 / 512 }
		    /^  Free blocks: / { sub(/.*: /, ""); n = split($0, r, ", ")
			for (i = 1; i <= n; i++) { split(r[i], x, "-"); print x[1] * b, ((x[2] == "" ? x[1] : x[2]) + 1) * b } }' ;;
	xfs)	{ xfs_db -r -c 'sb 0' -c 'p agblocks blocksize' "$1"; xfs_db -r -c 'freesp -d' "$1"; } | awk '
		    /^agblocks/ { a = $3 } /^blocksize/ { b = $3 / 512 } /from *to/ { exit }
		    $1 ~ /^[0-9]+$/ { print ($1 * a + $2) * b, ($1 * a + $2 + $3) * b }' ;;
	esac
}
# moved SEGMENTS: sectors, as they are where these lie; of each "FIRST PLACE COUNT"
moved()
{
	awk 'NR == FNR { at[++n] = $1; to[n] = $2; len[n] = $3; next }
	    { for (i = 1; i <= n; i++) {
		first = $1 > at[i] ? $1 : at[i]; end = $2 < at[i] + len[i] ? $2 : at[i] + len[i]
		if (first < end) print first - at[i] + to[i], end - at[i] + to[i] } }' "$1" -
}
# crypt_segments: of the container c
crypt_segments()
{
	dmsetup table c | awk '{ print 0, $8, $2 }' >c.segs
}
# mapped NAME|"": the segments of a volume, or the extents of none
mapped()
{
	local pe
	at "$pv" pvs --noheadings --units s --nosuffix -o pe_start "$pv" && read -r pe <lvm.out &&
	    at "$pv" pvs --noheadings --segments -o pvseg_start,pvseg_size,lv_name,seg_start_pe "$pv" &&
	    awk -v pe="$pe" -v name="$1" 'NF == 4 && $3 == name { print $4 * 2048, pe + $1 * 2048, $2 * 2048 }
		NF == 3 && name == "" { print pe + $1 * 2048, pe + ($1 + $2) * 2048 }' lvm.out
}
# volume_make NAME: a file system with a history, in sums.NAME; what is free in free.all
volume_make()
{
	local kind size n
	node_of "$1"
	n=$(blockdev --getsz "$node")
	pick ext4 ext4 ext2 ext4 xfs
	kind=$picked
	pick "" "" "" $((n / 2 - RANDOM % (n / 4)))
	size=$picked
	if [[ $kind = xfs ]]; then
		size=
		mkfs.xfs --unsupported -q -f "$node" 2>&1 || return
	else
		pick 1024 2048 4096
		[[ $format != *4096 || $stack = lvm ]] || picked=4096
		mke2fs -q -F -t "$kind" -b "$picked" -O ^resize_inode "$node" ${size:+"${size}k"} || return
	fi
	pick clean clean clean clean crashed
	state=$picked
	[[ $kind != ext2 ]] || state=clean
	mkdir -p m && mount "$node" m && undo umount "$PWD/m" && live m || return
	if [[ $state = crashed ]]; then
		sync -f m && head -c 300000 noise >m/last && sync m/last && dd if="$node" of=crash bs=1M iflag=direct status=none
	fi
	sums_of m >"sums.$1" && umount m || return
	if [[ -e crash ]]; then
		dd if=crash of="$node" bs=1M oflag=direct status=none && rm crash
	fi
	echo "$1: $kind $state ${size:+in ${size}k of $((n / 2))k}"
	[[ $state = crashed ]] || free_of "$node" "$kind" >"free.$1"
	[[ -e free.$1 ]] || : >"free.$1"
	case $stack in
	luks | linear) crypt_segments && moved c.segs <"free.$1" ;;
	lvm)	mapped "$1" >segs && moved segs <"free.$1" ;;
	in_luks) mapped "$1" >segs && crypt_segments && moved segs <"free.$1" | moved c.segs ;;
	under_luks) mapped "$1" >segs && if [[ $1 = root ]]; then
			crypt_segments && moved c.segs <"free.$1" | moved segs
		else
			moved segs <"free.$1"
		fi ;;
	esac >>free.all
}
# left_alone NODE MOST: nothing is wrong there, and what was not written is free, of which
# at least the half was not, if MOST is 1
left_alone()
{
	landed map was "$1" 2>said | tr , '\n' | awk '{ split($1, x, "-"); print x[1], (x[2] == "" ? x[1] : x[2]) + 1, $2 }' >runs && [[ -s runs ]] || return
	sort -n free.all | awk '{ if (n && $1 <= e) { if ($2 > e) e = $2 } else { if (n++) print f, e; f = $1; e = $2 } } END { if (n) print f, e }' >free.runs
	awk 'FILENAME == "free.runs" { f[++n] = $1; e[n] = $2; free += $2 - $1; next }
	    $3 == "right" { next }
	    $3 != "untouched" { print "sectors " $0; bad = 1; next }
	    { while (i <= n && e[i] <= $1) i++
	      if (i > n || f[i] > $1 || e[i] < $2) { print "not free: " $0; bad = 1 } out += $2 - $1 }
	    END { print out + 0 " of " free + 0 " free sectors left out"; exit bad || out * 2 < free * most }' most="$2" free.runs runs
}
roll()
{
	local stack format='' vols=(fs) pv='' node='' from=$E to=$G operands=() name picked n k
	pick luks luks linear in_luks in_luks under_luks lvm
	stack=$picked
	landed fill "$G" && dd if=/dev/zero of="$E" bs=1M count=24 oflag=direct status=none && printf secret >key &&
	    printf %032d 1 >raw && until_true 5 blockdev --rereadpt "$E" || return
	if chance 70; then
		n=$((10240 + RANDOM % 99 * 8)) k=$((170000 + RANDOM % 99 * 8))
		printf 'label: gpt\nstart=2048,size=8192\nstart=%s,size=%s\n' $n $k | sfdisk -q -w always "$E" &&
		    until_true 5 blockdev --rereadpt "$E" && until_true 5 test -b "${E}2" || return
		from=${E}2 to=${G}2
	fi
	dd if=/dev/zero of="$from" bs=1M count=20 oflag=direct status=none
	stack_make "$from" && echo "$stack $format on $from" || return
	for name in "${vols[@]}"; do
		volume_make "$name" || return
	done
	case $stack in
	lvm | under_luks) mapped "" >>free.all ;;
	in_luks) mapped "" >extents && crypt_segments && moved c.segs <extents >>free.all ;;
	esac
	sync
	dd if="$from" of=was bs=1M status=none || return
	pick only only only meta
	operands=(used="$picked" bpt=$((1 + RANDOM % 3000)))
	if [[ $picked = meta ]]; then
		operands+=(map=map)
	elif chance 30; then
		operands+=(verify=1)
	fi
	! chance 30 || operands+=(thr=$((1 + RANDOM % 4)))
	if [[ $from = "$E" ]] || chance 70; then
		exits 0 "$pardd" if="$E" of="$G" "${operands[@]}"
	else
		blockdev --rereadpt "$G"
		dd if="$E" of="$G" bs=1M count=5 oflag=direct status=none && until_true 5 blockdev --rereadpt "$G" &&
		    until_true 5 test -b "$to" && exits 0 "$pardd" if="$from" of="$to" "${operands[@]}"
	fi || return
	echo "${operands[*]}"
	cat err
	stack_close "$from" || return
	[[ $to = "$G" ]] || { until_true 5 blockdev --rereadpt "$G" && until_true 5 test -b "$to"; } || return
	if [[ ${operands[0]} = used=meta ]]; then
		[[ $(landed map was "$to") =~ ^0-[0-9]+' right'$ ]] || fail "$(landed map was "$to")" || return
	else
		# what lies behind a file system may be digests of it
		left_alone "$to" $((1 - $(grep -c 'something is behind it' err))) || return
	fi
	stack_open "$to" || return
	for name in "${vols[@]}"; do
		node_of "$name"
		mount "$node" m && sums_of m >got && umount m && same "sums.$name" got || fail "$name is not as it was" || return
	done
	stack_close "$to"
}
# unstack: whatever a roll has left
unstack()
{
	! grep -q " $PWD/m " /proc/mounts || umount "$PWD/m"
	dmsetup remove_all -f >removed 2>&1
	blockdev --flushbufs "$E"
	blockdev --flushbufs "$G"
}
rolled()
{
	local i
	head -c 4M /dev/urandom >noise
	for ((i = 0; i < $2; i++)); do
		[[ -z ${ONLY-} || $i = "$ONLY" ]] || continue
		rm -f ./*.* was map
		RANDOM=$(($1 + i * 7))
		roll >rolled 2>&1 || {  dmsetup table >>rolled; unstack; fail "no. $i of SEED=$1: $(<rolled)"; return; }
		[[ -z ${SHOW-} ]] || sed "s/^/# $i: /" rolled >&2
		unstack
	done
}
if type -P lvm xfs_db mkfs.xfs dumpe2fs >/dev/null; then
	modprobe -a xfs cbc essiv
	LONG=${LONG-}${MANY-}${ONLY-} long "loses nothing of stacks that dice have made" rolled "${SEED:-20261128}" "${MANY:-3}"
fi
