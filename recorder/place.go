package recorder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/store"
)

// A Place says where a record is kept. It comes from a directory and the key "store" of a configuration, see [PlaceOf].
type Place struct {
	Store       store.Options
	Key         string // file of the key that signs checkpoints
	Checkpoints string // file that checkpoints are appended to
	Webhook     string // URL that checkpoints are posted to; "" posts none
	Log         bool   // checkpoints go to the log too
	Keep        time.Duration
	Collector   string // URL that takes OpenTelemetry logs over HTTP; "" sends none
}

// defaultKeep is how long approvals, grants and parked runs stay in the store after their end.
const defaultKeep = 30 * 24 * time.Hour

// storeConfig is the key "store": a string is url if it has a scheme, else path.
type storeConfig struct {
	Path        string `json:"path"`       // of the SQLite file; relative to the directory of the record
	URL         string `json:"url"`        // of a PostgreSQL database
	Durability  string `json:"durability"` // full or normal
	Key         string `json:"key"`        // file
	Keep        string `json:"keep"`       // duration
	Collector   string `json:"collector"`  // URL, such as http://localhost:4318/v1/logs
	Checkpoints struct {
		File    string `json:"file"`
		Webhook string `json:"webhook"`
		Log     bool   `json:"log"`
	} `json:"checkpoints"`
}

// PlaceOf works out where the record is kept. Files that the configuration does not place elsewhere are in dir. cfg may
// be nil. env looks up variables. The error is [config.Problems] if the key "store" is wrong.
func PlaceOf(dir string, cfg *config.Config, env func(string) (string, bool)) (Place, error) {
	var c storeConfig
	var text string
	whole := false // the key is one text
	if cfg != nil && len(cfg.Store) > 0 {
		if whole = json.Unmarshal(cfg.Store, &text) == nil; !whole {
			if err := strictly(cfg.Store, &c); err != nil { // the file was checked
				return Place{}, fmt.Errorf("%s: store: %w", cfg.Path, err)
			}
		}
	}
	var wrong config.Problems
	fail := func(path, format string, args ...any) {
		at := []any{"store"}
		for part := range strings.SplitSeq(path, ".") {
			at = append(at, part)
		}
		wrong = append(wrong, cfg.ProblemAt(fmt.Sprintf(format, args...), "", at...))
	}
	for _, s := range []struct {
		path string
		text *string
	}{{"", &text}, {"path", &c.Path}, {"url", &c.URL}, {"key", &c.Key}, {"checkpoints.file", &c.Checkpoints.File}, {"checkpoints.webhook", &c.Checkpoints.Webhook}, {"collector", &c.Collector}} {
		expanded, err := expandVariables(*s.text, env)
		if err != nil {
			fail(s.path, "%v", err)
		}
		*s.text = expanded
	}
	if len(wrong) > 0 {
		return Place{}, wrong
	}
	switch {
	case whole && strings.Contains(text, "://"):
		c.URL = text
	case whole && !strings.ContainsAny(text, "./\\:= "):
		fail("", "%q is neither a file nor the URL of a database", text)
	case whole:
		c.Path = text
	}
	in := func(path, otherwise string) string {
		path = cmp.Or(path, otherwise)
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	p := Place{Key: in(c.Key, "record.key"), Checkpoints: in(c.Checkpoints.File, "checkpoints.jsonl"), Webhook: c.Checkpoints.Webhook, Log: c.Checkpoints.Log, Keep: defaultKeep}
	switch {
	case c.URL != "" && c.Path != "":
		fail("path", "path is for SQLite and url for PostgreSQL; give one of them")
	case c.URL != "":
		if u, err := url.Parse(c.URL); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			fail("url", "url has to begin with postgres://")
		}
		p.Store.URL = c.URL
	default:
		if keywords.MatchString(c.Path) {
			fail("path", "path is a connection string in keywords, which may hold a password and would become the name "+
				"of a file; write it as url, postgres://user:password@host:port/database")
		}
		p.Store.Path = in(c.Path, "codemode.db")
	}
	switch {
	case c.Durability == "" || c.Durability == "full":
	case c.Durability == "normal" && c.URL == "":
		p.Store.Relaxed = true
	case c.Durability == "normal":
		fail("durability", "durability is the server's own business with PostgreSQL")
	default:
		fail("durability", "durability is full or normal, not %q", c.Durability)
	}
	if c.Keep != "" {
		keep, err := time.ParseDuration(c.Keep)
		if err != nil || keep < 0 {
			fail("keep", "keep has to be a duration such as 720h")
		}
		p.Keep = keep
	}
	p.Collector = c.Collector
	for what, address := range map[string]string{"checkpoints.webhook": p.Webhook, "collector": p.Collector} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			fail(what, "%s has to be the URL of a server", what)
		}
	}
	if len(wrong) > 0 {
		return Place{}, wrong
	}
	return p, nil
}

// keywords finds a PostgreSQL connection string in its form of keywords and values.
var keywords = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|port|user|password|dbname|passfile|service|sslmode)\s*=`)

var variable = regexp.MustCompile(`\$\{([^}]*)(\}?)`)

// expandVariables replaces ${VAR} and ${VAR:-default}.
func expandVariables(s string, env func(string) (string, bool)) (expanded string, err error) {
	expanded = variable.ReplaceAllStringFunc(s, func(written string) string {
		parts := variable.FindStringSubmatch(written)
		name, otherwise, hasDefault := strings.Cut(parts[1], ":-")
		value := ""
		if env != nil {
			if found, ok := env(name); ok {
				value = found
			}
		}
		switch {
		case parts[2] == "":
			err = errors.New("a ${ is not closed")
		case value == "" && !hasDefault:
			err = fmt.Errorf("the variable %s is not set", name)
		}
		return cmp.Or(value, otherwise)
	})
	return expanded, err
}

// Open opens the database for writing. It creates no file that checkpoints already mention: such a file was lost.
func (p Place) Open(ctx context.Context) (*store.DB, error) {
	if err := p.Present(); err != nil {
		return nil, err
	}
	return store.Open(ctx, p.Store)
}

// Present fails with an [audit.GoneError] if the file of the database is missing and checkpoints mention it.
func (p Place) Present() error {
	if p.Store.Path == "" {
		return nil
	}
	return audit.Present(p.Store.Path, p.Checkpoints)
}

// sealPurpose derives the key that encrypts arguments and results in the store.
const sealPurpose = "seal the store"

// Prepare makes the folders and the key.
func (p Place) Prepare() (*audit.Key, error) {
	for _, path := range []string{p.Store.Path, p.Key, p.Checkpoints} {
		if path == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of the record: %w", err)
		}
	}
	return audit.LoadKey(p.Key)
}

// Write adds entries to the record, for a command without an Evaluator. They are on the disk when it returns.
func (p Place) Write(ctx context.Context, log *slog.Logger, entries ...audit.Entry) error {
	key, err := p.Prepare()
	if err != nil {
		return err
	}
	p.Store.Log, p.Store.SealKey = log, key.Derive(sealPurpose)
	record := audit.New(audit.Options{Open: p.Open, Key: key, Publish: p.publishers(log), Log: log})
	for _, e := range entries {
		err = errors.Join(err, record.Write(ctx, e))
	}
	return errors.Join(err, record.Close(ctx))
}

// publishers receive the checkpoints.
func (p Place) publishers(log *slog.Logger) []audit.Publisher {
	to := []audit.Publisher{audit.FilePublisher(p.Checkpoints)}
	if p.Log {
		to = append(to, audit.LogPublisher(log))
	}
	if p.Webhook != "" {
		to = append(to, audit.WebhookPublisher(p.Webhook, &http.Client{}))
	}
	return to
}

func strictly(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
