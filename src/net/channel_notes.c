/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_notes.c - a program's standard error, in the log: line by line, cut, at most so many a
 * minute. */
#include "base/log.h"
#include "base/utf8.h"
#include "net/channel_int.h"

#define MINUTE_MS 60000u
#define LINES_A_MINUTE 20u
#define COMPONENT "source"

static void tell_left_out(cw_channel *ch)
{
    cw_channel_notes *notes = &ch->notes;
    if (notes->left_out)
        cw_log(CW_LOG_WARN, COMPONENT, "lines of standard error left out",
               CW_KV("source", ch->opts.name), CW_KN("lines", notes->left_out));
    notes->told = notes->left_out = 0;
}

static void tell(cw_channel *ch)
{
    cw_channel_notes *notes = &ch->notes;
    uint64_t now = cw_loop_now(ch->loop);
    cw_str text = {notes->line, notes->n};
    text.n = cw_utf8_cut(text, CW_CHANNEL_NOTE);
    if (text.n < notes->n)
        text.n = cw_secrets_cut(ch->opts.secrets, text);
    text = cw_str_trim(text);
    notes->n = 0;
    if (text.n == 0)
        return;
    if (now - notes->since >= MINUTE_MS) {
        tell_left_out(ch);
        notes->since = now;
    }
    if (notes->told == LINES_A_MINUTE) {
        notes->left_out++;
        return;
    }
    notes->told++;
    CW_CLEANUP(cw_buf_done) cw_buf shown;
    cw_buf_init(&shown, SIZE_MAX / 2);
    cw_secrets_write(ch->opts.secrets, text, &shown);
    cw_log(CW_LOG_INFO, COMPONENT, "standard error", CW_KV("source", ch->opts.name),
           CW_KV("text", cw_buf_str(&shown)));
}

static void add(cw_channel_notes *notes, char c)
{
    if (notes->n == sizeof notes->line)
        return;
    bool is_control = (unsigned char)c < 0x20 || c == 0x7F;
    notes->line[notes->n++] = (char)(is_control ? ' ' : c);
}

void cw_channel_note(cw_channel *ch, cw_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] == '\n')
            tell(ch);
        else
            add(&ch->notes, bytes.p[i]);
    }
}

void cw_channel_end_notes(cw_channel *ch)
{
    tell(ch);
    tell_left_out(ch);
}
