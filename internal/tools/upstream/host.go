package upstream

import (
	"log/slog"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// A host holds what all connections of a manager share.
type host struct {
	env           func(string) (string, bool)
	log           *slog.Logger
	starter       *Starter
	confine       func(*servers.Server, Command) (Command, error) // nil confines nothing
	name, version string
	logins        *login.Store
	descriptions  string // the folder of the descriptions of APIs; "" is a temporary one
}

// account is our login at the server, nil if it needs none.
func (h *host) account(s *Server) *login.Account {
	switch {
	case s.Transport == OpenAPI && s.API.Client != nil:
		return login.OfClient(s.Name, s.URL, s.API.Client)
	case s.Transport == OpenAPI && s.OAuth == nil, s.Headers.Get("Authorization") != "",
		s.Transport != HTTP && s.Transport != SSE && s.Transport != OpenAPI:
		return nil
	}
	return h.logins.Account(s.Name, s.URL)
}
