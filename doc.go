// Package codemode runs programs that language models write, and lets them make only the tool calls that a person
// allows.
//
// A program is the body of an async JavaScript or TypeScript function. It sees
// the tools of any number of MCP servers as codemode.<server>__<tool>(args).
// An [Evaluator] runs it:
//
//	e, err := codemode.New(ctx, codemode.Options{ConfigPath: "codemode.json"})
//	defer e.Close(ctx)
//	r, err := e.Eval(ctx, codemode.Request{Profile: "safe", Code: "return await codemode.time__now({})"})
//	fmt.Print(r.Text(err))
//
// A Go service that embeds an Evaluator has the same gate as the MCP server: the gate decides each call by the current
// profile, asks a person when the profile says so, records the call, and only then sends it. The zero [Options] allow
// nothing. A [Request] without a Profile runs under the default profile of the configuration. Without a default, it is
// the error [ErrNoProfile], unless it says Unrestricted: then nothing but the floor and the overlays limits its calls.
//
// # In a service
//
// A service gives programs its own Go functions, under its own rules, and asks people in its own way. This is a whole
// one:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"sync"
//
//		"github.com/codemode-project/codemode"
//		"github.com/codemode-project/codemode/approvals"
//		"github.com/codemode-project/codemode/approvals/prompt"
//		"github.com/codemode-project/codemode/call"
//		"github.com/codemode-project/codemode/config"
//	)
//
//	const rules = `{"evaluation": {"profiles": {"desk": {"allowlist": ["shop__price"], "asklist": ["shop__order"]}}}}`
//
//	type item struct {
//		Article string `json:"article" jsonschema:"its number, such as A-17"`
//		Count   int    `json:"count,omitzero"`
//	}
//
//	func price(_ context.Context, in item) (float64, error) { return 2.5, nil }
//
//	func order(_ context.Context, in item) (string, error) { return fmt.Sprintf("%d %s", in.Count, in.Article), nil }
//
//	var one sync.Mutex // question at a time: a program can make several calls at once
//
//	func ask(_ context.Context, q *prompt.Request) (call.Answer, error) {
//		one.Lock()
//		defer one.Unlock()
//		fmt.Print(prompt.Text(q, prompt.RenderOptions{}), "yes or no? ")
//		var word string
//		_, err := fmt.Scanln(&word)
//		return call.Answer{Allowed: word == "yes"}, err
//	}
//
//	func main() {
//		ctx := context.Background()
//		cfg, err := config.Parse("rules.json", []byte(rules))
//		if err != nil {
//			log.Fatal(err)
//		}
//		e, err := codemode.New(ctx, codemode.Options{
//			Config: cfg, Channels: []approvals.Channel{approvals.Approver("terminal", ask)},
//			Servers: []codemode.Server{{Name: "shop", Functions: []codemode.Function{
//				codemode.Func("price", "What an article costs.", price, codemode.ReadOnly),
//				codemode.Func("order", "Orders an article.", order)}}},
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer e.Close(ctx)
//		total, r, err := codemode.Eval[float64](ctx, e, codemode.Request{Profile: "desk", Code: `
//			await codemode.shop.order({ article: "A-17", count: 4 });
//			return 4 * await codemode.shop.price({ article: "A-17" });`})
//		if err != nil {
//			log.Fatal(r.Text(err)) // for the model that wrote the program: what went wrong, where, and each call
//		}
//		fmt.Println(total)
//	}
//
// [Func] says which types a function may have. Package config describes the rules, package runs the fields of a
// [Request] and a [Response], and package approvals the ways to people. What a model needs to write such programs, in
// TypeScript, is in e.Discovery().Declarations. [Evaluator.Prepare] reads a program once for many runs, and
// Request.Observe sees a run as it happens. docs/embedding.md shows these, and the folder examples has whole services.
// A service without programs puts the calls that it executes itself through [Evaluator.Gate].
//
// # The packages, from the bottom up
//
// Package sandbox runs JavaScript in a fresh WebAssembly guest, within limits. The guest has one way out, and sandbox
// does not know what the host does with it. Package sandbox/memory has the memory of guests, and guest/quickjs is that
// guest. They work without the rest.
//
// Package analysis reads a program before it runs: it turns TypeScript into JavaScript, finds mistakes with line and
// column, and the calls the text shows. Its findings are for people and decide nothing. It reads in worker processes,
// where [Options.Worker] names one, because a hostile text can be expensive to read.
//
// Package call has the words of one tool call that all packages share.
//
// Package profiles holds what a person allows, and decides calls. A decision
// depends on the profile and the call alone, and gives its reasons. Package
// profiles/condition judges arguments, and profiles/pattern matches names.
//
// Package config reads and follows configuration files and makes profiles of them.
// config/servers reads the entries of mcpServers as all clients write them,
// config/notifications where people are told of questions, config/collectors where
// figures and traces go, config/issuers whose tokens count, config/signin how
// people get to the page, config/tenants the configurations of several tenants,
// and config/variables what stands for variables, commands and files.
// config/changes says what a change of the rules would do, and config/importtable
// turns tables of other gates into rules.
//
// Package catalog knows the current tools: names, schemas, TypeScript declarations and search. It withholds a name that
// two tools would share. Package catalog/pins knows the definitions of tools that people accepted.
//
// Package upstream keeps the connections to MCP servers and sends calls. upstream/child runs the processes of servers,
// upstream/login logs in at hosted ones, upstream/builtin has the built-in servers time and filesystem, and
// upstream/functions makes servers of Go functions.
//
// Package approvals puts a call to a person over every channel that may reach
// one, and allows it only on a clear yes. It does not know MCP. Package
// approvals/prompt writes one question as text or as a form, and
// approvals/terminal reaches people at this machine.
//
// Package audit writes the record, and package store is the database of the record
// and of everything else that outlives a process. audit/report reads the record
// for people. store/backup copies the database to a file, and makes a database of
// one.
//
// Package hostfns holds what a program may call and the one Gate that each call passes. It declares its needs of the
// others as small interfaces.
//
// Package notify tells people, where they are, that a question waits.
//
// Package results keeps what did not fit into replies, for later programs, and the images and files that a program
// keeps. Package sessions keeps what one program leaves for the next one, and budgets counts calls over many runs.
//
// Package inforce knows which configuration is in force and binds runs to its profiles, and inforce/loader reads the
// files and puts them in force. Package registry joins the catalogue and the connections; recorder makes entries of
// events; preflight says what a program would do; asking puts the questions of a run; runs runs programs over guests
// and processes, and runs/feed tells those who look what happens in them.
//
// Package discovery tells clients which tools exist and what the rules say about them. Package owntools puts a Go
// program's own tools behind the Gate.
//
// This package wires the parts into an Evaluator and has a door to each, such as
// [Evaluator.Runs] and [Evaluator.Record]. Package server is an MCP server around
// an Evaluator; server/direct carries calls past the SDK's HTTP handler, server/oauth
// checks tokens of issuers, server/origins who sends a request, server/limits bounds
// what callers can use up, server/resources has what they read as resources, and
// server/requeststate seals what they carry between the requests of one call.
// Package console is the web page for people; console/signin lets them in at an
// identity provider and console/form makes a form of a JSON Schema. Packages
// metrics and tracing tell operators what happens, and metrics/push sends the
// figures. Package cmd/codemode is the command line around them, with a folder for
// each large command.
package codemode
