// Command functions is a service whose programs use two Go functions: they may look orders up, and a person of the
// service decides about each refund.
//
//	go run ./examples/functions [PROGRAM]
//
// It prints what a model would be told about the functions, runs the program, and asks on this terminal.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
)

var (
	//go:embed rules.json
	rules []byte
	//go:embed program.ts
	program string
)

// A desk is the service: its orders, and the functions that programs call.
type desk struct {
	cache string // a folder for the compiled sandbox: without it, each start takes a second

	mu     sync.Mutex
	orders map[string]*order
}

type order struct {
	Article  string  `json:"article"`
	Price    float64 `json:"price" jsonschema:"in euros"`
	Refunded float64 `json:"refunded" jsonschema:"in euros"`
}

type lookup struct {
	Order string `json:"order" jsonschema:"its number, such as A-17"`
}

type refund struct {
	Order  string  `json:"order" jsonschema:"its number, such as A-17"`
	Amount float64 `json:"amount" jsonschema:"in euros"`
}

// Order returns an order. An error reaches the program as a ToolError.
func (d *desk) Order(_ context.Context, in lookup) (order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.orders[in.Order]
	if o == nil {
		return order{}, fmt.Errorf("there is no order %q", in.Order)
	}
	return *o, nil
}

// Refund pays money back, and returns the order as it is then.
func (d *desk) Refund(_ context.Context, in refund) (order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch o := d.orders[in.Order]; {
	case o == nil:
		return order{}, fmt.Errorf("there is no order %q", in.Order)
	case in.Amount <= 0 || o.Refunded+in.Amount > o.Price:
		return order{}, fmt.Errorf("%.2f euros cannot be refunded: %.2f are left", in.Amount, o.Price-o.Refunded)
	default:
		o.Refunded += in.Amount
		return *o, nil
	}
}

// open makes an Evaluator whose programs call the functions of the desk. person answers what the rules ask about.
func (d *desk) open(ctx context.Context, person approvals.Channel) (*codemode.Evaluator, error) {
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return nil, err
	}
	return codemode.New(ctx, codemode.Options{
		Config:   cfg,
		CacheDir: d.cache,
		Channels: []approvals.Channel{person},
		Servers: []codemode.Server{{Name: "desk", Functions: []codemode.Function{
			codemode.Func("order", "Looks an order up.", d.Order, codemode.ReadOnly, codemode.ClosedWorld),
			codemode.Func("refund", "Pays money back for an order.", d.Refund, codemode.Destructive),
		}}},
	})
}

// lead is the person who decides: here somebody at a terminal, elsewhere a chat or a ticket.
func lead(in io.Reader, out io.Writer) approvals.Channel {
	var one sync.Mutex // question at a time
	lines := bufio.NewReader(in)
	return approvals.Approver("lead", func(_ context.Context, q *prompt.Request) (call.Answer, error) {
		one.Lock()
		defer one.Unlock()
		fmt.Fprintf(out, "%s\nyes or no? ", prompt.Text(q, prompt.RenderOptions{}))
		line, err := lines.ReadString('\n')
		if err != nil {
			return call.Answer{}, err // no answer, and so no refund
		}
		answer := strings.TrimSpace(line)
		return call.Answer{Allowed: answer == "yes", Reason: answer}, nil
	})
}

func run(ctx context.Context, cache, code string, in io.Reader, out io.Writer) error {
	d := &desk{cache: cache, orders: map[string]*order{
		"A-17": {Article: "kettle", Price: 30}, "A-18": {Article: "teapot", Price: 45},
	}}
	e, err := d.open(ctx, lead(in, out))
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	tools, err := e.Discovery().Declarations(ctx, []string{"desk"}, codemode.Query{Profiles: []string{"support"}})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, tools)
	paid, r, err := codemode.Eval[map[string]float64](ctx, e, codemode.Request{Profile: "support", Code: code})
	fmt.Fprintln(out, r.Text(err))
	for id, amount := range paid {
		fmt.Fprintf(out, "paid back for %s: %.2f euros\n", id, amount)
	}
	return err
}

func main() {
	code := program
	if len(os.Args) > 1 {
		text, err := os.ReadFile(os.Args[1])
		if err != nil {
			log.Fatal(err)
		}
		code = string(text)
	}
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "codemode-example")
	}
	if err := run(context.Background(), cache, code, os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
}
