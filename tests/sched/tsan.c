/*
 * What the compiler makes a program call that is compiled for ThreadSanitizer:
 * at each atomic, and where it reads or writes memory.
 */
#include <stddef.h>

#include "inside.h"

/* NOLINTBEGIN(bugprone-reserved-*,cert-*,readability-non-const-*) */
#define NOTHING(name, ...)						\
	void name(__VA_ARGS__);						\
	void name(__VA_ARGS__)
#define ACCESS(name)							\
	void __tsan_ ## name(void *);					\
	void __tsan_ ## name(void *p) { (void)p; touch(); }
#define ACCESSES(name)							\
	ACCESS(name ## 1) ACCESS(name ## 2) ACCESS(name ## 4)		\
	ACCESS(name ## 8) ACCESS(name ## 16)
#define RANGE(name)							\
	void __tsan_ ## name(void *, size_t);				\
	void __tsan_ ## name(void *p, size_t n)				\
	{ (void)p; (void)n; touch(); }

NOTHING(__tsan_init, void) { }
NOTHING(__tsan_func_entry, void *pc) { (void)pc; }
NOTHING(__tsan_func_exit, void) { }
ACCESSES(read)
ACCESSES(write)
ACCESSES(unaligned_read)
ACCESSES(unaligned_write)
RANGE(read_range)
RANGE(write_range)

#define ATOMIC(bits)							\
	uint ## bits ## _t __tsan_atomic ## bits ## _load(		\
	    const volatile uint ## bits ## _t *, int);			\
	uint ## bits ## _t						\
	__tsan_atomic ## bits ## _load(const volatile uint ## bits ## _t *p, \
	    int order)							\
	{								\
		(void)order;						\
		point();						\
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);		\
	}								\
	void __tsan_atomic ## bits ## _store(				\
	    volatile uint ## bits ## _t *, uint ## bits ## _t, int);	\
	void								\
	__tsan_atomic ## bits ## _store(volatile uint ## bits ## _t *p,	\
	    uint ## bits ## _t v, int order)				\
	{								\
		(void)order;						\
		point();						\
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);		\
	}								\
	CHANGE(bits, exchange, __atomic_exchange_n)			\
	CHANGE(bits, fetch_add, __atomic_fetch_add)			\
	CHANGE(bits, fetch_sub, __atomic_fetch_sub)			\
	CHANGE(bits, fetch_and, __atomic_fetch_and)			\
	CHANGE(bits, fetch_or, __atomic_fetch_or)			\
	COMPARE(bits, compare_exchange_strong)				\
	COMPARE(bits, compare_exchange_weak)
#define CHANGE(bits, name, how)						\
	uint ## bits ## _t __tsan_atomic ## bits ## _ ## name(		\
	    volatile uint ## bits ## _t *, uint ## bits ## _t, int);	\
	uint ## bits ## _t						\
	__tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *p, uint ## bits ## _t v, int order) \
	{								\
		(void)order;						\
		point();						\
		return how(p, v, __ATOMIC_SEQ_CST);			\
	}
#define COMPARE(bits, name)						\
	int __tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *, uint ## bits ## _t *,	\
	    uint ## bits ## _t, int, int);				\
	int								\
	__tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *p, uint ## bits ## _t *was,	\
	    uint ## bits ## _t v, int order, int failed)		\
	{								\
		(void)order;						\
		(void)failed;						\
		point();						\
		return __atomic_compare_exchange_n(p, was, v, false,	\
		    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);		\
	}
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
/* NOLINTEND(bugprone-reserved-*,cert-*,readability-non-const-*) */
