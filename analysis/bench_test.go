package analysis

import (
	"strings"
	"testing"
)

const typical = `interface Issue { number: number; title: string }

async () => {
  const { github__list_issues: list } = codemode;
  const issues: Issue[] = await list({ owner: "octo", repo: "site", state: "open" });
  const stale = issues.filter((i) => i.title.startsWith("stale:"));
  const closed = await Promise.all(stale.map(async (i) => {
    await codemode.github__update_issue({ number: i.number, state: "closed" });
    return i.number;
  }));
  console.log(` + "`closed ${closed.length} of ${issues.length}`" + `);
  return { closed, left: issues.length - closed.length };
}`

func BenchmarkCompile(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"tiny", "async () => 1+1"},
		{"typical", typical},
		{"large", "const list = [];\n" + strings.Repeat("list.push(await codemode.fs__read({path: 'a/b', n: 1}));\n", 1500) +
			"return list"},
		{"problem", "const x = 1 y"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.text)))
			b.ReportAllocs()
			for b.Loop() {
				Compile("", bench.text)
			}
		})
	}
}

// BenchmarkReader reads the same text again.
func BenchmarkReader(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"tiny", "async () => 1+1"},
		{"typical", typical},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var r Reader
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = r.Compile(b.Context(), "", bench.text)
			}
		})
	}
}

// BenchmarkWhere compares reading in this process with reading in another one.
func BenchmarkWhere(b *testing.B) {
	workers := testWorkers(b)
	for _, bench := range []struct{ name, text string }{
		{"tiny", "async () => 1+1"},
		{"typical", typical},
		{"large", "const list = [];\n" + strings.Repeat("list.push(await codemode.fs__read({path: 'a/b', n: 1}));\n", 1500) +
			"return list"},
	} {
		b.Run(bench.name+"/here", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compile("", bench.text)
			}
		})
		b.Run(bench.name+"/worker", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := workers.compile(b.Context(), source{"", bench.text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPrescan(b *testing.B) {
	text := strings.Repeat(typical+"\n", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		prescan(text)
	}
}

func BenchmarkLookup(b *testing.B) {
	p, problems := Compile("", typical)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	at := strings.Index(p.JS, "console")
	for b.Loop() {
		p.Lookup(1, at)
	}
}
