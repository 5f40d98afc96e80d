# shellcheck shell=bash disable=SC2119
# lab: -j 2
# The asynchronous engine with sg nodes copies and loses the same as the other engine, with
# as many commands in flight as it is told to have.  LONG=1 tries all combinations of workers and
# depths.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks

mixes=("qd=16 thr=4")
[[ -z $LONG ]] || mixes=(qd={1,4,16}" thr="{1,4})

# ------------------------------------------------------------ which engine

# planned ENGINE OPERANDS...
planned()
{
	"$pardd" -dv "${@:2}" >plan || fail "$(cat plan)" || return
	grep -q "^engine=$1 (" plan || fail "not $1: $(grep ^engine= plan)"
}
chosen()
{
	planned threads if="$SG1" of="$SG2" &&
	    planned threads if="$SD1" of="$SG2" &&
	    planned async if="$SG1" of="$SG2" engine=async &&
	    planned async if="$SG1" of="$SD2" qd=16 &&
	    planned async if="$source" of="$SG2" engine=async
}
it "is used only if it is asked for" chosen

limited()
{
	local f=/sys/block/${SD2#/dev/}/queue/max_sectors_kb old
	old=$(<"$f")
	echo 100 >"$f"
	planned async if="$SG1" of="$SG2" engine=async
	echo "$old" >"$f"
	grep -qx transfer=65536 plan || fail "$(grep transfer= plan)" || return
	planned async if="$SG1" of="$SG2" engine=async bpt=8192 || return
	grep -qx transfer=4194304 plan || fail "$(grep transfer= plan)"
}
it "makes transfers of one command each, without bpt=" limited

refused()
{
	fresh
	nothing_done 1 "${@:2}" && says "$1"
}
it "is refused for bsg" refused 'SG_IO, which waits' \
    if="$BSG1" of="$SG2" engine=async
long "is refused for sgio" refused 'SG_IO, which waits' \
    if="$SG1" of="$SD2" oflag=sgio qd=4
long "is refused with mmap" refused mmap \
    if="$SG1" of="$SG2" iflag=mmap engine=async
long "is refused with excl" refused excl \
    if="$SG1" of="$SG2" oflag=excl engine=async
it "refuses qd=17" refused 'qd=17: .* takes 16 commands' \
    if="$SD1" of="$SG2" qd=17

only_asked()
{
	local n
	for n in 0 1; do
		strace -f --seccomp-bpf -e trace=open,openat -o calls \
		    "$pardd" if="$SG1" of=. count=64 "${engines[n]}" 2>err || return
		[[ $(grep -c O_RDWR calls) = "$n" ]] || fail "$(cat calls)" ||
			return
	done
}
engines=(engine=threads engine=async)
# no_wait OPERANDS...: no block is moved by SG_IO.  (What lies on the disks is looked up
# with it, beforehand, if there is somebody to read the answer.)
no_wait()
{
	fresh
	strace -f --seccomp-bpf -e trace=ioctl -o calls "$pardd" "$@" status=none 2>err &&
	    lands "0-16383 right" || return
	! grep -E 'SG_IO.*cmdp="\\x(08|0a|2[8a]|8[8a]|a[8a])' calls
}
if able 'type -P strace' "no strace"; then
	it "opens a source for writing only with it" only_asked
	it "waits for no command" no_wait if="$SG1" of="$SG2" engine=async
	long "waits for none of a transfer that takes several" \
	    no_wait if="$SG1" of="$SG2" engine=async cdbsz=6 bpt=1000
fi

# ------------------------------------------------------------ how many

# at_once HCTL: the most commands that one disk had at a time
at_once()
{
	awk -v host="host_no=${1%%:*} " 'index($0, host) {
		n += /cmd_start:/ ? 1 : -1
		if (n > most)
			most = n
	} END { print most + 0 }' "$trace/trace"
}
# deep N HCTLS OPERANDS...: never more than N at each disk, and nearly as many at
# times
deep()
{
	local n=$1 hctls=$2 hctl most
	shift 2
	fresh
	knob ndelay 100000000
	all_right bs=512 bpt=$((1024 / n)) "$@" || return
	for hctl in $hctls; do
		most=$(at_once "$hctl")
		((most <= n && most > n / 2)) ||
			fail "$most in flight at $hctl" || return
	done
}
for n in ${LONG:+1 4} 16; do
	it "has $n commands in flight at each disk with qd=$n" \
	    deep "$n" "$HCTL1 $HCTL2" if="$SG1" of="$SG2" qd="$n"
done
it "has 4 reads in flight when it copies to sd" \
    deep 4 "$HCTL1" if="$SG1" of="$SD2" qd=4
it "has 4 writes in flight when it copies from sd" \
    deep 4 "$HCTL2" if="$SD1" of="$SG2" qd=4
long "has 32 reads in flight with two workers" \
    deep 32 "$HCTL1" if="$SG1" of="$SG2" qd=16 thr=2

finds_out()
{
	local n
	fresh
	knob ndelay 40000000
	all_right if="$SG1" of="$SG2" bs=512 bpt=32 engine=async || return
	n=$(at_once "$HCTL1")
	((n >= 8 && n <= 16)) || fail "$n reads in flight"
}
it "finds out that a slow disk needs many commands in flight" finds_out

# ------------------------------------------------------------ what it copies

for mix in "${mixes[@]}"; do
	read -ra mix <<<"$mix"
	it "copies sg to sg, ${mix[*]}" \
	    copy if="$SG1" of="$SG2" bs=512 bpt=32 "${mix[@]}"
	it "copies sg to sd, ${mix[*]}" \
	    copy if="$SG1" of="$SD2" bs=512 bpt=32 "${mix[@]}"
	it "copies sd to sg, ${mix[*]}" \
	    copy if="$SD1" of="$SG2" bs=512 bpt=32 "${mix[@]}"
done
it "copies a file to sg" copy if="$source" of="$SG2" engine=async
long "copies by an odd number of blocks" \
    copy if="$SG1" of="$SG2" bs=512 bpt=77 engine=async
it "copies with transfers of 4 MiB" \
    copy if="$SG1" of="$SG2" bs=512 bpt=8192 engine=async
it "copies with cdbsz=16 and FUA" \
    copy if="$SG1" of="$SG2" cdbsz=16 fua=3 engine=async
echo 1 >/sys/module/sg/parameters/allow_dio
long "copies with dio=1" copy if="$SG1" of="$SG2" bs=512 bpt=77 dio=1 qd=16
echo 0 >/sys/module/sg/parameters/allow_dio

indirect()
{
	copy if="$SG1" of="$SG2" bs=512 bpt=128 dio=1 engine=async &&
	    says '128 commands were not direct'
}
it "counts commands that were not direct" indirect

to_file()
{
	fresh
	exits 0 "$pardd" if="$SG1" of=image engine=async && complete &&
	    same image "$source" && only_read
}
it "copies sg to a file" to_file

part()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=64 skip=101 seek=303 \
	    count=1007 engine=async && complete && only_read &&
	    lands "0-302 untouched, 303-1309 right, 1310-16383 untouched" -202
}
it "copies a part" part
units()
{
	fresh
	exits 0 "$pardd" if="$SG1" of=image iflag=skip_bytes,count_bytes \
	    skip=100 count=5000000 engine=async && complete &&
	    [[ $(stat -c %s image) = 5000000 ]] &&
	    cmp -n 5000000 image "$source" 0 100
}
it "copies what does not end with a whole block" units
long "copies one command at a time" \
    copy if="$SG1" of="$SG2" bs=512 bpt=256 qd=1

# ------------------------------------------------------------ what goes wrong

for mix in "${mixes[@]}"; do
	read -ra mix <<<"$mix"
	long "stops at a bad block, right Info, ${mix[*]}" \
	    stops 4660 3 if="$SG1" of="$SG2" "${mix[@]}"
	it "stops at a bad block, wrong Info, ${mix[*]}" \
	    stops 10007 3 if="$SG1" of="$SG2" "${mix[@]}"
	long "loses just the bad block, right Info, ${mix[*]}" \
	    loses 4660 1 if="$SG1" of="$SG2" "${mix[@]}"
	long "loses just ten bad blocks, wrong Info, ${mix[*]}" \
	    loses 10000 10 if="$SG1" of="$SG2" "${mix[@]}"
	it "loses just 300 blocks over four transfers, ${mix[*]}" \
	    loses 5000 300 if="$SG1" of="$SG2" "${mix[@]}"
	long "takes recovered errors for good data, ${mix[*]}" \
	    survives 8 CHECK_CONDITION if="$SG1" of="$SG2" "${mix[@]}"
	it "tries aborted commands again, ${mix[*]}" \
	    survives 0x10 CHECK_CONDITION if="$SG1" of="$SG2" "${mix[@]}"
	long "finishes short transfers, ${mix[*]}" \
	    survives 0x100 '' if="$SG1" of="$SG2" "${mix[@]}"
	it "waits for a busy host, ${mix[*]}" \
	    survives 0x8000 '' if="$SG1" of="$SG2" "${mix[@]}"
	it "gives up on an unanswered command, ${mix[*]}" \
	    no_answer if="$SG1" of="$SG2" "${mix[@]}"
	long "stops at a write-protected target, ${mix[*]}" \
	    protected if="$SG1" of="$SG2" "${mix[@]}"
done
long "stops at a bad block, qd=1" stops 10007 3 if="$SG1" of="$SG2" qd=1
long "loses just the bad block, qd=1" loses 10007 1 if="$SG1" of="$SG2" qd=1
long "stops at a bad first block" stops 0 3 if="$SG1" of="$SG2" engine=async
long "stops at a bad block, sg to sd" stops 10007 3 if="$SG1" of="$SD2" qd=16
it "loses just the last block, sg to sd" loses 16383 1 if="$SG1" of="$SD2" qd=16
it "loses just the bad block, sd to sg" loses 10007 1 if="$SD1" of="$SG2" qd=16
long "loses just the bad block, transfers of 4 MiB" \
    loses 10007 1 if="$SG1" of="$SG2" bpt=8192 engine=async

recovered()
{
	survives 8 CHECK_CONDITION if="$SG1" of="$SG2" engine=async &&
	    says '[1-9][0-9]* recovered errors'
}
it "counts recovered errors" recovered

if able 'type -P sg_reset' "no sg_reset"; then
	long "survives a reset of the source" \
	    attention "$SG1" 2 if="$SG1" of="$SG2" qd=1
	it "stops at a reset of the target" \
	    forgotten "$SG2" 32 if="$SG1" of="$SG2" qd=16
fi

it "drains, reports and dies of SIGINT" \
    interrupted INT if="$SG1" of="$SG2" qd=4

for n in ${LONG:+1} 16; do
	it "stops when the source vanishes, qd=$n" \
	    vanishes "$HCTL1" "$SD2" if="$SG1" of="$SG2" qd="$n"
	back 2
	it "stops when the target vanishes, qd=$n" \
	    vanishes "$HCTL2" "$SD2" if="$SG1" of="$SG2" qd="$n"
	back 2
done

it "has left the source as it was" unharmed
