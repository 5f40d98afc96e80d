#!/usr/bin/env bash
# What is refused before a byte is written, and how each refusal is overridden.  For what
# cannot be looked up, ends that overlap, claims and the question see blind.t, overlap.t,
# claim.t and ask.t.  Needs root.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/safety.sh"
erofs=$tools/erofs

[[ " ${kinds[*]} " = *" swap "* ]] || skip "no swap" "refuses swap space"

refuses()
{
	disk && "$1" "$p1" && snapshot || return
	case $2 in
	disk)	turned_away of="$d" ;;
	part)	turned_away of="$p1" ;;
	inside)	turned_away of="$d" bs=512 seek=6143 count=1 ;;
	across)	turned_away of="$d" bs=512 seek=2000 count=49 ;;
	head)	turned_away of="$d" bs=512 seek=33 count=1 ;;
	tail)	turned_away of="$d" bs=512 seek=16351 count=1 ;;
	esac
}
allows()
{
	disk && "$1" "$p1" && snapshot || return
	case $2 in
	part)	taken 3670016 of="$p2" ;;
	inside)	taken 3670016 of="$d" bs=512 seek=7168 ;;
	gap)	taken 3145728 of="$d" bs=512 seek=6144 ;;
	front)	taken 17408 of="$d" bs=512 seek=34 ;;
	end)	taken 8306176 of="$d" bs=512 seek=$((16351 - 128)) ;;
	esac
}
declare -A place=([disk]="onto the disk" [part]="onto that partition"
    [inside]="into its last sector" [across]="onto its first sector"
    [head]="onto the last sector of the GPT" [tail]="onto the first of its copy")
declare -A free=([part]="onto another partition" [inside]="into that, by the disk"
    [gap]="into the gap behind it" [front]="behind the GPT" [end]="before its copy")
# Each use at each place; where the program is slow, one use at each place, and
# each use at one.
everywhere()
{
	((weight == 1)) || [[ $1 = mounted ]]
}
for kind in "${kinds[@]}"; do
	for where in disk part inside across head tail; do
		[[ $where = part ]] || everywhere "$kind" || continue
		it "$kind partition: refuses to copy ${place[$where]}" refuses "$kind" $where
	done
	for where in part inside gap front end; do
		[[ $where = inside ]] || everywhere "$kind" || continue
		it "$kind partition: copies ${free[$where]}" allows "$kind" $where
	done
done
# The kernel lets nobody write to a swapping node itself: ETXTBSY.
overridden()
{
	if [[ $name = swap ]]; then
		exits 76 "$pardd" if=src "${@:2}" && as_it_was
	else
		taken "$@"
	fi
}
override_part()
{
	disk && "$1" "$p1" && snapshot && overridden 1048576 of="$p1" force="$name"
}
override_disk()
{
	disk && "$1" "$p1" && snapshot && taken 1048576 of="$d" bs=512 seek=2048 force="$name"
}
override_head()
{
	disk && "$1" "$p1" && snapshot && taken 0 of="$d" force="$name"
}
for kind in "${kinds[@]}"; do
	it "$kind partition: is written by its override" override_part "$kind"
	everywhere "$kind" || continue
	it "$kind partition: is written through the disk" override_disk "$kind"
	it "$kind partition: the disk's head is written" override_head "$kind"
done

# ------------------------------------------------------- the disk as a whole

whole()
{
	disk && "$1" "$d" && snapshot && turned_away of="$d" && turned_away of="$d" bs=512 seek=7168 &&
	    turned_away of="$p1"
}
it "disk under a loop device: refuses it and its partitions" whole looped
it "disk under a loop device: refuses its gaps" eval \
    'disk && looped "$d" && snapshot && turned_away of="$d" bs=512 seek=6144 count=8'
it "disk that is held: refuses it and its partitions" whole held
no_parts()
{
	"$blocks" make disk.img 8M 9 && "$blocks" make src 64k 1 &&
	    loop disk.img && d=$dev p1=none && "$1" "$d" && snapshot &&
	    turned_away of="$d" && turned_away of="$d" bs=512 seek=8192 && overridden 0 of="$d" force="$name"
}
for kind in "${kinds[@]}"; do
	everywhere "$kind" || continue
	it "$kind disk without partitions: refused, and overridden" no_parts "$kind"
done
just_open()
{
	disk && snapshot || return
	"$hold" open "$d" sh -c ': >there && exec sleep 1000' &
	until_true 20 test -e there && taken 0 of="$d"
}
it "copies onto a disk that is merely open elsewhere" just_open

# ----------------------------------------------------------- several at once

two_uses()
{
	disk && mounted "$p1" && looped "$p1" && snapshot && refused 'mounted.*force=mounted' if=src of="$p1" &&
	    refused 'loop.*force=looped' if=src of="$p1" force=mounted &&
	    refused 'mounted.*force=mounted' if=src of="$p1" force=looped &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    as_it_was && taken 1048576 of="$p1" force=mounted,looped
}
it "asks for an override for each of two uses" two_uses
held_too()
{
	disk && looped "$p1" && held "$p1" && snapshot && refused 'loop.*force=looped' if=src of="$p1" force=held &&
	    refused 'in use.*force=held' if=src of="$p1" force=looped &&
	    as_it_was && taken 1048576 of="$p1" force=held,looped
}
it "does not take a loop device on top for the reason of a failed claim" held_too
two_parts()
{
	disk && mounted "$p1" && looped "$p2" && snapshot && refused 'p1 is mounted.*force=mounted' if=src of="$d" &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    refused 'p1 is mounted.*force=mounted' if=src of="$d" force=looped &&
	    as_it_was && taken 0 of="$d" force=mounted force=looped
}
it "asks for an override for each of two partitions" two_parts
disk_and_part()
{
	disk && mounted "$p1" && looped "$d" && snapshot &&
	    refused 'loop.*force=looped' if=src of="$d" force=mounted &&
	    refused 'p1 is mounted.*force=mounted' if=src of="$d" force=looped &&
	    as_it_was && taken 0 of="$d" force=mounted,looped
}
it "asks for an override for disk and partition" disk_and_part
it "refuses a partition whose mount point is mounted over" eval \
    'disk && mounted "$p1" && snapshot && mount -t tmpfs none m && undo umount "$PWD/m" && turned_away of="$p1"'
bound()
{
	disk && mounted "$p1" && mkdir m/sub other && mount --bind m/sub other &&
	    undo umount "$PWD/other" && umount m && snapshot || return
	by="is mounted on $PWD/other;"
	turned_away of="$p1"
}
it "refuses a partition that only a bind mount is left of" bound
other_node()
{
	disk && mke2fs -q -F -t ext2 "$p1" && mkdir m &&
	    mknod node b $((16#$(stat -c %t "$p1"))) $((16#$(stat -c %T "$p1"))) &&
	    mount node m && undo umount "$PWD/m" && snapshot || return
	name=mounted by="p1 is mounted on $PWD/m;"
	turned_away of="$p1" && turned_away of=node && turned_away of="$d"
}
it "refuses a partition that is mounted by another node of it" other_node
it "refuses what only the padding of conv=sync would reach" eval \
    'disk && mounted "$p2" && printf x >src && snapshot && turned_away of="$d" bs=1M seek=3 conv=sync'
it "copies nothing onto a mounted partition with count=0" eval \
    'disk && mounted "$p1" && snapshot && exits 0 "$pardd" if=src of="$p1" count=0 && as_it_was'
# The kernel shows an extended partition as its first record, and logical ones:
# sectors 12288 and 12289; 14336 to 15359; 15872 to 16127.
records()
{
	disk && mounted "$p1" && "$part" add "$d" 3 12288 2 &&
	    undo "$part" del "$d" 3 && "$part" add "$d" 5 14336 1024 &&
	    undo "$part" del "$d" 5 && "$part" add "$d" 6 15872 256 &&
	    undo "$part" del "$d" 6 && until_true 20 test -b "${d}p6" && snapshot || return
	local at
	for at in 12288 12300 14335 15360 15871; do
		turned_away of="$d" bs=512 seek=$at count=1 || fail "at $at" || return
	done
	turned_away of="${d}p3" count=1 && turned_away of="$d" bs=512 seek=15300 count=61 &&
	    taken 7340032 of="${d}p5" && taken 7340032 of="$d" bs=512 seek=14336 &&
	    taken 6225920 of="$d" bs=512 seek=12160 && taken 8257536 of="$d" bs=512 seek=16128 count=128
}
it "takes extended boot records for the partition table" records
# The records are at sectors 24576 and 38912.
between_records()
{
	local at
	truncate -s 64M disk.img && "$blocks" make src 64k 1 && sfdisk -q disk.img >said 2>&1 <<-END && loop disk.img || return
		label: dos
		1: start=2048, size=20000
		2: start=24576, size=100000, type=5
		5: start=26624, size=4096
		6: start=40960, size=4096
	END
	d=$dev
	clear_parts "$d"
	undo clear_parts "$d"
	"$part" add "$d" 2 24576 2 && "$part" add "$d" 5 26624 4096 &&
	    "$part" add "$d" 6 40960 4096 && until_true 20 test -b "${d}p6" && mounted "${d}p5" && refused 'p5 is mounted' if=src of="$d" &&
	    exits 0 "$pardd" if=src of="$d" seek=40000 && sync && cmp -n 65536 -i 0:20480000 src disk.img || return
	for at in 24576 38912; do
		refused 'p5 is mounted' if=src of="$d" seek=$at && refused 'p5 is mounted' if=src of="$d" seek=$((at - 127)) &&
		    exits 0 "$pardd" if=src of="$d" seek=$((at - 128)) && exits 0 "$pardd" if=src of="$d" seek=$((at + 1)) || return
	done
	sfdisk -q --delete --no-reread --no-tell-kernel disk.img 6 && refused 'p5 is mounted' if=src of="$d" seek=40000
}
given 'command -v sfdisk' "no sfdisk" it "... but only these, where they are on the disk" between_records
by_stdout()
{
	disk && mounted "$p1" && snapshot || return
	"$pardd" if=src 1<>"$p1" 2>err
	status=$? && : >out
	[[ $status = 101 ]] && one_line 'mounted.*force=mounted' && as_it_was
}
it "refuses a mounted partition that is its stdout" by_stdout

# ------------------------------------------------------------------- files

backing()
{
	disk && snapshot && name=looped by="the loop device ${d#/dev/} lies on the file" &&
	    turned_away of=disk.img && ln disk.img hard && turned_away of=hard &&
	    ln -s disk.img soft && turned_away of=soft &&
	    turned_away of=disk.img seek=100000 && taken 0 of=disk.img force=looped
}
it "refuses a file that a loop device lies on, under any name" backing
# Its name leads to another file, below a mount that came later.
backing_hidden()
{
	"$blocks" make src 64k && mkdir one keep && truncate -s 1M one/file zeros &&
	    loop one/file && mount --bind one keep && undo umount "$PWD/keep" &&
	    mount -t tmpfs none one && undo umount "$PWD/one" && cp zeros one/file || return
	exits 101 "$pardd" if=src of=keep/file &&
	    one_line "the loop device ${dev#/dev/} lies on the file.*force=looped" &&
	    cmp zeros keep/file && exits 0 "$pardd" if=src of=one/file && complete
}
it "refuses a file that a loop device lies on, whose name is another's" backing_hidden
no_tables()
{
	disk && snapshot && exits 101 unshare -m sh -c 'mount -t proc -o subset=pid none /proc &&
	    [ ! -e /proc/partitions ] && "$0" if=src of=disk.img' "$pardd" &&
	    one_line 'loop.*force=looped' && as_it_was
}
given 'unshare -m sh -c "mount -t proc -o subset=pid none /proc && [ ! -e /proc/partitions ]"' \
    "no /proc of processes only" it "refuses it where /proc has no tables" no_tables
backing_cut()
{
	disk && snapshot && refused 'loop.*force=looped' if=src of=disk.img count=0 oflag=trunc &&
	    : >none && refused 'loop.*force=looped' if=none of=disk.img oflag=trunc && as_it_was
}
it "does not cut off a file that a loop device lies on" backing_cut
# The first page is the header, and behind it the kernel may swap.
swap_file()
{
	local file=$1
	"$blocks" make src 64k 1 && dd if=/dev/zero of="$file" bs=1M count=1 status=none &&
	    chmod 600 "$file" && mkswap -q "$file" && cp "$file" before &&
	    swapon "$file" && undo swapoff "$PWD/$file" || return
	refused 'the file is swap space in use.*force=swap writes anyway\)$' \
	    if=src of="$file" && cmp -n 4096 before "$file" &&
	    refused 'force=swap' if=src of="$file" force="$(other_words swap)" && cmp -n 4096 before "$file" || return
	exits 76 "$pardd" if=src of="$file" force=swap && cmp -n 4096 before "$file"
}
if [[ ${kinds[*]} = *swap* ]] && (cd "$scratch" && limit=1 swap_file probe_swap &&
    swapoff probe_swap) >/dev/null 2>&1; then
	release
	it "refuses a swap file" swap_file swapped
	it "refuses a swap file with blanks in its name" swap_file 'a b'
	it "refuses a swap file with a line's end in its name" swap_file $'a\nb\e'
else
	release
	skip "no swap files" "refuses a swap file"
fi

# Without a loop device, and twice: by its name, and by another path to it.
mounted_file()
{
	mkdir m && "$erofs" "$PWD/$1" m && undo umount "$PWD/m" && cp "$1" before &&
	    ln "$1" hard && "$blocks" make src 4k 1 || return
	for name in "$1" hard; do
		refused 'the file is mounted on .*/m; umount it first \(force=mounted writes anyway\)$' \
		    if=src of="$name" && refused 'force=mounted' if=src of="$name" force="$(other_words mounted)" || return
	done
	loop "$1" && refused 'its file is mounted on .*/m' if=src of="$dev" && cmp before "$1" &&
	    exits 0 "$pardd" if=src of=other && exits 0 "$pardd" if=src of="$1" force=mounted,looped &&
	    holds "$1" 0 0 4k 1
}
mkdir "$scratch/erofs"
if able '"$erofs" "$scratch/image" "$scratch/erofs"' "no mounts of files"; then
	umount "$scratch/erofs"
	it "refuses a file that is mounted without a loop device" mounted_file image
	it "... by a name with blanks in it" mounted_file 'a b'
fi

by_kernel()
{
	disk && ln disk.img hard && rm disk.img && mv hard disk.img && snapshot || return
	name=looped by="the loop device ${d#/dev/} lies on the file"
	turned_away of=disk.img
}
it "refuses a file that a loop device lies on, whose name it was lost" by_kernel

# A loop device does not claim what it lies on.
below_loop()
{
	disk && "$1" "$p1" && loop "$p1" && snapshot &&
	    turned_away of="$dev" && turned_away of="$dev" bs=512 seek=100 || return
	# the kernel keeps the loop device from writing to swap space
	[[ $1 = swap ]] || taken 1048576 of="$dev" force="$name"
}
for kind in "${kinds[@]}"; do
	[[ $kind = looped ]] ||
		it "$kind partition: refuses a loop device on it" below_loop "$kind"
done
it "refuses a loop device on a disk with a mounted partition" eval \
    'disk && mounted "$p1" && loop "$d" --offset 512k && snapshot && turned_away of="$dev" bs=512 seek=1000 &&
    turned_away of="$dev" bs=512 seek=5119 count=1 && taken 3145728 of="$dev" bs=512 seek=5120'
# Two loop devices on one file are two names of the same bytes.
beside()
{
	disk && "$1" "$p1" && loop disk.img && snapshot &&
	    by="$dev and ${d#/dev/} lie on the same file: .*${by#the }" &&
	    turned_away of="$dev" && turned_away of="$dev" bs=512 seek=6143 count=1 &&
	    taken 3670016 of="$dev" bs=512 seek=7168 || return
	# the kernel keeps loop devices from writing to swap space
	[[ $1 = swap ]] || taken 1048576 of="$dev" bs=512 seek=2048 force="$name"
}
for kind in "${kinds[@]}"; do
	everywhere "$kind" || continue
	it "$kind partition: refuses another loop device on the same file" beside "$kind"
done
it "... of which a part is mounted, from where it lies" eval \
    'disk && mounted "$p1" && loop disk.img --offset 512k && snapshot && turned_away of="$dev" bs=512 seek=1000 &&
    turned_away of="$dev" bs=512 seek=5119 count=1 && taken 3145728 of="$dev" bs=512 seek=5120'
beside_window()
{
	disk && loop disk.img --offset 1M --sizelimit 2M && mounted "$dev" &&
	    loop disk.img && snapshot && turned_away of="$dev" bs=512 seek=6143 &&
	    turned_away of="$d" bs=512 seek=2047 && turned_away of="$p1" && taken 3145728 of="$dev" bs=512 seek=6144
}
it "... which shows a part of it" beside_window
it "refuses another loop device on the same disk" eval \
    'disk && loop "$d" --offset 1M --sizelimit 2M && mounted "$dev" && loop "$d" && snapshot &&
    turned_away of="$dev" bs=512 seek=6000 && taken 3145728 of="$dev" bs=512 seek=6144'
it "... or below the one on the same file" eval \
    'disk && mounted "$p1" && loop disk.img && loop "$dev" --offset 1M && snapshot && turned_away of="$dev" &&
    taken 3145728 of="$dev" bs=512 seek=4096'
# leaving: another loop device does not tell what it lies on; it is being detached
leaving()
{
	"$blocks" make src 64k 1 && truncate -s 4M img other && loop other || return
	local at=$dev
	loop img && exits 0 with_faults "on=$at op=ioctl fail=ENXIO" "$pardd" if=src of="$dev" &&
	    faulty ioctl && complete && holds img 0 0 64k 1
}
# hidden: ... which lies on the same file, and is mounted
hidden()
{
	"$blocks" make src 64k 1 && truncate -s 4M img && mke2fs -qF img && loop img && mounted "$dev" ||
		return
	local at=/sys/block/${dev#/dev/}/$1
	loop img && exits 101 with_faults "on=$at op=read fail=13" "$pardd" if=src of="$dev" force=looped &&
	    faulty read && one_line "who uses|is mounted" && ! holds img 0 0 64k 1 >/dev/null
}
it "does not mind one that is detached meanwhile" leaving
for word in backing_file offset; do
	it "refuses one of which sysfs does not tell (loop/$word)" hidden "loop/$word"
done
# path: two loop devices that say they are one disk; the other one is mounted
path()
{
	"$blocks" make src 64k 1 && truncate -s 4M img other && mke2fs -qF other && loop other &&
	    mounted "$dev" || return
	local at=/sys/block/${dev#/dev/}/$1
	mkdir -p "sys/${dev#/dev/}" && echo naa.1 >"sys/${dev#/dev/}/wwid" && loop img &&
	    cp -r sys/* "sys/${dev#/dev/}" && export SYSFS=$PWD/sys || return
	exits 101 with_faults '' "$pardd" if=src of="$dev" && one_line 'are the same disk: .* is mounted' &&
	    exits 101 with_faults "on=$at op=read fail=13" "$pardd" if=src of="$dev" &&
	    faulty read && one_line 'who uses|is mounted' && "$blocks" zero img 0 4M
}
for word in size loop/offset queue/logical_block_size; do
	it "refuses another path of which sysfs does not tell ($word)" path $word
done
# ---------------------------------------------------------------- --dry-run

unwritten()
{
	disk && mounted "$p1" && snapshot || return
	local op dry
	for op in of="$d" of="$p1" of="$p2" "of=$d oserial=x" "of=$p2 seek=5000" \
	    "of=$p1 force=mounted" "of=$d bs=512 seek=7168" of=disk.img; do
		read -ra op <<<"$op"
		"$hold" watch "$d" "$hold" watch "$p1" "$hold" watch "$p2" "$pardd" if=src "${op[@]}" -dv >out 2>err
		dry=$?
		as_it_was || return
		run "$hold" watch "$d" "$hold" watch "$p1" "$hold" watch "$p2" "$pardd" if=src "${op[@]}"
		if [[ $status = 99 ]]; then
			[[ $dry = 0 ]]
		else
			[[ $dry = 101 && $status = 101 ]]
		fi || fail "-d: $dry, without: $status, with ${op[*]}" || return
		cp before disk.img
	done
}
it "opens nothing for writing when it refuses or looks" unwritten

# -d ends as the run would, where the file may only grow.
only_grows()
{
	"$blocks" make src 4k && "$blocks" make dst 8k 9 && cp dst old && chattr +a dst &&
	    undo chattr -a "$PWD/dst" && exits 51 "$pardd" if=src of=dst -d &&
	    exits 51 "$pardd" if=src of=dst && same dst old && exits 0 "$pardd" if=src of=dst oflag=append -d
}
# fixed FLAG WHOSE NAME OPERAND...: what chattr forbids
fixed()
{
	"$blocks" make src 4k && mkdir dir && "$blocks" make dst 8k 9 && chattr "+$1" "$3" && undo chattr "-$1" "$PWD/$3" &&
	    exits 51 "$pardd" if=src "${@:4}" &&
	    says "Operation not permitted, because $2 has the attribute $1 of chattr.1.: chattr -$1 takes it away$"
}
if [[ $VARIANT = plain ]] && : >"$scratch/a" && chattr +a "$scratch/a" 2>/dev/null; then
	chattr -a "$scratch/a"
	for words in '' -d oflag=append; do
		it "says that a target is immutable $words" fixed i it dst of=dst ${words:+"$words"}
		it "... or its directory $words" fixed i 'its directory' dir of=dir/new ${words:+"$words"}
	done
	it "... or that it can only be appended to" fixed a it dst of=dst
	it "says that a file can only be appended to" only_grows
fi

plan_on_disk()
{
	disk && snapshot || return
	local to
	for to in "$d" "$p1" "$p2"; do
		"$pardd" if=src of="$p1" -dv 1<>"$to" 2>err &&
		    grep -q '^target=' err && as_it_was || fail "onto $to" || return
	done
	"$pardd" if="$p1" of=new -dv 1<>"$p1" 2>err && grep -q '^target=' err && as_it_was
}
it "prints no plan onto a disk" plan_on_disk
messages_on_disk()
{
	disk || return
	"$pardd" if=src of="$p1" 2<>"$p1" >out
	status=$?
	[[ $status = 101 ]] || fail "status $status" || return
	! holds "$p1" 4096 4096 4096 1
}
it "does not copy onto the disk that its messages go to" messages_on_disk

# ------------------------------------------------------------------ the source

note()
{
	local want=$1
	shift
	exits 0 "$pardd" "$@" || return
	if [[ $want = note ]]; then
		says "^pardd: note: ${p1#/dev/} is mounted read-write on $PWD/m: " &&
		    exits 0 "$pardd" "$@" -dv && grep -q '^source_mounted=' out
	else
		does_not_say "note: .* is mounted" && exits 0 "$pardd" "$@" -dv && ! grep source_mounted out
	fi
}
source_busy()
{
	disk && mounted "$p1" && note note if="$p1" of=copy &&
	    note note if="$d" of=copy && note note if="$d" of=copy bs=512 skip=6143 &&
	    note "" if="$d" of=copy bs=512 skip=6144 &&
	    note "" if="$d" of=copy bs=512 count=2048 && note "" if="$p2" of=copy &&
	    exits 0 "$pardd" if="$d" of=rescued map=map && says 'unmount a failing disk, and keep the map off it$' &&
	    exits 0 "$pardd" if="$p1" of=copy status=none && does_not_say note || return
	umount m && mount -r "$p1" m && note "" if="$p1" of=copy
} 2>/dev/null
it "says when the source is mounted read-write, and goes on" source_busy
bound_read_only()
{
	disk && mounted "$p1" && mkdir first && mount --bind -o ro "$PWD/m" first &&
	    undo umount "$PWD/first" && umount m && mount "$p1" m &&
	    exits 0 "$pardd" if="$p1" of=copy && says '^pardd: note: .* read-write'
}
it "is not misled by a mount point that is read-only" bound_read_only

# ------------------------------------------------------------------ odd names

odd=$'a \e[31mb\n\\c\t\xff'
clean()
{
	cat -v err
	[[ $(wc -l <err) = 1 ]] && ! grep -aq '[^ -~]' err && grep -qF '\x1B[31mb\x0A' err
}
odd_mount()
{
	disk && mke2fs -q -F -t ext2 "$p1" && mkdir "$odd" && mount "$p1" "$odd" &&
	    undo umount "$PWD/$odd" && snapshot && run "$pardd" if=src of="$p1" && [[ $status = 101 ]] && clean &&
	    grep -qF 'is mounted on '"$PWD"'/a \x1B[31mb\x0A\c\x09\xFF; umount it first (force=mounted ' err &&
	    as_it_was
}
it "shows an odd mount point in one clean line" odd_mount
odd_name()
{
	disk && mounted "$p1" && snapshot && ln -s "$p1" "$odd" &&
	    run "$pardd" if=src of="$odd" && [[ $status = 101 ]] && clean &&
	    run "$pardd" if=src of="$p2" oserial="$odd" && [[ $status = 101 ]] && clean &&
	    rm "$odd" && cp src "$odd" && run "$pardd" if="$odd" of="$odd" &&
	    [[ $status = 101 ]] && clean && as_it_was
}
it "shows odd names in one clean line" odd_name
odd_medium()
{
	"$blocks" make src 64k 1 && "$blocks" make "$odd" 1M 9 && loop "$odd" || return
	run "$pardd" if=src of="$odd"
	[[ $status = 101 ]] && clean && grep -q 'loop device' err &&
	    exits 0 "$pardd" if=src of="$dev" -dv && ! grep -a '[^ -~]' out &&
	    grep -qF 'target_backing='"$PWD"'/a \x1B[31mb\x0A\c\x09\xFF' out
}
it "shows an odd medium of a loop device in clean lines" odd_medium

# --------------------------------------------------------------- what is left

too_small()
{
	disk && "$blocks" make src 2097153 && snapshot &&
	    refused 'has room' if=src of="$p2" && refused 'has room' if=src of="$d" \
		bs=512 seek=12288 && as_it_was
}
it "refuses what has no room in the partition" too_small
no_device()
{
	undo rm -f /dev/pardd-no-disk
	"$blocks" make src 4k && refused 'in the device file system' if=src of=/dev/pardd-no-disk &&
	    [[ ! -e /dev/pardd-no-disk ]] && mkdir mnt && mount -t devtmpfs none mnt && undo umount "$PWD/mnt" &&
	    refused 'in the device file system' if=src of=mnt/pardd-no-disk && [[ ! -e mnt/pardd-no-disk ]]
}
it "creates nothing among the devices" no_device
# In /dev of the file system that is the root, as in a chroot.
plain_dev()
{
	mkdir -p dev/sub && "$blocks" make src 4k || return
	local to op
	for to in /dev/new /dev/sub/new /dev/sub/../new; do
		for op in of=%s "of=copy manifest=%s" "of=copy map=%s" "of=copy profile=%s.csv" \
		    "of=copy json=%s" "of=copy hash=md5 hashfile=%s" "of=copy control=%s"; do
			# shellcheck disable=SC2046,SC2059
			exits 101 unshare -m --propagation private sh -c 'mount --bind dev /dev &&
			    { [ -z "$1" ] || mount -t tmpfs none "$1"; } && shift && exec "$@"' \
			    sh "$1" "$pardd" if=src $(printf "$op" "$to") &&
			    one_line 'in the device file system' || fail "$to: $op" || return
		done
	done
	[[ $(find dev -type f) = "" && ! -e copy ]]
}
if able '[[ $(stat -c %d "$scratch") = "$(stat -c %d /)" ]]' "another file system"; then
	apart "creates nothing in a /dev that is an ordinary folder" plain_dev ""
	[[ $VARIANT != plain ]] || apart "... without /proc, too" plain_dev /proc
fi
