package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
)

// seen records what a watcher reports.
type seen struct {
	mu      sync.Mutex
	configs []*Config
	errs    []error
	news    chan struct{}
}

func newSeen() *seen { return &seen{news: make(chan struct{}, 1000)} }

func (s *seen) changed(c *Config, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, err)
	} else {
		s.configs = append(s.configs, c)
	}
	s.news <- struct{}{}
}

func (s *seen) counts() (configs, errs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.configs), len(s.errs)
}

// version is a configuration that can be told from the others by the number of calls.
func version(n int) string {
	return fmt.Sprintf(`{"limits": {"calls": %d}, "evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["v%d__*"]}}}}`, n, n)
}

var write = checktest.Write

var must = checktest.OK

// watched starts a watcher on a file that holds version 1, and waits until it knows it.
func watched(t *testing.T, path string, o WatchOptions) (*Watcher, *seen) {
	t.Helper()
	s := newSeen()
	w, err := Watch(t.Context(), path, o, s.changed)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	<-s.news
	return w, s
}

// reloadWithin is how soon a change has to be visible. A machine that is busy with other
// things may take longer now and then, so single changes have patience.
const (
	reloadWithin = 2 * time.Second
	patience     = 15 * reloadWithin
)

// waitFor waits until the watcher holds that version.
func waitFor(t *testing.T, w *Watcher, s *seen, n int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		if c := w.Config(); c != nil && c.Limits.Calls == n && w.Stale() == nil {
			return
		}
		select {
		case <-s.news:
		case <-deadline:
			c := w.Config()
			t.Fatalf("version %d is not visible after %s: got %+v, stale %v", n, patience, c, w.Stale())
		}
	}
}

// savers are the ways in which programs save a file.
var savers = map[string]func(t testing.TB, path, content string){
	"writing over it": func(t testing.TB, path, content string) { write(t, path, content) },
	"a rename over it": func(t testing.TB, path, content string) {
		write(t, path+".tmp", content)
		must(t, os.Rename(path+".tmp", path))
	},
	"a backup and a new file, as vim does": func(t testing.TB, path, content string) {
		must(t, os.Rename(path, path+"~"))
		write(t, path, content)
		must(t, os.Remove(path+"~"))
	},
	"a temporary file of another name, as emacs does": func(t testing.TB, path, content string) {
		lock := filepath.Join(filepath.Dir(path), ".#"+filepath.Base(path))
		write(t, lock, "")
		write(t, path+"#", content)
		must(t, os.Rename(path+"#", path))
		must(t, os.Remove(lock))
	},
	"deleting and creating": func(t testing.TB, path, content string) {
		must(t, os.Remove(path))
		write(t, path, content)
	},
	"truncating, then writing in pieces": func(t testing.TB, path, content string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		must(t, err)
		for i := range len(content) {
			_, err = f.Write([]byte{content[i]})
			must(t, err)
		}
		must(t, f.Close())
	},
	"a symbolic link swapped for another": func(t testing.TB, path, content string) {
		target := path + ".one"
		if now, err := os.Readlink(path); err == nil && now == target {
			target = path + ".two"
		}
		write(t, target, content)
		must(t, os.Symlink(target, path+".link"))
		must(t, os.Rename(path+".link", path))
	},
	"a hard link put in its place": func(t testing.TB, path, content string) {
		write(t, path+".new", content)
		must(t, os.Remove(path))
		must(t, os.Link(path+".new", path))
		must(t, os.Remove(path+".new"))
	},
}

// TestWatchSavers is THREATS.md F16: whichever way a file is saved, the last content is
// the one in force, and nothing broken was ever in force.
func TestWatchSavers(t *testing.T) {
	for name, save := range savers {
		for _, mode := range []struct {
			name string
			o    WatchOptions
		}{
			{"notified", WatchOptions{Settle: 20 * time.Millisecond}},
			{"polled", WatchOptions{Settle: 20 * time.Millisecond, PollOnly: true, Poll: 20 * time.Millisecond}},
		} {
			t.Run(name+", "+mode.name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "codemode.json")
				write(t, path, version(1))
				w, s := watched(t, path, mode.o)
				var slowest time.Duration // on a busy machine a save may be interrupted for longer than files settle
				for n := 2; n < 8; n++ {
					began := time.Now()
					save(t, path, version(n))
					slowest = max(slowest, time.Since(began))
					waitFor(t, w, s, n)
				}
				if configs, errs := s.counts(); configs != 7 || errs != 0 && slowest < mode.o.Settle {
					t.Errorf("got %d configurations and %d errors, want 7 and 0: %v", configs, errs, s.errs)
				}
			})
		}
	}
}

// TestWatchConfigMap is THREATS.md F17: Kubernetes swaps a link two steps away and removes
// the folder it pointed to.
func TestWatchConfigMap(t *testing.T) {
	for _, o := range []WatchOptions{{Settle: 5 * time.Millisecond}, {Settle: 5 * time.Millisecond, PollOnly: true,
		Poll: 20 * time.Millisecond}} {
		t.Run(fmt.Sprintf("poll only %t", o.PollOnly), func(t *testing.T) {
			dir := t.TempDir()
			put := func(n int) {
				folder := fmt.Sprintf("..2026_%d", n)
				must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
				write(t, filepath.Join(dir, folder, "codemode.json"), version(n))
				must(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
				must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
				if n > 1 {
					must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_%d", n-1))))
				}
			}
			put(1)
			path := filepath.Join(dir, "codemode.json")
			must(t, os.Symlink("..data/codemode.json", path))
			w, s := watched(t, path, o)
			for n := 2; n < 8; n++ {
				put(n)
				waitFor(t, w, s, n)
			}
			if configs, errs := s.counts(); configs != 7 || errs != 0 {
				t.Errorf("got %d configurations and %d errors, want 7 and 0: %v", configs, errs, s.errs)
			}
		})
	}
}

func TestWatchFollowsLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, filepath.Join(elsewhere, "a.json"), version(1))
	write(t, filepath.Join(elsewhere, "b.json"), version(2))
	path := filepath.Join(dir, "codemode.json")
	must(t, os.Symlink(filepath.Join(elsewhere, "a.json"), path))
	w, s := watched(t, path, WatchOptions{Settle: 5 * time.Millisecond, Poll: time.Hour})
	swap := func(target string) {
		must(t, os.Symlink(target, path+".tmp"))
		must(t, os.Rename(path+".tmp", path))
	}
	swap(filepath.Join(elsewhere, "b.json"))
	waitFor(t, w, s, 2)
	write(t, filepath.Join(elsewhere, "b.json"), version(3)) // the target changes, not the link
	waitFor(t, w, s, 3)
}

// TestWatchKeepsTheLastGood is THREATS.md F15 and P10: whatever becomes of the file, what
// was good stays in force and the reason is told once.
func TestWatchKeepsTheLastGood(t *testing.T) {
	for _, row := range []struct {
		title, want string
		do          func(t *testing.T, path string)
	}{
		{"emptied", "there is nothing in it", func(t *testing.T, path string) { write(t, path, "") }},
		{"removed", "no such file", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"half written", "never closed", func(t *testing.T, path string) { write(t, path, version(2)[:40]) }},
		{"misspelt", `did you mean "denylist"?`, func(t *testing.T, path string) {
			write(t, path, `{"evaluation": {"profiles": {"p": {"denylst": []}}}}`)
		}},
		{"a folder", "is a folder", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t,
				os.Mkdir(path, 0o700))
		}},
		{"binary", "not text in UTF-8", func(t *testing.T, path string) { write(t, path, "\x7fELF\x00\x00\x00") }},
		{"UTF-16", "UTF-16", func(t *testing.T, path string) { write(t, path, "\xff\xfe{\x00}\x00") }},
		{"100 MB", "longer than 8 MiB", func(t *testing.T, path string) { must(t, os.Truncate(path, 100<<20)) }},
		{"a link to itself", "too many levels", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink(path, path))
		}},
		{"a link to a device", "is a device", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink("/dev/zero", path))
		}},
	} {
		t.Run(row.title, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "codemode.json")
			write(t, path, version(1))
			w, s := watched(t, path, WatchOptions{Settle: 5 * time.Millisecond, Poll: 20 * time.Millisecond})
			good := w.Config()
			row.do(t, path)
			select {
			case <-s.news:
			case <-time.After(patience):
				t.Fatal("nothing was reported")
			}
			time.Sleep(100 * time.Millisecond) // five polls, in which the same must not be reported again
			configs, errs := s.counts()
			if configs != 1 || errs != 1 || !contains(s.errs[0].Error(), row.want) {
				t.Errorf("got %d configurations and the errors %v, want one of each with %q", configs, s.errs, row.want)
			}
			if w.Config() != good || w.Stale() == nil {
				t.Errorf("the last good configuration is not in force, or not called stale")
			}
			must(t, os.RemoveAll(path))
			write(t, path, version(3))
			waitFor(t, w, s, 3)
		})
	}
}

// TestWatchPolls needs no notifications, and no real time.
func TestWatchPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codemode.json")
		write(t, path, version(1))
		last, err := Load(path)
		must(t, err)
		s := newSeen()
		w, err := Watch(t.Context(), path, WatchOptions{PollOnly: true, Last: last}, s.changed)
		must(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if configs, errs := s.counts(); configs != 0 || errs != 0 || w.Config() != last {
			t.Fatalf("got %d configurations and %d errors for a file that did not change", configs, errs)
		}
		write(t, path, version(2))
		time.Sleep(reloadWithin)
		synctest.Wait()
		if c := w.Config(); c.Limits.Calls != 2 {
			t.Errorf("a change is not visible after %s", reloadWithin)
		}
		write(t, path, version(1)[:20])
		time.Sleep(reloadWithin)
		synctest.Wait()
		if w.Stale() == nil || w.Config().Limits.Calls != 2 {
			t.Errorf("a broken file is not reported after %s, or in force", reloadWithin)
		}
		write(t, path, version(2)) // mended, to what is in force already
		time.Sleep(reloadWithin)
		synctest.Wait()
		if configs, errs := s.counts(); w.Stale() != nil || configs != 2 || errs != 1 {
			t.Errorf("a mended file is still stale (%v), or not told: %d configurations, %d errors", w.Stale(), configs, errs)
		}
		must(t, w.Close())
		must(t, w.Close())
		write(t, path, version(4))
		time.Sleep(reloadWithin)
		if w.Config().Limits.Calls == 4 {
			t.Error("a closed watcher still follows the file")
		}
	})
}

func TestWatchStartsWithoutAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codemode.json")
		s := newSeen()
		w, err := Watch(t.Context(), path, WatchOptions{PollOnly: true}, s.changed)
		must(t, err)
		defer w.Close()
		time.Sleep(reloadWithin)
		synctest.Wait()
		if configs, errs := s.counts(); configs != 0 || errs != 1 || !errors.Is(w.Stale(), os.ErrNotExist) ||
			w.Config() != nil {
			t.Fatalf("got %d configurations, %d errors, stale %v", configs, errs, w.Stale())
		}
		write(t, path, version(1))
		time.Sleep(reloadWithin)
		synctest.Wait()
		if w.Config() == nil || w.Config().Limits.Calls != 1 || w.Stale() != nil {
			t.Errorf("the file is not found once it is there: %v", w.Stale())
		}
	})
}

// TestWatchStorm is THREATS.md F20: many saves are few reloads, and the last one wins.
func TestWatchStorm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	write(t, path, version(1))
	w, s := watched(t, path, WatchOptions{Settle: 20 * time.Millisecond})
	const saves = 1000
	for n := 2; n <= saves; n++ {
		write(t, path+".tmp", version(n))
		must(t, os.Rename(path+".tmp", path))
	}
	waitFor(t, w, s, saves)
	if configs, errs := s.counts(); configs > saves/10 || errs != 0 {
		t.Errorf("got %d reloads and %d errors for %d saves", configs, errs, saves)
	}
}

// TestWatchHalfWritten is THREATS.md F14: a file that grows byte by byte, slower than it
// takes to settle, is never in force before it is whole.
func TestWatchHalfWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	write(t, path, version(1))
	w, s := watched(t, path, WatchOptions{Settle: 2 * time.Millisecond, Poll: 10 * time.Millisecond})
	content := version(2)
	for i := 0; i <= len(content); i += 7 {
		write(t, path, content[:min(i, len(content)-1)])
		time.Sleep(5 * time.Millisecond)
		if got := w.Config().Limits.Calls; got != 1 {
			t.Fatalf("version %d is in force after %d bytes", got, i)
		}
	}
	write(t, path, content)
	waitFor(t, w, s, 2)
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.json")
	write(t, long, "{}")
	must(t, os.Truncate(long, maxFile+1))
	for _, row := range []struct{ title, path, want string }{
		{"a folder", dir, "is a folder: name a plain file"},
		{"a device", "/dev/null", "is a device: name a plain file"},
		{"a file that is too long", long, "longer than 8 MiB: split it"},
		{"no file", filepath.Join(dir, "none.json"), "no such file"},
		{"an impossible path", "a\x00b", "invalid argument"},
	} {
		if _, err := Load(row.path); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.title, err, row.want)
		}
	}
	write(t, long, "{}"+strings.Repeat(" ", maxFile-2))
	if _, err := Load(long); err != nil {
		t.Errorf("a file of exactly the greatest length: %v", err)
	}
}

func TestWatchNeedsAFunction(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a watcher that tells nobody was started")
		}
	}()
	_, _ = Watch(t.Context(), "x", WatchOptions{}, nil)
}

// Config is the last good configuration, nil if there has not been one.
func (w *Watcher) Config() *Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Stale is why the current content of the file is not in force, nil if it is.
func (w *Watcher) Stale() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stale
}
