// Package resources has what clients of a server read as MCP resources: results that did not fit into replies, and the
// declarations of tools in TypeScript.
package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/results"
)

// Results is how clients read what did not fit into a reply.
func Results() *mcp.ResourceTemplate {
	return &mcp.ResourceTemplate{
		Name: "result", Title: "Result of a program",
		URITemplate: results.URI + "{handle}{?pointer,from,count,lines}",
		Description: "A value or console output that did not fit into a reply, which names the handle, or an image, " +
			"audio or a file that a program kept. pointer is a JSON Pointer to a part. from and count select elements of an array, " +
			"members of an object, characters of a text, or bytes; with lines=true lines of a text. Images, audio and files " +
			"have their MIME type; else a text is text/plain, and any other value JSON.",
	}
}

// ReadResult reads a result, or a part of it, for the sender of r. For another principal it does not exist.
func ReadResult(ctx context.Context, e *codemode.Evaluator, r *codemode.Request, uri string, log *slog.Logger) (
	*mcp.ReadResourceResult, error) {
	handle, part, err := parseResultURI(uri)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	loaded, err := e.Runs().ReadResult(ctx, r, handle, part)
	if full, ok := errors.AsType[*hostfns.LimitError](err); ok {
		return nil, full
	}
	switch wrong, ok := errors.AsType[*hostfns.ArgumentError](err); {
	case ok && wrong.Path == "/handle":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such resource: " + wrong.Error()}
	case ok:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: wrong.Error()}
	case err != nil:
		log.Error("reading a kept result failed", "principal", r.Principal, "error", err)
		return nil, errors.New("the result cannot be read now")
	}
	contents, err := contentsOf(loaded)
	if err != nil {
		return nil, err
	}
	contents.URI = uri
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

func contentsOf(loaded *hostfns.Loaded) (*mcp.ResourceContents, error) {
	content := loaded.Content
	switch {
	case loaded.JSON == nil:
		return &mcp.ResourceContents{MIMEType: content.MIMEType, Blob: content.Bytes}, nil
	case loaded.JSON[0] != '"':
		return &mcp.ResourceContents{MIMEType: "application/json", Text: string(loaded.JSON)}, nil
	}
	contents := &mcp.ResourceContents{MIMEType: "text/plain"}
	if content != nil {
		contents.MIMEType = content.MIMEType
	}
	return contents, json.Unmarshal(loaded.JSON, &contents.Text)
}

// parseResultURI reads the URI of a result, or of a part of it.
func parseResultURI(text string) (handle string, p *hostfns.Part, err error) {
	path, query, _ := strings.Cut(text, "?")
	handle, ok := strings.CutPrefix(path, results.URI)
	if !ok || handle == "" || strings.Trim(handle, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" || len(handle) > 40 {
		return "", nil, fmt.Errorf("no such resource: a result is %sHANDLE, as the reply of the run says", results.URI)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, errors.New("the query of the URI is not valid: write ?pointer=/items&from=0&count=100")
	}
	p = &hostfns.Part{}
	for key, all := range values {
		value, wrong := all[0], ""
		switch key {
		case "pointer":
			p.Pointer = value
		case "from", "count":
			n, err := strconv.ParseInt(value, 10, 64)
			if wrong = "a whole number from 0"; err == nil && n >= 0 {
				wrong = ""
			}
			if key == "from" {
				p.From = &n
			} else {
				p.Count = &n
			}
		case "lines":
			if p.Lines = value == "true"; !p.Lines && value != "false" {
				wrong = "true or false"
			}
		default:
			wrong = "nothing of that name: the query has pointer, from, count and lines"
		}
		if len(all) > 1 {
			wrong = "one value"
		}
		if wrong != "" {
			return "", nil, fmt.Errorf("%.40q in the query of the URI: expected %s", key, wrong)
		}
	}
	return handle, p, nil
}
