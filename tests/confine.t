#!/usr/bin/env bash
# What the process may still do while it copies, because an end may try to attack it.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs '[[ $VARIANT = plain ]]' -- 'a program under a sanitizer is not confined'

"$blocks" make "$scratch/small" 1M 1
"$blocks" make "$scratch/large" 17M 2
echo secret >"$scratch/shadow"
export SHADOW=$scratch/shadow

# holds: what the plan of a large copy says
holds()
{
	"$pardd" if="$scratch/large" of=large.new -dv | sed -n 's/^confined=//p'
}
has=$(cd "$scratch" && holds)

# hijacked OPERANDS...: a worker of this copy tries all; what it says is in err
hijacked()
{
	LD_PRELOAD=$tools/hijack.so exits 0 "$pardd" engine=threads "$@" && says '^hijack: exec'
}
# kept_from WHAT...: this has not been done
kept_from()
{
	local what
	for what; do
		says "^hijack: $what (Permission denied|Operation not permitted)$" || return
	done
}

tells()
{
	[[ $has = no_new_privs,\ capabilities* ]] &&
	    exits 0 "$pardd" if="$scratch/large" of=dst json=lines verbose=1 && says "^confined=$has$" &&
	    grep '"event":"result"' lines | grep -qF '"confined":["'"${has//, /'","'}"'"]'
}
it "says what holds in the plan, with verbose=1 and to programs" tells
# The command of ongone= may do anything.
unconfined()
{
	exits 0 "$pardd" -dv if='[ nbdkit -s null 1M ]' of=dst map=m wait=5 ongone=true && grep -qx 'confined=no' out
}
given can_nbd "no NBD" it "says no where nothing does" unconfined

# Where the stack of another's process lies, root is told, and zeros whoever has not all of
# its rights.
shown()
{
	local pid is
	setpriv --reuid 65534 --clear-groups sleep 1000 &
	pid=$!
	undo kill "$pid"
	until_true 10 eval '[[ $(<"/proc/$pid/stat") = "$pid (sleep) S "* ]]'
	is=$(<"/proc/$pid/stat")
	exits 0 "$pardd" if="/proc/$pid/stat" of=dst && complete && [[ $(<dst) = "$is" ]] &&
	    exits 0 "$pardd" if="/proc/$pid/stat" of=dst -dv && grep -qx confined=no_new_privs out
}
given '((EUID == 0)) && setpriv --reuid 65534 --clear-groups true' "no setpriv, or not root" \
    it "sees in a file that the kernel makes up what its user would see" shown

needs '[[ $has = *landlock* ]]' -- 'this kernel has no Landlock'
files()
{
	mkdir in away
	MAKE=away/evil hijacked if="$scratch/$1" of=in/dst && kept_from shadow exec make &&
	    [[ ! -e away/evil ]] && cmp "$scratch/$1" in/dst && does_not_say 'hijack: .* done'
}
it "opens no other file, makes none elsewhere, and runs no program" files large
small()
{
	mkdir in away
	MAKE=away/evil hijacked if="$scratch/small" of=in/dst && kept_from shadow exec make &&
	    [[ ! -e away/evil ]] && cmp "$scratch/small" in/dst
}
it "... nor does a small copy" small
it "lets a file be made where one is" eval 'MAKE=in hijacked if="$scratch/large" of=dst &&
    says "^hijack: make done" && kept_from shadow'
it "makes no file beside a target that is there" eval \
    'mkdir at && "$blocks" make at/dst 17M 3 && MAKE=at/evil hijacked if="$scratch/large" of=at/dst &&
    kept_from shadow make && cmp "$scratch/large" at/dst'
it "holds for a source that is given as standard input" eval 'hijacked of=dst <"$scratch/large" &&
    kept_from shadow exec && cmp "$scratch/large" dst'
it "holds with digests, a map and a report" eval 'mkdir at &&
    hijacked if="$scratch/large" of=dst map=at/m report=at/r.html profile=at/p.csv &&
    kept_from shadow exec && cmp "$scratch/large" dst && grep -q "^0x00000000  0x01100000  +" at/m &&
    [[ -s at/r.html && -s at/p.csv ]]'
# The file that says so has been read before.
local_time()
{
	local at
	mkdir at && export TZ=Pacific/Kiritimati && exits 0 "$pardd" if="$scratch/large" of=dst map=at/m &&
	    at=$(sed -n 's/^# Current time: //p' at/m) && at=$(($(date +%s) - $(date -d "$at" +%s))) || return
	((at > -600 && at < 600)) || fail "$at seconds off"
}
given '[[ -e /usr/share/zoneinfo/Pacific/Kiritimati ]]' "no tzdata" it "knows the time of day where it is" local_time

needs '[[ $has = *seccomp* ]]' -- 'this kernel has no filters of system calls'
it "makes no connection" eval 'hijacked if="$scratch/large" of=dst && kept_from connect socket'
# what the kernel says of a copy: status FIELD VALUE
status_of()
{
	grep -q "^$1:[[:space:]]*$2\$" "/proc/$pid/status"
}
rights()
{
	"$pardd" if="$scratch/large" of=dst rate=1M 2>err &
	pid=$!
	until_true 10 test -s dst && status_of NoNewPrivs 1 && status_of Seccomp 2 &&
	    { ! ((0x$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status") & ~0x1004002)) || fail 'capabilities left'; }
	local is=$?
	kill $pid
	wait
	return $is
}
it "keeps no right but those that a copy of files may need" rights
