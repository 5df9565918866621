package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"strings"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/results"
)

// What becomes of a result is in entries of these states.
const (
	stateKept    = "kept"
	stateNotKept = "not kept"
)

// loadShare is the share of a guest's memory that one load may take as JSON. Values take several times as much.
const loadShare = 8

// keepResults keeps what the text of the response will not show in full. The run has ended.
func (x *execution) keepResults(failure error) {
	rules := x.e.rules.KeptResults(x.policy.Profile())
	if rules.Off {
		return
	}
	r := x.resp
	if r.cutsConsole() {
		if lines, err := json.Marshal(r.Console); err == nil {
			r.keptConsole = x.keep("console", lines)
		}
	}
	if failure == nil && r.cutsValue() {
		r.keptValue = x.keep("value", r.Value)
	}
}

// keep keeps one of them.
func (x *execution) keep(what string, value json.RawMessage) *Kept {
	kept := &Kept{What: what, Bytes: len(value)}
	got, err := x.store(what, &results.Value{JSON: value})
	if err != nil {
		kept.Problem = reasonOf(err)
	} else {
		kept.Handle, kept.Shape, kept.Expires = got.Handle, got.Shape, got.Expires
		kept.Part = examplePart(value)
	}
	x.resp.Kept = append(x.resp.Kept, kept)
	return kept
}

// errKeepsNone is the error of a program that keeps something where nothing is kept.
var errKeepsNone = errors.New(`nothing is kept here ("results" or "keepResults" is false)`)

// keepContent keeps an image, audio or a file for the program.
func (x *execution) keepContent(_ context.Context, c *hostfns.Content) (uri string, err error) {
	if x.e.rules.KeptResults(x.policy.Profile()).Off {
		return "", errKeepsNone
	}
	if err := x.e.record.Full(x.request.Owner()); err != nil {
		return "", err
	}
	got, err := x.store(c.Type, &results.Value{Content: c})
	if err != nil {
		return "", errors.New(reasonOf(err))
	}
	return results.URI + got.Handle, nil
}

// store keeps something of the run, and records that.
func (x *execution) store(what string, v *results.Value) (*results.Kept, error) {
	r, profile := &x.request, x.policy.Profile()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	entry := runEntry(x.resp, r, x.policy)
	entry.Kind = audit.Keeping
	v.Run, v.Principal, v.Owner, v.Profile = x.resp.Run, r.Principal, r.Owner(), entry.Profile
	v.Untrusted = x.run.Tainted()
	size := len(v.JSON)
	if v.Content != nil {
		size = len(v.Content.Bytes)
	}
	got, err := x.e.Results.Keep(ctx, v, x.e.rules.KeptResults(profile))
	if err != nil {
		x.e.log.Warn("a result was not kept", "run", x.resp.Run, "what", what, "error", err)
		entry.State, entry.Detail = stateNotKept, fmt.Sprintf("its %s of %d bytes: %s", what, size, reasonOf(err))
	} else {
		entry.State, entry.Detail = stateKept, fmt.Sprintf("its %s of %d bytes, as %s, until %s", what, size,
			got.Handle, until(got.Expires))
		if n := len(got.Removed); n > 0 {
			entry.Detail += fmt.Sprintf("; %d older ones made way", n)
		}
		data := map[string]any{"handle": got.Handle, "bytes": size, "expires": got.Expires, "removed": got.Removed}
		entry.Data, _ = json.Marshal(data) // texts and numbers always encode
	}
	x.e.record.Add(ctx, entry)
	return got, err
}

// reasonOf is an error in words for programs: the reason alone if there is one, which names no file or host.
func reasonOf(err error) string {
	if known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		return known.Reason()
	}
	return err.Error()
}

// examplePart selects the first part of the largest array or text in a value, of about half a reply.
func examplePart(value json.RawMessage) string {
	const most, members = DefaultTextBytes / 2, 1000
	pointer, count := "", most
	for value[space(value, 0)] == '{' {
		keys, parts, _ := split(value, 2*members)
		largest, size := 0, 0
		for i, part := range parts {
			n := len(part)
			if part[0] == '[' {
				n *= 4 // an array rather than a text: it is what is read in parts
			}
			if n > size {
				largest, size = i, n
			}
		}
		if size < len(value)/2 {
			break
		}
		var key string
		_ = json.Unmarshal(keys[largest], &key) // it is valid
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		value = parts[largest]
	}
	if first := value[space(value, 0)]; first == '[' || first == '{' {
		_, _, total := split(value, 0)
		count = max(1, most*total/len(value))
	}
	return fmt.Sprintf("{pointer: %s, from: 0, count: %d}", marker(pointer), count)
}

// ReadResult reads a part of a kept result for the client that r identifies, and records that. An
// [*hostfns.ArgumentError] says that its principal has no such result, or that the part does not exist or is too large.
func (e *Executor) ReadResult(ctx context.Context, r *Request, handle string, p *hostfns.Part) (*hostfns.Loaded,
	error) {
	loaded, err := e.Results.Load(ctx, r.Principal, handle, p, results.MostRead)
	if err != nil {
		return nil, err
	}
	bytes := len(loaded.JSON)
	if loaded.JSON == nil {
		bytes = len(loaded.Content.Bytes)
	}
	return loaded, e.record.Write(ctx, call.Entry{Kind: audit.Keeping, State: call.Loaded, Run: loaded.Run,
		Principal: r.Principal, Owner: r.Owner(), Client: r.Client, Session: r.ClientSession,
		Detail: fmt.Sprintf("a client read %s of the result %s: %d bytes", p, handle, bytes)})
}
