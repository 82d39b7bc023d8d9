// The Java SDK: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public class Main {
    private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();

    private static McpClientTransport transport() throws Exception {
        String url = System.getenv("MCP_URL");
        if (url != null) {
            URI uri = URI.create(url);
            String base = uri.getScheme() + "://" + uri.getAuthority();
            return HttpClientStreamableHttpTransport.builder(base).endpoint(uri.getPath()).build();
        }
        List<String> command = JSON.readValue(System.getenv("MCP_COMMAND"), new TypeRef<List<String>>() {});
        var parameters = ServerParameters.builder(command.get(0)).args(command.subList(1, command.size()))
                .env(System.getenv()).build();
        return new StdioClientTransport(parameters, JSON);
    }

    private static String call(McpSyncClient client, String name, Map<String, Object> arguments) {
        var result = client.callTool(McpSchema.CallToolRequest.builder(name).arguments(arguments).build());
        return ((McpSchema.TextContent) result.content().get(0)).text();
    }

    private static String failure(McpSyncClient client) {
        try {
            call(client, "nothing", Map.of());
            return "";
        } catch (RuntimeException problem) {
            return problem.getMessage();
        }
    }

    public static void main(String[] none) throws Exception {
        try (McpSyncClient client = McpClient.sync(transport()).requestTimeout(Duration.ofSeconds(30)).build()) {
            client.initialize();
            List<String> names = client.listTools().tools().stream().map(McpSchema.Tool::name).toList();
            String name = names.stream().filter(one -> one.endsWith("toMarkdown")).findFirst().orElseThrow();
            Map<String, Object> report = new LinkedHashMap<>();
            report.put("tools", names);
            report.put("result", call(client, name, Map.of("nid", 1)));
            report.put("error", call(client, name, Map.of("nid", 99999)));
            report.put("unknown", failure(client));
            report.put("again", call(client, name, Map.of("nid", 1)));
            System.out.println(JSON.writeValueAsString(report));
        }
    }
}
