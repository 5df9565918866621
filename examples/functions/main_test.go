package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	const refundAll = `const o = await codemode.desk.order({order: "A-18"});
		await codemode.desk.refund({order: "A-18", amount: o.price}); return {}`
	for _, row := range []struct {
		why, code, answers string
		want, never        []string // parts of what is printed
		fails              bool
	}{
		{why: "the lead agrees to both", code: program, answers: "yes\nyes\n", want: []string{
			"desk__refund(args: {", "/** Looks an order up. */", `order: "A-17"`, "amount: 30", "money leaves the house",
			"paid back for A-17: 30.00 euros", "paid back for A-18: 9.00 euros"}},
		{why: "the lead refuses one", code: program, answers: "yes\nit works\n", want: []string{
			"paid back for A-17: 30.00 euros", "it works"}, never: []string{"paid back for A-18"}},
		{why: "nobody answers", code: program, want: []string{"no_approver"}, never: []string{"paid back"}},
		{why: "more than anybody may pay", code: refundAll, answers: "yes\n", want: []string{"rules.json:8"},
			never: []string{"yes or no?", "paid back"}, fails: true},
		{why: "no such order", code: `return await codemode.desk.order({order: "B-1"})`,
			want: []string{`there is no order "B-1"`}, fails: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			var out bytes.Buffer
			err := run(context.Background(), cache, row.code, strings.NewReader(row.answers), &out)
			if (err != nil) != row.fails {
				t.Errorf("the error is %v", err)
			}
			for _, want := range row.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not print %q:\n%s", want, &out)
				}
			}
			for _, never := range row.never {
				if strings.Contains(out.String(), never) {
					t.Errorf("it prints %q:\n%s", never, &out)
				}
			}
		})
	}
}
