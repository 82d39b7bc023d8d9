// LangChain4j with Chat Completions: one turn, and the answer on standard output.
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.langchain4j.mcp.McpToolProvider;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.McpClient;
import dev.langchain4j.mcp.client.transport.McpTransport;
import dev.langchain4j.mcp.client.transport.http.StreamableHttpMcpTransport;
import dev.langchain4j.mcp.client.transport.stdio.StdioMcpTransport;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import java.util.List;

public class Main {
    interface Reader {
        String read(String prompt);
    }

    private static McpTransport transport() throws Exception {
        String url = System.getenv("MCP_URL");
        if (url != null) {
            return StreamableHttpMcpTransport.builder().url(url).build();
        }
        String[] command = new ObjectMapper().readValue(System.getenv("MCP_COMMAND"), String[].class);
        return StdioMcpTransport.builder().command(List.of(command)).build();
    }

    public static void main(String[] none) throws Exception {
        try (McpClient client = DefaultMcpClient.builder().key("causeway").transport(transport()).build()) {
            var model = OpenAiChatModel.builder().baseUrl(System.getenv("MODEL_URL") + "/v1").apiKey("none")
                    .modelName("gpt-4.1").maxRetries(0).build();
            var tools = McpToolProvider.builder().mcpClients(client).build();
            Reader reader = AiServices.builder(Reader.class).chatModel(model).toolProvider(tools).build();
            System.out.println(reader.read(System.getenv("PROMPT")));
        }
        System.exit(0);
    }
}
