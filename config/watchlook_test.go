package config

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A looker is a watcher that looks when it is told to, and what it has reported.
type looker struct {
	*Watcher
	told []string
}

func newLooker(f Files) *looker {
	l := &looker{}
	l.Watcher = &Watcher{files: f, o: WatchOptions{Settle: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler)},
		links: map[string]bool{}}
	l.changed = func(c *Config, err error) {
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			l.told = append(l.told, "broken: "+first[strings.LastIndex(first, ": ")+2:])
			return
		}
		l.told = append(l.told, "good: "+c.Default)
	}
	return l
}

func naming(profile string) string {
	return `{"evaluation": {"defaultProfile": "` + profile + `", "profiles": {"` + profile + `": {}}}}`
}

// TestWhatALookReports, step by step and by a clock that the test moves.
func TestWhatALookReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	type step struct {
		write, meanwhile string // "" = leaves it, "-" = removes it
		want             string // what is reported in this step
	}
	put := func(content string) {
		switch content {
		case "":
		case "-":
			must(t, os.Remove(path))
		default:
			write(t, path, content)
		}
	}
	for _, row := range []struct {
		title string
		last  string // in force at the start, "" = nothing
		steps []step
	}{
		{"a good file is reported once", "", []step{{naming("a"), "", "good: a"}, {"", "", ""},
			{naming("a") + " ", "", "good: a"}, {naming("b"), "", "good: b"}}},
		{"what is in force already is not news", naming("a"), []step{{naming("a"), "", ""}, {naming("b"), "", "good: b"},
			{naming("a"), "", "good: a"}}},
		{"what is in force may be news by its bytes", naming("b"), []step{{naming("a"), "", "good: a"}}},
		{"a broken file is reported when it stays so", "", []step{{`{"x`, "", "broken: this text never ends"}, {"", "", ""},
			{naming("a"), "", "good: a"}}},
		{"one that is still being written is not", "", []step{{`{"x`, `{"y": `, ""},
			{"", "", "broken: the text ends where a value is expected"}}},
		{"one that is whole a little later is good", "", []step{{`{"x`, naming("a"), "good: a"}, {"", "", ""}}},
		{"two ways to be broken in a row", "", []step{{`{"x`, "", "broken: this text never ends"},
			{`[`, "", "broken: this [ is never closed"}}},
		{"broken and mended to what was in force", naming("a"), []step{{naming("a"), "", ""},
			{`{"x`, "", "broken: this text never ends"}, {naming("a"), "", "good: a"}}},
		{"it goes and comes back", "", []step{{naming("a"), "", "good: a"}, {"-", "", "broken: no such file or directory"},
			{"", "", ""}, {naming("a"), "", "good: a"}}},
		{"it is gone for a moment", "", []step{{naming("a"), "", "good: a"}, {"-", naming("a"), ""},
			{"-", naming("b"), "good: b"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			_ = os.Remove(path)
			l := newLooker(Files{User: path})
			if row.last != "" {
				c, err := Parse(path, []byte(row.last))
				must(t, err)
				l.last = c
			}
			for i, s := range row.steps {
				l.told = nil
				put(s.write)
				done := make(chan struct{})
				go func() {
					defer close(done)
					l.look(t.Context())
				}()
				synctest.Wait() // it waits to look again, or it is done
				put(s.meanwhile)
				<-done
				if got := strings.Join(l.told, ", "); got != s.want {
					t.Errorf("%s, step %d: reported %q, want %q", row.title, i+1, got, s.want)
				}
				if stale := l.Stale(); s.want != "" && (stale != nil) != strings.HasPrefix(s.want, "broken") {
					t.Errorf("%s, step %d: stale is %v", row.title, i+1, stale)
				}
			}
		})
	}
}

// TestFoldersOnTheWayAreWatched: the file's own and those that links lead through, of which one may be another
// by its other name.
func TestFoldersOnTheWayAreWatched(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, folder := range []string{"conf", "..v1", "real", "elsewhere"} {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	write(t, at("elsewhere", "c.json"), `{}`)
	must(t, os.Symlink(at("elsewhere"), at("real", "through")))
	must(t, os.Symlink(filepath.Join("..", "real", "through", "c.json"), at("conf", "c.json")))
	l := newLooker(Files{User: at("conf", "c.json"), Project: at("conf", "none.json")})
	if l.notify, err = fsnotify.NewWatcher(); err != nil {
		t.Skipf("the system cannot notify of changes: %v", err)
	}
	defer l.notify.Close()
	l.watchFolders()
	watched := slices.Sorted(slices.Values(l.notify.WatchList()))
	if want := []string{at("conf"), at("real", "through")}; !slices.Equal(watched, want) {
		t.Errorf("watched: %q, want %q", watched, want)
	}
	links := slices.Sorted(maps.Keys(l.links))
	if want := []string{at("conf", "c.json"), at("conf", "none.json"), at("elsewhere", "c.json")}; !slices.Equal(links,
		want) {
		t.Errorf("names that matter: %q, want %q", links, want)
	}
	for name, want := range map[string]bool{
		// by its name
		at("conf", "c.json"): true, at("conf", "none.json"): true, at("elsewhere", "c.json"): true,
		at("anywhere", "c.json"): true,
		at("conf", "..data"):     true, at("conf", "other.json"): false, at("conf", "c.json.swp"): false,
	} {
		if l.concerns(name) != want {
			t.Errorf("a change of %s concerns us: %t", name, !want)
		}
	}
}

// A logged is a log of how often something was said.
type logged struct{ n int }

func (l *logged) Write(p []byte) (int, error) { l.n++; return len(p), nil }

func TestFoldersThatCannotBeWatchedAreSaidOnce(t *testing.T) {
	var said logged
	l := newLooker(Files{})
	l.o.Log = slog.New(slog.NewTextHandler(&said, nil))
	var err error
	if l.notify, err = fsnotify.NewWatcher(); err != nil {
		t.Skipf("the system cannot notify of changes: %v", err)
	}
	l.addFolder(filepath.Join(t.TempDir(), "gone"))
	if said.n != 0 {
		t.Error("a folder that is not there yet is warned about")
	}
	l.addFolder(t.TempDir())
	if said.n != 0 {
		t.Error("a folder that is watched is warned about")
	}
	must(t, l.notify.Close())
	if err := l.notify.Add(t.TempDir()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a closed watcher takes folders: %v", err)
	}
	l.addFolder(t.TempDir())
	l.addFolder(t.TempDir())
	if said.n != 1 {
		t.Errorf("it is said %d times", said.n)
	}
}
