#!/usr/bin/env bash
# What people type by mistake, a command line in each row: what they are told, and that
# the target is unchanged.  Needs root, for a disk.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs can_loop -- "no loop devices"

# SENTENCE | STATUS | what the last line says | operands; DISK is a disk, and NAME
# that without its /dev/; `small` is a file of 1 MiB.  The other files have the first
# bytes of what their names say.
rows()
{
	cat <<-'EOT'
	refuses a disk without its /dev/ as a target | 101 | write DISK, or \./NAME for a file$ | if=small of=NAME
	... with -d | 101 | write DISK, or \./NAME for a file$ | -d if=small of=NAME
	... beside others | 101 | write DISK, or \./NAME for a file$ | if=small of=other of=NAME
	makes a file of that name where it is meant | 0 | complete, flushed$ | if=small of=./NAME
	refuses a target in /dev that is not there | 101 | is the name right | if=small of=/dev/no-such-disk
	refuses an .xz onto a disk | 101 | ^pardd: x.xz is compressed; decode=auto unpacks it; decode=none copies it as it is$ | if=x.xz of=DISK
	... with status=none | 101 | x.xz is compressed; decode=auto unpacks it; | if=x.xz of=DISK status=none
	... with -d | 101 | x.xz is compressed; decode=auto unpacks it; | -d if=x.xz of=DISK
	... with a map | 101 | x.xz is compressed; decode=auto unpacks it; | if=x.xz of=DISK map=m
	... beside a file | 101 | x.xz is compressed; decode=auto unpacks it; | if=x.xz of=other of=DISK
	refuses a .gz onto a disk | 101 | x.gz is compressed; decode=auto unpacks it; | if=x.gz of=DISK
	refuses a .zst onto a disk | 101 | x.zst is compressed; decode=auto unpacks it; | if=x.zst of=DISK
	refuses what pzstd makes onto a disk | 101 | x.pzst is compressed; decode=auto unpacks it; | if=x.pzst of=DISK
	refuses a .bz2 onto a disk | 101 | x.bz2 is compressed; decode=auto unpacks it; | if=x.bz2 of=DISK
	refuses an .lz4 onto a disk | 101 | x.lz4 is compressed; decode=auto unpacks it; | if=x.lz4 of=DISK
	refuses an old .lz4 onto a disk | 101 | for what it holds: lz4 -dc x.old.lz4 . pardd of=DISK; decode=none copies it as it is$ | if=x.old.lz4 of=DISK
	... farther into it | 101 | lz4 -dc x.old.lz4 . pardd of=DISK seek=1048576B; | if=x.old.lz4 of=DISK seek=1M oflag=seek_bytes
	refuses an .lz onto a disk | 101 | lzip -dc x.lz . pardd of=DISK; | if=x.lz of=DISK
	refuses an .lzo onto a disk | 101 | lzop -dc x.lzo . pardd of=DISK; | if=x.lzo of=DISK
	refuses a .zip onto a disk | 101 | x.zip is a zip archive; decode=auto unpacks it; | if=x.zip of=DISK
	refuses a .7z onto a disk | 101 | is a 7z archive; .* 7z x -so x.7z . pardd of=DISK; | if=x.7z of=DISK
	refuses a .rar onto a disk | 101 | is a RAR archive; .* bsdtar -xOf x.rar . pardd of=DISK; | if=x.rar of=DISK
	refuses a partclone image onto a disk | 101 | partclone.restore -o - -s x.partclone . pardd of=DISK; | if=x.partclone of=DISK
	refuses an Android sparse image onto a disk | 101 | simg2img x.simg IMAGE && pardd if=IMAGE of=DISK; | if=x.simg of=DISK
	refuses a qcow2 image onto a disk | 101 | pardd if='\[ qemu-nbd -r -f qcow2 x.qcow2 \]' of=DISK; | if=x.qcow2 of=DISK
	refuses a VMDK image onto a disk | 101 | qemu-nbd -r -f vmdk x.vmdk | if=x.vmdk of=DISK
	refuses the text of a VMDK image onto a disk | 101 | qemu-nbd -r -f vmdk x.text.vmdk | if=x.text.vmdk of=DISK
	refuses a VDI image onto a disk | 101 | qemu-nbd -r -f vdi x.vdi | if=x.vdi of=DISK
	refuses a VHD image onto a disk | 101 | qemu-nbd -r -f vpc x.vhd | if=x.vhd of=DISK
	refuses a VHDX image onto a disk | 101 | qemu-nbd -r -f vhdx x.vhdx | if=x.vhdx of=DISK
	refuses a web page onto a disk | 101 | x.html is a web page, and no image; decode=none copies it as it is$ | if=x.html of=DISK
	refuses a block map onto a disk | 101 | is a block map; for what it holds: pardd if=IMAGE bmap=x.bmap of=DISK; | if=x.bmap of=DISK
	says that an .xz goes into a file as it is | 0 | note: x.xz is compressed; decode=auto unpacks it$ | if=x.xz of=file.img
	... that a qcow2 image does | 0 | note: x.qcow2 is a qcow2 image; for what it holds: pardd if='. qemu-nbd -r -f qcow2 x.qcow2 .' of=file.img$ | if=x.qcow2 of=file.img
	... that a .gz would be none | 0 | note: file.img.gz gets the copy as it is, whatever its name says; to compress it: pardd if=small . gzip >file.img.gz$ | if=small of=file.img.gz
	... of a disk | 0 | whatever its name says; to compress it: pardd if=DISK . xz >file.xz$ | if=DISK of=file.xz
	... beside a file that would | 0 | note: file.zst gets the copy | if=small of=file of=file.zst
	... that a .vmdk would be none | 0 | note: file.vmdk gets the copy as it is, whatever its name says$ | if=small of=file.vmdk
	refuses to read more than there is | 101 | for bytes: count=1048576B$ | if=small of=DISK count=1048576
	EOT
}

# begins NAME TEXT [SKIP]: a file that has TEXT after SKIP bytes
begins()
{
	truncate -s 64K "$1" && printf %b "$2" | dd of="$1" bs=1 seek="${3:-0}" conv=notrunc status=none
}
# packed NAME: the file that a row wants
packed()
{
	case $1 in
	x.xz)	begins "$1" '\xfd7zXZ\0' ;;
	x.gz)	begins "$1" '\x1f\x8b\x8' ;;
	x.zst)	begins "$1" '\x28\xb5\x2f\xfd' ;;
	x.pzst)	begins "$1" '\x50\x2a\x4d\x18' ;;
	x.bz2)	begins "$1" 'BZh91AY&SY' ;;
	x.lz4)	begins "$1" '\x04\x22\x4d\x18' ;;
	x.old.lz4)	begins "$1" '\x02\x21\x4c\x18' ;;
	x.lz)	begins "$1" 'LZIP\x1' ;;
	x.lzo)	begins "$1" '\x89LZO\0' ;;
	x.zip)	begins "$1" 'PK\x3\x4' ;;
	x.rar)	begins "$1" 'Rar!\x1a\x07\x01' ;;
	x.7z)	begins "$1" '7z\xbc\xaf\x27\x1c' ;;
	x.partclone)	begins "$1" partclone-image ;;
	x.simg)	begins "$1" '\x3a\xff\x26\xed' ;;
	x.qcow2)	begins "$1" 'QFI\xfb' ;;
	x.vmdk)	begins "$1" KDMV ;;
	x.text.vmdk)	begins "$1" '# Disk DescriptorFile\n' ;;
	x.vdi)	begins "$1" '\x7f\x10\xda\xbe' 64 ;;
	x.vhd)	begins "$1" conectix ;;
	x.vhdx)	begins "$1" vhdxfile ;;
	x.html)	begins "$1" '\xef\xbb\xbf\n<!DocType HTML>' ;;
	x.bmap)	begins "$1" '<?xml version="1.0" ?>\n<!-- a -->\n<bmap version="2.0">' ;;
	x.xml)	begins "$1" '<?xml version="1.0" ?>\n<map>' ;;
	esac
}
mistake()
{
	local status=$1 says=$2 line words
	"$blocks" make small 1M && "$blocks" make disk 2M 7 && cp disk was && loop disk || return
	words=${3#*if=} && packed "${words%% *}" || return
	says=${says//DISK/"$dev"} says=${says//NAME/"${dev#/dev/}"}
	line=${3//DISK/"$dev"} line=${line//NAME/"${dev#/dev/}"}
	read -ra words <<<"$line"
	exits "$status" "$pardd" "${words[@]}" && says "$says" && same disk was || return
	((status == 0)) || [[ ! -e ${dev#/dev/} && ! -e other ]]
}
while IFS='|' read -r sentence status says words; do
	says=${says# }
	it "${sentence% }" mistake $((status)) "${says% }" "$words"
done < <(rows)
# taken FILE OPERAND...: it goes onto a disk as it is
taken()
{
	packed "$1" && "$blocks" make disk 2M 7 && loop disk &&
	    exits 0 "$pardd" if="$1" of="$dev" "${@:2}" && complete && cmp -n 65536 "$1" disk
}
# piped NAME SAYS: from a pipe, of which decode=auto knows the beginning
piped()
{
	packed "$1" && "$blocks" make disk 2M 7 && cp disk was && loop disk &&
	    exits 101 "$pardd" of="$dev" decode=auto < <(cat "$1") && one_line "$2" && same disk was
}
for what in 'x.qcow2|is a qcow2 image; .*qemu-nbd -r -f qcow2 FILE' 'x.vdi|is a VDI image' \
    'x.old.lz4|is compressed; .*: lz4 -dc FILE . pardd of=/dev/' 'x.html|is a web page, and no image'; do
	it "refuses ${what%|*} from a pipe onto a disk with decode=auto" piped "${what%|*}" "standard input ${what#*|}.*; decode=none"
done
from_fifo()
{
	packed x.qcow2 && "$blocks" make disk 2M 7 && loop disk && mkfifo fifo || return
	cat x.qcow2 >fifo &
	exits 101 "$pardd" if=fifo of=other of="$dev" decode=auto && says 'fifo is a qcow2 image; .*qemu-nbd -r -f qcow2 FILE' &&
	    [[ ! -e other ]] && exits 0 "$pardd" of="$dev" decode=none < <(cat x.qcow2) && complete &&
	    cmp -n 65536 x.qcow2 disk && exits 0 "$pardd" of=copy.qcow2 decode=auto < <(cat x.qcow2) && does_not_say note &&
	    exits 0 "$pardd" of="$dev" decode=auto skip=1 < <(cat x.qcow2) && complete
}
it "... also from a named pipe, but as a part, into a file and with decode=none it is copied" from_fifo
it "copies an .xz onto a disk with decode=none" taken x.xz decode=none
it "... and says so in the plan" eval 'packed x.xz && exits 0 "$pardd" -dv if=x.xz of=/dev/null decode=none &&
    grep -q "^decode=none$" out'
it "... and any other XML" taken x.xml
# silent SOURCE TARGET [OPERAND]: no warning, because nothing is odd about that copy
silent()
{
	"$blocks" make small 1M && packed "$1" && exits 0 "$pardd" if="$1" of="$2" "${@:3}" && complete &&
	    does_not_say note
}
it "... without a word where both are named so" silent x.xz copy.XZ
it "... where that is wanted" silent x.xz file decode=none
it "... also under a wrong name" silent small small.gz decode=none
it "copies a part of an .xz onto a disk, and all of it into a file" eval \
    'packed x.xz && "$blocks" make disk 2M 7 && loop disk && exits 0 "$pardd" if=x.xz of="$dev" skip=1 && complete &&
    exits 0 "$pardd" if=x.xz of=file && complete && same x.xz file && exits 14 "$pardd" if=x.xz of="$dev" compare=1'
# The refusal comes after the claim, which is released.
command_works()
{
	local command
	"$blocks" make a 65536 3 && lz4 -lqc a >"it's a.lz4" && "$blocks" make disk 2M 7 && loop disk &&
	    exits 101 "$pardd" if="it's a.lz4" of="$dev" seek=1 || return
	command=$(sed -n 's/.*for what it holds: \(.*\); decode=none.*/\1/p' err)
	PATH=${pardd%/*}:$PATH eval "$command" && cmp -i 0:512 -n 65536 a disk
}
it "has a command that works, for any name and place" command_works
served()
{
	local command
	"$blocks" make a 65536 3 && qemu-img convert -q -O qcow2 a "a b.qcow2" && "$blocks" make disk 2M 7 &&
	    loop disk && exits 101 "$pardd" if="a b.qcow2" of="$dev" || return
	command=$(sed -n 's/.*for what it holds: \(.*\); decode=none.*/\1/p' err)
	PATH=${pardd%/*}:$PATH eval "$command" && cmp -n 65536 a disk
}
given 'command -v qemu-img qemu-nbd' "no qemu-img, or no qemu-nbd" it "... and for a qcow2 image" served
# The usual wipe: random bytes have no end, but the disk has.
wiped()
{
	"$blocks" make disk 2M 7 && cp disk was && loop disk && exits 0 "$pardd" if="$1" of="$dev" && complete &&
	    says '^2097152 bytes' && [[ $(cmp -l disk was | wc -l) -gt 2000000 ]]
}
for source in /dev/urandom /dev/random /dev/zero; do
	it "fills a disk from $source, and ends with it" wiped "$source"
	it "... refuses to fill a file from there" usage 'has no end: give count=' if="$source" of=file
done
