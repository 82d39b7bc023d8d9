// The clients that `make clients` runs.
//
//   id            name of the environment and of the run; `source` names the directory if it differs
//   package       the package whose version the table shows, as the client's files pin it
//   api           the API of the test model that an agent framework uses; an SDK has none
//   eras          values of $ERA, one run each
//   faults        known faults of the client: { step, text (in its output), note (for the table) }
//   setup         the script of a product's package that puts its binary in place
//   quick         runs in continuous integration, too
//   survivesAll   goes on after errors without an id, too (errors.mjs)
//   keepsSession  uses one session for all calls, also after a restart of the server
//   transports    stdio, or HTTP (`http`) with something special (scenarios.mjs): `login` is an OAuth login at the first
//                 connection, `late login` one in a session that began without, `restart` a server that restarts
//                 between two calls, `errors` errors with an id, `role` a role that adds a tool
export const both = ["http", "stdio"];
const withLogin = [...both, "login", "late login"];
const withErrors = [...both, "errors", "role"];
const withRestart = [...both, "restart"];

const sdks = [
    {
        id: "python-mcp-1",
        title: "Python SDK",
        language: "python",
        source: "python-mcp",
        file: "client1.py",
        requirements: "requirements-1.txt",
        package: "mcp",
        transports: withLogin,
        quick: true,
    },
    {
        id: "python-mcp-2",
        title: "Python SDK",
        language: "python",
        source: "python-mcp",
        file: "client2.py",
        requirements: "requirements-2.txt",
        package: "mcp",
        transports: withLogin,
        eras: ["legacy", "modern", "auto"],
        quick: true,
    },
    {
        id: "fastmcp-3",
        title: "FastMCP",
        language: "python",
        source: "fastmcp",
        file: "client.py",
        requirements: "requirements-3.txt",
        package: "fastmcp",
        transports: withLogin,
    },
    {
        id: "fastmcp-4",
        title: "FastMCP",
        language: "python",
        source: "fastmcp",
        file: "client.py",
        requirements: "requirements-4.txt",
        package: "fastmcp",
        transports: withLogin,
        eras: ["legacy", "modern"],
    },
    {
        id: "go-sdk",
        title: "Go SDK",
        language: "go",
        package: "github.com/modelcontextprotocol/go-sdk",
        transports: withErrors,
        eras: ["legacy", "modern"],
    },
    {
        id: "rmcp",
        title: "Rust SDK (rmcp)",
        language: "rust",
        package: "rmcp",
        survivesAll: true,
        transports: withErrors,
        eras: ["legacy", "modern"],
    },
    { id: "java-sdk", title: "Java SDK", language: "java", package: "mcp", transports: both },
];

const pythonFrameworks = [
    { id: "openai-agents", title: "OpenAI Agents SDK", package: "openai-agents", api: "openai-responses", quick: true },
    { id: "pydantic-ai", title: "Pydantic AI", package: "pydantic-ai-slim", api: "openai-chat" },
    { id: "langchain", title: "LangChain", package: "langchain-mcp-adapters", api: "anthropic" },
    { id: "llama-index", title: "LlamaIndex", package: "llama-index-tools-mcp", api: "openai-chat" },
    { id: "google-adk", title: "Google ADK", package: "google-adk", api: "gemini" },
    { id: "agno", title: "Agno", package: "agno", api: "openai-chat" },
    { id: "strands", title: "Strands Agents", package: "strands-agents", api: "openai-chat" },
    {
        id: "agent-framework",
        title: "Microsoft Agent Framework",
        package: "agent-framework-core",
        api: "openai-chat",
        faults: [
            {
                step: "tool error",
                text: /include_detailed_errors/,
                note: 'the model reads "Error: Function failed." unless include_detailed_errors is set',
            },
        ],
    },
    { id: "haystack", title: "Haystack", package: "mcp-haystack", api: "openai-chat" },
    { id: "smolagents", title: "smolagents", package: "smolagents", api: "openai-chat" },
    { id: "autogen", title: "AutoGen", package: "autogen-ext", api: "openai-chat" },
    { id: "semantic-kernel", title: "Semantic Kernel", package: "semantic-kernel", api: "openai-chat" },
    { id: "crewai", title: "CrewAI", package: "crewai-tools", api: "openai-chat" },
].map((one) => ({ ...one, language: "python", file: "client.py", transports: withRestart }));

const javaFrameworks = [
    {
        id: "langchain4j",
        title: "LangChain4j",
        language: "java",
        package: "langchain4j-mcp",
        api: "openai-chat",
        transports: both,
    },
];

const javascriptFrameworks = [
    { id: "ai-sdk", title: "Vercel AI SDK", package: "ai", api: "openai-responses", quick: true },
    { id: "ai-sdk-6", title: "Vercel AI SDK", package: "ai", api: "openai-responses", keepsSession: true },
    { id: "openai-agents-js", title: "OpenAI Agents SDK (JavaScript)", package: "@openai/agents", api: "openai-chat" },
    {
        id: "langchain-js",
        title: "LangChain (JavaScript)",
        package: "@langchain/mcp-adapters",
        api: "openai-chat",
        keepsSession: true,
    },
    { id: "mastra", title: "Mastra", package: "@mastra/mcp", api: "openai-chat" },
    { id: "genkit", title: "Genkit", package: "genkit", api: "gemini", keepsSession: true },
    {
        id: "llamaindex-js",
        title: "LlamaIndex (JavaScript)",
        package: "@llamaindex/tools",
        api: "openai-chat",
        keepsSession: true,
    },
    { id: "mcp-use", title: "mcp-use", package: "mcp-use", api: "openai-chat", keepsSession: true },
].map((one) => ({ ...one, language: "javascript", file: "client.mjs", transports: withRestart }));

// Products use the file that `causeway install` writes.
const products = [
    {
        id: "claude-code",
        title: "Claude Code",
        package: "@anthropic-ai/claude-code",
        setup: "install.cjs",
        api: "anthropic",
        quick: true,
    },
    { id: "codex", title: "Codex", package: "@openai/codex", api: "openai-responses" },
    { id: "gemini", title: "Gemini CLI", package: "@google/gemini-cli", api: "gemini" },
    { id: "goose", title: "Goose", package: "@aaif/goose-sdk", api: "openai-chat" },
    { id: "opencode", title: "opencode", package: "opencode-ai", setup: "postinstall.mjs", api: "openai-chat" },
    { id: "qwen", title: "Qwen Code", package: "@qwen-code/qwen-code", api: "openai-chat" },
    { id: "continue", title: "Continue", package: "@continuedev/cli", api: "openai-chat" },
].map((one) => ({ ...one, language: "product", transports: both }));

export const clients = [...sdks, ...pythonFrameworks, ...javascriptFrameworks, ...javaFrameworks, ...products];
