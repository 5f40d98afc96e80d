#!/usr/bin/env bash
# Who uses a target is found out; where that cannot be looked up, the target is
# refused: no /sys, no /proc, no /dev, files out of reach, no descriptors left.
# Needs root.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/safety.sh"

# --------------------------------------------------- what cannot be looked up

away()
{
	exits 101 without "$1" "$pardd" if=src "${@:3}" && one_line "$2" && as_it_was
}
blind()
{
	disk && "$1" "$p1" && snapshot || return
	local op to
	for op in "of=$p1" "of=$d" "of=$d bs=512 seek=6143 count=1"; do
		read -ra to <<<"$op"
		away "$2" 'force=[a-z,]+ writes anyway\)$' "${to[@]}" &&
		    away "$2" "force=[a-z,]*${name}[a-z,]* writes anyway\)$" "${to[@]}" \
			force="$(other_words "$name")" || return
	done
}
for kind in "${kinds[@]}"; do
	apart "$kind partition: is refused without /sys" blind "$kind" /sys
	[[ $VARIANT = plain ]] || continue	# sanitizers need /proc
	apart "$kind partition: is refused without /proc" blind "$kind" /proc
	apart "$kind partition: is refused without both" blind "$kind" "/proc /sys"
done
# The disk is another one than that of the loop device, whose use is seen even without sysfs.
blind_free()
{
	disk && snapshot || return
	away "$1" "$2.* cannot be read: No such file or directory.*force=[a-z,]+ writes anyway\)$" \
	    of="$p1" && away "$1" "$2.*force=$3 writes anyway\)$" of="$p1" force="$4" || return
	exits 0 without "$1" "$pardd" if=src of="$p1" force="$3,$4" && complete && holds disk.img 1048576 0 64k 1
}
apart "says that it cannot read /sys, and copies if told to" blind_free /sys /sys/ mounted,swap,looped overlap
if [[ $VARIANT = plain ]]; then
	apart "says that it cannot read /proc, and copies if told to" \
	    blind_free /proc /proc/self/mountinfo mounted,swap overlap
	apart "says that it can read neither, and copies if told to" \
	    blind_free "/proc /sys" /sys/ mounted,swap,looped overlap
fi
blind_held()
{
	disk && "$1" "$p1" && snapshot && away /sys 'in use.*force=held writes anyway\)$' of="$p1" \
		force=mounted,swap,looped,overlap &&
	    away /sys 'in use.*force=held writes anyway\)$' of="$d" \
		force=mounted,swap,looped,overlap
}
apart "sees what is mounted elsewhere without /sys, too" blind_held elsewhere
apart "sees what is held without /sys, too" blind_held held
blind_file()
{
	disk && cp src new && cp disk.img before || return
	exits 0 without "$1" "$pardd" if=src of=copy && complete && same src copy &&
	    exits 0 without "$1" "$pardd" if="$p1" of=new && complete &&
	    same new <(tail -c +1048577 disk.img | head -c 2M)
}
apart "copies to files without /sys" blind_file /sys
[[ $VARIANT != plain ]] || apart "copies to files without /proc and /sys" blind_file "/proc /sys"
# Somebody else is detaching a loop device: its backing file is already unknown.
detached()
{
	"$blocks" make src 1M && cp src gone && truncate -s 1M to && loop gone && rm gone &&
	    : >empty && loop to && mknod "$PWD/node" b $((16#$(stat -c %t "$dev"))) \
	    $((16#$(stat -c %T "$dev"))) || return
	exits 101 without /dev "$pardd" if=src of=node && one_line 'who uses .*backing_file' &&
	    exits 0 unshare -m --propagation private sh -c '
		for file in /sys/block/loop*/loop/backing_file; do
			mount --bind empty "$file" || ! test -e "$file" || exit 125
		done
		mount -t tmpfs none /dev && exec "$0" "$@"' "$pardd" if=src of=node &&
	    complete && same src to
}
apart_by_name "sees no use in a loop device that is detached between two looks" detached
# Loop devices of others whose files are not there do not concern it.
no_node()
{
	disk && mknod "$PWD/node" b $((16#$(stat -c %t "$p1"))) $((16#$(stat -c %T "$p1"))) &&
	    mknod "$PWD/all" b $((16#$(stat -c %t "$d"))) $((16#$(stat -c %T "$d"))) && elsewhere "$p1" && snapshot &&
	    away /dev 'p1 is in use.*force=held writes anyway\)$' of=node \
		force=looped &&
	    exits 101 without /dev sh -c '"$0" if=src force=looped 1<>node' "$pardd" && as_it_was &&
	    one_line 'p1 is in use.*force=held writes anyway\)$' &&
	    away /dev 'p1 cannot be claimed.*No such file.*force=held writes anyway\)$' \
		of=all bs=512 seek=2048 force=looped &&
	    away /dev 'in use.*force=held writes anyway\)$' of=all force=looped
}
apart_by_name "claims a target by another name than the usual one, or refuses it" no_node

# Loop devices of others on files out of reach are no reason to refuse.
lost_file()
{
	mkdir gone && mount -t tmpfs none gone && undo umount -l "$PWD/gone" &&
	    truncate -s 1M gone/file && loop gone/file || return
	undo losetup -d "$dev"
	umount -l gone && disk && snapshot && taken 1048576 of="$p1"
}
it "copies beside a loop device whose file is out of reach" lost_file
dead_file()
{
	bad_disk 1M 0+512 || return
	# its attributes stay for a while
	kill -KILL $! && until_true 20 eval '[[ $(losetup -n -O BACK-INO "$dev" | tr -d " ") = "" ]]' || return
	undo losetup -d "$dev"
	disk && snapshot && taken 1048576 of="$p1"
}
given can_lose "no nbdfuse" it "copies beside a loop device whose file has died" dead_file

# Each limit allows one more descriptor.
few_descriptors()
{
	disk && "$1" "$p1" && snapshot || return
	local n to
	for n in $(seq 4 "$weight" 20) 64; do
		for to in "$p1" "$d"; do
			run sh -c 'ulimit -n "$1" && exec "$0" if=src of="$2"' "$pardd" "$n" "$to"
			[[ $status != 0 ]] || fail "copied with $n descriptors" || return
		done
	done
	[[ $status = 101 ]] && as_it_was
}
# Each opening, or request for memory, fails in turn.
each_fails()
{
	disk && "$1" "$p1" && snapshot || return
	local n=0 to=$d
	[[ $1 != mounted ]] || to=$p1
	while run with_faults "op=$2 fail=$3 nth=$((++n))" "$pardd" if=src of="$to" && [[ -s faults ]]; do
		[[ $status != 0 ]] || fail "copied after $n" || return
	done
	((n > 2)) || fail "$n were tried" || return
	[[ $status = 101 ]] && as_it_was
}
for kind in mounted held looped; do
	it "$kind partition: is refused when descriptors run out" few_descriptors $kind
	[[ $VARIANT = plain ]] || continue	# their own, too
	it "$kind partition: is refused when something cannot be opened" each_fails $kind open EMFILE
	it "$kind partition: is refused when memory runs out" each_fails $kind alloc ENOMEM
done
backing_few()
{
	disk && snapshot || return
	local n
	for n in $(seq 4 "$weight" 20) 64; do
		run sh -c 'ulimit -n "$1" && exec "$0" if=src of=disk.img' "$pardd" "$n"
		[[ $status != 0 ]] || fail "copied with $n descriptors" || return
	done
	[[ $status = 101 ]] && as_it_was
}
it "refuses a file that a loop device lies on when descriptors run out" backing_few
