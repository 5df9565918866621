package strictjson

import (
	"strings"
	"testing"
)

// texts are arguments of calls as programs pass them.
var texts = []struct{ name, text string }{
	{"small", `{"owner":"codemode","repo":"codemode","issue_number":15}`},
	{"2KB", `{"path":"notes/today.md","options":{"limit":100,"recursive":true,"ratio":0.25},"files":[` +
		strings.Repeat(`{"name":"report.md","size":12345,"tags":["a","b"],"draft":false,"text":"first line\nsecond line, with a \"word\" and é"},`, 16) + `null]}`},
	{"1MB of values", `[` + strings.Repeat(`{"name":"report.md","size":12345,"tags":["a","b"],"draft":false},`, 1<<20/66) +
		`null]`},
	{"1MB of members", manyMembers(1<<20/11) + "}"},
	{"1MB of text", `{"path":"a","content":"` +
		strings.Repeat(`package main\n\nfunc main() { println(\"hello, world\") }\n`, 1<<20/60) + `"}`},
	{"1MB of plain text", `{"path":"a","content":"` + strings.Repeat(`The quick brown fox jumps over the lazy dog. `,
		1<<20/45) + `"}`},
}

func BenchmarkParse(b *testing.B) {
	for _, text := range texts {
		b.Run(text.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text.text)))
			for b.Loop() {
				if _, err := Parse(text.text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, text := range texts {
		b.Run(text.name, func(b *testing.B) {
			v := mustParse(b, text.text, Options{})
			var form []byte
			b.ReportAllocs()
			b.SetBytes(int64(len(text.text)))
			for b.Loop() {
				form = v.AppendCanonical(form[:0])
			}
		})
	}
}

func BenchmarkMember(b *testing.B) {
	v := mustParse(b, texts[0].text, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if m, ok := v.Member("issue_number"); !ok || m.Text() != "15" {
			b.Fatal(m)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	v := mustParse(b, texts[1].text, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if n := count(v); n < 100 {
			b.Fatal(n)
		}
	}
}

func count(v Value) int {
	n := 1
	for _, m := range v.Members() {
		n += count(m)
	}
	for _, e := range v.Elements() {
		n += count(e)
	}
	return n
}
