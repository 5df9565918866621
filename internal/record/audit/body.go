package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A draft is an entry that waits for its place: canonical JSON with room for chain, prev and seq, which only the writer
// knows. The calling goroutine does all the slow work.
type draft struct {
	text []byte
	cuts [3]int // where chain, prev and seq go
}

// usualEntry is the maximum size of most entries, in bytes.
const usualEntry = 1280

// fields writes the members of an object in canonical order. Tests compare the result with [strictjson.Canonical],
// which takes five times as long because it uses encoding/json: RATIONALE.md has the figures.
type fields struct{ b []byte }

func (f *fields) key(k string) {
	if f.b[len(f.b)-1] != '{' {
		f.b = append(f.b, ',')
	}
	f.b = append(append(append(f.b, '"'), k...), '"', ':')
}

func (f *fields) text(k, v string) {
	if v != "" {
		f.key(k)
		f.b = strictjson.AppendString(f.b, v)
	}
}

func (f *fields) number(k string, n int64) {
	if n != 0 {
		f.key(k)
		f.b = strconv.AppendInt(f.b, n, 10)
	}
}

// raw adds a value that is already canonical.
func (f *fields) raw(k string, v []byte) {
	if len(v) > 0 {
		f.key(k)
		f.b = append(f.b, v...)
	}
}

func (f *fields) open(k string) { f.key(k); f.b = append(f.b, '{') }
func (f *fields) close()        { f.b = append(f.b, '}') }

const timeFormat = "2006-01-02T15:04:05.000000Z"

// draft writes an entry. The JSON members of the entry must be canonical.
func (e *Entry) draft() *draft {
	d := &draft{}
	f := fields{b: append(make([]byte, 0, usualEntry), '{')}
	if a := e.Args; a != nil {
		f.open("args")
		f.text("authorised", a.Authorised)
		f.number("bytes", int64(a.Bytes))
		f.text("executed", a.Executed)
		f.text("proposed", a.Proposed)
		f.raw("redacted", a.Redacted)
		f.text("shown", a.Shown)
		f.close()
	}
	f.number("call", int64(e.Call))
	d.cuts[0] = len(f.b)
	e.afterChain(&f)
	d.cuts[1] = len(f.b)
	e.afterPrev(&f)
	d.cuts[2] = len(f.b)
	e.afterSeq(&f)
	d.text = append(f.b, '}')
	return d
}

func (e *Entry) afterChain(f *fields) {
	f.text("client", e.Client)
	f.number("count", int64(e.Count))
	f.raw("data", e.Data)
	if by := e.DecidedBy; by != nil {
		f.open("decidedBy")
		f.text("channel", by.Channel)
		f.text("grant", by.Grant)
		f.text("how", by.How)
		f.number("latencyMs", by.LatencyMS)
		f.text("principal", by.Principal)
		f.text("proof", by.Proof)
		f.text("scope", by.Scope)
		f.close()
	}
	f.text("detail", e.Detail)
	f.text("kind", e.Kind)
	if e.Lean {
		f.raw("lean", []byte("true"))
	}
	if e.MS != 0 {
		f.key("ms")
		f.b = strconv.AppendFloat(f.b, e.MS, 'f', -1, 64) // it is rounded, so this is the canonical form
	}
}

func (e *Entry) afterPrev(f *fields) {
	f.text("principal", e.Principal)
	f.text("profile", e.Profile)
	f.text("profileDigest", e.ProfileDigest)
	if p := e.Program; p != nil {
		f.open("program")
		f.number("bytes", int64(p.Bytes))
		f.text("digest", p.Digest)
		f.text("name", p.Name)
		f.text("text", p.Text)
		f.close()
	}
	f.text("reason", e.Reason)
	if r := e.Result; r != nil {
		f.open("result")
		f.number("bytes", int64(r.Bytes))
		f.text("digest", r.Digest)
		f.raw("redacted", r.Redacted)
		f.close()
	}
	f.text("risk", e.Risk)
	f.text("role", e.Role)
	if len(e.Rules) > 0 {
		f.key("rules")
		f.b = append(f.b, '[')
		for i, r := range e.Rules {
			if i > 0 {
				f.b = append(f.b, ',')
			}
			f.b = append(f.b, '{')
			f.text("at", r.At)
			f.text("id", r.ID)
			f.text("layer", r.Layer)
			f.text("result", r.Result)
			f.close()
		}
		f.b = append(f.b, ']')
	}
	f.text("run", e.Run)
	f.text("script", e.Script)
	f.text("sealed", e.Sealed)
}

func (e *Entry) afterSeq(f *fields) {
	f.text("server", e.Server)
	f.text("session", e.Session)
	f.text("state", e.State)
	f.key("time")
	f.b = append(e.Time.UTC().AppendFormat(append(f.b, '"'), timeFormat), '"')
	f.text("tool", e.Tool)
	f.text("toolDefinition", e.ToolDefinition)
	if len(e.Tools) > 0 {
		f.open("tools")
		for _, name := range slices.SortedFunc(maps.Keys(e.Tools), strictjson.CompareKeys) {
			f.b = appendComma(f.b)
			f.b = append(strictjson.AppendString(f.b, name), ':')
			f.b = strconv.AppendInt(f.b, int64(e.Tools[name]), 10)
		}
		f.close()
	}
	f.number("v", int64(e.V))
	f.text("verdict", e.Verdict)
}

func appendComma(b []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return b
}

// place writes the draft with its place after head.
func (d *draft) place(head store.Head) (body string, hash [32]byte) {
	var text strings.Builder
	text.Grow(len(d.text) + 160)
	sum := sha256.New()
	var small [96]byte
	put := func(b []byte) {
		text.Write(b)
		sum.Write(b)
	}
	put(d.text[:d.cuts[0]])
	b := appendComma(append(small[:0], d.text[d.cuts[0]-1]))[1:] // unless the object only begins
	b = strconv.AppendInt(append(b, `"chain":`...), head.Chain, 10)
	if d.text[d.cuts[0]] != ',' {
		b = append(b, ',')
	}
	put(b)
	put(d.text[d.cuts[0]:d.cuts[1]])
	put(append(hex.AppendEncode(append(small[:0], `,"prev":"sha256:`...), head.Hash[:]), '"'))
	put(d.text[d.cuts[1]:d.cuts[2]])
	put(strconv.AppendInt(append(small[:0], `,"seq":`...), head.Seq+1, 10))
	put(d.text[d.cuts[2]:])
	sum.Sum(hash[:0])
	return text.String(), hash
}

// row returns the columns that the database stores in addition to the body. The writer derives them from the entry, and
// verification derives them again.
func (e *Entry) row() store.Row {
	return store.Row{
		Chain: e.Chain, Seq: e.Seq, Time: e.Time.UnixMicro(), Kind: column(e.Kind), State: column(e.State),
		Run: column(e.Run), Call: int64(e.Call),
		Principal: column(e.Principal), Profile: column(e.Profile), Tool: column(e.Tool), Sealed: e.sealed,
	}
}

// column converts a text to one that every database can store.
func column(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\ufffd")
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// decodeBody reads an entry from its canonical form without the hash.
func decodeBody(body []byte) (*Entry, error) {
	e := &Entry{}
	if err := json.Unmarshal(body, e); err != nil {
		return nil, err
	}
	if e.V != version {
		return nil, fmt.Errorf("it has version %d, and this codemode reads version %d", e.V, version)
	}
	return e, nil
}

// version is the version of the form of entries.
const version = 1

// hashText formats a hash as in entries.
func hashText(h [32]byte) string { return "sha256:" + hex.EncodeToString(h[:]) }

func parseHash(s string) (h [32]byte, ok bool) {
	digits, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(digits) != 64 || strings.ToLower(digits) != digits {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

// micro rounds a time to the stored precision.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
