//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestAChildThatFloodsUsStepsBack(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		killGroup(cmd.Process.Pid)
		_ = cmd.Wait() // killed
	}()
	over := make(chan struct{})
	close(over)
	c := &child{cmd: cmd}
	c.slow(new(output), over)(time.Hour)
	// Linux counts from 20 down, the others from 0 up: for 10 that is the same.
	if got, err := syscall.Getpriority(syscall.PRIO_PROCESS, cmd.Process.Pid); err != nil || got != niceBehind {
		t.Errorf("its priority is %d, %v; want %d", got, err, niceBehind)
	}
}
