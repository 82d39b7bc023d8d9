/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_traces.h - the section `traces` of a configuration. */
#ifndef CW_CONFIG_CONFIG_TRACES_H
#define CW_CONFIG_CONFIG_TRACES_H

#include "config/config_remote.h"

typedef enum cw_config_trace_mode {
    CW_CONFIG_TRACE_DEFAULT, /* on with an endpoint, else off */
    CW_CONFIG_TRACE_OFF,
    CW_CONFIG_TRACE_PROPAGATE, /* contexts are read and sent on */
    CW_CONFIG_TRACE_ON,        /* and spans are sent to a collector */
} cw_config_trace_mode;

/* Whose traces are continued. */
typedef enum cw_config_trace_trust {
    CW_CONFIG_TRUST_NONE,
    CW_CONFIG_TRUST_CALLERS, /* with a login */
    CW_CONFIG_TRUST_ALL,
} cw_config_trace_trust;

#define CW_CONFIG_SAMPLE_ALL 1000000u
#define CW_CONFIG_NO_SAMPLE UINT32_MAX

typedef struct cw_config_traces {
    cw_config_trace_mode mode;
    cw_str endpoint; /* empty: as the environment has it */
    cw_config_pairs headers;
    uint32_t sample; /* of CW_CONFIG_SAMPLE_ALL; NO_SAMPLE: as the environment has it */
    bool failures;   /* failed calls are recorded, sampled or not */
    cw_config_trace_trust trust;
    uint32_t spans_per_second; /* 0: no limit */
    bool http;                 /* the HTTP request of a message has a span of its own */
    bool caller;               /* spans of messages have a pseudonym of their caller */
    bool arguments;            /* spans of calls have arguments and result */
} cw_config_traces;

#endif
