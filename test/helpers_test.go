package codemode_test

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
)

// asWorker has the test binary read programs.
const asWorker = "read-programs"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		if err := analysis.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// readInWorkers has an Evaluator read programs as codemode does.
func readInWorkers(o *codemode.Options) { o.Worker = []string{os.Args[0], asWorker} }

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }
