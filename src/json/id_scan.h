/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_scan.h - finds the id of a JSON-RPC request without keeping the request.
 *
 * For messages that are too long, or not allowed, and are answered all the same. The id is the
 * member of the outermost object. It may be the last one, and arguments may have members of the
 * same name, so the scanner reads the whole message.
 *
 *     cw_json_id_scan scan;
 *     cw_json_id_scan_init(&scan);
 *     for each piece: cw_json_id_scan_add(&scan, piece);
 *     cw_str id = cw_json_id_scan_end(&scan);
 *
 * No id is found in a batch, a notification, a response, a message with two ids, one that is cut
 * off, or one whose brackets do not match. Other mistakes in the message are not noticed: the
 * scanner is no parser.
 *
 * Ownership: the id is a part of the scanner.
 * Threads:   no state of its own.
 * Limits:    CW_JSON_ID_MAX bytes of an id; CW_JSON_MAX_DEPTH. Allocates nothing; a few
 *            instructions per byte.
 */
#ifndef CW_JSON_ID_SCAN_H
#define CW_JSON_ID_SCAN_H

#include "base/limits.h"
#include "base/str.h"

/* As it is written: quotes and escapes included. */
#define CW_JSON_ID_MAX 256u
/* The longest name that counts, with every character escaped. */
#define CW_JSON_ID_KEY 40u

typedef struct cw_json_id_scan {
    uint64_t objects; /* bit i: the container at depth i + 1 is an object */
    uint8_t depth;
    uint8_t state;  /* what may follow outside of strings */
    uint8_t string; /* the string that is being read, if any */
    uint8_t member; /* whose value follows */
    bool is_escaped;
    bool has_method;
    uint8_t n_ids;
    uint16_t n_key, n_id; /* beyond the maximum: too long */
    char key[CW_JSON_ID_KEY];
    char id[CW_JSON_ID_MAX];
} cw_json_id_scan;

void cw_json_id_scan_init(cw_json_id_scan *scan);
void cw_json_id_scan_add(cw_json_id_scan *scan, cw_str piece);
/* The id as it was written, a string or an integer, after the last piece; .p is NULL: none. */
cw_str cw_json_id_scan_end(const cw_json_id_scan *scan);

#endif
