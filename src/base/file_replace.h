/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_replace.h - a file with new contents, all of them or none: written beside it, then renamed.
 *
 * Threads: no state. The calling thread waits for the disk.
 */
#ifndef CW_BASE_FILE_REPLACE_H
#define CW_BASE_FILE_REPLACE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

typedef enum cw_file_replace_sync {
    CW_FILE_REPLACE_FAST, /* a crash of the machine may leave the old one, or none of the new bytes */
    CW_FILE_REPLACE_SYNC, /* on the disk before it takes the old one's place */
} cw_file_replace_sync;

/* CW_IO with the name of the file; the old one stays then. */
CW_MUST_USE cw_code cw_file_replace(const char *path, cw_str bytes, mode_t mode,
                                    cw_file_replace_sync sync, cw_err *err);

#endif
