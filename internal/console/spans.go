package console

import (
	"encoding/json"

	"github.com/codemode-project/codemode/internal/console/text"
)

type span = text.Span

func spans(rendering string) []span { return text.Spans(rendering) }

func lines(s string) []span { return text.Lines(s) }

func editable(args json.RawMessage) string { return text.Editable(args) }

func inText(s string) string { return text.InText(s) }
