// Gemini generateContent and streamGenerateContent, as far as agent frameworks use them.
export const api = "gemini";
export const path = /\/models\/[^/]+:(generateContent|streamGenerateContent)$/;

export const isStream = (_, pathname) => pathname.endsWith(":streamGenerateContent");

const declarationsOf = ({ functionDeclarations, function_declarations }) =>
    functionDeclarations ?? function_declarations ?? [];

export const toolsOf = ({ tools = [] }) =>
    [tools].flat().flatMap((tool) =>
        declarationsOf(tool).map((one) => ({
            name: one.name,
            schema: one.parametersJsonSchema ?? one.parameters_json_schema ?? one.parameters ?? { type: "object" },
        })),
    );

export const resultsOf = ({ contents = [] }) =>
    [contents]
        .flat()
        .flatMap(({ parts = [] }) => parts)
        .map(({ functionResponse, function_response }) => functionResponse ?? function_response)
        .filter((one) => one !== undefined)
        .map(({ response }) => JSON.stringify(response));

export const rejection = ({ text }, index) => ({
    error: {
        code: 400,
        message: `* GenerateContentRequest.tools[0]${index < 0 ? "" : `.function_declarations[${index}]`}: ${text}`,
        status: "INVALID_ARGUMENT",
    },
});

const partOf = ({ name, input, text }) => (name === undefined ? { text } : { functionCall: { name, args: input } });

export const reply = (body, action) => ({
    candidates: [{ content: { role: "model", parts: [partOf(action)] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: "fake",
    responseId: action.id,
});

export function* stream(body, action) {
    yield { data: reply(body, action) };
}
