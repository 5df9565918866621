package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"sync"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Document is a description. Many goroutines may use it and its operations.
type Document struct {
	Title, Version, About string // About is the beginning of its own words about the API
	Format                string // such as "OpenAPI 3.0.3" or "Swagger 2.0"
	// Servers are the addresses that it proposes, with the usual values of their variables. They may be relative.
	Servers    []string
	Schemes    []Scheme
	Operations []*Operation // in the order of the text
	Left       []Left
	Notes      []string // what else is odd about it, as sentences

	r                  io.ReaderAt // JSON
	swagger            bool
	consumes, produces []string       // of Swagger 2, for all operations
	parts              []part         // the components, by number
	known              map[string]int // their numbers, by pointer, such as #/components/schemas/Issue
	slab               []int32        // what operations and components refer to, see refs

	onceDigests sync.Once

	cache cache
}

// A Scheme is a way in which the API knows who calls.
type Scheme struct {
	Key      string // its name in the description
	Type     string // apiKey, http, oauth2 or openIdConnect
	In, Name string // of a key: header, query or cookie, and the name there
	Scheme   string // of http: basic or bearer

	AuthorizationURL, TokenURL string // of oauth2
	Scopes                     []string
}

// A Left is an operation that cannot be called, and why, as a sentence without its subject.
type Left struct{ Method, Path, ID, Why string }

// An Operation is one operation of an API.
type Operation struct {
	Name         string // for programs; of one document each has another one
	ID           string // its operationId; "" is none
	Method, Path string // Method in upper case
	Summary      string // the beginning of what the description says of it
	Effect, Why  string // one of the effects, and the reason in a few words

	doc   *Document
	part  // its own text
	above *above
}

// text reads a part of the document.
func (d *Document) text(at span) (json.RawMessage, error) {
	b := make([]byte, at.len)
	if _, err := d.r.ReadAt(b, at.at); err != nil {
		return nil, err
	}
	return b, nil
}

// Text is the operation as the description has it, as JSON; nil if that can no longer be read.
func (o *Operation) Text() json.RawMessage {
	text, _ := o.doc.text(o.at)
	return text
}

// A digest is a SHA-256.
type digest [sha256.Size]byte

// above is what operations of one path share.
type above struct{ parameters part }

// A span is a part of the text.
type span struct {
	at  int64
	len int32
}

// A part is a component. One that is only referred to has no span.
type part struct {
	at       span
	sum, all digest // of its text, and with all that it reaches
	refs     refs
}

// refs are numbers of components, in Document.slab.
type refs struct{ from, to int32 }

// A cache has parts of the document in the form in which they are used.
type cache struct {
	mu      sync.Mutex
	values  map[string]strictjson.Value
	schemas map[string]*schema
	bytes   int // of the texts of both
	plans   map[*Operation]*compiled
}

// A schema is a component as JSON Schema 2020-12, without what it refers to.
type schema struct {
	text json.RawMessage
	refs []string // the components that it refers to
	err  error    // of an input: a reference that leads nowhere
	cost int      // bytes of components that were read for it
}

// A compiled is what was made of an operation.
type compiled struct {
	plan  *Plan
	input json.RawMessage
	err   error
}

// The limits of a description.
const (
	documentMax   = 128 << 20 // bytes
	operationsMax = 50_000
	operationMax  = 1 << 20 // bytes of one
	textMax       = 64 << 10
	summaryMax    = 160
	idMax         = 1000
	notesMax      = 100
	depthMax      = 1000
	restMax       = 1 << 20   // bytes of a top-level member such as info
	partsMax      = 250_000   // components
	followedMax   = 128 << 20 // bytes of items that are read again for the paths that refer to them
	pathsMax      = 100_000
	leftMax       = 1000
)
