/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held_records.h - a libcurl that takes all records of TLS from the socket at once.
 *
 * libcurl 8.15 and later does that, and returns one record at a time. With these functions every libcurl
 * does, for one connection, and its records have one byte.
 *
 *     held_records_begin();
 *     ... one connection receives at most HELD_RECORDS_MAX bytes ...
 *     held_records_end();
 *
 * Threads: one, which reads the connection.
 */
#ifndef CW_TESTS_HELD_RECORDS_H
#define CW_TESTS_HELD_RECORDS_H

#include <stddef.h>

#define HELD_RECORDS_MAX 1024u

/* Bytes that libcurl has taken from the socket, and those that it has returned. */
extern struct held_records {
    char bytes[HELD_RECORDS_MAX];
    size_t n, at;
} held_records;

/* Starts with no byte. */
void held_records_begin(void);
/* Ending what was not begun is fine. */
void held_records_end(void);

#endif
