/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roff.c - escapes texts, and writes macros. */
#include "manual/roff.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/ascii.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 78u
/* A longer word, such as a value in JSON, may not fit into a line. */
#define LONG_WORD 40u

/* ---- escapes ---- */

typedef struct escape {
    char c;
    const char *text;
} escape;

static const escape escapes[] = {
    {'\\', "\\e"},  {'-', "\\-"},   {'"', "\\(dq"}, {'\'', "\\(aq"},
    {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"},
};

static const char *find_escape(char c)
{
    for (size_t i = 0; i < CW_COUNT(escapes); i++)
        if (escapes[i].c == c)
            return escapes[i].text;
    return NULL;
}

/* A character beyond ASCII is written by its number. Returns the bytes that it has. */
static size_t add_character(cw_buf *out, cw_str text)
{
    uint32_t code = 0;
    unsigned n = cw_utf8_decode(text.p, text.n, &code);
    if (n)
        cw_buf_printf(out, "\\[u%04X]", (unsigned)code);
    return n ? n : 1;
}

void cw_roff_escape(cw_buf *out, cw_str text)
{
    for (size_t i = 0; i < text.n;) {
        const char *instead = find_escape(text.p[i]);
        if (instead) {
            cw_buf_add(out, cw_str_from(instead));
            i++;
        } else if ((unsigned char)text.p[i] >= 0x80) {
            i += add_character(out, cw_str_make(text.p + i, text.n - i));
        } else {
            cw_buf_add_char(out, text.p[i++]);
        }
    }
}

/* ---- text ---- */

static bool ends_sentence(cw_str word)
{
    while (word.n && strchr(")\"'", word.p[word.n - 1]))
        word.n--;
    return word.n && strchr(".!?", word.p[word.n - 1]);
}

/* A word with capitals, digits or signs inside must not be hyphenated. */
static bool is_name(cw_str word)
{
    while (word.n && strchr(".,;:)\"", word.p[word.n - 1]))
        word.n--;
    for (size_t i = 1; i < word.n; i++)
        if (!cw_is_lower(word.p[i]))
            return true;
    return false;
}

/* A long word may be broken after its commas. */
static void escape_word(cw_buf *out, cw_str word)
{
    const char *comma;
    while (word.n > LONG_WORD && (comma = memchr(word.p, ',', word.n - 1)) != NULL) {
        size_t n = (size_t)(comma - word.p) + 1;
        cw_roff_escape(out, cw_str_make(word.p, n));
        cw_buf_add(out, CW_STR("\\:"));
        word = cw_str_make(word.p + n, word.n - n);
    }
    cw_roff_escape(out, word);
}

/* Add a word behind `*column` bytes of a line, or on a new line. */
static void add_word(cw_buf *out, cw_str word, size_t *column)
{
    CW_CLEANUP(cw_buf_done) cw_buf escaped;
    cw_buf_init(&escaped, LINE_MAX_BYTES * LINE_MAX_BYTES);
    if (is_name(word))
        cw_buf_add(&escaped, CW_STR("\\%"));
    escape_word(&escaped, word);
    if (*column && *column + 1 + escaped.n > LINE_MAX_BYTES) {
        cw_buf_add_char(out, '\n');
        *column = 0;
    }
    if (*column)
        cw_buf_add_char(out, ' ');
    else if (word.p[0] == '.') /* it would be a macro */
        cw_buf_add(out, CW_STR("\\&"));
    cw_buf_add(out, cw_buf_str(&escaped));
    *column += 1 + escaped.n;
}

void cw_roff_text(cw_buf *out, cw_str text)
{
    size_t column = 0;
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && !strchr(" \n", text.p[i + n]))
            n++;
        cw_str word = cw_str_make(text.p + i, n);
        i += n + 1;
        if (!n)
            continue;
        add_word(out, word, &column);
        if (ends_sentence(word)) {
            cw_buf_add_char(out, '\n');
            column = 0;
        }
    }
    if (column)
        cw_buf_add_char(out, '\n');
}

static bool is_indented(cw_str line)
{
    return cw_str_starts(line, CW_STR("  "));
}

/* The lines from the beginning of a text that all are indented, or all are not. */
static cw_str take_lines(cw_str *text)
{
    const char *p = text->p;
    bool indented = is_indented(*text);
    while (text->p && is_indented(*text) == indented)
        (void)cw_str_cut(*text, '\n', text);
    size_t n = text->p ? (size_t)(text->p - p) : strlen(p);
    return cw_str_make(p, n);
}

static void add_list(cw_buf *out, cw_str lines)
{
    cw_roff_open_list(out);
    while (lines.p && lines.n) {
        cw_str line = cw_str_trim(cw_str_cut(lines, '\n', &lines)), rest;
        cw_str word = cw_str_cut(line, ' ', &rest);
        cw_roff_item(out, "Cm", word);
        cw_roff_text(out, cw_str_trim(rest.p ? rest : CW_STR("")));
    }
    cw_roff_close_list(out);
}

void cw_roff_prose(cw_buf *out, const char *text)
{
    cw_str rest = cw_str_from(text);
    bool is_behind_list = false;
    while (rest.p && rest.n) {
        bool is_list = is_indented(rest);
        cw_str lines = take_lines(&rest);
        if (is_behind_list)
            cw_buf_add(out, CW_STR(".Pp\n"));
        if (is_list)
            add_list(out, lines);
        else
            cw_roff_text(out, lines);
        is_behind_list = is_list;
    }
}

/* ---- macros ---- */

/* Reproducible builds set SOURCE_DATE_EPOCH. */
static void add_date(cw_buf *out)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    const char *given = getenv("SOURCE_DATE_EPOCH");
    uint64_t seconds = 0;
    struct tm day;
    time_t now =
        given && cw_str_to_u64(cw_str_from(given), &seconds) ? (time_t)seconds : time(NULL);
    if (!gmtime_r(&now, &day))
        return;
    cw_buf_printf(out, ".Dd %s %d, %d\n", months[day.tm_mon], day.tm_mday, day.tm_year + 1900);
}

void cw_roff_open(cw_buf *out, const char *name, int section, const char *about)
{
    add_date(out);
    cw_buf_add(out, CW_STR(".Dt "));
    for (const char *p = name; *p; p++)
        cw_buf_add_char(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    cw_buf_printf(out, " %d\n.Os \"Causeway " CW_VERSION "\"\n", section);
    cw_roff_section(out, "NAME");
    cw_buf_add(out, CW_STR(".Nm "));
    cw_roff_escape(out, cw_str_from(name));
    cw_buf_add(out, CW_STR("\n.Nd "));
    cw_roff_escape(out, cw_str_from(about));
    cw_buf_add_char(out, '\n');
}

void cw_roff_section(cw_buf *out, const char *heading)
{
    cw_buf_printf(out, ".Sh %s\n", heading);
}

void cw_roff_subsection(cw_buf *out, const char *heading)
{
    cw_buf_add(out, CW_STR(".Ss "));
    cw_roff_escape(out, cw_str_from(heading));
    cw_buf_add_char(out, '\n');
}

/* A short word could be the name of a macro. */
static void add_macro_word(cw_buf *out, cw_str word)
{
    if (word.n <= 3)
        cw_buf_add(out, CW_STR("\\&"));
    cw_roff_escape(out, word);
}

void cw_roff_open_list(cw_buf *out)
{
    cw_buf_add(out, CW_STR(".Bl -tag -width Ds\n"));
}

void cw_roff_item(cw_buf *out, const char *macro, cw_str word)
{
    cw_buf_printf(out, ".It %s%s", macro, macro[0] ? " " : "");
    add_macro_word(out, word);
    cw_buf_add_char(out, '\n');
}

void cw_roff_close_list(cw_buf *out)
{
    cw_buf_add(out, CW_STR(".El\n"));
}

void cw_roff_value(cw_buf *out, const char *value)
{
    if (!value)
        return;
    cw_buf_add(out, CW_STR("Ar "));
    add_macro_word(out, cw_str_from(value));
}

/* One alternative of an argument: "FILE", "[ARGUMENT...]" without brackets, "--all" or "|". */
static void add_argument(cw_buf *out, cw_str word)
{
    bool is_repeated = cw_str_ends(word, CW_STR("..."));
    if (is_repeated)
        word.n -= 3;
    if (cw_str_starts(word, CW_STR("-"))) {
        cw_buf_add(out, CW_STR("Fl "));
        word = cw_str_make(word.p + 1, word.n - 1);
    } else {
        cw_buf_add(out, CW_STR("Ar "));
    }
    add_macro_word(out, word);
    if (is_repeated)
        cw_buf_add(out, CW_STR(" ..."));
}

void cw_roff_arguments(cw_buf *out, const char *args)
{
    cw_str rest = cw_str_from(args);
    while (rest.p && rest.n) {
        cw_str word = cw_str_cut(rest, ' ', &rest);
        bool is_optional = cw_str_starts(word, CW_STR("["));
        if (is_optional)
            word = cw_str_make(word.p + 1, word.n - 2);
        /* "CLIENT | --all" */
        bool has_alternative = rest.p && cw_str_starts(rest, CW_STR("| "));
        cw_buf_add(out, is_optional ? CW_STR(".Op ") : CW_STR("."));
        for (cw_str next = word; next.p; word = next) {
            add_argument(out, cw_str_cut(word, '|', &next));
            if (next.p || has_alternative)
                cw_buf_add(out, CW_STR(" | "));
        }
        if (has_alternative) {
            (void)cw_str_cut(rest, ' ', &rest);
            add_argument(out, cw_str_cut(rest, ' ', &rest));
        }
        cw_buf_add_char(out, '\n');
    }
}

void cw_roff_see_also(cw_buf *out, const char *const *pages)
{
    cw_roff_section(out, "SEE ALSO");
    for (; *pages; pages++) {
        cw_buf_add(out, CW_STR(".Xr "));
        cw_roff_escape(out, cw_str_from(*pages));
        cw_buf_add(out, pages[1] ? CW_STR(" ,\n") : CW_STR("\n"));
    }
}
