/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pcre.c - a tree as a PCRE2 pattern, with JIT and limits.
 *
 * Everything is written from the tree, code points as \x{…}, so no byte of the
 * schema's text reaches PCRE2 as syntax: verbs, options and comments of its own
 * language cannot be smuggled in.
 *
 * PCRE2 does not report how much work a match was, and its own limit does not count
 * the bytes that a repeated class runs over. So the pattern counts for itself. It
 * has a callout before and behind each repeat, behind each alternation, at the end
 * of each turn of a repeated group, and at its beginning:
 *
 *     ^(?!x)(ab|c)*$    (?C1)\A(?!x)(?C1)(?:((?:ab|c)(?C1))(?C1)){0,}(?C1)\z
 *
 * Between two callouts the engine goes through the pattern at most once, so a fixed
 * charge per callout covers that. A run of a class begins at one callout and ends
 * at the next, so the distance between their positions is what it read.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <pthread.h>
#include <stdlib.h>

#include "schema/pattern/pattern_int.h"

#define MAX_TEXT (256u * 1024u) /* of the translated pattern */
#define MAX_REPEAT 65535u       /* PCRE2's own */
#define DEPTH_LIMIT 10000u
#define HEAP_LIMIT_KB 4096u

#define COUNTED "(?C1)"         /* charges what was done since the last one */
#define COUNTED_BACKREF "(?C2)" /* and that the rest of the text may be compared */
#define CALLOUT_STEPS 1         /* of the call itself */
#define NODES_PER_STEP 16u
#define RANGES_PER_NODE 8u
#define BYTES_PER_STEP 16u
#define INTERPRETED 8u /* how much slower PCRE2 is without JIT */

struct cw_pcre {
    pcre2_code *code;
    uint32_t charge; /* steps of one callout */
    uint32_t byte;   /* of a run, in BYTES_PER_STEP-ths of a step */
};

/* ---- writing ---- */

static void write_range(cw_buf *out, const cw_range *range)
{
    cw_buf_printf(out, "\\x{%x}", range->lo);
    if (range->hi > range->lo)
        cw_buf_printf(out, "-\\x{%x}", range->hi);
}

static bool is_empty(const cw_set *set)
{
    return set->n_ranges == 0 && set->n_properties == 0;
}

static void write_set(cw_buf *out, const cw_set *set)
{
    if (is_empty(set)) {
        cw_buf_add(out, set->negated ? CW_STR("(?s:.)") : CW_STR("(?!)"));
        return;
    }
    cw_buf_add(out, set->negated ? CW_STR("[^") : CW_STR("["));
    for (size_t i = 0; i < set->n_ranges; i++)
        write_range(out, &set->ranges[i]);
    for (size_t i = 0; i < set->n_properties; i++)
        cw_buf_printf(out, "\\%c{%.*s}", set->properties[i].negated ? 'P' : 'p',
                      CW_STR_ARG(set->properties[i].name));
    cw_buf_add_char(out, ']');
}

static cw_code write_node(cw_buf *out, const cw_node *node, cw_err *err);

/* The group that `open` begins, without its end. */
static cw_code open_children(cw_buf *out, const cw_node *node, const char *open, char separator,
                             cw_err *err)
{
    cw_buf_add(out, cw_str_from(open));
    for (const cw_node *child = node->child; child; child = child->next) {
        cw_code rc = write_node(out, child, err);
        if (rc)
            return rc;
        if (separator && child->next)
            cw_buf_add_char(out, separator);
    }
    return CW_OK;
}

static cw_code write_children(cw_buf *out, const cw_node *node, const char *open, char separator,
                              cw_err *err)
{
    cw_code rc = open_children(out, node, open, separator, err);
    cw_buf_add_char(out, ')');
    return rc;
}

/* Unless one has just been written. */
static void write_callout(cw_buf *out)
{
    if (!cw_str_ends(cw_buf_str(out), CW_STR(COUNTED)))
        cw_buf_add(out, CW_STR(COUNTED));
}

/* The repeated term. PCRE2 runs over a class that is not in a group, without a call per character.
 */
static cw_code write_repeated(cw_buf *out, const cw_node *node, cw_err *err)
{
    const cw_node *child = node->child;
    if (child && child->kind == NODE_SET && !child->next && !is_empty(child->set)) {
        write_set(out, child->set);
        return CW_OK;
    }
    cw_code rc = open_children(out, node, "(?:", 0, err);
    write_callout(out);
    cw_buf_add_char(out, ')');
    return rc;
}

static cw_code write_repeat(cw_buf *out, const cw_node *node, cw_err *err)
{
    bool forever = node->max == CW_PATTERN_FOREVER;
    if (node->min > MAX_REPEAT || (!forever && node->max > MAX_REPEAT))
        return cw_fail(err, CW_LIMIT, "a count is over %u", MAX_REPEAT);
    write_callout(out);
    cw_code rc = write_repeated(out, node, err);
    if (rc)
        return rc;
    cw_buf_printf(out, "{%u,", node->min);
    if (!forever)
        cw_buf_printf(out, "%u", node->max);
    cw_buf_add(out, node->lazy ? CW_STR("}?") : CW_STR("}"));
    write_callout(out);
    return CW_OK;
}

static cw_code write_alternatives(cw_buf *out, const cw_node *node, cw_err *err)
{
    cw_code rc = write_children(out, node, "(?:", '|', err);
    write_callout(out);
    return rc;
}

static const char *is_lookaround(const cw_node *node)
{
    if (node->behind)
        return node->negated ? "(?<!" : "(?<=";
    return node->negated ? "(?!" : "(?=";
}

static cw_code write_node(cw_buf *out, const cw_node *node, cw_err *err)
{
    switch (node->kind) {
    case NODE_SET:
        write_set(out, node->set);
        break;
    case NODE_SEQ:
        return write_children(out, node, "(?:", 0, err);
    case NODE_ALT:
        return write_alternatives(out, node, err);
    case NODE_REPEAT:
        return write_repeat(out, node, err);
    case NODE_GROUP:
        return write_children(out, node, "(", 0, err);
    case NODE_LOOK:
        return write_children(out, node, is_lookaround(node), 0, err);
    case NODE_BACKREF:
        cw_buf_printf(out, COUNTED_BACKREF "\\g{%u}" COUNTED, node->index);
        break;
    case NODE_BOL:
        cw_buf_add(out, CW_STR("\\A"));
        break;
    case NODE_EOL:
        cw_buf_add(out, CW_STR("\\z"));
        break;
    case NODE_BOUNDARY:
        cw_buf_add(out, node->negated ? CW_STR("\\B") : CW_STR("\\b"));
        break;
    }
    return CW_OK;
}

/* ---- compiling ---- */

static uint32_t ranges_of(const cw_set *set)
{
    return (uint32_t)(set->n_ranges + set->n_properties);
}

/* How much there is to go through, and the largest class. */
static void measure(const cw_node *node, uint32_t *size, uint32_t *ranges)
{
    for (; node; node = node->next) {
        uint32_t here = node->set ? ranges_of(node->set) : 0;
        *size += 1 + here / RANGES_PER_NODE;
        /* The first of a repeated class are read before there is anything to count. */
        if (node->kind == NODE_REPEAT)
            *size += node->min < MAX_REPEAT ? node->min : MAX_REPEAT;
        if (here > *ranges)
            *ranges = here;
        measure(node->child, size, ranges);
    }
}

static void set_charges(cw_pcre *pcre, const cw_node *tree, bool has_jit)
{
    uint32_t size = 0;
    uint32_t ranges = 0;
    uint32_t factor = has_jit ? 1 : INTERPRETED;
    measure(tree, &size, &ranges);
    pcre->charge = (CALLOUT_STEPS + size / NODES_PER_STEP) * factor;
    pcre->byte = (1 + ranges / RANGES_PER_NODE) * factor;
}

static cw_code compile(cw_str text, const cw_node *tree, cw_pcre **ret, cw_err *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
    cw_pcre *pcre = calloc(1, sizeof *pcre);
    if (!pcre)
        return cw_fail_nomem(err);
    int code;
    size_t at;
    pcre->code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code, &at, NULL);
    if (!pcre->code) {
        free(pcre);
        if (code == PCRE2_ERROR_HEAP_FAILED)
            return cw_fail_nomem(err);
        char reason[120];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
        return cw_fail(err, CW_PARAMS, "not supported: %s", reason);
    }
    /* Without permission to make code executable the interpreter does the same, slower. */
    set_charges(pcre, tree, pcre2_jit_compile(pcre->code, PCRE2_JIT_COMPLETE) == 0);
    *ret = pcre;
    return CW_OK;
}

cw_code cw_pcre_build(const cw_node *tree, cw_pcre **ret, cw_err *err)
{
    cw_buf text;
    cw_buf_init(&text, MAX_TEXT);
    write_callout(&text);
    cw_code rc = write_node(&text, tree, err);
    if (!rc && text.code)
        rc = cw_fail(err, text.code, "pattern: %s", cw_code_text(text.code));
    if (!rc)
        rc = compile(cw_buf_str(&text), tree, ret, err);
    cw_buf_done(&text);
    return rc;
}

void cw_pcre_free(cw_pcre *pcre)
{
    if (!pcre)
        return;
    pcre2_code_free(pcre->code);
    free(pcre);
}

size_t cw_pcre_size(const cw_pcre *pcre)
{
    size_t code = 0, machine_code = 0;
    (void)pcre2_pattern_info(pcre->code, PCRE2_INFO_SIZE, &code);
    (void)pcre2_pattern_info(pcre->code, PCRE2_INFO_JITSIZE, &machine_code);
    return sizeof *pcre + code + machine_code;
}

/* ---- matching ---- */

/* Match data of a thread, created at its first match and freed when it ends. */
typedef struct scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
    const cw_pcre *pcre; /* of the match that runs */
    size_t at;           /* where its last callout was */
    int64_t steps;       /* left */
} scratch;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void free_scratch(void *arg)
{
    scratch *s = arg;
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    free(s);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_scratch) == 0;
}

static int count(pcre2_callout_block *block, void *arg)
{
    scratch *s = arg;
    size_t at = block->current_position;
    size_t bytes = at > s->at ? at - s->at : 0;
    if (block->callout_number == 2)
        bytes += block->subject_length - at;
    s->at = at;
    s->steps -= (int64_t)(s->pcre->charge + bytes * s->pcre->byte / BYTES_PER_STEP);
    return s->steps < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

static scratch *new_scratch(void)
{
    scratch *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->data = pcre2_match_data_create(1, NULL);
    s->context = pcre2_match_context_create(NULL);
    if (!s->data || !s->context || pthread_setspecific(key, s)) {
        free_scratch(s);
        return NULL;
    }
    pcre2_set_match_limit(s->context, CW_PATTERN_MATCHES);
    pcre2_set_depth_limit(s->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(s->context, HEAP_LIMIT_KB);
    pcre2_set_callout(s->context, count, s);
    return s;
}

cw_pattern_match cw_pcre_test(const cw_pcre *pcre, cw_str text, int64_t *steps)
{
    if (text.n > CW_PATTERN_SUBJECT)
        return CW_PATTERN_TOO_HARD;
    pthread_once(&once, make_key);
    scratch *s = has_key ? pthread_getspecific(key) : NULL;
    if (has_key && !s)
        s = new_scratch();
    if (!s)
        return CW_PATTERN_TOO_HARD;
    s->pcre = pcre;
    s->at = 0;
    s->steps = *steps;
    int rc = pcre2_match(pcre->code, (PCRE2_SPTR)(text.n ? text.p : ""), text.n, 0,
                         PCRE2_NO_UTF_CHECK, s->data, s->context);
    *steps = s->steps - (int64_t)(text.n / BYTES_PER_STEP); /* looking for a first character */
    if (rc == PCRE2_ERROR_NOMATCH)
        return CW_PATTERN_NO;
    return rc >= 0 ? CW_PATTERN_YES : CW_PATTERN_TOO_HARD;
}
