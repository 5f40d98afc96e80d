#!/usr/bin/env bash
# The machine stays awake during a run; a run in which it slept says so.
# shellcheck disable=SC1091,SC2015,SC2016,SC2154,SC2317
. "$(dirname "$0")/lib.sh"

# bus: a message bus of our own, with logind on it, in place of the machine's
bus()
{
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$PWD/bus
	cat >bus.conf <<-END
	<busconfig><listen>$DBUS_SYSTEM_BUS_ADDRESS</listen><auth>EXTERNAL</auth>
	<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
	<allow own="*"/><allow user="*"/></policy></busconfig>
	END
	dbus-daemon --config-file=bus.conf --nofork --nopidfile 2>bus.err &
	bus_pid=$!
	until_true 10 test -S bus || fail "$(cat bus.err)"
}
logind()
{
	"$tools/logind" >logind.out &
	until_true 10 grep -qx here logind.out || fail "logind: $(cat logind.out)"
}
held()
{
	bus && logind && truncate -s 1G src && exits 0 "$pardd" if=src of=dst && until_true 10 grep -qx let logind.out &&
	    [[ $(sed -n 2p logind.out) = 'held sleep:idle:handle-lid-switch pardd a copy is not finished block' ]] &&
	    does_not_say sleep || fail "$(cat logind.out err)"
}
# A bus that does not answer must not delay a copy for long.
silent()
{
	local began=$EPOCHREALTIME
	bus && kill -STOP $bus_pid && truncate -s 1G src && exits 0 "$pardd" if=src of=dst && kill -CONT $bus_pid &&
	    does_not_say logind && ((${EPOCHREALTIME/./} - ${began/./} < 10000000))
}
nobody()
{
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$PWD/none
	truncate -s 1G src && exits 0 "$pardd" if=src of=dst && does_not_say 'none|logind'
}
slept()
{
	export LD_PRELOAD=$shim
	"$blocks" make src 1M && SLEPT=61 exits 0 "$pardd" if=src of=dst && says 'note: the machine slept for 61 seconds meanwhile' &&
	    SLEPT=0 exits 0 "$pardd" if=src of=dst && does_not_say slept
}
it "says if the machine slept all the same" slept
needs 'command -v dbus-daemon' 'DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere "$tools/logind"; (($? != 77))' -- "no dbus-daemon, or no libsystemd"
it "keeps the machine awake while it copies, and no longer" held
it "... but not for what does not take long" eval \
    'bus && logind && "$blocks" make src 1M && exits 0 "$pardd" if=src of=dst && ! grep held logind.out'
it "goes on where nobody can be asked" nobody
it "... or does not answer" silent
