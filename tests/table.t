#!/usr/bin/env bash
# The partition table of a clone: table=fix and table=new.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/dice.sh
. "$top/tests/dice.sh"
needs can_loop 'command -v sfdisk sgdisk jq' -- "no loop devices, or no sfdisk, sgdisk, jq"
seed=${SEED:-$RANDOM} cuts=

# disk_of FILE BYTES SECTOR: a new disk; its node is in $dev
disk_of()
{
	rm -f "$1" && truncate -s "$2" "$1" && loop "$1" -b "$3"
}
# table_of NODE: what its partitions are, in bytes; a name that the kernel gives is left out
table_of()
{
	sfdisk -J "$1" | jq -S '.partitiontable | (.sectorsize // 512) as $unit | {"label": .label, id} + {p: [.partitions[]? |
	    {n: (.node | capture("(?<n>[0-9]+)$").n), start: (.start * $unit), size: (.size * $unit), type, uuid, name,
	    attrs, bootable}]}'
}
# sound NODE: nothing is wrong with it
sound()
{
	sfdisk -V "$1" >said 2>&1 && ! grep -qiE 'overlap|beyond|not match|invalid|corrupt' said || fail "$(<said)" || return
	sfdisk -d "$1" | grep -q '^label: dos' && return
	sgdisk -v "$1" >said 2>&1 && grep -q 'No problems found' said || fail "$(<said)"
}
# parted_alike A B: the partitions have the same bytes
parted_alike()
{
	local start size
	while read -r start size; do
		cmp -i "$start" -n "$size" "$1" "$2" || return
	done < <(sfdisk -J "$1" | jq -r '.partitiontable | (.sectorsize // 512) as $unit | .partitions[]? |
	    select(.type | IN("5", "f", "85") | not) | "\(.start * $unit) \(.size * $unit)"')
}
# table_like A B: the same partitions
table_like()
{
	table_of "$1" >table.a && table_of "$2" >table.b && diff table.a table.b && parted_alike "$1" "$2"
}
# whole FILE SECTOR BYTES: a disk with two partitions in 40 MiB
whole()
{
	disk_of "$1" "$3" "$2" && sfdisk -q --no-reread --no-tell-kernel "$dev" <<-EOT && dd status=none if=/dev/urandom of="$dev" bs=1M seek=1 count=8 conv=notrunc && sync "$dev"
	label: gpt
	start=1MiB, size=4MiB, type=uefi, name="it's"
	start=8MiB, size=16MiB, attrs="LegacyBIOSBootable"
	EOT
}
# cloned FROM TO SECTOR BYTES WORDS...: and is right
cloned()
{
	local from=$1 to=$2
	disk_of "$to" "$4" "$3" && exits 0 "$pardd" if="$from" of="$dev" "${@:5}" && complete && sync "$dev" &&
	    sound "$dev"
}
larger()
{
	whole a "$1" 40M && a=$dev && cloned "$a" b "$2" "$3" table=fix && table_like "$a" "$dev" &&
	    says ', table moved$' && says "note: the partition table was changed, so bytes .* of $dev differ"
}
smaller()
{
	larger 512 512 25M && size_is b $((25 << 20)) && says '^49152\+0 records in'
}
# drawn BYTES BAR [WORDS]
drawn()
{
	local bar
	whole a 512 40M && a=$dev && disk_of b "$1" 4096 && exits 0 "$pardd" if="$a" of="$dev" -d "${3-table=fix}" || return
	bar=$(grep '^After ' out)
	if [[ -n $2 ]]; then
		[[ $bar =~ ^After\ +$2 ]]
	else
		[[ -z $bar ]] && tr -s ' \n' ' ' <out | grep -q 'will not be found; table=fix converts it'
	fi || fail "$(<out)"
}
new_names()
{
	whole a 512 40M && a=$dev && cloned "$a" b "$1" "$2" table=new verify=1 &&
	    says '^pardd: complete, flushed, verified, table moved$' && table_of "$a" >x && table_of "$dev" >y || return
	says 'note: the partition table was changed, so bytes ' && says 'note: partitions have new GUIDs: .* PARTUUID=' && ! cmp -s x y && diff <(jq 'del(.id, .p[].uuid)' x) <(jq 'del(.id, .p[].uuid)' y) &&
	    [[ $(jq -r '.id, .p[].uuid' x y | sort | uniq -d) = '' ]]
}
as_it_is()
{
	whole a 512 40M && a=$dev && cloned "$a" b 512 40M table=fix && says '^pardd: complete, flushed$' && cmp a b
}
# refuses WHY WORDS...: and nothing was touched
refuses()
{
	local why=$1
	shift
	cp b old && exits 101 "$pardd" if="$a" of="$dev" "$@" && says "$why" && cmp b old
}
too_small()
{
	whole a 512 40M && a=$dev && disk_of b 24M 512 && refuses 'is too small: the partitions and their table need 25182720 bytes, and it has 25165824$' table=fix &&
	    disk_of c 24M 512 && : >c && says .
}
no_whole()
{
	disk_of a 40M 512 && a=$dev && echo 'start=2049, size=2048' | sfdisk -q --no-reread --no-tell-kernel --label gpt "$a" && disk_of b 64M 4096 &&
	    refuses 'partition 1 does not begin and end at whole sectors of 4096 bytes' table=fix
}
no_table()
{
	disk_of a 8M 512 && a=$dev && disk_of b 16M 512 && refuses 'has no partition table' table=new
}
spoilt()
{
	whole a 512 40M && a=$dev && "$blocks" make noise 512 3 &&
	    dd status=none if=noise of="$a" seek="$1" conv=notrunc && cloned "$a" b 512 64M table=fix && parted_alike b b &&
	    [[ $(table_of "$dev" | jq -c '[.p[].name]') = "[\"it's\",null]" ]] || return
	dd status=none if=noise of="$a" seek="$2" conv=notrunc && refuses . table=fix
}
# one_valid WORDS...: each write and each flush of the table fails; the partitions are still found
one_valid()
{
	local i
	whole a 512 40M && a=$dev && table_of "$a" >table.a || return
	for i in 41 42 43; do
		rm -f b && truncate -s 64M b && ! with_faults "on=$PWD/b op=write nth=$i fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc engine=threads thr=1 bpt=2048 table=fix 2>err && says 'partition table' && faulty write &&
		    table_of b | diff table.a - || return
	done
	for i in 2 3 4; do
		rm -f b && truncate -s 64M b && exits 103 with_faults "on=$PWD/b op=flush nth=$i fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc table=fix && faulty fdatasync && table_of b | diff table.a - || return
	done
	# in mid write
	for i in 700 1024 5000 17000; do
		rm -f b && truncate -s 64M b && ! with_faults "on=$PWD/b op=write at=$i+1 from=2 fail=EIO" "$pardd" if="$a" of=b \
		    conv=notrunc engine=threads thr=1 bpt=2048 table=fix 2>err && faulty write &&
		    table_of b | diff table.a - || return
	done
}
# killed SECTOR: ... and so they are if it is killed before each of these writes
killed()
{
	local i=41 pid
	whole a 512 40M && a=$dev && table_of "$a" >table.a && disk_of b 64M "$1" || return
	for (( ; i < 48; i++)); do
		rm -f faults
		FAULTS="on=$dev op=write nth=$i hang" LD_PRELOAD=$shim FAULT_LOG=$PWD/faults "$pardd" if="$a" of="$dev" \
		    engine=threads thr=1 bpt=2048 table=fix 2>err &
		pid=$!
		until_true 60 eval 'grep -qs ^waits faults || ! kill -0 $pid' 2>kills || return
		[[ -s faults ]] || break
		kill -9 $pid
		! wait $pid 2>kills || return
		# before the backup is there, a table in other sectors is not
		[[ $i = 41 && $1 = 4096 ]] || table_of "$dev" 2>said | diff table.a - || fail "write $i: $(<said)" || return
	done
	((i > 43 && i < 48)) && wait $pid && complete && sound "$dev"
}
read_back()
{
	whole a 512 40M && a=$dev && truncate -s 64M b &&
	    exits 14 with_faults "on=$PWD/b op=write at=67092000+1 flip" "$pardd" if="$a" of=b conv=notrunc table=fix verify=1 &&
	    says 'the partition table is not what was written'
}
# headers_in FILE: how many of it begin like the header of a GPT
headers_in()
{
	LC_ALL=C grep -abo 'EFI PART' "$1" | awk -F : '$1 % 512 == 0 { n++ } END { print n + 0 }'
}
# unmountable SECTOR MAKE...: whether the file system in partition 2, which is made by a
# command, is said to be none for such sectors, before the copy and after it
unmountable()
{
	truncate -s 16M fs && "${@:2}" >made 2>&1 && whole a 512 40M && a=$dev &&
	    dd status=none if=fs of="$a" bs=1M seek=8 count=16 conv=notrunc && sync "$a" && disk_of b 64M "$1" || return
	exits 0 "$pardd" if="$a" of="$dev" table=fix -d && grep -q 'cannot be mounted from [^ ]*: partition 2 ' <(tr -s ' \n' ' ' <out) &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && says 'note: file systems made for smaller sectors cannot be mounted from [^ ]*: partition 2$'
}
# Many have a FAT: as many are named as there is room for, none in part.
many_unmountable()
{
	local i
	disk_of a 40M 512 && { echo 'label: gpt'; for i in {1..40}; do echo size=256KiB; done; } |
	    sfdisk -q --no-reread --no-tell-kernel "$dev" && a=$dev || return
	for i in $(sfdisk -J "$a" | jq '.partitiontable.partitions[].start'); do
		printf '\0\2' | dd status=none of="$a" bs=1 seek=$((i * 512 + 11)) conv=notrunc &&
		    printf FAT | dd status=none of="$a" bs=1 seek=$((i * 512 + 54)) conv=notrunc || return
	done
	sync "$a" && disk_of b 64M 4096 && exits 0 "$pardd" if="$a" of="$dev" table=fix && complete &&
	    says 'cannot be mounted from [^ ]*: partition 1, 2, ([0-9]+, )*16, 17, \.\.\.$'
}
# many_kept COMMAND...: each of 12 partitions has what that makes in a file, and another UUID needs a command
many_kept()
{
	local i
	disk_of a 40M 512 && { echo 'label: gpt'; for i in {1..12}; do echo size=1MiB; done; } |
	    sfdisk -q --no-reread --no-tell-kernel "$dev" && a=$dev && truncate -s 1M fs && "$@" fs >made 2>&1 || return
	for i in $(sfdisk -J "$a" | jq '.partitiontable.partitions[].start'); do
		dd status=none if=fs of="$a" seek="$i" conv=notrunc || return
	done
	sync "$a" && disk_of b 64M 512 && exits 0 "$pardd" if="$a" of="$dev" table=new && complete &&
	    says 'those of partition 1: swaplabel -U \$\(uuidgen\), ([0-9]: swaplabel -U \$\(uuidgen\), )*\.\.\.$'
}
mountable()
{
	! unmountable "$@" >said && grep -q '^Table' out && exits 0 "$pardd" if="$a" of="$dev" table=fix && complete &&
	    does_not_say 'cannot be mounted'
}
left_over()
{
	whole a 512 40M && a=$dev && cloned "$a" b 4096 64M table=fix && ! grep -q 'EFI PART' <(dd status=none if=b bs=4096 count=1) &&
	    [[ $(headers_in b) = 2 ]]
}
# Its table says where the backup is that a disk had before it grew.
grown()
{
	whole a 512 40M && a=$dev && truncate -s 56M a && losetup -c "$a" && cloned "$a" b 512 "$1" table=fix &&
	    [[ $(headers_in b) = 2 ]] && table_like "$a" "$dev" 2>said
}
# flipped NODE OFFSET: one bit there
flipped()
{
	local octet
	octet=$(od -An -tu1 -j "$2" -N 1 "$1") && printf %b "\\x$(printf %x $((octet ^ 1)))" |
	    dd status=none of="$1" bs=1 seek="$2" conv=notrunc && sync "$1"
}
# Its backup is damaged at an offset from its last sector.
left_damaged()
{
	whole a 512 40M && a=$dev && flipped "$a" $(((40 << 20) - 512 + $1)) && cloned "$a" b "$2" 64M table=fix &&
	    [[ $(headers_in b) = 2 ]] && table_like "$a" "$dev" 2>said
}
no_logical()
{
	disk_of a 64M 512 && a=$dev && printf '%s\n' 'label: dos' 'start=1MiB, size=8MiB' 'start=32MiB, size=16MiB, type=5' |
	    sfdisk -q --no-reread --no-tell-kernel "$a" && disk_of b 20M 512 &&
	    refuses 'is too small: the partitions and their table need 33554944 bytes, and it has 20971520$' table=fix && disk_of b 33M 512 &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && sync "$dev" && sound "$dev"
}
logical()
{
	disk_of a 64M "$1" && a=$dev && sfdisk -q --no-reread --no-tell-kernel "$a" <<-EOT && dd status=none if=/dev/urandom of="$a" bs=1M seek=18 count=4 conv=notrunc
	label: dos
	start=1MiB, size=8MiB, type=83, bootable
	start=16MiB, size=32MiB, type=5
	start=17MiB, size=4MiB, type=83
	start=24MiB, size=8MiB, type=7
	EOT
	disk_of b "$3" "$2" && exits 0 "$pardd" if="$a" of="$dev" "table=${4:-fix}" && complete && sync "$dev" && sound "$dev" &&
	    table_of "$a" >x && table_of "$dev" >y &&
	    diff <(jq 'del(.id, .p[].uuid, (.p[] | select(.type == "5").size))' x) \
	    <(jq 'del(.id, .p[].uuid, (.p[] | select(.type == "5").size))' y) && parted_alike "$a" "$dev"
}
several()
{
	local b c
	whole a 512 40M && a=$dev && disk_of b 64M 4096 && b=$dev && disk_of c 25M 512 && c=$dev &&
	    exits 0 "$pardd" if="$a" of="$b" of="$c" table=fix verify=1 && sync "$b" "$c" && sound "$b" && sound "$c" &&
	    table_like "$a" "$b" && table_like "$a" "$c"
}
# A smaller target has as much as the partitions need, and so has one that could have all.
as_large()
{
	local b c
	whole a 512 40M && a=$dev && disk_of b 25M 512 && b=$dev && disk_of c 40M 512 && c=$dev &&
	    exits 0 "$pardd" if="$a" of="$b" of="$c" table=fix verify=1 && sync "$b" "$c" && sound "$b" && sound "$c" &&
	    table_like "$a" "$b" && table_like "$a" "$c"
}
# parts_in NODE: "NUMBER START SECTORS", of 512 bytes, of all partitions
parts_in()
{
	partx -rgo NR,START,SECTORS "$1"
}
# As many ranges are told as there is room for.
long_chain()
{
	local i
	disk_of a 64M 4096 && { printf '%s\n' 'label: dos' 'start=1MiB, size=62MiB, type=5'; for i in {1..30}; do echo size=512KiB; done; } |
	    sfdisk -q --no-reread --no-tell-kernel "$dev" && a=$dev && disk_of b 64M 512 &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && sound "$dev" &&
	    says "so bytes ([0-9]+ to [0-9]+, ){16}\.\.\. of $dev differ from the source$"
}
# Two extended partitions: the second has the chain of the first, for its numbers are relative.
two_chains()
{
	disk_of a 64M "$1" && a=$dev && printf '%s\n' 'label: dos' 'start=1MiB, size=8MiB, type=83' 'start=16MiB, size=12MiB, type=5' \
	    'start=32MiB, size=16MiB, type=83' 'start=17MiB, size=2MiB, type=83' 'start=20MiB, size=8MiB, type=7' |
	    sfdisk -q --no-reread --no-tell-kernel "$a" && dd status=none if="$a" of="$a" bs=1M skip=16 seek=32 count=12 conv=notrunc &&
	    printf '\5' | dd status=none of="$a" bs=1 seek=482 conv=notrunc && sync "$a" && parts_in "$a" >parts.a &&
	    [[ $(wc -l <parts.a) = 7 ]] || fail "$(<parts.a)" || return
	disk_of b "$3" "$2" && exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && parts_in "$dev" | diff parts.a -
}
# --- any table, to any disk: the source is a, on the node $a; its sectors are $from, those of
# the target $to, of $bytes

# sector_read OFFSET: 512 bytes of the source.  int OFFSET BYTES: a number there, in $int
sector_read()
{
	mapfile -t octets < <(od -An -v -tu1 -w1 -j "$1" -N 512 a)
}
int()
{
	local i
	int=0
	for ((i = $1 + $2; i-- > $1; )); do
		((int = int << 8 | octets[i]))
	done
}
# parts_of GRAIN NUMBERS WORDS: for each number a partition of whole grains, behind sector $at,
# until $most; their lines are in $lines
parts_of()
{
	local number size
	lines=()
	for number in $2; do
		dice=0
		chance 40 || big $((2000000 / from))
		at=$(((at + dice + $1 - 1) / $1 * $1))
		big $((1500000 / from / $1 + 1))
		size=$(((dice + 1) * $1))
		((at + size < most)) || return 0
		"$3"
		lines+=("${a}p$((number + 1)): start=$at, size=$size, $words")
		at=$((at + size + gap))
	done
}
gpt_words()
{
	local attrs=('' '' RequiredPartition 'RequiredPartition LegacyBIOSBootable' 'GUID:48,63' GUID:60)
	pick C12A7328-F81F-11D2-BA4B-00A0C93EC93B linux 4D21B016-B534-45C2-A9FB-5C16E091FD2D swap
	words="type=$picked" picked="it's $RANDOM /// $RANDOM \$HOME $RANDOM"
	! chance 60 || words+=", name=\"${picked:0:$((1 + RANDOM % 36))}\""
	pick "${attrs[@]}"
	[[ -z $picked ]] || words+=", attrs=\"$picked\""
}
mbr_words()
{
	pick 83 7 c 82 da
	words="type=$picked"
	! chance 20 || words+=', bootable'
}
# shuffled N MOST: up to N different numbers below MOST
shuffled()
{
	local i
	numbers=' '
	for ((i = 0; i < $1; i++)); do
		big "$2"
		[[ $numbers = *" $dice "* ]] || numbers+="$dice "
	done
}
# What sfdisk makes the table of: entries of any number, in any order; or primary and logical
# partitions, in a chain of any order
table_lines()
{
	local count at grain sectors=$((source_bytes / from)) most gap=0 kind lines numbers words i
	pick $((512 / from)) 1 8 $((4096 / from)) $((65536 / from)) $((1048576 / from))
	grain=$((picked > 0 ? picked : 1))
	if [[ $label = gpt ]]; then
		pick 128 128 1 4 7 31 33 56 130 255 400
		count=$picked
		at=$((2 + (count * 128 + from - 1) / from)) most=$((sectors - count / 4 - 9))
		! chance 50 || at=$((1048576 / from))
		printf '%s\n' 'label: gpt' "table-length: $count" "first-lba: $at"
		shuffled $((RANDOM % 9)) "$count"
		parts_of "$grain" "$numbers" gpt_words
		printf '%s\n' "${lines[@]}"
		return
	fi
	echo 'label: dos'
	at=1 most=$((sectors / 2))
	shuffled $((RANDOM % 4)) 3
	parts_of "$grain" "$numbers" mbr_words
	printf '%s\n' "${lines[@]}"
	chance 70 || return 0
	at=$(((at + 7) / 8 * 8))
	pick 5 f 85
	kind=$picked
	pick 0 0 0 0 1 8
	echo "${a}p4: start=$at, size=$((((sectors - at) / 8 * 8) - picked)), type=$kind"
	at=$((at + 8)) most=$((sectors - 9))
	pick 1 8 8 2048
	gap=$picked
	shuffled $((RANDOM % 7)) 100
	parts_of "$grain" "$numbers" mbr_words
	# a chain may be in another order
	numbers=${!lines[*]}
	! chance 40 || ((${#lines[@]} == 0)) || shuffled 60 ${#lines[@]}
	kind=5
	for i in $numbers; do
		echo "${a}p$((kind++)):${lines[i]#*:}"
	done
}
# ... and what has happened to it since
table_aged()
{
	local logical
	if [[ $label = dos ]]; then
		logical=$(sfdisk -qlo device "$a" | grep -cE "p([5-9]|..)$")
		((logical == 0)) || ! chance 30 || sfdisk -q --no-reread --no-tell-kernel --delete "$a" $((5 + RANDOM % logical))
		return
	fi
	! chance 15 || { pick 3 8 16 64 1000; sgdisk -j "$picked" "$a" >said 2>&1; }
	! chance 8 || ! sfdisk -qlo device "$a" 2>&1 | grep -q 'p1$' || sgdisk -h 1 "$a" >said || return
	! chance 15 || { truncate -s +$((RANDOM % 100 * 4096)) a && losetup -c "$a"; }
}
# Noise over a header, or one bit of it.  Of a disk that has grown nobody finds the backup without the first.
table_spoilt()
{
	local last=$((source_bytes / from - 1))
	[[ $spoilt != *first* ]] || dd status=none if=noise of=a bs="$from" seek=1 count=1 conv=notrunc || return
	if [[ $spoilt = *last* ]] && chance 50; then
		flipped a $((last * from + 60)) || return
	elif [[ $spoilt = *last* ]]; then
		dd status=none if=noise of=a bs="$from" seek=$last count=1 conv=notrunc || return
	fi
	[[ -z $spoilt ]] || blockdev --flushbufs "$a"
}
# Whatever is not wanted of the target: why is what is said about it, and empty if all can be
# had.  kept is how much of the source counts, room what the table needs behind it.
wanted_of_gpt()
{
	local start end first table place
	sector_read "$from"
	int 72 8
	place=$((int * from))
	int 80 4
	behind=$((place + (int * 128 + from - 1) / from * from))
	table=$(((int * 128 + to - 1) / to * to))
	int 40 8
	first=$((int * from))
	[[ $spoilt != *first* ]] || place=$((2 * from))
	((place == 2 * from || place % to == 0)) || why+='|whole sectors'
	((place > 2 * from && place > 2 * to)) || place=$((2 * to))
	kept=$((place + table)) room=$((table + to))
	((behind > kept)) || behind=$kept
	# and something usable
	((first < kept)) || kept=$(((first + to - 1) / to * to))
	kept=$((kept + to))
	while read -r start end; do
		((start % to == 0 && end % to == 0)) || why+='|whole sectors'
		((start >= place + table)) || why+='|begins where the table'
		((kept > end)) || kept=$end
	done < <(jq -r '.p[] | "\(.start) \(.start + .size)"' table.a)
	[[ $spoilt != *first* || $(stat -c %s a) = "$source_bytes" ]] || spoilt='first last'
	[[ $spoilt != 'first last' ]] || why+='|damaged'
	sector_read 0
	int 466 1
	((int == 0 || from == to)) || why+='|hybrid'
}
wanted_of_mbr()
{
	local at=0 i next base=0 kind start count least
	kept=512 room=0
	while [[ -n $at ]]; do
		next=
		((at % to == 0)) || why+='|whole sectors|cannot count'
		sector_read $at
		for i in 446 462 478 494; do
			int $((i + 4)) 1
			kind=$int
			int $((i + 8)) 4
			start=$int
			int $((i + 12)) 4
			count=$int
			((kind > 0 && count > 0)) || continue
			((start * from % to == 0 && count * from % to == 0)) || why+='|cannot count'
			least=$((at + (start + count) * from))
			if [[ $kind = 5 || $kind = 15 || $kind = 133 ]]; then
				next=$((base + start * from)) least=$((next + from))
			fi
			((kept > least)) || kept=$least
		done
		[[ -z $next ]] || ((base > 0)) || base=$next
		at=$next
	done
}
# The same partitions; with table=new, with other names, and the extended one may end elsewhere
same_parts()
{
	local leave='.p[] |= if .type | IN("5", "f", "85") then del(.size) else . end'
	[[ $word = fix ]] || leave+=' | del(.id, .p[].uuid)'
	[[ $label = gpt ]] || leave+=' | del(.p[].uuid)'
	table_of "$dev" >table.b && diff <(jq "$leave" table.a) <(jq "$leave" table.b) || return
	[[ $word = fix || $label = dos || $(jq -r '.id, .p[].uuid' table.a table.b | sort | uniq -d) = '' ]] || fail 'old identifiers'
	[[ $word = fix || $(jq .id table.a) != "$(jq .id table.b)" ]] || fail 'the old identifier'
}
# ... and all that is between them
same_bytes()
{
	local last
	cmp -n 440 a b || return
	[[ $label = gpt ]] || { parted_alike "$a" b; return; }
	last=$(jq '[.p[] | .start + .size] | max // 0' table.a)
	[[ $last -le $behind ]] || cmp -l -i "$behind" -n $((last - behind)) a b >said || fail "a gap from $behind: $(head -n 3 said) $(wc -l <said) $(tail -n 1 said)" || return
	# one GPT, and its backup
	[[ $(headers_in b) = 2 ]] || fail "$(headers_in b) headers"
}
# There are the same partitions, wherever the power was cut.  Where the GPT of the source does
# not count, its backup comes before the start is touched; an MBR comes with its first sector.
at_cut()
{
	local dev
	((FLUSHED >= least)) || ! cmp -s -n "$start" cut a || return 0
	dev=$(losetup --find --show -b "$to" cut) || return
	table_of "$dev" >found 2>warned
	losetup -d "$dev"
	jq -S "${leave[@]}" found | cmp - wanted
}
always_has_one()
{
	local least=1 start=$((2 * to)) leave=('del(.id, .p[].uuid) | .p[] |= if .type | IN("5", "f", "85") then del(.size) else . end')
	((from == to && bytes >= source_bytes)) && [[ $spoilt != *first* ]] || least=2
	[[ $label = gpt ]] || least=9 start=512
	jq -S "${leave[@]}" table.a >wanted
	{ declare -f table_of at_cut; declare -p least leave start to; echo at_cut; } >check
	"$tools/powercut" -s "$RANDOM" -c 'bash ./check' trace a old "$dev" - "$cuts" >said 2>&1 || fail "$(<said)"
}
begin()
{
	head -c 24M /dev/urandom >noise && : >err
}
one()
{
	local from to bytes source_bytes label word why='' spoilt='' kept room behind int octets picked dice a
	pick 512 4096
	from=$picked
	pick "$from" 512 4096
	to=$picked
	pick gpt gpt dos
	label=$picked
	pick fix fix new
	word=$picked
	rm -f a b
	big 3000
	source_bytes=$(((3000 + dice) * 4096 + (from < 4096 ? RANDOM % 8 * 512 : 0)))
	head -c $source_bytes noise >a && loop a -b "$from" && a=$dev && table_lines >line &&
	    sfdisk -q --no-reread --no-tell-kernel "$a" <line >said 2>&1 && table_aged || {
		cat said
		# it finds no room for some chains
		grep -qE 'No free sectors|out of range' said && losetup -d "$a"
		return
	}
	sync "$a"
	table_of "$a" >table.a 2>said
	if [[ $label = gpt ]]; then
		! chance 12 || { pick first last 'first last'; spoilt=$picked; }
		wanted_of_gpt && table_spoilt || return
	else
		wanted_of_mbr
	fi
	pick $((kept + room)) $((kept + room)) $((kept + room - 1)) "$source_bytes" $((kept + room + RANDOM * 100)) $((source_bytes + RANDOM * 100))
	bytes=$(((picked + to - 1) / to * to))
	[[ $picked != $((kept + room - 1)) ]] || bytes=$(((kept + room - 1) / to * to))
	((bytes > 0)) || bytes=$to
	((bytes >= kept + room)) || why+='|too small'
	head -c "$bytes" /dev/zero >b
	loop b -b "$to" || return
	printf '%s\n' "${spoilt:+spoilt: $spoilt; }$from to $to, $bytes of $((kept + room)), table=$word, refused: $why" >>line
	if [[ -n $why ]]; then
		exits 101 "$pardd" if="$a" of="$dev" table="$word" && says "${why#|}" && cmp -n "$bytes" b /dev/zero || return
	else
		ran=$((ran + 1))
		cp b old && rm -f trace
		TRACE=${cuts:+$PWD/trace} LD_PRELOAD=${cuts:+$tools/trace.so} exits 0 "$pardd" if="$a" of="$dev" table="$word" \
		    ${cuts:+thr=1 engine=threads} && complete && sync "$dev" && sound "$dev" && same_parts && same_bytes || return
		[[ -z $cuts ]] || always_has_one || return
	fi
	losetup -d "$a" "$dev"
}

it "moves the backup GPT to the end of a larger disk" larger 512 512 64M
it "... and to that of a smaller one" smaller
it "converts it to sectors of 4096 bytes" larger 512 4096 64M
it "... and back" larger 4096 512 64M
it "... on a smaller disk" larger 512 4096 25M
it "draws in the plan what the target will have" drawn 64M '\[\.?1-+\.+2-+\.+\]'
it "... a smaller one" drawn 25M '\[\.?1-+\.+2-+\.\]'
it "... and not without table=" drawn 64M '' table=keep
it "leaves no table of the source in the clone" left_over
it "... nor the backup of a disk that has grown" grown 64M
it "... onto one of its size before" grown 40M
it "... nor a damaged backup" left_damaged 60 512
it "... on other sectors" left_damaged 60 4096
it "... nor one with damaged entries" left_damaged -16000 512
# The end of such a disk is no whole sector.
it "converts one whose end is no whole sector of the target" eval \
    'whole a 512 $(((40 << 20) + 512)) && a=$dev && cloned "$a" b 4096 64M table=fix && table_like "$a" "$dev"'
if command -v mke2fs >/dev/null; then
	it "names file systems that cannot be on larger sectors: ext" unmountable 4096 mke2fs -q -b 1024 fs
	it "... but not with larger blocks" mountable 4096 mke2fs -q -b 4096 fs
	it "... nor on sectors of the same size" mountable 512 mke2fs -q -b 1024 fs
fi
it "... of many the first" many_unmountable
given 'command -v mkfs.fat' "no mkfs.fat" it "... FAT" unmountable 4096 mkfs.fat fs
given 'command -v mkfs.xfs' "no mkfs.xfs" it "... XFS" unmountable 4096 eval 'truncate -s 320M fs && mkfs.xfs -q -f fs'
it "gives new identifiers with table=new" new_names 512 64M
it "has commands for as many UUIDs as there is room for, each whole" many_kept mkswap
it "... on a disk of the same size" new_names 512 40M
it "... and other sectors" new_names 4096 64M
it "changes nothing where the table fits" as_it_is
it "refuses a disk that is too small" too_small
it "refuses partitions that are no whole sectors" no_whole
it "refuses a source without a table" no_table
it "goes by the backup if the first GPT is spoilt, and refuses if both are" spoilt 1 81919
it "goes by the first if the backup is spoilt" spoilt 81919 1
it "has a valid table after each write and each flush that fails" one_valid
it "... and if it is killed before each write" killed 512
it "... with other sectors" killed 4096
it "reads the table back with verify=1" read_back
it "converts an MBR with logical partitions" logical 512 4096 96M
it "... and back" logical 4096 512 96M
it "cuts an extended partition on a smaller disk" logical 512 512 33M
it "... and refuses one that ends before its chain" no_logical
it "converts the chains of two extended partitions" two_chains 512 4096 96M
it "... and back" two_chains 4096 512 64M
it "tells of many logical partitions the first" long_chain
it "gives an MBR another signature" logical 512 512 64M new
it "makes a table for each of several targets" several
it "... also for one that is as large as the source, beside a smaller one" as_large
remains()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" &&
	    says "^pardd: note: after the copy $dev still has the backup of another GPT at its end; rest=zero" &&
	    exits 0 "$pardd" if="$a" of="$dev" rest=zero && does_not_say 'still has' && says ', rest zeroed$' &&
	    says '^81920\+0 records out' && cmp -i "$((40 << 20)):0" -n "$((24 << 20))" b /dev/zero
}
remains_not()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" table=fix &&
	    does_not_say 'still has' && whole c 512 40M && exits 0 "$pardd" if="$a" of="$dev" && does_not_say 'still has' || return
	# where the disk keeps its own table, that is the backup of it
	exits 0 "$pardd" if="$a" of="$dev" seek=2048 count=8192 && does_not_say 'still has' &&
	    exits 0 "$pardd" if="$a" of="$dev" count=1 && does_not_say 'still has' && sound "$dev"
}
both()
{
	whole a 512 40M && a=$dev && whole b 512 64M && exits 0 "$pardd" if="$a" of="$dev" table=fix rest=trim verify=1 &&
	    says 'complete, flushed, verified, table moved, rest trimmed$' && sync "$dev" && sound "$dev" &&
	    table_like "$a" "$dev"
}
# Each target's rest begins where its own last block ends.
rests()
{
	disk_of b 8M 512 && b=$dev && disk_of c 8M 4096 && "$blocks" make "$b" 8M 9 && "$blocks" make "$dev" 8M 9 &&
	    head -c 1000000 /dev/urandom >a && exits 0 "$pardd" if=a of="$b" of="$dev" bs=4096 "$@" &&
	    cmp -n 1000000 a "$b" && cmp -n 1000000 a "$dev" &&
	    cmp -i 1000000:0 -n 7388608 "$b" /dev/zero && cmp -i 1000000:0 -n 7388608 "$dev" /dev/zero
}
# Where nothing can be zeroed, it may be written through the page cache; the flush is not told of an error met before.
rest_lost()
{
	disk_of b 2M 512 && head -c 1M /dev/urandom >a || return
	local rules="op=zero fail=EOPNOTSUPP op=direct fail=EINVAL op=write old op=range fail=EIO nth=3"
	exits 55 with_faults "${rules//op=/;on=$dev op=}" "$pardd" if=a of="$dev" rest=zero thr=1 &&
	    faulty sync_file_range && says "NOT complete: $dev: clearing the rest: Input/output error$"
}
no_rest()
{
	disk_of b 8M 512 && head -c 1M /dev/urandom >a && cp b old && exits 1 "$pardd" if=a of=x rest=zero &&
	    says 'rest= clears a device' && [[ ! -e x ]] && head -c 1M a | exits 1 "$pardd" of="$dev" rest=zero && cmp b old
}
# those that a target drops, as when the source ends early, are left alone
cut_short()
{
	whole b 512 64M && cp b old && head -c 8M /dev/urandom >a &&
	    exits 3 with_faults "on=$PWD/a op=read at=4194304+512 fail=EIO" "$pardd" if=a of="$dev" rest=zero engine=threads &&
	    cmp -i $((8 << 20)) b old
}
# in_use WORDS...: a partition behind the copy is mounted; nothing is touched
in_use()
{
	disk_of b 64M 512 && "$tools/part" add "$dev" 2 65536 32768 && until_true 20 test -b "$dev"p2 &&
	    mke2fs -q -t ext4 -E lazy_itable_init=0 "$dev"p2 && mkdir m && mount "$dev"p2 m || return
	undo "$tools/part" del "$dev" 2
	undo umount "$PWD/m"
	head -c 1M /dev/urandom >a && sync "$dev" && cp b old && exits 101 "$pardd" if=a of="$dev" seek=2048 bs=512 "$@" &&
	    says 'is mounted on' && cmp b old && exits 0 "$pardd" if=a of="$dev" seek=2048 bs=512
}
# what a boot loader has between the table and the first partition
loader()
{
	whole a "$1" 40M && a=$dev && dd status=none if=/dev/urandom of="$a" bs=32K seek=1 count=31 conv=notrunc &&
	    cloned "$a" b "$2" 64M table=fix && cmp -i 32768 -n $((31 * 32768)) "$a" "$dev" && table_like "$a" "$dev"
}
# ... and before a table that lies farther out
table_apart()
{
	whole a 512 40M && a=$dev && sgdisk -j 1024 "$a" >said && sgdisk -v "$a" | grep -q 'No problems' &&
	    dd status=none if=/dev/urandom of="$a" bs=8K seek=1 count=60 conv=notrunc && disk_of b 64M "$1" &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && sgdisk -v "$dev" | grep -q 'No problems' &&
	    cmp -i 8192 -n $((60 * 8192)) "$a" "$dev" && table_like "$a" "$dev"
}
# ... where it would come to lie on the header
table_near()
{
	whole a 512 40M && a=$dev && sgdisk -j "$1" "$a" >said && cloned "$a" b 4096 64M table=fix && table_like "$a" "$dev"
}
# little NUMBER BYTES
little()
{
	local i
	for ((i = 0; i < $2; i++)); do
		printf %b "\\x$(printf %x $(($1 >> 8 * i & 255)))"
	done
}
# header_says OFFSET NUMBER: so does the first GPT of the source, which stays valid
header_says()
{
	dd status=none if="$a" of=head skip=1 count=1 && little "$2" 8 | dd status=none of=head bs=1 seek="$1" conv=notrunc &&
	    little 0 4 | dd status=none of=head bs=1 seek=16 conv=notrunc &&
	    head -c 92 head | gzip -c | tail -c 8 | head -c 4 | dd status=none of=head bs=1 seek=16 conv=notrunc &&
	    dd status=none if=head of="$a" seek=1 conv=notrunc && sync "$a"
}
# The table lies behind all partitions: they must not come to lie before what is usable.
table_behind()
{
	whole a 512 40M && a=$dev && table_of "$a" >table.a && dd status=none if="$a" of="$a" skip=2 seek=51200 count=32 conv=notrunc &&
	    header_says 72 51200 && table_of "$a" | diff table.a - && parts_in "$a" >parts.a && disk_of b 64M "$1" &&
	    exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && table_like "$a" "$dev" &&
	    parts_in "$dev" | diff parts.a -
}
# A partition ends behind what is usable: libblkid does not tell of it, and the kernel has it.
outside()
{
	whole a 512 40M && a=$dev && table_of "$a" >table.a && header_says 48 40000 && cloned "$a" b "$1" 25M table=fix &&
	    table_of "$dev" | diff table.a - && cmp -i 8M -n 16M a b || return
	disk_of b 24M "$1" && refuses 'is too small: the partitions and their table need' table=fix
}
# A hybrid MBR has a partition that the GPT has not.
hybrid()
{
	whole a 512 40M && a=$dev && { little 131 4 && little 49152 4 && little 4096 4; } |
	    dd status=none of="$a" bs=1 seek=466 conv=notrunc && sync "$a" && table_of "$a" >table.a || return
	disk_of b 25M 512 && refuses 'is too small: the partitions and their table need 27262976 bytes, and it has 26214400$' table=fix || return
	disk_of b 27M 512 && exits 0 "$pardd" if="$a" of="$dev" table=fix && complete && sync "$dev" && table_like "$a" "$dev" &&
	    cmp -i 24M -n 2M a b
}
not_from_there()
{
	whole a 512 40M && a=$dev && disk_of b 64M 512 && {
		head -c 512 /dev/urandom
		"$pardd" if="$a" table=fix 2>err
		status=$?
	} 1<>"$dev"
	[[ $status = 1 ]] && says 'table= is for the clone' && cmp -i 512 -n 1M b /dev/zero
}
it "keeps what a boot loader has before the first partition" loader 512 4096
it "... and on a disk with smaller sectors" loader 4096 512
it "... and before a table that lies farther out" table_apart 512
it "... also with larger sectors" table_apart 4096
it "... but not onto the header of larger sectors" table_near 8
it "... nor to where that begins" table_near 16
it "keeps partitions usable that lie before their table" table_behind 512
it "... on larger sectors" table_behind 4096
it "copies partitions that lie behind what the GPT calls usable" outside 512
it "... to larger sectors" outside 4096
it "copies what a hybrid MBR has alone, and refuses a target that has no room for it" hybrid
it "is for a target from its first byte on" not_from_there
if command -v mke2fs >/dev/null; then
	it "clears no partition behind the copy that is mounted" in_use rest=zero
	it "... nor frees its blocks" in_use rest=trim
fi
it "tells what an older use has left behind the copy, and clears it with rest=zero" remains
it "... but not what it writes itself, or where nothing is left" remains_not
it "clears and moves the table in one run" both
nothing_copied()
{
	disk_of b 8M 512 && mke2fs -q -t ext4 "$dev" && mkdir m && mount "$dev" m || return
	undo umount "$PWD/m"
	: >a
	sync "$dev"
	cp b old
	exits 101 "$pardd" if=a of="$dev" rest=zero && says 'is mounted on' && exits 101 "$pardd" if=old of="$dev" count=0 rest=zero
}
onto_itself()
{
	disk_of b 8M 512 && head -c 8M /dev/urandom >b && cp b old &&
	    exits 101 "$pardd" if="$dev" skip=4M iflag=skip_bytes count=1 bs=1M of="$dev" rest=zero && says overlaps && cmp b old
}
# one of two targets does not keep what is written; the other's table is written
one_fails()
{
	whole a 512 40M && truncate -s 64M b c &&
	    exits 14 with_faults "on=$PWD/b op=write at=5000000+1 flip" "$pardd" if="$dev" of=b of=c conv=notrunc table=fix \
	    verify=1 retries=0 && says 'c: complete, flushed, verified, table moved' && sound c && table_like "$dev" c
}
it "claims what it clears where nothing is copied" nothing_copied
it "... and clears nothing of its source" onto_itself
it "writes the table of a target if another one fails" one_fails
it "clears all that each of several targets has behind the copy" rests rest=zero
it "... and frees its blocks" rests rest=trim thr=1
it "clears devices only, and after a copy of a known length" no_rest
it "is not complete when writing back what was cleared fails" rest_lost
it "clears nothing after a copy that stopped" cut_short
it "is for whole disks" usage table= if=/dev/zero of=x table=fix skip=1
it "... and no stream" eval 'head -c 1M /dev/zero | exits 1 "$pardd" of=x table=fix && says "table= is for the clone"'
only plain
many=12
[[ -z $LONG ]] || many=1000
it "does so with any table, from SEED=$seed" mixed "$seed" "${MANY:-$many}"
cuts=10
it "... and has one whenever the power is cut" mixed "$seed" $((${MANY:-$many} / 2))
