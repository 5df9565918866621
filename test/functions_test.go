package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A size is an enum with a schema of its own.
type size string

func (size) JSONSchema() string { return `{"type": "string", "enum": ["small", "large"]}` }

type orderArgs struct {
	Article string          `json:"article" jsonschema:"its number, such as A-17"`
	Count   int64           `json:"count"`
	Size    *size           `json:"size,omitempty"`
	By      time.Time       `json:"by,omitzero"`
	Note    json.RawMessage `json:"note,omitempty"`
	//lint:ignore U1000 programs do not see it
	secret string
}

type orderDone struct {
	Number int64    `json:"number"`
	Lines  []string `json:"lines"`
}

type none = struct{}

// A shop is a service with functions for programs.
type shop struct {
	mu      sync.Mutex
	ordered []orderArgs
	entered chan struct{} // receives when waits or slow begins
	release chan struct{} // slow ends when it is closed
	ended   atomic.Int64  // calls of waits that have ended
}

func (s *shop) order(_ context.Context, in orderArgs) (orderDone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordered = append(s.ordered, in)
	return orderDone{Number: 9007199254740993}, nil
}

func (s *shop) server() codemode.Server {
	return codemode.Server{Name: "shop", Instructions: "ask for the price first", Functions: []codemode.Function{
		codemode.Func("price", "What an article costs.", func(_ context.Context, in struct {
			Article string `json:"article"`
		}) (float64, error) {
			if in.Article == "" {
				return 0, errors.New("there is no article without a number")
			}
			return 2.5, nil
		}, codemode.ReadOnly, codemode.Title("Price")),
		codemode.Func("order", "Orders an article.", s.order, codemode.Additive),
		codemode.Func("panics", "", func(context.Context, none) (none, error) {
			m := new(shop).prices()
			m["secret word"] = len(m) // it panics
			return none{}, nil
		}),
		codemode.Func("nothing", "", func(context.Context, none) (struct {
			List  []string       `json:"list"`
			Map   map[string]int `json:"map"`
			Point *orderDone     `json:"point"`
		}, error) {
			return struct {
				List  []string       `json:"list"`
				Map   map[string]int `json:"map"`
				Point *orderDone     `json:"point"`
			}{}, nil
		}),
		codemode.Func("sizes", "", func(context.Context, none) ([]size, error) { return []size{"huge"}, nil }),
		codemode.Func("infinite", "", func(context.Context, none) (float64, error) { return math.Inf(1), nil }),
		codemode.Func("much", "", func(context.Context, struct {
			N int `json:"n"`
		}) (string, error) {
			return strings.Repeat("x", 65<<20), nil
		}),
		codemode.Func("waits", "", func(ctx context.Context, _ none) (none, error) {
			defer s.ended.Add(1)
			s.entered <- struct{}{}
			<-ctx.Done()
			return none{}, ctx.Err()
		}),
		codemode.Func("slow", "", func(context.Context, none) (string, error) {
			s.entered <- struct{}{}
			<-s.release
			return "done", nil
		}),
		codemode.Func("echo", "", func(_ context.Context, in map[string]any) (any, error) { return in, nil },
			codemode.ReadOnly),
	}}
}

// prices is a map that nobody has made.
func (*shop) prices() map[string]int { return nil }

func newShop() *shop { return &shop{entered: make(chan struct{}, 4), release: make(chan struct{})} }

// embeds adds servers to the options.
func embeds(servers ...codemode.Server) func(*codemode.Options) {
	return func(o *codemode.Options) { o.Servers = append(o.Servers, servers...) }
}

const shopRules = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["shop__*"]}}}}`

// What programs get from Go functions, and what the functions get from programs.
func TestFunctionsInPrograms(t *testing.T) {
	t.Parallel()
	const caught = `.then(v => v, e => [e.name, e.message, e.path ?? null])`
	for _, row := range []struct{ why, code, want string }{
		{"a number", `return await codemode.shop.price({article: "A-1"})`, `2.5`},
		{"the other form of the name", `return await codemode.shop__price({article: "A-1"})`, `2.5`},
		{"an error", `return await codemode.shop.price({article: ""})` + caught,
			`["ToolError","shop__price: there is no article without a number",null]`},
		{"a missing argument", `return await codemode.shop.price({})` + caught,
			`["InvalidArgumentsError","shop__price: /article: expected a string, got nothing; it takes { article: string }","/article"]`},
		{"an argument that the type does not have", `return await codemode.shop.price({article: "a", colour: 1})` + caught,
			`["InvalidArgumentsError","shop__price: /colour: expected no property of that name, got the number 1; it takes { article: string }","/colour"]`},
		{"an unexported field", `return await codemode.shop.order({article: "a", count: 1, secret: "x"})` + caught,
			`["InvalidArgumentsError",`},
		{"another case", `return await codemode.shop.price({Article: "a"})` + caught, `["InvalidArgumentsError",`},
		{"a word that is not in the enum",
			`return await codemode.shop.order({article: "a", count: 1, size: "huge"})` + caught,
			`["InvalidArgumentsError","shop__order: /size: expected \"small\" or \"large\" or null, got`},
		{"an integer beyond the type", `return await codemode.shop.order({article: "a", count: 1e30})` + caught,
			`["ToolError","shop__order: the arguments do not fit: want an integer (int64) at /count, got 1e+30",null]`},
		{"a time that is none", `return await codemode.shop.order({article: "a", count: 1, by: "noon"})` + caught,
			`["ToolError","shop__order: the arguments do not fit: want a string that is a time.Time at /by, got \"noon\": `},
		{"all digits of an integer",
			`const o = await codemode.shop.order({article: "a", count: 1}); return [typeof o.number, o]`,
			`["bigint",{"number":9007199254740993,"lines":[]}]`},
		{"nil values", `return await codemode.shop.nothing()`, `{"list":[],"map":{},"point":null}`},
		{"a panic", `return await codemode.shop.panics({})` + caught,
			`["UpstreamError","shop__panics: upstream \"shop\", tool \"panics\": an internal error ended the call`},
		{"a result that is no JSON", `return await codemode.shop.infinite({})` + caught,
			`["ToolError","shop__infinite: the function has run, but the program cannot get its result: unsupported value: `},
		{"a huge result", `return await codemode.shop.much({n: 1})` + caught,
			`["ToolError","shop__much: the function has run, but the program cannot get its result: it has 68157442 bytes as`},
		{"any arguments and any result", `return await codemode.shop.echo({a: [1, {b: null}], c: "x"})`,
			`{"a":[1,{"b":null}],"c":"x"}`},
		{"no such function", `return await codemode.shop.prize({})` + caught, `["ToolNotFoundError",`},
		{"a description",
			`return (await codemode.get_tools(["shop__price"])).includes("/** What an article costs. */")`, `true`},
	} {
		t.Run(row.why, func(t *testing.T) {
			e := open(t, shopRules, embeds(newShop().server()))
			r, err := e.Eval(t.Context(), codemode.Request{Code: row.code})
			whole := strings.HasSuffix(row.want, "]")
			if got := string(r.Value); err != nil || !strings.HasPrefix(got, row.want) || whole && got != row.want {
				t.Errorf("got %s, %v\nwant %s", r.Value, err, row.want)
			}
		})
	}
}

// A function gets the values that the program passed.
func TestFunctionsGetTheirArguments(t *testing.T) {
	t.Parallel()
	s := newShop()
	e := open(t, shopRules, embeds(s.server()))
	_, err := e.Eval(t.Context(), codemode.Request{Code: `await codemode.shop.order({
		article: "A-17", count: 9007199254740993n,
		size: "large", by: "2026-11-25T02:00:00+01:00", note: {"z": [1, 9007199254740993n], "a": null}})`})
	must(t, err)
	large := size("large")
	got := s.ordered[0]
	if !got.By.Equal(time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("the time is %v", got.By)
	}
	got.By = time.Time{}
	want := orderArgs{Article: "A-17", Count: 9007199254740993, Size: &large,
		Note: json.RawMessage(`{"z":[1,9007199254740993],"a":null}`)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The log has the panic, and the process lives; what the program learns is in TestFunctionsInPrograms.
func TestAPanicOfAFunctionIsLogged(t *testing.T) {
	t.Parallel()
	log := &testwait.Buffer{}
	e := open(t, shopRules, embeds(newShop().server()), func(o *codemode.Options) { o.Log = log.Logger() })
	r, err := e.Eval(t.Context(), codemode.Request{
		Code: `try { await codemode.shop.panics() } catch (e) { return e.message + e.outcome }`})
	if err != nil || strings.Contains(r.Text(err), "secret") || !strings.Contains(string(r.Value), "unknown") {
		t.Errorf("the program gets %s, %v", r.Text(err), err)
	}
	for _, want := range []string{
		"level=ERROR", "server=shop", "tool=panics", "assignment to entry in nil map", "functions_test.go",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
}

// A result that does not fit its type is handled as that of any server: by "outputValidation".
func TestAResultThatDoesNotMatch(t *testing.T) {
	t.Parallel()
	const code = `return await codemode.shop.sizes().catch(e => [e.name, e.message])`
	for setting, want := range map[string]string{
		"off": `["huge"]`, "warn": `["huge"]`,
		"strict": `["InvalidResultError","shop__sizes: the call happened, but its result does not fit the tool's output`,
	} {
		rules := strings.Replace(shopRules, `{`, fmt.Sprintf(`{"outputValidation": %q, `, setting), 1)
		e := open(t, rules, embeds(newShop().server()))
		r, err := e.Eval(t.Context(), codemode.Request{Code: code})
		warned := strings.Contains(r.Text(err), "/0")
		if err != nil || !strings.HasPrefix(string(r.Value), want) || warned != (setting != "off") {
			t.Errorf("%s: got %s, %v", setting, r.Text(err), err)
		}
	}
}

// The context of a function ends with the call's time and with the run, and the run does not wait for a function that
// does not look at it.
func TestContextsOfFunctions(t *testing.T) {
	t.Parallel()
	rules := strings.Replace(shopRules, `"p": {`, `"p": {"limits": {"call": "50ms"}, `, 1)
	s := newShop()
	e := open(t, rules, embeds(s.server()))
	const ask = `try { await codemode.shop.%s() } catch (e) { return [e.name, e.outcome] }`
	for _, name := range []string{"waits", "slow"} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: fmt.Sprintf(ask, name)})
		if err != nil || string(r.Value) != `["UpstreamError","unknown"]` {
			t.Errorf("%s beyond its time: got %s, %v", name, r.Value, err)
		}
	}
	testwait.Until(t, "the function that looks at its context has ended", func() bool { return s.ended.Load() == 1 })
	close(s.release)

	s = newShop()
	e = open(t, shopRules, embeds(s.server()))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.entered
		<-s.entered
		cancel()
	}()
	r, err := e.Eval(ctx, codemode.Request{Code: `await Promise.all([codemode.shop.waits(), codemode.shop.slow()])`})
	if err == nil || len(r.Calls) != 2 || r.Calls[0].State != r.Calls[1].State {
		t.Errorf("got %+v, %v", r.Calls, err)
	}
	testwait.Until(t, "the other one has ended with the run", func() bool { return s.ended.Load() == 1 })
	close(s.release)
}

// Rules decide about functions as about any tool, also by their hints, which count because the server is the program's
// own.
func TestRulesForFunctions(t *testing.T) {
	t.Parallel()
	const code = `const out = {};
		for (const [name, args] of [["price", {article: "A"}], ["order", {article: "A", count: 1}], ["echo", {}]])
			out[name] = await codemode.shop[name](args).then(() => "done", e => e.reason);
		return out`
	for _, row := range []struct {
		why, profile, want string
		untrusted          bool
	}{
		{"nothing is allowed", `{"unmatched": "deny"}`, `{"price":"denied","order":"denied","echo":"denied"}`, false},
		{"one is", `{"allowlist": ["shop__price"]}`, `{"price":"done","order":"denied","echo":"denied"}`, false},
		{"a denial wins", `{"allowlist": ["shop__*"], "denylist": ["*__order"]}`,
			`{"price":"done","order":"denied","echo":"done"}`, false},
		{"those that read", `{"allowlist": [{"tool": "*", "annotations": {"readOnlyHint": true}}]}`,
			`{"price":"done","order":"denied","echo":"done"}`, false},
		{"those that read, of a server that is not trusted",
			`{"allowlist": [{"tool": "*", "annotations": {"readOnlyHint": true}}]}`,
			`{"price":"denied","order":"denied","echo":"denied"}`, true},
		{"nobody to ask", `{"asklist": ["shop__order"], "unmatched": "allow"}`,
			`{"price":"done","order":"no_approver","echo":"done"}`, false},
		{"what may taint", `{"allowlist": ["shop__*"], "raise": {"tainted": "deny"}}`,
			`{"price":"done","order":"denied","echo":"denied"}`, true},
		{"what may not taint", `{"allowlist": ["shop__*"], "raise": {"tainted": "deny"}}`,
			`{"price":"done","order":"done","echo":"done"}`, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newShop().server()
			s.Untrusted = row.untrusted
			e := open(t, `{"evaluation": {"profiles": {"p": `+row.profile+`}}}`, embeds(s))
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code})
			if err != nil || string(r.Value) != row.want {
				t.Errorf("got %s, %v\nwant %s", r.Value, err, row.want)
			}
			plan, err := e.Check(t.Context(), codemode.Request{Profile: "p", Code: `await codemode.shop.price({article: "A"})`})
			if err != nil || strings.Contains(plan.Text(), "deny") != strings.Contains(row.want, `"price":"denied"`) {
				t.Errorf("the check foresees %s, %v", plan.Text(), err)
			}
		})
	}
}

// Without a configuration there are functions, and none may be called.
func TestFunctionsWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	e := open(t, "", embeds(newShop().server()), func(o *codemode.Options) { o.Root = "" })
	r, err := e.Eval(t.Context(), codemode.Request{
		Code: `return await codemode.shop.price({article: "A"}).catch(e => e.reason)`})
	if err != nil || string(r.Value) != `"denied"` {
		t.Errorf("got %s, %v", r.Value, err)
	}
}

// A function knows for whom it is called by the context of Eval, also after a question.
func TestFunctionsKnowTheContextOfTheirRun(t *testing.T) {
	t.Parallel()
	type user struct{}
	whoami := codemode.Func("whoami", "", func(ctx context.Context, _ none) (string, error) {
		name, ok := ctx.Value(user{}).(string)
		if !ok {
			return "", errors.New("nobody is logged in")
		}
		return name, nil
	})
	for _, list := range []string{"allowlist", "asklist"} {
		e := open(t, strings.Replace(shopRules, "allowlist", list, 1),
			embeds(codemode.Server{Name: "shop", Functions: []codemode.Function{whoami}}))
		ctx := context.WithValue(t.Context(), user{}, "anna")
		r, err := e.Eval(ctx, codemode.Request{Code: `return await codemode.shop.whoami()`,
			Channels: []approvals.Channel{says(yes, nil)}})
		if err != nil || string(r.Value) != `"anna"` {
			t.Errorf("%s: got %s, %v", list, r.Text(err), err)
		}
	}
}

// A person sees the arguments, may change them, and what they chose is checked against the schema.
func TestAskingAboutFunctions(t *testing.T) {
	t.Parallel()
	const rules = `{"evaluation": {"profiles": {"p": {"asklist": ["shop__order"], "ask": {"edit": true}}}}}`
	for _, row := range []struct {
		why    string
		answer call.Answer
		result string
		count  int64 // that the function got; 0 for no call
	}{
		{"yes", call.Answer{Allowed: true}, `"done"`, 8},
		{"yes, with fewer", call.Answer{Allowed: true, Args: json.RawMessage(`{"article":"A","count":1}`)}, `"done"`, 1},
		{"yes, with arguments that do not fit", call.Answer{Allowed: true,
			Args: json.RawMessage(`{"article":"A","count":"1"}`)}, `"no_approver"`, 0},
		{"no", call.Answer{Reason: "too many"}, `"elicitation_declined"`, 0},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newShop()
			e := open(t, rules, embeds(s.server()))
			var shown []string
			person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
				shown = append(shown, prompt.Summary(r))
				return row.answer, nil
			})
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person},
				Code: `return await codemode.shop.order({article: "A", count: 8}).then(() => "done", e => e.reason)`})
			if err != nil || string(r.Value) != row.result {
				t.Errorf("got %s, %v, want %s", r.Text(err), err, row.result)
			}
			if len(shown) == 0 || shown[0] != `shop.order article: "A", count: 8` {
				t.Errorf("the person saw %q", shown)
			}
			var got int64
			for _, o := range s.ordered {
				got += o.Count
			}
			if got != row.count {
				t.Errorf("the function got %d, want %d", got, row.count)
			}
		})
	}
}

// The record has the call of a function before it runs, and its outcome.
func TestTheRecordOfFunctions(t *testing.T) {
	t.Parallel()
	s := newShop()
	e := open(t, shopRules, embeds(s.server()))
	r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Code: `await codemode.shop.price({article: "A"});
		await codemode.shop.price({article: ""}).catch(() => 0); await codemode.shop.panics().catch(() => 0);
		await codemode.shop.price({}).catch(() => 0)`})
	must(t, err)
	var got []string
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Call > 0 {
			got = append(got, strings.TrimSpace(fmt.Sprint(entry.Call, " ", entry.Tool, " ", entry.State)))
		}
		if entry.Principal != "anna" || entry.Run != r.Run {
			t.Errorf("the record has %+v", entry)
		}
	}
	want := []string{"1 shop__price running", "1 shop__price ok", "2 shop__price running",
		"2 shop__price error", "3 shop__panics running", "3 shop__panics unknown", "4 shop__price refused"}
	if !slices.Equal(got, want) {
		t.Errorf("the record has %q, want %q", got, want)
	}
}

// What is wrong with a server is an error of New, all of it at once.
func TestServersThatCannotBe(t *testing.T) {
	t.Parallel()
	f := codemode.Func("f", "", func(context.Context, none) (none, error) { return none{}, nil })
	named := func(name string) codemode.Server {
		return codemode.Server{Name: name, Functions: []codemode.Function{f}}
	}
	const configured = `{"mcpServers": {"my.shop": {"command": "shop"}}}`
	for _, row := range []struct {
		why     string
		servers []codemode.Server
		want    []string
	}{
		{"the name of a configured server", []codemode.Server{named("my.shop")},
			[]string{`codemode.json:1:17: the server "my.shop" has the name of the server "my.shop" of this program's`,
				`; rename it`}},
		{"one that is equal for programs", []codemode.Server{named("my_shop")},
			[]string{`the server "my.shop" has the name of the server "my_shop" of this program's functions`}},
		{"the name of a built-in server", []codemode.Server{named("time")},
			[]string{`Options.Servers: the server "time" has the name of the server time, which is built in: rename it`}},
		{"the same name twice", []codemode.Server{named("a.b"), named("a-b")},
			[]string{`Options.Servers: the server "a-b" has the name of the server "a.b": rename it`}},
		{"no name, and a type without a schema", []codemode.Server{named(""), {Name: "x", Functions: []codemode.Function{
			codemode.Func("g", "", func(context.Context, none) (chan int, error) { return nil, nil })}}},
			[]string{`the server has no name`, `the server "x": the function "g": its result has no schema`,
				`JSONSchema() string`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			cfg, err := config.Parse("codemode.json", []byte(configured))
			must(t, err)
			_, err = codemode.New(t.Context(), codemode.Options{Config: cfg, Servers: row.servers})
			for _, want := range row.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v\nwant %s", err, want)
				}
			}
		})
	}
}

// A changed configuration reaches the next call; the functions stay, and a call that is under way ends as if nothing
// had happened.
func TestAReloadWhileAFunctionRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "codemode.json")
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(shopRules)
	s, log := newShop(), &testwait.Buffer{}
	e := open(t, "", embeds(s.server()), func(o *codemode.Options) {
		o.ConfigPath, o.Root, o.Log = path, "", log.Logger()
	})
	changed := make(chan struct{}, 10)
	defer e.Subscribe(func() { changed <- struct{}{} })()
	result := make(chan string, 1)
	go func() {
		r, err := e.Eval(t.Context(), codemode.Request{Code: `const first = await codemode.shop.slow();
			return [first, await codemode.shop.price({article: "A"}).catch(e => e.reason), await codemode.shop.echo({})]`})
		result <- fmt.Sprint(string(r.Value), err)
	}()
	<-s.entered
	for len(changed) > 0 {
		<-changed // of the tools
	}
	write(strings.Replace(shopRules, `"allowlist"`, `"denylist": ["shop__price"], "allowlist"`, 1))
	<-changed
	close(s.release)
	if got, want := <-result, `["done","denied",{}]<nil>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	write(strings.Replace(shopRules, `{`, `{"mcpServers": {"shop": {"command": "other"}}, `, 1))
	testwait.Until(t, "the file with another server of that name is refused",
		func() bool { return strings.Contains(log.String(), `has the name of the server`) })
	r, err := e.Eval(t.Context(), codemode.Request{Code: `return [await codemode.shop.echo({a: 1}),
		await codemode.shop.price({article: "A"}).catch(e => e.reason)]`})
	if err != nil || string(r.Value) != `[{"a":1},"denied"]` {
		t.Errorf("got %s, %v", r.Text(err), err)
	}
}

// The next version of a program whose function has another definition: codemode asks, as about a tool of any server.
func TestAFunctionThatChanged(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	run := func(doc string) string {
		t.Helper()
		f := codemode.Func("f", doc, func(context.Context, none) (int, error) { return 1, nil })
		e := open(t, shopRules, embeds(codemode.Server{Name: "shop", Functions: []codemode.Function{f}}),
			func(o *codemode.Options) { o.StateDir = state })
		r, err := e.Eval(t.Context(), codemode.Request{Code: `return await codemode.shop.f().catch(e => e.reason)`})
		must(t, err)
		if doc == "accepted" {
			for _, c := range e.Rules().Pins.Changes() {
				if err := e.Rules().Pins.Accept(c.Name, c.Digest); err != nil {
					t.Error(err)
				}
			}
		}
		return string(r.Value)
	}
	for _, row := range []struct{ doc, want string }{{"first", `1`}, {"first", `1`}, {"accepted", `"no_approver"`},
		{"accepted", `1`}, {"other", `"no_approver"`}} {
		if got := run(row.doc); got != row.want {
			t.Errorf("the definition %q: got %s, want %s", row.doc, got, row.want)
		}
	}
}

// Many runs call functions at once, while the configuration changes under them.
func TestFunctionsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop()
	e := open(t, shopRules, embeds(s.server()))
	const workers, calls = 8, 20
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			r, err := e.Eval(t.Context(), codemode.Request{Code: fmt.Sprintf(`const all = await Promise.all(
				Array.from({length: %d}, (_, i) => codemode.shop.order({article: "A" + i, count: i})));
				return all.length`, calls)})
			if err != nil || string(r.Value) != fmt.Sprint(calls) {
				t.Errorf("got %s, %v", r.Value, err)
			}
		})
	}
	for range 5 {
		if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": []}}`)); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if len(s.ordered) != workers*calls {
		t.Errorf("%d orders, want %d", len(s.ordered), workers*calls)
	}
}

// BenchmarkFunctionCall is one call of a Go function by a program, one after the other, with all that belongs to it but
// the disk; BenchmarkRecordedCalls has the same of a built-in tool.
func BenchmarkFunctionCall(b *testing.B) {
	f := codemode.Func("add", "", func(_ context.Context, in struct {
		A, B int
	}) (int, error) {
		return in.A + in.B, nil
	})
	e := openBench(b, codemode.Server{Name: "math", Functions: []codemode.Function{f}})
	const calls = 500
	code := fmt.Sprintf(`for (let i = 0; i < %d; i++) await codemode.%%s; return 1`, calls)
	for _, row := range []struct{ name, call string }{
		{"function", "math__add({A: i, B: 1})"}, {"builtin", "time__now({})"},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				if r, err := e.Eval(b.Context(), codemode.Request{Code: fmt.Sprintf(code, row.call)}); err != nil {
					b.Fatal(r.Text(err))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func openBench(b *testing.B, servers ...codemode.Server) *codemode.Evaluator {
	b.Helper()
	engine, err := sharedEngine()
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Parse("codemode.json", []byte(
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["*"]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	e, err := codemode.New(b.Context(), codemode.Options{Engine: engine, Config: cfg, Servers: servers})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}
