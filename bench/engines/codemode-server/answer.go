package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/isolation"
)

func textOf(r *mcp.CallToolResult) (string, error) {
	if len(r.Content) > 0 {
		if text, ok := r.Content[0].(*mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("the answer of codemode has no text")
}

// An answer begins with the value as JSON, or with the error and its kind. Then come the console, indented, and the
// calls. What did not fit has a handle.
var (
	failure = regexp.MustCompile(`^error \(([a-z ]+)\): (.*)`)
	denial  = regexp.MustCompile(`^ToolCallDeniedError: the call of (\w+) was refused \(denied\): `)
	refused = regexp.MustCompile(`(?m)^  [-0-9, …]+\. (\w+)(?: x\d+)? refused \(denied\)`)
	cut     = regexp.MustCompile(`^\n\(cut: the value has .*codemode\.load\("(\w+)"`)
)

// ending says how a program ended.
//
// The text of an answer does not say which call ended a program. A program that catches a denial, and throws another
// error with its class and its text, counts as denied.
func ending(text string) string {
	why := failure.FindStringSubmatch(text)
	if why == nil {
		return isolation.Error // it did not start
	}
	switch kind, message := why[1], why[2]; kind {
	case "timed out":
		return isolation.Timeout
	case "out of memory":
		return isolation.Memory
	case "threw":
		calls := text[strings.LastIndex(text, "\ncalls: ")+1:]
		for _, call := range refused.FindAllStringSubmatch(calls, -1) {
			if of := denial.FindStringSubmatch(message); of != nil && of[1] == call[1] {
				return isolation.Denied
			}
		}
	}
	return isolation.Error
}

// value returns what a program returned.
func (s *service) value(ctx context.Context, text string) (json.RawMessage, error) {
	if strings.HasPrefix(text, "undefined\n") {
		return nil, nil
	}
	var value json.RawMessage
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the answer of codemode has no value: %w", err)
	}
	kept := cut.FindStringSubmatch(text[d.InputOffset():])
	if kept == nil {
		return value, nil
	}
	r, err := s.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "codemode://results/" + kept[1]})
	if err != nil {
		return nil, fmt.Errorf("reading the whole value: %w", err)
	}
	if len(r.Contents) != 1 {
		return nil, fmt.Errorf("reading the whole value: got %d parts", len(r.Contents))
	}
	if r.Contents[0].MIMEType == "text/plain" {
		return json.Marshal(r.Contents[0].Text)
	}
	return json.RawMessage(r.Contents[0].Text), nil
}
