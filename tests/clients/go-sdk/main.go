// The Go SDK: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// authorized adds $TOKEN to each request.
type authorized struct{}

func (authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	return http.DefaultTransport.RoundTrip(request)
}

// list reads a variable that holds a JSON list, nil if it is not set.
func list(name string) []string {
	var values []string
	if text := os.Getenv(name); text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			log.Fatal(err)
		}
	}
	return values
}

func transport() mcp.Transport {
	if url := os.Getenv("MCP_URL"); url != "" {
		client := http.DefaultClient
		if os.Getenv("TOKEN") != "" {
			client = &http.Client{Transport: authorized{}}
		}
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client}
	}
	command := list("MCP_COMMAND")
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
	if len(result.Content) == 0 {
		return ""
	}
	if text, ok := result.Content[0].(*mcp.TextContent); ok {
		return text.Text
	}
	return ""
}

func (c caller) tools() []string {
	list, err := c.session.ListTools(c.ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// granted runs $GRANT and returns the tools after the notification, nil if none arrives.
func (c caller) granted(changed <-chan bool) []string {
	command := list("GRANT")
	time.Sleep(time.Second) // the SDK opens its stream in the background
	if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
		log.Fatal(err)
	}
	select {
	case <-changed:
		return c.tools()
	case <-time.After(20 * time.Second):
		return nil
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	changed := make(chan bool, 16)
	handlers := &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, handlers)
	session, err := client.Connect(ctx, transport(), options())
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	c := caller{ctx, session}
	names, name := c.tools(), ""
	for _, one := range names {
		if strings.HasSuffix(one, "toMarkdown") {
			name = one
		}
	}
	article := map[string]any{"nid": 1}
	report := map[string]any{
		"tools":   names,
		"result":  c.call(name, article),
		"error":   c.call(name, map[string]any{"nid": 99999}),
		"unknown": c.call("nothing", map[string]any{}),
		"large":   c.call(name, map[string]any{"nid": 1, "filler": strings.Repeat("x", 5<<20)}),
	}
	errors := map[string][]string{}
	for _, kind := range list("ERRORS") {
		errors[kind] = []string{c.call("error-"+kind, article), c.call(name, article)}
		report["errors"] = errors
	}
	if os.Getenv("GRANT") != "" {
		report["granted"] = c.granted(changed)
	}
	report["again"] = c.call(name, article)
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}
