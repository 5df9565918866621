package catalog

// A tool has three fields: its name, which is most significant, that of its server, and all other text. Each field has
// its own inverse document frequency: a word that is in every description can still distinguish two names.
const (
	inName = iota
	inServer
	inText
	fields
)

// weightOf are the weights of the fields.
var weightOf = [fields]float64{1, 3, 1}

// The weights of the words in a tool's text by their place.
const (
	weightTitle     = 2.0
	weightDescribed = 1.0 // in the first sentence of the description
	weightRest      = 0.4 // in the rest of it
	weightParameter = 0.3
)

// The constants k1 and b of BM25: how soon a repeated word stops counting, and how much a long text lowers the score
// of its words.
const (
	saturation = 2
	lengthBias = 0.6
)

// An index has the words of one server's tools. It never changes. A new list of one server does not change the indexes
// of the others.
type index struct {
	tools []*Tool
	terms map[string]*[fields][]posting // stem to the tools that have it, in order
	field [fields]struct {
		length []float64 // weighted words of each tool
		total  float64   // sum of length
	}
}

type posting struct {
	tool   int32
	weight float32
}

// indexBytes bounds the searchable text of one tool.
const indexBytes = 32 << 10

func newIndex(server string, tools []*Tool) *index {
	x := &index{tools: tools, terms: map[string]*[fields][]posting{}}
	known := map[string]string{} // stems: names and descriptions repeat their words
	for f := range x.field {
		x.field[f].length = make([]float64, len(tools))
	}
	for i, t := range tools {
		var weights [fields]map[string]float64
		for f := range weights {
			weights[f] = map[string]float64{}
		}
		room := indexBytes
		note := func(field int, text string, weight float64) {
			text = text[:min(len(text), room)]
			room -= len(text)
			for _, w := range wordsOf(text, known) {
				weights[field][w] += weight
				x.field[field].length[i] += weight
			}
		}
		note(inName, t.Raw, 1)
		note(inText, t.Title, weightTitle)
		note(inServer, server, 1)
		first, rest := firstSentence(t.Description)
		note(inText, first, weightDescribed)
		note(inText, rest, weightRest)
		parameters(t.Input, func(name, description string) {
			note(inText, name, weightParameter)
			note(inText, description, weightParameter/2)
		})
		for f := range weights {
			for w, weight := range weights[f] {
				if x.terms[w] == nil {
					x.terms[w] = new([fields][]posting)
				}
				x.terms[w][f] = append(x.terms[w][f], posting{int32(i), float32(weight)})
			}
			x.field[f].total += x.field[f].length[i]
		}
	}
	return x
}

func firstSentence(s string) (first, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// score is the BM25 score of a posting without its rarity, from 0 to saturation + 1.
func (x *index) score(f int, p posting, average float64) float64 {
	w := float64(p.weight)
	return w * (saturation + 1) / (w + saturation*(1-lengthBias+lengthBias*x.field[f].length[p.tool]/average))
}
