/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock.h - the definitions of tools that the operator has approved.
 *
 * A service that changes a tool without the operator's knowledge (its text, its params, its mark)
 * changes what models do with it. So the definition of every exposed tool, as the service
 * describes it, is kept in a file or in the database. A tool that differs is withheld, or causes a
 * warning, until an operator reviews it (`causeway source diff`) and approves it.
 *
 *     {"version":1,"sources":{"aria2":{"aria2.addUri":{"sha256":"…","definition":{…},
 *      "approved_at":1763399000000,"approved_by":"alice"}}}}
 *
 * The definition is canonical: id, usage, params in their order (name, description, required,
 * schema), input and output, and if the service sets them by_position, notification and its mark
 * (title, annotations, requirements); members sorted by key, no white space. Members that the
 * service does not set are left out. So old entries, which lack the last three, stay valid for
 * tools without them. Other tools with an old entry count as changed.
 *
 * Resources, templates and prompts of an MCP server have entries too, with their entry in the list
 * of the server as `exposed`, but for its size and the time of the last change. So have the
 * instructions of a server that are relayed. `more` has icons and _meta of a tool; if the file has
 * an entry without it that is equal otherwise, the tool is shown without them. `view` has the hash
 * of a resource ui://… (source/describe/view_hash.h): its document is code that runs in hosts.
 *
 * A tool without an entry is withheld. If a configured file does not exist or cannot be read, every
 * tool is withheld: only `causeway source approve` makes the file. The same holds for the rows of
 * the database (admin/approvals.h).
 *
 * Ownership: a lock owns its texts, and is counted by references.
 * Threads:   immutable once read.
 * Limits:    CW_LOCK_MAX_BYTES of a file.
 */
#ifndef CW_SOURCE_REMOTE_LOCK_LOCK_H
#define CW_SOURCE_REMOTE_LOCK_LOCK_H

#include "base/buf.h"
#include "catalogue/method.h"
#include "json/write.h"

#define CW_LOCK_MAX_BYTES (64u * 1024u * 1024u)
#define CW_LOCK_HASH 64u /* characters */

typedef struct cw_lock cw_lock;

/* *ret is NULL where the file does not exist. CW_PARAMS: not a lock file. */
CW_MUST_USE cw_code cw_lock_read(const char *path, cw_lock **ret, cw_err *err);
/* Likewise of the text of such a file. */
CW_MUST_USE cw_code cw_lock_parse(cw_str text, cw_lock **ret, cw_err *err);
/* NULL is fine for both. */
cw_lock *cw_lock_ref(cw_lock *lock);
void cw_lock_unref(cw_lock *lock);

/* Append the canonical definition of a method as its service describes it; `described` is its
 * object in the service's document, or NULL. */
void cw_lock_define(const cw_method *found, const cw_json *described, cw_buf *out);
/* The same without icons and _meta of a tool of an MCP server, which older files do not have. */
void cw_lock_define_plain(const cw_method *found, const cw_json *described, cw_buf *out);
/* Likewise of a text that a service shows to models. */
void cw_lock_define_text(cw_str id, cw_str text, cw_buf *out);
void cw_lock_hash(cw_str definition, char ret[CW_LOCK_HASH + 1]);

typedef enum cw_lock_verdict {
    CW_LOCK_SAME,
    CW_LOCK_NEW, /* not in the file */
    CW_LOCK_CHANGED,
} cw_lock_verdict;

/* *ret_old (may be NULL) is the approved definition, or empty. */
cw_lock_verdict cw_lock_check(const cw_lock *lock, cw_str source, cw_str method, cw_str definition,
                              cw_str *ret_old);

/* Time and author of the approval of a definition. */
typedef struct cw_lock_stamp {
    int64_t at; /* ms since 1970; 0: not recorded */
    cw_str by;  /* empty: not recorded */
} cw_lock_stamp;

/* That of an approved method. `lock` may be NULL. */
cw_lock_stamp cw_lock_stamp_of(const cw_lock *lock, cw_str source, cw_str method);
/* Write the members `approved_at` and `approved_by`, unless they are not recorded. */
void cw_lock_add_stamp(cw_json_writer *w, cw_lock_stamp stamp);
/* The latest one of a source. `lock` may be NULL. */
cw_lock_stamp cw_lock_latest(const cw_lock *lock, cw_str source);
/* The JSON of a source, {"METHOD":{…},…}; empty: the lock has none. */
cw_str cw_lock_entries(const cw_lock *lock, cw_str source);

/* Call `fn` for each approved method of a source, in the order of the file. `lock` may be NULL. */
typedef cw_code (*cw_lock_fn)(cw_str method, void *ctx);
CW_MUST_USE cw_code cw_lock_each(const cw_lock *lock, cw_str source, cw_lock_fn fn, void *ctx);

typedef struct cw_lock_entry {
    cw_str source, method;
    cw_str definition; /* empty: as it is in the lock before */
} cw_lock_entry;

/* The tools of these sources are replaced, and those of others stay. */
typedef struct cw_lock_change {
    const cw_str *replaced;
    size_t n_replaced;
    const cw_lock_entry *entries;
    size_t n;
    cw_lock_stamp stamp; /* of entries with a definition */
} cw_lock_change;

/* The lock after a change of `old`, which may be NULL, and its text. Fails if the text could not be
 * read again: CW_LIMIT, CW_PARSE. */
CW_MUST_USE cw_code cw_lock_apply(const cw_lock *old, const cw_lock_change *change, cw_buf *text,
                                  cw_lock **ret, cw_err *err);
/* Replace the file atomically, with mode 0644. Fails as cw_lock_apply. */
CW_MUST_USE cw_code cw_lock_write(const char *path, const cw_lock *old,
                                  const cw_lock_change *change, cw_err *err);

#endif
