/* SPDX-License-Identifier: GPL-2.0-or-later */
/* escape.c - text to a JSON string. Most text needs no escape and is copied as a whole. */
#include "json/scan.h"
#include "json/write.h"

#define DEL 0x7F

/* The first byte that cannot be copied as it is, or `end`: one to escape, or one that is not part
 * of well-formed UTF-8. */
static const char *skip_clean(const char *p, const char *end)
{
    while (p < end) {
#if SCAN_SSE2
        while (end - p >= 16) {
            __m128i x = load16(p);
            __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(DEL));
            unsigned bits = special_bits(x) | (unsigned)_mm_movemask_epi8(del);
            if (bits) {
                p += first_bit(bits);
                break;
            }
            p += 16;
        }
#endif
        while (p < end && is_plain(*p) && *p != DEL)
            p++;
        if (p == end || (signed char)*p >= 0)
            return p;
        size_t n = sequence_len(p, end);
        if (n == 0)
            return p;
        p += n;
    }
    return p;
}

static void add_escaped(cw_buf *out, char c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: byte, letter */
    if ((signed char)c < 0) {
        cw_buf_add(out, CW_STR("\xEF\xBF\xBD"));
        return;
    }
    for (const char *pair = short_forms; *pair; pair += 2) {
        if (*pair == c) {
            cw_buf_add_bytes(out, (const char[]){'\\', pair[1]}, 2);
            return;
        }
    }
    static const char hex[] = "0123456789abcdef";
    cw_buf_add_bytes(out, (const char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

void cw_json_escape(cw_buf *out, cw_str text)
{
    const char *p = text.p;
    const char *end = text.n ? text.p + text.n : p;
    /* Every byte becomes at least one, so this room is needed in any case. */
    if (text.n > SIZE_MAX - 2 || !cw_buf_reserve(out, text.n + 2))
        return;
    cw_buf_add_char(out, '"');
    for (;;) {
        const char *clean = p;
        p = skip_clean(p, end);
        cw_buf_add_bytes(out, clean, (size_t)(p - clean));
        if (p == end)
            break;
        add_escaped(out, *p++);
    }
    cw_buf_add_char(out, '"');
}
