package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// holdAt makes this binary the job, which stands still after it has billed that customer.
const holdAt = "BATCH_TEST_HOLD_AT"

func TestMain(m *testing.M) {
	if who := os.Getenv(holdAt); who != "" {
		os.Exit(command(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, func(b bill) {
			if b.Customer == who {
				select {}
			}
		}))
	}
	os.Exit(m.Run())
}

// records are n lines.
func records(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"customer": "C-%d", "used": %d}`+"\n", i+1, 10*i)
	}
	return b.String()
}

func outcomes(t *testing.T, text string) (all []outcome) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var o outcome
		switch err := d.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, o)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why, args, in string
		code          int
		out           []string // a part of each line
		notes         string
	}{
		{"all are billed", "", records(3), 0, []string{`"value":{"customer":"C-1","cents":0}`, `"cents":120`, `"cents":240`},
			"3 records, 0 failed"},
		{"one that fails does not stop the others", "-at-once 1",
			`{"customer": "X-1", "used": 1}` + "\n" + `{"customer": "W-2", "used": 1}`, 1,
			[]string{`there is no customer`, `"cents":9`},
			"2 records, 1 failed\nrecord 1: ToolError: meter__tariff: there is no customer \"X-1\"\n"},
		{"too much is refused", "", `{"customer": "C-1", "used": 5000}`, 1, []string{"meter__bill refused"}, "rules.json:8"},
		{"a record that is no JSON", "", "{\n" + records(1), 1, []string{"it is no JSON", `"record":2`},
			"record 1: it is no JSON\n"},
		{"what was billed before is left out", "-skip 2", records(3), 0, []string{`"record":3`}, "1 records, 0 failed"},
		{"nothing to do", "", "", 0, nil, "0 records, 0 failed"},
		{"a line without an end", "", records(1) + strings.Repeat(" ", longestRecord), 2, []string{`"record":1`},
			"the job ended after 1 records: record 2: bufio.Scanner: token too long"},
		{"none at once", "-at-once 0", records(1), 2, nil, "-at-once is 1 at least"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			var out, notes bytes.Buffer
			code := command(t.Context(), strings.Fields(row.args), strings.NewReader(row.in), &out, &notes, nil)
			if code != row.code || !strings.Contains(notes.String(), row.notes) {
				t.Errorf("it exits with %d and says\n%s", code, &notes)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(outcomes(t, out.String())) != len(row.out) {
				t.Fatalf("it writes\n%s", &out)
			}
			for i, want := range row.out {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %d is without %s: %s", i+1, want, lines[i])
				}
			}
		})
	}
}

// The first record ends last: its line is still the first one, and no more run at once than they may.
func TestOrderAndBound(t *testing.T) {
	t.Parallel()
	const atOnce = 3
	var running, most atomic.Int32
	others := make(chan struct{})
	var out, notes bytes.Buffer
	code := command(t.Context(), []string{"-at-once", fmt.Sprint(atOnce)}, strings.NewReader(records(12)), &out, &notes,
		func(b bill) {
			n := running.Add(1)
			defer running.Add(-1)
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			switch b.Customer {
			case "C-1":
				<-others
				<-others
			case "C-2", "C-3":
				others <- struct{}{}
			}
		})
	for i, o := range outcomes(t, out.String()) {
		if o.Record != i+1 || o.Error != "" {
			t.Errorf("line %d is of record %d: %s", i+1, o.Record, o.Error)
		}
	}
	if n := most.Load(); code != 0 || n > atOnce || n < 2 {
		t.Errorf("it exits with %d, and %d ran at once:\n%s", code, n, &notes)
	}
}

// Nobody reads any more: no further record begins.
func TestTheReaderIsGone(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	_ = r.Close()
	var billed atomic.Int32
	var notes bytes.Buffer
	code := command(t.Context(), []string{"-at-once", "2"}, strings.NewReader(records(50)), w, &notes,
		func(bill) { billed.Add(1) })
	if code != 2 || billed.Load() > 5 || !strings.Contains(notes.String(), "closed pipe") {
		t.Errorf("it exits with %d, has billed %d, and says\n%s", code, billed.Load(), &notes)
	}
}

// A job is killed in the middle of a call. Started again, it bills nobody twice, has the outcomes of what was done, and
// says of the record that the kill hit what is known.
func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"-state", state, "-at-once", "1"}
	job := exec.CommandContext(t.Context(), os.Args[0], args...)
	job.Env = append(os.Environ(), holdAt+"=C-3")
	job.Stdin = strings.NewReader(records(5))
	first := &bytes.Buffer{}
	job.Stdout, job.Stderr = first, os.Stderr
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	bills := func() string {
		text, _ := os.ReadFile(filepath.Join(state, "bills.jsonl"))
		return string(text)
	}
	testwait.Until(t, "the third customer is billed", func() bool { return strings.Contains(bills(), "C-3") })
	_ = job.Process.Kill()
	_ = job.Wait()

	again := func() string {
		t.Helper()
		var out, notes bytes.Buffer
		code := command(t.Context(), args, strings.NewReader(records(5)), &out, &notes, nil)
		if code != 1 || !strings.HasPrefix(notes.String(), "5 records, 1 failed\nrecord 3: the process that the run was in") {
			t.Errorf("it exits with %d and says\n%s", code, &notes)
		}
		return out.String()
	}
	second := again()
	if n := len(outcomes(t, first.String())); n != 2 || !strings.HasPrefix(second, first.String()) {
		t.Errorf("first, %d lines:\n%sand then\n%s", n, first, second)
	}
	if o := outcomes(t, second); len(o) == 5 &&
		(!strings.Contains(o[2].Error, "meter__bill unknown") || o[4].Error != "") {
		t.Errorf("it says\n%s", second)
	}
	if third := again(); third != second {
		t.Errorf("the third time:\n%s", third)
	}
	for i := range 5 {
		if n := strings.Count(bills(), fmt.Sprintf(`"C-%d"`, i+1)); n != 1 {
			t.Errorf("C-%d has %d bills", i+1, n)
		}
	}
}
