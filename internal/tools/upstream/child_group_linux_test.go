package upstream

import (
	"bufio"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/internal/checktest"
)

func TestAChildHasASessionOfItsOwn(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo; wait")
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, cmd.Start())
	defer func() {
		killGroup(cmd.Process.Pid)
		_ = cmd.Wait() // killed
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	members := 0
	for _, pid := range processes() {
		if group, err := unix.Getpgid(pid); err != nil || group != cmd.Process.Pid {
			continue
		}
		members++
		if session, err := unix.Getsid(pid); err != nil || session != cmd.Process.Pid {
			t.Errorf("process %d is in the session %d, %v; want its server's own", pid, session, err)
		}
	}
	if members != 2 {
		t.Errorf("%d processes are in the group, want the shell and what it started", members)
	}
}
