package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
)

// recordWait is how long the database has to answer.
const recordWait = 10 * time.Second

// record checks that codemode serve can write the record: a call that it cannot record does not happen. The check
// changes nothing.
func (d *diagnosis) record(ctx context.Context, set *launch.Settings, e *codemode.Evaluator) {
	dir, err := set.StateFolder()
	if err != nil {
		d.fail(cli.ExitUsage, "record", "folder",
			"set HOME, or name a folder with --state or "+launch.StateVariable, "%v", err)
		return
	}
	place, err := recorder.PlaceOf(dir, e.Config(), launch.Env)
	if err != nil {
		return // the check of the configuration has reported it
	}
	const hint = "codemode serve refuses every call while it cannot record it"
	for _, path := range []string{place.Store.Path, place.Key, place.Checkpoints} {
		if path == "" {
			continue
		}
		if err := cli.CanCreateFiles(filepath.Dir(path)); err != nil {
			d.fail(cli.ExitUsage, "record", path, hint, "%v", err)
			return
		}
	}
	if _, err := os.Lstat(place.Key); err == nil { // codemode serve creates it otherwise
		if _, err := audit.LoadKey(place.Key); err != nil {
			d.fail(cli.ExitUsage, "record", place.Key, "codemode serve refuses to start with it", "%v", err)
		}
	}
	if err := place.Present(); err != nil {
		d.fail(cli.ExitInternal, "record", place.Store.Path, hint, "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	o := place.Store
	o.ReadOnly = true
	db, err := store.Open(ctx, o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("record", place.Store.Path, "the first run creates it")
	case err != nil:
		d.fail(cli.ExitInternal, "record", launch.DatabaseName(place), hint, "%v", err)
	default:
		d.ok("record", launch.DatabaseName(place), "it can be read")
		_ = db.Close() // nothing was written
	}
}
