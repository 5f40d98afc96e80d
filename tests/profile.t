#!/usr/bin/env bash
# How long requests took: time=1 and profile=.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs 'command -v jq' 'command -v xmllint' -- "no jq, no xmllint"

manual=$top/man/pardd-json.5

# has FILTER: true of p.json
has()
{
	jq -e "$1" p.json >/dev/null || fail "not so: $1: $(jq -c 'del(..|.positions?, .timeline?, .histogram?)' p.json)"
}

# sums END: all that p.json tells of an end agrees with itself
sums()
{
	has ".$1 | .bytes == ([.positions[].bytes] | add) and .bytes == ([.timeline[].bytes] | add) and
	    .requests == ([.positions[].requests] | add) and .errors == ([.positions[].errors] | add) and
	    .requests == ([.latency.histogram[].requests] | add)" &&
	    has ".$1 | .seconds - ([.positions[].seconds] | add) | fabs < 1e-6" &&
	    has ".$1.latency | [.min, .p50, .p90, .p99, .p999, .max] | . == sort" &&
	    has ".$1 | .latency_max == .latency.max and .latency.mean == .latency_mean and
		.slowest[0].latency == .latency_max and ([.slowest[].latency] | . == (sort | reverse))" &&
	    has ".$1 | .latency.histogram | all(.from < .to)" &&
	    has ".$1.positions | [.[] | .offset, .offset + .length] | . == sort"
}

# -------------------------------------------------------------------- profile=

object()
{
	"$blocks" make src 3000000 && exits 0 "$pardd" if=src of=dst bpt=64 profile=p.json && complete && same src dst &&
	    sums source && sums target && has '.schema == "pardd-profile/1" and .verify == null and .workers == 4' &&
	    has '.source | .name == "src" and .bytes == 3000000 and .requests == 92 and .errors == 0' &&
	    has '.target | .name == "dst" and .bytes == 3000000' &&
	    has '.source.positions | .[0].offset == 0 and (last | .offset + .length) == 3000000' &&
	    [[ $(ls) = $'dst\nerr\nout\np.json\nsrc' ]]
}
it "writes an object" object
asynchronous()
{
	"$blocks" make src 4M && exits 0 "$pardd" if=src of=dst bpt=64 engine=async iflag=direct oflag=direct profile=p.json &&
	    complete && same src dst && sums source && sums target && has '.source | .bytes == 4194304 and .requests == 128' &&
	    has '.target | .bytes == 4194304 and .requests == 128' && has '[.source, .target] | all(.busy_rate >= .rate)'
}
it "tells of many requests of one thread" asynchronous
offsets()
{
	"$blocks" make src 1M && exits 0 "$pardd" if=src of=dst skip=100 seek=300 count=500 bpt=10 profile=p.json &&
	    has '.source | .offset == 51200 and .positions[0].offset == 51200 and .bytes == 256000' &&
	    has '.target | .offset == 153600 and .positions[0].offset == 153600' && sums source && sums target
}
it "counts positions on each end" offsets
table()
{
	"$blocks" make src 3000000 && exits 0 "$pardd" if=src of=dst bpt=64 profile=p.csv || return
	awk -F , 'NF != 12 { exit 1 }
		NR == 1 { ok = $0 == "table,end,from,to,bytes,requests,errors,seconds,rate,busy_rate,latency_mean,latency_max" }
		$1 == "latency" && $3 >= $4 { empty++ }
		NR > 1 { bytes[$1, $2] += $5; n[$1, $2] += $6; rows[$1, $2]++ }
		END {
			split("source target", end, " ")
			for (i = 1; i <= 2; i++) {
				e = end[i]
				ok = ok && bytes["total", e] == 3000000 && bytes["position", e] == 3000000 &&
				    bytes["time", e] == 3000000 && n["total", e] == 92 && n["position", e] == 92 &&
				    n["latency", e] == 92 && rows["percentile", e] == 4 && rows["slowest", e] == 16 &&
				    rows["total", e] == 1
			}
			exit !ok || empty
		}' p.csv || fail "$(head -n 40 p.csv)"
}
it "writes a table whose rows agree" table
picture()
{
	local name=$'a<b>&"c\xff\n.img'
	"$blocks" make "$name" 1M && exits 0 "$pardd" if="$name" of=dst bpt=64 profile=p.svg && xmllint --noout p.svg &&
	    grep -qF 'a&#60;b&#62;&#38;&#34;c\xFF\x0A.img' p.svg &&
	    [[ $(xmllint --xpath 'count(//*[local-name() = "path"])' p.svg) -gt 20 ]] &&
	    [[ $(xmllint --xpath 'count(//*[local-name() = "script" or local-name() = "image" or @href])' p.svg) = 0 ]] &&
	    [[ $(xmllint --xpath 'string(//*[@class = "head"][2])' p.svg) = 'target: dst' ]]
}
it "draws a picture that is XML, with any name" picture
# Curves stay within the picture, whatever there is to draw.
within()
{
	xmllint --noout p.svg || return
	! grep -Eq 'nan|inf|[^0-9.]-[0-9]' <(grep -o ' d="[^"]*"' p.svg) || fail "$(<p.svg)"
}
little()
{
	"$blocks" make src 1 && exits 0 "$pardd" if=src of=dst profile=p.svg && within &&
	    grep -q ', 1 worker, transfers of ' p.svg &&
	    grep -Eq '>source: 1 request, 0 errors; ms: min .*, median .*, 90 % .*, max [0-9.]+</text>' p.svg || return
	: >empty
	exits 0 "$pardd" if=empty of=dst profile=p.svg && within && exits 0 "$pardd" if=empty of=dst profile=p.csv &&
	    exits 0 "$pardd" if=empty of=dst profile=p.json && jq -e .schema p.json >/dev/null || return
	exits 0 "$pardd" iflag=00 of=. count=9 profile=p.svg && within &&
	    exits 0 "$pardd" iflag=00 of=. count=9 profile=p.json && has '.source == null and .target == null'
}
it "can tell of next to nothing" little
piped()
{
	"$blocks" make - 3000000 | "$pardd" of=- profile=p.json 2>err | cmp - <("$blocks" make - 3000000) &&
	    sums source && sums target && has '.source.bytes == 3000000 and .target.name == "standard output"'
}
it "tells of streams, whose length it does not know" piped

# Two bad places, far apart; the target has none.
bad_places()
{
	"$blocks" make src 2M && exits 100 with_faults "on=$PWD/src op=read at=524288+512,1572864+512 fail=EIO" \
	    "$pardd" if=src of=dst coe=1 bpt=128 profile=p.svg && within &&
	    [[ $(xmllint --xpath 'count(//*[@class = "bad"])' p.svg) = 2 ]] && grep -q 'red: errors</text>' p.svg
}
it "marks bad places in the picture" bad_places
# All of the source is slow, but for 64 KiB.
outliers()
{
	"$blocks" make src 2M && exits 0 with_faults "on=$PWD/src op=read at=0+1048576,1114112+ sleep=20" \
	    "$pardd" if=src of=. thr=1 bpt=128 profile=p.svg && within &&
	    grep -q 'the highest 5 % are cut off</text>' p.svg && ! grep -q '[GT]B/s</text>' p.svg
}
it "... without a scale that a few outliers make" outliers

# ------------------------------------------------------------ what it measures

# slow RULES: the requests of src or dst that a rule names take longer
slow()
{
	"$blocks" make src 2M && : >dst || return
	export FAULTS=$1 LD_PRELOAD=$shim
}
spot()
{
	slow "on=$PWD/src op=read at=1048576+512 sleep=150"
	exits 0 "$pardd" if=src of=dst bpt=128 thr=2 profile=p.json && sums source &&
	    has '.source.slowest[0] | .offset == 1048576 and .length == 65536 and .latency >= 0.15 and .latency < 0.6' &&
	    has '.source | .latency_max >= 0.15 and .latency.p50 < 0.1' &&
	    has '.source.positions | max_by(.latency_max).offset == 1048576' && has '.target.latency_max < 0.15'
}
it "finds the slow spot of a source" spot
zones()
{
	slow "on=$PWD/src op=read at=1048576+ sleep=30"
	exits 0 "$pardd" if=src of=. bpt=128 thr=1 profile=p.json &&
	    has '.source.positions | ([.[] | select(.offset < 1048576).seconds] | add) * 4 <
		([.[] | select(.offset >= 1048576).seconds] | add)' &&
	    has '.source.positions | last | .rate < 65536 / 0.03 and .busy_rate < 65536 / 0.03'
}
it "tells a slow zone from a fast one" zones
# 32 reads of 40 ms, 8 at once: 160 ms, though they took 1280 ms in all
overlapping()
{
	slow "on=$PWD/src op=read sleep=40"
	exits 0 "$pardd" if=src of=. bpt=128 thr=8 profile=p.json && sums source &&
	    has '.source | .requests == 32 and .latency.p50 >= 0.04 and .latency.min >= 0.04' &&
	    has '.source | .latency_mean * .requests > 4 * .seconds and .seconds >= 0.16' &&
	    has '.source | .seconds <= '"$(sed -n 's/.* copied, \([0-9.]*\) s,.*/\1/p' err)" &&
	    has '.source | .rate * .seconds - .bytes | fabs < 1'
}
it "does not take latencies that overlap for time" overlapping
waiting()
{
	slow "on=$PWD/dst op=write sleep=20"
	exits 0 "$pardd" if=src of=dst bpt=128 thr=1 profile=p.json time=1 &&
	    says '^writes: 32, [0-9]+/s, .*; ms: min [0-9]+\.[0-9], median [0-9]+\.[0-9], ' &&
	    has '.source | .busy_rate > 4 * .rate' && has '.target | .busy_rate < 1.3 * .rate and .latency.p50 >= 0.02' &&
	    has '.target | .rate < 65536 / 0.02'
}
it "tells what an end can do from how the copy went" waiting
# The rate with two in flight, of which one hangs about: busy all the time.
long_and_short()
{
	slow "on=$PWD/src op=read at=0+512 sleep=400;on=$PWD/dst op=write sleep=10"
	exits 0 "$pardd" if=src of=dst bpt=128 thr=2 profile=p.json &&
	    has '.source | .busy_rate < .bytes / 0.35 and .seconds >= 0.4'
}
it "counts an end as busy while any request is under way" long_and_short
errors()
{
	slow "on=$PWD/src op=read at=8192+512 fail=EIO"
	exits 100 "$pardd" if=src of=dst coe=1 profile=p.json && sums source &&
	    has '.source | .errors >= 2 and .bytes == 2096640 and .positions[0].errors == .errors' &&
	    has '.target.errors == 0 and .target.bytes == 2097152'
}
it "counts the requests that failed" errors
rescued()
{
	slow "on=$PWD/src op=read at=8192+512 fail=EIO"
	exits 100 "$pardd" if=src of=dst map=map profile=p.json && sums source && sums target &&
	    has '.source.errors >= 2 and .target.bytes == 2096640'
}
it "tells of all passes of a rescue" rescued
partly()
{
	slow "on=$PWD/src op=read at=1048576+512 fail=EIO"
	exits 3 "$pardd" if=src of=dst bpt=128 profile=p.json && sums source && has '.source.errors >= 1'
}
it "is written when the copy fails, too" partly

# ------------------------------------------------------------------- its place

untouched()
{
	same src was && [[ ! -e dst ]]
}
stuff()
{
	"$blocks" make src 64k && cp src was
}
in_place()
{
	stuff && mv src src.csv && refused 'used for something else' if=src.csv of=dst profile=src.csv &&
	    cp src.csv src && untouched || return
	ln src.csv other.csv && refused 'used for something else' if=src.csv of=dst profile=other.csv &&
	    refused 'used for something else' of=. profile=other.csv <src.csv && untouched
}
it "refuses the source, by any name" in_place
missing()
{
	stuff && refused 'used for something else' if=src of=./p.csv profile=p.csv &&
	    refused 'used for something else' if=src of=dst map=p.csv profile=./p.csv &&
	    refused 'used for something else' if=src of=dst hash=xxh128 hashfile=p.csv profile=p.csv &&
	    exits 101 "$pardd" if=src of=dst json=p.json profile=p.json && [[ ! -e p.csv ]] && untouched
}
it "refuses the target and other files that are still to be made" missing
elsewhere()
{
	stuff && refused 'in the device file system' if=src of=dst profile=/dev/p.csv &&
	    exits 52 "$pardd" if=src of=dst profile=nowhere/p.csv && one_line profile= && untouched || return
	ln -s src p.csv && refused 'is not a regular file' if=src of=dst profile=p.csv && untouched &&
	    mkfifo p.svg && refused 'is not a regular file' if=src of=dst profile=p.svg && untouched
}
it "refuses devices, links and what is no file" elsewhere
it "writes nothing with -d" eval 'stuff && exits 0 "$pardd" -dv if=src of=dst profile=p.csv && [[ ! -e p.csv ]]'
it "takes the place of an old one" eval \
    'stuff && echo old >p.csv && ln p.csv before && exits 0 "$pardd" if=src of=dst profile=p.csv &&
    grep -q ^total p.csv && [[ $(<before) = old ]]'
failed()
{
	stuff && echo old >p.csv || return
	(ulimit -f 0; "$pardd" if=src of=. profile=p.csv 2>&1; echo "status $?") | {
		[[ $(tail -n 2) = $'pardd: all was copied, but not recorded: profile=p.csv: File too large\nstatus 77' ]]
	} && [[ $(<p.csv) = old ]] && ! compgen -G '*.csv.*'
}
# What watches threads cannot live without files.
[[ $VARIANT = tsan ]] || it "leaves the old one and says so when it cannot be written" failed

# A limit is as a full disk, and needs none.  What was there stays.
limited()
{
	"$blocks" make src 300000 && echo old >"$1" && ulimit -f 2 &&
	    exits 77 "$pardd" if=src of=. bs=512 bpt=1 profile="$1" &&
	    says "not recorded: profile=$1: File too large$" && [[ $(<"$1") = old && ! -e $1.pardd.tmp ]]
}
for name in p.csv p.json p.svg; do
	it "says why there is no room for $name" limited "$name"
done

# ----------------------------------------------------------------------- time=1

line='[0-9]+, [0-9]+/s, [0-9.]+ [kMG]?B/s; ms: min [0-9.]+, median [0-9.]+, 90 % [0-9.]+, 99 % [0-9.]+, 99.9 % [0-9.]+, max [0-9.]+$'
timed()
{
	stuff && exits 0 "$pardd" if=src of=dst bpt=1 time=1 && says "^reads: $line" && says "^writes: $line" &&
	    says '^reads: 128,' && says '^writes: 128,' && [[ $(sed -n 1p err) = "time to transfer data was "* ]] &&
	    [[ $(wc -l <err) = 7 ]] || return
	exits 0 "$pardd" if=src of=. time=1 && says "^reads: $line" && does_not_say ^writes || return
	exits 0 "$pardd" if=/dev/zero of=dst bs=512 count=100 bpt=1 oflag=dsync time=1 && says "^writes: $line" &&
	    says '^writes: 100,' && does_not_say ^reads || return
	exits 0 "$pardd" if=src of=dst && does_not_say '^(reads|writes)'
}
it "prints what requests took with time=1" timed
told()
{
	local ms
	slow "on=$PWD/src op=read at=0+512 sleep=150;on=$PWD/src op=read sleep=20"
	exits 0 "$pardd" if=src of=. bpt=128 thr=4 time=1 || return
	ms=$(sed -n 's/^reads: 32, .* min \([0-9.]*\), median \([0-9.]*\), .* max \([0-9.]*\)$/\1 \2 \3/p' err)
	awk '{ exit !($1 >= 20 && $2 >= 20 && $2 < 100 && $3 >= 150 && $3 < 500) }' <<<"${ms:-0 0 0}" || fail "$(<err)"
}
it "prints what they really took" told
it "makes small synchronous writes with as many workers as are asked for" eval \
    'exits 0 "$pardd" -dv if=/dev/zero of=dst bs=512 count=1000 thr=16 bpt=1 oflag=dsync &&
    grep -qx "workers=16" out && grep -qx "transfer=512" out'
# Whole pages are a worker's, and still written in the transfers that were asked for.
synchronous()
{
	local seek
	"$blocks" make src 100001 || return
	for seek in 0 3 17; do
		rm -f dst
		exits 0 "$pardd" if=src of=dst bs=512 bpt=1 thr=16 oflag=dsync time=1 seek=$seek &&
		    says '^writes: 196,' && complete && size_is dst $((100001 + seek * 512)) &&
		    cmp src <(tail -c +$((seek * 512 + 1)) dst) || return
	done
}
it "writes them no larger than asked for, and in their places" synchronous

# ----------------------------------------------------------------- the manual

documented()
{
	"$blocks" make src 64k && exits 0 "$pardd" if=src of=dst profile=p.json || return
	comm -3 <(jq -r '[paths | .[-1] | strings] | unique[]' p.json | sort) \
	    <(awk '/^\.Sh /{ inside = $0 == ".Sh THE PROFILE" } inside' "$manual" | sed -n 's/^\.\(It \)\?Cm //p' |
		sed 's/ Ns .*//; s/,//g' | tr ' ' '\n' | grep -x '[a-z0-9_]\+' | grep -vx -e profile | sort -u) >odd
	[[ ! -s odd ]] || fail "$(<odd)"
}
it "has every key in the manual, and no other" documented
