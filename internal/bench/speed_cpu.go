package bench

import (
	"context"
	"math"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// workloads are the computations of a run: function calls, data, text and numbers. Each returns a value that proves it
// did the work.
var workloads = []struct {
	key, source, want string
	at                func(r *SpeedReport) *float64
}{
	{"cpu.fib_ms", `
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
return fib(27)`, "196418", func(r *SpeedReport) *float64 { return &r.CPU.Fib }},

	{"cpu.json_ms", `
const rows = [];
for (let i = 0; i < 1000; i++) rows.push({ id: i, name: 'row ' + i, tags: ['a', 'b', 'é' + i], nested: { on: i % 2 === 0, score: i * 1.5 } });
let n = 0;
for (let k = 0; k < 10; k++) {
  const back = JSON.parse(JSON.stringify(rows));
  for (const row of back.filter(r => r.nested.on).map(r => ({ ...r, k }))) n += row.id + row.tags.length;
}
return n`, "2510000", func(r *SpeedReport) *float64 { return &r.CPU.JSON }},

	{"cpu.text_ms", `
let text = '';
for (let i = 0; i < 4000; i++) text += 'the quick brown fox ' + i + ' jumps over the lazy dog\n';
const words = new Map();
for (const line of text.split('\n'))
  for (const word of line.split(' ')) words.set(word, (words.get(word) ?? 0) + 1);
const found = text.replace(/(\d+) jumps/g, (_, n) => n.padStart(6, '0')).toUpperCase().match(/FOX 00\d{4}/g);
return [words.get('fox'), found.length]`, "[4000,4000]", func(r *SpeedReport) *float64 { return &r.CPU.Text }},

	{"cpu.math_ms", `
const n = 64, a = new Float64Array(n * n), b = new Float64Array(n * n), c = new Float64Array(n * n);
for (let i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 5 }
for (let i = 0; i < n; i++)
  for (let j = 0; j < n; j++) {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
  }
let hash = 0;
for (let i = 0; i < 500000; i++) hash = (Math.imul(hash, 31) + i) | 0;
return [c[n * n - 1], hash]`, "[376,-2024492912]", func(r *SpeedReport) *float64 { return &r.CPU.Math }},
}

// computing measures the workloads, alternating with the same workloads in a guest without kill checks.
func (m *meter) computing() error {
	wasm, err := withoutChecks(m.o.Wasm)
	if err != nil {
		return err
	}
	unchecked, err := sandbox.New(m.ctx, sandbox.Options{Wasm: wasm})
	if err != nil {
		return err
	}
	defer unchecked.Close(context.WithoutCancel(m.ctx))
	product := 1.0
	for _, w := range workloads {
		p := sandbox.Program{Source: w.source, Limits: sandbox.Limits{CPU: time.Minute}}
		var with, without []float64
		for range m.samples(60) {
			for engine, samples := range map[*sandbox.Engine]*[]float64{m.engine: &with, unchecked: &without} { // in no order
				took, err := m.compute(engine, p, w.want)
				if err != nil {
					return err
				}
				*samples = append(*samples, took)
			}
		}
		*w.at(&m.report) = m.figure(w.key, with)
		product *= *w.at(&m.report) / m.figure(w.key+" unchecked", without)
	}
	m.report.CPU.KillCheck = Round(math.Pow(product, 1/float64(len(workloads))))
	return nil
}

func (m *meter) compute(e *sandbox.Engine, p sandbox.Program, want string) (float64, error) {
	at := time.Now()
	err := must(m.ctx, e, p, nil, want)
	return ms(time.Since(at)), err
}
