/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance_marks.c - resources, a template, prompts and their completion. */
#include "conformance.h"

static void static_text(cw_call *call)
{
    cw_content_text(call, "This is the content of the static text resource.");
}
CW_METHOD(static_text, "test_static_text", .usage = "A text that stays.");
CW_RESOURCE(static_text, .uri = "test://static-text", .name = "static-text", .title = "Static text",
            .mime_type = "text/plain",
            .annotations = CW_JSON({"audience" : [ "user", "assistant" ], "priority" : 0.5}));

static void static_binary(cw_call *call)
{
    cw_content_bytes(call, png, png_size, NULL);
}
CW_METHOD(static_binary, "test_static_binary", .usage = "A picture that stays.");
CW_RESOURCE(static_binary, .uri = "test://static-binary", .name = "static-binary",
            .title = "Static picture", .mime_type = "image/png");

/* test_trigger_resource_update announces that it has changed. */
static void watched(cw_call *call)
{
    static int64_t reads;
    cw_content_format(call, "Read %lld times by this process.", (long long)++reads);
}
CW_METHOD(watched, "test_watched_resource", .usage = "A text that changes.");
CW_RESOURCE(watched, .uri = "test://watched-resource", .name = "watched-resource",
            .mime_type = "text/plain");

static void template_data(cw_call *call)
{
    const char *id = cw_arg_text(call, "id", "");
    cw_open_object(call, NULL);
    cw_put_text(call, "id", id);
    cw_put_bool(call, "templateTest", true);
    cw_put_format(call, "data", "Data for ID: %s", id);
    cw_close(call);
}
CW_METHOD(template_data, "test_template_data", .usage = "Data of one id.",
          .params = {{"id", .schema = CW_JSON({"type" : "string"}), .required = true}});
CW_RESOURCE_TEMPLATE(template_data, .uri_template = "test://template/{id}/data",
                     .name = "template-data", .mime_type = "application/json");

static void complete_id(cw_call *call)
{
    for (int id = 1; id <= 250; id++)
        cw_complete_match(call, cw_format(call, "%d", id));
}
CW_COMPLETE(template_data, "id", complete_id);

static void simple_prompt(cw_call *call)
{
    cw_content_text(call, "This is a simple prompt for testing.");
}
CW_METHOD(simple_prompt, "test_simple_prompt", .usage = "A prompt without arguments.");
CW_PROMPT(simple_prompt, .title = "Simple");

static void prompt_with_arguments(cw_call *call)
{
    cw_content_role(call, "user");
    cw_content_format(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                      cw_arg_text(call, "arg1", ""), cw_arg_text(call, "arg2", ""));
}
CW_METHOD(prompt_with_arguments, "test_prompt_with_arguments", .usage = "A prompt with arguments.",
          .params = {{"arg1", .schema = CW_JSON({"type" : "string"}),
                      .description = "First test argument", .required = true},
                     {"arg2", .schema = CW_JSON({"type" : "string"}),
                      .description = "Second test argument", .required = true}});
CW_PROMPT(prompt_with_arguments);

static void complete_place(cw_call *call)
{
    static const char *const places[] = {"paris", "park", "party", "quito", "rome"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        cw_complete_match(call, places[i]);
}
CW_COMPLETE(prompt_with_arguments, "arg1", complete_place);

static void prompt_with_resource(cw_call *call)
{
    cw_content_role(call, "user");
    cw_content_resource(call, cw_arg_text(call, "resourceUri", "test://none"), "text/plain",
                        "Embedded resource content for testing.");
    cw_content_text(call, "Please process the embedded resource above.");
}
CW_METHOD(prompt_with_resource, "test_prompt_with_embedded_resource",
          .usage = "A prompt with a resource in it.",
          .params = {{"resourceUri", .schema = CW_JSON({"type" : "string"}),
                      .description = "URI of the resource to embed", .required = true}});
CW_PROMPT(prompt_with_resource);

static void prompt_with_image(cw_call *call)
{
    cw_content_role(call, "user");
    cw_content_image(call, png, png_size, "image/png");
    cw_content_text(call, "Please analyze the image above.");
}
CW_METHOD(prompt_with_image, "test_prompt_with_image", .usage = "A prompt with a picture in it.");
CW_PROMPT(prompt_with_image);

static void prompt_that_asks(cw_call *call)
{
    const cw_value *answer = cw_ask_form(call, "user_context",
                                         "What context should the prompt use?", FORM_OF("context"));
    if (!answer)
        return;
    cw_content_role(call, "user");
    cw_content_format(
        call, "Use this context: %s",
        cw_value_text(call, cw_value_get(cw_answer_content(answer), "context"), "none"));
}
CW_METHOD(prompt_that_asks, "test_input_required_result_prompt",
          .usage = "A prompt that asks the user first.");
CW_PROMPT(prompt_that_asks);
