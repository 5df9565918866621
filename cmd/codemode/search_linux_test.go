package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The settings of the search. Each is an environment variable.
const (
	searchFor   = "CODEMODE_SEARCH"          // how long, as 1h; without it only a few texts are tried
	searchSeed  = "CODEMODE_SEARCH_SEED"     // a number; without it the time, which is printed
	searchIn    = "CODEMODE_SEARCH_PROGRAMS" // a folder of programs to mutate; without it testdata
	searchFinds = "CODEMODE_SEARCH_FINDS"    // a folder for what was found; without it a temporary one
)

// What one text may cost the server and the processes below it.
const (
	searchCPU     = 3 * time.Second  // of processor time; a run has searchRun more
	searchRun     = time.Second      // the limit of a run
	searchMemory  = 256 << 20        // bytes above what they have at rest
	searchTooMuch = 3 << 30          // bytes above that, where it is stopped
	searchSilent  = 90 * time.Second // without an answer; the machine may be busy
	searchAsks    = 25               // to make one find smaller
	searchSmall   = 4                // finds of each kind that each worker makes smaller
)

// TestSearch sends hostile texts to the whole program, over stdio and over
// HTTP, and fails if one of them ends it, keeps it busy, takes its memory, or
// keeps it from answering the next request. What it finds is written to files.
//
//	CODEMODE_LONG=1 CODEMODE_SEARCH=1h go test ./cmd/codemode -run TestSearch -v -timeout 2h
func TestSearch(t *testing.T) {
	if hostile.Raced() {
		t.Skip("with the race detector everything takes many times as long")
	}
	programs := searchPrograms(t)
	if os.Getenv("CODEMODE_LONG") == "" || os.Getenv(searchFor) == "" {
		s := newHunt(t, programs, 1, 16<<10)
		w := s.worker(0)
		defer w.stop()
		for _, c := range hostile.Cases() {
			if strings.HasSuffix(c.Name, ", then parentheses") {
				w.try(c.Text)
			}
		}
		for range 40 {
			w.try(w.texts.Next())
		}
		s.report(t)
		return
	}
	length, err := time.ParseDuration(os.Getenv(searchFor))
	if err != nil {
		t.Fatalf("%s: %v", searchFor, err)
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(searchSeed); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", searchSeed, err)
		}
	}
	s := newHunt(t, programs, seed, hostile.Most)
	end := time.Now().Add(length)
	var workers sync.WaitGroup
	for number := range 2 {
		workers.Go(func() {
			w := s.worker(number)
			defer w.stop()
			if number == 0 {
				for _, c := range hostile.Cases() {
					if time.Now().After(end) {
						break
					}
					w.try(c.Text)
				}
			}
			for time.Now().Before(end) && w.broken == nil {
				w.try(w.texts.Next())
			}
			if w.broken != nil {
				t.Error(w.broken)
			}
		})
	}
	workers.Wait()
	s.report(t)
}

// searchPrograms reads the programs to mutate, at most 5,000.
func searchPrograms(t *testing.T) []string {
	dir := os.Getenv(searchIn)
	if dir == "" {
		dir = "../../testdata"
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".js", ".ts"}, filepath.Ext(path)) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no programs: %v", dir, err)
	}
	const most = 5000
	var programs []string
	for i := 0; i < len(paths); i += 1 + len(paths)/most {
		text, err := os.ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, string(text))
	}
	return programs
}

// A hunt is one run of TestSearch.
type hunt struct {
	dir      string // of the finds
	config   string
	programs []string
	seed     uint64
	most     int
	started  time.Time
	command  func(args ...string) *exec.Cmd

	mu    sync.Mutex
	texts int
	finds []searchFind
}

// A searchFind is a text that did what none may.
type searchFind struct {
	Kind    string
	Detail  string
	Over    string // stdio or HTTP, and the version of the protocol
	Tool    string
	Seed    uint64
	Number  int // of the text, in its worker
	Size    int
	Text    hostile.Text
	Smaller hostile.Text `json:",omitempty"`
}

func newHunt(t *testing.T, programs []string, seed uint64, most int) *hunt {
	s := &hunt{dir: os.Getenv(searchFinds), programs: programs, seed: seed, most: most, started: time.Now()}
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.config = write(t, filepath.Join(t.TempDir(), "codemode.json"), `{
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"limits": {"cpu": "`+searchRun.String()+`"}}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}]}}`)
	home := t.TempDir()
	s.command = func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asCommand+"=codemode", "ANNA="+searchToken, "CODEMODE_CONFIG=",
			"HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir())
		return cmd
	}
	t.Logf("%s=%d", searchSeed, seed)
	return s
}

const searchToken = "the-token-of-the-search"

// worker returns a worker; its texts follow from the seed and its number. The
// even ones talk over stdio, the others over HTTP.
func (s *hunt) worker(number int) *searcher {
	return &searcher{hunt: s, number: number, small: map[string]int{},
		texts: hostile.Generator{Random: rand.New(rand.NewPCG(s.seed, uint64(number))), Programs: s.programs, Most: s.most}}
}

func (s *hunt) report(t *testing.T) {
	took := time.Since(s.started)
	t.Logf("%d texts in %v, %.0f a minute", s.texts, took.Round(time.Second), float64(s.texts)/took.Minutes())
	kinds := map[string]int{}
	for _, f := range s.finds {
		kinds[f.Kind]++
		if len(s.finds) < 20 || len(f.Smaller) > 0 {
			small := f.Smaller
			if small == nil {
				small = f.Text
			}
			parts, _ := json.Marshal(small)
			t.Logf("%s over %s (%s): %.400s", f.Kind, f.Over, f.Detail, parts)
		}
	}
	if len(s.finds) > 0 {
		perMinute := float64(len(s.finds)) / took.Minutes()
		t.Errorf("%d finds, %.1f a minute: %v; they are in %s", len(s.finds), perMinute, kinds, s.dir)
	}
}

// A searcher sends texts to a server of its own.
type searcher struct {
	*hunt
	number int
	texts  hostile.Generator
	sent   int
	small  map[string]int
	broken error // the server cannot be started

	cmd     *exec.Cmd
	ended   chan struct{}    // closed when the process is gone
	state   *os.ProcessState // after that
	session *mcp.ClientSession
	over    string
	rest    int64 // bytes of memory after the warm-up
	starts  int
}

// try sends a text and records what it did. The server is new afterwards if it
// did anything.
func (w *searcher) try(t hostile.Text) {
	if w.broken != nil {
		return
	}
	w.sent++
	tool := "codemode_check"
	if w.sent%4 == 0 {
		tool = "codemode_eval"
	}
	kind, detail := w.send(tool, t.String())
	w.mu.Lock()
	w.hunt.texts++
	w.mu.Unlock()
	if kind == "" || w.broken != nil {
		return
	}
	f := searchFind{Kind: kind, Detail: detail, Over: w.over, Tool: tool, Seed: w.seed, Number: w.sent}
	f.Text, f.Size = t, len(t.String())
	if w.small[kind]++; w.small[kind] <= searchSmall {
		f.Smaller = hostile.Smaller(t, searchAsks, func(t hostile.Text) bool {
			again, _ := w.send(tool, t.String())
			return again == kind
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finds = append(w.finds, f)
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		name := fmt.Sprintf("%s-%d-%d-%05d", kind, w.seed, w.number, w.sent)
		err = errors.Join(os.WriteFile(filepath.Join(w.dir, name+".json"), text, 0o600),
			os.WriteFile(filepath.Join(w.dir, name+".txt"), []byte(t.String()), 0o600))
	}
	if err != nil {
		w.broken = err
	}
}

// send has a server read a text, and says what became of it: "" is what should.
func (w *searcher) send(tool, text string) (kind, detail string) {
	if w.session == nil {
		if w.broken = w.start(); w.broken != nil {
			w.stop()
			return "", ""
		}
	}
	limit := searchCPU
	if tool == "codemode_eval" {
		limit += searchRun
	}
	_, kind, detail = w.ask(tool, text, limit)
	if kind == "" {
		var answer string
		if answer, kind, detail = w.ask("codemode_eval", "return 1", limit); kind == "" && !strings.HasPrefix(answer, "1") {
			kind, detail = "deaf", answer
		} else if kind != "" {
			kind = "deaf"
		}
	}
	if kind != "" {
		w.stop()
	}
	return kind, detail
}

// ask makes one request and watches what it costs.
func (w *searcher) ask(tool, text string, limit time.Duration) (answer, kind, detail string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	before, _ := costs(w.cmd.Process.Pid)
	begun := time.Now()
	go func() {
		arguments := map[string]any{"code": strings.ToValidUTF8(text, "\ufffd")}
		r, err := w.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			replies <- reply{err: err}
			return
		}
		if c, ok := r.Content[0].(*mcp.TextContent); ok {
			answer = c.Text
		}
		replies <- reply{text: answer}
	}()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var peak int64
	for {
		var r reply
		answered := false
		select {
		case <-w.ended:
			return "", "dead", w.state.String()
		case r = <-replies:
			answered = true
		case <-tick.C:
		}
		now, memory := costs(w.cmd.Process.Pid)
		peak = max(peak, memory)
		cpu := now - before
		switch {
		case answered && r.err != nil:
			select {
			case <-w.ended:
				return "", "dead", w.state.String()
			case <-time.After(2 * time.Second):
			}
			return "", "failed", r.err.Error()
		case cpu > limit:
			return "", "busy", fmt.Sprintf("%v of processor time, answered: %v", cpu, answered)
		case peak-w.rest > searchMemory && (answered || peak-w.rest > searchTooMuch):
			return "", "memory", fmt.Sprintf("%d MiB over %d MiB at rest", (peak-w.rest)>>20, w.rest>>20)
		case answered:
			return r.text, "", ""
		case time.Since(begun) > searchSilent:
			return "", "silent", fmt.Sprintf("no answer in %v, %v of processor time", searchSilent, cpu)
		}
	}
}

// start starts a server and connects to it; each time with the other
// generation of the protocol.
func (w *searcher) start() error {
	version := []string{"2025-11-25", "2026-07-28"}[w.starts%2]
	w.starts++
	var transport mcp.Transport
	client := mcp.NewClient(&mcp.Implementation{Name: "searcher", Version: "1"}, nil)
	log := &screen{}
	if w.number%2 == 0 {
		w.over = "stdio " + version
		w.cmd = w.command("serve", "--project", "none", "--config", w.config)
		stdin, err := w.cmd.StdinPipe()
		if err != nil {
			return err
		}
		stdout, err := w.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		transport = &mcp.IOTransport{Reader: stdout, Writer: stdin}
	} else {
		w.over = "HTTP " + version
		w.cmd = w.command("serve", "--http", "0", "--project", "none", "--config", w.config)
		w.cmd.Stderr = log
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	w.ended = make(chan struct{})
	go func(process *os.Process, ended chan struct{}) {
		w.state, _ = process.Wait() // not cmd.Wait, which would close the pipes under the client
		close(ended)
	}(w.cmd.Process, w.ended)
	if transport == nil {
		var found []string
		if !testwait.Holds(func() bool { found = listeningAt.FindStringSubmatch(log.String()); return found != nil }) {
			return fmt.Errorf("it does not listen:\n%s", log)
		}
		web := mcptest.Bearer(searchToken)
		transport = &mcp.StreamableClientTransport{Endpoint: found[1], HTTPClient: web, MaxRetries: -1}
	}
	ctx, cancel := context.WithTimeout(context.Background(), searchSilent)
	defer cancel()
	var err error
	if w.session, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		return fmt.Errorf("connecting: %w\n%s", err, log)
	}
	for range 3 { // the warm-up
		for _, tool := range []string{"codemode_check", "codemode_eval"} {
			if _, kind, detail := w.ask(tool, "return 1", searchSilent); kind != "" {
				return fmt.Errorf("%s of return 1: %s, %s", tool, kind, detail)
			}
		}
	}
	_, w.rest = costs(w.cmd.Process.Pid)
	return nil
}

// stop ends the server without asking, and what it started with it.
func (w *searcher) stop() {
	if w.cmd == nil || w.cmd.Process == nil {
		return
	}
	for _, pid := range append(below(processes(), w.cmd.Process.Pid), w.cmd.Process.Pid) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	<-w.ended
	if w.session != nil {
		w.session.Close()
	}
	w.session, w.cmd = nil, nil
}

// costs returns the processor time of a process and all below it, those that
// have ended included, and the memory that they hold now.
func costs(pid int) (cpu time.Duration, memory int64) {
	stats := processes()
	for _, id := range append(below(stats, pid), pid) {
		cpu += stats[id].cpu
		memory += stats[id].memory
	}
	return cpu, memory
}

// A stat is what the system knows of a process.
type stat struct {
	parent int
	cpu    time.Duration // with that of its children that have ended
	memory int64         // bytes
}

// processes returns all processes by their id.
func processes() map[int]stat {
	all := map[int]stat{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		number := func(i int) int64 { n, _ := strconv.ParseInt(fields[i], 10, 64); return n }
		const parent, firstTime, lastTime, resident = 1, 11, 14, 21 // behind the name: ppid, utime to cstime, rss
		s := stat{parent: int(number(parent)), memory: number(resident) * int64(os.Getpagesize())}
		for i := firstTime; i <= lastTime; i++ {
			s.cpu += time.Duration(number(i)) * (time.Second / 100)
		}
		all[id] = s
	}
	return all
}

// below returns the processes that a process started, and those that they did.
func below(all map[int]stat, pid int) []int {
	var found []int
	for id, s := range all {
		if s.parent == pid {
			found = append(append(found, id), below(all, id)...)
		}
	}
	return found
}
