#!/usr/bin/env bash
# Rescue from and to block devices: odd lengths and blocks; disks that die, hang,
# disappear and come back, or get warm.
# shellcheck disable=SC1091,SC2016,SC2086,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rescue.sh"

# ------------------------------------------------------------------- devices

odd_tail()
{
	bad=409600+512,999936+65
	"$blocks" make src 1000001 && "$blocks" make disk 2M 9 && cp disk old &&
	    loop disk && "$blocks" make img 1000001 || return
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$dev" map=map bs=512 thr="$1" && is - "$bad" &&
	    "$maps" check map src disk old 0 0 1000001 &&
	    exits 0 "$pardd" if=src of="$dev" map=map bs=512 retries=1 && is + 0+1000001 &&
	    cmp -n 1000001 src disk && "$blocks" zero disk 1000001 447 && cmp -i 1000448 disk old
}
larger_blocks()
{
	local target
	bad=409600+512,1024000+512
	"$blocks" make src 2M && "$blocks" make disk 2M 9 && cp disk old &&
	    loop disk --sector-size 4096 && target=$dev || return
	exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map thr="$1" && is - 409600+4096,1024000+4096 &&
	    "$maps" check map src disk old 0 0 2097152 &&
	    exits 0 "$pardd" if=src of="$target" map=map retries=1 && same src disk
}
# fine_map: all that can be read of the source is in sectors of 512, one in each
# 4096, and the target's blocks are of 4096
fine_map()
{
	local i target
	bad=
	echo '0 ? 1' >map
	for ((i = 0; i < 131072; i += 4096)); do
		printf '%d 512 +\n%d 3584 -\n' $i $((i + 512)) >>map
		bad+=$((i + 512))+3584,
	done
	bad=${bad%+*}+$((size - 131072 + 3584))
	"$blocks" make src $size && cp src disk && loop disk --sector-size 4096 &&
	    target=$dev && exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map && is - "$bad" && same src disk
}
# lone_block: nothing but zeros beside the bytes 4096 to 8191, and the map ends
# within the block before
lone_block()
{
	local target
	bad=1049088+512
	printf '0 ? 1\n0 3584 +\n' >map
	truncate -s $size src disk && "$blocks" make one 4096 &&
	    dd if=one of=src bs=4096 seek=1 conv=notrunc status=none && loop disk --sector-size 4096 && target=$dev &&
	    exits 100 with_faults "on=$PWD/src op=read at=$bad fail=EIO" \
	    "$pardd" if=src of="$target" map=map && same src disk
}
if able can_loop "no loop devices"; then
	for thr in $(few 1 16); do
		it "pads an odd tail on a device, and retries it ($thr workers)" odd_tail $thr
		it "keeps to the target's blocks of 4096 ($thr workers)" larger_blocks $thr
	done
	it "asks in the blocks of the source whether that is there" fine_map
	it "... and has not turned to zeros" lone_block
fi

# With real disks.
real_disk()
{
	bad=$("$maps" random "$1" $size)
	bad_disk $size "$bad" && "$blocks" make dst $size 9 && cp dst old && cp img src &&
	    exits 100 "$pardd" if="$dev" of=dst map=map thr="$2" && is - "$bad" && is '?*/' '' && honest || return
	[[ -n $peer ]] || return 0
	cp old theirs && ddrescue -q -d "$dev" theirs theirs.map &&
	    is - "$bad" theirs.map && is + "$("$maps" list map +)" theirs.map && same dst theirs
}
if able can_lose "not root, no nbdkit, nbdfuse or loop devices"; then
	for seed in 3 4 5 ${LONG:+1 6 7 8 9}; do
		thr=${thrs[seed % 3]}
		it "finds the bad sectors of a block device (disk $seed, $thr workers)" real_disk "$seed" "$thr"
	done
fi

# server OPTIONS...: nbdkit behind nbdfuse behind a loop device, in $dev; each
# read takes 50 ms
server()
{
	mkdir mnt && undo umount -l "$PWD/mnt" || return
	nbdfuse -P fuse.pid mnt/disk --command nbdkit -s --exit-with-parent -P "$PWD/kit.pid" \
	    --filter=delay "$@" rdelay=50ms </dev/null >fuse 2>&1 &
	until_true 30 test -s mnt/disk || { cat fuse; return 1; }
	loop mnt/disk --direct-io=on --read-only --sector-size 512
}
different()
{
	! cmp -s dst old
}
# dies: its server, with $fuse also the file system, is killed before the second half is
# read, and a second later, when the kernel has forgotten what it knew of the file, the
# rest is asked for; the same command line goes on
dies()
{
	local pid
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old && server file img || return
	FAULTS="on=$dev op=read at=4194304+ until=$PWD/go" FAULT_LOG=$PWD/faults LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 "$@" 2>err &
	pid=$!
	until_true 20 different && until_true 20 grep -qs waits faults
	kill -KILL "$(<kit.pid)" ${fuse:+"$(<fuse.pid)"} && sleep 1.2 && : >go || return
	wait $pid
	grep -q '^exit 69 ' how || fail "$(cat how err)" || return
	says 'even for what could be read before|No such device' &&
	    is '-*/' '' && "$maps" check map src dst old 0 0 8388608 &&
	    [[ -n $("$maps" list map +) && -n $("$maps" list map '?') ]] || return
	sed -i 's/^\(# pardd source\).*/\1: lost/; /^# pardd/d' map
	exits 0 "$pardd" if=img of=dst map=map bs=512 && same img dst
}
# stuck: its server hangs, and the workers hang in the kernel
stuck()
{
	local pid
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old && server file img || return
	"$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 "$@" 2>err &
	pid=$!
	# the kernel knows the file for a second, even if its server does not answer
	until_true 20 different && sleep 0.1 && kill -STOP "$(<kit.pid)" && sleep 1.2 &&
	    ! has + || fail 'the map was saved too early for the case' || return
	took=$EPOCHREALTIME
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" && until_true 20 has + || return
	took=$(since "$took")
	heard && "$maps" check map src dst old 0 0 8388608 || return
	kill -INT "$(awk '$1 == "pid" { print $2 }' how)" &&
	    until_true 20 grep -q 'quit at a second SIGINT' err || return
	kill -CONT "$(<kit.pid)"
	wait $pid
	ended signal 2 && is '-*/' '' && "$maps" check map src dst old 0 0 8388608
}
# late: its server hangs, as in stuck; what hangs in the kernel cannot be left
late()
{
	local pid
	leaves_threads
	"$blocks" make img 8M && cp img src && "$blocks" make dst 8M 9 && cp dst old && server file img || return
	"$tools/ends" how "$pardd" if="$dev" of=dst map=map bs=512 bpt=64 maxtime=2 2>err &
	pid=$!
	until_true 20 different && sleep 0.1 && kill -STOP "$(<kit.pid)" &&
	    until_true 30 grep -q 'maxtime=2 seconds; quit after .* map is saved' err || return
	has + && "$maps" check map src dst old 0 0 8388608 && kill -CONT "$(<kit.pid)" || return
	wait $pid
	ended exit 100 && is '-*/' '' && "$maps" check map src dst old 0 0 8388608
}
if able 'can_loop && command -v nbdfuse && [[ -c /dev/fuse ]] && nbdkit --filter=delay null --dump-plugin' \
    "not root, no nbdkit, nbdfuse or loop devices"; then
	for thr in $(few 1 4 16); do
		it "ends when a block device answers nothing any more, and calls nothing bad \
($thr workers)" dies thr=$thr
		it "saves the map at SIGINT while reads hang in the kernel ($thr workers)" \
		    promptly 2000 stuck thr=$thr
		fuse=1 it "ends when the file system is dead that the file of a loop device is on \
($thr workers)" dies thr=$thr
	done
	it "leaves after maxtime= while they do" late
fi

# leaves RULE OPERANDS...: a disk goes after its first MiB, or by that rule, and
# comes back as another; the run is over
leaves()
{
	local was pid
	"$blocks" make src $size && loop src --read-only && was=$dev &&
	    mkdir -p "sys/${was#/dev/}" && echo one >"sys/${was#/dev/}/serial" || return
	SYSFS=$PWD/sys FAULTS="on=$was ${1:-op=read at=1048576+ fail=ENODEV}" LD_PRELOAD=$shim \
	    "$tools/ends" how "$pardd" if="$was" of=dst map=map bs=512 wait=50 "${@:2}" 2>err &
	pid=$!
	until_true 20 grep -q 'waiting up to\|NOT' err && comes || return
	wait $pid
	says "it is back as $dev"
}
# comes: the same disk comes back under another name
comes()
{
	comes_back
}
comes_back()
{
	local was=$dev
	loop src --read-only && mv "sys/${was#/dev/}" "sys/${dev#/dev/}"
}
waits_for()
{
	"$@" && leaves '' oflag=flock && ended exit 0 && complete && same src dst && is + 0+$size
}
# ongone= is run once, and ends before a disk is looked for.
brings_back()
{
	comes()
	{
		until_true 20 test -e told && sleep 0.2 && comes_back && touch ready
	}
	leaves '' thr=1 ongone="echo \"\$PARDD_SOURCE \$PARDD_SERIAL \$PARDD_POSITION\" >>told
	    read x || while [ ! -e ready ]; do sleep 0.1; done; echo switched; (exit 7)" || return
	ended exit 0 && same src dst && says 'ongone=: ended with status 7' && says '^switched' || return
	[[ $(<told) =~ ^/dev/loop[0-9]+\ one\ 1048576$ ]] || fail "$(<told)"
}
# A realtime signal has no name.
# killed_by SIGNAL TOLD
killed_by()
{
	comes()
	{
		until_true 20 test -e told && comes_back && touch ready
	}
	leaves '' thr=1 ongone="echo >told; while [ ! -e ready ]; do sleep 0.1; done; kill -$1 \$\$" || return
	ended exit 0 && same src dst && says "ongone=: ended by $2\$"
}
# A command that hangs is ended when the wait ends, with everything it has started.
never_done()
{
	comes() { :; }
	SECONDS=0
	! leaves 'op=read at=1048576+ fail=ENODEV' wait=2 \
	    ongone='trap "" TERM; sleep 1000 & echo $! >child; wait; wait' || return
	ended exit 69 && says 'ongone=: it was not done within wait=2 seconds' && ((SECONDS < 20)) &&
	    ! readlink "/proc/$(<child)/exe"
}
# warm MILLIDEGREES: so has the disk $dev, without a moment in which nobody knows
warm()
{
	local dir=sys/${dev#/dev/}/device/hwmon/hwmon3
	mkdir -p "$dir" && echo "$1" >"$dir/new" && mv "$dir/new" "$dir/temp1_input"
}
# was JQ: an event of json
was()
{
	jq -e -s "map(select($1)) | length > 0" json >/dev/null 2>&1
}
cools()
{
	local pid
	"$blocks" make src $size && loop src --read-only && warm 61000 || return
	SYSFS=$PWD/sys FAULTS="on=$dev op=flush" LD_PRELOAD=$shim "$tools/ends" how \
	    "$pardd" if="$dev" of=dst bs=512 maxtemp=60 json=json "$@" 2>err &
	pid=$!
	until_true 20 grep -q 'is at 61 degrees Celsius, above maxtemp=60' err &&
	    warm 58000 && until_true 20 was '.temperature == 58' && warm 57000 || return
	wait $pid
	ended exit 0 && same src dst && says 'is cool enough' &&
	    was '.event == "progress" and .temperature == 61 and .bytes_read == 0' &&
	    was '.event == "progress" and .temperature == 58 and .bytes_read == 0' &&
	    jq -es -f "$top/tests/tools/schema.jq" json >/dev/null
}
# Without a temperature nothing waits.
unplugged()
{
	"$blocks" make src $size && loop src --read-only && warm 61000 || return
	SYSFS=$PWD/sys FAULTS="on=$dev op=flush" LD_PRELOAD=$shim "$pardd" if="$dev" of=dst maxtemp=60 2>err &
	until_true 20 grep -q 'is at 61 degrees Celsius, above maxtemp=60' err && [[ ! -s dst ]] && rm -r sys
	wait $! && complete && same src dst
}
unmeasured()
{
	"$blocks" make src $size && refused 'maxtemp=: the temperature of src is not known' if=src of=dst maxtemp=60
}
# alone: no worker can be made beside the thermometer, and closing takes longer
# than it waits between two looks
alone()
{
	"$blocks" make src $size && loop src --read-only && warm 50000 &&
	    SYSFS=$PWD/sys exits 61 with_faults "op=thread nth=2 fail=EAGAIN;on=$dev op=close sleep=1500" \
		"$pardd" if="$dev" of=dst bs=512 maxtemp=60 &&
	    one_line 'starting a worker' && faulty pthread_create
}
# What would have been refused at the beginning is not refused now.
cut_meanwhile()
{
	comes()
	{
		truncate -s 4096 dst && comes_back
	}
	leaves '' profile=p.json report=r.html && ended exit 69 && size_is dst 4096 &&
	    jq -e '.target.bytes == 1048576' p.json >/dev/null && grep -q 'dst ends at byte 4096' r.html &&
	    says 'NOT complete: map says that dst is finished up to byte 1048576, but dst ends at byte 4096'
}
# told COMMAND ANSWER: by the socket ctl
told()
{
	[[ $(echo "$1" | socat -t 5 - UNIX-CONNECT:ctl 2>/dev/null) =~ ^$2$ ]]
}
# What was set before it disappeared still holds when it is back.
keeps_limits()
{
	comes()
	{
		comes_back && until_true 20 told status '.* rate=100000 ioprio=be:6 .*' && told rate=0 ok
	}
	until_true 20 told rate=100000 ok && told ioprio=be:6 ok &
	leaves "op=read at=131072+ fail=ENODEV" rate=4096 control=ctl profile=profile.json &&
	    ended exit 0 && same src dst && jq -e '.target.bytes == 2097152 and .seconds < 100 and
		([.target.positions[].bytes] | add) == 2097152' profile.json
}
# A reader of json= that is behind when it goes reads on when it is back.
slow_reader()
{
	comes()
	{
		sleep 1
		cat <pipe >json 9>&- &
		comes_back
	}
	mkfifo pipe && exec 9<>pipe && head -c 61440 /dev/zero | tr '\0' '\n' >&9 &&
	    leaves '' json=9 && ended exit 0 && does_not_say json= || return
	exec 9>&-
	wait $!
	[[ $(jq -r .event json | grep -v progress | paste -sd ' ') = 'plan gone back result' ]] ||
	    fail "$(jq -r .event json)"
}
# The same name after a restart, and another disk.
other_target()
{
	stuff && loop dst && mkdir -p "sys/${dev#/dev/}" && echo one >"sys/${dev#/dev/}/serial" || return
	export SYSFS=$PWD/sys
	exits 0 with_faults '' "$pardd" if=src of="$dev" map=map count=1000 &&
	    echo two >"sys/${dev#/dev/}/serial" && cp dst before && cp map map.before &&
	    exits 101 with_faults '' "$pardd" if=src of="$dev" map=map &&
	    one_line 'another target.*serial=one .*: offset=0 serial=two .*remove the line "# pardd target"' &&
	    same dst before && same map map.before && echo one >"sys/${dev#/dev/}/serial" &&
	    exits 0 with_faults '' "$pardd" if=src of="$dev" map=map && same src dst &&
	    cp dst image && exits 0 "$pardd" if=src of=image map=map
}
# The same disk behind an adapter that reports another serial number.
renamed()
{
	loop src --read-only && mkdir -p "sys/${dev#/dev/}" && echo one >"sys/${dev#/dev/}/serial" &&
	    SYSFS=$PWD/sys exits 0 with_faults '' "$pardd" if="$dev" of=dst map=map count=1000 || return
	echo two >"sys/${dev#/dev/}/serial"
	cp map before
	SYSFS=$PWD/sys exits 101 with_faults '' "$pardd" if="$dev" of=dst map=map &&
	    one_line 'another source: .*serial=one.*: .*serial=two.*if it is the same disk.*pardd source' &&
	    same map before && sed -i '/^# pardd source/d' map &&
	    SYSFS=$PWD/sys exits 0 with_faults '' "$pardd" if="$dev" of=dst map=map && same src dst
}
# ... other blocks, or hides the last of the disk; half of it is another.
behind_another()
{
	"$blocks" make src $size && loop src --read-only &&
	    exits 0 "$pardd" if="$dev" of=dst map=map count=1000 && cp map before || return
	detach "$dev" "$PWD/src" && loop src --read-only "$@" &&
	    exits 101 "$pardd" if="$dev" of=dst map=map && same map before || return
	if [[ $* = *$((size / 2)) ]]; then
		one_line 'another source: .*; name another map$'
		return
	fi
	one_line 'another source: .*if it is the same disk.*pardd source' &&
	    sed -i '/^# pardd source/d' map && exits 0 "$pardd" if="$dev" of=dst map=map &&
	    head -c "$(blockdev --getsize64 "$dev")" src | cmp - dst
}
it "refuses to watch what has no thermometer" unmeasured
if able can_loop "no loop devices"; then
	it "waits for the source, and goes on with a file that it has made" waits_for true
	it "... that was too short at first" waits_for truncate -s 4096 dst
	it "... that was there" waits_for "$blocks" make dst $size 9
	it "... by a command that ongone= names, which is told what has gone" brings_back
	it "... and of which it is said what signal ended it" killed_by KILL SIGKILL
	it "... also one without a name" killed_by 40 "signal 40"
	it "... which may take no longer than the wait" never_done
	it "... unless the file is not what the map says any more" cut_meanwhile
	it "reads nothing of a disk that is too warm, and goes on when it is cooler" cools
	it "... in a rescue" cools map=map
	it "... by io_uring" cools iflag=direct oflag=direct bpt=64
	it "... and when its thermometer has gone" unplugged
	it "... and looks at no disk any more when there is no worker" alone
	it "refuses a map of which parts were copied to another disk" other_target
	it "says what to do when a disk has another serial number" eval '"$blocks" make src $size && renamed'
	it "... or other blocks" behind_another --sector-size 4096
	it "... or no end" behind_another --sizelimit $((size - 512))
	it "... and takes one of half the size for another" behind_another --sizelimit $((size / 2))
	if able 'command -v socat jq' "no socat or jq"; then
		it "... within the limits that were changed, and notes all of it in profile=" keeps_limits
		it "... and tells programs that take their time" slow_reader
	fi
fi
