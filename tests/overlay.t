#!/usr/bin/env bash
# A file on an overlay (overlayfs) has a second name in a layer, on another file system.
# Needs root.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fs.sh"
only plain asan

# over OPTIONS: an overlay of them at m
over()
{
	mount -t overlay -o "$1" none m && undo until_true 5 umount "$PWD/m"
}
# layers: `low` below `up`, in memory, for an overlay lies on none
layers()
{
	mkdir t && mount -t tmpfs none t && undo until_true 5 umount "$PWD/t" && cd t && mkdir low up work m
}
# overlay: the two at m; a is in the lower one, b in the upper one
overlay()
{
	layers && "$blocks" make low/a 256k 1 && "$blocks" make up/b 256k 2 && "$blocks" make other 256k 3 &&
	    over "lowerdir=$PWD/low,upperdir=$PWD/up,workdir=$PWD/work"
}
can_overlay()
{
	(mkdir "$scratch/layers" && cd "$scratch/layers" && overlay)
	local status=$?
	release
	return $status
}
needs '((EUID == 0))' -- "not root"
needs can_overlay -- "no overlays"

again='force=overlap writes anyway\)$'
untouched()
{
	holds up/b 0 0 256k 2 && holds low/a 0 0 256k 1 && [[ ! -e up/a ]]
}
itself()
{
	overlay && refused "overlaps.*$again" if=m/b of=up/b seek=1 &&
	    refused "overlaps.*$again" if=up/b of=m/b seek=1 &&
	    refused "overlaps.*$again" if=m/b of=up/b oflag=trunc skip=16 count=1 &&
	    refused "overlaps.*$again" -d if=up/b of=m/b seek=1 &&
	    exits 101 "$pardd" of=up/b seek=1 <m/b && says "$again" || return
	"$pardd" if=up/b seek=1 1<>m/b 2>err
	[[ $? = 101 ]] && says "$again" && untouched
}
it "refuses to copy a file over itself by its name in the upper layer" itself
lower()
{
	overlay && refused "overlaps.*$again" if=m/a of=low/a seek=1 && untouched
}
it "... and in the lower one, which is read" lower
it "copies from a lower file to what is made of it when it is written" eval \
    'overlay && exits 0 "$pardd" if=low/a of=m/a seek=1 count=8 && complete && holds low/a 0 0 256k 1 &&
    holds up/a 0 0 512 1 && holds up/a 512 0 4k 1 && exits 0 "$pardd" if=m/a of=low/a seek=1 count=8'
others()
{
	overlay && exits 0 "$pardd" if=m/a of=m/b && exits 0 "$pardd" if=m/b of=low/c &&
	    exits 0 "$pardd" if=low/c of=m/d && holds up/b 0 0 256k 1 && holds up/d 0 0 256k 1 &&
	    exits 0 "$pardd" if=m/b of=up/b count=1 seek=1 && holds up/b 512 0 512 1
}
it "copies between all else there" others
hidden()
{
	layers && mkdir low/x low/y && "$blocks" make low/x/f 64k 1 && "$blocks" make low/y/f 64k 2 &&
	    over "lowerdir=$PWD/low,upperdir=$PWD/up,workdir=$PWD/work,redirect_dir=on" &&
	    rm -r m/y && mv m/x m/y && holds m/y/f 0 0 64k 1 &&
	    exits 0 "$pardd" if=m/y/f of=low/y/f seek=1 && holds low/y/f 512 0 64k 1
}
it "takes no file for another of that name in a layer" hidden
odd_names()
{
	local l=$'l :\\' u='u v'
	layers && mkdir "$l" "$u" m2 && "$blocks" make "$l/a" 64k 1 && "$blocks" make "$u/b" 64k 2 &&
	    over "lowerdir=$PWD/l \\:\\\\:$PWD/low,upperdir=$PWD/$u,workdir=$PWD/work" || return
	refused "$again" if=m/b of="$u/b" seek=1 && refused "$again" if=m/a of="$l/a" seek=1 || return
	mkdir m/d && "$blocks" make m/d/c 64k 3 && mount --bind m/d m2 && undo umount "$PWD/m2" &&
	    refused "$again" if=m2/c of="$u/d/c" seek=1
}
it "knows layers by names with any letters, and parts mounted elsewhere" odd_names
nested()
{
	overlay && mkdir m/sub up2 work2 m2 && "$blocks" make m/sub/c 64k 4 &&
	    mount -t overlay -o "lowerdir=$PWD/m/sub,upperdir=$PWD/up2,workdir=$PWD/work2" none m2 &&
	    undo umount "$PWD/m2" && refused "$again" if=m2/c of=m/sub/c seek=1 &&
	    refused "$again" if=m2/c of=up/sub/c seek=1
}
it "... and an overlay on an overlay" nested
outputs()
{
	overlay && refused 'up/b: is used for something else' if=other of=m/b log=up/b &&
	    refused 'm/b: is used for something else' if=other of=up/b json=m/b &&
	    refused 'low/a: is used for something else' if=m/a of=m/b log=low/a &&
	    refused 'up/b is an end of the copy' if=other of=m/b map=up/b &&
	    refused 'up/b: ' if=other of=m/b hashfile=up/b hash=sha256 || return
	"$pardd" if=other of=m/b 2>>up/b
	[[ $? = 101 ]] && tail -n 1 up/b | grep 'm/b is standard error' && truncate -s 256k up/b && untouched
}
it "writes nothing else into an end of the copy by its other name" outputs
# unasked OPERANDS...: refused whatever cannot be opened, or allocated
unasked()
{
	local rule n
	for rule in "op=open fail=EMFILE" "op=look fail=ENOMEM" "op=own fail=ENOMEM"; do
		for ((n = 1; ; n++)); do
			run with_faults "$rule nth=$n" "$pardd" "$@"
			((status != 0)) || fail "copied, when $rule the ${n}th time" || return
			[[ -s faults ]] || break
		done
		((n > 3 && status == 101)) || fail "$n were tried" || return
	done
	untouched
}
outputs_unasked()
{
	local operand operands
	overlay || return
	for operand in log=up/b map=up/b "hash=md5 hashfile=up/b" "map=new view=up/b"; do
		read -ra operands <<<"$operand"
		unasked if=other of=m/b "${operands[@]}" || fail "with $operand" || return
	done
	unasked if=low/a of=m/b log=m/a && unasked if=low/a of=m/b map=m/a && unasked if=other of=m/b json=m/b log=up/b
}
it "... also if that cannot be found out for lack of descriptors or memory" outputs_unasked
served()
{
	overlay || return
	for pair in "m/b up/b" "up/b m/b"; do
		read -r file other <<<"$pair"
		refused "may be what .* serves" if="[ nbdkit -s file $file ]" of="$other" || return
	done
	untouched
}
given can_nbd "no nbdkit, or built without libnbd" it "... and what an NBD server has open" served
unseen()
{
	overlay && unshare -m --propagation private bash -c \
	    'mount -t tmpfs none up && exec "$0" if=m/b of=m/c' "$pardd" 2>err && complete && holds up/c 0 0 256k 2
}
given 'unshare -m --propagation private true' "no mounts of one's own" \
    it "copies where the layers cannot be seen, as in a container" unseen

fleeting()
{
	layers && "$blocks" make src 64k 1 && "$blocks" make up/b 64k 2 &&
	    over "lowerdir=$PWD/low,upperdir=$PWD/up,workdir=$PWD/work,volatile" || return
	local to
	for to in m/b m/new; do
		exits 103 "$pardd" if=src of="$to" && says 'NOT complete: m/[a-z]*: .*mounted volatile.*sync=0' &&
		    same src "$to" && exits 0 "$pardd" if=src of="$to" sync=0 && says 'complete, not flushed' || return
	done
	refused 'mounted volatile' if=src of=m/b map=map && exits 0 "$pardd" if=m/b of=other && complete
}
it "is not complete where an overlay flushes nothing, unless sync=0" fleeting

# spoilt BYTES [GOOD]
spoilt()
{
	layers && make_spoilt "${@:2}" && mkdir fs && mount -o loop,errors=continue img fs && undo until_true 5 umount "$PWD/fs" &&
	    mkdir fs/up fs/work && over "lowerdir=$PWD/low,upperdir=$PWD/fs/up,workdir=$PWD/fs/work" &&
	    "$blocks" make src "$1" && run "$pardd" if=src of=m/dst || return
	! cmp -s src m/dst || fail "nothing was lost: the case proves nothing"
	[[ $status != 0 ]] && says 'NOT complete: m/dst'
}
given 'command -v mke2fs && command -v dumpe2fs' "no mke2fs" \
    it "is not complete where the file system below an overlay loses what was written" spoilt 1000000
given 'command -v mke2fs && command -v dumpe2fs' "no mke2fs" \
    it "... and tells nobody" spoilt 6000000 2

holding()
{
	mkfifo p && "$pardd" if=p "$@" bs=4k bpt=1 >first 2>&1 &
	copy=$!
	until_true 20 test -p p && exec 5>p && head -c 64k other >&5 &&
	    until_true 20 holds "$target" 0 0 64k 3 >/dev/null 2>&1
}
done_holding()
{
	tail -c +65537 other >&5 && exec 5>&- || return
	wait "$copy" || fail "$(<first)"
}
two_copies()
{
	local target why='another copy .*force=held writes anyway\)$'
	overlay || return
	target=up/b
	holding of=m/b && refused "up/b: $why" if=low/a of=up/b &&
	    refused "up/b: $why" if=low/a of=up/b -d && done_holding && holds up/b 0 0 256k 3 &&
	    rm p && "$blocks" make up/b 256k 2 || return
	holding of=up/b && refused "m/b: $why" if=low/a of=m/b &&
	    refused "m/b: $why" if=low/a of=m/b -d && done_holding && holds up/b 0 0 256k 3
}
it "refuses to copy to what another copy is being made to, by either name" two_copies

# A loop device on a lower file may change it, by whatever name it is read.
lower_idle()
{
	layers && "$blocks" make low/f 8M 1 && mke2fs -qF -E nodiscard low/f &&
	    over "lowerdir=$PWD/low,upperdir=$PWD/up,workdir=$PWD/work" &&
	    exits 0 "$pardd" if=m/f of=part used=only && ! cmp -s low/f part &&
	    loop low/f && exits 0 "$pardd" if=m/f of=copy used=only && cmp low/f copy
}
it "copies all of a file whose layer's file a loop device has" lower_idle

# neighbourly BYTES: the lower layer is on a disk, and half of a file there is
# cached; the kernel itself may want that memory, once
neighbourly()
{
	local size=$1 half=$(($1 / 8192)) low=$PWD/disk left try
	mkdir disk && "$blocks" make disk/a "$size" && sync disk/a && layers &&
	    over "lowerdir=$low,upperdir=$PWD/up,workdir=$PWD/work" || return
	for try in 1 2 3; do
		dd if="$low/a" iflag=nocache count=0 status=none &&
		    head -c $((size / 2)) "$low/a" >/dev/null && exits 0 "$pardd" if=m/a of=dst &&
		    holds dst 0 0 "$size" || return
		left=$("$blocks" incore "$low/a")
		((left < half - 100 || left > half + 2100)) || return 0
		echo "try $try: $left pages are cached"
	done
	return 1
}
if able '[[ $(stat -f -c %T "$scratch") = ext* ]]' "the scratch directory is not on ext4"; then
	it "leaves alone what others had cached of a file in a layer" neighbourly $((4 << 20))
	it "... which is large" neighbourly $((48 << 20))
fi

# cannot be read past the page cache, nor be dropped from it
stays()
{
	mkdir r m && mount -t ramfs none r && undo umount "$PWD/r" && mkdir r/low r/up r/work &&
	    over "lowerdir=$PWD/r/low,upperdir=$PWD/r/up,workdir=$PWD/r/work" && "$blocks" make src 256k 1 || return
	run "$pardd" if=src of=m/dst verify=1
	((status != 0)) && says 'it stays in the page cache'
}
it "verifies no file of a layer by what the page cache has of it" stays

if able can_loop "no loop devices"; then
	looped()
	{
		overlay && loop m/b || return
		refused 'lies on.*force=looped' if=other of=m/b && refused 'lies on.*force=looped' if=other of=up/b &&
		    refused "$again" if=up/b of="$dev" seek=1 count=8 && refused "$again" if="$dev" of=up/b seek=1 force=looped &&
		    detach "$dev" "$PWD/m/b" && untouched && loop up/b || return
		refused 'lies on.*force=looped' if=other of=m/b && refused "$again" if=m/b of="$dev" seek=1 count=8 &&
		    refused "$again" if="$dev" of=m/b seek=1 force=looped && untouched
	}
	it "sees a loop device that lies on the file by the other name" looped
	two_loops()
	{
		overlay && loop m/b && one=$dev && mke2fs -q -F -t ext2 up/b && loop up/b &&
		    mkdir n && mount "$dev" n && undo until_true 5 umount "$PWD/n" &&
		    refused 'lie on the same file.*is mounted' if=low/a of="$one"
	}
	it "sees two loop devices on the file by its two names" two_loops
	each_fails()
	{
		overlay && loop m/b && unasked if=other of=up/b && unasked if=up/b of="$dev" seek=1 count=8 &&
		    detach "$dev" "$PWD/m/b" && unasked if=m/b of=up/b seek=1 && unasked if=up/b of=m/b seek=1 &&
		    loop up/b && unasked if=other of=m/b && unasked if=m/b of="$dev" seek=1 count=8
	}
	it "refuses all these if it cannot be found out for lack of descriptors or memory" each_fails
	# A loop device on a file that is read for its used blocks may change it.
	idle_unasked()
	{
		layers && "$blocks" make low/f 8M 1 && mke2fs -qF -E nodiscard low/f &&
		    over "lowerdir=$PWD/low,upperdir=$PWD/up,workdir=$PWD/work" && loop low/f || return
		local n
		for ((n = 1; ; n++)); do
			rm -f copy
			run with_faults "op=open fail=EMFILE nth=$n" "$pardd" if=m/f of=copy used=only
			[[ -s faults ]] || break
			((status != 0)) || cmp low/f copy || fail "not all, when the ${n}th failed" || return
		done
		((n > 3 && status == 0))
	}
	it "copies all of a file if it cannot be found out whether a loop device has it" idle_unasked
fi
