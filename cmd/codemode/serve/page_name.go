package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

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
