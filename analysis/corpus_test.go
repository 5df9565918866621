package analysis_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The settings of TestCorpus. Each is an environment variable.
const (
	corpusDir     = "CODEMODE_CORPUS"         // a folder of programs; without it the test is skipped
	corpusDigests = "CODEMODE_CORPUS_DIGESTS" // the file to write, of one line for each program
	corpusBefore  = "CODEMODE_CORPUS_BEFORE"  // such a file of another build, to compare with
	corpusHere    = "CODEMODE_CORPUS_HERE"    // set: without workers, within the bound of Compile
	corpusReader  = "CODEMODE_CORPUS_READER"  // set in the process that reads
)

// corpusWait is how long one program may take before the process that reads it
// is stopped; what takes longer than corpusSlow is listed.
const (
	corpusWait = 30 * time.Second
	corpusSlow = 3 * time.Second
)

// TestCorpus reads every file of a folder and prints what became of them, so
// that two builds can be compared. A process of its own does the reading: a
// text that ends it, or that takes too long, is counted and the rest goes on.
//
//	export CODEMODE_CORPUS=folder CODEMODE_CORPUS_DIGESTS=after CODEMODE_CORPUS_BEFORE=before
//	go test ./analysis -run TestCorpus -v -timeout 1h
func TestCorpus(t *testing.T) {
	dir := os.Getenv(corpusDir)
	if dir == "" {
		t.Skip("it reads the programs of a folder: " + corpusDir + "=folder")
	}
	if os.Getenv(corpusReader) != "" {
		readCorpus(dir)
		os.Exit(0)
	}
	entries, err := os.ReadDir(dir)
	checktest.OK(t, err)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has no files", dir)
	}
	readings := readAll(t, names)
	printReadings(t, readings)
	if path := os.Getenv(corpusDigests); path != "" {
		var b strings.Builder
		for _, r := range readings {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", r.Name, r.Kind, r.Digest)
		}
		checktest.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	if path := os.Getenv(corpusBefore); path != "" {
		compareReadings(t, readings, path)
	}
}

// A reading is what became of one program. It is also a line of the process that reads.
type reading struct {
	Name   string
	Kind   string // read, problem, unread, crash or timeout
	Digest string // of all that Compile returned
	Took   time.Duration
}

// readCorpus reads the programs that standard input names, one a line.
func readCorpus(dir string) {
	out := json.NewEncoder(os.Stdout)
	var reader analysis.Reader
	if os.Getenv(corpusHere) == "" {
		reader.Workers = analysis.NewWorkers(nil, os.Args[0], "read-programs")
		defer reader.Workers.Close()
	}
	for names := bufio.NewScanner(os.Stdin); names.Scan(); {
		text, err := os.ReadFile(filepath.Join(dir, names.Text()))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		start := time.Now()
		p, problems, err := reader.Compile(context.Background(), "", string(text))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		r := reading{Name: names.Text(), Kind: "read", Took: time.Since(start)}
		switch {
		case p == nil:
			r.Kind = "problem"
		case p.Unread:
			r.Kind = "unread"
		}
		r.Digest = digest(p, problems)
		_ = out.Encode(r)
	}
}

// digest covers all that Compile returned, and where some places of the
// JavaScript come from.
func digest(p *analysis.Program, problems []analysis.Problem) string {
	h := sha256.New()
	out := json.NewEncoder(h)
	_ = out.Encode(problems)
	for _, problem := range problems {
		fmt.Fprintln(h, problem)
	}
	if p != nil {
		_ = out.Encode(p)
		lines := strings.Split(p.JS, "\n")
		const places = 16
		for i := range places {
			line := i * len(lines) / places
			for j := range places {
				fmt.Fprintln(h, fmt.Sprint(p.Lookup(line+1, j*len(lines[line])/places+1)))
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// readAll has all programs read; a process that ends or hangs is replaced.
func readAll(t *testing.T, names []string) []reading {
	var all []reading
	for len(names) > 0 {
		done, how := readSome(t, names)
		all = append(all, done...)
		names = names[len(done):]
		if len(names) > 0 {
			all = append(all, reading{Name: names[0], Kind: how, Took: corpusWait})
			names = names[1:]
		}
	}
	return all
}

// readSome returns what one process read, and how it ended.
func readSome(t *testing.T, names []string) (done []reading, how string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestCorpus$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), corpusReader+"=1")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	stdout, err := cmd.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, cmd.Start())
	how = "crash"
	stop := time.AfterFunc(corpusWait, func() { how = "timeout"; cmd.Process.Kill() })
	lines := json.NewDecoder(stdout)
	for {
		var r reading
		if err := lines.Decode(&r); err != nil {
			break
		}
		done = append(done, r)
		stop.Reset(corpusWait)
	}
	stop.Stop()
	_, _ = io.Copy(io.Discard, stdout)
	_ = cmd.Wait()
	return done, how
}

func printReadings(t *testing.T, all []reading) {
	kinds := map[string][]reading{}
	var total time.Duration
	for _, r := range all {
		kinds[r.Kind] = append(kinds[r.Kind], r)
		total += r.Took
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b reading) int { return cmp.Compare(a.Took, b.Took) })
	t.Logf("%d programs in %v; half of them within %v, 99 of 100 within %v, all within %v",
		len(all), total.Round(time.Millisecond),
		sorted[len(all)/2].Took, sorted[len(all)*99/100].Took, sorted[len(all)-1].Took)
	for _, kind := range []string{"read", "problem", "unread", "crash", "timeout"} {
		t.Logf("%-8s %6d  %6.2f %%", kind, len(kinds[kind]), 100*float64(len(kinds[kind]))/float64(len(all)))
	}
	for _, r := range all {
		if r.Took > corpusSlow || r.Kind == "crash" {
			t.Logf("%s: %s after %v", r.Name, r.Kind, r.Took.Round(time.Millisecond))
		}
	}
}

// compareReadings says what another build made otherwise. What that one could
// not read is no difference.
func compareReadings(t *testing.T, all []reading, path string) {
	text, err := os.ReadFile(path)
	checktest.OK(t, err)
	before := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		before[name] = rest
	}
	same, other := 0, map[string]int{}
	for _, r := range all {
		was, ok := before[r.Name]
		if !ok {
			other["new"]++
			continue
		}
		kind, _, _ := strings.Cut(was, "\t")
		if is := r.Kind + "\t" + r.Digest; is == was {
			same++
		} else {
			other[kind+" -> "+r.Kind]++
			t.Logf("%s: %s -> %s", r.Name, kind, r.Kind)
		}
	}
	t.Logf("as before: %d of %d; others: %s", same, len(all), strings.TrimPrefix(fmt.Sprint(other), "map"))
}
