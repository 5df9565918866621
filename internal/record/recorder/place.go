package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A Place is the location of a record. It comes from a directory and the key "store" of a configuration, see [PlaceOf].
type Place struct {
	Store       store.Options
	Key         string // file of the key that signs checkpoints
	Checkpoints string // file that checkpoints are appended to
	Webhook     string // URL that checkpoints are posted to; "" posts none
	Log         bool   // checkpoints go to the log too
	Keep        time.Duration
	Share       int64  // bytes of one owner an hour; zero is [audit.DefaultShare]
	Collector   string // URL that takes OpenTelemetry logs over HTTP; "" sends none
}

// PlaceOf returns the place of the record, given a directory for everything that the configuration does not place
// elsewhere. cfg may be nil. env looks up the variables in it. The error is [config.Problems] with what is wrong with
// the key "store".
func PlaceOf(dir string, cfg *config.Config, env func(string) (string, bool)) (Place, error) {
	s, err := cfg.Store(env)
	if err != nil {
		return Place{}, err
	}
	in := func(path, otherwise string) string {
		path = cmp.Or(path, otherwise)
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	p := Place{
		Store: store.Options{URL: s.URL, Relaxed: s.Relaxed}, Key: in(s.Key, "record.key"), Keep: s.Keep, Share: s.Share,
		Collector:   s.Collector,
		Checkpoints: in(s.Checkpoint.File, "checkpoints.jsonl"), Webhook: s.Checkpoint.Webhook, Log: s.Checkpoint.Log,
	}
	if s.URL == "" {
		p.Store.Path = in(s.Path, "codemode.db")
	}
	return p, nil
}

// Open opens the database for writing. If checkpoints mention a file that is missing, the file was lost, and Open does
// not create a new one.
func (p Place) Open(ctx context.Context) (*store.DB, error) {
	if err := p.Present(); err != nil {
		return nil, err
	}
	return store.Open(ctx, p.Store)
}

// OpenSealed opens the database for writing, with the key that seals what comes from programs. The error is
// [fs.ErrNotExist] if there is none.
func (p Place) OpenSealed(ctx context.Context, log *slog.Logger) (*store.DB, error) {
	if p.Store.Path != "" {
		if _, err := os.Stat(p.Store.Path); err != nil {
			return nil, errors.Join(err, p.Present())
		}
	}
	key, err := p.Prepare()
	if err != nil {
		return nil, err
	}
	p.Store.Log, p.Store.SealKey = log, p.SealKey(key)
	return p.Open(ctx)
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

// SealKey derives the key that encrypts arguments and results in the store from the key of the record.
func (p Place) SealKey(key *audit.Key) []byte { return key.Derive(sealPurpose) }

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
func (p Place) Write(ctx context.Context, log *slog.Logger, entries ...call.Entry) error {
	key, err := p.Prepare()
	if err != nil {
		return err
	}
	p.Store.Log, p.Store.SealKey = log, p.SealKey(key)
	record := audit.New(audit.Options{Open: p.Open, Key: key, Share: p.Share, Publish: p.Publishers(log), Log: log})
	for _, e := range entries {
		err = errors.Join(err, record.Write(ctx, e))
	}
	return errors.Join(err, record.Close(ctx))
}

// Publishers returns what receives the checkpoints.
func (p Place) Publishers(log *slog.Logger) []audit.Publisher {
	to := []audit.Publisher{audit.FilePublisher(p.Checkpoints)}
	if p.Log {
		to = append(to, audit.LogPublisher(log))
	}
	if p.Webhook != "" {
		to = append(to, audit.WebhookPublisher(p.Webhook, &http.Client{}))
	}
	return to
}
