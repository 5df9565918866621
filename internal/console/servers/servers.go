// Package servers describes the connected MCP servers for the page: how they are, whether they want a login, and which
// of their tools differ from the definitions that a person accepted.
package servers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A Source has the servers. Many goroutines may call its methods.
type Source interface {
	Status() []upstream.Status
	// Changes lists the tools that differ from their accepted definitions.
	Changes() []catalog.Change
	// Reconnect opens a new connection to a server, in place of the present one.
	Reconnect(server string) error
	// Accept accepts the definition with that digest. It refuses a tool that has changed again.
	Accept(tool, digest string) error
}

// A Server is one server. Texts of the server are not escaped.
type Server struct {
	Name           string           `json:"name"`
	Implementation string           `json:"implementation,omitempty"` // what the server calls itself, name and version
	Transport      string           `json:"transport"`
	State          string           `json:"state"` // starting, ready, failed, stopped or disabled
	Since          time.Time        `json:"since"` // of State
	Tools          int              `json:"tools"` // that it listed last
	Restarts       int              `json:"restarts"`
	LatencyMS      float64          `json:"latencyMs,omitempty"` // of the last answered call; 0 is unknown
	Error          string           `json:"error,omitempty"`     // why it is down
	Notes          []string         `json:"notes,omitempty"`     // what else a person should know
	Login          string           `json:"login,omitempty"`     // in, needed or none; "" where there are no logins
	LoginExpires   time.Time        `json:"loginExpires,omitzero"`
	LoginRenews    bool             `json:"loginRenews,omitempty"` // it goes on after LoginExpires
	Reconnects     bool             `json:"reconnects"`            // a person can reconnect it now
	Changed        []catalog.Change `json:"changed,omitempty"`     // tools to review
}

// List describes the servers of a source, sorted by name. Those that are part of this process are left out.
func List(from Source) []Server {
	changed := map[string][]catalog.Change{}
	for _, c := range from.Changes() {
		changed[c.Server] = append(changed[c.Server], c)
	}
	list := []Server{}
	for _, st := range from.Status() {
		if st.Transport == upstream.InProcess {
			continue
		}
		list = append(list, Server{
			Name: st.Name, Implementation: st.Implementation, Transport: string(st.Transport), State: string(st.State),
			Since: st.Since, Tools: st.Tools, Restarts: st.Restarts, Error: st.Error, Notes: st.Health(),
			LatencyMS: float64(st.Latency.Microseconds()) / 1000, Login: login(st.Login), LoginExpires: st.Login.Expires,
			LoginRenews: st.Login.Renews, Changed: changed[st.Name],
			Reconnects: st.State == upstream.Ready || st.State == upstream.Failed,
		})
	}
	return list
}

func login(of upstream.Login) string {
	switch {
	case of.Needed:
		return "needed"
	case of.Done:
		return "in"
	case of.Possible:
		return "none"
	}
	return ""
}

// Class is the color of the state.
func (s Server) Class() string {
	switch upstream.State(s.State) {
	case upstream.Ready:
		return "good"
	case upstream.Failed:
		return "bad"
	case upstream.Stopped, upstream.Disabled:
		return "plainly"
	}
	return "open"
}

// StateWord is the word for the state.
func (s Server) StateWord() string {
	words := map[upstream.State]string{upstream.Ready: "connected", upstream.Failed: "down",
		upstream.Stopped: "ready when needed"}
	return cmp.Or(words[upstream.State(s.State)], s.State)
}

// Find returns the change of a tool to the definition with that digest.
func Find(from Source, tool, digest string) (c catalog.Change, ok bool) {
	all := from.Changes()
	at := slices.IndexFunc(all, func(c catalog.Change) bool { return c.Name == tool && c.Digest == digest })
	if at < 0 {
		return c, false
	}
	return all[at], true
}

// The most of a change that a list shows: lines, and bytes of a line.
const (
	mostLines = 40
	mostBytes = 600
)

// Brief is the beginning of the lines of a change, for a list. whole reports whether nothing is missing.
func Brief(diff []string) (lines []string, whole bool) {
	whole = len(diff) <= mostLines
	for _, line := range diff[:min(len(diff), mostLines)] {
		if len(line) > mostBytes {
			line, whole = strings.ToValidUTF8(line[:mostBytes], "")+"…", false
		}
		lines = append(lines, line)
	}
	return lines, whole
}
