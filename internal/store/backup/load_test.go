package backup_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/backup"
)

// writerVariable makes TestWriter a process that writes: the key, the URL and the path of the database, and the file
// of checkpoints.
const writerVariable = "CODEMODE_TEST_WRITER"

// TestWriter is the other process of TestBackupUnderLoad. It writes the record, results and sessions until its input
// ends, and prints a line for each round.
func TestWriter(t *testing.T) {
	var job []string
	if json.Unmarshal([]byte(os.Getenv(writerVariable)), &job) != nil || len(job) != 4 {
		t.Skip("TestBackupUnderLoad starts it as a process of its own")
	}
	key := must[*audit.Key](t)(audit.NewKey(must[[]byte](t)(hex.DecodeString(job[0]))))
	s := &state{t: t, dir: filepath.Dir(job[3]), options: store.Options{URL: job[1], Path: job[2]}, key: key}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test
		stop()
	}()
	record := audit.New(audit.Options{Key: key, Publish: []audit.Publisher{audit.FilePublisher(job[3])},
		Open: func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, s.sealed()) }})
	db := must[*store.DB](t)(record.DB(t.Context()))
	part := []byte(strings.Repeat("x", 200_000))
	text := func(context.Context) ([]byte, error) { return part, nil }
	for n := 1; ctx.Err() == nil; n++ {
		later := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		run := fmt.Sprintf("r_%d", n)
		for n := range 20 {
			fails(t, record.Add(t.Context(), call.Entry{Kind: audit.Call, State: audit.Running, Run: run, Call: n + 1}))
			fails(t, record.Add(t.Context(), call.Entry{Kind: audit.Call, State: audit.OK, Run: run, Call: n + 1}))
		}
		fails(t, record.Flush(t.Context()))
		_, err := db.Results.Keep(t.Context(), &store.Result{Handle: run, Principal: "alice", Owner: "alice", Run: run,
			Profile: "safe", Bytes: int64(3 * len(part)), About: json.RawMessage(`{}`), Expires: later},
			[][]byte{part, part, part}, 50, 1<<30)
		fails(t, err)
		fails(t, db.Sessions.Put(t.Context(), &store.Session{ID: run, Principal: "alice", Name: run, Profile: "safe",
			Expires: later}, &store.Version{Run: run, Guest: "g", About: text, Image: text}, nil,
			store.Quota{Sessions: 1 << 20, Bytes: 1 << 40, Versions: 2}))
		fmt.Println("round", n)
	}
	fails(t, record.Close(t.Context()))
}

// A writer is a process that writes.
type writer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stop  func() error
	lines *bufio.Scanner
}

func startWriter(t *testing.T, secret []byte, s *state) *writer {
	t.Helper()
	job := must[[]byte](t)(json.Marshal([]string{hex.EncodeToString(secret), s.options.URL, s.options.Path,
		s.checkpoints()}))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWriter$")
	cmd.Env = append(os.Environ(), writerVariable+"="+string(job))
	in, err := cmd.StdinPipe()
	fails(t, err)
	out, err := cmd.StdoutPipe()
	fails(t, err)
	cmd.Stderr = os.Stderr
	fails(t, cmd.Start())
	return &writer{t, cmd, in.Close, bufio.NewScanner(out)}
}

// rounds waits until the process has written some more.
func (w *writer) rounds(n int) {
	w.t.Helper()
	for range n {
		if !w.lines.Scan() || !strings.HasPrefix(w.lines.Text(), "round ") {
			w.t.Fatalf("the writer ended: %q", w.lines.Text())
		}
	}
}

// end stops the process, which has to succeed.
func (w *writer) end() {
	w.t.Helper()
	fails(w.t, w.stop())
	for w.lines.Scan() { // what it still says
		w.t.Log(w.lines.Text())
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Fatalf("the writer: %v", err)
	}
}

// TestBackupUnderLoad writes backups while another process writes the record, results and sessions. Each backup is
// restored: the record verifies, sessions open and kept results load.
func TestBackupUnderLoad(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			secret := []byte(strings.Repeat("k", 32))
			key := must[*audit.Key](t)(audit.NewKey(secret))
			was := newState(t, k.url("load"), key)
			writers := []*writer{startWriter(t, secret, was)}
			writers[0].rounds(3)
			var paths []string
			for n := range 3 {
				path := filepath.Join(t.TempDir(), fmt.Sprintf("backup%d", n))
				must[*backup.Contents](t)(backup.Write(t.Context(), was.options, key, path, false))
				writers[0].rounds(3)
				paths = append(paths, path)
			}
			writers[0].end()
			if v := was.verify(); len(v.Problems) > 0 {
				t.Errorf("the store itself: %+v", v.Problems)
			}
			entries := 0
			for n, path := range paths {
				is := newState(t, k.url(fmt.Sprintf("load%d", n)), key)
				fails(t, os.WriteFile(is.checkpoints(), must[[]byte](t)(os.ReadFile(was.checkpoints())), 0o600))
				report := must[*backup.Report](t)(is.restore(path, nil))
				v := is.verify()
				for _, p := range v.Problems {
					if !p.Restored {
						t.Error(p)
					}
				}
				if v.Entries <= entries || report.Missing() == 0 {
					t.Errorf("backup %d has %d entries, and misses %d", n, v.Entries, report.Missing())
				}
				entries = v.Entries
				survey := must[*backup.Survey](t)(backup.Look(t.Context(), is.options))
				if len(survey.Problems) > 0 {
					t.Error(survey.Problems)
				}
				is.everythingLoads(2)
			}
		})
	}
}

// everythingLoads reads every kept result and session.
func (s *state) everythingLoads(least int) {
	t, ctx, db := s.t, s.t.Context(), s.open()
	t.Helper()
	results := must[[]*store.Result](t)(db.Results.Of(ctx, nil))
	sessions := must[[]*store.Session](t)(db.Sessions.Of(ctx, nil))
	if len(results) < least || len(sessions) < least {
		t.Errorf("%d results and %d sessions", len(results), len(sessions))
	}
	for _, r := range results {
		for n := range 3 {
			if part, err := r.Chunk(ctx, n); err != nil || len(part) != 200_000 {
				t.Errorf("part %d of result %s: %d bytes, %v", n, r.Handle, len(part), err)
			}
		}
	}
	for _, one := range sessions {
		for _, v := range one.Versions {
			if image, err := v.Image(ctx); err != nil || len(image) != 200_000 {
				t.Errorf("session %s: %d bytes, %v", one.Name, len(image), err)
			}
		}
	}
	fails(t, errors.Join(db.Close()))
}
