package process

import (
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Store is the key "store" with its variables replaced: the place of the record. Paths are as written, and "" if the
// file does not set them.
type Store struct {
	Path       string // of an SQLite file
	URL        string // of a PostgreSQL database; then Path is ""
	Relaxed    bool   // durability is normal instead of full
	Key        string // file of the key that signs checkpoints
	Keep       time.Duration
	Share      int64  // bytes of the record that one principal may cause in an hour; zero if the file does not set it
	Collector  string // URL for OpenTelemetry logs over HTTP; "" sends none
	Checkpoint struct {
		File    string
		Webhook string // "" posts none
		Log     bool
	}
}

// A WrittenStore is the key as written in the file.
type WrittenStore struct {
	// Of the SQLite file, relative to the state folder; codemode.db if left out.
	Path settings.Text `key:"path" form:"file"`
	// Of a PostgreSQL database: postgres://user:password@host:port/database.
	URL settings.Text `key:"url" form:"database"`
	// SQLite only. full: what is recorded is on the disk before it happens. normal: the last moment before a power failure
	// may be lost.
	Durability string `key:"durability" words:"full normal"`
	// File of the key that signs checkpoints, relative to the state folder; record.key if left out.
	Key settings.Text `key:"key"`
	// How long approvals, grants and waiting runs stay behind their end, and how old entries of the record are that
	// codemode audit export --prune removes; 720h if left out. Without that command the record stays.
	Keep time.Duration `key:"keep" usual:"720h" min:"0"`
	// How much one principal may make the record write in an hour; 96MiB if left out. Beyond half of it, the record keeps
	// digests of results, programs and masked values; beyond it, programs and calls of the principal are refused. All
	// callers whom nobody verified are one.
	Share int64 `key:"share" form:"capacity"`
	// Takes OpenTelemetry logs over HTTP, such as http://localhost:4318/v1/logs.
	Collector   settings.Text `key:"collector" form:"web"`
	Checkpoints checkpoints   `key:"checkpoints"` // Where signed checkpoints of the record go.

	Whole  settings.Text `alone:"text" form:"store"`
	source string        // the key as standard JSON
}

type checkpoints struct {
	// They are appended to it; relative to the state folder; checkpoints.jsonl if left out.
	File    settings.Text `key:"file"`
	Webhook settings.Text `key:"webhook" form:"web"` // They are posted to this URL.
	Log     bool          `key:"log"`                // They go to the log too.
}

// Check reports keys of one kind of database beside those of the other.
func (w *WrittenStore) Check(r *settings.Reader, n strictjson.Value, _ string) {
	w.source = n.Compact()
	if settings.Member(n, "url").Kind() == strictjson.Missing {
		return
	}
	if path := settings.Member(n, "path"); path.Kind() != strictjson.Missing {
		r.Wrong(path, `remove one of "path" and "url"`, `"path" is for SQLite and "url" for PostgreSQL`)
	}
	if w.Durability == "normal" {
		r.Wrong(settings.Member(n, "durability"), "remove it", "a PostgreSQL server has its own setting for durability")
	}
}

// Expand replaces the variables. The error is [settings.Problems].
func (written *WrittenStore) Expand(env settings.Lookup) (Store, error) {
	w := settings.OrUsual(written)
	var wrong settings.Problems
	s := Store{Relaxed: w.Durability == "normal", Keep: w.Keep, Share: w.Share}
	s.Path, s.URL = w.Path.Value(env, &wrong), w.URL.Value(env, &wrong)
	if whole := w.Whole.Value(env, &wrong); settings.LikeURL(whole) {
		s.URL = whole
	} else if whole != "" {
		s.Path = whole
	}
	s.Key, s.Collector = w.Key.Value(env, &wrong), w.Collector.Value(env, &wrong)
	s.Checkpoint.File = w.Checkpoints.File.Value(env, &wrong)
	s.Checkpoint.Webhook = w.Checkpoints.Webhook.Value(env, &wrong)
	s.Checkpoint.Log = w.Checkpoints.Log
	if len(wrong) > 0 {
		return Store{}, wrong.Err()
	}
	return s, nil
}

// Source is the key as standard JSON, "" if no file has it.
func (w *WrittenStore) Source() string {
	if w == nil {
		return ""
	}
	return w.source
}
