package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/sandbox"
)

// The sandbox alone: a program, and one Go function that answers its calls. Nothing decides or records them.
func Example() {
	ctx := context.Background()
	engine, err := sandbox.New(ctx, sandbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close(ctx)

	host := func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		var args struct{ City string }
		if err := json.Unmarshal(c.Args, &args); err != nil || c.Name != "weather__now" {
			return nil, fmt.Errorf("no answer to %s", c.Name)
		}
		return json.Marshal(map[string]any{"city": args.City, "celsius": 21})
	}
	program := sandbox.Program{Source: `const w = await codemode.weather__now({ city: "Oslo" });
		return w.city + ": " + (w.celsius * 9 / 5 + 32) + " °F";`}
	result, err := engine.Run(ctx, program, host)
	fmt.Println(string(result.Value), err)
	// Output: "Oslo: 69.8 °F" <nil>
}
