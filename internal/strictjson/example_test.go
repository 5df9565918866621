package strictjson_test

import (
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/strictjson"
)

func Example() {
	v, err := strictjson.Parse(`{"path": "notes/today.md", "lines": [1, 2e2]}`, strictjson.Options{})
	if err != nil {
		panic(err)
	}
	for name, value := range v.Members() {
		fmt.Println(name, "is", value.Kind(), "at", value.Offset(), "to", value.End())
	}
	last, _ := v.At("/lines/1")
	fmt.Println(last.Text())
	fmt.Println(v.Compact())
	fmt.Println(string(v.AppendCanonical(nil)))
	// Output:
	// path is a string at 9 to 25
	// lines is an array at 36 to 44
	// 2e2
	// {"path":"notes/today.md","lines":[1,2e2]}
	// {"lines":[1,200],"path":"notes/today.md"}
}

func ExampleSyntaxError() {
	_, err := strictjson.Parse(`{"path": "a", "path": "b"}`, strictjson.Options{})
	if problem, ok := errors.AsType[*strictjson.SyntaxError](err); ok {
		fmt.Println(problem)
		fmt.Println(problem.Hint)
	}
	// Output:
	// the same key twice in one object, at byte 14
	// keep one of the two
}

func ExampleAppendToken() {
	pointer := strictjson.AppendToken("/servers", "a/b~c")
	tokens, err := strictjson.Tokens(pointer)
	fmt.Printf("%s %q %v\n", pointer, tokens, err)
	// Output:
	// /servers/a~1b~0c ["servers" "a/b~c"] <nil>
}
