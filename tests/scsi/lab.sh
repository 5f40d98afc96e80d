# shellcheck shell=bash disable=SC2015
# Helpers for guest scripts: `. lab.sh`.
#
# sdebug PARAMETER...	load scsi_debug (again) and wait for its disks; the
#			n-th, by host, then target, is then SDn=/dev/sdX,
#			SGn=/dev/sgN, BSGn=/dev/bsg/H:C:T:L and HCTLn=H:C:T:L.
#			per_host_store=1 gives every host contents of its own.
# qemu_disks		the same for the disks of -D: QSD1, QSG1, QBSG1, QHCTL1
# name_disks PREFIX VENDOR	again by hand, after a rescan
# wait_for SECONDS COMMAND...	until it succeeds
# knob NAME VALUE	scsi_debug's, wherever that one lives
# now			seconds with nanoseconds

now()
{
	date +%s.%N
}

wait_for()
{
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep .02
	done
}

# $there is lines "H:C:T:L sdX sgN" of the disks of one vendor that are all
# there.  Without a process: the guest is slow to make one.
look_for()
{
	local dir vendor sd sg
	there=()
	for dir in /sys/class/scsi_device/*/device; do
		{ read -r vendor <"$dir/vendor"; } 2>/dev/null || continue
		sd=("$dir"/block/*) sg=("$dir"/scsi_generic/*)
		sd=${sd[0]##*/} sg=${sg[0]##*/}
		[[ $vendor = "$1"* && -b /dev/$sd && -c /dev/$sg ]] || continue
		dir=${dir%/device}
		there+=("${dir##*/} $sd $sg")
	done
}

count_is()
{
	local there
	look_for "$1"
	[ ${#there[@]} -eq "$2" ]
}

# sd.c probes by itself and later, so sg0 may be sdb: only sysfs knows.
name_disks()
{
	local n=0 hctl sd sg there
	look_for "$2"
	while read -r hctl sd sg; do
		[ -n "$hctl" ] || continue
		n=$((n + 1))
		declare -g "$1HCTL$n=$hctl" "$1SD$n=/dev/$sd" \
			"$1SG$n=/dev/$sg" "$1BSG$n=/dev/bsg/$hctl"
	done < <(printf '%s\n' ${there[@]+"${there[@]}"} | sort -t: -k1n -k2n -k3n -k4n)
}

qemu_disks()
{
	wait_for 10 count_is QEMU "$1" && name_disks Q QEMU
}

sdebug()
{
	local p hosts=1 each=1
	for p; do
		case $p in
		add_host=*) hosts=${p#*=} ;;
		num_tgts=* | max_luns=*) each=$((each * ${p#*=})) ;;
		esac
	done
	[ ! -e /sys/module/scsi_debug ] || wait_for 10 modprobe -qr scsi_debug ||
		return 1
	modprobe -a sg sd_mod && modprobe scsi_debug "$@" &&
		wait_for 20 count_is Linux $((hosts * each)) &&
		name_disks '' Linux
}

knob()
{
	local f
	for f in /sys/bus/pseudo/drivers/scsi_debug \
		/sys/module/scsi_debug/parameters; do
		if [ -e "$f/$1" ]; then
			echo "$2" >"$f/$1"
			return
		fi
	done
	return 1
}
