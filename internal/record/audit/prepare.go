package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Redaction says what is secret, in addition to values that look secret.
type Redaction = secrets.Rules

// Above these sizes the record keeps only a part; values have limits of their own. Digests always cover the whole.
const (
	maxProgram = 65_536  // bytes of a program's text
	maxDetail  = 2_000   // characters of a sentence
	maxKept    = 1 << 20 // bytes of a value; a larger one has only a digest
	maxDepth   = 200     // of a value; arguments have a lower limit of their own
)

// prepare makes an entry fit for the store: it replaces values by digests, and masks secrets. What the entry does not
// show as it is, it seals. It never masks what codemode itself says.
//
// lean keeps digests only of values.
func (r *Record) prepare(given call.Entry, lean bool) *Entry {
	e := Entry{V: version, Entry: given}
	d := secrets.NewRedactor(r.options.redaction(e.Profile, e.Tool), r.options.known())
	var sealed map[string][]byte
	keep := func(name string, raw []byte, whole bool) {
		if whole || len(raw) > maxKept {
			return
		}
		if lean {
			e.Lean = true
			return
		}
		if sealed == nil {
			sealed = map[string][]byte{}
		}
		sealed[name] = raw
	}
	sentence := func(s string) string { return secrets.Cut(d.Text(s), maxDetail) }
	word := func(text string) bool { return r.options.Word != nil && r.options.Word(text) }
	if e.Time.IsZero() {
		e.Time = r.options.Now()
	}
	e.Time = micro(e.Time)
	e.MS = math.Round(e.MS*1000) / 1000
	if e.Kind == Run && e.State == Running && e.Program != nil {
		r.learned.Begin(e.Run, e.Program.Text)
	}
	// Values first: a secret value in them is also secret in every sentence about them.
	if e.Args != nil {
		d.Run = r.learned.Add(e.Run, nil, nil)
		e.Args = r.arguments(*e.Args, d, keep)
	}
	d.Run = r.learned.Add(e.Run, d.Found, word)
	if e.Result != nil && e.Result.Raw != nil {
		e.Result = r.result(&e, d, word, lean, keep)
	}
	for i, s := range e.texts() {
		if s == &e.Tool && (e.Server != "" || word(e.Tool)) {
			continue // codemode found it by that name
		}
		raw := *s
		if *s = sentence(raw); *s != raw {
			keep(sealedTexts[i], []byte(raw), false)
		}
	}
	if e.Program != nil {
		p := *e.Program
		p.Bytes, p.Digest = len(p.Text), hashText(sha256.Sum256([]byte(p.Text)))
		raw := p.Text
		p.Name, p.Text = sentence(p.Name), secrets.Cut(d.Text(raw), maxProgram)
		switch {
		case p.DigestOnly:
			p.Text = ""
		case lean:
			p.Text, e.Lean = "", true
		case p.Text != raw:
			keep(sealedProgram, []byte(raw), false)
		}
		e.Program = &p
	}
	if e.Data != nil {
		raw, whole := e.Data, false
		e.Data, whole = d.JSON(strict(raw))
		keep(sealedData, raw, whole)
	}
	if e.Tools != nil {
		raw, _ := json.Marshal(e.Tools) // names and numbers always encode
		tools := make(map[string]int, len(e.Tools))
		whole := true
		for name, n := range e.Tools {
			shown := name
			if !word(name) {
				shown = sentence(name)
			}
			tools[shown] += n
			whole = whole && shown == name
		}
		keep(sealedTools, raw, whole)
		e.Tools = tools
	}
	if e.Kind == Run && e.State != Running && e.State != Parked {
		r.learned.Forget(e.Run)
	}
	e.seal(r.options.Key, sealed)
	return &e
}

// Mask returns a function that masks the secrets in a text about a run that has not ended. One goroutine calls it.
func (r *Record) Mask(profile, run string) func(text string) string {
	d := secrets.NewRedactor(r.options.redaction(profile, ""), r.options.known())
	d.Run = r.learned.Add(run, nil, nil)
	return d.Text
}

// result masks the result of an entry, and learns what in it is secret.
func (r *Record) result(e *Entry, d *secrets.Redactor, word func(string) bool, lean bool,
	keep func(string, []byte, bool)) *call.EntryResult {
	res := *e.Result
	value, whole := strict(res.Raw), false
	d.Found = nil
	res.Redacted, whole = d.JSON(value)
	if len(d.Found) > 0 {
		// What a server says is secret must not hide the program.
		program := ""
		if e.Kind == Call {
			program = r.learned.Program(e.Run)
		}
		d.Run = r.learned.Add(e.Run, d.Found, func(s string) bool { return strings.Contains(program, s) || word(s) })
		res.Redacted, whole = d.JSON(value)
	}
	res.Bytes, res.Digest = len(res.Raw), r.options.Key.Digest(res.Raw)
	if lean {
		res.Redacted, whole = nil, false
	}
	keep(sealedResult, res.Raw, whole)
	return &res
}

func (r *Record) arguments(a call.EntryArgs, d *secrets.Redactor, keep func(string, []byte, bool)) *call.EntryArgs {
	// The four usually have the same bytes.
	var of call.Arguments
	var as string
	digest := func(to *string, raw call.Arguments) {
		if !raw.Given() {
			return
		}
		if as == "" || of != raw {
			of, as = raw, r.options.Key.Digest(raw.JSON())
		}
		*to = as
	}
	digest(&a.Proposed, a.RawProposed)
	digest(&a.Shown, a.RawShown)
	digest(&a.Authorised, a.RawAuthorised)
	digest(&a.Executed, a.RawExecuted)
	for _, raw := range []call.Arguments{a.RawExecuted, a.RawAuthorised, a.RawProposed} {
		if raw.Given() {
			var value strictjson.Value // missing for arguments that are too large or ambiguous
			if len(raw.JSON()) <= maxKept {
				value, _ = raw.Tree()
			}
			whole := false
			if a.Redacted, whole = d.JSON(value); !whole {
				a.Bytes = len(raw.JSON())
			}
			keep(sealedArgs, raw.JSON(), bytes.Equal(a.Redacted, raw.JSON()))
			break
		}
	}
	return &a
}

// strict parses a value of an entry. The result is missing if the value is too large, or if readers could interpret it
// differently: such a value only has a digest of its bytes.
func strict(raw json.RawMessage) strictjson.Value {
	if len(raw) == 0 || len(raw) > maxKept {
		return strictjson.Value{}
	}
	v, _ := strictjson.Parse(raw, strictjson.Options{MaxDepth: maxDepth, AllowHugeNumbers: true})
	return v
}
