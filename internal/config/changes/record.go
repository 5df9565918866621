package changes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// maxLine is the maximum length of a record's entry, in bytes.
const maxLine = 8 << 20

// ReadRecord reads the calls from a record: lines of JSON, one entry each, as codemode writes and exports them, either
// plain or as a list with one entry on each line. It merges the entries of one call, identified by run and number, and
// skips entries that are no calls.
func ReadRecord(r io.Reader) ([]PastCall, error) {
	var calls []PastCall
	known := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSuffix(strings.TrimSpace(lines.Text()), ",")
		if line == "" || line == "[" || line == "]" {
			continue
		}
		if n == 1 && strings.HasPrefix(line, "time,") {
			return nil, errors.New("the record is CSV; codemode audit export --format jsonl writes what can be replayed")
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the record: %w", n, err)
		}
		c, ok := e.call()
		if !ok {
			continue
		}
		c.Line = n
		key := fmt.Sprintf("%s %d", c.Run, c.Call)
		at, again := known[key]
		if c.Run == "" || !again {
			known[key] = len(calls)
			calls = append(calls, c)
			continue
		}
		join(&calls[at], c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the record: %w", err)
	}
	return calls, nil
}

// join adds the data of a later entry of the same call.
func join(c *PastCall, later PastCall) {
	if c.Args == nil {
		c.Args, c.Masked = later.Args, later.Masked
	}
	c.Refused, c.Asked = c.Refused || later.Refused, c.Asked || later.Asked
}

// An entry is a line of the record with the relevant keys. The decider and the arguments have two forms: one word, and
// in full.
type entry struct {
	Kind      string          `json:"kind"`
	Run       string          `json:"run"`
	Call      int             `json:"call"`
	Profile   string          `json:"profile"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Verdict   string          `json:"verdict"`
	DecidedBy json.RawMessage `json:"decidedBy"`
	Reason    string          `json:"reason"`
	Rule      string          `json:"rule"`
	Principal string          `json:"principal"`
	Session   string          `json:"session"`
	Role      string          `json:"role"`
	Script    string          `json:"script"`
	Rules     []struct {
		ID    string `json:"id"`
		At    string `json:"at"`
		Layer string `json:"layer"`
	} `json:"rules"`
	Time      time.Time       `json:"time"`
	Args      json.RawMessage `json:"args"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Body      json.RawMessage `json:"body"` // an export may wrap the entry in its row
}

func parseEntry(line string) (e entry, err error) {
	if _, bad := settings.ParseArguments(line); bad != nil {
		return e, fmt.Errorf("it is not JSON: %s", bad.Message)
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return e, fmt.Errorf("it is no entry: %w", err)
	}
	if e.Verdict == "" && len(e.Body) > 0 && e.Body[0] == '{' {
		return parseEntry(string(e.Body))
	}
	return e, nil
}

func (e *entry) call() (c PastCall, ok bool) {
	verdict, ok := map[string]call.Verdict{"deny": call.Deny, "ask": call.Ask, "allow": call.Allow}[e.Verdict]
	question := (e.Tool == "ask_user" || e.Tool == "plan") && e.Server == "" // of or about a program: no call
	if !ok || e.Tool == "" || question {
		return c, false
	}
	c = PastCall{Run: e.Run, Call: e.Call, Time: e.Time, Server: e.Server, Tool: e.Tool, Profile: e.Profile,
		Verdict: verdict, Rule: e.Rule,
		Who: config.Subject{Principal: e.Principal, Session: e.Session, Role: e.Role, Script: e.Script}}
	if len(e.Rules) > 0 {
		c.Rule, c.At, c.Layer = e.Rules[0].ID, e.Rules[0].At, e.Rules[0].Layer
	}
	if e.Server != "" && !strings.Contains(e.Tool, "__") {
		c.Tool = call.Name(e.Server, e.Tool)
	}
	c.Args, c.Masked = e.arguments()
	how := e.how()
	if how == "limit" || how == "error" || how == "bypass" || how == "definition_changed" {
		return c, false // not because of the rules
	}
	c.Asked = how == "person"
	c.Refused = c.Asked && (e.Kind == "refused" || strings.HasSuffix(e.Reason, "declined"))
	return c, true
}

// how is the decider: a word, or an object that contains it.
func (e *entry) how() string {
	var word string
	if json.Unmarshal(e.DecidedBy, &word) == nil {
		return word
	}
	var full struct {
		How string `json:"how"`
	}
	_ = json.Unmarshal(e.DecidedBy, &full) // anything else says nothing
	return full.How
}

// arguments returns the arguments as far as the record keeps them, nil for a mere digest.
func (e *entry) arguments() (json.RawMessage, []string) {
	for _, raw := range []json.RawMessage{e.Arguments, e.Input} {
		if isObject(raw) {
			return raw, masked(raw)
		}
	}
	if !isObject(e.Args) {
		return nil, nil
	}
	var kept struct {
		Redacted json.RawMessage `json:"redacted"`
		Proposed json.RawMessage `json:"proposed"`
	}
	if json.Unmarshal(e.Args, &kept) == nil && (kept.Redacted != nil || kept.Proposed != nil) {
		if !isObject(kept.Redacted) {
			return nil, nil
		}
		return kept.Redacted, masked(kept.Redacted)
	}
	return e.Args, masked(e.Args)
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// masked finds placeholders for a secret, or for truncated text. It cannot distinguish a placeholder from the same text
// in clear, so it treats that text as unknown too.
func masked(raw json.RawMessage) (places []string) {
	root, bad := settings.ParseArguments(string(raw))
	if bad != nil {
		return []string{""}
	}
	var walk func(n strictjson.Value, at string)
	walk = func(n strictjson.Value, at string) {
		i := 0
		for child := range settings.Children(n) {
			token := strings.NewReplacer("~", "~0", "/", "~1").Replace(child.Key())
			if n.Kind() == strictjson.Array {
				token = fmt.Sprint(i)
			}
			i++
			walk(child, at+"/"+token)
		}
		if n.Kind() == strictjson.String && isMask(n.Text()) {
			places = append(places, at)
		}
	}
	walk(root, "")
	return places
}

// masks are the placeholders that the record writes instead of a value.
var masks = []string{"redacted", "masked", "hidden", "***", "•••", "hmac:", "sha256:", "[cut", "…"}

func isMask(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(masks, func(m string) bool { return strings.Contains(text, m) })
}
