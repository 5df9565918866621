package audit

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"

	"github.com/codemode-project/codemode/call"
)

// What readers could differ about has a digest in the record, and is not there in part.
func TestValuesThatAreNotStrictJSON(t *testing.T) {
	r, end := memory(t, nil)
	odd := []string{`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `{"a":01}`, strings.Repeat("[", 300) + strings.Repeat("]",
		300), `[1e400]`}
	for _, raw := range odd {
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: OK,
			Args:   &call.EntryArgs{RawExecuted: call.Unread(json.RawMessage(raw))},
			Result: &call.EntryResult{Raw: json.RawMessage(raw)}}))
	}
	for i, e := range end() {
		digest, want := r.options.Key.Digest([]byte(odd[i])), ""
		if odd[i] == `[1e400]` { // all readers agree what is written there
			want = `[1e+400]`
		}
		if e.Args.Executed != digest || e.Result.Digest != digest || string(e.Args.Redacted) != want ||
			string(e.Result.Redacted) != want {
			t.Errorf("%.40s: %+v, %+v", odd[i], e.Args, e.Result)
		}
	}
}

func TestDigestsAreKeyed(t *testing.T) {
	one, err := NewKey(bytes.Repeat([]byte{1}, 32))
	check(t, err)
	two, err := NewKey(bytes.Repeat([]byte{2}, 32))
	check(t, err)
	if one.Digest([]byte("true")) == two.Digest([]byte("true")) {
		t.Error("who does not have the key can try values")
	}
}

func TestSafeCells(t *testing.T) {
	for in, want := range map[string]string{
		"=cmd()": "'=cmd()", "+1": "'+1", "-1": "'-1", "@x": "'@x", " =x": "' =x", "\t=x": `\t=x`, "\r\n=x": `\r\n=x`,
		"＝x":    "'＝x",
		"|calc": "'|calc", "x=1": "x=1", "": "", "ordinary": "ordinary", "\nx": `\nx`, "\ufeff=x": `\u{feff}=x`,
		"\x1b]0;x\a": `\u{1b}]0;x\u{7}`,
	} {
		if got := visible.Cell(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	// What programs choose gets into cells by way of entries.
	e := Entry{Entry: call.Entry{Kind: Call, State: Refused, Tool: "=HYPERLINK(\"http://x\")", Reason: "+a\n\"b\",c", Detail: "@d"}}
	raw := csvLine(e.cells([]byte(`{}`)))
	cells, err := csv.NewReader(bytes.NewReader(raw)).Read()
	check(t, err)
	for i, c := range cells {
		if c != "" && strings.ContainsAny(c[:1], "=+-@\t\r") {
			t.Errorf("cell %d begins a formula: %q", i, c)
		}
	}
}

// memory keeps records of tests.
func memory(t *testing.T, change func(*Options)) (*Record, func() []*Entry) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codemode.db")
	key, err := NewKey(make([]byte, 32))
	check(t, err)
	o := Options{Key: key, Open: func(ctx context.Context) (*store.DB,
		error) {
		return store.Open(ctx, store.Options{Path: path})
	}}
	if change != nil {
		change(&o)
	}
	r := New(o)
	return r, func() (all []*Entry) {
		t.Helper()
		check(t, r.Close(t.Context()))
		db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
		check(t, err)
		defer db.Close()
		check(t, Entries(t.Context(), db, store.Query{}, func(e *Entry) error {
			all = append(all, e)
			return nil
		}))
		return all
	}
}

func TestFlood(t *testing.T) {
	r, end := memory(t, nil)
	for n := range 10_000 {
		check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: Refused, Run: "r_1", Call: n, Tool: fmt.Sprint("t", n%50),
			Reason: "limit"}))
	}
	check(t, r.Add(t.Context(), call.Entry{Kind: Call, State: Refused, Run: "r_1", Tool: "other", Reason: "denied"}))
	check(t, r.Add(t.Context(), call.Entry{Kind: Run, State: OK, Run: "r_1"}))
	count := map[string]int{}
	all := end()
	tools := 0
	for _, e := range all {
		if e.State == Refused {
			count[e.Reason] += max(1, e.Count)
			for _, n := range e.Tools {
				tools += n
			}
		}
	}
	if len(all) > 100 || count["limit"] != 10_000 || count["denied"] != 1 || tools != 10_000-floodWhole {
		t.Errorf("%d entries count %v, %d by tools", len(all), count, tools)
	}
}

func TestCheckpointsGoEverywhere(t *testing.T) {
	var mu sync.Mutex
	var posted bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = posted.ReadFrom(r.Body)
		posted.WriteByte('\n')
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "checkpoints.jsonl")
	var key *Key
	r, end := memory(t, func(o *Options) {
		key = o.Key
		o.Publish = []Publisher{FilePublisher(file), WebhookPublisher(server.URL, server.Client())}
	})
	for range 2500 {
		check(t, r.Add(t.Context(), call.Entry{Kind: Notice, State: "x"}))
	}
	n := len(end())
	mu.Lock()
	defer mu.Unlock()
	fromHook, bad, err := ReadCheckpoints(strings.NewReader("log line: " + posted.String()))
	check(t, err)
	public, err := ParsePublic(key.Public())
	check(t, err)
	for name, all := range map[string][]Checkpoint{"file": checkpointsOf(t, file), "webhook": fromHook} {
		if len(bad) > 0 || len(all) == 0 || all[len(all)-1].Size != int64(n) {
			t.Errorf("%s: %d checkpoints, %v", name, len(all), all)
		}
		for _, c := range all {
			check(t, c.Check(public))
			c.Note = strings.Replace(c.Note, "\n", "\n1", 1)
			if c.Check(public) == nil {
				t.Error("a checkpoint that was changed passes")
			}
		}
	}
}

// A call that people were asked about has an end in the record, also if it could not be recorded that it begins.
func TestACallThatWasAskedAboutHasAnEndThoughItCouldNotBeRecorded(t *testing.T) {
	for _, away := range []bool{false, true} {
		r, end := memory(t, nil)
		if away { // as it is when the database is known to be away
			r.mu.Lock()
			r.down = errSlow
			r.mu.Unlock()
		}
		for i := range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			if cancel(); r.Write(ctx, call.Entry{Kind: Call, State: Running, Verdict: "ask", Run: "r_1", Call: i + 1}) == nil {
				t.Fatal("it was recorded in no time")
			}
		}
		r.mu.Lock()
		r.down = nil
		r.mu.Unlock()
		states := map[int]string{}
		for _, e := range end() {
			states[e.Call] += e.State + " "
		}
		for n := 1; n <= 200; n++ {
			if s := states[n]; s != "not_sent " && s != "running not_sent " {
				t.Errorf("call %d, away %v: %q", n, away, s)
			}
		}
	}
}

// TestCanceled gives up on entries at random moments: whatever got to the disk without being waited for is closed.
func TestCanceled(t *testing.T) {
	r, end := memory(t, nil)
	var wg sync.WaitGroup
	acknowledged := sync.Map{}
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*100*time.Microsecond)
			defer cancel()
			if r.Write(ctx, call.Entry{Kind: Call, State: Running, Run: "r_1", Call: i + 1}) == nil {
				acknowledged.Store(i+1, true)
			}
		})
	}
	wg.Wait()
	states := map[int]string{}
	for _, e := range end() {
		states[e.Call] += e.State + " "
	}
	for n := 1; n <= 200; n++ {
		_, ok := acknowledged.Load(n)
		if s := states[n]; ok && s != "running " || !ok && s != "" && s != "running not_sent " {
			t.Errorf("call %d, acknowledged %v: %s", n, ok, s)
		}
	}
}
