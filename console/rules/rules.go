// Package rules is what the admin page shows of the rules beyond the text of their files: tables of the rules as they
// decide, with what the record says about each; what would happen to a call; what a change would have changed in recent
// calls; and the latest changes, with a way back.
//
// Everything here is for administrators. A [Book] decides nothing itself: profiles do, as for the Gate.
package rules

import (
	"context"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/changes"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/store"
)

// A Book knows the rules in force, the tools that they are about, and the record of what they decided. Set all fields
// before the first use; many goroutines may call its methods.
type Book struct {
	Rules *inforce.Rules
	Files func() (config.Files, error)
	Tools func() []*call.Tool // those of the connected servers
	// Past reads the latest calls from the record.
	Past func(ctx context.Context) (changes.Past, error)
	// DB is the store of the history.
	DB func(ctx context.Context) (*store.DB, error)

	mu sync.Mutex // one change of the history at a time
}

// BaseName stands for the profile of the base tool where a name is needed.
const BaseName = "-"

// A Bound says what numbers about recent calls rest on.
type Bound struct {
	Days  int  `json:"days"`
	Calls int  `json:"calls"`         // in these days, as far as they were read
	Cut   bool `json:"cut,omitempty"` // there are more in these days: only the latest were read
	// Unread says why the record was not read, "" if it was.
	Unread string `json:"unread,omitempty"`
	// Since is the day of the oldest call that was read.
	Since string `json:"since,omitempty"`
}

func (b *Book) past(ctx context.Context) (changes.Past, Bound) {
	past, err := b.Past(ctx)
	if err != nil {
		return past, Bound{Unread: "the record cannot be read; codemode audit verify says more"}
	}
	bound := Bound{Days: past.Days, Calls: len(past.Calls), Cut: past.Cut}
	if since := past.Since(); !since.IsZero() {
		bound.Since = since.Local().Format("2006-01-02 15:04")
	}
	return past, bound
}

// infos are the tools in the form of the check of the rules.
func infos(tools []*call.Tool) []config.ToolInfo {
	all := make([]config.ToolInfo, len(tools))
	for i, t := range tools {
		all[i] = config.ToolInfo{Server: t.Server, Tool: t.Raw, Input: t.Input, Annotations: t.Annotations}
	}
	return all
}
