package codemode_test

import (
	"os"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

var must = checktest.OK

// asWorker has the test binary read programs.
const asWorker = "read-programs"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		if err := analysis.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	testwait.Parallel(4)
	os.Exit(m.Run())
}

// readInWorkers has an Evaluator read programs as codemode does.
func readInWorkers(o *codemode.Options) { o.Worker = []string{os.Args[0], asWorker} }
