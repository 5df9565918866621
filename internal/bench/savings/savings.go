package savings

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/bench/tau2"
	"github.com/codemode-project/codemode/internal/tokens"
)

// Options are the settings of [Measure].
type Options struct {
	Data     string     // a checkout of tau2-bench
	CacheDir string     // of compiled guests; "" compiles the guest anew
	Peers    []*Surface // of other products, for the same tools; a name that ends in ":airline" is for that domain only
	// Progress is called before each task; nil is ignored.
	Progress func(done, total int, what string)
}

// Measure makes the calls of all tasks in each of the ways.
func Measure(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Tokens: tokens.Method}
	for _, name := range tau2.Names {
		d, err := tau2.Open(o.Data, name)
		if err != nil {
			return nil, err
		}
		figures, err := measure(ctx, d, &o)
		if err != nil {
			return nil, fmt.Errorf("the domain %s: %w", name, err)
		}
		r.Domains = append(r.Domains, figures)
	}
	return r, nil
}

func measure(ctx context.Context, d *tau2.Domain, o *Options) (*Domain, error) {
	b, err := open(ctx, d, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer b.close()
	m := &meter{bed: b, report: &Domain{Name: d.Name, Tools: len(d.Tools), Tasks: len(d.Tasks), Failed: []string{},
		Unknown: map[string]string{}}}
	if err := m.surfaces(ctx, o.Peers); err != nil {
		return nil, err
	}
	for i := range d.Tasks {
		if o.Progress != nil {
			o.Progress(i, len(d.Tasks), d.Name+" "+d.Tasks[i].ID)
		}
		if len(d.Tasks[i].Actions) == 0 {
			continue
		}
		if err := m.task(ctx, &d.Tasks[i]); err != nil {
			return nil, fmt.Errorf("task %s: %w", d.Tasks[i].ID, err)
		}
	}
	return m.report, nil
}

// A meter measures one domain.
type meter struct {
	*bed
	report        *Domain
	alone, atOnce *Way
	one, two      *Way
	peers         []*Way
	peerDiscovery []int
}

// surfaces counts what every request has of the tools.
func (m *meter) surfaces(ctx context.Context, peers []*Surface) error {
	direct, err := shown(ctx, m.direct)
	if err != nil {
		return err
	}
	ours, err := shown(ctx, m.codemode)
	if err != nil {
		return err
	}
	way := func(name string, s *Surface) *Way {
		w := &Way{Name: name, Surface: s.tokens()}
		m.report.Ways = append(m.report.Ways, w)
		return w
	}
	m.alone = way("one call at a time", &Surface{Tools: direct})
	m.atOnce = way("independent calls at once", &Surface{Tools: direct})
	m.one = way("codemode, one program", &Surface{Tools: ours})
	m.two = way("codemode, two programs", &Surface{Tools: ours})
	for _, p := range peers {
		name, only := cutDomain(p.Name)
		if only != "" && only != m.report.Name {
			continue
		}
		m.peers = append(m.peers, way(name+", one program", p))
		m.peerDiscovery = append(m.peerDiscovery, tokens.Count(p.Discovery))
	}
	return nil
}

var ofDomain = regexp.MustCompile(`^(.*):(\w+)$`)

func cutDomain(name string) (of, domain string) {
	if m := ofDomain.FindStringSubmatch(name); m != nil {
		return m[1], m[2]
	}
	return name, ""
}

// task makes the calls of a task in each way.
func (m *meter) task(ctx context.Context, t *tau2.Task) error {
	m.report.WithCalls++
	m.domain.Reset()
	calls, err := m.oneAtATime(ctx, t)
	if err != nil {
		return err
	}
	want, err := m.domain.Changes()
	if err != nil {
		return err
	}
	know := newKnowledge(t)
	code, missing := write(m.domain.Name, know, calls, manner{told: t.Told})
	found, err := m.discover(ctx, t, calls)
	if err != nil {
		return err
	}
	two, expressible, same, err := m.twoPrograms(ctx, t, know, calls, want)
	if err != nil {
		return err
	}
	if expressible && same {
		m.report.TwoPrograms++
	} else if expressible {
		m.report.Failed = append(m.report.Failed, t.ID+" with two programs")
	}
	if len(missing) > 0 {
		m.report.Unknown[t.ID] = missing[0]
		return nil
	}
	m.report.Expressible++
	m.domain.Reset()
	program, same, err := m.run(ctx, code, want)
	if err != nil {
		return err
	}
	if !same {
		m.report.Failed = append(m.report.Failed, t.ID)
		return nil
	}
	m.report.OneProgram++
	m.alone.add(exchangesOf(calls))
	m.atOnce.add(rounds(m.domain.Name, know, calls))
	m.one.add(append(slices.Clone(found), program))
	m.two.add(append(slices.Clone(found), two...))
	for i, w := range m.peers {
		var all []exchange
		if n := m.peerDiscovery[i]; n > 0 {
			all = append(all, exchange{calls: 1, discovery: n})
		}
		w.add(append(all, program))
	}
	return nil
}

// oneAtATime makes the calls as a model without programs does.
func (m *meter) oneAtATime(ctx context.Context, t *tau2.Task) ([]recorded, error) {
	var calls []recorded
	for _, a := range t.Actions {
		c := recorded{Action: a, tool: m.domain.Tool(a.Name)}
		if c.tool == nil {
			return nil, fmt.Errorf("there is no tool %s", a.Name)
		}
		err := json.Unmarshal(a.Arguments, &c.args)
		if err != nil {
			return nil, err
		}
		if c.text, c.failed, err = ask(ctx, m.direct, a.Name, a.Arguments); err != nil {
			return nil, err
		}
		c.answer = decoded(c.text)
		calls = append(calls, c)
	}
	return calls, nil
}

// exchangesOf are the exchanges of calls that are made one at a time.
func exchangesOf(calls []recorded) []exchange {
	var all []exchange
	for _, c := range calls {
		all = append(all, exchange{calls: 1, arguments: tokens.Count(c.Name) + tokens.Count(string(c.Arguments)),
			results: tokens.Count(c.text)})
	}
	return all
}

// rounds are the exchanges of a model that makes calls at once where none needs the answer of another.
func rounds(server string, know knowledge, calls []recorded) []exchange {
	var all []exchange
	single := exchangesOf(calls)
	for _, n := range stages(server, know, calls) {
		var e exchange
		for _, s := range single[:n] {
			e.calls, e.arguments, e.results = e.calls+s.calls, e.arguments+s.arguments, e.results+s.results
		}
		all, single = append(all, e), single[n:]
	}
	return all
}

// discover searches for the tools of a task with the words of its user, and asks for those that the search did not
// declare.
func (m *meter) discover(ctx context.Context, t *tau2.Task, calls []recorded) ([]exchange, error) {
	one := func(tool string, args map[string]any) (exchange, string, error) {
		text, failed, err := ask(ctx, m.codemode, tool, args)
		if err == nil && failed {
			err = fmt.Errorf("%s: %s", tool, text)
		}
		return exchange{calls: 1, arguments: tokens.Count(tool) + tokens.Count(literal(args)),
			discovery: tokens.Count(text)}, text, err
	}
	found, text, err := one("search_tools", map[string]any{"query": t.Reason})
	if err != nil {
		return nil, err
	}
	var left []string
	for _, c := range calls {
		name := call.Name(m.domain.Name, c.Name)
		declared := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + `\(`).MatchString(text)
		if !declared && !slices.Contains(left, name) {
			left = append(left, name)
		}
	}
	all := []exchange{found}
	if len(left) > 0 {
		more, _, err := one("get_tools", map[string]any{"names": left})
		if err != nil {
			return nil, err
		}
		all = append(all, more)
	}
	return all, nil
}

// run runs a program, and compares what it changed.
func (m *meter) run(ctx context.Context, code, want string) (e exchange, same bool, err error) {
	const tool = "codemode_eval"
	args := map[string]any{"code": code}
	text, failed, err := ask(ctx, m.codemode, tool, args)
	if err != nil {
		return e, false, err
	}
	got, err := m.domain.Changes()
	e = exchange{calls: 1, arguments: tokens.Count(tool) + tokens.Count(literal(args)), results: tokens.Count(text)}
	return e, !failed && got == want, err
}

// twoPrograms runs a program for the calls up to the first that writes, which returns their whole answers, and one for
// the others, with literal arguments.
func (m *meter) twoPrograms(ctx context.Context, t *tau2.Task, know knowledge, calls []recorded, want string) (
	all []exchange, expressible, same bool, err error) {
	n := slices.IndexFunc(calls, func(c recorded) bool { return c.tool.Writes })
	if n < 0 {
		n = len(calls)
	}
	m.domain.Reset()
	for part, of := range [][]recorded{calls[:n], calls[n:]} {
		if len(of) == 0 {
			continue
		}
		code, missing := write(m.domain.Name, know, of, manner{told: part == 0 || t.Told, literal: part == 1})
		if len(missing) > 0 {
			return nil, false, false, nil
		}
		var e exchange
		state := want
		if part == 0 { // nothing has changed yet
			state = ""
		}
		if e, same, err = m.run(ctx, code, state); err != nil || !same {
			return nil, true, false, err
		}
		all = append(all, e)
	}
	return all, true, true, nil
}
