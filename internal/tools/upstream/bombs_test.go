package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

// TestResultBombs reads results of servers that are made to cost much. What it guards against takes minutes or
// gigabytes.
func TestResultBombs(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	const mb = 1 << 20
	image := `{"type":"image","data":""}`
	deep := func(n int, inner string) string { return strings.Repeat(`{"a":[`, n) + inner + strings.Repeat(`]}`, n) }
	for _, row := range []struct {
		name, result string
		blocks       int
	}{
		{"two hundred thousand blocks", `{"content":[` + strings.Repeat(image+",", 200_000) + image + `]}`, blocksMax},
		{"two hundred thousand blocks in a structure", `{"structuredContent":{"type":"x","all":[` + strings.Repeat(image+",",
			200_000) + image + `]}}`, blocksMax},
		{"ten million elements", `{"content":[` + strings.Repeat("1,", 10_000_000) + `1]}`, 0},
		{"ten million texts of an error", `{"isError":true,"content":[` + strings.Repeat(`"",`, 10_000_000) + `1]}`, 0},
		{"many texts of an error", `{"isError":true,"content":[` + strings.Repeat(`{"type":"text","text":""},`, 400_000) +
			`1]}`, 0},
		{"one long text below many levels", `{"structuredContent":` + deep(1000, `"\"type\"`+strings.Repeat("x", 8*mb)+`"`) +
			`}`, 0},
		{"many members below a few levels", `{"structuredContent":` + deep(3, strings.Repeat(`{"type":"x"},`, 500_000)+`1`) +
			`}`, 0},
		{"many keys", `{"structuredContent":{"type":1` + strings.Repeat(`,"k":{"type":"resource","resource":7}`, 300_000) +
			`}}`, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			began := time.Now()
			r, failed, err := readResult(t.Context(), json.RawMessage(row.result))
			checktest.OK(t, err)
			if failed && len(r.message()) > 2*messageMax {
				t.Error("the message is long")
			}
			if len(r.Blocks) != row.blocks || !json.Valid(r.Value) || bytes.Count(r.Value, []byte(HandleKey)) != row.blocks {
				t.Errorf("%d blocks, want %d; valid: %v", len(r.Blocks), row.blocks, json.Valid(r.Value))
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("a call that is over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, _, err := readResult(ctx, json.RawMessage(`{"content":[`+strings.Repeat(image+",",
			10_000)+image+`]}`)); err == nil {
			t.Errorf("%d blocks were read for nobody", len(r.Blocks))
		}
	})
}

// TestListBombs reads tool lists that are made to cost much.
func TestListBombs(t *testing.T) {
	tool := func(i int) string { return fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i) }
	var tools strings.Builder
	for i := range 10_000 {
		tools.WriteString(tool(i) + ",")
	}
	for _, row := range []struct {
		name, page string
		tools      int
	}{
		{"ten million entries that are no tools", `{"tools":[` + strings.Repeat("1,", 10_000_000) + tool(0) + `]}`, 0},
		{"ten thousand tools", `{"tools":[` + tools.String() + tool(0) + `]}`, toolsMax},
		{"annotations of a megabyte", `{"tools":[{"name":"a","annotations":{"x":"` + strings.Repeat("x", 1<<20) + `"}}]}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			page, err := readTools(json.RawMessage(row.page))
			checktest.OK(t, err)
			all := new(toolList)
			all.add(page, &Server{})
			all.finish(&Server{})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 500<<20 {
				t.Errorf("it took %d MiB", used>>20)
			}
			if n := len(all.tools) - withheld(all.tools); n != row.tools {
				t.Errorf("%d tools, want %d", n, row.tools)
			}
			if len(all.notes) > notesMax+2 {
				t.Errorf("%d notes", len(all.notes))
			}
			for _, one := range all.tools {
				if len(one.Annotations) > annotationsMax {
					t.Errorf("annotations of %d bytes", len(one.Annotations))
				}
			}
		})
	}
}

func withheld(tools []Tool) (n int) {
	for _, t := range tools {
		if t.Withheld != "" {
			n++
		}
	}
	return n
}
