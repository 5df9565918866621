package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// coldStart measures a separate process from its start to its first result. The process has its own home: no
// configuration, and a cache that the first start fills.
func (m *meter) coldStart() error {
	if len(m.o.Start) == 0 {
		return nil
	}
	home, err := os.MkdirTemp("", "codemode-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	first, err := m.start(home)
	if err != nil {
		return err
	}
	m.report.FirstStart = &first
	var samples []float64
	for range m.samples(60) {
		took, err := m.start(home)
		if err != nil {
			return err
		}
		samples = append(samples, took)
	}
	median := m.figure("cold_start_ms", samples)
	m.report.ColdStart = &median
	return nil
}

// start runs the command once and returns the milliseconds until its result.
func (m *meter) start(home string) (float64, error) {
	cmd := exec.CommandContext(m.ctx, m.o.Start[0], m.o.Start[1:]...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "CODEMODE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "LocalAppData="+home, "AppData="+home)
	cmd.Dir = home
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	at := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	took := ms(time.Since(at))
	if err := cmd.Wait(); err != nil || strings.TrimSpace(line) != "1" {
		return 0, errors.Join(fmt.Errorf("%s printed %q instead of 1: %s", m.o.Start[0], line, problems.String()), err)
	}
	return took, nil
}
