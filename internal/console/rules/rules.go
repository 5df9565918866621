// Package rules is what the admin page shows of the rules beyond the text of their files: tables of the rules as they
// decide, with what the record says about each; what would happen to a call; and what a change would have changed in
// recent calls.
//
// Everything here is for administrators. A [Book] decides nothing itself: profiles do, as for the Gate.
package rules

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

// A Book knows the rules in force, the tools that they are about, and the record of what they decided. Set all fields
// before the first use; many goroutines may call its methods.
type Book struct {
	Rules *inforce.Rules
	Files func() (config.Files, error)
	Tools func() []*call.Tool // those of the connected servers
	// Past reads the latest calls from the record.
	Past func(ctx context.Context) (changes.Past, error)

	once     sync.Once
	counting chan struct{} // holds the request that has recent calls, if there is one
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

// countWait is how long recent calls may be read and compared for one request.
const countWait = 20 * time.Second

// count hands recent calls to use. One request at a time has them: they take memory, and comparing them takes time.
func (b *Book) count(ctx context.Context, use func(context.Context, changes.Past) error) Bound {
	ctx, cancel := context.WithTimeout(ctx, countWait)
	defer cancel()
	b.once.Do(func() { b.counting = make(chan struct{}, 1) })
	var past changes.Past
	var err error
	select {
	case b.counting <- struct{}{}:
		defer func() { <-b.counting }()
		if past, err = b.Past(ctx); err == nil {
			err = use(ctx, past)
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return Bound{Unread: fmt.Sprintf("to count recent calls takes longer than %s now; load the page again later", countWait)}
	case err != nil:
		return Bound{Unread: "the record cannot be read; codemode audit verify says more"}
	}
	bound := Bound{Days: past.Days, Calls: len(past.Calls), Cut: past.Cut}
	if since := past.Since(); !since.IsZero() {
		bound.Since = since.Local().Format("2006-01-02 15:04")
	}
	return bound
}

// infos are the tools in the form of the check of the rules.
func infos(tools []*call.Tool) []config.ToolInfo {
	all := make([]config.ToolInfo, len(tools))
	for i, t := range tools {
		all[i] = config.ToolInfo{Server: t.Server, Tool: t.Raw, Name: t.Name, Annotations: t.Annotations,
			Schema: t.Input}
	}
	return all
}
