package console

import (
	"errors"
	"github.com/codemode-project/codemode/call"
	"net/http"
	"net/url"
	"slices"

	"github.com/codemode-project/codemode/internal/console/accounts"
	"github.com/codemode-project/codemode/internal/record/audit"
)

const (
	accountsPath = "/accounts"
	// ConnectedPath is where authorization servers send browsers back to, below the path of the page.
	ConnectedPath = accountsPath + "/callback"
	// ClientMetadataPath is where the page has [Options.ClientMetadata], below its path.
	ClientMetadataPath = "/client-metadata.json"
	// accountCookie ends the name of the cookie of a login at an upstream in progress.
	accountCookie = "-account"
)

type accountsView struct {
	frame
	Servers []accounts.Server
	loginAddress
	Problem, Continue string // after the return
}

// A loginAddress says where a person logs in to connect an account, see POST /api/accounts/connect. On the list it is
// zero.
type loginAddress struct {
	Server  string `json:"server"`  // that the account is for
	Host    string `json:"host"`    // of the authorization server: people look at it before they go on
	Address string `json:"address"` // to open in the browser that gets the cookie
}

var errNoAccounts = refuse(http.StatusNotFound, "no server here has accounts of its principals")

// personal lists the servers that the programs of a person reach with their own account.
func (c accountPages) personal(r *http.Request, s *session) ([]accounts.Server, error) {
	if c.accounts.Upstreams == nil {
		return nil, errNoAccounts
	}
	return c.accounts.Upstreams.Servers(r.Context(), s.person)
}

func (c accountPages) showAccounts(w http.ResponseWriter, r *http.Request, s *session) error {
	all, err := c.personal(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "accounts", &accountsView{frame: c.frame(r, s, "accounts", "Accounts"), Servers: all})
}

func (c accountPages) apiAccounts(w http.ResponseWriter, r *http.Request, s *session) error {
	all, err := c.personal(r, s)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"servers": append([]accounts.Server{}, all...)})
}

// account returns the server that a form or JSON names.
func (c accountPages) account(r *http.Request, s *session) (string, error) {
	all, err := c.personal(r, s)
	if err != nil {
		return "", err
	}
	said := struct {
		Server string `json:"server"`
	}{r.PostForm.Get("server")}
	if mediaType(r) == "application/json" {
		if err := readJSON(r, &said); err != nil {
			return "", err
		}
	}
	if !slices.ContainsFunc(all, func(x accounts.Server) bool { return x.Name == said.Server }) {
		return "", refuse(http.StatusNotFound, "there is no such server with accounts of its principals")
	}
	return said.Server, nil
}

// connectAccount finds out where a person logs in, and says it. It does not redirect: the policy of the page lets forms
// lead nowhere else, and people see before where they will type a password.
func (c accountPages) connectAccount(w http.ResponseWriter, r *http.Request, s *session) error {
	server, err := c.account(r, s)
	if err != nil {
		return err
	}
	if c.origin(r) != c.options.Origins[0] { // the cookie has to be there where the browser comes back to
		return refuse(http.StatusConflict, "accounts are connected at "+c.options.Origins[0]+": open the page there")
	}
	address, binding, err := c.accounts.Begin(r.Context(), accounts.Person{Name: s.person, Ended: s.ended,
		Home: c.base(r) + accountsPath}, server, c.options.Origins[0]+c.options.Path+ConnectedPath)
	if err != nil {
		return refuse(http.StatusBadGateway, "the account at "+server+" cannot be connected: "+word(err.Error()))
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return refuse(http.StatusBadGateway, "the authorization server of "+server+" has no usable address")
	}
	c.bindAccount(w, r, binding)
	to := loginAddress{server, u.Host, address}
	if wantsJSON(r) {
		return writeJSON(w, http.StatusOK, to)
	}
	return c.render(w, "accounts",
		&accountsView{frame: c.frame(r, s, "accounts", "Connect an account"), loginAddress: to})
}

func (c accountPages) bindAccount(w http.ResponseWriter, r *http.Request, binding string) {
	c.addCookie(w, r, http.Cookie{Name: c.cookie + accountCookie, Value: binding, Path: c.options.Path + ConnectedPath,
		SameSite: http.SameSiteLaxMode}, accounts.Life)
}

// accountConnected serves a browser that comes back from an authorization server. It has no session: browsers send the
// cookie of one only with requests of this site.
func (c accountPages) accountConnected(w http.ResponseWriter, r *http.Request) error {
	flow, err := c.accounts.Finish(r.Context(), r.URL.Query(), cookies(r, c.cookie+accountCookie))
	if flow == nil {
		c.log.Warn("a login at an upstream was refused", "reason", err)
		return refuse(http.StatusForbidden, word(err.Error()))
	}
	c.bindAccount(w, r, "")
	v := &accountsView{frame: c.bareFrame("Account"), loginAddress: loginAddress{Server: flow.Server},
		Continue: flow.Person.Home}
	entry := call.Entry{Kind: audit.Access, State: "login_made", Client: "console", Principal: flow.Person.Name,
		Detail: "at the server " + flow.Server + ", on the page"}
	if err == nil {
		if err = c.note(r.Context(), entry); err != nil { // a login that is not recorded does not stay
			_, gone := c.accounts.Upstreams.LogOut(r.Context(), flow.Server, flow.Person.Name)
			err = errors.Join(err, gone)
		}
	} else {
		entry.State = "login_refused"
		_ = c.note(r.Context(), entry) // nothing happened
	}
	if err == nil {
		c.accounts.Upstreams.Connected(r.Context(), flow.Server, flow.Person.Name)
	}
	if err != nil {
		c.log.Warn("a login at an upstream failed", "server", flow.Server, "principal", flow.Person.Name, "error", err)
		v.Problem = word(err.Error())
		w.WriteHeader(http.StatusBadGateway)
	}
	return c.render(w, "accounts", v)
}

func (c accountPages) disconnectAccount(w http.ResponseWriter, r *http.Request, s *session) error {
	server, err := c.account(r, s)
	if err != nil {
		return err
	}
	found, err := c.accounts.Upstreams.LogOut(r.Context(), server, s.person)
	if err != nil {
		return err
	}
	switch {
	case !found && wantsJSON(r):
		return refuse(http.StatusNotFound, "there was no account at "+server)
	case !found:
		return c.redirect(w, r, s, accountsPath, true, "There was no account at "+server+".")
	}
	// The login ends even if recording that fails: the change only removes a permission.
	if c.note(r.Context(), call.Entry{Kind: audit.Access, State: "login_removed", Client: "console", Principal: s.person,
		Detail: "at the server " + server + ", on the page"}) != nil {
		c.log.Warn("a removed login is not in the record", "server", server, "principal", s.person)
	}
	return c.acknowledge(w, r, s, accountsPath, "Disconnected. Programs no longer reach "+server+" for you.")
}
