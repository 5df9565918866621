package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/sandbox"
)

// Options are the settings of [Run].
type Options struct {
	// Tools are the tools of the servers; nil takes those that the servers of the Evaluator have listed.
	Tools *catalog.Catalog
	// Profiles are the names of the profiles to attack; "" is the base tool. Nil takes all that programs can have.
	Profiles []string
	CacheDir string   // of compiled guests; "" compiles the guest anew
	Worker   []string // reads programs, as in codemode.Options
	// Progress is called before each group of attacks, by several goroutines; nil is ignored.
	Progress func(done, total int, what string)
}

// nobodyInParticular is whom the programs run for: overlays for everybody apply.
var nobodyInParticular = config.Subject{}

// Run attacks the profiles of an Evaluator. It calls no server. The error says what kept the suite from running.
func Run(ctx context.Context, e *codemode.Evaluator, o Options) (*Report, error) {
	cfg := e.Config()
	if cfg == nil {
		return nil, errors.New("there is no configuration")
	}
	if o.Tools == nil {
		o.Tools = e.Tools().Catalog
	}
	if o.Profiles == nil {
		o.Profiles = Reachable(cfg)
	}
	engine, err := sandbox.New(ctx, sandbox.Options{CacheDir: o.CacheDir})
	if err != nil {
		return nil, err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	d := &dry{engine: engine, reader: &analysis.Reader{}, rules: e.Rules(), catalog: o.Tools, registry: e.Tools(),
		people: e.People(), log: slog.New(slog.DiscardHandler)}
	if len(o.Worker) > 0 {
		d.reader.Workers = analysis.NewWorkers(nil, o.Worker...)
		defer d.reader.Workers.Close()
	}
	report := &Report{Started: time.Now().UTC(), Profiles: []string{}, Findings: []Finding{}}
	tools := toolsOf(o.Tools)
	for _, t := range tools {
		report.Tools++
		if t.sample == nil {
			report.Unclear = append(report.Unclear, t.Name)
		}
	}
	var all []task
	for _, name := range o.Profiles {
		s, err := newSubject(d, cfg, name, tools)
		if err != nil {
			return nil, err
		}
		report.Profiles = append(report.Profiles, s.name())
		for _, w := range s.weaknesses() {
			all = append(all, task{s, w})
		}
	}
	found, err := try(ctx, all, o.Progress)
	if err != nil {
		return nil, err
	}
	report.Programs, report.Seconds = d.runs, time.Since(report.Started).Seconds()
	report.add(found)
	return report, nil
}

// Reachable lists the profiles that programs can run under.
func Reachable(cfg *config.Config) []string {
	names := cfg.Names()
	switch {
	case cfg.Default == "" && cfg.Exposes("codemode_eval"):
		return append([]string{""}, names...)
	case cfg.Default != "" && !slices.Contains(names, cfg.Default) && cfg.Exposes("codemode_eval"):
		return append([]string{cfg.Default}, names...)
	}
	return names
}

func toolsOf(c *catalog.Catalog) (all []*tool) {
	for _, t := range c.Tools() {
		x := newTool(t)
		g := generator{root: x.schema}
		if made, ok := g.value("", x.schema, 0).(map[string]any); ok && x.fits(made) {
			x.sample = made
		} else if x.schema == nil {
			x.sample = map[string]any{}
		}
		all = append(all, x)
	}
	return all
}

// A task is one weakness to look for, under one profile.
type task struct {
	*subject
	weakness
}

// try tries all tasks, several at once, and returns the findings in the order of the tasks.
func try(ctx context.Context, all []task, progress func(done, total int, what string)) ([]Finding, error) {
	results := make([]*Finding, len(all))
	work, one := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range all {
		work.Go(func() (err error) {
			if progress != nil && one.Err() == nil {
				progress(i+1, len(all), fmt.Sprintf("%s under %s", t.family, t.name()))
			}
			results[i], err = t.subject.try(one, &t.weakness)
			return err
		})
	}
	err := work.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, f := range results {
		if f != nil {
			found = append(found, *f)
		}
	}
	return found, nil
}

// literal is JSON, and so also JavaScript.
func literal(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a program is for people to read
	if err := e.Encode(v); err != nil {
		panic("policy: " + err.Error()) // cannot happen: it was decoded from JSON, or is made of texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}
