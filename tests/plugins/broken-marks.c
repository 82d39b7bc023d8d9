/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-marks.c - a mistake in each kind of mark. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.run");
CW_RESOURCE(run, .uri = "no scheme");

static void page(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(page, "a.page", .params = {{"name"}});
CW_RESOURCE_TEMPLATE(page, .uri_template = "docs://{title}");

static void ask(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(ask, "a.ask", .params = {{"n", .schema = CW_JSON({"type" : "integer"})}});
CW_PROMPT(ask, .name = "");
CW_COMPLETE(ask, "m", ask);

static void lost(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_PROMPT(lost);
