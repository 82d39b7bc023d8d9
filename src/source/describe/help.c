/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - `help`: one line of usage for each method, as a text or in a list.
 *
 *     getblock "blockhash" ( verbosity )          Bitcoin Core and its kin: (…) may be left out
 *     {"help":[{"command":"pay bolt11 [label]"}]} Core Lightning: […] may be left out
 *
 * A line with more than names in it shows that the method has params, but not which.
 */
#include "source/describe/describe_ctx.h"

#define PARAMS_MAX 32u

typedef struct usage {
    cw_str method;
    cw_str params[PARAMS_MAX];
    bool required[PARAMS_MAX];
    size_t n;
    bool is_clear;
} usage;

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("help"), CW_STR(""), 0, err);
}

static bool is_name(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
        if (!is_fine)
            return false;
    }
    return s.n > 0;
}

/* A word without quotes and brackets around it. Brackets mean that the param may be left out. */
static cw_str strip(cw_str word, bool *optional)
{
    while (word.n && strchr("[(", word.p[0])) {
        *optional = true;
        word = cw_str_make(word.p + 1, word.n - 1);
    }
    while (word.n && strchr("])", word.p[word.n - 1]))
        word.n--;
    if (word.n > 1 && word.p[0] == '"' && word.p[word.n - 1] == '"')
        word = cw_str_make(word.p + 1, word.n - 2);
    return word;
}

static void read_usage(cw_str line, usage *ret)
{
    bool in_optional = false;
    cw_str rest = cw_str_trim(line);
    *ret = (usage){.method = cw_str_cut(rest, ' ', &rest), .is_clear = true};
    while (rest.p && ret->is_clear) {
        cw_str word = cw_str_cut(rest, ' ', &rest);
        if (word.n == 0)
            continue;
        if (cw_str_is(word, "(") || cw_str_is(word, ")")) {
            in_optional = word.p[0] == '(';
            continue;
        }
        bool optional = in_optional;
        cw_str name = strip(word, &optional);
        ret->is_clear = is_name(name) && ret->n < PARAMS_MAX;
        if (!ret->is_clear)
            return;
        ret->params[ret->n] = name;
        ret->required[ret->n++] = !optional;
    }
}

static void write_line(cw_openrpc_writer *doc, cw_str line, cw_str description)
{
    usage u;
    read_usage(line, &u);
    if (!is_name(u.method))
        return;
    cw_openrpc_writer_method(doc, u.method, description.n ? description : cw_str_trim(line));
    for (size_t i = 0; i < u.n && u.is_clear; i++)
        cw_openrpc_writer_param(
            doc, &(cw_openrpc_writer_param_opts){.name = u.params[i], .required = u.required[i]});
    if (!u.is_clear)
        cw_openrpc_writer_any_params(doc);
    cw_openrpc_writer_close_method(doc);
}

static void write_text(cw_openrpc_writer *doc, cw_str text)
{
    for (cw_str rest = text; rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n && line.p[0] != '=' && line.p[0] != ' ')
            write_line(doc, line, CW_STR(""));
    }
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, "help", outcome);
        return;
    }
    const cw_json *list = cw_json_is(outcome->result, CW_JSON_ARRAY)
                              ? outcome->result
                              : cw_json_get(outcome->result, CW_STR("help"));
    bool is_text = cw_json_is(outcome->result, CW_JSON_STRING);
    if (!is_text && !cw_json_is(list, CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, "help: neither a text nor a list");
        return;
    }
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    if (is_text)
        write_text(&doc, cw_json_text(outcome->result));
    for (const cw_json *v = is_text ? NULL : cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING))
            write_line(&doc, cw_json_text(v), CW_STR(""));
        else
            write_line(&doc, cw_describe_text(v, "command"), cw_describe_text(v, "description"));
    }
    cw_openrpc_writer_finish(&doc, d);
}

const cw_describer cw_describe_help = {
    .name = "help", .is_quick = true, .begin = begin, .incoming = incoming};
