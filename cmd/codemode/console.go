package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/console"
	"github.com/codemode-project/codemode/server"
	"github.com/codemode-project/codemode/store"
)

// consoleConfig is the key "console".
type consoleConfig config.Console

// consoleOf reads it; the zero value is that the file does not say.
func consoleOf(cfg *config.Config) consoleConfig {
	if cfg.Console == nil {
		return consoleConfig{}
	}
	return consoleConfig(*cfg.Console)
}

// A people is the page for people in the process that serves.
type people struct {
	config  consoleConfig
	address string // of a listener of its own; "" is beside MCP over HTTP
	wanted  bool   // by a flag
	streams streams
	queue   *approvals.Queue
	console *console.Console
	tokens  *server.Answerers
}

// awaitPeople reads what the configuration and the flag say about the page, and makes its channel; nil is that there is
// none. The channel is there without a page, too: its questions are answered at the pages of other processes that share
// the store.
func (s *setting) awaitPeople(to streams, address string, overHTTP bool) (*people, error) {
	p := &people{address: address, wanted: address != "", streams: to}
	files, err := s.files()
	if err != nil {
		return nil, usage(err)
	}
	if !files.None() {
		cfg, err := files.Load()
		if err != nil {
			return nil, nil // whoever opens it says what is wrong
		}
		p.config = consoleOf(cfg)
	}
	if address == "" {
		p.address = p.config.Address
	}
	p.queue = approvals.NewStrongQueue(console.ChannelName)
	p.queue.May = p.config.may
	if p.config.Off && address == "" || p.address == "" && !overHTTP {
		p.queue.Expects = func() bool { return false }
		s.channels = append(s.channels, p.queue)
		return nil, nil
	}
	if p.address != "" {
		if p.address, err = listenAddress(p.address); err != nil {
			return nil, usage(fmt.Errorf("--console: %w", err))
		}
		if !loopback(p.address) {
			return nil, usage(fmt.Errorf("--console %s: the page is served on this machine only, without TLS: take an address such as 127.0.0.1:7391, and put what adds TLS before it", p.address))
		}
	}
	p.queue.Where = "on the page (codemode console opens it)"
	s.channels = append(s.channels, p.queue)
	return p, nil
}

// consolePath is where the page is beside MCP.
const consolePath = "/console"

// open makes the page. origin is where browsers find it.
func (p *people) open(e *codemode.Evaluator, set *setting, origin, path string, log *slog.Logger) error {
	// The same port of another loopback address may be somebody else's.
	origins := []string{origin}
	if p.config.Origin != "" {
		origins = append([]string{p.config.Origin}, origins...)
	}
	c, err := console.New(console.Options{
		Queue: p.queue, Origins: origins, Path: path, May: p.config.may, Sees: p.sees, Admin: p.admin,
		Record: recordOf{e}, Grants: e.People().Grants, Rules: &rulesOf{e, set}, Note: e.Record().Write,
		Idle: p.config.Idle, Life: p.config.Life, Log: log,
		Bearer: p.answerers(e, log).Admit, Vouched: p.config.vouched,
	})
	if err != nil {
		return err
	}
	p.console = c
	e.Checker().SetPage(origins[0] + path + "/rules")
	return nil
}

// may reports whether a person may see and answer what is asked for a principal: the one rule of the page and of codemode
// approvals. Everybody answers for themselves. Whoever started the process answers for all, or, where the configuration lists
// for whom, for those and for whoever brought no token.
func (c *consoleConfig) may(person, principal string) bool {
	of := c.People[person].AnswersFor
	switch {
	case person != "" && person == principal, slices.Contains(of, "*"):
		return true
	case person == who() && (of == nil || principal == ""):
		return true
	}
	return principal != "" && slices.Contains(of, principal)
}

// vouched reports whether the configuration says in so many words that a person answers for a principal.
func (c *consoleConfig) vouched(person, principal string) bool {
	of := c.People[person].AnswersFor
	return principal != "" && principal != person && (slices.Contains(of, "*") || slices.Contains(of, principal))
}

// answerers are the tokens that answer at the page.
func (p *people) answerers(e *codemode.Evaluator, log *slog.Logger) *server.Answerers {
	p.tokens = server.NewAnswerers(e, os.LookupEnv, log)
	return p.tokens
}

// sees lists whose entries a person may see. Whoever started the process can read the record in any case.
func (p *people) sees(person string) (principals []string, all bool) {
	of := p.config.People[person].AnswersFor
	return of, person == who() || slices.Contains(of, "*")
}

func (p *people) admin(person string) bool { return person == who() || p.config.People[person].Rules }

// who is whoever started the process, as the page and the record know them.
func who() string {
	if name := principal(); name != "" {
		return name
	}
	return "local"
}

// listen serves the page on its own listener and hands out login links until stop is called.
func (p *people) listen(e *codemode.Evaluator, set *setting, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", p.address)
	switch {
	case err != nil && p.wanted:
		return nil, usage(fmt.Errorf("--console: %w", err))
	case err != nil: // the other process that has the address shows what this one asks, too
		log.Warn("no page for people is served here; another codemode serve may have it", "error", err)
		return func() {}, nil
	}
	if err := p.open(e, set, "http://"+listener.Addr().String(), "", log); err != nil {
		return nil, errors.Join(usage(err), listener.Close())
	}
	front := &http.Server{
		Handler: p.console.Handler(), ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := front.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the page for people is gone", "error", err)
		}
	}()
	noLinks := p.offerLinks(set, log)
	return func() {
		noLinks()
		p.console.Close()
		defer p.tokens.Close()
		stopping, cancel := context.WithTimeout(context.Background(), drainWait)
		defer cancel()
		if front.Shutdown(stopping) != nil {
			front.Close()
		}
		<-ended
	}, nil
}

// mountConsole puts the page beside MCP, for whoever may reach it there.
func (f *front) mountConsole() {
	p := f.set.people
	if p == nil || p.address != "" {
		return
	}
	u := f.url
	if !loopback(u[len("http://"):]) && p.config.Origin == "" {
		f.log.Warn(`the page for people is not served: this address is reached without TLS; name where browsers find it in "console": {"origin": "https://..."}`)
		return
	}
	if err := p.open(f.evaluator, f.set, u, consolePath, f.log); err != nil {
		f.log.Error("the page for people is not served", "error", err)
		return
	}
	f.mux.Handle(consolePath, p.console.Handler())
	f.mux.Handle(consolePath+"/", p.console.Handler())
	noLinks := p.offerLinks(f.set, f.log)
	f.stopping = append(f.stopping, noLinks, p.console.Close, p.tokens.Close)
}

// announce prints a login link where a person reads it, and nowhere else: what is not a terminal may be a log.
func (p *people) announce(log *slog.Logger) {
	if f, ok := p.streams.err.(*os.File); ok && isTerminal(f) {
		fmt.Fprintf(f, "codemode: what programs ask is answered at this page; the link opens it once, within ten minutes:\n  %s\n", p.console.Link(who()))
		return
	}
	log.Info("what programs ask can be answered on a page; codemode console opens it")
}

// recordOf reads the record of an Evaluator.
type recordOf struct{ e *codemode.Evaluator }

func (r recordOf) Entries(ctx context.Context, q store.Query, f func(*audit.Entry) error) error {
	db, err := r.e.Record().DB(ctx)
	if err != nil {
		return err
	}
	return audit.Entries(ctx, db, q, f)
}
