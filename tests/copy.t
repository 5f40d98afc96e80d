#!/usr/bin/env bash
# Copies between regular files: exact, whatever the numbers.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

seed=${SEED:-20260715}

# copies BYTES OPERANDS...: a whole file
copies()
{
	local bytes=$1
	shift
	"$blocks" make src "$bytes" || return
	exits 0 "$pardd" if=src of=dst "$@" || return
	complete && size_is dst "$bytes" && holds dst 0 0 "$bytes"
}

for bytes in 0 1 511 512 513 1024 4095 4097 1048576 1048577 3000001; do
	it "copies a file of $bytes bytes" copies "$bytes"
done
for thr in $(few {1..16}); do
	it "copies exactly with $thr workers" copies 1000001 bpt=8 "thr=$thr"
done
for bs in 1 7 512 520 1000 4096 65536 1M 3000000; do
	it "copies in blocks of $bs" copies 1500001 "bs=$bs"
done
for bpt in 1 3 128 4096 1000000; do
	it "moves $bpt blocks at a time" copies 1500001 bs=512 "bpt=$bpt"
done
for flag in iflag=direct oflag=direct 'iflag=direct oflag=direct' \
    'iflag=cached oflag=cached' 'iflag=nocache oflag=nocache' iflag=fullblock oflag=dsync oflag=sync iflag=noatime; do
	# shellcheck disable=SC2086
	it "copies with $flag" copies 1500001 bs=512 bpt=64 $flag
done
# Also what is read beside the copy itself: structures on the source of a clone, a target
# for verify=.
unaccessed()
{
	"$blocks" make src 1M && "$blocks" make dst 2M 2 && touch -a -d 2001-01-01 src dst &&
	    exits 0 "$pardd" if=src of=dst iflag=noatime oflag=noatime "$@" || return
	[[ $(stat -c %X src dst | uniq) = "$(date -d 2001-01-01 +%s)" ]] || fail "$(stat -c %x src dst)"
}
it "leaves the access times alone with noatime" unaccessed
unaccessed_empty()
{
	: >src && touch -a -d 2001-01-01 src && exits 0 "$pardd" if=src of=dst iflag=noatime || return
	[[ $(stat -c %x src) = 2001* ]] || fail "$(stat -c %x src)"
}
it "... even that of an empty file" unaccessed_empty
it "... with verify=1" unaccessed verify=1
for conv in notrunc fsync fdatasync fsync,notrunc; do
	it "takes conv=$conv, which it does anyway" copies 10001 "conv=$conv"
done
it "takes an ibs= that equals the bs= not given" copies 5000 ibs=512
it "takes an obs= that equals the bs= not given" copies 5000 obs=512
it "takes ibs= and obs= that equal bs=" copies 5000 bs=1k ibs=1k obs=1k

# Somebody writes to the source meanwhile: this is reported, and does not change the status.
moving()
{
	local pid
	"$blocks" make src 6M && : >dst || return
	"$pardd" if=src of=dst bs=64k rate=2M >out 2>err &
	pid=$!
	until_true 20 test -s dst && touch src && exited 0 "$pid" && complete && same src dst &&
	    says '^pardd: src: was written to while it was read' || return
	exits 0 "$pardd" if=src of=dst && complete && ! grep 'written to' err &&
	    exits 0 "$pardd" if=src of=src count=1 seek=1 && complete && ! grep 'written to' err
}
it "says that the source was written to meanwhile" moving

# a part: from block 3 to block 5, 7 blocks of 1000
part()
{
	"$blocks" make src 20000 && exits 0 "$pardd" if=src of=dst bs=1000 "$@" &&
	    complete && size_is dst 12000 && "$blocks" zero dst 0 5000 && holds dst 5000 3000 7000
}
it "skips, seeks and counts in blocks" part skip=3 seek=5 count=7
it "knows iseek= and oseek=" part iseek=3 oseek=5 count=7
it "counts in bytes where told" part skip=3000 seek=5000 count=7000 iflag=skip_bytes,count_bytes oflag=seek_bytes
it "counts in bytes, one flag at a time" part skip=3 seek=5 count=7000 iflag=count_bytes

odd_bytes()
{
	"$blocks" make src 20001 && exits 0 "$pardd" if=src of=dst bs=512 skip=777 seek=333 count=10007 \
	    iflag=skip_bytes,count_bytes oflag=seek_bytes "$@" && size_is dst 10340 && holds dst 333 777 10007 &&
	    "$blocks" zero dst 0 333
}
it "copies any bytes of a file" odd_bytes
it "copies any bytes of a file past the page cache" odd_bytes iflag=direct oflag=direct

to_the_end()
{
	"$blocks" make src 20001 && exits 0 "$pardd" if=src of=dst bs=1000 skip=13 "$@" &&
	    size_is dst 7001 && holds dst 0 13000 7001
}
it "goes to the end of the source without count=" to_the_end
it "takes count=-1 for no count" to_the_end count=-1

nothing()
{
	"$blocks" make src 2000 && "$blocks" make dst 3000 9 && exits 0 "$pardd" if=src of=dst count=0 && complete &&
	    size_is dst 3000 && holds dst 0 0 3000 9
}
it "copies nothing with count=0" nothing

# ------------------------------------------------------------ the target

kept()
{
	"$blocks" make src 1000 && "$blocks" make dst 5000 9 && exits 0 "$pardd" if=src of=dst bs=100 seek=20 "$@"
}
it "leaves the rest of a target alone" eval \
    'kept && size_is dst 5000 && holds dst 0 0 2000 9 && holds dst 2000 0 1000 && holds dst 3000 3000 2000 9'
it "cuts the target behind the copy with oflag=trunc" eval \
    'kept oflag=trunc && size_is dst 3000 && holds dst 0 0 2000 9 && holds dst 2000 0 1000'

not_cut()
{
	"$blocks" make src 1000 && "$blocks" make dst 5000 9 &&
	    refused . if=src of=dst bs=100 oflag=trunc "$@" && size_is dst 5000 && holds dst 0 0 5000 9
}
it "does not cut the target of a copy that it refuses" not_cut skip=11
it "does not cut the target when count= is refused" not_cut count=11

mode_is()
{
	umask "$1"
	"$blocks" make src 10 && exits 0 "$pardd" if=src of=new || return
	[[ $(stat -c %a new) = "$2" ]] || fail "mode $(stat -c %a new)"
}
it "makes a file that all may read" mode_is 022 644
it "heeds the umask" mode_is 027 640

appends()
{
	"$blocks" make src 70001 && "$blocks" make dst 777 9 &&
	    exits 0 "$pardd" if=src of=dst oflag=append bpt=8 thr=16 &&
	    size_is dst 70778 && holds dst 0 0 777 9 && holds dst 777 0 70001
}
it "appends, in order, behind what is there" appends
# That file is made after the process has given up what a copy does not need.
it "makes the file that it appends to" eval \
    '"$blocks" make src 300000 && exits 0 "$pardd" if=src of=dst oflag=append && complete && same src dst'
it "refuses to append to a device" usage 'for files, not for devices' if=/dev/null of=/dev/full oflag=append
to_itself()
{
	"$blocks" make src 1000 && cp src old && exits 101 "$pardd" if=src of=src oflag=append &&
	    one_line 'src cannot be appended to itself' && same src old
}
it "... or a file to itself" to_itself

it "pads the last block with zeros on conv=sync" eval \
    '"$blocks" make src 1300 && exits 0 "$pardd" if=src of=dst bs=512 conv=sync && size_is dst 1536 &&
    holds dst 0 0 1300 && "$blocks" zero dst 1300 236'

exists()
{
	"$blocks" make src 10 && "$blocks" make dst 10 9 && exits 67 "$pardd" if=src of=dst "$1" && holds dst 0 0 10 9
}
it "does not touch an existing file with conv=excl" exists conv=excl
it "does not touch an existing file with oflag=excl" exists oflag=excl
missing()
{
	"$blocks" make src 10 && exits 52 "$pardd" if=src of=dst "$1" && [[ ! -e dst ]]
}
it "creates nothing with conv=nocreat" missing conv=nocreat
it "creates nothing with oflag=nocreat" missing oflag=nocreat
it "says that there is no source, and creates nothing" eval \
    'exits 52 "$pardd" if=src of=dst && one_line src && [[ ! -e dst ]]'
directory()
{
	mkdir d && run "$pardd" if=d of=dst
	[[ $status != 0 ]] && one_line d && [[ ! -e dst ]]
}
it "does not copy a directory" directory
it "does not follow a link with iflag=nofollow" eval \
    '"$blocks" make src 10 && ln -s src l && exits 90 "$pardd" if=l of=dst iflag=nofollow && [[ ! -e dst ]]'
# An old file that was longer.
old_end()
{
	"$blocks" make src 100000 && "$blocks" make dst 300000 9 || return
	exits 0 "$pardd" if=src of=dst "$@" && complete && cmp -n 100000 src dst &&
	    "$blocks" check dst 100000 100000 200000 9
}
told='^pardd: note: dst is longer than the copy, and .* from byte 100000 .*oflag=trunc'
old_end_told()
{
	old_end "$@" && says "$told" && exits 0 "$pardd" -dv if=src of=dst "$@" &&
	    grep -q '^note=dst is longer than the copy, and .* from byte 100000 ' out
}
it "says that the end of an old file is left" old_end_told
it "does not say so where that was asked for" eval 'old_end conv=notrunc && does_not_say oflag=trunc'
it "does not say so of a part that is put into a file" eval \
    'old_end iflag=count_bytes count=100000 && does_not_say oflag=trunc'
it "says so after a copy from a pipe" eval \
    '"$blocks" make dst 300000 9 && "$blocks" make - 100000 | "$pardd" of=dst 2>err && says "$told"'
it "copies a file of /proc, which says that it is empty" eval \
    'exits 0 "$pardd" if=/proc/version of=dst && complete && cmp /proc/version dst'
read_once()
{
	FAULT_LOG_ALL=1 exits 0 with_faults 'on=/proc/version op=read fail=EIO nth=99' \
	    "$pardd" if=/proc/version of=dst && cmp /proc/version dst || return
	[[ $(grep -c '^read 0 ' faults) = 1 ]] || fail "$(<faults)"
}
it "takes nothing out of such a file beforehand, as /proc/kmsg would forget it" read_once
skip_sizeless()
{
	local bytes
	bytes=$(wc -c </proc/version)
	exits 102 "$pardd" if=/proc/version of=dst skip=$((bytes + 1)) iflag=skip_bytes &&
	    exits 0 "$pardd" if=/proc/version of=dst skip="$bytes" iflag=skip_bytes && [[ ! -s dst ]] &&
	    exits 0 "$pardd" if=/proc/version of=dst skip=$((bytes - 3)) iflag=skip_bytes &&
	    cmp dst <(tail -c 3 /proc/version)
}
it "says when such a file ends before skip=" skip_sizeless
it "says when the target's directory is not there" eval '"$blocks" make src 10 && exits 52 "$pardd" if=src of=no/dst'

long_name()
{
	local name
	name=$(printf 'n%.0s' {1..300})
	"$blocks" make src 10 && exits 86 "$pardd" if=src of="$name" && one_line nnn
}
it "says when a name is too long" long_name
locked()
{
	"$blocks" make src 1000 && "$blocks" make dst 1000 9 &&
	    exits 61 flock dst "$pardd" if=src of=dst oflag=flock && holds dst 0 0 1000 9
}
if able 'command -v flock' "no flock(1)"; then
	it "does not write to a file that is locked, with oflag=flock" locked
	it "... nor appends to it" eval '"$blocks" make src 1000 && "$blocks" make dst 1000 9 &&
	    exits 61 flock dst "$pardd" if=src of=dst oflag=append,flock && holds dst 0 0 1000 9 && size_is dst 1000'
fi
asked()
{
	export FAULT_LOG_ALL=1
	truncate -s 64M src && exits 0 with_faults "on=src op=read" "$pardd" if=src of=. engine=threads "${@:2}" &&
	    faulty read 64 || return
	! grep -v "^read [0-9]* $1 $1 " faults | head -n 3 | grep .
}
it "reads as much at a time as bpt= says" asked 4096 bs=512 bpt=8
it "reads 1 MiB at a time where nothing is said" asked 1048576
it "reads around the page cache with iflag=direct" eval 'asked 1048576 iflag=direct && ! grep -v direct faults'
it "reads through the page cache with iflag=cached" eval 'asked 1048576 iflag=cached && ! grep -v cached faults'

traceless()
{
	"$blocks" make src 16000001 && sync src && dd if=src iflag=nocache count=0 status=none || return
	[[ $("$blocks" incore src) = 0 ]] || fail "the source is cached before" || return
	exits 0 with_faults "on=src op=read $1;on=dst op=write $1" "$pardd" if=src of=dst thr="${2:-4}" || return
	local n=("$("$blocks" incore src)" "$("$blocks" incore dst)")
	[[ ${n[*]} = "0 0" ]] || fail "pages left: ${n[*]}"
}
neighbourly()
{
	local try
	"$blocks" make src 16000001 && sync src || return
	for try in 1 2 3; do	# the kernel itself may want the memory, once
		cat src >/dev/null && exits 0 "$pardd" if=src of=dst || return
		(($("$blocks" incore src) <= 3900)) || return 0
		echo "try $try: $("$blocks" incore src) pages are left"
	done
	return 1
}
# nothing OPERANDS...: the target keeps its pages in the cache
nothing()
{
	local try
	"$blocks" make dst 4M 9 && sync dst || return
	for try in 1 2 3; do
		cat dst >/dev/null && exits 0 "$pardd" of=dst "$@" || return
		(($("$blocks" incore dst) <= 900)) || return 0
		echo "try $try: $("$blocks" incore dst) pages are left"
	done
	return 1
}
# cgroup MIB: a group whose processes may have so much memory, page cache
# included; its directory in $group
cgroup()
{
	local root
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		group=$root/pardd-test.$$
		mkdir "$group" 2>/dev/null || continue
		{ echo $(($1 << 20)) >"$group/memory.limit_in_bytes" ||
		    echo $(($1 << 20)) >"$group/memory.max"; } 2>/dev/null && return
		rmdir "$group"
	done
	return 1
}
in_group()
{
	echo "$BASHPID" >"$group/cgroup.procs" && "$@"
}
can_group()
{
	((EUID == 0)) && cgroup 64 && rmdir "$group"
} 2>/dev/null
# The target is old: all of it has blocks, or only half.
old_target()
{
	local i
	"$blocks" make dst 256M 9 || return
	[[ $1 = whole ]] || for ((i = 0; i < 256; i += 8)); do
		fallocate -p -o "${i}M" -l 4M dst || return
	done
}
# spares WHOLE|HALF OPERANDS...: in a group of 96 MiB, where 32 MiB are cached
spares()
{
	local try file pages
	"$blocks" make near 32M && "$blocks" make src 256M && old_target "$1" && cgroup 96 &&
	    undo rmdir "$group" || return
	for try in 1 2 3; do	# the kernel itself may want the memory, once
		sync near src dst
		for file in near src dst; do
			dd if=$file iflag=nocache count=0 status=none
		done
		(in_group cat near) >/dev/null
		pages=$("$blocks" incore near)
		((pages == 8192)) || { echo "try $try: $pages pages before"; continue; }
		(in_group exits 0 "$pardd" if=src of=dst "${@:2}") && same src dst || return
		pages=$("$blocks" incore near)
		((pages < 8000)) || return 0
		echo "try $try: $pages pages are left of 8192"
	done
	return 1
}
in_little()
{
	"$blocks" make src 128M && cgroup 16 && undo rmdir "$group" || return
	(in_group exits 0 "$pardd" if=src of=dst iflag=direct oflag=direct "$@") && complete && same src dst
}
if [[ $VARIANT != plain ]]; then
	:
elif able can_group "no memory cgroup, or not root"; then
	it "leaves alone what others have cached, while it overwrites a file" spares whole
	it "... in small pieces" spares whole bs=512 bpt=64
	it "... by threads" spares whole engine=threads
	it "... which has holes" spares half
	it "lives in a group of 16 MiB, with requests past the page cache" in_little engine=async
	it "... with many of them" in_little qd=128
	it "... at several targets" in_little of=dst2
fi
append_traceless()
{
	local pages
	"$blocks" make src 12M && "$blocks" make dst 4096 9 && sync dst &&
	    exits 0 "$pardd" if=src of=dst oflag=append || return
	pages=$("$blocks" incore dst)
	((pages <= 1)) || fail "$pages pages are left" || return
	cmp src <(tail -c +4097 dst) || return
	exits 0 "$pardd" if=src of=dst oflag=append,cached && pages=$("$blocks" incore dst)
	((pages >= 3072)) || fail "$pages pages are left with cached"
}
if able '[[ $(stat -f -c %T "$scratch") = ext* ]]' "the scratch directory is not on ext4"; then
	it "leaves nothing of two files in the page cache" traceless ''
	it "leaves nothing there with 16 workers" traceless '' 16
	it "leaves nothing there where the kernel does not know RWF_DONTCACHE" traceless old
	it "leaves alone what others had cached of the source" neighbourly
	it "leaves alone what others have cached of a target that gets nothing" nothing if=/dev/zero count=0
	it "... from /dev/null" nothing if=/dev/null
	it "leaves nothing there of what it appends" append_traceless
fi

# ---------------------------------------------------------------- refusals

past()
{
	"$blocks" make src 10240 && "$blocks" make dst 100 9 && refused "$1" if=src of=dst bs=512 "${@:2}" &&
	    size_is dst 100 && holds dst 0 0 100 9
}
it "refuses to skip past the end" past '(skip|end)' skip=21
it "refuses to count past the end" past '(count|end)' count=21
it "refuses skip and count that together are past the end" past '(count|skip|end)' skip=10 count=11
it "takes what reaches exactly to the end" copies 10240 bs=512 count=20
huge_skip()
{
	"$blocks" make src 512 && run "$pardd" if=src of=dst bs=512 skip="$1"
	[[ $status = 1 || $status = 101 ]] && [[ ! -e dst ]] && [[ $(wc -l <err) = 1 ]]
}
it "refuses a skip whose bytes do not fit a number" huge_skip 0x7fffffffffffffff
it "refuses a skip whose bytes wrap to a small number" huge_skip 0x80000000000001

too_far()
{
	"$blocks" make src 5000
	run "$pardd" if=src of=dst bs=512 seek=$(((1 << 54) - 1))
	[[ $status = 1 || $status = 101 || $status = 77 ]] || fail "status $status"
}
it "says so when the target would be larger than any file" too_far
no_memory()
{
	"$blocks" make src 100000
	ulimit -v 20000
	run "$pardd" if=src of=dst bs=1M bpt=100 thr=16 count=100000 iflag=count_bytes
	[[ $status = 0 ]] || { does_not_say 'pardd: complete' && [[ -s err ]]; } || return
	run "$pardd" if=/dev/zero of=dst bs=1M bpt=100 thr=16 count=1000
	[[ $status = 62 && -s err ]] || fail "status $status"
}
[[ $VARIANT != plain ]] || it "says so when there is no memory" no_memory

# ------------------------------------------------------------------ sparse

with_holes()
{
	truncate -s 8M src && "$blocks" make src 70000 0 1M && "$blocks" make src 4096 0 5M
}
sparse()
{
	with_holes && exits 0 "$pardd" if=src of=dst "$@" && size_is dst 8388608 && same src dst || return
	(($(stat -c %b dst) < 2048)) || fail "$(stat -c %b dst) sectors are in use"
}
it "leaves holes with conv=sparse" sparse bs=4096 conv=sparse
it "leaves holes with oflag=sparse" sparse bs=4096 oflag=sparse bpt=16 thr=16
sparse_onto()
{
	with_holes && "$blocks" make dst 9M 9 && exits 0 "$pardd" if=src of=dst bs=4096 conv=sparse || return
	"$blocks" check dst 8M 8M 1M 9 && head -c 8M dst | cmp - src
}
it "leaves nothing of what was there where it leaves a hole" sparse_onto

# ------------------------------------------------- many, big, far, and small

# One random configuration; its command line is in the file line.
random_one()
{
	local sizes=(512 512 512 1024 4096 520 1000 65536 33 2048)
	local bs=${sizes[RANDOM % ${#sizes[@]}]} bytes skip seek count args=()
	local left from to
	bytes=$(((RANDOM * 32768 + RANDOM) % (RANDOM % 2 ? 700000 : 40000)))
	skip=$((RANDOM % 3 ? 0 : RANDOM % (bytes / bs + 1)))
	seek=$((RANDOM % 2 ? 0 : RANDOM % 40))
	left=$((bytes - skip * bs))
	if ((RANDOM % 2)); then
		count=$((RANDOM % (left / bs + 1)))
		left=$((count * bs))
		args+=("count=$count")
	fi
	((RANDOM % 3 == 0)) || args+=("bpt=$((1 + RANDOM % 80))")
	((RANDOM % 5)) || args+=(iflag=direct)
	((RANDOM % 5)) || args+=(oflag=direct)
	from=$((RANDOM % 3)) to=$((RANDOM % 3))
	args+=("bs=$bs" "thr=$((1 + RANDOM % 16))" "skip=$skip")
	"$blocks" make src "$bytes" || return
	rm -f dst
	case $from,$to in
	[01],[01])	args+=(if=src of=dst "seek=$seek")
			echo "bytes=$bytes ${args[*]}" >line
			exits 0 "$pardd" "${args[@]}" || return ;;
	[01],2)		args+=(if=src)
			seek=0
			echo "bytes=$bytes ${args[*]} | cat" >line
			"$pardd" "${args[@]}" 2>err | cat >dst
			status=${PIPESTATUS[0]} ;;
	2,[01])		args+=(of=dst "seek=$seek")
			echo "bytes=$bytes cat | ${args[*]}" >line
			"$blocks" drip "$bytes" | "$pardd" "${args[@]}" 2>err
			status=${PIPESTATUS[1]} ;;
	*)		args+=(if=- of=-)
			seek=0
			echo "bytes=$bytes cat | ${args[*]} | cat" >line
			"$blocks" drip "$bytes" | "$pardd" "${args[@]}" 2>err | cat >dst
			status=${PIPESTATUS[1]} ;;
	esac
	[[ $status = 0 ]] && complete || return
	((left == 0)) || size_is dst $((seek * bs + left)) || return
	((left == 0)) || "$blocks" zero dst 0 $((seek * bs)) || return
	((left == 0)) || holds dst $((seek * bs)) $((skip * bs)) "$left"
}
random_many()
{
	local i
	RANDOM=$1
	for ((i = 0; i < $2; i++)); do
		random_one && continue
		echo "no. $i of SEED=$seed (part $1): $(<line)"
		cat err
		return 1
	done
}
many=$(heavy 250)
[[ -z $LONG ]] || many=20000
echo "# SEED=$seed, $many configurations"
for i in $(few 1 2 3 4 5); do
	it "is exact in $((many / 5)) random configurations ($i of 5)" random_many $((seed + i)) $((many / 5))
done

big=$((128 / weight))M
times=$(heavy 5)
[[ -z $LONG ]] || times=100
"$blocks" make "$scratch/big" "$big"
ordered()
{
	local i
	for ((i = 0; i < times; i++)); do
		exits 0 "$pardd" if="$scratch/big" of=dst bpt=128 "thr=$1" &&
		    complete && holds dst 0 0 "$big" || return
	done
}
for thr in $(few 2 4 8 16); do
	it "copies $big exactly with $thr workers, $times times" ordered "$thr"
done

lean()
{
	local kib
	truncate -s 1G src
	exits 0 "$tools/ends" how "$pardd" if=src of=/dev/null thr=16 || return
	kib=$(sed -n 's/.* rss //p' how)
	((kib < 65536)) || fail "$kib KiB were in use"
}
[[ $VARIANT != plain ]] || it "needs little memory, however much it copies" lean

# Where files may be 16 TiB long; ext4 stops short of it.
for room in "$scratch" $(! has_shm || echo /dev/shm); do
	far=$(mktemp "$room/pardd-far.XXXXXX" 2>/dev/null) || continue
	truncate -s 16T "$far" 2>/dev/null && break
	rm -f "$far"
	far=
done
at=$(((1 << 44) - (1 << 20)))
far_source()
{
	undo rm -f "$far"
	"$blocks" make "$far" 1M 0 $at && exits 0 "$pardd" if="$far" of=dst bs=512 skip=$((at / 512)) &&
	    size_is dst 1048576 && holds dst 0 $at 1M
}
far_target()
{
	undo rm -f "$far"
	"$blocks" make src 1000001 && exits 0 "$pardd" if=src of="$far" bs=512 bpt=8 seek=$((at / 512)) &&
	    holds "$far" $at 0 1000001 && "$blocks" zero "$far" $((at - 4096)) 4096
}
if able '[[ -n $far ]]' "no file system here takes a file of 16 TiB"; then
	rm -f "$far"
	it "reads the last MiB of 16 TiB" far_source
	it "writes the last MiB of 16 TiB" far_target
	rm -f "$far"
fi
