/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_stream.c - lines, and the events that they make. */
#include "source/relay/event_stream.h"

void cw_event_stream_init(cw_event_stream *s, size_t max)
{
    *s = (cw_event_stream){.code = CW_OK};
    cw_buf_init(&s->line, max);
    cw_buf_init(&s->data, max);
}

void cw_event_stream_done(cw_event_stream *s)
{
    cw_buf_done(&s->line);
    cw_buf_done(&s->data);
}

static void take_id(cw_event_stream *s, cw_str value)
{
    bool is_fit = value.n <= CW_EVENT_ID_MAX;
    for (size_t i = 0; i < value.n && is_fit; i++)
        is_fit = value.p[i] >= ' ' && value.p[i] < 127;
    if (is_fit && value.n)
        memcpy(s->next_id, value.p, value.n);
    s->next_id[is_fit ? value.n : 0] = 0;
}

static void take_retry(cw_event_stream *s, cw_str value)
{
    uint64_t ms;
    if (cw_str_to_u64(value, &ms))
        s->retry_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static void take_field(cw_event_stream *s, cw_str line)
{
    cw_str value;
    cw_str name = cw_str_cut(line, ':', &value);
    if (value.p && value.n && value.p[0] == ' ')
        value = cw_str_make(value.p + 1, value.n - 1);
    if (cw_str_is(name, "id"))
        take_id(s, value);
    else if (cw_str_is(name, "retry"))
        take_retry(s, value);
    if (!cw_str_is(name, "data"))
        return;
    if (s->has_data)
        cw_buf_add_char(&s->data, '\n');
    if (value.p)
        cw_buf_add(&s->data, value);
    s->has_data = true;
}

/* A whole line. True: it ended an event with data. */
static bool take_line(cw_event_stream *s)
{
    bool is_end = s->line.n == 0;
    if (!is_end)
        take_field(s, cw_buf_str(&s->line));
    cw_buf_clear(&s->line);
    if (is_end)
        memcpy(s->id, s->next_id, sizeof s->id);
    if (!is_end || !s->has_data)
        return false;
    s->has_data = false;
    s->was_given = true;
    return true;
}

/* Bytes before the end of the line. */
static size_t line_length(cw_str in)
{
    size_t n = 0;
    while (n < in.n && in.p[n] != '\n' && in.p[n] != '\r')
        n++;
    return n;
}

bool cw_event_stream_next(cw_event_stream *s, cw_str *piece, cw_str *ret_data)
{
    if (s->was_given)
        cw_buf_clear(&s->data);
    s->was_given = false;
    while (piece->n && !s->code) {
        if (s->was_cr && piece->p[0] == '\n')
            *piece = cw_str_make(piece->p + 1, piece->n - 1);
        s->was_cr = false;
        size_t n = line_length(*piece);
        cw_buf_add_bytes(&s->line, piece->p, n);
        bool is_whole = n < piece->n;
        s->was_cr = is_whole && piece->p[n] == '\r';
        n += is_whole;
        *piece = cw_str_make(piece->p + n, piece->n - n);
        bool is_event = is_whole && take_line(s);
        s->code = s->line.code ? s->line.code : s->data.code;
        if (is_event && !s->code) {
            *ret_data = cw_buf_str(&s->data);
            return true;
        }
    }
    return false;
}
