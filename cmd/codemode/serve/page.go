package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/server"
)

// pageConfig is the key "console" as package config reads it.
type pageConfig config.Console

// pageOf is the key "console" of a configuration, which may be nil.
func pageOf(cfg *config.Config) (c pageConfig) {
	if cfg != nil && cfg.Console != nil {
		c = pageConfig(*cfg.Console)
	}
	return c
}

// MayAnswer is the rule for answers from a terminal, by the configuration that the process starts with.
func MayAnswer(set *launch.Settings) func(person, principal string) bool {
	cfg, _ := readStart(set) // without one, people answer for themselves, and the owner for all
	c := pageOf(cfg)
	return c.mayAnswer
}

// mayAnswer is the rule for a terminal, where a person without a name is the user who started the process.
func (c *pageConfig) mayAnswer(person, principal string) bool {
	return c.people().May(cmp.Or(person, launch.Owner()), principal)
}

// people says who answers for whom.
func (c *pageConfig) people() *approvals.People {
	p := &approvals.People{Owner: launch.Owner(), AnswersFor: map[string][]string{}, SignsIn: c.SignIn.Names}
	for name, person := range c.People {
		p.AnswersFor[name] = person.AnswersFor
	}
	return p
}

// A page is the web page for people in a process that serves.
type page struct {
	config  pageConfig
	address string // of its own listener; "" is beside MCP over HTTP
	wanted  bool   // by a flag
	streams cli.Streams
	queue   *approvals.Queue
	console *console.Console
	tokens  *server.Answerers
	beside  func() // ends the page at the other address of this machine's name, see serveBeside
}

// newPage makes the page's channel, and the page, unless the configuration and the flag want none; then the page is
// nil. Questions of a process without a page are answered at the pages of other processes that share the store.
func newPage(c pageConfig, set *launch.Settings, to cli.Streams, address string, overHTTP bool) (*page, error) {
	p := &page{beside: func() {}, config: c, address: cmp.Or(address, c.Address), wanted: address != "", streams: to}
	p.queue = approvals.NewStrongQueue(console.ChannelName)
	p.queue.May = p.config.people().May
	if p.config.Off && address == "" || p.address == "" && !overHTTP {
		p.queue.Expects = func() bool { return false }
		set.Channels = append(set.Channels, p.queue)
		return nil, nil
	}
	if p.address != "" {
		var err error
		if p.address, err = listenAddress("--console", p.address); err != nil {
			return nil, cli.UsageError(err)
		}
		if !loopback(p.address) {
			return nil, cli.UsageError(fmt.Errorf(
				"--console %s: the page is served on this machine only, because it has no TLS: "+
					"use an address such as 127.0.0.1:7391, and put a proxy with TLS in front of it", p.address))
		}
	}
	p.queue.Where = approvals.OnPage
	set.Channels = append(set.Channels, p.queue)
	return p, nil
}

// Elsewhere lets people answer questions of this process in others that share its state: with codemode approvals, and
// on the page of a process that serves it.
func Elsewhere(set *launch.Settings, log *slog.Logger) (*responder.Responders, error) {
	cfg, err := readStart(set)
	if err != nil {
		return nil, err
	}
	page := pageOf(cfg)
	r := responder.Await(set, page.mayAnswer, false, log)
	page.Off = true
	_, err = newPage(page, set, cli.Streams{}, "", false)
	return r, err
}

// open makes the page. origin is its address in browsers.
func (p *page) open(e *codemode.Evaluator, set *launch.Settings, origin, path string, log *slog.Logger) error {
	// Another user may own the same port of another loopback address.
	origins := []string{origin}
	if p.config.Origin != "" {
		origins = append([]string{p.config.Origin}, origins...)
	}
	var provider *signin.Provider
	if s := p.config.SignIn; s != nil {
		secret, err := s.Secret(launch.Env)
		if err != nil {
			return err
		}
		provider = signin.New(s, secret, log)
	}
	p.tokens = server.NewAnswerers(e, launch.Env, log)
	people := p.config.people()
	document, at := clientMetadata(origins[0] + path)
	c, err := console.New(console.Options{
		Queue: p.queue, Origins: origins, Path: path, May: people.May, Sees: people.Sees, Admin: p.admin,
		ConfirmCommand: func(person string) string { return confirmCommand(set, person) },
		Record:         e.Record(), Runs: &e.Runs().UnderWay, Grants: e.People().Grants, Rules: &rulesOf{e: e, set: set},
		Book:     bookOf(e, set),
		Sessions: sessionsOf{e}, Servers: serversOf{e}, Accounts: accountsOf{e, at, log},
		ClientMetadata: document, Note: e.Record().Write,
		Idle: time.Duration(p.config.Idle), Life: time.Duration(p.config.Life), Log: log,
		Bearer: p.bearer, Vouched: people.Vouched, SignIn: provider,
	})
	if err != nil {
		p.tokens.Close()
		return err
	}
	p.console = c
	if err := p.serveBeside(origin, log); err != nil {
		p.tokens.Close()
		return err
	}
	e.Checker().SetPage(origins[0] + path + "/rules")
	e.People().Notifier.SetPage(origins[0] + path)
	e.Tools().Manager.SetPage(origins[0] + path + "/accounts")
	return nil
}

// bearer admits a token that answers, but not in the name of people who sign in: the tokens may have changed since the
// process has its provider.
func (p *page) bearer(r *http.Request, token string) (person string, status int, why string) {
	person, status, why = p.tokens.Admit(r, token)
	if status == 0 && p.config.SignIn.Names(person) {
		return "", http.StatusForbidden, "this person signs in at the identity provider to answer"
	}
	return person, status, why
}

func (p *page) admin(person string) bool {
	return person == launch.Owner() || p.config.People[person].Rules
}

// mostOfPage is how many connections the page's own listener keeps, each with up to maxHeader bytes of a header. A
// browser opens six.
const mostOfPage = 256

// front serves the page at a listener of its own.
func (p *page) front(log *slog.Logger) *http.Server {
	front := &http.Server{
		Handler: p.console.Handler(), MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	limits.WithoutOwners(mostOfPage).Protect(front)
	return front
}

// announce prints a login link to a terminal. Anything else may be a log, which must not hold one.
func (p *page) announce(set *launch.Settings, log *slog.Logger) {
	if f := cli.TerminalFile(p.streams.Err); f != nil {
		fmt.Fprintf(f,
			"codemode: answer the questions of programs at this page; the link opens it once, within ten minutes:\n  %s\n",
			p.console.Link(launch.Owner()))
		return
	}
	log.Info("a page for answering questions of programs is served; codemode console opens it", "command",
		set.Command("codemode console"))
}

// sessionsOf lists and changes the sessions of programs for the page.
type sessionsOf struct{ e *codemode.Evaluator }

func (s sessionsOf) Sessions(ctx context.Context) (*sessions.Sessions, error) {
	return s.e.Runs().Sessions.Sessions(ctx)
}

func (s sessionsOf) ChangeSession(ctx context.Context, person string, c console.SessionChange) (string, error) {
	return s.e.Runs().ChangeSession(ctx, &codemode.Request{Principal: c.Principal, Client: "console"}, runs.SessionChange{
		Action: runs.SessionAction(c.Action), Name: c.Name, Version: c.Version, As: c.As,
		By: &call.DecidedBy{How: call.ByPerson, Channel: console.ChannelName, Principal: person}})
}

// serversOf has the servers of an Evaluator for the page.
type serversOf struct{ e *codemode.Evaluator }

func (s serversOf) Status() []upstream.Status { return s.e.Tools().Manager.Status() }

func (s serversOf) Changes() []catalog.Change { return s.e.Rules().Pins.Changes() }

func (s serversOf) Reconnect(server string) error { return s.e.Tools().Manager.Reconnect(server) }

func (s serversOf) Accept(tool, digest string) error { return s.e.Rules().Pins.Accept(tool, digest) }

// confirmCommand prints the codes for the changes of a person.
func confirmCommand(set *launch.Settings, person string) string {
	command := "codemode console --confirm"
	if person != launch.Owner() {
		command += " --as " + cli.ShellWord(person)
	}
	return set.Command(command)
}

// local reports whether an address is the name that every machine has for itself, without TLS: http://localhost.
func local(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Hostname(), "localhost")
}

// serveBeside serves the page at the other loopback address too, if browsers know it as http://localhost: some identity
// providers send people back to no other address without TLS, and that name has two addresses. Otherwise another
// program could listen there, and browsers would show its page under our name. origin is the page's own address.
func (p *page) serveBeside(origin string, log *slog.Logger) error {
	own, err := url.Parse(origin)
	if err != nil || !local(p.config.Origin) {
		return nil
	}
	beside := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[own.Hostname()]
	if beside == "" {
		return nil // it listens elsewhere, behind something that has the name
	}
	other := net.JoinHostPort(beside, own.Port())
	listener, err := net.Listen("tcp", other)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return nil // this machine has no such address, so nobody listens there
	case err != nil:
		return fmt.Errorf("%s has the address %s too, and the page cannot be served there: take another port: %w",
			p.config.Origin, other, err)
	}
	front := p.front(log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := front.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving the page for people failed", "address", other, "error", err)
		}
	}()
	p.beside = func() {
		_ = front.Close()
		<-ended
	}
	return nil
}
