package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
)

// listen serves the page on its own listener and hands out login links until stop is called.
func (p *page) listen(e *codemode.Evaluator, set *launch.Settings, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", p.address)
	switch {
	case err != nil && p.wanted:
		return nil, cli.UsageError(fmt.Errorf("--console: %w", err))
	case err != nil: // the process that has the address shows the questions of this one too
		log.Warn("this process serves no page for people; another codemode serve may use the address", "error", err)
		return func() {}, nil
	}
	if err := p.open(e, set, "http://"+listener.Addr().String(), "", log); err != nil {
		return nil, errors.Join(cli.UsageError(err), listener.Close())
	}
	front := p.front(log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := front.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving the page for people failed", "error", err)
		}
	}()
	noLinks := p.offerLinks(set, log)
	return func() {
		noLinks()
		p.console.Close()
		p.beside()
		defer p.tokens.Close()
		stopping, cancel := context.WithTimeout(context.Background(), drainWait)
		defer cancel()
		if front.Shutdown(stopping) != nil {
			front.Close()
		}
		<-ended
	}, nil
}
