/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sanitize.c - stack traces and paths are cut out of errors.
 *
 * Stack traces and file paths show an attacker how a service is built, and are of no use to a
 * language model. They are found by their form, so some will pass and some harmless text will be
 * cut. The log has the original without secrets.
 */
#include "source/protocol/sanitize.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/write.h"

#define PATH_IS CW_STR("[path]")
#define CLASS_IS CW_STR("[class]")

/* Usual directories of programs and their files. */
static const cw_str roots[] = {
    CW_STR_INIT("app"),     CW_STR_INIT("bin"),   CW_STR_INIT("etc"),       CW_STR_INIT("home"),
    CW_STR_INIT("lib"),     CW_STR_INIT("lib64"), CW_STR_INIT("mnt"),       CW_STR_INIT("nix"),
    CW_STR_INIT("opt"),     CW_STR_INIT("proc"),  CW_STR_INIT("root"),      CW_STR_INIT("run"),
    CW_STR_INIT("sbin"),    CW_STR_INIT("srv"),   CW_STR_INIT("tmp"),       CW_STR_INIT("usr"),
    CW_STR_INIT("var"),     CW_STR_INIT("Users"), CW_STR_INIT("Library"),   CW_STR_INIT("private"),
    CW_STR_INIT("Volumes"), CW_STR_INIT("build"), CW_STR_INIT("workspace"),
};

/* Suffixes of files that do not belong into an error message. */
static const cw_str endings[] = {
    CW_STR_INIT(".c"),      CW_STR_INIT(".cc"),   CW_STR_INIT(".cpp"),    CW_STR_INIT(".cs"),
    CW_STR_INIT(".db"),     CW_STR_INIT(".go"),   CW_STR_INIT(".h"),      CW_STR_INIT(".inc"),
    CW_STR_INIT(".ini"),    CW_STR_INIT(".java"), CW_STR_INIT(".js"),     CW_STR_INIT(".mjs"),
    CW_STR_INIT(".module"), CW_STR_INIT(".php"),  CW_STR_INIT(".pl"),     CW_STR_INIT(".py"),
    CW_STR_INIT(".rb"),     CW_STR_INIT(".rs"),   CW_STR_INIT(".sqlite"), CW_STR_INIT(".so"),
    CW_STR_INIT(".sql"),    CW_STR_INIT(".ts"),   CW_STR_INIT(".conf"),   CW_STR_INIT(".env"),
};

static const cw_str trace_names[] = {
    CW_STR_INIT("trace"),      CW_STR_INIT("traceback"), CW_STR_INIT("stack"),
    CW_STR_INIT("stacktrace"), CW_STR_INIT("backtrace"), CW_STR_INIT("callstack"),
};

static const cw_str trace_texts[] = {
    CW_STR_INIT("Traceback (most recent call last)"),
    CW_STR_INIT("\n    at "),
    CW_STR_INIT("\n\tat "),
    CW_STR_INIT("\n#0 "),
    CW_STR_INIT("\", line "),
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-' || c == '/' || c == '\\' || c == '~' || (unsigned char)c >= 0x80;
}

static size_t word_length(cw_str s)
{
    size_t n = 0;
    while (n < s.n && is_word(s.p[n]))
        n++;
    return n;
}

/* "/usr/lib/x", but not "/articles/5". */
static bool is_rooted(cw_str word)
{
    cw_str rest;
    cw_str first = cw_str_cut(cw_str_make(word.p + 1, word.n - 1), '/', &rest);
    for (size_t i = 0; i < CW_COUNT(roots); i++) {
        if (rest.p && cw_str_eq(first, roots[i]))
            return true;
    }
    for (size_t i = 0; i < CW_COUNT(endings); i++) {
        if (cw_str_ends(word, endings[i]))
            return true;
    }
    return false;
}

/* How much of `s` is the path of a file, which begins where `s` does; 0: none. */
static size_t path_length(cw_str s)
{
    size_t scheme = cw_str_starts(s, CW_STR("file://")) ? 7 : 0;
    size_t n = scheme + word_length(cw_str_make(s.p + scheme, s.n - scheme));
    cw_str word = {s.p, n};
    if (scheme)
        return n;
    if (s.n > 2 && cw_is_letter(s.p[0]) && s.p[1] == ':' && s.p[2] == '\\')
        return 2 + word_length(cw_str_make(s.p + 2, s.n - 2));
    if (cw_str_starts(word, CW_STR("~/")) || cw_str_starts(word, CW_STR("\\\\")))
        return n;
    /* A sentence may end behind it. */
    while (word.n && word.p[word.n - 1] == '.')
        word.n--;
    return word.n > 1 && word.p[0] == '/' && is_rooted(word) ? word.n : 0;
}

/* How much of `s` is the name of a class with its namespace, as PHP has them: Drupal\Core\Url; 0:
 * it is none. Two parts alone may be a domain and a user. */
static size_t class_length(cw_str s)
{
    size_t n = s.n && s.p[0] == '\\', end = 0;
    unsigned parts = 0;
    for (;;) {
        size_t from = n;
        while (n < s.n && (cw_is_letter(s.p[n]) || s.p[n] == '_' ||
                           (n > from && s.p[n] >= '0' && s.p[n] <= '9')))
            n++;
        if (n == from)
            break;
        end = n;
        parts++;
        if (n == s.n || s.p[n] != '\\')
            break;
        n++;
    }
    return parts > 2 ? end : 0;
}

/* The length of the text at `at` that must not be shown, and its replacement; 0: none. */
static size_t hidden_at(cw_str s, size_t at, cw_str *ret_as)
{
    cw_str rest = {s.p + at, s.n - at};
    if (at && is_word(s.p[at - 1]))
        return 0; /* within a word */
    if (at && s.p[at - 1] == ':' && cw_str_starts(rest, CW_STR("//")))
        return 0; /* within a URL */
    *ret_as = CLASS_IS;
    size_t n = class_length(rest);
    if (n)
        return n;
    *ret_as = PATH_IS;
    return path_length(rest);
}

static bool has_hidden(cw_str s)
{
    cw_str as;
    for (size_t i = 0; i < s.n; i++) {
        if (hidden_at(s, i, &as))
            return true;
    }
    return false;
}

static bool has_trace(cw_str s)
{
    for (size_t i = 0; i < CW_COUNT(trace_texts); i++) {
        if (memmem(s.p, s.n, trace_texts[i].p, trace_texts[i].n))
            return true;
    }
    return false;
}

/* ---- messages ---- */

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* The first line, cut to the bytes that can be in a message. */
static cw_str first_line(cw_str s)
{
    size_t n = 0;
    while (n < s.n && n < 4 * CW_REMOTE_MESSAGE_MAX && s.p[n] != '\n' && s.p[n] != '\r')
        n++;
    return cw_str_trim(cw_str_make(s.p, cw_utf8_cut(s, n)));
}

static bool must_change(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (is_control(s.p[i]))
            return true;
    }
    return s.n > CW_REMOTE_MESSAGE_MAX || has_hidden(s);
}

/* `text` with paths and classes replaced; .p is NULL without memory. Control characters become
 * spaces where `is_line`. */
static cw_str replace_hidden(cw_str text, bool is_line, cw_arena *arena)
{
    /* A path has two bytes at least, a class five. */
    char *out = cw_arena_alloc(arena, text.n * PATH_IS.n / 2 + CLASS_IS.n);
    if (!out)
        return (cw_str){NULL, 0};
    size_t n = 0;
    for (size_t i = 0; i < text.n;) {
        cw_str as;
        size_t hidden = hidden_at(text, i, &as);
        if (hidden) {
            memcpy(out + n, as.p, as.n);
            n += as.n;
            i += hidden;
            continue;
        }
        out[n++] = is_line && is_control(text.p[i]) ? ' ' : text.p[i];
        i++;
    }
    return cw_str_make(out, n);
}

cw_str cw_sanitize_message(cw_str message, cw_arena *arena)
{
    cw_str line = first_line(message);
    if (!must_change(line))
        return line;
    cw_str out = replace_hidden(line, /* is_line= */ true, arena);
    if (!out.p)
        return out;
    return cw_str_make(out.p, cw_utf8_cut(out, CW_REMOTE_MESSAGE_MAX));
}

/* ---- data ---- */

/* Whether a member's name is one of the list, case, '_' and '-' ignored. */
static bool is_trace_name(cw_str name)
{
    char plain[16];
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '_' || name.p[i] == '-')
            continue;
        if (n == sizeof plain)
            return false;
        plain[n++] = name.p[i];
    }
    for (size_t i = 0; i < CW_COUNT(trace_names); i++) {
        if (cw_str_ieq(cw_str_make(plain, n), trace_names[i]))
            return true;
    }
    return false;
}

/* Whether data can be shown as it is. */
static bool is_fit(const cw_json *data)
{
    /* The tape of all its values, in order. */
    for (const cw_json *v = data, *end = cw_json_after(data); v < end; v++) {
        if (!cw_json_is(v, CW_JSON_STRING))
            continue;
        cw_str text = cw_json_text(v);
        if ((v->meta & CW_JSON_KEY) && is_trace_name(text))
            return false;
        if (has_hidden(text) || has_trace(text))
            return false;
    }
    return true;
}

static void write_text(cw_json_writer *w, cw_str text, cw_arena *arena)
{
    /* A stack trace begins in the next line. */
    cw_str exposed = has_trace(text) ? first_line(text) : text;
    if (has_trace(exposed))
        exposed = CW_STR("");
    if (has_hidden(exposed))
        exposed = replace_hidden(exposed, /* is_line= */ false, arena);
    if (exposed.p)
        cw_json_add_string(w, exposed);
    else
        w->out->code = CW_NOMEM;
}

/* The reader has bounded how deep this goes. */
static void write_scrubbed(cw_json_writer *w, const cw_json *v, cw_arena *arena)
{
    if (cw_json_is(v, CW_JSON_STRING)) {
        write_text(w, cw_json_text(v), arena);
    } else if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(w);
        for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item))
            write_scrubbed(w, item, arena);
        cw_json_close(w);
    } else if (cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_open_object(w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_str key = cw_json_text(k);
            if (is_trace_name(key) || has_hidden(key) || has_trace(key))
                continue;
            cw_json_add_key(w, key);
            write_scrubbed(w, cw_json_value(k), arena);
        }
        cw_json_close(w);
    } else {
        cw_json_add_value(w, v);
    }
}

static bool is_empty(const cw_json *v)
{
    bool has_members = cw_json_is(v, CW_JSON_OBJECT) || cw_json_is(v, CW_JSON_ARRAY);
    return has_members ? cw_json_count(v) == 0 : cw_json_is(v, CW_JSON_STRING) && v->n == 0;
}

const cw_json *cw_sanitize_data(const cw_json *data, cw_arena *arena)
{
    const cw_json *scrubbed = NULL;
    if (cw_json_span(data).n > CW_REMOTE_DATA_MAX)
        return NULL;
    if (is_fit(data))
        return data;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, 8u * CW_REMOTE_DATA_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    write_scrubbed(&w, data, arena);
    if (cw_json_writer_end(&w, NULL))
        return NULL;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&out));
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    if (!text.p || cw_json_read(text, &opts, arena, &scrubbed, NULL, NULL))
        return NULL;
    return is_empty(scrubbed) || !is_fit(scrubbed) ? NULL : scrubbed;
}

bool cw_sanitize_has_no_secret(const cw_secrets *secrets, const cw_json *data)
{
    if (!secrets || secrets->n == 0)
        return true;
    if (cw_secrets_are_in(secrets, cw_json_span(data)))
        return false;
    for (const cw_json *v = data, *end = cw_json_after(data); v < end; v++) {
        if ((v->meta & CW_JSON_DECODED) && cw_secrets_are_in(secrets, cw_json_text(v)))
            return false;
    }
    return true;
}
