package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/testwait"
)

// asCommand makes the test binary behave as the command, or as an MCP server
// that tests start as its child.
const asCommand = "CODEMODE_TEST_AS"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == readPrograms || len(os.Args) > 3 && strings.HasPrefix(os.Args[1], "confined") {
		main()
	}
	switch os.Getenv(asCommand) {
	case "codemode":
		main()
	case "prober":
		serveProber()
		os.Exit(0)
	case "without-landlock":
		execWithoutLandlock()
	case "probe":
		os.Exit(probeAndSay())
	case "upstream":
		serveTestUpstream()
		os.Exit(0)
	case "listed":
		serveListed(os.Getenv("CODEMODE_TEST_LIST"))
		os.Exit(0)
	}
	testwait.Parallel(6) // they wait for other processes, and for the pauses of a person between two keys
	testscript.Main(suite{m}, map[string]func(){"codemode": main})
}

// A suite leaves this user's own record alone, and removes what its tests have built.
type suite struct{ *testing.M }

func (s suite) Run() int {
	state, err := os.MkdirTemp("", "codemode-state")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)
	defer func() {
		os.RemoveAll(built)
		os.RemoveAll(state)
	}()
	return s.M.Run()
}

// endToEnd is called by what starts processes that serve: servers, browsers, terminals. The race detector would make
// each of them several times as slow, and what is concurrent in them is raced in the tests of its package.
func endToEnd(t *testing.T) {
	t.Helper()
	if hostile.Raced() && !slices.Contains(smoke, t.Name()) {
		t.Skip("end to end, with processes of its own: run it without -race")
	}
}

// smoke are the end-to-end tests that run with the race detector too.
var smoke = []string{"TestServeOverHTTP", "TestServeOverStdio", "TestThePageShowsWhatOtherProcessesAsk"}

// TestStories runs the stories of testdata/stories: whole commands on whole
// files, and what they print.
func TestStories(t *testing.T) {
	endToEnd(t)
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(testdata, "stories"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", testdata)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_CACHE_HOME", cachetest.Dir())
			env.Setenv("CODEMODE_CONFIG", "")
			bin := filepath.SplitList(env.Getenv("PATH"))[0] // that of testscript
			exe, err := filepath.EvalSymlinks(filepath.Join(bin, "codemode"))
			env.Setenv("EXE", exe) // what the files of clients name
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_STORIES") != "",
	})
}

// exits runs a command that has to end with an exit code: exits 3 codemode ...
// What it prints is for stdout and stderr, as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("%s is no exit code", args[0])
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		m := regexp.MustCompile(`exit status (\d+)`).FindStringSubmatch(err.Error())
		if m == nil {
			ts.Fatalf("running %s: %v", args[1], err)
		}
		got, _ = strconv.Atoi(m[1])
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runMain runs a command in this process, for tests that need its streams.
func runMain(t *testing.T, s cli.Streams, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return Main(ctx, args, s)
}
