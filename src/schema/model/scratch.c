/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scratch.c - a stack of memory blocks that are reused. */
#include <stdlib.h>

#include "schema/model/model.h"

typedef struct cw_schema_block {
    struct cw_schema_block *below;
    struct cw_schema_block *above;
    void *memory;
    size_t cap;
} block;

void cw_schema_scratch_init(cw_schema_scratch *scratch)
{
    *scratch = (cw_schema_scratch){0};
}

void cw_schema_scratch_done(cw_schema_scratch *scratch)
{
    for (block *b = scratch->first; b;) {
        block *above = b->above;
        free(b->memory);
        free(b);
        b = above;
    }
    *scratch = (cw_schema_scratch){0};
}

static block *next_block(cw_schema_scratch *scratch)
{
    block *b = scratch->top ? scratch->top->above : scratch->first;
    if (b)
        return b;
    b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->below = scratch->top;
    if (scratch->top)
        scratch->top->above = b;
    else
        scratch->first = b;
    return b;
}

void *cw_schema_scratch_push(cw_schema_scratch *scratch, size_t bytes)
{
    block *b = next_block(scratch);
    if (!b)
        return NULL;
    if (b->cap < bytes) {
        void *memory = malloc(bytes);
        if (!memory)
            return NULL;
        free(b->memory);
        b->memory = memory;
        b->cap = bytes;
    }
    scratch->top = b;
    return b->memory;
}

void cw_schema_scratch_pop(cw_schema_scratch *scratch)
{
    scratch->top = scratch->top->below;
}
