package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// A kept record is in a state folder, at rest.
type keptRecord struct {
	t   *testing.T
	dir string
}

// newKept writes a record in several sessions, of which two wrote at the same time, and so of two chains.
func newKept(t *testing.T) *keptRecord {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("CODEMODE_CONFIG", "")
	k := &keptRecord{t, t.TempDir()}
	k.write(2, 8)
	k.write(1, 5)
	return k
}

func (k *keptRecord) path(name string) string { return filepath.Join(k.dir, name) }

// write has writers that run at the same time write some entries each, of these kinds in turn; none is calls.
func (k *keptRecord) write(writers, entries int, kinds ...string) {
	k.t.Helper()
	place, err := recorder.PlaceOf(k.dir, nil, func(string) (string, bool) { return "", false })
	checktest.OK(k.t, err)
	key, err := place.Prepare()
	checktest.OK(k.t, err)
	start, passed := time.Now(), atomic.Int64{} // entries are seconds apart
	now := func() time.Time { return start.Add(time.Duration(passed.Add(1)) * 3 * time.Second) }
	var all []*audit.Record
	for range writers {
		all = append(all, audit.New(audit.Options{Open: place.Open, Key: key, Now: now,
			Publish: []audit.Publisher{audit.FilePublisher(place.Checkpoints)}}))
	}
	for n := range entries {
		for _, r := range all {
			add := r.Add
			if n == 0 || n == entries-1 {
				add = r.Write
			}
			kind := audit.Call
			if len(kinds) > 0 {
				kind = kinds[n%len(kinds)]
			}
			if err := add(k.t.Context(), call.Entry{Kind: kind, State: audit.OK, Run: "r_1", Call: n + 1, Tool: "fs__read",
				Detail: "as it was"}); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	for _, r := range all {
		checktest.OK(k.t, r.Close(k.t.Context()))
	}
}

func (k *keptRecord) sql(do func(exec func(query string, args ...any), db *sql.DB)) {
	k.t.Helper()
	db, err := sql.Open("sqlite", k.path("codemode.db"))
	checktest.OK(k.t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	do(func(query string, args ...any) {
		k.t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			k.t.Fatalf("%s: %v", query, err)
		}
	}, db)
}

// unguarded lets entries be changed while do runs.
func (k *keptRecord) unguarded(do func(exec func(query string, args ...any), db *sql.DB)) {
	k.t.Helper()
	k.sql(func(exec func(string, ...any), db *sql.DB) {
		var triggers []string
		rows, err := db.Query(`SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'entries%'`)
		checktest.OK(k.t, err)
		for rows.Next() {
			var s string
			checktest.OK(k.t, rows.Scan(&s))
			triggers = append(triggers, s)
		}
		rows.Close()
		exec(`DROP TRIGGER entries_no_update`)
		exec(`DROP TRIGGER entries_no_delete`)
		do(exec, db)
		for _, s := range triggers {
			exec(s)
		}
	})
}

// rewrite tells another story in chain 1 from an entry on, with a chain that is true in itself, and gives the hashes.
func (k *keptRecord) rewrite(from int) (hashes [][32]byte) {
	k.t.Helper()
	k.unguarded(func(exec func(string, ...any), db *sql.DB) {
		rows, err := db.Query(`SELECT seq, body, hash FROM entries WHERE chain = 1 ORDER BY seq`)
		checktest.OK(k.t, err)
		type entry struct {
			seq  int
			body string
			hash []byte
		}
		var all []entry
		for rows.Next() {
			var e entry
			checktest.OK(k.t, rows.Scan(&e.seq, &e.body, &e.hash))
			all = append(all, e)
		}
		rows.Close()
		was, is := "", ""
		for _, e := range all {
			hash := [32]byte(e.hash)
			if e.seq >= from {
				body := strings.Replace(e.body, "as it was", "otherwise", 1)
				if was != "" {
					body = strings.Replace(body, was, is, 1)
				}
				hash = sha256.Sum256([]byte(body))
				was, is = hex.EncodeToString(e.hash), hex.EncodeToString(hash[:])
				exec(`UPDATE entries SET body = ?, hash = ? WHERE chain = 1 AND seq = ?`, body, hash[:], e.seq)
			}
			hashes = append(hashes, hash)
		}
		exec(`UPDATE chains SET hash = ? WHERE number = 1`, hashes[len(hashes)-1][:])
	})
	return hashes
}

// published is a checkpoint of all of chain 1 but its last entry, as it was once.
func (k *keptRecord) published() (note string, size int) {
	k.t.Helper()
	key, err := audit.LoadKey(k.path("record.key"))
	checktest.OK(k.t, err)
	k.sql(func(_ func(string, ...any), db *sql.DB) {
		rows, err := db.Query(`SELECT hash, (SELECT checkpoint FROM chains WHERE number = 1) FROM entries WHERE chain = 1 ORDER BY seq`)
		checktest.OK(k.t, err)
		defer rows.Close()
		var hashes [][32]byte
		for rows.Next() {
			var hash []byte
			checktest.OK(k.t, rows.Scan(&hash, &note))
			hashes = append(hashes, [32]byte(hash))
		}
		size = len(hashes) - 1
		c, err := key.Sign(audit.Checkpoint{Database: strings.Split(note, "/")[1], Chain: 1, Size: int64(size),
			Root: rootOf(k.t, hashes[:size])})
		checktest.OK(k.t, err)
		note = c.Note
	})
	return note, size
}

// add puts entries behind the end of chain 1 that its writer never wrote, as the writer would: it knows all but the
// key.
func (k *keptRecord) add(entries int) {
	k.t.Helper()
	k.sql(func(exec func(string, ...any), db *sql.DB) {
		var seq int
		var body string
		var hash []byte
		if err := db.QueryRow(`SELECT seq, body, hash FROM entries WHERE chain = 1 ORDER BY seq DESC LIMIT 1`).Scan(&seq,
			&body, &hash); err != nil {
			k.t.Fatal(err)
		}
		var is struct{ Prev string }
		checktest.OK(k.t, json.Unmarshal([]byte(body), &is))
		was := is.Prev
		for range entries {
			now := "sha256:" + hex.EncodeToString(hash)
			body = strings.Replace(strings.Replace(body, was, now, 1), fmt.Sprintf(`"seq":%d,`, seq),
				fmt.Sprintf(`"seq":%d,`, seq+1), 1)
			sum := sha256.Sum256([]byte(body))
			exec(`INSERT INTO entries SELECT chain, ?, time, kind, state, run, call, principal, profile, tool, ?, ?, sealed FROM entries WHERE chain = 1 AND seq = ?`, seq+1, sum[:], body, seq)
			exec(`INSERT OR IGNORE INTO run_blocks SELECT run, 1, ? FROM entries WHERE chain = 1 AND seq = ?`, (seq+1)/64*64,
				seq+1)
			was, hash, seq = now, sum[:], seq+1
		}
		exec(`UPDATE chains SET seq = ?, hash = ?, open_from = ? WHERE number = 1`, seq, hash, seq+1)
	})
}

// copied copies the state folder.
func (k *keptRecord) copied(t *testing.T) *keptRecord {
	t.Helper()
	to := &keptRecord{t, t.TempDir()}
	checktest.OK(t, os.CopyFS(to.dir, os.DirFS(k.dir)))
	return to
}

func (k *keptRecord) verify(args ...string) (code int, text string) {
	k.t.Helper()
	var out, errs screen
	code = runMain(k.t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
		append([]string{"audit", "verify", "--state", k.dir}, args...)...)
	return code, out.String() + errs.String()
}

func (k *keptRecord) remove(names ...string) {
	k.t.Helper()
	for _, name := range names {
		checktest.OK(k.t, os.Remove(k.path(name)))
	}
}

func (k *keptRecord) must(data []byte, err error) []byte {
	k.t.Helper()
	checktest.OK(k.t, err)
	return data
}

func (k *keptRecord) lines() []string {
	return strings.SplitAfter(strings.TrimSuffix(string(k.must(os.ReadFile(k.path("checkpoints.jsonl")))), "\n")+"\n",
		"\n")
}

func (k *keptRecord) publicKey() string {
	var out, errs screen
	if code := runMain(k.t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "audit", "key", "--state",
		k.dir); code != cli.ExitOK {
		k.t.Fatal(errs.String())
	}
	return strings.TrimSpace(out.String())
}

// TestRewrittenRecord rewrites a record, so that its chain is true in itself, and takes away whatever shows it: every
// subset.
func TestRewrittenRecord(t *testing.T) {
	whole := newKept(t)
	if code, text := whole.verify(); code != cli.ExitOK {
		t.Fatalf("untouched: exit code %d\n%s", code, text)
	}
	away := []struct {
		what string
		do   func(k *keptRecord)
	}{
		{"the file of checkpoints is deleted", func(k *keptRecord) { k.remove("checkpoints.jsonl") }},
		{"the checkpoint in the database is deleted", func(k *keptRecord) {
			k.sql(func(exec func(string, ...any), _ *sql.DB) { exec(`UPDATE chains SET checkpoint = ''`) })
		}},
		{"the hashes for the next checkpoint are deleted", func(k *keptRecord) {
			k.sql(func(exec func(string, ...any), _ *sql.DB) { exec(`UPDATE chains SET tree = x''`) })
		}},
		{"codemode runs again", func(k *keptRecord) { k.write(1, 3) }},
	}
	for _, from := range []int{1, 4, 13} {
		for subset := range 1 << len(away) {
			k := whole.copied(t)
			k.rewrite(from)
			what := fmt.Sprintf("rewritten from entry %d on", from)
			for i, a := range away {
				if subset&(1<<i) != 0 {
					what += ", " + a.what
					a.do(k)
				}
			}
			if code, text := k.verify(); code != cli.ExitProgram {
				t.Errorf("%s: exit code %d\n%s", what, code, text)
			}
		}
	}
}

// TestVerifyJudges says for each thing that happens to a record and its checkpoints what is found, and what cannot be.
func TestVerifyJudges(t *testing.T) {
	whole := newKept(t)
	earlier := whole.copied(t)
	whole.write(1, 9)
	other := newKept(t)
	elsewhere := write(t, filepath.Join(t.TempDir(), "elsewhere.jsonl"), strings.Join(whole.lines(), ""))
	restore := func(k, from *keptRecord, names ...string) {
		for _, name := range names {
			write(t, k.path(name), string(k.must(os.ReadFile(from.path(name)))))
		}
	}
	for _, c := range []struct {
		what string
		do   func(k *keptRecord)
		args []string
		code int
		says string
	}{
		{"nothing", func(*keptRecord) {}, nil, cli.ExitOK, "are what was written"},
		{"nothing, with a copy kept elsewhere and the key", func(*keptRecord) {},
			[]string{"--checkpoints", elsewhere, "--key", whole.publicKey()}, cli.ExitOK, ""},
		{"the file of checkpoints is gone, of a record that it need not be late for",
			func(k *keptRecord) { k.remove("checkpoints.jsonl") }, nil, cli.ExitOK, ""},
		{"its lines change places", func(k *keptRecord) {
			l := k.lines()
			l[0], l[len(l)-2] = l[len(l)-2], l[0]
			write(t, k.path("checkpoints.jsonl"), strings.Join(l, ""))
		}, nil, cli.ExitOK, ""},
		{"its last line is cut, as by a power cut", func(k *keptRecord) {
			all := strings.Join(k.lines(), "")
			write(t, k.path("checkpoints.jsonl"), all[:len(all)-40])
		}, nil, cli.ExitOK, "not a checkpoint, ignored"},
		{"a byte of a signature is changed", func(k *keptRecord) {
			write(t, k.path("checkpoints.jsonl"), strings.Replace(strings.Join(k.lines(), ""), "codemode-record/db",
				"codemode-record/dx", 1))
		}, nil, cli.ExitProgram, ""},
		{"it is that of another record", func(k *keptRecord) { restore(k, other, "checkpoints.jsonl") }, nil, cli.ExitProgram,
			"it is of another database"},
		{"it is of the form before signed notes", func(k *keptRecord) {
			write(t, k.path("checkpoints.jsonl"),
				`{"database":"db_x","heads":[{"chain":1,"hash":"sha256:00","seq":1}],"key":"ed25519:x","signature":"x","time":"2026-11-21T12:00:00Z","v":1}`+"\n")
		}, nil, cli.ExitInternal, "move the database and this file away together"},
		{"the checkpoint in the database is gone", func(k *keptRecord) {
			k.sql(func(exec func(string, ...any), _ *sql.DB) { exec(`UPDATE chains SET checkpoint = '' WHERE number = 2`) })
		}, nil, cli.ExitProgram, "no checkpoint covers the chain"},
		{"it is an older one", func(k *keptRecord) {
			var line struct{ Checkpoint string }
			checktest.OK(t, json.Unmarshal([]byte(earlier.lines()[2]), &line))
			k.remove("checkpoints.jsonl")
			k.sql(func(exec func(string, ...any), _ *sql.DB) {
				exec(`UPDATE chains SET checkpoint = ? WHERE number = 1`, line.Checkpoint)
			})
		}, nil, cli.ExitProgram, "no checkpoint covers these entries"},
		{"it is that of the other chain", func(k *keptRecord) {
			k.sql(func(exec func(string, ...any), _ *sql.DB) {
				exec(`UPDATE chains SET checkpoint = (SELECT checkpoint FROM chains WHERE number = 1) WHERE number = 2`)
			})
		}, nil, cli.ExitProgram, "it is of chain 1"},
		{"the last entry is cut off, with its head", func(k *keptRecord) {
			k.unguarded(func(exec func(string, ...any), _ *sql.DB) {
				exec(`DELETE FROM entries WHERE chain = 2 AND seq = (SELECT max(seq) FROM entries WHERE chain = 2)`)
				exec(`UPDATE chains SET seq = seq - 1, hash = (SELECT hash FROM entries WHERE chain = 2 ORDER BY seq DESC LIMIT 1) WHERE number = 2`)
			})
		}, nil, cli.ExitProgram, "is missing"},
		{"an entry is added behind the last checkpoint", func(k *keptRecord) { k.add(1) }, nil, cli.ExitProgram,
			"nobody with the key of the record wrote their end"},
		{"the same, and codemode runs again, which does not sign it", func(k *keptRecord) { k.add(1); k.write(1, 3) }, nil,
			cli.ExitProgram, "nobody with the key of the record wrote their end"},
		{"the same, with the file of checkpoints gone", func(k *keptRecord) { k.add(3); k.remove("checkpoints.jsonl") }, nil,
			cli.ExitProgram, "nobody with the key of the record wrote their end"},
		{"the same, and the public key is given", func(k *keptRecord) { k.add(1) }, []string{"--key", whole.publicKey()},
			cli.ExitProgram, "nobody with the key of the record wrote their end"},
		{"the same, where the key is not, so that nothing shows it", func(k *keptRecord) { k.add(1); k.remove("record.key") },
			[]string{"--key", whole.publicKey()}, cli.ExitOK, "are not signed yet"},
		{"the same, where the key is not, and codemode has run again",
			func(k *keptRecord) { k.add(1); k.write(1, 3); k.remove("record.key") }, []string{"--key", whole.publicKey()},
			cli.ExitOK, "are not signed yet"},
		{"the last entry tells another story behind an older checkpoint", func(k *keptRecord) {
			k.remove("checkpoints.jsonl")
			note, size := k.published()
			k.rewrite(size + 1)
			k.sql(func(exec func(string, ...any), _ *sql.DB) {
				exec(`UPDATE chains SET checkpoint = ? WHERE number = 1`, note)
			})
		}, nil, cli.ExitProgram, "nobody with the key of the record wrote their end"},
		{"a whole chain is gone, with the file", func(k *keptRecord) {
			k.remove("checkpoints.jsonl")
			k.unguarded(func(exec func(string, ...any), _ *sql.DB) {
				exec(`DELETE FROM entries WHERE chain = 1`)
				exec(`DELETE FROM chains WHERE number = 1`)
			})
		}, nil, cli.ExitProgram, "the whole chain is missing"},
		{"the last chain is gone", func(k *keptRecord) {
			k.unguarded(func(exec func(string, ...any), _ *sql.DB) {
				exec(`DELETE FROM entries WHERE chain = 2`)
				exec(`DELETE FROM chains WHERE number = 2`)
			})
		}, nil, cli.ExitProgram, "the whole chain is missing"},
		{"the record is empty", func(k *keptRecord) {
			k.unguarded(func(exec func(string, ...any), _ *sql.DB) {
				exec(`DELETE FROM entries`)
				exec(`DELETE FROM chains`)
			})
		}, nil, cli.ExitProgram, "the whole chain is missing"},
		{"the record is put back as it was earlier", func(k *keptRecord) { restore(k, earlier, "codemode.db") }, nil,
			cli.ExitProgram, "missing, as was published"},
		{"so is the file of checkpoints, which nothing here shows",
			func(k *keptRecord) { restore(k, earlier, "codemode.db", "checkpoints.jsonl") }, nil, cli.ExitOK, ""},
		{"the same, with the copy kept elsewhere", func(k *keptRecord) {
			restore(k, earlier, "codemode.db",
				"checkpoints.jsonl")
		}, []string{"--checkpoints", elsewhere}, cli.ExitProgram, "missing, as was published"},
		{"the database is deleted", func(k *keptRecord) { k.remove("codemode.db") }, nil, cli.ExitProgram,
			"the file of the record was deleted"},
		{"everything is deleted but the key", func(k *keptRecord) { k.remove("codemode.db", "checkpoints.jsonl") }, nil,
			cli.ExitUsage, "there is no record"},
		{"the key is gone", func(k *keptRecord) { k.remove("record.key") }, nil, cli.ExitUsage, "there is no key"},
		{"the key is gone, and its public half is given", func(k *keptRecord) { k.remove("record.key") },
			[]string{"--key", whole.publicKey()}, cli.ExitOK, ""},
		{"the key is another", func(k *keptRecord) { restore(k, other, "record.key") }, nil, cli.ExitProgram,
			"it is signed with another key"},
		{"the key that is given is another", func(*keptRecord) {}, []string{"--key", other.publicKey()}, cli.ExitProgram,
			"it is signed with another key"},
		{"the key that is given is none", func(*keptRecord) {}, []string{"--key", "ed25519:abc"}, cli.ExitUsage,
			"codemode audit key prints it"},
		{"somebody with the key signs another story, which nothing here shows", func(k *keptRecord) { k.forge() }, nil,
			cli.ExitOK, ""},
		{"the same, with the copy kept elsewhere", func(k *keptRecord) { k.forge() }, []string{"--checkpoints", elsewhere},
			cli.ExitProgram, "somebody rewrote the chain"},
		{"the copy kept elsewhere is empty", func(k *keptRecord) { write(t, k.path("empty"), "") },
			[]string{"--checkpoints", "empty"}, cli.ExitUsage, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			k := whole.copied(t)
			c.do(k)
			for i, a := range c.args {
				if a == "empty" {
					c.args[i] = k.path(a)
				}
			}
			code, text := k.verify(c.args...)
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.says, text)
			}
		})
	}
}

// forge rewrites the record as somebody does who can read its key.
func (k *keptRecord) forge() {
	k.t.Helper()
	hashes := k.rewrite(2)
	key, err := audit.LoadKey(k.path("record.key"))
	checktest.OK(k.t, err)
	k.remove("checkpoints.jsonl")
	k.sql(func(exec func(string, ...any), db *sql.DB) {
		var was string
		checktest.OK(k.t, db.QueryRow(`SELECT checkpoint FROM chains WHERE number = 1`).Scan(&was))
		c, err := key.Sign(audit.Checkpoint{Database: strings.Split(was, "/")[1], Chain: 1, Size: int64(len(hashes)),
			Root: rootOf(k.t, hashes)})
		checktest.OK(k.t, err)
		exec(`UPDATE chains SET checkpoint = ? WHERE number = 1`, c.Note)
	})
}

// rootOf is the Merkle root as the library that Go's checksum database is made with computes it.
func rootOf(t *testing.T, hashes [][32]byte) tlog.Hash {
	t.Helper()
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(at))
		for i, n := range at {
			found[i] = stored[n]
		}
		return found, nil
	})
	for n, h := range hashes {
		more, err := tlog.StoredHashes(int64(n), h[:], read)
		checktest.OK(t, err)
		stored = append(stored, more...)
	}
	root, err := tlog.TreeHash(int64(len(hashes)), read)
	checktest.OK(t, err)
	return root
}

// TestPublicToolsReadCheckpoints reads checkpoints as tools for transparency logs do, which know the text of the key
// and nothing of codemode: with the library of signed notes, and a Merkle tree of their own.
func TestPublicToolsReadCheckpoints(t *testing.T) {
	k := newKept(t)
	verifier, err := note.NewVerifier(k.publicKey())
	checktest.OK(t, err)
	hashes := map[string][][32]byte{}
	var inDatabase []string
	k.sql(func(_ func(string, ...any), db *sql.DB) {
		rows, err := db.Query(`SELECT chain, body FROM entries ORDER BY chain, seq`)
		checktest.OK(t, err)
		for rows.Next() {
			var chain, body string
			checktest.OK(t, rows.Scan(&chain, &body))
			hashes[chain] = append(hashes[chain], sha256.Sum256([]byte(body)))
		}
		rows.Close()
		rows, err = db.Query(`SELECT checkpoint FROM chains`)
		checktest.OK(t, err)
		for rows.Next() {
			var c string
			checktest.OK(t, rows.Scan(&c))
			inDatabase = append(inDatabase, c)
		}
		rows.Close()
	})
	all := inDatabase
	for _, line := range k.lines() {
		var c struct{ Checkpoint string }
		if line != "" {
			checktest.OK(t, json.Unmarshal([]byte(line), &c))
			all = append(all, c.Checkpoint)
		}
	}
	if len(inDatabase) != 2 || len(all) < 4 {
		t.Fatalf("%d checkpoints in the database, %d in all", len(inDatabase), len(all))
	}
	for _, c := range all {
		n, err := note.Open([]byte(c), note.VerifierList(verifier))
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		var size int
		var root string
		lines := strings.Split(n.Text, "\n")
		if len(lines) != 4 || lines[3] != "" {
			t.Fatalf("it has the text %q", n.Text)
		}
		origin := strings.Split(lines[0], "/")
		_, err = fmt.Sscan(lines[1]+" "+lines[2], &size, &root)
		if err != nil || len(origin) != 3 || origin[0] != verifier.Name() {
			t.Fatalf("%v, %q", err, lines)
		}
		if want := rootOf(t, hashes[origin[2]][:size]).String(); root != want {
			t.Errorf("%s at %d entries: the root is %s, want %s", lines[0], size, root, want)
		}
		// What a witness adds is passed over, and a file of notes as they are is read too.
		if err := os.WriteFile(k.path("cosigned"),
			[]byte(c+"— witness.example/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n\n"+c), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, text := k.verify("--checkpoints", k.path("cosigned"), "--key", k.publicKey()); code != cli.ExitOK {
			t.Errorf("with a cosignature: exit code %d\n%s", code, text)
		}
	}
}

// TestVerifyExports: what export writes is what verify takes, also in three files in a folder that is not there yet.
func TestVerifyExports(t *testing.T) {
	k := newKept(t)
	k.write(2, 7, audit.Policy, audit.Call, audit.Access) // what one file has is missing in the others
	split := filepath.Join(t.TempDir(), "a", "b")
	var out, errs screen
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "audit", "export", "--state",
		k.dir, "--split", split); code != cli.ExitOK {
		t.Fatal(errs.String())
	}
	names, err := filepath.Glob(filepath.Join(split, "*.jsonl"))
	if err != nil || len(names) != 3 {
		t.Fatalf("%v, %v", names, err)
	}
	if code, text := k.verify(names...); code != cli.ExitOK || !strings.Contains(text, "what was written") {
		t.Errorf("the files of --split: exit code %d\n%s", code, text)
	}
	for _, name := range names { // which holds only some of the entries of each chain
		if code, text := k.verify(name); code != cli.ExitOK {
			t.Errorf("%s alone: exit code %d\n%s", filepath.Base(name), code, text)
		}
	}
	if code, text := k.verify(append(names, "--database")...); code != cli.ExitOK {
		t.Errorf("with the record: exit code %d\n%s", code, text)
	}
	for _, name := range names {
		raw := string(k.must(os.ReadFile(name)))
		if cut := strings.Index(raw, "\n") + 1; strings.Count(raw, "\n") > 1 {
			write(t, name, raw[cut:])
			if code, text := k.verify(names...); code != cli.ExitProgram {
				t.Errorf("without its first entry %s is taken: exit code %d\n%s", name, code, text)
			}
		}
	}
	// A record that was rewritten before it was exported: the checkpoints of its writer are in the file.
	k.rewrite(3)
	file := k.path("export.jsonl")
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "audit", "export", "--state",
		k.dir, "-o", file); code != cli.ExitOK {
		t.Fatal(errs.String())
	}
	if code, text := k.verify(file); code != cli.ExitProgram || !strings.Contains(text, "rewrote the chain") {
		t.Errorf("the export of a rewritten record: exit code %d\n%s", code, text)
	}
}

// What export --prune has removed is in the file, with the values that entries show masked, and the record goes on.
func TestPruneExportedEntries(t *testing.T) {
	k := newKept(t)
	k.dir = t.TempDir()
	write(t, k.path("codemode.json"), `{"store": {"keep": "0s"}, "builtin": {"time": true}}`)
	flags := []string{"--state", k.dir, "--config", k.path("codemode.json")}
	codemode := func(want int, args ...string) string {
		t.Helper()
		var out, errs screen
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, append(args, flags...)...)
		if code != want {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	run := func() {
		t.Helper()
		codemode(cli.ExitOK, "run", "-e", `return codemode.time__now({}).catch(() => 0) && "ghp_0123456789abcdefABCDEF0123456789abcd"`)
	}
	run()
	listed := codemode(cli.ExitOK, "audit", "list", "--kind", "run")
	id := regexp.MustCompile(`r_[a-z0-9]+`).FindString(listed)
	for name, args := range map[string][]string{"no file": {}, "a filter": {"-o", k.path("x"), "--run", id},
		"a table of calls": {"-o", k.path("x"), "--format", "calls"}, "three files": {"--split", k.path("x")}} {
		if text := codemode(cli.ExitUsage, append([]string{"audit", "export", "--prune"}, args...)...); !strings.Contains(text,
			"give --out FILE") {
			t.Errorf("%s: %s", name, text)
		}
	}
	var files []string
	for i, format := range []string{"jsonl", "csv", "json"} {
		file := k.path(fmt.Sprint("older", i, ".", format))
		if text := codemode(cli.ExitOK, "audit", "export", "--prune", "-o", file, "--format", format); !strings.Contains(text,
			"older than 0s are removed") {
			t.Error(text)
		}
		files = append(files, file)
		run()
		if text := codemode(cli.ExitOK, "audit", "verify"); !strings.Contains(text, "were exported and removed") {
			t.Error(text)
		}
		codemode(cli.ExitOK, append([]string{"audit", "verify", "--database"}, files...)...)
	}
	if text := codemode(cli.ExitUsage, "audit", "show", id); !strings.Contains(text, "the record has no run "+id) {
		t.Error(text)
	}
	masked := codemode(cli.ExitOK, "audit", "show", id, "--file", files[0])
	whole := codemode(cli.ExitOK, "audit", "show", id, "--file", files[0], "--reveal")
	if strings.Contains(masked, "ghp_") || !strings.Contains(masked, "[redacted]") || !strings.Contains(whole, "ghp_0123") {
		t.Errorf("%s\n%s", masked, whole)
	}
	stripped := write(t, k.path("stripped.jsonl"), regexp.MustCompile(`,"sealedValues":"[^"]*"`).ReplaceAllString(
		string(k.must(os.ReadFile(files[0]))), ""))
	codemode(cli.ExitProgram, "audit", "verify", stripped)
	codemode(cli.ExitProgram, "audit", "show", id, "--file", stripped)
}

// The export of another machine is not what somebody changed: without its key that cannot be decided, but a line that
// was changed shows without any key.
func TestVerifyExportsOfAnotherMachine(t *testing.T) {
	k, here := newKept(t), newKept(t)
	bare := here.copied(t)
	bare.remove("record.key")
	export := map[string]string{}
	for _, format := range []string{"jsonl", "json", "csv"} {
		file := k.path("export." + format)
		var out, errs screen
		if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "audit", "export", "--state",
			k.dir, "--format", format, "-o", file); code != cli.ExitOK {
			t.Fatal(errs.String())
		}
		export[format] = string(k.must(os.ReadFile(file)))
	}
	short := func(k *keptRecord) string { return strings.Join(strings.Split(k.publicKey(), "+")[:2], "+") }
	all := export["jsonl"]
	lines := strings.SplitAfter(all, "\n")
	for _, c := range []struct {
		what, text string
		on         *keptRecord
		args       []string
		code       int
		says       []string
	}{
		{"where it was written", all, k, nil, cli.ExitOK, nil},
		{"elsewhere", all, here, nil, cli.ExitUsage, []string{"cannot be decided", short(k), short(here), "--key",
			"codemode audit key"}},
		{"elsewhere, as a list", export["json"], here, nil, cli.ExitUsage, []string{"of another machine"}},
		{"elsewhere, as a table", export["csv"], here, nil, cli.ExitUsage, []string{"of another machine"}},
		{"without any key", all, bare, nil, cli.ExitUsage, []string{"no key is here", short(k), "--key"}},
		{"with its key", all, here, []string{"--key", k.publicKey()}, cli.ExitOK, nil},
		{"without any key, with its key", all, bare, []string{"--key", k.publicKey()}, cli.ExitOK, nil},
		{"with a wrong key", all, here, []string{"--key", here.publicKey()}, cli.ExitUsage, []string{short(k)}},
		{"with checkpoints of here", all, k, []string{"--checkpoints", here.path("checkpoints.jsonl")}, cli.ExitUsage,
			[]string{"of another database"}},
		{"beside the record of here", all, here, []string{"--database"}, cli.ExitUsage, []string{"of another database"}},
		{"a changed line", strings.Replace(all, "as it was", "as it is!", 1), here, nil, cli.ExitProgram,
			[]string{"somebody changed the record", ", line 1: chain 1, entry 1: its text is not what its hash"}},
		{"a changed line, without any key", strings.Replace(all, "as it was", "as it is!", 1), bare, nil, cli.ExitProgram,
			[]string{"somebody changed the record", ", line 1: "}},
		{"cut at the start", strings.Join(lines[1:], ""), here, nil, cli.ExitProgram, []string{"entries 1 to 1 are missing"}},
		{"cut in the middle", strings.Join(append([]string{lines[0]}, lines[2:]...), ""), here, nil, cli.ExitProgram,
			[]string{"is missing"}},
		{"cut at the end", strings.Join(lines[:len(lines)-2], ""), here, nil, cli.ExitProgram,
			[]string{"the end of the file is missing"}},
		{"cut in a line", all[:len(all)-30], here, nil, cli.ExitProgram, []string{"the line is cut off"}},
		{"text", "# Notes\n\nnothing\n", here, nil, cli.ExitUsage, []string{"no file of codemode audit export"}},
		{"JSON", `{"mcpServers": {}}`, here, nil, cli.ExitUsage, []string{"no file of codemode audit export"}},
		{"a list", "[\n1,\n2\n]\n", here, nil, cli.ExitUsage, []string{"no file of codemode audit export"}},
		{"a table", "a,b\n1,2\n", here, nil, cli.ExitUsage, []string{"no file of codemode audit export"}},
		{"checkpoints", strings.Join(k.lines(), ""), here, nil, cli.ExitUsage, []string{"no file of codemode audit export"}},
	} {
		file := write(t, filepath.Join(t.TempDir(), "export"), c.text)
		code, text := c.on.verify(append([]string{file}, c.args...)...)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.what, code, c.code, text)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got\n%s\nwant %q in it", c.what, text, want)
			}
		}
		if c.code != cli.ExitProgram && strings.Contains(text, "somebody changed the record: ") {
			t.Errorf("%s: it blames somebody\n%s", c.what, text)
		}
	}
}

// TestNothingRecordedYet: a record that was never there is not one that is gone.
func TestNothingRecordedYet(t *testing.T) {
	k := newKept(t)
	for _, c := range []struct {
		what    string
		args    []string
		without []string
		code    int
		says    string
	}{
		{"nothing has run", []string{"list"}, []string{"codemode.db", "checkpoints.jsonl"}, cli.ExitUsage,
			"nothing has run yet"},
		{"the database is gone", []string{"list"}, []string{"codemode.db"}, cli.ExitInternal, "says that there was one"},
		{"the database is gone", []string{"verify"}, []string{"codemode.db"}, cli.ExitProgram, "says that there was one"},
	} {
		x := k.copied(t)
		x.remove(c.without...)
		var out, errs screen
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
			append([]string{"audit"}, append(c.args, "--state", x.dir)...)...)
		if text := errs.String(); code != c.code || !strings.Contains(text, c.says) || c.says != "nothing has run yet" &&
			strings.Contains(text, "nothing has run yet") {
			t.Errorf("%s, %v: exit code %d: %s", c.what, c.args, code, text)
		}
	}
}
