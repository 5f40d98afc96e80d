#!/usr/bin/env bash
# A rescue that can be looked into while it runs (view=).
# shellcheck disable=SC1091,SC2015,SC2086,SC2119,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

readers=$tools/readers
none=1099511627776+1		# nothing is bad

# Whether view= can be tried here: root, FUSE, libfuse3.
can_view()
{
	(($(id -u) == 0)) && [[ -c /dev/fuse ]] && : <>/dev/fuse && (
		cd "$scratch" && truncate -s 4096 view.src &&
		    "$pardd" if=view.src of=view.dst map=view.map view=view.file
	)
} >/dev/null 2>&1

# viewing RULES OPERANDS...: such a run in the background, with bad sectors at
# $bad, until the file v can be read; what a case leaves mounted is unmounted
viewing()
{
	undo unmounted "$PWD/v"
	FAULTS="on=$PWD/src op=read at=$bad fail=EIO${1:+;on=$PWD/src op=read $1}" LD_PRELOAD=$shim FAULT_LOG=$PWD/faults \
	    "$tools/ends" how "$pardd" if=src of=dst map=map view=v bs=512 "${@:2}" 2>err &
	until_true 20 test -s v || fail "$(cat err)"
}
gone()
{
	grep -qE '^(exit|signal) ' how
}
pid()
{
	awk '$1 == "pid" { print $2 }' how
}
unmounted()
{
	! mountpoint -q "$1" 2>/dev/null && stat "$1" >/dev/null 2>&1 || umount -l "$1" 2>/dev/null
	true
}
# over STATUS: the run ends by itself with it, and leaves nothing behind
over()
{
	until_true 60 gone && ended exit "$1" && ! mountpoint -q v && [[ ! -e v ]] ||
	    fail "$(cat how err; ls -l v 2>&1)"
}
# read_all BAD THREADS TIMES [end]: by dice, against the source
read_all()
{
	"$readers" v src "$1" "$2" "$3" "${seed:-1}" ${4-} >reads || fail "$(cat reads)"
}

slow='sleep=2'
# what a run without readers makes of it, in the map alone
alone()
{
	rescue 100 '' && mv map alone && cp old dst && rm -f map.bak
}
dice()
{
	for ((seed = $1; seed <= $2; seed++)); do
		rm -f how
		bad=$("$maps" random $seed $((8 << 20)))
		stuff 8M && alone && viewing "" thr=${thrs[seed % 3]} rate=2000000 && read_all $bad 16 200 end &&
		    (($(cut -d ' ' -f 1 reads) > 100)) && over 100 && is - "$("$maps" list alone -)" && is '?*/' '' && honest 0 0 $((8 << 20)) &&
		    rm map alone || fail "seed $seed: $(cat err)" || return
	done
}
asked()
{
	bad=$some
	stuff && viewing "" rescue=ondemand "$@" && read_all $bad 16 100 && umount v && over 100 && honest
}
once()
{
	local n
	bad=$some
	stuff && viewing "" rescue=ondemand thr=4 && read_all $bad 16 400 && read_all $bad 16 400 && umount v && over 100 || return
	# a block fails once in a longer read, and once alone
	n=$(awk '$1 == "read" && $4 < 0 && $3 == 512 { print $2 }' faults | sort | uniq -d | wc -l)
	((n == 0)) || fail "$n blocks were read again: $(cat faults)"
	faulty read
}
it_reads()
{
	local bytes
	bad=$some
	stuff && viewing "" rescue=ondemand && dd if=v of=got bs=512 skip=3000 count=8 status=none &&
	    cmp got <(dd if=src bs=512 skip=3000 count=8 status=none) && umount v && over 100 &&
	    says 'v: [0-9]* reads were answered from the target, [1-9][0-9]* when that was read, 0 with an error' &&
	    says 'were not asked for, with rescue=ondemand; map shows where, and the same command without it reads the rest$' && bytes=$("$maps" list map + | tr , '\n' | awk -F + '{ n += $2 } END { print n + 0 }') &&
	    ((bytes > 0 && bytes <= 262144)) || fail "$bytes bytes"
}
# A disk that gives zeros after an error, and no further one.  What it has then
# is held back until a block that was read before is what it was.
lies()
{
	local at
	for ((at = 20; at < 200; at += 7)); do
		bad=51200+512
		rm -f map how
		stuff && viewing "from=$at zero" rescue=ondemand "$@" && read_all $bad 4 300 end &&
		    { umount v 2>/dev/null; until_true 60 gone; } || fail "at $at: $(cat err)" || return
	done
}
# view_page N: as it is in the source; 1: it is not, 2: an error
view_page()
{
	dd if=v of=page bs=4096 skip="$1" count=1 iflag=direct status=none 2>/dev/null || return 2
	cmp -s page <(dd if=src bs=4096 skip="$1" count=1 status=none)
}
# The same where the disk has zeros, too, which are believed: then it lies.
lies_late()
{
	local from=99999 n
	bad=51200+512
	for n in 1 2; do
		rm -f map how
		stuff && dd if=/dev/zero of=src bs=4096 seek=100 count=8 conv=notrunc status=none &&
		    FAULT_LOG_ALL=1 viewing "from=$from zero" rescue=ondemand thr=1 && view_page 20 && ! view_page 12 &&
		    view_page 100 && from=$(($(awk '$1 == "read" && $3 == $4' faults | wc -l) + 1)) && { view_page 60; (($? != 1)); } ||
		    fail "run $n, from read $from: $(cat err)" || return
		umount v 2>/dev/null
		until_true 60 gone
	done
	says 'zeros, as there are now where it had something else'
}
whole()
{
	bad=$none
	stuff && viewing "" rescue=ondemand && cmp v src && over 0 && complete && cmp dst src
}
waits()
{
	local from
	bad=$none
	stuff 8M && viewing "$slow" bpt=8 thr=1 rate=1000000 && from=$SECONDS &&
	    dd if=v bs=4096 skip=2000 count=1 status=none | cmp - <(dd if=src bs=4096 skip=2000 count=1 status=none) &&
	    ((SECONDS - from < 5)) && over 0
}
stopped()
{
	local began
	bad=$none
	stuff 8M && viewing "sleep=200" bpt=8 thr=1 || return
	"$readers" v src - 4 100000 1 end >reads 2>&1 &
	sleep 0.5
	began=${EPOCHREALTIME/./}
	kill -TERM "$(pid)" && until_true 20 gone && began=$((${EPOCHREALTIME/./} - began)) && wait $! && ended signal 15 &&
	    [[ ! -e v ]] && ((began < 2000000)) && honest 0 0 $((8 << 20)) || fail "$began us; $(cat err reads how)"
}
# Readers that never let the viewer come to an end of their requests.
crowd()
{
	local i began
	bad=$none
	stuff 8M && viewing "" rescue=ondemand && dd if=v of=page bs=1M count=4 iflag=direct status=none && touch crowd || return
	for ((i = 0; i < 48; i++)); do
		while [[ -e crowd ]] && dd if=v of=/dev/null bs=1M count=4 iflag=direct status=none; do :; done 2>/dev/null &
	done
	sleep 2
	began=$SECONDS
	view_page 1500 && ((SECONDS - began < 5)) && kill -TERM "$(pid)" && until_true 20 gone && ended signal 15 &&
	    ((SECONDS - began < 8)) || fail "$((SECONDS - began)) s; $(cat err how)"
	i=$?
	rm crowd
	return $i
}
# A reader that waits for a read that does not return can be killed.
given_up()
{
	local reader
	bad=$none
	stuff && viewing "at=1048576+ until=$PWD/go" rescue=ondemand thr=4 progress=1 || return
	dd if=v of=page bs=4096 skip=300 count=1 status=none "$@" &
	reader=$!
	until_true 10 grep -q '^waits' faults && until_true 10 grep -q ', a reader waits at 1.2 MB' err && kill -9 $reader && until_true 5 dead $reader && touch go &&
	    view_page 20 && umount v && over 100
}
# While a reader waits for a slow read nobody else has work, and all workers rest.
switches()
{
	awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$(pid)/task/"*/status
}
rests()
{
	local reader n
	bad=$none
	stuff && viewing "at=1048576+ until=$PWD/go" rescue=ondemand thr="$1" && view_page 0 && view_page 100 || return
	dd if=v of=page bs=4096 skip=300 count=1 status=none &
	reader=$!
	until_true 10 grep -q '^waits' faults && sleep 1.5 && n=$(switches) && sleep 1 && n=$(($(switches) - n)) && touch go &&
	    wait $reader && umount v && over 100 && ((n < 5000)) || fail "$n switches in a second"
}
dead()
{
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status"
}
vanished()
{
	bad=$some
	stuff && viewing "from=40 fail=ENODEV" rescue=ondemand && read_all $bad 4 200 end && over 69 && honest
}
# The source is an NBD export, whose server goes away.
serve()
{
	rm -f a.sock
	nbdkit -f --exit-with-parent -r -U "$PWD/a.sock" file src </dev/null >kit 2>&1 &
	server=$!
	until_true 20 listens "$PWD/a.sock"
}
# away SECONDS [OPERANDS...]: page 0 was rescued, the source is waited for, and so does
# whoever reads another page
away()
{
	stuff 8M && serve && undo unmounted "$PWD/v" || return
	"$tools/ends" how "$pardd" if="nbd+unix:///?socket=$PWD/a.sock" of=dst map=map view=v rescue=ondemand wait="$1" "${@:2}" 2>err &
	until_true 20 test -s v && view_page 0 && kill -9 $server || return
	dd if=v of=asked bs=4096 skip=1000 count=1 iflag=direct status=none 2>asks &
	reader=$!
	until_true 20 grep -q waiting err
}
comes_back()
{
	local killed
	away 60 && has + || return
	dd if=v of=killed bs=4096 skip=1500 count=1 iflag=direct status=none &
	killed=$!
	view_page 0 && sleep 1.5 && view_page 0 && ! dead $reader && kill -9 $killed && until_true 5 dead $killed && ! gone &&
	    serve && wait $reader && cmp asked <(dd if=src bs=4096 skip=1000 count=1 status=none) && view_page 1999 &&
	    umount v && over 100 && honest 0 0 $((8 << 20)) &&
	    says 'v: [1-9][0-9]* reads were answered from the target, [1-9][0-9]* when that was read, 0 with'
}
# Readers notice nothing of a server that is started anew again and again.
restarted()
{
	local reading
	stuff 8M && serve && undo unmounted "$PWD/v" || return
	"$tools/ends" how "$pardd" if="nbd+unix:///?socket=$PWD/a.sock" of=dst map=map view=v wait=60 rate=2000000 thr=$1 2>err &
	until_true 20 test -s v || return
	"$readers" v src - 16 300 ${seed:-1} end >reads &
	reading=$!
	for i in 1 2 3; do
		sleep 0.5
		kill -9 $server && serve && until_true 20 back $i || fail "$i: $(cat err)" || return
	done
	wait $reading || fail "$(cat reads)"
	over 0 && complete && cmp dst src && (($(cut -d ' ' -f 1 reads) > 100)) && says ', 0 with an error' || fail "$(cat reads)"
}
back()
{
	(($(grep -c 'it is back' err) >= $1))
}
stays_away()
{
	away 3 && ! wait $reader && grep -q 'Input/output' asks && over 69 && honest 0 0 $((8 << 20)) && says 'did not come back'
}
away_stopped()
{
	local began
	away 60 "$@" && began=$EPOCHREALTIME && kill -TERM "$(pid)" && ! wait $reader && until_true 20 gone &&
	    ended signal 15 && (($(since $began) < 2000)) && [[ ! -e v ]] && has + || fail "$(since $began) ms: $(cat how err)"
}
# Unmounted meanwhile: with rescue=ondemand there is nothing left to wait for.
away_unmounted()
{
	local began
	away 60 && kill -9 $reader && until_true 5 dead $reader && until_true 5 umount v && began=$SECONDS && over 69 &&
	    ((SECONDS - began < 10)) && has + && honest 0 0 $((8 << 20)) && ! says 'did not come back'
}
# Else there is: the rest is read when the source is back.
away_left()
{
	stuff 8M && serve && undo unmounted "$PWD/v" || return
	"$tools/ends" how "$pardd" if="nbd+unix:///?socket=$PWD/a.sock" of=dst map=map view=v wait=60 rate=2000000 2>err &
	until_true 20 test -s v && view_page 0 && kill -9 $server && until_true 20 grep -q waiting err && umount v && sleep 1.5 &&
	    ! gone && serve && over 0 && complete && cmp dst src
}
killed()
{
	local reading
	bad=$none
	stuff 8M && viewing "sleep=20" bpt=8 thr=4 mapinterval=1 || return
	"$readers" v src - 16 3000 1 end >reads 2>&1 &
	reading=$!
	until_true 20 has + && kill -9 "$(pid)" && until_true 10 gone || return
	wait $reading && (($(cut -d ' ' -f 1 reads) > 0)) || fail "$(cat reads)" || return
	"$maps" check -p map src dst old 0 0 $((8 << 20)) && ! stat v 2>/dev/null && rm how && exits 0 "$pardd" if=src of=dst map=map view=v && [[ -f v ]] && ! mountpoint -q v && cmp src dst
}
# Once it was unmounted another run may have its view there.
another()
{
	bad=$none
	stuff && cp src src1 && undo unmounted "$PWD/v" || return
	FAULTS="on=$PWD/src1 op=read at=1048576+ until=$PWD/go1" LD_PRELOAD=$shim "$tools/ends" first "$pardd" if=src1 of=dst1 map=map1 view=v 2>err1 &
	until_true 20 test -s v && umount v && viewing "" rescue=ondemand && touch go1 && until_true 60 grep -q '^exit 0' first &&
	    view_page 20 && umount v && until_true 60 gone && ended exit 100 && rm v && cmp dst1 src1 || fail "$(cat first err1 how err)"
}
in_use()
{
	bad=$none
	stuff && viewing "" rescue=ondemand && exec 7<v && umount -l v && ! gone && exec 7<&- && over 100 && rm -f how map && cp old dst &&
	    viewing "sleep=20" thr=1 bpt=64 && exec 7<v && until_true 60 gone && ended exit 0 && exec 7<&- &&
	    says 'note: v was still in use' && [[ ! -e v ]]
}
# errors: reads that met one
errors()
{
	awk '$1 == "read" && $3 != $4' faults | wc -l
}
# A reader meets no more errors than the rescue alone, because it is as careful.
careful()
{
	local met n
	bad=''
	for ((n = 0; n < 250; n++)); do
		bad+=${bad:+,}$(((n * 128 + n * n % 97) * 512))+512
	done
	stuff 16M && FAULT_LOG_ALL=1 rescue 100 '' thr=1 && met=$(errors) && mv map alone && cp old dst && rm -f map.bak faults &&
	    FAULT_LOG_ALL=1 viewing '' thr=1 || return
	n=0
	while dd if=v of=page bs=1M skip=$((n++ * 7 % 16)) count=1 status=none || [[ -s v ]]; do :; done 2>/dev/null
	over 100 && is - "$("$maps" list alone -)" && ((n > 20 && $(errors) * 100 <= met * 102)) ||
	    fail "$(errors) errors with $n reads, $met without: $(cat err)"
}
# wanted: what the reads cost that were asked of the loop device so far; got: those that
# were done for it; in us, 150 each, and 200 MB/s
wanted()
{
	awk '{ printf "%.0f", $1 * 150 + $3 * 512 / 200 }' "/sys/block/${dev#/dev/}/stat"
}
got()
{
		awk '$1 == "read" { us += 150 + $4 / 200 } END { printf "%.0f", us }' faults
}
# little US PERCENT: they cost no more of this
little()
{
	local us
	us=$(got)
	((us * 100 <= $1 * $2)) || fail "$us us for $1"
}
# 40 of 80 files have bad sectors: read are the folders, and then the others.
frugal()
{
	local i asked
	mkdir -p at files/d{1..40}/s && for ((i = 0; i < 80; i++)); do
		"$blocks" make files/d$((i % 40 + 1))/s/$i 1M $i || return
	done
	truncate -s 400M src && make_$1 && : >dst || return
	bad=$(for ((i = 40; i < 80; i++)); do
		blocks_$1 d$((i % 40 + 1))/s/$i
	done | awk 'n++ % 80 == 40 { printf "%s%.0f+512", s, $1 * 4096; s = "," }')
	[[ $bad = *,*,* ]] || fail "no blocks of files" || return
	undo umount -l "$PWD/at"
	FAULT_LOG_ALL=1 viewing '' rescue=ondemand && loop v --read-only && blockdev --setra 0 "$dev" && asked=$(wanted) &&
	    mount -o ro,norecovery "$dev" at && find at >list && (($(wc -l <list) > 160)) && asked=$(($(wanted) - asked)) &&
	    little $asked 120 || return
	for ((i = 0; i < 40; i++)); do
		cmp {at,files}/d$((i + 1))/s/$i || return
	done
	# as in reads of 128 KiB
	little $((asked + 40 * 8 * (150 + (128 << 10) / 200))) 130 && ! cat at/d1/s/40 >page 2>said && grep -q 'Input/output' said && umount at && losetup -d "$dev" &&
	    until_true 10 umount v && over 100
}
make_ext4()
{
	mkfs.ext4 -q -F -b 4096 -d files src
}
blocks_ext4()
{
	debugfs -R "blocks $1" src 2>/dev/null | tr -s '[:space:]' '\n'
}
make_xfs()
{
	mkfs.xfs -q -b size=4096 src && loop src && mount "$dev" at && cp -r files/. at && umount at && losetup -d "$dev"
}
blocks_xfs()
{
	local first count daddr
	xfs_db -r -c "path /$1" -c bmap src | awk '{ print $5, $8 }' | while read -r first count; do
		daddr=$(xfs_db -r -c "convert fsblock $first daddr" src | tr -d '()') || return
		seq $((${daddr#* } / 8)) $((${daddr#* } / 8 + count - 1))
	done
}
make_ntfs()
{
	mkntfs -F -q src && ntfs-3g src at && cp -r files/. at && umount at
}
make_fat()
{
	mkfs.fat src && mcopy -s -i src files/* ::
}
mount_ntfs()
{
	ntfs-3g -o ro "$dev" at
}
mount_xfs()
{
	mount -o ro,norecovery "$dev" at
}
mount_ext4()
{
	mount_xfs
}
# read_any FILE: to standard output
read_any()
{
	if [[ -s at/any ]]; then
		cat at/"$1"
	else
		mtype -i v ::"$1"
	fi
}
# Sectors within files are bad: of XFS, whose image is large, of those alone.
bad_in_files()
{
	local i
	if [[ $1 = xfs ]]; then
		for ((i = 0; i < 40; i += 3)); do
			blocks_xfs d$((i % 8))/$i | awk 'n++ % 40 == 7 { print $1 * 8 }'
		done
	else
		RANDOM=$seed		# each subshell has its own
		for ((i = 0; i < 12; i++)); do
			echo $((6144 + (RANDOM << 15 | RANDOM) % 14336))
		done
	fi | sort -nu | awk '{ printf "%s%.0f+512", s, $1 * 512; s = "," }'
}
# Each file of a dying disk is as it was, or an error from a byte on; who=pardd, reader: it is
# killed half way
dying()
{
	local i name file equal=0 failed=0 reader
	RANDOM=$seed
	mkdir -p at files/d{0..7} && echo any >files/any && for ((i = 0; i < 40; i++)); do
		"$blocks" make files/d$((i % 8))/$i $(((RANDOM % 400 + 100) * 1000)) $i || return
	done
	truncate -s "$([[ $1 = xfs ]] && echo 320M || echo 20M)" src && make_$1 >made 2>&1 && : >dst && truncate -r src old ||
	    fail "$(<made)" || return
	bad=$(bad_in_files "$1")
	undo umount -l "$PWD/at"
	viewing '' rescue=ondemand mapinterval=1 && loop v --read-only && { [[ $1 = fat ]] || mount_$1; } || return
	for ((i = 0; i < 40; i++)); do
		name=d$((i % 8))/$i
		if ((i == 20)) && [[ $2 = pardd ]]; then
			kill -9 "$(pid)" || return
		elif ((i == 20)) && [[ $2 = reader ]]; then
			while :; do
				for ((file = 20; file < 40; file++)); do
					read_any d$((file % 8))/$file >got.$file
				done
			done &
			reader=$!
			until_true 20 eval '[[ -s got.22 || -s got.23 ]]' && kill -9 $reader || return
		fi 2>/dev/null
		if read_any $name >got 2>said; then
			cmp got files/$name && equal=$((equal + 1)) || return
		else
			failed=$((failed + 1))
			cmp -n "$(stat -c %s got)" got files/$name || return
			[[ $2 = pardd ]] || grep -q 'Input/output' said || fail "$(<said)" || return
		fi
	done
	((equal > 9 && failed > 3)) || fail "$equal equal, $failed not: $(cat said)" || return
	{ [[ $1 = fat ]] || umount at; } && losetup -d "$dev" && if [[ $2 = pardd ]]; then
		until_true 10 gone
	else
		until_true 10 umount v && over 100
	fi && "$maps" check -p map src dst old 0 0 "$(stat -c %s src)"
}
mounted()
{
	mkdir at files && "$blocks" make files/one 3M && truncate -s 16M src && mkfs.ext4 -q -F -d files src && : >dst || return
	bad=$none
	undo umount -l "$PWD/at"
	viewing "" rescue=ondemand && loop v --read-only && mount -o ro,norecovery "$dev" at && cmp at/one files/one &&
	    umount at && losetup -d "$dev" && until_true 10 umount v && over 100 && says 'asked for'
}
plan()
{
	stuff && exits 0 "$pardd" -d if=src of=dst map=map view=v rescue=ondemand && grep -q '^ *View *v shows it meanwhile; nothing is read but' out &&
	    [[ ! -e v && ! -e map ]]
}
told()
{
	bad=$some
	stuff && viewing "" rescue=ondemand json=j && ! cat v >/dev/null 2>&1 && umount v && over 100 && tail -n 1 j | tee one |
	    jq -e '.view | .file == "v" and .with_error > 0 and .from_target > 0 and .in_use == false' || fail "$(<one)"
}

bad=$none
refusals()
{
	stuff && usage 'view= needs map=' if=src of=dst view=v && usage 'rescue=ondemand needs view=' if=src of=dst map=map rescue=ondemand &&
	    usage 'view= and decode=' if=src of=dst map=map view=v decode=gz &&
	    usage 'rescue=ondemand and fill=' if=src of=dst map=map view=v rescue=ondemand fill=zero &&
	    mkdir dir && echo some >full && ln -s dst link
	for v in src dst map dir full link /dev/null; do
		refused view= if=src of=dst map=map view=$v && cmp dst old || return
	done
	refused 'view= reads the target: \. cannot' if=src of=. map=map view=v && exits 52 "$pardd" if=src of=dst map=map view=none/v && cmp dst old
}
it "refuses what cannot be looked into, or with" refusals
needs can_view -- "not root, no /dev/fuse, or no libfuse3"
for ((first = 1; first <= $(heavy 6); first += 3)); do
	it "answers 16 readers what is on disks $first to $((first + 2)), and ends as without them" dice $first $((first + 2))
done
for thr in $(few 1 4 16); do
	it "reads what is asked for ($thr workers)" asked thr="$thr"
done
it "... backwards" asked rescue=ondemand,reverse
it "... and nothing else" it_reads
it "... and each bad block once" once
it "... and no zeros of a disk that lies" lies
it "... nor such as begin when its zeros are believed" lies_late
it "is complete when all was asked for" whole
it "reads first what is asked for" waits
it "meets no more errors than without a reader" careful
it "ends at once when told to, with readers inside" stopped
it "answers, and ends, while many read without a pause" crowd
it "ends when the disk goes away" vanished
needs can_nbd -- "no nbdkit, or built without libnbd"
it "answers what is there while the source is waited for, and the rest when it is back" comes_back
for thr in $(few 1 4 16); do
	it "... while 16 read, and it is away three times ($thr workers)" restarted $thr
done
it "... an error if it stays away" stays_away
it "... and is stopped at once" away_stopped
it "... and while ongone= works" away_stopped ongone='sleep 50'
it "... and ends when it is unmounted, with rescue=ondemand" away_unmounted
it "... else it waits on" away_left
it "rests while a reader waits for a slow read" rests 4
it "... with many workers" rests 16
it "lets a reader go that is killed" given_up
it "... and that reads past the page cache" given_up iflag=direct
it "leaves nothing false when it is killed, with readers inside, and clears that the next time" killed
it "says that somebody still has it open" in_use
it "leaves the view of another run alone" another
it "says in the plan where it will be" plan
given 'command -v jq' "no jq" it "tells programs what was answered" told
needs can_loop 'command -v mkfs.ext4' -- "no loop devices, or no mkfs.ext4"
it "can be mounted" mounted
it "... and reads little more than what is asked for" frugal ext4
seed=${SEED:-$RANDOM}
it "shows each file of a dying disk as it was, or an error: ext4, from SEED=$seed" dying ext4 -
it "... also if the reader is killed" dying ext4 reader
it "... or the rescue" dying ext4 pardd
given 'command -v mkntfs ntfs-3g' "no NTFS" it "... NTFS" dying ntfs pardd
given 'command -v mkfs.fat mcopy mtype' "no mtools" it "... FAT" dying fat -
needs can_loop 'command -v mkfs.xfs && command -v xfs_db && grep -qw xfs /proc/filesystems' -- "no loop devices, or no XFS"
it "reads little more than what is asked for by XFS" frugal xfs
it "shows each file of a dying disk by XFS as it was, or an error" dying xfs reader
