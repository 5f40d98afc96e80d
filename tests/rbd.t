#!/usr/bin/env bash
# Images of a Ceph cluster, which is a directory here (tests/tools/fakerbd); what
# of it only a real one can say is asked of one by tests/ceph/run.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# cluster: where librbd is that one; "image" and "other" are in the pool p
cluster()
{
	mkdir p && : >p/image && : >p/other && ceph
}
# copy STATUS OPERANDS...; $faults is what the cluster fails with
copy()
{
	exits "$1" env RBD_LOG="$PWD/log" RBD_FAULTS="${faults-}" timeout -s KILL 60 "$pardd" "${@:2}"
}
# refuse STATUS WORDS OPERANDS...: in one line that has these words
refuse()
{
	copy "$1" "${@:3}" && one_line "$2"
}
needs can_rbd -- "built without librbd"

# pair BYTES: a source, and an image of that size with other data
pair()
{
	cluster && "$blocks" make src "$1" && "$blocks" make p/image "$1" 9
}
# count CALL: how often the cluster was called so
count()
{
	grep -c "^$1 " log
}

# ------------------------------------------------------------------ copying

both()
{
	pair 12345856 && cp src p/other && copy 0 if=rbd:p/other of=rbd:p/image "$@" && complete && same src p/image
}
it "copies from one image to another" both
it "... by many workers, a little at a time" both thr=16 bs=4096 bpt=3
only plain asan
it "... by one worker" both thr=1
it "... with more in a transfer than the end asks for at once" both bs=512 bpt=24112
it "copies a tail that is no whole block" eval \
    'pair 3000001 && copy 0 if=src of=rbd:p/image && complete && same src p/image && copy 0 if=rbd:p/image of=new &&
    complete && same src new'
it "copies a part, to its place" eval \
    'pair 8M && copy 0 if=src of=rbd:p/image bs=4k skip=100 seek=3 count=1000 && complete &&
    holds p/image 12288 409600 4096000 && holds p/image 0 0 12288 9 && holds p/image 4108288 4108288 4000000 9'
snapshot()
{
	pair 3M && cp src p/image@monday && copy 0 if=rbd:p/image@monday of=new && complete && same src new &&
	    refuse 1 'a snapshot is never written' if=src of=rbd:p/image@monday && same src p/image@monday
}
it "reads a snapshot, and never writes one" snapshot
named()
{
	cluster && mkdir p/team && "$blocks" make src 1M && cp src p/team/a:b && echo >ceph.conf &&
	    copy 0 if='rbd:p/team/a\:b:id=backup:conf=ceph.conf:rados_x=1\:2' of=new && complete && same src new &&
	    grep -q '^set rados_x 1:2 ' log
}
it "takes namespaces, options, and names with a backslash" named
with_all()
{
	local sum
	pair 4M && sum=$(sha256sum <src) && copy 0 if=src of=rbd:p/image verify=1 hash=sha256 \
	    expect="sha256:${sum%% *}" manifest=m profile=p.csv rate=100M && complete && says verified &&
	    copy 0 if=src of=rbd:p/image compare=1 && says 'nothing differs' &&
	    copy 0 if=src of=rbd:p/image base=m verify=stream && complete && copy 0 if=src of=rbd:p/image map=map &&
	    complete && dd if=/dev/zero of=p/image bs=1 count=1 seek=70000 conv=notrunc status=none &&
	    copy 14 if=rbd:p/image of=src compare=1 && copy 0 if=src of=rbd:p/image oflag=sparing && complete && same src p/image
}
only all
it "verifies, compares, digests, spares and rescues" with_all
several()
{
	pair 3M && truncate -s 3M p/other && copy 0 if=src of=rbd:p/image of=rbd:p/other of=new && complete &&
	    same src p/image && same src p/other && same src new
}
it "is one of several targets" several
described()
{
	pair 1M && copy 0 -dv if=rbd:p/image of=. && grep -q '^source_kind=Ceph image$' out &&
	    grep -q '^source_offers=cluster 11111111-.*, image [0-9]*$' out && copy 0 if=src of=rbd:p/image json=j &&
	    jq -e -s '.[0].target.kind == "rbd"' j >/dev/null && cp src p/image@s && echo 1 >p/image.users &&
	    copy 0 -dv if=rbd:p/image@s of=rbd:p/image force=held && grep -q '^source_offers=.*, a snapshot$' out &&
	    grep -q '^target_offers=.*, open for writing by client.4000 at 10.0.0.9:0/42$' out
}
only plain asan
it "is told of in the plan" described
looks()
{
	pair 1M && faults=open=30 copy 0 -d if=src of=. && copy 0 -d if=src of=rbd:p/image && [[ $(count write) = 0 &&
	    $(count lock) = 0 ]] && holds p/image 0 0 1M 9
}
it "writes nothing with -d" looks

# ------------------------------------------------------------ holes and zeros

holes()
{
	cluster && truncate -s 64M p/image src && "$blocks" make piece 3M &&
	    dd if=piece of=p/image bs=1M seek=20 conv=notrunc status=none &&
	    dd if=piece of=src bs=1M seek=20 conv=notrunc status=none &&
	    copy 0 if=rbd:p/image of=new verbose=1 && complete && same src new && says 'were holes, and not read' &&
	    (($(stat -c %b new) * 512 < 5 << 20 && $(count read) < 10 && $(count diff) == 1))
}
it "reads no holes" holes
zeros()
{
	cluster && truncate -s 64M src && "$blocks" make p/image 64M 9 && "$blocks" make piece 3M &&
	    dd if=piece of=src bs=1M seek=20 conv=notrunc status=none &&
	    copy 0 if=src of=rbd:p/image "oflag=$1" && complete && same src p/image && (($(count write) < 10 && $(count "$2") > 0))
}
it "has the cluster make zeros" zeros sparse zero
it "... and free them" zeros trim zero
# cleared FLAGS CALL: what is behind the copy is zeroed by such calls
cleared()
{
	pair 1M && truncate -s 3M p/image && copy 0 if=src of=rbd:p/image rest=zero ${1:+"$1"} && complete && same src <(head -c 1M p/image) &&
	    (($(count "$2") > 0)) && cmp -n 2M -i 1M:0 p/image /dev/zero
}
it "has it clear the rest" cleared '' zero
it "... and keep the room of that" cleared oflag=nosparse zerothick
# What it says of extents goes for nothing if it makes no sense.
no_extents()
{
	pair 3M && cp src p/image && for faults in diff=5 lies=1 more=1 conf=2; do
		copy 0 if=rbd:p/image of=new && complete && same src new || return
	done
}
it "reads all where it does not tell of holes" no_extents
# What comes back short is no data, and what cannot be sent is not done.
unsound()
{
	pair 1M && cp src p/image && cp src p/other && faults=cut=1 copy 3 if=rbd:p/image of=dst && says 'NOT complete' &&
	    faults=completion=12 copy 62 if=rbd:p/image of=dst && says 'Cannot allocate memory' &&
	    faults=completion=12 copy 62 if=src of=rbd:p/other && says 'NOT complete'
}
it "takes no answer that is too short" unsound

# Of a snapshot, and of an image that has changed since, "older" is a copy.
changed()
{
	pair 16M && cp p/image p/image@monday && copy 0 if=rbd:p/image@monday of=older manifest=m bpt=256 &&
	    dd if=src of=p/image bs=64k seek=48 count=1 conv=notrunc status=none &&
	    dd if=/dev/zero of=p/image bs=64k seek=100 count=3 conv=notrunc status=none &&
	    cp p/image p/image@tuesday && rm log
}
increment()
{
	changed && copy 0 if=rbd:p/image@tuesday of=older iflag=since:monday base=m manifest=m json=j "$@" && complete &&
	    says 'changed since monday: 0.4 of 16.8 MB$' && same p/image older &&
	    [[ $(jq -s '.[-1].bytes_written' j) = 393216 && $(jq -s '.[-1].bytes_spared' j) = 16384000 ]] &&
	    copy 0 if=p/image manifest=m check=1
}
it "reads only what has changed since a snapshot" increment
it "... and verifies the rest, too" increment verify=1
no_older()
{
	changed && cp src other && refuse 101 'does not hold what m says' if=rbd:p/image of=other iflag=since:monday base=m &&
	    cmp src other && cp src older && copy 0 if=src of=older manifest=m bpt=256 &&
	    refuse 101 'differs from m: snapshot monday is not of that time' if=rbd:p/image of=older iflag=since:monday base=m &&
	    cmp src older
}
it "takes nothing but the copy of that snapshot for a target" no_older
no_since()
{
	changed && refuse 101 'there is no snapshot sunday' if=rbd:p/image of=older iflag=since:sunday base=m &&
	    refuse 1 'needs base=' if=rbd:p/image of=older iflag=since:monday &&
	    refuse 1 'is for Ceph images' if=src of=older iflag=since:monday base=m && faults=snap=5 &&
	    refuse 55 'asking for the snapshot of since:' if=rbd:p/image of=older iflag=since:monday base=m && faults=diff=5 && refuse 55 'asking what has changed' if=rbd:p/image of=older iflag=since:monday base=m &&
	    cmp p/image@monday older
}
it "refuses one that is not there, and an answer that fails" no_since

# ------------------------------------------------------------------ refusals

in_use()
{
	pair 1M && echo 1 >p/image.users && refuse 101 'is in use: .* by client.4000 at 10.0.0.9:0/42' if=src of=rbd:p/image &&
	    holds p/image 0 0 1M 9 && copy 0 if=rbd:p/image of=new && copy 0 if=src of=rbd:p/image force=held && complete &&
	    same src p/image
}
it "refuses an image that somebody else has open for writing" in_use
crowd()
{
	pair 1M && echo 100 >p/image.users && refuse 101 'by more than 64 clients' if=src of=rbd:p/image
}
it "... and one that many have" crowd
locked()
{
	pair 1M && faults=lock=30 && refuse 80 'locking it: Read-only' if=src of=rbd:p/image && holds p/image 0 0 1M 9 &&
	    copy 0 if=src of=rbd:p/image force=held && faults=lock=95 copy 0 if=src of=rbd:p/image && complete &&
	    faults=lock=22 copy 0 if=src of=rbd:p/image && complete
}
it "keeps others away by the image's lock, if it has one" locked
itself()
{
	local same=(if=rbd:p/image of=rbd:p/image:id=admin count=8) at
	pair 1M && for at in skip=0 skip=7 seek=7; do
		refuse 101 overlaps "${same[@]}" "$at" && copy 0 "${same[@]}" "$at" force=overlap || return
	done
	copy 0 "${same[@]}" skip=8 && copy 0 "${same[@]}" seek=8 && complete && cp src p/image@s &&
	    copy 0 if=rbd:p/image@s of=rbd:p/image && complete && same src p/image
}
it "does not write an image over itself, but a snapshot of it" itself
# One file is images of the same number in another pool, namespace, and cluster.
not_itself()
{
	local to
	pair 1M && mkdir q p/n && ln p/image q/image && ln p/image p/n/image && : >conf &&
	    for to in q/image p/n/image p/image:conf=conf; do
		copy 0 if=rbd:p/image of="rbd:$to" && complete && copy 0 if="rbd:$to" of=rbd:p/image || return
	done
}
it "tells images of one number apart by pool, namespace and cluster" not_itself
small()
{
	pair 2M && truncate -s 1M p/image && refuse 101 'has room for 1048576' if=src of=rbd:p/image && [[ $(count write) = 0 ]]
}
it "refuses an image with less room, before the first write" small
nobody()
{
	cluster && refuse 52 'rbd:p/none: there is no such image' if=rbd:p/none of=dst && refuse 52 'there is no such pool' \
	    if=rbd:q/image of=dst && refuse 52 'no such image, or it has no such snapshot' if=rbd:p/image@none of=dst &&
	    refuse 1 'Ceph has no option nothing' if=rbd:p/image:nothing=1 of=dst && faults=connect=13 &&
	    refuse 63 'connecting to the cluster: Permission denied' if=rbd:p/image of=dst && [[ ! -e dst ]]
}
it "says what is not there" nobody
# What a cluster answers at each step: the call and its errno, the status, the words.
each_step()
{
	local fails status words image=rbd:p/image:option=1
	pair 1M || return
	while read -r fails status words; do
		if ! faults=$fails refuse "$status" "$image: $words" if="$image" of=dst || [[ -e dst ]]; then
			fail "$fails"
			return
		fi
	done <<-'END'
		create=12 62 its configuration: Cannot allocate memory$
		conf=13 63 its configuration: Permission denied$
		set=22 72 its options: Invalid argument$
		connect=2 52 no cluster is found, or no keyring for it
		connect=110 15 connecting to the cluster: no answer within [0-9]+ seconds
		open=13 63 opening it: Permission denied$
		size=5 55 asking what it is: Input/output error$
		huge=1 101 the cluster says that its size is 18446744073709551615
		fsid=5 15 asking what it is: Protocol error$
		id=13 63 asking what it is: Permission denied$
	END
	refuse 52 'there is no such file as nowhere$' if=rbd:p/image:conf=nowhere of=dst && faults=watchers=13 refuse 63 'asking who has it open: Permission denied$' if=src of=rbd:p/image &&
	    faults=watchers=34 refuse 101 'more than [0-9]+ clients' if=src of=rbd:p/image && holds p/image 0 0 1M 9
}
it "says which step of opening failed" each_step
words()
{
	cluster
	for name in rbd: rbd:p rbd:p/ rbd:/i rbd:p//i rbd:p/i@ ; do
		refuse 1 'an image is named rbd:POOL/IMAGE' if=$name of=dst || return
	done
	refuse 1 'options, KEY=VALUE' if=rbd:p/i:conf of=dst && refuse 1 'no name' if=rbd:p/i:=1 of=dst &&
	    refuse 1 'for block devices' if=rbd:p/image of=. iflag=sgio &&
	    refuse 1 'for files' if=/dev/null of=rbd:p/image oflag=append && [[ ! -e dst ]]
}
it "refuses names that are none" words
secret()
{
	local key
	cluster || return
	for key in key password; do
		refuse 1 'a secret is not named there' "if=rbd:p/image:id=x:$key=AQBVery\\:Long:conf=c" \
		    of=dst json=json log=log && ! grep -e Very -e Long err json log || return
	done
}
it "takes no secret where all can see it, and repeats none" secret
it "... and changes no file's name that looks so" eval \
    'echo text >src && mkdir rbd:p && exits 0 "$pardd" if=src of=./rbd:p/image:key=1 && same src rbd:p/image:key=1'
missing()
{
	cluster && rm lib/librbd.so.1 && : >lib/librbd.so.1 && refuse 101 'Debian has it in librbd1$' if=rbd:p/image of=dst &&
	    [[ ! -e dst ]]
}
it "names the package of a library that is missing" missing

# -------------------------------------------------------------------- errors

bad()
{
	pair 1M && cp src p/image && faults=read@409600+512=5 && copy 3 if=rbd:p/image of=dst && says 'NOT complete: .*block 800: ' &&
	    holds dst 0 0 409600 && copy 100 if=rbd:p/image of=dst coe=1 && says '1 unreadable block in 1 range' &&
	    holds dst 410112 410112 600000 && copy 100 if=rbd:p/image of=dst2 map=m &&
	    grep -q '^0x00064000 *0x00000200 *-' m && holds dst2 0 0 409600 && holds dst2 410112 410112 600000
}
only all
it "finds the one bad block of an image" bad
fails()
{
	pair 4M && faults=$2 copy "$1" if=src of=rbd:p/image && says "NOT complete: .*$3"
}
it "stops at a write that fails" fails 55 write@1000000+1=5 'Input/output error'
it "... for want of room" fails 78 write@1000000+1=28 'No space left'
it "... when the cluster has blocklisted us" fails 69 write@1000000+1=108 'blocklisted us'
it "... or the connection is lost" fails 69 write@1000000+1=107 'the connection to the cluster is lost; writes since'
it "is not complete where the flush fails" fails 103 flush=5 'flushing: Input/output error'
it "... as the cluster has blocklisted us" fails 103 flush=108 'flushing: the cluster has blocklisted us'
it "... with a word of the cluster" fails 51 write@1000000+1=1 'Operation not permitted, says the cluster'
it "flushes once, at the end" eval 'pair 1M && copy 0 if=src of=rbd:p/image && complete && [[ $(count flush) = 1 ]]'

# ----------------------------------------------------- a cluster that is silent

# silent STATUS WORDS CALL OPERANDS...: that call never ends
silent()
{
	pair 4M && faults=$3=hang copy "$1" timeout=1 "${@:4}" && says "$2" && limited 1 && ! grep -q '^shutdown' log
}
# limited SECONDS: what Ceph itself waits for is so limited, too
limited()
{
	local key
	for key in client_mount_timeout rados_mon_op_timeout rados_osd_op_timeout; do
		grep -q "^set $key $1 0 0$" log || fail "$key: $(grep "$key" log)" || return
	done
}
it "waits no longer than timeout= for a cluster" silent 15 'connecting .*no answer within 1 seconds' connect if=rbd:p/image of=dst
it "... for a read" silent 69 'NOT complete: .*does not answer within timeout=' read@2000000+1 if=rbd:p/image of=dst
it "... for a write" silent 69 'writes since the last flush may be lost' write@2000000+1 if=src of=rbd:p/image
it "... for the flush" silent 103 'flushing: the cluster does not answer within 1 seconds' flush if=src of=rbd:p/image
it "... for the end" silent 0 '^pardd: complete, flushed$' close if=src of=rbd:p/image
if [[ $VARIANT = plain ]]; then
	it "... for an image of a target" silent 15 'opening it: no answer within 1 seconds' open if=src of=rbd:p/image
	it "... with coe=1, too" silent 69 'NOT complete: .*does not answer' read@2000000+1 if=rbd:p/image of=dst coe=1
	it "... for zeros" silent 69 'does not answer' zero if=/dev/zero of=rbd:p/image count=8192 oflag=sparse
	it "... for the lock" silent 15 'locking it' lock if=src of=rbd:p/image
	it "... for what there is" silent 69 'does not answer' diff if=rbd:p/image of=dst
	it "... for one of several targets" silent 15 'connecting .*no answer within 1 seconds' connect if=src of=new of=rbd:p/image
	it "... as one of several targets" silent 33 '^pardd: rbd:p/image: NOT complete: no answer' write@2000000+1 if=src of=rbd:p/image of=new
fi
# A write of which nobody knows what became of it is the last one there.
last_write()
{
	silent 69 'does not answer' write@2000000+1 if=src of=rbd:p/image retries=5 thr=1 &&
	    [[ $(sed -n 's/^write \([0-9]*\) .*/\1/p' log | tail -n 1) = 1048576 && $(count flush) -le 1 ]]
}
it "... and writes nothing more then" last_write
resumed()
{
	silent 69 'does not answer' write@2000000+1 if=src of=rbd:p/image map=m mapinterval=1000 && ! grep -q ' +$' m &&
	    faults='' copy 0 if=src of=rbd:p/image map=m && complete && same src p/image
}
it "goes on with map= from the last flush" resumed
waits()
{
	pair 4M && cp src p/image && faults=read@2000000+1=110 copy 69 if=rbd:p/image of=dst map=m wait=2 timeout=1 &&
	    says 'does not answer' && copy 0 if=rbd:p/image of=dst map=m && complete && same src dst
}
it "waits for a source with wait=, and goes on later" waits
# What was given up is served in the end, by a thread of the cluster: with the
# bytes that it was given, and into a buffer that nobody else has.
late()
{
	grep -q "^late $1 " log || fail "nothing was late: $(grep late log)"
}
late_write()
{
	pair 4M && cp src p/other &&
	    faults='write@1048576+1=late read@2097152+1=after' copy 33 if=rbd:p/other of=rbd:p/image of=new timeout=2 thr=1 \
	    bs=1M bpt=1 && late 1048576 && same src new && holds p/image 1048576 1048576 1048576
}
late_read()
{
	pair 4M && cp src p/image &&
	    faults='read@1048576+1=late read@2097152+1=after' copy 0 if=rbd:p/image of=dst map=m wait=60 timeout=1 thr=1 \
	    bs=1M bpt=1 && late 1048576 && complete && same src dst
}
only plain asan
it "leaves what it gave to a write that was given up" late_write
it "takes nothing of a read that was given up" late_read
