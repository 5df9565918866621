package upstream

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAChildStepsBackWithItsOwnChildren(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo; wait")
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		killGroup(cmd.Process.Pid)
		_ = cmd.Wait() // killed
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	(&child{cmd: cmd}).stepBack()
	members := 0
	for _, pid := range numbersIn("/proc") {
		if group, err := unix.Getpgid(pid); err != nil || group != cmd.Process.Pid {
			continue
		}
		members++
		if session, err := unix.Getsid(pid); err != nil || session != cmd.Process.Pid {
			t.Errorf("process %d is in the session %d, %v; want its server's own", pid, session, err)
		}
		if attr, err := unix.SchedGetAttr(pid, 0); err != nil || attr.Policy != unix.SCHED_IDLE {
			t.Errorf("process %d is scheduled by %+v, %v", pid, attr, err)
		}
	}
	if session, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid)); err == nil && len(session) > 0 && !strings.HasSuffix(string(session), " nice 19\n") {
		t.Errorf("its session is %q, want one that gives way to others", session)
	}
	if members != 2 {
		t.Errorf("%d processes are in the group, want the shell and what it started", members)
	}
}

func TestAnOutputThatIsReadSlowlyIsShort(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	size := func() int {
		n, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	o := &output{file: r, answers: true}
	defer o.Close()
	before := size()
	for range 2 {
		if _, err := w.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if after := size(); o.napped && after >= before || !o.napped && after != before {
			t.Errorf("napped: %v, and the pipe holds %d bytes, %d before", o.napped, after, before)
		}
		o.nap(0, nil)
	}
}
