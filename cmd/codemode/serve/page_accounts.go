package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
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

// ClientMetadata returns the client metadata document to publish at an address: with the name of a server, at the one of
// its "clientMetadataUrl", and with "" where the service of this configuration serves it.
func ClientMetadata(set *launch.Settings, where string) ([]byte, error) {
	files, err := set.Files()
	if err != nil {
		return nil, cli.UsageError(err)
	}
	cfg := new(config.Config)
	if !files.None() {
		if cfg, err = files.Load(); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	var back []string
	page := pageOf(cfg).Origin + config.ConsolePath
	served, address := clientMetadata(page)
	if served != nil {
		back = []string{page + console.ConnectedPath}
	}
	switch {
	case where == "" && served == nil:
		err = errors.New("name the https address at which you publish the document, or give the page that serves it one: " +
			`"console": {"origin": "https://codemode.example.com"}`)
	case where == "":
		where = address
	case !strings.Contains(where, "://"):
		where, err = documentOf(cfg, where)
	}
	if err != nil {
		return nil, cli.UsageError(err)
	}
	document, err := login.ClientMetadata(where, back...)
	return document, cli.UsageError(err)
}

// documentOf is the address of the client metadata document that a server's entry names.
func documentOf(cfg *config.Config, server string) (string, error) {
	at := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server })
	if at < 0 {
		return "", fmt.Errorf("there is no server %q in the configuration", server)
	}
	c, err := cfg.Servers[at].Connection(launch.Env)
	if err == nil && (c.OAuth == nil || c.OAuth.MetadataURL == "") {
		err = fmt.Errorf(`the server %q has no "oauth": {"clientMetadataUrl": "https://..."}`, server)
	}
	if err != nil {
		return "", err
	}
	return c.OAuth.MetadataURL, nil
}
