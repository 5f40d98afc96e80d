#!/usr/bin/env bash
# Each system call of a run fails once, with each errno that it can have: what ends
# with 0 is right, anything else says why, and nothing hangs.  LONG=1 tries all of
# them, otherwise every 11th.  Not seen here: what fails inside the C library, and
# what has no call of its own (io_uring, allocations).
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# sanitizers ask for memory, too
needs "$tools/nth 0 $scratch/log true" -- "a filter of system calls that can be asked"

# honest: the run with $status and err is right, or says why not.  What it says
# itself may be what failed.
honest()
{
	local lines last
	# A flush that was left out cannot be seen.
	if ((status == 0)); then
		same src dst && { [[ ! -e two ]] || same src two; } &&
		    [[ $(<failed) != f*sync\ */@(dst|two):* || $(<failed) = *EINTR ]]
		return
	fi
	mapfile -t lines <err
	last=${lines[-1]-}
	((status < 104)) || return
	[[ $(<failed) = write\ * || ($last = 'pardd: '* && $last != 'pardd: complete'* && $last != *Success) ]]
}

# each OPERAND...: copies, one call of which fails: the first, the second ...
each()
{
	local n tried=0 step=${step-11} from=${from-src} to=${to-of=dst} in=${in-/dev/null} out=${out-out}
	[[ -z $LONG ]] || step=1
	"$blocks" make src 150000 || return
	[[ -z ${serves-} ]] || serves || return
	for ((n = 0; ; n += step)); do
		rm -f dst two map map.bak list*
		${before-}
		: >failed
		timeout -s KILL 60 "$tools/nth" "$n" failed "$pardd" if="$from" "$to" "$@" <"$in" >"$out" 2>err
		status=$?
		[[ -s failed ]] || break
		tried=$((tried + 1))
		honest || { fail "nth $n, $(<failed): status $status, $(<err)"; return; }
	done
	echo "$tried" >>"$scratch/tried"
	((tried > 1)) || fail "nothing failed: the case proves nothing"
}
it "copies right or says why not, whatever fails" each
it "... with verify=1" each verify=1
it "... with a digest" each hash=sha256 hashfile=list
it "... with a manifest" each manifest=list
it "... with holes" each conv=sparse
it "... with several workers" each thr=4 bpt=8
it "... past the page cache, with many in flight" each engine=async iflag=direct oflag=direct
it "... with a map" each map=map
it "... with what programs read" each json=list
it "... to several targets" each of=two
# As a stopped run left it.
half_done()
{
	head -c 75264 src >dst
	touch -r src dst
	printf '# Mapfile. Created by pardd\n0x00012600 ? 1\n0x0 0x12600 +\n0x12600 0x123F0 ?\n' >map
}
# One block in three differs.
partly_other()
{
	local i
	cp src dst
	for i in 3 66 120 291; do
		printf x | dd of=dst bs=512 seek="$i" conv=notrunc status=none
	done
	cp dst was
}
before=half_done step=31 it "... going on with a copy that was stopped" each map=map
before=partly_other step=31 it "... where the target has some of it" each oflag=sparing conv=notrunc
in=src from=- out=dst to=obs=512 step=31 it "... from and to what the shell has opened" each
step=31 it "... with what it shows meanwhile" each status=progress control=control profile=list.csv report=list.html
step=31 it "... with a block map of what was read" each manifest=list.bmap verify=stream
# The server's own calls do not fail: it is started before.
serves()
{
	nbdkit -f -U socket -P pid -r file src >server 2>&1 </dev/null &
	until_true 20 test -s pid
}
if able can_nbd "no nbdkit"; then
	export serves=1 from='nbd+unix:///?socket=socket'
	step=23 it "... from an NBD server" each
	unset serves from
fi
[[ ! -e $scratch/tried ]] || awk '{ n += $1 }
    END { print "# " n " runs, in each of which another call failed with another errno" }' "$scratch/tried"
