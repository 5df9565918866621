package console

import (
	"fmt"
	"github.com/codemode-project/codemode/call"
	"net/http"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/console/servers"
	"github.com/codemode-project/codemode/internal/record/audit"
)

type serversView struct {
	frame
	Servers []servers.Server
	Changed int // tools to review
}

func (c serverPages) servers(s *session) ([]servers.Server, error) {
	if !c.seesServers(s) {
		return nil, refuse(http.StatusNotFound, "the servers are not shown to this person")
	}
	return servers.List(c.options.Servers), nil
}

func (c serverPages) showServers(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.servers(s)
	if err != nil {
		return err
	}
	v := &serversView{frame: c.frame(r, s, "servers", "Servers"), Servers: list}
	for _, one := range list {
		v.Changed += len(one.Changed)
	}
	return c.render(w, "servers", v)
}

func (c serverPages) apiServers(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.servers(s)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"servers": list})
}

// A serverRequest is what a person wants of a server, from a form or as JSON.
type serverRequest struct {
	Server string `json:"server"` // to reconnect
	Tool   string `json:"tool"`   // to accept
	Digest string `json:"digest"` // of the definition that the person saw
	Why    string `json:"why"`
}

func (c serverPages) serverRequest(r *http.Request, s *session) (said serverRequest, err error) {
	if c.options.Servers == nil {
		return said, refuse(http.StatusNotFound, "the servers are not shown here")
	}
	if err := c.mayChangeRules(s); err != nil {
		return said, err
	}
	if mediaType(r) == "application/json" {
		return said, readJSON(r, &said)
	}
	form := r.PostForm.Get
	return serverRequest{form("server"), form("tool"), form("digest"), form("why")}, nil
}

// reconnect opens a new connection to a server, which gains no power by it.
func (c serverPages) reconnect(w http.ResponseWriter, r *http.Request, s *session) error {
	said, err := c.serverRequest(r, s)
	if err != nil {
		return err
	}
	list := servers.List(c.options.Servers)
	if !slices.ContainsFunc(list, func(one servers.Server) bool { return one.Name == said.Server }) {
		return refuse(http.StatusNotFound, "there is no such server")
	}
	if err := c.note(r.Context(), call.Entry{Kind: audit.Policy, State: "reconnected", Principal: s.person,
		Client: "console", Server: said.Server, Detail: "a new connection to the server " + said.Server + " was wanted on the page"}); err != nil {
		return refuse(http.StatusServiceUnavailable, err.Error())
	}
	if err := c.options.Servers.Reconnect(said.Server); err != nil {
		return refuse(http.StatusConflict, "not reconnected: "+word(err.Error()))
	}
	return c.acknowledge(w, r, s, "/servers", "The server "+word(said.Server)+" is being connected anew.")
}

// acceptTool accepts the new definition of a tool: its calls are no longer asked about because of the change.
func (c serverPages) acceptTool(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	said, err := c.serverRequest(r, s)
	if err != nil {
		return nil, err
	}
	why := strings.TrimSpace(said.Why)
	if why == "" || len(why) > 1000 {
		return nil, refuse(http.StatusUnprocessableEntity, "say why you accept it, in at most 1000 bytes: the record keeps that")
	}
	of, ok := servers.Find(c.options.Servers, said.Tool, said.Digest)
	if !ok {
		return nil, refuse(http.StatusConflict, "that is not how the tool is defined now: it has changed again, or "+
			"somebody has accepted it; load the page of the servers again, and look at what is there now")
	}
	ch := &change{what: fmt.Sprintf("accept the new definition of the tool %s of the server %s", word(of.Name),
		word(of.Server))}
	for _, line := range of.Diff {
		ch.detail = append(ch.detail, inLine(line))
	}
	ch.detail = append(ch.detail, "because: "+inLine(why))
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		if err := c.note(r.Context(), call.Entry{Kind: audit.Policy, State: "accepted", Principal: s.person,
			Client: "console", Server: of.Server, Tool: of.Name, ToolDefinition: of.Digest,
			Detail: "the new definition of the tool was accepted on the page, after a proof: " + why}); err != nil {
			return refuse(http.StatusServiceUnavailable, err.Error())
		}
		if err := c.options.Servers.Accept(of.Name, of.Digest); err != nil {
			return refuse(http.StatusConflict, "not accepted: "+word(err.Error()))
		}
		return c.acknowledge(w, r, s, "/servers", "The new definition of "+word(of.Name)+" is accepted.")
	}
	return ch, nil
}
