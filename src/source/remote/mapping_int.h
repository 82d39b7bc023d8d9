/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapping_int.h - a plan, for mapping.c (making it), map_params.c (arguments) and map_result.c
 * (results). Nobody else includes it. */
#ifndef CW_SOURCE_REMOTE_MAPPING_INT_H
#define CW_SOURCE_REMOTE_MAPPING_INT_H

#include "source/remote/mapping.h"

#define CW_PARAM_MAP_CONTINUATION "continuation"
#define CW_PARAM_MAP_HIDDEN SIZE_MAX

/* One param of the service, in its order. */
typedef struct cw_param_map_entry {
    cw_str key;           /* "name": with quotes and colon, as it is sent */
    size_t argument;      /* index of the param that is shown for it, or CW_PARAM_MAP_HIDDEN */
    cw_str fixed;         /* JSON that is always sent, or empty */
    cw_str default_value; /* JSON that is sent where it is left out, or empty */
} cw_param_map_entry;

struct cw_param_map {
    const cw_protocol_opts *protocol;
    cw_params_style style;
    const cw_param_map_entry *slots;
    size_t n;
    bool passes_all; /* the one argument, "params", is all of them */
    /* Results. */
    cw_str pointer;
    size_t budget; /* 0: none */
    bool continues;
    size_t continuation; /* index of that argument, where it continues */
};

/* False: none of ours. */
bool cw_continuation_read(cw_str text, cw_continuation *ret);

#endif
