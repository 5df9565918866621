package bench

import (
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// smallSession is the first program of the session that is measured.
var smallSession = sandbox.Program{Source: `
const seen = new Map([["a", { n: 1 }], ["b", { n: 2 }]]);
class Account { #balance = 0n; add(n) { this.#balance += BigInt(n); return this.#balance } }
const account = new Account(), rows = Array.from({ length: 100 }, (_, i) => ({ id: i, name: "row " + i }));
let count = 0;
const next = () => ++count;
return next()`}

// sessions measures a program in a session whose guest is warm, by turns with a fresh run of the same program, and a
// session that is put away and opened again, to the result of its next program.
func (m *meter) sessions() error {
	s, err := m.engine.NewSession("bench")
	if err != nil {
		return err
	}
	defer func() { s.Close() }()
	in := func(p sandbox.Program, want string) error {
		result, err := s.Run(m.ctx, p, nil)
		if err != nil {
			return err
		}
		return expect(result.Value, want)
	}
	if err := in(smallSession, "1"); err != nil {
		return err
	}
	var warm, ratios, sizes, times []float64
	for i := range m.samples(5000) + 20 {
		at := time.Now()
		if err := must(m.ctx, m.engine, smallest, nil, "2"); err != nil {
			return err
		}
		middle := time.Now()
		if err := in(smallest, "2"); err != nil {
			return err
		}
		took := time.Since(middle)
		if i >= 20 { // the first ones warm it up
			warm, ratios = append(warm, us(took)), append(ratios, float64(took)/float64(middle.Sub(at)))
		}
	}
	for range m.samples(400) {
		at := time.Now()
		image, err := s.Image()
		if err != nil {
			return err
		}
		s.Close()
		if s, err = m.engine.Open("bench", image); err != nil {
			return err
		}
		if err := in(smallest, "2"); err != nil {
			return err
		}
		times, sizes = append(times, ms(time.Since(at))), append(sizes, float64(len(image))/1024)
	}
	m.report.Session.P50 = m.figure("session.p50_us", warm)
	m.report.Session.Ratio = m.figure("session.fresh_ratio", ratios)
	m.report.Session.PutAway = m.figure("session.put_away_ms", times)
	m.report.Session.Image = m.figure("session.image_kib", sizes)
	return nil
}
