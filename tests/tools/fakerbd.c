/*
 * A directory as a Ceph cluster, in the place of librbd: for LD_LIBRARY_PATH.
 */
#if __has_include(<rbd/librbd.h>)
#include "fakerbd/fakerbd.h"
#endif
