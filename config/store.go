package config

import (
	"net/url"
	"regexp"
	"time"

	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Store is the key "store": the place of the record. It is the path of an SQLite file, the URL of a PostgreSQL
// database, or an object. Paths are as written, and "" if the file does not set them.
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

// usualKeep is how long approvals, grants and parked runs stay in the store after their end if no file sets it.
const usualKeep = 30 * 24 * time.Hour

// A writtenStore is the key as written in the file.
type writtenStore struct {
	Store         // the part without variables
	source string // the key as standard JSON

	whole, path, url, key, collector, file, webhook variables.Text
}

// Store returns the key "store" with the variables of env. The error is [Problems].
func (c *Config) Store(env func(string) (string, bool)) (Store, error) {
	if c == nil || c.store == nil {
		return Store{Keep: usualKeep}, nil
	}
	var wrong settings.Problems
	w := c.store
	s := w.Store
	s.Path, s.URL = w.path.Value(env, &wrong), w.url.Value(env, &wrong)
	if whole := w.whole.Value(env, &wrong); likeURL.MatchString(whole) {
		s.URL = whole
	} else if whole != "" {
		s.Path = whole
	}
	s.Key, s.Collector = w.key.Value(env, &wrong), w.collector.Value(env, &wrong)
	s.Checkpoint.File, s.Checkpoint.Webhook = w.file.Value(env, &wrong), w.webhook.Value(env, &wrong)
	if len(wrong) > 0 {
		sortProblems(wrong)
		return Store{}, wrong
	}
	return s, nil
}

// SameStore reports whether two configurations say the same about the store.
func (c *Config) SameStore(other *Config) bool { return c.storeSource() == other.storeSource() }

func (c *Config) storeSource() string {
	if c == nil || c.store == nil {
		return ""
	}
	return c.store.source
}

var (
	// keywords finds a PostgreSQL connection string in the keyword/value format.
	keywords = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|port|user|password|dbname|passfile|service|sslmode)\s*=`)
	// bareWord matches a word that is unlikely to be a file name: most likely it means a kind of database.
	bareWord = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	// likeURL matches the beginning of an intended URL; a single letter is a Windows drive.
	likeURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
)

func (b *builder) store(n strictjson.Value) writtenStore {
	w := writtenStore{source: n.Compact()}
	w.Keep = usualKeep
	switch n.Kind() {
	case strictjson.String:
		w.whole = b.text(n, `"store"`, fileOrDatabase)
	case strictjson.Object:
		b.storeObject(n, &w)
	default:
		b.Wrong(n, `write a file, "postgres://...", or an object`, `"store" must be an object or a string, this is %s`,
			n.Kind())
	}
	return w
}

func (b *builder) storeObject(n strictjson.Value, w *writtenStore) {
	hasURL := settings.Member(n, "url").Kind() != strictjson.Missing
	b.Object(n, `"store"`, []settings.Field{
		settings.Key("path", func(n strictjson.Value) {
			if hasURL {
				b.Wrong(n, `remove one of "path" and "url"`, `"path" is for SQLite and "url" for PostgreSQL`)
			} else {
				w.path = b.text(n, `"path"`, databaseFile)
			}
		}),
		settings.Key("url", func(n strictjson.Value) { w.url = b.text(n, `"url"`, database) }),
		settings.Key("durability", func(n strictjson.Value) {
			word, _ := b.Word(n, `"durability"`, "full", "normal")
			if w.Relaxed = word == "normal"; w.Relaxed && hasURL {
				b.Wrong(n, "remove it", "a PostgreSQL server has its own setting for durability")
			}
		}),
		settings.Key("key", func(n strictjson.Value) { w.key = b.text(n, `"key"`, nil) }),
		settings.Key("keep", func(n strictjson.Value) { w.Keep = b.DurationFrom(n, `"keep"`, 0) }),
		settings.Key("share", func(n strictjson.Value) { w.Share = b.keptSize(n, `"share"`, maxCapacity) }),
		settings.Key("collector", func(n strictjson.Value) { w.collector = b.text(n, `"collector"`, webURL(`"collector"`)) }),
		settings.Key("checkpoints", func(n strictjson.Value) {
			b.Object(n, `"checkpoints"`, []settings.Field{
				settings.Key("file", func(n strictjson.Value) { w.file = b.text(n, `"file"`, nil) }),
				settings.Key("webhook", func(n strictjson.Value) { w.webhook = b.text(n, `"webhook"`, webURL(`"webhook"`)) }),
				settings.Key("log", func(n strictjson.Value) { w.Checkpoint.Log, _ = b.Boolean(n, `"log"`) }),
			})
		}),
	})
}

func fileOrDatabase(text string) (message, hint string) {
	switch {
	case likeURL.MatchString(text):
		return database(text)
	case bareWord.MatchString(text):
		return "this is neither a file nor the URL of a database",
			`write "postgres://user@host/database" for a PostgreSQL database, or a file as {"path": "codemode.db"}`
	}
	return databaseFile(text)
}

func databaseFile(text string) (message, hint string) {
	switch {
	case keywords.MatchString(text):
		return "a connection string in keywords may hold a password, and would become the name of a file",
			`write it as a URL: "postgres://user:password@host:port/database"`
	case likeURL.MatchString(text):
		return "this is a URL, and would become the name of a file", `"url" takes the URL of a PostgreSQL database`
	}
	return "", ""
}

func database(text string) (message, hint string) {
	if u, err := url.Parse(text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return "the URL of a database must begin with postgres://",
			"such as postgres://user@host:5432/database; a file of SQLite is written as its path alone"
	}
	return "", ""
}
