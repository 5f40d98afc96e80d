# shellcheck shell=bash disable=SC2034,SC2154
# For tests of iSCSI disks: tgtd on the loopback address.

# serve LUN:FILE[:OPERANDS]...: tgtd with a target made of these, until the case ends.
# $uri is the target, to be followed by /LUN, and $pid its process.  The address is a
# loopback address of its own, because where tgtd cannot have its port, it takes the
# usual one at all addresses.
serve()
{
	local lun file rest
	[[ -n ${address-} ]] || address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)):23260
	export TGT_IPC_SOCKET=$PWD/ipc
	FAULTS=${rules-} FAULT_LOG=$PWD/faults LD_PRELOAD=${rules:+$shim} \
	    tgtd -f -C 1 --iscsi portal="$address" </dev/null >>tgtd.log 2>&1 &
	pid=$!
	if ! until_true 30 adm new target -T "$iqn" || ! admin show portal | grep -q "$address"; then
		cat tgtd.log
		return 1
	fi
	for lun; do
		IFS=: read -r lun file rest <<<"$lun"
		adm new logicalunit --lun "$lun" -b "$PWD/$file" ${rest:+--blocksize "$rest"} || return
	done
	adm bind target -I ALL && uri=iscsi://$address/$iqn
}
iqn=iqn.2026-11.org.example:disks
rules=
# adm OP MODE ARGS...: what the target is to do, and admin what the server
adm()
{
	admin "$1" "$2" --tid 1 "${@:3}"
}
admin()
{
	tgtadm -C 1 --lld iscsi --op "$1" --mode "$2" "${@:3}" 2>>tgtd.log
}
