/* SPDX-License-Identifier: GPL-2.0-or-later */
/* context.c - traceparent and tracestate. */
#include "trace/context.h"

#include "base/ascii.h"
#include "base/hex.h"

/* ---- traceparent ---- */

/* Small hexadecimal digits only. */
static bool read_hex(const char *p, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++) {
        int high = cw_hex_value(p[2 * i]), low = cw_hex_value(p[2 * i + 1]);
        if (high < 0 || low < 0 || cw_is_upper(p[2 * i]) || cw_is_upper(p[2 * i + 1]))
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const unsigned char *p, size_t n)
{
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any == 0;
}

/* A later version may be longer, behind another '-'. */
static bool has_length(cw_str text, unsigned version)
{
    if (text.n == CW_TRACE_PARENT_LEN)
        return true;
    return version != 0 && text.n > CW_TRACE_PARENT_LEN && text.p[CW_TRACE_PARENT_LEN] == '-';
}

bool cw_trace_parent_parse(cw_str text, cw_trace_parent *ret)
{
    enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };
    unsigned char version, flags;
    cw_trace_parent parent;
    if (!text.p || text.n < CW_TRACE_PARENT_LEN || !read_hex(text.p, 1, &version))
        return false;
    if (version == 0xFF || !has_length(text, version))
        return false;
    if (text.p[TRACE_AT - 1] != '-' || text.p[SPAN_AT - 1] != '-' || text.p[FLAGS_AT - 1] != '-')
        return false;
    if (!read_hex(text.p + TRACE_AT, CW_IDS_TRACE, parent.trace_id) ||
        !read_hex(text.p + SPAN_AT, CW_IDS_SPAN, parent.span_id) ||
        !read_hex(text.p + FLAGS_AT, 1, &flags))
        return false;
    if (is_zero(parent.trace_id, CW_IDS_TRACE) || is_zero(parent.span_id, CW_IDS_SPAN))
        return false;
    parent.flags = flags & (CW_IDS_SAMPLED | CW_IDS_RANDOM);
    *ret = parent;
    return true;
}

void cw_trace_parent_format(const cw_ids *ids, char out[CW_TRACE_PARENT_LEN + 1])
{
    out[0] = out[1] = '0'; /* the version */
    out[2] = '-';
    cw_hex_write(out + 3, ids->trace_id, CW_IDS_TRACE);
    out[35] = '-';
    cw_hex_write(out + 36, ids->span_id, CW_IDS_SPAN);
    out[52] = '-';
    cw_hex_write(out + 53, &ids->flags, 1);
}

/* ---- tracestate ---- */

#define LONG_MEMBER 128u

typedef struct state {
    cw_str members[CW_TRACE_STATE_MEMBERS];
    size_t n;
    size_t bytes; /* of the members with the commas between them */
} state;

static bool is_key(cw_str key)
{
    if (key.n == 0 || key.n > CW_TRACE_STATE_TEXT)
        return false;
    if (!cw_is_lower(key.p[0]) && !cw_is_digit(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        char c = key.p[i];
        if (!cw_is_lower(c) && !cw_is_digit(c) && (c == '\0' || !strchr("_*/@-", c)))
            return false;
    }
    return true;
}

static bool is_value(cw_str value)
{
    if (value.n == 0 || value.n > CW_TRACE_STATE_TEXT)
        return false;
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c < ' ' || c > '~' || c == '=')
            return false;
    }
    return true;
}

/* Optional white space of HTTP: blanks and tabs. */
static cw_str trim(cw_str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = cw_str_make(s.p + 1, s.n - 1);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* False: the header is invalid. */
static bool add_members(state *st, cw_str header)
{
    cw_str rest = header;
    while (rest.p) {
        cw_str value, member = trim(cw_str_cut(rest, ',', &rest));
        if (member.n == 0)
            continue;
        cw_str key = cw_str_cut(member, '=', &value);
        if (!value.p || !is_key(key) || !is_value(value) || st->n == CW_TRACE_STATE_MEMBERS)
            return false;
        st->bytes += member.n + (st->n ? 1 : 0);
        st->members[st->n++] = member;
    }
    return true;
}

static void drop_member(state *st, size_t i)
{
    st->bytes -= st->members[i].n + (st->n > 1 ? 1 : 0);
    st->n--;
    memmove(&st->members[i], &st->members[i + 1], (st->n - i) * sizeof *st->members);
}

static void fit(state *st)
{
    for (size_t i = st->n; i-- > 0 && st->bytes > CW_TRACE_STATE_MAX;) {
        if (st->members[i].n > LONG_MEMBER)
            drop_member(st, i);
    }
    while (st->bytes > CW_TRACE_STATE_MAX)
        drop_member(st, st->n - 1);
}

cw_str cw_trace_state_read(const cw_str *headers, size_t n, cw_arena *arena)
{
    state st;
    st.n = st.bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!add_members(&st, headers[i]))
            return CW_STR("");
    }
    fit(&st);
    char *text = st.n ? cw_arena_alloc(arena, st.bytes) : NULL;
    if (!text)
        return CW_STR("");
    char *to = text;
    for (size_t i = 0; i < st.n; i++) {
        if (i)
            *to++ = ',';
        memcpy(to, st.members[i].p, st.members[i].n);
        to += st.members[i].n;
    }
    return cw_str_make(text, st.bytes);
}
