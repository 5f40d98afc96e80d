/*
 * Who is at the other end of a socket.
 */
#ifndef PARDD_PEER_H
#define PARDD_PEER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Its address and port in numbers, as in a URI, since a name may lead elsewhere
 * or nowhere by then.  False, and text is empty: it has none.
 */
bool peer_address(int sock, char *text, size_t room);

#endif
