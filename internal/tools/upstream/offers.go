package upstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
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
	offerListMax = 8 << 20  // bytes of all pages
	offerMax     = 64 << 10 // of one entry; a longer one is left out
	offerNameMax = 4 << 10  // of a name or a URI, likewise
)

// An Offer is a prompt, a resource, or a template of resources, as its server describes it.
type Offer struct {
	Name        string     `json:"name"`
	URI         string     `json:"uri,omitempty"` // of a resource, or the template (RFC 6570)
	Template    string     `json:"uriTemplate,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	MIMEType    string     `json:"mimeType,omitempty"`
	Size        int64      `json:"size,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"` // of a prompt
	Meta        struct {
		UI json.RawMessage `json:"ui,omitempty"` // for MCP Apps
	} `json:"_meta,omitzero"`
}

// An Argument is one argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// offered is a list as it was read last.
type offered struct {
	list []Offer
	news int // the value of supervisor.news before the reading
	at   time.Time
}

// key is what a client names it by.
func (o *Offer) key() string { return cmp.Or(o.URI, o.Name) }

// readOffers reads one page of a list. What it reads is all that anybody sees of an entry.
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
		var o Offer
		if len(raw) > offerMax || json.Unmarshal(raw, &o) != nil {
			continue
		}
		if o.URI = cmp.Or(o.URI, o.Template); kind == Prompts {
			o.URI = ""
		}
		o.Name, o.Template = cmp.Or(o.Name, o.URI), ""
		names := []string{o.key()}
		for _, a := range o.Arguments {
			names = append(names, a.Name)
		}
		if (kind == Prompts || o.URI != "") && !slices.ContainsFunc(names, unusable) {
			list = append(list, o)
		}
	}
	return list, next, more, nil
}

func unusable(name string) bool {
	return name == "" || len(name) > offerNameMax || strings.ContainsFunc(name, unicode.IsControl)
}

// single sorts a list, and leaves out what it has twice with different definitions: nobody knows which one is meant.
func single(all []Offer) []Offer {
	slices.SortStableFunc(all, func(a, b Offer) int { return strings.Compare(a.key(), b.key()) })
	out := []Offer{}
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].key() == all[i].key() {
			n++
		}
		if !slices.ContainsFunc(all[i:n], func(o Offer) bool { return !reflect.DeepEqual(o, all[i]) }) {
			out = append(out, all[i])
		}
		i = n
	}
	return out
}
