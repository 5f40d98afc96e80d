# shellcheck shell=bash
#
# Sourced by each *.t: cases, and their building blocks.  TAP on stdout.
#
#	it SENTENCE COMMAND...	a case: the command, which may be a function,
#				returns 0.  It runs in its own process group,
#				which is killed after $limit seconds, and when
#				the case has ended: a hang is a failure, and no
#				process is left.  Its output is shown if it fails.
#	skip REASON SENTENCE	a case that cannot be run here
#	given PROOF REASON it SENTENCE COMMAND...
#				a case if PROOF succeeds, or else skipped for REASON
#	able PROOF REASON	whether PROOF succeeds; if it does not, it says that
#				what follows is skipped for REASON
#	only VARIANT...		the cases from here on show something new in these
#				variants only, and are omitted in others; `only all`
#				ends that.  With LONG=1 all are run
#	needs PROOF... -- WHAT	skip the whole file unless each command succeeds
#	heavy N			N, or fewer if the program is slow
#	few WORD...		all, or the last if the program is slow
#
# Each case starts in an empty directory of its own.  For what it attaches or
# mounts it calls `undo COMMAND`; the command runs when the case has ended,
# however it ended.  If all this is killed by SIGKILL, a watcher runs it.
#
# Environment: BUILD (default build), VARIANT (plain, asan, tsan), LONG=1, LIMIT;
# TIMES=1 prints the time of each case; STOP=1 stops at the first failure.
# CASES is a file with the sentences of the cases to run, others are left out; RAN
# is a directory that records what each case ran (see mutants/run).

# A shell cannot restore signals that our parent ignores (nohup, CI), and what it
# starts ignores them, too.
if [[ -n $(trap -p) && -z ${DEFAULT_SIGNALS-} ]] && env --default-signal true 2>/dev/null; then
	exec env --default-signal DEFAULT_SIGNALS=1 bash "$0" "$@"
fi
unset DEFAULT_SIGNALS

set -u
export LC_ALL=C NO_COLOR=1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
umask 022
unset CDPATH MAKEFLAGS MFLAGS MAKELEVEL
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD = /* ]] || BUILD=$top/$BUILD
VARIANT=${VARIANT:-plain}
LONG=${LONG:-}
TIMES=${TIMES:-}
tools=$BUILD/tools
shim=$tools/shim.so
blocks=$tools/blocks
case $VARIANT in
plain)	pardd=$BUILD/pardd weight=1 limit=200 ;;
asan)	pardd=$BUILD/asan/pardd weight=4 limit=200 ;;
tsan)	pardd=$BUILD/tsan/pardd weight=8 limit=200 ;;
*)	echo "Bail out! no variant $VARIANT"; exit 1 ;;
esac
[[ -z $LONG ]] || weight=1 limit=3600
limit=${LIMIT:-$limit}
for need in "$pardd" "$blocks" "$tools/ends" "$shim"; do
	[[ -e $need ]] || { echo "Bail out! ${need#"$top"/} is not built"; exit 1; }
done

# Not in memory, where the page cache is the medium and nothing waits; but a guest
# has nothing else.
room=${TMPDIR:-/tmp}
[[ $(stat -f -c %T "$room") != tmpfs || ! -d /var/tmp ]] || room=/var/tmp
scratch=$(mktemp -d "$room/pardd-test.XXXXXX") || exit 1
mkfifo "$scratch/never"		# who reads it waits, without a process
number=0 failures=0 silent=
declare -A wanted
if [[ -n ${CASES-} ]]; then
	while IFS= read -r sentence; do
		wanted[$sentence]=1
	done <"$CASES"
fi

# A finding of a sanitizer is a failure, whatever the status.
export ASAN_OPTIONS=log_path=$scratch/found:verify_asan_link_order=0:allocator_may_return_null=1
export UBSAN_OPTIONS=log_path=$scratch/found:halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=log_path=$scratch/found:second_deadlock_stack=1
export LSAN_OPTIONS=log_path=$scratch/found

undo()
{
	printf '%q ' "$@" >>"$scratch/undo"
	echo >>"$scratch/undo"
}

# Undo what was attached and mounted, last first.
release()
{
	local lines n
	if [[ -s $scratch/undo ]]; then
		mapfile -t lines <"$scratch/undo"
		for ((n = ${#lines[@]} - 1; n >= 0; n--)); do
			(eval "${lines[n]}") </dev/null >/dev/null 2>&1
		done
		: >"$scratch/undo"
	fi
}

# Kill what is left of the case, and its timer, and release what it held.
tidy()
{
	local left
	if [[ -s $scratch/group ]]; then
		read -ra left <"$scratch/group"
		kill -KILL -- "${left[@]}" 2>/dev/null
		: >"$scratch/group"
	fi
	release
}

# The watcher.  Its input ends when the last process that has {alive} open is gone;
# so a case, which must not keep it waiting, closes that.
exec {alive}> >(
	trap '' HUP INT TERM QUIT
	cat >/dev/null
	tidy
	rm -rf "$scratch"
)
watcher=$!

# A file that bash aborted has failed, too.
finish()
{
	local status=$?
	trap - EXIT
	((failures == 0)) || status=1
	tidy
	echo "1..$number"
	exec {alive}>&-
	wait "$watcher"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

heavy()
{
	echo $((($1 + weight - 1) / weight))
}

few()
{
	if ((weight > 1)); then
		echo "${!#}"
	else
		echo "$@"
	fi
}

only()
{
	silent=
	[[ -n $LONG || " $* " = *" $VARIANT "* || $1 = all ]] || silent=1
}

skip()
{
	[[ -z $silent ]] || return 0
	echo "ok $((++number)) - $2 # SKIP $1"
}

able()
{
	eval "$1" >/dev/null 2>&1 && return
	skip "$2" "the cases below line ${BASH_LINENO[0]}"
	return 1
}

given()
{
	if eval "$1" >/dev/null 2>&1; then
		"${@:3}"
	else
		skip "$2" "$4"
	fi
}

# command -v NAME...: all are here; for the shell's own one is enough
command()
{
	local name
	[[ $1 = -v ]] || { builtin command "$@"; return; }
	for name in "${@:2}"; do
		builtin command -v "$name" || return
	done
}

needs()
{
	local proof=()
	while [[ $1 != -- ]]; do
		proof+=("$1")
		shift
	done
	for need in "${proof[@]}"; do
		if ! eval "$need" >/dev/null 2>&1; then
			skip "$2" "all of $(basename "$0")"
			exit 0
		fi
	done
}

# burnt: $cpu is the processor time of all children waited for, in ms
burnt()
{
	local user system
	times >"$scratch/times"
	{
		read -r user system
		read -r user system
	} <"$scratch/times"
	# 0m1.234s becomes 0 1234
	user=${user/m/ } system=${system/m/ }
	user=${user//[.s]} system=${system//[.s]}
	cpu=$((${user% *} * 60000 + 10#${user#* } +
	    ${system% *} * 60000 + 10#${system#* }))
}

# tell_time START CPU SENTENCE: what the case took since, from us and ms
tell_time()
{
	local cpu wall=$(((${EPOCHREALTIME/.} - $1) / 1000))
	burnt
	echo "# timed $wall ms, $((cpu - $2)) ms of processor: $3"
}

# clear_case: its directory, with as few processes as possible
clear_case()
{
	[[ -d $scratch/case ]] || mkdir "$scratch/case"
	shopt -s dotglob nullglob
	set -- "$scratch/case"/*
	shopt -u dotglob nullglob
	(($# == 0)) || rm -rf -- "$@"
}

# note_case: what it runs is recorded in a file of its own
note_case()
{
	export RAN_TO=$RAN/${0##*/}.$number.$$
	truncate -s 256K "$RAN_TO" && chmod a+rw "$RAN_TO"
}

# Discard the shell's own messages about jobs that end.
it()
{
	local sentence=$1 pid clock cpu=0 began=${EPOCHREALTIME/.}
	shift
	[[ -z $silent ]] || return 0
	[[ -z $TIMES ]] || burnt
	if [[ -n ${CASES-} && -z ${wanted[$sentence]-} ]]; then
		skip "not asked for" "$sentence"
		return
	fi
	number=$((number + 1))
	[[ -z ${RAN-} ]] || note_case
	clear_case
	set -m
	(
		set +m
		exec {alive}>&-
		trap - EXIT INT TERM HUP
		cd "$scratch/case" || exit
		"$@"
	) </dev/null >"$scratch/said" 2>&1 &
	pid=$!
	set +m
	( # the clock
		exec {alive}>&-
		trap - EXIT INT TERM HUP
		read -rt "$limit" <>"$scratch/never"
		: >"$scratch/hung"
		kill -KILL -- "-$pid"
	) &
	clock=$!
	echo "-$pid $clock" >"$scratch/group"
	# Not for whichever ends first: a wait -n that a process ends just before
	# misses it, and stays until the other has ended.
	wait "$pid"
	status=$?
	kill -KILL "$clock"
	tidy
	wait "$clock"
	if [[ -e $scratch/hung ]]; then
		status=hang
		rm "$scratch/hung"
	fi
	found=("$scratch"/found.*)
	if [[ $status = 0 && ! -e ${found[0]} ]]; then
		echo "ok $number - $sentence"
	else
		failures=$((failures + 1))
		echo "not ok $number - $sentence"
		[[ $status != hang ]] || echo "# killed after $limit s"
		[[ ! -e ${found[0]} ]] || head -n 60 "${found[0]}" | sed 's/^/# /'
		tail -n 40 "$scratch/said" | sed 's/^\(# \)\?/# /'
		rm -f "${found[@]}"
	fi
	[[ -z $TIMES ]] || tell_time "$began" "$cpu" "$sentence"
	[[ -z ${RAN-} ]] || printf '%s\t%s\t%s\t%s\n' "${RAN_TO##*/}" $(((${EPOCHREALTIME/.} - began) / 1000)) \
	    "$status" "$sentence" >>"$RAN/${0##*/}.cases"
	[[ -z ${STOP-} ]] || ((failures == 0)) || exit 1
} 2>/dev/null

# -------------------------------------------- the building blocks of cases

# fail WORDS...: print why, and return false
fail()
{
	echo "$*"
	return 1
}

# run COMMAND...: its status in $status, its output in the files out and err
run()
{
	"$@" >out 2>err
	status=$?
	return 0
}

# exits STATUS COMMAND...: run it, it ends with this status
exits()
{
	local want=$1
	shift
	run "$@"
	[[ $status = "$want" ]] && return
	echo "status $status, not $want: $*"
	sed 's/^/stderr: /' err
	return 1
}

# exited STATUS [PID]: what was started last, or PID, ends with this status
exited()
{
	wait "${2-$!}"
	status=$?
	[[ $status = "$1" ]] || fail "status $status, not $1: $(<err)"
}

# one_line REGEX: stderr of the last run is one line that begins with the
# program's name and holds the (extended) regular expression; stdout is empty
one_line()
{
	local lines regex="^pardd: .*$1"
	mapfile lines <err
	if [[ ${#lines[@]} != 1 || ${lines[0]} != *$'\n' || ! ${lines[0]%$'\n'} =~ $regex ]]; then
		echo "not one line with /$1/ on stderr:"
		cat err
		return 1
	fi
	[[ ! -s out ]] || fail "stdout is not empty"
}

# says REGEX: a line of stderr matches
says()
{
	local lines line regex=$1
	mapfile -t lines <err
	for line in ${lines[@]+"${lines[@]}"}; do
		[[ ! $line =~ $regex ]] || return 0
	done
	echo "no line /$1/ on stderr:"
	cat err
	return 1
}

# does_not_say REGEX: no line of stderr matches
does_not_say()
{
	! grep -E -e "$1" err
}

# usage OPERAND ARGUMENTS...: a usage error, in one line that names OPERAND
usage()
{
	local name=$1
	shift
	exits 1 "$pardd" "$@" && one_line "$name"
}

# refused REGEX ARGUMENTS...: refused by a safety check, in one line
refused()
{
	local why=$1
	shift
	exits 101 "$pardd" "$@" && one_line "$why"
}

# other_words WORD: all words of force= but this one
other_words()
{
	local word list=
	for word in mounted swap held looped overlap; do
		[[ $word = "$1" ]] || list+=,$word
	done
	echo "${list#,}"
}

# with_faults RULES COMMAND...: under the shim; its log is in the file faults
with_faults()
{
	local rules=$1
	shift
	rm -f faults
	FAULTS=$rules FAULT_LOG=$PWD/faults LD_PRELOAD=$shim "$@"
}

# faulty OP [LEAST]: the shim did inject faults
faulty()
{
	local n
	n=$(grep -c "^$1 " faults 2>/dev/null)
	((n >= ${2:-1})) || fail "only ${n:-no} faults in $1: the case proves nothing"
}

# ended WHAT N: how `ends` saw the program end, as in `ended signal 2`
ended()
{
	local what n
	while read -r what n _; do
		[[ $what != "$1" || $n != "$2" ]] || return 0
	done <how
	echo "ended otherwise than by $1 $2:"
	cat how err
	return 1
}

# nobody_at PORT: nobody listens there at all addresses of this machine
nobody_at()
{
	! (: <"/dev/tcp/127.$((RANDOM % 200 + 20)).1.1/$1") 2>/dev/null
}

# as_large FILE N: it has N bytes at least
as_large()
{
	(($(stat -c %s "$1") >= $2))
}

# until_true SECONDS COMMAND...: wait for it without starting a process, which may
# take a while on a busy machine
until_true()
{
	local n=$(($1 * 50))
	shift
	while ((n-- > 0)); do
		"$@" && return
		read -rt 0.02 <>"$scratch/never"
	done
	fail "waited in vain: $*"
}

# aside COMMAND...: start it in a directory of its own, for what mostly waits;
# all_well: wait for all of these, each has succeeded
begun=()
aside()
{
	local dir=aside.${#begun[@]}
	mkdir "$dir" || return
	(cd "$dir" && "$@") >"$dir.said" 2>&1 &
	begun+=("$!:$dir:$*")
}
all_well()
{
	local one dir bad=0
	for one in "${begun[@]}"; do
		wait "${one%%:*}" && continue
		one=${one#*:} dir=${one%%:*} bad=1
		echo "failed: ${one#*:}"
		cat "$dir.said"
	done
	return $bad
}

# noticed: the first signal has been received
noticed()
{
	until_true 20 holds_text err ': finishing what is in flight'
}
# holds_text FILE TEXT: it exists and contains that
holds_text()
{
	local text
	read -rd '' text <"$1"
	[[ $text = *"$2"* ]]
} 2>/dev/null
# heard: ... and the same again counts as a second one, which ends it at once
heard()
{
	noticed && sleep 0.2
}

# promptly MS COMMAND...: the command succeeds, and the $took that it sets is at
# most MS, in one of nine tries, since load may spoil some
promptly()
{
	local try took=0
	for try in 1 2 3 4 5 6 7 8 9; do
		"${@:2}" || return
		((took > $1)) || return 0
		echo "try $try took $took ms"
		release
		rm -rf -- ./*
	done
	return 1
}
# since BEGAN: ms since $EPOCHREALTIME was that
since()
{
	echo $(((${EPOCHREALTIME/.} - ${1/.}) / 1000))
}

# listens SOCKET: it accepts connections, under the name that it was bound to; that
# the file exists says only that it soon will
listens()
{
	local line
	while read -r line; do
		[[ $line != *" 00010000 "*" $1" ]] || return 0
	done </proc/net/unix
	return 1
}

# same FILE FILE
same()
{
	cmp -- "$1" "$2"
}

# holds FILE AT ORIGIN BYTES [SEED]: BYTES at AT are those of the pattern of
# `blocks` from ORIGIN on
holds()
{
	"$blocks" check "$@"
}

# size_is FILE BYTES
size_is()
{
	local n
	n=$(stat -L -c %s -- "$1") || return
	[[ $n = "$2" ]] || fail "$1: $n bytes, not $2"
}

# has_shm: in a chroot without it, /dev/shm is a directory of the device file system
has_shm()
{
	[[ -w /dev/shm && $(stat -c %m /dev/shm) = /dev/shm ]]
}
# in_memory: run the rest of the case where a flush costs nothing
in_memory()
{
	local dir
	has_shm || return 0
	dir=$(mktemp -d /dev/shm/pardd-test.XXXXXX 2>/dev/null) || return 0
	undo rm -rf "$dir"
	cd "$dir" || return
}

# loop FILE [OPTIONS]: attach; the device is in $dev
loop()
{
	local file=$1
	shift
	until_true 5 attach "$@" "$file" || return
	undo detach "$dev" "$(realpath "$file")"
}
# Another may have been quicker, or still have the device.
attach()
{
	dev=$(losetup --find --show "$@")
}
# shift_to DEVICE OFFSET LIMIT: it begins, and ends, elsewhere in its file
# (LOOP_SET_STATUS64)
shift_to()
{
	perl -e 'open(L, "<", shift) && ioctl(L, 0x4c05, $i = "\0" x 232) or die;
	    substr($i, 24, 16) = pack("QQ", @ARGV); ioctl(L, 0x4c04, $i) or die' "$@"
}
# detach DEVICE FILE: unless others have got the device meanwhile
detach()
{
	[[ $(<"/sys/block/${1#/dev/}/loop/backing_file") != "$2"* ]] || losetup --detach "$1"
}

# can_loop: root, and loop devices that work
can_loop()
{
	local dev
	((EUID == 0)) && truncate -s 1M "$scratch/probe" &&
	    dev=$(losetup --find --show "$scratch/probe") && losetup --detach "$dev"
} 2>/dev/null

# can_nbd: NBD servers, and a program built with libnbd
can_nbd()
{
	command -v nbdkit && nbdkit --filter=error null --dump-plugin && "$pardd" -d if='[ nbdkit -s null 1M ]' of=.
} >/dev/null 2>&1

# can_iscsi: an iSCSI target, and a program built with libiscsi
can_iscsi()
{
	command -v tgtd tgtadm && ! "$pardd" if=iscsi:// of=. 2>&1 | grep 'built without'
} >/dev/null 2>&1

# ceph: use a librbd whose cluster is this directory, see tests/tools/fakerbd
ceph()
{
	mkdir -p lib && ln -sf "$tools/fakerbd.so" lib/librbd.so.1 && export RBD_DIR="$PWD" LD_LIBRARY_PATH="$PWD/lib"
}
# can_rbd: a program built with librbd
can_rbd()
{
	(mkdir -p "$scratch/rbd/p" && cd "$scratch/rbd" && : >p/image && ceph && "$pardd" -d if=rbd:p/image of=.)
} >/dev/null 2>&1

# can_lose: what bad_disk needs exists here
can_lose()
{
	can_loop && command -v nbdkit nbdfuse && [[ -c /dev/fuse ]] && nbdkit --filter=ddrescue null --dump-plugin
} >/dev/null 2>&1

# bad_disk BYTES OFF+LEN,...: a disk with those bad ranges, in order, and the
# pattern of `blocks` elsewhere; the device is in $dev, the pattern in img
bad_disk()
{
	"$blocks" make img "$1" && mkdir mnt || return
	awk -v size="$1" -v bad="$2" 'BEGIN {
		print "0 + 1"
		n = split(bad, range, ",")
		for (i = 1; i <= n; i++) {
			split(range[i], r, "+")
			if (r[1] > at)
				printf "0x%x 0x%x +\n", at, r[1] - at
			printf "0x%x 0x%x -\n", r[1], r[2]
			at = r[1] + r[2]
		}
		if (at < size)
			printf "0x%x 0x%x +\n", at, size - at
	}' >bad.map
	undo umount -l "$PWD/mnt"
	nbdfuse mnt/disk --command nbdkit -s --exit-with-parent \
	    --filter=ddrescue file img ddrescue-mapfile=bad.map </dev/null >fuse 2>&1 &
	until_true 30 test -s mnt/disk || { cat fuse; return 1; }
	loop mnt/disk --direct-io=on --read-only --sector-size 512
}

# bmap VERSION ALGORITHM IMAGE [RANGES]: a block map of an image, on stdout; without
# RANGES those of $ranges
bmap()
{
	local sum r first last n=0 size attr=chksum
	size=$(stat -c %s "$3")
	[[ $1 != 1.3 ]] || attr=sha1
	for r in ${4-$ranges}; do
		first=${r%-*} last=${r#*-}
		n=$((n + last - first + 1))
	done
	echo '<?xml version="1.0" ?>'
	echo "<!-- of an image -->"
	echo "<bmap version=\"$1\">"
	echo "    <ImageSize> $size </ImageSize>"
	echo "    <BlockSize> 4096 </BlockSize>"
	echo "    <BlocksCount> $(((size + 4095) / 4096)) </BlocksCount>"
	echo "    <MappedBlocksCount> $n </MappedBlocksCount>"
	if [[ $1 = 1.3 ]]; then
		echo "    <BmapFileSHA1> $(printf '%040d' 0) </BmapFileSHA1>"
	else
		echo "    <ChecksumType> $2 </ChecksumType>"
		echo "    <BmapFileChecksum> $(: | "${2}sum" | cut -d ' ' -f 1 | tr '[:alnum:]' 0) </BmapFileChecksum>"
	fi
	echo "    <BlockMap>"
	for r in ${4-$ranges}; do
		first=${r%-*} last=${r#*-}
		sum=$(dd if="$3" bs=4096 skip="$first" count=$((last - first + 1)) status=none |
		    "${2}sum" | cut -d ' ' -f 1)
		echo "        <Range $attr=\"$sum\"> $r </Range>"
	done
	echo "    </BlockMap>"
	echo "</bmap>"
}
# made VERSION ALGORITHM IMAGE [RANGES]: the file map, with its own checksum
made()
{
	local sum
	bmap "$@" >map && sum=$("${2}sum" <map | cut -d ' ' -f 1) && sed -i "/<BmapFile/s/ 0*0 / $sum /" map
}

# listed: the output of --list in the file out, a line for each disk
listed()
{
	awk '/^[^ ]/ { if (FNR > 1) print line; line = $0; next }
	    { sub(/^ +/, " "); line = line $0 } END { if (FNR > 0) print line }' out
}

# last_says REGEX: the last line of stderr matches
last_says()
{
	local lines
	mapfile -t lines <err
	[[ ${#lines[@]} = 0 || ! ${lines[-1]} =~ $1 ]] || return 0
	echo "the last line is not /$1/:"
	cat err
	return 1
}
complete()
{
	last_says '^pardd: complete'
}
verified()
{
	last_says '^pardd: complete, flushed, verified$'
}
