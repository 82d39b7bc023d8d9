/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.h - compile a JSON Schema once, validate many values against it.
 *
 * Causeway has its own engine because no C library implements 2020-12, and every call uses it.
 * Draft-07 (draft-06 is read as such) and 2020-12, every keyword; numbers are
 * compared by their text, so no size and no fraction is rounded.
 *
 * Not here: fetching. A reference that leads out of the document, the registered
 * documents and the standard meta-schemas is refused by name.
 *
 *     cw_schema *s;
 *     rc = cw_schema_compile(doc, NULL, &s, err);
 *     rc = cw_schema_validate(s, value, &scratch);
 *     if (rc == CW_PARAMS)
 *         rc = cw_schema_explain(s, value, NULL, &arena, &report, err);
 *     cw_schema_unref(s);
 *
 * A schema becomes two things: a flat program of 32-bit words, which answers yes
 * or no without touching anything else, and the resolved document, which a second,
 * exhaustive evaluator walks to say what is wrong and where.
 *
 * Ownership: immutable, reference counted; keeps nothing of `doc` or of the options alive.
 *            Problems are allocated in the caller's arena and borrow from schema and instance.
 * Threads:   a compiled schema may be shared by all; a scratch belongs to one thread.
 * Limits:    cw_schema_opts. Exceeding one is CW_LIMIT: never valid, not even under `not`.
 *            Work is counted in steps of about 10 ns (CW_SCHEMA_STEPS_PER_MS). Patterns, formats,
 *            comparisons and both evaluators are charged, so a number of steps is an amount of
 *            time, and the same input always costs the same number.
 */
#ifndef CW_SCHEMA_SCHEMA_H
#define CW_SCHEMA_SCHEMA_H

#include "base/buf.h"
#include "json/json.h"

typedef struct cw_schema cw_schema;

typedef enum cw_schema_draft {
    CW_SCHEMA_2020_12,
    CW_SCHEMA_DRAFT_07,
} cw_schema_draft;

/* A document that references may lead to. */
typedef struct cw_schema_document {
    cw_str uri; /* absolute, without fragment */
    cw_str text;
} cw_schema_document;

/* All zero: the defaults. */
typedef struct cw_schema_opts {
    cw_schema_draft draft; /* of documents without $schema */
    bool annotate_formats; /* `format` says something but refuses nothing */
    bool skip_meta;        /* trust the document: no check against its meta-schema */
    bool skip_program;     /* for rewriting only: it cannot validate */
    cw_str base_uri;       /* where the document came from; may be empty */
    const cw_schema_document *documents;
    size_t n_documents;
    size_t max_bytes;        /* of one document; 0: CW_SCHEMA_MAX_BYTES */
    uint32_t max_depth;      /* 0: CW_SCHEMA_MAX_DEPTH; at most 256 */
    uint32_t max_subschemas; /* 0: CW_SCHEMA_MAX_SUBSCHEMAS */
    uint32_t max_refs;       /* 0: CW_SCHEMA_MAX_REFS */
    uint32_t max_recursion;  /* 0: CW_SCHEMA_MAX_RECURSION; more needs more stack */
    uint64_t max_steps;      /* of one validation; 0: CW_SCHEMA_MAX_STEPS */
} cw_schema_opts;

/* Compile `doc`, an object or a boolean, from the bytes it came in. On success *ret holds one
 * reference. Fails with CW_PARAMS ("/properties/age/minimum: must be a number"), CW_LIMIT or
 * CW_NOMEM; with CW_PARSE when `doc` was read with duplicate keys allowed and has some. */
CW_MUST_USE cw_code cw_schema_compile(const cw_json *doc, const cw_schema_opts *opts,
                                      cw_schema **ret, cw_err *err);
/* The same from text, which is read strictly; also CW_PARSE. */
CW_MUST_USE cw_code cw_schema_compile_text(cw_str text, const cw_schema_opts *opts, cw_schema **ret,
                                           cw_err *err);
/* NULL is fine. */
void cw_schema_unref(cw_schema *s);

/* The schema's own copy of its document, for defaults and annotations. */
const cw_json *cw_schema_root(const cw_schema *s);
cw_schema_draft cw_schema_draft_of(const cw_schema *s);

/* Memory that validation uses again and again. */
typedef struct cw_schema_scratch {
    struct cw_schema_block *first;
    struct cw_schema_block *top; /* NULL: all are free */
} cw_schema_scratch;

void cw_schema_scratch_init(cw_schema_scratch *scratch);
void cw_schema_scratch_done(cw_schema_scratch *scratch);

/* CW_OK: valid. CW_PARAMS: not. CW_LIMIT: too hard to say, to be treated as not valid. CW_NOMEM.
 * Without `uniqueItems` over long arrays, and objects of more than 64 members under unevaluated
 * keywords, nothing is ever allocated; with them only until `scratch` is warm. `scratch` may be
 * NULL. */
CW_MUST_USE cw_code cw_schema_validate(const cw_schema *s, const cw_json *instance,
                                       cw_schema_scratch *scratch);

/* The same with a ceiling that several validations share: *steps is reduced by what this one cost.
 * Below 0 it is CW_LIMIT. The schema's own max_steps holds too. */
CW_MUST_USE cw_code cw_schema_validate_within(const cw_schema *s, const cw_json *instance,
                                              cw_schema_scratch *scratch, int64_t *steps);

/* One thing that is wrong. Text is in the arena. */
typedef struct cw_schema_problem {
    const cw_json *instance;   /* the value, or the key whose name is refused */
    const cw_json *keyword_at; /* the keyword's key in the schema; a false schema itself */
    cw_str instance_pointer;   /* "/tags/0" */
    cw_str schema_uri;         /* of the resource that holds the keyword; may be empty */
    cw_str schema_pointer;     /* from the root of its document: "/properties/tags/items/type" */
    cw_str keyword_path;       /* as evaluated, through references: "/properties/tags/$ref/type" */
    cw_str keyword;            /* "type"; "false schema" where there is none */
    cw_str expected;           /* "integer" */
    cw_str found;              /* shortened: "string \"seven\"" */
    cw_str nearest;            /* for a wrong property name the nearest right one; else empty */
    cw_str message;            /* "expected integer, found string \"seven\"" */
    uint32_t level;            /* how many anyOf and oneOf are around it, of which it is one side */
    uint64_t order;            /* of evaluation */
} cw_schema_problem;

typedef struct cw_schema_report {
    bool valid;
    cw_schema_problem *problems; /* in the order of the instance, then of the schema */
    size_t n;
    uint64_t total; /* found: above max_problems when there are more than were looked for */
} cw_schema_report;

typedef struct cw_schema_explain_opts {
    size_t max_problems; /* 0: 16; at most CW_SCHEMA_MAX_PROBLEMS */
    bool nested;         /* also those of the alternatives of a failed anyOf or oneOf */
    int64_t *steps;      /* as for cw_schema_validate_within; NULL: only the schema's own */
} cw_schema_explain_opts;

/* Find the first problems, and stop when one more than max_problems was found. The verdict is that
 * of cw_schema_validate; `ret` is filled for CW_OK and CW_PARAMS. If a limit is reached after
 * the first problem, the problems before it are reported. The memory in the arena is at most
 * CW_SCHEMA_PROBLEM_BYTES for each problem, whatever the size of the instance. */
CW_MUST_USE cw_code cw_schema_explain(const cw_schema *s, const cw_json *instance,
                                      const cw_schema_explain_opts *opts, cw_arena *arena,
                                      cw_schema_report *ret, cw_err *err);

/* "/nid: expected integer, found string \"x\"; did you mean 'title'?": one line for people. */
void cw_schema_problem_text(const cw_schema_problem *problem, cw_buf *out);

typedef enum cw_schema_output {
    CW_SCHEMA_FLAG,
    CW_SCHEMA_BASIC,
    CW_SCHEMA_DETAILED,
} cw_schema_output;

/* Append the standard output format (2020-12, section 12). Failures are the buffer's. */
void cw_schema_write_output(const cw_schema_report *report, cw_schema_output format, cw_buf *out);

#endif
