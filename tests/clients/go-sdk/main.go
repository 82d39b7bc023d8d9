// The Go SDK: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func transport() mcp.Transport {
	if url := os.Getenv("MCP_URL"); url != "" {
		return &mcp.StreamableClientTransport{Endpoint: url}
	}
	var command []string
	if err := json.Unmarshal([]byte(os.Getenv("MCP_COMMAND")), &command); err != nil {
		log.Fatal(err)
	}
	return &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}
}

func options() *mcp.ClientSessionOptions {
	if os.Getenv("ERA") == "legacy" {
		return &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	return nil
}

type caller struct {
	ctx     context.Context
	session *mcp.ClientSession
}

// call returns the text of a result, or the message of an error.
func (c caller) call(name string, arguments map[string]any) string {
	result, err := c.session.CallTool(c.ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport(), options())
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	names, name := []string{}, ""
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if strings.HasSuffix(tool.Name, "toMarkdown") {
			name = tool.Name
		}
	}
	c := caller{ctx, session}
	report := map[string]any{
		"tools":   names,
		"result":  c.call(name, map[string]any{"nid": 1}),
		"error":   c.call(name, map[string]any{"nid": 99999}),
		"unknown": c.call("nothing", map[string]any{}),
		"large":   c.call(name, map[string]any{"nid": 1, "filler": strings.Repeat("x", 5<<20)}),
		"again":   c.call(name, map[string]any{"nid": 1}),
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}
