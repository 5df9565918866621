package call_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/codemode-project/codemode/call"
	"golang.org/x/text/unicode/norm"
)

func TestPartKeepsTheLettersOfEveryScript(t *testing.T) {
	for raw, want := range map[string]string{
		"获取天气": "获取天气", "moneyflow_hsgt_备份": "moneyflow_hsgt_备份", "straße": "straße", "получить": "получить",
		"الطقس": "الطقس", "मौसम": "मौसम", "날씨": "날씨", "天気を見る": "天気を見る", "ℵ₀": "ℵ_", "𝒳": "𝒳", "①": "_", "x²": "x_",
		"get-user": "get_user", "a b": "a_b", "a.b/c": "a_b_c", "$x": "$x", "１２": "１２", "": "",
		"cafe\u0301": "café", "\u1112\u1161\u11ab": "한", "가\u0301": "가\u0301", "\u212a": "K",
		// what cannot be seen does not survive
		"a\u200bb": "a_b", "a\u200db": "a_b", "a\u202eb": "a_b", "a\u2066b": "a_b", "a\ufeffb": "a_b", "a\u00adb": "a_b",
		"a\ufe0fb": "a_b", "a\u034fb": "a_b", "a\u3164b": "a_b", "a\u115fb": "a_b", "a\uffa0b": "a_b", "a\u180eb": "a_b",
		"a\U000e0041b": "a_b", "a\U000e0100b": "a_b", "a\ue000b": "a_b", "a\u2028b": "a_b", "a\xffb": "a_b", "a\x00b": "a_b",
	} {
		if got := call.Part(raw); got != want {
			t.Errorf("%+q: got %+q, want %+q", raw, got, want)
		}
	}
}

func TestNamesThatBecomeEqual(t *testing.T) {
	for _, row := range []struct{ raws, want string }{
		{"get-user", "get_user"},
		{"get-user get_user", "get_user_X get_user"},
		{"a.b a-b", "a_b_X a_b_X"},
		{"a.b a-b a_b c-d", "a_b_X a_b_X a_b c_d"},
		{"cafe\u0301 café", "café_X café"},
		{"аbc abc", "аbc abc"}, // a Cyrillic letter is another name
		{"a\u200bb a_b", "a_b_X a_b"},
		{"x x", "x x"}, // one tool, listed twice
	} {
		names, _ := call.Names("s", strings.Fields(row.raws))
		for i, name := range names {
			name = strings.TrimPrefix(name, "s__")
			if n := len(name) - 8; n > 0 && name[n-1] == '_' && strings.Trim(name[n:], "0123456789abcdef") == "" {
				name = name[:n] + "X"
			}
			names[i] = name
		}
		if got := strings.Join(names, " "); got != row.want {
			t.Errorf("%q: got %q, want %q", row.raws, got, row.want)
		}
	}
}

// A server that also lists the name which another tool gets by its suffix takes nothing from it.
func TestASuffixThatAServerListsItself(t *testing.T) {
	raws := []string{"get-user", "get_user"}
	for range 50 {
		names, _ := call.Names("s", raws)
		took := strings.TrimPrefix(names[0], "s__")
		checkNames(t, "s", raws)
		raws = append(raws, took)
	}
}

// checkNames holds what [call.Names] promises.
func checkNames(t *testing.T, server string, raws []string) {
	t.Helper()
	names, twins := call.Names(server, raws)
	of := map[string]string{}
	for i, name := range names {
		if raw, ok := of[name]; ok && raw != raws[i] {
			t.Fatalf("%+q and %+q are both %+q", raw, raws[i], name)
		}
		of[name] = raws[i]
		tool, ok := strings.CutPrefix(name, call.Part(server)+"__")
		switch {
		case !ok || call.Part(tool) != tool || !norm.NFC.IsNormalString(tool):
			t.Fatalf("%+q is named %+q", raws[i], name)
		case call.Part(raws[i]) == raws[i] && tool != raws[i]:
			t.Fatalf("%+q is an identifier, and is named %+q", raws[i], name)
		case !twins[i] && name != call.Name(server, raws[i]):
			t.Fatalf("%+q is alone, and is named %+q", raws[i], name)
		}
		for _, r := range tool {
			if r != '$' && r != '_' && !unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc,
				unicode.Other_ID_Start, unicode.Other_ID_Continue) || unicode.In(r, unicode.Cf,
				unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				t.Fatalf("%+q is named %+q, which is no identifier", raws[i], name)
			}
		}
	}
	other := slices.Clone(raws)
	rand.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	shuffled, _ := call.Names(server, other)
	for i, name := range shuffled {
		if of[name] != other[i] {
			t.Fatalf("in another order %+q is named %+q", other[i], name)
		}
	}
	var again []string // names of names
	for _, name := range names {
		again = append(again, strings.TrimPrefix(name, call.Part(server)+"__"))
	}
	if twice, _ := call.Names(server, again); !slices.Equal(twice, names) {
		t.Fatalf("named again: %+q, and before %+q", twice, names)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("z", "get-user\nget_user\n获取天气\ncafe\u0301\ncafé")
	f.Add("a.b", "a\u200bb\na_b\na\u034fb\n\u0300\n$")
	f.Fuzz(func(t *testing.T, server, list string) {
		raws := strings.Split(list, "\n")
		if len(raws) > 200 {
			return
		}
		checkNames(t, server, raws)
	})
}
