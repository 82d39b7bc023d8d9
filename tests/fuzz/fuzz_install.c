/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_install.c - the editors of `install`. The first byte selects the format. These hold:
 *
 *   - an entry is added, or the text is refused and nothing is written
 *   - adding to a text without the entry only inserts bytes, unless it or its section is empty
 *   - a second time changes nothing, and the origin is recognised
 *   - a text that has the entry can lose it, and then has none
 */
#include "fuzz.h"

#include "base/ascii.h"
#include "cli/install/edit.h"

#define MAX_BYTES ((size_t)8 << 20)

typedef struct target {
    const cw_install_format *format;
    cw_install_place at;
} target;

static const target targets[] = {
    {&cw_install_json, {.section = "s", .name = "ours"}},
    {&cw_install_toml, {.section = "s", .name = "ours"}},
    {&cw_install_yaml, {.section = "s", .name = "ours"}},
    {&cw_install_yaml, {.section = "s", .name = "ours", .is_list = true}},
};

static const cw_json *read_value(cw_arena *arena)
{
    const cw_json *value = NULL;
    cw_str text = CW_STR("{\"name\": \"ours\", \"args\": [\"a\", \"b\"]}");
    CHECK(cw_json_read(text, NULL, arena, &value, NULL, NULL) == CW_OK);
    return value;
}

static bool is_refusal(cw_code rc)
{
    return rc == CW_PARSE || rc == CW_PARAMS || rc == CW_LIMIT;
}

/* Whether all bytes of `part` but white space and those in `ignored` are in `whole`, in their
 * order. */
static bool has_all(cw_str whole, cw_str part, const char *ignored)
{
    size_t i = 0;
    for (size_t at = 0; at < part.n; at++) {
        if (cw_is_space(part.p[at]) || (part.p[at] && strchr(ignored, part.p[at])))
            continue;
        while (i < whole.n && whole.p[i] != part.p[at])
            i++;
        if (i++ == whole.n)
            return false;
    }
    return true;
}

static void check_removal(const target *t, cw_str text, cw_arena *arena)
{
    cw_buf out;
    cw_install_found found = {0};
    cw_buf_init(&out, MAX_BYTES);
    cw_code rc = cw_install_remove(t->format, text, &t->at, true, arena, &out, NULL);
    CHECK(rc == CW_OK);
    CHECK(t->format->find(cw_buf_str(&out), &t->at, arena, NULL, &found, NULL) == CW_OK);
    /* YAML keeps an empty section in front of "..." in brackets. */
    bool has_brackets = found.has_section && t->format == &cw_install_yaml;
    CHECK(!found.entry.p && has_all(text, cw_buf_str(&out), has_brackets ? "{}[]" : ""));
    cw_buf_done(&out);
}

static void check_put(const target *t, cw_str text, cw_arena *arena)
{
    cw_buf out, again;
    cw_install_found before = {0};
    cw_buf_init(&out, MAX_BYTES);
    cw_buf_init(&again, MAX_BYTES);
    cw_code found = t->format->find(text, &t->at, arena, NULL, &before, NULL);
    cw_code rc = cw_install_put(t->format, text, &t->at, read_value(arena), arena, &out, NULL);
    CHECK(rc == CW_OK ? found == CW_OK : is_refusal(rc) && out.n == 0);
    if (!rc) {
        cw_str made = cw_buf_str(&out);
        CHECK(before.entry.p || before.has_section || cw_install_is_blank(text) ||
              has_all(made, text, ""));
        CHECK(cw_install_is_from(t->format, made, text, &t->at, arena));
        CHECK(!cw_install_put(t->format, made, &t->at, read_value(arena), arena, &again, NULL));
        CHECK(cw_str_eq(made, cw_buf_str(&again)));
        check_removal(t, made, arena);
    }
    cw_buf_done(&again);
    cw_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_arena arena;
    if (size == 0)
        return 0;
    const target *t = &targets[data[0] % CW_COUNT(targets)];
    cw_arena_init(&arena, (size_t)256 << 20);
    check_put(t, cw_str_make((const char *)data + 1, size - 1), &arena);
    cw_arena_done(&arena);
    return 0;
}
