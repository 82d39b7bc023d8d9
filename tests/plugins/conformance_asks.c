/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance_asks.c - tools that ask the client. */
#include "conformance.h"

#include <string.h>

#define SAMPLE(text, tokens)                                                                       \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":" text "}}],"       \
    "\"maxTokens\":" tokens "}"

void say_answer(cw_call *call, const char *before, const cw_value *answer)
{
    const char *content = cw_value_json(call, cw_value_get(answer, "content"));
    cw_content_format(call, "%s: action=%s, content=%s", before,
                      cw_value_text(call, cw_value_get(answer, "action"), "none"),
                      content ? content : "{}");
}

const char *sampled_text(cw_call *call, const cw_value *answer)
{
    const cw_value *text = cw_value_get(answer, "/content/text");
    return cw_value_text(call, text ? text : cw_value_get(answer, "/content/0/text"), "");
}

static void sampling(cw_call *call)
{
    const char *prompt = cw_quoted(call, cw_arg_text(call, "prompt", ""));
    const cw_value *answer =
        cw_ask_sample(call, "sample", cw_format(call, SAMPLE("%s", "100"), prompt));
    if (answer)
        cw_content_format(call, "LLM response: %s", sampled_text(call, answer));
}
CW_METHOD(sampling, "test_sampling", .usage = "Lets the client's model answer.",
          .params = {{"prompt", .schema = CW_JSON({"type" : "string"}), .required = true}});
CW_TOOL(sampling);

static void missing_capability(cw_call *call)
{
    const cw_value *answer = cw_ask_sample(call, "sample", SAMPLE("\"Hello\"", "10"));
    if (answer)
        cw_content_text(call, sampled_text(call, answer));
}
CW_METHOD(missing_capability, "test_missing_capability",
          .usage = "Works with clients that can sample.");
CW_TOOL(missing_capability);

static void elicitation(cw_call *call)
{
    const cw_value *answer =
        cw_ask_form(call, "user", cw_arg_text(call, "message", ""), CW_JSON({
                        "type" : "object",
                        "properties" : {
                            "username" : {"type" : "string", "description" : "User's response"},
                            "email" : {"type" : "string", "description" : "User's email address"}
                        },
                        "required" : [ "username", "email" ]
                    }));
    if (answer)
        say_answer(call, "User response", answer);
}
CW_METHOD(elicitation, "test_elicitation", .usage = "Asks the user.",
          .params = {{"message", .schema = CW_JSON({"type" : "string"}), .required = true}});
CW_TOOL(elicitation);

static void streaming_elicitation(cw_call *call)
{
    cw_call_progress(call, 1, 2, "Asking");
    const cw_value *answer = cw_ask_form(call, "user", "What is your name?", FORM_OF("name"));
    if (!answer)
        return;
    cw_call_progress(call, 2, 2, "Answered");
    say_answer(call, "User response", answer);
}
CW_METHOD(streaming_elicitation, "test_streaming_elicitation",
          .usage = "Reports progress and asks the user.");
CW_TOOL(streaming_elicitation);

static void elicitation_defaults(cw_call *call)
{
    const cw_value *answer =
        cw_ask_form(call, "defaults", "Please review the form", CW_JSON({
                        "type" : "object",
                        "properties" : {
                            "name" : {"type" : "string", "default" : "John Doe"},
                            "age" : {"type" : "integer", "default" : 30},
                            "score" : {"type" : "number", "default" : 95.5},
                            "status" : {
                                "type" : "string",
                                "enum" : [ "active", "inactive", "pending" ],
                                "default" : "active"
                            },
                            "verified" : {"type" : "boolean", "default" : true}
                        }
                    }));
    if (answer)
        say_answer(call, "Elicitation completed", answer);
}
CW_METHOD(elicitation_defaults, "test_elicitation_sep1034_defaults",
          .usage = "Asks the user with a form that has defaults.");
CW_TOOL(elicitation_defaults);

static void elicitation_enums(cw_call *call)
{
    const cw_value *answer = cw_ask_form(
        call, "enums", "Please choose", CW_JSON({
            "type" : "object",
            "properties" : {
                "untitledSingle" :
                    {"type" : "string", "enum" : [ "option1", "option2", "option3" ]},
                "titledSingle" : {
                    "type" : "string",
                    "oneOf" : [
                        {"const" : "value1", "title" : "First Option"},
                        {"const" : "value2", "title" : "Second Option"},
                        {"const" : "value3", "title" : "Third Option"}
                    ]
                },
                "legacyEnum" : {
                    "type" : "string",
                    "enum" : [ "opt1", "opt2", "opt3" ],
                    "enumNames" : [ "Option One", "Option Two", "Option Three" ]
                },
                "untitledMulti" : {
                    "type" : "array",
                    "items" : {"type" : "string", "enum" : [ "option1", "option2", "option3" ]}
                },
                "titledMulti" : {
                    "type" : "array",
                    "items" : {
                        "anyOf" : [
                            {"const" : "value1", "title" : "First Choice"},
                            {"const" : "value2", "title" : "Second Choice"},
                            {"const" : "value3", "title" : "Third Choice"}
                        ]
                    }
                }
            }
        }));
    if (answer)
        say_answer(call, "Elicitation completed", answer);
}
CW_METHOD(elicitation_enums, "test_elicitation_sep1330_enums",
          .usage = "Asks the user with a form of choices.");
CW_TOOL(elicitation_enums);

static void ask_name(cw_call *call)
{
    const cw_value *answer = cw_ask_form(call, "user_name", "What is your name?", FORM_OF("name"));
    if (!answer)
        return;
    const cw_value *name = cw_value_get(cw_answer_content(answer), "name");
    cw_content_format(call, "Hello, %s!", cw_value_text(call, name, "stranger"));
}
CW_METHOD(ask_name, "test_input_required_result_elicitation", .usage = "Asks for a name.");
CW_TOOL(ask_name);

static void ask_model(cw_call *call)
{
    const cw_value *answer = cw_ask_sample(call, "capital_question",
                                           SAMPLE("\"What is the capital of France?\"", "100"));
    if (answer)
        cw_content_text(call, sampled_text(call, answer));
}
CW_METHOD(ask_model, "test_input_required_result_sampling", .usage = "Asks the client's model.");
CW_TOOL(ask_model);

static void say_roots(cw_call *call, const cw_value *answer)
{
    const cw_value *roots = cw_value_get(answer, "roots");
    for (const cw_value *v = cw_value_first(roots); v; v = cw_value_next(v))
        cw_content_format(call, "Root: %s", cw_value_text(call, cw_value_get(v, "uri"), "?"));
    if (cw_value_count(roots) == 0)
        cw_content_text(call, "No roots");
}

static void ask_roots(cw_call *call)
{
    const cw_value *answer = cw_ask_roots(call, "client_roots");
    if (answer)
        say_roots(call, answer);
}
CW_METHOD(ask_roots, "test_input_required_result_list_roots", .usage = "Asks for the roots.");
CW_TOOL(ask_roots);

static const char form_ok[] =
    CW_JSON({"type" : "object", "properties" : {"ok" : {"type" : "boolean"}}, "required" : ["ok"]});

/* With a state from the first run to the second. */
static void confirm(cw_call *call)
{
    const char *state = cw_state(call);
    bool is_ours = state && strcmp(state, "confirming") == 0;
    cw_state_set(call, "confirming");
    if (!cw_ask_form(call, "confirm", "Please confirm", form_ok))
        return;
    if (is_ours)
        cw_content_text(call, "state-ok");
    else
        cw_error(call, CW_ERROR_PARAMS, "the state is missing");
}
CW_METHOD(confirm, "test_input_required_result_request_state", .usage = "Keeps a state.");
CW_TOOL(confirm);

static void tampered(cw_call *call)
{
    confirm(call);
}
CW_METHOD(tampered, "test_input_required_result_tampered_state",
          .usage = "Keeps a state that nobody may change.");
CW_TOOL(tampered);

static void ask_all(cw_call *call)
{
    cw_state_set(call, "asked all");
    const cw_value *name = cw_ask_form(call, "user_name", "What is your name?", FORM_OF("name"));
    const cw_value *greeting =
        cw_ask_sample(call, "greeting", SAMPLE("\"Generate a greeting\"", "50"));
    const cw_value *roots = cw_ask_roots(call, "client_roots");
    if (!name || !greeting || !roots)
        return;
    say_answer(call, "Name", name);
    cw_content_text(call, sampled_text(call, greeting));
    say_roots(call, roots);
}
CW_METHOD(ask_all, "test_input_required_result_multiple_inputs",
          .usage = "Asks three things at once.");
CW_TOOL(ask_all);

static void ask_twice(cw_call *call)
{
    cw_state_set(call, "round 1");
    const cw_value *name =
        cw_ask_form(call, "step1", "Step 1: What is your name?", FORM_OF("name"));
    if (!name)
        return;
    cw_state_set(call, "round 2");
    const cw_value *color =
        cw_ask_form(call, "step2", "Step 2: What is your favorite color?", FORM_OF("color"));
    if (!color)
        return;
    say_answer(call, "Name", name);
    say_answer(call, "Color", color);
}
CW_METHOD(ask_twice, "test_input_required_result_multi_round",
          .usage = "Asks one thing after another.");
CW_TOOL(ask_twice);

/* Only what the client can do. */
static void ask_possible(cw_call *call)
{
    const cw_value *name = NULL;
    const cw_value *text = NULL;
    bool has_form = cw_client_can(call, "elicitation");
    bool has_model = cw_client_can(call, "sampling");
    if (has_form)
        name = cw_ask_form(call, "user_name", "What is your name?", FORM_OF("name"));
    if (has_model)
        text = cw_ask_sample(call, "greeting", SAMPLE("\"Generate a greeting\"", "50"));
    if ((has_form && !name) || (has_model && !text))
        return;
    cw_content_format(call, "Asked: %s%s", has_form ? "a form " : "", has_model ? "a model" : "");
}
CW_METHOD(ask_possible, "test_input_required_result_capabilities",
          .usage = "Asks what the client can answer.");
CW_TOOL(ask_possible);
