#!/usr/bin/env bash
# Images that are packed (encode=zst): zstd unpacks them, decode= reads any place of
# them, and status 0 means that all of it is there.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs "command -v zstd" "! '$pardd' if=/dev/null of=. encode=zst 2>&1 | grep -q 'built without'" -- \
    "no zstd, or built without the library"

# content FILE KIB [SEED]: that compresses, but not to nothing
content()
{
	"$blocks" make seed $((${2} * 352)) "${3:-1}" && od -An -v -tx1 -w32 seed | head -c $(($2 * 1024)) >"$1" &&
	    truncate -s $(($2 * 1024 + 300)) "$1"
}
# holds FILE: the packed file "x" holds just that, by zstd and by us
holds()
{
	zstd -qt x && cmp <(zstd -dcq x) "$1" && exits 0 "$pardd" if=x of=back oflag=trunc decode=auto && cmp back "$1"
}
frames()
{
	zstd -lv x 2>&1 | awk '/Zstandard Frames/ { print $4 }'
}

packs()
{
	content image "$1" "$1" && exits 0 "$pardd" if=image of=x "${@:2}" && complete &&
	    says 'encoded as zst$' && says "^pardd: x: it has $(stat -c %s x) bytes, [0-9.]+ % of its content\$" && holds image
}
it "packs an image" packs 9000 encode=zst
it "... a small one, with verify=1" packs 100 encode=zst verify=1
it "... one of a single transfer" packs 900 encode=zst verify=1 bpt=10000
it "... in transfers of several frames" packs 9000 encode=zst verify=1 bpt=17000
it "... in small transfers" packs 300 encode=zst bpt=3 verify=1
it "... with another level" packs 3000 encode=zst:9 verify=1
it "... in little memory" packs 3000 encode=zst mem=200K verify=1
it "... that has no room for three requests" packs 9000 encode=zst mem=3M bs=1000 bpt=2785 verify=1
it "... by one thread" packs 9000 encode=zst thr=1 verify=source
it "... by sixteen" packs 9000 encode=zst thr=16 bpt=100 verify=sample
# What is unpacked is found without the table, too.
table()
{
	local at
	content image 3000 && exits 0 "$pardd" if=image of=x encode=zst bpt=100 && at=$(($(stat -c %s x) - $1)) && rm x &&
	    exits 14 with_faults "on=x op=write at=$at+1 flip" "$pardd" if=image of=x encode=zst bpt=100 verify=1 && faulty write &&
	    says 'x: the table at its end .* is not what was written there' || return
	exits 14 with_faults "on=x op=read whole at=$at+1 fail=EIO" "$pardd" if=image of=x encode=zst bpt=100 verify=1 && faulty read &&
	    says 'x: the table at its end cannot be read back.*Input/output'
}
it "sees what is wrong in the last byte of the table" table 1
it "... and in its middle" table 100
nothing()
{
	: >image && exits 0 "$pardd" if=image of=x encode=zst verify=1 && complete && holds image
}
it "packs nothing" nothing
it "packs one byte, and says that this is more" eval \
    'printf 1 >image && exits 0 "$pardd" if=image of=x encode=zst && complete &&
    says "^pardd: x: it has 43 bytes, 4300 % of its content\$" && holds image'
by_pipe()
{
	content image 9000 && exits 0 "$pardd" of=x encode=zst verify=1 < <(cat image) && complete && holds image && rm x &&
	    exits 0 eval '"$pardd" if=image encode=zst | cat >x' && complete && holds image || return
	{ echo before; "$pardd" if=image encode=zst verify=1 2>err; echo behind; } >y && complete &&
	    [[ $(head -n 1 y) = before && $(tail -c 7 y) = behind ]] && tail -c +8 y | head -c -7 >x && holds image
}
it "packs from a pipe, into one, and into what comes before and behind" by_pipe
# One frame for each transfer, of at most 4 MiB.
divided()
{
	content image 9000 && exits 0 "$pardd" if=image of=x encode=zst && [[ $(frames) = 3 ]] &&
	    exits 0 "$pardd" if=image of=x encode=zst bpt=17000 && [[ $(frames) = 4 ]] &&
	    exits 0 "$pardd" if=image of=x encode=zst bpt=2048 && [[ $(frames) = 9 ]]
}
it "makes a frame of each transfer, and more of a large one" divided
anywhere()
{
	content image 9000 && exits 0 "$pardd" if=image of=x encode=zst bpt=1000 hash=sha256 && complete &&
	    grep -q "^$(sha256sum <image | cut -c1-64)  image" err && exits 0 "$pardd" if=x of=dst decode=auto skip=3000 count=7000 &&
	    cmp dst <(tail -c +1536001 image | head -c 3584000) && exits 0 "$pardd" if=x of=image decode=auto compare=1 &&
	    rm dst && exits 0 "$pardd" if=x of=dst decode=auto map=m && complete && same image dst &&
	    exits 0 "$pardd" -d if=x of=dst decode=auto && grep -q '19 blocks on up to' out
}
it "makes what can be read at any place, with a digest of the content" anywhere
# On a disk, or by a server of whole sectors, it has zeros behind it.  If they are more than 64 MiB, or something else,
# all of it has to be looked at, in order.
padded()
{
	local n
	content image 9000 && exits 0 "$pardd" if=image of=whole encode=zst bpt=1000 && for n in 1 1000 65536 50000000; do
		cp whole x && truncate -s +$n x && exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto skip=3000 count=7000 &&
		    cmp dst <(tail -c +1536001 image | head -c 3584000) && exits 0 "$pardd" -d if=x of=dst decode=auto &&
		    grep -q '19 blocks on up to' out && exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto && complete &&
		    same image dst || fail "$n zeros" || return
	done
	truncate -s +70M x && exits 0 "$pardd" -d if=x of=dst decode=auto && ! grep -q 'blocks on up to' out &&
	    exits 0 "$pardd" if=x of=dst oflag=trunc decode=auto && complete && same image dst || return
	cp whole x && truncate -s +1M x && echo other >>x && exits 14 "$pardd" if=x of=dst oflag=trunc decode=auto &&
	    says 'behind the end of its zst.* it has something else' && same image dst || return
	! can_loop || { cp whole x && truncate -s 20M x && loop x && exits 0 "$pardd" -d if="$dev" of=dst decode=auto &&
	    grep -q '19 blocks on up to' out && rm dst && exits 0 "$pardd" if="$dev" of=dst decode=auto map=m && complete &&
	    same image dst; }
}
it "... with zeros behind it, too" padded
far()
{
	content image 9000 && exits 0 "$pardd" if=image of=x encode=zst && truncate -s +60M x && exits 0 "$pardd" -d \
	    if='[ nbdkit -s --filter=log file x logfile=log ]' of=dst decode=auto && (($(grep -c ' Read id=' log) < 60))
}
given can_nbd "no nbdkit" it "... which are read in few pieces where each takes its time" far
it "writes a manifest of the content" eval \
    'content image 900 && exits 0 "$pardd" if=image of=x encode=zst bpt=100 manifest=m && complete &&
    exits 0 "$pardd" if=x decode=auto manifest=m check=1'
anew()
{
	content image 9000 && gzip -c image >y && exits 0 "$pardd" if=y of=x decode=auto encode=zst verify=1 && complete &&
	    says 'verified, encoded as zst, decoded from gz$' && holds image
}
it "packs anew what is unpacked" anew
older()
{
	content image 3000 && "$blocks" make x 8M 3 && exits 0 "$pardd" if=image of=x encode=zst verify=1 && complete &&
	    holds image && cp x y && exits 0 "$pardd" if=image of=x encode=zst oflag=trunc && same x y
}
it "cuts off what an older file has behind it" older
# A file that others write behind the image is no image.
it "cuts off what others put behind it meanwhile" eval \
    'content image 9000 && { "$pardd" if=image of=x encode=zst bpt=100 rate=6M verify=1 2>err & pid=$!; } &&
    until_true 20 test -s x && truncate -s 20M x && wait "$pid" && complete && holds image'
counted()
{
	content image 3000 && exits 0 "$pardd" if=image of=. encode=zst && complete && says 'nothing to flush, encoded as zst$' &&
	    says '^pardd: .: it has [0-9]+ bytes, [0-9.]+ %'
}
it "counts with of=." counted

# What file systems do not use is left out, and reads as zeros.
disk()
{
	mkdir d && content d/data 2000 && truncate -s 20000K part && mke2fs -q -t ext4 -d d part && "$blocks" make image 40M 5 &&
	    printf 'label: gpt\nstart=2048,size=40000\nstart=43008\n' | sfdisk -q image &&
	    dd if=part of=image bs=512 seek=2048 conv=notrunc status=none
}
used()
{
	disk && exits 0 "$pardd" if=image of=plain used=only && truncate -s 50M x && exits 0 "$pardd" if=image of=x encode=zst \
	    used=only verify=1 hash=sha256 json=j && complete && says 'encoded as zst, without .* that 1 file system calls free' &&
	    does_not_say 'larger than the source' &&
	    grep -q "^$(sha256sum <plain | cut -c1-64)  image" err && holds plain &&
	    (($(jq -es 'last | .bytes_written' j) < 30000000 && $(jq -es 'last | .bytes_packed' j) == $(stat -c %s x))) || return
	exits 101 "$pardd" if=x of=p ipart=1 && one_line 'x has no partition table as it is: it is compressed; decode=auto unpacks it$' &&
	    exits 0 "$pardd" if=x of=p decode=auto ipart=1 && cmp p <(tail -c +1048577 plain | head -c 20480000) &&
	    e2fsck -fn p >/dev/null 2>&1 && exits 0 eval '"$pardd" if=image encode=zst used=only | cat >x' && complete && holds plain
}
it "leaves out what is free, and a partition can be restored from it" used
look_in()
{
	"$blocks" make disk 2M && loop disk &&
	    script -qec "$(printf '%q ' "$pardd" if="$dev" of=x encode=zst)" shown >/dev/null && tr -d '\r' <shown >err &&
	    says '^pardd: to see the files in it, unpack it: pardd if=x decode=auto of=FILE$' && does_not_say losetup
}
given 'can_loop && command -v script' "no loop devices, or no script(1)" \
    it "says on a terminal how to see the files in it" look_in

only plain asan
full()
{
	content image 9000 && truncate -s 2M fs && mke2fs -q fs && mkdir mnt && mount -o loop fs mnt && undo umount "$PWD/mnt" &&
	    exits 78 "$pardd" if=image of=mnt/x encode=zst bpt=500 "$@" && says 'its own byte .*No space left on device' &&
	    says '^pardd: mnt/x: it is cut short: it has the first [1-9][0-9]* bytes of the content' && partly mnt/x
}
# partly FILE: it has whole frames, and just the content that was told
partly()
{
	local bytes
	bytes=$(sed -n 's/.*it has the first \([0-9]*\) bytes.*/\1/p' err) && zstd -dcq "$1" >part &&
	    [[ $(stat -c %s part) = "$bytes" ]] && cmp -n "$bytes" part image
}
no_room()
{
	content image 9000 && truncate -s 2M fs && mke2fs -q fs && mkdir mnt && mount -o loop fs mnt && undo umount "$PWD/mnt" &&
	    ! cat /dev/zero >mnt/all 2>/dev/null && exits 78 "$pardd" if=image of=mnt/x encode=zst &&
	    says '^pardd: mnt/x: it is cut short: it has the first 0 bytes of the content' && [[ ! -s mnt/x ]]
}
if able can_loop "no loop devices"; then
	it "tells of a full disk, and leaves whole frames" full
	it "... also with sync=0" full sync=0
	it "... and of one on which there was no room at all" no_room
fi
stopped()
{
	content image 9000 && exits 124 timeout -s "$1" 1 "$pardd" if=image of=x encode=zst bpt=100 rate=4M &&
	    says 'NOT complete: stopped by' && partly x
}
it "leaves whole frames when it is stopped" stopped INT
it "... and nothing of an older file" eval '"$blocks" make x 12M 3 && stopped INT'
# What others do to the file meanwhile is told, and no more said of what it has.
meddled()
{
	local pid
	content image 9000 && { "$pardd" if=image of=x encode=zst bpt=100 rate=6M 2>err & pid=$!; } && until_true 20 test -s x &&
	    "${@:3}" || return
	exited "$1" "$pid" && says "NOT complete: .*$2" && ! grep -q 'it is cut short' err
}
it "tells that others have cut it off" meddled 15 truncated truncate -s 100 x
it "... and removed it" meddled 52 'removed or replaced' rm x
killed()
{
	local n
	content image 9000 && run timeout -s KILL 1 "$pardd" if=image of=x encode=zst bpt=100 rate=6M
	zstd -dcq x >part 2>/dev/null
	n=$(stat -c %s part) && ((n > 0)) && cmp -n "$n" part image && ! "$pardd" if=x of=. decode=auto 2>err
}
it "leaves what can be unpacked when it is killed" killed
short()
{
	content image 3000 && exits 102 "$pardd" of=x encode=zst count=9999 < <(cat image) && says 'NOT complete' && holds image
}
it "tells of a source that ends early" short
no_reader()
{
	"$blocks" make image 9M 1
	"$pardd" if=image encode=zst 2>err | head -c 9 >/dev/null
	[[ ${PIPESTATUS[0]} = 82 ]] && says 'Broken pipe'
}
it "tells of a reader that has gone" no_reader
only all
memory()
{
	{ content image 9000 && (ulimit -v 300000 && run "$pardd" if=image of=x encode=zst:19 &&
	    [[ $status = 0 || ($status = 62 && $(<err) = *'Cannot allocate memory'*) ]]); } || fail "status $status: $(<err)"
}
[[ $VARIANT != plain ]] || it "tells of too little memory" memory

# refused STATUS SAYS OPERAND...
refused()
{
	local want=$1 words=$2
	shift 2
	content image 100 && exits "$want" "$pardd" if=image of=x encode=zst "$@" && one_line "$words" && [[ ! -e x ]]
}
while IFS='|' read -r want words operands; do
	# shellcheck disable=SC2086
	it "refuses $operands" refused "$want" "$words" $operands
done <<'EOT'
1|map=, base= or oflag=sparing|map=m
1|map=, base= or oflag=sparing|base=m
1|map=, base= or oflag=sparing|oflag=sparing
1|from its first byte on|seek=1
1|from its first byte on|oflag=append
1|from its first byte on|of=y
1|from its first byte on|opart=1
1|make it the source|compare=1
1|written as it is|table=fix
1|written as it is|rest=zero
1|written as it is|oflag=sparse
1|written as it is|reflink=always
1|verify=1 does that|verify=stream
1|one request at a time|qd=2
EOT
in_use()
{
	truncate -s 1M y && loop y && : >image && exits 101 "$pardd" if=image of=y encode=zst && one_line 'the loop device' &&
	    [[ $(stat -c %s y) = 1048576 ]]
}
given can_loop "no loop devices" it "refuses a file that is in use, also if nothing is packed" in_use
levels()
{
	local word
	content image 10
	for word in zst: zst:0 zst:20 zst:03 zst:3x zst:99999999999 xz zstd ''; do
		exits 1 "$pardd" if=image of=x encode="$word" && [[ ! -e x ]] || fail "$word" || return
	done
	for word in 1 19; do
		exits 0 "$pardd" if=image of=x encode=zst:$word && holds image || fail "$word" || return
	done
}
it "takes levels from 1 to 19, and nothing else" levels
ends()
{
	content image 10 && exits 101 eval '"$pardd" if=image encode=zst >>x' && one_line 'is appended to' && [[ ! -s x ]] &&
	    exits 101 "$pardd" if=image of=/dev/full encode=zst && one_line 'and /dev/full is neither' || return
	! can_loop || { truncate -s 1M y && loop y && exits 101 "$pardd" if=image of="$dev" encode=zst &&
	    one_line "encode= makes a file, or goes to a pipe, and $dev is neither"; }
}
it "refuses a disk, and what is appended to" ends
itself()
{
	content image 10 && cp image y && exits 101 "$pardd" if=image of=image encode=zst force=overlap &&
	    one_line 'image cannot be packed into itself' && same image y
}
it "refuses to pack a file into itself" itself
no_library()
{
	content image 10 && mkdir lib && : >lib/libzstd.so.1 && LD_LIBRARY_PATH=$PWD/lib exits 101 "$pardd" if=image of=x encode=zst &&
	    one_line 'encode=zst needs .*libzstd1' && [[ ! -e x ]]
}
[[ $VARIANT != plain ]] || it "names the package of the library if it is missing" no_library
told()
{
	content image 900 && exits 0 "$pardd" -d if=image of=x encode=zst:7 && grep -q 'to be created, encoded as zst, level 7' out &&
	    ! grep -q 'map=' out && [[ ! -e x ]] && exits 0 "$pardd" if=image of=x encode=zst:7 json=j && [[ $(jq -es '
	    (.[] | select(.event == "plan") | .encode), (last | .bytes_packed)' j | xargs) = "zst:7 $(stat -c %s x)" ]]
}
it "says in the plan what it packs, and to programs" told
