# shellcheck shell=bash
# A Ceph cluster: a monitor and an OSD in memory, on loopback, with keys (cephx),
# in a directory of their own; its pool is rbd.  Who died loses its lock on an image
# after 10 seconds, not 30, and who asked just before that asks again.  Sourced.

ceph_mon='' ceph_osd=''

# ceph_missing: a program that it needs and that is not there
ceph_missing()
{
	local need
	for need in ceph-mon ceph-osd ceph rbd monmaptool ceph-authtool; do
		command -v "$need" >/dev/null || { echo "$need"; return; }
	done
	return 1
}
# ceph_port: one that nobody listens at
ceph_port()
{
	local port
	for port in {33300..33399}; do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
	return 1
}
# ceph_start DIR BYTES: in that directory, which is there, with room for so much;
# CEPH_CONF leads clients to it.  False if it does not start, after its reasons.
ceph_start()
{
	local dir=$1 uuid key tries=0
	export CEPH_CONF=$dir/ceph.conf
	mkdir "$dir"/{mon,osd,run,log} && ceph_configure "$dir" "$2" && uuid=$(</proc/sys/kernel/random/uuid) &&
	    ceph-mon --mkfs -i a --monmap "$dir/monmap" --keyring "$dir/keyring" || return
	ceph-mon -i a -f &
	ceph_mon=$!
	key=$(ceph-authtool --gen-print-key) &&
	    ceph-authtool --create-keyring "$dir/osd/keyring" -n osd.0 --add-key "$key" &&
	    echo "{\"cephx_secret\": \"$key\"}" >"$dir/secret" &&
	    timeout 60 ceph osd new "$uuid" -i "$dir/secret" && ceph-osd -i 0 --mkfs --osd-uuid "$uuid" || return
	ceph-osd -i 0 -f &
	ceph_osd=$!
	until timeout 10 ceph osd stat | grep -q ' 1 up'; do
		kill -0 "$ceph_osd" && ((++tries < 200)) && sleep 0.2 || return
	done
	timeout 60 ceph osd pool create rbd 8 8 replicated && timeout 60 rbd pool init rbd
}
ceph_configure()
{
	local dir=$1 fsid address
	fsid=$(</proc/sys/kernel/random/uuid) && address="[v2:127.0.0.1:$(ceph_port)]" && cat >"$dir/ceph.conf" <<-EOT || return
	[global]
	fsid = $fsid
	mon host = $address
	mon initial members = a
	public addr = 127.0.0.1
	cluster addr = 127.0.0.1
	auth cluster required = cephx
	auth service required = cephx
	auth client required = cephx
	osd pool default size = 1
	osd pool default min size = 1
	osd crush chooseleaf type = 0
	osd pool default pg autoscale mode = off
	mon allow pool size one = true
	mon data avail crit = 1
	run dir = $dir/run
	crash dir = $dir/run
	admin socket = $dir/run/\$name.asok
	log file = $dir/log/\$name.log
	mon cluster log file = $dir/log/cluster.log
	keyring = $dir/keyring
	rbd default features = 61
	[mon.a]
	mon data = $dir/mon
	[osd.0]
	osd data = $dir/osd
	keyring = $dir/osd/keyring
	osd objectstore = memstore
	memstore device bytes = $2
	osd client watch timeout = 10
	EOT
	ceph-authtool --create-keyring "$dir/keyring" --gen-key -n mon. --cap mon 'allow *' &&
	    ceph-authtool "$dir/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' &&
	    monmaptool --create --addv a "$address" --fsid "$fsid" "$dir/monmap"
}
# ceph_stop: nothing is kept, so nothing is asked
ceph_stop()
{
	local pid
	for pid in $ceph_osd $ceph_mon; do
		kill -CONT "$pid" 2>/dev/null
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	ceph_mon='' ceph_osd=''
}
