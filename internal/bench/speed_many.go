package bench

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
)

const (
	manySessions        = 10_000
	sessionsOfPrincipal = 100 // as many as the configuration allows unless it says otherwise
)

// manySessions measures a process that serves sessions of many principals, with a record on disk: the time of a program
// in a session that was not used for long, and the process's memory at a tenth of the sessions and with all of them.
// A session of the first half gets its second program when half of all sessions have been used since.
func (m *meter) manySessions() error {
	dir, err := os.MkdirTemp("", "codemode-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rules, err := config.Parse("codemode.json", []byte(`{"evaluation": {"profiles": {"bench": {}}}}`))
	if err != nil {
		return err
	}
	e, err := codemode.New(m.ctx, codemode.Options{Config: rules, Engine: m.engine, RecordDir: dir})
	if err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(m.ctx))
	in := func(i int, code, want string) error {
		r, err := e.Eval(m.ctx, codemode.Request{Profile: "bench", Code: code,
			Principal: fmt.Sprintf("p%d", i/sessionsOfPrincipal), Session: fmt.Sprintf("s%d", i%sessionsOfPrincipal)})
		if err != nil {
			return fmt.Errorf("session %d: %w", i, err)
		}
		return expect(r.Value, want)
	}
	n := m.samples(manySessions)
	var early int
	var times []float64
	for i := range n {
		if err := in(i, smallSession.Source, "1"); err != nil {
			return err
		}
		if i >= n/2 {
			at := time.Now()
			if err := in(i-n/2, "return next()", "2"); err != nil {
				return err
			}
			times = append(times, ms(time.Since(at)))
		}
		if i == n/10 {
			debug.FreeOSMemory()
			early = resident()
		}
	}
	debug.FreeOSMemory()
	all := resident()
	m.report.Session.Many = n
	m.report.Session.Reopened = m.figure("session.reopened_ms", times)
	if early > 0 {
		mib, growth := Round(float64(all)/1024), Round(float64(all)/float64(early))
		m.report.Session.ManyMemory, m.report.Session.ManyGrowth = &mib, &growth
	}
	return nil
}
