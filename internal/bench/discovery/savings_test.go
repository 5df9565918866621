package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The benchmark runs on a small shop and a small airline of our own.
func TestMeasureSavings(t *testing.T) {
	peer, err := ParseSurface("peer:retail", []byte(`{"tools": [{"name": "code", "description": "Runs code.",
		"inputSchema": {"type": "object"}}], "discovery": "all the tools"}`))
	checktest.OK(t, err)
	r, err := MeasureSavings(t.Context(), Options{Data: checkout, CacheDir: cachetest.Dir(), Peers: []*Surface{peer}})
	checktest.OK(t, err)
	airline, retail := r.Domains[0], r.Domains[1]
	if retail.Tools != 16 || retail.Tasks != 4 || retail.WithCalls != 3 || airline.Tools != 14 || airline.WithCalls != 1 {
		t.Errorf("got %+v and %+v", retail, airline)
	}
	if !r.Pass() || retail.Expressible != 2 || retail.OneProgram != 2 || retail.TwoPrograms != 3 ||
		airline.OneProgram != 1 {
		t.Errorf("expressible %d, done by one program %d, by two %d, airline %d; failed %v; unknown %v", retail.Expressible,
			retail.OneProgram, retail.TwoPrograms, airline.OneProgram, retail.Failed, retail.Unknown)
	}
	if got := retail.Unknown["a guess"]; !strings.Contains(got, "item_ids") {
		t.Errorf("the task whose things nobody names is unknown for %q", got)
	}
	ways := map[string]*Way{}
	for _, w := range retail.Ways {
		ways[w.Name] = w
	}
	alone, atOnce, one := ways["one call at a time"], ways["independent calls at once"], ways["codemode, one program"]
	if alone.Calls != 9 || alone.Requests != 11 || atOnce.Calls != 9 || atOnce.Requests >= alone.Requests {
		t.Errorf("one at a time: %+v; at once: %+v", alone, atOnce)
	}
	if one.Requests < 6 || one.Requests > 8 || one.Discovery == 0 || one.Results >= alone.Results {
		t.Errorf("one program: %+v; one at a time: %+v", one, alone)
	}
	if w := ways["peer, one program"]; w == nil || w.Requests != 6 || w.Discovery != 2*3 || w.Arguments >= one.Arguments {
		t.Errorf("the peer: %+v", w)
	}
	if len(airline.Ways) != 4 {
		t.Errorf("%d ways in the other domain, want 4", len(airline.Ways))
	}
	if table := written(t, r); !strings.Contains(table, "one program can express 2 of 3 (67 %)") {
		t.Errorf("the table is\n%s", table)
	}
}

// written is the table of a report, whose JSON is valid.
func written(t *testing.T, r Report) string {
	t.Helper()
	var table, list bytes.Buffer
	if err := errors.Join(Write(&table, "table", r), Write(&list, "json", r)); err != nil || !json.Valid(list.Bytes()) {
		t.Fatalf("%v; the JSON is\n%s", err, list.String())
	}
	return table.String()
}

func calls(t *testing.T, task string) (*task, []recorded) {
	t.Helper()
	d := openTest(t, "retail")
	b := &bed{domain: d}
	defer b.close()
	var err error
	if b.direct, err = b.connect(t.Context(), d.server().Run); err != nil {
		t.Fatal(err)
	}
	m := &meter{bed: b}
	for i := range d.tasks {
		if d.tasks[i].ID == task {
			all, err := m.oneAtATime(t.Context(), &d.tasks[i])
			checktest.OK(t, err)
			return &d.tasks[i], all
		}
	}
	t.Fatalf("there is no task %s", task)
	return nil, nil
}

// A program takes values from answers by what stands beside them.
func TestWrite(t *testing.T) {
	task, all := calls(t, "exchange")
	code, missing := write("retail", newKnowledge(task), all, manner{})
	if len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	for _, want := range []string{
		`const r1 = await codemode.retail__find_user_id_by_email({ email: "ada@example.com" });`,
		`codemode.retail__get_user_details({ user_id: r1 })`,
		`codemode.retail__get_order_details({ order_id: r2.orders[0] })`,
		`.find(x => x.name === "Teapot").product_id`,
		`Object.values(r2.payment_methods).find(x => x.source === "gift_card").id`,
	} {
		if !strings.Contains(code, want) {
			t.Errorf("no %s in the program:\n%s", want, code)
		}
	}
}

func TestIndependentCallsGoTogether(t *testing.T) {
	task, all := calls(t, "two orders")
	code, _ := write("retail", newKnowledge(task), all, manner{told: task.Told})
	if !strings.Contains(code, "const [r1, r2, r3] = await Promise.all([") ||
		!strings.Contains(code, ".catch(e => e.message)") {
		t.Errorf("the program is\n%s", code)
	}
}

func TestWhatTheUserSays(t *testing.T) {
	k := newKnowledge(&task{Says: "Order #W12, 2 bags and three cups on May 5, to New York or Texas. " +
		"It cost $21.50."})
	for _, row := range []struct {
		value any
		known bool
	}{
		{"#W12", true}, {"W12", true}, {"#W1", false}, {2.0, true}, {3.0, true}, {4.0, false}, {21.5, true},
		{"2024-05-05", true}, {"2024-05-06", false}, {"JFK", true}, {"LAX", false}, {"TX", true}, {"OR", false},
		{"USA", true},
		{"", true}, {"cup", false}, {"cups", true},
	} {
		known := false
		switch v := row.value.(type) {
		case string:
			known = k.saysText(v)
		case float64:
			known = k.saysNumber(v)
		}
		if known != row.known {
			t.Errorf("%v is known: %v, want %v", row.value, known, row.known)
		}
	}
}

func TestASurfaceNeedsTools(t *testing.T) {
	for _, text := range []string{`{}`, `{"tools": []}`, `nothing`} {
		if _, err := ParseSurface("x", []byte(text)); err == nil {
			t.Errorf("%s is a surface", text)
		}
	}
}
