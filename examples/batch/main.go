// Command batch is a job that runs one program for each record: it bills customers for what they used.
//
//	go run ./examples/batch [-name JOB] [-at-once N] [-state DIR] [-skip N] < examples/batch/readings.jsonl
//
// Each line of standard input is a record in JSON. Each line of standard output is the outcome of one, in the same
// order. A record that fails does not stop the others. At the end the job says how many failed, and why. The exit code
// is 0 if all are billed, 1 if some failed, and 2 if the job itself did.
//
// With -state a job that was killed can be started again under the same name: no customer is billed twice. Records that
// were done get their outcome from the store, which keeps the latest 1,000; -skip leaves out lines whose outcome
// is written already. Records that the kill hit fail, and say what they had done. The others run.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

var (
	//go:embed rules.json
	rules []byte
	//go:embed program.ts
	program string
)

// longestRecord is how long a line may be.
const longestRecord = 1 << 20

// A meter is the service that programs call.
type meter struct {
	billed func(bill) // for tests; may be nil

	mu    sync.Mutex
	bills io.Writer // a line for each
}

type customer struct {
	Customer string `json:"customer" jsonschema:"such as C-17"`
}

type tariff struct {
	Cents int `json:"cents" jsonschema:"for one unit"`
}

type bill struct {
	Customer string `json:"customer" jsonschema:"such as C-17"`
	Cents    int    `json:"cents" jsonschema:"to pay"`
}

// tariff looks up what a customer pays for a unit.
func (*meter) tariff(_ context.Context, in customer) (tariff, error) {
	switch {
	case strings.HasPrefix(in.Customer, "C-"):
		return tariff{Cents: 12}, nil
	case strings.HasPrefix(in.Customer, "W-"):
		return tariff{Cents: 9}, nil
	}
	return tariff{}, fmt.Errorf("there is no customer %q", in.Customer)
}

// bill sends a bill. Many programs call it at once.
func (m *meter) bill(_ context.Context, b bill) (struct{}, error) {
	m.mu.Lock()
	err := json.NewEncoder(m.bills).Encode(b)
	m.mu.Unlock()
	if err == nil && m.billed != nil {
		m.billed(b)
	}
	return struct{}{}, err
}

// A job says how to run.
type job struct {
	name   string // identifies the records in the store: a job of the same name does not repeat what one did
	state  string // the folder of the store and the bills; "" keeps nothing, and so a second job does everything anew
	cache  string // a folder for the compiled sandbox
	atOnce int
	skip   int
	meter  meter
}

// An outcome is a line of the output.
type outcome struct {
	Record int             `json:"record"` // its line, from 1
	Run    string          `json:"run,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"` // for people: what went wrong, and the calls that were made

	why string // in one line
}

// prepare reads the program, once for all records.
func (j *job) prepare(ctx context.Context) (*codemode.Evaluator, *codemode.Prepared, error) {
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return nil, nil, err
	}
	e, err := codemode.New(ctx, codemode.Options{
		Config: cfg, CacheDir: j.cache, RecordDir: j.state,
		GoOn: true, // this process ends the runs of one that was killed
		Servers: []codemode.Server{{Name: "meter", Functions: []codemode.Function{
			codemode.Func("tariff", "What a customer pays for a unit.", j.meter.tariff, codemode.ReadOnly),
			codemode.Func("bill", "Sends a bill to a customer.", j.meter.bill),
		}}},
	})
	if err != nil {
		return nil, nil, err
	}
	p, err := e.Prepare(ctx, codemode.Request{Profile: "billing", Code: program, Name: "program.ts", Principal: "batch"})
	if err != nil {
		_ = e.Close(ctx)
		return nil, nil, err
	}
	return e, p, nil
}

// one runs the program for one record.
func (j *job) one(ctx context.Context, p *codemode.Prepared, n int, record []byte) outcome {
	if !json.Valid(record) {
		return outcome{Record: n, Error: "it is no JSON", why: "it is no JSON"}
	}
	r, err := p.Run(ctx, record, func(r *codemode.Request) {
		if j.state != "" {
			r.IdempotencyKey = fmt.Sprintf("%s/%d", j.name, n)
		}
	})
	if err != nil {
		return outcome{Record: n, Run: r.Run, Error: strings.TrimSpace(r.Text(err)), why: err.Error()}
	}
	return outcome{Record: n, Run: r.Run, Value: r.Value}
}

// all runs the program for each record, atOnce at once, and passes the outcomes to done, in order. When ctx ends it
// begins no further one, and lets those under way finish: what is canceled in the middle has to be looked at by people.
func (j *job) all(ctx context.Context, p *codemode.Prepared, in io.Reader, done func(outcome) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestRecord)
	running := make(chan chan outcome, j.atOnce-1) // and one that done waits for
	var read error
	go func() {
		defer close(running)
		last := 0
		for ctx.Err() == nil && lines.Scan() {
			if last++; last <= j.skip {
				continue
			}
			one, n, record := make(chan outcome, 1), last, append([]byte(nil), lines.Bytes()...)
			running <- one
			go func() { one <- j.one(context.WithoutCancel(ctx), p, n, record) }()
		}
		if read = context.Cause(ctx); lines.Err() != nil {
			read = fmt.Errorf("record %d: %w", last+1, lines.Err())
		}
	}()
	var written error
	for one := range running {
		if o := <-one; written == nil {
			written = done(o)
		}
	}
	if written != nil {
		return written
	}
	return read
}

// run reads records from in and writes outcomes to out, and what went wrong to notes. It returns the exit code.
func (j *job) run(ctx context.Context, in io.Reader, out, notes io.Writer) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e, p, err := j.prepare(ctx)
	if err != nil {
		fmt.Fprintln(notes, err)
		return 2
	}
	defer e.Close(context.WithoutCancel(ctx))
	ran, failed := 0, []outcome(nil)
	err = j.all(ctx, p, in, func(o outcome) error {
		if ran++; o.Error != "" {
			failed = append(failed, o)
		}
		err := json.NewEncoder(out).Encode(o)
		if err != nil {
			stop(err) // nobody reads
		}
		return err
	})
	fmt.Fprintf(notes, "%d records, %d failed\n", ran, len(failed))
	for _, o := range failed {
		fmt.Fprintf(notes, "record %d: %s\n", o.Record, o.why)
	}
	switch {
	case err != nil:
		fmt.Fprintf(notes, "the job ended after %d records: %v\n", ran, err)
		return 2
	case len(failed) > 0:
		return 1
	}
	return 0
}

// command parses the command line and runs the job.
func command(ctx context.Context, args []string, in io.Reader, out, notes io.Writer, billed func(bill)) int {
	j := &job{meter: meter{bills: io.Discard, billed: billed}}
	flags := flag.NewFlagSet("batch", flag.ContinueOnError)
	flags.SetOutput(notes)
	flags.StringVar(&j.name, "name", "readings", "the name of the job: with -state, each record of a job runs once")
	flags.IntVar(&j.atOnce, "at-once", 8, "how many records run at once")
	flags.IntVar(&j.skip, "skip", 0, "how many records to leave out at the start")
	flags.StringVar(&j.state, "state", "", "the folder of what outlives the job")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if j.atOnce < 1 || flags.NArg() > 0 {
		fmt.Fprintln(notes, "batch: -at-once is 1 at least, and records come on standard input")
		return 2
	}
	if dir, err := os.UserCacheDir(); err == nil {
		j.cache = filepath.Join(dir, "codemode-example")
	}
	if j.state != "" {
		if err := os.MkdirAll(j.state, 0o700); err != nil {
			fmt.Fprintln(notes, err)
			return 2
		}
		file, err := os.OpenFile(filepath.Join(j.state, "bills.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(notes, err)
			return 2
		}
		defer file.Close()
		j.meter.bills = file
	}
	return j.run(ctx, in, out, notes)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills
	os.Exit(command(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, nil))
}
