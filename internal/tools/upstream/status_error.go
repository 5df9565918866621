package upstream

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A statusError is an HTTP answer that is an error.
type statusError struct {
	code       int
	media      string
	words      string         // of the server; "" for none
	failed     *jsonrpc.Error // the body was an error of the protocol
	own        bool           // failed has the id of the request
	challenge  bool           // it names a way to log in
	retryAfter time.Duration  // when the server says to try again; 0 if it does not
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("it answered HTTP %d %s", e.code, http.StatusText(e.code)))
	if e.words != "" {
		if e.media != "" && e.failed == nil && e.media != "text/plain" && e.media != "application/json" {
			text += " (" + e.media + ")"
		}
		text += ": " + e.words
	}
	if e.retryAfter > 0 {
		text += fmt.Sprintf("; it says to try again in %v", e.retryAfter)
	}
	return text
}

// isAnswer reports whether an error of the protocol in the body counts, rather than the status: the server has read the
// request and says what is wrong with it.
func (e *statusError) isAnswer() bool {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return false
	}
	return e.code >= 400 && e.code < 500
}

// A forgottenError is the answer to a request of a session that the server no longer knows. The server did not act on
// it.
type forgottenError struct{ *statusError }

func (e *forgottenError) Error() string {
	return "it has forgotten the session: " + e.statusError.Error()
}

func (e *forgottenError) Unwrap() error { return e.statusError }

// Sentences by which servers say that they do not know a session. They have to be the whole message.
var forgetful = pattern(`(?i)^((bad request|unauthorized|not found|invalid request|error|gone)[:,]? *)?` +
	`((no|no valid|no active|invalid|unknown|missing|expired|unrecogni[sz]ed)` +
	`( or (missing|expired|invalid|unknown))? (mcp[ -])?session([ -]?ids?)?( header)?( provided| found| given)?|` +
	`((the|your|mcp)[ -])*session([ -]?ids?)?( header)?( (with id )?["'\x60]?[\w.-]+["'\x60]?)? ` +
	`(is |was |has |has been |does |is no longer |no longer )?` +
	`(not (found|exist|recogni[sz]ed|known|valid|active)|unknown|invalid|missing|required|expired|terminated|closed|` +
	`ended|gone|exists?|valid|active)|` +
	`(the )?(server|session|client|connection|transport) (is |was |has )?not (yet )?(been )?initiali[sz]ed|` +
	`unexpected message, expect initiali[sz]e request)` +
	`([.:;,] *[^ ].{0,80})?[.!]?$`)

// isForgotten reports whether the server says that it does not know the session of the request. By the specification it
// answers 404. Many servers answer otherwise, and say so in words. An error with the id of the request answers the
// request, unless its code is one of those by which transports refuse.
func (e *statusError) isForgotten() bool {
	said := forgetful().MatchString(e.words)
	if e.failed != nil && e.own {
		said = said && (e.failed.Code == jsonrpc.CodeInvalidRequest || e.failed.Code == -32000 || e.failed.Code == -32001)
	}
	switch e.code {
	case http.StatusNotFound:
		return said || e.failed == nil || e.failed.Code != jsonrpc.CodeMethodNotFound && !e.own
	case http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity:
		return said
	case http.StatusUnauthorized:
		return said && !e.challenge
	}
	return false
}

// retryAfterMax is the longest time to wait that we believe a server.
const retryAfterMax = 24 * time.Hour

// retryAfter reads a Retry-After header, which has seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds > 0 && seconds < retryAfterMax.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(header); err == nil {
		return max(0, min(at.Sub(now).Round(time.Second), retryAfterMax))
	}
	return 0
}
