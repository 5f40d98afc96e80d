#!/usr/bin/env bash
# lab: none
# shellcheck disable=SC1091,SC2015,SC2016,SC2034,SC2119,SC2120,SC2154,SC2317
# Answers that no disk in the lab would give: files play the disks (answer.c), so no guest
# is needed.
. "$(dirname "$0")/../lib.sh"
[[ -z ${PARDD-} ]] || pardd=$PARDD
answer=$tools/answer.so
[[ -e $answer ]] || { echo 'Bail out! answer.so is not built'; exit 1; }

# disks [WORDS [WORDS]]: two disks of 1 MiB, described in the words of ANSWERS
made=
disks()
{
	"$blocks" make src 1M 1 && "$blocks" make dst 1M 9 || return
	made="disk=src ${1-};disk=dst ${2-${1-}}"
}
# answering RULES COMMAND...: what was sent is in the file log
answering()
{
	local rules=$1
	shift
	[[ -n $made ]] || disks || return
	rm -f log
	ANSWERS="$made;$rules" ANSWER_LOG=$PWD/log LD_PRELOAD=$answer "$@"
}
# ends STATUS RULES OPERANDS...: by default from src to dst, 64 commands each; what
# is on the disks is looked at before, by longer ones
ends()
{
	exits "$1" answering "$2" "$pardd" bs=512 bpt=32 "${@:3}" && fitting
}
copies()
{
	ends "$1" "$2" if=src of=dst "${@:3}"
}
# all_there [RULES [OPERANDS...]]
all_there()
{
	copies 0 "${1-}" "${@:2}" && complete && same src dst
}
# no_command PATTERN: none such in the log
none()
{
	! grep -E "$1" log
}
# some PATTERN [LEAST]
some()
{
	local n
	n=$(grep -cE "$1" log)
	((n >= ${2:-1})) || fail "only $n commands /$1/: the case proves nothing"
}
# No command leads past the end.
fitting()
{
	awk '$4 > 0 && $2 ~ /read|write|same/ && $3 + $4 > 2048 { print; bad = 1 }
	    END { exit bad }' log
}

# ------------------------------------------------------------------ the disks

it "copies by READ and WRITE" eval 'all_there && some "^src read" 64 &&
    some "^dst write" 64 && some "^dst sync" && none "^src (write|sync)"'
it "copies by asynchronous commands" eval 'all_there "" engine=async &&
    some "^src read" 64 && some "^dst write" 64'
for n in ${LONG:+2 3} 16; do
	it "copies by $n workers" all_there '' thr="$n"
done

# --------------------------------------------------------- another medium

# The medium is changed at the 20th command of this kind: what is then reported
# ends the copy, and nothing of the other medium is in the target.
other_source()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 6 "op=read len=1-32 nth=20 sense=$1 becomes=other" "${@:2}" &&
	    says 'medium was (changed|removed)' && ! same src dst >/dev/null 2>&1 &&
	    holds dst 0 0 $((19 * 16384)) 1
}
# Commands that are in flight at that time may still reach the other medium.
other_target()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 6 "op=write nth=20 sense=$1 becomes=other" "${@:2}" &&
	    says 'medium was (changed|removed)'
}
for sense in 6/28/0 2/3a/0 2/3a/2; do
	it "stops when the source's medium was changed, $sense" \
	    other_source $sense thr=1
	it "stops when the target's medium was changed, $sense" \
	    other_target $sense thr=1
done
it "... also with coe=1 and retries" other_source 6/28/0 thr=1 coe=1 retries=9
it "... with 16 workers" other_target 6/28/0 thr=16
it "stops there with asynchronous commands" other_target 6/28/0 engine=async qd=2
# The logical unit is another one: it says so, or that is noticed at the end.
other_disk()
{
	disks && "$blocks" make other 1M 5 && cp other before &&
	    copies 69 "on=dst op=write nth=20 sense=$1 becomes=other renamed" "${@:2}" &&
	    says 'dst.*another disk answers there now' && same other before
}
other_disk_read()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 69 "on=src op=read len=1-32 nth=20 sense=$1 becomes=other renamed" "${@:2}" &&
	    says 'src.*another disk answers there now'
}
for sense in 6/3f/3 6/3f/5 6/3f/e; do
	it "stops when the target says that it may be another disk, and is one, $sense" other_disk $sense thr=1
	it "stops when the source is one, $sense" other_disk_read $sense thr=1
	it "goes on if it is still the same, $sense" all_there "op=write nth=20 sense=$sense"
done
# ... and does not say which one
silent_disk()
{
	disks && "$blocks" make other 1M 5 && cp other before &&
	    copies 69 "on=dst op=write nth=20 sense=6/3f/3 becomes=other renamed;on=dst op=inquiry from=$1 host=7" thr=1 \
	    bs=512 bpt=32 && same other before
}
for n in 5 6; do
	it "stops when the target no longer says which disk it is, from its ${n}th answer on" silent_disk $n
done
it "... also with asynchronous commands" other_disk 6/3f/3 engine=async qd=1
it "stops there in a rescue" other_disk_read 6/3f/3 map=map thr=1
untold_other()
{
	copies 69 "on=$1 op=$2 len=1-32 nth=20 renamed done" thr=1 && says 'another disk answers there now'
}
it "notices at the end that the target is another disk" untold_other dst write
it "... or that the source is" untold_other src read
once()
{
	disks && "$blocks" make other 1M 5 && cp other before &&
	    copies 6 'op=write nth=20 sense=6/28/0 becomes=other' thr=1 "$@" &&
	    same other before && [[ $(grep -c '^dst write' log) = 20 ]]
}
it "sends no further command to the other medium" once
it "... by asynchronous commands" once engine=async qd=1
rescued()
{
	disks && "$blocks" make other 1M 5 &&
	    copies 6 'op=read len=1-32 nth=20 sense=6/28/0 becomes=other' map=map thr=1 &&
	    [[ $("$tools/maps" list map -) = '' ]]
}
it "... in a rescue, which records no bad blocks then" rescued
unflushed()
{
	copies 103 "op=sync sense=$1 times=1" && says 'medium was (changed|removed)'
}
it "does not take another medium's flush for its own" unflushed 6/28/0
it "does not flush a medium that was removed" unflushed 2/3a/0

read_back()
{
	copies 6 'on=dst op=read len=1-32 nth=20 sense=6/28/0' verify="$1" && some '^dst read .* 2$'
}
it "does not verify another medium" read_back 1
it "... in the middle of a copy" read_back stream

unmapped()
{
	disks thin=1 same=2048 && copies 6 'op=lbastatus nth=9 sense=6/28/0' iflag=sparse thr=1 &&
	    says 'medium was changed' && some '^src lbastatus .* 2$'
}
it "stops when the query of what is mapped reports it" unmapped

# What is pending when a medium was inserted is reported before the copy.
pending()
{
	disks "$@" && all_there 'op=ready sense=6/28/0 times=3'
	some '^src ready' 3
}
it "starts with a medium that was just inserted" pending
it "... and that READ CAPACITY reports" eval \
    'all_there "op=capacity sense=6/28/0 times=1" && some "^src capacity" 2'
it "does not start without a medium" eval \
    'copies 2 "on=src sense=2/3a/0 op=ready" && one_line "Medium not present"'
for sense in 6/29/2 6/29/3 6/29/7 6/2a/1 6/2a/9 6/3f/3 6/28/1; do
	it "goes on after a unit attention, $sense" eval \
	    'all_there "op=read,write nth=20 sense='$sense'" && some " 2$" 1'
done

# Its power may have been off: what was in its cache is gone.
off()
{
	disks && cp dst old &&
	    copies 6 "on=dst op=write nth=20 sense=$1 becomes=old" thr=1 "${@:2}" &&
	    says "$why"
}
off_fua()
{
	all_there "on=dst op=write nth=20 sense=$1" oflag=fua && some '^dst write .* 2$' 1
}
off_unflushed()
{
	copies 103 "op=sync sense=$1 times=1" && says "$why"
}
# A part is there already, and the rest is written; the query reports it.
off_spared()
{
	disks && "$blocks" make src 1M 9 && "$blocks" make head 524288 1 &&
	    dd if=head of=src conv=notrunc status=none && cp dst old &&
	    copies 6 "on=dst op=read len=1-32 nth=50 sense=$1 becomes=old" oflag=sparing thr=1 &&
	    says "$why"
}
for sense in 6/29/0 6/29/1 6/29/4; do
	case $sense in
	*/0) why='[Pp]ower on, reset, or bus device reset' ;;
	*/1) why='Power on occurred' ;;
	*) why='Device internal reset' ;;
	esac
	it "goes on when the source's power was off, $sense" \
	    all_there "on=src op=read nth=20 sense=$sense"
	it "stops when the target's power was off, $sense" off $sense
	it "... with asynchronous commands, $sense" off $sense engine=async qd=1
	it "goes on if everything was written past its cache, $sense" off_fua $sense
	it "goes on if nothing had been written yet, $sense" \
	    all_there "on=dst op=write nth=1 sense=$sense" thr=1
	it "stops when the query of what is on the target reports it, $sense" off_spared $sense
	it "does not call flushed what was in its cache, $sense" off_unflushed $sense
	it "calls the copy flushed if nothing was in its cache, $sense" \
	    all_there "op=sync sense=$sense times=3" oflag=fua
	it "starts with a disk that was just switched on, $sense" \
	    all_there "op=ready sense=$sense times=3"
done

# ------------------------------------------------- more than the disk holds

# full OPERANDS...: twice as much as there is room for, from a pipe; as on a
# block device
full()
{
	disks "block=${block-512}" && "$blocks" make much 2M 1 &&
	    exits 78 answering '' "$pardd" of=dst "$@" < <(cat much) && fitting &&
	    says "^pardd: NOT complete: dst: writing [0-9]+ bytes at byte [0-9]+: No space left on device$" &&
	    holds dst 0 0 1M 1
}
it "fills the disk to its last block" full
it "... with transfers that do not end there" full bs=512 bpt=77
it "... with 16 workers" full bs=512 bpt=77 thr=16
it "... with small commands" full cdbsz=6
block=4096
it "... if its blocks have 4096 bytes" full bpt=3
block=512
same_as_loop()
{
	local sg
	full bs=512 bpt=77 thr=1 && sg=$(tail -n 1 err) && truncate -s 1M img && loop img &&
	    exits 78 "$pardd" of="$dev" bs=512 bpt=77 thr=1 < <(cat much) &&
	    [[ ${sg/dst/"$dev"} = "$(tail -n 1 err)" ]] || fail "not as: $(tail -n 1 err)"
}
given can_loop "no loop devices" it "says the same as for a block device" same_as_loop

# ------------------------------------------------------------ at the beginning

# begins_not STATUS RULE REGEX: refused in one line, and nothing is written
begins_not()
{
	copies "$1" "$2" && one_line "$3" && none '^[^ ]* (write|same)' && holds dst 0 0 1M 9
}
for op in inquiry ready capacity; do
	it "reports a transport error at $op" \
	    begins_not 15 "on=src op=$op host=7" 'transport error \(host 0x7, driver 0(x0)?\)'
done
it "reports a temporary one that persists" \
    begins_not 15 'on=dst op=ready host=0x0b' 'transport error \(host 0xb, driver 0(x0)?\)'
it "reports that a path is not connected" \
    begins_not 15 'on=src host=1' 'transport error \(host 0x1, driver 0(x0)?\)'
it "reports that a disk does not answer" begins_not 33 'on=src op=ready host=3' 'no answer before the timeout'
it "gets over transport errors that pass" eval \
    'all_there "op=inquiry,ready,capacity host=0x0b times=5" && some "^src inquiry" 6'
it "says that a node takes no SCSI commands" \
    begins_not 15 'on=src errno=25' 'src takes no SCSI commands'
it "says that a node is gone" \
    begins_not 69 'on=src op=ready errno=19' 'TEST UNIT READY.*No such device'
it "reports a reservation" begins_not 24 'on=dst op=ready status=0x18' 'eservation conflict'
it "reports a disk that is always busy" begins_not 26 'on=src op=capacity status=8' '[Bb]usy'
for type in 1 3 8 13 31; do
	it "does not take a device of type $type for a disk" eval \
	    "disks type=$type && begins_not 15 '' 'not a disk .SCSI device type'"
done
for type in 4 5 7 14; do
	it "takes one of type $type for a disk" eval "disks type=$type && all_there"
done
it "reads a zoned disk" eval 'disks type=20 type=0 && all_there'
it "does not write to a zoned disk" eval \
    'disks type=0 type=20 && begins_not 101 "" "zoned disk"'
it "does not take a missing logical unit for a disk" \
    begins_not 15 'on=src op=inquiry data=7f' 'not a disk'

sizes()
{
	begins_not 15 "on=src op=capacity data=$1" "${2-it cannot be copied}"
}
it "accepts no blocks of 0 bytes" sizes 000007ff00000000
it "accepts no blocks of 511 bytes" sizes 000007ff000001ff
it "accepts no blocks of 16 MiB" sizes 000007ff01000000
it "accepts no capacity of 0" eval 'disks blocks=0 && begins_not 15 "" "it cannot be copied"'
it "asks for the long capacity if the short one says so" eval \
    'all_there "op=capacity data=ffffffff00000200" && some "^src capacity16" 1 &&
    some "^dst capacity16" 1'
it "goes on if a unit attention comes between the two" eval \
    'all_there "op=capacity data=ffffffff00000200;op=capacity16 sense=6/29/0 times=2"'
for block in 1024 4096 65536; do
	it "copies blocks of $block" eval "disks block=$block &&
	    copies 0 '' bs=$block bpt=1 && complete && same src dst"
done
odd()
{
	disks block=520 && truncate -s 1047800 src dst && copies 0 '' bs=520 bpt=16 "$@" &&
	    complete && same src dst
}
it "copies blocks of 520" odd
it "copies blocks of 520 by asynchronous commands" odd engine=async
it "loses one bad block of 520" eval 'disks block=520 && truncate -s 1047800 src dst &&
    copies 100 "on=src op=read at=77+1 sense=3/11/0" bs=520 coe=1 &&
    holds dst 0 0 $((77 * 520)) 1 && cmp -n 520 -i $((77 * 520)):0 dst /dev/zero'

# ------------------------------------------------------------------ commands

# far CDBSZ SIZE SKIP COUNT [OPERANDS...]: the first READ is so long
far()
{
	disks 'blocks=0x300000000' && ends 0 '' if=src of=out "cdbsz=$1" "skip=$3" "count=$4" \
	    bpt="$4" thr=1 "${@:5}" && complete && some "^src read $3 $4 $2 "
}
far_() { (fitting() { :; }; far "$@"); }
it "reads with commands of 6 bytes if told to" far_ 6 6 7 256
it "reads with commands of 6 bytes up to the last block that they reach" far_ 6 6 2097151 1
it "reads with commands of 10 bytes beyond that" far_ 6 10 2097152 1
it "reads with commands of 10 bytes up to the last block that they reach" far_ 10 10 4294967295 1
it "reads with commands of 16 bytes beyond that" far_ 10 16 4294967296 3
it "reads with commands of 16 bytes across that place" far_ 10 16 4294967295 2
it "reads with commands of 12 bytes if told to" far_ 12 12 4294967295 1
it "reads with commands of 16 bytes where those of 12 do not reach" far_ 12 16 4294967296 1
it "reads with commands of 16 bytes if told to" far_ 16 16 0 9
far_write()
{
	disks '' 'blocks=0x300000000' && (fitting() { :; }
	ends 0 '' if=src of=dst seek=0x100000002 count=5 thr=1) && complete &&
	    some '^dst write 4294967298 5 16 ' && truncate -s 2199023258112 src &&
	    cmp -n 2560 -i 0:2199023256576 src dst
}
it "writes beyond 2 TiB" far_write
bits()
{
	all_there '' "${@:3}" && some "^src read [0-9]+ [0-9]+ [0-9]+ $1 0" 64 &&
	    some "^dst write [0-9]+ [0-9]+ [0-9]+ $2 0" 64
}
it "sets no bit unless told to" bits 00 00
it "sets the FUA bit of the target" bits 00 08 fua=1
it "sets the FUA bit of the source" bits 08 00 fua=2
it "sets the FUA bit of both" bits 08 08 fua=3
it "sets the bits that iflag= and oflag= ask for" bits 10 18 iflag=dpo oflag=dpo,fua
it "sets them in commands of 16 bytes" bits 18 18 fua=3 iflag=dpo oflag=dpo cdbsz=16
it "keeps to the length that the disk accepts" eval 'disks "most=24" &&
    all_there "" bpt=100 && none " (read|write) [0-9]+ (2[5-9]|[3-9][0-9]|[0-9]{3,}) " &&
    some " read [0-9]+ 24 "'
it "sends smaller commands if the host refuses large ones" eval \
    'copies 0 "op=read,write len=129-512 errno=22 times=2" bpt=512 thr=1 status=none &&
    same src dst &&
    some "^src read 0 512 .*-$" && some "^src read 0 256 .*-$" && some "^src read 0 128 .* 0$"'

# ------------------------------------------------------------ what passes

passes()
{
	all_there "op=$1 $2 times=5" "${@:3}" && some "^... ($1) .* (2|8|24|40|0|-)$" 69
}
for op in read write; do
	it "retries when the disk is busy, $op" passes $op status=8
	it "retries when its queue is full, $op" passes $op status=0x28
	it "retries an aborted command, $op" passes $op sense=b/47/0
	it "retries what the host has not sent, $op" passes $op host=0x0c
	it "retries what the kernel has not accepted, $op" passes $op errno=16
	it "retries asynchronous commands, $op" passes $op sense=b/47/0 engine=async
done
pauses()
{
	copies 26 'op=read len=1-32 at=100+1 status=8' thr=1 &&
	    [[ $(sed -n 's/^pause //p' log | paste -sd ' ') = \
	    '2 4 8 16 32 64 128 256 500 500' ]] || fail "$(grep pause log)"
}
it "pauses longer and longer between retries" pauses
for op in read write; do
	it "gives up on a busy disk, $op" eval "copies 26 'op=$op at=100+1 status=8' thr=1 &&
	    some '^... $op (96|100) .* 8\$' 11"
	it "gives up on a full queue, $op" copies 27 "op=$op at=100+1 status=0x28"
	it "gives up on aborted commands, $op" eval "copies 11 'op=$op at=100+1 sense=b/47/0' &&
	    says 'Aborted [Cc]ommand'"
	it "gives up on unit attentions, $op" copies 6 "op=$op at=100+1 sense=6/29/0"
	it "gives up on a host that sends nothing, $op" eval "copies 15 'op=$op at=100+1 host=0x0b' &&
	    says 'transport error .host 0xb'"
	it "stops at a reservation, $op" eval "copies 24 'op=$op at=100+1 status=0x18' coe=1 &&
	    says '[Rr]eservation conflict'"
	it "stops at a protection error, $op" eval \
	    "copies 40 'op=$op at=100+1 sense=b/10/1' coe=1 && says 'guard check'"
	it "stops at an illegal request, $op" copies 5 "op=$op at=100+1 sense=5/24/0" coe=1
	it "stops at an unknown command, $op" copies 9 "op=$op at=100+1 sense=5/20/0" coe=1
	it "stops at data protection, $op" copies 7 "op=$op at=100+1 sense=7/27/0" coe=1
	it "stops at a disk that is not ready, $op" copies 2 "op=$op at=100+1 sense=2/4/3" coe=1
	it "stops at a command that is not answered, $op" copies 33 "op=$op at=100+1 host=3"
	it "stops at one that the driver reports as such, $op" copies 33 "op=$op at=100+1 driver=6"
	it "stops at any other transport error, $op" copies 15 "op=$op at=100+1 host=7" coe=1
	it "stops at COPY ABORTED, $op" copies 10 "op=$op at=100+1 sense=a/d/0" coe=1
done

for op in read write; do
	it "stops at a block that the disk does not have, $op" copies 22 "op=$op at=100+1 sense=5/21/0"
	it "tells an aborted task from a full queue, $op" eval \
	    "copies 11 'op=$op at=100+1 status=0x40' && says 'aborted command'"
	it "stops at errors of the driver, $op" eval \
	    "copies 15 'op=$op at=100+1 driver=4' && says 'transport error .host 0(x0)?, driver 0x4'"
	it "gets over those that pass, $op" all_there "op=$op driver=2 times=5"
done
offline()
{
	disks && mkdir -p src.sys/device && echo "$1" >src.sys/device/state &&
	    copies "$2" "op=read at=100+1 host=${4-7}" && says "$3"
}
it "says that a disk was taken away" offline offline 69 'device has gone'
it "says that a path was taken away" offline transport-offline 69 'device has gone'
it "says so when retries did not help" offline offline 69 'device has gone' 0x0e
it "does not say so if it is running" offline running 15 'transport error'

# ------------------------------------------------------------- hidden areas

# hides WORDS REGEX [VENDOR]: of an ATA disk of 2048 blocks
hides()
{
	disks "$1" '' && mkdir -p src.sys/device && echo "${3-ATA}" >src.sys/device/vendor &&
	    exits 0 answering '' "$pardd" if=src of=dst -dv && cp log first &&
	    if [[ -n $2 ]]; then grep -Ex "note=src $2" out; else ! grep 'note=src hides' out; fi
}
told_of()
{
	hides "$@" && all_there && says "^pardd: note: src $2"
}
tail='hides %s bytes past its end, which are not copied: %s'
# shellcheck disable=SC2059
{
	it "reports a host protected area" told_of native=3000 \
	    "$(printf "$tail" 487424 'a host protected area .HPA., see hdparm -N')"
	it "reports a device configuration overlay" told_of 'native=2048 made=2050' \
	    "$(printf "$tail" 1024 'a device configuration overlay .DCO., see hdparm --dco-identify')"
	it "reports both" told_of 'native=2049 made=2050' \
	    "$(printf "$tail" 1024 'an HPA and a DCO, see hdparm -N and --dco-identify')"
}
it "reports none if nothing is hidden" hides 'native=2048 made=2048' ''
it "reports none if the disk does not answer" hides '' ''
unasked()
{
	hides native=3000 '' LINUX && ! grep ' ata ' first
}
it "does not ask a disk that is not ATA" unasked
failing()
{
	hides native=3000 'hides .*' && copies 0 '' map=map && none ' ata '
}
it "does not ask a disk that is being rescued" failing

# ------------------------------------------------------- zeros, and verifying

zeros()
{
	disks '' same=2048 && truncate -s 256K src && truncate -s 1M src &&
	    copies "$1" "$2" oflag=sparse thr=1 bpt=512
}
it "makes zeros by WRITE SAME" eval 'zeros 0 "" && same src dst && some "^dst same .* 0$"'
it "writes them if the disk turns out not to know it" eval \
    'zeros 0 "op=same sense=5/20/0" && same src dst && [[ $(grep -c "^dst same" log) = 1 ]]'
it "writes them if it refuses the length" eval \
    'zeros 0 "op=same sense=5/24/0" && same src dst'
# Blocks that no page is made of, from an image with a hole in it.
onto_520()
{
	disks "block=520 blocks=8064 $1" && "$blocks" make img 262144 3 &&
	    truncate -s 3931200 img && "$blocks" make piece 262080 4 && cat piece >>img &&
	    exits 0 answering "${2-}" "$pardd" if=img of=dst bs=520 bpt="${bpt-32}" "${@:3}" &&
	    complete && same img dst
}
for words in '' oflag=sparse verify=1 'verify=stream rate=50M'; do
	# shellcheck disable=SC2086
	it "keeps a hole on blocks of 520 $words" \
	    eval "onto_520 same=2048 '' $words && some '^dst same .* 0' &&
		none '^dst write ([67]..|[1-6]...) '"
done
it "writes it if the disk turns out not to know WRITE SAME" \
    eval "bpt=2000 onto_520 same=2048 'op=same sense=5/20/0'"
it "spares blocks of 520" eval 'onto_520 "" "" oflag=sparing && cp dst old &&
    printf x | dd of=dst bs=1 seek=520123 conv=notrunc status=none &&
    exits 0 answering "" "$pardd" if=img of=dst bs=520 oflag=sparing && same img dst &&
    says "^pardd: 4189120 bytes were already present"'
mends_520()
{
	disks block=520 && truncate -s 1048320 src dst && cp src old &&
	    printf x | dd of=old bs=1 seek=520123 conv=notrunc status=none &&
	    copies 0 'on=dst op=read len=1-32 nth=3 becomes=old' bs=520 verify=1 && complete && same src old
}
it "repairs blocks of 520" mends_520
it "stops if zeros cannot be written" zeros 3 'op=same sense=3/c/0'
it "does not verify if the disk refuses FUA" eval \
    'copies 101 "on=dst op=read sense=5/24/0" verify=1 && holds dst 0 0 1M 9 && none "^dst write"'
it "finds what is not as written" eval \
    'disks && cp dst old && copies 14 "on=dst op=read len=1-32 at=700+1 becomes=old" verify=1 retries=0'
it "compares" eval 'all_there && ends 0 "" if=src of=dst compare=1 && none " (write|same|sync)"'

# ------------------------------------------------------------- bad blocks

# loses_so STATUS RULES OPERANDS...: block 100, and nothing else
loses_so()
{
	copies "$@" && holds dst 0 0 51200 1 &&
	    holds dst 51712 51712 $((1048576 - 51712)) 1
}
# One bad block costs one block, whatever the sense data says of it.
loses_one()
{
	loses_so 100 "op=read at=100+1 sense=$1" coe=1 "${@:2}" &&
	    says '1 unreadable block in 1 range$' && some '^src read .* 2$' &&
	    cmp -n 512 -i 51200:0 dst /dev/zero
}
none_bad()
{
	[[ ! -e map || $("$tools/maps" list map -) = '' ]]
}
for format in '' ' descriptor'; do
	it "loses one block, reported correctly,$format" loses_one "3/11/0 info=100$format"
	it "loses one block, reported as another one of the command,$format" loses_one "3/11/0 info=97$format"
	it "loses one block, reported as one behind the command,$format" loses_one "3/11/0 info=126$format"
	it "loses one block, reported as one far away,$format" loses_one "3/11/0 info=0xfffffff0$format"
	it "loses one block, not reported as any,$format" loses_one "3/11/0$format"
	it "loses one block, a hardware error,$format" loses_one "4/44/0$format"
	it "loses one block, by asynchronous commands,$format" \
	    loses_one "3/11/0 info=100$format" engine=async
	it "loses one block, with 16 workers,$format" loses_one "3/11/0 info=100$format" thr=16
done
it "loses one block, reported as one beyond 2^32" loses_one '3/11/0 info=0xffffffffffffff descriptor'
it "loses one block, with the ILI bit" loses_one '3/11/0 info=100 ili'
it "loses one block, sense data cut off" loses_one '3/11/0 info=100 cut=14'
# A disk with an image that is unpacked by blocks: what is lost is one of them
unpacks_so()
{
	disks && head -c 3M /dev/urandom >image && xz -0kc --block-size=65536 image >src &&
	    truncate -s 4M src && exits 100 answering "on=src op=read at=5000+1 $1" "$pardd" if=src of=new bs=64K bpt=1 \
	    decode=xz coe=1 && cmp -n 2496K image new && cmp -n 64K -i 2496K:0 new /dev/zero && cmp -i 2560K image new
}
# Some disks abort what they cannot read, or know no such block, or do not answer.
for why in sense=b/47/0 status=0x40 sense=5/21/0 host=3 driver=6; do
	it "loses one block that cannot be read otherwise, $why" eval \
	    "disks && loses_so 100 'op=read at=100+1 $why' coe=1"
	it "loses it by asynchronous commands, $why" eval \
	    "disks && loses_so 100 'op=read at=100+1 $why' coe=1 engine=async"
	it "finds it in a rescue, $why" eval \
	    "disks && loses_so 100 'op=read at=100+1 $why' map=map &&
		[[ \$(\"\$tools/maps\" list map -) = 51200+512 ]]"
	it "loses nothing if that passes, $why" eval \
	    "all_there 'op=read at=100+1 times=14 $why' coe=1 thr=1 retries=20"
	given 'command -v xz' "no xz" it "loses one block of an image that is unpacked, $why" unpacks_so "$why"
done
# Is it the disk?  Nothing else of it can be read either.
for what in coe=1 map=map; do
	for why in 11=sense=b/47/0 22=sense=5/21/0 33=host=3; do
		[[ $what$why != map*host* ]] || continue
		it "stops when everything else fails too, ${why#*=} $what" eval \
		    "copies ${why%%=*} 'op=read from=20 ${why#*=}' $what thr=1 && none_bad"
		it "stops when nothing can be read at all, ${why#*=} $what" eval \
		    "copies ${why%%=*} 'op=read ${why#*=}' $what && none_bad"
	done
done
for why in 11=sense=b/47/0 22=sense=5/21/0 33=host=3; do
	for op in write same; do
		it "stops when it cannot be written, ${why#*=} $op" eval \
		    "zeros ${why%%=*} 'op=$op ${why#*=}' coe=1"
	done
done
it "stops at it without coe" eval 'copies 3 "op=read at=100+1 sense=3/11/0 info=100" thr=1 &&
    holds dst 0 0 51200 1 && holds dst 51200 51200 $((1048576 - 51200)) 9'
it "stops at sense data that are too short" eval \
    'copies 15 "op=read at=100+1 sense=3/11/0 cut=1" coe=1'
it "stops if there are no sense data" eval \
    'copies 15 "op=read at=100+1 status=2" coe=1 && says "no sense data"'
it "reads a block again, as often as retries= says" eval \
    'all_there "op=read at=100+1 sense=3/11/0 times=5" retries=5 thr=1'
it "stops at a block that cannot be written" eval \
    'copies 3 "op=write at=100+1 sense=3/c/0" coe=1 && says "Write error"'
it "writes it again, as often as retries= says" eval \
    'all_there "op=write at=100+1 sense=3/c/0 times=5" retries=5 thr=1'

rescue()
{
	copies 100 'op=read at=100+10 sense=3/11/0' map=map "$@" &&
	    [[ $("$tools/maps" list map -) = 51200+5120 ]] && holds dst 0 0 51200 1 &&
	    holds dst 56320 56320 $((1048576 - 56320)) 1
}
it "finds bad blocks in a rescue" rescue
it "finds them with 16 workers" rescue thr=16

# ------------------------------------------- good data, with something to say

for op in read write; do
	it "takes the data of a recovered error for good, $op" eval \
	    "all_there 'op=$op sense=1/17/1 times=7 done status=2' && says '7 recovered errors'"
	it "takes status 0 with sense data for success, $op" eval \
	    "all_there 'op=$op sense=0/0/0 times=7 done status=0'"
	it "retries if the sense data say nothing, $op" \
	    all_there "op=$op sense=0/0/0 status=2 times=5"
	it "... with asynchronous commands, $op" \
	    all_there "op=$op sense=0/0/0 status=2 times=5" engine=async
	it "gives up if they never say anything, $op" eval \
	    "copies 15 'op=$op at=100+1 sense=0/0/0 status=2' && says 'No Sense'"
	it "takes CONDITION MET for success, $op" all_there "op=$op status=4 done times=7"
	for n in 512 4096 16384; do
		it "finishes a command that left $n bytes, $op" \
		    all_there "op=$op resid=$n times=7"
		it "finishes it after a recovered error, $op $n" \
		    all_there "op=$op resid=$n sense=1/17/1 status=2 done times=7"
	done
	it "counts only whole blocks of it, $op" all_there "op=$op resid=700 times=7"
	it "believes no residual below 0, $op" all_there "op=$op resid=-512 times=7"
	it "believes no residual larger than the command, $op" \
	    all_there "op=$op resid=99999 times=7"
	it "finishes asynchronous commands, $op" all_there "op=$op resid=512 times=7" engine=async
	it "gives up when nothing is moved, $op" copies 15 "op=$op at=100+1 resid=16384" thr=1
done

# -------------------------------- errors of earlier commands (71h and 73h)

# The command that is told of it was not carried out.
for format in '' ' descriptor'; do
	it "repeats a read that reported an earlier error,$format" eval \
	    "all_there 'op=read nth=9 sense=1/17/1 deferred status=2$format'"
	it "... of a bad block,$format" eval \
	    "all_there 'on=src op=read len=1-32 nth=9 sense=3/c/0 deferred info=5$format' && some '^src read .* 2\$'"
	it "repeats a write that reported an earlier error as recovered,$format" \
	    all_there "op=write nth=9 sense=1/17/1 deferred status=2$format"
	it "stops when an earlier write has failed,$format" \
	    copies 3 "op=write nth=9 sense=3/c/0 deferred$format" retries=9
	it "... with asynchronous commands,$format" \
	    copies 3 "op=write nth=9 sense=3/c/0 deferred$format" retries=9 engine=async
	it "stops when a read of the target reports it,$format" \
	    copies 3 "on=dst op=read len=1-32 nth=9 sense=3/c/0 deferred$format" oflag=sparing
	it "starts when a command before the copy has failed,$format" \
	    all_there "op=ready,capacity sense=4/44/0 deferred times=2$format"
	it "does not call the copy flushed then,$format" \
	    copies 103 "op=sync sense=3/c/0 deferred times=1$format"
done

# ------------------------------------------------------------------ the flush

flush()
{
	copies 103 "op=sync $1" "${@:3}" && says "^pardd: NOT complete: dst: SYNCHRONIZE CACHE failed: .*$2"
}
it "reports a flush that fails for good" flush 'sense=3/c/0' 'Write error'
it "... by a hardware error" flush 'sense=4/44/0' '.'
it "... that is refused" flush 'sense=5/24/0' 'Invalid field'
it "... that is not answered" flush host=3 'no answer before the timeout'
it "... that did not arrive" flush host=7 'transport error'
it "... at a reservation" flush status=0x18 'eservation conflict'
it "... that the kernel refuses" flush errno=5 'Input/output error'
it "... after everything was verified" flush 'sense=3/c/0' . verify=1
it "retries a flush that then succeeds" eval \
    'all_there "op=sync sense=6/29/3 times=3" && some "^dst sync" 4'
it "... that was aborted" all_there 'op=sync sense=b/47/0 times=3'
it "... of which the sense data say nothing" all_there 'op=sync sense=0/0/0 status=2 times=3'
it "reports an earlier error that is never explained" \
    copies 15 'on=src op=read at=100+1 sense=0/0/0 deferred status=2'
it "reports an earlier recovered error that does not pass" \
    copies 15 'on=src op=read at=100+1 sense=1/17/1 deferred status=2'
it "reports a flush that is never explained" flush 'sense=0/0/0 status=2' 'No Sense'
it "takes a recovered flush for success" all_there 'op=sync sense=1/c/0 status=2'
it "takes a disk that does not know the command for flushed" eval \
    'all_there "op=sync sense=5/20/0" && [[ $(tail -n 1 err) = "pardd: complete, flushed" ]]'
it "does not flush if told not to" eval 'all_there "op=sync sense=3/c/0" sync=0 && none " sync "'
