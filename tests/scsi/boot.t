#!/usr/bin/env bash
# lab: none
# shellcheck disable=SC1091,SC2016,SC2154,SC2317
# A clone boots: the firmware (OVMF), or a boot loader, finds a kernel in the EFI system
# partition, and that the root by its PARTUUID; or GRUB finds the root of a Debian system, and
# that comes up.  Minutes each, so only with LONG=1.  OVMF is the directory of it.
. "$(dirname "$0")/../lib.sh"
ovmf=${OVMF:-/usr/share/OVMF} cache=${BUILD:-$top/build}/scsi-lab
loader=/usr/lib/systemd/boot/efi/systemd-bootx64.efi
needs '[[ -n $LONG ]]' -- "not a long run"
needs 'can_loop && command -v qemu-system-x86_64 mkfs.fat mcopy mke2fs sfdisk cpio' \
    '[[ -r $ovmf/OVMF_CODE_4M.fd && -r $ovmf/OVMF_VARS_4M.fd ]]' '"$top/tests/scsi/lab" -n' -- \
    "no loop devices, or no QEMU, firmware (ovmf), kernel, dosfstools, mtools, sfdisk, cpio"

# What the kernel starts: it says what it finds
starts()
{
	cat <<-'END'
	#!/bin/bash
	export PATH=/usr/bin
	mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
	modprobe -a virtio_pci virtio_scsi sd_mod ext4
	read -r words </proc/cmdline
	want=${words#*root=PARTUUID=} want=${want%% *}
	for i in {1..50}; do [[ ! -b /dev/sda2 ]] || break; sleep .2; done
	uuid=$(sfdisk --part-uuid /dev/sda 2)
	[[ ${uuid,,} = "$want" ]] && mount -t ext4 -o ro /dev/sda2 /mnt && cd /mnt && sha256sum -c sums && sfdisk -V /dev/sda &&
	    echo "found on sectors of $(cat /sys/block/sda/queue/logical_block_size)"
	echo o >/proc/sysrq-trigger
	sleep 99
	END
}
# starter: what the firmware starts goes to the file esp
starter()
{
	local words="root=PARTUUID=${uuid,,} console=ttyS0 nokaslr mitigations=off"
	if [[ $1 = kernel ]]; then
		printf '%s\n' "\\vmlinuz initrd=\\initrd $words" >startup.nsh && mcopy -i esp startup.nsh ::
		return
	fi
	printf '%s\n' 'title it' 'linux /vmlinuz' 'initrd /initrd' "options $words" >it.conf &&
	    mmd -i esp ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries && mcopy -i esp "$loader" ::/EFI/BOOT/BOOTX64.EFI &&
	    mcopy -i esp it.conf ::/loader/entries/
}
# system FILE SECTOR STARTER: the disk of one, whose file systems are for such sectors
system()
{
	local deb base uuid
	deb=$(echo "$cache"/linux-image-*.deb) base=$(echo "$cache"/base-*.cpio)
	mkdir deb init root && dpkg-deb -x "$deb" deb && starts >init/init && chmod 755 init/init &&
	    { cat "$base" && (cd init && echo init | cpio -o -H newc -R 0:0 --quiet); } | gzip -1 >initrd &&
	    head -c 20M /dev/urandom >root/noise && (cd root && sha256sum noise >sums) || return
	truncate -s 300M "$1" && printf '%s\n' 'label: gpt' 'start=2048, size=100MiB, type=uefi' \
	    'size=150MiB, type=linux, attrs="GUID:59"' | sfdisk -q "$1" && uuid=$(sfdisk --part-uuid "$1" 2) || return
	cp deb/boot/vmlinuz-* vmlinuz && truncate -s 100M esp && mkfs.fat -F 16 -S "$2" esp >/dev/null &&
	    mcopy -i esp vmlinuz initrd :: && starter "$3" && dd status=none if=esp of="$1" bs=1M seek=1 conv=notrunc &&
	    mke2fs -q -t ext4 -b 4096 -F -d root -E offset=$((101 << 20)) "$1" 38400
}
# boots FILE SECTOR [SECONDS]: its clock counts its instructions, so none of its time limits ends
# because this machine is busy
boots()
{
	cp "$ovmf/OVMF_VARS_4M.fd" vars && timeout "${3:-900}" qemu-system-x86_64 -machine q35 -accel tcg -icount shift=2 -m 1024 \
	    -cpu max,erms=off,fsrm=off,la57=off,smap=off,smep=off,umip=off,pku=off,mpx=off -nodefaults -display none -no-reboot \
	    -drive "if=pflash,format=raw,readonly=on,file=$ovmf/OVMF_CODE_4M.fd" -drive if=pflash,format=raw,file=vars \
	    -device virtio-scsi-pci -drive "file=$1,format=raw,if=none,id=d" -serial file:serial \
	    -device "scsi-hd,drive=d,logical_block_size=$2,physical_block_size=$2"
	grep -qa "found on sectors of $2" serial || fail "$(tail -n 30 serial | tr -cd '[:print:]\n')"
}
# cloned SECTOR BYTES STARTER
cloned()
{
	system a "$1" "$3" && truncate -s "$2" b && loop b -b "$1" && exits 0 "$pardd" if=a of="$dev" table=fix verify=1 && complete &&
	    losetup -d "$dev" && boots b "$1"
}
# packed: a Debian system as mmdebstrap makes it from the packages that apt has here; what it
# says stays in debian.log
packed()
{
	local from=(/etc/apt/sources.list.d/*.{list,sources} /etc/apt/sources.list) is=() file
	[[ ! -s $cache/debian.tar ]] || return 0
	exec >"$cache/debian.log" 2>&1
	for file in "${from[@]}"; do
		[[ ! -s $file ]] || is+=("$file")
	done
	mmdebstrap -q --variant=minbase --dpkgopt='path-exclude=/usr/share/*/man*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	    --include=linux-image-cloud-amd64,systemd-sysv,udev,grub-efi-amd64-bin,initramfs-tools,e2fsprogs \
	    "$(. /etc/os-release && echo "$VERSION_CODENAME")" new.tar "${is[@]}" && mv new.tar "$cache/debian.tar"
}
# Once there is a prompt it looks at its files, and switches itself off.  What it says goes to the
# console by the kernel: getty takes the terminal from all who have it open.
at_login()
{
	cat <<-'END'
	[Unit]
	After=serial-getty@ttyS0.service
	RequiresMountsFor=/boot/efi
	[Service]
	Type=oneshot
	ExecStart=sh -c 'exec >/dev/kmsg 2>&1; cd /; sha256sum --quiet -c sums && ls boot/efi/EFI/BOOT/* && systemctl is-active \
	    serial-getty@ttyS0 && echo "found on sectors of $$(cat /sys/block/sda/queue/logical_block_size)"; poweroff -ff'
	[Install]
	WantedBy=multi-user.target
	END
}
# debian FILE: a disk of it with sectors of 512 bytes, whose FAT can be on larger ones
debian()
{
	local uuid
	uuid=$(</proc/sys/kernel/random/uuid)
	mkdir root && tar xf "$cache/debian.tar" --numeric-owner -C root && mkdir -p root/boot/{efi,grub} &&
	    printf '%s\n' "UUID=$uuid / ext4 defaults 0 1" \
	    'PARTLABEL=esp /boot/efi vfat defaults 0 1' >root/etc/fstab &&
	    at_login >root/etc/systemd/system/seen.service && mkdir -p root/etc/systemd/system/multi-user.target.wants &&
	    ln -s ../seen.service root/etc/systemd/system/multi-user.target.wants/ && ln -s /dev/null root/etc/systemd/system/e2scrub_reap.service &&
	    (cd root && find usr -type f -size +200k | sort | xargs -d '\n' sha256sum >sums) &&
	    printf '%s\n' \
	    "linux /vmlinuz root=UUID=$uuid ro console=ttyS0 mitigations=off printk.devkmsg=on" \
	    'initrd /initrd.img' boot >root/boot/grub/grub.cfg &&
	    printf '%s\n' "search.fs_uuid $uuid root" 'set prefix=($root)/boot/grub' 'configfile $prefix/grub.cfg' >root/first.cfg &&
	    chroot root grub-mkimage -O x86_64-efi -p /boot/grub -c first.cfg -o BOOTX64.EFI part_gpt ext2 linux normal search_fs_uuid configfile &&
	    truncate -s 1200M "$1" && printf '%s\n' 'label: gpt' 'start=2048, size=100MiB, type=uefi, name=esp' 'size=1000MiB, type=linux' |
	    sfdisk -q "$1" && truncate -s 100M esp && mkfs.fat -F 16 -S 4096 esp >/dev/null && mmd -i esp ::/EFI ::/EFI/BOOT &&
	    mcopy -i esp root/BOOTX64.EFI ::/EFI/BOOT && dd status=none if=esp of="$1" bs=1M seek=1 conv=notrunc &&
	    mke2fs -q -t ext4 -b 4096 -F -U "$uuid" -d root -E offset=$((101 << 20)) "$1" 256000 && rm -r root
}
comes_up()
{
	debian a && truncate -s 2G b && loop b -b 4096 && exits 0 "$pardd" if=a of="$dev" table=fix verify=1 && complete &&
	    says ', table moved$' && losetup -d "$dev" && boots b 4096 1800 && grep -qa 'login: ' serial
}
it "boots from a larger disk" cloned 512 350M kernel
it "boots from a larger disk with sectors of 4096 bytes" cloned 4096 400M kernel
if [[ -r $loader ]]; then
	it "... by systemd-boot" cloned 4096 400M loader
else
	skip "no systemd-boot-efi" "... by systemd-boot"
fi
sentence="comes up as a Debian system, by GRUB, on a larger disk with sectors of 4096 bytes"
if [[ -n ${CASES-} && -z ${wanted[$sentence]-} ]] || (cd "$scratch" && packed); then
	it "$sentence" comes_up
else
	skip "no Debian system: $(tail -n 1 "$cache/debian.log")" "$sentence"
fi
