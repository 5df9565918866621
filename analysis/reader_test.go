package analysis

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestReaderReturnsWhatItHas(t *testing.T) {
	var c Reader
	first, _, _ := c.Compile(t.Context(), "a.ts", "return 1")
	again, _, _ := c.Compile(t.Context(), "a.ts", "return 1")
	if first != again {
		t.Error("the same text was compiled twice")
	}
	if other, _, _ := c.Compile(t.Context(), "b.ts", "return 1"); other == first {
		t.Error("two files share a program")
	}
	_, problems, _ := c.Compile(t.Context(), "a.ts", "return (")
	_, same, _ := c.Compile(t.Context(), "a.ts", "return (")
	if len(problems) != 1 || len(same) != 1 || &problems[0] != &same[0] {
		t.Errorf("got %v and %v, want the same problem twice", problems, same)
	}
	if _, problems, _ := c.Compile(t.Context(), "b.ts", "return ("); problems[0].File != "b.ts" {
		t.Errorf("the problem names %s, not the file it is in", problems[0].File)
	}
}

func TestReaderForgetsTheOldest(t *testing.T) {
	var c Reader
	kept, _, _ := c.Compile(t.Context(), "", "return 'kept'")
	lost, _, _ := c.Compile(t.Context(), "", "return 'lost'")
	for i := range maxEntries - 1 {
		c.Compile(t.Context(), "", "return 'kept'")
		c.Compile(t.Context(), "", fmt.Sprint("return ", i))
	}
	if c.recent.Len() != maxEntries || len(c.entries) != maxEntries {
		t.Errorf("got %d entries and %d keys, want %d", c.recent.Len(), len(c.entries), maxEntries)
	}
	if p, _, _ := c.Compile(t.Context(), "", "return 'kept'"); p != kept {
		t.Error("what was used last was forgotten")
	}
	if p, _, _ := c.Compile(t.Context(), "", "return 'lost'"); p == lost {
		t.Error("what was used first was kept")
	}
}

func TestReaderIsSmall(t *testing.T) {
	var c Reader
	for i := range 20 {
		c.Compile(t.Context(), "", fmt.Sprintf("return '%d%s'", i, strings.Repeat("x", maxBytes/8)))
	}
	c.Compile(t.Context(), "", "return '"+strings.Repeat("x", maxBytes/2)+"'")
	size := 0
	for k := range c.entries {
		size += len(k.text)
	}
	if size != c.bytes || size > maxBytes || size < maxBytes/2 {
		t.Errorf("got %d bytes, counted as %d, want at most %d", size, c.bytes, maxBytes)
	}
}

// Many goroutines use one cache and one program; this pairs with -race.
func TestReaderInParallel(t *testing.T) {
	var c Reader
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				text := fmt.Sprintf("const x = %d\nreturn boom(codemode.a__b(x))", (i+j)%10)
				p, problems, _ := c.Compile(t.Context(), "", text)
				if len(problems) > 0 || len(p.Calls) != 1 {
					t.Errorf("%s: got %v and %v", text, p, problems)
					return
				}
				if line, column := p.Lookup(1, strings.Index(p.JS, "boom")+1); line != 2 || column != 8 {
					t.Errorf("got %d:%d, want 2:8", line, column)
				}
			}
		})
	}
	wg.Wait()
}
