package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tokens"
)

// Options are the settings of [MeasureSavings].
type Options struct {
	Data     string     // a checkout of tau2-bench
	CacheDir string     // of compiled guests; "" compiles the guest anew
	Peers    []*Surface // of other products, for the same tools
	// Progress is called before each task; nil is ignored.
	Progress func(done, total int, what string)
}

// MeasureSavings makes the calls of all tasks in each of the ways.
func MeasureSavings(ctx context.Context, o Options) (*Savings, error) {
	r := &Savings{Tokens: tokens.Method}
	for _, name := range Names {
		d, err := Open(o.Data, name)
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

func measure(ctx context.Context, d *Domain, o *Options) (*Figures, error) {
	b, err := openBed(ctx, d, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer b.close()
	m := &meter{bed: b, report: &Figures{Name: d.name, Tools: len(d.tools), Tasks: len(d.tasks), Failed: []string{},
		Unknown: map[string]string{}}}
	if err := m.surfaces(ctx, o.Peers); err != nil {
		return nil, err
	}
	for i := range d.tasks {
		t := &d.tasks[i]
		if o.Progress != nil {
			o.Progress(i, len(d.tasks), d.name+" "+t.ID)
		}
		if len(t.Actions) == 0 {
			continue
		}
		if err := m.task(ctx, t); err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	return m.report, nil
}

// A meter measures one domain.
type meter struct {
	*bed
	report                  *Figures
	alone, atOnce, one, two *Way
	peers                   []*Way
}

// surfaces counts what every request has of the tools.
func (m *meter) surfaces(ctx context.Context, peers []*Surface) error {
	direct, err := surfaceOf(ctx, m.direct)
	if err != nil {
		return err
	}
	ours, err := surfaceOf(ctx, m.codemode)
	if err != nil {
		return err
	}
	way := func(name string, s *Surface) *Way {
		w := &Way{Name: name, Surface: s.tokens()}
		m.report.Ways = append(m.report.Ways, w)
		return w
	}
	m.alone, m.atOnce = way("one call at a time", direct), way("independent calls at once", direct)
	m.one, m.two = way("codemode, one program", ours), way("codemode, two programs", ours)
	for _, p := range peers {
		if p.domain == "" || p.domain == m.report.Name {
			w := way(p.name+", one program", p)
			if n := tokens.Count(p.Discovery); n > 0 {
				w.first = []exchange{{calls: 1, discovery: n}}
			}
			m.peers = append(m.peers, w)
		}
	}
	return nil
}

// task makes the calls of a task in each way.
func (m *meter) task(ctx context.Context, t *task) error {
	m.report.WithCalls++
	m.domain.reset()
	calls, err := m.oneAtATime(ctx, t)
	if err != nil {
		return err
	}
	want, know := m.domain.changes(), newKnowledge(t)
	found, err := m.discover(ctx, t, calls)
	if err != nil {
		return err
	}
	two, missing, same, err := m.twoPrograms(ctx, t, know, calls, want)
	if err != nil {
		return err
	}
	if same {
		m.report.TwoPrograms++
	} else if len(missing) == 0 {
		m.report.Failed = append(m.report.Failed, t.ID+" with two programs")
	}
	code, missing := write(m.domain.name, know, calls, manner{told: t.Told})
	if len(missing) > 0 {
		m.report.Unknown[t.ID] = missing[0]
		return nil
	}
	m.report.Expressible++
	m.domain.reset()
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
	m.atOnce.add(rounds(m.domain.name, know, calls))
	m.one.add(append(slices.Clone(found), program))
	m.two.add(append(found, two...))
	for _, w := range m.peers {
		w.add(append(slices.Clone(w.first), program))
	}
	return nil
}

// oneAtATime makes the calls as a model without programs does.
func (m *meter) oneAtATime(ctx context.Context, t *task) ([]recorded, error) {
	var calls []recorded
	for _, a := range t.Actions {
		c := recorded{action: a, tool: m.domain.tool(a.Name)}
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
	for _, n := range newDraft(server, know, calls, manner{}).stages() {
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
func (m *meter) discover(ctx context.Context, t *task, calls []recorded) ([]exchange, error) {
	found, text, failed, err := m.ask(ctx, "search_tools", map[string]any{"query": t.Reason})
	var left []string
	for _, c := range calls {
		name := call.Name(m.domain.name, c.Name)
		declared := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + `\(`).MatchString(text)
		if !declared && !slices.Contains(left, name) {
			left = append(left, name)
		}
	}
	all := []exchange{found}
	if err == nil && !failed && len(left) > 0 {
		found, text, failed, err = m.ask(ctx, "get_tools", map[string]any{"names": left})
		all = append(all, found)
	}
	if failed {
		return nil, fmt.Errorf("looking for tools: %s", text)
	}
	for i := range all { // its results say which tools there are
		all[i].discovery, all[i].results = all[i].results, 0
	}
	return all, err
}

// ask calls a tool of codemode.
func (m *meter) ask(ctx context.Context, tool string, args map[string]any) (e exchange, text string, failed bool,
	err error) {
	text, failed, err = ask(ctx, m.codemode, tool, args)
	return exchange{calls: 1, arguments: tokens.Count(tool) + tokens.Count(literal(args)),
		results: tokens.Count(text)}, text, failed, err
}

// run runs a program, and reports whether the database is then as it has to be.
func (m *meter) run(ctx context.Context, code, want string) (e exchange, same bool, err error) {
	e, _, failed, err := m.ask(ctx, "codemode_eval", map[string]any{"code": code})
	return e, !failed && m.domain.changes() == want, err
}

// twoPrograms runs a program for the calls up to the first that writes, which returns their whole answers, and one for
// the others, with literal arguments. It returns the arguments that a program cannot know, if there are any.
func (m *meter) twoPrograms(ctx context.Context, t *task, know knowledge, calls []recorded, want string) (
	all []exchange, missing []string, same bool, err error) {
	n := slices.IndexFunc(calls, func(c recorded) bool { return c.tool.writes })
	if n < 0 {
		n = len(calls)
	}
	m.domain.reset()
	for part, of := range [][]recorded{calls[:n], calls[n:]} {
		if len(of) == 0 {
			continue
		}
		code, missing := write(m.domain.name, know, of, manner{told: part == 0 || t.Told, literal: part == 1})
		if len(missing) > 0 {
			return nil, missing, false, nil
		}
		state := want
		if part == 0 { // nothing has changed yet
			state = ""
		}
		var e exchange
		if e, same, err = m.run(ctx, code, state); err != nil || !same {
			return nil, nil, false, err
		}
		all = append(all, e)
	}
	return all, nil, true, nil
}
