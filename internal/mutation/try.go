package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An outcome is what became of a mutant.
type outcome string

const (
	alive     outcome = "alive"
	killed    outcome = "killed"
	timedOut  outcome = "timed out" // or took more memory than the tests ever need
	unreached outcome = "unreached" // no test comes past it
)

// A test and how long it takes.
type test struct {
	name string
	took time.Duration
}

// A binary is the compiled tests with all mutants.
type binary struct {
	path, dir string
	args      []string
	sites     int
}

// quick is what a test may take to be tried before all others.
const quick = 60 * time.Millisecond

// reach runs every test alone, without a mistake, and notes which sites it comes past.
func (b *binary) reach(dir string, sites []*site) ([]*test, error) {
	cmd := exec.Command(b.path, "-test.list", ".")
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	var tests []*test
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		t := &test{name: name}
		seen := filepath.Join(dir, "seen")
		start := time.Now()
		text, code := b.run([]*test{t}, time.Hour, "MUTANT_SEEN="+seen)
		if t.took = time.Since(start); code != 0 {
			fmt.Fprintf(os.Stderr, "mutation: %s is left out: it fails without a mistake in the package:\n%s\n", name, text)
			continue
		}
		marks, err := os.ReadFile(seen)
		if err != nil || len(marks) != b.sites+1 {
			return nil, fmt.Errorf("%s did not say what it reached: %w", name, err)
		}
		tests = append(tests, t)
		for _, s := range sites {
			if mark := marks[s.id] - '0'; mark != 0 {
				s.reached = append(s.reached, t)
				s.sawTrue = s.sawTrue || mark&1 != 0
				s.sawFalse = s.sawFalse || mark&2 != 0
			}
		}
	}
	return tests, nil
}

// takeOver notes the mutants that an earlier run has killed. They are known by the line they are in, so that
// one whose line has changed is tried again.
func takeOver(earlier string, sites []*site) error {
	if earlier == "" {
		return nil
	}
	text, err := os.ReadFile(earlier)
	if err != nil {
		return err
	}
	type key struct{ file, what, text string }
	was := map[key][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		if len(cells) == 5 {
			file, _, _ := strings.Cut(cells[1], ":")
			was[key{file, cells[2], strings.TrimSpace(cells[4])}] = cells
		}
	}
	for _, s := range sites {
		cells := was[key{s.file, fmt.Sprintf("%s %d", s.kind, s.nth), s.text}]
		if cells != nil && (cells[0] == string(killed) || cells[0] == string(timedOut)) {
			s.outcome, s.killer = outcome(cells[0]), cells[3]
		}
	}
	return nil
}

// try finds out what becomes of each mutant.
func (b *binary) try(sites []*site, tests []*test, workers int, results string) error {
	var mu sync.Mutex
	var log *os.File
	if results != "" {
		var err error
		if log, err = os.Create(results); err != nil {
			return err
		}
		defer log.Close()
	}
	work := make(chan *site)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for s := range work {
				if s.outcome == "" {
					b.one(s)
				}
				mu.Lock()
				if log != nil {
					fmt.Fprintf(log, "%s\t%s:%d:%d\t%s %d\t%s\t%s\n", s.outcome, s.file, s.line, s.col, s.kind, s.nth, s.killer, s.text)
				}
				mu.Unlock()
			}
		})
	}
	for _, s := range sites {
		work <- s
	}
	close(work)
	wg.Wait()
	return nil
}

// one tries one mutant: the quick tests that reach it, then the others.
func (b *binary) one(s *site) {
	if len(s.reached) == 0 {
		s.outcome = unreached
		return
	}
	s.outcome = alive
	ordered := slices.SortedFunc(slices.Values(s.reached), func(x, y *test) int { return cmp.Compare(x.took, y.took) })
	at := slices.IndexFunc(ordered, func(t *test) bool { return t.took > quick })
	if at < 0 {
		at = len(ordered)
	}
	for _, some := range [][]*test{ordered[:at], ordered[at:]} {
		if len(some) == 0 {
			continue
		}
		limit := 10 * time.Second // what a busy machine may need for nothing
		for _, t := range some {
			limit += 10 * t.took
		}
		switch text, code := b.run(some, limit, "MUTANT="+strconv.Itoa(s.id)); code {
		case 0:
			continue
		case 3:
			s.outcome = timedOut
		default:
			s.outcome = killed
			if m := failed.FindStringSubmatch(text); m != nil {
				s.killer = m[1]
			}
		}
		return
	}
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs some tests and returns what they print and the exit code: 3 for those that do not end.
func (b *binary) run(tests []*test, limit time.Duration, env ...string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	args := append([]string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"}, b.args...)
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.dir
	cmd.Env = append(append(os.Environ(), "MUTANT_LIMIT="+limit.String()), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", 0
	case ctx.Err() != nil:
		return string(out), 3
	case errors.As(err, &exit):
		return string(out), exit.ExitCode()
	}
	return err.Error(), 1
}
