package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// crm is an MCP server as a company may have one: its tools page, answer in text that is JSON or in several blocks, and
// fail; one name is in camel case and one has a hyphen.
type crm struct {
	mu      sync.Mutex
	effects map[string]int
}

// take returns what was done since the last time.
func (c *crm) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := c.effects
	c.effects = map[string]int{}
	return done
}

type crmArgs struct {
	ID, N, Page, Limit int
	To, Status         string
	InvoiceNumber      string
}

type customer struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Email   string `json:"email"`
	Active  bool   `json:"active"`
	Created string `json:"created"`
}

func customers() []customer {
	names := []string{"Anna", "Bernd", "Carla", "Dieter"}
	all := make([]customer, 23)
	for i := range all {
		all[i] = customer{i + 1, fmt.Sprintf("%s %d", names[i%len(names)], i+1), fmt.Sprintf("u%d@example.com", i+1), i%3 != 0,
			fmt.Sprintf("2026-0%d-1%dT08:30:00Z", 1+i%9, i%10)}
	}
	return all
}

func (c *crm) handler() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	for _, tool := range crmTools {
		name := tool.Name
		copied := *tool
		s.AddTool(&copied, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			c.mu.Lock()
			c.effects[name]++
			c.mu.Unlock()
			var a crmArgs
			if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
				return nil, err
			}
			r := &mcp.CallToolResult{}
			texts, err := crmAnswer(name, &a, r)
			if err != nil {
				r.IsError, texts = true, []string{err.Error()}
			}
			for _, text := range texts {
				r.Content = append(r.Content, &mcp.TextContent{Text: text})
			}
			return r, nil
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true})
}

func crmTool(name, description, properties string, required []string, a *mcp.ToolAnnotations) *mcp.Tool {
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": json.RawMessage(properties),
		"required": append([]string{}, required...), "additionalProperties": false})
	if err != nil {
		panic(err)
	}
	return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: a}
}

var crmTools = func() []*mcp.Tool {
	reads, id := &mcp.ToolAnnotations{ReadOnlyHint: true}, `{"id": {"type": "integer"}}`
	list := crmTool("list_customers", "Lists customers, page by page.",
		`{"page": {"type": "integer", "minimum": 1, "description": "starts at 1"}, "limit": {"type": "integer", "minimum": 1, "maximum": 10}}`, nil, reads)
	list.OutputSchema = json.RawMessage(`{"type": "object", "required": ["items"], "properties": {
		"items": {"type": "array", "items": {"type": "object", "required": ["id", "name", "email"], "properties": {
			"id": {"type": "integer"}, "name": {"type": "string"}, "email": {"type": "string"}, "active": {"type": "boolean"}, "created": {"type": "string"}}}},
		"nextPage": {"type": ["integer", "null"]}}}`)
	return []*mcp.Tool{
		list,
		crmTool("get_customer", "Gets one customer as JSON.", id, []string{"id"}, reads),
		crmTool("send_email", "Sends an e-mail to a customer.",
			`{"to": {"type": "string"}, "subject": {"type": "string"}, "body": {"type": "string"}}`, []string{"to", "subject"}, nil),
		crmTool("append_log", "Appends a line to the log.", `{"line": {"type": "string"}}`, []string{"line"}, nil),
		crmTool("delete_customer", "Deletes a customer.", id, []string{"id"}, &mcp.ToolAnnotations{DestructiveHint: new(true)}),
		crmTool("getInvoice", "Fetches an invoice by number.", `{"invoiceNumber": {"type": "string"}}`, []string{"invoiceNumber"}, nil),
		crmTool("list-invoices", "Lists invoices.", `{"status": {"type": "string", "enum": ["open", "paid"]}}`, nil, nil),
		crmTool("throw_dice", "Generates a random integer between 1 and the number of sides.", `{"sides": {"type": "integer"}}`, nil, nil),
		crmTool("report", "Returns a report as text followed by a table in JSON.", `{}`, nil, nil),
		crmTool("fail", "Always fails, as an upstream outage would.", `{}`, nil, nil),
		crmTool("big", "Returns a long text of n characters.", `{"n": {"type": "integer"}}`, []string{"n"}, nil),
		crmTool("place_order", "Places an order.", `{"customer": {"type": "object", "properties": {"customerId": {"type": "integer"}, "note": {"type": "string"}}, "required": ["customerId"], "additionalProperties": false},
			"lines": {"type": "array", "items": {"type": "object", "properties": {"articleNumber": {"type": "string"}, "count": {"type": "integer"}}, "required": ["articleNumber"], "additionalProperties": false}},
			"rush": {"type": ["boolean", "null"]}}`, []string{"customer", "lines"}, nil),
	}
}()

// crmAnswer returns the texts of an answer. An error is the tool's.
func crmAnswer(name string, a *crmArgs, r *mcp.CallToolResult) ([]string, error) {
	asJSON := func(v any) []string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return []string{string(b)}
	}
	all := customers()
	switch name {
	case "list_customers":
		limit, page := a.Limit, max(a.Page, 1)
		if limit == 0 {
			limit = 5
		}
		from, to := min((page-1)*limit, len(all)), min(page*limit, len(all))
		answer := map[string]any{"items": all[from:to], "nextPage": nil}
		if to < len(all) {
			answer["nextPage"] = page + 1
		}
		r.StructuredContent = answer
		return asJSON(answer), nil
	case "get_customer":
		if a.ID < 1 || a.ID > len(all) {
			return nil, fmt.Errorf("no customer %d", a.ID)
		}
		return asJSON(all[a.ID-1]), nil
	case "send_email":
		return []string{"E-mail to " + a.To + " sent."}, nil
	case "getInvoice":
		return asJSON(map[string]any{"number": a.InvoiceNumber, "total": 119.5, "currency": "EUR", "due": "2026-12-01"}), nil
	case "list-invoices":
		type invoice struct {
			Number string  `json:"number"`
			Status string  `json:"status"`
			Total  float64 `json:"total"`
		}
		found := []invoice{}
		for _, i := range []invoice{{"R-1", "open", 119.5}, {"R-2", "paid", 20}, {"R-3", "open", 7.25}} {
			if a.Status == "" || a.Status == i.Status {
				found = append(found, i)
			}
		}
		return asJSON(found), nil
	case "throw_dice":
		return []string{"4"}, nil
	case "report":
		return []string{"Report of today:", `[{"k":"a","v":1},{"k":"b","v":2}]`}, nil
	case "fail":
		return nil, errors.New("503 upstream gone")
	case "big":
		return []string{strings.Repeat("x", a.N)}, nil
	}
	return []string{"ok"}, nil
}
