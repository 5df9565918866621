package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// What rows hold of arguments and results is on the disk in no form that can be read, and is for those alone who have
// the key.
func TestSealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	key := bytes.Repeat([]byte{7}, 32)
	d := open(t, store.Options{Path: path, SealKey: key})
	ends := time.Now().Add(time.Hour)
	secret := func(of string) json.RawMessage { return json.RawMessage(`"canary-` + of + `"`) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(d.Approvals.Propose(t.Context(), &store.Approval{ID: "a_1", Run: "r_1", Digest: "sha256:ab", Question: secret("question"),
		Expires: ends}))
	check(d.Approvals.Answer(t.Context(), "a_1", "sha256:ab", true, "anna", secret("answer")))
	check(d.Approvals.Propose(t.Context(), &store.Approval{ID: "a_2", Run: "r_1", Digest: "sha256:ab", Question: secret("question"),
		Expires: ends}))
	check(d.Runs.Park(t.Context(), &store.ParkedRun{Run: "r_1", State: secret("state"), Image: secret("image"), Expires: ends}))
	check(d.Outcomes.Finish(t.Context(), nil, &store.Outcome{Run: "r_2", State: "ok", Body: secret("body"), Expires: ends}))
	_, err := d.Results.Keep(t.Context(), &store.Result{Handle: "H", Run: "r_2", Untrusted: true, About: secret("about"), Expires: ends},
		[][]byte{secret("chunk"), secret("chunk")}, 10, 1000)
	check(err)

	p, err := d.Runs.Unpark(t.Context(), "r_1", "me")
	check(err)
	check(d.Runs.Begin(t.Context(), p))
	a, err := d.Approvals.Get(t.Context(), "a_1")
	check(err)
	o, err := d.Outcomes.Get(t.Context(), "r_2", "")
	check(err)
	kept, err := d.Results.Of(t.Context(), &store.Result{Handle: "H"})
	check(err)
	chunk, err := kept[0].Chunk(t.Context(), 1)
	check(err)
	for of, got := range map[string][]byte{"about": kept[0].About, "chunk": chunk, "question": a.Question, "answer": a.Answer, "state": p.State, "image": p.Image,
		"body": o.Body} {
		if string(got) != string(secret(of)) {
			t.Errorf("the %s came back as %q", of, got)
		}
	}
	files, err := filepath.Glob(path + "*")
	check(err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		check(err)
		if bytes.Contains(raw, []byte("canary")) {
			t.Errorf("%s holds it in clear", filepath.Base(name))
		}
	}
	for name, other := range map[string][]byte{"another key": bytes.Repeat([]byte{8}, 32), "no key": nil} {
		e := open(t, store.Options{Path: path, SealKey: other})
		if pending, err := e.Approvals.Pending(t.Context(), ""); err != nil || len(pending) != 0 {
			t.Errorf("with %s: %v, %v", name, pending, err)
		}
		if _, err := e.Outcomes.Get(t.Context(), "r_2", ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("with %s: the outcome: %v", name, err)
		}
		if _, err := e.Results.Of(t.Context(), &store.Result{Handle: "H"}); err == nil {
			t.Errorf("with %s the result is read", name)
		}
		if all, err := e.Results.Of(t.Context(), nil); err != nil || len(all) != 1 || all[0].About != nil {
			t.Errorf("with %s the results are listed as %+v (%v)", name, all, err)
		} else if _, err := all[0].Chunk(t.Context(), 0); err == nil {
			t.Errorf("with %s a chunk is read", name)
		}
	}
	for _, change := range []string{`principal = 'other'`, `untrusted = 0`, `expires = expires + 1`} {
		for _, statement := range []string{`DROP TRIGGER IF EXISTS results_fixed`, `UPDATE results SET ` + change} {
			if _, err := store.Exec(d, statement); err != nil {
				t.Fatal(err)
			}
		}
		if all, err := d.Results.Of(t.Context(), nil); err != nil || len(all) != 1 || all[0].About != nil {
			t.Errorf("after %s in the file: %+v (%v)", change, all, err)
		}
	}
	if _, err := store.Open(t.Context(), store.Options{Path: path, SealKey: []byte("short")}); err == nil {
		t.Error("a key of five bytes was taken")
	}
}
