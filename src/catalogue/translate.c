/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.c - methods and tools with translated texts. */
#include "catalogue/translate.h"

#include "catalogue/tool/tool_json.h"

/* ---- the texts ---- */

#define TITLE 0u
#define USAGE 1u
#define PARAMS 2u /* the first of them */

static cw_phrase phrase_at(const cw_method *method, size_t at)
{
    if (at == TITLE)
        return (cw_phrase){.text = method->mark ? method->mark->title : CW_STR(""),
                           .param = CW_STR(""),
                           .is_title = true};
    if (at == USAGE)
        return (cw_phrase){.text = method->usage, .param = CW_STR("")};
    const cw_param *param = &method->params[at - PARAMS];
    return (cw_phrase){.text = param->description, .param = param->name};
}

bool cw_phrase_next(const cw_method *method, size_t *at, cw_phrase *ret)
{
    while (*at < PARAMS + method->n_params) {
        *ret = phrase_at(method, (*at)++);
        if (ret->text.n)
            return true;
    }
    return false;
}

/* ---- methods ---- */

static cw_str text_of(const cw_language *language, const cw_method *method, cw_str text)
{
    return text.n ? cw_language_text(language, method->id, text) : text;
}

static bool is_translated(const cw_language *language, const cw_method *method)
{
    cw_phrase phrase;
    size_t at = 0;
    while (cw_phrase_next(method, &at, &phrase)) {
        if (text_of(language, method, phrase.text).p != phrase.text.p)
            return true;
    }
    return false;
}

const cw_method *cw_translate_method(const cw_language *language, const cw_method *method,
                                     cw_arena *arena)
{
    if (!language || !is_translated(language, method))
        return method;
    cw_method *copy = cw_arena_alloc(arena, sizeof *copy);
    cw_param *params = cw_arena_calloc(arena, method->n_params + 1, sizeof *params);
    cw_mark *mark = cw_arena_calloc(arena, 1, sizeof *mark);
    if (!copy || !params || !mark)
        return NULL;
    *copy = *method;
    copy->usage = text_of(language, method, method->usage);
    for (size_t i = 0; i < method->n_params; i++) {
        params[i] = method->params[i];
        params[i].description = text_of(language, method, params[i].description);
    }
    copy->params = params;
    if (method->mark) {
        *mark = *method->mark;
        mark->title = text_of(language, method, mark->title);
        copy->mark = mark;
    }
    return copy;
}

/* ---- tools ---- */

void cw_translate_tool(cw_buf *out, const cw_entry *entry, cw_tool_form form,
                       const cw_language *language)
{
    cw_arena arena;
    cw_entry translated = *entry;
    /* As large as the method, which came through the ceilings of its source. */
    cw_arena_init(&arena, CW_ARENA_MAX);
    translated.method = cw_translate_method(language, entry->method, &arena);
    if (translated.method)
        cw_tool_write(&translated, form, out);
    else if (!out->code)
        out->code = CW_NOMEM;
    cw_arena_done(&arena);
}
