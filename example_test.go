package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"

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
