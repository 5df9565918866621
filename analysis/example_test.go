package analysis_test

import (
	"context"
	"fmt"

	"github.com/codemode-project/codemode/analysis"
)

func ExampleCompile() {
	program, problems := analysis.Compile("report.ts", `
interface Args { path: string }
const { fs__read: read } = codemode;
const args: Args = { path: "notes.md" };
return (await read(args)).length;
`)
	fmt.Println(program.JS, problems)
	for _, call := range program.Calls {
		fmt.Printf("line %d: %s %s, written as %s\n", call.Line, call.Name, call.Args, call.How)
	}
	// Output:
	// const{fs__read:read}=codemode;const args={path:"notes.md"};return(await read(args)).length []
	// line 5: fs__read {"path":"notes.md"}, written as destructured
}

func ExampleCompile_problem() {
	_, problems := analysis.Compile("report.ts", "const files = await codemode.fs__list({path: \"a\"]);\nreturn files;")
	for _, problem := range problems {
		fmt.Println(problem)
	}
	// Output:
	// report.ts:1:49: expected "}" but found "]"
	//     const files = await codemode.fs__list({path: "a"]);
	//                                                     ^
	//   hint: the "{" on line 1, column 39 is never closed
}

func ExampleReader() {
	var reader analysis.Reader
	ctx := context.Background()
	first, _, _ := reader.Compile(ctx, "report.ts", "async () => 1+1")
	again, _, _ := reader.Compile(ctx, "report.ts", "async () => 1+1")
	fmt.Println(first.JS, first == again)
	// Output:
	// return(async()=>1+1)() true
}
