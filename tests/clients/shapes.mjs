// A service whose schemas are legal and difficult: each method has something that a model API or a framework rejects.
const draft07 = "http://json-schema.org/draft-07/schema#";

const methods = {
    "shapes.tuple": [
        {
            name: "range",
            schema: { $schema: draft07, type: "array", items: [{ type: "integer" }, { type: "integer" }] },
        },
    ],
    "shapes.list": [{ name: "values", schema: { type: "array" } }],
    "shapes.names": [{ name: "$filter", schema: { type: "string" } }],
    "shapes.references": [{ name: "colour", schema: { $ref: "#/components/schemas/Colour" } }],
    "shapes.recursion": [{ name: "tree", schema: { $ref: "#/components/schemas/Tree" } }],
    "shapes.types": [{ name: "values", schema: { type: ["array", "object", "null"] } }],
    "shapes.either": [{ name: "key", schema: { oneOf: [{ type: "string" }, { type: "integer" }] } }],
    "shapes.a_name_that_is_longer_than_the_room_that_clients_leave.forIt": [{ name: "n", schema: { type: "integer" } }],
};

const schemas = {
    Colour: { type: "string", enum: ["red", "green"] },
    Tree: {
        type: "object",
        properties: {
            label: { type: "string" },
            children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        },
    },
};

// The OpenRPC document of the service.
export const openRpc = () => ({
    openrpc: "1.3.2",
    info: { title: "shapes", version: "1.0.0" },
    methods: Object.entries(methods).map(([name, params]) => ({
        name,
        summary: `Takes ${params[0].name}`,
        params,
        result: { name: "result", schema: {} },
    })),
    components: { schemas },
});
