# shellcheck shell=bash disable=SC2119
# Copies without faults, with every kind of SCSI end and all their operands.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
two_disks
write_cmd='0a|2a|8a|aa'

# The kinds of ends.
it "copies sg to sg" copy if="$SG1" of="$SG2"
it "copies sg to sd" copy if="$SG1" of="$SD2"
it "copies sd to sg" copy if="$SD1" of="$SG2"
it "copies sd to sd" copy if="$SD1" of="$SD2"
it "copies bsg to bsg" copy if="$BSG1" of="$BSG2"
long "copies bsg to sg" copy if="$BSG1" of="$SG2"
long "copies sg to bsg" copy if="$SG1" of="$BSG2"
it "copies with SG_IO on block nodes" \
    copy if="$SD1" of="$SD2" iflag=sgio oflag=sgio
long "copies with SG_IO on the source's block node" \
    copy if="$SD1" of="$SG2" iflag=sgio
long "copies with SG_IO on the target's block node" \
    copy if="$SD1" of="$SD2" oflag=sgio

file_to_sg()
{
	fresh
	exits 0 "$pardd" if="$source" of="$SG2" && complete && lands "0-16383 right"
}
it "copies a file to sg" file_to_sg

sg_to_file()
{
	fresh
	exits 0 "$pardd" if="$SG1" of=image && complete && same image "$source" &&
	    only_read && [[ $(stat -c %a image) = 600 ]]
}
it "copies sg to a file that only its owner can read" sg_to_file

pipe_to_sg()
{
	fresh
	exits 0 "$pardd" of="$SG2" bs=512 < <("$blocks" drip 8M 1) && complete &&
	    lands "0-16383 right"
}
it "copies a pipe with short reads to sg" pipe_to_sg

sg_to_pipe()
{
	local status
	fresh
	"$pardd" if="$SG1" bpt=16 thr=8 2>err | cat >image
	status=${PIPESTATUS[0]}
	[[ $status = 0 ]] || fail "status $status" || return
	complete && same image "$source"
}
it "copies sg to a pipe in order" sg_to_pipe

through_pipe()
{
	fresh
	"$pardd" if="$SG1" | "$pardd" of="$SG2"
	[[ ${PIPESTATUS[*]} = '0 0' ]] && lands "0-16383 right"
}
long "copies sg through a pipe to sg" through_pipe

discard()
{
	fresh
	exits 0 "$pardd" if="$SG1" of=. bs=512 && says '^16384\+0 records in$' &&
	    says '^16384\+0 records out$' && only_read
}
it "reads sg for nothing with of=." discard

# The digest that a file of the same bytes has; that one is proven elsewhere.
digest()
{
	local want
	fresh
	"$pardd" if="$source" of=. hash=xxh128 2>file &&
	    want=$(grep -oE '^[0-9a-f]{32}' file) &&
	    exits 0 "$pardd" if="$1" of="$2" thr=16 bpt=33 hash=xxh128 && complete &&
	    says "^$want  $2$" && lands "0-16383 right"
}
it "has the digest of sg to sg" digest "$SG1" "$SG2"
long "has the digest of sd to sg" digest "$SD1" "$SG2"
long "has the digest of sg to sd" digest "$SG1" "$SD2"

manifest()
{
	local serial
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" manifest=m && complete &&
	    exits 0 "$pardd" if="$SG2" manifest=m check=1 && complete &&
	    does_not_say 'serial number' &&
	    exits 0 "$pardd" if="$SD1" manifest=m check=1 && complete &&
	    exits 0 "$pardd" if="$SD1" of="$SG2" base=m && complete &&
	    says '^0 bytes copied' && lands "0-16383 right" || return
	"$blocks" make block 512 7 && "$pardd" if=block of="$SG2" seek=9000 2>err &&
	    exits 14 "$pardd" if="$SD2" manifest=m check=1 &&
	    says '^pardd: differs: bytes 4194304 to 5242879 of' || return
	serial=$(sed -n '1s/.*"serial":"\([^"]*\)".*/\1/p' m)
	[[ $serial ]] || fail "no serial number: $(head -n 1 m)" || return
	sed -i '1s/"serial":"[^"]*"/"serial":"X"/g' m &&
	    exits 0 "$pardd" if="$SG1" manifest=m check=1 &&
	    says "^pardd: note: $SG1 has a different serial number from the disks of m"
}
it "has a manifest, checks disks against it, and knows other disks" manifest

zeros()
{
	fresh
	exits 0 "$pardd" if=/dev/zero of="$SG2" bs=512 count=10 seek=5 &&
	    lands "0-4 untouched, 5-14 zero, 15-16383 untouched"
}
it "copies /dev/zero to sg" zeros

# How much at once, and how many.
for n in ${LONG:+1 2 4 8} 16; do
	it "copies sg to sg with thr=$n" \
	    copy if="$SG1" of="$SG2" bs=512 bpt=64 thr="$n"
done
long "copies sd to sd with thr=16" copy if="$SD1" of="$SD2" bs=512 bpt=64 thr=16
long "copies bsg to bsg with thr=16" copy if="$BSG1" of="$BSG2" bpt=64 thr=16
long "copies sg to sd with thr=16" copy if="$SG1" of="$SD2" bpt=64 thr=16
long "copies sd to sg with thr=16" copy if="$SD1" of="$SG2" bpt=64 thr=16
units()
{
	local bs=$1 records=$2
	fresh
	all_right if="$SG1" of="$SG2" bs="$bs" && says "^$records\\+0 records in$" &&
	    says "^$records\\+0 records out$"
}
long "copies sg to sg with bs=1024" units 1024 8192
long "copies sg to sg with bs=4096" units 4096 2048
it "copies sg to sg with bs=1M" units 1M 8
it "copies in transfers of an odd number of blocks" copy if="$SG1" of="$SG2" bs=512 bpt=77
it "copies everything in one transfer" \
    copy if="$SG1" of="$SG2" bs=512 bpt=16384 thr=1
long "copies with transfers of 4 MiB, thr=16" \
    copy if="$SG1" of="$SG2" bs=512 bpt=8192 thr=16

one_by_one()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=1 count=300 thr=16 &&
	    complete && lands "0-299 right, 300-16383 untouched"
}
it "copies block by block" one_by_one

default_bs()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" && says '^16384\+0 records in$' &&
	    says '^16384\+0 records out$'
}
it "uses the logical block size as bs" default_bs

for n in ${LONG:+1000 5000} 768; do
	refuse_bs()
	{
		fresh
		nothing_done 101 if="$SG1" of="$SG2" bs="$1" count=1
	}
	it "refuses bs=$n, no multiple of the logical block" refuse_bs "$n"
done

# The commands themselves, as the kernel saw them.
cdb()
{
	local size=$1 read=$2 write=$3
	fresh
	all_right if="$SG1" of="$SG2" bs=512 bpt=64 cdbsz="$size" &&
	    was_sent "$HCTL1" "$read" && was_sent "$HCTL2" "$write" || return
	[[ $(sent "$HCTL1" "$reads" | wc -l) = \
	    $(sent "$HCTL1" "$read" | wc -l) ]] ||
		fail "cdbsz=$size: other READs were sent as well" || return
	[[ $(sent "$HCTL2" "$write_cmd" | wc -l) = \
	    $(sent "$HCTL2" "$write" | wc -l) ]] ||
		fail "cdbsz=$size: other WRITEs were sent as well"
}
it "sends commands of 6 bytes with cdbsz=6" cdb 6 08 0a
long "sends commands of 10 bytes with cdbsz=10" cdb 10 28 2a
long "sends commands of 12 bytes with cdbsz=12" cdb 12 a8 aa
it "sends commands of 16 bytes with cdbsz=16" cdb 16 88 8a
it "copies with cdbsz=6 and transfers of 1024 blocks" \
    copy if="$SG1" of="$SG2" bs=512 bpt=1024 cdbsz=6

cdb_bad()
{
	fresh
	exits 1 "$pardd" if="$SG1" of="$SG2" cdbsz=77 && one_line cdbsz &&
	    lands "0-16383 untouched"
}
it "refuses cdbsz=77" cdb_bad

# bits READ WRITE OPERANDS...: byte 1 of all commands
bits()
{
	local read="28 $1" write="2a $2" n
	shift 2
	fresh
	all_right if="$SG1" of="$SG2" bs=512 cdbsz=10 "$@" || return
	n=$(sent "$HCTL1" 28 | wc -l)
	[[ $n -gt 0 && $(sent "$HCTL1" "$read" | wc -l) = "$n" ]] ||
		fail "not all $n READs have the bits $read" || return
	n=$(sent "$HCTL2" 2a | wc -l)
	[[ $n -gt 0 && $(sent "$HCTL2" "$write" | wc -l) = "$n" ]] ||
		fail "not all $n WRITEs have the bits $write"
}
it "sets FUA on writes with fua=1" bits 00 08 fua=1
long "sets FUA on reads with fua=2" bits 08 00 fua=2
long "sets FUA on both with fua=3" bits 08 08 fua=3
long "sets FUA on reads with iflag=fua" bits 08 00 iflag=fua
long "sets FUA on writes with oflag=fua" bits 00 08 oflag=fua
long "sets DPO on both" bits 10 10 iflag=dpo oflag=dpo
it "sets DPO and FUA" bits 18 18 iflag=dpo,fua oflag=fua,dpo
it "sets neither unless asked" bits 00 00

fua_6()
{
	fresh
	nothing_done 1 if="$SG1" of="$SG2" cdbsz=6 fua=1
}
it "refuses fua=1 with cdbsz=6, which has no place for it" fua_6

flushes()
{
	fresh
	all_right if="$SG1" of="$SG2" && says '^pardd: complete, flushed' || return
	sent "$HCTL2" "$writes|35|91" | tail -n 1 | grep -q 'raw=\(35\|91\)' ||
		fail "the last command to the target is no SYNCHRONIZE CACHE" || return
	was_not_sent "$HCTL1" '35|91'
}
it "flushes an sg target last" flushes
no_flush()
{
	fresh
	all_right if="$SG1" of="$SG2" sync=0 &&
	    says '^pardd: complete, not flushed' && was_not_sent "$HCTL2" '35|91'
}
it "does not flush with sync=0, and says so" no_flush

for n in 0 1; do
	echo $n >/sys/module/sg/parameters/allow_dio
	long "copies with dio=1, allow_dio $n" \
	    copy if="$SG1" of="$SG2" bs=512 bpt=128 dio=1 thr=16
	it "copies 77 blocks at a time with iflag=dio oflag=dio, allow_dio $n" \
	    copy if="$SG1" of="$SG2" bs=512 bpt=77 iflag=dio oflag=dio
done
echo 0 >/sys/module/sg/parameters/allow_dio
long "copies with iflag=mmap" copy if="$SG1" of="$SG2" bs=512 bpt=64 iflag=mmap
it "copies with oflag=mmap, thr=16" \
    copy if="$SG1" of="$SG2" bs=512 bpt=64 oflag=mmap thr=16
it "copies with iflag=mmap and transfers above the reserved buffer" \
    copy if="$SG1" of="$SG2" bs=512 bpt=8192 iflag=mmap
it "copies with iflag=excl oflag=excl" \
    copy if="$SG1" of="$SG2" iflag=excl oflag=excl
locked()
{
	exits 61 flock "$SG1" "$pardd" if="$SG1" of=/tmp/image iflag=flock && one_line 'flock: Resource temporarily' &&
	    copy if="$SG1" of="$SG2" iflag=flock oflag=flock
}
it "waits for nobody who has locked the source, with iflag=flock" locked

# Where from, where to, how much.
part()
{
	fresh
	exits 0 "$pardd" if="$1" of="$2" bs=512 bpt=64 skip=101 seek=303 \
	    count=1007 thr=8 && complete && says '^1007\+0 records in$' &&
	    says '^1007\+0 records out$' && only_read &&
	    lands "0-302 untouched, 303-1309 right, 1310-16383 untouched" -202
}
it "copies a part, sg to sg" part "$SG1" "$SG2"
long "copies a part, sg to sd" part "$SG1" "$SD2"
long "copies a part, sd to sg" part "$SD1" "$SG2"

rest()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" bs=512 skip=16000 "$@" && complete &&
	    lands "0-383 right, 384-16383 untouched" 16000
}
it "copies the rest when there is no count" rest
long "copies the rest with count=-1" rest count=-1

count_0()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" count=0 && complete &&
	    lands "0-16383 untouched"
}
it "copies nothing with count=0" count_0

refuse()
{
	fresh
	nothing_done "$1" if="$2" of="$3" bs=512 "${@:4}"
}
for n in SG ${LONG:+SD}; do
	a=${n}1 b=${n}2
	it "refuses skip past the end, $n" \
	    refuse 101 "${!a}" "${!b}" skip=16385
	it "refuses to read past the end, $n" \
	    refuse 101 "${!a}" "${!b}" skip=16000 count=1000
	it "refuses to write past the end, $n" \
	    refuse 101 "${!a}" "${!b}" seek=16000 count=1000
	it "refuses to write past the end with coe=1, $n" \
	    refuse 101 "${!a}" "${!b}" seek=16000 count=1000 coe=1
	it "refuses a target with less room, $n" \
	    refuse 101 "${!a}" "${!b}" seek=1
	it "refuses a count that overflows, $n" \
	    refuse 1 "${!a}" "${!b}" skip=1 count=36028797018963967
done
refuse_same()
{
	fresh
	exits 101 "$pardd" if="$1" of="$2" bs=512 count=100 && one_line . &&
	    only_read
}
long "refuses the same disk twice, sg" refuse_same "$SG1" "$SG1"
it "refuses the same disk twice, sg and its sd" refuse_same "$SG1" "$SD1"
long "refuses the same disk twice, bsg and its sg" refuse_same "$BSG1" "$SG1"

dry_run()
{
	fresh
	exits 0 "$pardd" -dv if="$SG1" of="$SG2" && lands "0-16383 untouched" &&
	    was_not_sent "$HCTL2" "$writes" && was_not_sent "$HCTL1" "$writes"
}
it "only plans with --dry-run" dry_run

timing()
{
	fresh
	exits 0 "$pardd" if="$SG1" of="$SG2" bs=512 time=1 &&
	    says '^time to transfer data was [0-9.]+ secs, [0-9.]+ MB/sec'
}
it "prints sgp_dd's timing line" timing

# opened_readonly NODE: strace sees each open of it, by /proc/self/fd too
opened_readonly()
{
	fresh
	strace -f -e trace=open,openat -o calls "$pardd" if="$1" of=. \
	    bs=512 count=100 2>err || return
	grep -q "\"$1\"" calls || fail "no open of $1" || return
	! grep -E "\"($1|/proc/self/fd/.*)\", .*(O_RDWR|O_WRONLY)" calls
}
if able 'type -P strace' "no strace"; then
	it "opens an sg source read-only" opened_readonly "$SG1"
	long "opens a bsg source read-only" opened_readonly "$BSG1"
	long "opens an sd source read-only" opened_readonly "$SD1"
fi

nothing_made()
{
	local before
	before=$(ls /dev)
	"$pardd" if="$SG1" of=/dev/sgx count=1 2>err
	[[ $? != 0 && $(ls /dev) = "$before" ]]
}
it "creates no file in /dev" nothing_made

unharmed()
{
	dd if="$SD1" of=image bs=1M iflag=direct status=none && same image "$source"
}
it "has left the source as it was" unharmed

# A disk of 3000 GiB: commands of 16 bytes, block numbers above 2^32.
two_disks virtual_gb=3000
end=6291456000

window()
{
	dd if="$SD2" of=window bs=1M count=8 iflag=direct status=none &&
	    lands "$1" 0 window
}

near_end()
{
	fresh_large
	exits 0 "$pardd" if="$1" of="$2" bs=512 skip=$((end - 1000)) \
	    seek=$((end - 1000)) "${@:3}" && complete &&
	    says '^1000\+0 records out$' &&
	    window "0-15383 untouched, 15384-16383 right"
}
# The 8 MiB that are there come again and again in the 3000 GiB.
fresh_large()
{
	no_faults
	tr '\0' '\245' </dev/zero | dd of="$SD2" bs=1M count=8 oflag=direct \
	    iflag=fullblock status=none
	forget
}
it "copies near the end of 3000 GiB, sg" near_end "$SG1" "$SG2" count=1000
long "copies to the end of 3000 GiB, sg" near_end "$SG1" "$SG2"
long "copies near the end of 3000 GiB, bsg" near_end "$BSG1" "$BSG2" count=1000
long "copies near the end of 3000 GiB, sgio" \
    near_end "$SD1" "$SD2" iflag=sgio oflag=sgio
long "copies near the end of 3000 GiB, sd" near_end "$SD1" "$SD2"
it "copies near the end of 3000 GiB, cdbsz=10" \
    near_end "$SG1" "$SG2" cdbsz=10

crossing()
{
	fresh_large
	exits 0 "$pardd" if="$SG1" of="$SG2" bs=512 bpt=64 count=600 \
	    skip=$((4294967296 - 296)) seek=$((4294967296 - 296)) && complete &&
	    window "0-303 right, 304-16087 untouched, 16088-16383 right" &&
	    was_sent "$HCTL2" '8a .. 00 00 00 01 '
}
it "copies across block 2^32" crossing

past_end()
{
	fresh_large
	exits 101 "$pardd" if="$SG1" of="$SG2" bs=512 skip=$((end - 10)) count=11 &&
	    one_line . && window "0-16383 untouched"
}
it "refuses to read past the end of 3000 GiB" past_end
