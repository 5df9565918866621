package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// residentOfAll is the memory of a process and of all that it started, in MiB, and how many processes that are. Pages that
// several of them have count once for each.
func residentOfAll(t *testing.T, pid int) (mib float64, processes int) {
	t.Helper()
	parents, sizes := map[int]int{}, map[int]float64{}
	folders, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	number := func(text []byte, name string) int {
		found := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+)`).FindSubmatch(text)
		if found == nil {
			return 0
		}
		n, _ := strconv.Atoi(string(found[1]))
		return n
	}
	for _, path := range folders {
		if text, err := os.ReadFile(path); err == nil { // else it has ended meanwhile
			one := number(text, "Pid")
			parents[one], sizes[one] = number(text, "PPid"), float64(number(text, "VmRSS"))/1024
		}
	}
	for one := range sizes {
		for at := one; at != 0; at = parents[at] {
			if at == pid {
				mib += sizes[one]
				processes++
				break
			}
		}
	}
	return mib, processes
}

// TestWhatAServiceNeeds measures the memory of a service for the table in docs/deploying.md: make sizing. It holds that
// all runs wait at once, and nothing of the figures, which depend on the machine.
func TestWhatAServiceNeeds(t *testing.T) {
	if os.Getenv("CODEMODE_SIZING") == "" {
		t.Skip("a measurement and no test: make sizing")
	}
	binary := codemodeBinary(t)
	for _, store := range []string{"SQLite", "PostgreSQL"} {
		for _, waiting := range []int{100} {
			more := ""
			if store == "PostgreSQL" {
				more = fmt.Sprintf(`"store": %q,`, pgtest.Start(t).URL(fmt.Sprintf("sizing%d", waiting)))
			}
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{`+more+` "evaluation": {"profiles":
				{"p": {"asklist": ["time__*"]}}, "expose": ["p"]}, "builtin": {"time": true}}`)
			cmd := command(t, "serve", "--http", "0", "--diagnostics", "127.0.0.1:0", "--project", "none", "--config", config,
				"--state", t.TempDir())
			cmd.Path = binary
			s := startServing(t, cmd)
			at := diagnosticsAt.FindStringSubmatch(s.log.String())
			idle, processes := residentOfAll(t, s.cmd.Process.Pid)
			t.Logf("%s: idle: %.0f MiB in %d processes", store, idle, processes)
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for i := range 10 {
				client, err := s.connect("2025-11-25", "", &mcp.ClientOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for range waiting / 10 {
					all.Go(func() {
						_, _ = client.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval_p", // stopped below
							Arguments: map[string]any{"code": fmt.Sprintf("const kept = %d; return await codemode.time__now({})", i)}})
					})
				}
			}
			began := time.Now()
			var figures string
			if !testwait.Holds(func() bool {
				_, figures = fetch(t, at[1]+"/metrics")
				found := regexp.MustCompile(`(?m)^codemode_asks_open (\d+)`).FindStringSubmatch(figures)
				return found != nil && found[1] == strconv.Itoa(waiting)
			}) {
				t.Fatalf("%d programs do not wait:\n%s\n%s", waiting, figures, s.log)
			}
			took := time.Since(began)
			full, processes := residentOfAll(t, s.cmd.Process.Pid)
			t.Logf("%s: %d programs wait for people: %.0f MiB in %d processes, after %v", store, waiting, full, processes,
				took.Round(time.Millisecond))
			for line := range strings.Lines(figures) {
				if strings.HasPrefix(line, "codemode_runs{") || strings.HasPrefix(line, "process_resident_memory_bytes ") ||
					strings.HasPrefix(line, "process_open_fds ") || strings.HasPrefix(line, "codemode_budget_used{") &&
					strings.Contains(line, "waiting") {
					t.Logf("  %s", strings.TrimSpace(line))
				}
			}
			stop()
			all.Wait()
			s.end()
		}
	}
}
