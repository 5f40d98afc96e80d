/*
 * A copy with a map, for spin(1): workers that write in order, what the
 * target does with it, and the saver.  tests/model.t looks at every schedule.
 *
 *	order	what is written has all before it written (turn.c)
 *	truth	what a saved map calls finished is on the medium (mapsaver.c)
 *	end	"complete" means that all of it is
 *
 * and nobody waits for ever, stopped or not.  The medium loses a write at any
 * time, and tells that once: to a flush, or to whoever writes next.
 *
 * Left out by -D, each is a fault that is found: AWAIT (waiting for writes
 * after the flush), DOUBT (looking at it after the flush), TURN.
 */
#ifndef CHUNKS
#define CHUNKS	3
#endif
#define WORKERS	2

mtype = { NONE, DIRTY, SAFE, LOST };

mtype medium[CHUNKS];
bool finished[CHUNKS], saved[CHUNKS];	/* in the map; in its file */
byte next, turn;			/* to be claimed; to be written */
bool stop, doubt, err;			/* err: told to who asks first */
bool busy[WORKERS];			/* a write whose end is not known */
byte left = WORKERS;			/* workers that are at work */

/* True, and the error is gone, if there was one. */
inline ask(told)
{
	told = err;
	err = false
}

inline flush(failed)
{
	byte f = 0;

	atomic {
		do
		:: f < CHUNKS && medium[f] == DIRTY ->
			if
			:: medium[f] = SAFE
			:: medium[f] = LOST; err = true
			fi
			f++
		:: f < CHUNKS && medium[f] != DIRTY -> f++
		:: else -> break
		od
		ask(failed)
		f = 0
	}
}

proctype worker(byte me)
{
	byte mine;
	bool failed;

	do
	:: atomic { stop || next == CHUNKS -> break }
	:: atomic { !stop && next < CHUNKS -> mine = next; next++ }
#ifndef TURN
		if
		:: atomic { turn == mine && !stop -> skip }
		:: stop -> break
		fi
#endif
		busy[me] = true;
		atomic {		/* the call */
			assert(mine == 0 || medium[mine - 1] != NONE);
			ask(failed);
			if
			:: !failed -> medium[mine] = DIRTY
			:: else
			fi
		}
		if
		:: failed -> doubt = true; stop = true
		:: else
		fi
		busy[me] = false;
		if
		:: failed -> break
		:: else
		fi
		turn = mine + 1;
		finished[mine] = true
	od
	left--
}

/* The kernel writes back when it likes. */
proctype writeback()
{
	byte i;

	do
	:: atomic { i < CHUNKS && medium[i] == DIRTY -> medium[i] = SAFE }
	:: atomic { i < CHUNKS && medium[i] == DIRTY ->
		medium[i] = LOST; err = true }
	:: atomic { i < CHUNKS -> i++ }
	:: i == CHUNKS -> break
	od
}

/* Signals. */
proctype user()
{
	if
	:: stop = true
	:: skip
	fi
}

inline save()
{
	atomic {		/* map_copy, under its lock */
		i = 0;
		do
		:: i < CHUNKS -> picture[i] = finished[i]; i++
		:: else -> break
		od
	}
	if
	:: !doubt -> flush(failed)
	:: else -> failed = true
	fi
#ifndef AWAIT
	i = 0;
	do
	:: i < WORKERS -> (!busy[i]); i++
	:: else -> break
	od
#endif
	if
#ifndef DOUBT
	:: failed || doubt -> doubt = true
#else
	:: failed -> doubt = true
#endif
	:: else ->
		atomic {
			i = 0;
			do
			:: i < CHUNKS && picture[i] ->
				saved[i] = true;
				assert(medium[i] == SAFE);
				i++
			:: i < CHUNKS && !picture[i] -> i++
			:: else -> break
			od
		}
	fi
}

proctype lead()
{
	bool picture[CHUNKS], failed;
	byte i;

	do
	:: left > 0 -> save()	/* every mapinterval= seconds */
	:: left == 0 -> break
	od
	save();
	if
	:: !doubt && !stop ->
		atomic {
			i = 0;
			do
			:: i < CHUNKS -> assert(medium[i] == SAFE && saved[i]);
				i++
			:: else -> break
			od
		}
	:: else
	fi
}

init {
	byte i;

	atomic {
		for (i : 0 .. CHUNKS - 1) {
			medium[i] = NONE
		}
		for (i : 0 .. WORKERS - 1) {
			run worker(i)
		}
		run writeback();
		run user();
		run lead()
	}
}
