package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs"
)

// durabilities are the settings of store.durability, with what each promises about a call that was made.
var durabilities = []struct{ name, store, promises string }{
	{"unrecorded", "", "nothing is kept"},
	{"full", `,"store":{"durability":"full"}`,
		"the entry survives the death of the process, of the system, and a power cut; a sync is waited for"},
	{"normal", `,"store":{"durability":"normal"}`,
		"the entry survives the death of the process; a power cut may take the last few"},
}

// BenchmarkRecordedCalls compares calls that are recorded on the disk with calls that are not, in turns, so that what
// else the machine does falls on all of them. The medians are of one call: what it takes unrecorded, and how much more
// with each durability. fsync-ns is what a sync of 8 KB takes on the same disk.
func BenchmarkRecordedCalls(b *testing.B) {
	for _, inFlight := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) { benchmarkCalls(b, inFlight) })
	}
}

func benchmarkCalls(b *testing.B, inFlight int) {
	calls := 50 * inFlight
	code := fmt.Sprintf(`let left = %d; const work = async () => { while (left-- > 0) await codemode.time__now({}); };
		await Promise.all(Array.from({length: %d}, work)); return 1`, calls, inFlight)
	run := make([]func() time.Duration, len(durabilities))
	for i, d := range durabilities {
		run[i] = caller(b, d.store, code, calls)
		run[i]() // everything is open then
		b.Logf("%s: %s", d.name, d.promises)
	}
	dir := b.TempDir()
	took := make([][]time.Duration, len(durabilities))
	var syncs []time.Duration
	for b.Loop() {
		for i := range durabilities {
			took[i] = append(took[i], run[i]())
		}
		syncs = append(syncs, syncTime(b, dir))
	}
	unrecorded := median(took[0])
	b.ReportMetric(unrecorded, "unrecorded-ns/call")
	for i, d := range durabilities[1:] {
		b.ReportMetric(median(took[i+1])-unrecorded, d.name+"-more-ns/call")
	}
	b.ReportMetric(median(syncs), "fsync-ns")
	b.ReportMetric(0, "ns/op") // of all rows together, which says nothing
}

// caller gives a function that runs a program and says what one of its calls took.
func caller(b *testing.B, store, code string, calls int) func() time.Duration {
	engine, err := sharedEngine()
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Parse("codemode.json", fmt.Appendf(nil, `{"limits":{"calls":1000,"inFlight":16}%s}`, store))
	if err != nil {
		b.Fatal(err)
	}
	o := codemode.Options{Engine: engine, Config: cfg}
	if store != "" {
		o.RecordDir = b.TempDir()
	}
	e, err := codemode.New(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close(b.Context()) })
	return func() time.Duration {
		start := time.Now()
		if r, err := e.Eval(b.Context(), codemode.Request{Unrestricted: true, Code: code}); err != nil {
			b.Fatal(r.Text(err))
		}
		return time.Since(start) / time.Duration(calls)
	}
}

// syncTime is what it takes to get a page of the database to the disk.
func syncTime(b *testing.B, dir string) time.Duration {
	f, err := os.OpenFile(filepath.Join(dir, "synced"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 8192)); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds())
}

// BenchmarkOneCall is a plain call that a profile allows, whose arguments fit a schema, without a guest and a disk.
func BenchmarkOneCall(b *testing.B) {
	cfg, err := config.Parse("codemode.json",
		[]byte(`{"evaluation":{"profiles":{"p":{"allowlist":[{"tool":"fs__write","when":{"/path":{"prefix":"notes/"}}}],"limits":{"calls":1000000000}}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	e, err := codemode.New(b.Context(), codemode.Options{Config: cfg})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close(b.Context()) })
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			args := fmt.Appendf(nil, `{"path":"notes/a.md","options":{"append":true,"mode":420},"text":%q}`,
				strings.Repeat("x", size))
			gate, err := e.Gate(runs.GateOptions{Profile: "p", Tools: []runs.GateTool{{Server: "fs", Tool: "write", Input: []byte(`{"type":"object",
				"properties":{"path":{"type":"string"},"text":{"type":"string"},"options":{"type":"object"}},"required":["path"],"additionalProperties":false}`)}}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, err := gate.Execute(b.Context(), runs.GateCall{Server: "fs", Tool: "write", Args: args},
					func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
