package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/checktest"
)

// cases is a small suite, of which a correct engine fails nothing.
func cases(t *testing.T) *bench.Suite {
	t.Helper()
	return suite(t, `[
		{"file": "two.js", "class": "plain", "outcome": "value", "expect": 2},
		{"file": "throws.js", "class": "plain", "outcome": "error"},
		{"file": "loop.js", "class": "loops", "outcome": "timeout", "needs": ["time"]},
		{"file": "array.js", "class": "memory", "outcome": "memory", "also": ["timeout"], "needs": ["memory"]},
		{"file": "secret.js", "class": "policy", "outcome": "denied", "also": ["error"], "needs": ["calls"]},
		{"file": "fine.js", "class": "clock", "outcome": "value", "needs": ["clock"]}]`, map[string]string{
		"two.js": "return 1 + 1", "throws.js": "throw 1", "loop.js": "for (;;);",
		"array.js":  "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
		"secret.js": "return await codemode.secret()", "fine.js": "return performance.now() % 1"})
}

// report runs a suite and some questions against one engine.
func report(t *testing.T, suite *bench.Suite, e Engine, programs int, ask func(question) bool) *Report {
	t.Helper()
	board, err := Isolation(t.Context(), []Engine{e}, Options{Programs: programs, ask: ask}, suite)
	checktest.OK(t, err)
	return board.Engines[0]
}

func TestACorrectEngineHasNoFindings(t *testing.T) {
	r := report(t, cases(t), plantedEngine(t), 50, nil)
	// Two starts are there to see whether it rests. A machine that is busy at that moment costs another one.
	if r.Failed != "" || len(r.Findings()) > 0 || r.Starts < 3 {
		t.Errorf("failed %q, started %d times, found %+v", r.Failed, r.Starts, r.Findings())
	}
	passed, skipped := 0, 0
	for _, k := range r.Kinds {
		passed, skipped = passed+k.Passed, skipped+k.Skipped
	}
	if want := 5 + len(questions) + 1; passed != want || skipped != 1 {
		t.Errorf("%d passed and %d skipped, want %d and 1", passed, skipped, want)
	}
}

func TestEachCheatIsFound(t *testing.T) {
	for _, test := range []struct {
		cheat    string
		programs int
		finding  string
		of       string // a case or question
	}{
		{"answers 2 after it has run the first", -1, Lie, "programs are run"},
		{"reports memory it does not use", -1, Lie, "two.js"},
		{"reports no memory", -1, Lie, "usage is what was used"},
		{"says error for a time-out", -1, Wrong, "a run ends at its limit of time"},
		{"swallows time-outs", -1, Hang, "loop.js"},
		{"says time-out at once", -1, Lie, "loop.js"},
		{"says time-out and goes on", -1, Lie, "nothing computes after a run"},
		{"leaks a global", -1, Leak, "a run finds nothing of the one before"},
		{"lets secret through once in a thousand", 3000, Leak, "a denied tool is never called"},
		{"dies at the third program", -1, Crash, "two.js"},
		{"leaves a file", -1, Leak, "nothing is left behind"},
		{"leaves a file once", -1, Leak, "nothing is left behind"},
		{"leaves daemons", -1, Leak, "nothing is left behind"},
		{"lets a child hold memory", -1, Overshoot, "two.js"},
		{"makes calls and reads no answers", -1, Protocol, "two.js"},
		{"numbers all calls alike", -1, Protocol, "two.js"},
		{"ends no line", -1, Crash, "two.js"},
		{"says what nobody asked", -1, Protocol, "two.js"},
		{"reports no computing", -1, Lie, "usage is what was used"},
		{"reports less than nothing", -1, Lie, "two.js"},
		{"reports nothing", -1, Lie, "two.js"},
	} {
		t.Run(test.cheat, func(t *testing.T) {
			t.Parallel()
			suite := cases(t)
			if test.of != "loop.js" {
				suite.Cases = suite.Cases[:1] // the others take time, and the question is enough
			}
			asked := func(q question) bool {
				// What is left is looked for whenever a process ends, as it does before this question.
				ends := test.of == "nothing is left behind" && q.name == "nothing computes after a run"
				return ends || q.name == test.of
			}
			r := report(t, suite, plantedEngine(t, test.cheat), test.programs, asked)
			if r.Failed != "" {
				t.Fatal(r.Failed)
			}
			for _, f := range r.Findings() {
				if f.Finding == test.finding && f.Case == test.of {
					return
				}
			}
			t.Errorf("no %s in %s; found %+v", test.finding, test.of, r.Findings())
		})
	}
}

// What an engine promises is judged in each process.
func TestAnEngineThatIsAnotherAfterARestart(t *testing.T) {
	asked := func(q question) bool { return q.name == "nothing computes after a run" }
	suite := cases(t)
	suite.Cases = suite.Cases[:1]
	r := report(t, suite, plantedEngine(t, "is another after a restart"), -1, asked)
	if r.Failed != "when it was started again, it said another hello than at its first start" || len(r.Kinds) != 1 {
		t.Errorf("got %q and %v", r.Failed, r.Kinds)
	}
}

// A baseline and a report find an engine by its name.
func TestEnginesOfOneName(t *testing.T) {
	suite := cases(t)
	suite.Cases = suite.Cases[:1]
	none := func(question) bool { return false }
	board, err := Isolation(t.Context(), []Engine{plantedEngine(t), plantedEngine(t)}, Options{ask: none}, suite)
	checktest.OK(t, err)
	failed := strings.Split(fmt.Sprint(board.Failed()), "\n")
	if len(failed) != 1 || !strings.Contains(failed[0], `another engine of this run is called "planted"`) {
		t.Errorf("got %q", failed)
	}
}

func TestAnEngineThatCannotBeTested(t *testing.T) {
	for _, test := range []struct {
		name   string
		engine Engine
		want   string
	}{
		{"no such command", Engine{Command: []string{"no-such-engine"}}, `"no-such-engine" was not found in PATH`},
		{"it ends", plantedEngine(t, "no such cheat"), `there is no cheat "no such cheat"`},
		{"it runs nothing", plantedEngine(t, "answers 2"), `its first program, "return 1 * 2 + 3", ended with "value" 2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := report(t, cases(t), test.engine, -1, nil); !strings.Contains(r.Failed, test.want) {
				t.Errorf("got %q, want %q", r.Failed, test.want)
			}
		})
	}
}
