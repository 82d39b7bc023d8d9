/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.c - shows the change of a file. */
#include "cli/install/install.h"

#define CONTEXT_LINES 2u

static cw_str line_at(cw_str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);
    return cw_str_make(text.p + at, end ? (size_t)(end - text.p) + 1 - at : text.n - at);
}

static void add_lines(cw_buf *out, cw_str text, char mark)
{
    for (size_t at = 0; at < text.n;) {
        cw_str line = line_at(text, at);
        cw_buf_add_char(out, mark);
        cw_buf_add(out, line);
        if (line.p[line.n - 1] != '\n')
            cw_buf_add_char(out, '\n');
        at += line.n;
    }
}

/* Bytes of whole lines that both texts begin with. */
static size_t same_begin(cw_str a, cw_str b)
{
    size_t at = 0;
    while (at < a.n && at < b.n) {
        cw_str x = line_at(a, at), y = line_at(b, at);
        if (!cw_str_eq(x, y))
            break;
        at += x.n;
    }
    return at;
}

static size_t same_end(cw_str a, cw_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
        n++;
    /* Up to the begin of a line of both. */
    while (n && ((n < a.n && a.p[a.n - n - 1] != '\n') || (n < b.n && b.p[b.n - n - 1] != '\n')))
        n--;
    return n;
}

static size_t lines_back(cw_str text, size_t at)
{
    for (unsigned lines = 0; at > 0; at--) {
        if (text.p[at - 1] == '\n' && lines++ == CONTEXT_LINES)
            break;
    }
    return at;
}

static size_t lines_on(cw_str text, size_t at)
{
    for (unsigned lines = 0; at < text.n && lines < CONTEXT_LINES; lines++)
        at += line_at(text, at).n;
    return at;
}

void cw_install_add_diff(cw_buf *out, cw_str old_text, cw_str new_text)
{
    size_t begin = same_begin(old_text, new_text);
    cw_str a = cw_str_make(old_text.p + begin, old_text.n - begin);
    cw_str b = cw_str_make(new_text.p + begin, new_text.n - begin);
    size_t end = same_end(a, b);
    size_t from = lines_back(old_text, begin), behind = old_text.n - end;
    add_lines(out, cw_str_make(old_text.p + from, begin - from), ' ');
    add_lines(out, cw_str_make(a.p, a.n - end), '-');
    add_lines(out, cw_str_make(b.p, b.n - end), '+');
    add_lines(out, cw_str_make(old_text.p + behind, lines_on(old_text, behind) - behind), ' ');
}
