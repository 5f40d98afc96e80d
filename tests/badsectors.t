#!/usr/bin/env bash
# Bad sectors of a real block device: an NBD server that fails where a map says so,
# served as a file, below a loop device with direct I/O.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

needs can_lose -- "not root, no nbdkit with the ddrescue filter, nbdfuse or loop devices"

bytes=$((4 << 20))
bad=410112+512,2097152+1536		# sectors 801 and 4096 to 4098

lose()
{
	bad_disk $bytes $bad && "$blocks" make dst $bytes 9 && exits 100 "$pardd" if="$dev" of=dst coe=1 "$@" &&
	    [[ $(tail -n 1 err) = "pardd: NOT complete: 4 unreadable blocks in 2 ranges"* ]] &&
	    size_is dst $bytes && holds -z $bad dst 0 0 $bytes
}
stop()
{
	bad_disk $bytes $bad && exits 3 "$pardd" if="$dev" of=dst "$@" &&
	    does_not_say '^pardd: complete' && holds dst 0 0 410112
}
for thr in $(few 1 4 16); do
	it "loses exactly the bad sectors ($thr workers)" lose thr="$thr"
	it "loses exactly the bad sectors in small requests ($thr workers)" lose thr="$thr" bpt=5
	it "stops at the first bad sector with all before it ($thr workers)" stop thr="$thr"
done
it "loses exactly the bad sectors through the page cache" lose iflag=cached
it "stops at the first bad sector through the page cache" stop iflag=cached
it "copies all between two bad spots" eval \
    'bad_disk $bytes $bad && exits 0 "$pardd" if="$dev" of=dst skip=802 count=3294 && complete &&
    holds dst 0 410624 1686528'
