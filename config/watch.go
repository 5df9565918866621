package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// WatchOptions change how to watch a file. The zero value suits most callers.
type WatchOptions struct {
	// Last is the configuration in force. The watcher does not report a file that still has its content. Nil means
	// none: then the watcher also reports the first content, good or bad.
	Last *Config

	// Poll is how often the watcher reads the file regardless of notifications; zero means 1s. Some file systems report
	// nothing, and some ways of replacing a folder go unnoticed.
	Poll time.Duration

	// Settle is how long a file must stay unchanged before the watcher reads it; zero means 50ms. The watcher waits
	// twice as long again before it reports a broken or missing file, because most are only half saved.
	Settle time.Duration

	// PollOnly uses no notifications of the system.
	PollOnly bool

	// Log receives a warning if the system cannot notify; nil discards it.
	Log *slog.Logger
}

// A Watcher follows configuration files. The last good configuration stays in force while a file is broken or missing.
type Watcher struct {
	files   Files
	o       WatchOptions
	changed func(*Config, error)
	notify  *fsnotify.Watcher // nil = polling alone
	cancel  context.CancelFunc
	done    chan struct{}

	// Used by the goroutine alone.
	parsed   parsed
	without  parsed          // the configuration in force while the project's file is broken
	seen     []byte          // the last reported content
	reported string          // the last reported error; "" = none
	links    map[string]bool // the links on the way to the file, and the file at their end
	warned   bool

	mu    sync.Mutex
	last  *Config
	stale error
}

// WatchFiles follows files until ctx or Close ends it. It calls changed, never twice at a time, with each new good
// content, and with an error once the file is broken, missing or not a plain file. If only the project's file is,
// changed gets both: the configuration then has the last good content of that file, and is in force. The way in which
// an editor or a ConfigMap replaces the file makes no difference. WatchFiles notices a change within two seconds.
func WatchFiles(ctx context.Context, f Files, o WatchOptions, changed func(*Config, error)) (*Watcher, error) {
	if changed == nil {
		panic("config.WatchFiles needs a function to call")
	}
	f, err := f.absolute()
	if err != nil {
		return nil, fmt.Errorf("watching the configuration: %w", err)
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Settle <= 0 {
		o.Settle = 50 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{files: f, o: o, changed: changed, cancel: cancel, done: make(chan struct{}), last: o.Last,
		links: map[string]bool{}}
	if !o.PollOnly {
		if w.notify, err = fsnotify.NewWatcher(); err != nil {
			o.Log.Warn("the system cannot notify of changes; the configuration is polled", "error", err)
		}
	}
	w.watchFolders()
	go w.run(ctx)
	return w, nil
}

// Close ends the watching and waits for a running call of changed. Callers may call it twice, but not from inside
// changed.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	return nil
}

func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	defer w.cancel()
	var events chan fsnotify.Event
	var failures chan error
	if w.notify != nil {
		defer w.notify.Close()
		events, failures = w.notify.Events, w.notify.Errors
	}
	poll := time.NewTicker(w.o.Poll)
	defer poll.Stop()
	settle := time.NewTimer(0) // reads the file once at the start
	defer settle.Stop()
	var since time.Time // the first unhandled event
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if w.concerns(e.Name) {
				now := time.Now()
				if since.IsZero() {
					since = now
				}
				// A storm of saves must not delay the reading for ever.
				settle.Reset(max(0, min(w.o.Settle, since.Add(10*w.o.Settle).Sub(now))))
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			w.o.Log.Warn("notifications of changes were lost; the configuration is polled", "error", err)
		case <-poll.C:
			if since.IsZero() {
				w.look(ctx)
			}
		case <-settle.C:
			since = time.Time{}
			w.look(ctx)
		}
	}
}

// concerns reports whether a change of that file in one of the folders may change the targets of the paths. Kubernetes
// swaps the link ..data.
func (w *Watcher) concerns(name string) bool {
	base := filepath.Base(name)
	return base == "..data" || w.links[name] || slices.ContainsFunc(w.files.all(),
		func(path string) bool { return base == filepath.Base(path) })
}

// look reads the file and reports news. It reads a broken file again a little later, and reports it only if it has
// stayed the same.
func (w *Watcher) look(ctx context.Context) {
	data, config, err := w.read()
	if err != nil && w.news(data, config, err) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * w.o.Settle):
		}
		again, configNow, errNow := w.read()
		if errNow != nil && (errNow.Error() != err.Error() || !bytes.Equal(again, data)) {
			return // somebody is still writing it: an event or the next poll calls look again
		}
		data, config, err = again, configNow, errNow
	}
	w.watchFolders()
	if ctx.Err() != nil {
		return
	}
	if !w.news(data, config, err) {
		if err == nil {
			w.seen = data
		}
		return
	}
	w.seen, w.reported = data, ""
	w.mu.Lock()
	w.stale = err
	if config != nil {
		w.last = config
	}
	if err != nil {
		w.reported = err.Error()
	}
	w.mu.Unlock()
	w.changed(config, err)
}

// parsed is the latest content of the files and its configuration.
type parsed struct {
	data   []byte
	config *Config
	err    error
}

// read returns the content and its configuration. It parses the same content only once.
//
// Even with an error there may be a configuration: that of the current other files, with the last good content of the
// project's file. A project's file belongs to other people. By breaking their file, they must not be able to keep the
// user's own change from taking effect, or to remove what their file forbids.
func (w *Watcher) read() ([]byte, *Config, error) {
	data, c, err := w.parsed.of(w.files, nil)
	if err == nil || w.last == nil {
		return data, c, err
	}
	project, ok := w.last.projectText()
	if !ok {
		return data, nil, err
	}
	again, c, failed := w.without.of(w.files, project)
	if failed != nil { // another file is broken, alone or as well
		return data, nil, err
	}
	return again, c, err
}

// of parses the files as if the project's file had that content, unless it is nil.
func (p *parsed) of(f Files, project []byte) ([]byte, *Config, error) {
	sources, err := f.readWith(project)
	if err != nil {
		return nil, nil, err
	}
	data := joined(sources)
	if p.data == nil || !bytes.Equal(data, p.data) {
		c, err := ParseAll(f.Env, sources...)
		*p = parsed{data, c, err}
	}
	return data, p.config, p.err
}

// projectText returns the text of the project's file in a configuration.
func (c *Config) projectText() ([]byte, bool) {
	for _, p := range c.parts {
		if p.Standing == Untrusted || p.Standing == Trusted {
			return []byte(p.src), true
		}
	}
	return nil, false
}

// news reports whether this differs from the last report.
func (w *Watcher) news(data []byte, c *Config, err error) bool {
	switch {
	case err != nil:
		return err.Error() != w.reported || c != nil && !bytes.Equal(data, w.seen)
	case w.reported != "":
		return true
	case w.seen == nil && w.last != nil: // nothing reported yet: compare with the configuration in force
		return c.Digest != w.last.Digest
	}
	return w.seen == nil || !bytes.Equal(data, w.seen)
}

// maxLinks bounds the symbolic links to follow when finding folders to watch.
const maxLinks = 16

// watchFolders requests notifications about every folder on the way to a file: its own, and those that symbolic links
// lead through. Watching the file itself would lose it with the first editor that puts a new file in its place.
func (w *Watcher) watchFolders() {
	if w.notify == nil {
		return
	}
	on := map[string]bool{}
	for _, path := range w.files.all() {
		w.watchWay(path, on)
	}
	w.links = on
}

func (w *Watcher) watchWay(path string, on map[string]bool) {
	name := path
	for range maxLinks {
		w.addFolder(filepath.Dir(name))
		target, err := os.Readlink(name)
		if err != nil {
			break
		}
		on[name] = true
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(name), target)
		}
		name = target
	}
	if end, err := filepath.EvalSymlinks(path); err == nil {
		w.addFolder(filepath.Dir(end))
		name = end
	}
	on[name] = true
}

func (w *Watcher) addFolder(folder string) {
	if err := w.notify.Add(folder); err != nil && !errors.Is(err, os.ErrNotExist) && !w.warned {
		w.warned = true
		w.o.Log.Warn("the system cannot notify of changes in a folder; the configuration is polled", "folder", folder,
			"error", err)
	}
}
