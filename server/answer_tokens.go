package server

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// answersOnly refuses an answering token where programs run.
const answersOnly = `this token answers questions on the page ("answers" in http.tokens) and runs no programs; ` +
	`they need a token of their own`

// runsOnly refuses any other token where people answer questions.
const runsOnly = `this token runs programs and answers nothing; one that answers has "answers": true in http.tokens`

// Answerers holds the tokens of http.tokens that answer questions over the page's API and run nothing. Many goroutines
// may call its methods.
type Answerers struct {
	evaluator *codemode.Evaluator
	env       func(string) (string, bool)
	access    *limits.AccessLog
	log       *slog.Logger

	mu     sync.Mutex
	config *config.Config // tokens was read from it
	tokens map[string]*caller
}

// NewAnswerers follows the tokens in the configuration of e; env looks up the variables that hold tokens. End it with
// Close. log may be nil.
func NewAnswerers(e *codemode.Evaluator, env func(string) (string, bool), log *slog.Logger) *Answerers {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Answerers{evaluator: e, env: env, access: limits.NewAccessLog(e.Record().Access), log: log}
}

// Admit returns the principal of a request's token, or the status and the reason to refuse the request with. It records
// both, like [HTTP] does.
func (a *Answerers) Admit(r *http.Request, token string) (principal string, status int, why string) {
	known := a.all()[inforce.Fingerprint(token)] // a digest: the duration of the comparison reveals nothing
	switch {
	case known == nil:
		a.access.Refused(r.Context(), "", clientAddress(r), "unknown_token")
		return "", http.StatusUnauthorized, "this token is not known"
	case !known.answers:
		a.access.Refused(r.Context(), known.principal, clientAddress(r), "runs_only")
		return "", http.StatusForbidden, runsOnly
	}
	a.access.Admit(r.Context(), "answers for "+known.principal, known.principal, "the page's API", clientAddress(r))
	return known.principal, 0, ""
}

// all returns the tokens of the current configuration. While it cannot read them, Admit refuses every token.
func (a *Answerers) all() map[string]*caller {
	cfg := a.evaluator.Config()
	a.mu.Lock()
	defer a.mu.Unlock()
	if cfg != a.config || a.tokens == nil {
		a.config, a.tokens = cfg, map[string]*caller{}
		read, err := readHTTP(cfg, a.env)
		if err != nil {
			a.log.Error("codemode refuses requests with answer tokens: http.tokens has an error", "error", err)
			return a.tokens
		}
		a.tokens = read.tokens
	}
	return a.tokens
}

// Close records the refusals that were only counted. Callers may call it twice.
func (a *Answerers) Close() { a.access.Flush() }
