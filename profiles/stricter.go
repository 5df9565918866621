package profiles

import (
	"cmp"
	"slices"

	"github.com/codemode-project/codemode/call"
)

// least is the smaller of two limits; zero means no limit.
func least[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

func (l Limits) Stricter(m Limits) Limits {
	return Limits{
		Asks: least(l.Asks, m.Asks), AsksPerMinute: least(l.AsksPerMinute, m.AsksPerMinute),
		Pending: least(l.Pending, m.Pending), Refusals: least(l.Refusals, m.Refusals),
		Calls: least(l.Calls, m.Calls), Repeat: least(l.Repeat, m.Repeat), InFlight: least(l.InFlight, m.InFlight),
		CPU: least(l.CPU, m.CPU), Wall: least(l.Wall, m.Wall), Call: least(l.Call, m.Call),
		Memory:        least(l.Memory, m.Memory),
		ArgumentBytes: least(l.ArgumentBytes, m.ArgumentBytes), ResultBytes: least(l.ResultBytes, m.ResultBytes),
		ConsoleBytes: least(l.ConsoleBytes, m.ConsoleBytes), ProgramBytes: least(l.ProgramBytes, m.ProgramBytes),
	}
}

// or takes from m what l does not set.
func (l Limits) or(m Limits) Limits {
	return Limits{
		Asks: cmp.Or(l.Asks, m.Asks), AsksPerMinute: cmp.Or(l.AsksPerMinute, m.AsksPerMinute),
		Pending: cmp.Or(l.Pending, m.Pending), Refusals: cmp.Or(l.Refusals, m.Refusals),
		Calls: cmp.Or(l.Calls, m.Calls), Repeat: cmp.Or(l.Repeat, m.Repeat), InFlight: cmp.Or(l.InFlight, m.InFlight),
		CPU: cmp.Or(l.CPU, m.CPU), Wall: cmp.Or(l.Wall, m.Wall), Call: cmp.Or(l.Call, m.Call),
		Memory:        cmp.Or(l.Memory, m.Memory),
		ArgumentBytes: cmp.Or(l.ArgumentBytes, m.ArgumentBytes), ResultBytes: cmp.Or(l.ResultBytes, m.ResultBytes),
		ConsoleBytes: cmp.Or(l.ConsoleBytes, m.ConsoleBytes), ProgramBytes: cmp.Or(l.ProgramBytes, m.ProgramBytes),
	}
}

func (a Asking) Stricter(b Asking) Asking {
	if b.Channels != nil && a.Channels != nil {
		b.Channels = slices.DeleteFunc(slices.Clone(b.Channels), func(c string) bool {
			return !slices.Contains(a.Channels, c)
		})
	}
	if b.Channels != nil {
		a.Channels = b.Channels
	}
	a.Timeout = least(a.Timeout, b.Timeout)
	a.Budget = least(a.Budget, b.Budget)
	a.MinHuman = max(a.MinHuman, b.MinHuman)
	a.Batch = both(a.Batch, b.Batch)
	a.Edit = both(a.Edit, b.Edit)
	a.OtherOnly = a.OtherOnly || b.OtherOnly
	if a.Absent != absentWait && b.Absent != "" { // waiting decides nothing without a person
		a.Absent = b.Absent
	}
	return a
}

// narrowing keeps the settings that can only make asking stricter than own; a zero field of own stands for a default.
func (a Asking) narrowing(own Asking) Asking {
	if own.Timeout == 0 {
		a.Timeout = 0
	}
	if own.Budget == 0 {
		a.Budget = 0
	}
	off := func(b *bool) *bool {
		if b != nil && *b {
			return nil
		}
		return b
	}
	a.Batch, a.Edit = off(a.Batch), off(a.Edit)
	return a
}

// both merges two switches; nil means that the file does not say, and off is the stricter value.
func both(a, b *bool) *bool {
	if a == nil || b != nil && !*b {
		return b
	}
	return a
}

func (x Redact) join(y Redact) Redact {
	return Redact{
		Keys:     slices.Concat(x.Keys, y.Keys),
		Pointers: slices.Concat(x.Pointers, y.Pointers),
		Tools:    slices.Concat(x.Tools, y.Tools),
		Detect:   x.Detect || y.Detect,
		NoDetect: (x.NoDetect || y.NoDetect) && !x.Detect && !y.Detect,
	}
}

// joinLayer is join for a layer's settings: a layer can only hide more.
func (x Redact) joinLayer(y Redact) Redact {
	y.NoDetect = false
	return x.join(y)
}

// narrowed merges several settings about remembering answers: the scopes that they all offer, the shortest time, the
// strictest comparison of arguments. Without scopes there are no grants.
func narrowed(all []*call.Remember) call.Remember {
	var r call.Remember
	strictness := []string{"exact", "rule", "any", ""} // "" is not said
	stricter := func(a, b string) string {
		return strictness[min(slices.Index(strictness, a), slices.Index(strictness, b))]
	}
	for _, m := range all {
		switch {
		case m.Scopes == nil:
		case r.Scopes == nil:
			r.Scopes = slices.Clone(m.Scopes)
		default:
			r.Scopes = slices.DeleteFunc(r.Scopes, func(s string) bool { return !slices.Contains(m.Scopes, s) })
		}
		r.Max = least(r.Max, m.Max)
		r.Default = least(r.Default, m.Default)
		r.Args = stricter(r.Args, m.Args)
	}
	r.Max = cmp.Or(r.Max, defaultMaxRemember)
	r.Default = min(cmp.Or(r.Default, defaultRemember), r.Max)
	r.Args = cmp.Or(r.Args, "rule")
	return r
}
