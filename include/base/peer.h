/*
 * The other end of a socket.
 */
#ifndef PARDD_PEER_H
#define PARDD_PEER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The peer's numeric address and port, as in a URI: by now its name may resolve
 * to another host, or not at all.  False, with "" in text, if it has no
 * address.
 */
bool peer_address(int sock, char *text, size_t room);

/*
 * The inode of the socket at the other end of a TCP connection, if that is on
 * this machine, or of a Unix one, if the kernel knows it; otherwise 0.
 */
unsigned long peer_inode(int sock);

#endif
