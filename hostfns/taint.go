package hostfns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// Anybody may have written the answer of an untrusted server. The first such answer taints the run: the program may
// have put the answer, or something derived from it, into any argument. A call is not tainted only if the text of the
// program contains all its arguments, except for single values that a trusted server answered and no untrusted server
// did. So an answer can choose among the calls and values of the program, and add none.

// A WrittenCall is a call in the text of the program that shows its arguments, at least in part.
type WrittenCall struct {
	Tool    string          // canonical name
	Args    json.RawMessage // as the text shows them
	Unknown []string        // JSON Pointers to what the text does not show; there may be any value
}

const (
	// leastTraced is the length of the shortest text or number, in characters, for which a match with an answer is
	// meaningful.
	leastTraced = 4
	// mostTraced bounds the stored answers of a run, in bytes; beyond it no value is known to come from a trusted server.
	mostTraced = 4 << 20
	// longestTraced is the longest answer, in bytes, with values that are stored: parsing one costs several times its
	// size.
	longestTraced = 64 << 10
)

// A taint is what a run knows about the words of servers. The zero value has read none.
//
// Words of a server reach the program through answered, described and loaded, and through nothing else.
type taint struct {
	mu     sync.Mutex
	by     string             // the first untrusted words, and whose they are; "" means that the run is not tainted
	known  map[string]*origin // where texts and numbers come from, by their JSON
	size   int                // bytes of known
	spread bool               // a tainted call went to a trusted server: what they answer from then on may be an echo
}

// An origin is the source of a value.
type origin struct {
	call      int
	tool      string
	untrusted string // an untrusted server that answered it, if any; the other fields then describe that answer
}

// answered records what a call gave the program: an answer, or the text of a failure. traced says whether to store its
// values; otherwise it only records whether the run is tainted.
func (t *taint) answered(call int, tool *call.Tool, value json.RawMessage, traced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !tool.Trusted && t.by == "" {
		t.by = fmt.Sprintf("%s (call %d), whose server %q is not trusted", tool.Name, call, tool.Server)
	}
	if !traced || t.size > mostTraced || t.spread && tool.Trusted {
		return
	}
	if len(value) > longestTraced && tool.Trusted {
		return // then its values are not known to come from there
	}
	// An untrusted server may have answered any value.
	if t.size += len(value); t.size > mostTraced || len(value) > longestTraced {
		t.known, t.size = nil, mostTraced+1
		return
	}
	if t.known == nil {
		t.known = map[string]*origin{}
	}
	root, ok := decoded(value)
	if !ok {
		return
	}
	each("", root, func(_ string, leaf any) {
		key := leafKey(leaf)
		if key == "" {
			return
		}
		had := t.known[key]
		if had == nil || had.untrusted == "" && !tool.Trusted {
			had = &origin{call: call, tool: tool.Name}
			t.known[key] = had
		}
		if !tool.Trusted {
			had.untrusted = tool.Server
		}
	})
}

// reaches says in a sentence how an untrusted answer may have reached the arguments of a call; "" means that none did.
func (t *taint) reaches(tool string, args json.RawMessage, written []WrittenCall) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == "" {
		return ""
	}
	written = slices.DeleteFunc(slices.Clone(written), func(w WrittenCall) bool {
		return w.Tool != tool ||
			len(args) > w.longest()
	})
	if len(written) == 0 && len(args) > longestTraced { // nothing in it would match
		return "its arguments are not all written in the program, and the run has read " + t.by
	}
	root, ok := decoded(args)
	if !ok {
		return "the run has read " + t.by
	}
	for _, w := range written {
		if t.fits(root, w) {
			return ""
		}
	}
	why := ""
	each("", root, func(at string, leaf any) {
		if from := t.known[leafKey(leaf)]; why == "" && from != nil && from.untrusted != "" {
			why = fmt.Sprintf("the argument %s is what %s answered (call %d), and the server %q is not trusted", pointed(at),
				from.tool, from.call, from.untrusted)
		}
	})
	if why != "" {
		return why
	}
	return "its arguments are not all written in the program, and the run has read " + t.by
}

// longest is the greatest possible length of its arguments as JSON, with traced values in the gaps.
func (w *WrittenCall) longest() int {
	const escape = 6 // bytes that JSON may take for one
	return escape * (len(w.Args) + len(w.Unknown)*longestTraced)
}

// fits reports whether arguments match a written call, with only single values of trusted servers in its gaps.
func (t *taint) fits(args any, w WrittenCall) bool {
	shown, ok := decoded(w.Args)
	return ok && t.same("", args, shown, w.Unknown)
}

func (t *taint) same(at string, got, shown any, unknown []string) bool {
	if slices.Contains(unknown, at) {
		from := t.known[leafKey(got)]
		return from != nil && from.untrusted == ""
	}
	switch shown := shown.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key := range got {
			if _, ok := shown[key]; !ok {
				return false
			}
		}
		for key, value := range shown {
			here := member(at, key)
			inner, ok := got[key]
			if !ok || !t.same(here, inner, value, unknown) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(shown) {
			return false
		}
		for i := range shown {
			if !t.same(element(at, i), got[i], shown[i], unknown) {
				return false
			}
		}
		return true
	}
	return got == shown
}

// leafKey is the JSON of a text or number that is long enough to be distinctive; "" for anything else.
func leafKey(leaf any) string {
	switch leaf := leaf.(type) {
	case string:
		if utf8.RuneCountInString(leaf) >= leastTraced {
			return strconv.Quote(leaf)
		}
	case json.Number:
		if len(leaf) >= leastTraced {
			return string(leaf)
		}
	}
	return ""
}

// each calls f for every scalar in a value, with its JSON Pointer, in the order of the keys.
func each(at string, value any, f func(at string, leaf any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			each(member(at, key), value[key], f)
		}
	case []any:
		for i, inner := range value {
			each(element(at, i), inner, f)
		}
	default:
		f(at, value)
	}
}

// pointed formats a pointer into arguments. The program chooses their keys.
func pointed(at string) string {
	const longest = 60
	if quoted := strconv.QuoteToASCII(at); len(quoted) == len(at)+2 && len(at) <= longest {
		return at
	}
	return fmt.Sprintf("%.*s...", longest, strings.Trim(strconv.QuoteToASCII(at), `"`))
}

// wordsOfServer is what a call gives the program that the server may have written: its answer, or an error that quotes
// it or the tool's schema; nil if there is nothing.
func wordsOfServer(value json.RawMessage, err error) json.RawMessage {
	if err == nil {
		if value == nil {
			return json.RawMessage("null")
		}
		return value
	}
	x, ok := errors.AsType[*Exception](err)
	if !ok {
		return nil
	}
	switch x.Class {
	case upstreamFailure:
		switch x.Props["reason"] {
		case ReasonStarting, ReasonDisabled, reasonLogin: // these are our words
			if x.Props["outcome"] == call.NotSent {
				return nil
			}
		}
	case ToolErrorClass, InvalidArguments, invalidResult:
	default:
		return nil
	}
	raw, failed := json.Marshal([]any{x.Message, x.Props})
	if failed != nil {
		return json.RawMessage("null") // nothing of it is known then
	}
	return raw
}

// described notes that the program reads how tools are described. What trusted servers write there is no value of the
// run.
func (t *taint) described(tools ...*call.Tool) {
	for _, tool := range tools {
		if !tool.Trusted {
			t.read(fmt.Sprintf("the description of %s, whose server %q is not trusted", tool.Name, tool.Server))
		}
	}
}

// read notes that the program has read untrusted words.
func (t *taint) read(by string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by = cmp.Or(t.by, by)
}

// readBefore makes by what was read before the run began here; "" is nothing. No value is known from then.
func (t *taint) readBefore(by string) { t.by, t.size = by, mostTraced+1 }

// source says which untrusted words the run has read first; "" is none.
func (t *taint) source() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by
}

// spreads notes that untrusted words go to a trusted server.
func (t *taint) spreads() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spread = true
}
