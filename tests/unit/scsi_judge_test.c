/*
 * What an answer to a SCSI command means.
 */
#include "test.h"

#include "scsi/scsi.h"

enum { CHECK = 0x02, BLOCKS = 8, BLOCK = 512, ALL = BLOCKS * BLOCK };

static struct scsi_command c;
static struct scsi_answer a;
static struct scsi_reply r;

static int
set_up(void **state)
{
	c = (struct scsi_command){ .blocks = BLOCKS, .block = BLOCK };
	a = (struct scsi_answer){ .device = 0 };
	return 0;
}

EACH(set_up, NULL)

/* Sense data of this format: the key, and the code with its qualifier. */
static void
sense(unsigned format, unsigned key, unsigned code)
{
	memset(a.sense, 0, sizeof(a.sense));
	a.sense[0] = (unsigned char)format;
	a.sense_len = 18;
	if (format < 0x72) {
		a.sense[2] = (unsigned char)key;
		a.sense[7] = 10;
		a.sense[12] = (unsigned char)(code >> 8);
		a.sense[13] = (unsigned char)code;
		return;
	}
	a.sense[1] = (unsigned char)key;
	a.sense[2] = (unsigned char)(code >> 8);
	a.sense[3] = (unsigned char)code;
	a.sense_len = 8;
}

static void
means(enum scsi_result result, int status)
{
	scsi_judge(&r, SCSI_SG, &c, 0, &a);
	if (r.result != result)
		fail_msg("%d, not %d: %s", (int)r.result, (int)result, r.why);
	assert_int_equal(r.status, status);
}

CASE(judges_by_the_sense_data)
{
	static const struct {
		unsigned key, code;
		enum scsi_result result;
		int status;
	} all[] = {
		{ 0x0, 0x0000, SCSI_AGAIN, STATUS_FILE },
		{ 0x1, 0x1700, SCSI_MOVED, 21 },	/* recovered */
		{ 0x2, 0x0401, SCSI_FATAL, 2 },
		{ 0x2, 0x3a00, SCSI_CHANGED, 2 },
		{ 0x3, 0x1100, SCSI_MEDIUM, STATUS_MEDIUM },
		{ 0x4, 0x0300, SCSI_MEDIUM, STATUS_MEDIUM },
		{ 0x5, 0x2000, SCSI_FATAL, 9 },
		{ 0x5, 0x2100, SCSI_FATAL, 22 },
		{ 0x5, 0x2400, SCSI_FATAL, 5 },
		{ 0x6, 0x2800, SCSI_CHANGED, 6 },
		{ 0x6, 0x2900, SCSI_AGAIN, 6 },
		{ 0x7, 0x2700, SCSI_FATAL, 7 },
		{ 0xa, 0x0000, SCSI_FATAL, 10 },
		{ 0xb, 0x4b00, SCSI_AGAIN, 11 },
		{ 0xb, 0x1001, SCSI_FATAL, 40 },
		{ 0xd, 0x0000, SCSI_FATAL, STATUS_FILE },
		{ 0xe, 0x1d00, SCSI_FATAL, STATUS_FILE },
	};

	a.device = CHECK;
	EACH_OF(i, all) {
		sense(0x70, all[i].key, all[i].code);
		means(all[i].result, all[i].status);
		sense(0x72, all[i].key, all[i].code);
		means(all[i].result, all[i].status);
		assert_int_equal(r.restarted, all[i].code == 0x2900);
		assert_int_equal(r.unknown, all[i].status == 5 ||
		    all[i].status == 9);
	}
	a.sense_len = 0;
	means(SCSI_FATAL, STATUS_FILE);
	assert_string_equal(r.why, "no sense data");
	sense(0x70, 0x5, 0x2500);		/* the LUN was removed */
	means(SCSI_FATAL, 5);
	assert_int_equal(r.err, ENODEV);
	assert_false(r.unknown);
}

CASE(names_a_code_by_its_words_or_its_number)
{
	a.device = CHECK;
	sense(0x70, 0x3, 0x1100);
	means(SCSI_MEDIUM, STATUS_MEDIUM);
	assert_string_equal(r.why, "Medium Error, Unrecovered read error "
	    "(3/11/00)");
	sense(0x70, 0x3, 0x7f7f);
	means(SCSI_MEDIUM, STATUS_MEDIUM);
	assert_memory_equal(r.why, "Medium Error, ASC=7f, ASCQ=7f", 29);
}

/* Of an earlier command, and so of none of these blocks. */
CASE(tells_an_earlier_failure_from_its_own)
{
	static const unsigned formats[] = { 0x71, 0x73 };
	size_t i;

	for (i = 0; i < 2; i++) {
		a.device = CHECK;
		sense(formats[i], 0x3, 0x1100);
		means(SCSI_EARLIER, STATUS_MEDIUM);
		assert_false(r.has_info);
		sense(formats[i], 0x1, 0x1700);	/* recovered: not executed */
		means(SCSI_AGAIN, STATUS_FILE);
		a.device = 0;			/* executed */
		means(SCSI_MOVED, 21);
		assert_int_equal(r.moved, ALL);
	}
}

static void
counts(int64_t residual, size_t moved)
{
	a.residual = residual;
	means(SCSI_MOVED, 0);
	assert_int_equal(r.moved, moved);
}

CASE(counts_what_was_moved)
{
	counts(0, ALL);
	counts(BLOCK, ALL - BLOCK);
	counts(1, ALL - BLOCK);
	counts(ALL, 0);
	counts(ALL + 1, 0);
	counts(-1, 0);
	c.same = c.write = true;		/* all or nothing */
	counts(0, ALL);
	counts(BLOCK, 0);
}

static void
notes(enum scsi_node node, bool wanted, bool done, bool indirect)
{
	c.direct = wanted;
	a.direct = done;
	scsi_judge(&r, node, &c, 0, &a);
	assert_int_equal(r.indirect, indirect);
}

CASE(notes_that_it_was_not_direct)
{
	notes(SCSI_SG, true, false, true);
	notes(SCSI_SG, true, true, false);
	notes(SCSI_SG, false, false, false);
	notes(SCSI_BSG, true, false, false);	/* which does not tell */
}
