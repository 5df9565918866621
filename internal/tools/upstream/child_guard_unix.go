//go:build unix

package upstream

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// guardScript waits for the end of its input, which is the end of this process,
// whatever caused it, and then ends the process groups of its list. The
// kernel's parent-death signal reaches only the process that we started
// ourselves; a server behind npx or a shell would survive.
const guardScript = `
trap '' HUP INT TERM PIPE
all=" "
while read -r what pid; do
	case $what in
	+) all="$all$pid " ;;
	-) case $all in *" $pid "*) all="${all%%" $pid "*} ${all#*" $pid "}" ;; esac ;;
	esac
done
for pid in $all; do kill -TERM "-$pid" 2>/dev/null; done
[ "$all" = " " ] || sleep 2
for pid in $all; do kill -KILL "-$pid" 2>/dev/null; done
for stray in $(grep -lzs "^$1\." /proc/[0-9]*/environ); do
	pid=${stray#/proc/}
	kill -KILL "${pid%/environ}" 2>/dev/null
done
`

// A guard is a shell that outlives us just long enough to end our children.
// Without a shell on the machine there is none.
type guard struct {
	mark string // prefix of the marks of all children

	mu    sync.Mutex
	cmd   *exec.Cmd
	pipe  *os.File
	pids  map[int]bool
	marks int
}

func newGuard() *guard { return &guard{mark: rand.Text(), pids: map[int]bool{}} }

// newMark returns the mark of the next child and its descendants.
func (g *guard) newMark() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.marks++
	return fmt.Sprintf("%s.%d", g.mark, g.marks)
}

func (g *guard) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids[pid] = true
	if g.pipe != nil {
		if _, err := fmt.Fprintf(g.pipe, "+ %d\n", pid); err == nil {
			return
		}
		g.end() // somebody killed it: start another one
	}
	if g.start() != nil {
		return
	}
	for pid := range g.pids {
		if _, err := fmt.Fprintf(g.pipe, "+ %d\n", pid); err != nil {
			return
		}
	}
}

func (g *guard) remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
	if g.pipe != nil {
		_, _ = fmt.Fprintf(g.pipe, "- %d\n", pid) // a dead guard needs no message
	}
}

func (g *guard) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", guardScript, "sh", servers.ChildVariable + "=" + g.mark},
		Env: []string{"PATH=/usr/bin:/bin"}, Stdin: r,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // away from a terminal's Ctrl-C
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	g.cmd, g.pipe = cmd, w
	return nil
}

func (g *guard) end() {
	if g.pipe != nil {
		g.pipe.Close()
		_ = g.cmd.Wait()
		g.cmd, g.pipe = nil, nil
	}
}

// close ends the guard and returns when it is gone.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}
