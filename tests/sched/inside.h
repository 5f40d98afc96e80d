/*
 * What the parts of the scheduler share: sched.c says who goes on, calls.c is
 * what the program calls of libc, tsan.c what the compiler makes it call, and
 * medium.c a medium that loses what was not flushed.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NEVER UINT64_MAX

enum state { FREE, READY, LOCK, CONDITION, POLLS, JOINS, ENDED };

struct thread {
	enum state	 state;
	const void	*on;		/* the lock, condition or thread */
	uint64_t	 until;		/* ns */
	struct pollfd	*fds;
	nfds_t		 n;
	uint64_t	 rank;
	sem_t		 turn;
	pthread_t	 id;
	void		*(*start)(void *);
	void		*arg;
};

extern struct thread threads[];
extern size_t all;			/* slots that were ever used */
extern _Thread_local struct thread *self;	/* NULL: not one of them */
extern uint64_t now;			/* ns */
extern unsigned spurious;		/* one in so many; 0: none */

/* 0 to n - 1, by the seed. */
uint64_t roll(uint64_t n);

/* A place at which the seed may want another thread. */
void point(void);

/* The same between two accesses to memory. */
void touch(void);

/* Let another one go on, or oneself; back when it is one's turn again. */
void give(void);

/* The same, in this state. */
void wait_for(enum state, const void *on, uint64_t until);

/* A slot for a thread, which is ready. */
struct thread *thread_new(void);

/* The first of a thread's own, and the last: wait for the turn; pass it on. */
void take_turn(struct thread *);
void pass_turn(void);

/* Tell what all wait for, and abort. */
void stuck(const char *what);

/* poll(2) of the world outside, up to ms. */
int really_poll(struct pollfd *, nfds_t n, int ms);

/* Open what is written to the medium; path may be NULL. */
void medium_open(const char *path);

/* Lose one write, for whoever asks next to be told; cut: all, and end. */
bool medium_lose(void);
void medium_cut(void);

/* Whether fd is on it, and its caller is the one who is told. */
bool medium_told(int fd);

/* Note a write of n bytes, if it is one; returns n. */
ssize_t medium_wrote(int fd, off_t off, ssize_t n);

/* What was written is safe, if fd is on it. */
void medium_flushed(int fd);

#endif
