package console

import (
	"net/http"

	"github.com/codemode-project/codemode/internal/console/signin"
)

// A power says what a request can do for the holder of a session.
type power int

const (
	// widens is the zero value: a request may write rules or start something, and wants a fresh proof of the person.
	widens power = iota
	// answers is a person's answer to a program's question.
	answers
	// narrows revokes something.
	narrows
	// arranges changes what programs have left for later ones, as clients may do themselves. It permits nothing.
	arranges
	// reads changes nothing.
	reads
)

// A route is a path of a session, with the power of a request to it, and the roles that it is for. Sessions of login
// links have every role: [Options.Admin] says who of them may change the rules.
type route struct {
	method, path string
	power        power
	roles        signin.Roles // a signed-in person needs one of them; without any the route serves nobody
	token        bool         // an answering token may use it too, without a session
	page         page         // nil where it widens
	prepare      prepare      // where it widens
}

// A page is a handler for a logged-in person. Its error says why it did not answer; see [Console.answer].
type page func(w http.ResponseWriter, r *http.Request, s *session) error

// A prepare examines a request that widens power. It changes nothing, and returns the change that the request would
// make. Nil means that it has answered the request instead.
type prepare func(w http.ResponseWriter, r *http.Request, s *session) (*change, error)

// A change is what a request is about to do.
type change struct {
	what   string   // in one line
	detail []string // removed and added lines
	do     func(w http.ResponseWriter, r *http.Request) error
}

// asJSON is the page that writes what load returns.
func asJSON[T any](load func(*http.Request, *session) (T, error)) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		v, err := load(r, s)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, v)
	}
}
