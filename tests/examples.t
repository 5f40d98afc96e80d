#!/usr/bin/env bash
# What the manuals and the README show is run as it is printed there, with loop
# devices, servers on this machine and an ssh that stays here in place of what it
# names; or it is said why it cannot be run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/iscsi.sh"
[[ $VARIANT != tsan ]] || exit 0		# other files have all that they do

PATH=${pardd%/*}:$PATH

# ------------------------------------------------------------- what is shown

# joined: what is read, with a line that ends in a backslash and the next one as one
joined()
{
	sed -e ':a' -e '/\\e$/{N; s/ *\\e\n/ /; ba' -e '}'
}
# section NAME: its lines in the manual
section()
{
	awk -v head=".Sh $1" '/^\.Sh /{ inside = $0 == head } inside' "$top"/man/*.[78]
}
examples()
{
	section EXAMPLES | sed -n 's/^\.Dl //p' | joined
}
steps()
{
	section "A DYING DISK, STEP BY STEP" | sed -n 's/^\.Dl //p' | joined
}
readme_examples()
{
	awk '/^## /{ inside = $0 == "## Examples" }
	    /^```/{ code = !code; next }
	    inside && code && !/^#/' "$top/README.md"
}
# see: the commands behind the README's table of other tools
see()
{
	awk '/^## /{ inside = $0 == "## See for yourself" }
	    /^```/{ code = !code; next }
	    inside && code' "$top/tests/peers.md"
}
# shown: all lines of commands but those, and all else of several words that is
# set as what is typed or printed
shown()
{
	awk '/^\.Sh /{ other = /EXAMPLES|STEP BY STEP/ && FILENAME ~ /[78]$/ }
	    /^\.Dl / && !other { print substr($0, 5) }
	    /^\.Ql [^ ]+ +[^ ]/ {
		sub(/^\.Ql /, ""); sub(/ [.,;:]$/, ""); sub(/ Ns /, " ")
		if (/ /) print
	    }' "$top"/man/* | joined | sed -e 's/\\(dq\|"""/"/g' -e 's/\\&//g'
	awk '/^## /{ out = $0 == "## Examples" || $0 == "## See for yourself" }
	    function inline(	n, i, part) {
		n = split(text, part, "`"); text = ""
		for (i = 2; i <= n; i += 2) if (part[i] ~ / /) print part[i]
	    }
	    /^```/{ inline(); code = !code; next }
	    code { if (!out) { sub(/ +# .*/, ""); print }; next }
	    /^$/ || /^    / || /^\|/{ inline() }
	    !/^    /{ text = text " " $0 }
	    END { inline() }' "$top"/README.md "$top"/tests/{,*/}*.md
}

# ------------------------------------------------------- what there is instead

# The files that they name: made once, for each to have its own.
made=$scratch/made
mkdir "$made"
"$blocks" make "$made/disk.img" 12M 1 && "$blocks" make "$made/old.img" 13M 2 &&
    "$blocks" make "$made/part.img" 4M 3 && "$blocks" make "$made/sda.img" 12M 4 &&
    gzip -1 -c "$made/part.img" >"$made/old.img.gz" &&
    gzip -1 -c "$made/sda.img" >"$made/sda.img.gz" && xz -0c "$made/sda.img" >"$made/sda.img.xz" &&
    "$blocks" make "$made/debian.iso" 3M 6 && cp "$made/debian.iso" "$made/image.iso"
# ssh HOST COMMAND..., here; -fNL PORT:HOST:PORT is a tunnel into it from $near
mkdir "$scratch/bin" "$scratch/pids" && cat >"$scratch/bin/ssh" <<-'EOF' && chmod +x "$scratch/bin/ssh"
	#!/bin/bash
	if [[ $1 != -fNL ]]; then
		shift
		exec sh -c "$*"
	fi
	IFS=: read -r port to <<<"$2"
	socat "TCP-LISTEN:$port,bind=$near,fork,reuseaddr" "TCP:$to" >/dev/null 2>&1 &
	echo $! >"$pids/ssh"
	for ((try = 0; try < 1000; try++)); do
		(: <"/dev/tcp/$near/$port") 2>/dev/null && exit
		sleep 0.02
	done
	exit 1
EOF
# Servers that go into the background are ended after the case.
for name in nbdkit:-P qemu-nbd:--pid-file; do
	cat >"$scratch/bin/${name%:*}" <<-EOF
		#!/bin/bash
		[[ " \$* " = *' -s '* ]] || set -- ${name#*:} "\$pids/\$\$" "\$@"
		exec $(command -v "${name%:*}") "\$@"
	EOF
	chmod +x "$scratch/bin/${name%:*}"
done
PATH=$scratch/bin:$PATH
export pids=$scratch/pids
end_servers()
{
	local file
	for file in "$pids"/*; do
		kill "$(<"$file")"
		rm "$file"
	done
}
# block_map: an image, packed, and its block map
block_map()
{
	local sum
	sum=$(sha256sum <"$made/part.img" | cut -d ' ' -f 1)
	gzip -1 -c "$made/part.img" >core-image.wic.gz && cat >map <<-EOT || return
		<bmap version="2.0"><ImageSize>4194304</ImageSize><BlockSize>4096</BlockSize>
		<BlocksCount>1024</BlocksCount><MappedBlocksCount>1024</MappedBlocksCount>
		<ChecksumType>sha256</ChecksumType>
		<BmapFileChecksum>$(printf '%064d' 0)</BmapFileChecksum>
		<BlockMap><Range chksum="$sum">0-1023</Range></BlockMap></bmap>
	EOT
	sum=$(sha256sum <map | cut -d ' ' -f 1)
	sed "s/>00*</>$sum</" map >core-image.wic.bmap
}
# stuff LINE: the files that it names, and images of a cluster
stuff()
{
	local name
	for name in disk.img old.img part.img sda.img old.img.gz sda.img.gz sda.img.xz debian.iso image.iso; do
		[[ $1 != *"$name"* || -e $name ]] || cp "$made/$name" . || return
	done
	[[ $1 != *core-image* ]] || block_map || return
	[[ $1 != *if=sda.img.zst* || -e sda.img.zst ]] || { cp "$made/sda.img" sda.img && table sda.img &&
	    "$pardd" if=sda.img of=sda.img.zst encode=zst status=none && rm sda.img; } || return
	[[ $1 != *rbd:* || -e backup ]] || { ceph && mkdir backup vms && cp "$made/disk.img" backup/laptop &&
	    cp "$made/sda.img" backup/laptop@monday && cp "$made/sda.img" vms/web@monday &&
	    cp "$made/sda.img" vms/web@tuesday && cp "$made/disk.img" vms/web &&
	    printf changed | dd of=vms/web@tuesday bs=1 seek=5000000 conv=notrunc status=none; } || return
	for name in disk old; do
		[[ $1 != *"$name.manifest"* ]] ||
		    "$pardd" if="$made/$name.img" of=. manifest=$name.manifest status=none || return
	done
	[[ ! $1 =~ domain=(sda|rescued).map || -e ${BASH_REMATCH[1]}.map ]] || { : >"${BASH_REMATCH[1]}.img" &&
	    printf '%s\n' '0 + 1' '0 0x1000 -' >"${BASH_REMATCH[1]}.map"; }
}
# table DISK: two partitions
table()
{
	printf '%s\n' 'label: gpt' size=4M size=4M | sfdisk -q "$1"
}
# at_hand LINE: $line is that, with what is here in place of what it names; sda
# and so on are the files of loop devices, with the same bytes
declare -A disk=()
at_hand()
{
	local name
	line=$1
	stuff "$line" || return
	for name in sda sdb sdc sdd; do
		[[ $line = *"/dev/$name"* ]] || continue
		if [[ -z ${disk[$name]-} ]]; then
			[[ -e $name ]] || "$blocks" make "$name" 12M 5 || return
			[[ $line != *part=* && $line != *table=* ]] || table "$name" || return
			loop "$name" || return
			disk[$name]=$dev
		fi
		line=${line//"/dev/$name"/"${disk[$name]}"}
	done
	line=${line#host# } line=${line//\/run\//"$PWD/"}
}
# as_shown LINE: it ends with 0
as_shown()
{
	local line
	at_hand "$1" && exits 0 bash -o pipefail -c "$line"
}
# ends_well LINE: and if it is a copy, it says so
ends_well()
{
	[[ $1 != *dsync* ]] || in_memory
	as_shown "$1" || return
	[[ -s out && $1 = *' -'[dl] || $1 = *--dry-run* ]] || complete
}
loops=
! can_loop || loops=1
# each WHOSE: a case for each line
each()
{
	local line
	while read -r line; do
		if [[ $line = *rbd:* ]] && ! can_rbd; then
			skip "built without librbd" "$1: $line"
		elif [[ $line = *'[ '* ]] && ! can_nbd; then
			skip "no nbdkit, or built without libnbd" "$1: $line"
		elif [[ $line != */dev/sd* || -n $loops ]]; then
			it "$1: $line" ends_well "$line"
		else
			skip "no loop devices" "$1: $line"
		fi
	done
}
each "runs the manual's" < <(examples)
[[ $VARIANT = plain ]] || exit 0		# once is enough
each "runs the README's" < <(readme_examples)
enough()
{
	(($(examples | wc -l) >= 10)) && (($(readme_examples | wc -l) >= 5)) &&
	    (($(steps | wc -l) >= 5)) && (($(shown | wc -l) >= 100))
}
it "has found examples in both, and the steps of a rescue" enough

# parses LINE: it is no usage error; disks are files, and nothing is written
parses()
{
	local line=${1//\/dev\/}
	stuff "$1" && "$blocks" make sda 12M 5 && "$blocks" make sdb 12M 5 || return
	[[ $line != *part=* && $line != *table=* ]] || { table sda && table sdb; } || return
	line=${line#*| } line=${line%%[|>]*}
	run bash -c "${line/pardd/pardd -d} </dev/null"
	[[ $status != 1 && $status != 127 ]] || fail "$line: $(<err)"
}
while read -r line; do		# those that were not run
	[[ $line != */dev/sd* || -n $loops ]] || it "knows the operands of: $line" parses "$line"
done < <(examples; readme_examples)

# ------------------------------------------- what is shown elsewhere, row by row

declare -A row=()
# together SENTENCE COMMAND [PROOF]: the lines of standard input, in one case, if
# there is what it takes
together()
{
	local lines one
	mapfile -t lines
	for one in "${lines[@]}"; do
		row[$one]=1
	done
	given "${3-}" "not here: ${3-}" it "$1" "$2" "${lines[@]}"
}
# not_run REASON: these are not run
not_run()
{
	local one
	while read -r one; do
		row[$one]=1
	done
}
# in_turn LINE...: one after the other, each ends with 0
in_turn()
{
	local one
	undo end_servers
	for one; do
		ends_or_not "$one" || return
	done
}
ends_or_not()
{
	if [[ $1 = *'pardd if='* && $1 != *' -d' ]]; then
		ends_well "$1"
	else
		as_shown "$1"
	fi
}

together "lists the disks, and prints completions" in_turn <<'EOT'
pardd -l
pardd --list --json
pardd --completion=fish
pardd --help
pardd --help wipe
EOT
apart()
{
	local line
	for line; do
		ends_or_not "$line" || return
	done
}
together "clones, plans, compares, images and verifies" apart '((loops))' <<'EOT'
pardd if=/dev/sda of=sda.img map=sda.map
pardd if=/dev/sda of=/dev/sdb -d
pardd if=/dev/sda of=/dev/sdb verify=1
pardd if=/dev/sda of=/dev/sdb compare=1
pardd if=image.iso of=/dev/sdb of=/dev/sdc of=/dev/sdd verify=1
pardd if=/dev/sda of=sda.img map=sda.map report=sda.html note='case 17'
pardd if=/dev/sda of=sda.img coe=1 hash=sha256 manifest=sda.manifest log=case.log report=sda.html note='case 17'
pardd if=/dev/sda | ssh root@host pardd of=/dev/sdb
EOT
together "copies a partition" apart '((loops))' <<'EOT'
pardd if=/dev/sda ipart=1 of=/dev/sdb opart=2
EOT
only_that()
{
	local line
	at_hand "$1" && exits 101 bash -c "$line" && one_line 'that oserial=S2RBNX0H606448W asks for'
}
together "writes no disk with another serial number" only_that '((loops))' <<'EOT'
pardd if=/dev/sda of=/dev/sdb oserial=S2RBNX0H606448W
EOT
# packs LINE...: the image is that of what is used, and a partition comes back
packs()
{
	"$blocks" make sda 12M 5 && table sda && ends_well "$1" && says 'encoded as zst' && ends_well "$2" && cmp <(zstd -dcq sda.img.zst) sdb &&
	    ends_well "$3"
}
together "packs an image, and takes a partition from it" packs '((loops))' 'command -v zstd' <<'EOT'
pardd if=/dev/sda of=sda.img.zst encode=zst used=only verify=1
pardd if=sda.img.zst decode=auto of=/dev/sdb
pardd if=sda.img.zst decode=auto ipart=2 of=/dev/sdb opart=2
EOT
together "unpacks what is compressed, and fills a pipe" apart '((loops))' <<'EOT'
pardd if=sda.img.xz decode=auto of=/dev/sdb verify=1
pardd if=/dev/sda | gzip >sda.img.gz
EOT
# from_partition LINE: the second one holds a packed image, and zeros behind it
from_partition()
{
	local line
	truncate -s 12M sda && at_hand "$1" && gzip -1 -c "$made/image.iso" >packed &&
	    "$pardd" if=packed decode=none of="${disk[sda]}" opart=2 2>err && sync "${disk[sda]}" &&
	    exits 0 bash -o pipefail -c "$line" && cmp -n "$(stat -c %s "$made/image.iso")" sdb "$made/image.iso"
}
together "unpacks what a partition holds" from_partition '((loops))' <<'EOT'
pardd if=/dev/sda ipart=2 | pardd decode=auto of=/dev/sdb
EOT
limited()
{
	local line
	at_hand "$1" && "$blocks" make sdb 12M 7 && exits 14 bash -c "$line" && at_hand "$2" &&
	    exits 0 bash -c "$line" && complete && same sda sdb
}
together "copies what differs" limited '((loops))' <<'EOT'
pardd if=/dev/sda of=/dev/sdb compare=1 map=differs.map
pardd if=/dev/sda of=/dev/sdb domain=differs.map map=rest.map
EOT
backup()
{
	table sda.img && truncate -s 20M sdb && loop sdb && disk[sdb]=$dev && "$pardd" if=sda.img of="$dev" 2>err &&
	    says 'sfdisk --relocate gpt-bak-std' && as_shown "$1" && exits 0 sgdisk -v sdb && grep -q 'No problems found' out &&
	    "$pardd" if=sdb ipart=2 of=p status=none && exits 0 fdisk -l sdb &&
	    [[ $(awk '$1 == "sdb2" { print $4 * 512 }' out) = "$(stat -c %s p)" ]]
}
backups()
{
	truncate -s 12M sda.img && backup "$1" && as_shown "$8" && [[ $(sfdisk -lq -o SIZE sdb | tail -n 1) = *15M ]]
}
together "moves the backup of a GPT, and knows the columns of fdisk" backups '((loops))' <<'EOT'
sfdisk --relocate gpt-bak-std /dev/sdb
sgdisk -e /dev/sdb
fdisk -l
fdisk -l /dev/sda
fdisk -l /dev/sdb
sfdisk --relocate gpt-bak-std
sgdisk -e
echo ', +' | sfdisk -N 2 /dev/sdb
EOT
digests()
{
	"$blocks" make src 3M && "$pardd" if=src of=dst hash=sha3-256,xxh128 hashfile=sums status=none &&
	    grep -q "$(openssl dgst -sha3-256 dst | sed 's/.* //')" sums &&
	    grep -q "$(xxhsum -H2 dst | sed 's/ .*//')" sums && "$pardd" if=src of=dst hash=sha256 hashfile=s status=none &&
	    exits 0 sha256sum -c s
}
together "makes the digests that others make" digests 'command -v openssl xxhsum' <<'EOT'
openssl dgst -sha3-256
xxhsum -H2
sha256sum -c
sha256sum -c Ar file
EOT
rest()
{
	"$blocks" make sda.img 4M && loop sda.img && "$pardd" if=/dev/zero of="$dev" seek=100 2>err && complete &&
	    holds sda.img 0 0 51200 && cmp -n 4143104 sda.img /dev/zero 51200
}
together "fills what is left of a disk" rest '((loops))' <<'EOT'
pardd if=/dev/zero of=/dev/sdb seek= Ar blocks
EOT
bmap()
{
	"$pardd" if="$made/sda.img" of=sda.img manifest=sda.bmap status=none && as_shown "$1" && complete
}
together "tests an image by its block map" bmap <<'EOT'
pardd if=sda.img of=. bmap=sda.bmap
EOT
both()
{
	in_turn "pardd if=disk.img of=. manifest=m" "pardd if=disk.img of=disk2.img" &&
	    ends_well "pardd if=disk.img of=disk2.img base=m manifest=m"
}
together "has a manifest take the place of the old one" both <<'EOT'
base=m manifest=m
EOT
told()
{
	undo end_servers
	truncate -s 64M src || return
	"$pardd" if=src of=. rate=64k control=path status=none &
	echo $! >"$pids/copy"
	until_true 20 listens path && exits 0 bash -c "$1" && [[ $(<out) = ok ]]
}
told_both()
{
	told "$1" && end_servers && until_true 20 gone path && told "${2//:ctl/:path}"
}
gone()
{
	[[ ! -e $1 ]]
}
together "is told another rate" told_both 'command -v socat' <<'EOT'
echo rate=20M | socat - UNIX-CONNECT:path
echo rate=0 | socat - UNIX-CONNECT:ctl
EOT
measured()
{
	in_memory && truncate -s 2G sda && apart "$@"
}
together "measures" measured '((loops))' <<'EOT'
pardd if=/dev/sda of=. count=2G iflag=count_bytes time=1
pardd if=/dev/zero of=testfile bs=512 count=1000 bpt=1 thr=1 oflag=dsync time=1
pardd if=/dev/zero of=testfile bs=512 count=1000 bpt=1 thr=16 oflag=dsync time=1
EOT
listed()
{
	local line
	as_shown "$1" && as_shown "$2" && [[ ! -s out ]] && as_shown "$3" && grep -q '"complete"' out
}
together "tells a program" listed 'command -v jq' <<'EOT'
pardd if=disk.img of=copy.img coe=1 json=run.json
jq -r 'select(.event=="error")|[.offset,.length]|@tsv' run.json
jq 'select(.event == "result") | del(.source, .target)' run.json
EOT
mounts()
{
	truncate -s 12M sda.img && table sda.img && run losetup -r -f -P --show sda.img && undo losetup -d "$(<out)" &&
	    "$pardd" -l | grep -q "^$(<out) " && truncate -s 4M root.img && mke2fs -q root.img && mkdir mnt &&
	    undo umount "$PWD/mnt" && mount -o ro,loop root.img mnt && [[ -e mnt/lost+found ]]
}
together "attaches and mounts an image" mounts '((loops))' <<'EOT'
losetup -r -f -P --show sda.img
losetup -r -f -P --show disk.img
mount -o ro,loop
EOT

# -------------------------------------------------------- more than one machine

together "copies to the disk of another machine, and from it" in_turn '((loops)) && can_nbd' <<'EOT'
pardd if=/dev/sda of='[ ssh root@host nbdkit -s file /dev/sdb ]' map=m
EOT
together "... and from it" in_turn '((loops)) && can_nbd' <<'EOT'
pardd if='[ ssh root@host nbdkit -s -r file /dev/sda ]' of=sda.img map=m
EOT
# The port of NBD, of two addresses of loopback that nobody else has.
tunnel()
{
	local far=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).7
	export near=${far%.7}.8
	"$blocks" make sdb 12M 9 && in_turn "${1/127.0.0.1/$far}" "${2/:127.0.0.1:/:$far:}" "${3/127.0.0.1/$near}" &&
	    same sda sdb
}
together "copies through a tunnel" tunnel '((loops)) && can_nbd && command -v socat && nobody_at 10809' <<'EOT'
host# nbdkit -i 127.0.0.1 file /dev/sdb
ssh -fNL 10809:127.0.0.1:10809 root@host
pardd if=/dev/sda of=nbd://127.0.0.1 verify=1
EOT
# A server that ends with the copy may have the image for a moment yet.
virtual()
{
	in_turn "$@" && until_true 20 qemu-img convert -q -O raw sda.qcow2 back && cmp -n 12582912 back sda
}
together "fills an image for virtual machines" virtual '((loops)) && can_nbd && command -v qemu-nbd' <<'EOT'
qemu-img create -f qcow2 sda.qcow2 500G
pardd if=/dev/sda of='[ qemu-nbd -f qcow2 sda.qcow2 ]' oflag=sparse
EOT
one_word()
{
	"$blocks" make disk.img 4M && qemu-img create -q -f qcow2 disk.qcow2 4M &&
	    exits 0 "$pardd" if=disk.img of='[ qemu-nbd -f qcow2 disk.qcow2 ]' &&
	    exits 0 "$pardd" if='[ qemu-nbd -r -f qcow2 disk.qcow2 ]' of=back && cmp back disk.img &&
	    truncate -s 4M other.img && exits 0 "$pardd" if=back of='[ nbdkit file other.img ]' && cmp back other.img
}
together "has servers serve a run alone" one_word 'can_nbd && command -v qemu-nbd && command -v nbdkit' <<'EOT'
if='[ qemu-nbd -r -f qcow2 disk.qcow2 ]'
of='[ nbdkit file disk.img ]'
EOT
increment()
{
	"$blocks" make old 12M && qemu-img convert -q -O qcow2 old vm.qcow2 && in_turn "${@:1:3}" &&
	    until_true 20 qemu-io -f qcow2 -c 'write -P 7 3M 70k' vm.qcow2 && until_true 20 gone q.sock &&
	    in_turn "${@:4}" && says 'changed by bitmap monday: 1.0 of 12.6 MB' &&
	    until_true 20 qemu-img convert -q -O raw vm.qcow2 now && same now vm.img
}
together "copies what a bitmap has" increment 'can_nbd && command -v qemu-nbd' <<'EOT'
qemu-img bitmap --add vm.qcow2 monday
qemu-nbd --fork -r -k /run/q.sock -f qcow2 vm.qcow2
pardd if='nbd+unix:///?socket=/run/q.sock' of=vm.img manifest=vm.m
qemu-nbd --fork -r -k /run/q.sock -f qcow2 -B monday vm.qcow2
pardd if='nbd+unix:///?socket=/run/q.sock' of=vm.img iflag=bitmap:monday base=vm.m manifest=vm.m
EOT
# serve_parts FILE: over HTTP, at $web; as RFC 9110 14 has it, a range that ends
# beyond the file is cut
serve_parts()
{
	web=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).9:$((RANDOM % 10000 + 20000))
	export FILE=$PWD/$1
	cat >"$scratch/bin/parts" <<-'END' && chmod +x "$scratch/bin/parts" || return
	#!/bin/bash
	read -r method _ _
	size=$(stat -c %s "$FILE") first=0 last=$((size - 1)) status='200 OK'
	while read -r line && line=${line%$'\r'} && [[ -n $line ]]; do
		[[ ${line,,} =~ ^range:\ bytes=([0-9]+)-([0-9]+) ]] || continue
		first=${BASH_REMATCH[1]} last=${BASH_REMATCH[2]} status='206 Partial Content'
		((last < size)) || last=$((size - 1))
	done
	printf 'HTTP/1.1 %s\r\n' "$status"
	printf 'Content-Length: %d\r\nAccept-Ranges: bytes\r\nConnection: close\r\n\r\n' $((last - first + 1))
	[[ $method = HEAD ]] || dd if="$FILE" iflag=skip_bytes,count_bytes skip=$first count=$((last - first + 1)) bs=64K status=none
	END
	socat "TCP-LISTEN:${web#*:},bind=${web%:*},reuseaddr,fork" EXEC:parts 2>/dev/null &
	echo $! >"$pids/web"
	until_true 10 eval '(: <"/dev/tcp/${web%:*}/${web#*:}") 2>/dev/null'
}
from_web()
{
	"$blocks" make disk.img 12M 3 && serve_parts disk.img && in_turn "${1/https:\/\/host/http://$web}" && same sdb disk.img
}
together "copies an image of a web server" from_web '((loops)) && can_nbd && command -v socat && nbdkit curl --dump-plugin' <<'EOT'
pardd if='[ nbdkit curl https://host/disk.img ]' of=/dev/sdb map=m
EOT
from_borg()
{
	export BORG_BASE_DIR=$PWD/borg BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
	"$blocks" make sdb 12M 5 && cp sdb was && borg init -e none repo && borg create repo::monday sdb &&
	    "$blocks" make more 1M 9 && dd if=more of=sdb bs=64K seek=20 conv=notrunc status=none &&
	    in_turn "${1/\/srv\/borg/repo}" && same sdb was && says '^1048576 bytes'
}
together "restores from an archive of borg what differs" from_borg '((loops)) && command -v borg' <<'EOT'
borg extract --stdout /srv/borg::monday sdb | pardd of=/dev/sdb oflag=sparing
EOT
san()
{
	"$blocks" make lun 12M 9 && serve 1:lun && in_turn "${@//san/"$address"}" && same sda lun && same sda sda.img
}
together "copies to a disk of a SAN, and from it" san '((loops)) && can_iscsi' <<'EOT'
pardd if=/dev/sda of=iscsi://san/iqn.2026-11.org.example:disks/1 verify=1
pardd if=iscsi://san/iqn.2026-11.org.example:disks/1 of=sda.img map=m
EOT
together "copies into a cluster" in_turn '((loops)) && can_rbd' <<'EOT'
pardd if=/dev/sda of=rbd:backup/laptop map=m
pardd if=rbd:backup/laptop@monday of=/dev/sdb verify=1
EOT
since()
{
	in_turn "$@" && same web.img vms/web@tuesday
}
together "copies what was changed since a snapshot" since can_rbd <<'EOT'
pardd if=rbd:vms/web@monday of=web.img manifest=web.m
pardd if=rbd:vms/web@tuesday of=web.img iflag=since:monday base=web.m manifest=web.m
EOT
not_run "names, and not commands: nbd.t, iscsi.t and rbd.t try them" <<'EOT'
nbd://host
nbd://host:10809/export
nbds://host/export?tls-psk-file=/etc/keys.psk
nbd+unix:///export?socket=/run/nbd.sock
of='[ ssh root@host nbdkit -s file /dev/sdb ]'
if='[ qemu-nbd -r -f qcow2 disk.qcow2 ]'
of='[ nbdkit file disk.img ]'
iscsi://host/iqn.2026-11.org.example:disks/1
iscsi://user@host:3260/iqn.2026-11.org.example:disks/1
iscsi://user%password@[2001:db8::7]/iqn.2026-11.org.example:disks/0
rbd:pool/image
rbd:pool/namespace/image@snapshot
rbd:pool/image:id=backup:conf=/etc/ceph/other.conf
EOT
not_run "takes a cluster: tests/ceph/run has it" <<'EOT'
ceph auth get-or-create client.backup mon 'profile rbd' osd 'profile rbd pool=backup'
rbd create
EOT
not_run "multicast may not come through, as on the loopback of a busy machine: done by hand" <<'EOT'
pardd if=/dev/sda status=none | udp-sender --min-receivers 12
udp-receiver --nokbd | pardd of=/dev/sdb verify=1
EOT
chunks()
{
	"$blocks" make sdb 12M 9 && in_turn "$@" && same sdb sda.img
}
together "brings what is new by casync" chunks '((loops)) && command -v casync' <<'EOT'
casync make --store=images.castr sda.caibx sda.img
casync extract --store=images.castr --seed=old.img sda.caibx /dev/sdb && sync /dev/sdb
EOT

# ------------------------------------------------------ what is not run, and why

not_run "what the program prints: others test it" <<'EOT'
pardd: complete, flushed, without 10.2 GB that 2 file systems call free
pardd: note: the range on the target, /dev/sdb, begins 512 bytes into partition 1 and ends 1024 bytes before the end of partition 1
pardd: note: partition 5 of /dev/sda ends beyond the copy; count=18432 copies all
pardd: note: this overwrites gpt, ext4 "root" on /dev/sdb
overwrites=ext4 "root" at byte 1049656
pardd: /dev/sda: unreadable: bytes 819200 to 820735, blocks 1600 to 1602 of 512 bytes, zeros in the copy
pardd: all these bytes are free space
pardd: differs: bytes 819200 to 819711 of /dev/sda, 819200 to 819711 of /dev/sdb
writes: 1000, 25759/s, 13 MB/s; ms: min 0.0855, median 0.678, 90 % 0.946, 99 % 1.226, 99.9 % 1.246, max 1.246
sda to sdb: 1.2 of 4.0 GB, 29 %, 512 MB/s, 0:02, 0:05 left, copying
sda to sdb: 1.2 of 4.0 GB, 29 %, 0:15, no answer from sda for 13 s, copying
Overwrite /dev/sdb, Samsung SSD 870, 2.0 TB, serial S5Y1? yes/no:
pardd: no digest: not all was copied
MD5 (name) = hex
hex\ \ name
pardd: complete, flushed, verified
error: ...
pardd: complete
pardd: complete, flushed
pardd: NOT complete: 3 unreadable blocks in 2 ranges
complete, flushed
complete, not flushed
complete, nothing to flush
complete, flushed, verified
complete, nothing differs
NOT complete
not flushed
EOT
not_run "words and names, no commands" <<'EOT'
"[ "
" ]"
/bin/sh -c
kill -9
man pardd-rescue
man man/pardd.8
it "takes thr=16" exits 0 ...
echo 'copies any bytes of a file' >one; CASES=one VARIANTS=plain tests/run copy.t
EOT
not_run "what others print or do, in words: clone.t, used.t and claim.t have these" <<'EOT'
bmaptool --no-checksum
losetup -r
partx -u
EOT
not_run "an operand of ddrescue, and what a report says: tests/bench/shapes and volumes.t have these" <<'EOT'
-d -c 1024
vg0/root: /home/a
EOT
not_run "one looks into a rescue while it runs: view.t does this" <<'EOT'
pardd if=/dev/sda of=sda.img map=sda.map view=/mnt/sda
losetup -r -P -f --show /mnt/sda
blockdev --setra 0 /dev/loop0
mount -o ro,norecovery /dev/loop0p2 /mnt/files
fls -o 2048 /mnt/sda
pardd if=/dev/sda of=sda.img map=sda.map view=/mnt/sda rescue=ondemand
umount /mnt/files && losetup -d /dev/loop0 && umount /mnt/sda
EOT
not_run "a word of the shell, which all are run with here" <<'EOT'
set -o pipefail
EOT
not_run "a kernel may be built without partitions of its own" <<'EOT'
mount -o ro /dev/loop0p2 /mnt
EOT
not_run "part of the way that others were tried, in words, or a figure's command: make bench runs these" <<'EOT'
hdparm -t
dd oflag=dsync
dd bs=4M
-t N
mount -o loop,commit=300
partclone.extfs -c -s crash.img -o pc.img
partclone.extfs -C -W -r -s pc.img -O copy.img
e2image -ra crash.img copy.img
pardd if=crash.img of=copy.img used=only
pardd used=only
partclone.xfs -c
partclone.xfs -C -W -r
-d dup -m dup
partclone.btrfs -c
-C -W -r
btrfs scrub
partclone.ntfs -c
ntfsfix -n
bmaptool copy --bmap e.bmap e /dev/loop0
partclone.extfs -b
partclone.extfs -c | partclone.extfs -r
ddrescue -f
dd conv=sparse
ddpt oflag=sparse
pardd if=SRC of=DST
pardd if=SRC of=DST thr=16
qemu-img convert -n -f raw -O raw -t none -T none -W -m 16 SRC DST
dd if=SRC of=DST bs=1M iflag=nocache oflag=nocache
nbdcopy --flush SRC DST
sgp_dd if=SRC of=DST bs=512 bpt=2048 iflag=direct oflag=direct
mbuffer -q -f -m 64M -s 1M -i SRC -o DST
cp SRC DST
ddrescue -q -f SRC DST
dd if=SRC of=DST bs=1M
dd if=SRC of=DST bs=4M iflag=direct oflag=direct
sgp_dd if=SRC of=DST bs=512
ddpt if=SRC of=DST bs=512 bpt=2048 iflag=direct oflag=direct
dd if=SRC of=DST bs=1M iflag=direct oflag=direct
dd bs=1M
rsync -W --inplace
cpio -p
pardd conv=sparse
cp --sparse=always
pardd thr=16
ddrescue -d
EOT
# ours LINE: a comment, or a command to build or to try the program: build.t has
# these, or they have files like this one run
ours()
{
	[[ $1 = '#'* || $1 =~ ^(LONG=1 |SEED=N |VARIANTS=[a-z]* )*(make|git|\./configure|tests/[a-z/]*)( |$) ]]
}
all_have()
{
	local line without=
	while read -r line; do
		[[ -n ${row[$line]-} ]] || ours "$line" || without+=$line$'\n'
	done < <(shown)
	[[ -z $without ]] || fail "$without"
}
it "has a row for all else that is shown" all_have

# --------------------------------------------------------- the steps of a rescue

# Without a SCSI disk, and nothing that could be switched off and on.
step()
{
	local line
	case $1 in
	pardd\ if=*wait=*)
		at_hand "$1" && exits 101 bash -c "${line/ iflag=sgio}" && one_line 'has no serial number' ;;
	pardd\ if=*)
		ends_well "${1/ iflag=sgio}" ;;
	losetup*)
		cp "$made/sda.img" work.img && run bash -c "$1" && undo losetup -d "$(<out)" && [[ -b $(<out) ]] ;;
	modprobe*)	# it may not be there
		[[ $1 = 'modprobe drivetemp' ]] ;;
	smartctl*)	# nor a disk that can
		at_hand "$1" && run bash -c "$line" && ! grep 'INVALID\|UNRECOGNIZED' out ;;
	*)
		as_shown "$1" ;;
	esac
}
while read -r line; do
	if [[ $line = */dev/sd* && -z $loops ]]; then
		skip "no loop devices" "takes the step: $line"
	elif ! command -v "${line%% *}" >/dev/null; then
		skip "no ${line%% *}" "takes the step: $line"
	else
		it "takes the step: $line" step "$line"
	fi
done < <(steps)

# ---------------------------------------------------------------- other tools

# What is said of them; not two lines that would touch all of the machine.
seen()
{
	ln -s "$BUILD" build && bash <(see | grep -v 'sdtypo\|drop_caches') >out 2>err
	[[ $(grep -v '^$' out | tr '\n' ' ') = "0 1000 o 0 1024 o2 0 0 65536 0 2097152 0 512 0 512 100 512 0 0 101 "* ]] ||
	    { cat out err; return 1; }
}
if [[ -n $LONG ]] && ((${loops:-0})) && command -v sgp_dd ddpt ddrescue strace >/dev/null; then
	it "shows what others do" seen
fi
