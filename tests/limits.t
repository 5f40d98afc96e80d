#!/usr/bin/env bash
# Full targets, leases, closed descriptors, and where nothing is created.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"

full()
{
	exits 78 "$pardd" if=/dev/zero of=/dev/full bs=512 "$@" && does_not_say '^pardd: complete'
}
for thr in $(few 1 4 16); do
	it "says 78 on /dev/full ($thr workers)" full count=5000 bpt=8 thr="$thr"
done
it "says 78 on /dev/full for the only block" full count=1
it "does not report padding that was not written" eval \
    '"$blocks" make src 1300 && exits 78 "$pardd" if=src of=/dev/full bs=512 conv=sync && does_not_say padded'
full_stdout()
{
	"$blocks" make src 100000
	"$pardd" if=src >/dev/full 2>err
	status=$?
	[[ $status = 78 ]] || fail "status $status: $(<err)"
}
it "says 78 when stdout is full" full_stdout

small_stack()
{
	"$blocks" make src 3M && ulimit -s 40 && exits 0 "$pardd" if=src of=dst "$@" && complete && same src dst
}
if able '[[ $VARIANT = plain ]]' "sanitizers take more"; then
	for operand in time=1 profile=p.{csv,json,svg} control=ctl verify=1 oflag=sparing map=map \
	    "json=j log=l hash=sha256 hashfile=h manifest=m profile=p.svg verbose=9 time=1"; do
		# shellcheck disable=SC2086
		it "needs no more than 40 KiB of stack with $operand" small_stack $operand
	done
fi

# The first thing that finds no descriptor says so, until there are enough: in one
# line only where the target is as it was.
few_descriptors()
{
	local n
	"$blocks" make src 100000 && "$blocks" make old 200000 9 || return
	for n in {4..30}; do
		cp old dst
		run bash -c 'ulimit -n "$1" && exec "${@:2}"' _ "$n" "$pardd" if=src of=dst oflag=trunc "$@"
		[[ $status != 0 ]] || break
		[[ $status = 74 ]] || fail "$n: status $status" || return
		if same old dst; then
			one_line 'Too many open files$'
		else
			says '^pardd: NOT complete: .*Too many open files$'
		fi || return
	done
	((n > 6)) && complete && same src dst
}
only plain
for operand in oflag=direct hash=sha256 verify=1; do
	it "says so when descriptors run out, with $operand" few_descriptors $operand
done
only all

# The beginning and the end of the name, and what is wrong with it.
long_name()
{
	local part name=begin i
	part=$(printf 'x%.0s' {1..200})
	for ((i = 0; i < 19; i++)); do
		name+=/$part
	done
	exits 52 "$pardd" if="$name/end" of=dst && one_line 'begin/xxx.*xxx/end: No such file or directory$'
}
it "says what is wrong even behind a name of 4000 bytes" long_name

# small SIZE [USED]: mnt is a file system of that size
small()
{
	mkdir mnt && mount -t tmpfs -o size="$1" none mnt && undo umount -l "$PWD/mnt" &&
	    "$blocks" make mnt/other "${2:-0}"
}
full_fs()
{
	small 2M 1M && "$blocks" make src 1500001 &&
	    exits 78 "$pardd" if=src of=mnt/dst bs=512 bpt=8 force=room "$@" && does_not_say '^pardd: complete'
}
# ends: src, 2 MiB of zeros; holes, 3 MiB with 64 KiB of data; mnt, of 1 MiB
ends()
{
	small 1M && head -c 2M /dev/zero >src && "$blocks" make holes 64k && truncate -s 3M holes
}
never_fits()
{
	ends && refused 'mnt/dst: its file system has 1048576 bytes in all, but [0-9]+ are to' \
	    of=mnt/dst "$@" && [[ ! -e mnt/dst ]]
}
fits()
{
	ends && exits 0 "$pardd" of=mnt/dst "$@" && complete && does_not_say 'file system'
}
own_room()
{
	small 1M 700k && "$blocks" make src 900k && exits 0 "$pardd" if=src of=mnt/other &&
	    complete && does_not_say 'has room' && same src mnt/other
}
told='mnt/dst: its file system has room for 307200 bytes now, but 921600 are to be written'
no_room_now()
{
	small 1M 724k && "$blocks" make src 900k &&
	    refused "$told; count= limits the copy \(force=room begins anyway\)$" if=src of=mnt/dst "$@" &&
	    [[ ! -e mnt/dst ]]
}
# Together they need more room than there is; each alone does not.
no_room_together()
{
	small 4M && "$blocks" make src 3M && refused \
	    'mnt/b: its file system has room for [0-9]+ bytes now beside the other targets, but 3145728 are to' \
	    if=src of=mnt/a of=mnt/b && [[ ! -e mnt/a && ! -e mnt/b ]] && refused 'mnt/b: .* beside' if=src of=x of=mnt/a of=mnt/b &&
	    exits 0 "$pardd" if=src of=mnt/a of=x && same src mnt/a && rm mnt/a &&
	    "$blocks" make src 1M && truncate -s 3M src && exits 0 "$pardd" if=src of=mnt/a of=mnt/b && same src mnt/b &&
	    rm mnt/a mnt/b && "$blocks" make src 3M && mkdir n && mount -t tmpfs -o size=4M none n && undo umount -l "$PWD/n" &&
	    exits 0 "$pardd" if=src of=mnt/a of=n/b && same src n/b
}
forced()
{
	small 1M 724k && "$blocks" make src 900k && exits 0 "$pardd" -dv if=src of=mnt/dst force=room &&
	    grep -q "^note=$told$" out && exits 78 "$pardd" if=src of=mnt/dst force=room &&
	    says "^pardd: note: $told$"
}
# of_type SIZE MKFS...: mnt has such a file system, in a file of that size
of_type()
{
	truncate -s "$1" fs && "${@:2}" fs >/dev/null && mkdir mnt && mount -o loop fs mnt && undo umount "$PWD/mnt"
}
# An image of 60 MiB with 8 MiB of files, onto a file system with half of that.
used_only()
{
	mkdir files && "$blocks" make files/a 8M && mke2fs -q -t ext4 -d files src 60M &&
	    of_type "$1" mke2fs -q -t ext4 && exits "$2" "$pardd" if=src of=mnt/dst used=only
}
used_does_not()
{
	used_only 8M 101 && says 'in all, but [0-9]+ are to be written' && [[ ! -e mnt/dst ]]
}
# too_long MOST MKFS...: a source that is mostly a hole, and longer than any file there
too_long()
{
	local most="its file system has files of $1 bytes at most"
	truncate -s "$(($1 + 1))" src && of_type 64M "${@:2}" &&
	    refused "$most, and this would have $(($1 + 1)); " if=src of=mnt/dst && [[ ! -e mnt/dst ]] &&
	    "$blocks" make mnt/dst 1M && cp mnt/dst old && refused "$most" if=src of=mnt/dst &&
	    same mnt/dst old && refused "$most" if=old of=mnt/dst bs=1 seek="$1" || return
}
can_mount()
{
	mkdir "$scratch/probe" && mount -t tmpfs none "$scratch/probe" && umount "$scratch/probe"
}
if able '((EUID == 0)) && can_mount' "cannot mount"; then
	it "says 78 when the file system is full, and what fitted is in place" eval \
	    'full_fs thr=1 && holds mnt/dst 0 0 900000'
	it "says 78 when the file system is full, with 16 workers" full_fs thr=16
	# shellcheck disable=SC2086
	for operands in if=src 'if=src oflag=append' 'if=src hash=sha256' 'if=src map=map' \
	    'if=/dev/zero bs=1M count=10k' 'if=holes oflag=nosparse' 'if=src -dv'; do
		it "refuses what would not fit even an empty file system: $operands" never_fits $operands
	done
	# shellcheck disable=SC2086
	for operands in if=holes 'if=src oflag=sparse' 'if=src count=2048' 'if=src skip=2048'; do
		it "copies what would: $operands" fits $operands
	done
	it "counts the target's own blocks as room" own_room
	it "refuses what does not fit now" no_room_now
	it "... with -d" no_room_now -d
	it "... with a map" no_room_now map=map
	it "... beside another target" no_room_now of=other
	it "... on one file system with another target" no_room_together
	it "begins with force=room, and says so then and with -d" forced
	it "counts only what used=only copies as needing room" eval 'used_only 32M 0 && complete && e2fsck -fn mnt/dst >/dev/null'
	it "... and all of that" used_does_not
	it "refuses a file that is too long for ext2" too_long 17247252480 mke2fs -q -t ext2 -b 1024
fi
file_limit()
{
	"$blocks" make src 1000000 || return
	ulimit -f 100
	exits 77 "$tools/ends" how "$pardd" if=src of=dst bs=512 bpt=8 thr=4 && ended exit 77 && holds dst 0 0 102400
}
it "says 77 at the limit of a file's size (ulimit -f)" file_limit
hole_limit()
{
	truncate -s 1M src || return
	ulimit -f 100
	exits 77 "$pardd" if=src of=dst && does_not_say '^pardd: complete'
}
it "says 77 when a hole at the end goes past that limit" hole_limit

# Somebody has a lease on a file, and never gives it up.
leased()
{
	"$blocks" make src 64k && "$blocks" make dst 64k 9 &&
	    exits 61 "$tools/hold" lease "$1" "$pardd" if=src of=dst timeout=2 &&
	    says "^pardd: $1: another program.* has a lease on it; waiting" && holds dst 0 0 64k 9 &&
	    exits 61 "$tools/hold" lease "$1" "$pardd" if=src of=dst of=other timeout=1 status=none &&
	    does_not_say waiting && [[ ! -e other ]] &&
	    exits 124 "$tools/hold" lease "$1" timeout -s INT 2 "$pardd" if=src of=dst && says 'waiting' &&
	    holds dst 0 0 64k 9
}
it "says that it waits for whoever has a lease on the target" leased dst
it "... or on the source" leased src
leased_lines()
{
	"$blocks" make src 64k && "$blocks" make dst 64k 9 && : >lines && rm -f other &&
	    exits 61 "$tools/hold" lease lines "$pardd" if=src of=dst "$1=lines" timeout=2 &&
	    says '^pardd: lines: another program.* has a lease on it; waiting' && holds dst 0 0 64k 9 &&
	    exits 61 "$tools/hold" lease lines "$pardd" if=src of=dst "$1=lines" timeout=1 status=none &&
	    does_not_say waiting && [[ ! -s lines ]]
}
it "... or on the file of log=" leased_lines log
it "... or of json=" leased_lines json
has_lease()
{
	grep -q "LEASE .*:$(stat -c %i "$1") " /proc/locks
}
# leased_read FILE OPERANDS...: or on a file that the run reads
leased_read()
{
	"$blocks" make src 64k && exits 0 "$pardd" if=src of=dst map=done && exits 0 "$pardd" if=src of=dst manifest=ranges &&
	    exits 0 "$pardd" if=src of=dst manifest=dst.bmap report=r.html && md5sum src >sums && : >empty &&
	    exits 61 "$tools/hold" lease "$1" "$pardd" if=src of=dst timeout=2 "${@:2}" &&
	    says "^pardd: $1: another program.* has a lease on it; waiting" && says "^pardd: $1: .*has a lease on it\$" &&
	    exits 124 "$tools/hold" lease "$1" timeout -s INT 2 "$pardd" if=src of=dst "${@:2}" || return
	"$tools/hold" lease "$1" sleep 2 &
	until_true 20 has_lease "$1" && exits 0 "$pardd" if=src of=dst "${@:2}" && says 'has a lease on it; waiting' && same src dst
}
it "... or of map=" leased_read empty map=empty
it "... or of domain=" leased_read 'done' map=new domain=done
it "... or of base=" leased_read ranges base=ranges
it "... or of bmap=" leased_read dst.bmap bmap=dst.bmap
it "... or of expect=" leased_read sums expect=@sums
it "... or of report=, which has what came before" leased_read r.html report=r.html
# anew FILE OPERANDS...: who had the lease takes it again after that look, and the file
# is not waited for a second time
anew()
{
	"$blocks" make src 64k && exits 0 "$pardd" if=src of=old manifest=dst.bmap && md5sum src >sums && : >empty &&
	    "$blocks" make dst 64k 9 || return
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 exits 61 strace -qq -o log -P "$1" -e trace=openat \
	    -e inject=openat:error=EAGAIN:when=2 "$pardd" if=src of=dst "${@:2}" && grep -q INJECTED log &&
	    says "$1: " && holds dst 0 0 64k 9
}
if able 'command -v strace && strace -o /dev/null true' "no strace"; then
	it "says 61, and touches nothing, where a lease is taken anew before map= is read" anew empty map=empty
	it "... or bmap=" anew dst.bmap bmap=dst.bmap
	it "... or expect=" anew sums expect=@sums
fi
given_up()
{
	"$blocks" make src 64k && "$blocks" make dst 64k 9 && : >other || return
	"$tools/hold" lease dst sleep 3 &
	until_true 20 has_lease dst && exits 0 "$pardd" if=src of=dst && complete && same src dst &&
	    says 'has a lease on it; waiting' || return
	wait
	# what was read of a pipe cannot be read again
	gzip -k src && : >dst && { "$tools/hold" lease dst sleep 3 & } && until_true 20 has_lease dst || return
	exits 0 "$pardd" if=- of=dst decode=auto < <(cat src.gz) && same src dst && says 'has a lease on it; waiting' || return
	wait
	"$tools/hold" lease other sleep 1 &
	until_true 20 has_lease other && exits 0 "$pardd" if=src of=dst log=other && [[ -s other ]] &&
	    does_not_say Resource || return
	wait
	# whoever reads the lines meanwhile does not see them end
	mkfifo lines && : >other && { "$tools/hold" lease other sleep 3 & } && until_true 20 has_lease other || return
	cat lines >got &
	exits 0 "$pardd" if=src of=dst log=other json=lines && [[ -s other ]] && wait && tail -n 1 got | grep -q '"complete"' &&
	    says 'other: .*has a lease on it; waiting' || return
	"$tools/hold" lease other sleep 2 &
	until_true 20 has_lease other && exits 1 "$pardd" if=src of=dst bs=0 log=other && grep -q '"status":1' <(tail -n 1 other)
}
it "... and copies once the lease is given up" given_up

# What happens to the target once all has been written to it.
meanwhile()
{
	local want=$1 words=$2 what=$3
	shift 3
	"$blocks" make src 1000000 && : >dst || return
	with_faults "on=$PWD/dst op=flush until=$PWD/go" "$pardd" if=src of=dst "$@" 2>err &
	until_true 20 as_large dst 1000000 && eval "$what" && touch go && exited "$want" && says "$words"
}
# A signal, then an error of what the run still waits for: RULE says where it waits.
too()
{
	"$blocks" make src 1M || return
	FAULTS="on=$PWD/$1 until=$PWD/go fail=EIO" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if=src of=dst bpt=128 "${@:3}" 2>err &
	until_true 20 grep -qs waits faults && kill -TERM "$(awk '$1 == "pid" { print $2 }' how)" &&
	    noticed && : >go && wait $!
	ended signal 15 && says "^pardd: NOT complete: stopped by SIGTERM; $2: Input/output error"
}
it "names the signal, and the error that came after it" \
    too 'src op=read at=524288+' 'src: block [0-9]+: reading 512 bytes at byte [0-9]+'
it "... the flush that failed" too 'dst op=flush' 'dst: flushing'
it "says so when the target is removed during the copy" meanwhile 52 '^pardd: NOT complete: dst was removed' 'rm dst'
it "says so when the target is replaced during the copy" \
    meanwhile 52 '^pardd: NOT complete: dst was removed' 'echo >new; mv new dst'
# If it has another name, too, the file still exists.
for what in 'ln dst other; echo >new; mv new dst' 'mv dst new; echo >dst'; do
	it "... also when it has another name ($what)" meanwhile 52 '^pardd: NOT complete: dst was removed' "$what"
	it "... and when it is appended to ($what)" \
	    meanwhile 52 '^pardd: NOT complete: dst was removed' "$what" oflag=append
done
it "does not mind a new name, as long as the old one still leads to the target" \
    meanwhile 0 '^pardd: complete' 'ln dst other; mv dst new; ln -s new dst'
it "says so when what it appends to is removed during the copy" \
    meanwhile 52 '^pardd: NOT complete: dst was removed' 'rm dst' oflag=append
it "says so when the target is truncated during the copy" \
    meanwhile 15 '^pardd: NOT complete: dst was truncated at byte 999999' 'truncate -s 999999 dst'
# cut_short STAGE OPERANDS...: it is truncated half-way, and written on.
# A stage of the source is so many bytes.
cut_short()
{
	local stage=$1
	shift
	mkfifo p && : >dst || return
	[[ " $* " = *" of="* ]] || set -- of=dst "$@"
	"$pardd" if=p bs=4k bpt=16 "$@" >>dst 2>err &
	exec 5>p
	"$blocks" make - "$stage" >&5 && until_true 20 as_large dst $((stage / 65536 * 65536)) && : >dst || return
	"$blocks" make - "$stage" >&5 2>/dev/null	# unless it has ended
	exec 5>&-
	exited 15 && says '^pardd: NOT complete: .*was truncated'
}
for stage in 300000 5000000; do
	it "says so when it was truncated and written on, $stage" cut_short $stage
	it "says so when what it appends to was, $stage" cut_short $stage oflag=append
	it "says so when standard output was, $stage" cut_short $stage of=-
	it "says so of a copy with zeros left out, $stage" cut_short $stage oflag=sparse
done
# All workers but one are done.
late_piece()
{
	"$blocks" make src 4M && : >dst || return
	with_faults "on=$PWD/src op=read at=$((63 * 65536))+ until=$PWD/go" \
	    "$pardd" if=src of=dst bs=64k bpt=1 thr=4 2>err &
	until_true 20 as_large dst $((63 * 65536)) && : >dst && touch go &&
	    exited 15 && says '^pardd: NOT complete: .*was truncated'
}
it "says so when only the last piece was written after it was truncated" late_piece
# shifted COMMAND OPERANDS...: what was written comes to lie elsewhere in a longer file.
shifted()
{
	"$blocks" make src 4M && "$blocks" make dst 8M 9 || return
	FAULTS="on=$PWD/dst op=flush until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$pardd" if=src of=dst "${@:2}" 2>err &
	until_true 20 grep -qs waits faults && eval "$1" && touch go &&
	    exited 15 && says '^pardd: NOT complete: dst was truncated'
}
blocks_move()
{
	"$blocks" make "$scratch/moves" 64k && fallocate -c -l 4096 "$scratch/moves" &&
	    fallocate -i -l 4096 "$scratch/moves"
}
if blocks_move 2>/dev/null; then
	for at in 0 1M 4190208; do
		it "says so when blocks were cut out of it at $at" shifted "fallocate -c -o $at -l 4096 dst"
		it "... or put into it" shifted "fallocate -i -o $at -l 4096 dst"
		it "... or put into it before the copy" shifted "fallocate -i -o $at -l 4096 dst" seek=8192
	done
fi
beside()
{
	"$blocks" make src 4M && "$blocks" make dst 8M 9 || return
	FAULTS="on=$PWD/dst op=flush until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    exits 0 "$pardd" if=src of=dst seek=8192 2>err &
	until_true 20 grep -qs waits faults && "$pardd" if=src of=dst seek=20000 2>err2 && cat src >>dst &&
	    fallocate -p -o 16M -l 64k dst && touch go && wait "$!"
}
it "does not mind others who write behind the copy meanwhile" beside
# It is truncated and made as long again, between two writes.
emptied()
{
	mkfifo p && : >dst || return
	"$pardd" if=p of=dst bs=4k bpt=16 "$@" 2>err &
	exec 5>p
	"$blocks" make - 300000 >&5 && until_true 20 as_large dst 262144 &&
	    { : >dst; truncate -s 262144 dst; } && "$blocks" make - 300000 >&5 && exec 5>&- || return
	exited 15 && says '^pardd: NOT complete: .*was truncated'
}
it "says so when it was made long again at once" emptied
it "says so when what it appends to was" emptied oflag=append
# Others write to it, too, between two pieces.
mixed()
{
	mkfifo p && echo old >dst || return
	"$pardd" if=p bs=4k bpt=16 "$@" >>dst 2>err &
	mixes
}
mixes()
{
	exec 5>p
	"$blocks" make - 65536 >&5 && until_true 20 as_large dst 65540 && echo other >>dst &&
	    "$blocks" make - 65536 >&5 && exec 5>&- || return
	exited 15 &&
	    says '^pardd: NOT complete: .*: writing [1-9][0-9]* bytes at byte [0-9]+: others have appended to it, too: what should be at byte 65540 of it is at byte 65546'
}
it "says so when others append to the same file during the copy" mixed of=dst oflag=append
it "... and when the shell opened it with >>" mixed
mixed_written()
{
	mkfifo p && echo old >dst || return
	"$pardd" if=p bs=4k bpt=16 oflag=append 1<>dst 2>err &
	mixes && [[ $(tail -c +65541 dst | head -c 6) = other ]]
}
it "... and when the shell opened it for writing" mixed_written
it "says so of a file in memory" eval 'in_memory && late_piece'
# What was there already, and was to be kept, is cut off before the only write,
# which makes the file long again, unless whoever truncated it does.
# kept_is_cut WHAT WORDS OPERANDS...
kept_is_cut()
{
	"$blocks" make src 4M && cp src dst && exits 0 "$pardd" if=src of=. manifest=m || return
	printf '0 ? 1\n0 0x3f0000 +\n0x3f0000 0x10000 ?\n' >map && cp map old.map
	printf x | dd of=src bs=1 seek=$((4194304 - 1)) conv=notrunc status=none
	with_faults "on=$PWD/src op=read at=$((4194304 - 512))+ until=$PWD/go" "$pardd" if=src of=dst thr=1 "${@:3}" 2>err &
	until_true 20 test -s faults && eval "$1" && : >go &&
	    exited 15 && says "^pardd: NOT complete: .*$2" && same map old.map
}
for what in base=m oflag=sparing map=map; do
	it "says so when it loses what was there already, with $what" \
	    kept_is_cut 'truncate -s 1M dst' 'was truncated at byte 1048576' $what
	it "... and is made long again, with $what" \
	    kept_is_cut 'truncate -s 1M dst; truncate -s 4M dst' 'was truncated .*or holes were made in it' $what
done
it "goes on when the target gets another name during the copy" meanwhile 0 '^pardd: complete' 'mv dst new'
# What becomes of a name between the look at it and the opening: STATUS WORDS
# NAME WHAT OPERANDS...
found()
{
	local want=$1 words=$2 name=$3 what=$4
	shift 4
	"$blocks" make src 1000000 && : >dst && mkfifo fifo && ln -s fifo link || return
	[[ -e $name ]] || : >"$name"
	with_faults "on=$PWD/$name op=look until=$PWD/go" timeout 20 "$pardd" if=src of=dst "$@" 2>err &
	until_true 20 test -s faults && eval "$what" && touch go && exited "$want" && says "$words"
}
changed='was removed or replaced while it was being opened'
it "does not copy to a file that was removed while it was being opened" found 52 "^pardd: dst $changed" dst 'rm dst'
replaced()
{
	found 52 "^pardd: dst $changed" dst 'echo old >new; mv new dst' "$@" && [[ $(<dst) = old ]]
}
it "does not copy to one that was replaced meanwhile" replaced
it "does not append to one that was replaced meanwhile" replaced oflag=append
it "does not copy from one that was replaced meanwhile" \
    found 52 "^pardd: src $changed" src 'echo new >new; mv new src'
for name in src dst json; do
	it "does not wait for a FIFO in the place of $name" found 52 '^pardd: ' "$name" "mv fifo $name" json=json
	it "does not follow a link in the place of $name" found 52 '^pardd: ' "$name" "mv link $name" json=json
done
it "still copies to a link that leads to the same file" eval \
    'found 0 "^pardd: complete" dst "mv dst new; ln -s new dst" && same src new'
it "copies to a file that had no name to begin with" eval \
    '"$blocks" make src 1000000 && exec 5>gone && rm gone && exits 0 "$pardd" if=src of=/dev/fd/5 && complete &&
    holds /dev/fd/5 0 0 1000000 && exits 0 "$pardd" if=src >&5'
# An inherited end has no name, whatever messages call it.
called()
{
	"$blocks" make src 1000000 && cp src dst && mkfifo 'standard input' 'standard output' &&
	    exits 0 timeout -k 1 20 sh -c "exec '$pardd' $1" && complete
}
it "compares with no file that is called standard input" called 'compare=1 of=dst <src'
it "looks into no file that is called standard output" called 'if=src verbose=1 1<>dst'
it "reads no file that is called standard output back" called 'if=src verify=1 1<>dst'
overwritten()
{
	"$blocks" make src 8M && cp src dst && mkfifo 'standard output' || return
	cat 'standard output' >got &
	sleep 0.2		# it waits for a writer
	exits 0 sh -c "exec '$pardd' if=src 1<>dst" && complete &&
	    timeout 20 sh -c 'echo all >"standard output"' && wait && [[ $(<got) = all ]]
}
it "opens no file that is called standard output to overwrite it" overwritten

it "leaves no target that could not be made ready" eval \
    '"$blocks" make src 1000 && with_faults "op=direct fail=ENOMEM" exits 62 "$pardd" if=src of=dst oflag=direct &&
    [[ ! -e dst ]]'
udp()
{
	"$blocks" make src 1000 && exits 15 bash -c "exec '$pardd' if=src >/dev/udp/127.0.0.1/9" && one_line 'messages may be lost'
}
it "does not write to a socket that may lose data" udp
queue()
{
	"$blocks" make src 1000 && mkdir queues && mount -t mqueue none queues || return
	undo umount "$PWD/queues"
	: >queues/q && exits 15 timeout 20 "$pardd" if=src of=queues/q && one_line 'is a message queue' &&
	    exits 15 timeout 20 "$pardd" if=queues/q of=dst && one_line 'is a message queue' && [[ ! -e dst ]]
}
given '((EUID == 0)) && grep -q mqueue /proc/filesystems' "no mqueue, or not root" \
    it "says that a message queue is not a file" queue

# -d finds out what may not be written, and ends with the status of the run.
foreseen()
{
	local look='' want=$1
	shift
	"$blocks" make src 1000 && mkdir -p shut && : >shut.file && chmod 0 shut.file && chmod 555 shut || return
	for look in -d ''; do
		# shellcheck disable=SC2086
		exits "$want" setpriv --bounding-set -dac_override,-dac_read_search --inh-caps=-all \
		    "$pardd" $look if=src "$@" && one_line . || return
	done
	[[ ! -e dst ]]
}
# unlucky MASK: a new target that its owner may not write is copied
unlucky()
{
	"$blocks" make src 100k && umask "$1" && exits 0 setpriv --bounding-set -dac_override,-dac_read_search \
	    --inh-caps=-all "$pardd" if=src of=dst && complete && same src dst || return
	[[ $(stat -c %a dst) = $(printf %o $((8#666 & ~8#$1))) ]] || fail "$(stat -c %a dst)"
}
# spoilt HOW MASK BYTES [GOOD]: a descriptor that cannot be opened again to write
spoilt()
{
	make_spoilt "${@:4}" && mount_fs ext4 && "$blocks" make src "$3" && umask "$2" || return
	eval "setpriv --bounding-set -dac_override,-dac_read_search --inh-caps=-all \
	    '$pardd' if=src bs=$3 bpt=1 $1mnt/dst 2>err"
	status=$?
	! cmp -s src mnt/dst || fail "nothing was lost: the case proves nothing"
	[[ $status != 0 ]] && says 'NOT complete: standard output'
}
# accessed INPUT: only the owner of a file may leave its access time alone
accessed()
{
	"$blocks" make src 1000 && chown 65534 src && touch -a -d 2001-01-01 src &&
	    exits 51 setpriv --bounding-set -fowner --inh-caps=-all sh -c "exec '$pardd' of=dst iflag=noatime $1" &&
	    one_line ': Operation not permitted' || return
	[[ $(stat -c %x src) = 2001* && ! -e dst ]] || fail "$(stat -c %x src)"
}
if able 'command -v setpriv && setpriv --bounding-set -dac_override true' "no setpriv, or not root"; then
	it "says that it cannot leave the access time alone" accessed if=src
	it "... of standard input" accessed '<src'
	it "makes a target that its owner may not write, by the umask" unlucky 0222
	it "... or nobody may do anything with" unlucky 0777
	given 'command -v mke2fs && command -v dumpe2fs && losetup -f' "no mke2fs, or no loop devices" \
	    it "is not complete where the file system loses what was written to such a file" spoilt '>' 0777 1000000
	given 'command -v mke2fs && command -v dumpe2fs && losetup -f' "no mke2fs, or no loop devices" \
	    it "... and tells nobody" eval 'spoilt ">" 0377 6000000 2 && says "or its file system lost data$"'
	given 'command -v mke2fs && command -v dumpe2fs && losetup -f' "no mke2fs, or no loop devices" \
	    it "... that is appended to" spoilt '>>' 0077 6000000 2
	for file in json=shut/x log=shut/x json=shut.file log=shut.file map=shut/x control=shut/x \
	    profile=shut/x.csv manifest=shut/x; do
		it "also says with -d that $file may not be written" foreseen 63 of=dst "$file"
	done
	it "also says with -d that a target may not be made" foreseen 63 of=shut/x
	it "has the same objection first, with -d and without" foreseen 101 of=shut/x skip=9
fi

# -------------------------------------------------------- closed descriptors

closed()
{
	"$blocks" make src 100001 || return
	eval "\"\$pardd\" if=src of=dst $1"
	status=$?
	size_is dst 100001 && holds dst 0 0 100001 || return
	[[ $status = "${2:-0}" ]] || fail "status $status"
}
it "copies with stdin closed" closed '<&- 2>err'
it "copies with stdout closed" closed '>&- 2>err'
it "writes no message into the target when stderr is closed" closed '2>&-'
it "writes no message into the target when all three are closed" closed '<&- >&- 2>&-'
closed_zero()
{
	"$pardd" "$@" of=dst bs=512 count=9 2>&-
	size_is dst 4608 && "$blocks" zero dst 0 4608
}
it "writes no message into a target that got the descriptor of stderr" closed_zero if=/dev/zero
it "... with generated input" closed_zero iflag=00
closed_stdin()
{
	"$blocks" make src 100001 && "$pardd" of=dst <src 2>&-
	size_is dst 100001 && holds dst 0 0 100001
}
it "... with a redirected source" closed_stdin
closed_early()
{
	"$blocks" make dst 4608 9 && "$pardd" if=/dev/zero of=dst bs=512 count=9 seek=1 oflag=excl 2>&-
	size_is dst 4608 && holds dst 0 0 4608 9
}
it "writes no refusal there, either" closed_early
own_messages()
{
	"$blocks" make src 100000 && : >dst || return
	"$pardd" "$@" 2>dst
	status=$?
	[[ $status = 101 ]] || fail "status $status" || return
	[[ $(<dst) = "pardd: "*"messages"* ]]
}
it "does not copy into the file that its messages go to" own_messages if=src of=dst
it "... by the name of standard error" own_messages if=src of=/dev/stderr
to_both() { "$pardd" if=src >dst 2>&1; }
both_outputs()
{
	"$blocks" make src 100000 && exits 0 to_both &&
	    holds dst 0 0 100000 && tail -n 1 dst | grep -q '^pardd: complete, flushed$'
}
it "writes its messages behind a copy that goes to their descriptor" both_outputs
# The same with much to say meanwhile: a signal, a note, the plan, a live line.
# REDIRECTION OPERANDS...
talks()
{
	local to=$1 pid
	shift
	"$blocks" make src 1M && mkfifo p && : >dst || return
	eval "\"\$tools/ends\" how \"\$pardd\" if=p of=- progress=1 verbose=1 bs=4096 \"\$@\" $to" &
	exec 5>p
	head -c 500k src >&5 && until_true 20 as_large dst 262144 &&
	    pid=$(sed -n 's/^pid //p' how) && kill -USR1 "$pid" &&
	    tail -c +512001 src >&5 && exec 5>&- && wait $! || return
	cmp -n 1M src dst && tail -c +1048577 dst >err && says '^pardd: complete' && says 'bs='
}
it "writes everything it says behind the copy" talks '>dst 2>&1' bpt=16
it "writes it behind what it appends" talks '>>dst 2>&1' bpt=16
it "writes it behind the copy by a descriptor of its own" talks '>dst 2>dst' bpt=16
it "... and by one that appends" talks '>dst 2>>dst' bpt=16
# What lies behind the copy stays, too.
it "writes no message over what lies behind the copy" eval \
    '"$blocks" make src 64k && "$blocks" make dst 1M 9 && "$pardd" if=src of=- 1<>dst 2>&1 && cmp -n 64k src dst &&
    holds dst 64k 64k $((1048576 - 65536)) 9 && tail -c +1048577 dst >err && complete'
one_pipe()
{
	"$blocks" make src 64k || return
	"$pardd" if=src "$@" 2>&1 | cat >out
	[[ ${PIPESTATUS[0]} = 101 && $(<out) = "pardd: standard output is standard error"* ]] ||
		fail "${PIPESTATUS[0]}: $(head -c 300 out)"
}
it "does not copy into a pipe that its messages go to" one_pipe
it "... with status=none, either" one_pipe status=none
it "copies exactly when there is no room for its messages" closed '2>/dev/full'
it "says 59 when the stdin to copy is closed" eval 'exits 59 "$pardd" if=- of=dst <&- && [[ ! -e dst ]]'
closed_out()
{
	"$blocks" make src 1000
	"$pardd" if=src of=- >&- 2>err
	status=$?
	[[ $status = 59 ]] || fail "status $status: $(<err)"
}
it "says 59 when the stdout to copy to is closed" closed_out
closed_names()
{
	"$blocks" make src 1000
	"$pardd" if=src of=/dev/stdout >&- 2>err
	status=$?
	((status > 50)) || fail "out: status $status" || return
	does_not_say '^pardd: complete' || return
	"$pardd" if=/dev/stdin of=dst <&- 2>err
	status=$?
	((status > 50)) || fail "in: status $status" || return
	does_not_say '^pardd: complete'
}
it "copies neither from nor to a closed one by its name" closed_names

# ------------------------------------------------ nothing is created in /dev

typo=pardd-test-typo-$$
not_in_dev()
{
	"$blocks" make src 1000 && undo rm -f "/dev/$typo" || return
	refused "$typo" if=src of="$1" "${@:2}" || { rm -f "/dev/$typo"; return 1; }
	[[ ! -e /dev/$typo ]]
}
in_dir()
{
	mkdir "/dev/$typo.d" && undo rm -rf "/dev/$typo.d" && "$blocks" make src 1000 &&
	    refused . if=src of="/dev/$typo.d/x" && [[ ! -e /dev/$typo.d/x ]]
}
relative()
{
	"$blocks" make src 1000 && undo rm -f "/dev/$typo" || return
	local src=$PWD/src
	(
		cd /dev && run_in=$OLDPWD && "$pardd" if="$src" of="$typo" 2>"$run_in/err"
		echo $? >"$run_in/status"
	)
	[[ $(<status) = 101 && ! -e /dev/$typo ]]
}
if able '[[ $(stat -f -c %T /dev) = tmpfs && $(stat -c %m /dev) = /dev ]]' "/dev is no file system of its own"; then
	it "creates nothing in /dev" not_in_dev "/dev/$typo"
	it "creates nothing in /dev by a roundabout name" not_in_dev "/dev/../dev/./$typo"
	it "creates nothing in /dev with oflag=trunc" not_in_dev "/dev/$typo" oflag=trunc
	it "creates nothing in /dev with count=0" not_in_dev "/dev/$typo" count=0
	it "creates nothing in /dev with oflag=append" not_in_dev "/dev/$typo" oflag=append
	it "creates nothing in /dev through a link" eval \
	    'ln -s "/dev/$typo" link && "$blocks" make src 1000 && undo rm -f "/dev/$typo" &&
	    refused . if=src of=link && [[ ! -e /dev/$typo ]]'
	it "creates nothing in /dev by a relative name" relative
	((EUID != 0)) || it "creates nothing in a directory of /dev" in_dir
fi
shm()
{
	undo rm -f "/dev/shm/$typo"
	"$blocks" make src 1000 && exits 0 "$pardd" if=src of="/dev/shm/$typo" && holds "/dev/shm/$typo" 0 0 1000
}
given has_shm "no /dev/shm" it "creates files in /dev/shm, which is a directory like any other" shm
