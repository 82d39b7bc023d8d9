/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - reads OpenTelemetry's environment variables. */
#include "trace/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/log.h"

#define TRACES_PATH "/v1/traces"
#define RESOURCE_MAX 32u

static void warn(const char *name, const char *problem)
{
    cw_log(CW_LOG_WARN, "trace", problem, CW_KV("variable", cw_str_from(name)));
}

/* An empty variable counts as none. */
static cw_str variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? cw_str_from(value) : (cw_str){NULL, 0};
}

/* OTEL_EXPORTER_OTLP_TRACES_<name>, else OTEL_EXPORTER_OTLP_<name>. *ret_name is the one that is set. */
static cw_str exporter_variable(const char *name, char ret_name[64])
{
    snprintf(ret_name, 64, "OTEL_EXPORTER_OTLP_TRACES_%s", name);
    cw_str value = variable(ret_name);
    if (value.p)
        return value;
    snprintf(ret_name, 64, "OTEL_EXPORTER_OTLP_%s", name);
    return variable(ret_name);
}

static uint32_t number(const char *name, cw_str text, uint32_t max, uint32_t fallback)
{
    uint64_t value;
    if (!text.p)
        return fallback;
    if (cw_str_to_u64(text, &value) && value >= 1 && value <= max)
        return (uint32_t)value;
    warn(name, "not a number in its range, and ignored");
    return fallback;
}

static uint32_t number_variable(const char *name, uint32_t max, uint32_t fallback)
{
    return number(name, variable(name), max, fallback);
}

/* ---- the mode and the sampler ---- */

static bool is_disabled(void)
{
    cw_str disabled = variable("OTEL_SDK_DISABLED"), exporter = variable("OTEL_TRACES_EXPORTER");
    return (disabled.p && cw_str_ieq(disabled, CW_STR("true"))) ||
           (exporter.p && cw_str_is(exporter, "none"));
}

static double ratio_variable(double fallback)
{
    const char *name = "OTEL_TRACES_SAMPLER_ARG";
    cw_str text = variable(name);
    char *end = NULL;
    if (!text.p)
        return fallback;
    double ratio = strtod(text.p, &end);
    if (end == text.p + text.n && ratio >= 0 && ratio <= 1)
        return ratio;
    warn(name, "not a number from 0 to 1, and ignored");
    return fallback;
}

static void read_sampler(cw_trace_opts *ret)
{
    static const struct {
        const char *name;
        cw_trace_sampler sampler;
        double ratio; /* -1: the argument's */
    } samplers[] = {
        {"always_on", CW_TRACE_SAMPLE_RATIO, 1},
        {"always_off", CW_TRACE_SAMPLE_RATIO, 0},
        {"traceidratio", CW_TRACE_SAMPLE_RATIO, -1},
        {"parentbased_always_on", CW_TRACE_SAMPLE_PARENT, 1},
        {"parentbased_always_off", CW_TRACE_SAMPLE_PARENT, 0},
        {"parentbased_traceidratio", CW_TRACE_SAMPLE_PARENT, -1},
    };
    cw_str name = variable("OTEL_TRACES_SAMPLER");
    for (size_t i = 0; name.p && i < CW_COUNT(samplers); i++) {
        if (!cw_str_is(name, samplers[i].name))
            continue;
        ret->sampler = samplers[i].sampler;
        ret->ratio = samplers[i].ratio < 0 ? ratio_variable(1) : samplers[i].ratio;
        return;
    }
    if (name.p)
        warn("OTEL_TRACES_SAMPLER", "no sampler that is known, and ignored");
}

/* ---- the exporter ---- */

static cw_code read_endpoint(cw_arena *arena, cw_str *ret, cw_err *err)
{
    cw_str traces = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    cw_str all = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    *ret = traces.p ? traces : CW_STR("");
    if (traces.p || !all.p)
        return CW_OK;
    while (all.n && all.p[all.n - 1] == '/')
        all.n--;
    const char *url = cw_arena_printf(arena, "%.*s" TRACES_PATH, CW_STR_ARG(all));
    if (!url)
        return cw_arena_fail(arena, err);
    *ret = cw_str_from(url);
    return CW_OK;
}

/* Decode into `out`, which has room for the text. False: a bad escape. */
static bool decode(cw_str text, char *out, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool is_escape = text.p[i] == '%';
        if (is_escape &&
            (text.n - i < 3 || cw_hex_value(text.p[i + 1]) < 0 || cw_hex_value(text.p[i + 2]) < 0))
            return false;
        out[n++] = text.p[i];
        if (is_escape) {
            int byte = cw_hex_value(text.p[i + 1]) * 16 + cw_hex_value(text.p[i + 2]);
            out[n - 1] = (char)(unsigned char)byte;
            i += 2;
        }
    }
    *ret_n = n;
    return true;
}

/* "key=value,key=value", percent-encoded. The next pair; false: the end. A part that is no pair is
 * reported and skipped. */
static bool next_pair(const char *variable_name, cw_str *rest, cw_arena *arena, cw_str *ret_key,
                      cw_str *ret_value)
{
    while (rest->p) {
        cw_str raw, item = cw_str_trim(cw_str_cut(*rest, ',', rest));
        cw_str key = cw_str_trim(cw_str_cut(item, '=', &raw));
        if (item.n == 0)
            continue;
        char *text = raw.p && key.n ? cw_arena_alloc(arena, raw.n + 1) : NULL;
        size_t n = 0;
        if (!text || !decode(cw_str_trim(raw), text, &n)) {
            warn(variable_name, "not a list of key=value, and cut there");
            return false;
        }
        *ret_key = key;
        *ret_value = cw_str_make(text, n);
        return true;
    }
    return false;
}

static cw_code read_headers(cw_arena *arena, cw_trace_export_opts *ret, cw_err *err)
{
    char name[64];
    cw_str rest = exporter_variable("HEADERS", name);
    cw_http_header *headers = cw_arena_calloc(arena, CW_TRACE_MAX_HEADERS, sizeof *headers);
    if (!headers)
        return cw_arena_fail(arena, err);
    size_t n = 0;
    while (n < CW_TRACE_MAX_HEADERS &&
           next_pair(name, &rest, arena, &headers[n].name, &headers[n].value))
        n++;
    ret->headers = headers;
    ret->n_headers = n;
    return CW_OK;
}

static void check_protocol(void)
{
    char name[64];
    cw_str protocol = exporter_variable("PROTOCOL", name);
    if (protocol.p && !cw_str_is(protocol, "http/protobuf"))
        warn(name, "only http/protobuf is spoken; other protocols are ignored");
}

static bool wants_gzip(void)
{
    char name[64];
    cw_str compression = exporter_variable("COMPRESSION", name);
    bool is_gzip = compression.p && cw_str_is(compression, "gzip");
    if (compression.p && !is_gzip && !cw_str_is(compression, "none"))
        warn(name, "no compression that is known, and ignored");
    return is_gzip;
}

static cw_str file_variable(const char *name)
{
    char set[64];
    cw_str value = exporter_variable(name, set);
    return value.p ? value : CW_STR("");
}

static void read_exporter(cw_trace_export_opts *ret)
{
    char name[64];
    cw_str timeout = exporter_variable("TIMEOUT", name);
    ret->timeout_ms = number(name, timeout, 600000, CW_TRACE_TIMEOUT_MS);
    ret->ca_file = file_variable("CERTIFICATE");
    ret->certificate = file_variable("CLIENT_CERTIFICATE");
    ret->key = file_variable("CLIENT_KEY");
    ret->delay_ms = number_variable("OTEL_BSP_SCHEDULE_DELAY", 600000, CW_TRACE_DELAY_MS);
    ret->queue = number_variable("OTEL_BSP_MAX_QUEUE_SIZE", 1000000, CW_TRACE_QUEUE);
    ret->batch = number_variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1000000, CW_TRACE_BATCH);
    if (ret->batch > ret->queue)
        ret->batch = ret->queue;
    ret->give_up_ms = number_variable("OTEL_BSP_EXPORT_TIMEOUT", 600000, CW_TRACE_GIVE_UP_MS);
    ret->is_gzip = wants_gzip();
    check_protocol();
}

/* ---- the resource ---- */

typedef struct resource {
    cw_otlp_attr attrs[RESOURCE_MAX];
    size_t n;
} resource;

/* The first value of a key counts. */
static void set(resource *r, const char *key, cw_str value)
{
    for (size_t i = 0; i < r->n; i++) {
        if (cw_str_is(r->attrs[i].key, key))
            return;
    }
    if (r->n < RESOURCE_MAX && value.n)
        r->attrs[r->n++] = (cw_otlp_attr){.key = cw_str_from(key), .text = value};
}

/* Random, and the same for the life of this process. */
static cw_str instance_id(void)
{
    static char hex[CW_IDS_HEX];
    if (!hex[0])
        cw_ids_format_request(cw_ids_new_request(), hex);
    return cw_str_from(hex);
}

static cw_code read_resource(cw_arena *arena, cw_trace_export_opts *ret, cw_err *err)
{
    char host[256] = "";
    cw_str key, value, service = variable("OTEL_SERVICE_NAME");
    cw_str rest = variable("OTEL_RESOURCE_ATTRIBUTES");
    resource *r = cw_arena_calloc(arena, 1, sizeof *r);
    if (!r)
        return cw_arena_fail(arena, err);
    if (service.p)
        set(r, "service.name", service);
    while (next_pair("OTEL_RESOURCE_ATTRIBUTES", &rest, arena, &key, &value)) {
        const char *name = cw_arena_dup(arena, key.p, key.n);
        if (!name)
            return cw_arena_fail(arena, err);
        set(r, name, value);
    }
    (void)gethostname(host, sizeof host - 1);
    const char *kept = cw_arena_dup(arena, host, strlen(host));
    set(r, "service.name", CW_STR("causeway"));
    set(r, "service.version", CW_STR(CW_VERSION));
    set(r, "service.instance.id", instance_id());
    set(r, "host.name", cw_str_from(kept ? kept : ""));
    if (r->n < RESOURCE_MAX)
        r->attrs[r->n++] = (cw_otlp_attr){.key = CW_STR("process.pid"), .number = getpid()};
    ret->resource = r->attrs;
    ret->n_resource = r->n;
    return CW_OK;
}

/* ---- all of them ---- */

static cw_trace_mode choose_mode(const cw_trace_config *config, bool has_endpoint)
{
    if (config->has_mode && (config->mode != CW_TRACE_ON || has_endpoint))
        return config->mode;
    if (config->has_mode) {
        cw_log(CW_LOG_WARN, "trace", "no endpoint is configured: spans are not recorded");
        return CW_TRACE_PROPAGATE;
    }
    return has_endpoint ? CW_TRACE_ON : CW_TRACE_OFF;
}

cw_code cw_trace_options_read(const cw_trace_config *config, cw_arena *arena, cw_trace_opts *ret,
                              cw_err *err)
{
    *ret = (cw_trace_opts){.sampler = CW_TRACE_SAMPLE_PARENT,
                           .ratio = CW_TRACE_DEFAULT_RATIO,
                           .keeps_failures = config->keeps_failures,
                           .rate = config->rate};
    cw_trace_export_opts *exporter = &ret->exporter;
    cw_code rc = CW_OK;
    read_exporter(exporter);
    if (config->endpoint.n)
        exporter->url = config->endpoint;
    else
        rc = is_disabled() ? CW_OK : read_endpoint(arena, &exporter->url, err);
    if (!rc)
        rc = read_headers(arena, exporter, err);
    if (config->n_headers) {
        exporter->headers = config->headers;
        exporter->n_headers = config->n_headers;
    }
    if (!rc)
        rc = read_resource(arena, exporter, err);
    if (rc)
        return rc;
    read_sampler(ret);
    if (config->has_ratio) {
        ret->sampler = CW_TRACE_SAMPLE_PARENT;
        ret->ratio = config->ratio;
    }
    ret->mode = choose_mode(config, exporter->url.n > 0);
    if (ret->mode != CW_TRACE_ON)
        exporter->url = CW_STR("");
    return CW_OK;
}
