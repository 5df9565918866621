package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// options are the command line.
type options struct {
	pkg        string
	files      *regexp.Regexp // only mutants of these files
	kinds      map[string]bool
	equivalent string
	results    string
	earlier    string
	believe    bool
	workers    int
	threshold  float64
	branches   *regexp.Regexp // files whose conditions have to be seen both ways
	args       []string       // for the test binary
}

func main() {
	o := options{kinds: map[string]bool{}}
	flag.StringVar(&o.pkg, "package", ".", "the package to measure")
	files := flag.String("files", "", "only mutants of files that match this expression")
	kinds := flag.String("kinds", strings.Join(allKinds, ","), "only these kinds of mutants")
	flag.StringVar(&o.equivalent, "equivalent", "", "file that lists mutants which make no difference, with reasons")
	flag.StringVar(&o.results, "results", "", "file to write one line per mutant to")
	flag.StringVar(&o.earlier, "earlier", "", "results of an earlier run: what was killed in it is taken for killed, as tests are only added")
	flag.BoolVar(&o.believe, "believe", false, "do not try the mutants that are listed as making no difference")
	flag.IntVar(&o.workers, "workers", max(1, runtime.NumCPU()-1), "mutants to try at a time")
	flag.Float64Var(&o.threshold, "threshold", 0, "percentage of mutants that have to be killed")
	branches := flag.String("branches", "^$", "files in which every condition has to be seen true and false")
	flag.Parse()
	o.files, o.branches, o.args = regexp.MustCompile(*files), regexp.MustCompile(*branches), flag.Args()
	for kind := range strings.SplitSeq(*kinds, ",") {
		o.kinds[kind] = true
	}
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(o options) (bool, error) {
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	p, err := load(o.pkg)
	if err != nil {
		return false, err
	}
	known, err := readEquivalent(o.equivalent)
	if err != nil {
		return false, err
	}
	bin, err := p.build(dir)
	if err != nil {
		return false, err
	}
	b := &binary{path: bin, dir: p.Dir, args: o.args, sites: len(p.sites)}
	tests, err := b.reach(dir, p.sites)
	if err != nil {
		return false, err
	}
	var wanted []*site
	for _, s := range p.sites {
		if o.files.MatchString(s.file) && o.kinds[s.kind] {
			wanted = append(wanted, s)
		}
	}
	known.mark(wanted)
	if err := takeOver(o.earlier, wanted); err != nil {
		return false, err
	}
	for _, s := range wanted {
		if o.believe && s.equivalent != nil {
			s.outcome = alive
		}
	}
	if err := b.try(wanted, tests, o.workers, o.results); err != nil {
		return false, err
	}
	return report(os.Stdout, o, p.sites, wanted, known), nil
}
