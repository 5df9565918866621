package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/analysis"
)

// TestReadsOfResults: which parts of which results a text reads, and where.
func TestReadsOfResults(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`const r = await codemode.a__x({}); return r.data`, `a__x /data 1:45`},
		{`return (await codemode.a.x({}))?.data?.length`, `a__x /data 1:34; a__x /data/length 1:40`},
		{`const {data, items: [one]} = await codemode.a__x({}); return data`, `a__x /data 1:8; a__x /items 1:14`},
		{`let r; do { r = await codemode.a__x({}) } while (r.more)`, `a__x /more 1:52`},
		{`return codemode.a__x({}).then(r => r.data)`, `a__x /data 1:38`},
		{`return codemode.a__x({}).then(({data}) => data)`, `a__x /data 1:33`},
		{`for (const c of (await codemode.a__x({})).items) c.phone`, `a__x /items 1:43; a__x /items/-/phone 1:52`},
		{`const r = await codemode.a__x({}); return r.items.map(c => c.phone)`, `a__x /items 1:45; a__x /items/map 1:51; a__x /items/-/phone 1:62`},
		{`const {items} = await codemode.a__x({}); return items.filter(({phone}) => phone)`, `a__x /items 1:8; a__x /items/filter 1:55; a__x /items/-/phone 1:64`},
		{`const r = await codemode.a__x({}); r.extra = 1; return r.extra`, ``},
		{`const r = await codemode.a__x({}); return r["content"][0].text`, `a__x /content 1:45; a__x /content/0 1:56; a__x /content/0/text 1:59`},
		{`const r = await codemode.call("a__x", {}); return r.data`, `a__x /data 1:53`},
		{`const f = codemode.a__x; const r = await f({}); return r.data`, `a__x /data 1:58`},
		{`let r = await codemode.a__x({}); r = {data: 1}; return r.data`, ``}, // it may be the other
		{`const r = await f({}); return r.data`, ``},
	} {
		p, problems := analysis.Compile("", row.text)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", row.text, problems)
		}
		var got []string
		for _, r := range p.Results {
			if r.Free == "" {
				got = append(got, fmt.Sprintf("%s %s %d:%d", r.Tool, r.Path, r.Line, r.Column))
			}
		}
		if text := strings.Join(got, "; "); text != row.want {
			t.Errorf("%s:\n got  %s\n want %s", row.text, text, row.want)
		}
	}
}
