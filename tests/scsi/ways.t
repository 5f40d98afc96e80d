# shellcheck shell=bash disable=SC2015,SC2016,SC2119,SC2128,SC2154,SC2178
# lab: -j 2
# NVMe disks on a network whose paths come and go: the kernel's own target, with TCP on
# the loopback address and two controllers.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -a nvmet nvmet_tcp nvme_tcp configfs && ip link set lo up ||
	{ echo 'Bail out! no network'; exit 1; }
config=/sys/kernel/config
[[ -d $config/nvmet ]] || mount -t configfs config $config
"$blocks" make /tmp/src 16M 1
"$blocks" make /tmp/disk 16M 2

sub=$config/nvmet/subsystems/pardd
mkdir $sub $sub/namespaces/1
echo 1 >$sub/attr_allow_any_host
echo 1 >$sub/namespaces/1/buffered_io	# its file is in memory
echo -n /tmp/disk >$sub/namespaces/1/device_path
echo 1 >$sub/namespaces/1/enable
# port N, and connect N: one of the two ways
port()
{
	local dir=$config/nvmet/ports/$1
	mkdir "$dir"
	echo tcp >"$dir/addr_trtype"
	echo ipv4 >"$dir/addr_adrfam"
	echo 127.0.0.1 >"$dir/addr_traddr"
	echo "442$1" >"$dir/addr_trsvcid"
	ln -s $sub "$dir/subsystems/"
}
connect()
{
	local at
	exec 7<>/dev/nvme-fabrics
	echo -n "transport=tcp,traddr=127.0.0.1,trsvcid=442$1,nqn=pardd,nr_io_queues=1,reconnect_delay=1" >&7
	read -r at <&7
	exec 7>&-
	[[ $at = instance=* ]]
}
for n in 1 2; do
	port $n && connect $n || { echo 'Bail out! no connection'; exit 1; }
done
ng=/dev/ng0n1 block=/dev/nvme0n1
until_true 20 test -c $ng -a -b $block || { echo 'Bail out! no disk'; exit 1; }
echo 1 >"$trace/events/nvme/nvme_setup_cmd/enable"

# ways optimized|inaccessible
ways()
{
	echo "$1" >$config/nvmet/ports/1/ana_groups/1/ana_state
	echo "$1" >$config/nvmet/ports/2/ana_groups/1/ana_state
}
undo ways optimized
# seen read|write: such a command was sent
seen()
{
	grep -q "nvme_cmd_$1 " "$trace/trace"
}
# midway WHAT COMMAND...: in the background, once something was read or written
midway()
{
	forget
	{ until_true 60 seen "$1" && "${@:2}"; } >/dev/null 2>&1 &
}
# Longer than what is retried for other reasons.
away()
{
	ways inaccessible
	sleep 4
	ways optimized
}
restore()
{
	ways optimized
	"$blocks" make /tmp/disk 16M 2
}

writes()
{
	restore
	midway write away
	exits 0 "$pardd" if=/tmp/src of=$ng rate=8M "$@" && complete && wait && cmp /tmp/src /tmp/disk
}
it "waits while no path to its target is in service" writes
long "... in threads" writes thr=4
reads()
{
	restore
	midway read away
	exits 0 "$pardd" if=$ng of=dst rate=8M "$@" && complete && wait && cmp dst /tmp/disk
}
it "... or to its source" reads
long "... where blocks may be lost" reads coe=1
it "... in a rescue" reads map=m
in_vain()
{
	restore
	midway write ways inaccessible
	exits 33 "$pardd" if=/tmp/src of=$ng rate=8M timeout=2 &&
	    says 'NOT complete: .*no path to it: ' && wait
}
it "gives up when it has waited for timeout= seconds" in_vain
stopped()
{
	restore
	midway "$1" ways inaccessible
	"$tools/ends" how "$pardd" rate=8M "${@:2}" 2>err &
	until_true 60 no_way && read -r _ pid <how && kill -s INT "$pid"
	wait
	ended signal "$(kill -l INT)" && says 'NOT complete: stopped by SIGINT' && ! says 'Operation canceled'
}
no_way()
{
	[[ $(<$config/nvmet/ports/2/ana_groups/1/ana_state) = inaccessible ]]
}
it "can be stopped while it waits" stopped write if=/tmp/src of=$ng
it "... in a rescue, which records nothing as bad" eval 'stopped read if=$ng of=dst map=m && ! grep -E " [-*/]$" m'
at_once()
{
	ways inaccessible
	exits 15 "$pardd" if=/tmp/src of=$ng && says 'Identify failed: none of its controllers has a path in service'
}
it "says at once that there is no path" at_once
