#!/usr/bin/env bash
# oflag=sparing reads the target first, and writes only what differs.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# wrote BYTES: and no more, as the records, the programs and the kernel see it
wrote()
{
	local n
	n=$(awk '$1 == "write" { n += $4 } END { print n + 0 }' faults)
	says "^$1 bytes .*copied," && says "^$(($1 / 512))\+[01] records out$" &&
	    [[ $n = "$1" ]] || fail "wrote $n bytes, not $1: $(<err)"
}

planned()
{
	"$blocks" make src 1M && cp src dst && exits 0 "$pardd" -dv if=src of=dst oflag=sparing &&
	    grep -qx sparing=1 out && exits 0 "$pardd" if=src of=. manifest=m &&
	    exits 0 "$pardd" -dv if=src of=dst base=m && grep -qx base=m out
}
it "is shown in the plan, and so is base=" planned
# Zeros of the source are there already where what follows them was written first.
own_holes()
{
	{ "$blocks" make - 1M && head -c 1M /dev/zero && "$blocks" make - 1M 3; } >src || return
	with_faults "on=$PWD/src op=read at=1048576+1048576 until=$PWD/go" \
	    "$pardd" if=src of=dst oflag=sparing bs=1M bpt=1 thr=4 2>err &
	until_true 20 size_is dst 3145728 >/dev/null 2>&1 && : >go && wait "$!" || fail "$(<err)" || return
	complete && same src dst && says '^pardd: 1048576 bytes were already present'
}
it "spares holes that its own writes have made behind the end of the target" own_holes

# What was there already is passed, too.
passed()
{
	"$blocks" make src 1M && cp src dst && exits 0 with_faults "on=$PWD/src op=read sleep=160" \
	    "$pardd" if=src of=dst oflag=sparing bs=512 bpt=256 thr=1 progress=1 &&
	    says '^pardd: [0-9]+ kB of 1\.0 MB, [1-9][0-9] %'
}
it "says how far it is where it writes nothing" passed

# spare BYTES OPERANDS...: copies src to dst, and writes so much
spare()
{
	exits 0 env FAULT_LOG_ALL=1 FAULTS="on=$PWD/dst op=write" FAULT_LOG="$PWD/faults" \
	    LD_PRELOAD="$shim" "$pardd" if=src of=dst oflag=sparing "${@:2}" &&
	    complete && wrote "$1" && same src dst && rm faults
}
spares()
{
	"$blocks" make src 3000001 && cp src dst && : >faults && spare 0 "$@" &&
	    says '^pardd: 3000001 bytes were already present' &&
	    printf x | dd of=dst bs=1 seek=1000000 conv=notrunc status=none && spare 4096 "$@" &&
	    printf x | dd of=dst bs=1 seek=3000000 conv=notrunc status=none &&
	    spare $((3000001 % 4096)) "$@" && truncate -s 2M dst && spare $((3000001 - 2097152)) "$@" &&
	    rm dst && spare 3000001 "$@"
}
for thr in $(few 1 4 16); do
	it "writes only what differs, thr=$thr" spares thr="$thr"
done
it "writes only what differs, in large transfers" spares bs=512 bpt=4096
it "writes only what differs, and verifies it" spares verify=1
it "writes only what differs, and verifies it a little behind" spares verify=stream
runs()
{
	"$blocks" make src 1M && cp src dst && for at in 0 4096 8192 100000 104448 1048575; do
		printf x | dd of=dst bs=1 seek=$at conv=notrunc status=none
	    done && : >faults && exits 0 env FAULT_LOG_ALL=1 FAULTS="on=$PWD/dst op=write" \
	    FAULT_LOG="$PWD/faults" LD_PRELOAD="$shim" "$pardd" if=src of=dst oflag=sparing thr=1 &&
	    [[ $(awk '{ printf "%s+%s ", $2, $3 }' faults) = "0+12288 98304+8192 1044480+4096 " ]] ||
	    fail "$(<faults)"
}
it "writes runs of pages" runs
json()
{
	"$blocks" make src 3M && cp src dst && printf x | dd of=dst bs=1 conv=notrunc status=none &&
	    exits 0 "$pardd" if=src of=dst oflag=sparing json=json &&
	    jq -es 'last | .bytes_spared == 3141632 and .bytes_written == 4096' json >/dev/null
}
it "tells programs what it spared" json
pipe()
{
	"$blocks" make src 3M && cp src dst && printf x | dd of=dst bs=1 conv=notrunc status=none &&
	    exits 0 "$pardd" of=dst oflag=sparing < <(cat src) && same src dst && says '^8\+0 records out$'
}
it "spares what comes from a pipe" pipe
unreadable()
{
	"$blocks" make src 3M && cp src dst && exits 0 with_faults "on=dst op=read at=1000000+1 fail=EIO" \
	    "$pardd" if=src of=dst oflag=sparing && faulty read && same src dst && complete
}
it "writes what it cannot read" unreadable
it "stops where it cannot write" eval \
    '"$blocks" make src 3M && cp src dst && printf x | dd of=dst bs=1 conv=notrunc status=none &&
    exits 55 with_faults "on=dst op=write fail=EIO" "$pardd" if=src of=dst oflag=sparing'
to_pipe()
{
	"$pardd" iflag=00 bs=1k count=1 of=- oflag=sparing 2>err | cat >out
	[[ ${PIPESTATUS[0]} = 1 ]] && one_line 'read back'
}
it "spares no pipe" to_pipe

needs '((EUID == 0))' 'losetup -f' -- "no root, or no loop devices"

device()
{
	"$blocks" make a.img 8M && cp a.img b.img && printf x | dd of=b.img bs=1 seek=5000000 \
	    conv=notrunc status=none && loop a.img --sector-size "$1" && a=$dev &&
	    loop b.img --sector-size "$1" && exits 0 "$pardd" if="$a" of="$dev" oflag=sparing &&
	    says '^4096 bytes .* copied' && holds "$dev" 0 0 8M
}
it "spares a disk of 512 bytes a sector" device 512
it "spares a disk of 4096 bytes a sector" device 4096
