package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/store"
)

// recordWait is how long the database of the record has to answer.
const recordWait = 10 * time.Second

// record looks at whether codemode serve could keep the record, for what cannot be recorded does not happen. It changes
// nothing.
func (d *diagnosis) record(ctx context.Context, set *setting, e *codemode.Evaluator) {
	dir, err := set.stateFolder()
	if err != nil {
		d.fail(exitUsage, "record", "folder", "set HOME, or name a folder with --state or "+stateVariable, "%v", err)
		return
	}
	place, err := recorder.PlaceOf(dir, e.Config(), os.LookupEnv)
	if err != nil {
		return // which the configuration has said
	}
	const hint = "codemode serve refuses every call while it cannot record it"
	for _, path := range []string{place.Store.Path, place.Key, place.Checkpoints} {
		if path == "" {
			continue
		}
		if err := writableBelow(filepath.Dir(path)); err != nil {
			d.fail(exitUsage, "record", path, hint, "%v", err)
			return
		}
	}
	if _, err := os.Lstat(place.Key); err == nil { // it is made otherwise
		if _, err := audit.LoadKey(place.Key); err != nil {
			d.fail(exitUsage, "record", place.Key, "codemode serve refuses to start like this", "%v", err)
		}
	}
	if err := place.Present(); err != nil {
		d.fail(exitInternal, "record", place.Store.Path, hint, "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	o := place.Store
	o.ReadOnly = true
	db, err := store.Open(ctx, o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("record", place.Store.Path, "it is made with the first run")
	case err != nil:
		d.fail(exitInternal, "record", recordName(place), hint, "%v", err)
	default:
		d.ok("record", recordName(place), "it can be read")
		_ = db.Close() // nothing was written
	}
}

func recordName(place recorder.Place) string {
	if place.Store.Path != "" {
		return place.Store.Path
	}
	return "database"
}

// writableBelow reports why no file could be made in a folder that need not be there yet.
func writableBelow(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		return writableBelow(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fmt.Errorf("nothing can be written in %s: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
