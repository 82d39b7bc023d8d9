/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance.c - the fixtures that the MCP conformance suite wants to find: tools here, those that
 * ask the client in conformance_asks.c, resources and prompts in conformance_marks.c.
 */
#include "conformance.h"

#include <time.h>

CW_PLUGIN("conformance", "1.0");

const unsigned char png[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d,
                             0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01,
                             0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00,
                             0x0c, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
                             0x00, 0x03, 0x01, 0x01, 0x00, 0xf7, 0x03, 0x41, 0x43, 0x00, 0x00, 0x00,
                             0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
const size_t png_size = sizeof(png);

/* A thousandth of a second, more or less. */
static const unsigned char wav[] = {
    0x52, 0x49, 0x46, 0x46, 0x2c, 0x00, 0x00, 0x00, 0x57, 0x41, 0x56, 0x45, 0x66,
    0x6d, 0x74, 0x20, 0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f,
    0x00, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x01, 0x00, 0x08, 0x00, 0x64, 0x61, 0x74,
    0x61, 0x08, 0x00, 0x00, 0x00, 0x80, 0xa0, 0xb4, 0xa0, 0x80, 0x60, 0x4c, 0x60};

static void pause_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&time, NULL);
}

/* The first tool of the list, in the order of names, is called without arguments. */
static void first_tool(cw_call *call)
{
    cw_content_text(call, "Nothing was needed.");
}
CW_METHOD(first_tool, "first_tool", .usage = "A tool that needs nothing.");
CW_TOOL(first_tool, .title = "First", .annotations = CW_JSON({"readOnlyHint" : true}));

static void simple_text(cw_call *call)
{
    cw_content_text(call, "This is a simple text response for testing.");
}
CW_METHOD(simple_text, "test_simple_text", .usage = "Returns a text.");
CW_TOOL(simple_text);

static void image_content(cw_call *call)
{
    cw_content_image(call, png, png_size, "image/png");
}
CW_METHOD(image_content, "test_image_content", .usage = "Returns a picture.");
CW_TOOL(image_content);

static void audio_content(cw_call *call)
{
    cw_content_audio(call, wav, sizeof(wav), "audio/wav");
}
CW_METHOD(audio_content, "test_audio_content", .usage = "Returns a sound.");
CW_TOOL(audio_content);

static void embedded_resource(cw_call *call)
{
    cw_content_resource(call, "test://embedded-resource", "text/plain",
                        "This is an embedded resource content.");
}
CW_METHOD(embedded_resource, "test_embedded_resource", .usage = "Returns a resource.");
CW_TOOL(embedded_resource);

static void multiple_content_types(cw_call *call)
{
    cw_content_text(call, "Multiple content types test:");
    cw_content_image(call, png, png_size, "image/png");
    cw_content_resource(call, "test://mixed-content-resource", "application/json",
                        CW_JSON({"test" : "data", "value" : 123}));
}
CW_METHOD(multiple_content_types, "test_multiple_content_types",
          .usage = "Returns a text, a picture and a resource.");
CW_TOOL(multiple_content_types);

static void resource_link(cw_call *call)
{
    cw_content_link(call, "test://static-text", "static-text", "text/plain", "A text that stays");
    cw_content_annotate(call, CW_JSON({"audience" : ["user"], "priority" : 0.5}));
}
CW_METHOD(resource_link, "test_resource_link", .usage = "Returns a link to a resource.");
CW_TOOL(resource_link);

static void tool_with_logging(cw_call *call)
{
    cw_call_log(call, CW_LEVEL_INFO, "Tool execution started");
    pause_ms(50);
    cw_call_log(call, CW_LEVEL_INFO, "Tool processing data");
    pause_ms(50);
    cw_call_log(call, CW_LEVEL_INFO, "Tool execution completed");
    cw_content_text(call, "Three lines were logged.");
}
CW_METHOD(tool_with_logging, "test_tool_with_logging", .usage = "Logs three lines.");
CW_TOOL(tool_with_logging);

static void logging_tool(cw_call *call)
{
    cw_call_log(call, CW_LEVEL_INFO, "One line");
    cw_content_text(call, "One line was logged.");
}
CW_METHOD(logging_tool, "test_logging_tool", .usage = "Logs one line.");
CW_TOOL(logging_tool);

static void error_handling(cw_call *call)
{
    cw_error(call, 1, "This tool intentionally returns an error for testing");
}
CW_METHOD(error_handling, "test_error_handling", .usage = "Always fails.");
CW_TOOL(error_handling);

static void tool_with_progress(cw_call *call)
{
    cw_call_progress(call, 0, 100, "Begun");
    pause_ms(50);
    cw_call_progress(call, 50, 100, "Half of it");
    pause_ms(50);
    cw_call_progress(call, 100, 100, "Done");
    cw_content_text(call, "Three reports were sent.");
}
CW_METHOD(tool_with_progress, "test_tool_with_progress", .usage = "Reports its progress.");
CW_TOOL(tool_with_progress);

/* For a stream that is closed while the tool runs and taken up again. */
static void reconnection(cw_call *call)
{
    pause_ms(200);
    cw_content_text(call, "Still here.");
}
CW_METHOD(reconnection, "test_reconnection", .usage = "Takes a moment.");
CW_TOOL(reconnection);

static void trigger_tool_change(cw_call *call)
{
    cw_lists_changed(call, "tools");
    cw_content_text(call, "The list of tools has changed.");
}
CW_METHOD(trigger_tool_change, "test_trigger_tool_change",
          .usage = "Announces that the list of tools has changed.");
CW_TOOL(trigger_tool_change);

static void trigger_prompt_change(cw_call *call)
{
    cw_lists_changed(call, "prompts");
    cw_content_text(call, "The list of prompts has changed.");
}
CW_METHOD(trigger_prompt_change, "test_trigger_prompt_change",
          .usage = "Announces that the list of prompts has changed.");
CW_TOOL(trigger_prompt_change);

static void trigger_resource_update(cw_call *call)
{
    cw_resource_updated(call, "test://watched-resource");
    cw_content_text(call, "The watched resource has changed.");
}
CW_METHOD(trigger_resource_update, "test_trigger_resource_update",
          .usage = "Announces that test://watched-resource has changed.");
CW_TOOL(trigger_resource_update);

static void header_parameter(cw_call *call)
{
    cw_content_format(call, "Region: %s", cw_arg_text(call, "region", "none"));
}
CW_METHOD(header_parameter, "test_header_parameter",
          .usage = "Has a parameter that travels in a header as well.",
          .params = {{"region", .description = "Where",
                      .schema = CW_JSON({"type" : "string", "x-mcp-header" : "Region"})}});
CW_TOOL(header_parameter);

static void json_schema(cw_call *call)
{
    cw_content_format(call, "Name: %s", cw_arg_text(call, "name", "none"));
}
CW_METHOD(
    json_schema, "json_schema_2020_12_tool", .usage = "Tool with JSON Schema 2020-12 features",
    .params =
        {{"name", .schema = CW_JSON({"type" : "string"})},
         {"address",
          .schema = CW_JSON({
              "type" : "object",
              "properties" : {"street" : {"type" : "string"}, "city" : {"type" : "string"}}
          })},
         {"contactMethod", .schema = CW_JSON({"type" : "string", "enum" : [ "phone", "email" ]})},
         {"phone", .schema = CW_JSON({"type" : "string"})},
         {"email", .schema = CW_JSON({"type" : "string"})}},
    .input = CW_JSON({
        "$schema" : "https://json-schema.org/draft/2020-12/schema",
        "$defs" : {
            "address" : {
                "$anchor" : "addressDef",
                "type" : "object",
                "properties" : {"street" : {"type" : "string"}, "city" : {"type" : "string"}}
            }
        },
        "allOf" : [ {"anyOf" : [ {"required" : ["phone"]}, {"required" : ["email"]} ]} ],
        "if" : {
            "properties" : {"contactMethod" : {"const" : "phone"}},
            "required" : ["contactMethod"]
        },
        "then" : {"required" : ["phone"]},
        "else" : {"required" : ["email"]},
        "additionalProperties" : false
    }));
CW_TOOL(json_schema);
