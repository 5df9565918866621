package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// alive reports whether the process runs; a zombie does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// tricky are servers that do not go by themselves, each with the file into
// which it, or what it started, writes its process id.
func tricky(t testing.TB, dir string) (servers []upstream.Server, files []string) {
	for i, mode := range []string{"stubborn", "has a grandchild", "plain", "has a daemon"} {
		s := fakeServer(t, mode, mode)
		pidFile := filepath.Join(dir, fmt.Sprintf("pid%d", i))
		files = append(files, pidFile)
		switch mode {
		case "has a grandchild":
			s.Env["CODEMODE_FAKE_ARG"] = pidFile
		case "has a daemon": // which has left the process group, and closed what it had
			s.Args = []string{"-c", `setsid sh -c 'echo $$ > "$0"; exec sleep 600' "$0" <&- >&- 2>&- & exec "$1"`, pidFile,
				s.Command}
			s.Command = "/bin/sh"
		default: // behind two shells, as npx puts it
			s.Args = []string{"-c", `sh -c 'echo $$ > "$0"; exec "$1"' "$0" "$1"; true`, pidFile, s.Command}
			s.Command = "/bin/sh"
		}
		servers = append(servers, s)
	}
	return servers, files
}

func pids(t testing.TB, files []string) []int {
	t.Helper()
	var out []int
	for _, f := range files {
		var pid int
		eventually(t, "a process writes "+filepath.Base(f), func() bool {
			b, _ := os.ReadFile(f)
			n, err := strconv.Atoi(strings.TrimSpace(string(b)))
			pid = n
			return err == nil
		})
		out = append(out, pid)
	}
	return out
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	t.Parallel()
	servers, files := tricky(t, t.TempDir())
	m := upstream.NewManager(upstream.Options{})
	m.Set(servers)
	checktest.OK(t, m.Ready(t.Context()))
	running := pids(t, files)
	for _, pid := range running {
		if !alive(pid) {
			t.Errorf("process %d does not even run", pid)
		}
	}
	checktest.OK(t, m.Close(context.Background()))
	for i, pid := range running {
		if alive(pid) {
			t.Errorf("%s: process %d is left", servers[i].Name, pid)
		}
	}
	if err := m.Close(context.Background()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestCloseInAHurry(t *testing.T) {
	t.Parallel()
	servers, files := tricky(t, t.TempDir())
	m := upstream.NewManager(upstream.Options{})
	m.Set(servers)
	checktest.OK(t, m.Ready(t.Context()))
	running := pids(t, files)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := m.Close(ctx); err == nil {
		t.Error("Close does not tell that it had to kill")
	}
	for _, pid := range running {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// beParent is what the test binary does as a process of its own, so that it
// can be killed; TestMain calls it.
func beParent() {
	if list := os.Getenv("CODEMODE_TEST_PARENT"); list != "" {
		var servers []upstream.Server
		if err := json.Unmarshal([]byte(list), &servers); err != nil {
			panic(err)
		}
		m := upstream.NewManager(upstream.Options{})
		m.Set(servers)
		if err := m.Ready(context.Background()); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		select {}
	}
}

func TestNothingIsLeftWhenWeAreKilled(t *testing.T) {
	t.Parallel()
	servers, files := tricky(t, t.TempDir())
	list, err := json.Marshal(servers)
	checktest.OK(t, err)
	parent := exec.Command(servers[1].Command)
	parent.Env = append(os.Environ(), "CODEMODE_TEST_PARENT="+string(list))
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, parent.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the parent says %q, %v", line, err)
	}
	running := pids(t, files)
	for _, pid := range running {
		if !alive(pid) {
			t.Errorf("process %d does not even run", pid)
		}
	}
	checktest.OK(t, parent.Process.Signal(syscall.SIGKILL))
	_ = parent.Wait() // killed, as it should be
	for i, pid := range running {
		if !testwait.Holds(func() bool { return !alive(pid) }) {
			t.Errorf("%s: process %d is left long after its parent was killed", servers[i].Name, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
