#!/usr/bin/env bash
# The assertions by which NIST's Computer Forensics Tool Testing (CFTT) judges disk
# imaging tools ("Digital Data Acquisition Tool Assertions and Test Plan"), one case
# each.  The manual (FORENSICS) names those that are not met; those that need SCSI
# disks are in tests/scsi.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# other files have all of it

size=$((8 << 20))
bad=999936+512,4999680+4096
# sick STATUS OPERANDS...: with unreadable sectors of the file src
sick()
{
	exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src engine=threads "${@:2}"
}
# disks: $src has the pattern, $dst something else, and 1 MiB more
disks()
{
	"$blocks" make src $size && "$blocks" make dst $((size + (1 << 20))) 9 &&
	    loop src && src=$dev && loop dst && dst=$dev
}

# --------------------------------------------------------------- what must be

kinds()
{
	disks && printf '%s\n' 'label: gpt' size=2M size=3M | sfdisk -q src && exits 0 "$pardd" if="$src" of=all && same src all &&
	    exits 0 "$pardd" if="$src" ipart=2 of=part && same part <(tail -c +$(((3 << 20) + 1)) src | head -c 3M)
}
clone()
{
	disks && exits 0 "$pardd" if="$src" of="$dst" && complete && cmp -n $size src dst
}
image()
{
	disks && exits 0 "$pardd" if="$src" of=image && complete && same src image
}
visible()
{
	local n
	for n in 512 $((size - 512)) $((size + 512)) 513000; do
		"$blocks" make src "$n" && exits 0 "$pardd" if=src of=image && size_is image "$n" && same src image &&
		    rm image || fail "$n bytes" || return
	done
}
accurate()
{
	disks && exits 0 "$pardd" if="$src" of=image verify=1 hash=sha256 && complete && same src image &&
	    says "^$(sha256sum <src | cut -d ' ' -f 1)  image$"
}
told()
{
	"$blocks" make src $size && sick 100 of=image coe=1 &&
	    says '^pardd: src: unreadable: bytes 999936 to 1000447, blocks 1953 to 1953 of 512 bytes, zeros in the copy$' &&
	    says '^pardd: src: unreadable: bytes 4999680 to 5003775, ' && sick 3 of=other && says 'Input/output error'
}
benign()
{
	"$blocks" make src $size && "$blocks" make image $size 9 && sick 100 of=image coe=1 &&
	    same <(head -c 1000448 image | tail -c 512) <(head -c 512 /dev/zero) &&
	    "$blocks" make other $size 9 && sick 100 of=other map=map fill=zero &&
	    same <(head -c 1000448 other | tail -c 512) <(head -c 512 /dev/zero)
}
if able can_loop "no loop devices"; then
	it "AM-01: acquires by each access interface" eval \
	    'disks && exits 0 "$pardd" if="$src" of=a && same src a && exits 0 "$pardd" if=src of=b && same src b &&
	    "$pardd" if="$src" status=none | cat >c && same src c'
	it "AM-02: acquires disks, partitions and files" kinds
	it "AM-04: makes a clone" clone
	it "AM-05: makes an image" image
fi
it "AM-06: acquires all visible sectors" visible
given can_loop "no loop devices" it "AM-08: acquires them accurately" accurate
it "AM-09: tells the kind and the place of each error" told
it "AM-10: writes a benign fill where nothing could be read" benign

# --------------------------------------------------------------- what may be

write_error()
{
	"$blocks" make src $size && exits 55 with_faults "on=$PWD/$1 op=write at=3000000+ fail=EIO" "$pardd" if=src of="$1" &&
	    says "^pardd: NOT complete: $1: writing .*Input/output error$"
}
no_space()
{
	"$blocks" make src $size && mkdir small && mount -t tmpfs -o size=4m none small || return
	undo umount "$PWD/small"
	run "$pardd" if=src of=small/image && ((status != 0)) && says 'has 4194304 bytes in all' && ! grep 'pardd: complete' err
}
unchanged()
{
	"$blocks" make src $size && exits 0 "$pardd" if=src of=image manifest=m &&
	    exits 0 "$pardd" if=image manifest=m check=1 && complete
}
changed()
{
	unchanged && printf x | dd of=image bs=1 seek=3000000 conv=notrunc status=none &&
	    exits 14 "$pardd" if=image manifest=m check=1 && says '^pardd: NOT '
}
places()
{
	changed && says '^pardd: differs: bytes 2097152 to 3145727 of image$'
}
from_image()
{
	disks && exits 0 "$pardd" if=src of=image && exits 0 "$pardd" if=image of="$dst" && cmp -n $size src dst
}
subset()
{
	disks && exits 0 "$pardd" if="$src" of="$dst" bs=512 skip=1000 seek=50 count=3000 && holds dst $((50 * 512)) $((1000 * 512)) $((3000 * 512)) &&
	    holds dst 0 0 $((50 * 512)) 9 && holds dst $((3050 * 512)) $((3050 * 512)) 100000 9
}
excess()
{
	disks && exits 0 "$pardd" if="$src" of="$dst" && holds dst $size $size $((1 << 20)) 9
}
too_small()
{
	disks && cp dst old && refused 'has room for 8388608 bytes.* but 9437184 are to be copied' if="$dst" of="$src" &&
	    exits 0 "$pardd" if="$dst" of="$src" bs=512 count=16384 && cmp -n $size dst src
}
hashes()
{
	"$blocks" make src $size && exits 0 "$pardd" if=src of=image manifest=m bs=1M bpt=1 && [[ $(grep -c '"xxh128":' m) = 8 ]] &&
	    [[ $(jq -r 'select(.offset == 2097152).xxh128' m) = $(tail -c +$(((2 << 20) + 1)) src | head -c 1M |
	    xxhsum -q -H2 | cut -d ' ' -f 1) ]]
}
logged()
{
	"$blocks" make src $size && sick 100 of=image coe=1 log=log hash=sha256 report=r.html &&
	    jq -e '.status == 100 and .bytes_unreadable == 4608' log >/dev/null &&
	    grep -q "$(sha256sum <image | cut -d ' ' -f 1)" r.html && grep -q '<td class="n">999936</td>' r.html
}
untouched()
{
	local before
	"$blocks" make src $size && touch -d 2001-01-01 src && before=$(stat -c '%y %z %s' src) &&
	    exits 0 strace -f -o trace -e trace=open,openat,write,pwrite64,pwritev2,ioctl "$pardd" if=src of=image iflag=noatime &&
	    [[ $(stat -c '%y %z %s' src) = "$before" ]] && ! grep -E '"[^"]*src", [^,]*O_(RDWR|WRONLY|TRUNC|CREAT)' trace
}
it "AO-01: makes an image of the same data" visible
it "AO-03: tells an error of writing the image" write_error image
given '((EUID == 0))' "not root" it "AO-04: tells that there is no room for the image" no_space
it "AO-06: tells that an image has not been changed" unchanged
it "AO-07: tells that an image has been changed" changed
it "AO-08: tells where an image has been changed" places
if able can_loop "no loop devices"; then
	it "AO-11: makes a clone while it acquires" clone
	it "AO-12: makes a clone of an image" from_image
	it "AO-13: writes the clone by each access interface" from_image
	it "AO-14: writes each sector to its own address" eval \
	    'disks && exits 0 "$pardd" if="$src" of="$dst" && holds dst 0 0 $size &&
	    exits 0 "$pardd" if="$src" of="$dst" bs=512 skip=100 seek=100 count=9 && holds dst 0 0 $size'
	it "AO-16: clones a part of the source" subset
	it "AO-17: leaves excess sectors of a clone alone" excess
	it "AO-18: fills excess sectors where that is asked for" eval \
	    'disks && exits 0 "$pardd" if="$src" of="$dst" && exits 0 "$pardd" if=/dev/zero of="$dst" bs=1M seek=8 &&
	    holds dst 0 0 $size && same <(tail -c 1M dst) <(head -c 1M /dev/zero)'
	it "AO-19, AO-20: refuses a clone that is too small, and says so; count= makes it" too_small
fi
it "AO-21: tells an error of writing the clone" write_error clone
if able 'command -v jq xxhsum' "no jq or xxhsum"; then
	it "AO-22: has a digest of each block" hashes
	it "AO-23: writes a log that is right" logged
fi
given 'command -v strace' "no strace" it "AO-24: leaves the source as it was" untouched
# What is not met, or not at all, is said.
said()
{
	local name
	for name in AM-03 AM-07 AO-02 AO-05 AO-09 AO-10 AO-15; do
		grep -q "^\.It .*$name" "$top/man/pardd-rescue.7" || fail "$name is neither tried nor in the manual" || return
	done
}
it "says in the manual what is not met" said
