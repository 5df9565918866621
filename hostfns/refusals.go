package hostfns

import (
	"fmt"
	"maps"
	"sync"

	"github.com/codemode-project/codemode/call"
)

// refusals are the calls of one run that stay refused: nobody is asked twice.
type refusals struct {
	scope string // where they count, for programs

	mu     sync.Mutex
	of     map[string]*Exception // by a person, or because nobody could be asked; by the key of the call
	people int                   // by people
}

// remember keeps a refusal for the rest of the run, and counts the refusals of people. The refusals of one round count
// once: they are one answer to one form, and must not end the run while calls of the same form were allowed.
func (f *refusals) remember(c *callState, x *Exception, counted *bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[c.key()] = x
	if c.answer.How == call.ByPerson {
		if !*counted {
			f.people++
			*counted = true
		}
		c.refusal = f.people
	}
}

// before returns the refusal of an equal call earlier in the run. Nobody is asked twice.
func (f *refusals) before(c *callState) *Exception {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.of[c.key()]
	if x == nil {
		return nil
	}
	name, _ := x.Props["toolName"].(string)
	reason, _ := x.Props["reason"].(string)
	rule, _ := x.Props["rule"].(string)
	return denied(name, reason, "the same call was refused before in "+f.scope+", so nobody was asked again", rule)
}

// count is how many times people have refused.
func (f *refusals) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.people
}

// saved are all of them, for a saved run.
func (f *refusals) saved() (of map[string]*Exception, people int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.of), f.people
}

func refusalDetail(a call.Answer) string {
	var text string
	switch a.Code {
	case call.CodeDeclined:
		text = "a person was asked and refused"
	case call.CodeTimeout:
		text = "a person was asked and did not answer in time"
	case call.CodeCanceled:
		text = "the question was closed without an answer"
	case call.CodeUnsupported:
		text = "it needs a person's approval and this client cannot ask one"
	default:
		text = "it needs a person's approval and nobody could be asked"
	}
	if a.Reason != "" {
		text = fmt.Sprintf("%s; the person's words: %s", text, a.Reason)
	}
	return text
}
