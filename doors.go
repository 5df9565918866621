package codemode

import (
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/discovery"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// Each door returns a part of the Evaluator. New makes the parts, and Close ends them.

// Config is the configuration in force; nil when there is none.
func (e *Evaluator) Config() *config.Config { return e.rules.Config() }

// Loader loads the configuration, and takes overlays from people's tools.
func (e *Evaluator) Loader() *loader.Loader { return e.loader }

// Rules has the basis of decisions: the configuration in force, saved programs, sessions made for a role, and the
// definitions of tools that people accepted.
func (e *Evaluator) Rules() *inforce.Rules { return e.rules }

// Tools has the connections to upstreams, and their tools.
func (e *Evaluator) Tools() *registry.Registry { return e.tools }

// Discovery tells which tools and servers programs of a profile can use.
func (e *Evaluator) Discovery() *discovery.Directory {
	return &discovery.Directory{Rules: e.rules, Tools: e.tools}
}

// People asks people, and has their grants.
func (e *Evaluator) People() *asking.People { return e.people }

// Record has the record of calls and its database.
func (e *Evaluator) Record() *recorder.Recorder { return e.record }

// Checker has the tokens of checks and their notes.
func (e *Evaluator) Checker() *preflight.Checker { return e.checker }

// Runs has the runs in progress, the runs that wait for people, and the results of runs that ended without their
// client.
func (e *Evaluator) Runs() *runs.Executor { return e.runs }
