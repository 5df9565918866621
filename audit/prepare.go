package audit

import (
	"crypto/sha256"
	"encoding/json"
	"math"

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

// prepare makes an entry fit for the store: it replaces values by digests, and masks secrets.
func (r *Record) prepare(e Entry) *Entry {
	d := secrets.NewRedactor(r.options.redaction(e.Profile), r.options.known())
	sentence := func(s string) string { return secrets.Cut(d.Text(s), maxDetail) }
	e.V, e.Chain, e.Seq, e.Prev, e.Hash = version, 0, 0, "", ""
	if e.Time.IsZero() {
		e.Time = r.options.Now()
	}
	e.Time = micro(e.Time)
	e.MS = math.Round(e.MS*1000) / 1000
	// Values first: a secret value in them is also secret in every sentence about them.
	if e.Args != nil {
		d.Run = r.learned.Add(e.Run, nil)
		e.Args = r.arguments(*e.Args, d)
	}
	var value strictjson.Value
	var result json.RawMessage
	if e.Result != nil && e.Result.Raw != nil {
		value = strict(e.Result.Raw)
		result, _ = d.JSON(value) // finds secrets, which are masked below in the whole entry
	}
	d.Run = r.learned.Add(e.Run, d.Found)
	// Programs and clients choose names too, so they may also contain secrets.
	for _, s := range []*string{&e.Run, &e.Principal, &e.Client, &e.Session, &e.Role, &e.Script, &e.Profile, &e.Server,
		&e.Tool, &e.Reason, &e.Detail} {
		*s = sentence(*s)
	}
	if e.Result != nil {
		res := *e.Result
		if res.Raw != nil {
			res.Bytes, res.Digest = len(res.Raw), r.options.Key.Digest(res.Raw)
			if res.Redacted = result; d.Run != nil {
				res.Redacted, _ = d.JSON(value)
			}
		}
		e.Result = &res
	}
	if e.Program != nil {
		p := *e.Program
		p.Bytes, p.Digest = len(p.Text), hashText(sha256.Sum256([]byte(p.Text)))
		p.Name, p.Text = sentence(p.Name), d.Text(p.Text)
		if p.DigestOnly {
			p.Text = ""
		}
		p.Text = secrets.Cut(p.Text, maxProgram)
		e.Program = &p
	}
	if e.DecidedBy != nil {
		by := *e.DecidedBy
		by.Principal = sentence(by.Principal)
		e.DecidedBy = &by
	}
	if e.Data != nil {
		e.Data, _ = d.JSON(strict(e.Data))
	}
	if e.Tools != nil {
		tools := make(map[string]int, len(e.Tools))
		for name, n := range e.Tools {
			tools[sentence(name)] += n
		}
		e.Tools = tools
	}
	if e.Kind == Run && e.State != Running && e.State != Parked {
		r.learned.Forget(e.Run)
	}
	return &e
}

// Mask returns a function that masks the secrets in a text about a run that has not ended. One goroutine calls it.
func (r *Record) Mask(profile, run string) func(text string) string {
	d := secrets.NewRedactor(r.options.redaction(profile), r.options.known())
	d.Run = r.learned.Add(run, nil)
	return d.Text
}

func (r *Record) arguments(a Args, d *secrets.Redactor) *Args {
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
