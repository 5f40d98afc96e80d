#!/usr/bin/env bash
# The disk is the one that was meant: iserial=, oserial=, --ask.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/safety.sh"

# -------------------------------------------------------------- which disk

by_id()
{
	[[ -d /dev/disk/by-id ]] || {
		undo rmdir /dev/disk/by-id /dev/disk
		mkdir -p /dev/disk/by-id
	}
	ln -s "$2" "/dev/disk/by-id/$1" && undo rm -f "/dev/disk/by-id/$1"
}
serial()
{
	local id=pardd-test-$$ name
	disk && by_id "$id" "$d" && by_id "$id-part1" "$p1" && snapshot || return
	for name in wrong "$id-part1" "$id-part2" "$id " "/dev/disk/by-id/$id" "../by-id/$id" 0x naa. eui. . ..; do
		refused "not the disk that oserial=" if=src of="$d" oserial="$name" &&
		    refused "not the disk that iserial=" if="$d" of=copy iserial="$name" || return
	done
	refused 'oserial= asks for one' if=src of=other oserial="$id" &&
	    refused 'iserial= asks for one' if=src of="$d" iserial="$id" &&
	    refused 'oserial=' if=src of=- oserial="$id" &&
	    refused "not the disk" if=src of="$p2" oserial="$id-part1" &&
	    as_it_was && [[ ! -e copy && ! -e other ]] || return
	exits 0 "$pardd" if="$d" of=copy count=8 iserial="$id" &&
	    exits 0 "$pardd" if=src of="$p1" oserial="$id-part1" &&
	    exits 0 "$pardd" if=src of="$p1" oserial="$id" -d && snapshot && taken 0 of="$d" oserial="$id"
}
it "takes only the disk that iserial= and oserial= ask for" serial
named()
{
	local id=pardd-test-$$
	disk && by_id "$id" "$d" && exits 0 "$pardd" -dv if=src of="$d" && grep -qx "target_by_id=$id" out &&
	    exits 0 "$pardd" -dv if="$p2" of=copy && grep -qx "source_disk=${d##*/}" out && ! grep _by_id out
}
it "names a disk in the plan as /dev/disk/by-id does, if that has it" named
serial_first()
{
	disk && mounted "$p1" && snapshot && refused 'not the disk' if=src of="$p1" oserial=x \
		force=mounted,swap,held,looped,overlap && as_it_was
}
it "has no override for oserial=" serial_first

# --------------------------------------------------------------------- --ask

# asks ANSWER OPERANDS...: at a terminal; what it shows is in the file screen
asks()
{
	local answer=$1
	shift
	printf %b "$answer" | script -qefc "$(printf '%q ' "$pardd" if=src --ask "$@") 2>err" screen >/dev/null
	status=$? && : >out
	grep -aq "Overwrite $d, 8\.4 MB? yes/no: " screen && grep -aq "^Target  $d" screen && grep -aq '^How ' screen
}
yes_sir()
{
	disk && snapshot && asks 'yes\n' of="$d" && [[ $status = 0 ]] && complete && holds "$d" 0 0 64k 1
}
it "--ask writes after yes" yes_sir
no_sir()
{
	disk && snapshot || return
	local answer
	for answer in 'no\n' '\n' 'y\n' 'YES\n' 'yes please\n' 'yesyesyesyesyesyesyes\n' '\4' ''; do
		asks "$answer" of="$d" && [[ $status = 101 ]] && one_line 'not yes' &&
		    as_it_was || fail "after '$answer'" || return
	done
}
it "--ask refuses after anything else" no_sir
nobody()
{
	disk && snapshot && exits 101 setsid -w "$pardd" if=src of="$d" --ask && one_line 'no terminal' && as_it_was
}
it "--ask refuses without a terminal" nobody
ask_refused()
{
	disk && mounted "$p1" && snapshot || return
	! asks 'yes\n' of="$d" && [[ $status = 101 ]] && one_line mounted && as_it_was
}
it "--ask does not ask about what is refused anyway" ask_refused

ask_wrong_map()
{
	disk && snapshot && echo 'no map' >m || return
	! asks 'yes\n' of="$d" map=m && [[ $status != 0 ]] && one_line ' m' && ! grep -aq 'yes/no' screen && as_it_was
}
it "--ask does not ask about a map that cannot be used" ask_wrong_map

# The medium has been exchanged since the question.
exchanged()
{
	disk && snapshot && exits 101 with_faults "on=$d op=medium from=2 fail=EIO" "$pardd" if=src of="$d" &&
	    faulty medium && one_line 'the medium was changed since it was looked at' && as_it_was
}
it "refuses a target whose medium was changed since it was looked at" exchanged

# prompt OPERANDS..., then answer: at the prompt everything has been decided.
prompt()
{
	mkfifo keys || return
	script -qefc "$(printf '%q ' "$tools/ends" how "$pardd" if=src --ask "$@") 2>err" screen <keys >/dev/null &
	asking=$!
	exec 6>keys
	until_true 20 grep -aqs 'yes/no: ' screen
}
answer()
{
	echo "$1" >&6
	wait "$asking"
	status=$?
	exec 6>&-
	[[ $status = 0 ]] || fail "status $status: $(<err)"
}
held_at_prompt()
{
	disk && snapshot && prompt of="$d" || return
	! can_mount "$p1" && ! "$hold" excl "$p2" true 2>/dev/null && as_it_was && answer yes && holds "$d" 0 0 64k 1
}
it "holds the target while it asks" held_at_prompt
shifted_at_prompt()
{
	"$blocks" make src 64k 1 && "$blocks" make disk.img 2M 9 && cp disk.img before && loop disk.img --sizelimit 1M &&
	    d=$dev && prompt of="$d" && shift_to "$d" 1048576 1048576 || return
	echo yes >&6
	wait "$asking"
	status=$?
	exec 6>&-
	[[ $status = 101 ]] && says 'begins at another byte of what lies below it' && cmp disk.img before
}
given 'perl -e 1' "no perl" \
    it "refuses a loop device that was made to begin elsewhere while it asked" shifted_at_prompt
# Data that an earlier run copied are not called lost.
ask_again()
{
	disk && exits 0 "$pardd" if=src of="$d" map=m count=20 || return
	prompt of="$d" map=m && answer yes && complete || return
	grep -aq "Continue writing to $d, 8\.4 MB? yes/no: " screen && grep -aq '^Map  .* finished' screen &&
	    ! grep -aq 'WILL BE LOST' screen
}
it "--ask says what a map has already" ask_again
# The target file has got more data since it was looked at, where the source has a hole.
grown_at_prompt()
{
	"$blocks" make src 64k && truncate -s 4M src && "$blocks" make old 3M 9 && : >dst &&
	    prompt of=dst "$@" && cat old >dst && answer yes && complete && same src dst
}
it "makes holes also in what came into a file while it asked" grown_at_prompt
it "... into one of several" grown_at_prompt of=dst2
# ... or less than a map calls finished.
cut_at_prompt()
{
	"$blocks" make src 1M && cp src dst && printf '0 ? 1\n0 0xf0000 +\n0xf0000 0x10000 ?\n' >map &&
	    cp map old.map && prompt of=dst map=map && truncate -s 512k dst || return
	! answer yes >/dev/null && [[ $status = 101 ]] && : >out && one_line 'dst ends at byte 524288' &&
	    same map old.map && size_is dst 524288
}
it "refuses a map when the target was cut off while it asked" cut_at_prompt
# The manifest of the target was true before the question, and is not any more.
kept_at_prompt()
{
	"$blocks" make src 4M && cp src dst && exits 0 "$pardd" if=src of=. manifest=m &&
	    printf x | dd of=src bs=1 seek=$((4194304 - 1)) conv=notrunc status=none &&
	    prompt of=dst base=m && truncate -s 3M dst || return
	! answer yes >/dev/null && [[ $status = 15 ]] || fail "status $status" || return
	says 'NOT complete: .*was truncated at byte 3145728'
}
it "says so when a target that base= is about was cut off while it asked" kept_at_prompt
# What is written, and where to, is in the question.
other_questions()
{
	disk && cp src copy && snapshot || return
	prompt of=copy compare=1 && answer yes && grep -aq '^Begin? yes/no: ' screen || return
	rm keys && prompt of="$d" of=new && answer yes && complete && same src new &&
	    grep -aq '^Write to all 2 targets? yes/no: ' screen || return
	rm keys && prompt of=newer && answer yes && same src newer && grep -aq '^Create newer? yes/no: ' screen
}
it "--ask asks for what it will do" other_questions
# -------------------------------------------------- what looks like a slip

# at_terminal ANSWER OPERANDS...: with standard error there; whether it asked
at_terminal()
{
	local answer=$1
	shift
	printf %b "$answer" | script -qefc "$(printf '%q ' "$pardd" "$@")" screen >/dev/null
	status=$? && : >out && cp screen err
	grep -aq 'yes/no: ' screen
}
# slip SAYS OPERANDS...: at a terminal it waits for yes; elsewhere it prints a note
slip()
{
	local said=$1
	shift
	snapshot && at_terminal 'no\n' "$@" && [[ $status = 101 ]] && as_it_was &&
	    tr -s '\r\n ' ' ' <screen >flat && grep -aq "Note $said" flat && grep -aq 'force=odd does not ask' flat &&
	    ! at_terminal '' "$@" force=odd && [[ $status = 0 ]] && ! grep -aq "note: $said" screen &&
	    restore && exits 0 "$pardd" "$@" && says "^pardd: note: $said" &&
	    restore && exits 0 "$pardd" "$@" force=odd && does_not_say "^pardd: note: $said" &&
	    restore && at_terminal 'yes\n' "$@" && [[ $status = 0 ]] && restore
}
tabled()
{
	disk && printf '%s\n' 'label: dos' 2048,4096 7168,4096 | sfdisk -q --no-reread --no-tell-kernel "$d"
}
slips()
{
	tabled && mke2fs -q -F -O ^has_journal -t ext4 "$p1" 512k && dd if="$d" of=whole status=none || return
	restore()
	{
		dd if=whole of="$d" conv=notrunc status=none
	}
	truncate -s 1M blank && dd if="$p1" of=fs bs=512k count=1 status=none || return
	slip "blank begins with zeros, and $d holds data" if=blank of="$d" &&
	    slip "fs is one file system .ext4., and $d has partitions" if=fs of="$d" &&
	    slip "the range of fs cuts the ext4; shrink it first .resize2fs." if=fs of="$p1" count=8 &&
	    slip "the range of fs cuts the ext4" if=fs of="$p1" skip=8
}
it "waits for yes where it looks like a slip, at a terminal" slips
slip_range()
{
	local said
	tabled && said="on the target it begins 512 bytes into partition 1" &&
	    at_terminal 'no\n' if=src of="$d" seek=2049 && [[ $status = 101 ]] && tr -s '\r\n ' ' ' <screen >flat &&
	    grep -aq "$said" flat && ! at_terminal '' if=src of="$d" seek=2049 force=odd && [[ $status = 0 ]] &&
	    ! at_terminal '' if="$d" of=piece skip=2049 count=4 && [[ $status = 0 ]]
}
it "... about a range that cuts a partition, but not where nothing can be lost" slip_range
usual()
{
	disk && ! at_terminal '' if=src of="$d" && [[ $status = 0 ]] &&
	    ! at_terminal '' if=/dev/zero of="$d" && [[ $status = 0 ]] &&
	    disk && ! at_terminal '' if=src of="$p1" && [[ $status = 0 ]]
}
it "does not ask about what is usual" usual
lost_once()
{
	tabled && exits 0 "$pardd" if=src of="$d" map=m && says "this overwrites dos on $d" &&
	    exits 0 "$pardd" if=src of="$d" map=m && does_not_say 'this overwrites'
}
it "does not say that a finished map overwrites anything" lost_once
break_off()
{
	disk && snapshot && prompt of="$d" || return
	printf '\3' >&6
	wait "$asking"
	exec 6>&-
	ended signal 2 && as_it_was
}
it "ends by the interrupt key while it asks" break_off
other_link()
{
	disk && snapshot && "$blocks" make other.img 1M 7 && loop other.img &&
	    ln -s "$d" target && prompt of=target || return
	ln -sfn "$dev" target
	answer yes && holds disk.img 0 0 64k 1 && holds other.img 0 0 1M 7
}
it "writes what the name led to, whatever it leads to later" other_link
other_medium()
{
	"$blocks" make src 64k 1 && "$blocks" make disk.img 1M 9 &&
	    "$blocks" make other.img 1M 7 && loop disk.img && d=$dev && prompt of="$d" || return
	losetup -d "$d"
	! losetup "$d" other.img 2>/dev/null || fail "the device was changed" || return
	answer yes && holds disk.img 0 0 64k 1 && holds other.img 0 0 1M 7
}
it "writes the medium it looked at, though it was detached meanwhile" other_medium
