package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/profiles"
)

// rulesOf shows and changes the rules of an Evaluator for the page.
type rulesOf struct {
	e   *codemode.Evaluator
	set *launch.Settings

	mu sync.Mutex // one write of a file at a time: it compares and then replaces the file
}

// emptyOverlays is the content of a new file of overlays.
const emptyOverlays = "{\"evaluation\": {\"overlays\": []}}\n"

func (r *rulesOf) Files() (list []rules.File, stale string) {
	if err := r.e.Rules().Now().Stale; err != nil {
		stale = err.Error()
	}
	files, err := r.set.Files()
	if err != nil {
		return nil, err.Error()
	}
	for _, f := range []struct {
		path, standing string
		editable       bool
	}{
		{files.Managed, "Of the administrator of this machine", false},
		{files.User, "Yours", true},
		{files.Project, "Of the project in this folder", false},
		{files.Overlays, "Overlays, which only narrow", true},
	} {
		if f.path == "" {
			continue
		}
		file := rules.File{Path: f.path, Standing: f.standing, Editable: f.editable}
		switch data, err := os.ReadFile(f.path); {
		case err == nil:
			file.Text, file.Digest = string(data), profiles.Digest(data)
		case errors.Is(err, fs.ErrNotExist) && f.path == files.Overlays:
			file.Text, file.New = emptyOverlays, true
		default:
			file.Text, file.Editable = err.Error(), false
		}
		list = append(list, file)
	}
	for _, v := range files.Environment {
		list = append(list, rules.File{
			Path: v.File, Standing: "An environment variable, set where codemode is started",
			Text: string(v.Data), Digest: profiles.Digest(v.Data),
		})
	}
	return list, stale
}

// editable refuses a path that the page must not change.
func (r *rulesOf) editable(path string) (config.Files, error) {
	files, err := r.set.Files()
	if err == nil && (path == "" || path != files.User && path != files.Overlays) {
		err = errors.New("this file cannot be changed here")
	}
	return files, err
}

func (r *rulesOf) Check(path string, text []byte) error {
	files, err := r.editable(path)
	if err != nil {
		return err
	}
	_, err = files.LoadWith(path, text)
	return err
}

func (r *rulesOf) Save(_ context.Context, path, digest string, text []byte) error {
	files, err := r.editable(path)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(path)
	now := profiles.Digest(data)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = "", nil
	}
	switch {
	case err != nil:
		return err
	case now != digest:
		return errors.New("the file has changed meanwhile; load the page again, and look at the new content")
	case path == files.Overlays:
		return r.explain(path, r.e.Loader().SetOverlays(text))
	}
	file, err := filepath.EvalSymlinks(path) // a link stays a link
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	wait, stop := r.nextReading()
	defer stop()
	if err := r.explain(file, replace.File(file, text, info.Mode().Perm())); err != nil {
		return err
	}
	if !bytes.Equal(data, text) {
		wait()
	}
	return nil
}

// takeWait is how long a saved file may take to be in force before the page goes on without. The watcher of the files
// needs 50 ms.
const takeWait = 3 * time.Second

// nextReading returns a function that waits until another configuration is in force, so that the page after a change
// shows the rules that hold then. The caller calls stop in the end.
func (r *rulesOf) nextReading() (wait, stop func()) {
	before, changed := r.e.Rules().Config(), make(chan struct{}, 1)
	stop = r.e.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default: // a look is due already
		}
	})
	return func() {
		late := time.After(takeWait)
		for r.e.Rules().Config() == before {
			select {
			case <-changed:
			case <-late:
				return
			}
		}
	}, stop
}

// explain adds to an error of writing a file what a person can do where codemode is confined.
func (r *rulesOf) explain(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || r.set.Confined.MayWrite(filepath.Dir(path)) {
		return err
	}
	return fmt.Errorf("codemode is confined and may not write %s: change the file with an editor, or name its folder in "+
		"the key confine.write of the configuration and start codemode again (%w)", path, err)
}

// proposal prepares a rule for the user's file.
func (r *rulesOf) proposal(p console.Proposal) (config.Files, changes.Proposal, error) {
	files, err := r.set.Files()
	if err == nil && files.User == "" {
		err = errors.New("you have no configuration file to propose the rule in")
	}
	return files, changes.Proposal{
		Profile: p.Profile, List: p.List, Tool: p.Tool, Args: p.Args, By: p.By, Why: p.Why, Time: time.Now(),
	}, err
}

// Effect lists the past calls that a proposal would decide differently. Only the user who started the process sees
// their arguments; that user can read the record anyway.
func (r *rulesOf) Effect(ctx context.Context, p console.Proposal) ([]string, error) {
	files, proposal, err := r.proposal(p)
	if err != nil {
		return nil, err
	}
	var past changes.Past
	db, unread := r.e.Record().DB(ctx)
	if unread == nil {
		past, unread = launch.PastCalls(ctx, db)
	}
	effect, err := changes.EffectOf(ctx, proposal, files, past.Calls)
	switch {
	case err != nil:
		return nil, err
	case unread != nil:
		return []string{"recent calls are not compared: the record cannot be read"}, nil
	}
	return effect.Lines(launch.PastPeriod, p.By == launch.Owner()), nil
}

func (r *rulesOf) Propose(_ context.Context, p console.Proposal) (string, error) {
	files, proposal, err := r.proposal(p)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = r.explain(files.User, changes.ProposeInFiles(files, proposal)); err != nil {
		return "", fmt.Errorf("proposing a rule in %s: %w", files.User, err)
	}
	return files.User, nil
}

// Roles are those that overlays name, with what a session for each can do.
func (r *rulesOf) Roles() (all []console.Role) {
	if cfg := r.e.Rules().Config(); cfg != nil {
		for _, name := range cfg.Roles() {
			all = append(all, console.Role{Name: name, Can: r.e.Rules().Restricts(name)})
		}
	}
	return all
}

func (r *rulesOf) RoleSessions(ctx context.Context) (all []console.RoleSession, err error) {
	made, err := r.e.Rules().Made(ctx)
	for _, s := range made {
		all = append(all, console.RoleSession{ID: s.ID, Role: s.Role, Expires: s.Expires})
	}
	return all, err
}

func (r *rulesOf) EndRoleSession(ctx context.Context, id string) (role string, err error) {
	ended, err := r.e.Rules().EndMade(ctx, id)
	return ended.Role, err
}

func (r *rulesOf) NewSession(role string, life time.Duration) (id string, expires time.Time, err error) {
	made, err := r.e.Rules().NewSession(context.Background(), role, life)
	return made.ID, made.Expires, err
}

// bookOf is the book of the rules of an Evaluator.
func bookOf(e *codemode.Evaluator, set *launch.Settings) *rules.Book {
	return &rules.Book{
		Rules: e.Rules(), Files: set.Files,
		Tools: func() (all []*call.Tool) {
			// Rules match tools that no program has wanted yet.
			e.Tools().ReadyOnce(context.Background())
			for _, t := range e.Tools().Catalog.Tools() {
				all = append(all, e.Tools().Describe(t))
			}
			return all
		},
		Past: func(ctx context.Context) (changes.Past, error) {
			db, err := e.Record().DB(ctx)
			if err != nil {
				return changes.Past{}, err
			}
			return launch.PastCalls(ctx, db)
		},
	}
}
