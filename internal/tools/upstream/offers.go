package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Kind is one of the things that a server offers beside tools. It is the key of their list in the protocol.
type Kind string

// The kinds.
const (
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// The limits of what a server offers beside tools, of each kind. A longer list is cut, and the log says so.
const (
	offersMax    = 1000
	offerListMax = 8 << 20 // bytes of all pages
	uriMax       = 4 << 10
	argumentsMax = 64
	completeMax  = 100 // completions, as the protocol has it
)

// An Offer is a prompt, a resource, or a template of resources, as its server describes it.
type Offer struct {
	Name        string          `json:"name"`
	URI         string          `json:"uri,omitempty"` // of a resource, or the template (RFC 6570)
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        int64           `json:"size,omitempty"`
	Arguments   []Argument      `json:"arguments,omitempty"` // of a prompt
	UI          json.RawMessage `json:"ui,omitempty"`        // what its _meta says for MCP Apps
}

// An Argument is one argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

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
	if sup.offers == nil {
		sup.offers = map[Kind]offered{}
	}
	sup.offers[kind] = offered{list, news, time.Now()}
	return list, nil
}

// offered is a list as it was read last.
type offered struct {
	list []Offer
	news int // the value of supervisor.news before the reading
	at   time.Time
}

// hasNews says that what the server offers may have changed.
func (sup *supervisor) hasNews() {
	sup.mu.Lock()
	sup.news++
	heard := len(sup.offers) > 0 || sup.restarts > 0 // somebody may have asked for them
	sup.mu.Unlock()
	if heard && sup.offersChanged != nil {
		sup.offersChanged()
	}
}

// listOffers reads a whole list; cut says why it is not all.
func listOffers(ctx context.Context, l link, kind Kind) (all []Offer, cut string, err error) {
	cursor, size, seen := "", 0, map[string]bool{}
	for page := 1; cut == ""; page++ {
		r, err := l.fetch(ctx, &fetching{
			send: func(ctx context.Context, cs *mcp.ClientSession) (err error) {
				switch kind {
				case Prompts:
					_, err = cs.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
				case Resources:
					_, err = cs.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
				default:
					_, err = cs.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
				}
				return err
			},
			read: asValue,
		})
		if no, ok := errors.AsType[*ToolError](err); ok && no.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		if size += len(r.Value); size > offerListMax {
			return single(all), fmt.Sprintf("it has more than %d MiB", offerListMax>>20), nil
		}
		list, next, more, err := readOffers(kind, r.Value)
		if err != nil {
			return nil, "", err
		}
		all = append(all, list...)
		switch {
		case len(all) > offersMax, more:
			all, cut = all[:min(len(all), offersMax)], fmt.Sprintf("it has more than %d entries", offersMax)
		case next == "":
			return single(all), "", nil
		case seen[next], page == pagesMax:
			cut = "it does not end"
		}
		cursor = next
		seen[next] = true
	}
	return single(all), cut, nil
}

// single sorts a list, and leaves out what it has twice with different definitions: nobody knows which one is meant.
func single(all []Offer) []Offer {
	order := func(a, b Offer) int { return strings.Compare(cmp.Or(a.URI, a.Name), cmp.Or(b.URI, b.Name)) }
	slices.SortStableFunc(all, order)
	out := []Offer{}
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && order(all[i], all[n]) == 0 {
			n++
		}
		if !slices.ContainsFunc(all[i:n], func(o Offer) bool { return !reflect.DeepEqual(o, all[i]) }) {
			out = append(out, all[i])
		}
		i = n
	}
	return out
}

// readOffers reads one page of a list. As [readTools], it matches keys exactly.
func readOffers(kind Kind, result json.RawMessage) (list []Offer, next string, more bool, err error) {
	page, ok := objectOf(result)
	if !ok {
		return nil, "", false, errors.New("its list is no object")
	}
	var entries []json.RawMessage
	if raw := page[string(kind)]; raw != nil && string(raw) != "{}" { // PHP writes an empty list in both ways
		if entries, more, err = elements(raw, offersMax+1); err != nil {
			return nil, "", false, errors.New("its list is no list")
		}
	}
	_ = json.Unmarshal(page["nextCursor"], &next) // anything but a string is no cursor
	for _, raw := range entries {
		if o, ok := readOffer(kind, raw); ok {
			list = append(list, o)
		}
	}
	return list, next, more, nil
}

// readOffer reads one entry; ok is false for one that nobody could name.
func readOffer(kind Kind, raw json.RawMessage) (o Offer, ok bool) {
	var m, meta map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return o, false
	}
	o = Offer{
		Name: text(m["name"], toolNameMax+1), Title: text(m["title"], toolNameMax),
		Description: text(m["description"], descriptionMax), MIMEType: text(m["mimeType"], toolNameMax),
	}
	key, most := o.Name, toolNameMax
	if kind == Prompts {
		o.MIMEType, o.Arguments = "", readArguments(m["arguments"])
	} else {
		uri := m["uri"]
		if kind == Templates {
			uri = m["uriTemplate"]
		}
		o.URI = text(uri, uriMax+1)
		o.Name = cmp.Or(o.Name, o.URI)
		key, most = o.URI, uriMax
		_ = json.Unmarshal(m["size"], &o.Size) // anything but a number is none
		_ = json.Unmarshal(m["_meta"], &meta)
		if ui := object(meta["ui"]); len(ui) <= annotationsMax {
			o.UI = ui
		}
	}
	return o, key != "" && len(key) <= most && !strings.ContainsFunc(key, unicode.IsControl)
}

func readArguments(raw json.RawMessage) (all []Argument) {
	list, _, _ := elements(raw, argumentsMax) // anything but a list has none
	for _, one := range list {
		var m map[string]json.RawMessage
		if json.Unmarshal(one, &m) != nil || m == nil {
			continue
		}
		a := Argument{Name: text(m["name"], toolNameMax), Title: text(m["title"], toolNameMax),
			Description: text(m["description"], descriptionMax)}
		_ = json.Unmarshal(m["required"], &a.Required) // only true is required
		if a.Name != "" {
			all = append(all, a)
		}
	}
	return all
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
			m, ok := membersOf(raw, "messages")
			if !ok || !json.Valid(raw) || !strings.HasPrefix(string(m["messages"]), "[") {
				return nil, errors.New("it answered with something that is no prompt")
			}
			r = &Result{Content: json.RawMessage("[]"), Structured: raw}
			r.Value, err = r.withoutBlocks(ctx, raw, 0)
			return r, err
		},
	})
}

// A Completing asks for completions of what a person has typed into an argument of a prompt, or of a template.
type Completing struct {
	Prompt, Template string // one of them
	Argument, Value  string
	Given            map[string]string // the other arguments
}

// Complete returns completions, at most 100. Of the options, Principal and Token count.
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
	r, err := m.fetch(ctx, server, o, &fetching{
		args: marshal(c.Value),
		send: func(ctx context.Context, cs *mcp.ClientSession) error { _, err := cs.Complete(ctx, p); return err },
		read: asValue,
	})
	if err != nil {
		return nil, false, err
	}
	m2, _ := membersOf(r.Value, "completion")
	found, _ := membersOf(m2["completion"], "values", "hasMore")
	_ = json.Unmarshal(found["hasMore"], &more) // anything but true is no more
	list, cut, _ := elements(found["values"], completeMax)
	for _, raw := range list {
		if value := text(raw, uriMax); value != "" {
			values = append(values, value)
		}
	}
	return values, more || cut, nil
}
