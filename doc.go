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
// # The packages
//
// Package sandbox runs JavaScript in a fresh WebAssembly guest, within limits. The guest has one way out, and sandbox
// does not know what the host does with it. guest/quickjs is that guest. They work without the rest.
//
// Package analysis reads a program before it runs: it turns TypeScript into JavaScript, finds mistakes with line and
// column, and the calls the text shows. Its findings are for people and decide nothing. It reads in worker processes,
// where [Options.Worker] names one, because a hostile text can be expensive to read.
//
// Package call has the words of one tool call that all packages share. Package profiles holds what a person allows, and
// decides calls: a decision depends on the profile and the call alone, and gives its reasons. Package config reads and
// follows configuration files and makes profiles of them. Package hostfns holds what a program may call and the one
// Gate that each call passes. It declares its needs of the others as small interfaces.
//
// Package approvals puts a call to a person over every channel that may reach one, and allows it only on a clear yes.
// It does not know MCP. Package approvals/prompt writes one question as text or as a form.
//
// This package wires the parts into an Evaluator and has a door to each, such as [Evaluator.Runs] and
// [Evaluator.Record]. Package server is an MCP server around an Evaluator. What is below internal is in the folders
// tools (connections, catalogue, accepted definitions), record (entries, their chain, figures and traces), runs (a
// program from its request to its result, over guests and processes), store (the database), console (the page), and one
// for the parts of each package above. docs/architecture.md follows a call through them, and CONTRIBUTING.md says where
// to add something.
package codemode
