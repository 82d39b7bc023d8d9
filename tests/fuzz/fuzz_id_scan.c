/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_id_scan.c - whatever the bytes are, these hold:
 *
 *   - an id that is found is a string or an integer
 *   - the pieces in which a message comes make no difference
 *   - in a message that can be read, the id is the one that a reader finds
 *
 * The first byte is the size of the pieces.
 */
#include "fuzz.h"

#include "json/id_scan.h"
#include "json/json.h"

#define ARENA_MAX ((size_t)256 << 20)

static cw_str scan_pieces(cw_json_id_scan *scan, cw_str text, size_t step)
{
    cw_json_id_scan_init(scan);
    for (size_t at = 0; at < text.n; at += step)
        cw_json_id_scan_add(scan,
                            cw_str_make(text.p + at, text.n - at < step ? text.n - at : step));
    return cw_json_id_scan_end(scan);
}

static bool is_same(cw_str a, cw_str b)
{
    return a.p && b.p ? cw_str_eq(a, b) : !a.p && !b.p;
}

/* The id of a request that a reader finds; integers with a fraction or an exponent do not count. */
static cw_str read_id(const cw_json *root)
{
    const cw_json *id = cw_json_get(root, CW_STR("id"));
    bool is_id =
        cw_json_is(id, CW_JSON_STRING) ||
        (cw_json_is(id, CW_JSON_NUMBER) && !(id->meta & (CW_JSON_FRACTION | CW_JSON_EXPONENT)));
    if (!cw_json_is(root, CW_JSON_OBJECT) ||
        !cw_json_is(cw_json_get(root, CW_STR("method")), CW_JSON_STRING) || !is_id ||
        cw_json_span(id).n > CW_JSON_ID_MAX)
        return (cw_str){NULL, 0};
    return cw_json_span(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    cw_str text = cw_str_make((const char *)data + 1, size - 1);
    cw_json_id_scan whole, pieces;
    cw_str id = scan_pieces(&whole, text, size);
    CHECK(is_same(id, scan_pieces(&pieces, text, 1u + data[0])));
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *root;
    if (id.p) {
        CHECK(cw_json_read(id, NULL, &arena, &root, NULL, NULL) == CW_OK);
        CHECK(cw_json_is(root, CW_JSON_STRING) || cw_json_is_integer(root));
    }
    if (cw_json_read(text, NULL, &arena, &root, NULL, NULL) == CW_OK)
        CHECK(is_same(id, read_id(root)));
    cw_arena_done(&arena);
    return 0;
}
