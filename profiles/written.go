package profiles

import (
	"fmt"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/condition"
	"github.com/codemode-project/codemode/internal/profiles/pattern"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Written profile is one profile as written in the file, before extends and floor.
type Written struct {
	Name    string
	Pos     settings.Position
	Source  []byte // of the deciding keys, as standard JSON
	Parents []strictjson.Value
	Lists   [3][]*Rule
	Has     [3]bool // the list exists, perhaps empty

	Unmatched  *call.Verdict
	Fallback   *bool
	Ask        Asking
	remember   *call.Remember
	Limits     Limits
	redact     Redact
	raise      map[string]call.Verdict
	preflight  bool
	forgets    bool             // results of its programs are not kept
	noSessions bool             // its programs run in no session
	Shadow     strictjson.Value // position of the shadow's name

	Depth int        // of its extends: 0 = none
	Chain []*Written // its ancestors and itself, ancestors first, each once
	State int        // of the search for cycles: unvisited, in progress, done
}

func (b *RuleReader) Profile(n strictjson.Value) *Written {
	w := &Written{Name: n.Key(), Source: b.deciding(n), Pos: b.Position(n.KeyOffset())}
	lists := func(l List) func(strictjson.Value) {
		return func(n strictjson.Value) {
			w.Has[l] = true
			w.Lists[l] = b.Rules(n, l, w.Name)
		}
	}
	b.Object(n, "a profile", []settings.Field{
		settings.Key("allowlist", lists(Allowlist)),
		settings.Key("denylist", lists(Denylist)),
		settings.Key("asklist", lists(Asklist)),
		settings.Key("elicitationFallback", func(n strictjson.Value) {
			if word, ok := b.Word(n, `"elicitationFallback"`, "deny", "allow"); ok {
				allow := word == "allow"
				w.Fallback = &allow
			}
		}),
		settings.Key("unmatched", func(n strictjson.Value) {
			w.Unmatched = b.Verdict(n, `"unmatched"`, "deny", "ask",
				"allow")
		}),
		settings.Key("extends", func(n strictjson.Value) {
			for parent := range b.Elements(n, `"extends"`, false) {
				if _, ok := b.Text(parent, "the name of a parent profile"); ok {
					w.Parents = append(w.Parents, parent)
				}
			}
		}),
		settings.Key("ask", func(n strictjson.Value) { b.Decode(n, `"ask"`, &w.Ask) }),
		settings.Key("remember", func(n strictjson.Value) { w.remember = b.remembering(n) }),
		settings.Key("limits", func(n strictjson.Value) { w.Limits = b.Limits(n, `"limits"`) }),
		settings.Key("redact", func(n strictjson.Value) {
			if x := b.redaction(n); !b.Stranger(n) {
				w.redact = x
			}
		}),
		settings.Key("raise", func(n strictjson.Value) { w.raise = b.raising(n) }),
		settings.Key("shadow", func(n strictjson.Value) {
			if _, ok := b.Text(n, `"shadow"`); ok {
				w.Shadow = n
			}
		}),
		settings.Key("keepResults", func(n strictjson.Value) {
			keep, ok := b.Boolean(n, `"keepResults"`)
			w.forgets = ok && !keep
		}),
		settings.Key("sessions", func(n strictjson.Value) {
			on, ok := b.Boolean(n, `"sessions"`)
			w.noSessions = ok && !on
		}),
		settings.Key("requirePreflight", func(n strictjson.Value) { w.preflight, _ = b.Boolean(n, `"requirePreflight"`) }),
	})
	return w
}

// deciding is the text of a profile without the keys that change no decision: approvals under a profile stay valid when
// somebody changes its shadow.
func (b *RuleReader) deciding(n strictjson.Value) []byte {
	var source []byte
	for child := range settings.Children(n) {
		if child.Key() != "shadow" {
			source = append(source, b.Src[child.KeyOffset():child.KeyEnd()]...)
			source = append(append(append(source, ':'), child.Compact()...), ',')
		}
	}
	return source
}

func (b *RuleReader) Verdict(n strictjson.Value, what string, words ...string) *call.Verdict {
	word, ok := b.Word(n, what, words...)
	if !ok {
		return nil
	}
	v := map[string]call.Verdict{"deny": call.Deny, "ask": call.Ask, "allow": call.Allow}[word]
	return &v
}

// How long a grant may last: by default, and at most unless the profile says more.
const (
	defaultRemember    = 5 * time.Minute
	defaultMaxRemember = 8 * time.Hour
)

func (b *RuleReader) remembering(n strictjson.Value) *call.Remember {
	m := &call.Remember{}
	b.Decode(n, `"remember"`, m)
	most := m.Max
	if most == 0 {
		most = defaultMaxRemember
	}
	if m.Default > most {
		b.Wrong(settings.Member(n, "default"), "lower it, or raise \"max\"", "the default is longer than the maximum of %s", most)
	}
	return m
}

func (b *RuleReader) redaction(n strictjson.Value) (x Redact) {
	b.Object(n, `"redact"`, append(b.hidden(&x.Keys, &x.Pointers),
		settings.Key("tools", func(n strictjson.Value) {
			for child := range b.Elements(n, `"tools"`, false) {
				var t RedactTools
				whole := b.Object(child, `an element of "tools"`, append(b.hidden(&t.Keys, &t.Pointers),
					settings.Key("tool", func(n strictjson.Value) {
						t.Tool, _ = b.Text(n, `"tool"`)
						t.glob = pattern.Read(b.Reader, n, pattern.ParseName)
					})))
				switch {
				case whole && t.Tool == "":
					b.Wrong(child, `add "tool": "server__tool" or a pattern; "keys" beside "tools" are for all`,
						`an element of "tools" says no tool`)
				case t.glob != nil:
					x.Tools = append(x.Tools, t)
				}
			}
		}),
		settings.Key("detect", func(n strictjson.Value) {
			detect, ok := b.Boolean(n, `"detect"`)
			x.Detect, x.NoDetect = detect, ok && !detect
		}),
	))
	return x
}

// hidden reads which parts of values to hide.
func (b *RuleReader) hidden(keys, pointers *[]string) []settings.Field {
	return []settings.Field{
		settings.Key("keys", func(n strictjson.Value) {
			for child := range b.Elements(n, `"keys"`, true) {
				if key, ok := b.Text(child, "a key pattern"); ok {
					pattern.Read(b.Reader, child, pattern.ParseText)
					*keys = append(*keys, key)
				}
			}
		}),
		settings.Key("pointers", func(n strictjson.Value) {
			for child := range b.Elements(n, `"pointers"`, true) {
				if pointer, ok := b.Text(child, "a JSON Pointer"); ok {
					condition.ReadPointer(b.Reader, pointer, child.Offset(), child.End())
					*pointers = append(*pointers, pointer)
				}
			}
		}),
	}
}

// The keys of "raise" make a call stricter regardless of the rules. Hints that make a tool look harmless are not among
// them.
var raisers = []string{"destructiveHint", "openWorldHint", "tainted", "approval"}

func (b *RuleReader) raising(n strictjson.Value) map[string]call.Verdict {
	raise := map[string]call.Verdict{}
	var fields []settings.Field
	for _, name := range raisers {
		fields = append(fields, settings.Key(name, func(n strictjson.Value) {
			if v := b.Verdict(n, fmt.Sprintf("%q", name), "ask", "deny"); v != nil {
				raise[name] = *v
			}
		}))
	}
	b.Object(n, `"raise"`, fields)
	return raise
}

// Limits reads the limits of a run.
func (b *RuleReader) Limits(n strictjson.Value, what string) (l Limits) {
	b.Decode(n, what, &l)
	return l
}
