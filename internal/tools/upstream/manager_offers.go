package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offered lists what a server offers of a kind, sorted by URI or name. It asks the server once, and again after each
// notice of a change. If that fails, the last list stands. Of the options, Principal and Token count.
func (m *Manager) Offered(ctx context.Context, server string, kind Kind, o CallOptions) ([]Offer, error) {
	sup, leave, err := m.enter(ctx, server, "", o)
	if err != nil {
		return nil, err
	}
	defer leave()
	sup.mu.Lock()
	had, known := sup.offers[kind]
	news := sup.news
	sup.mu.Unlock()
	if known && had.news == news && time.Since(had.at) < relist {
		return had.list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	r, err := sup.request(ctx, "", nil, o.sent, func(ctx context.Context, l link) (*Result, error) {
		all, cut, err := listOffers(ctx, l, kind)
		if cut != "" {
			sup.log.Warn("a list of a server is cut", "list", kind, "reason", cut)
		}
		return &Result{Value: marshal(all)}, err
	})
	if err != nil && known {
		sup.log.Warn("upstream does not list what it offers; the last list stands", "list", kind, "error", err)
		return had.list, nil
	}
	list := []Offer{}
	if err != nil || json.Unmarshal(r.Value, &list) != nil {
		return nil, cmp.Or(err, errors.New("its list cannot be read"))
	}
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.offers[kind] = offered{list, news, time.Now()}
	return list, nil
}

// listOffers reads a whole list; cut says why it is not all.
func listOffers(ctx context.Context, l link, kind Kind) (all []Offer, cut string, err error) {
	cursor, size, seen := "", 0, map[string]bool{}
	for page := 1; cut == ""; page++ {
		r, err := l.fetch(ctx, &fetching{read: asValue, send: func(ctx context.Context, cs *mcp.ClientSession) (err error) {
			switch kind {
			case Prompts:
				_, err = cs.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			case Resources:
				_, err = cs.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
			default:
				_, err = cs.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
			}
			return err
		}})
		if no, ok := errors.AsType[*ToolError](err); ok && no.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		list, next, more, err := readOffers(kind, r.Value)
		if err != nil {
			return nil, "", err
		}
		size += len(r.Value)
		switch {
		case size > offerListMax:
			list, cut = nil, fmt.Sprintf("it has more than %d MiB", offerListMax>>20)
		case len(all)+len(list) > offersMax, more:
			list, cut = list[:min(len(list), offersMax-len(all))], fmt.Sprintf("it has more than %d entries", offersMax)
		case next != "" && (seen[next] || page == pagesMax):
			cut = "it does not end"
		}
		all = append(all, list...)
		if next == "" {
			break
		}
		cursor, seen[next] = next, true
	}
	return single(all), cut, nil
}

// asValue is a result that is its own value.
func asValue(_ context.Context, raw json.RawMessage) (*Result, error) {
	return &Result{Value: raw}, nil
}

// GetPrompt gets a prompt of a server. The value is the result of prompts/get, with handles for images, audio and
// resources; Structured is that result as received. Of the options, Principal, Token and Sent count.
func (m *Manager) GetPrompt(ctx context.Context, server, name string, args map[string]string, o CallOptions) (*Result,
	error) {
	return m.fetch(ctx, server, o, &fetching{
		args: marshal(args),
		send: func(ctx context.Context, cs *mcp.ClientSession) error {
			_, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
			return err
		},
		read: func(ctx context.Context, raw json.RawMessage) (r *Result, err error) {
			m, _ := membersOf(raw, "messages")
			if !json.Valid(raw) || !strings.HasPrefix(string(m["messages"]), "[") {
				return nil, errors.New("it answered with something that is no prompt")
			}
			r = &Result{Content: json.RawMessage("[]"), Structured: raw}
			r.Value, err = r.withoutBlocks(ctx, raw, 0)
			return r, err
		},
	})
}

// completeMax is how many completions there are at most, as the protocol has it.
const completeMax = 100

// A Completing asks for completions of what a person has typed into an argument of a prompt, or of a template.
type Completing struct {
	Prompt, Template string // one of them
	Argument, Value  string
	Given            map[string]string // the other arguments
}

// Complete returns completions. Of the options, Principal and Token count.
func (m *Manager) Complete(ctx context.Context, server string, c Completing, o CallOptions) (values []string, more bool,
	err error) {
	ref := &mcp.CompleteReference{Type: "ref/prompt", Name: c.Prompt}
	if c.Template != "" {
		ref = &mcp.CompleteReference{Type: "ref/resource", URI: c.Template}
	}
	p := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: c.Argument, Value: c.Value}}
	if len(c.Given) > 0 {
		p.Context = &mcp.CompleteContext{Arguments: c.Given}
	}
	r, err := m.fetch(ctx, server, o, &fetching{args: marshal(c.Value), read: asValue,
		send: func(ctx context.Context, cs *mcp.ClientSession) error { _, err := cs.Complete(ctx, p); return err }})
	if err != nil {
		return nil, false, err
	}
	result, _ := membersOf(r.Value, "completion")
	found, _ := membersOf(result["completion"], "values", "hasMore")
	_ = json.Unmarshal(found["hasMore"], &more) // anything but true is no more
	list, cut, _ := elements(found["values"], completeMax)
	for _, raw := range list {
		if value := text(raw, offerNameMax); !unusable(value) {
			values = append(values, value)
		}
	}
	return values, more || cut, nil
}
