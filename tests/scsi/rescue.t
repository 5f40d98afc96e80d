# shellcheck shell=bash disable=SC2015,SC2119
# Rescue: bad blocks by sense data, a source that goes away and comes back, and
# commands that are never answered.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks

maps=/job/build/tools/maps
kind=
size=$((blocks_all * 512))
head -c $size /dev/zero | tr '\0' '\245' >/tmp/old

# is STATUS BLOCKS: so the map says; FIRST+COUNT,... in blocks
is()
{
	local got
	got=$("$maps" list map "$1" | tr ',' '\n' |
	    awk -F+ 'NF == 2 { printf "%s%d+%d", n++ ? "," : "", $1 / 512, $2 / 512 }')
	[[ $got = "$2" ]] || fail "$1 in the map: $got, not $2"
}
# honest [FILE]: + in the map is right on the target, all else is untouched
honest()
{
	no_faults
	[[ -n ${1-} ]] || dd if="$SD2" of=image bs=1M iflag=direct status=none
	"$maps" check map "$source" "${1:-image}" "${2:-/tmp/old}" 0 0 $size
}
rescue()
{
	exits "$1" "$pardd" bs=512 bpt=128 map=map "${@:2}"
}

# ------------------------------------------------------------- bad by sense

# finds FIRST COUNT OPERANDS...
finds()
{
	local bad=$1+$2
	fresh
	bad "$1" "$2"
	rescue 100 "${@:3}" && went_wrong 'CHECK_CONDITION' && only_read && is - "$bad" &&
	    is '?*/' '' && honest || return
	rescue 0 "${@:3}" retries=1 && lands "0-16383 right"
}
for n in ${LONG:+1} 16; do
	it "finds bad blocks, right Info, thr=$n" finds 4660 10 if="$SG1" of="$SG2" thr="$n"
	it "finds bad blocks, wrong Info, thr=$n" finds 10007 30 if="$SG1" of="$SG2" thr="$n"
done
it "finds bad blocks at the start, Info of another block" finds 0 3 if="$SG1" of="$SG2"
long "finds bad blocks at the end" finds 16380 4 if="$SG1" of="$SG2"
long "finds bad blocks over three transfers" finds 5100 200 if="$SG1" of="$SG2"
it "finds bad blocks, bsg" finds 4660 10 if="$BSG1" of="$BSG2"
long "finds bad blocks, sgio" finds 4660 10 if="$SD1" of="$SD2" iflag=sgio oflag=sgio
it "finds bad blocks, sd" finds 4660 10 if="$SD1" of="$SD2"

# How many reads of one block a bad block takes, at the same place of its transfer:
# elsewhere as many are larger or smaller as its place on the disk wants.
reads_for()
{
	fresh
	bad "$1" 1
	rm -f map
	rescue 100 if="$SG1" of=/tmp/image thr=1 && is - "$1+1" || return
	n=$(sent "$HCTL1" '28 00 .. .. .. .. 00 00 01' | grep -c .)
}
fewer()
{
	local n right
	reads_for 4660 && right=$n && reads_for 10036 || return
	((right < n - 10)) || fail "$right reads with the right Info, $n without"
}
it "needs fewer reads where Info is right" fewer

# The background job has ended.
over()
{
	wait $!
	return 0
}

# ------------------------------------------------------------------- it goes

# goes STATUS SLOW OPERANDS...: deleted in mid copy
goes()
{
	fresh
	slow "$2"
	midway delete "$HCTL1"
	within 20 rescue "$1" "${@:3}"
}
ends_at_once()
{
	goes 69 16 "$@" && [[ ! -e /sys/class/scsi_device/$HCTL1 ]] && is '-*/' '' && honest &&
	    [[ -n $("$maps" list map '?') && -n $("$maps" list map +) ]] && cp map "/tmp/$kind"
}
goes_on()
{
	cp "/tmp/$kind" map && landed fill "$SD2" || return
	"$maps" list map + | tr ',' '\n' |
	while IFS=+ read -r at len; do
		dd if="$source" of="$SD2" bs=512 skip=$((at / 512)) seek=$((at / 512)) \
		    count=$((len / 512)) conv=notrunc oflag=direct status=none
	done
	rescue 0 "$@" && lands "0-16383 right" && is + "0+$blocks_all"
}
kind=sg it "ends at once when the sg source vanishes" ends_at_once if="$SG1" of="$SG2" thr=16
back 2
kind=sg it "... and goes on when it is back" goes_on if="$SG1" of="$SG2" thr=16
kind=sd it "ends at once when the sd source vanishes" ends_at_once if="$SD1" of="$SD2" thr=4
back 2
kind=sd it "... and goes on when it is back" goes_on if="$SD1" of="$SD2" thr=4
kind=bsg long "ends at once when the bsg source goes" ends_at_once if="$BSG1" of="$BSG2"
back 2

# ----------------------------------------------------------- and comes back

# scan_later SECONDS
returns()
{
	delete "$HCTL1"
	sleep "$1"
	for host in /sys/class/scsi_host/host*; do
		echo '- - -' >"$host/scan"
	done
}
# waits OPERANDS...: gone for two seconds
waits()
{
	fresh
	slow 16
	midway returns 2
	within 28 rescue 0 wait=20 json=json "$@" || return
	lands "0-16383 right" && complete && only_read && says 'has gone|No such device' &&
	    says 'waiting up to 20 seconds' && says 'it is back as /dev/' &&
	    [[ $(grep -c '"event":"\(gone\|back\)"' json) = 2 ]] && is + "0+$blocks_all" || return
	! grep -q "it is back as ${1#if=}," err || fail "by the same name: $(<err)"
}
it "waits for the sg source, which comes back under another name" waits if="$SG1" of="$SG2"
back 2
long "waits for the sd source, which has another name then" waits if="$SD1" of="$SD2" thr=16
back 2
bad_too()
{
	fresh
	slow 4
	bad 10007 30
	midway returns 1
	within 20 rescue 100 wait=20 "$@" && says 'it is back as' && is - 10007+30 &&
	    is '?*/' '' && honest
}
it "waits, and finds the bad blocks" bad_too if="$SG1" of="$SG2"
back 2
a_partition()
{
	fresh
	echo 'start=2048,size=8192' | sfdisk -q "$SD1" >said 2>&1 &&
	    wait_for 5 test -b "${SD1}1" || { cat said; return 1; }
	dd if="${SD1}1" of=want bs=1M iflag=direct status=none
	slow 8
	midway returns 1
	within 28 rescue 0 wait=20 if="${SD1}1" of="$SD2" || return
	no_faults
	says 'it is back as /dev/sd.1,' && dd if="$SD2" of=got bs=1M count=4 iflag=direct \
	    status=none && same got want
}
if able 'type -P sfdisk' "no sfdisk"; then
	it "waits for a partition of it" a_partition
	back 2
	sfdisk -q --delete "$SD1" >/dev/null 2>&1
	prepare_source "$SD1"
fi
in_vain()
{
	goes 69 16 wait=2 if="$SD1" of="$SD2" && says 'did not come back within wait=2' &&
	    is '-*/' '' && honest
}
it "waits in vain, and ends" in_vain
back 2
# Another disk, another serial number.
other_comes()
{
	delete "$HCTL1"
	knob add_host 1
}
not_another()
{
	fresh
	slow 16
	midway other_comes
	within 20 rescue 69 wait=4 if="$SD1" of="$SD2" && count_is Linux 2 &&
	    says 'did not come back' && is '-*/' '' && honest
}
it "does not take another disk for it" not_another
knob add_host -1
back 2
interrupted()
{
	local pid
	fresh
	slow 16
	midway delete "$HCTL1"
	"$tools/ends" how "$pardd" bs=512 bpt=64 map=map wait=60 if="$SG1" of="$SG2" 2>err &
	until_true 20 grep -q 'waiting up to' err || return
	read -r _ pid <how
	kill -INT "$pid"
	within 3 over && ended signal 2 && is '-*/' '' && honest
}
it "is interrupted while it waits" interrupted
back 2

# --------------------------------------------------------------- no answer

# What is not answered counts as a read that failed, and is read again.  The
# driver misses its turn where another command is counted just then, so it has
# two.
no_answer()
{
	fresh
	every 60 4
	: >image
	within 28 rescue 0 timeout=1 retries=5 if="$SG1" of=image thr="$1" && went_wrong . || return
	grep -q cmd_timeout "$trace/trace" ||
	    fail "none timed out: $(grep -o 'cmd_[a-z]*:' "$trace/trace" | sort | uniq -c)" || return
	is + "0+$blocks_all" && same image "$source"
}
it "reads again what was not answered" no_answer 4
saved()
{
	[[ -n $("$maps" list map +) ]]
}
# A signal is answered while a command hangs: the map is there.
hangs()
{
	local pid
	fresh
	every 30 4
	: >image
	"$tools/ends" how "$pardd" bs=512 bpt=64 map=map timeout=6 if="$SG1" of=image thr="$1" \
	    2>err &
	until_true 10 test -s image && sleep 2 || return
	! saved || fail "saved too early for the case" || return
	read -r _ pid <how
	kill -INT "$pid"
	until_true 2 saved && heard || return
	kill -INT "$pid"
	until_true 2 grep -q 'quit at a second SIGINT' err && within 20 over &&
	    ended signal 2 && is '-*/' '' && : >/tmp/none && honest image /tmp/none
}
it "saves the map at SIGINT while a command hangs" hangs 4
it "has left the source as it was" unharmed

# ------------------------------------------------------------------- a view

# Files of a dying disk, mounted from its view: each as it was, or an error.
looks_into()
{
	local i equal=0 failed=0
	fresh
	mkdir at && "${@:2}" "$SD1" >made 2>&1 && mount -t "$1" "$SD1" at || fail "$(<made)" || return
	for i in {0..19}; do
		"$blocks" make at/"$i" 200k "$i" || return
	done
	umount at && dd if="$SD1" of=now bs=1M iflag=direct status=none && bad 5000 300
	undo umount -l "$PWD/v"
	"$tools/ends" how "$pardd" bs=512 if="$SG1" of="$SD2" map=map view=v rescue=ondemand 2>err &
	until_true 60 test -s v || fail "$(cat err how; ls -l v 2>&1)" || return
	dev=$(losetup -f --show -r v) && undo losetup -d "$dev" && undo umount -l "$PWD/at" && mount -r -t "$1" "$dev" at || return
	for i in {0..19}; do
		if "$blocks" check at/"$i" 0 0 200k "$i" >said 2>&1; then
			equal=$((equal + 1))
		else
			grep -q 'Input/output' said && failed=$((failed + 1)) || fail "$i: $(<said)" || return
		fi
	done
	((equal > 9 && failed > 0)) || fail "$equal equal, $failed not" || return
	umount at && losetup -d "$dev" && until_true 10 umount v && until_true 20 grep -q '^exit 100' how && no_faults &&
	    dd if="$SD2" of=image bs=1M iflag=direct status=none && "$maps" check map now image /tmp/old 0 0 $size
}
if able "modprobe -a fuse loop && '$pardd' -d if='$source' of=/tmp/to map=/tmp/map view=/tmp/v" "no FUSE, or no libfuse3"; then
	given 'modprobe -a vfat nls_cp437 nls_ascii && type -P mkfs.fat' "no FAT" \
	    it "shows what of a FAT can be read, mounted from the view" looks_into vfat mkfs.fat
	given 'modprobe ntfs3 && type -P mkntfs' "no NTFS" \
	    it "... of an NTFS" looks_into ntfs3 mkntfs -F -q -s 512
	prepare_source "$SD1"
fi

# Two disks that are called the same: by serial number alone it might be either.
alike()
{
	fresh
	refused 'another disk has the serial number' if="$SD1" of=image map=map wait=5 &&
	    [[ ! -e image ]] && rescue 0 if="$SD1" of=image && same image "$source"
}
two_disks vpd_use_hostno=0
it "refuses to wait for a disk if another one has the same name" alike
