package codemode_test

import (
	"fmt"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/profiles"
)

// BenchmarkCalls compares calls that are recorded on the disk with calls that are not, with 16 in flight. What an
// operation costs is in the column call-ns; the difference of the rows is the price of the record.
func BenchmarkCalls(b *testing.B) {
	const calls, inFlight = 800, 16
	code := fmt.Sprintf(`let left = %d; const work = async () => { while (left-- > 0) await codemode.time__now({}); };
		await Promise.all(Array.from({length: %d}, work)); return 1`, calls, inFlight)
	for _, row := range []struct{ name, store, dir string }{
		{"unrecorded", "", ""},
		{"durability full", `{"durability":"full"}`, b.TempDir()},
		{"durability normal", `{"durability":"normal"}`, b.TempDir()},
	} {
		b.Run(row.name, func(b *testing.B) {
			engine, err := sharedEngine()
			if err != nil {
				b.Fatal(err)
			}
			config := `{"limits":{"calls":1000,"inFlight":16}}`
			if row.store != "" {
				config = fmt.Sprintf(`{"limits":{"calls":1000,"inFlight":16},"store":%s}`, row.store)
			}
			cfg, err := profiles.Parse("codemode.json", []byte(config))
			if err != nil {
				b.Fatal(err)
			}
			e, err := codemode.New(b.Context(), codemode.Options{Engine: engine, Config: cfg, RecordDir: row.dir})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(b.Context())
			run := func() {
				if r, err := e.Eval(b.Context(), codemode.Request{Code: code}); err != nil {
					b.Fatal(r.Text(err))
				}
			}
			run() // everything is open then
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "call-ns")
		})
	}
}
