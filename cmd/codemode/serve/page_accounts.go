package serve

import (
	"context"
	"log/slog"
	"net/url"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/console/accounts"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// accountsOf are the accounts of people at upstream servers, for the page.
type accountsOf struct {
	e        *codemode.Evaluator
	document string // the address of the client metadata document that the page serves; "" if it serves none
	log      *slog.Logger
}

func (a accountsOf) Any() bool { return len(a.e.Tools().Manager.Personal()) > 0 }

func (a accountsOf) Servers(ctx context.Context, principal string) (all []accounts.Server, err error) {
	names := a.e.Tools().Manager.Personal()
	if len(names) == 0 {
		return nil, nil
	}
	logins, err := a.e.Tools().Manager.Logins(ctx, principal)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s := accounts.Server{Name: name}
		for _, l := range logins {
			if l.Server == name {
				s.Connected = l.Created
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func (a accountsOf) LogIn(ctx context.Context, server, principal, redirect string, open func(address string),
	back <-chan url.Values) error {
	return a.e.Tools().Manager.Login(ctx, server, principal, login.Browser{
		Open: open, Redirect: redirect, Answer: back, Served: a.document})
}

func (a accountsOf) LogOut(ctx context.Context, server, principal string) (bool, error) {
	return a.e.Tools().Manager.LogoutOf(ctx, server, principal)
}

func (a accountsOf) Connected(ctx context.Context, server, principal string) {
	if err := a.e.People().Desk.Connected(ctx, principal, server); err != nil {
		a.log.Warn("calls that wait for a login do not continue", "server", server, "principal", principal, "error", err)
	}
}

// clientMetadata returns the client metadata document of a page at an address, and where the page serves it. Both are
// empty for a page that authorization servers cannot know as a client: its address is not https.
func clientMetadata(page string) (document []byte, address string) {
	address = page + console.ClientMetadataPath
	document, err := login.ClientMetadata(address, page+console.ConnectedPath)
	if err != nil {
		return nil, ""
	}
	return document, address
}
