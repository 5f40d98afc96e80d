#!/usr/bin/env bash
# The map file: what is accepted as one and what is not, and where it may be.  What its
# lines mean is tested in unit/mapfile_test.c.
# shellcheck disable=SC1091,SC2016,SC2059,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
only plain asan		# one thread reads a map

size=1048576

stuff()
{
	"$blocks" make src $size && "$blocks" make dst $size 9 && cp dst old
}
copy()
{
	exits 0 "$pardd" if=src of=dst map="$1" "${@:2}" && complete
}
# takes MAP BYTES: the map is accepted, and what it does not call finished is copied: all
# but the first bytes
takes()
{
	stuff && printf "$1" >map && cp src dst && truncate -s "$2" dst && tail -c "+$(($2 + 1))" old >>dst &&
	    exits 0 with_faults "on=$PWD/dst op=write at=$(($2 == 0 ? size : 0))+$2 fail=EIO" \
	    "$pardd" if=src of=dst map=map && complete && same src dst
}
# same_but BYTES: the target is like the source behind so many bytes of its own
same_but()
{
	cmp -n "$1" dst old && cmp -i "$1" dst src
}
first='0 ? 1\n0 4096 +\n'
it "takes a map in decimal" takes "$first" 4096
it "takes a map that is empty" takes '' 0
it "takes a map that begins later" takes '0 ? 1\n4096 0 +\n' 0
it "takes pieces of blocks" takes '0 ? 1\n0 100 +\n100 3996 +\n4096 100 ?\n' 4096
refuses_itself()
{
	stuff && cp src map && refused 'map is not a map: line 1 ' if=src of=dst map=map &&
	    same map src && same dst old
}
it "refuses a file of other things" refuses_itself

# ----------------------------------------------------- what it says of itself

# A comment may hold anything; none of it reaches the terminal.
hostile()
{
	stuff && printf '# pardd source: \033[2J\007\r\n0 ? 1\n0 512 +\n' >map &&
	    cp map before && refused 'another source: .x1B\[2J.x07' if=src of=dst map=map &&
	    same map before && same dst old && ! grep -q $'[\033\007\r]' err
}
it "escapes what a map says it is of" hostile
hostile_name()
{
	local name=$'a\n\033[31m\rb'
	"$blocks" make "$name" $size && exits 0 "$pardd" if="$name" of=dst map=map && complete &&
	    same "$name" dst && ! grep -q $'[\033\r]' map &&
	    exits 0 "$pardd" if="$name" of=dst map=map && cp map "$name.map" && printf 'x\n' >"$name.map" &&
	    refused . if="$name" of=dst map="$name.map" && ! grep -q $'[\033\r]' err
}
it "is not misled by the names of the ends" hostile_name
crlf()
{
	stuff && copy map && sed -i 's/$/\r/' map && copy map && ! grep -q $'\r' map
}
it "knows its own map after a passage through CR LF" crlf
given 'command -v ddrescuelog' "no ddrescuelog" \
    it "writes what ddrescuelog reads" eval 'stuff && copy map && ddrescuelog -t map >said && ddrescuelog -D map'
layout()
{
	stuff && copy map && diff - <(sed '1,/Finished/d' map) <<-END
	# current_pos  current_status  current_pass
	0x00000000     +               1
	#      pos        size  status
	0x00000000  0x00100000  +
	END
}
it "writes ddrescue's layout" layout
private()
{
	umask 0
	stuff && copy map && copy map && [[ $(stat -c %a map) = 600 && $(stat -c %a map.bak) = 600 ]]
}
it "lets only its owner read it" private
it "is not disturbed by what a killed run left, and follows no link" eval \
    'stuff && echo torn >map.pardd.tmp && ln -s nowhere map.bak && copy map && [[ ! -e map.pardd.tmp ]] && copy map &&
    [[ ! -L map.bak && ! -e nowhere ]] && ln -sf src map.pardd.tmp && copy map && "$blocks" check src 0 0 $size'
it "leaves a file alone that is called .tmp" eval \
    'stuff && echo mine >map.tmp && copy map && copy map && [[ $(<map.tmp) = mine ]]'
bak_folder()
{
	stuff && mkdir "map.$1" && refused "map\.$1 is a directory" if=src of=dst map=map &&
	    same dst old && [[ ! -e map ]] && refused "map\.$1 is a directory" if=src of=dst map=map -d &&
	    printf "$first" >map && cp map before &&
	    refused "map\.$1 is a directory" if=src of=dst map=map && same dst old &&
	    same map before && rmdir "map.$1" && [[ $(echo map*) = map ]]
}
it "stops before the first byte when .bak is a directory" bak_folder bak
it "... and when .pardd.tmp is one" bak_folder pardd.tmp

# ------------------------------------------------------------- what is no place

# Nothing is written, neither target nor map.
unusable()
{
	local want=$1 why=$2
	shift 2
	exits "$want" "$@" "$pardd" if=src of=dst map=map && one_line "$why" && same dst old
}
linked()
{
	stuff && printf "$first" >real && cp real before && ln -s real map &&
	    unusable 90 'map is a symbolic link' && same real before && [[ -L map ]] &&
	    rm real && unusable 90 'map is a symbolic link' && [[ ! -e real ]] &&
	    exits 90 "$pardd" if=src of=dst map=new domain=map && one_line 'map is a symbolic link' &&
	    same dst old && [[ ! -e new ]]
}
it "refuses a symbolic link" linked
folder()
{
	stuff && mkdir map && unusable 101 'not a regular file'
}
it "refuses a directory" folder
fifo()
{
	stuff && mkfifo map && unusable 101 'not a regular file' && [[ -p map ]]
}
it "refuses a FIFO, and does not wait for it" fifo
socket()
{
	stuff && socat -u UNIX-LISTEN:map,unlink-close=0 - </dev/null &
	undo kill $!
	until_true 10 test -S map && until_true 10 test -e old && unusable 101 'not a regular file'
}
given 'command -v socat' "no socat" it "refuses a socket" socket
it "refuses a device" eval \
    'stuff && exits 101 "$pardd" if=src of=dst map=/dev/null && same dst old && [[ -c /dev/null ]]'
nowhere()
{
	stuff && exits 52 "$pardd" if=src of=dst map=no/map && one_line 'no/map' && same dst old
}
it "refuses a directory that is missing" nowhere
a_folder()
{
	stuff && mkdir dir && refused 'dir/ is not a regular file' if=src of=dst map=dir/ &&
	    refused 'dir/ is not a regular file' if=src of=dst map=dir/ -d && same dst old
}
it "refuses a directory for a map" a_folder
long()
{
	local name
	stuff && name=$(printf '%0252d' 0) && exits 86 "$pardd" if=src of=dst map="$name" &&
	    same dst old && exits 86 "$pardd" if=src of=dst map="$(printf '%05000d' 0)" &&
	    same dst old && exits 86 "$pardd" if=src of=dst map="$name" -d
}
it "refuses a name that leaves no room for .tmp" long
as_nobody()
{
	chmod 777 . && chmod 666 src dst
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
unreadable()
{
	stuff && printf "$first" >map && chmod 0 map && as_nobody true || return
	unusable 63 map as_nobody && [[ ! -e map.pardd.tmp ]]
}
read_only()
{
	stuff && mkdir sub && chmod 755 sub &&
	    exits 63 as_nobody "$pardd" if=src of=dst map=sub/map && one_line 'sub/map' && same dst old
}
# The program must be where every user may start it.
can_be_another()
{
	((EUID == 0)) && cd "$scratch" && chmod 711 . && setpriv --reuid=65534 --regid=65534 --clear-groups "$pardd" -V
}
if able '(can_be_another)' "not root, or no setpriv"; then
	it "stops before the first byte when the map cannot be read" unreadable
	it "stops before the first byte when its directory cannot be written" read_only
fi
# No room is left, nor a previous map to make some of.
filled()
{
	rm -f small/map.bak && ! head -c 1M /dev/zero >>small/rest 2>/dev/null && [[ ! -e small/map.bak && ! -e small/map.pardd.tmp ]]
}
full()
{
	stuff && mkdir small && mount -t tmpfs -o size=64k none small && undo umount -l "$PWD/small" || return
	printf "$first" >small/map
	cp small/map before
	head -c 1M /dev/zero >small/rest 2>/dev/null
	exits 78 "$pardd" if=src of=dst map=small/map && one_line 'small/map' &&
	    same dst old && same small/map before && [[ ! -e small/map.pardd.tmp ]] || return
	# and half way: what was saved stays, and the status says so
	rm small/rest small/map && stuff || return
	FAULTS="on=$PWD/src op=read at=524288+ until=$PWD/go" LD_PRELOAD=$shim "$pardd" if=src of=dst \
	    map=small/map mapinterval=1 bs=512 bpt=64 thr=1 2>err &
	until_true 20 grep -q ' +$' small/map && until_true 20 filled && touch go || return
	exited 78 && says 'small/map' && does_not_say '^pardd: complete' &&
	    [[ -s small/map && ! -e small/map.pardd.tmp ]]
}
# Maps of 28 KiB in 64 KiB: there is room for two, not for three.
room_for_two()
{
	local i
	stuff && mkdir two && mount -t tmpfs -o size=64k none two && undo umount -l "$PWD/two" || return
	{
		echo "0 - 1"
		for ((i = 0; i < size / 2; i += 1024)); do
			printf '0x%08X  0x00000200  -\n0x%08X  0x00000200  ?\n' $i $((i + 512))
		done
	} >two/map
	cp two/map before && cp two/map two/map.bak && ! cp two/map two/third 2>/dev/null && rm two/third || return
	exits 100 "$pardd" if=src of=dst map=two/map bs=512 &&
	    same two/map.bak before && [[ ! -e two/map.pardd.tmp ]] &&
	    [[ $(grep -c ' -$' two/map) = 512 && $(grep -c ' [?]$' two/map) = 0 ]]
}
read_only_fs()
{
	stuff && mkdir ro && mount -t tmpfs none ro && undo umount -l "$PWD/ro" &&
	    printf "$first" >ro/map && mount -o remount,ro ro &&
	    exits 80 "$pardd" if=src of=dst map=ro/map && one_line 'ro/map' && same dst old
}
can_mount()
{
	((EUID == 0)) && mkdir -p "$scratch/probe" && mount -t tmpfs none "$scratch/probe" && umount "$scratch/probe"
}
if able can_mount "cannot mount"; then
	it "stops when the map's file system is full, before the first byte or later" full
	it "needs room for two maps, not for three" room_for_two
	it "stops before the first byte on a read-only file system" read_only_fs
fi
