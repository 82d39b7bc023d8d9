/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "json/json_int.h"

static uint32_t hex4(const char *p)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t c = (unsigned char)p[i];
        /* '0'-'9' end in their value; 'A' and 'a' end in 1 and have bit 6 set. */
        value = value << 4 | ((c & 0xF) + (c >> 6) * 9);
    }
    return value;
}

static char control_of(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter; /* '"', '\\' and '/' stand for themselves */
    }
}

size_t cw_json_decode(cw_str raw, char *out)
{
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    char *o = out;
    for (;;) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(o, p, run);
        o += run;
        if (!slash)
            return (size_t)(o - out);
        p = slash + 2;
        if (slash[1] != 'u') {
            *o++ = control_of(slash[1]);
            continue;
        }
        uint32_t cp = hex4(p);
        p += 4;
        if (cp >= 0xD800 && cp < 0xDC00) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + (hex4(p + 2) - 0xDC00);
            p += 6;
        }
        o += cw_utf8_encode(cp, o);
    }
}
