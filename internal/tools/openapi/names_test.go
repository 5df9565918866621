package openapi

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each row is a description: operations as "METHOD path id", and their names.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		why        string
		operations []string
		names      []string
	}{
		{"an id in snake case", []string{"GET /i issues/list", "GET /h getHTTPServer", "POST /u Users_Create-2"},
			[]string{"issues_list", "get_http_server", "users_create_2"}},
		{"the noise of generators", []string{"GET /a getAUsingGET_1", "POST /p printUsingCups", "GET /u users.list-1a2b"},
			[]string{"get_a", "print_using_cups", "users_list"}},
		{"the noise where it tells two apart", []string{"GET /a list-1a2b", "GET /b list-3c4d", "GET /c show"},
			[]string{"list_1a2b", "list_3c4d", "show"}},
		{"a word that looks like a hash is a word", []string{"GET /f get-feed", "GET /a add", "GET /b e2e"},
			[]string{"get_feed", "add", "e2e"}},
		{"without an id, the literal segments and what the method does",
			[]string{"GET /api/v1/users ", "GET /api/v1/users/{id} ", "POST /users ", "PUT /users/{id} ", "PATCH /users/{id} ",
				"DELETE /users/{id} ", "HEAD /rest/v2.1/users "},
			[]string{"users_list", "users_get", "users_create", "users_replace", "users_update", "users_delete", "users_head"}},
		{"an id that says nothing", []string{"GET /a 5476362a281d830c946a3d72", "GET /b 17", "GET /c --", "GET /d 日本"},
			[]string{"a_list", "b_list", "c_list", "d_list"}},
		{"nothing literal", []string{"GET /{a}/{b} ", "GET / "}, []string{"by_a_by_b_get", "list"}},
		{"who share a name take the method", []string{"GET /a do", "POST /a do"}, []string{"do_get", "do_post"}},
		{"and then the path", []string{"GET /a/{x} do", "GET /b do", "POST /b do"},
			[]string{"a_by_x_get", "b_get", "do_post"}},
		{"and then numbers, by path", []string{"GET /a.b do", "GET /a-b do", "GET /a_b do", "GET /x a_b_get_3"},
			[]string{"a_b_get_2", "a_b_get", "a_b_get_4", "a_b_get_3"}},
		{"reserved words", []string{"GET /a delete", "GET /b then", "GET /c constructor", "GET /d __proto__",
			"GET /e toString",
			"GET /f await"}, []string{"delete_", "then_", "constructor_", "proto", "to_string", "await_"}},
		{"a digit first", []string{"GET /a 2fa_enable"}, []string{"_2fa_enable"}},
		{"other letters are folded or dropped", []string{"GET /a überPrüfung", "GET /b list日items"},
			[]string{"uber_prufung", "list_items"}},
		{"long names keep both ends", []string{"GET /a begin" + strings.Repeat("Abcdefghi", 12) + "TheEnd"},
			[]string{"begin" + strings.Repeat("_abcdefghi", 5) + "_abcd_hi_abcdefghi_abcdefghi_the_end_"}},
	} {
		var all []*Operation
		for _, line := range test.operations {
			part := strings.SplitN(line, " ", 3)
			all = append(all, &Operation{Method: part[0], Path: part[1], ID: part[2]})
		}
		for range 3 {
			shuffled := make([]*Operation, len(all))
			for i, j := range rand.Perm(len(all)) {
				shuffled[i] = all[j]
			}
			nameOperations(shuffled)
			for i, o := range all {
				if !strings.HasPrefix(o.Name, test.names[i]) || len(o.Name) != len(test.names[i]) && len(o.Name) != nameMax {
					t.Errorf("%s: %s is %q, want %q", test.why, test.operations[i], o.Name, test.names[i])
				}
			}
		}
	}
}

// Whatever the document says, names are unique, short and identifiers; and this is done in time that grows with the
// number of operations alone.
func TestNamesOfHostileDocuments(t *testing.T) {
	identifier := regexp.MustCompile(`^_?[a-z0-9]+(_[a-z0-9]+)*_?$`)
	for why, make := range map[string]func(i int) Operation{
		"all the same":   func(int) Operation { return Operation{} },
		"a chain":        func(i int) Operation { return Operation{ID: "x" + strings.Repeat("_get", i%60), Path: "/"} },
		"taken numbers":  func(i int) Operation { return Operation{ID: "x" + strings.Repeat("_"+strconv.Itoa(i), i%2)} },
		"long ids":       func(i int) Operation { return Operation{ID: strings.Repeat("Ab", 500) + strconv.Itoa(i%7)} },
		"other writings": func(i int) Operation { return Operation{Path: "/" + string(rune(0x4e00+i)) + "\xff\x00"} },
	} {
		var all []*Operation
		for i := range 5000 {
			o := make(i)
			o.Method = "GET"
			all = append(all, &o)
		}
		nameOperations(all)
		seen := map[string]bool{}
		for _, o := range all {
			if seen[o.Name] || !identifier.MatchString(o.Name) || len(o.Name) > nameMax+6 {
				t.Fatalf("%s: the name %q is twice, too long or no identifier", why, o.Name)
			}
			seen[o.Name] = true
		}
	}
}

// It holds for whatever ids and paths there are that the order does not matter, and that names are as promised.
func FuzzNames(f *testing.F) {
	f.Add("getUsingGET_1", "/a/{b}", "get", "/a")
	f.Add("日本", "/\xff", "-1a2b", "{}")
	f.Fuzz(func(t *testing.T, id1, path1, id2, path2 string) {
		var names [2][3]string
		for turn := range 2 {
			all := []*Operation{{Method: "GET", ID: id1, Path: path1}, {Method: "GET", ID: id2, Path: path2},
				{Method: "POST", ID: id1, Path: path2}}
			if turn == 0 {
				nameOperations(all)
			} else {
				nameOperations([]*Operation{all[2], all[1], all[0]})
			}
			for i, o := range all {
				names[turn][i] = o.Name
				effectOf(o.Method, o.Path, o.ID, id2)
			}
		}
		a, b, c := names[0][0], names[0][1], names[0][2]
		if id1 == id2 && path1 == path2 {
			return // no document has two of these
		}
		if names[0] != names[1] || a == b || b == c || a == c || a == "" || strings.Contains(a, "__") {
			t.Errorf("names %q and %q", names[0], names[1])
		}
	})
}
