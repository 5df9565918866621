package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The conformance suites of MCP look at what a server does by calling tools of their own. Here they are, made of what
// serves programs: the conversation with its questions and reports, the exchange with its states, and the way in which
// blocks of upstreams are passed on. TestConformance runs the suites.

// OfferFixtures offers these tools, whatever the configuration says.
func (s *Server) OfferFixtures() {
	var fixed []*tool
	for name, do := range fixtures {
		fixed = append(fixed, &tool{
			Tool: mcp.Tool{Name: name, Description: "called by the conformance suites of MCP"}, schema: fixtureSchema,
			asks: always,
			serve: func(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
				return do(ctx, c, a), nil
			},
		})
	}
	s.mcp.AddReceivingMiddleware(requireSampling)
	s.list.mu.Lock()
	s.tools.fixed = fixed
	s.list.mu.Unlock()
	s.tools.offer()
}

var fixtureSchema = newSchema(`{"type":"object","properties":{"message":{"type":"string"}}}`)

// A fixture serves the calls of one of these tools.
type fixture func(context.Context, *conversation, *arguments) *mcp.CallToolResult

// requireSampling refuses one of the tools, as the protocol wants it, to clients that have not declared sampling.
func requireSampling(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if req, ok := req.(*mcp.CallToolRequest); ok && req.Params.Name == "test_missing_capability" {
			//lint:ignore SA1019 the suite asks for sampling, which is still there
			if caps := req.ClientCapabilities(); caps == nil || caps.Sampling == nil {
				return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities,
					Message: "the client has not declared sampling", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
			}
		}
		return next(ctx, method, req)
	}
}

const (
	onePixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	noSound    = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA="
	textBlock  = `{"type":"text","text":"This is a simple text response for testing."}`
	imageBlock = `{"type":"image","data":"` + onePixel + `","mimeType":"image/png"}`
	audioBlock = `{"type":"audio","data":"` + noSound + `","mimeType":"audio/wav"}`
	fileBlock  = `{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`
)

// oneField is the schema of a form with one field.
func oneField(name, kind string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%[1]q]}`, name, kind))
}

var fixtures = map[string]fixture{
	"test_simple_text":            blocks(textBlock),
	"test_image_content":          blocks(imageBlock),
	"test_audio_content":          blocks(audioBlock),
	"test_embedded_resource":      blocks(fileBlock),
	"test_multiple_content_types": blocks(textBlock, imageBlock, fileBlock),
	"test_missing_capability":     blocks(textBlock),
	"test_logging_tool":           blocks(textBlock), // which logs nothing, whatever level is asked for
	"test_error_handling": func(context.Context, *conversation, *arguments) *mcp.CallToolResult {
		return failed(fmt.Errorf("this tool intentionally returns an error for testing"))
	},
	"test_tool_with_progress": func(ctx context.Context, c *conversation, a *arguments) *mcp.CallToolResult {
		for i := range 3 {
			c.progress("test", float64(50*i), 100, "")
			select {
			case <-time.After(2 * newsEvery):
			case <-ctx.Done():
			}
		}
		return blocks(textBlock)(ctx, c, a)
	},

	"test_elicitation": func(ctx context.Context, c *conversation, a *arguments) *mcp.CallToolResult {
		var given struct{ Message string }
		if err := json.Unmarshal(a.all, &given); err != nil || given.Message == "" {
			return failed(fmt.Errorf("the argument message is missing"))
		}
		return asks(form{params: &mcp.ElicitParams{Message: given.Message, RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)}})(ctx, c, a)
	},
	"test_streaming_elicitation": asks(form{params: &mcp.ElicitParams{Message: "Please confirm",
		RequestedSchema: oneField("ok", "boolean")}}),
	"test_elicitation_sep1034_defaults": asks(form{params: &mcp.ElicitParams{Message: "Please review and update the form fields with defaults", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)}}),
	"test_elicitation_sep1330_enums": asks(form{params: &mcp.ElicitParams{Message: "Please select options from the enum fields", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)}}),

	"test_input_required_result_elicitation": asks(form{key: "user_name",
		params: &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: oneField("name", "string")}}),
	"test_input_required_result_request_state": asks(form{key: "confirm",
		params: &mcp.ElicitParams{Message: "Please confirm", RequestedSchema: oneField("ok", "boolean")}}),
	"test_input_required_result_tampered_state": asks(form{key: "confirm",
		params: &mcp.ElicitParams{Message: "Please confirm", RequestedSchema: oneField("ok", "boolean")}}),
	"test_input_required_result_capabilities": asks(form{key: "confirm",
		params: &mcp.ElicitParams{Message: "Please confirm", RequestedSchema: oneField("ok", "boolean")}}),
	"test_input_required_result_multi_round": asks(
		form{key: "step1", params: &mcp.ElicitParams{Message: "Step 1: What is your name?",
			RequestedSchema: oneField("name", "string")}},
		form{key: "step2", params: &mcp.ElicitParams{Message: "Step 2: What is your favorite color?",
			RequestedSchema: oneField("color", "string")}}),
}

// blocks answers with content, as that of an upstream is passed on.
func blocks(all ...string) fixture {
	return func(context.Context, *conversation, *arguments) *mcp.CallToolResult {
		var r mcp.CallToolResult
		for _, b := range all {
			content, err := contentOf([]byte(b))
			if err != nil {
				return failed(err)
			}
			r.Content = append(r.Content, content)
		}
		return &r
	}
}

// asks puts forms one after another and answers with what came back.
func asks(forms ...form) fixture {
	return func(ctx context.Context, c *conversation, a *arguments) *mcp.CallToolResult {
		text := "state-ok"
		for _, f := range forms { // each is a copy
			f.about, f.within = "a test", answerWait
			asking, cancel := context.WithTimeout(ctx, answerWait)
			r, err := c.ask(asking, &f)
			cancel()
			if err != nil {
				return failed(err)
			}
			content, err := json.Marshal(r.Content)
			if err != nil {
				return failed(err)
			}
			text += fmt.Sprintf("\nElicitation completed: action=%s, content=%s", r.Action, content)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
}
