package audit

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/store"
)

// frozen are arguments as a program passes them.
func frozen(t *testing.T, text string) call.Arguments {
	t.Helper()
	a, err := call.Freeze(json.RawMessage(text), len(text))
	check(t, err)
	return a
}

// read returns the entries of a record with what is sealed in them.
func read(t *testing.T, path string) (all []*Entry) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	check(t, err)
	defer db.Close()
	check(t, Entries(t.Context(), db, store.Query{Sealed: true}, func(e *Entry) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// keptAt makes a record in a file; end closes it, and reads it with what is sealed in it.
func keptAt(t *testing.T, change func(*Options)) (r *Record, path string, end func() []*Entry) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "codemode.db")
	key, err := NewKey(make([]byte, 32))
	check(t, err)
	o := Options{Key: key, Open: func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: path})
	}}
	if change != nil {
		change(&o)
	}
	r = New(o)
	return r, path, func() []*Entry {
		t.Helper()
		check(t, r.Close(t.Context()))
		return read(t, path)
	}
}

// A value that a program or a server calls a secret hides nothing that codemode says, whatever it is.
func TestP39_1ValuesDoNotBlankTheRecord(t *testing.T) {
	own := []string{"bank__transfer", "bank", "local:anna", "r_8f2k0a1b2c3d4e", "safe-a1b2c3d4e5f6", "transfer"}
	forms := []string{"YmFua19fdHJhbnNmZXI=", "62616e6b5f5f7472616e73666572"}
	// what a program itself passes as a secret, and looks like one
	machineMade := map[string]bool{own[3]: true, forms[1]: true}
	for _, from := range []string{"arguments", "an answer"} {
		for _, v := range append(own, forms...) {
			r, _, end := keptAt(t, func(o *Options) {
				o.Word = func(s string) bool { return strings.Contains("bank__transfer safe-a1b2c3d4e5f6", s) }
			})
			program := `await codemode.bank__transfer({to: "` + v + `"})`
			entry := func(state string) call.Entry {
				return call.Entry{Kind: Call, State: state, Run: "r_8f2k0a1b2c3d4e", Principal: "local:anna", Client: "claude-code",
					Profile: "safe-a1b2c3d4e5f6", Server: "bank", Tool: "bank__transfer", Reason: "denied_bank__transfer",
					Detail: "the call of bank__transfer was refused", DecidedBy: &call.DecidedBy{How: "person", Principal: "local:anna"}}
			}
			add := func(e call.Entry) { check(t, r.Add(t.Context(), e)) }
			add(call.Entry{Kind: Run, State: Running, Run: "r_8f2k0a1b2c3d4e", Program: &call.EntryProgram{Text: program,
				DigestOnly: true}})
			secret, _ := json.Marshal(map[string]string{"password": v})
			first := entry(Refused)
			first.Tool, first.Server = "time__now", "time"
			if from == "arguments" {
				first.Args = &call.EntryArgs{RawProposed: frozen(t, string(secret))}
			} else {
				first.State, first.Result = OK, &call.EntryResult{Raw: secret}
			}
			add(first)
			second := entry(Running)
			args := frozen(t, `{"to":"`+v+`","bank__transfer":1}`)
			second.Args = &call.EntryArgs{RawProposed: args, RawExecuted: args}
			add(second)
			add(call.Entry{Kind: Run, State: OK, Run: "r_8f2k0a1b2c3d4e", Principal: "local:anna",
				Profile: "safe-a1b2c3d4e5f6", Program: &call.EntryProgram{Name: "program.ts", Text: program}})
			all := end()
			e := all[2]
			want := second
			if e.Tool != want.Tool || e.Server != want.Server || e.Principal != want.Principal || e.Profile != want.Profile ||
				e.Run != want.Run || e.Client != want.Client || e.Reason != want.Reason || e.Detail != want.Detail ||
				e.DecidedBy.Principal != "local:anna" {
				t.Errorf("%s with %q: the entry is %s", from, v, e.Line())
			}
			if !strings.Contains(string(e.Args.Redacted), `"bank__transfer":1`) ||
				!strings.Contains(string(e.Args.Redacted), v) && (from == "an answer" || !machineMade[v]) {
				t.Errorf("%s with %q: the arguments are %s", from, v, e.Args.Redacted)
			}
			if text := all[3].Program.Text; !strings.Contains(text, "codemode.bank__transfer(") {
				t.Errorf("%s with %q: the program is %s", from, v, text)
			}
		}
	}
}

// A random secret of an answer is masked wherever it goes on, and sealed; what is sealed comes back byte for byte, and
// is nowhere in the files.
func TestP39_1SealedValuesComeBack(t *testing.T) {
	const token = "tok-5d8f0c71aa9e3b6d"
	r, path, end := keptAt(t, nil)
	long := strings.Repeat("x", 5000)
	sent := frozen(t, `{"z": "`+token+`",  "a":"`+long+`","n":1.0}`)
	check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: OK, Run: "r_1", Call: 1, Tool: "up__login", Server: "up",
		Result: &call.EntryResult{Raw: json.RawMessage(`{ "token": "` + token + `" }`)}}))
	check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: Running, Run: "r_1", Call: 2, Tool: "nothing-" + token,
		Client: token, Session: token, Script: token, Detail: "with " + token, Args: &call.EntryArgs{RawExecuted: sent},
		Data: json.RawMessage(`{"x":"` + token + `"}`)}))
	check(t, r.Add(t.Context(), call.Entry{Kind: Run, State: OK, Run: "r_1",
		Program: &call.EntryProgram{Text: "// " + token}}))
	all := end()
	raw, err := filepath.Glob(path + "*")
	check(t, err)
	for _, name := range raw {
		text, err := os.ReadFile(name)
		check(t, err)
		if bytes.Contains(text, []byte("5d8f0c71aa9e")) {
			t.Errorf("%s holds the secret in clear", filepath.Base(name))
		}
	}
	other, err := NewKey(bytes.Repeat([]byte{9}, 32))
	check(t, err)
	if err := all[0].Reveal(other); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("with another key: %v", err)
	}
	for _, e := range all {
		check(t, e.Reveal(r.options.Key))
	}
	e := all[1]
	if string(all[0].Result.Redacted) != `{ "token": "`+token+`" }` || string(e.Args.Redacted) != sent.String() ||
		e.Tool != "nothing-"+token || e.Client != token || e.Session != token || e.Script != token ||
		e.Detail != "with "+token || string(e.Data) != `{"x":"`+token+`"}` || all[2].Program.Text != "// "+token {
		t.Errorf("revealed:\n%s\n%s\n%s", all[0].Line(), e.Line(), all[2].Line())
	}
}

// Verification covers what is sealed.
func TestP39_1SealedValuesAreVerified(t *testing.T) {
	for _, change := range []string{`x''`, `CAST(sealed || x'00' AS BLOB)`} {
		r, path, end := keptAt(t, nil)
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: Running, Run: "r_1", Call: 1,
			Args: &call.EntryArgs{RawExecuted: frozen(t, `{"password":"hunter2"}`)}}))
		end()
		verify := func() Verdict {
			db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
			check(t, err)
			defer db.Close()
			v := Verifier{}
			check(t, v.Database(t.Context(), "the record", db))
			return v.Finish()
		}
		problems := func() (about string) {
			for _, p := range verify().Problems {
				about += p.What + "\n"
			}
			return about
		}
		if text := problems(); strings.Contains(text, "sealed") {
			t.Fatalf("before the change: %s", text)
		}
		db, err := sql.Open("sqlite", path)
		check(t, err)
		for _, statement := range []string{"DROP TRIGGER entries_no_update", "UPDATE entries SET sealed = " + change} {
			_, err := db.Exec(statement)
			check(t, err)
		}
		check(t, db.Close())
		if text := problems(); !strings.Contains(text, "sealed values were changed or removed") {
			t.Errorf("sealed = %s: %s", change, text)
		}
		if err := read(t, path)[0].Reveal(r.options.Key); err == nil || !strings.Contains(err.Error(), "verify") {
			t.Errorf("sealed = %s is revealed: %v", change, err)
		}
	}
}

// Padding hides nothing of up to 1 MiB, of an argument, an answer or a program.
func TestP39_7PaddingHidesNothing(t *testing.T) {
	r, _, end := keptAt(t, nil)
	var members, list []string
	for i := range 3000 {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
		list = append(list, "0")
	}
	hidden := `"to":"mallory"`
	paddings := []string{
		`{"pad":"` + strings.Repeat("x", 2000) + `"`, `{"pad":"` + strings.Repeat("x", 17_000) + `"`,
		`{` + strings.Join(members, ","), `{"list":[` + strings.Join(list, ",") + `]`,
		`{"pad":["` + strings.Repeat(`y",   "`, 90_000) + `"]`,
	}
	for i, pad := range paddings {
		value := pad + "," + hidden + "}"
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: Running, Run: "r_1", Call: i + 1,
			Args: &call.EntryArgs{RawExecuted: frozen(t, value)}}))
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: OK, Run: "r_1", Call: i + 1,
			Result: &call.EntryResult{Raw: json.RawMessage(value)}}))
		check(t, r.Add(t.Context(), call.Entry{Kind: Run, State: OK, Run: fmt.Sprint("r_", i), Detail: value,
			Program: &call.EntryProgram{Text: "//" + value}}))
	}
	for i, e := range end() {
		want := paddings[i/3] + "," + hidden + "}"
		if len(e.Line()) > 100_000 {
			t.Errorf("padding %d: the entry has %d bytes", i/3, len(e.Line()))
		}
		check(t, e.Reveal(r.options.Key))
		switch i % 3 {
		case 0:
			if sent := frozen(t, want).String(); string(e.Args.Redacted) != sent {
				t.Errorf("padding %d: the arguments have %d bytes, want %d", i/3, len(e.Args.Redacted), len(sent))
			}
		case 1:
			if got := string(e.Result.Redacted); got != want && !strings.Contains(got, hidden) {
				t.Errorf("padding %d: the answer has %d bytes, want %d", i/3, len(got), len(want))
			}
		default:
			if e.Program.Text != "//"+want || e.Detail != want {
				t.Errorf("padding %d: the program has %d bytes, the sentence %d, want %d", i/3, len(e.Program.Text),
					len(e.Detail), len(want))
			}
		}
	}
}

// Entries with megabytes fill the queue by their bytes, and no sync takes too many of them.
func TestP39_7LargeValuesAreBoundedTogether(t *testing.T) {
	var back atomic.Bool
	r, _, end := keptAt(t, func(o *Options) {
		o.Share = 1 << 30 // beyond half of it, entries have no values
		open := o.Open
		o.Open = func(ctx context.Context) (*store.DB, error) {
			if !back.Load() {
				return nil, errSlow
			}
			return open(ctx)
		}
	})
	for r.Away() == nil {
		time.Sleep(time.Millisecond) // until the first entry cannot be written
	}
	value := frozen(t, `{"pad":"`+strings.Repeat("x", 1_000_000)+`"}`)
	const calls = 100
	for i := range calls {
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: OK, Run: "r_1", Call: i + 1,
			Args: &call.EntryArgs{RawExecuted: value}}))
	}
	r.mu.Lock()
	waiting, bytes, left := len(r.queue), 0, r.lost
	for _, it := range r.queue {
		bytes += it.size()
	}
	if n := together(r.queue); n < 1 || n > maxBatchBytes/1_000_000 {
		t.Errorf("%d entries are written together", n)
	}
	r.mu.Unlock()
	if bytes > maxQueueBytes+2<<20 || left == 0 || waiting+left < calls {
		t.Errorf("%d entries with %d bytes wait, %d are counted", waiting, bytes, left)
	}
	back.Store(true)
	for r.Away() != nil {
		time.Sleep(time.Millisecond) // until the record has its store again
	}
	if n := len(end()); n < waiting {
		t.Errorf("%d entries are in the record, %d waited", n, waiting)
	}
}
