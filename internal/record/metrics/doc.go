// Package metrics counts what a process does, for Prometheus. It sees the entries of the record as a
// [recorder.Observer], wraps the handlers of a listener, and reads at each scrape what is in use.
//
//	m := metrics.New(version)
//	e, err := codemode.New(ctx, codemode.Options{ServiceOptions: codemode.ServiceOptions{Observer: m.Observer()}})
//	m.Follow(metrics.Sources{Upstreams: e.Tools().Manager.Status, Budgets: e.Runs().Budgets})
//	http.Handle("/metrics", m.Handler())
//
// Labels are bounded: names of profiles and servers, which the configuration has, and words of codemode. No label has a
// principal, a tool, a run, or a text of a program. A name beyond [maxNames] counts as "others".
//
// docs/operations.md lists the figures.
package metrics
