#!/usr/bin/env bash
# Copies under a scheduler (tests/sched/sched.c): one thread runs at a time, in an order
# that a seed decides, as it decides time, faults, lost writes and power cuts.  A copy
# that ends with 0 is right, what a saved map calls finished is there, and nothing waits
# for ever.  A failure prints its seed: SEED=N starts from it, LONG=1 tries more.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$top/tests/faulty.sh"
[[ $VARIANT = plain ]] || exit 0	# it is linked from objects compiled for tsan
needs "[[ -x '$BUILD/sched/pardd' ]]" -- "it was built without tsan"
# shellcheck disable=SC2034 # it is the limit of "it"
limit=1200
sched=$BUILD/sched/pardd
seeds=40
[[ -z $LONG ]] || seeds=10000
first=${SEED:-1}

# true_map: what the map calls finished is on the target
true_map()
{
	local off len what
	while read -r off len what _; do
		[[ $off = 0x* && $what = + ]] || continue
		cmp -n $((len)) -i $((off)) src dst || return
	done <map
}

# sound WANT: the run with $status is one of WANT, and as good as it says
sound()
{
	[[ " $1 " = *" $status "* ]] || fail "status $status, not of: $1" || return
	if ((status == 0)); then
		same src dst || return
		[[ ! -e two ]] || same src two || return
		[[ ! -e list ]] || same list right || return
	fi
	[[ ! -e map ]] || true_map
}

copies()
{
	"$sched" if=src of=dst bs=512 thr=4 engine=threads "$@" >out 2>err
}

# schedules WANT RUN...: each seed's
schedules()
{
	local seed seen=''
	"$blocks" make src 60000 && head -c 60000 /dev/zero >old || return
	sha256sum <src | cut -d ' ' -f 1 >right
	for ((seed = first; seed < first + seeds; seed++)); do
		export SCHED_SEED=$seed
		cp old dst
		rm -f map map.bak list two
		"${@:2}"
		status=$?
		sound "$1" || { fail "SEED=$seed: $(<err)"; return; }
		[[ $seen = *" $status "* ]] || seen="$seen $status "
	done
	echo "seeds $first to $((seed - 1)):$seen"
}

# What failed is another thing to each of them.
bad()
{
	export FAULTS=$1
	LD_PRELOAD=$shim copies "${@:2}"
}
reads_fail()
{
	bad "on=$PWD/src op=read at=5000+1,40960+1024 fail=EIO" "$@"
}
writes_fail()
{
	bad "on=$PWD/dst op=write at=25000+1 fail=EIO" "$@"
}

# As from a disk that reads elsewhere while a read does not end.
disk_fails()
{
	until_true 5 attach --sizelimit 59904 src 2>err &&
	    echo 0 >"/sys/block/${dev#/dev/}/queue/rotational" || return
	FAULTS="on=$dev op=read at=5120+1,20480+512,40960+1024 fail=EIO" \
	    LD_PRELOAD=$shim "$sched" if="$dev" of=dst bs=512 thr=4 "$@" >out 2>err
	status=$?
	detach "$dev" "$(realpath src)"
	return "$status"
}

# to_pipe OPERAND...: into one that holds all of it
to_pipe()
{
	local to got
	rm -f to
	mkfifo to && exec {to}<>to && exec {got}<to || return
	"$sched" of=- bs=512 thr=4 "$@" 2>err 1>&"$to"
	status=$?
	exec {to}>&-
	cat <&"$got" >dst
	exec {got}<&-
	return "$status"
}
streams()
{
	local from into
	rm -f in
	mkfifo in && exec {from}<>in && exec {into}<in || return
	cat src >&"$from"
	exec {from}>&-
	to_pipe if=- "$@" <&"$into"
	status=$?
	exec {into}<&-
	return "$status"
}
stream_fails()
{
	export FAULTS="on=$PWD/src op=read at=30000+1 fail=EIO"
	LD_PRELOAD=$shim to_pipe if=src "$@"
}

it "copies as it should, whoever goes on" schedules 0 copies bpt=4
it "... with what is read back" schedules 0 copies verify=1 bpt=16
it "... with what is read back meanwhile" schedules 0 copies verify=stream bpt=4
digests()
{
	copies bpt=4 hash=sha256 hashfile=list && sed -i 's/ .*//' list
}
it "... with a digest" schedules 0 digests
it "... from pipe to pipe" schedules 0 streams bpt=4
it "... to a pipe, until a read fails" schedules 3 stream_fails bpt=4
it "... to two targets, of which one or both may take too long" schedules '0 33 103' copies of=two bpt=16
export SCHED_FILE=dst
export SCHED_SIGNAL=2
it "is stopped at any time" schedules '0 130' copies bpt=4 map=map mapinterval=1
it "... while it reads back and digests" schedules '0 130' copies bpt=4 verify=stream hash=sha256
it "... in a pipe" schedules '0 130' streams bpt=4
export SCHED_SIGNAL=0
it "rescues what can be read" schedules 100 reads_fail bpt=4 map=map mapinterval=1
given can_loop "no loop devices" it "... in two places at once" schedules 100 disk_fails bpt=4 map=map mapinterval=1
it "leaves when a write fails, and the map is true" schedules 55 writes_fail bpt=4 map=map mapinterval=1
export SCHED_LOSES=1
it "saves no map of what the medium lost" schedules '0 55 103' copies bpt=4 map=map mapinterval=1
it "... while reads fail" schedules '55 100 103' reads_fail bpt=4 map=map mapinterval=1
export SCHED_LOSES=0 SCHED_CUT=1
it "... or what a power cut took" schedules '0 99' copies bpt=4 map=map mapinterval=1
export SCHED_CUT=0

loses()
{
	SCHED_LOSES=1 copies "$@"
}

# It looks at all loop devices, of which others attach some: once of a few times
# there are as many for both.
again()
{
	"$blocks" make src 60000 || return
	export SCHED_SEED=$first
	for _ in 1 2 3 4 5 6 7 8 9; do
		for n in 1 2; do
			cp src dst
			SCHED_TRACE=trace$n copies bpt=4 || return
		done
		[[ -s trace1 ]] && same trace1 trace2 && return
	done
	return 1
}
it "runs a schedule again by its seed" again

# ------------------------------------------------------- faults it has to find

# finds FILE.c SED WANT RUN...: the schedules notice what is done to a source
finds()
{
	mkdir program && cd program && make_faulty "$1" "$2" "$BUILD/tsan/src/main.o" || return
	sched=$PWD/faulty
	cd ..
	! schedules "${@:3}" >said || fail "nobody noticed: $(<said)" || return
	grep SEED= said
}
needs "[[ -e '$top/config.mk' ]]" -- "it was configured elsewhere"
seeds=2000
it "finds writes that take no turn" \
    finds src/copy/piece.c 's/streamed && !turn_wait(/false \&\& !turn_wait(/' 0 streams bpt=4
it "finds a turn that is passed on too early" \
    finds src/copy/piece.c '/^	len = piece_to_write(/i if (streamed) turn_pass(\&job->turn, off + pc->seg.len);' \
    0 streams bpt=4
it "finds a place in a stream that is given out under a lock and read at without" \
    finds src/copy/piece.c '/^	if (piece_claim(w, pc)) {/a if (streamed) { pthread_mutex_unlock(\&job->order); pthread_mutex_lock(\&job->order); }' \
    0 streams bpt=4
# Who gives a target up is slow, and those who wait for it, too, are done first;
# then the target answers.
given_up()
{
	export FAULTS="on=$PWD/two op=write sleep=61500;on=$PWD/dst op=flush sleep=9000"
	LD_PRELOAD=$shim copies of=two bpt=32
}
slowly='nanosleep(\&(struct timespec){ .tv_sec = 1 }, NULL);'
it "finds a target that is given up before it is told that there is one" \
    finds src/open/tee.c "/t->stuck = true;/d;s/\.stuck = true;/& $slowly t->stuck = true;/" '0 33 103' given_up
still_sound()
{
	mkdir program && cd program && make_faulty "$1" "$2" "$BUILD/tsan/src/main.o" || return
	sched=$PWD/faulty seeds=100
	cd .. && schedules "${@:3}"
}
it "... and none where that is told first" \
    still_sound src/open/tee.c "s/t->stuck = true;/& $slowly/" '0 33 103' given_up
it "finds those who wait for a turn and are not told that there is none" \
    finds src/copy/turn.c '/t->stopped = true;/,/turn_wake(t);/s/turn_wake(t);//' 3 stream_fails bpt=4
it "finds a buffer that is used while it is digested" \
    finds src/digest/hash.c '/^hash_wait/,/^}/s/while (!given_back/if (!given_back/' 0 digests
it "finds a map that does not wait for writes under way" \
    finds src/rescue/mapsaver.c '/transfer_await(job);/d' '0 55 103' loses bpt=1 map=map mapinterval=1
it "finds a lock that is not taken" \
    finds src/map/map.c '/^copy_all/,/^}/s/pthread_mutex_lock(&map->lock);//' 0 copies bpt=4 map=map mapinterval=1
it "finds a map that forgets what failed before" \
    finds src/copy/transfer.c 's/job->doubt = true;/;/' '0 55 103' loses bpt=4 map=map mapinterval=1
