package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/codemode-project/codemode/internal/checktest"
)

// complete has every figure, each with its labels.
func complete(t *testing.T) map[string]*dto.MetricFamily { return scraped(t, filled()) }

var (
	figure   = regexp.MustCompile(`\b(?:codemode|process|go)_[a-z_]+\b`)
	matchers = regexp.MustCompile(`([a-z]+)(?:=~|!~|!=|=)"`)
	groups   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	shown    = regexp.MustCompile(`\{\{([a-z]+)\}\}`)
	quoted   = regexp.MustCompile(`"[^"]*"`)
)

// familyOf finds the figure that a name in an expression belongs to.
func familyOf(families map[string]*dto.MetricFamily, name string) *dto.MetricFamily {
	for _, end := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, end); ok && families[base] != nil {
			return families[base]
		}
	}
	return nil
}

// TestTheDashboardReadsWhatThereIs: every figure and label of docs/grafana/codemode.json exists, and what it can
// show of codemode it shows. That holds for what Prometheus scrapes, and for what a collector gets.
func TestTheDashboardReadsWhatThereIs(t *testing.T) {
	t.Run("scraped", func(t *testing.T) { dashboardReads(t, complete(t)) })
	t.Run("over OTLP", func(t *testing.T) { dashboardReads(t, pushed(t, filled())) })
}

func dashboardReads(t *testing.T, families map[string]*dto.MetricFamily) {
	text, err := os.ReadFile("../../../docs/grafana/codemode.json")
	checktest.OK(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	checktest.OK(t, json.Unmarshal(text, &board))
	used := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			labels := []string{"job", "instance", "le"} // of every target, and of a histogram
			for _, name := range figure.FindAllString(quoted.ReplaceAllString(target.Expr, `""`), -1) {
				f := familyOf(families, name)
				if f == nil {
					t.Errorf("%s: there is no figure %s", p.Title, name)
					continue
				}
				used[f.GetName()] = true
				for _, l := range f.GetMetric()[0].GetLabel() {
					labels = append(labels, l.GetName())
				}
			}
			var wants []string
			for _, found := range matchers.FindAllStringSubmatch(target.Expr, -1) {
				wants = append(wants, found[1])
			}
			for _, found := range groups.FindAllStringSubmatch(target.Expr, -1) {
				wants = append(wants, strings.Split(found[1], ", ")...)
			}
			for _, found := range shown.FindAllStringSubmatch(target.LegendFormat, -1) {
				wants = append(wants, found[1])
			}
			for _, l := range wants {
				if !slices.Contains(labels, l) {
					t.Errorf("%s: %s has no label %q", p.Title, target.Expr, l)
				}
			}
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("%s: a parenthesis is missing in %s", p.Title, target.Expr)
			}
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "codemode_") && !used[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// TestTheDocumentHasEveryFigure: docs/operations.md names each figure with its labels, and no other.
func TestTheDocumentHasEveryFigure(t *testing.T) {
	document, err := os.ReadFile("../../../docs/operations.md")
	checktest.OK(t, err)
	families, named := complete(t), map[string]bool{}
	for line := range strings.Lines(string(document)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`codemode_") {
			continue
		}
		for _, name := range figure.FindAllString(cells[1], -1) {
			named[name] = true
			f := families[name]
			if f == nil {
				t.Errorf("there is no figure %s", name)
				continue
			}
			for _, l := range f.GetMetric()[0].GetLabel() {
				if !strings.Contains(cells[2], "`"+l.GetName()+"`") {
					t.Errorf("the document does not say that %s has the label %s", name, l.GetName())
				}
			}
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "codemode_") && !named[name] {
			t.Errorf("the document does not name %s", name)
		}
	}
}
