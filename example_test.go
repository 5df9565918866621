package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
)

// A Go service runs a program under a profile of its own making.
func Example() {
	ctx := context.Background()
	config, err := config.Parse("codemode.json", []byte(`{
		"evaluation": {
			"profiles": { "clock": { "allowlist": ["time__now"] } }
		}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: config, CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)

	r, err := e.Eval(ctx, codemode.Request{Profile: "clock", Code: `
		try {
			await codemode.time__convert({ time: "09:00", from: "UTC", to: "Asia/Tokyo" });
		} catch (error) {
			console.log(error.reason);
		}
		return { doubled: [1, 2, 3].map(n => n * 2) };`})
	fmt.Print(r.Text(err))
	// Output:
	// 1 of 1 calls did not succeed: time__convert refused; why is below
	// {
	//   "doubled": [
	//     2,
	//     4,
	//     6
	//   ]
	// }
	//
	// console:
	//   log: denied
	//
	// calls: 1 (1 refused)
	//   1. time__convert refused (denied): profile clock: no rule decides, and what is not on the allowlist is denied
}

// An observer sees what happens in a run, while it happens.
func ExampleRequest() {
	ctx := context.Background()
	config, err := config.Parse("codemode.json", []byte(`{
		"evaluation": { "profiles": { "clock": { "allowlist": ["time__now"] } } }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: config, CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)

	_, _ = e.Eval(ctx, codemode.Request{
		Profile: "clock",
		Code:    `console.log("what time is it?"); await codemode.time__now(); await codemode.time__convert({})`,
		Observe: func(e codemode.Event) { fmt.Println(e) },
	})
	// Output:
	// log: what time is it?
	// call 1: time__now
	// call 1: time__now done
	// call 2: time__convert
	// call 2: time__convert refused (denied)
	// the run ended: threw
}

// Without a configuration nothing is connected and nothing is allowed.
func ExampleNew() {
	ctx := context.Background()
	e, err := codemode.New(ctx, codemode.Options{CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	r, err := e.Eval(ctx, codemode.Request{Code: "return 6 * 7"})
	fmt.Print(r.Text(err))
	// Output:
	// 42
	//
	// calls: none
}

// Check says what a program would do and runs nothing.
func ExampleEvaluator_Check() {
	ctx := context.Background()
	config, err := config.Parse("codemode.json", []byte(`{
		"evaluation": { "profiles": { "careful": { "asklist": ["time__*"] } } }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: config, CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	plan, err := e.Check(ctx, codemode.Request{Profile: "careful", Code: `return await codemode.time__now({})`})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan.Text())
	// Output:
	// This program runs under the profile careful: nothing that can be seen would be refused, and a person would be asked about 1 call. Calls seen in its text (each is decided again when it is made):
	//   1:14 time__now: ask, risk medium (rule time__*, codemode.json:2)
	//
	// Reply to paste:
	//   My program is going to call time__now; you will be asked before that happens.
}

// A service gives programs two of its Go functions: one is allowed, and a person decides about the other.
func ExampleFunc() {
	ctx := context.Background()
	config, err := config.Parse("rules.json", []byte(`{
		"evaluation": { "profiles": { "desk": { "allowlist": ["shop__price"], "asklist": ["shop__order"] } } }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	type Order struct {
		Article string `json:"article" jsonschema:"its number, such as A-17"`
		Count   int    `json:"count"`
	}
	price := func(_ context.Context, in struct {
		Article string `json:"article"`
	}) (float64, error) {
		if in.Article != "A-17" {
			return 0, fmt.Errorf("there is no article %q", in.Article)
		}
		return 2.5, nil
	}
	order := func(_ context.Context, in Order) (struct{}, error) {
		fmt.Println("ordered:", in.Count, "of", in.Article)
		return struct{}{}, nil
	}
	person := approvals.Approver("chat", func(_ context.Context, q *prompt.Request) (call.Answer, error) {
		fmt.Println("asked:", prompt.Summary(q))
		return call.Answer{Allowed: true}, nil
	})
	e, err := codemode.New(ctx, codemode.Options{
		Config: config, CacheDir: cachetest.Dir(), Channels: []approvals.Channel{person},
		Servers: []codemode.Server{{Name: "shop", Functions: []codemode.Function{
			codemode.Func("price", "What an article costs.", price, codemode.ReadOnly),
			codemode.Func("order", "Orders an article.", order),
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	total, _, err := codemode.Eval[float64](ctx, e, codemode.Request{Profile: "desk", Code: `
		const price = await codemode.shop.price({ article: "A-17" });
		await codemode.shop.order({ article: "A-17", count: 4 });
		await codemode.shop.price({ article: "B-1" }).catch(e => console.log(e.name, e.message));
		return 4 * price;`})
	fmt.Println(total, err)
	// Output:
	// asked: shop.order article: "A-17", count: 4
	// ordered: 4 of A-17
	// 10 <nil>
}

// A batch runs one program for each of its items.
func ExampleEvaluator_Prepare() {
	ctx := context.Background()
	e, err := codemode.New(ctx, codemode.Options{CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	p, err := e.Prepare(ctx, codemode.Request{Code: `const words: string[] = input.split(" "); return words.length`})
	if err != nil {
		fmt.Println(err) // a mistake in the program, with its line
		return
	}
	for _, item := range []string{"one", "two words", "and three words"} {
		input, _ := json.Marshal(item)
		var words int
		r, err := p.Run(ctx, input)
		if err == nil {
			err = r.Decode(&words)
		}
		fmt.Println(words, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

// docs/embedding.md shows parts of this example.
func Example_embedding() {
	ctx, folder := context.Background(), cachetest.Dir()
	asked := ""
	ask := func(_ context.Context, text string) (bool, error) {
		asked = text
		return true, nil
	}

	type Item struct {
		Article string `json:"article" jsonschema:"its number, such as A-17"`
		Count   int    `json:"count,omitzero"`
	}
	price := func(ctx context.Context, in Item) (float64, error) {
		if in.Article != "A-17" {
			return 0, fmt.Errorf("there is no article %q", in.Article) // a ToolError in the program
		}
		return 2.5, nil
	}
	order := func(ctx context.Context, in Item) (struct{}, error) { return struct{}{}, nil }
	shop := codemode.Server{Name: "shop", Functions: []codemode.Function{
		codemode.Func("price", "What an article costs.", price, codemode.ReadOnly),
		codemode.Func("order", "Orders an article.", order),
	}}

	rules, err := config.Parse("rules.json", []byte(`{"evaluation": {"profiles": {"desk": {
		"allowlist": ["shop__price"],
		"asklist":   [{"tool": "shop__order", "risk": "medium", "reason": "it costs money"}],
		"denylist":  [{"tool": "shop__order", "when": {"/count": {"gt": 100}}}]
	}}}}`))
	if err != nil {
		fmt.Println(err) // all mistakes, each with line and column
		return
	}

	person := approvals.Approver("chat", func(ctx context.Context, q *prompt.Request) (call.Answer, error) {
		yes, err := ask(ctx, prompt.Text(q, prompt.RenderOptions{}))
		return call.Answer{Allowed: yes}, err
	})

	e, err := codemode.New(ctx, codemode.Options{
		Config:   rules,
		Servers:  []codemode.Server{shop},
		Channels: []approvals.Channel{person},
		CacheDir: folder, // of the compiled sandbox: without it, the first program of a process waits a second
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)

	tools, err := e.Discovery().Declarations(ctx, nil, codemode.Query{Profiles: []string{"desk"}})
	fmt.Println(strings.Contains(tools, "shop__price"), err)

	total, r, err := codemode.Eval[float64](ctx, e, codemode.Request{
		Profile:   "desk",
		Principal: "anna", // for whom it runs: for the record, shares and grants
		Code: `const price = await codemode.shop.price({ article: "A-17" });
			await codemode.shop.order({ article: "A-17", count: 4 });
			return 4 * price;`,
		Observe: func(e codemode.Event) { fmt.Println(e) },
	})
	if err != nil {
		fmt.Println(r.Text(err)) // for the model: what went wrong, where, and what became of each call
		return
	}
	fmt.Println(total, r.Calls[1].Tool, r.Calls[1].State)
	fmt.Println(strings.Contains(asked, "why       it costs money"), strings.Contains(asked, "count: 4"))

	prepared, err := e.Prepare(ctx, codemode.Request{Profile: "desk", Code: `return input.count * 2`})
	if err != nil {
		fmt.Println(err) // a mistake in the program, with line and column
		return
	}
	for _, item := range []Item{{"A-17", 1}, {"A-18", 2}} {
		input, _ := json.Marshal(item)
		r, err := prepared.Run(ctx, input)
		var double int
		if err == nil {
			err = r.Decode(&double)
		}
		fmt.Println(double, err)
	}

	r, err = e.Eval(ctx, codemode.Request{Profile: "desk", Code: `return Array(50000).fill("row")`})
	fmt.Println(len(r.Value), len(r.Text(err)) < len(r.Value), r.Kept[0].Shape)
	handle, _ := json.Marshal(r.Kept[0].Handle) // r.Text names it too
	rows, _, err := codemode.Eval[[]string](ctx, e, codemode.Request{Profile: "desk", Input: handle,
		Code: `return codemode.load(input, { from: 49998, count: 10 })`})
	fmt.Println(rows, err)
	// Output:
	// true <nil>
	// call 1: shop__price
	// call 1: shop__price done
	// call 2: shop__order
	// call 2: shop__order waits for a person
	// call 2: shop__order done
	// the run ended: finished
	// 10 shop__order done
	// true true
	// 2 <nil>
	// 4 <nil>
	// 300001 true an array of 50,000 texts
	// [row row] <nil>
}

// docs/deterministic.md shows a part of this example.
func Example_deterministic() {
	ctx := context.Background()
	rules, err := config.Parse("rules.json", []byte(`{"evaluation": {"profiles": {"desk": {}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: rules, CacheDir: cachetest.Dir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	const program = `return new Date().getUTCFullYear()`
	r, err := e.Eval(ctx, codemode.Request{
		Profile: "desk", Code: program,
		Deterministic: &codemode.Deterministic{
			Seed:  42,                                          // of Math.random and crypto
			Start: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), // of the clock
			Steps: 5_000_000,                                   // more end the run, as sandbox.TooManySteps
		},
	})
	if err != nil {
		fmt.Println(r.Text(err))
		return
	}
	fmt.Println(string(r.Value), r.Usage.Steps > 0)
	// Output: 2030 true
}

// A Go program puts its own tools behind the same gate that programs pass: rules, a person, the record.
func ExampleEvaluator_Gate() {
	ctx := context.Background()
	config, err := config.Parse("rules.json", []byte(`{
		"evaluation": { "profiles": { "careful": {
			"allowlist": ["mail__list"],
			"asklist":   [{ "tool": "mail__send", "risk": "medium", "reason": "leaves the house" }],
			"denylist":  ["mail__delete_*"],
			"unmatched": "ask",
			"ask":       { "edit": true }
		} } }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: config})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)

	// In a real program this asks somebody: over a chat, a page, a terminal (approvals.Terminal).
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		fmt.Println("asked:", prompt.Summary(r), "risk", r.Risk)
		switch r.Tool {
		case "send":
			return call.Answer{Allowed: true, Args: json.RawMessage(`{"to":"anna","text":"see you at 9"}`)}, nil
		}
		return call.Answer{Reason: "not while I am away"}, nil
	})
	g, err := e.Gate(codemode.GateOptions{Profile: "careful", Channels: []approvals.Channel{person}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	execute := func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		fmt.Println("executed with", string(args))
		return json.RawMessage(`"done"`), nil
	}
	for _, call := range []codemode.GateCall{
		{Server: "mail", Tool: "list"},
		{Server: "mail", Tool: "send",
			Args: json.RawMessage(`{"to":"anna","text":"see you at 8","password":"hunter2hunter2"}`)},
		{Server: "mail", Tool: "delete_all"},
		{Server: "mail", Tool: "forward", Args: json.RawMessage(`{"to":"bob"}`)},
	} {
		out, err := g.Execute(ctx, call, execute)
		var denied *codemode.DeniedError
		switch {
		case errors.As(err, &denied):
			fmt.Println("not executed:", denied.Reason)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("result:", string(out))
		}
	}
	// Output:
	// executed with {}
	// result: "done"
	// asked: mail.send to: "anna", text: "see you at 8", password: (hidden: 14 characters) risk medium
	// executed with {"to":"anna","text":"see you at 9"}
	// result: "done"
	// not executed: denied
	// asked: mail.forward to: "bob" risk medium
	// not executed: elicitation_declined
}
