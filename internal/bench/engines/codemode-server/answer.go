package main

import (
	"bytes"
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
// calls. Above a value may stand which calls did not succeed, the handle of a value that did not fit, and how to read its
// tables.
var (
	failure = regexp.MustCompile(`^error \(([a-z ]+)\): (.*)`)
	denial  = regexp.MustCompile(`^ToolCallDeniedError: the call of (\w+) was refused \(denied\): `)
	refused = regexp.MustCompile(`(?m)^  [-0-9, …]+\. (\w+)(?: x\d+)? refused \(denied\)`)
	above   = regexp.MustCompile(`^(\d+ of \d+ calls did not succeed: .*\n)?(\(cut: the value has .*\n)?(\(each \{"keys": .*\n)?`)
	handle  = regexp.MustCompile(`codemode\.load\("(\w+)"`)
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
	notes := above.FindStringSubmatch(text)
	text = text[len(notes[0]):]
	if kept := handle.FindStringSubmatch(notes[2]); kept != nil {
		return s.keptValue(ctx, kept[1])
	}
	if strings.HasPrefix(text, "undefined\n") {
		return nil, nil
	}
	var value json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&value); err != nil {
		return nil, fmt.Errorf("the answer of codemode has no value: %w", err)
	}
	if notes[3] == "" {
		return value, nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var tabled any
	if err := d.Decode(&tabled); err != nil {
		return nil, err
	}
	return json.Marshal(untabled(tabled))
}

// untabled makes arrays of objects of the tables in a value.
func untabled(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = untabled(v[i])
		}
	case map[string]any:
		keys, isTable := v["keys"].([]any)
		rows, hasRows := v["rows"].([]any)
		if !isTable || !hasRows || len(v) != 2 {
			for k := range v {
				v[k] = untabled(v[k])
			}
			return v
		}
		for i, row := range rows {
			if cells, ok := row.([]any); ok && len(cells) == len(keys) {
				object := map[string]any{}
				for j, key := range keys {
					object[fmt.Sprint(key)] = cells[j]
				}
				rows[i] = object
			}
		}
		return rows
	}
	return value
}

// keptValue reads a value that did not fit into its answer.
func (s *service) keptValue(ctx context.Context, handle string) (json.RawMessage, error) {
	r, err := s.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "codemode://results/" + handle})
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
