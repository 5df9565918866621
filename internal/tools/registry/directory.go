package registry

import (
	"context"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Directory tells clients, before they write a program, which servers and tools exist, the declarations of tools, and
// what the rules say about them. It shows nothing that the profile hides. Many goroutines may call its methods.
//
//	found, err := d.Search(ctx, registry.Query{Profiles: []string{"safe"}, Text: "read file", Limit: 20})
//	text, left := catalog.Brief(found, 5<<10) // TypeScript of as many as fit
//
// Programs search with codemode.search_tools, which is part of package hostfns.
type Directory struct {
	Rules *inforce.Rules
	Tools *Registry
}

// A Query selects tools.
type Query struct {
	// Profiles selects the tools that at least one of them may allow, for some arguments.
	// "" among them is the base tool. None at all selects nothing.
	Profiles []string
	// Principal, Fingerprint and Session identify the caller, as in a request. Overlays may hide tools from the caller.
	Principal, Fingerprint, Session string
	Text                            string // words to search for; "" lists by name
	Limit                           int    // zero is all
}

// Search returns the matching tools, best first. It waits a while for starting servers.
func (d *Directory) Search(ctx context.Context, q Query) ([]*catalog.Tool, error) {
	d.Tools.ReadyOnce(ctx)
	return d.Known(ctx, q)
}

// Known is Search of the tools of this moment.
func (d *Directory) Known(ctx context.Context, q Query) ([]*catalog.Tool, error) {
	shown, err := d.visible(ctx, q)
	if err != nil {
		return nil, err
	}
	var found []*catalog.Tool
	for _, m := range d.Tools.Catalog.Search(q.Text, q.Limit, shown) {
		found = append(found, m.Tool)
	}
	return found, nil
}

// subject describes the caller for overlays.
func (d *Directory) subject(ctx context.Context, q Query) (config.Subject, error) {
	return d.Rules.Subject(ctx, &inforce.Wish{Principal: q.Principal, Fingerprint: q.Fingerprint, Session: q.Session})
}

// hidden reports which tools none of the profiles might let through.
func (d *Directory) hidden(ctx context.Context, q Query) (func(*call.Tool) bool, error) {
	subject, err := d.subject(ctx, q)
	if err != nil {
		return nil, err
	}
	var policies []*inforce.Policy
	for _, name := range q.Profiles {
		p, err := d.Rules.Bind(name, subject)
		if err != nil {
			return nil, err
		}
		policies = append(policies, p)
	}
	return func(t *call.Tool) bool {
		return !slices.ContainsFunc(policies, func(p *inforce.Policy) bool { return !p.Hidden(t) })
	}, nil
}

// visible accepts the others.
func (d *Directory) visible(ctx context.Context, q Query) (func(*catalog.Tool) bool, error) {
	hidden, err := d.hidden(ctx, q)
	return func(t *catalog.Tool) bool { return !hidden(d.Tools.Describe(t)) }, err
}

// Declarations describes tools in TypeScript: those with the given names, which may be names of servers, or, if
// there are no names, those that q selects. A name that q hides gives a [*hostfns.NotFoundError], like one that does
// not exist.
func (d *Directory) Declarations(ctx context.Context, names []string, q Query) (string, error) {
	found, err := d.Search(ctx, q)
	if err != nil {
		return "", err
	}
	if len(names) > 0 {
		var chosen []*catalog.Tool
		for _, name := range names {
			before := len(chosen)
			asked, _ := d.Tools.Catalog.Find(name) // also by the name that its server gives it
			for _, t := range found {
				if t == asked || t.Server == name || call.Part(t.Server) == name {
					chosen = append(chosen, t)
				}
			}
			if len(chosen) == before {
				return "", d.missing(ctx, q, name, found)
			}
		}
		found = chosen
	}
	return catalog.Declarations(found), nil
}

// Files declares the tools that q selects in files for editors and compilers, see [catalog.Files].
func (d *Directory) Files(ctx context.Context, q Query) ([]catalog.File, error) {
	found, err := d.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	files := catalog.Files(found)
	for i := range files {
		files[i].Text = visible.Text(files[i].Text) // a string type may hold what changes the direction of text
	}
	return files, nil
}

// missing is the error for a name that is hidden or does not exist. It does not say which, and suggests only visible
// names.
func (d *Directory) missing(ctx context.Context, q Query, name string, found []*catalog.Tool) error {
	hidden, err := d.hidden(ctx, q)
	if err != nil {
		return err
	}
	_, err = d.Tools.Catalog.Find(name)
	if err == nil {
		return &hostfns.NotFoundError{Name: name}
	}
	missing, ok := d.Tools.Missing(name, err).(*hostfns.NotFoundError)
	if !ok {
		return err
	}
	shown := *missing.For(hidden)
	shown.Nearest = slices.DeleteFunc(slices.Clone(shown.Nearest), func(near string) bool {
		return !slices.ContainsFunc(found, func(t *catalog.Tool) bool { return t.Name == near })
	})
	return &shown
}

// Servers describes the upstreams that programs of these profiles can use, without waiting for any. It includes servers
// that have not listed their tools yet, and leaves out those with no tool for these profiles.
func (d *Directory) Servers(profiles []string) []upstream.Status {
	shown, err := d.visible(context.Background(), Query{Profiles: profiles}) // without a session it does not block
	if err != nil {
		return nil // the configuration removed a profile
	}
	has := map[string]bool{}
	for _, t := range d.Tools.Catalog.Tools() {
		has[t.Server] = has[t.Server] || shown(t)
	}
	return slices.DeleteFunc(d.Tools.Manager.Status(), func(st upstream.Status) bool {
		return st.State == upstream.Disabled || d.Tools.IsListed(st.Name) && !has[st.Name]
	})
}
