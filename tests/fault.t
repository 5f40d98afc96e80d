#!/usr/bin/env bash
# Faults of source and target: data and status are right, and nothing hangs.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

bytes=1000001
bad=$((801 * 512))+512,$((1600 * 512))+1536		# as a fault
lost=$bad

# ------------------------------------------------------------- bad blocks

# With coe: exactly what is bad is lost.  reads MODE OPERANDS...
lose()
{
	local mode=$1
	shift
	"$blocks" make src $bytes && "$blocks" make dst $bytes 9 &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO $mode" \
		"$pardd" if=src of=dst bs=512 coe=1 "$@" && faulty read 2 &&
	    size_is dst $bytes && holds -z "$lost" dst 0 0 $bytes &&
	    [[ $(tail -n 1 err) = "pardd: NOT complete: 4 unreadable blocks in 2 ranges"* ]] &&
	    does_not_say '^pardd: complete'
}
for thr in $(few 1 4 16); do
	for bpt in '' bpt=1 bpt=8 bpt=300; do
		for mode in '' whole; do
			it "loses exactly the bad blocks (thr=$thr $bpt $mode)" lose "$mode" "thr=$thr" ${bpt:+"$bpt"}
		done
	done
done
it "loses exactly the bad blocks with direct I/O" lose '' iflag=direct
it "takes conv=noerror like coe=1" lose '' conv=noerror coe=1
for err in ENODATA EILSEQ 117 74; do	# EUCLEAN EBADMSG
	it "takes $err for a bad block" lose "fail=$err" bpt=64
done

for err in 110 62 67; do		# ETIMEDOUT ETIME ENOLINK
	it "takes $err for one, too, while other blocks can be read" lose "fail=$err" bpt=64
done
# dead ERRNO OPERANDS...: from the 20th read on, all reads fail
dead()
{
	"$blocks" make src 8M && exits 69 with_faults "on=src op=read from=20 fail=$1" timeout 60 \
		"$pardd" if=src of=dst coe=1 bpt=128 "${@:2}" && faulty read &&
	    says '^pardd: NOT complete: src: .*: no answer any longer, even for what could be read before' &&
	    (($(grep -c ^read faults) < 300))
}
for err in EIO ENODATA 110 67; do
	for thr in $(few 1 4 16); do
		it "ends soon where nothing can be read any more ($err, thr=$thr)" dead $err thr="$thr"
	done
done
# What was read before fails in another way than the rest.
it "... whatever the error is (ENOLINK, EIO)" dead '67 at=0+1310720;on=src op=read at=1310720+ fail=EIO' thr=4
it "... (EIO, ENOLINK)" dead 'EIO at=0+1310720;on=src op=read at=1310720+ fail=67' thr=4
# Nothing could ever be read; but if only the beginning cannot, the rest is read.
never()
{
	"$blocks" make src 8M && cp src old && exits 0 "$pardd" if=src of=. manifest=m && rm -f faults &&
	    exits 69 with_faults "on=src op=read fail=EIO" timeout 60 "$pardd" if=src coe=1 "$@" &&
	    faulty read && says '^pardd: NOT complete: src: .*: no answer, wherever it is read' ||
		return
	(($(grep -c ^read faults) < 2000)) || fail "$(grep -c ^read faults) reads"
}
first()
{
	"$blocks" make src 2M && exits 100 with_faults "on=src op=read at=0+1048576 fail=EIO" \
	    "$pardd" if=src of=dst coe=1 bpt=128 && holds dst 1048576 1048576 1048576 && "$blocks" zero dst 0 1048576
}
small()
{
	"$blocks" make src 65536 && exits 100 with_faults "on=src op=read fail=EIO" "$pardd" if=src of=dst coe=1 bs=512 &&
	    "$blocks" zero dst 0 65536 && "$blocks" make src 524288 && exits 100 with_faults "on=src op=read fail=ENODATA" \
	    "$pardd" if=src of=dst coe=1 && "$blocks" zero dst 0 524288
}
for thr in $(few 1 4 16); do
	it "ends soon where no read ever succeeds (thr=$thr)" never of=dst thr="$thr"
done
it "... when it is compared, too" never of=old compare=1
it "... or checked" never manifest=m check=1
it "goes on where the first half cannot be read" first
beside()
{
	"$blocks" make src 2M && exits 100 with_faults "on=src op=read at=0+1048576 fail=EIO" \
	    "$pardd" if=src of=dst bs=512 count=2048 coe=1 && "$blocks" zero dst 0 1048576
}
it "... even if none of the rest is to be copied" beside
it "believes that a source is all bad if each block says so, and that a small one is" small
# So many bad blocks that the disk looks dead, while others can be read.
long_run()
{
	bad=$1 lost=$1
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of=dst bs=512 coe=1 bpt=64 && holds -z "$lost" dst 0 0 $bytes &&
	    says '512 unreadable blocks in 1 range'
}
it "loses a long run of bad blocks, and nothing else" long_run 409600+262144
it "... at the beginning, too" long_run 0+262144
nothing_read()
{
	"$blocks" make src 64k && exits 100 with_faults "on=$PWD/src op=read fail=EIO" \
	    "$pardd" if=src of=dst coe=1 && cmp -n 65536 dst /dev/zero && size_is dst 65536 &&
	    says '128 unreadable blocks in 1 range'
}
it "loses all that could never be read" nothing_read

noerror()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst conv=noerror && holds -z "$lost" dst 0 0 $bytes
}
it "goes on after bad blocks with conv=noerror alone" noerror
noerror_sync()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst bs=4096 conv=noerror,sync &&
	    holds -z "$lost" dst 0 0 $bytes && "$blocks" zero dst $bytes $((1003520 - bytes))
}
it "loses no more, and shifts nothing, with conv=noerror,sync" noerror_sync

report_once()
{
	lose '' "thr=$1" bpt=8 || return
	local at
	for at in $((801 * 512)) $((1600 * 512)); do
		[[ $(grep -c "\b$at\b" err) = 1 ]] || fail "byte $at is not told of once: $(<err)" || return
	done
}
for thr in $(few 1 16); do
	it "reports each unreadable range once, merged, with $thr workers" report_once "$thr"
done

# A whole block is lost, though only ten bytes of it are bad; the tail is short.
lose_block()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=410200+10 fail=EIO" \
		"$pardd" if=src of=dst bs=512 coe=1 "$@" && faulty read &&
	    size_is dst $bytes && holds -z 410112+512 dst 0 0 $bytes
}
it "loses one block for ten bad bytes" lose_block
it "loses one block of 512 though bs= is larger" lose_block bs=512 bpt=300
lose_with_bs()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=410200+10 fail=EIO" \
		"$pardd" if=src of=dst bs=64k coe=1 && holds -z 410112+512 dst 0 0 $bytes
}
it "loses no more with bs=64k" lose_with_bs
lose_tail()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=999936+ fail=EIO" \
		"$pardd" if=src of=dst bs=512 coe=1 thr="$1" && size_is dst $bytes &&
	    holds -z 999936+65 dst 0 0 $bytes
}
it "loses an odd tail and nothing else" lose_tail 1
it "loses an odd tail and nothing else, with 16 workers" lose_tail 16
lose_all()
{
	"$blocks" make src 100000 && exits 100 with_faults "on=$PWD/src op=read at=0+ fail=EIO" \
		"$pardd" if=src of=dst bs=512 coe=1 thr=4 && size_is dst 100000 &&
	    "$blocks" zero dst 0 100000 && says '196 unreadable blocks in 1 range'
}
it "makes zeros of a source that cannot be read at all" lose_all
lose_shifted()
{
	"$blocks" make src $bytes && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst bs=512 skip=700 seek=9 count=1000 coe=1 bpt=7 &&
	    size_is dst 516608 && "$blocks" zero dst 0 4608 && holds -z "$lost" dst 4608 358400 512000
}
it "puts the zeros in their place with skip= and seek=" lose_shifted
lose_into_pipe()
{
	"$blocks" make src $bytes
	with_faults "on=$PWD/src op=read at=$bad fail=EIO sleep=5" \
	    "$pardd" if=src of=- bs=512 bpt=8 coe=1 thr="$1" 2>err | "$blocks" check -z "$lost" - 0 0 $bytes
	local both=("${PIPESTATUS[@]}")
	[[ ${both[*]} = "100 0" ]] || fail "status ${both[*]}: $(<err)"
}
for thr in $(few 1 4 16); do
	it "puts the zeros in their place in a pipe, with $thr workers" lose_into_pipe "$thr"
done
lose_sparse()
{
	"$blocks" make src $bytes && "$blocks" make dst $bytes 9 &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
		"$pardd" if=src of=dst bs=512 coe=1 conv=sparse &&
	    holds -z "$lost" dst 0 0 $bytes
}
it "leaves nothing old in the target where blocks are lost, sparse too" lose_sparse

# Without coe: stop, with all that is good before the bad block in place.
stops()
{
	local mode=$1
	shift
	"$blocks" make src $bytes && exits 3 with_faults "on=$PWD/src op=read at=$bad $mode" \
		"$pardd" if=src of=dst bs=512 "$@" && faulty read &&
	    does_not_say 'pardd: complete' && holds dst 0 0 $((801 * 512)) &&
	    says '^801\+0 records in$' && says '^801\+0 records out$' && says 'complete: src: block 801: ' &&
	    says '^pardd: everything before block 801 is in place; add map=FILE to rescue the rest, or coe=1 for zeros there$'
}
for thr in $(few 1 4 16); do
	for bpt in '' bpt=1 bpt=8 bpt=300; do
		it "stops at a bad block, with all before it in place (thr=$thr $bpt)" \
		    stops fail=EIO "thr=$thr" ${bpt:+"$bpt"}
		it "... when the whole request fails (thr=$thr $bpt)" stops 'fail=EIO whole' "thr=$thr" ${bpt:+"$bpt"}
	done
done
# As users of dd do: the count of records out says where to go on.
goes_on()
{
	"$blocks" make src $bytes && "$blocks" make dst $bytes 9 || return
	exits 3 with_faults "on=$PWD/src op=read at=$bad fail=EIO sleep=20" "$pardd" if=src of=dst bpt=8 thr=16 ||
	    return
	local n
	n=$(sed -n 's/+0 records out$//p' err)
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of=dst skip="$n" seek="$n" coe=1 && holds -z "$lost" dst 0 0 $bytes
}
it "can go on where the records out of a stopped copy end" goes_on
tells_when_quiet()
{
	"$blocks" make src $bytes &&
	    exits 3 with_faults "on=$PWD/src op=read at=$bad fail=EIO" "$pardd" if=src of=dst status=none &&
	    [[ $(grep -c . err) = 2 ]] && says '^pardd: everything before block 801 is in place; ' &&
	    says '^pardd: NOT complete: src: block 801: '
}
it "says what is in place with status=none, too" tells_when_quiet
it "stops with 3 for ENODATA" stops fail=ENODATA
it "stops with 3 for EILSEQ" stops fail=EILSEQ
it "stops with 3 when the bad block is slow" stops 'fail=EIO sleep=100' thr=16 bpt=1
stops_waiting()
{
	"$blocks" make src $bytes
	with_faults "on=$PWD/src op=read at=5120+512 fail=EIO sleep=300" \
	    "$pardd" if=src of=- bs=512 bpt=1 thr=16 2>err | cat >dst
	[[ ${PIPESTATUS[0]} = 3 ]] && size_is dst 5120 && holds dst 0 0 5120
}
it "stops at a bad block while others await their turn" stops_waiting

# A source that has gone away is not a bad block.
broken()
{
	"$blocks" make src $bytes && exits "$1" with_faults "on=$PWD/src op=read at=409600+ fail=$2" \
		"$pardd" if=src of=dst bs=512 bpt=8 thr=4 && does_not_say 'pardd: complete'
}
it "stops with 69 when the source is gone (ENODEV)" broken 69 ENODEV
it "stops with 56 when the source is gone (ENXIO)" broken 56 ENXIO
broken_pipe_in()
{
	mkfifo p
	"$blocks" drip $bytes >p &
	run with_faults "on=$PWD/p op=read at=409600+ fail=EIO" "$pardd" if=p of=dst bs=512 bpt=8 thr=4
	kill $! 2>/dev/null
	[[ $status = 3 || $status = 55 ]] || fail "status $status: $(<err)" || return
	holds dst 0 0 "$(stat -c %s dst)" && (($(stat -c %s dst) >= 400000))
}
it "stops when a pipe cannot be read" broken_pipe_in

# ----------------------------------------------------------------- retries

retried()
{
	"$blocks" make src $bytes && exits "$1" with_faults "on=$PWD/src op=read at=$bad fail=EIO times=$2" \
		"$pardd" if=src of=dst bs=512 bpt=1 "${@:3}" && faulty read "$2"
}
retries()
{
	retried 0 4 retries=9 "$@" && complete && holds dst 0 0 $bytes
}
it "reads on when a retry succeeds" retries
it "reads on when a retry succeeds, with coe=1 and 16 workers" retries coe=1 thr=16
# How often the first bad block is read with retries=N, in the variable tried.
tries()
{
	exits 3 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of=dst bs=512 bpt=1 thr=1 retries="$1" &&
	    tried=$(grep -c "^read $((801 * 512)) 512 -5" faults)
}
gives_up()
{
	local none
	"$blocks" make src $bytes && tries 0 && none=$tried && tries 3 || return
	((none >= 1 && none <= 2 && tried == none + 3)) || fail "$none reads without retries, $tried with 3"
}
it "gives up after the retries it was allowed" gives_up
# 8192 blocks in one piece: behind the bad one, it soon reads many at once again.
few_reads()
{
	local n
	"$blocks" make src 4M && export FAULT_LOG_ALL=1 &&
	    exits 100 with_faults "on=$PWD/src op=read at=1049088+512 fail=EIO" \
	    "$pardd" if=src of=dst bs=512 bpt=8192 thr=1 coe=1 && n=$(grep -c '^read' faults) || return
	((n < 100)) || fail "$n reads"
}
only plain
it "reads in large parts around a bad block" few_reads
only all
once()
{
	"$blocks" make src $bytes && run with_faults "on=$PWD/src op=read at=$bad fail=EIO times=1 $1" \
		"$pardd" if=src of=dst bs=512 bpt=64 coe=1 thr="$2"
	faulty read || return
	case $status in
	0)	holds dst 0 0 $bytes && complete ;;
	100)	does_not_say 'pardd: complete' ;;
	*)	fail "status $status" ;;
	esac
}
for thr in $(few 1 16); do
	it "survives a fault that comes once ($thr workers)" once '' "$thr"
	it "survives a request that fails once ($thr workers)" once whole "$thr"
done

# A bad block at each place: position STEP, all ways of asking.
sweep()
{
	local n=$((4096 / $1)) i at mode coe want
	"$blocks" make src 2M || return
	for ((i = 0; i < n; i++)); do
		at=$((i * $1 * 512 + 512 * (i % 2)))
		for mode in '' whole times=1; do
			for coe in 0 1; do
				rm -f dst
				run with_faults "on=$PWD/src op=read at=$at+512 fail=EIO $mode" \
				    "$pardd" if=src of=dst bs=512 bpt=64 coe=$coe thr="$2"
				want="$mode $coe $status"
				case $want in
				*' 1 100')	holds -z $at+512 dst 0 0 2M ;;
				*' 0 3')	((at == 0)) || holds dst 0 0 $at ;;
				'times=1 '*' 0') holds dst 0 0 2M ;;
				*)		false ;;
				esac && continue
				echo "at $at: ($mode) coe=$coe status $status"
				cat err
				return 1
			done
		done
	done
}
step=$((256 * weight))
[[ -z $LONG ]] || step=1
for thr in $(few 1 4 16); do
	it "is right wherever the bad block lies (every ${step}th, $thr workers)" sweep $step "$thr"
done

# ------------------------------------------------------------ write errors

writes()
{
	local want=$1 rule=$2 right=$3
	shift 3
	"$blocks" make src $bytes && exits "$want" with_faults "on=$PWD/dst op=write $rule" \
		"$pardd" if=src of=dst bs=512 "$@" && faulty write &&
	    does_not_say 'pardd: complete' && holds dst 0 0 "$right"
}
for thr in $(few 1 4 16); do
	it "stops with 55 at a write error ($thr workers)" writes 55 'at=409600+512 fail=EIO' 409600 bpt=8 thr="$thr"
	it "stops with 78 at the byte at which the target is full ($thr workers)" \
	    writes 78 'at=409700+ fail=ENOSPC' 409700 bpt=8 thr="$thr"
	it "stops with 78 when only the last byte has no room ($thr workers)" \
	    writes 78 "at=$((bytes - 1))+ fail=ENOSPC" $((bytes - 1)) thr="$thr"
done
it "stops with 55 at the first write" writes 55 'at=0+ fail=EIO' 0 thr=4
it "stops with 55 when the failing write is slow" writes 55 'at=4096+512 fail=EIO sleep=300' 4096 bpt=1 thr=16
it "does not go on after a write error with coe=1" writes 55 'at=409600+512 fail=EIO' 409600 bpt=8 coe=1
write_retried()
{
	"$blocks" make src $bytes &&
	    exits 0 with_faults "on=$PWD/dst op=write at=409600+512,700416+512 fail=EIO times=2 $1" \
		"$pardd" if=src of=dst bs=512 bpt=64 retries=5 thr=4 oflag=direct &&
	    complete && faulty write 4 && size_is dst $bytes && holds dst 0 0 $bytes
}
it "writes on when a retry succeeds" write_retried ''
it "writes on when a whole request is retried" write_retried whole
it "does not repeat a write that failed in the page cache" \
    writes 55 'at=409600+512 fail=EIO times=1' 409600 bpt=8 retries=5
it "stops with the status of the errno (EROFS)" writes 80 'at=4096+ fail=EROFS' 4096
it "stops with 15 for an errno that has no status of its own (EDQUOT)" writes 15 'at=4096+ fail=EDQUOT' 4096
for op in flush close; do
	for err in EIO ENOSPC; do
		not_flushed()
		{
			"$blocks" make src $bytes && exits 103 with_faults "on=$PWD/dst op=$op fail=$err" \
				"$pardd" if=src of=dst "$@" &&
			    faulty '\(fdatasync\|fsync\|close\)' &&
			    does_not_say 'pardd: complete' && holds dst 0 0 $bytes
		}
		it "says that it is not flushed when $op fails with $err" not_flushed
	done
done
not_flushed_block()
{
	"$blocks" make src $bytes && exits 103 with_faults "on=$PWD/dst op=close fail=EIO" "$pardd" \
		if=src of=dst sync=0 && faulty close && does_not_say 'pardd: complete'
}
it "does not ignore close with sync=0" not_flushed_block
not_asked()
{
	"$blocks" make src $bytes && exits 0 with_faults "on=$PWD/dst op=flush fail=EIO" "$pardd" \
		if=src of=dst sync=0 || return
	[[ ! -s faults && $(tail -n 1 err) = "pardd: complete, not flushed"* ]]
}
it "does not flush with sync=0, and says so" not_asked
flushes()
{
	export FAULT_LOG_ALL=1
	"$blocks" make src $bytes && exits 0 with_faults "on=$PWD/dst op=flush" "$pardd" if=src of=dst &&
	    faulty '\(fdatasync\|fsync\)' && [[ $(tail -n 1 err) = "pardd: complete, flushed"* ]]
}
it "flushes, and says so" flushes
write_back()
{
	"$blocks" make src 8M && run with_faults "on=$PWD/dst op=range fail=EIO;on=$PWD/dst op=write old" \
		"$pardd" if=src of=dst
	faulty sync_file_range || return
	[[ $status = 55 || $status = 103 ]] || fail "status $status: $(<err)"
}
it "does not ignore an error of early write-back" write_back
write_back_once()
{
	local nth
	"$blocks" make src 8M || return
	for nth in 1 2 3 4 5 6 7 8; do
		rm -f dst
		# of whatever only begins it, too: ext4 tells nobody else, if it gives up
		exits 55 with_faults "on=$PWD/dst op=range fail=EIO nth=$nth;on=$PWD/dst op=write old" \
		    "$pardd" if=src of=dst thr=1 && faulty sync_file_range || return
	done
}
appended_write_back_once()
{
	"$blocks" make src 8M && exits 55 with_faults "on=$PWD/dst op=range fail=EIO nth=1" \
		"$pardd" if=src of=dst oflag=append && faulty sync_file_range
}
it "does not ignore an error of early write-back that comes once" write_back_once
it "... of what is appended" appended_write_back_once
old_kernel()
{
	"$blocks" make src 8000001 && exits 0 with_faults "on=$PWD/src op=read old;on=$PWD/dst op=write,range old" \
		"$pardd" if=src of=dst bpt=128 "$@" && complete && faulty write &&
	    holds dst 0 0 8000001
}
it "copies where the kernel does not know RWF_DONTCACHE" old_kernel
it "... with 16 workers, too" old_kernel thr=16
both_bad()
{
	"$blocks" make src $bytes &&
	    exits 103 with_faults "on=$PWD/src op=read at=$bad fail=EIO;on=$PWD/dst op=flush fail=EIO" \
		"$pardd" if=src of=dst bs=512 coe=1 && does_not_say 'pardd: complete' &&
	    says 'unreadable'
}
it "also reports lost blocks when the flush fails" both_bad
pipe_out()
{
	"$blocks" make src $bytes && mkfifo p || return
	cat p >dst &
	exits 55 with_faults "on=$PWD/p op=write at=409600+ fail=EIO $1" \
	    "$pardd" if=src of=p bs=512 bpt=8 thr=16 && wait $! && size_is dst 409600 && holds dst 0 0 409600
}
it "stops with 55 when a pipe cannot be written" pipe_out ''
it "... and writes nothing after that, even if it could" pipe_out times=1

# ------------------------------------- short transfers, EINTR, EAGAIN, threads

# Faults that must not have any effect.
unseen()
{
	local rules=$1 op=$2 seed
	shift 2
	"$blocks" make src 300001 || return
	for ((seed = 1; seed <= rounds; seed++)); do
		rm -f dst
		exits 0 with_faults "${rules//SEED/seed=$seed}" "$pardd" \
		    if=src of=dst bs=512 "$@" && complete && size_is dst 300001 &&
		    holds dst 0 0 300001 && faulty "$op" && continue
		echo "with ${rules//SEED/seed=$seed}"
		return 1
	done
}
# shellcheck disable=SC2016
src='on=src op=read' dst='on=dst op=write'
rounds=$(heavy 10)
[[ -z $LONG ]] || rounds=500
for thr in $(few 1 4 16); do
	for odd in '' odd; do
		it "finishes short reads ($thr workers $odd)" \
		    unseen "$src short $odd every=2 SEED" read bpt=8 thr="$thr"
		it "finishes short writes ($thr workers $odd)" \
		    unseen "$dst short $odd every=2 SEED" write bpt=8 thr="$thr"
		it "finishes both, with direct I/O ($thr workers $odd)" \
		    unseen "$src short $odd every=2 SEED;$dst short $odd every=2 SEED" \
		    read bpt=8 thr="$thr" iflag=direct oflag=direct
	done
	it "is not disturbed by EINTR ($thr workers)" \
	    unseen "$src fail=EINTR every=2 SEED;$dst fail=EINTR every=2 SEED" read bpt=8 thr="$thr"
	it "is not disturbed by EAGAIN ($thr workers)" \
	    unseen "$src fail=EAGAIN every=3 SEED;$dst fail=EAGAIN every=3 SEED" read bpt=8 thr="$thr"
done
it "flushes again after EINTR" unseen 'on=dst op=flush fail=EINTR times=3' '\(fdatasync\|fsync\)'
it "flushes the directory again after EINTR" unseen 'on=. op=flush fail=EINTR times=3' '\(fdatasync\|fsync\)'
it "copes with reads that overtake each other" unseen "$src sleep=3 every=4 SEED fail=EINTR" read bpt=8 thr=16

unseen_pipe()
{
	local seed
	mkfifo p q
	for ((seed = 1; seed <= rounds; seed++)); do
		"$blocks" drip 300001 $seed >p &
		"$blocks" check - 0 0 300001 $seed <q &
		exits 0 with_faults "on=p op=read $1 seed=$seed;on=q op=write $1 seed=$seed" \
		    "$pardd" if=p of=q bs=512 bpt=8 thr=16 && complete &&
		    wait %1 && wait %2 && faulty read && faulty write || return
	done
}
it "finishes short transfers of pipes" unseen_pipe "short odd every=2"
it "is not disturbed by EINTR on pipes" unseen_pipe "fail=EINTR every=2"
# lasting 'OP [PLACE]' ERRNO STATUS WORDS: an error that passes elsewhere, but not here
lasting()
{
	"$blocks" make src 100k || return
	: >dst
	local file=dst
	[[ $1 != read* ]] || file=src
	with_faults "on=$PWD/$file op=$1 fail=$2" exits "$3" timeout 20 "$pardd" if=src of=dst bs=512 bpt=8 timeout=1 &&
	    says "$4" && [[ -s faults ]]
}
it "gives up an EAGAIN that lasts for timeout=" lasting 'read at=8192+' EAGAIN 61 'Resource temporarily unavailable'
it "... a write" lasting 'write at=8192+' EAGAIN 61 'Resource temporarily unavailable'
it "... and an EINTR" lasting 'read at=8192+' EINTR 54 'Interrupted system call'
it "... an EINTR of a flush" lasting flush EINTR 103 'flushing: Interrupted system call'
lasting_verify()
{
	"$blocks" make src 100k || return
	with_faults "on=$PWD/dst op=read fail=EAGAIN" exits 61 timeout 20 "$pardd" if=src of=dst verify=1 timeout=1 && faulty read
}
it "... and an EAGAIN of what is read back" lasting_verify
it "is not disturbed by EAGAIN on pipes" unseen_pipe "fail=EAGAIN every=3"

# Fewer workers, or none and a message: either is right.
threads()
{
	"$blocks" make src $bytes && run with_faults "op=thread nth=$1 fail=EAGAIN" "$pardd" if=src of=dst \
		bs=512 bpt=8 thr=4 "${@:2}"
	faulty pthread_create || return
	if [[ $status = 0 ]]; then
		complete && holds dst 0 0 $bytes
	else
		does_not_say 'pardd: complete' && [[ -s err ]]
	fi
}
for nth in 1 2 3 4; do
	it "does not hang when worker $nth cannot be made" threads $nth
done
# As where a limit of a cgroup is met: the lead, its arms, workers, their arms.
few_threads()
{
	local n
	"$blocks" make src $bytes && for n in {4..12}; do
		rm -f dst two && exits 0 with_faults "op=thread from=$n fail=EAGAIN" "$pardd" if=src of=dst of=two \
		    bs=512 bpt=8 thr=4 && faulty pthread_create && complete && same src dst && same src two || return
	done
}
it "has fewer workers where there are no threads for all, or for their targets" few_threads
threads_pipe()
{
	"$blocks" make src $bytes
	with_faults "op=thread nth=3 fail=EAGAIN" "$pardd" if=src of=- bs=512 bpt=8 thr=4 2>err | cat >dst
	status=${PIPESTATUS[0]}
	[[ $status != 0 ]] || { complete && holds dst 0 0 $bytes; }
}
it "does not hang at a pipe when worker 3 cannot be made" threads_pipe
no_thread()
{
	"$blocks" make src $bytes && run with_faults "op=thread fail=EAGAIN" "$pardd" if=src of=dst
	[[ $status != 0 && -s err ]] && does_not_say 'pardd: complete'
}
it "says so when no worker can be made" no_thread
