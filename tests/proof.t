#!/usr/bin/env bash
# What measures the tests: coverage and mutants, and the lists that these use.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
[[ $VARIANT = plain ]] || exit 0		# once is enough

excepted()
{
	local file text why rows=0
	while IFS=$'\t' read -r file text why; do
		[[ $file != '#'* ]] || continue
		rows=$((rows + 1))
		[[ -n $why ]] || fail "no reason: $file $text" || return
		[[ $file != '*' ]] || file=$(cd "$top" && echo src/*/*.c)
		# shellcheck disable=SC2086
		(cd "$top" && grep -qF -e "$text" $file) || fail "not in $file: $text" || return
	done <"$top/tests/coverage/exceptions"
	((rows > 0))
}
it "has a reason for each line that is never run, and the line" excepted

# The row of a file is the first whose beginning fits.
subjects()
{
	local file prefix list test
	while IFS=$'\t' read -r prefix list; do
		[[ $prefix != '#'* ]] || continue
		compgen -G "$top/$prefix*" >/dev/null || fail "no file is $prefix..." || return
		for test in $list; do
			[[ -e $top/tests/$test || -e $top/tests/unit/$test.c ]] || fail "no test $test" || return
		done
	done <"$top/tests/mutants/subjects"
}
it "knows tests of sources that are there" subjects

equal()
{
	local file name was is why rows=0
	while IFS=$'\t' read -r file name was is why; do
		[[ $file != '#'* ]] || continue
		rows=$((rows + 1))
		[[ -n $why ]] || fail "no reason: $file $was" || return
		awk -f "$top/tests/mutants/mutate.awk" "$top/$file" | cut -f 4- | sed 's/^\([a-z_0-9]*\) [0-9]*/\1/' |
		    grep -qxF "$name	$was	$is" || fail "not in $file: $was" || return
	done <"$top/tests/mutants/equal"
	((rows > 0))
}
it "has a reason for each fault that is none, and the line" equal

faults()
{
	tr '~' '\t' >a.c <<-'END'
	/* a < b */
	int n = 1 + 1;
	int
	f(int a)
	{
	~/* is a < b ?
	~   a < b */
	~if (a < '<' && g(" < "))~/* a < b */
	~~return -1;
	~g(a);
	~g(a);
	~free(a);
	~h(a);
	~return fault_set(f, 1, "%s",
	~    "a");
	~return fault_set(f, 1, ")");
	}
	END
	awk -f "$top/tests/mutants/mutate.awk" a.c | cut -f 2-4,6 | tr '\t' : >made
	diff made - <<-'END'
	8:off by one:f:if (a <= '<' && g(" < ")) /* a < b */
	8:comparison:f:if (a >= '<' && g(" < ")) /* a < b */
	8:logic:f:if (a < '<' || g(" < ")) /* a < b */
	9:dropped error:f:return 0;
	10:removed call:f:;
	11:removed call:f 2:;
	13:removed call:f:;
	16:dropped error:f:return 0;
	END
}
it "makes faults of code, and none of comments, strings and declarations" faults
