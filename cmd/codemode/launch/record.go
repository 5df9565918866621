package launch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
)

// Place finds out where the record is.
func (s *Settings) Place() (recorder.Place, error) {
	dir, err := s.StateFolder()
	if err != nil {
		return recorder.Place{}, cli.UsageError(err)
	}
	files, err := s.Files()
	if err != nil {
		return recorder.Place{}, cli.UsageError(err)
	}
	var cfg *config.Config
	if !files.None() {
		if cfg, err = files.Load(); err != nil {
			return recorder.Place{}, cli.UsageError(err)
		}
	}
	place, err := recorder.PlaceOf(dir, cfg, Env)
	return place, cli.UsageError(err)
}

// ReadRecord opens the record for reading and calls f with it. An error of f without an exit code is an internal one.
func (s *Settings) ReadRecord(ctx context.Context, to cli.Streams, f func(*store.DB, recorder.Place) error) error {
	place, err := s.Place()
	if err != nil {
		return err
	}
	db, err := OpenRecord(ctx, place, s.Logger(to, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer db.Close()
	return cli.InternalError(f(db, place))
}

// OpenRecord opens a record for reading.
func OpenRecord(ctx context.Context, place recorder.Place, log *slog.Logger) (*store.DB, error) {
	o := place.Store
	o.ReadOnly, o.Log = true, log
	db, err := store.Open(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		if err := place.Present(); err != nil {
			return nil, cli.InternalError(err)
		}
		return nil, cli.UsageError(fmt.Errorf(
			"there is no record at %s: nothing has run yet, or the record is elsewhere (see --state and --config)", o.Path))
	}
	if err != nil {
		return nil, cli.InternalError(fmt.Errorf("opening the record: %w", err))
	}
	return db, nil
}

// DatabaseName names the database of a record in messages.
func DatabaseName(place recorder.Place) string { return cmp.Or(place.Store.Path, "the database") }

// A proposed rule is compared with the calls of the last pastDays, and with the latest pastEntries entries about calls
// at most, of pastBytes together: an entry may have arguments and an answer of 16 KB each.
const (
	pastDays    = 30
	pastEntries = 20_000
	pastBytes   = 32 << 20
)

// PastPeriod is the period of PastCalls, in words.
var PastPeriod = fmt.Sprintf("%d days", pastDays)

// PastCalls reads the latest calls from a record.
func PastCalls(ctx context.Context, db *store.DB) (changes.Past, error) {
	var lines [][]byte
	size := 0
	q := store.Query{
		Kinds: []string{audit.Call}, Since: time.Now().AddDate(0, 0, -pastDays), Newest: true, Limit: pastEntries,
		Bytes: pastBytes,
	}
	if err := audit.Entries(ctx, db, q, func(e *audit.Entry) error {
		lines = append(lines, e.Line())
		size += len(lines[len(lines)-1])
		return nil
	}); err != nil {
		return changes.Past{}, err
	}
	slices.Reverse(lines)
	calls, err := changes.ReadRecord(bytes.NewReader(bytes.Join(lines, []byte("\n"))))
	return changes.Past{Calls: calls, Days: pastDays, Cut: len(lines) == pastEntries || size >= pastBytes}, err
}
