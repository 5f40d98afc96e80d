/*
 * The map file: what is one, what it means, and that what is written is read
 * again.  If ddrescuelog is installed, it is the reference: it accepts what we
 * accept, and writes what we write.  LONG=1 in the environment: many more.
 */
#include "test.h"

#include "map/mapfile.h"
#define POOR_OF_ALL
#include "poor.h"

enum { TEXT = 1 << 16, MOST = 40, MAPS = 1000, MANY = 100000 };

static char dir[64];
static char in_path[80], out_path[80];

static unsigned
maps(void)
{
	const char *asked = getenv("LONG");

	return asked != NULL && *asked != '\0' ? MANY : MAPS;
}

static void
put(const char *path, const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* A map without comments and without what is not tried at the end. */
struct essence {
	char	*text;
	size_t	 n, keep, lines;
};

static void
take_line(struct essence *e, const char *line)
{
	size_t len = strlen(line);

	if (line[0] == '#')
		return;
	memcpy(e->text + e->n, line, len);
	e->n += len;
	if (e->lines++ == 0 || strchr(line, '?') == NULL)
		e->keep = e->n;
}

static void
essence(const char *path, char *text)
{
	struct essence e = { .text = text };
	FILE *in = fopen(path, "r");
	char line[256];

	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL)
		take_line(&e, line);
	text[e.keep] = '\0';
	fclose(in);
}

/* Sorted, adjoining, no two neighbours alike, none empty. */
static void
sound(const struct mapfile *m)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		assert_true(m->seg[i].len > 0);
		assert_true(m->seg[i].off <= INT64_MAX - m->seg[i].len);
		assert_non_null(strchr("?*/-+", (int)m->seg[i].status));
		if (i == 0)
			continue;
		assert_int_equal(m->seg[i].off, m->seg[i - 1].off +
		    m->seg[i - 1].len);
		assert_int_not_equal(m->seg[i].status,
		    m->seg[i - 1].status);
	}
}

struct vector {
	const char *name, *text;
	size_t	 len;		/* 0: strlen */
	unsigned line;		/* where it is no map, or 0 */
	const char *means;
};

#define H	"0 ? 1\n"
#define S	"0x00000000     ?               1\n"
#define PLUS	"0x00000000  0x00001000  +\n"
#define BIN(s)	s, sizeof(s) - 1

static const struct vector vectors[] = {
	{ "decimal", H "0 4096 +\n4096 4096 ?\n", 0, 0, S PLUS },
	{ "hexadecimal", "0X0 ? 1\n0x0 0X1aB +\n0x1Ab 0x55 -\n", 0, 0,
	    S "0x00000000  0x000001AB  +\n0x000001AB  0x00000055  -\n" },
	{ "octal", "0 ? 1\n0 010000 +\n", 0, 0, S PLUS },
	{ "all statuses", H "0 1 +\n1 1 -\n2 1 /\n3 1 *\n4 1 ?\n5 1 +\n", 0, 0,
	    S "0x00000000  0x00000001  +\n0x00000001  0x00000001  -\n"
	    "0x00000002  0x00000001  /\n0x00000003  0x00000001  *\n"
	    "0x00000004  0x00000001  ?\n0x00000005  0x00000001  +\n" },
	{ "no pass", "0x0 ?\n0 4096 +\n", 0, 0, S PLUS },
	{ "pass 99", "0 ? 99\n0 4096 +\n", 0, 0,
	    "0x00000000     ?               99\n" PLUS },
	{ "pass 0", "0 ? 0\n0 4096 +\n", 0, 1, NULL },
	{ "pass in hexadecimal", "0 ? 0x1\n0 4096 +\n", 0, 1, NULL },
	{ "negative pass", "0 ? -1\n0 4096 +\n", 0, 1, NULL },
	{ "unknown status", "0 X 1\n0 4096 +\n", 0, 1, NULL },
	{ "filling", "0 F 1\n0 4096 +\n", 0, 0,
	    "0x00000000     F               1\n" PLUS },
	{ "unknown block", H "0 4096 X\n", 0, 2, NULL },
	{ "block F", H "0 4096 F\n", 0, 2, NULL },
	{ "gap", H "0 4096 +\n8192 4096 ?\n", 0, 3, NULL },
	{ "overlap", H "0 4096 +\n2048 4096 ?\n", 0, 3, NULL },
	{ "unsorted", H "4096 4096 ?\n0 4096 +\n", 0, 3, NULL },
	{ "empty block", H "0 0 +\n", 0, 0, S },
	{ "empty block behind", H "0 4096 +\n4096 0 -\n4096 4096 ?\n", 0, 3,
	    NULL },
	{ "alike", H "0 2048 +\n2048 2048 +\n", 0, 0, S PLUS },
	{ "not from 0", H "4096 4096 +\n", 0, 0,
	    S "0x00001000  0x00001000  +\n" },
	{ "empty", "", 0, 0, S },
	{ "comments", "# a\n # b\n\t#c", 0, 0, S },
	{ "status line only", H, 0, 0, S },
	{ "no last newline", H "0 4096 +", 0, 0, S PLUS },
	{ "comment behind", H "0 4096 + # hello\n", 0, 0, S PLUS },
	{ "junk behind", H "0 4096 + hello\n", 0, 0, S PLUS },
	{ "junk glued", H "0 4096 +x\n", 0, 0, S PLUS },
	{ "blanks", H " \t 0 \t 4096\t+\n", 0, 0, S PLUS },
	{ "blank lines", H "\n\n0 4096 +\n \t\n", 0, 0, S PLUS },
	{ "CR LF", "0 ? 1\r\n0 4096 +\r\n\r\n", 0, 0, S PLUS },
	{ "negative place", H "-4096 4096 +\n", 0, 2, NULL },
	{ "negative size", H "0 -4096 +\n", 0, 2, NULL },
	{ "up to 2^63", H "0 0x7FFFFFFFFFFFFFFF +\n", 0, 0,
	    S "0x00000000  0x7FFFFFFFFFFFFFFF  +\n" },
	{ "over 2^63", H "0 0x8000000000000000 +\n", 0, 0,
	    S "0x00000000  0x7FFFFFFFFFFFFFFF  +\n" },
	{ "suffix", H "0 4k +\n", 0, 2, NULL },
	{ "two fields", H "0 4096\n", 0, 2, NULL },
	{ "one field", H "0\n", 0, 2, NULL },
	{ "place behind the end", "0xFFFFFF ? 1\n0 4096 +\n", 0, 0,
	    "0x00FFFFFF     ?               1\n" PLUS },
	{ "zero byte", BIN(H "0 4096 +\n\0004096 4096 ?\n"), 3, NULL },
	{ "zero bytes at the end", BIN(H "0 4096 +\n\0\0\0\0\0"), 3, NULL },
	{ "cut off", H "0 4096 +\n4096 40", 0, 3, NULL },
	{ "binary", BIN("\1\2\3\377\0\n"), 1, NULL },
	{ "byte order mark", "\357\273\277" H "0 4096 +\n", 0, 1, NULL },
	{ "parts of blocks", H "0 100 +\n100 412 -\n", 0, 0,
	    S "0x00000000  0x00000064  +\n0x00000064  0x0000019C  -\n" },
};

CASE(knows_a_map_from_what_is_none)
{
	static char text[TEXT];
	const struct vector *v;
	struct mapfile m;
	struct fault f;
	char want[32];

	for (v = vectors; v < vectors + COUNT(vectors); v++) {
		put(in_path, v->text, v->len > 0 ? v->len : strlen(v->text));
		if (v->line > 0) {
			assert_int_equal(mapfile_load(&m, in_path, false, &f), -1);
			assert_int_equal(f.status, STATUS_REFUSED);
			snprintf(want, sizeof(want), "line %u ", v->line);
			if (strstr(f.text, want) == NULL)
				fail_msg("%s: %s", v->name, f.text);
		} else {
			if (mapfile_load(&m, in_path, false, &f) != 0)
				fail_msg("%s: %s", v->name, f.text);
			sound(&m);
			assert_int_equal(mapfile_save(&m, out_path, "T", &f),
			    0);
			essence(out_path, text);
			if (strcmp(text, v->means) != 0)
				fail_msg("%s means %s", v->name, text);
		}
		mapfile_free(&m);
	}
}

CASE(takes_a_long_comment_and_no_long_number)
{
	static char text[1 << 20];
	struct mapfile m;
	struct fault f;

	memset(text, 'x', sizeof(text));
	text[0] = '#';
	memcpy(text + sizeof(text) - 16, "\n0 ? 1\n0 4096 +\n", 16);
	put(in_path, text, sizeof(text));
	assert_int_equal(mapfile_load(&m, in_path, false, &f), 0);
	assert_int_equal(m.n, 1);
	mapfile_free(&m);
	memset(text, '0', sizeof(text));
	memcpy(text, H "0 ", 8);
	memcpy(text + 5000, "4096 +\n", 7);
	put(in_path, text, 5007);
	assert_int_equal(mapfile_load(&m, in_path, false, &f), -1);
	mapfile_free(&m);
}

CASE(has_nothing_where_there_is_no_file)
{
	struct mapfile m;
	struct fault f;

	unlink(in_path);
	assert_int_equal(mapfile_load(&m, in_path, false, &f), 0);
	assert_int_equal(m.n, 0);
	assert_null(m.source);
	mapfile_free(&m);
}

/* What cannot be opened is no link for it. */
CASE(tells_a_link_from_what_cannot_be_opened)
{
	struct mapfile m;
	struct fault f;
	char below[sizeof(in_path) + 2];

	unlink(in_path);
	assert_int_equal(symlink("anywhere", in_path), 0);
	assert_int_equal(mapfile_load(&m, in_path, false, &f), -1);
	assert_non_null(strstr(f.text, "symbolic link"));
	unlink(in_path);
	put(in_path, "", 0);
	snprintf(below, sizeof(below), "%s/x", in_path);
	assert_int_equal(mapfile_load(&m, below, false, &f), -1);
	assert_null(strstr(f.text, "symbolic link"));
	unlink(in_path);
}

/* The loopback has no speed, and says so to whoever reads it. */
CASE(tells_why_it_cannot_be_read)
{
	static const char path[] = "/sys/class/net/lo/speed";
	struct mapfile m;
	struct fault f;
	FILE *in = fopen(path, "r");
	bool refused = in != NULL && fgetc(in) == EOF && errno == EINVAL;

	if (in != NULL)
		fclose(in);
	if (!refused)
		skip();
	assert_int_equal(mapfile_load(&m, path, false, &f), -1);
	assert_int_equal(f.status, status_errno(EINVAL));
	assert_string_equal(f.text,
	    "/sys/class/net/lo/speed: Invalid argument");
	mapfile_free(&m);
}

static uint64_t dice;

static uint64_t
roll(uint64_t below)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return below > 0 ? dice % below : 0;
}

static size_t
print_number(char *to, uint64_t n)
{
	static const char *const form[] = { "%llu", "0x%llX", "0x%llx",
		"0X%08llX", "0%llo" };
	int len;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	len = sprintf(to, form[roll(COUNT(form))], (unsigned long long)n);
#pragma GCC diagnostic pop

	return (size_t)len;
}

static size_t
print_blank(char *to, bool needed)
{
	size_t n = roll(3) + needed, i;

	for (i = 0; i < n; i++)
		to[i] = roll(4) == 0 ? '\t' : ' ';
	return n;
}

static size_t
print_end(char *to, bool crlf)
{
	size_t n = print_blank(to, false);

	if (roll(8) == 0)
		n += (size_t)sprintf(to + n, " # 0 1 -");
	n += (size_t)sprintf(to + n, crlf ? "\r\n" : "\n");
	if (roll(8) == 0)
		n += (size_t)sprintf(to + n, "%s\n", roll(2) ? "# 1 2 +" : "");
	return n;
}

/* A map in some hand, of a truth in *m (not joined). */
static size_t
generate(char *text, struct seg *seg, size_t *blocks)
{
	uint64_t at = 0, most = UINT64_C(1) << (1 + roll(56));
	bool crlf = roll(4) == 0;
	size_t n = 0, i;

	if (roll(2))
		n += (size_t)sprintf(text, "# Mapfile. Created by hand\n");
	n += print_number(text + n, roll(1 << 30));
	n += print_blank(text + n, true);
	text[n++] = "?*/-F+"[roll(6)];
	n += print_blank(text + n, true);
	n += (size_t)sprintf(text + n, "%d", (int)roll(9) + 1);
	n += print_end(text + n, crlf);
	*blocks = roll(MOST);
	for (i = 0; i < *blocks; i++) {
		seg[i] = (struct seg){ at, 1 + roll(most),
			(enum seg_status)"?*/-+"[roll(5)] };
		n += print_blank(text + n, false);
		n += print_number(text + n, at);
		n += print_blank(text + n, true);
		n += print_number(text + n, seg[i].len);
		n += print_blank(text + n, true);
		text[n++] = (char)seg[i].status;
		n += print_end(text + n, crlf);
		at += seg[i].len;
	}
	if (roll(4) == 0)		/* without a last newline */
		while (text[n - 1] == '\n' || text[n - 1] == '\r')
			n--;
	return n;
}

/* The same bytes have the same status. */
static void
agrees(const struct mapfile *m, const struct seg *seg, size_t n)
{
	size_t i, j = 0;

	for (i = 0; i < n; i++) {
		while (j < m->n && m->seg[j].off + m->seg[j].len <= seg[i].off)
			j++;
		assert_true(j < m->n);
		assert_int_equal(m->seg[j].status, seg[i].status);
		assert_true(m->seg[j].off <= seg[i].off);
		assert_true(m->seg[j].off + m->seg[j].len >=
		    seg[i].off + seg[i].len);
	}
}

/* Under sanitizers the maps are the same, and have been judged. */
static bool
have_judge(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return false;
#else
	return system("command -v ddrescuelog >/dev/null 2>&1") == 0;
#endif
}

/*
 * ddrescuelog's forms of dir/0.map to dir/n.map, each between "=" and whether
 * it is a map; completing it is more lenient than testing it.
 */
static FILE *
judgement(unsigned n, bool test)
{
	char command[512];

	snprintf(command, sizeof(command), "cd %s && i=0; while [ $i -lt %u ]; "
	    "do echo =; ddrescuelog -C $i.map 2>/dev/null; s=$?; %s"
	    "echo \"! $s\"; i=$((i + 1)); done", dir, n, test ?
	    "ddrescuelog -t $i.map >/dev/null 2>&1; s=$?; " : "");
	return popen(command, "r");
}

/* Its next answer: whether it is a map, and its form as essence() has it. */
static bool
next_judgement(FILE *in, char *text)
{
	struct essence e = { .text = text };
	char line[256];

	assert_non_null(fgets(line, sizeof(line), in));
	assert_int_equal(line[0], '=');
	for (;;) {
		assert_non_null(fgets(line, sizeof(line), in));
		if (line[0] == '!')
			break;
		take_line(&e, line);
	}
	text[e.keep] = '\0';
	return strcmp(line, "! 0\n") == 0;
}

static void
path_of(char *path, size_t room, unsigned i, const char *what)
{
	snprintf(path, room, "%s/%u.%s", dir, i, what);
}

static void
remove_all(unsigned n)
{
	char path[96];
	unsigned i;

	for (i = 0; i < n; i++) {
		path_of(path, sizeof(path), i, "map");
		unlink(path);
		path_of(path, sizeof(path), i, "ours");
		unlink(path);
	}
}

/* The judge takes what we have written, and writes the same. */
static void
judge_ours(unsigned n)
{
	static char text[TEXT], again[TEXT];
	FILE *in = judgement(n, false);
	char ours[96];
	unsigned i;

	for (i = 0; i < n; i++) {
		path_of(ours, sizeof(ours), i, "ours");
		essence(ours, text);
		if (!next_judgement(in, again))
			fail_msg("%u: ddrescuelog does not take it", i);
		if (strcmp(text, again) != 0)
			fail_msg("%u: %s\nddrescuelog: %s", i, text, again);
	}
	assert_int_equal(pclose(in), 0);
}

CASE(reads_what_anybody_may_write)
{
	static char text[TEXT];
	struct seg seg[MOST];
	struct mapfile m, twice;
	char path[96], ours[96];
	unsigned i, n = maps();
	struct fault f;
	size_t blocks;

	dice = 88172645463325252U;
	for (i = 0; i < n; i++) {
		path_of(path, sizeof(path), i, "map");
		path_of(ours, sizeof(ours), i, "ours");
		put(path, text, generate(text, seg, &blocks));
		if (mapfile_load(&m, path, false, &f) != 0)
			fail_msg("%s: %s", path, f.text);
		sound(&m);
		agrees(&m, seg, blocks);
		assert_int_equal(mapfile_save(&m, ours, "T", &f), 0);
		assert_int_equal(mapfile_load(&twice, ours, false, &f), 0);
		agrees(&twice, seg, blocks);
		assert_int_equal(twice.n, m.n);
		assert_int_equal(twice.pos, m.pos);
		assert_int_equal(twice.phase, m.phase);
		assert_int_equal(twice.pass, m.pass);
		mapfile_free(&m);
		mapfile_free(&twice);
	}
	if (have_judge())
		judge_ours(n);
	remove_all(n);
}

/* One to three bytes are others or gone, or the end is; what is left. */
static size_t
damage(char *text, size_t len)
{
	size_t at, k;

	for (k = 1 + roll(3); k > 0; k--) {
		at = roll(len);
		switch (roll(4)) {
		case 0:
			text[at] = (char)roll(256);
			break;
		case 1:
			text[at] = "0123456789xX+-?*/# \t\n"[roll(21)];
			break;
		case 2:
			len = at + 1;	/* torn */
			break;
		default:
			memmove(text + at, text + at + 1, len - at - 1);
			len -= len > 1;
		}
	}
	return len;
}

/* The judge takes what we took, and understands the same. */
static void
judge_taken(const bool *took, unsigned n)
{
	static char text[TEXT], again[TEXT];
	FILE *in = judgement(n, true);
	char ours[96];
	bool judged;
	unsigned i;

	for (i = 0; i < n; i++) {
		judged = next_judgement(in, again);
		if (!took[i])
			continue;
		path_of(ours, sizeof(ours), i, "ours");
		essence(ours, text);
		if (!judged)
			fail_msg("%u is no map to ddrescuelog", i);
		/* it gives what lies before the first a line */
		if (strcmp(text, again) != 0 &&
		    strstr(text, "\n0x00000000 ") != NULL)
			fail_msg("%u: %s\nddrescuelog: %s", i, text, again);
	}
	assert_int_equal(pclose(in), 0);
}

/* What is damaged is refused, or means no more than it says. */
CASE(takes_nothing_that_the_judge_refuses)
{
	static char text[TEXT];
	unsigned i, n = maps() / 2, taken = 0;
	bool *took = calloc(n, sizeof(*took));
	struct seg seg[MOST];
	struct mapfile m;
	char path[96], ours[96];
	struct fault f;
	size_t blocks;

	assert_non_null(took);
	dice = 2463534242U;
	for (i = 0; i < n; i++) {
		path_of(path, sizeof(path), i, "map");
		path_of(ours, sizeof(ours), i, "ours");
		put(path, text, damage(text, generate(text, seg, &blocks)));
		took[i] = mapfile_load(&m, path, false, &f) == 0;
		taken += took[i];
		if (took[i]) {
			sound(&m);
			assert_int_equal(mapfile_save(&m, ours, "T", &f), 0);
		}
		mapfile_free(&m);
	}
	assert_true(taken > n / 20 && n - taken > n / 20);
	if (have_judge())
		judge_taken(took, n);
	remove_all(n);
	free(took);
}

CASE(keeps_the_map_before)
{
	struct mapfile m = { .phase = '?', .pass = 1 };
	struct seg a = { 0, 4096, FINISHED }, b = { 4096, 512, BAD };
	char backup[96], temporary[96];
	struct stat st;
	struct fault f;

	snprintf(backup, sizeof(backup), "%s.bak", out_path);
	snprintf(temporary, sizeof(temporary), "%s.pardd.tmp", out_path);
	unlink(out_path);
	unlink(backup);
	put(temporary, "torn", 4);
	assert_int_equal(mapfile_append(&m, &a), 0);
	assert_int_equal(mapfile_save(&m, out_path, "T", &f), 0);
	assert_int_equal(stat(backup, &st), -1);
	assert_int_equal(stat(temporary, &st), -1);
	assert_int_equal(mapfile_append(&m, &b), 0);
	assert_int_equal(mapfile_save(&m, out_path, "T", &f), 0);
	mapfile_free(&m);
	assert_int_equal(mapfile_load(&m, backup, false, &f), 0);
	assert_int_equal(m.n, 1);
	mapfile_free(&m);
	assert_int_equal(mapfile_load(&m, out_path, false, &f), 0);
	assert_int_equal(m.n, 2);
	mapfile_free(&m);
	assert_int_equal(stat(temporary, &st), -1);
}

static int
begin(void **state)
{
	/* where a flush costs nothing */
	snprintf(dir, sizeof(dir), "%s/pardd-mapfile.XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(in_path, sizeof(in_path), "%s/in", dir);
	snprintf(out_path, sizeof(out_path), "%s/out", dir);
	return 0;
}

static int
end(void **state)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

ONCE(begin, end)

/* It is a map, whatever there is no room for. */
CASE(tells_that_there_is_no_memory)
{
	static const char text[] = "# pardd source: a\n# pardd target: b\n"
	    "0 ?\n0 1 +\n1 1 -\n";
	struct mapfile m;
	struct fault f;
	unsigned i;
	int failed;

	put(in_path, text, strlen(text));
	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		failed = mapfile_load(&m, in_path, false, &f);
		poor.on = false;
		if (failed != 0) {
			assert_int_equal(f.status, status_errno(ENOMEM));
			assert_null(strstr(f.text, "not a map"));
		}
		mapfile_free(&m);
	}
}
